"""Compute what the uncertain rank of each item costs: near its place by draws, far above it by its own votes.

The draws hardly ever lift an item far above its place, yet an oversight or two may push a top item down. An item with
one defeat and no victory is most likely weak, and with a small probability the best of all. The probabilities follow
from the item's own votes, with all other strengths fixed at their fitted values:

    P(rank) ~ P(its votes | the strength that is fitted to the item of that rank)

This is Bayes' rule with the fitted strengths themselves as the prior (empirical Bayes). The small probability matters
because the loss is large: rho_w falls by the square of the distance times the weight of the true rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood import kernel_input
from adaptive.model._strengths import Strengths, rows_of

Array: TypeAlias = NDArray[Any]

# Each rank represents those up to the next, which is this many times farther down.
SPACING: Final = 1.6


def rank_losses(ranks: Array, n0: float) -> tuple[Array, Array]:
    """Return the loss of tau_w and rho_w by the uncertainty of each item's rank, up to a factor.

    Parameters
    ----------
    ranks : ndarray of float64, shape (n_draws, n_items)
        Rankings drawn from the posterior.
    n0 : float

    Returns
    -------
    tuple of ndarray of float64, shape (n_items,)
        Means over pairs of neighbouring draws. For tau_w, the item's weight times the weight of the ranks between; for
        rho_w, its weight times the squared difference of the ranks.
    """
    inverse = 1.0 / (ranks + n0)
    weight = inverse * inverse
    n_draws, n_items = ranks.shape
    of_tau, of_rho = np.zeros((2, n_items))
    for a in range(n_draws):  # row by row, which stays in the cache: a third of the time of whole matrices
        b = (a + 1) % n_draws
        both = weight[a] + weight[b]
        # The weights 1 / (n + n0)^2 from rank a to rank b sum to about 1 / (a + n0) - 1 / (b + n0).
        of_tau += np.abs(inverse[a] - inverse[b]) * both
        of_rho += (ranks[a] - ranks[b]) ** 2 * both
    return of_tau / n_draws, of_rho / n_draws


def losses_above(strengths: Strengths, far: Array, order: Array, n0: float, step: float) -> tuple[Array, Array, Array]:
    """Return the cost to tau_w and rho_w of items that belong at strengths above `far`, and the strengths to aim at.

    These are halfway to the mean strength there, and at most a `step` above the item's own.
    """
    from adaptive.matching._matching_kernels import far_rank_losses

    chances, n_items = RankChances.of(strengths), order.size
    own_ranks = np.empty(n_items)
    own_ranks[order] = np.arange(1.0, n_items + 1)
    of_tau, of_rho, aim = np.empty((3, n_items))
    levels = (chances.strengths, chances.ranks, chances.last, chances.chances)
    far_rank_losses(strengths.theta, own_ranks, far, *levels, float(n0), step, of_tau, of_rho, aim)
    return of_tau, of_rho, aim


@dataclass(frozen=True, eq=False)
class RankChances:
    """Probabilities of ranks, given an item's own votes.

    Attributes
    ----------
    ranks : ndarray of float64, shape (n_levels,)
        Each represents a group of ranks around it: small groups at the top, large ones below.
    last : ndarray of int64, shape (n_levels,)
        The last rank of each group.
    strengths : ndarray of float64, shape (n_levels,)
        Fitted to the items of these ranks.
    chances : ndarray of float64, shape (n_items, n_levels)
        The rows sum to 1.
    """

    ranks: Array
    last: Array
    strengths: Array
    chances: Array

    @classmethod
    def of(cls, strengths: Strengths) -> RankChances:
        """Compute the probabilities from fitted strengths; time and memory are linear in votes and items."""
        from adaptive.matching._matching_kernels import log_chances

        rows, at = rows_of(strengths.comparisons, strengths.model), strengths.parameters
        starts, stops = rank_groups(rows.n_items)
        middle = (starts + stops - 1) // 2
        levels = np.sort(at.theta)[::-1][middle]
        chances = np.empty((rows.n_items, middle.size))
        log_chances(*kernel_input(rows, at), at.theta, levels, chances)
        chances += np.log(stops - starts)
        chances -= chances.max(axis=1, keepdims=True)
        np.exp(chances, out=chances)
        chances /= chances.sum(axis=1, keepdims=True)
        return cls(middle + 1.0, stops, levels, chances)


def rank_groups(n_items: int) -> tuple[Array, Array]:
    """Return the starts and stops of groups of ranks, which grow geometrically."""
    stops = [1]
    while stops[-1] < n_items:
        stops.append(min(n_items, max(stops[-1] + 1, int(SPACING * stops[-1]))))
    return np.array([0, *stops[:-1]]), np.array(stops)
