"""GET /v1/campaigns/{key}/progress, quality and ledger: what an organiser watches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adaptive.ledger import BallotProgress, CampaignQuality, CampaignStatus, Limits
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.conditional import Remembered, tagged
from service.collect.schemas.answers import (
    LedgerAnswer,
    LedgerQuery,
    ProgressAnswer,
    QualityAnswer,
    QualityQuery,
)
from service.openapi.blueprint import operation

blueprint = of_organisers("progress", __name__, "Where it stands")

_progress = Remembered()
_quality = Remembered(8)


@blueprint.route("/<key>/progress", methods=["GET"])
@operation("readProgress")
@blueprint.response(200, ProgressAnswer)
def progress(key: str) -> Any:
    """Where the campaign stands; 304 for a client that sends the ETag of before, where nothing has changed."""
    campaign = organiser(key)

    def answer(found: tuple[CampaignStatus, list[BallotProgress]]) -> dict[str, Any]:
        return dict(zip(("status", "ballots"), found, strict=True))

    return tagged(_progress, key, campaign.progress_stamp(), campaign.progress, answer)


@blueprint.route("/<key>/quality", methods=["GET"])
@blueprint.arguments(QualityQuery, location="query")
@operation("readQuality")
@blueprint.response(200, QualityAnswer)
def quality(query: dict[str, Any], key: str) -> Any:
    """How far the votes can be trusted, voter by voter, and whom to look at; nobody is left out by it."""
    campaign, fast, names = organiser(key), query["fast"], query["names"]
    stamp = campaign.stamp()

    def answer(found: CampaignQuality) -> dict[str, Any]:
        if names:
            return {"quality": found}
        unnamed = tuple(replace(voter, voter=voter.key) for voter in found.voters)
        return {"quality": replace(found, voters=unnamed)}

    return tagged(
        _quality, (key, fast), stamp, lambda: campaign.quality(Limits(fast_seconds=fast)), answer, fast, names
    )


@blueprint.route("/<key>/ledger", methods=["GET"])
@blueprint.arguments(LedgerQuery, location="query")
@operation("readLedger")
@blueprint.response(200, LedgerAnswer)
def read_ledger(query: dict[str, int], key: str) -> Any:
    """Vote events in order, after the one that was read last; voters by their random keys."""
    after, most = query["after"], query["limit"]
    events = organiser(key).events_after(after, most=most)
    return {"events": events, "next": events[-1].number if events else after, "complete": len(events) < most}
