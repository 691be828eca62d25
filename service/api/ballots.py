"""Serve POST /v1/plans, /v1/ballots and /v1/scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive import BallotPlan, BallotVotes, PlanError, draw_ballot, score_ballots
from adaptive._budget import PlanOptions
from adaptive._protocol import ballot_rng
from service.openapi.blueprint import Blueprint
from service.schemas import ballots as schemas
from service.schemas.ballot_fields import LARGEST

Labels = int | Sequence[str | int]

plans = Blueprint("plans", __name__, url_prefix="/v1/plans", description="Sizes and cost of ballots")
ballots = Blueprint("ballots", __name__, url_prefix="/v1/ballots", description="Comparisons for voters")
scores = Blueprint("scores", __name__, url_prefix="/v1/scores", description="From votes to a ranking")


@plans.post("", name="planBallots")
@plans.arguments(schemas.PlanRequest)
@plans.response(200, schemas.PlanAnswer)
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
@ballots.arguments(schemas.BallotRequest)
@ballots.response(200, schemas.BallotAnswer)
def draw(*, items: Labels, presentations: int, voters: Labels, seed: int, number: int) -> dict[str, Any]:
    """Draw a ballot: balanced comparisons for each voter, reproducible with a seed."""
    ballot = draw_ballot(items, presentations, voters, ballot_rng(seed, number, "draw"))
    certificate = ballot.certificate()
    one_more = certificate.item_with_one_more
    by_voter = ballot.voter.argsort(kind="stable")
    ends = np.bincount(ballot.voter, minlength=ballot.n_voters).cumsum().tolist()
    left, right = (labels_at(ballot.items, places[by_voter]) for places in (ballot.left, ballot.right))
    return {
        "number": number,
        "n_comparisons": ballot.n_comparisons,
        "comparisons": [
            {"voter": voter, "left": left[start:stop], "right": right[start:stop]}
            for voter, start, stop in zip(ballot.voters, [0, *ends], ends, strict=False)
        ],
        "certificate": {
            **vars(certificate),
            "item_with_one_more": None if one_more is None else ballot.items[one_more],
            "broken": certificate.broken,
        },
    }


def labels_at(items: Sequence[Any], places: NDArray[np.integer[Any]]) -> list[Any]:
    """Return the labels of the items at these places; the items of a range are labelled by their places."""
    return places.tolist() if isinstance(items, range) else [items[place] for place in places.tolist()]


@scores.post("", name="scoreBallots")
@scores.arguments(schemas.ScoresRequest)
@scores.response(200, schemas.ScoresAnswer)
def score(*, plan: BallotPlan, items: Labels, seed: int, ballots: Sequence[BallotVotes]) -> dict[str, Any]:
    """Score the ballots so far, and select the items of the next one."""
    interim = score_ballots(plan, ballots, items=items, seed=seed)
    result = interim.result
    ranks, best_first = result.ranking.ranks, result.best_first
    return {
        "ballots": [record.to_dict() for record in result.ballots],
        "ranking": {"labels": labels_at(result.items, best_first), "ranks": ranks[best_first]},
        "ybar": result.ybar[best_first],
        "last_ballot": result.last_ballot[best_first],
        "next_ballot": None
        if interim.next_items is None
        else {"number": len(ballots) + 1, "items": list(interim.next_items), "presentations": plan.presentations},
    }
