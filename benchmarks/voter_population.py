"""Print how well `fit_population` recovers the populations of simulated voters, and its estimates for real voters.

For each population, the table shows the mean error of the estimates (bias), their standard deviation, and how often the
90 % intervals cover the true level. Votes are of uniform ballots with 40 presentations and exponential similarities.

For real votes the truth is unknown. A tie counts as half a vote for either side, which matters where ties are frequent.
Similarities are derived from the fitted strengths, so the levels are relative: a voter with nonconformity 0.1 votes as
the strengths predict.
"""

import argparse
import csv
import gzip
import math
from pathlib import Path

import numpy as np
from report import heading, row

from adaptive._draw import draw_ballot
from adaptive.comparisons._comparisons import Comparisons
from adaptive.simulation._population import NAMES, fit_population
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._voters import VoterPopulation
from rankcorr._cli.console import progress_bar

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LEVELS = (((0.02, 0.2), (0.005, 0.05)), ((0.1, 0.3), (0.02, 0.15)))
LEVEL = 0.9


def votes_of(population: VoterPopulation, n_items: int, seed: int) -> Comparisons:
    """Return the votes of newly drawn voters on a uniform ballot."""
    rng = np.random.default_rng(seed)
    pool = population.draw(rng)
    opinions = pool.opinions(exponential_similarity(n_items), rng)
    ballot = draw_ballot(n_items, 40, pool.n_voters, rng)
    return Comparisons.from_ballots([(ballot, pool.answer(ballot, opinions, rng))])


def print_population(population: VoterPopulation, n_items: int, n_simulations: int, resamples: int) -> None:
    """Print a row for each of the four levels."""
    true = np.array([*population.nonconformity, *population.oversight])
    estimates, covered, widths, raw = (np.empty((n_simulations, 4)) for _ in range(4))
    with progress_bar(n_simulations, "fit", "fits") as advance:
        for k in range(n_simulations):
            fit = fit_population(
                votes_of(population, n_items, k), similarity="exponential", level=LEVEL, resamples=resamples, seed=k
            )
            estimates[k] = [*fit.population.nonconformity, *fit.population.oversight]
            covered[k] = (fit.intervals[:, 0] <= true) & (true <= fit.intervals[:, 1])
            widths[k] = fit.intervals[:, 1] - fit.intervals[:, 0]
            raw[k] = fit.uncorrected
            advance(1)
    for k, name in enumerate(NAMES):
        share = covered[:, k].mean()
        row(
            population.n_voters,
            name,
            f"{true[k]:g}",
            f"{estimates[:, k].mean() - true[k]:+.4f}",
            f"{raw[:, k].mean() - true[k]:+.4f}",
            f"{estimates[:, k].std(ddof=1):.4f}",
            f"{np.median(widths[:, k]):.4f}",
            f"{share:.2f} +- {math.sqrt(max(share * (1 - share), 0.01) / n_simulations):.2f}",
        )


def real_votes() -> dict[str, Comparisons]:
    """Read the votes of llmfao, and of the first topic of UKPConvArg1."""
    results = {}
    if (path := DATA / "llmfao.csv").is_file():
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = ([row[name] for row in rows] for name in ("left", "right", "winner"))
        results["llmfao"] = Comparisons.from_labels(*columns, voter=[row["worker"] for row in rows])
    if (path := DATA / "ukpconvarg1_votes.csv.gz").is_file():
        words = {"a1": "left", "a2": "right", "equal": "tie"}
        with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
            rows = list(csv.DictReader(text))
        topic = min(row["topic"] for row in rows)
        rows = [row for row in rows if row["topic"] == topic]
        columns = ([row[name] for row in rows] for name in ("item_a", "item_b"))
        winners = [words[row["vote"]] for row in rows]
        results[f"UKPConvArg1, {topic[:30]}"] = Comparisons.from_labels(
            *columns, winners, voter=[row["worker"] for row in rows]
        )
    return results


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Recover populations of voters from their votes.")
    parser.add_argument("--simulations", type=int, default=100, help="runs of each population (default: %(default)s)")
    parser.add_argument("--items", type=int, default=200, help="(default: %(default)s)")
    parser.add_argument("--resamples", type=int, default=40, help="resamples of each fit (default: %(default)s)")
    options = parser.parse_args(arguments)
    columns = ("voters", "level", "true", "bias", "bias before correction", "sd", "width", "coverage of 90 % intervals")
    heading(f"{options.items} items, {options.simulations} simulations", *columns)
    for nonconformity, oversight in LEVELS:
        for n_voters in (20, 100):
            population = VoterPopulation(n_voters, nonconformity, oversight)
            print_population(population, options.items, options.simulations, options.resamples)
    heading("Real votes", "votes", "voters", "ties", *NAMES)
    for name, votes in real_votes().items():
        fit = fit_population(votes, level=LEVEL, resamples=options.resamples)
        cells = (f"{value:.3f} ({low:.3f} to {high:.3f})" for value, low, high in fit.intervals_by_name.values())
        row(name, fit.population.n_voters, f"{votes.n_ties / votes.n_comparisons:.0%}", *cells)


if __name__ == "__main__":
    main()
