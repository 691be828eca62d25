"""Report the progress of a campaign: answers by ballot, their rate, and their cost."""

import json
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import sqlalchemy as sa

from adaptive._plan import BallotPlan
from adaptive.ledger._ballots.batches import Waits, why_it_waits
from adaptive.ledger._ballots.pairs import dropped_sheets
from adaptive.ledger._ballots.sheets import held_unanswered
from adaptive.ledger._ballots.stored import ballot_stamp, n_left_out, stored_ballots
from adaptive.ledger._campaign.plan import expected_probes
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction, state_at
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import digest_of, now, time_text

State = Literal["ready", "open", "closing", "finished"]
_RECENT: Final = 200  # number of votes for the rate
_MINUTES_PER_YEAR: Final = 525_600
_SEARCHED: Final = 20_000  # latest events of the ledger that are searched for these votes
_LATEST: Final = 5_000  # rows that other transactions may write while one commits; 500 votes/s for 10 s


@dataclass(frozen=True)
class Spending:
    """Answers and their cost, so far and for the whole campaign.

    Attributes
    ----------
    n_votes, n_probes : int
        Number of current votes and of answered checks; both are paid.
    expected_votes : int
        Votes in the whole campaign: all comparisons of the plan, or the current votes once all ballots are closed.
    expected_probes : float
        Checks in the whole campaign: those drawn, plus the expected number of those still to be drawn.
    hours, expected_hours : float or None
        Person-hours so far and in total, from the seconds in the pay settings; None if these are unknown.
    spent, expected : float or None
        Pay and fee so far and in total; None if nothing is paid.
    currency : str
    """

    n_votes: int
    n_probes: int
    expected_votes: int
    expected_probes: float
    hours: float | None = None
    expected_hours: float | None = None
    spent: float | None = None
    expected: float | None = None
    currency: str = ""


@dataclass(frozen=True)
class Awaited:
    """Sheets that voters hold without an answer.

    Attributes
    ----------
    n_sheets : int
    n_of_one_address : int
        Largest number held from one address; 0 if no address is known.
    back_by : str
        Time when the last of them becomes free unless it is answered, in ISO 8601.
    """

    n_sheets: int
    n_of_one_address: int
    back_by: str


@dataclass(frozen=True)
class CampaignStatus:
    """The progress of a campaign.

    Attributes
    ----------
    name, mode : str
    state : {"ready", "open", "closing", "finished"}
        "ready" if the next ballot can be opened.
    ballot : int
        The ballot that is open or comes next; the last one when all are closed.
    n_ballots : int or None
        None for a continuous campaign, whose number of batches is not fixed.
    n_items, n_comparisons, n_answered : int
        Counts for that ballot, or for all batches of a continuous campaign, without dropped comparisons.
    n_dropped : int
        Number of comparisons of a continuous campaign that were replaced by others, because the voters who came had
        answered their pairs.
    n_checks_dropped : int
        Number of checks on finished sheets that were not asked, because the voter had answered the pair.
    n_counted : int
        Number of these answers that closing would count; see `BallotProgress`.
    n_sheets, n_sheets_done : int
        Number of sheets, and of finished sheets, of the same ballots.
    n_voters : int
        Number of voters with a current vote in the campaign.
    n_votes : int
        Number of current votes in the whole campaign.
    n_conflicts, n_late : int
        Number of votes that do not count: those that contradict the recorded vote, and late votes.
    votes_per_minute : float or None
        Rate of the last 200 votes that arrived one by one. None if there are not enough of them among the latest 20,000
        events of the ledger.
    expected_end : str or None
        Time when the ballot will be complete at that rate, in ISO 8601.
    spending : Spending or None
        Answers and cost, so far and expected in total; None if the campaign has neither pay nor checks.
    waits : {"target", "pairs"} or None
        Reason why no further pairs are asked now. "target": a continuous campaign has reached its target accuracy.
        "pairs": the voter who asked last has answered all remaining pairs, so other voters are needed. None if no voter
        was turned away.
    awaited : Awaited or None
        Sheets that voters hold without an answer; None if there are none.

    See Also
    --------
    Campaign.status : Returns it.
    BallotProgress : Ballot by ballot.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> status = campaign.status()
    >>> status.state, status.ballot, status.n_ballots, status.n_answered, status.n_comparisons
    ('open', 1, 2, 4, 4)
    >>> ledger.close()
    """

    name: str
    mode: str
    state: State
    ballot: int
    n_ballots: int | None
    n_items: int
    n_comparisons: int
    n_answered: int
    n_dropped: int
    n_checks_dropped: int
    n_counted: int
    n_sheets: int
    n_sheets_done: int
    n_voters: int
    n_votes: int
    n_conflicts: int
    n_late: int
    votes_per_minute: float | None
    expected_end: str | None
    spending: Spending | None
    waits: Waits | None
    awaited: Awaited | None


@dataclass(frozen=True)
class BallotProgress:
    """The progress of one ballot or batch.

    Attributes
    ----------
    ballot : int
    state : {"open", "answered", "closing", "closed"}
        "answered" if all comparisons of a batch are answered and the campaign is still open.
    n_items, n_comparisons, n_answered : int
        Counts without dropped comparisons.
    n_dropped : int
        Number of dropped comparisons; see `CampaignStatus`.
    n_counted : int
        Number of answers that closing counts: those of voters who are not excluded, or were not when the ballot was
        closed. In a continuous campaign, all answers count.
    n_sheets, n_sheets_done : int
    opened_at : str
        ISO 8601.
    closed_at : str or None
        None while it is open.

    See Also
    --------
    Campaign.ballot_progress, Campaign.progress : Return it.
    CampaignStatus : The whole campaign.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1)
    >>> n_opened = campaign.open_next()
    >>> recorded = campaign.record({pair.id: "left" for pair in campaign.asked()})
    >>> for ballot in campaign.ballot_progress():
    ...     print(ballot.ballot, ballot.state, ballot.n_items, ballot.n_answered, ballot.closed_at)
    1 open 4 4 None
    >>> ledger.close()
    """

    ballot: int
    state: str
    n_items: int
    n_comparisons: int
    n_answered: int
    n_dropped: int
    n_counted: int
    n_sheets: int
    n_sheets_done: int
    opened_at: str
    closed_at: str | None


@dataclass(frozen=True)
class BallotState:
    """One ballot or batch, with its results.

    Attributes
    ----------
    progress : BallotProgress
    stamp : str
        A value that changes with the state of the ballot and with the excluded voters, but not with votes.
    chain_digest : str or None
        Chain digest of a closed ballot; None while it is open.
    going_on : tuple of hashable or None
        Items of the next ballot; None while this ballot is open or if no ballot follows.
    """

    progress: BallotProgress
    stamp: str
    chain_digest: str | None
    going_on: tuple[Hashable, ...] | None


def status_of(transaction: Transaction) -> CampaignStatus:
    """Return the progress of the campaign, without reading votes one by one."""
    info, rows = transaction.info, _ballot_rows(transaction)
    state, number, current_rows = _current_ballot(info, rows)
    dropped = _n_dropped(transaction)
    n_dropped = sum(dropped[row.id] for row in current_rows)
    n_comparisons = sum(row.n_comparisons for row in current_rows) - n_dropped
    n_answered = sum(row.n_answered for row in current_rows)
    plan = info.plan if isinstance(info.plan, BallotPlan) else None
    if plan is not None:
        n_comparisons = n_comparisons or plan.comparisons[number - 1]
    rate, left, late = _rate(transaction), n_comparisons - n_answered, _n_late(transaction)
    return CampaignStatus(
        name=info.name,
        mode=info.mode,
        state=state,
        ballot=number,
        n_ballots=None if plan is None else plan.n_ballots,
        n_items=info.n_items if plan is None else plan.sizes[number - 1],
        n_comparisons=n_comparisons,
        n_answered=n_answered,
        n_dropped=n_dropped,
        n_checks_dropped=sum(row.n_checks_dropped for row in current_rows),
        n_counted=sum(_count_by_ballot(transaction, current_rows)),
        n_sheets=sum(row.n_sheets for row in current_rows),
        n_sheets_done=sum(row.n_done for row in current_rows),
        n_voters=_n_voters(transaction),
        n_votes=sum(row.n_answered for row in rows),
        n_conflicts=late["conflict"],
        n_late=late.total() - late["conflict"],
        votes_per_minute=rate,
        expected_end=_expected_end(rate, left) if state == "open" else None,
        spending=spending_of(transaction),
        waits=why_it_waits(transaction) if state == "open" else None,
        awaited=awaited_sheets(transaction),
    )


def by_ballot(transaction: Transaction) -> list[BallotProgress]:
    """Return the progress of each ballot or batch that was opened."""
    ballot = schema.ballot
    # A separate query, because in the grouped one, 120 kB of places for each sheet would take 30 ms.
    places = transaction.execute(sa.select(ballot.c.number, ballot.c.places).where(transaction.of_campaign(ballot)))
    n_items = {row.number: len(json.loads(row.places)) for row in places}
    rows, dropped = _ballot_rows(transaction), _n_dropped(transaction)
    return [
        BallotProgress(
            ballot=row.number,
            state="answered" if _is_answered(transaction.info, row, dropped[row.id]) else row.state,
            n_items=n_items[row.number],
            n_comparisons=row.n_comparisons - dropped[row.id],
            n_answered=row.n_answered,
            n_dropped=dropped[row.id],
            n_counted=n_counted,
            n_sheets=row.n_sheets,
            n_sheets_done=row.n_done,
            opened_at=time_text(row.opened_at),
            closed_at=None if row.closed_at is None else time_text(row.closed_at),
        )
        for row, n_counted in zip(rows, _count_by_ballot(transaction, rows), strict=True)
    ]


def ballot_state(transaction: Transaction, number: int) -> BallotState:
    """Return one opened ballot with its results; see `Campaign.ballot`."""
    stamp = ballot_stamp(transaction, number)
    stored = stored_ballots(transaction)[number - 1]
    going_on, plan = None, transaction.info.plan
    if isinstance(plan, BallotPlan) and stored.record is not None and number < plan.n_ballots:
        going_on = tuple(transaction.info.items[place] for place in stored.record["selected"])
    return BallotState(by_ballot(transaction)[number - 1], stamp, stored.chain_digest, going_on)


def _n_dropped(transaction: Transaction) -> Counter[int]:
    """Return the number of dropped comparisons by ballot id."""
    numbers: Counter[int] = Counter()
    for (ballot_id, _), number in dropped_sheets(transaction).items():
        numbers[ballot_id] += number
    return numbers


def _is_answered(info: CampaignInfo, row: Any, n_dropped: int) -> bool:
    is_open = info.mode == "continuous" and row.state == "open"
    return is_open and row.n_answered >= row.n_comparisons - n_dropped


def _ballot_rows(transaction: Transaction) -> Sequence[Any]:
    """Return the ballots with the answer counts of their sheets, which each vote updates."""
    ballot, sheet, lease = schema.ballot, schema.sheet, schema.lease
    is_done = sheet.c.n_answered == sheet.c.n_comparisons
    n_done = sa.case((is_done, 1), else_=0)
    is_left = sa.exists().where(schema.LEASE_OF_SHEET, lease.c.end_reason == "done")
    checks_dropped = sa.case((sa.and_(is_done, is_left), sheet.c.n_checks - sheet.c.n_checked), else_=0)
    return transaction.execute(
        sa.select(
            *(ballot.c.id, ballot.c.number, ballot.c.n_comparisons, state_at(transaction.clock()).label("state")),
            *(ballot.c.opened_at, ballot.c.closed_at),
            sa.func.coalesce(sa.func.sum(sheet.c.n_answered), 0).label("n_answered"),
            sa.func.count(sheet.c.number).label("n_sheets"),
            sa.func.coalesce(sa.func.sum(n_done), 0).label("n_done"),
            sa.func.coalesce(sa.func.sum(checks_dropped), 0).label("n_checks_dropped"),
        )
        .outerjoin(sheet, sheet.c.ballot_id == ballot.c.id)
        .where(transaction.of_campaign(ballot))
        .group_by(ballot.c.id)
        .order_by(ballot.c.number)
    ).all()


def _count_by_ballot(transaction: Transaction, rows: Sequence[Any]) -> list[int]:
    """Return the number of answers of each ballot that closing counts, or has counted."""
    if not isinstance(transaction.info.plan, BallotPlan):
        return [row.n_answered for row in rows]
    excluded = transaction.excluded_voters()
    table, is_closed = schema.ballot, {row.id for row in rows if row.state == "closed"}
    records = transaction.execute(sa.select(table.c.id, table.c.record).where(table.c.id.in_(is_closed)))
    counted = {row.id: int(json.loads(row.record)["n_answered"]) for row in records}
    return [
        counted[row.id] if row.id in counted else row.n_answered - n_left_out(transaction, row.id, excluded)
        for row in rows
    ]


def _current_ballot(info: CampaignInfo, rows: Sequence[Any]) -> tuple[State, int, Sequence[Any]]:
    """Return the state, the number of the current ballot, and the rows of the ballots to count."""
    if not isinstance(info.plan, BallotPlan):
        is_open = any(row.state != "closed" for row in rows)
        state: State = "open" if is_open else "finished" if rows else "ready"
        return state, max(1, len(rows)), rows
    if rows and rows[-1].state != "closed":
        return ("closing" if rows[-1].state == "closing" else "open"), rows[-1].number, [rows[-1]]
    if len(rows) == info.plan.n_ballots:
        return "finished", len(rows), [rows[-1]]
    return "ready", len(rows) + 1, []


def _n_voters(transaction: Transaction) -> int:
    """Return the number of voters with a current vote."""
    event, ballot, voter = schema.vote_event, schema.ballot, schema.voter
    is_scored = sa.and_(ballot.c.id == event.c.ballot_id, event.c.place < ballot.c.n_comparisons)
    has_voted = sa.exists().where(event.c.voter_id == voter.c.id, is_scored, schema.IN_FORCE)
    return transaction.count(voter, transaction.of_campaign(voter), has_voted)


def _n_late(transaction: Transaction) -> Counter[str]:
    """Return the number of votes that are kept but do not count, by reason, including those on checks."""
    ballot, late = schema.ballot, schema.late_vote
    query = sa.select(late.c.why, sa.func.count().label("number")).join(ballot, ballot.c.id == late.c.ballot_id)
    rows = transaction.execute(query.where(transaction.of_campaign(ballot)).group_by(late.c.why))
    return Counter({row.why: row.number for row in rows})


def _rate(transaction: Transaction) -> float | None:
    """Return the rate of recent votes per minute, without votes from files, which arrive all at once."""
    event, ballot = schema.vote_event, schema.ballot
    is_open = sa.select(ballot.c.id).where(transaction.of_campaign(ballot), state_at(transaction.clock()) == "open")
    latest = sa.select(sa.func.max(event.c.id)).scalar_subquery()
    n_scored = sa.select(ballot.c.n_comparisons).where(ballot.c.id == event.c.ballot_id).scalar_subquery()
    times = transaction.execute(
        sa.select(event.c.received_at, event.c.given_by)
        # "+ 0" avoids the index of ballots, with which all 400,000 votes of a ballot would be sorted in 250 ms.
        .where(event.c.id > latest - _SEARCHED, (event.c.ballot_id + 0).in_(is_open), event.c.place < n_scored)
        .where(event.c.kind == "cast")
        .order_by(event.c.id.desc())
        .limit(_RECENT)
    ).all()
    arrivals: list[int] = [row.received_at for row in times if row.given_by not in {"file", "correction"}]
    if len(arrivals) < 10 or arrivals[0] <= arrivals[-1]:
        return None
    return (len(arrivals) - 1) / ((arrivals[0] - arrivals[-1]) / 60e6)


def _expected_end(rate: float | None, left: int) -> str | None:
    """Return when `left` votes arrive at this rate per minute; None if it is unknown, or over 100 years away.

    The rate of votes is that low if the clock of a server was wrong.
    """
    if rate is None or not 0 < left < 100 * _MINUTES_PER_YEAR * rate:
        return None
    return time_text(now() + int(left / rate * 60e6))


def campaign_stamp(transaction: Transaction) -> str:
    """Return the stamp of `Campaign.stamp`."""
    ballot, voter, pages, audited = schema.ballot, schema.voter, schema.voting_pages, schema.audit_event
    state = sa.case((state_at(transaction.clock()) == "open", 1), (ballot.c.state == "closing", 2), else_=4)
    parts = [
        *(
            part
            for table in (schema.vote_event, schema.late_vote, schema.lease)
            for part in _latest(transaction, table)
        ),
        sa.select(sa.func.sum(state)).where(transaction.of_campaign(ballot)),
        *(sa.select(sa.func.count()).select_from(t).where(transaction.of_campaign(t)) for t in (audited, voter)),
        sa.select(sa.func.max(pages.c.version)).where(transaction.of_campaign(pages)),
    ]
    values = transaction.execute(sa.select(*(part.scalar_subquery() for part in parts))).one()
    return digest_of([transaction.info.key, *map(str, values)])[:32]


def _latest(transaction: Transaction, table: sa.Table) -> Iterator[sa.Select[int]]:
    """Yield queries whose results change with each new row of a table, without reading all rows.

    On PostgreSQL, a transaction may commit after one with a higher number. The highest number then stays, but the
    number of rows among the latest changes.
    """
    highest = sa.select(sa.func.max(table.c.id))
    yield highest
    if transaction.is_postgresql:
        yield sa.select(sa.func.count()).select_from(table).where(table.c.id > highest.scalar_subquery() - _LATEST)


def progress_stamp(transaction: Transaction) -> str:
    """Return the stamp of `Campaign.progress_stamp`."""
    stamp, sheets = campaign_stamp(transaction), awaited_sheets(transaction)
    return stamp if sheets is None else digest_of([stamp, str(sheets)])[:32]


def awaited_sheets(transaction: Transaction) -> Awaited | None:
    """Return the sheets that voters hold without an answer; None if there are none."""
    lease = schema.lease
    counts = sa.select(lease.c.address, sa.func.count(), sa.func.max(lease.c.expires_at)).select_from(schema.LEASES)
    rows = transaction.execute(counts.where(*held_unanswered(transaction)).group_by(lease.c.address)).all()
    if not rows:
        return None
    most = max((number for address, number, _ in rows if address is not None), default=0)
    return Awaited(sum(row[1] for row in rows), most, time_text(max(row[2] for row in rows)))


def spending_of(transaction: Transaction) -> Spending | None:
    """Return the spending of a campaign so far and in total; None if it has neither pay nor checks."""
    plan, pay, probing = transaction.info.plan, transaction.info.settings.pay, transaction.info.settings.probing
    if pay is None and probing is None:
        return None
    rows = _ballot_rows(transaction)
    n_votes = sum(row.n_answered for row in rows)
    of_campaign = transaction.of_campaign(schema.ballot)
    is_check = schema.vote_event.c.place >= schema.ballot.c.n_comparisons
    n_probes = 0 if probing is None else transaction.count(schema.VOTES, of_campaign, is_check, schema.IN_FORCE)
    expected_votes = plan.n_comparisons
    still = expected_probes(plan, len(transaction.info.slots), transaction.info.settings, n_opened=len(rows))
    probes = _count_checks(transaction) + still
    now, end = n_votes + n_probes, expected_votes + probes
    last = plan.n_ballots if isinstance(plan, BallotPlan) else 1
    if len(rows) >= last and all(row.state == "closed" for row in rows):  # unanswered comparisons are no longer asked
        expected_votes, probes, end = n_votes, n_probes, now
    counts = (n_votes, n_probes, expected_votes, probes)
    if pay is None:
        return Spending(*counts)
    return Spending(*counts, pay.hours(now), pay.hours(end), pay.cost(now), pay.cost(end), pay.currency)


def _count_checks(transaction: Transaction) -> int:
    """Return the number of drawn checks that will be asked.

    If sheets are claimed, each has the practice, but a voter does it only once. So it counts once for each slot, or as
    often as it was answered, if more voters came.
    """
    ballot, probe, probing = schema.ballot, schema.comparison, transaction.info.settings.probing
    if probing is None:
        return 0
    is_check = (transaction.of_campaign(ballot), probe.c.place >= ballot.c.n_comparisons)
    if transaction.info.settings.assigned or not probing.of_kind("practice"):
        return transaction.count(schema.PAIRS, *is_check)
    sides = (probe.c.left_item, probe.c.right_item)
    pair = [sa.case((sides[0] < sides[1], side), else_=other) for side, other in (sides, sides[::-1])]
    columns = (schema.sheet.c.slot, pair[0].label("low"), pair[1].label("high"))
    practice = sa.select(*columns).select_from(schema.PAIRS_ON_SHEETS).where(*is_check, probe.c.probe == "practice")
    is_practised = (*is_check, probe.c.probe == "practice", schema.IN_FORCE)
    n_answered = transaction.count(schema.VOTES.join(probe), *is_practised)
    n_practice = max(n_answered, transaction.count(practice.distinct().subquery()))
    return n_practice + transaction.count(schema.PAIRS, *is_check, probe.c.probe != "practice")
