"""One format for every error; the answer to any input is small and shows no internals."""

import json
import logging
import re

import pytest
from werkzeug.exceptions import NotImplemented as NotImplemented501
from werkzeug.exceptions import TooManyRequests

from service.api import correlations
from service.http.problems import MAX_DETAIL, MAX_ERRORS, MAX_POINTER, STATUSES, Problem, from_http, invalid, pointers
from tests.service.answers import post_pair

PAIR = {"gold": {"order": [1, 2]}, "system": {"order": [1, 2]}}


class TestErrors:
    @pytest.mark.parametrize("path", ["/nope", "/v1/nope", "/docs/nope.js", "/docs/..%2fapp.py", "/v1/correlations/"])
    def test_an_unknown_path_is_not_found(self, client, path):
        answer = client.get(path)
        assert (answer.status_code, answer.content_type) == (404, "application/problem+json")
        assert answer.json["type"] == "urn:rankcorr:problem:not-found"

    @pytest.mark.parametrize("method", ["get", "put", "delete", "patch"])
    def test_an_unknown_method_is_not_allowed(self, client, method):
        answer = getattr(client, method)("/v1/correlations")
        assert (answer.status_code, answer.content_type) == (405, "application/problem+json")
        assert set(answer.headers["Allow"].split(", ")) == {"POST", "OPTIONS"}

    def test_an_unexpected_error_shows_no_internals(self, client, monkeypatch, caplog):
        def broken(*_, **_options):
            raise ZeroDivisionError("the secret inside")

        monkeypatch.setattr(correlations.gold_comparison, "compare_with_gold", broken)
        with caplog.at_level(logging.ERROR, logger="rankcorr.service"):
            answer = post_pair(client)
        assert (answer.status_code, answer.content_type) == (500, "application/problem+json")
        assert "secret" not in answer.text
        assert "Zero" not in answer.text
        assert answer.json["request_id"] == answer.headers["X-Request-ID"]
        (record,) = caplog.records
        assert answer.json["request_id"] in record.getMessage()
        assert "the secret inside" in str(record.exc_info[1])

    def test_every_status_has_a_type_and_a_title(self, client):
        assert set(STATUSES) == {400, 401, 404, 405, 408, 413, 414, 415, 422, 429, 431, 500, 503, 507}
        with client.application.test_request_context():
            for status, (kind, title) in STATUSES.items():
                response = Problem(status, "why").response()
                assert response.json["type"] == "urn:rankcorr:problem:" + kind
                assert response.json["title"] == title

    def test_a_websocket_is_refused_in_plain_words(self, client):
        answer = client.get("/health/live", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        assert (answer.status_code, answer.content_type) == (400, "application/problem+json")
        assert answer.json["detail"] == "this service does not speak WebSocket"


class TestSmallAnswers:
    @pytest.mark.parametrize(
        "request_of",
        [
            lambda unknown: PAIR | unknown,
            lambda unknown: PAIR | {"system": {"order": [1, 2]} | unknown},
            lambda unknown: PAIR | {"inference": {"seed": 1} | unknown},
        ],
    )
    def test_only_the_first_of_many_unknown_fields_are_named(self, client, request_of):
        for count in (MAX_ERRORS, 10_000):
            answer = client.post("/v1/correlations", json=request_of({f"x{n}": 0 for n in range(count)}))
            assert answer.status_code == 422
            assert len(answer.json["errors"]) <= MAX_ERRORS
            assert len(answer.data) < 10_000
            named = [pointer for pointer in answer.json["errors"] if pointer.endswith("/x0")]
            assert answer.json["errors"][named[0]] == ["unknown field"]
            assert (f"{count} unknown fields" in answer.text) == (count > MAX_ERRORS)

    def test_only_the_first_of_many_errors_are_listed(self, client):
        systems = dict.fromkeys(map(str, range(500)), 1)
        answer = client.post("/v1/correlations/batch", json={"gold": PAIR["gold"], "systems": systems})
        assert len(answer.json["errors"]) == MAX_ERRORS
        assert "(500 in all, see errors for the first 50)" in answer.json["detail"]

    def test_a_long_key_is_truncated(self, client):
        answer = client.post("/v1/correlations", json=PAIR | {"k" * 1_000_000: 1})
        (pointer,) = answer.json["errors"]
        assert len(pointer) == MAX_POINTER
        assert re.fullmatch(r"/k+\.\.\.k+", pointer)
        assert len(answer.data) < 2_000

    def test_a_long_key_is_truncated_before_the_rest_of_the_pointer(self, client):
        systems = {"x" * 1_000 + end: {"order": ["a", None]} for end in "yz"}
        answer = client.post("/v1/correlations/batch", json={"gold": PAIR["gold"], "systems": systems})
        assert [pointer[-10:] for pointer in answer.json["errors"]] == ["xy/order/1", "xz/order/1"]

    def test_keys_that_are_equal_after_truncation_keep_all_messages(self):
        long_keys = {"/" + "x" * 1_000 + middle + "x" * 1_000: [middle] for middle in "yz"}
        assert list((invalid(long_keys).errors or {}).values()) == [["y", "z"]]

    def test_a_long_detail_is_truncated(self, client):
        with client.application.test_request_context():
            assert len(Problem(422, "x" * 1_000_000).response().json["detail"]) == MAX_DETAIL
            assert Problem(422, "x" * MAX_DETAIL).response().json["detail"] == "x" * MAX_DETAIL


class TestPointers:
    def test_a_key_named_like_marshmallows_schema_errors_is_a_key(self, client):
        bad = {"order": [1, 2], "_schema": 1}
        for path, request, pointer in (
            ("/v1/correlations", PAIR | {"_schema": 1}, "/_schema"),
            ("/v1/correlations", PAIR | {"gold": {"scores": {"_schema": "x", "b": 1}}}, "/gold/scores/_schema"),
            ("/v1/correlations", PAIR | {"gold": bad}, "/gold/_schema"),
            ("/v1/correlations/batch", {"gold": PAIR["gold"], "systems": {"_schema": 1}}, "/systems/_schema"),
        ):
            assert list(client.post(path, json=request).json["errors"]) == [pointer]

    def test_schema_errors_point_to_the_whole_object(self):
        assert dict(pointers({"a": {"_schema": ["x"]}})) == {"/a": ["x"]}

    def test_tildes_and_slashes_are_escaped(self, client):
        systems = {"a/b~1": {"scores": {"x": 1, "~/": None}}}
        answer = client.post("/v1/correlations/batch", json={"gold": PAIR["gold"], "systems": systems})
        assert list(answer.json["errors"]) == ["/systems/a~1b~01/scores/~0~1"]

    def test_ranges_in_messages_are_unchanged(self, client):
        answer = client.post("/v1/correlations", json=PAIR | {"n0": -1})
        assert answer.json["errors"]["/n0"] == ["must be a number above -1 and of at most 1e+300; got -1"]


def test_a_path_with_two_slashes_is_unknown(client):
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


def test_errors_of_werkzeug_keep_their_class_and_retry_after():
    failed = from_http(NotImplemented501())
    assert failed.status == 500
    rejected = from_http(TooManyRequests(retry_after=7))
    assert (rejected.status, rejected.headers) == (429, {"Retry-After": "7"})


def test_other_statuses_of_werkzeug_are_not_described_as_json_errors(client):
    answer = client.get("/docs/swagger-ui.css", headers={"Range": "bytes=99999999-"})
    assert (answer.status_code, answer.content_type) == (400, "application/problem+json")
    assert (answer.json["type"], answer.json["title"]) == (
        "urn:rankcorr:problem:bad-request",
        "The request cannot be read",
    )
