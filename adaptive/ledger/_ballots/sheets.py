"""Lease sheets to voters: record who holds which sheet and until when, and let others take sheets over.

A lease ends when the sheet is done, when the sheet is given to another voter, or when its voter leaves. An expired
lease, or that of an excluded voter, remains valid until another voter claims the sheet, so a slow voter loses nothing.
`fence` counts the leases of a sheet.

A voter gets no pair twice, and practice first. If the voter has answered a pair on every free sheet, the voter gets the
sheet with the most other pairs. Its remaining pairs stay open for somebody else.
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from adaptive.ledger._ballots.pairs import (
    CurrentAnswer,
    OpenPairs,
    Sheet,
    ShownPair,
    are_not_dropped,
    current_answers,
    dropped_sheets,
    has_asked_pair,
    open_pairs,
    shown_pairs,
)
from adaptive.ledger._campaign.content import PLATFORMS
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import now
from adaptive.ledger.errors import LedgerError

MINUTE: Final = 60_000_000  # microseconds
_REMEMBERED: Final = 60 * MINUTE  # how long lapsed sheets count against their address
_CLOCK_TOLERANCE: Final = 10 * MINUTE  # a clock may be set back by this much without ending a lease
_DIGITS: Final = 6  # hexadecimal digits of a stored hash
_SWEPT: Final = 500  # largest number of addresses that one claim deletes
_RENEWED_BELOW: Final = 0.9  # share of the lease time below which a vote renews it; saves a write for most votes
_FIRST_SHEETS: Final = 2  # read first; the voter usually gets one of them
_SHEET_ORDER: Final = (
    schema.ballot.c.number,
    schema.sheet.c.n_answered + schema.sheet.c.n_checked == 0,
    schema.sheet.c.number,
)
_IS_CLAIMED: Final = sa.and_(schema.IS_HELD, schema.lease.c.exclusive)
# The sheet that a ``voter`` has claimed, and the unfinished ones of a ``campaign`` that voters have begun to answer.
_CLAIMED: Final = (
    sa.select(
        *(schema.lease.c.id, schema.lease.c.ballot_id, schema.ballot.c.number, schema.lease.c.sheet),
        *(schema.lease.c.expires_at, (schema.ballot.c.state == "closed").label("is_closed")),
    )
    .select_from(schema.LEASES)
    .where(schema.lease.c.voter_id == sa.bindparam("voter"), _IS_CLAIMED)
)
_BEGUN: Final = (
    sa.select(schema.lease.c.id, schema.lease.c.ballot_id, schema.lease.c.sheet, schema.lease.c.voter_id, schema.N_LEFT)
    .select_from(schema.lease.join(schema.sheet).join(schema.ballot))
    .where(schema.ballot.c.campaign_id == sa.bindparam("campaign"), schema.ballot.c.state == "open")
    .where(_IS_CLAIMED, ~schema.lease.c.unanswered, schema.IS_UNFINISHED)
)


@dataclass(frozen=True)
class Origin:
    """The origin of a voter's request.

    Attributes
    ----------
    address : str
        Address, or network that counts as one address, such as that of a household.
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

    def hash_address(self, info: CampaignInfo) -> str:
        """Return the hash of the address, which the ledger stores."""
        key = bytes.fromhex(info.hash_key)
        return hmac.new(key, f"address {self.address}".encode(), hashlib.sha256).hexdigest()[:_DIGITS]


def has_room(transaction: Transaction, origin: Origin) -> bool:
    """Return whether a voter of this address may take another sheet.

    The limit of an address is divided by one plus the number of its sheets that lapsed in the last hour, but is at
    least one. A school class can thus take a hundred sheets at once, while a script that answers nothing soon gets only
    one.
    """
    lease, at = schema.lease, transaction.clock()
    is_held = sa.and_(schema.IS_HELD, is_in_time(transaction))
    has_lapsed = sa.and_(lease.c.expires_at < at, lease.c.expires_at > at - _REMEMBERED)
    n_held, n_lapsed = (sa.func.sum(sa.case((condition, 1), else_=0)) for condition in (is_held, has_lapsed))
    of_address = (
        transaction.of_campaign(schema.ballot),
        lease.c.unanswered,
        lease.c.address == origin.hash_address(transaction.info),
    )
    leases = sa.select(n_held, n_lapsed).select_from(schema.LEASES)
    n_current, n_past = transaction.execute(leases.where(*of_address)).one()  # sums of no rows are None
    return (n_current or 0) < max(1, origin.most // (1 + (n_past or 0)))


def lease_end(transaction: Transaction, voter_id: int) -> sa.ColumnElement[int] | None:
    """Return when a sheet with answers becomes free for others; None if it does not expire.

    A participant of a platform has the time that the study allows, counted from joining, because afterwards the
    platform sends another participant. If the participant still answers later, the limit for the first answer applies
    again.
    """
    at, study_minutes = transaction.clock(), transaction.current_pages.study_minutes
    if study_minutes is not None:
        voter, study = schema.voter, _microseconds(study_minutes)
        ends, soonest = voter.c.joined_at + study, at + _microseconds(transaction.info.settings.first_minutes)
        # A voter who joined in the future joined while the clock was wrong.
        latest = sa.select(sa.case((voter.c.joined_at > at, at + study), (ends > soonest, ends), else_=soonest))
        ends_at = transaction.scalar(latest.where(voter.c.id == voter_id, voter.c.source.in_(PLATFORMS)))
        if ends_at is not None:
            return sa.literal(int(ends_at), sa.BigInteger)
    minutes = transaction.info.settings.lease_minutes
    return None if minutes is None else at + _microseconds(minutes)


def _microseconds(minutes: float) -> sa.ColumnElement[int]:
    return sa.literal(int(minutes * MINUTE), sa.BigInteger)


def is_in_time(transaction: Transaction) -> sa.ColumnElement[bool]:
    """Return the condition that a lease has not expired.

    A lease that ends impossibly late was given while the clock was wrong, and counts as expired, too. So does that of
    an excluded voter, because others must answer the pairs that are left on the sheet.
    """
    settings = transaction.info.settings
    limits = (settings.first_minutes, settings.lease_minutes, transaction.current_pages.study_minutes)
    longest = max(limit for limit in limits if limit is not None)
    is_in_force = _is_between(transaction.clock(), int(longest * MINUTE) + _CLOCK_TOLERANCE)
    excluded = transaction.excluded_at_start
    return sa.and_(is_in_force, schema.lease.c.voter_id.not_in(excluded)) if excluded else is_in_force


@lru_cache(maxsize=64)
def _is_between(at: sa.ColumnElement[int], microseconds: int) -> sa.ColumnElement[bool]:
    ends = schema.lease.c.expires_at
    return sa.or_(ends.is_(None), ends.between(at, at + sa.literal(microseconds, sa.BigInteger)))


def mark_answered(transaction: Transaction, lease_id: int, voter_id: int) -> None:
    """Extend a lease to its full time and delete the address, once the first answer other than practice is recorded."""
    _update_lease(transaction, lease_id, unanswered=False, address=None, expires_at=lease_end(transaction, voter_id))


def renew_after_vote(transaction: Transaction, comparison: Any, voter_id: int) -> None:
    """Restart the lease of a sheet after a vote on it; `comparison` is a row of `casting.locked_state`.

    An answer to practice restarts only the time for the first answer, so that visitors who try the page hold no sheet.
    """
    if comparison.unanswered and (comparison.scored or comparison.checked):
        mark_answered(transaction, comparison.lease_id, voter_id)
    elif comparison.unanswered:
        _update_lease(transaction, comparison.lease_id, expires_at=_first_end(transaction))
    elif comparison.remaining is not None:
        minutes = transaction.info.settings.lease_minutes
        length = 0 if minutes is None else int(minutes * MINUTE)  # None with an end: the lease time of a study
        if not _RENEWED_BELOW * length < comparison.remaining <= length:
            _update_lease(transaction, comparison.lease_id, expires_at=lease_end(transaction, voter_id))


def _update_lease(transaction: Transaction, lease_id: int, **values: Any) -> None:
    table = schema.lease
    transaction.execute(sa.update(table).where(table.c.id == lease_id).values(**values))


def _first_end(transaction: Transaction) -> sa.ColumnElement[int]:
    """Return when a sheet without answers becomes free for others."""
    settings = transaction.info.settings
    minutes = min(settings.first_minutes, settings.lease_minutes or settings.first_minutes)
    return transaction.clock() + _microseconds(minutes)


def forget_addresses(transaction: Transaction, ballot_id: int | None = None) -> None:
    """Delete hashes of addresses that are no longer needed: those older than an hour, or those of one ballot."""
    lease, ballot = schema.lease, schema.ballot
    has_address = (lease.c.address.is_not(None), transaction.of_campaign(ballot))
    query = sa.select(lease.c.id).select_from(schema.LEASES).where(*has_address)
    if ballot_id is None:
        # Skip rows that another claim is deleting, so that the two cannot deadlock.
        query = query.where(lease.c.expires_at < transaction.clock() - _REMEMBERED).limit(_SWEPT)
        query = query.with_for_update(of=lease, skip_locked=True)
    else:
        query = query.where(lease.c.ballot_id == ballot_id)
    if ids := transaction.execute(query).scalars().all():
        transaction.execute(sa.update(lease).where(lease.c.id.in_(ids)).values(address=None))


def held_unanswered(transaction: Transaction) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions that a lease is in force and has no answer yet."""
    lease, ballot = schema.lease, schema.ballot
    is_in_force = (schema.IS_HELD, is_in_time(transaction))
    return transaction.of_campaign(ballot), ballot.c.state == "open", lease.c.unanswered, *is_in_force


@dataclass(frozen=True)
class VoterSheet:
    """A sheet that a voter holds.

    Attributes
    ----------
    number, sheet : int
        Ballot, counted from 1, and sheet in it, counted from 0.
    expires_at : int or None
        Microseconds since 1970; None if the lease does not expire.
    pairs : tuple of ShownPair
        Pairs for this voter: without practice if the voter has practised or voted on another sheet, and without pairs
        that another holder of the sheet answered or that the voter was asked on another sheet.
    answers : dict of int to CurrentAnswer
        Answers of this voter, by position.

    See Also
    --------
    Voter.next_sheet : Returns it.
    ShownPair : The type of its pairs.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, CampaignSettings, VotingPages
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger, pages = Ledger.in_memory(), VotingPages(open_link=True)
    >>> campaign = ledger.new_campaign(plan, 4, 2, seed=1, settings=CampaignSettings(assigned=False, sheet_size=2))
    >>> n_opened = campaign.open_next()
    >>> voter, session = campaign.voters.join(pages, consent="1", hours=1)
    >>> sheet = voter.next_sheet(pages).sheet
    >>> sheet.number, sheet.sheet, len(sheet.pairs), len(sheet.missing)
    (1, 0, 2, 2)
    >>> ledger.close()
    """

    number: int
    sheet: int
    expires_at: int | None
    pairs: tuple[ShownPair, ...]
    answers: Mapping[int, CurrentAnswer]

    @property
    def missing(self) -> tuple[ShownPair, ...]:
        """Pairs without an answer."""
        return tuple(pair for pair in self.pairs if pair.position not in self.answers)


def give_sheet(transaction: Transaction, ballot_id: int, sheet: int, voter_id: int) -> int:
    """Give a sheet to a voter, late or in place of another voter, and return the id of the lease.

    Raises
    ------
    LedgerError
        If the ballot is not open or does not have the sheet, if the whole sheet is answered, or if the voter has
        withdrawn, already holds the sheet, or was already asked one of its pairs.
    """
    transaction.lock_ballot(ballot_id, exclusive=False)  # waits while a file of votes is checked against its leases
    table = schema.sheet
    query = sa.select(schema.IS_UNFINISHED).where(table.c.ballot_id == ballot_id, table.c.number == sheet)
    is_unfinished = transaction.scalar(query.with_for_update(key_share=True))
    if is_unfinished is None:
        raise LedgerError(f"the ballot has no sheet {sheet + 1}")
    if transaction.ballot_state(ballot_id) == "closed":
        raise LedgerError("the ballot is closed: its sheets cannot be given to another voter")
    _check_present(transaction, voter_id)
    if not is_unfinished:
        raise LedgerError(f"sheet {sheet + 1} is already answered, so it cannot be given away")
    lease = _lease_of(transaction, ballot_id, sheet)
    if lease is not None and lease.voter_id == voter_id:
        raise LedgerError(f"sheet {sheet + 1} already belongs to this voter")
    if has_asked_pair(transaction, (ballot_id, sheet), voter_id):
        scope = "ballot" if transaction.info.mode == "ballots" else "campaign"
        raise LedgerError(
            f"sheet {sheet + 1} has a pair that this voter has already seen in this {scope}; give it to another voter "
            "or to a new one"
        )
    if lease is not None:
        _end_lease(transaction, lease.id, "reassigned")
    lease_id = _insert_lease(transaction, ballot_id, sheet, voter_id, exclusive=False)
    transaction.audit("assigned", {"sheet": sheet}, ballot_id=ballot_id, voter_id=voter_id)
    return lease_id


def claim_sheet(
    transaction: Transaction,
    voter_id: int,
    origin: Origin | None = None,
    *,
    is_batch_due: Callable[[], bool] = lambda: False,
) -> VoterSheet | None:
    """Lease the next sheet to a voter who asks for one, or return None if nothing is left for that voter.

    A voter gets the same sheet again until it is done. The next sheet is free, or its lease has expired. If possible,
    it has no pair that the voter was already asked in the same ballot or, in a continuous campaign, in any batch.
    Otherwise the voter gets a sheet with some new pairs, unless a batch is due, whose sheets will have only new ones.
    Sheets with answers are given first. New voters get a sheet with practice while any is left. A sheet has no practice
    if its comparisons are the practice pairs, or if a voter did its practice and then left. A sheet without an answer
    is held only for `first_minutes`; an answer to practice restarts that time, and asking again does not extend it.
    """
    _check_present(transaction, voter_id)  # two simultaneous requests of a voter get one sheet: the second waits here
    current = lease_of_voter(transaction, voter_id)
    if current is not None:
        sheet = current.ballot_id, current.sheet
        is_done = not open_pairs(transaction, [sheet], voter_id)[sheet].places
        if not is_done and not current.is_closed:
            renew_lease(transaction, voter_id)
            return sheet_of_voter(transaction, voter_id)
        _end_lease(transaction, current.id, "done" if is_done else "closed")
    practice = unused_practice(transaction.info)
    if practice is not None and has_begun(transaction, voter_id):
        practice = None
    # Try sheets that no other transaction has locked first; if all are locked, wait for one to be released.
    partial: dict[Sheet, int] = {}
    for waits in (False, True):
        for sheet, pairs in _sheets_for(transaction, voter_id, practice, locks=not waits):
            if pairs.hidden:
                partial[sheet] = len(pairs.places)
            elif _claim_if_free(transaction, sheet, voter_id, origin, waits=waits):
                return sheet_of_voter(transaction, voter_id)
    if is_batch_due():
        return None
    for sheet, lease_id in _stalled_sheets_for(transaction, voter_id).items():
        if _lock_sheet(transaction, sheet, waits=True):
            _end_lease(transaction, lease_id, "done")
            partial[sheet] = len(open_pairs(transaction, [sheet], voter_id)[sheet].places)
    for waits in (False, True):
        for sheet in sorted(partial, key=lambda sheet: -partial[sheet]):
            if _claim_if_free(transaction, sheet, voter_id, origin, waits=waits):
                return sheet_of_voter(transaction, voter_id)
    return None


def _stalled_sheets_for(transaction: Transaction, voter_id: int | None) -> dict[Sheet, int]:
    """Return the sheets whose holder can answer no more pairs but this voter can, with the ids of their leases."""
    rows = _stalled_sheets(transaction)
    open_to_voter = open_pairs(transaction, list(rows), voter_id)
    return {sheet: row.id for sheet, row in rows.items() if open_to_voter[sheet].places}


def _stalled_sheets(transaction: Transaction) -> dict[Sheet, Any]:
    """Return the unfinished sheets whose holder can answer no more pairs, and has not asked for another sheet yet.

    Each row has the id of the lease, and the number of unanswered comparisons, without checks.
    """
    leases = transaction.execute(_BEGUN, {"campaign": transaction.info.id})
    rows = {(row.ballot_id, row.sheet): row for row in leases}
    return {at: row for at, row in rows.items() if not open_pairs(transaction, [at], row.voter_id)[at].places}


def _claim_if_free(
    transaction: Transaction, sheet: Sheet, voter_id: int, origin: Origin | None, *, waits: bool
) -> bool:
    """Lease a sheet to a voter unless another transaction locks or leases it."""
    if not _lock_sheet(transaction, sheet, waits=waits):
        return False
    lease = _lease_of(transaction, *sheet)  # another request may have leased it before the lock was taken
    if lease is not None and not lease.expired:
        return False
    if sheet in dropped_sheets(transaction):
        return False
    if lease is not None:
        _end_lease(transaction, lease.id, "expired")
    address = None if origin is None else origin.hash_address(transaction.info)
    ends = _first_end(transaction)
    _insert_lease(transaction, *sheet, voter_id, exclusive=True, expires_at=ends, unanswered=True, address=address)
    forget_addresses(transaction)  # after the sheet's lock, as a vote does, to avoid a deadlock
    return True


def renew_lease(transaction: Transaction, voter_id: int) -> Any:
    """Restart the lease of a voter's sheet if an answer arrived within its time; a request alone does not extend it.

    Raises
    ------
    LedgerError
        If the voter has withdrawn.
    """
    _check_present(transaction, voter_id)
    table, event, comparison = schema.lease, schema.vote_event, schema.comparison
    minutes = transaction.info.settings.lease_minutes or transaction.info.settings.first_minutes
    since = transaction.clock() - _microseconds(minutes)
    is_recent = (event.c.voter_id == voter_id, event.c.kind == "cast", event.c.received_at >= since)
    answers = sa.select(sa.literal(1)).select_from(event.join(comparison)).where(schema.LEASED_TO, *is_recent)
    answered = answers.correlate(table).exists()
    conditions = (table.c.voter_id == voter_id, schema.IS_HELD, table.c.exclusive, ~table.c.unanswered)
    ends = lease_end(transaction, voter_id)
    transaction.execute(sa.update(table).where(*conditions, answered).values(expires_at=ends))
    return lease_of_voter(transaction, voter_id)


def lease_of_voter(transaction: Transaction, voter_id: int) -> Any:
    """Return the lease of the sheet that a voter has claimed and not finished, with the columns of `_CLAIMED`."""
    return transaction.execute(_CLAIMED, {"voter": voter_id}).first()


def sheet_of_voter(transaction: Transaction, voter_id: int) -> VoterSheet | None:
    """Return the sheet that a voter holds, with the pairs and answers that the voter sees."""
    lease = lease_of_voter(transaction, voter_id)
    if lease is None or lease.is_closed:
        return None
    pairs = shown_pairs(transaction, lease.number, lease.sheet)
    answers = current_answers(transaction, lease.ballot_id, [pair.place for pair in pairs])
    here = lease.ballot_id, lease.sheet
    hidden = open_pairs(transaction, [here], voter_id)[here].hidden
    if any(pair.is_practice for pair in pairs) and has_begun(transaction, voter_id, besides=here):
        pairs = tuple(pair for pair in pairs if not pair.is_practice)
    of_voter = {pair.position: answers[pair.place] for pair in pairs if pair.place in answers}
    of_voter = {position: answer for position, answer in of_voter.items() if answer.voter_id == voter_id}
    closed = {*answers, *hidden}
    pairs = tuple(pair for pair in pairs if pair.position in of_voter or pair.place not in closed)
    return VoterSheet(lease.number, lease.sheet, lease.expires_at, pairs, of_voter)


def is_sheet_left(transaction: Transaction, voter_id: int | None) -> bool:
    """Return whether this voter, or a new one, could claim a sheet, without locking or changing anything."""
    return any(_sheets_for(transaction, voter_id)) or bool(_stalled_sheets_for(transaction, voter_id))


def n_unanswered_for(transaction: Transaction, voter_id: int) -> int:
    """Return the number of unanswered pairs, including checks, on free sheets with only new pairs for this voter."""
    sheets = [(row.ballot_id, row.number) for row in transaction.execute(_free_sheets(transaction))]
    return sum(len(pairs.places) for pairs in open_pairs(transaction, sheets, voter_id).values() if not pairs.hidden)


def free_remainders(transaction: Transaction) -> dict[Sheet, int]:
    """Return the number of unanswered comparisons, without checks, on each free sheet that has some.

    A sheet whose holder may be asked none of its comparisons is free, too.
    """
    rows = transaction.execute(_free_sheets(transaction).add_columns(schema.N_LEFT))
    free = {(row.ballot_id, row.number): row.n_left for row in rows if row.n_left}
    return free | {sheet: row.n_left for sheet, row in _stalled_sheets(transaction).items() if row.n_left}


def lock_remainders(transaction: Transaction, remainders: Mapping[Sheet, int]) -> bool:
    """Lock free sheets and end their leases; False if the numbers of unanswered comparisons have changed."""
    for sheet in sorted(remainders):
        _lock_sheet(transaction, sheet, waits=True)
    now_left = free_remainders(transaction) if remainders else {}
    if any(now_left.get(sheet) != number for sheet, number in remainders.items()):
        return False
    for sheet in remainders:
        lease = _lease_of(transaction, *sheet)
        if lease is not None:
            _end_lease(transaction, lease.id, "expired" if lease.expired else "done")
    return True


def _check_present(transaction: Transaction, voter_id: int) -> None:
    """Lock the voter's row, and raise LedgerError if the voter does not exist or has withdrawn."""
    voter = schema.voter
    query = sa.select(voter.c.withdrawn_at).where(voter.c.id == voter_id).with_for_update(key_share=True)
    row = transaction.execute(query).first()
    if row is None:
        raise LedgerError(f"there is no voter {voter_id}")
    if row.withdrawn_at is not None:
        raise LedgerError("the voter has withdrawn: no sheet is given out")


def _lease_of(transaction: Transaction, ballot_id: int, sheet: int) -> Any:
    """Return the open lease of a sheet, and whether it has expired."""
    table = schema.lease
    expired = (~is_in_time(transaction)).label("expired")
    is_open = (table.c.ballot_id == ballot_id, table.c.sheet == sheet, schema.IS_HELD)
    return transaction.execute(sa.select(table.c.id, table.c.voter_id, expired).where(*is_open)).first()


def _end_lease(transaction: Transaction, lease_id: int, reason: str) -> None:
    _update_lease(transaction, lease_id, ended_at=now(), end_reason=reason)


def _insert_lease(transaction: Transaction, ballot_id: int, sheet: int, voter_id: int, **columns: Any) -> int:
    table = schema.lease
    of_sheet = (table.c.ballot_id == ballot_id, table.c.sheet == sheet)
    last = transaction.scalar(sa.select(sa.func.max(table.c.fence)).where(*of_sheet))
    values = {"ballot_id": ballot_id, "sheet": sheet, "voter_id": voter_id, "fence": (last or 0) + 1}
    lease = sa.insert(table).values(**values, **columns, given_at=now())
    return int(transaction.scalar(lease.returning(table.c.id)))


def _sheets_for(
    transaction: Transaction, voter_id: int | None, practice: sa.Subquery | None = None, *, locks: bool = False
) -> Iterator[tuple[Sheet, OpenPairs]]:
    """Yield the free sheets with a pair that a voter may be asked, in the order of assignment, reading rows as needed.

    If the voter needs practice, sheets with the most unused practice come first. With `locks`, each sheet is locked,
    and sheets that another transaction has locked are skipped. Otherwise simultaneous requests would all compete for
    the same sheets.
    """
    query = _free_sheets(transaction, practice).limit(sa.bindparam("most", type_=sa.Integer))
    if locks:
        query = query.with_for_update(of=schema.sheet, key_share=True, skip_locked=True)
    earlier_sheets: set[Sheet] = set()
    most = _FIRST_SHEETS
    while True:
        rows = [(row.ballot_id, row.number) for row in transaction.execute(query, {"most": most})]
        fresh = [sheet for sheet in rows if sheet not in earlier_sheets]
        for sheet, pairs in open_pairs(transaction, fresh, voter_id).items():
            if pairs.places:
                yield sheet, pairs
        if len(rows) < most:
            return
        earlier_sheets.update(fresh)
        most *= 8


def _lock_sheet(transaction: Transaction, sheet: Sheet, *, waits: bool) -> bool:
    """Lock a sheet, and return whether it is unfinished; without `waits`, False if another transaction holds it."""
    table = schema.sheet
    is_it = (table.c.ballot_id == sheet[0], table.c.number == sheet[1])
    query = sa.select(table.c.number).where(*is_it, schema.IS_UNFINISHED)
    return transaction.execute(query.with_for_update(key_share=True, skip_locked=not waits)).first() is not None


def _free_sheets(transaction: Transaction, practice: sa.Subquery | None = None) -> sa.Select[Any]:
    """Return free, unfinished sheets by ballot id and number, those with answers first.

    If practice is given, sheets with the most unused practice come before all others.
    """
    sheet = schema.sheet
    free = _free_statement(transaction.info.id, is_leased(transaction))
    if not_dropped := are_not_dropped(transaction):
        free = free.where(*not_dropped)
    if practice is not None:
        of_sheet = sa.and_(practice.c.ballot_id == sheet.c.ballot_id, practice.c.sheet == sheet.c.number)
        most_practice = sa.func.coalesce(practice.c.number, 0).desc()
        free = free.outerjoin(practice, of_sheet).order_by(None).order_by(most_practice, *_SHEET_ORDER)
    return free


@lru_cache(maxsize=64)
def _free_statement(campaign_id: int, is_sheet_leased: sa.ColumnElement[bool]) -> sa.Select[Any]:
    sheet, ballot = schema.sheet, schema.ballot
    free = sa.select(sheet.c.ballot_id, sheet.c.number).select_from(schema.SHEETS)
    is_open = (ballot.c.campaign_id == campaign_id, ballot.c.state == "open")
    return free.where(*is_open, schema.IS_UNFINISHED, ~is_sheet_leased).order_by(*_SHEET_ORDER)


def is_leased(transaction: Transaction) -> sa.ColumnElement[bool]:
    """Return the condition that a sheet has a lease that has not expired."""
    return _has_lease(is_in_time(transaction))


@lru_cache(maxsize=64)
def _has_lease(is_lease_in_time: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    return sa.exists().where(schema.LEASE_OF_SHEET, schema.IS_HELD, is_lease_in_time)


def unfinished_sheets(transaction: Transaction, voter_id: int) -> list[Sheet]:
    """Return the unfinished sheets in open ballots that a voter holds, or that nobody holds of the voter's slots.

    The latter are those of a voter who has withdrawn, in ballots before and after that.
    """
    sheet, lease, ballot = schema.sheet, schema.lease, schema.ballot
    leases = sa.select(sheet.c.slot).select_from(lease.join(sheet).join(ballot))
    of_voter = leases.where(lease.c.voter_id == voter_id, transaction.of_campaign(ballot))
    is_held = sa.exists().where(schema.LEASE_OF_SHEET, schema.IS_HELD).correlate(sheet)
    is_given: sa.ColumnElement[bool] = is_held.where(lease.c.voter_id == voter_id)
    if transaction.info.settings.assigned:
        is_given = sa.or_(is_given, sa.and_(~is_held, sheet.c.slot.in_(of_voter)))
    is_open = (transaction.of_campaign(ballot), ballot.c.state == "open", schema.IS_UNFINISHED)
    sheets = sa.select(sheet.c.ballot_id, sheet.c.number).select_from(schema.SHEETS).where(*is_open, is_given)
    rows = transaction.execute(sheets.where(*are_not_dropped(transaction)).order_by(*sheets.selected_columns))
    return [(row.ballot_id, row.number) for row in rows]


def seconds_left(transaction: Transaction, voter_id: int | None = None) -> int | None:
    """Return the seconds until an unanswered sheet of others becomes free for this voter, or for a new one.

    None if no sheet becomes free.
    """
    lease = schema.lease
    left = sa.select(lease.c.ballot_id, lease.c.sheet, lease.c.expires_at - transaction.clock())
    of_others = (*held_unanswered(transaction), lease.c.voter_id.is_distinct_from(voter_id))
    rows = transaction.execute(left.select_from(schema.LEASES).where(*of_others))
    times = {(ballot_id, sheet): int(time_left) for ballot_id, sheet, time_left in rows}
    some = [sheet for sheet, pairs in open_pairs(transaction, times, voter_id).items() if pairs.places]
    return max(1, -(-min(times[sheet] for sheet in some) // 1_000_000)) if some else None


def has_begun(transaction: Transaction, voter_id: int, *, besides: tuple[int, int] | None = None) -> bool:
    """Return whether a voter has practised or voted before, and therefore gets no practice.

    It would be useless, and might reveal the answer to a pair that the voter was asked as a comparison.

    Parameters
    ----------
    besides : (int, int) or None
        A ballot's id and a sheet in it whose answers are ignored.
    """
    event, comparison = schema.vote_event, schema.comparison
    query = sa.select(sa.literal(1)).select_from(event.join(comparison)).where(event.c.voter_id == voter_id)
    if besides is not None:
        query = query.where(sa.or_(comparison.c.ballot_id != besides[0], comparison.c.sheet != besides[1]))
    return transaction.execute(query.limit(1)).first() is not None


def unused_practice(info: CampaignInfo) -> sa.Subquery | None:
    """Return a query for the number of unanswered practice pairs by ballot id and sheet; None without practice.

    A voter who takes over a sheet may find its practice done.
    """
    probing, probe, ballot = info.settings.probing, schema.comparison, schema.ballot
    if probing is None or not probing.of_kind("practice"):
        return None
    is_open = (ballot.c.campaign_id == info.id, ballot.c.state == "open")
    return (
        sa.select(probe.c.ballot_id, probe.c.sheet, sa.func.count().label("number"))
        .select_from(schema.PAIRS)
        .where(*is_open, probe.c.probe == "practice", ~sa.exists().where(schema.OF_COMPARISON))
        .group_by(probe.c.ballot_id, probe.c.sheet)
        .subquery()
    )
