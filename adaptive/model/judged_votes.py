"""Votes of one voter against the strengths that the others' votes give: agreement, and odds of coin flips."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model.comparisons import Comparisons
from adaptive.model.curvature import Curvature
from adaptive.model.estimators import n_unbounded
from adaptive.model.strengths import Strengths
from rankcorr.checks import shown

Array: TypeAlias = NDArray[Any]

_NODES: Final = 7  # of Gauss and Hermite, over log a
_OVERSIGHT_TAILS: Final = (1 / 6, 1 / 2, 5 / 6)


def votes_of_voters(strengths: Strengths) -> tuple[Comparisons, Array]:
    """Votes that strengths were fitted to, and the voter of each; ModelError where voters are not known."""
    if not isinstance(strengths, Strengths):
        raise ModelError(f"voters are judged by Strengths; got {shown(strengths)}")
    votes = strengths.comparisons
    if votes.voter is None:
        raise ModelError("voters are judged by votes whose voters are known; these have no column of voters")
    return votes, votes.voter


def are_bounded(strengths: Strengths, others: Comparisons) -> bool:
    """Whether strengths fitted like these to other votes are finite; under a prior they always are."""
    return strengths.prior.sd != math.inf or n_unbounded(others) == 1


def wilson_interval(share: float, n: float, z: float) -> tuple[float, float]:
    """Interval of Wilson (1927) for a share of n votes, of z standard errors on either side.

    Examples
    --------
    >>> low, high = wilson_interval(0.5, 4, 1.96)
    >>> round(low, 3), round(high, 3)
    (0.15, 0.85)
    """
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # Rounding would put the end of an interval that begins at 0 or ends at 1 on the wrong side.
    return min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half))


def step_without(strengths: Strengths, left_out: Array) -> Array:
    """Strengths without some of the votes, by one Newton step from the fit."""
    curved, at = strengths.curvature, strengths.parameters
    rows = curved.rows
    kept = curved.weight.copy()
    kept[left_out] = 0.0
    slope, diagonal = curved.slope.copy(), curved.diagonal.copy()
    own_slope = at.discrimination[rows.group[left_out]] * curved.score[left_out]
    for side, sign in ((rows.left[left_out], 1.0), (rows.right[left_out], -1.0)):
        np.subtract.at(slope, side, sign * own_slope)
        np.subtract.at(diagonal, side, curved.weight[left_out])
    # An item of this voter alone keeps the prior's curvature; without a prior it keeps a little, and its place.
    diagonal = np.maximum(diagonal, max(curved.precision, 1e-9))
    alone = np.stack([diagonal - curved.precision] * 2)
    reduced = Curvature(rows, curved.precision, math.nan, curved.score, slope, np.stack([kept] * 2), alone)
    step = reduced.solve(slope - curved.precision * at.theta, 1e-4)
    return at.theta if step is None else at.theta + np.clip(step, -4.0, 4.0)


@dataclass(frozen=True, eq=False)
class JudgedVotes:
    """Votes of one voter that are no ties, against the strengths of the others."""

    chose: Array  # 1 for left, -1 for right
    margin: Array
    variance: Array

    @classmethod
    def of(cls, strengths: Strengths, theta: Array, own: Array) -> JudgedVotes:
        """Votes in the rows `own` that are no ties, by the strengths `theta`."""
        votes = strengths.comparisons
        own = own[votes.winner[own] != 0]
        left, right = votes.left[own], votes.right[own]
        diagonal = strengths.curvature.diagonal
        return cls(
            votes.winner[own].astype(np.float64), theta[left] - theta[right], 1 / diagonal[left] + 1 / diagonal[right]
        )

    @property
    def n_decided(self) -> int:
        """Votes on pairs that the strengths do not tie."""
        return int(np.count_nonzero(self.margin))

    @property
    def n_agreed(self) -> int:
        """Votes for the stronger item."""
        return int(np.count_nonzero(self.chose * self.margin > 0))

    def chances(self, strengths: Strengths, discrimination: float, oversight: float, margin: Array) -> Array:
        """P(left), given no tie, averaged over normal errors of the strengths."""
        from scipy.special import expit, ndtr

        a, normal = discrimination, strengths.model.link == "normal"
        # MacKay (1992): the mean of a logistic curve over normal errors is nearly a logistic curve.
        scale = np.sqrt(1.0 + (1.0 if normal else math.pi / 8) * a * a * self.variance)
        likely = (ndtr if normal else expit)((a * margin + strengths.side_bias) / scale)
        return np.asarray(likely + oversight * (1 - 2 * likely))

    def expected(self, strengths: Strengths) -> float:
        """Mean probability of an average voter to agree."""
        decided = self.margin != 0
        likely = self.chances(strengths, 1.0, strengths.oversight, self.margin)
        return float(np.where(self.margin > 0, likely, 1 - likely)[decided].mean())

    def random(self, strengths: Strengths, share: float) -> float:
        """Posterior probability of coin flips."""
        from scipy.special import betaincinv, expit, logsumexp

        nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        e, worth = strengths.oversight, strengths.prior.oversight_votes
        rates = [float(betaincinv(worth * e, worth * (1 - e), tail)) for tail in _OVERSIGHT_TAILS] if e > 0 else [0.0]
        logs, sizes = [], []
        for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
            for rate in rates:
                left = self.chances(strengths, math.exp(strengths.prior.discrimination_sd * node), rate, self.margin)
                logs.append(float(np.log(np.maximum(np.where(self.chose > 0, left, 1 - left), 1e-300)).sum()))
                sizes.append(weight)
        model = float(logsumexp(logs, b=np.array(sizes) / sum(sizes)))
        coin = -math.log(2.0) * self.chose.size
        return float(expit(coin - model + math.log(share / (1 - share))))
