"""Jobs of a live service with two workers: answers, limits of time, kills and cancellation."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time

import pytest

from service import Limits, Settings, create_app
from tests.processes import guard
from tests.service.live import (
    COMMAND,
    REPOSITORY,
    children,
    clean_environment,
    poll_until,
    processor_seconds,
    run_service,
)

pytestmark = pytest.mark.wide

ASYNC = {"Prefer": "respond-async"}
PLAN = {"n_items": 60, "n_ballots": 3, "fraction": 0.5, "presentations": 10}
BODY = {"plan": PLAN, "similarity": "exponential", "n_simulations": 20, "seed": 1}
LONG = {**BODY, "n_simulations": 40_000}
SMALL = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [3, 1, 2]}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A service that answers within a second of processor time, or by a job within 300 s."""
    settings = {"RANKCORR_MAX_SECONDS": "1", "RANKCORR_JOB_SECONDS": "300", "RANKCORR_MAX_WAIT_SECONDS": "120"}
    with run_service(tmp_path_factory.mktemp("jobs"), settings) as started:
        yield started


def start_job(server, body=LONG):
    """Start a job; return the location of its answer."""
    status, headers, content = server.ask("POST", "/v1/simulations", body, headers=ASYNC)
    assert (status, content) == (202, b"")
    assert headers["Preference-Applied"] == "respond-async"
    assert int(headers["Retry-After"]) > 0
    return headers["Location"]


def wait_for_answer(server, place):
    """The answer of a job; each request is on a new connection, to either worker."""

    def read_answer():
        status, headers, content = server.ask("GET", place)
        if "Retry-After" in headers:
            assert (status, json.loads(content)) == (200, {"status": "running"})
            return None
        return status, headers, json.loads(content)

    return poll_until(read_answer)


def find_worker(server):
    """The process of the only job: the one that uses the processor."""
    before = {pid: processor_seconds(pid) for pid in children(server.supervisor())}

    def at_work_since():
        pids = children(server.supervisor())
        return next((pid for pid in pids if processor_seconds(pid) > before.get(pid, 0.0) + 0.3), None)

    return poll_until(at_work_since)


def test_work_beyond_the_limit_of_a_request_is_a_job(server):
    status, _, content = server.ask("POST", "/v1/simulations", LONG)
    assert status == 422
    detail = json.loads(content)["detail"]
    assert detail.startswith("this request used up its 1 s of processor time (RANKCORR_MAX_SECONDS)")
    assert "respond-async" in detail
    place = start_job(server, BODY)
    status, headers, answer = wait_for_answer(server, place)
    limits = Limits(max_seconds=600.0)
    expected = create_app(Settings(limits=limits)).test_client().post("/v1/simulations", json=BODY)
    assert (status, answer) == (200, expected.json)
    assert headers["Content-Type"] == "application/json"
    assert wait_for_answer(server, place)[2] == answer
    assert server.ask("DELETE", place)[0] == 204
    assert server.ask("GET", place)[0] == server.ask("DELETE", place)[0] == 404


def test_a_small_request_is_answered_at_once(server):
    status, headers, _ = server.ask("POST", "/v1/correlations", SMALL, headers=ASYNC)
    assert (status, "Location" in headers) == (200, False)


def test_a_wrong_request_is_refused_by_its_job(server):
    place = start_job(server, {**BODY, "seed": -1})
    status, headers, problem = wait_for_answer(server, place)
    assert (status, problem["status"], headers["Content-Type"]) == (422, 422, "application/problem+json")
    server.ask("DELETE", place)


def test_a_killed_process_ends_in_a_problem(server):
    place = start_job(server)
    os.kill(find_worker(server), signal.SIGKILL)
    status, _, problem = wait_for_answer(server, place)
    assert (status, problem["type"]) == (500, "urn:rankcorr:problem:unforeseen")
    server.ask("DELETE", place)


def test_a_deleted_job_stops(server):
    place = start_job(server)
    child = find_worker(server)
    assert server.ask("DELETE", place)[0] == 204
    poll_until(lambda: not os.path.exists(f"/proc/{child}"))
    assert server.ask("GET", place)[0] == 404


def test_a_client_has_at_most_four_jobs(server):
    places = [start_job(server) for _ in range(4)]
    status, headers, content = server.ask("POST", "/v1/simulations", LONG, headers=ASYNC)
    assert (status, headers["Retry-After"]) == (429, "60")
    assert json.loads(content)["type"] == "urn:rankcorr:problem:too-many-jobs"
    assert server.ask("POST", "/v1/correlations", SMALL)[0] == 200
    for place in places:
        assert server.ask("DELETE", place)[0] == 204


def test_a_job_outlives_the_workers_and_the_supervisor(server):
    """This test is the last one because it replaces them."""
    place = start_job(server, {**BODY, "n_simulations": 500})
    workers = server.workers()
    os.kill(server.supervisor(), signal.SIGKILL)
    server.process.send_signal(signal.SIGHUP)
    assert wait_for_answer(server, place)[0] == 200
    poll_until(lambda: len(server.workers()) == 2 and not set(server.workers()) & set(workers))
    assert wait_for_answer(server, place)[0] == 200


@pytest.fixture(scope="module")
def redis_url(tmp_path_factory):
    """A Redis server for these tests."""
    pytest.importorskip("rq", reason="needs the extra redis")
    program = shutil.which("redis-server") or pytest.skip("needs redis-server")
    socket = tmp_path_factory.mktemp("redis") / "socket"
    with guard([program, "--port", "0", "--unixsocket", str(socket), "--save", ""], stdout=subprocess.DEVNULL):
        poll_until(socket.exists, goal="a Redis")
        yield f"unix://{socket}"


@contextlib.contextmanager
def job_worker(url, folder):
    """A process that answers jobs."""
    environment = clean_environment(RANKCORR_JOBS_URL=url, RANKCORR_JOB_SECONDS="300")
    with (
        (folder / f"jobs{time.monotonic_ns()}").open("w") as errors,
        guard([*COMMAND, "--jobs"], env=environment, stderr=errors, cwd=REPOSITORY) as process,
    ):
        yield process


def busy_descendant(pid):
    """The process that works on the job of a worker."""

    def descendants(parent):
        return [one for child in children(parent) for one in (child, *descendants(child))]

    def busy():
        before = {one: processor_seconds(one) for one in descendants(pid)}
        time.sleep(0.5)
        return [one for one in before if processor_seconds(one) > before[one] + 0.1]

    return poll_until(busy)[-1]


def test_jobs_in_redis_survive_kills_and_a_restart(redis_url, tmp_path):
    settings = {"RANKCORR_JOBS_URL": redis_url, "RANKCORR_MAX_WAIT_SECONDS": "120"}
    body = {**BODY, "n_simulations": 2_000}
    expected = create_app(Settings(limits=Limits(max_seconds=600.0))).test_client().post("/v1/simulations", json=body)
    with run_service(tmp_path, settings) as server:
        places = [start_job(server, body), start_job(server, {**BODY, "seed": -1})]
        assert server.ask("GET", f"/v1/jobs/{'0' * 64}")[0] == server.ask("DELETE", "/v1/jobs/x")[0] == 404
    with run_service(tmp_path, settings) as server:  # after a restart
        with job_worker(redis_url, tmp_path) as worker:
            os.kill(busy_descendant(worker.pid), signal.SIGKILL)  # the process that computes
            busy_descendant(worker.pid)  # the job is retried
            os.killpg(worker.pid, signal.SIGKILL)  # a machine is lost
        with job_worker(redis_url, tmp_path) as worker:
            assert wait_for_answer(server, places[1])[0] == 422
            status, headers, answer = wait_for_answer(server, places[0])
            assert (status, headers["Content-Type"], answer) == (200, "application/json", expected.json)
            for place in places:
                assert server.ask("DELETE", place)[0] == 204
                assert server.ask("GET", place)[0] == 404
            place = start_job(server)
            child = busy_descendant(worker.pid)
            assert server.ask("DELETE", place)[0] == 204
            poll_until(lambda: not os.path.exists(f"/proc/{child}"), goal="the end of a deleted job")
            for _ in range(4):
                start_job(server)
            assert server.ask("POST", "/v1/simulations", LONG, headers=ASYNC)[0] == 429


def test_a_job_on_its_way_to_a_worker_counts(redis_url):
    from rq import Queue

    from service.http.problems import Problem
    from service.http.redis_jobs import QUEUE, RedisJobs

    connection = pytest.importorskip("redis").Redis.from_url(redis_url)
    connection.flushdb()
    jobs, queue = RedisJobs(redis_url, 100, 60.0), Queue(QUEUE, connection=connection)
    for _ in range(4):
        jobs.begin(bytes(16), {}, b"")
        connection.lmove(queue.key, queue.intermediate_queue_key)  # as a worker takes it, before it starts
    with pytest.raises(Problem) as refusal:
        jobs.begin(bytes(16), {}, b"")
    assert refusal.value.status == 429
    connection.flushdb()


def test_a_full_or_unreachable_redis_gives_a_problem_document(redis_url, tmp_path):
    redis = pytest.importorskip("redis").Redis.from_url(redis_url)
    with run_service(tmp_path, {"RANKCORR_JOBS_URL": redis_url}) as server:
        redis.flushdb()
        redis.config_set("maxmemory", "1")
        assert server.ask("POST", "/v1/simulations", BODY, headers=ASYNC)[0] == 507
        redis.shutdown(nosave=True)
        status, headers, content = server.ask("POST", "/v1/simulations", BODY, headers=ASYNC)
        assert (status, headers["Retry-After"]) == (503, "1")
        assert b"RANKCORR_JOBS_URL" in content
        assert server.ask("POST", "/v1/correlations", SMALL)[0] == 200
