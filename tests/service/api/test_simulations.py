"""Simulations over HTTP are the library's; concurrent requests do not mix."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive import VoterPopulation, plan_ballots, simulate
from adaptive.simulation._similarity import SIMILARITIES, named_similarity
from rankcorr._checks import collected_notices
from tests.service.answers import answer

PATH = "/v1/simulations"
PLAN = {"n_items": 12, "n_ballots": 2, "fraction": 0.5, "presentations": 4}
REQUEST = {"plan": PLAN, "similarity": "exponential", "n_simulations": 3, "seed": 1}


def library(request):
    """The answer by the library; voters with many errors may leave a coefficient undefined."""
    plan = plan_ballots(**request["plan"])
    voters = {name: tuple(value) if isinstance(value, list) else value for name, value in request["voters"].items()}
    similarity = request["similarity"]
    values = named_similarity(similarity, plan.n_items) if isinstance(similarity, str) else similarity
    options = {name: request[name] for name in ("n_simulations", "seed", "relatedness", "n0") if name in request}
    if "approaches" in request:
        options["approaches"] = tuple(request["approaches"])
    with collected_notices() as notices:
        result = simulate(plan, VoterPopulation(**voters), values, **options)
    undefined = {name for means in result.mean.values() for name, mean in means.items() if math.isnan(mean)}
    return {
        "n_simulations": result.n_simulations,
        "approaches": result.to_dict(),
        "advice": [asdict(note) for note in result.advice],
        "warnings": [{"message": text, "coefficients": sorted(undefined)} for text in dict.fromkeys(notices)],
    }


@settings(max_examples=20)
@given(
    st.fixed_dictionaries(
        {
            "similarity": st.sampled_from(list(SIMILARITIES)) | st.permutations([i / 12 - 0.3 for i in range(12)]),
            "n_simulations": st.integers(1, 12),
            "seed": st.integers(0, 2**63 - 1),
            "voters": st.fixed_dictionaries(
                {},
                optional={
                    "n_voters": st.integers(1, 9),
                    "nonconformity": st.tuples(st.floats(0, 0.5), st.floats(0.5, 3)).map(list),
                    "oversight": st.tuples(st.floats(0, 0.5), st.floats(0.5, 1)).map(list),
                },
            ),
        },
        optional={
            "relatedness": st.booleans(),
            "approaches": st.sampled_from([["adaptive"], ["uniform"], ["uniform", "adaptive"]]),
            "n0": st.sampled_from([0, 3.7, -0.5]),
        },
    )
)
def test_every_answer_equals_the_library_call_exactly(options):
    request = {"plan": PLAN, **options}
    expected, result = library(request), answer(PATH, **request)
    assert result == expected
    assert list(result["approaches"]) == list(expected["approaches"])


def test_the_defaults_are_those_of_the_paper():
    population = VoterPopulation()
    voters = {
        "n_voters": population.n_voters,
        "nonconformity": list(population.nonconformity),
        "oversight": list(population.oversight),
    }
    options = {"voters": voters, "relatedness": True, "approaches": ["adaptive", "uniform"], "n0": 2}
    assert answer(PATH, **REQUEST) == answer(PATH, **REQUEST, **options) == answer(PATH, **REQUEST, voters={})


def test_one_simulation_has_no_standard_deviation():
    result = answer(PATH, **{**REQUEST, "n_simulations": 1}, approaches=["adaptive"])
    assert {entry["sd"] for entry in result["approaches"]["adaptive"].values()} == {None}
    assert all(-1 <= entry["mean"] <= 1 for entry in result["approaches"]["adaptive"].values())


def test_undefined_values_are_null_with_a_warning():
    result = answer(PATH, **{**REQUEST, "similarity": [0.5] * 12})
    assert {entry["mean"] for entries in result["approaches"].values() for entry in entries.values()} == {None}
    (warning,) = result["warnings"]
    assert warning["coefficients"] == ["rho", "rho_w", "tau", "tau_w"]
    assert "tied in one ranking" in warning["message"]


def test_concurrent_requests_do_not_mix():
    """Each has the same answer and warnings as alone."""
    requests = [{**REQUEST, "similarity": similarity} for similarity in ("embedding", [0.5] * 12)] * 4
    alone = [answer(PATH, **request) for request in requests]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda request: answer(PATH, **request), requests)) == alone


def test_the_largest_levels_that_are_accepted():
    request = {**REQUEST, "voters": {"n_voters": 5, "nonconformity": [0, 1e300]}, "n0": 1e300, "relatedness": False}
    result = answer(PATH, **request)
    assert result == library(request)
    assert result["warnings"] == []
    assert all(math.isfinite(entry["mean"]) for entries in result["approaches"].values() for entry in entries.values())
