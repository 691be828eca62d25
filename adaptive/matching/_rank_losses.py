"""Compute what uncertain ranks cost tau_w and rho_w: near ranks, from draws, and far ones, by Bayes' rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood import kernel_input
from adaptive.model._strengths import Strengths, rows_of

Array: TypeAlias = NDArray[Any]

SPACING: Final = 1.6  # factor by which groups of ranks grow


def rank_losses(ranks: Array, n0: float) -> tuple[Array, Array]:
    """Return the loss of tau_w and of rho_w by the uncertainty of each item's rank, up to a factor.

    Parameters
    ----------
    ranks : ndarray of float64, shape (n_draws, n_items)
        Rankings drawn from the posterior.
    n0 : float

    Returns
    -------
    tuple of ndarray of float64, shape (n_items,)
        Means over pairs of consecutive draws. For tau_w: the weight of the item times the weight of the ranks in
        between. For rho_w: the weight of the item times the squared difference of the ranks.
    """
    inverse = 1.0 / (ranks + n0)
    weight = inverse * inverse
    n_draws, n_items = ranks.shape
    of_tau, of_rho = np.zeros((2, n_items))
    for a in range(n_draws):  # rows stay in the cache, which takes a third of the time of whole matrices
        b = (a + 1) % n_draws
        both = weight[a] + weight[b]
        # The weights 1 / (n + n0)^2 from rank a to rank b sum to about 1 / (a + n0) - 1 / (b + n0).
        of_tau += np.abs(inverse[a] - inverse[b]) * both
        of_rho += (ranks[a] - ranks[b]) ** 2 * both
    return of_tau / n_draws, of_rho / n_draws


def losses_above(strengths: Strengths, far: Array, order: Array, n0: float, step: float) -> tuple[Array, Array, Array]:
    """Return the expected loss of tau_w and rho_w by items that belong above `far`, and target strengths of opponents.

    A target is halfway to the mean strength above `far`, and at most a `step` above the item's strength.
    """
    from adaptive.matching._matching_kernels import far_rank_losses

    chances, n_items = RankChances.of(strengths), order.size
    item_ranks = np.empty(n_items)
    item_ranks[order] = np.arange(1.0, n_items + 1)
    of_tau, of_rho, aim = np.empty((3, n_items))
    levels = (chances.strengths, chances.ranks, chances.last, chances.chances)
    far_rank_losses(strengths.theta, item_ranks, far, *levels, float(n0), step, of_tau, of_rho, aim)
    return of_tau, of_rho, aim


@dataclass(frozen=True, eq=False)
class RankChances:
    """Probabilities of ranks, given the votes on each item.

    Draws hardly ever lift an item far above its rank, but an item with one defeat and no victory, which is probably
    weak, may be the best of all with a small probability. These probabilities follow from the votes on the item, with
    all other strengths fixed at their fitted values:

        P(rank) ~ P(votes on the item | strength fitted to the item of that rank)

    This is Bayes' rule with the fitted strengths as the prior (empirical Bayes). The small probability matters because
    the loss is large: rho_w falls by the square of the distance times the weight of the true rank.

    Attributes
    ----------
    ranks : ndarray of float64, shape (n_levels,)
        Ranks that each represent a group of ranks around them: small groups at the top, large ones below.
    last : ndarray of int64, shape (n_levels,)
        The last rank of each group.
    strengths : ndarray of float64, shape (n_levels,)
        Strengths fitted to the items of these ranks.
    chances : ndarray of float64, shape (n_items, n_levels)
        Probabilities; each row sums to 1.
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
