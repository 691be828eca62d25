"""Streams on real sockets: long ones, slow ones, and those that break off."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from rankcorr.evaluation import evaluate
from tests.service.live import eventually, resident_bytes, running
from tests.service.load import PAIR
from tests.service.slow import open_connections

PATH = "/v1/evaluations/stream"
HEAD = f"POST {PATH}?metrics=tau_w,ap HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-ndjson\r\n".encode()
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
GOLD = {"a": 2, "b": 1, "c": 0}
RUN = {"a": 0.5, "c": 0.25, "b": 0.125}
LINE = json.dumps({"query": "q", "relevance": GOLD, "scores": {"x": RUN}}).encode() + b"\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator:
    """One worker, which gives up no client within these tests."""
    limits = {"RANKCORR_WORKERS": "1", "RANKCORR_CLIENT_SECONDS": "600", "RANKCORR_MAX_BODY_BYTES": "100000"}
    with running(tmp_path_factory.mktemp("streams"), limits) as found:
        yield found


@pytest.fixture(scope="module")
def hasty(tmp_path_factory) -> Iterator:
    """One worker, whose clients have a second."""
    limits = {"RANKCORR_WORKERS": "1", "RANKCORR_CLIENT_SECONDS": "1", "RANKCORR_MAX_BODY_BYTES": "100000"}
    with running(tmp_path_factory.mktemp("hasty"), limits) as found:
        yield found


@pytest.fixture
def sockets():
    """Open connections that send something at once; they are closed at the end."""
    with open_connections() as connect:
        yield connect


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer_of(connection):
    """Status, headers and lines of the answer on a connection."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.headers, [json.loads(line) for line in response.read().splitlines()]


def n_sent(connection, data, *, most):
    """How often data can be sent before the service takes no more, or has ended the connection."""
    for number in range(most):
        try:
            connection.sendall(data)
        except OSError:
            return number
    return most


def send_on(connection, data, ended, *, pause=0.0):
    """Send data over and over until told to end, or until the service has ended the connection."""
    with contextlib.suppress(OSError):
        while not ended.wait(pause):
            connection.sendall(data)


def ends(server):
    """How the streams ended that are over, by the log."""
    rows = [json.loads(line) for line in server.output.read_text().splitlines() if line.startswith("{")]
    return [row["stream"] for row in rows if "stream" in row]


def others_are_served(server):
    assert server.ask("GET", "/health/live")[0] == 200
    # Of one turn in all, the beginning of a stream may have it at this moment.
    eventually(lambda: server.ask("POST", "/v1/correlations", PAIR)[0] == 200, what="an answer")


def of_library():
    return [evaluate({"q": GOLD}, {"q": RUN}, metrics=name, standardized=False).mean() for name in ("tau_w", "ap")]


def test_memory_does_not_grow_with_the_stream(server, sockets):
    """12 MB in lines, which is 120 times as much as a body may have, and as much comes back."""
    (pid,) = server.workers()
    connection = sockets(server, CHUNKED + chunk(LINE * 2_000))
    begun = b""
    while begun.count(b'"line":') < 2_000:
        begun += connection.recv(1 << 20)
    before, largest, n_pieces = resident_bytes(pid), 0, 60  # what grows once has grown

    def send():
        for _ in range(n_pieces):
            connection.sendall(chunk(LINE * 2_000))
        connection.sendall(b"0\r\n\r\n")

    sender = threading.Thread(target=send)
    sender.start()
    n_bytes, end = 0, b""
    while piece := connection.recv(1 << 20):
        n_bytes, end = n_bytes + len(piece), (end + piece)[-5_000:]
        largest = max(largest, resident_bytes(pid))
    sender.join()
    assert largest - before < 8_000_000
    assert n_bytes > 9_000_000
    summary = json.loads(end[end.index(b'{"summary"') :].split(b"\n")[0])["summary"]
    assert summary["n_queries"] == 2_000 * (n_pieces + 1)
    assert [row["mean"] for row in summary["means"]] == of_library()


def test_answers_come_while_the_body_does(server, sockets):
    connection = sockets(server, CHUNKED)
    response = http.client.HTTPResponse(connection)
    for number in range(1, 4):
        connection.sendall(chunk(LINE[:10]))
        connection.sendall(chunk(LINE[10:]))
        if number == 1:
            response.begin()
            assert response.headers["Content-Type"] == "application/x-ndjson"
            assert response.headers["Connection"] == "close"
        found = json.loads(response.readline())
        assert (found["line"], list(found["values"]["x"].values())) == (number, of_library())
    connection.sendall(b"0\r\n\r\n")
    assert json.loads(response.readline())["summary"]["n_lines"] == 3
    assert response.read() == b""


@pytest.mark.parametrize("n_lines", [0, 1, 3_000])
def test_a_body_of_known_length(server, sockets, n_lines):
    body = LINE * n_lines
    status, _, lines = answer_of(sockets(server, HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body))
    assert (status, len(lines), lines[-1]["summary"]["n_lines"]) == (200, n_lines + 1, n_lines)


@pytest.mark.parametrize("behind", [b"", b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n", b"{" * 1_000])
@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_the_connection_ends_with_the_answer(server, sockets, version, behind):
    head = HEAD.replace(b"HTTP/1.1", b"HTTP/" + version) + b"Content-Length: %d\r\n\r\n" % len(LINE)
    connection = sockets(server, head + LINE + behind)
    answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/%b 200 OK" % version)
    assert (answer.count(b"HTTP/"), answer.count(b'{"summary":{"n_lines":1,"n_queries":1,')) == (1, 1)


def test_a_client_that_waits_for_leave_is_invited(server, sockets):
    connection = sockets(server, HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(LINE))
    assert connection.recv(100).startswith(b"HTTP/1.1 100 Continue\r\n\r\n")
    connection.sendall(LINE)
    rest = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert b'"n_queries":1' in rest


def test_options_are_refused_before_the_body_comes(server, sockets):
    head = CHUNKED.replace(b"tau_w,ap", b"nonsense")
    status, headers, ((found),) = answer_of(sockets(server, head))
    assert (status, headers["Content-Type"], headers["Connection"]) == (422, "application/problem+json", "close")
    assert "/metrics" in found["errors"]
    head = CHUNKED.replace(b"x-ndjson", b"json")
    assert answer_of(sockets(server, head))[0] == 415
    others_are_served(server)


class TestBrokenOff:
    def test_a_body_that_is_shorter_than_declared(self, server, sockets):
        connection = sockets(server, HEAD + b"Content-Length: 1000000\r\n\r\n" + LINE + b'{"query"')
        connection.shutdown(socket.SHUT_WR)
        status, _, lines = answer_of(connection)
        assert (status, lines[0]["line"], lines[-1].keys()) == (200, 1, {"problem"})
        assert f"Content-Length says 1000000, and {len(LINE) + 8} bytes came" in lines[-1]["problem"]["detail"]

    def test_chunks_without_a_last_one(self, server, sockets):
        connection = sockets(server, CHUNKED + chunk(LINE))
        connection.shutdown(socket.SHUT_WR)
        *_, last = answer_of(connection)[2]
        assert "no last chunk" in last["problem"]["detail"]

    def test_what_are_no_chunks(self, server, sockets):
        *found, last = answer_of(sockets(server, CHUNKED + chunk(LINE) + b"zz\r\n"))[2]
        assert [each["line"] for each in found] == [1]
        assert "begins with no size" in last["problem"]["detail"]

    def test_a_client_that_pauses_too_long(self, hasty, sockets):
        begun = time.monotonic()
        connection = sockets(hasty, CHUNKED + chunk(LINE))
        *found, last = answer_of(connection)[2]
        assert time.monotonic() - begun >= 1
        assert (len(found), last["problem"]["status"]) == (1, 408)
        assert "RANKCORR_CLIENT_SECONDS" in last["problem"]["detail"]

    def test_a_client_that_leaves(self, server, sockets):
        n_before = len(ends(server))
        connection = sockets(server, CHUNKED + chunk(LINE * 100))
        connection.recv(100)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
        eventually(lambda: len(ends(server)) > n_before, what="the end of the stream")
        assert ends(server)[-1] != "whole"
        others_are_served(server)

    def test_a_client_that_does_not_read_is_given_up(self, hasty, sockets):
        (pid,) = hasty.workers()
        n_before, before = len(ends(hasty)), resident_bytes(pid)
        connection = sockets(hasty, CHUNKED, window=2_048)
        assert n_sent(connection, chunk(LINE * 2_000), most=1_000) < 1_000  # no room is left
        eventually(lambda: len(ends(hasty)) > n_before, what="the end of the stream")
        assert resident_bytes(pid) - before < 20_000_000
        others_are_served(hasty)


def test_slow_streams_hold_up_nobody(tmp_path, sockets):
    settings = {"RANKCORR_WORKERS": "1", "RANKCORR_MAX_CONCURRENT": "1", "RANKCORR_MAX_WAITING": "0"}
    settings["RANKCORR_CLIENT_SECONDS"] = "600"
    with running(tmp_path, settings) as server:
        slow = [sockets(server, CHUNKED + chunk(LINE[:20])) for _ in range(60)]
        for _ in range(3):
            others_are_served(server)
        for connection in slow:
            connection.sendall(chunk(LINE[20:]) + b"0\r\n\r\n")
            assert answer_of(connection)[2][-1]["summary"]["n_queries"] == 1


def test_streams_that_find_no_turn_wait_and_are_not_turned_away(tmp_path, sockets):
    settings = {"RANKCORR_WORKERS": "1", "RANKCORR_MAX_CONCURRENT": "1", "RANKCORR_MAX_WAITING": "0"}
    settings["RANKCORR_CLIENT_SECONDS"] = "600"
    body = LINE * 3_000
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(body)
    with running(tmp_path, settings) as server:
        streams = [sockets(server, whole) for _ in range(20)]
        found = []
        for stream in streams:
            threading.Thread(target=stream.sendall, args=(body,)).start()
        readers = [threading.Thread(target=lambda s=stream: found.append(answer_of(s)[2][-1])) for stream in streams]
        for reader in readers:
            reader.start()
        n_probes = 0
        while any(reader.is_alive() for reader in readers):
            assert server.ask("GET", "/health/live")[0] == 200
            n_probes += 1
            time.sleep(0.02)
        assert n_probes >= 10  # while the streams go on
        assert [each["summary"]["n_queries"] for each in found] == [3_000] * 20


def test_a_stream_has_a_time(tmp_path, sockets):
    with running(
        tmp_path, {"RANKCORR_WORKERS": "1", "RANKCORR_MAX_STREAM_SECONDS": "1", "RANKCORR_CLIENT_SECONDS": "600"}
    ) as server:
        begun, ended = time.monotonic(), threading.Event()
        connection = sockets(server, CHUNKED)
        sender = threading.Thread(target=send_on, args=(connection, chunk(LINE), ended), kwargs={"pause": 0.1})
        sender.start()
        *_, last = answer_of(connection)[2]
        assert time.monotonic() - begun >= 1
        ended.set()
        sender.join()
        assert last["problem"]["status"] == 408
        assert "1 s in all (RANKCORR_MAX_STREAM_SECONDS)" in last["problem"]["detail"]


def test_a_stream_that_never_pauses_has_a_time_too(tmp_path, sockets):
    with running(
        tmp_path, {"RANKCORR_WORKERS": "1", "RANKCORR_MAX_STREAM_SECONDS": "1", "RANKCORR_CLIENT_SECONDS": "600"}
    ) as server:
        ended = threading.Event()
        connection = sockets(server, CHUNKED)
        sender = threading.Thread(target=send_on, args=(connection, chunk(LINE * 500), ended))
        sender.start()
        *_, last = answer_of(connection)[2]
        assert last["problem"]["status"] == 408
        ended.set()
        sender.join()
