"""`ballots run quality`, `exclude` and `link`: check voters, exclude them, and make a link to the organiser's pages."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

import click

from adaptive._cli.output import print_rows
from adaptive._cli.run.campaign import ledger_argument
from adaptive._tables import item_cells
from adaptive.ledger import Campaign, CampaignQuality, ExclusionPreview, FlagLimits
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli.console import command, json_option, print_json, print_table


@command(short_help="Make a link to the organiser's pages of rankcorr-collect.")
@ledger_argument
@click.option(
    "--url", default="http://127.0.0.1:8080", show_default=True, metavar="URL", help="Address of rankcorr-collect."
)
def link(campaign: Campaign, url: str) -> None:
    """Print a link that opens the organiser's pages of the campaign in LEDGER.

    The part after # is a secret. The ledger stores only its hash, so a lost link cannot be shown again; this command
    makes a new one. Earlier links still work.

    Example:
      ballots run link voting.db --url https://votes.example.org
    """
    click.echo(f"{url.rstrip('/')}/o/{campaign.key}#{campaign.tokens.issue('organiser')}")


@command(short_help="Report speed, side, checks and agreement of each voter.")
@ledger_argument
@click.option(
    "--fast",
    type=float,
    default=FlagLimits().fast_seconds,
    show_default=True,
    metavar="SECONDS",
    help="Answers below this time count as fast.",
)
@json_option("")
def quality(campaign: Campaign, fast: float, as_json: bool) -> None:
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
        print_json(asdict(quality))
    else:
        _show_quality(quality)


@command(short_help="Exclude a voter from the scores, or include them.")
@ledger_argument
@click.argument("voter")
@click.option("--reason", help="Reason, which the ledger keeps; required without --preview.")
@click.option("--back", is_flag=True, help="Include the voter again.")
@click.option("--preview", is_flag=True, help="Show how the ranking would change, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="With --preview: print JSON.")
def exclude(campaign: Campaign, voter: str, reason: str | None, back: bool, preview: bool, as_json: bool) -> None:
    """Exclude the votes of VOTER from all scores from now on; no vote is deleted.

    Closed ballots keep their scores. `ballots run result` reports how the ranking differs from the one with all voters.

    Example:
      ballots run exclude voting.db 17 --preview
      ballots run exclude voting.db 17 --reason "answered at random"
      ballots run exclude voting.db 17 --back --reason "a mistake of ours"
    """
    if preview:
        if reason is not None or back:
            raise OptionError("--preview changes nothing, so leave out --reason and --back")
        effect = campaign.voters.named(voter).preview_exclusion()
        if as_json:
            changes = [{"item": item_cells(item), "now": now, "then": then} for item, now, then in effect.changes]
            print_json({**asdict(effect), "changes": changes})
        else:
            _show_exclusion(effect)
        return
    if as_json:
        raise OptionError("--json requires --preview")
    if reason is None:
        raise OptionError("--reason is required; to see the effect first, use --preview")
    record = campaign.voters.named(voter)
    if back:
        record.include(reason)
    else:
        record.exclude(reason)
    click.echo(f"voter {voter} {'is included again' if back else 'is excluded'}")


def _left(row: Any) -> str:
    left = row.left.share
    return "-" if left is None else f"{left:.2f} ({row.left_low:.2f} to {row.left_high:.2f})"


_OF_VOTER: Final[dict[str, Callable[[Any], str]]] = {
    "voter": lambda row: row.voter,
    "votes": lambda row: f"{row.n_votes:,}",
    "seconds": lambda row: "-" if row.seconds is None else f"{row.seconds:.1f}",
    "fast": lambda row: str(row.fast),
    "left": _left,
    "attention": lambda row: str(row.attention),
    "gold": lambda row: str(row.gold),
    "repeats": lambda row: str(row.repeats),
    "agreement": lambda row: str(row.agreement),
    "random": lambda row: "-" if row.random is None else f"{row.random:.2f}",
    "flags": lambda row: "excluded" if row.excluded else " ".join(flag.kind for flag in row.flags),
}


def _show_quality(quality: CampaignQuality) -> None:
    if not quality.voters:
        click.echo("no voter has answered yet")
        return
    print_rows(quality.voters, _OF_VOTER, as_json=False)
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
        print_table(
            ["item", "rank now", "rank then"],
            [[" ".join(item_cells(item)), f"{now:g}", f"{then:g}"] for item, now, then in effect.changes],
        )
