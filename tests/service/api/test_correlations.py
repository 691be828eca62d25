import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import (
    Hyperbolic,
    Ranking,
    RhoW,
    TauW,
    TopK,
    Uniform,
    contributions,
    correlate,
    correlate_many,
    correlation_matrix,
    weighted_rho,
    weighted_tau,
)
from rankcorr import _batch as batch
from tests.service.answers import GOLD, SYSTEM, post, problem_of
from tests.strategies import tied_pairs

PATH = "/v1/correlations"


def test_the_answer_has_the_coefficients_of_the_library():
    answer = post(gold=GOLD, system=SYSTEM)
    assert answer.status_code == 200
    expected = correlate(Ranking.from_scores(GOLD["scores"]), Ranking.from_order(SYSTEM["order"]))
    assert answer.json == {
        "n_items": 4,
        "coefficients": {name: result.statistic for name, result in expected.items()},
        "ties": {"gold": 0, "system": 2},
        "n_missing": None,
        "warnings": [],
    }


@given(
    tied_pairs(),
    st.sampled_from([{}, {"n0": 0}, {"n0": 3.7}, {"weigher": "top-k:3"}, {"weigher": "hyperbolic"}]),
    st.sampled_from(["additive", "multiplicative", "first", "second"]),
    st.sampled_from(["midrank", "expected"]),
    st.sampled_from(["a", "b"]),
)
def test_every_answer_equals_the_library_call_exactly(pair, weighing, scheme, tied_weights, variant):
    options = {"scheme": scheme, "tied_weights": tied_weights}
    answer = post(
        gold={"scores": pair[0].tolist()}, system={"scores": pair[1].tolist()}, variant=variant, **weighing, **options
    )
    weighers = {"top-k:3": TopK(3), "hyperbolic": Hyperbolic()}
    weighing_options = {"weigher": weighers[weighing["weigher"]]} if "weigher" in weighing else weighing
    calls = {
        "rho_w": lambda: weighted_rho(*pair, **weighing_options, **options),
        "tau_w": lambda: weighted_tau(*pair, variant=variant, **weighing_options, **options),
        "rho": lambda: weighted_rho(*pair, weigher=Uniform(), **options),
        "tau": lambda: weighted_tau(*pair, weigher=Uniform(), variant=variant, **options),
    }
    if answer.status_code == 422:  # this scheme with a step leaves no weight
        assert answer.json["type"] == "urn:rankcorr:problem:weight"
        with pytest.raises(ValueError, match="all weights are zero"):
            calls["tau_w"]()
        return
    assert answer.status_code == 200
    undefined = [name for name, value in answer.json["coefficients"].items() if value is None]
    assert [name for warning in answer.json["warnings"] for name in warning["coefficients"]] == undefined
    for name, value in answer.json["coefficients"].items():
        if value is None:
            with pytest.warns(UserWarning, match="undefined"):
                assert np.isnan(calls[name]().statistic)
        else:
            assert value == calls[name]().statistic


class TestBatch:
    PATH = PATH + "/batch"
    SYSTEMS = {  # noqa: RUF012 - a constant
        "poor": {"order": ["stone", "cabbage", "queen", "king"]},
        "good": {"order": ["king", "queen", "stone", "cabbage"]},
        "flat": {"order": [["king", "queen", "stone", "cabbage"]]},
        "tied": SYSTEM,
    }

    def test_the_answer_is_the_sorted_library_result(self):
        answer = post(self.PATH, gold=GOLD, systems=self.SYSTEMS, coefficients=["tau_w", "rho"], n0=1)
        assert answer.status_code == 200
        assert [row["name"] for row in answer.json["systems"]] == ["good", "tied", "poor", "flat"]
        rankings = {name: Ranking.from_order(entry["order"]) for name, entry in self.SYSTEMS.items()}
        with pytest.warns(UserWarning, match="undefined"):
            expected = correlate_many(GOLD["scores"], rankings, coefficient=TauW(n0=1))
        values = dict(zip(expected.names, expected.statistic.tolist(), strict=True))
        for row in answer.json["systems"][:-1]:
            assert row["coefficients"]["tau_w"] == values[row["name"]]
        assert answer.json["systems"][-1]["coefficients"] == {"tau_w": None, "rho": None}
        assert [warning["coefficients"] for warning in answer.json["warnings"]] == [["tau_w"], ["rho"]]
        assert all("'flat'" in warning["message"] for warning in answer.json["warnings"])
        assert answer.json["sort_by"] == "tau_w"
        assert [row["ties"] for row in answer.json["systems"]] == [0, 2, 0, 4]

    @pytest.mark.parametrize("missing", ["raise", "bottom"])
    def test_rankings_are_aligned_once_for_all_coefficients(self, monkeypatch, missing):
        calls = []
        counted = batch.align_rankings
        monkeypatch.setattr(
            batch, "align_rankings", lambda *pair, **options: calls.append(pair) or counted(*pair, **options)
        )
        answer = post(self.PATH, gold=GOLD, systems=self.SYSTEMS, missing=missing)
        assert set(answer.json["systems"][0]["coefficients"]) == {"tau_w", "rho_w", "tau", "rho"}
        assert len(calls) == len(self.SYSTEMS)

    def test_systems_may_be_sorted_by_another_coefficient(self):
        answer = post(self.PATH, gold=GOLD, systems=self.SYSTEMS, coefficients=["tau_w"], sort_by="rho")
        assert answer.json["sort_by"] == "rho"
        assert set(answer.json["systems"][0]["coefficients"]) == {"tau_w", "rho"}

    def test_equal_systems_keep_their_order(self):
        systems = {"b": GOLD, "a": GOLD}
        assert [row["name"] for row in post(self.PATH, gold=GOLD, systems=systems).json["systems"]] == ["b", "a"]

    def test_each_wrong_system_is_named(self):
        result = problem_of(post(self.PATH, gold=GOLD, systems={"a/b": {"scores": ["x", 1]}, "c": 3, "good": GOLD}))
        assert list(result["errors"]) == ["/systems/a~1b/scores/0", "/systems/c"]

    def test_a_mismatched_system_is_named(self):
        result = problem_of(post(self.PATH, gold=GOLD, systems={"good": GOLD, "short": {"order": ["king", "queen"]}}))
        assert "gold has labels that system 'short' lacks: 'cabbage', 'stone'" in result["detail"]

    @pytest.mark.parametrize("systems", [{}, [], None, "x"])
    def test_systems_are_needed(self, systems):
        assert list(problem_of(post(self.PATH, gold=GOLD, systems=systems))["errors"]) == ["/systems"]


class TestMatrix:
    PATH = PATH + "/matrix"

    def test_the_answer_is_the_library_call(self):
        rankings = {
            "gold": GOLD,
            "system": SYSTEM,
            "third": {"ranks": {"king": 4, "queen": 3, "cabbage": 1, "stone": 1}},
        }
        answer = post(self.PATH, rankings=rankings, coefficient="rho_w", n0=0)
        rankings_of_library = {
            "gold": Ranking.from_scores(GOLD["scores"]),
            "system": Ranking.from_order(SYSTEM["order"]),
            "third": Ranking.from_ranks(rankings["third"]["ranks"]),
        }
        expected = correlation_matrix(rankings_of_library, coefficient=RhoW(n0=0))
        assert answer.json["matrix"] == expected.statistic.tolist()
        assert answer.json["names"] == ["gold", "system", "third"]
        assert (answer.json["n_items"], answer.json["coefficient"]) == (4, "rho_w")

    def test_plain_coefficients_ignore_n0(self):
        answer = post(self.PATH, rankings={"a": GOLD, "b": SYSTEM}, coefficient="tau", n0=7)
        assert (
            answer.json["matrix"][0][1]
            == weighted_tau(GOLD["scores"], Ranking.from_order(SYSTEM["order"]), weigher=Uniform()).statistic
        )

    def test_undefined_cells_are_null(self):
        answer = post(self.PATH, rankings={"a": {"scores": [1, 2]}, "flat": {"scores": [1, 1]}})
        assert answer.json["matrix"] == [[1.0, None], [None, None]]
        assert answer.json["warnings"][0]["coefficients"] == ["tau_w"]


def test_the_items_with_the_largest_costs():
    answer = post(gold=GOLD, system=SYSTEM, coefficients=["tau_w", "rho"], worst=2, n0=1)
    for name, coefficient in (("tau_w", TauW(n0=1)), ("rho", "rho")):
        parts = contributions(GOLD["scores"], Ranking.from_order(SYSTEM["order"]), coefficient=coefficient)
        result = answer.json["worst"][name]
        assert [(row["label"], row["cost"], row["contribution"]) for row in result] == [
            (item.label, item.cost, item.contribution) for item in parts.worst(2)
        ]
        assert [(row["gold_rank"], row["system_rank"], row["weight"]) for row in result] == [
            (item.x_rank, item.y_rank, item.weight) for item in parts.worst(2)
        ]


def test_costs_without_labels_or_coefficient():
    plain = post(gold={"scores": [3, 2, 1]}, system={"scores": [1, 2, 3]}, worst=1, coefficients=["tau"])
    assert plain.json["worst"]["tau"][0]["label"] in (0, 1, 2)
    flat = post(gold={"scores": [3, 2, 1]}, system={"scores": [1, 1, 1]}, worst=1, coefficients=["tau"])
    assert flat.json["worst"] == {"tau": None}
    assert len(flat.json["warnings"]) == 1
    assert "worst" not in post(gold=GOLD, system=SYSTEM).json
