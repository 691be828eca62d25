"""Read sheets as voters see them, with checks among the comparisons and the answers given, and list all open pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from adaptive._votes import Comparison
from adaptive.errors import VoteError
from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import answer_name, pair_at, pair_id
from adaptive.ledger._voters.identity import names_of, voter_named
from adaptive.ledger._votes.reading import in_force


@dataclass(frozen=True)
class ShownPair:
    """A pair of a sheet, without any sign of whether it is a check.

    Attributes
    ----------
    position : int
        Position among all pairs of the sheet, counted from 0.
    place : int
        Place in the ballot; not shown to voters.
    left, right : int
        Places of the items.
    is_practice : bool
    expected : str or None
        "left", "right" or "tie": the answer to a practice pair.

    See Also
    --------
    SheetInHand : Lists the pairs of a sheet.
    VoteCast : An answer to one.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, Settings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=Settings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> hand, reason = voter.next_sheet(pages)
    >>> for pair in hand.pairs:
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


@dataclass(frozen=True)
class Answered:
    """The current answer to a pair."""

    answer: str
    event_id: str
    voter_id: int


@dataclass(frozen=True)
class KnownEvent:
    """The pair that a vote was about, and its voter."""

    number: int
    place: int
    pair: str
    voter_id: int


def shown_pairs(connection: sa.Connection, info: CampaignInfo, number: int, sheet: int) -> tuple[ShownPair, ...]:
    """Return all pairs of a sheet, in their fixed display order.

    Parameters
    ----------
    number, sheet : int
        Ballot, counted from 1, and sheet in it, counted from 0.

    Raises
    ------
    VoteError
        If the sheet does not exist.
    """
    wanted = {"campaign": info.id, "number": number, "sheet": sheet}
    rows = connection.execute(_pairs_statement(), wanted).all()
    if not rows:
        raise VoteError(f"ballot {number} has no sheet {sheet + 1}")
    pairs = []
    for row in rows:
        practice = row.probe == "practice"
        expected = answer_name(row.expected) if practice else None
        pairs.append(ShownPair(row.position, row.place, row.left_item, row.right_item, practice, expected))
    return tuple(pairs)


@cache
def _pairs_statement() -> sa.Select[Any]:
    table, ballot = schema.comparison, schema.ballot
    asked = (table.c.place, table.c.position, table.c.left_item, table.c.right_item, table.c.probe, table.c.expected)
    of_ballot = (ballot.c.campaign_id == sa.bindparam("campaign"), ballot.c.number == sa.bindparam("number"))
    pairs = sa.select(*asked).join(ballot, ballot.c.id == table.c.ballot_id).where(*of_ballot)
    return pairs.where(table.c.sheet == sa.bindparam("sheet")).order_by(table.c.position)


def place_of(connection: sa.Connection, info: CampaignInfo, pair: str) -> tuple[int, int]:
    """Return the ballot of a pair and its place in it, given the pair's id.

    Raises
    ------
    VoteError
        If the pair does not exist.
    """
    number, sheet, position = pair_at(pair)
    for shown in shown_pairs(connection, info, number, sheet):
        if shown.position == position:
            return number, shown.place
    raise VoteError(f"comparison {pair} is unknown")


def answers_on(
    connection: sa.Connection, info: CampaignInfo, number: int, pairs: Sequence[ShownPair]
) -> dict[int, Answered]:
    """Return the current answers on a sheet, by position."""
    answered = _standing(connection, info, number, [pair.place for pair in pairs])
    return {pair.position: answered[pair.place] for pair in pairs if pair.place in answered}


def answer_at(connection: sa.Connection, info: CampaignInfo, number: int, place: int) -> Answered | None:
    """Return the current answer to the comparison at a place."""
    return _standing(connection, info, number, [place]).get(place)


def _standing(connection: sa.Connection, info: CampaignInfo, number: int, places: Sequence[int]) -> dict[int, Answered]:
    event, ballot = schema.vote_event, schema.ballot
    wanted = (ballot.c.campaign_id == info.id, ballot.c.number == number, event.c.place.in_(places), *in_force(event))
    answers = sa.select(event.c.place, event.c.answer, event.c.event_id, event.c.voter_id)
    rows = connection.execute(answers.join(ballot, ballot.c.id == event.c.ballot_id).where(*wanted))
    return {row.place: Answered(answer_name(row.answer), row.event_id, row.voter_id) for row in rows}


def pair_of_event(connection: sa.Connection, info: CampaignInfo, event_id: str) -> KnownEvent | None:
    """Return the pair and voter of an event, even one that no longer counts; None for an unknown id."""
    ballot, event, asked = schema.ballot, schema.vote_event, schema.comparison
    row = connection.execute(
        sa.select(ballot.c.number, asked.c.sheet, asked.c.position, event.c.place, event.c.voter_id)
        .join(asked, sa.and_(asked.c.ballot_id == event.c.ballot_id, asked.c.place == event.c.place))
        .join(ballot, ballot.c.id == event.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, event.c.event_id == event_id)
    ).first()
    if row is None:
        return None
    return KnownEvent(row.number, row.place, pair_id(row.number, row.sheet, row.position), row.voter_id)


def asked(
    connection: sa.Connection,
    info: CampaignInfo,
    *,
    number: int | None = None,
    voter: str | None = None,
    unanswered: bool = False,
) -> tuple[Comparison, ...]:
    """Return the comparisons of all open ballots, checks included, by sheet and in display order.

    The voter is the holder of the sheet, or "" for a free sheet. The rows do not reveal which comparisons are checks.

    Parameters
    ----------
    number : int or None
        Restrict the list to this ballot.
    voter : str or None
        Restrict the list to the sheets of this voter, given by the name in a file or by key.
    unanswered : bool
        Restrict the list to comparisons without a current answer.
    """
    ballot, pair, lease, event = schema.ballot, schema.comparison, schema.lease, schema.vote_event
    held = sa.and_(lease.c.ballot_id == pair.c.ballot_id, lease.c.sheet == pair.c.sheet, lease.c.ended_at.is_(None))
    of_pair = (ballot.c.number, pair.c.sheet, pair.c.position, pair.c.left_item, pair.c.right_item)
    wanted = (
        sa.select(*of_pair, lease.c.voter_id)
        .select_from(pair)
        .join(ballot, ballot.c.id == pair.c.ballot_id)
        .outerjoin(lease, held)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open")
        .order_by(ballot.c.number, pair.c.sheet, pair.c.position)
    )
    if number is not None:
        wanted = wanted.where(ballot.c.number == number)
    if voter is not None:
        wanted = wanted.where(lease.c.voter_id == voter_named(connection, info, voter))
    if unanswered:
        same = (event.c.ballot_id == pair.c.ballot_id, event.c.place == pair.c.place)
        wanted = wanted.where(~sa.exists().where(*same, *in_force(event)))
    names = names_of(connection, info)
    found = []
    for row in connection.execute(wanted):
        left, right = info.items[row.left_item], info.items[row.right_item]
        pair_name = pair_id(row.number, row.sheet, row.position)
        found.append(Comparison(pair_name, names.get(row.voter_id, ""), left, right))
    return tuple(found)
