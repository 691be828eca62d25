"""Simulate the accuracy of a plan, for the paper's approaches and others of equal cost.

similarity -> voters -> opinions -> votes -> ranking -> coefficients, for each simulation (section 4.2).
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._blas import one_blas_thread
from adaptive._budget import plan_for_budget
from adaptive._plan import Advice, BallotPlan, advice_on_voters
from adaptive._scores import Average, Select, running_mean, select_by_mean
from adaptive._tables import SimulatedCoefficient, names_of
from adaptive.errors import SimilarityError
from adaptive.matching._matched_ballots import MATCHED_BALLOTS, MatchedBallots
from adaptive.matching._matching import MATCHING, Matching
from adaptive.simulation._approaches import (
    PAPER_APPROACHES,
    STREAMS,
    Approach,
    ApproachOptions,
    check_approach,
    checked_input,
    rankings_of,
)
from adaptive.simulation._similarity import checked_similarity
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking
from rankcorr import Ranking
from rankcorr._checks import checked_count, checked_seed, repeated, shown, whole_number
from rankcorr._coefficients import COEFFICIENTS, named_coefficient
from rankcorr._output.results import TableResult, json_ready, read_only
from rankcorr._weights import DEFAULT_N0
from rankcorr._workers import Progress, in_executor

TIES: Final = "midrank"
LEGEND: Final = (
    "mean +- standard deviation of a simulation (standard error of the mean); items that tie in an estimate share "
    "their mid-rank"
)
# A task of 8 simulations takes 0.1 s for the paper's approaches in its setting, and 8 s with matching. That is long
# compared with sending a task, and short enough to wait for.
_LARGEST_TASK = 8
_MIN_TASKS = 32


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(TableResult):
    """Coefficients of every simulation against the true ranking.

    Items that tie in an estimated ranking share their mid-rank. Uniform ballots leave more ties than the protocol, so
    results cannot be compared with figures that treat ties differently.

    The table has the columns approach, coefficient, mean, sd and se.

    Attributes
    ----------
    statistics : mapping of str to mapping of str to ndarray of float64, shape (n_simulations,), read-only
        Values by approach (docs/explain/matching.md lists them) and coefficient: "rho_w", "tau_w", "rho" or "tau". An
        undefined coefficient is nan.
    advice : tuple of Advice
        Advice on the number of voters: real voters cannot answer more comparisons than they have pairs.

    See Also
    --------
    simulate : Returns it.
    AccuracyCurve : Several budgets.

    Examples
    --------
    >>> from adaptive import VoterPopulation, exponential_similarity, plan_ballots, simulate
    >>> plan = plan_ballots(40, n_ballots=3, fraction=0.5, presentations=6)
    >>> result = simulate(plan, VoterPopulation(), exponential_similarity(40), n_simulations=2, seed=1)
    >>> list(result.mean), list(result.mean["adaptive"]), result.n_simulations
    (['adaptive', 'uniform'], ['rho_w', 'tau_w', 'rho', 'tau'], 2)
    >>> 0 < result.mean["adaptive"]["rho"] < 1, result.se["adaptive"]["rho"] < 0.5
    (True, True)
    """

    _caption: ClassVar[str] = "Simulated accuracy of approaches"

    statistics: Mapping[str, Mapping[str, NDArray[np.float64]]]
    advice: tuple[Advice, ...] = ()

    def __post_init__(self) -> None:
        statistics = {}
        for approach, named in self.statistics.items():
            arrays = {name: np.array(values, np.float64) for name, values in named.items()}
            statistics[approach] = MappingProxyType(read_only(arrays))
        object.__setattr__(self, "statistics", MappingProxyType(statistics))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor, because a read-only mapping cannot be pickled."""
        return SimulationResult, ({approach: dict(named) for approach, named in self.statistics.items()}, self.advice)

    @property
    def n_simulations(self) -> int:
        """Number of simulations."""
        return next(iter(next(iter(self.statistics.values())).values())).size

    @property
    def mean(self) -> dict[str, dict[str, float]]:
        """Return the mean over the simulations, by approach and coefficient."""
        return self._summarize(lambda values: float(values.mean()))

    @property
    def sd(self) -> dict[str, dict[str, float]]:
        """Return the sample standard deviation over the simulations (ddof=1); nan for a single simulation."""
        return self._summarize(_sd)

    @property
    def se(self) -> dict[str, dict[str, float]]:
        """Return the standard error of the mean, sd / sqrt(n_simulations); nan for a single simulation."""
        return self._summarize(lambda values: _sd(values) / math.sqrt(values.size))

    def to_dict(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """Return ``{approach: {coefficient: {"mean": .., "sd": .., "se": ..}}}``, ready for JSON: None for nan."""
        cells: dict[str, dict[str, SimulatedCoefficient]] = {approach: {} for approach in self.statistics}
        for approach, coefficient, *numbers in self.rows():
            cells[approach][coefficient] = SimulatedCoefficient(*numbers)
        return json_ready(cells)  # type: ignore[no-any-return]

    def rows(self) -> list[tuple[str, str, float, float, float]]:
        """Return the rows of the table: approach, coefficient, mean, sd and se."""
        mean, sd, se = self.mean, self.sd, self.se
        return [
            (approach, name, mean[approach][name], sd[approach][name], se[approach][name])
            for approach, coefficients in self.statistics.items()
            for name in coefficients
        ]

    def cells(self) -> dict[str, list[str]]:
        """Return mean +- sd (se) of each coefficient as text, by approach; `LEGEND` explains them.

        Examples
        --------
        >>> SimulationResult({"uniform": {"rho": [0.1, 0.4, 0.7]}}).cells()
        {'uniform': ['0.4000 +- 0.3000 (0.1732)']}
        """
        cells: dict[str, list[str]] = {approach: [] for approach in self.statistics}
        for approach, _, mean, sd, se in self.rows():
            cells[approach].append(f"{mean:.4f} +- {sd:.4f} ({se:.4f})")
        return cells

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = ("approach", "coefficient", *names_of(SimulatedCoefficient))
        return dict(zip(names, map(list, zip(*self.rows(), strict=True)), strict=True))

    def _shown_columns(self) -> dict[str, list[str]]:
        """Return a row for each approach, with the mean and standard error of each coefficient."""
        columns: dict[str, list[str]] = {"approach": list(self.statistics)}
        for _, name, mean, _, se in self.rows():
            columns.setdefault(name, []).append(f"{mean:.2f} ± {se:.2f}")
        return columns

    def __repr__(self) -> str:
        mean, sd = self.mean, self.sd
        statistics = ", ".join(f"{name} tau_w {mean[name]['tau_w']:.3f} +- {sd[name]['tau_w']:.3f}" for name in mean)
        return f"<SimulationResult of {self.n_simulations} simulations: {statistics}>"

    def _summarize(self, summary: Callable[[NDArray[np.float64]], float]) -> dict[str, dict[str, float]]:
        return {
            approach: {name: summary(values) for name, values in coefficients.items()}
            for approach, coefficients in self.statistics.items()
        }


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyCurve(TableResult):
    """Accuracy by the number of comparisons.

    The table has the columns budget, approach, coefficient, mean, sd and se.

    Attributes
    ----------
    results : mapping of int to SimulationResult
        Results by budget, which is the maximum number of comparisons in a simulation.

    See Also
    --------
    simulate_curve : Returns it.
    adaptive.plots.plot_accuracy : Draws the curves.

    Examples
    --------
    >>> from adaptive import VoterPopulation, exponential_similarity, simulate_curve
    >>> curve = simulate_curve(
    ...     [120, 240], VoterPopulation(), exponential_similarity(40), n_simulations=2, seed=1, n_ballots=3)
    >>> list(curve.results), list(curve.lines())
    ([120, 240], ['adaptive', 'uniform'])
    """

    _caption: ClassVar[str] = "Simulated accuracy of approaches by budget"

    results: Mapping[int, SimulationResult]

    def to_dict(self) -> dict[str, dict[str, dict[str, dict[str, float | None]]]]:
        """Return ``{"budget": {approach: {coefficient: {"mean": .., "sd": .., "se": ..}}}}``, with None for nan."""
        return {str(budget): result.to_dict() for budget, result in self.results.items()}

    def _columns(self) -> dict[str, Sequence[Any]]:
        rows = [(budget, *row) for budget, result in self.results.items() for row in result.rows()]
        names = ("budget", "approach", "coefficient", "mean", "sd", "se")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def lines(self, coefficient: str = "tau_w") -> dict[str, tuple[list[float], list[float], list[float]]]:
        """Return the lines of a figure: by approach, the budgets, means, and standard errors of a coefficient."""
        lines: dict[str, tuple[list[float], list[float], list[float]]] = {}
        for budget, result in self.results.items():
            for approach, name, mean, _, se in result.rows():
                if name == coefficient:
                    for column, value in zip(lines.setdefault(approach, ([], [], [])), (budget, mean, se), strict=True):
                        column.append(value)
        return lines

    def __repr__(self) -> str:
        budgets = ", ".join(f"{budget:,}" for budget in self.results)
        n_simulations = next(iter(self.results.values())).n_simulations
        return f"<AccuracyCurve of {n_simulations} simulations: {budgets} comparisons>"


def coefficients(gold: Ranking, ranking: Ranking, *, n0: float = DEFAULT_N0) -> tuple[float, ...]:
    """Return rho_w, tau_w, rho and tau, in the order of `rankcorr._coefficients.COEFFICIENTS`.

    Examples
    --------
    >>> coefficients(Ranking.from_ranks([1, 2, 3]), Ranking.from_ranks([1, 2, 3]))
    (1.0, 1.0, 1.0, 1.0)
    """
    return tuple(named_coefficient(name, n0=n0)(gold, ranking).statistic for name in COEFFICIENTS)


def _sd(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else math.nan


def simulate(
    plan: BallotPlan,
    pool: VoterPool | VoterPopulation,
    similarity: ArrayLike,
    *,
    n_simulations: int,
    seed: int,
    relatedness: bool = True,
    approaches: tuple[Approach, ...] = PAPER_APPROACHES,
    n0: float = DEFAULT_N0,
    select: Select = select_by_mean,
    average: Average = running_mean,
    matching: Matching = MATCHING,
    matched_ballots: MatchedBallots = MATCHED_BALLOTS,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate the adaptive protocol, and other approaches of equal cost, many times.

    Each simulation and approach has a separate seed, so that results depend neither on the executor and its number of
    workers nor on the other approaches. Each approach has separate voters, opinions and ballots, except the fitted
    ones, which use the votes of the approach that they refit.

    - "adaptive": the protocol of the paper; "uniform": one ballot of equal cost with all items.
    - "matched": `run_matching` with as many comparisons as the plan.
    - "matched_ballots": `run_matched_ballots`, with its own plan of at most as many comparisons.
    - "adaptive_fitted", "uniform_fitted": the votes of the first two, ranked by ``bradley_terry(votes, voters=True)``.
    - "full_rankings": every voter ranks all items without oversights, and items are ranked by their mean rank. This is
      the limit of the voters' knowledge for any budget.

    Parameters
    ----------
    plan : BallotPlan
        The uniform ballot has `plan.uniform_presentations` of each item, rounded (39.7 to 40 in the paper).
    pool : VoterPool or VoterPopulation
        From a population, new voters are drawn for each simulation, as in the paper. A pool has the same voters in all
        simulations, with new opinions in each.
    similarity : array_like of shape (n_items,)
        Underlying similarities z in [-1, 1], in any order.
    n_simulations : int
        Number of simulations.
    seed : int
        Seed of the random numbers, 0 or more.
    relatedness : bool
        Whether voters judge abs(z), which then also determines the true ranks, instead of z.
    approaches : tuple of str
        Names of approaches; docs/explain/matching.md lists them.
    n0 : float
        Offset of the weights of rho_w and tau_w.
    select, average : callable
        Steps of the protocol; see `run_protocol`.
    matching : Matching
        Options of "matched".
    matched_ballots : MatchedBallots
        Plan and pairs of "matched_ballots".
    executor : concurrent.futures.Executor, optional
        Runs the simulations; by default they run one by one. Executors of other processes need functions that can be
        pickled. The first simulation runs in this process, so that kernels are compiled before other processes start.
    progress : callable, optional
        Called after each task with its number of simulations, such as the `update` of a tqdm bar. An exception from it
        ends the work.

    Returns
    -------
    SimulationResult

    Raises
    ------
    SimilarityError
        The number of similarities differs from that of the plan's items, a similarity is outside [-1, 1], `pool` has
        another type, `n_simulations` is below 1, an approach is unknown, or the seed is negative.

    See Also
    --------
    simulate_curve : Simulate several budgets.
    tune_plan : Find the best plan for a budget.
    VoterPopulation : The voters.

    Examples
    --------
    >>> from adaptive import VoterPopulation, exponential_similarity, plan_ballots, simulate
    >>> plan = plan_ballots(40, n_ballots=3, fraction=0.5, presentations=6)
    >>> result = simulate(plan, VoterPopulation(), exponential_similarity(40), n_simulations=4, seed=1)
    >>> result.statistics["adaptive"]["tau_w"].shape
    (4,)
    >>> result.mean["adaptive"]["rho"] > 0.5
    True
    """
    values = checked_input(plan.n_items, pool, similarity)
    settings = ApproachOptions(relatedness, select, average, matching, matched_ballots)
    task = _Simulations((plan,), (plan.n_comparisons,), pool, values, seed, approaches, n0, settings)
    return task.results(n_simulations, executor, progress)[0]


def simulate_curve(
    budgets: Sequence[int],
    pool: VoterPool | VoterPopulation,
    similarity: ArrayLike,
    *,
    n_simulations: int,
    seed: int,
    n_ballots: int = 7,
    fraction: float = 0.5,
    relatedness: bool = True,
    approaches: tuple[Approach, ...] = PAPER_APPROACHES,
    n0: float = DEFAULT_N0,
    matching: Matching = MATCHING,
    matched_ballots: MatchedBallots = MATCHED_BALLOTS,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> AccuracyCurve:
    """Simulate approaches with several budgets of comparisons, to show how accuracy grows with votes.

    "matched" runs once in each simulation, with the largest budget, and is measured after each budget. The other
    approaches plan their ballots for a budget, so they run once for each budget, with the same random numbers.

    Parameters
    ----------
    budgets : sequence of int
        Different numbers of comparisons. The plan has the most presentations that the budget allows.
    n_ballots, fraction
        Options of the paper's plan, as in `plan_for_budget`.
    pool, similarity, n_simulations, seed, relatedness, approaches, n0, matching, matched_ballots, executor, progress
        As in `simulate`. If a plan spends exactly a budget, `simulate` gives the same results for it.

    Returns
    -------
    AccuracyCurve

    Raises
    ------
    SimilarityError
        The budgets are not different positive whole numbers; also the errors of `simulate`.
    PlanError
        A budget is too small for a plan.

    See Also
    --------
    simulate : Simulate one budget.
    votes_needed : Find the votes needed for an accuracy.
    adaptive.plots.plot_accuracy : Draw the curves.

    Examples
    --------
    >>> from adaptive import VoterPopulation, exponential_similarity, simulate_curve
    >>> curve = simulate_curve(
    ...     [120, 240], VoterPopulation(), exponential_similarity(40), n_simulations=4, seed=1, n_ballots=3,
    ...     approaches=("uniform", "matched"),
    ... )
    >>> curve.results[240].mean["matched"]["rho"] > curve.results[120].mean["matched"]["rho"]
    True
    """
    values = checked_similarity(similarity)
    checked_input(values.size, pool, values)
    totals = tuple(total for budget in budgets if (total := whole_number(budget)) is not None and total > 0)
    if not totals or len(set(totals)) < len(budgets):
        raise SimilarityError(f"budgets must be different positive whole numbers; got {shown(budgets)}")
    plans = tuple(
        plan_for_budget(values.size, n_ballots=n_ballots, fraction=fraction, comparisons=total) for total in totals
    )
    settings = ApproachOptions(relatedness, matching=matching, matched_ballots=matched_ballots)
    task = _Simulations(plans, totals, pool, values, seed, approaches, n0, settings)
    return AccuracyCurve(dict(zip(totals, task.results(n_simulations, executor, progress), strict=True)))


@dataclass(frozen=True, eq=False)
class _Simulations:
    """The simulations of a call; executors send copies of it to other processes."""

    plans: tuple[BallotPlan, ...]
    budgets: tuple[int, ...]
    pool: VoterPool | VoterPopulation
    similarity: NDArray[np.float64]
    seed: int
    approaches: tuple[Approach, ...]
    n0: float
    settings: ApproachOptions

    def __post_init__(self) -> None:
        checked_seed(self.seed, SimilarityError)
        if not (isinstance(self.approaches, tuple) and self.approaches) or repeated(self.approaches):
            raise SimilarityError(f"approaches must be a tuple of different approaches; got {shown(self.approaches)}")
        for approach in self.approaches:
            check_approach(approach)

    def results(
        self, n_simulations: int, executor: Executor | None, progress: Progress | None
    ) -> list[SimulationResult]:
        """Return one result for each budget."""
        number = checked_count(n_simulations, "n_simulations", SimilarityError)
        rows = []
        for block in _blocks(self, number, executor):
            rows.append(block)
            if progress is not None:
                progress(len(block))
        table = np.concatenate(rows).transpose(2, 1, 3, 0)  # budget, approach, coefficient, simulation
        results = []
        for plan, of_budget in zip(self.plans, table, strict=True):
            named = [dict(zip(COEFFICIENTS, of_approach, strict=True)) for of_approach in of_budget]
            advice = advice_on_voters(plan.sizes, presentations=plan.presentations, n_voters=self.pool.n_voters)
            results.append(SimulationResult(dict(zip(self.approaches, named, strict=True)), tuple(advice)))
        return results

    def __call__(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return coefficients of simulations start .. stop-1, shape (n, n_approaches, n_budgets, n_coefficients)."""
        gold = true_ranking(self.similarity, relatedness=self.settings.relatedness)

        setting = self.plans, self.budgets, self.pool, self.similarity

        def of_budgets(simulation: int, approach: Approach) -> list[tuple[float, ...]]:
            # The same as SeedSequence(seed).spawn(n)[simulation].spawn(n)[stream].
            seed = np.random.SeedSequence(int(self.seed), spawn_key=(simulation, STREAMS[approach]))
            rankings = rankings_of(approach, *setting, lambda: np.random.default_rng(seed), self.settings)
            return [coefficients(gold, ranking, n0=self.n0) for ranking in rankings]

        simulations = range(start, stop)
        with one_blas_thread(0):  # the last digits of sums depend on the number of threads
            return np.array([[of_budgets(number, approach) for approach in self.approaches] for number in simulations])


def _blocks(task: _Simulations, n_simulations: int, executor: Executor | None) -> Iterator[NDArray[np.float64]]:
    """Yield the coefficients of all simulations in order, in blocks."""
    if executor is None:
        for start in range(n_simulations):
            yield task(start, start + 1)
        return
    step = min(_LARGEST_TASK, max(1, n_simulations // _MIN_TASKS))
    calls = [(start, min(start + step, n_simulations)) for start in range(1, n_simulations, step)]
    yield from in_executor(executor, task, [(0, 1), *calls])
