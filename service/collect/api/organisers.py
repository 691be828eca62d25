"""Serve /v1/organiser/sessions: let a browser act for an organiser for some days."""

from __future__ import annotations

from typing import Any

from flask import Response

from service.collect import access
from service.collect.api.blueprints import of_organisers
from service.collect.schemas.answers import OrganiserSessionRequest
from service.collect.schemas.voting import NoFields
from service.collect.state import collecting
from service.openapi.blueprint import operation

blueprint = of_organisers("organisers", __name__, "Sessions of browsers", prefix="/v1/organiser/sessions")


@blueprint.route("", methods=["POST"])
@blueprint.arguments(OrganiserSessionRequest)
@operation("beginOrganiserSession")
@blueprint.response(204)
def begin(request: dict[str, str]) -> Response:
    """Exchange an organiser's token for the cookie of a session that lasts a week."""
    campaign = collecting().campaigns.of(request["campaign"])
    access.holder_of_link(campaign, request["token"], "organiser")
    session = campaign.tokens.issue("organiser session", hours=access.ORGANISER_HOURS)
    response = Response(status=204)
    access.set_cookie(response, access.ORGANISER_COOKIE, campaign, session)
    return response


@blueprint.route("/<key>/end", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("endOrganiserSession")
@blueprint.response(204)
def end(_request: dict[str, Any], key: str) -> Response:
    """End the session of a browser; its cookie is no longer valid."""
    campaign = access.organiser(key)
    if token := access.organiser_session(campaign):
        campaign.tokens.revoke(token)
    response = Response(status=204)
    access.set_cookie(response, access.ORGANISER_COOKIE, campaign, "")
    return response
