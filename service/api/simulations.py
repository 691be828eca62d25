"""Serve POST /v1/simulations."""

import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from marshmallow import ValidationError, post_load, validates_schema
from numpy.typing import NDArray

from adaptive import BallotPlan, SimulationResult, VoterPopulation, simulate
from adaptive._tables import SimulatedCoefficient
from adaptive.simulation._approaches import PAPER_APPROACHES, Approach, simulated_comparisons
from adaptive.simulation._similarity import SIMILARITIES, named_similarity
from rankcorr._checks import collected_notices
from rankcorr._coefficients import COEFFICIENTS, TauW
from service.api.ballots import PlanInputs
from service.http.problems import shown
from service.openapi.document import Blueprint
from service.schemas import fields
from service.schemas.base import NoticedAnswer, Request, notices_of
from service.schemas.shapes import NUMBER, NUMBER_OR_NULL, Component, Shape, list_of, one_of, properties_of

APPROACH: Final = fields.vocabulary("Approach", PAPER_APPROACHES, "The plan, or one uniform ballot of equal cost.")
DISTRIBUTION: Final = fields.vocabulary("SimilarityDistribution", SIMILARITIES, "Underlying similarities by name.")
_PAPER: Final = VoterPopulation()


class Interval(fields.ListOf):
    """The lower and upper end of a voter's level."""

    def __init__(self, *, most: float, **kwargs: Any) -> None:
        number = fields.Number(least=0, most=most)
        super().__init__(number, "the least and the largest", least=2, most=2, is_unique=False, **kwargs)

    def read(self, value: Any) -> tuple[float, ...]:
        """Check a value, and return it as the library call takes it."""
        low, high = super().read(value)
        if low > high:
            raise ValidationError(f"must be the least, then the largest; got {shown(value)}")
        return low, high


class Similarity(fields.Documented):
    """A distribution by name, or the similarity of each item."""

    _item: Final = NUMBER(minimum=-1, maximum=1)
    documented: Mapping[str, Any] = one_of(
        DISTRIBUTION.reference, list_of(_item, minItems=2, maxItems=fields.Limit("max_items"))
    )
    _name = fields.Choice(DISTRIBUTION)
    _number = fields.Number(least=-1, most=1)

    def read(self, value: Any) -> str | NDArray[np.float64]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list):
            if isinstance(value, str):
                return self._name.read(value)
            words = ", ".join(map(shown, DISTRIBUTION.words))
            raise ValidationError(f"must be one of {words} or a list of numbers; got {shown(value)}")
        if len(value) < 2:
            raise ValidationError(f"must be a similarity for each of at least 2 items; got {len(value)}")
        fields.check_limit("max_items", len(value), of="similarities")
        for place, number in enumerate(value):
            if type(number) not in (int, float) or not -1 <= number <= 1:
                fields.read_at(self._number, number, str(place))
        return np.array(value, np.float64)


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
    approaches = fields.ChoiceList(APPROACH, load_default=APPROACH.words)
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
    SimulatedCoefficient, mean=fields.STATISTIC, sd=NUMBER_OR_NULL(minimum=0), se=NUMBER_OR_NULL(minimum=0)
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
        properties=dict.fromkeys(APPROACH.words, SIMULATED_APPROACH.reference),
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
