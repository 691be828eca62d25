"""Define the requests of a voter's page, and their answers."""

import re
from typing import Any, Final

from marshmallow import ValidationError

from adaptive.ledger import ANSWERS, Receipt
from service.http.problems import shown
from service.schemas.base import Request
from service.schemas.fields import Choice, Documented, Part, Whole, vocabulary
from service.schemas.shapes import (
    TEXT,
    TEXT_OR_NULL,
    TRUTH,
    WHOLE,
    WHOLE_OR_NULL,
    Answer,
    Component,
    at_least,
    list_of,
    properties_of,
)

VERSION: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,39}"
TOKEN: Final = "[A-Za-z0-9_-]{43}"
EVENT: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
KEY: Final = "[0-9a-f]{32}"

CAMPAIGN_HEADER: Final = "Rankcorr-Campaign"
CAMPAIGN_PARAMETER: Final[dict[str, Any]] = {
    "in": "header",
    "name": CAMPAIGN_HEADER,
    "required": True,
    "schema": {"type": "string", "pattern": f"^{KEY}$"},
    "description": "Key of the campaign, because a browser may be a voter of several. It is the part of the voters' "
    "link after /v/.",
}
EVENT_PARAMETER: Final[dict[str, Any]] = {
    "in": "path",
    "name": "event_id",
    "schema": {"type": "string", "format": "uuid", "pattern": f"^{EVENT}$"},
    "description": "Id of the answer: a random UUID in lower case, which the client makes for each answer.",
}
SESSION_HEADERS: Final[dict[str, Any]] = {
    "Set-Cookie": {
        "schema": {"type": "string"},
        "description": "The session. Absent if the request had a valid session by an open link.",
    }
}

ANSWER: Final = vocabulary(
    "Answer",
    ANSWERS,
    "The side that won, by one grade or more, a tie, or none of these; of a set, the places of its best and its worst "
    "item, counted from 1.",
)
GIVEN_BY: Final = vocabulary("GivenBy", ("click", "key", "touch"), "How it was answered.")
LAYOUT: Final = vocabulary("Layout", ("side by side", "stacked"), "How the pair was shown.")
_CONTENT: Final = Component.at_least(
    "Content",
    "The content to show for an item.",
    kind=TEXT(enum=["text", "markdown", "image", "audio"]),
    text=TEXT("Of text."),
    html=TEXT("Of markdown: HTML that can do no harm."),
    url=TEXT("Of an image or audio: a path on this server."),
    alt=TEXT("Of an image or audio: its description."),
    optional=["text", "html", "url", "alt"],
)
_NULLABLE_ANSWER: Final = ANSWER.reference.or_null()
_PAIR: Final = Component.at_least(
    "Pair",
    "Two items to compare, or a set whose best and worst item is to be chosen.",
    id=TEXT,
    target=TEXT_OR_NULL("Target word of the pair, in a campaign of target groups."),
    practice=TRUTH("It is not counted, and the expected answer is shown."),
    left=_CONTENT.reference,
    right=_CONTENT.reference,
    other_items=list_of(_CONTENT.reference)("Of a set, its items after the first two; otherwise absent."),
    answer=_NULLABLE_ANSWER("The recorded answer."),
    event_id=TEXT_OR_NULL("Id of the recorded answer."),
    optional=["other_items"],
)
# Includes hidden checks, because an unchanged number would reveal that the last pair was one.
_ANSWERS: Final = WHOLE("Recorded answers of this voter, without practice.")
_PROGRESS: Final = at_least(
    sheets_done=WHOLE,
    sheets_limit=WHOLE_OR_NULL("Most sheets of a voter."),
    answered=WHOLE("Answered pairs of the current sheet."),
    of=WHOLE("Pairs of the current sheet."),
    answers=_ANSWERS,
)


class MeAnswer(Answer):
    """The progress of a voter and the next step."""

    campaign = TEXT
    voter = TEXT("A random key, under which the votes are exported.")
    step = TEXT(enum=["consent", "vote", "finish"])
    consent_version = TEXT("The version to agree to.")
    offered = list_of(ANSWER.reference)("The answers that the campaign offers.")
    available = TRUTH("Whether a pair can be asked now.")
    reason = TEXT_OR_NULL(enum=["limit", "none left", "not open", "wait", None])
    retry_after = WHOLE_OR_NULL("wait: seconds until an unanswered sheet is free again.")
    progress = _PROGRESS


_ME: Final = Component("Me", MeAnswer.component.schema)
_SHEET: Final = at_least(
    "null if no sheet is available for this voter now.",
    ballot=WHOLE,
    sheet=WHOLE,
    expires_at=TEXT_OR_NULL("ISO 8601; after this time another voter may get the sheet."),
    pairs=list_of(_PAIR.reference),
)(type=["object", "null"])


class Word(Documented):
    """Text of a given form.

    Parameters
    ----------
    pattern : str
        For the whole text, in syntax that JSON Schema and Python share.
    noun : str
        Name of the value, for the error.
    """

    def __init__(self, pattern: str, noun: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._pattern, self._noun = re.compile(pattern), noun
        self.documented = {"type": "string", "pattern": f"^{pattern}$"}

    def read(self, value: Any) -> str:
        """Check a value, and return it as it is."""
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValidationError(f"must be {self._noun}; got {shown(value)}")
        return value


def key_field(**kwargs: Any) -> Word:
    """Return a field for the key of a campaign."""
    about = "The part of the link after /v/."
    return Word(KEY, "the key of a campaign", **{"about": about, **kwargs})


class PlatformPart(Request):
    """Values that a platform adds to its link."""

    name = Word("prolific|mturk", "prolific or mturk", required=True)
    participant = Word("[!-~]{1,64}", "the id of a participant", required=True)
    study = Word("[A-Za-z0-9_-]{1,64}", "the id of a study", required=True)
    session = Word("[!-~]{1,64}", "the id of a session")
    secret = Word(TOKEN, "the secret of the study's link", required=True)


class SessionRequest(Request):
    """The link that starts a voter's session."""

    campaign = key_field(required=True)
    token = Word(TOKEN, "the token of a link", about="Of an invitation: the part of the link after #.")
    platform = Part(PlatformPart)
    consent = Word(
        VERSION, "a version of the consent text", about="The version agreed to; required without an invitation."
    )


class ConsentRequest(Request):
    """Agreement to the consent text."""

    version = Word(VERSION, "a version of the consent text", required=True)


class NoFields(Request):
    """An empty object."""


class VoteRequest(Request):
    """An answer to one pair."""

    pair = Word("[0-9]{1,9}-[0-9]{1,9}-[0-9]{1,9}", "the id of a pair, like 1-0-3", required=True)
    answer = Choice(ANSWER, required=True)
    response_ms = Whole(least=0, most=2**31 - 1, about="Time that the answer took.")
    given_by = Choice(GIVEN_BY)
    layout = Choice(LAYOUT)


class RetractRequest(Request):
    """The retraction of an answer."""

    event_id = Word(EVENT, "a UUID in lower case", required=True, about="A new random UUID, for this retraction.")


class SheetAnswer(Answer):
    """The voter's current sheet, or the next one."""

    sheet = _SHEET
    reason = MeAnswer.component.schema["properties"]["reason"]
    retry_after = WHOLE_OR_NULL("wait: seconds to wait.")
    me = _ME.reference


class VoteAnswer(Answer, **properties_of(Receipt, "event_id", "repeated")):
    """The answer that counts now."""

    pair = TEXT
    answer = _NULLABLE_ANSWER
    feedback = at_least("Of practice.", expected=ANSWER.reference, agrees=TRUTH)(type=["object", "null"])


class FinishAnswer(Answer):
    """Confirmation that all answers are counted, or that a platform's participant is done."""

    finished = TRUTH(const=True)
    outcome = TEXT(enum=["complete", "screened out", "quota full"])
    answers = _ANSWERS
    completion_code = TEXT_OR_NULL
    completion_url = TEXT_OR_NULL
