"""Print how far the uncertainty of a fitted ranking can be trusted, from simulations of matched collection.

For each similarity, the table shows the share of 90 % rank intervals that contain the true rank, for all items and for
the top 30. For items with a given probability to be in the top 10, it shows the share that really is. It compares the
expected with the true tau_w. --scores prints the coverage of the intervals of `score_system` instead, and --better that
of differences of two items, with the share of probabilities that are right; with --slips, some votes are reversed.
--drawn draws the items at random from many, not at even steps. The script checks nothing.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
from report import heading, machine, row

from adaptive import (
    Choices,
    Comparisons,
    Matching,
    VoterPopulation,
    bradley_terry,
    embedding_similarity,
    exponential_similarity,
    next_comparisons,
    power_law_similarity,
    score_system,
    true_ranking,
)
from adaptive.matching._rounds import WHILE_MATCHING
from rankcorr import Ranking, TauW

SIMILARITIES: dict[str, Callable[[int], np.ndarray]] = {
    "exponential": exponential_similarity,
    "power law": power_law_similarity,
    "embedding": embedding_similarity,
}
BINS = ((0.05, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 0.85), (0.85, 0.95))
TOP, K, LEVEL = 30, 10, 0.9
TAU_W = TauW()
PAIRED, SPREADS, N_VOTES, NU = 20, (0.5, 1.5), (60, 200, 1_000), 0.5  # --better: items, strengths, votes, ties
PROBABILITIES = ((0.5, 0.7), (0.7, 0.9), (0.9, 1.01))
FITS = ("bradley_terry", "Choices", "bradley_terry, slips known")
POPULATION, NOISE = 20_000, 0.7  # number of items to sample from; noise of a system


def collect(similarity: np.ndarray, n_votes: int, batch: int | None, rng: np.random.Generator) -> Comparisons:
    """Return the votes of a simulated matched collection; batches have the usual size if None."""
    n_items, pool = similarity.size, VoterPopulation().draw(rng)
    batch = batch or Matching().batch_of(n_items)
    opinions = pool.opinions(similarity, rng)
    nothing = np.empty(0, np.int32)
    votes = Comparisons(n_items, nothing, nothing, nothing, pool.n_voters, nothing)
    strengths = bradley_terry(votes, ties="half", prior=WHILE_MATCHING)
    while votes.n_comparisons < n_votes:
        size = n_items // 2 if not votes.n_comparisons else min(batch, n_votes - votes.n_comparisons)
        matches = next_comparisons(strengths, size, rng=rng)
        left, right = opinions[matches.voter, matches.left], opinions[matches.voter, matches.right]
        winner = np.sign(left - right).astype(np.int8)
        winner[rng.random(winner.size) < pool.oversight[matches.voter]] *= -1
        votes = votes.joined(Comparisons(n_items, matches.left, matches.right, winner, pool.n_voters, matches.voter))
        strengths = bradley_terry(votes, ties="half", start=strengths, tolerance=0.02, prior=WHILE_MATCHING)
    return votes


def simulate(
    name: str, n_items: int, n_votes: int, batch: int | None, voters: bool, from_population: bool, seed: int
) -> list:
    """Return the figures of one run, in the order that `print_ranks` reads."""
    similarity = np.asarray(SIMILARITIES[name](POPULATION if from_population else n_items))
    if from_population:
        similarity = similarity[np.random.default_rng([seed, 7]).choice(POPULATION, n_items, replace=False)]
    truth, votes = true_ranking(similarity), collect(similarity, n_votes, batch, np.random.default_rng([seed, 1]))
    strengths = bradley_terry(votes, ties="half", voters=voters)
    intervals = strengths.rank_intervals(LEVEL)
    is_inside = (intervals.low <= truth.ranks) & (truth.ranks <= intervals.high)
    return [
        is_inside.mean(),
        is_inside[truth.ranks <= min(TOP, n_items // 3)].mean(),
        strengths.expected_correlation(TAU_W, workers=1).mean,
        TAU_W.of_pair(truth, strengths.ranking),
        strengths.in_top(K).probability,
        truth.ranks <= K,
    ]


def compare_pairs(spread: float, n_votes: int, slips: float, seed: int) -> np.ndarray:
    """Return, by fit and pair of items, whether the interval holds the difference, the probability, and if it is right.

    Votes are on random pairs by Davidson's model of ties, and a share `slips` is reversed; each item is in one of the
    pairs that are compared.
    """
    rng = np.random.default_rng([seed, n_votes])
    theta = spread * rng.standard_normal(PAIRED)
    left = rng.integers(0, PAIRED, n_votes)
    right = (left + rng.integers(1, PAIRED, n_votes)) % PAIRED
    half = np.exp((theta[left] - theta[right]) / 2)
    limits = np.cumsum([half, np.full(n_votes, NU), 1 / half], axis=0)
    winner = 1 - (rng.random(n_votes) * limits[-1] > limits[:-1]).sum(axis=0)
    if slips:
        winner[rng.random(n_votes) < slips] *= -1
    votes = Comparisons(PAIRED, left, right, winner)
    pairs = rng.permutation(PAIRED).reshape(-1, 2).tolist()
    figures = []
    for fit in (bradley_terry(votes), Choices.from_pairs(votes).fit(), bradley_terry(votes, oversight=slips)):
        for first, second in pairs:
            better, difference = fit.better(first, second, level=LEVEL), theta[first] - theta[second]
            low, high = better.interval
            is_right = (difference > 0) == (better.probability > 0.5)
            figures.append([low <= difference <= high, max(better.probability, 1 - better.probability), is_right])
    return np.array(figures, float).reshape(len(FITS), len(pairs), 3)


def print_better(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    """Print the coverage of differences of two items, and how often stated probabilities are right."""
    heading(
        f"{PAIRED} items, {options.simulations:,} simulations: two items compared",
        *("fit", "spread of strengths", "votes", "90 % intervals that hold the difference"),
        *(f"right of those stated {low:g} to {min(high, 1):g} (stated, number)" for low, high in PROBABILITIES),
    )
    seeds = range(options.first_seed, options.first_seed + options.simulations)
    for spread in SPREADS:
        for n_votes in N_VOTES:
            results = np.array(list(pool.map(partial(compare_pairs, spread, n_votes, options.slips), seeds)))
            for place, name in enumerate(FITS):
                is_held, probability, is_right = np.moveaxis(results[:, place], 2, 0)
                bins = [(low <= probability) & (probability < high) for low, high in PROBABILITIES]
                cells = [
                    f"{is_right[part].mean():.2f} ({probability[part].mean():.2f}, {part.sum():,})"
                    if part.any()
                    else "-"
                    for part in bins
                ]
                row(name, spread, f"{n_votes:,}", with_error(is_held.mean(axis=1)), *cells)


def sample_true_and_drawn(name: str, n_items: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the similarities of a random sample of items, and the scores that a system gives them."""
    similarity = np.asarray(SIMILARITIES[name](POPULATION))[rng.choice(POPULATION, n_items, replace=False)]
    strength = -np.log(np.argsort(np.argsort(-np.abs(similarity))) / n_items + 0.5 / n_items)
    return similarity, strength + NOISE * rng.standard_normal(n_items)


def score(name: str, n_items: int, n_votes: int, batch: int | None, truth: float, seed: int) -> list[float]:
    """Return the statistic of `score_system`, whether its two 90 % intervals contain `truth`, and their widths."""
    rng = np.random.default_rng([seed, 2])
    similarity, system = sample_true_and_drawn(name, n_items, rng)
    strengths = bradley_terry(collect(similarity, n_votes, batch, rng), ties="half")
    score = score_system(
        strengths, dict(enumerate(system)), TAU_W, level=LEVEL, n_samples=300, n_resamples=500, seed=seed, workers=1
    )
    ends = ((score.low, score.high), (score.known.low, score.known.high))
    return [score.statistic, *(low <= truth <= high for low, high in ends), *(high - low for low, high in ends)]


def print_scores(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    """Print the coverage of `score_system`; the truth is the mean over samples of items whose ranking is known."""
    columns = (
        "similarity",
        "true tau_w",
        "mean tau_w",
        "coverage",
        "if the ranking were known",
        "width",
        "width known",
    )
    heading(
        f"Systems: {options.items:,} items, {options.votes:,} votes, {options.simulations:,} simulations, 90 %",
        *columns,
    )
    for name in options.only:
        rng = np.random.default_rng(0)
        samples = [sample_true_and_drawn(name, options.items, rng) for _ in range(2_000)]
        truth = float(np.mean([TAU_W.of_pair(true_ranking(z), Ranking.from_scores(scores)) for z, scores in samples]))
        run = partial(score, name, options.items, options.votes, options.batch, truth)
        seeds = range(options.first_seed, options.first_seed + options.simulations)
        row(name, f"{truth:.3f}", *map(with_error, np.array(list(pool.map(run, seeds)), float).T))


def with_error(values: np.ndarray) -> str:
    defined_values = values[~np.isnan(values)]
    return (
        f"{defined_values.mean():.3f} +- {defined_values.std(ddof=1) / np.sqrt(defined_values.size):.3f}"
        if defined_values.size > 1
        else "-"
    )


def print_ranks(options: argparse.Namespace, pool: ProcessPoolExecutor) -> None:
    """Print the calibration of rank intervals, top probabilities and expected tau_w."""
    heading(
        f"{options.items:,} items, {options.votes:,} votes, {options.simulations:,} simulations",
        *("similarity", "90 % intervals, all", f"top {TOP}", "expected tau_w", "true tau_w", "expected - true"),
        *(f"in the top {K} of those with {low:g}-{high:g}" for low, high in BINS),
    )
    for name in options.only:
        run = partial(simulate, name, options.items, options.votes, options.batch, options.voters)
        run = partial(run, options.drawn)
        runs = list(pool.map(run, range(options.first_seed, options.first_seed + options.simulations)))
        figures = np.array([values[:4] for values in runs], dtype=float)
        probability, inside = (np.concatenate([values[place] for values in runs]) for place in (4, 5))
        bins = [inside[(low <= probability) & (probability < high)] for low, high in BINS]
        row(
            name,
            *(with_error(figures[:, column]) for column in range(4)),
            with_error(figures[:, 2] - figures[:, 3]),
            *(f"{values.mean():.3f} ({values.size:,})" if values.size else "-" for values in bins),
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1_000)
    parser.add_argument("--first-seed", type=int, default=1_000, help="the method was tuned on seeds 0 to 59")
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--votes", type=int, default=1_000)
    parser.add_argument("--batch", type=int, help="votes of a batch (default: a tenth of the items, 4 to 50)")
    parser.add_argument("--voters", action="store_true", help="model each voter")
    parser.add_argument("--drawn", action="store_true", help="draw items at random, not at even steps")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", choices=list(SIMILARITIES), nargs="+", default=list(SIMILARITIES))
    parser.add_argument("--scores", action="store_true", help="print the coverage of score_system instead")
    parser.add_argument("--better", action="store_true", help="print the calibration of two items compared instead")
    parser.add_argument("--slips", type=float, default=0.0, help="with --better: share of votes that are reversed")
    options = parser.parse_args()
    machine("numpy", "scipy", "numba")
    with ProcessPoolExecutor(options.workers) as pool:
        (print_better if options.better else print_scores if options.scores else print_ranks)(options, pool)


if __name__ == "__main__":
    main()
