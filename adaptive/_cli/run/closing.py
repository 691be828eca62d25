"""`ballots run status`, `close`, `reopen` and `result`: how far it is, when it is enough, and the ranking."""

import itertools
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

import click

from adaptive._cli.output import emit, print_note
from adaptive._cli.run.ledgers import describe_status, ledger_argument, reason_option
from adaptive._tables import item_cells
from adaptive.errors import ProtocolError
from adaptive.ledger import Campaign, CampaignResult, CampaignSettings, CampaignStatus, ClosePreview, Preview
from adaptive.model._accuracy import N_SAMPLES
from rankcorr import OptionError
from rankcorr._checks import counted, first_few, shell_options, told_apart
from rankcorr._cli import console
from rankcorr._cli.console import progress_bar


@console.command(short_help="Show ballots, votes and voters so far.")
def status(
    campaign: Campaign = ledger_argument(),
    by: str | None = console.option(type=click.Choice(["voter", "item", "ballot"]), help="Print a row for each."),
    as_json: bool = console.json_option(""),
) -> None:
    """Show the progress of the voting in LEDGER.

    Example:
      ballots run status voting.db
      ballots run status voting.db --by voter
      ballots run status voting.db --by ballot
    """
    if by is None:
        _show_status(campaign, as_json)
        return
    rows: Sequence[Any]
    if by == "voter":
        rows, columns = campaign.voters.rows(names=True), _OF_VOTER
    elif by == "ballot":
        rows, columns = campaign.ballot_progress(), _OF_BALLOT
    else:
        rows, columns = [replace(row, item=item_cells(row.item)) for row in campaign.item_progress()], _OF_ITEM
    if as_json:
        console.print_json([asdict(row) for row in rows])
    else:
        console.print_rows(rows, columns)


def _show_status(campaign: Campaign, as_json: bool) -> None:
    now = campaign.status()
    if as_json:
        console.print_json(asdict(now))
        return
    click.echo(describe_status(now))
    if now.n_votes:
        click.echo(f"{counted(now.n_votes, 'vote')} by {counted(now.n_voters, 'voter')}")
    if now.n_conflicts or now.n_late:
        click.echo(f"set aside: {counted(now.n_conflicts, 'conflict')}, {counted(now.n_late, 'late vote')}")
    if now.votes_per_minute is not None:
        until = "" if now.expected_end is None else f"; all will be answered by {now.expected_end[:16]}Z"
        click.echo(f"{now.votes_per_minute:.1f} votes a minute{until}")
    spending = now.spending
    if spending is None:
        return
    if spending.expected_probes:
        click.echo(f"checks: {spending.n_probes:,} answered of {round(spending.expected_probes):,} in the end")
    pay = campaign.info.settings.pay
    if pay is not None:
        so_far, in_the_end = (
            pay.text(amount or 0.0) + ("" if hours is None else f" for {hours:,.1f} hours")
            for amount, hours in ((spending.spent, spending.hours), (spending.expected, spending.expected_hours))
        )
        click.echo(f"spent: {so_far}; expected in the end: {in_the_end}")


def _to_seconds(time: str | None) -> str:
    """Return a time for people: without the microseconds that JSON has."""
    return "-" if time is None else f"{time[:19]}Z"


_ANSWERED: Final = "{:,} of {:,}"
_OF_VOTER: Final[dict[str, console.Column]] = {
    "voter": (("name", "key"), lambda name, key: name or key),
    "answered": (("n_answered", "n_comparisons"), _ANSWERED),
    "votes": ("n_votes", "{:,}"),
    "last vote": ("last_vote", _to_seconds),
    "": (("excluded", "withdrawn"), lambda *states: " ".join(itertools.compress(("excluded", "withdrawn"), states))),
}
_OF_BALLOT: Final[dict[str, console.Column]] = {
    "ballot": "{}",
    "state": "{}",
    "items": ("n_items", "{:,}"),
    "answered": (("n_counted", "n_comparisons"), _ANSWERED),
    "sheets done": (("n_sheets_done", "n_sheets"), _ANSWERED),
    "opened": ("opened_at", _to_seconds),
    "closed": ("closed_at", _to_seconds),
}
_OF_ITEM: Final[dict[str, console.Column]] = {
    "item": " ".join,
    "answered": (("n_answered", "presentations"), _ANSWERED),
}


@console.command(short_help="Score the ballot and select the items of the next one.")
def close(
    campaign: Campaign = ledger_argument(),
    preview: bool = console.flag_option("Show what closing now would do, and change nothing."),
    least_answered: float | None = console.declared_option(
        CampaignSettings,
        "least_answered",
        default=None,
        metavar="SHARE",
        help="Close if at least this share of the comparisons is answered; by default the share that init set.",
    ),
    as_json: bool = console.json_option(""),
) -> None:
    """Close the ballot that is open in LEDGER; comparisons without a vote stay unanswered.

    This ends a continuous campaign.

    Example:
      ballots run close voting.db --preview
      ballots run close voting.db
      ballots run close voting.db --least-answered 0.5
    """
    open_ones = [ballot for ballot in campaign.ballots() if ballot.state != "closed"]
    if not open_ones:
        raise ProtocolError(f"no {campaign.info.unit} is open: there is nothing to close")
    if preview:
        with progress_bar(N_SAMPLES, "draw", "possible rankings") as advance:
            view = campaign.preview(least_answered=least_answered, progress=advance)
        if view.of_ballot is None:
            _show_batches(view, campaign.status(), as_json)
        else:
            _show(view.of_ballot, as_json)
        return
    closed = campaign.close(open_ones[0].number, least_answered=least_answered)
    now = campaign.status()
    if closed is None:
        about: dict[str, Any] = {"batches": now.ballot}
        text = describe_status(now)
    else:
        record = console.values_of(closed, "number", "b", "n_tied_at_cut")
        progress = campaign.ballot(closed.number).progress
        about = {"closed": {**record, "n_answered": progress.n_counted}}
        tied = f" ({closed.n_tied_at_cut:,} tied at the cut)" if closed.n_tied_at_cut else ""
        following = f"{now.n_items:,} items go on{tied}" if now.state == "ready" else "the result is ready"
        answered = _ANSWERED.format(progress.n_counted, progress.n_comparisons)
        text = f"ballot {closed.number} is closed with {answered} comparisons answered; {following}"
    if as_json:
        console.print_json({**about, "status": asdict(now)})
    else:
        click.echo(text)
        if undecided := sum(not conflict.corrected for conflict in campaign.conflicts()):
            print_note(f"{counted(undecided, 'conflict')} undecided: see `ballots run conflicts`")


@console.command(short_help="Open the last closed ballot again.")
def reopen(campaign: Campaign = ledger_argument(), reason: str = reason_option(required=True)) -> None:
    """Open the last closed ballot of LEDGER again, until the next one is opened.

    Example:
      ballots run reopen voting.db --reason "votes of one group came late"
    """
    ballots = campaign.ballots()
    if not ballots:
        raise ProtocolError("no ballot is closed: there is nothing to open again")
    campaign.reopen(ballots[-1].number, reason)
    click.echo(f"{campaign.info.unit} {ballots[-1].number} is open again")


def _shares(view: Preview | ClosePreview) -> str:
    """Return the answered share and the wanted one as text; rounding does not hide that too few are answered."""
    share, least = (round(100 * part, 10) for part in (view.n_answered / view.n_comparisons, view.least_answered))
    return f"({told_apart(share, least, 0)}%; {least:.12g}% are needed)"


def _refusal(reason: str) -> str:
    return f"it cannot be closed yet: {shell_options(reason)}"


def _show_batches(view: Preview, now: CampaignStatus, as_json: bool) -> None:
    least_answered, ready = view.least_answered, view.is_ready
    if as_json:
        console.print_json(
            {"status": asdict(now), "expected_tau_w": view.expected, "least_answered": least_answered, "ready": ready}
        )
        return
    click.echo(f"{describe_status(now)} {_shares(view)}")
    if view.expected is not None and view.cut is not None:
        click.echo(
            f"expected tau_w {view.expected:.2f}; the top {view.cut.k:,} are correct with probability "
            f"{view.cut.confidence:.2f}"
        )
    click.echo("it can be closed, which ends the campaign" if ready else _refusal(view.reason))


def _show(preview: ClosePreview, as_json: bool) -> None:
    if as_json:
        silent = [item_cells(item) for item in preview.silent]
        fewest = [{"item": item_cells(item), "n_answered": number} for item, number in preview.fewest]
        console.print_json({**asdict(preview), "silent": silent, "fewest": fewest, "ready": preview.is_ready})
        return
    click.echo(
        f"ballot {preview.ballot}: {_ANSWERED.format(preview.n_answered, preview.n_comparisons)} comparisons answered "
        f"{_shares(preview)}"
    )
    if preview.silent:
        some = first_few([" ".join(item_cells(item)) for item in preview.silent])
        click.echo(f'{counted(len(preview.silent), "item")} without any answer other than "cannot say": {some}')
    else:
        few = ", ".join(f"{' '.join(item_cells(item))} {number}" for item, number in preview.fewest)
        click.echo(f"fewest answers: {few}")
    if preview.n_going_on:
        tied = "" if preview.n_tied_at_cut is None else f"; {preview.n_tied_at_cut:,} tied at the cut"
        click.echo(f"{preview.n_going_on:,} items go on{tied}")
    if preview.cut is not None:
        click.echo(
            f"by strengths, the top {preview.cut.k:,} are correct with probability {preview.cut.confidence:.2f}; "
            f"about {preview.cut.overlap:.1f} of them belong there"
        )
    click.echo("it can be closed" if preview.is_ready else _refusal(preview.reason))


@console.command(short_help="Write the ranking; with --interim, before the end.")
def result(
    campaign: Campaign = ledger_argument(),
    out: str | None = console.text_option("FILE", "Write it here.  [default: standard output]"),
    interim: bool = console.flag_option("Rank by the strengths of the votes so far, while the campaign is still open."),
    top: int | None = console.text_option(
        "K", "Number of top items for in_top.  [default: the last ballot's items, or a tenth]", type=int
    ),
    paper: bool = console.flag_option("Write only the paper's scores, as `ballots score` does."),
    report_path: str | None = console.report_option(),
    as_json: bool = console.flag_option("Write JSON with the scores of every ballot, not CSV.", "--json"),
) -> None:
    """Write the ranking of all items.

    CSV with the columns item (or item_1, item_2, ...) and rank; ybar (the score), presentations, wins, ties, losses
    and last_ballot; and, from a model of all votes, strength, standard_error, rank_low and rank_high (a 90 % interval),
    in_top, the probability to be among the top K, and rank_low_anytime and rank_high_anytime, intervals that hold for
    all items at once, however often you look while votes come in.

    Example:
      ballots run result voting.db --out ranking.csv
      ballots run result voting.db --interim --top 20
      ballots run result voting.db --paper --json
    """
    if paper and (interim or top is not None or report_path is not None):
        raise OptionError("--paper cannot be combined with --interim, --top or --report")
    if paper:
        scores = campaign.paper_result()
        text = scores.to_json() + "\n" if as_json else scores.to_csv()
        emit(text, out, f"{len(scores.items):,} items written to {out}")
        return
    with progress_bar(N_SAMPLES, "draw", "possible rankings") as advance:
        result = campaign.result(interim=interim, top=top, progress=advance)
    if report_path is not None:
        result.report().save(report_path)
    if as_json:
        console.print_json(result.to_dict())
    else:
        emit(result.to_csv(), out, f"{len(result.items):,} items written to {out}")
    _notes(result)


def _notes(result: CampaignResult) -> None:
    for caveat in result.warnings:
        print_note(caveat)
    if result.cut is not None:
        reached = "" if result.expected is None else f"; expected tau_w of the strengths {result.expected:.2f}"
        confidence = f"{result.cut.confidence:.2f}"
        print_note(f"the top {result.top:,} are correct with probability {confidence}{reached}")
    if result.agreement is not None:
        left_out = counted(len(result.excluded), "voter")
        print_note(
            f"{left_out} left out of the strengths, whose ranking has tau_w {result.agreement:.3f} with that of all; "
            f"closed ballots keep their scores"
        )
