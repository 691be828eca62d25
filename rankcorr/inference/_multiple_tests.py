"""Corrections for multiple tests, and the groups and rank sets that follow from tests of all pairs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import alpha_of, checked_count, checked_level, counted, offending
from rankcorr._input.frames import PLAIN, has_names, labelled_values, python_values
from rankcorr._input.frames import columns_of as frame_columns
from rankcorr._input.numbers import DECIMALS, ROUNDING
from rankcorr._input.scores import ScoresLike, checked_numbers, midranks, split_labels
from rankcorr._output.results import TableResult, columns_of, read_only
from rankcorr._output.tables import TableNotes
from rankcorr._ranking import check_names
from rankcorr._workers import Draws, Progress, Values
from rankcorr.errors import DimensionError, LabelMismatchError, LengthError, NonNumericError, OptionError

TESTED: Final = ("pvalue", "corrected_pvalue")
MOST_PAIRS: Final = 64  # kept in memory at a time, with all their exchanges
_SYMMETRY_ERROR: Final = 1e-8  # of a covariance matrix, relative to its largest entry
_LARGEST_EXPONENT: Final = 1_000  # of two; 20 times such a number is still a float


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Correct p-values by Holm's method, so that each may be compared with the level alpha.

    The p-values are put in ascending order. The k-th of m becomes the largest of (m - j + 1) p_j over j <= k, and at
    most 1. The probability that any true null hypothesis is rejected at level alpha is then at most alpha, whatever the
    dependence between the tests.

    Parameters
    ----------
    pvalues : array_like of shape (n_tests,)
        nan marks a test without a result: it stays nan, and does not count among the m.

    Returns
    -------
    ndarray of float64, shape (n_tests,)
        In the order of `pvalues`.

    Raises
    ------
    RankingError
        `OptionError` for a value outside [0, 1], `NonNumericError`, `DimensionError`.

    See Also
    --------
    compare_many : Tests of many pairs, corrected by this method.
    rankcorr.evaluation.corrected_together : The same for comparisons of runs.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> from rankcorr import holm
    >>> holm([0.01, 0.04, 0.03, float("nan")])
    array([0.03, 0.06, 0.06,  nan])
    """
    try:
        array = np.asarray(pvalues)
    except ValueError as error:  # rows of different lengths
        raise DimensionError("p-values must have one dimension; their rows differ in length") from error
    if array.ndim != 1:
        raise DimensionError(f"p-values must have one dimension; got an array of shape {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise NonNumericError(f"every p-value must be a real number; got an array of {array.dtype}")
    array = array.astype(np.float64)
    wrong = np.flatnonzero((array < 0) | (array > 1))
    if wrong.size:
        raise OptionError(f"a p-value must be between 0 and 1, or nan; pvalues[{wrong[0]}] is {array[wrong[0]]}")
    corrected = np.full(array.size, np.nan)
    order = np.argsort(array)[: np.count_nonzero(~np.isnan(array))]  # nan sorts last
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * array[order]))
    return corrected


def step_down(
    statistics: Values, draw_statistics: Callable[[NDArray[np.intp]], Values], *, is_exact: bool = False
) -> Values:
    """Return p-values of several pairs, corrected by Westfall and Young's step-down method.

    The largest statistic is compared with the largest of all pairs in each exchange, the next one with the largest of
    all pairs except the first, and so on. A smaller statistic never gets a smaller p-value.

    Parameters
    ----------
    statistics : ndarray of float64, shape (n_pairs,)
        Statistic of each pair; larger is more extreme. nan has the p-value 1.
    draw_statistics : callable
        Takes the numbers of some pairs, and returns their statistics after each exchange, shape (n_pairs, n_scales,
        n_exchanges); nan counts as the most extreme.
    is_exact : bool
        Whether all exchanges were enumerated. If they were drawn, the observed statistics count as one of them.

    Returns
    -------
    ndarray of float64, shape (n_pairs,)
        The p-value on the scale where it is largest.

    References
    ----------
    P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley 1993, algorithm 2.8.

    J. P. Romano and M. Wolf, Exact and Approximate Stepdown Methods for Multiple Hypothesis Testing, Journal of the
    American Statistical Association 100 (2005).
    """
    observed = np.nan_to_num(statistics, nan=0.0)
    pvalues, order, largest = np.ones(observed.size), np.argsort(observed, kind="stable"), None
    for start in range(0, order.size, MOST_PAIRS):
        part = order[start : start + MOST_PAIRS]
        for pair, values in zip(part.tolist(), draw_statistics(part), strict=True):
            largest = values if largest is None else np.maximum(largest, values, out=values)  # nan stays nan
            is_smaller = largest < observed[pair] - ROUNDING
            count = is_smaller.shape[1] - min(map(np.count_nonzero, is_smaller))
            pvalues[pair] = count / is_smaller.shape[1] if is_exact else (1 + count) / (1 + is_smaller.shape[1])
    pvalues[order] = np.maximum.accumulate(pvalues[order][::-1])[::-1]
    return pvalues


class PairTests(NamedTuple):
    """Results of the tests, for systems from best to worst.

    `pvalues` are those of the best system against each system, nan for itself. `corrected`, shape
    (n_systems, n_systems), are those of all pairs, corrected for all pairs. Groups are numbered from 1. `least_ranks`
    and `largest_ranks` bound the ranks that the tests of all pairs do not exclude.
    """

    pvalues: Values
    corrected: Values
    groups: list[int]
    least_ranks: list[int]
    largest_ranks: list[int]

    def row_fields(self, values: Values) -> list[dict[str, Any]]:
        """Return the ranks, group and p-values of each system by field name, from best to worst.

        `values` are the values that the systems are ranked by. Systems with nan come last and were not tested.
        """
        n_ranked = len(self.groups)
        ranks = midranks(np.round(values[:n_ranked], DECIMALS), descending=True)[0].tolist() if n_ranked else []
        of_best = self.corrected[0].tolist() if n_ranked else []
        columns = (self.groups, self.least_ranks, self.largest_ranks, self.pvalues.tolist(), of_best)
        unranked = (math.nan, None, None, None, math.nan, math.nan)
        rows = [*zip(ranks, *columns, strict=True), *[unranked] * (len(values) - n_ranked)]
        names = ("rank", "group", "least_rank", "largest_rank", *TESTED)
        return [dict(zip(names, row, strict=True)) for row in rows]


def judge_pairs(pvalues: Values, corrected: Values, leads: Values, level: float) -> PairTests:
    """Return groups and possible ranks of systems from best to worst.

    A system is significantly better than another if it leads and their corrected p-value is at most 1 - level. The
    ranks of a system run from 1 plus the number of significantly better systems to the number of systems minus the
    number of significantly worse ones. A group ends before the first system such that it and all later ones are
    significantly worse than the first of the group. For each system of group g, at least g - 1 systems are thus
    significantly better, so groups and ranks cannot contradict each other.

    Parameters
    ----------
    pvalues : ndarray of float64, shape (n_systems,)
        Of the best system against each.
    corrected, leads : ndarray of float64, shape (n_systems, n_systems)
        P-value of each pair, and the lead of the first, a row, over the second.
    level : float
        Level of confidence.
    """
    n_systems = len(pvalues)
    is_better = (corrected <= alpha_of(level)) & (leads > 0)
    # Whether the first system of a pair is significantly better than the second and all below it.
    is_apart = np.logical_and.accumulate(is_better[:, ::-1], axis=1)[:, ::-1]
    groups, leader = [1] * min(1, n_systems), 0
    for system in range(1, n_systems):
        if is_apart[leader, system]:
            leader = system
        groups.append(groups[-1] + (leader == system))
    least, largest = 1 + is_better.sum(axis=0), n_systems - is_better.sum(axis=1)
    return PairTests(pvalues, corrected, groups, least.tolist(), largest.tolist())


@dataclass(frozen=True)
class RankSet:
    """The rank set of one estimate.

    Attributes
    ----------
    rank : float
        Rank of the estimate: 1 is the largest; equal ones share their mid-rank.
    group : int
        Number of its group, from 1.
    name : hashable
        Its name, or its position.
    estimate : float
    least_rank, largest_rank : int
        Ends of the simultaneous set.
    marginal_least_rank, marginal_largest_rank : int
        Ends of the marginal set, which is valid for this estimate alone.

    See Also
    --------
    RankSets : Lists them as `rows`.

    Examples
    --------
    >>> from rankcorr import rank_sets
    >>> best = rank_sets({"a": 10.0, "b": 9.5, "c": 2.0}, standard_errors=[1.0, 1.0, 1.0]).rows[0]
    >>> best.name, best.rank, (best.least_rank, best.largest_rank)
    ('a', 1.0, (1, 2))
    """

    rank: float
    group: int
    name: Hashable
    estimate: float
    least_rank: int
    largest_rank: int
    marginal_least_rank: int
    marginal_largest_rank: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RankSets(TableResult):
    """Confidence sets for the ranks of estimates.

    Arrays are in the order of the estimates, and read-only.

    Attributes
    ----------
    names : tuple
        Names of the estimates, or their positions.
    estimates, ranks : ndarray of float64, shape (n_estimates,)
        The estimates and their ranks: 1 is the largest; equal ones share their mid-rank.
    least_ranks, largest_ranks : ndarray of int64, shape (n_estimates,)
        Ends of the simultaneous sets: with probability `level`, all sets contain their true ranks.
    marginal_least_ranks, marginal_largest_ranks : ndarray of int64, shape (n_estimates,)
        Ends of the marginal sets: each set on its own contains its true rank with probability `level`.
    groups : ndarray of int64, shape (n_estimates,)
        Number of the group of each estimate, from the same tests as the simultaneous sets: a group ends before the
        first estimate such that it and all smaller ones are significantly below the first of the group.
    level : float
    n_resamples, seed : int

    See Also
    --------
    rank_sets : Returns it.
    RankSet : The type of its rows.

    Examples
    --------
    >>> from rankcorr import rank_sets
    >>> sets = rank_sets({"a": 10.0, "b": 9.5, "c": 2.0}, standard_errors=[1.0, 1.0, 1.0])
    >>> sets
    <RankSets of 3 estimates, level 0.95: a 1-2, b 1-2, c 3>
    >>> sets.best(1), sets.groups.tolist()
    (('a', 'b'), [1, 1, 2])
    """

    names: tuple[Any, ...]
    estimates: Values
    ranks: Values
    least_ranks: NDArray[np.int64]
    largest_ranks: NDArray[np.int64]
    marginal_least_ranks: NDArray[np.int64]
    marginal_largest_ranks: NDArray[np.int64]
    groups: NDArray[np.int64]
    level: float
    n_resamples: int
    seed: int

    @cached_property
    def rows(self) -> tuple[RankSet, ...]:
        """The rank set of each estimate, the largest estimate first."""
        sets = (self.least_ranks, self.largest_ranks, self.marginal_least_ranks, self.marginal_largest_ranks)
        columns = [column.tolist() for column in (self.estimates, *sets)]
        rows = zip(self.ranks.tolist(), self.groups.tolist(), self.names, *columns, strict=True)
        return tuple(RankSet(*row) for row in sorted(rows, key=lambda row: row[0]))

    def best(self, tau: int) -> tuple[Any, ...]:
        """Return the names of estimates that may be among the `tau` best.

        With probability `level`, they include all that truly are.

        Raises
        ------
        OptionError
            tau is not a positive whole number.
        """
        number = checked_count(tau, "tau")
        return tuple(name for name, least in zip(self.names, self.least_ranks.tolist(), strict=True) if least <= number)

    def _columns(self) -> dict[str, Any]:
        return columns_of(RankSet, self.rows)

    def _notes(self) -> TableNotes:
        return TableNotes(f"Estimates and the ranks that they leave possible, at level {self.level:g}.")

    def __repr__(self) -> str:
        rows = zip(self.names, self.least_ranks.tolist(), self.largest_ranks.tolist(), strict=True)
        shown_rows = [f"{name} {least}" + f"-{largest}" * (largest > least) for name, least, largest in rows]
        sets = ", ".join([*shown_rows[:5], *["..."] * (len(shown_rows) > 5)])
        return f"<RankSets of {len(self.names)} estimates, level {self.level:g}: {sets}>"


def rank_sets(
    estimates: ScoresLike,
    *,
    standard_errors: ScoresLike | None = None,
    covariance: ArrayLike | None = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> RankSets:
    """Compute confidence sets for the ranks of any estimates, given their standard errors.

    Each difference is divided by its standard error. The largest of these ratios is compared with the largest of the
    same number of ratios of normal noise, then the largest of the remaining ones, and so on. The least rank is 1 plus
    the number of estimates that are significantly larger. The largest rank is the number of estimates minus the number
    that are significantly smaller. The estimates must be approximately normally distributed. Two of them are equal if
    they differ by at most 1e-12 of the larger one.

    Parameters
    ----------
    estimates : mapping of name to number, series, or array_like of shape (n_estimates,)
        Larger is better: change the sign if smaller is better.
    standard_errors : mapping of name to number, or array_like of shape (n_estimates,), optional
        Standard errors of independent estimates. The names of a mapping or series must be those of the estimates.
    covariance : array_like of shape (n_estimates, n_estimates), optional
        Covariance matrix of the estimates, if they are not independent. Give this or `standard_errors`. If the
        estimates have names, a data frame must have them too, in any order. The labels 0, 1, ... that pandas sets by
        default are no names, here and of standard errors, unless the estimates have them.
    level : float, default 0.95
        Level of confidence.
    n_resamples : int, default 10,000
        Number of draws of the noise.
    seed : int, default 0
    progress : callable, optional
        Called with 0 many times; an exception that it raises stops the work.

    Returns
    -------
    RankSets

    Raises
    ------
    RankingError
        `OptionError` unless either standard errors or a valid covariance matrix are given; `LengthError`,
        `LabelMismatchError`, `NonNumericError`, `MissingValueError`.

    See Also
    --------
    leaderboard : Rank sets of systems, from their scores of items.
    rankcorr.evaluation.compare_runs : Rank sets of runs, from their values of queries.

    References
    ----------
    M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, Inference for Ranks with Applications to Mobility across
    Neighbourhoods and Academic Achievement across Countries, Review of Economic Studies 91 (2024).

    Examples
    --------
    >>> from rankcorr import rank_sets
    >>> print(rank_sets({"a": 10.0, "b": 9.0, "c": 2.0}, standard_errors={"a": 1.0, "b": 2.0, "c": 0.5}).to_markdown())
    | rank | group | name | estimate | least_rank | largest_rank | marginal_least_rank | marginal_largest_rank |
    | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |
    | 1 | 1 | a | 10 | 1 | 2 | 1 | 2 |
    | 2 | 1 | b | 9 | 1 | 2 | 1 | 2 |
    | 3 | 2 | c | 2 | 3 | 3 | 3 | 3 |
    """
    labels, numbers = split_labels(estimates, "estimate")
    values = _checked_finite(numbers, "estimate", labels)
    names: tuple[Hashable, ...] = tuple(range(values.size)) if labels is None else tuple(labels)
    check_names(names, "estimate")
    if (standard_errors is None) == (covariance is None):
        raise OptionError("give either standard_errors or covariance")
    root = (
        _root_of_errors(standard_errors, names)
        if covariance is None
        else _root_of_covariance(_aligned_covariance(covariance, names), values.size)
    )
    confidence = checked_level(level)
    draws = Draws.checked(n_resamples, seed, 1, progress)
    draws.check_reach(confidence, 1)
    # Scaled so that no difference overflows; a power of two changes no digit, and small numbers must not vanish.
    exponent = max(0, int(np.frexp(max(np.abs(values).max(), np.abs(root).max()))[1]) - _LARGEST_EXPONENT)
    scaled, root = np.ldexp(values, -exponent), np.ldexp(root, -exponent)
    noise = np.random.default_rng(draws.seed).standard_normal((draws.n_resamples, values.size)) @ root.T
    noise = np.ascontiguousarray(noise.T)
    spread = np.array([np.hypot.reduce(root - row, axis=1) for row in root])
    order = np.argsort(-values, kind="stable")
    ranks, _, _ = midranks(values, descending=True)
    least, largest, groups = (np.empty(values.size, np.int64) for _ in range(3))
    leads = np.subtract.outer(scaled, scaled)
    sizes = np.abs(scaled)
    is_equal = np.abs(leads) <= ROUNDING * np.maximum.outer(sizes, sizes)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # infinite without standard errors
        statistics = np.where(is_equal, 0.0, leads / spread)
    places = np.arange(values.size)
    every_pair = np.nonzero(~np.eye(values.size, dtype=np.bool_))
    corrected = np.full(leads.shape, math.nan)
    corrected[every_pair] = _step_down_pvalues(statistics, noise, spread, every_pair, draws.progress)
    sorted_pairs = np.ix_(order, order)
    judged = judge_pairs(corrected[order[0], order], corrected[sorted_pairs], leads[sorted_pairs], confidence)
    least[order], largest[order], groups[order] = judged.least_ranks, judged.largest_ranks, judged.groups
    marginal_least, marginal_largest = np.empty_like(least), np.empty_like(least)
    for place in places.tolist():
        others = np.delete(places, place)
        alone = np.full(others.size, place)
        pairs = np.concatenate([others, alone]), np.concatenate([alone, others])
        is_significant = _step_down_pvalues(statistics, noise, spread, pairs, draws.progress) <= alpha_of(confidence)
        is_significant &= leads[pairs] > 0
        above, below = np.split(is_significant, 2)
        marginal_least[place], marginal_largest[place] = 1 + above.sum(), values.size - below.sum()
    arrays = (values, ranks, least, largest, marginal_least, marginal_largest, groups)
    fields = ("estimates", "ranks", "least_ranks", "largest_ranks", "marginal_least_ranks", "marginal_largest_ranks")
    content: dict[str, Any] = dict(zip((*fields, "groups"), map(read_only, arrays), strict=True))
    return RankSets(names=names, level=confidence, n_resamples=draws.n_resamples, seed=draws.seed, **content)


def _step_down_pvalues(
    statistics: Values, noise: Values, spread: Values, pairs: tuple[NDArray[Any], ...], report: Progress
) -> Values:
    """Return p-values of the hypotheses that the first of each pair is not larger, with the step-down correction."""
    first, second = pairs

    def draw_ratios(part: NDArray[np.intp]) -> Values:
        report(0)
        one, other = first[part], second[part]
        errors = spread[one, other][:, np.newaxis]
        ratios = noise[one]
        ratios -= noise[other]
        ratios /= np.where(errors > 0, errors, math.inf)
        return np.asarray(ratios[:, np.newaxis])

    return step_down(statistics[pairs], draw_ratios)


def _checked_finite(numbers: ArrayLike, noun: str, labels: Sequence[Hashable] | None) -> Values:
    values = checked_numbers(numbers, noun=noun, n_dimensions=1, labels=labels).astype(np.float64)
    if not np.isfinite(values).all():
        names = range(values.size) if labels is None else labels
        wrong = [name for name, value in zip(names, values.tolist(), strict=True) if not math.isfinite(value)]
        raise NonNumericError(offending(f"every {noun} must be finite; not those of", wrong))
    return values


def _root_of_errors(errors: Any, names: tuple[Hashable, ...]) -> Values:
    """Return a square root of the covariance matrix of independent estimates."""
    labels, numbers = split_labels(errors, "standard error")
    is_named = labels is not None and (isinstance(errors, Mapping) or has_names(labels, names))
    if labels is not None and is_named and names != tuple(range(len(names))):
        _check_same_names(names, labels, "standard errors")
        by_name = dict(zip(labels, list(np.asarray(numbers, dtype=object)), strict=True))
        numbers = [by_name[name] for name in names]
    values = _checked_finite(numbers, "standard error", names)
    if values.size != len(names):
        raise LengthError(f"every estimate needs a standard error; got {values.size} for {len(names)} estimates")
    if negative := [name for name, value in zip(names, values.tolist(), strict=True) if value < 0]:
        raise OptionError(offending("every standard error must be 0 or more; not those of", negative))
    return np.diag(values)


def _check_same_names(names: tuple[Hashable, ...], labels: Sequence[Hashable], role: str) -> None:
    if different := set(labels) ^ set(names):
        mismatches = [name for name in (*names, *labels) if name in different]
        raise LabelMismatchError(offending(f"estimates and {role} must have the same names", mismatches))


def _aligned_covariance(covariance: Any, names: tuple[Hashable, ...]) -> ArrayLike:
    """Return a data frame as rows in the order of the estimates, if both have names; anything else unchanged.

    A matrix of xarray with coordinates is read as a data frame of pandas. Rows without names have the order of the
    columns, and columns without names that of the rows.
    """
    xarray = sys.modules.get("xarray")
    if xarray is not None and isinstance(covariance, xarray.DataArray) and covariance.indexes:
        covariance = covariance.to_pandas()
    columns = None if isinstance(covariance, PLAIN) else frame_columns(covariance)
    if not columns or names == tuple(range(len(names))):
        return cast(ArrayLike, covariance)
    values = [list(python_values(column)) for column in columns.values()]
    rows = labelled_values(next(iter(columns.values()))) or range(len(values[0]))
    axes = [list(columns), list(rows)]
    named_axes = [labels for labels in axes if has_names(labels, names)]
    for labels in named_axes:
        _check_same_names(names, labels, "the covariance matrix")
    if not named_axes or len(axes[0]) != len(axes[1]):
        return cast(ArrayLike, covariance)  # which is refused later if it is not square
    order_of_columns, order_of_rows = (labels if labels in named_axes else named_axes[0] for labels in axes)
    column_of, row_of = (
        {label: place for place, label in enumerate(order)} for order in (order_of_columns, order_of_rows)
    )
    return [[values[column_of[column]][row_of[row]] for column in names] for row in names]


def _root_of_covariance(covariance: ArrayLike, number: int) -> Values:
    """Return a square root of a covariance matrix."""
    expected = f"the covariance matrix of {number} estimates must have {number} rows and columns"
    if isinstance(covariance, list) and len(covariance) != number:  # with 1 row it would be taken for a flat list
        raise LengthError(f"{expected}; got {counted(len(covariance), 'row')}")
    matrix = checked_numbers(covariance, noun="covariance", n_dimensions=2).astype(np.float64)
    if matrix.shape != (number, number):
        raise LengthError(f"{expected}; got shape {matrix.shape}")
    largest = float(np.abs(matrix).max())
    if not math.isfinite(largest):
        raise OptionError("a covariance matrix must be finite and symmetric")
    half = math.frexp(largest)[1] // 2  # 4^half is about the largest number; its square root is a power of two too
    matrix = np.ldexp(matrix, -2 * half)
    most_error = _SYMMETRY_ERROR * np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > most_error:
        raise OptionError("a covariance matrix must be finite and symmetric")
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values.min() < -most_error:
        raise OptionError(
            f"a covariance matrix must not have a negative eigenvalue; got {math.ldexp(values.min(), 2 * half):.4g}"
        )
    return np.asarray(np.ldexp(vectors * np.sqrt(np.maximum(values, 0.0)), half))
