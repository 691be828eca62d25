"""The ways to write a ranking, and what is refused as one."""

import pytest

from rankcorr import Ranking, weighted_tau
from tests.service.answers import GOLD, posted, problem_of


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
def test_the_ways_to_write_a_ranking_mean_the_same(ranking):
    gold = {"scores": {"b": 0.5, "a": 0.75, "c": 0.25}}
    expected = weighted_tau({"b": 0.5, "a": 0.75, "c": 0.25}, Ranking.from_order(["a", ["b", "c"]]))
    assert posted(gold=gold, system=ranking).json["coefficients"]["tau_w"] == expected.statistic


def test_labels_may_be_whole_numbers():
    answer = posted(gold={"order": [7, 8, 9]}, system={"ranks": [3, 2, 1], "labels": [7, 8, 9]})
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
def test_rankings_that_are_refused(ranking, pointer, message):
    found = problem_of(posted(gold=GOLD, system=ranking))
    assert found["type"] == "urn:rankcorr:problem:invalid-request"
    ((place, messages),) = found["errors"].items()
    assert place == pointer
    assert message in messages[0]
    assert f"{pointer}: " in found["detail"]


def test_empty_groups_of_ties_count_as_items(make_client):
    client = make_client(max_items=3)
    answer = client.post("/v1/correlations", json={"gold": {"order": [[], [], [], []]}, "system": {"order": [1, 2]}})
    assert "at most 3 items of a ranking (RANKCORR_MAX_ITEMS); got 4" in answer.json["detail"]
