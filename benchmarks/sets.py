"""Compare the accuracy of a ranking from best-worst answers with that from as many votes on pairs.

Strengths are normal with a standard deviation of 1.5. In each answer, a voter perceives every item with an error of its
own (Gumbel, scale 1), and answers by what is perceived: of a pair the better item, which is a logistic model, and of
four items the best and the worst. Pairs are matched by the votes so far, in batches of as many as
there are items; sets are balanced, or chosen by the votes so far in such batches.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import NDArray
from report import heading, machine, row

from adaptive import Choices, Comparisons, bradley_terry, draw_sets, next_comparisons, next_sets
from rankcorr import TauW

SIZES = (20, 40, 100)
PER_ITEM = (2, 5)
SET_SIZE = 4
SPREAD = 1.5
Strengths = NDArray[np.float64]


def answer(theta: Strengths, places: list[int], rng: np.random.Generator) -> tuple[list[int], int, int]:
    """Return a set with its best and its worst item, as a voter perceives them."""
    perceived = theta[places] + rng.gumbel(size=len(places))
    return places, places[int(perceived.argmax())], places[int(perceived.argmin())]


def of_sets(theta: Strengths, n_answers: int, rng: np.random.Generator, *, chosen: bool) -> Strengths:
    """Return strengths fitted to answers on sets that are balanced, or chosen by the answers so far."""
    n_items = theta.size
    answers: list[tuple[list[int], int, int]] = []
    n_shown = np.zeros(n_items)
    while len(answers) < n_answers:
        if chosen and answers:
            fit = Choices.from_best_worst(answers, items=range(n_items)).fit(prior=2.0)
            sets = next_sets(fit, n_items, set_size=SET_SIZE, n_shown=n_shown, rng=rng).tolist()
        else:
            sets = [list(members) for members in draw_sets(n_items, SET_SIZE, SET_SIZE, rng)]
        n_shown += np.bincount(np.concatenate(sets), minlength=n_items)
        answers += [answer(theta, places, rng) for places in sets]
    return Choices.from_best_worst(answers, items=range(n_items)).fit().theta


def of_pairs(theta: Strengths, n_answers: int, rng: np.random.Generator) -> Strengths:
    """Return strengths fitted to votes on pairs that are matched by the votes so far."""
    n_items = theta.size
    left, right, winner = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int8)
    while left.size < n_answers:
        fit = bradley_terry(Comparisons(range(n_items), left, right, winner))
        matches = next_comparisons(fit, n_items, rng=rng)
        perceived = theta[[matches.left, matches.right]] + rng.gumbel(size=(2, matches.n_comparisons))
        won = np.where(perceived[0] > perceived[1], 1, -1).astype(np.int8)
        left, right = np.append(left, matches.left), np.append(right, matches.right)
        winner = np.append(winner, won)
    return bradley_terry(Comparisons(range(n_items), left, right, winner)).theta


WAYS: dict[str, Callable[[Strengths, int, np.random.Generator], Strengths]] = {
    "matched pairs": of_pairs,
    "balanced sets": partial(of_sets, chosen=False),
    "sets by the votes": partial(of_sets, chosen=True),
}


def accuracy(way: str, n_items: int, per_item: int, seed: int) -> float:
    """Return tau_w of a ranking with the true one."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, SPREAD, n_items)
    return float(TauW()(WAYS[way](theta, per_item * n_items, rng), theta))


def main() -> None:
    """Print the mean accuracy of each way, with its standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    machine("numpy", "scipy", "numba")
    heading("Mean tau_w", "items", "answers", *WAYS)
    with ProcessPoolExecutor(options.workers) as pool:
        for n_items in SIZES:
            for per_item in PER_ITEM:
                cells = []
                for way in WAYS:
                    work = partial(accuracy, way, n_items, per_item)
                    values = np.array(list(pool.map(work, range(options.simulations))))
                    error = values.std(ddof=1) / np.sqrt(options.simulations)
                    cells.append(f"{values.mean():.3f} ± {error:.3f}")
                row(n_items, per_item * n_items, *cells)


if __name__ == "__main__":
    main()
