"""Votes of other programs: recorded in the ballots that are open, or read as the votes of somebody else's campaign."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import cast

from adaptive.errors import ComparisonError, TableError
from adaptive.ledger.formats import arena, choix, csv_votes, label_studio, potato
from adaptive.ledger.formats.exports import FORMATS, Format
from adaptive.ledger.formats.matching import matched
from adaptive.ledger.formats.rows import Came, vote_row
from adaptive.ledger.ledger import Campaign
from adaptive.ledger.recording import Recorded, record_file
from adaptive.model.comparisons import Comparisons
from adaptive.model.layouts import Format as ModelFormat
from adaptive.model.reading import read_comparisons
from adaptive.protocol import Items
from adaptive.tables import VoteFile, VoteRow, item_cells
from adaptive.votes import WORDS
from rankcorr.checks import check_choice
from rankcorr.io.records import printable

__all__ = ["foreign_comparisons", "import_votes"]


def import_votes(
    campaign: Campaign,
    path: str | os.PathLike[str],
    format: Format,  # noqa: A002 - the name of the option
    *,
    guard: bool = True,
) -> Recorded:
    """Record the votes of a file in the open ballots: all of them, or none if one means nothing.

    A vote is about the comparison whose id it has: in the column or key comparison, in data.comparison of Label Studio,
    or as the id of potato. Without an id it is about its voter's comparison of its pair. A vote that the ledger has
    already changes nothing, and one that contradicts it is kept beside it, as `record_file` says.

    Parameters
    ----------
    campaign : Campaign
    path : str or path-like
    format : {"csv", "arena", "label_studio", "potato", "choix"}
    guard : bool
        Whether the apostrophes that `export_votes` has put in front of formulas are taken away.

    Raises
    ------
    OptionError
        An unknown format.
    TableError, VoteError
        With file and line: what cannot be read, an unknown winner, comparison, pair or voter.
    """
    check_choice("format", format, FORMATS)
    info = campaign.info
    if format == "csv":
        file = csv_votes.read(path, guard=guard)
    else:
        came = choix.read(path, info.items) if format == "choix" else _read(path, format)
        rows = [vote_row(each) for each in came]
        if format in ("label_studio", "potato"):
            cells = {" ".join(item_cells(item)): item_cells(item) for item in info.items if isinstance(item, tuple)}
            rows = [_in_parts(row, cells) for row in rows]
        file = VoteFile(printable(os.fspath(path), limit=None), tuple(rows))
    about = campaign.database.read(lambda connection: matched(connection, info, file))
    return record_file(campaign.database, info, about)


def foreign_comparisons(
    path: str | os.PathLike[str],
    format: Format,  # noqa: A002 - the name of the option
    *,
    items: Items | None = None,
    guard: bool = True,
) -> Comparisons:
    """Read the votes of another campaign, as the models take them.

    Parameters
    ----------
    path : str or path-like
    format : {"csv", "arena", "label_studio", "potato", "choix"}
    items : int or sequence of hashable, optional
        All items there may be; by default those that come.
    guard : bool
        As in `import_votes`.

    Raises
    ------
    OptionError
        An unknown format.
    TableError, VoteError, ComparisonError
        With file and line, as `read_comparisons`; also when only some votes have a voter.
    """
    check_choice("format", format, FORMATS)
    if format not in ("label_studio", "potato"):
        if format == "csv" and guard:
            return _unguarded(path, items)
        wanted = "ballots" if format == "csv" else format
        return read_comparisons(path, format=cast(ModelFormat, wanted), items=items)
    name = printable(os.fspath(path), limit=None)
    rows = _read(path, format)
    if not rows:
        raise TableError(f"{name}: no votes")
    for row in rows:
        if row.left == row.right:
            raise ComparisonError(f"{name}:{row.line}: {row.left!r} is compared with itself")
    if len({row.voter is None for row in rows}) > 1:
        line = next(row.line for row in rows if row.voter is None)
        raise ComparisonError(f"{name}:{line}: either all votes have a voter or none; this one has none")
    unanswered = -2
    winner = [unanswered if row.answer is None else int(WORDS[row.answer]) for row in rows]
    voter = None if rows[0].voter is None else [row.voter for row in rows]
    try:
        return Comparisons.from_labels(
            [row.left for row in rows], [row.right for row in rows], winner, voter=voter, items=items
        )
    except ComparisonError as error:
        raise ComparisonError(f"{name}: {error}") from error


def _read(path: str | os.PathLike[str], form: str) -> list[Came]:
    return {"arena": arena.read, "label_studio": label_studio.read, "potato": potato.read}[form](path)


def _in_parts(row: VoteRow, cells: Mapping[str, tuple[str, ...]]) -> VoteRow:
    """The row with the parts of items that the format has as one text."""
    left, right = (cells.get(side, side) if isinstance(side, str) else side for side in (row.left, row.right))
    return row._replace(left=left, right=right)


def _unguarded(path: str | os.PathLike[str], items: Items | None) -> Comparisons:
    """Votes of our CSV, on labels without the apostrophes of `guard`."""
    known = items if items is None or isinstance(items, int) else [csv_votes.guarded_label(item) for item in items]
    votes = read_comparisons(path, format="ballots", items=known)
    labels, voters = (
        [csv_votes.unguarded_label(name) for name in names or ()] for names in (votes.items, votes.voters)
    )
    return Comparisons(
        labels,
        votes.left,
        votes.right,
        votes.winner,
        None if votes.voters is None else voters,
        votes.voter,
        votes.n_unanswered,
    )
