"""The command `ballots draw`: items -> one ballot."""

from __future__ import annotations

import click
import numpy as np

from adaptive.cli.output import emit
from adaptive.draw import draw_ballot
from adaptive.formats.votes import comparisons_csv
from adaptive.tables import read_items
from adaptive.votes import comparisons_of

_EXAMPLE = """\b
Example:
  ballots draw items.csv --presentations 20 --voters 100 --seed 1 --out ballot.csv
"""


@click.command("draw", epilog=_EXAMPLE, short_help="Items -> one ballot: comparisons for each voter.")
@click.argument("items")
@click.option("--presentations", type=int, required=True, metavar="M", help="Presentations of each item.")
@click.option("--voters", type=int, required=True, metavar="V", help="Number of voters; they are named 0 to V-1.")
@click.option("--seed", type=click.IntRange(min=0), required=True, help="The same seed draws the same ballot.")
@click.option("--out", metavar="FILE", help="Write the comparisons here.  [default: standard output]")
def draw_command(items: str, presentations: int, voters: int, seed: int, out: str | None) -> None:
    """Draw a single ballot of the items in ITEMS.

    ITEMS is a CSV or TSV file with the column item, or item_1, item_2, ... The comparisons are CSV, voter by voter,
    with the columns comparison, voter, left, right (or left_1, left_2, ...) and an empty winner to fill in.
    """
    ballot = draw_ballot(read_items(items), presentations, voters, np.random.default_rng(seed))
    shown = comparisons_of(ballot, 1)
    emit(comparisons_csv(shown), out, f"{len(shown):,} comparisons written to {out}")
