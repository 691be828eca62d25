"""Groups of a leaderboard end where a leader can be told apart, and tests of it end as soon as that is known."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankcorr import Tau, TauW
from rankcorr.inference import resampling
from rankcorr.inference.comparison import compare_systems
from rankcorr.inference.leaderboard import leaderboard
from rankcorr.inference.leaderboard_groups import PairedTests, groups_of
from tests.coefficients import collapsed
from tests.rankcorr.inference.cases import data


@pytest.mark.needs_numba
def test_groups_of_systems_that_cannot_be_told_apart():
    gold, systems = data(sizes=(150, 150), noise={"good": 0.2, "as good": 0.2, "fair": 1.0, "as fair": 1.0, "poor": 9})
    board = leaderboard(gold, systems, coefficient="tau", n_resamples=999)
    groups = {row.system: row.group for row in board.rows}
    assert groups == {"good": 1, "as good": 1, "fair": 2, "as fair": 2, "poor": 3}
    for row in board.rows[1:]:
        assert (row.corrected_pvalue >= 0.05) == (row.group == 1)


class KnownTests:
    """Stands in for tests with known p-values: systems are numbers, far ones are told apart."""

    def __init__(self):
        self.asked = []

    def leads(self, leader, other):
        return leader <= other  # the best is 0

    def told_apart(self, leader, other, alpha):
        self.asked.append((leader, other, alpha))
        return abs(leader - other) > 5


def test_a_group_ends_where_its_leader_can_be_told_apart():
    tests, systems = KnownTests(), [0, 1, 6, 7, 3, 20, 21]
    corrected = np.array([np.nan, 0.05, 0.04, 0.01, 0.9, 0.01, 0.01])
    # The second: 0.05 is not below 1 - 0.95. The third starts a group; the fifth is in it, though the best cannot be
    # told from it: groups are runs.
    assert groups_of(tests, systems, corrected, 0.95) == [1, 1, 2, 2, 2, 3, 3]
    assert [(leader, other) for leader, other, _ in tests.asked] == [(6, 7), (6, 3), (6, 20), (20, 21)]
    # Bonferroni over the systems below a leader.
    assert_allclose([alpha for *_, alpha in tests.asked], [0.05 / 4, 0.05 / 4, 0.05 / 4, 0.05 / 1], rtol=1e-12)


@pytest.mark.needs_numba
def test_a_leader_that_is_worse_over_shared_items_is_not_told_apart():
    rng = np.random.default_rng(0)
    gold = {f"i{item}": float(item) for item in range(200)}
    # Both rank the even items; "all" does so better, but knows nothing of the odd ones, which "even" leaves out.
    even = {label: value + 30 * rng.normal() for label, value in gold.items() if value % 2 == 0}
    both = {label: value + 15 * rng.normal() if label in even else 200 * rng.random() for label, value in gold.items()}
    options = {"coefficient": "tau", "missing": "intersection", "n_resamples": 999}
    board = leaderboard(gold, {"all": both, "even": even}, **collapsed(**options))
    assert [(row.system, row.group) for row in board.rows] == [("even", 1), ("all", 1)]
    assert board.rows[1].corrected_pvalue < 0.01
    assert compare_systems(gold, even, both, **collapsed(**options)).high < 0
    # The same two below a better one, which the second group's leader is told apart from.
    board = leaderboard(gold, {"gold": gold, "all": both, "even": even}, **collapsed(**options))
    assert [(row.system, row.group) for row in board.rows] == [("gold", 1), ("even", 2), ("all", 2)]


@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("coefficient", "n_systems", "documented", "n_documented"),
    [  # the docstring's shares, and of how many boards they are
        ("tau", 2, 0.05, 400),
        pytest.param("tau", 5, 0.08, 300, marks=pytest.mark.figures),
        pytest.param("tau", 20, 0.17, 200, marks=pytest.mark.figures),
        pytest.param("tau_w", 20, 0.04, 200, marks=pytest.mark.figures),
    ],
)
def test_the_documented_share_of_boards_with_a_system_wrongly_told_apart(
    coefficient, n_systems, documented, n_documented
):
    n_boards, wrong = 100, 0
    for seed in range(n_boards):
        rng = np.random.default_rng([6, seed])
        gold = rng.normal(size=50)
        systems = {str(number): gold + rng.normal(size=50) for number in range(n_systems)}
        board = leaderboard(gold, systems, coefficient=coefficient, n_resamples=499, seed=seed, workers=1)
        wrong += min(row.corrected_pvalue for row in board.rows[1:]) < 0.05
    error = math.sqrt(documented * (1 - documented) * (1 / n_boards + 1 / n_documented))
    assert abs(wrong / n_boards - documented) < 3 * error


def entries_of(gold, systems):
    from rankcorr.inference.gold_sets import entered, gold_sets_of, systems_of

    return entered(gold_sets_of(gold), systems_of(systems), "raise")


@pytest.mark.needs_numba
@pytest.mark.parametrize("factor", [0.02, 0.9, 1.1])
def test_a_test_that_ends_early_decides_as_the_whole_one(factor, monkeypatch):
    monkeypatch.setattr(resampling, "BLOCK_NUMBERS", 64)  # blocks of 8 swaps, so that there is something to leave out
    gold, systems = data()
    done = []
    tests = PairedTests(TauW(), 500, seed=1, workers=2, progress=done.append)
    best, *others = entries_of(gold, systems)
    for other in others:
        pvalue = tests.pvalues(best, [other])[0]
        assert tests.told_apart(best, other, factor * pvalue) == (factor > 1)
    assert len(done) > 100


def test_an_exact_test_decides_too():
    gold, systems = data(sizes=(8,))
    tests = PairedTests(Tau(), 100, seed=1, workers=1, progress=None)
    good, *_, poor = entries_of(gold, systems)
    pvalue = tests.pvalues(good, [poor])[0]
    assert tests.told_apart(good, poor, pvalue + 1e-9)
    assert not tests.told_apart(good, poor, pvalue)
