"""POST /v1/scores."""

from __future__ import annotations

from typing import Any

from service.api import balloting
from service.api.documentation import Blueprint
from service.schemas.scores import ScoresAnswer, ScoresRequest

blueprint = Blueprint("scores", __name__, url_prefix="/v1/scores", description="From votes to a ranking")


@blueprint.route("", methods=["POST"])
@blueprint.arguments(
    ScoresRequest,
    example={
        "plan": {"n_items": 4, "n_ballots": 2, "fraction": 0.5, "presentations": 2},
        "items": ["king", "queen", "cabbage", "stone"],
        "seed": 1,
        "ballots": [
            {
                "comparisons": [
                    {"voter": "Ann", "left": ["king", "queen"], "right": ["queen", "stone"], "votes": ["left", "left"]},
                    {
                        "voter": "Bob",
                        "left": ["stone", "cabbage"],
                        "right": ["cabbage", "king"],
                        "votes": ["tie", None],
                    },
                ]
            }
        ],
    },
)
@blueprint.response(200, ScoresAnswer)
def score(request: dict[str, Any]) -> dict[str, Any]:
    """Score the ballots so far, and select the items of the next one."""
    return balloting.scored(**request)
