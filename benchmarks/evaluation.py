"""Print the time of a coefficient by query, and of other ways to compute it: one and two threads, standardized or not.

All figures of a table come from one run. They are processor time, which depends little on other work on the machine;
only the rate on two threads is elapsed time. The script checks nothing.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import scipy.stats
from report import heading, machine, row

from rankcorr import RhoW, Tau, TauW, weighted_tau
from rankcorr._coefficients import Coefficient
from rankcorr._workers import Draws
from rankcorr.evaluation import Qrels, Run, evaluate
from rankcorr.evaluation._grouped import group_coefficients
from rankcorr.evaluation._nulls import standardization

COEFFICIENTS: dict[str, Coefficient] = {"tau_w": TauW(), "rho_w": RhoW(), "tau": Tau()}


def best(call: Callable[[], object], clock: Callable[[], float] = time.process_time, turns: int = 3) -> float:
    """Return the seconds of the fastest of a few calls; an extra call before them compiles."""
    call()
    times = []
    for _ in range(turns):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def columns(n_queries: int, n_documents: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw gold on five levels and scores without ties, and return them with the offsets."""
    rng = np.random.default_rng(0)
    size = n_queries * n_documents
    gold = rng.choice(5, size, p=(0.7, 0.1, 0.1, 0.05, 0.05)).astype(float)
    return gold, rng.standard_normal(size), np.arange(0, size + 1, n_documents)


def bench_peers(n_queries: int, n_documents: int, n_peer: int) -> None:
    gold, scores, offsets = columns(n_queries, n_documents)
    few = n_peer * n_documents
    frame = pd.DataFrame(
        {"query": np.repeat(np.arange(n_peer), n_documents), "gold": gold[:few], "score": scores[:few]}
    )
    lazy = pl.from_pandas(frame)

    def loop() -> None:
        for start in range(0, few, n_documents):
            weighted_tau(gold[start : start + n_documents], scores[start : start + n_documents])

    def apply() -> object:
        return frame.groupby("query")[["gold", "score"]].apply(
            lambda rows: scipy.stats.weightedtau(rows["gold"], rows["score"]).statistic
        )

    def map_groups() -> object:
        return lazy.group_by("query").map_groups(
            lambda rows: pl.DataFrame({"tau": [scipy.stats.weightedtau(rows["gold"], rows["score"]).statistic]})
        )

    def argsorts() -> None:
        for start in range(0, few, n_documents):
            np.argsort(gold[start : start + n_documents])
            np.argsort(scores[start : start + n_documents])

    ours = best(lambda: group_coefficients(TauW(), gold, scores, offsets)) / n_queries
    peers: dict[str, tuple[Callable[[], object], int]] = {
        "rankcorr, weighted_tau in a loop": (loop, 1),
        "two numpy.argsort": (argsorts, 1),
        "pandas groupby.apply(scipy.stats.weightedtau)": (apply, 1),
        "polars map_groups(scipy.stats.weightedtau)": (map_groups, 1),
    }
    heading(
        f"tau_w of {n_queries:,} queries of {n_documents} documents, ranking included (peers: {n_peer:,} queries)",
        *("way", "us a query", "ratio to the grouped kernel"),
    )
    row("rankcorr, grouped", f"{1e6 * ours:.2f}", "1")
    for name, (call, turns) in peers.items():
        seconds = best(call, turns=turns) / n_peer
        row(name, f"{1e6 * seconds:.2f}", f"{seconds / ours:.1f}")


def bench_threads(n_queries: int, n_documents: int) -> None:
    gold, scores, offsets = columns(n_queries, n_documents)
    heading(
        f"{n_queries:,} queries of {n_documents} documents, by the clock",
        *("coefficient", "one thread, us a query", "two threads", "rate on two"),
    )
    for name, coefficient in COEFFICIENTS.items():
        one, two = (
            best(partial(group_coefficients, coefficient, gold, scores, offsets, workers=workers), time.perf_counter, 7)
            for workers in (1, 2)
        )
        row(name, *(f"{1e6 * seconds / n_queries:.2f}" for seconds in (one, two)), f"{one / two:.2f}")


def bench_standardized(n_queries: int, n_documents: int) -> None:
    gold, scores, offsets = columns(n_queries, n_documents)
    heading(
        f"{n_queries:,} queries of {n_documents} documents, standardized too",
        *("coefficient", "raw, s", "exponents, s", "both / raw", "tie patterns", "nulls drawn", "error"),
    )
    for name in ("tau_w", "rho_w"):
        coefficient = COEFFICIENTS[name]
        raw = best(partial(group_coefficients, coefficient, gold, scores, offsets))
        more = best(partial(standardization, coefficient, gold, scores, offsets, Draws(500, seed=0)))
        standardized = standardization(coefficient, gold, scores, offsets, Draws(500, seed=0))
        cells = (
            f"{raw:.2f}",
            f"{more:.2f}",
            f"{(raw + more) / raw:.2f}",
            f"{standardized.n_patterns:,}",
            standardized.n_drawn,
        )
        row(name, *cells, f"{standardized.error:.4f}")


def bench_evaluate(n_queries: int, n_documents: int) -> None:
    gold, scores, _ = columns(n_queries, n_documents)
    ids = np.repeat(np.arange(n_queries), n_documents)
    documents = np.tile(np.arange(n_documents), n_queries)
    qrels, run = Qrels.from_columns(ids, documents, gold), Run.from_columns(ids, documents, scores)
    heading(f"evaluate, {n_queries:,} queries of {n_documents} documents", "step", "us a query")
    for name, call in {
        "Run.from_columns of whole numbers": lambda: Run.from_columns(ids, documents, scores),
        "evaluate, tau_w": lambda: evaluate(qrels, run, standardized=False, workers=1),
        "evaluate, tau_w, standardized": lambda: evaluate(qrels, run, workers=1),
        "evaluate, ap": lambda: evaluate(qrels, run, metrics="ap", workers=1),
    }.items():
        row(name, f"{1e6 * best(call, turns=1) / n_queries:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=50_000)
    parser.add_argument("--documents", type=int, default=100)
    parser.add_argument("--peer-queries", type=int, default=1_000)
    options = parser.parse_args()
    machine("numpy", "numba", "scipy", "pandas", "polars")
    bench_peers(options.queries, options.documents, options.peer_queries)
    bench_threads(options.queries, options.documents)
    bench_standardized(options.queries, options.documents)
    bench_evaluate(options.queries, options.documents)


if __name__ == "__main__":
    main()
