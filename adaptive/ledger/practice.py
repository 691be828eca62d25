"""Practice comes before everything that is scored: who has begun, and which sheets still have their practice."""

from __future__ import annotations

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo

__all__ = ["has_begun", "unused_practice"]


def has_begun(connection: sa.Connection, voter_id: int, *, besides: tuple[int, int] | None = None) -> bool:
    """Whether a voter has practised or voted before: practice that comes later is of no use.

    It could even ask, with the answer told, what the voter was asked in earnest.

    Parameters
    ----------
    besides : (int, int) or None
        A ballot's id and a sheet in it, whose answers are not looked at.
    """
    event, asked = schema.vote_event, schema.comparison
    of_pair = sa.and_(asked.c.ballot_id == event.c.ballot_id, asked.c.place == event.c.place)
    wanted = sa.select(sa.literal(1)).select_from(event).join(asked, of_pair).where(event.c.voter_id == voter_id)
    if besides is not None:
        wanted = wanted.where(sa.or_(asked.c.ballot_id != besides[0], asked.c.sheet != besides[1]))
    return connection.execute(wanted.limit(1)).first() is not None


def unused_practice(info: CampaignInfo) -> sa.Subquery | None:
    """Number of practice pairs that nobody has answered, by ballot's id and sheet; None: the campaign has no practice.

    Whoever takes over a sheet that was begun finds its practice done.
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
