"""Compute what uncertain ranks cost tau_w and rho_w: near ranks, from draws, and far ones, by Bayes' rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood import kernel_input
from adaptive.model._strengths import Strengths, rows_of

if TYPE_CHECKING:
    from adaptive.matching._matching_kernels import RankChances
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

    item_ranks, losses = np.empty(order.size), np.empty((3, order.size))
    item_ranks[order] = np.arange(1.0, order.size + 1)
    far_rank_losses(strengths.theta, item_ranks, far, rank_chances(strengths), float(n0), step, losses)
    of_tau, of_rho, aim = losses
    return of_tau, of_rho, aim


def rank_chances(strengths: Strengths) -> RankChances:
    """Return probabilities of ranks, given the votes on each item; time and memory are linear in votes and items.

    Draws hardly ever lift an item far above its rank, but an item with one defeat and no victory, which is probably
    weak, may be the best of all with a small probability. These probabilities follow from the votes on the item, with
    all other strengths fixed at their fitted values:

        P(rank) ~ P(votes on the item | strength fitted to the item of that rank)

    This is Bayes' rule with the fitted strengths as the prior (empirical Bayes). The small probability matters because
    the loss is large: rho_w falls by the square of the distance times the weight of the true rank.
    """
    from adaptive.matching._matching_kernels import RankChances, log_chances

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
    return RankChances(middle + 1.0, stops, levels, chances)


def rank_groups(n_items: int) -> tuple[Array, Array]:
    """Return the starts and stops of groups of ranks, which grow geometrically."""
    stops = [1]
    while stops[-1] < n_items:
        stops.append(min(n_items, max(stops[-1] + 1, int(SPACING * stops[-1]))))
    return np.array([0, *stops[:-1]]), np.array(stops)
