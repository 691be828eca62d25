"""Print how often intervals of ranks are wrong at some look while votes come in, and how wide they are at the end.

Votes are simulated, in batches that matching chooses by the votes before them, or at random. Each simulation is
looked at after every batch from the fourth on. The last columns are how often the rule for the top stops, after how
many votes on average, and how often its top is wrong. The script checks nothing.
"""

import argparse
import functools
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from report import heading, machine, row

from adaptive import Comparisons, bradley_terry, next_comparisons, stopping_rule

LEVEL = 0.9
TOP = 3
STRENGTHS = {
    "normal, sd 1.5": lambda rng, n: rng.normal(0, 1.5, n),
    "normal, sd 5": lambda rng, n: rng.normal(0, 5, n),
    "normal, sd 0.3": lambda rng, n: rng.normal(0, 0.3, n),
    "near twins, sd 1.5": lambda rng, n: np.repeat(rng.normal(0, 1.5, n // 2), 2) + rng.normal(0, 0.02, n),
    "all but equal": lambda rng, n: rng.normal(0, 1e-6, n),
}


def watch(seed: int, *, n_items: int, n_votes: int, batch: int, kind: str, is_matched: bool) -> list[float]:
    """Return whether intervals of draws, and anytime ones, were wrong at some look, and both widths at the end.

    Then follow the number of votes when the rule for the top stopped, and whether its top was wrong; or nan twice.
    """
    rng = np.random.default_rng(seed)
    theta = STRENGTHS[kind](rng, n_items)
    ranks = np.argsort(np.argsort(-theta)) + 1
    columns: list[list[int]] = [[], [], []]
    was_wrong, widths, stop = [False, False], [0.0, 0.0], [np.nan, np.nan]
    while len(columns[0]) < n_votes:
        strengths = bradley_terry(Comparisons(n_items, *columns))
        if is_matched:
            matches = next_comparisons(strengths, batch, rng=rng)
            left, right = matches.left, matches.right
        else:
            left = rng.integers(0, n_items, batch)
            right = (left + rng.integers(1, n_items, batch)) % n_items
        winner = np.where(rng.logistic(size=left.size) < theta[left] - theta[right], 1, -1)
        for column, values in zip(columns, (left, right, winner), strict=True):
            column.extend(values.tolist())
        if len(columns[0]) < 4 * batch:
            continue
        strengths = bradley_terry(Comparisons(n_items, *columns))
        for place, options in enumerate(({"simultaneous": True, "n_samples": 500}, {"anytime": True})):
            intervals = strengths.rank_intervals(LEVEL, **options)
            was_wrong[place] |= bool(np.any((ranks < intervals.low) | (ranks > intervals.high)))
            widths[place] = float(np.mean(intervals.high - intervals.low))
        if np.isnan(stop[0]) and stopping_rule(top=TOP, level=LEVEL)(strengths):
            stop = [float(len(columns[0])), float(np.any(ranks[strengths.ranking.ranks <= TOP] > TOP))]
    return [*map(float, was_wrong), *widths, *stop]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=100)
    parser.add_argument("--votes", type=int, default=500)
    parser.add_argument("--batch", type=int, default=25)
    parser.add_argument("--items", type=int, default=10)
    options = parser.parse_args()
    machine("numpy", "scipy")
    heading(
        f"{options.items} items, {options.votes} votes in batches of {options.batch}, "
        f"{options.simulations} simulations, level {LEVEL}",
        *("strengths", "pairs", "wrong at some look: draws", "anytime", "width at the end: draws", "anytime"),
        *(f"top {TOP} certain", "votes", "wrong"),
    )
    with ProcessPoolExecutor() as processes:
        for kind in STRENGTHS:
            for is_matched in (True, False):
                run = functools.partial(
                    watch,
                    n_items=options.items,
                    n_votes=options.votes,
                    batch=options.batch,
                    kind=kind,
                    is_matched=is_matched,
                )
                results = np.array(list(processes.map(run, range(options.simulations))))
                has_stopped = np.isfinite(results[:, 4])
                ends = results[has_stopped, 4:].mean(axis=0) if has_stopped.any() else [np.nan, np.nan]
                figures = [*results[:, :4].mean(axis=0), has_stopped.mean()]
                words = [f"{figure:.2f}" for figure in figures] + [f"{ends[0]:.0f}", f"{ends[1]:.2f}"]
                row(kind, "matched" if is_matched else "random", *words)


if __name__ == "__main__":
    main()
