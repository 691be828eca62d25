import math
import pickle
from fractions import Fraction
from itertools import islice

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import OptionError, UndefinedCorrelationWarning
from rankcorr._workers import derived_seed
from rankcorr.evaluation import (
    ColumnError,
    MetricError,
    PartialMismatchError,
    QueryEvaluator,
    SplitQueryError,
    combined_means,
    merged_means,
    partial_means,
)
from rankcorr.evaluation._partitions.poisson import STEP, WORD, moments_of, query_keys, thresholds
from rankcorr.evaluation._query_kernels import scramble
from tests import naive
from tests.rankcorr.evaluation.cases import EVALUATOR, assert_same_means, joined_rows, means_of, split_rows

ONE, TWO = QueryEvaluator("tau"), QueryEvaluator("tau", scores=("a", "b"))
# Multiples of 1/8, because nearly equal values would lose digits to cancellation.
VALUES = st.integers(-8, 8).map(lambda eighths: eighths / 8) | st.just(math.nan)


def frame_of(evaluator, *columns, ids=None):
    """Values of queries, as the evaluator would give them."""
    ids = [f"q{number}" for number in range(len(columns[0]))] if ids is None else ids
    named = dict(zip(evaluator.columns, columns, strict=True))
    return pd.DataFrame({"query": ids, "n_documents": 9, **named})


@given(st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=12), st.data())
def test_means_do_not_depend_on_the_partitions(pairs, data):
    rows = frame_of(TWO, *zip(*pairs, strict=True))
    order = data.draw(st.permutations(range(len(pairs))))
    cut = data.draw(st.integers(0, len(pairs)))
    frames = [rows.iloc[order[:cut]], rows.iloc[order[cut:]]]
    if any(rows[name].notna().sum() == 0 for name in ("a tau", "b tau")):
        with pytest.warns(UndefinedCorrelationWarning, match="no query has a value; .run, metric.: "):
            result = means_of(frames, TWO, n_resamples=40)
    else:
        result = means_of(frames, TWO, n_resamples=40)
        assert_same_means(result, means_of([rows], TWO, n_resamples=40))
    for run, name in (("a", "a tau"), ("b", "b tau")):
        known = [Fraction(value) for value in rows[name].dropna()]
        row = result.of(run=run)
        assert (row.n_queries, row.n_undefined) == (len(known), len(pairs) - len(known))
        expected = float(sum(known) / len(known)) if known else math.nan
        assert row.mean == pytest.approx(expected, abs=1e-15, nan_ok=True)
    both = [first - second for first, second in pairs if not math.isnan(first - second)]
    pair = result.difference("a", "b")
    assert pair.n_queries == len(both)
    assert pair.difference == pytest.approx(math.fsum(both) / len(both) if both else math.nan, abs=1e-15, nan_ok=True)


@pytest.mark.needs_numba
@pytest.mark.parametrize("n_parts", [1, 2, 5, 40])
def test_means_are_equal_for_any_number_of_parts(n_parts):
    rows = joined_rows()
    expected = means_of([EVALUATOR.frame(rows)])
    values = [EVALUATOR.frame(part) for part in split_rows(rows, n_parts, seed=n_parts)]
    assert_same_means(means_of(values), expected)
    assert_same_means(means_of([pd.concat(values)], workers=2), expected)
    parts = [partial_means(frame, EVALUATOR) for frame in values]
    tree = [merged_means(parts[place::3]) for place in range(min(3, n_parts))]
    assert_same_means(combined_means(pickle.loads(pickle.dumps(tree))), expected)


def naive_interval(values, ids, n_resamples, level, seed):
    """Bootstrap-t interval of a mean, from Poisson counts of each query."""
    start = derived_seed(seed) & naive.WORD
    counts = np.array([naive.poisson_counts(naive.query_key(query, start), n_resamples) for query in ids])
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(values.size)
    ratios = []
    for query_counts in counts.T:
        resample = np.repeat(values, query_counts)
        if resample.size > 1:
            ratios.append((resample.mean() - mean) / (resample.std(ddof=1) / math.sqrt(resample.size)))
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return mean, error, mean - high * error, mean - low * error


@pytest.mark.parametrize("seed", [0, 7])
def test_intervals_are_those_of_poisson_counts(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1, 1, (2, 25))
    rows = frame_of(TWO, a, b)
    result = combined_means([partial_means(rows, TWO, n_resamples=99, seed=seed)], level=0.9)
    for values, row in ((a, result.of(run="a")), (b, result.of(run="b")), (a - b, result.difference())):
        mean = row.difference if values is not a and values is not b else row.mean
        expected = naive_interval(values, rows["query"], 99, 0.9, seed)
        assert (mean, row.error, row.low, row.high) == pytest.approx(expected, abs=1e-12)
    assert (result.level, result.n_resamples, result.seed) == (0.9, 99, seed)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_intervals_of_many_queries_are_those_of_student():
    rng = np.random.default_rng(0)
    values = rng.beta(2, 5, 20_000)
    row = means_of([frame_of(ONE, values)], ONE, n_resamples=10_000).of()
    error = scipy.stats.sem(values)
    assert row.error == pytest.approx(error, rel=1e-12)
    half = scipy.stats.t.ppf(0.975, values.size - 1) * error
    np.testing.assert_allclose([row.low, row.high], values.mean() + np.array([-half, half]), atol=0.06 * half)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_intervals_have_their_nominal_coverage():
    rng = np.random.default_rng(1)
    n_sets, n_covered = 400, 0
    for number in range(n_sets):
        values = rng.beta(1, 4, 60)
        ids = [f"{number}/{query}" for query in range(60)]
        row = means_of([frame_of(ONE, values, ids=ids)], ONE, n_resamples=499).of()
        n_covered += row.low <= 0.2 <= row.high
    assert n_covered / n_sets == pytest.approx(0.95, abs=0.033)  # three standard errors


def test_few_queries_and_equal_values():
    one = means_of([frame_of(ONE, [0.5])], ONE).of()
    assert (one.mean, one.n_queries) == (0.5, 1)
    assert np.isnan([one.error, one.low, one.high]).all()
    equal = means_of([frame_of(ONE, [0.1] * 10)], ONE).of()
    assert (equal.mean, equal.low, equal.high) == (0.1, 0.1, 0.1)
    tiny = means_of([frame_of(ONE, [0.25, 0.25 + 1e-9, 0.25 - 1e-9] * 50)], ONE).of()
    assert tiny.low < 0.25 < tiny.high
    assert tiny.high - tiny.low == pytest.approx(2 * 1.96 * 1e-9 * math.sqrt(2 / 3 / 149), rel=0.2)


def test_results_are_tables():
    values = frame_of(TWO, [0.5, 0.25], [0.5, 0.75])
    result = means_of([values], TWO)
    assert result.to_frame()["mean"].tolist() == [0.375, 0.625]
    assert repr(result) == "<QueryMeans of 2 queries: a tau 0.3750, b tau 0.6250>"
    assert result.to_dict()["differences"][0]["difference"] == -0.25
    assert repr(partial_means(values, TWO)) == "<PartialMeans of 2 queries>"
    listed = r"but 2 have metric='tau', standardized=False; run, metric, standardized: \('a', 'tau', False"
    with pytest.raises(OptionError, match=listed):
        result.of("tau")


def test_the_run_that_is_named_first_comes_first():
    result = means_of([frame_of(TWO, [0.5, 0.25, 0.5], [0.5, 0.75, 0.75])], TWO)
    a_minus_b, b_minus_a = result.difference("a", "b"), result.difference("b", "a")
    assert (a_minus_b.first, a_minus_b.second, a_minus_b.difference) == ("a", "b", -0.25)
    assert (b_minus_a.first, b_minus_a.second, b_minus_a.difference) == ("b", "a", 0.25)
    assert (b_minus_a.low, b_minus_a.high) == (-a_minus_b.high, -a_minus_b.low)
    assert b_minus_a.low < 0.25 < b_minus_a.high
    assert (b_minus_a.error, b_minus_a.n_queries) == (a_minus_b.error, 3)
    assert result.difference() is a_minus_b
    assert result.difference("b") == result.difference(second="a") == b_minus_a == a_minus_b.reverse()
    assert result.difference("a") == result.difference(second="b") == a_minus_b == b_minus_a.reverse()


def test_a_reversed_zero_has_no_sign():
    result = means_of([frame_of(TWO, [0.5, 0.25] * 3, [0.5, 0.25] * 3)], TWO).difference("b", "a")
    assert [math.copysign(1, value) for value in (result.difference, result.low, result.high)] == [1, 1, 1]


MEANS = means_of([frame_of(TWO, [0.5, 0.25], [0.5, 0.75])], TWO)
TEXT, NUMBERS = frame_of(ONE, [0.5]), frame_of(ONE, [0.5], ids=[3])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: MEANS.difference("c", "a"), OptionError, "first must be one of 'a', 'b'; got 'c'"),
        (lambda: MEANS.difference("a", "c"), OptionError, "second must be one of 'a', 'b'; got 'c'"),
        (lambda: MEANS.difference("a", "b", metric="ap"), OptionError, "metric must be one of 'tau'; got 'ap'"),
        (lambda: MEANS.difference("a", "a"), OptionError, "two different runs are needed; got 'a' twice"),
        (lambda: MEANS.of(run="c"), OptionError, "run must be one of 'a', 'b'; got 'c'"),
        (lambda: MEANS.difference(standardized=True), OptionError, "not standardized: make the QueryEvaluator with st"),
        (lambda: means_of([TEXT], ONE).difference(), OptionError, "needs two columns of scores; there is only 's"),
        (lambda: combined_means([]), OptionError, "there is no part to combine"),
        (lambda: combined_means([0.5]), OptionError, r"parts must come from partial_means; got 0\.5"),
        (lambda: partial_means(TEXT[["query"]], ONE), ColumnError, "the frame has no column 'tau'; it has 'query'"),
        (lambda: partial_means(frame_of(ONE, [7.0]), ONE), MetricError, "tau: means .* between -1 and 1; got 7"),
        (lambda: partial_means(TEXT.astype({"tau": str}), ONE), MetricError, "'tau' must hold values .* of type"),
        (lambda: means_of([TEXT, NUMBERS], ONE), PartialMismatchError, "are text in one part, and whole numbers in"),
        (lambda: combined_means([partial_means(TEXT, ONE)], level=95), OptionError, "level must be a number above 0"),
        (lambda: partial_means(TEXT, ONE, n_resamples=0), OptionError, "n_resamples must be a positive whole number"),
    ],
)
def test_unknown_names_and_missing_parts_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_split_query_is_named():
    rows = joined_rows(10)
    halves = [EVALUATOR.frame(rows[:50]), EVALUATOR.frame(rows[50:])]
    both = set(halves[0]["query"]) & set(halves[1]["query"])
    with pytest.raises(SplitQueryError, match=rf"or twice: .*\.\.\. \({len(both)} in all\)"):
        means_of(halves)
    with pytest.raises(SplitQueryError, match="or twice: 'q0'; all rows of a query must be in one partition"):
        means_of([frame_of(ONE, [0.5, 0.5], ids=["q0", "q0"])], ONE)


@pytest.mark.parametrize(
    ("other", "options", "message"),
    [
        (QueryEvaluator("rho"), {}, "metrics is .*Tau.* in one part, and .*Rho.* in another"),
        (QueryEvaluator("tau", n_resamples=100), {}, "n_resamples is 500 in one part, and 100 in another"),
        (QueryEvaluator("tau", unjudged="zero"), {}, "unjudged is 'error' in one part, and 'zero' in another"),
        (QueryEvaluator("tau", seed=3), {}, "seed is 0 in one part, and 3 in another"),
        (ONE, {"n_resamples": 5}, "n_resamples of intervals is 1000 in one part, and 5 in another"),
        (ONE, {"seed": 1}, "seed of intervals is 0 in one part, and 1 in another"),
    ],
)
def test_parts_with_different_options_cannot_be_added(other, options, message):
    first = partial_means(frame_of(ONE, [0.5]), ONE)
    second = partial_means(frame_of(other, [0.5], ids=["r"]), other, **options)
    with pytest.raises(PartialMismatchError, match=message):
        combined_means([first, second])


def test_rows_record_their_evaluator():
    rows = pd.DataFrame({"query": ["q", "q"], "relevance": [1, 0], "score": [1.0, 2.0]})
    values = QueryEvaluator("tau", seed=1).batch(rows)
    with pytest.raises(PartialMismatchError, match="seed is 1 in the rows, and 0 in the evaluator"):
        partial_means(values, ONE)
    assert means_of([QueryEvaluator("tau").batch(rows)], ONE).of().mean == -1.0


FLOATS = st.floats(-1, 1, allow_subnormal=True)


def draw_counts(n_queries, n_resamples, seed=0):
    """How often each query counts in each resample."""
    keys = query_keys(pa.array(range(n_queries), pa.int64()), seed)
    return np.array([moments_of(keys[[k]], np.ones((1, 1)), n_resamples)[0].resampled[0] for k in range(n_queries)])


def test_the_generator_gives_the_published_numbers():
    # Rosetta Code, "Pseudo-random numbers/Splitmix64", seed 1234567
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    published += [4593380528125082431, 16408922859458223821]
    assert list(islice(naive.splitmix64(1234567), 5)) == published
    states = np.array([(1234567 + (step + 1) * STEP) & WORD for step in range(5)], np.uint64)
    assert scramble(states).tolist() == published


@given(st.lists(st.text(min_size=1, max_size=20), max_size=8), st.integers(0, 3))
def test_keys_of_text_equal_the_naive_ones(ids, seed):
    start = derived_seed(seed) & WORD
    expected = [naive.query_key(query, start) for query in ids]
    assert query_keys(pa.array(ids, pa.string()), seed).tolist() == expected
    assert query_keys(pa.array(["before", *ids], pa.string())[1:], seed).tolist() == expected


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8), st.integers(0, 3))
def test_keys_of_whole_numbers_equal_the_naive_ones(ids, seed):
    start = derived_seed(seed) & WORD
    assert query_keys(pa.array(ids, pa.int64()), seed).tolist() == [naive.query_key(query, start) for query in ids]


@given(st.lists(FLOATS | st.just(math.nan), min_size=1, max_size=6), st.integers(1, 9))
def test_resamples_are_sums_of_poisson_counts(values, n_resamples):
    keys = query_keys(pa.array([f"q{place}" for place in range(len(values))]), 5)
    counts = [naive.poisson_counts(int(key), n_resamples) for key in keys]
    column = np.array(values)[:, np.newaxis]
    moments = moments_of(keys, np.hstack([column, column / 2]), n_resamples)[0]
    known = [(row, value) for row, value in zip(counts, values, strict=True) if not math.isnan(value)]
    moments = moments.about(0.0) if known else moments
    for resample in range(n_resamples):
        expected = [math.fsum(row[resample] * value**power for row, value in known) for power in range(3)]
        np.testing.assert_allclose(moments.resampled[:, resample], expected, atol=1e-14)
    expected = [math.fsum(value**power for _, value in known) for power in range(3)]
    np.testing.assert_allclose(moments.sums, expected, atol=1e-14)


@given(st.lists(FLOATS, min_size=1, max_size=6), st.lists(FLOATS, max_size=6), FLOATS)
def test_moments_add_up_about_any_center(first, second, center):
    keys = query_keys(pa.array(range(len(first) + len(second)), pa.int64()), 0)
    values = np.array([*first, *second])[:, np.newaxis]
    parts = [moments_of(keys[rows], values[rows], 5)[0] for rows in (slice(len(first)), slice(len(first), None))]
    for total in (parts[0].add(parts[1]), parts[1].add(parts[0])):
        expected = moments_of(keys, values, 5)[0].about(center)
        for sums, others in zip(total.about(center)[1:], expected[1:], strict=True):
            np.testing.assert_allclose(sums, others, atol=1e-13)


def test_thresholds_are_quantiles_of_the_poisson_distribution():
    expected = scipy.stats.poisson.cdf(range(12), 1) * 2**32 - 2**31
    np.testing.assert_allclose(thresholds(), expected, atol=0.51)


@pytest.mark.needs_numba
def test_counts_are_poisson_and_independent():
    counts = draw_counts(400, 501)
    n = counts.size
    observed = np.bincount(np.minimum(counts, 6).astype(int).ravel(), minlength=7)
    chances = scipy.stats.poisson.pmf(range(6), 1)
    expected = n * np.append(chances, 1 - chances.sum())
    assert scipy.stats.chisquare(observed, expected).pvalue > 1e-3
    for side in (counts, counts.T):
        correlations = np.corrcoef(side)[np.triu_indices(len(side), 1)]
        assert abs(correlations.mean()) < 0.001
        assert correlations.std() == pytest.approx(1 / math.sqrt(side.shape[1]), rel=0.05)
    assert not np.array_equal(counts[:5, :50], draw_counts(5, 50, seed=1))


@pytest.mark.needs_numba
def test_sums_do_not_depend_on_blocks_and_threads():
    rng = np.random.default_rng(0)
    n = 40_000  # three blocks
    keys = query_keys(pa.array(range(n), pa.int64()), 0)
    columns = rng.uniform(-2, 2, (n, 2))
    columns[::7, 0] = math.nan
    expected_moments = moments_of(keys, columns, 21)
    assert expected_moments[0].resampled.shape == (3, 21)
    for moments, other in zip(expected_moments, moments_of(keys, columns, 21, workers=2), strict=True):
        assert np.array_equal(moments.resampled, other.resampled)
