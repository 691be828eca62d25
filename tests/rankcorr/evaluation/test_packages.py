"""Results shaped like those of sentence-transformers, MTEB and PyTerrier, also made by these packages if installed."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from rankcorr import TableError
from rankcorr.evaluation import ColumnError, DuplicateDocumentError, Qrels, Run, evaluate, read_qrels, read_run

RELEVANT = {"q1": {"d1", "d3"}, "q2": ["d2"]}
RUN = {"q1": {"d2": 0.9, "d1": 0.75, "d3": 0.25}, "q2": {"d2": 0.5, "d1": 0.5}}
HITS = {query: [{"corpus_id": d, "score": score} for d, score in own.items()] for query, own in RUN.items()}
QRELS = {"q1": {"d1": 1, "d3": 1}, "q2": {"d2": 1}}
METRICS = ["ap", "ndcg@2", "tau_w"]


def same(qrels, run):
    """Whether an evaluation is that of plain dicts."""
    found, wanted = (evaluate(*given, metrics=METRICS) for given in ((qrels, run), (QRELS, RUN)))
    return found.queries == wanted.queries and found.values.tobytes() == wanted.values.tobytes()


def lines(hits):
    return "".join(json.dumps({"query_id": q, "query": "words", "results": own}) + "\n" for q, own in hits.items())


def test_relevant_documents_and_hits_of_sentence_transformers(tmp_path):
    assert same(RELEVANT, HITS)
    assert evaluate(RELEVANT, {"x": HITS, "y": RUN}).runs == ("x", "y")
    path = tmp_path / "predictions_cosine.jsonl"
    path.write_text(lines(HITS) + "\n")
    assert read_run(path).name == "predictions_cosine"
    assert same(RELEVANT, path)


def test_predictions_of_mteb(tmp_path):
    path = tmp_path / "predictions.json"
    path.write_text(json.dumps({"mteb_model_meta": {"model_name": "m"}, "default": {"test": RUN}}))
    assert same(QRELS, path)
    path.write_text(json.dumps({"mteb_model_meta": {}, "en": {"test": RUN}, "de": {"dev": RUN, "test": RUN}}))
    with pytest.raises(TableError, match="one subset and split are expected; the file has en test, de dev, de test"):
        read_run(path)
    path.write_text('{"mteb_model_meta": {}}')
    with pytest.raises(TableError, match="the file has none"):
        read_run(path)


def test_frames_of_pyterrier():
    rows = [(q, f"text of {q}", n, d, n, s) for q, own in RUN.items() for n, (d, s) in enumerate(own.items())]
    run = pd.DataFrame(rows, columns=["qid", "query", "docid", "docno", "rank", "score"])
    judged = [(query, d, label, "0") for query, own in QRELS.items() for d, label in own.items()]
    assert same(pd.DataFrame(judged, columns=["qid", "docno", "label", "iteration"]), run)


@pytest.mark.parametrize(
    ("kind", "given", "error", "message"),
    [
        (Run, {"q": [["a", 1.0], ["b", 0.5]]}, ColumnError, "hits .*, or ids, best first; that of query 'q' is"),
        (Run, {"q": {"a", "b"}}, ColumnError, "hits with corpus_id and score, or ids, best first; that of query 'q'"),
        (Run, {"q": [{"corpus_id": "a"}]}, ColumnError, "must hold hits with corpus_id and score"),
        (Qrels, {"q": [{"corpus_id": "a"}]}, ColumnError, "must hold hits with corpus_id and score"),
        (Run, {"q": HITS["q1"] + HITS["q1"]}, DuplicateDocumentError, r"\('q', 'd2'\)"),
        (Qrels, {"q": ["a", "a"]}, DuplicateDocumentError, r"\('q', 'a'\)"),
        (Run, {"q": [{"corpus_id": "a", "score": "high"}]}, ValueError, "that of document 'a' of query 'q' is 'high'"),
        (Qrels, {"q": "a"}, ColumnError, "a mapping of query to a mapping"),
    ],
)
def test_lists_that_cannot_be_used(kind, given, error, message):
    with pytest.raises(error, match=message):
        kind.of(given)


@pytest.mark.parametrize(
    "second",
    [
        '{"query_id": "q2"}',
        '{"query_id": "q2", "results": 3}',
        '{"query_id": "q2", "results": [3]}',
        '{"query_id": "q2", "results": [{"corpus_id": "a"}]}',
        '{"results": []}',
        "[1]",
    ],
)
def test_lines_that_cannot_be_used(tmp_path, second):
    path = tmp_path / "run.jsonl"
    path.write_text(lines({"q1": HITS["q1"]}) + second)
    with pytest.raises(TableError, match=r"run.jsonl:2: a query_id and results with corpus_id and score are expected"):
        read_run(path)
    path.write_text(lines({"q1": HITS["q1"]}) + "{")
    with pytest.raises(TableError, match=r"run.jsonl:2: is not JSON"):
        read_run(path)


def test_hits_of_the_real_sentence_transformers():
    torch = pytest.importorskip("torch", reason="torch is too large for the development extra")
    util = pytest.importorskip("sentence_transformers.util", reason="sentence-transformers needs torch")
    torch.manual_seed(0)
    queries, corpus = torch.randn(4, 8), torch.randn(10, 8)
    hits = util.semantic_search(queries, corpus, top_k=5)
    run = dict(zip(["a", "b", "c", "d"], hits, strict=True))
    found = Run.of(run)
    assert len(found) == 20
    best = util.cos_sim(queries, corpus).argmax(dim=1).tolist()
    qrels = {query: {document} for query, document in zip(run, best, strict=True)}
    assert evaluate(qrels, run, metrics=["ap", "p@1"]).values.tolist() == [[[1.0] * 4, [1.0] * 4]]


def test_predictions_of_the_real_mteb(tmp_path):
    task = pytest.importorskip("mteb.abstasks", reason="mteb needs torch").AbsTask
    model = SimpleNamespace(mteb_model_meta=SimpleNamespace(name="m", revision="1"))
    path = Path(tmp_path, "T_predictions.json")
    this = SimpleNamespace(_predictions_path=lambda _: path)
    task._save_task_predictions(this, RUN, model, tmp_path, hf_split="test", hf_subset="default")
    assert same(QRELS, path)


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_run_may_list_its_documents_best_first(kind):
    run = Run.from_dict({"q": kind(["b", "a", "c"]), "r": kind(["x"])})
    assert run.to_dict() == {"q": {"b": -1, "a": -2, "c": -3}, "r": {"x": -1}}
    qrels = {"q": {"a": 1, "b": 0, "c": 0}}
    assert evaluate(qrels, {"mine": {"q": kind(["a", "b", "c"])}}, metrics="ap").of("ap").tolist() == [1.0]


def test_lists_of_ids_are_not_taken_for_files():
    with pytest.raises(ColumnError, match=r"run 'q1': 'd1' is no file\. If the lists are ids .* write Run\.from_dict"):
        evaluate({"q1": {"d1": 1, "d2": 0}}, {"q1": ["d1", "d2"]})


def test_the_parquet_files_of_ranx(tmp_path):
    """Both `Qrels.save` and `Run.save` of ranx 0.3 write the columns q_id, doc_id and score."""
    frame = pd.DataFrame({"q_id": ["q1", "q1", "q2"], "doc_id": ["a", "b", "a"], "score": [2, 0, 1]})
    frame.to_parquet(tmp_path / "ranx.parquet")
    assert read_qrels(tmp_path / "ranx.parquet").to_dict() == {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    assert read_run(tmp_path / "ranx.parquet").to_dict() == {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}
    graded = frame.assign(relevance=[1, 1, 1])
    assert Qrels.from_frame(graded)["q1"] == {"a": 1, "b": 1}
    assert Run.from_frame(graded)["q1"] == {"a": 2, "b": 0}
