"""Run the loops over votes: likelihood, slope and curvature, and bets against coin flips.

Like `adaptive._draw_kernels`, this module is imported by the call that needs it, and callers have checked everything.
A vote k on the items `left[k]` and `right[k]` by a voter of group `group[k]` has the margin

    u = a (theta_left - theta_right) + s,

with the group's discrimination a and side bias s. Curvatures are minus second derivatives. Expected curvatures
(Fisher's) are never negative; observed ones can be, with oversights.
"""

import math
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._rank_kernels import helper, kernel

Array = NDArray[Any]
Chances: TypeAlias = tuple[float, float, float, float, float, float, float]
Sides: TypeAlias = tuple[float, float, float, float, float, float, float, float, float, float, float, float]
Slips: TypeAlias = tuple[float, float, float, float, float, float, float, float]

LOGISTIC, NORMAL = 0, 1
_TINY = 1e-300
_LEAST_MARGIN = -600.0  # e^600 and its square are floats
_BLOCK = 1_000  # rows whose margins stay in the cache; with a power of 2, columns would share its sets


class Votes(NamedTuple):
    """Votes of groups of voters: row k has the answer ``winner[k]``, or is a pair of items in pooled votes."""

    left: Array
    right: Array
    winner: Array
    group: Array


class Counts(NamedTuple):
    """Numbers of votes for the right side, of ties and of votes for the left side, by row."""

    right: Array
    tie: Array
    left: Array


class Margins(NamedTuple):
    """Margins u of a block of rows, and what takes calls and lookups to compute, which loops over vectors cannot have.

    `tail` is e^(-|u|/2) for the logistic curve. For the normal curve it is the area beyond |u|, and `density` is that
    at u. `oversight` is that of the row's group, and `answer_chances` are those of right, tie and left.
    """

    margin: Array
    tail: Array
    density: Array
    oversight: Array
    answer_chances: Array

    @classmethod
    def empty(cls) -> "Margins":
        """Return room for a block."""
        margin, tail, density, oversight = np.empty((4, _BLOCK))
        return cls(margin, tail, density, oversight, np.empty((3, _BLOCK)))


class GroupParameters(NamedTuple):
    """Parameters of the groups of votes, and the model."""

    discrimination: Array
    oversight: Array
    side: Array
    nu: float
    link: int
    half: bool


class RowTerms(NamedTuple):
    """Derivatives of the log-likelihood by row of votes.

    `expected` and `observed` are the curvatures in the margin u, and `score` is the slope. If the oversight e is
    fitted, `oversight_score` is the slope in e, `mixed` and `alone` are the expected curvatures in (u, e) and (e, e),
    followed by the observed ones. If nu is fitted, `tie` is the probability of a tie, and `tie_mixed` the curvature in
    (u, log nu). Arrays that are not needed are empty.
    """

    expected: Array
    score: Array
    observed: Array
    oversight_score: Array
    mixed: Array
    alone: Array
    observed_mixed: Array
    observed_alone: Array
    tie: Array
    tie_mixed: Array

    @classmethod
    def of(cls, n_rows: int, *, fits_oversight: bool = False, fits_nu: bool = False) -> "RowTerms":
        """Return arrays to be filled."""
        sizes = [n_rows] * 3 + [n_rows * fits_oversight] * 5 + [n_rows * fits_nu] * 2
        return cls(*map(np.empty, sizes))

    def part(self, rows: slice) -> "RowTerms":
        """Return views of some rows."""
        return RowTerms(*(values[rows] for values in self))


class PairCurvatures(NamedTuple):
    """Curvatures in the difference of two items, by row; the same two may occur again."""

    left: Array
    right: Array
    weight: Array


class Absorption(NamedTuple):
    """The part of a curvature in the strengths that parameters of groups take from it: M (B^-1 - z z') M'.

    A row adds `coupling`, shape (n_free, n_rows), to the entries of M for its left item and the parameters of its
    group, and takes it off those of its right item. `inverse` has the blocks B^-1, shape (n_groups, n_free, n_free).
    `multiplier` is z. `pushes` and `moves` of the parameters are room for a product.
    """

    group: Array
    coupling: Array
    inverse: Array
    multiplier: Array
    pushes: Array
    moves: Array


class GradientVectors(NamedTuple):
    """What conjugate gradients start from: zeros, the target, the target over the diagonal, and room for a product."""

    solution: Array
    residual: Array
    direction: Array
    image: Array


@helper
def outcome_chances(margin: float, tail: float, density: float, nu: float, link: int) -> Chances:
    """Return P(left), P(tie) and P(right), then slopes and second derivatives of P(left) and P(right) in the margin.

    The derivatives of P(tie) balance them. The model is Davidson's e^(u/2) : nu : e^(-u/2), which is the logistic curve
    without ties (nu = 0), or the normal curve, which has no ties. See `Margins` for tail and density.
    """
    # Which side is stronger is as good as random: a choice between numbers is faster than a branch.
    is_left = margin >= 0.0
    if link == NORMAL:
        left, right = 1.0 - tail if is_left else tail, tail if is_left else 1.0 - tail
        bend = -margin * density
        return left, 0.0, right, density, -density, bend, -bend
    higher = 1.0 / (1.0 + nu * tail + tail * tail)
    tie, lower = nu * tail * higher, tail * tail * higher
    # log(weight) has the slopes 1/2, 0 and -1/2; minus their mean, they are the slopes of log P, without cancellation.
    up, down = lower + 0.5 * tie, higher + 0.5 * tie
    rising, falling = higher * up, lower * down
    turn = 0.5 * (rising + falling)
    higher_bend, lower_bend = higher * (up * up - turn), lower * (down * down - turn)
    left, right = higher if is_left else lower, lower if is_left else higher
    d_left, d_right = rising if is_left else falling, -falling if is_left else -rising
    b_left, b_right = higher_bend if is_left else lower_bend, lower_bend if is_left else higher_bend
    return left, tie, right, d_left, d_right, b_left, b_right


@helper
def side_terms(chances: Chances, oversight: float, link: int, margin: float) -> Sides:
    """Return the terms of each answer with oversights, from the chances at this margin.

    These are the probabilities of the answers left, tie and right, the slopes of their logarithms in the margin, and
    minus the second derivatives; then the expected curvature of an answer, and the inverse probabilities of the answers
    left and right.
    """
    left, tie, right, d_left, d_right, b_left, b_right = chances
    seen_left = max(left + oversight * (right - left), _TINY)
    seen_right = max(right + oversight * (left - right), _TINY)
    d_seen_left = d_left + oversight * (d_right - d_left)
    d_seen_right = d_right + oversight * (d_left - d_right)
    both = 1.0 / (seen_left * seen_right)  # at least one of them is near 1, or half of what ties leave
    per_left, per_right = both * seen_right, both * seen_left
    score_left, score_right = d_seen_left * per_left, d_seen_right * per_right
    curved_left = score_left * score_left - (b_left + oversight * (b_right - b_left)) * per_left
    curved_right = score_right * score_right - (b_right + oversight * (b_left - b_right)) * per_right
    if link == NORMAL and seen_left == _TINY:  # the limits of phi / Phi, where both are zero in floats
        score_left, curved_left = -margin, 1.0
    if link == NORMAL and seen_right == _TINY:
        score_right, curved_right = -margin, 1.0
    score_tie = 0.5 * (right - left)  # of Davidson's model, as the curvature
    curved_tie = left * right + 0.25 * tie * (left + right)
    expected = d_seen_left * score_left + tie * score_tie * score_tie + d_seen_right * score_right
    return (
        *(seen_left, tie, seen_right),
        *(score_left, score_tie, score_right),
        *(curved_left, curved_tie, curved_right),
        *(expected, per_left, per_right),
    )


@helper
def chance(winner: int, margin: float, oversight: float, nu: float, link: int, half: bool) -> float:
    """Return the probability of an answer, with few branches, as they take most time."""
    signed_margin = -margin if winner < 0 else margin  # margin of the chosen side, or of the left one
    if link == NORMAL:
        win, tie, loss = (
            0.5 * math.erfc(-signed_margin / math.sqrt(2.0)),
            0.0,
            0.5 * math.erfc(signed_margin / math.sqrt(2.0)),
        )
    else:
        x = math.exp(-0.5 * max(signed_margin, _LEAST_MARGIN))
        win = 1.0 / (1.0 + nu * x + x * x)
        tie, loss = nu * x * win, x * x * win
    if winner == 0 and not half:
        return max(tie, _TINY)
    seen_win = max(win + oversight * (loss - win), _TINY)
    if winner != 0:
        return seen_win
    return math.sqrt(seen_win) * math.sqrt(max(loss + oversight * (win - loss), _TINY))


@helper
def chance_of_row(votes: Any, voters: GroupParameters, row: int, difference: float) -> float:
    """Return the probability of the answer in a row of `Votes` or `ReadVotes`, for this difference of its two sides."""
    v = votes.group[row]
    margin = voters.discrimination[v] * difference + voters.side[v]
    return chance(votes.winner[row], margin, voters.oversight[v], voters.nu, voters.link, voters.half)


@helper
def oversight_terms(chances: Chances, oversight: float, per_left: float, per_right: float) -> Slips:
    """Return the derivatives of answers in their oversight, from the inverses of their probabilities.

    These are the expected curvatures in margin and oversight, and in the oversight alone; then, for the answer left
    and again for the answer right, the slope in the oversight and both observed curvatures. An oversight does not
    change the probability of a tie.
    """
    left, _, right, d_left, d_right, _, _ = chances
    gap, d_gap = right - left, d_right - d_left
    rise_left, rise_right = (d_left + oversight * d_gap) * per_left, (d_right - oversight * d_gap) * per_right
    mixed, alone = gap * (rise_left - rise_right), gap * gap * (per_left + per_right)
    of_left = gap * per_left, (gap * rise_left - d_gap) * per_left, (gap * per_left) ** 2
    of_right = -gap * per_right, (d_gap - gap * rise_right) * per_right, (gap * per_right) ** 2
    return mixed, alone, *of_left, *of_right


@kernel
def row_terms(
    votes: Votes, counts: Counts, groups: GroupParameters, theta: Array, margins: Margins, out: RowTerms
) -> float:
    """Return the log-likelihood, and set `out` to what each row adds to its derivatives.

    Of the loops over a block, only the first and the last call functions or have branches, so that others use vectors.
    """
    left, right, _, group = votes
    margin, tail, density, oversight, answer_chances = margins
    nu, link = groups.nu, groups.link
    total, product = 0.0, 1.0
    for start in range(0, left.size, _BLOCK):
        stop = min(start + _BLOCK, left.size)
        for k in range(stop - start):
            v = group[start + k]
            difference = theta[left[start + k]] - theta[right[start + k]]
            margin[k] = groups.discrimination[v] * difference + groups.side[v]
            oversight[k] = groups.oversight[v]
            if link == NORMAL:
                tail[k] = 0.5 * math.erfc(abs(margin[k]) / math.sqrt(2.0))
                density[k] = math.exp(-0.5 * margin[k] * margin[k]) / math.sqrt(2.0 * math.pi)
            else:
                tail[k] = math.exp(-0.5 * abs(margin[k]))  # at most 1: e^(u/2) itself would overflow
        all_right, all_tie, all_left = counts.right[start:stop], counts.tie[start:stop], counts.left[start:stop]
        of_expected, of_score, of_observed = out.expected[start:stop], out.score[start:stop], out.observed[start:stop]
        for k in range(of_expected.size):
            sides = side_terms(outcome_chances(margin[k], tail[k], density[k], nu, link), oversight[k], link, margin[k])
            p_left, p_tie, p_right, score_left, score_tie, score_right = sides[:6]
            curved_left, curved_tie, curved_right, expected = sides[6:10]
            answer_chances[0, k], answer_chances[1, k], answer_chances[2, k] = p_right, max(p_tie, _TINY), p_left
            n_right, n_tie, n_left = all_right[k], all_tie[k], all_left[k]
            of_expected[k] = (n_right + n_tie + n_left) * expected
            of_score[k] = n_left * score_left + n_tie * score_tie + n_right * score_right
            of_observed[k] = n_left * curved_left + n_tie * curved_tie + n_right * curved_right
        if out.mixed.size > 0:
            of_slips, of_mixed, of_alone = out.oversight_score[start:stop], out.mixed[start:stop], out.alone[start:stop]
            of_observed_mixed, of_observed_alone = out.observed_mixed[start:stop], out.observed_alone[start:stop]
            for k in range(of_slips.size):
                chances = outcome_chances(margin[k], tail[k], density[k], nu, link)
                sides = side_terms(chances, oversight[k], link, margin[k])
                mixed, alone, left_score, left_mixed, left_alone, right_score, right_mixed, right_alone = (
                    oversight_terms(chances, oversight[k], sides[10], sides[11])
                )
                n_right, n_left = all_right[k], all_left[k]
                of_slips[k] = n_left * left_score + n_right * right_score
                of_mixed[k] = (n_right + all_tie[k] + n_left) * mixed
                of_alone[k] = (n_right + all_tie[k] + n_left) * alone
                of_observed_mixed[k] = n_left * left_mixed + n_right * right_mixed
                of_observed_alone[k] = n_left * left_alone + n_right * right_alone
        for k in range(stop - start):
            n_right, n_tie, n_left = all_right[k], all_tie[k], all_left[k]
            if out.tie.size > 0:
                chances = outcome_chances(margin[k], tail[k], density[k], nu, link)
                out.tie[start + k] = chances[1]
                out.tie_mixed[start + k] = -(n_right + n_tie + n_left) * (chances[3] + chances[4])
            p_right, p_tie, p_left = answer_chances[0, k], answer_chances[1, k], answer_chances[2, k]
            # One logarithm for many votes: one for each would take a third of the time of a fit.
            likelihood = n_left * p_left + n_tie * p_tie + n_right * p_right
            if max(n_left, n_tie, n_right) == n_right + n_tie + n_left == 1.0 and likelihood > 1e-50:
                product *= likelihood
                if product < 1e-200:
                    total += math.log(product)
                    product = 1.0
            else:
                total += n_left * math.log(p_left) + n_right * math.log(p_right)
                if n_tie > 0.0:
                    total += n_tie * math.log(p_tie)
    return total + math.log(product)


@kernel
def add_by_item(left: Array, right: Array, values: Array, sign: float, sums: Array) -> None:
    """Add the value of each row to the sum of its left item, and with this sign to that of its right one."""
    for k in range(left.size):
        sums[left[k]] += values[k]
        sums[right[k]] += sign * values[k]


@kernel
def add_laplacian(left: Array, right: Array, weight: Array, matrix: Array) -> None:
    """Add the curvature matrix of rows whose curvatures in the difference of their two items are `weight`."""
    for k in range(left.size):
        matrix[left[k], right[k]] -= weight[k]
        matrix[right[k], left[k]] -= weight[k]
        matrix[left[k], left[k]] += weight[k]
        matrix[right[k], right[k]] += weight[k]


@kernel
def add_products_of_differences(left: Array, right: Array, first: Array, second: Array, products: Array) -> None:
    """Add for each row the product of the differences of its two items in two vectors."""
    for k in range(left.size):
        products[k] += (first[left[k]] - first[right[k]]) * (second[left[k]] - second[right[k]])


@kernel
def add_pushes(pairs: PairCurvatures, group: Array, coupling: Array, strengths: Array, pushes: Array) -> None:
    """Add M' times a vector, for M as in `Absorption`."""
    left, right, _ = pairs
    n_free = len(coupling)
    for k in range(left.size):
        difference = strengths[left[k]] - strengths[right[k]]
        for parameter in range(n_free):
            pushes[group[k] * n_free + parameter] += coupling[parameter, k] * difference


@kernel
def take_moves(pairs: PairCurvatures, group: Array, coupling: Array, moves: Array, image: Array) -> None:
    """Take off M times a vector, for M as in `Absorption`."""
    left, right, _ = pairs
    n_free = len(coupling)
    for k in range(left.size):
        total = 0.0
        for parameter in range(n_free):
            total += coupling[parameter, k] * moves[group[k] * n_free + parameter]
        image[left[k]] -= total
        image[right[k]] += total


@kernel
def add_absorption(left: Array, right: Array, starts: Array, coupling: Array, inverse: Array, matrix: Array) -> None:
    """Add M B^-1 M' to a matrix, for M and B as in `Absorption`; the rows of each group begin at one of `starts`."""
    n_free = len(coupling)
    image = np.empty(n_free)
    for group in range(starts.size - 1):
        rows = range(starts[group], starts[group + 1])
        for k in rows:
            for column in range(n_free):
                image[column] = 0.0
                for parameter in range(n_free):
                    image[column] += coupling[parameter, k] * inverse[group, parameter, column]
            for other in rows:
                product = 0.0
                for column in range(n_free):
                    product += image[column] * coupling[column, other]
                matrix[left[k], left[other]] += product
                matrix[left[k], right[other]] -= product
                matrix[right[k], left[other]] -= product
                matrix[right[k], right[other]] += product


@helper
def take_neighbours(pairs: PairCurvatures, direction: Array, image: Array) -> None:
    """Take the curvature of each pair times a direction off the image of its other item."""
    left, right, weight = pairs
    item, total = -1, 0.0  # pooled rows have long runs of one left item
    for k in range(left.size):
        if left[k] != item:
            if item >= 0:
                image[item] -= total
            item, total = left[k], 0.0
        total += weight[k] * direction[right[k]]
        image[right[k]] -= weight[k] * direction[item]
    if item >= 0:
        image[item] -= total


@helper
def take_absorption(pairs: PairCurvatures, absorption: Absorption, direction: Array, image: Array) -> None:
    """Take the absorbed part along a direction off its image."""
    group, coupling, inverse, multiplier, pushes, moves = absorption
    for parameter in range(pushes.size):
        pushes[parameter] = 0.0
    add_pushes(pairs, group, coupling, direction, pushes)
    along = 0.0
    for parameter in range(pushes.size):
        along += multiplier[parameter] * pushes[parameter]
    n_free = len(coupling)
    for parameter in range(pushes.size):
        block, row = parameter // n_free, parameter % n_free
        total = -along * multiplier[parameter]
        for column in range(n_free):
            total += inverse[block, row, column] * pushes[block * n_free + column]
        moves[parameter] = total
    take_moves(pairs, group, coupling, moves, image)


@kernel
def conjugate_gradients(
    pairs: PairCurvatures, diagonal: Array, absorption: Absorption, tolerance: float, vectors: GradientVectors
) -> bool:
    """Solve for one target; return False at a direction without positive curvature. See `solve_system`."""
    solution, residual, direction, image = vectors
    n_items, size = diagonal.size, 0.0
    for i in range(n_items):
        size += residual[i] * direction[i]
    aim = tolerance * tolerance * size
    for _ in range(10 * n_items + 100):
        if not size > aim:
            break
        for i in range(n_items):
            image[i] = diagonal[i] * direction[i]
        take_neighbours(pairs, direction, image)
        if absorption.multiplier.size > 0:
            take_absorption(pairs, absorption, direction, image)
        curvature = 0.0
        for i in range(n_items):
            curvature += direction[i] * image[i]
        if curvature <= 0.0:
            return False
        step, rest = size / curvature, 0.0
        for i in range(n_items):
            solution[i] += step * direction[i]
            residual[i] -= step * image[i]
            rest += residual[i] * residual[i] / diagonal[i]
        for i in range(n_items):
            direction[i] = residual[i] / diagonal[i] + rest / size * direction[i]
        size = rest
    return True


@kernel
def wealth_of_bets(
    votes: Votes, won: Array, means: Array, variances: Array, stakes: Array, logs: Array, log_wealth: Array
) -> None:
    """Set the logarithm of a gambler's wealth after each vote, who bets on the winner by the votes before it.

    Strengths are normal and independent, with a mean and a variance for each item in each row of `means` and
    `variances`. A vote moves both as one step of an extended Kalman filter does. One more predictor, the last row,
    looks at the votes on the same pair alone: groups number the pairs, whichever item is on the left, and `won`, a row
    of zeros for each, counts what the item of the smaller index won, and the other. `stakes` are shares of Kelly's
    stake, 2 p - 1 at even odds for a probability p. The wealth is the mean over predictors and stakes, whose logarithms
    begin as zeros in `logs`; a tie is no bet.
    """
    left, right, winner, pair = votes
    total = 0.0
    for vote in range(left.size):
        one, other = left[vote], right[vote]
        if winner[vote] != 0:
            for row in range(len(means)):
                variance = variances[row, one] + variances[row, other]
                # The logistic curve, averaged over a normal distribution (MacKay 1992).
                margin = (means[row, one] - means[row, other]) / math.sqrt(1.0 + math.pi * variance / 8.0)
                chance = 1.0 / (1.0 + math.exp(-margin))
                gain = (2.0 * chance - 1.0) * winner[vote]
                for column in range(stakes.size):
                    logs[row, column] += math.log1p(stakes[column] * gain)
                curvature = chance * (1.0 - chance)
                part = 1.0 / (1.0 + variance * curvature)
                step = part * (0.5 * (winner[vote] + 1.0) - chance)
                means[row, one] += variances[row, one] * step
                means[row, other] -= variances[row, other] * step
                variances[row, one] *= 1.0 - variances[row, one] * curvature * part
                variances[row, other] *= 1.0 - variances[row, other] * curvature * part
            of_left, of_right = (0, 1) if one < other else (1, 0)
            lead = won[pair[vote], of_left] - won[pair[vote], of_right]
            n_decided = won[pair[vote], of_left] + won[pair[vote], of_right]
            gain = lead / (n_decided + 1.0) * winner[vote]  # Krichevsky and Trofimov
            for column in range(stakes.size):
                logs[len(means), column] += math.log1p(stakes[column] * gain)
            won[pair[vote], of_left if winner[vote] > 0 else of_right] += 1.0
            most, mean = logs[0, 0], 0.0
            for logarithm in logs.flat:
                most = max(most, logarithm)
            for logarithm in logs.flat:
                mean += math.exp(logarithm - most)
            total = most + math.log(mean / logs.size)
        log_wealth[vote] = total


@kernel
def block_products(matrix: Array, row: Array, starts: Array, vector: Array) -> Array:
    """Multiply each part of a vector by its block of a matrix.

    Part k is `vector[starts[k]:starts[k + 1]]`, and its block has the rows and columns `row[starts[k]:starts[k + 1]]`.
    """
    products = np.zeros(vector.size)
    for part in range(starts.size - 1):
        first, last = starts[part], starts[part + 1]
        for place in range(first, last):
            numbers = matrix[row[place]]
            total = 0.0
            for other in range(first, last):
                total += numbers[row[other]] * vector[other]
            products[place] = total
    return products
