"""Pairings over HTTP are the library's, within limits, and every field is as strict as its documentation."""

import warnings

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from adaptive import FewRareTokensWarning, pair_tokens
from tests.service.answers import answer, example

PATH = "/v1/pairings"
FRUIT = [("apple", "fruit"), ("pear", "fruit"), ("plum", "fruit"), ("oak", "tree"), ("pine", "tree")]


def as_tokens(rows):
    return [dict(zip(("token", "area", "frequency"), row, strict=False)) for row in rows]


def as_answer(pairing, messages=()):
    return {
        "n_items": pairing.n_items,
        **pairing.to_dict(),
        "warnings": [{"message": message, "coefficients": []} for message in messages],
    }


def paired(rows, **options):
    """The library's pairing as an answer."""
    with warnings.catch_warnings(record=True, action="always", category=FewRareTokensWarning) as caught:
        pairing = pair_tokens(rows, **options)
    return as_answer(pairing, [str(warning.message) for warning in caught])


def test_the_example():
    request = example(PATH)
    rows = [(token["token"], token["area"]) for token in request["tokens"]]
    assert answer(PATH, **request) == paired(rows, sample=3, rng=np.random.default_rng(1))


def test_all_pairs_of_each_area():
    found = answer(PATH, tokens=as_tokens(FRUIT))
    pairs = [(item["item_1"], item["item_2"], item["area"]) for item in found["items"]]
    assert pairs == [
        *(("apple", "pear", "fruit"), ("apple", "plum", "fruit"), ("pear", "plum", "fruit")),
        ("oak", "pine", "tree"),
    ]
    assert (found["n_items"], found["n_admissible"], found["rare_tokens"], found["warnings"]) == (4, 4, None, [])
    assert "rare" not in found["items"][0]


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=2, unique=True),
    st.sampled_from([None, 1.0, 100.0]),
    st.booleans(),
    st.none() | st.integers(0, 99),
)
def test_every_pairing_is_the_library_call(texts, frequency, across, seed):
    rows = [(text, "x", *([] if frequency is None else [0.5 + place * frequency])) for place, text in enumerate(texts)]
    options = {} if seed is None else {"sample": 1}
    rng = {} if seed is None else {"rng": np.random.default_rng(seed)}
    sent = {} if seed is None else {"seed": seed}
    expected = paired(rows, across_areas=across, **options, **rng)
    assert answer(PATH, tokens=as_tokens(rows), across_areas=across, **options, **sent) == expected


def test_an_item_is_rare_if_one_of_its_tokens_is():
    found = answer(PATH, tokens=as_tokens([("a", "x", 1), ("b", "x", 100), ("c", "x", 100)]))
    assert found["rare_tokens"] == ["a"]
    assert [item["rare"] for item in found["items"]] == [True, True, False]


def test_few_rare_tokens_are_a_warning_of_the_answer():
    found = answer(PATH, tokens=as_tokens([("a", "x", 5), ("b", "x", 5)]))
    (warning,) = found["warnings"]
    assert warning["message"].startswith("0 of 2 tokens are rare")


def test_items_across_areas_may_have_none():
    found = answer(PATH, tokens=as_tokens([("a", "x"), ("b", "y")]), across_areas=True)
    assert found["items"] == [{"item_1": "a", "item_2": "b", "area": None}]


def test_a_token_of_several_areas_counts_once_across_areas(make_client):
    rows = [("a", "x"), ("b", "x"), ("a", "y"), ("c", "y")]
    assert answer(PATH, make_client(max_items=4), tokens=as_tokens(rows), across_areas=True)["n_items"] == 3
