"""Work is estimated before it begins, and too much of it is refused."""

import pytest

from tests.service.answers import posted, problem_of

GOLD = {"scores": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}}
FIVE = {"scores": {"a": 1, "b": 4, "c": 3, "d": 2, "e": 5}}
TWO = {"order": ["b", "a"]}
PLAIN = {"scores": [3, 2, 1]}
INFERENCE = {"seed": 1, "n_resamples": 50, "method": "percentile"}
COPULA = INFERENCE | {"method": "copula"}
SIMULATION = {
    "plan": {"n_items": 12, "n_ballots": 2, "fraction": 0.5, "presentations": 4},
    "voters": {"n_voters": 5},
    "similarity": "exponential",
    "n_simulations": 3,
    "seed": 1,
}
NINE = {"scores": list(range(9))}

# What a request needs, counted by hand: items that are ranked, and 4 for each that is matched by its label.
REQUESTS = [
    ("/v1/correlations", {"gold": PLAIN, "system": PLAIN}, 4 * 3),
    ("/v1/correlations", {"gold": PLAIN, "system": PLAIN, "coefficients": ["tau"]}, 3),
    ("/v1/correlations", {"gold": GOLD, "system": FIVE, "coefficients": ["tau"]}, 5 + 4 * 10),
    ("/v1/correlations", {"gold": GOLD, "system": TWO, "coefficients": ["tau"], "missing": "bottom"}, 5 + 4 * 7),
    ("/v1/correlations", {"gold": GOLD, "system": TWO, "coefficients": ["tau"], "missing": "intersection"}, 2 + 4 * 7),
    ("/v1/correlations", {"gold": NINE, "system": NINE, "coefficients": ["tau"], "inference": INFERENCE}, 9 * 101),
    (
        "/v1/correlations",
        {"gold": NINE, "system": NINE, "coefficients": ["tau"], "inference": INFERENCE | {"method": "bca"}},
        9 * (101 + 9),
    ),
    # each resample from a copula ranks both lists, and there are at least 1,000 of them
    ("/v1/correlations", {"gold": NINE, "system": NINE, "coefficients": ["tau"], "inference": COPULA}, 9 * 2_051),
    (
        "/v1/correlations",
        {"gold": NINE, "system": NINE, "coefficients": ["tau"], "inference": COPULA | {"n_resamples": 1_500}},
        9 * 4_501,
    ),
    # all 40,320 permutations of 8 items stand for those of fewer
    ("/v1/correlations", {"gold": PLAIN, "system": PLAIN, "coefficients": ["tau"], "inference": INFERENCE}, 3 * 40_371),
    ("/v1/correlations/batch", {"gold": PLAIN, "systems": {"x": PLAIN, "y": PLAIN}, "coefficients": ["rho"]}, 2 * 3),
    (
        "/v1/correlations/batch",
        {"gold": GOLD, "systems": {"x": TWO}, "coefficients": ["rho", "tau"], "missing": "bottom"},
        2 * 5 + 2 * 4 * 7,  # matched once for all coefficients, and once for ties
    ),
    ("/v1/correlations/batch", {"gold": GOLD, "systems": {"x": FIVE}, "coefficients": ["rho", "tau"]}, 2 * 5 + 4 * 10),
    ("/v1/correlations/matrix", {"rankings": {"x": PLAIN, "y": PLAIN}}, 2 * 6),
    ("/v1/correlations/matrix", {"rankings": {"x": GOLD, "y": FIVE}}, 2 * 10 * 5),
    ("/v1/leaderboards", {"gold": PLAIN, "systems": {"x": PLAIN, "y": PLAIN}, "seed": 1, "n_resamples": 50}, 6 * 301),
    (
        "/v1/leaderboards",
        {
            "gold_sets": {"m": GOLD, "n": GOLD},
            "systems": {"x": TWO, "y": FIVE},
            "seed": 1,
            "n_resamples": 50,
            "missing": "intersection",
        },
        2 * ((2 + 5) * 301 + 4 * (7 + 10)),
    ),
    # 3 simulations: ballots of 24 and 12 votes, and a uniform one of 36; 5 voters judge 12 items twice
    ("/v1/simulations", SIMULATION, 3 * (3 * 5_000 + 4 * (24 + 12 + 36) + 2 * 60 // 4)),
    ("/v1/simulations", SIMULATION | {"approaches": ["uniform"]}, 3 * (5_000 + 4 * 36 + 60 // 4)),
]


@pytest.mark.parametrize(("path", "request_", "needed"), REQUESTS)
def test_the_limit_of_work_from_both_sides(make_client, path, request_, needed):
    assert posted(path, make_client(max_work=needed), **request_).status_code == 200
    found = problem_of(posted(path, make_client(max_work=needed - 1), **request_))
    assert found["type"] == "urn:rankcorr:problem:too-much-work"
    assert found["detail"] == (
        f"at most {needed - 1} items to rank or match, over all rankings, coefficients, resamples and simulations "
        f"(RANKCORR_MAX_WORK); this request needs about {needed}: ask for less at once"
    )


def test_the_limit_of_memory_from_both_sides(make_client):
    request = {"gold": GOLD, "systems": {"x": TWO, "y": FIVE}, "seed": 1, "n_resamples": 50, "missing": "bottom"}
    needed = 40 * (5 + 5) + 24 * 2 * 50  # aligned items; resampled coefficients
    assert posted("/v1/leaderboards", make_client(max_work_bytes=needed), **request).status_code == 200
    found = problem_of(posted("/v1/leaderboards", make_client(max_work_bytes=needed - 1), **request))
    assert found["detail"].startswith(
        f"at most {needed - 1} bytes of memory for the work (RANKCORR_MAX_WORK_BYTES); this request needs about "
        f"{needed}: "
    )


def test_a_small_body_that_asks_for_very_much_is_refused_before_anything_is_aligned(make_client, monkeypatch):
    monkeypatch.setattr("service.api.leaderboards.leaderboard", lambda *_, **__: pytest.fail("it began"))
    labels = [f"w{number}" for number in range(20_000)]
    systems = {str(place): {"order": labels[place : place + 2]} for place in range(100)}
    request = {"gold": {"order": labels}, "systems": systems, "missing": "bottom", "seed": 1}
    found = problem_of(posted("/v1/leaderboards", make_client(), **request))
    assert found["type"] == "urn:rankcorr:problem:too-much-work"


def test_many_small_simulations_are_refused_before_they_begin(client):
    found = problem_of(posted("/v1/simulations", client, **SIMULATION | {"n_simulations": 100_000}))
    assert found["type"] == "urn:rankcorr:problem:too-much-work"
    assert "(RANKCORR_MAX_WORK); this request needs about 1" in found["detail"]
