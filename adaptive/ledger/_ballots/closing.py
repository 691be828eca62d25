"""Close a ballot: elect one closer, which scores outside any transaction and writes the record in one.

Votes share the lock of their ballot, and the closer takes it exclusively for an instant. Earlier votes are counted;
later voters are told that the ballot is closing. A closer that dies is replaced when its time is up.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from adaptive._draw import Ballot
from adaptive._protocol import Position, ballot_rng, close_ballot
from adaptive._record import BallotRecord
from adaptive._scores import select_by_mean
from adaptive.errors import VoteError
from adaptive.ledger._ballots.stored import (
    Scored,
    StoredBallot,
    ballot_stamp,
    load_ballot,
    not_ready,
    record_dict,
    standing_after,
    stored_ballots,
    too_few,
    write_record,
)
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import Database, clock
from adaptive.ledger._store.locks import closer_time, is_overdue, lock_ballot
from adaptive.ledger._store.rows import audit
from adaptive.ledger._voters.identity import excluded_voters
from adaptive.ledger._voters.newcomers import forget_addresses
from adaptive.ledger._votes.reading import StandingVotes, standing_votes, votes_digest
from adaptive.ledger.errors import ChangedError, ConflictError, LedgerBusyError, LedgerError, NotReadyError


def scored(
    connection: sa.Connection, info: CampaignInfo, stored: StoredBallot, before: Position, excluded: Mapping[int, str]
) -> Scored:
    """Score a ballot from its rows; the same votes always give the same record.

    Raises
    ------
    VoteError
        If an item has no answer.
    """
    votes = standing_votes(connection, stored.id).without(excluded)
    return _scores(info, stored, load_ballot(connection, info, stored), votes, before)


def _scores(info: CampaignInfo, stored: StoredBallot, ballot: Ballot, votes: StandingVotes, before: Position) -> Scored:
    answers = votes.answers(stored.n_comparisons)
    rng = ballot_rng(info.seed, stored.number, "cut")
    record, standing = close_ballot(info.ballot_plan, before, ballot, answers, rng=rng, select=select_by_mean)
    return Scored(record, standing, votes.n_answered)


def close(
    database: Database,
    info: CampaignInfo,
    number: int,
    *,
    least_answered: float | None = None,
    stamp: str | None = None,
) -> BallotRecord:
    """Close a ballot: count its votes, score it, and select the items of the next ballot.

    Parameters
    ----------
    number : int
        Number of the open ballot, so that two simultaneous calls cannot close two ballots.
    least_answered : float or None
        Share of the comparisons that must be answered; None: the campaign's setting.
    stamp : str or None
        The `ballot_stamp` that the caller has seen; None: accept any.

    Raises
    ------
    LedgerError
        If that ballot is not the open one.
    ChangedError
        If the ballot's stamp has changed.
    NotReadyError
        If too few comparisons are answered, or an item has no answer; the ballot stays open.
    ConflictError
        If it is already being closed.
    """
    closer = uuid.uuid4().hex
    ballot_id = database.write(lambda connection: _elect(connection, info, number, closer, stamp))
    try:
        counted = database.read(lambda connection: _count(connection, info, ballot_id))
        wanted = info.settings.least_answered if least_answered is None else least_answered
        found = _checked(info, counted, wanted)
        record = record_dict(found, counted.excluded)
        database.write(lambda connection: _write(connection, info, counted, closer, record))
    except BaseException:
        # Also after Ctrl-C, so that voters need not wait until the closer's time is up.
        database.write(lambda connection: _release(connection, ballot_id, closer))
        raise
    return found.record


def reopen(database: Database, info: CampaignInfo, number: int, reason: str) -> None:
    """Reopen the last closed ballot and set its record aside, provided that no later ballot was opened.

    Raises
    ------
    LedgerError
        If it is not closed, or another ballot was drawn from its scores.
    """

    def work(connection: sa.Connection) -> None:
        ballots = stored_ballots(connection, info)
        if 1 <= number <= len(ballots):
            # Another process may draw a ballot from these scores; the lock makes it do so before or after this step.
            lock_ballot(connection, ballots[number - 1].id, exclusive=True)
            ballots = stored_ballots(connection, info)
        if not 1 <= number <= len(ballots) or ballots[number - 1].state != "closed":
            raise LedgerError(f"ballot {number} is not closed: there is nothing to open again")
        if number < len(ballots):
            raise LedgerError(
                f"ballot {number} cannot be opened again: ballot {number + 1} was drawn from its scores, and is "
                f"{ballots[number].state}"
            )
        stored = ballots[-1]
        details = {"reason": reason, "record": stored.record, "chain_digest": stored.chain_digest}
        audit(connection, info.id, "reopened", details, ballot_id=stored.id)
        gone = {"record": None, "votes_digest": None, "chain_digest": None, "closed_at": None}
        connection.execute(sa.update(schema.ballot).where(schema.ballot.c.id == stored.id).values(state="open", **gone))

    database.write(work)


@dataclass(frozen=True, eq=False)
class _Counted:
    """The data that a closer reads, at one moment after the last vote."""

    stored: StoredBallot
    previous: str | None  # chain digest of the ballot before
    before: Position
    excluded: dict[int, str]
    ballot: Ballot
    votes: StandingVotes
    digest: str


def _elect(connection: sa.Connection, info: CampaignInfo, number: int, closer: str, stamp: str | None) -> int:
    table = schema.ballot
    has_number = (table.c.campaign_id == info.id, table.c.number == number)
    ballot_id: int | None = connection.execute(sa.select(table.c.id).where(*has_number)).scalar()
    if ballot_id is not None:
        # Votes before this point are counted; later voters find the ballot closing.
        lock_ballot(connection, ballot_id, exclusive=True)
        if stamp is not None and stamp != ballot_stamp(connection, info, number):
            raise ChangedError(f"ballot {number} was closed or opened, or its voters changed, since you reviewed it")
    state = connection.execute(sa.select(table.c.state).where(table.c.id == ballot_id)).scalar()
    if ballot_id is None or state == "closed":
        raise LedgerError(f"ballot {number} is not open: there is nothing to close")
    at = clock(connection)
    may_close = (table.c.id == ballot_id, sa.or_(table.c.state == "open", is_overdue(at)))
    closing = sa.update(table).values(state="closing", closer=closer, closer_until=at + closer_time())
    if not connection.execute(closing.where(*may_close)).rowcount:
        raise ConflictError(f"ballot {number} is being closed by another request")
    return int(ballot_id)


def _count(connection: sa.Connection, info: CampaignInfo, ballot_id: int) -> _Counted:
    ballots = stored_ballots(connection, info)
    stored = next(each for each in ballots if each.id == ballot_id)
    _, before = standing_after(info, ballots[: stored.number - 1])
    excluded = excluded_voters(connection, info.id)
    previous = ballots[stored.number - 2].chain_digest if stored.number > 1 else None
    ballot, votes = load_ballot(connection, info, stored), standing_votes(connection, stored.id).without(excluded)
    return _Counted(stored, previous, before, excluded, ballot, votes, votes_digest(connection, stored.id))


def _checked(info: CampaignInfo, counted: _Counted, wanted: float) -> Scored:
    stored = counted.stored
    if few := too_few(counted.votes.n_answered, stored.n_comparisons, wanted):
        raise not_ready(f"ballot {stored.number}: ", few, counted.votes.n_answered, stored.n_comparisons)
    try:
        return _scores(info, stored, counted.ballot, counted.votes, counted.before)
    except VoteError as error:
        raise NotReadyError(f"ballot {stored.number} cannot be scored, and was not closed: {error}") from error


def _write(
    connection: sa.Connection, info: CampaignInfo, counted: _Counted, closer: str, record: Mapping[str, Any]
) -> None:
    table, stored = schema.ballot, counted.stored
    is_mine = sa.and_(table.c.state == "closing", table.c.closer == closer)
    if write_record(connection, stored, counted.previous, counted.digest, record, is_mine) is None:
        raise LedgerBusyError(f"ballot {stored.number} was taken over by another closer, or opened again to voters")
    forget_addresses(connection, info, stored.id)
    audit(connection, info.id, "closed", {"n_answered": record["n_answered"]}, ballot_id=stored.id)


def _release(connection: sa.Connection, ballot_id: int, closer: str) -> None:
    table = schema.ballot
    is_mine = (table.c.id == ballot_id, table.c.state == "closing", table.c.closer == closer)
    connection.execute(sa.update(table).where(*is_mine).values(state="open", closer=None, closer_until=None))
