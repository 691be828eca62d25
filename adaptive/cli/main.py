"""The `ballots` command: the group; each command has a module of its own."""

from __future__ import annotations

import click

from adaptive.cli.draw import draw_command, pair_command
from adaptive.cli.fit import fit_command
from adaptive.cli.next import next_command
from adaptive.cli.paper import figures_command, table2_command
from adaptive.cli.plan import plan_command
from adaptive.cli.plot import plot
from adaptive.cli.run import run
from adaptive.cli.score import score_command
from adaptive.cli.simulate import simulate_command
from adaptive.cli.tune import tune_command, votes_needed_command
from adaptive.cli.verify import verify_command
from adaptive.errors import AdaptiveError
from rankcorr import RankingError, __version__
from rankcorr.cli.console import OneLineErrors

_EXAMPLE = """\b
Example, from tokens to a ranking (open, record and close once for each ballot):
  ballots pair tokens.csv --out items.csv
  ballots run init voting.db --items items.csv --presentations 20 --voters 100 --seed 1
  ballots run open voting.db --out ballot.csv
  ballots run record voting.db votes.csv
  ballots run close voting.db
  ballots run result voting.db --out ranking.csv
"""


class Ballots(OneLineErrors):
    """The group; errors of rankcorr and adaptive are bad input."""

    bad_input = (RankingError, AdaptiveError, UnicodeEncodeError)  # the last of arguments that are not UTF-8


@click.group(
    name="ballots",
    cls=Ballots,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLE,
)
@click.version_option(__version__, prog_name="ballots", message="%(prog)s %(version)s")
def main() -> None:
    """Rank items by pairwise comparisons; each ballot goes on with the best items of the one before."""


for command in (
    pair_command,
    plan_command,
    draw_command,
    score_command,
    fit_command,
    next_command,
    plot,
    simulate_command,
    tune_command,
    votes_needed_command,
    run,
    verify_command,
    table2_command,
    figures_command,
):
    main.add_command(command)


if __name__ == "__main__":
    main()
