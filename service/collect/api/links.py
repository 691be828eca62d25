"""Serve /v1/campaigns/{key}/invitations, links and study-links: the ways for voters to join."""

from __future__ import annotations

import io
import secrets
from typing import Any
from urllib.parse import quote

import segno
from flask import request as asked

from adaptive.ledger import guarded
from adaptive.tables import csv_text
from service.collect.access import organiser, own_origin
from service.collect.api.blueprints import of_organisers
from service.collect.schemas.answers import InvitationRequest, InvitationsAnswer, LinksAnswer, StudyLinkAnswer
from service.collect.schemas.voting import NoFields
from service.http.problems import Problem
from service.openapi.blueprint import operation

blueprint = of_organisers("links", __name__, "How voters come")

# A platform replaces these words in the address of a study.
_PROLIFIC = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


@blueprint.route("/<key>/invitations", methods=["POST"])
@blueprint.arguments(InvitationRequest, example={"voters": ["Ada", "Grace"]})
@operation("inviteVoters")
@blueprint.response(201, InvitationsAnswer)
def invitations(request: dict[str, Any], key: str) -> Any:
    """Make a link for each voter, which only that voter can use; a voter who already has a link gets another."""
    names = request.get("voters") or [f"guest {secrets.token_hex(4)}" for _ in range(request["number"])]
    tokens = organiser(key).voters.invite(names)
    urls = [f"{voter_url(key)}#{token}" for token in tokens]
    rows = zip(names, urls, strict=True)
    return {
        "invitations": [
            {"name": name, "url": url, "qr": qr_code(url) if request["qr"] else None} for name, url in rows
        ],
        "csv": csv_text(["voter", "link"], [[guarded(name), url] for name, url in zip(names, urls, strict=True)]),
    }


@blueprint.route("/<key>/links", methods=["GET"])
@operation("readLinks")
@blueprint.response(200, LinksAnswer)
def links(key: str) -> Any:
    """Return the address of the voters' page, and the open link if the pages of the campaign allow it."""
    _, pages = organiser(key).pages()
    url = voter_url(key)
    is_open = pages.open_link
    return {"voter_url": url, "open_url": url if is_open else None, "open_qr": qr_code(url) if is_open else None}


@blueprint.route("/<key>/study-links", methods=["POST"])
@blueprint.arguments(NoFields)
@operation("makeStudyLink")
@blueprint.response(201, StudyLinkAnswer)
def study_link(_request: dict[str, Any], key: str) -> Any:
    """Make a link for the campaign's platform; earlier links continue to work."""
    campaign = organiser(key)
    _, pages = campaign.pages()
    if pages.platform is None:
        raise Problem(409, "the campaign is on no platform: set one in its pages first", kind="not-possible")
    token = campaign.tokens.issue("study")
    query = f"?{_PROLIFIC}" if pages.platform == "prolific" else ""
    return {"url": f"{voter_url(key)}{query}#{token}", "platform": pages.platform}


def voter_url(key: str) -> str:
    """Return the address of the voters' page."""
    return f"{own_origin(asked)}/v/{quote(key)}"


def qr_code(text: str) -> str:
    """Return a QR code as SVG, black on white, with its quiet zone."""
    file = io.BytesIO()
    segno.make(text, error="m", micro=False).save(file, kind="svg", scale=4, border=4, dark="#000", light="#fff")
    return file.getvalue().decode()
