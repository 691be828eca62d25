import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import OptionError
from rankcorr.baselines import TextError, baseline_scores, greedy_string_tiling, longest_common_substring
from tests import naive

TEXTS = st.text("ab ", min_size=1, max_size=9)


@given(TEXTS, TEXTS, st.sampled_from(["shorter", "longer", "mean", "first"]))
def test_longest_common_substring_equals_exhaustive_search(first, second, relative_to):
    lengths = {
        "shorter": min(len(first), len(second)),
        "longer": max(len(first), len(second)),
        "mean": (len(first) + len(second)) / 2,
        "first": len(first),
    }
    expected = naive.longest_common_substring(first, second) / lengths[relative_to]
    assert longest_common_substring(first, second, relative_to=relative_to) == expected
    assert longest_common_substring([*first], [*second], relative_to=relative_to) == expected


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_tiles_equal_exhaustive_search(first, second, min_length):
    expected = naive.greedy_tiles(first, second, min_length) / min(len(first), len(second))
    assert greedy_string_tiling(first, second, min_length=min_length) == expected


def test_tiles_of_moved_text_need_the_minimal_length():
    first, second = "the cat sat on the mat", "on the mat sat the cat"
    assert longest_common_substring(first, second) == len("on the mat") / len(first)
    assert greedy_string_tiling(first, second, min_length=6) == (len("on the mat") + len("the cat")) / len(first)
    assert greedy_string_tiling(first, second, min_length=11) == 0


def test_repeats_are_matched_at_the_first_place():
    assert greedy_string_tiling("a" * 300, "a" * 200, min_length=2, relative_to="first") == 2 / 3


def test_items_score_by_their_most_similar_text_and_unknown_ones_by_the_mean():
    texts = {"cab": ["red car", "big hut"], "taxi": ["red cat", "hut"], "hut": "a hut"}
    pairs = [("cab", "taxi"), ("cab", "hut"), ("cab", "zyx")]
    scores = baseline_scores(pairs, texts)
    assert scores["cab", "taxi"] == 1.0  # "hut" is part of "big hut"
    assert scores["cab", "hut"] == len(" hut") / len("a hut")
    assert scores["cab", "zyx"] == (1.0 + 0.8) / 2
    assert baseline_scores([("hut", "huts")], similarity=greedy_string_tiling) == {("hut", "huts"): 0.0}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: longest_common_substring("", "a"), TextError, "a text must have a character or a word; got ''"),
        (lambda: greedy_string_tiling("a", []), TextError, r"a text must have a character or a word; got \[\]"),
        (lambda: greedy_string_tiling("a", [1]), TextError, r"a text or a list of words is expected; got \[1\]"),
        (lambda: longest_common_substring(5, "a"), TextError, "a text or a list of words is expected; got 5"),
        (lambda: greedy_string_tiling("a", "a", min_length=0), OptionError, "min_length must be a positive whole"),
        (lambda: longest_common_substring("a", "a", relative_to="x"), OptionError, "relative_to must be one of"),
        (lambda: baseline_scores([("a", "b")], {"a": "a"}), TextError, "none of 1 pairs has texts for both"),
        (lambda: baseline_scores([("a", "b")], {"a": [], "b": "b"}), TextError, "a text must have a character"),
    ],
)
def test_invalid_texts_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
