"""Fields accept exactly the documented values: rankings, weights, and all others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from marshmallow import ValidationError

from adaptive._budget import PlanOptions
from rankcorr import Logarithmic, Ranking, TopK, Uniform, weighted_rho, weighted_tau
from service.api.simulations import Interval
from service.schemas.fields import (
    ByName,
    Choice,
    ChoiceList,
    Flag,
    ListOf,
    Number,
    Seed,
    Text,
    Vocabulary,
    Whole,
    declared_field,
)
from tests.service.answers import GOLD, SYSTEM, post, problem_of

LETTER = Vocabulary("Letter", {"type": "string", "enum": ["a", "b"]})
COMPONENTS = {"components": {"schemas": {LETTER.name: LETTER.schema}}}
FIELDS = [
    Number(),
    Number(above=-1, most=10),
    Number(least=0, most=1),
    Whole(),
    Whole(least=1, most=5),
    Seed(),
    declared_field(PlanOptions, "fraction"),
    Flag(),
    Choice(LETTER),
    ChoiceList(LETTER),
    Text(),
    Text(least=0),
    ListOf(Text(), "1 or 2 texts", least=1, most=2),
    ByName(Number(), "number", least=2, is_named=True),
    Interval(most=1),
]
NUMBERS = st.sampled_from([-1, 0, 1, 5, 10, 1.0, 0.5, 1.5, -0.0]) | st.integers(-3, 12) | st.floats(-2, 11)
PLAIN = NUMBERS | st.sampled_from(["a", "b", "", "1", True, False])
VALUES = PLAIN | st.lists(st.sampled_from(["a", "b", "c"]) | NUMBERS, max_size=3) | st.dictionaries(st.text(), PLAIN)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field.documented))
@given(value=VALUES)
def test_a_field_is_as_strict_as_its_documentation(field, value):
    documented = Draft202012Validator({**field.documented, **COMPONENTS}).is_valid(value)
    if isinstance(field, Interval) and documented:
        documented = value[0] <= value[1]  # which a JSON Schema cannot express
    try:
        field.read(value)
    except ValidationError:
        assert not documented
    else:
        assert documented


@pytest.mark.parametrize(
    "ranking",
    [
        {"scores": {"a": 3, "b": 2, "c": 2}},
        {"scores": [3, 2, 2], "labels": ["a", "b", "c"]},
        {"ranks": {"a": 1, "b": 2, "c": 2}},
        {"ranks": [1, 2.5, 2.5], "labels": ["a", "b", "c"]},
        {"order": ["a", ["b", "c"]]},
        {"order": [["a"], ["c", "b"]]},
    ],
)
def test_all_schemas_of_a_ranking_give_the_same_ranking(ranking):
    gold = {"scores": {"b": 0.5, "a": 0.75, "c": 0.25}}
    expected = weighted_tau({"b": 0.5, "a": 0.75, "c": 0.25}, Ranking.from_order(["a", ["b", "c"]]))
    assert post(gold=gold, system=ranking).json["coefficients"]["tau_w"] == expected.statistic


def test_labels_may_be_whole_numbers():
    answer = post(gold={"order": [7, 8, 9]}, system={"ranks": [3, 2, 1], "labels": [7, 8, 9]})
    assert answer.json["coefficients"]["tau"] == -1


@pytest.mark.parametrize(
    ("ranking", "pointer", "message"),
    [
        (None, "/system", "this field may not be null"),
        ([1, 2], "/system", 'must be an object with one of the keys "scores", "ranks" and "order"; got [1, 2]'),
        ({}, "/system", "is needed; got none, but []"),
        ({"score": [1, 2]}, "/system", 'is needed; got none, but ["score"]'),
        ({"scores": [1, 2], "ranks": [1, 2]}, "/system", 'is needed; got both "scores" and "ranks"'),
        ({"scores": [1, 2], "extra": 1}, "/system/extra", "unknown field"),
        ({"scores": "12"}, "/system/scores", 'must be an object of label to number, or an array of numbers; got "12"'),
        ({"order": {"a": 1}}, "/system/order", 'must be an array; got {"a": 1}'),
        ({"scores": [1, "2"]}, "/system/scores/1", 'must be a number; got "2"'),
        ({"scores": {"a": 1, "b/c~": [2]}}, "/system/scores/b~1c~0", "must be a number; got [2]"),
        ({"scores": [1]}, "/system/scores", "a ranking needs at least two items; got 1"),
        ({"scores": [1, 2], "labels": ["a"]}, "/system/labels", "every item needs one label; got 1 labels for 2"),
        ({"scores": [1, 2], "labels": ["a", "a"]}, "/system/labels", "labels must be unique; more than once: 'a'"),
        ({"scores": [1, 2], "labels": ["a", 1.5]}, "/system/labels/1", "a label is text or a whole number; got 1.5"),
        ({"scores": [1, 2], "labels": ["a", None]}, "/system/labels/1", "a label is text or a whole number; got null"),
        ({"scores": [1, 2], "labels": None}, "/system/labels", "must be a list of labels; got null"),
        ({"scores": {"a": 1, "b": 2}, "labels": ["a", "b"]}, "/system/labels", "the keys of the object are the labels"),
        ({"order": ["a", "b"], "labels": ["a", "b"]}, "/system/labels", "an order is made of labels"),
        ({"order": ["a", []]}, "/system/order", "order[1] is an empty group of ties"),
        ({"order": ["a", {"b": 1}]}, "/system/order/1", "must be a label (text or whole number) or a list of tied"),
        ({"order": ["a", ["b", ["c"]]]}, "/system/order/1/1", 'a label is text or a whole number; got ["c"]'),
        ({"order": ["a", ["b", "a"]]}, "/system/order", "labels must be unique; more than once: 'a'"),
        ({"order": []}, "/system/order", "a ranking needs at least two items; got 0"),
    ],
)
def test_invalid_rankings_are_refused(ranking, pointer, message):
    result = problem_of(post(gold=GOLD, system=ranking))
    assert result["type"] == "urn:rankcorr:problem:invalid-request"
    ((place, messages),) = result["errors"].items()
    assert place == pointer
    assert message in messages[0]
    assert f"{pointer}: " in result["detail"]


def test_empty_groups_of_ties_count_as_items(make_client):
    client = make_client(max_items=3)
    answer = client.post("/v1/correlations", json={"gold": {"order": [[], [], [], []]}, "system": {"order": [1, 2]}})
    assert "at most 3 items of a ranking (RANKCORR_MAX_ITEMS); got 4" in answer.json["detail"]


def test_every_wrong_field_is_named_at_once():
    assert list(problem_of(post(system=3, n0="x", extra=1))["errors"]) == ["/n0", "/gold", "/system", "/extra"]


def test_weighers_by_name():
    for name, weigher in [("logarithmic", Logarithmic()), ("uniform", Uniform()), ("top-k:2", TopK(2))]:
        answer = post(gold=GOLD, system=SYSTEM, weigher=name, coefficients=["rho_w"])
        expected = weighted_rho(GOLD["scores"], Ranking.from_order(SYSTEM["order"]), weigher=weigher)
        assert answer.json["coefficients"]["rho_w"] == expected.statistic


@pytest.mark.parametrize("weigher", ["top-k:010", "top-k:0", "top-k:" + "9" * 19, "top-k: 1", "top-k:1\n"])
def test_an_undocumented_form_of_a_weigher_is_refused(client, weigher):
    answer = client.post("/v1/correlations", json={"gold": GOLD, "system": SYSTEM, "weigher": weigher})
    assert list(answer.json["errors"]) == ["/weigher"]
