"""Whole protocols against section 2.6 of the paper in fractions, and errors."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import BallotVotes, plan_ballots, score_ballots
from adaptive._draw import draw_ballot
from adaptive._protocol import ballot_rng, run_protocol
from adaptive._scores import Selection, select_top
from adaptive._votes import LEFT, TIE, UNANSWERED
from adaptive.errors import ProtocolError, VoteError
from rankcorr import Ranking, RankingError
from tests.adaptive import naive
from tests.adaptive.strategies import PLAN, PLANS, SEEDS, Voting, answers_to, check_record, naive_ballot, run_and_watch


@given(PLANS, SEEDS)
def test_a_protocol_is_that_of_the_paper(plan, seed):
    result, answered_ballots = run_and_watch(plan, seed)
    expected = naive.protocol([naive_ballot(ballot, answers) for ballot, answers in answered_ballots])
    final = {}
    for record, expected_record, (ballot, _) in zip(result.ballots, expected, answered_ballots, strict=True):
        assert record.items == ballot.items
        check_record(record, expected_record)
        final |= expected_record[-1]
    assert_allclose(result.ybar, [float(final[item]) for item in range(plan.n_items)], rtol=1e-9, atol=1e-12)
    assert result.ranking == Ranking.from_scores(result.ybar, labels=range(plan.n_items))


@given(PLANS, SEEDS)
def test_each_ballot_has_the_best_items_of_the_previous_one(plan, seed):
    result, answered_ballots = run_and_watch(plan, seed)
    assert [len(record.items) for record in result.ballots] == list(plan.sizes)
    expected = naive.protocol([naive_ballot(ballot, answers) for ballot, answers in answered_ballots])
    for record, following, (*_, ybar) in zip(result.ballots, result.ballots[1:], expected, strict=False):
        left_out = set(record.items) - set(following.items)
        assert left_out < set(record.items)
        kept_means = [float(ybar[item]) for item in following.items]
        assert_allclose(kept_means, sorted(kept_means, reverse=True), atol=1e-12)
        assert min(kept_means) >= max((float(ybar[item]) for item in left_out), default=-np.inf) - 1e-12
        assert record.n_tied_at_cut == naive.n_tied_at_cut(record.ybar.tolist(), len(following.items))
    assert result.ballots[-1].n_tied_at_cut == 0


@given(PLANS, SEEDS)
def test_the_same_generator_gives_the_same_result_whatever_the_labels(plan, seed):
    first, _ = run_and_watch(plan, seed)
    again, _ = run_and_watch(plan, seed, items=[f"item {i}" for i in range(plan.n_items)])
    assert_array_equal(first.ybar, again.ybar)
    assert again.ranking.labels == tuple(f"item {i}" for i in range(plan.n_items))


@given(PLANS, SEEDS)
def test_the_published_variants_can_be_plugged_in(plan, seed):
    """Section 9 of the specification, 3 and 4: the mean omits ballot 1, and x^(k) alone selects."""

    def select_by_x(scores, n_selected, rng):
        return select_top(scores.x, n_selected, rng)

    def mean_without_ballot_1(previous_mean, y, k):
        return y if k == 2 else ((k - 2) * previous_mean + y) / (k - 1)

    result, _ = run_and_watch(plan, seed, select=select_by_x, average=mean_without_ballot_1)
    history = {}
    for record, following in zip(result.ballots, [*result.ballots[1:], None], strict=True):
        for item, x, y, ybar in zip(record.items, record.x, record.y, record.ybar, strict=True):
            history.setdefault(item, []).append(y)
            counted_scores = history[item][1:] or history[item]
            assert_allclose(ybar, sum(counted_scores) / len(counted_scores), atol=1e-12)
            if following is not None and item not in following.items:
                assert x <= min(x for i, x in zip(record.items, record.x, strict=True) if i in following.items)


def test_the_answers_are_checked():
    with pytest.raises(VoteError, match="need as many answers"):
        run_protocol(PLAN, lambda _: [1], items=8, rng=np.random.default_rng(0))
    with pytest.raises(VoteError, match="answers are masked: write -2 where there is no answer"):
        run_protocol(PLAN, lambda b: np.ma.masked_all(b.n_comparisons, int), items=8, rng=np.random.default_rng(0))
    with pytest.raises(VoteError, match="every item needs an answered comparison"):
        run_protocol(PLAN, lambda b: [UNANSWERED] * b.n_comparisons, items=8, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (9, "the plan is for 8 items; got 9"),
        (-1, "items must be from 0 to [0-9]+ in number; got -1"),
        ("abcdefgh", "items must be a number or a list of labels; got 'abcdefgh'"),
        (["a", "b", "a", *"cdefg"], "items must be unique; more than once: 'a'"),
        ([["a"], *"bcdefgh"], "items must be hashable"),
    ],
)
def test_the_items_must_match_the_plan(items, message):
    with pytest.raises(ProtocolError, match=message):
        run_and_watch(PLAN, 0, items=items)


@pytest.mark.parametrize("items", [8, np.int64(8), range(8), np.arange(8), list(range(8))])
def test_items_may_be_numbers(items):
    result, _ = run_and_watch(PLAN, 0, items=items)
    assert list(result.items) == list(range(8))


@pytest.mark.parametrize("places", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 8], [-1, 0, 1, 2], [0.0, 1.0, 2.0, 3.0]])
def test_a_selection_must_have_the_right_number_of_items_of_the_ballot(places):
    with pytest.raises(ProtocolError, match="select must return 4 different indices below 8; got"):
        run_and_watch(PLAN, 0, select=lambda _scores, _n_selected, _rng: Selection(np.array(places), 0))


@pytest.mark.parametrize(("use", "place"), [("draw", 0), ("cut", 1)])
@given(seed=st.integers(0, 2**70), number=st.integers(1, 10_000))
def test_each_ballot_has_its_own_random_streams(use, place, seed, number):
    """The streams that numpy spawns: child `number` of the seed, and its child 0 or 1."""
    child = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2)[place]
    expected = np.random.default_rng(child).integers(2**63, size=4)
    assert_array_equal(ballot_rng(seed, number, use).integers(2**63, size=4), expected)


@pytest.mark.parametrize("seed", [-1, 0.5, True, "1"])
def test_random_numbers_need_a_seed(seed):
    with pytest.raises(ProtocolError, match="seed must be a whole number of 0 or more; got"):
        ballot_rng(seed, 1, "draw")


def test_random_numbers_are_for_the_draw_or_the_cut():
    with pytest.raises(RankingError, match="use must be one of 'draw', 'cut', 'probe'; got 'ties'"):
        ballot_rng(1, 1, "ties")


REPLAY_PLAN = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
LEFTS, RIGHTS, ANSWERS = ["a", "b", "c", "d"], ["b", "c", "d", "a"], [LEFT, LEFT, TIE, UNANSWERED]


def votes_on(ballot, answers, order):
    """Votes on a ballot, its comparisons in any order."""
    left, right = (np.array(side)[order] for side in (ballot.left, ballot.right))
    return BallotVotes([ballot.items[i] for i in left], [ballot.items[i] for i in right], np.array(answers)[order])


@given(PLANS, SEEDS, st.booleans())
def test_scores_are_those_of_a_protocol_and_of_the_paper(plan, seed, labelled):
    """Equal to the last bit, whatever the order of the comparisons; ties at the cut are common."""
    items = [f"item {number}" for number in range(plan.n_items)] if labelled else plan.n_items
    rng = np.random.default_rng(seed)
    protocol = Voting(plan, items, voters=4, seed=seed)
    collected, naive_ballots = [], []
    while not protocol.is_finished:
        ballot = protocol.open_ballot()
        answers = answers_to(ballot, seed + ballot.n_comparisons)
        words = [vote for *_, vote in naive_ballot(ballot, answers)[1]]
        answered_comparisons = zip(protocol.comparisons(), words, strict=True)
        protocol.record({comparison.id: word for comparison, word in answered_comparisons if word})
        record = protocol.close_ballot()
        collected.append(votes_on(ballot, answers, rng.permutation(ballot.n_comparisons)))
        naive_ballots.append(naive_ballot(ballot, answers))
        interim = score_ballots(plan, collected, items=items, seed=seed)
        last = interim.result.ballots[-1]
        assert last.items == record.items
        for name in ("x", "y", "ybar", "places"):
            assert_array_equal(getattr(last, name), getattr(record, name))
        assert (last.b, last.number, last.n_tied_at_cut) == (record.b, record.number, record.n_tied_at_cut)
    assert interim.next_items is None
    assert interim.result.ranking == protocol.result().ranking
    assert interim.result.to_dict() == protocol.result().to_dict()
    for record, expected in zip(interim.result.ballots, naive.protocol(naive_ballots), strict=True):
        check_record(record, expected)


def test_ties_at_the_cut_are_broken_by_the_seed_and_the_ballot_alone():
    votes = BallotVotes(LEFTS, RIGHTS, [TIE] * 4)
    selections = set()
    for seed in range(30):
        interim = score_ballots(REPLAY_PLAN, [votes], items=["a", "b", "c", "d"], seed=seed)
        assert interim.result.ballots[0].n_tied_at_cut == 4
        expected = ballot_rng(seed, 1, "cut").permutation(4)[:2]
        assert interim.next_items == tuple(LEFTS[place] for place in expected)
        following = BallotVotes(interim.next_items, interim.next_items[::-1], [TIE, TIE])
        second_interim = score_ballots(REPLAY_PLAN, [votes, following], items=["a", "b", "c", "d"], seed=seed)
        assert second_interim.result.ballots[1].items == interim.next_items
        selections.add(frozenset(interim.next_items))
    assert len(selections) == 6


def test_repr_counts_ballots_and_next_items():
    interim = score_ballots(REPLAY_PLAN, [BallotVotes(LEFTS, RIGHTS, ANSWERS)], items=LEFTS, seed=1)
    assert repr(interim) == "<InterimResult of 1 ballots, 2 items in the next one>"
    following = BallotVotes(interim.next_items, interim.next_items[::-1], [LEFT, LEFT])
    finished_interim = score_ballots(REPLAY_PLAN, [BallotVotes(LEFTS, RIGHTS, ANSWERS), following], items=LEFTS, seed=1)
    assert repr(finished_interim) == "<InterimResult of 2 ballots, 0 items in the next one>"


@pytest.mark.parametrize("n_ballots", [0, 3])
def test_the_ballots_must_match_the_plan(n_ballots):
    votes = BallotVotes(LEFTS, RIGHTS, ANSWERS)
    with pytest.raises(ProtocolError, match=rf"from 1 to 2 ballots of the plan can be scored; got {n_ballots}$"):
        score_ballots(REPLAY_PLAN, [votes] * n_ballots, items=LEFTS, seed=1)


@pytest.mark.parametrize(
    ("left", "right", "answers", "message"),
    [
        (LEFTS, RIGHTS[:3], ANSWERS, "ballot 1: 4 items on the left have 3 on the right"),
        (LEFTS[:3], RIGHTS[:3], ANSWERS[:3], r"ballot 1: the plan has 4 comparisons; got 3 \(comparisons without"),
        (["a", "b", "c", "e"], RIGHTS, ANSWERS, "ballot 1: the plan has no such items: 'e'"),
        (["a", "b", "c", "a"], RIGHTS, ANSWERS, "ballot 1: an item cannot meet itself: 'a'"),
        (["a", "b", "a", "d"], RIGHTS, ANSWERS, "ballot 1: each item must be presented 2 times; 'a' is presented 3 t"),
        (LEFTS, RIGHTS, ANSWERS[:3], "ballot 1: 4 comparisons need as many answers; got 3"),
        (LEFTS, RIGHTS, [LEFT, UNANSWERED, UNANSWERED, LEFT], "ballot 1: every item needs an .* without any: 'c'"),
    ],
)
def test_votes_must_be_on_the_ballot(left, right, answers, message):
    with pytest.raises(VoteError, match=message):
        score_ballots(REPLAY_PLAN, [BallotVotes(left, right, answers)], items=["a", "b", "c", "d"], seed=1)


def test_unselected_items_are_refused():
    first = BallotVotes(LEFTS, RIGHTS, ANSWERS)
    selected = score_ballots(REPLAY_PLAN, [first], items=LEFTS, seed=1).next_items
    dropped = [item for item in LEFTS if item not in selected]
    second = BallotVotes([selected[0], dropped[0]], [dropped[0], selected[0]], [LEFT, LEFT])
    with pytest.raises(VoteError, match=f"ballot 2: these items were not selected for it: '{dropped[0]}'$"):
        score_ballots(REPLAY_PLAN, [first, second], items=LEFTS, seed=1)


def test_odd_items_and_presentations_give_one_item_an_extra_presentation():
    plan = plan_ballots(3, n_ballots=2, fraction=0.7, presentations=1)
    interim = score_ballots(plan, [BallotVotes(["a", "a"], ["b", "c"], [LEFT, LEFT])], items=["a", "b", "c"], seed=1)
    assert interim.result.ballots[0].tally.presentations.tolist() == [2, 1, 1]
    twice = BallotVotes(["a", "b"], ["b", "a"], [LEFT, LEFT])
    with pytest.raises(VoteError, match=r"presented 1 times, one of them once more; 'c' is presented 0 times"):
        score_ballots(plan, [twice], items=["a", "b", "c"], seed=1)


@pytest.fixture(scope="module")
def benchmark(script):
    return script("replay_approaches")


@pytest.fixture
def topic(benchmark):
    """12 items, five votes on each pair, all but one for the first item."""
    pairs = np.repeat(list(combinations(range(12), 2)), 5, axis=0)
    votes = np.tile(np.array([LEFT, LEFT, LEFT, LEFT, -LEFT], np.int8), len(pairs) // 5)
    return benchmark.Topic("t", tuple("abcdefghijkl"), pairs, votes)


def test_each_vote_is_drawn_once(benchmark, topic):
    urn = benchmark.Urn(topic, np.random.default_rng(1))
    ballots = [draw_ballot(12, 11, 1, np.random.default_rng(k)) for k in range(5)]  # every pair once
    answers = [urn.answer(ballot) * np.where(ballot.left < ballot.right, 1, -1).astype(np.int8) for ballot in ballots]
    assert sum(int((answers_of_ballot == LEFT).sum()) for answers_of_ballot in answers) == 4 * 66
    assert sum(int((answers_of_ballot == -LEFT).sum()) for answers_of_ballot in answers) == 66
    assert urn.comparisons().n_comparisons == topic.votes.size
    with pytest.raises(benchmark.SpentError):
        urn.answer(ballots[0])
    assert (urn.asked[-1][1] == UNANSWERED).all()


@pytest.mark.needs_numba
@pytest.mark.parametrize("voting", ["uniform", "adaptive", "matched ballots", "matched"])
def test_every_approach_ranks_by_available_votes(benchmark, topic, voting):
    drawn_votes, held_out = topic.split(benchmark.N_DRAWN, np.random.default_rng(2))
    assert drawn_votes.votes.size + held_out.votes.size == topic.votes.size
    budgets = (40, 120, 190)
    result = benchmark.rankings(drawn_votes, voting, budgets, 3)
    for budget, (by_borda, by_strength, n_votes) in zip(budgets, result, strict=True):
        assert 0 < n_votes <= min(budget, drawn_votes.votes.size)
        assert isinstance(by_borda, Ranking)
        assert by_strength.n_items == 12
    assert np.corrcoef(result[-1][1].ranks, np.arange(12))[0, 1] > 0.8


@pytest.mark.needs_numba
def test_a_task_has_a_figure_for_each_approach(benchmark, topic):
    values, used = benchmark.Task(topic, np.random.SeedSequence(5))()
    assert values.shape == (4, 2, 4, 4)
    assert np.isfinite(values).all()
    assert (used <= np.array(benchmark.SHARES) + 0.01).all()
    again, _ = benchmark.Task(topic, np.random.SeedSequence(5))()
    np.testing.assert_array_equal(values, again)


def test_without_the_file_the_script_says_so(benchmark, tmp_path, capsys):
    with pytest.raises(SystemExit):
        benchmark.main([str(tmp_path / "none.csv.gz")])
    assert "there is no file of votes" in capsys.readouterr().err
