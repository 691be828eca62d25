"""The next comparisons over HTTP are the library's; with strengths, they are enough to vote without ballots."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import next_comparisons, thurstone
from tests.adaptive.strategies import comparisons
from tests.service.answers import answer, problem
from tests.service.api.test_strengths import COLUMNS, columns_of, fit_columns, rows_of

PATH = "/v1/comparisons/next"
REQUEST = {"comparisons": COLUMNS, "size": 3, "seed": 1}
SEEDS = st.integers(0, 2**63 - 1)
MIXED_ROWS = [row | ({"prompt": "x"} if place else {}) for place, row in enumerate(rows_of(COLUMNS))]


def choose_next(strengths, size, seed, **options):
    matches = next_comparisons(strengths, size, rng=np.random.default_rng(seed), **options)
    pairs = matches.pairs
    return {
        "left": [left for left, _ in pairs],
        "right": [right for _, right in pairs],
        "voter": [matches.voters[place] for place in matches.voter.tolist()],
    }


@given(comparisons(min_size=1), st.integers(1, 5), st.integers(0, 2**63 - 1), st.booleans())
def test_every_answer_is_that_of_the_library(votes, size, seed, by_rows):
    columns = columns_of(votes)
    request_votes = rows_of(columns) if by_rows else columns
    result = answer(PATH, comparisons=request_votes, items=votes.n_items, size=size, seed=seed)
    strengths = fit_columns(columns, items=votes.n_items)
    expected_comparisons = choose_next(strengths, size, seed)
    assert result["comparisons"] == expected_comparisons
    assert result["n_comparisons"] == len(expected_comparisons["left"])
    reasons = [notice["message"] for notice in result["warnings"]][len(strengths.warnings) :]
    assert bool(reasons) == (result["n_comparisons"] < size)


def test_the_options_are_those_of_the_library():
    result = answer(PATH, **REQUEST, voters=2, n0=10, focus=0, model="thurstone", options={"prior": 1})
    strengths = fit_columns(COLUMNS, fit=thurstone, prior=1.0)
    assert result["comparisons"] == choose_next(strengths, 3, 1, voters=2, n0=10, focus=0)


def test_a_first_batch_may_come_from_empty_columns():
    empty = {column: [] for column in ("left", "right", "winner", "voter")}
    assert answer(PATH, comparisons=empty, items=4, size=2, seed=1) == answer(
        PATH, comparisons=[], items=4, size=2, seed=1
    )


def test_no_possible_pair_is_left():
    votes = {"left": ["a"], "right": ["b"], "winner": ["left"], "voter": ["Ann"]}
    result = answer(PATH, comparisons=votes, size=2, seed=1)
    assert result["comparisons"] == {"left": [], "right": [], "voter": []}
    assert result["warnings"][-1]["message"] == "0 of 2 comparisons: the voter has seen all other pairs"


def test_unanswered_batches_are_not_repeated():
    votes = {"left": [], "right": [], "winner": [], "voter": []}
    for seed in range(4):
        batch = answer(PATH, comparisons=votes, items=6, voters=["A", "B"], size=9, seed=seed)["comparisons"]
        for name, column in batch.items():
            votes[name] += column
        votes["winner"] += [None] * len(batch["left"])
    pairs = [(who, frozenset(pair)) for who, *pair in zip(votes["voter"], votes["left"], votes["right"], strict=True)]
    assert len(pairs) == len(set(pairs)) == 30


@given(
    comparisons(min_size=1), st.lists(st.sampled_from(["x", "y", 7]), min_size=12, max_size=12), st.booleans(), SEEDS
)
def test_prompts_are_those_of_the_library(votes, prompts, has_names, seed):
    prompts = prompts[: votes.n_comparisons]
    columns = columns_of(votes) | {"prompt": prompts}
    columns["winner"] = [None if place % 3 == 2 else winner for place, winner in enumerate(columns["winner"])]
    names = ["z", "x", 7] if has_names else list(dict.fromkeys(prompts))
    options = {"size": 5, "seed": seed, "items": votes.n_items} | ({"prompts": names} if has_names else {})
    result = answer(PATH, comparisons=columns, **options)
    assert result == answer(PATH, comparisons=rows_of(columns), **options)
    strengths = fit_columns(columns, items=votes.n_items)
    of_answered = [prompt for prompt, winner in zip(prompts, columns["winner"], strict=True) if winner is not None]
    of_others = [prompt for prompt, winner in zip(prompts, columns["winner"], strict=True) if winner is None]
    prompt_options = {"prompts": names, "prompt_history": of_answered + of_others}
    matches = next_comparisons(strengths, 5, rng=np.random.default_rng(seed), **prompt_options)
    assert result["comparisons"] == choose_next(strengths, 5, seed, **prompt_options) | {
        "prompt": [names[place] for place in matches.prompt.tolist()]
    }


@pytest.mark.parametrize(
    ("options", "where", "message"),
    [
        ({"prompts": ["x"]}, "/comparisons", "every comparison needs a prompt, because there are prompts"),
        ({"comparisons": MIXED_ROWS}, "/comparisons/1/prompt", "either all comparisons have a prompt or none"),
        ({"comparisons": MIXED_ROWS[::-1]}, f"/comparisons/{len(MIXED_ROWS) - 1}/prompt", "this field is needed"),
        ({"prompts": ["x", "x"]}, "/prompts", "prompts must be unique; more than once: 'x'"),
        ({"prompts": []}, "/prompts", "must be at least 1 prompt; got 0"),
    ],
)
def test_invalid_prompts_are_refused(options, where, message):
    assert message in problem(PATH, **{**REQUEST, **options})["errors"][where][0]
