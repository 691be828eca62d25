"""The command `ballots simulate`: what a plan would reach."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click
import numpy as np
from numpy.typing import NDArray

from adaptive.cli.output import print_note, quiet_executor
from adaptive.cli.plan import PlanOptions, plan_options
from adaptive.model.matched_ballots import MatchedBallots
from adaptive.plan import BallotPlan
from adaptive.simulation.approaches import APPROACHES, PAPER_APPROACHES, Approach, uniform_presentations
from adaptive.simulation.similarity import SIMILARITIES, named_similarity, read_similarities
from adaptive.simulation.simulate import COEFFICIENTS, LEGEND, TIES, simulate
from adaptive.simulation.voters import VoterPopulation
from rankcorr import OptionError
from rankcorr.cli.console import print_json, print_table
from rankcorr.io.records import printable
from rankcorr.workers import progress_bar

_EXAMPLE = """\b
Example:
  ballots simulate --n-items 990 --presentations 20 --simulations 50
  ballots simulate --similarity cosines.csv --top 100 --workers 2 --json
  ballots simulate --n-items 990 --presentations 20 --approach adaptive --approach matched
"""


@click.command("simulate", epilog=_EXAMPLE, short_help="What a plan would reach, with simulated voters.")
@click.option("--n-items", type=int, metavar="N", help="Number of items; by default those of the file of --similarity.")
@plan_options
@click.option(
    "--similarity",
    default="exponential",
    show_default=True,
    metavar="NAME|FILE",
    help=f"{', '.join(SIMILARITIES)}, or a CSV file with the column similarity.",
)
@click.option(
    "--judge",
    type=click.Choice(["relatedness", "similarity"]),
    default="relatedness",
    show_default=True,
    help="Voters judge abs(z), or z itself.",
)
@click.option(
    "--approach",
    "approaches",
    type=click.Choice(APPROACHES),
    multiple=True,
    default=PAPER_APPROACHES,
    show_default=True,
    help="How votes are collected and counted; repeat it to compare several.",
)
@click.option("--voters", type=int, default=100, show_default=True, metavar="V", help="Number of voters.")
@click.option("--simulations", type=int, default=50, show_default=True, metavar="S", help="Number of simulations.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same numbers.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with null where undefined.")
def simulate_command(
    n_items: int | None,
    options: PlanOptions,
    similarity: str,
    judge: Literal["relatedness", "similarity"],
    approaches: tuple[Approach, ...],
    voters: int,
    simulations: int,
    seed: int,
    workers: int,
    as_json: bool,
) -> None:
    """Simulate a plan, and a uniform ballot or other approaches of equal cost.

    Approaches: the paper's adaptive ballots, and a uniform one (adaptive, uniform); pairs matched batch by batch, or
    within fixed ballots (matched, matched_ballots); the paper's votes, but strengths fitted to them (adaptive_fitted,
    uniform_fitted); and what all voters' full rankings would give, at any cost (full_rankings).

    Printed are mean +- sd (standard error of the mean) of the coefficients with the true ranking. Items that tie in an
    estimate share their mid-rank.
    """
    values = given_similarity(similarity, n_items)
    planned, population = options.plan(values.size), VoterPopulation(voters)
    with quiet_executor(workers) as executor, progress_bar(simulations, "simulation") as advance:
        result = simulate(
            planned,
            population,
            values,
            n_simulations=simulations,
            seed=seed,
            relatedness=judge == "relatedness",
            approaches=tuple(dict.fromkeys(approaches)),
            executor=executor,
            progress=advance,
        )
    if as_json:
        chosen = {
            "similarity": similarity,
            "judge": judge,
            "voters": voters,
            "simulations": simulations,
            "seed": seed,
            "ties": TIES,
        }
        print_json({"plan": planned.to_dict(), "options": chosen, "coefficients": result.to_dict()})
        return
    click.echo(
        f"{planned.n_items:,} items ({printable(similarity, limit=None)}), {planned.n_comparisons:,} comparisons, "
        f"{voters} voters, {simulations} simulations, seed {seed}\n"
    )
    presentations = _presentations(planned)
    print_table(
        ["approach", "presentations", *COEFFICIENTS],
        [[name, presentations[name], *cells] for name, cells in result.cells().items()],
    )
    click.echo(f"\n{LEGEND}")
    if any(np.isnan(each).any() for named in result.statistics.values() for each in named.values()):
        print_note(
            "some simulations have no coefficient, because their ranking does not tell the items apart; it is nan"
        )


def _presentations(plan: BallotPlan) -> dict[str, str]:
    """How often an item is presented, by approach."""
    own = MatchedBallots().plan(plan.n_items, plan.n_comparisons)
    adaptive, uniform = _range(plan), str(uniform_presentations(plan))
    return {
        "adaptive": adaptive,
        "uniform": uniform,
        "matched": f"mean {plan.uniform_presentations:.1f}",
        "matched_ballots": _range(own),
        "adaptive_fitted": adaptive,
        "uniform_fitted": uniform,
        "full_rankings": "-",
    }


def _range(plan: BallotPlan) -> str:
    return f"{plan.presentations} to {plan.top_presentations}"


def given_similarity(chosen: str, n_items: int | None) -> NDArray[np.float64]:
    """Similarities of --similarity, a name or a file.

    Raises
    ------
    OptionError
        A name that is unknown, or a number of items that is missing or another than the file's.
    TableError
        As `read_similarities`.
    """
    if chosen not in SIMILARITIES:
        if not Path(chosen).exists():
            raise OptionError(f"--similarity must be one of {', '.join(SIMILARITIES)}, or a file; got '{chosen}'")
        values = read_similarities(chosen)
        if n_items not in {None, values.size}:
            raise OptionError(f"--n-items is {n_items}, but {chosen} has {values.size} similarities")
        return values
    if n_items is None:
        raise OptionError("--n-items is wanted, unless --similarity is a file")
    return named_similarity(chosen, n_items)
