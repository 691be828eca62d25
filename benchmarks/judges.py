"""Print how often intervals from votes of people and of a judge hold the truth, and how wide they are.

Each prompt asks for one pair of items. People vote on some prompts, drawn at random, and the judge on all of them. Run
it with ``.venv/bin/python benchmarks/judges.py``; it checks nothing.
"""

import argparse
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
from report import heading, machine, row

from adaptive import Choices, prediction_powered
from adaptive.errors import ModelError

N_ITEMS, LEVEL = 8, 0.9
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


def trial(seed: int, judge: str, n_prompts: int, n_labelled: int) -> tuple[float, float, float] | None:
    """Share of the intervals that hold the truth, their width over that of people alone, and the judge's weight."""
    rng = np.random.default_rng([seed, *judge.encode()])
    theta = np.sort(rng.normal(0, 1, N_ITEMS))
    theta -= theta.mean()
    left = rng.integers(0, N_ITEMS, n_prompts)
    right = (left + rng.integers(1, N_ITEMS, n_prompts)) % N_ITEMS
    people = rng.logistic(size=n_prompts) < theta[left] - theta[right]
    own = rng.permutation(theta)
    independent = rng.logistic(size=n_prompts) < own[left] - own[right]
    labelled = rng.permutation(n_prompts)[:n_labelled]
    answers = JUDGES[judge](rng, people, independent)
    try:
        both = prediction_powered(
            votes_of(left[labelled], right[labelled], people[labelled]),
            votes_of(left, right, answers),
            labelled.tolist(),
            list(range(n_prompts)),
        )
    except ModelError:  # an item that never lost has no finite strength
        return None
    width = NormalDist().inv_cdf((1 + LEVEL) / 2)
    is_held = np.abs(both.theta - theta) <= width * both.standard_errors
    alone = both.human.standard_errors
    return float(is_held.mean()), float((both.standard_errors / alone).mean()), both.weight


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    parser.add_argument("--prompts", type=int, default=1_000)
    parser.add_argument("--labelled", type=int, nargs="+", default=[100, 200])
    options = parser.parse_args()
    machine("numpy")
    heading(
        f"{N_ITEMS} items, {options.prompts:,} prompts, {options.trials} simulations",
        *("judge", "prompts with people", "90 % intervals that hold the truth", "width, of people alone", "weight"),
        "simulations without finite strengths",
    )
    for judge in JUDGES:
        for n_labelled in options.labelled:
            results = [trial(seed, judge, options.prompts, n_labelled) for seed in range(options.trials)]
            done = np.array([result for result in results if result is not None])
            coverage, width, weight = done.mean(axis=0)
            row(judge, n_labelled, f"{coverage:.3f}", f"{width:.2f}", f"{weight:.2f}", options.trials - len(done))


if __name__ == "__main__":
    main()
