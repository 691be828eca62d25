"""Lists of labels, best first, are read by the measures whose inputs are lists."""

import numpy as np
import pytest

from rankcorr import NonNumericError, Ranking, RankingError
from rankcorr.measures import average_precision, rank_biased_overlap, tau_ap, vigna_tau
from rankcorr.measures._lists import as_list

WORDS = ["queen", "king", "knave"]


@pytest.mark.parametrize(
    "labels",
    [
        WORDS,
        tuple(WORDS),
        ["queen", ["king", "knave"]],
        [{"queen", "king"}, "knave"],
        [("gem", "jewel"), ("sun", "moon")],
        ["1984", "dune"],
    ],
)
def test_a_list_of_text_is_an_order(labels):
    assert as_list(labels) == Ranking.from_order(list(labels))
    assert as_list(Ranking.from_order(list(labels))) == Ranking.from_order(list(labels))


def test_an_array_of_text_is_an_order():
    assert as_list(np.array(WORDS)) == Ranking.from_order(WORDS)


@pytest.mark.parametrize("scores", [[1, 3, 2], np.array([1.5, 2]), {"a": 1, "b": 2}, (2, 1)])
def test_numbers_are_scores(scores):
    assert as_list(scores) == Ranking.from_scores(scores)


@pytest.mark.parametrize("given", [["a", 1], [1, "a"], ["a", None], [["a"], 2], [], [["a", []], "b"], [[1, 2], [3, 4]]])
def test_anything_else_is_refused_as_scores_are(given):
    with pytest.raises(RankingError) as expected:
        Ranking.from_scores(given)
    with pytest.raises(type(expected.value), match=r"^scores must|^every score|^a ranking needs"):
        as_list(given)


@pytest.mark.parametrize("given", [["1", "2"], ["0.5", "nan"], [["17"], "18"]])
def test_text_that_reads_as_numbers_could_be_either(given):
    with pytest.raises(NonNumericError, match=r"may hold labels or scores: write Ranking.from_order\(...\) for labels"):
        as_list(given)


def test_measures_take_lists_of_labels():
    x, y = ["queen", "king", "knave", "ace"], ["king", ["queen", "ace"], "knave"]
    first, second = Ranking.from_order(x), Ranking.from_order(y)
    assert rank_biased_overlap(x, y) == rank_biased_overlap(first, second)
    assert tau_ap(x, y) == tau_ap(first, second)
    assert vigna_tau(x, y) == vigna_tau(first, second)
    relevant = {"queen": 1, "king": 0, "knave": 0, "ace": 1}
    assert average_precision(relevant, y) == average_precision(relevant, second)
