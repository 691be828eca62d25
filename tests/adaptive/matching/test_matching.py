"""The next comparisons and whole runs: voters, budgets, unanswered comparisons, and errors."""

import heapq
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import Comparisons, bradley_terry, next_comparisons
from adaptive._draw_kernels import contains, key_of, random_order
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED
from adaptive.errors import ModelError, VoteError
from adaptive.matching._matched_ballots import MatchedBallots, run_matched_ballots
from adaptive.matching._matching import FIRST, FOCUS, PAIR_SHARES, Matches, Matching, informative_distance
from adaptive.matching._matching_kernels import by_load, seen_pairs
from adaptive.matching._rounds import run_matching
from adaptive.model._prior import Prior
from tests.adaptive.strategies import NO_INTEGERS, comparisons, small_comparisons

SEEDS = st.integers(0, 2**32 - 1)
CODES = st.sampled_from([LEFT, TIE, RIGHT, UNANSWERED])


def voter_pairs(columns):
    """Voter and pair of each row."""
    rows = zip(columns.voter.tolist(), columns.left.tolist(), columns.right.tolist(), strict=True)
    return [(voter, frozenset(pair)) for voter, *pair in rows]


def level_loads(loads, size):
    """Loads of voters after `size` more comparisons, each given to a voter with the lowest load."""
    heap = sorted(loads)
    for _ in range(size):
        heapq.heapreplace(heap, heap[0] + 1)
    return sorted(heap)


@given(comparisons(voters=True, min_size=1), st.data(), st.integers(1, 60), SEEDS)
def test_a_voter_never_gets_a_shown_pair_again(votes, data, size, seed):
    """Also if the voter has not answered."""
    codes = data.draw(st.lists(CODES, min_size=votes.n_comparisons, max_size=votes.n_comparisons))
    columns = [[labels[place] for place in places.tolist()] for labels, places in (
        (votes.items, votes.left), (votes.items, votes.right), (votes.voters, votes.voter)
    )]  # fmt: skip
    partly = Comparisons.from_labels(
        *columns[:2], codes, voter=columns[2], items=votes.items, voters=votes.voters, answers="codes"
    )
    assert partly.n_unanswered == codes.count(UNANSWERED)
    matches = next_comparisons(bradley_terry(partly, prior=1.0), size, rng=np.random.default_rng(seed))
    new, past = voter_pairs(matches), set(voter_pairs(votes))
    assert len(set(new)) == len(new)
    assert not set(new) & past
    n_pairs = votes.n_items * (votes.n_items - 1) // 2
    assert len(new) == min(size, 3 * n_pairs - len(past))
    assert (len(new) < size) == bool(matches.reason)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 40), SEEDS)
def test_loads_are_levelled(loads, size, seed):
    """Each comparison goes to a voter with the fewest so far, until all have equally many."""
    rng = np.random.default_rng(seed)
    voter = np.repeat(np.arange(len(loads)), loads)
    left = rng.integers(0, 30, voter.size)
    right = (left + rng.integers(1, 30, voter.size)) % 30
    votes = Comparisons(30, left, right, np.ones(voter.size, int), len(loads), voter)
    matches = next_comparisons(bradley_terry(votes), size, rng=rng)
    after = np.bincount(np.concatenate([voter, matches.voter]), minlength=len(loads))
    assert sorted(after.tolist()) == level_loads(loads, size)


def test_shown_pairs_count_as_load():
    rows = [("a", "b", "left", "Ann"), ("a", "b", None, "Bob"), ("a", "c", None, "Bob")]
    left, right, winner, voter = zip(*rows, strict=True)
    votes = Comparisons.from_labels(left, right, winner, voter=voter, items=list("abcdef"))
    matches = next_comparisons(bradley_terry(votes), 3, rng=np.random.default_rng(1))
    assert sorted(matches.voter.tolist()) == [0, 0, 1]


def test_each_pair_is_asked_once_before_any_is_asked_twice():
    votes = Comparisons(5, [], [], [], 4, [])
    matches = next_comparisons(bradley_terry(votes), 40, rng=np.random.default_rng(1))
    pairs = [pair for _, pair in voter_pairs(matches)]
    assert len(set(pairs[:10])) == 10
    assert all(pairs.count(pair) == 4 for pair in pairs)
    assert matches.reason == ""
    assert len(next_comparisons(bradley_terry(votes), 41, rng=np.random.default_rng(1))) == 40


PROMPTS = ("sum", "rhyme", "plan")


@given(comparisons(min_size=1), st.data(), st.integers(1, 60), SEEDS)
def test_a_voter_gets_a_pair_once_with_each_prompt(votes, data, size, seed):
    size_of = {"min_size": votes.n_comparisons, "max_size": votes.n_comparisons}
    history = data.draw(st.lists(st.sampled_from((*PROMPTS, "elsewhere")), **size_of))
    options = {"prompts": PROMPTS, "prompt_history": history}
    matches = next_comparisons(bradley_terry(votes, prior=1.0), size, rng=np.random.default_rng(seed), **options)
    voters = ("one",) if votes.voters is None else votes.voters
    of_votes = np.zeros(votes.n_comparisons, int) if votes.voter is None else votes.voter
    before = {
        (voters[voter], prompt, frozenset(pair))
        for voter, prompt, *pair in zip(of_votes.tolist(), history, votes.left, votes.right, strict=True)
    }
    assert matches.prompts == PROMPTS
    rows = [
        (voters[voter], PROMPTS[prompt], frozenset(pair))
        for voter, prompt, *pair in zip(matches.voter, matches.prompt, matches.left, matches.right, strict=True)
    ]
    assert len({*rows}) == len(rows)
    assert not before & {*rows}
    n_pairs = votes.n_items * (votes.n_items - 1) // 2
    n_open = 3 * len(voters) * n_pairs - len({row for row in before if row[1] in PROMPTS})
    assert len(rows) == min(size, n_open)
    assert ("with every prompt" in matches.reason) == (size > n_open)


@given(st.integers(1, 4), st.integers(2, 30), st.integers(0, 8), SEEDS)
def test_prompts_and_voters_are_shown_equally_often(n_voters, n_prompts, n_batches, seed):
    rng, history = np.random.default_rng(seed), []
    votes = Comparisons(8, [], [], [], n_voters, [])
    for _ in range(n_batches):
        options = {"prompts": n_prompts, "prompt_history": history}
        matches = next_comparisons(bradley_terry(votes, prior=1.0), n_voters, rng=rng, **options)
        winner = [LEFT] * n_voters
        votes = votes.joined(Comparisons(8, matches.left, matches.right, winner, n_voters, matches.voter))
        history += matches.prompt.tolist()
    assert np.ptp(np.bincount(votes.voter, minlength=n_voters)) == 0
    # A batch gives each voter one of the prompts shown least, drawn for each voter.
    assert max(np.bincount(history, minlength=n_prompts), default=0) <= -(-n_batches * n_voters // n_prompts) + n_voters


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prompts": []}, "comparisons within prompts need at least one; got none"),
        ({"prompts": ["a", "a"]}, "prompts must be unique"),
        ({"prompts": "abc"}, "prompts must be a number or a list of labels; got 'abc'"),
        ({"prompts": ["a"]}, "must have the prompt of each of the 1 pairs shown; got 0"),
        ({"prompts": ["a"], "prompt_history": "a"}, "prompt_history must be a list of prompts; got 'a'"),
        ({"prompts": ["a"], "prompt_history": [["a"]]}, r"a prompt must be a label, such as text or a number; got"),
        ({"prompt_history": ["a"]}, "prompt_history needs prompts"),
        ({"prompts": 3_000_000, "prompt_history": [0]}, "must be at most 2,000,000; got 1 and 3,000,000"),
    ],
)
def test_invalid_prompts_are_refused(options, message):
    strengths = bradley_terry(Comparisons(3, [0], [1], [LEFT]))
    with pytest.raises(ModelError, match=message):
        next_comparisons(strengths, 2, rng=np.random.default_rng(1), **options)


def test_new_voters_get_any_pair_with_any_prompt():
    strengths = bradley_terry(Comparisons(2, [0], [1], [LEFT]))
    options = {"prompts": ["a"], "prompt_history": ["a"], "rng": np.random.default_rng(1)}
    assert len(next_comparisons(strengths, 9, voters=["Ann", "Bob"], **options)) == 2
    assert len(next_comparisons(strengths, 9, **options)) == 0


def test_a_history_with_equal_items_is_accepted():
    """A range, and a tuple of the same numbers."""
    votes = Comparisons(3, [0, 1], [1, 2], [1, 1], 2, [0, 1])
    history = replace(votes, items=(0, 1, 2))
    rng = np.random.default_rng(1)
    for strengths, shown_votes in ((votes, history), (history, votes)):
        matches = next_comparisons(bradley_terry(strengths), 4, rng=rng, voter_history=shown_votes)
        assert not set(voter_pairs(matches)) & set(voter_pairs(votes))
    assert bradley_terry(history, start=bradley_terry(votes)).converged


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size must be a positive whole number; got 0"),
        ({"size": 10**12}, "size must be at most 10,000,000; got 1000000000000"),
        ({"first": 10**30}, "first must be a whole number from 0 to 1073741823; got 1000"),
        ({"rng": None}, "rng must be a numpy.random.Generator, .* got None"),
        ({"voter_history": small_comparisons(items=("a", "b", "d"))}, "voter_history must be Comparisons of"),
        ({"voters": 0}, "comparisons need at least one voter; got none"),
    ],
)
def test_invalid_arguments_of_next_comparisons_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        next_comparisons(bradley_terry(small_comparisons()), **{"size": 2, "rng": np.random.default_rng(0), **options})


@given(st.floats(0.0, 1e4))
def test_half_of_the_votes_tie_at_the_informative_distance(nu):
    """A vote there has at least nine tenths of the maximal information."""

    def chances(d):
        weights = np.array([np.exp(d / 2), np.full_like(d, nu), np.exp(-d / 2)])
        return weights / weights.sum(axis=0)

    def information(d):
        step = 1e-4
        slope = (chances(d + step) - chances(d - step)) / (2 * step)
        return (slope**2 / np.maximum(chances(d), 1e-300)).sum(axis=0)

    distance = informative_distance(nu)
    assert chances(np.array(distance))[1] == pytest.approx(min(0.5, nu / (2 + nu)))
    assert information(np.array(distance)) >= 0.9 * information(np.linspace(0, 25, 2000)).max()


def votes_with_ties(n_items, reach, rng):
    """Votes on all pairs of a line of items, who tie if they are less than `reach` places apart."""
    left, right = np.triu_indices(n_items, 1)
    turned = rng.random(left.size) < 0.5
    winner = np.where(right - left < reach, TIE, np.where(turned, RIGHT, LEFT))
    return Comparisons(n_items, np.where(turned, right, left), np.where(turned, left, right), winner)


@pytest.mark.parametrize(("reach", "least", "most"), [(1, 1, 3), (20, 8, 30)])
def test_opponents_are_farther_where_neighbours_tie(reach, least, most):
    strengths = bradley_terry(votes_with_ties(60, reach, np.random.default_rng(1)))
    rng = np.random.default_rng(2)
    # Calls ask for a tenth of the items, because more comparisons would use the same items at larger distances.
    calls = [next_comparisons(strengths, 6, rng=rng, voters=60) for _ in range(10)]
    left, right = (np.concatenate([getattr(matches, side) for matches in calls]) for side in ("left", "right"))
    distance = informative_distance(strengths.tie_parameter)
    assert (distance > 0) == (reach > 1)
    assert least <= np.median(np.abs(left - right)) <= most
    gaps = np.abs(strengths.theta[left] - strengths.theta[right])
    steps = np.abs(np.diff(np.sort(strengths.theta)))
    # Within three places of the item at that distance, unless both sides of the list are too short.
    assert np.median(np.abs(gaps - distance)) <= 4 * steps.max()


@given(comparisons(voters=True, min_size=1), st.integers(1, 60), SEEDS)
def test_all_pairs_are_asked_if_all_votes_tie(votes, size, seed):
    ties = replace(votes, winner=np.zeros_like(votes.winner))
    strengths = bradley_terry(ties, prior=1.0)
    assert informative_distance(strengths.tie_parameter) > 0
    matches = next_comparisons(strengths, size, rng=np.random.default_rng(seed), first=0)
    new, past = voter_pairs(matches), set(voter_pairs(votes))
    assert not set(new) & past
    assert len(set(new)) == len(new) == min(size, 3 * votes.n_items * (votes.n_items - 1) // 2 - len(past))


def test_repr_shows_the_counts():
    none = np.empty(0, np.int32)
    one = Matches(range(3), range(1), *np.zeros((3, 1), np.int32))
    assert repr(one) == "<Matches of 1 comparison for 1 voter>"
    assert repr(Matches(range(3), range(2), none, none, none, "why")) == "<Matches of 0 comparisons for 2 voters: why>"


BATCHES = Matching(batch=7)


def prefer_smaller(matches):
    return np.sign(matches.right - matches.left)


def noisy_voters(seed):
    """Answers that follow the numbers of the items, with ties and errors."""
    rng = np.random.default_rng(seed)

    def vote(matches):
        return np.sign(np.round((matches.right - matches.left) / 4 + rng.standard_normal(len(matches)))).astype(int)

    return vote


def run_in_ballots(vote, rng):
    return run_matched_ballots(MatchedBallots().plan(8, 60), vote, items=8, rng=rng)


def columns(votes):
    return np.array([votes.left, votes.right, votes.winner, votes.voter])


def test_certain_voters_give_the_true_ranking():
    strengths = run_matching(12, prefer_smaller, 150, rng=np.random.default_rng(3), voters=20, matching=BATCHES)
    assert_array_equal(strengths.ranking.ranks, np.arange(1, 13))
    assert strengths.comparisons.n_comparisons == 150
    assert strengths.items == range(12)


def test_vote_gets_matches_with_labels_and_names():
    batches = []

    def vote(matches):
        batches.append(matches)
        return np.ones(len(matches), int)

    strengths = run_matching(["a", "b", "c", "d"], vote, 5, rng=np.random.default_rng(3), voters=["Ann", "Bob"])
    assert all(isinstance(matches, Matches) for matches in batches)
    # Two at once until every item was compared, then a batch that ends with the budget.
    assert [len(matches) for matches in batches] == [2, 3]
    assert (batches[0].items, batches[0].voters) == (("a", "b", "c", "d"), ("Ann", "Bob"))
    assert strengths.comparisons.voters == ("Ann", "Bob")


@given(st.integers(2, 12), st.integers(1, 9), st.integers(1, 40), st.integers(0, 2**20))
def test_a_shorter_run_is_the_beginning_of_a_longer_one(n_items, batch, shorter, seed):
    options = {"voters": 60, "matching": Matching(batch=batch)}
    long = run_matching(n_items, noisy_voters(seed), shorter + 10, rng=np.random.default_rng(seed), **options)
    short = run_matching(n_items, noisy_voters(seed), shorter, rng=np.random.default_rng(seed), **options)
    assert_array_equal(columns(short.comparisons), columns(long.comparisons)[:, :shorter])
    state = bradley_terry(long.comparisons.select(range(shorter)), voters=True)
    assert_allclose(short.theta, state.theta, atol=1e-12)


def test_the_end_is_the_fit_with_voters():
    strengths = run_matching(8, noisy_voters(1), 60, rng=np.random.default_rng(1), voters=4, matching=BATCHES)
    assert strengths.model.voters
    assert strengths.model.ties == "davidson"
    assert strengths.prior == Prior()


def test_voters_may_be_fitted_during_the_run():
    # Three of four voters are careless, which only a fit with voters can detect.
    def vote(matches):
        rng = np.random.default_rng(len(matches) + int(matches.left.sum()))
        return np.where(matches.voter == 0, prefer_smaller(matches), rng.choice([-1, 1], len(matches)))

    ways = [replace(BATCHES, voters_from=voters_from) for voters_from in (math.inf, 10)]
    runs = [run_matching(15, vote, 100, rng=np.random.default_rng(5), voters=4, matching=way) for way in ways]
    first, then = (columns(run.comparisons) for run in runs)
    n_same = int(np.argmin((first == then).all(axis=0)))
    assert 40 <= n_same < 80  # 10 for each of 4 voters, and a few more


def test_unanswered_comparisons_use_up_the_budget():
    def silent(matches):
        answers = prefer_smaller(matches)
        answers[::2] = UNANSWERED
        return answers

    strengths = run_matching(6, silent, 40, rng=np.random.default_rng(1), matching=BATCHES)
    votes = strengths.comparisons
    assert votes.n_comparisons + votes.n_unanswered == 40
    assert votes.n_unanswered >= 20
    nothing = run_matching(4, lambda m: np.full(len(m), UNANSWERED), 9, rng=np.random.default_rng(1), matching=BATCHES)
    assert (nothing.comparisons.n_comparisons, nothing.comparisons.n_unanswered) == (0, 9)
    assert_array_equal(nothing.theta, 0)


def test_a_run_ends_when_the_voters_have_seen_all_pairs():
    strengths = run_matching(4, lambda m: np.full(len(m), TIE), 50, rng=np.random.default_rng(1), voters=2)
    assert strengths.comparisons.n_comparisons == 12  # 6 pairs, 2 voters
    assert len(set(map(tuple, np.sort(columns(strengths.comparisons)[[0, 1]], axis=0).T.tolist()))) == 6


def test_defaults_are_those_of_next_comparisons():
    assert (Matching().focus, Matching().first, Matching().n0) == (FOCUS, FIRST, 2.0)


@pytest.mark.parametrize("number", [0, -1, *NO_INTEGERS])
def test_invalid_counts_are_refused(number):
    with pytest.raises(ModelError, match="n_comparisons must be a positive whole number; got"):
        run_matching(4, prefer_smaller, number, rng=np.random.default_rng(0))
    if number is not None:  # None asks for a tenth of the items
        with pytest.raises(ModelError, match="batch must be a positive whole number; got"):
            Matching(batch=number)


@pytest.mark.parametrize(("n_items", "batch"), [(2, 4), (49, 4), (50, 5), (300, 30), (3_000, 50)])
def test_a_batch_is_a_tenth_of_the_items(n_items, batch):
    assert Matching().batch_of(n_items) == batch
    assert Matching(batch=7).batch_of(n_items) == 7


def test_a_run_first_compares_all_items_and_then_asks_in_batches():
    sizes = []

    def vote(matches):
        sizes.append(len(matches))
        return prefer_smaller(matches)

    run_matching(60, vote, 45, rng=np.random.default_rng(1))
    assert sizes == [30, 6, 6, 3]


def circular_votes(n_items, n_voters, seed):
    """Votes on random pairs in which each item beats the next half of the items in a circle."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n_items, 6 * n_items)
    right = (left + rng.integers(1, n_items, left.size)) % n_items
    winner = np.where((right - left) % n_items <= n_items // 2, LEFT, RIGHT)
    return Comparisons(n_items, left, right, winner, n_voters, np.arange(left.size) % n_voters)


def test_no_pair_is_asked_twice_if_votes_contradict_the_strengths():
    votes = circular_votes(21, 40, seed=1)
    circle = bradley_terry(votes)
    assert circle.misfit.pairs > PAIR_SHARES[0][0]
    earlier_pairs = {pair for _, pair in voter_pairs(votes)}
    n_open = 21 * 20 // 2 - len(earlier_pairs)
    matches = next_comparisons(circle, n_open, rng=np.random.default_rng(2))
    new = [pair for _, pair in voter_pairs(matches)]
    assert len(set(new)) == n_open > 50
    assert not set(new) & earlier_pairs
    # They are asked again when no other pair is left.
    more = next_comparisons(circle, n_open + 30, rng=np.random.default_rng(2))
    assert len(more) == n_open + 30
    # Pairs whose votes agree with the strengths may be asked again.
    line = bradley_terry(replace(votes, winner=np.where(votes.left < votes.right, LEFT, RIGHT)))
    assert line.misfit.pairs < 1
    again = next_comparisons(line, n_open, rng=np.random.default_rng(2))
    assert {pair for _, pair in voter_pairs(again)} & earlier_pairs


@pytest.mark.wide
def test_a_tenth_of_the_opponents_is_random():
    """Neighbours are within 4 places in a call of few; 92 % of random opponents among 100 items are farther."""
    rng = np.random.default_rng(3)
    left, right = np.triu_indices(100, 1)
    strengths = bradley_terry(Comparisons(100, left, right, np.full(left.size, LEFT)), prior=2)
    # Without ties and misplaced items, opponents are neighbours, except the random ones.
    place = np.empty(100, int)
    place[np.argsort(-strengths.theta)] = np.arange(100)
    far = 0
    for _ in range(500):
        matches = next_comparisons(strengths, 4, rng=rng, voters=4)
        far += np.count_nonzero(np.abs(place[matches.left] - place[matches.right]) > 8)
    # A share of .1 x .85 of 2,000 comparisons is farther than 8 places: 4 standard errors.
    assert abs(far / 2_000 - 0.1 * 0.84) < 4 * math.sqrt(0.084 * 0.916 / 2_000)


@given(comparisons(voters=True, min_size=1), st.integers(1, 30), SEEDS)
def test_the_same_seed_asks_the_same_pairs(votes, size, seed):
    """Also if the fit is computed again, and whatever was computed from it before."""
    first, second = bradley_terry(votes), bradley_terry(votes)
    assert second.misfit.n_repeated >= 0
    matches_of_fits = [next_comparisons(fit, size, rng=np.random.default_rng(seed)) for fit in (first, second)]
    for name in ("left", "right", "voter"):
        assert_array_equal(getattr(matches_of_fits[0], name), getattr(matches_of_fits[1], name))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"voters_from": -1}, "voters_from must be a number, not negative; got -1"),
        ({"first": -1}, "first must be a whole number from 0 to 1073741823; got -1"),
        ({"n0": -1}, "n0 must be a finite number above -1; got -1"),
        ({"focus": 1.5}, "focus must be a number from 0 to 1; got 1.5"),
    ],
)
def test_invalid_matchings_are_refused(options, message):
    with pytest.raises(ModelError, match=message):
        Matching(**options)


@pytest.mark.parametrize(
    ("items", "options", "message"),
    [
        (1, {}, "a ranking needs at least two items; got 1"),
        (["a", "a"], {}, "items must be unique"),
        (4, {"voters": 0}, "comparisons need at least one voter; got none"),
        (4, {"matching": 50}, "matching must be a Matching; got 50"),
    ],
)
def test_invalid_runs_are_refused(items, options, message):
    with pytest.raises(ModelError, match=message):
        run_matching(items, prefer_smaller, 5, rng=np.random.default_rng(0), **options)


@pytest.mark.parametrize("run", [lambda **options: run_matching(5, options.pop("vote"), 5, **options), run_in_ballots])
def test_invalid_vote_functions_are_refused(run):
    with pytest.raises(ModelError, match="vote must be a function that takes comparisons and returns answers; got 3"):
        run(vote=3, rng=np.random.default_rng(0))
    with pytest.raises(ModelError, match=r"rng must be a numpy\.random\.Generator, .* got None"):
        run(vote=prefer_smaller, rng=None)


def test_a_voter_is_not_asked_an_unanswered_pair_again():
    voter_pairs_shown = []

    def silent(matches):
        voter_pairs_shown.extend(zip(matches.voter.tolist(), map(frozenset, matches.pairs), strict=True))
        return np.full(len(matches), UNANSWERED)

    run_matching(4, silent, 50, rng=np.random.default_rng(1), voters=3, matching=BATCHES)
    assert len(voter_pairs_shown) == len(set(voter_pairs_shown)) == 18


def test_answers_must_fit_the_matches():
    with pytest.raises(VoteError, match="2 comparisons need as many answers; got 3"):
        run_matching(4, lambda _: [1, 1, 1], 5, rng=np.random.default_rng(0))


@given(comparisons(voters=True), st.lists(st.booleans(), min_size=3, max_size=3))
def test_pairs_seen_are_those_of_the_voters_asked(votes, is_asked):
    n_items = votes.n_items
    result = seen_pairs((votes.left, votes.right, votes.voter), np.array(is_asked), n_items, 1)
    pairs = set(voter_pairs(votes))
    for voter in range(3):
        for low in range(n_items):
            for high in range(low + 1, n_items):
                key = voter * n_items**2 + key_of(n_items, low, high)
                assert contains(result, key) == (is_asked[voter] and (voter, frozenset((low, high))) in pairs)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=9).map(np.array), SEEDS)
def test_voters_ascend_by_load_and_are_in_random_order_otherwise(load, seed):
    shuffled = random_order(load.size, np.random.default_rng(seed))
    expected = shuffled[load[shuffled].argsort(kind="stable")]
    assert_array_equal(by_load(load, load.max(), np.random.default_rng(seed)), expected)


def test_voters_without_a_new_pair_are_skipped():
    """Ann and Bob have the fewest comparisons, but have seen all pairs, so others are chosen."""
    left, right = np.triu_indices(3, 1)
    columns = {"left": [*left, *left, *[left[0]] * 9], "right": [*right, *right, *[right[0]] * 9]}
    voter = [0] * 3 + [1] * 3 + [2] * 9
    votes = Comparisons(3, columns["left"], columns["right"], [1] * 15, ("Ann", "Bob", "Cid"), voter)
    matches = next_comparisons(bradley_terry(votes, prior=1.0), 1, rng=np.random.default_rng(1))
    assert matches.voter.tolist() == [2]
    assert set(matches.pairs[0]) != {left[0], right[0]}
