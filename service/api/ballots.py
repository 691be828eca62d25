"""Serve POST /v1/plans, /v1/ballots and /v1/scores: to plan ballots, to draw one, and to score them."""

from typing import Any, Final

from marshmallow import ValidationError, post_load, validates_schema

from adaptive import (
    Ballot,
    BallotCertificate,
    BallotPlan,
    InterimResult,
    PlanError,
    ProtocolResult,
    draw_ballot,
    score_ballots,
)
from adaptive._budget import PlanOptions, answers_for
from adaptive._plan import MOST_BALLOTS
from adaptive._protocol import ballot_rng
from adaptive._record import BallotRecord
from adaptive._rows import NextBallot, VoterComparisons
from service.openapi.blueprint import Blueprint
from service.schemas import fields, shapes
from service.schemas.ballot_fields import LABELS, LARGEST, SIDES, ItemCount, ItemNames, Labels, VotedBallots, VoterNames
from service.schemas.base import WAYS, Budget, Money, Request, check_one
from service.schemas.ranking_fields import BEST_FIRST, RANKS_ARRAY


class Sizes(Request):
    """How the number of items shrinks from ballot to ballot."""

    n_items = ItemCount(about="Items of the first ballot.")
    n_ballots = fields.declared_field(PlanOptions, "n_ballots", required=True, about="Number of ballots, n_b.")
    fraction = fields.declared_field(PlanOptions, "fraction", required=True)


class PlanRequest(Sizes):
    """A plan from a number of presentations, a budget, or the needs of the top items: exactly one of these."""

    n_ballots = fields.declared_field(PlanOptions, "n_ballots")
    fraction = fields.declared_field(PlanOptions, "fraction")
    presentations = fields.declared_field(PlanOptions, "presentations")
    comparisons = fields.declared_field(PlanOptions, "comparisons")
    budget = Budget(
        most=LARGEST,
        optional=("fee",),
        about="Or a budget: comparisons of all ballots, or money; money needs seconds_per_comparison as well.",
    )
    hours = fields.declared_field(PlanOptions, "hours", most=1e12)
    top_presentations = fields.declared_field(PlanOptions, "top_presentations")
    seconds_per_comparison = fields.declared_field(PlanOptions, "seconds_per_comparison", most=1e9)
    n_voters = fields.Whole(least=1, most=LARGEST, about="Also advise on this number of voters.")

    @validates_schema
    def check_presentations(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a request that sets the presentations in no way or in several ways."""
        check_one(data, *WAYS)
        of_time = "hours" if "hours" in data else "money" if isinstance(data.get("budget"), Money) else None
        if of_time and "seconds_per_comparison" not in data:
            raise ValidationError(f"this field is needed: the budget is of {of_time}", "seconds_per_comparison")

    @post_load
    def gather(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Turn a budget into comparisons or hours."""
        budget = data.pop("budget", None)
        if isinstance(budget, Money):
            per_answer = (budget.pay or 0.0) * data["seconds_per_comparison"] / 3600
            data["comparisons"] = answers_for(budget.euros, per_answer=per_answer, fee=budget.fee)
        elif budget is not None:
            data["comparisons"] = budget
        return data


class PlanInputs(Sizes):
    """A plan by its four inputs, as in `plan` of the answer of POST /v1/plans."""

    presentations = fields.declared_field(PlanOptions, "presentations", required=True)

    @post_load
    def plan(self, data: dict[str, Any], **_: Any) -> BallotPlan:
        """Make the plan."""
        return BallotPlan(**data)


PLAN_INPUTS: Final = shapes.Shape({"$ref": f"#/components/schemas/{PlanInputs.__name__}"})
_OF_EACH_BALLOT: Final = shapes.list_of(shapes.WHOLE(minimum=1), minItems=2)


class PlanAnswer(
    shapes.Answer,
    **shapes.properties_of(
        BallotPlan,
        *("n_comparisons", "top_presentations", "uniform_presentations", "advice"),
        has_nan=False,
        sizes=_OF_EACH_BALLOT("Items of each ballot."),
        comparisons=_OF_EACH_BALLOT("Comparisons of each ballot."),
        advice={"description": "Points to reconsider; a plan is never refused for them."},
    ),
):
    """Sizes and cost of all ballots, known before any vote."""

    plan = PLAN_INPUTS("The inputs, as /v1/scores and /v1/simulations take a plan.")
    hours = shapes.NUMBER_OR_NULL("Cost in person-hours; null without seconds_per_comparison.")


class BallotRequest(Request):
    """The items and voters of a ballot, and how often each item is presented."""

    items = ItemNames(about="Labels of the items (text or whole numbers), or N for the labels 0 to N - 1.")
    presentations = fields.Count(
        limit="max_comparisons",
        of="comparisons of a ballot",
        required=True,
        about="M: how often each item is presented.",
    )
    voters = VoterNames(about="Names of the voters, or V for the names 0 to V - 1.")
    seed = fields.Seed(about="The same seed, and number, draws the same ballot of the same items.")
    number = fields.Whole(
        least=1,
        most=MOST_BALLOTS,
        load_default=1,
        about="Number of the ballot in its plan, counted from 1. Each ballot has separate random numbers, so one seed "
        "serves all ballots.",
    )

    @validates_schema
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a ballot with too many comparisons."""
        n_items = data["items"] if isinstance(data["items"], int) else len(data["items"])
        count = (n_items * data["presentations"] + 1) // 2
        fields.check_limit("max_comparisons", count, of="comparisons of a ballot", field="presentations")
        fields.check_label_bytes(
            "items", [] if isinstance(data["items"], int) else data["items"], data["presentations"]
        )


shapes.Component.of(
    VoterComparisons, is_open=False, voter=fields.LABEL_SCHEMA, left=SIDES["left"], right=SIDES["right"]
)


class BallotAnswer(shapes.Answer, **shapes.properties_of(Ballot, "n_comparisons")):
    """The comparisons of a ballot, and counts that show what the draw guarantees."""

    number = shapes.WHOLE
    comparisons = shapes.list_of(
        shapes.use_shape(VoterComparisons),
        about="Voter by voter, in the order to show them. Add the answers to each as `votes`, an array of the same "
        "length, and send them to POST /v1/scores.",
        minItems=1,
    )
    certificate = shapes.exactly(
        "Counted again from the comparisons alone.",
        **shapes.properties_of(
            BallotCertificate,
            item_with_one_more={
                "type": ["string", "integer", "null"],
                "description": "The item that is presented once more, where the items and the presentations are odd in "
                "number.",
            },
            broken=shapes.list_of(shapes.TEXT, about="Guarantees that do not hold: none."),
        ),
    )


class ScoresRequest(Request):
    """All ballots of a plan so far, with their votes."""

    plan = fields.Part(PlanInputs, required=True)
    items = ItemNames(about="Labels of the plan's items, in the same order each time, or N for 0 to N - 1.")
    seed = fields.Seed(
        about="Breaks ties at the cut. Each ballot has separate random numbers, so a request with more ballots "
        "repeats the earlier selections."
    )
    ballots = VotedBallots(required=True, about="Ballots 1, 2, ... with all of their comparisons, answered or not.")

    @validates_schema
    def check_plan(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse items and ballots that do not match the plan."""
        plan, items = data["plan"], data["items"]
        n_items = items if isinstance(items, int) else len(items)
        if n_items != plan.n_items:
            raise ValidationError(f"the plan is for {plan.n_items} items; got {n_items}", "items")
        if len(data["ballots"]) > plan.n_ballots:
            raise ValidationError(f"the plan has {plan.n_ballots} ballots; got {len(data['ballots'])}", "ballots")


SCORED_BALLOT: Final = shapes.Component.exactly(
    "ScoredBallot",
    **shapes.properties_of(
        BallotRecord,
        *("number", "items", "x", "y", "b", "ybar", *shapes.COUNTS, "n_tied_at_cut"),
        has_nan=False,
        number={"minimum": 1},
        items=LABELS("Items of the ballot; the arrays below are in their order."),
    ),
)
shapes.Component.of(
    NextBallot, is_open=False, number={"minimum": 2}, items=LABELS(minItems=2), presentations={"minimum": 1}
)


class ScoresAnswer(
    shapes.Answer,
    **shapes.properties_of(
        ProtocolResult,
        *("ybar", "last_ballot"),
        has_nan=False,
        ybar={"description": "In the order of the ranking: mean of y up to the last ballot of each item."},
        last_ballot={"description": "In the order of the ranking: the last ballot that each item took part in."},
    ),
    **shapes.properties_of(
        InterimResult,
        "next_ballot",
        next_ballot={
            "description": "Add `voters` and the seed, and send it to POST /v1/ballots; null after the last ballot."
        },
    ),
):
    """Scores of each ballot, the ranking so far, and the next ballot."""

    ballots = shapes.list_of(SCORED_BALLOT.reference, minItems=1)
    ranking = RANKS_ARRAY.reference(BEST_FIRST)


plans = Blueprint("plans", __name__, url_prefix="/v1/plans", description="Sizes and cost of ballots")
ballots = Blueprint("ballots", __name__, url_prefix="/v1/ballots", description="Comparisons for voters")
scores = Blueprint("scores", __name__, url_prefix="/v1/scores", description="From votes to a ranking")


@plans.post("", name="planBallots")
@plans.arguments(PlanRequest)
@plans.response(200, PlanAnswer)
def plan(*, n_items: int, n_voters: int | None = None, **options: Any) -> dict[str, Any]:
    """Plan the ballots: their sizes, comparisons and cost, with advice on weak points."""
    planning = PlanOptions(**options)
    planned, seconds = planning.plan(n_items), planning.seconds_per_comparison
    if max(planned.n_comparisons, planned.top_presentations) > LARGEST:
        raise PlanError(f"a plan has at most {LARGEST} comparisons; this one has {planned.n_comparisons}")
    numbers = planned.to_dict()
    return {
        "plan": {name: numbers.pop(name) for name in ("n_items", "n_ballots", "fraction", "presentations")},
        **numbers,
        "hours": None if seconds is None else planned.cost(seconds),
        "advice": planned.advice if n_voters is None else planned.advice_for(n_voters),
    }


@ballots.post("", name="drawBallot")
@ballots.arguments(BallotRequest)
@ballots.response(200, BallotAnswer)
def draw(*, items: Labels, presentations: int, voters: Labels, seed: int, number: int) -> dict[str, Any]:
    """Draw a ballot: balanced comparisons for each voter, reproducible with a seed."""
    ballot = draw_ballot(items, presentations, voters, ballot_rng(seed, number, "draw"))
    return {
        "number": number,
        "n_comparisons": ballot.n_comparisons,
        "comparisons": ballot.by_voter(),
        "certificate": ballot.certificate().to_dict(ballot.items),
    }


@scores.post("", name="scoreBallots")
@scores.arguments(ScoresRequest)
@scores.response(200, ScoresAnswer)
def score(**votes: Any) -> dict[str, Any]:
    """Score the ballots so far, and select the items of the next one."""
    return score_ballots(**votes).to_dict()
