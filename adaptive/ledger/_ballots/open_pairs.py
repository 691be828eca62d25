"""Find the unanswered pairs of a sheet that a voter may be asked: sheets are dealt pair by pair once no whole one fits.

A voter is asked no pair twice: neither in one ballot, whose successors are rounds of their own, nor in any batch of a
continuous campaign. A pair whose answer is known may be asked again. Pairs are compared here and not in the database,
which would compare the voter's pairs with those of every free sheet; that takes seconds in a campaign of a thousand
sheets.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import sqlalchemy as sa

from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import value_of
from adaptive.ledger._store.rows import audit
from adaptive.ledger._voters.identity import excluded_voters
from adaptive.ledger._votes.reading import in_force

Sheet: TypeAlias = tuple[int, int]  # ballot's id, and number in it
Pair: TypeAlias = tuple[int, int]
_DROPPED = "dropped"


class OpenPairs(NamedTuple):
    """The unanswered pairs of a sheet, without practice, as a voter may be asked them.

    Attributes
    ----------
    places : tuple of int
        Places in the ballot of the pairs that the voter may be asked.
    hidden : frozenset of int
        Places of the others.
    """

    places: tuple[int, ...]
    hidden: frozenset[int]


def open_pairs(
    connection: sa.Connection, info: CampaignInfo, sheets: Iterable[Sheet], voter_id: int | None
) -> dict[Sheet, OpenPairs]:
    """Return the unanswered pairs of each sheet for a voter, or for a new one.

    Hidden are pairs that the voter answered or holds on another sheet, and copies for the overlap that would take the
    voter from a comparison of the pair that no other voter can answer.
    """
    by_sheet: dict[Sheet, list[Any]] = {sheet: [] for sheet in sheets}
    for row in _unanswered(connection, by_sheet):
        by_sheet[row.ballot_id, row.sheet].append(row)
    rows = [row for sheet_rows in by_sheet.values() for row in sheet_rows]
    known = {} if voter_id is None or not rows else known_pairs(connection, voter_id)
    scarce = _scarce_copies(connection, info, [row for row in rows if row.probe == "overlap"], voter_id)

    def is_hidden(row: Any) -> bool:
        if row.probe in ("attention", "gold"):
            return False
        sheet = row.ballot_id, row.sheet
        others = known.get(_pair(row), ())
        if any(other != sheet and (info.mode == "continuous" or other[0] == sheet[0]) for other in others):
            return True
        return (row.ballot_id, row.place) in scarce

    found = {}
    for sheet, sheet_rows in by_sheet.items():
        hidden = frozenset(row.place for row in sheet_rows if is_hidden(row))
        found[sheet] = OpenPairs(tuple(row.place for row in sheet_rows if row.place not in hidden), hidden)
    return found


def known_pairs(connection: sa.Connection, voter_id: int) -> Mapping[Pair, Collection[Sheet]]:
    """Return the pairs that a voter has answered, or is to answer on a sheet in hand, each with its sheets.

    Pairs of that sheet that another voter answered before are still open to this one. Pairs whose answer is known are
    left out, because they may be asked again.
    """
    event, lease, table = schema.vote_event, schema.lease, schema.comparison
    pairs = sa.select(table.c.ballot_id, table.c.sheet, table.c.left_item, table.c.right_item).where(_is_asked_once())
    of_vote = sa.and_(event.c.ballot_id == table.c.ballot_id, event.c.place == table.c.place)
    of_sheet = sa.and_(lease.c.ballot_id == table.c.ballot_id, lease.c.sheet == table.c.sheet)
    answered = pairs.join(event, of_vote).where(event.c.voter_id == voter_id, *in_force(event))
    is_held = (lease.c.voter_id == voter_id, lease.c.ended_at.is_(None))
    in_hand = pairs.join(lease, of_sheet).where(*is_held, ~_is_answered())
    known: defaultdict[Pair, set[Sheet]] = defaultdict(set)
    for statement in (answered, in_hand):
        for row in connection.execute(statement):
            known[_pair(row)].add((row.ballot_id, row.sheet))
    return known


def has_asked_pair(connection: sa.Connection, sheet: Sheet, voter_id: int) -> bool:
    """Return whether a sheet has a pair of another sheet of the same ballot that the voter has, or had."""
    table, lease = schema.comparison, schema.lease
    pairs = sa.select(table.c.left_item, table.c.right_item).where(table.c.ballot_id == sheet[0], _is_asked_once())
    of_sheet = sa.and_(lease.c.ballot_id == table.c.ballot_id, lease.c.sheet == table.c.sheet)
    of_voter = pairs.join(lease, of_sheet).where(lease.c.voter_id == voter_id, table.c.sheet != sheet[1])
    asked = {_pair(row) for row in connection.execute(of_voter)}
    return any(_pair(row) in asked for row in connection.execute(pairs.where(table.c.sheet == sheet[1])))


def dropped_sheets(connection: sa.Connection, info: CampaignInfo) -> dict[Sheet, int]:
    """Return the sheets that are given to nobody any more, and how many unanswered comparisons each has.

    An answer on such a sheet that is taken back leaves one more, in whose place another comparison can be drawn.
    """
    event, sheet = schema.audit_event, schema.sheet
    is_dropped = (event.c.campaign_id == info.id, event.c.kind == _DROPPED)
    by_ballot: defaultdict[int, list[int]] = defaultdict(list)
    for row in connection.execute(sa.select(event.c.ballot_id, event.c.details).where(*is_dropped)):
        by_ballot[row.ballot_id] += [number for number, _ in value_of(row.details)["sheets"]]
    dropped: dict[Sheet, int] = {}
    for ballot_id, numbers in by_ballot.items():
        left = (sheet.c.n_comparisons - sheet.c.n_answered).label("n_left")
        of_ballot = (sheet.c.ballot_id == ballot_id, sheet.c.number.in_(numbers))
        rows = connection.execute(sa.select(sheet.c.number, left).where(*of_ballot))
        dropped |= {(ballot_id, row.number): int(row.n_left) for row in rows}
    return dropped


def drop_sheets(connection: sa.Connection, info: CampaignInfo, n_unanswered: Mapping[Sheet, int]) -> None:
    """Record that the unanswered comparisons of sheets are asked no more, because others are drawn in their place."""
    by_ballot: defaultdict[int, list[Pair]] = defaultdict(list)
    for (ballot_id, sheet), number in n_unanswered.items():
        by_ballot[ballot_id].append((sheet, number))
    for ballot_id, sheets in by_ballot.items():
        audit(connection, info.id, _DROPPED, {"sheets": sheets}, ballot_id=ballot_id)


def present_voters(
    connection: sa.Connection, info: CampaignInfo, joined_by: sa.ScalarSelect[int] | None = None
) -> set[int]:
    """Return the voters who neither withdrew nor were left out, of all or of those who had joined by then."""
    voter = schema.voter
    present = sa.select(voter.c.id).where(voter.c.campaign_id == info.id, voter.c.withdrawn_at.is_(None))
    if joined_by is not None:
        present = present.where(voter.c.joined_at <= joined_by)
    return set(connection.execute(present).scalars()).difference(excluded_voters(connection, info.id))


def _pair(row: Any) -> Pair:
    return min(row.left_item, row.right_item), max(row.left_item, row.right_item)


def _is_asked_once() -> sa.ColumnElement[bool]:
    probe = schema.comparison.c.probe
    # A repeat counts by the comparison that it repeats: if another voter answers that one, the pair is still open.
    return sa.or_(probe.is_(None), probe == "overlap")


def _is_answered() -> sa.ColumnElement[bool]:
    event, table = schema.vote_event, schema.comparison
    is_here = (event.c.ballot_id == table.c.ballot_id, event.c.place == table.c.place)
    return sa.exists().where(*is_here, *in_force(event))


def _unanswered(connection: sa.Connection, sheets: Iterable[Sheet]) -> Iterator[Any]:
    by_ballot: defaultdict[int, list[int]] = defaultdict(list)
    for ballot_id, number in sheets:
        by_ballot[ballot_id].append(number)
    table = schema.comparison
    columns = (table.c.ballot_id, table.c.sheet, table.c.place, table.c.left_item, table.c.right_item)
    is_no_practice = sa.or_(table.c.probe.is_(None), table.c.probe != "practice")
    for ballot_id, numbers in by_ballot.items():
        rows = sa.select(*columns, table.c.probe).where(
            table.c.ballot_id == ballot_id, table.c.sheet.in_(numbers), is_no_practice, ~_is_answered()
        )
        yield from connection.execute(rows.order_by(table.c.sheet, table.c.position))


def _answering_voters(connection: sa.Connection, places: Iterable[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the voter of the answer in force at each ballot's id and place that has one."""
    by_ballot: defaultdict[int, list[int]] = defaultdict(list)
    for ballot_id, place in places:
        by_ballot[ballot_id].append(place)
    event = schema.vote_event
    voters: dict[tuple[int, int], int] = {}
    for ballot_id, of_ballot in by_ballot.items():
        answers = sa.select(event.c.place, event.c.voter_id).where(
            event.c.ballot_id == ballot_id, event.c.place.in_(of_ballot), *in_force(event)
        )
        voters |= {(ballot_id, row.place): row.voter_id for row in connection.execute(answers)}
    return voters


def _scarce_copies(
    connection: sa.Connection, info: CampaignInfo, copies: Sequence[Any], voter_id: int | None
) -> set[tuple[int, int]]:
    """Return the copies whose pair has a comparison for every other voter, by ballot's id and place.

    A voter who answers a copy cannot answer the comparison. The draw leaves enough voters for both, unless fewer come
    than the ballot was drawn for; a continuous campaign draws other pairs instead.
    """
    if not copies or voter_id is None or info.mode == "continuous":
        return set()
    lease, table = schema.lease, schema.comparison
    scarce: set[tuple[int, int]] = set()
    for ballot_id in {copy.ballot_id for copy in copies}:
        here = [copy for copy in copies if copy.ballot_id == ballot_id]
        sheets = {copy.sheet for copy in here}
        own = sa.select(sa.func.max(lease.c.given_at)).where(
            lease.c.ballot_id == ballot_id, lease.c.sheet.in_(sheets), lease.c.voter_id == voter_id
        )
        is_held = lease.c.ended_at.is_(None)
        # Voters who join while the sheet is answered do not change it.
        joined_by = own.where(is_held).scalar_subquery()
        has_sheet = connection.execute(own.where(is_held)).scalar() is not None
        voters = present_voters(connection, info, joined_by if has_sheet else None) - {voter_id}
        if len(voters) + 1 >= len(info.slots):
            continue
        items = {item for copy in here for item in _pair(copy)}
        columns = (table.c.ballot_id, table.c.place, table.c.sheet, table.c.left_item, table.c.right_item)
        is_near = (table.c.ballot_id == ballot_id, table.c.left_item.in_(items), table.c.right_item.in_(items))
        rows = connection.execute(sa.select(*columns, table.c.probe).where(*is_near, _is_asked_once())).all()
        answers = _answering_voters(connection, [(ballot_id, row.place) for row in rows])
        earlier = sa.select(lease.c.sheet, lease.c.voter_id).where(lease.c.ballot_id == ballot_id, is_held)
        if has_sheet:
            earlier = earlier.where(lease.c.given_at < joined_by)
        holders = {row.sheet: row.voter_id for row in connection.execute(earlier)}
        for copy in here:
            same = [row for row in rows if _pair(row) == _pair(copy)]
            n_open = sum(row.probe is None and (ballot_id, row.place) not in answers for row in same)
            busy = {answers.get((ballot_id, row.place)) for row in same}
            busy |= {holders.get(row.sheet) for row in same if row.probe == "overlap"}
            if len(voters - busy) < n_open:
                scarce.add((ballot_id, copy.place))
    return scarce
