"""Values by query and their means; measures of ir_measures have the values of the naive definitions."""

import math
import re
import subprocess
import sys
import time
from itertools import product

import ir_measures
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from ir_measures.measures import registry

from rankcorr import (
    MissingValueError,
    NonNumericError,
    OptionError,
    RhoW,
    TauW,
    UndefinedCorrelationWarning,
    null_distribution,
    weighted_tau,
)
from rankcorr._checks import collected_notices
from rankcorr._output.results import mean_of
from rankcorr.evaluation import (
    RBO,
    ColumnError,
    DuplicateDocumentError,
    MetricError,
    MissingMeasuresError,
    PrecisionAt,
    Qrels,
    QueryEvaluator,
    QueryMismatchError,
    Run,
    TauAP,
    UndefinedQueryError,
    UnjudgedError,
    compare_evaluated,
    compare_runs,
    correlate_groups,
    evaluate,
    read_qrels,
    read_run,
    streamed_means,
    worst,
)
from rankcorr.evaluation._grouped import GOLD_TIED, ONE_ITEM
from rankcorr.evaluation._metric_values import NOT_IN_RUN
from rankcorr.evaluation._metrics import LARGEST_GRADE, NDCG, as_metric, as_metrics, parsed_measure
from rankcorr.measures import rank_biased_overlap, tau_ap
from tests import naive
from tests.rankcorr.evaluation.cases import QRELS, RUNS, naive_match
from tests.repository import ROOT

GOLD = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}, "q3": {"a": 1, "b": 1}, "q4": {"a": 0, "b": 3}}
SYSTEM = {"q1": {"a": 9.0, "c": 8.0, "b": 7.0}, "q2": {"a": 1.0}, "q3": {"a": 2.0, "b": 1.0}, "q5": {"a": 1.0}}
CLASSIC_METRICS = ["ap", "p@1", "p@3", "p@10"]
SCORES, GOLD_SCORES = [0.3, 0.1, 0.2, 5.0, 0.9, 0.8, 0.7], [2, 0, 1, 3, 1, 2, 2]
GROUPS = ["q", "q", "q", "lone", "r", "r", "r"]


@given(QRELS, RUNS, st.sampled_from(["zero", "omit"]), st.sampled_from(["last", "omit"]))
def test_coefficients_are_those_of_each_query(qrels, run, unjudged, unretrieved):
    assume(set(qrels) & set(run))
    expected = naive_match(qrels, run, unjudged, unretrieved)
    with collected_notices():
        options = {"unjudged": unjudged, "unretrieved": unretrieved, "standardized": False}
        result = evaluate(qrels, run, metrics=["tau_w", RhoW(n0=0, scheme="first"), "tau_ap"], **options)
        for place, query in enumerate(qrels):
            rows = list(expected[query].values())
            x, y = [row[0] for row in rows], [row[1] for row in rows]
            short = len(rows) < 2
            values = [math.nan] * 3 if short else [weighted_tau(x, y), RhoW(n0=0, scheme="first")(x, y), tau_ap(x, y)]
            np.testing.assert_allclose(result.values[0, :, place], values, atol=1e-12)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="the parser of ir_measures fails on Python 3.14")
@pytest.mark.parametrize(
    "name", ["RR", "R@100", "nDCG(dcg='exp-log2')@10", "nDCG(gains={0: 0, 1: 3}) @ 5", "AP(rel=2)", "Bpref(rel=2)"]
)
def test_measures_are_parsed_as_by_ir_measures(name):
    assert as_metric(name).measure == ir_measures.parse_measure(name)


NO_MEASURES = ["nDCG(3)", "nDCG(rel)", "R@x", "R@", "nope@3", "AP(", "AP(**{1: 2})", "nDCG(foo=1)", "a.AP", "AP@5@5"]
NO_MEASURES += ["RR(rel=f())", "RR(rel=1, rel=2)", "RR(cutoff=5)@6"]
# Too deeply nested to parse, too deep for a tree, and too long a sum.
NO_MEASURES += ["RR@" + "-" * 20_000 + "1", "RR@" + "~" * 5_000 + "1", "RR@" + "1+" * 20_000 + "1"]


@pytest.mark.parametrize("name", NO_MEASURES, ids=lambda name: name[:20])
def test_invalid_measures_are_refused(name):
    with pytest.raises(MetricError, match="unknown metric"):
        as_metric(name)


@given(QRELS, RUNS)
def test_precision_is_that_of_trec_eval(qrels, run):
    assume(set(qrels) & set(run))
    result = evaluate(qrels, run, metrics=CLASSIC_METRICS)
    measures = [parsed_measure(name.upper(), registry) for name in CLASSIC_METRICS]
    theirs = ir_measures.iter_calc(measures, qrels, run)
    expected = {(str(measured.measure).lower(), measured.query_id): measured.value for measured in theirs}
    for name, query in product(CLASSIC_METRICS, qrels):
        assert result.of(name)[result.queries.index(query)] == pytest.approx(expected[name, query], abs=1e-12)


@pytest.mark.needs_numba
@pytest.mark.real_data
def test_means_on_cranfield_are_those_of_trec_eval(data_dir):
    folder = data_dir / "cranfield"
    qrels = read_qrels(folder / "qrels.txt.gz")
    runs = {name: read_run(folder / f"run-{name}.txt.gz") for name in ("bm25", "lsa", "tfidf")}
    metrics = ["tau_w", "ap", "p@10", "ndcg@10", ir_measures.AP, ir_measures.P @ 10]
    result = evaluate(qrels, runs, metrics=metrics, standardized=False)
    # trec_eval's means, from the README of the data
    for name, ndcg, average in (("bm25", 0.3551, 0.2867), ("lsa", 0.3901, 0.3302), ("tfidf", 0.3469, 0.2827)):
        assert result.mean("ndcg@10", name) == pytest.approx(ndcg, abs=5e-5)
        assert result.mean("ap", name) == pytest.approx(average, abs=5e-5)
        np.testing.assert_allclose(result.of("ap", name), result.of("AP", name), rtol=0, atol=1e-12)
        np.testing.assert_allclose(result.of("p@10", name), result.of("P@10", name), rtol=0, atol=1e-12)
    query = qrels["40"]
    system = runs["lsa"]["40"]
    labels = {**system, **query}
    gold = {document: query.get(document, 0) for document in labels}
    scores = {document: system.get(document, -math.inf) for document in labels}
    value = result.of("tau_w", "lsa")[qrels.queries.index("40")]
    assert value == pytest.approx(float(weighted_tau(gold, scores)), abs=1e-12)
    assert result.coverage[0].n_compared == 23_039


def test_undefined_values_are_counted_and_named():
    result = evaluate(GOLD, SYSTEM, metrics=["tau_w", "ap", "rbo"])
    by_metric = {(entry.metric, entry.reason): entry.queries for entry in result.undefined}
    assert by_metric["tau_w", ONE_ITEM] == ("q2",)
    assert by_metric["tau_w", GOLD_TIED] == ("q3",)
    assert by_metric["tau_w", NOT_IN_RUN] == ("q4",)
    assert ("ap", NOT_IN_RUN) not in by_metric  # 0, as ir_measures has it
    assert result.of("ap").tolist()[3] == 0.0
    assert not {metric for metric, _ in by_metric} & {"ap", "rbo"}
    assert result.of("rbo").tolist()[3] == 0.0
    assert (result.coverage[0].not_in_run, result.coverage[0].not_in_qrels) == (("q4",), ("q5",))
    assert result.mean("tau_w") == pytest.approx(float(weighted_tau([2, 1, 0], [9, 7, 8])))
    (row,) = [row for row in result.table() if row["metric"] == "tau_w"]
    assert (row["n_queries"], row["n_undefined"]) == (1, 3)


def test_undefined_values_can_count_as_0_or_raise():
    result = evaluate(GOLD, SYSTEM, undefined="zero")
    assert result.of().tolist()[1:] == [0.0, 0.0, 0.0]
    assert result.of(standardized=True).tolist()[1:] == [0.0, 0.0, 0.0]
    assert result.mean() == pytest.approx(float(weighted_tau([2, 1, 0], [9, 7, 8])) / 4)
    assert len(result.undefined) == 3
    (mean,) = result.means
    assert (mean.n_queries, mean.n_undefined) == (4, 3)
    assert result.table() == [vars(mean)]
    (first, others) = result.group_table({query: query == "q1" for query in result.queries})
    assert (first["n_queries"], others["n_queries"], others["mean"]) == (1, 3, 0.0)
    with pytest.raises(UndefinedQueryError, match="run 'run', tau_w: fewer than two documents; queries: 'q2'"):
        evaluate(GOLD, SYSTEM, undefined="error")


def test_a_mean_of_no_values_is_nan_with_a_warning():
    with pytest.warns(UndefinedCorrelationWarning, match=r"a mean is undefined.*: \('run', 'tau_w'\)") as w:
        result = evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}})
    assert math.isnan(result.mean())
    assert w[0].filename == __file__


def test_overlap_uses_the_complete_lists():
    result = evaluate(GOLD, SYSTEM, metrics=["rbo", RBO(p=0.5, ties="a")])
    kinds = ((0.9, "w"), (0.5, "a"))
    expected = [rank_biased_overlap(GOLD["q1"], SYSTEM["q1"], p=p, ties=ties).extrapolated for p, ties in kinds]
    assert result.values[0, :, 0].tolist() == expected
    assert result.metrics == ("rbo", "rbo(p=0.5, a)")


def test_overlap_counts_runs_of_one_hit():
    gold = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1}, "q3": {"a": 1, "b": 0}}
    values = evaluate(gold, {"q1": {"a": 1}, "q2": {"b": 2, "a": 1}}, metrics="rbo").of()
    expected = [rank_biased_overlap(["a", "b", "c"], ["a"]), rank_biased_overlap(["a"], ["b", "a"]), 0]
    assert values.tolist() == list(map(float, expected))


def test_runs_of_every_kind_and_their_names(tmp_path):
    run = Run.from_dict(SYSTEM, name="mine")
    path = tmp_path / "theirs.run"
    path.write_text("q1 Q0 a 1 3 x\nq1 Q0 b 2 2 x\n")
    frame = pd.DataFrame({"qid": ["q1", "q1"], "docno": ["a", "b"], "score": [1.0, 2.0]})
    assert evaluate(GOLD, SYSTEM).runs == ("run",)
    assert evaluate(Qrels.from_dict(GOLD), run).runs == ("mine",)
    assert evaluate(GOLD, [run, path]).runs == ("mine", "theirs")
    assert evaluate(GOLD, frame).runs == ("run",)
    assert evaluate(GOLD, {"one": SYSTEM, "two": path, "three": frame}).runs == ("one", "two", "three")
    assert evaluate(GOLD, [run, path]).mean("tau_w", "mine") == evaluate(GOLD, run).mean()


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ({}, "there is no run to evaluate"),
        ([], "there is no run to evaluate"),
        ({3: Run.from_dict(SYSTEM)}, "names of runs must be text; got: 3"),
        ([Run.from_dict(SYSTEM)] * 2, "runs in a list need names: give each a name="),
        ([Run.from_dict(SYSTEM, name="x")] * 2, "names of runs must be unique; more than once: 'x'"),
    ],
)
def test_invalid_runs_are_refused(runs, message):
    with pytest.raises(OptionError, match=message):
        evaluate(GOLD, runs)


def test_one_run_with_an_invalid_score_is_not_read_as_several():
    with pytest.raises(NonNumericError, match=r"document 'a' of query 'q1' is '0\.5'"):
        evaluate(GOLD, {"q1": {"a": "0.5"}})


@pytest.mark.parametrize(("good", "bad"), [(Run.from_dict(SYSTEM), {"q": {}}), (SYSTEM, {})])
def test_an_error_names_the_run(good, bad):
    with pytest.raises(ColumnError, match="run 'bad': there is no row"):
        evaluate(GOLD, {"good": good, "bad": bad})


def test_metrics_by_name_and_value():
    named = as_metrics(["TAU_W", TauW(n0=10), "P@5", "map", TauAP("b"), "rbo", "NDCG@10", "rr", ir_measures.ERR @ 20])
    assert list(named) == ["tau_w", "TauW(n0=10)", "p@5", "ap", "tau_ap(b)", "rbo", "ndcg@10", "rr", "ERR@20"]
    assert as_metric("alpha_ndcg@5").measure == ir_measures.alpha_nDCG @ 5


@pytest.mark.parametrize(
    ("metric", "other"),
    [
        (TauW(n0=10), TauW(n0=10)),
        ("ap", "MAP"),
        ("ndcg@2", "ndcg_cut_2"),
        ("rr", "recip_rank"),
        ("r@2", ir_measures.R @ 2),
    ],
)
def test_a_metric_is_looked_up_by_any_of_its_names(metric, other):
    runs = {"one": SYSTEM, "two": SYSTEM}
    evaluation = evaluate(GOLD, runs, metrics=[metric, "tau_w"])
    name = evaluation.metrics[0]
    assert evaluation.mean(other, "one") == evaluation.mean(name, "one")
    assert compare_evaluated(evaluation, other).metric == name


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], "metrics must be a list of different metrics"),
        (["ap", "map"], "metrics must be a list of different metrics; 'ap' and 'map' are one metric, ap"),
        (["ndcg@10", ir_measures.nDCG @ 10], "metrics; 'ndcg@10' and 'nDCG@10' are one metric"),
        (["mrr", "rr"], "'mrr' and 'rr' are one metric, RR"),
        (["tau_w", TauW(n0=2)], "metrics must be a list of different metrics; tau_w is given more than once"),
        ("ndcg@ten", "unknown metric 'ndcg@ten': use rho_w"),
        ("nonsense", "unknown metric 'nonsense': use rho_w"),
        ("ndcg(", r"unknown metric 'ndcg\(': use rho_w"),
        ("success", "success: cutoff must be given, as in Success@CUTOFF"),
        ("NERR8@5", r"nerr8@5: max_rel must be given, as in NERR8\(max_rel=\.\.\.\)"),
        ("rr@0x" + "f" * 20_000, r"^rr@0xf+\.\.\.: cutoff must be a whole number"),
        (3, "a metric must be a name, a coefficient or a measure of ir_measures; got 3"),
    ],
)
def test_invalid_metrics_are_refused(metrics, message):
    with pytest.raises(MetricError, match=message):
        evaluate(GOLD, SYSTEM, metrics=metrics)
    with pytest.raises(OptionError, match="k must be a positive whole number"):
        PrecisionAt(0)


@pytest.mark.parametrize(
    ("name", "metric"),
    [
        ("ndcg_cut_10", NDCG(10)),
        ("P_5", PrecisionAt(5)),
        ("map_cut_10", ir_measures.AP @ 10),
        ("recip_rank", ir_measures.RR),
        ("recall_100", ir_measures.R @ 100),
        ("success_1", ir_measures.Success @ 1),
    ],
)
def test_names_of_trec_eval_are_understood(name, metric):
    (mean,), (expected,) = (evaluate(GOLD, SYSTEM, metrics=[names]).means for names in (name, metric))
    assert (mean.mean, mean.metric) == (expected.mean, expected.metric.lower())
    with pytest.raises(MetricError, match="metrics must be a list of different metrics"):
        evaluate(GOLD, SYSTEM, metrics=[name, metric])


def test_without_ir_measures_its_metrics_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    assert evaluate(GOLD, SYSTEM, metrics=["tau_w", "ap", "ndcg@3"]).metrics == ("tau_w", "ap", "ndcg@3")
    with pytest.raises(MissingMeasuresError, match=r"pip install ir_measures"):
        evaluate(GOLD, SYSTEM, metrics="rr")


def test_familiar_measures_need_whole_numbers():
    qrels = {"q": {"a": 0.5, "b": 1}}
    with pytest.raises(
        MetricError,
        match=r"ndcg@10: relevance must be in whole numbers; it is 0.5 for \(query, document\) \('q', 'a'\)",
    ):
        evaluate(qrels, {"q": {"a": 1.0}}, metrics="ndcg@10")
    assert evaluate(qrels, {"q": {"a": 1.0, "b": 2.0}}).mean() == 1.0


@pytest.mark.needs_numba
def test_values_are_standardized_each_by_its_own_null():
    rng = np.random.default_rng(5)
    qrels = {f"q{n}": {f"d{d}": int(rng.integers(3)) for d in range(n)} for n in (3, 6, 30)}
    run = {query: {d: float(rng.integers(9)) for d in grades} for query, grades in qrels.items()}
    result = evaluate(qrels, run, metrics=["tau_w", "tau", "ap"], n_resamples=20_000)
    for place, query in enumerate(qrels):
        null = null_distribution(qrels[query], run[query], n_resamples=20_000)
        standardized = result.of("tau_w", standardized=True)[place]
        expected = null.standardize(result.of("tau_w")[place])
        assert standardized == pytest.approx(expected, abs=1e-12 if place < 2 else 0.01)
    np.testing.assert_array_equal(result.of("tau", standardized=True), result.of("tau"))
    assert np.isnan(result.of("ap", standardized=True)).all()
    with pytest.raises(OptionError, match="values were not standardized"):
        evaluate(qrels, run, standardized=False).of(standardized=True)


def test_results_become_tables_and_documents():
    result = evaluate(GOLD, {"one": SYSTEM, "two": SYSTEM}, metrics=["tau_w", "ap"])
    frame = result.to_frame()
    assert frame.columns.tolist() == ["run", "query", "tau_w", "tau_w standardized", "ap"]
    assert len(frame) == 8
    content = result.to_dict()
    assert content["values"][0][0][1] is None
    assert content["means"][0]["mean"] == result.mean("tau_w", "one")
    assert content["coverage"][0]["not_in_run"] == ["q4"]
    assert repr(result).startswith("<Evaluation of 4 queries: one tau_w 0.6252, one ap ")
    with pytest.raises(OptionError, match="run must be one of 'one', 'two'"):
        result.of("ap")
    assert math.isnan(mean_of(np.array([math.nan])))


@pytest.mark.parametrize("metric", ["tau_w", "tau_ap", "rbo", "rr"])
def test_what_progress_raises_stops_the_work_within_a_run(metric):
    """A clock is looked at before each query of a loop in Python, and before each block of a kernel."""

    def stop(_n_runs):
        raise ValueError("time is up")  # such as ir_measures raises itself

    with pytest.raises(ValueError, match=r"^time is up$"):
        evaluate(GOLD, SYSTEM, metrics=metric, progress=stop)
    steps = []
    gold, run = ({f"q{q}": scores["q1"] for q in range(50)} for scores in (GOLD, SYSTEM))
    evaluate(gold, run, metrics=metric, standardized=False, progress=steps.append)
    assert sum(steps) == 1
    assert steps.count(0) >= (3 if metric == "tau_w" else 50)


def test_progress_counts_runs():
    steps = []
    evaluate(GOLD, {"one": SYSTEM, "two": SYSTEM}, progress=steps.append)
    assert [n_runs for n_runs in steps if n_runs] == [1, 1]


@pytest.mark.parametrize("column", [list, np.array, pd.Series, pl.Series, pa.array])
def test_groups_of_columns_of_every_kind(column):
    order = np.random.default_rng(0).permutation(len(GROUPS)).tolist()
    columns = [column([values[row] for row in order]) for values in (SCORES, GOLD_SCORES, GROUPS)]
    result = correlate_groups(*columns, coefficient=TauW(n0=1))
    by_group = dict(zip(result.groups, result.values.tolist(), strict=True))
    assert by_group["q"] == pytest.approx(float(weighted_tau(GOLD_SCORES[:3], SCORES[:3], n0=1)), abs=1e-12)
    assert by_group["r"] == pytest.approx(float(weighted_tau(GOLD_SCORES[4:], SCORES[4:], n0=1)), abs=1e-12)
    assert math.isnan(by_group["lone"])
    assert result.undefined == {"fewer than two rows": ("lone",)}
    assert sorted(result.sizes.tolist()) == [1, 3, 3]
    assert (result.n0, result.coefficient, result.n_items) == (1.0, "tau_w", 7)


def test_means_of_groups_and_policies():
    result = correlate_groups(SCORES, GOLD_SCORES, GROUPS, standardized=True)
    assert result.mean == pytest.approx(np.nanmean(result.values))
    assert np.isnan(result.standardized[1])
    zero = correlate_groups(SCORES, GOLD_SCORES, GROUPS, undefined="zero", standardized=True)
    assert zero.values[1] == zero.standardized[1] == 0.0
    assert correlate_groups(SCORES, GOLD_SCORES, GROUPS).standardized is None
    with pytest.raises(UndefinedQueryError, match="tau_w: fewer than two rows; groups: 'lone'"):
        correlate_groups(SCORES, GOLD_SCORES, GROUPS, undefined="error")


def test_values_of_groups_are_an_array_and_a_table():
    result = correlate_groups(SCORES, GOLD_SCORES, GROUPS)
    assert np.asarray(result).tolist()[0] == result.values[0]
    assert result.to_frame().columns.tolist() == ["group", "tau_w", "n_items"]
    assert repr(result) == f"<GroupCorrelations of 3 groups, 7 rows, tau_w: mean {result.mean:.4f}>"


@pytest.mark.parametrize(
    ("columns", "error", "message"),
    [
        ((SCORES, GOLD_SCORES[:-1], GROUPS), ColumnError, "same length; got 7 groups, 6 gold scores and 7 scores"),
        (([], [], []), ColumnError, "there is no row"),
        ((SCORES, [math.nan, *GOLD_SCORES[1:]], GROUPS), MissingValueError, "needs a gold score; nan in row 0"),
        ((SCORES, GOLD_SCORES, [*GROUPS[:-1], 3]), ColumnError, "group ids must be all text or all whole numbers"),
    ],
)
def test_invalid_columns_of_groups_are_refused(columns, error, message):
    with pytest.raises(error, match=message):
        correlate_groups(*columns)


TWO_QUERIES = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1, "b": 0}}
RUN = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1, "b": 0}}
METRICS = ["tau_w", "rho_w", "tau", "rho", "tau_ap", "rbo", "ap", "p@2", "ndcg@2", "rr"]
MILLION = 1_000_000
LONG_ID = "x" * 10_000_000


def values(qrels, run, metrics=METRICS, **options):
    """Values by metric, of one query each."""
    result = evaluate(qrels, run, metrics=metrics, standardized=False, **options)
    return dict(zip(result.metrics, result.values[0].tolist(), strict=True))


@pytest.mark.parametrize("run", [{"q1": RUN["q1"]}, {"q1": RUN["q1"], "q2": {}}])
def test_a_query_of_qrels_alone_counts_0_or_does_not_exist(run):
    result = values(TWO_QUERIES, run)
    for metric in ("ap", "p@2", "ndcg@2", "rr", "rbo"):
        assert result[metric][1] == 0
    for metric in ("tau_w", "rho_w", "tau", "rho", "tau_ap"):
        assert math.isnan(result[metric][1])


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_one_document_has_no_correlation():
    result = values({"q": {"a": 1}}, {"q": {"a": 1}})
    assert {metric for metric, (value,) in result.items() if math.isnan(value)} == set(METRICS[:5])
    assert result["rbo"] == result["ap"] == result["ndcg@2"] == result["rr"] == [1.0]
    assert result["p@2"] == [0.5]


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_tied_scores_give_undefined_values():
    tied = {"q1": dict.fromkeys("abc", 1)}
    result = evaluate(TWO_QUERIES, tied, standardized=False)
    reasons = {entry.reason for entry in result.undefined}
    assert reasons == {"all scores of the run are tied", "the run does not have the query"}
    assert evaluate(tied, RUN, standardized=False).undefined[0].reason == "all gold scores are tied"
    assert worst(TWO_QUERIES, {"x": tied, "y": tied}) == ()
    pair = compare_runs(TWO_QUERIES, {"x": tied, "y": tied}).pairs[0]
    assert (pair.n_queries, math.isnan(pair.pvalue), math.isnan(pair.difference)) == (0, True, True)


def test_infinite_scores_are_the_largest_and_the_smallest():
    qrels = {"q": {"a": 1, "b": 0, "c": 2, "d": 0}}
    infinite = {"q": {"a": math.inf, "b": 1.0, "c": -math.inf, "e": 0.5}}
    finite = {"q": {"a": 9.0, "b": 1.0, "c": -9.0, "e": 0.5}}
    assert values(qrels, infinite) == values(qrels, finite)


def test_infinite_relevance_ranks_and_is_no_gain():
    gold = {"q": {"a": math.inf, "b": 0, "c": -math.inf}}
    assert values(gold, RUN | {"q": {"a": 3, "b": 2, "c": 1}}, METRICS[:4]) == {name: [1.0] for name in METRICS[:4]}
    with pytest.raises(MetricError, match=r"relevance must be in whole numbers; it is inf for .* \('q', 'a'\)"):
        values(gold, {"q": {"a": 1}}, "ndcg@2")


def test_negative_relevance_ranks_below_0_and_is_not_relevant():
    gold, run = {"q": {"a": -1, "b": 1, "c": 0}}, {"q": {"b": 3, "c": 2, "a": 1}}
    result = values(gold, run)
    assert [result[metric] for metric in METRICS[:4]] == [[1.0]] * 4
    assert (result["ap"], result["rr"]) == ([1.0], [1.0])
    assert evaluate(gold, run, standardized=False).coverage[0].n_negative == 1


@pytest.mark.wide
class TestMany:
    """A million of what is wrong: messages stay short, and making them takes no longer than finding it."""

    @pytest.mark.parametrize(("n_duplicated", "n_named"), [(3, 3), (MILLION // 2, 5)])
    def test_few_of_many_duplicates_are_named(self, n_duplicated, n_named):
        documents = [f"d{number % n_duplicated}" for number in range(MILLION)]
        columns = ["q"] * MILLION, documents, np.arange(MILLION)
        Run.from_columns(*(column[:10] for column in columns), duplicates="first")  # compiles
        begun = time.process_time()
        Run.from_columns(*columns, duplicates="first")
        allowed = 4 * (time.process_time() - begun) + 1
        begun = time.process_time()
        with pytest.raises(DuplicateDocumentError) as caught:
            Run.from_columns(*columns)
        assert time.process_time() - begun < allowed
        message = str(caught.value)
        assert len(message) < 250
        assert message.count("('q', 'd") == n_named
        assert (f"({n_duplicated:,} in all)" in message) == (n_duplicated > 5)

    def test_few_of_many_unjudged_documents_are_named(self):
        run = Run.from_columns(["q"] * MILLION, [f"z{number}" for number in range(MILLION)], np.arange(MILLION))
        with pytest.raises(UnjudgedError, match=r"\('q', 'z4'\), ... \(1,000,000 in all\)") as caught:
            evaluate({"q": {"a": 1, "b": 0}}, run, unjudged="error", standardized=False)
        assert len(str(caught.value)) < 250

    def test_long_ids_are_shortened(self):
        with pytest.raises(DuplicateDocumentError) as caught:
            Run.from_columns(["q", "q"], [LONG_ID, LONG_ID], [1, 2])
        assert len(str(caught.value)) < 250
        with pytest.raises(QueryMismatchError) as mismatch:
            evaluate({LONG_ID: {"a": 1}}, RUN)
        assert len(str(mismatch.value)) < 250
        with pytest.raises(MetricError) as metric:
            evaluate({"q": {LONG_ID: 0.5}}, {"q": {"a": 1}}, metrics="ndcg@2")
        assert len(str(metric.value)) < 250


@pytest.mark.wide
@pytest.mark.needs_numba
def test_odd_judgements_crash_nothing():
    """500 cases; tests/rankcorr/evaluation/odd_judgements.py says how to run 100,000."""
    command = [sys.executable, "-m", "tests.rankcorr.evaluation.odd_judgements", "--cases", "500"]
    process = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert process.returncode == 0, process.stderr
    assert process.stdout.startswith("500 cases, ")


@pytest.mark.parametrize("relevance", [LARGEST_GRADE + 1, 2**31 - 1, 2**31, 2**40, 1e300])
@pytest.mark.parametrize("metric", ["ndcg", "rr", "err@20"])
def test_relevance_has_a_limit(relevance, metric):
    qrels, run = {"q": {"a": 1, "b": relevance}}, {"q": {"a": 1, "b": relevance}}
    message = f"{metric}: relevance must be at most 1,000; it is {relevance:.13g} for (query, document) ('q', 'b')"
    with pytest.raises(MetricError, match=re.escape(message)):
        evaluate(qrels, run, metrics=metric)
    result = evaluate(qrels, run, metrics=["tau", "ap", "p@1"], standardized=False)
    assert result.values.tolist() == [[[1.0], [1.0], [1.0]]]


def test_the_largest_relevance_counts():
    qrels, run = {"q": {"a": LARGEST_GRADE, "b": 1}}, {"q": {"a": 1, "b": 2}}
    (value,) = evaluate(qrels, run, metrics="ndcg", standardized=False).of("ndcg")
    assert value == pytest.approx(naive.ndcg(qrels["q"], ["b", "a"]), abs=1e-12)


def test_relevance_has_its_limit_wherever_it_comes_from():
    qrels, run = {"q": {"a": 1, "b": 1001}, "r": {"a": 1}}, {"q": {"a": 1}, "r": {"a": 1}}
    listed = [(query, d, grade, run[query].get(d)) for query, grades in qrels.items() for d, grade in grades.items()]
    rows = pd.DataFrame(listed, columns=["query", "document", "relevance", "score"])
    evaluator = QueryEvaluator("rr", document="document", unjudged="zero", unretrieved="last")
    for call in (
        lambda: compare_runs(qrels, {"x": run, "y": run}, metric="rr"),
        lambda: evaluator.frame(rows),
        lambda: list(evaluator.batches([rows])),
        lambda: streamed_means([rows], evaluator),
    ):
        with pytest.raises(MetricError, match=r"at most 1,000; it is 1001 for \(query, document\) \('q', 'b'\)"):
            call()


def test_gains_are_applied_and_limited():
    qrels, run = {"q": {"a": -3, "b": 1, "c": 2, "d": -1}}, {"q": {"a": 3, "b": 2, "c": 1, "d": 4}}
    gains = {-3: 4, 1: -9, 2: 7}
    measure = ir_measures.nDCG(gains=gains) @ 3
    mapped = {document: gains.get(grade, grade) for document, grade in qrels["q"].items()}
    expected = naive.ndcg(mapped, ["d", "a", "b", "c"], 3)
    plain = naive.ndcg(qrels["q"], ["d", "a", "b", "c"], 3)
    for metrics in ([measure], [measure, "ndcg@3"], ["ndcg@3", measure]):  # ir_measures alone mixes the two up
        result = evaluate(qrels, run, metrics=metrics, standardized=False)
        assert result.of(str(measure)).tolist() == [pytest.approx(expected, abs=1e-12)]
        assert len(metrics) == 1 or result.of("ndcg@3").tolist() == [pytest.approx(plain, abs=1e-12)]


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("r@0", "r@0: cutoff must be a whole number from 1 to 2,147,483,647; got 0"),
        (ir_measures.R @ -1, "cutoff must be a whole number from 1 to 2,147,483,647; got -1"),
        ("ap@2147483648", "cutoff must be a whole number from 1"),
        ("bpref(rel=1000000000)", "rel must be a whole number from 0 to 1,000; got 1000000000"),
        (ir_measures.P(rel=-2) @ 5, "rel must be a whole number from 0 to 1,000; got -2"),
        ("ndcg(gains={1: 0.5})", "gains must be a whole number for each grade"),
        ("ndcg(gains={1: 1001})@2", "gains must be at most 1,000; got {1: 1001}"),
        (ir_measures.nDCG(gains=3), "gains must be a whole number for each grade"),
        ("ndcg(dcg='none')", "ir_measures cannot compute ndcg"),
    ],
)
def test_options_that_would_end_the_process(metric, message):
    with pytest.raises(MetricError, match=message):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, metrics=metric)


@pytest.mark.parametrize(
    "queries", [("no query", "no_query"), ("a-1", "b-1"), ("q\0", "q\0z"), ("\ud800", "é"), ("0", "1"), ("a b", "a\tb")]
)
@pytest.mark.parametrize(
    "documents", [("a b", "a c"), ("d\0", "d\0e"), ("\udfff", "a"), ("none", "a"), ("x" * 100_000, "x" * 100_001)]
)
def test_ids_may_be_any_text(queries, documents):
    first, second = documents
    qrels = {queries[0]: {first: 2, second: 0}, queries[1]: {first: 0, second: 1}}
    tied = {query: {first: 1.0, second: 1.0} for query in queries}  # the larger id is the first
    metrics = ["rr", "ndcg", "err@20"]
    result = evaluate(qrels, tied, metrics=metrics, standardized=False, self_hits="keep")
    for name, of_query in (("rr", naive.reciprocal_rank), ("ndcg", naive.ndcg)):
        expected = [of_query(grades, sorted(documents, reverse=True)) for grades in qrels.values()]
        assert result.of(name).tolist() == pytest.approx(expected, abs=1e-12)
    grades = {"2" if document == max(documents) else "1": grade for document, grade in qrels[queries[0]].items()}
    plain = evaluate({"1": grades}, {"1": {"1": 1.0, "2": 1.0}}, metrics="err@20", standardized=False)
    assert result.of("err@20")[0] == plain.values[0, 0, 0] > 0


@pytest.mark.parametrize("run", [{"a": 1e308, "b": math.inf, "c": 3e38}, {"a": math.inf, "b": 1e308, "c": 3e38}])
def test_scores_beyond_single_precision_tie_as_in_trec_eval(run):
    qrels, metrics = {"q": {"a": 0, "b": 1, "c": 0}}, ["ap", "ap(rel=1)", "p@1", "rr"]
    result = evaluate(qrels, {"q": run}, metrics=metrics, standardized=False)
    assert result.values[0, :, 0].tolist() == [1.0, 1.0, 1.0, 1.0]


def test_what_is_computed_besides_changes_no_value():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1, "b": 2, "c": 3}}
    result = evaluate(qrels, run, metrics=["numret", "ndcg(judged_only=True)@3"], standardized=False)
    assert result.values[0, :, 0].tolist() == [3.0, 1.0]


def test_a_function_sees_ids_and_relevance_as_they_are():
    inputs = []

    def half(qrels, run):
        inputs.append((set(qrels.query_id), set(qrels.doc_id), set(qrels.relevance), set(run.doc_id)))
        return 0.5

    measure = ir_measures.define_byquery(half, name="own")
    result = evaluate({"no query": {"a b": -7}}, {"no query": {"a b": 1.0, "c": 2.0}}, metrics=[measure, "rr"])
    assert result.of("own").tolist() == [0.5]
    assert inputs == [({"no query"}, {"a b"}, {-7}, {"a b", "c"})]


def test_an_error_of_any_kind_is_a_metric_error():
    with pytest.raises(MetricError, match=r"cannot compute err@20: Command .* returned non-zero"):
        evaluate({"q": {"a": 5}}, {"q": {"a": 1}}, metrics="err@20")  # gdeval takes grades up to 4
    with pytest.raises(MetricError, match=r"cannot compute accuracy: (float )?division by zero"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, metrics="accuracy")


@given(QRELS, RUNS, st.sampled_from([None, 1, 2, 3, 100]))
def test_ndcg_is_that_of_trec_eval_to_the_last_bit(qrels, run, k):
    assume(qrels.keys() & run.keys())
    measure = ir_measures.nDCG if k is None else ir_measures.nDCG @ k
    with collected_notices():
        ours, theirs = (evaluate(qrels, run, metrics=metric, standardized=False).of() for metric in (NDCG(k), measure))
    assert ours.tobytes() == theirs.tobytes()
