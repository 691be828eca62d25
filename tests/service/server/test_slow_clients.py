"""Clients that are slow, break off, or send what is not HTTP: on real sockets, without a proxy."""

import contextlib
import http.client
import json
import re
import select
import socket
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.service.live import PATIENCE, eventually, running
from tests.service.load import IN_PROGRESS, PAIR, in_threads, seconds_of_work, simulation
from tests.service.slow import is_open, open_connections

HEAD = b"POST /v1/correlations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BODY = json.dumps(PAIR).encode()
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
PROBE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
# Soon drawn, and an answer of 8 MB, of which a client with a small window takes little.
ITEMS = [f"{number:0999d}" for number in range(200)]
BALLOT = json.dumps({"items": ITEMS, "presentations": 40, "voters": 1, "seed": 1}).encode()
LARGE = (
    b"POST /v1/ballots HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    + str(len(BALLOT)).encode()
    + b"\r\n\r\n"
    + BALLOT
)
FEW_THREADS = {"RANKCORR_WORKERS": "1", "RANKCORR_MAX_CONCURRENT": "1", "RANKCORR_MAX_WAITING": "0"}


@pytest.fixture(scope="module")
def patient(tmp_path_factory) -> Iterator:
    """One worker of nine threads that gives up no client within these tests, but for what it holds."""
    limits = {"RANKCORR_CLIENT_SECONDS": "600", "RANKCORR_MAX_BODY_SECONDS": "600"}
    room = {
        "RANKCORR_MAX_CONNECTIONS": "250",
        "RANKCORR_MAX_BUFFERED_BYTES": "100000000",
        "RANKCORR_MAX_BODY_BYTES": "90000000",
    }
    with running(tmp_path_factory.mktemp("patient"), FEW_THREADS | limits | room) as server:
        yield server


@pytest.fixture(scope="module")
def strict(tmp_path_factory) -> Iterator:
    """One worker of nine threads that gives clients little time."""
    limits = {"RANKCORR_CLIENT_SECONDS": "1", "RANKCORR_MAX_BODY_SECONDS": "2"}
    with running(tmp_path_factory.mktemp("strict"), FEW_THREADS | limits) as server:
        yield server


@pytest.fixture
def sockets():
    """Open connections that send something at once; they are closed at the end."""
    with open_connections() as connect:
        yield connect


def answer_of(connection):
    """Status, headers and document of the answer on a connection."""
    response = http.client.HTTPResponse(connection)
    response.begin()
    return response.status, response.headers, json.loads(response.read())


def answered(route, server):
    """Number of answers of a route."""
    return server.output.read_text().count(route)


def others_are_served(server):
    assert server.ask("GET", "/health/live")[0] == 200
    # The only turn may be another's at this moment, and a client of a busy machine may itself be too slow.
    eventually(lambda: server.ask("POST", "/v1/correlations", PAIR)[0] == 200, what="an answer")


class TestSlow:
    def test_more_than_there_are_threads_hold_up_nobody(self, patient, sockets):
        beginnings = (
            b"",
            b"GET",
            HEAD,
            HEAD + b"Content-Length: 100\r\n\r\n{",
            HEAD + b"Transfer-Encoding: chunked\r\n",
        )
        slow = [sockets(patient, beginning) for beginning in beginnings * 30]
        for _ in range(3):
            others_are_served(patient)
        assert all(map(is_open, slow))

    def test_whoever_does_not_read_its_answer_holds_up_nobody(self, patient, sockets):
        slow = []
        for _ in range(10):
            others_are_served(patient)  # the turn of the one before is over
            slow.append(sockets(patient, LARGE, window=2_048))
            eventually(lambda: answered("/v1/ballots", patient) == len(slow), what="the answer")
        others_are_served(patient)
        status, _, document = answer_of(slow[-1])
        assert (status, document["n_comparisons"]) == (200, 4_000)

    def test_the_one_silent_for_longest_makes_room(self, patient, sockets):
        silent = [sockets(patient) for _ in range(255)]
        others_are_served(patient)
        assert silent[0].recv(1) == b""
        assert is_open(silent[-1])

    def test_the_one_that_holds_most_makes_room(self, patient, sockets):
        declared = HEAD + b"Content-Length: 90000000\r\n\r\n"
        largest = sockets(patient, declared + b" " * 60_000_000)
        smaller = sockets(patient, declared + b" " * 50_000_000)
        status, headers, found = answer_of(largest)
        assert (status, headers["Connection"], headers["Retry-After"]) == (503, "close", "1")
        assert found["type"] == "urn:rankcorr:problem:over-capacity"
        assert found["detail"].startswith(
            "requests and answers in flight hold 100000000 bytes already (RANKCORR_MAX_BUF"
        )
        others_are_served(patient)
        assert is_open(smaller)

    def test_each_has_its_time_and_no_more(self, strict, sockets):
        head, pausing = sockets(strict, b"GET"), sockets(strict, HEAD + b"Content-Length: 100\r\n\r\n{")
        end, longest = time.monotonic() + PATIENCE, 1.0
        while longest >= 1.0:  # again where a busy machine has made a pause that ends the connection
            assert time.monotonic() < end
            sent = begun = time.monotonic()
            steady, longest = sockets(strict, HEAD + b"Content-Length: 100\r\n\r\n{"), 0.0
            while is_open(steady):
                with contextlib.suppress(OSError):
                    steady.sendall(b" ")
                    head.sendall(b"T")
                time.sleep(0.05)
                sent, before = time.monotonic(), sent
                longest = max(longest, sent - before)
        assert time.monotonic() >= begun + 2  # its pauses were short: what ended it is the time for all of it
        for connection in (head, pausing):
            status, headers, found = answer_of(connection)
            assert (status, headers["Connection"]) == (408, "close")
            assert (found["type"], found["status"]) == ("urn:rankcorr:problem:too-slow", 408)
            assert "RANKCORR_CLIENT_SECONDS" in found["detail"]
            assert "2 s in all (RANKCORR_MAX_BODY_SECONDS)" in found["detail"]
        others_are_served(strict)

    def test_an_answer_that_is_not_read_is_given_up(self, strict, sockets):
        connection = sockets(strict, LARGE, window=2_048)
        eventually(lambda: answered("/v1/ballots", strict), what="the answer")
        ended = select.poll()
        ended.register(connection, 0)  # for its reset alone
        assert ended.poll(1_000 * PATIENCE)
        with pytest.raises(ConnectionResetError):  # the kernel keeps nothing for it either
            list(iter(lambda: connection.recv(1 << 20), b""))


class TestBrokenOff:
    @pytest.mark.parametrize(
        ("sent", "detail"),
        [
            (HEAD[:50], "the connection ended before the request: the head of the request has no end"),
            (HEAD + b"Content-Length: 100\r\n\r\n{", "Content-Length says 100, and 1 bytes came"),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{", "1 bytes came, and no last chunk"),
        ],
    )
    def test_a_request_that_is_not_whole_is_refused(self, live_server, sockets, sent, detail):
        connection = sockets(live_server, sent)
        connection.shutdown(socket.SHUT_WR)
        status, _, found = answer_of(connection)
        assert status == 400
        assert detail in found["detail"]

    def test_whoever_closes_its_side_alone_has_its_answer(self, live_server, sockets):
        document = json.dumps(seconds_of_work(live_server, 0.5)).encode()
        head = b"POST /v1/simulations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "
        for version in (b"HTTP/1.1", b"HTTP/1.0"):
            connection = sockets(live_server, head.replace(b"HTTP/1.1", version))
            connection.sendall(b"%d\r\n\r\n" % len(document) + document)
            connection.shutdown(socket.SHUT_WR)
            assert answer_of(connection)[0] == 200

    def test_the_work_of_a_client_that_has_left_ends(self, patient, sockets):
        document = json.dumps(simulation(3_000)).encode()  # many seconds of work
        head = b"POST /v1/simulations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

        def works():
            """Whether a simulation has the turn; to ask may take its turn, and then another one is sent."""
            connection = sockets(patient, head + b"Content-Length: %d\r\n\r\n" % len(document) + document)
            eventually(lambda: patient.metrics()[IN_PROGRESS] >= 2 or not is_open(connection), what="the work")
            has_turn = patient.ask("POST", "/v1/correlations", PAIR)[0] == 503
            connection.close()
            return has_turn

        eventually(works, what="a turn of the work")
        eventually(lambda: patient.ask("POST", "/v1/correlations", PAIR)[0] == 200, what="the end of the work")
        lines = [json.loads(line) for line in patient.output.read_text().splitlines()]
        assert {line["route"] for line in lines if line["status"] == 499} == {"/v1/simulations"}


class TestHttp:
    def test_requests_in_a_row_are_answered_in_a_row(self, live_server, sockets):
        chunked = HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
        connection = sockets(live_server, PROBE + WHOLE + chunked + WHOLE.replace(b"correlations", b"nonsense") + PROBE)
        connection.shutdown(socket.SHUT_WR)
        answers = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        assert re.findall(rb"HTTP/1.1 ([0-9]{3}) ", answers) == [b"200", b"200", b"200", b"404", b"200"]

    @pytest.mark.parametrize(("head", "status"), [(HEAD, 400), (b"GET /health/live HTTP/1.1\r\nHost: x\r\n", 200)])
    def test_the_answer_to_a_trailer_that_is_none_says_that_the_connection_ends(
        self, live_server, sockets, head, status
    ):
        body = b"%x\r\n%b\r\n0\r\nno trailer\r\n\r\n" % (len(BODY), BODY)
        connection = sockets(live_server, head + b"Transfer-Encoding: chunked\r\n\r\n" + body)
        found_status, headers, _ = answer_of(connection)
        assert (found_status, headers["Connection"]) == (status, "close")
        assert connection.recv(1) == b""

    def test_a_client_is_told_to_send_its_body(self, live_server, sockets):
        connection = sockets(live_server, HEAD + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(BODY)
        assert answer_of(connection)[0] == 200

    def test_a_body_that_is_too_large_is_refused_before_it_comes(self, live_server, sockets):
        connection = sockets(live_server, HEAD + b"Expect: 100-continue\r\nContent-Length: 99000000\r\n\r\n")
        status, headers, found = answer_of(connection)
        assert (status, headers["Connection"]) == (413, "close")
        assert "got 99000000" in found["detail"]

    @pytest.mark.parametrize(
        ("sent", "status", "message"),
        [
            (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "Request Line is too large"),
            (b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 20_000 + b"\r\n\r\n", 431, "headers fields size"),
            (b"nonsense\r\n\r\n", 400, "Invalid Request Line"),
            (b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400, "Bad Header"),
            (b"GET / HTTP/1.1\r\n\r\n", 400, "a request of HTTP/1.1 has the header Host"),
            (HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 400, "CONTENT-LENGTH"),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "begins with no size"),
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1000001\r\n{", 413, "at most 16777216 bytes in a body"),
            (HEAD + b"Transfer-Encoding: odd\r\n\r\n", 400, "odd"),
        ],
    )
    def test_what_never_became_a_request_is_answered_logged_and_counted(
        self, live_server, sockets, sent, status, message
    ):
        counter = f'rankcorr_requests_total{{method="other",route="none",status="{status}"}}'
        before = live_server.metrics().get(counter, 0.0)
        found_status, headers, found = answer_of(sockets(live_server, sent))
        assert (found_status, headers["Content-Type"]) == (status, "application/problem+json")
        assert (headers["Connection"], headers["X-Content-Type-Options"]) == ("close", "nosniff")
        assert set(found) == {"type", "title", "status", "detail", "request_id"}
        assert message in found["detail"]
        assert headers["X-Request-ID"] == found["request_id"]
        lines = [json.loads(line) for line in live_server.output.read_text().splitlines()]
        assert [line["status"] for line in lines if line["id"] == found["request_id"]] == [status]
        assert live_server.metrics()[counter] == before + 1


def test_many_at_once_are_all_answered(patient):
    answers = in_threads(*[lambda: patient.ask("GET", "/health/live")[0]] * 60)
    assert Counter(answers) == {200: 60}
