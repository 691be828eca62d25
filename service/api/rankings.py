"""Serve POST /v1/rankings/merged."""

from collections.abc import Mapping
from typing import Any

from rankcorr import Coefficient, Ranking
from rankcorr._checks import collected_notices
from rankcorr.aggregate._rankings import merge
from service.openapi.blueprint import Blueprint
from service.schemas.base import notices_of
from service.schemas.correlations import MergeAnswer, MergeRequest

blueprint = Blueprint("rankings", __name__, url_prefix="/v1/rankings", description="Merge rankings")


@blueprint.post("/merged", name="mergeRankings")
@blueprint.arguments(MergeRequest)
@blueprint.response(200, MergeAnswer)
def merge_rankings(
    rankings: Mapping[str, Ranking], method: str, coefficient: Coefficient, **options: Any
) -> dict[str, Any]:
    """Merge rankings into one."""
    with collected_notices() as notices:
        merged = merge(rankings, method, coefficient=coefficient, **options)
    return {**vars(merged), "ranking": merged.table(), "warnings": notices_of(notices, coefficient.name)}
