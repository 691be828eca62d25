"""Two systems against one gold ranking: a paired randomization test, Holm's correction, the comparison of both."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr.alignment import MISSING, Missing, align
from rankcorr.checks import check_choice, checked_level, offending
from rankcorr.coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr.errors import DimensionError, NonNumericError, OptionError, TooFewItemsError, warn_undefined
from rankcorr.inference.bootstrap import difference_interval
from rankcorr.inference.copula import MIN_RESAMPLES, ROUNDING
from rankcorr.inference.exchange import SWAPS, Exchange, Swap, codes_of_items, score_codes
from rankcorr.inference.null import ALTERNATIVES, Alternative
from rankcorr.inference.resampling import Draws, SortedItems, Values, derived_seed
from rankcorr.ranking import Ranking, RankingLike, as_ranking
from rankcorr.results import Computed
from rankcorr.workers import Progress

MAX_EXACT: Final = 12

# If all swaps are enumerated but the places of the systems interleave at random, the swaps are repeated until there are
# as many as for 12 items.
N_ENUMERATED: Final = 1 << MAX_EXACT
NAMES: Final = ("gold", "a", "b")
TURNED: Final[dict[Alternative, Alternative]] = {"two-sided": "two-sided", "greater": "less", "less": "greater"}


class PairedTest(NamedTuple):
    """The outcome of a test of two systems; both counts are of swaps."""

    pvalue: float
    exact: bool
    n_swaps: int
    n_undefined: int


def paired_tests(
    pairs: Sequence[Sequence[Exchange]],
    observed: Values,
    *,
    alternative: Alternative = "two-sided",
    draws: Draws,
) -> list[PairedTest]:
    """Test pairs of systems; the difference of a pair is the sum over its gold sets, within which items are swapped.

    All swaps are enumerated if a pair has at most `MAX_EXACT` items in all; otherwise they are drawn. Swaps with an
    undefined difference count as at least as extreme.
    """
    found: dict[int, PairedTest] = {}
    for row, pair in enumerate(pairs):
        if sum(each.n_items for each in pair) <= MAX_EXACT:
            drawn = enumerated(pair, draws.seed)
            n_extreme, n_undefined = as_extreme(drawn, observed[row], alternative)
            found[row] = PairedTest(n_extreme / drawn.size, True, drawn.size, n_undefined)
    left = [row for row in range(len(pairs)) if row not in found]
    if left:
        task = partial(_counted, [pairs[row] for row in left], observed[left], alternative)
        widest = max(sum(each.n_items for each in pairs[row]) for row in left)
        n_resamples, blocks = draws.n_resamples, draws.in_blocks(task, widest)
        for row, (n_extreme, n_undefined) in zip(left, np.sum(blocks, axis=0).tolist(), strict=True):
            found[row] = PairedTest((1 + n_extreme) / (1 + n_resamples), False, n_resamples, n_undefined)
    return [found[row] for row in range(len(pairs))]


def _counted(
    pairs: Sequence[Sequence[Exchange]],
    observed: Values,
    alternative: Alternative,
    rng: np.random.Generator,
    size: int,
) -> NDArray[np.int64]:
    return np.array(
        [
            as_extreme(differences(pair, rng, size), value, alternative)
            for pair, value in zip(pairs, observed.tolist(), strict=True)
        ]
    )


def differences(pair: Sequence[Exchange], rng: np.random.Generator, size: int) -> Values:
    """Differences of two systems, summed over gold sets, in random exchanges, shape (size,)."""
    values = sum((each.drawn(rng, size) for each in pair), start=np.zeros((size, 2)))
    return np.asarray(values[:, 0] - values[:, 1])


def enumerated(pair: Sequence[Exchange], seed: int) -> Values:
    """Differences of two systems in all swaps, with equal weights."""
    n_items = [each.n_items for each in pair]
    swaps = all_swaps(sum(n_items))
    if not all(each.is_sure for each in pair):
        swaps = np.tile(swaps, (N_ENUMERATED // len(swaps), 1))
    rng = np.random.default_rng(derived_seed(seed, 1))
    parts = np.split(swaps, np.cumsum(n_items)[:-1], axis=1)
    values = sum(
        (each.swapped(rng, part) for each, part in zip(pair, parts, strict=True)), start=np.zeros((len(swaps), 2))
    )
    return np.asarray(values[:, 0] - values[:, 1])


def all_swaps(n_items: int) -> NDArray[np.uint8]:
    """Every choice of items to swap, shape (2^n_items, n_items)."""
    codes = np.arange(2**n_items, dtype=np.uint32)[:, np.newaxis]
    return (codes >> np.arange(n_items, dtype=np.uint32) & 1).astype(np.uint8)


def as_extreme(drawn: Values, observed: float, alternative: str) -> tuple[int, int]:
    """Number of differences at least as extreme as the observed one, and how many of these are undefined."""
    n_undefined = int(np.count_nonzero(np.isnan(drawn)))
    if alternative == "two-sided":
        drawn, observed = np.abs(drawn), abs(observed)
    elif alternative == "less":
        drawn, observed = -drawn, -observed
    return int(np.count_nonzero(drawn >= observed - ROUNDING)) + n_undefined, n_undefined


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    """Holm's correction: p-values that may each be compared with the level alpha, however many tests there are.

    The p-values are put in ascending order. The k-th of m becomes the largest of (m - j + 1) p_j over j <= k, and at
    most 1. The chance that any true null hypothesis is rejected at the level alpha is then at most alpha, however the
    tests depend on each other.

    Parameters
    ----------
    pvalues : array_like of shape (n_tests,)
        nan is a test without a result: it stays nan, and does not count among the m.

    Returns
    -------
    ndarray of float64, shape (n_tests,)
        In the order of `pvalues`.

    Raises
    ------
    RankingError
        `OptionError` for a value outside [0, 1], `NonNumericError`, `DimensionError`.

    References
    ----------
    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
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
        raise OptionError(f"a p-value is between 0 and 1, or nan; pvalues[{wrong[0]}] is {array[wrong[0]]}")
    corrected = np.full(array.size, np.nan)
    order = np.argsort(array)[: np.count_nonzero(~np.isnan(array))]  # nan sorts last
    factors = np.arange(order.size, 0, -1)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(factors * array[order]))
    return corrected


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SystemComparison(Computed):
    """Two systems against one gold ranking, with the options used.

    Attributes
    ----------
    statistic_a, statistic_b : float
        Coefficient of gold with each system, over the same items.
    difference : float
        The first minus the second.
    pvalue : float
        P-value of the paired randomization test; nan if the difference is undefined.
    alternative : str
        "two-sided", "greater" (the first system is better) or "less".
    swap : str
        What the test exchanges, "ranks" or "scores".
    exact : bool
        Whether all swaps were enumerated.
    low, high : float
        Interval of the difference, from joint resamples of gold and both systems.
    level : float
        Level of confidence of the interval.
    interval_method : str or None
        Method of the interval, "copula" or "percentile". None if nothing is drawn, because the difference is undefined
        or both systems rank all items alike.
    n_resamples : int
        Number of resamples of the test unless it is exact, and of the interval, which draws at least 1,000.
    n_undefined : int
        Number of resamples left out of the interval because a coefficient is undefined.
    n_undefined_swaps : int
        Number of swaps with an undefined coefficient; the test counts them as at least as extreme.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`; `n_items` after alignment of all three.
    n_missing : int or None
        Number of items that are not in all three rankings; None if `missing` is None.
    """

    statistic_a: float
    statistic_b: float
    difference: float
    pvalue: float
    alternative: str
    swap: str
    exact: bool
    low: float
    high: float
    level: float
    interval_method: str | None
    n_resamples: int
    n_undefined: int
    n_undefined_swaps: int
    n_missing: int | None = None


def compare_systems(
    gold: RankingLike,
    a: RankingLike,
    b: RankingLike,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    alternative: Alternative = "two-sided",
    swap: Swap = "ranks",
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SystemComparison:
    """Compare two systems by their correlations with one gold ranking.

    The null hypothesis of the test is that the two systems are exchangeable, item by item: a coin toss decided which of
    the two gave an item its place. Items are swapped with probability 1/2, both systems are ranked again, and the
    difference of the coefficients is computed anew. Up to 12 items all 2^n swaps are enumerated. Above, the p-value is
    (1 + count) / (1 + n_resamples), where count is the number of swaps with a difference at least as extreme.

    If the scores are on one scale, swap the scores themselves: with ``swap="scores"`` the test holds its level exactly.
    By default ranks are swapped, since systems rarely share a scale. If a swapped rank meets the same rank of the other
    system, the tie is broken at random (see `rankcorr.inference.exchange`). The level was measured as the share of
    p-values at most 0.05 for exchangeable systems, by 4,000 pairs of systems each (standard error at most 0.004;
    benchmarks/levels_of_tests.py, and the table in docs/systems.md). It is at most 0.061, for tau_w and rho_w, 20 to
    200 items, and shared noise of 0 to 99.9 %. It is smaller, down to 0, if few items change places: then no swap can
    be extreme.

    Equal mean coefficients are not the null hypothesis: if one system is noisy at the top and the other at the bottom,
    they are not exchangeable, even if the mean of the difference is 0.

    The interval of the difference assumes a t copula of gold and both systems, fitted to their ranks. As in
    `bootstrap_interval`, it inverts tests: two correlations that differ by more or less, about the fitted mean, are
    tested, and the interval lies between the mean differences of the coefficients for the two that are just not
    rejected.

    The percentile interval of items drawn with replacement is used instead if there are at most 100 items, at least 5 %
    of their pairs are tied in one of the systems, and the systems correlate by at least 0.9 given gold. Two systems
    with few levels often agree on whole groups of items, which a copula cannot reproduce. `interval_method` names the
    method used.

    Since the spread of the difference is estimated, the interval has the quantiles of Student's t with n_items - 3
    degrees of freedom, and at least 3, instead of normal ones. Two systems that rank all items alike have the interval
    from 0 to 0; exchanging the systems gives the mirror image. docs/systems.md has measured levels and widths.

    Parameters
    ----------
    gold, a, b : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. Labelled rankings are matched by label.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        A value with its options, such as ``TauW(n0=10)``; a name selects the default options. Resamples have ties, so a
        weigher must accept the ranks 1, 1.5, 2 and so on.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that are not in all three rankings: raise an error, leave them out, or place them last, in a
        tie, in each ranking that lacks them. "gold" keeps only the items of gold.
    alternative : {"two-sided", "greater", "less"}
        "greater" tests whether the first system is better.
    swap : {"ranks", "scores"}
        What the two systems exchange in the test. "scores" needs scores with the same meaning in both.
    level : float, default 0.95
        Level of confidence of the interval.
    n_resamples : int, default 10000
        Number of resamples of the test, and of the interval, which draws at least 1,000.
    seed : int, default 0
        The same seed gives the same result; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. The result does not depend on it.
    progress : callable, optional
        Called with the number of resamples done since the last call, those of the test and then those of the interval.
        An exception that it raises stops the work.

    Returns
    -------
    SystemComparison
        nan with an `UndefinedCorrelationWarning`, and without a p-value, if a coefficient is undefined.

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gold = rng.normal(size=100)
    >>> a, b = gold + 0.3 * rng.normal(size=100), gold + 2 * rng.normal(size=100)
    >>> found = compare_systems(gold, a, b, coefficient="tau", n_resamples=1_000)
    >>> found.difference > 0, found.pvalue < 0.01
    (True, True)
    """
    chosen = as_coefficient(coefficient)
    check_choice("alternative", alternative, ALTERNATIVES)
    check_choice("swap", swap, SWAPS)
    confidence, draws = checked_level(level), Draws.checked(n_resamples, seed, workers, progress)
    number = draws.n_resamples
    (first, second, third), n_left = align_three(gold, a, b, missing)
    ranks = np.array([second.ranks, third.ranks])
    ranks.flags.writeable = False
    values = chosen.of_rows(first, ranks, np.array([second.n_ties, third.n_ties]), weightless="raise")
    difference = float(values[0] - values[1])
    items = SortedItems.of(chosen, first, [second, third])
    turned = items.is_turned

    pvalue = low = high = math.nan
    interval_method = None
    n_undefined, n_undefined_swaps = number, 0
    if math.isnan(difference):
        which = [name for name, value in zip(NAMES[1:], values, strict=True) if math.isnan(value)]
        warn_undefined(offending("all items that have weight are tied in gold or in", which), stacklevel=3)
    else:
        test = _test(
            chosen,
            (first, second, third),
            (a, b),
            difference,
            turned=turned,
            swap=swap,
            alternative=alternative,
            draws=draws.of_part(0),
        )
        pvalue, n_undefined_swaps = test.pvalue, test.n_undefined
        of_interval = replace(draws.of_part(1), n_resamples=max(number, MIN_RESAMPLES))
        if np.array_equal(second.ranks, third.ranks):
            low = high = 0.0
            n_undefined = 0
        else:
            found = difference_interval(
                items.turned() if turned else items,
                -difference if turned else difference,
                level=confidence,
                draws=of_interval,
            )
            low, high = (0.0 - found.high, 0.0 - found.low) if turned else (found.low, found.high)  # no -0.0
            n_undefined, interval_method = found.n_undefined, found.method
        if n_undefined:
            warn_undefined(
                f"in {n_undefined:,} of {of_interval.n_resamples:,} resamples, which the interval leaves out",
                stacklevel=3,
            )
        if n_undefined_swaps:
            warn_undefined(
                f"in {n_undefined_swaps:,} of {test.n_swaps:,} swaps, which count against a difference",
                stacklevel=3,
            )
    return SystemComparison(
        statistic_a=float(values[0]),
        statistic_b=float(values[1]),
        difference=difference,
        pvalue=pvalue,
        alternative=alternative,
        swap=swap,
        exact=items.n_items <= MAX_EXACT,
        low=low,
        high=high,
        level=confidence,
        interval_method=interval_method,
        n_resamples=number,
        n_undefined=n_undefined,
        n_undefined_swaps=n_undefined_swaps,
        n_missing=None if missing == "raise" else n_left,
        **chosen.described(items.n_items, missing),
    )


def _test(
    coefficient: Coefficient,
    aligned: tuple[Ranking, Ranking, Ranking],
    given: tuple[RankingLike, RankingLike],
    difference: float,
    *,
    turned: bool,
    swap: Swap,
    alternative: Alternative,
    draws: Draws,
) -> PairedTest:
    """The paired test of two systems, which enter in reverse if `turned`."""
    gold, *systems = aligned
    rows = [codes_of_items(own, gold.labels) for own in score_codes(given, NAMES[1:])] if swap == "scores" else None
    if turned:
        systems, difference, alternative = systems[::-1], -difference, TURNED[alternative]
        rows = rows and rows[::-1]
    if rows is None:
        exchange = Exchange.of_ranks(coefficient, gold, systems)
    else:
        exchange = Exchange.of_scores(coefficient, gold, systems, np.array(rows))
    return paired_tests([[exchange]], np.array([difference]), alternative=alternative, draws=draws)[0]


def align_three(
    gold: RankingLike, a: RankingLike, b: RankingLike, missing: Missing
) -> tuple[tuple[Ranking, Ranking, Ranking], int]:
    """Three rankings over the same items in the same order, and the number of items that were not in all three."""
    check_choice("missing", missing, MISSING)
    given = as_ranking(gold), as_ranking(a), as_ranking(b)
    if missing == "raise" or any(ranking.labels is None for ranking in given):
        second = align(given[0], given[1], names=("gold", "a"), missing=missing)[1]
        return (given[0], second, align(given[0], given[2], names=("gold", "b"), missing=missing)[1]), 0
    union: dict[Hashable, int] = {}
    for ranking in given:
        for label in ranking.labels or ():
            union[label] = union.get(label, 0) + 1
    common = [label for label, number in union.items() if number == len(given)]
    own = list(given[0].labels or ())
    # Items that gold lacks are tied there, in an order that does not change when a and b are exchanged.
    kept = {"intersection": common, "gold": own}.get(missing, own + sorted(list(union)[len(own) :], key=str))
    if len(kept) < 2:
        raise TooFewItemsError(
            "gold, a and b must have at least two labels in common; they have "
            f"{', '.join(str(ranking.n_items) for ranking in given)} items, {len(kept)} in common"
        )
    # All items, tied: aligned with this ranking, each of the three loses or gains the items that it must.
    everything = Ranking.from_ranks(np.zeros(len(kept)), kept)
    names = ("gold", "a", "b")
    taken = [
        align(everything, ranking, names=("gold", name), missing=missing)[1]
        for name, ranking in zip(names, given, strict=True)
    ]
    return (taken[0], taken[1], taken[2]), len(union) - len(common)
