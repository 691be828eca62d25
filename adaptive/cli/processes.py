"""Processes for the commands that simulate."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from rankcorr import UndefinedCorrelationWarning


@contextmanager
def quiet_executor(workers: int) -> Iterator[Executor | None]:
    """Give an executor of processes, or None for one; undefined coefficients are told of once, by the caller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedCorrelationWarning)
        if workers == 1:
            yield None
            return
        # A process that is forked has no progress bar's thread, but may have its lock.
        with ProcessPoolExecutor(
            workers, get_context("spawn"), warnings.simplefilter, ("ignore", UndefinedCorrelationWarning)
        ) as executor:
            yield executor
