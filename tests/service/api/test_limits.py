"""Each limit on a request: at the limit there is an answer, beyond it an error that names the limit."""

from dataclasses import replace

import pytest

from service import Limits, Settings, create_app
from service.http.state import state
from tests.service.answers import GOLD, SYSTEM, answer, problem
from tests.service.api.test_strengths import COLUMNS, rows_of

ORDER = {"order": ["a", "b", "c"]}
ABCD = {"gold": ORDER, "missing": "intersection", "system": {"order": ["a", ["b", "c", "d"]]}}
FOUR_SCORES = ABCD | {"system": {"scores": [4, 3, 2, 1], "labels": list("abcd")}}
SIX_TOKENS = [{"token": token, "area": token.lower()} for token in "AaBbCc"]
FRUIT = [{"token": token, "area": "fruit"} for token in ("apple", "pear", "plum", "fig")]
TWO_AREAS = {"tokens": [*FRUIT, {"token": "oak", "area": "tree"}], "across_areas": True}
# One token with six areas has 15 pairs of areas, which take time to compare.
SHARED_TOKENS = [entry for area in "uvwxyz" for entry in ({"token": "a", "area": area}, {"token": area, "area": area})]
BALLOT = {"items": 4, "presentations": 1, "voters": 1, "seed": 1}
VOTES = {"comparisons": COLUMNS}
NEXT = {"comparisons": COLUMNS, "seed": 1}
SCORES = {
    "plan": {"n_items": 4, "n_ballots": 2, "fraction": 0.5, "presentations": 2},
    "items": list("kqcs"),
    "seed": 1,
    "ballots": [
        {"comparisons": [{"left": list("kqsc"), "right": list("qsck"), "votes": ["left", "left", "tie", None]}]},
        {"comparisons": [{"left": ["k", "c"], "right": ["c", "k"], "votes": ["left", "left"]}]},
    ],
}
PLAN = {"n_items": 12, "n_ballots": 2, "fraction": 0.5, "presentations": 4}
# The plan has 24 and 12 comparisons; the uniform ballot of equal cost has 6 presentations of each item, and so 36.
SIMULATION = {"plan": PLAN, "similarity": "exponential", "n_simulations": 3, "seed": 1}
ADAPTIVE, UNIFORM = (SIMULATION | {"approaches": [approach]} for approach in ("adaptive", "uniform"))
THIRTEEN_ITEMS = SIMULATION | {"plan": PLAN | {"n_items": 13}, "similarity": [n / 13 for n in range(13)]}
QUERY = {"a": 1, "b": 0}
FUSION = {"runs": {"x": {"q": QUERY}, "y": {"q": QUERY}}}
RUNS = {"qrels": {"q": QUERY}, "runs": {"x": {"q": QUERY}, "y": {"q": QUERY}}}
XY = {"order": [1, 2]}
BOARD = {"gold_sets": {"g" * 10: XY, "h": XY}, "systems": {"a": XY, "b": XY}, "seed": 1, "n_resamples": 300}
SHARES = {"seed": 1, "n_resamples": 51}
ESTIMATES = {
    "estimates": {"a": 3, "b": 2, "c": 1},
    "standard_errors": {"a": 1, "b": 1, "c": 1},
    "seed": 1,
    "n_resamples": 200,
}
TABLE = {"scores": {"a": {"x": 1, "y": 2}, "b": {"x": 2, "y": 2}}, "seed": 1, "n_resamples": 1_000}
PAIRS = {"oak": {"tree": 0.7, "plant": 0.6, "ink": 0.1}}
GROUP = {"target": "oak", "candidates": {"tree": "positive", "plant": "positive", "ink": "random"}, "comparisons": []}
GROUPS = {"groups": [GROUP], "models": {"m": PAIRS, "n": PAIRS}, "seed": 1}
PAIR = {"gold": GOLD, "system": SYSTEM, "inference": SHARES}
RANKINGS = {"x": GOLD, "y": SYSTEM}
LABELS = "bytes of labels in an answer"

# Path -> request, limit, how much of it the request uses, the place of the error, and the limited quantity
LIMITS = {
    "/v1/correlations": [
        (ABCD, "items", 4, "/system", "items of a ranking"),
        (FOUR_SCORES, "items", 4, "/system", "items of a ranking"),
        (PAIR, "resamples", 51, "/inference/n_resamples", "resamples"),
    ],
    "/v1/correlations/batch": [({"gold": GOLD, "systems": RANKINGS}, "systems", 2, "/systems", "systems of a batch")],
    "/v1/correlations/matrix": [
        ({"rankings": RANKINGS}, "matrix_cells", 4, "/rankings", "cells of a matrix, rankings times rankings")
    ],
    "/v1/rankings/merged": [({"rankings": RANKINGS}, "systems", 2, "/rankings", "rankings to merge")],
    "/v1/leaderboards/rank-sets": [
        (ESTIMATES, "systems", 3, "/estimates", "estimates"),
        (ESTIMATES, "matrix_cells", 9, "/estimates", "pairs, estimates times estimates"),
        (ESTIMATES, "resamples", 200, "/n_resamples", "resamples"),
    ],
    "/v1/leaderboards": [
        (BOARD, "systems", 2, "/gold_sets", "gold sets"),
        (BOARD, "systems", 2, "/systems", "systems of a batch"),
        (BOARD, "resamples", 300, "/n_resamples", "resamples"),
        (BOARD, "resampled_values", 1_200, "/n_resamples", "values, gold sets times systems times resamples"),
        (BOARD, "matrix_cells", 4, "/gold_sets", "gold sets times systems"),
        (BOARD, "label_bytes", 22, "/gold_sets", LABELS),
    ],
    "/v1/leaderboards/scores": [
        (TABLE, "systems", 2, "/scores", "systems of a batch"),
        (TABLE, "matrix_cells", 4, "/scores", "scores"),
        (TABLE, "resamples", 1_000, "/n_resamples", "resamples"),
        (TABLE, "resampled_values", 2_000, "/n_resamples", "values, systems times resamples"),
    ],
    "/v1/evaluations": [
        (RUNS | {"qrels": {"q": QUERY, "r": QUERY}}, "queries", 2, "/qrels", "queries of an evaluation"),
        (RUNS, "query_documents", 6, "/runs/y", "documents of an evaluation, over qrels, runs and queries"),
        (RUNS, "query_values", 2, "/metrics", "values of an evaluation, queries times runs times metrics"),
        (RUNS, "systems", 2, "/runs", "runs"),
        (RUNS | {"comparison": SHARES}, "resamples", 51, "/comparison/n_resamples", "resamples"),
        (RUNS | {"standardized": SHARES}, "resamples", 51, "/standardized/n_resamples", "resamples"),
    ],
    "/v1/evaluations/fused": [
        (FUSION, "query_documents", 4, "/runs/y", "documents of an evaluation, over qrels, runs and queries"),
        (FUSION, "systems", 2, "/runs", "runs"),
        (FUSION, "label_bytes", 4, "", LABELS),
    ],
    "/v1/evaluations/groups": [
        (GROUPS, "query_documents", 2, "/groups", "comparisons of candidates"),
        (GROUPS, "systems", 2, "/models", "models"),
        (GROUPS | {"n_resamples": 51}, "resamples", 51, "/n_resamples", "resamples"),
    ],
    "/v1/pairings": [
        ({"tokens": SIX_TOKENS}, "items", 6, "/tokens", "tokens"),
        ({"tokens": SHARED_TOKENS}, "items", 15, "/tokens", "pairs of areas that have a token in common"),
        (TWO_AREAS, "items", 10, "/tokens", "pairs of tokens; a sample takes fewer"),
        (TWO_AREAS | {"sample": 6, "seed": 1}, "items", 6, "/sample", "pairs of tokens"),
        ({"tokens": FRUIT}, "label_bytes", 78, "/tokens", LABELS),
    ],
    "/v1/plans": [({"n_items": 990, "presentations": 20}, "items", 990, "/n_items", "items of a plan")],
    "/v1/ballots": [
        (BALLOT | {"items": 6}, "items", 6, "/items", "items of a ballot"),
        (BALLOT | {"items": list("abcdef")}, "items", 6, "/items", "items of a ballot"),
        (BALLOT | {"items": 5, "presentations": 3}, "comparisons", 8, "/presentations", "comparisons of a ballot"),
        (BALLOT | {"voters": 9}, "comparisons", 9, "/voters", "voters of a ballot"),
        (BALLOT | {"voters": list("abcdefghi")}, "comparisons", 9, "/voters", "voters of a ballot"),
        (BALLOT | {"items": ["é" * 249, "bb"], "presentations": 2}, "label_bytes", 1_000, "/items", LABELS),
    ],
    "/v1/scores": [
        (SCORES, "comparisons", 6, "/ballots", "comparisons of all ballots together"),
        (SCORES, "items", 4, "/plan/n_items", "items of a plan"),
        (SCORES, "items", 4, "/items", "items of a ballot"),
    ],
    "/v1/strengths": [
        (VOTES, "comparisons", 5, "/comparisons", "comparisons of a request"),
        ({"comparisons": rows_of(COLUMNS)}, "comparisons", 5, "/comparisons", "comparisons of a request"),
        (VOTES, "items", 4, "/comparisons", "items"),
        ({"comparisons": {"left": [0], "right": [1], "winner": ["tie"]}, "items": 4}, "items", 4, "/items", "items"),
        (VOTES, "label_bytes", 2 * len("king queen stone cabbage") - 6, "/comparisons", LABELS),
    ],
    "/v1/comparisons/next": [
        (NEXT | {"size": 6}, "comparisons", 6, "/size", "comparisons of an answer"),
        (NEXT | {"size": 3}, "label_bytes", 3 * len("cabbage cabbage Ann") - 6, "/size", LABELS),
    ],
    "/v1/simulations": [
        (SIMULATION, "simulated_votes", 3 * 72, "/n_simulations", "votes of all simulations"),
        (ADAPTIVE, "simulated_votes", 3 * 36, "/n_simulations", "votes of all simulations"),
        (UNIFORM, "simulated_votes", 3 * 36, "/n_simulations", "votes of all simulations"),
        (SIMULATION | {"voters": {"n_voters": 6}}, "opinions", 72, "/voters", "opinions, voters times items"),
        (SIMULATION, "comparisons", 36, "/plan", "comparisons of a ballot"),
        (THIRTEEN_ITEMS, "items", 13, "/plan/n_items", "items of a plan"),
        (THIRTEEN_ITEMS, "items", 13, "/similarity", "similarities"),
    ],
}


@pytest.fixture(scope="module")
def client():
    return create_app(Settings(limits=Limits(max_seconds=600.0))).test_client()


@pytest.fixture
def limit_client(client, monkeypatch):
    """A client of one app whose limit is set for each request, because creating an app takes longer than an answer."""
    shared = state(client.application)

    def set_limit(limit, count):
        settings = replace(shared.settings, limits=replace(shared.settings.limits, **{f"max_{limit}": count}))
        monkeypatch.setattr(shared, "settings", settings)
        return client

    return set_limit


@pytest.mark.parametrize(
    ("path", "request_", "limit", "count", "place", "of"),
    [(path, *row) for path, rows in LIMITS.items() for row in rows],
)
def test_a_limit_from_both_sides(limit_client, path, request_, limit, count, place, of):
    answer(path, limit_client(limit, count), **request_)
    result = problem(path, limit_client(limit, count - 1), **request_)
    assert result["errors"][place] == [f"at most {count - 1} {of} (RANKCORR_MAX_{limit.upper()}); got {count}"]
