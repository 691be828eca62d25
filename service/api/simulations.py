"""Serve POST /v1/simulations."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive import BallotPlan, VoterPopulation, simulate
from adaptive.simulation._approaches import Approach
from adaptive.simulation._similarity import named_similarity
from rankcorr._checks import collected_notices
from service.openapi.blueprint import Blueprint
from service.schemas.base import notices_of
from service.schemas.simulations import SimulationAnswer, SimulationRequest

blueprint = Blueprint("simulations", __name__, url_prefix="/v1/simulations", description="Simulated accuracy of a plan")


@blueprint.post("", name="simulatePlan")
@blueprint.arguments(SimulationRequest)
@blueprint.response(200, SimulationAnswer)
def run(
    *,
    plan: BallotPlan,
    voters: VoterPopulation,
    similarity: str | NDArray[np.float64],
    n_simulations: int,
    seed: int,
    approaches: tuple[Approach, ...],
    **options: Any,
) -> dict[str, Any]:
    """Simulate a plan, and a uniform ballot of equal cost, with voters who deviate and make slips."""
    values = named_similarity(similarity, plan.n_items) if isinstance(similarity, str) else similarity
    with collected_notices() as notices:
        result = simulate(
            plan, voters, values, n_simulations=n_simulations, seed=seed, approaches=approaches, **options
        )
    undefined = {name for means in result.mean.values() for name, mean in means.items() if math.isnan(mean)}
    return {
        "n_simulations": result.n_simulations,
        "approaches": result.to_dict(),
        "advice": result.advice,
        "warnings": notices_of(dict.fromkeys(notices), *sorted(undefined)),
    }
