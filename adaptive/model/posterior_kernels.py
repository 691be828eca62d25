"""A Markov chain over strengths and the shape of their prior, which starts from a normal approximation."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.model.kernels import NORMAL
from rankcorr.kernels import kernel

Array = NDArray[Any]

_TINY = 1e-300
_FAR = 1e100  # a product is taken into its logarithm before it can leave the range of floats


@kernel
def chance(winner: int, margin: float, oversight: float, nu: float, link: int, half: bool) -> float:
    """Probability of an answer, as in `vote_terms`, without slopes."""
    if link == NORMAL:
        left, tie, right = 0.5 * math.erfc(-margin / math.sqrt(2.0)), 0.0, 0.5 * math.erfc(margin / math.sqrt(2.0))
    else:
        x = math.exp(-0.5 * abs(margin))  # at most 1: e^(u/2) itself would overflow
        total = 1.0 + nu * x + x * x
        left, tie, right = 1.0 / total, nu * x / total, x * x / total
        if margin < 0.0:
            left, right = right, left
    if winner == 0 and not half:
        return max(tie, _TINY)
    seen_left = max(left + oversight * (right - left), _TINY)
    seen_right = max(right + oversight * (left - right), _TINY)
    if winner == 0:
        return math.sqrt(seen_left) * math.sqrt(seen_right)
    return seen_left if winner > 0 else seen_right


@kernel
def log_shape(theta: Array, mode: float, below: float, above: float, degrees: float) -> float:
    """Logarithm of the density of strengths under a two-piece Student's t, up to a constant; O(n) and few logarithms.

    Its scale is `below` on the lower side of the mode and `above` on the upper one.
    """
    total, product = 0.0, 1.0
    for i in range(theta.size):
        away = (theta[i] - mode) / (below if theta[i] < mode else above)
        product *= 1.0 + away * away / degrees
        if product > _FAR:
            total += math.log(product)
            product = 1.0
    total += math.log(product)
    return -0.5 * (degrees + 1.0) * total - theta.size * math.log(below + above)


@kernel
def log_width_prior(logarithm: float, width: float, spread: float) -> float:
    """Log density of the logarithm of a scale: normal around that of `width`, which it cannot exceed."""
    if logarithm > math.log(width):
        return -math.inf
    away = (logarithm - math.log(width)) / spread
    return -0.5 * away * away


@kernel
def change_shape(
    theta: Array, shape: Array, degrees: float, width: float, spread: float, rng: np.random.Generator
) -> None:
    """Change mode and logarithms of the two scales by a Metropolis step each."""
    step = 2.0 / math.sqrt(4.0 + theta.size)
    trial = shape.copy()
    now = log_shape(theta, shape[0], math.exp(shape[1]), math.exp(shape[2]), degrees)
    for k in range(3):
        # A step of the mode that depended on the scales would still be symmetric, since those stay in it.
        scale = 0.5 * (math.exp(shape[1]) + math.exp(shape[2])) if k == 0 else 2.0
        trial[k] = shape[k] + step * scale * rng.standard_normal()
        gain = 0.0
        if k > 0:
            gain = log_width_prior(trial[k], width, spread) - log_width_prior(shape[k], width, spread)
        if gain > -math.inf:
            ahead = log_shape(theta, trial[0], math.exp(trial[1]), math.exp(trial[2]), degrees)
            gain += ahead - now
            if gain >= 0.0 or rng.random() < math.exp(gain):
                shape[k], now = trial[k], ahead
        trial[k] = shape[k]


@kernel
def change_opinions(
    left: Array,
    right: Array,
    winner: Array,
    group: Array,
    discrimination: Array,
    oversight: Array,
    side: Array,
    nu: float,
    link: int,
    half: bool,
    start: Array,
    sides: Array,
    spread: Array,
    theta: Array,
    opinion: Array,
    offset: Array,
    now: Array,
    ahead: Array,
    rng: np.random.Generator,
) -> None:
    """Change each shared opinion by a Metropolis step; `offset` and `now` follow.

    Opinion k moves the votes `sides[start[k]:start[k + 1]] >> 1`, on the left side where the last bit is 0.
    """
    for k in range(opinion.size):
        change = 1.5 * spread[k] * rng.standard_normal()
        moved = opinion[k] + change
        gain = 0.5 * (opinion[k] * opinion[k] - moved * moved) / (spread[k] * spread[k])
        for place in range(start[k], start[k + 1]):
            vote = sides[place] >> 1
            v = group[vote]
            own = offset[vote] + (change if sides[place] & 1 == 0 else -change)
            margin = discrimination[v] * (theta[left[vote]] - theta[right[vote]] + own) + side[v]
            ahead[vote] = chance(winner[vote], margin, oversight[v], nu, link, half)
            gain += math.log(ahead[vote] / now[vote])
        if gain >= 0.0 or rng.random() < math.exp(gain):
            opinion[k] = moved
            for place in range(start[k], start[k + 1]):
                vote = sides[place] >> 1
                offset[vote] += change if sides[place] & 1 == 0 else -change
                now[vote] = ahead[vote]


@kernel
def exchange(
    theta: Array,
    opinion: Array,
    spread: Array,
    of_item: Array,
    shape: Array,
    degrees: float,
    shaped: bool,
    rng: np.random.Generator,
) -> Array:
    """Move each strength against all shared opinions on the item by as much; what each item moved by.

    Votes of an item rest on the sums alone. Where all of them rest on shared opinions, these steps are the ones that
    go far; else the change is that of the votes which do not, and no step is made.
    """
    n_items = theta.size
    precision, sums = np.zeros(n_items), np.zeros(n_items)
    for k in range(opinion.size):
        i = of_item[k]
        if i >= 0:
            precision[i] += 1.0 / (spread[k] * spread[k])
            sums[i] += opinion[k] / (spread[k] * spread[k])
    change = np.zeros(n_items)
    mode, below, above = shape[0], math.exp(shape[1]), math.exp(shape[2])
    for i in range(n_items):
        if precision[i] == 0.0:
            continue
        # Of the opinions alone, the change is normal around the mean of opinions: it is drawn from that.
        trial = sums[i] / precision[i] + rng.standard_normal() / math.sqrt(precision[i])
        gain = 0.0
        if shaped:
            moved = theta[i] + trial
            before = (theta[i] - mode) / (below if theta[i] < mode else above)
            after = (moved - mode) / (below if moved < mode else above)
            gain = 0.5 * (degrees + 1.0) * math.log((degrees + before * before) / (degrees + after * after))
        if gain >= 0.0 or rng.random() < math.exp(gain):
            change[i] = trial
            theta[i] += trial
    for k in range(opinion.size):
        if of_item[k] >= 0:
            opinion[k] -= change[of_item[k]]
    return change


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
    shape: Array,
    degrees: float,
    width: float,
    spread: float,
    steps: Array,
    start: Array,
    sides: Array,
    sd: Array,
    of_item: Array,
    opinion: Array,
    n_sweeps: int,
    rng: np.random.Generator,
    theta: Array,
) -> None:
    """Change `theta` by Metropolis steps, then shared opinions, then `shape`: mode and logarithms of the scales.

    The votes of item i are `votes_of[first[i]:first[i + 1]]`. Where `width` is infinite the prior is flat, and has no
    shape.
    """
    now, ahead, offset = np.empty(left.size), np.empty(left.size), np.zeros(left.size)
    for k in range(opinion.size):
        for place in range(start[k], start[k + 1]):
            offset[sides[place] >> 1] += opinion[k] if sides[place] & 1 == 0 else -opinion[k]
    for k in range(left.size):
        v = group[k]
        margin = discrimination[v] * (theta[left[k]] - theta[right[k]] + offset[k]) + side[v]
        now[k] = chance(winner[k], margin, oversight[v], nu, link, half)
    shaped = width < math.inf
    for _ in range(n_sweeps):
        mode, below, above = shape[0], math.exp(shape[1]), math.exp(shape[2])
        for i in range(theta.size):
            moved = theta[i] + steps[i] * rng.standard_normal()
            gain, product = 0.0, 1.0
            if shaped:
                before = (theta[i] - mode) / (below if theta[i] < mode else above)
                after = (moved - mode) / (below if moved < mode else above)
                gain = 0.5 * (degrees + 1.0) * math.log((degrees + before * before) / (degrees + after * after))
            for place in range(first[i], first[i + 1]):
                k = votes_of[place]
                v = group[k]
                difference = moved - theta[right[k]] if left[k] == i else theta[left[k]] - moved
                margin = discrimination[v] * (difference + offset[k]) + side[v]
                ahead[k] = chance(winner[k], margin, oversight[v], nu, link, half)
                product *= ahead[k] / now[k]
                if not 1.0 / _FAR < product < _FAR:  # one logarithm for many votes halves the time
                    gain += math.log(max(product, _TINY))
                    product = 1.0
            gain += math.log(product)
            if gain >= 0.0 or rng.random() < math.exp(gain):
                theta[i] = moved
                for place in range(first[i], first[i + 1]):
                    now[votes_of[place]] = ahead[votes_of[place]]
        if opinion.size:
            voters = (discrimination, oversight, side, nu, link, half)
            change_opinions(
                left, right, winner, group, *voters, start, sides, sd, theta, opinion, offset, now, ahead, rng
            )
            change = exchange(theta, opinion, sd, of_item, shape, degrees, shaped, rng)
            for k in range(left.size):
                offset[k] += change[right[k]] - change[left[k]]
        if shaped:
            change_shape(theta, shape, degrees, width, spread, rng)
