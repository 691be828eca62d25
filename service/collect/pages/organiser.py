"""Serve the organiser's pages: each is a frame without campaign data, and its script loads the data from the API."""

from __future__ import annotations

from functools import partial
from typing import Final
from urllib.parse import quote

from flask import Blueprint
from werkzeug.wrappers import Response

from service.collect.pages.frame import asked_language, page_of, reader_texts, unknown
from service.collect.texts import LANGUAGES, language_name

# In this order: progress and voters' links, opening and closing ballots, voters and the quality of their votes, items
# and their answers, ranking with figures and files, voters' texts and eligibility.
TABS: Final = ("overview", "ballots", "voters", "items", "result", "settings")

blueprint = Blueprint("organiser_pages", __name__, url_prefix="/o")


def show(page: str, key: str | None = None) -> Response:
    """Return a page of a campaign, or the page that creates one; creating needs a token that allows it."""
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
