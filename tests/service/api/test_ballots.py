"""Ballots over HTTP are the library's: balanced, in display order, reproducible by seed."""

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from adaptive import DrawError, draw_ballot
from adaptive._protocol import ballot_rng
from tests.service.answers import answer, problem

PATH = "/v1/ballots"

COUNTS = st.integers(2, 12)
LABELS = st.lists(st.text(min_size=1, max_size=3) | st.integers(-5, 5), min_size=2, max_size=12, unique_by=str)


def rows(ballot):
    """Comparisons of each voter, in the order of the ballot."""
    result = {voter: [] for voter in ballot.voters}
    for left, right, voter in zip(ballot.left, ballot.right, ballot.voter, strict=True):
        result[ballot.voters[voter]].append((ballot.items[left], ballot.items[right]))
    return result


@given(
    COUNTS | LABELS,
    st.integers(1, 15),
    st.integers(1, 5) | LABELS,
    st.integers(0, 2**63 - 1),
    st.none() | st.integers(1, 10_000),
)
@example(["fig", "kiwi", "pear"], 1, 1, 3, None)  # one item is presented once more than the others
def test_every_ballot_is_that_of_the_library(items, presentations, voters, seed, number):
    request = {"items": items, "presentations": presentations, "voters": voters, "seed": seed}
    result = answer(PATH, **request, **({} if number is None else {"number": number}))
    ballot = draw_ballot(items, presentations, voters, ballot_rng(seed, number or 1, "draw"))
    assert result["number"] == (number or 1)
    assert result["n_comparisons"] == ballot.n_comparisons
    assert [one["voter"] for one in result["comparisons"]] == list(ballot.voters)
    pairs = {one["voter"]: list(zip(one["left"], one["right"], strict=True)) for one in result["comparisons"]}
    assert pairs == rows(ballot)
    expected = asdict(ballot.certificate())
    one_more = expected.pop("item_with_one_more")
    certificate = result["certificate"]
    assert certificate.pop("broken") == []
    assert certificate.pop("item_with_one_more") == (None if one_more is None else ballot.items[one_more])
    assert certificate == expected


def test_a_number_and_its_text_are_one_label():
    request = {"items": [1, "1"], "presentations": 1, "voters": 2, "seed": 1}
    detail = "/items: items differ only in their types: '1'; write all in one way, such as text"
    assert problem(PATH, **request)["detail"] == detail


def test_errors_that_only_the_library_detects(make_client):
    """More items than a ballot can have, if the limits allow them."""
    client = make_client(max_items=2**40, max_comparisons=2**40, max_seconds=86_400)
    request = {"items": 2**30, "presentations": 1, "voters": 1, "seed": 1}
    with pytest.raises(DrawError, match="a ballot holds at most") as raised:
        draw_ballot(2**30, 1, 1, np.random.default_rng(1))
    result = problem(PATH, client, **request)
    assert (result["type"], result["detail"]) == ("urn:rankcorr:problem:draw", str(raised.value))
