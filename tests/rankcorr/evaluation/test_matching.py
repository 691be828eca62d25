import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rankcorr import OptionError
from rankcorr.evaluation import Coverage, Qrels, QueryMismatchError, Run, UnjudgedError, evaluate
from rankcorr.evaluation._matching import checked_depth, joined, matched, trec_order
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
    joint = joined(Qrels.from_dict(qrels), Run.from_dict(run), depth)
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
    joint = joined(Qrels.from_dict(qrels), Run.from_dict(run), None)
    ids = [joint.documents[code] for code in joint.codes[trec_order(joint)].tolist()]
    assert ids == [document for query in qrels for document in naive_order(run.get(query, {}))]


def test_scores_that_single_precision_cannot_tell_apart_are_ties():
    run = Run.from_dict({"q": {"a": 20.0000001, "b": 20.0, "c": 30.0}})
    joint = joined(Qrels.from_dict({"q": {"a": 1}}), run, 2)
    assert [joint.documents[code] for code in joint.codes.tolist()] == ["b", "c"]


def test_a_score_of_minus_infinity_is_above_what_was_not_retrieved():
    joint = joined(Qrels.from_dict({"q": {"a": 1, "z": 2}}), Run.from_dict({"q": {"a": -np.inf, "b": 0}}), None)
    found = rows_of(matched(joint, unjudged="zero", unretrieved="last"))[0]
    assert found["b"][1] > found["a"][1] > found["z"][1]


def test_unjudged_documents_can_be_an_error():
    qrels = {"q": {"a": 1, "b": 0}, "r": {"a": 1}}
    run = {"q": {"a": 1.0, "b": 2.0}, "r": {f"d{number}": number for number in range(9)}}
    message = r"without one \(query, document\): \('r', 'd0'\), .*, \.\.\. \(9 in all\); set unjudged="
    with pytest.raises(UnjudgedError, match=message):
        evaluate(qrels, run, unjudged="error")
    assert evaluate(qrels, {"q": run["q"]}, unjudged="error").coverage[0].n_unjudged == 0


def test_ids_of_different_types_are_no_match():
    with pytest.raises(QueryMismatchError, match="query ids of qrels are whole numbers, such as 1, and those of the"):
        evaluate({1: {"a": 1}}, {"1": {"a": 1.0}})
    with pytest.raises(QueryMismatchError, match=r"document ids of qrels are text, such as 'a', .* numbers, such as 5"):
        evaluate({"q": {"a": 1}}, {"q": {5: 1.0}})


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
