"""Print the coverage of two kinds of intervals: Poisson bootstrap of queries, and resampled queries.

The data are differences of two exchangeable runs, as in bank_of_designs.py; both kinds use the same data sets.
Nothing here asserts.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
from bank_of_designs import ranked_queries
from report import heading, machine, row

from rankcorr import TauW
from rankcorr._workers import Draws
from rankcorr.evaluation import QueryEvaluator, combined_means, partial_means
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    machine("numpy", "numba")
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
