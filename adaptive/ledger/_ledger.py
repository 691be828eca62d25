"""Open a ledger, which is a database of campaigns, and run a campaign step by step.

This is the only entry point to the package: callers never see a transaction or a table.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import sqlalchemy as sa

from adaptive._formats.layouts import Answers
from adaptive._formats.votes import Columns, VoteFile, VoteRow, comparisons_csv, read_votes
from adaptive._formats.votes import Format as VoteFormat
from adaptive._plan import BallotPlan
from adaptive._protocol import Items, Position
from adaptive._record import BallotRecord, ProtocolResult
from adaptive._votes import Comparison
from adaptive.comparisons._comparisons import Comparisons
from adaptive.ledger import _closing as closing
from adaptive.ledger._ballots import batches, draws, pairs, stored
from adaptive.ledger._ballots.pairs import ShownPair
from adaptive.ledger._ballots.stored import StoredBallot, position_after, stored_ballots
from adaptive.ledger._bundle import files
from adaptive.ledger._bundle.checking import Verified, checked
from adaptive.ledger._bundle.contents import MOST_BYTES, read_contents
from adaptive.ledger._campaign.content import ItemContent, VotingPages
from adaptive.ledger._campaign.plan import ContinuousPlan
from adaptive.ledger._campaign.settings import CampaignSettings
from adaptive.ledger._campaign.transaction import (
    CampaignInfo,
    OpenCampaign,
    Transaction,
    insert_campaign,
    load_campaign,
)
from adaptive.ledger._closing import Preview
from adaptive.ledger._reports import results, status
from adaptive.ledger._reports.quality import CampaignQuality, FlagLimits, quality_of
from adaptive.ledger._reports.results import CampaignResult, ItemProgress
from adaptive.ledger._reports.status import BallotProgress, BallotState, CampaignStatus
from adaptive.ledger._store.database import PATIENCE_SECONDS, Database, back_up, check_writable
from adaptive.ledger._store.migrations import bring_up, check_revision, create_tables, make_tables
from adaptive.ledger._store.schema import file_id
from adaptive.ledger._tokens import Tokens, issue
from adaptive.ledger._voter import Voter, Voters
from adaptive.ledger._votes import casting, exports, imports
from adaptive.ledger._votes.casting import Conflict, Receipt, VoteCast
from adaptive.ledger._votes.exports import MOST_EVENTS, Export, Format, LedgerEvent
from adaptive.ledger._votes.imports import Recorded, read_set_file, set_file
from adaptive.ledger.errors import LedgerError
from rankcorr._workers import Progress
from rankcorr.errors import OptionError

if TYPE_CHECKING:
    from rankcorr.vectors import TargetGroups


class Ledger:
    """A database of campaigns: an SQLite file, a PostgreSQL database, or SQLite in memory.

    Parameters
    ----------
    target : str, path-like, or None
        Path of a file, or a URL like ``postgresql://host/database``; None for SQLite in memory, as in `in_memory`.
    patience : float
        Longest time to retry a transaction, in seconds.

    Raises
    ------
    LedgerError
        The URL is of another kind.

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
            raise LedgerError(
                f"{ledger.database.name}: does not exist (in a shell, `ballots run init` creates a ledger)"
            )
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
            ledger.database.write_ahead()  # not for existing files, which may belong to another program
        with ledger._closed_if_refused():
            ledger.database.write(lambda connection: make_tables(connection, ledger.database.name))
        return ledger

    @classmethod
    def in_memory(cls) -> Ledger:
        """Make a ledger without a file, for a notebook, a test, or a program that stores the votes elsewhere.

        The ledger belongs to this object and this process, and is lost when it is closed. Threads use it in turn.
        """
        ledger = cls(None)
        ledger.database.write(create_tables)
        return ledger

    def new_campaign(
        self,
        plan: BallotPlan | ContinuousPlan,
        items: Items,
        voters: Items,
        seed: int,
        *,
        name: str = "campaign",
        settings: CampaignSettings | None = None,
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
        settings : CampaignSettings
        contents : sequence of ItemContent
            Content shown for each item; by default its label.

        Raises
        ------
        ProtocolError
            A label is repeated or cannot be stored as JSON, or the items do not fit a plan of ballots.
        LedgerError
            The items do not fit a continuous plan, there is no voter, a label cannot be written to a file of votes,
            there is not one content for each item, the seed is invalid, or the settings do not fit.
        """
        info = self.database.write(
            lambda connection: insert_campaign(
                connection, plan, items, voters, seed, name=name, settings=settings, contents=contents
            )
        )
        return Campaign(self.database, info)

    def create_campaign(
        self,
        plan: BallotPlan | ContinuousPlan,
        items: Items,
        voters: Items,
        seed: int,
        *,
        name: str,
        settings: CampaignSettings,
        pages: VotingPages,
        contents: Sequence[ItemContent] | None = None,
    ) -> tuple[Campaign, str]:
        """Make a campaign for the web, with its pages and a token for its organiser, all in one transaction.

        The token cannot be retrieved later. Parameters and errors are those of `new_campaign`.
        """

        def work(connection: sa.Connection) -> tuple[CampaignInfo, str]:
            info = insert_campaign(
                connection, plan, items, voters, seed, name=name, settings=settings, contents=contents
            )
            transaction = Transaction(connection, info)
            transaction.set_pages(pages, replaces=0)
            return info, issue(transaction, "organiser")

        info, token = self.database.write(work)
        return Campaign(self.database, info), token

    def restore(self, path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> Campaign:
        """Verify a bundle and restore its campaign; see `files.restore_bundle`."""
        return Campaign(self.database, files.restore_bundle(self.database, path, most_bytes=most_bytes))

    def campaign(self, key: str | None = None) -> Campaign:
        """Return a campaign by its key or name, or the only one.

        Raises
        ------
        LedgerError
            If the campaign does not exist, or if there are several and no key is given.
        """
        return Campaign(self.database, self.database.read(lambda connection: load_campaign(connection, key)))

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
            There is no ledger, or it belongs to a newer release.
        """
        return self.database.write(lambda connection: bring_up(connection, self.database.name))

    def check(self) -> None:
        """Check that the database responds, has the tables of this release, and is not a read-only PostgreSQL server.

        Raises
        ------
        LedgerError
            If it does not respond, has other tables, or takes no changes.
        """

        def check(connection: sa.Connection) -> None:
            check_writable(connection, self.database.name)
            check_revision(connection, self.database.name)

        self.database.read(check)

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
class Campaign(OpenCampaign):
    """One campaign in a ledger.

    Each step is one transaction unless stated otherwise, and is safe alongside other writers. `voters` and `tokens`
    provide the steps for voters and tokens.

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
        """Random name, the same in every copy."""
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
        """Return the voter with an id, without checking that it exists."""
        return Voter(self.database, self.info, voter_id)

    # Ballots and batches

    def ballots(self) -> list[StoredBallot]:
        """Return all ballots or batches so far."""
        return self.read(stored_ballots)

    def open_next(self, *, at_once: bool = False) -> int:
        """Draw the next ballot or batch from the votes so far, store it, and return its number.

        Voting begins with the first one. A continuous campaign draws later batches by itself for voters who ask for a
        sheet. One transaction reads the votes, and another one checks that nothing has changed and stores the ballot.

        Parameters
        ----------
        at_once : bool
            Draw a batch even if it is not due.

        Raises
        ------
        NotReadyError
            Too many comparisons of the last batch are unanswered.
        LedgerError
            A ballot is open, all are closed, or the campaign needs no further batch.
        """
        return draws.open_ballot(self) if self.info.mode == "ballots" else batches.draw_batch(self, at_once=at_once)

    def preview(
        self, number: int | None = None, *, least_answered: float | None = None, progress: Progress | None = None
    ) -> Preview:
        """Return the effect of closing the open ballot, or all batches, without changing anything.

        Parameters
        ----------
        number : int or None
            Number of the open ballot; None for the one that is open. In a continuous campaign, any batch stands for
            all.
        least_answered : float or None
            Share of the comparisons that must be answered; None: the campaign's setting.
        progress : callable, optional
            As in `Strengths.sample`.

        Raises
        ------
        LedgerError
            No ballot is open, or it has another number.
        """
        return self.read(closing.preview_closing, number, least_answered=least_answered, progress=progress)

    def close(
        self, number: int, *, least_answered: float | None = None, stamp: str | None = None
    ) -> BallotRecord | None:
        """Close a ballot and return its record, or end a continuous campaign, whose batches have no record.

        A ballot is scored between two transactions: the first one elects a single closer, and the second one writes the
        record. Batches are closed in one transaction.

        Parameters
        ----------
        number : int
            Number of the open ballot, so that two simultaneous calls cannot close two ballots.
        least_answered : float or None
            Share of the comparisons that must be answered; None: the campaign's setting.
        stamp : str or None
            The stamp that the caller has seen, from `preview` or `ballot`; None accepts any.

        Raises
        ------
        LedgerError
            That ballot, or every batch, is closed.
        ChangedError
            The stamp has changed.
        NotReadyError
            Too few comparisons are answered, or an item has no answer. The ballot stays open.
        ConflictError
            Another caller is closing the ballot.
        """
        if self.info.mode == "ballots":
            return closing.close(self, number, least_answered=least_answered, stamp=stamp)
        closing.close_batches(self, least_answered=least_answered, stamp=stamp)
        return None

    def reopen(self, number: int, reason: str) -> None:
        """Reopen the last closed ballot and discard its record, unless a later ballot was opened.

        Raises
        ------
        LedgerError
            The ballot is not closed, or another ballot was drawn from its scores.
        """
        self.write(closing.reopen, number, reason)

    def asked(
        self, *, number: int | None = None, voter: str | None = None, unanswered: bool = False
    ) -> tuple[Comparison, ...]:
        """Return the comparisons of all open ballots, including checks, by sheet and in the order of display.

        The voter is the holder of the sheet, or "" if the sheet is free. The rows do not reveal which comparisons are
        checks.

        Parameters
        ----------
        number : int or None
            Only comparisons of this ballot.
        voter : str or None
            Only comparisons on the sheets of this voter, given by the name in a file or by key.
        unanswered : bool
            Only comparisons without a current answer.
        """
        return self.read(draws.open_comparisons, number=number, voter=voter, unanswered=unanswered)

    def comparisons_csv(self, comparisons: Sequence[Comparison]) -> str:
        """Return comparisons of `asked` as CSV for voters to fill in, voter by voter; `import_votes` reads it.

        The columns are comparison, voter, left, right and an empty winner; with grades, also an empty grade. For sets,
        they are comparison, voter, item_1, item_2, ..., and an empty best and worst.
        """
        if self.info.set_size > 2:
            return set_file(comparisons, self.info)
        rows = [comparison._replace(id=file_id(comparison.id)) for comparison in comparisons]
        return comparisons_csv(rows, has_grades=self.info.settings.grades > 1)

    def shown_pairs(self, number: int, sheet: int) -> tuple[ShownPair, ...]:
        """Return all pairs of a sheet, in the order of display.

        Parameters
        ----------
        number, sheet : int
            Ballot, counted from 1, and sheet in it, counted from 0.

        Raises
        ------
        VoteError
            If the sheet does not exist.
        """
        return self.read(pairs.shown_pairs, number, sheet)

    # Votes

    def cast(self, vote: VoteCast) -> Receipt:
        """Record a vote, and return once it is on the disk.

        Raises
        ------
        VoteError
            The comparison does not exist, the answer is unknown, or the voter never had the sheet.
        ConflictError
            The comparison has another vote, which the message names, or the event id was used for another vote. If the
            voter has finished, the new vote replaces the voter's earlier one instead.
        LateVoteError
            The ballot is closed, or the sheet was given to another voter. The vote is kept as a late vote. If it is
            sent again after the ballot is reopened or the sheet returned, it counts, unless the comparison has another
            vote.
        LedgerBusyError
            While the ballot is being closed; send the same vote again in a moment.
        """
        return casting.cast(self, vote)

    def correct(self, comparison: str, answer: str | None, reason: str) -> Receipt:
        """Replace the vote on a comparison like "1-0-17" by an organiser's correction; the answer None voids it.

        The vote still belongs to its voter, and the ledger keeps both answers with the reason. A correction to the
        current answer confirms it, and so resolves a conflict. A vote that a correction voided can be set again; a file
        that repeats it does not revive it. A separate transaction finds the comparison.

        Raises
        ------
        ConflictError
            The comparison has no current vote, nor one that a correction voided and whose voter has not left.
        LateVoteError
            The ballot is closed; reopen it first.
        LedgerBusyError
            While the ballot is being closed.
        """
        number, place = self.read(pairs.place_of, comparison)
        return casting.correct(self, str(uuid.uuid4()), number, place, answer, reason)

    def record(self, votes: Mapping[str, str]) -> Recorded:
        """Record answers by comparison id, all or none: "left", "right", "tie" or "cannot say".

        Each answer belongs to the voter who holds the sheet. Errors are those of `record_file`, with numbers from 1 as
        lines.
        """
        rows = [VoteRow(line, pair, None, None, None, answer) for line, (pair, answer) in enumerate(votes.items(), 1)]
        return self.record_file(VoteFile("votes", tuple(rows)))

    def record_file(self, file: VoteFile) -> Recorded:
        """Record the votes of a file: all of them, or none if a row is invalid.

        A row without a voter belongs to the voter who holds the sheet. The column ``seconds`` is the response time;
        unknown columns are stored with the vote.

        Raises
        ------
        VoteError
            A comparison was never drawn, the items or the voter do not match the comparison, or the voter never had
            the sheet. The message names the file and the lines.
        LedgerBusyError
            While a ballot of the file is being closed.
        """
        return imports.record_file(self, file)

    def conflicts(self) -> list[Conflict]:
        """Return the votes that do not count because they contradict another one, oldest first."""
        return self.read(casting.conflicts)

    def events_after(self, after: int = 0, *, most: int = MOST_EVENTS) -> tuple[LedgerEvent, ...]:
        """Return vote events with a higher number than `after`, in the order of their numbers.

        No event with a lower number can appear later: the method waits for votes that have a number but are not
        committed yet.

        Parameters
        ----------
        most : int
            Maximum number of events; fewer are returned only at the end of the ledger.
        """
        return self.write(exports.events_after, after, most=most)  # it waits for votes, and so takes locks

    # Contents for voters

    def pages(self) -> tuple[int, VotingPages]:
        """Return the current version of the pages, counted from 1, and the pages; version 0 if none were set."""
        return self.read(Transaction.pages)

    def set_pages(self, pages: VotingPages, *, replaces: int) -> int:
        """Show these pages from now on, and return their version.

        Parameters
        ----------
        replaces : int
            Version that was edited, from `pages`. It prevents overwriting another change.

        Raises
        ------
        ChangedError
            Another version has become current.
        LedgerError
            The consent text has changed, but not its version.
        """
        return self.write(Transaction.set_pages, pages, replaces=replaces)

    def contents(self) -> tuple[ItemContent, ...]:
        """Return the content shown for each item of the campaign, by place."""
        return self.read(Transaction.contents)

    # Progress

    def stamp(self) -> str:
        """Return a stamp that changes with each event: votes, leases of sheets, voters, and actions of organisers.

        No votes are read, so the cost does not depend on their number. Votes of other campaigns in the same ledger also
        change the stamp.
        """
        return self.read(status.campaign_stamp)

    def progress_stamp(self) -> str:
        """Return a stamp that changes with each event and when an unanswered sheet expires."""
        return self.read(status.progress_stamp)

    def status(self) -> CampaignStatus:
        """Return the progress of the campaign, without reading votes one by one."""
        return self.read(status.status_of)

    def progress(self) -> tuple[CampaignStatus, list[BallotProgress]]:
        """Return the progress of the campaign and of each ballot, at the same moment."""
        return self.read(lambda transaction: (status.status_of(transaction), status.by_ballot(transaction)))

    def ballot_progress(self) -> list[BallotProgress]:
        """Return the progress of each ballot or batch that was opened."""
        return self.read(status.by_ballot)

    def ballot(self, number: int) -> BallotState:
        """Return one opened ballot with its results.

        Raises
        ------
        LedgerError
            If the ballot has not been opened.
        """
        return self.read(status.ballot_state, number)

    def item_progress(self) -> list[ItemProgress]:
        """Return the number of answers about each item in the open ballots, without excluded voters, fewest first."""
        return self.read(results.by_item)

    def items_shown(self) -> list[tuple[ItemProgress, ItemContent]]:
        """Return all items with their presentations: those of open ballots as in `item_progress`, then the others."""
        return self.read(results.items_with_contents)

    def quality(self, limits: FlagLimits | None = None) -> CampaignQuality:
        """Return statistics of the voters from the campaign's answers so far, without changing anything.

        Parameters
        ----------
        limits : FlagLimits
            Limits that decide when a voter gets a flag.
        """
        return self.read(quality_of, limits)

    # Results

    def position(self) -> tuple[tuple[BallotRecord, ...], Position]:
        """Return the records of the closed ballots, and the position after them."""
        return position_after(self.info, self._closed_ballots())

    def _closed_ballots(self) -> list[StoredBallot]:
        return [ballot for ballot in self.ballots() if ballot.state == "closed"]

    def paper_result(self) -> ProtocolResult:
        """Return the paper's ranking, once all ballots are closed.

        Raises
        ------
        LedgerError
            If a ballot is not closed.
        """
        closed, n_ballots = self._closed_ballots(), self.info.ballot_plan.n_ballots
        if len(closed) < n_ballots:
            raise LedgerError(
                f"the campaign is still open: {len(closed)} of {n_ballots} ballots are closed; the paper's "
                "scores need all of them, while interim=True ranks by the votes so far"
            )
        return results.paper_result(self.info, closed)

    def result(
        self, *, interim: bool = False, top: int | None = None, progress: Progress | None = None
    ) -> CampaignResult:
        """Return the ranking of all items; `interim` allows it at any time, from the strengths alone.

        Parameters
        ----------
        top : int or None
            k of the cut; by default the size of the last ballot, or a tenth of the items.
        progress : callable, optional
            As in `Strengths.sample`.

        Raises
        ------
        LedgerError
            If a ballot is not closed and `interim` is false, or if there is no vote yet.
        """
        return self.read(results.result_of, interim=interim, top=top, progress=progress)

    def counted_votes(self) -> Comparisons:
        """Return all current votes by voters who are not excluded; "cannot say" counts as no answer.

        The votes have no grades, which `export_votes` writes. The attribute `unanswered` holds the other comparisons on
        sheets that voters hold.
        """
        return self.read(stored.counted_votes)

    # Files

    def target_groups(self) -> TargetGroups:
        """Return the target groups of the campaign, with the votes so far.

        R is the share of the votes that rank a candidate above another; a tie counts as half a vote for each. "Cannot
        say" and votes of excluded voters do not count.

        Raises
        ------
        LedgerError
            If the campaign has no target groups.
        """
        return self.read(exports.target_groups)

    def export_votes(
        self,
        format: Format,  # noqa: A002 - the name of the option
        *,
        unanswered: bool = False,
        names: bool = False,
        guard: bool = True,
    ) -> Export:
        """Write the votes that count, at most one for each comparison.

        =============== ============================== ================================================================
        format          files                          cannot express
        =============== ============================== ================================================================
        "csv"           votes.csv                      nothing; the winner is left, right, tie, cannot say, or empty
        "arena"         votes.jsonl                    cannot say, comparisons without a vote
        "label_studio"  tasks.json                     ties, cannot say
        "potato"        instances.jsonl                cannot say
        "choix"         pairs.csv, items.csv           ties, cannot say, comparisons without a vote, voters
        "target_groups" target-groups.csv              cannot say, comparisons without a vote, voters
        =============== ============================== ================================================================

        If items have more than a label, tasks of Label Studio and instances of potato include their content.
        Campaigns of sets have only "csv", and "target_groups" needs a campaign with target groups.

        Parameters
        ----------
        format : {"csv", "arena", "label_studio", "potato", "choix", "target_groups"}
        unanswered : bool
            Whether to write comparisons without a vote, if the format allows them.
        names : bool
            Whether to write names of voters instead of their random keys.
        guard : bool
            Whether to put an apostrophe before CSV cells that a spreadsheet would run as formulas. `import_votes`
            removes it. Other programs read it as part of the label, so use False for them.

        Raises
        ------
        OptionError
            The format is unknown.
        LedgerError
            The campaign has no target groups to export, or has sets, which only "csv" can express.
        TableError
            The items have no columns in common: only some are tuples, or tuples differ in length.
        """
        return self.read(exports.export_votes, format, unanswered=unanswered, names=names, guard=guard)

    def import_votes(
        self,
        path: str | os.PathLike[str],
        format: VoteFormat = "auto",  # noqa: A002 - the name of the option
        *,
        columns: Columns | None = None,
        answers: Answers | None = None,
        encoding: str = "utf-8",
        ignore: Sequence[str] = (),
        instances: str | os.PathLike[str] | None = None,
        guard: bool = True,
    ) -> Recorded:
        """Record the votes of a file in the open ballots: all of them, or none if one is invalid.

        A vote is matched by the id of its comparison: in the column or key comparison, in data.comparison of Label
        Studio, or as the id of potato. A vote without an id is matched with its voter's comparison of the same pair. A
        vote that the ledger already has changes nothing, and a contradicting vote is kept as a conflict, as in
        `record_file`.

        In a campaign of sets, the columns are comparison, item_1, item_2, ..., best and worst, and optionally voter.
        The only options are then `encoding` and `guard`.

        Parameters
        ----------
        path, format, answers, encoding, ignore, instances
            See `adaptive.read_comparisons`. Numbers of "choix" are indices into the items of the campaign.
        columns : mapping of {"left", "right", "winner", "voter"} to str or sequence of str, optional
            Names of columns that differ from those of the format.
        guard : bool
            Whether to remove the apostrophes that `export_votes` puts before formulas in CSV.

        Raises
        ------
        OptionError
            A format, column, meaning or encoding is unknown.
        TableError, VoteError
            The file cannot be read, or a winner, comparison, pair or voter is unknown. The message names the file and
            the line.
        """
        if self.info.set_size > 2:
            of_pairs = {"columns": columns, "answers": answers, "ignore": list(ignore), "instances": instances}
            if format not in ("auto", "csv") or any(of_pairs.values()):
                raise OptionError(f"format, {', '.join(of_pairs)} apply to votes on pairs, not on sets")
            return self.record_file(read_set_file(self.info, path, encoding=encoding, guard=guard))
        votes = read_votes(
            path, format=format, columns=columns, answers=answers, encoding=encoding, ignore=ignore,
            instances=instances, guard=guard, needed=["winner"],
        )  # fmt: skip
        file = imports.file_of(self.info, votes)
        return self.record_file(self.read(imports.match_comparisons, file))

    def bundle(self, *, names: bool = False) -> bytes:
        """Return the campaign as a zip; the same campaign gives the same bytes.

        It holds every row of the campaign except keys, tokens and addresses that only its ledger needs. The parts are
        items, plan, drawn comparisons, checks, all events, the votes that count and their ranking, a data sheet,
        Croissant metadata, and checksums. The bundle is checked before it is written, as by `verify_bundle`.

        Parameters
        ----------
        names : bool
            Whether to include names of voters, for another ledger with the same people. Without names, the bundle can
            be published, unless columns of files or reasons that people typed contain names.

        Raises
        ------
        BundleError
            The ledger is inconsistent.
        """
        return files.bundle_bytes(self, names=names)

    def write_bundle(self, path: str | os.PathLike[str], *, names: bool = False) -> None:
        """Write the campaign as a zip: see `bundle`.

        Raises
        ------
        BundleError
            The ledger is inconsistent, or the file cannot be written.
        """
        files.write_bundle(self, path, names=names)

    def verify(self) -> Verified:
        """Check the campaign in its ledger, as `verify_bundle` checks a bundle.

        Raises
        ------
        BundleError
            The ledger is inconsistent; the message names the part and the check.
        """
        return checked(self.read(read_contents, names=False), seed=True)
