"""What the requests to one app share: its settings, tokens, turns and counts."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Flask, current_app

from service.http.access import Tokens
from service.http.capacity import Gate, RateLimiter
from service.http.stopping import Stopping
from service.settings import Settings

_EXTENSION = "rankcorr"


@dataclass(frozen=True)
class State:
    """What the hooks and views of an app share.

    Examples
    --------
    >>> State.of(Settings(requests_per_minute=60)).rate is None
    False
    """

    settings: Settings
    tokens: Tokens
    gate: Gate
    rate: RateLimiter | None
    stopping: Stopping

    @classmethod
    def of(cls, chosen: Settings) -> State:
        """Make the state of an app with these settings."""
        return cls(
            settings=chosen,
            tokens=Tokens(chosen.tokens),
            gate=Gate(concurrent=chosen.max_concurrent, waiting=chosen.max_waiting, seconds=chosen.max_wait_seconds),
            rate=RateLimiter(chosen.requests_per_minute) if chosen.requests_per_minute else None,
            stopping=Stopping(),
        )

    def attach(self, app: Flask) -> None:
        """Make this the state of an app."""
        app.extensions[_EXTENSION] = self


def state(app: Flask | None = None) -> State:
    """State of an app; by default of the one that answers the current request."""
    found: State = (app or current_app).extensions[_EXTENSION]
    return found


def settings() -> Settings:
    """Settings of the app that answers the current request."""
    return state().settings
