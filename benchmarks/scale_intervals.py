"""Print the coverage of two kinds of intervals: Poisson bootstrap of queries, and resampled queries.

The data are differences of two exchangeable runs, as in bank_of_designs.py; both kinds use the same data sets.
``--tasks`` prints the coverage of `leaderboard_of_scores` instead. Nothing here asserts.
"""

import argparse
import os
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
from bank_of_designs import ranked_queries
from report import heading, machine, row

from rankcorr import TauW
from rankcorr._workers import Draws
from rankcorr.evaluation import QueryEvaluator, combined_means, leaderboard_of_scores, partial_means
from rankcorr.evaluation._comparison.query_tests import Means, bounds, studentize

EVALUATOR = QueryEvaluator("tau_w")
SIZES, LEVEL = (30, 100, 1_000), 0.95


def one(n_queries: int, n_resamples: int, seed: int) -> tuple[bool, bool, float]:
    """Return whether each interval of a data set contains 0, Poisson's first, and the ratio of their widths."""
    values = ranked_queries(np.random.default_rng([n_queries, seed]), n_queries, 2, TauW())
    column = np.diff(values, axis=1)[:, 0]
    # Half of a difference is between -1 and 1, as values are.
    halves = pd.DataFrame({"query": np.arange(n_queries), "tau_w": column / 2})
    means = combined_means([partial_means(halves, EVALUATOR, n_resamples=n_resamples, seed=seed)], level=LEVEL).of()
    ratios = studentize(column[:, np.newaxis], Draws(n_resamples, seed))
    low, high = (float(ends[0]) for ends in bounds(Means.of(column[:, np.newaxis]), ratios, LEVEL))
    return means.low <= 0 <= means.high, low <= 0 <= high, 2 * (means.high - means.low) / (high - low)


def take_figures(n_queries: int, n_sets: int, n_resamples: int, workers: int) -> np.ndarray:
    """Return the share of data sets whose intervals contain 0, and the mean ratio of their widths."""
    run = partial(one, n_queries, n_resamples)
    if workers == 1:
        results = [run(seed) for seed in range(n_sets)]
    else:
        with ProcessPoolExecutor(workers) as pool:
            results = list(pool.map(run, range(n_sets), chunksize=50))
    return np.mean(results, axis=0)


TASKS, N_SYSTEMS = (6, 8, 12, 20, 30), 4


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.normal(size=shape)


# Each design draws scores with mean 0; the number is the share of tasks in the first of two groups, whose noise is
# multiplied by the last number.
DESIGNS = {
    "normal": (normal, 0.0, 1.0),
    "exponential": (lambda rng, shape: rng.exponential(size=shape) - 1, 0.0, 1.0),
    "lognormal": (lambda rng, shape: np.exp(rng.normal(size=shape)) - np.exp(0.5), 0.0, 1.0),
    "t, 3 degrees": (lambda rng, shape: rng.standard_t(3, shape), 0.0, 1.0),
    "five levels": (lambda rng, shape: rng.binomial(4, 0.8, shape) / 4 - 0.8, 0.0, 1.0),
    "0 or 1, mean 0.7": (lambda rng, shape: rng.binomial(1, 0.7, shape) - 0.7, 0.0, 1.0),
    "0 or 1, mean 0.9": (lambda rng, shape: rng.binomial(1, 0.9, shape) - 0.9, 0.0, 1.0),
    "two groups, equal noise": (normal, 0.5, 1.0),
    "a third in a group of threefold noise": (normal, 1 / 3, 3.0),
    "a group of two tasks of threefold noise": (normal, 1e-9, 3.0),
}


def table_intervals(design: str, n_tasks: int, n_tables: int, n_resamples: int) -> float:
    """Return the share of intervals of `leaderboard_of_scores` that contain the mean, 0."""
    draw, share, noise = DESIGNS[design]
    n_first = max(2, round(share * n_tasks)) if share else 0
    factors = np.where(np.arange(n_tasks) < n_first, noise, 1.0)
    groups = {str(task): "first" if task < n_first else "second" for task in range(n_tasks)} if share else None
    n_held = 0
    for seed in range(n_tables):
        rng = np.random.default_rng([n_tasks, seed])
        rows = draw(rng, (N_SYSTEMS, n_tasks)) * factors
        table = {f"s{row}": {str(task): score for task, score in enumerate(rows[row])} for row in range(N_SYSTEMS)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # few tasks, and one that decides the means
            board = leaderboard_of_scores(table, groups=groups, n_resamples=n_resamples, seed=seed)
        n_held += sum(row.mean.low - 1e-9 <= 0 <= row.mean.high + 1e-9 for row in board.rows)
    return n_held / (n_tables * N_SYSTEMS)


def print_tables(n_tables: int, n_resamples: int) -> None:
    heading(
        f"Coverage of {LEVEL:.0%} intervals of mean scores ({n_tables * N_SYSTEMS:,} intervals each)",
        "design",
        *(f"{n_tasks} tasks" for n_tasks in TASKS),
    )
    for design in DESIGNS:
        row(design, *(f"{table_intervals(design, n_tasks, n_tables, n_resamples):.3f}" for n_tasks in TASKS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--tasks", action="store_true", help="tables of scores; --sets 500 takes five minutes")
    options = parser.parse_args()
    machine("numpy", "numba")
    if options.tasks:
        print_tables(options.sets, options.resamples)
        return
    heading(
        f"Coverage of {LEVEL:.0%} intervals of a mean difference of tau_w ({options.sets:,} data sets each; standard "
        f"error {np.sqrt(0.05 * 0.95 / options.sets):.4f})",
        *("queries", "Poisson", "queries drawn", "ratio of widths"),
    )
    for n_queries in SIZES:
        poisson, of_draws, ratio = take_figures(n_queries, options.sets, options.resamples, options.workers)
        row(f"{n_queries:,}", f"{poisson:.4f}", f"{of_draws:.4f}", f"{ratio:.3f}")


if __name__ == "__main__":
    main()
