import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankcorr import OptionError
from rankcorr._checks import checked_level, checked_resamples, checked_seed
from rankcorr.inference._resampling import BLOCK_NUMBERS, Draws


def drawn(n_resamples, *, seed, **options):
    draws = Draws(n_resamples, seed, **options)
    return np.concatenate(draws.in_blocks(lambda rng, size: rng.random((size, 1000)), 1000))


def test_the_numbers_do_not_depend_on_the_workers():
    expected = drawn(100, seed=3, workers=1)
    assert expected.shape == (100, 1000)
    for workers in (2, 3):
        np.testing.assert_array_equal(drawn(100, seed=3, workers=workers), expected)
    assert not np.array_equal(drawn(100, seed=4), expected)


@pytest.mark.parametrize("n_resamples", [1, 33, 100, 5_000])
def test_the_numbers_do_not_depend_on_the_executor(n_resamples):
    expected, done = drawn(n_resamples, seed=3, workers=1), []
    with ThreadPoolExecutor(3) as executor:
        found = drawn(n_resamples, seed=3, executor=executor, progress=done.append)
    np.testing.assert_array_equal(found, expected)
    assert sum(done) == n_resamples


def test_an_exception_of_the_progress_stops_the_executor():
    started, ended = [], threading.Event()

    def task(rng, size):
        started.append(size)
        return rng.random(size)

    def stop(_done):
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as executor:
        executor.submit(ended.wait, 120)  # nothing of ours starts before
        with pytest.raises(KeyboardInterrupt):
            Draws(100, 0, executor=executor, progress=stop).in_blocks(task, BLOCK_NUMBERS)
        ended.set()
    assert len(started) == 1  # the block that is drawn here


def test_no_two_blocks_are_alike():
    values = drawn(100, seed=0)
    assert len(np.unique(values)) == values.size


def test_more_resamples_begin_with_the_same_whole_blocks():
    whole = BLOCK_NUMBERS // 1000
    np.testing.assert_array_equal(drawn(2 * whole + 5, seed=1)[: 2 * whole], drawn(2 * whole, seed=1))


def test_progress_counts_resamples():
    done = []
    drawn(100, seed=0, progress=done.append)
    assert sum(done) == 100
    assert max(done) == BLOCK_NUMBERS // 1000


@pytest.mark.parametrize("n_resamples", [0, -1, 1.5, True, None, "9"])
def test_invalid_numbers_of_resamples(n_resamples):
    with pytest.raises(OptionError, match="n_resamples must be a positive whole number; got"):
        checked_resamples(n_resamples)


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, "9"])
def test_invalid_seeds(seed):
    with pytest.raises(OptionError, match="seed must be a whole number of 0 or more; got"):
        checked_seed(seed)


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.1, float("nan"), "0.9", None, True])
def test_levels_outside_0_to_1(level):
    with pytest.raises(OptionError, match="level must be a number above 0 and below 1; got"):
        checked_level(level)
