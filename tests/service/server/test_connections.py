"""The service as its clients meet it: fast ones, silent ones, and more of them than it can serve."""

import contextlib
import http.client
import json
import re
import socket
import time
from collections import Counter
from email.utils import parsedate_to_datetime

import numpy as np

from rankcorr import correlate
from tests.service.live import AMPLE, PATIENCE, ask, eventually, running
from tests.service.load import IN_PROGRESS, PAIR, in_threads, seconds_of_work


def test_an_answer_equals_that_of_the_library_to_the_last_bit(live_server):
    rng = np.random.default_rng(1)
    for n_items in (5, 50, 1_000):
        gold, system = rng.standard_normal(n_items), rng.integers(0, n_items, n_items)
        names = [f"item {number}" for number in range(n_items)]
        order = rng.permutation(n_items)
        document = {
            "gold": {"scores": dict(zip(names, gold.tolist(), strict=True))},
            "system": {"scores": system[order].tolist(), "labels": [names[place] for place in order]},
        }
        status, headers, body = live_server.ask("POST", "/v1/correlations", document)
        assert (status, headers["Content-Type"]) == (200, "application/json")
        expected = {name: result.statistic for name, result in correlate(gold, system).items()}
        assert json.loads(body)["coefficients"] == expected


def test_a_connection_serves_many_requests(live_server):
    connection = live_server.connect()
    connection.connect()
    port = connection.sock.getsockname()[1]
    for _ in range(50):
        status, headers, _ = ask(connection, "POST", "/v1/correlations", PAIR)
        assert status == 200
        assert headers["Connection"] == "keep-alive"
        assert connection.sock.getsockname()[1] == port
    connection.close()


def test_what_http_forbids_is_refused_within_limits(live_server):
    assert live_server.ask("GET", "/v1/weights?" + "n0=2&" * 1_000)[0] == 414
    connection = live_server.connect()
    connection.request("GET", "/health/live", headers={f"X-{number}": "" for number in range(100)})
    assert connection.getresponse().status == 431
    connection.close()
    assert live_server.ask("GET", "/health/live")[0] == 200


def test_nothing_follows_the_answer_to_a_client_that_would_have_waited_with_its_body(live_server):
    body = json.dumps(PAIR).encode()
    head = "POST /v1/correlations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
    probe = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    with socket.create_connection((live_server.host, live_server.port), timeout=PATIENCE) as connection:
        connection.sendall(head.encode() + body)
        answers = connection.recv(1 << 16)
        connection.sendall(probe)
        answers += b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", answers) == [b"200", b"200"]


def test_what_never_became_a_request_is_answered_with_the_date(live_server):
    with socket.create_connection((live_server.host, live_server.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /health/live HTTP/1.1\r\n\r\n")
        with http.client.HTTPResponse(connection) as response:
            response.begin()
            assert response.status == 400
            sent = parsedate_to_datetime(response.headers["Date"])
    assert abs(time.time() - sent.timestamp()) < 60


def test_a_proxy_is_not_believed_unless_it_is_trusted(live_server):
    connection = live_server.connect()
    connection.request("GET", "/health/live", headers={"SCRIPT_NAME": "/health", "X-Forwarded-Proto": "https"})
    assert connection.getresponse().status == 200
    connection.close()


def test_each_request_is_a_line_of_json_and_nothing_else_is_on_stdout(live_server):
    live_server.ask("GET", "/health/live")
    lines = [json.loads(line) for line in live_server.output.read_text().splitlines()]
    assert {"time", "id", "method", "route", "status", "ms"} <= set(lines[-1])
    assert "GET /health/live" not in live_server.errors.read_text()


def test_clients_that_do_not_close_their_side_hold_up_nobody(live_server):
    times = []
    while len(times) < 3 and min(times, default=10.0) >= 10.0:  # a machine that stands still makes one of them long
        with contextlib.ExitStack() as stack:
            for _ in range(40):
                address = (live_server.host, live_server.port)
                connection = stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
                connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            start = time.perf_counter()
            for _ in range(10):
                assert live_server.ask("GET", "/health/live")[0] == 200
            times.append(time.perf_counter() - start)
    assert min(times) < 10.0  # gunicorn's own worker waits 2 s for each such client


def test_over_capacity_some_are_turned_away_and_probes_are_answered(tmp_path):
    capacity = {"RANKCORR_MAX_CONCURRENT": "1", "RANKCORR_MAX_WAITING": "1", "RANKCORR_WORKERS": "1"}
    with running(tmp_path, AMPLE | capacity) as server:
        document = seconds_of_work(server, 4.0)
        padded = json.dumps(document).encode() + b" " * 5_000_000  # a refusal must reach a client that still sends
        answers, waited, n_probes = [], [], 0

        def first():
            answers.append(server.ask("POST", "/v1/simulations", document)[0])

        def second():
            eventually(lambda: server.metrics()[IN_PROGRESS] >= 2, what="the first one")
            while not answers:  # again, if the first one has come and has no turn yet
                waited.append(server.ask("POST", "/v1/correlations", PAIR)[0])

        def others():
            nonlocal n_probes
            eventually(lambda: server.metrics()["rankcorr_requests_waiting"] == 1, what="a request that waits")
            refused = in_threads(*[lambda: server.ask("POST", "/v1/simulations", padded)] * 6)
            while not answers:
                assert server.ask("GET", "/health/live")[0] == 200
                n_probes += 1
                time.sleep(0.02)
            return refused

        *_, refused = in_threads(first, second, others)
        assert answers == [200]
        assert set(waited) == {200}
        assert Counter(status for status, _, _ in refused) == {503: 6}
        for _, headers, body in refused:
            assert headers["Retry-After"] == "1"
            assert b"RANKCORR_MAX_WAITING" in body
        assert n_probes >= 10  # while the first one works
        assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200
