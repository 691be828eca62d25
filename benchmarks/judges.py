"""Print how often intervals from votes of people and of a judge hold the truth, and how wide they are.

Each prompt asks for one pair of items. People vote on some prompts, drawn at random, and the judge on all of them. With
several --votes, each prompt asks for as many pairs, and shifts the strength of each item. With --clusters, the
intervals are those of dependent votes instead: each prompt or voter shifts the strength of each item.
Run it with ``.venv/bin/python benchmarks/judges.py``; it checks nothing.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from report import heading, machine, row
from scipy.special import expit, ndtri

from adaptive import Choices, prediction_powered
from adaptive.errors import ModelError

N_ITEMS, SPREAD, LEVEL = 8, 1.0, 0.9
Answers = np.ndarray
JUDGES: dict[str, Callable[[np.random.Generator, Answers, Answers], Answers]] = {
    "says what people say": lambda _, people, __: people,
    "agrees on 85 % of prompts": lambda rng, people, _: people ^ (rng.random(people.size) < 0.15),
    "agrees on 70 % of prompts": lambda rng, people, _: people ^ (rng.random(people.size) < 0.3),
    "has an order of its own": lambda _, __, independent: independent,
    "answers at random": lambda rng, people, _: rng.random(people.size) < 0.5,
    "prefers the left side": lambda rng, people, _: people | (rng.random(people.size) < 0.6),
    "says the opposite": lambda _, people, __: ~people,
}


def votes_of(left: np.ndarray, right: np.ndarray, is_left: Answers) -> Choices:
    """Votes on pairs as choices."""
    grades = np.where(is_left, 1, -1)
    return Choices.from_grades(range(N_ITEMS), left, right, grades)


def trial(
    seed: int, judge: str, n_prompts: int, n_labelled: int, n_votes: int = 1
) -> tuple[float, float, float] | None:
    """Share of the intervals that hold the truth, their width over that of people alone, and the judge's weight."""
    rng = np.random.default_rng([seed, *judge.encode()])
    theta = np.sort(rng.normal(0, SPREAD, N_ITEMS))
    theta -= theta.mean()
    prompt = np.repeat(np.arange(n_prompts), n_votes)
    left = rng.integers(0, N_ITEMS, prompt.size)
    right = (left + rng.integers(1, N_ITEMS, prompt.size)) % N_ITEMS
    difference = theta[left] - theta[right]
    if n_votes > 1:
        shifts = rng.normal(0, 1, (n_prompts, N_ITEMS))
        difference += shifts[prompt, left] - shifts[prompt, right]
        theta = limit_of(theta, 2.0)
    people = rng.logistic(size=prompt.size) < difference
    other = rng.permutation(theta)
    independent = rng.logistic(size=prompt.size) < other[left] - other[right]
    labelled = np.flatnonzero(np.isin(prompt, rng.permutation(n_prompts)[:n_labelled]))
    answers = JUDGES[judge](rng, people, independent)
    human = votes_of(left[labelled], right[labelled], people[labelled])
    try:
        both = prediction_powered(human, votes_of(left, right, answers), prompt[labelled].tolist(), prompt.tolist())
    except ModelError:  # an item that never lost has no finite strength
        return None
    is_held = np.abs(both.theta - theta) <= both.quantile(LEVEL) * both.standard_errors
    widths = both.standard_errors / both.human.standard_errors
    if n_votes > 1:
        alone = replace(human, clusters=prompt[labelled]).fit(prior=np.inf)
        widths = both.quantile(LEVEL) * both.standard_errors / (alone.quantile(LEVEL) * alone.standard_errors)
    return float(is_held.mean()), float(widths.mean()), both.weight


# Name of a design, clusters of the fit, and whether prompts and voters shift strengths.
CROWDS = (
    ("independent votes", "prompt", False, False),
    ("prompts shift strengths", "prompt", True, False),
    ("voters have opinions, and unequal numbers of votes", "voter", False, True),
    ("both", "both", True, True),
)


def crowd(rng: np.random.Generator, n_clusters: int, clusters: str) -> np.ndarray:
    """Return prompt and voter of each vote: 10 of a prompt, 2 to 200 of a voter, or 15 of as many prompts as voters."""
    numbers = np.arange(n_clusters)
    if clusters == "voter":
        voter = np.repeat(numbers, np.clip(np.exp(rng.normal(np.log(15), 1, n_clusters)).astype(int), 2, 200))
        return np.array([voter, voter])
    prompt = np.repeat(numbers, 10 if clusters == "prompt" else 15)
    return np.array([prompt, rng.integers(0, n_clusters, prompt.size)])


def limit_of(theta: np.ndarray, variance: float) -> np.ndarray:
    """Return the strengths that the fit tends to with many clusters, whose shifts have this variance in a pair."""
    left, right = np.triu_indices(theta.size, 1)
    nodes, weights = hermegauss(41)
    shifts = np.sqrt(variance) * nodes
    share = expit((theta[left] - theta[right])[:, None] + shifts) @ (weights / weights.sum())
    both = (np.concatenate([left, right]), np.concatenate([right, left]))
    votes = Choices.from_grades(
        range(theta.size), *both, np.ones(2 * left.size, int), weights=np.append(share, 1 - share)
    )
    return votes.fit(prior=np.inf).theta


def clustered(seed: int, clusters: str, has_prompts: bool, has_voters: bool, n_clusters: int) -> np.ndarray:
    """Shares of intervals that hold the truth: as if independent, clustered but normal, clustered; and their width."""
    rng = np.random.default_rng([seed, n_clusters])
    theta = np.sort(rng.normal(0, SPREAD, N_ITEMS))
    of_votes = crowd(rng, n_clusters, clusters)
    left = rng.integers(0, N_ITEMS, of_votes.shape[1])
    right = (left + rng.integers(1, N_ITEMS, left.size)) % N_ITEMS
    difference = theta[left] - theta[right]
    for shifts, column in zip((has_prompts, has_voters), of_votes, strict=True):
        opinions = shifts * rng.normal(0, 1, (n_clusters, N_ITEMS))
        difference += opinions[column, left] - opinions[column, right]
    votes = votes_of(left, right, rng.logistic(size=left.size) < difference)
    columns = of_votes.T if clusters == "both" else of_votes[int(clusters == "voter")]
    truth = limit_of(theta, 2.0 * (has_prompts + has_voters))
    fit = replace(votes, clusters=columns).fit(prior=SPREAD)
    alone = votes.fit(prior=SPREAD)
    first, second = np.triu_indices(N_ITEMS, 1)
    contrasts = np.eye(N_ITEMS)[first] - np.eye(N_ITEMS)[second]

    def share_held(strengths: object, quantile: float) -> tuple[float, float]:
        errors = contrasts @ strengths.covariance[:N_ITEMS, :N_ITEMS] * contrasts
        is_held = np.abs(contrasts @ (strengths.theta - truth)) <= quantile * np.sqrt(errors.sum(axis=1))
        return np.mean(np.abs(strengths.theta - truth) <= quantile * strengths.standard_errors), is_held.mean()

    normal = float(ndtri((1 + LEVEL) / 2))
    ranks = fit.rank_intervals(LEVEL)
    true_ranks = N_ITEMS - np.argsort(np.argsort(truth))
    return np.array(
        [
            share_held(alone, normal)[0],
            share_held(fit, normal)[0],
            *share_held(fit, fit.quantile(LEVEL)),
            np.mean((ranks.low <= true_ranks) & (true_ranks <= ranks.high)),
            fit.quantile(LEVEL) / normal * (fit.standard_errors / alone.standard_errors).mean(),
        ]
    )


def print_clusters(n_trials: int) -> None:
    """Print the table of dependent votes."""
    heading(
        f"{N_ITEMS} items, {n_trials} simulations: 90 % intervals that hold the truth",
        *("design", "clusters", "as if independent", "clustered, normal", "clustered", "differences of two items"),
        *("ranks", "width, of those as if independent"),
    )
    for name, *design in CROWDS:
        for n_clusters in (3, 10, 30, 100, 300):
            results = np.array([clustered(seed, *design, n_clusters) for seed in range(n_trials)])
            shares = results.mean(axis=0)
            row(name, n_clusters, *(f"{share:.3f}" for share in shares[:5]), f"{shares[5]:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--prompts", type=int, default=1_000)
    parser.add_argument("--labelled", type=int, nargs="+", default=[100, 200])
    parser.add_argument("--votes", type=int, default=1, help="of a prompt")
    parser.add_argument("--clusters", action="store_true", help="print intervals of dependent votes")
    options = parser.parse_args()
    machine("numpy")
    if options.clusters:
        print_clusters(options.trials)
        return
    heading(
        f"{N_ITEMS} items, {options.prompts:,} prompts, votes on each: {options.votes}, {options.trials} simulations",
        *("judge", "prompts with people", "90 % intervals that hold the truth", "width, of people alone", "weight"),
        "simulations without finite strengths",
    )
    for judge in JUDGES:
        for n_labelled in options.labelled:
            results = [trial(seed, judge, options.prompts, n_labelled, options.votes) for seed in range(options.trials)]
            fits = np.array([result for result in results if result is not None])
            coverage, width, weight = fits.mean(axis=0) if fits.size else [np.nan] * 3
            row(judge, n_labelled, f"{coverage:.3f}", f"{width:.2f}", f"{weight:.2f}", options.trials - len(fits))


if __name__ == "__main__":
    main()
