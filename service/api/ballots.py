"""Serve POST /v1/ballots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive import draw_ballot
from adaptive.protocol import ballot_rng
from service.api import work
from service.openapi.blueprint import Blueprint
from service.schemas.ballots import BallotAnswer, BallotRequest

Labels = int | Sequence[str | int]

blueprint = Blueprint("ballots", __name__, url_prefix="/v1/ballots", description="Comparisons for voters")


@blueprint.post("", name="drawBallot")
@blueprint.arguments(BallotRequest)
@blueprint.response(200, BallotAnswer)
def draw(*, items: Labels, presentations: int, voters: Labels, seed: int, number: int) -> dict[str, Any]:
    """Draw a ballot: balanced comparisons for each voter, reproducible with a seed."""
    n_items, n_voters = (labels if isinstance(labels, int) else len(labels) for labels in (items, voters))
    work.admit(work.of_ballot(n_items, n_items * presentations // 2, n_voters))
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
            **asdict(certificate),
            "item_with_one_more": None if one_more is None else ballot.items[one_more],
            "broken": certificate.broken,
        },
    }


def labels_at(items: Sequence[Any], places: NDArray[np.integer[Any]]) -> list[Any]:
    """Return the labels of the items at these places; the items of a range are labelled by their places."""
    return places.tolist() if isinstance(items, range) else [items[place] for place in places.tolist()]
