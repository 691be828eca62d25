"""Flat columns of two scores -> the coefficient of each group, and the reason if it is undefined."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from rankcorr.coefficients import Coefficient
from rankcorr.errors import WeightError
from rankcorr.inference.resampling import kind_of
from rankcorr.scores import read_only
from rankcorr.weights import READY_WEIGHERS, SCHEMES, rank_table
from rankcorr.workers import Progress, in_threads

if TYPE_CHECKING:
    from rankcorr.evaluation.kernels import Formula

Values = NDArray[np.float64]
Offsets = NDArray[np.int64]

# Rows of a block: enough work for a thread to outlast its scheduling, and two threads end at about the same time.
BLOCK_ROWS: Final = 1 << 17

ONE_ITEM, GOLD_TIED, RUN_TIED, NO_WEIGHT = (
    "fewer than two documents",
    "the gold scores are one tie",
    "the scores of the run are one tie",
    "the documents that have weight are tied",
)


def grouped(
    coefficient: Coefficient,
    x: Values,
    y: Values,
    offsets: Offsets,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> Values:
    """Coefficient of each group of rows, nan if undefined.

    Parameters
    ----------
    coefficient : Coefficient
    x, y : ndarray of float64, shape (n_rows,)
        Scores without nan, larger is better; x is the gold ranking.
    offsets : ndarray of int64, shape (n_groups + 1,)
        Group g is the rows from ``offsets[g]`` to ``offsets[g + 1] - 1``.
    workers : int
        Number of threads; the values do not depend on it.
    progress : callable, optional
        Called with the number of groups done since the last call.

    Raises
    ------
    WeightError
        The weigher does not return usable weights.

    Examples
    --------
    >>> from rankcorr import Tau
    >>> x, y = np.array([3.0, 2.0, 1.0, 2.0, 1.0]), np.array([3.0, 2.0, 1.0, 1.0, 2.0])
    >>> grouped(Tau(), x, y, np.array([0, 3, 5])).tolist()
    [1.0, -1.0]
    """
    from rankcorr.evaluation.kernels import grouped_coefficients

    x, y, offsets = (read_only(column) for column in (x, y, offsets))
    n_groups = offsets.size - 1
    values = np.empty(n_groups)
    formula = formula_of(coefficient, np.diff(offsets))

    def run(block: slice) -> None:
        grouped_coefficients(x, y, offsets[block.start : block.stop + 1], formula, values[block.start : block.stop])

    in_threads(run, blocks_of(offsets), workers, progress, lambda block: block.stop - block.start)
    return values


def blocks_of(offsets: Offsets, n_rows: int = BLOCK_ROWS) -> list[slice]:
    """Runs of groups of about `n_rows` rows each."""
    n_groups = offsets.size - 1
    marks = np.arange(offsets[0], offsets[-1] + 1, n_rows)
    edges = np.unique(np.append(np.searchsorted(offsets[:-1], marks), [0, n_groups])).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def reasons(values: Values, x: Values, y: Values, offsets: Offsets) -> dict[int, str]:
    """Why the coefficient of a group is undefined, by the number of the group."""
    found = {}
    for group in np.flatnonzero(np.isnan(values)).tolist():
        rows = slice(int(offsets[group]), int(offsets[group + 1]))
        found[group] = _reason(x[rows], y[rows])
    return found


def _reason(x: Values, y: Values) -> str:
    if x.size < 2:
        return ONE_ITEM
    if (x == x[0]).all():
        return GOLD_TIED
    return RUN_TIED if (y == y[0]).all() else NO_WEIGHT


def formula_of(coefficient: Coefficient, sizes: Offsets) -> Formula:
    """Input of the kernels for groups of these sizes."""
    from rankcorr.evaluation.kernels import Formula

    weighting = coefficient.weighting
    expected = weighting.tied_weights == "expected"
    options = expected, SCHEMES.index(weighting.scheme), kind_of(coefficient)
    most = max(2, int(sizes.max(initial=0)))
    starts = np.zeros(most + 1, np.int64)
    if type(weighting.weigher) in READY_WEIGHERS:  # the weight of a rank does not depend on the length of the list
        return Formula(read_only(rank_table(weighting.weigher, most, not expected)), starts, *options)
    tables: list[Values] = []
    n_before = 0
    for size in np.unique(sizes[sizes > 1]).tolist():
        try:
            table = rank_table(weighting.weigher, size, not expected)
        except WeightError as error:
            raise WeightError(f"for a list of {size} documents: {error}") from error
        starts[size] = n_before
        n_before += table.size
        tables.append(table)
    return Formula(read_only(np.concatenate([*tables, np.ones(1)])), starts, *options)
