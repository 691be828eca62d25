"""Agreement of annotators, Krippendorff's alpha with its interval, and decisions on disputed ratings."""

import math
import tracemalloc
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import krippendorff
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import (
    DimensionError,
    DuplicateLabelError,
    LabelError,
    LengthError,
    Logarithmic,
    NonNumericError,
    OptionError,
    TauW,
    UndefinedCorrelationWarning,
    weighted_rho,
    weighted_tau,
)
from rankcorr.measures import (
    AnnotatorError,
    adjudicate,
    alpha_interval,
    krippendorff_alpha,
    majority_vote,
    mean_pairwise_agreement,
    mean_ratings,
)
from tests import naive
from tests.results import with_coefficient

NAN = math.nan


@given(st.integers(2, 5).flatmap(lambda n: st.lists(st.permutations(range(6)), min_size=n, max_size=n)))
def test_pairwise_agreement_is_the_mean_of_spearmans(rows):
    agreement = mean_pairwise_agreement(rows)
    n = len(rows)
    peers = [[scipy.stats.spearmanr(a, b).statistic for b in rows] for a in rows]
    others = [np.mean([peers[i][j] for j in range(n) if j != i]) for i in range(n)]
    assert_allclose(agreement.with_others, others, rtol=0, atol=1e-14)
    assert_allclose(agreement.mean, np.mean([peers[i][j] for i in range(n) for j in range(i)]), rtol=0, atol=1e-14)
    assert agreement.annotators == tuple(range(n))
    assert np.isnan(np.diag(agreement.pairs)).all()
    assert (agreement.n_common == 6).all()


def test_pairwise_agreement_with_missing_ratings():
    ratings = {
        "ann": {"a": 1, "b": 2, "c": 3, "d": 4},
        "bob": {"b": 5, "c": 6, "d": 1, "e": 7},
        "cat": {"a": 1, "c": 2, "d": 3, "e": NAN},
    }
    agreement = mean_pairwise_agreement(ratings, coefficient=TauW(n0=1), min_common=2)
    ann_bob = weighted_tau([2, 3, 4], [5, 6, 1], n0=1).statistic
    bob_cat = weighted_tau([6, 1], [2, 3], n0=1).statistic
    assert_allclose(agreement.pairs[1], [ann_bob, NAN, bob_cat], rtol=1e-15)
    assert agreement.pairs[0, 2] == 1
    assert agreement.n_common.tolist() == [[4, 3, 3], [3, 4, 2], [3, 2, 3]]
    assert repr(agreement).endswith("n_annotators=3, coefficient='tau_w', n_left_out=0)")

    with pytest.raises(AnnotatorError, match=r"must have rated 3 items in common; too few .*: \('bob', 'cat', 2\)"):
        mean_pairwise_agreement(ratings)
    left_out = mean_pairwise_agreement(ratings, few_common="leave_out")
    assert (left_out.n_left_out, left_out.with_others[2]) == (1, 1)
    with pytest.raises(AnnotatorError, match=r"must have rated 4 items in common; too few"):
        mean_pairwise_agreement(ratings, min_common=4, few_common="leave_out")
    with pytest.raises(ValueError, match="read-only"):
        agreement.pairs[0, 0] = 1


def test_a_constant_annotator_is_excluded_from_the_means_and_named():
    message = r"tied in one of the ratings of: \(0, 2\), \(1, 2\)"
    with pytest.warns(UndefinedCorrelationWarning, match=message) as caught:
        agreement = mean_pairwise_agreement([[1, 2, 3], [1, 3, 2], [5, 5, 5]])
    assert caught[0].filename == __file__
    assert_allclose(agreement.with_others, [0.5, 0.5, NAN], rtol=1e-15)
    assert_allclose(agreement.mean, 0.5, rtol=1e-15)


@pytest.mark.parametrize(
    "options",
    [
        {"coefficient": "tau_w", "n0": 0.5},
        {"coefficient": "tau_w", "weigher": Logarithmic()},
        {"coefficient": "tau_w", "tied_weights": "expected"},
        {"coefficient": "tau_w", "variant": "a"},
        {"coefficient": "rho_w", "tied_weights": "expected"},
    ],
)
def test_pairwise_agreement_equals_calls_for_single_pairs(options):
    rows = [[5, 5, 3, 2, 1, 1], [4, 6, 6, 6, 2, 1], [1, 2, 2, 5, 5, 4]]
    agreement = mean_pairwise_agreement(rows, **with_coefficient(**options))
    correlation = {"tau_w": weighted_tau, "rho_w": weighted_rho}[options["coefficient"]]
    keywords = {name: value for name, value in options.items() if name != "coefficient"}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert agreement.pairs[i, j] == agreement.pairs[j, i]
        assert_allclose(agreement.pairs[i, j], correlation(rows[i], rows[j], **keywords).statistic, rtol=1e-14)


# One value for each item

RATINGS_WITH_GAPS = {"ann": {"a": 3, "b": 0, "c": 1}, "bob": {"a": 3, "b": 1}, "eve": {"a": 1, "b": 1, "d": 2}}


def test_means_of_ratings_may_be_scaled():
    result = mean_ratings(RATINGS_WITH_GAPS)
    assert result.scores == {"a": pytest.approx(7 / 3), "b": pytest.approx(2 / 3), "c": 1, "d": 2}
    assert result.counts == {"a": 3, "b": 3, "c": 1, "d": 1}
    assert mean_ratings(RATINGS_WITH_GAPS, scale=(0, 3)).scores["a"] == pytest.approx(7 / 9)
    assert mean_ratings([[1, math.nan], [3, math.nan]], scale=(1, 5)).scores == {0: 0.25}


@pytest.mark.parametrize("scale", [(3, 0), (0,), "ab", (0, math.inf), (1, 1), 3])
def test_a_scale_is_a_range(scale):
    with pytest.raises(OptionError, match="scale must be the lowest and the highest rating"):
        mean_ratings(RATINGS_WITH_GAPS, scale=scale)


def test_ratings_outside_the_scale_are_refused():
    with pytest.raises(AnnotatorError, match="ratings must be from 1 to 3; others on: 'b'"):
        mean_ratings(RATINGS_WITH_GAPS, scale=(1, 3))


@given(st.lists(st.lists(st.sampled_from([0, 1, 2, math.nan]), min_size=3, max_size=3), min_size=2, max_size=6))
def test_the_majority_is_the_most_frequent_rating(rows):
    for ties, choose in (("lowest", min), ("highest", max)):
        result = majority_vote(rows, ties=ties)
        for item, column in enumerate(zip(*rows, strict=True)):
            votes = Counter(value for value in column if not math.isnan(value))
            winners = [value for value, count in votes.items() if count == max(votes.values())]
            assert result.scores.get(item) == (choose(winners) if winners else None)
            assert (item in result.tied) == (len(winners) > 1)
    assert set(majority_vote(rows, ties="omit").scores) == set(result.scores) - set(result.tied)


def test_tied_majorities_are_an_error_by_default():
    with pytest.raises(
        AnnotatorError, match=r"two ratings have the most votes \(the option ties decides\); items: 'x'"
    ):
        majority_vote({"ann": {"x": 0}, "bob": {"x": 1}})

    frame = majority_vote(RATINGS_WITH_GAPS, ties="omit").to_frame()
    assert frame.iloc[0].to_dict() == {"item": "a", "score": 3.0, "ratings": 3}


LEVELS = ("nominal", "ordinal", "interval", "ratio")
LEVEL = st.sampled_from(LEVELS)

# K. Krippendorff, Computing Krippendorff's Alpha-Reliability, 2011, part C: four observers, twelve units.
FOUR_CODERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_is_as_published(level, published):
    assert_allclose(krippendorff_alpha(FOUR_CODERS, level=level), published, rtol=0, atol=5e-4)


SMALL_NUMBERS = st.integers(0, 4)
SMALL_OR_ANY_NUMBERS = st.one_of(SMALL_NUMBERS, st.floats(0, 1e6, width=32))


@st.composite
def incomplete_ratings(draw, numbers=(SMALL_NUMBERS, SMALL_NUMBERS, SMALL_OR_ANY_NUMBERS)):
    """Ratings with many ties; None is a missing rating."""
    n_items = draw(st.integers(1, 7))
    number = draw(st.sampled_from(numbers))
    row = st.lists(st.one_of(st.none(), number, number), min_size=n_items, max_size=n_items)
    rows = draw(st.lists(row, min_size=2, max_size=6))
    assume(any(sum(value is not None for value in column) > 1 for column in zip(*rows, strict=True)))
    return rows


def replace_none(rows):
    return [[NAN if value is None else value for value in row] for row in rows]


@given(incomplete_ratings(), LEVEL)
def test_alpha_is_that_of_the_coincidence_matrix(rows, level):
    expected = naive.krippendorff_alpha(rows, level)
    if expected is None:
        with pytest.warns(UndefinedCorrelationWarning, match="all ratings of items with two ratings are equal"):
            assert math.isnan(krippendorff_alpha(replace_none(rows), level=level))
    else:
        for ratings in (replace_none(rows), rows, dict(enumerate(rows))):
            assert_allclose(krippendorff_alpha(ratings, level=level), float(expected), rtol=1e-13, atol=1e-13)


@given(incomplete_ratings(), LEVEL)
def test_alpha_is_that_of_the_package(rows, level):
    assume(naive.krippendorff_alpha(rows, level) is not None)
    peer = krippendorff.alpha(np.array(replace_none(rows)), level_of_measurement=level)
    assert_allclose(krippendorff_alpha(replace_none(rows), level=level), peer, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_of_many_annotators_is_that_of_the_package(level):
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 30, 200)
    ratings = np.where(rng.random((40, 200)) < 0.4, NAN, np.abs(truth + rng.integers(-9, 10, (40, 200))))
    peer = krippendorff.alpha(ratings, level_of_measurement=level)
    assert_allclose(krippendorff_alpha(ratings, level=level), peer, rtol=0, atol=1e-12)


@given(incomplete_ratings(), LEVEL, st.randoms(use_true_random=False))
def test_alpha_does_not_depend_on_order_names_or_lone_ratings(rows, level, random):
    assume(naive.krippendorff_alpha(rows, level) is not None)
    expected = krippendorff_alpha(replace_none(rows), level=level)
    named = {}
    for name, row in enumerate(rows):
        items = [(item, rating) for item, rating in enumerate(row) if rating is not None]
        random.shuffle(items)
        named[name] = dict(items)
    named[0]["lone"] = 9
    shuffled = list(named.items())
    random.shuffle(shuffled)
    assert_allclose(krippendorff_alpha(dict(shuffled), level=level), expected, rtol=1e-14, atol=1e-15)


@given(incomplete_ratings(numbers=[SMALL_NUMBERS]))
def test_transformations_that_leave_alpha_unchanged_at_each_level(rows):
    ratings = np.array(replace_none(rows))
    assume(naive.krippendorff_alpha(rows, "nominal") is not None)
    for level, changed in (
        ("nominal", (ratings * 3) % 5),
        ("ordinal", ratings**3 - 7),
        ("interval", 2 * ratings - 5),
        ("interval", -1.5 * ratings),
        ("ratio", 4 * ratings),
    ):
        result, expected = (krippendorff_alpha(values, level=level) for values in (changed, ratings))
        assert_allclose(result, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_perfect_agreement_is_exactly_one(level):
    assert krippendorff_alpha([[0.1, 0.2, 0.3], [0.1, 0.2, NAN], [0.1, NAN, 0.3]], level=level) == 1


@pytest.mark.parametrize("level", LEVELS)
def test_zeros_of_both_signs_are_the_same_rating(level):
    assert krippendorff_alpha([[0.0, 2], [-0.0, 2]], level=level) == 1


def test_interval_alpha_keeps_its_digits_far_from_zero():
    ratings = np.array(FOUR_CODERS)
    expected = krippendorff_alpha(ratings, level="interval")
    assert_allclose(krippendorff_alpha(ratings + 2.0**50, level="interval"), expected, rtol=1e-15)


@pytest.mark.parametrize("level", ["interval", "ratio"])
@pytest.mark.parametrize("factor", [2.0**1020, 2.0**1021, 2.0**-1074])
def test_extreme_floats_may_be_ratings(level, factor):
    ratings = np.array(FOUR_CODERS)
    result, expected = (krippendorff_alpha(values, level=level) for values in (ratings * factor, ratings))
    assert_allclose(result, expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("level", "n_items"), [("nominal", 50_000), ("ordinal", 50_000), ("interval", 50_000), ("ratio", 300)]
)
def test_memory_grows_only_with_the_number_of_ratings(level, n_items):
    rng = np.random.default_rng(3)
    ratings = rng.permutation(2 * n_items).reshape(2, n_items) + 1.0
    krippendorff_alpha(ratings[:, :2], level=level)  # imports and compiles what it needs
    tracemalloc.start()
    try:
        krippendorff_alpha(ratings, level=level)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200 * ratings.size  # bytes; a matrix of the different ratings takes 8 for each pair of them


def test_ratings_without_pairs_are_refused():
    with pytest.raises(AnnotatorError, match="agreement needs at least two annotators; got 1"):
        krippendorff_alpha([[1, 2, 3]])
    for unpaired in ([[1, NAN], [NAN, 1]], [[NAN, NAN], [NAN, NAN]], [[], []]):
        with pytest.raises(AnnotatorError, match="alpha needs an item with at least two ratings; every item has fewer"):
            krippendorff_alpha(unpaired)
    with pytest.raises(NonNumericError, match=r"ratings at level 'ratio' must not be negative; got: -1\.0"):
        krippendorff_alpha([[1, -1], [1, 2]], level="ratio")


def test_ratings_may_be_of_any_input_type():
    matrix = [[1, 2, 3], [1, NAN, 2], [2, 2, 3]]
    expected = krippendorff_alpha(matrix, level="ordinal")
    frame = pd.DataFrame(np.transpose(matrix), columns=["ann", "bob", "cat"], index=["x", "y", "z"])
    masked = np.ma.masked_invalid(matrix)
    for ratings in (
        frame,
        frame.to_dict(),
        masked,
        {"ann": [1, 2, 3], "bob": masked[1], "cat": (2, 2, Decimal(3))},
        {"ann": {"x": 1, "y": 2, "z": 3}, "bob": {"z": 2, "x": 1}, "cat": pd.Series([3, 2, 2], ["z", "y", "x"])},
        np.array(matrix, dtype=object),
        list(masked),
        np.ma.array([[1, 2, 3], [1, 99, 2], [2, 2, 3]], mask=np.isnan(matrix)),
        [[1, 2, 3], np.ma.array([1, 99, 2], mask=[0, 1, 0]), (2, 2, 3)],
        [[1, 2, 3], [1, Decimal("sNaN"), 2], [2, 2, 3]],
    ):
        assert krippendorff_alpha(ratings, level="ordinal") == expected


@pytest.mark.parametrize("kind", [pd.Series, dict])
def test_ratings_with_labels_in_a_list_are_matched_by_label(kind):
    ann, bob = pd.Series({"x": 1, "y": 2, "z": 4, "w": 3}), pd.Series({"w": 3, "z": 4, "v": 1, "x": 2})
    matrix = [[1, 2, 4, 3, NAN], [2, NAN, 4, 3, 1]]
    assert krippendorff_alpha([kind(ann), kind(bob)]) == krippendorff_alpha(matrix)
    assert mean_ratings([kind(ann), kind(bob)]).to_dict() == mean_ratings({0: kind(ann), 1: kind(bob)}).to_dict()


def test_a_series_that_pandas_numbered_has_no_labels_beside_a_list():
    ann, bob = [1, 2, 4, 3], [2, 1, 4, 3]
    expected = krippendorff_alpha([ann, bob])
    for other in (bob, np.array(bob), tuple(bob)):
        assert krippendorff_alpha([pd.Series(ann), other]) == expected
        assert krippendorff_alpha({"ann": pd.Series(ann), "bob": other}) == expected
    with pytest.raises(LabelError, match="the ratings of 0 have labels and those of 1 have none"):
        krippendorff_alpha([pd.Series(ann, index=[4, 5, 6, 7]), bob])


@pytest.mark.parametrize("annotators", ["aaaabbbb", "abababab"])
def test_groups_of_one_frame_share_no_item_and_are_not_matched_by_row_number(annotators):
    frame = pd.DataFrame({"annotator": list(annotators), "rating": [1, 2, 4, 3, 2, 1, 3, 4]})
    ratings = [group.rating for _, group in frame.groupby("annotator")]
    for measure in (mean_ratings, krippendorff_alpha):
        with pytest.raises(LabelError, match=r"the series share no item: .* series\.reset_index\(drop=True\)"):
            measure(ratings)
    by_position = [series.reset_index(drop=True) for series in ratings]
    assert krippendorff_alpha(by_position) == krippendorff_alpha([series.tolist() for series in ratings])


@pytest.mark.parametrize(
    ("ratings", "error", "message"),
    [
        ({}, AnnotatorError, "agreement needs at least two annotators; got 0"),
        ([1, 2], DimensionError, r"ratings must have a row for each annotator; got an array of shape \(2,\)"),
        ([[1, 2], [1]], DimensionError, "ratings must form an array; their rows differ in length"),
        ([["a", "b"], ["a", "b"]], NonNumericError, "every rating must be a number, or nan; got: 'a', 'b', 'a', 'b'"),
        ([[1, "x"], [1, 2]], NonNumericError, "every rating must be a number, or nan; got: 'x'"),
        ([[1, math.inf], [1, 2]], NonNumericError, r"every rating must be finite; infinite at .*: \(0, 1\)"),
        ({"a": [1, 2], "b": [1]}, LengthError, "with nan for a missing one; got lengths 1, 2"),
        ({"a": [1, 2], "b": {"x": 1}}, LabelError, "the ratings of 'b' have labels and those of 'a' have none"),
        ([[1, 2], {"x": 1}], LabelError, "the ratings of 1 have labels and those of 0 have none"),
        ({"a": [[1, 2]], "b": [1]}, DimensionError, r"the ratings of 'a' must have one dimension; got shape \(1, 2\)"),
        (np.ma.array([["x", "y"], ["z", "w"]], mask=[[1, 0], [0, 0]]), NonNumericError, "got: 'y', 'z', 'w'"),
        (np.ma.array([[1j, 1], [1, 2]], mask=[[1, 0], [0, 0]]), NonNumericError, r"or nan; got: \(1\+0j\)"),
        ([[10**400, 1], [1, 2]], NonNumericError, r"rating that is not a float must be at most 2\^53 in size; got"),
        ([[2**53 + 1, NAN], [2**53, 1]], NonNumericError, r"at most 2\^53 in size; got: 9007199254740993$"),
        ({"a": np.array([2**60, 1]), "b": [1, 2]}, NonNumericError, "every rating of 'a' that is not a float must be"),
        ([[Fraction(10**400), 1], [1, 2]], NonNumericError, r"at most 2\^53 in size; got: Fraction"),
        ({"a": ["x"], "b": [1]}, NonNumericError, "every rating of 'a' must be a number, or nan; got: 'x'"),
        ({"a": pd.Series([1, 2], ["x", "x"]), "b": {"x": 1}}, DuplicateLabelError, "'a' name an item more than once"),
        (pd.DataFrame([[1, 2], [1, 2]], columns=["a", "a"]), DuplicateLabelError, "unique; more than once: 'a'"),
        ({"a": pd.Series([1, 2], ["x", NAN]), "b": pd.Series([1, 2], ["x", NAN])}, LabelError, "nan cannot be a label"),
        ({"a": {1: 1, 2: 2}, "b": {"1": 1, "2": 2}}, DuplicateLabelError, "labels differ only in their types"),
    ],
)
def test_invalid_ratings_are_refused(ratings, error, message):
    with pytest.raises(error, match=message):
        krippendorff_alpha(ratings)


RATINGS = {"ann": {"a": 4, "b": 1, "c": 2, "d": 3}, "bob": {"a": 3.5, "b": 3, "c": 2.5}, "cat": {"a": 4, "c": 3}}


def jackknife(matrix, level):
    """Naive ends of the jackknife interval."""
    from scipy.stats import t

    n = matrix.shape[1]
    logs = [math.log(1 - krippendorff_alpha(np.delete(matrix, item, axis=1), level=level)) for item in range(n)]
    error = math.sqrt((n - 1) / n * sum((value - sum(logs) / n) ** 2 for value in logs))
    center, reach = math.log(1 - krippendorff_alpha(matrix, level=level)), t.ppf(0.95, n - 1) * error
    return 1 - math.exp(center + reach), 1 - math.exp(center - reach)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@given(seed=st.integers(0, 10_000))
def test_interval_is_the_jackknife_of_the_logarithm(level, seed):
    rng = np.random.default_rng(seed)
    matrix = np.clip(np.round(rng.normal(3, 1.2, 8) + rng.normal(0, 0.6, (3, 8))), 0, 6)
    matrix[0, 0] = NAN
    alphas = [krippendorff_alpha(np.delete(matrix, item, axis=1), level=level) for item in range(8)]
    if max(alphas) == 1 or any(map(math.isnan, alphas)):
        return
    interval = alpha_interval(matrix, level=level, confidence=0.9)
    assert (interval.low, interval.high) == pytest.approx(jackknife(matrix, level), abs=1e-9)
    assert interval.alpha == krippendorff_alpha(matrix, level=level)
    assert interval.low <= interval.alpha <= interval.high


def test_intervals_widen_with_confidence_and_many_items_are_left_out_in_blocks():
    rng = np.random.default_rng(1)
    matrix = np.round(rng.normal(3, 1, 900) + rng.normal(0, 0.5, (4, 900)))
    narrow, wide = (alpha_interval(matrix, level="interval", confidence=level) for level in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.alpha < narrow.high < wide.high
    assert wide.n_items == 900
    assert wide.high - wide.low < 0.15


def test_perfect_agreement_has_an_interval_and_undefined_has_none():
    perfect = alpha_interval([[1, 2, 3], [1, 2, 3]], level="interval")
    assert (perfect.alpha, perfect.low, perfect.high) == (1, 1, 1)
    with pytest.warns(UndefinedCorrelationWarning, match="all ratings of items with two ratings are equal"):
        undefined = alpha_interval([[1, 1, 1], [1, 1, 1]])
    assert undefined.to_dict()["low"] is None
    assert math.isnan(alpha_interval([[1, 2], [2, 2]]).low)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_single_disagreement_has_a_finite_interval(confidence):
    interval = alpha_interval([[1, 2, 3, 4, 5], [1, 2, 3, 4, 4]], level="interval", confidence=confidence)
    assert math.isfinite(interval.low)
    assert interval.low < interval.alpha < interval.high <= 1


def test_decisions_replace_means_of_disputed_items():
    open_items = adjudicate(RATINGS)
    assert open_items.scores == {"a": pytest.approx(11.5 / 3), "d": 3.0}
    assert open_items.disputed == {"b": (1.0, 3.0), "c": (2.0, 2.5, 3.0)}
    decided = adjudicate(RATINGS, {"b": 1, "c": 2.5})
    assert decided.scores == {"a": pytest.approx(11.5 / 3), "b": 1.0, "c": 2.5, "d": 3.0}
    assert decided.n_decided == 2
    assert list(decided.scores) == ["a", "b", "c", "d"]
    assert adjudicate(RATINGS, {"b": 1}, limit=1.5).scores["c"] == 2.5
    assert adjudicate([[1, 2], [1, NAN]]).scores == {0: 1.0, 1: 2.0}


@given(st.integers(-100, 100), st.integers(1, 100))
@example(23, 10)  # 3.3 - 2.3 is a little less than 1 in floats
def test_ratings_in_decimals_reach_the_limit_and_the_ends_of_the_scale(low, width):
    ends = low / 10, (low + width) / 10
    assert list(adjudicate([[ends[0]], [ends[1]]], limit=width / 10).disputed) == [0]
    assert not adjudicate([[ends[0]], [ends[1]]], limit=(width + 1) / 10).disputed
    assert mean_ratings([[ends[0], ends[1]]] * 2, scale=ends).scores == {0: 0.0, 1: 1.0}


@pytest.mark.parametrize(
    ("decisions", "limit", "error", "message"),
    [
        ({"a": 3}, 1, AnnotatorError, "no two ratings of these differ by 1 or more, and yet a decision .* on: 'a'"),
        ({"z": 3}, 1, AnnotatorError, "decision is given on: 'z'"),
        ({"b": NAN}, 1, NonNumericError, "decisions must be finite numbers; not those on: 'b'"),
        ([1], 1, OptionError, "decisions must map items to ratings"),
    ],
)
def test_invalid_decisions_are_named(decisions, limit, error, message):
    with pytest.raises(error, match=message):
        adjudicate(RATINGS, decisions, limit=limit)
