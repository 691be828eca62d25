"""POST /v1/simulations."""

from __future__ import annotations

from typing import Any

from service.api import planning
from service.api.documentation import Blueprint
from service.schemas.simulations import SimulationAnswer, SimulationRequest

blueprint = Blueprint("simulations", __name__, url_prefix="/v1/simulations", description="What a plan would reach")


@blueprint.route("", methods=["POST"])
@blueprint.arguments(
    SimulationRequest,
    example={
        "plan": {"n_items": 40, "n_ballots": 3, "fraction": 0.5, "presentations": 6},
        "voters": {"n_voters": 20, "nonconformity": [0.02, 0.2], "oversight": [0.005, 0.05]},
        "similarity": "exponential",
        "n_simulations": 8,
        "seed": 1,
    },
)
@blueprint.response(200, SimulationAnswer)
def run(request: dict[str, Any]) -> dict[str, Any]:
    """Simulate a plan, and a uniform ballot of equal cost, with voters who stray and err."""
    return planning.simulated(**request)
