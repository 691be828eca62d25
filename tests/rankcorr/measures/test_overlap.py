"""Measures of lists, best first: rank-biased overlap, precision, and their input types."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import (
    LabelError,
    LabelMismatchError,
    LengthError,
    MissingValueError,
    NonNumericError,
    OptionError,
    Ranking,
    RankingError,
    TooFewItemsError,
)
from rankcorr.measures import (
    RankBiasedOverlap,
    RelevanceError,
    average_precision,
    rank_biased_overlap,
    tau_ap,
    vigna_tau,
)
from rankcorr.measures._overlap import as_list
from tests import naive
from tests.strategies import LABELS, orders_in_groups, pairs_in_groups, tied_pairs, tied_scores

TIES = st.sampled_from(["w", "a", "b"])
P = st.sampled_from([0.1, 0.5, 0.7])
DEPTH = 110  # 0.7^110 < 1e-17


def overlap(x, y, **options):
    return rank_biased_overlap(Ranking.from_order(x), Ranking.from_order(y), **options)


def from_text(text):
    """Parse "a (b c)", a list with b and c tied, as in the tests of Corsi and Urbano."""
    groups, inside = [], False
    for word in text.split():
        if inside:
            groups[-1].append(word.strip("()"))
        else:
            groups.append([word.strip("()")])
        inside = (inside or word.startswith("(")) and not word.endswith(")")
    return groups


# rbo/test.csv of github.com/julian-urbano/sigir2024-rbo, the code of Corsi and Urbano 2024: two lists and p, then EXT,
# MIN and MAX for w, a and b.
PUBLISHED_CASES = """
(i5 i9 i13 i15 i16 i19 i20) (i3 i8); i6 (i4 i18) i2 i7 i8 i17 i14 (i11 i12) i1; 0.958074765324023
w 0.0816485573277354 0.0370062754797617 0.59493569657566
a 0.0808189832771587 0.0354671825076603 0.593396603603558
b 0.0813693619867344 0.0356267307324464 0.593556151828344

i13 (i1 i4 i5 i6); i3 i14 i11 (i10 i15) i12 (i6 i9) i4 i2; 0.92238320668128
w 0.117578490431637 0.0763135264223449 0.53999366118093
a 0.114619469221414 0.0733545052121218 0.537945108035391
b 0.11474835409049 0.0734833900811979 0.538589532380772

(i4 i7 i15) (i2 i11) i8 i18; i4 i8 i17 i11 (i2 i3 i5 i7 i9 i13 i14); 0.955836875418683
w 0.601671359995661 0.310498723372055 0.820912519608734
a 0.584235464666522 0.295503371358027 0.805839323150565
b 0.632087129618464 0.322093781902212 0.833840285843908

(i4 i14) i10 i9 i16 i1 (i11 i21) i7; (i4 i7 i9 i10 i14 i16) i21 (i1 i11) (i3 i6 i17 i18); 0.980350757903177
w 0.95731778452095 0.350742506261885 0.95731778452095
a 0.939619367902257 0.336112285552834 0.939619367902257
b 0.96333114711547 0.35963910728389 0.96333114711547

(i1 i3 i6 i11 i15) i17 (i5 i8); (i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12); 0.966485585840186
w 0.647993254615828 0.307897712904381 0.853885398258049
a 0.56593642947334 0.250532359019861 0.795583602856033
b 0.658581961799868 0.315458973083789 0.861496368240528

i21 i20 (i1 i16 i19) (i5 i10) i4; (i12 i17) (i2 i3 i8 i11) (i15 i18) (i6 i13) (i7 i14) i9; 0.930074017489188
w 0 0 0.389142712252727
a 0 0 0.38977330351866
b 0 0 0.390116806797613

i4 (i2 i14) i7 i5 i3; (i9 i13) (i6 i8) i1 i5 i10 i15 i11; 0.986650551181127
w 0.155835200392091 0.02839705430193 0.89085092447296
a 0.155835200392091 0.02839705430193 0.89085092447296
b 0.155835200392091 0.02839705430193 0.89085092447296

i6 i5 (i2 i4 i7); i4 i18 i2 (i1 i5 i6 i7 i9 i14 i15 i17) i13 i11; 0.984365085297715
w 0.734068963712944 0.172811297273872 0.938656144671167
a 0.680057896807246 0.161475073718017 0.926540408667145
b 0.747819806375568 0.169727262584421 0.937170943665285
"""


def published_values():
    for block in PUBLISHED_CASES.strip().split("\n\n"):
        lists, *rows = block.split("\n")
        x, y, p = lists.split("; ")
        for row in rows:
            ties, *values = row.split()
            yield x, y, float(p), ties, [float(value) for value in values]


@pytest.mark.parametrize(("x", "y", "p", "ties", "expected"), list(published_values()))
def test_the_published_values_of_corsi_and_urbano(x, y, p, ties, expected):
    for pair in ((x, y), (y, x)):
        result = overlap(*map(from_text, pair), p=p, ties=ties)
        assert_allclose([result.extrapolated, result.minimum, result.maximum], expected, rtol=0, atol=2e-14)


@given(orders_in_groups(), orders_in_groups(), P, TIES)
def test_minimum_and_maximum_are_sums_over_continued_lists(x, y, p, ties):
    result = overlap(x, y, p=p, ties=ties)
    worst = naive.never_matching(x, "x", DEPTH), naive.never_matching(y, "y", DEPTH)
    best = naive.soonest_matching(x, y, DEPTH)
    assert_allclose(result.minimum, naive.overlap_to_depth(*worst, p, ties, DEPTH), rtol=0, atol=1e-14)
    assert_allclose(result.maximum, naive.overlap_to_depth(*best, p, ties, DEPTH), rtol=0, atol=1e-14)


@given(orders_in_groups(), orders_in_groups(), P, TIES)
def test_extrapolation_is_the_sum_over_its_sections(x, y, p, ties):
    result = overlap(x, y, p=p, ties=ties).extrapolated
    assert_allclose(result, naive.extrapolated_overlap(x, y, p, ties, DEPTH), rtol=0, atol=1e-14)


@given(orders_in_groups(), orders_in_groups(), TIES, st.data())
def test_no_continuation_exceeds_the_bounds(x, y, ties, data):
    result = overlap(x, y, p=0.7, ties=ties)
    ways = []
    for name, groups in (("x", x), ("y", y)):
        pool = [label for label in (*LABELS, "both", name) if label not in naive.items(groups)]
        ways.append(groups + [[label] for label in data.draw(st.permutations(pool))])
    continuations = (naive.never_matching(way, place, DEPTH) for place, way in enumerate(ways))
    value = naive.overlap_to_depth(*continuations, 0.7, ties, DEPTH)
    assert result.minimum - 1e-14 <= value <= result.maximum + 1e-14


@given(pairs_in_groups(), P)
def test_a_is_the_mean_over_all_ways_to_break_ties(pair, p):
    values = [overlap(*broken, p=p, ties="w").extrapolated for broken in itertools.product(*map(naive.breakings, pair))]
    assert_allclose(overlap(*pair, p=p, ties="a").extrapolated, np.mean(values), rtol=0, atol=1e-14)


@given(orders_in_groups(max_items=4), orders_in_groups(max_items=4), P)
def test_the_minimum_of_a_is_a_mean_too_and_the_rest_is_at_most_one(x, y, p):
    values = [overlap(*broken, p=p) for broken in itertools.product(naive.breakings(x), naive.breakings(y))]
    result = overlap(x, y, p=p, ties="a")
    assert_allclose(result.minimum, np.mean([value.minimum for value in values]), rtol=0, atol=1e-14)
    assert result.extrapolated <= np.mean([value.extrapolated for value in values]) + 1e-14
    assert result.maximum <= np.mean([value.maximum for value in values]) + 1e-14


@given(orders_in_groups(), orders_in_groups(), st.floats(0.01, 0.999), TIES)
def test_overlap_is_symmetric_and_within_its_bounds(x, y, p, ties):
    result, swapped = overlap(x, y, p=p, ties=ties), overlap(y, x, p=p, ties=ties)
    assert 0 <= result.minimum <= result.extrapolated + 1e-12 <= result.maximum + 2e-12 <= 1 + 3e-12
    assert result.residual >= 0
    for name in ("extrapolated", "minimum", "residual"):
        assert getattr(result, name) == getattr(swapped, name)
    assert (result.n_x, result.n_y) == (swapped.n_y, swapped.n_x)


@given(orders_in_groups(), st.floats(0.01, 0.999))
def test_a_list_overlaps_fully_with_itself(x, p):
    for ties in ("w", "b"):
        assert_allclose(overlap(x, x, p=p, ties=ties).extrapolated, 1, rtol=1e-12)
    tied = len(x) < len(naive.items(x))
    assert (overlap(x, x, p=p, ties="a").extrapolated < 1 - 1e-12) == tied


@given(tied_pairs(), TIES)
def test_scores_without_labels_are_matched_by_place(pair, ties):
    labelled = [dict(enumerate(scores.tolist())) for scores in pair]
    assert rank_biased_overlap(*pair, ties=ties) == rank_biased_overlap(*labelled, ties=ties)


@given(tied_scores(), st.sampled_from([1e-12, 1 - 1e-12]), TIES)
def test_overlap_is_exact_at_extreme_persistence(scores, p, ties):
    result = rank_biased_overlap(scores, scores[::-1], p=p, ties=ties)
    assert -1e-9 <= result.minimum <= result.maximum <= 1 + 1e-9
    # Complete lists have no unseen items: the deepest agreement is 1, and for small p only the top one counts.
    if p > 0.5:
        assert result.extrapolated == pytest.approx(1, rel=0, abs=1e-10)


@pytest.mark.parametrize("p", [0.15, 0.25, 0.7, 0.8, 0.999])
def test_rounding_does_not_grow_with_the_number_of_common_items(p):
    result = rank_biased_overlap(np.arange(20_000), np.arange(20_000), p=p)
    # Agreement is 1 at all seen depths; unseen ones have the weight p^20,000.
    assert_allclose([result.extrapolated, result.minimum], 1, rtol=0, atol=1e-14 + p**20_000)
    assert 0 <= result.residual <= p**20_000


def test_results_record_their_options():
    result = overlap(["a", "b"], ["a", "b"], p=0.5)
    assert isinstance(result, RankBiasedOverlap)
    assert "p=0.5, ties='w', n_x=2, n_y=2, n_common=2" in repr(result)


@pytest.mark.parametrize("p", [0, 1, -0.5, 1.5, float("nan"), "0.9", True])
def test_persistence_out_of_range_is_refused(p):
    with pytest.raises(OptionError, match="p must be a number above 0 and below 1; got"):
        rank_biased_overlap([1, 2], [1, 2], p=p)


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


@pytest.mark.parametrize("items", [["a", 1], [1, "a"], ["a", None], [["a"], 2], [], [["a", []], "b"], [[1, 2], [3, 4]]])
def test_other_input_is_refused_as_invalid_scores(items):
    with pytest.raises(RankingError) as expected:
        Ranking.from_scores(items)
    with pytest.raises(type(expected.value), match=r"^scores must|^every score|^a ranking needs"):
        as_list(items)


@pytest.mark.parametrize("texts", [["1", "2"], ["0.5", "nan"], [["17"], "18"]])
def test_text_that_looks_like_numbers_is_ambiguous(texts):
    with pytest.raises(NonNumericError, match=r"may hold labels or scores: write Ranking.from_order\(...\) for labels"):
        as_list(texts)


def test_measures_take_lists_of_labels():
    x, y = ["queen", "king", "knave", "ace"], ["king", ["queen", "ace"], "knave"]
    first, second = Ranking.from_order(x), Ranking.from_order(y)
    assert rank_biased_overlap(x, y) == rank_biased_overlap(first, second)
    assert tau_ap(x, y) == tau_ap(first, second)
    assert vigna_tau(x, y) == vigna_tau(first, second)
    relevant = {"queen": 1, "king": 0, "knave": 0, "ace": 1}
    assert average_precision(relevant, y) == average_precision(relevant, second)


@st.composite
def judged_lists(draw):
    """A list with ties, and the relevance of its items; at least one is relevant."""
    groups = draw(orders_in_groups())
    items = naive.items(groups)
    relevant = draw(st.sets(st.sampled_from(items), min_size=1))
    return groups, {item: int(item in relevant) for item in sorted(items)}


@given(judged_lists())
def test_average_precision_is_the_mean_over_all_ways_to_break_ties(case):
    groups, relevance = case
    values = [naive.mean_precision(relevance, order) for order in naive.breakings(groups)]
    result = average_precision(relevance, Ranking.from_order(groups))
    assert_allclose(result, float(sum(values) / len(values)), rtol=1e-14)


def test_one_item_has_an_average_precision():
    assert average_precision({"a": 1}, ["a"]) == average_precision([1], [0.5]) == 1
    assert average_precision({"a": 1}, ["b", "a"], missing="intersection") == 1
    assert average_precision({"a": 1}, ["b", "a"], missing="bottom") == 0.5
    with pytest.raises(TooFewItemsError, match=r"must have at least one label in common; .* 0 in common"):
        average_precision({"a": 1}, ["b"], missing="intersection")


def test_only_relevant_items_are_perfect_with_any_ties():
    assert average_precision([1] * 7, [3, 3, 3, 2, 2, 1, 0]) == 1
    assert average_precision(np.ones(1000, bool), np.zeros(1000)) == 1


def test_missing_items_follow_the_policy():
    gold, system = {"a": 1, "b": 0, "c": 1}, {"a": 0.9, "x": 0.5, "b": 0.1}
    with pytest.raises(LabelMismatchError, match="labels in gold only: 'c'; labels in system only: 'x'"):
        average_precision(gold, system)
    # The system's order is a, x, b, c: x is not relevant, and c comes last.
    assert average_precision(gold, system, missing="bottom") == pytest.approx((1 + 2 / 4) / 2, rel=1e-15, abs=0)
    assert average_precision(gold, system, missing="intersection") == 1
    with pytest.raises(RelevanceError, match="gold must have a relevant item; none of its 2 items is"):
        average_precision({"a": 0, "b": 0, "c": 1}, system, missing="intersection")


AB = {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("function", "gold", "system", "error", "message"),
    [
        (rank_biased_overlap, [1, 2], [1, 2, 3], LengthError, "must have the same length"),
        (rank_biased_overlap, AB, [1, 2], LabelError, "x has labels and y has none"),
        (average_precision, [1, 0], [1, 2, 3], LengthError, "gold has 2 items and system has 3"),
        (average_precision, [1, 0], AB, LabelError, "system has labels and gold has none"),
        (average_precision, Ranking.from_scores([1, 0]), [1, 2], OptionError, "gold: scores are needed; a Ranking"),
        (average_precision, [1, math.nan], [1, 2], MissingValueError, r"gold: every item needs a .*; nan: scores\[1\]"),
        (average_precision, ["1", "0"], [1, 2], NonNumericError, "gold: every score must be a real number"),
        (average_precision, [0, 0], [1, 2], RelevanceError, "gold must have a relevant item; none of its 2 items is"),
        (average_precision, [1, -1], [1, 2], RelevanceError, "must be 0 or 1; got -1; wrong at: 1"),
        (average_precision, [1, math.inf], [1, 2], RelevanceError, "must be 0 or 1; got inf; wrong at: 1"),
        (average_precision, AB | {"a": 1, "c": 0.5}, AB | {"c": 3}, RelevanceError, r"got 2.0; wrong at: 'b', 'c'"),
        (average_precision, AB | {"b": 10**400}, AB, RelevanceError, r"must be 0 or 1; got 1000.*; wrong at: 'b'"),
    ],
)
def test_mismatched_inputs_are_refused(function, gold, system, error, message):
    with pytest.raises(error, match=message):
        function(gold, system)
