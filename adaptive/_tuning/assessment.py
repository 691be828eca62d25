"""Assess the plan of a campaign on the web: its sizes, its cost, advice, and its expected accuracy.

The accuracy is predicted within seconds, by as many simulations as this time allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adaptive._plan import Advice, BallotPlan, advice_on_total
from adaptive._tuning.candidates import Candidate, Trial, accuracies
from adaptive._tuning.tune import FRESH, accuracy_interval, middle_range
from adaptive.ledger import CampaignSettings, ContinuousPlan, Mode, PlannedSpending, planned_spending
from adaptive.matching._matching import Matching
from adaptive.simulation._approaches import Approach
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._simulate import simulate
from adaptive.simulation._voters import VoterPopulation
from rankcorr import TauW
from rankcorr._output.results import Result

_ACCURACY_ADVICE: Final = frozenset({"few_top_presentations", "few_comparisons"})  # a simulation is more precise
_ACCURATE: Final = 0.95
_TENTH_IS_TWO: Final = 20  # with fewer items, 10 % is less than the two items that the last ballot needs
LEVEL: Final = 0.9
MOST_SIMULATIONS: Final = 40
LEAST_SIMULATIONS: Final = 4
_SECONDS: Final = 2.0  # about as long as an organiser waits
# Rounds of a simulated campaign whose pairs are matched. Up to ten times as many took two to seven times as long,
# and changed the mean tau_w of 20 to 100 items by at most 0.003, within 1.4 standard errors.
_ROUNDS: Final = 20
# Seconds on one core, measured and rounded up: for each simulation, and for each of its comparisons.
_PAPER: Final = (0.005, 1e-6)
_FITTED: Final = (0.03, 20e-6)
_MATCHED: Final = (0.05, 80e-6)
_OPINION: Final = 30e-9  # for each voter and item


@dataclass(frozen=True)
class PlanColumns:
    """The sizes of a plan of ballots or of a continuous plan; fields of the other kind are None.

    Attributes
    ----------
    mode : {"ballots", "continuous"}
    n_items : int
    sizes, comparisons : tuple of int
        Number of items and of comparisons in each ballot; for a continuous campaign, all items and the budget.
    n_ballots, presentations, batch : int or None
    fraction, target : float or None
    set_size : int or None
        Number of items in a comparison; 2 for pairs.
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


@dataclass(frozen=True, eq=False)
class Reached(Result):
    """Agreement of simulated rankings with the true one.

    Attributes
    ----------
    mean, low, high : float
        Mean tau_w of the simulations, and its interval by Student's t.
    worst, best : float
        Range of tau_w for a single campaign: the quantiles of the simulations at this level.
    """

    mean: float
    low: float
    high: float
    worst: float
    best: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Reached:
        """Summarize the coefficients of several simulations."""
        return cls(float(values.mean()), *accuracy_interval(values, LEVEL), *middle_range(values, LEVEL))


@dataclass(frozen=True, eq=False)
class Outlook(Result):
    """The expected accuracy of a plan, with the paper's simulated voters and exponential similarities.

    Attributes
    ----------
    n_simulations : int
        0 if the plan is too large to be simulated in time.
    n_voters : int
    scores : Reached or None
        Accuracy of the paper's scores; None in a continuous campaign.
    strengths : Reached or None
        Accuracy of strengths fitted to all votes; None if the fits take too long.
    """

    n_simulations: int
    n_voters: int
    scores: Reached | None
    strengths: Reached | None


def outlook_of_ballots(plan: BallotPlan, n_voters: int, *, seconds: float = _SECONDS, seed: int = 0) -> Outlook:
    """Predict the accuracy of a plan of ballots.

    The number of simulations depends only on the plan, so a plan has the same outlook on every machine.

    Parameters
    ----------
    seconds : float
        Approximate time limit; the minimum number of simulations may take four times as long.

    Examples
    --------
    >>> from adaptive._plan import plan_ballots
    >>> outlook = outlook_of_ballots(plan_ballots(40, n_ballots=3, fraction=0.5, presentations=10), 20)
    >>> outlook.n_simulations
    40
    >>> outlook.strengths.mean > 0.8
    True
    """
    n_comparisons, n_opinions = plan.n_comparisons, n_voters * plan.n_items
    fitted = _n_simulations(_FITTED, n_comparisons, n_opinions, seconds)
    number = fitted or _n_simulations(_PAPER, n_comparisons, n_opinions, seconds)
    if not number:
        return Outlook(0, n_voters, None, None)
    approaches: tuple[Approach, ...] = ("adaptive", "adaptive_fitted") if fitted else ("adaptive",)
    population, similarity = VoterPopulation(n_voters), exponential_similarity(plan.n_items)
    simulation = simulate(plan, population, similarity, n_simulations=number, seed=seed, approaches=approaches)
    scores, *strengths = (Reached.of(simulation.statistics[approach]["tau_w"]) for approach in approaches)
    return Outlook(number, n_voters, scores, strengths[0] if strengths else None)


def outlook_of_matching(n_items: int, budget: int, n_voters: int, matching: Matching) -> Outlook:
    """Predict the accuracy of a continuous campaign once its budget is spent, simulated in at most 20 batches.

    Examples
    --------
    >>> outlook_of_matching(12, 60, 20, Matching()).strengths.mean > 0.8
    True
    """
    number = _n_simulations(_MATCHED, budget, n_voters * n_items, _SECONDS)
    if not number:
        return Outlook(0, n_voters, None, None)
    trial = Trial(exponential_similarity(n_items), VoterPopulation(n_voters), True, TauW(), 0, FRESH)
    any_plan = BallotPlan(n_items, n_ballots=2, fraction=0.9, presentations=1)  # matching uses only n_items
    batch = max(matching.batch_of(n_items), math.ceil(budget / _ROUNDS))
    candidate = Candidate("matched", any_plan, matching=replace(matching, batch=batch))
    values = accuracies(trial, [candidate], [budget], range(number), None, None)
    return Outlook(number, n_voters, None, Reached.of(values[:, 0, 0]))


def _n_simulations(cost: tuple[float, float], n_comparisons: int, n_opinions: int, seconds: float) -> int:
    """Return the number of simulations that fit the time; 0 if even the minimum would take over four times as long."""
    seconds_per_run = cost[0] + cost[1] * n_comparisons + _OPINION * n_opinions
    if LEAST_SIMULATIONS * seconds_per_run > 4 * seconds:
        return 0
    return min(MOST_SIMULATIONS, max(LEAST_SIMULATIONS, math.floor(seconds / seconds_per_run)))


@dataclass(frozen=True)
class PlanAssessment:
    """The sizes, cost, advice and expected accuracy of a plan.

    Attributes
    ----------
    plan : PlanColumns
    spending : PlannedSpending
    advice : tuple of Advice
    outlook : Outlook or None
        None if the accuracy was not simulated, and always for sets.
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
    """Return the cost of a plan, advice on it and, optionally, its simulated accuracy.

    Parameters
    ----------
    seconds : float or None
        Response time; by default the time in the pay settings, if any.
    is_simulated : bool
        Whether to simulate the accuracy, which takes seconds. If it is 0.95 or more, advice to collect more votes is
        omitted.

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
    # Not advice_for: on the web, nobody is asked a pair twice, so surplus comparisons stay unanswered.
    n_needed = max(
        -(-count // (size * (size - 1) // 2)) for size, count in zip(plan.sizes, plan.comparisons, strict=True)
    )
    possible = advice_on_total(plan.n_comparisons, plan.n_possible(n_voters), n_voters=n_voters, n_needed=n_needed)
    return (*(advice for advice in plan.advice if advice.code not in needless), *possible)
