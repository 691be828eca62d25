"""Compute the probability that an item belongs far above its place.

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
