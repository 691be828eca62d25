"""What a plan would reach with simulated voters: the adaptive protocol against a uniform ballot of equal cost.

similarity -> voters -> opinions -> protocol or ballot -> ranking -> coefficients, for each simulation (section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.draw import draw_ballot
from adaptive.errors import SimilarityError
from adaptive.plan import BallotPlan
from adaptive.protocol import run_protocol
from adaptive.scores import Average, borda_scores, running_mean
from adaptive.selection import Select, select_by_mean
from adaptive.simulation.similarity import checked_similarity
from adaptive.simulation.voters import VoterPool, VoterPopulation, true_ranking
from rankcorr import Ranking, Uniform, weighted_rho, weighted_tau
from rankcorr.checks import checked_seed, shown
from rankcorr.results import TableResult, json_ready
from rankcorr.workers import Progress

__all__ = [
    "APPROACHES",
    "COEFFICIENTS",
    "LEGEND",
    "TIES",
    "SimulationResult",
    "coefficients",
    "simulate",
    "simulate_once",
    "simulated_comparisons",
]

Approach: TypeAlias = Literal["adaptive", "uniform"]

APPROACHES: Final = ("adaptive", "uniform")
COEFFICIENTS: Final = ("rho_w", "tau_w", "rho", "tau")
TIES: Final = "midrank"
LEGEND: Final = (
    "mean +- standard deviation of a simulation (standard error of the mean); items that tie in an estimate share "
    "their mid-rank"
)

# A task of 8 simulations in the paper's setting takes 0.1 s: far more than it costs to send, and little to wait for.
_LARGEST_TASK = 8
_MIN_TASKS = 32


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(TableResult):
    """Coefficients of every simulation against the true ranking.

    Items that tie in an estimated ranking share their mid-rank, as in all coefficients. Uniform ballots leave more
    ties than the protocol does, so that a comparison with figures of another convention misleads.

    The table has the columns approach, coefficient, mean, sd and se.

    Attributes
    ----------
    statistics : mapping of str to mapping of str to ndarray of float64, shape (n_simulations,), read-only
        By approach, "adaptive" or "uniform", and coefficient, "rho_w", "tau_w", "rho" or "tau". A coefficient that is
        undefined is nan.
    """

    statistics: Mapping[str, Mapping[str, NDArray[np.float64]]]

    def __post_init__(self) -> None:
        statistics = {
            approach: MappingProxyType({name: _read_only(values) for name, values in named.items()})
            for approach, named in self.statistics.items()
        }
        object.__setattr__(self, "statistics", MappingProxyType(statistics))

    def __reduce__(self) -> tuple[Any, ...]:
        """Go by the constructor, because a mapping that is read-only cannot be pickled."""
        return SimulationResult, ({approach: dict(named) for approach, named in self.statistics.items()},)

    @property
    def n_simulations(self) -> int:
        """Number of simulations."""
        return next(iter(next(iter(self.statistics.values())).values())).size

    @property
    def mean(self) -> dict[str, dict[str, float]]:
        """Mean over the simulations, by approach and coefficient."""
        return self._each(lambda values: float(values.mean()))

    @property
    def sd(self) -> dict[str, dict[str, float]]:
        """Standard deviation over the simulations (its square is unbiased), nan for a single one."""
        return self._each(_sd)

    @property
    def se(self) -> dict[str, dict[str, float]]:
        """Standard error of the mean, the standard deviation / sqrt(n_simulations); nan for a single one."""
        return self._each(lambda values: _sd(values) / math.sqrt(values.size))

    def to_dict(self) -> dict[str, dict[str, dict[str, float | None]]]:
        """``{approach: {coefficient: {"mean": .., "sd": .., "se": ..}}}``, ready for JSON: nan is None."""
        cells: dict[str, dict[str, dict[str, float | None]]] = {approach: {} for approach in self.statistics}
        for approach, coefficient, mean, sd, se in self.rows():
            cells[approach][coefficient] = {"mean": mean, "sd": sd, "se": se}
        return json_ready(cells)  # type: ignore[no-any-return]

    def rows(self) -> list[tuple[str, str, float, float, float]]:
        """Approach, coefficient, mean, sd and se: the rows of the table."""
        mean, sd, se = self.mean, self.sd, self.se
        return [
            (approach, name, mean[approach][name], sd[approach][name], se[approach][name])
            for approach, coefficients in self.statistics.items()
            for name in coefficients
        ]

    def cells(self) -> dict[str, list[str]]:
        """Mean +- sd (se) of each coefficient as text, by approach; `LEGEND` explains them.

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
        names = ("approach", "coefficient", "mean", "sd", "se")
        return dict(zip(names, map(list, zip(*self.rows(), strict=True)), strict=True))

    def __repr__(self) -> str:
        mean, sd = self.mean, self.sd
        shown = ", ".join(f"{name} tau_w {mean[name]['tau_w']:.3f} +- {sd[name]['tau_w']:.3f}" for name in mean)
        return f"<SimulationResult of {self.n_simulations} simulations: {shown}>"

    def _each(self, summary: Callable[[NDArray[np.float64]], float]) -> dict[str, dict[str, float]]:
        return {
            approach: {name: summary(values) for name, values in coefficients.items()}
            for approach, coefficients in self.statistics.items()
        }


def simulate(
    plan: BallotPlan,
    pool: VoterPool | VoterPopulation,
    similarity: ArrayLike,
    *,
    n_simulations: int,
    seed: int,
    relatedness: bool = True,
    approaches: tuple[Approach, ...] = APPROACHES,
    n0: float = 2.0,
    select: Select = select_by_mean,
    average: Average = running_mean,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> SimulationResult:
    """Simulate the adaptive protocol, and the uniform ballot of equal cost, many times.

    The seeds are spawned for each simulation and approach, so the numbers depend neither on the executor and its
    number of workers nor on the other approach. The two approaches have voters, opinions and ballots of their own.

    Parameters
    ----------
    plan : BallotPlan
        The uniform ballot has `plan.uniform_presentations` of each item, rounded (39.7 to 40 in the paper).
    pool : VoterPool or VoterPopulation
        A population: new voters are drawn for each simulation, as in the paper. A pool: the same voters in all
        simulations, with new opinions in each.
    similarity : array_like of shape (n_items,)
        Underlying similarities z in [-1, 1], in any order.
    n_simulations : int
    seed : int
        Not negative.
    relatedness : bool
        Voters judge abs(z), and so do the true ranks; else z.
    approaches : tuple of {"adaptive", "uniform"}
    n0 : float
        Offset of the weights of rho_w and tau_w.
    select, average : callable
        Steps of the protocol, see `run_protocol`.
    executor : concurrent.futures.Executor, optional
        Runs the simulations; by default they run one by one. Executors of other processes need functions that can be
        pickled. The first simulation runs here, so that kernels are compiled once, before any process starts.
    progress : callable, optional
        Called after each task with the number of simulations in it; what it raises ends the work.
        `rankcorr.progress.progress_bar` gives one that draws a bar on a terminal.

    Returns
    -------
    SimulationResult

    Raises
    ------
    SimilarityError
        When the number of similarities is not that of the plan's items, one is outside [-1, 1], `pool` is of another
        type, `n_simulations` is below 1, an approach is unknown, or the seed is negative.

    Examples
    --------
    >>> from adaptive.plan import plan_ballots
    >>> from adaptive.simulation.similarity import exponential_similarity
    >>> plan = plan_ballots(40, n_ballots=3, fraction=0.5, presentations=6)
    >>> result = simulate(plan, VoterPopulation(), exponential_similarity(40), n_simulations=4, seed=1)
    >>> result.statistics["adaptive"]["tau_w"].shape
    (4,)
    >>> result.mean["adaptive"]["rho"] > 0.5
    True
    """
    values = _checked_similarity(plan, pool, similarity)
    if isinstance(n_simulations, bool) or not isinstance(n_simulations, int | np.integer) or n_simulations < 1:
        raise SimilarityError(f"n_simulations must be a positive whole number; got {shown(n_simulations)}")
    checked_seed(seed, SimilarityError)
    if not isinstance(approaches, tuple) or not approaches or len(set(approaches)) < len(approaches):
        raise SimilarityError(f"approaches must be a tuple of different approaches; got {shown(approaches)}")
    for approach in approaches:
        _check_approach(approach)
    task = _Simulations(plan, pool, values, int(seed), relatedness, approaches, n0, select, average)
    rows = []
    for block in _blocks(task, n_simulations, executor):
        rows.append(block)
        if progress is not None:
            progress(len(block))
    table = np.concatenate(rows).transpose(1, 2, 0)  # approach, coefficient, simulation
    statistics: dict[str, dict[str, NDArray[np.float64]]] = {
        approach: dict(zip(COEFFICIENTS, of_approach, strict=True))
        for approach, of_approach in zip(approaches, table, strict=True)
    }
    return SimulationResult(statistics)


def simulate_once(
    plan: BallotPlan,
    pool: VoterPool | VoterPopulation,
    similarity: ArrayLike,
    approach: Approach,
    rng: np.random.Generator,
    *,
    relatedness: bool = True,
    select: Select = select_by_mean,
    average: Average = running_mean,
) -> Ranking:
    """Rank the items once by simulated votes.

    Parameters
    ----------
    plan, pool, similarity, relatedness, select, average
        As in `simulate`.
    approach : {"adaptive", "uniform"}
    rng : Generator
        Draws voters, opinions, ballots and answers.

    Returns
    -------
    Ranking
        Of the items in the order of `similarity`, without labels.

    Raises
    ------
    SimilarityError
        As `simulate`.

    Examples
    --------
    >>> from adaptive.plan import plan_ballots
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=12)
    >>> pool = VoterPool(nonconformity=[0.0], oversight=[0.0])
    >>> simulate_once(plan, pool, [0.1, 0.9, 0.4, -0.5], "uniform", np.random.default_rng(1)).ranks
    array([4., 1., 3., 2.])
    """
    values = _checked_similarity(plan, pool, similarity)
    _check_approach(approach)
    voters = pool.draw(rng) if isinstance(pool, VoterPopulation) else pool
    opinions = voters.opinions(values, rng, relatedness=relatedness)
    if approach == "uniform":
        ballot = draw_ballot(plan.n_items, _uniform_presentations(plan), voters.n_voters, rng)
        return Ranking.from_scores(borda_scores(ballot, voters.answer(ballot, opinions, rng)))
    result = run_protocol(
        plan,
        lambda ballot: voters.answer(ballot, opinions, rng),
        items=plan.n_items,
        rng=rng,
        voters=voters.n_voters,
        select=select,
        average=average,
    )
    return Ranking.from_scores(result.ybar)


def simulated_comparisons(plan: BallotPlan, approach: Approach) -> tuple[int, ...]:
    """Comparisons of each ballot of one simulation: those of the plan, or of the one uniform ballot of equal cost.

    Raises
    ------
    SimilarityError
        When the approach is unknown.

    Examples
    --------
    >>> from adaptive.plan import plan_ballots
    >>> plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    >>> sum(simulated_comparisons(plan, "adaptive")), simulated_comparisons(plan, "uniform")
    (19660, (19800,))
    """
    _check_approach(approach)
    if approach == "adaptive":
        return plan.comparisons
    return ((plan.n_items * _uniform_presentations(plan) + 1) // 2,)


def _uniform_presentations(plan: BallotPlan) -> int:
    return max(1, round(plan.uniform_presentations))


@dataclass(frozen=True, eq=False)
class _Simulations:
    """Simulations start .. stop-1 of a call of `simulate`; other processes get a copy."""

    plan: BallotPlan
    pool: VoterPool | VoterPopulation
    similarity: NDArray[np.float64]
    seed: int
    relatedness: bool
    approaches: tuple[Approach, ...]
    n0: float
    select: Select
    average: Average

    def __call__(self, start: int, stop: int) -> NDArray[np.float64]:
        """Coefficients, shape (stop - start, n_approaches, n_coefficients)."""
        gold = true_ranking(self.similarity, relatedness=self.relatedness)
        return np.array([[self._coefficients(gold, i, name) for name in self.approaches] for i in range(start, stop)])

    def _coefficients(self, gold: Ranking, simulation: int, approach: Approach) -> tuple[float, ...]:
        # The same as SeedSequence(seed).spawn(n)[simulation].spawn(2)[approach], without the others.
        key = (simulation, APPROACHES.index(approach))
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))
        ranking = simulate_once(
            self.plan,
            self.pool,
            self.similarity,
            approach,
            rng,
            relatedness=self.relatedness,
            select=self.select,
            average=self.average,
        )
        return coefficients(gold, ranking, n0=self.n0)


def coefficients(gold: Ranking, ranking: Ranking, *, n0: float = 2.0) -> tuple[float, float, float, float]:
    """rho_w, tau_w, rho and tau, as in `COEFFICIENTS`.

    Examples
    --------
    >>> coefficients(Ranking.from_ranks([1, 2, 3]), Ranking.from_ranks([1, 2, 3]))
    (1.0, 1.0, 1.0, 1.0)
    """
    return (
        weighted_rho(gold, ranking, n0=n0).statistic,
        weighted_tau(gold, ranking, n0=n0).statistic,
        weighted_rho(gold, ranking, weigher=Uniform()).statistic,
        weighted_tau(gold, ranking, weigher=Uniform()).statistic,
    )


def _blocks(task: _Simulations, n_simulations: int, executor: Executor | None) -> Iterator[NDArray[np.float64]]:
    """Coefficients of all simulations in order, as blocks."""
    if executor is None:
        for start in range(n_simulations):
            yield task(start, start + 1)
        return
    # Processes that start together and compile at once can spoil numba's cache (numba issue 4807).
    yield task(0, 1)
    step = min(_LARGEST_TASK, max(1, n_simulations // _MIN_TASKS))
    futures = [
        executor.submit(task, start, min(start + step, n_simulations)) for start in range(1, n_simulations, step)
    ]
    try:
        for future in futures:
            yield future.result()
    finally:
        for future in futures:
            future.cancel()


def _checked_similarity(plan: BallotPlan, pool: object, similarity: ArrayLike) -> NDArray[np.float64]:
    if not isinstance(pool, VoterPool | VoterPopulation):
        raise SimilarityError(f"voters are a VoterPool or a VoterPopulation; got {pool!r:.60}")
    values = checked_similarity(similarity)
    if values.size != plan.n_items:
        raise SimilarityError(f"the plan has {plan.n_items} items; got {values.size} similarities")
    return values


def _check_approach(approach: object) -> None:
    if not isinstance(approach, str) or approach not in APPROACHES:
        raise SimilarityError(f"an approach is one of {', '.join(map(repr, APPROACHES))}; got {shown(approach)}")


def _sd(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else math.nan


def _read_only(values: ArrayLike) -> NDArray[np.float64]:
    array = np.array(values, np.float64)
    array.flags.writeable = False
    return array
