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
    """Give an executor of processes, or None for one process; the caller reports undefined coefficients once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedCorrelationWarning)
        if workers == 1:
            yield None
            return
        # A forked process would lack the thread of a progress bar, but might inherit its lock.
        with ProcessPoolExecutor(
            workers, get_context("spawn"), warnings.simplefilter, ("ignore", UndefinedCorrelationWarning)
        ) as executor:
            yield executor
