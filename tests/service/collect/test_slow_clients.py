"""Clients that are slow, silent, or do not read what they asked for, beside a voter: on real sockets."""

import threading
import time

import pytest

from tests.service.collect.live import LiveVoter, collecting
from tests.service.live import eventually
from tests.service.load import IN_PROGRESS
from tests.service.slow import is_open, open_connections

N_SLOW = 500
HEAD = b"POST /v1/sheets HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
BEGINNINGS = (
    b"",
    b"GET /v/",
    HEAD,
    HEAD + b"Content-Length: 1000\r\n\r\n{",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
)
# Answers of 1.5 MB each, of which a client with a small window takes little.
LARGE = b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20
BUNDLE = "/docs/<name>"
SECONDS = 60.0  # for a vote; one that waited for the slow ones would wait for ten minutes


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    # Patience enough that none of the slow ones is given up while the voter votes.
    patience = {"RANKCORR_CLIENT_SECONDS": "600", "RANKCORR_MAX_BODY_SECONDS": "600"}
    patience |= {"RANKCORR_MAX_WAIT_SECONDS": "600", "RANKCORR_MAX_LEDGER_SECONDS": "600"}
    with collecting(tmp_path_factory.mktemp("collecting"), patience) as found:
        yield found


def drip(connections, ended):
    """Send a byte on each connection, over and over."""
    while not ended.wait(0.3):
        for connection in connections:
            connection.send(b" ")


def test_five_hundred_slow_clients_keep_no_voter_waiting(live):
    server, campaign = live
    voter = LiveVoter(server.ask, campaign)
    voter.come()
    pairs = voter.sheet()
    assert len(pairs) == 100
    with open_connections() as connect:
        slow = [connect(server, BEGINNINGS[number % 5]) for number in range(N_SLOW - 20)]
        unread = [connect(server, LARGE, window=2_048) for _ in range(20)]
        eventually(lambda: server.output.read_text().count(BUNDLE) >= len(unread), what="the answers that are not read")
        eventually(lambda: server.metrics()[IN_PROGRESS] == 1, what="the end of all work")
        ended = threading.Event()
        dripping = threading.Thread(target=drip, args=(slow[3::5], ended))
        dripping.start()
        times = []
        try:
            for pair in pairs:
                began = time.perf_counter()
                status, _, body = voter.vote(pair)
                times.append(time.perf_counter() - began)
                assert status == 200, body
        finally:
            ended.set()
            dripping.join()
        assert all(map(is_open, slow))
        assert len(unread) + len(slow) == N_SLOW
        assert server.output.read_text().count(BUNDLE) < 20 * 20  # the others wait for their turn
    assert max(times) < SECONDS
    status, _, body = voter.ask("POST", "/v1/finish", {})
    assert status == 200, body
    counted = server.metrics()['rankcorr_requests_total{method="PUT",route="/v1/votes/<event_id>",status="200"}']
    assert counted == len(pairs)
