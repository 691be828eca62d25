"""Serve POST /v1/correlations, /v1/correlations/batch and /v1/correlations/matrix."""

from collections.abc import Mapping, Sequence
from typing import Any

from rankcorr import Coefficient, Ranking, correlation_matrix
from rankcorr._checks import collected_notices
from rankcorr.inference._gold_comparison import GoldTable, compare_with_gold, rank_against_gold
from service.http.state import state
from service.openapi.blueprint import Blueprint
from service.schemas import correlations as schemas
from service.schemas.base import notices_of

blueprint = Blueprint("correlations", __name__, url_prefix="/v1/correlations", description="Compare rankings")

MOST_LIGHT_ITEMS = 2_000  # a worker's thread compares as many in 5 ms
MOST_LIGHT_BYTES = 1 << 17
MOST_LIGHT_VALUES = 4 * MOST_LIGHT_ITEMS + 100  # scores and labels of both rankings, and options


@blueprint.post("", name="correlate")
@blueprint.arguments(schemas.CorrelationRequest)
@blueprint.response(200, schemas.CorrelationAnswer)
def correlate(gold: Ranking, system: Ranking, coefficients: Sequence[Coefficient], **options: Any) -> Any:
    """Compare a system's ranking with a gold ranking."""
    if "test" in options or max(gold.n_items, system.n_items) > MOST_LIGHT_ITEMS:
        state().pool.pass_on()
    comparison = compare_with_gold(gold, system, coefficients, workers=1, **options)
    tests = {
        name: {"chance": test.null, **vars(test), "interval": comparison.intervals[name]}
        for name, test in comparison.tests.items()
    }
    answer = {**vars(comparison), "tests": tests}
    return {name: value for name, value in answer.items() if value or name not in ("worst", "tests")}


@blueprint.post("/batch", name="correlateBatch")
@blueprint.arguments(schemas.BatchRequest)
@blueprint.response(200, schemas.BatchAnswer)
def correlate_batch(
    gold: Ranking, systems: Mapping[str, Ranking], coefficients: Sequence[Coefficient], **options: Any
) -> GoldTable:
    """Compare many systems with one gold ranking."""
    return rank_against_gold(gold, systems, coefficients, workers=1, **options)


@blueprint.post("/matrix", name="correlateMatrix")
@blueprint.arguments(schemas.MatrixRequest)
@blueprint.response(200, schemas.MatrixAnswer)
def correlate_matrix(rankings: Mapping[str, Ranking], coefficient: Coefficient, **options: Any) -> dict[str, Any]:
    """Compare many rankings with one another."""
    with collected_notices() as notices:
        result = correlation_matrix(rankings, coefficient=coefficient, workers=1, **options)
    return {**vars(result), "warnings": notices_of(notices, coefficient.name)}
