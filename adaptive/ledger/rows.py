"""Rows of what an organiser watches: each ballot, and each voter with what is known of them."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.encoding import time_text
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.status import by_voter
from rankcorr.checks import shown

__all__ = ["BallotProgress", "VoterRow", "by_ballot", "voter_of_key", "voter_rows"]


@dataclass(frozen=True)
class BallotProgress:
    """A ballot, or a batch of a continuous campaign.

    Attributes
    ----------
    ballot : int
    state : {"open", "closing", "closed"}
    n_items, n_comparisons, n_answered : int
    n_sheets, n_sheets_done : int
    opened_at : str
        ISO 8601.
    closed_at : str or None
        None while it is open.
    """

    ballot: int
    state: str
    n_items: int
    n_comparisons: int
    n_answered: int
    n_sheets: int
    n_sheets_done: int
    opened_at: str
    closed_at: str | None


@dataclass(frozen=True)
class VoterRow:
    """A voter.

    Attributes
    ----------
    key : str
        Random; what exports have.
    name : str or None
        What the source calls the voter; None where it was erased, or is not wanted.
    source : str
        "open", "invitation", "prolific", "mturk" or "file".
    joined_at : str
        ISO 8601.
    consent_version : str or None
    n_comparisons, n_answered : int
        Of the sheets in hand in open ballots.
    n_votes : int
    last_vote : str or None
    excluded, withdrawn : bool
    """

    key: str
    name: str | None
    source: str
    joined_at: str
    consent_version: str | None
    n_comparisons: int
    n_answered: int
    n_votes: int
    last_vote: str | None
    excluded: bool
    withdrawn: bool


def by_ballot(connection: sa.Connection, info: CampaignInfo) -> tuple[BallotProgress, ...]:
    """All ballots so far; no vote is read, whatever their number."""
    ballot, sheet = schema.ballot, schema.sheet
    done = sa.case((sheet.c.n_answered == sheet.c.n_comparisons, 1), else_=0)
    rows = connection.execute(
        sa.select(
            ballot,
            sa.func.coalesce(sa.func.sum(sheet.c.n_answered), 0).label("n_answered"),
            sa.func.count(sheet.c.number).label("n_sheets"),
            sa.func.coalesce(sa.func.sum(done), 0).label("n_done"),
        )
        .outerjoin(sheet, sheet.c.ballot_id == ballot.c.id)
        .where(ballot.c.campaign_id == info.id)
        .group_by(ballot.c.id)
        .order_by(ballot.c.number)
    )
    return tuple(
        BallotProgress(
            ballot=row.number,
            state=row.state,
            n_items=row.places.count(",") + 1,  # a list of numbers, as JSON
            n_comparisons=row.n_comparisons,
            n_answered=int(row.n_answered),
            n_sheets=row.n_sheets,
            n_sheets_done=int(row.n_done),
            opened_at=time_text(row.opened_at),
            closed_at=None if row.closed_at is None else time_text(row.closed_at),
        )
        for row in rows
    )


def voter_rows(connection: sa.Connection, info: CampaignInfo, *, names: bool = False) -> tuple[VoterRow, ...]:
    """All voters, in the order in which they came.

    Parameters
    ----------
    names : bool
        Whether to give their names, which are personal data.
    """
    voter, identity = schema.voter, schema.voter_identity
    known = {
        row.key: row
        for row in connection.execute(
            sa.select(
                voter.c.key,
                voter.c.source,
                voter.c.joined_at,
                voter.c.consent_version,
                voter.c.withdrawn_at,
                identity.c.external_id,
            )
            .outerjoin(identity, identity.c.voter_id == voter.c.id)
            .where(voter.c.campaign_id == info.id)
        )
    }
    return tuple(
        VoterRow(
            key=each.key,
            name=row.external_id if names and row.source != "open" else None,
            source=row.source,
            joined_at=time_text(row.joined_at),
            consent_version=row.consent_version,
            n_comparisons=each.n_comparisons,
            n_answered=each.n_answered,
            n_votes=each.n_votes,
            last_vote=each.last_vote,
            excluded=each.excluded,
            withdrawn=row.withdrawn_at is not None,
        )
        for each in by_voter(connection, info)
        for row in (known[each.key],)
    )


def voter_of_key(connection: sa.Connection, info: CampaignInfo, key: str) -> int:
    """Id of the voter of a key; a name is none.

    Raises
    ------
    LedgerError
        Where there is no such voter.
    """
    table = schema.voter
    found = connection.execute(sa.select(table.c.id).where(table.c.campaign_id == info.id, table.c.key == key)).scalar()
    if found is None:
        raise LedgerError(f"there is no voter of the key {shown(key)}")
    return int(found)
