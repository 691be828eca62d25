"""GET /: what this server is, for those who come without a link."""

from __future__ import annotations

from flask import Blueprint
from werkzeug.wrappers import Response

from service.collect.pages.frame import page_of, reader_texts

blueprint = Blueprint("home", __name__)


@blueprint.get("/")
def home() -> Response:
    """Where voters and organisers go; no campaign is named, since keys are found by links alone."""
    return page_of("home.html", reader_texts())
