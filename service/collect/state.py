"""What the requests to one app share besides `service.http.state`: the ledger, and how often voters may ask."""

from __future__ import annotations

from dataclasses import dataclass

from flask import Flask, current_app

from adaptive.ledger import Ledger
from service.collect.campaigns import Campaigns
from service.collect.ledger import OwnLedger
from service.collect.settings import CollectSettings
from service.http.access import RateLimiter
from service.http.state import state

_EXTENSION = "rankcorr-collect"


@dataclass(frozen=True)
class CollectState:
    """What the views share.

    Examples
    --------
    >>> CollectState.of(CollectSettings(votes_per_minute=0)).votes is None
    True
    """

    settings: CollectSettings
    own_ledger: OwnLedger
    joins: RateLimiter | None  # by campaign
    address_joins: RateLimiter | None  # by address
    votes: RateLimiter | None  # by voter
    steps: RateLimiter | None  # by voter
    guesses: RateLimiter | None  # links that open nothing, by address
    campaigns: Campaigns

    @classmethod
    def of(cls, chosen: CollectSettings) -> CollectState:
        """Make the state of an app with these settings; it opens nothing."""
        own_ledger = OwnLedger(chosen.ledger, patience=chosen.max_ledger_seconds)
        return cls(
            settings=chosen,
            own_ledger=own_ledger,
            campaigns=Campaigns(own_ledger.get),
            joins=_limiter(chosen.joins_per_minute, "new voters of a campaign", "joins_per_minute"),
            address_joins=_limiter(
                chosen.address_joins_per_minute, "new voters of an address", "address_joins_per_minute"
            ),
            votes=_limiter(chosen.votes_per_minute, "votes of a voter, given or taken back,", "votes_per_minute"),
            steps=_limiter(chosen.votes_per_minute, "sheets and sessions of a voter", "votes_per_minute"),
            guesses=_limiter(chosen.guesses_per_minute, "links that open nothing, of an address", "guesses_per_minute"),
        )

    def attach(self, app: Flask) -> None:
        """Make this the state of an app; its connections are closed with those of the app."""
        app.extensions[_EXTENSION] = self
        state(app).resources.callback(self.own_ledger.close)


def collecting(app: Flask | None = None) -> CollectState:
    """State of an app; by default of the one that answers the current request."""
    found: CollectState = (app or current_app).extensions[_EXTENSION]
    return found


def ledger() -> Ledger:
    """The ledger, for the current request."""
    return collecting().own_ledger.get()


def _limiter(per_minute: int, what: str, name: str) -> RateLimiter | None:
    return RateLimiter(per_minute, what=what, name=name) if per_minute else None
