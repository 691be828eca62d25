"""Each measure spelt out, as slowly as its source writes it. Imports nothing of ours.

A list with ties is a list of groups of labels, best first.
"""

import itertools
import math
from fractions import Fraction


def breakings(groups):
    """All ways to break the ties of a list, each as a list of labels; all equally likely."""
    return [list(itertools.chain(*parts)) for parts in itertools.product(*map(itertools.permutations, groups))]


def parts(groups, depth, ties):
    """c(e, d) of Corsi and Urbano 2024: how much of each item a list holds at a depth, where it is more than 0."""
    held, before = {}, 0
    for group in groups:
        for item in group:
            if before + 1 <= depth:
                held[item] = 1.0 if ties == "w" else min(1.0, (depth - before) / len(group))
        before += len(group)
    return held


def agreement(x_parts, y_parts, depth, ties):
    overlap = sum(part * y_parts.get(item, 0) for item, part in x_parts.items())
    if ties == "w":
        return 2 * overlap / (sum(x_parts.values()) + sum(y_parts.values()))
    if ties == "a":
        return overlap / depth
    return overlap / math.sqrt(sum(c * c for c in x_parts.values()) * sum(c * c for c in y_parts.values()))


def overlap_to_depth(x, y, p, ties, depth):
    """RBO summed to a depth, with weights (1 - p) p^(d-1)."""
    return sum(
        (1 - p) * p ** (d - 1) * agreement(parts(x, d, ties), parts(y, d, ties), d, ties) for d in range(1, depth + 1)
    )


def items(groups):
    return list(itertools.chain(*groups))


def never_matching(groups, name, depth):
    """Continue with untied items that are in no other list."""
    return groups + [[(name, place)] for place in range(depth)]


def soonest_matching(x, y, depth):
    """Continue both lists with the items that only the other one has, and then with the same items."""
    x_more = [[item] for item in items(y) if item not in items(x)]
    y_more = [[item] for item in items(x) if item not in items(y)]
    shared = [[("both", place)] for place in range(depth)]
    return x + x_more + shared, y + y_more + shared


def extrapolated_overlap(x, y, p, ties, depth):
    """RBO_EXT: the definition of each section, summed to a depth."""
    short, long = sorted([x, y], key=lambda groups: len(items(groups)))
    shorter, longer = len(items(short)), len(items(long))
    total = 0
    for d in range(1, depth + 1):
        held_short, held_long = parts(short, d, ties), parts(long, d, ties)
        if d <= shorter:
            last = now = agreement(held_short, held_long, d, ties)
        elif d <= longer:
            unmatched = [part for item, part in held_long.items() if item not in held_short]
            overlap = sum(part for item, part in held_long.items() if item in held_short)
            overlap += (d - shorter) * last * sum(unmatched) / len(unmatched)
            if ties == "w":
                now = 2 * overlap / (d + sum(held_long.values()))
            elif ties == "a":
                now = overlap / d
            else:
                now = overlap / math.sqrt(d * sum(c * c for c in held_long.values()))
        total += (1 - p) * p ** (d - 1) * now
    return total


def tau_ap(gold, system):
    """Yilmaz et al. 2008, for two orders of labels without ties."""
    n, total = len(system), Fraction(0)
    for i in range(1, n):
        concordant = sum(gold.index(other) < gold.index(system[i]) for other in system[:i])
        total += Fraction(concordant, i)
    return 2 * total / (n - 1) - 1


def tau_ap_b(x, y):
    """Urbano and Marrero 2017, for two lists of scores: the mean of both directions."""

    def one_way(gold, system):
        terms = []
        for i, score in enumerate(system):
            above = [j for j, other in enumerate(system) if other > score]
            if above:
                terms.append(Fraction(sum(gold[j] > gold[i] for j in above), len(above)))
        return 2 * sum(terms) / len(terms) - 1 if terms else None

    values = one_way(x, y), one_way(y, x)
    return None if None in values else sum(values) / 2


def average_precision(relevance, order):
    hits, total = 0, Fraction(0)
    for place, item in enumerate(order, start=1):
        if relevance[item]:
            hits += 1
            total += Fraction(hits, place)
    return total / hits


def vigna_tau(x, y, combine):
    """Vigna 2015: pairs weighted by hyperbolic ranks, those in x, and those in y where x has ties."""
    n = len(x)
    order = sorted(range(n), key=lambda i: (-x[i], -y[i]))
    weight = {item: 1 / place for place, item in enumerate(order, start=1)}

    def sign(number):
        return int(number > 0) - int(number < 0)

    def product(a, b):
        return sum(
            sign(a[i] - a[j]) * sign(b[i] - b[j]) * combine(weight[i], weight[j]) for i in range(n) for j in range(i)
        )

    return product(x, y) / math.sqrt(product(x, x) * product(y, y))


def krippendorff_alpha(rows, level):
    """Krippendorff 2011, by the coincidence matrix, in fractions; None is a missing rating.

    1 - (n - 1) sum_{c,k} o_ck d(c, k) / sum_{c,k} n_c n_k d(c, k), where each unit of m > 1 ratings adds, to o_ck,
    the number of its pairs of a rating c with another one k, divided by m - 1.
    """
    units = [[Fraction(row[item]) for row in rows if row[item] is not None] for item in range(len(rows[0]))]
    units = [unit for unit in units if len(unit) > 1]
    values = sorted({value for unit in units for value in unit})
    coincidences = {(c, k): Fraction(0) for c in values for k in values}
    for unit in units:
        for c, k in itertools.permutations(unit, 2):
            coincidences[c, k] += Fraction(1, len(unit) - 1)
    totals = {c: sum(coincidences[c, k] for k in values) for c in values}
    n = sum(totals.values())

    def difference(c, k):
        if level == "nominal":
            return int(c != k)
        if level == "ordinal":
            between = sum(totals[g] for g in values if min(c, k) <= g <= max(c, k))
            return (between - (totals[c] + totals[k]) / 2) ** 2
        if level == "interval":
            return (c - k) ** 2
        return ((c - k) / (c + k)) ** 2 if c + k else 0

    observed = sum(coincidences[c, k] * difference(c, k) for c in values for k in values)
    expected = sum(totals[c] * totals[k] * difference(c, k) for c in values for k in values)
    return 1 - (n - 1) * observed / expected if expected else None
