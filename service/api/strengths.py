"""Serve POST /v1/strengths."""

from __future__ import annotations

from typing import Any, cast

from adaptive import Comparisons, Strengths
from adaptive.model.estimators import Model, fit_named
from service.api import work
from service.api.ballots import Labels
from service.http import deadline
from service.openapi.blueprint import Blueprint, link, operation
from service.schemas.strengths import Answered, StrengthsAnswer, StrengthsRequest

blueprint = Blueprint("strengths", __name__, url_prefix="/v1/strengths", description="From votes to strengths")


@blueprint.route("", methods=["POST"])
@blueprint.arguments(
    StrengthsRequest,
    example={
        "items": ["king", "queen", "cabbage", "stone"],
        "comparisons": {
            "left": ["king", "queen", "stone", "cabbage", "queen"],
            "right": ["queen", "stone", "cabbage", "king", "cabbage"],
            "winner": ["left", "left", "tie", "right", "left"],
            "voter": ["Ann", "Ann", "Bob", "Bob", "Bob"],
        },
        "options": {"ties": "davidson"},
    },
)
@operation(
    "fitStrengths",
    compare=link(
        "correlate", "How well a system matches the ranking. Add the system.", {"gold": "$response.body#/ranking"}
    ),
    chooseComparisons=link(
        "chooseComparisons", "Whom to compare next. Add size and seed.", {"comparisons": "$request.body#/comparisons"}
    ),
)
@blueprint.response(200, StrengthsAnswer)
def strengths(request: dict[str, Any]) -> dict[str, Any]:
    """Fit strengths to votes; return a ranking and its uncertainty."""
    return strengths_of(**request)


def strengths_of(
    *, comparisons: Answered, model: str, options: dict[str, Any], standard_errors: bool, items: Labels | None = None
) -> dict[str, Any]:
    """Return the strengths fitted to votes, best first."""
    n_items = item_count(comparisons, items)
    work.admit(*work.of_fit(len(comparisons.winner), n_items, standard_errors=standard_errors, **options))
    found = fitted(comparisons, model, options, items)
    content = found.to_dict(standard_errors=standard_errors)
    rows = content["items"]
    labels, ranks = [row["item"] for row in rows], [row["rank"] for row in rows]
    return {
        "n_comparisons": found.comparisons.n_comparisons,
        "n_unanswered": found.comparisons.n_unanswered,
        **content,
        "ranking": {"labels": labels, "ranks": ranks},
        "warnings": notices_of(found),
    }


def item_count(comparisons: Answered, items: Labels | None) -> int:
    """Return the number of items of a request."""
    if items is None:
        return len(comparisons.labels)
    return items if isinstance(items, int) else len(items)


def fitted(comparisons: Answered, model: str, options: dict[str, Any], items: Labels | None) -> Strengths:
    """Fit strengths to votes within the time limit."""
    clock = deadline.of_request()
    votes = Comparisons.from_labels(
        comparisons.left, comparisons.right, comparisons.winner, voter=comparisons.voter, items=items
    )
    clock()
    return cast(Strengths, fit_named(votes, cast(Model, model), progress=clock, **options))


def notices_of(found: Strengths, *further: str) -> list[dict[str, Any]]:
    """Return the notes on a fit, in the form of an answer."""
    return [{"message": message, "coefficients": []} for message in (*found.warnings, *further)]
