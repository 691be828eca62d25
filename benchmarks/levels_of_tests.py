"""Print how often tests reject a true hypothesis: the paired test of two systems, and leaderboards of equal ones.

Gold is normal. Each system is gold plus normal noise of the same variance; s is the share of that variance which both
systems have in common. They are exchangeable for every s, and more alike for a larger one. A last table has gross
failures instead: noise of standard deviation 0.05, and each system sends an item to the bottom with probability 5 %.
Nothing here asserts.
"""

import argparse
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from report import heading, machine, row

from rankcorr import Ranking, RhoW, Tau, TauW, leaderboard
from rankcorr.coefficients import Coefficient
from rankcorr.inference.exchange import Exchange, codes_of_items, score_codes
from rankcorr.inference.paired import paired_tests
from rankcorr.inference.resampling import Draws

SIZES, SHARES = (20, 30, 65, 200), (0.0, 0.9, 0.98, 0.995, 0.999)
COEFFICIENTS: dict[str, Coefficient] = {"tau_w": TauW(), "rho_w": RhoW()}
SEEN: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "no ties": lambda scores: scores,
    "one decimal place": lambda scores: np.round(scores, 1),
    "five levels": lambda scores: np.digitize(scores, (-1.4, -0.5, 0.5, 1.4)).astype(float),
}
BOARDS: dict[str, Coefficient] = {"tau_w": TauW(), "tau": Tau(), "rho_w": RhoW()}
N_ITEMS, RESAMPLES = 50, 699


def noisy(rng: np.random.Generator, n_items: int, n_systems: int, share: float) -> tuple[np.ndarray, list[np.ndarray]]:
    """Gold, and systems that share a part of the variance of their noise."""
    gold, shared = rng.standard_normal((2, n_items))
    own = rng.standard_normal((n_systems, n_items))
    return gold, list(gold + np.sqrt(share) * shared + np.sqrt(1 - share) * own)


def failing(rng: np.random.Generator, n_items: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Gold, and two systems that each send about 5 % of the items to the bottom, in a random order there."""
    gold = rng.standard_normal(n_items)
    systems = [gold + 0.05 * rng.standard_normal(n_items) for _ in range(2)]
    for scores in systems:
        fails = rng.random(n_items) < 0.05
        scores[fails] = rng.standard_normal(fails.sum()) - 10
    return gold, systems


def pair(n_items: int, share: float, name: str, seen: str, n_resamples: int, seed: int) -> tuple[float, float]:
    """P-values of the paired test, by swaps of ranks and of scores."""
    rng = np.random.default_rng([1, n_items, round(1000 * share), seed])
    gold, systems = noisy(rng, n_items, 2, share)
    return tested(name, gold, [SEEN[seen](scores) for scores in systems], n_resamples, seed)


def failing_pair(n_items: int, name: str, n_resamples: int, seed: int) -> tuple[float, float]:
    """P-values of the paired test for systems with gross failures."""
    gold, systems = failing(np.random.default_rng([4, n_items, seed]), n_items)
    return tested(name, gold, systems, n_resamples, seed)


def tested(name: str, gold: np.ndarray, systems: list[np.ndarray], n_resamples: int, seed: int) -> tuple[float, float]:
    """P-values by swaps of ranks and of scores."""
    first, *others = (Ranking.from_scores(scores) for scores in (gold, *systems))
    codes = np.array([codes_of_items(own, None) for own in score_codes(systems, "ab")])
    found = []
    for exchange in (
        Exchange.of_ranks(COEFFICIENTS[name], first, others),
        Exchange.of_scores(COEFFICIENTS[name], first, others, codes),
    ):
        one, other = exchange.observed()
        (test,) = paired_tests([[exchange]], np.array([one - other]), draws=Draws(n_resamples, seed))
        found.append(test.pvalue)
    return found[0], found[1]


def board(n_systems: int, share: float, name: str, n_resamples: int, seed: int) -> bool:
    """Whether a leaderboard of equally good systems tells any of them apart."""
    rng = np.random.default_rng([2, n_systems, round(1000 * share), seed])
    gold, systems = noisy(rng, N_ITEMS, n_systems, share)
    named = {str(number): scores for number, scores in enumerate(systems)}
    found = leaderboard(gold, named, coefficient=BOARDS[name], n_resamples=n_resamples, seed=seed, workers=1)
    return found.rows[-1].group != 1


def better(n_systems: int, share: float, name: str, n_resamples: int, seed: int) -> tuple[float, bool]:
    """Share of the worse half of the systems that is told from the best, and whether one of the better half is."""
    rng = np.random.default_rng([3, n_systems, round(1000 * share), seed])
    gold, systems = noisy(rng, N_ITEMS, n_systems, share)
    half = n_systems // 2
    named = {
        str(number): scores if number < half else gold + 1.3 * (scores - gold) for number, scores in enumerate(systems)
    }
    found = leaderboard(gold, named, coefficient=BOARDS[name], n_resamples=n_resamples, seed=seed, workers=1)
    apart = [int(each.system) for each in found.rows if each.corrected_pvalue < 0.05]
    worse = sum(system >= half for system in apart)
    return worse / (n_systems - half), worse < len(apart)


def shares(pool: ProcessPoolExecutor, task: Callable[[int], object], number: int) -> np.ndarray:
    """Results of a task for the numbers from 0, each of which is a seed, one row each."""
    chunk = max(1, number // (8 * (os.cpu_count() or 1)))
    return np.array(list(pool.map(task, range(number), chunksize=chunk)), dtype=float).reshape(number, -1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4_000, help="pairs of systems of each cell")
    parser.add_argument("--boards", type=int, default=1_000, help="leaderboards of each cell; a fifth of them of 60")
    parser.add_argument("--swaps", type=int, default=199)
    parser.add_argument("--failures", action="store_true", help="print only the table of gross failures")
    parser.add_argument("--ties", choices=list(SEEN), action="append", help="print this table of pairs alone")
    options = parser.parse_args()
    if options.failures:
        options.ties, options.boards = [], 0
    machine("numpy", "numba")
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for seen in (SEEN if options.ties is None else options.ties) if options.draws else ():
            heading(
                f"two exchangeable systems, {seen}: share of {options.draws:,} p-values at most 0.05, 0.01 by swaps of "
                f"ranks, and at most 0.05 by swaps of scores ({options.swaps} swaps)",
                "coefficient, items, s",
                "ranks",
                "0.01",
                "scores",
            )
            for name, n_items, share in itertools.product(COEFFICIENTS, SIZES, SHARES):
                found = shares(pool, partial(pair, n_items, share, name, seen, options.swaps), options.draws)
                ranks, scores = found.T
                row(
                    f"{name}, {n_items}, {share}",
                    f"{np.mean(ranks <= 0.05):.3f}",
                    f"{np.mean(ranks <= 0.01):.3f}",
                    f"{np.mean(scores <= 0.05):.3f}",
                )
        if options.draws:
            heading(
                f"two exchangeable systems with gross failures: share of {options.draws:,} p-values at most 0.05",
                "coefficient, items",
                "ranks",
                "scores",
            )
            for name, n_items in itertools.product(COEFFICIENTS, (30, 65, 120)):
                found = shares(pool, partial(failing_pair, n_items, name, options.swaps), options.draws)
                row(f"{name}, {n_items}", *(f"{level:.3f}" for level in np.mean(found <= 0.05, axis=0)))
        if options.boards:
            heading(
                f"boards of equally good systems, {N_ITEMS} items: share that names a difference "
                f"({RESAMPLES} resamples)",
                "coefficient, systems, s",
                "boards",
                "share",
            )
        for name, n_systems, share in itertools.product(BOARDS, (5, 20, 60), (0.0, 0.99, 0.999)):
            number = options.boards if n_systems < 60 else options.boards // 5
            if number:
                found = shares(pool, partial(board, n_systems, share, name, RESAMPLES), number)
                row(f"{name}, {n_systems}, {share}", f"{number:,}", f"{found.mean():.3f}")
        if options.boards:
            heading(
                "boards of which half of the systems have 1.3 times the noise, s = 0.99: share of these told from the "
                "best, and of boards that name one of the others",
                "coefficient, systems",
                "boards",
                "told apart",
                "wrong",
            )
        for name, n_systems in itertools.product(BOARDS, (2, 5, 20)):
            if options.boards:
                found = shares(pool, partial(better, n_systems, 0.99, name, RESAMPLES), options.boards // 2)
                right, wrong = found.mean(axis=0)
                row(f"{name}, {n_systems}", f"{options.boards // 2:,}", f"{right:.3f}", f"{wrong:.3f}")


if __name__ == "__main__":
    main()
