"""POST /v1/correlations, /v1/correlations/batch, /v1/correlations/matrix."""

from __future__ import annotations

from typing import Any

from service.api import comparison
from service.api.documentation import Blueprint
from service.schemas.correlations import (
    BatchAnswer,
    BatchRequest,
    CorrelationAnswer,
    CorrelationRequest,
    MatrixAnswer,
    MatrixRequest,
)

blueprint = Blueprint("correlations", __name__, url_prefix="/v1/correlations", description="Compare rankings")

GOLD = {"scores": {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}}
SYSTEM = {"order": ["queen", "king", ["cabbage", "stone"]]}


@blueprint.route("", methods=["POST"])
@blueprint.arguments(CorrelationRequest, example={"gold": GOLD, "system": SYSTEM, "n0": 2})
@blueprint.response(200, CorrelationAnswer)
def correlate(request: dict[str, Any]) -> dict[str, Any]:
    """Compare a system's ranking with a gold ranking."""
    return comparison.of_pair(**request)


@blueprint.route("/batch", methods=["POST"])
@blueprint.arguments(
    BatchRequest,
    example={"gold": GOLD, "systems": {"bm25": SYSTEM, "dense": {"order": ["king", "queen", "stone", "cabbage"]}}},
)
@blueprint.response(200, BatchAnswer)
def correlate_batch(request: dict[str, Any]) -> dict[str, Any]:
    """Compare many systems with one gold ranking."""
    return comparison.of_systems(**request)


@blueprint.route("/matrix", methods=["POST"])
@blueprint.arguments(MatrixRequest, example={"rankings": {"gold": GOLD, "bm25": SYSTEM}, "coefficient": "tau_w"})
@blueprint.response(200, MatrixAnswer)
def correlate_matrix(request: dict[str, Any]) -> dict[str, Any]:
    """Compare each of many rankings with each."""
    return comparison.of_each_with_each(**request)
