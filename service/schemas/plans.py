"""Define the request and the answer for planning ballots."""

from __future__ import annotations

from itertools import combinations
from types import MappingProxyType
from typing import Any, Final

from marshmallow import ValidationError, post_load, validates_schema
from marshmallow.fields import Integer

from adaptive import BallotPlan
from rankcorr.checks import offending
from service.schemas.ballot_fields import LARGEST, Fraction, ItemCount
from service.schemas.base import Answer, Request
from service.schemas.fields import NOTHING, Dumped, Number, Whole

MAX_BALLOTS: Final = 10_000
WAYS: Final = ("presentations", "comparisons", "hours", "top_presentations")


class Sizes(Request):
    """How the number of items shrinks from ballot to ballot."""

    n_items = ItemCount(metadata={"description": "Items of the first ballot."})
    n_ballots = Whole(least=2, most=MAX_BALLOTS, required=True, metadata={"description": "n_b."})
    fraction = Fraction(
        required=True, metadata={"description": "alpha: the share of its items that a ballot passes on."}
    )


class PlanRequest(Sizes):
    """A plan from a number of presentations, a budget, or the needs of the top items: exactly one of these."""

    n_ballots = Whole(least=2, most=MAX_BALLOTS, load_default=7, metadata={"description": "n_b."})
    fraction = Fraction(
        load_default=0.5, metadata={"description": "alpha: the share of its items that a ballot passes on."}
    )
    presentations = Whole(
        least=1, most=LARGEST, metadata={"description": "M: presentations of each item in each ballot."}
    )
    comparisons = Whole(
        least=1, most=LARGEST, metadata={"description": "A budget: the most comparisons, of all ballots together."}
    )
    hours = Number(
        above=0,
        most=1e12,
        metadata={"description": "A budget: the most person-hours; seconds_per_comparison is needed as well."},
    )
    top_presentations = Whole(
        least=1,
        most=LARGEST,
        metadata={"description": "M_top: presentations, over all ballots, that a top item is to have at least."},
    )
    seconds_per_comparison = Number(
        above=0, most=1e9, metadata={"description": "Mean time that a voter takes for a comparison."}
    )
    n_voters = Whole(least=1, most=LARGEST, metadata={"description": "Also advise on this number of voters."})

    refused = (
        {"properties": dict.fromkeys(WAYS, NOTHING)},
        *({"required": list(pair)} for pair in combinations(WAYS, 2)),
    )
    together = MappingProxyType({"hours": ["seconds_per_comparison"]})

    @validates_schema
    def check_way(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request that sets the presentations in no way or in several ways."""
        given = [name for name in WAYS if name in data]
        if len(given) != 1:
            got = offending("got", given) if given else "got none"
            raise ValidationError(f"exactly one of {', '.join(WAYS)} is needed; {got}")
        if "hours" in data and "seconds_per_comparison" not in data:
            raise ValidationError("this field is needed: the budget is of hours", "seconds_per_comparison")


class PlanInputs(Sizes):
    """A plan by its four inputs, as in `plan` of the answer of POST /v1/plans."""

    presentations = Whole(
        least=1, most=LARGEST, required=True, metadata={"description": "M: presentations of each item in each ballot."}
    )

    @post_load
    def plan(self, data: dict[str, Any], **_: Any) -> BallotPlan:
        """Make the plan."""
        return BallotPlan(**data)


PLAN_INPUTS: Final = {"$ref": f"#/components/schemas/{PlanInputs.__name__}"}
COUNT: Final = {"type": "integer", "minimum": 1}
COUNTS: Final = {"type": "array", "minItems": 2, "items": COUNT}


class PlanAnswer(Answer):
    """Sizes and cost of all ballots, known before any vote."""

    plan = Dumped(
        {**PLAN_INPUTS, "description": "The inputs, as /v1/scores and /v1/simulations take a plan."}, required=True
    )
    sizes = Dumped({**COUNTS, "description": "Items of each ballot."}, required=True)
    comparisons = Dumped({**COUNTS, "description": "Comparisons of each ballot."}, required=True)
    n_comparisons = Integer(required=True, metadata={"description": "Comparisons of all ballots."})
    top_presentations = Integer(
        required=True, metadata={"description": "M_top: presentations of an item that survives up to the last ballot."}
    )
    uniform_presentations = Dumped(
        {
            "type": "number",
            "description": "Presentations of every item in one uniform ballot with as many comparisons.",
        },
        required=True,
    )
    hours = Dumped(
        {"type": ["number", "null"], "description": "Cost in person-hours; null without seconds_per_comparison."},
        required=True,
    )
    advice = Dumped(
        {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "value", "bound", "sentence"],
                "additionalProperties": False,
                "properties": {
                    "code": {"type": "string"},
                    "value": {"type": "number", "description": "What the plan has."},
                    "bound": {"type": "number", "description": "The most or the least that is recommended."},
                    "sentence": {"type": "string"},
                },
            },
            "description": "What to reconsider; never a refusal.",
        },
        required=True,
    )
