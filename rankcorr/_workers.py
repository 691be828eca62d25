"""Blocks of work, shared among threads, and a progress bar; results do not depend on the number of threads."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from itertools import starmap
from typing import Any, TypeAlias, TypeVar

from rankcorr._checks import checked_count

Progress: TypeAlias = Callable[[int], object]
Block = TypeVar("Block")
Result = TypeVar("Result")


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
    block_results = mapped(task, blocks, workers if len(blocks) > 1 else 1, ahead=4 * workers)
    with closing(block_results):  # an exception of `progress` stops the work
        for block, result in zip(blocks, block_results, strict=True):
            results.append(result)
            if progress is not None:
                progress(size(block))
    return results


def mapped(
    task: Callable[[Block], Result], blocks: Iterable[Block], workers: int, *, ahead: int | None = None
) -> Generator[Result, None, None]:
    """Yield the result of a task for each block of a stream, in order; at most `ahead` + 1 are held at once.

    `ahead` is by default the number of threads.

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


@contextmanager
def progress_bar(total: int | None, unit: str, of: str) -> Iterator[Callable[[int], Any]]:
    """Yield a function that advances a progress bar on stderr, for the argument `progress` of the library.

    It does nothing if stderr is not a terminal, tqdm is not installed, or there are no steps. The bar appears only if
    the work takes longer than 0.3 s, and disappears at the end of the block.

    Parameters
    ----------
    total : int or None
        Number of steps; None if it is unknown.
    unit : str
        Name of one step.
    of : str
        What the steps are for, such as "tests against chance".

    Examples
    --------
    >>> from rankcorr.inference._null import null_distribution
    >>> with progress_bar(100, "permutation", "null distribution") as advance:
    ...     null = null_distribution(range(9), range(9), n_resamples=100, progress=advance)
    """
    if total == 0 or sys.stderr is None or not sys.stderr.isatty():
        yield silent
        return
    try:
        from tqdm import tqdm
    except ImportError:
        yield silent
        return
    with tqdm(desc=of, total=total, unit=f" {unit}", leave=False, delay=0.3) as bar:
        yield bar.update
