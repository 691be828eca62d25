"""Serve POST /v1/rankings/merged."""

from collections.abc import Mapping
from typing import Any

from rankcorr import Coefficient, Ranking
from rankcorr._checks import collected_notices
from rankcorr.aggregate import MergedRanking
from rankcorr.aggregate._rankings import merge
from service.api.correlations import CoefficientRequest
from service.openapi.blueprint import Blueprint
from service.schemas import fields
from service.schemas.base import NoticedAnswer, notices_of
from service.schemas.ranking_fields import named_rankings
from service.schemas.shapes import NUMBER, at_least, list_of, map_of, properties_of


class MergeRequest(CoefficientRequest):
    """Rankings to merge into one."""

    rankings = named_rankings(required=True, of="rankings to merge")
    method = fields.Choice(fields.MERGE_METHOD, load_default=fields.MERGE_METHOD.words[0])
    k = fields.Number(least=0, about="Offset of reciprocal_rank_fusion, and of no other method; by default 60.")
    weights = fields.ByName(fields.Number(least=0), "number", about="Weight of each ranking; by default all are equal.")
    coefficient = fields.Choice(
        fields.COEFFICIENT,
        load_default="tau_w",
        about="Of each ranking with the result; consensus has the largest mean of it.",
    )
    missing = fields.Choice(
        fields.ABSENT_ITEMS,
        load_default=fields.ABSENT_ITEMS.words[0],
        about="Items that a ranking lacks: an error; left out; for bottom tied below its items; for skip the ranking "
        "counts for its own items only.",
    )


class MergeAnswer(
    NoticedAnswer, **properties_of(MergedRanking, *("method", "coefficient", "exact", "missing", "objective"))
):
    """One ranking from several, best first, and how far each of them agrees with it."""

    ranking = list_of(
        at_least(
            item={"type": ["string", "integer"], "description": "Without labels: the position, from 0."},
            rank=NUMBER,
            score=NUMBER("What ranks the items, except for kemeny and consensus."),
            optional=["score"],
        )
    )
    agreements = map_of(fields.STATISTIC)
    weights = map_of(NUMBER, about="Shares, whose sum is 1.")


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
