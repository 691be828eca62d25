"""Slow and disconnecting clients without a proxy: gunicorn's worker, with the additions of the service."""

import contextlib
import http.client
import json
import socket
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.service.live import IN_PROGRESS, PATIENCE, poll_until, run_in_threads, run_service, simulation

pytestmark = pytest.mark.wide

HEAD = b"POST /v1/correlations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
NINE_THREADS = {"RANKCORR_WORKERS": "1", "RANKCORR_MAX_WAITING": "1"}


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator:
    """A service with one worker of nine threads, which waits a second for a byte."""
    with run_service(tmp_path_factory.mktemp("slow"), NINE_THREADS | {"RANKCORR_CLIENT_SECONDS": "1"}) as result:
        yield result


@pytest.fixture
def sockets():
    """Open connections that send these bytes at once; they are closed at the end."""
    with contextlib.ExitStack() as stack:

        def connect(server, sent, *, window=None):
            connection = stack.enter_context(socket.socket())
            if window:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
            connection.settimeout(PATIENCE)
            connection.connect((server.host, server.port))
            connection.sendall(sent)
            return connection

        yield connect


def answer_of(connection):
    """Status, headers and document of the answer on a connection."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.headers, json.loads(response.read())


def test_threads_of_clients_that_pause_too_long_are_freed(server, sockets):
    """There are more clients than threads, and all are disconnected."""

    def pause():
        with contextlib.closing(sockets(server, b"GET /health/live HTT")) as head:
            return head.recv(1)

    assert run_in_threads(*[pause] * 12) == [b""] * 12
    assert server.ask("GET", "/health/live")[0] == 200


def test_a_body_that_pauses_too_long_gets_a_problem_document(server, sockets):
    connection = sockets(server, HEAD + b"Content-Length: 100\r\n\r\n{")
    status, headers, result = answer_of(connection)
    assert (status, headers["Content-Type"]) == (408, "application/problem+json")
    assert connection.recv(1) == b""
    assert result["type"] == "urn:rankcorr:problem:too-slow"
    assert "RANKCORR_CLIENT_SECONDS" in result["detail"]


def test_a_client_that_does_not_read_is_disconnected(server, sockets):
    ballot = json.dumps(
        {"items": [f"{item:0999d}" for item in range(200)], "presentations": 40, "voters": 1, "seed": 1}
    )
    head = b"POST /v1/ballots HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
    sockets(server, head + b"%d\r\n\r\n" % len(ballot) + ballot.encode(), window=2_048)
    poll_until(lambda: "Socket error processing request" in server.errors.read_text(), goal="the end of the answer")
    assert server.ask("GET", "/health/live")[0] == 200


@pytest.mark.parametrize("sent", [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{"])
def test_a_body_that_ends_early_gets_a_problem_document(live_server, sockets, sent):
    connection = sockets(live_server, HEAD + sent)
    connection.shutdown(socket.SHUT_WR)
    status, _, result = answer_of(connection)
    assert status == 400
    assert result["detail"].startswith("the body is incomplete: ")


def test_work_for_a_disconnected_client_stops(server, sockets):
    document = json.dumps(simulation(600)).encode()  # seconds of work
    head = b"POST /v1/simulations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    connection = sockets(server, head + b"Content-Length: %d\r\n\r\n" % len(document) + document)
    poll_until(lambda: server.metrics()[IN_PROGRESS] >= 2, goal="the work")
    connection.close()

    def left():
        lines = [json.loads(line) for line in server.output.read_text().splitlines()]
        return [(line["route"], line["status"]) for line in lines if line["route"] == "/v1/simulations"]

    assert poll_until(left, goal="the end of the work") == [("/v1/simulations", 499)]


def test_many_simultaneous_requests_are_all_answered(live_server):
    answers = run_in_threads(*[lambda: live_server.ask("GET", "/health/live")[0]] * 60)
    assert Counter(answers) == {200: 60}
