"""`ballots run init`, `export`, `import`, `backup`, `verify` and `migrate`: create, open, copy and check ledgers."""

import os
import zipfile
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import click

from adaptive._cli.output import emit, print_note, print_verified
from adaptive._cli.plan import BatchArguments, PlanArguments, print_cost, print_plan, voters_option
from adaptive._cli.vote_files import Reading
from adaptive.errors import ProtocolError
from adaptive.ledger import (
    FORMATS,
    Campaign,
    CampaignSettings,
    CampaignStatus,
    ContinuousPlan,
    Ledger,
    Probing,
    items_of_targets,
    plan_of_targets,
    read_item_file,
    read_known_pairs,
)
from rankcorr import OptionError
from rankcorr._checks import counted
from rankcorr._cli import console
from rankcorr._cli.options import check_owner
from rankcorr._io.source import new_file
from rankcorr.errors import TableError
from rankcorr.vectors import read_candidates

CAMPAIGN: Any = console.text_option("KEY", "Key or name of the campaign, if LEDGER has several.")


def ledger_argument() -> Any:
    """Make the argument LEDGER and the option --campaign, whose value is the `Campaign`."""
    return console.options_of(_campaign_of_command)


def _campaign_of_command(ledger: str = console.argument(), campaign: str | None = CAMPAIGN) -> Campaign:
    """Return a campaign that is open until the command ends."""
    return click.get_current_context().with_resource(open_campaign(ledger, campaign))


def reason_option(more: str = "", **options: Any) -> Any:
    """Make the option --reason, which must not be empty."""

    def check(_context: click.Context, _option: click.Parameter, reason: str | None) -> str | None:
        if reason is not None and not reason.strip():
            raise OptionError("--reason must not be empty")
        return reason

    return console.option(help=f"Reason, which the ledger keeps{more}.", callback=check, **options)


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
    text = f"{where} {is_open}: {status.n_counted:,} of {status.n_comparisons:,} comparisons answered"
    n_excluded = status.n_answered - status.n_counted
    return text + (f", and {n_excluded:,} by excluded voters, which do not count" if n_excluded else "")


def _describe_batches(status: CampaignStatus) -> str:
    if status.state == "finished":
        return f"the campaign has ended with {counted(status.n_votes, 'vote')}; the result is ready"
    if status.state == "ready":
        return "batch 1 can be opened"
    batches = "1 batch" if status.ballot == 1 else f"{status.ballot:,} batches"
    return f"{batches} so far: {status.n_answered:,} of {status.n_comparisons:,} comparisons answered"


@dataclass(frozen=True)
class AskingOptions:
    """Options of the command line for checks and pay."""

    probes: str | None = console.text_option(
        "FILE",
        "CSV of pairs whose answer is known: left, right, winner and kind (practice, attention or gold).",
        "--checks",
    )
    probes_per_sheet: int | None = console.declared_option(
        Probing, "known_per_sheet", "--checks-per-sheet", default=None, show_default="1, with --checks", metavar="N"
    )
    repeats: float = console.declared_option(Probing, "repeats", metavar="SHARE")
    overlap: float = console.declared_option(Probing, "overlap", metavar="SHARE")
    currency: str | None = console.text_option("TEXT", "Currency of the pay.")

    def probing(self, items: Collection[Hashable]) -> Probing | None:
        """Return the checks of a campaign; None without checks."""
        if self.probes is None and self.probes_per_sheet is not None:
            raise OptionError("--checks-per-sheet requires --checks")
        known = () if self.probes is None else read_known_pairs(self.probes, items)
        per_sheet = {} if self.probes_per_sheet is None else {"known_per_sheet": self.probes_per_sheet}
        probing = Probing(known, repeats=self.repeats, overlap=self.overlap, **per_sheet)
        return None if probing == Probing() else probing


@console.command(short_help="Plan a campaign and create its ledger.")
def init(
    ledger: str = console.argument(),
    items: str | None = console.text_option(
        "FILE", "CSV with the column item, or item_1, item_2, ...; for the web also kind, content and alt_text."
    ),
    targets: str | None = console.text_option(
        "FILE",
        "In place of --items and a budget: CSV with the columns target, candidate and category. Voters compare the "
        "positive candidates of one target.",
    ),
    answers: int | None = console.count_option("Answers to each pair of candidates, with --targets.", metavar="N"),
    options: PlanArguments = console.options_of(PlanArguments),
    voters: int = voters_option(),
    seed: int = console.seed_option("Seed of all draws.", default=None, required=True),
    name: str = console.option(default="campaign", help="Name of the campaign."),
    sheet_size: int | None = console.declared_option(CampaignSettings, "sheet_size", metavar="N"),
    least_answered: float = console.declared_option(CampaignSettings, "least_answered", metavar="SHARE"),
    grades: int = console.declared_option(CampaignSettings, "grades", metavar="G"),
    batches: BatchArguments = console.options_of(BatchArguments),
    asking: AskingOptions = console.options_of(AskingOptions),
) -> None:
    """Plan a campaign on the items of a file, and create it in LEDGER: a file, or the URL of a PostgreSQL database.

    Checks are extra comparisons that are never scored: pairs with a known answer (--checks), comparisons that a voter
    gets again with the sides swapped (--repeats), and comparisons that a second voter gets too (--overlap). `ballots
    run quality` reports the results for each voter.

    Example:
      ballots run init voting.db --items items.csv --presentations 20 --voters 100 --seed 1
      ballots run init voting.db --items items.csv --hours 40 --seconds 5 --voters 20 --seed 1
      ballots run init voting.db --items items.csv --continuous --budget 6000 --voters 20 --seed 1
      ballots run init voting.db --items items.csv --presentations 20 --voters 100 --seed 1 --repeats 0.1 --overlap 0.1
      ballots run init voting.db --items items.csv --hours 40 --seconds 5 --voters 9 --seed 1 --pay-per-hour 9 --fee 0.2
      ballots run init voting.db --items items.csv --continuous --budget 900 --voters 9 --seed 1 --grades 2
      ballots run init voting.db --items items.csv --continuous --budget 300 --voters 9 --seed 1 --set-size 4
      ballots run init voting.db --targets candidates.csv --answers 5 --voters 20 --seed 1
      ballots run init postgresql://localhost/votes --items items.csv --presentations 20 --voters 100 --seed 1
    """
    if "://" not in ledger and Ledger(ledger).exists():
        raise ProtocolError(f"{ledger}: already exists and is never overwritten; choose another name")
    if (items is None) == (targets is None):
        raise OptionError("either --items or --targets is needed" + ("" if items is None else ", not both"))
    check_owner("--targets", targets is not None, "--answers")
    groups, contents = None if targets is None else read_candidates(targets), None
    labels: Sequence[Hashable] = [] if groups is None else items_of_targets(groups)
    if items is not None:
        labels, contents = read_item_file(items)
    probing, pay = asking.probing(labels), options.pay(asking.currency)
    settings = CampaignSettings(
        sheet_size=sheet_size, least_answered=least_answered, probing=probing, pay=pay, targets=groups, grades=grades
    )
    if voters < 1:
        raise ProtocolError(f"voting needs at least one voter; got {voters}")
    if groups is None:
        plan = batches.plan(options, len(labels), voters, settings)
    else:
        plan = _plan_of_groups(groups, answers, options, batches)
    with create_ledger(ledger) as new_ledger:
        new_ledger.new_campaign(plan, labels, voters, seed, name=name, settings=settings, contents=contents)
    where = console.whole(new_ledger.name if "://" in ledger else ledger)
    print_plan(plan, voters, options.seconds)
    print_cost(plan, voters, settings)
    click.echo(f"\n{where} is created; {'batch' if isinstance(plan, ContinuousPlan) else 'ballot'} 1 can be opened.")


def _plan_of_groups(
    targets: Mapping[str, Mapping[str, str]], answers: int | None, options: PlanArguments, batches: BatchArguments
) -> ContinuousPlan:
    """Return the plan of target groups, and print the quota of each."""
    if answers is None:
        raise OptionError("--targets needs --answers, the number of answers to each pair of candidates")
    options.refuse_ways()
    if batches.continuous or batches.target is not None:
        raise OptionError("--targets does not take --continuous or --target")
    plan = plan_of_targets(targets, answers, batch=batches.batch)
    rows = []
    for target, group in targets.items():
        number = list(group.values()).count("positive")
        n_pairs = number * (number - 1) // 2
        rows.append({"target": target, "candidates": number, "pairs": n_pairs, "comparisons": answers * n_pairs})
    console.print_rows(
        rows, {"target": console.whole, **console.text_columns("{:,}", "candidates", "pairs", "comparisons")}
    )
    click.echo()
    return plan


@console.command(short_help="Write a bundle of the campaign, or its votes.")
def export(
    campaign: Campaign = ledger_argument(),
    out: str = console.text_option(
        "FILE", "File to write, or a folder if the format has several files.", required=True
    ),
    form: str = console.choice_option(
        ("bundle", *FORMATS), "The whole campaign as one zip, or the votes that count.", "--format"
    ),
    names: bool = console.flag_option("With the names of voters, not their random keys."),
    unanswered: bool = console.flag_option("Also write comparisons without a vote, if the format allows them."),
    no_guard: bool = console.flag_option("Do not change cells that a spreadsheet would run as formulas."),
) -> None:
    """Write the contents of LEDGER, for others or for an archive.

    A bundle has everything: items, plan, drawn comparisons, all events, the ranking, a data sheet, and digests. With
    these, `ballots verify` proves that the parts agree. Random keys replace the names of voters.

    Example:
      ballots run export voting.db --out campaign.zip
      ballots run export voting.db --format csv --out votes.csv
      ballots run export voting.db --format choix --out folder
    """
    if form == "bundle":
        if unanswered or no_guard:
            raise OptionError("--unanswered and --no-guard are for the formats of votes; a bundle has everything")
        campaign.write_bundle(out, names=names)
        click.echo(f"the campaign is written to {console.whole(out)}")
        return
    export = campaign.export_votes(cast(Any, form), unanswered=unanswered, names=names, guard=not no_guard)
    if len(export.files) == 1:
        (text,) = export.files.values()
        summary = replace(export, files={out: text}).to_text()
        emit(text, out, summary)
        if out == "-" and (omissions := summary.partition("; ")[2]):
            print_note(omissions)
        return
    folder = Path(out)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise ProtocolError(f"{out}: cannot be a folder: {error.strerror}") from error
    for name, text in export.files.items():
        console.write_whole(str(folder / name), text)
    paths = {str(folder / name): text for name, text in export.files.items()}
    click.echo(console.whole(replace(export, files=paths).to_text()))


@console.command("import", short_help="Read a bundle, or votes of other programs.")
def import_command(
    ledger: str = console.argument(),
    file: str = console.argument(),
    campaign: str | None = CAMPAIGN,
    reading: Reading = console.options_of(Reading),
) -> None:
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
        with create_ledger(ledger) as new_ledger:
            restored = new_ledger.restore(file)
        click.echo(
            f"campaign {console.whole(restored.info.name)} is restored: {counted(restored.info.n_items, 'item')}"
        )
        return
    if "://" not in ledger and not Path(ledger).exists():
        raise ProtocolError(
            f"{ledger}: does not exist; only a bundle can be imported into a new ledger, and {file} is not one"
        )
    with open_campaign(ledger, campaign) as into:
        recorded = into.import_votes(file, **vars(reading))
    aside = recorded.n_conflicts + recorded.n_late
    aside_text = f", {aside:,} set aside" if aside else ""
    click.echo(f"{counted(recorded.n_new, 'new vote')}{aside_text}")


@console.command(short_help="Copy the ledger, while votes arrive.")
def backup(ledger: str = console.argument(), copy: str = console.argument()) -> None:
    """Copy LEDGER, an SQLite file, to the new file COPY, even while votes arrive. The copy is a complete ledger.

    A PostgreSQL database is backed up with pg_dump, and restored with pg_restore.

    Example:
      ballots run backup voting.db voting-monday.db
    """
    with closing(Ledger.open(ledger)) as source:
        source.back_up(copy)
    click.echo(f"{console.whole(ledger)} is copied to {console.whole(copy)}")


@console.command(short_help="Check all digests, and score all votes again.")
def verify(campaign: Campaign = ledger_argument(), as_json: bool = console.json_option("")) -> None:
    """Check that draws, votes and records of LEDGER match their digests, and that the votes reproduce the records.

    Example:
      ballots run verify voting.db
    """
    print_verified(campaign.verify(), as_json)


@console.command(short_help="Upgrade the tables of an earlier release.")
def migrate(ledger: str = console.argument()) -> None:
    """Upgrade the tables of LEDGER to this release; make a backup first.

    Example:
      ballots run backup voting.db copy.db
      ballots run migrate voting.db
    """
    store = Ledger(ledger)
    if not store.exists():
        raise ProtocolError(f"{ledger}: does not exist")
    before = store.migrate()
    store.close()
    outcome = "is up to date" if before is None else f"is upgraded from revision {before}"
    click.echo(f"{console.whole(store.name)} {outcome}")
