"""Print how often intervals cover the truth, and how often tests reject a true null hypothesis.

The truth that an interval of n items is meant to cover is the mean of the coefficient over samples of n items: a
top-weighted coefficient depends on the number of items, so its value for an infinite population is another quantity.
Every figure carries its Monte Carlo standard error. Nothing here asserts.
"""

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from report import heading, machine, row

from rankcorr import UndefinedCorrelationWarning, weighted_rho, weighted_tau
from rankcorr.coefficients import named_coefficient
from rankcorr.inference.bootstrap import bootstrap_interval
from rankcorr.inference.comparison import compare_systems
from rankcorr.inference.leaderboard import leaderboard
from rankcorr.weights import Uniform

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


def normal(rng: np.random.Generator, n_items: int) -> Scores:
    """Bivariate normal scores with correlation 0.5."""
    x = rng.standard_normal(n_items)
    return x, 0.5 * x + np.sqrt(0.75) * rng.standard_normal(n_items)


def likert(rng: np.random.Generator, n_items: int) -> Scores:
    """The same, seen on five levels, the outer ones less frequent."""
    return tuple(np.digitize(scores, CUTS).astype(float) for scores in normal(rng, n_items))


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


def statistic(coefficient: str, options: dict[str, float], x: np.ndarray, y: np.ndarray) -> float:
    weights = options or {"weigher": Uniform()}
    return (weighted_tau if coefficient.startswith("tau") else weighted_rho)(x, y, **weights).statistic


def parallel(task: Callable[[int], object], number: int) -> np.ndarray:
    """Results of a task for the numbers from 0, each of which is a seed."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.array(list(pool.map(task, range(number))), dtype=float)


def expected(
    design: Callable[[np.random.Generator, int], Scores], n_items: int, coefficient: str, options: dict[str, float]
) -> float:
    """Mean of a coefficient over 20,000 samples."""

    def one(seed: int) -> float:
        return statistic(coefficient, options, *design(np.random.default_rng([1, seed]), n_items))

    return float(np.mean(parallel(one, 20_000 if n_items <= 100 else 5_000)))


def covered(
    design: Callable[[np.random.Generator, int], Scores],
    n_items: int,
    coefficient: str,
    options: dict[str, float],
    *,
    truth: float,
    method: str,
    n_samples: int,
    n_resamples: int,
) -> tuple[float, float, float]:
    """Share of 95 % intervals that lie above the truth, cover it, and lie below it."""

    def one(seed: int) -> tuple[bool, bool, bool]:
        x, y = design(np.random.default_rng([2, seed]), n_items)
        found = bootstrap_interval(
            x,
            y,
            method=method,
            n_resamples=n_resamples,
            seed=seed,
            workers=1,
            coefficient=named_coefficient(coefficient, **options),
        )
        return truth < found.low, found.low <= truth <= found.high, found.high < truth

    above, inside, below = parallel(one, n_samples).mean(axis=0).tolist()
    return above, inside, below


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


def cells(n_samples: int) -> Iterator[tuple[int, Callable[[np.random.Generator, int], Scores], int]]:
    for n_items, number in ((100, n_samples), (1_000, n_samples // 2)):
        for design in (normal, likert):
            yield n_items, design, number


def bench_coverage(n_samples: int, n_resamples: int) -> None:
    heading(
        f"Coverage of 95 % bootstrap intervals, {n_resamples:,} resamples",
        *("design", "n", "coefficient", "truth", "percentile", "above / below", "BCa", "above / below"),
    )
    for n_items, design, number in cells(n_samples):
        for coefficient, options in COEFFICIENTS:
            if n_items > 100 and not options:
                continue
            truth = expected(design, n_items, coefficient, options)
            measured: list[str] = []
            for method in ("percentile", "bca"):
                above, inside, below = covered(
                    design,
                    n_items,
                    coefficient,
                    options,
                    truth=truth,
                    method=method,
                    n_samples=number,
                    n_resamples=n_resamples,
                )
                measured += [share(inside, number), f"{above:.3f} / {below:.3f}"]
            row(design.__name__, f"{n_items:,}", named(coefficient, options), f"{truth:.3f}", *measured)


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
    print(f"{options.samples:,} data sets for each figure, half as many for n = 1,000; +- is its standard error.")
    bench_coverage(options.samples, options.resamples)
    bench_level(options.samples, min(options.resamples, 499))
    bench_boards(options.samples)


if __name__ == "__main__":
    main()
