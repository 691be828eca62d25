"""Ranks, tops, cuts and expected coefficients of drawn rankings, against naive loops."""

import json
import math
from itertools import combinations, permutations
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import norm

from adaptive import Choices, Comparisons, bradley_terry, stopping_rule
from adaptive.errors import ModelError
from adaptive.model._accuracy import (
    DrawnRanks,
    better_of,
    cut_of,
    expected_correlation_of,
    rank_intervals_of,
    top_probabilities_of,
)
from rankcorr import Ranking, TauW, weighted_tau
from rankcorr.errors import OptionError
from tests.adaptive import naive
from tests.adaptive.strategies import simulate_votes


@st.composite
def drawn_ranks(draw):
    """Drawn scores with an estimate; ties are common in both."""
    n_items, n_rows = draw(st.integers(2, 5)), draw(st.integers(1, 6))
    row = st.lists(st.integers(0, 3), min_size=n_items, max_size=n_items)
    scores = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    return DrawnRanks.of(Ranking.from_scores(draw(row), labels=range(n_items)), np.array(scores, float))


def three_items():
    votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])
    return bradley_terry(votes, prior=2)


@given(drawn_ranks(), st.data())
def test_tops_sum_to_k_and_share_ties_at_the_cut(draws, data):
    k = data.draw(st.integers(1, len(draws.items)))
    result = top_probabilities_of(draws, k)
    assert_allclose(result.probability, naive.share_in_top(draws.ranks.tolist(), k), atol=1e-12)
    assert_allclose(result.probability.sum(), k)


@given(drawn_ranks(), st.floats(0.01, 0.99))
def test_rank_intervals_are_the_narrowest_drawn_ranks_that_hold_the_tails(draws, level):
    result = rank_intervals_of(draws, level)
    expected = [naive.rank_interval(draws.ranks[:, item].tolist(), level) for item in range(len(draws.items))]
    assert_allclose(np.column_stack([result.low, result.median, result.high]), expected)


@given(st.permutations(range(3)), st.integers(1, 3))
def test_a_cut_over_all_orders_of_three_items_is_counted_by_sets(estimate, k):
    """Exhaustive: six equally probable orders."""
    orders = np.array(list(permutations(range(3))), float)
    draws = DrawnRanks.of(Ranking.from_scores(list(estimate), labels=list("abc")), orders)
    result = cut_of(draws, k)
    estimated_top = set(np.argsort(-np.array(estimate))[:k].tolist())
    drawn_tops = [set(np.argsort(-row)[:k].tolist()) for row in orders]
    assert_allclose(result.confidence, np.mean([top == estimated_top for top in drawn_tops]))
    assert_allclose(result.overlap, np.mean([len(top & estimated_top) for top in drawn_tops]))


def test_a_cut_through_very_many_ties_does_not_overflow():
    """C(1600, 800) is above 10^480: no float holds it, and its inverse is 0."""
    draws = DrawnRanks.of(Ranking.from_scores(np.zeros(1_600), labels=range(1_600)), np.zeros((2, 1_600)))
    result = cut_of(draws, 800)
    assert (result.confidence, result.overlap) == (0.0, 400.0)


def test_a_cut_through_a_tie_is_the_mean_over_the_choices():
    scores = np.array([[4.0, 3, 2, 1], [4, 1, 3, 2]])
    draws = DrawnRanks.of(Ranking.from_scores([2, 1, 1, 0], labels=list("abcd")), scores)
    result = cut_of(draws, 2)
    # {a, b} and {a, c} are drawn; each choice is right in one of the two draws.
    assert (result.confidence, result.overlap) == (0.5, 1.5)


@settings(deadline=None)
@given(drawn_ranks())
def test_expected_correlation_is_the_mean_over_drawn_rankings(draws):
    if draws.estimate.ranks.min() == draws.estimate.ranks.max() or (draws.n_tied == len(draws.items)).any():
        return
    coefficient = TauW(scheme="first")
    values = [weighted_tau(Ranking.from_ranks(row), draws.estimate.ranks * -1.0, scheme="first") for row in draws.ranks]
    result = expected_correlation_of(draws, coefficient, 0.9, None)
    assert_allclose(result.values, values, atol=1e-12)
    assert_allclose(result.mean, np.mean(values), atol=1e-12)
    assert result.low <= result.high


def test_draws_are_shared_and_do_not_depend_on_workers():
    strengths = three_items()
    assert strengths.drawn(50, 1) is strengths.drawn(50, 1)
    alone, many = (strengths.expected_correlation(seed=1, workers=workers) for workers in (1, 3))
    assert alone == many
    assert three_items().rank_intervals(seed=1) == strengths.rank_intervals(seed=1)
    assert strengths.rank_intervals(seed=1).n_samples == 1_000


def test_many_votes_make_the_ranking_certain():
    votes = Comparisons.from_labels(["a", "b"] * 200, ["b", "c"] * 200, ["left"] * 400)
    strengths = bradley_terry(votes, prior=3, oversight=0)
    assert strengths.cut(1).confidence > 0.99
    assert float(strengths.expected_correlation()) > 0.98


def test_tables_are_best_first():
    strengths = three_items()
    assert [column[0] for column in strengths.rank_intervals()._columns().values()][:2] == ["a", 1.0]
    probabilities = strengths.in_top(1)._columns()
    assert probabilities["item"] == ["a", "b", "c"]
    assert probabilities["probability"] == sorted(probabilities["probability"], reverse=True)


@pytest.mark.parametrize("k", [0, 4, 1.5, "2", True])
def test_invalid_tops_are_refused(k):
    with pytest.raises(ModelError, match="k must be a whole number from 1 to the 3 items"):
        three_items().in_top(k)
    with pytest.raises(ModelError, match="k must be a whole number from 1 to the 3 items"):
        three_items().cut(k)


@pytest.mark.parametrize("level", [0, 1, float("nan"), "0.9"])
def test_invalid_levels_are_refused(level):
    with pytest.raises(ModelError, match="level must be a number above 0 and below 1"):
        three_items().rank_intervals(level)
    with pytest.raises(ModelError, match="level must be a number above 0 and below 1"):
        three_items().expected_correlation(level=level)


def test_invalid_options_are_refused():
    with pytest.raises(ModelError, match="n_samples must be a positive whole number; got 0"):
        three_items().in_top(1, n_samples=0)
    with pytest.raises(ModelError, match="seed must be a whole number of 0 or more; got -1"):
        three_items().in_top(1, seed=-1)
    with pytest.raises(OptionError, match="coefficient must be one of"):
        three_items().expected_correlation("kendall")


def test_results_are_ready_for_json():
    strengths = three_items()
    expected = strengths.expected_correlation("tau", n_samples=4)
    content = json.loads(json.dumps(expected.to_dict(), allow_nan=False))
    assert content["mean"] == expected.mean
    assert content["values"] == expected.values.tolist()
    assert strengths.cut(1).to_dict() == {
        "k": 1, "confidence": strengths.cut(1).confidence, "overlap": strengths.cut(1).overlap, "n_samples": 1_000
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9), st.floats(0.05, 0.95))
def test_better_is_the_share_of_draws_where_the_first_is_stronger(draws, level):
    theta = np.array(draws, float)
    result, other = (better_of(columns, "a", "b", level) for columns in (theta, theta[:, ::-1]))
    wins = [1.0 if a > b else 0.5 if a == b else 0.0 for a, b in draws]
    assert_allclose(result.probability, sum(wins) / len(wins), atol=1e-12)
    assert_allclose([result.probability, result.difference], [1 - other.probability, -other.difference], atol=1e-12)
    assert_allclose(result.interval, [-other.interval[1], -other.interval[0]], atol=1e-12)
    assert result.interval[0] <= result.difference <= result.interval[1]
    assert 0 < result.standard_error <= 0.5


def test_better_uses_the_same_draws_as_the_intervals():
    strengths = three_items()
    result = strengths.better("a", "c")
    ranks = strengths.drawn().ranks
    assert_allclose(result.probability, (ranks[:, 0] < ranks[:, 2]).mean(), atol=1e-12)
    assert json.loads(json.dumps(result.to_dict()))["first"] == "a"
    assert repr(result).startswith("<Better: 'a' than 'c', probability 0.")


def test_the_interval_of_better_is_the_wider_of_draws_and_fit():
    """The normal interval is wider for few votes on close items, that of draws for an item far ahead."""
    rng = np.random.default_rng(5)
    left = rng.integers(0, 20, 200)
    right = (left + rng.integers(1, 20, 200)) % 20
    for theta in (rng.normal(0, 0.3, 20), np.append(rng.normal(0, 0.3, 19), 6.0)):
        is_left = rng.logistic(size=200) < theta[left] - theta[right]
        fit = bradley_terry(Comparisons(20, left, right, np.where(is_left, 1, -1).astype(np.int8)))
        better = fit.better(19, 0, level=0.8)
        draws = fit.drawn().theta
        low, high = np.quantile(draws[:, 19] - draws[:, 0], [0.1, 0.9])
        contrast = np.eye(20)[19] - np.eye(20)[0]
        normal = norm(contrast @ fit.theta, math.sqrt(contrast @ fit._item_covariance @ contrast)).interval(0.8)
        assert better.interval == pytest.approx((min(low, normal[0]), max(high, normal[1])))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("a", "x"), {}, "'x' is not one of the 3 items"),
        (("a", "a"), {}, "an item is compared with another; got 'a' twice"),
        (("a", "b"), {"level": 1}, "level must be a number above 0 and below 1"),
        (("a", "b"), {"n_samples": 0}, "n_samples must be"),
    ],
)
def test_invalid_comparisons_are_refused(arguments, options, message):
    with pytest.raises(ModelError, match=message):
        three_items().better(*arguments, **options)


@pytest.mark.wide
def test_better_is_not_overconfident_on_simulated_votes():
    """At least the stated share of pairs is ordered correctly, with a margin of .05 for chance."""
    probabilities, holds = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        theta = rng.normal(size=12)
        left = rng.integers(0, 12, 120)
        right = (left + rng.integers(1, 12, 120)) % 12
        wins = rng.random(120) < 1 / (1 + np.exp(theta[right] - theta[left]))
        fitted = bradley_terry(Comparisons(12, left, right, np.where(wins, 1, -1)))
        ranks = fitted.drawn().ranks
        for a, b in combinations(range(12), 2):
            probability = (ranks[:, a] < ranks[:, b]).mean()
            first, second = (a, b) if probability >= 0.5 else (b, a)
            probabilities.append(max(probability, 1 - probability))
            holds.append(theta[first] > theta[second])
        assert_allclose(fitted.better(0, 1).probability, (ranks[:, 0] < ranks[:, 1]).mean(), atol=1e-12)
    probabilities, holds = np.array(probabilities), np.array(holds)
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        is_near = (low <= probabilities) & (probabilities < high)
        assert holds[is_near].mean() > probabilities[is_near].mean() - 0.05


def remove_voters(votes):
    return Comparisons(votes.items, votes.left, votes.right, votes.winner)


@pytest.mark.parametrize("seed", range(4))
def test_anytime_intervals_hold_the_ranks_that_no_evidence_excludes(seed):
    votes = remove_voters(simulate_votes(6, 400, seed, sd=2.0)[0])
    fit = Choices.from_pairs(votes).fit(prior=2.0)
    intervals = fit.rank_intervals(0.8, anytime=True)
    low, high = np.ones(6), np.full(6, 6.0)
    for first, second in permutations(range(6), 2):
        if fit.theta[first] > fit.theta[second] and evidence(fit, first, second) >= math.log(15 / 0.2):
            high[first] -= 1
            low[second] += 1
    assert_array_equal(intervals.low, low)
    assert_array_equal(intervals.high, high)
    assert (intervals.simultaneous, intervals.anytime, intervals.n_samples, intervals.level) == (True, True, 0, 0.8)
    assert (low > 1).any()
    strengths = bradley_terry(votes, prior=2.0, oversight=0).rank_intervals(0.8, anytime=True)
    assert_array_equal(strengths.low, low)
    assert_array_equal(strengths.high, high)


def win_share(theta, item):
    """Mean probability of an item to win against another."""
    others = [other for other in range(len(theta)) if other != item]
    return sum(1 / (1 + math.exp(theta[other] - theta[item])) for other in others) / len(others)


def evidence(fit, first, second):
    """Log of the e-value of a pair, an average of likelihood ratios over normal differences of the shares of wins."""
    theta, n_items = fit.theta, len(fit.theta)

    def difference_at(strengths):
        return win_share(strengths, first) - win_share(strengths, second)

    difference = difference_at(theta)
    slopes = [(difference_at(theta + h) - difference_at(theta - h)) / 2e-5 for h in np.eye(n_items) * 1e-5]
    variance = float(slopes @ fit.covariance @ slopes)
    error = math.sqrt(variance)
    averages = [
        quad(
            lambda d, s=s: NormalDist(0, s).pdf(d) * math.exp(-((difference - d) ** 2) / (2 * variance)),
            *(difference - 12 * error, difference + 12 * error),
            points=[difference],
        )[0]
        for s in (0.02, 0.2)
    ]
    return math.log(sum(averages) / 2) + difference**2 / (2 * variance)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_top_is_certain_once_all_its_items_are_above_all_others(k):
    fit = Choices.from_pairs(remove_voters(simulate_votes(6, 900, 3, sd=3.0)[0])).fit(prior=2.0)
    order = np.argsort(-fit.theta)
    least = math.log(k * (6 - k) / 0.2)
    n_certain = sum(all(evidence(fit, first, second) >= least for second in order[k:]) for first in order[:k])
    assert fit.n_certain_of_top(k, 0.8) == n_certain
    decision = stopping_rule(top=k, level=0.8)(fit)
    assert (decision.stop, decision.expected) == (n_certain == k, None)
    assert decision.reason == f"{n_certain} of the top {k} are certain at the level 0.8"


def test_no_top_is_certain_where_its_last_rank_is_tied():
    winners = [1, 1, 1, -1] * 75 + [1, 1, 1, -1] * 75 + [1, -1] * 150
    votes = Comparisons(3, [0] * 300 + [1] * 300 + [0] * 300, [2] * 300 + [2] * 300 + [1] * 300, winners)
    strengths = bradley_terry(votes)
    assert strengths.ranking.ranks.tolist() == [1.5, 1.5, 3]
    assert [strengths.n_certain_of_top(k) for k in (1, 2, 3)] == [0, 2, 3]
    assert bool(stopping_rule(top=2)(strengths))


@pytest.mark.wide
def test_anytime_intervals_are_valid_at_every_look():
    """Nearly equal strengths are the hardest, because any order of two items is then wrong half of the time."""
    n_wrong = 0
    for seed in range(20):
        votes, theta = simulate_votes(8, 200, seed, sd=1e-6)
        looks = [
            bradley_terry(remove_voters(votes.select(np.arange(200) < n)), prior=2.0, oversight=0)
            for n in range(20, 201, 20)
        ]
        intervals = [look.rank_intervals(anytime=True) for look in looks]
        ranks = np.argsort(np.argsort(-theta)) + 1
        n_wrong += any(((ranks < one.low) | (ranks > one.high)).any() for one in intervals)
    assert n_wrong <= 2


def test_anytime_intervals_of_many_items_and_without_votes():
    with pytest.raises(ModelError, match="the covariance of more than 3,000 strengths is not computed"):
        bradley_terry(Comparisons(3_001, [0], [1], [1])).rank_intervals(anytime=True)
    with pytest.raises(OptionError, match="anytime must be True or False; got 1"):
        bradley_terry(Comparisons(3, [0], [1], [1])).rank_intervals(anytime=1)
    assert bradley_terry(Comparisons(5, [], [], [])).rank_intervals(anytime=True).high.tolist() == [5.0] * 5


def test_simultaneous_intervals_contain_those_of_single_items_whatever_the_number_of_draws():
    theta = np.array([[2.0, 1.0]] * 398 + [[1.0, 2.0]] * 2)
    draws = DrawnRanks.of(Ranking.from_scores([2.0, 1.0], labels=["fig", "kiwi"]), theta)
    single, joint = rank_intervals_of(draws, 0.99), rank_intervals_of(draws, 0.99, simultaneous=True)
    assert (single.low.tolist(), single.high.tolist()) == ([1.0, 1.0], [1.0, 2.0])
    assert (joint.low <= single.low).all()
    assert (joint.high >= single.high).all()


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_simultaneous_intervals_hold_all_drawn_ranks_at_once(level):
    rng = np.random.default_rng(3)
    left = rng.integers(0, 8, 200)
    right = (left + rng.integers(1, 8, 200)) % 8
    words = np.where(rng.logistic(size=200) < (right - left) / 3, "left", "right").tolist()
    strengths = bradley_terry(Comparisons.from_labels(left.tolist(), right.tolist(), words))
    ranks = strengths.drawn(400, 0).ranks
    single = strengths.rank_intervals(level, n_samples=400)
    joint = strengths.rank_intervals(level, n_samples=400, simultaneous=True)
    assert ((ranks >= joint.low) & (ranks <= joint.high)).all(axis=1).mean() >= level
    assert (joint.low <= single.low).all()
    assert (joint.high >= single.high).all()
    assert (joint.simultaneous, single.simultaneous) == (True, False)
    assert (joint.median == single.median).all()
    with pytest.raises(OptionError, match="simultaneous must be True or False; got 'no'"):
        strengths.rank_intervals(level, simultaneous="no")
