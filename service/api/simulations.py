"""Serve POST /v1/simulations."""

import math
from typing import Any, Final

import numpy as np
from marshmallow import ValidationError, post_load, validates_schema
from numpy.typing import NDArray

from adaptive import BallotPlan, SimulationResult, VoterPopulation, simulate
from adaptive._rows import SimulatedCoefficient
from adaptive.simulation._approaches import Approach, simulated_comparisons
from adaptive.simulation._similarity import named_similarity
from rankcorr._checks import collected_notices
from rankcorr._coefficients import COEFFICIENTS, TauW
from service.api.ballots import PlanInputs
from service.openapi.blueprint import Blueprint
from service.schemas import fields
from service.schemas.ballot_fields import Interval, Similarity
from service.schemas.base import NoticedAnswer, Request, notices_of
from service.schemas.shapes import NUMBER_OR_NULL, Component, Shape, properties_of

_PAPER: Final = VoterPopulation()


class Voters(Request):
    """Simulated voters: each level is uniform over its interval; the defaults are the paper's."""

    n_voters = fields.Count(limit="max_opinions", of="opinions, voters times items", load_default=_PAPER.n_voters)
    nonconformity = Interval(
        most=1e300,
        load_default=_PAPER.nonconformity,
        about="How far the opinions of a voter stray from the underlying similarity.",
    )
    oversight = Interval(
        most=1, load_default=_PAPER.oversight, about="Probability that a voter answers against the own opinion."
    )

    @post_load
    def population(self, data: dict[str, Any], **_: Any) -> VoterPopulation:
        """Make the population of voters to draw from."""
        return VoterPopulation(**data)


class SimulationRequest(Request):
    """The plan to simulate, and the number of simulations."""

    plan = fields.Part(PlanInputs, required=True)
    voters = fields.Part(Voters, load_default=_PAPER, about="By default the paper's.")
    similarity = Similarity(
        required=True, about="Underlying similarities: a distribution, or one number from -1 to 1 for each item."
    )
    n_simulations = fields.Count(limit="max_simulated_votes", of="votes of all simulations", required=True)
    seed = fields.Seed(about="The same seed gives the same numbers.")
    relatedness = fields.Flag(
        load_default=True, about="Voters judge, and the true ranking follows, the size of the similarity."
    )
    approaches = fields.Choices(fields.APPROACH, load_default=fields.APPROACH.words)
    n0 = fields.declared_field(TauW, "n0", most=1e300)

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse similarities that do not match the plan, and simulations above a limit."""
        plan, similarity = data["plan"], data["similarity"]
        if isinstance(similarity, np.ndarray) and similarity.size != plan.n_items:
            raise ValidationError(f"the plan has {plan.n_items} items; got {similarity.size} numbers", "similarity")
        ballots = [count for approach in data["approaches"] for count in simulated_comparisons(plan, approach)]
        for limit, count, of, field in (
            ("max_opinions", data["voters"].n_voters * plan.n_items, "opinions, voters times items", "voters"),
            ("max_comparisons", max(ballots), "comparisons of a ballot", "plan"),
            ("max_simulated_votes", data["n_simulations"] * sum(ballots), "votes of all simulations", "n_simulations"),
        ):
            fields.check_limit(limit, count, of=of, field=field)


SIMULATED_COEFFICIENT: Final = Component.of(
    SimulatedCoefficient,
    is_open=False,
    mean=fields.STATISTIC,
    sd=NUMBER_OR_NULL(minimum=0),
    se=NUMBER_OR_NULL(minimum=0),
)
SIMULATED_APPROACH: Final = Component.exactly(
    "SimulatedApproach", **dict.fromkeys(COEFFICIENTS, SIMULATED_COEFFICIENT.reference)
)


class SimulationAnswer(
    NoticedAnswer,
    **properties_of(
        SimulationResult,
        "n_simulations",
        "advice",
        advice={"description": "On too few voters: each would see a pair more than once."},
    ),
):
    """How well the plan recovers the true ranking; null if a coefficient is undefined in a simulation."""

    approaches = Shape(
        type="object",
        minProperties=1,
        additionalProperties=False,
        properties=dict.fromkeys(fields.APPROACH.words, SIMULATED_APPROACH.reference),
    )("The plan, and the one uniform ballot of equal cost: coefficients against the true ranking.")


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
