"""The command `ballots score`: files of votes -> a ranking, without a session."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from adaptive.cli.output import emit
from adaptive.cli.vote_files import Reading, reading_options
from adaptive.draw import Ballot
from adaptive.errors import VoteError
from adaptive.formats.votes import VoteColumns, read_votes
from adaptive.model.comparisons import Comparisons
from adaptive.model.reading import columns_of_votes
from adaptive.record import places_best_first
from adaptive.scores import score_ballot
from adaptive.tables import csv_text, item_cells, item_columns
from adaptive.votes import UNANSWERED
from rankcorr import OptionError, Ranking
from rankcorr.cli.console import print_json
from rankcorr.io.records import printable

_EXAMPLE = """\b
Example:
  ballots score votes.csv
  ballots score votes1.csv votes2.csv votes3.csv --out ranking.csv
"""


@click.command("score", epilog=_EXAMPLE, short_help="Votes -> ranking, of one or several ballots.")
@click.argument("votes", nargs=-1, required=True, metavar="VOTES...")
@reading_options
@click.option("--out", metavar="FILE", help="Write the ranking here.  [default: standard output]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the slope b of each ballot.")
def score_command(votes: tuple[str, ...], reading: Reading, out: str | None, as_json: bool) -> None:
    """Rank the items of the VOTES files: one file for each ballot, in their order.

    Each is CSV, TSV or JSON with the columns left, right (or left_1, left_2, ...) and winner: left, right, tie, or
    empty where there is no answer; `ballots fit` says which other formats are read. If there is a column comparison,
    its ids must differ. Items of a ballot are items of the one before. The ranking is CSV, as `ballots run result`
    writes it: item (or item_1, item_2, ...), rank, ybar (the score), presentations, wins, ties, losses and last_ballot.
    """
    if votes.count("-") > 1:
        raise OptionError("'-' (standard input) can be given only once")
    rows: dict[Hashable, dict[str, Any]] = {}
    ballots = []
    for number, path in enumerate(votes, start=1):
        ballots.append({"votes": path, **_score(read_votes(path, **reading._asdict()), number, rows)})
    items, ranks = list(rows), Ranking.from_scores([row["ybar"] for row in rows.values()]).ranks
    table = [
        {"item": items[place], "rank": float(ranks[place]), **rows[items[place]]}
        for place in places_best_first(items, ranks).tolist()
    ]
    if as_json:
        if out is not None:
            raise OptionError("--json and --out exclude each other: --out writes CSV")
        print_json({"ballots": ballots, "items": table})
        return
    header = [*item_columns("item", rows), *list(table[0])[1:]]
    text = csv_text(header, [[*item_cells(row["item"]), *list(row.values())[1:]] for row in table])
    emit(text, out, f"{len(table):,} items written to {out}")


def _score(votes: VoteColumns, number: int, rows: dict[Hashable, dict[str, Any]]) -> dict[str, Any]:
    """Score one ballot and bring the rows of its items up to date."""
    comparisons = Comparisons(*columns_of_votes(votes, None))
    name, items, shown = votes.records.table.name, tuple(comparisons.items), comparisons.shown_pairs
    for line, *pair in zip(votes.records.lines, votes.left or (), votes.right or (), strict=True):
        for item in pair if number > 1 else ():
            if rows.get(item, {}).get("last_ballot") != number - 1:
                raise VoteError(f"{name}:{line}: {printable(repr(item))} is not an item of ballot {number - 1}")
    most = int(np.bincount(shown.left).max())
    ballot = Ballot(items, most, range(1), shown.left, shown.right, np.zeros(len(shown), np.int32))
    answers = np.append(comparisons.winner, np.full(comparisons.n_unanswered, UNANSWERED, np.int8))
    previous = None if number == 1 else np.array([rows[item]["ybar"] for item in items], np.float64)
    try:
        scores = score_ballot(ballot, answers, ballot_number=number, previous_mean=previous)
    except VoteError as error:
        raise VoteError(f"{name}: {error}") from error
    counts: dict[str, NDArray[Any]] = {
        "presentations": scores.tally.presentations,
        "wins": scores.tally.wins,
        "ties": scores.tally.ties,
        "losses": scores.tally.losses,
    }
    for place, item in enumerate(items):
        before = rows.get(item, {})
        totals = {name: before.get(name, 0) + int(count[place]) for name, count in counts.items()}
        rows[item] = {"ybar": float(scores.ybar[place]), **totals, "last_ballot": number}
    return {"n_items": len(items), "n_comparisons": len(shown), "b": scores.b}
