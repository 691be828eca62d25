"""Compute stamps: short texts that change with the data, so that outdated pages and decisions are detected."""

from __future__ import annotations

import sqlalchemy as sa

from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store import schema
from adaptive.ledger.store.encoding import digest_of
from adaptive.ledger.voters.newcomers import awaited

_DECIDING = ("opened", "closed", "reopened", "excluded", "included", "left")


def campaign_stamp(connection: sa.Connection, info: CampaignInfo) -> str:
    """Return a stamp of all events in a campaign: votes, leases of sheets, voters, and organisers' actions.

    No votes are read, so the cost does not depend on their number. Votes of other campaigns in the same ledger also
    change the stamp.
    """
    ballot, sheet, lease, voter = schema.ballot, schema.sheet, schema.lease, schema.voter
    own = sa.select(ballot.c.id).where(ballot.c.campaign_id == info.id)
    parts = [
        sa.select(sa.func.max(table.c.id)).scalar_subquery() for table in (schema.vote_event, schema.late_vote, lease)
    ]
    parts += [
        # A transaction that commits after a later one leaves the highest number unchanged, but not this sum.
        sa.select(sa.func.sum(sheet.c.n_answered)).where(sheet.c.ballot_id.in_(own)).scalar_subquery(),
        sa.select(sa.func.sum(sa.case((ballot.c.state == "open", 1), (ballot.c.state == "closing", 2), else_=4)))
        .where(ballot.c.campaign_id == info.id)
        .scalar_subquery(),
        sa.select(sa.func.max(schema.audit_event.c.id))
        .where(schema.audit_event.c.campaign_id == info.id)
        .scalar_subquery(),
        sa.select(sa.func.count()).select_from(voter).where(voter.c.campaign_id == info.id).scalar_subquery(),
        sa.select(sa.func.max(schema.voting_pages.c.version))
        .where(schema.voting_pages.c.campaign_id == info.id)
        .scalar_subquery(),
    ]
    return digest_of([info.key, *map(str, connection.execute(sa.select(*parts)).one())])[:32]


def progress_stamp(connection: sa.Connection, info: CampaignInfo) -> str:
    """Return a stamp of a campaign's progress, which time alone can change, because unanswered sheets expire."""
    stamp, held = campaign_stamp(connection, info), awaited(connection, info)
    return stamp if held is None else digest_of([stamp, str(held)])[:32]


def ballot_stamp(connection: sa.Connection, info: CampaignInfo, number: int) -> str:
    """Return a stamp of a ballot's state and of the voters who are left out, but not of its votes.

    Raises
    ------
    LedgerError
        If the ballot has not been opened.
    """
    table, event = schema.ballot, schema.audit_event
    row = connection.execute(
        sa.select(table.c.id, table.c.state, table.c.chain_digest).where(
            table.c.campaign_id == info.id, table.c.number == number
        )
    ).first()
    if row is None:
        raise LedgerError(f"ballot {number} has not been opened")
    decided = connection.execute(
        sa.select(sa.func.max(event.c.id)).where(event.c.campaign_id == info.id, event.c.kind.in_(_DECIDING))
    ).scalar()
    return digest_of([info.key, str(number), row.state, row.chain_digest or "", str(decided)])[:32]
