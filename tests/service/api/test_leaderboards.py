"""Leaderboards, chance levels, tests and intervals over HTTP are the library's, within the limits of requests."""

import numpy as np
import pytest

from rankcorr import Ranking, RhoW
from rankcorr._coefficients import named_coefficient
from rankcorr.evaluation import leaderboard_of_scores, needed_items
from rankcorr.inference._interval import correlation_interval
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._null import permutation_test
from service import Limits, Settings, create_app


class TestLeaderboardOfScores:
    PATH = "/v1/leaderboards/scores"

    def scores(self):
        rng = np.random.default_rng(3)
        return {
            name: dict(zip("abcdefghij", rng.normal(shift, 1, 10).tolist(), strict=True))
            for name, shift in (("s", 0), ("t", 1))
        }

    @pytest.mark.parametrize(
        "options",
        [
            {"aggregate": "mean_rank", "lower_is_better": ["a", "c"]},
            {"groups": dict(zip("abcdefghij", "ppqqrrpqrp", strict=True)), "level": 0.9, "n_resamples": 99},
            {"equivalent_within": 0.2},
        ],
    )
    def test_the_answer_is_the_library_call(self, client, options):
        answer = client.post(self.PATH, json={"scores": self.scores(), "seed": 5, "difference": 0.4, **options})
        board = leaderboard_of_scores(self.scores(), seed=5, **options)
        expected = board.to_dict()
        assert (answer.status_code, answer.json["warnings"]) == (200, [])
        assert {name: value for name, value in answer.json.items() if name in expected} == {
            name: expected[name] for name in answer.json.keys() & expected.keys()
        }
        assert answer.json["needed"] == needed_items(board, 0.4, level=board.level).to_dict()
        assert (answer.json["verdicts"] is None) == ("equivalent_within" not in options)

    def test_the_report_is_that_of_the_library(self, client):
        request = {"scores": self.scores(), "seed": 5}
        answer = client.post(self.PATH, json=request | {"report": True}).json["report"]
        report = leaderboard_of_scores(self.scores(), seed=5).report()
        assert answer == {**vars(report), "limits": list(report.limits), "bibtex": report.to_bibtex()}
        assert client.post(self.PATH, json=request).json["report"] is None

    def test_a_report_that_repeats_long_names_is_refused(self):
        client = create_app(Settings(limits=Limits(max_label_bytes=2_000))).test_client()
        scores = {name * 900: cells for name, cells in self.scores().items()}
        refused = client.post(self.PATH, json={"scores": scores, "seed": 5, "report": True, "n_resamples": 99})
        assert refused.status_code == 422
        assert "bytes of labels in an answer (RANKCORR_MAX_LABEL_BYTES)" in refused.json["detail"]

    def test_missing_scores_and_seeds_reach_the_library(self, client):
        scores = self.scores()
        scores["s"]["a"] = None
        scores["s"]["b"], scores["t"]["b"] = [2.0, 4.0, 3.0], [1.0, 2.0, 6.0]
        answer = client.post(self.PATH, json={"scores": scores, "missing": "intersection", "seed": 1})
        assert answer.json["left_out"] == ["a"]
        assert answer.json["rows"] == leaderboard_of_scores(scores, missing="intersection", seed=1).to_dict()["rows"]

    @pytest.mark.parametrize("difference", [1e-9, 5e-324])
    def test_a_difference_that_no_number_of_tasks_can_detect(self, client, difference):
        answer = client.post(self.PATH, json={"scores": self.scores(), "seed": 5, "difference": difference})
        assert (answer.status_code, answer.json["status"]) == (422, 422)
        assert answer.json["detail"].startswith("difference must be larger; with the noise of this pilot")

    def test_few_tasks_give_a_warning_and_no_needed_number(self, client):
        scores = {"s": {"a": 1, "b": 2}, "t": {"a": 2, "b": 2}}
        answer = client.post(self.PATH, json={"scores": scores, "difference": 1, "seed": 1})
        assert (answer.status_code, answer.json["needed"]) == (200, None)
        assert answer.json["warnings"][0].startswith("only 2 tasks: intervals and tests treat the tasks as a sample")

    @pytest.mark.parametrize(
        ("scores", "pointer", "message"),
        [
            ({"a": {"x": 1}}, "/scores", "must be an object of system to an object of scores"),
            ({"a": {"x": 1}, "b": {}}, "/scores/b", "must be an object of task to score; got {}"),
            ({"a": {"x": 1}, "b": {"x": "7%"}}, "/scores/b/x", "a score is a number, null, or a list of numbers; got"),
            ({"a": {"x": 1}, "b": {"x": []}}, "/scores/b/x", "a score is a number, null, or a list of numbers; got []"),
            ({"a": {"x": 1}, "b": {"x": [None]}}, "/scores/b/x", "a score is a number, null, or a list of numbers"),
        ],
    )
    def test_invalid_tables_are_refused(self, client, scores, pointer, message):
        answer = client.post(self.PATH, json={"scores": scores, "seed": 1})
        assert answer.status_code == 422
        assert answer.json["errors"][pointer][0].startswith(message)


class TestLeaderboard:
    PATH = "/v1/leaderboards"
    LABELS = [f"item {n}" for n in range(40)]  # noqa: RUF012

    def request(self, **more):
        rng = np.random.default_rng(2)
        gold = rng.random(40)
        noisy = {name: gold + scale * rng.random(40) for name, scale in (("good", 0.3), ("poor", 3.0), ("fair", 1.0))}
        sets = {"first": slice(0, 20), "second": slice(20, 40)}

        def label_scores(scores, part):
            return {"scores": dict(zip(self.LABELS[part], scores[part].tolist(), strict=True))}

        return {
            "gold_sets": {name: label_scores(gold, part) for name, part in sets.items()},
            "systems": {name: label_scores(scores, slice(0, 40)) for name, scores in noisy.items()},
            "seed": 4,
            "n_resamples": 200,
        } | more

    def test_the_answer_is_the_library_call(self, client):
        request = self.request(coefficient="rho_w", n0=5, level=0.9)
        answer = client.post(self.PATH, json=request)
        assert answer.status_code == 200
        inputs = [{name: entry["scores"] for name, entry in request[key].items()} for key in ("gold_sets", "systems")]
        expected = leaderboard(*inputs, coefficient=RhoW(n0=5), level=0.9, n_resamples=200, seed=4).to_dict()
        assert (answer.json["rows"], answer.json["swap"]) == (expected["rows"], expected["swap"])
        assert answer.json["rows"][0]["system"] == "good"
        assert answer.json["gold_sets"] == ["first", "second"]
        assert (answer.json["by"], answer.json["warnings"]) == ("sum", [])
        assert answer.json["report"] is None

    def test_the_report_is_that_of_the_library(self, client):
        request = self.request()
        report = client.post(self.PATH, json=request | {"report": True}).json["report"]
        inputs = [{name: entry["scores"] for name, entry in request[key].items()} for key in ("gold_sets", "systems")]
        assert report["results"] == leaderboard(*inputs, n_resamples=200, seed=4).report().results

    def test_items_of_a_cluster_are_exchanged_together(self, client):
        clusters = {label: f"topic {number // 4}" for number, label in enumerate(self.LABELS)}
        request = self.request(clusters=clusters)
        answer = client.post(self.PATH, json=request)
        inputs = [{name: entry["scores"] for name, entry in request[key].items()} for key in ("gold_sets", "systems")]
        expected = leaderboard(*inputs, clusters=clusters, n_resamples=200, seed=4).to_dict()
        assert (answer.status_code, answer.json["rows"]) == (200, expected["rows"])
        for wrong in ({}, {"item 0": 1}, {"item 0": "a"}):
            assert client.post(self.PATH, json=self.request(clusters=wrong)).status_code == 422

    @pytest.mark.parametrize("in_arrays", [False, True])
    def test_systems_may_swap_scores(self, client, in_arrays):
        request = self.request(swap="scores")
        scores = {name: entry["scores"] for name, entry in request["systems"].items()}
        golds = {name: Ranking.from_scores(entry["scores"]) for name, entry in request["gold_sets"].items()}
        if in_arrays:
            request["systems"] = {
                name: {"scores": list(row.values()), "labels": list(row)} for name, row in scores.items()
            }
        answer = client.post(self.PATH, json=request)
        expected = leaderboard(golds, scores, swap="scores", n_resamples=200, seed=4).to_dict()
        assert (answer.status_code, answer.json["swap"]) == (200, "scores")
        assert answer.json["rows"] == expected["rows"]
        other = client.post(self.PATH, json=self.request(swap="ranks")).json
        assert [row["pvalue"] for row in other["rows"]] != [row["pvalue"] for row in expected["rows"]]

    def test_scores_without_labels_are_swapped(self, client):
        scores = {
            name: row.tolist() for name, row in zip("ab", np.random.default_rng(0).normal(size=(2, 20)), strict=True)
        }
        systems = {name: {"scores": score_list} for name, score_list in scores.items()}
        request = {"gold": {"scores": list(range(20))}, "systems": systems, "seed": 1, "swap": "scores"}
        answer = client.post(self.PATH, json=request | {"n_resamples": 100})
        expected = leaderboard(range(20), scores, swap="scores", n_resamples=100, seed=1).to_dict()
        assert answer.json["rows"] == expected["rows"]


PATH = "/v1/correlations"
RNG = np.random.default_rng(5)
GOLD = RNG.integers(0, 30, 60)
SYSTEM = GOLD + RNG.integers(0, 30, 60)
PAIR = {"gold": {"scores": GOLD.tolist()}, "system": {"scores": SYSTEM.tolist()}}


class TestInference:
    @pytest.mark.parametrize("coefficient", ["tau_w", "rho_w", "tau", "rho"])
    def test_the_answer_equals_the_library_call_exactly(self, client, coefficient):
        inference = {"seed": 3, "n_resamples": 200, "level": 0.9, "method": "percentile", "alternative": "greater"}
        options = {"n0": 1} if coefficient.endswith("_w") else {}
        answer = client.post(PATH, json=PAIR | options | {"coefficients": [coefficient], "inference": inference})
        assert answer.status_code == 200
        result = answer.json["inference"][coefficient]
        shared = {"coefficient": named_coefficient(coefficient, **options), "n_resamples": 200, "seed": 3}
        test = permutation_test(GOLD, SYSTEM, alternative="greater", **shared)
        interval = correlation_interval(GOLD, SYSTEM, level=0.9, method="percentile", **shared)
        for name in ("pvalue", "standardized", "percentile", "zscore"):
            assert result[name] == getattr(test, name)
        counts = {"n_resamples": 200, "n_undefined": 0}
        assert result["chance"] == {"mean": test.null.mean, "std": test.null.std, "exact": False, **counts}
        fields = ("low", "high", "method", "standard_error", "jackknife_share", "jackknife_item")
        assert result["interval"] == {name: getattr(interval, name) for name in fields} | counts

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

    def test_a_constant_ranking_has_nulls_and_no_p_value(self, client):
        flat = PAIR | {"system": {"scores": [1] * 60}, "inference": {"seed": 1, "n_resamples": 50}}
        answer = client.post(PATH, json=flat)
        assert answer.status_code == 200
        for result in answer.json["inference"].values():
            assert [result[name] for name in ("pvalue", "standardized", "percentile", "zscore")] == [None] * 4
            assert (result["interval"]["low"], result["interval"]["high"]) == (None, None)
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
