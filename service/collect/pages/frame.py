"""Build the frame that all pages share, in the reader's language; serve the bare address, images and sounds.

The organiser's pages contain only this frame. Their scripts load the campaign's data from the API.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from flask import Blueprint, abort, make_response, render_template, request, send_file
from marshmallow import missing
from werkzeug.wrappers import Response

from adaptive.ledger import VotingPages
from service.collect.content import TYPES, asset_file
from service.collect.schemas.answers import EXPORTS
from service.collect.schemas.campaigns import CampaignRequest, PagesRequest, PlanChoice, SettingsRequest
from service.collect.state import collecting
from service.collect.texts import LANGUAGES, Texts, direction, language_name

# An SVG may contain scripts. They do not run in an image on a page; opened by its address, the SVG is sandboxed.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_DAY: Final = 86_400
# In this order: progress and voters' links, opening and closing ballots, voters and the quality of their votes, items
# and their answers, ranking with figures and files, voters' texts and eligibility.
TABS: Final = ("overview", "ballots", "voters", "items", "result", "settings")

bare = Blueprint("home", __name__)
assets = Blueprint("assets", __name__)
_FORM_SCHEMAS: Final = (SettingsRequest(), PlanChoice(), PagesRequest(), CampaignRequest())
organiser = Blueprint("organiser_pages", __name__, url_prefix="/o")


def language_in_address() -> str | None:
    """Return the language that the address asks for, if the interface has it."""
    tag = request.args.get("lang")
    return tag if tag in LANGUAGES else None


def reader_texts() -> Texts:
    """Return the texts of the interface, in the language of the address or of the browser."""
    return Texts(language_in_address() or browser_language(LANGUAGES) or LANGUAGES[0])


def browser_language(languages: Sequence[str]) -> str | None:
    """Return the language that the browser prefers, by its tag or its main part; None if it accepts none of them."""
    for tag in map(str.lower, request.accept_languages.values()):
        dialects = [language for language in languages if language.lower().split("-")[0] == tag.split("-")[0]]
        if dialects:
            return next((dialect for dialect in dialects if dialect.lower() == tag), dialects[0])
    return None


def page_of(template: str, text: Texts, *, status: int = 200, **values: Any) -> Response:
    """Render a page from its template, in the language and direction of its texts unless values override them."""
    defaults = {"text": text, "language": text.language, "direction": direction(text.language)}
    return make_response(render_template(template, **{**defaults, **values}), status)


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
    path = asset_file(collecting().settings.assets, name)
    if path is None:
        abort(404)
    response = send_file(path, mimetype=TYPES[Path(name).suffix.lower()], conditional=True, max_age=_DAY)
    response.headers["Content-Security-Policy"] = POLICY
    return response


def number_input(name: str, *, share: bool = False, value: float | None = None) -> str:
    """Return the attributes of an input for whole numbers, with the bounds and the default of a field of a request.

    >>> number_input("least_answered", share=True)
    'min="0" max="100" step="1" inputmode="numeric" value="90"'
    """
    schema = next(schema for schema in _FORM_SCHEMAS if name in schema.fields)
    field: Any = schema.fields[name]
    scale = 100 if share else 1
    default = None if field.load_default is missing else scale * field.load_default
    bounds = {"min": scale * max(field.least, 0 if share else 1), "max": scale * field.most, "step": 1}
    values = {**bounds, "inputmode": "numeric", "value": default if value is None else value}
    return " ".join(
        f'{key}="{number:g}"' if isinstance(number, int | float) else f'{key}="{number}"'
        for key, number in values.items()
        if number is not None
    )


def organiser_page(page: str, key: str | None = None) -> Response:
    """Return a page of a campaign, or the page that creates one; creating needs a token that allows it."""
    text, tag = reader_texts(), language_in_address()
    query = "" if tag is None else f"?lang={quote(tag)}"
    home = None if key is None else f"/o/{quote(key)}"
    tabs = [] if home is None else [(tab, f"{home}{'' if tab == 'overview' else '/' + tab}{query}") for tab in TABS]
    return page_of(
        f"organiser/{page}.html",
        text,
        key=key,
        page=page,
        tabs=tabs,
        languages=[(tag, language_name(tag)) for tag in LANGUAGES],
        script_texts=text.section("organiser"),
        query=query,
        exports=EXPORTS,
        stores_images=bool(collecting().settings.assets),
        number_input=number_input,
        default_pages=json.dumps(VotingPages(open_link=True).to_dict()) if key is None else "",
    )


for name, rule in {"new": "/new", "overview": "/<key>", **{tab: f"/<key>/{tab}" for tab in TABS[1:]}}.items():
    organiser.add_url_rule(rule, name, partial(organiser_page, name))
for rule in ("/", "/<path:_>"):
    organiser.add_url_rule(rule, "unknown", unknown)
