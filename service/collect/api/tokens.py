"""Serve /v1/campaigns/{key}/tokens: list the links that were issued, add one for an organiser, revoke them."""

from __future__ import annotations

from typing import Any

from flask import request as asked

from service.collect.access import organiser, organiser_session, own_origin
from service.collect.api.blueprints import of_organisers
from service.collect.schemas.answers import OrganiserLinkAnswer, TokensAnswer, VotersQuery
from service.collect.schemas.voting import NoFields
from service.http.problems import Problem
from service.openapi.blueprint import operation

blueprint = of_organisers("tokens", __name__, "Links that were given out")


@blueprint.route("/<key>/tokens", methods=["GET"])
@blueprint.arguments(VotersQuery, location="query")
@operation("listTokens")
@blueprint.response(200, TokensAnswer)
def read(query: dict[str, Any], key: str) -> Any:
    """List the tokens of organisers, invitations and study links, newest first, without their secrets."""
    campaign, start, most = organiser(key), query["offset"], query["limit"]
    n_tokens, rows = campaign.tokens.rows(start=start, most=most, names=query["names"])
    return {"n_tokens": n_tokens, "tokens": rows}


@blueprint.route("/<key>/tokens", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("makeOrganiserToken")
@blueprint.response(201, OrganiserLinkAnswer)
def make(_request: dict[str, Any], key: str) -> Any:
    """Make another token for an organiser: for a second person, or to replace one that you revoke."""
    token = organiser(key).tokens.issue("organiser")
    return {"token": token, "organiser_url": organiser_url(key, token)}


@blueprint.route("/<key>/tokens/<token_id>/revoke", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("revokeToken")
@blueprint.response(204)
def revoke(_request: dict[str, Any], key: str, token_id: str) -> None:
    """Revoke a link, so that it is no longer valid; revoking it again changes nothing.

    Revoking an organiser's token also ends the sessions of organisers' browsers, except your own. Revoking an
    invitation ends the sessions of its voter, whose votes are kept. The link of a study admits no new participants once
    it is revoked. The last organiser's token cannot be revoked.
    """
    campaign = organiser(key)
    if not campaign.tokens.revoke_listed(token_id, mine=organiser_session(campaign)):
        raise Problem(404, "no link of this id was given out", kind="no-such-token")


def organiser_url(key: str, token: str) -> str:
    """Return the link of an organiser."""
    return f"{own_origin(asked)}/o/{key}#{token}"
