"""`ballots verify`: whether a bundle of a campaign holds, with nothing else at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankcorr.cli.console import print_json
from rankcorr.io.records import printable

if TYPE_CHECKING:
    from adaptive.ledger import Verified

_EXAMPLE = """\b
Example:
  ballots run export voting.db --out campaign.zip
  ballots verify campaign.zip
"""


@click.command("verify", epilog=_EXAMPLE, short_help="Check a bundle of a campaign.")
@click.argument("bundle")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def verify_command(bundle: str, as_json: bool) -> None:
    """Check BUNDLE with nothing else at hand.

    Its sums, the digests of draws and votes, the chain of ballots, and the scores: the votes are counted again, and
    must give every number of the ranking to the last bit. The seed must give the draws again, and choose among items
    that tie at a cut; README.md, croissant.json, votes.csv and result.csv must follow from the other files. Fields that
    cannot be checked are listed.
    """
    from adaptive.ledger import verify_bundle

    print_verified(verify_bundle(bundle), as_json)


def print_verified(found: Verified, as_json: bool) -> None:
    """Print what has been checked."""
    counts = {
        "items": found.n_items,
        "ballots": found.n_ballots,
        "closed": found.n_closed,
        "comparisons": found.n_comparisons,
        "events": found.n_events,
        "votes": found.n_votes,
    }
    if as_json:
        about = {"replayed": found.result is not None, "chain_digest": found.chain_digest}
        unchecked = {name: list(fields) for name, fields in found.unchecked.items()}
        print_json({"campaign": found.name, "key": found.key, **counts, **about, "unchecked": unchecked})
        return
    click.echo(f"campaign {printable(found.name, limit=None)}, {found.key}")
    for name, count in counts.items():
        click.echo(f"{name:<12}{count:>10,}")
    if found.chain_digest is not None:
        click.echo(f"chain digest {found.chain_digest}")
    replayed = "; the votes give all records to the last bit" if found.result is not None else ""
    click.echo(f"all digests hold{replayed}")
    if "seed" not in found.unchecked["plan.json"]:
        click.echo("the seed gives all draws, and the choice among items that tie at a cut")
    click.echo("\nNot checked: nothing else repeats these fields. Compare the chain digest with one you noted earlier.")
    for name, fields in found.unchecked.items():
        click.echo(f"  {name}: {', '.join(fields)}")
