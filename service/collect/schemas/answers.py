"""Define an organiser's requests about a running campaign, and their answers."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, validates_schema

from adaptive.ledger import (
    BallotProgress,
    CampaignQuality,
    CampaignStatus,
    ClosePreview,
    ExclusionPreview,
    LedgerEvent,
    Participant,
    TokenRow,
    VoterRow,
    is_line,
)
from adaptive.model.accuracy import Cut
from service.collect.schemas.campaigns import Line
from service.collect.schemas.shapes import (
    COUNT,
    LABEL,
    NUMBER,
    NUMBER_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    key_field,
    list_of,
    object_of,
    shape_of,
)
from service.collect.schemas.shapes import Word as WordField
from service.collect.schemas.voting import TOKEN
from service.http.problems import shown
from service.schemas.base import Answer, Request
from service.schemas.fields import Documented, Dumped, Flag, Number, QueryNumber, QueryWhole, Whole

MOST_INVITED: Final = 2_000
_YES: Final = {"true": True, "false": False}


class QueryFlag(Documented):
    """true or false, in a query string."""

    documented = {"type": "boolean"}  # noqa: RUF012 - as the base has it

    def read(self, value: Any) -> bool:
        """Check a value."""
        if value not in _YES:
            raise ValidationError(f"must be true or false; got {shown(value)}")
        return _YES[value]


class NameList(Documented):
    """Names of voters, one line each, all different."""

    documented = {  # noqa: RUF012 - as the base has it
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 200},
        "minItems": 1,
        "maxItems": MOST_INVITED,
        "uniqueItems": True,
    }

    def read(self, value: Any) -> list[str]:
        """Check a value."""
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_INVITED:
            raise ValidationError(f"must be a list of 1 to {MOST_INVITED:,} names; got {shown(value)}")
        seen: set[str] = set()
        for name in value:
            if not isinstance(name, str) or name != name.strip() or not is_line(name):
                raise ValidationError(f"a name is one line of text without spaces around it; got {shown(name)}")
            if len(name) > 200:
                raise ValidationError(f"a name has at most 200 characters; got {shown(name)}")
            if name in seen:
                raise ValidationError(f"{shown(name)} is there twice")
            seen.add(name)
        return value


class OrganiserSessionRequest(Request):
    """An organiser's token, exchanged for a session cookie."""

    campaign = key_field(required=True)
    token = WordField(TOKEN, "a token", required=True)


class InvitationRequest(Request):
    """Voters to invite: a list of names, or a number of voters without names."""

    voters = NameList(metadata={"description": "Names, which are personal data and stay in the ledger."})
    number = Whole(least=1, most=MOST_INVITED, metadata={"description": "Or a number of voters without a name."})
    qr = Flag(load_default=False, metadata={"description": "Whether to draw a QR code for each link."})

    @validates_schema
    def check_way(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse both or neither."""
        if ("voters" in data) == ("number" in data):
            raise ValidationError("exactly one of voters and number is needed")


class ReasonRequest(Request):
    """The reason, which the ledger keeps."""

    reason = Line(500, required=True)


class CloseRequest(Request):
    """Options for closing a ballot."""

    least_answered = Number(
        least=0, most=1, metadata={"description": "Share that must be answered; by default that of the campaign."}
    )


class OpenRequest(Request):
    """Options for opening the next ballot or batch."""

    at_once = Flag(load_default=False, metadata={"description": "Draw a batch although much is unanswered."})


class PageQuery(Request):
    """The part of a long list to return."""

    offset = QueryWhole(least=0, most=2**31, load_default=0)
    limit = QueryWhole(least=1, most=1_000, load_default=200)


class VotersQuery(PageQuery):
    """The part of the list of voters to return."""

    names = QueryFlag(load_default=False, metadata={"description": "Whether voters go by name: personal data."})


class QualityQuery(Request):
    """Thresholds for flagging a voter."""

    names = QueryFlag(load_default=False, metadata={"description": "Whether voters go by name: personal data."})
    fast = QueryNumber(
        least=0, most=3_600, load_default=1.0, metadata={"description": "Seconds; an answer in less time is fast."}
    )


class ResultsQuery(Request):
    """Which ranking to return."""

    interim = QueryFlag(load_default=False, metadata={"description": "By the votes so far, before the last ballot."})
    top = QueryWhole(least=1, most=2**31, metadata={"description": "k of the cut."})


class ExportQuery(Request):
    """Options for the content of a file."""

    names = QueryFlag(load_default=False, metadata={"description": "Whether voters go by name: personal data."})
    unanswered = QueryFlag(load_default=False, metadata={"description": "Comparisons without a vote too."})
    guard = QueryFlag(
        load_default=True,
        metadata={"description": "Whether cells that a spreadsheet would run have an apostrophe in front."},
    )


class StudyQuery(Request):
    """The study whose participants to return."""

    study = WordField("[A-Za-z0-9_-]{1,64}", "the id of a study", metadata={"description": "By default of all."})


class LedgerQuery(Request):
    """The part of the ledger to return."""

    after = QueryWhole(least=0, most=2**62, load_default=0, metadata={"description": "Number of the last event read."})
    limit = QueryWhole(least=1, most=1_000, load_default=1_000)


class ProgressAnswer(Answer):
    """The progress of a campaign."""

    status = Dumped(shape_of(CampaignStatus), required=True)
    ballots = Dumped(list_of(shape_of(BallotProgress)), required=True)


class BallotsAnswer(Answer):
    """All ballots opened so far."""

    ballots = Dumped(list_of(shape_of(BallotProgress)), required=True)


class BallotAnswer(Answer):
    """A ballot; the header ETag holds its stamp."""

    ballot = Dumped(shape_of(BallotProgress), required=True)
    chain_digest = Dumped(
        {**TEXT_OR_NULL, "description": "Of a closed ballot; it proves this ballot and all before it."}, required=True
    )
    going_on = Dumped(
        {
            "oneOf": [list_of(LABEL), {"type": "null"}],
            "description": "Items of the next ballot; null while this one is open, and where none follows.",
        },
        required=True,
    )


class PreviewAnswer(Answer):
    """What closing a ballot now would do."""

    preview = Dumped(
        {"oneOf": [shape_of(ClosePreview), {"type": "null"}], "description": "Null for a batch."}, required=True
    )
    ready = Dumped({"type": "boolean"}, required=True)
    n_comparisons = Dumped(COUNT, required=True)
    n_answered = Dumped(COUNT, required=True)
    expected = Dumped({**NUMBER_OR_NULL, "description": "Expected tau_w, of a continuous campaign."}, required=True)
    cut = Dumped({"oneOf": [shape_of(Cut), {"type": "null"}]}, required=True)


class ItemsAnswer(Answer):
    """Items; if a ballot is open, sorted by their answers in open ballots, fewest first."""

    n_items = Dumped(COUNT, required=True)
    items = Dumped(
        list_of(
            object_of(
                {
                    "item": LABEL,
                    "kind": TEXT,
                    "content": TEXT_OR_NULL,
                    "alt_text": TEXT_OR_NULL,
                    "presentations": {**COUNT, "description": "In the ballots that are open."},
                    "n_answered": COUNT,
                }
            )
        ),
        required=True,
    )


class VotersAnswer(Answer):
    """Voters, in order of arrival."""

    n_voters = Dumped(COUNT, required=True)
    voters = Dumped(list_of(shape_of(VoterRow)), required=True)


class ParticipantsAnswer(Answer):
    """Participants of a platform, in order of arrival."""

    platform = Dumped({**TEXT_OR_NULL, "description": "Where voters come from now."}, required=True)
    participants = Dumped(list_of(shape_of(Participant)), required=True)


class InvitationsAnswer(Answer):
    """Links that each let one voter vote; they are shown only once."""

    invitations = Dumped(
        list_of(
            object_of(
                {
                    "name": TEXT,
                    "url": TEXT,
                    "qr": {**TEXT_OR_NULL, "description": "SVG, where it was asked for."},
                }
            )
        ),
        required=True,
    )
    csv = Dumped({**TEXT, "description": "The same as CSV, with the columns voter and link."}, required=True)


class LinksAnswer(Answer):
    """Links that several voters share; null if the pages of the campaign do not allow them."""

    voter_url = Dumped(TEXT, required=True)
    open_url = Dumped({**TEXT_OR_NULL, "description": "Anybody who has it may vote."}, required=True)
    open_qr = Dumped({**TEXT_OR_NULL, "description": "SVG."}, required=True)


class StudyLinkAnswer(Answer):
    """A new link for a platform, to enter there as the address of the study; it is shown only once."""

    url = Dumped(TEXT, required=True)
    platform = Dumped(TEXT, required=True)


class TokensAnswer(Answer):
    """Links that were issued, newest first; the ledger keeps only hashes of their tokens."""

    n_tokens = Dumped(COUNT, required=True)
    tokens = Dumped(list_of(shape_of(TokenRow)), required=True)


class OrganiserLinkAnswer(Answer):
    """Another token for an organiser; it is shown only once."""

    token = Dumped(TEXT, required=True)
    organiser_url = Dumped({**TEXT, "description": "The organiser's page, which takes the token."}, required=True)


class QualityAnswer(Answer):
    """How reliable the votes are."""

    quality = Dumped(shape_of(CampaignQuality), required=True)


class ExclusionAnswer(Answer):
    """How the result would change if a voter were excluded, or included again."""

    preview = Dumped(shape_of(ExclusionPreview), required=True)


class WithdrawalAnswer(Answer):
    """The effect of a withdrawal."""

    voided = Dumped({**COUNT, "description": "Votes of open ballots that do not count any more."}, required=True)


_ROW: Final = {
    "type": "object",
    "required": ["item", "rank", "strength"],
    "additionalProperties": False,
    "properties": {
        "item": LABEL,
        "rank": NUMBER,
        "strength": NUMBER,
        **dict.fromkeys(("presentations", "wins", "ties", "losses", "last_ballot"), COUNT),
        "ybar": NUMBER_OR_NULL,
        **dict.fromkeys(("standard_error", "rank_low", "rank_high", "in_top"), NUMBER),
        "image": {**TEXT, "description": "Path of the image that the item is, if it is one."},
        "alt_text": TEXT,
    },
}


class ResultsAnswer(Answer):
    """A ranking of all items, best first, with its uncertainty."""

    final = Dumped({"type": "boolean", "description": "Whether the paper's scores decide on the ranks."}, required=True)
    n_votes = Dumped(COUNT, required=True)
    top = Dumped({**COUNT, "description": "k of the cut."}, required=True)
    cut = Dumped({"oneOf": [shape_of(Cut), {"type": "null"}]}, required=True)
    expected = Dumped({**NUMBER_OR_NULL, "description": "Expected tau_w of the strengths."}, required=True)
    excluded = Dumped(list_of(TEXT), required=True)
    agreement = Dumped({**NUMBER_OR_NULL, "description": "tau_w with the ranking of all votes."}, required=True)
    rows = Dumped(list_of(_ROW), required=True)


class LedgerAnswer(Answer):
    """Events of the ledger, in order."""

    events = Dumped(list_of(shape_of(LedgerEvent)), required=True)
    next = Dumped({**COUNT, "description": "To be asked for as `after`."}, required=True)
    complete = Dumped({"type": "boolean", "description": "Whether these are the last ones, for now."}, required=True)
