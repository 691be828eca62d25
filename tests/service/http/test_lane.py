"""Heavy requests: in processes of their own, a few at a time, one of a client."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.http import lane as lanes
from service.http.hooks import answer_alone
from service.http.problems import Problem
from service.http.state import state
from tests.service.answers import PAIR, problem_of
from tests.service.http import lane_scenarios
from tests.service.live import REPOSITORY, eventually
from tests.service.live import state as state_of_process

SCENARIOS = [
    lane_scenarios.answers,
    lane_scenarios.one_of_a_client,
    lane_scenarios.a_place_for_few,
    lane_scenarios.few_wait,
    lane_scenarios.who_leaves_the_queue_makes_room,
    lane_scenarios.many_end_at_once,
    lane_scenarios.who_waits_has_a_turn,
    lane_scenarios.a_wait_for_kernels_is_no_wait_for_a_turn,
    lane_scenarios.a_wait_for_kernels_ends_with_the_service,
    lane_scenarios.too_much_work_is_ended,
    lane_scenarios.too_long_a_wait_is_no_fault_of_the_request,
    lane_scenarios.a_death,
    lane_scenarios.death_of_the_nursery,
    lane_scenarios.places_of_a_killed_worker,
]
HEAVY = {"gold": {"scores": list(range(50))}, "system": {"scores": list(range(50))}, "inference": {"seed": 1}}


def run(scenario):
    command = [sys.executable, "-m", "tests.service.http.lane_scenarios", scenario.__name__]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_scenario(scenario):
    found = run(scenario)
    assert found.returncode == 0, found.stderr


def test_nothing_is_left_of_a_worker_that_was_killed():
    found = run(lane_scenarios.death_of_the_worker)
    assert found.returncode == -9
    for child in map(int, found.stdout.split()):
        eventually(lambda: state_of_process(child) == "", what="the end of a child")  # noqa: B023 - called here


class Inside:
    """A lane whose children are calls."""

    def __init__(self, app):
        self.is_open = True
        self.answer = answer_alone(app)
        self.clients = []
        self.compiling = [0]
        self.is_early = False

    def pass_on(self):
        if self.is_open:
            raise lanes.Heavy

    def work(self, client, head, body, _connection):
        self.clients.append(client)
        self.is_open = False  # a child has no lane
        with ThreadPoolExecutor(1) as other:  # which has no request of its own
            about, answered = other.submit(self.answer, head, bytes(body)).result()
        self.is_open = True
        return about, [answered[:10], answered[10:]]


@pytest.fixture
def passed_on(client, monkeypatch):
    """A client of an app with a lane, and the lane."""
    shared = state(client.application)
    inside = Inside(client.application)
    monkeypatch.setitem(
        client.application.extensions, "rankcorr", type("WithLane", (), {**vars(shared), "lane": inside})()
    )
    return client, inside


def test_little_work_is_done_at_once(passed_on):
    client, inside = passed_on
    assert client.post("/v1/correlations", json=PAIR).status_code == 200
    assert client.get("/v1/weights").status_code == 200
    assert client.post("/v1/correlations", json={}).status_code == 422
    assert inside.clients == []


def test_a_worker_that_will_be_replaced_begins_no_job(passed_on):
    client, inside = passed_on
    inside.is_early = True
    problem = problem_of(client.post("/v1/correlations", json=HEAVY, headers={"Prefer": "respond-async"}), 503)
    assert problem["detail"] == "no job can begin until all kernels are compiled; try again"
    assert inside.clients == []


def test_while_the_service_compiles_only_short_correlations_are_answered_at_once(passed_on):
    client, inside = passed_on
    inside.compiling[0] = 1
    rankings = {"a": PAIR["gold"], "b": PAIR["system"]}
    assert client.post("/v1/correlations", json={**PAIR, "worst": 1}).status_code == 200
    assert client.post("/v1/correlations/batch", json={"gold": PAIR["gold"], "systems": rankings}).status_code == 200
    assert client.post("/v1/correlations/matrix", json={"rankings": rankings}).status_code == 200
    assert client.get("/v1/weights").status_code == 200
    assert inside.clients == []
    assert client.post("/v1/correlations", json={**PAIR, "inference": {"seed": 1}}).status_code == 200
    assert client.post("/v1/ballots", json={"items": 4, "presentations": 2, "voters": 1, "seed": 1}).status_code == 200
    assert len(inside.clients) == 2


def test_much_work_is_passed_on_and_answered_alike(passed_on, make_client, capsys):
    client, inside = passed_on
    headers = {"X-Request-ID": "same", "Accept-Encoding": "gzip", "Origin": "https://x.example"}
    capsys.readouterr()
    found = client.post("/v1/correlations", json=HEAVY, headers=headers)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    alike = make_client().post("/v1/correlations", json=HEAVY, headers=headers)
    assert inside.clients == ["127.0.0.1"]
    assert (found.status_code, found.data) == (200, alike.data)
    assert dict(found.headers) == dict(alike.headers)
    assert [(line["id"], line["items"], line["status"]) for line in lines] == [("same", 100, 200)]


def test_a_large_body_is_passed_on_before_it_is_parsed(passed_on, monkeypatch):
    client, inside = passed_on
    body = b'{"gold": ' + b" " * lanes.CHEAP_BYTES
    found = problem_of(client.post("/v1/correlations", data=body, content_type="application/json"), 400)
    assert found["type"] == "urn:rankcorr:problem:not-json"
    assert len(inside.clients) == 1
    monkeypatch.setattr(inside, "answer", lambda *_: pytest.fail("it is passed on"))
    found = problem_of(client.post("/v1/correlations", data=b"{" * 10, content_type="application/json"), 400)
    assert len(inside.clients) == 1


@pytest.mark.parametrize("body", [json.dumps(HEAVY), " " * (lanes.CHEAP_BYTES + 1)], ids=["work", "body"])
def test_a_problem_of_the_lane_is_an_answer(passed_on, monkeypatch, body):
    client, inside = passed_on

    def refuse(*_):
        raise Problem(503, "no turn came", kind="over-capacity", headers={"Retry-After": "1"})

    monkeypatch.setattr(inside, "work", refuse)
    answer = client.post("/v1/correlations", data=body, content_type="application/json")
    assert problem_of(answer, 503)["detail"] == "no turn came"
    assert answer.headers["Retry-After"] == "1"


def test_a_refusal_of_much_work_comes_first(passed_on):
    client, inside = passed_on
    request = {**HEAVY, "inference": {"seed": 1, "n_resamples": 100_000}, "gold": {"scores": list(range(10_000))}}
    request["system"] = request["gold"]
    found = problem_of(client.post("/v1/correlations", json=request))
    assert found["type"] == "urn:rankcorr:problem:too-much-work"
    assert inside.clients == []
