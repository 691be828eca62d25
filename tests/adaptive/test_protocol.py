"""Whole protocols against section 2.6 of the paper in fractions, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive._plan import plan_ballots
from adaptive._protocol import ballot_rng, run_protocol
from adaptive._scores import Selection, select_top
from adaptive._votes import UNANSWERED
from adaptive.errors import DrawError, ProtocolError, VoteError
from rankcorr import Ranking, RankingError
from tests.adaptive import naive
from tests.adaptive.ballots import PLAN, PLANS, SEEDS, check_record, run_and_watch, spelt_out


@given(PLANS, SEEDS)
def test_a_protocol_is_that_of_the_paper(plan, seed):
    result, seen = run_and_watch(plan, seed)
    expected = naive.protocol([spelt_out(ballot, answers) for ballot, answers in seen])
    final = {}
    for record, wanted, (ballot, _) in zip(result.ballots, expected, seen, strict=True):
        assert record.items == ballot.items
        check_record(record, wanted)
        final |= wanted[-1]
    assert_allclose(result.ybar, [float(final[item]) for item in range(plan.n_items)], rtol=1e-9, atol=1e-12)
    assert result.ranking == Ranking.from_scores(result.ybar, labels=range(plan.n_items))


@given(PLANS, SEEDS)
def test_each_ballot_has_the_best_items_of_the_one_before(plan, seed):
    result, seen = run_and_watch(plan, seed)
    assert [len(record.items) for record in result.ballots] == list(plan.sizes)
    expected = naive.protocol([spelt_out(ballot, answers) for ballot, answers in seen])
    for record, following, (*_, ybar) in zip(result.ballots, result.ballots[1:], expected, strict=False):
        left_out = set(record.items) - set(following.items)
        assert left_out < set(record.items)
        kept = [float(ybar[item]) for item in following.items]
        assert_allclose(kept, sorted(kept, reverse=True), atol=1e-12)
        assert min(kept) >= max((float(ybar[item]) for item in left_out), default=-np.inf) - 1e-12
        assert record.n_tied_at_cut == naive.n_tied_at_cut(record.ybar.tolist(), len(following.items))
    assert result.ballots[-1].n_tied_at_cut == 0


@given(PLANS, SEEDS)
def test_the_same_generator_gives_the_same_result_whatever_the_labels(plan, seed):
    first, _ = run_and_watch(plan, seed)
    again, _ = run_and_watch(plan, seed, items=[f"item {i}" for i in range(plan.n_items)])
    assert_array_equal(first.ybar, again.ybar)
    assert again.ranking.labels == tuple(f"item {i}" for i in range(plan.n_items))


@given(PLANS, SEEDS)
def test_the_published_variants_plug_in(plan, seed):
    """Section 9 of the specification, 3 and 4: ballot 1 is left out of the mean, and x^(k) alone selects."""

    def select_by_x(scores, n_selected, rng):
        return select_top(scores.x, n_selected, rng)

    def mean_without_ballot_1(previous_mean, y, k):
        return y if k == 2 else ((k - 2) * previous_mean + y) / (k - 1)

    result, _ = run_and_watch(plan, seed, select=select_by_x, average=mean_without_ballot_1)
    history = {}
    for record, following in zip(result.ballots, [*result.ballots[1:], None], strict=True):
        for item, x, y, ybar in zip(record.items, record.x, record.y, record.ybar, strict=True):
            history.setdefault(item, []).append(y)
            later = history[item][1:] or history[item]
            assert_allclose(ybar, sum(later) / len(later), atol=1e-12)
            if following is not None and item not in following.items:
                assert x <= min(x for i, x in zip(record.items, record.x, strict=True) if i in following.items)


def test_better_items_rank_better():
    plan = plan_ballots(60, n_ballots=4, fraction=0.5, presentations=20)

    def smaller_wins(ballot):
        items = np.array(ballot.items)
        return np.sign(items[ballot.right] - items[ballot.left])

    result = run_protocol(plan, smaller_wins, items=60, rng=np.random.default_rng(0))
    assert result.last_ballot[:5].tolist() == [4] * 5
    assert np.abs(result.ranking.ranks - np.arange(1, 61)).max() < 15


def test_the_answers_are_checked():
    with pytest.raises(VoteError, match="need as many answers"):
        run_protocol(PLAN, lambda _: [1], items=8, rng=np.random.default_rng(0))
    with pytest.raises(VoteError, match="every item needs an answered comparison"):
        run_protocol(PLAN, lambda b: [UNANSWERED] * b.n_comparisons, items=8, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (9, "the plan is for 8 items; got 9"),
        (-1, "items must be from 0 to [0-9]+ in number; got -1"),
        (2**31, "items must be from 0 to [0-9]+ in number; got 2147483648"),
        (True, "items must be a number or a list of labels; got True"),
        ("abcdefgh", "items must be a number or a list of labels; got 'abcdefgh'"),
        ({"a": 1}, "items must be a number or a list of labels; got {'a': 1}"),
        (["a", "b", "a", *"cdefg"], "items must be unique; more than once: 'a'"),
        ([["a"], *"bcdefgh"], "items must be hashable"),
    ],
)
def test_items_that_are_not_those_of_the_plan(items, message):
    with pytest.raises(ProtocolError, match=message):
        run_and_watch(PLAN, 0, items=items)


@pytest.mark.parametrize("items", [8, np.int64(8), range(8), np.arange(8), list(range(8))])
def test_items_by_number(items):
    result, _ = run_and_watch(PLAN, 0, items=items)
    assert list(result.items) == list(range(8))


def test_no_voters():
    with pytest.raises(DrawError, match="voters must be an integer of at least 1; got 0"):
        run_and_watch(PLAN, 0, voters=0)


@pytest.mark.parametrize("chosen", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 8], [-1, 0, 1, 2], [0.0, 1.0, 2.0, 3.0]])
def test_a_selection_must_be_so_many_items_of_the_ballot(chosen):
    with pytest.raises(ProtocolError, match="select must return 4 different indices below 8; got"):
        run_and_watch(PLAN, 0, select=lambda _scores, _n_selected, _rng: Selection(np.array(chosen), 0))


@pytest.mark.parametrize(("use", "place"), [("draw", 0), ("cut", 1)])
@given(seed=st.integers(0, 2**70), number=st.integers(1, 10_000))
def test_each_ballot_has_random_numbers_of_its_own(use, place, seed, number):
    """The streams that numpy spawns: child `number` of the seed, and its child 0 or 1."""
    child = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2)[place]
    expected = np.random.default_rng(child).integers(2**63, size=4)
    assert_array_equal(ballot_rng(seed, number, use).integers(2**63, size=4), expected)


@pytest.mark.parametrize("seed", [-1, 0.5, True, "1"])
def test_random_numbers_need_a_seed(seed):
    with pytest.raises(ProtocolError, match="seed must be a whole number, not negative; got"):
        ballot_rng(seed, 1, "draw")


def test_random_numbers_are_for_the_draw_or_the_cut():
    with pytest.raises(RankingError, match="use must be one of 'draw', 'cut', 'probe'; got 'ties'"):
        ballot_rng(1, 1, "ties")
