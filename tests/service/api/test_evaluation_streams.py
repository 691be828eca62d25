"""Streams of queries: what comes out is the library's evaluation, whatever the pieces in which the lines come."""

import io
import json
import math
import threading
import time

import pytest

from rankcorr import TauW
from rankcorr.evaluation import compare_runs, evaluate
from rankcorr.results import json_ready
from tests.rankcorr.evaluation.test_compare import case
from tests.service.answers import document, problem_of

PATH = "/v1/evaluations/stream"
KIND = "application/x-ndjson"
WRONG_WAYS = [
    (
        b'{"query": "q", "relevance": {"a": 1}, "scores": ' + b"[" * 1_020 + b"]" * 1_020 + b"}",
        "/scores: must be an obj",
    ),
    (b'{"query": "q", "relevance": {"a": 1}, "scores": ' + b"[" * 1_100 + b"]" * 1_100 + b"}", "the line is not JSON"),
    (b'{"query": "q", "relevance": {"a": 1}}, {"query": "r"}', "the line is not JSON"),
    (b'{"query": "q", "relevance": {"a": 1e999}, "scores": {"a": {"a": 1}}}', "the line is not JSON"),
    (b"\xff\xfe", "the line is not JSON"),
    (b"{", "the line is not JSON"),
    (b'{"query": "q", "query": "q", "relevance": {"a": 1}, "scores": {"a": {"a": 1}}}', 'has the key "query" twice'),
    (b'{"query": "q", "relevance": {"a": 1, "a": 2}, "scores": {"a": {"a": 1}}}', 'has the key "a" twice'),
    (b'{"query": "q", "relevance": {"a": 92233720368547758090}, "scores": {"a": {"a": 1}}}', "cannot be held exactly"),
    (b'{"query": "q", "relevance": {"a": NaN}, "scores": {"a": {"a": 1}}}', "the line is not JSON"),
    (b"[1]", "must be an object with query, relevance, scores; got [1]"),
    (b'{"query": "q"}', "must have query, relevance, scores; got ['query']"),
    (b'{"query": "", "relevance": {"a": 1}, "scores": {"a": {"a": 1}}}', "/query: must be text that is not empty"),
    (b'{"query": null, "relevance": {"a": 1}, "scores": {"a": {"a": 1}}}', "/query: must be text"),
    (b'{"query": "q", "relevance": {}, "scores": {"a": {"a": 1}}}', "/relevance: at least one document needs a judg"),
    (b'{"query": "q", "relevance": [1], "scores": {"a": {"a": 1}}}', "/relevance: must be an object of document to"),
    (b'{"query": "q", "relevance": {"a": "1"}, "scores": {"a": {"a": 1}}}', "the relevance of 'a' must be a number"),
    (b'{"query": "q", "relevance": {"a": true}, "scores": {"a": {"a": 1}}}', "must be a number; got True"),
    (b'{"query": "q", "relevance": {"": 1}, "scores": {"a": {"a": 1}}}', "each document needs an id; one is empty"),
    (b'{"query": "q", "relevance": {"a": 9007199254740994}, "scores": {"a": {"a": 1}}}', "beyond 2^53"),
    (b'{"query": "q", "relevance": {"a": 1}, "scores": {"": {}}}', "/scores: must be an object of name of run"),
    (b'{"query": "q", "relevance": {"a": 1}, "scores": {"z": {"a": 1}}}', 'no run "z" in the first query'),
    (b'{"query": "q", "relevance": {"a": 1}, "scores": {"a": {"a": null}}}', "/scores/a: the score of 'a' must be"),
    (
        b'{"query": "q", "relevance": {"document": ["a", "a"], "relevance": [1, 2]}, "scores": {"a": {"a": 1}}}',
        "a query may have each document once; more than once: 'a'",
    ),
    (
        b'{"query": "q", "relevance": {"document": ["a"], "relevance": [1, 2]}, "scores": {"a": {"a": 1}}}',
        "as many documents as numbers; got 1 and 2",
    ),
    (
        b'{"query": "q", "relevance": {"document": ["a"], "score": [1]}, "scores": {"a": {"a": 1}}}',
        "must be the lists document and relevance",
    ),
    (
        b'{"query": "q", "relevance": {"document": [1.5], "relevance": [1]}, "scores": {"a": {"a": 1}}}',
        "an id is text or a whole number; got 1.5",
    ),
    (
        b'{"query": "q", "relevance": {"document": [1], "relevance": [1]}, "scores": {"a": {"a": 1}}}',
        "ids of documents must be all text or all whole numbers",
    ),
]


def line(query, relevance, scores):
    return {"query": query, "relevance": relevance, "scores": scores}


def lines_of(qrels, runs):
    return [line(query, own, {name: run[query] for name, run in runs.items() if query in run})
            for query, own in qrels.items()]  # fmt: skip


def text_of(lines):
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in lines)


def streamed(client, lines, query=""):
    """Lines of an answer; the last is the summary."""
    response = client.post(PATH + query, data=text_of(lines), content_type=KIND)
    assert (response.status_code, response.content_type) == (200, KIND), response.text
    return [json.loads(each) for each in response.data.splitlines()]


class Pieces(io.BytesIO):
    """A body that comes in pieces of a size."""

    def __init__(self, text, size):
        super().__init__(text)
        self._size = size

    def read(self, most=-1):
        return super().read(min(self._size, most) if most >= 0 else self._size)


@pytest.mark.parametrize("piece", [7, 1_000, 10**6])
def test_the_answer_is_that_of_the_library(client, piece):
    qrels, runs = case(30)
    runs["a"] = {query: own for query, own in runs["a"].items() if query != "q3"}
    runs["b"]["q5"] = {}
    text = text_of(lines_of(qrels, runs))
    response = client.post(
        f"{PATH}?metrics=tau_w,ap,ndcg@5,rbo&n0=5&versus=c&level=0.9",
        input_stream=Pieces(text, piece),
        content_length=len(text),
        content_type=KIND,
    )
    *found, last = map(json.loads, response.data.splitlines())
    metrics = [TauW(n0=5), "ap", "ndcg@5", "rbo"]
    expected = evaluate(qrels, runs, metrics=metrics, standardized=False)
    assert [(each["line"], each["query"]) for each in found] == list(enumerate(qrels, start=1))
    for place, each in enumerate(found):
        assert each["values"] == {
            run: dict(zip(expected.metrics, json_ready(expected.values[i, :, place]), strict=True))
            for i, run in enumerate(runs)
        }
    assert found[3]["undefined"]["a"]["TauW(n0=5)"] == "the run does not have the query"
    summary = last["summary"]
    assert (summary["n_lines"], summary["n_queries"], summary["n_wrong"]) == (30, 30, 0)
    assert (summary["runs"], summary["metrics"]) == (list(runs), list(expected.metrics))
    for row in summary["means"]:
        assert row["mean"] == pytest.approx(expected.mean(row["metric"], row["run"]), abs=1e-15)
    for compared, metric in zip(summary["comparisons"], metrics, strict=True):
        other = compare_runs(qrels, runs, metric=metric, test="t", baseline="c", n_resamples=10)
        for pair in compared["pairs"]:
            same = other.pair(pair["first"], "c")
            assert pair["pvalue"] == pytest.approx(same.pvalue)
            assert (pair["n_better"], pair["n_worse"], pair["n_queries"]) == (
                same.n_better, same.n_worse, same.n_queries,
            )  # fmt: skip
    for row, coverage in zip(summary["coverage"], expected.coverage, strict=True):
        assert row["n_not_in_run"] == len(coverage.not_in_run)
        for name in ("n_compared", "n_unjudged", "n_unretrieved", "n_cut", "n_negative"):
            assert row[name] == getattr(coverage, name)


@pytest.mark.parametrize(
    "query", ["", "unjudged=omit", "unretrieved=omit", "undefined=zero", "depth=2", "scheme=first"]
)
def test_policies_are_the_librarys(client, query):
    qrels = {"q1": {"a": 2, "b": 1, "c": 0}, "q2": {"a": 0, "d": 1}, "q3": {"a": -1, "b": 1}, "q4": {"x": 1}}
    run = {"q1": {"a": 9.1, "c": 8.7, "b": 1.2}, "q2": {"d": 3, "new": 2, "a": 1}, "q3": {"b": 1, "a": 1}}
    *found, last = streamed(client, lines_of(qrels, {"x": run}), f"?metrics=tau_w,tau_ap,ap&{query}")
    name, _, value = query.partition("=")
    options = {name: int(value) if value.isdigit() else value} if name and name != "scheme" else {}
    metrics = [TauW(scheme=value) if name == "scheme" else "tau_w", "tau_ap", "ap"]
    expected = evaluate(qrels, run, metrics=metrics, standardized=False, **options)
    assert [list(each["values"]["x"].values()) for each in found] == json_ready(expected.values[0].T)
    coverage = last["summary"]["coverage"][0]
    for count in ("n_compared", "n_unjudged", "n_unretrieved", "n_cut", "n_negative"):
        assert coverage[count] == getattr(expected.coverage[0], count)


def test_lists_and_whole_numbers_as_ids(client):
    lists = line(7, {"document": [3, 20, 1], "relevance": [2, 0, 1]}, {"x": {"document": [20, 3], "score": [1, 1]}})
    (found, _) = streamed(client, [lists], "?metrics=tau_w,ap")
    gold, run = {7: {3: 2, 20: 0, 1: 1}}, {7: {20: 1, 3: 1}}
    expected = evaluate(gold, run, metrics=["tau_w", "ap"], standardized=False)
    assert found["query"] == 7
    assert list(found["values"]["x"].values()) == expected.values[0, :, 0].tolist()


GOOD = line("good", {"a": 1, "b": 0}, {"a": {"a": 2, "b": 1}, "b": {"b": 1.5}})


@pytest.mark.parametrize(("wrong", "message"), WRONG_WAYS)
def test_a_wrong_line_has_an_answer_and_changes_nothing(client, wrong, message):
    before = streamed(client, [GOOD, GOOD])
    found = streamed(client, [GOOD, wrong + b"\n", b"\n", GOOD])
    assert (found[1].keys(), found[1]["line"]) == ({"line", "error"}, 2)
    assert message in found[1]["error"]
    assert (found[0], found[2]) == (before[0], {**before[1], "line": 4})
    expected = {**before[2]["summary"], "n_lines": 3, "n_wrong": 1}
    assert found[3]["summary"] == expected


@pytest.mark.parametrize(
    ("query", "wrong", "message"),
    [
        ("unjudged=error", line("q", {"a": 1}, {"a": {"z": 1}}), "every retrieved document needs a judgement"),
        ("undefined=error", line("q", {"a": 1, "b": 1}, {"a": {"a": 1}}), "the gold scores are one tie"),
        ("metrics=ndcg@5", line("q", {"a": 0.5}, {"a": {"a": 1}}), "needs whole numbers as relevance"),
    ],
)
def test_what_the_library_refuses_is_one_line(client, query, wrong, message):
    good = line("good", {"a": 1, "b": 0}, {"a": {"a": 2, "b": 1}})
    found = streamed(client, [good, wrong, good], f"?{query}")
    assert message in found[1]["error"]
    assert found[3]["summary"]["n_queries"] == 2
    assert found[0]["values"] == found[2]["values"]


def test_each_line_is_a_query_of_its_own(client):
    other = line("good", {"a": 1, "b": 0}, {"a": {"b": 1}})
    found = streamed(client, [GOOD, other])
    assert [each["query"] for each in found[:2]] == ["good", "good"]
    assert found[0]["values"]["a"] != found[1]["values"]["a"]
    assert found[2]["summary"]["n_queries"] == 2


def test_runs_are_those_of_the_first_query(client):
    none = line("q", {"a": 1, "b": 0}, {})
    found = streamed(client, [none, GOOD, none])
    assert "says what runs there are, and has none" in found[0]["error"]
    assert found[2]["values"] == {"a": {"tau_w": None}, "b": {"tau_w": None}}
    assert found[3]["summary"]["coverage"][0]["n_not_in_run"] == 1


def test_no_line_at_all(client):
    (last,) = streamed(client, [b"\n \n"])
    assert last["summary"]["n_lines"] == 0
    assert last["summary"]["means"] == []


def test_the_last_line_needs_no_end(client):
    found = streamed(client, [GOOD, json.dumps(GOOD).encode()])
    assert (len(found), found[1]["line"]) == (3, 2)


def test_means_are_rounded_once(client):
    found = streamed(client, [line("q", {"a": 1, "b": 0}, {"x": {"c": 3, "d": 2, "a": 1}})] * 1_000, "?metrics=ap")
    assert found[-1]["summary"]["means"][0]["mean"] == 1 / 3
    assert found[-1]["summary"]["means"][0]["standard_error"] == 0


@pytest.mark.parametrize("query", ["?depth=1", "?depth=1&unretrieved=omit", "?unjudged=omit", "?depth=2"])
def test_coverage_is_that_of_the_library(client, query):
    qrels = {"q": {"a": 2, "b": 1, "c": 0}, "r": {"a": 1, "b": 0}}
    runs = {"x": {"q": {"a": 3, "b": 2, "d": 1}}, "y": {"r": {"b": 1}, "q": {"e": 1}}}
    options = dict(each.split("=") for each in query[1:].split("&"))
    options |= {"depth": int(options["depth"])} if "depth" in options else {}
    summary = streamed(client, lines_of(qrels, runs), query)[-1]["summary"]
    expected = evaluate(qrels, runs, metrics="ap", standardized=False, **options).coverage
    for found, wanted in zip(summary["coverage"], expected, strict=True):
        assert found.pop("run") in runs
        assert found.pop("n_not_in_run") == len(wanted.not_in_run)
        assert found == {name: getattr(wanted, name) for name in found}


def test_large_floats_beside_whole_numbers(client):
    found, _ = streamed(client, [line("q", {"a": 2, "b": 1}, {"x": {"a": 1, "b": 1e17}})])
    assert found["values"] == {"x": {"tau_w": -1.0}}


class TestRefused:
    @pytest.mark.parametrize(
        ("query", "pointer"),
        [
            ("metrics=nonsense", "/metrics"),
            ("metrics=", "/metrics"),
            ("metrics=ap,ap", "/metrics"),
            ("unjudged=drop", "/unjudged"),
            ("depth=0", "/depth"),
            ("level=1", "/level"),
            ("standardized=1", "/standardized"),
            ("seed=1", "/seed"),
        ],
    )
    def test_options_before_the_body_is_read(self, client, query, pointer):
        found = problem_of(client.post(f"{PATH}?{query}", data=b"{", content_type=KIND))
        assert pointer in found["errors"]

    @pytest.mark.parametrize(
        ("headers", "message"),
        [
            ({"Content-Type": "application/json"}, "must be application/x-ndjson; got 'application/json'"),
            ({}, "must be application/x-ndjson; got none"),
            ({"Content-Type": KIND, "Content-Encoding": "gzip"}, "must come without compression"),
            ({"Content-Type": f"{KIND}; charset=latin-1"}, "JSON is UTF-8"),
        ],
    )
    def test_a_body_of_another_kind(self, client, headers, message):
        assert message in problem_of(client.post(PATH, data=b"", headers=headers), 415)["detail"]

    @pytest.mark.parametrize(
        ("limits", "lines", "query", "status", "message"),
        [
            ({"max_lines": 2}, [GOOD] * 3, "", 413, "at most 2 lines in a stream (RANKCORR_MAX_LINES)"),
            ({"max_lines": 2}, [b"\n"] * 3, "", 413, "at most 2 lines in a stream (RANKCORR_MAX_LINES)"),
            (
                {},
                [line("q", {"a": 1}, {"x" * 70_000: {"a": 1}})],
                "",
                422,
                "at most 67108 bytes in the names of all runs, which are in each line of the answer (RANKCORR_MAX_",
            ),
            ({"max_line_bytes": 30}, [GOOD], "", 413, "30 bytes in a line (RANKCORR_MAX_LINE_BYTES); line 1 has more"),
            (
                {"max_wrong_lines": 1},
                [b"{\n"] * 2,
                "",
                422,
                "at most 1 lines that cannot be used (RANKCORR_MAX_WRONG_L",
            ),
            ({"max_seconds": 1e-9}, [GOOD], "", 422, "RANKCORR_MAX_SECONDS"),
            ({}, [GOOD], "?versus=z", 422, "versus must be one of the runs of the first query"),
            (
                {},
                [line("q", {"a": 1}, {str(run): {} for run in range(501)})],
                "?metrics=ap,tau",
                422,
                "at most 1000 sums of a stream",
            ),
        ],
    )
    def test_a_stream_that_ends_before(self, make_client, limits, lines, query, status, message):
        *_, last = streamed(make_client(**limits), lines, query)
        assert last.keys() == {"problem"}
        assert last["problem"]["status"] == status
        assert message in last["problem"]["detail"]
        assert last["problem"].keys() == {"type", "title", "status", "detail", "request_id"}

    def test_the_work_of_all_blocks(self, make_client):
        *found, last = streamed(make_client(max_stream_work_seconds=1e-9), [GOOD] * 600)
        assert len(found) == 500
        assert "RANKCORR_MAX_STREAM_WORK_SECONDS" in last["problem"]["detail"]


def test_a_turn_is_given_back(make_client):
    client = make_client(max_concurrent=1, max_waiting=0)
    for _ in range(3):
        assert "summary" in streamed(client, [GOOD] * 600)[-1]
        assert "problem" in streamed(make_client(max_concurrent=1, max_seconds=1e-9), [GOOD])[-1]


def test_without_a_turn_a_stream_goes_on_later(make_client):
    client = make_client(max_concurrent=1, max_waiting=0)
    gate = client.application.extensions["rankcorr"].gate
    gate.enter()
    timer = threading.Timer(0.5, gate.leave)
    begun = time.monotonic()
    timer.start()
    assert streamed(client, [GOOD])[-1]["summary"]["n_queries"] == 1
    assert time.monotonic() - begun > 0.4
    timer.join()


def test_lines_are_as_the_document_says(client):
    from jsonschema import Draft202012Validator

    schemas = document()["components"]
    found = streamed(client, [GOOD, b"{\n", line("q", {"a": 1}, {"a": {"a": 1}})], "?versus=a")
    for name, each in (("QueryLine", GOOD), ("QueryAnswerLine", found[0]), ("QueryAnswerLine", found[1]),
                       ("QueryAnswerLine", found[2]), ("SummaryLine", found[3])):  # fmt: skip
        Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": schemas}).validate(each)
    assert math.isclose(found[3]["summary"]["means"][0]["mean"], 1.0)


def test_the_end_of_a_stream_is_logged(client, capsys):
    streamed(client, [GOOD])
    first, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["route"], first["status"]) == (PATH, 200)
    assert (last["id"], last["stream"], last["lines"]) == (first["id"], "whole", 1)
