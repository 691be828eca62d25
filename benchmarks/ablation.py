"""Print how much each part of matching and of its uncertainty contributes, by leaving out one part at a time.

The crowds, true rankings and seeds are those of `crowds.py`. Leaving out a part of matching changes which pairs are
asked, and therefore the accuracy. Leaving out a part of the draws changes only the stated accuracy. Each row is the
mean difference from the complete method in the same campaigns, with its standard error.

Run it with ``.venv/bin/python benchmarks/ablation.py``. Nothing here asserts.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from unittest import mock

import numpy as np
from crowds import CROWDS, SIZES, collect_strengths, expected_accuracy, true_accuracy
from report import heading, machine, row

from adaptive.matching import _matching as matching
from adaptive.model._posterior import chains
from adaptive.model._posterior.normal import draw_normal

NAMES = ("power law", "normal", "noisy", "ties .3", "intransitive .3", "50 % careless", "5 voters", "uniform")


PARTS: dict[str, tuple[object, str, object]] = {  # module, name, and the value that switches the part off
    "random opponents": (matching, "RANDOM", 0.0),
    "limit on votes on a pair": (matching, "PAIR_SHARES", ()),
    "search for far ranks": (matching, "FAR_SHARE", 0.0),
    "distance where half of the votes tie": (matching, "informative_distance", lambda _: 0.0),
    "chains in place of normal draws": (chains, "draw_by_chains", draw_normal),
}


def one(name: str, size: str, seed: int) -> dict[str, dict[str, float]]:
    """Return the figures of the complete method, and without each part, for the same crowd."""
    n, n_votes = SIZES[size]

    def run() -> dict[str, float]:
        rng = np.random.default_rng([seed, n])
        voters = CROWDS[name](n, rng).seat(rng)
        strengths = collect_strengths("matched", voters, n, n_votes, rng.spawn(1)[0])
        truth = voters.truth()[np.asarray(strengths.items)]
        return true_accuracy(strengths, truth) | expected_accuracy(strengths, truth)

    results = {"": run()}
    for part, (where, attribute, value) in PARTS.items():
        with mock.patch.object(where, attribute, value):
            results[part] = run()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=30)
    parser.add_argument("--size", default="200", choices=list(SIZES))
    parser.add_argument("--only", nargs="+", default=NAMES, choices=list(CROWDS))
    options = parser.parse_args()
    machine("numpy", "scipy", "numba")
    n, n_votes = SIZES[options.size]
    heading(
        f"{n} items, {n_votes:,} votes, {options.simulations} simulations: without a part, less the whole",
        *("part", "crowd", "tau_w", "rho_w", "expected less true tau_w", "that of the whole"),
    )
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        seeds = range(options.simulations)
        runs_by_part = {name: list(pool.map(partial(one, name, options.size), seeds)) for name in options.only}
    for part in PARTS:
        for name, runs in runs_by_part.items():
            differences = [np.array([run[part][key] - run[""][key] for run in runs]) for key in ("tau_w", "rho_w")]
            excesses = [np.mean([run[key]["stated"] - run[key]["tau_w"] for run in runs]) for key in (part, "")]
            errors = [values.std(ddof=1) / np.sqrt(values.size) for values in differences]
            cells = [f"{values.mean():+.3f} ({e:.3f})" for values, e in zip(differences, errors, strict=True)]
            row(part, name, *cells, *(f"{excess:+.3f}" for excess in excesses))


if __name__ == "__main__":
    main()
