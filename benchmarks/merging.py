"""Print the time of leaderboards of scores, merged rankings and fused runs, and how often a local search is right.

All figures come from one run, and are processor time. ranx is timed if it is installed, csranks if R has it. The script
only checks that `consensus` finds no better ranking by its search than by comparing all orders.
"""

import argparse
import subprocess
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from report import heading, machine, row

from rankcorr import rank_sets
from rankcorr.aggregate import _rankings, consensus, kemeny
from rankcorr.evaluation import Run, fuse, leaderboard_of_scores

N_SETS = 300


def seconds(call: Callable[[], object], turns: int = 3) -> float:
    """Return the processor time of the fastest of a few calls; an extra call before them compiles."""
    call()
    times = []
    for _ in range(turns):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def digits(number: float) -> str:
    return f"{number:.3g}"


def bench_boards(n_systems: int, n_tasks: int, n_resamples: int) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 0.1, (n_systems, 1)) + rng.normal(0, 0.1, (n_systems, n_tasks)) + rng.normal(0, 0.2, n_tasks)
    frame = pd.DataFrame(
        scores, index=[f"system {i}" for i in range(n_systems)], columns=[f"t{t}" for t in range(n_tasks)]
    )
    means, errors = scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(n_tasks)

    def bootstrap() -> object:
        samples = (frame.sample(n=n_tasks, axis=1, replace=True, random_state=seed) for seed in range(n_resamples))
        return pd.concat([sample.mean(axis=1) for sample in samples], axis=1).quantile([0.025, 0.975], axis=1)

    heading(f"{n_systems} systems, {n_tasks} tasks, {n_resamples:,} resamples (s)", "call", "time")
    row("leaderboard_of_scores", digits(seconds(lambda: leaderboard_of_scores(frame, n_resamples=n_resamples))))
    options: dict[str, Any] = {"standard_errors": errors, "n_resamples": n_resamples}
    row("rank_sets, simultaneous and marginal", digits(seconds(lambda: rank_sets(means, **options), turns=1)))
    row("csranks (R), simultaneous and marginal", *csranks_seconds(means, errors, n_resamples))
    row("bootstrap of means in pandas, without tests", digits(seconds(bootstrap, turns=1)))


CSRANKS = """
library(csranks)
values <- matrix(scan("stdin", quiet = TRUE), ncol = 2)
both <- function() for (joint in c(TRUE, FALSE))
    csranks(values[, 1], diag(values[, 2]^2), simul = joint, R = as.integer(commandArgs(TRUE)), seed = 1)
cat(sum(system.time(both())[1:2]))
"""


def csranks_seconds(means: Any, errors: Any, n_resamples: int) -> list[str]:
    """Return the processor time of both kinds of rank sets by csranks."""
    try:
        command = ["Rscript", "-e", CSRANKS, str(n_resamples)]
        values = " ".join(map(repr, np.concatenate([means, errors]).tolist()))
        output = subprocess.run(command, input=values, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ["not installed"]
    return [digits(float(output))]


def bench_orders() -> None:
    rng = np.random.default_rng(0)
    heading("Five rankings merged (s)", "items", "kemeny", "exact", "consensus", "exact")
    for n_items in (7, 12, 20, 50, 100):
        scores = rng.normal(size=(5, n_items)) + np.linspace(0, 2, n_items)
        cells: list[str] = []
        for merge in (kemeny, consensus):
            cells += [digits(seconds(partial(merge, scores), turns=1)), "yes" if merge(scores).exact else "no"]
        row(n_items, *cells)
    gaps = []
    for number in range(N_SETS):
        scores = rng.integers(0, 6, (rng.integers(3, 10), 7)) + (number % 3) * np.linspace(0, 3, 7)
        best = consensus(scores).objective
        _rankings.MOST_ENUMERATED = 1
        gaps.append(best - consensus(scores).objective)
        _rankings.MOST_ENUMERATED = 7
    missed = [gap for gap in gaps if gap > 1e-9]
    assert min(gaps) > -1e-9
    print(f"\n7 items: the search missed the best order in {len(missed)} of {N_SETS} sets, by up to {max(missed):.3f}")


def bench_fusion(n_queries: int, n_documents: int) -> None:
    rng = np.random.default_rng(0)
    runs = {}
    for name in ("a", "b", "c"):
        documents = [rng.choice(5 * n_documents, n_documents, replace=False) for _ in range(n_queries)]
        runs[name] = {
            f"q{query}": {
                f"d{d}": float(score) for d, score in zip(retrieved, rng.normal(size=n_documents), strict=True)
            }
            for query, retrieved in enumerate(documents)
        }
    ours = {name: Run.from_dict(run) for name, run in runs.items()}
    title = f"Three runs of {n_queries} queries, {n_documents:,} documents each, fused (s)"
    heading(title, "method", "rankcorr", "ranx", "ranx / rankcorr")
    for method, options in (
        ("rrf", {"norm": None, "method": "rrf", "params": {"k": 60}}),
        ("combsum", {"norm": "min-max", "method": "sum"}),
    ):
        time_of_ours = seconds(partial(fuse, ours, method=method))
        try:
            import ranx
        except ImportError:
            row(method, digits(time_of_ours), "not installed", "")
            continue
        peers = [ranx.Run(run, name=name) for name, run in runs.items()]
        time_of_peer = seconds(partial(ranx.fuse, peers, **options))
        row(method, digits(time_of_ours), digits(time_of_peer), f"{time_of_peer / time_of_ours:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=332)
    parser.add_argument("--tasks", type=int, default=41)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    machine("numpy", "scipy", "numba", "pandas")
    bench_boards(arguments.systems, arguments.tasks, 1_000)
    bench_orders()
    bench_fusion(200, 1_000)


if __name__ == "__main__":
    main()
