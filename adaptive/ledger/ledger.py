"""A ledger: one database with campaigns in it; and one campaign, step by step."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import sqlalchemy as sa

from adaptive.draw import draw_ballot
from adaptive.formats.votes import VoteFile, VoteRow
from adaptive.ledger import closing, schema, sheets, votes
from adaptive.ledger.asking import asked
from adaptive.ledger.campaigns import CampaignInfo, ContinuousPlan, Settings, audit, create_campaign, load_campaign
from adaptive.ledger.closing import standing_after
from adaptive.ledger.contents import ItemContent
from adaptive.ledger.database import PATIENCE_SECONDS, Database
from adaptive.ledger.draws import StoredBallot, store_ballot, stored_ballots
from adaptive.ledger.errors import LedgerError, RevisionError
from adaptive.ledger.locking import lock_ballot, lock_tables
from adaptive.ledger.migrations import HEAD, check_revision, migrate, revision_of
from adaptive.ledger.recording import Recorded, record_file
from adaptive.plan import BallotPlan
from adaptive.protocol import Items, Standing, ballot_rng
from adaptive.record import BallotRecord, ProtocolResult
from adaptive.votes import Comparison

__all__ = ["Campaign", "Ledger"]

T = TypeVar("T")


class Ledger:
    """A database of campaigns: a file of SQLite, a PostgreSQL database, or SQLite in memory.

    Parameters
    ----------
    target : str, path-like, or None
        Path of a file, or a URL like ``postgresql://host/database``; None is what `in_memory` takes.
    patience : float
        Seconds for which a transaction is tried in all.

    Raises
    ------
    LedgerError
        Another kind of URL.
    """

    def __init__(self, target: str | os.PathLike[str] | None, *, patience: float = PATIENCE_SECONDS) -> None:
        self.database = Database(target, patience=patience)

    @classmethod
    def open(cls, target: str | os.PathLike[str]) -> Ledger:
        """Open a ledger that is there.

        Raises
        ------
        LedgerError
            When there is none, or it cannot be read.
        RevisionError
            When its tables are those of another release.
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
        """Open a ledger, or make it where there is none: an empty database, or a file that does not exist.

        Raises
        ------
        RevisionError
            When its tables are those of another release.
        """
        ledger = cls(target, patience=patience)
        name = ledger.database.name

        def made(connection: sa.Connection) -> None:
            lock_tables(connection)
            if revision_of(connection) is None:
                others = sa.inspect(connection).get_table_names()
                if others and (ledger.database.is_sqlite or set(others) & set(schema.metadata.tables)):
                    raise RevisionError(f"{name}: has tables of other software: {', '.join(sorted(others)[:5])}")
                migrate(connection)
            else:
                check_revision(connection, name)

        if ledger.database.is_sqlite and (not ledger.database.exists() or not ledger.database.path.stat().st_size):
            ledger.database.write_ahead()  # but no file of others is touched
        with ledger._closed_if_refused():
            ledger.database.write(made)
        return ledger

    @classmethod
    def in_memory(cls) -> Ledger:
        """Make a ledger without a file: for a notebook, a test, or a program that keeps the votes elsewhere.

        It belongs to this object and this process, and is gone when it is closed. Threads use it in turns.
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
            Unique labels; an integer N stands for 0..N-1.
        seed : int
        name : str
        settings : Settings
        contents : sequence of ItemContent
            What is shown for each item; by default its label.

        Raises
        ------
        ProtocolError
            When the items are not those of the plan, or cannot be kept as JSON.
        """
        chosen = Settings() if settings is None else settings
        made = self.database.write(
            lambda connection: load_by_id(
                connection,
                create_campaign(connection, plan, items, voters, seed, name=name, settings=chosen, contents=contents),
            )
        )
        return Campaign(self.database, made)

    def campaign(self, key: str | None = None) -> Campaign:
        """The campaign of a key, or the only one.

        Raises
        ------
        LedgerError
            Where there is no such campaign, or several and no key.
        """
        return Campaign(self.database, self.database.read(lambda connection: load_campaign(connection, key)))

    def migrate(self) -> str | None:
        """Bring the tables up to this release; the revision that they had is returned, None if it was this one.

        Raises
        ------
        RevisionError
            Where there is no ledger, or one of a newer release.
        """
        name = self.database.name

        def work(connection: sa.Connection) -> str | None:
            before = revision_of(connection)
            if before is not None and before < HEAD:
                migrate(connection)
            check_revision(connection, name)
            return None if before == HEAD else before

        return self.database.write(work)

    def check(self) -> None:
        """Ask whether the database answers, and has the tables of this release.

        Raises
        ------
        LedgerError
            When it does not, or they are others.
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


def load_by_id(connection: sa.Connection, campaign_id: int) -> CampaignInfo:
    """Load the campaign of an id."""
    key = connection.execute(sa.select(schema.campaign.c.key).where(schema.campaign.c.id == campaign_id)).scalar_one()
    return load_campaign(connection, key)


@dataclass(frozen=True, eq=False)
class Campaign:
    """One campaign in a ledger; every step is one transaction, and safe beside any other writer."""

    database: Database
    info: CampaignInfo

    def ballots(self) -> list[StoredBallot]:
        """All ballots so far."""
        return self.database.read(lambda connection: stored_ballots(connection, self.info.id))

    def open_ballot(self) -> int:
        """Draw the next ballot and store it; its number is returned.

        Raises
        ------
        LedgerError
            When a ballot is open, or all are closed.
        """
        plan, info = self.info.ballot_plan, self.info
        ballots = self.ballots()
        if ballots and ballots[-1].state != "closed":
            raise LedgerError(
                f"ballot {len(ballots)} is open: close it before the next is opened, or write it once more"
            )
        if len(ballots) == plan.n_ballots:
            raise LedgerError(f"all {plan.n_ballots} ballots are closed: none is left to open")
        number = len(ballots) + 1
        _, standing = standing_after(info, ballots)
        rng = ballot_rng(info.seed, number, "draw")
        drawn = draw_ballot(standing.labels(info.items), plan.presentations, info.slots, rng)

        def work(connection: sa.Connection) -> int:
            if ballots:  # nobody opens the last one again meanwhile
                lock_ballot(connection, ballots[-1].id, exclusive=False)
            fresh = stored_ballots(connection, info.id)
            if len(fresh) != len(ballots):
                raise LedgerError(f"ballot {number} was opened by somebody else at the same moment")
            if ballots and fresh[-1].chain_digest != ballots[-1].chain_digest:
                raise LedgerError(f"ballot {number - 1} was opened again at the same moment: its scores may change")
            ballot_id = store_ballot(
                connection, info, drawn, standing.places, number=number, presentations=plan.presentations
            )
            if info.settings.assigned:
                sheets.assign_slots(connection, info, ballot_id)
            audit(connection, info.id, "opened", {"numpy": _numpy_version()}, ballot_id=ballot_id)
            return number

        return self.database.write(work)

    def asked(self, *, number: int | None = None) -> tuple[Comparison, ...]:
        """Comparisons of the open ballots, or of one of them; see `adaptive.ledger.asking.asked`."""
        return self.database.read(lambda connection: asked(connection, self.info, number=number))

    def record(self, votes: Mapping[str, str]) -> Recorded:
        """Record answers by the id of their comparison: "left", "right", "tie" or "cannot say", all of them or none.

        Each is of the voter who has the comparison. Errors are those of `recording.record_file`, which count from 1.
        """
        rows = [VoteRow(line, pair, None, None, None, answer) for line, (pair, answer) in enumerate(votes.items(), 1)]
        return record_file(self.database, self.info, VoteFile("votes", tuple(rows)))

    def cast(self, vote: votes.VoteCast) -> votes.Receipt:
        """Record one vote; see `adaptive.ledger.votes.cast`."""
        return votes.cast(self.database, self.info, vote)

    def close_ballot(
        self, number: int, *, least_answered: float | None = None, stamp: str | None = None
    ) -> BallotRecord:
        """Close a ballot; see `adaptive.ledger.closing.close`."""
        return closing.close(self.database, self.info, number, least_answered=least_answered, stamp=stamp)

    def reopen(self, number: int, reason: str) -> None:
        """Open the last closed ballot again; see `adaptive.ledger.closing.reopen`."""
        closing.reopen(self.database, self.info, number, reason)

    def standing(self) -> tuple[tuple[BallotRecord, ...], Standing]:
        """Records of the closed ballots, and where the campaign stands."""
        return standing_after(self.info, [each for each in self.ballots() if each.state == "closed"])

    def result(self) -> ProtocolResult:
        """The paper's ranking, once all ballots are closed.

        Raises
        ------
        LedgerError
            When not all ballots are closed.
        """
        records, standing = self.standing()
        wanted = self.info.ballot_plan.n_ballots
        if standing.n_closed < wanted:
            raise LedgerError(f"the result needs all {wanted} ballots; {standing.n_closed} are closed")
        return ProtocolResult(self.info.ballot_plan, self.info.items, standing.mean, records)

    @cached_property
    def key(self) -> str:
        """Random name, the same in every copy."""
        return self.info.key

    def run(self, step: Callable[[sa.Connection], T]) -> T:
        """Run a step of this campaign as one writing transaction."""
        return self.database.write(step)


def _numpy_version() -> str:
    import numpy as np

    return np.__version__
