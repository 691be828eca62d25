"""The command `ballots pair`: tokens -> items."""

from __future__ import annotations

import warnings

import click
import numpy as np

from adaptive.cli.output import emit, print_note
from adaptive.pairing import FewRareTokensWarning, pair_tokens, pairing_csv, read_tokens
from rankcorr import OptionError

_EXAMPLE = """\b
Example:
  ballots pair tokens.csv --out items.csv
  ballots pair tokens.csv --sample 500 --seed 1 --out items.csv
"""


@click.command("pair", epilog=_EXAMPLE, short_help="Tokens -> items: pairs of tokens.")
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
