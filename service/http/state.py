"""Hold what the requests to one app share: settings, tokens, counts, the lane of heavy requests, and deadlines."""

from __future__ import annotations

import mmap
import re
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from typing import Any, Final

from flask import Flask, Request, abort, current_app, g, request

from service.environment import HttpSettings
from service.http.access import RateLimiter, Tokens, site_of
from service.http.jobs import Jobs
from service.http.lane import Lane, too_much_work
from service.http.problems import Problem

EXTENSION: Final = "rankcorr"  # the key of the state in an app
ALONE: Final = "rankcorr.alone"  # in the environ of a request that a separate process works on


class Stopping:
    """A flag for all workers on this machine, in memory shared with every worker that is forked later.

    Examples
    --------
    >>> stopping = Stopping()
    >>> stopping.check()
    >>> stopping.begin()
    >>> bool(stopping)
    True
    """

    def __init__(self) -> None:
        self._sign = mmap.mmap(-1, 1)

    def __bool__(self) -> bool:
        return self._sign[0] != 0

    def begin(self) -> None:
        """Set the flag."""
        self._sign[0] = 1

    def check(self) -> None:
        """Refuse to report readiness once the flag is set.

        Raises
        ------
        Problem
            503, if the service is about to stop.
        """
        if self:
            raise Problem(503, "the service is about to stop; send requests elsewhere", kind="stopping")


class Deadline(Executor):
    """End the work of a request when it has used its processor time, not wall time: a busy machine changes no status.

    gunicorn's own timeout is a heartbeat and does not limit requests.

    As the `progress` of a library call, it checks the clock between steps. As the `executor`, it runs tasks one after
    the other in the calling thread and checks the clock between them. The clock is that of the thread that creates it.

    Examples
    --------
    >>> deadline = Deadline(seconds=60)
    >>> deadline(1)
    >>> deadline.submit(pow, 2, 3).result()
    8
    """

    setting = "max_seconds"

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds

    def __call__(self, _done: int = 1) -> None:  # noqa: D102 - the class says it
        if self._clock() > self._end:
            raise too_much_work(self._seconds, setting=self.setting)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a task at once, if there is time left."""
        self()
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class State:
    """The objects that the hooks and views of an app share.

    Examples
    --------
    >>> bool(State(HttpSettings()).tokens)
    False
    """

    def __init__(self, chosen: HttpSettings, jobs: Jobs | None = None) -> None:
        self.settings = chosen
        self.tokens = Tokens(chosen.tokens)
        self.lane = Lane(
            waiting=chosen.max_waiting, wait_seconds=chosen.max_wait_seconds, work_seconds=chosen.limits.max_seconds
        )
        self.rate = RateLimiter(chosen.requests_per_minute)
        self.stopping = Stopping()
        self.jobs = jobs
        self.resources = ExitStack()  # closed when a worker ends

    def count_client(self, request: Request) -> str:
        """Check the token of a request, count the request for the rate limit, and return the name of the client.

        Requests with wrong tokens count too; otherwise tokens could be guessed at any rate.

        Raises
        ------
        Problem
            401 without a known token, 429 above the rate limit.
        """
        address = site_of(request.remote_addr)
        try:
            client = self.tokens.check(request) or address
        except Problem:
            self.rate.count(address)
            raise
        self.rate.count(client)
        return client

    def check_metrics(self, request: Request) -> None:
        """Allow a request for the metrics if the settings do: 404 if metrics are off, 401 without a token."""
        if self.settings.metrics == "off":
            abort(404)
        if self.settings.metrics == "token":
            self.tokens.check(request)


def state(app: Flask | None = None) -> State:
    """Return the state of an app; by default of the one that answers the current request."""
    found: State = (app or current_app).extensions[EXTENSION]
    return found


def settings() -> HttpSettings:
    """Return the settings of the app that answers the current request."""
    return state().settings


def is_job() -> bool:
    """Return whether the current request may become a job: its client prefers that (RFC 7240), and processes can."""
    preferred = "respond-async" in re.split(r"[\s,;]+", request.headers.get("Prefer", "").lower())
    return preferred and state().jobs is not None and (state().lane.is_open or ALONE in request.environ)


def most_seconds() -> tuple[float, str]:
    """Return the processor time that the current request may take, and the name of the setting."""
    return (
        (vars(settings())["job_seconds"], "job_seconds") if is_job() else (settings().limits.max_seconds, "max_seconds")
    )


def deadline() -> Deadline:
    """Return the deadline of the current request; the first call starts the clock."""
    if "deadline" not in g:
        seconds, setting = most_seconds()
        g.deadline = Deadline(seconds)
        g.deadline.setting = setting
    found: Deadline = g.deadline
    return found
