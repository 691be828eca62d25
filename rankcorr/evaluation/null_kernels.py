"""The loops that describe the ties and the weights of each group, compiled by numba."""

import numpy as np

from rankcorr.evaluation.grouped_kernels import ranked
from rankcorr.kernels import Array, kernel, rank_weights

N_TRAITS = 7


@kernel
def described(ranks: Array, weights: Array, sizes: Array, scrambles: Array, sums: Array) -> int:
    """Set sums over the items of one ranking; f is the weight of an item, t the size of its tied group.

    In this order: f times how many items are worse less how many are better; f; f^2; (t - 1) f^2; t - 1; (t - 1) f.
    Returns the pattern of ties: the distinct mid-ranks say how the items tie, whatever their order, and the random
    numbers that stand for them are combined. Two patterns of one length have the same number once in 2^63.
    """
    n_items = ranks.size
    sizes[:n_items] = 0
    pattern = 0
    for rank in ranks:
        key = int(rank) - 1  # the integer part of a mid-rank tells groups apart
        if sizes[key] == 0:
            pattern ^= scrambles[int(2.0 * rank) - 2]
        sizes[key] += 1
    sums[:] = 0.0
    for item in range(n_items):
        weight, others = weights[item], float(sizes[int(ranks[item]) - 1] - 1)
        sums[0] += weight * (n_items + 1 - 2.0 * ranks[item])
        sums[1] += weight
        sums[2] += weight * weight
        sums[3] += others * weight * weight
        sums[4] += others
        sums[5] += others * weight
    return pattern


@kernel
def untied_weight(own: Array, other: Array, n_items: int) -> float:
    """Mean over permutations of the sum of w_i w_j over the ordered pairs not tied in one ranking, w additive (Eq. 9).

    With w = f + g, f of this ranking and g of the other, which is permuted, g_i has the mean of all g, and g_i g_j that
    of all pairs.
    """
    n_pairs = n_items * (n_items - 1.0)
    mean = other[1] / n_items
    mean_product = (other[1] ** 2 - other[2]) / n_pairs
    own_products = own[1] ** 2 - own[2] - own[3]
    own_sums = 2.0 * (own[1] * (n_items - 1.0) - own[5])
    return float(own_products + mean * own_sums + mean_product * (n_pairs - own[4]))


@kernel
def group_traits(
    x_values: Array,
    y_values: Array,
    offsets: Array,
    tables: Array,
    starts: Array,
    expected: bool,
    scrambles: Array,
    patterns: Array,
    traits: Array,
) -> None:
    """Set the patterns of ties of x and y, and what the chance level of each group depends on, in O(n) after ranking.

    The first trait is the mean of the numerator of tau_w over permutations, which is -2 a b / (n (n - 1)) for additive
    weights, with a and b the first of the sums of each ranking, over the root of the means of its two norms; the others
    are the number of items that share the weight, the two norms, 1/n, and a and b themselves.
    """
    most = 1
    for group in range(traits.shape[0]):
        most = max(most, offsets[group + 1] - offsets[group])
    ranks, weights = np.empty(most), np.empty(most)
    order, sizes = np.empty(most, np.int32), np.empty(most, np.int32)
    sums = np.empty((2, 6))
    for group in range(traits.shape[0]):
        start, stop = offsets[group], offsets[group + 1]
        n = stop - start
        traits[group] = 0.0
        patterns[group] = 0
        if n < 2:
            continue
        first = starts[n]
        table = tables[first : first + (n if expected else 2 * n - 1)]
        for side in range(2):
            values = x_values[start:stop] if side == 0 else y_values[start:stop]
            ranked(values, ranks[:n], order[:n])
            rank_weights(ranks[:n], table, expected, weights[:n])
            patterns[group, side] = described(ranks[:n], weights[:n], sizes, scrambles, sums[side])
        x, y = sums[0], sums[1]
        total = x[1] + y[1]
        x_norm, y_norm = untied_weight(x, y, n), untied_weight(y, x, n)
        if total == 0.0 or x_norm <= 0.0 or y_norm <= 0.0:
            continue
        traits[group, 0] = -2.0 * x[0] * y[0] / (n * (n - 1.0) * np.sqrt(x_norm * y_norm))
        traits[group, 1] = np.log(total * total / (x[2] + y[2]))
        traits[group, 2] = np.log(x_norm / (total * total))
        traits[group, 3] = np.log(y_norm / (total * total))
        traits[group, 4] = 1.0 / n
        traits[group, 5] = x[0] / (x[1] * n)
        traits[group, 6] = y[0] / (y[1] * n)
