"""What is asked in the ballots that are open, and of whom."""

from __future__ import annotations

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.encoding import pair_id
from adaptive.ledger.voters import names_of
from adaptive.votes import Comparison

__all__ = ["asked"]


def asked(
    connection: sa.Connection,
    info: CampaignInfo,
    *,
    number: int | None = None,
    voter_id: int | None = None,
    unanswered: bool = False,
) -> tuple[Comparison, ...]:
    """Comparisons of all open ballots, checks among them, sheet by sheet in the order in which they are shown.

    The voter is whoever has the sheet, or "" where nobody has. Nothing tells which of them are checks.

    Parameters
    ----------
    number : int or None
        Only of this ballot.
    voter_id : int or None
        Only the sheets that this voter has.
    unanswered : bool
        Only what has no answer that stands.
    """
    ballot, pair, lease, event = schema.ballot, schema.comparison, schema.lease, schema.vote_event
    held = sa.and_(
        lease.c.ballot_id == pair.c.ballot_id,
        lease.c.sheet == pair.c.sheet,
        lease.c.ended_at.is_(None),
    )
    wanted = (
        sa.select(
            *(ballot.c.number, pair.c.sheet, pair.c.position, pair.c.left_item, pair.c.right_item),
            lease.c.voter_id,
        )
        .select_from(pair)
        .join(ballot, ballot.c.id == pair.c.ballot_id)
        .outerjoin(lease, held)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open")
        .order_by(ballot.c.number, pair.c.sheet, pair.c.position)
    )
    if number is not None:
        wanted = wanted.where(ballot.c.number == number)
    if voter_id is not None:
        wanted = wanted.where(lease.c.voter_id == voter_id)
    if unanswered:
        later = event.alias("later")
        newer = sa.exists().where(
            later.c.ballot_id == event.c.ballot_id,
            later.c.place == event.c.place,
            later.c.revision > event.c.revision,
        )
        same = (event.c.ballot_id == pair.c.ballot_id, event.c.place == pair.c.place)
        wanted = wanted.where(~sa.exists().where(*same, event.c.kind == "cast", ~newer))
    names = names_of(connection, info)
    return tuple(
        Comparison(
            pair_id(row.number, row.sheet, row.position),
            names.get(row.voter_id, ""),
            info.items[row.left_item],
            info.items[row.right_item],
        )
        for row in connection.execute(wanted)
    )
