"""POST /v1/leaderboards."""

from __future__ import annotations

from typing import Any

from service.api import comparison
from service.api.documentation import Blueprint
from service.schemas.inference import LeaderboardAnswer, LeaderboardRequest

blueprint = Blueprint("leaderboards", __name__, url_prefix="/v1/leaderboards", description="Which system is better?")

EXAMPLE = {
    "gold_sets": {
        "animals": {"scores": {"ant": 3, "bee": 2, "cat": 1}},
        "plants": {"scores": {"oak": 4, "elm": 3, "fir": 2, "ivy": 1}},
    },
    "systems": {
        "bm25": {"order": ["ant", "oak", "bee", "elm", "cat", "fir", "ivy"]},
        "dense": {"order": ["cat", "oak", "ivy", "ant", "elm", "bee", "fir"]},
    },
    "seed": 1,
}


@blueprint.route("", methods=["POST"])
@blueprint.arguments(LeaderboardRequest, example=EXAMPLE)
@blueprint.response(200, LeaderboardAnswer)
def rank_systems(request: dict[str, Any]) -> dict[str, Any]:
    """Rank systems on one or several gold sets, with intervals and corrected tests."""
    return comparison.of_leaderboard(**request)
