"""Serve GET /v1/campaigns/{key}/participants: participants from a platform, to approve or reject there."""

from __future__ import annotations

from typing import Any

from flask import Response

from adaptive.ledger import DECISIONS, PlatformVoters
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.api.exports import file_of
from service.collect.conditional import Remembered, tagged
from service.collect.schemas.answers import ParticipantsAnswer, StudyQuery
from service.http.problems import Problem
from service.openapi.blueprint import operation

_participants = Remembered()

blueprint = of_organisers("participants", __name__, "Participants of a platform")


@blueprint.route("/<key>/participants", methods=["GET"])
@operation("listParticipants")
@blueprint.response(200, ParticipantsAnswer)
def read(key: str) -> Any:
    """Return participants in order of arrival, by their platform ids, which are personal data.

    The decision concerns participants who received the completion code: "approve" while their votes count, "reject"
    once they are excluded. Other participants have no submission to decide on.
    """
    campaign = organiser(key)
    stamp = campaign.stamp()

    def answer(found: PlatformVoters) -> dict[str, Any]:
        return {"platform": found.platform, "participants": found.participants}

    return tagged(_participants, key, stamp, campaign.voters.of_platform, answer)


@blueprint.route("/<key>/participants/<decision>", methods=["GET"])
@blueprint.arguments(StudyQuery, location="query")
@operation("exportParticipants")
@blueprint.doc(responses={200: {"content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}}}})
@blueprint.response(200)
def export(query: dict[str, str], key: str, decision: str) -> Response:
    """Return the ids to approve, or those to reject, one per line and without a header, as platforms expect."""
    campaign = organiser(key)
    if decision not in DECISIONS:
        known = " and ".join(DECISIONS)
        raise Problem(404, f"there is no list of this name; there are {known}", kind="no-such-list")
    found = campaign.voters.of_platform().participants
    study = query.get("study")
    ids = [each.participant for each in found if each.decision == decision and study in (None, each.study)]
    return file_of(f"{decision}.csv", "".join(f"{each}\n" for each in ids).encode(), key)
