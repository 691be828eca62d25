"""Search the best plan of the paper's protocol for each budget: ballots n_b, fraction alpha, presentations M.

All plans of a grid get the same simulated voters, who judge relatedness as in section 4.2 of the paper. The best plan
of a budget, the rule of thumb and the paper's plan then meet in fresh simulations, because the best was chosen by the
first ones. The rule is a fraction alpha and the number of items in the last ballot: they give n_b = 1 + log(n_items /
last) / log(1 / alpha). It has the least mean loss over all budgets of the first simulations.
"""

import argparse
import itertools
import math
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from report import heading, machine, row

from adaptive import (
    BallotPlan,
    PlanError,
    VoterPopulation,
    exponential_similarity,
    plan_for_budget,
    power_law_similarity,
    run_protocol,
    true_ranking,
)
from rankcorr import Ranking, weighted_tau

SIMILARITIES = {"exponential": exponential_similarity, "power law": power_law_similarity}
SIZES = (100, 300, 990)
PER_ITEM = (5, 10, 20, 40)
BALLOTS = (3, 5, 7, *range(8, 17))
FRACTIONS = (0.4, 0.5, 0.6, 0.7, 0.8)
PAPER = (7, 0.5)
N_VOTERS = 10
LAST = (1.5, 2, 3, 4, 6, 10)
Plan = tuple[int, float]
Rule = tuple[float, float]


@dataclass(frozen=True)
class Cell:
    """A kind of list, its length, and the comparisons for each item."""

    similarity: str
    n_items: int
    per_item: int

    def plan(self, n_ballots: int, fraction: float) -> BallotPlan | None:
        """Return the plan that spends the budget; None if the budget is too small for it."""
        budget = self.n_items * self.per_item
        try:
            return plan_for_budget(self.n_items, n_ballots=n_ballots, fraction=fraction, comparisons=budget)
        except PlanError:
            return None


def accuracies(cell: Cell, plans: tuple[Plan, ...], seed: int) -> list[float]:
    """Return tau_w of each plan with the same voters; nan for a plan that the budget does not pay for."""
    similarity = SIMILARITIES[cell.similarity](cell.n_items)
    gold, values = true_ranking(similarity), []
    for n_ballots, fraction in plans:
        rng = np.random.default_rng([cell.n_items, cell.per_item, seed])
        pool = VoterPopulation(N_VOTERS).draw(rng)
        opinions = pool.opinions(similarity, rng)
        plan = cell.plan(n_ballots, fraction)
        if plan is None:
            values.append(math.nan)
            continue
        result = run_protocol(
            plan,
            lambda ballot, pool=pool, opinions=opinions, rng=rng: pool.answer(ballot, opinions, rng),
            items=cell.n_items,
            rng=rng,
            voters=N_VOTERS,
        )
        values.append(float(weighted_tau(gold, Ranking.from_scores(result.ybar))))
    return values


def plan_of(rule: Rule, n_items: int) -> Plan:
    """Return the plan of the grid that is nearest to a rule: ballots until about `last` items are left."""
    fraction, last = rule
    n_ballots = 1 + math.log(n_items / last) / math.log(1 / fraction)
    return min(BALLOTS, key=lambda value: abs(value - n_ballots)), fraction


def interval(values: NDArray[np.float64]) -> str:
    """Mean and its standard error."""
    return f"{values.mean():.3f} ± {values.std(ddof=1) / math.sqrt(values.size):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=20)
    parser.add_argument("--fresh", type=int, default=60)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    machine("numpy", "numba")
    grid = tuple(itertools.product(BALLOTS, FRACTIONS))
    cells = [Cell(*values) for values in itertools.product(SIMILARITIES, SIZES, PER_ITEM)]
    with ProcessPoolExecutor(options.workers) as pool:

        def simulate(cell: Cell, plans: tuple[Plan, ...], seeds: range) -> NDArray[np.float64]:
            return np.array(list(pool.map(partial(accuracies, cell, plans), seeds)))

        means = {cell: simulate(cell, grid, range(options.simulations)).mean(axis=0) for cell in cells}

        def loss(rule: Rule) -> float:
            losses = [
                np.nanmax(values) - values[grid.index(plan_of(rule, cell.n_items))] for cell, values in means.items()
            ]
            return math.inf if np.isnan(losses).any() else float(np.mean(losses))

        rule = min(itertools.product(FRACTIONS, LAST), key=loss)
        heading(
            f"best plan by budget; tau_w of {options.fresh} fresh simulations",
            *("list", "items", "per item", "n_b", "alpha", "M", "best", "rule: n_b, alpha", "rule", "paper"),
        )
        differences = []
        for cell, values in means.items():
            best, thumb = grid[int(np.nanargmax(values))], plan_of(rule, cell.n_items)
            seeds = range(1_000, 1_000 + options.fresh)
            fresh = simulate(cell, (best, thumb, PAPER), seeds)
            differences.append(fresh[:, 0] - fresh[:, 1])
            plan = cell.plan(*best)
            presentations = "" if plan is None else plan.presentations
            means_text = [interval(column) for column in fresh.T]
            row(
                *(cell.similarity, cell.n_items, cell.per_item, best[0], best[1], presentations, means_text[0]),
                *(f"{thumb[0]}, {thumb[1]}", means_text[1], means_text[2]),
            )
        overall = np.array(differences)
        print(f"\nrule: alpha {rule[0]}, and as many ballots as leave about {rule[1]} items in the last one")
        print(f"mean loss of the rule {overall.mean():.4f}, largest of a budget {overall.mean(axis=1).max():.4f}")


if __name__ == "__main__":
    main()
