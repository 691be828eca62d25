"""The `rankcorr` command: options -> files -> library calls -> a table or JSON."""

import click

from rankcorr import __version__
from rankcorr.cli.compare import compare
from rankcorr.cli.console import OneLineErrors
from rankcorr.cli.evaluate import evaluate_command
from rankcorr.cli.leaderboard import leaderboard_command
from rankcorr.cli.plot import plot
from rankcorr.cli.tests import run_tests
from rankcorr.cli.vectors import vectors_command
from rankcorr.cli.weights import weights

_EXAMPLE = """\b
Example:
  rankcorr compare gold.csv system_a.csv system_b.csv
  rankcorr test gold.csv system_a.csv system_b.csv --versus
  rankcorr leaderboard gold.csv system_a.csv system_b.csv
  rankcorr evaluate qrels.txt bm25.run lsa.run --metric tau_w --metric ndcg@10 --versus bm25.run
  rankcorr evaluate-vectors glove.txt.gz wordsim.tsv rg65.tsv
  rankcorr plot ranks gold.csv system_a.csv --out ranks.png
  rankcorr weights --n0 2 --top 10
"""


@click.group(
    name="rankcorr",
    cls=OneLineErrors,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EXAMPLE,
)
@click.version_option(__version__, prog_name="rankcorr", message="%(prog)s %(version)s")
def main() -> None:
    """Tie-aware rank correlation in which the top of the list counts most."""


main.add_command(compare)
main.add_command(run_tests)
main.add_command(leaderboard_command)
main.add_command(evaluate_command)
main.add_command(vectors_command)
main.add_command(plot)
main.add_command(weights)

if __name__ == "__main__":
    main()
