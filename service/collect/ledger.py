"""Hold the ledger of a process: opened on first use, after the fork, and checked for readiness."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Final

from adaptive.errors import AdaptiveError
from adaptive.ledger import Ledger, LedgerError
from service.collect.settings import CollectSettings
from service.environment import SettingError, variable
from service.http.problems import Problem

PATIENCE_SECONDS: Final = 2.0  # how long a probe waits


def prepare(chosen: CollectSettings) -> None:
    """Create the ledger if it does not exist, before the processes start.

    Raises
    ------
    SettingError
        If it cannot be opened, or has tables of another release.
    """
    try:
        Ledger.create(chosen.ledger).close()
    except LedgerError as error:
        raise SettingError(f"{variable('ledger')}: {error}") from error


class OwnLedger:
    """The ledger at one location, as this process uses it.

    Parameters
    ----------
    target : str
        Path of a file, or URL of a PostgreSQL database.
    patience : float
        How many seconds a request keeps trying to write.

    Examples
    --------
    >>> own = OwnLedger("votes.db")
    >>> own.is_open
    False
    """

    def __init__(self, target: str, *, patience: float = 3.0) -> None:
        self._target = target
        self._patience = patience
        self._opening = threading.Lock()
        self._found: Ledger | None = None
        self._asking = threading.Lock()
        self._answer: Future[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether the ledger has been opened."""
        return self._found is not None

    def get(self) -> Ledger:
        """Return the ledger, and create it if it does not exist.

        Raises
        ------
        LedgerError
            If it cannot be opened; the next call tries again.
        """
        if self._found is None:
            with self._opening:
                if self._found is None:
                    self._found = Ledger.create(self._target, patience=self._patience)
        return self._found

    def check(self) -> None:
        """Refuse to report readiness while the ledger does not answer.

        A separate thread asks, one at a time. A wait for a database that is gone lasts much longer than a probe waits,
        and would otherwise block one thread per probe.

        Raises
        ------
        Problem
            503, if the ledger does not answer, or has tables of another release.
        """
        with self._asking:
            answer = self._answer
            if answer is None or answer.done():
                answer = self._answer = Future()
                threading.Thread(target=self._ask, args=(answer,), daemon=True).start()
        try:
            answer.result(PATIENCE_SECONDS)
        except TimeoutError as error:
            raise _unreachable("the ledger does not answer") from error
        except AdaptiveError as error:
            raise _unreachable("the ledger cannot be read") from error

    def _ask(self, answer: Future[None]) -> None:
        try:
            self.get().check()
        except BaseException as error:
            answer.set_exception(error)
        else:
            answer.set_result(None)

    def close(self) -> None:
        """Close its connections; the next use opens it again."""
        with self._opening:
            found, self._found = self._found, None
        if found is not None:
            found.close()


def _unreachable(detail: str) -> Problem:
    return Problem(503, detail, kind="ledger-unreachable", headers={"Retry-After": "5"})
