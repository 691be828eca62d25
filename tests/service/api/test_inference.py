import numpy as np
import pytest

from rankcorr._coefficients import named_coefficient
from rankcorr.inference._interval import correlation_interval
from rankcorr.inference._permutation import permutation_test

PATH = "/v1/correlations"
RNG = np.random.default_rng(5)
GOLD = RNG.integers(0, 30, 60)
SYSTEM = GOLD + RNG.integers(0, 30, 60)
PAIR = {"gold": {"scores": GOLD.tolist()}, "system": {"scores": SYSTEM.tolist()}}


class TestInference:
    @pytest.mark.parametrize("coefficient", ["tau_w", "rho_w", "tau", "rho"])
    def test_the_answer_is_the_library_call_to_the_last_bit(self, client, coefficient):
        chosen = {"seed": 3, "n_resamples": 200, "level": 0.9, "method": "percentile", "alternative": "greater"}
        options = {"n0": 1} if coefficient.endswith("_w") else {}
        answer = client.post(PATH, json=PAIR | options | {"coefficients": [coefficient], "inference": chosen})
        assert answer.status_code == 200
        found = answer.json["inference"][coefficient]
        shared = {"coefficient": named_coefficient(coefficient, **options), "n_resamples": 200, "seed": 3}
        test = permutation_test(GOLD, SYSTEM, alternative="greater", **shared)
        interval = correlation_interval(GOLD, SYSTEM, level=0.9, method="percentile", **shared)
        for name in ("pvalue", "standardized", "percentile", "zscore"):
            assert found[name] == getattr(test, name)
        counts = {"n_resamples": 200, "n_undefined": 0}
        assert found["chance"] == {"mean": test.null.mean, "std": test.null.std, "exact": False, **counts}
        fields = ("low", "high", "method", "standard_error", "jackknife_share", "jackknife_item")
        assert found["interval"] == {name: getattr(interval, name) for name in fields} | counts

    def test_a_warning_names_the_item_that_decides(self, client):
        scores = {f"item {number}": number for number in range(40)}
        request = {"gold": {"scores": scores}, "system": {"scores": scores | {"item 39": -1}}}
        inference = {"seed": 1, "n_resamples": 50}
        answer = client.post(PATH, json=request | {"coefficients": ["tau_w"], "inference": inference}).json
        interval = answer["inference"]["tau_w"]["interval"]
        assert (interval["method"], interval["jackknife_item"]) == ("envelope", "item 39")
        message = "the interval depends on one item, 'item 39', which carries 97 % of the jackknife variance"
        assert answer["warnings"] == [{"message": message, "coefficients": ["tau_w"]}]

    def test_without_it_there_is_none(self, client):
        assert "inference" not in client.post(PATH, json=PAIR).json

    def test_a_constant_ranking_has_nulls_and_never_a_p_value(self, client):
        flat = PAIR | {"system": {"scores": [1] * 60}, "inference": {"seed": 1, "n_resamples": 50}}
        answer = client.post(PATH, json=flat)
        assert answer.status_code == 200
        for found in answer.json["inference"].values():
            assert [found[name] for name in ("pvalue", "standardized", "percentile", "zscore")] == [None] * 4
            assert (found["interval"]["low"], found["interval"]["high"]) == (None, None)
        assert all(warning["coefficients"] == ["rho_w", "tau_w", "rho", "tau"] for warning in answer.json["warnings"])
        assert answer.json["warnings"]


class TestMissing:
    GOLD = {"scores": {"a": 4, "b": 3, "c": 2, "d": 1}}  # noqa: RUF012 - constants
    SHORT = {"order": ["b", "a", "x"]}  # noqa: RUF012

    @pytest.mark.parametrize(("missing", "n_items", "n_missing"), [("intersection", 2, 3), ("bottom", 5, 3)])
    def test_items_in_one_ranking_only(self, client, missing, n_items, n_missing):
        request = {"gold": self.GOLD, "system": self.SHORT, "missing": missing}
        answer = client.post(PATH, json=request)
        assert (answer.json["n_items"], answer.json["n_missing"]) == (n_items, n_missing)
        batch = client.post(PATH + "/batch", json={"gold": self.GOLD, "systems": {"s": self.SHORT}, "missing": missing})
        assert batch.json["systems"][0]["n_items"] == n_items
        assert batch.json["systems"][0]["coefficients"] == answer.json["coefficients"]
        matrix = client.post(PATH + "/matrix", json={"rankings": {"g": self.GOLD, "s": self.SHORT}, "missing": missing})
        assert matrix.json["n_compared"][0][1] == n_items
        assert matrix.json["matrix"][0][1] == answer.json["coefficients"]["tau_w"]
