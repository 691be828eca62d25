"""Agreement between voters and with themselves, against loops over pairs of answers and another package."""

from itertools import combinations

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.stats import binomtest, norm

from adaptive.ledger._reports.agreement import NOTHING, Answers, Ratings, Share, consistency, ratings_of
from adaptive.ledger._store.schema import CANNOT_SAY


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
    ratings = ratings_of(votes, probes, excluded=without)
    wanted = first_answers(votes, probes, without)
    assert ratings.n_pairs == len(wanted)
    both = [pair for said in wanted.values() for pair in combinations(said.values(), 2)]
    assert ratings.agreement() == Share.of(sum(x == y for x, y in both), len(both))
    others, same = ratings.with_others()
    for voter in range(4):
        own = ratings.voter == voter
        told = [(said[voter], v, other) for said in wanted.values() if voter in said for v, other in said.items()]
        held = [(own_answer, other) for own_answer, v, other in told if v != voter]
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


def interval_of(values, weights, level):
    """Where the score test of a mean of values between 0 and 1 stops rejecting, with the variance at its maximum."""
    mean = sum(w * v for v, w in zip(values, weights, strict=True)) / sum(weights)
    n = sum(weights) ** 2 / sum(w * w for w in weights)
    z = norm.ppf((1 + level) / 2)

    def excess(p):
        return (mean - p) ** 2 - z * z * p * (1 - p) / n

    off = 1e-12  # a mean of 0 or 1 is a root itself, and not the one that is expected
    low = brentq(excess, 0, mean - off, xtol=1e-14) if mean > 0 else 0.0
    high = brentq(excess, mean + off, 1, xtol=1e-14) if mean < 1 else 1.0
    return low, high


@given(answered(), PROBES, st.sampled_from([0.5, 0.9, 0.99]))
def test_intervals_are_where_the_score_test_stops_rejecting(votes, probes, level):
    ratings = ratings_of(votes, probes)
    units = [list(said.values()) for said in first_answers(votes, probes, ()).values()]
    couples = [list(combinations(unit, 2)) for unit in units]
    if not units:
        assert ratings.agreement_interval(level) is None
        return
    same = [np.mean([x == y for x, y in each]) for each in couples]
    wanted = interval_of(same, [len(each) for each in couples], level)
    assert_allclose(ratings.agreement_interval(level), wanted, atol=1e-9)
    decided = [sum(x != 0 for x in unit) for unit in units]
    if not any(decided):
        assert ratings.alpha_interval(level) is None
        return
    # Two answers differ by at most 2; (x - y)^2 is averaged over the couples of a pair, for each answer that is no tie.
    alike = [
        1 - len(unit) * np.mean([(x - y) ** 2 for x, y in each]) / (4 * n) if n else 0
        for unit, each, n in zip(units, couples, decided, strict=True)
    ]
    n = sum(map(len, units))
    wanted = [1 - (2 * n - 1) / n * (1 - end) for end in interval_of(alike, decided, level)]
    assert_allclose(ratings.alpha_interval(level), wanted, atol=1e-9)
    low, high = ratings.alpha_interval(level)
    assert low <= ratings.alpha() <= high


def test_the_interval_of_two_answers_a_pair_is_wilsons():
    same = np.arange(30) < 23
    said = np.stack([np.ones(30, int), np.where(same, 1, -1)], axis=1)
    ratings = Ratings(np.repeat(np.arange(30), 2), np.tile([7, 8], 30), said.ravel())
    wanted = binomtest(23, 30).proportion_ci(0.9, "wilson")
    assert_allclose(ratings.agreement_interval(0.9), wanted, atol=1e-12)
    # Without ties alpha is 1 - (2n - 1)/n (1 - agreement), of n = 60 answers.
    assert_allclose(ratings.alpha_interval(0.9), [1 - 119 / 60 * (1 - end) for end in wanted], atol=1e-12)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Pairs differ in difficulty, and two to four voters answer each; one in ten answers is a tie."""
    rng = np.random.default_rng(5)
    n_pairs, n_times = 20, 600

    def drawn(n):
        sizes = rng.integers(2, 5, n)
        share = np.repeat(rng.beta(0.8, 0.8, n), sizes)
        said = np.where(rng.random(share.size) < share, 1, -1)
        said[rng.random(said.size) < 0.1] = 0
        return Ratings(np.repeat(np.arange(n), sizes), np.arange(said.size), said)

    truth = drawn(300_000)
    wanted = {"agreement": truth.agreement().share, "alpha": truth.alpha()}
    times = [drawn(n_pairs) for _ in range(n_times)]
    for name, value in wanted.items():
        ends = np.array([getattr(each, f"{name}_interval")(0.9) for each in times])
        held = np.mean((ends[:, 0] <= value) & (value <= ends[:, 1]))
        assert 0.9 - 3 * np.sqrt(0.09 / n_times) <= held
