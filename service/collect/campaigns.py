"""Campaigns as requests need them: loaded once, since what a campaign is never changes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from adaptive.ledger import Campaign, ItemContent, Ledger, NoCampaignError, ShownPair, VotingPages
from service.collect.content import Content, shown_content
from service.http.problems import Problem

_KEY: Final = re.compile(r"[0-9a-f]{32}")
PAGES_SECONDS: Final = 2.0  # after which a change of the voting pages is seen by every worker


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
        self._shown = lru_cache(16_384)(self._content)  # 200,000 items of markdown take half a minute
        self._pairs = lru_cache(4_096)(self._sheet_pairs)
        self._pages: dict[str, tuple[float, int, VotingPages]] = {}

    def pages(self, campaign: Campaign) -> tuple[int, VotingPages]:
        """Version and voting pages of a campaign; at most two seconds old."""
        found = self._pages.get(campaign.key)
        if found is None or time.monotonic() > found[0]:
            version, pages = campaign.pages()
            found = (time.monotonic() + PAGES_SECONDS, version, pages)
            self._pages[campaign.key] = found
        return found[1:]

    def forget_pages(self, campaign: Campaign) -> None:
        """Read the voting pages anew: they were changed."""
        self._pages.pop(campaign.key, None)

    def content(self, campaign: Campaign, place: int) -> Content:
        """What is shown for an item."""
        return self._shown(campaign.key, place)

    def contents(self, campaign: Campaign) -> tuple[ItemContent, ...]:
        """Return the content of each item as its organiser gave it; nothing is rendered."""
        return self._contents(campaign.key)

    def pairs(self, campaign: Campaign, number: int, sheet: int) -> tuple[ShownPair, ...]:
        """All pairs of a sheet.

        Raises
        ------
        VoteError
            When there is no such sheet.
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
