"""Decide which sheets a voter may get: none with a pair already asked on another sheet, and practice first.

Pairs are compared here and not in the database, which would compare the voter's pairs with those of every free sheet.
That takes seconds in a campaign of a thousand sheets.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import sqlalchemy as sa

from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.store import schema

Sheet: TypeAlias = tuple[int, int]  # ballot's id, and number in it
Pair: TypeAlias = tuple[int, int]
KnownPairs: TypeAlias = Mapping[Pair, Collection[Sheet]]


def known_pairs(connection: sa.Connection, voter_id: int) -> KnownPairs:
    """Return the pairs on all sheets that a voter has had, each with its sheets.

    The pair of an overlap is included; pairs whose answer is known are not, because they may be asked again.
    """
    lease, found = schema.lease, defaultdict(set)
    table = schema.comparison
    wanted = _pairs().join(lease, sa.and_(lease.c.ballot_id == table.c.ballot_id, lease.c.sheet == table.c.sheet))
    for ballot_id, sheet, pair in _read(connection, wanted.where(lease.c.voter_id == voter_id)):
        found[pair].add((ballot_id, sheet))
    return found


def without_known_pairs(
    connection: sa.Connection,
    info: CampaignInfo,
    sheets: Sequence[Sheet],
    known: KnownPairs,
    *,
    of_ballot: bool = False,
) -> list[Sheet]:
    """Return those sheets that share no pair with another sheet of the voter, in the same ballot or in any batch.

    With `of_ballot`, only sheets of the same ballot or batch are compared. Different ballots are separate rounds of
    voting: the selected items meet again.
    """
    is_anywhere = info.mode == "continuous" and not of_ballot
    by_ballot: dict[int, list[int]] = defaultdict(list)
    for ballot_id, number in sheets if known else ():
        by_ballot[ballot_id].append(number)
    repeated = set()
    table = schema.comparison
    for ballot_id, numbers in by_ballot.items():
        wanted = _pairs().where(table.c.ballot_id == ballot_id, table.c.sheet.in_(numbers))
        for of_ballot_id, number, pair in _read(connection, wanted):
            sheet = of_ballot_id, number
            others = known.get(pair, ())
            if any(other != sheet and (is_anywhere or other[0] == ballot_id) for other in others):
                repeated.add(sheet)
    return [sheet for sheet in sheets if sheet not in repeated]


def _pairs() -> sa.Select[Any]:
    table = schema.comparison
    wanted = sa.select(table.c.ballot_id, table.c.sheet, table.c.left_item, table.c.right_item)
    return wanted.where(sa.or_(table.c.probe.is_(None), table.c.probe == "overlap"))


def _read(connection: sa.Connection, wanted: sa.Select[Any]) -> Iterator[tuple[int, int, Pair]]:
    for ballot_id, sheet, left, right in connection.execute(wanted):
        yield ballot_id, sheet, (left, right) if left < right else (right, left)


def has_begun(connection: sa.Connection, voter_id: int, *, besides: tuple[int, int] | None = None) -> bool:
    """Return whether a voter has practised or voted before, so that later practice is useless.

    Later practice might even reveal the answer to a pair that the voter was asked as a real comparison.

    Parameters
    ----------
    besides : (int, int) or None
        A ballot's id and a sheet in it whose answers are ignored.
    """
    event, asked = schema.vote_event, schema.comparison
    of_pair = sa.and_(asked.c.ballot_id == event.c.ballot_id, asked.c.place == event.c.place)
    wanted = sa.select(sa.literal(1)).select_from(event).join(asked, of_pair).where(event.c.voter_id == voter_id)
    if besides is not None:
        wanted = wanted.where(sa.or_(asked.c.ballot_id != besides[0], asked.c.sheet != besides[1]))
    return connection.execute(wanted.limit(1)).first() is not None


def unused_practice(info: CampaignInfo) -> sa.Subquery | None:
    """Count the unanswered practice pairs by ballot id and sheet; None if the campaign has no practice.

    A voter who takes over a started sheet finds its practice done.
    """
    probing, probe, event, ballot = info.settings.probing, schema.comparison, schema.vote_event, schema.ballot
    if probing is None or not probing.of_kind("practice"):
        return None
    answered = sa.exists().where(event.c.ballot_id == probe.c.ballot_id, event.c.place == probe.c.place)
    return (
        sa.select(probe.c.ballot_id, probe.c.sheet, sa.func.count().label("number"))
        .join(ballot, ballot.c.id == probe.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open", probe.c.probe == "practice", ~answered)
        .group_by(probe.c.ballot_id, probe.c.sheet)
        .subquery()
    )
