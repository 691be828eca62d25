"""Assess the plan of a campaign on the web: its sizes, its cost, the advice that applies, and its expected accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from adaptive._advice import Advice, advice_on_total
from adaptive._plan import BallotPlan
from adaptive._tuning.outlook import Outlook, outlook_of_ballots, outlook_of_matching
from adaptive.ledger import CampaignSettings, ContinuousPlan, Mode, PlannedSpending, planned_spending
from adaptive.model._matching import Matching

_ACCURACY_ADVICE: Final = frozenset({"few_top_presentations", "few_comparisons"})  # a simulation answers these better
_ACCURATE: Final = 0.95
_TENTH_IS_TWO: Final = 20  # with fewer items, 10 % is less than the two items that the last ballot needs


@dataclass(frozen=True)
class PlanColumns:
    """The sizes of a plan of ballots or of a continuous plan; fields of the other kind are None.

    Attributes
    ----------
    mode : {"ballots", "continuous"}
    n_items : int
    sizes, comparisons : tuple of int
        Items and comparisons of each ballot; of a continuous campaign, all items and the budget.
    n_ballots, presentations, batch : int or None
    fraction, target : float or None
    set_size : int or None
        Items of a comparison; 2 is a pair.
    """

    mode: Mode
    n_items: int
    sizes: tuple[int, ...]
    comparisons: tuple[int, ...]
    n_ballots: int | None = None
    fraction: float | None = None
    presentations: int | None = None
    batch: int | None = None
    target: float | None = None
    set_size: int | None = None

    @classmethod
    def of(cls, plan: BallotPlan | ContinuousPlan) -> PlanColumns:
        """Return the sizes of a plan.

        >>> PlanColumns.of(ContinuousPlan(20, 200)).comparisons
        (200,)
        """
        if isinstance(plan, ContinuousPlan):
            totals = (plan.n_items,), (plan.budget,)
            return cls(
                "continuous", plan.n_items, *totals, batch=plan.batch, target=plan.target, set_size=plan.set_size
            )
        return cls(
            "ballots",
            plan.n_items,
            tuple(plan.sizes),
            tuple(plan.comparisons),
            n_ballots=plan.n_ballots,
            fraction=plan.fraction,
            presentations=plan.presentations,
        )


@dataclass(frozen=True)
class PlanAssessment:
    """The expected questions, cost and accuracy of a plan.

    Attributes
    ----------
    plan : PlanColumns
    spending : PlannedSpending
    advice : tuple of Advice
    outlook : Outlook or None
        None unless the accuracy was simulated. Voters of sets are not simulated.
    """

    plan: PlanColumns
    spending: PlannedSpending
    advice: tuple[Advice, ...]
    outlook: Outlook | None


def assess_plan(
    plan: BallotPlan | ContinuousPlan,
    n_voters: int,
    settings: CampaignSettings,
    *,
    seconds: float | None = None,
    is_simulated: bool = False,
) -> PlanAssessment:
    """Return the cost of a plan, the advice that applies and, if asked for, the simulated accuracy.

    Parameters
    ----------
    seconds : float or None
        Time that an answer takes; None: the time in the pay settings, if any.
    is_simulated : bool
        Whether to simulate the accuracy, which takes seconds. If it is 0.95 or more, advice to ask for more votes is
        left out.

    Examples
    --------
    >>> from adaptive.ledger import CampaignSettings
    >>> assess_plan(ContinuousPlan(45, 12_000), 3, CampaignSettings()).advice[0].code
    'too_many_comparisons'
    """
    outlook = None
    if is_simulated and isinstance(plan, ContinuousPlan) and plan.set_size == 2:
        matching = Matching(batch=plan.batch, n0=plan.n0, focus=plan.focus)
        outlook = outlook_of_matching(plan.n_items, plan.budget, n_voters, matching)
    elif is_simulated and isinstance(plan, BallotPlan):
        outlook = outlook_of_ballots(plan, n_voters)
    spending = planned_spending(plan, n_voters, settings, seconds=seconds)
    return PlanAssessment(PlanColumns.of(plan), spending, _advise(plan, n_voters, outlook), outlook)


def _advise(plan: BallotPlan | ContinuousPlan, n_voters: int, outlook: Outlook | None) -> tuple[Advice, ...]:
    if isinstance(plan, ContinuousPlan):
        return plan.advice_for(n_voters)
    estimates = () if outlook is None else (outlook.scores, outlook.strengths)
    accuracy = max((estimate.mean for estimate in estimates if estimate is not None), default=0.0)
    needless = set(_ACCURACY_ADVICE) if accuracy >= _ACCURATE else set()
    if plan.n_items < _TENTH_IS_TWO:
        needless.add("many_survivors")
    # Not advice_for: on the web nobody is asked a pair twice, so a surplus comparison stays unanswered.
    n_needed = max(
        -(-count // (size * (size - 1) // 2)) for size, count in zip(plan.sizes, plan.comparisons, strict=True)
    )
    possible = advice_on_total(plan.n_comparisons, plan.n_possible(n_voters), n_voters=n_voters, n_needed=n_needed)
    return (*(advice for advice in plan.advice if advice.code not in needless), *possible)
