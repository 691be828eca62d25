"""The pages of an organiser: a frame each, without anything of a campaign; what they show they ask of the API."""

from __future__ import annotations

from functools import partial
from typing import Final
from urllib.parse import quote

from flask import Blueprint
from werkzeug.wrappers import Response

from service.collect.pages.frame import asked_language, page_of, reader_texts, unknown
from service.collect.texts import LANGUAGES, language_name

__all__ = ["blueprint"]

# Where it stands and the links of voters; opening and closing; who votes, and how far the votes can be trusted; items
# and their answers; the ranking, figures and files; what voters read, and who may vote.
TABS: Final = ("overview", "ballots", "voters", "items", "result", "settings")

blueprint = Blueprint("organiser_pages", __name__, url_prefix="/o")


def show(page: str, key: str | None = None) -> Response:
    """A page of a campaign, or the one on which a campaign is made, which needs a token that may make some."""
    text, asked = reader_texts(), asked_language()
    query = "" if asked is None else f"?lang={quote(asked)}"
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
    )


for name, rule in {"new": "/new", "overview": "/<key>", **{tab: f"/<key>/{tab}" for tab in TABS[1:]}}.items():
    blueprint.add_url_rule(rule, name, partial(show, name))
for rule in ("/", "/<path:_>"):
    blueprint.add_url_rule(rule, "unknown", unknown)
