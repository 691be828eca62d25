"""Jobs of a live service with two workers: answers, limits of time, kills and cancellation."""

import json
import os
import signal
import time

import pytest

from service import Limits, Settings, create_app
from tests.service.live import children, eventually, running

ASYNC = {"Prefer": "respond-async"}
PLAN = {"n_items": 60, "n_ballots": 3, "fraction": 0.5, "presentations": 10}
BODY = {"plan": PLAN, "similarity": "exponential", "n_simulations": 200, "seed": 1}
LONG = {**BODY, "n_simulations": 4_000}
SMALL = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [3, 1, 2]}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """It answers within 0.2 s of processor time, or by a job within 60 s."""
    settings = {"RANKCORR_MAX_SECONDS": "0.2", "RANKCORR_JOB_SECONDS": "60", "RANKCORR_MAX_WAIT_SECONDS": "120"}
    with running(tmp_path_factory.mktemp("jobs"), settings) as started:
        yield started


def begun(server, body=LONG):
    """Where the answer of a job will be."""
    status, headers, content = server.ask("POST", "/v1/simulations", body, headers=ASYNC)
    assert (status, content) == (202, b"")
    assert headers["Preference-Applied"] == "respond-async"
    assert int(headers["Retry-After"]) > 0
    assert 0.2 < float(headers["Rankcorr-Estimated-Seconds"]) < 60
    return headers["Location"]


def done(server, place):
    """The answer of a job, each time asked for on a new connection, which either worker may have."""

    def asked():
        status, headers, content = server.ask("GET", place)
        if "Retry-After" in headers:
            assert (status, json.loads(content)) == (200, {"status": "running"})
            return None
        return status, headers, json.loads(content)

    return eventually(asked)


def below(server):
    """The processes of jobs, each with its worker."""
    return [(child, worker) for worker in server.workers() for nurse in children(worker) for child in children(nurse)]


def at_work(server):
    """The process of the only job, and its worker."""
    return eventually(lambda: below(server))[0]


def test_work_beyond_the_limit_of_a_request_is_a_job(server):
    status, headers, content = server.ask("POST", "/v1/simulations", BODY)
    assert status == 422
    assert "RANKCORR_MAX_SECONDS" in json.loads(content)["detail"]
    assert float(headers["Rankcorr-Estimated-Seconds"]) > 0.2
    place = begun(server, BODY)
    status, headers, answer = done(server, place)
    limits = Limits(max_seconds=600.0)
    expected = create_app(Settings(limits=limits)).test_client().post("/v1/simulations", json=BODY)
    assert (status, answer) == (200, expected.json)
    assert headers["Content-Type"] == "application/json"
    assert done(server, place)[2] == answer
    assert server.ask("DELETE", place)[0] == 204
    assert server.ask("GET", place)[0] == server.ask("DELETE", place)[0] == 404


def test_a_small_request_is_answered_at_once(server):
    status, headers, _ = server.ask("POST", "/v1/correlations", SMALL, headers=ASYNC)
    assert (status, "Location" in headers) == (200, False)


def test_a_wrong_request_is_refused_at_once_or_by_its_job(server):
    assert server.ask("POST", "/v1/simulations", {**BODY, "seed": -1}, headers=ASYNC)[0] == 422
    assert server.ask("POST", "/v1/simulations", {**BODY, "n_simulations": 10**6}, headers=ASYNC)[0] == 422
    large = {**BODY, "similarity": [2.0] * 100_000}  # too long for a thread, so nobody has read it yet
    status, headers, _ = server.ask("POST", "/v1/simulations", large, headers=ASYNC)
    assert status == 202
    status, _, problem = done(server, headers["Location"])
    assert (status, problem["status"]) == (422, 422)
    server.ask("DELETE", headers["Location"])


def test_a_killed_process_ends_in_a_problem(server):
    place = begun(server)
    os.kill(at_work(server)[0], signal.SIGKILL)
    status, _, problem = done(server, place)
    assert (status, problem["type"]) == (500, "urn:rankcorr:problem:unforeseen")
    server.ask("DELETE", place)


def test_a_deleted_job_stops(server):
    place = begun(server)
    child, _ = at_work(server)
    assert server.ask("DELETE", place)[0] == 204
    eventually(lambda: not os.path.exists(f"/proc/{child}"))
    assert server.ask("GET", place)[0] == 404


def test_a_job_has_a_limit_of_time(tmp_path):
    settings = {"RANKCORR_MAX_SECONDS": "0.2", "RANKCORR_JOB_SECONDS": "1"}
    with running(tmp_path, settings) as server:
        status, headers, content = server.ask("POST", "/v1/simulations", LONG, headers=ASYNC)
        assert status == 422
        assert "RANKCORR_JOB_SECONDS" in json.loads(content)["detail"]
        assert float(headers["Rankcorr-Estimated-Seconds"]) > 1


def test_four_jobs_of_a_client_and_no_more(server):
    places = [begun(server) for _ in range(4)]
    status, headers, content = server.ask("POST", "/v1/simulations", LONG, headers=ASYNC)
    assert (status, headers["Retry-After"]) == (429, "60")
    assert json.loads(content)["type"] == "urn:rankcorr:problem:too-many-jobs"
    began = time.monotonic()
    assert server.ask("POST", "/v1/correlations", SMALL)[0] == 200
    assert time.monotonic() - began < 30
    assert len(below(server)) == 1
    for place in places:
        assert server.ask("DELETE", place)[0] == 204
    eventually(lambda: not below(server))


def test_the_jobs_of_a_killed_worker_are_lost(server):
    """The last test: it replaces a worker."""
    place = begun(server)
    _, worker = at_work(server)
    os.kill(worker, signal.SIGKILL)
    status, _, problem = done(server, place)
    assert (status, problem["type"]) == (500, "urn:rankcorr:problem:job-lost")
    eventually(lambda: len(server.workers()) == 2)
    assert done(server, begun(server, BODY))[0] == 200
