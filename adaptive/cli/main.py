"""The `ballots` command: options -> files -> library calls -> a table, CSV or JSON. `run` is in `adaptive.cli.run`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np
from numpy.typing import NDArray

from adaptive.cli.output import emit
from adaptive.cli.paper import figures_command, table2_command
from adaptive.cli.plan import PlanOptions, number_of_items, plan_dict, plan_options, print_plan
from adaptive.cli.processes import quiet_executor
from adaptive.cli.run import run
from adaptive.draw import draw_ballot
from adaptive.errors import AdaptiveError, VoteError
from adaptive.pairing import FewRareTokensWarning, pair_tokens, read_tokens
from adaptive.scores import score_ballot
from adaptive.session.ballot_box import BallotBox
from adaptive.simulation.similarity import SIMILARITIES, named_similarity, read_similarities
from adaptive.simulation.simulate import COEFFICIENTS, simulate
from adaptive.simulation.voters import VoterPopulation
from adaptive.tables import (
    Label,
    VoteFile,
    comparisons_csv,
    csv_text,
    item_cells,
    item_columns,
    pairing_csv,
    read_items,
    read_vote_file,
)
from rankcorr import OptionError, Ranking, RankingError, __version__
from rankcorr.cli.console import OneLineErrors, print_json, print_table
from rankcorr.io.records import printable

_EXAMPLE = """\b
Example, from tokens to a ranking (open, record and close once for each ballot):
  ballots pair tokens.csv --out items.csv
  ballots run init voting.json --items items.csv --presentations 20 --voters 100 --seed 1
  ballots run open voting.json --out ballot.csv
  ballots run record voting.json votes.csv
  ballots run close voting.json
  ballots run result voting.json --out ranking.csv
"""
_PAIR_EXAMPLE = """\b
Example:
  ballots pair tokens.csv --out items.csv
  ballots pair tokens.csv --sample 500 --seed 1 --out items.csv
"""
_PLAN_EXAMPLE = """\b
Example:
  ballots plan --n-items 990 --presentations 20 --seconds 5
  ballots plan --items items.csv --hours 40 --seconds 5 --voters 100
  ballots plan --n-items 990 --ballots 5 --fraction 0.6 --budget 20000
"""
_DRAW_EXAMPLE = """\b
Example:
  ballots draw items.csv --presentations 20 --voters 100 --seed 1 --out ballot.csv
"""
_SCORE_EXAMPLE = """\b
Example:
  ballots score votes.csv
  ballots score votes1.csv votes2.csv votes3.csv --out ranking.csv
"""
_SIMULATE_EXAMPLE = """\b
Example:
  ballots simulate --n-items 990 --presentations 20 --simulations 50
  ballots simulate --similarity cosines.csv --top 100 --workers 2 --json
"""


class Ballots(OneLineErrors):
    """The group; errors of both packages are bad input."""

    bad_input = (RankingError, AdaptiveError)


@click.group(
    name="ballots",
    cls=Ballots,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLE,
)
@click.version_option(__version__, prog_name="ballots", message="%(prog)s %(version)s")
def main() -> None:
    """Rank items by comparisons, in ballots that go on with the best."""


main.add_command(run)
main.add_command(table2_command)
main.add_command(figures_command)


@main.command(epilog=_PAIR_EXAMPLE, short_help="Tokens -> items: pairs of tokens.")
@click.argument("tokens")
@click.option("--sample", type=int, metavar="N", help="Take N random pairs, not all; needs --seed.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the --sample.")
@click.option("--across-areas", is_flag=True, help="Pair any two tokens, of one semantic area or two.")
@click.option("--out", metavar="FILE", help="Write the items here.  [default: standard output]")
def pair(tokens: str, sample: int | None, seed: int | None, across_areas: bool, out: str | None) -> None:
    """Pair the tokens of each semantic area.

    TOKENS is a CSV or TSV file with the columns token, area and, if known, frequency. The items are CSV with the
    columns item_1, item_2, area and, with frequencies, rare: whether a token is below 10 % of their mean.
    """
    if (sample is None) != (seed is None):
        missing = "--seed" if seed is None else "--sample"
        raise OptionError(f"--sample and --seed belong together; {missing} is missing")
    rng = None if seed is None else np.random.default_rng(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FewRareTokensWarning)
        pairing = pair_tokens(read_tokens(tokens), sample=sample, across_areas=across_areas, rng=rng)
    of = "" if sample is None else f" of {pairing.n_admissible:,}"
    emit(pairing_csv(pairing), out, f"{pairing.n_items:,}{of} items written to {out}")
    for warning in caught:
        _note(str(warning.message))


@main.command(epilog=_PLAN_EXAMPLE, short_help="Ballots, cost and advice, before any vote.")
@click.option("--n-items", type=int, metavar="N", help="Number of items.")
@click.option("--items", metavar="FILE", help="Or a file of them.")
@plan_options
@click.option("--voters", type=int, metavar="V", help="Number of voters, for the advice.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plan(n_items: int | None, items: str | None, options: PlanOptions, voters: int | None, as_json: bool) -> None:
    """Plan a voting: items and comparisons of each ballot, person-hours (with --seconds) and advice."""
    planned = options.plan(number_of_items(n_items, items))
    if as_json:
        print_json(plan_dict(planned, voters=voters, seconds=options.seconds))
    else:
        print_plan(planned, voters=voters, seconds=options.seconds)


@main.command(epilog=_DRAW_EXAMPLE, short_help="Items -> one ballot: comparisons for each voter.")
@click.argument("items")
@click.option("--presentations", type=int, required=True, metavar="M", help="Presentations of each item.")
@click.option("--voters", type=int, required=True, metavar="V", help="Number of voters; they are named 0 to V-1.")
@click.option("--seed", type=click.IntRange(min=0), required=True, help="The same seed draws the same ballot.")
@click.option("--out", metavar="FILE", help="Write the comparisons here.  [default: standard output]")
def draw(items: str, presentations: int, voters: int, seed: int, out: str | None) -> None:
    """Draw a single ballot of the items in ITEMS.

    ITEMS is a CSV or TSV file with the column item, or item_1, item_2, ... The comparisons are CSV, voter by voter,
    with the columns comparison, voter, left, right (or left_1, left_2, ...) and an empty winner to fill in.
    """
    ballot = draw_ballot(read_items(items), presentations, voters, np.random.default_rng(seed))
    shown = BallotBox(1, ballot, drawn="").comparisons()
    emit(comparisons_csv(shown), out, f"{len(shown):,} comparisons written to {out}")


@main.command(epilog=_SCORE_EXAMPLE, short_help="Votes -> ranking, of one or several ballots.")
@click.argument("votes", nargs=-1, required=True, metavar="VOTES...")
@click.option("--out", metavar="FILE", help="Write the ranking here.  [default: standard output]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the slope b of each ballot.")
def score(votes: tuple[str, ...], out: str | None, as_json: bool) -> None:
    """Rank the items of the VOTES files: one file for each ballot, in their order.

    Each is CSV or TSV with the columns left, right (or left_1, left_2, ...) and winner: left, right, tie, or empty
    where there is no answer. The column comparison may be there; its ids must then differ. Items of a ballot are items
    of the one before. The ranking is CSV: item, rank, score, presentations, wins, ties, losses and last_ballot.
    """
    if votes.count("-") > 1:
        raise OptionError("'-' (standard input) can be given only once")
    rows: dict[Label, dict[str, Any]] = {}
    ballots = []
    for number, path in enumerate(votes, start=1):
        file = read_vote_file(path, needed=["left", "right", "winner"])
        ballots.append({"votes": path, **_score(file, number, rows)})
    ranking = Ranking.from_scores([row["score"] for row in rows.values()])
    best_first = sorted(zip(rows, ranking.ranks.tolist(), strict=True), key=lambda pair: pair[1])
    table = [{"item": item, "rank": rank, **rows[item]} for item, rank in best_first]
    if as_json:
        if out is not None:
            raise OptionError("--json and --out exclude each other: --out writes CSV")
        print_json({"ballots": ballots, "items": table})
        return
    header = [*item_columns("item", rows), *list(table[0])[1:]]
    text = csv_text(header, [[*item_cells(row["item"]), *list(row.values())[1:]] for row in table])
    emit(text, out, f"{len(table):,} items written to {out}")


def _score(file: VoteFile, number: int, rows: dict[Label, dict[str, Any]]) -> dict[str, Any]:
    """Score one ballot and bring the rows of its items up to date."""
    ballot, answers = file.as_ballot()
    items: tuple[Any, ...] = tuple(ballot.items)
    if number > 1:
        for row in file.rows:
            for item in (row.left, row.right):
                if item is not None and rows.get(item, {}).get("last_ballot") != number - 1:
                    file.fail(f"{printable(repr(item))} is not an item of ballot {number - 1}", row.line)
    previous = None if number == 1 else np.array([rows[item]["score"] for item in items], np.float64)
    try:
        scores = score_ballot(ballot, answers, ballot_number=number, previous_mean=previous)
    except VoteError as error:
        raise VoteError(f"{file.name}: {error}") from error
    counts: dict[str, NDArray[Any]] = {
        "presentations": scores.tally.presentations,
        "wins": scores.tally.wins,
        "ties": scores.tally.ties,
        "losses": scores.tally.losses,
    }
    for place, item in enumerate(items):
        before = rows.get(item, {})
        totals = {name: before.get(name, 0) + int(count[place]) for name, count in counts.items()}
        rows[item] = {"score": float(scores.ybar[place]), **totals, "last_ballot": number}
    return {"n_items": len(items), "n_comparisons": len(file.rows), "b": scores.b}


@main.command("simulate", epilog=_SIMULATE_EXAMPLE, short_help="What a plan would reach, with simulated voters.")
@click.option(
    "--n-items", type=int, metavar="N", help="Number of items; those of the file of --similarity if left out."
)
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
    voters: int,
    simulations: int,
    seed: int,
    workers: int,
    as_json: bool,
) -> None:
    """Simulate a plan, and a uniform ballot of equal cost: mean +- sd of the coefficients with the true ranking."""
    values = _similarity(similarity, n_items)
    planned, population = options.plan(values.size), VoterPopulation(voters)
    with quiet_executor(workers) as executor:  # undefined coefficients are told of below, for all simulations at once
        result = simulate(
            planned,
            population,
            values,
            n_simulations=simulations,
            seed=seed,
            relatedness=judge == "relatedness",
            executor=executor,
        )
    if as_json:
        chosen = {"similarity": similarity, "judge": judge, "voters": voters, "simulations": simulations, "seed": seed}
        print_json({"plan": planned.to_dict(), "options": chosen, "coefficients": result.to_dict()})
        return
    click.echo(
        f"{planned.n_items:,} items ({printable(similarity, limit=None)}), {planned.n_comparisons:,} comparisons, "
        f"{voters} voters, {simulations} simulations, seed {seed}\n"
    )
    presentations = {
        "adaptive": f"{planned.presentations} to {planned.top_presentations}",
        "uniform": f"{max(1, round(planned.uniform_presentations))}",
    }
    mean, sd = result.mean, result.sd
    print_table(
        ["approach", "presentations", *COEFFICIENTS],
        [
            [name, presentations[name], *(f"{mean[name][each]:.4f} +- {sd[name][each]:.4f}" for each in COEFFICIENTS)]
            for name in mean
        ],
    )
    if any(np.isnan(each).any() for named in result.statistics.values() for each in named.values()):
        _note("some simulations have no coefficient, because their ranking does not tell the items apart; it is nan")


def _similarity(chosen: str, n_items: int | None) -> NDArray[np.float64]:
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


def _note(message: str) -> None:
    click.echo(f"ballots: note: {printable(message, limit=None)}", err=True)


if __name__ == "__main__":
    main()
