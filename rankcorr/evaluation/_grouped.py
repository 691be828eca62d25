"""Compute a coefficient for each group of rows of two columns of scores, and the reasons for undefined ones."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr._coefficients import Coefficient
from rankcorr._input.scores import kernel_array
from rankcorr._weights import MAX_CACHED_ITEMS, READY_WEIGHERS, SCHEMES, cached_tables, rank_table
from rankcorr._workers import Progress, Values, in_threads, silent
from rankcorr.errors import WeightError
from rankcorr.evaluation._columns import rows_of
from rankcorr.inference._resampling import kind_of

if TYPE_CHECKING:
    from rankcorr.evaluation._query_kernels import Column
Offsets = NDArray[np.int64]
# Rows of a block: large enough that scheduling a thread costs little, small enough that threads finish together.
BLOCK_ROWS: Final = 1 << 17
ONE_ITEM: Final = "fewer than two documents"
GOLD_TIED: Final = "all gold scores are tied"
RUN_TIED: Final = "all scores of the run are tied"
NO_WEIGHT: Final = "all documents that have weight are tied"


def group_coefficients(
    coefficient: Coefficient, x: Values, y: Values, offsets: Offsets, *, workers: int = 1, progress: Progress = silent
) -> Values:
    """Return the coefficient of each group of rows; nan if undefined.

    Parameters
    ----------
    coefficient : Coefficient
    x, y : ndarray of float64, shape (n_rows,)
        Scores without nan; larger is better. x is the gold ranking.
    offsets : ndarray of int64, shape (n_groups + 1,)
        Group g has the rows from ``offsets[g]`` to ``offsets[g + 1] - 1``.
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
    >>> group_coefficients(Tau(), x, y, np.array([0, 3, 5])).tolist()
    [1.0, -1.0]
    """
    values = np.empty(offsets.size - 1)
    formula = formula_of(coefficient, np.diff(offsets))

    def run(block: slice) -> None:
        columns, sizes = formula.columns(x, y, offsets[block.start : block.stop + 1])
        coefficients_of(formula, *columns, sizes, values[block])

    in_threads(run, blocks_of(offsets), workers, progress, lambda block: block.stop - block.start)
    return values


def blocks_of(offsets: Offsets, n_rows: int = BLOCK_ROWS) -> list[slice]:
    """Divide the groups into blocks of about `n_rows` rows each."""
    n_groups = offsets.size - 1
    marks = np.arange(offsets[0], offsets[-1] + 1, n_rows)
    edges = np.unique(np.append(np.searchsorted(offsets[:-1], marks), [0, n_groups])).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def reasons(values: Values, x: Values, y: Values, offsets: Offsets) -> dict[int, str]:
    """Return the reason why a coefficient is undefined, by number of the group."""
    reason_of = {}
    for group in np.flatnonzero(np.isnan(values)).tolist():
        rows = rows_of(offsets, group)
        reason_of[group] = _reason(x[rows], y[rows])
    return reason_of


def _reason(x: Values, y: Values) -> str:
    if x.size < 2:
        return ONE_ITEM
    if (x == x[0]).all():
        return GOLD_TIED
    return RUN_TIED if (y == y[0]).all() else NO_WEIGHT


@cache
def loops() -> ModuleType:
    """Return the kernels, as `rankcorr._workers.loops` does."""
    from rankcorr.evaluation import _query_kernels as kernels

    return kernels


class GroupedFormula(NamedTuple):
    """A coefficient in the form that the kernels take.

    Attributes
    ----------
    table : ndarray of float64
        Weights of the ranks 1, 1.5, 2, .. or, if `expected`, of the positions 1, 2, ..
    firsts : ndarray of int64
        Index in `table` of the first weight for groups of each length.
    expected : bool
        Whether a tied item has the mean weight of the positions of its group.
    scheme, kind : int
        Numbers of the weighting scheme and of the coefficient in the kernels.
    has_few, has_many : bool
        Whether some groups have at most, or more than, `kernels.MOST_PAIRED` items; they need different kernels.
    """

    table: Values
    firsts: Offsets
    expected: bool
    scheme: int
    kind: int
    has_few: bool
    has_many: bool

    def columns(self, x: Values, y: Values, offsets: Offsets) -> tuple[tuple[Column, Column], Offsets]:
        """Rank and weight the rows of two columns within `offsets`; return them, and the sizes of the groups."""
        rows, starts, sizes = slice(offsets[0], offsets[-1]), offsets[:-1] - offsets[0], offsets[1:] - offsets[:-1]
        return (self._column(x[rows], starts, sizes), self._column(y[rows], starts, sizes)), sizes

    def _column(self, values: Values, starts: Offsets, sizes: Offsets) -> Column:
        values, kernels = kernel_array(values), loops()
        ranks, ties, order = np.empty(values.size), np.zeros(sizes.size, np.int64), np.empty(0, np.int32)
        if self.has_few:
            kernels.rank_few(values, starts, sizes, ranks, ties)
        if self.has_many:
            order = np.empty(values.size, np.int32)
            kernels.rank_many(values, starts, sizes, ranks, ties, order)
        return self.weigh_ranks(starts, sizes, ranks, ties, order)

    def weigh_ranks(
        self, starts: Offsets, sizes: Offsets, ranks: Values, ties: Offsets, order: NDArray[np.int32]
    ) -> Column:
        """Return ranks with their weights."""
        weights, kernels = np.empty(ranks.size), loops()
        weigh = kernels.weigh_positions if self.expected else kernels.weigh_midranks
        weigh(ranks, starts, sizes, self.table, self.firsts, weights)
        column: Column = kernels.Column(starts, ranks, weights, ties, order)
        return column


def coefficients_of(formula: GroupedFormula, x: Column, y: Column, sizes: Offsets, values: Values) -> None:
    """Set the coefficient of each group of two columns; nan if undefined."""
    from rankcorr._rank_kernels import RHO

    kernels = loops()
    values[:] = np.nan
    if formula.kind == RHO:
        kernels.rho_of_groups(x, y, sizes, formula.scheme, values)
        return
    if formula.has_few:
        kernels.tau_of_few(x, y, sizes, formula.scheme, formula.kind, values)
    if formula.has_many:
        kernels.tau_of_many(x, y, sizes, formula.scheme, formula.kind, values)


def formula_of(coefficient: Coefficient, sizes: Offsets) -> GroupedFormula:
    """Return a coefficient in the form that the kernels take, for groups of these sizes."""
    weighting = coefficient.weighting
    expected = weighting.tied_weights == "expected"
    most = max(2, int(sizes.max(initial=0)))
    least = int(sizes.min(initial=most))
    lengths = least <= loops().MOST_PAIRED, most > loops().MOST_PAIRED
    options = expected, SCHEMES.index(weighting.scheme), kind_of(coefficient), *lengths
    starts = np.zeros(most + 1, np.int64)
    if type(weighting.weigher) in READY_WEIGHERS:  # the weight of a rank does not depend on the length of the list
        ready = cached_tables if most <= MAX_CACHED_ITEMS else rank_table
        return GroupedFormula(ready(weighting.weigher, most, not expected).reshape(-1), starts, *options)
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
    return GroupedFormula(kernel_array(np.concatenate([*tables, np.ones(1)])), starts, *options)
