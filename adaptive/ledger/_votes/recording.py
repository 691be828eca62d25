"""Record a file of votes: all rows in one transaction; recording the same file twice changes nothing.

A row that contradicts the recorded vote is kept as a conflict for the organiser to resolve and does not affect other
rows. An invalid row (an unknown comparison, other items, a voter without the sheet) makes the ledger refuse the whole
file and name all invalid rows. Answers to checks are treated as votes.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from adaptive._formats.votes import VoteFile, VoteRow
from adaptive._tables import item_cells
from adaptive.errors import VoteError
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import Database
from adaptive.ledger._store.encoding import answer_code, json_of, now, pair_at, pair_id
from adaptive.ledger._store.locks import ballot_numbered, count_answers, lock_ballot, open_if_overdue
from adaptive.ledger._store.rows import insert_columns, integer_columns
from adaptive.ledger._voters.identity import keys_of, names_of, voters_named
from adaptive.ledger._voters.newcomers import mark_answered
from adaptive.ledger._votes.casting import vote_hash
from adaptive.ledger.errors import LedgerBusyError

_SHOWN: Final = 10  # invalid rows listed in a message
_NO_VOTE: Final = -9
_VOIDED: Final = -8


@dataclass(frozen=True)
class Recorded:
    """The outcome of recording a file.

    Attributes
    ----------
    n_new : int
        Votes that count from now on, without answers to checks.
    n_known : int
        Votes that the ledger already had.
    n_conflicts : int
        Votes that contradict the recorded one: kept, not counted.
    n_late : int
        Votes on a closed ballot, or on a sheet that was given to another voter: kept, not counted.
    n_probes : int
        New answers to checks. `n_known`, `n_conflicts` and `n_late` include checks.
    """

    n_new: int
    n_known: int
    n_conflicts: int
    n_late: int
    n_probes: int = 0


@dataclass(eq=False)
class _Ballot:
    """The state of a ballot that rows of a file are compared with; lists are indexed by place."""

    id: int
    number: int
    state: str
    n_scored: int
    checks: set[int]  # places, practice left out
    place: dict[tuple[int, int], int]  # sheet, position
    sheet: list[int]
    left: list[int]
    right: list[int]
    revision: list[int]
    answer: list[int]
    holder: dict[int, tuple[int, int]]  # sheet -> lease, voter
    held: set[tuple[int, int]]  # every (sheet, voter) so far
    said: set[tuple[int, int, int]]  # every vote so far: place, voter, answer
    heard: set[tuple[int, int, int]]  # late votes: place, voter, answer


def record_file(database: Database, info: CampaignInfo, file: VoteFile) -> Recorded:
    """Record the votes of a file: all of them, or none if a row is invalid.

    A row without a voter belongs to the voter who holds the sheet. The column ``seconds`` is the time that an answer
    took; unknown columns are stored with the vote.

    Raises
    ------
    VoteError
        If a comparison was never drawn, the items or the voter do not match the comparison, or the voter never had the
        sheet. The message names file and lines.
    LedgerBusyError
        While a ballot of the file is being closed.
    """
    rows = [(row, *_pair(file, row)) for row in file.rows if row.answer is not None]
    for number in sorted({number for _, number, *_ in rows}):
        database.write(partial(open_if_overdue, campaign_id=info.id, number=number))
    return database.write(lambda connection: _recorded(connection, info, file, rows))


def _pair(file: VoteFile, row: VoteRow) -> tuple[int, int, int]:
    try:
        return pair_at(row.comparison)
    except VoteError as error:
        file.fail(str(error), row.line)


def _recorded(
    connection: sa.Connection, info: CampaignInfo, file: VoteFile, rows: Sequence[tuple[VoteRow, int, int, int]]
) -> Recorded:
    ballots: dict[int, _Ballot] = {}
    for row, number, *_ in rows:
        if number not in ballots:
            try:
                ballots[number] = _held_against(connection, info, number)
            except VoteError as error:
                file.fail(f"comparison {row.comparison!r} is unknown: {error}", row.line)
    known = voters_named(connection, info, {row.voter for row, *_ in rows if row.voter is not None})
    names, keys = names_of(connection, info), keys_of(connection, info)
    problems: list[str] = []
    counts: Counter[str] = Counter()
    events, late = (defaultdict[str, list[Any]](list) for _ in range(2))
    answered: dict[int, int] = {}  # lease -> voter
    scored, checked = ({number: Counter[int]() for number in ballots} for _ in range(2))
    for row, number, sheet, position in rows:
        ballot = ballots[number]
        try:
            place = _place(ballot, row, sheet, position)
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
        if why is None:
            ballot.revision[place] += 1
            ballot.answer[place] = code
            lease = ballot.holder[sheet][0]
            values |= {"revision": ballot.revision[place], "kind": "cast", "lease_id": lease}
            answered[lease] = voter
            is_scored = place < ballot.n_scored
            scored[number][sheet] += is_scored
            checked[number][sheet] += place in ballot.checks
            counts["new" if is_scored else "probe"] += 1
        else:
            values |= {"why": why, "revision": ballot.revision[place]}
            ballot.heard.add((place, voter, code))
            counts[why] += 1
        for name, value in values.items():
            (events if why is None else late)[name].append(value)
    if problems:
        more = f"; and {len(problems) - _SHOWN:,} more rows" if len(problems) > _SHOWN else ""
        raise VoteError("; ".join(problems[:_SHOWN]) + more)
    for table, columns in ((schema.vote_event, events), (schema.late_vote, late)):
        if columns:
            insert_columns(connection, table, columns)
    for number, ballot in ballots.items():
        count_answers(connection, ballot.id, scored[number], checked[number])
    waiting = sa.select(schema.lease.c.id).join(schema.ballot, schema.ballot.c.id == schema.lease.c.ballot_id)
    waiting = waiting.where(schema.ballot.c.campaign_id == info.id, schema.lease.c.unanswered)
    for lease in connection.execute(waiting).scalars().all() if answered else ():
        if lease in answered:
            mark_answered(connection, info, lease, answered[lease])
    n_late = counts["closed"] + counts["reassigned"]
    return Recorded(counts["new"], counts["known"], counts["conflict"], n_late, counts["probe"])


def _held_against(connection: sa.Connection, info: CampaignInfo, number: int) -> _Ballot:
    ballot_id = ballot_numbered(connection, info.id, number)
    # Exclusive: the current votes are read once for the whole file and must not change until its votes are written.
    lock_ballot(connection, ballot_id, exclusive=True)
    table = schema.ballot
    own = sa.select(table.c.state, table.c.n_comparisons).where(table.c.id == ballot_id)
    state, n_scored = connection.execute(own).one()
    if state == "closing":
        raise LedgerBusyError(f"ballot {number} is being closed: record the file again in a moment")
    lease = schema.lease
    wanted = sa.select(lease.c.id, lease.c.sheet, lease.c.voter_id, lease.c.ended_at)
    leases = connection.execute(wanted.where(lease.c.ballot_id == ballot_id)).all()
    return _Ballot(
        id=ballot_id,
        number=number,
        state=state,
        n_scored=n_scored,
        holder={row.sheet: (row.id, row.voter_id) for row in leases if row.ended_at is None},
        held={(row.sheet, row.voter_id) for row in leases},
        **_asked(connection, ballot_id),
    )


def _asked(connection: sa.Connection, ballot_id: int) -> dict[str, Any]:
    """Return the position, the items and the answers so far of each comparison."""
    pair, event, late = schema.comparison, schema.vote_event, schema.late_vote
    asked = sa.select(pair.c.sheet, pair.c.position, pair.c.left_item, pair.c.right_item).order_by(pair.c.place)
    sheet, position, left, right = integer_columns(connection, asked.where(pair.c.ballot_id == ballot_id))
    said = sa.case((event.c.kind == "void", _VOIDED), else_=sa.func.coalesce(event.c.answer, _NO_VOTE))
    events = sa.select(event.c.place, event.c.revision, said, event.c.voter_id).where(event.c.ballot_id == ballot_id)
    in_order = events.order_by(event.c.place, event.c.revision)
    places, revisions, answers, voters = integer_columns(connection, in_order)
    revision, answer = np.zeros(sheet.size, np.int64), np.full(sheet.size, _NO_VOTE)
    revision[places], answer[places] = revisions, answers  # the last event of each place wins
    heard = sa.select(late.c.place, late.c.voter_id, late.c.answer).where(late.c.ballot_id == ballot_id)
    checks = sa.select(pair.c.place).where(pair.c.ballot_id == ballot_id, pair.c.probe != "practice")
    return {
        "checks": set(connection.execute(checks).scalars()),
        "place": {at: place for place, at in enumerate(zip(sheet.tolist(), position.tolist(), strict=True))},
        "sheet": sheet.tolist(),
        "left": left.tolist(),
        "right": right.tolist(),
        "revision": revision.tolist(),
        "answer": answer.tolist(),
        "said": set(zip(places.tolist(), voters.tolist(), answers.tolist(), strict=True)),
        "heard": {(row.place, row.voter_id, row.answer) for row in connection.execute(heard)},
    }


def _place(ballot: _Ballot, row: VoteRow, sheet: int, position: int) -> int:
    place = ballot.place.get((sheet, position))
    if place is not None:
        return place
    last = max((at for on, at in ballot.place if on == sheet), default=None)
    which = f"comparison {row.comparison!r} is unknown: ballot {ballot.number}"
    if last is None:
        raise VoteError(f"{which} ends at sheet {max(ballot.sheet)}")
    raise VoteError(f"{which} ends sheet {sheet} at {pair_id(ballot.number, sheet, last)!r}")


def _voter_of(
    info: CampaignInfo, row: VoteRow, ballot: _Ballot, place: int, known: Mapping[str, int], names: Mapping[int, str]
) -> int:
    """Return the voter of a row, or refuse the row if its items are not those of the comparison."""
    for side, came, asked in (("left", row.left, ballot.left), ("right", row.right, ballot.right)):
        wanted = info.items[asked[place]]
        if came is not None and item_cells(came) != item_cells(wanted):
            expected, got = ", ".join(map(repr, item_cells(wanted))), ", ".join(map(repr, item_cells(came)))
            raise VoteError(f"comparison {row.comparison!r} has the {side} {expected}; got {got}")
    sheet = ballot.sheet[place]
    holder = ballot.holder.get(sheet)
    if row.voter is None:
        if holder is None:
            raise VoteError(f"comparison {row.comparison!r} is on a sheet that no voter holds: name the voter")
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
    recorded = ballot.answer[place]
    if recorded == code:
        return "known"
    if recorded != _NO_VOTE and (place, voter, code) in ballot.said:  # but it has been corrected or voided since
        return "known"
    holder = ballot.holder.get(ballot.sheet[place])
    why = None if recorded in (_NO_VOTE, _VOIDED) else "conflict"
    if ballot.state != "open":
        why = "closed"
    elif holder is None or holder[1] != voter:
        why = "reassigned"
    # A late vote may be sent again after the ballot was reopened or the sheet returned; it then counts.
    return "known" if why is not None and (place, voter, code) in ballot.heard else why


def _values(
    info: CampaignInfo, row: VoteRow, ballot: _Ballot, place: int, voter: int, key: str, code: int
) -> dict[str, Any]:
    extra = dict(row.extra)
    seconds = extra.pop("seconds", None)
    return {
        # The same vote on the same revision of its comparison is the same event, no matter who reads the file again.
        # This also holds in a ledger that has restored the campaign, where the voter has the same key but another id.
        "event_id": str(
            uuid.uuid5(uuid.UUID(info.key), json_of([ballot.number, place, key, row.answer, ballot.revision[place]]))
        ),
        "ballot_id": ballot.id,
        "place": place,
        "voter_id": voter,
        "answer": code,
        "response_ms": _milliseconds(seconds, row),
        "given_by": "file",
        "extra": json_of(extra) if extra else None,
        "received_at": now(),
        "payload_hash": vote_hash(ballot.number, place, voter, row.answer),
    }


def _milliseconds(seconds: str | None, row: VoteRow) -> int | None:
    if seconds is None:
        return None
    try:
        value = float(seconds)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e6:
        raise VoteError(f'line {row.line}: column "seconds": a time in seconds is expected; got {seconds!r}')
    return round(1000 * value)
