"""Means from people on some queries and a program on all: the formula, its limits, and errors."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from rankcorr.errors import OptionError, QueryMismatchError
from rankcorr.evaluation import evaluate, judged_means
from rankcorr.evaluation._judged import judged_mean

VALUES = st.sampled_from([0.0, 0.25, 0.5, 0.5, 1.0])  # ties are common


def best_weight(people, judged, others):
    """The weight of the smallest variance, by its definition: a regression, and the share of other queries."""
    slope = stats.linregress(judged, people).slope
    return slope * len(others) / (len(people) + len(others))


def half_width(variance, degrees, n):
    """Half the width of Student's 90 % interval; without variance, the mean is certain from five equal values on."""
    if variance > 1e-24:
        return stats.t.ppf(0.95, degrees) * math.sqrt(variance)
    return 0.0 if n >= 5 else math.inf


@given(st.lists(st.tuples(VALUES, VALUES), min_size=4, max_size=12), st.lists(VALUES, min_size=1, max_size=30))
def test_the_mean_follows_its_definition(pairs, others):
    people, judged = np.array(pairs).T
    mean = judged_mean(people, judged, np.array(others), 0.9)
    if np.ptp(judged) == 0:
        assert (mean.weight, mean.mean) == (0.0, people.mean())
        assert_allclose([mean.low, mean.high], [mean.people_low, mean.people_high])
        return
    weight = best_weight(people, judged, others)
    assert mean.weight == pytest.approx(weight, abs=1e-12)
    assert mean.mean == pytest.approx((people - weight * judged).mean() + weight * np.mean(others), abs=1e-12)
    n, degrees = people.size, people.size - (2 if mean.weight else 1)
    rest = people - weight * judged
    spread = np.var(np.concatenate([judged, others]), ddof=1)
    variance = ((rest - rest.mean()) ** 2).sum() / degrees / n + weight**2 * spread / len(others)
    if mean.weight:
        of_slope = stats.linregress(judged, people).stderr ** 2
        variance += of_slope * (np.concatenate([judged, others]).mean() - judged.mean()) ** 2
    assert mean.standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)
    half, alone = half_width(variance, degrees, n), half_width(people.var(ddof=1) / n, n - 1, n)
    assert [mean.low, mean.high] == pytest.approx([mean.mean - half, mean.mean + half], abs=1e-12)
    assert_allclose([mean.people_low, mean.people_high], people.mean() + np.array([-alone, alone]), atol=1e-12)


@given(st.lists(VALUES, min_size=5, max_size=40), st.integers(3, 4), st.floats(0.1, 5), st.floats(-3, 3))
def test_a_perfect_judge_on_another_scale_gives_the_mean_of_all(values, n_people, scale, level):
    truth = np.array(values)
    judge = scale * truth + level
    mean = judged_mean(truth[:n_people], judge[:n_people], judge[n_people:], 0.9)
    if np.ptp(truth[:n_people]) > 0:
        assert mean.mean == pytest.approx(truth.mean(), abs=1e-9)


@cache
def evaluations(n_people=20):
    rng = np.random.default_rng(4)
    grades = {f"q{q}": {f"d{d}": int(g) for d, g in enumerate(rng.integers(0, 3, 8))} for q in range(60)}
    guesses = {q: {d: int(g + (rng.random() < 0.3)) for d, g in gold.items()} for q, gold in grades.items()}
    runs = {
        name: {q: {d: g + rng.normal(0, sd) for d, g in gold.items()} for q, gold in grades.items()}
        for name, sd in (("good", 0.5), ("poor", 2.0))
    }
    people = {q: grades[q] for q in list(grades)[::-1][:n_people]}
    options = {"metrics": ["ndcg@5", "tau_w"], "standardized": False}
    return evaluate(people, runs, **options), evaluate(guesses, runs, **options), runs


def test_the_queries_of_two_evaluations_are_matched_by_name():
    people, judge, _ = evaluations()
    means = judged_means(people, judge, metric="ndcg@5", level=0.9)
    of_judge = dict(zip(judge.queries, judge.of("ndcg@5", "good").tolist(), strict=True))
    judged = np.array([of_judge[query] for query in people.queries])
    others = np.array([value for query, value in of_judge.items() if query not in people.queries])
    expected = judged_mean(people.of("ndcg@5", "good"), judged, others, 0.9)
    assert means.of("good") == expected
    assert (expected.n_people, expected.n_judge) == (20, 40)
    table = means.table()
    assert [row["run"] for row in table] == ["good", "poor"]
    assert table[0]["mean"] == expected.mean
    assert means.to_dict()["rows"] == table
    assert "2 runs, 60 queries: good" in repr(means)
    pair, reverse = means.difference("good", "poor"), means.difference("poor", "good")
    assert pair.mean == pytest.approx(-reverse.mean)
    assert pair.low > 0
    assert pair.people_mean == pytest.approx(np.mean(people.of("ndcg@5", "good") - people.of("ndcg@5", "poor")))


def test_queries_without_a_value_do_not_count():
    people, judge, _ = evaluations()
    values = judge.values.copy()
    values[0, 1, :5] = math.nan
    means = judged_means(people, replace(judge, values=values), metric="tau_w")
    assert [means.of(run).n_people + means.of(run).n_judge for run in judge.runs] == [55, 60]


def test_invalid_evaluations_are_refused():
    people, judge, runs = evaluations()
    few = evaluations(n_people=2)[0]
    other = evaluate({"new": {"a": 1, "b": 0}}, {name: {"new": {"a": 1, "b": 0}} for name in runs}, metrics="ndcg@5")
    alone = evaluate({q: {"d0": 1, "d1": 0} for q in judge.queries}, {"good": runs["good"]}, metrics="ndcg@5")
    for of_people, of_judge, options, kind, message in [
        (few, judge, {"metric": "ndcg@5"}, OptionError, "good: 3 queries with values of people"),
        (people, judge, {}, OptionError, "metric"),
        (people, judge, {"metric": "ap"}, OptionError, "ap"),
        (people, judge, {"metric": "ndcg@5", "level": 1}, OptionError, "level"),
        (people, alone, {"metric": "ndcg@5"}, OptionError, "must have the same runs; one of them lacks: 'poor'"),
        (other, judge, {}, QueryMismatchError, "no values for queries that people judged: 'new'"),
        ("people", judge, {}, OptionError, "people must be an Evaluation; got 'people'"),
    ]:
        with pytest.raises(kind, match=message):
            judged_means(of_people, of_judge, **options)
    means = judged_means(people, judge, metric="ndcg@5")
    for call, message in [
        (lambda: means.of("best"), "run must be one of 'good', 'poor'; got 'best'"),
        (lambda: means.difference("good", "good"), "two different runs are needed; got 'good' twice"),
    ]:
        with pytest.raises(OptionError, match=message):
            call()


@pytest.mark.parametrize("correlation", [1.0, 0.7, 0.0, -0.9])
@pytest.mark.parametrize(("n", "n_samples", "widest"), [(5, 4_000, 1.35), (20, 600, 1.05)])
def test_intervals_cover_the_mean_and_are_hardly_wider_than_those_of_people(n, n_samples, widest, correlation):
    rng, covered, widths = np.random.default_rng(11), 0, []
    for _ in range(n_samples):
        people = rng.normal(size=n + 200)
        judge = 3 + correlation * people + math.sqrt(1 - correlation**2) * rng.normal(size=n + 200)
        mean = judged_mean(people[:n], judge[:n], judge[n:], 0.9)
        covered += mean.low <= 0 <= mean.high
        widths.append((mean.high - mean.low) / (mean.people_high - mean.people_low))
    error = math.sqrt(0.9 * 0.1 / n_samples)
    assert 0.9 - 3 * error < covered / n_samples < 0.985  # a perfect program needs fewer degrees of freedom
    assert np.mean(widths) < widest - 0.35 * abs(correlation) ** 2


@pytest.mark.parametrize(("n", "level", "half"), [(5, 0.95, math.inf), (6, 0.95, 0), (3, 0.75, 0), (3, 0.76, math.inf)])
def test_few_equal_values_do_not_bound_a_mean(n, level, half):
    people = np.full(n, 0.3) + 1e-17 * np.arange(n)  # 2^(1 - n) <= 1 - level bounds it
    mean = judged_mean(people, np.linspace(0, 1, n), np.array([0.5, 0.6]), level)
    assert_allclose([mean.people_low, mean.people_high], [0.3 - half, 0.3 + half], rtol=1e-12)
    assert_allclose([mean.low, mean.high], [0.3 - half, 0.3 + half], rtol=1e-12)


def test_rounding_errors_of_a_judge_have_no_slope():
    judged = np.array([0.1 + 0.2, 0.3, 0.3, 0.3])
    mean = judged_mean(np.array([0.9, 0.2, 0.4, 0.5]), judged, np.array([0.8, 0.9]), 0.95)
    assert (mean.weight, mean.mean) == (0, 0.5)
