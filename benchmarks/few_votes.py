"""Print how far what small campaigns state can be trusted: ranks, a certain top, and voters who flip coins.

The first table has the shares of 90 % rank intervals that hold the true rank of an item and all true ranks at once, and
of intervals of the expected tau_w that hold the true one, from votes on random pairs by the paper's voters. The second
has the campaigns that `stopping_rule(top=1)` stops, looking at four items after every ten votes. The third compares the
probabilities that voters flip coins, as `voter_report` states them, with the share who do. The script checks nothing.
"""

import argparse
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np
from report import heading, machine, row

from adaptive import (
    Comparisons,
    VoterPopulation,
    bradley_terry,
    exponential_similarity,
    next_comparisons,
    stopping_rule,
    true_ranking,
    voter_report,
)
from rankcorr import TauW

LEVEL, TAU_W = 0.9, TauW()
CAMPAIGNS = ((20, 120), (30, 1_500))  # items, votes
N_VOTERS = 20
LOOK, MOST_VOTES = 10, 400
TOPS = {  # strengths, share of voters who flip coins, and whether every other batch is matched
    "1, 0, -1, -2": ((1.0, 0.0, -1.0, -2.0), 0.0, False),
    "1.5, 0, -1, -2, four of ten voters flip coins": ((1.5, 0.0, -1.0, -2.0), 0.4, False),
    "0.1, 0, -2, -3, half of the batches are matched": ((0.1, 0.0, -2.0, -3.0), 0.0, True),
}
FLIPPERS, OF_VOTER, SPREAD = (10, 20), 30, 1.5  # numbers of voters; votes of each; strengths of 15 items
FLIP_SHARE = (0.5, 4.5)  # of a beta distribution, the prior of `voter_report`
BINS = (0.0, 0.02, 0.05, 0.2, 0.5, 0.8, 1.0)


def random_pairs(n_items: int, n_votes: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    left = rng.integers(0, n_items, n_votes)
    return left, (left + rng.integers(1, n_items, n_votes)) % n_items


def logistic_votes(margin: np.ndarray, is_flip: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return votes by Bradley and Terry's model, or by coin flips."""
    return np.where(rng.logistic(size=margin.size) < np.where(is_flip, 0.0, margin), 1, -1)


def rank_items(n_items: int, n_votes: int, seed: int) -> list[float]:
    """Return whether intervals hold the truth, and their widths, in the order of the table's columns."""
    rng = np.random.default_rng([seed, n_items])
    similarity = exponential_similarity(n_items)
    truth, pool = true_ranking(similarity), VoterPopulation(n_voters=N_VOTERS).draw(rng)
    opinions, voter = pool.opinions(similarity, rng), rng.integers(0, N_VOTERS, n_votes)
    left, right = random_pairs(n_items, n_votes, rng)
    winner = np.sign(opinions[voter, left] - opinions[voter, right]).astype(np.int8)
    winner[rng.random(n_votes) < pool.oversight[voter]] *= -1
    strengths = bradley_terry(Comparisons(n_items, left, right, winner, N_VOTERS, voter), ties="half")
    expected = strengths.expected_correlation(TAU_W, level=LEVEL, workers=1)
    true = TAU_W.of_pair(truth, strengths.ranking)
    figures = [expected.mean - true, expected.low <= true <= expected.high]
    for simultaneous in (False, True):
        intervals = strengths.rank_intervals(LEVEL, simultaneous=simultaneous)
        is_inside = (intervals.low <= truth.ranks) & (truth.ranks <= intervals.high)
        figures += [is_inside.mean(), is_inside.all(), float(np.mean(intervals.high - intervals.low + 1))]
    return figures


def watch_top(name: str, seed: int) -> list[float]:
    """Return the votes after which the rule stops, and whether its top is wrong; nan twice if it never stops."""
    theta, flip_share, is_matched = np.array(TOPS[name][0]), *TOPS[name][1:]
    rng, rule = np.random.default_rng(seed), stopping_rule(top=1)
    is_flipper, columns = rng.random(10) < flip_share, np.empty((3, 0), int)
    strengths = None
    while columns.shape[1] < MOST_VOTES:
        if is_matched and strengths is not None and columns.shape[1] // LOOK % 2:
            matches = next_comparisons(strengths, LOOK, rng=rng)
            left, right = matches.left, matches.right
        else:
            left, right = random_pairs(theta.size, LOOK, rng)
        winner = logistic_votes(theta[left] - theta[right], is_flipper[rng.integers(0, 10, left.size)], rng)
        columns = np.concatenate([columns, [left, right, winner]], axis=1)
        strengths = bradley_terry(Comparisons(theta.size, *columns))
        if rule(strengths):
            return [columns.shape[1], float(strengths.theta.argmax() != 0)]
    return [np.nan, np.nan]


def report_flippers(n_voters: int, seed: int) -> np.ndarray:
    """Return the stated probability that each voter flips coins, and whether the voter does."""
    rng = np.random.default_rng([seed, n_voters])
    theta, voter = SPREAD * rng.standard_normal(15), np.repeat(np.arange(n_voters), OF_VOTER)
    is_flipper = rng.random(n_voters) < rng.beta(*FLIP_SHARE)
    left, right = random_pairs(theta.size, voter.size, rng)
    winner = logistic_votes(theta[left] - theta[right], is_flipper[voter], rng)
    votes = Comparisons(theta.size, left, right, winner, n_voters, voter)
    return np.array([voter_report(bradley_terry(votes, voters=True)).random, is_flipper])


def with_error(values: np.ndarray) -> str:
    return f"{values.mean():.3f} +- {values.std(ddof=1) / np.sqrt(values.size):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    machine("numpy", "scipy", "numba")
    with ProcessPoolExecutor(options.workers) as pool:

        def simulate(run: Callable[..., object]) -> np.ndarray:
            return np.array(list(pool.map(run, range(options.simulations))))

        heading(
            f"Ranks: {N_VOTERS} of the paper's voters, random pairs, {options.simulations} simulations, {LEVEL:.0%}",
            *("items, votes", "expected less true tau_w", "interval of tau_w holds it", "rank held", "all ranks held"),
            *("width", "simultaneous: rank held", "all ranks held", "width"),
        )
        for n_items, n_votes in CAMPAIGNS:
            figures = simulate(partial(rank_items, n_items, n_votes))
            row(f"{n_items}, {n_votes:,}", *map(with_error, figures.T))
        heading(
            f"A certain top: {len(TOPS)} kinds of campaigns with {MOST_VOTES} votes, a look every {LOOK} votes",
            *("strengths", "campaigns", "stopped", "mean votes", "wrong top"),
        )
        for name in TOPS:
            n_votes, is_wrong = simulate(partial(watch_top, name)).T
            row(
                name,
                n_votes.size,
                np.isfinite(n_votes).sum(),
                f"{n_votes[np.isfinite(n_votes)].mean():.0f}" if np.isfinite(n_votes).any() else "-",
                f"{np.nansum(is_wrong):g}",
            )
        heading(
            f"Voters who flip coins: 15 items, {OF_VOTER} votes of each voter, {options.simulations} simulations with "
            f"{' and as many with '.join(map(str, FLIPPERS))} voters",
            *("stated probability", "voters", "mean of the stated", "flip coins"),
        )
        stated, does_flip = np.concatenate([np.hstack(simulate(partial(report_flippers, n))) for n in FLIPPERS], axis=1)
        for low, high in pairwise(BINS):
            is_in = (low <= stated) & ((stated < high) | (high == 1.0))
            row(
                f"{low:g} to {high:g}",
                f"{is_in.sum():,}",
                f"{stated[is_in].mean():.3f}",
                f"{does_flip[is_in].mean():.3f}",
            )


if __name__ == "__main__":
    main()
