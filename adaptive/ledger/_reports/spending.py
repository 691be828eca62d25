"""Count answers and their cost: so far, and as a plan needs them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa

from adaptive._budget import answers_for, largest_count
from adaptive._plan import BallotPlan
from adaptive.errors import PlanError
from adaptive.ledger._ballots.draws import expected_probes, planned_sheets
from adaptive.ledger._ballots.stored import answered_by_ballot
from adaptive.ledger._campaign.info import ContinuousPlan, slots_of_batch
from adaptive.ledger._campaign.settings import CampaignSettings
from adaptive.ledger._campaign.transaction import Transaction
from adaptive.ledger._store import schema

Plan = TypeVar("Plan", bound=BallotPlan | ContinuousPlan)


@dataclass(frozen=True)
class Spending:
    """Answers and their cost, so far and for the whole campaign.

    Attributes
    ----------
    n_votes, n_probes : int
        Current votes and answered checks; both are paid.
    expected_votes : int
        For the whole campaign: all comparisons of the plan, or the current votes once all ballots are closed.
    expected_probes : float
        The same for checks: those drawn and, on average, those still to be drawn.
    hours, expected_hours : float or None
        Computed from the seconds in the pay settings; None if they are not known.
    spent, expected : float or None
        Pay and fee; None if nothing is paid.
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
class PlannedSpending:
    """The answers that a plan will need and their cost, before any vote.

    Attributes
    ----------
    n_comparisons : int
    n_probes : float
        Average number of checks, asked in addition to the comparisons.
    n_sheets : int
        Number of sheets of the first ballot or batch.
    hours : float or None
        Person-hours for comparisons and checks; None if the time of an answer is not known.
    pay, fee, cost : float or None
        The voters' pay, the platform's fee and their sum; None if nothing is paid.
    per_answer, hourly : float or None
        A voter's pay for an answer and for an hour.
    currency : str

    See Also
    --------
    planned_spending : Returns it.
    CampaignStatus : Shows the spending so far.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Pay, CampaignSettings, planned_spending
    >>> plan = plan_ballots(40, n_ballots=2, fraction=0.5, presentations=10)
    >>> planned = planned_spending(plan, 6, CampaignSettings(pay=Pay(per_vote=0.02, fee=0.25, currency="EUR")))
    >>> planned.n_comparisons, planned.cost, planned.currency, planned.hours
    (300, 7.5, 'EUR', None)
    """

    n_comparisons: int
    n_probes: float
    n_sheets: int
    hours: float | None
    pay: float | None = None
    fee: float | None = None
    cost: float | None = None
    per_answer: float | None = None
    hourly: float | None = None
    currency: str = ""


def planned_spending(
    plan: BallotPlan | ContinuousPlan, n_slots: int, settings: CampaignSettings, *, seconds: float | None = None
) -> PlannedSpending:
    """Return the planned number of answers of a campaign, and their cost.

    Parameters
    ----------
    n_slots : int
        Number of voters that ballots are drawn for.
    seconds : float or None
        Time that an answer takes; None: the time in the pay settings, if any.

    See Also
    --------
    PlannedSpending : The type of the result.
    Pay : The pay of an answer.

    Examples
    --------
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Pay, CampaignSettings, planned_spending
    >>> plan = plan_ballots(40, n_ballots=2, fraction=0.5, presentations=10)
    >>> planned = planned_spending(plan, 6, CampaignSettings(pay=Pay(per_hour=12, seconds=6, fee=0.25)))
    >>> planned.n_comparisons, planned.hours, planned.pay, planned.fee
    (300, 0.5, 6.0, 1.5)
    """
    pay, n_probes = settings.pay, expected_probes(plan, n_slots, settings)
    n_comparisons = plan.n_comparisons
    n_answers = n_comparisons + n_probes
    answer_seconds = seconds if seconds is not None or pay is None else pay.seconds
    hours = None if answer_seconds is None else n_answers * answer_seconds / 3600
    first = plan.comparisons[0] if isinstance(plan, BallotPlan) else min(plan.batch, plan.budget)
    dealt = n_slots if isinstance(plan, BallotPlan) else slots_of_batch(first, n_slots, settings)
    n_sheets = sum(1 for _ in planned_sheets([first], [dealt], n_slots, settings.sheet_size, 0))
    if pay is None:
        return PlannedSpending(n_comparisons, n_probes, n_sheets, hours)
    cost = pay.cost(n_answers)
    earned = cost / (1 + pay.fee)
    hourly = None if answer_seconds is None else pay.per_answer * 3600 / answer_seconds
    return PlannedSpending(
        n_comparisons=n_comparisons,
        n_probes=n_probes,
        n_sheets=n_sheets,
        hours=hours,
        pay=earned,
        fee=cost - earned,
        cost=cost,
        per_answer=pay.per_answer,
        hourly=hourly,
        currency=pay.currency,
    )


def affordable_plan(
    plan_of: Callable[[int], Plan],
    n_slots: int,
    settings: CampaignSettings,
    *,
    money: float | None = None,
    hours: float | None = None,
    seconds: float | None = None,
) -> Plan:
    """Return the largest plan that an amount of money, or of person-hours, pays for with all its checks.

    Parameters
    ----------
    plan_of : callable
        Returns the plan with at most a number of comparisons, or raises PlanError if there is none.
    n_slots : int
        Number of voters that ballots are drawn for.
    settings : CampaignSettings
        Holds the pay, which `money` needs, and the checks.
    money, hours : float or None
        The most to spend; give exactly one of the two.
    seconds : float or None
        Time that an answer takes; None: the time in the pay settings.

    Raises
    ------
    PlanError
        If neither or both are given, the pay or the seconds are not known, or the smallest plan costs more.

    See Also
    --------
    planned_spending : The cost of a plan.
    adaptive.plan_for_budget : Plan from hours or comparisons, without checks.

    Examples
    --------
    >>> from adaptive.ledger import ContinuousPlan, Pay, Probing, CampaignSettings, affordable_plan
    >>> settings = CampaignSettings(pay=Pay(per_hour=12, seconds=6), sheet_size=10, probing=Probing(repeats=0.1))
    >>> affordable_plan(lambda n: ContinuousPlan(66, budget=n), 10, settings, money=300).budget
    13636
    """
    if (money is None) == (hours is None):
        raise PlanError(f"a plan is within money or hours; got {'neither' if money is None else 'both'}")
    pay = settings.pay
    time = seconds if seconds is not None or pay is None else pay.seconds
    if money is not None and pay is None:
        raise PlanError("a budget of money needs the pay of an answer")
    if hours is not None and time is None:
        raise PlanError("a budget of hours needs the seconds that an answer takes")

    def is_affordable(plan: Plan) -> bool:
        spending = planned_spending(plan, n_slots, settings, seconds=time)
        amount, limit = (spending.hours, hours) if money is None else (spending.cost, money)
        return amount is not None and limit is not None and amount <= limit

    if pay is not None and money is not None:
        n_answers = pay.answers(money)
    else:
        n_answers = answers_for((hours or 0.0) * 3600, per_answer=time or 0.0)
    largest = plan_of(n_answers)
    if is_affordable(largest):
        return largest

    def fits(n_comparisons: int) -> bool:
        with suppress(PlanError):  # below the smallest plan
            return is_affordable(plan_of(n_comparisons))
        return True

    # Checks are paid too, so search for the largest number of comparisons that leaves room for them.
    n_comparisons = largest_count(fits, largest.n_comparisons)
    if n_comparisons:
        with suppress(PlanError):
            return plan_of(n_comparisons)
    spending = planned_spending(plan_of(n_comparisons + 1), n_slots, settings, seconds=time)
    limit, cost = (f"{hours:g} hours", spending.hours) if money is None else (f"{money:g}", spending.cost)
    raise PlanError(f"a budget of {limit} is too small: the smallest plan takes {cost:.4g}, with its checks")


def spending_of(transaction: Transaction) -> Spending | None:
    """Return a campaign's spending so far and in the end; None if it neither pays nor asks checks."""
    plan, pay, probing = transaction.info.plan, transaction.info.settings.pay, transaction.info.settings.probing
    if pay is None and probing is None:
        return None
    n_votes = sum(answered_by_ballot(transaction).values())
    of_campaign = transaction.of_campaign(schema.ballot)
    is_check = schema.vote_event.c.place >= schema.ballot.c.n_comparisons
    n_probes = 0 if probing is None else transaction.count(schema.VOTES, of_campaign, is_check, schema.IN_FORCE)
    expected_votes = plan.n_comparisons
    states = transaction.execute(sa.select(schema.ballot.c.state).where(of_campaign)).scalars().all()
    still = expected_probes(plan, len(transaction.info.slots), transaction.info.settings, n_opened=len(states))
    probes = _count_checks(transaction) + still
    now, end = n_votes + n_probes, expected_votes + probes
    last = plan.n_ballots if isinstance(plan, BallotPlan) else 1
    if len(states) >= last and set(states) == {"closed"}:  # unanswered comparisons are no longer asked
        expected_votes, probes, end = n_votes, n_probes, now
    counts = (n_votes, n_probes, expected_votes, probes)
    if pay is None:
        return Spending(*counts)
    return Spending(*counts, pay.hours(now), pay.hours(end), pay.cost(now), pay.cost(end), pay.currency)


def _count_checks(transaction: Transaction) -> int:
    """Return the number of drawn checks that will be asked.

    If sheets are not assigned, each has the practice, but a voter does it only once: it counts once for each slot.
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
    n_practice = transaction.count(practice.distinct().subquery())
    return n_practice + transaction.count(schema.PAIRS, *is_check, probe.c.probe != "practice")
