"""Print the time and memory of the coefficients and of comparable packages, from medians of interleaved runs.

Run it with ``make bench``. It checks nothing: shared machines are noisy, so the reader has to judge a ratio.
"""

import argparse
import statistics
import subprocess
import sys
import time
import timeit
import tracemalloc
from collections.abc import Callable

import krippendorff
import numpy as np
import scipy.stats
from report import heading, machine, row

from rankcorr import correlate_many, item_weights, weighted_rho, weighted_tau
from rankcorr.measures import krippendorff_alpha

SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
SECONDS_PER_ROW = 2.0
SECONDS_PER_TURN = 0.02
MIN_TURNS = 7

MEMORY = """
import numpy as np, resource, sys
import rankcorr
rankcorr.{function}(np.arange(9.0), np.arange(9.0))
rng = np.random.default_rng(0)
x, y = {scores}, {scores}
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
before = peak()
rankcorr.{function}(x, y)
print(peak() - before)
"""
FIRST_CALL = "import rankcorr, numpy; rankcorr.weighted_tau(numpy.arange(9.0), numpy.arange(9.0))"


def medians(*calls: Callable[[], object]) -> list[float]:
    """Return the median seconds of each call; calls alternate, and short ones are repeated for a few milliseconds."""
    timers = [timeit.Timer(call) for call in calls]
    for timer in timers:
        timer.timeit(1)  # compiles kernels
    first_times = [timer.timeit(1) for timer in timers]
    repeats = [max(1 if seconds > 1 else 3, int(SECONDS_PER_TURN / seconds)) for seconds in first_times]
    times: list[list[float]] = [[] for _ in calls]
    end = time.perf_counter() + SECONDS_PER_ROW
    while len(times[0]) < MIN_TURNS or time.perf_counter() < end:
        for timer, number, times_of_program in zip(timers, repeats, times, strict=True):
            times_of_program.append(timer.timeit(number) / number)
    return [statistics.median(times_of_program) for times_of_program in times]


def scores(rng: np.random.Generator, kind: str, n_items: int) -> np.ndarray:
    """Draw scores without ties, with half of the items tied in pairs, or on five levels."""
    if kind == "Likert":
        return rng.integers(1, 6, n_items).astype(float)
    values = rng.standard_normal(n_items)
    if kind == "50 % tied":
        values[1 : n_items // 2 : 2] = values[0 : n_items // 2 : 2][: len(values[1 : n_items // 2 : 2])]
        rng.shuffle(values)
    return values


def scipy_tau(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Return the same coefficient from scipy, with our weights."""
    return scipy.stats.weightedtau(
        x, y, rank=np.arange(x.size), weigher=lambda item: weights[item], additive=False
    ).statistic


def numpy_rho(x: np.ndarray, y: np.ndarray) -> float:
    """Return the same coefficient from scipy's ranks and numpy's covariance."""
    a, b = scipy.stats.rankdata(-x), scipy.stats.rankdata(-y)
    weights = 1 / (a + 2) ** 2 + 1 / (b + 2) ** 2
    moments = np.cov(a, b, aweights=weights, ddof=0)
    return moments[0, 1] / np.sqrt(moments[0, 0] * moments[1, 1])


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def bench_tau(sizes: list[int]) -> None:
    heading(
        "weighted_tau, from scores to statistic (ms)",
        *(
            "n",
            "scores",
            "rankcorr",
            "scipy.stats.weightedtau",
            "scipy / rankcorr",
            "2 argsorts",
            "rankcorr / argsorts",
        ),
    )
    for n_items in sizes:
        for kind in ("no ties", "50 % tied", "Likert"):
            rng = np.random.default_rng(1)
            x, y = scores(rng, kind, n_items), scores(rng, kind, n_items)
            weights = item_weights(x, y)
            ours, sorts, peer = medians(
                lambda x=x, y=y: weighted_tau(x, y),
                lambda x=x, y=y: (np.argsort(x), np.argsort(y)),
                lambda x=x, y=y, weights=weights: scipy_tau(x, y, weights),
            )
            assert abs(weighted_tau(x, y).statistic - scipy_tau(x, y, weights)) < 1e-10
            times = milliseconds(ours), milliseconds(peer), f"{peer / ours:.1f}", milliseconds(sorts)
            row(f"{n_items:,}", kind, *times, f"{ours / sorts:.2f}")


def bench_rho(sizes: list[int]) -> None:
    heading(
        "weighted_rho, from scores to statistic (ms)",
        *("n", "rankcorr", "numpy.cov(aweights) and scipy.stats.rankdata", "numpy / rankcorr"),
    )
    for n_items in sizes:
        rng = np.random.default_rng(1)
        x, y = scores(rng, "no ties", n_items), scores(rng, "no ties", n_items)
        ours, peer = medians(lambda x=x, y=y: weighted_rho(x, y), lambda x=x, y=y: numpy_rho(x, y))
        row(f"{n_items:,}", milliseconds(ours), milliseconds(peer), f"{peer / ours:.1f}")


def bench_many() -> None:
    rng = np.random.default_rng(1)
    gold, systems = rng.standard_normal(1_000), rng.standard_normal((100, 1_000))
    weights = [item_weights(gold, system) for system in systems]
    one_worker, two_workers, peer = medians(
        lambda: correlate_many(gold, systems, workers=1),
        lambda: correlate_many(gold, systems, workers=2),
        lambda: [scipy_tau(gold, system, w) for system, w in zip(systems, weights, strict=True)],
    )
    heading(
        "correlate_many, 100 systems of 1,000 items (ms)", "workers", "rankcorr", "loop over scipy", "scipy / rankcorr"
    )
    for workers, ours in ((1, one_worker), (2, two_workers)):
        row(workers, milliseconds(ours), milliseconds(peer), f"{peer / ours:.1f}")


def bench_alpha() -> None:
    columns = "rankcorr (ms)", "krippendorff (ms)", "krippendorff / rankcorr", "rankcorr (MB)", "krippendorff (MB)"
    heading("krippendorff_alpha, 4 annotators, a fifth of the ratings missing", "items", "values", "level", *columns)
    for n_items, n_values in ((100, 5), (1_000, 5), (10_000, 5), (1_000, 100), (100, 400)):
        rng = np.random.default_rng(1)
        ratings = rng.integers(1, n_values + 1, (4, n_items)).astype(float)
        ratings[rng.random(ratings.shape) < 0.2] = np.nan
        for level in ("nominal", "ordinal", "interval", "ratio"):
            calls = (
                lambda ratings=ratings, level=level: krippendorff_alpha(ratings, level=level),
                lambda ratings=ratings, level=level: krippendorff.alpha(ratings, level_of_measurement=level),
            )
            assert abs(calls[0]() - calls[1]()) < 1e-12
            ours, peer = medians(*calls)
            memory = (f"{peak_of(call):.3g}" for call in calls)
            times = milliseconds(ours), milliseconds(peer), f"{peer / ours:.1f}"
            row(f"{n_items:,}", n_values, level, *times, *memory)
    ratings = np.random.default_rng(1).random((2, 50_000))
    for level in ("nominal", "ordinal", "interval", "ratio"):
        (ours,) = medians(lambda level=level: krippendorff_alpha(ratings, level=level))
        memory = peak_of(lambda level=level: krippendorff_alpha(ratings, level=level))
        row("50,000 of 2", "100,000", level, milliseconds(ours), "", "", f"{memory:.3g}", "")


def peak_of(call: Callable[[], object]) -> float:
    """Return the most memory in MB that Python and numpy allocate during a call."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


def bench_memory(n_items: int) -> None:
    heading(f"Peak extra memory at n = {n_items:,} (MB)", "function", "no ties", "Likert")
    for function in ("weighted_tau", "weighted_rho"):
        kinds = (f"rng.standard_normal({n_items})", f"rng.integers(1, 6, {n_items}).astype(float)")
        peaks = [float(run(MEMORY.format(function=function, scores=kind))) for kind in kinds]
        row(function, *(f"{peak:.0f}" for peak in peaks))


def bench_start(runs: int = 15) -> None:
    for warm_up in ("import rankcorr", "import scipy.special", FIRST_CALL):
        run(warm_up)  # writes byte code and machine code to disk
    ours, peer, first, bare = medians_of_processes(
        ["import rankcorr", "import scipy.special", FIRST_CALL, "pass"], runs
    )
    heading("Start of a process, less that of a bare Python (ms)", "what", "median")
    row("import rankcorr", milliseconds(ours - bare))
    row("import scipy.special", milliseconds(peer - bare))
    row("ratio", f"{(ours - bare) / (peer - bare):.2f}")
    row("import rankcorr and first weighted_tau, kernels cached", milliseconds(first - bare))


def medians_of_processes(programs: list[str], runs: int) -> list[float]:
    times: list[list[float]] = [[] for _ in programs]
    for _ in range(runs):
        for program, times_of_program in zip(programs, times, strict=True):
            start = time.perf_counter()
            run(program)
            times_of_program.append(time.perf_counter() - start)
    return [statistics.median(times_of_program) for times_of_program in times]


def run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-items", type=int, default=SIZES[-1], help="skip longer lists")
    largest = parser.parse_args().max_items
    sizes = [size for size in SIZES if size <= largest]
    machine("numpy", "scipy", "numba", "krippendorff")
    print("Medians of interleaved runs.")
    bench_tau(sizes)
    bench_rho(sizes)
    bench_many()
    bench_alpha()
    bench_memory(largest)
    bench_start()


if __name__ == "__main__":
    main()
