"""The service as it runs: several processes behind one address, which are killed, replaced, stopped and overfilled."""

import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import statistics
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from rankcorr import correlate
from tests.service.live import Server, ask, eventually, resident_bytes, running

PAIR = {"gold": {"scores": [3, 1, 2, 5]}, "system": {"scores": [1, 2, 3, 4]}}
BROKEN = (http.client.HTTPException, ConnectionError)
IN_PROGRESS = "rankcorr_requests_in_progress"


def simulation(n_simulations: int) -> dict:
    """About 10 ms of work for each simulation."""
    plan = {"n_items": 400, "n_ballots": 5, "fraction": 0.5, "presentations": 20}
    return {"plan": plan, "similarity": "exponential", "n_simulations": n_simulations, "seed": 1}


def seconds_of_work(server: Server, seconds: float) -> dict:
    """A request that takes about so long on this machine, alone."""
    server.ask("POST", "/v1/simulations", simulation(2))
    start = time.perf_counter()
    status, _, body = server.ask("POST", "/v1/simulations", simulation(10))
    assert status == 200, body
    return simulation(max(2, int(10 * seconds / (time.perf_counter() - start))))


@dataclass
class Load:
    """Clients that ask the same again and again, each on one connection that it opens anew when it breaks."""

    server: Server
    document: object = field(default_factory=lambda: PAIR)
    path: str = "/v1/correlations"
    n_clients: int = 6
    statuses: Counter = field(default_factory=Counter)
    bodies: set = field(default_factory=set)
    n_broken: int = 0
    n_closed: int = 0

    def __enter__(self) -> "Load":
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._client) for _ in range(self.n_clients)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)
        assert not self._failures, self._failures

    @property
    def n_answered(self) -> int:
        return self.statuses.total()

    def wait_for(self, n_more: int) -> None:
        """Wait until so many more requests have been answered."""
        wanted = self.n_answered + n_more
        eventually(lambda: self.n_answered >= wanted, 60, f"{n_more} more answers")

    def _client(self) -> None:
        connection = self.server.connect()
        try:
            while not self._stop.is_set():
                try:
                    status, headers, body = ask(connection, "POST", self.path, self.document)
                except BROKEN:
                    connection.close()
                    with self._lock:
                        self.n_broken += 1
                    continue
                with self._lock:
                    self.statuses[status] += 1
                    self.bodies.add(body)
                    self.n_closed += headers.get("Connection") == "close"
        except BaseException as error:
            self._failures.append(error)
        finally:
            connection.close()


def in_threads(*calls):
    """Results of calls that run at the same time."""
    results: list = [None] * len(calls)

    def run(place, call):
        results[place] = call()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results


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


def test_the_process_that_forks_has_one_thread(live_server):
    status = Path(f"/proc/{live_server.process.pid}/status").read_text()
    assert "Threads:\t1\n" in status


def test_what_http_forbids_is_refused_within_limits(live_server):
    assert live_server.ask("GET", "/v1/weights?" + "n0=2&" * 1_000)[0] == 414
    connection = live_server.connect()
    connection.request("GET", "/health/live", headers={f"X-{number}": "" for number in range(100)})
    assert connection.getresponse().status == 431
    connection.close()
    assert live_server.ask("GET", "/health/live")[0] == 200


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


def test_the_metrics_count_the_requests_of_all_workers(live_server):
    name = 'rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}'
    before = live_server.metrics().get(name, 0.0)
    for _ in range(20):  # each on a new connection, so that both workers take some
        live_server.ask("POST", "/v1/correlations", PAIR)
    metrics = live_server.metrics()
    assert metrics[name] == before + 20
    assert metrics[IN_PROGRESS] == 1  # the reading itself


def test_silent_connections_hold_up_nobody(live_server):
    silent = [socket.create_connection((live_server.host, live_server.port)) for _ in range(12)]
    try:
        times = []
        for _ in range(20):
            start = time.perf_counter()
            assert live_server.ask("GET", "/health/live")[0] == 200
            times.append(time.perf_counter() - start)
        assert max(times) < 2.5  # gunicorn gives a new connection 5 s to say something
        assert statistics.median(times) < 0.25
    finally:
        for connection in silent:
            connection.close()


def test_clients_that_do_not_close_their_side_hold_up_nobody(live_server):
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            address = (live_server.host, live_server.port)
            connection = stack.enter_context(socket.create_connection(address, timeout=30))
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        start = time.perf_counter()
        for _ in range(10):
            assert live_server.ask("GET", "/health/live")[0] == 200
        assert time.perf_counter() - start < 2.0  # what gunicorn's own worker waits for one such client


def test_clients_that_stop_half_way_are_given_up(tmp_path):
    with running(tmp_path, {"RANKCORR_CLIENT_SECONDS": "0.5", "RANKCORR_WORKERS": "1"}) as server:
        head = b"POST /v1/correlations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        beginnings = (head, head + b"Content-Length: 100\r\n\r\n{")
        with contextlib.ExitStack() as stack:
            stalled = [
                stack.enter_context(socket.create_connection((server.host, server.port), timeout=30)) for _ in range(60)
            ]
            for connection, beginning in zip(stalled, itertools.cycle(beginnings), strict=False):
                connection.sendall(beginning)
            start = time.perf_counter()
            assert server.ask("GET", "/health/live")[0] == 200
            assert time.perf_counter() - start < 15
            answers = [connection.recv(1_000).partition(b"\r\n")[0] for connection in stalled]
        # Those in the middle of a body hold a turn meanwhile, and some may wait too long for theirs.
        assert answers.count(b"") == 30
        assert set(answers) <= {b"", b"HTTP/1.1 400 BAD REQUEST", b"HTTP/1.1 503 SERVICE UNAVAILABLE"}
        assert "Traceback" not in server.errors.read_text()
        assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200
        assert server.metrics()[IN_PROGRESS] == 1


def test_a_killed_worker_costs_at_most_the_requests_it_had(tmp_path):
    with running(tmp_path) as server:
        before = set(server.workers())
        victim = min(before)
        with Load(server) as load:
            load.wait_for(200)
            os.kill(victim, signal.SIGKILL)
            load.wait_for(500)
            eventually(lambda: len(server.workers()) == 2 and victim not in server.workers(), what="a new worker")
            load.wait_for(200)
        assert set(load.statuses) == {200}
        assert len(load.bodies) == 1
        # A client may meet the kill in a request, and on the connection it had open there.
        assert load.n_broken <= load.n_clients
        metrics = server.metrics()
        assert metrics[IN_PROGRESS] == 1
        counted = metrics['rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}']
        assert load.n_answered <= counted <= load.n_answered + load.n_broken
        folder = metrics_folder(server)
        assert not list(folder.glob(f"*_{victim}.db"))
        assert metrics['rankcorr_request_seconds_count{route="/v1/correlations"}'] == counted


def metrics_folder(server: Server) -> Path:
    variables = Path(f"/proc/{server.process.pid}/environ").read_bytes().split(b"\0")
    return Path(
        next(entry for entry in variables if entry.startswith(b"PROMETHEUS_MULTIPROC_DIR=")).split(b"=")[1].decode()
    )


def test_a_stop_loses_no_request_that_has_begun(tmp_path):
    with running(tmp_path) as server:
        document = seconds_of_work(server, 1.0)
        folder = metrics_folder(server)
        statuses = []

        def work():
            statuses.append(server.ask("POST", "/v1/simulations", document)[0])

        def stop():
            eventually(lambda: server.metrics()[IN_PROGRESS] >= 5, what="four requests in flight")
            assert not statuses
            return server.stop()

        *_, code = in_threads(work, work, work, work, stop)
        assert statuses == [200] * 4
        assert code == 0
        assert not folder.exists()
        assert "Traceback" not in server.errors.read_text()
    with pytest.raises(ConnectionRefusedError):
        server.ask("GET", "/health/live")


def test_a_restart_begins_with_empty_metrics(tmp_path):
    folder = tmp_path / "metrics"
    other = folder / "not-ours.txt"
    for _ in range(2):
        with running(tmp_path, {"PROMETHEUS_MULTIPROC_DIR": str(folder)}) as server:
            other.write_text("kept")
            server.ask("POST", "/v1/correlations", PAIR)
            metrics = server.metrics()
            assert metrics['rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}'] == 1
            assert server.stop() == 0
    assert other.read_text() == "kept"


def test_over_capacity_some_are_turned_away_and_probes_are_answered(tmp_path):
    capacity = {"RANKCORR_MAX_CONCURRENT": "1", "RANKCORR_MAX_WAITING": "1", "RANKCORR_WORKERS": "1"}
    with running(tmp_path, capacity) as server:
        document = seconds_of_work(server, 1.0)
        padded = json.dumps(document).encode() + b" " * 5_000_000  # a refusal must reach a client that still sends
        answers = []

        def work():
            answers.append(server.ask("POST", "/v1/simulations", padded))

        def probe():
            eventually(lambda: server.metrics()[IN_PROGRESS] >= 3, what="requests in flight")
            times = []
            while len(answers) < 8:
                start = time.perf_counter()
                assert server.ask("GET", "/health/live")[0] == 200
                times.append(time.perf_counter() - start)
                time.sleep(0.02)
            return times

        *_, times = in_threads(*[work] * 8, probe)
        statuses = Counter(status for status, _, _ in answers)
        assert statuses == {200: 2, 503: 6}
        for status, headers, body in answers:
            if status == 503:
                assert headers["Retry-After"] == "1"
                assert b"RANKCORR_MAX_WAITING" in body
        assert len(times) >= 10
        assert statistics.median(times) < 0.25
        assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200


def test_replacing_workers_loses_no_request(tmp_path):
    with running(tmp_path, {"RANKCORR_MAX_REQUESTS_PER_WORKER": "100"}) as server:
        seen = set(server.workers())
        with Load(server) as load:
            while load.n_answered < 1_500:
                load.wait_for(20)
                seen |= set(server.workers())
        assert len(seen) >= 6
        assert load.n_broken == 0
        assert load.n_closed > 0  # that is how a client learns that its worker ends
        assert load.statuses == {200: load.n_answered}
        metrics = server.metrics()
        counted = metrics['rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}']
        assert counted == load.n_answered
        # two files for each worker that lives, for the process that forks, and for all that have ended
        eventually(lambda: len(server.workers()) == 2)
        assert len(list(metrics_folder(server).glob("counter_*.db"))) <= 4


def test_a_reload_replaces_the_workers_and_loses_no_request(tmp_path):
    with running(tmp_path) as server:
        before = set(server.workers())
        with Load(server) as load:
            load.wait_for(50)
            server.process.send_signal(signal.SIGHUP)
            eventually(lambda: len(server.workers()) == 2 and not before & set(server.workers()), what="new workers")
            load.wait_for(50)
        assert load.n_broken == 0
        assert load.statuses == {200: load.n_answered}


def test_the_memory_of_a_worker_is_bounded_under_the_largest_requests(tmp_path):
    limits = {"RANKCORR_MAX_BODY_BYTES": "2000000", "RANKCORR_MAX_ITEMS": "20000", "RANKCORR_WORKERS": "1"}
    with running(tmp_path, limits) as server:
        (worker,) = server.workers()
        rng = np.random.default_rng(0)
        names = [f"{number:019d}" for number in range(20_000)]
        largest = [
            {"scores": dict(zip(rng.permutation(names).tolist(), rng.standard_normal(20_000).tolist(), strict=True))}
            for _ in range(2)
        ]
        body = json.dumps(dict(zip(("gold", "system"), largest, strict=True))).encode()
        assert 1_500_000 < len(body) <= 2_000_000
        deep = b'{"gold":' + b"[" * 900 + b"]" * 900 + b"}"
        refused = [b"[" + b"1," * 999_998 + b"1]", b'{"a":' + b"{}" + b" " * 1_999_900 + b"}", deep]
        server.ask("POST", "/v1/correlations", PAIR)
        before = resident_bytes(worker)

        def burst():
            for _ in range(5):
                assert server.ask("POST", "/v1/correlations", body)[0] == 200
                for other in refused:
                    assert server.ask("POST", "/v1/correlations", other)[0] in (400, 422)

        in_threads(burst, burst)
        first = resident_bytes(worker)
        in_threads(burst, burst)
        second = resident_bytes(worker)
        assert server.workers() == [worker]
        assert first - before < 60e6
        assert second - first < 30e6


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 20_000 + b"\r\n\r\n", 431),
        (b"nonsense\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400),
    ],
)
def test_what_never_became_a_request_is_answered_as_every_other_error(live_server, sent, status):
    with socket.create_connection((live_server.host, live_server.port), timeout=30) as connection:
        connection.sendall(sent)
        response = http.client.HTTPResponse(connection)
        response.begin()
        found = json.loads(response.read())
    assert (response.status, response.headers["Content-Type"]) == (status, "application/problem+json")
    assert (found["type"], found["status"]) == ("urn:rankcorr:problem:malformed-request", status)
    assert set(found) == {"type", "title", "status", "detail", "request_id"}
