"""Serve /v1/campaigns/<key>/pages: what voters read, and who may take part."""

import dataclasses
from typing import Any, ClassVar, Final

from marshmallow import ValidationError, missing, post_load
from marshmallow.fields import List

from adaptive import ledger
from service.collect.api import blueprints
from service.collect.state import collecting
from service.http.problems import Problem
from service.schemas import fields, shapes
from service.schemas.base import Request

_ABOUT_PAGES: Final = {
    "completion_url": "On Prolific null is enough: the code makes the address.",
    "screened_out_code": "For participants who were excluded before they finished.",
    "quota_full_code": "For participants who came when no pair was left.",
}


class Prose(fields.Documented):
    """Text, which may be empty; where null is allowed, empty text is null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.documented = shapes.TEXT_OR_NULL if self.allow_none else shapes.TEXT

    def read(self, value: Any) -> str | None:
        """Check a value."""
        if not isinstance(value, str):
            raise ValidationError("must be text or null" if self.allow_none else "must be text")
        return value or (None if self.allow_none else value)


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

    class Meta(Request.Meta):  # noqa: D106
        include: ClassVar = {
            option.name: (fields.Flag if isinstance(option.default, bool) else Prose)(
                allow_none=option.default is None,
                load_default=missing if option.default is None else option.default,
                about=_ABOUT_PAGES.get(option.name),
            )
            for option in dataclasses.fields(ledger.VotingPages)
            if option.name not in ("texts", "sheets", "study_minutes")
        }

    sheets = fields.declared_field(ledger.VotingPages, "sheets", most=10_000, allow_none=True)
    study_minutes = fields.declared_field(ledger.VotingPages, "study_minutes", most=100_000, allow_none=True)
    texts = List(
        fields.Part(TextsRequest), required=True, metadata={"description": "The first language is the default."}
    )

    @post_load
    def pages(self, data: dict[str, Any], **_: Any) -> ledger.VotingPages:
        """Make the pages."""
        return blueprints.place_errors(lambda: ledger.VotingPages.from_dict(data))


_TEXTS: Final = shapes.exactly(language=shapes.TEXT, **shapes.properties_of(ledger.PageTexts))


class PagesAnswer(shapes.Answer):
    """The current pages and their version."""

    version = shapes.COUNT
    pages = shapes.exactly(**shapes.properties_of(ledger.VotingPages, texts=shapes.list_of(_TEXTS)))


blueprint = blueprints.organiser_blueprint("pages", __name__, "What voters read")


@blueprint.get("/<key>/pages", name="readPages")
@blueprint.response(200, PagesAnswer)
def read_pages(campaign: ledger.Campaign) -> Any:
    """Return the current pages; a change must send their ETag."""
    version, pages = campaign.pages()
    return _pages_answer(version, pages)


@blueprint.put("/<key>/pages", name="changePages")
@blueprint.arguments(PagesRequest, as_kwargs=False)
@blueprint.doc(**blueprints.CONDITIONAL)
@blueprint.response(200, PagesAnswer)
def change_pages(pages: ledger.VotingPages, campaign: ledger.Campaign) -> Any:
    """Replace the pages from now on; all versions are kept, to record which text each voter agreed to.

    If-Match must hold the ETag of the pages that you edited; the answer is 412 if they have changed since.
    """
    stamp = blueprints.read_if_match()
    version, _ = campaign.pages()
    if stamp != _pages_stamp(version):
        raise Problem(412, f"the pages have changed and are now of version {version}; read them again")
    version = campaign.set_pages(pages, replaces=version)
    collecting().campaigns.forget_pages(campaign)
    return _pages_answer(version, pages)


def _pages_stamp(version: int) -> str:
    return str(version).zfill(4)


def _pages_answer(version: int, pages: ledger.VotingPages) -> dict[str, Any]:
    blueprints.set_etag(_pages_stamp(version))
    return {"version": version, "pages": pages.to_dict()}
