"""Heavy requests: in reused processes, short work first, one per client at a time."""

import json
import subprocess
import sys

import pytest

from service.api.correlations import MOST_LIGHT_BYTES, MOST_LIGHT_ITEMS
from service.http.problems import Problem
from service.http.state import state
from tests.service.answers import PAIR, problem_of
from tests.service.http.pool_scenarios import SCENARIOS, PoolOfCalls
from tests.service.live import REPOSITORY, poll_until
from tests.service.live import state as state_of_process

pytestmark = pytest.mark.wide

HEAVY = {"gold": {"scores": list(range(50))}, "system": {"scores": list(range(50))}, "inference": {"seed": 1}}


@pytest.fixture(scope="module")
def outcomes():
    """Wait status of each scenario, and all errors; one process imports everything and forks the others."""
    command = [sys.executable, "-m", "tests.service.http.pool_scenarios"]
    run = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=900, check=True)
    lines = [line.split() for line in run.stdout.splitlines()]
    return {words[0]: int(words[1]) for words in lines if not words[0].isdigit()}, run


@pytest.mark.parametrize("scenario", [scenario.__name__ for scenario in SCENARIOS])
def test_a_scenario_ends_as_it_should(outcomes, scenario):
    statuses, run = outcomes
    assert statuses[scenario] == (9 if scenario == "death_of_the_worker" else 0), run.stderr
    if scenario == "death_of_the_worker":  # removed, because nothing else cleans up after a killed service
        (pids,) = [line for line in run.stdout.splitlines() if line[0].isdigit()]
        for pid in map(int, pids.split()):
            poll_until(lambda: state_of_process(pid) == "", goal="the end of a process")  # noqa: B023 - called here


@pytest.fixture
def client_and_pool(client, monkeypatch):
    """A client of an app with a pool, and the pool."""
    pool = PoolOfCalls(client.application)
    monkeypatch.setattr(state(client.application), "pool", pool)
    return client, pool


def scores(n_items):
    return {"scores": list(range(n_items))}


def test_a_thread_compares_two_short_rankings(client_and_pool):
    client, pool = client_and_pool
    short = {"gold": scores(MOST_LIGHT_ITEMS), "system": scores(MOST_LIGHT_ITEMS)}
    assert client.post("/v1/correlations", json=short).status_code == 200
    assert client.post("/v1/correlations", json={**PAIR, "worst": 1}).status_code == 200
    assert client.get("/v1/weights").status_code == 200
    assert client.post("/v1/correlations", json={}).status_code == 422
    assert pool.clients == []
    long = {"gold": scores(MOST_LIGHT_ITEMS + 1), "system": scores(MOST_LIGHT_ITEMS + 1)}
    assert client.post("/v1/correlations", json=long).status_code == 200
    assert len(pool.clients) == 1


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/v1/correlations", HEAVY),
        ("/v1/correlations/batch", {"gold": PAIR["gold"], "systems": {"a": PAIR["system"]}}),
        ("/v1/correlations/matrix", {"rankings": {"a": PAIR["gold"], "b": PAIR["system"]}}),
        ("/v1/ballots", {"items": 4, "presentations": 2, "voters": 1, "seed": 1}),
        ("/v1/plans", {"n_items": 4, "n_ballots": 2, "fraction": 0.5, "presentations": 2}),
    ],
)
def test_other_requests_are_passed_on(client_and_pool, path, request_):
    client, pool = client_and_pool
    assert client.post(path, json=request_).status_code == 200
    assert pool.clients == ["127.0.0.1"]


def test_requests_passed_on_get_the_same_answer(client_and_pool, make_client, capfd):
    client, pool = client_and_pool
    headers = {"X-Request-ID": "same", "Origin": "https://x.example"}
    capfd.readouterr()
    answer = client.post("/v1/correlations", json=HEAVY, headers=headers)
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines()]
    direct_answer = make_client().post("/v1/correlations", json=HEAVY, headers=headers)
    assert pool.clients == ["127.0.0.1"]
    assert (answer.status_code, answer.data) == (200, direct_answer.data)
    assert dict(answer.headers) == dict(direct_answer.headers)
    assert [(line["id"], line["items"], line["status"]) for line in lines] == [("same", 100, 200)]


def test_a_large_body_is_passed_on_before_it_is_parsed(client_and_pool, monkeypatch):
    client, pool = client_and_pool
    body = b'{"gold": ' + b" " * MOST_LIGHT_BYTES
    problem = problem_of(client.post("/v1/correlations", data=body, content_type="application/json"), 400)
    assert problem["type"] == "urn:rankcorr:problem:not-json"
    assert len(pool.clients) == 1
    monkeypatch.setattr(pool, "answer", lambda *_: pytest.fail("it is passed on"))
    problem_of(client.post("/v1/correlations", data=b"{" * 10, content_type="application/json"), 400)
    assert len(pool.clients) == 1


@pytest.mark.parametrize("body", [json.dumps(HEAVY), " " * (MOST_LIGHT_BYTES + 1)], ids=["work", "body"])
def test_a_problem_of_the_pool_is_an_answer(client_and_pool, monkeypatch, body):
    client, pool = client_and_pool

    def refuse(*_args, **_options):
        raise Problem(503, "no turn came", kind="over-capacity", headers={"Retry-After": "1"})

    monkeypatch.setattr(pool, "ask", refuse)
    answer = client.post("/v1/correlations", data=body, content_type="application/json")
    assert problem_of(answer, 503)["detail"] == "no turn came"
    assert answer.headers["Retry-After"] == "1"


def test_too_little_memory_is_a_problem_of_the_request_in_a_child(client_and_pool, monkeypatch):
    client, _ = client_and_pool

    def fail(*_args, **_options):
        raise MemoryError

    monkeypatch.setattr("service.api.correlations.gold_comparison.compare_with_gold", fail)
    assert client.post("/v1/correlations", json=PAIR).status_code == 500
    problem = problem_of(client.post("/v1/correlations", json=HEAVY))
    assert problem["type"] == "urn:rankcorr:problem:too-much-work"
    assert "RANKCORR_MAX_WORK_BYTES" in problem["detail"]
