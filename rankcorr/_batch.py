"""One gold ranking against many systems, and all pairs of many rankings, in parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr._checks import check_choice, offending, shown, warn_undefined
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._input.frames import PLAIN, by_name, has_names
from rankcorr._input.scores import checked_numbers, is_masked, midrank_rows, sortable
from rankcorr._output.results import Computed, TableResult, read_only, square_frame
from rankcorr._output.tables import TableNotes, best_places
from rankcorr._ranking import (
    MISSING,
    Missing,
    Ranking,
    RankingLike,
    align_rankings,
    as_ranking,
    match_positions,
    n_missing,
    named_rankings,
    needs_labels,
    positions_of,
    stacked,
)
from rankcorr._workers import Progress, checked_workers, in_threads
from rankcorr.errors import LabelError, LengthError, MissingValueError, TooFewItemsError

ManyRankings: TypeAlias = Mapping[Any, RankingLike] | Sequence[RankingLike] | ArrayLike
Counts: TypeAlias = tuple[int, int]  # items compared, and items in one of the two rankings only

# Enough work for a thread to outlast its scheduling, few enough rows for their ranks to stay in the cache.
BLOCK_ITEMS = 1 << 15

_ALL_TIED: Final = "all items that have weight are tied"


@dataclass(frozen=True, eq=False, repr=False)
class RankCorrelations(Computed, TableResult):
    """Rank correlations of many rankings, with the options used; numpy reads it as the array `statistic`.

    Attributes
    ----------
    statistic : ndarray of float64, shape (n_systems,) or (n_rankings, n_rankings)
        Each value equals that of the one-by-one call to the last bit; nan if undefined.
    names : tuple or None
        Names of the rankings, in the order of `statistic`; None for the rows of a matrix and the entries of a list.
    n_items : int
        Number of items of the gold ranking; in a matrix, of all rankings together.
    n_compared : ndarray of int64, shape of `statistic`, or None
        Number of items in each comparison, after alignment; None if `missing` is None, as all then have `n_items`.
    n_missing : ndarray of int64, shape of `statistic`, or None
        Number of items in only one of the two rankings; None if `missing` is None.
    coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`.

    See Also
    --------
    correlate_many, correlation_matrix : Return it.
    RankCorrelation : The result of two rankings.

    Examples
    --------
    >>> from rankcorr import correlate_many
    >>> result = correlate_many([4, 3, 2, 1], {"good": [4, 3, 1, 2], "poor": [1, 2, 3, 4]}, coefficient="tau")
    >>> result.names, result.statistic.round(4).tolist(), result.n_items
    (('good', 'poor'), [0.6667, -1.0], 4)
    >>> print(result.to_markdown())
    | name | tau |
    | --- | ---: |
    | good | 0.6667 |
    | poor | -1 |
    """

    statistic: NDArray[np.float64]
    names: tuple[Any, ...] | None
    n_compared: NDArray[np.int64] | None = None
    n_missing: NDArray[np.int64] | None = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.statistic, dtype=dtype, copy=copy)

    def to_frame(self) -> Any:
        """Return the coefficients as a pandas DataFrame: one row for each system, or a matrix with names on both axes.

        Raises
        ------
        MissingPandasError
            pandas is not installed.

        Examples
        --------
        >>> correlate_many([3, 2, 1], {"good": [3, 2, 1], "poor": [1, 2, 3]}, coefficient="tau").to_frame()
             name  tau
        0  good  1.0
        1  poor -1.0
        """
        return super().to_frame() if self.statistic.ndim == 1 else square_frame(self.statistic, self.names)

    def _notes(self) -> TableNotes:
        has_one_gold = self.statistic.ndim == 1
        best = best_places(self.statistic.tolist(), 1) if has_one_gold else ()
        return TableNotes(f"Systems by {self.coefficient}. Bold: best." if best else self.coefficient, best)

    def _columns(self) -> dict[Any, Any]:
        n_rows = len(self.statistic)
        names = range(n_rows) if self.names is None else self.names
        if self.statistic.ndim == 2:
            return {_Corner(): names} | dict(zip(names, self.statistic.T.tolist(), strict=True))
        columns: dict[Any, Any] = {"name": names}
        columns[self.coefficient] = self.statistic
        if self.n_compared is not None and self.n_missing is not None:
            columns |= {"n_items": self.n_compared, "n_missing": self.n_missing}
        return columns

    def _title(self) -> str:
        return f"{self.coefficient} of {self.n_items:,} items"


class _Corner:
    """Heading of the column of names in a matrix: empty, and equal to no name."""

    def __str__(self) -> str:
        return ""


def correlate_many(
    gold: RankingLike,
    systems: ManyRankings,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    workers: int | None = None,
    progress: Progress | None = None,
) -> RankCorrelations:
    """Correlate one gold ranking with each of many systems.

    The gold ranking is ranked once, and threads share the systems.

    Parameters
    ----------
    gold : Ranking, mapping of label to score, or array_like of shape (n_items,)
        The ranking to compare with, x in `weighted_rho` and `weighted_tau`.
    systems : array_like of shape (n_systems, n_items), mapping of name to ranking, list of them, or data frame
        A matrix holds scores, larger is better, one row for each system. The values of a mapping, or the entries of a
        list, are rankings as `weighted_tau` takes them. In a data frame (pandas, polars, pyarrow) each column is a
        ranking; the index of a pandas frame labels the items, and other frames have no labels. A column named rank,
        or "mean rank" and the like, holds ranks, with a `RankColumnWarning`; all others are scores.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        A value with its options, such as ``TauW(n0=10)``; a name selects the default options.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only gold or only a system has; see `align`. Each system is aligned with gold
        separately, so that systems may be compared over different items: values of lists of different lengths have
        different chance levels.
    workers : int, optional
        Number of threads, by default one for each processor. A custom weigher is called from all of them.
    progress : callable, optional
        Called now and then with the number of systems done since the last call, such as the `update` of a tqdm bar;
        with one worker also with 0 after each pair of lists that are aligned separately. An exception that it raises
        stops the work.

    Returns
    -------
    RankCorrelations
        With `statistic` of shape (n_systems,).

    Raises
    ------
    RankingError
        The message names the system; the subclass tells what is wrong.

    See Also
    --------
    correlation_matrix : All pairs of many rankings.
    leaderboard : The same with intervals, tests and groups.
    compare_many : Test pairs of systems.

    Examples
    --------
    >>> from rankcorr import correlate_many
    >>> gold = [5, 4, 3, 2, 1]
    >>> result = correlate_many(gold, {"good": [9, 8, 7, 5, 6], "poor": [1, 2, 3, 4, 5]})
    >>> dict(zip(result.names, result.statistic.round(4).tolist()))
    {'good': 0.9531, 'poor': -1.0}
    """
    options: dict[str, Any] = {"missing": missing, "workers": workers, "progress": progress}
    (result,) = correlate_systems(gold, systems, coefficients=[as_coefficient(coefficient)], **options)
    warn_of_undefined(result)
    return result


def correlate_systems(
    gold: RankingLike,
    systems: ManyRankings,
    *,
    coefficients: Sequence[Coefficient],
    missing: Missing = "raise",
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[RankCorrelations]:
    """`correlate_many` for several coefficients: each system is aligned with gold once.

    It does not warn of undefined values; call `warn_of_undefined` on a result.

    Examples
    --------
    >>> from rankcorr import Rho, Tau
    >>> results = correlate_systems([3, 2, 1], {"good": [3, 2, 1], "fair": [2, 3, 1]}, coefficients=[Rho(), Tau()])
    >>> {result.coefficient: result.statistic.round(4).tolist() for result in results}
    {'rho': [1.0, 0.5], 'tau': [1.0, 0.3333]}
    """
    check_choice("missing", missing, MISSING)
    n_workers = checked_workers(workers)
    first = as_ranking(gold)
    names: tuple[Any, ...] | None = None
    named = _by_name(systems)
    if named is not None:
        read = named_rankings(named, "system")
        _check_any(len(read), "system")
        names = tuple(read)
        first, *rankings = match_positions((first, *read.values()))
        pair_names = [("gold", f"system {shown(name)}") for name in names]
        if missing == "raise":
            pairs = zip(rankings, pair_names, strict=True)
            matrix, ties = stacked([align_rankings(first, item, names=names)[1] for item, names in pairs])
        n_systems = len(names)
    else:
        matrix = _matrix(systems, first, role="system", missing=missing)
        n_systems = len(matrix)

    check_stop = progress if n_workers == 1 else None  # it is called from the calling thread alone

    def correlate(block: slice) -> tuple[NDArray[np.float64], list[Counts]]:
        if names is not None and missing != "raise":
            return _one_by_one(coefficients, first, rankings[block], pair_names[block], missing, check_stop)
        if names is None:
            ranks, _, row_ties = midrank_rows(matrix[block], descending=True)
        else:
            ranks, row_ties = matrix[block], ties[block]
        values = [coefficient.of_rows(first, ranks, row_ties, weightless="raise") for coefficient in coefficients]
        return np.array(values), [(first.n_items, 0)] * len(ranks)

    step = max(1, BLOCK_ITEMS // first.n_items)
    blocks = [slice(start, min(start + step, n_systems)) for start in range(0, n_systems, step)]
    parts = in_threads(correlate, blocks, n_workers, progress, lambda block: block.stop - block.start)
    count_fields = {} if missing == "raise" else _count_fields([pair for _, counts in parts for pair in counts])
    values = read_only(np.concatenate([part for part, _ in parts], axis=1))
    result_names = None if isinstance(systems, list | tuple) else names
    return [
        RankCorrelations(
            statistic=row, names=result_names, **coefficient.computed_fields(first.n_items, missing), **count_fields
        )
        for row, coefficient in zip(values, coefficients, strict=True)
    ]


def warn_of_undefined(result: RankCorrelations) -> None:
    """Warn of systems with an undefined coefficient, at the line that called the caller of this function."""
    names = result.names or range(result.statistic.size)
    undefined_names = [names[row] for row in np.flatnonzero(np.isnan(result.statistic)).tolist()]
    if undefined_names:
        warn_undefined(offending(f"{_ALL_TIED} in gold or in", undefined_names))


def correlation_matrix(
    rankings: ManyRankings,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    workers: int | None = None,
    progress: Progress | None = None,
) -> RankCorrelations:
    """Correlate all pairs of many rankings.

    Parameters
    ----------
    rankings : array_like of shape (n_rankings, n_items), mapping of name to ranking, list of them, or data frame
        A matrix holds scores, larger is better, one row for each ranking; in a data frame each column is one.
    coefficient, workers, progress
        As in `correlate_many`; progress counts rows of the matrix.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that one ranking of a pair has and the other lacks; see `align`. Each pair is aligned
        separately. With "gold" row i keeps the items of ranking i, and the matrix is not symmetric.

    Returns
    -------
    RankCorrelations
        With `statistic` of shape (n_rankings, n_rankings); row i, column j holds the coefficient with ranking i as x
        and ranking j as y. It is symmetric, to the rounding of the last digits, for the schemes "additive" and
        "multiplicative".

    Raises
    ------
    RankingError
        The message names the ranking; the subclass tells what is wrong.

    See Also
    --------
    correlate_many : One gold ranking against many systems.

    Examples
    --------
    >>> from rankcorr import correlation_matrix
    >>> correlation_matrix([[3, 2, 1], [3, 1, 2]], coefficient="tau").statistic.round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])
    """
    coefficient_value = as_coefficient(coefficient)
    check_choice("missing", missing, MISSING)
    n_workers = checked_workers(workers)
    named = _by_name(rankings)
    if named is not None:
        read = named_rankings(named, "ranking")
        _check_any(len(read), "ranking")
        names, items = tuple(read), match_positions(read.values())
    else:
        names = None
        rows, best_first, row_ties = midrank_rows(_matrix(rankings, None, role="ranking"), descending=True)
        items = [Ranking.unchecked(*row) for row in zip(rows, best_first, row_ties.tolist(), strict=True)]
    titles = [f"ranking {shown(name)}" for name in names or range(len(items))]
    if missing == "raise":
        pairs = zip(items, titles, strict=True)
        ranks, ties = stacked([align_rankings(items[0], item, names=(titles[0], title))[1] for item, title in pairs])

    check_stop = progress if n_workers == 1 else None  # it is called from the calling thread alone

    def correlate(row: int) -> tuple[NDArray[np.float64], list[Counts]]:
        if missing != "raise":
            pair_names = [(titles[row], title) for title in titles]
            (values,), counts = _one_by_one([coefficient_value], items[row], items, pair_names, missing, check_stop)
            return values, counts
        labels, first_labels, others = items[row].labels, items[0].labels, ranks
        if labels != first_labels:
            others = np.ascontiguousarray(ranks[:, positions_of(labels or (), first_labels or ())])
        return coefficient_value.of_rows(items[row], read_only(others), ties, weightless="raise"), []

    parts = in_threads(correlate, range(len(items)), n_workers, progress)
    values = np.array([part for part, _ in parts])
    known = names or range(len(items))
    undefined_pairs = [
        (known[row], known[column]) if row != column else known[row]
        for row, column in np.argwhere(np.isnan(values)).tolist()
        if row == column or not np.isnan(values[[row, column], [row, column]]).any()
    ]
    if undefined_pairs:
        warn_undefined(offending(f"{_ALL_TIED} in", undefined_pairs), stacklevel=3)
    n_items = items[0].n_items
    if missing != "raise" and items[0].labels is not None:
        n_items = len(set().union(*(item.labels or () for item in items)))
    result_fields = coefficient_value.computed_fields(n_items, missing)
    if missing != "raise":
        result_fields |= _count_fields([counts for _, counts in parts])
    result_names = None if isinstance(rankings, list | tuple) else names
    return RankCorrelations(statistic=read_only(values), names=result_names, **result_fields)


def _one_by_one(
    coefficients: Sequence[Coefficient],
    x: Ranking,
    others: list[Ranking],
    pair_names: list[tuple[str, str]],
    missing: Missing,
    check_stop: Progress | None,
) -> tuple[NDArray[np.float64], list[Counts]]:
    """Coefficients of x with each of others, a row each, every pair aligned separately, and the counts of each.

    `check_stop` is called with 0 after each pair, which may stop the work.
    """
    values, counts = [], []
    for other, names in zip(others, pair_names, strict=True):
        pair = align_rankings(x, other, names=names, missing=missing)
        values.append([coefficient.of_pair(*pair) for coefficient in coefficients])
        counts.append((pair[0].n_items, n_missing(x, other, pair[0].n_items)))
        if check_stop is not None:
            check_stop(0)
    return np.array(values).T, counts


def _count_fields(counts: list[Any]) -> dict[str, Any]:
    """Fields of `RankCorrelations` from the counts of each comparison."""
    array = read_only(np.array(counts))
    return {"n_compared": array[..., 0], "n_missing": array[..., 1]}


def _by_name(rankings: ManyRankings) -> Mapping[Any, RankingLike] | None:
    """Rankings by name, or by position for a list; None for a matrix of scores."""
    if isinstance(rankings, list | tuple):
        listed = any(
            isinstance(row, dict) or (hasattr(row, "__len__") and not isinstance(row, PLAIN)) for row in rankings
        )
        return dict(enumerate(rankings)) if listed else None
    return by_name(rankings)


def _matrix(rankings: Any, gold: Ranking | None, *, role: str, missing: Missing = "raise") -> NDArray[Any]:
    """Return a matrix of checked scores that fits gold."""
    if isinstance(rankings, list | tuple) and any(is_masked(row) for row in rankings):
        raise MissingValueError(f"every item needs a {role} score; some rows have masked ones")
    noun = f"{role} score"
    scores = sortable(checked_numbers(rankings, noun=noun, n_dimensions=2), noun)
    _check_any(len(scores), role)
    if gold is not None and gold.labels is not None and has_names(gold.labels, ()):
        raise LabelError(
            f"gold has labels and the matrix of {role}s has none, so their items cannot be matched: "
            f"pass a mapping of {role}s with labels"
        )
    if gold is not None and scores.shape[1] != gold.n_items:
        raise LengthError(
            f"the matrix of {role}s must have a column for each of the {gold.n_items} items of gold; "
            f"got {scores.shape[1]}{needs_labels(missing)}"
        )
    return scores


def _check_any(n_rankings: int, role: str) -> None:
    if n_rankings == 0:
        raise TooFewItemsError(f"there is no {role} to correlate")
