"""Blocks of work, shared among threads, and a progress bar; results do not depend on the number of threads."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from rankcorr.checks import shown, whole_number
from rankcorr.errors import OptionError

Progress: TypeAlias = Callable[[int], object]
Block = TypeVar("Block")
Result = TypeVar("Result")


def checked_workers(workers: int | None) -> int:
    """Return the number of threads or processes to use."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    number = whole_number(workers)
    if number is None or number < 1:
        raise OptionError(f"workers must be a positive whole number; got {shown(workers)}")
    return number


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

    def finished(block: Block, result: Result) -> None:
        results.append(result)
        if progress is not None:
            progress(size(block))

    if workers == 1 or len(blocks) == 1:
        for block in blocks:
            finished(block, task(block))
        return results
    waiting: deque[tuple[Block, Future[Result]]] = deque()
    with ThreadPoolExecutor(min(workers, len(blocks))) as pool:

        def submit(block: Block) -> None:
            waiting.append((block, pool.submit(task, block)))

        try:
            # A few ahead: a future for each block would take far more memory than its result.
            for block in blocks[: 4 * workers]:
                submit(block)
            for following in chain(blocks[4 * workers :], [None] * len(waiting)):
                block, future = waiting.popleft()
                finished(block, future.result())
                if following is not None:
                    submit(following)
        finally:
            for _, future in waiting:
                future.cancel()
    return results


def mapped(task: Callable[[Block], Result], blocks: Iterable[Block], workers: int) -> Iterator[Result]:
    """Results of a task for each block of a stream, in order; one block for each thread, and one more, is held.

    Examples
    --------
    >>> list(mapped(abs, iter([-1, 2, -3]), workers=2))
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
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


@contextmanager
def progress_bar(total: int | None, unit: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar on stderr, for the argument `progress` of the library.

    It does nothing if stderr is not a terminal, tqdm is not installed, or there are no steps. The bar appears only if
    the work takes longer than 0.3 s, and disappears at the end of the block.

    Parameters
    ----------
    total : int or None
        Number of steps; None if it is unknown.
    unit : str
        Name of one step.

    Examples
    --------
    >>> from rankcorr.inference.null import null_distribution
    >>> with progress_bar(100, "permutation") as advance:
    ...     null = null_distribution(range(9), range(9), n_resamples=100, progress=advance)
    """
    if total == 0 or sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda _: None
        return
    with tqdm(total=total, unit=f" {unit}", leave=False, delay=0.3) as bar:
        yield bar.update
