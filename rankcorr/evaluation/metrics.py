"""Metrics by name or value -> what computes a value for each query."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rankcorr.checks import check_choice, checked_level, shown, whole_number
from rankcorr.coefficients import BY_NAME, Coefficient, as_coefficient
from rankcorr.errors import OptionError
from rankcorr.evaluation.errors import MetricError, MissingMeasuresError
from rankcorr.measures.ap_correlation import AP_TIES, ApTies
from rankcorr.measures.overlap import OVERLAP_TIES, OverlapTies
from rankcorr.workers import Progress


@dataclass(frozen=True)
class AveragePrecision:
    """Average precision as trec_eval computes it: relevance of at least 1 counts, and ties go by descending id.

    `unjudged` and `unretrieved` do not change it. A query without a relevant document has 0.
    """

    @property
    def name(self) -> str:
        """Name in tables."""
        return "ap"


@dataclass(frozen=True)
class PrecisionAt:
    """Precision among the first k documents as trec_eval computes it; ties and relevance as in `AveragePrecision`.

    Raises
    ------
    OptionError
        k is not a positive whole number.
    """

    k: int

    def __post_init__(self) -> None:
        number = whole_number(self.k)
        if number is None or number < 1:
            raise OptionError(f"k must be a positive whole number; got {shown(self.k)}")

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"p@{self.k}"


@dataclass(frozen=True)
class TauAP:
    """`rankcorr.measures.tau_ap` of gold and run, over the documents that the coefficients compare."""

    ties: ApTies = "a"

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, AP_TIES)

    @property
    def name(self) -> str:
        """Name in tables."""
        return "tau_ap" if self.ties == "a" else f"tau_ap({self.ties})"


@dataclass(frozen=True)
class RBO:
    """`rankcorr.measures.rank_biased_overlap`, extrapolated, of the judged documents and those that the run retrieved.

    The two lists are taken as they are: `unjudged` and `unretrieved` do not change it.
    """

    p: float = 0.9
    ties: OverlapTies = "w"

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, OVERLAP_TIES)
        checked_level(self.p, "p")

    @property
    def name(self) -> str:
        """Name in tables."""
        options = [f"p={self.p:g}"] * (self.p != 0.9) + [self.ties] * (self.ties != "w")
        return f"rbo({', '.join(options)})" if options else "rbo"


@dataclass(frozen=True)
class Familiar:
    """A measure of ir_measures."""

    measure: Any
    name: str


Metric: TypeAlias = Coefficient | AveragePrecision | PrecisionAt | TauAP | RBO | Familiar
MetricLike: TypeAlias = Metric | str | Any

OWN: Final[dict[str, Metric]] = {"ap": AveragePrecision(), "map": AveragePrecision(), "tau_ap": TauAP(), "rbo": RBO()}


def as_metric(metric: MetricLike) -> Metric:
    """Return a metric as it is, and find that of a name.

    Names are those of the coefficients, "ap", "p@10" with any depth, "tau_ap", "rbo", and those of ir_measures in upper
    or lower case, such as "ndcg@10", "rr", "r@100", "err@20".

    Raises
    ------
    MetricError
        The name is unknown.
    MissingMeasuresError
        It is none of ours, and ir_measures is not installed.

    Examples
    --------
    >>> as_metric("tau_w"), as_metric("P@10")
    (TauW(), PrecisionAt(k=10))
    """
    if isinstance(metric, Coefficient | AveragePrecision | PrecisionAt | TauAP | RBO | Familiar):
        return metric
    if isinstance(metric, str):
        lower = metric.strip().lower()
        if lower in BY_NAME:
            return as_coefficient(lower)  # type: ignore[arg-type]
        if lower in OWN:
            return OWN[lower]
        if found := re.fullmatch(r"p(?:recision)?@([0-9]{1,9})", lower):
            return PrecisionAt(int(found[1]))
        return _familiar(metric.strip())
    if type(metric).__module__.partition(".")[0] == "ir_measures":
        return Familiar(metric, str(metric))
    raise MetricError(f"a metric is a name, a coefficient or a measure of ir_measures; got {shown(metric)}")


def as_metrics(metrics: Sequence[MetricLike] | MetricLike) -> dict[str, Metric]:
    """Metrics by the name that tables show; a single one may come without a list.

    Raises
    ------
    MetricError
        None, or one more than once.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> list(as_metrics(["tau_w", TauW(n0=10), "ap"]))
    ['tau_w', 'TauW(n0=10)', 'ap']
    """
    given = list(metrics) if isinstance(metrics, list | tuple) else [metrics]
    found = [as_metric(metric) for metric in given]
    if not found:
        raise MetricError(f"metrics must be a list of different metrics; got {shown(metrics)}")
    check_different(found, given)
    return {name_of(metric): metric for metric in found}


def check_different(metrics: Sequence[Metric], given: Sequence[object]) -> None:
    """Refuse a metric that comes twice; `given` is what each was asked for by, which may be two names of one.

    Raises
    ------
    MetricError
        Naming both.
    """
    by_name: dict[str, list[object]] = {}
    for metric, asked in zip(metrics, given, strict=True):
        by_name.setdefault(name_of(metric), []).append(asked)
    for name, asked_by in by_name.items():
        if len(asked_by) > 1:
            names = list(dict.fromkeys(each if isinstance(each, str) else name for each in asked_by))
            again = (
                f"{' and '.join(map(shown, names))} are one metric, {name}"
                if len(names) > 1
                else f"{name} comes more than once"
            )
            raise MetricError(f"metrics must be a list of different metrics; {again}")


def name_of(metric: Metric) -> str:
    """What tables call a metric: a coefficient with its default options by its plain name.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> name_of(TauW()), name_of(TauW(n0=10))
    ('tau_w', 'TauW(n0=10)')
    """
    if isinstance(metric, Coefficient):
        return metric.name if metric == BY_NAME[metric.name] else repr(metric)
    return metric.name


def ir_measures_package() -> Any:
    """Import ir_measures, or say what to install."""
    try:
        import ir_measures
    except ImportError as error:
        raise MissingMeasuresError(
            "nDCG and the other familiar measures need ir_measures: pip install 'rankcorr[trec]'"
        ) from error
    return ir_measures


def _familiar(name: str) -> Familiar:
    """A measure of ir_measures by its name, in upper or lower case."""
    package = ir_measures_package()
    head, known = re.split(r"[@(]", name, maxsplit=1)[0], package.measures.registry
    exact = known if head in known else {each.lower(): each for each in known}
    if head not in known and head.lower() in exact:
        head = exact[head.lower()]
    try:
        return Familiar(package.parse_measure(head + name[len(head) :]), name.lower())
    except (NameError, ValueError, SyntaxError, TypeError, AssertionError) as error:
        raise MetricError(
            f"{shown(name)} is no metric: tau_w, rho_w, tau, rho, ap, p@K, tau_ap, rbo, or one of ir_measures, such as "
            "ndcg@10"
        ) from error


def familiar_values(
    metrics: Sequence[Familiar],
    qrels: dict[str, dict[str, int]],
    run: dict[str, dict[str, float]],
    progress: Progress | None = None,
) -> dict[str, dict[Hashable, float]]:
    """Value of each query by each metric, by the names of the metrics; ids are text.

    Raises
    ------
    MetricError
        ir_measures cannot compute one of them here.
    """
    names = {metric.measure: metric.name for metric in metrics}
    values: dict[str, dict[Hashable, float]] = {metric.name: {} for metric in metrics}
    for each in _calculated(list(names), ", ".join(values), qrels, run):
        values[names[each.measure]][each.query_id] = float(each.value)
        if progress is not None:
            progress(1)
    return values


def _calculated(measures: list[Any], names: str, *judged: Any) -> Iterator[Any]:
    """Values of ir_measures, one after the other; an error of whoever takes them is none of ir_measures."""
    try:
        yield from ir_measures_package().iter_calc(measures, *judged)
    except (ValueError, RuntimeError, TypeError) as error:
        raise MetricError(f"ir_measures cannot compute {names}: {error}") from error
