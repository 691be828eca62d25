"""Errors of a ledger: what was refused, and what stands in its way."""

from __future__ import annotations

from adaptive.errors import AdaptiveError


class LedgerError(AdaptiveError):
    """A ledger that cannot be opened or made, or a step that its state does not allow."""


class LedgerBusyError(LedgerError):
    """Others were in the way all the time; nothing was changed, and it may be tried again."""


class UnreachableError(LedgerError):
    """The database cannot be reached, read or written: a wrong address, a full disk, a file that is damaged."""


class RevisionError(LedgerError):
    """The tables are those of another release."""


class NoCampaignError(LedgerError):
    """The ledger has no campaign of this key or name, or none at all."""


class NoVoterError(LedgerError):
    """The campaign has no voter of this key or name."""


class UnfinishedError(LedgerError):
    """A voter who asks for the end has pairs, or sheets, still to answer.

    Attributes
    ----------
    missing : int
        How many.
    """

    def __init__(self, message: str, *, missing: int) -> None:
        super().__init__(message)
        self.missing = missing


class ConflictError(LedgerError):
    """Another vote stands where this one was to go, or an event id was used for another vote.

    Attributes
    ----------
    stands : str or None
        The vote that stands.
    reused : bool
        Whether it is the event id.
    """

    def __init__(self, message: str, *, stands: str | None = None, reused: bool = False) -> None:
        super().__init__(message)
        self.stands = stands
        self.reused = reused


class LateVoteError(LedgerError):
    """The ballot is closed, or its sheet went to somebody else: the vote is kept, and does not count."""


class ChangedError(LedgerError):
    """The object has changed since it was read; nothing was done."""


class NotReadyError(LedgerError):
    """A ballot that cannot be closed yet: the message says what is missing."""


class BundleError(LedgerError):
    """A bundle that is no zip of ours, is damaged, or whose parts contradict each other: the message says which."""
