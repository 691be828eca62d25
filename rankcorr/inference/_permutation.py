"""The coefficient of two rankings -> its place among the values of chance."""

from __future__ import annotations

import math
from dataclasses import dataclass

from rankcorr._checks import check_choice, warn_undefined
from rankcorr._coefficients import UNDEFINED, CoefficientLike, as_coefficient
from rankcorr._ranking import Missing, RankingLike, align
from rankcorr._results import Computed, described_by
from rankcorr._workers import Progress
from rankcorr.inference._conventions import ALTERNATIVES, Alternative
from rankcorr.inference._null import NullDistribution, left_out, null_of
from rankcorr.inference._resampling import Draws


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PermutationTest(Computed):
    """A coefficient, and how it compares with chance.

    Attributes
    ----------
    statistic : float
        The coefficient; nan if undefined, and then `pvalue` and `standardized` are nan too.
    pvalue : float
        Probability of a coefficient at least as extreme if the two rankings are unrelated; see
        `NullDistribution.pvalue`.
    standardized : float
        The coefficient mapped so that chance gives 0 on average; see `NullDistribution.standardize`. nan if the null
        distribution `saturates`.
    percentile : float
        Percentage of the values of chance below the coefficient, equal ones counted half; see
        `NullDistribution.percentile`.
    zscore : float
        Number of standard deviations of chance above the mean of chance.
    alternative : str
        "two-sided", "greater" or "less".
    null : NullDistribution
        The values that chance alone gives.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`.

    See Also
    --------
    permutation_test : Returns it.
    NullDistribution : The type of `null`.

    Examples
    --------
    >>> from rankcorr import permutation_test
    >>> test = permutation_test([5, 4, 3, 2, 1], [4, 5, 3, 2, 1], alternative="greater")
    >>> round(test.statistic, 4), round(test.pvalue, 4), test.null.exact
    (0.4053, 0.2, True)
    >>> round(test.standardized, 4), round(test.percentile, 1)
    (0.4864, 80.4)
    """

    statistic: float
    pvalue: float
    standardized: float
    percentile: float
    zscore: float
    alternative: str
    null: NullDistribution

    def __repr__(self) -> str:
        """Show the figures, with the options as part of the null distribution."""
        names = ("statistic", "pvalue", "standardized", "percentile", "zscore", "alternative", "null")
        return described_by(self, {name: getattr(self, name) for name in names})


def permutation_test(
    x: RankingLike,
    y: RankingLike,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    alternative: Alternative = "two-sided",
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PermutationTest:
    """Test whether two rankings are related, by permuting the ranks of one of them.

    Exact up to 8 items; above, by random permutations. The p-value is valid whatever the ties, the length and the
    weights: the only hypothesis is that every matching of the two rankings is equally likely.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    alternative : {"two-sided", "greater", "less"}
        "greater": better agreement than by chance. "two-sided": twice the smaller of the one-sided p-values, at most 1.
    coefficient, missing, n_resamples, seed, workers, progress
        As in `null_distribution`.

    Returns
    -------
    PermutationTest

    Warns
    -----
    UndefinedCorrelationWarning
        The coefficient is undefined for the two rankings (then every figure is nan), or for some permutations (they are
        left out); or the standardized value is nan because the null distribution `saturates`.

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    null_distribution : The values of chance alone.
    correlation_interval : How precise a value is.
    compare_systems : Whether two systems differ.

    Examples
    --------
    >>> from rankcorr import permutation_test
    >>> gold, system = [9, 8, 7, 6, 5, 4, 3, 2], [8, 9, 6, 7, 2, 5, 4, 3]
    >>> test = permutation_test(gold, system, alternative="greater")
    >>> round(test.statistic, 2), round(test.null.mean, 2), round(test.standardized, 2), round(test.pvalue, 4)
    (0.48, -0.12, 0.58, 0.084)
    """
    chosen, draws = as_coefficient(coefficient), Draws.checked(n_resamples, seed, workers, progress)
    check_choice("alternative", alternative, ALTERNATIVES)
    first, second = align(x, y, missing=missing)
    value, null = chosen.of_pair(first, second), null_of(chosen, first, second, draws, missing=missing)
    if math.isnan(value):
        warn_undefined(UNDEFINED, stacklevel=3)
    elif null.n_undefined:
        warn_undefined(left_out(null), stacklevel=3)
    if null.saturates and not math.isnan(value):
        warn_undefined(null.why_saturated, statistic="the standardized value", stacklevel=3)
    return PermutationTest(
        statistic=value,
        pvalue=null.pvalue(value, alternative),
        standardized=math.nan if null.saturates else null.standardize(value),
        percentile=null.percentile(value),
        zscore=null.zscore(value),
        alternative=alternative,
        null=null,
        **chosen.described(first.n_items, missing),
    )
