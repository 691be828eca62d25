"""Print the processor time of first calls without cached kernels, and count the loops that they compile.

Each call runs in its own process with an empty cache folder. Processor time is measured from the start of the process
and includes imports. For comparison, the row `nothing` compiles a loop of one line.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
from report import heading, machine, row

GOLD, FIRST, SECOND = [5.0, 4.0, 3.0, 2.0, 1.0, 1.0], [4.0, 5.0, 3.0, 3.0, 1.0, 0.0], [1.0, 5.0, 2.0, 4.0, 3.0, 3.0]
N_RESAMPLES = 100


def nothing() -> None:
    """Compile the shortest loop."""
    import numba

    numba.njit(lambda numbers: numbers[0])(np.zeros(1))


def weighted_tau() -> None:
    from rankcorr import weighted_tau

    weighted_tau(GOLD, FIRST)


def weighted_rho() -> None:
    from rankcorr import weighted_rho

    weighted_rho(GOLD, FIRST)


def correlate_many() -> None:
    from rankcorr import correlate_many

    correlate_many(GOLD, np.array([FIRST, SECOND]))


def compare_systems() -> None:
    from rankcorr import compare_systems

    compare_systems(GOLD * 3, FIRST * 3, SECOND * 3, n_resamples=N_RESAMPLES)


def leaderboard() -> None:
    from rankcorr import leaderboard

    leaderboard(GOLD * 3, {"a": FIRST * 3, "b": SECOND * 3, "c": GOLD * 3}, n_resamples=N_RESAMPLES)


def queries() -> tuple[dict[str, dict[str, float]], ...]:
    lists = (GOLD, FIRST, SECOND)
    return tuple({f"q{q}": {f"d{d}": scores[(d + q) % 6] for d in range(6)} for q in range(8)} for scores in lists)


def evaluate() -> None:
    from rankcorr.evaluation import evaluate

    gold, *runs = queries()
    evaluate(gold, dict(zip("ab", runs, strict=True)), n_resamples=N_RESAMPLES)


def compare_runs() -> None:
    from rankcorr.evaluation import compare_runs

    gold, *runs = queries()
    compare_runs(gold, dict(zip("ab", runs, strict=True)), n_resamples=N_RESAMPLES)


def bradley_terry() -> None:
    import adaptive

    votes = adaptive.Comparisons.from_labels([0, 1, 2, 0], [1, 2, 0, 2], ["left", "tie", "right", "left"])
    adaptive.bradley_terry(votes)


def draw_ballot() -> None:
    import adaptive

    adaptive.draw_ballot(12, 6, 3, np.random.default_rng(0))


def warm_up() -> None:
    from service.server.warm_up import warm_up

    warm_up()


CALLS: dict[str, Callable[[], None]] = {
    call.__name__: call
    for call in (
        *(nothing, weighted_tau, weighted_rho, correlate_many, compare_systems, leaderboard, evaluate, compare_runs),
        *(bradley_terry, draw_ballot, warm_up),
    )
}
RUNS = 3


def measure(call: Callable[[], None]) -> dict[str, float]:
    """Return the processor time until the first call ends, the seconds of later calls, and counts of compiled code."""
    from numba.core import event

    with event.install_recorder("numba:compile") as recorder:
        call()
    cold = time.process_time()
    functions = [item.data["dispatcher"].py_func for _, item in recorder.buffer if item.is_start]
    ours = [function for function in functions if function.__module__.startswith(("rankcorr.", "adaptive."))]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return {
        "cold": cold,
        "warm": statistics.median(times),
        "kernels": len(set(ours)),
        "signatures": len(ours),
        "others": len(functions) - len(ours),
    }


def in_new_process(name: str) -> dict[str, float]:
    """Run `measure` in a process whose cache is empty."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, NUMBA_CACHE_DIR=folder)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # it would make the process compile our own sources too
        command = [sys.executable, __file__, "--measure", name]
        process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(process.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("calls", nargs="*", choices=[[], *CALLS], help="calls to measure (default: all)")
    parser.add_argument("--measure", choices=CALLS, help="measure one call in this process (used internally)")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(CALLS[options.measure])))
        return
    machine("numpy", "scipy", "numba")
    columns = "processor time (s)", "later calls (ms)", "kernels", "signatures", "loops of numba"
    heading(f"First call, the fastest of {RUNS} processes", "call", *columns)
    for name in options.calls or CALLS:
        times = [in_new_process(name) for _ in range(RUNS)]
        cold, warm = (min(run[key] for run in times) for key in ("cold", "warm"))
        counts = (f"{times[0][key]:.0f}" for key in ("kernels", "signatures", "others"))
        row(name, f"{cold:.2f}", f"{1e3 * warm:.3g}", *counts)


if __name__ == "__main__":
    main()
