"""What is asked in the ballots that are open, and of whom."""

from __future__ import annotations

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.voters import names_of
from adaptive.votes import Comparison

__all__ = ["asked"]


def asked(
    connection: sa.Connection, info: CampaignInfo, *, voter_id: int | None = None, unanswered: bool = False
) -> tuple[Comparison, ...]:
    """Comparisons of all open ballots, sheet by sheet in the order in which they are shown.

    The voter is whoever has the sheet, or "" where nobody has.

    Parameters
    ----------
    voter_id : int or None
        Only the sheets that this voter has.
    unanswered : bool
        Only comparisons without a vote that stands.
    """
    place, lease, ballot, event = schema.comparison, schema.lease, schema.ballot, schema.vote_event
    held = sa.and_(lease.c.ballot_id == place.c.ballot_id, lease.c.sheet == place.c.sheet, lease.c.ended_at.is_(None))
    wanted = (
        sa.select(ballot.c.number, place.c.place, lease.c.voter_id, place.c.left_item, place.c.right_item)
        .select_from(place)
        .join(ballot, ballot.c.id == place.c.ballot_id)
        .outerjoin(lease, held)
        .where(ballot.c.campaign_id == info.id, ballot.c.state == "open")
        .order_by(ballot.c.number, place.c.sheet, place.c.position)
    )
    if voter_id is not None:
        wanted = wanted.where(lease.c.voter_id == voter_id)
    if unanswered:
        same = (event.c.ballot_id == place.c.ballot_id, event.c.place == place.c.place)
        later = event.alias("later")
        newer = sa.exists().where(
            later.c.ballot_id == event.c.ballot_id,
            later.c.place == event.c.place,
            later.c.revision > event.c.revision,
        )
        wanted = wanted.where(~sa.exists().where(*same, event.c.kind == "cast", ~newer))
    names = names_of(connection, info)
    return tuple(
        Comparison(f"{number}-{index}", names.get(voter, ""), info.items[left], info.items[right])
        for number, index, voter, left, right in connection.execute(wanted)
    )
