"""`ballots run`: a whole voting kept in one JSON file, one step for each command.

load -> step -> save. A command that fails has saved nothing; other files that it writes appear only after the save.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

import click

from adaptive.cli.output import emit, whole_file
from adaptive.cli.plan_options import PlanOptions, plan_options
from adaptive.errors import ProtocolError, TableError, VoteError
from adaptive.session.ballot_protocol import BallotProtocol, ProtocolStatus
from adaptive.tables import VoteFile, VoteRow, comparisons_csv, item_cells, read_items, read_vote_file
from adaptive.votes import Comparison, Vote
from rankcorr.cli.console import print_json
from rankcorr.io.records import printable

_EXAMPLE = """\b
Example (open, record and close once for each ballot):
  ballots run init voting.json --items items.csv --presentations 20 --voters 100 --seed 1
  ballots run open voting.json --out ballot.csv
  ballots run record voting.json votes.csv
  ballots run close voting.json
  ballots run result voting.json --out ranking.csv
"""
_INIT_EXAMPLE = """\b
Example:
  ballots run init voting.json --items items.csv --presentations 20 --voters 100 --seed 1
  ballots run init voting.json --items items.csv --hours 40 --seconds 5 --voters 20 --seed 1
"""
_OPEN_EXAMPLE = """\b
Example:
  ballots run open voting.json --out ballot.csv
  ballots run open voting.json --again --out ballot.csv
"""
_RECORD_EXAMPLE = """\b
Example:
  ballots run record voting.json votes.csv
"""
_CLOSE_EXAMPLE = """\b
Example:
  ballots run close voting.json
"""
_STATUS_EXAMPLE = """\b
Example:
  ballots run status voting.json --json
"""
_RESULT_EXAMPLE = """\b
Example:
  ballots run result voting.json --out ranking.csv
  ballots run result voting.json --json
"""


@click.group(no_args_is_help=False, epilog=_EXAMPLE, short_help="A voting over days, kept in one JSON file.")
def run() -> None:
    """Run a voting over days, kept in one JSON file, STATE. Let one command at a time change it."""


@run.command(epilog=_INIT_EXAMPLE, short_help="Plan the voting and make the file.")
@click.argument("state")
@click.option("--items", required=True, metavar="FILE", help="CSV with the column item, or item_1, item_2, ...")
@plan_options
@click.option("--voters", type=int, required=True, metavar="V", help="Number of voters; they are named 0 to V-1.")
@click.option("--seed", type=click.IntRange(min=0), required=True, help="Seed of all draws.")
@click.option("--force", is_flag=True, help="Replace STATE if it exists: its votes are lost.")
def init(state: str, items: str, options: PlanOptions, voters: int, seed: int, force: bool) -> None:
    """Plan a voting on the items of a file, and keep it in STATE."""
    if not force and os.path.lexists(state):
        raise ProtocolError(f"{state}: exists already; --force replaces it and loses its votes")
    labels = read_items(items)
    plan = options.plan(len(labels))
    protocol = BallotProtocol(plan, labels, voters, seed)
    _save(protocol, state)
    click.echo(plan.to_text(n_voters=voters, seconds_per_comparison=options.seconds))
    click.echo(f"\n{printable(state, limit=None)} is made; ballot 1 can be opened.")


@run.command("open", epilog=_OPEN_EXAMPLE, short_help="Draw the next ballot: comparisons for each voter.")
@click.argument("state")
@click.option("--out", metavar="FILE", help="Write the comparisons here.  [default: standard output]")
@click.option("--again", is_flag=True, help="Write the ballot that is open once more.")
def open_command(state: str, out: str | None, again: bool) -> None:
    """Open the next ballot of STATE.

    The comparisons are CSV, voter by voter, with the columns comparison, voter, left, right (or left_1, left_2, ...)
    and an empty winner to fill in: left, right or tie.
    """
    _check_other(out, state)
    protocol = BallotProtocol.load(state)
    if not again:
        protocol.open_ballot()
    shown = protocol.comparisons()
    text = comparisons_csv(shown)
    note = f"ballot {protocol.status().ballot}: {len(shown):,} comparisons written to {out}"
    if again:
        emit(text, out, note)
    elif out is None or out == "-":
        _save(protocol, state)
        click.echo(text, nl=False)
    else:
        with whole_file(out, text):
            _save(protocol, state)
        click.echo(note)


@run.command(epilog=_RECORD_EXAMPLE, short_help="Record votes, some or all, in any order.")
@click.argument("state")
@click.argument("votes")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def record(state: str, votes: str, as_json: bool) -> None:
    """Record the votes of a file in STATE: all of them, or none if one is refused.

    VOTES is CSV or TSV with the columns comparison and winner: left, right, tie, or empty where there is no answer
    yet. If it has the columns voter, left and right too, they must be those of the comparison. Votes that are
    recorded already change nothing, unless they differ.
    """
    protocol = BallotProtocol.load(state)
    file = read_vote_file(votes, needed=["comparison", "winner"])
    n_new = _record(protocol, file)
    if n_new:
        _save(protocol, state)
    status = protocol.status()
    if as_json:
        print_json({"n_new": n_new, **asdict(status)})
        return
    click.echo(f"{n_new:,} new {'vote' if n_new == 1 else 'votes'}; {_described(status)}")


@run.command(epilog=_CLOSE_EXAMPLE, short_help="Score the ballot and select the items of the next one.")
@click.argument("state")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def close(state: str, as_json: bool) -> None:
    """Close the ballot that is open in STATE; comparisons without a vote stay unanswered."""
    protocol = BallotProtocol.load(state)
    answered = protocol.status()
    closed = protocol.close_ballot()
    _save(protocol, state)
    status = protocol.status()
    if as_json:
        before = {"number": closed.number, "b": closed.b, "n_tied_at_cut": closed.n_tied_at_cut}
        print_json({"closed": {**before, "n_answered": answered.n_answered}, **asdict(status)})
        return
    tied = f" ({closed.n_tied_at_cut:,} tied at the cut)" if closed.n_tied_at_cut else ""
    following = f"{status.n_items:,} items go on{tied}" if status.state == "ready" else "the result is ready"
    click.echo(
        f"ballot {closed.number} is closed with {answered.n_answered:,} of {answered.n_comparisons:,} comparisons "
        f"answered; {following}"
    )


@run.command(epilog=_STATUS_EXAMPLE, short_help="Where the voting stands.")
@click.argument("state")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def status(state: str, as_json: bool) -> None:
    """Say where the voting in STATE stands."""
    now = BallotProtocol.load(state).status()
    if as_json:
        print_json(asdict(now))
    else:
        click.echo(_described(now))


@run.command(epilog=_RESULT_EXAMPLE, short_help="The ranking, after the last ballot.")
@click.argument("state")
@click.option("--out", metavar="FILE", help="Write it here.  [default: standard output]")
@click.option("--json", "as_json", is_flag=True, help="JSON with the scores of every ballot, not CSV.")
def result(state: str, out: str | None, as_json: bool) -> None:
    """Give the ranking of all items, after the last ballot of STATE is closed.

    CSV with the columns item (or item_1, item_2, ...), rank, ybar (the score), presentations, wins, ties, losses and
    last_ballot.
    """
    _check_other(out, state)
    found = BallotProtocol.load(state).result()
    text = found.to_json() + "\n" if as_json else found.to_csv()
    emit(text, out, f"{len(found.items):,} items written to {out}")


def _check_other(out: str | None, state: str) -> None:
    if out is not None and os.path.realpath(out) == os.path.realpath(state):
        raise TableError(f"{out}: is the file of the voting itself; --out needs another one")


def _save(protocol: BallotProtocol, state: str) -> None:
    # `BallotProtocol.save` would replace a device by a file.
    if Path(state).exists() and not Path(state).is_file():
        raise TableError(f"{state}: cannot be written: it is not a file")
    try:
        protocol.save(state)
    except OSError as error:
        raise TableError(f"{state}: cannot be written: {error.strerror or error}") from error


def _record(protocol: BallotProtocol, file: VoteFile) -> int:
    """Record vote by vote, so that an error names its line; nothing is saved here."""
    is_open = protocol.ballot is not None
    asked = {comparison.id: comparison for comparison in protocol.comparisons()} if is_open else {}
    n_new = 0
    for row in file.rows:
        if row.comparison in asked:
            _check_shown(file, row, asked[row.comparison])
        if row.vote is Vote.UNANSWERED:
            continue
        try:
            n_new += protocol.record([(row.comparison or "", row.vote)])
        except VoteError as error:
            file.fail(str(error), row.line)
    return n_new


def _check_shown(file: VoteFile, row: VoteRow, asked: Comparison) -> None:
    """Check that the row is about the comparison that it names."""
    for name, came, wanted in (
        ("voter", row.voter, asked.voter),
        ("left", row.left, asked.left),
        ("right", row.right, asked.right),
    ):
        if came is not None and item_cells(came) != item_cells(wanted):
            expected = ", ".join(map(repr, item_cells(wanted)))
            got = ", ".join(map(repr, item_cells(came)))
            file.fail(f"comparison {asked.id!r} has the {name} {expected}; got {got}", row.line)


def _described(now: ProtocolStatus) -> str:
    where = f"ballot {now.ballot} of {now.n_ballots}"
    if now.state == "finished":
        return f"all {now.n_ballots} ballots are closed; the result is ready"
    if now.state == "ready":
        return f"{where} can be opened: {now.n_items:,} items, {now.n_comparisons:,} comparisons"
    answered = f"{now.n_answered:,} of {now.n_comparisons:,} comparisons answered"
    silent = f", {now.n_silent_items:,} of {now.n_items:,} items without any answer" if now.n_silent_items else ""
    return f"{where} is open: {answered}{silent}"
