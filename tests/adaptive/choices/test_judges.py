"""Pairs asked from both sides, and a judge compared with people."""

import math
from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive import ChoiceAnswers, ModelError, judge_agreement, merge_swapped, read_choices, side_biases
from adaptive.choices._judges import side_bias_of
from rankcorr.errors import OptionError


def answers_of(*rows):
    names = ("left", "right", "winner", "voter", "prompt")
    return read_choices([dict(zip(names, row, strict=True)) for row in rows])


SWAPPED = answers_of(
    ("a", "b", "left", "J", 1),
    ("b", "a", "right", "J", 1),  # both for a
    ("a", "b", "left", "J", 2),
    ("b", "a", "left", "J", 2),  # the left side both times
    ("a", "b", "right", "K", 2),
    ("b", "a", "right", "K", 2),  # the right side both times
    ("a", "c", "left", "K", 2),  # from one side only
)


def test_swapped_pairs_become_one_answer_or_a_tie():
    assert [row[2] for row in merge_swapped(SWAPPED).rows] == ["left", "tie", "tie", "left"]
    assert merge_swapped(SWAPPED, "left out").rows == (("a", "b", "left"), ("a", "c", "left"))
    assert [(bias.voter, bias.n_pairs, bias.n_left, bias.n_right) for bias in side_biases(SWAPPED)] == [
        ("J", 2, 1, 0),
        ("K", 1, 0, 1),
    ]


def test_the_interval_of_a_bias_is_as_published():
    """Output of R's contingencytables, with the adjustment of Agresti and Min, for the data of Cavo et al. (2012)."""
    bias = side_bias_of(6, 16, 161, level=0.95)
    assert [round(value, 4) for value in (bias.bias, *bias.interval)] == [-0.0621, -0.1182, -0.0045]


@given(st.lists(st.tuples(st.sampled_from(["ab", "ba"]), st.sampled_from(["left", "right", "tie"])), min_size=1))
def test_only_answers_with_a_partner_are_merged(votes):
    answers = ChoiceAnswers("pairs", tuple((*pair, winner) for pair, winner in votes), np.ones(len(votes)))
    pairs = [pair for pair, _ in votes]
    merged = merge_swapped(answers)
    assert len(merged.rows) == max(pairs.count("ab"), pairs.count("ba"))
    biases = side_biases(answers)
    assert sum(bias.n_pairs for bias in biases) == min(pairs.count("ab"), pairs.count("ba"))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ab", "ba", "ac"]),
            st.sampled_from(["left", "right", "tie", "both bad"]),
            st.sampled_from(["J", "Ann", "Bob", "Cid"]),
            st.integers(1, 2),
        ),
        min_size=2,
        max_size=25,
    )
)
def test_agreements_are_shares_of_all_pairs_of_votes_of_two_voters(rows):
    def better(pair, winner):
        return {"left": pair[0], "right": pair[1]}.get(winner)

    def mean(is_decided, are_compared):
        shares = defaultdict(list)
        for (pair, winner, voter, prompt), (other_pair, other_winner, other, other_prompt) in combinations(rows, 2):
            values = better(pair, winner), better(other_pair, other_winner)
            same = (prompt, set(pair)) == (other_prompt, set(other_pair))
            if same and are_compared(voter, other) and not (is_decided and None in values):
                shares[prompt, frozenset(pair)].append(values[0] == values[1])
        return [np.mean([np.mean(share) for share in shares.values()]) if shares else math.nan, len(shares)]

    def with_judge(voter, other):
        return (voter == "J") != (other == "J")

    def of_people(voter, other):
        return "J" not in (voter, other) and voter != other

    if not mean(False, with_judge)[1]:
        with pytest.raises(ModelError):
            judge_agreement(answers_of(*((*pair, *rest) for pair, *rest in rows)), "J")
        return
    agreement = judge_agreement(answers_of(*((*pair, *rest) for pair, *rest in rows)), "J")
    for part, *expected in (
        (agreement.with_people, False, with_judge),
        (agreement.with_people_decided, True, with_judge),
        (agreement.among_people, False, of_people),
        (agreement.among_people_decided, True, of_people),
    ):
        assert [part.share, part.n_questions] == pytest.approx(mean(*expected), nan_ok=True)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ab", "ba"]),
            st.sampled_from(["left", "right", "tie"]),
            st.sampled_from(["J", "Ann", "Bob"]),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_a_weight_counts_as_many_votes(rows):
    rows = [*rows, ("ab", "left", "J", 1), ("ab", "left", "Ann", 1)]
    weighted = answers_of(*((*pair, winner, voter, 1) for pair, winner, voter, _ in rows))
    weighted = replace(weighted, weights=np.array([float(weight) for *_, weight in rows]))
    repeated = answers_of(*((*pair, winner, voter, 1) for pair, winner, voter, weight in rows for _ in range(weight)))
    for part in ("with_people", "among_people", "with_people_decided", "among_people_decided"):
        agreements = [getattr(judge_agreement(answers, "J"), part) for answers in (weighted, repeated)]
        assert agreements[0].share == pytest.approx(agreements[1].share, nan_ok=True)
        assert agreements[0].n_questions == agreements[1].n_questions


def test_agreement_intervals_cover_if_prompts_differ_in_difficulty():
    """Of 200 simulated judges, 180 are expected; 3 standard errors are 13."""
    rng = np.random.default_rng(4)
    shares = rng.beta(4, 2, (200, 60))
    covered = 0
    for prompts in shares:
        equal = rng.random((60, 4)) < prompts[:, np.newaxis]
        rows = [
            ("a", other, "left" if same or voter == "Ann" else "right", voter, prompt)
            for prompt, row in enumerate(equal.tolist())
            for other, same in zip("bcde", row, strict=True)
            for voter in ("Ann", "J")
        ]
        names = list(zip(*rows, strict=True))
        answers = ChoiceAnswers("pairs", tuple(zip(*names[:3], strict=True)), np.ones(len(rows)), names[3], names[4])
        low, high = judge_agreement(answers, "J", level=0.9).with_people.interval
        covered += low <= 4 / 6 <= high
    assert abs(covered - 180) <= 3 * math.sqrt(200 * 0.9 * 0.1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: merge_swapped(SWAPPED, "x"), OptionError, "disagreement must be one of 'tie', 'left out'"),
        (lambda: side_biases(read_choices([{"ranking": "a > b"}])), ModelError, "answers must be votes on pairs"),
        (lambda: side_biases(SWAPPED, level=1), ModelError, "level must be"),
        (lambda: judge_agreement(SWAPPED, "Z"), ModelError, "no voter is called 'Z'"),
        (lambda: judge_agreement(SWAPPED.select([0, 1]), "J"), ModelError, "'J' is the only voter: the agreement"),
        (lambda: judge_agreement(SWAPPED.select([0, 6]), "J"), ModelError, "no pair and prompt in common"),
        (lambda: judge_agreement(ChoiceAnswers("pairs", (), np.ones(0)), "J"), ModelError, "voters are not known"),
        (
            lambda: merge_swapped(ChoiceAnswers("pairs", (("a", "b", "left"), ("b", "a", "left")), np.arange(1, 3))),
            ModelError,
            "answers 0 and 1 are one pair from both sides, but",
        ),
        (lambda: merge_swapped(3), ModelError, "answers must be votes on pairs; got 3"),
    ],
)
def test_invalid_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
