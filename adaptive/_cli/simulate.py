"""The commands `ballots simulate`, `tune` and `votes-needed`: accuracy of a plan, best plan, votes for an accuracy."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import click
import numpy as np
from numpy.typing import NDArray

from adaptive._cli.output import print_note, quiet_executor
from adaptive._cli.plan import PlanArguments, print_advice
from adaptive._plan import BallotPlan
from adaptive._tuning.candidates import CANDIDATES, candidates_for
from adaptive._tuning.tune import Search, TunedPlan, tune_plan, tuning_runs
from adaptive._tuning.votes_needed import Repetitions, votes_needed
from adaptive.comparisons._comparisons import Comparisons, read_comparisons
from adaptive.matching._matched_ballots import MatchedBallots
from adaptive.matching._matching import Matching
from adaptive.simulation._approaches import APPROACHES, PAPER_APPROACHES, Approach, uniform_presentations
from adaptive.simulation._similarity import SIMILARITIES, named_similarity, read_similarities
from adaptive.simulation._simulate import LEGEND, TIES, simulate
from adaptive.simulation._voters import VoterPopulation
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli import console
from rankcorr._cli.console import progress_bar
from rankcorr._coefficients import COEFFICIENTS, CoefficientName

_SIMILARITY_HELP = f"Name of a distribution, {', '.join(SIMILARITIES)}, or a CSV file with the column similarity."
Judge: TypeAlias = Literal["relatedness", "similarity"]


def _judge_option() -> Any:
    return console.choice_option(get_args(Judge), "Voters judge abs(z), or z itself.")


def _workers_option() -> Any:
    return console.option(type=click.IntRange(min=1), default=1, help="Number of processes.")


@contextmanager
def _simulating(workers: int, total: int, unit: str, of: str) -> Iterator[dict[str, Any]]:
    """Give the arguments `executor` and `progress` of a simulation."""
    with quiet_executor(workers) as executor, progress_bar(total, unit, of) as advance:
        yield {"executor": executor, "progress": advance}


@console.command("simulate", short_help="Simulate the accuracy of a plan.")
def simulate_command(
    n_items: int | None = console.text_option(
        "N", "Number of items (default: from the file of --similarity).", type=int
    ),
    options: PlanArguments = console.options_of(PlanArguments),
    similarity: str = console.text_option("NAME|FILE", _SIMILARITY_HELP, default="exponential"),
    judge: Judge = _judge_option(),
    approaches: tuple[Approach, ...] = console.option(
        "--approach",
        type=click.Choice(APPROACHES),
        multiple=True,
        default=PAPER_APPROACHES,
        help="How votes are collected and counted; repeat it to compare several.",
    ),
    voters: int = console.declared_option(VoterPopulation, "n_voters", metavar="V"),
    simulations: int = console.text_option("S", "Number of simulations.", type=int, default=50),
    seed: int = console.seed_option(),
    workers: int = _workers_option(),
    as_json: bool = console.json_option(),
) -> None:
    """Simulate a plan, and a uniform ballot or other approaches of equal cost.

    Approaches: the paper's adaptive ballots and a uniform ballot (adaptive, uniform), the same votes with fitted
    strengths (adaptive_fitted, uniform_fitted), pairs matched batch by batch or within fixed ballots (matched,
    matched_ballots), and the full rankings of all voters, at any cost (full_rankings).

    The table shows mean +- sd (standard error of the mean) of the coefficients with the true ranking. Items that tie in
    an estimate share their mid-rank.

    Example:
      ballots simulate --n-items 990 --presentations 20 --simulations 50
      ballots simulate --similarity cosines.csv --top 100 --workers 2 --json
      ballots simulate --n-items 990 --presentations 20 --approach adaptive --approach matched
    """
    values = given_similarity(similarity, n_items)
    planned, population = options.plan(values.size), VoterPopulation(voters)
    of_voters: dict[str, Any] = {"n_simulations": simulations, "seed": seed, "relatedness": judge == "relatedness"}
    different = tuple(dict.fromkeys(approaches))
    with _simulating(workers, simulations, "simulation", "accuracy of the plan") as running:
        result = simulate(planned, population, values, approaches=different, **of_voters, **running)
    if as_json:
        option_values = {"similarity": similarity, "judge": judge, "voters": voters}
        option_values |= {"simulations": simulations, "seed": seed, "ties": TIES}
        content = {"plan": planned.to_dict(), "options": option_values, "coefficients": result.to_dict()}
        console.print_json({**content, "advice": [asdict(note) for note in result.advice]})
        return
    click.echo(
        f"{planned.n_items:,} items ({console.whole(similarity)}), {planned.n_comparisons:,} comparisons, "
        f"{counted(voters, 'voter')}, {counted(simulations, 'simulation')}, seed {seed}\n"
    )
    presentations = _presentations(planned)
    console.print_table(
        ["approach", "presentations", *COEFFICIENTS],
        [[name, presentations[name], *cells] for name, cells in result.cells().items()],
    )
    click.echo(f"\n{LEGEND}")
    print_advice(result.advice)
    if any(np.isnan(values).any() for named in result.statistics.values() for values in named.values()):
        why = "because their ranking does not tell the items apart"
        print_note(f"some simulations have no coefficient, {why}; it is nan")


def _presentations(plan: BallotPlan) -> dict[str, str]:
    """How often an item is presented, by approach."""
    texts = {"adaptive": _range(plan), "uniform": str(uniform_presentations(plan))}
    texts |= {f"{name}_fitted": text for name, text in texts.items()}
    matched_ballots = _range(MatchedBallots().plan(plan.n_items, plan.n_comparisons))
    matched = f"mean {plan.uniform_presentations:.1f}"
    return {**texts, "matched": matched, "matched_ballots": matched_ballots, "full_rankings": "-"}


def _range(plan: BallotPlan) -> str:
    return f"{plan.presentations} to {plan.top_presentations}"


def given_similarity(source: str, n_items: int | None) -> NDArray[np.float64]:
    """Similarities of --similarity, a name or a file.

    Raises
    ------
    OptionError
        A name that is unknown, or a number of items that is missing or another than the file's.
    TableError
        As `read_similarities`.
    """
    if source not in SIMILARITIES:
        if not Path(source).exists():
            raise OptionError(f"--similarity must be one of {', '.join(SIMILARITIES)}, or a file; got '{source}'")
        values = read_similarities(source)
        if n_items not in {None, values.size}:
            raise OptionError(f"--n-items is {n_items}, but {source} has {values.size} similarities")
        return values
    if n_items is None:
        raise OptionError("give --n-items, unless --similarity is a file")
    return named_similarity(source, n_items)


@dataclass(frozen=True)
class TuningOptions:
    """Options of `ballots tune` and `ballots votes-needed`, as they were given."""

    n_items: int | None = console.text_option("N", "Number of items (default: from the file).", type=int)
    coefficient: CoefficientName = console.choice_option(
        COEFFICIENTS, "Coefficient that measures accuracy.", default="tau_w"
    )
    judge: Judge = _judge_option()
    voters: int | None = console.declared_option(
        VoterPopulation, "n_voters", default=None, show_default="100", metavar="V"
    )
    batch: int | None = console.declared_option(Matching, "batch")
    seed: int = console.seed_option()
    workers: int = _workers_option()
    as_json: bool = console.json_option()

    @property
    def population(self) -> VoterPopulation:
        """The simulated voters, where none are fitted."""
        return VoterPopulation() if self.voters is None else VoterPopulation(self.voters)

    @property
    def simulated(self) -> dict[str, Any]:
        """Arguments that both functions of the library take."""
        return {"relatedness": self.judge == "relatedness", "coefficient": self.coefficient, "seed": self.seed}


@console.command("tune", short_help="Find the best plan for a budget, with simulated voters.")
def tune_command(
    *,
    budget: int = console.text_option("COMPARISONS", "Maximum number of comparisons.", type=int, required=True),
    similarity: str | None = console.text_option(
        "NAME|FILE", f"{_SIMILARITY_HELP} Default: exponential, or from --pilot."
    ),
    pilot: Path | None = console.text_option(
        "VOTES",
        "File of votes on similar items, to which voters and similarities are fitted.",
        type=click.Path(path_type=Path),
    ),
    approaches: tuple[Approach, ...] = console.option(
        "--approach", type=click.Choice(CANDIDATES), multiple=True, help="Only these approaches (default: all)."
    ),
    search: dict[str, Any] = console.options_of(
        dict, **{name: console.declared_option(Search, name, metavar="S") for name in ("simulations", "fresh")}
    ),
    shared: TuningOptions = console.options_of(TuningOptions),
) -> None:
    """Find the best plan for a budget: fraction, presentations and number of ballots, or matching.

    Each round keeps the better half of the candidates and doubles the number of simulations. Fresh simulations then
    measure the winner and compare it with the paper's plan of the same budget.

    Example:
      ballots tune --budget 2000 --n-items 100 --similarity power_law --workers 2
      ballots tune --budget 2000 --pilot votes.csv --json
    """
    votes, values, size = _items(pilot, similarity, shared.n_items)
    candidates = candidates_for(size, budget, approaches=approaches or CANDIDATES, batch=shared.batch)
    voters = None if votes is not None and shared.voters is None else shared.population
    inputs: dict[str, Any] = {"similarity": values, "pilot": votes, "voters": voters, "candidates": candidates}
    with _simulating(shared.workers, tuning_runs(len(candidates), **search), "run", "search for a plan") as running:
        tuned = tune_plan(budget, **inputs, **search, **shared.simulated, **running)
    if shared.as_json:
        console.print_json(_tuned_dict(tuned))
        return
    rows = [
        [row.candidate.name, _value(row.mean, row.se), str(row.simulations), str(row.fell_out or "best")]
        for row in tuned.rows_tried
    ]
    console.print_table(["candidate", shared.coefficient, "simulations", "fell out"], rows)
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
    print_advice(tuned.advice)


@console.command("votes-needed", short_help="Find how many votes an accuracy takes.")
def votes_needed_command(
    *,
    accuracy: float = console.text_option("A", "Mean of the coefficient to reach.", type=float, required=True),
    similarity: str = console.text_option("NAME|FILE", _SIMILARITY_HELP, default="exponential"),
    approach: Approach = console.option(
        type=click.Choice([name for name in APPROACHES if name != "full_rankings"]),
        default="matched",
        help="How comparisons are chosen.",
    ),
    most: int | None = console.text_option(
        "VOTES", "Maximum number of votes to try (default: 20 for each item).", type=int
    ),
    simulations: int = console.declared_option(Repetitions, "simulations", metavar="S"),
    shared: TuningOptions = console.options_of(TuningOptions),
) -> None:
    """Estimate how many votes a mean accuracy takes, or report that these voters cannot reach it.

    Example:
      ballots votes-needed --accuracy 0.95 --n-items 100
      ballots votes-needed --accuracy 0.8 --coefficient rho_w --approach adaptive --n-items 100
    """
    values = given_similarity(similarity, shared.n_items)
    inputs: dict[str, Any] = {
        "similarity": values,
        "voters": shared.population,
        "matching": Matching(batch=shared.batch),
    }
    choice: dict[str, Any] = {"approach": approach, "most": most, "simulations": simulations}
    with _simulating(shared.workers, 2 * simulations, "run", "votes needed") as running:
        needed = votes_needed(accuracy, **inputs, **choice, **shared.simulated, **running)
    if shared.as_json:
        console.print_json({**needed.to_dict(), "reached": needed.reached, "verdict": needed.verdict})
        return
    reached = zip(needed.budgets.tolist(), needed.means, needed.ses, strict=True)
    rows = [[f"{budget:,}", _value(mean, se)] for budget, mean, se in reached]
    console.print_table(["votes", shared.coefficient], rows)
    low, high = needed.bound_interval
    click.echo(
        f"\n{needed.verdict}\n{approach}, {values.size:,} items, {simulations} simulations, seed {shared.seed}; if "
        f"every voter ranked all items: {needed.bound:.4f} ({low:.4f} to {high:.4f})"
    )


def _tuned_dict(tuned: TunedPlan) -> dict[str, Any]:
    """Return the object that `ballots tune --json` prints."""
    return {
        "budget": tuned.budget,
        "coefficient": tuned.coefficient,
        "candidates": [{**vars(row), "candidate": row.candidate.name} for row in tuned.rows_tried],
        "best": {"candidate": tuned.best.name, "mean": tuned.accuracy, "interval": tuned.accuracy_interval},
        "paper": {"candidate": tuned.paper.name, "mean": tuned.paper_accuracy},
        "gain": {"mean": tuned.gain, "interval": tuned.gain_interval},
        "voters": None if tuned.population is None else dict(tuned.population.intervals_by_name),
        "advice": [asdict(note) for note in tuned.advice],
    }


def _value(mean: float, se: float) -> str:
    return "nan" if math.isnan(mean) else f"{mean:.4f} ({se:.4f})"


def _items(
    pilot: Path | None, similarity: str | None, n_items: int | None
) -> tuple[Comparisons | None, NDArray[np.float64] | None, int]:
    """Return the pilot votes, the similarities, or both, and the number of items."""
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
