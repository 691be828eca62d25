"""Print how often 95 % intervals cover the mean of the coefficient over samples of the same size, and their widths.

The designs are kinds of dependence between gold and system; items are independent, except where a design says
otherwise. The true value is the mean over many samples with as many items. Resamples are shared by all coefficients and
methods; otherwise the intervals are those of `correlation_interval`. The first table shows each cell, the second the
methods that were compared: each kind of resamples alone, percentiles of resamples with copies, and the jackknife on the
scale of Fisher's z, for at most 300 items. The script checks nothing.
"""

import argparse
import json
import math
import os
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from report import heading, machine, row

from rankcorr import Ranking
from rankcorr._coefficients import Coefficient, named_coefficient
from rankcorr._workers import Draws
from rankcorr.inference._resampling import (
    Residuals,
    SmoothedItems,
    SortedItems,
    delete_items,
    draw_counts,
    draw_halves,
    envelope,
    percentile_interval,
)

Array = np.ndarray
Rng = np.random.Generator
Scores = tuple[Array, Array]

LEVEL, QUANTILE = 0.95, 1.959964
BOTTOM = -10.0
SIZES = {10: 200, 50: 200, 300: 100, 1_000: 40}  # items: data sets of each cell
MAX_JACKKNIFE = 300  # items
METHODS = ("envelope", "half-samples", "smoothed", "residuals", "percentile", "jackknife")


def normal(rng: Rng, n: int, r: float = 0.5) -> Scores:
    """Draw normal scores that correlate by r."""
    x, noise = rng.standard_normal((2, n))
    return x, r * x + math.sqrt(1 - r * r) * noise


def clayton(rng: Rng, n: int, sign: float = 1.0) -> Scores:
    """Draw from Clayton's copula with Kendall's tau 1/3: low scores agree more, or with sign -1 high ones."""
    u, v = rng.random((2, n))
    return sign * u, sign / ((v**-0.5 - 1) / u + 1)


def t_four(rng: Rng, n: int) -> Scores:
    """Draw from a t copula with 4 degrees of freedom and correlation 0.5."""
    x, y = normal(rng, n)
    scale = np.sqrt(4 / rng.chisquare(4, n))
    return x * scale, y * scale


def draw_near_duplicates(rng: Rng, n: int, r: float = 0.95, share: float = 0.3) -> Scores:
    """Draw normal scores that correlate by r, except for a share of the items, whose scores are independent."""
    x, y = normal(rng, n, r)
    return x, np.where(rng.random(n) < share, rng.standard_normal(n), y)


def top_only(rng: Rng, n: int) -> Scores:
    """Draw a system that ranks the top fifth of gold in nearly the same order, and the other items at random."""
    x, noise = rng.standard_normal((2, n))
    return x, np.where(x > np.quantile(x, 0.8), 5 + x + 0.1 * noise, noise)


def gross(rng: Rng, n: int, share: float = 0.05, noise: float = 0.3) -> Scores:
    """Draw gold plus normal noise, with a share of the items sent to the bottom of the system."""
    x, errors = rng.standard_normal((2, n))
    return x, np.where(rng.random(n) < share, BOTTOM + errors, x + noise * errors)


def uneven(rng: Rng, n: int, slope: float = 1.0) -> Scores:
    """Draw gold plus noise that grows towards the top, or with a slope below 0 towards the bottom."""
    x, noise = rng.standard_normal((2, n))
    return x, x + 0.3 * np.exp(slope * x) * noise


def cauchy(rng: Rng, n: int) -> Scores:
    """Draw gold plus Cauchy noise."""
    x = rng.standard_normal(n)
    return x, x + 0.3 * rng.standard_cauchy(n)


def topics(rng: Rng, n: int) -> Scores:
    """Draw items of two topics; the system puts one of them too high."""
    x, noise = rng.standard_normal((2, n))
    return x, x + 0.3 * noise + 1.5 * (rng.random(n) < 0.5)


def clusters(rng: Rng, n: int, size: int = 5) -> Scores:
    """Draw gold plus noise that the items of a cluster share for the most part: items are not independent."""
    x, noise = rng.standard_normal((2, n))
    shared = np.repeat(rng.standard_normal(-(-n // size)), size)[:n]
    return x, x + 0.9 * shared + 0.3 * noise


def levels(rng: Rng, n: int, cuts: tuple[float, ...], is_system_exact: bool = False) -> Scores:
    """Draw normal scores that correlate by 0.7, gold and perhaps the system on levels."""
    x, y = normal(rng, n, 0.7)
    return np.digitize(x, cuts).astype(float), y if is_system_exact else np.digitize(y, cuts).astype(float)


def top_fifth(rng: Rng, n: int) -> Scores:
    """Draw normal scores that correlate by 0.8, with a system that ranks its top fifth and ties the rest."""
    x, y = normal(rng, n, 0.8)
    return x, np.maximum(y, np.quantile(y, 0.8))


DESIGNS: dict[str, Callable[[Rng, int], Scores]] = {
    "normal, r = 0.5": normal,
    "normal, r = 0.9": partial(normal, r=0.9),
    "normal, r = 0": partial(normal, r=0.0),
    "normal, r = -0.5": partial(normal, r=-0.5),
    "Clayton, bottom": clayton,
    "Clayton, top": partial(clayton, sign=-1.0),
    "t, 4 degrees": t_four,
    "mostly alike": draw_near_duplicates,
    "top only": top_only,
    "2 % at the bottom": partial(gross, share=0.02),
    "5 % at the bottom": gross,
    "10 % at the bottom": partial(gross, share=0.1),
    "5 % at the bottom, little noise": partial(gross, noise=0.05),
    "noise grows to the top": uneven,
    "noise grows to the bottom": partial(uneven, slope=-1.0),
    "Cauchy noise": cauchy,
    "two topics": topics,
    "five levels": partial(levels, cuts=(-1.2, -0.4, 0.4, 1.2)),
    "three levels": partial(levels, cuts=(0.0, 1.0)),
    "three levels in gold": partial(levels, cuts=(0.0, 1.0), is_system_exact=True),
    "truncated": top_fifth,
}
DEPENDENT: dict[str, Callable[[Rng, int], Scores]] = {"clusters of 5 (dependent)": clusters}


def coefficients_for(n0: float) -> dict[str, Coefficient]:
    """Return the four coefficients, the weighted ones with this n0."""
    return {name: named_coefficient(name, n0=n0) for name in ("tau_w", "rho_w")} | {
        name: named_coefficient(name) for name in ("tau", "rho")
    }


def compute_truth(name: str, n: int, n0: float, number: int) -> Array:
    """Return the mean of each coefficient over samples of n items."""
    design = (DESIGNS | DEPENDENT)[name]
    values = []
    for seed in range(number):
        x, y = map(Ranking.from_scores, design(np.random.default_rng([1, n, seed]), n))
        values.append([coefficient.of_pair(x, y) for coefficient in coefficients_for(n0).values()])
    return np.nanmean(values, axis=0)


def compute_ends(name: str, n: int, n0: float, n_resamples: int, seed: int) -> Array:
    """Return the ends of the intervals of one data set, shape (n_coefficients, n_methods, 2)."""
    x, y = map(Ranking.from_scores, (DESIGNS | DEPENDENT)[name](np.random.default_rng([2, n, seed]), n))
    rng, size = np.random.default_rng([3, n, seed]), n_resamples // 3
    pairs = {name: SortedItems.of(coefficient, x, [y]) for name, coefficient in coefficients_for(n0).items()}
    first = pairs["tau"]
    halves, copies = draw_halves(n, rng, size), draw_counts(first, rng, size)
    kinds = [kind.of(first).draw_keys(rng, size) for kind in (SmoothedItems, Residuals)]
    ends = []
    for items in pairs.values():
        value = float(items.coefficients(np.ones((1, n), np.int32))[0, 0])
        values = [items.coefficients(halves)[:, 0], *(items.of_keys(keys)[:, 0] for keys in kinds)]
        deleted = delete_items(items, np.arange(n), Draws(1, 0)) if n <= MAX_JACKKNIFE else np.full(1, math.nan)
        error = math.sqrt((n - 1) * np.nanvar(deleted)) / max(1 - value * value, 1e-9)
        centre = math.atanh(min(max(value, -1 + 1e-9), 1 - 1e-9))
        jackknife = math.tanh(centre - QUANTILE * error), math.tanh(centre + QUANTILE * error)
        alone = [percentile_interval(part, LEVEL) for part in (*values, items.coefficients(copies)[:, 0])]
        ends.append([envelope(value, np.concatenate(values), LEVEL), *alone, jackknife])
    return np.array(ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=list(SIZES), help="numbers of items")
    parser.add_argument("--samples", type=int, help="data sets of each cell, instead of a number that depends on items")
    parser.add_argument("--resamples", type=int, default=450)
    parser.add_argument("--truth", type=int, default=1_500, help="samples behind the true value")
    parser.add_argument("--only", nargs="+", default=[""], help="run only the designs whose names contain one of these")
    parser.add_argument("--n0", type=float, default=2.0)
    parser.add_argument("--json", help="write all cells to this file")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    machine("numpy", "numba")
    names = [name for name in (*DESIGNS, *DEPENDENT) if any(text in name for text in options.only)]
    cells: list[dict] = []
    heading(
        f"95 % intervals, n0 = {options.n0:g}, {options.resamples} resamples: coverage and median width",
        *("design", "items", *coefficients_for(options.n0)),
    )
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for n in options.items:
            samples = options.samples or SIZES.get(n, 200)
            sizes = n, options.n0, options.truth
            truths = dict(
                zip(names, pool.map(compute_truth, names, *([size] * len(names) for size in sizes)), strict=True)
            )
            for name in names:
                task = partial(compute_ends, name, n, options.n0, options.resamples)
                ends = np.array(list(pool.map(task, range(samples), chunksize=4)))
                truth = truths[name][:, np.newaxis]
                covered = (ends[..., 0] <= truth + 1e-12) & (truth - 1e-12 <= ends[..., 1])
                widths = np.nanmedian(ends[..., 1] - ends[..., 0], axis=0)
                texts = []
                for k, coefficient in enumerate(coefficients_for(options.n0)):
                    for m, method in enumerate(METHODS):
                        share, width = float(covered[:, k, m].mean()), float(widths[k, m])
                        cell = {"design": name, "n": n, "coefficient": coefficient, "method": method}
                        cells.append(cell | {"coverage": share, "width": width, "samples": samples})
                    texts.append(f"{covered[:, k, 0].mean():.3f}, {widths[k, 0]:.2f}")
                row(name, f"{n:,}", *texts)
    heading("lowest coverage and mean of the median widths", "method", *coefficients_for(options.n0))
    for method in METHODS:
        texts = []
        for coefficient in coefficients_for(options.n0):
            column = [
                cell
                for cell in cells
                if (cell["method"], cell["coefficient"]) == (method, coefficient)
                and cell["design"] in DESIGNS
                and not math.isnan(cell["width"])
            ]
            worst = min(column, key=lambda cell: cell["coverage"])
            width = np.mean([cell["width"] for cell in column])
            texts.append(f"{worst['coverage']:.3f} ({worst['design']}, {worst['n']:,} items), {width:.2f}")
        row(method, *texts)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(cells, file, indent=1)


if __name__ == "__main__":
    main()
