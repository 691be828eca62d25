"""Agreement between voters and with themselves, against loops over pairs of answers and another package."""

from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive.ledger.quality.agreement import Ratings, consistency, ratings_of
from adaptive.ledger.quality.answers import NOTHING, Answers
from adaptive.ledger.quality.shares import Share
from adaptive.ledger.votes import CANNOT_SAY


@st.composite
def answered(draw, kinds=("",)):
    """Answers on pairs of 4 items by 4 voters in 2 ballots: pairs come often, and ties are common."""
    n = draw(st.integers(0, 30))

    def whole(low, high):
        return np.array(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)), np.int64)

    left = whole(0, 3)
    right = (left + whole(1, 3)) % 4
    ballot = np.sort(whole(1, 2))
    answer = whole(-2, 2)
    answer[answer == -2] = 0
    nothing = np.full(n, NOTHING)
    kind = np.array(draw(st.lists(st.sampled_from(kinds), min_size=n, max_size=n)), "<U9")
    repeats = np.where(kind == "repeat", whole(0, 12), NOTHING)
    return Answers(ballot, np.arange(n), left, right, answer, whole(0, 3), nothing, kind, nothing, repeats)


def first_answers(votes, probes, without):
    """Answer of each voter on each pair, as if the lower item stood left; ballots in order, votes first."""
    rows = []
    for which, part in enumerate((votes, probes)):
        for at in range(part.answer.size):
            if part.answer[at] == CANNOT_SAY or part.voter[at] in without or (which and part.kind[at] != "overlap"):
                continue
            left, right, answer = int(part.left[at]), int(part.right[at]), int(part.answer[at])
            said = answer if left < right else -answer
            rows.append((int(part.ballot[at]), which, int(part.place[at]), int(part.voter[at]), {left, right}, said))
    rows.sort(key=lambda row: row[:3])
    found = {}
    for _, _, _, voter, pair, said in rows:
        found.setdefault((min(pair), max(pair)), {}).setdefault(voter, said)
    return {pair: said for pair, said in found.items() if len(said) > 1}


PROBES = answered(kinds=("overlap", "repeat", "gold"))


@given(answered(), PROBES, st.sets(st.integers(0, 3), max_size=2))
def test_agreement_is_that_of_all_pairs_of_answers(votes, probes, without):
    ratings = ratings_of(votes, probes, without=without)
    wanted = first_answers(votes, probes, without)
    assert ratings.n_pairs == len(wanted)
    both = [pair for said in wanted.values() for pair in combinations(said.values(), 2)]
    assert ratings.agreement() == Share.of(sum(x == y for x, y in both), len(both))
    others, same = ratings.with_others()
    for voter in range(4):
        own = ratings.voter == voter
        held = [
            (said[voter], other) for said in wanted.values() if voter in said for v, other in said.items() if v != voter
        ]
        assert (others[own].sum(), same[own].sum()) == (len(held), sum(x == y for x, y in held))


@given(answered(), PROBES)
def test_alpha_is_that_of_the_pairs_in_both_orders(votes, probes):
    found = ratings_of(votes, probes).alpha()
    wanted = first_answers(votes, probes, ())
    units = [sign * np.array(list(said.values())) for said in wanted.values() for sign in (1, -1)]
    if not any(unit.any() for unit in units):
        assert found is None
        return
    matrix = np.full((4, len(units)), np.nan)
    for at, unit in enumerate(units):
        matrix[: unit.size, at] = unit
    assert_allclose(found, krippendorff.alpha(matrix, level_of_measurement="interval"), atol=1e-12)


@given(answered(), PROBES)
def test_it_does_not_matter_which_item_stands_left(votes, probes):
    swapped = [
        Answers(**{**vars(part), "left": part.right, "right": part.left, "answer": opposite(part.answer)})
        for part in (votes, probes)
    ]
    found, wanted = ratings_of(*swapped), ratings_of(votes, probes)
    assert found.agreement() == wanted.agreement()
    assert found.alpha() == wanted.alpha()


def opposite(answer):
    return np.where(answer == CANNOT_SAY, answer, -answer)


@given(answered(), PROBES)
def test_a_repeat_is_held_against_the_same_voters_answer(votes, probes):
    voters, same = consistency(votes, probes)
    wanted = []
    for at in np.flatnonzero(probes.kind == "repeat").tolist():
        own = np.flatnonzero((votes.ballot == probes.ballot[at]) & (votes.place == probes.repeats[at])).tolist()
        if (
            own
            and votes.voter[own[0]] == probes.voter[at]
            and CANNOT_SAY not in (votes.answer[own[0]], probes.answer[at])
        ):
            wanted.append((int(probes.voter[at]), bool(probes.answer[at] == -votes.answer[own[0]])))
    assert list(zip(voters.tolist(), same.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(("second", "alpha"), [([1, -1, 0, 1], 1.0), ([-1, 1, 0, -1], None)])
def test_alpha_of_agreement_and_of_its_opposite(second, alpha):
    first = [1, -1, 0, 1]
    pair = np.repeat(np.arange(4), 2)
    found = Ratings(pair, np.tile([7, 8], 4), np.array([first, second]).T.ravel()).alpha()
    assert found == alpha if alpha is not None else found < 0
