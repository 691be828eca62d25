"""Print how long we, evalica and choix take to fit strengths, and how long draws and the next comparisons take.

Run it with ``make bench``; it checks nothing. The fits alternate in one process and the figures are medians, except
that a fit of more than 20 s is timed once. choix is left out above 20,000 votes, which it goes through in Python.
"""

import argparse
import statistics
import time
import tracemalloc
from collections.abc import Callable

import choix
import evalica
import numpy as np
from report import heading, machine, row

from adaptive import LEFT, RIGHT, Comparisons, bradley_terry, next_comparisons

SIZES = ((990, 19_660, 9), (129, 135_634, 9), (1_000, 1_000_000, 5), (20_000, 400_000, 3))
MOST_CHOIX = 20_000
SLOW = 20.0  # seconds; a slower call is timed once


def simulated(n_items: int, n_votes: int, n_voters: int = 100, opinion_sd: float = 0.0) -> Comparisons:
    """Draw votes on random pairs by the logistic curve, for strengths from a normal distribution with sd 1.5.

    A voter's opinion of an item differs from its strength by normal noise, the same for all of the voter's votes.
    """
    rng = np.random.default_rng(1)
    theta = rng.normal(0, 1.5, n_items)
    left = rng.integers(0, n_items, n_votes)
    right = (left + rng.integers(1, n_items, n_votes)) % n_items
    voter = rng.integers(0, n_voters, n_votes)
    opinion = theta + opinion_sd * rng.standard_normal((n_voters, n_items))
    chance = 1 / (1 + np.exp(opinion[voter, right] - opinion[voter, left]))
    winner = np.where(rng.random(n_votes) < chance, LEFT, RIGHT)
    return Comparisons(n_items, left, right, winner, n_voters, voter)


def time_interleaved(calls: dict[str, Callable[[], object]], turns: int) -> dict[str, list[float]]:
    """Return the seconds of each call; calls alternate, and the first turn, which compiles, is not counted."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(turns + 1):
        for name, call in calls.items():
            if times[name] and max(times[name]) > SLOW:
                continue
            start = time.perf_counter()
            call()
            seconds = time.perf_counter() - start
            if turn or seconds > SLOW:
                times[name].append(seconds)
    return times


def peak(call: Callable[[], object]) -> float:
    """Return the most memory that Python and numpy allocate during a call, in megabytes."""
    tracemalloc.start()
    call()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def bench_fits() -> None:
    heading("Fit of strengths", "items x votes", "fit", "median", "evalica / ours", "peak of ours (MB)")
    for n_items, n_votes, turns in SIZES:
        votes = simulated(n_items, n_votes)
        left, right = votes.left.tolist(), votes.right.tolist()
        winners = [evalica.Winner.X if code == LEFT else evalica.Winner.Y for code in votes.winner.tolist()]
        pairs = [(i, j) if code == LEFT else (j, i) for i, j, code in zip(left, right, votes.winner, strict=True)]
        ours: dict[str, Callable[[], object]] = {
            "default": lambda votes=votes: bradley_terry(votes),
            "with standard errors": lambda votes=votes: bradley_terry(votes).standard_errors,
            "prior=1.5": lambda votes=votes: bradley_terry(votes, prior=1.5),
            "voters=True": lambda votes=votes: bradley_terry(votes, voters=True),
        }
        calls = ours | {"evalica": lambda a=left, b=right, w=winners: evalica.bradley_terry(a, b, w)}
        if n_votes <= MOST_CHOIX:
            calls["choix.ilsr_pairwise"] = lambda n=n_items, p=pairs: choix.ilsr_pairwise(n, p, alpha=0.01)
            calls["choix.opt_pairwise"] = lambda n=n_items, p=pairs: choix.opt_pairwise(n, p, alpha=0.2)
        times = time_interleaved(calls, turns)
        peaks = {name: peak(call) for name, call in ours.items()}
        for name, times_of_program in times.items():
            median = statistics.median(times_of_program)
            ratio = f"{statistics.median(times['evalica']) / median:.2f}"
            memory = f"{peaks[name]:.1f}" if name in peaks else ""
            row(f"{n_items:,} x {n_votes:,}", name, f"{median * 1e3:,.1f} ms", ratio, memory)


def bench_next() -> None:
    heading("next_comparisons, after a first call", "items", "votes", "size", "median")
    for n_items, n_votes, size in ((990, 19_660, 250), (10_000, 200_000, 1)):
        strengths = bradley_terry(simulated(n_items, n_votes))
        rng = np.random.default_rng(1)
        call = {"next": lambda s=strengths, n=size, rng=rng: next_comparisons(s, n, rng=rng)}
        seconds = statistics.median(time_interleaved(call, 40)["next"])
        row(f"{n_items:,}", f"{n_votes:,}", size, f"{seconds * 1e3:.1f} ms")


def bench_draws() -> None:
    """Print processor time, because threads share the work; OPENBLAS_NUM_THREADS=1 excludes waiting threads."""
    heading("1,000 draws from the posterior, processor time (s)", "items", "votes", "voters unknown", "100 voters")
    for n_items in (30, 100, 300, 1_000, 1_500, 1_600, 5_000):
        for n_votes in (200, 10_000, 100_000, 1_000_000):
            known = simulated(n_items, n_votes, opinion_sd=0.5)
            unknown = Comparisons(n_items, known.left, known.right, known.winner)
            seconds = []
            for votes in (unknown, known):
                strengths = bradley_terry(votes, ties="half")
                strengths.sample(2, np.random.default_rng(0))
                start = time.process_time()
                strengths.sample(1_000, np.random.default_rng(0))
                seconds.append(f"{time.process_time() - start:.1f}")
            row(f"{n_items:,}", f"{n_votes:,}", *seconds)


def main() -> None:
    tables = {"draws": bench_draws, "next": bench_next, "fits": bench_fits}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=tables)
    only = parser.parse_args().only
    machine("numpy", "numba", "evalica", "choix")
    for name, table in tables.items():
        if only in (None, name):
            table()


if __name__ == "__main__":
    main()
