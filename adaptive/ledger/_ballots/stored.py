"""Read stored ballots: rows, pairs, stamps, votes that count, checks, and the records of closed ballots."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive._draw import Ballot
from adaptive._protocol import Position, ballot_rng, close_ballot
from adaptive._record import BallotRecord
from adaptive._scores import Select, Tally, select_by_mean
from adaptive._votes import UNANSWERED, Vote
from adaptive.choices._choices import Choices
from adaptive.choices._standard_errors import effective_clusters
from adaptive.comparisons._columns import ShownPairs
from adaptive.comparisons._comparisons import Comparisons
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction, state_at
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import CANNOT_SAY, answer_name, directions_of, grades_of
from adaptive.ledger.errors import LedgerError
from adaptive.model._strengths import LEAST_CLUSTERS

_DECIDING = ("opened", "closed", "reopened", "excluded", "included", "left")
NOTHING: Final = -9  # in integer columns: no answer (retracted or voided), no time, or no expected answer
_KINDS: Final = ("", "practice", "attention", "gold", "repeat", "overlap")
Array = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StoredBallot:
    """A row of the table of ballots.

    Attributes
    ----------
    id, number : int
        Id in the database, and number in the campaign, from 1.
    kind : {"ballot", "batch"}
    state : {"open", "closing", "closed"}
    places : ndarray of intp
        Places of the ballot's items in the campaign.
    presentations, n_comparisons : int
        Presentations of each item, and number of scored comparisons.
    draw_digest : str
        As `draw_digest` returns it.
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
        """Return the ballot of a row whose places and record are decoded from JSON."""
        columns = {field.name: row[field.name] for field in fields(cls) if field.name not in ("id", "places")}
        return cls(id=ballot_id, places=np.array(row["places"], np.intp), **columns)


@dataclass(frozen=True, eq=False)
class DrawnColumns:
    """The comparisons of a ballot, in its order; items are places in the campaign, and positions count checks, too.

    Attributes
    ----------
    sheet, position : ndarray of int64, shape (n,)
    items : ndarray of int64, shape (n, set_size)
        The items of each comparison, in the order shown.
    """

    sheet: Array
    position: Array
    items: Array


class Probe(NamedTuple):
    """A check: a pair that a sheet asks in addition to its comparisons.

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
        Place of the comparison that is asked again, on this sheet or another one.
    """

    sheet: int
    position: int
    kind: str
    left: int
    right: int
    expected: int | None
    repeats: int | None


def stored_ballots(transaction: Transaction) -> list[StoredBallot]:
    """Return all ballots of a campaign so far."""
    table = schema.ballot
    rows = transaction.execute(sa.select(table).where(transaction.of_campaign(table)).order_by(table.c.number))
    ballots = []
    for row in rows:
        decoded = {"places": json.loads(row.places), "record": None if row.record is None else json.loads(row.record)}
        ballots.append(StoredBallot.from_dict({**row._mapping, **decoded}, ballot_id=row.id))
    return ballots


def answered_by_ballot(transaction: Transaction) -> dict[int, int]:
    """Return the number of answered comparisons of each ballot, by id, from the counts of its sheets."""
    sheet = schema.sheet
    sums = sa.select(sheet.c.ballot_id, sa.func.sum(sheet.c.n_answered).label("total")).select_from(schema.SHEETS)
    rows = transaction.execute(sums.where(transaction.of_campaign(schema.ballot)).group_by(sheet.c.ballot_id))
    return {row.ballot_id: row.total for row in rows}


def drawn_columns(transaction: Transaction, ballot_id: int) -> DrawnColumns:
    """Return the comparisons of a ballot as they were drawn."""
    table = schema.comparison
    query = sa.select(table.c.sheet, table.c.position, table.c.left_item, table.c.right_item)
    scored = query.where(table.c.ballot_id == ballot_id, table.c.probe.is_(None)).order_by(table.c.place)
    sheet, position, left, right = transaction.integer_columns(scored)
    return DrawnColumns(sheet, position, _read_items(transaction, scored, left, right))


def _read_items(transaction: Transaction, comparisons: sa.Select[Any], left: Array, right: Array) -> Array:
    """Return the items of the comparisons of a query, in the order shown, from its columns of the first two."""
    n_others = transaction.info.set_size - 2
    if not n_others:
        return np.column_stack([left, right])
    rows = transaction.execute(comparisons.with_only_columns(schema.comparison.c.other_items)).scalars()
    others = np.array([json.loads(row) for row in rows], np.int64).reshape(-1, n_others)
    return np.column_stack([left, right, others])


def drawn_with_slots(transaction: Transaction, ballot_id: int) -> tuple[DrawnColumns, Array]:
    """Return the comparisons of a ballot, and the slot of each."""
    comparisons, table = drawn_columns(transaction, ballot_id), schema.sheet
    query = sa.select(table.c.slot).where(table.c.ballot_id == ballot_id)
    (slots,) = transaction.integer_columns(query.order_by(table.c.number))
    return comparisons, slots[comparisons.sheet]


def ballot_probes(transaction: Transaction, ballot_id: int) -> list[Probe]:
    """Return the probes of a ballot by place; their positions are among all pairs of the sheet."""
    table = schema.comparison
    names = (table.c.sheet, table.c.position, table.c.probe, table.c.left_item, table.c.right_item)
    rows = transaction.execute(
        sa.select(*names, table.c.expected, table.c.repeats)
        .where(table.c.ballot_id == ballot_id, table.c.probe.is_not(None))
        .order_by(table.c.place)
    )
    return [Probe(*row) for row in rows]


def ballot_of(info: CampaignInfo, stored: StoredBallot, comparisons: DrawnColumns, slot: Array) -> Ballot:
    """Return the ballot of these comparisons, with the slot of each; slots are numbers, not names."""
    index = np.full(info.n_items, -1, np.int32)
    index[stored.places] = np.arange(stored.places.size, dtype=np.int32)
    items = tuple(info.items[place] for place in stored.places.tolist())
    voters, voter = range(int(slot.max(initial=0)) + 1), slot.astype(np.int32)
    left, right = (index[side] for side in comparisons.items.T)
    return Ballot(items, stored.presentations, voters, left, right, voter)


def position_after(info: CampaignInfo, closed: Sequence[StoredBallot]) -> tuple[tuple[BallotRecord, ...], Position]:
    """Return the records of the closed ballots and the campaign's position after them, without reading votes."""
    position = Position.first(info.ballot_plan)
    records = []
    for stored in closed:
        record = record_of(info, stored)
        mean = position.mean.copy()
        mean[record.places] = record.ybar
        selected = np.array((stored.record or {})["selected"], np.intp)
        position = Position(stored.number, selected, mean)
        records.append(record)
    return tuple(records), position


def record_of(info: CampaignInfo, stored: StoredBallot) -> BallotRecord:
    """Return the record of a closed ballot as it was written."""
    if stored.record is None:
        raise LedgerError(f"ballot {stored.number} is not closed")
    columns = {name: np.array(column) for name, column in stored.record.items() if isinstance(column, list)}
    wins, ties, losses = (columns[name].astype(np.int64) for name in ("wins", "ties", "losses"))
    unanswered = columns["presentations"].astype(np.int64) - wins - ties - losses
    items = tuple(info.items[place] for place in stored.places.tolist())
    return BallotRecord(
        stored.number,
        items,
        stored.places,
        Tally(wins, ties, losses, unanswered),
        x=columns["x"],
        y=columns["y"],
        b=stored.record["b"],
        ybar=columns["ybar"],
        n_tied_at_cut=stored.record["n_tied_at_cut"],
    )


def ballot_stamp(transaction: Transaction, number: int) -> str:
    """Return a stamp that changes with an opened ballot's state and the excluded voters, but not with its votes."""
    table, event = schema.ballot, schema.audit_event
    has_number = (transaction.of_campaign(table), table.c.number == number)
    columns = sa.select(state_at(transaction.clock()).label("state"), table.c.chain_digest)
    row = transaction.execute(columns.where(*has_number)).first()
    if row is None:
        raise LedgerError(f"ballot {number} has not been opened")
    is_decision = (transaction.of_campaign(event), event.c.kind.in_(_DECIDING))
    decided = transaction.count(event, *is_decision)  # not the last one: it may have committed before an earlier one
    return schema.digest_of([transaction.info.key, str(number), row.state, row.chain_digest or "", str(decided)])[:32]


NO_VOTER: Final = -1


@dataclass(frozen=True, eq=False)
class CurrentVotes:
    """The votes of a ballot that count, in the order of its comparisons.

    Attributes
    ----------
    place : ndarray of int64
        Comparisons that have a vote.
    code : ndarray of int64
        The answers as the ledger stores them.
    voter : ndarray of int64
        Ids of the voters.
    """

    place: Array
    code: Array
    voter: Array

    @property
    def answer(self) -> Array:
        """Answers without grades: 1 left, 0 tie, -1 right, 2 cannot say."""
        return directions_of(self.code)

    @property
    def grade(self) -> Array:
        """Grade of the preference, above 0 for the left side."""
        return grades_of(self.code)

    @property
    def n_answered(self) -> int:
        """Number of comparisons with a vote, including "cannot say"."""
        return self.place.size

    def without_cannot_say(self) -> CurrentVotes:
        """Return the votes other than "cannot say"."""
        return self._select(self.code != CANNOT_SAY)

    def answers(self, n_comparisons: int) -> NDArray[np.int8]:
        """Return the answers for scoring, shape (n_comparisons,); "cannot say" counts as no answer."""
        filled, votes = np.full(n_comparisons, UNANSWERED, np.int8), self.without_cannot_say()
        filled[votes.place] = votes.answer
        return filled

    def excluding(self, voters: Collection[int]) -> CurrentVotes:
        """Return the votes of all other voters."""
        return self._select(~np.isin(self.voter, np.array(sorted(voters), np.int64)))

    def _select(self, rows: NDArray[np.bool_]) -> CurrentVotes:
        return CurrentVotes(self.place[rows], self.code[rows], self.voter[rows])


def current_votes(transaction: Transaction, ballot_id: int) -> CurrentVotes:
    """Return the vote in force for each comparison of a ballot: its last event, if that is a vote."""
    event = schema.vote_event
    events = sa.select(event.c.place, sa.func.coalesce(event.c.answer, NOTHING), event.c.voter_id)
    query = events.where(event.c.ballot_id == ballot_id, schema.is_scored(ballot_id))
    place, code, voter = transaction.integer_columns(query.order_by(event.c.place, event.c.revision))
    last = np.append(place[1:] != place[:-1], np.ones(min(1, place.size), bool))
    counts = last & (code != NOTHING)
    return CurrentVotes(place[counts], code[counts], voter[counts])


def n_left_out(transaction: Transaction, ballot_id: int, voters: Collection[int]) -> int:
    """Return the number of comparisons of a ballot with a current vote by one of these voters."""
    if not voters:
        return 0
    event = schema.vote_event
    is_theirs = (event.c.ballot_id == ballot_id, schema.is_scored(ballot_id), event.c.voter_id.in_(sorted(voters)))
    return transaction.count(event, *is_theirs, schema.IN_FORCE)


def votes_digest(transaction: Transaction, ballot_id: int) -> str:
    """Return the SHA-256 of the lines of all votes, as JSON lists: place, revision, kind, answer, key of voter."""
    event = schema.vote_event
    columns = sa.select(event.c.place, event.c.revision, event.c.kind, event.c.answer, schema.voter.c.key)
    events = columns.select_from(event.join(schema.voter)).where(event.c.ballot_id == ballot_id)
    scored = events.where(schema.is_scored(ballot_id)).order_by(event.c.place, event.c.revision)
    return schema.digest_of(
        f'[{place},{revision},"{kind}",{_answer_json(answer)},"{key}"]'
        for place, revision, kind, answer, key in transaction.execute(scored)
    )


def _answer_json(answer: int | None) -> str:
    return "null" if answer is None else f'"{answer_name(answer)}"'


def record_and_position(
    info: CampaignInfo,
    stored: StoredBallot,
    ballot: Ballot,
    votes: CurrentVotes,
    before: Position,
    *,
    select: Select = select_by_mean,
) -> tuple[BallotRecord, Position]:
    """Return the record of a ballot and the position after it; the same votes always give the same record.

    Parameters
    ----------
    before : Position
        The position of the campaign before the ballot.
    select : callable
        Selects the items of the next ballot.

    Raises
    ------
    VoteError
        If an item has no answer.
    """
    answers, rng = votes.answers(stored.n_comparisons), ballot_rng(info.seed, stored.number, "cut")
    return close_ballot(info.ballot_plan, before, ballot, answers, rng=rng, select=select)


def record_dict(record: BallotRecord, after: Position, n_answered: int, excluded: Iterable[str]) -> dict[str, Any]:
    """Return the record of a ballot as it is stored, with everything that later steps need.

    Parameters
    ----------
    after : Position
        The position of the campaign after the ballot.
    n_answered : int
        Number of comparisons with a vote, including "cannot say".
    excluded : iterable of str
        Keys of the excluded voters.
    """
    fields = record.to_dict()
    del fields["items"], fields["number"]
    selected = after.places.tolist()
    return {**fields, "selected": selected, "excluded": sorted(excluded), "n_answered": n_answered}


def chain_digest(previous: str | None, stored_draw: str, votes: str, record: Mapping[str, Any]) -> str:
    """Return a digest of a closed ballot and all earlier ones."""
    return schema.digest_of([previous or "", stored_draw, votes, schema.json_of(dict(record))])


def counted_votes(transaction: Transaction) -> Comparisons:
    """Return the votes of all voters who are not excluded."""
    return votes_of(transaction, excluded=transaction.excluded_voters())


def votes_of(transaction: Transaction, *, excluded: Collection[int] = ()) -> Comparisons:
    """Return all current votes as `Comparisons`, in drawing order; "cannot say" counts as no answer.

    Its `unanswered` holds the other comparisons on sheets that voters hold. An answer to a set counts as a comparison
    of its best with its worst item, as if only these two had been shown.

    Parameters
    ----------
    excluded : collection of int
        Ids of voters to exclude.
    """
    return _read_votes(transaction, excluded)[0]


def full_votes(transaction: Transaction, excluded: Collection[int]) -> Choices | None:
    """Return all current votes with their grades, or with all items of their sets.

    None if the campaign has neither grades nor sets, or if no vote prefers an item.
    """
    if transaction.info.settings.grades == 1 and transaction.info.set_size == 2:
        return None
    return choices_of(*_read_votes(transaction, excluded))


def choices_of(votes: Comparisons, grades: Array, sets: Array) -> Choices | None:
    """Return votes on pairs with grades, or votes on sets, as `Choices`; None if no vote prefers an item.

    The votes of a voter form a cluster if there are at least 10 voters, and not just a few of them gave most votes.
    Fewer voters do not show how voters differ.

    Parameters
    ----------
    votes : Comparisons
        A vote on a set is a comparison of its best with its worst item.
    grades : ndarray of int64, shape (n_votes,)
    sets : ndarray of int64, shape (n_votes, set_size)
        The items of each comparison.
    """
    if not grades.any():
        return None
    voters, clusters = votes.voter, None
    if voters is not None and np.unique(voters).size >= LEAST_CLUSTERS:
        is_spread = effective_clusters(np.ones(voters.size), voters) >= LEAST_CLUSTERS / 2
        clusters = voters.tolist() if is_spread else None
    if sets.shape[1] == 2:
        return Choices.from_grades(votes.items, votes.left, votes.right, grades, clusters=clusters)
    items, is_first_best = votes.items, votes.winner == Vote.LEFT
    best = np.where(is_first_best, votes.left, votes.right).tolist()
    worst = np.where(is_first_best, votes.right, votes.left).tolist()
    rows = zip(sets.tolist(), best, worst, strict=True)
    answers = (([items[place] for place in places], items[first], items[last]) for places, first, last in rows)
    return Choices.from_best_worst(answers, items=items, clusters=clusters)


def _read_votes(transaction: Transaction, excluded: Collection[int]) -> tuple[Comparisons, Array, Array]:
    """Return the votes of `votes_of`, with the grade and the items shown for each."""
    answered, silent = [np.empty((5, 0), np.int64)], [np.empty((3, 0), np.int64)]
    item_rows = [np.empty((0, transaction.info.set_size), np.int64)]
    n_asked = 0
    for stored in stored_ballots(transaction):
        n_asked += stored.n_comparisons
        comparisons = drawn_columns(transaction, stored.id)
        votes = current_votes(transaction, stored.id).excluding(excluded).without_cannot_say()
        items = comparisons.items[votes.place]
        answered.append(np.stack([*sides_of(items, votes.code), votes.answer, votes.voter, votes.grade]))
        item_rows.append(items)
        holder = holders_of(transaction, stored.id, comparisons)
        holder[votes.place] = NO_VOTER
        rest = np.flatnonzero(holder != NO_VOTER)
        silent.append(np.stack([*comparisons.items[rest, :2].T, holder[rest]]))
    left, right, winner, voter, grades = np.concatenate(answered, axis=1)
    shown_left, shown_right, shown_to = np.concatenate(silent, axis=1)
    ids, index = np.unique(np.concatenate([voter, shown_to]), return_inverse=True)
    numbered: NDArray[np.int32] = index.astype(np.int32)
    names = transaction.voter_names()
    called = tuple(names[voter_id] for voter_id in ids.tolist())
    if len(set(called)) < len(called):  # a name may equal another voter's key, or occur in two sources
        called = tuple(f"{name} ({voter_id})" for name, voter_id in zip(called, ids.tolist(), strict=True))
    columns = left.astype(np.int32), right.astype(np.int32), winner.astype(np.int8), called, numbered[: left.size]
    unanswered = ShownPairs(shown_left.astype(np.int32), shown_right.astype(np.int32), numbered[left.size :])
    result = Comparisons(transaction.info.items, *columns, n_asked - left.size, unanswered)
    return result, grades, np.concatenate(item_rows)


def sides_of(items: Array, codes: Array) -> tuple[Array, Array]:
    """Return the two items that each answer compares, in the order shown; for a set, its best and its worst item.

    Parameters
    ----------
    items : ndarray of int64, shape (n_answers, set_size)
    codes : ndarray of int64, shape (n_answers,)
    """
    best, worst = schema.best_and_worst(codes)
    rows = np.arange(codes.size)
    return items[rows, np.minimum(best, worst)], items[rows, np.maximum(best, worst)]


def holders_of(transaction: Transaction, ballot_id: int, comparisons: DrawnColumns) -> Array:
    """Return the id of the voter who holds the sheet of each comparison; NO_VOTER for a free sheet."""
    holders = np.full(int(comparisons.sheet.max()) + 1, NO_VOTER)
    lease = schema.lease
    of_ballot = (lease.c.ballot_id == ballot_id, schema.IS_HELD)
    sheet, voter = transaction.integer_columns(sa.select(lease.c.sheet, lease.c.voter_id).where(*of_ballot))
    holders[sheet] = voter
    return holders[comparisons.sheet]


@dataclass(frozen=True, eq=False)
class Answers:
    """Current answers, by ballot and in the order of the draw.

    Attributes
    ----------
    ballot, place : ndarray of int64
        Id of the ballot, and place in the ballot.
    left, right : ndarray of int64
        Places of the items in the campaign; for a set, of its best and its worst item in the order shown.
    answer : ndarray of int64
        1 left, 0 tie, -1 right, 2 cannot say, whatever the grade.
    voter : ndarray of int64
        Ids of the voters.
    milliseconds : ndarray of int64
        Time that the answer took; NOTHING if unknown.
    kind : ndarray of str
        Kind of a probe; "" for a vote.
    expected : ndarray of int64
        Expected answer of a probe whose answer is known; else NOTHING.
    repeats : ndarray of int64
        Comparison that a probe asks again; else NOTHING.
    """

    ballot: Array
    place: Array
    left: Array
    right: Array
    answer: Array
    voter: Array
    milliseconds: Array
    kind: NDArray[np.str_]
    expected: Array
    repeats: Array

    def select(self, rows: NDArray[np.bool_]) -> Answers:
        """Return the answers of the rows that are true."""
        return Answers(**{name: column[rows] for name, column in vars(self).items()})


def answers_of(transaction: Transaction) -> tuple[Answers, Answers]:
    """Return the current votes and the current answers to checks."""
    event, pair = schema.vote_event, schema.comparison
    votes = (event.c.ballot_id, event.c.place, pair.c.left_item, pair.c.right_item, event.c.answer, event.c.voter_id)
    kind = sa.case(*((pair.c.probe == name, code) for code, name in enumerate(_KINDS)), else_=0)
    optional = (event.c.response_ms, pair.c.expected, pair.c.repeats)
    milliseconds, expected, repeats = (sa.func.coalesce(column, NOTHING) for column in optional)
    query = sa.select(*votes, milliseconds, kind, expected, repeats).select_from(schema.VOTES.join(pair))
    of_campaign = query.where(transaction.of_campaign(schema.ballot), schema.IN_FORCE)
    in_order = of_campaign.order_by(schema.ballot.c.number, event.c.place)
    read = transaction.integer_columns(in_order)
    columns: dict[str, Any] = dict(zip((field.name for field in fields(Answers)), read, strict=True))
    if transaction.info.set_size > 2:
        items = _read_items(transaction, in_order, columns["left"], columns["right"])
        columns["left"], columns["right"] = sides_of(items, columns["answer"])
    kinds = columns["kind"]
    answers = Answers(**{**columns, "answer": directions_of(columns["answer"]), "kind": np.array(_KINDS)[kinds]})
    return answers.select(kinds == 0), answers.select(kinds > 0)
