"""Inputs shared by tests of inference."""

import math

import numpy as np
import scipy.stats

from rankcorr import Ranking
from rankcorr._coefficients import named_coefficient
from rankcorr.inference._resampling import SortedItems

NOISE = {"good": 0.2, "fair": 0.6, "alike": 0.65, "poor": 2.0}

# Made-up scores of pairs of words, gold and two systems. The first pair, of two equal words, alone decides the test.
PAIRS = ["tiger tiger", "coast shore", "cup mug", "car bus", "tree leaf", "bread cheese", "king chess"]
PAIRS += ["rain umbrella", "hill valley", "moon tide", "glass magic", "noon string", "lamp wizard", "cord smile"]
PAIR_SCORES = (
    [10.0, 8.3, 7.9, 7.8, 6.2, 5.3, 5.1, 4.9, 4.3, 3.2, 2.4, 0.9, 0.7, 0.2],
    [10.0, 9.7, 8.2, 7.0, 4.8, 6.2, 4.1, 3.9, 5.9, 3.6, 2.3, 1.3, 0.0, 0.0],
    [5.1, 10.0, 9.7, 7.0, 4.8, 3.4, 5.9, 3.7, 6.2, 4.9, 3.1, 1.6, 0.0, 0.0],
)


def case_of_one_pair():
    """The same scores by pair: gold and two systems."""
    return [dict(zip(PAIRS, scores, strict=True)) for scores in PAIR_SCORES]


def gold_and_systems(sizes=(40, 30), seed=0, noise=NOISE):
    """Gold sets, and systems over the items of all."""
    rng = np.random.default_rng(seed)
    gold = {
        f"set {index}": {f"{index}-{item}": value for item, value in enumerate(rng.normal(size=size))}
        for index, size in enumerate(sizes)
    }
    items = [pair for scores in gold.values() for pair in scores.items()]
    return gold, {
        name: {label: value + amount * rng.normal() for label, value in items} for name, amount in noise.items()
    }


def sorted_items(x, *others, coefficient="tau_w", **options):
    """Rankings of scores, sorted by the first, for a coefficient with these options."""
    rankings = [Ranking.from_scores(values) for values in (x, *others)]
    return SortedItems.of(named_coefficient(coefficient, **options), rankings[0], rankings[1:])


def scipy_tau(a, b, n0):
    """The weighted tau of ranks without ties, by scipy."""
    weights = 1 / (a + n0) ** 2 + 1 / (b + n0) ** 2
    options = {"rank": np.arange(a.size), "weigher": lambda item: weights[item], "additive": False}
    return scipy.stats.weightedtau(a, b, **options).statistic


def numpy_rho(a, b, n0):
    """The weighted rho of ranks, by numpy."""
    moments = np.cov(a, b, aweights=1 / (a + n0) ** 2 + 1 / (b + n0) ** 2, ddof=0)
    return moments[0, 1] / math.sqrt(moments[0, 0] * moments[1, 1])


def by_name(board):
    return {row.system: row for row in board.rows}
