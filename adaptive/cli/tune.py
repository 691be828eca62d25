"""The commands `ballots tune` and `ballots votes-needed`: what a budget buys, and what an accuracy costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from numpy.typing import NDArray

from adaptive.cli.output import quiet_executor
from adaptive.cli.simulate import given_similarity
from adaptive.model.comparisons import Comparisons, read_comparisons
from adaptive.model.matching import Matching
from adaptive.simulation.approaches import APPROACHES, Approach
from adaptive.simulation.similarity import SIMILARITIES
from adaptive.simulation.voters import VoterPopulation
from adaptive.tuning.candidates import CANDIDATES, candidates_for
from adaptive.tuning.needed import votes_needed
from adaptive.tuning.tune import TunedPlan, tune_plan, tuning_runs
from rankcorr import OptionError
from rankcorr.cli.console import print_json, print_table
from rankcorr.workers import progress_bar

_COEFFICIENTS = ("tau_w", "rho_w", "tau", "rho")
_TUNE_EXAMPLE = """\b
Example:
  ballots tune --budget 2000 --n-items 100 --similarity power_law --workers 2
  ballots tune --budget 2000 --pilot votes.csv --json
"""
_NEEDED_EXAMPLE = """\b
Example:
  ballots votes-needed --accuracy 0.95 --n-items 100
  ballots votes-needed --accuracy 0.8 --coefficient rho_w --approach adaptive --n-items 100
"""


@dataclass(frozen=True)
class Shared:
    """Options of both commands, as they were given."""

    n_items: int | None
    coefficient: Literal["tau_w", "rho_w", "tau", "rho"]
    judge: Literal["relatedness", "similarity"]
    voters: int | None
    batch: int
    seed: int
    workers: int
    as_json: bool

    @property
    def population(self) -> VoterPopulation:
        """The simulated voters, where none are fitted."""
        return VoterPopulation() if self.voters is None else VoterPopulation(self.voters)

    @property
    def simulated(self) -> dict[str, Any]:
        """What both functions of the library take."""
        return {"relatedness": self.judge == "relatedness", "coefficient": self.coefficient, "seed": self.seed}


def _shared(command: Callable[..., None]) -> Any:
    """Add the options of both commands, which come to the command as one value."""
    names = [field.name for field in fields(Shared)]

    @wraps(command)
    def run(**given: Any) -> None:
        command(Shared(**{name: given.pop(name) for name in names}), **given)

    decorated: Any = run
    options = (
        click.option("--n-items", type=int, metavar="N", help="Number of items; else those of --similarity's file."),
        click.option(
            "--coefficient", type=click.Choice(_COEFFICIENTS), default="tau_w", show_default=True, help="What counts."
        ),
        click.option(
            "--judge",
            type=click.Choice(["relatedness", "similarity"]),
            default="relatedness",
            show_default=True,
            help="Voters judge abs(z), or z itself.",
        ),
        click.option("--voters", type=int, metavar="V", help="Number of voters; by default 100, or those of --pilot."),
        click.option(
            "--batch", type=int, default=Matching().batch, show_default=True, help="Matches chosen at a time."
        ),
        click.option(
            "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same numbers."
        ),
        click.option(
            "--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON, with null where undefined."),
    )
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


_SIMILARITY_HELP = f"{', '.join(SIMILARITIES)}, or a CSV file with the column similarity."


@click.command("tune", epilog=_TUNE_EXAMPLE, short_help="The best way to spend a budget, with simulated voters.")
@click.option("--budget", type=int, required=True, metavar="COMPARISONS", help="What may be spent.")
@click.option("--similarity", metavar="NAME|FILE", help=f"{_SIMILARITY_HELP} Default: exponential, or from --pilot.")
@click.option("--pilot", type=click.Path(path_type=Path), metavar="VOTES", help="Votes on such items, as a file.")
@click.option(
    "--approach", "approaches", type=click.Choice(CANDIDATES), multiple=True, help="Only these; by default all."
)
@click.option("--simulations", type=int, default=4, show_default=True, metavar="S", help="Of all in the first round.")
@click.option("--fresh", type=int, default=40, show_default=True, metavar="S", help="Simulations of the winner.")
@_shared
def tune_command(
    shared: Shared,
    *,
    budget: int,
    similarity: str | None,
    pilot: Path | None,
    approaches: tuple[Approach, ...],
    simulations: int,
    fresh: int,
) -> None:
    """Search fraction, presentations, number of ballots and matching for the best ranking that a budget buys.

    The better half of the candidates goes on to the next round, which has twice as many simulations. What the winner
    reaches is measured by fresh simulations, beside the paper's plan of the same budget.
    """
    votes, values, size = _items(pilot, similarity, shared.n_items)
    candidates = candidates_for(size, budget, approaches=approaches or CANDIDATES, batch=shared.batch)
    total = tuning_runs(len(candidates), simulations=simulations, fresh=fresh)
    with quiet_executor(shared.workers) as executor, progress_bar(total, "run") as advance:
        tuned = tune_plan(
            budget,
            similarity=values,
            pilot=votes,
            voters=None if votes is not None and shared.voters is None else shared.population,
            candidates=candidates,
            simulations=simulations,
            fresh=fresh,
            executor=executor,
            progress=advance,
            **shared.simulated,
        )
    if shared.as_json:
        print_json(tuned_dict(tuned))
        return
    print_table(
        ["candidate", shared.coefficient, "simulations", "fell out"],
        [
            [row.candidate.name, _value(row.mean, row.se), str(row.simulations), str(row.fell_out or "best")]
            for row in tuned.rows_tried
        ],
    )
    low, high = tuned.accuracy_interval
    gain_low, gain_high = tuned.gain_interval
    click.echo(
        f"\n{budget:,} comparisons of {size:,} items, {tuned.simulations} fresh simulations, seed {shared.seed}:\n"
        f"best: {tuned.best}: {shared.coefficient} {tuned.accuracy:.4f} ({low:.4f} to {high:.4f}); one voting "
        f"{tuned.spread[0]:.4f} to {tuned.spread[1]:.4f}\n"
        f"the paper's plan: {tuned.paper}: {tuned.paper_accuracy:.4f}; gain {tuned.gain:+.4f} "
        f"({gain_low:+.4f} to {gain_high:+.4f})"
    )
    if tuned.population is not None:
        click.echo(f"voters: {tuned.population!r}"[:-1].replace("<PopulationFit of ", ""))


@click.command("votes-needed", epilog=_NEEDED_EXAMPLE, short_help="How many votes an accuracy takes.")
@click.option("--accuracy", type=float, required=True, metavar="A", help="Wanted mean of the coefficient.")
@click.option("--similarity", default="exponential", show_default=True, metavar="NAME|FILE", help=_SIMILARITY_HELP)
@click.option(
    "--approach",
    type=click.Choice([name for name in APPROACHES if name != "full_rankings"]),
    default="matched",
    show_default=True,
    help="How comparisons are chosen.",
)
@click.option("--most", type=int, metavar="VOTES", help="The most votes that are tried; by default 20 for each item.")
@click.option("--simulations", type=int, default=20, show_default=True, metavar="S", help="Number of simulations.")
@_shared
def votes_needed_command(
    shared: Shared,
    *,
    accuracy: float,
    similarity: str,
    approach: Approach,
    most: int | None,
    simulations: int,
) -> None:
    """Count the votes that a mean accuracy takes, or say that these voters cannot reach it."""
    values = given_similarity(similarity, shared.n_items)
    with quiet_executor(shared.workers) as executor, progress_bar(2 * simulations, "run") as advance:
        needed = votes_needed(
            accuracy,
            similarity=values,
            voters=shared.population,
            approach=approach,
            matching=Matching(batch=shared.batch),
            most=most,
            simulations=simulations,
            executor=executor,
            progress=advance,
            **shared.simulated,
        )
    if shared.as_json:
        print_json({**needed.to_dict(), "reached": needed.reached, "verdict": needed.verdict})
        return
    print_table(
        ["votes", shared.coefficient],
        [
            [f"{budget:,}", _value(mean, se)]
            for budget, mean, se in zip(needed.budgets.tolist(), needed.means, needed.ses, strict=True)
        ],
    )
    low, high = needed.bound_interval
    click.echo(
        f"\n{needed.verdict}\n{approach}, {values.size:,} items, {simulations} simulations, seed {shared.seed}; if "
        f"every voter ranked all items: {needed.bound:.4f} ({low:.4f} to {high:.4f})"
    )


def tuned_dict(tuned: TunedPlan) -> dict[str, Any]:
    """What `ballots tune --json` prints."""
    return {
        "budget": tuned.budget,
        "coefficient": tuned.coefficient,
        "candidates": [
            {
                "candidate": row.candidate.name,
                "mean": row.mean,
                "se": row.se,
                "simulations": row.simulations,
                "fell_out": row.fell_out,
            }
            for row in tuned.rows_tried
        ],
        "best": {"candidate": tuned.best.name, "mean": tuned.accuracy, "interval": tuned.accuracy_interval},
        "paper": {"candidate": tuned.paper.name, "mean": tuned.paper_accuracy},
        "gain": {"mean": tuned.gain, "interval": tuned.gain_interval},
        "voters": None if tuned.population is None else dict(tuned.population.intervals_by_name),
    }


def _value(mean: float, se: float) -> str:
    return "nan" if math.isnan(mean) else f"{mean:.4f} ({se:.4f})"


def _items(
    pilot: Path | None, similarity: str | None, n_items: int | None
) -> tuple[Comparisons | None, NDArray[np.float64] | None, int]:
    """Pilot votes and similarities, of which there is at least one, and the number of items."""
    if pilot is None:
        values = given_similarity(similarity or "exponential", n_items)
        return None, values, values.size
    votes = read_comparisons(pilot)
    if similarity is None:
        if n_items not in {None, votes.n_items}:
            raise OptionError(f"--n-items is {n_items}, but {pilot} has {votes.n_items} items")
        return votes, None, votes.n_items
    values = given_similarity(similarity, votes.n_items if n_items is None else n_items)
    return votes, values, values.size
