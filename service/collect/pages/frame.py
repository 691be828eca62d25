"""Build the frame that all pages share, in the reader's language; serve the bare address, images and sounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from flask import Blueprint, abort, make_response, render_template, request, send_file
from werkzeug.wrappers import Response

from service.collect.content import TYPES, asset_file
from service.collect.state import collecting
from service.collect.texts import LANGUAGES, Texts, direction

# An SVG may contain scripts. They do not run in an image on a page; opened by its address, the SVG is sandboxed.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_DAY: Final = 86_400

bare = Blueprint("home", __name__)
assets = Blueprint("assets", __name__)


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


@bare.get("/")
def home() -> Response:
    """Tell voters and organisers where to go; name no campaign, because a key is only given out in links."""
    return page_of("home.html", reader_texts())


@assets.get("/assets/<path:name>")
def asset(name: str) -> Response:
    """Serve a file of the folder; 404 if it is outside, hidden, or neither image nor sound."""
    found = asset_file(collecting().settings.assets, name)
    if found is None:
        abort(404)
    kind = TYPES[Path(name).suffix.lower()]
    response = send_file(found, mimetype=kind, conditional=True, max_age=_DAY)
    response.headers["Content-Security-Policy"] = POLICY
    return response
