"""Prediction-powered means: human judgements of some queries combined with judgements by a program of all."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np

from rankcorr._checks import alpha_of, check_choice, checked_level, counted, offending, shown
from rankcorr._input.numbers import ROUNDING
from rankcorr._output.results import Result, TableResult, columns_of
from rankcorr._workers import Values
from rankcorr.errors import OptionError, QueryMismatchError
from rankcorr.evaluation._evaluate import Evaluation
from rankcorr.evaluation._metrics import MetricLike, table_name

LEAST_QUERIES: Final = 3  # with human judgements: a regression has two parameters, and its variance needs one more


@dataclass(frozen=True, eq=False)
class JudgedMean(Result):
    """A mean over queries as judged by people, estimated from people and a program.

    Attributes
    ----------
    mean, standard_error, low, high : float
        The combined estimate with its interval. The interval is unbounded if the values are equal and too few to bound
        the mean: fewer than six at level 0.95.
    people_mean, people_low, people_high : float
        The mean over the queries that people judged, with its interval.
    judge_mean : float
        The mean of the program's values over all queries.
    weight : float
        Weight of the program's values; 0 uses people alone.
    n_people, n_judge : int
        Number of queries that people judged, and that only the program judged.

    See Also
    --------
    JudgedMeans : Holds one for each run.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate, judged_means
    >>> qrels = {f"q{q}": {"a": 2, "b": q % 2, "c": 0} for q in range(6)}
    >>> runs = {"bm25": {query: {"b": 2.5, "a": 2.0, "c": 1.0} for query in qrels}}
    >>> some = {query: qrels[query] for query in ("q0", "q1", "q2", "q4")}
    >>> mean = judged_means(evaluate(some, runs, metrics="ndcg@2"), evaluate(qrels, runs, metrics="ndcg@2")).of("bm25")
    >>> round(mean.mean, 3), round(mean.people_mean, 3), mean.n_people, mean.n_judge
    (0.745, 0.688, 4, 2)
    """

    mean: float
    standard_error: float
    low: float
    high: float
    people_mean: float
    people_low: float
    people_high: float
    judge_mean: float
    weight: float
    n_people: int
    n_judge: int


def judged_mean(people: Values, judged: Values, others: Values, level: float) -> JudgedMean:
    """Return the mean over all queries.

    `people` and `judged` are the values by people and the program for the same queries; `others` are the program's
    values for all other queries. The estimate is mean(people) + w (mean(others) - mean(judged)). The weight w with the
    smallest variance is the slope of the regression of people's values on the program's, times the share of queries
    that people did not judge. This is the regression estimator of double sampling, and its variance includes that of
    the slope, which few queries estimate poorly (Cochran 1977, 12.6).
    """
    n, n_others = people.size, others.size
    everything = np.concatenate([judged, others])
    of_both = np.cov(people, judged)
    slope = float(of_both[0, 1] / of_both[1, 1]) if of_both[1, 1] > ROUNDING**2 else 0.0
    weight = slope * n_others / (n + n_others)
    mean = float(people.mean()) + weight * (float(others.mean() - judged.mean()) if n_others else 0.0)
    degrees = n - 2 if weight else n - 1  # the slope takes one degree of freedom
    centred = judged - judged.mean()
    residuals = people - people.mean() - weight * centred
    variance = float(residuals @ residuals) / degrees / n
    if weight:
        of_regression = people - people.mean() - slope * centred
        of_slope = float(of_regression @ of_regression) / degrees / float(centred @ centred)
        variance += of_slope * float(everything.mean() - judged.mean()) ** 2
        variance += weight**2 * float(np.var(everything, ddof=1)) / n_others
    half = _half_width(math.sqrt(variance), degrees, n, level)
    alone = _half_width(float(people.std(ddof=1)) / math.sqrt(n), n - 1, n, level)
    centre = float(people.mean())
    return JudgedMean(
        mean=mean,
        standard_error=math.sqrt(variance),
        low=mean - half,
        high=mean + half,
        people_mean=centre,
        people_low=centre - alone,
        people_high=centre + alone,
        judge_mean=float(everything.mean()),
        weight=weight,
        n_people=n,
        n_judge=n_others,
    )


def _half_width(error: float, degrees: int, n: int, level: float) -> float:
    """Return half the width of Student's interval; 0 or infinite for equal values, by the rule for means of runs."""
    from scipy.special import stdtrit

    if error <= ROUNDING:
        return 0.0 if 2.0 ** (1 - n) <= alpha_of(level) else math.inf
    return float(stdtrit(degrees, (1 + level) / 2)) * error


@dataclass(frozen=True, eq=False, repr=False)
class JudgedMeans(TableResult):
    """Means of runs as judged by people, estimated from people and a program.

    The table has a row for each run, the best first, with the attributes of `JudgedMean` except the standard error.

    Attributes
    ----------
    runs : tuple of str
    metric : str
    means : tuple of JudgedMean
        In the order of `runs`.
    level : float

    See Also
    --------
    judged_means : Returns it.

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate, judged_means
    >>> qrels = {f"q{q}": {"a": 2, "b": q % 2, "c": 0} for q in range(6)}
    >>> runs = {"bm25": {query: {"b": 2.5, "a": 2.0, "c": 1.0} for query in qrels}}
    >>> evaluation = evaluate(qrels, runs, metrics="ndcg@2")
    >>> judged_means(evaluation, evaluation)
    <JudgedMeans of 1 run, 6 queries: bm25 0.7453, 0.6138 to 0.8768>
    """

    _caption: ClassVar[str] = "Means as people would judge them"

    runs: tuple[str, ...]
    metric: str
    means: tuple[JudgedMean, ...]
    level: float
    _values: tuple[Values, Values, Values] = field(repr=False)

    def of(self, run: str) -> JudgedMean:
        """Return the mean of a run.

        Raises
        ------
        OptionError
            The run is unknown.
        """
        return self.means[self._place(run)]

    def difference(self, first: str, second: str) -> JudgedMean:
        """Return the mean difference of two runs over the queries with values for both.

        Choose the pair before you see the values: selecting the best of many pairs biases its difference.

        Raises
        ------
        OptionError
            A run is unknown or given twice, or fewer than three queries have values for both.
        """
        if first == second:
            raise OptionError(f"two different runs are needed; got {shown(first)} twice")
        one, two = self._place(first), self._place(second)
        people, judged, others = (columns[one] - columns[two] for columns in self._values)
        return _mean_of(people, judged, others, self.level, f"{first} and {second}")

    def _place(self, run: str) -> int:
        check_choice("run", run, self.runs)
        return self.runs.index(run)

    def to_dict(self) -> dict[str, Any]:
        """Return metric, level, and the rows of the table, ready for JSON."""
        return {"metric": self.metric, "level": self.level, "rows": self.table()}

    def _columns(self) -> dict[str, Sequence[Any]]:
        best_first = sorted(zip(self.runs, self.means, strict=True), key=lambda row: -row[1].mean)
        runs, means = zip(*best_first, strict=True)
        return {"run": runs, **columns_of(JudgedMean, means, omit=["standard_error"])}

    def __repr__(self) -> str:
        best = max(range(len(self.runs)), key=lambda place: self.means[place].mean)
        mean = self.means[best]
        n_queries = counted(mean.n_people + mean.n_judge, "query", "queries")
        return (
            f"<JudgedMeans of {counted(len(self.runs), 'run')}, {n_queries}: {self.runs[best]} {mean.mean:.4f}, "
            f"{mean.low:.4f} to {mean.high:.4f}>"
        )


def judged_means(
    people: Evaluation, judge: Evaluation, *, metric: MetricLike | None = None, level: float = 0.95
) -> JudgedMeans:
    """Estimate means of human judgements, from people's judgements of some queries and a program's of all.

    The judgements of a program are biased in unknown ways. The queries that people also judged allow the bias to be
    estimated and removed. A program that agrees with people makes the interval narrower, and one that does not makes it
    hardly wider. The weight of the program minimises the variance (Angelopoulos et al. 2023). The queries that people
    judged must be a random sample of all queries. Intervals use Student's t distribution.

    Parameters
    ----------
    people : Evaluation
        Runs evaluated with the relevance judgements of people, on some of the queries.
    judge : Evaluation
        The same runs evaluated with the judgements of the program, on these and on more queries.
    metric : str, coefficient or measure of ir_measures, optional
        The metric; may be omitted if there is only one.
    level : float, default 0.95
        Level of confidence of the intervals.

    Returns
    -------
    JudgedMeans

    Raises
    ------
    OptionError
        The two evaluations have different runs, one of them lacks the metric, the level is not between 0 and 1, or
        fewer than three queries have values of both.
    QueryMismatchError
        People judged a query that the program did not judge.

    See Also
    --------
    evaluate : Returns both evaluations.
    adaptive.prediction_powered : The same for strengths from votes.

    References
    ----------
    A. N. Angelopoulos, J. C. Duchi and T. Zrnic, PPI++: Efficient Prediction-Powered Inference, arXiv:2311.01453
    (2023).

    Examples
    --------
    >>> from rankcorr.evaluation import evaluate, judged_means
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> grades = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 3, 9))} for q in range(200)}
    >>> guesses = {q: {d: min(2, g + int(rng.random() < 0.2)) for d, g in docs.items()} for q, docs in grades.items()}
    >>> run = {q: {d: g + rng.normal() for d, g in docs.items()} for q, docs in grades.items()}
    >>> some = {q: grades[q] for q in list(grades)[:40]}
    >>> means = judged_means(evaluate(some, {"bm25": run}, metrics="ndcg@5"),
    ...                      evaluate(guesses, {"bm25": run}, metrics="ndcg@5"))
    >>> bm25, truth = means.of("bm25"), evaluate(grades, {"bm25": run}, metrics="ndcg@5").mean()
    >>> bm25.low < truth < bm25.high, bm25.high - bm25.low < bm25.people_high - bm25.people_low
    (True, True)
    """
    confidence = checked_level(level)
    for name, evaluation in (("people", people), ("judge", judge)):
        if not isinstance(evaluation, Evaluation):
            raise OptionError(f"{name} must be an Evaluation; got {shown(evaluation)}")
    if set(people.runs) != set(judge.runs):
        differing = sorted(set(people.runs) ^ set(judge.runs))
        raise OptionError(offending("people and the judge must have the same runs; one of them lacks", differing))
    if metric is not None:
        metric = table_name(people.metrics, metric)
    elif len(people.metrics) == 1:
        metric = people.metrics[0]
    place_of: dict[Hashable, int] = {query: place for place, query in enumerate(judge.queries)}
    if unknown := [query for query in people.queries if query not in place_of]:
        raise QueryMismatchError(offending("the judge has no values for queries that people judged", unknown))
    labelled = np.array([place_of[query] for query in people.queries], np.intp)
    rest = np.setdiff1d(np.arange(len(judge.queries)), labelled)
    of_people = np.stack([people.of(metric, run) for run in people.runs])
    of_judge = np.stack([judge.of(metric, run) for run in people.runs])
    means = tuple(
        _mean_of(of_people[place], of_judge[place, labelled], of_judge[place, rest], confidence, run)
        for place, run in enumerate(people.runs)
    )
    values = of_people, of_judge[:, labelled], of_judge[:, rest]
    return JudgedMeans(people.runs, str(metric), means, confidence, values)


def _mean_of(people: Values, judged: Values, others: Values, level: float, noun: str) -> JudgedMean:
    """Return the mean over the queries with a value."""
    is_known = ~(np.isnan(people) | np.isnan(judged))
    if is_known.sum() < LEAST_QUERIES:
        raise OptionError(
            f"{noun}: {LEAST_QUERIES} queries with values of people and of the judge are needed; got "
            f"{int(is_known.sum())}"
        )
    return judged_mean(people[is_known], judged[is_known], others[~np.isnan(others)], level)
