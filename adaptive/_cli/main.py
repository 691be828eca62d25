"""The `ballots` command: the group, and `ballots verify`, which checks a bundle without its ledger."""

import click

from adaptive._cli.ask import ask_command
from adaptive._cli.fit import fit_command, next_command, plot
from adaptive._cli.output import print_verified
from adaptive._cli.plan import draw_command, pair_command, plan_command, score_command
from adaptive._cli.run import run
from adaptive._cli.simulate import simulate_command, tune_command, votes_needed_command
from adaptive.errors import AdaptiveError
from rankcorr import RankingError, __version__
from rankcorr._cli.console import OneLineErrors, argument, command, json_option


class Ballots(OneLineErrors):
    """The group; errors of rankcorr and adaptive are bad input."""

    bad_input = (RankingError, AdaptiveError, UnicodeEncodeError)  # the last of arguments that are not UTF-8


@click.group(name="ballots", cls=Ballots)
@click.version_option(__version__, prog_name="ballots", message="%(prog)s %(version)s")
def main() -> None:
    """Rank items by the votes of people or programs, and collect votes.

    `ballots fit` ranks by votes that you have. `ballots next` chooses the comparisons to ask next, and `ballots run`
    keeps a campaign of many voters in a ledger.

    Example, with votes, with people and a judge, and from tokens to a ranking (the last steps once for each ballot):
      ballots fit votes.csv --out ranking.csv
      ballots fit people.csv battles.jsonl --powered-by gpt
      ballots pair tokens.csv --out items.csv
      ballots run init voting.db --items items.csv --presentations 20 --voters 100 --seed 1
      ballots run open voting.db --out ballot.csv
      ballots run record voting.db votes.csv
      ballots run close voting.db
      ballots run result voting.db --out ranking.csv
    """


@command("verify", short_help="Check a bundle of a campaign.")
def verify_command(bundle: str = argument(), as_json: bool = json_option("")) -> None:
    """Check BUNDLE without its ledger.

    The command checks the checksums of all files, the digests of draws and votes, and the chain of ballots. It counts
    the votes again, which must give every number of the ranking to the last bit. The seed must give the draws again,
    and the choice among items that tie at a cut. README.md, croissant.json, votes.csv and result.csv must follow from
    the other files. Fields that cannot be checked are listed.

    Example:
      ballots run export voting.db --out campaign.zip
      ballots verify campaign.zip
    """
    from adaptive.ledger import verify_bundle

    print_verified(verify_bundle(bundle), as_json)


for ballots_command in (
    *(pair_command, plan_command, draw_command, score_command, fit_command, next_command, ask_command, plot),
    *(simulate_command, tune_command, votes_needed_command, run, verify_command),
):
    main.add_command(ballots_command)


if __name__ == "__main__":
    main()
