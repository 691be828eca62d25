"""Reading and parsing the body of a request."""

import json
import math

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.http import body as bodies
from service.http.body import MAX_CONTAINERS, parse
from service.http.problems import Problem
from tests.service.answers import PAIR, problem_of

BODY = b'{"gold":{"order":[1,2]},"system":{"order":[1,2]}}'


class Stream:
    """Parts of a body as a server delivers them; a part may be an exception."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def read(self, _size=-1):
        step = self.steps.pop(0) if self.steps else b""
        if isinstance(step, Exception):
            raise step
        return step() if callable(step) else step


def send_body(client, *steps):
    """Answer to a request whose body arrives in these steps, in chunks."""
    environment = {"wsgi.input": Stream(*steps), "wsgi.input_terminated": True}
    return client.post("/v1/correlations", content_type="application/json", environ_overrides=environment)


class TestBodies:
    def test_a_body_may_come_in_pieces(self, client):
        assert send_body(client, BODY[:9], BODY[9:]).status_code == 200

    @pytest.mark.parametrize(
        ("error", "status", "kind", "message"),
        [
            (ValueError("Invalid chunk size: b'zz'"), 400, "bad-request", "the body is incomplete: "),
            (OSError("reset"), 400, "bad-request", "the body is incomplete: "),
            (BlockingIOError(), 408, "too-slow", "the body stopped arriving"),
        ],
    )
    def test_an_interrupted_body_is_an_error_of_the_client(self, client, caplog, error, status, kind, message):
        answer = send_body(client, BODY[:9], error)
        assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
        assert answer.json["detail"].startswith(message)
        assert answer.json["type"] == f"urn:rankcorr:problem:{kind}"
        assert not caplog.records

    def test_an_error_of_the_service_is_not_blamed_on_the_client(self, client):
        assert send_body(client, MemoryError()).status_code == 500

    def test_a_body_is_read_only_for_known_paths_and_methods(self, client):
        environment = {"wsgi.input": Stream(OSError("read")), "wsgi.input_terminated": True}
        for method, path, status in (("POST", "/v1/nope", 404), ("PUT", "/v1/correlations", 405)):
            answer = client.open(
                path, method=method, content_type="application/json", environ_overrides=dict(environment)
            )
            assert answer.status_code == status

    @pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip"])
    def test_compressed_bodies_are_refused(self, client, encoding):
        headers = {"Content-Encoding": encoding, "Content-Type": "application/json"}
        answer = client.post("/v1/correlations", data=BODY, headers=headers)
        assert answer.status_code == 415
        assert "a body must come without compression" in answer.json["detail"]

    def test_content_encoding_identity_is_accepted(self, client):
        headers = {"Content-Encoding": "Identity", "Content-Type": "application/json"}
        assert client.post("/v1/correlations", data=BODY, headers=headers).status_code == 200


def test_a_body_is_limited_in_bytes(make_client):
    client = make_client(max_body_bytes=1000)
    body = json.dumps(PAIR).encode()
    padded = body + b" " * (1000 - len(body))
    assert client.post("/v1/correlations", data=padded, content_type="application/json").status_code == 200
    result = problem_of(client.post("/v1/correlations", data=padded + b" ", content_type="application/json"), 413)
    assert result["detail"] == "at most 1000 bytes in a body (RANKCORR_MAX_BODY_BYTES); got 1001"


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


def test_an_unknown_query_parameter_is_reported_unchanged(client):
    answer = client.get("/v1/weights?_schema=1&n0=2")
    assert answer.status_code == 422
    assert answer.json["errors"] == {"/_schema": ["unknown field"]}
    assert answer.json["detail"] == "/_schema: unknown field"


def test_a_repeated_query_parameter_is_refused(client):
    answer = client.get("/v1/weights?n0=1&n0=2&top=3")
    assert answer.status_code == 422
    assert answer.json["errors"] == {"/n0": ["this field is given more than once"]}


KEYS = st.text(alphabet='ab":\\{},[]é\n', max_size=4)
DOCUMENTS = st.recursive(
    st.one_of(st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False), KEYS, st.none(), st.booleans()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=12,
)


@given(DOCUMENTS, st.sampled_from([None, 2]), st.booleans())
def test_json_is_parsed_unchanged(document, indent, ascii_only):
    assert parse(json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode()) == document


@given(DOCUMENTS, KEYS, DOCUMENTS)
def test_repeated_keys_are_found_at_any_depth(outer, key, value):
    twice = "{" + f"{json.dumps(key)}: 1, {json.dumps(key)}: {json.dumps(value)}" + "}"
    body = json.dumps([outer, "HERE"]).replace('"HERE"', twice).encode()
    with pytest.raises(Problem, match="twice") as caught:
        parse(body)
    assert (caught.value.status, caught.value.kind) == (400, "duplicate-key")


def test_the_repeated_key_is_named():
    with pytest.raises(Problem, match='an object of the body has the key "b" twice'):
        parse(b'{"a": {"b": 1, "c": 2, "b": 3}}')


@pytest.mark.wide
def test_a_repeated_key_among_100000_is_named():
    keys = ", ".join(f'"{n}": 0' for n in range(100_000))  # a quadratic search would take minutes
    with pytest.raises(Problem, match='"99999"'):
        parse(("{" + keys + ', "99999": 1}').encode())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 400 + b"}",
        b'{"a": "\xff"}',
        b'{"\xc3\x28": 1}',
        '{"a": 1}'.encode("utf-16"),
        b"\xef\xbb\xbf{}",
        b'"\\ud800"',
        b'["\\ud800\\ud801"]',
        b"[" * 100_000,
        b"[" * 2000 + b"]" * 2000,
        b'{"a": 01}',
        b'{"a": 1} x',
        b"{'a': 1}",
    ],
)
def test_invalid_json_is_refused(body):
    with pytest.raises(Problem, match="the body is not JSON") as caught:
        parse(body)
    assert (caught.value.status, caught.value.kind) == (400, "not-json")


def test_numbers_are_parsed_as_in_json():
    assert parse(b"[9007199254740993, 18446744073709551615, 1.5, -0.0]") == [2**53 + 1, 2**64 - 1, 1.5, -0.0]
    assert parse(b"[36893488147419103232]") == [2.0**65]  # beyond 64 bits: a double


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_floats_round_trip_and_non_finite_ones_are_null(value):
    written = orjson.loads(orjson.dumps([value]))[0]
    assert written == value if math.isfinite(value) else written is None


def containers(inner, count):
    return b"[" + b",".join([inner] * (count - 1)) + b"]"


@pytest.mark.parametrize("inner", [b"[]", b"{}"])
def test_the_number_of_arrays_and_objects_is_limited(inner, monkeypatch):
    with pytest.raises(Problem, match="at most 1000000 arrays and objects in a body; got 1000001") as caught:
        parse(containers(inner, MAX_CONTAINERS + 1))
    assert caught.value.status == 413
    # A million are parsed in seconds, so the accepted case uses a smaller limit.
    monkeypatch.setattr(bodies, "MAX_CONTAINERS", 1_000)
    assert len(parse(containers(inner, 1_000))) == 999
    with pytest.raises(Problem, match="at most 1000 arrays and objects in a body; got 1001"):
        parse(containers(inner, 1_001))


def test_brackets_and_colons_in_strings_are_not_counted(monkeypatch):
    monkeypatch.setattr(bodies, "MAX_CONTAINERS", 1_000)
    assert len(parse(b'["' + b"[{:" * 1_000 + b'\\""]')) == 1


def test_a_long_repeated_key_is_cut(client):
    key = "k" * 100
    answer = client.post("/v1/correlations", data=f'{{"{key}":1,"{key}":2}}', content_type="application/json")
    assert answer.json["detail"] == f'an object of the body has the key "{key[:60]}" twice'


OVERSIZED_INTEGERS = [2**64 + 1, -(2**63) - 1, 10**30 + 1]


@pytest.mark.parametrize("number", OVERSIZED_INTEGERS)
@pytest.mark.parametrize("written", ["[{}]", '{{"scores": [1, {}]}}', '{{"a": {{"b": {}}}}}', "[{} , 0.5]"])
def test_a_whole_number_that_would_be_rounded_is_refused(number, written):
    with pytest.raises(Problem, match=f"{number} cannot be held exactly; the nearest number that can is ") as caught:
        parse(written.format(number).encode())
    assert (caught.value.status, caught.value.kind) == (422, "invalid-request")


@pytest.mark.parametrize("number", [2**64, 2**63, -(2**63), 2**64 - 1, 10**22, 3 * 2**100])
def test_an_exact_whole_number_is_accepted(number):
    assert parse(f"[{number}]".encode()) == [number]


@pytest.mark.parametrize("text", [f'["{2**64 + 1}"]', f"[{2**64 + 1}.0]", "[0.12345678901234567890123]", "[1e30]"])
def test_digits_of_a_text_and_of_a_fraction_are_not_a_whole_number(text):
    assert parse(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    "number", ["1e-400", "-1E-324", "2.4e-324", "0." + "0" * 323 + "2", "0." + "0" * 250 + "1e-99", "10.5e-0400"]
)
@pytest.mark.parametrize("written", ["[{}]", '{{"scores": {{"a": 1, "b": {}}}}}', "[{} , 0.5]"])
def test_a_number_that_would_be_read_as_zero_is_refused(number, written):
    with pytest.raises(Problem, match="is too small: the least above 0 is 5e-324, and it would be read as 0") as caught:
        parse(written.format(number).encode())
    assert (caught.value.status, caught.value.kind) == (422, "invalid-request")
    assert f"the number {number[:60]}" in caught.value.detail


@pytest.mark.parametrize("number", ["0e-400", "-0.0e-999", "5e-324", "1e-300", "3e-324", "0." + "0" * 400])
def test_a_small_number_and_zero_are_read(number):
    assert parse(f"[{number}]".encode()) == [float(number)]


def test_a_small_number_in_a_text_is_text():
    assert parse(b'{"1e-400": "1e-400"}') == {"1e-400": "1e-400"}


def test_small_numbers_do_not_tie(client):
    request = b'{"gold": {"scores": [1e-400, 0, 1]}, "system": {"scores": [1, 2, 3]}}'
    result = client.post("/v1/correlations", data=request, content_type="application/json")
    assert (result.status_code, result.json["detail"][:30]) == (422, "the number 1e-400 is too small")
    assert client.get("/v1/weights?n0=1e-400").json["errors"]["/n0"][0].endswith('got "1e-400"')
