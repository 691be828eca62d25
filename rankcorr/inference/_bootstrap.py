"""Intervals of a coefficient: new items from a copula, or given ones redrawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from rankcorr._checks import check_choice, checked_level, warn_undefined
from rankcorr._coefficients import UNDEFINED, CoefficientLike, as_coefficient
from rankcorr._ranking import Missing, RankingLike, align, as_ranking, n_missing
from rankcorr._results import Computed
from rankcorr._workers import Progress
from rankcorr.inference._copula import MIN_RESAMPLES, coefficient_interval
from rankcorr.inference._resampling import Draws, SortedItems, Values

Method: TypeAlias = Literal["copula", "percentile"]

METHODS: Final[tuple[Method, ...]] = get_args(Method)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class BootstrapInterval(Computed):
    """A rank correlation with its confidence interval and the options used.

    Attributes
    ----------
    statistic : float
        The coefficient of the two rankings, not resampled.
    low, high : float
        Ends of the interval; nan if undefined.
    level : float
        Level of confidence requested.
    method : str
        "copula" or "percentile".
    standard_error : float
        Standard deviation of the resampled coefficients.
    n_resamples : int
        Number of resamples drawn.
    n_undefined : int
        Number of these left out because their coefficient is undefined; all of them if `statistic` is nan.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`.
    n_missing : int or None
        Number of items in only one ranking; None if `missing` is None.

    See Also
    --------
    bootstrap_interval : Returns it.

    Examples
    --------
    >>> from rankcorr import bootstrap_interval
    >>> found = bootstrap_interval(range(20), [*range(1, 20), 0], coefficient="tau", method="percentile")
    >>> round(found.statistic, 4), found.low < found.statistic < found.high
    (0.8, True)
    >>> found.level, found.method, found.n_resamples, found.n_undefined
    (0.95, 'percentile', 2000, 0)
    """

    statistic: float
    low: float
    high: float
    level: float
    method: str
    standard_error: float
    n_resamples: int
    n_undefined: int
    n_missing: int | None = None


def bootstrap_interval(
    x: RankingLike,
    y: RankingLike,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    level: float = 0.95,
    method: Method = "copula",
    n_resamples: int = 2_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> BootstrapInterval:
    """Confidence interval of a rank correlation.

    An interval is meant to cover the mean of the coefficient over samples of as many items from the same population,
    since a top-weighted coefficient depends on the number of items. There are two methods.

    - "copula", the default, assumes that the ranks depend on one another as in a t copula. Its degrees of freedom are
      fitted by likelihood: to the better half of the items if the coefficient has most of its weight there, otherwise
      to all items. Its correlation is the parameter of the interval. Rankings of new items are drawn for many
      correlations; if the data have groups of ties, so do the drawn rankings, with the same probabilities. The interval
      lies between the mean coefficients for two correlations: those with which a drawn coefficient exceeds the observed
      one with a probability of (1 - level) / 2 and of (1 + level) / 2. The level of dependence is thus taken from the
      coefficient alone, and only the shape of its distribution from the model.
    - "percentile" draws items with replacement, and lies between quantiles of their coefficients. Copies of one item
      are ties in both rankings, which distorts a top-weighted coefficient, because a few items decide it. The method
      assumes nothing about dependence.

    The coverage of "copula" is close to its level if the dependence is roughly that of a t copula.
    Its intervals are too wide for rho_w if all dependence is at the top, and too narrow if most items agree closely and
    the others not at all. docs/results/coverage.md has the measured coverage, and
    docs/results/widths.md the widths.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        A value with its options, such as ``TauW(n0=10)``; a name selects the default options. Resamples have ties, so a
        weigher must accept the ranks 1, 1.5, 2 and so on.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only one ranking has; see `weighted_tau`. It is applied before items are drawn.
    level : float, default 0.95
        Level of confidence.
    method : {"copula", "percentile"}
        The kind of interval.
    n_resamples : int, default 2000
        Number of resamples; at least 1,000 are drawn for "copula".
    seed : int, default 0
        The same seed gives the same result; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. The result does not depend on it.
    progress : callable, optional
        Called with the number of resamples done since the last call. An exception that it raises stops the work.

    Returns
    -------
    BootstrapInterval
        nan with an `UndefinedCorrelationWarning` if the coefficient is undefined. Resamples with an undefined
        coefficient are left out and counted, with a warning.

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    permutation_test : Whether two rankings are related at all.
    compare_systems : Whether two systems differ.

    References
    ----------
    P. H. Garthwaite and S. T. Buckland, Generating Monte Carlo Confidence Intervals by the Robbins-Monro Process,
    Applied Statistics 41 (1992), on tests that are inverted by resampling.

    S. Demarta and A. J. McNeil, The t Copula and Related Copulas, International Statistical Review 73 (2005).

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr import bootstrap_interval
    >>> rng = np.random.default_rng(0)
    >>> gold = rng.normal(size=200)
    >>> found = bootstrap_interval(gold, gold + rng.normal(size=200), coefficient="tau")
    >>> found.low < found.statistic < found.high
    True
    """
    chosen = as_coefficient(coefficient)
    check_choice("method", method, METHODS)
    confidence, draws = checked_level(level), Draws.checked(n_resamples, seed, workers, progress)
    given = as_ranking(x), as_ranking(y)
    first, second = align(*given, missing=missing)
    value = chosen.of_pair(first, second)

    if method == "copula":
        draws = replace(draws, n_resamples=max(draws.n_resamples, MIN_RESAMPLES))
    number = draws.n_resamples
    low = high = error = math.nan
    n_undefined = number
    if math.isnan(value):
        warn_undefined(UNDEFINED, stacklevel=3)
    else:
        items = SortedItems.of(chosen, first, [second])
        if method == "copula":
            low, high, error, n_undefined = coefficient_interval(items, value, level=confidence, draws=draws)
        else:
            values = resampled(items, draws)[:, 0]
            values = values[~np.isnan(values)]
            n_undefined, error = number - values.size, standard_error(values)
            low, high = percentile_interval(values, confidence)
        if n_undefined:
            warn_undefined(f"in {n_undefined:,} of {number:,} resamples, which are left out", stacklevel=3)
    return BootstrapInterval(
        statistic=value,
        low=low,
        high=high,
        level=confidence,
        method=method,
        standard_error=error,
        n_resamples=number,
        n_undefined=n_undefined,
        n_missing=None if missing == "raise" else n_missing(*given, first.n_items),
        **chosen.described(first.n_items, missing),
    )


def resampled(items: SortedItems, draws: Draws) -> Values:
    """Coefficients of x with each other ranking in each resample, shape (n_resamples, n_rankings); nan if undefined."""
    return np.concatenate(draws.in_blocks(partial(_resampled_once, items), items.n_items))


def _resampled_once(items: SortedItems, rng: np.random.Generator, size: int) -> Values:
    return items.coefficients(items.drawn(rng, size))


def percentile_interval(values: Values, level: float) -> tuple[float, float]:
    """Quantiles of the resampled values that leave (1 - level) / 2 out on either side; nan without values."""
    if values.size == 0:
        return math.nan, math.nan
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2]).tolist()
    return low, high


def standard_error(values: Values) -> float:
    """Standard deviation of the resampled values; nan for fewer than two."""
    return float(values.std(ddof=1)) if values.size > 1 else math.nan
