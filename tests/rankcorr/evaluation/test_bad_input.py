"""What is not right, or hardly: a clear error, or a value that is counted and named; quickly, however much it is."""

import math
import time

import numpy as np
import pytest

from rankcorr.evaluation import (
    ColumnError,
    DuplicateDocumentError,
    MetricError,
    QueryMismatchError,
    Run,
    UnjudgedError,
    compare_runs,
    evaluate,
    worst,
)

QRELS = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 1, "b": 0}}
RUN = {"q1": {"a": 3, "b": 2, "c": 1}, "q2": {"a": 1, "b": 0}}
METRICS = ["tau_w", "rho_w", "tau", "rho", "tau_ap", "rbo", "ap", "p@2", "ndcg@2", "rr"]
MANY = 1_000_000
LONG = "x" * 10_000_000


def values(qrels, run, metrics=METRICS, **options):
    """Values by metric, of one query each."""
    found = evaluate(qrels, run, metrics=metrics, standardized=False, **options)
    return dict(zip(found.metrics, found.values[0].tolist(), strict=True))


def test_a_query_of_the_run_alone_is_left_out_and_named():
    found = evaluate(QRELS, {**RUN, "q9": {"z": 1}}, standardized=False)
    assert found.values.tolist() == evaluate(QRELS, RUN, standardized=False).values.tolist()
    assert found.coverage[0].not_in_qrels == ("q9",)


@pytest.mark.parametrize("run", [{"q1": RUN["q1"]}, {"q1": RUN["q1"], "q2": {}}])
def test_a_query_of_qrels_alone_counts_0_or_does_not_exist(run):
    found = values(QRELS, run)
    for metric in ("ap", "p@2", "ndcg@2", "rr", "rbo"):
        assert found[metric][1] == 0
    for metric in ("tau_w", "rho_w", "tau", "rho", "tau_ap"):
        assert math.isnan(found[metric][1])


def test_a_run_without_a_row_is_named():
    with pytest.raises(ColumnError, match="run 'y': there is no row"):
        evaluate(QRELS, {"x": RUN, "y": {}})


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_one_document():
    found = values({"q": {"a": 1}}, {"q": {"a": 1}})
    assert {metric for metric, (value,) in found.items() if math.isnan(value)} == set(METRICS[:5])
    assert found["rbo"] == found["ap"] == found["ndcg@2"] == found["rr"] == [1.0]
    assert found["p@2"] == [0.5]


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_all_tied():
    tied = {"q1": dict.fromkeys("abc", 1)}
    found = evaluate(QRELS, tied, standardized=False)
    reasons = {each.reason for each in found.undefined}
    assert reasons == {"all scores of the run are tied", "the run does not have the query"}
    assert evaluate(tied, RUN, standardized=False).undefined[0].reason == "all gold scores are tied"
    assert worst(QRELS, {"x": tied, "y": tied}) == ()
    pair = compare_runs(QRELS, {"x": tied, "y": tied}).pairs[0]
    assert (pair.n_queries, math.isnan(pair.pvalue), math.isnan(pair.difference)) == (0, True, True)


def test_infinite_scores_are_the_largest_and_the_smallest():
    qrels = {"q": {"a": 1, "b": 0, "c": 2, "d": 0}}
    infinite = {"q": {"a": math.inf, "b": 1.0, "c": -math.inf, "e": 0.5}}
    finite = {"q": {"a": 9.0, "b": 1.0, "c": -9.0, "e": 0.5}}
    assert values(qrels, infinite) == values(qrels, finite)


def test_infinite_relevance_ranks_and_is_no_gain():
    gold = {"q": {"a": math.inf, "b": 0, "c": -math.inf}}
    assert values(gold, RUN | {"q": {"a": 3, "b": 2, "c": 1}}, METRICS[:4]) == {name: [1.0] for name in METRICS[:4]}
    with pytest.raises(MetricError, match=r"whole numbers as relevance; it is inf for .* \('q', 'a'\)"):
        values(gold, {"q": {"a": 1}}, "ndcg@2")


def test_negative_relevance_ranks_below_0_and_is_not_relevant():
    gold, run = {"q": {"a": -1, "b": 1, "c": 0}}, {"q": {"b": 3, "c": 2, "a": 1}}
    found = values(gold, run)
    assert [found[metric] for metric in METRICS[:4]] == [[1.0]] * 4
    assert (found["ap"], found["rr"]) == ([1.0], [1.0])
    assert evaluate(gold, run, standardized=False).coverage[0].n_negative == 1


@pytest.mark.parametrize(
    ("run", "message"),
    [({1: {"a": 1}}, "share no query; qrels have 'q1', 'q2', the run has '1'"), ({"z": {"a": 1}}, "share no query")],
)
def test_a_run_of_other_ids(run, message):
    with pytest.raises(QueryMismatchError, match=message):
        evaluate(QRELS, run)


@pytest.mark.wide
class TestMany:
    """A million of what is wrong: messages stay short, and making them takes no longer than finding it."""

    @pytest.mark.parametrize(("each", "shown"), [(3, 3), (MANY // 2, 5)])
    def test_duplicates(self, each, shown):
        documents = [f"d{number % each}" for number in range(MANY)]
        columns = ["q"] * MANY, documents, np.arange(MANY)
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
        assert message.count("('q', 'd") == shown
        assert (f"({each:,} in all)" in message) == (each > 5)

    def test_unjudged_documents(self):
        run = Run.from_columns(["q"] * MANY, [f"z{number}" for number in range(MANY)], np.arange(MANY))
        with pytest.raises(UnjudgedError, match=r"\('q', 'z4'\), ... \(1,000,000 in all\)") as caught:
            evaluate({"q": {"a": 1, "b": 0}}, run, unjudged="error", standardized=False)
        assert len(str(caught.value)) < 250

    def test_long_ids(self):
        with pytest.raises(DuplicateDocumentError) as caught:
            Run.from_columns(["q", "q"], [LONG, LONG], [1, 2])
        assert len(str(caught.value)) < 250
        with pytest.raises(QueryMismatchError) as mismatch:
            evaluate({LONG: {"a": 1}}, RUN)
        assert len(str(mismatch.value)) < 250
        with pytest.raises(MetricError) as metric:
            evaluate({"q": {LONG: 0.5}}, {"q": {"a": 1}}, metrics="ndcg@2")
        assert len(str(metric.value)) < 250
