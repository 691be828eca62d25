"""Random resamples in blocks: the same numbers whatever the number of workers, in memory bounded by the blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Final, TypeVar

import numpy as np

from rankcorr.checks import checked_resamples, checked_seed, shown
from rankcorr.errors import OptionError
from rankcorr.inference.sorted_items import derived_seed
from rankcorr.workers import Progress, checked_workers, in_threads

Result = TypeVar("Result")

# Enough work for a thread to outlast its scheduling, few enough numbers to stay in the cache.
BLOCK_NUMBERS = 1 << 15

# Into how many calls of an executor the blocks are put: each takes all data along.
CALLS: Final = 16


@dataclass(frozen=True, slots=True)
class Draws:
    """How resamples are drawn: how many, from which seed, by how many threads, and what is told of the progress.

    With an executor, blocks of tasks that can be pickled are its work, and not that of threads.
    """

    n_resamples: int
    seed: int
    workers: int = 1
    progress: Progress | None = None
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
        """Draws as a public function was asked for them; OptionError for what is no number, or no executor."""
        if executor is not None and not callable(getattr(executor, "submit", None)):
            raise OptionError(f"executor must be a concurrent.futures.Executor; got {shown(executor)}")
        return cls(checked_resamples(n_resamples), checked_seed(seed), checked_workers(workers), progress, executor)

    def of_part(self, *path: int) -> Draws:
        """The same from another seed, so that no two parts of a computation draw the same numbers."""
        return replace(self, seed=derived_seed(self.seed, *path))

    def in_blocks(self, task: Callable[[np.random.Generator, int], Result], numbers_each: int) -> list[Result]:
        """See the function `in_blocks`."""
        return in_blocks(
            task,
            self.n_resamples,
            numbers_each,
            seed=self.seed,
            workers=self.workers,
            progress=self.progress,
            executor=self.executor,
        )


def in_blocks(
    task: Callable[[np.random.Generator, int], Result],
    n_resamples: int,
    numbers_each: int,
    *,
    seed: int,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> list[Result]:
    """Results of a task for each block of resamples.

    Parameters
    ----------
    task : callable
        Takes the generator of a block and the number of its resamples.
    n_resamples : int
        Number of resamples in all blocks together.
    numbers_each : int
        Numbers that one resample takes in memory; it decides the size of the blocks.
    seed : int
        Block i draws from `numpy.random.SeedSequence(seed, spawn_key=(i,))`.
    workers : int, optional
        Number of threads, by default one for each processor.
    progress : callable, optional
        Called with the number of resamples done since the last call; an exception from it stops the work.
    executor : concurrent.futures.Executor, optional
        Does the work in place of threads. The task must be one that can be pickled, where it has processes.

    Examples
    --------
    >>> blocks = in_blocks(lambda rng, size: rng.random(size), 5, 1 << 14, seed=1, workers=2)
    >>> [block.size for block in blocks]
    [2, 2, 1]
    """
    number, key = checked_resamples(n_resamples), checked_seed(seed)
    step = max(1, BLOCK_NUMBERS // max(1, numbers_each))
    blocks = list(enumerate(min(step, number - start) for start in range(0, number, step)))
    if executor is not None:
        return _by_executor(executor, task, key, blocks, progress)
    return in_threads(
        lambda block: _run(task, key, block), blocks, checked_workers(workers), progress, lambda block: block[1]
    )


def _run(task: Callable[[np.random.Generator, int], Result], seed: int, block: tuple[int, int]) -> Result:
    index, size = block
    return task(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index,))), size)


def _run_all(
    task: Callable[[np.random.Generator, int], Result], seed: int, blocks: Sequence[tuple[int, int]]
) -> list[Result]:
    return [_run(task, seed, block) for block in blocks]


def _by_executor(
    executor: Executor,
    task: Callable[[np.random.Generator, int], Result],
    seed: int,
    blocks: Sequence[tuple[int, int]],
    progress: Progress | None,
) -> list[Result]:
    step = max(1, (len(blocks) - 1) // CALLS)
    # The first block is drawn here: processes that compile at once can spoil numba's cache (numba issue 4807).
    parts = [blocks[:1], *(blocks[start : start + step] for start in range(1, len(blocks), step))]
    results = [_run(task, seed, blocks[0])]
    futures = [executor.submit(_run_all, task, seed, part) for part in parts[1:]]
    try:
        for part, future in zip(parts, [None, *futures], strict=True):
            if future is not None:
                results += future.result()
            if progress is not None:
                progress(sum(size for _, size in part))
    finally:
        for future in futures:
            future.cancel()
    return results
