"""Record a file of votes: all rows in one transaction; recording the same file twice changes nothing.

A row that contradicts the recorded vote is kept as a conflict, which the organiser can resolve, and does not affect
other rows. If a row is invalid (an unknown comparison, other items, a voter without the sheet), the whole file is
rejected with an error that names the invalid rows. Answers to checks are treated as votes.

A file of votes on sets has a row for each set, with its items, the best and the worst. Known pairs, for checks, are
read from a file of votes on pairs.
"""

import os
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from adaptive._formats.records import records_of_file
from adaptive._formats.votes import VoteColumns, VoteFile, VoteRow, read_votes
from adaptive._tables import Label, cell_number, csv_text, guarded, item_cells, item_name, set_columns
from adaptive._votes import Comparison, SetComparison
from adaptive.errors import VoteError
from adaptive.ledger._ballots.sheets import mark_answered
from adaptive.ledger._ballots.stored import NO_VOTER, NOTHING, ballot_probes, drawn_columns, holders_of
from adaptive.ledger._campaign.settings import KINDS, KnownPair
from adaptive.ledger._campaign.transaction import CampaignInfo, OpenCampaign, Transaction, insert_columns, state_at
from adaptive.ledger._membership import voters_named
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import ANSWERS, answer_code, answer_name, json_of, pair_at, pair_id
from adaptive.ledger._votes.casting import VoteCast, event_row, why_late
from adaptive.ledger._votes.exports import label_cell, set_cells
from adaptive.ledger.errors import LedgerBusyError, LedgerError
from rankcorr._checks import shown
from rankcorr.errors import TableError

_MOST_LISTED: Final = 10  # invalid rows listed in a message
_VOIDED: Final = -8
_FLIPPED: Final = {
    name: name if ANSWERS[name] == schema.CANNOT_SAY else answer_name(-ANSWERS[name])
    for name in schema.answers_with(schema.MOST_GRADES)
}
Pair = frozenset[str]
_NO_CHOICE: Final = "cannot say"


@dataclass(frozen=True)
class Recorded:
    """The outcome of recording a file.

    Attributes
    ----------
    n_new : int
        Number of new votes, without answers to checks.
    n_known : int
        Number of votes that the ledger already had.
    n_conflicts : int
        Number of votes that contradict the recorded vote; they are stored but do not count.
    n_late : int
        Number of votes on a closed ballot, or on a sheet that was given to another voter; they are stored but do not
        count.
    n_probes : int
        Number of new answers to checks. `n_known`, `n_conflicts` and `n_late` include checks.
    n_voided : int
        Number of votes among `n_known` that were voided, so that their comparisons have no answer. A file that is
        recorded again does not revive them, because it may be an old one; `Campaign.correct` sets a voided vote.
    """

    n_new: int
    n_known: int
    n_conflicts: int
    n_late: int
    n_probes: int = 0
    n_voided: int = 0


@dataclass(eq=False)
class _Ballot:
    """The state of a ballot, which rows of a file are compared with; lists are indexed by place."""

    id: int
    number: int
    state: str
    n_scored: int
    checks: set[int]  # places, without practice
    place: dict[tuple[int, int], int]  # sheet, position
    sheet: list[int]
    items: list[list[int]]  # in the order shown
    revision: list[int]
    answer: list[int]
    holder: dict[int, tuple[int, int]]  # sheet -> lease, voter
    end_reasons: dict[tuple[int, int], str | None]  # (sheet, voter) -> why the voter's latest lease ended
    votes: set[tuple[int, int, int]]  # every vote so far: place, voter, answer
    late_votes: set[tuple[int, int, int]]  # late votes: place, voter, answer


def record_file(campaign: OpenCampaign, file: VoteFile) -> Recorded:
    """Record the votes of a file; see `Campaign.record_file`."""
    file = with_grades(campaign.info, file)
    rows = [(row, *_parse_pair_id(file, row)) for row in file.rows if row.answer is not None]
    campaign.write(Transaction.open_all_overdue)
    return campaign.write(lambda transaction: _record_rows(transaction, file, rows))


def with_grades(info: CampaignInfo, file: VoteFile) -> VoteFile:
    """Return the file with the column ``grade`` merged into the answers, if the campaign has grades.

    A grade is a whole number, with or without a sign: above 0 for the left side, below 0 for the right. An empty cell
    is grade 1.

    Raises
    ------
    VoteError
        A grade that the campaign does not have, of the other side, or of a tie; the message names the file and line.
    """
    if info.settings.grades == 1:
        return file
    rows = []
    for row in file.rows:
        extra = dict(row.extra)
        grade = extra.pop("grade", "")
        answer = row.answer
        if answer in ("left", "right") and grade:
            signs = {"left": ("", "+"), "right": ("", "-")}[answer]
            grades = {f"{sign}{g}": g for sign in signs for g in range(1, info.settings.grades + 1)}
            number = grade.strip().removesuffix(".0")  # pandas writes whole numbers like this in a column with gaps
            if number not in grades:
                file.fail(f"grade {grade!r} does not fit the winner {answer!r}: {', '.join(grades)}", row.line)
            answer = schema.graded_answer(answer, grades[number])
        elif grade.strip().removesuffix(".0") not in ("", "0"):
            file.fail(f"grade {grade!r} needs the winner 'left' or 'right'; got {answer or 'none'!r}", row.line)
        rows.append(row._replace(answer=answer, extra=tuple(extra.items())))
    return VoteFile(file.name, tuple(rows))


def _parse_pair_id(file: VoteFile, row: VoteRow) -> tuple[int, int, int]:
    try:
        return pair_at(row.comparison)
    except VoteError as error:
        file.fail(str(error), row.line)


def _record_rows(transaction: Transaction, file: VoteFile, rows: Sequence[tuple[VoteRow, int, int, int]]) -> Recorded:
    ballots: dict[int, _Ballot] = {}
    for row, number, *_ in rows:
        if number not in ballots:
            try:
                ballots[number] = _lock_and_read_ballot(transaction, number)
            except VoteError as error:
                file.fail(f"comparison {row.comparison!r} is unknown: {error}", row.line)
    known = voters_named(transaction, {row.voter for row, *_ in rows if row.voter is not None})
    names, keys = transaction.voter_names(), transaction.voter_keys()
    problems: list[str] = []
    counts: Counter[str] = Counter()
    events, late = (defaultdict[str, list[Any]](list) for _ in range(2))
    answered: dict[int, int] = {}  # lease -> voter
    scored, checked = ({number: Counter[int]() for number in ballots} for _ in range(2))
    for row, number, sheet, position in rows:
        ballot = ballots[number]
        try:
            place = _find_place(ballot, row, sheet, position)
            voter = _find_voter(transaction.info, row, ballot, place, known, names)
        except VoteError as error:
            problems.append(f"{file.name}:{row.line}: {error}")
            continue
        code = answer_code(row.answer, transaction.info.answers)
        why = _reason_not_to_record(ballot, place, voter, code)
        if why == "known":
            counts[why] += 1
            counts["voided"] += ballot.answer[place] == _VOIDED
            continue
        vote = _make_vote(transaction.info, file, row, ballot, place, voter, keys[voter])
        values = event_row(vote, ballot.id, code, vote.payload_hash())
        if why is None:
            ballot.revision[place] += 1
            ballot.answer[place] = code
            lease_id, _ = ballot.holder.get(sheet, (None, None))
            values |= {"revision": ballot.revision[place], "kind": "cast", "lease_id": lease_id}
            is_scored = place < ballot.n_scored
            if lease_id is not None and (is_scored or place in ballot.checks):
                answered[lease_id] = voter
            scored[number][sheet] += is_scored
            checked[number][sheet] += place in ballot.checks
            counts["new" if is_scored else "probe"] += 1
        else:
            values |= {"why": why, "revision": ballot.revision[place]}
            ballot.late_votes.add((place, voter, code))
            counts[why] += 1
        for name, value in values.items():
            (events if why is None else late)[name].append(value)
    if problems:
        more = f"; and {len(problems) - _MOST_LISTED:,} more rows" if len(problems) > _MOST_LISTED else ""
        raise VoteError("; ".join(problems[:_MOST_LISTED]) + more)
    for table, columns in ((schema.vote_event, events), (schema.late_vote, late)):
        if columns:
            insert_columns(transaction.connection, table, columns)
    for number, ballot in ballots.items():
        transaction.count_answers(ballot.id, scored[number], checked[number])
    waiting = sa.select(schema.lease.c.id).select_from(schema.LEASES)
    waiting = waiting.where(transaction.of_campaign(schema.ballot), schema.lease.c.unanswered)
    for lease in transaction.execute(waiting).scalars().all() if answered else ():
        if lease in answered:
            mark_answered(transaction, lease, answered[lease])
    n_late = counts["closed"] + counts["reassigned"]
    return Recorded(
        counts["new"], counts["known"], counts["conflict"], n_late, n_probes=counts["probe"], n_voided=counts["voided"]
    )


def _lock_and_read_ballot(transaction: Transaction, number: int) -> _Ballot:
    ballot_id = transaction.ballot_numbered(number)
    # Exclusive, because the votes that are read here must not change until the votes of the file are written.
    transaction.lock_ballot(ballot_id, exclusive=True)
    state = transaction.ballot_state(ballot_id)
    if state == "closing":
        raise LedgerBusyError(f"ballot {number} is being closed: record the file again in a moment")
    comparisons, probes = drawn_columns(transaction, ballot_id), ballot_probes(transaction, ballot_id)
    n_scored = comparisons.sheet.size
    at = list(zip(comparisons.sheet.tolist(), comparisons.position.tolist(), strict=True))
    at += [(probe.sheet, probe.position) for probe in probes]
    lease, event, late = schema.lease, schema.vote_event, schema.late_vote
    query = sa.select(lease.c.id, lease.c.sheet, lease.c.voter_id, lease.c.ended_at, lease.c.end_reason)
    leases = transaction.execute(query.where(lease.c.ballot_id == ballot_id).order_by(lease.c.fence)).all()
    code = sa.case((event.c.kind == "void", _VOIDED), else_=sa.func.coalesce(event.c.answer, NOTHING))
    events = sa.select(event.c.place, event.c.revision, code, event.c.voter_id).where(event.c.ballot_id == ballot_id)
    in_order = events.order_by(event.c.place, event.c.revision)
    places, revisions, answers, voters = transaction.integer_columns(in_order)
    revision, answer = np.zeros(len(at), np.int64), np.full(len(at), NOTHING)
    revision[places], answer[places] = revisions, answers  # the last event of each place wins
    heard = sa.select(late.c.place, late.c.voter_id, late.c.answer).where(late.c.ballot_id == ballot_id)
    return _Ballot(
        id=ballot_id,
        number=number,
        state=state,
        n_scored=n_scored,
        checks={place for place, probe in enumerate(probes, n_scored) if probe.kind != "practice"},
        place={sheet_position: place for place, sheet_position in enumerate(at)},
        sheet=[sheet for sheet, _ in at],
        items=comparisons.items.tolist() + [[probe.left, probe.right] for probe in probes],
        revision=revision.tolist(),
        answer=answer.tolist(),
        holder={row.sheet: (row.id, row.voter_id) for row in leases if row.ended_at is None},
        end_reasons={(row.sheet, row.voter_id): row.end_reason for row in leases},
        votes=set(zip(places.tolist(), voters.tolist(), answers.tolist(), strict=True)),
        late_votes={(row.place, row.voter_id, row.answer) for row in transaction.execute(heard)},
    )


def _find_place(ballot: _Ballot, row: VoteRow, sheet: int, position: int) -> int:
    place = ballot.place.get((sheet, position))
    if place is not None:
        return place
    last = max((at for on, at in ballot.place if on == sheet), default=None)
    problem = f"comparison {row.comparison!r} is unknown: ballot {ballot.number}"
    if last is None:
        raise VoteError(f"{problem} ends at sheet {max(ballot.sheet)}")
    raise VoteError(f"{problem} ends sheet {sheet} at {pair_id(ballot.number, sheet, last)!r}")


def _find_voter(
    info: CampaignInfo, row: VoteRow, ballot: _Ballot, place: int, known: Mapping[str, int], names: Mapping[int, str]
) -> int:
    """Return the voter of a row; raise VoteError if its items are not those of the comparison, or without a voter."""
    items = [info.items[item] for item in ballot.items[place]]
    if info.set_size > 2:
        expected_cells = tuple(map(label_cell, items))
        if row.left not in (None, expected_cells):
            raise VoteError(f"comparison {row.comparison!r} has the items {expected_cells}; got {row.left}")
    else:
        for side, label, item in (("left", row.left, items[0]), ("right", row.right, items[1])):
            if label is not None and item_cells(label) != item_cells(item):
                expected, got = (", ".join(map(repr, item_cells(name))) for name in (item, label))
                raise VoteError(f"comparison {row.comparison!r} has the {side} {expected}; got {got}")
    sheet = ballot.sheet[place]
    holder = ballot.holder.get(sheet)
    if row.voter is None:
        if holder is None:
            raise VoteError(f"comparison {row.comparison!r} is on a sheet that no voter holds: name the voter")
        return holder[1]
    voter = known.get(row.voter)
    if voter is None or (sheet, voter) not in ballot.end_reasons:
        has = "nobody" if holder is None else f"voter {names[holder[1]]!r}"
        raise VoteError(
            f"comparison {row.comparison!r} is on sheet {sheet + 1}, which {has} has and {row.voter!r} never had; "
            "a sheet can be given to another voter (in a shell, `ballots run assign`)"
        )
    return voter


def _reason_not_to_record(ballot: _Ballot, place: int, voter: int, code: int) -> str | None:
    recorded = ballot.answer[place]
    if recorded == code:
        return "known"
    if recorded != NOTHING and (place, voter, code) in ballot.votes:  # recorded, but corrected or voided since
        return "known"
    sheet = ballot.sheet[place]
    _, holder = ballot.holder.get(sheet, (None, None))
    why: str | None = why_late(ballot.state, holder, voter, ballot.end_reasons[sheet, voter])
    if why is None and recorded not in (NOTHING, _VOIDED):
        why = "conflict"
    # A late vote may be sent again after the ballot was reopened or the sheet returned; it then counts.
    return "known" if why is not None and (place, voter, code) in ballot.late_votes else why


def _make_vote(
    info: CampaignInfo, file: VoteFile, row: VoteRow, ballot: _Ballot, place: int, voter: int, key: str
) -> VoteCast:
    # The event id depends only on the vote and the revision of its comparison, so that recording the file again is
    # recognised. It uses the voter's key, because a restored ledger has other ids.
    content = json_of([ballot.number, place, key, row.answer, ballot.revision[place]])
    extra = dict(row.extra)
    return VoteCast(
        str(uuid.uuid5(uuid.UUID(info.key), content)),
        ballot.number,
        place,
        voter,
        row.answer or "",
        response_ms=_milliseconds(file, extra.pop("seconds", None), row.line),
        given_by="file",
        extra=extra or None,
    )


def _milliseconds(file: VoteFile, seconds: str | None, line: int) -> int | None:
    if seconds is None:
        return None
    value = cell_number(seconds)
    if not 0 <= value < 1e6:
        file.fail(f'column "seconds": expected a time in seconds; got {shown(seconds)}', line)
    return round(1000 * value)


def file_of(info: CampaignInfo, votes: VoteColumns) -> VoteFile:
    """Return the rows of a file of votes on the items of a campaign."""
    if votes.format == "choix":
        votes = votes.of_items(info.items)
    rows = list(votes.file().rows)
    if votes.format in ("label_studio", "potato"):  # these formats write the parts of an item as one text
        parts: dict[Any, Label] = {" ".join(item): item for item in map(item_cells, info.items) if len(item) > 1}
        rows = [row._replace(left=parts.get(row.left, row.left), right=parts.get(row.right, row.right)) for row in rows]
    return with_grades(info, VoteFile(votes.records.table.name, tuple(rows)))


def match_comparisons(transaction: Transaction, file: VoteFile) -> VoteFile:
    """Give each row the id of its comparison.

    A row without an id is matched with a comparison of its two items, on either side, on a sheet of its voter. Several
    rows of a voter for the same pair are matched with its comparisons in order. If a row has no voter, its pair must
    have been drawn only once.

    Raises
    ------
    VoteError
        The voter does not have the pair, or several voters have it; the message names the file and line.
    """
    if all(row.comparison is not None for row in file.rows):
        return file
    open_comparisons = _open_comparisons(transaction)
    known = voters_named(transaction, {row.voter for row in file.rows if row.voter is not None})
    used: dict[tuple[int | None, Pair], int] = defaultdict(int)
    rows = []
    for row in file.rows:
        if row.comparison is not None:
            rows.append(row)
            continue
        if row.left is None or row.right is None:
            file.fail("each row needs the id of a comparison, or its two items", row.line)
        pair = frozenset((item_name(row.left), item_name(row.right)))
        voter = None if row.voter is None else known.get(row.voter)
        if voter is None and row.voter is not None:
            file.fail(f"no voter is called {shown(row.voter)}", row.line)
        comparison, left = _next_comparison(file, row, open_comparisons.get((voter, pair), []), used[voter, pair])
        used[voter, pair] += 1
        rows.append(_match_sides(row, comparison, left))
    return VoteFile(file.name, tuple(rows))


def _open_comparisons(transaction: Transaction) -> Mapping[tuple[int | None, Pair], list[tuple[str, str]]]:
    """Return the id and left item of each comparison in open ballots, by voter and pair; None stands for any voter."""
    ballot = schema.ballot
    texts = [item_name(item) for item in transaction.info.items]
    comparisons: dict[tuple[int | None, Pair], list[tuple[str, str]]] = defaultdict(list)
    is_open = state_at(transaction.clock()) == "open"
    opened = sa.select(ballot.c.id, ballot.c.number).where(transaction.of_campaign(ballot), is_open)
    for ballot_id, number in transaction.execute(opened.order_by(ballot.c.number)).all():
        pairs = drawn_columns(transaction, ballot_id)
        columns = (pairs.sheet, pairs.position, *pairs.items.T, holders_of(transaction, ballot_id, pairs))
        for sheet, position, left, right, holder in zip(*(column.tolist() for column in columns), strict=True):
            pair = frozenset((texts[left], texts[right]))
            entry = (pair_id(number, sheet, position), texts[left])
            comparisons[None, pair].append(entry)
            if holder != NO_VOTER:
                comparisons[holder, pair].append(entry)
    return comparisons


def _next_comparison(file: VoteFile, row: VoteRow, entries: list[tuple[str, str]], n_used: int) -> tuple[str, str]:
    pair = f"{shown(row.left)} and {shown(row.right)}"
    if not entries:
        location = "in an open ballot" if row.voter is None else f"on a sheet of voter {shown(row.voter)}"
        file.fail(f"no comparison of {pair} is {location}", row.line)
    if row.voter is None and len(entries) > 1:
        file.fail(f"{pair} are compared {len(entries)} times: name the voter or the comparison in the row", row.line)
    if n_used == len(entries):
        file.fail(f"the file has more votes on {pair} than were asked ({len(entries)})", row.line)
    return entries[n_used]


def _match_sides(row: VoteRow, comparison: str, left: str) -> VoteRow:
    """Return the row as an answer to a comparison, with its sides swapped if the comparison shows them so."""
    row = row._replace(comparison=comparison)
    if row.left is None or item_name(row.left) == left:
        return row
    answer = None if row.answer is None else _FLIPPED[row.answer]
    return row._replace(left=row.right, right=row.left, answer=answer)


def read_known_pairs(
    path: str | os.PathLike[str], items: Collection[Hashable], *, data: bytes | None = None
) -> tuple[KnownPair, ...]:
    r"""Read pairs with known answers from a CSV or TSV file in UTF-8.

    The columns are left and right (or left_1, left_2, ...), winner (the expected answer: left, right or tie) and kind
    (practice, attention or gold). Other columns are ignored.

    Parameters
    ----------
    path : str or path-like
    items : collection of hashable
        Labels of the campaign.
    data : bytes, optional
        Contents of the file if it was already read; `path` is then only its name.

    Raises
    ------
    TableError
        The file cannot be read, a column is missing, an item is not in the campaign, a pair is repeated or has the same
        item twice, an answer is missing, or a kind is unknown; the message names the file and line.
    VoteError
        The winner is unknown; the message names the file and line.

    See Also
    --------
    KnownPair : The type of a pair.
    Probing : Takes them.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive.ledger import read_known_pairs
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "checks.csv")
    ...     _ = file.write_text("left,right,winner,kind\napple,stone,left,attention\n")
    ...     read_known_pairs(file, ["apple", "pear", "stone"])
    (KnownPair(kind='attention', left='apple', right='stone', expected='left'),)
    """
    file = read_votes(path, format="csv", data=data).file()
    known, lines = set(items), dict[frozenset[Hashable], int]()
    known_pairs = []
    for row in file.rows:
        pair = _known_pair(file, row)
        for label in (pair.left, pair.right):
            if label not in known:
                raise TableError(f"{file.name}:{row.line}: {shown(label)} is not an item of the campaign")
        both = frozenset([pair.left, pair.right])
        if both in lines:
            raise TableError(f"{file.name}:{row.line}: this pair is also on line {lines[both]}")
        lines[both] = row.line
        known_pairs.append(pair)
    return tuple(known_pairs)


def _known_pair(file: VoteFile, row: VoteRow) -> KnownPair:
    kind = dict(row.extra).get("kind", "")
    if kind not in KINDS:
        raise TableError(
            f'{file.name}:{row.line}: column "kind" must be practice, attention or gold; got {shown(kind)}'
        )
    if row.answer is None:
        raise TableError(f'{file.name}:{row.line}: column "winner" must hold the expected answer: left, right or tie')
    try:
        return KnownPair(kind, row.left, row.right, row.answer)  # type: ignore[arg-type]
    except LedgerError as error:
        raise TableError(f"{file.name}:{row.line}: {error}") from None


def set_file(comparisons: Sequence[Comparison], info: CampaignInfo) -> str:
    """Return sets as CSV, voter by voter, with empty cells for the best and the worst item."""
    voters = {voter: at for at, voter in enumerate(dict.fromkeys(row.voter for row in comparisons))}
    rows = []
    for row in sorted(comparisons, key=lambda row: voters[row.voter]):
        others = row.other_items if isinstance(row, SetComparison) else ()
        items = set_cells([row.left, row.right, *others], None, guarded)
        rows.append([schema.file_id(row.id), guarded(str(row.voter)), *items])
    return csv_text(["comparison", "voter", *set_columns(info.set_size)], rows)


def read_set_file(
    info: CampaignInfo, path: str | os.PathLike[str], *, encoding: str = "utf-8", guard: bool | None = None
) -> VoteFile:
    """Read a file that `set_file` wrote and voters filled in, or an export of votes.

    Rows without best and worst have no answer. Best may be "cannot say" if worst is empty or the same.

    Raises
    ------
    TableError
        The file cannot be read, or lacks a column.
    VoteError
        The best or worst item is missing or not in the set, or both are the same; the message names the file and line.
    """
    records = records_of_file(path, encoding=encoding, guard=guard)
    names = set_columns(info.set_size)
    columns = {
        name: ["" if entry is None else str(entry) for entry in records.column(name)]
        for name in ("comparison", *names, *(name for name in records.names if name not in names))
    }
    extra_names = [name for name in columns if name not in ("comparison", "voter", "received_at", *names)]
    file = VoteFile(records.table.name, ())
    rows = []
    for at, line in enumerate(records.lines):
        items = [columns[name][at] for name in names[:-2]]
        answer = _parse_answer(file, line, items, columns["best"][at], columns["worst"][at])
        extra = tuple((name, columns[name][at]) for name in extra_names if columns[name][at])
        voter = columns["voter"][at] or None if "voter" in columns else None
        comparison = columns["comparison"][at]
        rows.append(VoteRow(line, comparison, voter, tuple(items), None, answer, extra))
    return VoteFile(records.table.name, tuple(rows))


def _parse_answer(file: VoteFile, line: int, items: Sequence[str], best: str, worst: str) -> str | None:
    if not best and not worst:
        return None
    if best == _NO_CHOICE and worst in ("", _NO_CHOICE):
        return _NO_CHOICE
    places = []
    for kind, cell in (("best", best), ("worst", worst)):
        if cell not in items:
            file.fail(f"the {kind} item must be one of {', '.join(map(repr, items))}; got {cell!r}", line)
        places.append(items.index(cell) + 1)
    if places[0] == places[1]:
        file.fail(f"{best!r} is both the best and the worst", line)
    return f"best {places[0]} worst {places[1]}"
