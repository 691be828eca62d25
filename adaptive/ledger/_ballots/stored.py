"""Read stored ballots: their rows and pairs, their stamps, and, once closed, their records and the chain of digests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive._draw import Ballot
from adaptive._protocol import Position
from adaptive._record import BallotRecord
from adaptive._scores import Tally
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import digest_of, json_of, now, value_of
from adaptive.ledger._store.rows import integer_columns
from adaptive.ledger.errors import LedgerError, NotReadyError
from rankcorr._checks import told_apart

_DECIDING = ("opened", "closed", "reopened", "excluded", "included", "left")
Array = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StoredBallot:
    """A row of the table of ballots.

    Attributes
    ----------
    id, number : int
    kind : {"ballot", "batch"}
    state : {"open", "closing", "closed"}
    places : ndarray of intp
        Places of the ballot's items among those of the campaign.
    presentations, n_comparisons : int
    draw_digest : str
    record : dict or None
        Set for a closed ballot.
    votes_digest, chain_digest : str or None
        Set for a closed ballot.
    """

    id: int
    number: int
    kind: str
    state: str
    places: NDArray[np.intp]
    presentations: int
    n_comparisons: int
    draw_digest: str
    record: dict[str, Any] | None
    votes_digest: str | None
    chain_digest: str | None

    @classmethod
    def from_dict(cls, row: Mapping[str, Any], *, ballot_id: int = 0) -> StoredBallot:
        """Return the ballot of a row whose places and record are no longer JSON."""
        own = {field.name: row[field.name] for field in fields(cls) if field.name not in ("id", "places")}
        return cls(id=ballot_id, places=np.array(row["places"], np.intp), **own)


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """The comparisons of a ballot in its order; items are places in the campaign, positions count checks too."""

    sheet: Array
    position: Array
    left: Array
    right: Array


class Probe(NamedTuple):
    """An extra pair that a sheet asks in addition to its comparisons.

    Attributes
    ----------
    sheet : int
    position : int
        The probe is shown before the comparison of this position.
    kind : {"practice", "attention", "gold", "repeat", "overlap"}
    left, right : int
        Places of the items in the campaign.
    expected : int or None
        1 left, 0 tie, -1 right; None if no particular answer is expected.
    repeats : int or None
        Place of the comparison that is asked again, on this sheet or another.
    """

    sheet: int
    position: int
    kind: str
    left: int
    right: int
    expected: int | None
    repeats: int | None


@dataclass(frozen=True, eq=False)
class Scored:
    """The results of an open ballot's votes, before anything is written.

    Attributes
    ----------
    record : BallotRecord
    standing : Position
        The position of the campaign after the ballot.
    n_answered : int
        Comparisons with a vote, "cannot say" included.
    """

    record: BallotRecord
    standing: Position
    n_answered: int


def stored_ballots(connection: sa.Connection, info: CampaignInfo) -> list[StoredBallot]:
    """Return all ballots of a campaign so far."""
    table = schema.ballot
    rows = connection.execute(sa.select(table).where(table.c.campaign_id == info.id).order_by(table.c.number))
    found = []
    for row in rows:
        decoded = {"places": value_of(row.places), "record": None if row.record is None else value_of(row.record)}
        found.append(StoredBallot.from_dict({**row._mapping, **decoded}, ballot_id=row.id))
    return found


def too_few(n_answered: int, n_comparisons: int, wanted: float) -> str:
    """Return why too few comparisons are answered to close a ballot or all batches; empty if enough are.

    Examples
    --------
    >>> too_few(28, 51, 0.55), too_few(11, 20, 0.55)  # 0.55 * 20 is more than 11
    ('28 of 51 comparisons are answered, 54.9%, and 55% are required', '')
    """
    part = n_answered / max(n_comparisons, 1)
    share, least = round(100 * part, 10), round(100 * wanted, 10)  # 55, where 100 * 0.55 is 55.00000000000001
    answered = f"{n_answered:,} of {n_comparisons:,} comparisons are answered"
    return f"{answered}, {told_apart(share, least, 0)}%, and {least:.12g}% are required" if share < least else ""


def not_ready(unit: str, few: str, n_answered: int, n_comparisons: int) -> NotReadyError:
    """Return the error for a ballot with too few answers, which names the option that closes it in spite of that.

    Examples
    --------
    >>> str(not_ready("ballot 1: ", "too few", 49, 60))
    'ballot 1: too few; nothing was closed (least_answered=0.81 closes it)'
    """
    share = math.floor(100 * n_answered / max(n_comparisons, 1)) / 100
    return NotReadyError(f"{unit}{few}; nothing was closed (least_answered={share:g} closes it)")


def drawn_columns(connection: sa.Connection, ballot_id: int) -> DrawnColumns:
    """Return the comparisons of a ballot as they were drawn."""
    table = schema.comparison
    wanted = sa.select(table.c.sheet, table.c.position, table.c.left_item, table.c.right_item)
    scored = wanted.where(table.c.ballot_id == ballot_id, table.c.probe.is_(None))
    return DrawnColumns(*integer_columns(connection, scored.order_by(table.c.place)))


def drawn_with_slots(connection: sa.Connection, ballot_id: int) -> tuple[DrawnColumns, Array]:
    """Return the comparisons of a ballot, and the slot of each."""
    drawn, table = drawn_columns(connection, ballot_id), schema.sheet
    wanted = sa.select(table.c.slot).where(table.c.ballot_id == ballot_id)
    (slots,) = integer_columns(connection, wanted.order_by(table.c.number))
    return drawn, slots[drawn.sheet]


def ballot_probes(connection: sa.Connection, ballot_id: int) -> list[Probe]:
    """Return the probes of a ballot by place; their positions are among all pairs of the sheet."""
    table = schema.comparison
    names = (table.c.sheet, table.c.position, table.c.probe, table.c.left_item, table.c.right_item)
    rows = connection.execute(
        sa.select(*names, table.c.expected, table.c.repeats)
        .where(table.c.ballot_id == ballot_id, table.c.probe.is_not(None))
        .order_by(table.c.place)
    )
    return [Probe(*row) for row in rows]


def load_ballot(connection: sa.Connection, info: CampaignInfo, stored: StoredBallot) -> Ballot:
    """Return the ballot that `draw_ballot` drew, from its rows."""
    return ballot_of(info, stored, *drawn_with_slots(connection, stored.id))


def ballot_of(info: CampaignInfo, stored: StoredBallot, drawn: DrawnColumns, slot: Array) -> Ballot:
    """Return the ballot of these comparisons, with the slot of each; voters are called by the numbers of slots."""
    index = np.full(info.n_items, -1, np.int32)
    index[stored.places] = np.arange(stored.places.size, dtype=np.int32)
    items = tuple(info.items[place] for place in stored.places.tolist())
    voters, voter = range(int(slot.max(initial=0)) + 1), slot.astype(np.int32)
    return Ballot(items, stored.presentations, voters, index[drawn.left], index[drawn.right], voter)


def standing_after(info: CampaignInfo, closed: Sequence[StoredBallot]) -> tuple[tuple[BallotRecord, ...], Position]:
    """Return the records of the closed ballots and the campaign's position after them, without reading votes."""
    standing = Position.first(info.ballot_plan)
    records = []
    for stored in closed:
        record = record_of(info, stored)
        mean = standing.mean.copy()
        mean[record.places] = record.ybar
        selected = np.array((stored.record or {})["selected"], np.intp)
        standing = Position(stored.number, selected, mean)
        records.append(record)
    return tuple(records), standing


def record_dict(found: Scored, excluded: Mapping[int, str]) -> dict[str, Any]:
    """Return the record of a ballot as it is stored: everything that the rest of the campaign needs."""
    kept = found.record.to_dict()
    del kept["items"], kept["number"]
    selected = found.standing.places.tolist()
    return {**kept, "selected": selected, "excluded": sorted(excluded.values()), "n_answered": found.n_answered}


def record_of(info: CampaignInfo, stored: StoredBallot) -> BallotRecord:
    """Return the record of a closed ballot as it was written."""
    if stored.record is None:
        raise LedgerError(f"ballot {stored.number} is not closed")
    kept = {name: np.array(column) for name, column in stored.record.items() if isinstance(column, list)}
    wins, ties, losses = (kept[name].astype(np.int64) for name in ("wins", "ties", "losses"))
    unanswered = kept["presentations"].astype(np.int64) - wins - ties - losses
    items = tuple(info.items[place] for place in stored.places.tolist())
    return BallotRecord(
        stored.number,
        items,
        stored.places,
        Tally(wins, ties, losses, unanswered),
        x=kept["x"],
        y=kept["y"],
        b=stored.record["b"],
        ybar=kept["ybar"],
        n_tied_at_cut=stored.record["n_tied_at_cut"],
    )


def chain_digest(previous: str | None, stored_draw: str, votes: str, record: Mapping[str, Any]) -> str:
    """Return a digest of a closed ballot and all before it, so that a ballot missing from the end is noticed."""
    return digest_of([previous or "", stored_draw, votes, json_of(dict(record))])


def write_record(
    connection: sa.Connection,
    stored: StoredBallot,
    previous: str | None,
    votes: str,
    record: Mapping[str, Any],
    *conditions: sa.ColumnElement[bool],
) -> str | None:
    """Close a ballot with its record and return its chain digest; None if the ballot does not fit the conditions.

    Parameters
    ----------
    previous : str or None
        Chain digest of the ballot before.
    votes : str
        Digest of the ballot's votes.
    """
    table, chain = schema.ballot, chain_digest(previous, stored.draw_digest, votes, record)
    values = {"state": "closed", "closer": None, "closer_until": None, "closed_at": now(), "record": json_of(record)}
    closed = sa.update(table).where(table.c.id == stored.id, *conditions).values(**values)
    is_written = connection.execute(closed.values(votes_digest=votes, chain_digest=chain)).rowcount
    return chain if is_written else None


def ballot_stamp(connection: sa.Connection, info: CampaignInfo, number: int) -> str:
    """Return a stamp of a ballot's state and of the voters who are left out, but not of its votes.

    Raises
    ------
    LedgerError
        If the ballot has not been opened.
    """
    table, event = schema.ballot, schema.audit_event
    has_number = (table.c.campaign_id == info.id, table.c.number == number)
    row = connection.execute(sa.select(table.c.state, table.c.chain_digest).where(*has_number)).first()
    if row is None:
        raise LedgerError(f"ballot {number} has not been opened")
    is_decision = (event.c.campaign_id == info.id, event.c.kind.in_(_DECIDING))
    decided = connection.execute(sa.select(sa.func.max(event.c.id)).where(*is_decision)).scalar()
    return digest_of([info.key, str(number), row.state, row.chain_digest or "", str(decided)])[:32]
