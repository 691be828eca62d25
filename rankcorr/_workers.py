"""Work in blocks for threads and executors, random draws, and the loader of the compiled loops.

Results do not depend on the number of threads.
"""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache
from itertools import starmap
from types import ModuleType
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import alpha_of, checked_count, checked_seed, shown
from rankcorr.errors import OptionError

Progress: TypeAlias = Callable[[int], object]
Values: TypeAlias = NDArray[np.float64]
Block = TypeVar("Block")
Result = TypeVar("Result")

# Enough work for a thread to outlast its scheduling, few enough numbers to stay in the cache.
BLOCK_NUMBERS = 1 << 15
# Number of calls of an executor that the blocks of draws are divided into: each call takes all data along.
CALLS: Final = 16


def checked_workers(workers: int | None) -> int:
    """Return the number of threads or processes to use."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return checked_count(workers, "workers")


def silent(_number: int) -> None:
    """Report no progress."""


def in_threads(
    task: Callable[[Block], Result],
    blocks: Sequence[Block],
    workers: int,
    progress: Progress | None = None,
    size: Callable[[Block], int] = lambda _: 1,
) -> list[Result]:
    """Results of a task for each block, in the order of the blocks.

    `progress` is called from the calling thread after each block, in order, with its size. An exception from it
    stops the work: no further block starts, and the exception propagates to the caller.
    """
    results: list[Result] = []
    # A few ahead: a future for each block would take far more memory than its result.
    block_results = map_in_threads(task, blocks, workers if len(blocks) > 1 else 1, ahead=4 * workers)
    with closing(block_results):  # an exception of `progress` stops the work
        for block, result in zip(blocks, block_results, strict=True):
            results.append(result)
            if progress is not None:
                progress(size(block))
    return results


def map_in_threads(
    task: Callable[[Block], Result], blocks: Iterable[Block], workers: int, *, ahead: int | None = None
) -> Generator[Result, None, None]:
    """Yield the result of a task for each block of a stream, in order; at most `ahead` + 1 are held at once.

    `ahead` is by default the number of threads.

    Examples
    --------
    >>> list(map_in_threads(abs, iter([-1, 2, -3]), workers=2))
    [1, 2, 3]
    """
    if workers == 1:
        yield from map(task, blocks)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        try:
            for block in blocks:
                waiting.append(pool.submit(task, block))
                if len(waiting) > (workers if ahead is None else ahead):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def in_executor(
    executor: Executor | None, task: Callable[..., Result], calls: Sequence[tuple[Any, ...]]
) -> Generator[Result, None, None]:
    """Results of a task for the arguments of each call, in order, from an executor, or one by one without one.

    The first call runs here: processes that compile at once can spoil numba's cache (numba issue 4807). Calls that have
    not begun are cancelled where the caller stops.

    Examples
    --------
    >>> with ThreadPoolExecutor() as executor:
    ...     list(in_executor(executor, pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    here = calls if executor is None else calls[:1]
    yield from starmap(task, here)
    futures = [executor.submit(task, *call) for call in calls[1:]] if executor is not None else []
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


@dataclass(frozen=True, slots=True)
class Draws:
    """How resamples are drawn: their number and seed, the number of threads, and the progress callback.

    An executor, if given, runs blocks of tasks that can be pickled; no threads are used then.
    """

    n_resamples: int
    seed: int
    workers: int = 1
    progress: Progress = silent
    executor: Executor | None = None

    @classmethod
    def checked(
        cls,
        n_resamples: object,
        seed: object,
        workers: int | None,
        progress: Progress | None,
        executor: Executor | None = None,
    ) -> Draws:
        """Check the arguments of a public function and return its draws, or raise OptionError."""
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise OptionError(f"executor must be a concurrent.futures.Executor; got {shown(executor)}")
        number = checked_count(n_resamples, "n_resamples")
        return cls(number, checked_seed(seed), checked_workers(workers), progress or silent, executor)

    def check_reach(self, level: float, n_ends: int = 2) -> None:
        """Refuse too few resamples for one beyond each end of an interval, or with 1 end for a significant p-value."""
        least = math.ceil(n_ends / alpha_of(level) - 1e-9) - 1
        if self.n_resamples < least:
            why = "no test could be significant" if n_ends == 1 else "intervals would be too narrow"
            raise OptionError(
                f"n_resamples must be at least {least:,} at level {level:g}, or {why}; got {self.n_resamples:,}"
            )

    def of_part(self, *path: int) -> Draws:
        """The same from another seed, so that no two parts of a computation draw the same numbers."""
        return replace(self, seed=derived_seed(self.seed, *path))

    def limit(self, most: int) -> Draws:
        """Return the same draws, but at most `most` of them; they can be stopped, and do not count as progress."""
        return replace(self, n_resamples=min(self.n_resamples, most), progress=lambda _: self.progress(0))

    def in_blocks(self, task: Callable[[np.random.Generator, int], Result], numbers_per_resample: int) -> list[Result]:
        """Results of a task for each block of resamples, the same for any number of threads.

        Parameters
        ----------
        task : callable
            Takes the generator of a block and the number of its resamples. Block i draws from
            `numpy.random.SeedSequence(seed, spawn_key=(i,))`.
        numbers_per_resample : int
            Numbers that one resample takes in memory; this determines the size of the blocks.

        Examples
        --------
        >>> blocks = Draws(5, seed=1, workers=2).in_blocks(lambda rng, size: rng.random(size), 1 << 14)
        >>> [block.size for block in blocks]
        [2, 2, 1]
        """
        step = max(1, BLOCK_NUMBERS // max(1, numbers_per_resample))
        starts = range(0, self.n_resamples, step)
        blocks = list(enumerate(min(step, self.n_resamples - start) for start in starts))
        if self.executor is None:
            return in_threads(
                lambda block: _run(task, self.seed, block), blocks, self.workers, self.progress, lambda block: block[1]
            )
        step = max(1, (len(blocks) - 1) // CALLS)
        parts = [blocks[:1], *(blocks[start : start + step] for start in range(1, len(blocks), step))]
        results: list[Result] = []
        with closing(in_executor(self.executor, _run_all, [(task, self.seed, part) for part in parts])) as part_results:
            for part, values in zip(parts, part_results, strict=True):
                results += values
                self.progress(sum(size for _, size in part))
        return results


def _run(task: Callable[[np.random.Generator, int], Result], seed: int, block: tuple[int, int]) -> Result:
    index, size = block
    return task(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,))), size)


def _run_all(
    task: Callable[[np.random.Generator, int], Result], seed: int, blocks: Sequence[tuple[int, int]]
) -> list[Result]:
    return [_run(task, seed, block) for block in blocks]


def derived_seed(seed: int, *path: int) -> int:
    """Return a separate seed for each part of a computation, so that no two parts draw the same numbers."""
    state = np.random.SeedSequence(seed, spawn_key=(0, *path)).generate_state(2, np.uint64)
    return int(state[0]) << 64 | int(state[1])


@cache
def loops() -> ModuleType:
    """Return `rankcorr._rank_kernels`.

    An import statement inside a function costs 0.5 us each time: with four of them, a tenth of a call for 100 items.

    Examples
    --------
    >>> loops().ADDITIVE
    0
    """
    from rankcorr import _rank_kernels as kernels

    return kernels
