"""Leaderboards over HTTP are the library's, within limits."""

import numpy as np
import pytest

from rankcorr import Ranking, RhoW
from rankcorr.inference._leaderboard import leaderboard


class TestLeaderboard:
    PATH = "/v1/leaderboards"
    LABELS = [f"item {n}" for n in range(40)]  # noqa: RUF012

    def request(self, **more):
        rng = np.random.default_rng(2)
        gold = rng.random(40)
        noisy = {name: gold + scale * rng.random(40) for name, scale in (("good", 0.3), ("poor", 3.0), ("fair", 1.0))}
        sets = {"first": slice(0, 20), "second": slice(20, 40)}

        def written(scores, part):
            return {"scores": dict(zip(self.LABELS[part], scores[part].tolist(), strict=True))}

        return {
            "gold_sets": {name: written(gold, part) for name, part in sets.items()},
            "systems": {name: written(scores, slice(0, 40)) for name, scores in noisy.items()},
            "seed": 4,
            "n_resamples": 200,
        } | more

    def test_the_answer_is_the_library_call(self, client):
        request = self.request(coefficient="rho_w", n0=5, level=0.9)
        answer = client.post(self.PATH, json=request)
        assert answer.status_code == 200
        own = [{name: entry["scores"] for name, entry in request[key].items()} for key in ("gold_sets", "systems")]
        expected = leaderboard(*own, coefficient=RhoW(n0=5), level=0.9, n_resamples=200, seed=4).to_dict()
        assert (answer.json["rows"], answer.json["swap"]) == (expected["rows"], expected["swap"])
        assert answer.json["rows"][0]["system"] == "good"
        assert answer.json["gold_sets"] == ["first", "second"]
        assert (answer.json["by"], answer.json["warnings"]) == ("sum", [])

    def test_items_of_a_cluster_are_exchanged_together(self, client):
        clusters = {label: f"topic {number // 4}" for number, label in enumerate(self.LABELS)}
        request = self.request(clusters=clusters)
        answer = client.post(self.PATH, json=request)
        own = [{name: entry["scores"] for name, entry in request[key].items()} for key in ("gold_sets", "systems")]
        expected = leaderboard(*own, clusters=clusters, n_resamples=200, seed=4).to_dict()
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
                name: {"scores": list(own.values()), "labels": list(own)} for name, own in scores.items()
            }
        answer = client.post(self.PATH, json=request)
        expected = leaderboard(golds, scores, swap="scores", n_resamples=200, seed=4).to_dict()
        assert (answer.status_code, answer.json["swap"]) == (200, "scores")
        assert answer.json["rows"] == expected["rows"]
        other = client.post(self.PATH, json=self.request(swap="ranks")).json
        assert [row["pvalue"] for row in other["rows"]] != [row["pvalue"] for row in expected["rows"]]

    def test_scores_without_labels_are_swapped(self, client):
        scores = {
            name: own.tolist() for name, own in zip("ab", np.random.default_rng(0).normal(size=(2, 20)), strict=True)
        }
        systems = {name: {"scores": own} for name, own in scores.items()}
        request = {"gold": {"scores": list(range(20))}, "systems": systems, "seed": 1, "swap": "scores"}
        answer = client.post(self.PATH, json=request | {"n_resamples": 100})
        expected = leaderboard(range(20), scores, swap="scores", n_resamples=100, seed=1).to_dict()
        assert answer.json["rows"] == expected["rows"]

    def test_one_gold_ranking_without_labels(self, client):
        request = {"gold": {"scores": [3, 2, 1]}, "systems": {"a": {"scores": [3, 1, 2]}, "b": {"scores": [1, 2, 3]}}}
        answer = client.post(self.PATH, json=request | {"seed": 1, "n_resamples": 100})
        assert [row["system"] for row in answer.json["rows"]] == ["a", "b"]
