"""Open the ledger and the campaign of a `ballots run` command, and describe its status."""

import functools
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

from adaptive.errors import ProtocolError
from adaptive.ledger import Campaign, CampaignStatus, Ledger
from rankcorr._checks import counted
from rankcorr._cli.console import Command
from rankcorr._io.files import new_file
from rankcorr.errors import TableError


def ledger_argument(command: Command) -> Command:
    """Add the argument LEDGER and the option --campaign; the command gets the `Campaign`."""

    @functools.wraps(command)
    def with_campaign(ledger: str, campaign: str | None, **values: Any) -> Any:
        with open_campaign(ledger, campaign) as campaign_in_ledger:
            return command(campaign=campaign_in_ledger, **values)

    option = click.option("--campaign", metavar="KEY", help="Key or name of the campaign, if LEDGER has several.")
    argument = click.argument("ledger")
    return argument(option(with_campaign))  # type: ignore[return-value]


@contextmanager
def open_campaign(ledger: str, campaign: str | None = None) -> Iterator[Campaign]:
    """Open a ledger and one of its campaigns, and close the connections after the block."""
    with closing(Ledger.open(ledger)) as connection:
        yield connection.campaign(campaign)


@contextmanager
def create_ledger(ledger: str) -> Iterator[Ledger]:
    """Open a ledger, or create it; a new file appears only after the block is done.

    The file is created under a temporary name and then moved. If the block fails or the process is killed, no ledger
    is left, and the same command can be run again.
    """
    target = Path(ledger)
    if "://" in ledger or os.path.lexists(target) or not os.access(target.parent, os.W_OK):
        with closing(Ledger.create(ledger)) as new_ledger:
            yield new_ledger
        return
    try:
        with new_file(target) as part, closing(Ledger.create(part)) as new_ledger:  # closing merges the -wal file
            yield new_ledger
    except OSError as error:
        raise TableError(f"{ledger}: cannot be created: {error.strerror or error}") from error


def check_other(out: str | None, campaign: Campaign) -> None:
    """Refuse to write over the ledger itself."""
    if out is not None and campaign.is_kept_in(out):
        raise ProtocolError(f"{out}: is the ledger itself; choose another file for --out")


def describe_status(status: CampaignStatus) -> str:
    """Return the status of a campaign in one line."""
    if status.mode == "continuous":
        return _describe_batches(status)
    where = f"ballot {status.ballot} of {status.n_ballots}"
    if status.state == "finished":
        return f"all {status.n_ballots} ballots are closed; the result is ready"
    if status.state == "ready":
        return f"{where} can be opened: {status.n_items:,} items, {status.n_comparisons:,} comparisons"
    is_open = "is open" if status.state == "open" else "is being closed"
    return f"{where} {is_open}: {status.n_answered:,} of {status.n_comparisons:,} comparisons answered"


def _describe_batches(status: CampaignStatus) -> str:
    if status.state == "finished":
        return f"the campaign has ended with {counted(status.n_votes, 'vote')}; the result is ready"
    if status.state == "ready":
        return "batch 1 can be opened"
    batches = "1 batch" if status.ballot == 1 else f"{status.ballot:,} batches"
    return f"{batches} so far: {status.n_answered:,} of {status.n_comparisons:,} comparisons answered"
