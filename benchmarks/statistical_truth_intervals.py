"""Print how often tests of systems reject a true null hypothesis; for intervals see interval_coverage.py.

Every figure carries its Monte Carlo standard error. Nothing here asserts.
"""

import argparse
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from report import heading, machine, row

from rankcorr import UndefinedCorrelationWarning
from rankcorr.coefficients import named_coefficient
from rankcorr.inference.comparison import compare_systems
from rankcorr.inference.leaderboard import leaderboard

Scores = tuple[np.ndarray, ...]
CUTS = (-1.2, -0.4, 0.4, 1.2)
COEFFICIENTS: tuple[tuple[str, dict[str, float]], ...] = (
    ("tau", {}),
    ("rho", {}),
    ("tau_w", {"n0": 2.0}),
    ("tau_w", {"n0": 10.0}),
    ("rho_w", {"n0": 2.0}),
    ("rho_w", {"n0": 10.0}),
)


def alike(rng: np.random.Generator, n_items: int) -> Scores:
    """Gold, and two systems that add noise of its size."""
    gold = rng.standard_normal(n_items)
    return gold, gold + rng.standard_normal(n_items), gold + rng.standard_normal(n_items)


def alike_likert(rng: np.random.Generator, n_items: int) -> Scores:
    """The same on five levels."""
    return tuple(np.digitize(scores, CUTS).astype(float) for scores in alike(rng, n_items))


def close(rng: np.random.Generator, n_items: int) -> Scores:
    """Gold, and two systems that share most of their noise."""
    gold = rng.standard_normal(n_items)
    shared = gold + rng.standard_normal(n_items)
    return gold, shared + 0.3 * rng.standard_normal(n_items), shared + 0.3 * rng.standard_normal(n_items)


def uneven(rng: np.random.Generator, n_items: int) -> Scores:
    """Not the null hypothesis: one system is noisy at the top, the other at the bottom."""
    gold = rng.standard_normal(n_items)
    noise = np.where(gold > 0, 1.5, 0.3), np.where(gold > 0, 0.3, 1.5)
    return gold, *(gold + each * rng.standard_normal(n_items) for each in noise)


def parallel(task: Callable[[int], object], number: int) -> np.ndarray:
    """Results of a task for the numbers from 0, each of which is a seed."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.array(list(pool.map(task, range(number))), dtype=float)


def rejected(
    design: Callable[[np.random.Generator, int], Scores],
    n_items: int,
    coefficient: str,
    options: dict[str, float],
    *,
    n_samples: int,
    n_resamples: int,
) -> tuple[float, float, float, float]:
    """Share of p-values at most 0.05 and 0.1, of intervals without 0, and the mean difference."""

    def one(seed: int) -> tuple[bool, bool, bool, float]:
        found = compare_systems(
            *design(np.random.default_rng([3, seed]), n_items),
            n_resamples=n_resamples,
            seed=seed,
            workers=1,
            coefficient=named_coefficient(coefficient, **options),
        )
        return found.pvalue <= 0.05, found.pvalue <= 0.1, not found.low <= 0 <= found.high, found.difference

    five, ten, outside, difference = parallel(one, n_samples).mean(axis=0).tolist()
    return five, ten, outside, difference


def share(value: float, number: int) -> str:
    """A share with its Monte Carlo standard error."""
    return f"{value:.3f} +- {np.sqrt(value * (1 - value) / number):.3f}"


def named(coefficient: str, options: dict[str, float]) -> str:
    return coefficient + "".join(f", {name}={value:g}" for name, value in options.items())


def bench_level(n_samples: int, n_resamples: int) -> None:
    heading(
        f"Paired randomization test of two systems, {n_resamples:,} resamples: share of p-values",
        *("design", "n", "coefficient", "p <= 0.05", "p <= 0.1", "95 % interval without 0", "mean difference"),
    )
    for design in (alike, alike_likert, close, uneven):
        for n_items in (10, 30, 100):
            for coefficient, options in COEFFICIENTS:
                if options.get("n0") == 10:
                    continue
                *shares, difference = rejected(
                    design, n_items, coefficient, options, n_samples=n_samples, n_resamples=n_resamples
                )
                name = design.__name__.replace("_", ", ")
                shown = map(partial(share, number=n_samples), shares)
                row(name, n_items, named(coefficient, options), *shown, f"{difference:.3f}")


def told_apart(n_systems: int, coefficient: str, *, n_samples: int, n_resamples: int) -> tuple[float, float]:
    """Share of boards of equally good systems with a corrected p-value below 0.05, and of those with two groups."""

    def one(seed: int) -> tuple[bool, bool]:
        rng = np.random.default_rng([5, seed, n_systems])
        gold = rng.normal(size=50)
        systems = {f"system {i}": gold + rng.normal(size=50) for i in range(n_systems)}
        board = leaderboard(gold, systems, coefficient=coefficient, n_resamples=n_resamples, seed=seed, workers=1)
        pvalues = [found.corrected_pvalue for found in board.rows[1:]]
        return min(pvalues) < 0.05, board.rows[-1].group > 1

    below, apart = parallel(one, n_samples).mean(axis=0).tolist()
    return below, apart


def bench_boards(n_samples: int) -> None:
    heading(
        "Leaderboards of equally good systems, 50 items: share with a system told apart from the best",
        *("coefficient", "systems", "boards", "corrected p < 0.05", "more than one group"),
    )
    for coefficient in ("tau", "tau_w"):
        for n_systems, number, n_resamples in ((2, 400, 199), (5, 300, 499), (20, 200, 999), (60, 100, 2_399)):
            boards = min(number, n_samples)
            shares = told_apart(n_systems, coefficient, n_samples=boards, n_resamples=n_resamples)
            row(coefficient, n_systems, boards, *(share(value, boards) for value in shares))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2_000, help="data sets for each figure")
    parser.add_argument("--resamples", type=int, default=999, help="resamples of each data set")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UndefinedCorrelationWarning)
    machine("numpy", "scipy", "numba")
    print(f"{options.samples:,} data sets for each figure; +- is its standard error.")
    bench_level(options.samples, min(options.resamples, 499))
    bench_boards(options.samples)


if __name__ == "__main__":
    main()
