"""`ballots run export`, `import`, `backup` and `verify`: move campaigns and votes out of a ledger and into it."""

import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import click

from adaptive._cli.output import emit, print_verified, write_whole
from adaptive._cli.run.campaign import created, ledger_argument, opened
from adaptive._cli.run.voting import check_other
from adaptive._cli.vote_files import Reading, reading_options
from adaptive.errors import ProtocolError
from adaptive.ledger import FORMATS, Campaign, Ledger
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli.console import command, json_option, whole


@command(short_help="Write a bundle of the campaign, or its votes.")
@ledger_argument
@click.option(
    "--out", required=True, metavar="FILE", help="File to write, or a folder if the format has several files."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["bundle", *FORMATS]),
    default="bundle",
    show_default=True,
    help="The whole campaign as one zip, or the votes that count.",
)
@click.option("--names", is_flag=True, help="With the names of voters, not their random keys.")
@click.option("--unanswered", is_flag=True, help="Also write comparisons without a vote, if the format allows them.")
@click.option("--no-guard", is_flag=True, help="Do not change cells that a spreadsheet would run as formulas.")
def export(campaign: Campaign, out: str, form: str, names: bool, unanswered: bool, no_guard: bool) -> None:
    """Write the contents of LEDGER, for others or for an archive.

    A bundle has everything: items, plan, drawn comparisons, all events, the ranking, a data sheet, and digests. With
    these, `ballots verify` proves that the parts agree. Random keys replace the names of voters.

    Example:
      ballots run export voting.db --out campaign.zip
      ballots run export voting.db --format csv --out votes.csv
      ballots run export voting.db --format choix --out folder
    """
    check_other(out, campaign)
    if form == "bundle":
        if unanswered or no_guard:
            raise OptionError("--unanswered and --no-guard are for the formats of votes; a bundle has everything")
        campaign.write_bundle(out, names=names)
        click.echo(f"the campaign is written to {whole(out)}")
        return
    export = campaign.export_votes(cast(Any, form), unanswered=unanswered, names=names, guard=not no_guard)
    if len(export.files) == 1:
        (text,) = export.files.values()
        emit(text, out, export.to_text())
        return
    folder = Path(out)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ProtocolError(f"{out}: cannot be a folder: {error.strerror}") from error
    for name, text in export.files.items():
        write_whole(str(folder / name), text)
    click.echo(export.to_text())


@command("import", short_help="Read a bundle, or votes of other programs.")
@click.argument("ledger")
@click.argument("file")
@click.option("--campaign", metavar="KEY", help="Key or name of the campaign, if LEDGER has several.")
@reading_options
def import_command(ledger: str, file: str, campaign: str | None, reading: Reading) -> None:
    """Add the campaign or the votes in FILE to LEDGER.

    A bundle becomes a new campaign; LEDGER is created if it does not exist. Any other file has votes on the open
    ballot: CSV, TSV or JSON with the columns comparison (or left and right) and winner, an export of an arena, Label
    Studio or potato, or pairs of winner and loser. If a row is not valid, the whole file is refused.

    Example:
      ballots run import copy.db campaign.zip
      ballots run import voting.db tasks.json
      ballots run import voting.db votes.csv --columns winner=choice --answers A=left,B=right,same=tie
    """
    if file != "-" and zipfile.is_zipfile(file):
        with created(ledger) as new_ledger:
            restored = new_ledger.restore(file)
        click.echo(f"campaign {whole(restored.info.name)} is restored: {counted(restored.info.n_items, 'item')}")
        return
    if "://" not in ledger and not Path(ledger).exists():
        raise ProtocolError(
            f"{ledger}: does not exist; only a bundle can be imported into a new ledger, and {file} is not one"
        )
    with opened(ledger, campaign) as into:
        recorded = into.import_votes(file, **reading._asdict())
    aside = recorded.n_conflicts + recorded.n_late
    aside_text = f", {aside:,} set aside" if aside else ""
    click.echo(f"{counted(recorded.n_new, 'new vote')}{aside_text}")


@command(short_help="Copy the ledger, while votes arrive.")
@click.argument("ledger")
@click.argument("copy")
def backup(ledger: str, copy: str) -> None:
    """Copy LEDGER, an SQLite file, to the new file COPY, even while votes arrive. The copy is a complete ledger.

    A PostgreSQL database is backed up with pg_dump, and restored with pg_restore.

    Example:
      ballots run backup voting.db voting-monday.db
    """
    with closing(Ledger.open(ledger)) as source:
        source.back_up(copy)
    click.echo(f"{whole(ledger)} is copied to {whole(copy)}")


@command(short_help="Check all digests, and score all votes again.")
@ledger_argument
@json_option("")
def verify(campaign: Campaign, as_json: bool) -> None:
    """Check that draws, votes and records of LEDGER match their digests, and that the votes reproduce the records.

    Example:
      ballots run verify voting.db
    """
    print_verified(campaign.verify(), as_json)
