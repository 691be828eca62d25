"""Print how often tests over queries reject what is true, and how often their intervals hold the truth.

Two exchangeable runs: each query has a difficulty of its own, and on each run it is harder or easier by chance, so that
resampling documents would find differences that no other queries show. Values come from rankings: a query of 20
documents of four levels, and runs whose noise differs by query. Nothing here asserts.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from report import heading, machine, row

from rankcorr import Coefficient, TauW
from rankcorr.coefficients import named_coefficient
from rankcorr.evaluation.grouped import grouped
from rankcorr.evaluation.query_tests import TESTS, intervals, pvalues, studentized
from rankcorr.inference.resampling import Draws

SIZES, N_DOCUMENTS, LEVEL = (30, 100, 1_000), 20, 0.95


def differences(rng: np.random.Generator, n_queries: int, coefficient: Coefficient) -> np.ndarray:
    """Differences of two exchangeable runs by query."""
    gold = rng.choice(4, (n_queries, N_DOCUMENTS), p=(0.6, 0.2, 0.1, 0.1)).astype(float)
    gold[:, 0] = 3.0  # no query is one tie
    gold[:, 1] = 0.0
    offsets = np.arange(n_queries + 1) * N_DOCUMENTS
    found = []
    for _ in range(2):
        noise = rng.exponential(2.0, (n_queries, 1))  # the difficulty of a query, for this run
        scores = gold + noise * rng.standard_normal(gold.shape)
        found.append(grouped(coefficient, gold.ravel(), scores.ravel(), offsets))
    return found[0] - found[1]


def one(n_queries: int, coefficient: Coefficient, n_resamples: int, seed: int) -> tuple[list[float], bool]:
    """P-value of each test for one data set, and whether the interval of the mean difference holds 0."""
    rng = np.random.default_rng([n_queries, seed])
    column = differences(rng, n_queries, coefficient)[:, np.newaxis]
    draws = Draws(n_resamples, seed)
    ratios = studentized(column, draws.of_part(0))
    low, high = intervals(column, ratios, LEVEL)
    return [float(pvalues(column, test, draws.of_part(1), ratios)[0]) for test in TESTS], bool(low[0] <= 0 <= high[0])


def measured(
    n_queries: int, coefficient: Coefficient, n_sets: int, n_resamples: int, workers: int
) -> tuple[np.ndarray, float]:
    """Share of data sets in which each test gives at most 0.05, and in which the interval holds 0."""
    run = partial(one, n_queries, coefficient, n_resamples)
    if workers == 1:
        found = [run(seed) for seed in range(n_sets)]
    else:
        with ProcessPoolExecutor(workers) as pool:
            found = list(pool.map(run, range(n_sets), chunksize=50))
    tests, held = zip(*found, strict=True)
    return (np.array(tests) <= 0.05).mean(axis=0), float(np.mean(held))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=999)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    machine("numpy", "numba")
    heading(
        f"Tests of two exchangeable runs over queries: share of P <= 0.05, and coverage of the {LEVEL:.0%} interval "
        f"({options.sets:,} data sets each; standard error {np.sqrt(0.05 * 0.95 / options.sets):.4f})",
        *("queries", "metric", *TESTS, "interval holds 0"),
    )
    for n_queries in SIZES:
        for coefficient in (TauW(), named_coefficient("rho_w")):
            levels, held = measured(n_queries, coefficient, options.sets, options.resamples, options.workers)
            row(f"{n_queries:,}", coefficient.name, *(f"{level:.4f}" for level in levels), f"{held:.4f}")


if __name__ == "__main__":
    main()
