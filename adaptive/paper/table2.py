"""Simulate Table 2 of the paper, as its text defines it: section 4.2, three similarities, two approaches of equal cost.

similarities -> a plan for each -> `simulate` -> `Table2`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from adaptive.errors import SimilarityError
from adaptive.plan import plan_ballots
from adaptive.simulation.approaches import Approach
from adaptive.simulation.similarity import SIMILARITIES, checked_similarity
from adaptive.simulation.simulate import COEFFICIENTS, SimulationResult, simulate
from adaptive.simulation.voters import VoterPopulation
from rankcorr.checks import checked_seed
from rankcorr.results import TableResult
from rankcorr.workers import Progress

# The setting of section 4.2; its 100 voters and their levels are the defaults of `VoterPopulation`.
N_ITEMS: Final = 990
N_BALLOTS: Final = 7
FRACTION: Final = 0.5
PRESENTATIONS: Final = 20

_APPROACHES: Final[tuple[Approach, ...]] = ("uniform", "adaptive")  # in the order of the paper


@dataclass(frozen=True, eq=False, repr=False)
class Table2(TableResult):
    """Coefficients with the true ranking, by similarity distribution and approach.

    The rows are independent of each other, and items that tie in an estimate share their mid-rank. The table has the
    columns similarity, approach, coefficient, mean, sd and se.

    Attributes
    ----------
    results : mapping of str to SimulationResult, read-only
        By distribution: "exponential", "power_law", "embedding". Each has every simulation's coefficients.
    """

    results: Mapping[str, SimulationResult]

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", MappingProxyType(dict(self.results)))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the constructor, because a read-only mapping cannot be pickled."""
        return Table2, (dict(self.results),)

    @property
    def n_simulations(self) -> int:
        """Number of simulations of each distribution and approach."""
        return next(iter(self.results.values())).n_simulations

    def to_dict(self) -> dict[str, dict[str, dict[str, dict[str, float | None]]]]:
        """Return ``{similarity: {approach: {coefficient: {"mean": .., "sd": .., "se": ..}}}}``, with None for nan."""
        return {name: result.to_dict() for name, result in self.results.items()}

    def to_text(self) -> str:
        """Return the lines of a table: similarity, approach, and mean +- sd (se) of each coefficient."""
        lines = [_line("similarity", "approach", COEFFICIENTS)]
        for name, result in self.results.items():
            lines += [_line(name, approach, cells) for approach, cells in result.cells().items()]
        return "\n".join(lines)

    def _columns(self) -> dict[str, Sequence[Any]]:
        rows = [(name, *row) for name, result in self.results.items() for row in result.rows()]
        names = ("similarity", "approach", "coefficient", "mean", "sd", "se")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def _title(self) -> str:
        return f"Table 2, {self.n_simulations} simulations"

    def __repr__(self) -> str:
        return f"<Table2 of {self.n_simulations} simulations:\n{self.to_text()}>"


def table2(
    *,
    n_simulations: int = 50,
    seed: int,
    executor: Executor | None = None,
    embedding: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Table2:
    """Simulate Table 2: 7 ballots of 990 items at M = 20 and a fraction of 0.5, against a uniform ballot at M = 40.

    Voters judge relatedness; each simulation draws 100 new ones. Each row has the numbers that `simulate` gives with
    the row's seed of `row_seeds`. They differ from those in the paper, because its code differs from its text: see
    benchmarks/table2_as_published.py.

    Parameters
    ----------
    n_simulations : int
        Simulations of each distribution and approach.
    seed : int
        Not negative. The same seed gives the same numbers, whatever the executor.
    executor : concurrent.futures.Executor, optional
        As in `simulate`.
    embedding : array_like of shape (n_items,), optional
        Similarities in [-1, 1] for the embedding's rows, enough of them for seven ballots; by default
        `embedding_similarity`.
    progress : callable, optional
        As in `simulate`; the simulations of all distributions are counted.

    Returns
    -------
    Table2

    Raises
    ------
    SimilarityError
        When `n_simulations`, `seed` or `embedding` is not as above.
    PlanError
        When the similarities of `embedding` are too few for seven ballots.

    References
    ----------
    P. Lombardo et al., Top-Rank-Focused Adaptive Vote Collection for the Evaluation of Domain-Specific Semantic
    Models, EMNLP 2020, section 4.2.

    Examples
    --------
    >>> table = table2(n_simulations=2, seed=1)
    >>> mean = table.results["exponential"].mean
    >>> mean["adaptive"]["tau_w"] > mean["uniform"]["tau_w"]
    True
    """
    seeds = row_seeds(seed)
    similarities = {name: similarity(N_ITEMS) for name, similarity in SIMILARITIES.items()}
    if embedding is not None:
        similarities["embedding"] = checked_similarity(embedding)
    # Make all plans first, so that an invalid one does not waste the simulations of the others.
    plans = {
        name: plan_ballots(values.size, n_ballots=N_BALLOTS, fraction=FRACTION, presentations=PRESENTATIONS)
        for name, values in similarities.items()
    }
    results = {
        name: simulate(
            plans[name],
            VoterPopulation(),
            values,
            n_simulations=n_simulations,
            seed=seeds[name],
            approaches=_APPROACHES,
            executor=executor,
            progress=progress,
        )
        for name, values in similarities.items()
    }
    return Table2(results)


def row_seeds(seed: int) -> dict[str, int]:
    """Return a seed for each similarity distribution: with a common one, the rows would be nearly one experiment.

    Parameters
    ----------
    seed : int
        Not negative; the seed of `table2`.

    Raises
    ------
    SimilarityError
        When the seed is not as above.

    Examples
    --------
    >>> list(row_seeds(1))
    ['exponential', 'power_law', 'embedding']
    """
    words = np.random.SeedSequence(checked_seed(seed, SimilarityError)).generate_state(len(SIMILARITIES))
    return dict(zip(SIMILARITIES, words.tolist(), strict=True))


def _line(name: str, approach: str, cells: Sequence[str]) -> str:
    return "  ".join([f"{name:<11}", f"{approach:<8}", *(f"{cell:>26}" for cell in cells)])
