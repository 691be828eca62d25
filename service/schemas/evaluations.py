"""Evaluating runs by query."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import ValidationError, validates_schema
from marshmallow.fields import Integer, List, String

from rankcorr.evaluation import Qrels
from rankcorr.evaluation.nulls import RESAMPLES
from service.schemas.base import Answer, ItemWeights, Request
from service.schemas.components import (
    QUERY_TEST,
    UNDEFINED_QUERIES,
    UNJUDGED_DOCUMENTS,
    UNRETRIEVED_DOCUMENTS,
    Component,
)
from service.schemas.fields import (
    LABEL_SCHEMA,
    NOTHING,
    Choice,
    Count,
    Dumped,
    Flag,
    Part,
    Seed,
    Text,
    Whole,
    check_limit,
)
from service.schemas.inference import UNDEFINED, level
from service.schemas.query_fields import ByQuery, GroupsOfQueries, MetricNames, RunsByName

N_LISTED: Final = 100  # queries that an answer lists where it counts them
LARGEST_DEPTH: Final = 2**40


class ComparisonOptions(Request):
    """How runs are compared over queries."""

    seed = Seed(metadata={"description": "The same seed, the same answer."})
    versus = Text(metadata={"description": "Name of the run that others are compared with; by default all pairs are."})
    standardized = Flag(
        load_default=False, metadata={"description": "Compare standardized values, of rank correlations."}
    )
    test = Choice(QUERY_TEST, load_default=QUERY_TEST.words[0])
    groups = GroupsOfQueries()
    level = level()
    n_resamples = Count(limit="max_resamples", of="resamples", load_default=2_000)


class StandardizationOptions(Request):
    """How rank correlations are standardized by their own null."""

    seed = Seed(metadata={"description": "The same seed, the same answer."})
    n_resamples = Count(limit="max_resamples", of="resamples", load_default=RESAMPLES)


class EvaluationRequest(ItemWeights):
    """Runs by query against qrels."""

    refused = (
        *ItemWeights.refused,
        {"required": ["comparison"], "properties": {"runs": {"maxProperties": 1}}},
        {
            "required": ["comparison"],
            "properties": {
                "comparison": {"required": ["standardized"], "properties": {"standardized": {"const": True}}},
                "standardized": NOTHING,
            },
        },
    )

    qrels = ByQuery(Qrels, required=True)
    runs = RunsByName(required=True)
    metrics = MetricNames(load_default=("tau_w",))
    unjudged = Choice(UNJUDGED_DOCUMENTS, load_default=UNJUDGED_DOCUMENTS.words[0])
    unretrieved = Choice(UNRETRIEVED_DOCUMENTS, load_default=UNRETRIEVED_DOCUMENTS.words[0])
    undefined = Choice(UNDEFINED_QUERIES, load_default=UNDEFINED_QUERIES.words[0])
    depth = Whole(least=1, most=LARGEST_DEPTH, metadata={"description": "Keep so many documents of a query and run."})
    standardized = Part(
        StandardizationOptions,
        metadata={
            "description": "Ask for standardized values of rank correlations too: chance gives 0 for each query."
        },
    )
    by_query = Flag(load_default=False, metadata={"description": "Ask for the values of each query."})
    comparison = Part(ComparisonOptions, metadata={"description": "Ask which run is better, and how sure that is."})

    @validates_schema(skip_on_field_errors=True)
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse options that do not fit each other, and evaluations above a limit."""
        comparison, n_runs = data.get("comparison"), len(data["runs"])
        if comparison is not None:
            if n_runs < 2:
                raise ValidationError("a comparison needs two runs or more", "comparison")
            if comparison["standardized"] and "standardized" not in data:
                raise ValidationError("standardized values are compared only where they are asked for", "comparison")
            if "versus" in comparison and comparison["versus"] not in data["runs"]:
                raise ValidationError({"comparison": {"versus": ["there is no run of this name"]}})
        n_queries = data["qrels"].n_queries
        for limit, count, of, field in (
            ("max_queries", n_queries, "queries of an evaluation", "qrels"),
            (
                "max_query_values",
                n_queries * n_runs * len(data["metrics"]),
                "values of an evaluation, queries times runs times metrics",
                "metrics",
            ),
        ):
            try:
                check_limit(limit, count, of=of)
            except ValidationError as error:
                raise ValidationError(error.messages, field) from error


_COUNT: Final = {"type": "integer", "minimum": 0}
_QUERIES: Final = {"type": "array", "items": LABEL_SCHEMA, "description": f"The first {N_LISTED}."}


def _record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


def _named(**properties: Any) -> dict[str, Any]:
    return _record(run={"type": "string"}, metric={"type": "string"}, **properties)


MEAN: Final = Component(
    "MeanOfQueries",
    _named(
        mean={**UNDEFINED, "description": "Over the queries that have a value; null where none has."},
        standardized={**UNDEFINED, "description": "Mean of the standardized values; null if they were not asked for."},
        n_queries=_COUNT,
        n_undefined=_COUNT,
    ),
)
COVERAGE: Final = Component(
    "Coverage",
    _record(
        run={"type": "string"},
        n_queries={**_COUNT, "description": "Queries of qrels."},
        n_not_in_run=_COUNT,
        not_in_run=_QUERIES,
        n_not_in_qrels={**_COUNT, "description": "Queries that the run alone has, which are left out."},
        not_in_qrels=_QUERIES,
        n_compared={**_COUNT, "description": "Documents."},
        n_unjudged=_COUNT,
        n_unretrieved=_COUNT,
        n_cut={**_COUNT, "description": "Documents beyond the depth."},
        n_negative={**_COUNT, "description": "Judgements below 0, which rank below 0."},
    ),
)
PAIRED: Final = Component(
    "PairedDifference",
    _record(
        first={"type": "string"},
        second={"type": "string"},
        difference={**UNDEFINED, "description": "Mean of the first less that of the second."},
        low=UNDEFINED,
        high=UNDEFINED,
        pvalue=UNDEFINED,
        corrected_pvalue={**UNDEFINED, "description": "By Holm's method, over the pairs beside it."},
        effect_size={**UNDEFINED, "description": "Mean difference over the standard deviation of the differences."},
        n_queries=_COUNT,
        n_better=_COUNT,
        n_worse=_COUNT,
    ),
)
_PAIRS: Final = {"type": "array", "items": PAIRED.reference}
COMPARISON_OF_RUNS: Final = Component(
    "RunComparison",
    _record(
        metric={"type": "string"},
        standardized={"type": "boolean"},
        unit={"type": "string", "description": "What is resampled, flipped and exchanged: queries."},
        rows={
            "type": "array",
            "description": "Runs, best first.",
            "items": _record(
                run={"type": "string"},
                rank={**UNDEFINED, "description": "Mid-rank; null without a mean."},
                group={"type": ["integer", "null"], "description": "Runs of one group cannot be told apart."},
                mean=UNDEFINED,
                low=UNDEFINED,
                high=UNDEFINED,
                n_queries=_COUNT,
                pvalue={**UNDEFINED, "description": "Of the test against the best."},
                corrected_pvalue={**UNDEFINED, "description": "Corrected for a best one that was found by looking."},
            ),
        },
        pairs=_PAIRS,
        groups={
            "type": "array",
            "items": _record(
                group={"type": "string"},
                n_queries=_COUNT,
                means={"type": "array", "items": UNDEFINED, "description": "In the order of the rows."},
                pairs=_PAIRS,
            ),
        },
    ),
)


class EvaluationAnswer(Answer):
    """Means of runs over queries, and how the runs compare; null where undefined."""

    n_queries = Integer(required=True)
    runs = List(String(), required=True)
    metrics = List(String(), required=True)
    means = Dumped({"type": "array", "items": MEAN.reference}, required=True)
    coverage = Dumped({"type": "array", "items": COVERAGE.reference}, required=True)
    undefined = Dumped(
        {
            "type": "array",
            "items": _named(reason={"type": "string"}, n_queries=_COUNT, queries=_QUERIES),
            "description": "Queries without a value, and why.",
        },
        required=True,
    )
    chance = Dumped(
        {
            "type": "array",
            "items": _named(n_patterns=_COUNT, n_drawn=_COUNT, error=UNDEFINED),
            "description": "How values were standardized: tie patterns, how many were drawn, error of the others.",
        },
        required=True,
    )
    by_query = Dumped(
        {
            "type": ["object", "null"],
            "description": "Values by run, metric and query, in the order of runs, metrics and queries.",
            "required": ["queries", "values", "standardized"],
            "properties": {
                "queries": {"type": "array", "items": LABEL_SCHEMA},
                "values": {"type": "array", "items": {"type": "array", "items": {"type": "array", "items": UNDEFINED}}},
                "standardized": {
                    "type": ["array", "null"],
                    "items": {"type": "array", "items": {"type": "array", "items": UNDEFINED}},
                },
            },
        },
        required=True,
    )
    comparisons = Dumped(
        {
            "type": "array",
            "items": COMPARISON_OF_RUNS.reference,
            "description": "One for each metric, if a comparison was asked for.",
        },
        required=True,
    )
    warnings = List(String(), required=True)
