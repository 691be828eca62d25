"""The loops over votes and ranks behind the chances of items to belong far above their place."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.model.posterior_kernels import chance
from rankcorr.kernels import kernel

Array = NDArray[Any]


@kernel
def log_chances(
    left: Array,
    right: Array,
    winner: Array,
    group: Array,
    theta: Array,
    discrimination: Array,
    oversight: Array,
    side: Array,
    nu: float,
    link: int,
    half: bool,
    levels: Array,
    logs: Array,
) -> None:
    """Set ``logs[i, g]`` to the log probability of the votes on item i, were its strength ``levels[g]``."""
    products = np.ones(logs.shape)
    logs[:] = 0.0
    for k in range(left.size):
        v, answer = group[k], winner[k]
        a = discrimination[v]
        for turn in range(2):
            item = left[k] if turn == 0 else right[k]
            for g in range(levels.size):
                difference = levels[g] - theta[right[k]] if turn == 0 else theta[left[k]] - levels[g]
                products[item, g] *= chance(answer, a * difference + side[v], oversight[v], nu, link, half)
                if products[item, g] < 1e-200:  # one logarithm for many votes
                    logs[item, g] += math.log(max(products[item, g], 1e-300))
                    products[item, g] = 1.0
    for i in range(logs.shape[0]):
        for g in range(levels.size):
            logs[i, g] += math.log(products[i, g])


@kernel
def far_doubts(
    theta: Array,
    own_ranks: Array,
    far: Array,
    levels: Array,
    ranks: Array,
    last: Array,
    chances: Array,
    n0: float,
    step: float,
    of_tau: Array,
    of_rho: Array,
    aim: Array,
) -> None:
    """Set what each item costs tau_w and rho_w that belongs to a level above ``far[i]``, times the chance that it does.

    The level that stands for the item's own rank is none of them.

    Costs are those of `rank_doubts`. ``aim[i]`` gets the strength that an opponent should have: half the way to the
    mean level, by cost, but at most `step` above the item.
    """
    for i in range(theta.size):
        own = 1.0 / (own_ranks[i] + n0)
        tau, rho, height = 0.0, 0.0, 0.0
        for g in range(levels.size):  # they fall
            if levels[g] <= far[i] or last[g] >= own_ranks[i]:
                break
            other = 1.0 / (ranks[g] + n0)
            both = chances[i, g] * (own * own + other * other)
            away = own_ranks[i] - ranks[g]
            tau += both * abs(other - own)
            rho += both * away * away
            height += both * away * away * (levels[g] - theta[i])
        of_tau[i], of_rho[i] = tau, rho
        aim[i] = theta[i] + (min(step, 0.5 * height / rho) if rho > 0.0 else 0.0)
