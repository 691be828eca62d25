"""Comparisons selected, joined and written: what is left, and what comes out."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from adaptive import ComparisonError, Comparisons
from tests.adaptive.model.votes import LABELS, WORDS, comparisons, rows_of, small

ANN, BOB = "Ann", "Bob"


@given(comparisons(), st.data())
def test_a_mask_and_its_indices_select_alike(votes, data):
    kept = st.lists(st.booleans(), min_size=votes.n_comparisons, max_size=votes.n_comparisons)
    mask = np.array(data.draw(kept), bool)
    some = votes.select(mask)
    assert some == votes.select(np.flatnonzero(mask)) == votes.select(np.flatnonzero(mask).tolist())
    assert rows_of(some) == [row for row, kept in zip(rows_of(votes), mask, strict=True) if kept]
    assert (some.items, some.voters, some.n_unanswered) == (votes.items, votes.voters, 0)
    assert not some.left.flags.writeable
    assert sorted(rows_of(some.joined(votes.select(~mask)))) == sorted(rows_of(votes))


@given(comparisons(min_size=1), st.data())
def test_comparisons_may_be_drawn_again(votes, data):
    indices = data.draw(st.lists(st.integers(0, votes.n_comparisons - 1), max_size=20))
    assert rows_of(votes.select(indices)) == [rows_of(votes)[index] for index in indices]


@given(comparisons(voters=True))
def test_a_voter_is_left_out(votes):
    for voter in votes.voters:
        others = votes.without_voter(voter)
        assert rows_of(others) == [row for row in rows_of(votes) if row[0] != voter]
        assert (others.items, others.voters) == (votes.items, votes.voters)


@given(comparisons(), comparisons())
def test_joining_adds_up(first, then):
    items = max(first.items, then.items, key=len)
    first, then = replace(first, items=items, n_unanswered=2), replace(then, items=items, n_unanswered=3)
    if (first.voter is None) != (then.voter is None):
        with pytest.raises(ComparisonError, match="name voters in both sets of votes, or in neither"):
            first.joined(then)
        return
    both = first.joined(then)
    assert rows_of(both) == rows_of(first) + rows_of(then)
    assert_array_equal(both.wins, first.wins + then.wins)
    assert both.n_unanswered == 5
    columns = (both.left, both.right, both.winner, both.voters, both.voter)
    assert both == Comparisons(both.items, *columns, both.n_unanswered)


def test_joining_keeps_the_order_of_voters():
    first, then = small(voters=(ANN, BOB)), small(voters=("Zoe", BOB))
    both = first.joined(then)
    assert (both.voters, both.voter.tolist()) == ((ANN, BOB, "Zoe"), [0, 1, 2, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda votes: votes.select([True]), "a mask needs 2 entries, one for each comparison; got 1"),
        (lambda votes: votes.select([0, 2]), "the 2 comparisons have the indices from 0 to 1; got 2"),
        (lambda votes: votes.select([-1]), "indices from 0 to 1; got -1"),
        (lambda votes: votes.select([0.0]), r"select takes a mask or indices; got float64 of shape \(1,\)"),
        (lambda votes: votes.select([[0]]), r"got int64 of shape \(1, 1\)"),
        (lambda votes: votes.without_voter("Zoe"), r"^voter: 'Zoe' is not one of the 2 voters"),
        (lambda votes: votes.without_voter(0), "0 is not one of the 2 voters"),
        (lambda votes: replace(votes, voters=None, voter=None).without_voter(ANN), "the voters .* are not known"),
        (lambda votes: votes.joined(small(items=("a", "b", "d"))), r"items\[2\] is 'c' here and 'd' there"),
        (lambda votes: votes.joined(small(items=4)), "same order; got 3 and 4 items"),
        (lambda votes: votes.joined(small(voters=None, voter=None)), "or in neither; the second has none"),
        (lambda votes: small(voters=None, voter=None).joined(votes), "or in neither; the first has none"),
        (lambda votes: votes.joined([]), r"Comparisons are joined with Comparisons; got \[\]"),
    ],
)
def test_operations_that_cannot_be(change, message):
    with pytest.raises(ComparisonError, match=message):
        change(small())


@given(comparisons(labels=st.just(LABELS)))
def test_the_dict_is_ready_for_json(votes):
    labels = all(isinstance(item, str) for item in votes.items)
    content = json.loads(votes.to_json())
    assert content == json.loads(json.dumps(votes.to_dict()))
    assert content["n_unanswered"] == 0
    assert len(content["items"]) == votes.n_items
    assert content["winner"] == [WORDS[code] for code in votes.winner.tolist()]
    if labels:
        known = {} if votes.voter is None else {"voter": content["voter"], "voters": content["voters"]}
        columns = (content[name] for name in ("left", "right", "winner"))
        assert Comparisons.from_labels(*columns, items=content["items"], **known) == votes


def test_the_frame_has_labels_and_words():
    frame = small().to_frame()
    columns = {"left": ["a", "b"], "right": ["b", "c"], "winner": ["left", "tie"]}
    assert frame.to_dict("list") == {"comparison": [0, 1], "voter": [ANN, BOB], **columns}
    assert list(small(voters=None, voter=None).to_frame().columns) == ["comparison", "left", "right", "winner"]
    assert "<th>winner</th>" in small()._repr_html_()


def test_memory_is_13_bytes_for_each_vote():
    votes = small()
    assert sum(column.nbytes for column in (votes.left, votes.right, votes.winner, votes.voter)) == 13 * 2
