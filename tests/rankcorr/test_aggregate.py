import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import (
    LabelError,
    LabelMismatchError,
    LengthError,
    NonNumericError,
    OptionError,
    Ranking,
    RankingError,
    Tau,
    TauW,
    TooFewItemsError,
    UndefinedCorrelationWarning,
    correlate_many,
)
from rankcorr.aggregate import _rankings as rankings_module
from rankcorr.aggregate import _search as search
from rankcorr.aggregate import (
    borda,
    combine_submissions,
    consensus,
    kemeny,
    mean_rank,
    rank_weights,
    reciprocal_rank_fusion,
)
from tests import naive

WEIGHTS = {"rank": lambda r: r, "exponential": math.exp, "square_root": math.sqrt}
NUMBERS = st.sampled_from([0.1, 0.2, 0.5, 0.9])


pytestmark = pytest.mark.filterwarnings("ignore:the correlation is undefined", "ignore:the rankings fall into")


@given(
    st.lists(st.tuples(NUMBERS, st.lists(NUMBERS, min_size=3, max_size=3)), min_size=1, max_size=6),
    st.sampled_from(list(WEIGHTS)),
)
def test_scores_are_the_weighted_means_of_section_4_1(rows, weights):
    results = {f"s{number}": result for number, (result, _) in enumerate(rows)}
    submissions = {f"s{number}": dict(zip("xyz", scores, strict=True)) for number, (_, scores) in enumerate(rows)}
    combined = combine_submissions(submissions, results, weights=weights)
    reversed_ranks = {
        name: 1 + sum(other < result for other in results.values()) + (list(results.values()).count(result) - 1) / 2
        for name, result in results.items()
    }
    alphas = {name: WEIGHTS[weights](rank) for name, rank in reversed_ranks.items()}
    for item in "xyz":
        expected = sum(alphas[name] * submissions[name][item] for name in results) / sum(alphas.values())
        assert combined.scores[item] == pytest.approx(expected, abs=1e-12)
    assert sum(combined.weights.values()) == pytest.approx(1)
    submitted_results = {name: results[name] for name in results}
    assert rank_weights(submitted_results, kind=weights) == pytest.approx(combined.weights)


def test_the_best_submission_of_each_team_counts():
    submissions = {name: {"x": number, "y": 1.0} for number, name in enumerate(["a1", "a2", "b1"])}
    teams = {"a1": "a", "a2": "a", "b1": "b"}
    combined = combine_submissions(submissions, {"a1": 0.5, "a2": 0.9, "b1": 0.7}, teams=teams)
    assert combined.weights == {"a2": pytest.approx(2 / 3), "b1": pytest.approx(1 / 3)}
    assert combined.left_out == ("a1",)
    assert combined.scores["x"] == pytest.approx(1 * 2 / 3 + 2 / 3)
    tied = combine_submissions(submissions, {"a1": 0.5, "a2": 0.5, "b1": 0.7}, teams=teams)
    assert tied.left_out == ("a2",)


def test_many_submissions_do_not_overflow():
    submissions = {number: {"x": 1.0} for number in range(2000)}
    combined = combine_submissions(submissions, {number: number for number in range(2000)}, weights="exponential")
    assert combined.weights[1999] == pytest.approx(1 - math.exp(-1))


@pytest.mark.parametrize(
    ("submissions", "results", "options", "error", "message"),
    [
        ({}, {}, {}, RankingError, "submissions are needed; got none"),
        ([1], {}, {}, RankingError, "submissions must be a mapping"),
        ({"a": [1]}, {"a": 1}, {}, RankingError, "each submission must map items to scores; not: 'a'"),
        ({"a": {"x": 1}}, {"b": 1}, {}, LabelMismatchError, "submissions and results must name the same ones"),
        ({"a": {"x": 1}}, {"a": 1}, {"teams": {}}, LabelMismatchError, "submissions and teams must .*: 'a'"),
        ({"a": {"x": 1}}, {"a": 1}, {"teams": {"a": ["t"]}}, OptionError, "the name of a team must be hashable"),
        ({"a": {"x": 1}}, {"a": 1}, {"teams": {"a": None}}, OptionError, "every submission needs a team; got None"),
        ({"a": {"x": 1}, "b": {"y": 1}}, {"a": 2, "b": 1}, {}, LabelMismatchError, "different items: 'x', 'y'"),
        ({"a": {"x": math.nan}}, {"a": 1}, {}, NonNumericError, "scores of 'a' must be finite numbers.*: 'x'"),
        ({"a": {"x": 1}}, {"a": math.inf}, {}, NonNumericError, "results must be finite numbers; not those of: 'a'"),
        ({"a": {"x": 1}}, {"a": 1}, {"weights": "log"}, OptionError, "weights must be one of"),
    ],
)
def test_invalid_input_is_named(submissions, results, options, error, message):
    with pytest.raises(error, match=message):
        combine_submissions(submissions, results, **options)


def sets_of_rankings(max_items):
    """Rows of scores with many ties, and a weight for each row."""
    sizes = st.tuples(st.integers(1, 4), st.integers(2, max_items))
    row = st.integers(0, 3).map(float)
    return sizes.flatmap(
        lambda size: st.tuples(
            st.lists(st.lists(row, min_size=size[1], max_size=size[1]), min_size=size[0], max_size=size[0]),
            st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=size[0], max_size=size[0]),
        )
    )


def drop_one_item_each(rows):
    """Mappings of the items of each row, each without a different item."""
    return [{item: score for item, score in enumerate(row) if item != place} for place, row in enumerate(rows)]


def ranks_by_item(ranking):
    scores = ranking if isinstance(ranking, dict) else dict(enumerate(ranking))
    return dict(zip(scores, naive.midranks(list(scores.values())), strict=True))


@given(sets_of_rankings(6))
def test_scores_are_the_means_of_points_ranks_and_reciprocals(case):
    rows, weights = case
    ranks = [naive.midranks(row) for row in rows]
    n_items = len(rows[0])

    def mean(of_rank):
        return [
            sum(weight * of_rank(row[item]) for row, weight in zip(ranks, weights, strict=True)) / sum(weights)
            for item in range(n_items)
        ]

    points, means, reciprocals = mean(lambda r: n_items - r), mean(lambda r: r), mean(lambda r: 1 / (60 + r))
    assert list(borda(rows, weights=weights).scores.values()) == pytest.approx(points)
    merged = mean_rank(rows, weights=weights)
    assert list(merged.scores.values()) == pytest.approx(means)
    assert merged.ranking.ranks.tolist() == naive.midranks([-round(value, 9) for value in means])
    fused = reciprocal_rank_fusion(rows, weights=weights).scores
    assert list(fused.values()) == pytest.approx([value * len(rows) for value in reciprocals])
    agreements = correlate_many(merged.ranking, np.array(rows)).statistic.tolist()
    assert list(merged.agreements.values()) == pytest.approx(agreements, abs=1e-12, nan_ok=True)


@given(sets_of_rankings(5), st.booleans())
def test_kemeny_is_the_best_of_all_orders(case, is_lacking):
    rows, weights = case
    rankings = drop_one_item_each(rows) if is_lacking else rows
    keyed = [ranks_by_item(ranking) for ranking in rankings]
    labels = sorted({item for ranks in keyed for item in ranks})
    if is_lacking and (len(labels) < 2 or any(len(ranking) < 2 for ranking in rankings)):
        return
    merged = kemeny(rankings, weights=weights, missing="skip" if is_lacking else "raise")
    distances = [naive.kemeny_distance(order, keyed, weights) for order in itertools.permutations(labels)]
    assert merged.objective == pytest.approx(min(distances), abs=1e-9)
    items = merged.ranking.labels or range(len(labels))
    order = [items[place] for place in merged.ranking.best_first]
    assert naive.kemeny_distance(order, keyed, weights) == pytest.approx(min(distances), abs=1e-9)
    assert merged.exact
    assert merged.ranking.n_ties == 0


@pytest.mark.parametrize("method", ["order_by_program", "order_by_moves"])
def test_longer_lists_are_as_good_as_by_dynamic_programming(method):
    rng = np.random.default_rng(1)
    for _ in range(5):
        costs = rng.random((9, 9))
        costs = np.round(np.triu(costs, 1) + np.tril(1 - costs.T, -1), 2)
        exact, order = search.order_by_subsets(costs), getattr(search, method)(costs)
        best, result = (np.triu(costs[np.ix_(o, o)], 1).sum() for o in (exact, order))
        if method == "order_by_program":
            assert result == pytest.approx(best)
        else:
            assert best - 1e-9 <= result <= 1.1 * best
        assert sorted(order) == list(range(9))


@pytest.mark.parametrize("light", [1e-5, 1e-8])
def test_an_integer_program_orders_pairs_of_little_weight_too(light):
    rng = np.random.default_rng(5)
    for _ in range(9):
        costs = light * rng.integers(0, 4, (11, 11))
        costs[-3:, -3:] = np.tri(3, 3, -1)  # the heaviest rankings order these items alone
        exact, order = search.order_by_subsets(costs), search.order_by_program(costs)
        best, result = (np.triu(costs[np.ix_(o, o)], 1).sum() for o in (exact, order))
        assert result == pytest.approx(best, rel=0, abs=0.1 * light)


@given(st.lists(st.permutations(range(5)), min_size=2, max_size=5))
def test_kemeny_breaks_ties_of_orders_by_borda(rows):
    rankings = np.array(rows, float)
    points = borda(rankings).scores
    by_points = sorted(range(5), key=lambda item: -round(points[item], 9))
    place = {item: number for number, item in enumerate(by_points)}
    keyed = [ranks_by_item(ranking) for ranking in rows]
    distances = {
        order: round(naive.kemeny_distance(order, keyed, [1] * len(rows)), 9)
        for order in itertools.permutations(range(5))
    }
    least = min(distances.values())
    expected = max(
        (order for order in distances if distances[order] == least), key=lambda o: [place[i] for i in o[::-1]]
    )
    assert tuple(kemeny(rankings).ranking.best_first.tolist()) == expected


def test_the_capital_of_tennessee():
    """Electowiki, Kemeny-Young method and Tennessee example: of 100 voters, the best order contradicts 207 pairs."""
    voters = {"MNCK": 42, "NCKM": 26, "CKNM": 15, "KCNM": 17}
    ballots = {order: Ranking.from_order(list(order)) for order in voters}
    merged = kemeny(ballots, weights=voters)
    assert dict(zip(merged.ranking.labels, merged.ranking.ranks, strict=True)) == {"N": 1, "C": 2, "K": 3, "M": 4}
    assert merged.objective == pytest.approx(2.07)
    assert borda(ballots, weights=voters).scores == pytest.approx({"M": 1.26, "N": 1.94, "C": 1.73, "K": 1.07})


def test_kemeny_notes_when_the_list_is_too_long_for_certainty(monkeypatch):
    rows = [np.roll(np.arange(15), shift) for shift in (0, 5, 10)]  # circular majorities
    assert kemeny(rows).exact
    monkeypatch.setattr(search, "MOST_PROGRAMMED", 2)
    merged = kemeny(rows)
    assert not merged.exact
    assert "by local search" in repr(merged)
    monkeypatch.setattr(search, "MOST_PROGRAMMED", 60)
    monkeypatch.setattr(search, "SECONDS", 0.0)
    assert not kemeny(rows).exact


@given(sets_of_rankings(4), st.booleans())
def test_consensus_is_the_best_of_all_orders_with_ties(case, is_lacking):
    rows, weights = case
    rows = [row for row in rows if len(set(row)) > 1]
    weights = weights[: len(rows)]
    rankings = drop_one_item_each(rows) if is_lacking else rows
    if not rows or (is_lacking and (len(rows) < 2 or any(len(set(row.values())) < 2 for row in rankings))):
        return
    merged = consensus(rankings, weights=weights, missing="skip" if is_lacking else "raise")
    items = list(range(len(rows[0]))) if merged.ranking.labels is None else list(merged.ranking.labels)
    listed = [[ranks_by_item(ranking).get(item) for item in items] for ranking in rankings]
    f = naive.inverse_square(2)
    means = [naive.mean_tau_w(order, listed, weights, f) for order in naive.weak_orders(len(items))]
    best = max(value for value in means if not math.isnan(value))
    assert merged.objective == pytest.approx(best, abs=1e-9)
    assert naive.mean_tau_w(merged.ranking.ranks.tolist(), listed, weights, f) == pytest.approx(best, abs=1e-9)


def test_consensus_of_five_items_and_its_search(monkeypatch):
    rows = [[5, 4, 3, 2, 1], [5, 3, 4, 1, 2], [4, 5, 1, 2, 3]]
    ranks, f = [naive.midranks(row) for row in rows], naive.inverse_square(2)
    best = max(naive.mean_tau_w(o, ranks, [1, 1, 1], f) for o in naive.weak_orders(5) if len(set(o)) > 1)
    merged = consensus(rows)
    assert merged.objective == pytest.approx(best, abs=1e-9)
    assert merged.exact
    monkeypatch.setattr(rankings_module, "MOST_ENUMERATED", 1)
    climbed = consensus(rows)
    assert climbed.objective == pytest.approx(best, abs=1e-9)
    assert not climbed.exact
    flat = consensus(rows, coefficient=TauW(n0=1e6)).objective
    assert consensus(rows, coefficient=Tau()).objective == pytest.approx(flat, abs=1e-5)


def test_the_search_for_a_consensus_reports_its_progress():
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(9.0), (3, 1)), axis=1)
    steps = []
    merged = consensus(list(orders), progress=steps.append)
    assert merged.objective == consensus(list(orders)).objective
    assert steps[0] == 5  # initial orders of the search
    assert sum(steps) > 10 * 9  # moves of each of the nine items


def test_the_consensus_of_copies_is_the_ranking_itself():
    row = [9, 7, 7, 5, 3, 2, 2, 2, 1, 0]
    merged = consensus([row, row, row])
    assert merged.objective == pytest.approx(1)
    assert merged.ranking.ranks.tolist() == naive.midranks(row)


def test_tied_rankings_have_no_agreement():
    with pytest.warns(UndefinedCorrelationWarning, match="tied in the merged ranking, or in: 'b'"):
        merged = consensus({"a": [3, 2, 1], "b": [1, 1, 1]})
    assert merged.ranking == Ranking.from_scores([3, 2, 1])
    assert merged.objective == pytest.approx(1)
    assert math.isnan(merged.agreements["b"])
    with pytest.warns(UndefinedCorrelationWarning, match="'a', 'b'"):
        merged = consensus({"a": [1, 1, 1], "b": [1, 1, 1]})
    assert merged.ranking.ranks.tolist() == [2, 2, 2]
    assert math.isnan(merged.objective)


def test_missing_items_of_a_ranking():
    juries = {"first": {"ant": 4, "bee": 3, "cat": 2, "dog": 1}, "second": {"bee": 9, "ant": 4}}
    assert borda(juries, missing="skip").scores == {"ant": 1.5, "bee": 2.5, "cat": 1.0, "dog": 0.0}
    assert borda(juries, missing="intersection").scores == {"ant": 0.5, "bee": 0.5}
    assert borda(juries, missing="bottom").scores == {"ant": 2.5, "bee": 2.5, "cat": 0.75, "dog": 0.25}
    skipped = reciprocal_rank_fusion(juries, missing="skip").scores
    assert skipped == pytest.approx({"ant": 1 / 61 + 1 / 62, "bee": 1 / 61 + 1 / 62, "cat": 1 / 63, "dog": 1 / 64})
    assert mean_rank(juries, missing="skip").missing == "skip"
    assert borda({"first": {"ant": 2, "bee": 1}, "second": {"bee": 1, "cat": 2}}, missing="skip").scores == {
        "ant": 2.0,
        "bee": 0.0,
        "cat": 2.0,
    }


@pytest.mark.parametrize("method", rankings_module.MERGE_METHODS)
def test_rankings_without_common_items_are_noted(method):
    parts = {"first": {"ant": 2, "bee": 1}, "second": {"cat": 2, "dog": 1}, "third": {"eel": 3, "fly": 2, "gnu": 1}}
    with pytest.warns(UserWarning, match="fall into 3 parts without a common item: no ranking orders"):
        rankings_module.merge(parts, method, missing="skip")
    with warnings.catch_warnings(action="error"):
        rankings_module.merge(parts | {"all": {"ant": 3, "cat": 2, "eel": 1}}, method, missing="skip")


def test_results_are_tables():
    merged = borda({"first": {"ant": 3, "bee": 2}, "second": {"ant": 9, "bee": 4}})
    assert merged.to_dict()["ranking"] == [["ant", 1.0], ["bee", 2.0]]
    assert merged.to_dict()["agreements"] == {"first": 1.0, "second": 1.0}
    assert "2 rankings merged by borda." in merged.to_latex()
    assert list(merged.to_frame().columns) == ["rank", "item", "score"]
    assert list(kemeny([[2, 1]]).to_frame().columns) == ["rank", "item"]
    assert merged == borda({"first": {"ant": 3, "bee": 2}, "second": {"ant": 9, "bee": 4}})


@pytest.mark.parametrize(
    ("rankings", "options", "error", "message"),
    [
        ({}, {}, TooFewItemsError, "there is no ranking to merge"),
        ("abc", {}, RankingError, "rankings must be a mapping, a list or a data frame of rankings; got 'abc'"),
        (Ranking.from_scores([2, 1]), {}, RankingError, "rankings must be a mapping, a list or a data frame"),
        ([[1, 2], {"a": 1, "b": 2}], {}, LabelError, "some have none; without labels: 0"),
        ([[1, 2], [1, 2, 3]], {}, LengthError, "must have the same length; got 2, 3 items"),
        ([{"a": 1, "b": 2}, {"a": 1, "c": 2}], {}, LabelMismatchError, "ranking 0 lacks items of other rankings: 'c'"),
        ([{"a": 1, "b": 2}, {"c": 1, "d": 2}], {"missing": "intersection"}, TooFewItemsError, "in common; they have 0"),
        ([{7: 1, "b": 2}, {"7": 1, "b": 2}], {}, LabelMismatchError, "differ only in their types: write all"),
        ([[1, 2]], {"missing": "gold"}, OptionError, "missing must be one of"),
        ([[1, 2]], {"weights": [1, 2]}, OptionError, "a number for each of the 1 rankings"),
        ([[1, 2]], {"weights": [-1]}, OptionError, "weights must be finite, not negative and not all 0"),
        ([[1, 2]], {"weights": {"a": 1}}, LabelMismatchError, "the merged rankings and no others; different: 'a', 0"),
    ],
)
def test_rankings_that_cannot_be_merged(rankings, options, error, message):
    for merge in (borda, mean_rank, reciprocal_rank_fusion, kemeny, consensus):
        with pytest.raises(error, match=message):
            merge(rankings, **options)


@pytest.mark.parametrize("k", [-1, math.nan, math.inf, "60"])
def test_invalid_offsets_of_reciprocal_ranks_are_refused(k):
    with pytest.raises(OptionError, match="k must be a finite number, not negative"):
        reciprocal_rank_fusion([[1, 2]], k=k)


@pytest.mark.parametrize(
    ("results", "error", "message"),
    [([1], RankingError, "results must be a mapping"), ({}, RankingError, "results are needed; got none")],
)
def test_results_without_weights_are_refused(results, error, message):
    with pytest.raises(error, match=message):
        rank_weights(results)


def test_a_series_of_weights_is_matched_by_name():
    """A dict of weights is, and pandas keeps the order in which a series was made or sorted."""
    rankings = {"ann": [3, 2, 1], "bob": [1, 2, 3]}
    expected = borda(rankings, weights={"ann": 1, "bob": 5}).weights
    assert borda(rankings, weights=pd.Series({"bob": 5, "ann": 1})).weights == expected
    assert borda(rankings, weights=pd.Series([1, 5])).weights == expected
    assert borda([[3, 2, 1], [1, 2, 3]], weights={1: 5, 0: 1}).ranking.best_first.tolist() == [2, 1, 0]
    numbered = {1: rankings["ann"], 0: rankings["bob"]}
    assert borda(numbered, weights=pd.Series([5, 1])).weights == borda(numbered, weights={0: 5, 1: 1}).weights
    with pytest.raises(LabelMismatchError, match="weights must name the merged rankings and no others; different"):
        borda(rankings, weights=pd.Series({"ann": 1, "cem": 5}))
    with pytest.raises(OptionError, match=r"weights must be a number for each of the 2 rankings; got \{1, 5\}"):
        borda(rankings, weights={1, 5})  # without an order
