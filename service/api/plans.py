"""Serve POST /v1/plans."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from adaptive import PlanError
from adaptive.budget import plan_one_way
from service.api import work
from service.openapi.blueprint import Blueprint
from service.schemas.ballot_fields import LARGEST
from service.schemas.plans import PlanAnswer, PlanRequest

blueprint = Blueprint("plans", __name__, url_prefix="/v1/plans", description="Sizes and cost of ballots")


@blueprint.post("", name="planBallots")
@blueprint.arguments(PlanRequest)
@blueprint.response(200, PlanAnswer)
def plan(*, seconds_per_comparison: float | None = None, n_voters: int | None = None, **chosen: Any) -> dict[str, Any]:
    """Plan the ballots: their sizes, comparisons and cost, with advice on weak points."""
    work.admit(work.of_plan(chosen["n_ballots"]))
    planned = plan_one_way(**chosen, seconds_per_comparison=seconds_per_comparison)
    if max(planned.n_comparisons, planned.top_presentations) > LARGEST:
        raise PlanError(f"a plan has at most {LARGEST} comparisons; this one has {planned.n_comparisons}")
    numbers = planned.to_dict()
    advice = planned.advice if n_voters is None else planned.advice_for(n_voters)
    return {
        "plan": {name: numbers.pop(name) for name in ("n_items", "n_ballots", "fraction", "presentations")},
        **numbers,
        "hours": None if seconds_per_comparison is None else planned.cost(seconds_per_comparison),
        "advice": [asdict(one) for one in advice],
    }
