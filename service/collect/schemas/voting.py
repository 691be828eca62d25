"""Define the requests of a voter's page, and their answers."""

from __future__ import annotations

from typing import Any, Final

from adaptive.ledger import ANSWERS
from service.collect.schemas.shapes import Word, event_field, key_field, pair_field
from service.schemas.base import Answer, Request
from service.schemas.fields import Choice, Component, Dumped, Part, Vocabulary, Whole

VERSION: Final = "[A-Za-z0-9][A-Za-z0-9._-]{0,39}"
TOKEN: Final = "[A-Za-z0-9_-]{43}"

ANSWER: Final = Vocabulary(
    "Answer", {"type": "string", "enum": list(ANSWERS), "description": "The side that won, a tie, or none of these."}
)
GIVEN_BY: Final = Vocabulary(
    "GivenBy", {"type": "string", "enum": ["click", "key", "touch"], "description": "How it was answered."}
)
LAYOUT: Final = Vocabulary(
    "Layout", {"type": "string", "enum": ["side by side", "stacked"], "description": "How the pair was shown."}
)
_CONTENT: Final = Component(
    "Content",
    {
        "type": "object",
        "description": "What is shown for an item.",
        "required": ["kind"],
        "properties": {
            "kind": {"type": "string", "enum": ["text", "markdown", "image", "audio"]},
            "text": {"type": "string", "description": "Of text."},
            "html": {"type": "string", "description": "Of markdown: HTML that can do no harm."},
            "url": {"type": "string", "description": "Of an image or audio: a path on this server."},
            "alt": {"type": "string", "description": "Of an image or audio: what it is."},
        },
    },
)
_NULLABLE_ANSWER: Final[dict[str, Any]] = {"oneOf": [ANSWER.reference, {"type": "null"}]}
_PAIR: Final = Component(
    "Pair",
    {
        "type": "object",
        "description": "Two items to compare.",
        "required": ["id", "practice", "left", "right", "answer", "event_id"],
        "properties": {
            "id": {"type": "string"},
            "practice": {"type": "boolean", "description": "It is not counted, and its answer is told."},
            "left": _CONTENT.reference,
            "right": _CONTENT.reference,
            "answer": {**_NULLABLE_ANSWER, "description": "The answer that stands."},
            "event_id": {"type": ["string", "null"], "description": "Of the answer that stands."},
        },
    },
)
# Includes hidden checks, because an unchanged number would reveal that the last pair was one.
_ANSWERS: Final = {"type": "integer", "description": "Answers of this voter that stand, practice left out."}
_PROGRESS: Final = {
    "type": "object",
    "required": ["sheets_done", "sheets_limit", "answered", "of", "answers"],
    "properties": {
        "sheets_done": {"type": "integer"},
        "sheets_limit": {"type": ["integer", "null"], "description": "Most sheets of a voter."},
        "answered": {"type": "integer", "description": "Pairs of the sheet in hand with an answer."},
        "of": {"type": "integer", "description": "Pairs of the sheet in hand."},
        "answers": _ANSWERS,
    },
}
_ME: Final = Component(
    "Me",
    {
        "type": "object",
        "description": "Where a voter is.",
        "required": ["campaign", "voter", "step", "consent_version", "available", "reason", "retry_after", "progress"],
        "properties": {
            "campaign": {"type": "string"},
            "voter": {"type": "string", "description": "A random key, under which the votes are exported."},
            "step": {"type": "string", "enum": ["consent", "vote", "finish"]},
            "consent_version": {"type": "string", "description": "The version to agree to."},
            "available": {"type": "boolean", "description": "Whether there is a pair to ask for, now."},
            "reason": {"type": ["string", "null"], "enum": ["limit", "none left", "not open", "wait", None]},
            "retry_after": {
                "type": ["integer", "null"],
                "description": "wait: seconds until a sheet comes back that nobody answers.",
            },
            "progress": _PROGRESS,
        },
    },
)
_SHEET: Final = {
    "type": ["object", "null"],
    "description": "null: none is left for this voter, now.",
    "required": ["ballot", "sheet", "expires_at", "pairs"],
    "properties": {
        "ballot": {"type": "integer"},
        "sheet": {"type": "integer"},
        "expires_at": {
            "type": ["string", "null"],
            "description": "ISO 8601; after it somebody else may get the sheet.",
        },
        "pairs": {"type": "array", "items": _PAIR.reference},
    },
}

VOTING_COMPONENTS: Final = (ANSWER, GIVEN_BY, LAYOUT, _CONTENT, _PAIR, _ME)


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
    token = Word(TOKEN, "the token of a link", metadata={"description": "Of an invitation."})
    platform = Part(PlatformPart)
    consent = Word(
        VERSION,
        "a version of the consent text",
        metadata={"description": "The version agreed to; needed but with an invitation."},
    )


class ConsentRequest(Request):
    """Agreement to the consent text."""

    version = Word(VERSION, "a version of the consent text", required=True)


class NoFields(Request):
    """An empty object."""


class VoteRequest(Request):
    """An answer to one pair."""

    pair = pair_field(required=True)
    answer = Choice(ANSWER, required=True)
    response_ms = Whole(least=0, most=2**31 - 1, metadata={"description": "Time that the answer took."})
    given_by = Choice(GIVEN_BY)
    layout = Choice(LAYOUT)


class RetractRequest(Request):
    """The retraction of an answer."""

    event_id = event_field(required=True, metadata={"description": "A new id, of this event."})


class MeAnswer(Answer):
    """The current step of a voter."""

    campaign = Dumped(_ME.schema["properties"]["campaign"], required=True)
    voter = Dumped(_ME.schema["properties"]["voter"], required=True)
    step = Dumped(_ME.schema["properties"]["step"], required=True)
    consent_version = Dumped(_ME.schema["properties"]["consent_version"], required=True)
    available = Dumped(_ME.schema["properties"]["available"], required=True)
    reason = Dumped(_ME.schema["properties"]["reason"], required=True)
    retry_after = Dumped(_ME.schema["properties"]["retry_after"], required=True)
    progress = Dumped(_PROGRESS, required=True)


class SheetAnswer(Answer):
    """The voter's current sheet, or the next one."""

    sheet = Dumped(_SHEET, required=True)
    reason = Dumped(_ME.schema["properties"]["reason"], required=True)
    retry_after = Dumped({"type": ["integer", "null"], "description": "wait: seconds to wait."}, required=True)
    me = Dumped(_ME.reference, required=True)


class VoteAnswer(Answer):
    """The answer that counts now."""

    event_id = Dumped({"type": "string"}, required=True)
    pair = Dumped({"type": "string"}, required=True)
    answer = Dumped(_NULLABLE_ANSWER, required=True)
    repeated = Dumped({"type": "boolean", "description": "Whether the server had it already."}, required=True)
    feedback = Dumped(
        {
            "type": ["object", "null"],
            "description": "Of practice.",
            "required": ["expected", "agrees"],
            "properties": {"expected": ANSWER.reference, "agrees": {"type": "boolean"}},
        },
        required=True,
    )


class FinishAnswer(Answer):
    """Confirmation that all answers are counted, or that a platform's participant is done."""

    finished = Dumped({"type": "boolean", "const": True}, required=True)
    outcome = Dumped({"type": "string", "enum": ["complete", "screened out", "quota full"]}, required=True)
    answers = Dumped(_ANSWERS, required=True)
    completion_code = Dumped({"type": ["string", "null"]}, required=True)
    completion_url = Dumped({"type": ["string", "null"]}, required=True)
