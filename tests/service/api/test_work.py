"""Work is estimated before it begins, and too much of it is refused."""

import json

import pytest

from service.api import work
from service.http.problems import Problem
from tests.service.answers import posted, problem_of

GOLD = {"scores": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}}
FIVE = {"scores": {"a": 1, "b": 4, "c": 3, "d": 2, "e": 5}}
TWO = {"order": ["b", "a"]}
NINE = {"scores": list(range(9))}
LONG = {"scores": list(range(1_000))}
INFERENCE = {"seed": 1, "n_resamples": 20_000, "method": "percentile"}
PAIR = {"gold": LONG, "system": LONG, "coefficients": ["tau_w"]}
BOARD = {"gold": LONG, "systems": {"x": LONG}, "seed": 1}
PLAN = {"n_items": 2_000, "n_ballots": 4, "fraction": 0.5, "presentations": 10}
SIMULATION = {"plan": PLAN, "voters": {"n_voters": 50}, "similarity": "exponential", "seed": 1, "n_simulations": 1}
VOTES = {"left": [0] * 4_000, "right": [1] * 4_000, "winner": ["left"] * 4_000}
CHAIN = {"left": list(range(2_900)) * 5, "right": list(range(1, 2_901)) * 5, "winner": ["left"] * 14_500}
BY_ONE = VOTES | {"voter": [0] * 4_000}
QUERIES = {f"q{n}": {"a": 1, "b": 0} for n in range(200)}
EVALUATION = {"qrels": QUERIES, "runs": {"x": QUERIES, "y": QUERIES}, "metrics": ["ap"]}
TOKENS = [{"token": str(n), "area": "a"} for n in range(600)]


@pytest.fixture
def estimated(client, monkeypatch):
    """Seconds of a request as they are estimated; nothing is computed."""

    def seconds_of(path, request):
        found = []

        def note(seconds, _n_bytes=0, **_options):
            found.append(seconds)
            raise Problem(503, "estimated")

        with monkeypatch.context() as patched:
            patched.setattr(work, "admit", note)
            assert posted(path, client, **request).status_code == 503
        return found[0]

    return seconds_of


THREE_TIMES = {"comparisons": {key: 3 * column for key, column in VOTES.items()}}
NEXT = {"comparisons": VOTES, "seed": 1}
BALLOT = {"presentations": 4, "voters": 2, "seed": 1}
MANY = {"seed": 1, "n_resamples": 10_000}

GROWTH = [
    ("/v1/correlations", PAIR, {"coefficients": ["tau", "rho"]}, 2),
    ("/v1/correlations", PAIR | {"inference": INFERENCE}, {"inference": INFERENCE | {"n_resamples": 80_000}}, 3.9),
    # each resample of a copula ranks both lists
    ("/v1/correlations", PAIR | {"inference": INFERENCE}, {"inference": INFERENCE | {"method": "copula"}}, 1.4),
    ("/v1/correlations/batch", {"gold": LONG, "systems": {"x": LONG}}, {"systems": {"x": LONG, "y": LONG}}, 2),
    ("/v1/correlations/matrix", {"rankings": {"x": LONG}}, {"rankings": dict.fromkeys("xyz", LONG)}, 9),
    ("/v1/leaderboards", BOARD | {"n_resamples": 500}, {"n_resamples": 5_000}, 9.9),
    ("/v1/leaderboards", BOARD, {"systems": {"x": LONG, "y": LONG}}, 2),
    ("/v1/simulations", SIMULATION, {"n_simulations": 7}, 7),
    ("/v1/simulations", SIMULATION, {"voters": {"n_voters": 5_000}}, 10),
    ("/v1/strengths", {"comparisons": VOTES}, THREE_TIMES, 1.9),
    # of 150,000 votes on a chain of 29,000 items, 150 by each voter, 9 s with voters and sides
    ("/v1/strengths", {"comparisons": BY_ONE}, {"options": {"voters": True}}, 2),
    ("/v1/comparisons/next", NEXT | {"size": 10}, {"size": 200_000}, 3),
    ("/v1/plans", {"n_items": 90_000, "n_ballots": 10, "presentations": 2}, {"n_ballots": 1_000}, 100),
    ("/v1/ballots", BALLOT | {"items": 900}, {"items": 9_000}, 9.9),
    ("/v1/pairings", {"tokens": TOKENS[:60]}, {"tokens": TOKENS}, 50),
    ("/v1/evaluations", EVALUATION, {"comparison": MANY}, 3),
    ("/v1/evaluations", EVALUATION, {"metrics": ["ap", "p@1", "rbo"]}, 5),
    ("/v1/evaluations", EVALUATION | {"metrics": ["tau_w"]}, {"standardized": MANY}, 50),
]


@pytest.mark.parametrize(("path", "request_", "more", "factor"), GROWTH)
def test_what_takes_longer_is_estimated_to(estimated, path, request_, more, factor):
    assert estimated(path, request_ | more) >= factor * estimated(path, request_) > 0


@pytest.mark.parametrize(
    ("path", "request_", "most"),
    [
        ("/v1/simulations", SIMULATION | {"plan": PLAN | {"n_items": 100}, "n_simulations": 3_000}, 20),
        ("/v1/strengths", {"comparisons": CHAIN, "items": 3_000, "standard_errors": True}, 15),
        ("/v1/strengths", {"comparisons": CHAIN, "items": 20_000, "standard_errors": True}, 20),
    ],
)
def test_what_takes_a_few_seconds_is_not_refused(estimated, path, request_, most):
    assert estimated(path, request_) < most


def test_items_are_matched_by_their_labels(estimated):
    by_place = {"gold": {"scores": [3, 2, 1, 0, -1]}, "system": {"scores": [3, 2, 1, 0, -1]}}
    by_label = {"gold": GOLD, "system": FIVE}
    assert estimated("/v1/correlations", by_label) > estimated("/v1/correlations", by_place)
    fewer = {"gold": GOLD, "system": TWO, "missing": "intersection"}
    assert estimated("/v1/correlations", fewer) < estimated("/v1/correlations", fewer | {"missing": "bottom"})


def test_the_limit_of_seconds_from_both_sides(make_client, estimated):
    request = {"gold": NINE, "systems": {"x": NINE, "y": NINE}, "seed": 1, "n_resamples": 500}
    assert posted("/v1/leaderboards", make_client(), **request).status_code == 200  # not cold
    n_bytes = len(json.dumps(request, separators=(",", ":")).encode())
    needed = work._REQUEST + work._BYTE * n_bytes + estimated("/v1/leaderboards", request)
    for factor, status in ((1.001, 200), (0.999, 422)):
        found = posted("/v1/leaderboards", make_client(max_seconds=factor * needed), **request)
        assert found.status_code == status, found.json
    assert found.json["type"] == "urn:rankcorr:problem:too-much-work"
    assert f"this one needs about {needed:.2g} s: ask for less at once, or for a job" in found.json["detail"]


def test_too_much_work_is_refused_before_anything_is_aligned(make_client, monkeypatch):
    monkeypatch.setattr("service.api.leaderboards.leaderboard", lambda *_, **__: pytest.fail("it began"))
    labels = [f"w{number}" for number in range(20_000)]
    systems = {str(place): {"order": labels[place : place + 2]} for place in range(100)}
    request = {"gold": {"order": labels}, "systems": systems, "missing": "bottom", "seed": 1}
    found = problem_of(posted("/v1/leaderboards", make_client(), **request))
    assert found["type"] == "urn:rankcorr:problem:too-much-work"
    assert (
        "at most 600 s of processor time for a request (RANKCORR_MAX_SECONDS); this one needs about " in found["detail"]
    )


def test_the_limit_of_memory_from_both_sides(make_client):
    request = {"gold": GOLD, "systems": {"x": TWO, "y": FIVE}, "seed": 1, "n_resamples": 50, "missing": "bottom"}
    needed = 40 * (5 + 5) + 24 * 2 * 50  # aligned items; resampled coefficients
    assert posted("/v1/leaderboards", make_client(max_work_bytes=needed), **request).status_code == 200
    found = problem_of(posted("/v1/leaderboards", make_client(max_work_bytes=needed - 1), **request))
    assert found["detail"].startswith(
        f"at most {needed - 1} bytes of memory for the work (RANKCORR_MAX_WORK_BYTES); this one needs about {needed}: "
    )
