"""Limit sheets without a first answer: how long they are held, how many per address, and when they become free.

A newcomer holds a sheet for minutes until the first answer, and only then for the lease time of the campaign. A script
that claims sheets without answering therefore blocks them only for minutes. An address that lets sheets lapse may hold
ever fewer at once. Addresses are stored as keyed hashes of 24 bits, so one hash fits hundreds of addresses. They are
deleted with the first answer, when the voter leaves, when the ballot closes, and after an hour.
"""

import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from adaptive.ledger._campaign.info import CampaignInfo
from adaptive.ledger._campaign.voting_pages import PLATFORMS, pages_of
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import clock
from adaptive.ledger._store.encoding import time_text

MINUTE: Final = 60_000_000  # microseconds
_REMEMBERED: Final = 60 * MINUTE  # how long lapsed sheets count against their address
_CLOCK_TOLERANCE: Final = 10 * MINUTE  # by which a clock may be set back without ending a lease
_DIGITS: Final = 6  # of the hash, in hexadecimal
_SWEPT: Final = 500


@dataclass(frozen=True)
class Origin:
    """The origin of a voter's request.

    Attributes
    ----------
    address : str
        An address, or a network that counts as one, such as a household's.
    most : int
        Maximum number of unanswered sheets that the voters of one address may hold at once.

    See Also
    --------
    Voter.next_sheet : Takes it.

    Examples
    --------
    >>> from adaptive.ledger import Origin
    >>> origin = Origin("192.0.2.7", most=100)
    >>> origin.address, origin.most
    ('192.0.2.7', 100)
    """

    address: str
    most: int

    def hashed(self, info: CampaignInfo) -> str:
        """Return the hash of the address, which the ledger stores."""
        key = bytes.fromhex(info.hash_key)
        return hmac.new(key, f"address {self.address}".encode(), hashlib.sha256).hexdigest()[:_DIGITS]


@dataclass(frozen=True)
class Awaited:
    """Sheets that voters hold without having answered anything on them.

    Attributes
    ----------
    n_sheets : int
    n_of_one_address : int
        The largest number held from one address; 0 if no address is known.
    back_by : str
        When the last of them becomes free unless it is answered before, in ISO 8601.
    """

    n_sheets: int
    n_of_one_address: int
    back_by: str


def has_room(connection: sa.Connection, info: CampaignInfo, origin: Origin) -> bool:
    """Return whether a voter of this address may take another sheet.

    The limit of an address is divided by one plus the number of sheets that it let lapse in the last hour, but stays at
    least one. A class can thus take a hundred sheets at once, while a script that answers nothing is soon down to one.
    """
    lease, at = schema.lease, clock(connection)
    is_held = sa.and_(lease.c.ended_at.is_(None), is_in_time(connection, info))
    has_lapsed = sa.and_(lease.c.expires_at < at, lease.c.expires_at > at - _REMEMBERED)
    n_held, n_lapsed = (sa.func.sum(sa.case((each, 1), else_=0)) for each in (is_held, has_lapsed))
    of_address = (schema.ballot.c.campaign_id == info.id, lease.c.unanswered, lease.c.address == origin.hashed(info))
    leases = sa.select(n_held, n_lapsed).join(schema.ballot, schema.ballot.c.id == lease.c.ballot_id)
    held, lapsed = connection.execute(leases.where(*of_address)).one()
    return int(held or 0) < max(1, origin.most // (1 + int(lapsed or 0)))


def lease_end(connection: sa.Connection, info: CampaignInfo, voter_id: int) -> sa.ColumnElement[int] | None:
    """Return when an answered sheet becomes free for others; None: it does not expire.

    A participant of a platform has the time that the study allows, counted from joining, because after that the
    platform sends another participant. If the participant still answers later, the limit for the first answer applies
    again.
    """
    _, pages = pages_of(connection, info.id)
    at = clock(connection)
    if pages.study_minutes is not None:
        voter = schema.voter
        study = sa.literal(int(pages.study_minutes * MINUTE), sa.BigInteger)
        ends = voter.c.joined_at + study
        soonest = at + sa.literal(int(info.settings.first_minutes * MINUTE), sa.BigInteger)
        # A voter who joined in the future joined while the clock was wrong.
        latest = sa.select(sa.case((voter.c.joined_at > at, at + study), (ends > soonest, ends), else_=soonest))
        found = connection.execute(latest.where(voter.c.id == voter_id, voter.c.source.in_(PLATFORMS))).scalar()
        if found is not None:
            return sa.literal(int(found), sa.BigInteger)
    minutes = info.settings.lease_minutes
    return None if minutes is None else at + sa.literal(int(minutes * MINUTE), sa.BigInteger)


def is_in_time(connection: sa.Connection, info: CampaignInfo) -> sa.ColumnElement[bool]:
    """Return the condition that a lease has not expired.

    One that ends later than any lease can has expired too: it was given while the clock was wrong.
    """
    _, pages = pages_of(connection, info.id)
    minutes = (info.settings.first_minutes, info.settings.lease_minutes, pages.study_minutes)
    longest = max(each for each in minutes if each is not None)
    ends, at = schema.lease.c.expires_at, clock(connection)
    latest = at + sa.literal(int(longest * MINUTE) + _CLOCK_TOLERANCE, sa.BigInteger)
    return sa.or_(ends.is_(None), ends.between(at, latest))


def first_end(connection: sa.Connection, info: CampaignInfo) -> sa.ColumnElement[int]:
    """Return when a sheet that was just claimed becomes free for others if no answer arrives."""
    minutes = min(info.settings.first_minutes, info.settings.lease_minutes or info.settings.first_minutes)
    return clock(connection) + sa.literal(int(minutes * MINUTE), sa.BigInteger)


def mark_answered(connection: sa.Connection, info: CampaignInfo, lease_id: int, voter_id: int) -> None:
    """Give a lease its full time and forget the address, now that the first answer is recorded."""
    table = schema.lease
    values = {"unanswered": False, "address": None, "expires_at": lease_end(connection, info, voter_id)}
    connection.execute(sa.update(table).where(table.c.id == lease_id).values(**values))


def awaited(connection: sa.Connection, info: CampaignInfo) -> Awaited | None:
    """Return the sheets held without an answer now; None if all have answers."""
    lease = schema.lease
    joined = lease.join(schema.ballot, schema.ballot.c.id == lease.c.ballot_id)
    counts = sa.select(lease.c.address, sa.func.count(), sa.func.max(lease.c.expires_at)).select_from(joined)
    rows = connection.execute(counts.where(*held_unanswered(connection, info)).group_by(lease.c.address)).all()
    if not rows:
        return None
    most = max((number for address, number, _ in rows if address is not None), default=0)
    return Awaited(sum(row[1] for row in rows), most, time_text(max(row[2] for row in rows)))


def forget_addresses(connection: sa.Connection, info: CampaignInfo, ballot_id: int | None = None) -> None:
    """Delete the hashes of addresses that are no longer needed: all older than an hour, or all of a ballot."""
    lease, ballot = schema.lease, schema.ballot
    wanted = (
        sa.select(lease.c.id)
        .join(ballot, ballot.c.id == lease.c.ballot_id)
        .where(lease.c.address.is_not(None), ballot.c.campaign_id == info.id)
    )
    if ballot_id is None:
        # Skip rows that another claim is deleting, so that the two cannot deadlock.
        wanted = wanted.where(lease.c.expires_at < clock(connection) - _REMEMBERED).limit(_SWEPT)
        wanted = wanted.with_for_update(of=lease, skip_locked=True)
    else:
        wanted = wanted.where(lease.c.ballot_id == ballot_id)
    if ids := connection.execute(wanted).scalars().all():
        connection.execute(sa.update(lease).where(lease.c.id.in_(ids)).values(address=None))


def held_unanswered(connection: sa.Connection, info: CampaignInfo) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions that a lease is in force and has no answer yet."""
    lease, ballot = schema.lease, schema.ballot
    is_in_force = (lease.c.ended_at.is_(None), is_in_time(connection, info))
    return ballot.c.campaign_id == info.id, ballot.c.state == "open", lease.c.unanswered, *is_in_force
