"""POST /v1/ballots."""

from __future__ import annotations

from typing import Any

from service.api import balloting
from service.api.documentation import Blueprint
from service.schemas.ballots import BallotAnswer, BallotRequest

blueprint = Blueprint("ballots", __name__, url_prefix="/v1/ballots", description="Comparisons for voters")


@blueprint.route("", methods=["POST"])
@blueprint.arguments(
    BallotRequest,
    example={"items": ["king", "queen", "cabbage", "stone"], "presentations": 2, "voters": ["Ann", "Bob"], "seed": 1},
)
@blueprint.response(200, BallotAnswer)
def draw(request: dict[str, Any]) -> dict[str, Any]:
    """Draw a ballot: balanced comparisons for each voter, reproducible from a seed."""
    return balloting.drawn(**request)
