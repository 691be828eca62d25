"""Errors of a ledger."""

from typing import Literal

from adaptive.errors import AdaptiveError
from rankcorr._checks import shown


class LedgerError(AdaptiveError):
    """A ledger cannot be opened or created, or its state does not allow a step.

    See Also
    --------
    ConflictError, NotReadyError, NoCampaignError : Some of its subclasses.
    adaptive.AdaptiveError : Its base.

    Examples
    --------
    >>> from adaptive.ledger import Ledger
    >>> Ledger("mysql://localhost/votes")
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.LedgerError: a ledger must be the path of a file, or a URL like ...
    """


class LedgerBusyError(LedgerError):
    """Other transactions interfered the whole time; nothing was changed, and the step may be tried again.

    See Also
    --------
    Ledger.create : The option `patience`.
    UnreachableError : The database does not respond at all.

    Examples
    --------
    >>> import sqlite3
    >>> from contextlib import closing
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import ContinuousPlan, Ledger, LedgerBusyError
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/votes.db", patience=0.1)
    ...     with closing(sqlite3.connect(f"{folder}/votes.db")) as other:
    ...         _ = other.execute("BEGIN IMMEDIATE")
    ...         try:
    ...             ledger.new_campaign(ContinuousPlan(4, 20), 4, 1, seed=1)
    ...         except LedgerBusyError as error:
    ...             print(type(error).__name__)
    ...     ledger.close()
    LedgerBusyError
    """


class UnreachableError(LedgerError):
    """The database cannot be reached, read or written: a wrong address, a full disk or a damaged file.

    See Also
    --------
    Ledger.open, Ledger.create : Raise it.
    LedgerBusyError : The database responds but is busy.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import Ledger, UnreachableError
    >>> with TemporaryDirectory() as folder:
    ...     try:
    ...         Ledger.create(f"{folder}/missing/votes.db")
    ...     except UnreachableError as error:
    ...         print(str(error).replace(f"{folder}/", ""))
    missing/votes.db: unable to open database file
    """


class LedgerMovedError(UnreachableError):
    """The SQLite file was moved, deleted or replaced while the ledger was in use; the change is not acknowledged.

    See Also
    --------
    UnreachableError : Its base.
    Ledger.back_up : Copies a ledger that is in use.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import ContinuousPlan, Ledger, LedgerMovedError
    >>> with TemporaryDirectory() as folder:
    ...     ledger = Ledger.create(f"{folder}/votes.db")
    ...     _ = Path(f"{folder}/votes.db").rename(f"{folder}/old.db")
    ...     try:
    ...         ledger.new_campaign(ContinuousPlan(4, 20), 4, 1, seed=1)
    ...     except LedgerMovedError as error:
    ...         print(str(error).replace(f"{folder}/", ""))
    ...     ledger.close()
    votes.db: votes.db was moved or deleted while the ledger was in use, so the change is not acknowledged; put ...
    """


class RevisionError(LedgerError):
    """The tables belong to another release.

    See Also
    --------
    Ledger.open : Raises it.
    Ledger.migrate : Upgrades the tables.

    Examples
    --------
    >>> import sqlite3
    >>> from contextlib import closing
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import Ledger, RevisionError
    >>> with TemporaryDirectory() as folder:
    ...     with closing(sqlite3.connect(f"{folder}/trees.db")) as other:
    ...         _ = other.execute("CREATE TABLE tree (height)")
    ...     try:
    ...         Ledger.open(f"{folder}/trees.db")
    ...     except RevisionError as error:
    ...         print(str(error).replace(f"{folder}/", ""))
    trees.db: is not a ledger
    """


class NoCampaignError(LedgerError):
    """The ledger has no campaign of this key or name, or no campaign at all.

    See Also
    --------
    Ledger.campaign : Raises it.
    NoVoterError : The same for voters.

    Examples
    --------
    >>> from adaptive.ledger import Ledger
    >>> ledger = Ledger.in_memory()
    >>> ledger.campaign("shrubs")
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.NoCampaignError: the ledger has no campaign called 'shrubs'
    >>> ledger.close()
    """


class NoVoterError(LedgerError):
    """The campaign has no voter of this key or name.

    See Also
    --------
    Campaign.voters : Its methods `named` and `with_key` raise it.
    NoCampaignError : The same for campaigns.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> campaign.voters.named("Bob")
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.NoVoterError: no voter is called 'Bob'
    >>> ledger.close()
    """


class UnfinishedError(LedgerError):
    """A voter cannot finish, because pairs or sheets are not answered yet.

    Attributes
    ----------
    missing : int
        Number of pairs or sheets.
    unit : {"pairs", "sheets"}

    See Also
    --------
    Voter.finish : Raises it.
    VoterState : The next step of the voter.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> state = voter.next_sheet(pages)
    >>> voter.finish(pages)
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.UnfinishedError: 2 pairs have no answer yet
    >>> ledger.close()
    """

    def __init__(self, message: str, *, missing: int, unit: Literal["pairs", "sheets"] = "pairs") -> None:
        super().__init__(message)
        self.missing = missing
        self.unit = unit


class FinishedError(LedgerError):
    """The voter has finished: an answer can be changed, but not taken back.

    See Also
    --------
    Voter.retract : Raises it.
    Voter.finish : Ends the participation.

    Examples
    --------
    >>> from uuid import uuid4
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import FinishedError, Ledger, CampaignSettings, VoteCast, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True, completion_code="C0FFEE", sheets=1)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=1))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> sheet = voter.next_sheet(pages).sheet
    >>> vote = VoteCast(str(uuid4()), sheet.number, sheet.pairs[0].place, voter.id, "left")
    >>> receipt, ending = voter.cast(vote), voter.finish(pages)
    >>> voter.retract(voter.vote(vote.event_id), str(uuid4()))
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.FinishedError: you have finished: an answer can be changed, but not taken back
    >>> ledger.close()
    """


class ConflictError(LedgerError):
    """The comparison already has another vote, or the event id was used for another vote.

    Attributes
    ----------
    recorded : str or None
        The vote in force.
    reused : bool
        Whether the event id is the reason.

    See Also
    --------
    Campaign.cast, Voter.cast : Raise it.
    Campaign.conflicts : Lists such votes.
    Campaign.correct : Corrects the vote in force.

    Examples
    --------
    >>> from uuid import uuid4
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, VoteCast
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> ann = campaign.voters.named("Ann")
    >>> receipt = campaign.cast(VoteCast(str(uuid4()), 1, 0, ann.id, "left"))
    >>> campaign.cast(VoteCast(str(uuid4()), 1, 0, ann.id, "right"))
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.ConflictError: comparison 1-0-0 already has the vote 'left'
    >>> ledger.close()
    """

    def __init__(self, message: str, *, recorded: str | None = None, reused: bool = False) -> None:
        super().__init__(message)
        self.recorded = recorded
        self.reused = reused


class LateVoteError(LedgerError):
    """The ballot is closed, or its sheet was given to another voter: the vote is kept but does not count.

    See Also
    --------
    Campaign.cast, Voter.cast : Raise it.
    Campaign.reopen : Opens a ballot again.

    Examples
    --------
    >>> from uuid import uuid4
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, VoteCast
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> ann = campaign.voters.named("Ann")
    >>> record = campaign.close(1)
    >>> campaign.cast(VoteCast(str(uuid4()), 1, 0, ann.id, "right"))
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.LateVoteError: ballot 1 is closed: the vote was stored, but does not count
    >>> ledger.close()
    """


class ChangedError(LedgerError):
    """The object has changed since it was read; nothing was done.

    See Also
    --------
    Campaign.set_pages, Campaign.close : Raise it.
    ConflictError : A vote that contradicts another.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> version = campaign.set_pages(VotingPages(open_link=True), replaces=0)
    >>> campaign.set_pages(VotingPages(open_link=False), replaces=0)
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.ChangedError: the pages now have version 1, but the change was made to ...
    >>> ledger.close()
    """


class NotReadyError(LedgerError):
    """A ballot cannot be closed yet, or the next batch is not due; the message says what is missing.

    See Also
    --------
    Campaign.close, Campaign.open_next : Raise it.
    Campaign.preview : Shows how many answers are missing.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> campaign.close(1)
    Traceback (most recent call last):
        ...
    adaptive.ledger.errors.NotReadyError: ballot 1: 0 of 4 comparisons are answered, 0%, and 90% are ...
    >>> ledger.close()
    """


class BundleError(LedgerError):
    """A bundle is not in this format, damaged, or inconsistent; the message names the part.

    See Also
    --------
    verify_bundle, Ledger.restore : Raise it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import BundleError, verify_bundle
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "trees.zip")
    ...     _ = file.write_text("no zip")
    ...     try:
    ...         verify_bundle(file)
    ...     except BundleError as error:
    ...         print(str(error).replace(f"{folder}/", ""))
    trees.zip: not a zip that can be read: File is not a zip file
    """


def require(fits: bool, name: str, expectation: str, value: object) -> None:
    """Raise LedgerError unless a value fits, such as "sheets must be a positive whole number; got 0"."""
    if not fits:
        raise LedgerError(f"{name} must be {expectation}; got {shown(value)}")
