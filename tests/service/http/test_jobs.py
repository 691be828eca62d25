"""The folder of jobs: names, turns of clients, ages, and a full disk."""

import os
import re
import time

import pytest

from service.http import jobs as module
from service.http.child import write_work
from service.http.jobs import MOST_OF_CLIENT, MOST_SECONDS, Jobs
from service.http.problems import Problem

HEAD = {"HTTP_X_REQUEST_ID": "id-7"}
ANSWER = (200, [("Content-Type", "application/json")], b'{"a":\n1}')
BODY = {"gold": {"scores": [3, 2, 1]}, "system": {"scores": [3, 1, 2]}, "coefficients": ["tau_w"]}
A, B, C, D = (bytes([number]) * 16 for number in range(4))


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


def end(jobs, name, failure=None, *, is_disk_full=False):
    """Finish a job as the supervisor and its child do."""
    _, request, answer = jobs.files(name)
    with os.fdopen(request), os.fdopen(answer, "wb", buffering=0) as file:
        if failure is None:
            write_work(file, ANSWER[:2], ANSWER[2])
    jobs.end(name, failure, is_disk_full=is_disk_full)


def refusal(call, *arguments):
    with pytest.raises(Problem) as caught:
        call(*arguments)
    return caught.value.status, caught.value.kind


def test_every_worker_sees_running_jobs_and_their_answers(jobs, folder):
    name = jobs.begin(A, HEAD, b"{}")
    other = worker(folder)
    assert jobs.answer(name) is None
    assert other.answer(name) is None
    assert other.names() == [name]
    end(jobs, name)
    assert other.answer(name) == jobs.answer(name) == ANSWER
    assert {path.name for path in folder.iterdir()} == {".lock", f"{name}.done"}


def test_a_name_cannot_be_guessed(jobs):
    names = [jobs.begin(A, HEAD, b"") for _ in range(3)]
    assert all(re.fullmatch("[0-9a-f]{64}", name) for name in names)
    assert len({name[32:] for name in names}) == 3
    for wrong in ("", ".lock", "..", f"../{names[0]}", names[0][:32], names[0] + "\n", "*", "0" * 64):
        assert refusal(jobs.answer, wrong) == (404, "no-such-job")
        assert refusal(jobs.delete, wrong) == (404, "no-such-job")
    assert jobs.names() == names


def test_a_job_and_an_answer_are_deleted(jobs, folder):
    names = [jobs.begin(A, HEAD, b"") for _ in range(2)]
    end(jobs, names[0])
    for name in names:
        worker(folder).delete(name)
        assert refusal(jobs.answer, name) == (404, "no-such-job")
    jobs.end(names[1], None, is_disk_full=False)  # by a child that had started
    assert {path.name for path in folder.iterdir()} == {".lock"}


def test_jobs_and_answers_of_a_client_are_limited(jobs):
    names = [jobs.begin(A, HEAD, b"") for _ in range(MOST_OF_CLIENT)]
    end(jobs, names[0])
    with pytest.raises(Problem, match="at most 4 jobs") as caught:
        jobs.begin(A, HEAD, b"")
    assert (caught.value.status, caught.value.kind, caught.value.headers["Retry-After"]) == (429, "too-many-jobs", "60")
    jobs.delete(names[0])
    jobs.begin(A, HEAD, b"")


def test_few_clients_cannot_fill_the_service(folder):
    jobs = worker(folder, most=4)
    for _ in range(4):
        jobs.begin(A, HEAD, b"")
    for client in (B, C, D, bytes(range(16))):
        jobs.begin(client, HEAD, b"")  # the first job of a client
        with pytest.raises(Problem, match=r"has 4 jobs already \(RANKCORR_MAX_JOBS\)"):
            jobs.begin(client, HEAD, b"")
    with pytest.raises(Problem, match=r"has 4 jobs already"):
        jobs.begin(b"?" * 16, HEAD, b"")


def test_answers_do_not_block_jobs_and_the_oldest_is_deleted(folder):
    jobs = worker(folder, most=3)
    names = []
    for number, client in enumerate((B, A, A, A)):
        names.append(jobs.begin(client, HEAD, b""))
        end(jobs, names[-1])
        os.utime(folder / f"{names[-1]}.done", (time.time() - 100 + number,) * 2)
    jobs.begin(C, HEAD, b"")
    assert refusal(jobs.answer, names[1]) == (404, "no-such-job")  # of the client with most answers
    assert [jobs.answer(names[place]) for place in (0, 2, 3)] == [ANSWER] * 3


def test_an_unfetched_job_is_deleted_after_a_time(jobs, folder):
    ended_job, running = jobs.begin(A, HEAD, b""), jobs.begin(B, HEAD, b"")
    end(jobs, ended_job)
    old = time.time() - MOST_SECONDS - 1
    for name in (f"{ended_job}.done", running):
        os.utime(folder / name, (old, old))
    last = jobs.begin(C, HEAD, b"")
    assert {path.name for path in folder.iterdir()} == {".lock", last}
    assert refusal(jobs.answer, ended_job) == refusal(jobs.answer, running) == (404, "no-such-job")


def test_an_answer_may_be_a_problem(jobs):
    name = jobs.begin(A, HEAD, b"")
    end(jobs, name, Problem(422, "too much", kind="too-much-work"))
    status, headers, body = jobs.answer(name)
    assert (status, dict(headers)["Content-Type"]) == (422, "application/problem+json")
    assert b'"request_id":"id-7"' in body


def test_a_very_long_answer_is_not_kept(jobs, monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 5)
    name = jobs.begin(A, HEAD, b"")
    end(jobs, name)
    assert jobs.answer(name)[0] == 422


def no_space(*_):
    raise OSError(28, "No space left on device")


def test_a_full_disk_starts_no_job(jobs, folder, monkeypatch):
    monkeypatch.setattr(module, "write_work", no_space)
    assert refusal(jobs.begin, A, HEAD, b"") == (507, "disk-full")
    assert {path.name for path in folder.iterdir()} == {".lock"}


@pytest.mark.parametrize("failure", [None, Problem(422, "too much")])
def test_a_job_without_space_for_its_answer_ends_with_507(jobs, monkeypatch, failure):
    name = jobs.begin(A, HEAD, b"")
    with monkeypatch.context() as patch:
        patch.setattr(module, "write_work", no_space)
        end(jobs, name, failure, is_disk_full=failure is None)
    assert refusal(jobs.answer, name) == (507, "disk-full")
    assert jobs.names() == []
    jobs.delete(name)
    assert refusal(jobs.answer, name) == (404, "no-such-job")


def test_without_separate_processes_a_request_is_answered_at_once(client):
    answer = client.post("/v1/correlations", json=BODY, headers={"Prefer": "respond-async"})
    assert answer.status_code == 200
    assert client.get(f"/v1/jobs/{'0' * 64}").status_code == client.delete("/v1/jobs/x").status_code == 404
