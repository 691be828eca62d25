"""Serve GET /v1/campaigns/{key}/items and /plan."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from adaptive.ledger import Campaign
from service.collect.access import organiser
from service.collect.api.blueprints import of_organisers
from service.collect.api.campaigns import looked_at
from service.collect.conditional import Remembered, tagged
from service.collect.schemas.answers import ItemsAnswer, PageQuery
from service.collect.schemas.campaigns import OutlookAnswer
from service.openapi.blueprint import operation

blueprint = of_organisers("items", __name__, "Items and plan")

_items = Remembered(2)  # rows of 200,000 items take 80 MB


@blueprint.route("/<key>/items", methods=["GET"])
@blueprint.arguments(PageQuery, location="query")
@operation("listItems")
@blueprint.response(200, ItemsAnswer)
def read(query: dict[str, int], key: str) -> Any:
    """Return the items with their answers in open ballots; sorted by answers, fewest first."""
    campaign = organiser(key)
    stamp = campaign.stamp()

    start, most = query["offset"], query["limit"]

    def part(rows: list[dict[str, Any]]) -> dict[str, Any]:
        return {"n_items": len(rows), "items": rows[start : start + most]}

    return tagged(_items, key, stamp, lambda: item_rows(campaign), part, start, most)


@blueprint.route("/<key>/plan", methods=["GET"])
@operation("readPlan")
@blueprint.response(200, OutlookAnswer)
def plan(key: str) -> Any:
    """Return the plan of the campaign, with its questions and its cost in total."""
    info = organiser(key).info
    pay = info.settings.pay
    seconds = None if pay is None else pay.seconds
    return looked_at(plan=info.plan, settings=info.settings, seconds=seconds, voters=len(info.slots), accuracy=False)


def item_rows(campaign: Campaign) -> list[dict[str, Any]]:
    """Return the items with their contents and answers."""
    return [
        {"item": each.item, **asdict(content), "presentations": each.presentations, "n_answered": each.n_answered}
        for each, content in campaign.items_shown()
    ]
