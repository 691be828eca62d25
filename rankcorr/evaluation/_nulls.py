"""Compute a coefficient for each group of rows, and find the exponents that standardize it.

The chance level of a coefficient depends on the length of the lists and on their ties. Groups with the same length and
ties, that is the same pattern, share a null distribution. If there are too many patterns, null distributions are drawn
for some of them, and the exponents of the others are interpolated by a quadratic function of seven traits of length,
ties and weights, which have closed forms. As a check, each drawn exponent is also predicted from the others. The mean
of chance values standardized by the predicted exponent should be 0, and its distance from 0 is the reported error. For
40 to 150 documents with three kinds of ties, its root mean square was 0.003 to 0.012 and its maximum 0.04, where the
standard deviation of chance values is 0.2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import shown
from rankcorr._coefficients import Coefficient
from rankcorr._input.scores import read_only
from rankcorr._output.results import mean_of
from rankcorr._ranking import Ranking
from rankcorr._weights import MAX_KEPT_ITEMS, READY_WEIGHERS, SCHEMES, Uniform, kept_tables, rank_table
from rankcorr._workers import Draws, Progress, Values, derived_seed, in_threads, silent
from rankcorr.errors import StandardizationError, WeightError
from rankcorr.evaluation._columns import Codes, rows_of
from rankcorr.inference._null import MAX_EXACT_ITEMS, null_of
from rankcorr.inference._resampling import kind_of
from rankcorr.inference._standardization import MAX_EXPONENT, exponent_of, mean_standardized, standardize

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


class Formula(NamedTuple):
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
        values, kernels = read_only(values), loops()
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


def coefficients_of(formula: Formula, x: Column, y: Column, sizes: Offsets, values: Values) -> None:
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


def formula_of(coefficient: Coefficient, sizes: Offsets) -> Formula:
    """Return a coefficient in the form that the kernels take, for groups of these sizes."""
    weighting = coefficient.weighting
    expected = weighting.tied_weights == "expected"
    most = max(2, int(sizes.max(initial=0)))
    least = int(sizes.min(initial=most))
    lengths = least <= loops().MOST_PAIRED, most > loops().MOST_PAIRED
    options = expected, SCHEMES.index(weighting.scheme), kind_of(coefficient), *lengths
    starts = np.zeros(most + 1, np.int64)
    if type(weighting.weigher) in READY_WEIGHERS:  # the weight of a rank does not depend on the length of the list
        ready = kept_tables if most <= MAX_KEPT_ITEMS else rank_table
        return Formula(ready(weighting.weigher, most, not expected).reshape(-1), starts, *options)
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


RESAMPLES: Final = 500
LEAST_VALUES: Final = 4_000  # number of values of a chance level, for a standard error of about 0.004
# Number of patterns whose null distributions are drawn; the exponents of all others are interpolated.
MOST_DRAWN: Final = 128
# Additional patterns of short lists, which are cheap to draw, and whose exponents are not smooth in the traits.
MOST_SHORT: Final = 512
# Keeps the fit of 36 terms to 128 exponents stable if traits are nearly collinear. A penalty a hundred times smaller
# changes exponents by less than the error of the draws.
RIDGE: Final = 1e-3
# Limits of the cache of exponents between partitions: 50 MB for each coefficient, and the number of coefficients.
MOST_KNOWN: Final = 1 << 18
MOST_COEFFICIENTS: Final = 16

_known_exponents: dict[tuple[object, ...], dict[tuple[int, ...], float]] = {}


@dataclass(frozen=True, eq=False, slots=True)
class Standardization:
    """Exponents of the map that standardizes the coefficient of each group, and how they were found.

    Attributes
    ----------
    exponents : ndarray of float64, shape (n_groups,)
        0 for a group with fewer than two documents.
    n_patterns : int
        Number of different patterns of length and ties.
    n_drawn : int
        Number of patterns whose null distribution was drawn.
    error : float
        Root mean square of the mean of standardized chance values, which should be 0, over interpolated exponents; nan
        if there are none.
    """

    exponents: Values
    n_patterns: int
    n_drawn: int
    error: float


def standardization(coefficient: Coefficient, x: Values, y: Values, offsets: Codes, draws: Draws) -> Standardization:
    """Find the exponent of each group.

    Parameters
    ----------
    coefficient : Coefficient
    x, y, offsets
        As in `group_coefficients`.
    draws : Draws
        The random permutations of each drawn pattern; for lists of at most 8 documents, all permutations are
        enumerated. Progress is called with 1 after each step of the work.

    Raises
    ------
    StandardizationError
        Nearly all chance values are equal, so that standardized values would be indistinguishable.
    """
    n_groups = offsets.size - 1
    if type(coefficient.weighting.weigher) is Uniform:  # the mean over permutations is 0 by symmetry
        return Standardization(np.zeros(n_groups), 0, 0, math.nan)
    workers, progress = draws.workers, draws.progress
    keys, traits, usable = _traits(coefficient, x, y, offsets, workers, progress)
    exponents = np.zeros(n_groups)
    if usable.size == 0:
        return Standardization(exponents, 0, 0, math.nan)
    firsts, pattern, counts = _patterns(keys[usable])
    pattern_places = _choose_patterns(keys[usable[firsts], 0], traits[usable[firsts]], counts)

    def draw(number: int) -> Values:
        group = int(usable[firsts[number]])
        rows = rows_of(offsets, group)
        # Sorted, and seeded by the pattern, so that a pattern has the same null distribution for all of its groups.
        own_seed = derived_seed(draws.seed, *keys[group].tolist())
        sorted_scores = np.sort(x[rows]), np.sort(y[rows])
        return _draw_null(
            coefficient, *sorted_scores, draws.n_resamples, own_seed, progress if workers == 1 else silent
        )

    nulls = in_threads(draw, pattern_places.tolist(), workers, progress)
    exponents_drawn = np.array([exponent_of(values) if values.size else 0.0 for values in nulls])
    of_patterns, error = np.zeros(firsts.size), math.nan
    of_patterns[pattern_places] = exponents_drawn
    if pattern_places.size < firsts.size:
        long = np.flatnonzero(keys[usable[firsts[pattern_places]], 0] > MAX_EXACT_ITEMS)
        n_terms = math.comb(traits.shape[1] + 2, 2)  # terms of a quadratic function
        known = long if long.size >= 2 * n_terms else np.arange(pattern_places.size)
        others = np.setdiff1d(np.arange(firsts.size), pattern_places)
        of_traits = traits[usable[firsts]]
        of_patterns[others], left_out = _interpolate(
            of_traits[pattern_places[known]], exponents_drawn[known], of_traits[others]
        )
        error = _error([nulls[place] for place in known.tolist()], left_out)
    _check_exponents(of_patterns)
    exponents[usable] = of_patterns[pattern]
    return Standardization(exponents, firsts.size, pattern_places.size, error)


def drawn_exponents(
    coefficient: Coefficient, x: Values, y: Values, offsets: Codes, *, n_resamples: int, seed: int
) -> Values:
    """Return the exponent of each group from the null distribution of its pattern, independently of other groups.

    Arguments and errors are as for `standardization`. Exponents are cached in this process, because drawing a pattern
    of 100 documents takes 5 ms, and patterns recur in other partitions.
    """
    exponents = np.zeros(offsets.size - 1)
    if type(coefficient.weighting.weigher) is Uniform:
        return exponents
    keys, _, usable = _traits(coefficient, x, y, offsets, 1, silent)
    if usable.size == 0:
        return exponents
    firsts, pattern, _ = _patterns(keys[usable])
    pattern_exponents, known = np.empty(firsts.size), _exponents_of(coefficient, n_resamples, seed)
    for number, group in enumerate(usable[firsts].tolist()):
        key = tuple(keys[group].tolist())
        exponent = known.get(key)
        if exponent is None:
            rows = rows_of(offsets, group)
            values = _draw_null(coefficient, np.sort(x[rows]), np.sort(y[rows]), n_resamples, derived_seed(seed, *key))
            exponent = exponent_of(values) if values.size else 0.0
            known[key] = exponent
        pattern_exponents[number] = exponent
    if len(known) > MOST_KNOWN:
        known.clear()
    _check_exponents(pattern_exponents)
    exponents[usable] = pattern_exponents[pattern]
    return exponents


def chance_level(coefficient: Coefficient, x: Values, y: Values, offsets: Codes, seed: int) -> float:
    """Return the mean over groups if y is in random order, from at least `LEAST_VALUES` values; nan if undefined.

    Examples
    --------
    >>> from rankcorr import TauW
    >>> level = chance_level(TauW(), np.arange(3.0), np.arange(3.0), np.array([0, 3]), seed=0)
    >>> orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
    >>> bool(abs(level - np.mean([TauW()(range(3), order) for order in orders])) < 0.03)
    True
    """
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    n_draws = -(-LEAST_VALUES // (offsets.size - 1))
    orders = (np.lexsort((rng.random(y.size), groups)) for _ in range(n_draws))
    return mean_of(np.concatenate([group_coefficients(coefficient, x, y[order], offsets) for order in orders]))


def _exponents_of(coefficient: Coefficient, n_resamples: int, seed: int) -> dict[tuple[int, ...], float]:
    """Return the cached exponents of a coefficient, by pattern."""
    if len(_known_exponents) > MOST_COEFFICIENTS:
        _known_exponents.clear()
    try:
        return _known_exponents.setdefault((coefficient, n_resamples, seed), {})
    except TypeError:  # a weigher that cannot be hashed
        return {}


def _check_exponents(exponents: Values) -> None:
    largest = float(np.abs(exponents).max())
    if largest > MAX_EXPONENT:
        raise StandardizationError(
            f"chance alone gives nearly the same value for almost every order, so that standardized values would be "
            f"indistinguishable (exponent {shown(round(largest, 2))}, at most {MAX_EXPONENT:g}); use a larger "
            "n0 or standardized=False"
        )


def _traits(
    coefficient: Coefficient, x: Values, y: Values, offsets: Codes, workers: int, progress: Progress
) -> tuple[Codes, Values, Codes]:
    """Return the pattern of each group, shape (n_groups, 3), its traits, and the groups with a coefficient.

    A pattern is the length, and one number each for the ties in x and y.
    """
    from rankcorr.evaluation._query_kernels import N_TRAITS, group_traits

    n_groups = offsets.size - 1
    patterns, traits = np.zeros((n_groups, 2), np.int64), np.zeros((n_groups, N_TRAITS))
    formula = formula_of(coefficient, np.diff(offsets))
    scrambles = np.random.default_rng(0).integers(0, 1 << 62, 2 * formula.firsts.size)

    def run(block: slice) -> None:
        columns, sizes = formula.columns(x, y, offsets[block.start : block.stop + 1])
        group_traits(*columns, sizes, scrambles, patterns[block], traits[block])

    in_threads(run, blocks_of(offsets), workers, progress)
    sizes = np.diff(offsets)
    return np.column_stack([sizes, patterns]), traits, np.flatnonzero((sizes > 1) & (traits[:, 4] > 0))


def _patterns(keys: Codes) -> tuple[Codes, Codes, Codes]:
    """Return the first group of each pattern, the pattern of each group, and the number of groups of each pattern."""
    order = np.lexsort(keys.T)
    is_new = np.append(True, (np.diff(keys[order], axis=0) != 0).any(axis=1))
    pattern = np.empty(order.size, np.int64)
    pattern[order] = np.cumsum(is_new) - 1
    starts = np.flatnonzero(is_new)
    return order[starts], pattern, np.diff(np.append(starts, order.size))


def _choose_patterns(sizes: Codes, traits: Values, counts: Codes) -> Codes:
    """Choose the patterns to draw: short lists, frequent ones, some spread over the chance level, and outliers."""
    if counts.size <= MOST_DRAWN:
        return np.arange(counts.size)
    short = np.flatnonzero(sizes <= MAX_EXACT_ITEMS)
    short = short[np.argsort(-counts[short], kind="stable")][:MOST_SHORT]
    left = np.setdiff1d(np.arange(counts.size), short)
    if left.size <= MOST_DRAWN:
        return np.union1d(short, left)
    frequent = left[np.argsort(-counts[left], kind="stable")][: MOST_DRAWN // 4]
    frequent = frequent[counts[frequent] > 1]
    left = np.setdiff1d(left, frequent)
    by_level = left[np.argsort(traits[left, 0], kind="stable")]
    spread = by_level[np.linspace(0, left.size - 1, MOST_DRAWN // 4).round().astype(int)]
    n_apart = MOST_DRAWN - frequent.size - np.unique(spread).size
    outliers = left[_farthest_rows(traits[left], n_apart)]
    return np.unique(np.concatenate([short, frequent, spread, outliers]))


def _farthest_rows(traits: Values, number: int) -> Codes:
    """Choose rows one by one, each the farthest from those chosen before, so that all rows are near a chosen one."""
    scale = traits.std(axis=0)
    z = (traits - traits.mean(axis=0))[:, scale > 1e-9] / scale[scale > 1e-9]
    places = [int(np.argmax((z**2).sum(axis=1)))]
    distance = ((z - z[places[0]]) ** 2).sum(axis=1)
    for _ in range(number - 1):
        places.append(int(np.argmax(distance)))
        distance = np.minimum(distance, ((z - z[places[-1]]) ** 2).sum(axis=1))
    return np.unique(places)


def _draw_null(
    coefficient: Coefficient, x: Values, y: Values, n_resamples: int, seed: int, progress: Progress = silent
) -> Values:
    """Return the defined coefficients of x with permutations of y."""
    if x.size <= MAX_EXACT_ITEMS:
        return null_of(coefficient, Ranking.from_scores(x), Ranking.from_scores(y), Draws(n_resamples, seed)).values

    from rankcorr.evaluation._query_kernels import shuffled_rows

    formula = formula_of(coefficient, np.array([x.size]))
    (first, second), _ = formula.columns(x, y, np.array([0, x.size]))
    values, rng = np.empty(n_resamples), np.random.default_rng(seed)
    step = max(1, BLOCK_ROWS // x.size)
    for start in range(0, n_resamples, step):
        part = values[start : start + step]
        rows, sizes, same = np.empty((part.size, x.size)), np.full(part.size, x.size), np.zeros(part.size, np.int64)
        shuffled_rows(rng, second.ranks.copy(), rows)
        of_rows = formula.weigh_ranks(
            x.size * np.arange(part.size), sizes, rows.ravel(), same + second.ties, second.order
        )
        coefficients_of(formula, first._replace(starts=same, ties=same + first.ties), of_rows, sizes, part)
        progress(1)
    return values[~np.isnan(values)]


def _interpolate(known: Values, exponents: Values, new_traits: Values) -> tuple[Values, Values]:
    """Return exponents for `new_traits`, and for each known exponent its prediction from the others."""
    centre, scale = known.mean(axis=0), known.std(axis=0)
    varying = scale > 1e-9

    def terms(traits: Values) -> Values:
        z = np.clip((traits[:, varying] - centre[varying]) / scale[varying], -4, 4)  # limits extrapolation
        n = z.shape[1]
        squares = [z[:, i] * z[:, j] for i in range(n) for j in range(i, n)]
        return np.column_stack([np.ones(len(z)), z, *squares])

    design = terms(known)
    penalty = RIDGE * len(known) * np.eye(design.shape[1])
    penalty[0, 0] = 0.0
    inverse = np.linalg.inv(design.T @ design + penalty)
    fit = inverse @ design.T @ exponents
    leverage = np.einsum("ij,jk,ik->i", design, inverse, design)
    left_out = exponents - (exponents - design @ fit) / np.maximum(1e-3, 1 - leverage)
    return terms(new_traits) @ fit, left_out


def _error(nulls: list[Values], exponents: Values) -> float:
    """Return the root mean square of the mean of standardized chance values, corrected for the noise of the draws."""
    squares, noise = [], []
    for values, exponent in zip(nulls, exponents.tolist(), strict=True):
        squares.append(mean_standardized(values, exponent) ** 2)
        noise.append(standardize(values, exponent).var() / values.size)
    return math.sqrt(max(0.0, float(np.mean(squares)) - float(np.mean(noise))))
