"""Requests that are made to cost much: their answers stay small, and nobody waits for them."""

import json
import re
import threading

import pytest
from werkzeug.exceptions import NotImplemented as NotImplemented501
from werkzeug.exceptions import TooManyRequests

from rankcorr.inference.bootstrap import bootstrap_interval
from service.api import correlations
from service.http.body import received
from service.http.problems import MAX_DETAIL, MAX_ERRORS, MAX_POINTER, Problem, from_http, pointers

PAIR = {"gold": {"order": [1, 2]}, "system": {"order": [1, 2]}}
BODY = b'{"gold":{"order":[1,2]},"system":{"order":[1,2]}}'
DRAW = {"presentations": 2, "voters": 1, "seed": 1}


class Stream:
    """What a server hands over of a body, step by step; a step may be an exception."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def read(self, _size=-1):
        step = self.steps.pop(0) if self.steps else b""
        if isinstance(step, Exception):
            raise step
        return step() if callable(step) else step


def sent(client, *steps):
    """Answer to a request whose body arrives in these steps, in chunks."""
    environment = {"wsgi.input": Stream(*steps), "wsgi.input_terminated": True}
    return client.post("/v1/correlations", content_type="application/json", environ_overrides=environment)


class TestSmallAnswers:
    @pytest.mark.parametrize(
        "request_of",
        [
            lambda unknown: PAIR | unknown,
            lambda unknown: PAIR | {"system": {"order": [1, 2]} | unknown},
            lambda unknown: PAIR | {"inference": {"seed": 1} | unknown},
        ],
    )
    def test_of_very_many_unknown_fields_the_first_are_named(self, client, request_of):
        for count in (MAX_ERRORS, 10_000):
            answer = client.post("/v1/correlations", json=request_of({f"x{n}": 0 for n in range(count)}))
            assert answer.status_code == 422
            assert len(answer.json["errors"]) <= MAX_ERRORS
            assert len(answer.data) < 10_000
            named = [pointer for pointer in answer.json["errors"] if pointer.endswith("/x0")]
            assert answer.json["errors"][named[0]] == ["unknown field"]
            assert (f"{count} unknown fields" in answer.text) == (count > MAX_ERRORS)

    def test_of_very_many_errors_the_first_are_listed(self, client):
        systems = dict.fromkeys(map(str, range(500)), 1)
        answer = client.post("/v1/correlations/batch", json={"gold": PAIR["gold"], "systems": systems})
        assert len(answer.json["errors"]) == MAX_ERRORS
        assert "(500 in all, see errors for the first 50)" in answer.json["detail"]

    def test_a_long_key_is_cut(self, client):
        answer = client.post("/v1/correlations", json=PAIR | {"k" * 1_000_000: 1})
        (pointer,) = answer.json["errors"]
        assert pointer == "/" + "k" * (MAX_POINTER - 4) + "..."
        assert len(answer.data) < 2_000

    def test_a_long_detail_is_cut(self, client):
        with client.application.test_request_context():
            assert len(Problem(422, "x" * 1_000_000).response().json["detail"]) == MAX_DETAIL
            assert Problem(422, "x" * MAX_DETAIL).response().json["detail"] == "x" * MAX_DETAIL

    def test_the_labels_of_a_ballot_are_limited_as_often_as_they_are_written(self, make_client):
        client = make_client(max_label_bytes=1_000)
        items = ["é" * 249, "bb"]  # 2 presentations of 500 bytes
        assert client.post("/v1/ballots", json=DRAW | {"items": items}).status_code == 200
        answer = client.post("/v1/ballots", json=DRAW | {"items": [*items[:1], "bbb"]})
        assert answer.status_code == 422
        assert answer.json["errors"] == {
            "/items": ["at most 1000 bytes of labels in an answer (RANKCORR_MAX_LABEL_BYTES); got 1002"]
        }

    def test_so_are_gold_sets_times_systems(self, make_client):
        request = {
            "gold_sets": {"g" * 10: PAIR["gold"], "h": PAIR["gold"]},
            "systems": {"a": PAIR["gold"], "b": PAIR["gold"]},
            "seed": 1,
        }
        for limits, message in (
            ({"max_matrix_cells": 3}, "at most 3 gold sets times systems (RANKCORR_MAX_MATRIX_CELLS); got 4"),
            ({"max_label_bytes": 21}, "at most 21 bytes of labels in an answer (RANKCORR_MAX_LABEL_BYTES); got 22"),
        ):
            answer = make_client(**limits).post("/v1/leaderboards", json=request)
            assert answer.json["errors"] == {"/gold_sets": [message]}
        client = make_client(max_matrix_cells=4, max_label_bytes=22)
        assert client.post("/v1/leaderboards", json=request).status_code == 200

    def test_empty_groups_of_ties_count_as_items(self, make_client):
        client = make_client(max_items=3)
        answer = client.post("/v1/correlations", json=PAIR | {"gold": {"order": [[], [], [], []]}})
        assert "at most 3 items of a ranking (RANKCORR_MAX_ITEMS); got 4" in answer.json["detail"]


def test_the_jackknife_looks_at_the_clock_too():
    calls = []
    scores = list(range(1_500))
    bootstrap_interval(scores, scores[::-1], method="bca", n_resamples=1, workers=1, progress=calls.append)
    assert calls[0] == 1
    assert len(calls) > 10
    assert set(calls[1:]) == {0}


class TestPointers:
    def test_a_key_of_a_client_is_never_the_word_of_marshmallow(self, client):
        bad = {"order": [1, 2], "_schema": 1}
        for path, request, pointer in (
            ("/v1/correlations", PAIR | {"_schema": 1}, "/_schema"),
            ("/v1/correlations", PAIR | {"gold": {"scores": {"_schema": "x", "b": 1}}}, "/gold/scores/_schema"),
            ("/v1/correlations", PAIR | {"gold": bad}, "/gold/_schema"),
            ("/v1/correlations/batch", {"gold": PAIR["gold"], "systems": {"_schema": 1}}, "/systems/_schema"),
        ):
            assert list(client.post(path, json=request).json["errors"]) == [pointer]

    def test_that_word_is_the_object_as_a_whole(self):
        assert dict(pointers({"a": {"_schema": ["x"]}})) == {"/a": ["x"]}

    def test_tildes_and_slashes_are_escaped(self, client):
        systems = {"a/b~1": {"scores": {"x": 1, "~/": None}}}
        answer = client.post("/v1/correlations/batch", json={"gold": PAIR["gold"], "systems": systems})
        assert list(answer.json["errors"]) == ["/systems/a~1b~01/scores/~0~1"]

    def test_a_range_reads_as_it_was_written(self, client):
        answer = client.post("/v1/correlations", json=PAIR | {"n0": -1})
        assert answer.json["errors"]["/n0"] == ["must be a number above -1 and of at most 1e+300; got -1"]


class TestBodies:
    def test_a_body_in_pieces(self, client):
        assert sent(client, BODY[:9], BODY[9:]).status_code == 200

    @pytest.mark.parametrize("error", [ValueError("Invalid chunk size: b'zz'"), OSError("reset"), BlockingIOError()])
    def test_one_that_breaks_off_is_an_error_of_the_client(self, client, caplog, error):
        answer = sent(client, BODY[:9], error)
        assert (answer.status_code, answer.content_type) == (400, "application/problem+json")
        assert answer.json["detail"].startswith("the body did not arrive whole")
        assert answer.json["type"] == "urn:rankcorr:problem:bad-request"
        assert not caplog.records

    def test_an_error_of_ours_is_none_of_the_client(self, client):
        assert sent(client, MemoryError()).status_code == 500

    def test_one_that_takes_too_long(self, make_client):
        application = make_client(max_body_seconds=5.0).application
        options = {"method": "POST", "content_type": "application/json", "data": BODY}
        for now, arrives in ((5.0, True), (5.1, False)):
            times = iter([0.0, now])
            with application.test_request_context(**options) as context:
                if arrives:
                    assert received(context.request, clock=lambda times=times: next(times)) == BODY
                    continue
                with pytest.raises(Problem, match=r"at most 5 s for a body .* \(RANKCORR_MAX_BODY_SECONDS\)") as caught:
                    received(context.request, clock=lambda times=times: next(times))
                assert caught.value.status == 400

    def test_one_that_arrives_slowly_keeps_nobody_waiting(self, make_client):
        client = make_client(max_concurrent=1, max_waiting=0)
        begun, may_go = threading.Event(), threading.Event()

        def slow():
            begun.set()
            assert may_go.wait(60)
            return BODY

        answers = []
        application = client.application
        other = threading.Thread(target=lambda: answers.append(sent(application.test_client(), slow)))
        other.start()
        assert begun.wait(60)
        assert client.post("/v1/correlations", json=PAIR).status_code == 200
        may_go.set()
        other.join(60)
        assert answers[0].status_code == 200

    def test_it_is_read_for_a_path_and_a_method_that_are_served_alone(self, client):
        environment = {"wsgi.input": Stream(OSError("read")), "wsgi.input_terminated": True}
        for method, path, status in (("POST", "/v1/nope", 404), ("PUT", "/v1/correlations", 405)):
            answer = client.open(
                path, method=method, content_type="application/json", environ_overrides=dict(environment)
            )
            assert answer.status_code == status

    def test_the_turn_comes_before_the_work(self, make_client, monkeypatch):
        client = make_client(max_concurrent=1, max_waiting=0)
        client.application.extensions["rankcorr"].gate.enter()
        monkeypatch.setattr(correlations, "compare_pair", lambda **_: pytest.fail("no turn"))
        assert client.post("/v1/correlations", json=PAIR).status_code == 503
        assert client.get("/v1/weights").status_code == 503

    @pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
    def test_compressed_ones_are_refused(self, client, encoding):
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        answer = client.post("/v1/correlations", data=BODY, headers=headers)
        assert answer.status_code == 415
        assert "a body must come without compression" in answer.json["detail"]

    def test_identity_is_no_compression(self, client):
        headers = {"Content-Encoding": "Identity", "Content-Type": "application/json"}
        assert client.post("/v1/correlations", data=BODY, headers=headers).status_code == 200


def test_a_query_that_says_something_twice(client):
    answer = client.get("/v1/weights?n0=1&n0=2&top=3")
    assert answer.status_code == 422
    assert answer.json["errors"] == {"/n0": ["this field is given more than once"]}


def test_two_slashes_are_no_path_that_is_served(client):
    answer = client.post("/v1//correlations", json=PAIR)
    assert (answer.status_code, answer.content_type) == (404, "application/problem+json")


def test_unknown_fields_are_listed_in_the_same_order_by_every_process(client):
    unknown = {f"x{number:02}": 0 for number in reversed(range(40))}
    answer = client.post("/v1/correlations", json={"gold": 1, **unknown})
    errors = json.loads(answer.data)["errors"]
    assert list(errors) == ["/gold", "/system", *sorted("/" + name for name in unknown)]


def test_the_detail_has_the_first_three_errors(client):
    wrong = {"gold": 1, "system": 1, "n0": "x", "variant": "z"}
    detail = client.post("/v1/correlations", json=wrong).json["detail"]
    assert re.findall(r"(?:^|; )(/\w+): ", detail) == ["/n0", "/variant", "/gold"]
    assert detail.endswith("; ... (4 in all, see errors)")
    del wrong["variant"]
    detail = client.post("/v1/correlations", json=wrong).json["detail"]
    assert re.findall(r"(?:^|; )(/\w+): ", detail) == ["/n0", "/gold", "/system"]
    assert "in all" not in detail


def test_errors_of_werkzeug_keep_their_side_and_when_to_retry():
    failed = from_http(NotImplemented501())
    assert failed.status == 500
    later = from_http(TooManyRequests(retry_after=7))
    assert (later.status, later.headers) == (429, {"Retry-After": "7"})


def test_a_long_repeated_key_is_cut(client):
    key = "k" * 100
    answer = client.post("/v1/correlations", data=f'{{"{key}":1,"{key}":2}}', content_type="application/json")
    assert answer.json["detail"] == f'an object of the body has the key "{key[:60]}" twice'


@pytest.mark.parametrize("items", [2, ["a", "b"]])
def test_the_log_counts_the_items_of_a_ballot(client, capsys, items):
    assert client.post("/v1/ballots", json=DRAW | {"items": items}).status_code == 200
    assert json.loads(capsys.readouterr().out)["items"] == 2


def test_the_error_of_another_status_does_not_speak_of_json(client):
    answer = client.get("/docs/swagger-ui.css", headers={"Range": "bytes=99999999-"})
    assert (answer.json["type"], answer.json["title"]) == (
        "urn:rankcorr:problem:bad-request",
        "The request cannot be read",
    )


@pytest.mark.parametrize("weigher", ["top-k:010", "top-k:0", "top-k:" + "9" * 19, "top-k: 1", "top-k:1\n"])
def test_a_weigher_that_is_not_of_the_documented_form(client, weigher):
    answer = client.post("/v1/correlations", json=PAIR | {"weigher": weigher})
    assert list(answer.json["errors"]) == ["/weigher"]
