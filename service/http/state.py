"""What the requests to one app share: its settings, tokens, turns and counts."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field

from flask import Flask, Request, abort, current_app

from service.http.access import Tokens
from service.http.capacity import Gate, RateLimiter
from service.http.problems import Problem
from service.http.settings import HttpSettings
from service.http.stopping import Stopping

_EXTENSION = "rankcorr"


@dataclass(frozen=True)
class State:
    """What the hooks and views of an app share.

    Examples
    --------
    >>> State.of(HttpSettings(requests_per_minute=60)).rate is None
    False
    """

    settings: HttpSettings
    tokens: Tokens
    gate: Gate
    rate: RateLimiter | None
    stopping: Stopping
    resources: ExitStack = field(default_factory=ExitStack)  # closed when a worker ends

    @classmethod
    def of(cls, chosen: HttpSettings) -> State:
        """Make the state of an app with these settings."""
        return cls(
            settings=chosen,
            tokens=Tokens(chosen.tokens),
            gate=Gate(concurrent=chosen.max_concurrent, waiting=chosen.max_waiting, seconds=chosen.max_wait_seconds),
            rate=RateLimiter(chosen.requests_per_minute) if chosen.requests_per_minute else None,
            stopping=Stopping(),
        )

    def count_client(self, request: Request) -> None:
        """Check the token of a request, and count it for the rate.

        Wrong tokens count too, or they could be guessed at any rate.

        Raises
        ------
        Problem
            401 without a token that the service knows, 429 above the rate.
        """
        address = request.remote_addr or "unknown"
        try:
            client = self.tokens.check(request) or address
        except Problem:
            if self.rate is not None:
                self.rate.count(address)
            raise
        if self.rate is not None:
            self.rate.count(client)

    def check_metrics(self, request: Request) -> None:
        """Let those read the metrics whom the settings allow it: 404 where they are off, 401 without a token."""
        if self.settings.metrics == "off":
            abort(404)
        if self.settings.metrics == "token":
            self.tokens.check(request)

    def attach(self, app: Flask) -> None:
        """Make this the state of an app."""
        app.extensions[_EXTENSION] = self


def state(app: Flask | None = None) -> State:
    """State of an app; by default of the one that answers the current request."""
    found: State = (app or current_app).extensions[_EXTENSION]
    return found


def settings() -> HttpSettings:
    """Settings of the app that answers the current request."""
    return state().settings
