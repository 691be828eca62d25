"""/v1/organiser/sessions."""

from __future__ import annotations

from typing import Any

from flask import Response

from service.collect.api.blueprints import OF_ORGANISERS
from service.collect.organisers import end_session, start_session
from service.collect.schemas.answers import NothingRequest, SessionRequest
from service.openapi.blueprint import Blueprint, operation

blueprint = Blueprint(
    "organisers", __name__, url_prefix="/v1/organiser/sessions", description="Sessions of browsers", **OF_ORGANISERS
)


@blueprint.route("", methods=["POST"])
@blueprint.arguments(SessionRequest)
@operation("startOrganiserSession")
@blueprint.response(204)
def start(request: dict[str, Any]) -> Response:
    """Take an organiser's token, and give a browser the cookie of a session of 12 hours."""
    return start_session(request["campaign"], request["token"])


@blueprint.route("/<key>/end", methods=["POST"])
@blueprint.arguments(NothingRequest)
@operation("endOrganiserSession")
@blueprint.response(204)
def end(_request: dict[str, Any], key: str) -> Response:
    """End the session of a browser, whose cookie opens nothing from now on."""
    return end_session(key)
