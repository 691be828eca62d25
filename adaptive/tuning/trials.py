"""Simulate candidates with the same voters: one row of accuracies for each simulation, on any executor."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.budget import plan_for_budget
from adaptive.simulation.approaches import Settings, rankings_of
from adaptive.simulation.voters import VoterPool, VoterPopulation, true_ranking
from adaptive.tuning.candidates import Candidate
from rankcorr import Ranking
from rankcorr.coefficients import Coefficient
from rankcorr.workers import Progress

Array: TypeAlias = NDArray[np.float64]

_WITHOUT_PLAN: Final = ("matched", "matched_ballots", "full_rankings")
_LARGEST_TASK: Final = 4  # candidates; a run of matching takes a second, sending a task a few milliseconds


@dataclass(frozen=True, eq=False)
class Trial:
    """The common setting of all candidates; other processes get a copy.

    The voters of simulation i, their opinions and all later random numbers come from one seed for all candidates, so
    differences between candidates are not differences between voters.
    """

    similarity: Array
    voters: VoterPool | VoterPopulation
    relatedness: bool
    coefficient: Coefficient
    seed: int
    stage: int

    def accuracy(self, candidate: Candidate, budgets: Sequence[int], simulation: int) -> list[float]:
        """Return the coefficient with the true ranking after each budget; matching runs once for all of them.

        Plans keep their ballots and fraction, and have as many presentations as each budget allows.
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
        settings = Settings(self.relatedness, matching=candidate.matching, matched_ballots=candidate.matched_ballots)
        rankings = rankings_of(candidate.approach, plans, budgets, self.voters, self.similarity, generator, settings)
        gold = true_ranking(self.similarity, relatedness=self.relatedness)
        return [self._value(gold, ranking) for ranking in rankings]

    def __call__(self, candidates: Sequence[Candidate], budgets: Sequence[int], simulation: int) -> Array:
        """Return accuracies, shape (n_candidates, n_budgets)."""
        return np.array([self.accuracy(candidate, budgets, simulation) for candidate in candidates])

    def _value(self, gold: Ranking, ranking: Ranking) -> float:
        return float(self.coefficient(gold, ranking))


def accuracies(
    trial: Trial,
    candidates: Sequence[Candidate],
    budgets: Sequence[int],
    simulations: range,
    executor: Executor | None,
    progress: Progress | None,
) -> Array:
    """Return accuracies, shape (n_simulations, n_candidates, n_budgets); they do not depend on the executor.

    `progress` is called after each task with the number of runs in it.
    """
    found = np.empty((len(simulations), len(candidates), len(budgets)))
    tasks = [
        (row, slice(start, min(start + _LARGEST_TASK, len(candidates))))
        for row in range(len(simulations))
        for start in range(0, len(candidates), _LARGEST_TASK)
    ]

    def keep(row: int, which: slice, values: Array) -> None:
        found[row, which] = values
        if progress is not None:
            progress(which.stop - which.start)

    # The first task runs here: processes that compile at once can spoil numba's cache (numba issue 4807).
    here = tasks if executor is None else tasks[:1]
    for row, which in here:
        keep(row, which, trial(candidates[which], budgets, simulations[row]))
    futures: list[tuple[int, slice, Future[Any]]] = []
    try:
        if executor is not None:
            futures = [
                (row, which, executor.submit(trial, candidates[which], budgets, simulations[row]))
                for row, which in tasks[1:]
            ]
        for row, which, future in futures:
            keep(row, which, future.result())
    finally:
        for _, _, future in futures:
            future.cancel()
    return found
