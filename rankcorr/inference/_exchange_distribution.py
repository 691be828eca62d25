"""The exchange test of the difference of two systems, its interval, and the smallest difference that it can detect.

Let d be the difference of two systems and d* the difference after the systems have exchanged a random half of their
items or queries. If the systems are exchangeable, d is one of the d*. The share of exchanges with |d*| >= |d| is the
two-sided p-value.

The interval contains each difference D that the same test does not reject. Let m be the share of items kept minus the
share exchanged. If the first system is better by D, spread evenly over the items, an exchange leaves m D of it, so
d - D is compared with d* - m D. An exchange is at least as extreme as the observation if D lies between

    (d - d*) / (1 - m)   and   (d + d*) / (1 + m),

For means over queries, these are the mean differences over the exchanged half and over the other half. The ends of the
interval are therefore quantiles of subsample means, the typical values of Hartigan (1969). At D = 0 the interval and
the p-value agree by construction.

If exchanges have two scales (`rankcorr.inference._exchange`), the p-value is the larger one of the two, and the
interval covers both.
"""

import math
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import Alternative, alpha_of
from rankcorr._input.numbers import DECIMALS, ROUNDING
from rankcorr._workers import Values

MAX_EXACT: Final = 12  # items or queries with 4,096 exchanges
POWER: Final = 0.8  # of a difference that is called detectable
FloatOrValues = TypeVar("FloatOrValues", float, NDArray[np.float64])


def power_margin(freedom: FloatOrValues) -> FloatOrValues:
    """Return the factor that an estimated detectable difference is multiplied by, so that its mean power is `POWER`.

    The noise is estimated from few values. An estimate that is too small loses more power than one that is too large
    gains. For t tests of normal differences, this factor brings the mean power to within 0.01 of `POWER` from 6 values
    on.
    """
    return 1 + 0.9 / freedom


# Number of enumerated exchanges that are used as data without a difference; with 32, the power changes by 0.01.
MOST_NULLS: Final = 64


@dataclass(frozen=True, eq=False, slots=True)
class ExchangeDistribution:
    """The difference of two systems, and its values after exchanges.

    Attributes
    ----------
    observed : float
        The difference before any exchange.
    differences : ndarray of float64, shape (n_scales, n_exchanges)
        The difference after each exchange; nan if undefined, which counts as at least as extreme.
    net_shares : ndarray of float64, shape (n_exchanges,)
        Share of the items that stay minus the share exchanged, from -1 to 1.
    is_exact : bool
        Whether these are all exchanges, with equal probabilities.
    """

    observed: float
    differences: Values
    net_shares: Values
    is_exact: bool

    @property
    def n_undefined(self) -> int:
        """Return the number of exchanges that leave the difference undefined."""
        return int(np.isnan(self.differences).sum(axis=1).max())

    def pvalue(self, alternative: Alternative = "two-sided") -> float:
        """Return the share of exchanges with a difference at least as extreme; the observed one is counted."""
        lows, highs = self._difference_ranges(alternative)
        return float(self._pvalue_of_count(np.sum((lows <= 0) & (highs >= 0), axis=1).max()))

    def interval(
        self, level: float, alternative: Alternative = "two-sided", bound: float = math.inf
    ) -> tuple[float, float]:
        """Return the range of differences, within -bound and bound, that the test does not reject at 1 - level."""
        lows, highs = self._difference_ranges(alternative)
        number, alpha = self.net_shares.size, alpha_of(level)
        # The smallest number of extreme exchanges with which the test does not reject.
        least = int(np.argmax(self._pvalue_of_count(np.arange(number + 1)) > alpha))
        if least == 0:
            return -bound, bound
        low = float(np.partition(lows, least - 1, axis=1)[:, least - 1].min())
        high = float(np.partition(highs, number - least, axis=1)[:, number - least].max())
        return min(max(low, -bound), bound), max(min(high, bound), -bound)

    def detectable(self, level: float, bound: float = math.inf) -> float:
        """Return the smallest true difference that the two-sided test detects with power 0.8; nan if above bound.

        The observed difference, spread evenly over the items, is first subtracted from the exchanges, so that the
        result does not grow with it. If all exchanges are enumerated, each of them serves as data without a true
        difference, whose own exchanges are the same values. Such data plus a difference D are significant if D exceeds
        the end of their interval: the result is the 0.8 quantile of these ends. If exchanges were drawn, the result is
        the smallest significant difference plus the 0.8 quantile of a normal distribution times the standard deviation
        of the exchanges. Both are multiplied by `power_margin`, because few values estimate their noise poorly.
        """
        spread = float((self.net_shares**2).mean())  # 1 / n items or queries
        if spread >= 1:
            return math.nan
        # The mean square of n centred values underestimates the variance.
        scale = power_margin(1 / spread - 1) / math.sqrt(1 - spread) if spread else 1.0
        noise = scale * (self.differences - self.observed * self.net_shares)
        ends = []
        for row in noise:
            known = row[~np.isnan(row)]
            if not known.size or np.abs(known).max() <= ROUNDING * scale:
                return math.nan
            ends.append(self._enumerated_end(row, level) if self.is_exact else _normal_end(known, level, spread))
        least = max(ends)
        return least if least < bound and math.isfinite(least) else math.nan

    def _enumerated_end(self, noise: Values, level: float) -> float:
        """Return the 0.8 quantile of the interval ends of data that differ by chance alone."""
        # The first half has one of each exchange and its complement. The two are mirror images, so their intervals have
        # the same two ends. The absolute values in the first half stay the same if the two systems are swapped.
        half, codes = noise.size // 2, np.arange(noise.size)
        size = min(half, MOST_NULLS)
        # Evenly spaced among all absolute values, so that the order of items or queries does not matter.
        places = ((np.arange(size) + 0.5) * half / size).astype(np.intp)
        spaced = np.argsort(np.round(np.abs(noise[:half]), DECIMALS), kind="stable")[places]
        ends = []
        for code in spaced.tolist():
            null = ExchangeDistribution(float(noise[code]), noise[np.newaxis, codes ^ code], self.net_shares, True)
            low, high = null.interval(level) if not math.isnan(null.observed) else (-math.inf, math.inf)
            ends += [-low, high]
        return float(np.quantile(ends, POWER, method="inverted_cdf"))

    def _pvalue_of_count(self, count: Any) -> Any:
        return count / self.net_shares.size if self.is_exact else (1 + count) / (1 + self.net_shares.size)

    def _difference_ranges(self, alternative: Alternative) -> tuple[Values, Values]:
        """Return the range of true differences for which each exchange is at least as extreme as the observation."""
        with np.errstate(divide="ignore", invalid="ignore"):
            exchanged_means = _round_to_zero(self.observed - self.differences) / (1 - self.net_shares)
            other_means = _round_to_zero(self.observed + self.differences) / (1 + self.net_shares)
        # For any D, keeping everything gives the difference itself, and exchanging everything its negative.
        largest_shares = np.abs(self.net_shares) if alternative == "two-sided" else self.net_shares
        is_always = np.isnan(self.observed - self.differences) | (1 - largest_shares <= ROUNDING)
        infinite = np.full(exchanged_means.shape, math.inf)
        if alternative == "greater":
            lows, highs = exchanged_means, infinite
        elif alternative == "less":
            lows, highs = -infinite, exchanged_means
        else:
            lows, highs = np.minimum(exchanged_means, other_means), np.maximum(exchanged_means, other_means)
        return np.where(is_always, -math.inf, lows), np.where(is_always, math.inf, highs)


def _normal_end(noise: Values, level: float, spread: float) -> float:
    """Return the smallest significant difference plus the margin for power 0.8; inf if no difference is significant."""
    from scipy.special import ndtri

    critical, variance = float(np.quantile(np.abs(noise), level)), float((noise**2).mean())
    # A true difference D adds D^2 to the mean square of the n values, which widens the distribution of exchanges.
    remainder = 1 - critical**2 / variance * spread
    if remainder <= 0:
        return math.inf
    return critical / math.sqrt(remainder) + float(ndtri(POWER)) * math.sqrt(variance)


def all_swaps(n_items: int) -> NDArray[np.uint8]:
    """Return every choice of items to swap, shape (2^n_items, n_items)."""
    codes = np.arange(2**n_items, dtype=np.uint32)[:, np.newaxis]
    return (codes >> np.arange(n_items, dtype=np.uint32) & 1).astype(np.uint8)


def _round_to_zero(values: Values) -> Values:
    return np.where(np.abs(values) <= ROUNDING, 0.0, values)
