"""Library calls for the requests that draw and score ballots, and their results as answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive import BallotPlan, BallotVotes, draw_ballot, score_ballots
from adaptive.protocol import ballot_rng
from adaptive.record import BallotRecord

Answer = dict[str, Any]
Labels = int | Sequence[str | int]


def drawn(*, items: Labels, presentations: int, voters: Labels, seed: int, number: int) -> Answer:
    """A ballot, voter by voter."""
    ballot = draw_ballot(items, presentations, voters, ballot_rng(seed, number, "draw"))
    certificate = ballot.certificate()
    one_more = certificate.item_with_one_more
    by_voter = ballot.voter.argsort(kind="stable")
    ends = np.bincount(ballot.voter, minlength=ballot.n_voters).cumsum().tolist()
    left, right = (_labels_of(ballot.items, places[by_voter]) for places in (ballot.left, ballot.right))
    return {
        "number": number,
        "n_comparisons": ballot.n_comparisons,
        "comparisons": [
            {"voter": voter, "left": left[start:stop], "right": right[start:stop]}
            for voter, start, stop in zip(ballot.voters, [0, *ends], ends, strict=False)
        ],
        "certificate": {
            **asdict(certificate),
            "item_with_one_more": None if one_more is None else ballot.items[one_more],
            "broken": certificate.broken,
        },
    }


def scored(*, plan: BallotPlan, items: Labels, seed: int, ballots: Sequence[BallotVotes]) -> Answer:
    """Scores of the ballots so far, the ranking, and the items of the next ballot."""
    interim = score_ballots(plan, ballots, items=items, seed=seed)
    result = interim.result
    ranks = result.ranking.ranks
    best_first = ranks.argsort(kind="stable")
    return {
        "ballots": [_of_ballot(record) for record in result.ballots],
        "ranking": {"labels": _labels_of(result.items, best_first), "ranks": ranks[best_first]},
        "ybar": result.ybar[best_first],
        "last_ballot": result.last_ballot[best_first],
        "next_ballot": None
        if interim.next_items is None
        else {
            "number": len(ballots) + 1,
            "items": list(interim.next_items),
            "presentations": plan.presentations,
        },
    }


def _of_ballot(record: BallotRecord) -> Answer:
    tally = record.tally
    return {
        "number": record.number,
        "items": list(record.items),
        "x": record.x,
        "y": record.y,
        "b": record.b,
        "ybar": record.ybar,
        "presentations": tally.presentations,
        "wins": tally.wins,
        "ties": tally.ties,
        "losses": tally.losses,
        "n_tied_at_cut": record.n_tied_at_cut,
    }


def _labels_of(items: Sequence[Any], places: NDArray[np.integer[Any]]) -> list[Any]:
    """Labels at some places; those of a range are their places."""
    return places.tolist() if isinstance(items, range) else [items[place] for place in places.tolist()]
