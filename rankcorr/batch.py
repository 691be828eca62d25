"""One gold ranking against many systems, and all pairs of many rankings, in parallel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.alignment import aligned
from rankcorr.checks import offending
from rankcorr.correlation import Coefficient, Computed, Statistic, Variant, warn_undefined
from rankcorr.errors import (
    DimensionError,
    DuplicateLabelError,
    LabelError,
    LengthError,
    MissingValueError,
    RankingError,
    TooFewItemsError,
)
from rankcorr.ranking import (
    Ranking,
    RankingLike,
    Ranks,
    as_ranking,
    checked_numbers,
    is_masked,
    midrank_rows,
)
from rankcorr.weights import DEFAULT_N0, Scheme, TiedWeights, Weigher
from rankcorr.workers import Progress, checked_workers, in_threads

ManyRankings: TypeAlias = Mapping[Any, RankingLike] | ArrayLike

# Enough work for a thread to outlast its scheduling, few enough rows for their ranks to stay in the cache.
BLOCK_ITEMS = 1 << 15


@dataclass(frozen=True, eq=False, repr=False)
class RankCorrelations(Computed):
    """Rank correlations of many rankings, and what was computed; numpy takes it for the array `statistic`.

    Attributes
    ----------
    statistic : ndarray of float64, shape (n_systems,) or (n_rankings, n_rankings)
        Each value equals that of the one-by-one call to the last bit; nan where it is undefined.
    names : tuple or None
        Names of the rankings, in the order of `statistic`; None for the rows of a matrix.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant
        As in `RankCorrelation`.
    """

    statistic: NDArray[np.float64]
    names: tuple[Any, ...] | None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.statistic, dtype=dtype, copy=copy)


def correlate_many(
    gold: RankingLike,
    systems: ManyRankings,
    *,
    coefficient: Coefficient = "tau_w",
    n0: float = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    variant: Variant = "b",
    workers: int | None = None,
    progress: Progress | None = None,
) -> RankCorrelations:
    """Correlate one gold ranking with each of many systems.

    The gold ranking is ranked once, and the systems are shared among threads.

    Parameters
    ----------
    gold : Ranking, mapping of label to score, or array_like of shape (n_items,)
        The ranking to compare with; it takes the place of x in `weighted_rho` and `weighted_tau`.
    systems : array_like of shape (n_systems, n_items), or mapping of name to ranking
        A matrix holds scores, larger is better, one row for each system. The values of a mapping (dict, or the
        columns of a pandas DataFrame) are rankings as `weighted_tau` takes them.
    coefficient : {"tau_w", "rho_w", "tau", "rho"}
        "tau" and "rho" weigh all items alike, and take neither n0 nor a weigher.
    n0, weigher, scheme, tied_weights, variant
        As in `weighted_tau`; the coefficients rho ignore `variant`.
    workers : int, optional
        Number of threads, by default that of the processors. A weigher of your own is called from all of them.
    progress : callable, optional
        Called now and then with the number of systems that are newly done, such as the `update` of a tqdm bar. An
        exception that it raises ends the work.

    Returns
    -------
    RankCorrelations
        With `statistic` of shape (n_systems,).

    Raises
    ------
    RankingError
        A subclass of it that names what is wrong, and the system it is wrong with.

    Examples
    --------
    >>> gold = [5, 4, 3, 2, 1]
    >>> result = correlate_many(gold, {"good": [9, 8, 7, 5, 6], "poor": [1, 2, 3, 4, 5]})
    >>> dict(zip(result.names, result.statistic.round(4).tolist()))
    {'good': 0.9531, 'poor': -1.0}
    """
    statistic = Statistic.of(
        coefficient, n0=n0, weigher=weigher, scheme=scheme, tied_weights=tied_weights, variant=variant
    )
    n_workers = checked_workers(workers)
    first = as_ranking(gold)
    names: tuple[Any, ...] | None = None
    if _have_names(systems):
        names, rankings = _named(systems, whose="system")
        matrix, ties = _stacked(
            [
                aligned(first, item, names=("gold", f"system {name!r}"))
                for name, item in zip(names, rankings, strict=True)
            ]
        )
    else:
        matrix = _matrix(systems, first, whose="system")

    def correlate(block: slice) -> NDArray[np.float64]:
        if names is not None:
            return statistic.of_rows(first, matrix[block], ties[block])
        ranks, _, row_ties = midrank_rows(matrix[block], descending=True)
        return statistic.of_rows(first, ranks, row_ties)

    step = max(1, BLOCK_ITEMS // first.n_items)
    blocks = [slice(start, min(start + step, len(matrix))) for start in range(0, len(matrix), step)]
    values = np.concatenate(in_threads(correlate, blocks, n_workers, progress, lambda block: block.stop - block.start))
    if np.isnan(values).any():
        _warn_of_undefined(np.flatnonzero(np.isnan(values)).tolist(), names, "in gold or in")
    values.flags.writeable = False
    return RankCorrelations(statistic=values, names=names, **statistic.described(first.n_items))


def correlation_matrix(
    rankings: ManyRankings,
    *,
    coefficient: Coefficient = "tau_w",
    n0: float = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    variant: Variant = "b",
    workers: int | None = None,
    progress: Progress | None = None,
) -> RankCorrelations:
    """Correlate each of many rankings with each.

    Parameters
    ----------
    rankings : array_like of shape (n_rankings, n_items), or mapping of name to ranking
        A matrix holds scores, larger is better, one row for each ranking.
    coefficient, n0, weigher, scheme, tied_weights, variant, workers, progress
        As in `correlate_many`; progress counts rows of the matrix.

    Returns
    -------
    RankCorrelations
        With `statistic` of shape (n_rankings, n_rankings); row i, column j holds the coefficient with ranking i as x
        and ranking j as y. It is symmetric, to the rounding of the last digits, for the schemes "additive" and
        "multiplicative".

    Raises
    ------
    RankingError
        A subclass of it that names what is wrong, and the ranking it is wrong with.

    Examples
    --------
    >>> correlation_matrix([[3, 2, 1], [3, 1, 2]], coefficient="tau").statistic.round(4)
    array([[1.    , 0.3333],
           [0.3333, 1.    ]])
    """
    statistic = Statistic.of(
        coefficient, n0=n0, weigher=weigher, scheme=scheme, tied_weights=tied_weights, variant=variant
    )
    n_workers = checked_workers(workers)
    if _have_names(rankings):
        names, items = _named(rankings, whose="ranking")
    else:
        names = None
        rows = midrank_rows(_matrix(rankings, None, whose="ranking"), descending=True)
        items = [Ranking._of_checked(*row) for row in zip(*rows, strict=True)]
    labels = names or range(len(items))
    ranks, ties = _stacked(
        [
            aligned(items[0], item, names=(f"ranking {labels[0]!r}", f"ranking {name!r}"))
            for name, item in zip(labels, items, strict=True)
        ]
    )

    def correlate(row: int) -> NDArray[np.float64]:
        columns = _columns(items[row], items[0])
        others = ranks if columns is None else np.ascontiguousarray(ranks[:, columns])
        others.flags.writeable = False
        return statistic.of_rows(items[row], others, ties)

    values = np.array(in_threads(correlate, range(len(ranks)), n_workers, progress))
    undefined = [
        (row, column) if row != column else row
        for row, column in np.argwhere(np.isnan(values)).tolist()
        if row == column or not np.isnan(values[[row, column], [row, column]]).any()
    ]
    if undefined:
        _warn_of_undefined(undefined, names, "in")
    values.flags.writeable = False
    return RankCorrelations(statistic=values, names=names, **statistic.described(ranks.shape[1]))


def _columns(own: Ranking, reference: Ranking) -> NDArray[np.intp] | None:
    """Where the items of a ranking stand in the reference; None where both have the same order."""
    if own.labels is None or reference.labels is None or own.labels == reference.labels:
        return None
    place = {label: position for position, label in enumerate(reference.labels)}
    return np.array([place[label] for label in own.labels])


def _have_names(rankings: ManyRankings) -> TypeGuard[Mapping[Any, RankingLike]]:
    """Whether rankings have names: those of a dict, or of the columns of a pandas DataFrame."""
    return hasattr(rankings, "keys")


def _named(rankings: Mapping[Any, RankingLike], *, whose: str) -> tuple[tuple[Any, ...], list[Ranking]]:
    """Names, and rankings, each in its own item order."""
    names = tuple(rankings.keys())
    _check_any(len(names), whose)
    if len(set(names)) < len(names):
        again = dict.fromkeys(name for name in names if names.count(name) > 1)
        raise DuplicateLabelError(offending(f"names of {whose}s must be unique; more than once", again))
    items: list[Ranking] = []
    for name in names:
        try:
            items.append(as_ranking(rankings[name]))
        except RankingError as error:
            raise type(error)(f"{whose} {name!r}: {error}") from error
    return names, items


def _matrix(rankings: Any, gold: Ranking | None, *, whose: str) -> NDArray[Any]:
    """Return a matrix of checked scores that fits gold."""
    if isinstance(rankings, list | tuple):
        if any(isinstance(row, Ranking) or hasattr(row, "keys") for row in rankings):
            raise DimensionError(
                f"{whose}s must be a matrix of scores, or a mapping of name to ranking; got a list of rankings"
            )
        if any(is_masked(row) for row in rankings):
            raise MissingValueError(f"every item needs a {whose} score; some rows have masked ones")
    scores = checked_numbers(rankings, what=f"{whose} score", n_dimensions=2)
    _check_any(len(scores), whose)
    if gold is not None and gold.labels is not None:
        raise LabelError(
            f"gold has labels and the matrix of {whose}s has none, so their items cannot be matched: "
            f"pass a mapping of {whose}s with labels"
        )
    if gold is not None and scores.shape[1] != gold.n_items:
        raise LengthError(
            f"the matrix of {whose}s must have a column for each of the {gold.n_items} items of gold; "
            f"got {scores.shape[1]}"
        )
    return scores


def _stacked(rankings: list[Ranking]) -> tuple[Ranks, NDArray[np.int64]]:
    """Mid-ranks as the rows of a matrix, read-only, and how many of each row are tied."""
    ranks = np.array([ranking.ranks for ranking in rankings])
    ranks.flags.writeable = False
    return ranks, np.array([ranking.n_ties for ranking in rankings])


def _check_any(n_rankings: int, whose: str) -> None:
    if n_rankings == 0:
        raise TooFewItemsError(f"there is no {whose} to correlate")


def _warn_of_undefined(undefined: list[Any], names: tuple[Any, ...] | None, where: str) -> None:
    """Warn at the line that called the public function; `undefined` holds rows, or pairs of them."""

    def named(row: Any) -> Any:
        return tuple(map(named, row)) if isinstance(row, tuple) else names[row] if names else row

    which = [named(row) for row in undefined]
    warn_undefined(offending(f"all items that have weight are tied {where}", which))
