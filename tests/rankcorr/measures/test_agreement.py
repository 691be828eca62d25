import csv
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import assume, given
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
    krippendorff_alpha,
    mean_pairwise_agreement,
    outlying_annotators,
)
from tests.coefficients import collapsed
from tests.rankcorr.measures import naive

NAN = math.nan
LEVEL = st.sampled_from(["nominal", "ordinal", "interval", "ratio"])

# Docstring of `krippendorff.alpha` 0.9.0.
THREE_CODERS = [
    [NAN, NAN, NAN, NAN, NAN, 3, 4, 1, 2, 1, 1, 3, 3, NAN, 3],
    [1, NAN, 2, 1, 3, 3, 4, 3, NAN, NAN, NAN, NAN, NAN, NAN, NAN],
    [NAN, NAN, 2, 1, 3, 4, 4, NAN, 2, 1, 1, 3, 3, NAN, 4],
]
# The same docstring, which takes this example and its alphas from page 8 of a text on alpha.
FOUR_CODERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]


@pytest.mark.parametrize(
    ("ratings", "level", "published", "atol"),
    [
        (THREE_CODERS, "nominal", 0.691358, 5e-7),
        (THREE_CODERS, "interval", 0.810845, 5e-7),
        (FOUR_CODERS, "nominal", 0.743, 5e-4),
        (FOUR_CODERS, "ordinal", 0.815, 5e-4),
        (FOUR_CODERS, "ratio", 0.797, 5e-4),
    ],
)
def test_published_alphas(ratings, level, published, atol):
    assert_allclose(krippendorff_alpha(ratings, level=level), published, rtol=0, atol=atol)


@st.composite
def incomplete(draw, min_annotators=2, max_annotators=4):
    """Ratings from 0 to 4; None is a missing one."""
    n_items = draw(st.integers(1, 6))
    rating = st.one_of(st.none(), st.integers(0, 4), st.integers(0, 4))
    row = st.lists(rating, min_size=n_items, max_size=n_items)
    rows = draw(st.lists(row, min_size=min_annotators, max_size=max_annotators))
    assume(any(sum(value is not None for value in column) > 1 for column in zip(*rows, strict=True)))
    return rows


def with_nan(rows):
    return [[NAN if value is None else value for value in row] for row in rows]


@given(incomplete(), LEVEL)
def test_alpha_is_that_of_all_pairs_of_ratings(rows, level):
    expected = naive.krippendorff_alpha(rows, level)
    if expected is None:
        with pytest.warns(UndefinedCorrelationWarning, match="all ratings of items with two ratings are equal"):
            assert math.isnan(krippendorff_alpha(with_nan(rows), level=level))
    else:
        assert_allclose(krippendorff_alpha(with_nan(rows), level=level), expected, rtol=0, atol=1e-12)


@given(incomplete(), LEVEL, st.randoms(use_true_random=False))
def test_alpha_does_not_depend_on_order_names_or_lone_ratings(rows, level, random):
    assume(naive.krippendorff_alpha(rows, level) is not None)
    expected = krippendorff_alpha(with_nan(rows), level=level)
    named = {}
    for name, row in enumerate(rows):
        items = [(item, rating) for item, rating in enumerate(row) if rating is not None]
        random.shuffle(items)
        named[name] = dict(items)
    named[0]["lone"] = 9
    shuffled = list(named.items())
    random.shuffle(shuffled)
    assert_allclose(krippendorff_alpha(dict(shuffled), level=level), expected, rtol=0, atol=1e-12)


@given(incomplete())
def test_what_each_level_leaves_alpha_unchanged(rows):
    ratings = np.array(with_nan(rows))
    assume(naive.krippendorff_alpha(rows, "nominal") is not None)
    for level, changed in (
        ("nominal", (ratings * 3) % 5),
        ("ordinal", ratings**3 - 7),
        ("interval", 2 * ratings - 5),
        ("ratio", 4 * ratings),
    ):
        assert_allclose(
            krippendorff_alpha(changed, level=level), krippendorff_alpha(ratings, level=level), rtol=0, atol=1e-12
        )


def test_perfect_agreement_is_one():
    assert krippendorff_alpha([[1, 2, 3], [1, 2, 3]], level="ordinal") == 1


def test_alpha_of_equal_ratings_warns_here():
    with pytest.warns(UndefinedCorrelationWarning, match="all ratings of items with two ratings are equal") as caught:
        assert math.isnan(krippendorff_alpha([[1, 1, 2], [1, 1, NAN]]))
    assert caught[0].filename == __file__


def test_alpha_that_cannot_be():
    with pytest.raises(AnnotatorError, match="agreement needs at least two annotators; got 1"):
        krippendorff_alpha([[1, 2, 3]])
    with pytest.raises(AnnotatorError, match="alpha needs an item with at least two ratings; there is none"):
        krippendorff_alpha([[1, NAN], [NAN, 1]])
    with pytest.raises(NonNumericError, match=r"ratings at level 'ratio' must not be negative; got: -1\.0"):
        krippendorff_alpha([[1, -1], [1, 2]], level="ratio")
    with pytest.raises(
        OptionError, match="level must be one of 'nominal', 'ordinal', 'interval', 'ratio'; got 'count'"
    ):
        krippendorff_alpha([[1, 2], [1, 2]], level="count")


def test_alpha_without_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(ImportError, match=r"needs the package krippendorff: pip install 'rankcorr\[agreement\]'"):
        krippendorff_alpha([[1, 2], [1, 2]])


def test_ways_to_give_ratings():
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


@pytest.mark.parametrize(
    ("ratings", "error", "message"),
    [
        ({}, AnnotatorError, "agreement needs at least two annotators; got 0"),
        ([1, 2], DimensionError, r"ratings must have a row for each annotator; got an array of shape \(2,\)"),
        ([[1, 2], [1]], DimensionError, "ratings must form an array; their rows differ in length"),
        ([["a", "b"], ["a", "b"]], NonNumericError, "every rating must be a number, or nan; got: 'a', 'b', 'a', 'b'"),
        ([[1, None], [1, 2]], NonNumericError, "every rating must be a number, or nan; got: None"),
        ([[1, math.inf], [1, 2]], NonNumericError, r"every rating must be finite; infinite at .*: \(0, 1\)"),
        ({"a": [1, 2], "b": [1]}, LengthError, "with nan for a missing one; got lengths 1, 2"),
        ({"a": [1, 2], "b": {"x": 1}}, LabelError, "the ratings of 'b' have labels and those of 'a' have none"),
        ({"a": [[1, 2]], "b": [1]}, DimensionError, r"the ratings of 'a' must have one dimension; got shape \(1, 2\)"),
        (
            np.ma.array([["x", "y"], ["z", "w"]], mask=[[1, 0], [0, 0]]),
            NonNumericError,
            "every rating must be a number, or nan; got: 'y', 'z', 'w'",
        ),
        (np.ma.array([[1j, 1], [1, 2]], mask=[[1, 0], [0, 0]]), NonNumericError, r"or nan; got: \(1\+0j\)"),
        (
            [[10**400, 1], [1, 2]],
            NonNumericError,
            r"every rating that is an integer must be at most 2\^53 in size; got",
        ),
        ([[2**53 + 1, NAN], [2**53, 1]], NonNumericError, r"at most 2\^53 in size; got: 9007199254740993$"),
        ({"a": np.array([2**60, 1]), "b": [1, 2]}, NonNumericError, "every rating of 'a' that is an integer must be"),
        ([[Fraction(10**400), 1], [1, 2]], NonNumericError, r"every rating must be finite; infinite at .*: \(0, 0\)"),
        ({"a": ["x"], "b": [1]}, NonNumericError, "every rating of 'a' must be a number, or nan; got: 'x'"),
        (
            {"a": pd.Series([1, 2], ["x", "x"]), "b": {"x": 1}},
            DuplicateLabelError,
            "the ratings of 'a' name an item more than once",
        ),
        (
            pd.DataFrame([[1, 2], [1, 2]], columns=["a", "a"]),
            DuplicateLabelError,
            "names of annotators must be unique; more than once: 'a'",
        ),
    ],
)
def test_ratings_that_are_not(ratings, error, message):
    with pytest.raises(error, match=message):
        krippendorff_alpha(ratings)


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

    with pytest.raises(AnnotatorError, match=r"must have rated 3 items in common; fewer .*: \('bob', 'cat', 2\)"):
        mean_pairwise_agreement(ratings)
    left_out = mean_pairwise_agreement(ratings, few_common="leave_out")
    assert (left_out.n_left_out, left_out.with_others[2]) == (1, 1)
    with pytest.raises(AnnotatorError, match=r"must have rated 4 items in common; fewer"):
        mean_pairwise_agreement(ratings, min_common=4, few_common="leave_out")
    with pytest.raises(ValueError, match="read-only"):
        agreement.pairs[0, 0] = 1


def test_a_constant_annotator_is_left_out_of_the_means_and_named():
    with pytest.warns(
        UndefinedCorrelationWarning, match=r"tied in one of the ratings of: \(0, 2\), \(1, 2\)"
    ) as caught:
        agreement = mean_pairwise_agreement([[1, 2, 3], [1, 3, 2], [5, 5, 5]])
    assert caught[0].filename == __file__
    assert_allclose(agreement.with_others, [0.5, 0.5, NAN], rtol=1e-15)
    assert_allclose(agreement.mean, 0.5, rtol=1e-15)
    with pytest.raises(AnnotatorError, match="the agreement of some annotators is undefined: 2"):
        outlying_annotators(agreement)


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
def test_pairwise_agreement_is_that_of_the_call_for_a_pair(options):
    rows = [[5, 5, 3, 2, 1, 1], [4, 6, 6, 6, 2, 1], [1, 2, 2, 5, 5, 4]]
    agreement = mean_pairwise_agreement(rows, **collapsed(**options))
    correlation = {"tau_w": weighted_tau, "rho_w": weighted_rho}[options["coefficient"]]
    keywords = {name: value for name, value in options.items() if name != "coefficient"}
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert agreement.pairs[i, j] == agreement.pairs[j, i]
        assert_allclose(agreement.pairs[i, j], correlation(rows[i], rows[j], **keywords).statistic, rtol=1e-14)


def test_options_of_pairwise_agreement():
    with pytest.raises(OptionError, match="min_common must be a whole number of at least 2; got 1"):
        mean_pairwise_agreement([[1, 2], [1, 2]], min_common=1)
    with pytest.raises(OptionError, match="few_common must be one of 'raise', 'leave_out'; got 'skip'"):
        mean_pairwise_agreement([[1, 2], [1, 2]], few_common="skip")
    with pytest.raises(OptionError, match="coefficient must be one of"):
        mean_pairwise_agreement([[1, 2], [1, 2]], coefficient="spearman")


def test_outlying_annotators_by_hand():
    ratings = {"ann": [1, 2, 3, 4], "bob": [1, 3, 2, 4], "cat": [2, 1, 3, 4], "dan": [4, 3, 2, 1]}
    agreement = mean_pairwise_agreement(ratings)
    # Spearman: ann-bob .8, ann-cat .8, bob-cat .4, ann-dan -1, bob-dan -.8, cat-dan -.8.
    means = np.array([0.6, 0.4, 0.4, -2.6]) / 3
    assert_allclose(agreement.with_others, means, rtol=1e-14)
    assert_allclose(agreement.mean, -0.1, rtol=1e-14)
    for ddof in (0, 1):
        found = outlying_annotators(agreement, ddof=ddof)
        assert (found.outlying, found.kept, found.ddof) == (("dan",), ("ann", "bob", "cat"), ddof)
        assert_allclose(found.threshold, -0.1 - math.sqrt(((means + 0.1) ** 2).sum() / (4 - ddof)), rtol=1e-14)
    # dan is 2.3/3 below the mean, which is 1.497 times the standard deviation of 0.5121.
    assert outlying_annotators(agreement, n_std=1.49).outlying == ("dan",)
    assert outlying_annotators(agreement, n_std=1.5).outlying == ()


@pytest.mark.parametrize(
    ("rows", "ddof", "means", "mean", "std"),
    [
        # Spearman .6, .2, .8, -.2 of the first with the others, then -.2, .8, .2, then -.4, .6, then -.4.
        (
            [[2, 4, 1, 3], [1, 3, 2, 4], [2, 4, 3, 1], [2, 3, 1, 4], [1, 3, 4, 2]],
            1,
            [0.35, 0.35, 0.05, 0.2, 0.05],
            0.2,
            0.15,
        ),
        # Spearman 1 of the equal ones, -1/2 of the middle two, 1/2 of the others.
        ([[3, 2, 1], [2, 3, 1], [3, 1, 2], [3, 2, 1]], 0, [2 / 3, 1 / 6, 1 / 6, 2 / 3], 5 / 12, 1 / 4),
    ],
)
def test_who_is_at_the_threshold_is_not_below_it(rows, ddof, means, mean, std):
    agreement = mean_pairwise_agreement(rows)
    found = outlying_annotators(agreement, ddof=ddof)
    assert_allclose(agreement.with_others, means, rtol=0, atol=1e-15)
    assert_allclose([found.mean, found.std], [mean, std], rtol=0, atol=1e-15)
    assert found.outlying == ()


@pytest.mark.parametrize("n_std", [-1, NAN, math.inf, "1"])
def test_number_of_standard_deviations(n_std):
    with pytest.raises(OptionError, match="n_std must be a number, not negative; got"):
        outlying_annotators(mean_pairwise_agreement([[1, 2, 3], [1, 2, 3]]), n_std=n_std)


def test_degrees_of_freedom():
    with pytest.raises(OptionError, match="ddof must be 0 or 1; got 2"):
        outlying_annotators(mean_pairwise_agreement([[1, 2, 3], [1, 2, 3]]), ddof=2)


@pytest.mark.real_data
def test_human_and_machine_judgements_of_russian_pairs(data_dir):
    """Spearman .789 of 333 pairs, as the folder's README says; .790 in Table 3 of Panchenko et al. for all 398."""
    with (data_dir / "russe_hj_vs_mj.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    ratings = {name: {(row["word1"], row["word2"]): float(row[name]) for row in rows} for name in ("hj", "mj")}
    agreement = mean_pairwise_agreement(ratings)
    assert agreement.mean == pytest.approx(0.789, rel=0, abs=5e-4)
    assert agreement.n_common[0, 1] == 333


@pytest.mark.real_data
def test_alpha_of_real_votes_is_that_of_all_pairs_of_votes(data_dir):
    """Votes of llmfao by item (prompt and pair of models): 1 for left, 0 for a tie, -1 for right."""
    value = {"left": 1, "tie": 0, "right": -1}
    votes = {}
    with (data_dir / "llmfao.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            votes.setdefault(row["worker"], {})[row["id"]] = value[row["winner"]]
    names = sorted({item for rated in votes.values() for item in rated})[:8]
    rows = [[rated.get(item) for item in names] for rated in votes.values()]
    alpha = {level: krippendorff_alpha(with_nan(rows), level=level) for level in ("nominal", "ordinal", "interval")}
    for level, found in alpha.items():
        assert_allclose(found, naive.krippendorff_alpha(rows, level), rtol=0, atol=1e-12)
        assert 0 < found < 1
