"""Define an organiser's requests about a running campaign, and their answers."""

from collections import Counter
from typing import Any, Final

from marshmallow import ValidationError, missing, validates_schema

from adaptive import ledger
from service.collect.schemas.campaigns import Line
from service.collect.schemas.voting import TOKEN, Word, key_field
from service.http.problems import shown
from service.schemas import shapes
from service.schemas.base import Answer, Request, check_one
from service.schemas.fields import Documented, Dumped, Flag, QueryNumber, QueryWhole, Whole, declared_field, dumped

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


_NAME: Final = Line(200)


class NameList(Documented):
    """Names of voters, one line each, all different."""

    documented = shapes.list_of(
        shapes.TEXT(minLength=1, maxLength=200), minItems=1, maxItems=MOST_INVITED, uniqueItems=True
    )

    def read(self, value: Any) -> list[str]:
        """Check a value."""
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_INVITED:
            raise ValidationError(f"must be a list of 1 to {MOST_INVITED:,} names; got {shown(value)}")
        names = [_NAME.read(name) for name in value]
        if len(set(names)) < len(names):
            raise ValidationError(f"names must differ; {shown(Counter(names).most_common(1)[0][0])} is listed twice")
        return names


class OrganiserSessionRequest(Request):
    """An organiser's token, exchanged for a session cookie."""

    campaign = key_field(required=True)
    token = Word(TOKEN, "a token", required=True)


class InvitationRequest(Request):
    """Voters to invite: a list of names, or a number of voters without names."""

    voters = NameList(about="Names, which are personal data and stay in the ledger.")
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


class ProgressAnswer(Answer):
    """The progress of a campaign."""

    status = Dumped(shapes.shape_of(ledger.CampaignStatus))
    ballots = Dumped(shapes.list_of(shapes.shape_of(ledger.BallotProgress)))


class BallotsAnswer(Answer):
    """All ballots opened so far."""

    ballots = Dumped(shapes.list_of(shapes.shape_of(ledger.BallotProgress)))


class BallotAnswer(Answer):
    """A ballot; the header ETag holds its stamp."""

    ballot = Dumped(shapes.shape_of(ledger.BallotProgress), attribute="progress")
    chain_digest = Dumped(shapes.TEXT_OR_NULL, about="Of a closed ballot; it proves this ballot and all before it.")
    going_on = Dumped(
        shapes.list_of(shapes.LABEL).or_null(
            "Items of the next ballot; null while this one is open, and where none follows."
        )
    )


class PreviewAnswer(Answer):
    """The effect of closing a ballot now."""

    class Meta(Answer.Meta):  # noqa: D106
        include = dumped(
            *(ledger.Preview, "n_comparisons", "n_answered", "expected", "cut"),
            expected="Expected tau_w, of a continuous campaign.",
        )

    preview = Dumped(shapes.shape_of(ledger.ClosePreview).or_null("Null for a batch."), attribute="of_ballot")
    ready = Dumped(shapes.TRUTH, attribute="is_ready")


_ITEM: Final = shapes.exactly(
    item=shapes.LABEL,
    **shapes.shapes_of(ledger.ItemContent, "kind", "content", "alt_text"),
    presentations=shapes.COUNT("In the ballots that are open."),
    n_answered=shapes.COUNT,
)


class ItemsAnswer(Answer):
    """Items; if a ballot is open, sorted by their answers in open ballots, fewest first."""

    n_items = Dumped(shapes.COUNT)
    items = Dumped(shapes.list_of(_ITEM))


class VotersAnswer(Answer):
    """Voters, in order of arrival."""

    n_voters = Dumped(shapes.COUNT)
    voters = Dumped(shapes.list_of(shapes.shape_of(ledger.VoterRow)))


class ParticipantsAnswer(Answer):
    """Participants of a platform, in order of arrival."""

    platform = Dumped(shapes.TEXT_OR_NULL, about="Where voters come from now.")
    participants = Dumped(shapes.list_of(shapes.shape_of(ledger.Participant)))


_SVG: Final = shapes.TEXT_OR_NULL("SVG, where it was asked for.")
_INVITATION: Final = shapes.exactly(name=shapes.TEXT, url=shapes.TEXT, qr=_SVG)


class InvitationsAnswer(Answer):
    """Links that each let one voter vote; they are shown only once."""

    invitations = Dumped(shapes.list_of(_INVITATION))
    csv = Dumped(shapes.TEXT, about="The same as CSV, with the columns voter and link.")


class LinksAnswer(Answer):
    """Links that several voters share; null if the pages of the campaign do not allow them."""

    voter_url = Dumped(shapes.TEXT)
    open_url = Dumped(shapes.TEXT_OR_NULL, about="Anybody who has it may vote.")
    open_qr = Dumped(shapes.TEXT_OR_NULL, about="SVG.")


class StudyLinkAnswer(Answer):
    """A new link for a platform, to enter there as the address of the study; it is shown only once."""

    url = Dumped(shapes.TEXT)
    platform = Dumped(shapes.TEXT)


class TokensAnswer(Answer):
    """Links that were issued, newest first; the ledger keeps only hashes of their tokens."""

    n_tokens = Dumped(shapes.COUNT)
    tokens = Dumped(shapes.list_of(shapes.shape_of(ledger.TokenRow)))


class OrganiserLinkAnswer(Answer):
    """Another token for an organiser; it is shown only once."""

    token = Dumped(shapes.TEXT)
    organiser_url = Dumped(shapes.TEXT, about="The organiser's page, which takes the token.")


class QualityAnswer(Answer):
    """How reliable the votes are."""

    quality = Dumped(shapes.shape_of(ledger.CampaignQuality))


class ExclusionAnswer(Answer):
    """How the result would change if a voter were excluded, or included again."""

    preview = Dumped(shapes.shape_of(ledger.ExclusionPreview))


class WithdrawalAnswer(Answer):
    """The effect of a withdrawal."""

    voided = Dumped(shapes.COUNT, about="Votes of open ballots that no longer count.")


_OF_ROW: Final = {
    **dict.fromkeys(("presentations", "wins", "ties", "losses", "last_ballot"), shapes.COUNT),
    "ybar": shapes.NUMBER_OR_NULL,
    **dict.fromkeys(("standard_error", "rank_low", "rank_high", "in_top"), shapes.NUMBER),
    "rank_low_anytime": shapes.NUMBER("Holds for all items at once, however often one looks while votes come in."),
    "rank_high_anytime": shapes.NUMBER,
    "image": shapes.TEXT("Path of the image that the item is, if it is one."),
    "alt_text": shapes.TEXT,
}
# Read from the result by name.
RESULT_FIELDS: Final = ("n_votes", "top", "cut", "signal", "circles", "n_voters", "expected", "excluded", "agreement")
_ROW: Final = shapes.exactly(
    item=shapes.LABEL, rank=shapes.NUMBER, strength=shapes.NUMBER, **_OF_ROW, optional=[*_OF_ROW]
)


class ResultsAnswer(Answer):
    """A ranking of all items, best first, with its uncertainty."""

    class Meta(Answer.Meta):  # noqa: D106
        include = dumped(
            *(ledger.CampaignResult, *RESULT_FIELDS),
            top="k of the cut.",
            expected="Expected tau_w of the strengths; null without a signal.",
            agreement="tau_w with the ranking of all votes.",
        )

    final = Dumped(shapes.TRUTH, about="Whether all ballots are closed, or the campaign has ended.")
    rows = Dumped(shapes.list_of(_ROW))


class LedgerAnswer(Answer):
    """Events of the ledger, in order."""

    events = Dumped(shapes.list_of(shapes.shape_of(ledger.LedgerEvent)))
    next = Dumped(shapes.COUNT, about="To be asked for as `after`.")
    complete = Dumped(shapes.TRUTH, about="Whether these are the last ones, for now.")
