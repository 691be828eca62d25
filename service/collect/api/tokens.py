"""/v1/campaigns/{key}/tokens: the links that were given out, a further one of an organiser, and taking them back."""

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
    """Tokens of organisers, invitations and links of studies, the latest first; none can be read again."""
    campaign, start, most = organiser(key), query["offset"], query["limit"]
    n_tokens, rows = campaign.tokens.rows(start=start, most=most, names=query["names"])
    return {"n_tokens": n_tokens, "tokens": rows}


@blueprint.route("/<key>/tokens", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("makeOrganiserToken")
@blueprint.response(201, OrganiserLinkAnswer)
def make(_request: dict[str, Any], key: str) -> Any:
    """Make a further token of an organiser, for somebody else, or to take back the one before."""
    token = organiser(key).tokens.issue("organiser")
    return {"token": token, "organiser_url": organiser_url(key, token)}


@blueprint.route("/<key>/tokens/<token_id>/revoke", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("revokeToken")
@blueprint.response(204)
def revoke(_request: dict[str, Any], key: str, token_id: str) -> None:
    """Let a link open nothing from now on; once more changes nothing.

    With an organiser's token end the sessions of organisers' browsers, but for that of whoever asks; with an invitation
    those of its voter, whose votes stay. With the link of a study nobody new comes by it. The last token of an
    organiser stays.
    """
    campaign = organiser(key)
    if not campaign.tokens.revoke_listed(token_id, mine=organiser_session(campaign)):
        raise Problem(404, "no link of this id was given out", kind="no-such-token")


def organiser_url(key: str, token: str) -> str:
    """The link of an organiser."""
    return f"{own_origin(asked)}/o/{key}#{token}"
