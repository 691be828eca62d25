"""Turn errors of the ledger into problems; the status shows what a client can do."""

from __future__ import annotations

from typing import Any, Final

from adaptive.ledger import (
    ChangedError,
    ConflictError,
    LateVoteError,
    LedgerBusyError,
    LedgerError,
    NotReadyError,
    NoVoterError,
    RevisionError,
    UnreachableError,
)
from service.http import logs
from service.http.problems import Problem, from_library

# Class -> status and kind, subclasses first. Clients must not see a database's name, so 503 has a fixed detail.
KINDS: Final = (
    (LedgerBusyError, 503, "busy"),
    (UnreachableError, 503, "ledger-unreachable"),
    (RevisionError, 503, "ledger-unreachable"),
    (NoVoterError, 404, "no-such-voter"),
    (ChangedError, 412, "changed"),
    (ConflictError, 409, "conflict"),
    (LateVoteError, 409, "late"),
    (NotReadyError, 409, "not-ready"),
    (LedgerError, 409, "not-possible"),
)
_DETAILS: Final = {
    "busy": "others write all the time, and nothing was changed; try again",
    "ledger-unreachable": "the ledger cannot be read or written; try again later",
}


def from_ledger(error: Any) -> Problem:
    """Return the problem for an error of the ledger or the libraries.

    >>> found = from_ledger(NotReadyError("12 votes are missing"))
    >>> found.status, found.kind, found.detail
    (409, 'not-ready', '12 votes are missing')
    """
    for owner, status, kind in KINDS:
        if isinstance(error, owner):
            if status == 503:
                logs.log.error("the ledger failed: %s", error)
                return Problem(status, _DETAILS[kind], kind=kind, headers={"Retry-After": "2"})
            return Problem(status, str(error), kind=kind)
    return from_library(error)
