"""The processes of the service: counted together, killed, replaced, stopped and restarted."""

import itertools
import json
import os
import re
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from service.http.metrics import METRICS_FOLDER
from tests.processes import guard
from tests.service.live import (
    COMMAND,
    IN_PROGRESS,
    LONG_LIMITS,
    PAIR,
    START_SECONDS,
    Load,
    clean_environment,
    poll_until,
    resident_bytes,
    run_in_threads,
    run_service,
    seconds_of_work,
)

pytestmark = pytest.mark.wide

ANSWER_METRIC = 'rankcorr_requests_total{method="POST",route="/v1/correlations",status="200"}'

BEHIND_PROXY = {"RANKCORR_TRUSTED_PROXIES": "1"}
_clients = itertools.count(1)


def new_client():
    """Headers of a new client, because a client has one heavy request at a time."""
    return {"X-Forwarded-For": f"192.0.2.{next(_clients)}"}


@pytest.fixture(scope="module", autouse=True)
def second_start(live_server, tmp_path_factory):
    """The command on a used port; it retries for 5 s while other tests of this file run."""
    folder = tmp_path_factory.mktemp("second")
    environment = clean_environment(RANKCORR_BIND=f"{live_server.host}:{live_server.port}", TMPDIR=str(folder))
    with (
        (folder / "errors").open("w") as errors,
        guard(COMMAND, env=environment, stdout=errors, stderr=errors) as process,
    ):
        yield process, folder


def simulation_call(server, document, statuses):
    """A function that requests a simulation and stores the status."""
    return lambda: statuses.append(server.ask("POST", "/v1/simulations", document, headers=new_client())[0])


def wait_for_two_workers(server, former_workers=frozenset()):
    """Wait for two workers other than `former_workers`."""
    poll_until(lambda: len(result := set(server.workers())) == 2 and not result & former_workers, goal="two workers")


def test_the_supervisor_has_one_thread(live_server):
    status = Path(f"/proc/{live_server.process.pid}/status").read_text()
    assert "Threads:\t1\n" in status


def test_the_metrics_count_the_requests_of_all_workers(live_server):
    before = live_server.metrics().get(ANSWER_METRIC, 0.0)
    for _ in range(20):  # each on a new connection, so that both workers get some
        live_server.ask("POST", "/v1/correlations", PAIR)
    metrics = live_server.metrics()
    assert metrics[ANSWER_METRIC] == before + 20
    assert metrics[IN_PROGRESS] == 1  # the request for metrics
    assert metrics["rankcorr_requests_waiting"] == 0
    memory = {name for name in metrics if name.startswith("rankcorr_worker_resident_bytes")}
    assert memory == {f'rankcorr_worker_resident_bytes{{pid="{pid}"}}' for pid in live_server.workers()}


def test_a_killed_worker_costs_at_most_the_requests_it_had(live_server):
    before = live_server.metrics().get(ANSWER_METRIC, 0.0)
    victim = min(live_server.workers())
    with Load(live_server) as load:
        load.wait_for(200)
        os.kill(victim, signal.SIGKILL)
        load.wait_for(500)
        wait_for_two_workers(live_server, former_workers={victim})
        load.wait_for(200)
    assert set(load.statuses) == {200}
    assert len(load.bodies) == 1
    # The kill may break a request of each client, and its open connection.
    assert load.n_broken <= load.n_clients
    metrics = live_server.metrics()
    assert metrics[IN_PROGRESS] == 1
    assert before + load.n_answered <= metrics[ANSWER_METRIC] <= before + load.n_answered + load.n_broken + load.n_idle
    assert not list(live_server.folder(METRICS_FOLDER).glob(f"*_{victim}.db"))
    statuses = [
        value
        for name, value in metrics.items()
        if name.startswith("rankcorr_requests_total") and '"/v1/correlations"' in name
    ]
    assert metrics['rankcorr_request_seconds_count{route="/v1/correlations"}'] == sum(statuses)


def test_a_reload_replaces_the_workers_and_loses_no_request(live_server):
    before, n_before = set(live_server.workers()), live_server.metrics().get(ANSWER_METRIC, 0.0)
    with Load(live_server) as load:
        load.wait_for(50)
        live_server.process.send_signal(signal.SIGHUP)
        wait_for_two_workers(live_server, former_workers=before)
        load.wait_for(50)
    assert load.n_broken == 0
    assert load.statuses == {200: load.n_answered}
    assert live_server.metrics()[ANSWER_METRIC] == n_before + load.n_answered


def test_replacing_workers_loses_no_request(tmp_path):
    with run_service(tmp_path, LONG_LIMITS | {"RANKCORR_MAX_REQUESTS_PER_WORKER": "40"}) as server:
        with Load(server) as load:
            load.wait_for(480)
            starts = re.compile(r"Booting worker with pid: \d+")
            poll_until(lambda: len(set(starts.findall(server.errors.read_text()))) >= 6, goal="other workers")
        assert load.n_broken == 0
        assert load.n_closed > 0  # this tells a client that its worker stops
        assert load.statuses == {200: load.n_answered}
        assert server.metrics()[ANSWER_METRIC] == load.n_answered
        # two files for each live worker, for the supervisor, and for all ended ones
        wait_for_two_workers(server)
        assert len(list(server.folder(METRICS_FOLDER).glob("counter_*.db"))) <= 4


def test_a_stop_loses_no_started_request(tmp_path):
    with run_service(tmp_path, LONG_LIMITS | BEHIND_PROXY) as server:
        document = seconds_of_work(server, 1.0)
        folder = server.folder(METRICS_FOLDER)
        statuses = []

        def stop():
            poll_until(lambda: server.metrics()[IN_PROGRESS] >= 5, goal="four requests in flight")
            assert not statuses
            return server.stop()

        *_, code = run_in_threads(*[simulation_call(server, document, statuses)] * 4, stop)
        assert statuses == [200] * 4
        assert code == 0
        assert not folder.exists()
        assert "Traceback" not in server.errors.read_text()
    with pytest.raises(ConnectionRefusedError):
        server.ask("GET", "/health/live")


def test_requests_are_answered_without_space_for_metrics(tmp_path):
    with run_service(tmp_path, {"RANKCORR_WORKERS": "1"}) as server:
        (before,) = server.workers()
        shutil.rmtree(server.folder(METRICS_FOLDER))
        os.kill(before, signal.SIGKILL)
        poll_until(lambda: server.workers() and server.workers() != [before], goal="another worker")
        for _ in range(3):
            assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200
        assert server.ask("GET", "/health/ready")[0] == 200
        assert "counts no requests: no space for metrics" in server.errors.read_text()


def test_a_stop_begins_with_a_drain(tmp_path):
    with run_service(
        tmp_path, LONG_LIMITS | BEHIND_PROXY | {"RANKCORR_DRAIN_SECONDS": "600"}
    ) as server:  # until the second signal
        document = seconds_of_work(server, 1.0)
        statuses = []

        def stop():
            poll_until(lambda: server.metrics()[IN_PROGRESS] >= 3, goal="two requests in flight")
            assert server.ask("GET", "/health/ready")[0] == 200
            server.process.send_signal(signal.SIGTERM)
            poll_until(lambda: server.ask("GET", "/health/ready")[0] == 503, goal="the drain")
            status, headers, body = server.ask("GET", "/health/ready")
            assert (status, headers["Content-Type"]) == (503, "application/problem+json")
            assert json.loads(body)["type"] == "urn:rankcorr:problem:stopping"
            assert server.ask("GET", "/health/live")[0] == 200
            assert server.ask("POST", "/v1/correlations", PAIR)[0] == 200
            return server.stop()

        *_, code = run_in_threads(*[simulation_call(server, document, statuses)] * 2, stop)
        assert (statuses, code) == ([200] * 2, 0)
        assert "Draining: the service stops in 600 s" in server.errors.read_text()


def test_a_restart_begins_with_empty_metrics(live_server, tmp_path):
    live_server.ask("POST", "/v1/correlations", PAIR)
    folder = tmp_path / "metrics"
    shutil.copytree(live_server.folder(METRICS_FOLDER), folder)  # as left by a killed service
    assert list(folder.glob("counter_*.db"))
    other = folder / "not-ours.txt"
    other.write_text("kept")
    with run_service(tmp_path, {METRICS_FOLDER: str(folder)}) as server:
        server.ask("POST", "/v1/correlations", PAIR)
        assert server.metrics()[ANSWER_METRIC] == 1
        assert server.stop() == 0
    assert other.read_text() == "kept"


def test_the_memory_of_a_worker_is_bounded_for_the_largest_requests(tmp_path):
    limits = {"RANKCORR_MAX_BODY_BYTES": "2000000", "RANKCORR_MAX_ITEMS": "20000", "RANKCORR_WORKERS": "1"}
    with run_service(tmp_path, LONG_LIMITS | BEHIND_PROXY | limits) as server:
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
            client = new_client()
            for _ in range(3):  # without the variables of the command, 90 MB remain
                assert server.ask("POST", "/v1/correlations", body, headers=client)[0] == 200
                for other in refused:
                    assert server.ask("POST", "/v1/correlations", other, headers=client)[0] in (400, 422)

        run_in_threads(burst, burst)
        first = resident_bytes(worker)
        run_in_threads(burst, burst)
        second = resident_bytes(worker)
        assert server.workers() == [worker]
        assert first - before < 60e6
        assert second - first < 30e6


def test_a_used_port_stops_the_start(live_server, second_start):
    process, folder = second_start
    assert process.wait(START_SECONDS) == 1
    assert "in use" in (folder / "errors").read_text()
    assert not list(folder.glob("rankcorr-serve-*"))
    assert live_server.ask("GET", "/health/live")[0] == 200
