"""Serve POST /v1/evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import ValidationError

from rankcorr.coefficients import COEFFICIENTS, Coefficient
from rankcorr.errors import collected_notices
from rankcorr.evaluation import Evaluation, Qrels, Run, RunComparison, compare_evaluated, evaluate
from rankcorr.evaluation.metrics import Metric, as_metrics
from rankcorr.results import json_ready
from service.api import weighing, work
from service.http import deadline
from service.http.problems import invalid
from service.openapi.blueprint import Blueprint, operation
from service.schemas.evaluations import N_LISTED, EvaluationAnswer, EvaluationRequest
from service.schemas.fields import check_text_bytes

blueprint = Blueprint(
    "evaluations", __name__, url_prefix="/v1/evaluations", description="Which run is better, by query?"
)

EXAMPLE = {
    "qrels": {"q1": {"ant": 2, "bee": 1, "cat": 0}, "q2": {"oak": 1, "elm": 0}, "q3": {"oak": 0, "ivy": 2}},
    "runs": {
        "bm25": {"q1": {"ant": 9.1, "cat": 8.7}, "q2": {"elm": 3.5, "oak": 1.2}, "q3": {"ivy": 5.0, "oak": 4.5}},
        "dense": {"q1": {"ant": 0.9, "bee": 0.8}, "q2": {"oak": 0.7, "elm": 0.1}, "q3": {"ivy": 0.6, "oak": 0.2}},
    },
    "metrics": ["tau_w", "ap", "p@1"],
    "by_query": True,
    "comparison": {"versus": "bm25", "seed": 1},
}


@blueprint.route("", methods=["POST"])
@blueprint.arguments(EvaluationRequest, example=EXAMPLE)
@operation("evaluateRuns")
@blueprint.response(200, EvaluationAnswer)
def evaluate_runs(request: dict[str, Any]) -> dict[str, Any]:
    """Evaluate runs by query against qrels, and compare them over queries."""
    return evaluation_of(**request)


def evaluation_of(
    *,
    qrels: Qrels,
    runs: Mapping[str, Run],
    metrics: tuple[str, ...],
    options: Mapping[str, Any],
    by_query: bool,
    standardized: Mapping[str, Any] | None = None,
    comparison: Mapping[str, Any] | None = None,
    **policies: Any,
) -> dict[str, Any]:
    """Return the means of each run and metric, with values by query and comparisons if requested."""
    chosen = metrics_of(metrics, options)
    work.admit(*work.of_evaluation(qrels, runs, chosen, standardized, comparison))
    clock = deadline.of_request()
    with collected_notices() as notices:
        found = evaluate(
            qrels,
            runs,
            metrics=list(chosen.values()),
            standardized=standardized is not None,
            workers=1,
            progress=clock,
            **policies,
            **(standardized or {}),
        )
        compared = [] if comparison is None else _comparisons(found, chosen, comparison, clock)
    answer = {
        "n_queries": len(found.queries),
        "runs": found.runs,
        "metrics": found.metrics,
        "means": [{"standardized": None, **row} for row in found.table()],
        "coverage": [{"run": run, **listed(each)} for run, each in zip(found.runs, found.coverage, strict=True)],
        "undefined": [listed(each) for each in found.undefined],
        "chance": found.chance,
        "by_query": _by_query(found) if by_query else None,
        "comparisons": [_described(each) for each in compared],
        "warnings": list(dict.fromkeys(notices)),
    }
    try:
        check_text_bytes(answer)  # the answer repeats the name of a query for each run that lacks it
    except ValidationError as error:
        raise invalid({"": list(error.messages)}) from error
    clock()
    return answer


def metrics_of(names: tuple[str, ...], options: Mapping[str, Any]) -> dict[str, Metric]:
    """Return the metrics by their names in answers; coefficients get the options of weights."""
    return as_metrics([weighing.of_name(name, options) if name in COEFFICIENTS else name for name in names])


def _comparisons(
    found: Evaluation, metrics: Mapping[str, Metric], comparison: Mapping[str, Any], clock: deadline.Deadline
) -> list[RunComparison]:
    options = dict(comparison)
    versus, standardized = options.pop("versus", None), options.pop("standardized")
    return [
        compare_evaluated(
            found,
            name,
            baseline=versus,
            standardized=standardized and isinstance(metric, Coefficient),
            workers=1,
            progress=clock,
            **options,
        )
        for name, metric in metrics.items()
    ]


def listed(result: Any) -> dict[str, Any]:
    """Return a result of the library with the number of queries that it names, and the first of them."""
    content: dict[str, Any] = {}
    for name, value in json_ready(result).items():
        if name in ("not_in_run", "not_in_qrels", "queries"):
            content["n_" + name] = len(value)
            content[name] = value[:N_LISTED]
        else:
            content[name] = value
    return content


def _by_query(found: Evaluation) -> dict[str, Any]:
    return {"queries": found.queries, "values": found.values, "standardized": found.standardized}


def _described(comparison: RunComparison) -> dict[str, Any]:
    """Return a comparison without the values by query, which `by_query` contains."""
    names = ("metric", "standardized", "unit", "rows", "pairs", "groups")
    return {name: json_ready(getattr(comparison, name)) for name in names}
