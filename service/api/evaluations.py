"""Serve POST /v1/evaluations, /fused and /groups: which run, or which model of word similarity, is better."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from flask import g
from marshmallow import ValidationError, validates_schema

from rankcorr import Coefficient, RankingError
from rankcorr._checks import collected_notices, default_of
from rankcorr._output.results import json_ready
from rankcorr.evaluation import Coverage, Evaluation, PairedDifference, Qrels, Run, RunComparison, evaluate, fuse
from rankcorr.evaluation._comparison.compare import compare_metrics
from rankcorr.evaluation._comparison.query_tests import TESTS
from rankcorr.evaluation._comparison.results import GroupComparison, RunScore
from rankcorr.evaluation._evaluate import ChanceLevel, RunMean, Undefined
from rankcorr.evaluation._fuse import FUSIONS, MISSING_QUERIES, NORMS
from rankcorr.evaluation._matching import Policies
from rankcorr.evaluation._metrics import METRIC_NAMES, ir_measures_package
from rankcorr.evaluation._nulls import RESAMPLES
from rankcorr.evaluation._partitions.evaluator import QueryEvaluator
from rankcorr.evaluation._reports import reports_of_tests
from rankcorr.inference._system_comparison import LeftOut
from rankcorr.vectors import ReliabilityDifference, ReliabilityPart, ReliabilityScore, TargetGroups, compare_reliability
from rankcorr.vectors._pairs import OOV
from rankcorr.vectors._reliability import score_models
from service.http.problems import Name, shown
from service.openapi.document import Blueprint
from service.schemas import base, fields, shapes
from service.schemas.item_fields import check_labels

_DEPTH: Final = "@[1-9][0-9]{0,5}"
_IR_MEASURES: Final = ("rr", "r@K")
_NAMES: Final = ", ".join((*METRIC_NAMES, *_IR_MEASURES))
METRICS: Final = f"({'|'.join((*METRIC_NAMES, *_IR_MEASURES)).replace('@K', _DEPTH)})"
MOST_METRICS: Final = 20

_LABELS: Final = shapes.list_of(fields.NAME_SCHEMA, about="Either all text, or all whole numbers.", minItems=1)


def _columns(value: str) -> dict[str, Any]:
    names = ("query", "document", value)
    kinds = (_LABELS, _LABELS, shapes.list_of(shapes.NUMBER, minItems=1))
    about = "Columns of one length, with a row for each document of a query."
    return shapes.exactly(about, **dict(zip(names, kinds, strict=True)))


NUMBERS_BY_QUERY: Final = shapes.Component(
    "NumbersByQuery",
    {
        "type": "object",
        "minProperties": 1,
        "description": "By query, the number of each document.",
        "propertyNames": {"minLength": 1},
        "additionalProperties": shapes.map_of(shapes.NUMBER, propertyNames={"minLength": 1}),
    },
)
RELEVANCE_COLUMNS: Final = shapes.Component("RelevanceColumns", _columns("relevance"))
SCORE_COLUMNS: Final = shapes.Component("ScoreColumns", _columns("score"))


class ByQuery(fields.Documented):
    """A number for each document, by query: relevance, or the scores of a run."""

    def __init__(self, kind: type[Qrels | Run], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        columns = RELEVANCE_COLUMNS if kind is Qrels else SCORE_COLUMNS
        self.documented = {"oneOf": [NUMBERS_BY_QUERY.reference, columns.reference]}

    def read(self, value: Any) -> Qrels | Run:
        """Check a value, and return it as the library call takes it.

        The form is columns if the values are lists, and objects by query otherwise.
        """
        if not isinstance(value, dict) or not value:
            raise ValidationError(
                f'must be an object such as {{"q1": {{"d1": 1}}}}, or an object of columns; got {shown(value)}'
            )
        try:
            documents = (
                self._of_columns(value) if any(isinstance(entry, list) for entry in value.values()) else self._of(value)
            )
        except RankingError as error:  # here, so that the field and the run are named
            # Without the options of the library, of which a request has none here.
            raise ValidationError(str(error).partition("; duplicates=")[0]) from error
        g.n_items = g.get("n_items", 0) + len(documents)
        of = "documents of an evaluation, over qrels, runs and queries"
        fields.check_limit("max_query_documents", g.n_items, of=of)
        return documents

    def _of(self, value: dict[str, Any]) -> Qrels | Run:
        for query, numbers in value.items():
            if not isinstance(numbers, dict):
                message = f"must be an object with a {self.kind.value_name} for each document; got {shown(numbers)}"
                raise ValidationError({Name(query): [message]})
            fields.check_numbers(numbers, Name(query))
        return self.kind.from_dict(value)

    def _of_columns(self, value: dict[str, Any]) -> Qrels | Run:
        names = ("query", "document", self.kind.value_name)
        if value.keys() != set(names):
            raise ValidationError(
                f"must be an object of the columns {', '.join(names)}, or of queries, each with a "
                f"{self.kind.value_name} by document; got lists for {shown(list(value))}"
            )
        for name in names[:2]:
            check_labels(value[name], name)
        numbers = value[names[2]]
        if not isinstance(numbers, list):
            raise ValidationError({names[2]: [f"must be a list of numbers; got {shown(numbers)}"]})
        fields.check_numbers(numbers, names[2])
        return self.kind.from_columns(*(value[name] for name in names))


class MetricName(fields.Documented):
    """The name of a metric."""

    documented: Mapping[str, Any] = shapes.Shape(type="string", pattern=f"^{METRICS}$", example="tau_w")

    def read(self, value: Any) -> str:
        """Refuse an unknown metric, and one that needs a package the service does not have."""
        if not isinstance(value, str) or not re.fullmatch(METRICS, value):
            raise ValidationError(f"unknown metric {shown(value)}: use {_NAMES}, with a number for K")
        if re.sub("@.*", "@K", value) in _IR_MEASURES:
            try:
                ir_measures_package()
            except ImportError as error:
                raise ValidationError(f"{value}: this service was installed without ir_measures") from error
        return value


def runs_by_name(least: int = 1) -> fields.ByName:
    """Make the field of runs by name."""
    return fields.ByName(ByQuery(Run), "run", least=least, of="runs", is_named=True, required=True)


N_LISTED: Final = 100  # an answer that counts queries lists at most this many of them
LARGEST_DEPTH: Final = 2**40


class ComparisonOptions(base.Request):
    """How runs are compared over queries."""

    seed = fields.Seed()
    versus = fields.Text(
        attribute="baseline", about="Name of the run that others are compared with; by default all pairs are."
    )
    standardized = fields.Flag(load_default=False, about="Compare the standardized values, which the request asks for.")
    test = fields.first_of(fields.vocabulary("QueryTest", TESTS, "Paired test over queries."))
    groups = fields.ByName(
        fields.Text(least=0), "group", about="By query, such as genre or language: each group is compared alone too."
    )
    clusters = fields.ByName(
        fields.Text(least=0),
        "cluster",
        about="By query: queries of a cluster are not independent, and are flipped together.",
    )
    level = fields.level()
    n_resamples = fields.resamples(2_000)


class StandardizationOptions(base.Request):
    """How rank correlations are standardized by their null distribution."""

    seed = fields.Seed()
    n_resamples = fields.resamples(RESAMPLES)


class EvaluationRequest(base.ItemWeights):
    """Runs to evaluate against qrels, query by query."""

    qrels = ByQuery(Qrels, required=True)
    runs = runs_by_name()
    metrics = fields.ListOf(
        MetricName(),
        f"1 to {MOST_METRICS} metrics",
        least=1,
        most=MOST_METRICS,
        load_default=("tau_w",),
        about=f"{_NAMES}, with a whole number such as 10 for K. rr and r@K need ir_measures in the service. They and "
        "ndcg need relevance in whole numbers of at most 1,000.",
    )
    unjudged = fields.declared_field(Policies, "unjudged", vocabulary="Unjudged")
    unretrieved = fields.declared_field(Policies, "unretrieved", vocabulary="Unretrieved")
    self_hits = fields.declared_field(Policies, "self_hits", vocabulary="SelfHits")
    undefined = fields.declared_field(QueryEvaluator, "undefined", vocabulary="UndefinedQueries")
    depth = fields.declared_field(Policies, "depth", most=LARGEST_DEPTH)
    standardized = fields.Part(
        StandardizationOptions,
        about="Ask for standardized values of rank correlations too: chance gives 0 for each query.",
    )
    by_query = fields.Flag(load_default=False, about="Ask for the values of each query.")
    comparison = fields.Part(ComparisonOptions, about="Ask which of two runs or more is better, and how sure that is.")
    report = base.report_flag()

    @validates_schema(skip_on_field_errors=True)
    def check_size(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse options that contradict each other, and evaluations above a limit."""
        comparison, n_runs = data.get("comparison"), len(data["runs"])
        if comparison is not None:
            if n_runs < 2:
                raise ValidationError("a comparison needs two runs or more", "comparison")
            if comparison["standardized"] and "standardized" not in data:
                raise ValidationError("standardized values can be compared only if they are requested", "comparison")
            if "baseline" in comparison and comparison["baseline"] not in data["runs"]:
                raise ValidationError({"comparison": {"versus": ["there is no run of this name"]}})
        n_queries = data["qrels"].n_queries
        fields.check_limit("max_queries", n_queries, of="queries of an evaluation", field="qrels")
        n_values, of = n_queries * n_runs * len(data["metrics"]), "queries times runs times metrics"
        fields.check_limit("max_query_values", n_values, of=f"values of an evaluation, {of}", field="metrics")


_QUERIES: Final = {"items": fields.LABEL_SCHEMA, "maxItems": N_LISTED}
MEAN: Final = shapes.Component.of(RunMean, "MeanOfQueries")
COVERAGE: Final = shapes.Component.at_least(
    "Coverage",
    run=shapes.TEXT,
    n_not_in_run=shapes.COUNT,
    n_not_in_qrels=shapes.COUNT,
    **shapes.properties_of(Coverage, not_in_run=_QUERIES, not_in_qrels=_QUERIES),
)
_LEFT_OUT: Final = shapes.at_least(**shapes.properties_of(LeftOut, label=fields.LABEL_SCHEMA))
shapes.Component.of(
    PairedDifference,
    least=_LEFT_OUT.or_null("The same without the query whose absence lowers the difference most."),
    most=_LEFT_OUT.or_null("The same without the query whose absence raises the difference most."),
)
shapes.Component.of(RunScore)
shapes.Component.of(ChanceLevel)
shapes.Component.of(GroupComparison, group=shapes.TEXT, means={"items": shapes.NUMBER_OR_NULL})
COMPARISON_OF_RUNS: Final = shapes.Component.at_least(
    "RunComparison",
    **shapes.properties_of(RunComparison, "metric", "standardized", "unit", "correction", "rows", "pairs", "groups"),
)


class EvaluationAnswer(
    base.WarnedAnswer,
    **shapes.properties_of(
        Evaluation,
        *("runs", "metrics", "chance"),
        chance={"description": "How values were standardized: tie patterns, how many were drawn, error of the others."},
    ),
):
    """Mean scores of runs over queries, and comparisons of the runs; null where undefined."""

    n_queries = shapes.WHOLE
    means = shapes.list_of(MEAN.reference)
    coverage = shapes.list_of(COVERAGE.reference)
    undefined = shapes.list_of(
        shapes.at_least(**shapes.properties_of(Undefined, n_queries=shapes.COUNT, queries=_QUERIES)),
        about="Queries without a value, and why.",
    )
    by_query = shapes.at_least(
        "Values by run, metric and query, in the order of runs, metrics and queries.",
        queries=shapes.list_of(fields.LABEL_SCHEMA),
        values=shapes.list_of(shapes.list_of(shapes.list_of(shapes.NUMBER_OR_NULL))),
        standardized=shapes.list_of(shapes.list_of(shapes.list_of(shapes.NUMBER_OR_NULL)), type=["array", "null"]),
    )(type=["object", "null"])
    comparisons = shapes.list_of(
        COMPARISON_OF_RUNS.reference, about="One for each metric, if a comparison was asked for."
    )
    reports = shapes.list_of(
        base.REPORT.reference, about="Of the means, and of the comparison of each metric; empty unless asked for."
    )


class FusionRequest(base.Request):
    """Runs to fuse into one."""

    runs = runs_by_name(2)
    method = fields.first_of(fields.vocabulary("Fusion", FUSIONS, "Reciprocal rank fusion, CombSUM or CombMNZ."))
    k = fields.Number(
        least=0,
        most=1e300,
        load_default=default_of(fuse, "k"),
        about="Offset of rrf: a document of rank r gets 1/(k + r).",
    )
    norm = fields.first_of(
        fields.vocabulary("Norm", NORMS, "Scores of a query from 0 to 1, or with mean 0 and standard deviation 1.")
    )
    missing = fields.first_of(
        fields.vocabulary("MissingQueries", MISSING_QUERIES, "An error, or fuse the runs that have the query.")
    )


class FusionAnswer(base.WarnedAnswer, **shapes.properties_of(Run, "n_queries")):
    """The fused run."""

    run = SCORE_COLUMNS.reference("Documents of each query from best to worst, as POST /v1/evaluations takes them.")


blueprint = Blueprint(
    "evaluations", __name__, url_prefix="/v1/evaluations", description="Which run is better, by query?"
)


@blueprint.post("", name="evaluateRuns")
@blueprint.arguments(EvaluationRequest)
@blueprint.response(200, EvaluationAnswer)
def evaluate_runs(
    *,
    qrels: Qrels,
    runs: Mapping[str, Run],
    metrics: Sequence[str | Coefficient],
    by_query: bool,
    report: bool,
    standardized: Mapping[str, Any] | None = None,
    comparison: Mapping[str, Any] | None = None,
    **policies: Any,
) -> dict[str, Any]:
    """Evaluate runs by query against qrels, and compare them over queries."""
    with collected_notices() as notices:
        evaluation = evaluate(
            qrels,
            runs,
            metrics=metrics,
            standardized=standardized is not None,
            workers=1,
            **policies,
            **(standardized or {}),
        )
        compared = () if comparison is None else compare_metrics(evaluation, workers=1, **comparison)
    reports = reports_of_tests(evaluation.report(), (tested.report() for tested in compared)) if report else []
    answer = EvaluationAnswer.dump(
        {
            "n_queries": len(evaluation.queries),
            "runs": evaluation.runs,
            "metrics": evaluation.metrics,
            "means": evaluation.means,
            "coverage": [
                {"run": run, **list_queries(counts)}
                for run, counts in zip(evaluation.runs, evaluation.coverage, strict=True)
            ],
            "undefined": [list_queries(gap) for gap in evaluation.undefined],
            "chance": evaluation.chance,
            "by_query": vars(evaluation) if by_query else None,
            "comparisons": compared,
            "reports": list(map(base.report_content, reports)),
            "warnings": base.texts_of(notices),
        }
    )
    base.refuse_long_text(answer)  # the answer repeats the name of a query for each run that lacks it
    return answer


@blueprint.post("/fused", name="fuseRuns")
@blueprint.arguments(FusionRequest)
@blueprint.response(200, FusionAnswer)
def fuse_runs(runs: Mapping[str, Run], **options: Any) -> dict[str, Any]:
    """Fuse runs into one, query by query."""
    with collected_notices() as notices:
        fused = fuse(runs, **options)
    rows = [(query, document, score) for query in fused.queries for document, score in fused[query].items()]
    columns = zip(("query", "document", "score"), map(list, zip(*rows, strict=True)), strict=True)
    answer = {"run": dict(columns), "n_queries": fused.n_queries, "warnings": base.texts_of(notices)}
    base.refuse_long_text(answer)  # the answer repeats the name of a query for each document
    return answer


def list_queries(result: Any) -> dict[str, Any]:
    """Return a result of the library with the number of queries that it names, and the first of them."""
    content: dict[str, Any] = {}
    for name, value in json_ready(result).items():
        is_list = name in ("not_in_run", "not_in_qrels", "queries")
        content |= {"n_" + name: len(value), name: value[:N_LISTED]} if is_list else {name: value}
    return content


_WORD: Final = shapes.TEXT(minLength=1)
TARGET_GROUP: Final = shapes.Component(
    "TargetGroup",
    shapes.exactly(
        "A target word with its candidates, and the answers of annotators on pairs of positive ones.",
        target=_WORD,
        candidates=shapes.map_of(fields.CANDIDATE.reference, minProperties=2, propertyNames=_WORD),
        comparisons=shapes.list_of(
            shapes.exactly(
                first=_WORD,
                second=_WORD,
                share=shapes.NUMBER("Share of the answers that rank the first above the second.", minimum=0, maximum=1),
                n_answers=shapes.WHOLE(type=["integer", "null"], minimum=1),
                optional=["n_answers"],
            )
        ),
    ),
)


class TargetGroupList(fields.Documented):
    """Target groups, as the library writes them."""

    documented: Mapping[str, Any] = shapes.list_of(TARGET_GROUP.reference, minItems=1)

    def read(self, value: Any) -> TargetGroups:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list):
            raise ValidationError(f"must be a list of target groups; got {shown(value)}")
        try:
            groups = TargetGroups.from_dict({"groups": value})
        except RankingError as error:
            raise ValidationError(str(error)) from error
        n_triplets = len(groups.shares) + sum(
            len(groups.candidates(target, "positive")) * (len(group) - len(groups.candidates(target, "positive")))
            for target, group in groups.categories.items()
        )
        fields.check_limit("max_query_documents", n_triplets, of="comparisons of candidates")
        return groups


class SimilaritiesByTarget(fields.Documented):
    """Similarities of one model: of a target and its candidates."""

    documented: Mapping[str, Any] = shapes.map_of(
        shapes.map_of(shapes.NUMBER, minProperties=1, propertyNames=_WORD),
        about="By target, the similarity of each candidate.",
        minProperties=1,
        propertyNames=_WORD,
    )

    def read(self, value: Any) -> dict[tuple[str, str], float]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict) or not value:
            raise ValidationError(f"must be an object of target to similarities; got {shown(value)}")
        for target, row in value.items():
            if not isinstance(row, dict):
                message = f"must be an object of candidate to similarity; got {shown(row)}"
                raise ValidationError({Name(target): [message]})
            fields.check_numbers(row, Name(target))
        return {(target, word): similarity for target, row in value.items() for word, similarity in row.items()}


class TargetGroupsRequest(base.Request):
    """Models of word similarity to score on target groups."""

    groups = TargetGroupList(required=True)
    models = fields.ByName(
        SimilaritiesByTarget(), "similarities", of="models", is_named=True, required=True, about="By name of the model."
    )
    versus = fields.Text(about="Name of the model that others are compared with; the first by default.")
    oov = fields.first_of(
        fields.vocabulary("UnknownWords", OOV, "Words without a similarity: left out, an error, or least.")
    )
    level = fields.level()
    n_resamples = fields.resamples(default_of(compare_reliability, "n_resamples"))
    seed = fields.Seed()

    @validates_schema(skip_on_field_errors=True)
    def check_versus(self, data: dict[str, Any], **_: Any) -> None:
        """Refuse a name that no model has."""
        if "versus" in data and data["versus"] not in data["models"]:
            raise ValidationError("there is no model of this name", "versus")


shapes.Component.of(ReliabilityPart)
RELIABILITY: Final = shapes.Component.at_least(
    "ReliabilityScore", model=shapes.TEXT, **shapes.properties_of(ReliabilityScore)
)
RELIABILITY_DIFFERENCE: Final = shapes.Component.at_least(
    "ReliabilityDifference",
    model=shapes.TEXT,
    versus=shapes.TEXT,
    **shapes.properties_of(ReliabilityDifference),
    corrected_pvalue=shapes.NUMBER_OR_NULL("By Holm's method over all comparisons."),
)


class TargetGroupsAnswer(base.WarnedAnswer):
    """Reliability scores of models on target groups, and tests of their differences."""

    n_targets = shapes.WHOLE
    n_triplets = shapes.WHOLE
    scores = shapes.list_of(RELIABILITY.reference)
    comparisons = shapes.list_of(RELIABILITY_DIFFERENCE.reference)


@blueprint.post("/groups", name="scoreTargetGroups")
@blueprint.arguments(TargetGroupsRequest)
@blueprint.response(200, TargetGroupsAnswer)
def score_target_groups(
    groups: TargetGroups,
    models: Mapping[str, Mapping[tuple[str, str], float]],
    versus: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Score models of word similarity on target groups, and compare them."""
    baseline = next(iter(models)) if versus is None else versus
    with collected_notices() as notices:
        scores, differences = score_models(groups, models, baseline, **options)
    return {
        "n_targets": len(groups.categories),
        "n_triplets": len(groups.triplets),
        "scores": [{"model": name, **vars(score)} for name, score in scores.items()],
        "comparisons": [
            {"model": name, "versus": baseline, **vars(difference), "corrected_pvalue": pvalue}
            for name, (difference, pvalue) in differences.items()
        ],
        "warnings": base.texts_of(notices),
    }
