"""Holm's correction, the step-down over all pairs, and the groups and ranks that follow from it."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import DimensionError, NonNumericError, OptionError
from rankcorr.inference import _multiple_tests
from rankcorr.inference._multiple_tests import holm, judge_pairs, step_down
from tests import naive

LEVELS = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])


@given(st.data(), st.booleans(), st.sampled_from([1, 2, 256]))
def test_a_pair_is_corrected_for_those_that_are_no_larger(data, is_exact, most_pairs):
    n_pairs, n_draws = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    statistics = data.draw(st.lists(LEVELS, min_size=n_pairs, max_size=n_pairs))
    scales = data.draw(
        st.lists(
            st.lists(st.lists(LEVELS, min_size=n_pairs, max_size=n_pairs), min_size=n_draws, max_size=n_draws),
            min_size=1,
            max_size=2,
        )
    )
    drawn = np.array(scales)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_multiple_tests, "MOST_PAIRS", most_pairs)
        pvalues = step_down(np.array(statistics), lambda pairs: drawn[:, :, pairs], is_exact=is_exact)
    if len(scales) == 1:
        assert_allclose(pvalues, naive.step_down(statistics, scales[0], is_exact), rtol=0, atol=1e-15)
    alone = np.array([naive.step_down(statistics, scale, is_exact) for scale in scales])
    assert np.all(pvalues >= alone.max(axis=0) - 1e-15)
    order = np.argsort(statistics, kind="stable")
    assert np.all(np.diff(pvalues[order]) <= 0)


def test_undefined_exchanges_count_against_a_difference():
    drawn = np.array([[[0.0, math.nan], [0.0, 0.0], [0.0, 0.0]]])
    assert_array_equal(step_down(np.array([math.nan, 1.0]), lambda pairs: drawn[:, :, pairs]), [1.0, 0.5])


@st.composite
def boards(draw):
    """P-values and leads of systems from best to worst."""
    number = draw(st.integers(0, 6))
    totals = sorted(draw(st.lists(LEVELS, min_size=number, max_size=number)), reverse=True)
    leads = np.subtract.outer(np.array(totals), np.array(totals))
    corrected = np.full((number, number), math.nan)
    for pair in combinations(range(number), 2):
        corrected[pair] = corrected[pair[::-1]] = draw(st.sampled_from([0.01, 0.05, 0.2, 1.0, math.nan]))
    return corrected, leads


@given(boards())
def test_groups_and_ranks_agree(board):
    corrected, leads = board
    standings = judge_pairs(corrected[0] if len(corrected) else np.empty(0), corrected, leads, 0.95)
    better = ((corrected <= 0.05) & (leads > 0)).tolist()
    ranks = list(zip(standings.least_ranks, standings.largest_ranks, strict=True))
    assert ranks == naive.possible_ranks(better)
    assert standings.groups == naive.groups(better)
    for system, ((least, largest), group) in enumerate(zip(ranks, standings.groups, strict=True)):
        assert group <= least <= system + 1 <= largest
        if standings.groups.index(group) == system:  # the first of its group is better than all later ones
            assert largest <= sum(other <= group for other in standings.groups)
        rows = standings.row_fields(np.array([1.0] * len(ranks)))
        assert (rows[system]["group"], rows[system]["least_rank"]) == (group, least)


def test_a_group_goes_on_while_one_of_those_below_may_be_as_good():
    corrected = np.full((4, 4), 0.01)
    corrected[0, 3] = corrected[3, 0] = 0.3
    leads = np.subtract.outer(np.arange(4.0), np.arange(4.0)).T
    standings = judge_pairs(corrected[0], corrected, leads, 0.95)
    assert standings.groups == [1, 1, 1, 1]
    assert standings.least_ranks == [1, 2, 3, 3]
    corrected[0, 3] = corrected[3, 0] = 0.05
    assert judge_pairs(corrected[0], corrected, leads, 0.95).groups == [1, 2, 3, 4]


PVALUES = st.lists(st.one_of(st.just(float("nan")), st.sampled_from([0.0, 0.01, 0.02, 1.0]), st.floats(0, 1)))


def naive_holm(pvalues):
    """Holm's definition: a hypothesis falls at alpha if it and all smaller ones pass alpha / (m - j + 1)."""
    existing = sorted(p for p in pvalues if p == p)  # noqa: PLR0124 - nan differs from itself
    m = len(existing)
    corrected = []
    for p in pvalues:
        if p != p:  # noqa: PLR0124
            corrected.append(float("nan"))
        else:
            smaller = existing[: existing.index(p) + 1]
            corrected.append(min(1.0, max((m - j) * other for j, other in enumerate(smaller))))
    return corrected


@given(PVALUES)
def test_the_definition(pvalues):
    assert_allclose(holm(pvalues), naive_holm(pvalues), rtol=1e-15)


def test_the_textbook_example():
    # m = 4: 0.005 * 4, 0.01 * 3, 0.03 * 2, and 0.04 * 1 raised to the one before.
    assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02], rtol=1e-15)


def test_one_p_value_and_no_p_values():
    assert_array_equal(holm([0.2]), [0.2])
    assert holm([]).shape == (0,)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("inf")])
def test_invalid_p_values(wrong):
    with pytest.raises(OptionError, match=r"between 0 and 1, or nan; pvalues\[1\] is"):
        holm([0.5, wrong])


def test_invalid_lists_of_p_values():
    with pytest.raises(DimensionError, match=r"one dimension; got an array of shape \(1, 2\)"):
        holm([[0.1, 0.2]])
    with pytest.raises(DimensionError, match="one dimension; their rows differ in length"):
        holm([[0.1, 0.2], [0.1]])
    with pytest.raises(NonNumericError, match="must be a real number; got an array of"):
        holm(["0.1", "0.2"])
    with pytest.raises(NonNumericError, match="must be a real number; got an array of bool"):
        holm([True, False])
