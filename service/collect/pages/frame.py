"""Build the frame that all pages share, in the reader's language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import make_response, render_template, request
from werkzeug.wrappers import Response

from service.collect.texts import LANGUAGES, Texts, direction

__all__ = ["asked_language", "page_of", "preferred", "reader_texts", "unknown"]


def asked_language() -> str | None:
    """Return the language that the address asks for, if the interface has it."""
    asked = request.args.get("lang")
    return asked if asked in LANGUAGES else None


def reader_texts() -> Texts:
    """Return the texts of the interface, in the language of the address or of the browser."""
    return Texts(asked_language() or preferred(LANGUAGES) or LANGUAGES[0])


def preferred(offered: Sequence[str]) -> str | None:
    """Return the offered language that the browser prefers, by its tag or its main part; None if it accepts none."""
    for tag in request.accept_languages.values():
        wanted = tag.lower()
        alike = [each for each in offered if each.lower().split("-")[0] == wanted.split("-")[0]]
        if alike:
            return next((each for each in alike if each.lower() == wanted), alike[0])
    return None


def page_of(template: str, text: Texts, *, status: int = 200, **values: Any) -> Response:
    """Render a page from its template, in the language and direction of its texts unless values override them."""
    own = {"text": text, "language": text.language, "direction": direction(text.language)}
    return make_response(render_template(template, **{**own, **values}), status)


def unknown(_: str = "") -> Response:
    """Return the page for an unknown address, such as a truncated link."""
    return page_of("unknown.html", reader_texts(), status=404)
