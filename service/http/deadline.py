"""Limit the processor time of a request. The limit is not wall time, so a busy machine changes no status.

gunicorn's own timeout is a heartbeat and does not limit requests.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from flask import g

from service.http.lane import too_much_work
from service.http.state import settings


class Deadline(Executor):
    """End the work of a request when it has used its processor time.

    As the `progress` of a library call, it checks the clock between steps. As the `executor`, it runs tasks one after
    the other in the calling thread and checks the clock between them. The clock is that of the thread that creates it.

    Examples
    --------
    >>> deadline = Deadline(seconds=60)
    >>> deadline(1)
    >>> deadline.submit(pow, 2, 3).result()
    8
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def __call__(self, _done: int = 1) -> None:  # noqa: D102 - the class says it
        if self._clock() > self._end:
            raise too_much_work(self._seconds)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a task at once, if there is time left."""
        self()
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def of_request() -> Deadline:
    """Return the deadline of the current request; the first call starts the clock."""
    if "deadline" not in g:
        g.deadline = Deadline(settings().limits.max_seconds)
    found: Deadline = g.deadline
    return found
