"""Find the pairs of a sheet that a voter may still be asked.

A voter answers a pair once in a ballot, and once in all batches of a continuous campaign. Pairs with a known answer are
exempt. If every free sheet has a pair that the voter has answered, the voter gets only the new pairs of a sheet; the
others stay open for another voter. A plan with more presentations than slots may draw a pair twice for one sheet. The
second copy then stays open, too.

Pairs are compared here and not in the database. The database would compare a voter's pairs with those of every free
sheet, which takes seconds in a campaign of a thousand sheets.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import sqlalchemy as sa

from adaptive.errors import VoteError
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import answer_name, pair_at, pair_id

Sheet: TypeAlias = tuple[int, int]  # id of the ballot, and number of the sheet in it
Pair: TypeAlias = tuple[int, ...]  # sorted places in the campaign of the items of a pair or set
_DROPPED: Final = "dropped"
_ITEMS: Final = (schema.comparison.c.left_item, schema.comparison.c.right_item, schema.comparison.c.other_items)
# A repeat does not count as a pair: if another voter answers the comparison that it repeats, the pair stays open.
_IS_ASKED_ONCE: Final = sa.or_(schema.comparison.c.probe.is_(None), schema.comparison.c.probe == "overlap")
_PAIRS: Final = (
    sa.select(schema.comparison.c.ballot_id, schema.comparison.c.sheet, schema.comparison.c.place, *_ITEMS)
    .add_columns(schema.comparison.c.probe)
    .where(_IS_ASKED_ONCE)
)
_VOTER: Final[sa.BindParameter[Any]] = sa.bindparam("voter")
# The pairs that a ``voter`` has answered, and those still to answer on a sheet held.
_ANSWERED_PAIRS: Final = _PAIRS.join(schema.vote_event, schema.OF_COMPARISON).where(
    schema.vote_event.c.voter_id == _VOTER, schema.IN_FORCE
)
_HELD_PAIRS: Final = _PAIRS.join(schema.lease, schema.LEASED_TO).where(
    schema.lease.c.voter_id == _VOTER, schema.IS_HELD, ~schema.IS_ANSWERED
)
# The unanswered comparisons of ``sheets`` of a ``ballot``, without practice, and all pairs of a ``sheet`` as shown.
_UNANSWERED: Final = (
    sa.select(schema.comparison.c.ballot_id, schema.comparison.c.sheet, schema.comparison.c.place, *_ITEMS)
    .add_columns(schema.comparison.c.repeats, schema.comparison.c.probe)
    .where(schema.comparison.c.ballot_id == sa.bindparam("ballot"))
    .where(schema.comparison.c.sheet.in_(sa.bindparam("sheets", expanding=True)))
    .where(schema.IS_NO_PRACTICE, ~schema.IS_ANSWERED)
    .order_by(schema.comparison.c.sheet, schema.comparison.c.position)
)
_OF_SHEET: Final = (
    sa.select(schema.comparison.c.place, schema.comparison.c.position, *_ITEMS)
    .add_columns(schema.comparison.c.probe, schema.comparison.c.expected)
    .select_from(schema.PAIRS)
    .where(schema.ballot.c.campaign_id == sa.bindparam("campaign"), schema.ballot.c.number == sa.bindparam("number"))
    .where(schema.comparison.c.sheet == sa.bindparam("sheet"))
    .order_by(schema.comparison.c.position)
)


class OpenPairs(NamedTuple):
    """The unanswered pairs of a sheet, without practice, divided by whether a voter may be asked them.

    Attributes
    ----------
    places : tuple of int
        Places in the ballot of the pairs that the voter may be asked.
    hidden : frozenset of int
        Places of the other pairs.
    """

    places: tuple[int, ...]
    hidden: frozenset[int]


class VoterPairs(NamedTuple):
    """The pairs that a voter has answered, and those still to answer on a sheet that the voter holds.

    Both map a pair to its sheets. Known pairs are excluded, because they may be asked again. Pairs on the voter's sheet
    that another voter answered, or that are withheld from this voter, are excluded, because this voter may answer them
    on another sheet.
    """

    answered: Mapping[Pair, Collection[Sheet]]
    unanswered: Mapping[Pair, Collection[Sheet]]

    def pairs(self) -> set[Pair]:
        """Return all pairs."""
        return {*self.answered, *self.unanswered}


def open_pairs(transaction: Transaction, sheets: Iterable[Sheet], voter_id: int | None) -> dict[Sheet, OpenPairs]:
    """Return the unanswered pairs of each sheet, for a voter or, if `voter_id` is None, for a new one.

    A pair is hidden if the voter has answered it or holds it on another sheet, or if the sheet has it twice and this is
    the second time. An overlap, which is a copy of another voter's comparison, is hidden if this voter is needed for
    that comparison. A repeat is hidden together with the comparison that it repeats.
    """
    rows_by_sheet: dict[Sheet, list[Any]] = {sheet: [] for sheet in sheets}
    for row in _unanswered_rows(transaction, rows_by_sheet):
        rows_by_sheet[row.ballot_id, row.sheet].append(row)
    rows = [row for sheet_rows in rows_by_sheet.values() for row in sheet_rows]
    known = VoterPairs({}, {}) if voter_id is None or not rows else pairs_of_voter(transaction, voter_id)
    scarce = _scarce_copies(transaction, [row for row in rows if row.probe == "overlap"], voter_id)

    def is_unavailable(row: Any, sheet: Sheet) -> bool:
        pair = _pair(row)
        if row.probe is None and sheet in known.answered.get(pair, ()):
            return True
        others = {*known.answered.get(pair, ()), *known.unanswered.get(pair, ())} - {sheet}
        return any(transaction.info.mode == "continuous" or other[0] == sheet[0] for other in others)

    result = {}
    for sheet, sheet_rows in rows_by_sheet.items():
        hidden, pairs = set[int](), set[Pair]()
        for row in sheet_rows:
            if row.probe in ("attention", "gold"):
                continue
            is_copy = row.probe is None and _pair(row) in pairs
            if is_copy or row.repeats in hidden or (sheet[0], row.place) in scarce or is_unavailable(row, sheet):
                hidden.add(row.place)
            elif row.probe is None:
                pairs.add(_pair(row))
        places = tuple(row.place for row in sheet_rows if row.place not in hidden)
        result[sheet] = OpenPairs(places, frozenset(hidden))
    return result


def pairs_of_voter(transaction: Transaction, voter_id: int) -> VoterPairs:
    """Return the pairs that a voter has answered or holds."""

    def sheets_by_pair(rows: Iterable[Any]) -> Mapping[Pair, Collection[Sheet]]:
        sheets: defaultdict[Pair, set[Sheet]] = defaultdict(set)
        for row in rows:
            sheets[_pair(row)].add((row.ballot_id, row.sheet))
        return sheets

    held_pairs = transaction.execute(_HELD_PAIRS, {"voter": voter_id}).all()
    scarce = _scarce_copies(transaction, [row for row in held_pairs if row.probe == "overlap"], voter_id)
    to_answer = [row for row in held_pairs if (row.ballot_id, row.place) not in scarce]
    return VoterPairs(
        sheets_by_pair(transaction.execute(_ANSWERED_PAIRS, {"voter": voter_id})), sheets_by_pair(to_answer)
    )


def has_asked_pair(transaction: Transaction, sheet: Sheet, voter_id: int) -> bool:
    """Return whether a sheet has a pair that the voter holds, or has held, on another sheet.

    Other sheets are those of the same ballot, or all of a continuous campaign.
    """
    table, lease = schema.comparison, schema.lease
    pairs, is_here = sa.select(*_ITEMS).where(_IS_ASKED_ONCE), table.c.ballot_id == sheet[0]
    is_on_sheet = sa.and_(is_here, table.c.sheet == sheet[1])
    of_voter = pairs.join(lease, schema.LEASED_TO).where(lease.c.voter_id == voter_id, ~is_on_sheet)
    if transaction.info.mode == "ballots":
        of_voter = of_voter.where(is_here)
    voter_pairs = {_pair(row) for row in transaction.execute(of_voter)}
    return any(_pair(row) in voter_pairs for row in transaction.execute(pairs.where(is_on_sheet)))


def dropped_sheets(transaction: Transaction) -> dict[Sheet, int]:
    """Return the sheets that were dropped, with the number of unanswered comparisons on each.

    No voter gets a dropped sheet. If an answer on it is retracted, another comparison can be drawn in its place.
    """
    if transaction.info.mode == "ballots":
        return {}
    event, sheet = schema.audit_event, schema.sheet
    is_dropped = (transaction.of_campaign(event), event.c.kind == _DROPPED)
    events = transaction.execute(sa.select(event.c.ballot_id, event.c.details).where(*is_dropped))
    dropped = [(row.ballot_id, number) for row in events for number, _ in json.loads(row.details)["sheets"]]
    if not dropped:
        return {}
    left = sa.select(sheet.c.ballot_id, sheet.c.number, schema.N_LEFT)
    rows = transaction.execute(left.where(sa.tuple_(sheet.c.ballot_id, sheet.c.number).in_(dropped)))
    return {(ballot_id, number): n_left for ballot_id, number, n_left in rows}


def are_not_dropped(transaction: Transaction) -> list[sa.ColumnElement[bool]]:
    """Return the condition that a sheet was not dropped, in a list that is empty if no sheet was."""
    sheet, dropped = schema.sheet, list(dropped_sheets(transaction))
    return [sa.tuple_(sheet.c.ballot_id, sheet.c.number).not_in(dropped)] if dropped else []


def drop_sheets(transaction: Transaction, n_unanswered: Mapping[Sheet, int]) -> None:
    """Record that sheets are dropped, because other comparisons replace their unanswered ones."""
    by_ballot: defaultdict[int, list[Pair]] = defaultdict(list)
    for (ballot_id, sheet), number in n_unanswered.items():
        by_ballot[ballot_id].append((sheet, number))
    for ballot_id, sheets in by_ballot.items():
        transaction.audit(_DROPPED, {"sheets": sheets}, ballot_id=ballot_id)


def asked_pairs(transaction: Transaction) -> Iterator[Pair]:
    """Yield the pair of each drawn comparison, except for unanswered ones on dropped sheets."""
    table, ballot = schema.comparison, schema.ballot
    columns = (table.c.ballot_id, table.c.sheet, *_ITEMS)
    comparisons = sa.select(*columns, schema.IS_ANSWERED.label("is_answered")).join(
        ballot, ballot.c.id == table.c.ballot_id
    )
    dropped = dropped_sheets(transaction)
    for row in transaction.execute(comparisons.where(transaction.of_campaign(ballot), table.c.probe.is_(None))):
        if row.is_answered or (row.ballot_id, row.sheet) not in dropped:
            yield _pair(row)


def present_voters(transaction: Transaction, joined_by: sa.ScalarSelect[int] | None = None) -> set[int]:
    """Return the voters who are neither withdrawn nor excluded; optionally only those who joined by a time."""
    voter = schema.voter
    present = sa.select(voter.c.id).where(transaction.of_campaign(voter), voter.c.withdrawn_at.is_(None))
    if joined_by is not None:
        present = present.where(voter.c.joined_at <= joined_by)
    return set(transaction.execute(present).scalars()).difference(transaction.excluded_voters())


def _pair(row: Any) -> Pair:
    items = (row.left_item, row.right_item)
    return tuple(sorted(items if row.other_items is None else (*items, *json.loads(row.other_items))))


def _unanswered_rows(transaction: Transaction, sheets: Iterable[Sheet]) -> Iterator[Any]:
    """Yield the unanswered pairs of sheets, without practice."""
    numbers: defaultdict[int, list[int]] = defaultdict(list)
    for ballot_id, number in sheets:
        numbers[ballot_id].append(number)
    for ballot_id, of_ballot in numbers.items():
        yield from transaction.execute(_UNANSWERED, {"ballot": ballot_id, "sheets": of_ballot})


def _scarce_copies(transaction: Transaction, copies: Sequence[Any], voter_id: int | None) -> set[tuple[int, int]]:
    """Return the overlaps that a voter must not answer, by id of the ballot and place.

    An overlap is a copy of a comparison, and a voter who answers the copy cannot answer the comparison. If fewer voters
    come than the ballot was drawn for, too few may remain for the comparisons. An overlap is therefore withheld if the
    other voters who may answer its pair are fewer than the open comparisons of this pair. A continuous campaign draws
    other pairs instead.
    """
    if not copies or voter_id is None or transaction.info.mode == "continuous":
        return set()
    lease, table = schema.lease, schema.comparison
    scarce: set[tuple[int, int]] = set()
    for ballot_id in {copy.ballot_id for copy in copies}:
        here = [copy for copy in copies if copy.ballot_id == ballot_id]
        sheets = {copy.sheet for copy in here}
        given_at = sa.select(sa.func.max(lease.c.given_at)).where(
            lease.c.ballot_id == ballot_id, lease.c.sheet.in_(sheets), lease.c.voter_id == voter_id
        )
        # Only voters who joined before the lease count, so that the sheet does not change while it is answered.
        joined_by = given_at.where(schema.IS_HELD).scalar_subquery()
        has_sheet = transaction.execute(given_at.where(schema.IS_HELD)).scalar() is not None
        voters = present_voters(transaction, joined_by if has_sheet else None) - {voter_id}
        if len(voters) + 1 >= len(transaction.info.slots):
            continue
        items = {item for copy in here for item in _pair(copy)}
        is_near = (table.c.ballot_id == ballot_id, table.c.left_item.in_(items), table.c.right_item.in_(items))
        pairs = sa.select(table.c.place, table.c.sheet, *_ITEMS, table.c.probe).where(*is_near, _IS_ASKED_ONCE)
        rows = transaction.execute(pairs).all()
        answers = current_answers(transaction, ballot_id, [row.place for row in rows])
        leases = sa.select(lease.c.sheet, lease.c.voter_id).where(lease.c.ballot_id == ballot_id, schema.IS_HELD)
        if has_sheet:
            leases = leases.where(lease.c.given_at < joined_by)
        holders = {row.sheet: row.voter_id for row in transaction.execute(leases)}
        for copy in here:
            same = [row for row in rows if _pair(row) == _pair(copy)]
            n_open = sum(row.probe is None and row.place not in answers for row in same)
            busy = {answers[row.place].voter_id if row.place in answers else None for row in same}
            busy |= {holders.get(row.sheet) for row in same if row.probe == "overlap"}
            if len(voters - busy) < n_open:
                scarce.add((ballot_id, copy.place))
    return scarce


@dataclass(frozen=True)
class ShownPair:
    """A pair of a sheet, without any sign of whether it is a check.

    Attributes
    ----------
    position : int
        Position among all pairs of the sheet, counted from 0.
    place : int
        Place in the ballot, which voters do not see.
    left, right : int
        Places of the items in the campaign.
    is_practice : bool
    expected : str or None
        "left", "right" or "tie": the answer to a practice pair.
    other_items : tuple of int
        Places of the items of a set after `left` and `right`.

    See Also
    --------
    VoterSheet : Lists the pairs of a sheet.
    VoteCast : An answer to one.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> for pair in voter.next_sheet(pages).sheet.pairs:
    ...     print(pair.position, campaign.info.items[pair.left], campaign.info.items[pair.right], pair.is_practice)
    0 1 2 False
    1 0 3 False
    >>> ledger.close()
    """

    position: int
    place: int
    left: int
    right: int
    is_practice: bool
    expected: str | None
    other_items: tuple[int, ...] = ()

    @property
    def items(self) -> tuple[int, ...]:
        """Places of all items, in the order shown."""
        return self.left, self.right, *self.other_items


@dataclass(frozen=True)
class CurrentAnswer:
    """The current answer to a pair."""

    answer: str
    event_id: str
    voter_id: int


@dataclass(frozen=True)
class VoteEvent:
    """The pair and the voter of a vote event."""

    number: int
    place: int
    pair: str
    voter_id: int


def shown_pairs(transaction: Transaction, number: int, sheet: int) -> tuple[ShownPair, ...]:
    """Return the pairs of `Campaign.shown_pairs`."""
    values = {"campaign": transaction.info.id, "number": number, "sheet": sheet}
    rows = transaction.execute(_OF_SHEET, values).all()
    if not rows:
        raise VoteError(f"ballot {number} has no sheet {sheet + 1}")
    pairs = []
    for row in rows:
        practice = row.probe == "practice"
        expected = answer_name(row.expected) if practice else None
        other_items = () if row.other_items is None else tuple(json.loads(row.other_items))
        sides = row.left_item, row.right_item
        pairs.append(ShownPair(row.position, row.place, *sides, practice, expected, other_items))
    return tuple(pairs)


def place_of(transaction: Transaction, pair: str) -> tuple[int, int]:
    """Return the number of a pair's ballot and the place in it, from the id of the pair.

    Raises
    ------
    VoteError
        The pair does not exist.
    """
    number, sheet, position = pair_at(pair)
    for shown_pair in shown_pairs(transaction, number, sheet):
        if shown_pair.position == position:
            return number, shown_pair.place
    raise VoteError(f"comparison {pair} is unknown")


def current_answers(transaction: Transaction, ballot_id: int, places: Sequence[int]) -> dict[int, CurrentAnswer]:
    """Return the current answers to comparisons of a ballot, by place."""
    event = schema.vote_event
    is_here = (event.c.ballot_id == ballot_id, event.c.place.in_(places), schema.IN_FORCE)
    answers = sa.select(event.c.place, event.c.answer, event.c.event_id, event.c.voter_id).where(*is_here)
    rows = transaction.execute(answers)
    return {row.place: CurrentAnswer(answer_name(row.answer), row.event_id, row.voter_id) for row in rows}


def pair_of_event(transaction: Transaction, event_id: str) -> VoteEvent | None:
    """Return the pair and voter of an event, even one that no longer counts; None for an unknown id."""
    ballot, event, comparison = schema.ballot, schema.vote_event, schema.comparison
    row = transaction.execute(
        sa.select(ballot.c.number, comparison.c.sheet, comparison.c.position, event.c.place, event.c.voter_id)
        .select_from(schema.VOTES.join(comparison))
        .where(transaction.of_campaign(ballot), event.c.event_id == event_id)
    ).first()
    if row is None:
        return None
    return VoteEvent(row.number, row.place, pair_id(row.number, row.sheet, row.position), row.voter_id)
