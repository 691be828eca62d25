"""The pages of an organiser: a frame each, without anything of a campaign; what they show they ask of the API."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from flask import Blueprint, make_response, render_template, request
from werkzeug.wrappers import Response

from service.collect.texts import LANGUAGES, Texts, direction, language_name

__all__ = ["blueprint"]

TABS: Final = ("overview", "ballots", "voters", "items", "result", "settings")

blueprint = Blueprint("organiser_pages", __name__, url_prefix="/o")


@blueprint.get("/new")
def new() -> Response:
    """A new campaign: items, plan with its cost, texts; needs a token that may make campaigns."""
    return _page("new", None)


@blueprint.get("/<key>")
def overview(key: str) -> Response:
    """Where the campaign stands, and the links of its voters."""
    return _page("overview", key)


@blueprint.get("/<key>/ballots")
def ballots(key: str) -> Response:
    """Opening and closing ballots."""
    return _page("ballots", key)


@blueprint.get("/<key>/voters")
def voters(key: str) -> Response:
    """Who votes, and how far the votes can be trusted."""
    return _page("voters", key)


@blueprint.get("/<key>/items")
def items(key: str) -> Response:
    """Items and their answers."""
    return _page("items", key)


@blueprint.get("/<key>/result")
def result(key: str) -> Response:
    """The ranking, figures, and files."""
    return _page("result", key)


@blueprint.get("/<key>/settings")
def settings(key: str) -> Response:
    """What voters read, and who may vote."""
    return _page("settings", key)


def _page(page: str, key: str | None) -> Response:
    asked = request.args.get("lang")
    chosen = asked if asked in LANGUAGES else request.accept_languages.best_match(LANGUAGES) or LANGUAGES[0]
    text = Texts(chosen)
    query = f"?lang={quote(asked)}" if asked in LANGUAGES and asked is not None else ""
    home = None if key is None else f"/o/{quote(key)}"
    tabs = [] if home is None else [(tab, f"{home}{'' if tab == 'overview' else '/' + tab}{query}") for tab in TABS]
    return make_response(
        render_template(
            f"organiser/{page}.html",
            key=key,
            page=page,
            tabs=tabs,
            text=text,
            language=text.language,
            languages=[(tag, language_name(tag)) for tag in LANGUAGES],
            direction=direction(text.language),
            script_texts=text.section("organiser"),
            query=query,
        )
    )
