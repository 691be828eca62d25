import math
from dataclasses import fields

import numpy as np
import pytest

from rankcorr import OptionError, holm
from rankcorr.evaluation import (
    MetricError,
    PairedDifference,
    compare_evaluated,
    compare_runs,
    corrected_together,
    evaluate,
    read_qrels,
    read_run,
    worst,
)


def case(n_queries=40, noises=(0.5, 0.6, 3.0), seed=0):
    rng = np.random.default_rng(seed)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(3)) for d in range(10)} for q in range(n_queries)}
    runs = {
        name: {q: {d: rel + noise * rng.normal() for d, rel in grades.items()} for q, grades in qrels.items()}
        for name, noise in zip("abc", noises, strict=True)
    }
    return qrels, runs


def test_the_better_runs_lead_and_the_poor_one_differs_significantly():
    qrels, runs = case()
    result = compare_runs(qrels, runs, n_resamples=2_000)
    values = evaluate(qrels, runs, standardized=False)
    assert [row.mean for row in result.rows] == sorted((values.mean("tau_w", run) for run in runs), reverse=True)
    assert result.rows[-1].run == "c"
    assert result.rows[-1].group > 1
    assert [row.rank for row in result.rows] == [1.0, 2.0, 3.0]
    assert all(row.low < row.mean < row.high for row in result.rows)
    assert len(result.pairs) == 3
    for row in result.rows[1:]:  # one pair has one set of p-values
        pair = result.pair(result.runs[0], row.run)
        assert (row.pvalue, row.corrected_pvalue) == (pair.pvalue, pair.corrected_pvalue)
    assert all(pair.corrected_pvalue >= pair.pvalue for pair in result.pairs)
    assert result.correction == "step-down"
    assert (result.unit, result.metric, result.test) == ("queries", "tau_w", "randomization")


@pytest.mark.parametrize("test", ["randomization", "t", "bootstrap"])
def test_a_pair_is_described_in_full(test):
    qrels, runs = case(noises=(0.5, 1.0, 1.0))
    result = compare_runs(qrels, runs, metric="ap", baseline="c", test=test, n_resamples=999)
    assert [(pair.first, pair.second) for pair in result.pairs] == [(run, "c") for run in result.runs if run != "c"]
    pair = result.pairs[0]
    assert (result.test, all(row.corrected_pvalue >= row.pvalue for row in result.pairs)) == (test, True)
    differences = result.differences(pair.first, "c")
    assert pair.difference == pytest.approx(differences.mean())
    assert pair.effect_size == pytest.approx(differences.mean() / differences.std(ddof=1))
    assert (pair.n_queries, pair.n_better, pair.n_worse) == (40, (differences > 0).sum(), (differences < 0).sum())
    assert pair.low < pair.difference < pair.high
    assert (pair.low > 0) == (pair.pvalue <= 0.05)
    assert pair.detectable > 0
    np.testing.assert_array_equal(result.differences(), differences)
    with pytest.raises(OptionError, match="first and second go together: name both runs or neither"):
        result.differences("c")


@pytest.mark.parametrize("baseline", [None, "a"])
def test_the_run_that_is_named_first_comes_first(baseline):
    qrels, runs = case()
    result = compare_runs(qrels, runs, baseline=baseline, n_resamples=500)
    means = {row.run: row.mean for row in result.rows}
    for first, second in (("a", "c"), ("c", "a")):
        pair = result.pair(first, second)
        values = result.differences(first, second)
        assert (pair.first, pair.second) == (first, second)
        assert pair.difference == pytest.approx(means[first] - means[second])
        assert pair.low < pair.difference < pair.high
        assert pair.effect_size == pytest.approx(values.mean() / values.std(ddof=1))
        assert (pair.n_better, pair.n_worse) == ((values > 0).sum(), (values < 0).sum())
    pair, other = result.pair("a", "c"), result.pair("c", "a")
    assert (pair.pvalue, pair.corrected_pvalue) == (other.pvalue, other.corrected_pvalue)
    assert other == pair.reverse()
    assert other.reverse() == pair


def test_pairs_omit_queries_missing_in_one_of_their_runs():
    qrels, runs = case()
    runs["a"] = {query: result for query, result in runs["a"].items() if query != "q0"}
    result = compare_runs(qrels, runs, n_resamples=100)
    sizes = {(pair.first, pair.second): pair.n_queries for pair in result.pairs}
    assert {n for pair, n in sizes.items() if "a" in pair} == {39}
    assert {n for pair, n in sizes.items() if "a" not in pair} == {40}
    assert {row.run: row.n_queries for row in result.rows} == {"a": 39, "b": 40, "c": 40}
    (lacking,) = (c.not_in_run for run, c in zip(result.runs, result.coverage, strict=True) if run == "a")
    assert lacking == ("q0",)


def test_standardized_values_are_compared_on_request():
    qrels, runs = case()
    result = compare_runs(qrels, runs, standardized=True, n_resamples=100)
    values = evaluate(qrels, runs)
    assert result.standardized
    for row in result.rows:
        assert row.mean == values.mean("tau_w", row.run, standardized=True)


def test_groups_of_queries_are_compared_and_corrected_together():
    qrels, runs = case()
    groups = {query: "odd" if int(query[1:]) % 2 else "even" for query in qrels}
    result = compare_runs(qrels, runs, groups=groups, baseline="c", n_resamples=500)
    assert [(group.group, group.n_queries) for group in result.groups] == [("even", 20), ("odd", 20)]
    even = {query: grades for query, grades in qrels.items() if groups[query] == "even"}
    alone = evaluate(even, runs, standardized=False)
    assert result.groups[0].means == pytest.approx([alone.mean("tau_w", run) for run in result.runs], abs=1e-12)
    pairs = [pair for group in result.groups for pair in group.pairs]
    np.testing.assert_allclose([p.corrected_pvalue for p in pairs], holm([p.pvalue for p in pairs]))
    with pytest.raises(OptionError, match="every query of qrels needs a group; without one: 'q3'"):
        compare_runs(qrels, runs, groups={query: 1 for query in qrels if query != "q3"})
    with pytest.raises(OptionError, match="groups must be a mapping"):
        compare_runs(qrels, runs, groups=["odd"])


def test_runs_without_a_value_come_last():
    qrels, runs = case(n_queries=14)
    runs["d"] = {query: dict.fromkeys(result, 1.0) for query, result in qrels.items()}
    with pytest.warns(UserWarning, match="a mean is undefined"):
        result = compare_runs(qrels, runs, n_resamples=100)
    last = result.rows[-1]
    assert (last.run, last.group, last.n_queries) == ("d", None, 0)
    assert math.isnan(last.rank)
    assert math.isnan(result.pair("d", "a").pvalue)


def test_equal_runs_tie():
    qrels, runs = case()
    result = compare_runs(qrels, {"x": runs["a"], "y": runs["a"]}, n_resamples=100)
    assert [row.rank for row in result.rows] == [1.5, 1.5]
    pair = result.pairs[0]
    assert (pair.difference, pair.pvalue, pair.low, pair.high) == (0.0, 1.0, 0.0, 0.0)
    assert math.isnan(pair.effect_size)
    assert math.isnan(pair.detectable)
    assert (pair.least.difference, pair.least.pvalue, pair.most.difference, pair.fragile) == (0, 1, 0, False)


@pytest.mark.parametrize("test", ["randomization", "t"])
@pytest.mark.parametrize("seed", range(2))
def test_influential_queries_follow_from_comparisons_without_each(seed, test):
    qrels, runs = case(8, noises=(1.0, 1.5, 2.0), seed=seed)
    options = {"metric": "rho", "test": test, "level": 0.8, "n_resamples": 100}
    result = compare_runs(qrels, runs, **options)
    for pair in result.pairs:
        comparisons_without = {}
        for query in qrels:
            rest = {other: grades for other, grades in qrels.items() if other != query}
            comparisons_without[query] = compare_runs(rest, runs, **options).pair(pair.first, pair.second)
        differences = [pair_without.difference for pair_without in comparisons_without.values()]
        assert pair.least.difference == pytest.approx(min(differences), abs=1e-12)
        assert pair.most.difference == pytest.approx(max(differences), abs=1e-12)
        for influence in (pair.least, pair.most):
            assert comparisons_without[influence.label].difference == pytest.approx(influence.difference, abs=1e-12)
            assert comparisons_without[influence.label].pvalue == pytest.approx(influence.pvalue, abs=1e-12)
        rejects = {influence.pvalue <= 0.2 for influence in (pair.least, pair.most)}
        assert pair.fragile == (rejects != {pair.pvalue <= 0.2})
        assert (pair.low > 0 or pair.high < 0) == (pair.pvalue <= 0.2)


def case_of_one_query():
    """Ten queries with one relevant document; `good` has it first, `poor` has it lower for six queries."""
    places = {f"q{number}": max(1, number - 2) for number in range(9)} | {"tiger": 8}
    qrels = {query: {"d1": 1} for query in places}

    def run(places):
        return {q: {f"d{1 if rank == p else rank + 1}": 9.0 - rank for rank in range(1, 9)} for q, p in places.items()}

    return qrels, {"good": run(dict.fromkeys(places, 1)), "poor": run(places)}


def test_one_query_decides():
    (pair,) = compare_runs(*case_of_one_query(), metric="ap").pairs
    assert (pair.n_queries, pair.n_better, pair.n_worse) == (10, 6, 0)
    # All signs of six differences must be observed or all reversed: 2 / 2^6, and without one query 2 / 2^5.
    assert (pair.pvalue, pair.fragile, pair.least.label, pair.least.pvalue) == (2 / 2**6, True, "tiger", 2 / 2**5)
    assert pair.low > 0
    assert pair.most.label in {"q0", "q1", "q2", "q3"}
    assert pair.reverse().most == pair.least.reverse()


def test_runs_with_one_query_in_common_or_none():
    qrels, runs = case(8, noises=(1.0, 1.0, 1.0))
    queries = list(qrels)
    for name, run_queries in (("a", queries[:4]), ("b", queries[3:])):
        runs[name] = {query: runs[name][query] for query in run_queries}
    runs["c"] = {query: runs["c"][query] for query in queries[4:]}
    for test in ("randomization", "t"):
        result = compare_runs(qrels, runs, test=test, n_resamples=99)
        one, none = result.pair("a", "b"), result.pair("a", "c")
        assert (one.n_queries, one.least, one.most, one.fragile) == (1, None, None, False)
        assert math.isnan(one.pvalue) if test == "t" else one.pvalue == 1
        assert (none.n_queries, none.least, none.most, none.fragile) == (0, None, None, False)
        assert np.isnan([none.difference, none.pvalue, none.low, none.high, none.detectable]).all()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": ["ap", "tau_w"]}, OptionError, "one metric is needed"),
        ({"metric": "nonsense"}, MetricError, "unknown metric"),
        ({"metric": "ap", "standardized": True}, OptionError, "only rank correlations can be standardized"),
        ({"baseline": "z"}, OptionError, "baseline must be one of 'a', 'b', 'c'"),
        ({"equivalent_within": "x"}, OptionError, "equivalent_within must be a positive number; got 'x'"),
        ({"equivalent_within": 0.1, "level": 0.5}, OptionError, "equivalent_within needs a level above 0.5; got 0.5"),
    ],
)
def test_options_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        compare_runs(*case(3), **options)


def test_at_least_two_runs_are_needed():
    qrels, runs = case(3)
    with pytest.raises(OptionError, match="at least two runs are needed to compare; got 'run'"):
        compare_runs(qrels, runs["a"])


def test_results_become_tables_and_documents():
    qrels, runs = case(15)
    result = compare_runs(qrels, runs, n_resamples=100)
    assert result.to_frame()["run"].tolist() == list(result.runs)
    content = result.to_dict()
    assert content["rows"][0]["pvalue"] is None
    assert content["pairs"][0].keys() == {field.name for field in fields(PairedDifference)}
    assert repr(result).startswith("<RunComparison of 3 runs over 15 queries, tau_w: ")
    assert compare_runs(qrels, runs, n_resamples=100) == result
    with pytest.raises(OptionError, match="'a' and 'z' were not compared"):
        result.pair("a", "z")
    with pytest.raises(OptionError, match=r"second must be one of .*; got 'z'"):
        result.differences("a", "z")


@pytest.mark.needs_numba
@pytest.mark.real_data
def test_the_best_run_on_cranfield_is_significantly_better(data_dir):
    folder = data_dir / "cranfield"
    runs = [read_run(folder / f"run-{name}.txt.gz") for name in ("bm25", "lsa", "tfidf")]
    result = compare_runs(read_qrels(folder / "qrels.txt.gz"), runs, metric="ndcg@10")
    assert [(row.run, row.group) for row in result.rows] == [("run-lsa", 1), ("run-bm25", 2), ("run-tfidf", 2)]
    assert result.pairs[0].difference == pytest.approx(0.0350, abs=5e-5)
    assert result.pairs[0].pvalue < 0.01


def test_the_worst_queries_and_their_documents():
    qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1, "e": 0}, "q3": {"a": 1}}
    best = {query: {document: float(rel) for document, rel in grades.items()} for query, grades in qrels.items()}
    poor = {**best, "q2": {"a": 3.0, "z": 2.0, "d": 1.0}}
    result = worst(qrels, {"best": best, "poor": poor})
    assert [query.query for query in result] == ["q2", "q1"]
    assert result[0].difference == result[0].first - result[0].second > 0
    places = {row.document: (row.relevance, row.first_rank, row.second_rank) for row in result[0].documents}
    assert places["d"] == (1.0, 1.0, 3.0)
    assert math.isnan(places["z"][0])  # it is not judged
    assert math.isnan(places["z"][1])
    assert result[0].documents[0].document == "d"
    assert result[0].documents[0].cost < 0  # it costs the second run more
    assert result[1].difference == 0.0
    turned = worst(qrels, {"best": best, "poor": poor}, metric="ap", first="poor", second="best", k=1)[0]
    assert (turned.query, turned.difference < 0, turned.documents[0].cost > 0) == ("q2", True, True)


def test_a_query_missing_in_a_run_has_no_documents():
    """The other run has costs, but there is no run to compare them with."""
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1, "b": 0}}
    runs = {"whole": {"q1": {"a": 1.0, "b": 2.0}, "q2": {"a": 2.0, "b": 1.0}}, "half": {"q2": {"a": 2.0, "b": 1.0}}}
    (lacking, _) = worst(qrels, runs, metric="p@1", k=2)
    assert (lacking.query, lacking.documents) == ("q1", ())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first": "a"}, "second must be one of"),
        ({"first": "a", "second": "a"}, "two different runs are needed"),
        ({}, "first must be one of"),
    ],
)
def test_worst_checks_its_options(options, message):
    with pytest.raises(OptionError, match=message):
        worst(*case(3), **options)


def test_an_evaluation_is_compared_without_new_evaluation():
    qrels, runs = case(15)
    evaluation = evaluate(qrels, runs, metrics=["ap", "tau_w"])
    common = {"baseline": "b", "n_resamples": 100, "groups": {query: query[-1] for query in qrels}}
    assert compare_evaluated(evaluation, "ap", **common) == compare_runs(qrels, runs, metric="ap", **common)
    standardized = compare_runs(qrels, runs, standardized=True, **common)
    assert compare_evaluated(evaluation, "tau_w", standardized=True, **common) == standardized
    for metric, options, message in (
        (None, {}, "metric must be one of 'ap', 'tau_w'"),
        ("ap", {"standardized": True}, "only rank correlations can be standardized; got 'ap'"),
    ):
        with pytest.raises(OptionError, match=message):
            compare_evaluated(evaluation, metric, **options)
    with pytest.raises(OptionError, match="at least two runs"):
        compare_evaluated(evaluate(qrels, runs["a"]))
    with pytest.raises(OptionError, match="evaluation must be an Evaluation, as evaluate returns; got"):
        compare_evaluated(runs)


def test_metrics_are_corrected_together():
    qrels, runs = case(n_queries=12)
    groups = {query: query[-1] for query in qrels}
    evaluation = evaluate(qrels, runs, metrics=["tau_w", "ap", "p@3"])
    alone = [compare_evaluated(evaluation, name, groups=groups, n_resamples=100) for name in evaluation.metrics]
    corrected = corrected_together(alone)
    assert [comparison.metric for comparison in corrected] == list(evaluation.metrics)
    all_pairs = [pair for comparison in corrected for pair in comparison.pairs]
    by_group = [pair for comparison in corrected for group in comparison.groups for pair in group.pairs]
    for pairs in (all_pairs, by_group):
        expected = holm([pair.pvalue for pair in pairs])
        np.testing.assert_array_equal([pair.corrected_pvalue for pair in pairs], expected)
    assert len(all_pairs) == 9
    assert [pair.pvalue for pair in all_pairs] == [pair.pvalue for comparison in alone for pair in comparison.pairs]
    assert {comparison.correction for comparison in corrected} == {"holm"}
    assert corrected_together(alone[:1]) == (alone[0],)
    assert corrected_together([]) == ()


def test_queries_of_one_cluster_are_not_independent():
    qrels, runs = case(n_queries=16)
    families = {query: number // 4 for number, query in enumerate(qrels)}
    alone, result = compare_runs(qrels, runs), compare_runs(qrels, runs, clusters=families)
    one, other = (comparison.pair("a", "c") for comparison in (result, alone))
    assert one.difference == other.difference
    # Four clusters have 2^4 flips, two of which are as extreme as the observed difference.
    assert one.pvalue >= 2 / 2**4 > other.pvalue
    assert (result.rows[0].low, result.rows[0].high) != (alone.rows[0].low, alone.rows[0].high)
    by_family = compare_runs(qrels, runs, clusters=families, groups=families, n_resamples=100)
    assert {pair.pvalue for group in by_family.groups for pair in group.pairs} == {1.0}
    with pytest.raises(OptionError, match="clusters: every query of qrels needs a group; without one"):
        compare_runs(qrels, runs, clusters={"q0": 1})
    with pytest.raises(OptionError, match="every query of qrels needs a group; that of 'q1' is ''"):
        compare_runs(qrels, runs, clusters=families | {"q1": ""})
    for option in ("clusters", "groups"):
        with pytest.raises(OptionError, match=r"every query of qrels needs a group; that of 'q1' is \['a'\]"):
            compare_runs(qrels, runs, **{option: families | {"q1": ["a"]}})


def test_pairs_have_verdicts_within_a_margin():
    qrels, runs = case()
    result = compare_runs(qrels, runs | {"d": runs["a"]}, n_resamples=500, equivalent_within=0.2)
    judged = {(pair.first, pair.second): pair.verdict for pair in result.pairs}
    assert {judged.get(("a", "d")), judged.get(("d", "a"))} <= {"equivalent", None}
    assert result.pair("a", "c").verdict == "better"
    assert result.pair("c", "a").verdict == "worse"
    assert result.pair("a", "d").reverse().verdict == "equivalent"
    assert {pair.verdict for pair in compare_runs(qrels, runs, n_resamples=50).pairs} == {None}
