"""Serve POST /v1/comparisons/next."""

from __future__ import annotations

from typing import Any

import numpy as np

from adaptive import next_comparisons
from service.api import work
from service.api.ballots import Labels, labels_at
from service.api.strengths import fitted, item_count, notices_of
from service.http import deadline
from service.openapi.blueprint import Blueprint, link, operation
from service.schemas.strengths import Answered, NextAnswer, NextRequest

blueprint = Blueprint("comparisons", __name__, url_prefix="/v1/comparisons", description="Whom to compare next")


@blueprint.route("/next", methods=["POST"])
@blueprint.arguments(
    NextRequest,
    example={
        "items": ["king", "queen", "cabbage", "stone"],
        "comparisons": [
            {"left": "king", "right": "queen", "winner": "left", "voter": "Ann"},
            {"left": "stone", "right": "cabbage", "winner": "tie", "voter": "Bob"},
        ],
        "size": 3,
        "seed": 1,
        "voters": ["Ann", "Bob"],
    },
)
@operation(
    "chooseComparisons",
    fitStrengths=link(
        "fitStrengths",
        "The strengths. Put the comparisons after those before, and add `winner`.",
        {"comparisons": "$response.body#/comparisons"},
    ),
)
@blueprint.response(200, NextAnswer)
def choose(request: dict[str, Any]) -> dict[str, Any]:
    """Choose the comparisons that tell most about the top items, given all votes so far."""
    return next_of(**request)


def next_of(
    *,
    comparisons: Answered,
    model: str,
    options: dict[str, Any],
    size: int,
    seed: int,
    n0: float,
    focus: float,
    items: Labels | None = None,
    voters: Labels | None = None,
) -> dict[str, Any]:
    """Return the next comparisons, in the order to show them."""
    n_items, n_votes = item_count(comparisons, items), len(comparisons.winner)
    n_fit, n_bytes = work.of_fit(n_votes, n_items, standard_errors=False, **options)
    work.admit(n_fit + work.of_matching(n_votes, n_items, size), n_bytes)
    found = fitted(comparisons, model, options, items)
    deadline.of_request()()
    rng = np.random.default_rng(seed)
    matches = next_comparisons(found, size, rng=rng, voters=voters, n0=n0, focus=focus)
    left, right = (labels_at(matches.items, places) for places in (matches.left, matches.right))
    reasons = [f"{matches.n_comparisons} of {size} comparisons: {matches.reason}"] if matches.reason else []
    return {
        "n_comparisons": matches.n_comparisons,
        "comparisons": {"left": left, "right": right, "voter": labels_at(matches.voters, matches.voter)},
        "converged": found.converged,
        "warnings": notices_of(found, *reasons),
    }
