import collections
import itertools

import numpy as np
import scipy.stats

from rankcorr.inference._resampling_kernels import permuted_rows


def permuted(seed, ranks, n_rows):
    rows = np.empty((n_rows, len(ranks)))
    ranks = np.array(ranks, float)
    ranks.flags.writeable = False
    permuted_rows(np.random.default_rng(seed), ranks, rows)
    return rows


def test_rows_are_permutations_and_all_are_equally_likely():
    counts = collections.Counter(map(tuple, permuted(0, [1, 2, 3, 4], 24_000).tolist()))
    assert set(counts) == set(itertools.permutations([1.0, 2.0, 3.0, 4.0]))
    assert scipy.stats.chisquare(list(counts.values())).pvalue > 0.01


def test_every_item_is_equally_likely_at_every_place():
    rows = permuted(1, range(50), 5_000)
    assert (np.sort(rows) == np.arange(50)).all()
    table = np.array([np.bincount(column.astype(int), minlength=50) for column in rows.T])
    # Rows and columns have fixed sums, and so 49 * 49 degrees of freedom; the statistic shrinks by 49/50 for it.
    statistic = ((table - 100) ** 2 / 100).sum() * 49 / 50
    assert 0.005 < scipy.stats.chi2(49 * 49).cdf(statistic) < 0.995


def test_tied_ranks_stay_what_they_are():
    assert (np.sort(permuted(2, [1.5, 1.5, 3, 4.5, 4.5], 20)) == [1.5, 1.5, 3, 4.5, 4.5]).all()


def test_as_plain_python_the_numbers_are_the_same():
    plain = getattr(permuted_rows, "py_func", permuted_rows)
    rows = np.empty((5, 30))
    plain(np.random.default_rng(3), np.arange(30.0), rows)
    assert rows.tolist() == permuted(3, range(30), 5).tolist()
