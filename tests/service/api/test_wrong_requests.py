"""Requests with one error: the example of each operation with a value replaced or a field removed.

Each kind of field is tested in tests/service/schemas; these tests cover the place and the text of errors.
"""

import pytest

from tests.service.answers import POST_PATHS, answer, document, example, make_validator, problem, with_value

LABEL = "a label is text or a whole number; got "
EMPTY = "a label must not be empty"
NO_VOTE = 'must be one of "left", "right", "tie", or null for no answer; got '
FORM = "/ballots/0/comparisons/0"
TOKEN = {"token": "a", "area": "x"}
ROW = {"left": "a", "right": "b", "winner": "left"}

# Path -> place of the value, the value, text of the error, and place of the error if different
WRONG_VALUES = {
    "/v1/correlations": [
        ("/n0", True, "must be a number above -1 and of at most 1e+300; got true"),
        ("/weigher", "square", "unknown weigher 'square': use one of hyperbolic, logarithmic, top-k:K"),
        ("/weigher", 3, "must be the name of a weigher; got 3"),
        ("/scheme", "last", 'must be one of "additive", "multiplicative", "first", "second"; got "last"'),
        ("/coefficients", "tau", 'must be a list of some of "rho_w"'),
        ("/coefficients", ["tau", "x"], 'must be one of "rho_w", "tau_w", "rho", "tau"; got "x"', "/coefficients/1"),
        ("/coefficients", ["tau", "tau"], "entries must not repeat"),
        ("/inference", {}, "this field is needed", "/inference/seed"),
        ("/inference", {"seed": 1, "level": 1}, "of at least 1e-06 and of at most", "/inference/level"),
        ("/inference", {"seed": 1, "method": "basic"}, '"envelope", "percentile"; got "basic"', "/inference/method"),
        ("/inference", {"seed": 1, "workers": 2}, "unknown field", "/inference/workers"),
        ("/inference", 3, "must be an object"),
    ],
    "/v1/ballots": [
        ("/items", 1, "must be a whole number of at least 2; got 1"),
        ("/items", True, "must be a number of items, or a list of labels; got true"),
        ("/items", {"fig": 1}, 'must be a number of items, or a list of labels; got {"fig": 1}'),
        ("/items", None, "this field may not be null"),
        ("/items", ["fig"], "must be at least 2 items; got 1"),
        ("/items", ["fig", 1.5], f"{LABEL}1.5", "/items/1"),
        ("/items", ["fig", ""], EMPTY, "/items/1"),
        ("/voters", ["", "v"], EMPTY, "/voters/0"),
        ("/items", ["fig", "kiwi", "fig"], "items must be unique; more than once: 'fig'"),
        ("/voters", 0, "must be a whole number of at least 1; got 0"),
        ("/voters", [], "must be at least 1 voter; got 0"),
        ("/presentations", 2**53, "at most 500000 comparisons of a ballot (RANKCORR_MAX_COMPARISONS); got "),
        ("/seed", 2**63, "of at most 9223372036854775807; got 9223372036854775808"),
        ("/number", 10_001, "must be a whole number of at least 1 and of at most 10000; got 10001"),
        ("/ballot", 1, "unknown field"),
    ],
    "/v1/comparisons/next": [
        ("/size", 1.5, "must be a whole number of at least 1"),
        ("/n0", -1, "must be a number above -1"),
        ("/voters", ["v", ""], EMPTY, "/voters/1"),
        ("/prompts", [""], EMPTY, "/prompts/0"),
        ("/focus", "nan", 'must be a number of at least 0 and of at most 1; got "nan"'),
        ("/standard_errors", True, "unknown field"),
    ],
    "/v1/plans": [
        ("/n_items", "990", 'must be a whole number of at least 2; got "990"'),
        ("/n_ballots", 10_001, "must be a whole number of at least 2 and of at most 10000; got 10001"),
        ("/fraction", 1, "must be a number above 0 and below 1; got 1"),
        ("/presentations", 2**53 + 1, "of at most 9007199254740992; got 9007199254740993"),
        ("/seconds_per_comparison", 1.1e9, "above 0 and of at most 1000000000; got 1100000000.0"),
        ("/ballots", 7, "unknown field"),
    ],
    "/v1/pairings": [
        ("/tokens", "a,x", 'must be a list of at least 2 tokens; got "a,x"'),
        ("/tokens", [TOKEN], "must be a list of at least 2 tokens; got [{"),
        ("/tokens", [TOKEN, ["b", "x"]], 'must be an object; got ["b", "x"]', "/tokens/1"),
        ("/tokens", [TOKEN, {"token": "b"}], "this field is needed", "/tokens/1/area"),
        ("/tokens", [{**TOKEN, "count": 1}, {}], "unknown field", "/tokens/0/count"),
        ("/tokens", [{**TOKEN, "token": 1}, {}], "must be a text that is not empty; got 1", "/tokens/0/token"),
        ("/tokens", [{**TOKEN, "frequency": -1}, {}], "a number of at least 0; got -1", "/tokens/0/frequency"),
        ("/sample", 0, "must be a whole number of at least 1; got 0"),
        ("/across_areas", "yes", 'must be true or false; got "yes"'),
    ],
    "/v1/scores": [
        ("/plan", 4, "must be an object"),
        ("/plan/n_comparisons", 6, "unknown field"),
        ("/items", ["king", "queen", "stone", "king"], "items must be unique; more than once: 'king'"),
        ("/ballots", None, "this field may not be null"),
        ("/ballots", {}, "must be a list of ballots, at least one; got {"),
        ("/ballots/0", [], "must be an object; got []"),
        ("/ballots/0", {}, "this field is needed", "/ballots/0/comparisons"),
        ("/ballots/0/number", 1, "unknown field"),
        ("/ballots/0/comparisons", [], "at least one; got []"),
        (FORM, "king", 'must be an object; got "king"'),
        (FORM, {"left": [], "right": []}, "this field is needed", f"{FORM}/votes"),
        (f"{FORM}/vote", [], "unknown field"),
        (f"{FORM}/voter", None, f"{LABEL}null"),
        (f"{FORM}/voter", "", EMPTY),
        (f"{FORM}/left/0", "", EMPTY),
        (f"{FORM}/left", "king", 'must be a list of labels; got "king"'),
        (f"{FORM}/votes", "left", 'must be a list of votes; got "left"'),
        (f"{FORM}/votes/1", "up", f'{NO_VOTE}"up"'),
    ],
    "/v1/simulations": [
        ("/plan/presentations", 0, "must be a whole number of at least 1"),
        ("/voters", 100, "must be an object"),
        ("/voters/nonconformity", 0.1, "a list of the least and the largest; got 0.1"),
        ("/voters/oversight", [0, 1.5], "of at least 0 and of at most 1; got 1.5", "/voters/oversight/1"),
        ("/voters/amplitude", 1, "unknown field"),
        ("/similarity", "power-law", 'must be one of "exponential", "power_law", "embedding"; got'),
        ("/similarity", 0.5, '"embedding" or a list of numbers; got 0.5'),
        ("/similarity", [0.5], "must be a similarity for each of at least 2 items; got 1"),
        ("/similarity", [True, 0.5], "of at least -1 and of at most 1; got true", "/similarity/0"),
        ("/approaches", ["both"], 'must be one of "adaptive", "uniform"; got "both"', "/approaches/0"),
        ("/workers", 2, "unknown field"),
    ],
    "/v1/strengths": [
        ("/model", "borda", 'must be one of "bradley-terry", "thurstone"; got "borda"'),
        ("/prior", 1, "unknown field"),
        ("/options", [], "must be an object"),
        ("/options/ties", "both", 'must be one of "davidson", "half"; got "both"'),
        ("/options/oversight", 0.5, "number: 0, or of at least 1e-06 and below 0.5; got 0.5"),
        ("/options/prior", 0, "must be a number of at least 0.001 and of at most 100; got 0"),
        ("/comparisons", "king", 'must be an object of columns, or a list of comparisons; got "king"'),
        ("/comparisons/vote", [], "unknown field"),
        ("/comparisons/left", "king", 'must be a list of labels; got "king"'),
        ("/comparisons/right/0", True, f"{LABEL}true"),
        ("/comparisons/voter/2", None, f"{LABEL}null"),
        ("/comparisons/left/1", "", EMPTY),
        ("/comparisons/voter/0", "", EMPTY),
        ("/comparisons/winner", "left", 'must be a list of votes; got "left"'),
        ("/comparisons/winner/3", "up", f'{NO_VOTE}"up"'),
        ("/comparisons", [ROW, 1], "must be an object; got 1", "/comparisons/1"),
        ("/comparisons", [ROW, {**ROW, "winner": "LEFT"}], f'{NO_VOTE}"LEFT"', "/comparisons/1/winner"),
        ("/comparisons", [ROW, {**ROW, "left": None}], LABEL, "/comparisons/1/left"),
        ("/comparisons", [ROW, {**ROW, "right": ""}], EMPTY, "/comparisons/1/right"),
        ("/comparisons", [{**ROW, "prompt": ""}], EMPTY, "/comparisons/0/prompt"),
        ("/comparisons", [ROW, {**ROW, "id": 7}], "unknown field", "/comparisons/1/id"),
    ],
}


@pytest.mark.parametrize(
    ("path", "place", "value", "message", "pointer"),
    [(path, *row[:3], row[-1] if len(row) > 3 else row[0]) for path, rows in WRONG_VALUES.items() for row in rows],
)
def test_a_wrong_field_is_named(path, place, value, message, pointer):
    request = with_value(example(path), place, value)
    result = problem(path, **request)
    assert list(result["errors"]) == [pointer]
    assert message in result["errors"][pointer][0]
    assert not make_validator(path, "request").is_valid(request)


def required_fields():
    for path in POST_PATHS:
        content = document()["paths"][path]["post"]["requestBody"]["content"]
        name = content["application/json"]["schema"]["$ref"].rpartition("/")[2]
        yield from ((path, field) for field in document()["components"]["schemas"][name].get("required", ()))


@pytest.mark.parametrize(("path", "name"), [*required_fields()])
def test_a_required_field_is_named(path, name):
    request = {key: value for key, value in example(path).items() if key != name}
    assert problem(path, **request)["errors"] == {f"/{name}": ["this field is needed"]}


@pytest.mark.parametrize("path", POST_PATHS)
def test_the_same_request_has_the_same_answer(make_client, path):
    assert answer(path, make_client(), **example(path)) == answer(path, **example(path))


@pytest.mark.parametrize("path", POST_PATHS)
def test_a_body_that_is_not_an_object(client, path):
    result = client.post(path, json=[1])
    assert (result.status_code, result.json["errors"]) == (422, {"": ["must be an object"]})
