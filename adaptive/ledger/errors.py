"""Errors of a ledger: each says what was refused, and why."""

from adaptive.errors import AdaptiveError
from rankcorr.checks import shown


class LedgerError(AdaptiveError):
    """A ledger that cannot be opened or made, or a step that its state does not allow."""


class LedgerBusyError(LedgerError):
    """Other transactions interfered the whole time; nothing was changed, and the step may be tried again."""


class UnreachableError(LedgerError):
    """The database cannot be reached, read or written: a wrong address, a full disk or a damaged file."""


class RevisionError(LedgerError):
    """The tables belong to another release."""


class NoCampaignError(LedgerError):
    """The ledger has no campaign of this key or name, or no campaign at all."""


class NoVoterError(LedgerError):
    """The campaign has no voter of this key or name."""


class UnfinishedError(LedgerError):
    """A voter who wants to finish has pairs or sheets still to answer.

    Attributes
    ----------
    missing : int
        Number of pairs or sheets.
    """

    def __init__(self, message: str, *, missing: int) -> None:
        super().__init__(message)
        self.missing = missing


class ConflictError(LedgerError):
    """The comparison already has another vote, or the event id was used for another vote.

    Attributes
    ----------
    recorded : str or None
        The vote in force.
    reused : bool
        Whether the event id is the reason.
    """

    def __init__(self, message: str, *, recorded: str | None = None, reused: bool = False) -> None:
        super().__init__(message)
        self.recorded = recorded
        self.reused = reused


class LateVoteError(LedgerError):
    """The ballot is closed, or its sheet was given to another voter: the vote is kept but does not count."""


class ChangedError(LedgerError):
    """The object has changed since it was read; nothing was done."""


class NotReadyError(LedgerError):
    """A ballot that cannot be closed yet: the message says what is missing."""


class BundleError(LedgerError):
    """A bundle that is not a zip of ours, is damaged, or contradicts itself: the message names the part."""


def require(fits: bool, name: str, wanted: str, value: object) -> None:
    """Refuse a value that does not fit.

    Raises
    ------
    LedgerError
        "sheets must be a positive whole number; got 0".
    """
    if not fits:
        raise LedgerError(f"{name} must be {wanted}; got {shown(value)}")
