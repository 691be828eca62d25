"""Whose turn it is among the threads of a process, in the order in which they came.

SQLite has one writer at a time, and lets those who wait sleep for longer and longer: with 24 writers, one of a hundred
waited for more than 5 seconds. Within a process the threads take turns here instead, and only the first in line asks
the database.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["FairLock"]


class FairLock:
    """A lock that is given to whoever has waited longest; `threading.Lock` may give it to the latest for ever."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Hold the lock.

        Parameters
        ----------
        deadline : float
            Of `time.monotonic`.

        Raises
        ------
        TimeoutError
            When the turn has not come by then.
        """
        self._wait(deadline)
        try:
            yield
        finally:
            self._next()

    def _wait(self, deadline: float) -> None:
        with self._guard:
            if not self._taken:
                self._taken = True
                return
            mine = threading.Lock()
            mine.acquire()
            self._waiting.append(mine)
        if mine.acquire(timeout=max(0.0, deadline - time.monotonic())):
            return
        with self._guard:
            if mine in self._waiting:
                self._waiting.remove(mine)
                raise TimeoutError
            # It was handed over at the last moment.

    def _next(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
