"""Serve /v1/campaigns/{key}/progress, quality and ledger: the data that an organiser monitors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adaptive.ledger import BallotProgress, CampaignQuality, CampaignStatus, Limits
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.conditional import Remembered, tagged
from service.collect.schemas.answers import LedgerAnswer, LedgerQuery, ProgressAnswer, QualityAnswer, QualityQuery
from service.openapi.blueprint import operation

blueprint = of_organisers("progress", __name__, "Where it stands")

_progress = Remembered()
_quality = Remembered(8)


@blueprint.route("/<key>/progress", methods=["GET"])
@operation("readProgress")
@blueprint.response(200, ProgressAnswer)
def progress(key: str) -> Any:
    """Return the progress of the campaign; 304 if it is unchanged since the ETag that the client sends."""
    campaign = organiser(key)

    def answer(found: tuple[CampaignStatus, list[BallotProgress]]) -> dict[str, Any]:
        return dict(zip(("status", "ballots"), found, strict=True))

    return tagged(_progress, key, campaign.progress_stamp(), campaign.progress, answer)


@blueprint.route("/<key>/quality", methods=["GET"])
@blueprint.arguments(QualityQuery, location="query")
@operation("readQuality")
@blueprint.response(200, QualityAnswer)
def quality(query: dict[str, Any], key: str) -> Any:
    """Report how reliable the votes are, voter by voter, and which voters to check; this excludes no voter."""
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
    """Return the vote events after the last one read, in order; voters are identified by random keys."""
    after, most = query["after"], query["limit"]
    events = organiser(key).events_after(after, most=most)
    return {"events": events, "next": events[-1].number if events else after, "complete": len(events) < most}
