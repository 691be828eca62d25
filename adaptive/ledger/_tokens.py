"""Access tokens: 256 random bits that let their holder vote or organise; the ledger keeps only their hash."""

import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import sqlalchemy as sa

from adaptive.ledger._campaign.transaction import OpenCampaign, Transaction
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import now, sha256_of, time_text
from adaptive.ledger.errors import LedgerError

TokenKind: TypeAlias = Literal["organiser", "organiser session", "invitation", "session", "study"]

# Kinds that are listed; the sessions of voters' browsers end with their invitation.
_LISTED: Final[tuple[TokenKind, ...]] = ("organiser", "organiser session", "invitation", "study")
_ID_LENGTH: Final = 16  # characters of the hash, which distinguish the tokens of a campaign without revealing them
_FORM: Final = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 bytes in URL-safe base64
_HOLDER: Final = (
    sa.select(
        *(schema.campaign.c.key, schema.token.c.kind, schema.token.c.voter_id),
        *(schema.voter.c.key, schema.voter.c.consent_version),
        sa.func.coalesce(schema.voter.c.withdrawn_at.is_not(None), sa.false()),
        schema.token.c.ends_at,
    )
    .join(schema.campaign, schema.campaign.c.id == schema.token.c.campaign_id)
    .outerjoin(schema.voter, schema.voter.c.id == schema.token.c.voter_id)
    .where(schema.token.c.hash == sa.bindparam("hash"), schema.token.c.revoked_at.is_(None))
)


@dataclass(frozen=True)
class Holder:
    """The access that a token gives.

    Attributes
    ----------
    campaign_key : str
    kind : str
    voter_id : int or None
        None if the token does not belong to a voter.
    voter_key, consent_version : str or None
        Random key of the voter, and version of the consent text that the voter agreed to.
    withdrawn : bool

    See Also
    --------
    Campaign.tokens : Issues tokens, and finds their holders.
    TokenRow : A token in a list.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> holder = campaign.tokens.holder(session, "session")
    >>> holder.kind, holder.voter_id == voter.id, holder.consent_version
    ('session', True, '1')
    >>> ledger.close()
    """

    campaign_key: str
    kind: TokenKind
    voter_id: int | None
    voter_key: str | None
    consent_version: str | None
    withdrawn: bool


@dataclass(frozen=True)
class TokenRow:
    """An issued token.

    Attributes
    ----------
    id : str
        The first characters of its hash.
    kind : {"organiser", "organiser session", "invitation", "study"}
    voter, name : str or None
        Random key and name of the invited voter; the name is None if it was erased or not requested.
    made_at : str
        ISO 8601.
    ends_at, revoked_at : str or None
    is_valid : bool
        Whether it gives access now.

    See Also
    --------
    Campaign.tokens : Its method `rows` lists tokens.
    Holder : The access that a token gives.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> token = campaign.tokens.issue("organiser")
    >>> n_listed, rows = campaign.tokens.rows()
    >>> n_listed, rows[0].kind, rows[0].is_valid, rows[0].revoked_at
    (1, 'organiser', True, None)
    >>> ledger.close()
    """

    id: str
    kind: TokenKind
    voter: str | None
    name: str | None
    made_at: str
    ends_at: str | None
    revoked_at: str | None
    is_valid: bool


def issue(transaction: Transaction, kind: TokenKind, *, voter_id: int | None = None, hours: float | None = None) -> str:
    """Make a token, which cannot be retrieved later.

    Parameters
    ----------
    kind : {"organiser", "organiser session", "invitation", "session", "study"}
    voter_id : int or None
        The voter who holds the token.
    hours : float or None
        Hours until it expires; None if it does not expire.
    """
    token, at = secrets.token_urlsafe(32), now()
    row = {"hash": sha256_of(token), "campaign_id": transaction.info.id, "kind": kind, "voter_id": voter_id}
    ends_at = None if hours is None else at + int(hours * 3_600_000_000)
    transaction.execute(sa.insert(schema.token).values(**row, made_at=at, ends_at=ends_at))
    return token


def holder_of(transaction: Transaction, token: str, kinds: Collection[TokenKind]) -> Holder | None:
    """Return the access that a token gives; None if it is unknown, of another kind, revoked or expired.

    The index holds hashes, so the time of a lookup reveals nothing about similar tokens.
    """
    if not _FORM.fullmatch(token):
        return None
    row = transaction.execute(_HOLDER, {"hash": sha256_of(token)}).first()
    if row is None or row.kind not in kinds or (row.ends_at is not None and row.ends_at <= now()):
        return None
    return Holder(*row[:-1])


def voter_of_session(transaction: Transaction, token: str) -> int | None:
    """Return the id of the voter of a session's token, even if it was revoked or has expired; None if unknown."""
    if not _FORM.fullmatch(token):
        return None
    table = schema.token
    of_session = (table.c.hash == sha256_of(token), table.c.kind == "session", transaction.of_campaign(table))
    voter_id: int | None = transaction.scalar(sa.select(table.c.voter_id).where(*of_session))
    return voter_id


def token_rows(
    transaction: Transaction, *, start: int = 0, most: int = 200, names: bool = False
) -> tuple[int, tuple[TokenRow, ...]]:
    """Return the tokens of `Tokens.rows`."""
    table, voter, identity = schema.token, schema.voter, schema.voter_identity
    listed = (transaction.of_campaign(table), table.c.kind.in_(_LISTED))
    joined = table.outerjoin(voter, voter.c.id == table.c.voter_id).outerjoin(identity)
    query = sa.select(table, voter.c.key, identity.c.external_id).select_from(joined).where(*listed)
    rows = transaction.execute(query.order_by(table.c.id.desc()).offset(start).limit(most))
    at = now()
    return transaction.count(table, *listed), tuple(
        TokenRow(
            id=row.hash[:_ID_LENGTH],
            kind=row.kind,
            voter=row.key,
            name=row.external_id if names else None,
            made_at=time_text(row.made_at),
            ends_at=None if row.ends_at is None else time_text(row.ends_at),
            revoked_at=None if row.revoked_at is None else time_text(row.revoked_at),
            is_valid=row.revoked_at is None and (row.ends_at is None or row.ends_at > at),
        )
        for row in rows
    )


def revoke(transaction: Transaction, condition: sa.ColumnElement[bool]) -> None:
    """Revoke the tokens that meet a condition."""
    table = schema.token
    transaction.execute(sa.update(table).where(condition, table.c.revoked_at.is_(None)).values(revoked_at=now()))


def revoke_listed(transaction: Transaction, token_id: str, *, mine: str = "") -> bool:
    """Revoke a token; see `Tokens.revoke_listed`."""
    table = schema.token
    transaction.lock_campaign()  # otherwise two simultaneous calls could revoke the last two tokens
    of_campaign = transaction.of_campaign(table)
    has_id = sa.func.substr(table.c.hash, 1, _ID_LENGTH) == token_id
    row = transaction.execute(sa.select(table).where(of_campaign, table.c.kind.in_(_LISTED), has_id)).first()
    if row is None:
        return False
    if row.revoked_at is not None:
        return True
    if row.kind == "organiser":
        is_valid = (of_campaign, table.c.kind == "organiser", table.c.revoked_at.is_(None))
        if transaction.count(table, *is_valid) == 1:
            raise LedgerError("this is the last token of an organiser: make another one first")
        revoke(transaction, sa.and_(of_campaign, table.c.kind == "organiser session", table.c.hash != sha256_of(mine)))
    elif row.kind == "invitation":
        revoke(transaction, sa.and_(table.c.voter_id == row.voter_id, table.c.kind == "session"))
    revoke(transaction, table.c.id == row.id)
    transaction.audit("revoked", {"kind": row.kind, "token": token_id}, voter_id=row.voter_id)
    return True


@dataclass(frozen=True, eq=False)
class Tokens(OpenCampaign):
    """The tokens of a campaign; each step is one transaction."""

    def issue(self, kind: TokenKind, *, hours: float | None = None) -> str:
        """Make a token that does not belong to a voter and cannot be retrieved later.

        Parameters
        ----------
        kind : {"organiser", "organiser session", "study"}
        hours : float or None
            Hours until it expires; None if it does not expire.
        """
        return self.write(issue, kind, hours=hours)

    def holder(self, token: str, kind: TokenKind) -> Holder | None:
        """Return the access that a token gives in this campaign; None if it gives none or its voter has left."""
        holder = self.look_up(holder_of, token, (kind,))
        return None if holder is None or holder.campaign_key != self.info.key or holder.withdrawn else holder

    def revoke(self, token: str) -> None:
        """Revoke a token."""
        self.write(revoke, schema.token.c.hash == sha256_of(token))

    def revoke_listed(self, token_id: str, *, mine: str = "") -> bool:
        """Revoke a token of `rows`; return False if the id is unknown.

        Revoking a token of an organiser also ends the sessions of all organisers' browsers. Revoking an invitation also
        ends the sessions of its voter, because the link may have been used. The row is kept, and the action is
        recorded.

        Parameters
        ----------
        mine : str
            Token of the caller's session, which stays valid.

        Raises
        ------
        LedgerError
            It is the last token of an organiser.
        """
        return self.write(revoke_listed, token_id, mine=mine)

    def rows(self, *, start: int = 0, most: int = 200, names: bool = False) -> tuple[int, tuple[TokenRow, ...]]:
        """Return the number of tokens of organisers, invitations and studies, and a page of them, latest first.

        Parameters
        ----------
        names : bool
            Whether to include the names of invited voters, which are personal data.
        """
        return self.read(token_rows, start=start, most=most, names=names)
