"""The map that standardizes a coefficient: it moves the mean of chance values to 0, and keeps -1 and 1.

For a random variable T in [-1, 1] and a number l, the exponent, the map is

    g(t) = (exp(l t) - cosh l) / sinh l,    and g(t) = t for l = 0,

with l such that E g(T) = 0, that is E exp(l T) = cosh l. It has one parameter. Lombardo 2025 (arXiv:2504.08428)
proposes such a standardization, with a piecewise quadratic map of several parameters.

Proof of its properties. Let s = (1 + t)/2, which runs from 0 to 1. Since cosh l - exp(-l) = sinh l,

    g(t) = 2 u(s) - 1,    u(s) = (exp(2 l s) - 1) / (exp(2 l) - 1) = int_0^s exp(2 l r) dr / int_0^1 exp(2 l r) dr.

1. In t. u is the distribution function of a positive density on [0, 1], so it is continuous and strictly increasing,
   with u(0) = 0 and u(1) = 1. Hence g is continuous and strictly increasing, g(-1) = -1 and g(1) = 1.
2. In l. For l < l' the ratio of the two densities is a multiple of exp(2 (l' - l) r), which increases: the density of
   l' is the smaller one up to some r and the larger one after it. So its distribution function is strictly smaller
   wherever 0 < s < 1. Thus g(t), for any t with -1 < t < 1, is continuous in l (at 0 too) and strictly decreasing; it
   tends to 1 as l -> -inf, and to -1 as l -> inf.
3. The root. Let F(l) = E g(T). If P(-1 < T < 1) > 0, F is continuous and strictly decreasing, from 1 - 2 P(T = -1) at
   -inf to 2 P(T = 1) - 1 at inf (bounded convergence), and F(0) = E T. So if neither -1 nor 1 has half of the
   probability or more, F has exactly one root. It is negative if E T < 0, positive if E T > 0, and 0 if E T = 0: then g
   is the identity. Because F(l) sinh l = E exp(l T) - cosh l, the equation E exp(l T) = cosh l has this root and l = 0,
   and no other.
4. No root. Let P(T = -1) >= 1/2 and E T != 0, so that E T < 0. Any strictly increasing map with g(-1) = -1 and
   g(1) = 1 has E g(T) <= P(T > -1) - P(T = -1) <= 0, and both are equalities only if -1 and 1 have half of the
   probability each, which would make E T = 0. So no map, of this form or any other, has the properties. The same
   argument holds for P(T = 1) >= 1/2. Hence no map moves the mean of a T whose only values are -1 and 1. The exponent
   is then 0, and the mean stays as it is.

In floating point, g is flat if |l| is large: for l < 0 the slope falls to 2 |l| exp(-2 |l|) at t = 1. Up to
`MAX_EXPONENT` it is at least 1.8e-6, so that values of t that differ by `RESOLUTION` have values of g that differ by
several units in the last place. Larger exponents are refused. They occur with offsets n0 near -1: the coefficient then
depends only on whether the first items agree, and nearly all chance values are near -1.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from rankcorr._input.numbers import ROUNDING

BLOCK: Final = 1 << 15
MAX_EXPONENT: Final = 8.0
RESOLUTION: Final = 1e-9


def standardize(statistics: NDArray[np.float64], exponents: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Apply the map g of the module docstring, without overflow or loss of digits for any exponent.

    Parameters
    ----------
    statistics : ndarray of float64
        Between -1 and 1, or nan, which stays nan.
    exponents : float or ndarray of float64
        l, of any size and sign; the shapes of the two broadcast.

    Examples
    --------
    >>> standardize(np.array([-1.0, -0.5, 1.0]), -1.0).round(4)
    array([-1.    , -0.0899,  1.    ])
    >>> standardize(np.array([-0.5, -0.5]), np.array([0.0, -1.0])).round(4)
    array([-0.5   , -0.0899])
    """
    sizes = np.abs(exponents)
    is_identity = sizes < 1e-17  # g(t) differs from t by at most |l|/2; a subnormal l would lose digits
    has_identity = np.count_nonzero(is_identity) > 0  # for one exponent, ten times as fast as any()
    if has_identity:
        sizes = np.where(is_identity, 1.0, sizes)
    # u(s) as a ratio of two numbers in (-1, 0], for both signs of l.
    shares = np.expm1(-sizes * (1 + statistics)) / np.expm1(-2 * sizes)
    if np.count_nonzero(np.greater(exponents, 0.0)):
        shares *= np.exp(-np.maximum(exponents, 0.0) * (1 - statistics))
    mapped = 2 * shares - 1
    return np.where(is_identity, statistics, mapped) if has_identity else np.asarray(mapped)


def mean_standardized(values: NDArray[np.float64], exponent: float) -> float:
    """Return the mean of g over equally likely values, computed in blocks to limit memory."""
    starts = range(0, values.size, BLOCK)
    return math.fsum(standardize(values[i : i + BLOCK], exponent).sum() for i in starts) / values.size


def exponent_of(values: NDArray[np.float64]) -> float:
    """Return the non-zero root l of E exp(l T) = cosh l, where T takes each of the values with equal probability.

    The result is 0 if E T = 0 up to `ROUNDING`, and if no map exists (point 4 of the module docstring).

    Examples
    --------
    >>> round(exponent_of(np.array([-0.75, -0.5, 0.5])), 4)
    -0.7669
    """
    mean = mean_standardized(values, 0.0)
    limit = math.copysign(1.0, mean)
    if abs(mean) <= ROUNDING or 2 * np.count_nonzero(limit * values >= 1 - ROUNDING) >= values.size:
        return 0.0
    from scipy.optimize import brentq

    # By point 3 the loop ends: at |l| = 40/ROUNDING, g is -limit at every value except those counted above.
    near, far = 0.0, limit
    while limit * mean_standardized(values, far) > 0:
        near, far = far, 2 * far
    # The exponent may be tiny, so only the relative tolerance should matter; the absolute one is the smallest possible.
    root = brentq(
        lambda exponent: mean_standardized(values, exponent), near, far, xtol=5e-324, rtol=4 * np.finfo(float).eps
    )
    return float(root)
