"""Find the plan for a budget or a precision: the inverses of `adaptive._plan.plan_ballots`.

Plans are whole numbers, so the inverses are exact searches, not formulas.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_CEILING
from typing import Any

from adaptive._plan import (
    LARGEST_COUNT,
    MOST_BALLOTS,
    MOST_SET,
    BallotPlan,
    checked_integer,
    checked_positive,
    four_digits,
    plan_ballots,
)
from adaptive.errors import PlanError
from rankcorr._checks import declare, real_number, shown
from rankcorr._input.numbers import ROUNDING

USUAL_BALLOTS = 7


def plan_for_budget(
    n_items: int,
    *,
    n_ballots: int,
    fraction: float,
    comparisons: int | None = None,
    hours: float | None = None,
    seconds_per_comparison: float | None = None,
) -> BallotPlan:
    """Plan the most presentations that a budget allows: `comparisons`, or `hours` and the seconds per comparison.

    Parameters
    ----------
    n_items, n_ballots, fraction
        As for `plan_ballots`.
    comparisons : int, optional
        The most comparisons, of all ballots together.
    hours : float, optional
        The most person-hours, `BallotPlan.cost` of the plan.
    seconds_per_comparison : float, optional
        Mean time that a voter takes for one comparison; needed with `hours`.

    Returns
    -------
    BallotPlan
        One presentation more would exceed the budget.

    Raises
    ------
    PlanError
        Neither or both budgets are given, or only one of `hours` and the seconds. The budget is too small for one
        presentation (the message says how much would be enough) or too large to count. Also as `plan_ballots`.

    See Also
    --------
    plan_ballots : Plan from a number of presentations.
    plan_for_top : Plan from the presentations of a top item.
    tune_plan : Compare plans of one budget by simulation.

    Examples
    --------
    >>> from adaptive import plan_for_budget
    >>> plan_for_budget(990, n_ballots=7, fraction=0.5, comparisons=20_000)
    BallotPlan(n_items=990, n_ballots=7, fraction=0.5, presentations=20)
    >>> plan_for_budget(990, n_ballots=7, fraction=0.5, hours=40, seconds_per_comparison=5).presentations
    29
    """
    if (comparisons is None) == (hours is None):
        got = "neither" if comparisons is None else "both"
        raise PlanError(f"give the budget as comparisons or as hours; got {got}")
    if (hours is None) != (seconds_per_comparison is None):
        if hours is None:
            raise PlanError("seconds_per_comparison has no effect without hours; got comparisons")
        raise PlanError("a budget of hours needs seconds_per_comparison as well")

    def plan_with(presentations: int) -> BallotPlan:
        return BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)

    smallest = plan_with(1)
    enough = f"the smallest plan, with 1 presentation, has {smallest.n_comparisons} comparisons"
    if hours is None or seconds_per_comparison is None:
        most = checked_integer(comparisons, "comparisons", least=1)
        if smallest.n_comparisons > most:
            raise PlanError(f"a budget of {most} comparisons is too small: {enough}")
        return plan_with(largest_count(lambda m: plan_with(m).n_comparisons <= most))
    most_hours = checked_positive(hours, "hours")
    seconds = checked_positive(seconds_per_comparison, "seconds_per_comparison")
    if not is_within(smallest.cost(seconds), most_hours):
        # Rounded up, so that the budget in the message is enough.
        takes = four_digits(smallest.cost(seconds), ROUND_CEILING)
        raise PlanError(f"a budget of {most_hours} hours is too small: {enough} and takes {takes} hours")
    if plan_with(LARGEST_COUNT).cost(seconds) <= most_hours:
        raise PlanError(
            f"a budget of {most_hours} hours at {seconds} seconds per comparison is too large: it pays for more than "
            f"{LARGEST_COUNT} presentations"
        )
    return plan_with(largest_count(lambda m: is_within(plan_with(m).cost(seconds), most_hours)))


def plan_for_top(n_items: int, *, n_ballots: int, fraction: float, top_presentations: int) -> BallotPlan:
    """Plan the fewest presentations that give a top item the required total: n_b M >= M_top (Eq. 4).

    Parameters
    ----------
    n_items, n_ballots, fraction
        As for `plan_ballots`.
    top_presentations : int
        Required M_top, at least 1; the paper recommends 100.

    Returns
    -------
    BallotPlan
        Its `top_presentations` is the required number, or up to n_b - 1 more.

    Raises
    ------
    PlanError
        If `top_presentations` is not an integer of at least 1; and as `plan_ballots`.

    See Also
    --------
    plan_for_budget : The reverse: from the cost to the presentations.
    votes_needed : The votes that an accuracy takes, by simulation.

    Examples
    --------
    >>> from adaptive import plan_for_top
    >>> plan_for_top(990, n_ballots=7, fraction=0.5, top_presentations=100)
    BallotPlan(n_items=990, n_ballots=7, fraction=0.5, presentations=15)
    """
    n_top = checked_integer(top_presentations, "top_presentations", least=1)
    smallest = BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=1)
    presentations = -(-n_top // smallest.n_ballots)
    return BallotPlan(n_items, n_ballots=n_ballots, fraction=fraction, presentations=presentations)


def is_within(cost: float, budget: float) -> bool:
    """Return whether a budget is enough for a cost, which rounding may have made a little larger.

    Examples
    --------
    >>> is_within(3 * 0.1, 0.3), is_within(0.31, 0.3)
    (True, False)
    """
    return cost <= budget * (1 + ROUNDING)


def answers_for(money: float, *, per_answer: float, fee: float = 0.0) -> int:
    """Return the number of answers that an amount of money pays for, including the fee of the platform.

    Parameters
    ----------
    money, per_answer : float
        In the same currency.
    fee : float
        Share of the pay: 0.25 is a quarter.

    Raises
    ------
    PlanError
        If the money or the pay is not a finite number above 0, or the fee not a number from 0 on; or if the money pays
        for no answer, or for more than can be counted.

    Examples
    --------
    >>> answers_for(300, per_answer=0.02), answers_for(300, per_answer=0.02, fee=0.25)
    (15000, 12000)
    """
    amount, pay = checked_positive(money, "money"), checked_positive(per_answer, "per_answer")
    share = real_number(fee)
    if not 0 <= share < math.inf:
        raise PlanError(f"fee must be a share of the pay, from 0 on; got {shown(fee)}")
    price = pay * (1 + share)
    if not is_within(price, amount) or amount >= price * LARGEST_COUNT:
        count = "not even one answer" if not is_within(price, amount) else f"more than {LARGEST_COUNT} answers"
        raise PlanError(f"a budget of {amount:g} pays for {count}, at {price:.4g} each")
    number = round(amount / price)
    return number if is_within(number * price, amount) else number - 1


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """The options of a plan, of which exactly one sets the number of presentations.

    Examples
    --------
    >>> PlanOptions(comparisons=20_000).plan(990).presentations
    20
    """

    n_ballots: int | None = declare(
        int,
        None,
        least=2,
        most=MOST_BALLOTS,
        about=f"Number of ballots, n_b; by default {USUAL_BALLOTS}, or as many as so few items allow.",
    )
    fraction: float = declare(
        float, 0.5, above=0, below=1, about="Fraction of items that a ballot passes on to the next, alpha."
    )
    presentations: int | None = declare(
        int, None, least=1, most=LARGEST_COUNT, about="Presentations of each item in each ballot, M."
    )
    comparisons: int | None = declare(
        int, None, least=1, most=LARGEST_COUNT, about="Or the maximum number of comparisons of all ballots together."
    )
    hours: float | None = declare(
        float, None, above=0, about="Or the maximum person-hours; needs the seconds per comparison too."
    )
    top_presentations: int | None = declare(
        int,
        None,
        least=1,
        most=LARGEST_COUNT,
        about="Or the minimum number of presentations, over all ballots, of an item that reaches the last one, M_top.",
    )
    seconds_per_comparison: float | None = declare(
        float, None, above=0, about="Mean time that a voter takes for one comparison."
    )

    def plan(self, n_items: int) -> BallotPlan:
        """Return the plan.

        Raises
        ------
        PlanError
            When none of `presentations`, `top_presentations`, `comparisons` and `hours` is given, or several; and as
            `plan_ballots`, `plan_for_top` and `plan_for_budget`.
        """
        ways = ("presentations", "top_presentations", "comparisons", "hours")
        names = [name for name in ways if getattr(self, name) is not None]
        if len(names) != 1:
            raise PlanError(f"exactly one of {', '.join(ways)} is needed; got {' and '.join(names) or 'none'}")
        n_ballots = most_ballots(n_items, self.fraction) if self.n_ballots is None else self.n_ballots
        shape: dict[str, Any] = {"n_ballots": n_ballots, "fraction": self.fraction}
        if self.presentations is not None:
            return plan_ballots(n_items, **shape, presentations=self.presentations)
        if self.top_presentations is not None:
            return plan_for_top(n_items, **shape, top_presentations=self.top_presentations)
        seconds = None if self.hours is None else self.seconds_per_comparison
        return plan_for_budget(
            n_items, **shape, comparisons=self.comparisons, hours=self.hours, seconds_per_comparison=seconds
        )


@dataclass(frozen=True)
class BatchOptions:
    """The options of a plan without ballots."""

    batch: int | None = declare(
        int, None, least=1, about="Comparisons of a batch; by default as many as there are items, from 10 to 50."
    )
    target: float | None = declare(
        float,
        None,
        above=0,
        most=1,
        about="Stop when the expected tau_w reaches this, and a much lower one is unlikely.",
    )
    set_size: int = declare(
        int,
        2,
        least=2,
        most=MOST_SET,
        about="Items of a comparison: 2 is a pair; of 3 to 6 items, voters choose the best and the worst.",
    )


@dataclass(frozen=True)
class PayOptions:
    """What an answer costs."""

    per_vote: float | None = declare(float, None, above=0, about="Pay of a voter for an answer.")
    per_hour: float | None = declare(
        float, None, above=0, about="Or the pay of a voter per hour; needs the seconds per comparison too."
    )
    seconds: float | None = declare(float, None, above=0, about="Mean time that a voter takes for one comparison.")
    fee: float = declare(float, 0.0, least=0, about="Fee of the platform, as a share of the pay.")


def most_ballots(n_items: int, fraction: float, *, most: int = USUAL_BALLOTS) -> int:
    """Return the most ballots, up to `most`, whose last one has two items; at least 2, even if there is no such plan.

    Examples
    --------
    >>> most_ballots(990, 0.5), most_ballots(12, 0.5)
    (7, 4)
    """
    size, number = n_items, 1
    if not 0 < fraction < 1:
        return most  # any plan refuses the fraction
    while number < most and round(fraction * size) >= 2:
        size, number = round(fraction * size), number + 1
    return max(2, number)


def largest_count(fits: Callable[[int], bool], too_many: int = LARGEST_COUNT) -> int:
    """Return the largest count that `fits`, which is true below it and false above; `too_many` does not fit.

    Examples
    --------
    >>> largest_count(lambda n: n * n <= 50)
    7
    """
    return bisect_left(range(1, too_many), True, key=lambda count: not fits(count))
