"""Run a Markov chain over strengths and the shape of their prior, from a normal approximation.

Random numbers are passed as arrays: a generator inside a kernel would take several more seconds to compile.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood_kernels import GroupParameters, chance_of_row
from rankcorr._rank_kernels import kernel

Array = NDArray[Any]

_FAR = 1e100  # the logarithm of a product is taken before it can leave the range of floats
_SMALL = 1e-50


class ReadVotes(NamedTuple):
    """Votes that each sweep reads; row k counts `times[k]` times.

    The rows of item i are `of_item[first[i]:first[i + 1]]`.
    """

    left: Array
    right: Array
    winner: Array
    group: Array
    times: Array
    first: Array
    of_item: Array


class SharedOpinions(NamedTuple):
    """Opinions behind several votes, then the side biases that are drawn, which move all votes of a group.

    Opinion k moves the rows `sides[start[k]:start[k + 1]] >> 1`, on the right where the last bit is 1. Its prior has
    the standard deviation `spread`, and `step` is that of a trial. `of_item` is its item, or -1 if some votes on the
    item have no shared opinion behind them.
    """

    start: Array
    sides: Array
    spread: Array
    step: Array
    of_item: Array


class StrengthPrior(NamedTuple):
    """The prior of strengths and of its shape; if `width` is infinite, it is flat and has no shape.

    The logarithm of the degrees of freedom is uniform between those of `least` and `most`. The logarithm of the power
    is normal around that of 2 with the standard deviation 1, and not negative.
    """

    least: float
    most: float
    width: float
    spread: float


class Proposals(NamedTuple):
    """Steps that a chain tries.

    `steps` are the standard deviations of steps of strengths. There is one sweep for each row of `normal` and
    `log_uniform`: random numbers for the items, the opinions, the items again if there are opinions, and the shape. The
    rows of `joint_changes` are changes of all strengths and side biases, if these are drawn; the next number of
    `log_uniform` is for this step. The rows of `pull_changes` are products of the curvature of unread votes and those
    of `joint_changes`.
    """

    steps: Array
    normal: Array
    log_uniform: Array
    joint_changes: Array
    pull_changes: Array


class Chain(NamedTuple):
    """Current strengths, opinions and shape of the prior, and what follows from them.

    `pull` is the slope of the log-likelihood of unread votes; it is empty if all votes are read. Each row that is read
    has an `offset` by opinions, and its answer the probability `chances`, which is one of `trials` after a step.
    """

    theta: Array
    opinion: Array
    shape: Array
    pull: Array
    offset: Array
    chances: Array
    trials: Array


class Law(NamedTuple):
    """Two-piece generalized t of McDonald and Newey (1988): f(x) ~ (1 + |x|^power / degrees)^(-(degrees + 1) / power).

    x is the distance from the mode in units of `below` on the lower side, and of `above` on the upper one. With the
    power 2 it is Student's t. The larger the power, the flatter the top and the steeper the sides.
    """

    mode: float
    below: float
    above: float
    degrees: float
    power: float


@kernel
def law_of(shape: Array) -> Law:
    """Return the law with this mode and these logarithms of two scales, the degrees of freedom and the power.

    With infinite degrees of freedom, the scales of `shape` are standard deviations, whatever the power.
    """
    power = math.exp(shape[4])
    unit = math.exp(shape[4] / power + 0.5 * (math.lgamma(3.0 / power) - math.lgamma(1.0 / power)))
    return Law(shape[0], math.exp(shape[1]) / unit, math.exp(shape[2]) / unit, math.exp(shape[3]), power)


@kernel
def log_fall(x: float, law: Law) -> float:
    """Return the log density at x, less that at the mode."""
    distance = math.fabs(x - law.mode) / (law.below if x < law.mode else law.above)
    if distance == 0.0:
        return 0.0
    exponent = law.power * math.log(distance) - math.log(law.degrees)
    above = exponent if exponent > 0.0 else 0.0  # log(1 + e^exponent), which does not overflow
    return -(law.degrees + 1.0) / law.power * (above + math.log1p(math.exp(-math.fabs(exponent))))


@kernel
def log_density(theta: Array, shape: Array) -> float:
    """Return the log density of strengths, independent given the shape."""
    law = law_of(shape)
    level = math.lgamma((law.degrees + 1.0) / law.power) - math.lgamma(1.0 / law.power)
    level += shape[4] - shape[3] / law.power - math.lgamma(law.degrees / law.power) - math.log(law.below + law.above)
    total: float = theta.size * level
    for i in range(theta.size):
        total += log_fall(theta[i], law)
    return total


@kernel
def log_width_prior(logarithm: float, prior: StrengthPrior) -> float:
    """Return the log density of the logarithm of a scale: normal around that of `width`, which it cannot exceed."""
    if logarithm > math.log(prior.width):
        return -math.inf
    distance = (logarithm - math.log(prior.width)) / prior.spread
    return -0.5 * distance * distance


@kernel
def change_shape(theta: Array, shape: Array, prior: StrengthPrior, normal: Array, log_uniform: Array) -> None:
    """Change each number of the shape (see `law_of`) by a Metropolis step."""
    step = 2.0 / math.sqrt(4.0 + theta.size)
    trial = shape.copy()
    density = log_density(theta, shape)
    for k in range(5):
        # A step of the mode may depend on the scales and still be symmetric, since it does not change them.
        scale = 0.5 * (math.exp(shape[1]) + math.exp(shape[2])) if k == 0 else 2.0
        trial[k] = shape[k] + (step * scale if k < 3 else 1.0) * normal[k]
        gain = 0.0
        if k == 3:
            gain = 0.0 if math.log(prior.least) <= trial[k] <= math.log(prior.most) else -math.inf
        elif k == 4:
            gain = 0.5 * ((shape[k] - math.log(2.0)) ** 2 - (trial[k] - math.log(2.0)) ** 2)
            gain = gain if trial[k] >= 0.0 else -math.inf
        elif k > 0:
            gain = log_width_prior(trial[k], prior) - log_width_prior(shape[k], prior)
        if gain > -math.inf:
            trial_density = log_density(theta, trial)
            if gain + trial_density - density >= log_uniform[k]:
                shape[k], density = trial[k], trial_density
        trial[k] = shape[k]


@kernel
def change_opinions(
    votes: ReadVotes,
    voters: GroupParameters,
    shared: SharedOpinions,
    chain: Chain,
    matrix: Array,
    normal: Array,
    logs: Array,
) -> None:
    """Change each shared opinion by a Metropolis step; `logs` are logarithms of uniform numbers."""
    theta, opinion, _, pull, offset, chances, trials = chain
    n_unread = max(0, pull.size - theta.size)  # side biases, the last of `opinion`, on which unread votes depend
    for k in range(opinion.size):
        change = shared.step[k] * normal[k]
        trial = opinion[k] + change
        gain = 0.5 * (opinion[k] * opinion[k] - trial * trial) / (shared.spread[k] * shared.spread[k])
        variable = theta.size + k - (opinion.size - n_unread)
        if variable >= theta.size:
            gain += change * (pull[variable] - 0.5 * matrix[variable, variable] * change)
        for place in range(shared.start[k], shared.start[k + 1]):
            row = shared.sides[place] >> 1
            opinion_difference = offset[row] + (change if shared.sides[place] & 1 == 0 else -change)
            difference = theta[votes.left[row]] - theta[votes.right[row]] + opinion_difference
            trials[row] = chance_of_row(votes, voters, row, difference)
            gain += votes.times[row] * math.log(trials[row] / chances[row])
        if gain >= logs[k]:
            opinion[k] = trial
            for place in range(shared.start[k], shared.start[k + 1]):
                row = shared.sides[place] >> 1
                offset[row] += change if shared.sides[place] & 1 == 0 else -change
                chances[row] = trials[row]
            if variable >= theta.size:
                for j in range(pull.size):
                    pull[j] -= change * matrix[variable, j]


@kernel
def change_jointly(
    votes: ReadVotes,
    voters: GroupParameters,
    shared: SharedOpinions,
    prior: StrengthPrior,
    chain: Chain,
    change: Array,
    pull_change: Array,
    log_uniform: float,
) -> None:
    """Change all strengths and side biases at once by a Metropolis step; the pull would fall by `pull_change`.

    Where an item is mostly on one side, its strength and a side bias can make up for each other. Steps of one of them
    alone would then be short.
    """
    theta, opinion, shape, pull, offset, chances, trials = chain
    n_items, gain = theta.size, 0.0
    first = opinion.size - (change.size - n_items)  # of the side biases
    if prior.width < math.inf:
        law = law_of(shape)
        for i in range(n_items):
            gain += log_fall(theta[i] + change[i], law) - log_fall(theta[i], law)
    for k in range(first, opinion.size):
        step = change[n_items + k - first]
        gain -= step * (opinion[k] + 0.5 * step) / (shared.spread[k] * shared.spread[k])
    for i in range(pull.size):
        gain += change[i] * (pull[i] - 0.5 * pull_change[i])
    for k in range(votes.left.size):
        v, left, right = votes.group[k], votes.left[k], votes.right[k]
        difference = theta[left] + change[left] - theta[right] - change[right] + offset[k] + change[n_items + v]
        trials[k] = chance_of_row(votes, voters, k, difference)
        gain += votes.times[k] * math.log(trials[k] / chances[k])
    if gain >= log_uniform:
        theta += change[:n_items]
        opinion[first:] += change[n_items:]
        pull -= pull_change
        for k in range(votes.left.size):
            offset[k] += change[n_items + votes.group[k]]
            chances[k] = trials[k]


@kernel
def exchange(shared: SharedOpinions, prior: StrengthPrior, chain: Chain, normal: Array, log_uniform: Array) -> Array:
    """Move each strength, and all shared opinions on the item by as much the other way; return the moves.

    Votes on an item depend only on the sums. If shared opinions are behind all of them, these are the steps that move
    far. Otherwise the votes without a shared opinion would change, and no step is made.
    """
    theta, opinion = chain.theta, chain.opinion
    n_items = theta.size
    precision, sums = np.zeros(n_items), np.zeros(n_items)
    for k in range(opinion.size):
        i = shared.of_item[k]
        if i >= 0:
            precision[i] += 1.0 / (shared.spread[k] * shared.spread[k])
            sums[i] += opinion[k] / (shared.spread[k] * shared.spread[k])
    change = np.zeros(n_items)
    law = law_of(chain.shape)
    for i in range(n_items):
        if precision[i] == 0.0:
            continue
        # Given the opinions alone, the change is normal around the mean of opinions, and is drawn from that.
        trial = sums[i] / precision[i] + normal[i] / math.sqrt(precision[i])
        gain = 0.0
        if prior.width < math.inf:
            gain = log_fall(theta[i] + trial, law) - log_fall(theta[i], law)
        if gain >= log_uniform[i]:
            change[i] = trial
            theta[i] += trial
    for k in range(opinion.size):
        if shared.of_item[k] >= 0:
            opinion[k] -= change[shared.of_item[k]]
    return change


@kernel
def sweep(
    votes: ReadVotes,
    voters: GroupParameters,
    shared: SharedOpinions,
    prior: StrengthPrior,
    matrix: Array,
    proposals: Proposals,
    chain: Chain,
) -> None:
    """Change strengths by Metropolis steps, then shared opinions, then the shape, then strengths with side biases.

    A paraboloid replaces the log-likelihood of unread votes: `matrix` is its curvature, and the pull of the chain its
    slope at the strengths and the side biases; both are empty if all votes are read.
    """
    steps, normal, log_uniform, joint_changes, pull_changes = proposals
    theta, opinion, shape, pull, offset, chances, trials = chain
    n_items, n_opinions = theta.size, opinion.size
    offset[:] = 0.0
    for k in range(n_opinions):
        for place in range(shared.start[k], shared.start[k + 1]):
            offset[shared.sides[place] >> 1] += opinion[k] if shared.sides[place] & 1 == 0 else -opinion[k]
    for k in range(votes.left.size):
        chances[k] = chance_of_row(votes, voters, k, theta[votes.left[k]] - theta[votes.right[k]] + offset[k])
    has_shape = prior.width < math.inf
    for turn in range(normal.shape[0]):
        law = law_of(shape)
        for i in range(n_items):
            trial = theta[i] + steps[i] * normal[turn, i]
            gain = 0.0
            if has_shape:
                gain = log_fall(trial, law) - log_fall(theta[i], law)
            change = trial - theta[i]
            if pull.size > 0:
                gain += change * (pull[i] - 0.5 * matrix[i, i] * change)
            above_product, below_product = 1.0, 1.0  # one logarithm for many votes halves the time
            for place in range(votes.first[i], votes.first[i + 1]):
                k = votes.of_item[place]
                difference = trial - theta[votes.right[k]] if votes.left[k] == i else theta[votes.left[k]] - trial
                trials[k] = chance_of_row(votes, voters, k, difference + offset[k])
                if votes.times[k] > 1.0 or trials[k] < _SMALL or chances[k] < _SMALL:
                    gain += votes.times[k] * math.log(trials[k] / chances[k])
                    continue
                above_product *= trials[k]
                below_product *= chances[k]
                if above_product < 1.0 / _FAR or below_product < 1.0 / _FAR:
                    gain += math.log(above_product / below_product)
                    above_product, below_product = 1.0, 1.0
            gain += math.log(above_product / below_product)
            if gain >= log_uniform[turn, i]:
                theta[i] = trial
                for place in range(votes.first[i], votes.first[i + 1]):
                    chances[votes.of_item[place]] = trials[votes.of_item[place]]
                for j in range(pull.size):
                    pull[j] -= change * matrix[i, j]
        last = n_items + n_opinions
        if n_opinions > 0:
            columns = slice(n_items, last)
            change_opinions(votes, voters, shared, chain, matrix, normal[turn, columns], log_uniform[turn, columns])
            columns = slice(last, last + n_items)
            moves = exchange(shared, prior, chain, normal[turn, columns], log_uniform[turn, columns])
            for k in range(votes.left.size):
                offset[k] += moves[votes.right[k]] - moves[votes.left[k]]
            last += n_items
        if has_shape:
            change_shape(theta, shape, prior, normal[turn, last:], log_uniform[turn, last:])
        if joint_changes.shape[1] > n_items:
            changes = joint_changes[turn], pull_changes[turn]
            change_jointly(votes, voters, shared, prior, chain, *changes, log_uniform[turn, last + 5])
