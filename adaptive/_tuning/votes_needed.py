"""Find the number of votes needed for an accuracy, from simulations with checkpoints."""

import math
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._budget import plan_for_budget
from adaptive._plan import plan_ballots
from adaptive._tuning.candidates import Candidate, Trial, accuracies, paper_candidate
from adaptive._tuning.tune import accuracy_interval
from adaptive.errors import PlanError, SimilarityError
from adaptive.matching._matched_ballots import MATCHED_BALLOTS, MatchedBallots
from adaptive.matching._matching import MATCHING, Matching
from adaptive.simulation._approaches import APPROACHES, Approach, checked_voters, simulated_comparisons
from adaptive.simulation._voters import Interval, VoterPool, VoterPopulation
from rankcorr._checks import checked_count, checked_level, checked_seed, declare, real_number, shown, told_apart
from rankcorr._coefficients import CoefficientLike, as_coefficient
from rankcorr._output.results import TableResult, read_only
from rankcorr._workers import Progress

CHECKPOINTS: Final = 16
_RESAMPLES: Final = 2000
_PAPER_VOTERS: Final = VoterPopulation()


@dataclass(frozen=True)
class Repetitions:
    """Number of simulations of `votes_needed`."""

    simulations: int = declare(int, 20, least=2, about="Number of simulations.")


@dataclass(frozen=True, eq=False, repr=False)
class VotesNeeded(TableResult):
    """Number of votes until the mean accuracy of simulated campaigns reaches a target.

    The table has one row for each checkpoint, with the columns votes, mean and se.

    Attributes
    ----------
    accuracy : float
        The target.
    coefficient, approach : str
    votes : float
        Votes needed, interpolated between checkpoints; nan if the mean is below the target at all of them.
    interval : pair of float
        Interval of `votes`; its upper end is inf if all checkpoints may be below the target.
    budgets : ndarray of int64, shape (n_checkpoints,), read-only
        Number of votes cast at each checkpoint. Ballots cast as many as a plan of whole presentations has.
    means, ses : ndarray of float64, shape (n_checkpoints,), read-only
        Mean accuracy at each number of votes, and its standard error.
    bound : float
        Mean accuracy if every voter ranks all items, which is the limit of these voters' knowledge.
    bound_interval : pair of float
        Interval of `bound`, by Student's t.
    level : float
        Confidence level of the intervals.
    simulations : int
        Number of simulations.

    See Also
    --------
    votes_needed : Returns it.
    adaptive.plots.plot_accuracy : Draw accuracy by votes.

    Examples
    --------
    >>> from adaptive import exponential_similarity, votes_needed
    >>> similarity = exponential_similarity(20)
    >>> estimate = votes_needed(0.5, similarity=similarity, approach="adaptive", most=200, simulations=2)
    >>> estimate.budgets[-1].item(), estimate.interval[0] <= estimate.votes <= estimate.interval[1]
    (185, True)
    >>> estimate.reached, estimate.possible, estimate.bound > estimate.accuracy
    (True, True, True)
    """

    _caption: ClassVar[str] = "Accuracy by the number of votes"

    accuracy: float
    coefficient: str
    approach: str
    votes: float
    interval: Interval
    budgets: NDArray[np.int64]
    means: NDArray[np.float64]
    ses: NDArray[np.float64]
    bound: float
    bound_interval: Interval
    level: float
    simulations: int

    def __post_init__(self) -> None:
        read_only((self.budgets, self.means, self.ses))

    @property
    def reached(self) -> bool:
        """Whether the mean accuracy reaches the target at a checkpoint."""
        return not math.isnan(self.votes)

    @property
    def possible(self) -> bool:
        """Whether these voters may reach the target: it is not above the interval of the bound, which may be nan."""
        return self.reached or not self.accuracy > self.bound_interval[1]

    @property
    def verdict(self) -> str:
        """The result as a sentence."""
        goal = f"a mean {self.coefficient} of {self.accuracy}"
        if self.reached:
            low, high = self.interval
            if self.votes <= self.budgets[0]:
                return f"{goal} takes at most {self.budgets[0]:,} votes, the fewest that were tried"
            end = "more than were tried" if math.isinf(high) else f"{high:,.0f}"
            return f"{goal} takes {self.votes:,.0f} votes ({low:,.0f} to {end})"
        most, best = self.budgets[-1], told_apart(self.means[-1], self.accuracy, 4)
        if not self.possible:
            return (
                f"{goal} cannot be reached with these voters: if each of them ranked all items it would be "
                f"{told_apart(self.bound, self.accuracy, 4)}; {most:,} votes reach {best}"
            )
        return f"{goal} takes more than {most:,} votes, which reach {best}"

    def _columns(self) -> dict[str, list[Any]]:
        return {"votes": self.budgets.tolist(), "mean": self.means.tolist(), "se": self.ses.tolist()}

    def __repr__(self) -> str:
        return f"<VotesNeeded ({self.approach}, {self.simulations} simulations): {self.verdict}>"


def votes_needed(
    accuracy: float,
    *,
    similarity: ArrayLike,
    coefficient: CoefficientLike = "tau_w",
    voters: VoterPool | VoterPopulation = _PAPER_VOTERS,
    relatedness: bool = True,
    approach: Approach = "matched",
    matching: Matching = MATCHING,
    matched_ballots: MatchedBallots = MATCHED_BALLOTS,
    most: int | None = None,
    simulations: int = Repetitions.simulations,
    level: float = 0.95,
    seed: int = 0,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> VotesNeeded:
    """Estimate the votes needed for a mean accuracy over simulated campaigns.

    "matched" runs once in each simulation, up to the largest number of votes, and is measured at checkpoints. The other
    approaches run once for each checkpoint, with the same voters.

    Parameters
    ----------
    accuracy : float
        Target for the mean coefficient with the true ranking, between -1 and 1.
    similarity : array_like of shape (n_items,)
        Underlying similarities z in [-1, 1].
    coefficient : str or Coefficient
        "tau_w", "rho_w", "tau", "rho", or a value such as ``TauW(n0=10)``.
    voters : VoterPool or VoterPopulation
    relatedness : bool
        Whether voters judge abs(z) instead of z.
    approach : str
        As in `simulate`, except "full_rankings".
    matching, matched_ballots : Matching, MatchedBallots
        Options of "matched" and "matched_ballots".
    most : int, optional
        Largest number of votes, by default 20 for each item, and never more than the voters have pairs.
    simulations : int
        Number of simulations, at least 2.
    level : float
        Confidence level of the intervals.
    seed : int
        The same seed gives the same result with any executor.
    executor : concurrent.futures.Executor, optional
        Runs the simulations; by default they run one by one.
    progress : callable, optional
        Called with numbers of completed runs: two for each simulation, one of them with full rankings.

    Returns
    -------
    VotesNeeded

    Raises
    ------
    SimilarityError
        The accuracy is outside (-1, 1), similarities or voters are invalid, all similarities are equal, the approach is
        unknown, or a number is out of range.
    PlanError
        The largest number of votes is too small for any plan.

    See Also
    --------
    tune_plan : Find the best accuracy for a budget.
    simulate_curve : Simulate several budgets.

    Examples
    --------
    >>> from adaptive import exponential_similarity, votes_needed
    >>> estimate = votes_needed(0.8, similarity=exponential_similarity(20), simulations=4, seed=1)
    >>> estimate.reached, estimate.votes < 400
    (True, True)
    """
    target = real_number(accuracy)
    if not -1 < target < 1:
        raise SimilarityError(f"accuracy must be a number between -1 and 1; got {shown(accuracy)}")
    values = checked_voters(voters, similarity)
    possible = tuple(name for name in APPROACHES if name != "full_rankings")
    if approach not in possible:
        raise SimilarityError(f"an approach must be one of {', '.join(map(repr, possible))}; got {shown(approach)}")
    coefficient_value, level_value = as_coefficient(coefficient), checked_level(level)
    n_simulations = checked_count(simulations, "simulations", SimilarityError, 2)
    checked_seed(seed, SimilarityError)
    n_items = values.size
    pairs = voters.n_voters * n_items * (n_items - 1) // 2
    largest = min(20 * n_items if most is None else checked_count(most, "most", SimilarityError), pairs)
    # The paper's plan. Matching uses only its number of items, and starts with half a vote for each item.
    shape = paper_candidate(n_items, largest).plan
    fewest = n_items // 2
    if approach != "matched":
        fewest = plan_ballots(
            n_items, n_ballots=shape.n_ballots, fraction=shape.fraction, presentations=1
        ).n_comparisons
    trial = Trial(values, voters, relatedness, coefficient_value, int(seed), 0)
    candidate = Candidate(approach, shape, matching, matched_ballots)
    last = _largest_budget(candidate, largest)
    budgets = np.unique(np.geomspace(min(fewest, last), last, CHECKPOINTS).round().astype(np.int64))
    # Presentations are whole numbers, so ballots cast fewer votes than most budgets, and equally many for several.
    votes_cast, first = np.unique([_votes_cast(candidate, budget) for budget in budgets.tolist()], return_index=True)
    budgets = budgets[first]
    ranked = Candidate("full_rankings", shape)
    runs = range(n_simulations)
    curves = accuracies(trial, [candidate], budgets.tolist(), runs, executor, progress)[:, 0]
    full = accuracies(trial, [ranked], [largest], runs, executor, progress)[:, 0, 0]
    rng = np.random.default_rng(np.random.SeedSequence(int(seed), spawn_key=(1,)))
    crossings = [
        _crossing(votes_cast, curves[rng.integers(n_simulations, size=n_simulations)].mean(axis=0), target)
        for _ in range(_RESAMPLES)
    ]
    ends = np.quantile(crossings, [(1 - level_value) / 2, (1 + level_value) / 2], method="nearest")
    votes = _crossing(votes_cast, curves.mean(axis=0), target)
    return VotesNeeded(
        accuracy=target,
        coefficient=coefficient_value.name,
        approach=approach,
        votes=votes if math.isfinite(votes) else math.nan,
        interval=(float(ends[0]), float(ends[1])),
        budgets=votes_cast,
        means=curves.mean(axis=0),
        ses=curves.std(axis=0, ddof=1) / math.sqrt(n_simulations),
        bound=float(full.mean()),
        bound_interval=accuracy_interval(full, level_value),
        level=level_value,
        simulations=n_simulations,
    )


def _votes_cast(candidate: Candidate, budget: int) -> int:
    """Return the number of votes that a simulation with a budget casts, as `Trial.accuracy` spends it."""
    shape = candidate.plan
    if candidate.approach == "matched":
        return budget
    if candidate.approach == "matched_ballots":
        return candidate.matched_ballots.plan(shape.n_items, budget).n_comparisons
    plan = plan_for_budget(shape.n_items, n_ballots=shape.n_ballots, fraction=shape.fraction, comparisons=budget)
    return sum(simulated_comparisons(plan, candidate.approach))


def _largest_budget(candidate: Candidate, most: int) -> int:
    """Return the largest budget for which a simulation casts at most `most` votes: a uniform ballot may round up."""
    budget = most
    try:
        while _votes_cast(candidate, budget) > most:
            budget -= 1
    except PlanError as error:
        if budget == most:
            raise
        raise PlanError(f"no plan of {candidate.approach!r} casts at most {most} votes") from error
    return budget


def _crossing(budgets: NDArray[np.int64], means: NDArray[np.float64], target: float) -> float:
    """Return the votes where the means reach the target, by interpolation in log(votes); inf if they never do."""
    above = means >= target  # a mean is nan if a ranking is a single tie, and does not reach the target
    if not above.any():
        return math.inf
    k = int(np.argmax(above))
    if k == 0 or np.isnan(means[:k]).all():
        return float(budgets[k])
    low, high = np.nanmax(means[:k]), means[k]  # means may decrease by chance
    share = (target - low) / (high - low)
    return float(np.exp((1 - share) * np.log(budgets[k - 1]) + share * np.log(budgets[k])))
