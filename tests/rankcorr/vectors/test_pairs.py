"""Gold scores of pairs of words, and labels of relata, against cosines."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rankcorr import (
    MissingValueError,
    NonNumericError,
    OptionError,
    TableError,
    Tau,
    TauW,
    UndefinedCorrelationWarning,
    UnicodeFormWarning,
    correlation_interval,
    leaderboard,
    permutation_test,
    weighted_tau,
)
from rankcorr.evaluation import evaluate
from rankcorr.measures import average_precision
from rankcorr.vectors import (
    DuplicatePairError,
    LowCoverageWarning,
    SelfPairWarning,
    UnknownWordError,
    VectorError,
    VectorValueError,
    WordVectors,
    common_pairs,
    evaluate_relata,
    evaluate_vectors,
    read_pairs,
    relata_by_relation,
)
from tests import naive
from tests.rankcorr.vectors.test_reading import write_file


def case(seed=0, n_words=30, n_pairs=60, n_absent=3):
    """Vectors, and gold scores with some words that have no vector."""
    rng = np.random.default_rng(seed)
    vectors = {f"w{number}": rng.normal(size=8) for number in range(n_words)}
    words = [*vectors, *(f"absent{number}" for number in range(n_absent))]
    pairs = {tuple(sorted(rng.choice(words, 2, replace=False).tolist())) for _ in range(n_pairs)}
    return vectors, {pair: float(rng.integers(0, 11)) for pair in sorted(pairs)}


def test_each_coefficient_is_that_of_the_library():
    vectors, gold = case()
    result = evaluate_vectors(vectors, gold, n_resamples=200, seed=4, level=0.9)
    known = {pair: score for pair, score in gold.items() if vectors.keys() >= set(pair)}
    cosines = {(a, b): naive.cosine(vectors[a], vectors[b]) for a, b in known}
    assert [row.coefficient for row in result.coefficients] == ["rho_w", "tau_w", "rho", "tau"]
    for row in result.coefficients:
        options = {"coefficient": row.coefficient, "n_resamples": 200, "seed": 4}
        test = permutation_test(known, cosines, alternative="greater", **options)
        interval = correlation_interval(known, cosines, level=0.9, **options)
        assert (row.statistic, row.chance, row.standardized, row.percentile, row.pvalue, row.low, row.high) == (
            *(test.statistic, test.null.mean, test.standardized, test.percentile, test.pvalue),
            *(interval.low, interval.high),
        )
    rho = stats.spearmanr(list(known.values()), list(cosines.values())).statistic
    assert result.statistic("rho") == pytest.approx(rho, abs=1e-9)
    assert (result.n_pairs, result.n_compared) == (len(gold), len(known))
    assert set(result.oov_pairs) == gold.keys() - known.keys()
    assert result.oov_words == ("absent0", "absent1", "absent2")


def test_pairs_without_a_vector_are_tied_below_all_others():
    vectors, gold = case()
    result = evaluate_vectors(vectors, gold, coefficients=[TauW(n0=10)], oov="lowest", n_resamples=50)
    cosines = {pair: -2.0 if math.isnan(cosine) else cosine for pair, cosine in zip(gold, result.cosines, strict=True)}
    assert result.statistic("TauW(n0=10)") == weighted_tau(gold, cosines, n0=10).statistic
    assert result.n_compared == result.n_pairs == len(gold)
    assert [math.isnan(cosine) for cosine in result.cosines] == [pair in result.oov_pairs for pair in gold]


def test_pairs_of_a_word_with_itself_are_named_or_left_out():
    vectors, gold = case(n_absent=0)
    rest = {"coefficients": ["tau_w"], "n_resamples": 40}
    with pytest.warns(SelfPairWarning, match=r"self_pairs=\"omit\" leaves them out: \('w1', 'w1'\), \('W2', 'w2'\)"):
        result = evaluate_vectors(vectors, {("w1", "w1"): 99.0, ("W2", "w2"): 98.0, **gold}, lower=True, **rest)
    assert result.n_pairs == len(gold) + 2
    assert result.cosines[:2].tolist() == pytest.approx([1.0, 1.0])
    left = evaluate_vectors(vectors, {("w1", "w1"): 99.0, **gold}, self_pairs="omit", **rest)
    expected = evaluate_vectors(vectors, gold, **rest)
    assert (left.pairs, left.coefficients) == (expected.pairs, expected.coefficients)


def test_words_without_a_vector_are_an_error_by_name():
    vectors, gold = case()
    with pytest.raises(UnknownWordError, match="words without a vector: 'absent0', 'absent1', 'absent2'"):
        evaluate_vectors(vectors, gold, oov="error")
    with pytest.raises(UnknownWordError, match="at least two pairs with vectors are needed; 1 of 2 have them"):
        evaluate_vectors(vectors, {("w1", "w2"): 1, ("w1", "absent0"): 2})
    with pytest.raises(UnknownWordError, match="'cat' has no vector"):
        WordVectors.of(vectors).cosine("w1", "cat")


def test_words_are_looked_up_in_lower_case():
    vectors, gold = case(n_absent=0)
    upper = {(first.upper(), second): score for (first, second), score in gold.items()}
    result = evaluate_vectors(vectors, upper, coefficients=["rho"], lower=True, n_resamples=40)
    assert result.statistic("rho") == evaluate_vectors(vectors, gold, coefficients=["rho"]).statistic("rho")
    assert not result.oov_pairs
    assert len(evaluate_vectors(vectors, {**upper, **gold}, coefficients=["rho"]).oov_pairs) == len(gold)


def test_the_result_as_a_table_and_as_json():
    vectors, gold = case()
    result = evaluate_vectors(vectors, gold, coefficients=["tau", "rho"], n_resamples=40)
    assert result.to_frame()["coefficient"].tolist() == ["tau", "rho"]
    content = result.to_dict()
    assert content["n_compared"] == result.n_compared
    assert content["coefficients"][0]["statistic"] == result.statistic("tau")
    assert content["cosines"].count(None) == len(result.oov_pairs)
    values = ", ".join(f"{name} {result.statistic(name):.4f}" for name in ("tau", "rho"))
    assert repr(result) == f"<VectorEvaluation of {result.n_compared} of {result.n_pairs} pairs: {values}>"
    with pytest.raises(OptionError, match="coefficient must be one of 'tau', 'rho'; got 'rho_w'"):
        result.statistic("rho_w")


def test_figures_of_an_undefined_coefficient_are_nan():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 1.0]}
    with pytest.warns(UndefinedCorrelationWarning):
        result = evaluate_vectors(vectors, {("a", "b"): 2, ("a", "c"): 2}, coefficients=["tau"])
    row = result.coefficients[0]
    assert all(map(math.isnan, (row.statistic, row.chance, row.low, row.high)))


@pytest.mark.parametrize(
    ("gold", "error", "message"),
    [
        ({("a", "b"): 1, "ab": 2}, VectorError, "keys of gold must be pairs of words; got: 'ab'"),
        ([("a", "b", 1)], VectorError, r"gold must be a path or a mapping of \(word, word\) to score; got \[\('a'"),
        ({("a", "b"): 1, ("a", "c"): math.nan}, MissingValueError, r"\('a', 'c'\)"),
        ({("a", "b"): 1, ("a", "c"): "x"}, NonNumericError, "must be a real number"),
        ({("a", "b"): 1, ("a", "c"): 10**400}, NonNumericError, r"64-bit floats; that of \('a', 'c'\) is 1000"),
        ({("a", "b"): 1, ("b", "a"): 2}, DuplicatePairError, r"only once, in either order .*; repeated: \('a', 'b'\)"),
        ("absent.tsv", TableError, "absent.tsv: cannot be read"),
    ],
)
def test_invalid_gold_scores_are_refused(gold, error, message):
    with pytest.raises(error, match=message):
        evaluate_vectors({"a": [1.0], "b": [2.0], "c": [3.0]}, gold)


@pytest.mark.parametrize(
    ("vectors", "error", "message"),
    [
        ({"a": [1.0, 2.0], "b": [1.0]}, VectorValueError, "the vector of 'b': 'b' has 1 numbers; the others have 2"),
        ({"a": [0.0, 0.0], "b": [1.0]}, VectorValueError, "the vector of 'a': all numbers of 'a' are 0"),
        ({"a": [1.0, math.inf]}, VectorValueError, "the vector of 'a': number 2 of 'a' is inf"),
        ({"a": "no"}, VectorValueError, "a vector of numbers is expected for 'a'; got 'no'"),
        ({"a": [[1.0], [1.0, 2.0]]}, VectorValueError, "a vector of numbers is expected for 'a'"),
        ({"a": np.ma.array([1.0, 2.0], mask=[0, 1])}, VectorValueError, "a vector of numbers is expected for 'a'"),
        ({"a": [[1.0]]}, VectorValueError, "a vector of numbers is expected for 'a'"),
        ([1.0], VectorError, r"must be a mapping of word to vector or KeyedVectors \(read_vectors .* file\); got"),
        ({1: [1.0]}, VectorError, "a word must be text, not empty; got 1"),
    ],
)
def test_invalid_vectors_are_refused(vectors, error, message):
    with pytest.raises(error, match=message):
        WordVectors.of(vectors)


def test_the_columns_of_pairs_can_be_named(tmp_path):
    file = tmp_path / "pairs.tsv"
    file.write_text("word1\tword2\tgold\tlch\ngem\tjewel\t3.94\t3.6\ncord\tsmile\t0.02\t1.5\n")
    first = {("gem", "jewel"): 3.94, ("cord", "smile"): 0.02}
    assert read_pairs(file, score_column="gold") == first
    assert read_pairs(file, word_columns=["word2", "word1"], score_column="lch")["jewel", "gem"] == 3.6
    message = (
        r"say which column holds the numbers \(--score\) \(in Python, word_columns and score_column\); the columns are"
    )
    with pytest.raises(TableError, match=message):
        read_pairs(file)
    with pytest.raises(TableError, match='column "Rank" holds ranks, and similarities are needed'):
        read_pairs(write_file(tmp_path / "ranks.csv", "word1,word2,Rank\ngem,jewel,1\ncord,smile,2\n"))
    with pytest.raises(TableError, match=r"say which column holds the words \(--words\) and the numbers"):
        read_pairs(write_file(tmp_path / "two.csv", "word1,gold\ngem,3.94\n"))
    for wrong in ("word1", ["word1"], ["word1", "word2", "gold"]):
        with pytest.raises(OptionError, match="word_columns must be a list of two names of columns"):
            read_pairs(file, word_columns=wrong)
    file.write_text("gem,jewel,3.94\ncord,smile,0.02\n")
    assert read_pairs(file) == read_pairs(file, header=False) == first
    file.write_text("a,b,score\ngem,jewel,3.94\ngem,jewel,1.94\nx,y,0\n")
    with pytest.raises(TableError, match=r'pairs\.tsv:3: column "a, b": "gem", "jewel" is also on line 2'):
        read_pairs(file)
    assert read_pairs(file, duplicates="mean") == {("gem", "jewel"): 2.94, ("x", "y"): 0}


def test_pairs_in_both_orders_are_averaged_on_request(tmp_path):
    file = write_file(tmp_path / "pairs.csv", "a,b,score\njewel,gem,3.5\ngem,jewel,2.5\nx,y,0\n")
    assert read_pairs(file) == {("jewel", "gem"): 3.5, ("gem", "jewel"): 2.5, ("x", "y"): 0}
    averaged = read_pairs(file, unordered=True, duplicates="mean")
    assert averaged == {("jewel", "gem"): 3, ("x", "y"): 0}
    vectors = {"gem": [1.0, 0.0], "jewel": [0.9, 0.1], "x": [1.0, 0.0], "y": [0.0, 1.0]}
    assert evaluate_vectors(vectors, averaged, coefficients=["rho"], n_resamples=40).pairs == tuple(averaged)
    message = r':3: column "a, b": "gem", "jewel" is also on line 2, as "jewel", "gem"; .* duplicates="mean" or'
    for call in (lambda: read_pairs(file, unordered=True), lambda: evaluate_vectors(vectors, file)):
        with pytest.raises(TableError, match=message):
            call()


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("gem jewel 3.94\ncord smile 0.02\n", {}),  # MEN
        ("gem;jewel;3.94\ncord;smile;0.02\n", {}),
        ("# of 1965\n\n# Word 1\tWord 2\tHuman, mean\ngem\tjewel\t3.94\ncord\tsmile\t0.02\n", {}),
        ("gem\tjewel\tN\t3.94\tX\ncord\tsmile\tN\t0.02\tY\n", {"score_column": "4"}),  # SimVerb-3500
        ("a,b,mean,1,2\ngem,jewel,3.94,3,4\ncord,smile,0.02,0,1\n", {"score_column": "mean"}),  # WS-353, set 1
        ("i\tgem\tjewel\t3.94\nt\tcord\tsmile\t0.02\n", {"word_columns": ["2", "3"], "score_column": "4"}),
    ],
)
def test_published_formats_of_gold_scores(tmp_path, text, options):
    file = write_file(tmp_path / "gold.txt", text)
    assert read_pairs(file, **options) == {("gem", "jewel"): 3.94, ("cord", "smile"): 0.02}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# a,b\ngem jewel x\ncord smile 1\nsun moon y\n", r':4: column "x": "y" is not a number'),
        ("gem jewel 3.94\ncord  smile 0.02\n", ":2: expected 3 cells, as in the first row; got 4"),
        ('gem jewel 3.94\n"cord"s smile 0.02\n', ":2: no space after a closing quote"),
        ("gem\tjewel\tN\t3.94\ncord\tsmile\tN\t0.02\n", r':1: say .*\(--score\) .*; the columns are "1", "2", "3",'),
        ("1984 book 3.94\ncord smile 0.02\n1984 war x\n", r':3: column "3": "x" is not a number'),
        ("gem,jewel,3\n", ":1: .*this line looks like data; use --no-header"),
    ],
)
def test_ambiguous_gold_scores_are_refused(tmp_path, text, message):
    with pytest.raises(TableError, match=rf"gold\.txt{message}"):
        read_pairs(write_file(tmp_path / "gold.txt", text))


def test_common_pairs_have_vectors_in_every_set():
    vectors, gold = case()
    sets = [{word: vectors[word] for word in vectors if word not in left} for left in ((), ("w1",), ("w2", "w3"))]
    common = common_pairs(sets, gold)
    assert common == {pair: score for pair, score in gold.items() if all(table.keys() >= set(pair) for table in sets)}
    assert len(common) < len([pair for pair in gold if vectors.keys() >= set(pair)])
    upper = {(first.upper(), second): score for (first, second), score in gold.items()}
    assert len(common_pairs(sets, upper, lower=True)) == len(common)
    with pytest.raises(UnknownWordError, match=r"at least two pairs must have all vectors; 0 of \d+ have them"):
        common_pairs([*sets, {"w1": [1.0]}], gold)


@pytest.mark.parametrize("oov", ["omit", "lowest"])
def test_the_scores_are_a_system_without_nan(oov):
    vectors, gold = case()
    result = evaluate_vectors(vectors, gold, oov=oov, coefficients=["tau"], n_resamples=40)
    scores = result.scores
    assert list(scores) == [pair for pair in gold if oov == "lowest" or pair not in result.oov_pairs]
    known = {pair: score for pair, score in gold.items() if pair in scores}
    assert Tau()(known, scores).statistic == result.statistic("tau")
    lowest = [pair for pair, score in scores.items() if score == -math.inf]
    assert lowest == (list(result.oov_pairs) if oov == "lowest" else [])
    other = evaluate_vectors({word: vectors[word][:2] for word in vectors}, known, oov=oov, n_resamples=40).scores
    systems = {"all": scores, "two": other}
    board = leaderboard(known, systems, missing="intersection", coefficient="tau", n_resamples=40)
    assert {row.system for row in board.rows} == {"all", "two"}


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")  # resamples of two pairs
def test_low_coverage_is_a_warning():
    vectors, gold = {"a": [1.0, 0.1], "b": [0.2, 1.0], "c": [1.0, 1.0]}, {("a", "b"): 1.0, ("a", "c"): 2.0}
    others = {(f"x{number}", "a"): 0.0 for number in range(3)}
    options = {"coefficients": ["tau"], "n_resamples": 40}
    for call in (
        lambda pairs: evaluate_vectors(vectors, pairs, **options),
        lambda pairs: evaluate_vectors(vectors, pairs, oov="lowest", **options),
        lambda pairs: common_pairs([vectors], pairs),
    ):
        with pytest.warns(LowCoverageWarning, match="only 2 of 5 pairs have vectors"):
            call(gold | others)
        call(gold | dict(list(others.items())[:2]))  # half of the pairs is enough


@pytest.mark.filterwarnings("ignore::rankcorr.errors.LowCoverageWarning")
@pytest.mark.filterwarnings("ignore::rankcorr.errors.SelfPairWarning")
@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "column", "n_pairs", "n_in_both_orders"),
    [
        ("EN-RG-65_wordnet30.tsv", "gold", 65, 0),
        ("EN-WS-353-SIM_wordnet30.tsv", "gold", 203, 0),
        ("russe_hj_vs_mj.csv", "hj", 333, 2),
    ],
)
def test_published_gold_scores_are_read(data_dir, name, column, n_pairs, n_in_both_orders):
    ordered = read_pairs(data_dir / name, score_column=column)
    assert len(ordered) == n_pairs
    gold = read_pairs(data_dir / name, score_column=column, unordered=True, duplicates="mean")
    assert len(gold) == n_pairs - n_in_both_orders
    for pair, score in gold.items():
        assert score == pytest.approx(np.mean([ordered[order] for order in (pair, pair[::-1]) if order in ordered]))
    if n_in_both_orders:
        with pytest.raises(DuplicatePairError, match="only once, in either order of its words"):
            evaluate_vectors({"a": [1.0]}, ordered)
    rng = np.random.default_rng(0)
    vectors = {word: rng.normal(size=5) for pair in list(gold)[:40] for word in pair}
    result = evaluate_vectors(vectors, gold, coefficients=["rho"], n_resamples=100)
    known = [pair for pair in gold if vectors.keys() >= set(pair)]
    expected = stats.spearmanr([gold[pair] for pair in known], [naive.cosine(*(vectors[w] for w in p)) for p in known])
    assert result.statistic("rho") == pytest.approx(expected.statistic, abs=1e-9)
    assert result.n_compared == len(known)


@pytest.mark.parametrize("from_file", [False, True])
def test_a_word_in_another_unicode_form_is_named(from_file, tmp_path):
    vectors = {"caf\u00e9": [1.0, 2.0], "tea": [2.0, 1.0], "bar": [1.0, 1.0], "pub": [0.0, 1.0]}
    if from_file:
        (tmp_path / "v.txt").write_text("".join(f"{word} {x} {y}\n" for word, (x, y) in vectors.items()), "utf-8")
    source = tmp_path / "v.txt" if from_file else vectors
    gold = {("cafe\u0301", "tea"): 1, ("tea", "pub"): 2, ("tea", "bar"): 3}
    for evaluation_of in (evaluate_vectors, evaluate_relata):
        with pytest.warns(UnicodeFormWarning, match=r"word ids .* not matched: 'caf\\xe9' and 'cafe\\u0301'") as warned:
            evaluation_of(source, gold, n_resamples=40)
        assert any(warning.filename == __file__ for warning in warned)
    gold = {("caf\u00e9", "tea"): 1, ("bar", "pub"): 2, ("tea", "bar"): 3}
    assert evaluate_vectors(source, gold, coefficients=["rho"], n_resamples=40).oov_words == ()


@pytest.mark.skipif(np.finfo(np.longdouble).bits == 64, reason="long doubles are doubles on this machine")
@pytest.mark.parametrize(("number", "message"), [("1e4000", "number 1 of 'cat' is inf"), ("1e-4000", "are 0")])
def test_a_long_double_beyond_doubles_is_refused(number, message):
    with pytest.raises(VectorValueError, match=message):
        WordVectors.of({"cat": np.array([number, number]).astype(np.longdouble), "dog": [1.0, 2.0]})


def test_vectors_in_memory_are_accepted():
    vectors = WordVectors.of({"cat": [3, 4], "dog": [4, 3], "cow": [1, 0]}, words=["dog", "absent", "cat"])
    assert repr(vectors) == "<WordVectors of 2 words, 2 dimensions>"
    assert (len(vectors), vectors.n_known, vectors.vectors.dtype) == (2, 3, np.float64)
    assert WordVectors.of(vectors) is vectors
    with pytest.raises(ValueError, match="read-only"):
        vectors.vectors[0, 0] = 1


STEP = Decimal("1e-10")
NUMBERS = st.floats(-5, 5, width=16).map(lambda number: number + math.copysign(0.01, number))


def signed_square(first, second):
    """Return the exact cosine times its absolute value, which ties exactly if the cosines do."""
    first, second = (list(map(Fraction, vector)) for vector in (first, second))
    dot, *squares = (sum(map(Fraction.__mul__, a, b)) for a, b in [(first, second), (first, first), (second, second)])
    return dot * abs(dot) / math.prod(squares)


def rounded_cosine(first, second):
    """Return the cosine, computed with 60 decimal digits and rounded to 10 decimals."""
    square = signed_square(first, second)
    with localcontext(prec=60):
        cosine = (Decimal(abs(square.numerator)) / Decimal(square.denominator)).sqrt()
    return math.copysign(float(cosine.quantize(STEP)), square) + 0.0


def all_pairs(vectors):
    return list(itertools.combinations_with_replacement(vectors, 2))


def random_vectors(seed, dtype, n_words=4):
    rows = np.random.default_rng(seed).normal(size=(n_words, 300)).astype(dtype)
    return {f"w{number}": row for number, row in enumerate(rows)}


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=2, max_size=6), st.sampled_from([1.0, 1e-300, 1e300]))
def test_cosines_follow_their_formula(rows, factor):
    vectors = {str(number): np.array(row) * (factor if number % 2 else 1.0) for number, row in enumerate(rows)}
    pairs = list(itertools.product(vectors, repeat=2))
    cosines = WordVectors.of(vectors).cosines(pairs).tolist()
    assert cosines == [rounded_cosine(vectors[first].tolist(), vectors[second].tolist()) for first, second in pairs]


def test_cosines_of_small_whole_numbers_tie_exactly_if_the_fractions_do():
    vectors = {str(row): row for row in itertools.product(range(-1, 3), repeat=3) if any(row)}
    pairs = all_pairs(vectors)
    cosines = WordVectors.of(vectors).cosines(pairs)
    squares = [signed_square(vectors[first], vectors[second]) for first, second in pairs]
    order = {square: place for place, square in enumerate(sorted(set(squares)))}
    assert np.unique(cosines, return_inverse=True)[1].tolist() == [order[square] for square in squares]
    assert cosines.tolist() == [rounded_cosine(vectors[first], vectors[second]) for first, second in pairs]


@given(
    st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]), st.floats(0.0625, 1000), st.sampled_from([-1, 1])
)
def test_equal_vectors_of_300_dimensions_have_cosine_1_and_equal_cosines_with_others(seed, dtype, factor, sign):
    vectors = random_vectors(seed, dtype)
    order = np.random.default_rng(seed).permutation(300)
    equal = {f"equal {word}": row.copy() for word, row in vectors.items()}
    doubled = {f"doubled {word}": row * dtype(sign * 2) for word, row in vectors.items()}
    scaled = {f"scaled {word}": row * dtype(factor * sign) for word, row in vectors.items()}
    permuted = {f"permuted {word}": row[order] for word, row in vectors.items()}
    words = WordVectors.of(vectors | equal | doubled | scaled | permuted)
    for kind, cosine in {"equal": 1.0, "doubled": sign, "scaled": sign}.items():
        assert words.cosines([(word, f"{kind} {word}") for word in vectors]).tolist() == [cosine] * len(vectors)
    pairs = all_pairs(vectors)
    cosines = words.cosines(pairs).tolist()
    for kind, turn in {"equal": 1, "doubled": sign}.items():
        assert words.cosines([(first, f"{kind} {second}") for first, second in pairs]).tolist() == [
            turn * cosine + 0.0 for cosine in cosines
        ]
    assert words.cosines([(f"permuted {first}", f"permuted {second}") for first, second in pairs]).tolist() == cosines


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
def test_cosines_depend_only_on_the_two_vectors(monkeypatch, dtype):
    vectors = random_vectors(1, dtype, n_words=40)
    words = WordVectors.of(vectors)
    pairs = list(itertools.product(vectors, repeat=2))
    cosines = words.cosines(pairs)
    order = np.random.default_rng(2).permutation(len(pairs))
    assert words.cosines([pairs[place] for place in order]).tolist() == cosines[order].tolist()
    assert words.cosines([(second, first) for first, second in pairs]).tolist() == cosines.tolist()
    assert [words.cosine(*pair) for pair in pairs] == cosines.tolist()
    assert np.concatenate([words.cosines_of(word, words.words) for word in vectors]).tolist() == cosines.tolist()
    monkeypatch.setattr("rankcorr.vectors._words.BLOCK_NUMBERS", 1)
    monkeypatch.setattr("rankcorr.vectors._words.ROUNDING", 1.0)  # all cosines are computed with integers
    assert WordVectors.of(vectors).cosines(pairs).tolist() == cosines.tolist()


def test_no_pairs_have_no_cosines():
    words = WordVectors.of({"a": [1.0, 2.0]}, words=["b"])
    assert words.cosines([]).size == 0


def relata_case(seed=0):
    """Vectors and labels of relata; one word and two relata have no vector."""
    rng = np.random.default_rng(seed)
    words = [f"t{number}" for number in range(6)]
    relata = [f"r{number}" for number in range(12)]
    gold = {
        (word, relatum): int(rng.integers(0, 2)) for word in words for relatum in rng.choice(relata, 7, False).tolist()
    }
    vectors = {word: rng.normal(size=5) for word in [*words[1:], *relata[2:]]}
    return vectors, gold


def rank_relata(vectors, gold, candidates="gold"):
    """Naive run over the words that have vectors."""
    relata = {relatum for _, relatum in gold}
    run = {}
    for word in {word for word, _ in gold} & vectors.keys():
        word_relata = relata - {word} if candidates == "all" else {relatum for first, relatum in gold if first == word}
        run[word] = {other: naive.cosine(vectors[word], vectors[other]) for other in word_relata & vectors.keys()}
    return run


def nest_by_word(gold):
    qrels = {}
    for (word, relatum), score in gold.items():
        qrels.setdefault(word, {})[relatum] = score
    return qrels


@given(st.integers(0, 1000), st.sampled_from(["gold", "all"]), st.sampled_from([None, 3]))
def test_values_are_those_of_an_evaluation_by_query(seed, candidates, depth):
    vectors, gold = relata_case(seed)
    options = {"metrics": ["tau", "ap"], "depth": depth, "standardized": False}
    result = evaluate_relata(vectors, gold, candidates=candidates, **options)
    known = {pair: score for pair, score in gold.items() if vectors.keys() >= set(pair)}
    expected = evaluate(nest_by_word(known), rank_relata(vectors, gold, candidates), **options)
    for metric in ("tau", "ap"):
        assert result.evaluation.of(metric) == pytest.approx(expected.of(metric), abs=1e-12, nan_ok=True)
    assert (result.oov_words, set(result.oov_relata)) == (("t0",), {"r0", "r1"} & {relatum for _, relatum in gold})
    assert (result.n_words, result.n_relata) == (6, len(gold))


def test_relata_without_a_vector_are_last():
    vectors = {"t": [1.0, 0.0], "a": [1.0, 0.1], "b": [0.5, 1.0]}
    gold = {("t", "b"): 2, ("t", "a"): 1, ("t", "absent"): 1, ("u", "a"): 1, ("u", "b"): 0}
    result = evaluate_relata(vectors, gold, oov="lowest", metrics=["tau_w", "ap"])
    assert result.evaluation.queries == ("t", "u")
    tau_w = weighted_tau([2, 1, 1], [2, 3, 1])  # nothing is ranked for u
    assert result.mean("tau_w") == pytest.approx(tau_w, abs=1e-12)
    assert result.mean("ap") == pytest.approx((2 / 3 + 0) / 2)  # two of three are ranked first; nothing is ranked for u


def test_relata_without_a_vector_are_an_error_by_name():
    vectors, gold = relata_case()
    with pytest.raises(UnknownWordError, match="words without a vector: 't0', "):
        evaluate_relata(vectors, gold, oov="error")
    with pytest.raises(UnknownWordError, match="no word has a vector and a relatum with one, in 2 pairs"):
        evaluate_relata({"t": [1.0], "b": [1.0]}, {("t", "a"): 1, ("u", "b"): 0})


def test_lower_case_follows_the_vectors():
    vectors, gold = relata_case()
    upper = {(word.upper(), relatum.upper()): score for (word, relatum), score in gold.items()}
    assert evaluate_relata(vectors, upper, lower=True).mean("ap") == evaluate_relata(vectors, gold).mean("ap")


def test_json_and_repr_have_options_and_means():
    vectors, gold = relata_case()
    result = evaluate_relata(vectors, gold)
    content = result.to_dict()
    assert content["options"] == {"oov": "omit", "lower": False, "candidates": "gold"}
    assert content["evaluation"]["means"][1]["mean"] == result.mean("ap")
    means = f"tau_w {result.mean('tau_w'):.4f}, ap {result.mean('ap'):.4f}"
    assert repr(result) == f"<RelataEvaluation of 6 words, {len(gold)} relata: {means}>"


@given(st.integers(0, 1000), st.sampled_from(["omit", "lowest"]))
def test_pooled_average_precision_ranks_all_pairs_in_one_list(seed, oov):
    vectors, gold = relata_case(seed)
    cosines = {
        (first, second): naive.cosine(vectors[first], vectors[second]) if vectors.keys() >= {first, second} else -2.0
        for first, second in gold
    }
    pairs = [pair for pair in gold if oov == "lowest" or cosines[pair] > -2]
    relevance = [gold[pair] for pair in pairs]
    result = evaluate_relata(vectors, gold, oov=oov, standardized=False)
    if any(relevance):
        assert result.pooled_ap == pytest.approx(average_precision(relevance, [cosines[pair] for pair in pairs]))
    else:
        assert np.isnan(result.pooled_ap)


def test_each_relation_is_evaluated_with_the_unrelated_pairs_of_its_words():
    rng = np.random.default_rng(5)
    vectors = {word: rng.normal(size=4) for word in "abcdefgh"}
    gold = {("a", "b"): 1, ("a", "c"): 1, ("a", "d"): 0, ("a", "e"): 0, ("f", "g"): 1, ("f", "h"): 0}
    relations = {("a", "b"): "hyper", ("a", "c"): "mero", ("f", "g"): "hyper"}
    by_relation = relata_by_relation(vectors, gold, relations, metrics=["ap"])
    assert list(by_relation) == ["hyper", "mero"]
    alone = evaluate_relata(vectors, {pair: gold[pair] for pair in gold if pair != ("a", "c")}, metrics=["ap"])
    assert by_relation["hyper"].mean("ap") == alone.mean("ap")
    assert by_relation["mero"].n_relata == 3
    with pytest.raises(OptionError, match="every related pair needs a relation; without one"):
        relata_by_relation(vectors, gold, {})
    with pytest.raises(OptionError, match=r"the name of a relation must be hashable.*; got \['mero'\]"):
        relata_by_relation(vectors, gold, {pair: ["mero"] for pair in gold})
    with pytest.raises(OptionError, match="every related pair needs a relation; got None"):
        relata_by_relation(vectors, gold, dict.fromkeys(gold))
