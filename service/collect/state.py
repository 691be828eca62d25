"""Extend the shared state of `service.http.state` with the ledger and with limits on voters."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from flask import Flask, current_app

from adaptive.ledger import Campaign, ItemContent, Ledger, NoCampaignError, ShownPair, VotingPages
from service.collect.content import Content, shown_content
from service.collect.ledger import OwnLedger
from service.collect.settings import CollectSettings
from service.http.access import RateLimiter
from service.http.problems import Problem
from service.http.state import state

_KEY: Final = re.compile(r"[0-9a-f]{32}")
PAGES_SECONDS: Final = 2.0  # every worker sees a change of the voting pages after this time


class Campaigns:
    """The campaigns of a ledger.

    Parameters
    ----------
    ledger : callable
        Returns the ledger of this process.
    """

    def __init__(self, ledger: Callable[[], Ledger]) -> None:
        self._ledger = ledger
        self.of = lru_cache(64)(self._campaign)
        self._contents = lru_cache(8)(self._all_contents)
        self._shown = lru_cache(16_384)(self._content)  # rendering 200,000 markdown items takes half a minute
        self._pairs = lru_cache(4_096)(self._sheet_pairs)
        self._pages: dict[str, tuple[float, int, VotingPages]] = {}

    def pages(self, campaign: Campaign) -> tuple[int, VotingPages]:
        """Return the version and the voting pages of a campaign, at most two seconds old."""
        found = self._pages.get(campaign.key)
        if found is None or time.monotonic() > found[0]:
            version, pages = campaign.pages()
            found = (time.monotonic() + PAGES_SECONDS, version, pages)
            self._pages[campaign.key] = found
        return found[1:]

    def forget_pages(self, campaign: Campaign) -> None:
        """Read the voting pages again at the next call, because they were changed."""
        self._pages.pop(campaign.key, None)

    def content(self, campaign: Campaign, place: int) -> Content:
        """Return the content to show for an item."""
        return self._shown(campaign.key, place)

    def contents(self, campaign: Campaign) -> tuple[ItemContent, ...]:
        """Return the content of each item as its organiser entered it, not rendered."""
        return self._contents(campaign.key)

    def pairs(self, campaign: Campaign, number: int, sheet: int) -> tuple[ShownPair, ...]:
        """Return all pairs of a sheet.

        Raises
        ------
        VoteError
            If the sheet does not exist.
        """
        return self._pairs(campaign.key, number, sheet)

    def _campaign(self, key: str) -> Campaign:
        if not _KEY.fullmatch(key):
            raise _no_campaign()
        try:
            return self._ledger().campaign(key)
        except NoCampaignError as error:
            raise _no_campaign() from error

    def _all_contents(self, key: str) -> tuple[ItemContent, ...]:
        return self.of(key).contents()

    def _content(self, key: str, place: int) -> Content:
        return shown_content(self._contents(key)[place], self.of(key).info.items[place])

    def _sheet_pairs(self, key: str, number: int, sheet: int) -> tuple[ShownPair, ...]:
        return self.of(key).shown_pairs(number, sheet)


def _no_campaign() -> Problem:
    return Problem(404, "there is no such campaign", kind="no-such-campaign")


_EXTENSION = "rankcorr-collect"


@dataclass(frozen=True)
class CollectState:
    """The objects that the views share.

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
    guesses: RateLimiter | None  # by address, for links with an unknown token
    campaigns: Campaigns

    @classmethod
    def of(cls, chosen: CollectSettings) -> CollectState:
        """Make the state of an app from its settings, without opening anything."""
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
        """Make this the state of an app, whose end closes the connections."""
        app.extensions[_EXTENSION] = self
        state(app).resources.callback(self.own_ledger.close)


def collecting(app: Flask | None = None) -> CollectState:
    """Return the state of an app; by default of the one that answers the current request."""
    found: CollectState = (app or current_app).extensions[_EXTENSION]
    return found


def ledger() -> Ledger:
    """Return the ledger for the current request."""
    return collecting().own_ledger.get()


def _limiter(per_minute: int, what: str, name: str) -> RateLimiter | None:
    return RateLimiter(per_minute, what=what, name=name) if per_minute else None
