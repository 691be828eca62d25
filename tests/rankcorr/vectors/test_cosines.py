"""Cosines are the true ones, rounded to 10 decimals: whole numbers and fractions are the oracle."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import UndefinedCorrelationWarning
from rankcorr.vectors import WordVectors, evaluate_relata, evaluate_vectors, read_vectors
from tests.rankcorr.vectors.forms import binary_of, text_of, written

STEP = Decimal("1e-10")
SPELLINGS = {"colour": (1, 1, 3), "grey": (1, 1, 2), "tyre": (1, 1, 4), "plough": (1, 1, 5)}
NUMBERS = st.floats(-5, 5, width=16).map(lambda number: number + math.copysign(0.01, number))


def signed_square(first, second):
    """Return the cosine times its absolute value, exactly: cosines tie where these do."""
    first, second = (list(map(Fraction, vector)) for vector in (first, second))
    dot, *squares = (sum(map(Fraction.__mul__, a, b)) for a, b in [(first, second), (first, first), (second, second)])
    return dot * abs(dot) / math.prod(squares)


def rounded_cosine(first, second):
    """Return the cosine by 60 digits of decimal arithmetic, rounded to 10 decimals."""
    square = signed_square(first, second)
    with localcontext(prec=60):
        cosine = (Decimal(abs(square.numerator)) / Decimal(square.denominator)).sqrt()
    return math.copysign(float(cosine.quantize(STEP)), square) + 0.0


def all_pairs(vectors):
    return list(itertools.combinations_with_replacement(vectors, 2))


def random_vectors(seed, dtype, n_words=4, dimension=300):
    rows = np.random.default_rng(seed).normal(size=(n_words, dimension)).astype(dtype)
    return {f"w{number}": row for number, row in enumerate(rows)}


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=2, max_size=6), st.sampled_from([1.0, 1e-300, 1e300]))
def test_cosines_are_those_of_the_formula(rows, factor):
    vectors = {str(number): np.array(row) * (factor if number % 2 else 1.0) for number, row in enumerate(rows)}
    pairs = list(itertools.product(vectors, repeat=2))
    cosines = WordVectors.of(vectors).cosines(pairs).tolist()
    assert cosines == [rounded_cosine(vectors[first].tolist(), vectors[second].tolist()) for first, second in pairs]


def test_cosines_of_small_whole_numbers_tie_exactly_where_the_fractions_do():
    vectors = {str(row): row for row in itertools.product(range(-1, 4), repeat=3) if any(row)}
    pairs = all_pairs(vectors)
    cosines = WordVectors.of(vectors).cosines(pairs)
    squares = [signed_square(vectors[first], vectors[second]) for first, second in pairs]
    order = {square: place for place, square in enumerate(sorted(set(squares)))}
    assert np.unique(cosines, return_inverse=True)[1].tolist() == [order[square] for square in squares]
    assert cosines.tolist() == [rounded_cosine(vectors[first], vectors[second]) for first, second in pairs]


@given(
    st.integers(0, 10**6),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from(["memory", "word2vec", "glove", "word2vec-binary"]),
    st.floats(0.0625, 1000),
    st.sampled_from([-1, 1]),
)
def test_twins_of_300_dimensions_have_the_cosine_1_and_the_cosines_of_each_other(
    tmp_path_factory, seed, dtype, form, factor, sign
):
    dtype = np.float32 if form == "word2vec-binary" else dtype
    vectors = random_vectors(seed, dtype)
    order = np.random.default_rng(seed).permutation(300)
    equal = {f"equal {word}": row.copy() for word, row in vectors.items()}
    doubled = {f"doubled {word}": row * dtype(sign * 2) for word, row in vectors.items()}
    scaled = {f"scaled {word}": row * dtype(factor * sign) for word, row in vectors.items()}
    permuted = {f"permuted {word}": row[order] for word, row in vectors.items()}
    everything = {
        word.replace(" ", "_"): row
        for kind in (vectors, equal, doubled, scaled, permuted)
        for word, row in kind.items()
    }
    if form == "memory":
        words = WordVectors.of(everything)
    else:
        content = binary_of(everything) if form == "word2vec-binary" else text_of(everything, header=form != "glove")
        words = read_vectors(written(tmp_path_factory.mktemp("twins") / "vectors", content), form=form)
    for kind, cosine in {"equal": 1.0, "doubled": sign, "scaled": sign}.items():
        assert words.cosines([(word, f"{kind}_{word}") for word in vectors]).tolist() == [cosine] * len(vectors)
    pairs = all_pairs(vectors)
    cosines = words.cosines(pairs).tolist()
    for kind, turn in {"equal": 1, "doubled": sign}.items():
        assert words.cosines([(first, f"{kind}_{second}") for first, second in pairs]).tolist() == [
            turn * cosine + 0.0 for cosine in cosines
        ]
    assert words.cosines([(f"permuted_{first}", f"permuted_{second}") for first, second in pairs]).tolist() == cosines


@given(st.integers(0, 10**6), st.sampled_from([2, 300]))
def test_cosines_that_differ_by_a_step_differ(seed, dimension):
    rng = np.random.default_rng(seed)
    cosine = rng.uniform(-0.99, 0.99)
    first, *others = np.zeros((3, dimension))
    first[0] = 1.0
    for other, number in zip(others, (cosine, cosine + 1.01e-10), strict=True):
        other[:2] = number, math.sqrt(1 - number * number)
    low, high = WordVectors.of({"a": first, "b": others[0], "c": others[1]}).cosines([("a", "b"), ("a", "c")])
    assert low < high <= low + 2.01e-10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosines_depend_on_nothing_but_the_two_vectors(monkeypatch, dtype):
    vectors = random_vectors(1, dtype, n_words=40)
    words = WordVectors.of(vectors)
    pairs = list(itertools.product(vectors, repeat=2))
    cosines = words.cosines(pairs)
    order = np.random.default_rng(2).permutation(len(pairs))
    assert words.cosines([pairs[place] for place in order]).tolist() == cosines[order].tolist()
    assert words.cosines([(second, first) for first, second in pairs]).tolist() == cosines.tolist()
    assert [words.cosine(*pair) for pair in pairs] == cosines.tolist()
    assert np.concatenate([words.cosines_of(word, words.words) for word in vectors]).tolist() == cosines.tolist()
    monkeypatch.setattr("rankcorr.vectors._cosines.BLOCK_NUMBERS", 1)
    monkeypatch.setattr("rankcorr.vectors._cosines.ROUNDING", 1.0)  # every cosine is decided by whole numbers
    assert WordVectors.of(vectors).cosines(pairs).tolist() == cosines.tolist()


def test_no_pair_has_no_cosine():
    words = WordVectors.of({"a": [1.0, 2.0]}, words=["b"])
    assert words.cosines([]).size == 0


def test_equal_vectors_tie_in_every_coefficient():
    twins = {f"{word} again": numbers for word, numbers in SPELLINGS.items()}
    vectors = {**SPELLINGS, **twins, "sun": (1, 0, 0), "mud": (0, 1, 5)}
    gold = {(word, f"{word} again"): 9 for word in SPELLINGS} | {("sun", "mud"): 1}
    with pytest.warns(UndefinedCorrelationWarning, match="resamples, which are left out"):
        evaluation = evaluate_vectors(vectors, gold, n_resamples=10)
    assert [coefficient.statistic for coefficient in evaluation.coefficients] == [1.0] * 4


def test_proportional_vectors_tie_among_the_relata_of_a_word():
    tripled = {f"{word} again": tuple(3 * number for number in row) for word, row in SPELLINGS.items()}
    vectors = {"stone": (2, 1, 7), **SPELLINGS, **tripled}
    gold = {("stone", other): rounded_cosine(vectors["stone"], vectors[other]) for other in [*SPELLINGS, *tripled]}
    evaluation = evaluate_relata(vectors, gold, metrics=["tau_w"], standardized=False)
    assert evaluation.mean("tau_w") == 1.0
