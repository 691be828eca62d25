"""The three distributions, the quantile table, and values from a file."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from adaptive.errors import SimilarityError
from adaptive.simulation._similarity import (
    SIMILARITIES,
    checked_similarity,
    embedding_similarity,
    exponential_similarity,
    named_similarity,
    power_law_similarity,
    read_similarities,
)
from rankcorr.errors import TableError

pytestmark = pytest.mark.wide

SIZES = st.integers(2, 3000)


@given(SIZES)
def test_exponential_is_the_formula(n_items):
    expected = [2 * math.exp(-i / n_items) - 1 for i in range(n_items)]
    assert_allclose(exponential_similarity(n_items), expected, atol=1e-15)


@given(SIZES)
def test_power_law_is_the_formula(n_items):
    expected = [2 / (1 + math.sqrt(i / n_items)) - 1 for i in range(n_items)]
    assert_allclose(power_law_similarity(n_items), expected, atol=1e-15)


@pytest.mark.parametrize("name", SIMILARITIES)
@given(SIZES)
def test_best_first_without_ties_within_bounds(name, n_items):
    similarity = named_similarity(name, n_items)
    assert similarity.shape == (n_items,)
    assert similarity.dtype == np.float64
    assert np.all(np.diff(similarity) < 0)
    assert np.array_equal(checked_similarity(similarity), similarity)


@pytest.mark.parametrize("n_items", [2, 3, 45, 990, 100_000])
def test_embedding_keeps_its_ends(n_items):
    similarity = embedding_similarity(n_items)
    assert (similarity[0], similarity[-1]) == (0.7652, -0.1828)  # the extremes of the 990 cosines, to four digits


def test_embedding_quantiles_hardly_depend_on_n():
    few, many = embedding_similarity(100), embedding_similarity(99 * 50 + 1)
    assert_allclose(few, many[::50], atol=1e-12)


def test_embedding_has_no_ties_of_relatedness():
    for n_items in (45, 990, 10_000):
        assert np.unique(np.abs(embedding_similarity(n_items))).size == n_items


@pytest.mark.real_data
def test_embedding_table_against_the_file(data_dir):
    cosines = read_similarities(data_dir / "similarity_samearea.csv")
    ours = embedding_similarity(cosines.size)
    assert cosines.size == 990
    assert_allclose(ours[:13], cosines[:13], atol=5.1e-5)  # the top is there item by item, to four digits
    assert_allclose(ours[-6:], cosines[-6:], atol=5.1e-5)
    assert_allclose(ours[:60], cosines[:60], atol=0.001)
    assert_allclose(ours, cosines, atol=0.005)
    assert abs(np.abs(ours).mean() - np.abs(cosines).mean()) < 2e-4


def test_unknown_distribution():
    with pytest.raises(SimilarityError, match="one of 'exponential', 'power_law', 'embedding'; got 'gaussian'"):
        named_similarity("gaussian", 10)


@pytest.mark.parametrize("function", SIMILARITIES.values())
@pytest.mark.parametrize("n_items", [1, 0, -3, 2.0, True, "10", None])
def test_number_of_items(function, n_items):
    with pytest.raises(SimilarityError, match=f"whole number of 2 or more; got {re.escape(repr(n_items))}"):
        function(n_items)


# Values of one's own.


@pytest.mark.parametrize(
    ("similarity", "message"),
    [
        ([0.1, math.nan], r"\[-1, 1\]: similarity\[1\] is nan"),
        ([0.1, 1.5, -0.2, -2], r"similarity\[1\] is 1.5, similarity\[3\] is -2$"),
        ([2] * 7, r"similarity\[4\] is 2, ... \(7 in all\)"),
        ([math.inf, 0], r"similarity\[0\] is inf"),
        ([0.5], "at least two items are needed; got 1"),
        ([[0.1, 0.2]], r"one dimension; got shape \(1, 2\)"),
        (0.5, r"one dimension; got shape \(\)"),
        ([[0.1], [0.2, 0.3]], "rows that differ in length"),
        (["0.1", "0.2"], "real numbers; got an array of <U3"),
        ([True, False], "real numbers; got an array of bool"),
        ([0.1j, 0.2], "real numbers; got an array of complex128"),
        ([None, 0.2], "real numbers; got an array of object"),
    ],
)
def test_what_is_no_similarity(similarity, message):
    with pytest.raises(SimilarityError, match=message):
        checked_similarity(similarity)


def test_whole_numbers_are_similarities():
    assert checked_similarity([1, 0, -1]).dtype == np.float64


# Files.


FILE = "f.csv"


@pytest.mark.parametrize(
    "content",
    [
        "similarity\n0.5\n-1\n",
        ",similarity\n0,0.5\n1,-1",
        b"\xef\xbb\xbfsimilarity,pair\r\n0.5,a\r\n\r\n -1 ,b\r\n",
        'pair,"similarity"\n"a\nb",5e-1\nc,"-1.0"\n',
    ],
)
def test_read_similarities(write, content):
    assert read_similarities(write(content)).tolist() == [0.5, -1]


def test_read_another_column(write):
    assert read_similarities(write("similarity,cosine\n0.5,0.1\n0.4,0.2\n"), column="cosine").tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("", TableError, r"f\.csv: the file is empty"),
        ("a,b\n1,2\n", TableError, r'f\.csv:1: one column "similarity" is expected; the columns are "a", "b"$'),
        ("similarity,similarity\n1,2\n", TableError, r'f\.csv:1: one column "similarity" is expected'),
        ("a,similarity\nx,1\n\ny\n", TableError, r'f\.csv:4: 2 cells .* got 1, none for "similarity"'),
        ("Similarity\n0.1\n", TableError, r'f\.csv:1: column "Similarity": did you mean "similarity"\?'),
        ("similarity\n1\nhigh\n", TableError, r'f\.csv:3: column "similarity": "high" is not a number'),
        ("a,similarity\nx,\ny,1\n", TableError, r'f\.csv:2: column "similarity": empty cell'),
        ("similarity\n1_0\n1\n", TableError, r'f\.csv:2: column "similarity": "1_0" is not a number'),
        ("similarity\n1\n\N{ARABIC-INDIC DIGIT ONE}", TableError, r'f\.csv:3: column "similarity": .* is not a number'),
        (b"similarity\n0.1\n\xff\n", TableError, r"f\.csv:3: byte 0xff is not UTF-8"),
        ('similarity\n0.1\n"0.2\n', TableError, r"f\.csv:3: a quote is opened here and never closed"),
        ("similarity\n0.1\nnan\n", TableError, r'f\.csv:3: column "similarity": "nan" is not a value'),
        ("similarity\n0.1\n1.01\n", TableError, r"f\.csv:3: column .similarity.: '1.01' lies outside \[-1, 1\]"),
        ("similarity\n-inf\n1\n", TableError, r"f\.csv:2: column .similarity.: '-inf' lies outside"),
        ("similarity\n0.1\n", TableError, r"f\.csv: similarities of at least two items are needed; got 1"),
    ],
)
def test_what_is_wrong_with_a_file(write, content, error, message):
    with pytest.raises(error, match=message):
        read_similarities(write(content))


def test_a_missing_file(tmp_path):
    with pytest.raises(TableError, match=r"none\.csv: cannot be read: No such file"):
        read_similarities(tmp_path / "none.csv")
