"""Inputs that several tests of inference share."""

import numpy as np

from rankcorr import Ranking
from rankcorr.coefficients import named_coefficient
from rankcorr.inference.resampling import SortedItems

NOISE = {"good": 0.2, "fair": 0.6, "alike": 0.65, "poor": 2.0}


def data(sizes=(40, 30), seed=0, noise=NOISE):
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
