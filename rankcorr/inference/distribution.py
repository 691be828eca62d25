"""The coefficients of permuted rankings -> p-values, quantiles, percentiles, and the standardized coefficient."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from rankcorr.batch import RankCorrelations
from rankcorr.checks import check_choice, shown
from rankcorr.errors import OptionError, StandardizationError
from rankcorr.inference.standardization import MAX_EXPONENT, TOLERANCE, standardized
from rankcorr.results import Computed, RankCorrelation, described_by
from rankcorr.scores import is_masked

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]
Scalar: TypeAlias = float | RankCorrelation
Many: TypeAlias = Sequence[float] | NDArray[Any] | RankCorrelations

ALTERNATIVES: Final = ("two-sided", "greater", "less")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NullDistribution(Computed):
    """Values of a coefficient when one ranking is permuted at random: its chance level.

    Attributes
    ----------
    values : ndarray of float64, shape (n_resamples - n_undefined,), read-only
        Coefficients of the permuted rankings, sorted.
    mean, std : float
        Mean and standard deviation of `values`.
    exact : bool
        Whether `values` holds every permutation, once each, or random ones.
    n_resamples : int
        Number of permutations; the factorial of `n_items` if `exact`.
    n_undefined : int
        Number of permutations for which the coefficient is undefined. They are not among `values`, so that the
        distribution is the one given that the coefficient exists. If that is all of them, every figure is nan.
    exponent : float
        l of `standardize`; 0 is the identity, and nan stands for no values at all.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`.
    """

    values: NDArray[np.float64]
    mean: float
    std: float
    exact: bool
    n_resamples: int
    n_undefined: int
    exponent: float

    def __repr__(self) -> str:
        """Show the mean first, and leave out the values and the options that did not take part."""
        names = ["mean", "std", *(field.name for field in fields(self) if field.name != "values")]
        options = {name: getattr(self, name) for name in names}
        return described_by(self, options)

    @overload
    def quantile(self, q: float) -> float: ...
    @overload
    def quantile(self, q: Sequence[float] | NDArray[Any]) -> NDArray[np.float64]: ...
    def quantile(self, q: Any) -> Any:
        """Smallest value that at least the share q of the values does not exceed.

        Parameters
        ----------
        q : float or array_like
            Between 0 and 1.

        Returns
        -------
        float or ndarray
            nan where there are no values.

        Raises
        ------
        OptionError
            A share that is not between 0 and 1.
        """
        shares = _numbers(q)
        if shares is None or not ((shares >= 0) & (shares <= 1)).all():
            raise OptionError(f"q must be a share, a number between 0 and 1; got {shown(q)}")
        if self.values.size == 0:
            return _as_given(np.full(shares.shape, math.nan))
        return _as_given(np.quantile(self.values, shares, method="inverted_cdf"))

    @overload
    def pvalue(self, statistic: Scalar, alternative: Alternative = "two-sided") -> float: ...
    @overload
    def pvalue(self, statistic: Many, alternative: Alternative = "two-sided") -> NDArray[np.float64]: ...
    def pvalue(self, statistic: Any, alternative: Alternative = "two-sided") -> Any:
        """Probability, by chance alone, of a coefficient at least as extreme.

        Where `exact` it is the share of the values that reach the statistic; otherwise (1 + count) / (1 + number of
        values), which counts the statistic itself and is never 0. A value that differs from the statistic by rounding
        alone, at most 1e-12, counts as reaching it.

        The null distribution is skewed, and its mean is not 0. So "two-sided" is twice the smaller of the one-sided
        p-values, at most 1, as in `scipy.stats.permutation_test`; it is not the probability of a larger absolute value.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.
        alternative : {"two-sided", "greater", "less"}
            "greater": better agreement than by chance.

        Returns
        -------
        float or ndarray
            nan for nan, and where there are no values.

        Raises
        ------
        OptionError
            A number outside [-1, 1], a result that does not match, or an unknown alternative.
        """
        check_choice("alternative", alternative, ALTERNATIVES)
        observed = self._checked(statistic)
        below = np.searchsorted(self.values, observed - TOLERANCE, "left")
        less = np.searchsorted(self.values, observed + TOLERANCE, "right")
        greater = self.values.size - below
        counts = {"greater": greater, "less": less, "two-sided": np.minimum(greater, less)}[alternative]
        extra = 0 if self.exact else 1
        shares = (counts + extra) / max(1, self.values.size + extra)
        if alternative == "two-sided":
            shares = np.minimum(1.0, 2 * shares)
        undefined = np.isnan(observed) | (self.values.size == 0)
        return _as_given(np.where(undefined, math.nan, shares))

    @overload
    def standardize(self, statistic: Scalar) -> float: ...
    @overload
    def standardize(self, statistic: Many) -> NDArray[np.float64]: ...
    def standardize(self, statistic: Any) -> Any:
        """Map a coefficient so that chance alone gives 0 on average, and -1 and 1 stay.

        This equates the means of chance and nothing else: how far chance scatters around 0 still depends on the length
        of the lists, their ties and the coefficient. `percentile` and `zscore` say how unusual a value is.

        The map is g(t) = (exp(l t) - cosh l) / sinh l, where l, the `exponent`, solves E[exp(l T)] = cosh l for T with
        this distribution. It is continuous and strictly increasing, g(-1) = -1, g(1) = 1 and E g(T) = 0; it is the
        identity (l = 0) where E T = 0. l < 0 where the mean is negative. `rankcorr.inference.standardization` proves
        all this, and that l exists and is unique unless at least half of the values are -1, or half are 1. No map at
        all has these properties then, and the identity stands in: `exponent` is 0 although `mean` is not.

        Equal weights give E T = 0 by symmetry, and so does the scheme "first" where y reversed has the ties of y, or
        "second" where x reversed has those of x. The identity is then exact, although the mean of random permutations
        is 0 only up to their noise.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.

        Returns
        -------
        float or ndarray
            nan for nan, and where there are no values.

        Raises
        ------
        OptionError
            A number outside [-1, 1], or a result that does not match.
        StandardizationError
            The distribution `saturates`.
        """
        observed = self._checked(statistic)
        if self.saturates:
            raise StandardizationError(self.why_saturated)
        return _as_given(standardized(observed, self.exponent))

    @property
    def saturates(self) -> bool:
        """Whether `standardize` is refused: different coefficients would have the same standardized value.

        Up to an `exponent` of 8 in size, coefficients that differ by 1e-9 have different standardized values. An n0
        near -1 exceeds it, because nearly all values of chance are then near -1.
        """
        return abs(self.exponent) > MAX_EXPONENT

    @property
    def why_saturated(self) -> str:
        """Why `standardize` is refused, where it is."""
        end = "-1" if self.exponent < 0 else "1"
        return (
            f"the values of chance lie so near {end} that standardized values of different coefficients would be equal "
            f"(exponent {self.exponent:.3g}, at most {MAX_EXPONENT:g} in size): use percentile or zscore"
        )

    @overload
    def percentile(self, statistic: Scalar) -> float: ...
    @overload
    def percentile(self, statistic: Many) -> NDArray[np.float64]: ...
    def percentile(self, statistic: Any) -> Any:
        """Percentage of the values of chance that lie below a coefficient; of equal ones half is counted.

        From 0 to 100, as `scipy.stats.percentileofscore` of `values` with ``kind="mean"``. It means the same whatever
        the list, the coefficient and its options: 50 is what chance gives in the middle, 97.5 is exceeded by 2.5 % of
        unrelated rankings. Values that differ by rounding alone, at most 1e-12, are equal.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.

        Returns
        -------
        float or ndarray
            nan for nan, and where there are no values.

        Raises
        ------
        OptionError
            A number outside [-1, 1], or a result that does not match.
        """
        observed = self._checked(statistic)
        below = np.searchsorted(self.values, observed - TOLERANCE, "left")
        up_to = np.searchsorted(self.values, observed + TOLERANCE, "right")
        undefined = np.isnan(observed) | (self.values.size == 0)
        return _as_given(np.where(undefined, math.nan, 50 * (below + up_to) / max(1, self.values.size)))

    @overload
    def zscore(self, statistic: Scalar) -> float: ...
    @overload
    def zscore(self, statistic: Many) -> NDArray[np.float64]: ...
    def zscore(self, statistic: Any) -> Any:
        """How many standard deviations of chance a coefficient lies above the mean of chance: (t - mean) / std.

        Unlike `percentile` it goes on where no value of chance reaches. It is not normally distributed: the values of
        chance are skewed.

        Parameters
        ----------
        statistic : float, array_like, RankCorrelation or RankCorrelations
            Between -1 and 1. A result must be of the same coefficient, options and number of items.

        Returns
        -------
        float or ndarray
            nan for nan, and where there are no values or all of them are equal.

        Raises
        ------
        OptionError
            A number outside [-1, 1], or a result that does not match.
        """
        observed = self._checked(statistic)
        return _as_given((observed - self.mean) / (self.std if self.std > TOLERANCE else math.nan))

    def _checked(self, statistic: Any) -> NDArray[np.float64]:
        if isinstance(statistic, RankCorrelation | RankCorrelations):
            self._check_same(statistic)
            statistic = statistic.statistic
        numbers = _numbers(statistic)
        if numbers is None or (np.abs(numbers) > 1).any():
            raise OptionError(f"a statistic must be a number between -1 and 1; got {shown(statistic)}")
        return numbers

    def _check_same(self, result: RankCorrelation | Computed) -> None:
        # Not `missing`: what counts is the length after alignment.
        names = [field.name for field in fields(Computed) if field.name != "missing"]
        for name in names:
            own, other = getattr(self, name), getattr(result, name)
            if own != other:
                raise OptionError(f"this is the null distribution for {name}={own!r}; got a result with {other!r}")


def _numbers(values: Any) -> NDArray[np.float64] | None:
    """Return real numbers as an array; None for anything else."""
    try:
        numbers = np.asarray(values)
    except ValueError:  # rows of different lengths
        return None
    return numbers.astype(np.float64) if numbers.dtype.kind in "iuf" and not is_masked(values) else None


def _as_given(numbers: NDArray[np.float64]) -> Any:
    """Return a float for a number, and an array for an array."""
    return numbers if numbers.ndim else float(numbers)
