"""POST /v1/plans."""

from __future__ import annotations

from typing import Any

from service.api import planning
from service.api.documentation import Blueprint
from service.schemas.plans import PlanAnswer, PlanRequest

blueprint = Blueprint("plans", __name__, url_prefix="/v1/plans", description="Sizes and cost of ballots")


@blueprint.route("", methods=["POST"])
@blueprint.arguments(
    PlanRequest,
    example={"n_items": 990, "n_ballots": 7, "fraction": 0.5, "presentations": 20, "seconds_per_comparison": 5},
)
@blueprint.response(200, PlanAnswer)
def plan(request: dict[str, Any]) -> dict[str, Any]:
    """Plan the ballots: their sizes, comparisons and cost, and what to reconsider."""
    return planning.plan(**request)
