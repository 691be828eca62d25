from typing import ClassVar

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankcorr import OptionError, UnicodeFormWarning
from rankcorr.evaluation import (
    Coverage,
    Qrels,
    QueryMismatchError,
    Run,
    SelfHitWarning,
    UnjudgedError,
    compare_runs,
    evaluate,
    worst,
)
from rankcorr.evaluation._matching import checked_depth, join_run, matched, trec_order
from tests.rankcorr.evaluation.cases import QRELS, RUNS, naive_match, naive_order

UNJUDGED, UNRETRIEVED = st.sampled_from(["zero", "omit"]), st.sampled_from(["last", "omit"])


def rows_of(found):
    rows = {}
    for query, (start, stop) in enumerate(zip(found.offsets[:-1].tolist(), found.offsets[1:].tolist(), strict=True)):
        documents = [found.documents[code] for code in found.codes[start:stop].tolist()]
        pairs = zip(found.x[start:stop].tolist(), found.y[start:stop].tolist(), strict=True)
        rows[query] = dict(zip(documents, pairs, strict=True))
    return rows


@given(QRELS, RUNS, UNJUDGED, UNRETRIEVED, st.sampled_from([None, 1, 2, 3, 20]))
def test_documents_are_matched_as_the_options_say(qrels, run, unjudged, unretrieved, depth):
    assume(set(qrels) & set(run))
    cut = {query: {d: own[d] for d in naive_order(own)[:depth]} for query, own in run.items()}
    wanted = naive_match(qrels, cut, unjudged, unretrieved)
    joint = join_run(Qrels.from_dict(qrels), Run.from_dict(run), depth)
    found = matched(joint, unjudged=unjudged, unretrieved=unretrieved)
    assert list(rows_of(found).values()) == [wanted[query] for query in qrels]
    common = [query for query in qrels if query in run]
    assert found.coverage == Coverage(
        n_queries=len(qrels),
        not_in_run=tuple(query for query in qrels if query not in run),
        not_in_qrels=tuple(query for query in run if query not in qrels),
        n_compared=sum(map(len, wanted.values())),
        n_unjudged=sum(len(set(cut[query]) - set(qrels[query])) for query in common),
        n_unretrieved=sum(len(set(qrels[query]) - set(cut[query])) for query in common),
        n_cut=sum(len(run[query]) - len(cut[query]) for query in common),
        n_negative=sum(rel < 0 for own in qrels.values() for rel in own.values()),
    )


@given(QRELS, RUNS)
def test_the_order_is_that_of_trec_eval(qrels, run):
    assume(set(qrels) & set(run))
    joint = join_run(Qrels.from_dict(qrels), Run.from_dict(run), None)
    ids = [joint.documents[code] for code in joint.codes[trec_order(joint)].tolist()]
    assert ids == [document for query in qrels for document in naive_order(run.get(query, {}))]


def test_scores_that_single_precision_cannot_tell_apart_are_ties():
    run = Run.from_dict({"q": {"a": 20.0000001, "b": 20.0, "c": 30.0}})
    joint = join_run(Qrels.from_dict({"q": {"a": 1}}), run, 2)
    assert [joint.documents[code] for code in joint.codes.tolist()] == ["b", "c"]


def test_a_score_of_minus_infinity_is_above_what_was_not_retrieved():
    joint = join_run(Qrels.from_dict({"q": {"a": 1, "z": 2}}), Run.from_dict({"q": {"a": -np.inf, "b": 0}}), None)
    found = rows_of(matched(joint, unjudged="zero", unretrieved="last"))[0]
    assert found["b"][1] > found["a"][1] > found["z"][1]


def test_unjudged_documents_can_be_an_error():
    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    run = {"q": {"a": 1.0, "b": 2.0}, "r": {f"d{number}": number for number in range(9)}}
    message = r"without one \(query, document\): \('r', 'd0'\), .*, \.\.\. \(9 in all\); set unjudged="
    with pytest.raises(UnjudgedError, match=message):
        evaluate(qrels, run, unjudged="error")
    assert evaluate(qrels, {"q": run["q"]}, unjudged="error").coverage[0].n_unjudged == 0


@pytest.mark.parametrize("query", [int, np.int64, np.uint8, np.str_])
@pytest.mark.parametrize("document", [int, np.int32, np.str_])
def test_whole_numbers_equal_their_decimal_text(query, document):
    gold = {"7": {"1": 2, "2": 0, "3": 1}, "12": {"1": 0, "4": 1}}
    runs = {"same": {"7": {"1": 3, "3": 2, "9": 1}, "12": {"4": 2}}, "other": {"7": {"2": 3}, "12": {"1": 2, "4": 1}}}
    numbers = {query(q): {document(d): score for d, score in scores.items()} for q, scores in runs["other"].items()}
    metrics = ["tau_w", "ap", "ndcg@3"]
    by_text = evaluate(gold, runs, metrics=metrics, standardized=False)
    by_number = evaluate(gold, {**runs, "other": numbers}, metrics=metrics, standardized=False)
    assert by_number.queries == ("7", "12")
    assert by_number.values.tobytes() == by_text.values.tobytes()
    groups = {query("7"): "long", query("12"): "short"}
    assert by_number.group_table(groups) == by_text.group_table({"7": "long", "12": "short"})
    folds = [{query(q): {document(d): 1 for d in gold[q]}} if q == "7" else {q: gold[q]} for q in gold]
    assert Qrels.pooled(list(map(Qrels.from_dict, folds))).queries == ("7", "12")
    differences = [
        (difference.query, [each.document for each in difference.documents])
        for difference in worst({query("7"): gold["7"]}, {"same": runs["same"], "other": numbers})
    ]
    assert differences == [("7", differences[0][1])]
    assert len(set(map(str, differences[0][1]))) == len(differences[0][1])


def test_ids_of_numpy_stay_whole_numbers():
    run = Run.from_dict({np.int64(7): {np.int32(1): 0.5, 2: 0.25}})
    assert run.to_dict() == {7: {1: 0.5, 2: 0.25}}
    assert {type(document) for document in (*run.queries, *run.documents)} == {int}
    assert evaluate({7: {1: 1, 2: 0}}, run, metrics="ap").queries == (7,)


def test_ids_that_differ_by_their_unicode_form_are_named():
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    gold = {composed: {"a": 1, "b": 0}, "tea": {composed: 1, "b": 0}}
    with pytest.warns(UnicodeFormWarning, match=r"query ids .*'caf\\xe9' and 'cafe\\u0301'") as warned:
        evaluate(gold, {decomposed: {"a": 1, "b": 0}, "tea": {"b": 0, composed: 1}}, metrics="ap")
    assert warned[0].filename == __file__
    with pytest.warns(UnicodeFormWarning, match=r"document ids .*'caf\\xe9' and 'cafe\\u0301'"):
        evaluate(gold, {"tea": {"b": 0, decomposed: 1}}, metrics="ap")


def test_a_query_must_be_in_both():
    with pytest.raises(QueryMismatchError, match="qrels and the run share no query; qrels have 'q', the run has 'r'"):
        evaluate({"q": {"a": 1}}, {"r": {"a": 1.0}})
    with pytest.raises(QueryMismatchError, match="qrels and run 'bad' share no query"):
        evaluate({"q": {"a": 1, "b": 0}}, {"good": {"q": {"a": 1.0}}, "bad": {"r": {"a": 1.0}}})


@pytest.mark.parametrize("depth", [0, -1, 1.5, "3", True])
def test_a_depth_is_a_positive_whole_number(depth):
    with pytest.raises(OptionError, match="depth must be a positive whole number"):
        checked_depth(depth)
    assert checked_depth(None) is None


class TestSelfHits:
    """Queries that are documents of the collection, as in ArguAna."""

    gold: ClassVar = {"a": {"b": 1, "c": 0}, "b": {"a": 1, "c": 0}, "x": {"c": 1, "a": 0}}
    run: ClassVar = {"a": {"a": 9, "c": 5, "b": 4}, "b": {"b": 9, "a": 5}, "x": {"c": 2, "a": 1}}
    without: ClassVar = {"a": {"c": 5, "b": 4}, "b": {"a": 5}, "x": {"c": 2, "a": 1}}

    @pytest.mark.parametrize("depth", [None, 1, 2])
    def test_they_are_left_out_before_the_cut(self, depth):
        options = {"metrics": ["ap", "ndcg@2", "tau_w", "rbo"], "depth": depth, "undefined": "zero"}
        result = evaluate(self.gold, self.run, self_hits="omit", **options)
        expected = evaluate(self.gold, self.without, **options)
        assert result.values.tobytes() == expected.values.tobytes()
        assert (result.coverage[0].n_self_hits, expected.coverage[0].n_self_hits) == (2, 0)
        assert result.coverage[0].n_cut == expected.coverage[0].n_cut

    def test_they_count_and_are_named_by_default(self):
        message = r'the run: 2 queries have a hit with the id of the query itself; self_hits="omit" leaves it out, as B'
        with pytest.warns(SelfHitWarning, match=message) as notes:
            result = evaluate(self.gold, self.run, metrics="ap")
        assert notes[0].filename == __file__
        kept = evaluate(self.gold, self.run, metrics="ap", self_hits="keep")
        assert result.values.tobytes() == kept.values.tobytes()
        assert result.of().tolist() == [pytest.approx(1 / 3), 0.5, 1]

    def test_whole_numbers_equal_their_text(self):
        result = evaluate({7: {"d": 1}}, {"7": {"7": 2, "d": 1}}, metrics="ap", self_hits="omit")
        assert (result.of().tolist(), result.coverage[0].n_self_hits) == ([1.0], 1)
        result = evaluate({7: {1: 1}}, {7: {7: 2, 1: 1}}, metrics="ap")  # without a warning: both are only numbered
        assert (result.of().tolist(), result.coverage[0].n_self_hits) == ([0.5], 1)
        result = evaluate({7: {1: 1}}, {7: {7: 2, 1: 1}}, metrics="ap", self_hits="omit")
        assert (result.of().tolist(), result.coverage[0].n_self_hits) == ([1.0], 1)

    def test_comparisons_leave_them_out_too(self):
        runs = {"one": self.run, "two": {**self.run, "b": {"a": 2, "c": 1}}}
        options = {"metric": "ap", "self_hits": "omit"}
        assert compare_runs(self.gold, runs, n_resamples=9, **options).pairs[0].difference == 0
        assert [pair.difference for pair in worst(self.gold, runs, **options)] == [0, 0, 0]

    def test_an_unknown_treatment(self):
        with pytest.raises(OptionError, match="self_hits must be one of 'warn', 'keep', 'omit'; got 'drop'"):
            evaluate(self.gold, self.run, self_hits="drop")
