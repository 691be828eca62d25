"""Voters one by one, with what is known of each."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.encoding import time_text
from adaptive.ledger.errors import NoVoterError
from adaptive.ledger.status import by_voter
from rankcorr.checks import shown

__all__ = ["VoterRow", "voter_of_key", "voter_rows"]


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
    NoVoterError
        Where there is no such voter.
    """
    table = schema.voter
    found = connection.execute(sa.select(table.c.id).where(table.c.campaign_id == info.id, table.c.key == key)).scalar()
    if found is None:
        raise NoVoterError(f"there is no voter of the key {shown(key)}")
    return int(found)
