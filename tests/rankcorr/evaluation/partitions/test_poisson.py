import math
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankcorr.evaluation._partitions.poisson import STEP, WORD, moments_of, query_keys, thresholds
from rankcorr.evaluation._query_kernels import scramble
from rankcorr.inference._resampling import derived_seed
from tests import naive

FLOATS = st.floats(-1, 1, allow_subnormal=True)


def drawn(n_queries, n_resamples, seed=0):
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
def test_keys_of_text(ids, seed):
    start = derived_seed(seed) & WORD
    wanted = [naive.query_key(each, start) for each in ids]
    assert query_keys(pa.array(ids, pa.string()), seed).tolist() == wanted
    assert query_keys(pa.array(["before", *ids], pa.string())[1:], seed).tolist() == wanted


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=8), st.integers(0, 3))
def test_keys_of_whole_numbers(ids, seed):
    start = derived_seed(seed) & WORD
    assert query_keys(pa.array(ids, pa.int64()), seed).tolist() == [naive.query_key(each, start) for each in ids]


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


def test_thresholds_are_the_distribution_function():
    wanted = scipy.stats.poisson.cdf(range(12), 1) * 2**32 - 2**31
    np.testing.assert_allclose(thresholds(), wanted, atol=0.51)


@pytest.mark.needs_numba
def test_counts_are_poisson_and_independent():
    counts = drawn(400, 501)
    n = counts.size
    observed = np.bincount(np.minimum(counts, 6).astype(int).ravel(), minlength=7)
    chances = scipy.stats.poisson.pmf(range(6), 1)
    expected = n * np.append(chances, 1 - chances.sum())
    assert scipy.stats.chisquare(observed, expected).pvalue > 1e-3
    for side in (counts, counts.T):
        correlations = np.corrcoef(side)[np.triu_indices(len(side), 1)]
        assert abs(correlations.mean()) < 0.001
        assert correlations.std() == pytest.approx(1 / math.sqrt(side.shape[1]), rel=0.05)
    assert not np.array_equal(counts[:5, :50], drawn(5, 50, seed=1))


@pytest.mark.needs_numba
def test_sums_do_not_depend_on_blocks_and_threads():
    rng = np.random.default_rng(0)
    n = 40_000  # three blocks
    keys = query_keys(pa.array(range(n), pa.int64()), 0)
    columns = rng.uniform(-2, 2, (n, 2))
    columns[::7, 0] = math.nan
    whole = moments_of(keys, columns, 21)
    assert whole[0].resampled.shape == (3, 21)
    for moments, other in zip(whole, moments_of(keys, columns, 21, workers=2), strict=True):
        assert np.array_equal(moments.resampled, other.resampled)
