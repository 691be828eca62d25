"""What simulations yield: coefficients of every simulation, and their means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankcorr import Ranking, Uniform, weighted_rho, weighted_tau
from rankcorr.results import TableResult, json_ready

__all__ = ["COEFFICIENTS", "LEGEND", "TIES", "AccuracyCurve", "SimulationResult", "coefficients"]

COEFFICIENTS: Final = ("rho_w", "tau_w", "rho", "tau")
TIES: Final = "midrank"
LEGEND: Final = (
    "mean +- standard deviation of a simulation (standard error of the mean); items that tie in an estimate share "
    "their mid-rank"
)


@dataclass(frozen=True, eq=False, repr=False)
class SimulationResult(TableResult):
    """Coefficients of every simulation against the true ranking.

    Items that tie in an estimated ranking share their mid-rank, as in all coefficients. Uniform ballots leave more
    ties than the protocol does, so that a comparison with figures of another convention misleads.

    The table has the columns approach, coefficient, mean, sd and se.

    Attributes
    ----------
    statistics : mapping of str to mapping of str to ndarray of float64, shape (n_simulations,), read-only
        By approach, as in `adaptive.simulation.approaches.APPROACHES`, and coefficient, "rho_w", "tau_w", "rho" or
        "tau". A coefficient that is undefined is nan.
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


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyCurve(TableResult):
    """Accuracy against the number of comparisons.

    The table has the columns budget, approach, coefficient, mean, sd and se.

    Attributes
    ----------
    results : mapping of int to SimulationResult
        By budget, the most comparisons that a simulation had.
    """

    results: Mapping[int, SimulationResult]

    def to_dict(self) -> dict[str, dict[str, dict[str, dict[str, float | None]]]]:
        """``{"budget": {approach: {coefficient: {"mean": .., "sd": .., "se": ..}}}}``, ready for JSON: nan is None."""
        return {str(budget): result.to_dict() for budget, result in self.results.items()}

    def _columns(self) -> dict[str, Sequence[Any]]:
        rows = [(budget, *row) for budget, result in self.results.items() for row in result.rows()]
        names = ("budget", "approach", "coefficient", "mean", "sd", "se")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def __repr__(self) -> str:
        budgets = ", ".join(f"{budget:,}" for budget in self.results)
        n_simulations = next(iter(self.results.values())).n_simulations
        return f"<AccuracyCurve of {n_simulations} simulations: {budgets} comparisons>"


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


def _sd(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if values.size > 1 else math.nan


def _read_only(values: ArrayLike) -> NDArray[np.float64]:
    array = np.array(values, np.float64)
    array.flags.writeable = False
    return array
