"""Open a ledger, one database with campaigns, and run a campaign step by step.

This is the only entry point: callers hold no transaction and see no table.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import sqlalchemy as sa

from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._plan import BallotPlan
from adaptive._protocol import Items, Position
from adaptive._record import BallotRecord, ProtocolResult
from adaptive.ledger._ballots import closing, results, rounds, shown_sheets
from adaptive.ledger._ballots.stored import standing_after, stored_ballots
from adaptive.ledger._bundle import files
from adaptive.ledger._bundle.archive import MOST_BYTES
from adaptive.ledger._campaign import status as progress_of
from adaptive.ledger._campaign import stored, voting_pages
from adaptive.ledger._campaign.info import CampaignInfo, ContinuousPlan, Settings
from adaptive.ledger._campaign.status import BallotProgress, CampaignStatus
from adaptive.ledger._campaign.stored import ItemContent, Steps, reads, runs, writes
from adaptive.ledger._campaign.voting_pages import VotingPages
from adaptive.ledger._formats import exports, imports
from adaptive.ledger._quality.report import quality_of
from adaptive.ledger._store.database import PATIENCE_SECONDS, Database, back_up
from adaptive.ledger._store.migrations import bring_up, check_revision, make_tables, migrate
from adaptive.ledger._voters.tokens import Tokens, issue
from adaptive.ledger._voters.voter import Voter, Voters
from adaptive.ledger._votes import casting, reading, recording
from adaptive.ledger._votes.casting import Receipt
from adaptive.ledger._votes.recording import Recorded
from adaptive.ledger.errors import LedgerError


class Ledger:
    """A database of campaigns: an SQLite file, a PostgreSQL database, or SQLite in memory.

    Parameters
    ----------
    target : str, path-like, or None
        Path of a file, or a URL like ``postgresql://host/database``; None for SQLite in memory, as in `in_memory`.
    patience : float
        How long to retry a transaction in all, in seconds.

    Raises
    ------
    LedgerError
        If the URL is of another kind.

    See Also
    --------
    Ledger.create, Ledger.open : A ledger in a file or in PostgreSQL.
    Campaign : A campaign in the ledger.
    verify_bundle : Check a campaign that was exported.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> ledger.campaign().status().state
    'open'
    >>> ledger.close()
    """

    def __init__(self, target: str | os.PathLike[str] | None, *, patience: float = PATIENCE_SECONDS) -> None:
        self.database: Database = Database(target, patience=patience)

    @classmethod
    def open(cls, target: str | os.PathLike[str]) -> Ledger:
        """Open an existing ledger.

        Raises
        ------
        LedgerError
            If it does not exist or cannot be read.
        RevisionError
            If its tables belong to another release.
        """
        ledger = cls(target)
        if not ledger.database.exists():
            raise LedgerError(f"{ledger.database.name}: does not exist")
        with ledger._closed_if_refused():
            ledger.database.read(lambda connection: check_revision(connection, ledger.database.name))
        ledger.database.write_ahead()
        return ledger

    @classmethod
    def create(cls, target: str | os.PathLike[str], *, patience: float = PATIENCE_SECONDS) -> Ledger:
        """Open a ledger, creating it if the database is empty or the file does not exist.

        Raises
        ------
        RevisionError
            If its tables belong to another release.
        """
        ledger = cls(target, patience=patience)
        if ledger.database.is_sqlite and (not ledger.database.exists() or not ledger.database.path.stat().st_size):
            ledger.database.write_ahead()  # existing files may be another program's: leave them
        with ledger._closed_if_refused():
            ledger.database.write(lambda connection: make_tables(connection, ledger.database.name))
        return ledger

    @classmethod
    def in_memory(cls) -> Ledger:
        """Make a ledger without a file: for a notebook, a test, or a program that stores the votes elsewhere.

        It belongs to this object and this process, and is lost when it is closed. Threads take turns using it.
        """
        ledger = cls(None)
        ledger.database.write(migrate)
        return ledger

    def new_campaign(
        self,
        plan: BallotPlan | ContinuousPlan,
        items: Items,
        voters: Items,
        seed: int,
        *,
        name: str = "campaign",
        settings: Settings | None = None,
        contents: Sequence[ItemContent] | None = None,
    ) -> Campaign:
        """Make a campaign.

        Parameters
        ----------
        plan : BallotPlan or ContinuousPlan
        items, voters : int or sequence of hashable
            Unique labels; an integer N means 0..N-1.
        seed : int
        name : str
        settings : Settings
        contents : sequence of ItemContent
            Content shown for each item; by default its label.

        Raises
        ------
        ProtocolError
            If the items are not those of the plan, or cannot be stored as JSON.
        """
        made = self.database.write(
            lambda connection: stored.insert_campaign(
                connection, plan, items, voters, seed, name=name, settings=settings, contents=contents
            )
        )
        return Campaign(self.database, made)

    def create_campaign(
        self,
        plan: BallotPlan | ContinuousPlan,
        items: Items,
        voters: Items,
        seed: int,
        *,
        name: str,
        settings: Settings,
        pages: VotingPages,
        contents: Sequence[ItemContent] | None = None,
    ) -> tuple[Campaign, str]:
        """Make a campaign for the web, with its pages and its organiser's token, all in one transaction.

        The token cannot be read again later. Parameters and errors are those of `new_campaign`.
        """

        def work(connection: sa.Connection) -> tuple[CampaignInfo, str]:
            info = stored.insert_campaign(
                connection, plan, items, voters, seed, name=name, settings=settings, contents=contents
            )
            voting_pages.set_pages(connection, info.id, pages, replaces=0)
            return info, issue(connection, info, "organiser")

        info, token = self.database.write(work)
        return Campaign(self.database, info), token

    def restore(self, path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> Campaign:
        """Make the campaign of a bundle, once it is verified; see `files.restore_bundle`."""
        return Campaign(self.database, files.restore_bundle(self.database, path, most_bytes=most_bytes))

    def campaign(self, key: str | None = None) -> Campaign:
        """Return the campaign of a key or name, or the only one.

        Raises
        ------
        LedgerError
            If the campaign does not exist, or if there are several and no key is given.
        """
        return Campaign(self.database, self.database.read(lambda connection: stored.load_campaign(connection, key)))

    @property
    def name(self) -> str:
        """Name for messages: the path, or host and database."""
        return self.database.name

    def exists(self) -> bool:
        """Whether the database exists; for PostgreSQL always true, since any use fails if it does not."""
        return self.database.exists()

    def back_up(self, path: str | os.PathLike[str]) -> None:
        """Copy an SQLite ledger to a new file while votes arrive; see `database.back_up`."""
        back_up(self.database, path)

    def migrate(self) -> str | None:
        """Upgrade the tables to this release, and return the revision that they had, or None if it was this one.

        Raises
        ------
        RevisionError
            If there is no ledger, or it is of a newer release.
        """
        return self.database.write(lambda connection: bring_up(connection, self.database.name))

    def check(self) -> None:
        """Check that the database responds and has the tables of this release.

        Raises
        ------
        LedgerError
            If it does not respond, or has other tables.
        """
        self.database.read(lambda connection: check_revision(connection, self.database.name))

    def close(self) -> None:
        """Close the connections."""
        self.database.close()

    @contextmanager
    def _closed_if_refused(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise


@dataclass(frozen=True, eq=False)
class Campaign(Steps):
    """One campaign in a ledger.

    Each step is one transaction unless stated otherwise, and is safe alongside other writers. `voters` and `tokens`
    provide the steps for voters and tokens. `reads`, `writes` and `runs` make a method of a step and its description.

    See Also
    --------
    Ledger.new_campaign, Ledger.create_campaign : Make one.
    Ledger.campaign : Find one.
    CampaignStatus, CampaignResult, CampaignQuality : Its reports.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> pairs = campaign.asked()
    >>> campaign.record({pair.id: "left" if pair.left < pair.right else "right" for pair in pairs}).n_new
    4
    >>> campaign.close(1)
    <BallotRecord 1: 4 items, b 1, 0 tied at cut>
    >>> ledger.close()
    """

    @property
    def key(self) -> str:
        """Random name, identical in every copy."""
        return self.info.key

    @cached_property
    def voters(self) -> Voters:
        """The voters."""
        return Voters(self.database, self.info)

    @cached_property
    def tokens(self) -> Tokens:
        """Links and sessions."""
        return Tokens(self.database, self.info)

    def voter(self, voter_id: int) -> Voter:
        """Return the voter of an id, without checking that it exists."""
        return Voter(self.database, self.info, voter_id)

    def is_kept_in(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path is the ledger's own file."""
        return self.database.is_file and os.path.realpath(path) == os.path.realpath(self.database.path)

    # Ballots and batches

    ballots = reads(stored_ballots)
    open_next = runs(rounds.open_next)
    preview = reads(rounds.preview)
    close = runs(rounds.close)
    reopen = runs(closing.reopen)
    asked = reads(shown_sheets.asked)
    shown_pairs = reads(shown_sheets.shown_pairs)

    # Votes

    cast = runs(casting.cast)

    def correct(self, comparison: str, answer: str | None, reason: str) -> Receipt:
        """Correct the vote on a comparison like "1-0-17"; the answer None voids it.

        A separate transaction finds the comparison; see `casting.correct`.
        """
        number, place = self._read(shown_sheets.place_of, comparison)
        return casting.correct(self.database, self.info, str(uuid.uuid4()), number, place, answer, reason)

    def record(self, votes: Mapping[str, str]) -> Recorded:
        """Record answers by comparison id, all or none: "left", "right", "tie" or "cannot say".

        Each answer belongs to the voter who has the comparison. Errors are those of `recording.record_file`, which
        count from 1.
        """
        rows = [VoteRow(line, pair, None, None, None, answer) for line, (pair, answer) in enumerate(votes.items(), 1)]
        return recording.record_file(self.database, self.info, VoteFile("votes", tuple(rows)))

    record_file = runs(recording.record_file)
    conflicts = reads(reading.conflicts)
    events_after = writes(reading.events_after)  # it waits for votes, and so takes locks

    # Contents for voters

    def pages(self) -> tuple[int, VotingPages]:
        """Return the current version of the pages, counted from 1, and the pages; version 0 if none were set."""
        return self._read(lambda connection, info: voting_pages.pages_of(connection, info.id))

    def set_pages(self, pages: VotingPages, *, replaces: int) -> int:
        """Show these pages from now on, and return their version; see `voting_pages.set_pages`."""
        return self._write(
            lambda connection, info: voting_pages.set_pages(connection, info.id, pages, replaces=replaces)
        )

    contents = reads(stored.contents_of)

    # Progress

    stamp = reads(progress_of.campaign_stamp)
    progress_stamp = reads(progress_of.progress_stamp)
    status = reads(progress_of.status_of)

    def progress(self) -> tuple[CampaignStatus, list[BallotProgress]]:
        """Report the state of the campaign and of each ballot at the same moment."""

        def read(connection: sa.Connection) -> tuple[CampaignStatus, list[BallotProgress]]:
            return progress_of.status_of(connection, self.info), progress_of.by_ballot(connection, self.info)

        return self.database.read(read)

    ballot_progress = reads(progress_of.by_ballot)
    ballot = reads(progress_of.ballot_state)
    item_progress = reads(results.by_item)
    items_shown = reads(results.items_shown)
    quality = reads(quality_of)

    # Results

    def standing(self) -> tuple[tuple[BallotRecord, ...], Position]:
        """Return the records of the closed ballots, and the position after them."""
        return standing_after(self.info, [each for each in self.ballots() if each.state == "closed"])

    def paper_result(self) -> ProtocolResult:
        """Return the paper's ranking, once all ballots are closed.

        Raises
        ------
        LedgerError
            If a ballot is not closed.
        """
        records, standing = self.standing()
        wanted = self.info.ballot_plan.n_ballots
        if standing.n_closed < wanted:
            raise LedgerError(
                f"the campaign is still open: {standing.n_closed} of {wanted} ballots are closed; the paper's scores "
                "need all of them, while interim=True ranks by the votes so far"
            )
        return ProtocolResult(self.info.ballot_plan, self.info.items, standing.mean, records)

    result = reads(results.result_of)
    counted_votes = reads(reading.counted_votes)

    # Files

    export_votes = runs(exports.export_votes)
    import_votes = runs(imports.import_votes)
    bundle = runs(files.bundle_bytes)
    write_bundle = runs(files.write_bundle)
    verify = runs(files.verify_campaign)
