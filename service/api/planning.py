"""Library calls for the requests that plan and simulate, and their results as answers."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive import (
    BallotPlan,
    PlanError,
    Selection,
    VoterPopulation,
    plan_ballots,
    plan_for_budget,
    plan_for_top,
    select_by_mean,
    simulate,
)
from adaptive.scores import BallotScores
from adaptive.simulation.similarity import named_similarity
from rankcorr.notices import collected_notices
from service.http.deadline import Deadline
from service.schemas.ballot_fields import LARGEST
from service.schemas.fields import settings

Answer = dict[str, Any]


def plan(
    *,
    seconds_per_comparison: float | None = None,
    n_voters: int | None = None,
    presentations: int | None = None,
    top_presentations: int | None = None,
    comparisons: int | None = None,
    hours: float | None = None,
    **sizes: Any,
) -> Answer:
    """Plan from one of the four ways to say how often items are presented."""
    if presentations is not None:
        planned = plan_ballots(**sizes, presentations=presentations)
    elif top_presentations is not None:
        planned = plan_for_top(**sizes, top_presentations=top_presentations)
    elif comparisons is not None:
        planned = plan_for_budget(**sizes, comparisons=comparisons)
    else:
        planned = plan_for_budget(**sizes, hours=hours, seconds_per_comparison=seconds_per_comparison)
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


def simulated(
    *,
    plan: BallotPlan,
    voters: VoterPopulation,
    similarity: str | NDArray[np.float64],
    n_simulations: int,
    seed: int,
    **options: Any,
) -> Answer:
    """Means and standard deviations of the simulations of a plan."""
    deadline = Deadline(settings().limits.max_seconds)

    def select(scores: BallotScores, n_selected: int, rng: np.random.Generator) -> Selection:
        deadline()  # a task has up to 8 simulations, each of up to 10,000 ballots
        return select_by_mean(scores, n_selected, rng)

    values = named_similarity(similarity, plan.n_items) if isinstance(similarity, str) else similarity
    with collected_notices() as notices:
        result = simulate(
            plan,
            voters,
            values,
            n_simulations=n_simulations,
            seed=seed,
            select=select,
            executor=deadline,
            progress=lambda _: None,  # no bar, even on a terminal; the executor looks at the clock
            **options,
        )
    undefined = {name for means in result.mean.values() for name, mean in means.items() if math.isnan(mean)}
    return {
        "n_simulations": result.n_simulations,
        "approaches": result.to_dict(),
        "warnings": [{"message": message, "coefficients": sorted(undefined)} for message in dict.fromkeys(notices)],
    }
