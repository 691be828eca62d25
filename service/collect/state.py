"""Extend the state of `service.http.state` by the ledger and its campaigns.

The ledger is opened on first use, after the fork.
"""

import os
import re
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, cast

from flask import Flask

from adaptive.errors import AdaptiveError
from adaptive.ledger import Campaign, Ledger, LedgerError, LedgerMovedError, NoCampaignError, VotingPages
from service.collect.content import Content, content_for_pages
from service.collect.settings import CollectSettings
from service.environment import SettingError, variable
from service.http.problems import Problem
from service.http.state import State, state

_KEY: Final = re.compile(r"[0-9a-f]{32}")
SPACE_BYTES: Final = 1 << 16
PATIENCE_SECONDS: Final = 2.0  # how long a probe waits for the ledger
PAGES_SECONDS: Final = 2.0  # every worker sees a change of the voting pages after this time


def prepare(settings: CollectSettings) -> None:
    """Create the ledger if it does not exist, before the processes start.

    Raises
    ------
    SettingError
        If it cannot be opened, or has tables of another release.
    """
    try:
        Ledger.create(settings.ledger).close()
    except LedgerError as error:
        raise SettingError(f"{variable('ledger')}: {error}") from error


class LazyLedger:
    """The ledger at one location, which a process opens when it first needs it.

    Parameters
    ----------
    target : str
        Path of a file, or URL of a PostgreSQL database.
    patience : float
        How many seconds a request keeps trying to write.

    Examples
    --------
    >>> LazyLedger("votes.db").is_open
    False
    """

    def __init__(self, target: str, *, patience: float = 3.0) -> None:
        self._target = target
        self._patience = patience
        self._was_there = _is_file(target)
        self._opening = threading.Lock()
        self._ledger: Ledger | None = None
        self._probing = threading.Lock()
        self._probe: Future[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the ledger has been opened."""
        return self._ledger is not None

    def get(self) -> Ledger:
        """Return the ledger, and create it if it does not exist and did not when this object was made.

        Workers are forked from a process that has made this object. One that starts later, in place of another, must
        not create an empty ledger where the file was moved away: voters would be told that there is no such campaign.

        Raises
        ------
        LedgerMovedError
            If its file was there, and is not any more.
        LedgerError
            If it cannot be opened; the next call tries again.
        """
        with self._opening:
            if self._ledger is None:
                if self._was_there and not _is_file(self._target):
                    raise LedgerMovedError(f"{self._target}: was moved or deleted; put the file back, or restart")
                self._ledger = Ledger.create(self._target, patience=self._patience)
            return self._ledger

    def check(self) -> None:
        """Refuse to report readiness while the ledger does not answer.

        A separate thread asks, one at a time: waiting for an unreachable database takes much longer than a probe may,
        and would otherwise block a thread for each probe.

        Raises
        ------
        Problem
            503, if the ledger does not answer, has tables of another release, or its disk is full.
        """
        with self._probing:
            probe = self._probe
            if probe is None or probe.done():
                probe = self._probe = Future()
                threading.Thread(target=self._run_probe, args=(probe,), daemon=True).start()
        try:
            probe.result(PATIENCE_SECONDS)
        except (OSError, AdaptiveError) as error:
            detail = "the ledger cannot be read"
            if isinstance(error, OSError):  # TimeoutError is one
                detail = "the ledger does not answer" if isinstance(error, TimeoutError) else "no vote can be written"
            raise Problem(503, detail, kind="ledger-unreachable", headers={"Retry-After": "5"}) from error

    def _run_probe(self, probe: Future[None]) -> None:
        try:
            self.get().check()
            if "://" not in self._target:
                check_space(Path(self._target).parent)
        except BaseException as error:
            probe.set_exception(error)
        else:
            probe.set_result(None)

    def close(self) -> None:
        """Close its connections; the next use opens it again."""
        with self._opening:
            ledger, self._ledger = self._ledger, None
        if ledger is not None:
            ledger.close()


def _is_file(target: str) -> bool:
    """Return whether a ledger is an SQLite file that exists."""
    return "://" not in target and os.path.lexists(target)


def check_space(folder: Path) -> None:
    """Write and delete a file as large as a few votes beside the ledger; raise OSError if the disk is full."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(SPACE_BYTES))
        file.flush()


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
        self.contents = lru_cache(8)(Campaign.contents)  # of each item as its organiser entered it, not rendered
        self.content = lru_cache(16_384)(self._content)  # rendering 200,000 markdown items takes half a minute
        self.pairs = lru_cache(4_096)(Campaign.shown_pairs)  # all pairs of a sheet
        self._pages: dict[str, tuple[float, int, VotingPages]] = {}

    def pages(self, campaign: Campaign) -> tuple[int, VotingPages]:
        """Return the version and the voting pages of a campaign, at most two seconds old."""
        entry = self._pages.get(campaign.key)
        if entry is None or time.monotonic() > entry[0]:
            entry = self._pages[campaign.key] = (time.monotonic() + PAGES_SECONDS, *campaign.pages())
        return entry[1:]

    def forget_pages(self, campaign: Campaign) -> None:
        """Read the voting pages again at the next call, because they were changed."""
        self._pages.pop(campaign.key, None)

    def _campaign(self, key: str) -> Campaign:
        with suppress(NoCampaignError):
            if _KEY.fullmatch(key):
                return self._ledger().campaign(key)
        raise Problem(404, "there is no such campaign", kind="no-such-campaign")

    def _content(self, campaign: Campaign, place: int) -> Content:
        """Return the content to show for an item."""
        return content_for_pages(self.contents(campaign)[place], campaign.info.items[place])


class CollectState(State):
    """The objects that the views share; nothing is opened before it is needed.

    Examples
    --------
    >>> CollectState(CollectSettings()).ledger.is_open
    False
    """

    settings: CollectSettings

    def __init__(self, settings: CollectSettings) -> None:
        super().__init__(settings)
        self.ledger = LazyLedger(settings.ledger, patience=settings.max_ledger_seconds)
        self.campaigns = Campaigns(self.ledger.get)
        self.resources.callback(self.ledger.close)

    def check(self) -> None:
        """Refuse to report readiness as `State` does, or while the ledger does not answer."""
        super().check()
        self.ledger.check()


def collecting(app: Flask | None = None) -> CollectState:
    """Return the state of an app; by default of the one that answers the current request."""
    return cast(CollectState, state(app))
