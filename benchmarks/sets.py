"""Compare the accuracy of a ranking from best-worst answers with that from as many votes on pairs.

Strengths are normal with a standard deviation of 1.5. In each answer, a voter perceives every item with a separate
error (Gumbel, scale 1). Of a pair, the voter chooses the item perceived as better, which is a logistic model; of four
items, the best and the worst. Pairs are matched by the votes so far, in batches of as many as there are items; sets
are balanced, or chosen by the votes so far in batches of this size.

With --calibration, compare the stated accuracy of fits to adaptive sets with the truth, also for voters who follow the
model of the fit, which depends only on the difference of strengths between the best and the worst item.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import permutations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from report import heading, machine, row

from adaptive import Choices, ChoiceStrengths, Comparisons, bradley_terry, draw_sets, next_comparisons, next_sets
from rankcorr import Ranking, TauW

SIZES = (20, 40, 100)
PER_ITEM = (2, 5)
SET_SIZE = 4
SPREAD = 1.5
LOW_SPREAD = 0.3  # hardly any differences
LEVEL = 0.9
Strengths: TypeAlias = NDArray[np.float64]
Answer: TypeAlias = tuple[list[int], int, int]
Voter: TypeAlias = Callable[[Strengths, list[int], np.random.Generator], Answer]


def perceive(theta: Strengths, places: list[int], rng: np.random.Generator) -> Answer:
    """Return a set with its best and its worst item, as a voter perceives them."""
    perceived = theta[places] + rng.gumbel(size=len(places))
    return places, places[int(perceived.argmax())], places[int(perceived.argmin())]


def compare_ends(theta: Strengths, places: list[int], rng: np.random.Generator) -> Answer:
    """Return a set with its best and its worst item, by the model of the fit."""
    ends = list(permutations(places, 2))
    odds = np.exp([theta[best] - theta[worst] for best, worst in ends])
    return places, *ends[int(rng.choice(len(ends), p=odds / odds.sum()))]


VOTERS: dict[str, Voter] = {"perceive each item": perceive, "as the model": compare_ends}


def fit_sets(
    theta: Strengths, n_answers: int, rng: np.random.Generator, *, chosen: bool, voter: Voter = perceive
) -> ChoiceStrengths:
    """Fit strengths to answers on sets that are balanced, or chosen by the answers so far."""
    n_items = theta.size
    answers: list[Answer] = []
    n_shown = np.zeros(n_items)
    while len(answers) < n_answers:
        if chosen and answers:
            fit = Choices.from_best_worst(answers, items=range(n_items)).fit(prior=2.0)
            sets = next_sets(fit, n_items, set_size=SET_SIZE, n_shown=n_shown, rng=rng).tolist()
        else:
            sets = [list(members) for members in draw_sets(n_items, SET_SIZE, SET_SIZE, rng)]
        n_shown += np.bincount(np.concatenate(sets), minlength=n_items)
        answers += [voter(theta, places, rng) for places in sets]
    return Choices.from_best_worst(answers, items=range(n_items)).fit()


def of_sets(theta: Strengths, n_answers: int, rng: np.random.Generator, *, chosen: bool) -> Strengths:
    """Return strengths fitted to answers on sets."""
    return fit_sets(theta, n_answers, rng, chosen=chosen).theta


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


def calibration(voter: str, spread: float, n_items: int, per_item: int, seed: int) -> list[float]:
    """Return expected less true tau_w, and the shares of true ranks that intervals hold.

    The shares are those of all items and of the best quarter, then of all at once, and of all at once at any time.
    """
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, spread, n_items)
    fit = fit_sets(theta, per_item * n_items, rng, chosen=True, voter=VOTERS[voter])
    true_ranks = Ranking.from_scores(theta).ranks
    excess = fit.expected_correlation(TauW()).mean - TauW()(fit.theta, theta)

    def held(*, simultaneous: bool = False, anytime: bool = False) -> NDArray[np.bool_]:
        intervals = fit.rank_intervals(LEVEL, simultaneous=simultaneous, anytime=anytime)
        return (intervals.low <= true_ranks) & (true_ranks <= intervals.high)

    shares = held(), held()[true_ranks <= n_items / 4], held(simultaneous=True).all(), held(anytime=True).all()
    return [float(excess), *(float(np.mean(share)) for share in shares)]


def mean_and_error(values: NDArray[np.float64]) -> str:
    """Format the mean of simulations with its standard error."""
    return f"{values.mean():.3f} ± {values.std(ddof=1) / np.sqrt(values.size):.3f}"


def print_calibration(pool: ProcessPoolExecutor, n_simulations: int) -> None:
    """Print the calibration of fits to sets."""
    heading(
        f"Calibration of {LEVEL:.0%} intervals", "voters", "spread", "items", "answers", "expected less true",
        "ranks held", "of the best quarter", "all at once", "all at any time",
    )  # fmt: skip
    for voter in VOTERS:
        for spread in (SPREAD, LOW_SPREAD):
            for n_items in SIZES[:2]:
                for per_item in PER_ITEM:
                    work = partial(calibration, voter, spread, n_items, per_item)
                    columns = np.array(list(pool.map(work, range(n_simulations)))).T
                    row(voter, spread, n_items, per_item * n_items, *map(mean_and_error, columns))


def main() -> None:
    """Print the mean accuracy of each way, with its standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--calibration", action="store_true")
    options = parser.parse_args()
    machine("numpy", "scipy", "numba")
    if options.calibration:
        with ProcessPoolExecutor(options.workers) as pool:
            print_calibration(pool, options.simulations)
        return
    heading("Mean tau_w", "items", "answers", *WAYS)
    with ProcessPoolExecutor(options.workers) as pool:
        for n_items in SIZES:
            for per_item in PER_ITEM:
                cells = []
                for way in WAYS:
                    work = partial(accuracy, way, n_items, per_item)
                    cells.append(mean_and_error(np.array(list(pool.map(work, range(options.simulations))))))
                row(n_items, per_item * n_items, *cells)


if __name__ == "__main__":
    main()
