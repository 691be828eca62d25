"""Plan a campaign: the comparisons of its batches, its checks, and the cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

from adaptive._budget import BatchOptions, answers_for, is_within, largest_count
from adaptive._plan import Advice, BallotPlan, advice_on_budget, advice_on_total
from adaptive.errors import PlanError
from adaptive.ledger._campaign.settings import SHEET_SIZE, CampaignSettings, Targets, checked_targets, omit_defaults
from adaptive.ledger.errors import LedgerError, require
from adaptive.matching._matching import Matching
from adaptive.model._likelihood import MAX_DENSE
from rankcorr._checks import check_declared, whole_number

Mode = Literal["ballots", "continuous"]
Plan = TypeVar("Plan", bound="BallotPlan | ContinuousPlan")


@dataclass(frozen=True)
class ContinuousPlan:
    """A campaign without ballots: small batches of comparisons, each chosen by all earlier votes.

    Attributes
    ----------
    n_items : int
        Number of items.
    budget : int
        Total number of comparisons that may be asked.
    batch : int
        Number of comparisons in a batch.
    n0, focus : float
        As in `adaptive.next_comparisons`; for sets, `n0` is as in `adaptive.next_sets`, and `focus` is not used.
    target : float or None
        The campaign may end when `adaptive.stopping_rule` stops at this expected tau_w; None: when the budget is spent.
    n_pairs : int or None
        Number of different pairs that may be asked, in a campaign with target groups; None for all pairs of items.
    set_size : int
        Number of items in a comparison; 2 for pairs. From sets of 3 to 6 items, voters choose the best and the worst
        item. 4 items are usual, because the two choices order 5 of their 6 pairs.

    See Also
    --------
    adaptive.BallotPlan : The plan of a campaign of ballots.
    adaptive.next_comparisons : How a batch is chosen.
    batch_for : The usual size of a batch.

    Examples
    --------
    >>> from adaptive.ledger import ContinuousPlan, batch_for
    >>> ContinuousPlan(n_items=20, budget=500, batch=batch_for(20), target=0.9)
    ContinuousPlan(n_items=20, budget=500, batch=20, n0=2.0, focus=0.6, target=0.9, n_pairs=None, set_size=2)
    """

    n_items: int
    budget: int
    batch: int = 50
    n0: float = Matching.n0
    focus: float = Matching.focus
    target: float | None = None
    n_pairs: int | None = None
    set_size: int = 2

    def __post_init__(self) -> None:
        check_declared(BatchOptions(self.batch, self.target, self.set_size), LedgerError)
        for name, least in (("n_items", self.set_size), ("budget", 1), ("batch", 1)):
            value = getattr(self, name)
            require((whole_number(value) or least - 1) >= least, name, f"a whole number from {least} on", value)
        Matching(batch=self.batch, n0=self.n0, focus=self.focus)

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons that may be asked: the budget."""
        return self.budget

    @property
    def n_different(self) -> int:
        """Number of different pairs, or sets."""
        return math.comb(self.n_items, self.set_size) if self.n_pairs is None else self.n_pairs

    def n_possible(self, n_voters: int) -> int:
        """Return the number of comparisons that a number of voters can answer, if nobody answers a pair or set twice.

        Examples
        --------
        >>> ContinuousPlan(n_items=45, budget=12_000).n_possible(3)
        2970
        """
        return min(self.budget, n_voters * self.n_different)

    def advice_for(self, n_voters: int) -> tuple[Advice, ...]:
        """Return the advice for a number of voters: whether they can answer all comparisons.

        Examples
        --------
        >>> [advice.code for advice in ContinuousPlan(n_items=45, budget=12_000).advice_for(3)]
        ['too_many_comparisons']
        """
        if self.n_pairs is None and self.set_size == 2:
            return tuple(advice_on_budget(self.budget, n_items=self.n_items, n_voters=n_voters))
        n_needed = -(-self.budget // self.n_different)
        possible = self.n_possible(n_voters)
        return tuple(advice_on_total(self.budget, possible, n_voters=n_voters, n_needed=n_needed))

    def check_settings(self, settings: CampaignSettings) -> None:
        """Raise LedgerError for settings that cannot be combined with sets, or for sets of too many items to fit.

        Examples
        --------
        >>> from adaptive.ledger import CampaignSettings, ContinuousPlan
        >>> ContinuousPlan(8, budget=40, set_size=4).check_settings(CampaignSettings(grades=2))
        Traceback (most recent call last):
        adaptive.ledger.errors.LedgerError: grades are for pairs; voters choose from sets of 4
        """
        if self.set_size == 2:
            return
        if self.n_items > MAX_DENSE:  # the matrices of the fit are dense
            raise LedgerError(f"sets are for at most {MAX_DENSE:,} items; got {self.n_items:,}")
        for option, is_set in (
            ("grades", settings.grades > 1),
            ("checks", settings.probing is not None),
            ("target groups", settings.targets is not None),
        ):
            if is_set:
                raise LedgerError(f"{option} are for pairs; voters choose from sets of {self.set_size}")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        # These fields are omitted if they have their defaults, so that earlier releases can read the plan.
        return omit_defaults(ContinuousPlan, asdict(self), "n_pairs", "set_size")


def items_of_targets(targets: Targets) -> list[Hashable]:
    """Return the items of a campaign with target groups: each target with each of its positive candidates.

    A word that is a candidate of several targets is an item of each.

    See Also
    --------
    plan_of_targets : The plan of the same campaign.

    Examples
    --------
    >>> from adaptive.ledger import items_of_targets
    >>> items_of_targets({"oak": {"tree": "positive", "plant": "positive", "ink": "random"}})
    [('oak', 'tree'), ('oak', 'plant')]
    """
    groups = checked_targets(targets).items()
    return [(target, word) for target, group in groups for word, kind in group.items() if kind == "positive"]


def plan_of_targets(targets: Targets, answers: int, *, batch: int | None = None) -> ContinuousPlan:
    """Plan a campaign with target groups: each pair of positive candidates of a target gets a number of answers.

    The quota of a target with p positive candidates is ``answers * p (p - 1) / 2``.

    Parameters
    ----------
    targets : mapping of target to mapping of candidate to category
        As in `CampaignSettings`.
    answers : int
        Number of answers to each pair, by different voters.
    batch : int, optional
        Number of comparisons in a batch; by default `batch_for` the items.

    Raises
    ------
    LedgerError
        The targets are invalid, or `answers` is not a positive whole number.

    See Also
    --------
    items_of_targets : The items of the campaign.
    Campaign.target_groups : Its result.

    Examples
    --------
    >>> from adaptive.ledger import plan_of_targets
    >>> targets = {"oak": dict.fromkeys(["tree", "plant", "hardwood"], "positive"),
    ...            "fox": dict.fromkeys(["animal", "canid"], "positive")}
    >>> plan = plan_of_targets(targets, answers=5)
    >>> plan.n_items, plan.n_pairs, plan.budget, plan.n_possible(3)
    (5, 4, 20, 12)
    """
    require((whole_number(answers) or 0) >= 1, "answers", "a whole number from 1 on", answers)
    items = items_of_targets(targets)
    n_pairs = n_pairs_within([label[0] for label in items])  # type: ignore[index]
    size = batch_for(len(items)) if batch is None else batch
    return ContinuousPlan(len(items), budget=answers * n_pairs, batch=size, n_pairs=n_pairs)


def n_pairs_within(targets: Iterable[str]) -> int:
    return sum(number * (number - 1) // 2 for number in Counter(targets).values())


def batch_for(n_items: int) -> int:
    """Return the default number of comparisons in a batch: the number of items, limited to 10 to 50.

    The votes of a batch guide the next one. A batch of 50 would ask all pairs of ten items at once.

    See Also
    --------
    ContinuousPlan : Takes it.

    Examples
    --------
    >>> from adaptive.ledger import batch_for
    >>> batch_for(4), batch_for(20), batch_for(3_000)
    (10, 20, 50)
    """
    return min(50, max(10, n_items))


def slots_of_batch(size: int, n_slots: int, settings: CampaignSettings) -> int:
    """Return the number of slots that a batch is dealt to.

    If each slot belongs to a voter, all slots are used. If voters claim sheets, there are only as many slots as the
    size of a sheet requires, so that no sheet has just a pair or two. There are at least two slots if a second voter
    repeats comparisons.

    Examples
    --------
    >>> slots_of_batch(50, 40, CampaignSettings(assigned=False, sheet_size=20))
    3
    >>> slots_of_batch(50, 40, CampaignSettings())
    40
    """
    if settings.assigned:
        return n_slots
    n_sheets = -(-size // (settings.sheet_size or SHEET_SIZE))
    probing = settings.probing
    return min(n_slots, size, max(n_sheets, 2 if probing is not None and probing.overlap > 0 else 1))


def expected_probes(
    plan: BallotPlan | ContinuousPlan, n_slots: int, settings: CampaignSettings, *, n_opened: int = 0
) -> float:
    """Return the expected number of checks in ballots still to be opened; see `Probing.expected_number`."""
    if settings.probing is None:
        return 0.0
    if isinstance(plan, BallotPlan):
        numbers, dealt = list(plan.comparisons), [n_slots] * plan.n_ballots
    else:
        n_batches = -(-plan.budget // plan.batch)
        numbers = [min(plan.batch, plan.budget - plan.batch * batch) for batch in range(n_batches)]
        dealt = [slots_of_batch(number, n_slots, settings) for number in numbers]
    sheets = planned_sheets(numbers, dealt, n_slots, settings.sheet_size, n_opened)
    return settings.probing.expected_number(sheets)


def planned_sheets(
    numbers: list[int], dealt: list[int], n_slots: int, size: int | None, n_opened: int
) -> Iterator[tuple[int, bool]]:
    """Yield the number of comparisons on each sheet of later ballots, and whether it is the first sheet of its slot.

    The comparisons of a ballot are dealt evenly: to all slots if there are enough comparisons, otherwise to the slots
    that have had the fewest.
    """
    known = 0
    for ballot, (number, n_dealt) in enumerate(zip(numbers, dealt, strict=True)):
        per_slot, more = divmod(number, n_dealt)
        used = min(number, n_dealt)
        new = max(0, used - known) if n_dealt == n_slots else min(used, n_slots - known)
        for slot in range(used):
            left, is_first = per_slot + (slot < more), slot >= used - new
            n_sheets = 1 if size is None else -(-left // size)
            for sheet in range(n_sheets if ballot >= n_opened else 0):
                yield (left + n_sheets - 1 - sheet) // n_sheets, is_first and sheet == 0
        known += new


@dataclass(frozen=True)
class PlannedSpending:
    """The answers that a plan needs and their cost, before any vote.

    Attributes
    ----------
    n_comparisons : int
        Number of comparisons.
    n_probes : float
        Expected number of checks, in addition to the comparisons.
    n_sheets : int
        Number of sheets of the first ballot or batch.
    hours : float or None
        Person-hours for comparisons and checks; None if the response time is unknown.
    pay, fee, cost : float or None
        Pay of the voters, fee of the platform, and their sum; None if nothing is paid.
    per_answer, hourly : float or None
        Pay of a voter for an answer and for an hour.
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
    planned = PlannedSpending(n_comparisons, n_probes, n_sheets, hours)
    if pay is None:
        return planned
    cost = pay.cost(n_answers)
    earned = cost / (1 + pay.fee)
    hourly = None if answer_seconds is None else pay.per_answer * 3600 / answer_seconds
    paid = replace(planned, pay=earned, fee=cost - earned, cost=cost, currency=pay.currency)
    return replace(paid, per_answer=pay.per_answer, hourly=hourly)


def affordable_plan(
    plan_of: Callable[[int], Plan],
    n_slots: int,
    settings: CampaignSettings,
    *,
    money: float | None = None,
    hours: float | None = None,
    seconds: float | None = None,
) -> Plan:
    """Return the largest plan that is affordable, including its checks, with an amount of money or person-hours.

    Parameters
    ----------
    plan_of : callable
        Function of the largest number of comparisons that returns a plan, or raises PlanError if there is none.
    n_slots : int
        Number of voters that ballots are drawn for.
    settings : CampaignSettings
        Has the checks, and the pay if `money` is given.
    money, hours : float or None
        Budget; give exactly one of the two.
    seconds : float or None
        Time that an answer takes; None: the time in the pay settings.

    Raises
    ------
    PlanError
        Neither or both are given, the pay or the seconds are unknown, or the smallest plan costs more.

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
        raise PlanError(f"give either money or hours; got {'neither' if money is None else 'both'}")
    pay = settings.pay
    time = seconds if seconds is not None or pay is None else pay.seconds
    if money is not None and pay is None:
        raise PlanError("a budget of money needs the pay of an answer")
    if hours is not None and time is None:
        raise PlanError("a budget of hours needs the seconds that an answer takes")

    def is_affordable(plan: Plan) -> bool:
        spending = planned_spending(plan, n_slots, settings, seconds=time)
        amount, limit = (spending.hours, hours) if money is None else (spending.cost, money)
        return amount is not None and limit is not None and is_within(amount, limit)

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

    # Checks are paid, too: search for the largest number of comparisons that leaves room for them.
    n_comparisons = largest_count(fits, largest.n_comparisons)
    if n_comparisons:
        with suppress(PlanError):
            return plan_of(n_comparisons)
    spending = planned_spending(plan_of(n_comparisons + 1), n_slots, settings, seconds=time)
    limit, cost = (f"{hours:g} hours", spending.hours) if money is None else (f"{money:g}", spending.cost)
    raise PlanError(f"a budget of {limit} is too small: the smallest plan takes {cost:.4g}, with its checks")
