"""Connections of clients: fast ones, silent ones, and more than the service can serve."""

import json
import os
import signal
import threading
from functools import partial

import numpy as np
import pytest

from rankcorr import correlate
from tests.service.live import (
    IN_PROGRESS,
    LONG_LIMITS,
    PAIR,
    ask,
    children,
    poll_until,
    run_in_threads,
    run_service,
    seconds_of_work,
    simulation,
)

pytestmark = pytest.mark.wide


def test_an_answer_equals_that_of_the_library_exactly(live_server):
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


def test_invalid_http_is_refused(live_server):
    assert live_server.ask("GET", "/v1/weights?" + "n0=2&" * 2_000)[0] == 414
    connection = live_server.connect()
    connection.request("GET", "/health/live", headers={f"X-{number}": "" for number in range(120)})
    assert connection.getresponse().status == 431
    connection.close()
    assert live_server.ask("GET", "/health/live")[0] == 200


def test_headers_of_an_untrusted_proxy_are_ignored(live_server):
    connection = live_server.connect()
    connection.request("GET", "/health/live", headers={"SCRIPT_NAME": "/health", "X-Forwarded-Proto": "https"})
    assert connection.getresponse().status == 200
    connection.close()


def test_stdout_has_one_json_line_per_request_and_nothing_else(live_server):
    live_server.ask("GET", "/health/live")
    lines = [json.loads(line) for line in live_server.output.read_text().splitlines()]
    assert {"time", "id", "method", "route", "status", "ms"} <= set(lines[-1])
    assert "GET /health/live" not in live_server.errors.read_text()


def test_under_load_short_work_is_done_at_once_and_long_work_is_refused(tmp_path):
    capacity = {
        "RANKCORR_MAX_HEAVY": "1",
        "RANKCORR_MAX_WAITING": "4",  # at most two are long: a third one is refused once it proves long
        "RANKCORR_WORKERS": "1",
        "RANKCORR_TRUSTED_PROXIES": "1",
    }

    def of(client):
        return {"X-Forwarded-For": f"192.0.2.{client}"}

    with run_service(tmp_path, LONG_LIMITS | capacity) as server:
        document = seconds_of_work(server, 3.0)
        padded = json.dumps(document).encode() + b" " * 5_000_000  # a refusal must reach a client that is still sending
        statuses, is_over = {1: [], 2: []}, threading.Event()

        def keep_busy(client):
            while not is_over.is_set():
                statuses[client].append(server.ask("POST", "/v1/simulations", document, headers=of(client))[0])

        def n_long_answers():
            return sum(map(len, statuses.values()))

        def others():
            try:
                poll_until(lambda: server.metrics()[IN_PROGRESS] >= 3, goal="both long requests")
                refused = poll_until(lambda: find_refusal(server, padded, of(3)), goal="a refusal")
                n_before = n_long_answers()
                small = [server.ask("POST", "/v1/correlations", PAIR, headers=of(1))[0] for _ in range(10)]
                probes = [server.ask("GET", "/health/live")[0] for _ in range(10)]
                assert n_long_answers() - n_before < 5, "short requests waited for long ones"
            finally:
                is_over.set()
            return refused, small, probes

        *_, ((headers, body), small, probes) = run_in_threads(partial(keep_busy, 1), partial(keep_busy, 2), others)
        assert statuses[1][0] == statuses[2][0] == 200
        assert set(small) == set(probes) == {200}
        assert headers["Retry-After"] == "1"
        assert b"RANKCORR_MAX_WAITING" in body
        assert server.ask("POST", "/v1/simulations", simulation(20), headers=of(1))[0] == 200


def find_refusal(server, body, headers):
    """Headers and body of a refusal; None if there was an answer."""
    status, headers, content = server.ask("POST", "/v1/simulations", body, headers=headers)
    return (headers, content) if status == 503 else None


def test_a_dead_supervisor_is_replaced_and_without_its_guard_the_service_is_not_ready(tmp_path):
    with run_service(tmp_path, LONG_LIMITS) as server:
        workers, supervisor = server.workers(), server.supervisor()
        os.kill(supervisor, signal.SIGKILL)
        assert server.ask("POST", "/v1/simulations", simulation(20))[0] == 200
        assert server.supervisor() != supervisor
        assert server.workers() == workers
        assert server.ask("GET", "/health/ready")[0] == 200
        (guard,) = set(children(server.process.pid)) - set(workers)
        for pid in (guard, server.supervisor()):
            os.kill(pid, signal.SIGKILL)
        status, _, body = poll_until(
            lambda: None if (answer := server.ask("GET", "/health/ready"))[0] == 200 else answer
        )
        assert (status, json.loads(body)["type"]) == (503, "urn:rankcorr:problem:over-capacity")
        assert server.ask("GET", "/health/live")[0] == server.ask("POST", "/v1/correlations", PAIR)[0] == 200


def test_during_a_drain_every_answer_closes_its_connection(tmp_path):
    with run_service(tmp_path, {"RANKCORR_DRAIN_SECONDS": "600"}) as server:
        assert server.ask("POST", "/v1/correlations", PAIR)[1].get("Connection") != "close"
        server.process.send_signal(signal.SIGTERM)
        poll_until(lambda: server.ask("GET", "/health/ready")[0] == 503, goal="the drain")
        status, headers, _ = server.ask("POST", "/v1/correlations", PAIR)
        assert (status, headers["Connection"]) == (200, "close")
        assert server.stop() == 0
