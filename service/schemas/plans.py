"""Define the request and the answer for planning ballots."""

from __future__ import annotations

from itertools import combinations
from types import MappingProxyType
from typing import Any, Final

from marshmallow import post_load, validates_schema

from adaptive import BallotPlan
from service.schemas.ballot_fields import LARGEST, Fraction, ItemCount
from service.schemas.base import WAYS, Answer, Request, check_way
from service.schemas.fields import NOTHING, Dumped, Number, Whole
from service.schemas.shapes import NUMBER, NUMBER_OR_NULL, TEXT, WHOLE, exactly, list_of

MAX_BALLOTS: Final = 10_000


class Sizes(Request):
    """How the number of items shrinks from ballot to ballot."""

    n_items = ItemCount(about="Items of the first ballot.")
    n_ballots = Whole(least=2, most=MAX_BALLOTS, required=True, about="n_b.")
    fraction = Fraction(required=True, about="alpha: the share of its items that a ballot passes on.")


class PlanRequest(Sizes):
    """A plan from a number of presentations, a budget, or the needs of the top items: exactly one of these."""

    n_ballots = Whole(least=2, most=MAX_BALLOTS, load_default=7, about="n_b.")
    fraction = Fraction(load_default=0.5, about="alpha: the share of its items that a ballot passes on.")
    presentations = Whole(least=1, most=LARGEST, about="M: presentations of each item in each ballot.")
    comparisons = Whole(least=1, most=LARGEST, about="A budget: the most comparisons, of all ballots together.")
    hours = Number(
        above=0, most=1e12, about="A budget: the most person-hours; seconds_per_comparison is needed as well."
    )
    top_presentations = Whole(
        least=1, most=LARGEST, about="M_top: presentations, over all ballots, that a top item is to have at least."
    )
    seconds_per_comparison = Number(above=0, most=1e9, about="Mean time that a voter takes for a comparison.")
    n_voters = Whole(least=1, most=LARGEST, about="Also advise on this number of voters.")

    refused = (
        {"properties": dict.fromkeys(WAYS, NOTHING)},
        *({"required": list(pair)} for pair in combinations(WAYS, 2)),
    )
    together = MappingProxyType({"hours": ["seconds_per_comparison"]})

    @validates_schema
    def check_presentations(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request that sets the presentations in no way or in several ways."""
        check_way(data, "seconds_per_comparison")


class PlanInputs(Sizes):
    """A plan by its four inputs, as in `plan` of the answer of POST /v1/plans."""

    presentations = Whole(least=1, most=LARGEST, required=True, about="M: presentations of each item in each ballot.")

    @post_load
    def plan(self, data: dict[str, Any], **_: Any) -> BallotPlan:
        """Make the plan."""
        return BallotPlan(**data)


PLAN_INPUTS: Final = {"$ref": f"#/components/schemas/{PlanInputs.__name__}"}
_FROM_ONE: Final = WHOLE(minimum=1)
COUNTS: Final = list_of(_FROM_ONE, minItems=2)


_ADVICE: Final = exactly(
    code=TEXT,
    value=NUMBER("What the plan has."),
    bound=NUMBER("The most or the least that is recommended."),
    sentence=TEXT,
)


class PlanAnswer(Answer):
    """Sizes and cost of all ballots, known before any vote."""

    plan = Dumped(PLAN_INPUTS, about="The inputs, as /v1/scores and /v1/simulations take a plan.")
    sizes = Dumped(COUNTS, about="Items of each ballot.")
    comparisons = Dumped(COUNTS, about="Comparisons of each ballot.")
    n_comparisons = Dumped(WHOLE, about="Comparisons of all ballots.")
    top_presentations = Dumped(WHOLE, about="M_top: presentations of an item that survives up to the last ballot.")
    uniform_presentations = Dumped(
        NUMBER, about="Presentations of every item in one uniform ballot with as many comparisons."
    )
    hours = Dumped(NUMBER_OR_NULL, about="Cost in person-hours; null without seconds_per_comparison.")
    advice = Dumped(list_of(_ADVICE), about="What to reconsider; never a refusal.")
