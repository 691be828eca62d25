"""Serve POST /v1/evaluations, /v1/evaluations/fused and /v1/evaluations/groups."""

from collections.abc import Mapping
from typing import Any

from rankcorr._checks import collected_notices
from rankcorr._coefficients import COEFFICIENTS, Coefficient, named_coefficient
from rankcorr._results import json_ready
from rankcorr.evaluation import (
    Evaluation,
    Qrels,
    Run,
    RunComparison,
    compare_evaluated,
    corrected_together,
    evaluate,
    fuse,
)
from rankcorr.evaluation._metrics import Metric, as_metrics
from rankcorr.evaluation._reports import reports_of_tests
from rankcorr.inference._multiple_tests import holm
from rankcorr.vectors import TargetGroups, compare_reliability, reliability_score
from service.openapi.blueprint import Blueprint
from service.schemas import evaluations as schemas
from service.schemas.base import refuse_long_text, report_content, texts_of

blueprint = Blueprint(
    "evaluations", __name__, url_prefix="/v1/evaluations", description="Which run is better, by query?"
)


@blueprint.post("", name="evaluateRuns")
@blueprint.arguments(schemas.EvaluationRequest)
@blueprint.response(200, schemas.EvaluationAnswer)
def evaluate_runs(
    *,
    qrels: Qrels,
    runs: Mapping[str, Run],
    metrics: tuple[str, ...],
    options: Mapping[str, Any],
    by_query: bool,
    report: bool,
    standardized: Mapping[str, Any] | None = None,
    comparison: Mapping[str, Any] | None = None,
    **policies: Any,
) -> dict[str, Any]:
    """Evaluate runs by query against qrels, and compare them over queries."""
    named = as_metrics([named_coefficient(name, **options) if name in COEFFICIENTS else name for name in metrics])
    with collected_notices() as notices:
        evaluation = evaluate(
            qrels,
            runs,
            metrics=list(named.values()),
            standardized=standardized is not None,
            workers=1,
            **policies,
            **(standardized or {}),
        )
        compared = () if comparison is None else _comparisons(evaluation, named, comparison)
    reports = reports_of_tests(evaluation.report(), (tested.report() for tested in compared)) if report else []
    answer = schemas.EvaluationAnswer.dump(
        {
            "n_queries": len(evaluation.queries),
            "runs": evaluation.runs,
            "metrics": evaluation.metrics,
            "means": [{"standardized": None, **row} for row in evaluation.table()],
            "coverage": [
                {"run": run, **list_queries(counts)}
                for run, counts in zip(evaluation.runs, evaluation.coverage, strict=True)
            ],
            "undefined": [list_queries(gap) for gap in evaluation.undefined],
            "chance": evaluation.chance,
            "by_query": vars(evaluation) if by_query else None,
            "comparisons": compared,
            "reports": list(map(report_content, reports)),
            "warnings": texts_of(notices),
        }
    )
    refuse_long_text(answer)  # the answer repeats the name of a query for each run that lacks it
    return answer


@blueprint.post("/fused", name="fuseRuns")
@blueprint.arguments(schemas.FusionRequest)
@blueprint.response(200, schemas.FusionAnswer)
def fuse_runs(runs: Mapping[str, Run], **options: Any) -> dict[str, Any]:
    """Fuse runs into one, query by query."""
    with collected_notices() as notices:
        fused = fuse(runs, **options)
    rows = [(query, document, score) for query in fused.queries for document, score in fused[query].items()]
    columns = zip(("query", "document", "score"), map(list, zip(*rows, strict=True)), strict=True)
    answer = {"run": dict(columns), "n_queries": fused.n_queries, "warnings": texts_of(notices)}
    refuse_long_text(answer)  # the answer repeats the name of a query for each document
    return answer


@blueprint.post("/groups", name="scoreTargetGroups")
@blueprint.arguments(schemas.TargetGroupsRequest)
@blueprint.response(200, schemas.TargetGroupsAnswer)
def score_target_groups(
    groups: TargetGroups,
    models: Mapping[str, Mapping[tuple[str, str], float]],
    versus: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score models of word similarity on target groups, and compare them."""
    baseline = next(iter(models)) if versus is None else versus
    with collected_notices() as notices:
        scores = {name: reliability_score(groups, model, **options) for name, model in models.items()}
        differences = {
            name: compare_reliability(groups, model, models[baseline], **options)
            for name, model in models.items()
            if name != baseline
        }
    corrected = holm([difference.pvalue for difference in differences.values()])
    return {
        "n_targets": len(groups.categories),
        "n_triplets": len(groups.triplets),
        "scores": [{"model": name, **vars(score)} for name, score in scores.items()],
        "comparisons": [
            {"model": name, "versus": baseline, **vars(difference), "corrected_pvalue": pvalue}
            for (name, difference), pvalue in zip(differences.items(), corrected.tolist(), strict=True)
        ],
        "warnings": texts_of(notices),
    }


def _comparisons(
    evaluation: Evaluation, metrics: Mapping[str, Metric], comparison: Mapping[str, Any]
) -> tuple[RunComparison, ...]:
    options = dict(comparison)
    versus, standardized = options.pop("versus", None), options.pop("standardized")
    return corrected_together(
        compare_evaluated(
            evaluation,
            name,
            baseline=versus,
            standardized=standardized and isinstance(metric, Coefficient),
            workers=1,
            **options,
        )
        for name, metric in metrics.items()
    )


def list_queries(result: Any) -> dict[str, Any]:
    """Return a result of the library with the number of queries that it names, and the first of them."""
    content: dict[str, Any] = {}
    for name, value in json_ready(result).items():
        is_list = name in ("not_in_run", "not_in_qrels", "queries")
        content |= {"n_" + name: len(value), name: value[: schemas.N_LISTED]} if is_list else {name: value}
    return content
