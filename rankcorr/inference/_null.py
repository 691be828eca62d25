"""The null distribution of a coefficient by permutation, and the p-values and standardized values that follow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import permutations
from typing import Any, Final, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from rankcorr._batch import RankCorrelations
from rankcorr._checks import ALTERNATIVES, Alternative, check_choice, shown, warn_undefined
from rankcorr._coefficients import UNDEFINED, Coefficient, CoefficientLike, as_coefficient
from rankcorr._input.numbers import ROUNDING
from rankcorr._input.scores import Ranks, is_masked
from rankcorr._output.results import Computed, RankCorrelation, described_by
from rankcorr._ranking import Missing, Ranking, RankingLike, align
from rankcorr._weights import READY_WEIGHERS, Uniform
from rankcorr._workers import BLOCK_NUMBERS, Draws, Progress, in_threads
from rankcorr.errors import OptionError, StandardizationError
from rankcorr.inference._standardization import MAX_EXPONENT, exponent_of, standardize

MAX_EXACT_ITEMS: Final = 8  # items with 40,320 permutations

Scalar: TypeAlias = float | RankCorrelation
Many: TypeAlias = Sequence[float] | NDArray[Any] | RankCorrelations


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NullDistribution(Computed):
    """The values of a coefficient if one ranking is permuted at random, called chance values.

    Attributes
    ----------
    values : ndarray of float64, shape (n_resamples - n_undefined,), read-only
        Coefficients of the permuted rankings, sorted.
    mean, std : float
        Mean and standard deviation of `values`.
    exact : bool
        Whether `values` is over all permutations, rather than random ones.
    n_resamples : int
        Number of permutations; the factorial of `n_items` if `exact`.
    n_undefined : int
        Number of permutations with an undefined coefficient. They are not among `values`: the distribution is
        conditional on a defined coefficient. If all are undefined, every result is nan.
    exponent : float
        The number l of `standardize`; 0 is the identity. nan if there are no values.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`.

    See Also
    --------
    null_distribution : Returns it.
    permutation_test : A value, its p-value and this distribution in one call.

    Examples
    --------
    >>> from rankcorr import null_distribution
    >>> null = null_distribution(range(5), range(5))
    >>> null.n_resamples, null.exact, round(null.mean, 4), round(null.quantile(0.95), 4)
    (120, True, -0.0778, 0.7888)
    >>> round(null.pvalue(0.5, "greater"), 4), round(null.percentile(0.5), 2), round(null.standardize(0.5), 4)
    (0.15, 85.0, 0.5724)
    """

    values: NDArray[np.float64]
    mean: float
    std: float
    exact: bool
    n_resamples: int
    n_undefined: int
    exponent: float

    def __repr__(self) -> str:
        """Show the mean first, without the values and the options that do not apply."""
        names = ["mean", "std", *(field.name for field in fields(self) if field.name != "values")]
        return described_by(self, {name: getattr(self, name) for name in names})

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]: ...
    def quantile(self, q: Any) -> Any:
        """Return the smallest value such that at least the share q of the values are at most as large.

        Parameters
        ----------
        q : float or array_like
            Between 0 and 1.

        Returns
        -------
        float or ndarray
            nan without values.

        Raises
        ------
        OptionError
            A share is not between 0 and 1.
        """
        shares = _numbers(q)
        if shares is None or not ((shares >= 0) & (shares <= 1)).all():
            raise OptionError(f"q must be a number between 0 and 1; got {shown(q)}")
        if self.values.size == 0:
            return _float_or_array(np.full(shares.shape, math.nan))
        return _float_or_array(np.quantile(self.values, shares, method="inverted_cdf"))

    @overload
    def pvalue(self, statistic: Scalar, alternative: Alternative = "two-sided") -> float: ...
    @overload
    def pvalue(self, statistic: Many, alternative: Alternative = "two-sided") -> NDArray[np.float64]: ...
    def pvalue(self, statistic: Any, alternative: Alternative = "two-sided") -> Any:
        """Return the probability, by chance alone, of a coefficient at least as extreme.

        If `exact`, it is the share of values that are at least as extreme. Otherwise it is (1 + count) / (1 + number of
        values), which counts the statistic itself and is never 0. Values that differ from the statistic by at most
        1e-12, that is by rounding, count as equal.

        The null distribution is skewed, and its mean is not 0. "two-sided" is therefore twice the smaller of the
        one-sided p-values, at most 1, as in `scipy.stats.permutation_test`, and not the probability of a larger
        absolute value.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.
        alternative : {"two-sided", "greater", "less"}
            "greater": better agreement than by chance.

        Returns
        -------
        float or ndarray
            nan if the statistic is nan, or if there are no values.

        Raises
        ------
        OptionError
            A number is outside [-1, 1], a result does not match, or the alternative is unknown.
        """
        check_choice("alternative", alternative, ALTERNATIVES)
        observed, below, up_to = self._count_below(statistic)
        above = self.values.size - below
        counts = {"greater": above, "less": up_to, "two-sided": np.minimum(above, up_to)}[alternative]
        extra = 0 if self.exact else 1
        shares = (counts + extra) / max(1, self.values.size + extra)
        if alternative == "two-sided":
            shares = np.minimum(1.0, 2 * shares)
        undefined = np.isnan(observed) | (self.values.size == 0)
        return _float_or_array(np.where(undefined, math.nan, shares))

    @overload
    def standardize(self, statistic: Scalar) -> float: ...
    @overload
    def standardize(self, statistic: Many) -> NDArray[np.float64]: ...
    def standardize(self, statistic: Any) -> Any:
        """Map a coefficient so that chance alone gives 0 on average, and -1 and 1 stay the same.

        Only the mean of chance values becomes comparable. Their spread still depends on the length of the lists, their
        ties and the coefficient. `percentile` and `zscore` show how unusual a value is.

        The map is g(t) = (exp(l t) - cosh l) / sinh l. The `exponent` l solves E[exp(l T)] = cosh l, where T has this
        distribution. The map is continuous and strictly increasing, with g(-1) = -1, g(1) = 1 and E g(T) = 0. It is the
        identity (l = 0) if E T = 0, and l < 0 if the mean is negative. l exists and is unique unless at least half of
        the values are -1, or half are 1. In that case no map has these properties, and the identity is used: `exponent`
        is 0 although `mean` is not. docs/explain/chance.md has the proofs.

        Equal weights give E T = 0 by symmetry. So does the scheme "first" if y reversed has the same ties as y, and
        "second" if x reversed has the same ties as x. The identity is then used, although the mean over random
        permutations is not exactly 0.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.

        Returns
        -------
        float or ndarray
            nan if the statistic is nan, or if there are no values.

        Raises
        ------
        OptionError
            A number is outside [-1, 1], or a result does not match.
        StandardizationError
            The distribution `saturates`.
        """
        observed = self._checked(statistic)
        if self.saturates:
            raise StandardizationError(self.why_saturated)
        return _float_or_array(standardize(observed, self.exponent))

    @property
    def saturates(self) -> bool:
        """Whether `standardize` is refused because different coefficients would have the same standardized value.

        Up to an `exponent` of 8 in size, coefficients that differ by 1e-9 have different standardized values. Weights
        with n0 near -1 exceed it, because nearly all chance values are then near -1.
        """
        return abs(self.exponent) > MAX_EXPONENT

    @property
    def why_saturated(self) -> str:
        """The reason why `standardize` is refused, if it is."""
        end = "-1" if self.exponent < 0 else "1"
        return (
            f"chance values are so near {end} that standardized values of different coefficients would be equal "
            f"(exponent {self.exponent:.3g}, at most {MAX_EXPONENT:g} in size): use percentile or zscore"
        )

    @overload
    def percentile(self, statistic: Scalar) -> float: ...
    @overload
    def percentile(self, statistic: Many) -> NDArray[np.float64]: ...
    def percentile(self, statistic: Any) -> Any:
        """Return the percentage of chance values below a coefficient; equal values count half.

        It is from 0 to 100, as `scipy.stats.percentileofscore` of `values` with ``kind="mean"``. Its meaning does not
        depend on the list, the coefficient or its options: 50 is the median of chance, and 2.5 % of unrelated rankings
        exceed 97.5. Values that differ by at most 1e-12, that is by rounding, count as equal.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.

        Returns
        -------
        float or ndarray
            nan if the statistic is nan, or if there are no values.

        Raises
        ------
        OptionError
            A number is outside [-1, 1], or a result does not match.
        """
        observed, below, up_to = self._count_below(statistic)
        undefined = np.isnan(observed) | (self.values.size == 0)
        return _float_or_array(np.where(undefined, math.nan, 50 * (below + up_to) / max(1, self.values.size)))

    @overload
    def zscore(self, statistic: Scalar) -> float: ...
    @overload
    def zscore(self, statistic: Many) -> NDArray[np.float64]: ...
    def zscore(self, statistic: Any) -> Any:
        """Return the z-score of a coefficient among chance values: (t - mean) / std.

        Unlike `percentile`, it distinguishes coefficients beyond all chance values. It is not normally distributed,
        because chance values are skewed.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.

        Returns
        -------
        float or ndarray
            nan if the statistic is nan, or if there are no values or all values are equal.

        Raises
        ------
        OptionError
            A number is outside [-1, 1], or a result does not match.
        """
        observed = self._checked(statistic)
        return _float_or_array((observed - self.mean) / (self.std if self.std > ROUNDING else math.nan))

    def _count_below(self, statistic: Any) -> tuple[NDArray[np.float64], Any, Any]:
        """Return a statistic, and how many values are below it, and at most as large."""
        observed = self._checked(statistic)
        below = np.searchsorted(self.values, observed - ROUNDING, "left")
        return observed, below, np.searchsorted(self.values, observed + ROUNDING, "right")

    def _checked(self, statistic: Any) -> NDArray[np.float64]:
        if isinstance(statistic, RankCorrelation | RankCorrelations):
            # `missing` does not matter: the distribution depends on the length after alignment.
            for name in (field.name for field in fields(Computed) if field.name != "missing"):
                expected, other = getattr(self, name), getattr(statistic, name)
                if expected != other:
                    raise OptionError(
                        f"this is the null distribution for {name}={expected!r}; got a result with {other!r}"
                    )
            statistic = statistic.statistic
        numbers = _numbers(statistic)
        if numbers is None or (np.abs(numbers) > 1).any():
            raise OptionError(f"a statistic must be a number between -1 and 1; got {shown(statistic)}")
        return numbers


def _numbers(values: Any) -> NDArray[np.float64] | None:
    """Return real numbers as an array; None for anything else."""
    try:
        numbers = np.asarray(values)
    except ValueError:  # rows of different lengths
        return None
    return numbers.astype(np.float64) if numbers.dtype.kind in "iuf" and not is_masked(values) else None


def _float_or_array(numbers: NDArray[np.float64]) -> Any:
    """Return a float for a number, and an array for an array."""
    return numbers if numbers.ndim else float(numbers)


def null_distribution(
    x: RankingLike,
    y: RankingLike,
    *,
    coefficient: CoefficientLike = "tau_w",
    missing: Missing = "raise",
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> NullDistribution:
    """Compute the distribution of a coefficient if the ranks of y are permuted at random.

    The weights depend on both rankings, and are computed again for each permutation. Up to 8 items, all permutations
    are enumerated, and the result is exact. Above, `n_resamples` random permutations are drawn.

    The distribution depends on the two rankings only through their length and ties. Without ties it depends on the
    length alone: write ``null_distribution(range(n), range(n))``. The result is cached if neither ranking has ties,
    the weigher is one of the library's, and `n_resamples` is at most 100,000.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        A value with its options, such as ``TauW(n0=10)``; a name selects the default options.
    missing : {"raise", "intersection", "bottom", "gold"}
        As in `weighted_tau`. Items are permuted after alignment.
    n_resamples : int
        Number of random permutations; ignored up to 8 items.
    seed : int
        The same seed gives the same permutations; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. A custom weigher is called from all of them.
    progress : callable, optional
        Called repeatedly with the number of permutations done since the last call. An exception that it raises stops
        the work.

    Returns
    -------
    NullDistribution

    Warns
    -----
    UndefinedCorrelationWarning
        The coefficient is undefined for some permutations. For all, if all items of a ranking are tied. For a few, if
        all items that have weight may be tied in the other ranking, or no item may have weight (``TopK`` with the
        scheme "multiplicative").

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    permutation_test : A value, its p-value and this distribution in one call.
    rankcorr.plots.plot_null : Draw the distribution.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, defines the coefficients. P. Lombardo, arXiv:2504.08428, 2025, proposes their standardization.

    Examples
    --------
    >>> from rankcorr import null_distribution
    >>> null = null_distribution(range(100), range(100), n_resamples=1_000)
    >>> round(null.mean, 2), round(null.std, 2), round(null.quantile(0.95), 2)
    (-0.4, 0.16, -0.12)
    >>> round(null.standardize(0.0), 2), round(null.pvalue(0.0, "greater"), 3)
    (0.44, 0.023)
    """
    coefficient_value, draws = as_coefficient(coefficient), Draws.checked(n_resamples, seed, workers, progress)
    null = null_of(coefficient_value, *align(x, y, missing=missing), draws, missing=missing)
    if null.n_undefined:
        warn_undefined(_why_undefined(null), stacklevel=3)
    return null


def _why_undefined(null: NullDistribution) -> str:
    """Return the reason, for a warning, why the coefficient is undefined for some permutations."""
    return (
        f"in {null.n_undefined:,} of {null.n_resamples:,} permutations, which are left out: all items that have weight "
        "are tied in one ranking there, or none has weight"
    )


def null_of(
    coefficient: Coefficient, x: Ranking, y: Ranking, draws: Draws, *, missing: Missing = "raise"
) -> NullDistribution:
    """Return the null distribution of aligned rankings, without warnings."""
    exact = x.n_items <= MAX_EXACT_ITEMS
    if exact:
        draws = replace(draws, n_resamples=math.factorial(x.n_items), seed=0)
    number = draws.n_resamples
    untied = x.n_ties == y.n_ties == 0
    is_cached = untied and type(coefficient.weighting.weigher) in READY_WEIGHERS and number <= MAX_CACHED_RESAMPLES
    slot = cache_slot(x.n_items, coefficient, number, draws.seed) if is_cached else []
    if not slot:
        first, second = _sorted(x), _sorted(y)
        values = _values(coefficient, first, second, draws, exact=exact)
        summary = _summary(values, centred=_is_centred(coefficient, first, second))
        if is_cached:  # read-only, because later callers get the same array
            summary["values"] = np.frombuffer(summary["values"].tobytes())
        slot.append(summary)
    else:
        draws.progress(number)
    return NullDistribution(
        **slot[0], exact=exact, n_resamples=number, **coefficient.computed_fields(x.n_items, missing)
    )


# The cache holds at most 32 distributions of 800 kB. A slot is an empty list that the first complete call fills. So
# workers and progress are not part of the key, and a call that was stopped caches nothing.
MAX_CACHED_RESAMPLES: Final = 100_000


@lru_cache(maxsize=32)
def cache_slot(n_items: int, coefficient: Coefficient, n_resamples: int, seed: int) -> list[dict[str, Any]]:
    """Return the cache slot of the null distribution of two rankings without ties."""
    del n_items, coefficient, n_resamples, seed
    return []


def _summary(values: NDArray[np.float64], *, centred: bool) -> dict[str, Any]:
    """Return the fields of a `NullDistribution` that depend on the values, which are sorted in place."""
    number = values.size
    values.sort()  # nan last
    values = values[: number - np.count_nonzero(np.isnan(values))]
    values.flags.writeable = False
    if values.size == 0:
        return {"values": values, "n_undefined": number, **dict.fromkeys(("mean", "std", "exponent"), math.nan)}
    return {
        "values": values,
        "n_undefined": number - values.size,
        "mean": float(values.mean()),
        "std": float(values.std()),
        "exponent": 0.0 if centred else exponent_of(values),
    }


def _is_centred(coefficient: Coefficient, x: Ranking, y: Ranking) -> bool:
    """Return whether the mean over all permutations of sorted rankings is 0 by symmetry.

    With equal weights it is: the sum of a_ij b_ij is linear in the antisymmetric b, which averages to 0, and the norms
    are fixed. With weights of one ranking alone it is if the other ranking reversed has the same ties: the reversed
    ranking is then one of its permutations, and turns T into -T.
    """
    if type(coefficient.weighting.weigher) is Uniform:
        return True
    other = {"first": y, "second": x}.get(coefficient.weighting.scheme)
    return other is not None and bool((other.ranks + other.ranks[::-1] == other.n_items + 1).all())


def _sorted(ranking: Ranking) -> Ranking:
    """Return the ranking with its items sorted: a null distribution depends only on length and ties."""
    return Ranking.unchecked(np.sort(ranking.ranks), np.arange(ranking.n_items, dtype=np.int32), ranking.n_ties)


def _values(coefficient: Coefficient, x: Ranking, y: Ranking, draws: Draws, *, exact: bool) -> NDArray[np.float64]:
    """Return the coefficient of x with each permutation of y; nan if undefined."""
    coefficient.weighting.tables(x, y.ranks[np.newaxis], y.n_ties > 0)  # raises the errors of the weigher early

    from rankcorr.inference._resampling_kernels import permuted_rows

    def of_random(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        rows = np.empty((size, y.n_items))
        permuted_rows(rng, y.ranks, rows)
        return of_block(rows)

    def of_block(rows: Ranks) -> NDArray[np.float64]:
        rows.setflags(write=False)
        return coefficient.of_rows(x, rows, np.full(len(rows), y.n_ties))

    if not exact:
        return np.concatenate(draws.in_blocks(of_random, y.n_items))
    rows = np.array(list(permutations(y.ranks.tolist())))
    step = BLOCK_NUMBERS // y.n_items
    blocks = [rows[start : start + step] for start in range(0, len(rows), step)]
    return np.concatenate(in_threads(of_block, blocks, draws.workers, draws.progress, len))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PermutationTest(Computed):
    """A coefficient compared with chance.

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
        Percentage of chance values below the coefficient; equal ones count half. See `NullDistribution.percentile`.
    zscore : float
        The coefficient minus the mean of chance values, divided by their standard deviation.
    alternative : str
        "two-sided", "greater" or "less".
    null : NullDistribution
        The distribution of chance values.
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
        """Show the results; the options are shown as part of the null distribution."""
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

    The test is exact up to 8 items, and uses random permutations above. The p-value is valid with any ties, length and
    weights: the null hypothesis is only that every matching of the two rankings is equally likely.

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
        The coefficient is undefined for the two rankings (every result is then nan) or for some permutations (which are
        excluded), or the standardized value is nan because the null distribution `saturates`.

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    null_distribution : The chance values alone.
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
    coefficient_value, draws = as_coefficient(coefficient), Draws.checked(n_resamples, seed, workers, progress)
    check_choice("alternative", alternative, ALTERNATIVES)
    first, second = align(x, y, missing=missing)
    value = coefficient_value.of_pair(first, second)
    null = null_of(coefficient_value, first, second, draws, missing=missing)
    if math.isnan(value):
        warn_undefined(UNDEFINED, stacklevel=3)
    elif null.n_undefined:
        warn_undefined(_why_undefined(null), stacklevel=3)
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
        **coefficient_value.computed_fields(first.n_items, missing),
    )
