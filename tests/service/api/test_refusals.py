"""Requests with valid fields that are refused: fields that contradict each other, and errors of the library.

Invalid fields are tested in `test_wrong_requests`, limits in `test_limits`.
"""

import pytest

from tests.service.answers import GOLD, SYSTEM, example, make_validator, problem, with_value
from tests.service.api.test_evaluations import BODY
from tests.service.api.test_strengths import COLUMNS, rows_of
from tests.service.test_schemas import BEYOND_SCHEMAS

FORM = "/ballots/0/comparisons/0"
WEIGHTS = {"gold": GOLD, "n0": 2, "weigher": "uniform"}
TWO_WEIGHTS = "give n0 or weigher, not both: n0 is the offset of the weight 1/(n + n0)^2"
SIZES = {"n_items": 990, "n_ballots": 7, "fraction": 0.5}
ONE_WAY = "exactly one of presentations, comparisons, budget, hours, top_presentations is needed; got"
FRUIT = [{"token": token, "area": "fruit"} for token in ("apple", "pear", "plum")]
ROWS = rows_of(COLUMNS)
ANONYMOUS_ROWS = [{key: row[key] for key in ("left", "right", "winner")} for row in ROWS]
SELF_COMPARISON = {"left": "a", "right": "a", "winner": None}
SCORES, STRENGTHS, SIMULATION = (example(f"/v1/{name}") for name in ("scores", "strengths", "simulations"))
BOARD = {"systems": {"a": {"scores": [1, 2]}}, "seed": 1}
GOLDS = {"gold": {"scores": [1, 2]}, "gold_sets": {"a": {"scores": [1, 2]}}}


def invalid_case(request, pointer, value, message):
    """A request with another value, and the place of the error."""
    return with_value(request, pointer, value), pointer, message


# Path -> request, place of the error, and its full text
BAD_REQUESTS = {
    "/v1/correlations": [(WEIGHTS | {"system": SYSTEM}, "/weigher", TWO_WEIGHTS)],
    "/v1/correlations/batch": [(WEIGHTS | {"systems": {"x": SYSTEM}}, "/weigher", TWO_WEIGHTS)],
    "/v1/leaderboards": [
        (BOARD, "", "exactly one of gold, gold_sets is needed; got none"),
        (BOARD | GOLDS, "", "exactly one of gold, gold_sets is needed; got: 'gold', 'gold_sets'"),
    ],
    "/v1/pairings": [
        ({"tokens": FRUIT, "sample": 2}, "/seed", "this field is needed: seed and sample belong together"),
        ({"tokens": FRUIT, "seed": 2}, "/sample", "this field is needed: sample and seed belong together"),
    ],
    "/v1/plans": [
        (SIZES, "", f"{ONE_WAY} none"),
        (SIZES | {"presentations": 20, "comparisons": 20_000}, "", f"{ONE_WAY}: 'presentations', 'comparisons'"),
        (
            SIZES | {"top_presentations": 100, "hours": 40, "comparisons": 9},
            "",
            f"{ONE_WAY}: 'comparisons', 'hours', 'top_presentations'",
        ),
        (SIZES | {"hours": 40}, "/seconds_per_comparison", "this field is needed: the budget is of hours"),
    ],
    "/v1/scores": [
        invalid_case(SCORES, "/items", 5, "the plan is for 4 items; got 5"),
        invalid_case(SCORES, "/items", ["a", "b", "c"], "the plan is for 4 items; got 3"),
        invalid_case(SCORES, "/ballots", SCORES["ballots"] * 3, "the plan has 2 ballots; got 3"),
        (
            with_value(SCORES, f"{FORM}/votes", ["left"]),
            f"{FORM}/left",
            "1 vote needs as many items on each side; got 2",
        ),
        invalid_case(SCORES, f"{FORM}/right", ["queen"], "2 votes need as many items on each side; got 1"),
    ],
    "/v1/strengths": [
        invalid_case(STRENGTHS, "/comparisons/left", ["king"], "5 winners need as many entries here; got 1"),
        invalid_case(STRENGTHS, "/comparisons/voter", [], "5 winners need as many entries here; got 0"),
        (
            {"comparisons": [*ANONYMOUS_ROWS, ROWS[0]]},
            "/comparisons/5/voter",
            "either all comparisons have a voter or none; the first has none",
        ),
        ({"comparisons": [*ROWS, ANONYMOUS_ROWS[0]]}, "/comparisons/5/voter", "this field is needed"),
        (
            {"comparisons": [SELF_COMPARISON]},
            "/comparisons",
            "must have at least 2 items, or there must be a list of items; got 1",
        ),
        (
            {"comparisons": ANONYMOUS_ROWS, "options": {"voters": True}},
            "/options/voters",
            "voters can be fitted only if each comparison has one",
        ),
        (
            {"comparisons": ROWS, "model": "thurstone", "options": {"ties": "half"}},
            "/options/ties",
            "thurstone does not have this option",
        ),
    ],
    "/v1/simulations": [
        (
            SIMULATION | {"voters": {"nonconformity": [0.2, 0.1]}},
            "/voters/nonconformity",
            "must be the least, then the largest; got [0.2, 0.1]",
        ),
        invalid_case(SIMULATION, "/similarity", [0.5, 0.1], "the plan has 40 items; got 2 numbers"),
    ],
}


@pytest.mark.parametrize(
    ("path", "request_", "pointer", "message"), [(path, *row) for path, rows in BAD_REQUESTS.items() for row in rows]
)
def test_contradicting_fields_are_refused(path, request_, pointer, message):
    assert problem(path, **request_)["errors"] == {pointer: [message]}
    assert make_validator(path, "request").is_valid(request_)
    assert BEYOND_SCHEMAS.search(f"{pointer}: {message}")


ESTIMATES = {"estimates": {"a": 1, "b": 2}, "seed": 1}
TABLE = {"scores": {"a": {"x": 1, "y": 2}, "b": {"x": 2, "y": 1}}, "seed": 1}
OTHER_LABELS = {"order": ["king", "queen", "stone", "leaf"]}
SCORE_SWAP = {"gold": {"scores": [2, 1], "labels": ["0", "1"]}, "seed": 1, "swap": "scores"}
SCORES_OF_TWO = {"scores": [2, 1], "labels": ["0", "1"]}
NO_SCORES = '"swap": "scores" exchanges scores, but system \'b\' has only ranks; give its scores'

GROUPS = {
    "groups": [{"target": "oak", "candidates": {"tree": "positive", "plant": "positive"}, "comparisons": []}],
    "seed": 1,
}

# Path -> request, kind of the problem (the class of the library's error), and a part of its text
LIBRARY_CASES = {
    "/v1/correlations": [
        ({"gold": GOLD, "system": OTHER_LABELS}, "label-mismatch", "gold only: 'cabbage'; labels in system only")
    ],
    "/v1/leaderboards": [
        (BOARD | {"gold_sets": GOLDS["gold_sets"], "by": "third"}, "option", "by must be one of 'sum', 'mean', 'a'"),
        (SCORE_SWAP | {"systems": {"a": SCORES_OF_TWO, "b": {"ranks": {"0": 1, "1": 2}}}}, "option", NO_SCORES),
    ],
    "/v1/rankings/merged": [
        ({"rankings": {"x": GOLD, "y": OTHER_LABELS}}, "label-mismatch", 'accept them with "missing": "intersection"'),
        ({"rankings": {"x": GOLD}, "k": 2}, "option", "k is an option of reciprocal_rank_fusion; borda does not have"),
    ],
    "/v1/leaderboards/rank-sets": [
        (ESTIMATES | {"standard_errors": {"a": 1}}, "label-mismatch", "'b'"),
        (ESTIMATES | {"covariance": [[1, 2], [0, 1]]}, "option", "a covariance matrix must be finite and symmetric"),
    ],
    "/v1/leaderboards/scores": [
        (TABLE | {"groups": {"x": "g"}}, "option", "every task needs a group; without one: 'y'"),
        ({"scores": {"a": {"x": 1}, "b": {"y": 2}}, "seed": 1}, "missing-value", 'accept them with "missing": '),
        ({"scores": {"a": {"x": 1}, "b": {"x": 2}}, "seed": 1}, "too-few-items", "at least two tasks; got 1"),
    ],
    "/v1/evaluations": [
        (BODY | {"runs": {"x": {"z": {"a": 1}}}}, "query-mismatch", "the run share no query; qrels have 'q'"),
        (BODY | {"comparison": {"seed": 1, "groups": {"z": "a"}}}, "option", "every query of qrels needs a group"),
    ],
    "/v1/evaluations/fused": [
        ({"runs": {"x": {"q": {"a": 1}}, "y": {"z": {"a": 1}}}}, "query-mismatch", "lacks queries of other runs: ")
    ],
    "/v1/evaluations/groups": [
        (GROUPS | {"models": {"m": {"ash": {"tree": 1}}}}, "unknown-word", "none of the 0 pairs of target")
    ],
    "/v1/pairings": [({"tokens": [{"token": t, "area": t} for t in "ab"]}, "token", "has one token, ")],
    "/v1/plans": [
        (SIZES | {"n_ballots": 9, "presentations": 20, "n_items": 20}, "plan", "every ballot needs at least two items")
    ],
    "/v1/scores": [
        (with_value(SCORES, f"{FORM}/left/0", "kings"), "vote", "ballot 1: the plan has no such items: 'kings'")
    ],
    "/v1/strengths": [
        (with_value(STRENGTHS, "/comparisons/right/0", "king"), "comparison", "'king' is compared with itself")
    ],
    "/v1/simulations": [
        (with_value(SIMULATION, "/plan/n_ballots", 9), "plan", "every ballot needs at least two items")
    ],
}


@pytest.mark.parametrize(
    ("path", "request_", "kind", "message"), [(path, *row) for path, rows in LIBRARY_CASES.items() for row in rows]
)
def test_an_error_of_the_library_keeps_its_class(path, request_, kind, message):
    result = problem(path, **request_)
    assert result["type"] == f"urn:rankcorr:problem:{kind}"
    assert message in result["detail"]
    assert "errors" not in result
