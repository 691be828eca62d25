"""From the bytes of a request to JSON: what is read, and for how long."""

import json

import pytest

from tests.service.answers import PAIR, problem_of

BODY = b'{"gold":{"order":[1,2]},"system":{"order":[1,2]}}'


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


class TestBodies:
    def test_a_body_in_pieces(self, client):
        assert sent(client, BODY[:9], BODY[9:]).status_code == 200

    @pytest.mark.parametrize(
        ("error", "status", "kind", "message"),
        [
            (ValueError("Invalid chunk size: b'zz'"), 400, "bad-request", "the body did not arrive whole"),
            (OSError("reset"), 400, "bad-request", "the body did not arrive whole"),
            (BlockingIOError(), 408, "too-slow", "no byte of the body came for too long"),
        ],
    )
    def test_one_that_breaks_off_is_an_error_of_the_client(self, client, caplog, error, status, kind, message):
        answer = sent(client, BODY[:9], error)
        assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
        assert answer.json["detail"].startswith(message)
        assert answer.json["type"] == f"urn:rankcorr:problem:{kind}"
        assert not caplog.records

    def test_an_error_of_the_service_is_not_blamed_on_the_client(self, client):
        assert sent(client, MemoryError()).status_code == 500

    def test_it_is_read_for_a_path_and_a_method_that_are_served_alone(self, client):
        environment = {"wsgi.input": Stream(OSError("read")), "wsgi.input_terminated": True}
        for method, path, status in (("POST", "/v1/nope", 404), ("PUT", "/v1/correlations", 405)):
            answer = client.open(
                path, method=method, content_type="application/json", environ_overrides=dict(environment)
            )
            assert answer.status_code == status

    @pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
    def test_compressed_ones_are_refused(self, client, encoding):
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        answer = client.post("/v1/correlations", data=BODY, headers=headers)
        assert answer.status_code == 415
        assert "a body must come without compression" in answer.json["detail"]

    def test_identity_is_no_compression(self, client):
        headers = {"Content-Encoding": "Identity", "Content-Type": "application/json"}
        assert client.post("/v1/correlations", data=BODY, headers=headers).status_code == 200


def test_the_limit_of_bytes_from_both_sides(make_client):
    client = make_client(max_body_bytes=1000)
    body = json.dumps(PAIR).encode()
    padded = body + b" " * (1000 - len(body))
    assert client.post("/v1/correlations", data=padded, content_type="application/json").status_code == 200
    found = problem_of(client.post("/v1/correlations", data=padded + b" ", content_type="application/json"), 413)
    assert found["detail"] == "at most 1000 bytes in a body (RANKCORR_MAX_BODY_BYTES); got 1001"


@pytest.mark.parametrize(
    ("content_type", "message"),
    [
        ("text/plain", "must be application/json; got 'text/plain'"),
        (None, "must be application/json; got none"),
        ("application/x-www-form-urlencoded", "must be application/json"),
        ("application/json; charset=latin-1", "JSON is UTF-8; the header Content-Type says charset='latin-1'"),
    ],
)
def test_a_body_that_is_not_declared_as_json(client, content_type, message):
    body = json.dumps(PAIR)
    assert message in problem_of(client.post("/v1/correlations", data=body, content_type=content_type), 415)["detail"]


@pytest.mark.parametrize("charset", ["", "; charset=utf-8", ";charset=UTF-8"])
def test_a_body_that_is_declared_as_json(client, charset):
    body = json.dumps(PAIR)
    assert client.post("/v1/correlations", data=body, content_type="application/json" + charset).status_code == 200


def test_a_name_of_the_query_is_reported_as_it_is(client):
    answer = client.get("/v1/weights?_schema=1&n0=2")
    assert answer.status_code == 422
    assert answer.json["errors"] == {"/_schema": ["unknown field"]}
    assert answer.json["detail"] == "/_schema: unknown field"


def test_a_query_that_says_something_twice(client):
    answer = client.get("/v1/weights?n0=1&n0=2&top=3")
    assert answer.status_code == 422
    assert answer.json["errors"] == {"/n0": ["this field is given more than once"]}
