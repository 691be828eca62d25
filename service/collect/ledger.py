"""The ledger of a process: opened when it is needed first, after the fork, and asked whether it answers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from adaptive.errors import AdaptiveError
from adaptive.ledger import Ledger, LedgerError
from service.collect.settings import CollectSettings
from service.environment import SettingError, variable
from service.http.problems import Problem

PATIENCE_SECONDS: Final = 2.0  # of a probe; a database that has gone is waited for much longer


def prepare(chosen: CollectSettings) -> None:
    """Make the ledger where there is none, before the processes start.

    Raises
    ------
    SettingError
        When it cannot be opened, or has tables of another release.
    """
    try:
        Ledger.create(chosen.ledger).close()
    except LedgerError as error:
        raise SettingError(f"{variable('ledger')}: {error}") from error


class OwnLedger:
    """The ledger at one place, as this process uses it.

    Parameters
    ----------
    target : str
        Path of a file, or URL of a PostgreSQL database.
    clock : callable
        Seconds, for `check`.

    Examples
    --------
    >>> own = OwnLedger("votes.db")
    >>> own.is_open
    False
    """

    def __init__(self, target: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._target = target
        self._clock = clock
        self._opening = threading.Lock()
        self._found: Ledger | None = None
        self._asking = threading.Lock()
        self._asked_at = 0.0
        self._failed = False

    @property
    def is_open(self) -> bool:
        """Whether it has been opened."""
        return self._found is not None

    def get(self) -> Ledger:
        """The ledger; it is made where there is none.

        Raises
        ------
        LedgerError
            When it cannot be opened; the next call tries again.
        """
        if self._found is None:
            with self._opening:
                if self._found is None:
                    self._found = Ledger.create(self._target)
        return self._found

    def check(self) -> None:
        """Refuse to be called ready while the ledger does not answer.

        One thread asks at a time: a database that has gone would otherwise keep a thread for each probe. Whoever comes
        meanwhile hears what was heard last, and after some seconds that there is no answer.

        Raises
        ------
        Problem
            503, when the ledger does not answer, or has tables of another release.
        """
        if not self._asking.acquire(blocking=False):
            if self._failed or self._clock() > self._asked_at + PATIENCE_SECONDS:
                raise _unreachable("the ledger does not answer")
            return
        try:
            self._asked_at = self._clock()
            self.get().check()
        except AdaptiveError as error:
            self._failed = True
            raise _unreachable("the ledger cannot be read") from error
        else:
            self._failed = False
        finally:
            self._asking.release()

    def close(self) -> None:
        """Close its connections; it is opened again if it is needed again."""
        with self._opening:
            found, self._found = self._found, None
        if found is not None:
            found.close()


def _unreachable(detail: str) -> Problem:
    return Problem(503, detail, kind="ledger-unreachable", headers={"Retry-After": "5"})
