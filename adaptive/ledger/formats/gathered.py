"""The comparisons of a campaign with the votes that stand, as every format takes them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from adaptive.ledger.ballots.draws import drawn_columns, stored_ballots
from adaptive.ledger.campaign.contents import ItemContent, contents_of
from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store import schema
from adaptive.ledger.store.encoding import pair_id, value_of
from adaptive.ledger.voters.identity import excluded_voters, keys_of, names_of
from adaptive.ledger.votes.casting import answer_name, is_scored, standing_votes
from rankcorr.checks import shown

__all__ = ["Answered", "gathered", "presented"]


@dataclass(frozen=True)
class Answered:
    """One comparison, and the vote that stands.

    Attributes
    ----------
    comparison : str
        Its id, "2-0-17".
    voter : str or None
        Key or name of who voted, or else of who has the sheet.
    left, right : hashable
        Labels.
    answer : {"left", "right", "tie", "cannot say"} or None
    response_ms : int or None
    received_at : int or None
        As `adaptive.ledger.store.encoding.now`.
    extra : dict of str to str
        What came with the vote.
    is_excluded : bool
        Whether the voter is left out of all scores.
    """

    comparison: str
    voter: str | None
    left: Hashable
    right: Hashable
    answer: str | None
    response_ms: int | None
    received_at: int | None
    extra: Mapping[str, str]
    is_excluded: bool


def presented(connection: sa.Connection, info: CampaignInfo) -> dict[Hashable, ItemContent]:
    """What is shown of each item; empty where no item has more than its label."""
    contents = contents_of(connection, info.id)
    if all(each.content is None for each in contents):
        return {}
    return dict(zip(info.items, contents, strict=True))


def gathered(
    connection: sa.Connection, info: CampaignInfo, *, ballots: Sequence[int] | None = None, names: bool = False
) -> list[Answered]:
    """All comparisons of some ballots, in their order.

    Parameters
    ----------
    ballots : sequence of int or None
        Their numbers; None: all that were opened.
    names : bool
        Whether voters go by name, where one is known, and not by their random key.

    Raises
    ------
    LedgerError
        When a ballot has not been opened.
    """
    stored = {each.number: each for each in stored_ballots(connection, info.id)}
    wanted = sorted(stored) if ballots is None else sorted(set(ballots))
    missing = [number for number in wanted if number not in stored]
    if missing:
        raise LedgerError(f"ballot {shown(missing[0])} has not been opened")
    called = names_of(connection, info) if names else keys_of(connection, info)
    excluded = excluded_voters(connection, info.id)
    found = []
    for number in wanted:
        found += _of_ballot(connection, info, stored[number].id, number, called, excluded)
    return found


def _of_ballot(
    connection: sa.Connection,
    info: CampaignInfo,
    ballot_id: int,
    number: int,
    called: Mapping[int, str],
    excluded: Mapping[int, str],
) -> list[Answered]:
    drawn = drawn_columns(connection, ballot_id)
    holders = _holders(connection, ballot_id)
    counted = standing_votes(connection, ballot_id)
    says = zip(counted.answer.tolist(), counted.voter.tolist(), strict=True)
    votes = dict(zip(counted.place.tolist(), says, strict=True))
    came = _details(connection, ballot_id)
    found = []
    columns = (drawn.sheet.tolist(), drawn.position.tolist(), drawn.left.tolist(), drawn.right.tolist())
    for place, (sheet, position, left, right) in enumerate(zip(*columns, strict=True)):
        answer, voter = votes.get(place, (None, holders.get(sheet)))
        response_ms, received_at, extra = came[place] if answer is not None else (None, None, None)
        found.append(
            Answered(
                comparison=pair_id(number, sheet, position),
                voter=None if voter is None else called[voter],
                left=info.items[left],
                right=info.items[right],
                answer=None if answer is None else answer_name(answer),
                response_ms=response_ms,
                received_at=received_at,
                extra={} if extra is None else value_of(extra),
                is_excluded=answer is not None and voter in excluded,
            )
        )
    return found


def _details(connection: sa.Connection, ballot_id: int) -> dict[int, Any]:
    """What came with the last vote on each comparison."""
    event = schema.vote_event
    rows = connection.execute(
        sa.select(event.c.place, event.c.response_ms, event.c.received_at, event.c.extra)
        .where(event.c.ballot_id == ballot_id, event.c.kind == "cast", is_scored(event, ballot_id))
        .order_by(event.c.place, event.c.revision)
    )
    return {place: (response_ms, received_at, extra) for place, response_ms, received_at, extra in rows}


def _holders(connection: sa.Connection, ballot_id: int) -> dict[int, int]:
    lease = schema.lease
    rows = connection.execute(
        sa.select(lease.c.sheet, lease.c.voter_id).where(lease.c.ballot_id == ballot_id).order_by(lease.c.fence)
    )
    return {row.sheet: row.voter_id for row in rows}
