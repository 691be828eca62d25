"""Print how long draws, simulations and a large protocol take. Run it with ``make bench``; it checks nothing."""

import resource
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from report import row

from adaptive import (
    VoterPopulation,
    draw_ballot,
    embedding_similarity,
    exponential_similarity,
    plan_ballots,
    power_law_similarity,
    simulate,
)

PAPER = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
LARGE = plan_ballots(100_000, n_ballots=10, fraction=0.5, presentations=20)


def median(call: Callable[[], object], turns: int) -> float:
    """Return the median seconds of a call whose kernels are compiled."""
    call()
    times = []
    for _ in range(turns):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def bench_draw() -> None:
    row("draw of a ballot", "median")
    row("---", "---")
    for n_items, presentations, turns in ((990, 20, 50), (990, 40, 50), (100_000, 20, 5)):
        rng = np.random.default_rng(1)
        seconds = median(lambda n=n_items, m=presentations, rng=rng: draw_ballot(n, m, 100, rng), turns)
        row(f"{n_items:,} items, M = {presentations}", f"{seconds * 1e3:.1f} ms")


def bench_simulation() -> None:
    z = exponential_similarity(990)
    population = VoterPopulation()
    one = median(lambda: simulate(PAPER, population, z, n_simulations=1, seed=1), 40)
    print()
    row("the paper's setting, both approaches, coefficients included", "seconds")
    row("---", "---")
    row("one simulation, one process (median)", f"{one:.4f}")
    similarities = (z, power_law_similarity(990), embedding_similarity(990))
    with ProcessPoolExecutor(2) as executor:
        simulate(PAPER, population, z, n_simulations=4, seed=1, executor=executor)  # starts the processes
        start = time.perf_counter()
        for similarity in similarities:
            simulate(PAPER, population, similarity, n_simulations=50, seed=1, executor=executor)
        row("Table 2, 300 protocol runs, two processes", f"{time.perf_counter() - start:.2f}")
        two = median(lambda: simulate(PAPER, population, z, n_simulations=200, seed=1, executor=executor), 3)
    serial = median(lambda: simulate(PAPER, population, z, n_simulations=200, seed=1), 3)
    row("200 simulations, one process", f"{serial:.2f}")
    row("200 simulations, two processes", f"{two:.2f}")
    row("ratio", f"{serial / two:.2f}")


def bench_large() -> None:
    z = exponential_similarity(LARGE.n_items)
    start = time.perf_counter()
    simulate(LARGE, VoterPopulation(), z, n_simulations=1, seed=1, approaches=("adaptive",))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print()
    row("a protocol over 100,000 items, M = 20, 10 ballots, simulated", "")
    row("---", "---")
    row("seconds", f"{seconds:.1f}")
    row("peak memory of the process (GB)", f"{peak:.2f}")


def main() -> None:
    bench_draw()
    bench_simulation()
    bench_large()


if __name__ == "__main__":
    main()
