"""Measures of ir_measures: values as the naive definitions have them, and nothing ends the process.

What could end it runs in a process of its own.
"""

import json
import math
import re
import subprocess
import sys

import ir_measures
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankcorr._checks import collected_notices
from rankcorr.evaluation import MetricError, QueryEvaluator, compare_runs, evaluate, streamed_means
from rankcorr.evaluation._metrics import LARGEST_GRADE, NDCG
from tests import naive
from tests.rankcorr.evaluation.cases import QRELS, RUNS
from tests.rankcorr.evaluation.odd_judgements import NAIVE
from tests.repository import ROOT

NEGATIVE = {"all below": {"a": -2, "b": -5, "c": -(2**31) - 1}, "at -1": {"a": -1, "b": -1}, "one": {"a": -(2**53)}}
MIXED = {"first": {"a": -2, "b": 2, "c": 0, "d": 1}, "second": {"a": 3, "b": -7}, "third": {"a": 1, "d": -1}}
METRICS = {name: NAIVE[name] for name in ("rr", "ndcg", "ndcg@10", "r@100", "ap(rel=1)", "bpref", "numret")}
ORDERS = {
    "first": [*NEGATIVE, *MIXED],
    "middle": ["first", *NEGATIVE, "second", "third"],
    "between": ["all below", "first", "at -1", "second", "one", "third"],
    "last": [*MIXED, *NEGATIVE],
    "all": [*NEGATIVE],
}
RANKED = {"e": 5.0, "b": 4.0, "a": 3.0, "c": 3.0, "d": -1.0}


def printed(program, *arguments):
    """What a program prints as JSON in a process of its own, which must not crash."""
    command = [sys.executable, "-c", program, *map(json.dumps, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.wide
def test_queries_judged_below_0_alone_may_come_in_every_place():
    program = """
import json, sys
from rankcorr.evaluation import evaluate
for qrels, run, metrics in json.loads(sys.argv[1]):
    print(json.dumps(evaluate(qrels, run, metrics=metrics, standardized=False).values[0].tolist()), flush=True)
"""
    judged = NEGATIVE | MIXED
    calls = [
        ({query: judged[query] for query in order}, dict.fromkeys(order, RANKED), metrics)
        for order in ORDERS.values()
        for metrics in ([*METRICS], *([name] for name in METRICS))
    ]
    found = printed(program, calls)
    for (qrels, _, metrics), values in zip(calls, found, strict=True):
        ranked = naive.best_first(RANKED)
        for metric, own in zip(metrics, values, strict=True):
            assert own == pytest.approx([METRICS[metric](qrels[query], ranked) for query in qrels], abs=1e-12)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_odd_judgements_crash_nothing():
    """500 cases; tests/rankcorr/evaluation/odd_judgements.py says how to run 100,000."""
    command = [sys.executable, "-m", "tests.rankcorr.evaluation.odd_judgements", "--cases", "500"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("500 cases, ")


@pytest.mark.parametrize("relevance", [LARGEST_GRADE + 1, 2**31 - 1, 2**31, 2**40, 1e300])
@pytest.mark.parametrize("metric", ["ndcg", "rr", "err@20"])
def test_relevance_has_a_limit(relevance, metric):
    qrels, run = {"q": {"a": 1, "b": relevance}}, {"q": {"a": 1, "b": relevance}}
    message = f"{metric}: relevance must be at most 1,000; it is {relevance:.13g} for (query, document) ('q', 'b')"
    with pytest.raises(MetricError, match=re.escape(message)):
        evaluate(qrels, run, metrics=metric)
    found = evaluate(qrels, run, metrics=["tau", "ap", "p@1"], standardized=False)
    assert found.values.tolist() == [[[1.0], [1.0], [1.0]]]


def test_the_largest_relevance_counts():
    qrels, run = {"q": {"a": LARGEST_GRADE, "b": 1}}, {"q": {"a": 1, "b": 2}}
    (value,) = evaluate(qrels, run, metrics="ndcg", standardized=False).of("ndcg")
    assert value == pytest.approx(naive.ndcg(qrels["q"], ["b", "a"]), abs=1e-12)


def test_relevance_has_its_limit_wherever_it_comes_from():
    qrels, run = {"q": {"a": 1, "b": 1001}, "r": {"a": 1}}, {"q": {"a": 1}, "r": {"a": 1}}
    listed = [(query, each, grade, run[query].get(each)) for query, own in qrels.items() for each, grade in own.items()]
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
    mapped = {each: gains.get(grade, grade) for each, grade in qrels["q"].items()}
    wanted = naive.ndcg(mapped, ["d", "a", "b", "c"], 3)
    plain = naive.ndcg(qrels["q"], ["d", "a", "b", "c"], 3)
    for metrics in ([measure], [measure, "ndcg@3"], ["ndcg@3", measure]):  # ir_measures alone mixes the two up
        found = evaluate(qrels, run, metrics=metrics, standardized=False)
        assert found.of(str(measure)).tolist() == [pytest.approx(wanted, abs=1e-12)]
        assert len(metrics) == 1 or found.of("ndcg@3").tolist() == [pytest.approx(plain, abs=1e-12)]


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
    found = evaluate(qrels, tied, metrics=metrics, standardized=False, self_hits="keep")
    for name, of_query in (("rr", naive.reciprocal_rank), ("ndcg", naive.ndcg)):
        wanted = [of_query(grades, sorted(documents, reverse=True)) for grades in qrels.values()]
        assert found.of(name).tolist() == pytest.approx(wanted, abs=1e-12)
    grades = {"2" if each == max(documents) else "1": grade for each, grade in qrels[queries[0]].items()}
    plain = evaluate({"1": grades}, {"1": {"1": 1.0, "2": 1.0}}, metrics="err@20", standardized=False)
    assert found.of("err@20")[0] == plain.values[0, 0, 0] > 0


@pytest.mark.parametrize("run", [{"a": 1e308, "b": math.inf, "c": 3e38}, {"a": math.inf, "b": 1e308, "c": 3e38}])
def test_scores_beyond_single_precision_tie_as_in_trec_eval(run):
    qrels, metrics = {"q": {"a": 0, "b": 1, "c": 0}}, ["ap", "ap(rel=1)", "p@1", "rr"]
    found = evaluate(qrels, {"q": run}, metrics=metrics, standardized=False)
    assert found.values[0, :, 0].tolist() == [1.0, 1.0, 1.0, 1.0]


def test_what_is_computed_besides_changes_no_value():
    qrels, run = {"q": {"a": 1}}, {"q": {"a": 1, "b": 2, "c": 3}}
    found = evaluate(qrels, run, metrics=["numret", "ndcg(judged_only=True)@3"], standardized=False)
    assert found.values[0, :, 0].tolist() == [3.0, 1.0]


def test_a_function_sees_ids_and_relevance_as_they_are():
    seen = []

    def own(qrels, run):
        seen.append((set(qrels.query_id), set(qrels.doc_id), set(qrels.relevance), set(run.doc_id)))
        return 0.5

    measure = ir_measures.define_byquery(own, name="own")
    found = evaluate({"no query": {"a b": -7}}, {"no query": {"a b": 1.0, "c": 2.0}}, metrics=[measure, "rr"])
    assert found.of("own").tolist() == [0.5]
    assert seen == [({"no query"}, {"a b"}, {-7}, {"a b", "c"})]


def test_one_measure_by_two_names():
    with pytest.raises(MetricError, match=r"metrics; 'ndcg@10' and 'nDCG@10' are one metric"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, metrics=["ndcg@10", ir_measures.nDCG @ 10])
    with pytest.raises(MetricError, match="'mrr' and 'rr' are one metric, RR"):
        evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, metrics=["mrr", "rr"])


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
        ours, theirs = (evaluate(qrels, run, metrics=each, standardized=False).of() for each in (NDCG(k), measure))
    assert ours.tobytes() == theirs.tobytes()
