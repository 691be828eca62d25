"""A lock that goes to the thread that has waited longest."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class FairLock:
    """A lock that goes to the thread that has waited longest, which `threading.Lock` does not guarantee.

    SQLite has one writer at a time, and waiting writers sleep for increasing times: with 24 writers, one in a hundred
    waited for more than 5 seconds. With this lock, the threads of a process queue, and only the first one polls the
    database.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Lock] = deque()

    @property
    def n_waiting(self) -> int:
        """Number of threads in the queue."""
        return len(self._waiting)

    @contextmanager
    def turn(self, deadline: float) -> Iterator[None]:
        """Hold the lock.

        Parameters
        ----------
        deadline : float
            Time to stop waiting, on the clock of `time.monotonic`.

        Raises
        ------
        TimeoutError
            The lock was not free by the deadline.
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
            # Otherwise the lock was handed over at the last moment.

    def _next(self) -> None:
        with self._guard:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._taken = False
