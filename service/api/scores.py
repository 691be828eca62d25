"""Serve POST /v1/scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adaptive import BallotPlan, BallotVotes, score_ballots
from adaptive.record import BallotRecord
from service.api import work
from service.api.ballots import Labels, labels_at
from service.openapi.blueprint import Blueprint
from service.schemas.scores import ScoresAnswer, ScoresRequest

blueprint = Blueprint("scores", __name__, url_prefix="/v1/scores", description="From votes to a ranking")


@blueprint.post("", name="scoreBallots")
@blueprint.arguments(ScoresRequest)
@blueprint.response(200, ScoresAnswer)
def score(*, plan: BallotPlan, items: Labels, seed: int, ballots: Sequence[BallotVotes]) -> dict[str, Any]:
    """Score the ballots so far, and select the items of the next one."""
    work.admit(work.of_scores(plan, sum(len(ballot.left) for ballot in ballots)))
    interim = score_ballots(plan, ballots, items=items, seed=seed)
    result = interim.result
    ranks, best_first = result.ranking.ranks, result.best_first
    return {
        "ballots": [_of_ballot(record) for record in result.ballots],
        "ranking": {"labels": labels_at(result.items, best_first), "ranks": ranks[best_first]},
        "ybar": result.ybar[best_first],
        "last_ballot": result.last_ballot[best_first],
        "next_ballot": None
        if interim.next_items is None
        else {"number": len(ballots) + 1, "items": list(interim.next_items), "presentations": plan.presentations},
    }


def _of_ballot(record: BallotRecord) -> dict[str, Any]:
    own = {name: getattr(record, name) for name in ("x", "y", "b", "ybar")}
    counts = {name: getattr(record.tally, name) for name in ("presentations", "wins", "ties", "losses")}
    ends = {"number": record.number, "items": list(record.items)}
    return {**ends, **own, **counts, "n_tied_at_cut": record.n_tied_at_cut}
