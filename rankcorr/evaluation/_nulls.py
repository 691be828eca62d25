"""Find the exponents that standardize the coefficients of groups.

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
from typing import Final

import numpy as np

from rankcorr._checks import shown
from rankcorr._coefficients import Coefficient
from rankcorr._output.results import mean_of
from rankcorr._ranking import Ranking
from rankcorr._weights import Uniform
from rankcorr._workers import Draws, Progress, Values, derived_seed, in_threads, silent
from rankcorr.errors import StandardizationError
from rankcorr.evaluation._columns import Codes, rows_of
from rankcorr.evaluation._grouped import BLOCK_ROWS, blocks_of, coefficients_of, formula_of, group_coefficients
from rankcorr.inference._null import MAX_EXACT_ITEMS, null_of
from rankcorr.inference._standardization import MAX_EXPONENT, exponent_of, mean_standardized, standardize

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
        sorted_scores, seed = (np.sort(x[rows]), np.sort(y[rows])), derived_seed(draws.seed, *keys[group].tolist())
        return _draw_null(coefficient, *sorted_scores, draws.n_resamples, seed, progress if workers == 1 else silent)

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
