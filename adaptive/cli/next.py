"""The command `ballots next`: votes -> the comparisons that say most about the top of the list."""

from __future__ import annotations

import click
import numpy as np

from adaptive.cli.output import emit, print_note
from adaptive.cli.vote_files import FILES_HELP, Reading, read_files, vote_options
from adaptive.formats.votes import votes_csv
from adaptive.model.estimators import bradley_terry
from adaptive.model.matching import FOCUS, Matches, next_comparisons
from rankcorr import OptionError
from rankcorr.checks import repeated
from rankcorr.io.records import printable

_EXAMPLE = """\b
Example (the first line begins with items alone, the others go on with the votes so far):
  ballots next --items items.csv --voter Ann --voter Bob --size 50 --seed 1 --out batch1.csv
  ballots next batch1.csv --size 50 --seed 2 --out batch2.csv
  ballots next batch1.csv batch2.csv --size 50 --seed 3 --out batch3.csv
"""


@click.command(
    "next",
    epilog=_EXAMPLE,
    short_help="Votes -> whom to compare next.",
    help=f"""Choose the next comparisons by all votes of the VOTES files, so that they say most about the top.

    Strengths are fitted, and items whose rank is in doubt meet their neighbours. No voter gets a pair that they were
    shown before, answered or not, and who was shown the fewest gets the next one. The comparisons are CSV, in the order
    in which they are to be shown, with the columns comparison (ids above those of VOTES), voter (if voters are known),
    left, right (or left_1, left_2, ...) and an empty winner to fill in: left, right or tie. The filled file is one more
    file of votes. Small batches choose better: 50 is a good size.
    {FILES_HELP}""",
)
@click.argument("votes", nargs=-1, metavar="VOTES...")
@vote_options
@click.option("--size", type=int, required=True, metavar="N", help="Number of comparisons.")
@click.option("--seed", type=click.IntRange(min=0), required=True, help="Same votes and seed, same comparisons.")
@click.option("--voter", "voters", multiple=True, metavar="NAME", help="Who is to vote; several times for several.")
@click.option("--n0", type=float, default=2.0, show_default=True, help="Offset of the weights 1/(n + n0)^2.")
@click.option(
    "--focus", type=float, default=FOCUS, show_default=True, help="0: places of all items; 1: order of the top."
)
@click.option("--out", metavar="FILE", help="Write the comparisons here.  [default: standard output]")
def next_command(
    votes: tuple[str, ...],
    reading: Reading,
    items: str | None,
    size: int,
    seed: int,
    voters: tuple[str, ...],
    n0: float,
    focus: float,
    out: str | None,
) -> None:
    """Choose comparisons; the text of the help is above."""
    if again := repeated(voters):
        raise OptionError(f"--voter names each voter once; got {printable(str(again[0]))} twice")
    if any(name != name.strip() or not name or "\n" in name for name in voters):
        raise OptionError("--voter is a name in one line, without spaces around it")
    comparisons, first = read_files(votes, reading, items)
    if voters and comparisons.n_comparisons and comparisons.voters is None:
        raise OptionError("--voter needs votes whose voters are known; these have no column of voters")
    strengths = bradley_terry(comparisons)
    rng = np.random.default_rng(seed)
    matches = next_comparisons(strengths, size, rng=rng, voters=voters or None, n0=n0, focus=focus)
    known = bool(voters) or comparisons.voters is not None
    note = f"{matches.n_comparisons:,} comparisons written to {out}"
    emit(_csv(matches, first, known=known), out, note)
    if matches.reason:
        print_note(f"{matches.n_comparisons:,} of {size:,} comparisons: {matches.reason}")


def _csv(matches: Matches, first: int, *, known: bool) -> str:
    """Comparisons to be filled in, numbered from `first`, which is above all ids so far: the files can be joined."""
    labels = {side: [matches.items[place] for place in getattr(matches, side).tolist()] for side in ("left", "right")}
    voter = {"voter": [matches.voters[who] for who in matches.voter.tolist()]} if known else {}
    numbers = range(first, first + matches.n_comparisons)
    return votes_csv({"comparison": numbers, **voter, **labels, "winner": [""] * len(numbers)})
