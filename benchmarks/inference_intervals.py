"""Print the time of intervals (ours and scipy's), comparisons and a large leaderboard, and the memory of an interval.

The script checks nothing: shared machines are noisy, so the reader has to judge a ratio.
"""

import argparse
import itertools
import os
import statistics
import subprocess
import sys
import time
from functools import partial

import numpy as np
import scipy.stats
from report import heading, machine, row

from rankcorr.inference._interval import correlation_interval
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._system_comparison import compare_systems

MEMORY = """
import numpy as np, sys
from rankcorr.inference._interval import correlation_interval
x, y = np.random.default_rng(0).standard_normal((2, 1000))
correlation_interval(x, y, n_resamples=100)
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
before = peak()
correlation_interval(x, y, n_resamples={n_resamples})
print(peak() - before)
"""


def seconds(call, repeats: int = 5) -> tuple[float, float]:
    """Return the median wall and processor time of some calls; an extra call before them compiles kernels."""
    call()
    times = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        times.append((time.perf_counter() - wall, time.process_time() - cpu))
    return statistics.median(wall for wall, _ in times), statistics.median(cpu for _, cpu in times)


def scipy_statistic(coefficient: str, x: np.ndarray, y: np.ndarray) -> float:
    """Return the coefficient as scipy computes it; rho_w, which scipy lacks, is replaced by the cheaper spearmanr."""
    if coefficient == "tau":
        return scipy.stats.kendalltau(x, y).statistic
    return (scipy.stats.weightedtau if coefficient == "tau_w" else scipy.stats.spearmanr)(x, y).statistic


def bench_interval(n_items: int = 1_000, n_resamples: int = 2_000, n_peer: int = 40) -> None:
    heading(
        f"95 % interval of n = {n_items:,} items, {n_resamples:,} resamples, {os.cpu_count()} workers (ms)",
        *("coefficient", "ties", "envelope", "percentile", "envelope, processor time"),
        *("percentile, processor time", "envelope / percentile, processor time"),
        *(f"scipy.stats.bootstrap, percentile (from {n_peer} resamples)", "scipy / rankcorr"),
    )
    rng = np.random.default_rng(1)
    x = rng.standard_normal(n_items)
    y = x + rng.standard_normal(n_items)
    for ties in ("no ties", "Likert"):
        if ties == "Likert":
            x, y = np.digitize(x, [-1.2, -0.4, 0.4, 1.2]), np.digitize(y, [-1.2, -0.4, 0.4, 1.2])
        for coefficient in ("tau_w", "rho_w", "tau", "rho"):

            def ours(method: str, coefficient: str = coefficient, x: np.ndarray = x, y: np.ndarray = y) -> object:
                return correlation_interval(x, y, coefficient=coefficient, method=method, n_resamples=n_resamples)

            def peer(coefficient: str = coefficient, x: np.ndarray = x, y: np.ndarray = y) -> object:
                return scipy.stats.bootstrap(
                    (x, y),
                    lambda x, y: scipy_statistic(coefficient, x, y),
                    paired=True,
                    vectorized=False,
                    n_resamples=n_peer,
                    method="percentile",
                )

            percentile, cpu = seconds(lambda: ours("percentile"))
            envelope, envelope_cpu = seconds(lambda: ours("envelope"))
            other = seconds(peer, 3)[0] * n_resamples / n_peer
            times = (f"{value * 1e3:.0f}" for value in (envelope, percentile, envelope_cpu, cpu))
            row(
                coefficient,
                ties,
                *times,
                f"{envelope_cpu / cpu:.1f}",
                f"{other * 1e3:.0f}",
                f"{other / percentile:.0f}",
            )


def bench_comparison(n_items: int = 1_000) -> None:
    heading(f"compare_systems, n = {n_items:,}, 10,000 swaps (s)", "coefficient", "swap", "wall", "processor")
    gold = np.random.default_rng(1).standard_normal(n_items)
    a, b = (gold + noise for noise in np.random.default_rng(2).standard_normal((2, n_items)))
    for coefficient, swap in itertools.product(("tau_w", "rho_w"), ("scores", "ranks")):
        compared = partial(compare_systems, gold, a, b, coefficient=coefficient, swap=swap)
        wall, cpu = seconds(compared, 2)
        row(coefficient, swap, f"{wall:.2f}", f"{cpu:.2f}")


def bench_leaderboard(n_systems: int = 40, n_sets: int = 4) -> None:
    heading(
        f"leaderboard of {n_systems} systems, {n_sets} gold sets, 1,000 resamples, {os.cpu_count()} workers (s)",
        *("items of each gold set", "coefficient", "groups", "wall", "processor"),
    )
    for n_items in (500, 2_000):
        rng = np.random.default_rng(0)
        gold = {
            f"set {index}": {f"{index}-{item}": value for item, value in enumerate(rng.standard_normal(n_items))}
            for index in range(n_sets)
        }
        items = [pair for scores in gold.values() for pair in scores.items()]
        systems = {}
        for index in range(n_systems):
            noise = (0.3 + 0.05 * index) * rng.standard_normal(len(items))
            systems[f"system {index}"] = {
                label: value + error for (label, value), error in zip(items, noise, strict=True)
            }
        for coefficient in ("tau_w", "rho_w"):
            wall, cpu = time.perf_counter(), time.process_time()
            board = leaderboard(gold, systems, coefficient=coefficient)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            row(f"{n_items:,}", coefficient, board.rows[-1].group, f"{wall:.1f}", f"{cpu:.1f}")


def bench_memory() -> None:
    heading("Peak extra memory of an interval, n = 1,000 (MB)", "resamples", "measured", "8 bytes of each value")
    for n_resamples in (10_000, 100_000, 1_000_000):
        program = MEMORY.format(n_resamples=n_resamples)
        peak = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        row(f"{n_resamples:,}", f"{float(peak):.1f}", f"{n_resamples * 8 / 2**20:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["interval", "comparison", "leaderboard", "memory"], help="print one table")
    only = parser.parse_args().only
    machine("numpy", "scipy", "numba")
    print("Wall and processor time; load of the machine before the run:", *(f"{load:.1f}" for load in os.getloadavg()))
    tables = {
        "interval": bench_interval,
        "comparison": bench_comparison,
        "leaderboard": bench_leaderboard,
        "memory": bench_memory,
    }
    for name, table in tables.items():
        if only in (None, name):
            table()


if __name__ == "__main__":
    main()
