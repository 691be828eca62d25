"""Define the voting pages: texts for voters, and eligibility."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, post_load
from marshmallow.fields import List

from adaptive.errors import AdaptiveError
from adaptive.ledger import VotingPages
from service.schemas.base import Answer, Request
from service.schemas.fields import Documented, Dumped, Flag, Number, Part, Whole
from service.schemas.shapes import COUNT, NUMBER_OR_NULL, TEXT, TEXT_OR_NULL, TRUTH, WHOLE_OR_NULL, list_of, object_of

_TEXTS: Final = ("title", "question", "instructions", "consent", "thanks")


class Prose(Documented):
    """Text, which may be empty."""

    documented = TEXT

    def read(self, value: Any) -> str:
        """Check a value."""
        if not isinstance(value, str):
            raise ValidationError("must be text")
        return value


class ProseOrNull(Documented):
    """Text or null; empty text is null."""

    documented = TEXT_OR_NULL

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_none=True, **kwargs)

    def read(self, value: Any) -> str | None:
        """Check a value."""
        if value is not None and not isinstance(value, str):
            raise ValidationError("must be text or null")
        return value or None


class TextsRequest(Request):
    """The texts of one language."""

    language = Prose(required=True, about='A tag like "en" or "pt-BR".')
    title = Prose(required=True)
    question = Prose(required=True)
    instructions = Prose(load_default="", about="Markdown.")
    consent = Prose(load_default="", about="Markdown.")
    thanks = Prose(load_default="", about="Markdown.")


class PagesRequest(Request):
    """The pages that a campaign shows to its voters, and who may take part."""

    texts = List(Part(TextsRequest), required=True, metadata={"description": "The first language is the default."})
    consent_version = Prose(load_default="1")
    open_link = Flag(load_default=False)
    sheets = Whole(least=1, most=10_000, allow_none=True, about="Most of a voter; null: all.")
    ties = Flag(load_default=True)
    cannot_say = Flag(load_default=True)
    platform = ProseOrNull()
    study = ProseOrNull()
    completion_code = ProseOrNull()
    completion_url = ProseOrNull(about="On Prolific null is enough: the code makes the address.")
    screened_out_code = ProseOrNull(about="For one who was left out before finishing.")
    quota_full_code = ProseOrNull(about="For one who came when nothing was left.")
    study_minutes = Number(
        above=0,
        most=100_000,
        allow_none=True,
        about="The platform's maximum allowed time, for which a participant has a sheet.",
    )

    @post_load
    def pages(self, data: dict[str, Any], **_: Any) -> VotingPages:
        """Make the pages."""
        try:
            return VotingPages.from_dict(data)
        except AdaptiveError as error:
            raise ValidationError(str(error)) from error


PAGES: Final = object_of(
    {
        "texts": list_of(object_of({"language": TEXT, **dict.fromkeys(_TEXTS, TEXT)})),
        "consent_version": TEXT,
        "open_link": TRUTH,
        "sheets": WHOLE_OR_NULL,
        "ties": TRUTH,
        "cannot_say": TRUTH,
        **dict.fromkeys(("platform", "study", "completion_code", "completion_url"), TEXT_OR_NULL),
        **dict.fromkeys(("screened_out_code", "quota_full_code"), TEXT_OR_NULL),
        "study_minutes": NUMBER_OR_NULL,
    }
)


class PagesAnswer(Answer):
    """The current pages and their version."""

    version = Dumped(COUNT)
    pages = Dumped(PAGES)
