"""Print how often 95 % intervals cover the mean of the coefficient over samples of as many items, and their widths.

Intervals of one coefficient, for several kinds of dependence between gold and system, and of the difference between two
systems. Every figure carries its Monte Carlo standard error, or its column says it. Nothing here asserts.
"""

import argparse
import math
import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from report import heading, machine, row

from rankcorr import UndefinedCorrelationWarning
from rankcorr.coefficients import Coefficient, named_coefficient
from rankcorr.inference.bootstrap import METHODS, bootstrap_interval
from rankcorr.inference.comparison import compare_systems
from rankcorr.ranking import Ranking

Scores = tuple[np.ndarray, ...]
Design = Callable[[np.random.Generator, int], Scores]

CUTS = (-1.2, -0.4, 0.4, 1.2)
N_TRUTH = 20_000


def normal(rng: np.random.Generator, n_items: int) -> Scores:
    """Normal scores that correlate by 0.5."""
    x, noise = rng.standard_normal((2, n_items))
    return x, 0.5 * x + math.sqrt(0.75) * noise


def clayton(rng: np.random.Generator, n_items: int) -> Scores:
    """Clayton's copula with Kendall's tau 1/3: low scores go together more than high ones."""
    u, v = rng.random((2, n_items))
    return u, 1 / ((v**-0.5 - 1) / u + 1)


def clayton_top(rng: np.random.Generator, n_items: int) -> Scores:
    """The same upside down: high scores go together."""
    x, y = clayton(rng, n_items)
    return -x, -y


def t_four(rng: np.random.Generator, n_items: int) -> Scores:
    """A t copula with 4 degrees of freedom and correlation 0.5."""
    x, y = normal(rng, n_items)
    scale = np.sqrt(4 / rng.chisquare(4, n_items))
    return x * scale, y * scale


def contaminated(rng: np.random.Generator, n_items: int) -> Scores:
    """Normal scores that correlate by 0.5, of which 30 % are independent of one another."""
    x, y = normal(rng, n_items)
    return x, np.where(rng.random(n_items) < 0.3, rng.standard_normal(n_items), y)


def five_levels(rng: np.random.Generator, n_items: int) -> Scores:
    """Normal scores that correlate by 0.5, on five levels, the outer ones less frequent."""
    return tuple(np.digitize(scores, CUTS).astype(float) for scores in normal(rng, n_items))


DESIGNS: dict[str, Design] = {
    "normal": normal,
    "Clayton, bottom": clayton,
    "Clayton, top": clayton_top,
    "t, 4 degrees": t_four,
    "contaminated": contaminated,
    "five levels": five_levels,
}
COEFFICIENTS: dict[str, Coefficient] = {
    f"{name}, n0 = {n0:g}": named_coefficient(name, n0=n0) for name in ("tau_w", "rho_w") for n0 in (0.0, 2.0, 10.0)
} | {name: named_coefficient(name) for name in ("tau", "rho")}


def in_parallel(task: Callable[[int], object], numbers: Iterable[int]) -> np.ndarray:
    """Results of a task for some numbers, each of which is a seed."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.array(list(pool.map(task, numbers)), dtype=float)


def systems(n_items: int, shared: float, noise: float) -> Design:
    """Gold and two systems with a share of their noise in common; `noise` is the variance of that of the first."""

    def drawn(rng: np.random.Generator, n_items: int) -> Scores:
        gold, common, own_a, own_b = rng.standard_normal((4, n_items))
        a, b = (math.sqrt(shared) * common + math.sqrt(1 - shared) * own for own in (own_a, own_b))
        return gold, gold + math.sqrt(noise) * a, gold + b

    return drawn


def truths(design: Design, n_items: int, coefficients: Iterable[Coefficient], number: int) -> np.ndarray:
    """Mean of each coefficient over samples: of the first ranking with each other."""
    chosen = list(coefficients)

    def one(seed: int) -> list[list[float]]:
        first, *others = (Ranking.from_scores(s) for s in design(np.random.default_rng([1, n_items, seed]), n_items))
        return [[coefficient.of_pair(first, other) for other in others] for coefficient in chosen]

    return np.nanmean(in_parallel(one, range(number)), axis=0)


def bench_coverage(
    sizes: Iterable[int], n_samples: int, n_resamples: int, n_truth: int, methods: Iterable[str]
) -> None:
    names = list(methods)
    for n_items in sizes:
        heading(
            f"Coverage of 95 % intervals of {n_items:,} items, and mean width; {n_samples:,} data sets, "
            f"{n_resamples:,} resamples",
            *("dependence", "coefficient", "mean"),
            *(f"{method}: {what}" for method in names for what in ("coverage", "above", "below", "width")),
        )
        for design_name, design in DESIGNS.items():
            means = truths(design, n_items, COEFFICIENTS.values(), n_truth)[:, 0]
            for (name, coefficient), truth in zip(COEFFICIENTS.items(), means.tolist(), strict=True):
                measured: list[str] = []
                for method in names:

                    def one(
                        seed: int, method: str = method, coefficient: Coefficient = coefficient
                    ) -> tuple[float, ...]:
                        x, y = design(np.random.default_rng([2, n_items, seed]), n_items)
                        found = bootstrap_interval(
                            x,
                            y,
                            coefficient=coefficient,
                            method=method,
                            n_resamples=n_resamples,
                            seed=seed,
                            workers=1,
                        )
                        return truth < found.low, found.high < truth, found.high - found.low

                    above, below, width = in_parallel(one, range(n_samples)).mean(axis=0).tolist()
                    measured += [f"{1 - above - below:.3f}", f"{above:.3f}", f"{below:.3f}", f"{width:.3f}"]
                row(design_name, name, f"{truth:.3f}", *measured)


def bench_difference(n_samples: int, n_resamples: int, n_truth: int) -> None:
    for noise, what in ((1.0, "equally good: share without 0"), (0.5, "one better: share that misses the difference")):
        heading(
            f"95 % interval of the difference of two systems, {what}; {n_samples:,} data sets, "
            f"{n_resamples:,} resamples",
            *("items", "noise in common", "coefficient", "mean difference", "missed", "+-", "mean width"),
        )
        for n_items in (20, 65, 200):
            for shared in (0.0, 0.9, 0.99, 0.999):
                design = systems(n_items, shared, noise)
                for name in ("tau_w", "rho_w"):
                    coefficient = named_coefficient(name)
                    truth = 0.0
                    if noise != 1.0:
                        truth = -float(np.diff(truths(design, n_items, [coefficient], n_truth)[0])[0])

                    def one(
                        seed: int,
                        coefficient: Coefficient = coefficient,
                        design: Design = design,
                        truth: float = truth,
                        n_items: int = n_items,
                    ) -> tuple[float, ...]:
                        found = compare_systems(
                            *design(np.random.default_rng([3, n_items, seed]), n_items),
                            coefficient=coefficient,
                            n_resamples=n_resamples,
                            seed=seed,
                            workers=1,
                        )
                        return not found.low <= truth <= found.high, found.high - found.low

                    missed, width = in_parallel(one, range(n_samples)).mean(axis=0).tolist()
                    error = math.sqrt(missed * (1 - missed) / n_samples)
                    row(n_items, shared, name, f"{truth:.3f}", f"{missed:.3f}", f"{error:.3f}", f"{width:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000, help="data sets for each figure")
    parser.add_argument("--resamples", type=int, default=1_000, help="resamples of each data set")
    parser.add_argument("--items", type=int, nargs="+", default=[50, 300, 1_000], help="numbers of items")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--only", choices=["coverage", "difference"], help="one of the two tables")
    parser.add_argument("--quick", action="store_true", help="100 data sets, 400 resamples and 50 items: a minute")
    options = parser.parse_args()
    samples, resamples, items, number = options.samples, options.resamples, options.items, N_TRUTH
    if options.quick:
        samples, resamples, items, number = 100, 400, [50], 2_000
    warnings.simplefilter("ignore", UndefinedCorrelationWarning)
    machine("numpy", "scipy", "numba")
    if options.only != "difference":
        bench_coverage(items, samples, resamples, number, options.methods)
    if options.only != "coverage":
        bench_difference(samples, resamples, number)


if __name__ == "__main__":
    main()
