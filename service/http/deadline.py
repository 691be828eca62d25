"""A limit on the time that a request works; gunicorn's own timeout is a heartbeat, and limits no request."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from service.environment import variable
from service.http.problems import Problem
from service.http.state import settings


class Deadline(Executor):
    """Ends the work of a request when its time is up.

    As the `progress` of a library call it checks the clock between steps; as the `executor`, between tasks, which it
    runs one after the other in the calling thread.

    Examples
    --------
    >>> deadline = Deadline(seconds=60)
    >>> deadline(1)
    >>> deadline.submit(pow, 2, 3).result()
    8
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def __call__(self, _done: int = 1) -> None:  # noqa: D102 - the class says it
        if self._clock() > self._end:
            raise Problem(
                503,
                f"at most {self._seconds:g} s of work for a request ({variable('max_seconds')}); this one needs more: "
                "ask for less at once",
                kind="too-much-work",
            )

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a task at once, if there is time left."""
        self()
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def of_request() -> Deadline:
    """The deadline of the current request, whose work begins now."""
    return Deadline(settings().limits.max_seconds)
