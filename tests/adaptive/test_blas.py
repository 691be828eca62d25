"""Linear algebra with small matrices uses one thread, also while several threads fit at once."""

import threading

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - its library must be known when the numbers of threads are read
from threadpoolctl import ThreadpoolController

from adaptive import Comparisons, bradley_terry
from adaptive._blas import MOST_ON_ONE_THREAD, one_blas_thread


@pytest.fixture
def libraries():
    """The BLAS libraries, each set to two threads."""
    controller = ThreadpoolController().select(user_api="blas")
    with controller.limit(limits=2):
        yield controller


def n_threads(libraries):
    return {library["num_threads"] for library in libraries.info()}


def test_small_matrices_use_one_thread(libraries):
    before = n_threads(libraries)
    with one_blas_thread(MOST_ON_ONE_THREAD):
        assert n_threads(libraries) == {1}
        with pytest.raises(ZeroDivisionError), one_blas_thread(2):
            _ = 1 / 0
        assert n_threads(libraries) == {1}
    assert n_threads(libraries) == before
    with one_blas_thread(MOST_ON_ONE_THREAD + 1):
        assert n_threads(libraries) == before


def test_the_limit_holds_until_the_last_thread_has_finished(libraries):
    before = n_threads(libraries)
    has_begun, may_end = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread(10):
            has_begun.set()
            may_end.wait()

    other = threading.Thread(target=hold)
    with one_blas_thread(10):
        other.start()
        has_begun.wait()
    assert n_threads(libraries) == {1}
    may_end.set()
    other.join()
    assert n_threads(libraries) == before


def test_every_thread_can_set_the_limit_after_another(libraries):
    """OpenBLAS applies the limit only in the thread that set it last."""
    limits = []

    def limit():
        with one_blas_thread(10):
            limits.append(n_threads(libraries))

    for _ in range(2):
        limit()
        other = threading.Thread(target=limit)
        other.start()
        other.join()
    assert limits == [{1}] * 4


def test_a_fit_restores_the_number_of_threads(libraries):
    before = n_threads(libraries)
    rng = np.random.default_rng(0)
    left = rng.integers(0, 9, 90)
    votes = Comparisons(9, left, (left + 1) % 9, np.where(rng.random(90) < 0.5, 1, -1))
    strengths = bradley_terry(votes)
    strengths.rank_intervals(n_samples=10)
    assert strengths.standard_errors.size == 9
    assert n_threads(libraries) == before
