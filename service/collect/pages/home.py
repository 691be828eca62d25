"""Serve GET /: explain what this server is, for visitors without a link."""

from __future__ import annotations

from flask import Blueprint
from werkzeug.wrappers import Response

from service.collect.pages.frame import page_of, reader_texts

blueprint = Blueprint("home", __name__)


@blueprint.get("/")
def home() -> Response:
    """Tell voters and organisers where to go; name no campaign, because a key is only given out in links."""
    return page_of("home.html", reader_texts())
