"""The commands `ballots table2` and `ballots figures`: what the paper shows, from new simulations."""

from __future__ import annotations

import click
import numpy as np

from adaptive.cli.output import print_note, quiet_executor
from adaptive.paper.figures import write_figures
from adaptive.paper.table2 import row_seeds, table2
from adaptive.simulation.similarity import SIMILARITIES, read_similarities
from adaptive.simulation.simulate import LEGEND, TIES
from rankcorr.cli.console import print_json
from rankcorr.io.records import printable
from rankcorr.plots.style import MissingMatplotlibError
from rankcorr.workers import progress_bar

_TABLE2_EXAMPLE = """\b
Example:
  ballots table2 --workers 2
  ballots table2 --simulations 200 --embedding cosines.csv --json
"""
_FIGURES_EXAMPLE = """\b
Example:
  ballots figures --out figures
"""


@click.command("table2", epilog=_TABLE2_EXAMPLE, short_help="Table 2 of the paper, as its text describes it.")
@click.option("--simulations", type=int, default=50, show_default=True, metavar="S", help="Number of simulations.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same numbers.")
@click.option("--workers", type=click.IntRange(min=1), default=1, show_default=True, help="Number of processes.")
@click.option(
    "--embedding",
    metavar="FILE",
    help="Your own cosines: a CSV file with the column similarity.  [default: those of the paper, summarised]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with null where undefined.")
def table2_command(simulations: int, seed: int, workers: int, embedding: str | None, as_json: bool) -> None:
    """Simulate Table 2: mean +- sd (standard error) of the coefficients with the true ranking.

    990 items and 100 voters; 7 ballots, each of half the items, at 20 presentations, against a uniform ballot of equal
    cost. Each similarity has simulations of its own. Items that tie in an estimate share their mid-rank. The numbers
    are not those the paper prints: its code does not do what its text says.
    """
    values = None if embedding is None else read_similarities(embedding)
    total = simulations * len(SIMILARITIES)
    with quiet_executor(workers) as executor, progress_bar(total, "simulation") as advance:
        table = table2(n_simulations=simulations, seed=seed, executor=executor, embedding=values, progress=advance)
    if as_json:
        chosen = {"simulations": simulations, "seed": seed, "seeds": row_seeds(seed), "ties": TIES}
        print_json({"options": {**chosen, "embedding": embedding}, "coefficients": table.to_dict()})
        return
    own = "" if values is None else f", embedding of {values.size:,} items from {printable(str(embedding), limit=None)}"
    click.echo(f"{simulations} simulations, seed {seed}{own}\n")
    click.echo(f"{table.to_text()}\n\n{LEGEND}")
    statistics = [result.statistics for result in table.results.values()]
    if any(np.isnan(each).any() for rows in statistics for row in rows.values() for each in row.values()):
        print_note("some simulations have no coefficient, because all items are tied: nan")


@click.command("figures", epilog=_FIGURES_EXAMPLE, short_help="Figures 2, 3 and 4 of the paper, as PNG and SVG.")
@click.option("--out", required=True, metavar="DIR", help="Folder of the files; it is made if it is missing.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Same seed, same figures.")
def figures_command(out: str, seed: int) -> None:
    """Draw Figures 2, 3 and 4 from a simulation, and write each as PNG and SVG.

    Figure 2: how the scores of ballot 2 are rescaled. Figure 3: the three similarity distributions. Figure 4: scores
    against the true rank. Needs matplotlib.
    """
    try:
        paths = write_figures(out, seed=seed)
    except MissingMatplotlibError as error:
        raise click.ClickException(str(error)) from error
    for path in paths:
        click.echo(printable(str(path), limit=None))
