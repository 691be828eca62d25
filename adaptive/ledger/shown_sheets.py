"""A sheet as a voter sees it: its comparisons with its probes among them, and what was answered.

A pair is known by its position among all pairs of the sheet, which tells nobody whether it is a probe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import sqlalchemy as sa

from adaptive.errors import VoteError
from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.votes import answer_name
from adaptive.votes import Vote

__all__ = ["Answered", "KnownEvent", "ShownPair", "answers_on", "pair_of_event", "shown_pairs"]

_WORDS = {int(vote): vote.name.lower() for vote in Vote}


@dataclass(frozen=True)
class ShownPair:
    """A pair of a sheet.

    Attributes
    ----------
    position : int
        Among all pairs of the sheet, counted from 0.
    is_probe : bool
    place : int
        Of the comparison or the probe in its ballot.
    left, right : int
        Places of the items.
    is_practice : bool
    expected : str or None
        "left", "right" or "tie": the answer to a practice pair.
    """

    position: int
    is_probe: bool
    place: int
    left: int
    right: int
    is_practice: bool
    expected: str | None


@dataclass(frozen=True)
class Answered:
    """An answer that stands."""

    answer: str
    event_id: str
    voter_id: int


@dataclass(frozen=True)
class KnownEvent:
    """Ballot, sheet and place of an answer, whether it is one to a probe, and whose it is."""

    number: int
    sheet: int
    place: int
    is_probe: bool
    voter_id: int


def shown_pairs(connection: sa.Connection, info: CampaignInfo, number: int, sheet: int) -> tuple[ShownPair, ...]:
    """All pairs of a sheet, in the order in which they are shown; they never change.

    Parameters
    ----------
    number, sheet : int
        Ballot, counted from 1, and sheet in it, counted from 0.

    Raises
    ------
    VoteError
        When there is no such sheet.
    """
    wanted = {"campaign": info.id, "number": number, "sheet": sheet}
    # A probe is shown before the comparison of its position.
    rows: list[tuple[tuple[int, int, int], Any]] = [
        ((row.position, 1, row.place), row) for row in connection.execute(_comparisons_statement(), wanted)
    ]
    if info.settings.probing is not None:
        rows += [((row.position, 0, row.place), row) for row in connection.execute(_probes_statement(), wanted)]
    if not rows:
        raise VoteError(f"ballot {number} has no sheet {sheet + 1}")
    rows.sort(key=lambda each: each[0])
    pairs = []
    for position, ((_, comes, place), row) in enumerate(rows):
        practice = comes == 0 and row.kind == "practice"
        expected = _WORDS[row.expected] if practice else None
        pairs.append(ShownPair(position, comes == 0, place, row.left_item, row.right_item, practice, expected))
    return tuple(pairs)


@cache
def _comparisons_statement() -> sa.Select[Any]:
    return _asked(schema.comparison)


@cache
def _probes_statement() -> sa.Select[Any]:
    return _asked(schema.probe).add_columns(schema.probe.c.kind, schema.probe.c.expected)


def _asked(table: sa.Table) -> sa.Select[Any]:
    ballot = schema.ballot
    return (
        sa.select(table.c.place, table.c.position, table.c.left_item, table.c.right_item)
        .join(ballot, ballot.c.id == table.c.ballot_id)
        .where(
            ballot.c.campaign_id == sa.bindparam("campaign"),
            ballot.c.number == sa.bindparam("number"),
            table.c.sheet == sa.bindparam("sheet"),
        )
    )


def answers_on(
    connection: sa.Connection, info: CampaignInfo, number: int, pairs: Sequence[ShownPair]
) -> dict[int, Answered]:
    """The answers that stand on a sheet, by position."""
    found: dict[int, Answered] = {}
    for table, is_probe in ((schema.vote_event, False), (schema.probe_event, True)):
        at = {pair.place: pair.position for pair in pairs if pair.is_probe is is_probe}
        if at:
            last = _last_events(connection, info, number, table, list(at))
            found |= {at[place]: answer for place, answer in last.items()}
    return found


def pair_of_event(connection: sa.Connection, info: CampaignInfo, event_id: str) -> KnownEvent | None:
    """What an event that counts, or did, was about; None where there is none."""
    ballot = schema.ballot
    for table, asked in ((schema.vote_event, schema.comparison), (schema.probe_event, schema.probe)):
        row = connection.execute(
            sa.select(ballot.c.number, asked.c.sheet, table.c.place, table.c.voter_id)
            .join(asked, sa.and_(asked.c.ballot_id == table.c.ballot_id, asked.c.place == table.c.place))
            .join(ballot, ballot.c.id == table.c.ballot_id)
            .where(ballot.c.campaign_id == info.id, table.c.event_id == event_id)
        ).first()
        if row is not None:
            return KnownEvent(row.number, row.sheet, row.place, asked is schema.probe, row.voter_id)
    return None


def _last_events(
    connection: sa.Connection, info: CampaignInfo, number: int, table: sa.Table, places: list[int]
) -> Mapping[int, Answered]:
    ballot = schema.ballot
    counts = [table.c.why.is_(None)] if "why" in table.c else []
    rows = connection.execute(
        sa.select(table.c.place, table.c.kind, table.c.answer, table.c.event_id, table.c.voter_id)
        .join(ballot, ballot.c.id == table.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, ballot.c.number == number, table.c.place.in_(places), *counts)
        .order_by(table.c.place, table.c.revision)
    )
    last = {row.place: row for row in rows}
    return {
        place: Answered(answer_name(row.answer), row.event_id, row.voter_id)
        for place, row in last.items()
        if row.kind == "cast"
    }
