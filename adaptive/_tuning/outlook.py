"""Predict the accuracy of a plan within seconds, by as many simulations as their cost allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from adaptive._plan import BallotPlan
from adaptive._tuning.candidates import Candidate, Trial, accuracies
from adaptive._tuning.tune import FRESH, mean_interval
from adaptive.model._matching import Matching
from adaptive.simulation._approaches import Approach
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._simulate import simulate
from adaptive.simulation._voters import VoterPopulation
from rankcorr import TauW
from rankcorr._results import Result

LEVEL: Final = 0.9
MOST_SIMULATIONS: Final = 40
LEAST_SIMULATIONS: Final = 4
_SECONDS: Final = 2.0  # about as long as an organiser waits
# Seconds of one simulation on one core, measured and rounded up: for each, and for each of its comparisons.
_PAPER: Final = (0.005, 1e-6)
_FITTED: Final = (0.01, 10e-6)
_MATCHED: Final = (0.01, 40e-6)
_MATCHED_AGAIN: Final = 3e-7  # for each vote in the fit before each later batch
_OPINION: Final = 30e-9  # for each voter and item


@dataclass(frozen=True, eq=False)
class Reached(Result):
    """Agreement of one ranking with the true one.

    Attributes
    ----------
    mean, low, high : float
        Mean tau_w of the simulations, and its interval by Student's t.
    worst, best : float
        Range of the result of one voting: the quantiles of the simulations at the ends of the level.
    """

    mean: float
    low: float
    high: float
    worst: float
    best: float

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Reached:
        """Summarise the coefficients of several simulations."""
        low, high = mean_interval(values, LEVEL)
        tail = (1 - LEVEL) / 2
        ends = (float(np.quantile(values, tail)), float(np.quantile(values, 1 - tail)))
        return cls(float(values.mean()), max(-1.0, low), min(1.0, high), *ends)


@dataclass(frozen=True, eq=False)
class Outlook(Result):
    """The expected accuracy of a plan, with the paper's simulated voters and exponentially falling similarities.

    Attributes
    ----------
    n_simulations : int
        0 if the plan is too large for the time.
    n_voters : int
    scores : Reached or None
        Of the paper's scores; None in a continuous campaign.
    strengths : Reached or None
        Of strengths fitted to all votes; None if that takes too long.
    """

    n_simulations: int
    n_voters: int
    scores: Reached | None
    strengths: Reached | None


def outlook_of_ballots(plan: BallotPlan, n_voters: int, *, seconds: float = _SECONDS, seed: int = 0) -> Outlook:
    """Predict the accuracy of a plan of ballots.

    The number of simulations depends only on the plan, so the same plan has the same outlook on every machine.

    Parameters
    ----------
    seconds : float
        Approximate time allowed; the minimum number of simulations may take four times as long.

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
    """Predict the accuracy of a continuous campaign once its budget is spent.

    Examples
    --------
    >>> outlook_of_matching(40, 400, 20, Matching()).strengths.mean > 0.8
    True
    """
    seconds_per_run = _MATCHED[1] + _MATCHED_AGAIN * budget / matching.batch_of(n_items)
    number = _n_simulations((_MATCHED[0], seconds_per_run), budget, n_voters * n_items, _SECONDS)
    if not number:
        return Outlook(0, n_voters, None, None)
    trial = Trial(exponential_similarity(n_items), VoterPopulation(n_voters), True, TauW(), 0, FRESH)
    any_plan = BallotPlan(n_items, n_ballots=2, fraction=0.9, presentations=1)  # matching takes the items from it
    candidate = Candidate("matched", any_plan, matching=matching)
    values = accuracies(trial, [candidate], [budget], range(number), None, None)
    return Outlook(number, n_voters, None, Reached.of(values[:, 0, 0]))


def _n_simulations(cost: tuple[float, float], n_comparisons: int, n_opinions: int, seconds: float) -> int:
    """Return the number of simulations for the time; 0 if even the minimum would take four times as long."""
    seconds_per_run = cost[0] + cost[1] * n_comparisons + _OPINION * n_opinions
    if LEAST_SIMULATIONS * seconds_per_run > 4 * seconds:
        return 0
    return min(MOST_SIMULATIONS, max(LEAST_SIMULATIONS, math.floor(seconds / seconds_per_run)))
