"""Find the best way to spend a budget by successive halving of simulated candidates."""

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._plan import Advice, advice_on_budget
from adaptive._tuning.candidates import Candidate, Trial, accuracies, candidates_for, paper_candidate
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import SimilarityError
from adaptive.model._models import bradley_terry
from adaptive.simulation._approaches import checked_voters
from adaptive.simulation._population import PopulationFit, fit_population, similarity_of_strengths
from adaptive.simulation._similarity import checked_similarity
from adaptive.simulation._voters import Interval, VoterPool, VoterPopulation
from rankcorr._checks import check_declared, checked_count, checked_level, checked_seed, declare, shown
from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr._output.results import TableResult
from rankcorr._workers import Progress

RACE, FRESH = 0, 1  # stages with separate seeds: the search, and the measurement of its winner
_PILOT_RESAMPLES = 20


@dataclass(frozen=True)
class Search:
    """Numbers of simulations of `tune_plan`."""

    simulations: int = declare(int, 4, least=2, about="Simulations of each candidate in the first round.")
    fresh: int = declare(int, 40, least=2, about="Simulations of the winner.")

    def __post_init__(self) -> None:
        check_declared(self, SimilarityError)


@dataclass(frozen=True)
class CandidateRow:
    """Results of a candidate in the search.

    Attributes
    ----------
    candidate : Candidate
    mean, se : float
        Mean accuracy in its simulations, and standard error. Means of candidates that survive long are too high,
        because candidates survive by high means.
    simulations : int
        Number of its simulations.
    fell_out : int
        Round, counted from 1, after which it was dropped; 0 for the winner.
    """

    candidate: Candidate
    mean: float
    se: float
    simulations: int
    fell_out: int


@dataclass(frozen=True, eq=False, repr=False)
class TunedPlan(TableResult):
    """The best way to spend a budget, its accuracy, and all candidates.

    The table has one row for each candidate, the best first, with the columns candidate, approach, mean, se,
    simulations and fell_out.

    Attributes
    ----------
    budget : int
        Number of comparisons.
    coefficient : str
        Measure of accuracy.
    best : Candidate
        The winner.
    rows_tried : tuple of CandidateRow
        The winner first, then those that survived longest.
    accuracy, accuracy_se : float
        Mean accuracy of the winner and its standard error, in fresh simulations. The mean in the search is too high,
        because it selected the winner.
    accuracy_interval : pair of float
        Interval of that mean, by Student's t.
    spread : pair of float
        Range of the accuracy of a single campaign: quantiles of the fresh simulations at `level`.
    paper : Candidate
        The paper's default plan for the same budget.
    paper_accuracy, paper_se : float
        Mean accuracy of the paper's plan in the same fresh simulations, and its standard error.
    gain : float
        Accuracy of the winner minus that of the paper's plan.
    gain_interval : pair of float
        Interval of the gain, by Student's t of the paired differences.
    level : float
        Confidence level of the intervals.
    simulations : int
        Number of fresh simulations.
    population : PopulationFit or None
        The fit to the pilot votes.
    advice : tuple of Advice
        Advice if the budget exceeds the number of pairs that the voters can answer.

    See Also
    --------
    tune_plan : Returns it.
    Candidate : The type of `best`.

    Examples
    --------
    >>> from adaptive import candidates_for, exponential_similarity, tune_plan
    >>> few = candidates_for(20, 200, approaches=["adaptive"])[:2]
    >>> tuned = tune_plan(200, similarity=exponential_similarity(20), candidates=few, simulations=2, fresh=2)
    >>> tuned.best in few, tuned.simulations, len(tuned.rows_tried)
    (True, 2, 2)
    >>> tuned.accuracy_interval[0] < tuned.accuracy < tuned.accuracy_interval[1]
    True
    """

    _caption: ClassVar[str] = "Candidates for a budget, the best first"

    budget: int
    coefficient: str
    best: Candidate
    rows_tried: tuple[CandidateRow, ...]
    accuracy: float
    accuracy_se: float
    accuracy_interval: Interval
    spread: Interval
    paper: Candidate
    paper_accuracy: float
    paper_se: float
    gain: float
    gain_interval: Interval
    level: float
    simulations: int
    population: PopulationFit | None = None
    advice: tuple[Advice, ...] = ()

    def _columns(self) -> dict[str, list[Any]]:
        names = [row.candidate.name for row in self.rows_tried]
        approaches = [row.candidate.approach for row in self.rows_tried]
        numbers = {
            name: [getattr(row, name) for row in self.rows_tried] for name in ("mean", "se", "simulations", "fell_out")
        }
        return {"candidate": names, "approach": approaches, **numbers}

    def __repr__(self) -> str:
        low, high = self.accuracy_interval
        return (
            f"<TunedPlan for {self.budget:,} comparisons: {self.best}; {self.coefficient} {self.accuracy:.3f} "
            f"({low:.3f} to {high:.3f}), the paper's plan {self.paper_accuracy:.3f}>"
        )


def tune_plan(
    budget: int,
    *,
    similarity: ArrayLike | None = None,
    pilot: Comparisons | None = None,
    voters: VoterPool | VoterPopulation | None = None,
    relatedness: bool = True,
    coefficient: CoefficientLike = "tau_w",
    candidates: Sequence[Candidate] | None = None,
    simulations: int = Search.simulations,
    fresh: int = Search.fresh,
    level: float = 0.95,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> TunedPlan:
    """Find the best way to spend a budget of comparisons, by successive halving of candidates.

    Each round doubles the simulations of the remaining candidates and drops the worse half, until one is left. In a
    simulation, all candidates have the same voters with the same opinions. Fresh simulations then compare the winner
    with the paper's default plan. Another seed may choose another plan of nearly the same accuracy: the means and
    standard errors of `rows_tried` show which candidates were close.

    Parameters
    ----------
    budget : int
        Number of comparisons.
    similarity : array_like of shape (n_items,), optional
        Expected underlying similarities z in [-1, 1].
    pilot : Comparisons, optional
        Votes on the same items, or on similar items. Without `similarity`, similarities are derived from the strengths
        of these votes, and voters judge z itself. Without `voters`, a population is fitted to these votes.
    voters : VoterPool or VoterPopulation, optional
        By default those of the pilot votes, or the paper's.
    relatedness : bool
        Whether voters judge abs(z) instead of z; ignored without `similarity`.
    coefficient : str or Coefficient
        Measure of accuracy: "tau_w", "rho_w", "tau", "rho", or a value such as ``TauW(n0=10)``.
    candidates : sequence of Candidate, optional
        By default `candidates_for` the budget.
    simulations : int
        Number of simulations of each candidate in the first round, at least 2.
    fresh : int
        Number of fresh simulations of the winner and the paper's plan, at least 2.
    level : float
        Confidence level of the intervals.
    seed : int
        The same seed gives the same result with any executor.
    executor : concurrent.futures.Executor, optional
        Runs the simulations, such as on a Dask cluster; by default they run one by one.
    progress : callable, optional
        Called with numbers of completed runs, `tuning_runs` in total.

    Returns
    -------
    TunedPlan

    Raises
    ------
    SimilarityError
        There are neither similarities nor pilot votes, voters have another type, or a number is out of range.
    PlanError
        The budget is too small for any plan.
    ModelError
        The pilot votes have no voters, and `voters` is not given.

    See Also
    --------
    candidates_for : List candidates.
    votes_needed : Find the votes needed for an accuracy.
    simulate : Simulate one plan.

    References
    ----------
    K. Jamieson and A. Talwalkar, Non-stochastic best arm identification and hyperparameter optimization, AISTATS 2016.

    Examples
    --------
    >>> from adaptive import candidates_for, exponential_similarity, tune_plan
    >>> few = candidates_for(20, 200, approaches=["matched"])[:2]
    >>> tuned = tune_plan(200, similarity=exponential_similarity(20), candidates=few, simulations=2, fresh=4, seed=1)
    >>> tuned.best.approach, len(tuned.rows_tried)
    ('matched', 2)
    """
    n_comparisons = checked_count(budget, "budget", SimilarityError)
    search = Search(simulations, fresh)
    coefficient_value, level_value = as_coefficient(coefficient), checked_level(level)
    checked_seed(seed, SimilarityError)
    values, own_voters, judged, population = _setting(similarity, pilot, voters, relatedness, int(seed))
    compared = tuple(candidates_for(values.size, n_comparisons) if candidates is None else candidates)
    if not compared or any(not isinstance(candidate, Candidate) for candidate in compared):
        raise SimilarityError(f"candidates must be one Candidate or more; got {shown(candidates)}")
    if other := [candidate for candidate in compared if candidate.plan.n_items != values.size]:
        raise SimilarityError(f"there are {values.size} items; the plan of {other[0]} has {other[0].plan.n_items}")
    paper = paper_candidate(values.size, n_comparisons)

    def trial(stage: int) -> Trial:
        return Trial(values, own_voters, judged, coefficient_value, int(seed), stage)

    rows = _race(trial(RACE), compared, n_comparisons, search.simulations, executor, progress)
    best = rows[0].candidate
    last = accuracies(trial(FRESH), [best, paper], [n_comparisons], range(search.fresh), executor, progress)[:, :, 0]
    winner_values, papers = last[:, 0], last[:, 1]
    return TunedPlan(
        budget=n_comparisons,
        coefficient=coefficient_value.name,
        best=best,
        rows_tried=rows,
        accuracy=float(winner_values.mean()),
        accuracy_se=_se(winner_values),
        accuracy_interval=accuracy_interval(winner_values, level_value),
        spread=middle_range(winner_values, level_value),
        paper=paper,
        paper_accuracy=float(papers.mean()),
        paper_se=_se(papers),
        gain=float((winner_values - papers).mean()),
        gain_interval=mean_interval(winner_values - papers, level_value),
        level=level_value,
        simulations=search.fresh,
        population=population,
        advice=tuple(advice_on_budget(n_comparisons, n_items=values.size, n_voters=own_voters.n_voters)),
    )


def tuning_runs(n_candidates: int, *, simulations: int = Search.simulations, fresh: int = Search.fresh) -> int:
    """Return the number of runs of `tune_plan`, which is the total of its `progress`.

    Examples
    --------
    >>> tuning_runs(8, simulations=4, fresh=40)  # 8 * 4 + 4 * 4 + 2 * 8 + 2 * 40
    144
    """
    runs, n_done, total, left = 0, 0, simulations, n_candidates
    while left > 1:
        runs += left * (total - n_done)
        n_done, total, left = total, 2 * total, -(-left // 2)
    return runs + 2 * fresh


def mean_interval(values: NDArray[np.float64], level: float) -> Interval:
    """Return the interval of a mean by Student's t."""
    from scipy.special import stdtrit

    half = float(stdtrit(values.size - 1, (1 + level) / 2)) * _se(values)
    return float(values.mean()) - half, float(values.mean()) + half


def accuracy_interval(values: NDArray[np.float64], level: float) -> Interval:
    """Return the interval of a mean coefficient, which is between -1 and 1."""
    low, high = mean_interval(values, level)
    return max(low, -1.0), min(high, 1.0)  # nan remains nan


def middle_range(values: NDArray[np.float64], level: float) -> Interval:
    """Return the range that contains a share `level` of the values: their quantiles at (1 - level) / 2 on each side."""
    tail = (1 - level) / 2
    return float(np.quantile(values, tail)), float(np.quantile(values, 1 - tail))


def _race(
    trial: Trial,
    candidates: tuple[Candidate, ...],
    budget: int,
    simulations: int,
    executor: Executor | None,
    progress: Progress | None,
) -> tuple[CandidateRow, ...]:
    """Return all candidates, the winner first."""
    left = list(range(len(candidates)))
    values = np.empty((0, len(candidates)))
    rows: list[CandidateRow] = []
    number, total = 0, simulations
    while len(left) > 1:
        number += 1
        new = accuracies(
            trial, [candidates[k] for k in left], [budget], range(values.shape[0], total), executor, progress
        )[:, :, 0]
        block = np.full((new.shape[0], len(candidates)), math.nan)
        block[:, left] = new
        values, total = np.concatenate([values, block]), 2 * total
        # A candidate with a ranking of a single tie has no coefficient, and ranks below all others.
        means = {k: float(values[:, k].mean()) for k in left}
        order = sorted(left, key=lambda k: -math.inf if math.isnan(means[k]) else means[k], reverse=True)
        n_left = -(-len(left) // 2)
        rows = [_row(candidates[k], values[:, k], number) for k in order[n_left:]] + rows
        left = order[:n_left]
    winner_values = values[:, left[0]]
    winner = (
        _row(candidates[left[0]], winner_values, 0)
        if winner_values.size
        else CandidateRow(candidates[0], math.nan, math.nan, 0, 0)
    )
    return (winner, *rows)


def _row(candidate: Candidate, values: NDArray[np.float64], fell_out: int) -> CandidateRow:
    return CandidateRow(candidate, float(values.mean()), _se(values), values.size, fell_out)


def _se(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(values.size)


def _setting(
    similarity: ArrayLike | None,
    pilot: Comparisons | None,
    voters: VoterPool | VoterPopulation | None,
    relatedness: bool,
    seed: int,
) -> tuple[NDArray[np.float64], VoterPool | VoterPopulation, bool, PopulationFit | None]:
    """Return similarities, voters, whether voters judge abs(z), and the fit to the pilot votes."""
    if pilot is None:
        if similarity is None:
            raise SimilarityError("the best plan depends on the items: give similarity or pilot")
        population = VoterPopulation() if voters is None else voters
        return checked_voters(population, similarity), population, relatedness, None
    judged = relatedness and similarity is not None
    fitted = None
    if voters is None:
        fitted = fit_population(pilot, similarity=similarity, relatedness=judged, resamples=_PILOT_RESAMPLES, seed=seed)
        voters = fitted.population
    elif not isinstance(pilot, Comparisons):
        raise SimilarityError(f"pilot must be Comparisons; got {shown(pilot)}")
    values = similarity_of_strengths(bradley_terry(pilot)) if similarity is None else checked_similarity(similarity)
    checked_voters(voters, values)
    return values, voters, judged, fitted
