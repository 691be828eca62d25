"""Define an organiser's requests about a running campaign, and their answers."""

from typing import Any, Final

from marshmallow import ValidationError, missing, validates_schema

from adaptive import ledger
from adaptive._rows import CampaignRow, names_of
from service.collect.schemas.campaigns import Line
from service.collect.schemas.voting import TOKEN, Word, key_field
from service.http.problems import shown
from service.schemas import shapes
from service.schemas.base import Request, check_one
from service.schemas.fields import Documented, Flag, ListOf, QueryNumber, QueryWhole, Whole, declared_field

MOST_INVITED: Final = 2_000
_YES: Final = {"true": True, "false": False}


class QueryFlag(Documented):
    """true or false, in a query string."""

    documented = shapes.TRUTH

    def read(self, value: Any) -> bool:
        """Check a value."""
        if value not in _YES:
            raise ValidationError(f"must be true or false; got {shown(value)}")
        return _YES[value]


class OrganiserSessionRequest(Request):
    """An organiser's token, exchanged for a session cookie."""

    campaign = key_field(required=True)
    token = Word(TOKEN, "a token", required=True)


class InvitationRequest(Request):
    """Voters to invite: a list of names, or a number of voters without names."""

    voters = ListOf(
        Line(200),
        f"1 to {MOST_INVITED:,} names",
        least=1,
        most=MOST_INVITED,
        about="Names, which are personal data and stay in the ledger.",
    )
    number = Whole(least=1, most=MOST_INVITED, about="Or a number of voters without a name.")
    qr = Flag(load_default=False, about="Whether to draw a QR code for each link.")

    @validates_schema
    def check_way(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse both or neither."""
        check_one(data, "voters", "number")


class ReasonRequest(Request):
    """The reason, which the ledger keeps."""

    reason = Line(500, required=True)


class CloseRequest(Request):
    """Options for closing a ballot."""

    least_answered = declared_field(
        ledger.CampaignSettings,
        "least_answered",
        load_default=missing,
        about="Share that must be answered; by default that of the campaign.",
    )


class OpenRequest(Request):
    """Options for opening the next ballot or batch."""

    at_once = Flag(load_default=False, about="Draw a batch although much is unanswered.")


class PageQuery(Request):
    """The part of a long list to return."""

    offset = QueryWhole(least=0, most=2**31, load_default=0)
    limit = QueryWhole(least=1, most=1_000, load_default=200)


class NamesQuery(Request):
    """Whether to identify voters."""

    names = QueryFlag(load_default=False, about="Whether voters go by name: personal data.")


class VotersQuery(NamesQuery, PageQuery):
    """The part of the list of voters to return."""


class QualityQuery(NamesQuery):
    """Thresholds for flagging a voter."""

    fast = QueryNumber(
        least=0,
        most=3_600,
        load_default=ledger.FlagLimits().fast_seconds,
        about="Seconds; an answer in less time is fast.",
    )


class ResultsQuery(Request):
    """Which ranking to return."""

    interim = QueryFlag(load_default=False, about="By the votes so far, before the last ballot.")
    top = QueryWhole(least=1, most=2**31, about="k of the cut.")


EXPORTS: Final = ("bundle", "ranking", "report", *ledger.FORMATS)


class ExportQuery(NamesQuery):
    """Options for the content of a file."""

    unanswered = QueryFlag(load_default=False, about="Comparisons without a vote too.")
    guard = QueryFlag(
        load_default=True, about="Whether cells that a spreadsheet would run have an apostrophe in front."
    )


class StudyQuery(Request):
    """The study whose participants to return."""

    study = Word("[A-Za-z0-9_-]{1,64}", "the id of a study", about="By default of all.")


class LedgerQuery(Request):
    """The part of the ledger to return."""

    after = QueryWhole(least=0, most=2**62, load_default=0, about="Number of the last event read.")
    limit = QueryWhole(least=1, most=1_000, load_default=1_000)


_BALLOTS: Final = shapes.list_of(shapes.shape_of(ledger.BallotProgress))


class ProgressAnswer(shapes.Answer):
    """The progress of a campaign."""

    status = shapes.shape_of(ledger.CampaignStatus)
    ballots = _BALLOTS


class BallotsAnswer(shapes.Answer):
    """All ballots opened so far."""

    ballots = _BALLOTS


class BallotAnswer(shapes.Answer):
    """A ballot; the header ETag holds its stamp."""

    ballot = shapes.shape_of(ledger.BallotProgress).read_from("progress")
    chain_digest = shapes.TEXT_OR_NULL("Of a closed ballot; it proves this ballot and all before it.")
    going_on = shapes.list_of(shapes.LABEL).or_null(
        "Items of the next ballot; null while this one is open, and where none follows."
    )


class PreviewAnswer(
    shapes.Answer,
    **shapes.properties_of(
        ledger.Preview,
        *("n_comparisons", "n_answered", "expected", "cut"),
        expected={"description": "Expected tau_w, of a continuous campaign."},
    ),
):
    """The effect of closing a ballot now."""

    preview = shapes.shape_of(ledger.ClosePreview).or_null("Null for a batch.").read_from("of_ballot")
    ready = shapes.TRUTH.read_from("is_ready")


class ItemsAnswer(shapes.Answer):
    """Items; if a ballot is open, sorted by their answers in open ballots, fewest first."""

    n_items = shapes.COUNT
    items = shapes.list_of(
        shapes.exactly(
            item=shapes.LABEL,
            **shapes.properties_of(ledger.ItemContent, "kind", "content", "alt_text"),
            presentations=shapes.COUNT("In the ballots that are open."),
            n_answered=shapes.COUNT,
        )
    )


class VotersAnswer(shapes.Answer):
    """Voters, in order of arrival."""

    n_voters = shapes.COUNT
    voters = shapes.list_of(shapes.shape_of(ledger.VoterRow))


class ParticipantsAnswer(shapes.Answer, **shapes.properties_of(ledger.PlatformVoters)):
    """Participants of a platform, in order of arrival."""


class InvitationsAnswer(shapes.Answer):
    """Links that each let one voter vote; they are shown only once."""

    invitations = shapes.list_of(
        shapes.exactly(name=shapes.TEXT, url=shapes.TEXT, qr=shapes.TEXT_OR_NULL("SVG, where it was asked for."))
    )
    csv = shapes.TEXT("The same as CSV, with the columns voter and link.")


class LinksAnswer(shapes.Answer):
    """Links that several voters share; null if the pages of the campaign do not allow them."""

    voter_url = shapes.TEXT
    open_url = shapes.TEXT_OR_NULL("Anybody who has it may vote.")
    open_qr = shapes.TEXT_OR_NULL("SVG.")


class StudyLinkAnswer(shapes.Answer):
    """A new link for a platform, to enter there as the address of the study; it is shown only once."""

    url = shapes.TEXT
    platform = shapes.TEXT


class TokensAnswer(shapes.Answer):
    """Links that were issued, newest first; the ledger keeps only hashes of their tokens."""

    n_tokens = shapes.COUNT
    tokens = shapes.list_of(shapes.shape_of(ledger.TokenRow))


class OrganiserLinkAnswer(shapes.Answer):
    """Another token for an organiser; it is shown only once."""

    token = shapes.TEXT
    organiser_url = shapes.TEXT("The organiser's page, which takes the token.")


class QualityAnswer(shapes.Answer):
    """How reliable the votes are."""

    quality = shapes.shape_of(ledger.CampaignQuality)


class ExclusionAnswer(shapes.Answer):
    """How the result would change if a voter were excluded, or included again."""

    preview = shapes.shape_of(ledger.ExclusionPreview)


class WithdrawalAnswer(shapes.Answer):
    """The effect of a withdrawal."""

    voided = shapes.COUNT("Votes of open ballots that no longer count.")


_OPTIONAL: Final = [name for name in names_of(CampaignRow) if name not in ("item", "rank", "strength")]
_ROW: Final = shapes.exactly(
    **shapes.properties_of(CampaignRow, optional=_OPTIONAL, ybar=shapes.NUMBER_OR_NULL),
    image=shapes.TEXT("Path of the image that the item is, if it is one."),
    alt_text=shapes.TEXT,
    optional=[*_OPTIONAL, "image", "alt_text"],
)
# Read from the result by name.
RESULT_FIELDS: Final = ("n_votes", "top", "cut", "signal", "circles", "n_voters", "expected", "excluded", "agreement")


class ResultsAnswer(
    shapes.Answer,
    **shapes.properties_of(
        ledger.CampaignResult,
        *RESULT_FIELDS,
        top={"description": "k of the cut."},
        expected={"description": "Expected tau_w of the strengths; null without a signal."},
        agreement={"description": "tau_w with the ranking of all votes."},
    ),
):
    """A ranking of all items, best first, with its uncertainty."""

    final = shapes.TRUTH("Whether all ballots are closed, or the campaign has ended.")
    rows = shapes.list_of(_ROW)


class LedgerAnswer(shapes.Answer):
    """Events of the ledger, in order."""

    events = shapes.list_of(shapes.shape_of(ledger.LedgerEvent))
    next = shapes.COUNT("To be asked for as `after`.")
    complete = shapes.TRUTH("Whether these are the last ones, for now.")
