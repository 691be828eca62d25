"""Metropolis steps that give a draw from a normal approximation the shape of the posterior itself."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.model.kernels import NORMAL
from rankcorr.kernels import kernel

Array = NDArray[Any]

_TINY = 1e-300


@kernel
def log_chance(winner: int, margin: float, oversight: float, nu: float, link: int, half: bool) -> float:
    """Logarithm of the probability of an answer, as in `vote_terms`, without slopes."""
    if link == NORMAL:
        left, tie, right = 0.5 * math.erfc(-margin / math.sqrt(2.0)), 0.0, 0.5 * math.erfc(margin / math.sqrt(2.0))
    else:
        x = math.exp(-0.5 * abs(margin))  # at most 1: e^(u/2) itself would overflow
        total = 1.0 + nu * x + x * x
        left, tie, right = 1.0 / total, nu * x / total, x * x / total
        if margin < 0.0:
            left, right = right, left
    if winner == 0 and not half:
        return math.log(max(tie, _TINY))
    seen_left = max(left + oversight * (right - left), _TINY)
    seen_right = max(right + oversight * (left - right), _TINY)
    if winner == 0:
        return 0.5 * (math.log(seen_left) + math.log(seen_right))
    return math.log(seen_left if winner > 0 else seen_right)


@kernel
def sweep(
    left: Array,
    right: Array,
    winner: Array,
    group: Array,
    first: Array,
    votes_of: Array,
    discrimination: Array,
    oversight: Array,
    side: Array,
    nu: float,
    link: int,
    half: bool,
    scale: float,
    degrees: float,
    width: Array,
    offset: Array,
    n_sweeps: int,
    rng: np.random.Generator,
    theta: Array,
) -> None:
    """Change `theta` by Metropolis steps, one strength at a time.

    The votes of item i are `votes_of[first[i]:first[i + 1]]`; `offset` is what opinions add to each difference. The
    prior is Student's t with so many degrees of freedom, `scale` wide; flat where `scale` is infinite.
    """
    now, ahead = np.empty(left.size), np.empty(left.size)
    for k in range(left.size):
        v = group[k]
        margin = discrimination[v] * (theta[left[k]] - theta[right[k]] + offset[k]) + side[v]
        now[k] = log_chance(winner[k], margin, oversight[v], nu, link, half)
    spread = degrees * scale * scale
    for _ in range(n_sweeps):
        for i in range(theta.size):
            moved = theta[i] + width[i] * rng.standard_normal()
            gain = 0.5 * (degrees + 1.0) * math.log((1.0 + theta[i] ** 2 / spread) / (1.0 + moved * moved / spread))
            for place in range(first[i], first[i + 1]):
                k = votes_of[place]
                v = group[k]
                difference = moved - theta[right[k]] if left[k] == i else theta[left[k]] - moved
                margin = discrimination[v] * (difference + offset[k]) + side[v]
                ahead[k] = log_chance(winner[k], margin, oversight[v], nu, link, half)
                gain += ahead[k] - now[k]
            if gain >= 0.0 or rng.random() < math.exp(gain):
                theta[i] = moved
                for place in range(first[i], first[i + 1]):
                    now[votes_of[place]] = ahead[votes_of[place]]
