"""Items that may belong far above their place: top items that were lost by an oversight or two.

The posterior of a strength is narrow around the fitted one, but for votes that may be oversights: an item with one
defeat and no victory is most likely weak, and with a small probability it is the best of all. Its own votes tell, all
other strengths being taken as fitted:

    P(rank) ~ P(its votes | the strength that is fitted to the item of that rank)

This is Bayes' rule with the fitted strengths themselves as the prior (empirical Bayes). The small probability counts,
because so much is lost: rho_w falls by the square of the distance times the weight of the true rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model.curvature import Parameters, link_code
from adaptive.model.vote_model import Rows

Array: TypeAlias = NDArray[Any]

# Ranks stand for those up to the next, which is so many times farther down.
SPACING: Final = 1.6


@dataclass(frozen=True, eq=False)
class RankChances:
    """Probabilities of ranks, given an item's own votes.

    Attributes
    ----------
    ranks : ndarray of float64, shape (n_levels,)
        Each stands for some ranks around it: for few at the top, for many below.
    last : ndarray of int64, shape (n_levels,)
        The last rank that each stands for.
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
    def of(cls, rows: Rows, at: Parameters) -> RankChances:
        """Those of fitted strengths; time and memory are linear in votes and items."""
        from adaptive.model.far_rank_kernels import log_chances

        starts, stops = rank_groups(rows.n_items)
        middle = (starts + stops - 1) // 2
        levels = np.sort(at.theta)[::-1][middle]
        chances = np.empty((rows.n_items, middle.size))
        voters = (at.discrimination, at.oversight, at.side, at.nu, link_code(rows), rows.half)
        log_chances(rows.left, rows.right, rows.winner, rows.group, at.theta, *voters, levels, chances)
        chances += np.log(stops - starts)
        chances -= chances.max(axis=1, keepdims=True)
        np.exp(chances, out=chances)
        chances /= chances.sum(axis=1, keepdims=True)
        return cls(middle + 1.0, stops, levels, chances)


def rank_groups(n_items: int) -> tuple[Array, Array]:
    """Where groups of ranks start and stop, which grow geometrically."""
    stops = [1]
    while stops[-1] < n_items:
        stops.append(min(n_items, max(stops[-1] + 1, int(SPACING * stops[-1]))))
    return np.array([0, *stops[:-1]]), np.array(stops)
