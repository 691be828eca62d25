"""Compiled loops for a population of voters: the likelihood of each voter's votes at each level, and of boxes."""

import math
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._rank_kernels import helper, kernel

Array = NDArray[Any]
Votes: TypeAlias = tuple[Array, Array, Array, Array]
"""Left item, right item and winner of each vote, sorted by voter, and the first vote of each voter."""

_FAR: Final = 8.0  # beyond it, the normal distribution function is 0 or 1 to 6e-16
# Gauss-Legendre nodes and weights on [0, 1].
_NODES: Final = (np.polynomial.legendre.leggauss(6)[0] + 1) / 2
_NODE_WEIGHTS: Final = np.polynomial.legendre.leggauss(6)[1] / 2


@helper
def normal_cdf(x: float) -> float:
    """Return the distribution function of the standard normal distribution."""
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


@helper
def prefers_left(z_left: float, z_right: float, sd_left: float, sd_right: float, relatedness: bool) -> float:
    """Return the probability that the opinion on the left item is larger; opinions are normal with mean z.

    With relatedness, abs(x) > abs(y) if x - y and x + y have the same sign. This is a bivariate normal probability,
    computed as an integral over the angle whose sine is the correlation.
    """
    variance = sd_left * sd_left + sd_right * sd_right
    below, above = z_left - z_right, z_left + z_right
    if variance <= 0.0:
        gap = abs(z_left) - abs(z_right) if relatedness else below
        return 0.5 if gap == 0.0 else 1.0 if gap > 0.0 else 0.0
    sd = math.sqrt(variance)
    below, above = below / sd, above / sd
    if not relatedness:
        return normal_cdf(below)
    if abs(below) > _FAR and abs(above) > _FAR:
        return 1.0 if (below > 0.0) == (above > 0.0) else 0.0
    first, second = normal_cdf(below), normal_cdf(above)
    probability = first * second + (1.0 - first) * (1.0 - second)
    correlation = (sd_left * sd_left - sd_right * sd_right) / variance
    if correlation != 0.0 and below * below + above * above < 2.0 * _FAR * _FAR:
        angle = math.asin(correlation)
        total = 0.0
        for k in range(_NODES.size):
            sine = math.sin(angle * _NODES[k])
            total += _NODE_WEIGHTS[k] * math.exp(
                -(below * below - 2.0 * below * above * sine + above * above) / (2.0 * (1.0 - sine * sine))
            )
        probability += angle * total / math.pi
    return min(1.0, max(0.0, probability))


@kernel
def log_likelihoods(
    votes: Votes, similarity: Array, amplitude: Array, relatedness: bool, levels: Array, lapses: Array, out: Array
) -> None:
    """Fill `out`, shape (n_voters, n_levels, n_lapses), with the log-likelihood of each voter's votes.

    A tie counts as half a vote for each side.
    """
    left, right, winner, start = votes
    for v in range(start.size - 1):
        for s in range(levels.size):
            # Products are faster than sums of logarithms, and 24 factors do not underflow.
            product = np.ones(lapses.size)
            total = np.zeros(lapses.size)
            pending = 0
            for k in range(start[v], start[v + 1]):
                i, j = left[k], right[k]
                p = prefers_left(
                    similarity[i], similarity[j], levels[s] * amplitude[i], levels[s] * amplitude[j], relatedness
                )
                p = max(1e-12, min(1.0 - 1e-12, 1.0 - p if winner[k] < 0 else p))
                slope = 1.0 - 2.0 * p
                if winner[k] == 0:
                    for e in range(lapses.size):
                        answered = p + lapses[e] * slope
                        product[e] *= math.sqrt(answered * (1.0 - answered))
                else:
                    for e in range(lapses.size):
                        product[e] *= p + lapses[e] * slope
                pending += 1
                if pending == 24:
                    for e in range(lapses.size):
                        total[e] += math.log(product[e])
                        product[e] = 1.0
                    pending = 0
            for e in range(lapses.size):
                out[v, s, e] = total[e] + math.log(product[e])


@kernel
def box_log_likelihoods(mass: Array, levels: Array, lapses: Array, out: Array) -> None:
    """Fill out[a, b, c, d] with the sum over voters of the log mean likelihood in a box; -inf for an empty box.

    The box extends from edge a to b + 1 of the levels, and from edge c to d + 1 of the lapses. `mass`, shape
    (n_levels + 1, n_lapses + 1, n_voters), is cumulative along its first two axes, so that a box needs only four
    numbers per voter.
    """
    n_levels, n_lapses, n_voters = levels.size - 1, lapses.size - 1, mass.shape[2]
    out[:] = -np.inf
    for a in range(n_levels):
        for b in range(a, n_levels):
            for c in range(n_lapses):
                for d in range(c, n_lapses):
                    scale = 1.0 / ((levels[b + 1] - levels[a]) * (lapses[d + 1] - lapses[c]))
                    total, product, pending = 0.0, 1.0, 0
                    for v in range(n_voters):
                        inside = mass[b + 1, d + 1, v] - mass[a, d + 1, v] - mass[b + 1, c, v] + mass[a, c, v]
                        product *= max(inside * scale, 1e-12)
                        pending += 1
                        if pending == 24:
                            total += math.log(product)
                            product, pending = 1.0, 0
                    out[a, b, c, d] = total + math.log(product)
