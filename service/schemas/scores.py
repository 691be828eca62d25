"""Define the request and the answer for scoring ballots."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, validates_schema

from service.schemas.ballot_fields import LABELS_SCHEMA, Names, VotedBallots
from service.schemas.base import Answer, Request
from service.schemas.fields import Component, Dumped, Part, Seed
from service.schemas.plans import PlanInputs
from service.schemas.ranking_fields import BEST_FIRST, RANKS_ARRAY
from service.schemas.shapes import COUNT, NUMBER, WHOLE, list_of, or_null


class ScoresRequest(Request):
    """All ballots of a plan so far, with their votes."""

    plan = Part(PlanInputs, required=True)
    items = Names(
        what="items",
        least=2,
        limit="max_items",
        about="Labels of the plan's items, in the same order each time, or N for 0 to N - 1.",
    )
    seed = Seed(
        about="Breaks ties at the cut. Each ballot has random numbers of its own: a request with more "
        "ballots repeats the selections of those before it."
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


NUMBERS: Final = list_of(NUMBER)
COUNTS: Final = list_of(COUNT)

SCORED_BALLOT: Final = Component.exactly(
    "ScoredBallot",
    number=WHOLE(minimum=1),
    items=LABELS_SCHEMA("Items of the ballot; the arrays below are in their order."),
    x=NUMBERS("Borda scores of this ballot."),
    y=NUMBERS("The same, on the scale of the ballots before."),
    b=NUMBER("Slope of y = 1 - b + b x; 1 in ballot 1."),
    ybar=NUMBERS("Mean of y up to this ballot."),
    presentations=COUNTS,
    wins=COUNTS,
    ties=COUNTS,
    losses=COUNTS,
    n_tied_at_cut=COUNT("Items that shared the score at the cut that followed, of which only some went on."),
)
NEXT_BALLOT: Final = Component.exactly(
    "NextBallot",
    number=WHOLE(minimum=2),
    items=LABELS_SCHEMA("Best first.", minItems=2),
    presentations=WHOLE(minimum=1),
)


class ScoresAnswer(Answer):
    """Scores of each ballot, the ranking so far, and the next ballot."""

    ballots = Dumped(list_of(SCORED_BALLOT.reference, minItems=1))
    ranking = Dumped(RANKS_ARRAY.reference, about=BEST_FIRST)
    ybar = Dumped(NUMBERS, about="In the order of the ranking: mean of y up to the last ballot of each item.")
    last_ballot = Dumped(COUNTS, about="In the order of the ranking: the last ballot that each item took part in.")
    next_ballot = Dumped(
        or_null(
            NEXT_BALLOT.reference,
            about="With `voters` and the seed it is what POST /v1/ballots takes; null after the last ballot.",
        )
    )
