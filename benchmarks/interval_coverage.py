"""Print how often 95 % intervals cover the mean of the coefficient over samples of the same size, and their widths.

The designs are several kinds of dependence between gold and system. Without ties, the distribution of a coefficient in
a t copula depends only on the correlation, the degrees of freedom and the number of items. It is therefore tabulated
once for all data sets; the "copula" intervals are those that very many resamples would give. With --resampled, and for
scores on five levels, each interval is resampled. The script checks nothing.
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
from rankcorr._coefficients import Coefficient, named_coefficient
from rankcorr._ranking import Ranking
from rankcorr.inference._bootstrap import METHODS, bootstrap_interval
from rankcorr.inference._copula import DEGREES, TCopula, decided_by_top
from rankcorr.inference._resampling import SortedItems

Scores = tuple[np.ndarray, ...]
Design = Callable[[np.random.Generator, int], Scores]

CUTS = (-1.2, -0.4, 0.4, 1.2)
N_TRUTH = 4_000
# The tabulated correlations, as Fisher's z.
GRID = np.concatenate([np.arange(-1.6, 2.0, 0.16), np.arange(2.0, 5.0, 0.4)])


def normal(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw normal scores that correlate by 0.5."""
    x, noise = rng.standard_normal((2, n_items))
    return x, 0.5 * x + math.sqrt(0.75) * noise


def clayton(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw from Clayton's copula with Kendall's tau 1/3: low scores agree more than high ones."""
    u, v = rng.random((2, n_items))
    return u, 1 / ((v**-0.5 - 1) / u + 1)


def clayton_top(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw from the same copula upside down: high scores agree more."""
    x, y = clayton(rng, n_items)
    return -x, -y


def t_four(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw from a t copula with 4 degrees of freedom and correlation 0.5."""
    x, y = normal(rng, n_items)
    scale = np.sqrt(4 / rng.chisquare(4, n_items))
    return x * scale, y * scale


def contaminated(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw normal scores that correlate by 0.5, except for 30 % of the items, whose scores are independent."""
    x, y = normal(rng, n_items)
    return x, np.where(rng.random(n_items) < 0.3, rng.standard_normal(n_items), y)


def mostly_alike(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw normal scores that correlate by 0.95, except for 30 % of the items, whose scores are independent."""
    x, noise = rng.standard_normal((2, n_items))
    y = 0.95 * x + math.sqrt(1 - 0.95**2) * noise
    return x, np.where(rng.random(n_items) < 0.3, rng.standard_normal(n_items), y)


def top_only(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw a system that ranks the top fifth of gold in nearly the same order, and the other items at random."""
    x, noise = rng.standard_normal((2, n_items))
    top = x > np.quantile(x, 0.8)
    return x, np.where(top, 5 + x + 0.1 * noise, noise)


def five_levels(rng: np.random.Generator, n_items: int) -> Scores:
    """Draw normal scores that correlate by 0.5, on five levels; the outer ones are rarer."""
    return tuple(np.digitize(scores, CUTS).astype(float) for scores in normal(rng, n_items))


DESIGNS: dict[str, Design] = {
    "normal": normal,
    "Clayton, bottom": clayton,
    "Clayton, top": clayton_top,
    "t, 4 degrees": t_four,
    "contaminated": contaminated,
    "mostly alike": mostly_alike,
    "top only": top_only,
    "five levels": five_levels,
}
COEFFICIENTS: dict[str, Coefficient] = {
    f"{name}, n0 = {n0:g}": named_coefficient(name, n0=n0) for name in ("tau_w", "rho_w") for n0 in (0.0, 2.0, 10.0)
} | {name: named_coefficient(name) for name in ("tau", "rho")}


def in_parallel(task: Callable[[int], object], numbers: Iterable[int]) -> np.ndarray:
    """Return the results of a task that is called with each number as its seed."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.array(list(pool.map(task, numbers)), dtype=float)


def sorted_items(coefficient: Coefficient, scores: Scores) -> SortedItems:
    first, *others = (Ranking.from_scores(each) for each in scores)
    return SortedItems.of(coefficient, first, others)


def truths(design: Design, n_items: int, coefficients: Iterable[Coefficient], number: int) -> np.ndarray:
    """Return the mean over samples of each coefficient between the first ranking and each other one."""
    chosen = list(coefficients)

    def one(seed: int) -> list[list[float]]:
        first, *others = (Ranking.from_scores(s) for s in design(np.random.default_rng([1, n_items, seed]), n_items))
        return [[coefficient.of_pair(first, other) for other in others] for coefficient in chosen]

    return np.nanmean(in_parallel(one, range(number)), axis=0)


class Table:
    """Tables of the quantiles and means of the coefficients in t copulas without ties."""

    def __init__(self, n_items: int, n_draws: int) -> None:
        anything = np.arange(float(n_items))
        items = [sorted_items(coefficient, (anything, anything)) for coefficient in COEFFICIENTS.values()]
        shape = len(DEGREES), GRID.size, len(items)
        self.low, self.high, self.mean = np.empty((3, *shape))

        def fill(seed: int) -> int:
            row, column = divmod(seed, GRID.size)
            copula = TCopula(items[0], GRID[:1], DEGREES[row])
            rng = np.random.default_rng([4, n_items, seed])
            step = max(1, 200_000 // n_items)
            keys = [
                copula.drawn_keys(rng, np.full((min(step, n_draws - done), 1), GRID[column]))
                for done in range(0, n_draws, step)
            ]
            for index, each in enumerate(items):
                values = np.concatenate([each.of_keys(part) for part in keys])[:, 0]
                self.low[row, column, index], self.high[row, column, index] = np.quantile(values, [0.025, 0.975])
                self.mean[row, column, index] = values.mean()
            return 0

        in_parallel(fill, range(shape[0] * shape[1]))
        self.low, self.high, self.mean = (np.maximum.accumulate(t, axis=1) for t in (self.low, self.high, self.mean))

    def interval(self, index: int, degrees: float, value: float) -> tuple[float, float]:
        """Return the ends of the interval for a value of the coefficient with this index."""
        row = DEGREES.index(degrees)
        ends = (np.interp(value, table[row, :, index], GRID) for table in (self.high, self.low))
        low, high = (float(np.interp(end, GRID, self.mean[row, :, index])) for end in ends)
        return low, high


def tabulated(design: Design, n_items: int, table: Table, n_samples: int) -> np.ndarray:
    """Return the ends of the intervals from the table, shape (n_samples, n_coefficients, 2)."""

    def one(seed: int) -> list[tuple[float, float]]:
        scores = design(np.random.default_rng([2, n_items, seed]), n_items)
        degrees: dict[bool, float] = {}
        ends = []
        for index, coefficient in enumerate(COEFFICIENTS.values()):
            items = sorted_items(coefficient, scores)
            by_top = decided_by_top(items)
            if by_top not in degrees:
                degrees[by_top] = TCopula.fitted(items).degrees
            value = float(items.coefficients(np.ones((1, n_items), np.int32))[0, 0])
            ends.append(table.interval(index, degrees[by_top], value))
        return ends

    return in_parallel(one, range(n_samples))


def resampled(design: Design, n_items: int, method: str, n_samples: int, n_resamples: int) -> np.ndarray:
    """Return the ends of the intervals from resamples of each data set, in the same shape."""

    def one(seed: int) -> list[tuple[float, float]]:
        x, y = design(np.random.default_rng([2, n_items, seed]), n_items)
        found = [
            bootstrap_interval(
                x, y, coefficient=coefficient, method=method, n_resamples=n_resamples, seed=seed, workers=1
            )
            for coefficient in COEFFICIENTS.values()
        ]
        return [(each.low, each.high) for each in found]

    return in_parallel(one, range(n_samples))


def bench_coverage(
    n_items: int,
    n_samples: int,
    n_resamples: int,
    n_truth: int,
    methods: Iterable[str],
    designs: Iterable[str],
    with_table: bool,
) -> None:
    names = list(methods)
    heading(
        f"95 % intervals of {n_items:,} items, {n_samples:,} data sets: share that covers the mean (above it / below "
        f"it), and mean width; {n_resamples:,} resamples where not tabulated",
        *("dependence", "coefficient", "mean", *names),
    )
    chosen = {name: DESIGNS[name] for name in designs}
    with_table = with_table and "copula" in names and set(chosen.values()) != {five_levels}
    table = Table(n_items, 2_000 if n_items <= 300 else 1_000) if with_table else None
    for design_name, design in chosen.items():
        means = truths(design, n_items, COEFFICIENTS.values(), n_truth)[:, 0]
        cells: list[list[str]] = []
        for method in names:
            if method == "copula" and table is not None and design is not five_levels:
                ends = tabulated(design, n_items, table, n_samples)
            else:
                ends = resampled(design, n_items, method, n_samples, n_resamples)
            above, below = (ends[:, :, 0] > means).mean(axis=0), (ends[:, :, 1] < means).mean(axis=0)
            width = (ends[:, :, 1] - ends[:, :, 0]).mean(axis=0)
            parts = zip(above.tolist(), below.tolist(), width.tolist(), strict=True)
            cells.append([f"{1 - a - b:.3f} ({a:.3f} / {b:.3f}), {w:.2f}" for a, b, w in parts])
        for index, (name, truth) in enumerate(zip(COEFFICIENTS, means.tolist(), strict=True)):
            row(design_name, name, f"{truth:.3f}", *(column[index] for column in cells))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=1_000, help="data sets for each figure")
    parser.add_argument("--resamples", type=int, default=1_000, help="resamples of each data set")
    parser.add_argument("--items", type=int, nargs="+", help="numbers of items")
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS))
    parser.add_argument("--quick", action="store_true", help="run 100 data sets of 50 items, in about a minute")
    parser.add_argument("--resampled", action="store_true", help="resample each data set, without tables")
    options = parser.parse_args()
    samples, resamples, sizes, number = options.samples, options.resamples, options.items, N_TRUTH
    if options.quick:
        samples, resamples, sizes, number = 100, 1_000, [50], 2_000
    warnings.simplefilter("ignore", UndefinedCorrelationWarning)
    machine("numpy", "scipy", "numba")
    for n_items in sizes or [50, 300, 1_000]:
        bench_coverage(n_items, samples, resamples, number, options.methods, options.designs, not options.resampled)


if __name__ == "__main__":
    main()
