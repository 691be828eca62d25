"""Metrics by name or value; `_metric_values` computes their values by query."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias, get_args

from rankcorr._checks import check_choice, checked_count, checked_level, shown, whole_number
from rankcorr._coefficients import BY_NAME, Coefficient
from rankcorr.errors import MetricError, MissingMeasuresError, RankingError
from rankcorr.measures._overlap import OverlapTies
from rankcorr.measures._rank_correlations import ApTies

# trec_eval allocates 8 bytes for each grade up to the largest, and its nDCG is quadratic in their number: 0.3 ms per
# query for 1,000 grades, 28 ms for 10,000.
LARGEST_GRADE: Final = 1_000
LARGEST_CUTOFF: Final = 2**31 - 1
# Lower-case names of metrics from 0 to 1 of ir_measures, without those that are built in too.
_IR_MEASURES_TO_1: Final = {
    *("accuracy", "alpha_ndcg", "ap_ia", "bpref", "compat", "err", "err_ia", "infap", "iprec", "judged", "map", "mrr"),
    *("p_ia", "precision", "r", "rbp", "recall", "rprec", "rr", "setap", "setf", "setp", "setr", "strecall", "success"),
}


@dataclass(frozen=True)
class AveragePrecision:
    """Average precision, as in trec_eval.

    Documents with relevance 1 or more are relevant, and ties are broken by descending id. `unjudged` and `unretrieved`
    do not affect it. A query without a relevant document has the value 0.

    See Also
    --------
    PrecisionAt : Precision among the first documents.
    rankcorr.measures.average_precision : For one ranking, with the mean over ties.

    Examples
    --------
    >>> from rankcorr.evaluation import AveragePrecision, evaluate
    >>> qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 3, "b": 2, "c": 1}}
    >>> evaluate(qrels, run, metrics=AveragePrecision()).of("ap").round(4)
    array([0.8333])
    >>> evaluate(qrels, run, metrics="ap").of("ap").round(4)
    array([0.8333])
    """

    name: ClassVar[str] = "ap"


@dataclass(frozen=True)
class PrecisionAt:
    """Precision among the first k documents, as in trec_eval; ties and relevance as in `AveragePrecision`.

    Raises
    ------
    OptionError
        k is not a positive whole number.

    See Also
    --------
    AveragePrecision : A mean over the ranks of relevant documents.
    evaluate : Accepts the name "p@k" too.

    Examples
    --------
    >>> from rankcorr.evaluation import PrecisionAt, evaluate
    >>> qrels, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"a": 3, "b": 2, "c": 1}}
    >>> evaluate(qrels, run, metrics=[PrecisionAt(2), "p@1"]).values.tolist()
    [[[0.5], [1.0]]]
    """

    k: int

    def __post_init__(self) -> None:
        checked_count(self.k, "k")

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"p@{self.k}"


@dataclass(frozen=True)
class NDCG:
    """nDCG of the first k documents, or of all, as in trec_eval, with relevance as gain; ties as in `PrecisionAt`.

    Raises
    ------
    OptionError
        k is not a positive whole number.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            checked_count(self.k, "k")

    @property
    def name(self) -> str:
        """Name in tables."""
        return "ndcg" if self.k is None else f"ndcg@{self.k}"


@dataclass(frozen=True)
class TauAP:
    """`rankcorr.measures.tau_ap` of gold and run, over the documents that the coefficients compare.

    See Also
    --------
    rankcorr.measures.tau_ap : The measure, for two rankings.
    rankcorr.TauW : A symmetric coefficient, with weights of your choice.

    Examples
    --------
    >>> from rankcorr.evaluation import TauAP, evaluate
    >>> qrels, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 3, "b": 1, "c": 2}}
    >>> metric = TauAP(ties="b")
    >>> round(evaluate(qrels, run, metrics=metric).mean(metric.name), 4)
    0.5
    """

    ties: ApTies = "a"

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, get_args(ApTies))

    @property
    def name(self) -> str:
        """Name in tables."""
        return "tau_ap" if self.ties == "a" else f"tau_ap({self.ties})"


@dataclass(frozen=True)
class RBO:
    """Extrapolated `rankcorr.measures.rank_biased_overlap` of the judged and the retrieved documents.

    `unjudged` and `unretrieved` do not affect it.

    See Also
    --------
    rankcorr.measures.rank_biased_overlap : The measure, for two lists.
    TauAP : Another measure of the agreement at the top.

    Examples
    --------
    >>> from rankcorr.evaluation import RBO, evaluate
    >>> qrels, run = {"q": {"a": 2, "b": 1, "c": 0}}, {"q": {"a": 3, "b": 1, "c": 2}}
    >>> metric = RBO(p=0.5)
    >>> round(evaluate(qrels, run, metrics=metric).mean(metric.name), 4)
    0.875
    """

    p: float = 0.9
    ties: OverlapTies = "w"

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, get_args(OverlapTies))
        checked_level(self.p, "p")

    @property
    def name(self) -> str:
        """Name in tables."""
        options = [f"p={self.p:g}"] * (self.p != 0.9) + [self.ties] * (self.ties != "w")
        return f"rbo({', '.join(options)})" if options else "rbo"


@dataclass(frozen=True)
class IrMeasure:
    """A measure of ir_measures."""

    measure: Any
    name: str


def ir_measures_package(metric: str | None = None) -> Any:
    """Import ir_measures, or raise an error that names the metric and the package to install."""
    try:
        import ir_measures
    except ImportError as error:
        name = "this" if metric is None else shown(metric)
        raise MissingMeasuresError(
            f"{name} is not a built-in metric ({', '.join(METRIC_NAMES)}); for those of ir_measures: "
            "pip install ir_measures"
        ) from error
    return ir_measures


def ir_measure_named(name: str) -> IrMeasure:
    """Find a measure of ir_measures by its name; case does not matter.

    Raises
    ------
    MetricError
        The name is unknown, or an option of the measure cannot be used.
    """
    package = ir_measures_package(name)
    head, known = re.split(r"[@(]", name, maxsplit=1)[0], package.measures.registry
    exact = known if head in known else {measure_name.lower(): measure_name for measure_name in known}
    if head not in known and head.lower() in exact:
        head = exact[head.lower()]
    try:
        measure = parsed_measure(head + name[len(head) :], known)
    except (KeyError, ValueError, SyntaxError, TypeError, AssertionError, RecursionError, MemoryError) as error:
        # The last two come from Python's parser, for names nested too deeply.
        raise MetricError(
            f"unknown metric {shown(name)}: use {', '.join(METRIC_NAMES)}, or one of ir_measures, such as rr"
        ) from error
    return checked_measure(measure, name.lower())


def parsed_measure(text: str, registry: Mapping[str, Any]) -> Any:
    """Parse a measure such as ``nDCG(gains={1: 3})@10``, because ir_measures 0.4.3 cannot on Python 3.14."""
    node: ast.expr = ast.parse(text, mode="eval").body
    depth: ast.expr | None = None
    options: dict[str, Any] = {}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        depth = node.right
        node = node.left
    if isinstance(node, ast.Call) and not node.args:
        options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords}
        if len(options) < len(node.keywords):
            raise TypeError(text)
        node = node.func
    if not isinstance(node, ast.Name):
        raise TypeError(text)
    measure = registry[node.id]
    if depth is not None:
        if measure.AT_PARAM in options:
            raise TypeError(text)
        options[measure.AT_PARAM] = ast.literal_eval(depth)
    if unknown := options.keys() - measure.SUPPORTED_PARAMS.keys():
        raise TypeError(unknown)
    return measure(**options)


def checked_measure(measure: Any, name: str) -> IrMeasure:
    """Refuse a measure without a required option, or with options that would crash the process, such as ``nDCG@0``.

    Raises
    ------
    MetricError
        An option is missing or out of range.
    """
    called = shown(name, written=str)
    for option, needed in measure.SUPPORTED_PARAMS.items():
        if needed.required and option not in measure.params:
            form = f"@{option.upper()}" if option == measure.AT_PARAM else f"({option}=...)"
            raise MetricError(f"{called}: {option} must be given, as in {measure.NAME}{form}")
    for option, least, most in (("cutoff", 1, LARGEST_CUTOFF), ("rel", 0, LARGEST_GRADE)):
        value = measure.params.get(option)
        number = whole_number(value)
        if value is not None and (number is None or not least <= number <= most):
            raise MetricError(f"{called}: {option} must be a whole number from {least} to {most:,}; got {shown(value)}")
    gains = measure.params.get("gains", {})
    if not isinstance(gains, Mapping) or None in map(whole_number, (*gains, *gains.values())):
        raise MetricError(
            f"{called}: gains must be a whole number for each grade, as {{1: 1, 2: 3}}; got {shown(gains)}"
        )
    if max(gains.values(), default=0) > LARGEST_GRADE:
        raise MetricError(f"{called}: gains must be at most {LARGEST_GRADE:,}; got {shown(gains)}")
    return IrMeasure(measure, name)


Metric: TypeAlias = Coefficient | AveragePrecision | PrecisionAt | NDCG | TauAP | RBO | IrMeasure
MetricLike: TypeAlias = Metric | str | Any

METRICS_BY_NAME: Final[dict[str, Metric]] = {
    **BY_NAME,
    "ap": AveragePrecision(),
    "ndcg": NDCG(),
    "tau_ap": TauAP(),
    "rbo": RBO(),
}
METRICS_AT_K: Final[dict[str, Callable[[int], Metric]]] = {"p": PrecisionAt, "ndcg": NDCG}
METRIC_NAMES: Final = (*METRICS_BY_NAME, *(f"{name}@K" for name in METRICS_AT_K))
_TREC_EVAL_NAMES: Final = {"ndcg_cut": "ndcg", "p": "p", "map_cut": "ap", "recall": "r", "success": "success"}
_TREC_EVAL_FORM: Final = re.compile(f"({'|'.join(_TREC_EVAL_NAMES)})_([0-9]{{1,9}})")


def as_metric(metric: MetricLike) -> Metric:
    """Return the metric with a name, or a metric unchanged.

    Names are those of the coefficients, "ap", "ndcg", "p@10" and "ndcg@10" with any depth, "tau_ap", "rbo", and those
    of ir_measures in upper or lower case, such as "rr", "r@100", "err@20". Names of trec_eval are accepted too:
    "recip_rank", "ndcg_cut_10", "P_10", "map_cut_10", "recall_100", "success_1".

    Raises
    ------
    MetricError
        The name is unknown.
    MissingMeasuresError
        No metric of this package has the name, and ir_measures is not installed.

    Examples
    --------
    >>> as_metric("tau_w"), as_metric("P@10")
    (TauW(), PrecisionAt(k=10))
    """
    if isinstance(metric, Metric):
        return metric
    if isinstance(metric, str):
        lower = metric.strip().lower()
        if (match := _TREC_EVAL_FORM.fullmatch(lower)) or lower == "recip_rank":
            return as_metric("rr" if match is None else f"{_TREC_EVAL_NAMES[match[1]]}@{match[2]}")
        if lower in METRICS_BY_NAME or lower == "map":
            return METRICS_BY_NAME["ap" if lower == "map" else lower]
        name, _, depth = lower.replace("precision@", "p@").partition("@")
        if name in METRICS_AT_K and re.fullmatch("[0-9]{1,9}", depth):
            return METRICS_AT_K[name](int(depth))
        return ir_measure_named(metric.strip())
    if type(metric).__module__.partition(".")[0] == "ir_measures":
        return checked_measure(metric, str(metric))
    raise MetricError(f"a metric must be a name, a coefficient or a measure of ir_measures; got {shown(metric)}")


def as_metrics(metrics: Sequence[MetricLike] | MetricLike) -> dict[str, Metric]:
    """Return metrics by their name in tables; a single metric need not be in a list.

    Raises
    ------
    MetricError
        There is no metric, or a metric is repeated.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> list(as_metrics(["tau_w", TauW(n0=10), "ap"]))
    ['tau_w', 'TauW(n0=10)', 'ap']
    """
    requests = list(metrics) if isinstance(metrics, list | tuple) else [metrics]
    parsed = [as_metric(metric) for metric in requests]
    if not parsed:
        raise MetricError(f"metrics must be a list of different metrics; got {shown(metrics)}")
    check_different(parsed, requests)
    return {name_of(metric): metric for metric in parsed}


def check_different(metrics: Sequence[Metric], requests: Sequence[object]) -> None:
    """Refuse a repeated metric, also under another name; `requests` holds the name or value given for each.

    Raises
    ------
    MetricError
        A metric is repeated; the message has both names.
    """
    by_name: dict[str, list[object]] = {}
    for metric, request in zip(metrics, requests, strict=True):
        # The text of a measure identifies it: "ndcg@10" and "nDCG@010" are the same.
        identity = str(metric.measure) if isinstance(metric, IrMeasure) else name_of(metric).replace("ndcg", "nDCG")
        by_name.setdefault(identity, []).append(request)
    for name, same_requests in by_name.items():
        if len(same_requests) > 1:
            names = list(dict.fromkeys(request if isinstance(request, str) else name for request in same_requests))
            fault = f"{name} is given more than once"
            if len(names) > 1:
                fault = f"{' and '.join(map(shown, names))} are one metric, {name}"
            raise MetricError(f"metrics must be a list of different metrics; {fault}")


def name_of(metric: Metric) -> str:
    """Return the name of a metric in tables; a coefficient with default options has its plain name.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> name_of(TauW()), name_of(TauW(n0=10))
    ('tau_w', 'TauW(n0=10)')
    """
    if isinstance(metric, Coefficient):
        return metric.name if metric == BY_NAME[metric.name] else repr(metric)
    return metric.name


def table_name(names: tuple[str, ...], metric: MetricLike) -> str:
    """Return which of the names in a table is that of a metric, given by any of its names or as a value.

    Raises
    ------
    OptionError
        The table lacks the metric.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> names = ("TauW(n0=10)", "ndcg@10")
    >>> table_name(names, TauW(n0=10)), table_name(names, "ndcg_cut_10")
    ('TauW(n0=10)', 'ndcg@10')
    """
    if not isinstance(metric, str) or metric not in names:
        with suppress(RankingError, MissingMeasuresError):
            name = name_of(as_metric(metric)).lower()
            metric = next((other for other in names if other.lower() == name), metric)
        check_choice("metric", metric, names)
    return str(metric)


def largest_difference(name: str) -> float:
    """Return the largest possible difference of two values of a metric, by its name in tables; inf if unknown.

    Examples
    --------
    >>> [largest_difference(name) for name in ("ndcg@10", "RR", "TauW(n0=10)", "NumRet")]
    [1.0, 1.0, 2.0, inf]
    """
    kind = name.lower().split("@")[0].split("(")[0]
    coefficients = {repr(coefficient).lower().split("(")[0] for coefficient in BY_NAME.values()}
    if kind in {"tau_ap", *BY_NAME, *coefficients}:
        return 2.0
    return 1.0 if kind in {*METRICS_BY_NAME, *METRICS_AT_K, *_IR_MEASURES_TO_1} else math.inf
