"""Capabilities: who holds one may vote, or organise. A token is 256 random bits; the ledger keeps only its hash."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive.ledger import schema
from adaptive.ledger.campaigns import CampaignInfo
from adaptive.ledger.encoding import now

__all__ = ["Holder", "TokenKind", "holder_of", "issue", "revoke", "revoke_of_voter"]

TokenKind: TypeAlias = Literal["organiser", "organiser session", "invitation", "session", "study"]

_FORM: Final = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 bytes in URL-safe base64


@dataclass(frozen=True)
class Holder:
    """What a token opens.

    Attributes
    ----------
    campaign_key : str
    kind : str
    voter_id : int or None
        None where the token is not a voter's.
    voter_key, consent_version : str or None
    withdrawn : bool
    """

    campaign_key: str
    kind: TokenKind
    voter_id: int | None
    voter_key: str | None
    consent_version: str | None
    withdrawn: bool


def issue(
    connection: sa.Connection,
    info: CampaignInfo,
    kind: TokenKind,
    *,
    voter_id: int | None = None,
    hours: float | None = None,
) -> str:
    """Make a token, which nobody can read again later.

    Parameters
    ----------
    kind : {"organiser", "organiser session", "invitation", "session", "study"}
    voter_id : int or None
        Whose it is.
    hours : float or None
        Time after which it opens nothing; None: never by itself.
    """
    token, at = secrets.token_urlsafe(32), now()
    row = {"hash": _hash(token), "campaign_id": info.id, "kind": kind, "voter_id": voter_id, "made_at": at}
    ends_at = None if hours is None else at + int(hours * 3_600_000_000)
    connection.execute(sa.insert(schema.token).values(**row, ends_at=ends_at))
    return token


def holder_of(connection: sa.Connection, token: str, kinds: Collection[TokenKind]) -> Holder | None:
    """What a token opens; None for one that is unknown, of another kind, revoked, or past its time.

    A hash is looked up, not the token: the time that an index takes tells nothing of a token that is close.
    """
    if not _FORM.fullmatch(token):
        return None
    row = connection.execute(_holder_statement(), {"hash": _hash(token)}).first()
    if row is None or row.kind not in kinds or row.revoked_at is not None:
        return None
    if row.ends_at is not None and row.ends_at <= now():
        return None
    return Holder(
        campaign_key=row.campaign_key,
        kind=row.kind,
        voter_id=row.voter_id,
        voter_key=row.voter_key,
        consent_version=row.consent_version,
        withdrawn=row.withdrawn_at is not None,
    )


@cache
def _holder_statement() -> sa.Select[Any]:
    table, voter, campaign = schema.token, schema.voter, schema.campaign
    return (
        sa.select(
            table.c.kind,
            table.c.voter_id,
            table.c.ends_at,
            table.c.revoked_at,
            campaign.c.key.label("campaign_key"),
            voter.c.key.label("voter_key"),
            voter.c.consent_version,
            voter.c.withdrawn_at,
        )
        .join(campaign, campaign.c.id == table.c.campaign_id)
        .outerjoin(voter, voter.c.id == table.c.voter_id)
        .where(table.c.hash == sa.bindparam("hash"))
    )


def revoke(connection: sa.Connection, token: str) -> None:
    """Let a token open nothing from now on."""
    _revoke(connection, schema.token.c.hash == _hash(token))


def revoke_of_voter(connection: sa.Connection, voter_id: int) -> None:
    """Let none of a voter's tokens open anything from now on."""
    _revoke(connection, schema.token.c.voter_id == voter_id)


def _revoke(connection: sa.Connection, which: sa.ColumnElement[bool]) -> None:
    table = schema.token
    connection.execute(sa.update(table).where(which, table.c.revoked_at.is_(None)).values(revoked_at=now()))


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
