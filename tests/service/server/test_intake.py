"""From the bytes of a connection to requests, as gunicorn's parser reads them."""

import contextlib

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import (
    InvalidHeader,
    InvalidRequestLine,
    LimitRequestHeaders,
    LimitRequestLine,
    ParseException,
)
from gunicorn.http.parser import RequestParser
from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.http.problems import Problem
from service.server.intake import MAX_HEAD_BYTES, Intake

GET = b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /v1/plans HTTP/1.1\r\nHost: x\r\n"
SIZED = POST + b"Content-Length: 5\r\n\r\nabcde"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"


def make_intake(most=100):
    config = Config()
    config.set("limit_request_line", 2_048)
    return Intake(config, ("192.0.2.1", 1), max_body_bytes=most)


def requests_in(pieces, most=100):
    """Path and body of each request, as if each were answered at once."""
    intake, found = make_intake(most), []
    for piece in pieces:
        intake.receive(piece)
        while intake.is_complete:
            found.append((intake.request.path, intake.request.body.read()))
            assert intake.finish()
            intake.receive(b"")
    return found


@given(st.lists(st.sampled_from([GET, SIZED, CHUNKED, b"\r\n" + GET]), max_size=4), st.data())
def test_requests_are_found_however_they_arrive(messages, data):
    sent = b"".join(messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(sent)), max_size=8)))
    pieces = [sent[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    expected = {GET: ("/health/live", b""), b"\r\n" + GET: ("/health/live", b"")}
    assert requests_in(pieces) == [expected.get(message, ("/v1/plans", b"abcde")) for message in messages]


def test_a_request_is_complete_with_its_last_byte_and_not_before():
    for message in (GET, SIZED, CHUNKED):
        intake = make_intake()
        for place in range(len(message) - 1):
            intake.receive(message[place : place + 1])
            assert not intake.is_complete
        intake.receive(message[-1:])
        assert intake.is_complete
        assert intake.is_empty


def test_a_large_body_is_read_in_time_that_grows_with_its_length():
    n_bytes = 3_000_000
    chunk = b"40\r\n" + b"x" * 64 + b"\r\n"
    chunks = chunk * (n_bytes // 64)
    for head, body in (
        (POST + b"Content-Length: %d\r\n\r\n" % n_bytes, b"x" * n_bytes),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", chunks + b"0\r\n\r\n"),
    ):
        intake = make_intake(most=n_bytes)
        intake.receive(head)
        for start in range(0, len(body), 65_536):
            intake.receive(body[start : start + 65_536])
        assert intake.is_complete
        assert intake.n_bytes == len(body)
        assert intake.request.body.read() == b"x" * (n_bytes // 64 * 64)
        assert intake.finish()
        assert intake.n_bytes == 0


@pytest.mark.parametrize(
    ("sent", "error", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", Problem, "a request of HTTP/1.1 has the header Host"),
        (b"GET / HTTP/1.1\nHost: x\n\n", InvalidRequestLine, "bare LF"),
        (b"\n", InvalidRequestLine, "bare LF"),
        (b"GET / HTTP/1.1\r\nHost: x\nX: y\r\n", InvalidHeader, "bare LF"),
        (b"GET /" + b"a" * 3_000, LimitRequestLine, "Request Line is too large"),
        (b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 101 + b"\r\n", LimitRequestHeaders, "headers fields"),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * MAX_HEAD_BYTES, Problem, "at most 65536 bytes before a body"),
        (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", InvalidHeader, "CONTENT-LENGTH"),
        (POST + b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n", InvalidHeader, "CONTENT-LENGTH"),
        (POST + b"Content-Length: -5\r\n\r\n", InvalidHeader, "CONTENT-LENGTH"),
        (POST + b"Transfer-Encoding: gzip\r\n\r\n", InvalidHeader, "TRANSFER-ENCODING"),
        (POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n", InvalidHeader, "TRANSFER-ENCODING"),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n", Problem, "chunked is the one transfer coding"),
        (
            POST + b"Transfer-Encoding: deflate\r\nTransfer-Encoding: chunked\r\n\r\n",
            Problem,
            "chunked is the one transfer coding",
        ),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", InvalidHeader, "TRANSFER-ENCODING"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n65\r\n", Problem, "at most 100 bytes in a body"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nnone\r\n", Problem, "a chunk of the body begins with no size"),
    ],
)
def test_what_is_no_request_is_refused_at_once(sent, error, message):
    with pytest.raises(error, match=message):
        make_intake().receive(sent)


def test_http_1_0_needs_no_host():
    assert requests_in([b"GET /health/live HTTP/1.0\r\n\r\n"]) == [("/health/live", b"")]


def test_a_body_above_the_limit_is_not_waited_for_and_ends_the_connection():
    intake = make_intake(most=100)
    intake.receive(POST + b"Content-Length: 101\r\n\r\n")
    assert intake.is_complete
    assert not intake.is_empty
    assert intake.request.should_close()
    intake.receive(b"GET / HTTP/1.1\r\n")
    assert not intake.finish()
    assert intake.n_bytes == 0


def test_a_client_is_invited_once_to_send_its_body():
    waits = POST + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    intake = make_intake()
    assert not intake.wants_to_go_on()
    intake.receive(waits)
    assert intake.wants_to_go_on()
    assert not intake.wants_to_go_on()
    too_large, at_once = make_intake(most=4), make_intake()
    too_large.receive(waits)
    at_once.receive(waits + b"abcde")
    assert not too_large.wants_to_go_on()
    assert not at_once.wants_to_go_on()


def test_a_client_that_has_its_answer_is_not_invited():
    intake = make_intake()
    intake.receive(POST + b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\nabcde")
    assert intake.is_complete
    assert intake.finish()
    intake.receive(b"")
    assert not intake.wants_to_go_on()  # it would take that for the answer to its next request


@pytest.mark.parametrize(
    "body", [b"1;=\r\na\r\n0\r\n\r\n", b"1\r\na\r\n0;=\r\n\r\n", b"1\r\na\r\n0\r\nno trailer\r\n\r\n"]
)
@pytest.mark.parametrize("is_read", [False, True])
def test_nothing_after_a_body_that_gunicorn_reads_otherwise_is_believed(body, is_read):
    intake = make_intake()
    intake.receive(POST + b"Transfer-Encoding: chunked\r\n\r\n" + body + GET)
    assert intake.is_complete
    assert not intake.request.should_close()
    if is_read:
        with pytest.raises(ParseException):
            intake.request.body.read()
    else:
        intake.request.body.settle()
    assert intake.request.should_close()  # and the answer says so
    assert not intake.finish()


def test_a_body_that_gunicorn_reads_alike_keeps_the_connection():
    intake = make_intake()
    intake.receive(CHUNKED + GET)
    intake.request.body.settle()
    assert not intake.request.should_close()
    assert intake.finish()


PARTS = st.sampled_from(
    [
        *(GET, SIZED, CHUNKED, POST, b"\r\n", b"\n", b"\r", b" ", b"0\r\n\r\n", b"5\r\nabcde\r\n", b"abcde"),
        *(
            b"Content-Length: 5\r\n",
            b"Content-Length:5\r\n\r\n",
            b"Content-Length: +5\r\n\r\n",
            b"Content-Length: 05\r\n",
        ),
        *(
            b"Transfer-Encoding: chunked\r\n",
            b"Transfer-Encoding: Chunked\r\n\r\n",
            b"Transfer-Encoding : chunked\r\n\r\n",
        ),
        *(
            b"5;a=b\r\nabcde\r\n",
            b"5;=\r\nabcde\r\n",
            b"0\r\nX: y\r\n\r\n",
            b"0\r\nX: y\n\r\n",
            b"1 \r\na\r\n",
            b"0x1\r\na\r\n",
        ),
    ]
)


def read_by_gunicorn(sent):
    """Path and body of each request that gunicorn reads from a stream by itself."""
    config = Config()
    config.set("limit_request_line", 2_048)
    parser, found = RequestParser(config, [sent], ("192.0.2.1", 1)), []
    with contextlib.suppress(Exception):
        for request in parser:
            found.append((request.path, request.body.read()))
    return found


@settings(max_examples=300)
@given(st.lists(PARTS, max_size=7).map(b"".join))
@example(SIZED + CHUNKED + GET)
@example(POST + b"Transfer-Encoding: chunked\r\n\r\n5;=\r\nabcde\r\n0\r\n\r\n" + GET)
def test_no_request_is_found_that_gunicorn_would_not_find(sent):
    intake, found = make_intake(), []
    with contextlib.suppress(Exception):
        intake.receive(sent)
        while intake.is_complete:
            found.append((intake.request.path, intake.request.body.read()))
            if not intake.finish():
                break
            intake.receive(b"")
    assert found == read_by_gunicorn(sent)[: len(found)]
