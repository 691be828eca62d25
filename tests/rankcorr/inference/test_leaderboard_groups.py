"""Groups of a leaderboard end where a leader can be told apart, although it was found by looking at the same data."""

import math
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import Ranking, Tau, TauW, UndefinedCorrelationWarning
from rankcorr.inference._gold_sets import align_systems, name_systems, read_gold_sets
from rankcorr.inference._joint_test import JointTest, RankedSystem
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._paired import compare_systems
from rankcorr.inference._resampling import Draws
from tests import naive
from tests.rankcorr.inference.cases import data
from tests.results import collapsed


@pytest.mark.needs_numba
@given(st.integers(0, 1_000))
def test_possible_ranks_and_groups_are_those_of_all_pairs(seed):
    gold, systems = data(sizes=(40,), seed=seed, noise={"a": 0.1, "b": 0.4, "c": 1.0, "d": 8.0})
    board = leaderboard(gold["set 0"], systems, n_resamples=300, seed=seed)
    ranks = [(row.least_rank, row.largest_rank) for row in board.rows]
    assert ranks[0][0] == 1
    assert all(least <= place <= largest for place, (least, largest) in enumerate(ranks, start=1))
    assert all(row.least_rank >= row.group for row in board.rows)
    # The best is surely better than those whose corrected p-value says so.
    assert ranks[0][1] == 4 - sum(row.corrected_pvalue <= 0.05 for row in board.rows[1:])


def test_two_systems_have_the_ranks_of_their_paired_test():
    gold, systems = data(sizes=(60,), noise={"good": 0.1, "poor": 9.0})
    rows = leaderboard(gold["set 0"], systems, coefficient="tau", n_resamples=300).rows
    assert [(row.least_rank, row.largest_rank) for row in rows] == [(1, 1), (2, 2)]
    rows = leaderboard(gold["set 0"], {"one": systems["good"], "same": systems["good"]}, n_resamples=100).rows
    assert [(row.least_rank, row.largest_rank) for row in rows] == [(1, 2), (1, 2)]


@pytest.mark.wide
@pytest.mark.wide
@pytest.mark.needs_numba
def test_groups_of_systems_that_cannot_be_told_apart():
    gold, systems = data(sizes=(150, 150), noise={"good": 0.2, "as good": 0.2, "fair": 1.0, "as fair": 1.0, "poor": 9})
    board = leaderboard(gold, systems, coefficient="tau", n_resamples=999)
    groups = {row.system: row.group for row in board.rows}
    assert groups == {"good": 1, "as good": 1, "fair": 2, "as fair": 2, "poor": 3}
    for row in board.rows[1:]:
        assert (row.corrected_pvalue >= 0.05) == (row.group == 1)


@pytest.mark.needs_numba
def test_a_leader_that_is_worse_over_shared_items_is_not_told_apart():
    rng = np.random.default_rng(0)
    gold = {f"i{item}": float(item) for item in range(400)}
    # Both rank the even items; "all" does so better, but knows nothing of the odd ones, which "even" leaves out.
    even = {label: value + 60 * rng.normal() for label, value in gold.items() if value % 2 == 0}
    both = {label: value + 30 * rng.normal() if label in even else 400 * rng.random() for label, value in gold.items()}
    options = {"coefficient": "tau", "missing": "intersection", "n_resamples": 999}
    board = leaderboard(gold, {"all": both, "even": even}, **collapsed(**options))
    assert [(row.system, row.group) for row in board.rows] == [("even", 1), ("all", 1)]
    assert board.rows[1].corrected_pvalue < 0.01
    assert compare_systems(gold, even, both, **collapsed(**options)).high < 0
    # The same two below a better one, which the second group's leader is told apart from.
    board = leaderboard(gold, {"gold": gold, "all": both, "even": even}, **collapsed(**options))
    assert [(row.system, row.group) for row in board.rows] == [("gold", 1), ("even", 2), ("all", 2)]


def joint_test(gold, systems, coefficient, n_resamples=500, missing="raise"):
    """Systems in the order given, which is that of their sums."""
    sets = read_gold_sets(gold)
    entries = align_systems(sets, name_systems(systems), missing)
    totals = [sum(float(coefficient(each.gold, each.system)) for each in row) for row in entries]
    ranked_systems = [RankedSystem(*each) for each in zip(systems, entries, totals, strict=True)]
    return JointTest(coefficient, sets, ranked_systems, Draws(n_resamples, 1))


@pytest.mark.needs_numba
def test_corrected_p_values_are_those_of_the_largest_difference():
    gold, systems = data(sizes=(40,), noise={"a": 0.5, "b": 1.0, "c": 2.0})
    test = joint_test(gold, systems, Tau())
    exchange = test._exchange_all(read_gold_sets(gold)["set 0"], 0)
    totals = [system.total for system in test._systems]
    distances, sure = np.sqrt(exchange.distances()), np.sqrt(exchange.lower_distances())
    typical = math.sqrt((distances**2).sum() / 6)
    pairs = list(combinations(range(3), 2))
    scaled = [(totals[one] - totals[other]) * min(1, typical / sure[one, other]) for one, other in pairs]
    drawn = exchange.draw_coefficients(np.random.default_rng(5), 20_000)
    differences = [np.abs(scale[:, [0, 0, 1]] - scale[:, [1, 2, 2]]) for scale in drawn]
    expected = np.max([naive.step_down(scaled, scale.tolist()) for scale in differences], axis=0)
    corrected, leads = test._jointly()
    for pair, pvalue in zip(pairs, expected, strict=True):
        assert abs(corrected[pair] - pvalue) < 4 * math.sqrt(pvalue * (1 - pvalue) / 500) + 1 / 500
        assert leads[pair] == totals[pair[0]] - totals[pair[1]]


@pytest.mark.needs_numba
def test_who_is_told_apart_makes_room_for_the_others():
    gold, systems = data(sizes=(60,), noise={"a": 0.2, "b": 0.5, "c": 9.0}, seed=2)
    board = leaderboard(gold, systems, coefficient="tau", n_resamples=999)
    alone = leaderboard(gold, {name: systems[name] for name in "ab"}, coefficient="tau", n_resamples=999)
    last = board.rows[-1]
    assert (last.system, last.corrected_pvalue) == ("c", 0.005)  # the least p-value of 199 exchanges
    # One pair is left, and its correction costs little.
    assert alone.rows[1].corrected_pvalue <= board.rows[1].corrected_pvalue + 0.02


def test_systems_that_lack_items_exchange_those_that_both_have():
    gold, systems = data(sizes=(30,))
    del systems["fair"]["0-3"], systems["alike"]["0-5"]
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        test = joint_test(gold, systems, TauW(), missing="intersection")
    exchange = test._exchange_all(read_gold_sets(gold)["set 0"], 0)
    assert exchange.present.sum(axis=1).tolist() == [30, 29, 29, 30]
    totals = [system.total for system in test._systems]
    assert exchange.observed() == pytest.approx(totals, abs=1e-12)
    assert np.isfinite(test.run(0.95).corrected[0, 1:]).all()


@pytest.mark.wide
@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("coefficient", "n_systems", "share", "n_boards"),
    [
        ("tau_w", 5, 0.999, 100),
        pytest.param("tau", 20, 0.0, 200, marks=pytest.mark.figures),
        pytest.param("tau", 20, 0.99, 200, marks=pytest.mark.figures),
        pytest.param("rho_w", 20, 0.999, 200, marks=pytest.mark.figures),
    ],
)
def test_equally_good_systems_are_told_apart_in_no_more_than_one_of_twenty_boards(
    coefficient, n_systems, share, n_boards
):
    wrong = 0
    for seed in range(n_boards):
        rng = np.random.default_rng([6, seed])
        gold, shared, *own = rng.normal(size=(2 + n_systems, 50))
        alike = (gold + math.sqrt(share) * shared + math.sqrt(1 - share) * each for each in own)
        systems = dict(zip(map(str, range(n_systems)), alike, strict=True))
        board = leaderboard(gold, systems, coefficient=coefficient, n_resamples=299, seed=seed, workers=1)
        wrong += board.rows[-1].group > 1
    # A binomial count with p = 0.05 exceeds this with probability 0.001.
    assert wrong <= n_boards * 0.05 + 3.1 * math.sqrt(n_boards * 0.05 * 0.95)


@pytest.mark.needs_numba
def test_another_system_does_not_decide_what_two_exchange():
    rng = np.random.default_rng(1)
    gold = rng.normal(size=60)
    systems = {name: gold + noise * rng.normal(size=60) for name, noise in (("a", 0.9), ("b", 1.1), ("c", 1.4))}
    boards = [leaderboard(gold, systems | {"c": 100 * systems["c"]}, n_resamples=300)]
    boards += [leaderboard(gold, systems, n_resamples=300), leaderboard(gold, systems, n_resamples=300, seed=5)]
    boards.append(leaderboard(gold, systems | {"c": Ranking.from_ranks(-systems["c"])}, n_resamples=300))
    rows = [next(row for row in board.rows if row.system == "b") for board in boards]
    assert {row.swap for row in rows} == {"scores"}
    assert rows[0].pvalue == rows[1].pvalue == rows[3].pvalue
    assert [board.swap for board in boards[:2]] == ["ranks", "scores"]
    assert [board.rows[-1].swap for board in (boards[0], boards[3])] == ["ranks", "ranks"]
    assert boards[0].rows[0].swap is None


def test_the_seed_does_not_decide_what_is_exchanged():
    rng = np.random.default_rng(28)
    gold = rng.normal(size=100)
    one, other = gold + 0.5 * rng.normal(size=100), gold + 1.2 * rng.normal(size=100)
    results = [compare_systems(gold, one, other, n_resamples=500, seed=seed) for seed in range(6)]
    assert len({result.swap for result in results}) == 1
    assert max(result.pvalue for result in results) - min(result.pvalue for result in results) < 0.1
