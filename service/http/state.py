"""Hold what the requests to one app share: settings, tokens, jobs, and the pool for heavy requests."""

from __future__ import annotations

import mmap
import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from flask import Flask, Request, abort, current_app, request

from service.http.access import Tokens, site_of
from service.http.jobs import Jobs
from service.http.pool import Pool
from service.http.problems import Problem
from service.http.settings import HttpSettings

if TYPE_CHECKING:
    from service.http.redis_jobs import RedisJobs

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


class State:
    """The objects that the hooks and views of an app share.

    Examples
    --------
    >>> bool(State(HttpSettings()).tokens)
    False
    """

    def __init__(self, http_settings: HttpSettings, jobs: Jobs | RedisJobs | None = None) -> None:
        self.settings = http_settings
        self.tokens = Tokens(http_settings.tokens)
        self.pool = Pool(http_settings, jobs if isinstance(jobs, Jobs) else None)
        self.stopping = Stopping()
        self.jobs = jobs
        self.resources = ExitStack()  # closed when a worker ends

    def check_client(self, request: Request) -> str:
        """Check the token of a request, and return the name of the client.

        Raises
        ------
        Problem
            401 without a known token.
        """
        return self.tokens.check(request) or site_of(request.remote_addr)

    def check_metrics(self, request: Request) -> None:
        """Allow a request for the metrics if the settings do: 404 if metrics are off, 401 without a token."""
        if self.settings.metrics == "off":
            abort(404)
        if self.settings.metrics == "token":
            self.tokens.check(request)


def state(app: Flask | None = None) -> State:
    """Return the state of an app; by default of the one that answers the current request."""
    app_state: State = (app or current_app).extensions[EXTENSION]
    return app_state


def settings() -> HttpSettings:
    """Return the settings of the app that answers the current request."""
    return state().settings


def is_job() -> bool:
    """Return whether the client of the current request prefers a job (RFC 7240), and the app keeps jobs."""
    preferred = "respond-async" in re.split(r"[\s,;]+", request.headers.get("Prefer", "").lower())
    return preferred and state().jobs is not None
