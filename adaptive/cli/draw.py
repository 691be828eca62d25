"""The commands `ballots pair` and `ballots draw`: tokens -> items -> one ballot."""

from __future__ import annotations

import warnings

import click
import numpy as np

from adaptive.cli.output import emit, print_note
from adaptive.draw import draw_ballot
from adaptive.formats.votes import comparisons_csv
from adaptive.pairing import FewRareTokensWarning, pair_tokens, pairing_csv, read_tokens
from adaptive.tables import read_items
from adaptive.votes import comparisons_of
from rankcorr import OptionError

_PAIR_EXAMPLE = """\b
Example:
  ballots pair tokens.csv --out items.csv
  ballots pair tokens.csv --sample 500 --seed 1 --out items.csv
"""


@click.command("pair", epilog=_PAIR_EXAMPLE, short_help="Tokens -> items: pairs of tokens.")
@click.argument("tokens")
@click.option("--sample", type=int, metavar="N", help="Take N random pairs, not all; needs --seed.")
@click.option("--seed", type=click.IntRange(min=0), help="Seed of the --sample.")
@click.option("--across-areas", is_flag=True, help="Pair any two tokens, of one semantic area or two.")
@click.option("--out", metavar="FILE", help="Write the items here.  [default: standard output]")
def pair_command(tokens: str, sample: int | None, seed: int | None, across_areas: bool, out: str | None) -> None:
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
        print_note(str(warning.message))


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
