"""Votes that were kept aside because another one stood, for the organiser to decide."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.encoding import pair_id, time_text
from adaptive.ledger.voters import names_of
from adaptive.ledger.votes import answer_name

__all__ = ["Conflict", "conflicts"]


@dataclass(frozen=True)
class Conflict:
    """A vote that was not counted, because another one stands.

    Attributes
    ----------
    comparison : str
    voter : str
        Who it came from.
    stands, came : str
        The vote that counts, or "" if it was taken back since; and the one that does not.
    received_at : str
        ISO 8601.
    corrected : bool
        Whether the organiser has decided since.
    """

    comparison: str
    voter: str
    stands: str
    came: str
    received_at: str
    corrected: bool


def conflicts(connection: sa.Connection, info: CampaignInfo) -> list[Conflict]:
    """Votes that were kept aside because another one stood, oldest first."""
    late, ballot, event, asked = schema.late_vote, schema.ballot, schema.vote_event, schema.comparison
    names = names_of(connection, info)
    rows = connection.execute(
        sa.select(late, ballot.c.number, asked.c.sheet, asked.c.position)
        .join(asked, sa.and_(asked.c.ballot_id == late.c.ballot_id, asked.c.place == late.c.place))
        .join(ballot, ballot.c.id == late.c.ballot_id)
        .where(ballot.c.campaign_id == info.id, late.c.why == "conflict")
        .order_by(late.c.id)
    ).all()
    found = []
    for row in rows:
        events = connection.execute(
            sa.select(event.c.kind, event.c.answer, event.c.given_by, event.c.revision)
            .where(event.c.ballot_id == row.ballot_id, event.c.place == row.place)
            .order_by(event.c.revision)
        ).all()
        last = events[-1] if events else None
        found.append(
            Conflict(
                comparison=pair_id(row.number, row.sheet, row.position),
                voter=names[row.voter_id],
                stands=answer_name(last.answer) if last is not None and last.kind == "cast" else "",
                came=answer_name(row.answer),
                received_at=time_text(row.received_at),
                corrected=any(e.given_by == "correction" and e.revision > row.revision for e in events),
            )
        )
    return found
