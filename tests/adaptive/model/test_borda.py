"""Borda scores against the formula in fractions, and against those of one ballot."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import BordaScores, ComparisonError, Comparisons, borda, borda_scores, draw_ballot
from adaptive.votes import LEFT
from rankcorr import TooFewItemsError
from tests.adaptive import naive
from tests.adaptive.ballots import SEEDS, answers_to
from tests.adaptive.model.votes import comparisons, spelt_out


@given(comparisons())
def test_scores_are_eq_1(votes):
    items, triples = spelt_out(votes)
    compared = [item for item in items if item not in votes.never_compared]
    expected = naive.borda_scores(compared, triples)
    scores = borda(votes)
    assert scores.items == votes.items
    assert scores.never_compared == votes.never_compared
    assert_allclose(
        scores.scores, [float(expected.get(item, Fraction(0))) if item in expected else np.nan for item in items]
    )
    assert not scores.scores.flags.writeable
    # Never compared: last, tied.
    ranks = scores.ranking.ranks
    known = [ranks[place] for place, item in enumerate(items) if item in expected]
    unknown = [ranks[place] for place, item in enumerate(items) if item not in expected]
    assert max(known, default=0) < min(unknown, default=np.inf)
    assert len(set(unknown)) <= 1


@given(SEEDS)
def test_one_ballot_has_the_scores_of_the_protocol(seed):
    ballot = draw_ballot(list("abcdef"), 4, 3, np.random.default_rng(seed))
    answers = answers_to(ballot, seed)
    assert_array_equal(borda(Comparisons.from_ballots([(ballot, answers)])).scores, borda_scores(ballot, answers))


def test_the_table_is_best_first():
    votes = Comparisons.from_labels(["b", "b", "d"], ["d", "c", "c"], ["left", "left", "tie"], items=list("abcd"))
    scores = borda(votes)
    assert repr(scores) == "<BordaScores of 4 items, 1 never compared>"
    assert repr(borda(votes.select([]))) == "<BordaScores of 4 items, 4 never compared>"
    assert repr(borda(Comparisons(2, [0], [1], [LEFT]))) == "<BordaScores of 2 items>"
    frame = scores.to_frame()
    assert frame["item"].tolist() == ["b", "c", "d", "a"]
    assert frame["rank"].tolist() == [1, 2.5, 2.5, 4]
    assert frame["presentations"].tolist() == [2, 2, 2, 0]
    content = json.loads(json.dumps(scores.to_dict(), allow_nan=False))
    assert content["never_compared"] == ["a"]
    row = {"item": "a", "rank": 4, "score": None, "presentations": 0, "wins": 0, "ties": 0, "losses": 0}
    assert content["items"][-1] == row
    assert [row["score"] for row in content["items"]] == [1, 0.25, 0.25, None]


def test_what_is_not_scored():
    with pytest.raises(ComparisonError, match=r"borda takes Comparisons; got \[\(0, 1\)\]"):
        borda([(0, 1)])
    nothing = borda(Comparisons.from_labels([], [], []))
    assert isinstance(nothing, BordaScores)
    with pytest.raises(TooFewItemsError):
        _ = nothing.ranking
