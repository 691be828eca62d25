"""Estimates with standard errors -> the ranks that each may have: tests of all pairs, stepwise."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import check_unique, checked_count, checked_level, offending, shown
from rankcorr._input.numbers import ROUNDING
from rankcorr._input.scores import ScoresLike, checked_numbers, midranks, split_labels
from rankcorr._results import TableNotes, TableResult, read_only
from rankcorr._workers import Progress
from rankcorr.errors import DuplicateLabelError, LabelMismatchError, LengthError, NonNumericError, OptionError
from rankcorr.inference._conventions import alpha_of
from rankcorr.inference._multiple_tests import judge_pairs, step_down
from rankcorr.inference._resampling import Draws, Values

MOST_SYMMETRY_ERROR: Final = 1e-8


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RankSets(TableResult):
    """The ranks that estimates with errors leave possible.

    Arrays are in the order of the estimates, and read-only.

    Attributes
    ----------
    names : tuple
        Names of the estimates, or their positions.
    estimates, ranks : ndarray of float64, shape (n_estimates,)
        Ranks of the estimates: 1 is the largest; equal ones share their mid-rank.
    least_ranks, largest_ranks : ndarray of int64, shape (n_estimates,)
        Simultaneous sets: all of them hold the true ranks together with the probability `level`.
    marginal_least_ranks, marginal_largest_ranks : ndarray of int64, shape (n_estimates,)
        Marginal sets: each alone holds its true rank with the probability `level`.
    groups : ndarray of int64, shape (n_estimates,)
        From the same tests as the simultaneous sets: a group ends before the first estimate from which on all are
        significantly below the group's first.
    level : float
    n_resamples, seed : int

    See Also
    --------
    rank_sets : Returns it.

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

    def best(self, tau: int) -> tuple[Any, ...]:
        """Names that may be among the `tau` best: with the probability `level`, the true ones are all among them.

        Raises
        ------
        OptionError
            tau is not a positive whole number.
        """
        number = checked_count(tau, "tau")
        return tuple(name for name, least in zip(self.names, self.least_ranks.tolist(), strict=True) if least <= number)

    def _columns(self) -> dict[str, Any]:
        order = np.argsort(self.ranks, kind="stable")
        columns = ("ranks", "least_ranks", "largest_ranks", "marginal_least_ranks", "marginal_largest_ranks")
        table: dict[str, Any] = {
            "rank": self.ranks[order].tolist(),
            "group": self.groups[order].tolist(),
            "name": [self.names[place] for place in order.tolist()],
            "estimate": self.estimates[order].tolist(),
        }
        return table | {column.removesuffix("s"): getattr(self, column)[order].tolist() for column in columns[1:]}

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
    """Return the ranks that estimates may have, given their standard errors: for numbers that come from elsewhere.

    Each difference is divided by its standard error, and the largest of these ratios is compared with the largest of
    the same number of differences of normal noise; then the largest of the remaining ones, and so on. The least rank is
    1 plus the number of estimates that are significantly larger, and the largest rank the number of all less those that
    are significantly smaller. The estimates must be close to normally distributed.

    Parameters
    ----------
    estimates : mapping of name to number, series, or array_like of shape (n_estimates,)
        Larger is better: turn the sign where smaller is better.
    standard_errors : mapping of name to number, or array_like of shape (n_estimates,), optional
        Of independent estimates. A mapping has the names of the estimates.
    covariance : array_like of shape (n_estimates, n_estimates), optional
        Covariance matrix of the estimates, if they depend on each other. One of the two is needed.
    level : float, default 0.95
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
        `OptionError` unless there is one of standard errors and covariance, and if it is not a covariance matrix;
        `LengthError`, `LabelMismatchError`, `NonNumericError`, `MissingValueError`.

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
    values = _finite(numbers, "estimate", labels)
    names: tuple[Hashable, ...] = tuple(range(values.size)) if labels is None else tuple(labels)
    check_unique(names, "names of estimates", DuplicateLabelError)
    if (standard_errors is None) == (covariance is None):
        raise OptionError("give either standard_errors or covariance")
    root = (
        _root_of_errors(standard_errors, names) if covariance is None else _root_of_covariance(covariance, values.size)
    )
    confidence = checked_level(level)
    draws = Draws.checked(n_resamples, seed, 1, progress)
    if 1 / (1 + draws.n_resamples) > alpha_of(confidence):
        raise OptionError(
            f"n_resamples must be at least {math.ceil(1 / alpha_of(confidence) - 1e-9) - 1:,} at level {confidence:g}, "
            f"or no test could tell two estimates apart; got {draws.n_resamples:,}"
        )
    noise = np.random.default_rng(draws.seed).standard_normal((draws.n_resamples, values.size)) @ root.T
    variances = root @ root.T
    spread = np.sqrt(np.maximum(np.diag(variances)[:, np.newaxis] + np.diag(variances) - 2 * variances, 0.0))
    order = np.argsort(-values, kind="stable")
    ranks, _, _ = midranks(values, descending=True)
    least, largest, groups = (np.empty(values.size, np.int64) for _ in range(3))
    leads = np.subtract.outer(values, values)
    statistics = _ratios(leads, spread)
    places = np.arange(values.size)
    every_first, every_second = np.nonzero(~np.eye(values.size, dtype=np.bool_))
    everyone = every_first, every_second
    corrected = np.full(leads.shape, math.nan)
    corrected[everyone] = _corrected(statistics, noise, spread, everyone, draws.progress)
    sorted_pairs = np.ix_(order, order)
    judged = judge_pairs(corrected[order[0], order], corrected[sorted_pairs], leads[sorted_pairs], confidence)
    least[order], largest[order], groups[order] = judged.least_ranks, judged.largest_ranks, judged.groups
    marginal_least, marginal_largest = np.empty_like(least), np.empty_like(least)
    for place in places.tolist():
        others = np.delete(places, place)
        alone = np.full(others.size, place)
        pairs = np.concatenate([others, alone]), np.concatenate([alone, others])
        is_significant = _corrected(statistics, noise, spread, pairs, draws.progress) <= alpha_of(confidence)
        is_significant &= leads[pairs] > 0
        above, below = np.split(is_significant, 2)
        marginal_least[place], marginal_largest[place] = 1 + above.sum(), values.size - below.sum()
    arrays = (values, ranks, least, largest, marginal_least, marginal_largest, groups)
    fields = ("estimates", "ranks", "least_ranks", "largest_ranks", "marginal_least_ranks", "marginal_largest_ranks")
    content: dict[str, Any] = dict(zip((*fields, "groups"), map(read_only, arrays), strict=True))
    return RankSets(names=names, level=confidence, n_resamples=draws.n_resamples, seed=draws.seed, **content)


def _corrected(
    statistics: Values, noise: Values, spread: Values, pairs: tuple[NDArray[Any], NDArray[Any]], report: Progress
) -> Values:
    """P-values that the first of each pair is not larger than the second, corrected stepwise for all `pairs`."""
    first, second = pairs

    def exchanged(part: NDArray[np.intp]) -> Values:
        report(0)
        one, other = first[part], second[part]
        return _ratios(noise[:, one] - noise[:, other], spread[one, other])[np.newaxis]

    return step_down(statistics[pairs], exchanged)


def _ratios(differences: Values, spread: Values) -> Values:
    """Differences over their standard errors; without an error a difference is infinitely large."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = differences / spread
    return np.asarray(np.where(np.abs(differences) <= ROUNDING, 0.0, ratios))


def _finite(numbers: ArrayLike, noun: str, labels: Sequence[Hashable] | None) -> Values:
    values = checked_numbers(numbers, what=noun, n_dimensions=1, labels=labels).astype(np.float64)
    if not np.isfinite(values).all():
        names = range(values.size) if labels is None else labels
        wrong = [name for name, value in zip(names, values.tolist(), strict=True) if not math.isfinite(value)]
        raise NonNumericError(offending(f"every {noun} must be finite; not those of", wrong))
    return values


def _root_of_errors(errors: Any, names: tuple[Hashable, ...]) -> Values:
    """Root of the covariance matrix of independent estimates."""
    labels, numbers = split_labels(errors, "standard error")
    if labels is not None and names != tuple(range(len(names))):
        if different := set(labels) ^ set(names):
            raise LabelMismatchError(offending("estimates and standard errors must have the same names", different))
        by_name = dict(zip(labels, list(np.asarray(numbers, dtype=object)), strict=True))
        numbers = [by_name[name] for name in names]
    values = _finite(numbers, "standard error", names)
    if values.size != len(names):
        raise LengthError(f"every estimate needs a standard error; got {values.size} for {len(names)} estimates")
    if (values < 0).any():
        raise OptionError(f"a standard error is not negative; got {shown(float(values.min()))}")
    return np.diag(values)


def _root_of_covariance(covariance: ArrayLike, number: int) -> Values:
    """A square root of a covariance matrix."""
    matrix = checked_numbers(covariance, what="covariance", n_dimensions=2).astype(np.float64)
    if matrix.shape != (number, number):
        raise LengthError(
            f"the covariance matrix of {number} estimates must have {number} rows and columns; got shape {matrix.shape}"
        )
    largest = float(np.abs(matrix).max())
    if not math.isfinite(largest) or np.abs(matrix - matrix.T).max() > MOST_SYMMETRY_ERROR * largest:
        raise OptionError("a covariance matrix must be finite and symmetric")
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if values.min() < -MOST_SYMMETRY_ERROR * largest:
        raise OptionError(f"a covariance matrix has no negative eigenvalue; got {values.min():.4g}")
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
