"""`ballots run open`, `record`, `correct`, `conflicts` and `assign`: write comparisons, and record the votes.

`quality`, `exclude`, `withdraw` and `link`: check the voters, exclude or erase one, and make a link to the organiser's
pages.
"""

from dataclasses import asdict
from typing import Final

import click

from adaptive._cli.output import emit, out_option
from adaptive._cli.run.ledgers import describe_status, ledger_argument, reason_option
from adaptive._cli.vote_files import Reading
from adaptive._formats.votes import read_votes
from adaptive._tables import item_cells
from adaptive.errors import ProtocolError
from adaptive.ledger import ANSWERS, Campaign, CampaignQuality, ExclusionPreview, FlagLimits
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli import console


@console.command("open", short_help="Draw the next ballot: comparisons for each voter.")
def open_command(
    campaign: Campaign = ledger_argument(),
    out: str | None = out_option("comparisons"),
    again: bool = console.flag_option("Write the open comparisons again."),
    voter: str | None = console.text_option("NAME", "With --again: only those of this voter."),
    unanswered: bool = console.flag_option("With --again: only those without a vote."),
    at_once: bool = console.flag_option("Draw the next batch even if much of the last is unanswered.", "--now"),
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


@console.command(short_help="Record votes, some or all, in any order.")
def record(
    campaign: Campaign = ledger_argument(),
    votes: str = console.argument(),
    reading: Reading = console.options_of(Reading),
    as_json: bool = console.json_option(""),
) -> None:
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
        recorded = campaign.import_votes(votes, **vars(reading))
    else:
        file = read_votes(votes, **vars(reading), needed=["comparison", "winner"]).file()
        recorded = campaign.record_file(file)
    status = campaign.status()
    if as_json:
        console.print_json({**asdict(recorded), "status": asdict(status)})
        return
    aside = "".join(
        f", {counted(number, noun)} set aside"
        for number, noun in ((recorded.n_conflicts, "conflict"), (recorded.n_late, "late vote"))
        if number
    )
    if recorded.n_voided:
        aside += f", {counted(recorded.n_voided, 'vote')} not recorded again after being voided (`correct` sets a vote)"
    checks = f", {counted(recorded.n_probes, 'answer')} to checks" if recorded.n_probes else ""
    click.echo(f"{counted(recorded.n_new, 'new vote')}{checks}{aside}; {describe_status(status)}")


@console.command(short_help="Correct a vote, with a reason.")
def correct(
    campaign: Campaign = ledger_argument(),
    comparison: str = console.argument(),
    winner: str = console.argument(type=click.Choice([*ANSWERS, "none"]), metavar="WINNER"),
    reason: str = reason_option(required=True),
) -> None:
    """Correct the vote on a COMPARISON like b1-0-17 while its ballot is open; "none" voids it.

    Both votes stay in the ledger. To resolve a conflict for the recorded vote, repeat its winner. A voided comparison
    can be answered again, but a file that repeats the voided vote does not count: set that vote here. WINNER is left,
    right, tie, "cannot say" or none; "left 2" is a preference of the second grade, in a campaign with grades, and
    "best 1 worst 4" an answer to a set of items, by their places in it.

    Example:
      ballots run correct voting.db b1-0-17 right --reason "meant the other one"
      ballots run correct voting.db b1-0-17 none --reason "not read"
    """
    answer = None if winner == "none" else winner
    campaign.correct(comparison, answer, reason)
    click.echo(f"comparison {comparison}: {'voided' if answer is None else f'the vote is {answer!r} now'}")


_OF_CONFLICT: Final[dict[str, console.Column]] = {
    "comparison": "{}",
    "voter": "{}",
    "recorded": lambda answer: answer or "none",
    "conflicting": "{}",
    "corrected": lambda is_corrected: "yes" if is_corrected else "no",
}


@console.command(short_help="List votes that contradict recorded ones.")
def conflicts(campaign: Campaign = ledger_argument(), as_json: bool = console.json_option("")) -> None:
    """List the votes of LEDGER that contradict recorded ones; resolve each with `ballots run correct`.

    Example:
      ballots run conflicts voting.db
    """
    conflicts = campaign.conflicts()
    if as_json:
        console.print_json([asdict(conflict) for conflict in conflicts])
    elif conflicts:
        console.print_rows(conflicts, _OF_CONFLICT)
    else:
        click.echo("no conflicts")


@console.command(short_help="Give sheets to another voter.")
def assign(
    campaign: Campaign = ledger_argument(),
    voter: str = console.argument(),
    giver: str | None = console.text_option("NAME", "All unfinished sheets of this voter.", "--from"),
    sheets: tuple[int, ...] = console.option(
        "--sheet", type=click.IntRange(1, 2**31 - 1), multiple=True, help="This sheet; may be repeated."
    ),
) -> None:
    """Give sheets of open ballots to VOTER; a new name creates a voter. --sheet gives those of the last ballot.

    Answers of the previous voter stay. Their later votes on these sheets are stored as late votes. A voter who has
    withdrawn is called by the random key that `ballots run status --by voter` shows.

    Example:
      ballots run assign voting.db Dora --from 17
      ballots run assign voting.db Dora --sheet 12
    """
    if (giver is None) == (not sheets):
        raise OptionError("give either --from or --sheet")
    number = campaign.voters.give_sheets(voter, giver=giver, sheets=sheets)
    click.echo(f"{counted(number, 'sheet')} given to {voter}")


@console.command(short_help="Make a link to the organiser's pages of rankcorr-collect.")
def link(
    campaign: Campaign = ledger_argument(),
    url: str = console.text_option("URL", "Address of rankcorr-collect.", default="http://127.0.0.1:8080"),
) -> None:
    """Print a link that opens the organiser's pages of the campaign in LEDGER.

    The part after # is a secret. The ledger stores only its hash, so a lost link cannot be shown again; this command
    makes a new one. Earlier links still work.

    Example:
      ballots run link voting.db --url https://votes.example.org
    """
    click.echo(f"{url.rstrip('/')}/o/{campaign.key}#{campaign.tokens.issue('organiser')}")


@console.command(short_help="Report speed, side, checks and agreement of each voter.")
def quality(
    campaign: Campaign = ledger_argument(),
    fast: float = console.declared_option(FlagLimits, "fast_seconds", metavar="SECONDS"),
    as_json: bool = console.json_option(""),
) -> None:
    """Report how reliable the votes in LEDGER are, voter by voter. No voter is excluded.

    seconds is the median time of a vote, and left the share of votes for the left side. attention and gold count the
    expected answers, repeats the equal answers to pairs asked again with the sides swapped, and agreement the equal
    answers of other voters to the same pairs. random is the probability, by a model of all votes, that the voter
    answers at random.

    Example:
      ballots run quality voting.db
      ballots run quality voting.db --fast 2 --json
    """
    quality = campaign.quality(FlagLimits(fast_seconds=fast))
    if as_json:
        console.print_json(asdict(quality))
    else:
        _show_quality(quality)


@console.command(short_help="Exclude a voter from the scores, or include them.")
def exclude(
    campaign: Campaign = ledger_argument(),
    voter: str = console.argument(),
    reason: str | None = reason_option("; required without --preview"),
    back: bool = console.flag_option("Include the voter again."),
    ask_others: bool = console.flag_option(
        "Void the answers in open ballots, so that others are asked. Cannot be undone."
    ),
    preview: bool = console.flag_option("Show how the ranking would change, and change nothing."),
    as_json: bool = console.flag_option("With --preview: print JSON.", "--json"),
) -> None:
    """Exclude the votes of VOTER from all scores from now on; no vote is deleted.

    Closed ballots keep their scores. `ballots run result` reports how the ranking differs from the one with all voters.
    After --ask-others, give the voter's sheets away with `ballots run assign`.

    Example:
      ballots run exclude voting.db 17 --preview
      ballots run exclude voting.db 17 --reason "answered at random"
      ballots run exclude voting.db 17 --back --reason "a mistake of ours"
    """
    if preview:
        if reason is not None or back or ask_others:
            raise OptionError("--preview changes nothing, so leave out --reason, --back and --ask-others")
        effect = campaign.voters.named(voter).preview_exclusion()
        if as_json:
            changes = [{"item": item_cells(item), "now": now, "then": then} for item, now, then in effect.changes]
            console.print_json({**asdict(effect), "changes": changes})
        else:
            _show_exclusion(effect)
        return
    if as_json:
        raise OptionError("--json requires --preview")
    if reason is None:
        raise OptionError("--reason is required; to see the effect first, use --preview")
    if back and ask_others:
        raise OptionError("--ask-others is for excluding a voter, not for --back")
    record = campaign.voters.named(voter)
    if back:
        record.include(reason)
        outcome = "is included again"
    else:
        n_voided = record.exclude(reason, ask_others=ask_others)
        outcome = f"is excluded, {counted(n_voided, 'vote')} voided" if ask_others else "is excluded"
    click.echo(f"voter {voter} {outcome}")


@console.command(short_help="Erase a voter who leaves the campaign.")
def withdraw(campaign: Campaign = ledger_argument(), voter: str = console.argument()) -> None:
    """Erase the name of VOTER, and void their votes in open ballots. This cannot be undone.

    Votes in closed ballots are kept under a random key. Nobody holds the voter's sheets afterwards.

    Example:
      ballots run withdraw voting.db 17
    """
    record = campaign.voters.named(voter)
    key, n_voided = record.key, record.leave()
    advice = f"; `ballots run assign` with --from {key} gives their sheets to another voter"
    click.echo(f"voter {voter} is erased, {counted(n_voided, 'vote')} voided{advice}")


def _left_text(share: float | None, low: float | None, high: float | None) -> str:
    return "-" if share is None else f"{share:.2f} ({low:.2f} to {high:.2f})"


_OF_VOTER: Final[dict[str, console.Column]] = {
    "voter": "{}",
    "votes": ("n_votes", "{:,}"),
    "seconds": lambda seconds: "-" if seconds is None else f"{seconds:.1f}",
    "fast": "{}",
    "left": (("left.share", "left_low", "left_high"), _left_text),
    **console.text_columns("{}", "attention", "gold", "repeats", "agreement"),
    "random": lambda probability: "-" if probability is None else f"{probability:.2f}",
    "flags": (
        ("excluded", "flags"),
        lambda is_excluded, flags: "excluded" if is_excluded else " ".join(flag.kind for flag in flags),
    ),
}


def _show_quality(quality: CampaignQuality) -> None:
    if not quality.voters:
        click.echo("no voter has answered yet")
        return
    console.print_rows(quality.voters, _OF_VOTER)
    if quality.n_pairs:
        click.echo(f"{counted(quality.n_pairs, 'pair')} asked of several voters: {_agreement(quality)}")
    for row in quality.voters:
        for flag in row.flags:
            click.echo(f"voter {row.voter}: {flag.reason}")


def _agreement(quality: CampaignQuality) -> str:
    """Return the agreement with its intervals, or the number of pairs still needed."""
    agreeing = f"{quality.agreement} pairs of answers agree"
    if quality.n_missing:
        return f"{agreeing}; agreement and alpha need {counted(quality.n_missing, 'more pair')}"
    interval = f"90 % interval {quality.agreement_low:.0%} to {quality.agreement_high:.0%}"
    share = f"{agreeing} ({quality.agreement.share:.0%}, {interval})"
    if quality.alpha is None:
        return share
    return f"{share}; Krippendorff's alpha {quality.alpha:.2f} ({quality.alpha_low:.2f} to {quality.alpha_high:.2f})"


def _show_exclusion(effect: ExclusionPreview) -> None:
    outcome = "included again" if effect.excluded else "excluded"
    click.echo(
        f"voter {effect.voter} {outcome}: {counted(effect.n_votes, 'vote')}, and {effect.n_others:,} by the others; "
        f"tau_w of the rankings with and without them {effect.tau_w:.3f}"
    )
    if effect.changes:
        console.print_table(
            ["item", "rank now", "rank then"],
            [[" ".join(item_cells(item)), f"{now:g}", f"{then:g}"] for item, now, then in effect.changes],
        )
