"""`ballots run open`, `record`, `correct`, `conflicts` and `assign`: write comparisons, and record the votes."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

import click

from adaptive._cli.output import emit, print_rows
from adaptive._cli.run.campaign import described, ledger_argument
from adaptive._cli.vote_files import Reading, reading_options
from adaptive._formats.votes import read_votes
from adaptive.errors import ProtocolError
from adaptive.ledger import ANSWERS, Campaign
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli.console import command, json_option, print_json


@command("open", short_help="Draw the next ballot: comparisons for each voter.")
@ledger_argument
@click.option("--out", metavar="FILE", help="Write the comparisons here.  [default: standard output]")
@click.option("--again", is_flag=True, help="Write the open comparisons again.")
@click.option("--voter", metavar="NAME", help="With --again: only those of this voter.")
@click.option("--unanswered", is_flag=True, help="With --again: only those without a vote.")
@click.option("--now", "at_once", is_flag=True, help="Draw the next batch even if much of the last is unanswered.")
def open_command(
    campaign: Campaign, out: str | None, again: bool, voter: str | None, unanswered: bool, at_once: bool
) -> None:
    """Open the next ballot of LEDGER, or the next batch of a continuous campaign.

    The comparisons are CSV, voter by voter, with the columns comparison, voter, left, right (or left_1, left_2, ...)
    and an empty winner to fill in: left, right, tie or "cannot say"; with grades also an empty grade. Sets have item_1,
    item_2, ... and an empty best and worst, in which an item of the set is to be written. Checks on voters,
    if the campaign asks any, are among them and look the same. Record their answers with the others; they are never
    scored.

    Example:
      ballots run open voting.db --out ballot.csv
      ballots run open voting.db --again --voter 17 --unanswered --out rest.csv
    """
    check_other(out, campaign)
    if (voter is not None or unanswered) and not again:
        raise OptionError("--voter and --unanswered require --again")
    unit = campaign.info.unit
    if again:
        comparisons = campaign.asked(voter=voter, unanswered=unanswered)
        if not comparisons and not any(ballot.state == "open" for ballot in campaign.ballots()):
            raise ProtocolError(f"no {unit} is open: there is nothing to show")
        number = len(campaign.ballots())
    else:
        number = campaign.open_next(at_once=at_once)
        comparisons = campaign.asked(number=number)
    about = "open batches" if again and unit == "batch" else f"{unit} {number}"
    emit(campaign.comparisons_csv(comparisons), out, f"{about}: {len(comparisons):,} comparisons written to {out}")


@command(short_help="Record votes, some or all, in any order.")
@ledger_argument
@click.argument("votes")
@reading_options
@json_option("")
def record(campaign: Campaign, votes: str, reading: Reading, as_json: bool) -> None:
    """Record the votes of a file in LEDGER: all of them, or none if a row is not valid.

    VOTES is CSV, TSV or JSON with the columns comparison and winner: left, right, tie, "cannot say", or empty for no
    answer yet. The columns left and right, if present, must match the comparison; voter names the voter. Column seconds
    is the time that an answer took; grade is that of the preference, in a campaign with grades. In a campaign of sets,
    best and worst take the place of winner, and the items item_1, item_2, ... must be there. Other columns are
    stored with the votes. Votes that are already recorded change nothing. A vote that contradicts a recorded one is
    set aside; see `ballots run conflicts`.

    Example:
      ballots run record voting.db votes.csv
    """
    if campaign.info.set_size > 2:
        recorded = campaign.import_votes(votes, **reading._asdict())
    else:
        file = read_votes(votes, **reading._asdict(), needed=["comparison", "winner"]).file()
        recorded = campaign.record_file(file)
    status = campaign.status()
    if as_json:
        print_json({**asdict(recorded), "status": asdict(status)})
        return
    aside = "".join(
        f", {counted(number, noun)} set aside"
        for number, noun in ((recorded.n_conflicts, "conflict"), (recorded.n_late, "late vote"))
        if number
    )
    checks = f", {counted(recorded.n_probes, 'answer')} to checks" if recorded.n_probes else ""
    click.echo(f"{counted(recorded.n_new, 'new vote')}{checks}{aside}; {described(status)}")


@command(short_help="Correct a vote, with a reason.")
@ledger_argument
@click.argument("comparison")
@click.argument("winner", type=click.Choice([*ANSWERS, "none"]), metavar="WINNER")
@click.option("--reason", required=True, help="Reason, which the ledger keeps.")
def correct(campaign: Campaign, comparison: str, winner: str, reason: str) -> None:
    """Correct the vote on a COMPARISON like b1-0-17 while its ballot is open; "none" voids it.

    Both votes stay in the ledger. To resolve a conflict for the recorded vote, repeat its winner. A voided comparison
    can be answered again. WINNER is left, right, tie, "cannot say" or none; "left 2" is a preference of the second
    grade, in a campaign with grades, and "best 1 worst 4" an answer to a set of items, by their places in it.

    Example:
      ballots run correct voting.db b1-0-17 right --reason "meant the other one"
      ballots run correct voting.db b1-0-17 none --reason "not read"
    """
    if not reason.strip():
        raise OptionError("--reason must not be empty")
    answer = None if winner == "none" else winner
    campaign.correct(comparison, answer, reason)
    click.echo(f"comparison {comparison}: {'voided' if answer is None else f'the vote is {answer!r} now'}")


_OF_CONFLICT: Final[dict[str, Callable[[Any], str]]] = {
    "comparison": lambda row: row.comparison,
    "voter": lambda row: row.voter,
    "recorded": lambda row: row.recorded or "none",
    "conflicting": lambda row: row.conflicting,
    "corrected": lambda row: "yes" if row.corrected else "no",
}


@command(short_help="List votes that contradict recorded ones.")
@ledger_argument
@json_option("")
def conflicts(campaign: Campaign, as_json: bool) -> None:
    """List the votes of LEDGER that contradict recorded ones; resolve each with `ballots run correct`.

    Example:
      ballots run conflicts voting.db
    """
    conflicts = campaign.conflicts()
    if conflicts or as_json:
        print_rows(conflicts, _OF_CONFLICT, as_json)
    else:
        click.echo("no conflicts")


@command(short_help="Give sheets to another voter.")
@ledger_argument
@click.argument("voter")
@click.option("--from", "giver", metavar="NAME", help="All unfinished sheets of this voter.")
@click.option(
    "--sheet", "sheets", type=click.IntRange(1, 2**31 - 1), multiple=True, help="This sheet; may be repeated."
)
def assign(campaign: Campaign, voter: str, giver: str | None, sheets: tuple[int, ...]) -> None:
    """Give sheets of the open ballot to VOTER; a new name creates a voter.

    Answers of the previous voter stay. Their later votes on these sheets are stored as late votes.

    Example:
      ballots run assign voting.db Dora --from 17
      ballots run assign voting.db Dora --sheet 12
    """
    if (giver is None) == (not sheets):
        raise OptionError("give either --from or --sheet")
    number = campaign.voters.give_sheets(voter, giver=giver, sheets=sheets)
    click.echo(f"{counted(number, 'sheet')} given to {voter}")


def check_other(out: str | None, campaign: Campaign) -> None:
    """Refuse to write over the ledger itself."""
    if out is not None and campaign.is_kept_in(out):
        raise ProtocolError(f"{out}: is the ledger itself; choose another file for --out")
