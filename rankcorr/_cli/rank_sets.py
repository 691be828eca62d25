"""`rankcorr rank-sets`: estimates with their standard errors -> the ranks that they may have."""

from __future__ import annotations

from typing import Any

import click

from rankcorr._cli import console, options
from rankcorr._cli.console import label_text, number_text, rank_text, ranks_text
from rankcorr._io.table import read_numbers
from rankcorr._options import default_of
from rankcorr._results import TableNotes
from rankcorr._workers import progress_bar
from rankcorr.errors import OptionError
from rankcorr.inference._multiple_tests import RankSets, rank_sets


@console.command("rank-sets", short_help="Find the ranks that estimates may have.")
@click.argument("estimates", metavar="ESTIMATES")
@console.option("--id", "id_column", default="name", metavar="COLUMN", help="Column of the names.")
@console.option("--estimate", default="estimate", metavar="COLUMN", help="Column of the estimates: larger is better.")
@console.option("--error", default="standard_error", metavar="COLUMN", help="Column of their standard errors.")
@console.option(
    "--best", type=click.IntRange(min=1), metavar="TAU", help="Also list those that may be among the TAU best."
)
@options.level_option(help_text="Probability that the sets hold all true ranks together.")
@options.resamples_option(default_of(rank_sets, "n_resamples"), "Number of draws of the noise.")
@console.seed_option()
@console.table_option()
@console.json_option()
def rank_sets_command(
    estimates: str,
    id_column: str,
    estimate: str,
    error: str,
    best: int | None,
    level: float,
    resamples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Find the ranks that estimates may have, from a table of ESTIMATES with standard errors: CSV or TSV.

    The estimates are independent, and close to normally distributed. The simultaneous sets of ranks hold all true ranks
    together with the probability --level; a marginal set holds the true rank of its own estimate.

    Example:
      rankcorr rank-sets estimates.csv
      rankcorr rank-sets pisa.csv --id jurisdiction --estimate math_score --error math_se --best 1
    """
    if estimate == error:
        raise OptionError("--estimate and --error must be different columns")
    numbers, errors = (
        read_numbers(estimates, id_columns=[id_column], score_column=column).numbers for column in (estimate, error)
    )
    with progress_bar(None, "draw", "rank sets") as advance:
        sets = rank_sets(
            numbers, standard_errors=errors, level=level, n_resamples=resamples, seed=seed, progress=advance
        )
    if as_json:
        content: dict[str, Any] = {**sets.to_dict(), "best": None if best is None else list(sets.best(best))}
        console.print_json({**content, "options": {"id": id_column, "estimate": estimate, "error": error}})
        return
    click.echo(
        f"{console.percent_text(level)} sets of ranks of {len(sets.names)} estimates "
        f"({console.resamples_text(resamples, seed)})\n"
    )
    _print(sets)
    if best is not None:
        names = ", ".join(map(label_text, sets.best(best)))
        click.echo(f"\nmay be among the {best} best: {names}" if best > 1 else f"\nmay be the best: {names}")


def _print(sets: RankSets) -> None:
    columns: dict[str, console.Column] = {
        "rank": ("rank", rank_text),
        "ranks": (("least_rank", "largest_rank"), ranks_text),
        "marginal ranks": (("marginal_least_rank", "marginal_largest_rank"), ranks_text),
        "group": ("group", "{}"),
        "name": ("name", label_text),
        "estimate": ("estimate", number_text),
    }
    console.print_rows(sets.table(), columns, TableNotes("Estimates and the ranks that they leave possible."))
