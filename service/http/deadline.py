"""A limit on the time that a request works, which a client that has left ends too.

gunicorn's own timeout is a heartbeat, and limits no request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, Final

from flask import g, request

from service.environment import variable
from service.http.problems import CLIENT_LEFT, Problem
from service.http.state import settings

# Where the environment of a request has a function that says whether the client has left; a server may set it.
HAS_LEFT: Final = "rankcorr.has_left"
_LOOK_SECONDS: Final = 0.2


class Deadline(Executor):
    """Ends the work of a request when its time is up, or its client has left.

    As the `progress` of a library call it checks the clock between steps; as the `executor`, between tasks, which it
    runs one after the other in the calling thread.

    Examples
    --------
    >>> deadline = Deadline(seconds=60)
    >>> deadline(1)
    >>> deadline.submit(pow, 2, 3).result()
    8
    """

    def __init__(
        self,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
        has_left: Callable[[], bool] | None = None,
    ) -> None:
        self._seconds = seconds
        self._clock = clock
        self._has_left = has_left
        self._end = clock() + seconds
        self._looked = self._end - seconds

    def __call__(self, _done: int = 1) -> None:  # noqa: D102 - the class says it
        now = self._clock()
        if now > self._end:
            raise Problem(
                422,
                f"at most {self._seconds:g} s of work for a request ({variable('max_seconds')}); this one needs more: "
                "ask for less at once",
                kind="too-much-work",
            )
        if self._has_left is not None and now >= self._looked + _LOOK_SECONDS:
            self._looked = now
            if self._has_left():
                raise Problem(CLIENT_LEFT, "the client left before its answer")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a task at once, if there is time left."""
        self()
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def of_request() -> Deadline:
    """The deadline of the current request; its work begins when this is called first."""
    if "deadline" not in g:
        g.deadline = Deadline(settings().limits.max_seconds, has_left=request.environ.get(HAS_LEFT))
    found: Deadline = g.deadline
    return found
