"""POST /v1/rankings/merged and /v1/leaderboards/rank-sets return what the library returns."""

import pytest

from rankcorr import Ranking, RhoW, TauW, rank_sets
from rankcorr.aggregate import borda, consensus, kemeny, reciprocal_rank_fusion

ORDERS = {"x": ["a", "b", "c", "d"], "y": ["b", ["a", "d"], "c"], "z": ["d", "a", "b"]}
RANKINGS = {name: Ranking.from_order(order) for name, order in ORDERS.items()}
REQUEST = {"rankings": {name: {"order": order} for name, order in ORDERS.items()}, "missing": "skip"}


class TestMergedRankings:
    PATH = "/v1/rankings/merged"

    @pytest.mark.parametrize(
        ("options", "merged"),
        [
            ({}, borda(RANKINGS, missing="skip")),
            ({"method": "reciprocal_rank_fusion", "k": 5}, reciprocal_rank_fusion(RANKINGS, missing="skip", k=5)),
            (
                {"method": "kemeny", "weights": {"x": 2, "y": 1, "z": 1}},
                kemeny(RANKINGS, missing="skip", weights={"x": 2, "y": 1, "z": 1}),
            ),
            (
                {"method": "consensus", "coefficient": "rho_w", "n0": 1},
                consensus(RANKINGS, missing="skip", coefficient=RhoW(n0=1)),
            ),
            ({"method": "consensus", "missing": "bottom"}, consensus(RANKINGS, missing="bottom", coefficient=TauW())),
        ],
    )
    def test_the_answer_is_the_library_call(self, client, options, merged):
        answer = client.post(self.PATH, json=REQUEST | options)
        expected = merged.to_dict()
        assert answer.status_code == 200
        assert answer.json["ranking"] == merged.table()
        shared = answer.json.keys() & expected.keys() - {"ranking"}
        assert len(shared) == 7
        assert {name: answer.json[name] for name in shared} == {name: expected[name] for name in shared}

    def test_rankings_may_have_no_labels(self, client):
        answer = client.post(self.PATH, json={"rankings": {"x": {"scores": [3, 1, 2]}, "y": {"scores": [3, 2, 1]}}})
        assert [row["item"] for row in answer.json["ranking"]] == [0, 1, 2]

    @pytest.mark.parametrize(
        ("change", "place", "message"),
        [
            ({"weights": {"x": 1, "y": "2", "z": 1}}, "/weights/y", 'must be a number of at least 0; got "2"'),
            ({"weights": {}}, "/weights", "must be an object of name to number, with at least 1; got {}"),
            ({"method": "median"}, "/method", 'must be one of "borda", "mean_rank"'),
            ({"k": -1}, "/k", "must be a number of at least 0; got -1"),
        ],
    )
    def test_wrong_fields_are_named(self, client, change, place, message):
        answer = client.post(self.PATH, json=REQUEST | change)
        assert answer.status_code == 422
        assert answer.json["errors"][place][0].startswith(message)


class TestRankSets:
    PATH = "/v1/leaderboards/rank-sets"
    ESTIMATES = {"a": 3.0, "b": 2.5, "c": 0.0}  # noqa: RUF012
    COVARIANCE = [[0.2, 0.1, 0.0], [0.1, 0.3, 0.0], [0.0, 0.0, 0.1]]  # noqa: RUF012

    @pytest.mark.parametrize(
        "errors", [{"standard_errors": {"c": 0.3, "b": 0.5, "a": 0.5}}, {"covariance": COVARIANCE}]
    )
    def test_the_answer_is_the_library_call(self, client, errors):
        answer = client.post(self.PATH, json={"estimates": self.ESTIMATES, "seed": 3, "level": 0.9, **errors})
        sets = rank_sets(self.ESTIMATES, seed=3, level=0.9, **errors)
        assert answer.json == {"rows": sets.table(), "level": 0.9, "n_resamples": 10_000}

    @pytest.mark.parametrize(
        ("errors", "place", "message"),
        [
            ({}, "", "exactly one of standard_errors, covariance is needed; got none"),
            ({"covariance": [[1, "2"], [1, 2]]}, "/covariance/0/1", 'must be a number; got "2"'),
            ({"covariance": [1, 2]}, "/covariance/0", "must be a row of two numbers or more; got 1"),
            ({"covariance": []}, "/covariance", "must be a list of two rows of numbers or more; got []"),
        ],
    )
    def test_wrong_fields_are_named(self, client, errors, place, message):
        answer = client.post(self.PATH, json={"estimates": self.ESTIMATES, "seed": 3, **errors})
        assert answer.status_code == 422
        assert answer.json["errors"][place][0].startswith(message)

    @pytest.mark.parametrize("row", [[0, 1], [0, 1, 0]])
    def test_errors_of_the_library_are_answers(self, client, row):
        covariance = [[1, 2, 0], row, [0, 0, 1]]
        answer = client.post(self.PATH, json={"estimates": self.ESTIMATES, "seed": 3, "covariance": covariance})
        assert answer.status_code == 422
        assert answer.json["type"].startswith("urn:")
