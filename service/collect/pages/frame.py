"""What all pages have in common: the language of whoever reads them, and the frame that is filled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import make_response, render_template, request
from werkzeug.wrappers import Response

from service.collect.texts import LANGUAGES, Texts, direction

__all__ = ["asked_language", "page_of", "preferred", "reader_texts", "unknown"]


def asked_language() -> str | None:
    """The language that the address asks for, if the interface is there in it."""
    asked = request.args.get("lang")
    return asked if asked in LANGUAGES else None


def reader_texts() -> Texts:
    """The texts of the interface, in the language of the address, or of the browser."""
    return Texts(asked_language() or preferred(LANGUAGES) or LANGUAGES[0])


def preferred(offered: Sequence[str]) -> str | None:
    """The language that the browser likes best among these, by its tag or its main part; None where it likes none."""
    for tag in request.accept_languages.values():
        wanted = tag.lower()
        alike = [each for each in offered if each.lower().split("-")[0] == wanted.split("-")[0]]
        if alike:
            return next((each for each in alike if each.lower() == wanted), alike[0])
    return None


def page_of(template: str, text: Texts, *, status: int = 200, **values: Any) -> Response:
    """A page from its template, in the language and direction of its texts unless values say otherwise."""
    own = {"text": text, "language": text.language, "direction": direction(text.language)}
    return make_response(render_template(template, **{**own, **values}), status)


def unknown(_: str = "") -> Response:
    """The page of an address that leads nowhere, such as a link that was cut off."""
    return page_of("unknown.html", reader_texts(), status=404)
