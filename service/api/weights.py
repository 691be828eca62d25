"""Serve GET /v1/weights."""

from __future__ import annotations

from typing import Any

from rankcorr.shares import weight_table
from service.openapi.blueprint import Blueprint, operation
from service.schemas.weights import WeightsAnswer, WeightsQuery

blueprint = Blueprint("weights", __name__, url_prefix="/v1/weights", description="What n0 means")

TAG = {
    "schema": {"type": "string"},
    "description": "While a request's If-None-Match holds it and the answer stays the same, 304 and no body is sent.",
}


@blueprint.route("", methods=["GET"])
@blueprint.arguments(WeightsQuery, location="query")
@operation("showWeights")
@blueprint.doc(responses={200: {"headers": {"ETag": TAG}}})
@blueprint.response(200, WeightsAnswer)
def weights(query: dict[str, Any]) -> dict[str, Any]:
    """Return the share of the weight on each of the top ranks, or find n0 from a share."""
    table = weight_table(**query)
    return {"n0": table.n0, "first_rank_share": table.first_rank_share, "n_items": table.n_items, "ranks": table.rows()}
