"""Jobs in one process: what a second worker on the same folder sees, limits, ages, and what is lost."""

import os
import re
import threading
import time
from types import SimpleNamespace

import pytest

from service.http import jobs as module
from service.http.jobs import KEPT_SECONDS, Jobs
from service.http.problems import Problem
from tests.service.live import eventually

MADE = (200, [("Content-Type", "application/json")], b'{"a":\n1}')
BODY = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [3, 1, 2]}, "coefficients": ["tau_w"]}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "jobs"


def worker(folder, most=16):
    jobs = Jobs(most)
    jobs.open(folder)
    return jobs


@pytest.fixture
def jobs(folder):
    return worker(folder)


@pytest.fixture
def work():
    """Work that ends when told to: with an answer, or by an error."""
    told, asked = threading.Event(), SimpleNamespace(error=None, end=None)

    def run(look):
        while not told.wait(0.01):
            look()
        if asked.error is not None:
            raise asked.error
        return MADE

    def end(error=None):
        asked.error = error
        told.set()

    asked.run, asked.end = run, end
    yield asked
    told.set()


def refused(call, *arguments):
    with pytest.raises(Problem) as caught:
        call(*arguments)
    return caught.value.status, caught.value.kind


def test_every_worker_sees_that_a_job_runs_and_its_answer(jobs, folder, work):
    name = jobs.begin("a", "id", work.run)
    other = worker(folder)
    assert jobs.answer(name) is None
    assert other.answer(name) is None
    work.end()
    assert eventually(lambda: other.answer(name)) == MADE
    assert jobs.answer(name) == MADE
    assert {path.name for path in folder.iterdir()} == {".lock", f"{name}.done"}


def test_a_name_cannot_be_guessed(jobs, work):
    names = [jobs.begin("192.0.2.1", "id", work.run) for _ in range(3)]
    assert all(re.fullmatch("[0-9a-f]{42}", name) for name in names)
    assert len({name[10:] for name in names}) == 3
    for wrong in ("", ".lock", "..", f"../{names[0]}", names[0][:10], names[0] + "\n", "*", "0" * 42):
        assert refused(jobs.answer, wrong) == (404, "no-such-job")
        assert refused(jobs.delete, wrong) == (404, "no-such-job")
    assert all(jobs.answer(name) is None for name in names)


def test_the_worker_of_a_deleted_job_stops(jobs, folder, work):
    name = jobs.begin("a", "id", work.run)
    worker(folder).delete(name)
    assert refused(jobs.answer, name) == (404, "no-such-job")
    eventually(lambda: not any("(_work)" in thread.name for thread in threading.enumerate()))
    assert {path.name for path in folder.iterdir()} == {".lock"}


def test_an_answer_is_deleted(jobs, work):
    name = jobs.begin("a", "id", work.run)
    work.end()
    eventually(lambda: jobs.answer(name))
    jobs.delete(name)
    assert refused(jobs.answer, name) == (404, "no-such-job")


def test_a_client_and_a_server_have_so_many_jobs(folder, work):
    jobs = worker(folder, most=6)
    names = [jobs.begin("a", "id", work.run) for _ in range(4)]
    with pytest.raises(Problem, match="at most 4 jobs") as caught:
        jobs.begin("a", "id", work.run)
    assert (caught.value.status, caught.value.kind, caught.value.headers["Retry-After"]) == (429, "too-many-jobs", "60")
    jobs.begin("b", "id", work.run)
    jobs.begin("c", "id", work.run)
    with pytest.raises(Problem, match=r"keeps 6 jobs already \(RANKCORR_MAX_JOBS\)"):
        jobs.begin("d", "id", work.run)
    jobs.delete(names[0])
    jobs.begin("d", "id", work.run)


def test_what_nobody_fetches_is_deleted_by_its_age(jobs, folder, work):
    done, running = jobs.begin("a", "id", lambda _look: MADE), jobs.begin("b", "id", work.run)
    eventually(lambda: jobs.answer(done))
    old = time.time() - KEPT_SECONDS - 1
    for name in (f"{done}.done", running):
        os.utime(folder / name, (old, old))
    last = jobs.begin("c", "id", work.run)
    assert {path.name for path in folder.iterdir()} == {".lock", last}
    assert refused(jobs.answer, done) == refused(jobs.answer, running) == (404, "no-such-job")


def test_a_job_whose_worker_was_killed_is_lost(jobs, folder, work):
    name = jobs.begin("a", "id", work.run)
    jobs.delete(name)
    (folder / name).touch()  # without a lock, as the kernel leaves it
    assert refused(jobs.answer, name) == (500, "job-lost")


def test_a_problem_is_the_answer(jobs, work):
    name = jobs.begin("a", "id-7", work.run)
    work.end(Problem(422, "too much", kind="too-much-work"))
    status, headers, body = eventually(lambda: jobs.answer(name))
    assert (status, dict(headers)["Content-Type"]) == (422, "application/problem+json")
    assert b'"request_id":"id-7"' in body


def test_an_unforeseen_error_is_logged_and_loses_the_job(jobs, work, caplog):
    name = jobs.begin("a", "id-7", work.run)
    work.end(ZeroDivisionError())
    eventually(lambda: not any("(_work)" in thread.name for thread in threading.enumerate()))
    assert refused(jobs.answer, name) == (500, "job-lost")
    assert "ZeroDivisionError" in caplog.text
    assert "id-7" in caplog.text


def test_a_very_long_answer_is_not_kept(jobs, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 5)
    name = jobs.begin("a", "id", lambda _look: MADE)
    assert eventually(lambda: jobs.answer(name))[0] == 422


def test_without_processes_of_its_own_a_request_is_answered_at_once(client):
    answer = client.post("/v1/correlations", json=BODY, headers={"Prefer": "respond-async"})
    assert answer.status_code == 200
    assert client.get(f"/v1/jobs/{'0' * 42}").status_code == client.delete("/v1/jobs/x").status_code == 404


def test_an_answer_states_its_estimated_cost(client, make_client):
    assert 0 < float(client.post("/v1/correlations", json=BODY).headers["Rankcorr-Estimated-Seconds"]) < 0.05
    assert 0 < float(client.get("/v1/weights").headers["Rankcorr-Estimated-Seconds"]) < 0.05
    scores = {"scores": list(range(2_000))}
    request = {"gold": scores, "system": scores, "inference": {"seed": 1, "n_resamples": 10_000}}
    too_much = make_client(max_seconds=5).post("/v1/correlations", json=request)
    assert too_much.status_code == 422
    assert float(too_much.headers["Rankcorr-Estimated-Seconds"]) > 5
