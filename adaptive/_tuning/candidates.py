"""List the ways to spend a budget of comparisons, and simulate them with the same voters."""

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import product
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._blas import one_blas_thread
from adaptive._budget import plan_for_budget
from adaptive._plan import BallotPlan
from adaptive.errors import PlanError, SimilarityError
from adaptive.matching._matched_ballots import MATCHED_BALLOTS, MatchedBallots
from adaptive.matching._matching import MATCHING, Matching
from adaptive.simulation._approaches import Approach, ApproachOptions, rankings_of
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking
from rankcorr._checks import shown
from rankcorr._coefficients import Coefficient
from rankcorr._output.results import Result
from rankcorr._ranking import Ranking
from rankcorr._workers import Progress, in_executor

CANDIDATES: Final[tuple[Approach, ...]] = ("adaptive", "adaptive_fitted", "matched_ballots", "matched")

_N_BALLOTS: Final = (3, 5, 7, 9)
_FRACTIONS: Final = (0.35, 0.5, 0.65)
_MATCHED_BALLOTS: Final = ((5, 9), (0.5, 0.6, 0.7), (0.5, 1.0))
_FOCUS: Final = (0.4, 0.65, 0.9)
_FIRST: Final = (1, 2)


@dataclass(frozen=True, eq=False)
class Candidate(Result):
    """One way to spend a budget.

    Attributes
    ----------
    approach : str
        "adaptive" is the paper's protocol; "adaptive_fitted" fits strengths to all of its votes. "matched_ballots" has
        fixed ballots that pair neighbours; "matched" chooses comparisons batch by batch.
    plan : BallotPlan
        Ballots of "adaptive" and "adaptive_fitted"; the other approaches use only its number of items.
    matching : Matching
        Options of "matched".
    matched_ballots : MatchedBallots
        Options of "matched_ballots".

    See Also
    --------
    candidates_for : List candidates.
    tune_plan : Compare candidates.

    Examples
    --------
    >>> from adaptive import Candidate, plan_for_budget
    >>> plan = plan_for_budget(60, n_ballots=3, fraction=0.5, comparisons=900)
    >>> print(Candidate("adaptive", plan))
    adaptive, 3 of fraction 0.5, 17 presentations
    """

    approach: Approach
    plan: BallotPlan
    matching: Matching = MATCHING
    matched_ballots: MatchedBallots = MATCHED_BALLOTS

    @property
    def name(self) -> str:
        """Approach and its parameters as text."""
        if self.approach == "matched":
            batch = self.matching.batch_of(self.plan.n_items)
            return f"matched, focus {self.matching.focus:g}, first {self.matching.first}, batches of {batch}"
        if self.approach == "matched_ballots":
            options = self.matched_ballots
            return f"matched ballots, {options.n_ballots} of fraction {options.fraction:g}, noise {options.noise:g}"
        plan, approach = self.plan, "adaptive, fitted" if self.approach == "adaptive_fitted" else self.approach
        return f"{approach}, {plan.n_ballots} of fraction {plan.fraction:g}, {plan.presentations} presentations"

    def __str__(self) -> str:
        return self.name


def paper_candidate(n_items: int, budget: int) -> Candidate:
    """Return the paper's default: its scores, with 7 ballots of fraction 0.5, or fewer if the list is short.

    Raises
    ------
    PlanError
        There are fewer than three items, or the budget is too small for two ballots of one presentation.

    Examples
    --------
    >>> print(paper_candidate(990, 19_660))
    adaptive, 7 of fraction 0.5, 20 presentations
    """
    if n_items < 3:
        raise PlanError(f"plans are compared with one that halves the items, which takes at least 3; got {n_items}")
    for n_ballots in range(7, 2, -1):
        with suppress(PlanError):
            plan = plan_for_budget(n_items, n_ballots=n_ballots, fraction=0.5, comparisons=budget)
            return Candidate("adaptive", plan)
    return Candidate("adaptive", plan_for_budget(n_items, n_ballots=2, fraction=0.5, comparisons=budget))


def candidates_for(
    n_items: int,
    budget: int,
    *,
    approaches: Iterable[Approach] = CANDIDATES,
    batch: int | None = None,
    n0: float = Matching.n0,
) -> tuple[Candidate, ...]:
    """List candidates: 12 plans with the paper's scores, 12 with strengths, 12 of matched ballots, 6 matched.

    Plans differ in the number of ballots and the fraction, and have as many presentations as the budget allows. Plans
    that are impossible for a short list are omitted.

    Parameters
    ----------
    n_items, budget : int
        Number of items, and budget in comparisons.
    approaches : iterable of str
        Approaches to list, from `CANDIDATES`.
    batch : int, optional
        Number of comparisons that "matched" chooses at a time; by default a tenth of the items. Smaller batches are
        better and slower. The possible size depends on how votes are collected, so it is not tuned.
    n0 : float
        Offset of the weights that guide "matched".

    Raises
    ------
    SimilarityError
        An approach is unknown.
    PlanError
        The budget is too small for all candidates.

    See Also
    --------
    tune_plan : Compare candidates.
    Candidate : Define your own candidate.

    Examples
    --------
    >>> from adaptive import candidates_for
    >>> for candidate in candidates_for(60, 900, approaches=["matched"])[:2]:
    ...     print(candidate)
    matched, focus 0.4, first 1, batches of 6
    matched, focus 0.4, first 2, batches of 6
    """
    approach_names = tuple(approaches)
    for approach in approach_names:
        if approach not in CANDIDATES:
            raise SimilarityError(f"approaches must be among {', '.join(map(repr, CANDIDATES))}; got {shown(approach)}")
    paper = paper_candidate(n_items, budget)
    candidates: list[Candidate] = []
    for approach in dict.fromkeys(approach_names):
        if approach == "matched":
            candidates += [
                Candidate(approach, paper.plan, matching=Matching(batch=batch, first=first, n0=n0, focus=focus))
                for focus, first in product(_FOCUS, _FIRST)
            ]
            continue
        shapes = _MATCHED_BALLOTS[:2] if approach == "matched_ballots" else (_N_BALLOTS, _FRACTIONS)
        for n_ballots, fraction in product(*shapes):
            try:
                plan = plan_for_budget(n_items, n_ballots=int(n_ballots), fraction=fraction, comparisons=budget)
            except PlanError:
                continue
            if approach == "matched_ballots":
                candidates += [
                    Candidate(approach, plan, matched_ballots=MatchedBallots(noise, int(n_ballots), fraction))
                    for noise in _MATCHED_BALLOTS[2]
                ]
            else:
                candidates.append(Candidate(approach, plan))
    if not candidates:
        raise PlanError(f"a budget of {budget} comparisons of {n_items} items is too small for all of these plans")
    return tuple(candidates)


Array: TypeAlias = NDArray[np.float64]

_WITHOUT_PLAN: Final = ("matched", "matched_ballots", "full_rankings")
_LARGEST_TASK: Final = 4  # candidates: a run of matching takes a second, and sending a task a few milliseconds


@dataclass(frozen=True, eq=False)
class Trial:
    """The common setting of all candidates; executors send copies of it to other processes.

    In simulation i, the voters, their opinions and all later random numbers have the same seed for all candidates, so
    that candidates do not differ by their voters.
    """

    similarity: Array
    voters: VoterPool | VoterPopulation
    relatedness: bool
    coefficient: Coefficient
    seed: int
    stage: int

    def __post_init__(self) -> None:
        if np.ptp(self.gold.ranks) == 0:
            values = "absolute values of similarities" if self.relatedness else "similarities"
            raise SimilarityError(f"all {values} are equal, so the accuracy of a ranking is undefined")

    @property
    def gold(self) -> Ranking:
        """The true ranking."""
        return true_ranking(self.similarity, relatedness=self.relatedness)

    def accuracy(self, candidate: Candidate, budgets: Sequence[int], simulation: int) -> list[float]:
        """Return the coefficient with the true ranking for each budget; "matched" runs once for all budgets.

        Plans keep their number of ballots and their fraction, and have as many presentations as a budget allows.
        """

        def generator() -> np.random.Generator:
            return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(self.stage, simulation)))

        shape = candidate.plan
        plans = [shape] * len(budgets)
        if candidate.approach not in _WITHOUT_PLAN:
            plans = [
                plan_for_budget(shape.n_items, n_ballots=shape.n_ballots, fraction=shape.fraction, comparisons=budget)
                for budget in budgets
            ]
        options = ApproachOptions(
            self.relatedness, matching=candidate.matching, matched_ballots=candidate.matched_ballots
        )
        rankings = rankings_of(candidate.approach, plans, budgets, self.voters, self.similarity, generator, options)
        gold = self.gold
        return [float(self.coefficient(gold, ranking)) for ranking in rankings]

    def __call__(self, candidates: Sequence[Candidate], budgets: Sequence[int], simulation: int) -> Array:
        """Return accuracies, shape (n_candidates, n_budgets)."""
        with one_blas_thread(0):  # the last digits of sums depend on the number of threads
            return np.array([self.accuracy(candidate, budgets, simulation) for candidate in candidates])


def accuracies(
    trial: Trial,
    candidates: Sequence[Candidate],
    budgets: Sequence[int],
    simulations: range,
    executor: Executor | None,
    progress: Progress | None,
) -> Array:
    """Return accuracies, shape (n_simulations, n_candidates, n_budgets), which do not depend on the executor.

    `progress` is called after each task with its number of runs.
    """
    accuracy = np.empty((len(simulations), len(candidates), len(budgets)))
    tasks = [
        (row, slice(start, min(start + _LARGEST_TASK, len(candidates))))
        for row in range(len(simulations))
        for start in range(0, len(candidates), _LARGEST_TASK)
    ]

    calls = [(candidates[columns], budgets, simulations[row]) for row, columns in tasks]
    with closing(in_executor(executor, trial, calls)) as results:
        for (row, columns), values in zip(tasks, results, strict=True):
            accuracy[row, columns] = values
            if progress is not None:
                progress(columns.stop - columns.start)
    return accuracy
