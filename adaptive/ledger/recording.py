"""Votes that come as a file: all of its rows in one transaction, the same twice changing nothing.

A row that contradicts the vote that stands is kept beside it as a conflict, for the organiser to decide, and keeps no
other row from counting. A row that means nothing - an unknown comparison, other items, a voter without the sheet -
makes the whole file be refused, with all such rows named. Answers to probes come in the same file, and are kept apart.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from adaptive.errors import VoteError
from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.columns import insert_columns, integer_columns
from adaptive.ledger.database import Database
from adaptive.ledger.draws import drawn_columns
from adaptive.ledger.encoding import json_of, now
from adaptive.ledger.errors import LedgerBusyError
from adaptive.ledger.locking import ballot_numbered, count_answers, lock_ballot, open_if_overdue
from adaptive.ledger.payloads import asked_name, vote_hash
from adaptive.ledger.probes.rows import asked_place, ballot_probes
from adaptive.ledger.voters import keys_of, names_of, voters_named
from adaptive.ledger.votes import answer_code
from adaptive.tables import VoteFile, VoteRow, item_cells

__all__ = ["Recorded", "record_file"]

_SHOWN: Final = 10  # rows that a message names
_NO_VOTE: Final = -9
_VOIDED: Final = -8


@dataclass(frozen=True)
class Recorded:
    """What a file brought.

    Attributes
    ----------
    n_new : int
        Votes that count from now on.
    n_known : int
        Votes that the ledger had already.
    n_conflicts : int
        Votes that contradict the one that stands: kept, not counted.
    n_late : int
        Votes on a closed ballot, or on a sheet that went to somebody else: kept, not counted.
    n_probes : int
        New answers to probes, which are no votes. The other numbers include those of probes.
    """

    n_new: int
    n_known: int
    n_conflicts: int
    n_late: int
    n_probes: int = 0


@dataclass(eq=False)
class _Ballot:
    """What the rows of one ballot are held against: its comparisons, or its probes."""

    id: int
    number: int
    is_probes: bool
    state: str
    sheet: list[int]
    left: list[int]
    right: list[int]
    revision: list[int]
    answer: list[int]
    holder: dict[int, tuple[int, int]]  # sheet -> lease, voter
    held: set[tuple[int, int]]  # every (sheet, voter) so far
    said: set[tuple[int, int, int]]  # every vote so far: place, voter, answer
    heard: set[tuple[int, int, int]]  # late votes: place, voter, answer

    def name(self, place: int) -> str:
        """Id of what is asked there."""
        return f"{self.number}-{'p' if self.is_probes else ''}{place}"


@dataclass(eq=False)
class _Batch:
    """Rows to insert, by column."""

    columns: dict[str, list[Any]] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any]) -> None:
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)


def record_file(database: Database, info: CampaignInfo, file: VoteFile) -> Recorded:
    """Record the votes of a file, all of them or, where a row means nothing, none.

    A row without a voter is by whoever has the sheet. The column ``seconds`` is the time that an answer took; columns
    that mean nothing here are kept with the vote.

    Raises
    ------
    VoteError
        With file and lines: a comparison that was never drawn, items or a voter that are not those of the comparison, a
        voter who never had the sheet.
    LedgerBusyError
        While a ballot of the file is being closed.
    """
    rows = [(row, *_place(file, row)) for row in file.rows if row.answer is not None]
    for number in sorted({number for _, number, _, _ in rows}):
        database.write(partial(open_if_overdue, info=info, number=number))
    return database.write(lambda connection: _recorded(connection, info, file, rows))


def _place(file: VoteFile, row: VoteRow) -> tuple[int, int, bool]:
    try:
        return asked_place(row.comparison)
    except VoteError as error:
        file.fail(str(error), row.line)


def _recorded(
    connection: sa.Connection, info: CampaignInfo, file: VoteFile, rows: Sequence[tuple[VoteRow, int, int, bool]]
) -> Recorded:
    ballots: dict[tuple[int, bool], _Ballot] = {}
    for row, number, _, is_probe in rows:
        if (number, is_probe) not in ballots:
            try:
                ballots[number, is_probe] = _held_against(connection, info, number, is_probe)
            except VoteError as error:
                file.fail(f"comparison {row.comparison!r} is unknown: {error}", row.line)
    known = voters_named(connection, info, {row.voter for row, *_ in rows if row.voter is not None})
    names, keys = names_of(connection, info), keys_of(connection, info)
    problems: list[str] = []
    counts: Counter[str] = Counter()
    events, late, probed, changes = _Batch(), _Batch(), _Batch(), {key: Counter[int]() for key in ballots}
    for row, number, place, is_probe in rows:
        ballot = ballots[number, is_probe]
        try:
            voter = _voter_of(info, row, ballot, place, known, names)
        except VoteError as error:
            problems.append(f"{file.name}:{row.line}: {error}")
            continue
        code = answer_code(row.answer)
        why = _why_not(ballot, place, voter, code)
        if why == "known":
            counts[why] += 1
            continue
        values = _values(info, row, ballot, place, voter, keys[voter], code)
        if is_probe:
            ballot.revision[place] += 1
            probed.add({**values, "revision": ballot.revision[place], "kind": "cast", "why": why})
            if why is None:
                ballot.answer[place] = code
            else:
                ballot.heard.add((place, voter, code))
            counts["probe" if why is None else why] += 1
        elif why is None:
            ballot.revision[place] += 1
            ballot.answer[place] = code
            lease = ballot.holder[ballot.sheet[place]][0]
            events.add({**values, "revision": ballot.revision[place], "kind": "cast", "lease_id": lease})
            changes[number, False][ballot.sheet[place]] += 1
            counts["new"] += 1
        else:
            late.add({**values, "why": why, "revision": ballot.revision[place]})
            ballot.heard.add((place, voter, code))
            counts[why] += 1
    if problems:
        more = f"; and {len(problems) - _SHOWN:,} more rows" if len(problems) > _SHOWN else ""
        raise VoteError("; ".join(problems[:_SHOWN]) + more)
    for table, batch in ((schema.vote_event, events), (schema.late_vote, late), (schema.probe_event, probed)):
        if batch.columns:
            insert_columns(connection, table, batch.columns)
    for key, by_sheet in changes.items():
        count_answers(connection, ballots[key].id, by_sheet)
    n_late = counts["closed"] + counts["reassigned"]
    return Recorded(counts["new"], counts["known"], counts["conflict"], n_late, counts["probe"])


def _held_against(connection: sa.Connection, info: CampaignInfo, number: int, is_probes: bool) -> _Ballot:
    ballot_id = ballot_numbered(connection, info, number)
    # Alone: what stands is read once for the whole file, and must stand until its votes are written.
    lock_ballot(connection, ballot_id, exclusive=True)
    state = connection.execute(sa.select(schema.ballot.c.state).where(schema.ballot.c.id == ballot_id)).scalar_one()
    if state == "closing":
        raise LedgerBusyError(f"ballot {number} is being closed: the file may be recorded in a moment")
    lease = schema.lease
    leases = connection.execute(
        sa.select(lease.c.id, lease.c.sheet, lease.c.voter_id, lease.c.ended_at).where(lease.c.ballot_id == ballot_id)
    ).all()
    asked = _asked_probes(connection, ballot_id) if is_probes else _asked_comparisons(connection, ballot_id)
    return _Ballot(
        id=ballot_id,
        number=number,
        is_probes=is_probes,
        state=state,
        holder={row.sheet: (row.id, row.voter_id) for row in leases if row.ended_at is None},
        held={(row.sheet, row.voter_id) for row in leases},
        **asked,
    )


def _asked_comparisons(connection: sa.Connection, ballot_id: int) -> dict[str, Any]:
    """Where each comparison is, what it shows, and what was answered."""
    drawn = drawn_columns(connection, ballot_id)
    event, late = schema.vote_event, schema.late_vote
    places, revisions, answers, voters = integer_columns(
        connection,
        sa.select(
            event.c.place,
            event.c.revision,
            sa.case((event.c.kind == "void", _VOIDED), else_=sa.func.coalesce(event.c.answer, _NO_VOTE)),
            event.c.voter_id,
        )
        .where(event.c.ballot_id == ballot_id)
        .order_by(event.c.place, event.c.revision),
    )
    revision, answer = np.zeros(drawn.sheet.size, np.int64), np.full(drawn.sheet.size, _NO_VOTE)
    revision[places], answer[places] = revisions, answers  # the last of each place stays
    heard = connection.execute(
        sa.select(late.c.place, late.c.voter_id, late.c.answer).where(late.c.ballot_id == ballot_id)
    )
    return {
        "sheet": drawn.sheet.tolist(),
        "left": drawn.left.tolist(),
        "right": drawn.right.tolist(),
        "revision": revision.tolist(),
        "answer": answer.tolist(),
        "said": set(zip(places.tolist(), voters.tolist(), answers.tolist(), strict=True)),
        "heard": {(row.place, row.voter_id, row.answer) for row in heard},
    }


def _asked_probes(connection: sa.Connection, ballot_id: int) -> dict[str, Any]:
    """The same of each probe; an answer that does not count is one of its events too."""
    probes = ballot_probes(connection, ballot_id)
    revision, answer = [0] * len(probes), [_NO_VOTE] * len(probes)
    heard = set()
    event = schema.probe_event
    for row in connection.execute(sa.select(event).where(event.c.ballot_id == ballot_id).order_by(event.c.revision)):
        revision[row.place] = row.revision
        if row.why is None:
            answer[row.place] = row.answer if row.kind == "cast" else _NO_VOTE
        else:
            heard.add((row.place, row.voter_id, row.answer))
    return {
        "sheet": [probe.sheet for probe in probes],
        "left": [probe.left for probe in probes],
        "right": [probe.right for probe in probes],
        "revision": revision,
        "answer": answer,
        "said": set(),
        "heard": heard,
    }


def _voter_of(
    info: CampaignInfo, row: VoteRow, ballot: _Ballot, place: int, known: Mapping[str, int], names: Mapping[int, str]
) -> int:
    """Who voted; what the row shows must be what was asked."""
    if place >= len(ballot.sheet):
        if not ballot.sheet:
            raise VoteError(f"comparison {row.comparison!r} is unknown: ballot {ballot.number} has no probes")
        last = ballot.name(len(ballot.sheet) - 1)
        raise VoteError(f"comparison {row.comparison!r} is unknown: those of ballot {ballot.number} end at '{last}'")
    for side, came, asked in (("left", row.left, ballot.left), ("right", row.right, ballot.right)):
        wanted = info.items[asked[place]]
        if came is not None and item_cells(came) != item_cells(wanted):
            expected, got = ", ".join(map(repr, item_cells(wanted))), ", ".join(map(repr, item_cells(came)))
            raise VoteError(f"comparison {row.comparison!r} has the {side} {expected}; got {got}")
    sheet = ballot.sheet[place]
    holder = ballot.holder.get(sheet)
    if row.voter is None:
        if holder is None:
            raise VoteError(f"comparison {row.comparison!r} is on a sheet that nobody has: the voter must be named")
        return holder[1]
    voter = known.get(row.voter)
    if voter is None or (sheet, voter) not in ballot.held:
        has = "nobody" if holder is None else f"voter {names[holder[1]]!r}"
        raise VoteError(
            f"comparison {row.comparison!r} is on sheet {sheet + 1}, which {has} has; {row.voter!r} never had it: "
            f"`ballots run assign` gives it away"
        )
    return voter


def _why_not(ballot: _Ballot, place: int, voter: int, code: int) -> str | None:
    stands = ballot.answer[place]
    if stands == code:
        return "known"
    if stands != _NO_VOTE and (place, voter, code) in ballot.said:  # and was corrected or voided since
        return "known"
    holder = ballot.holder.get(ballot.sheet[place])
    why = None if stands in (_NO_VOTE, _VOIDED) else "conflict"
    if ballot.state != "open":
        why = "closed"
    elif holder is None or holder[1] != voter:
        why = "reassigned"
    # A vote that came too late counts when it comes again in time: the ballot or the sheet may be back.
    return "known" if why is not None and (place, voter, code) in ballot.heard else why


def _values(
    info: CampaignInfo, row: VoteRow, ballot: _Ballot, place: int, voter: int, key: str, code: int
) -> dict[str, Any]:
    asked = asked_name(place, is_probe=ballot.is_probes)
    extra = dict(row.extra)
    seconds = extra.pop("seconds", None)
    return {
        # The same vote on the same revision of its comparison is the same event, whoever reads the file again: also in
        # a ledger that has restored the campaign, where the voter has the same key and another id.
        "event_id": str(
            uuid.uuid5(uuid.UUID(info.key), json_of([ballot.number, asked, key, row.answer, ballot.revision[place]]))
        ),
        "ballot_id": ballot.id,
        "place": place,
        "voter_id": voter,
        "answer": code,
        "response_ms": _milliseconds(seconds, row),
        "given_by": "file",
        "extra": json_of(extra) if extra else None,
        "received_at": now(),
        "payload_hash": vote_hash(ballot.number, place, voter, row.answer, is_probe=ballot.is_probes),
    }


def _milliseconds(seconds: str | None, row: VoteRow) -> int | None:
    if seconds is None:
        return None
    try:
        value = float(seconds)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise VoteError(f'line {row.line}: column "seconds": a time in seconds is wanted; got {seconds!r}')
    return round(1000 * value)
