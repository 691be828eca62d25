"""What commands that fit strengths share: files of votes, or a voting of `ballots run`, and options of the model."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar, cast

import click
import numpy as np

from adaptive.errors import ComparisonError
from adaptive.model.comparisons import Comparisons
from adaptive.model.layouts import FORMATS, Format
from adaptive.model.reading import NumberedVotes, read_numbered
from adaptive.model.vote_model import TIES
from adaptive.session.ballot_protocol import BallotProtocol
from adaptive.session.state import STATE_FORMAT
from adaptive.tables import item_cells, read_items
from rankcorr import OptionError
from rankcorr.checks import repeated
from rankcorr.io.records import printable

Command = TypeVar("Command", bound=Callable[..., Any])

FILES_HELP: Final = """
    VOTES are CSV, TSV or JSON Lines with the columns left, right (or left_1, left_2, ...) and winner: left, right, tie,
    or empty where there is no answer; voter, if voters are known. Files of arenas (model_a, model_b, winner) and of
    pairs of winner and loser are read too, and so is the ledger of `ballots run`, a file or a URL. Several files are
    one list of votes.
"""

_OPTIONS: Final = (
    click.option(
        "--format", "form", type=click.Choice(FORMATS), default="auto", show_default=True, help="Format of the files."
    ),
    click.option("--items", metavar="FILE", help="All items there may be: CSV with the column item, or item_1, ..."),
)


def vote_options(command: Command) -> Command:
    """Add the options that say how files of votes are read: `form` and `items`."""
    decorated: Any = command
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return cast(Command, decorated)


def model_options(models: Sequence[str]) -> Callable[[Command], Command]:
    """Add the options of a model of votes, which `fit_named` takes; those that are not given are None."""
    options = (
        click.option(
            "--model", type=click.Choice(models), default=models[0], show_default=True, help="Model of votes."
        ),
        click.option(
            "--ties", type=click.Choice(TIES), help="Ties have a parameter, or are half wins.  [default: davidson]"
        ),
        click.option("--oversight", type=float, help="Share of votes that are slips, below 0.5.  [default: 0.03]"),
        click.option("--prior", type=float, metavar="SD", help="Standard deviation of the strengths.  [default: 2]"),
        click.option("--voters", is_flag=True, default=None, help="Fit how each voter discriminates and slips."),
        click.option("--side-bias", is_flag=True, default=None, help="Fit a preference for the left or right side."),
    )

    def decorate(command: Command) -> Command:
        decorated: Any = command
        for option in reversed(options):
            decorated = option(decorated)
        return cast(Command, decorated)

    return decorate


class ReadVotes(NamedTuple):
    """Votes of all files, and a whole number above all their ids, from which new ones may count."""

    votes: Comparisons
    next_id: int


def read_votes(paths: Sequence[str], form: str, items: str | None) -> Comparisons:
    """Votes of all files together; labels of items and voters are text, as in a file.

    Parameters
    ----------
    paths : sequence of str
        With `items` there may be none.
    form : str
        One of `FORMATS`.
    items : str or None
        File of all items there may be.

    Raises
    ------
    OptionError
        No file at all, or the same file twice.
    ComparisonError
        Votes of which only some know their voters, and as `read_comparisons`.
    TableError, VoteError, ProtocolError
        As `read_comparisons` and `BallotProtocol.load`.
    """
    return read_numbered_votes(paths, form, items).votes


def read_numbered_votes(paths: Sequence[str], form: str, items: str | None) -> ReadVotes:
    """Read what `read_votes` does, and find where ids of comparisons to come may begin; those of files may anywhere."""
    if again := repeated(paths):
        raise OptionError(f"each file counts once; got {printable(str(again[0]))} twice")
    known = None if items is None else read_items(items)
    if not paths:
        if known is None:
            raise OptionError("a file of votes is wanted, or --items, the items to begin with")
        return ReadVotes(Comparisons(known, *np.zeros((3, 0), np.int32)), 0)
    read = [_read(path, form, known) for path in paths]
    files = [numbered.votes for numbered in read]
    if len({votes.voters is None for votes in files}) > 1:
        names = [printable(path) for path, votes in zip(paths, files, strict=True) if votes.voters is None]
        raise ComparisonError(f"either all votes have a voter or none; without voters: {', '.join(names)}")
    labels = tuple(dict.fromkeys(chain.from_iterable(votes.items for votes in files)))
    if len({isinstance(label, tuple) and len(label) for label in labels}) > 1:
        raise ComparisonError("the items of the files differ in their number of parts")
    together = reduce(Comparisons.joined, [_of_items(votes, labels) for votes in files])
    numbers = [int(str(each)) for each in chain.from_iterable(numbered.ids for numbered in read) if _is_number(each)]
    return ReadVotes(together, max([together.n_comparisons + together.n_unanswered, *(n + 1 for n in numbers)]))


def _read(path: str, form: str, known: Sequence[Hashable] | None) -> NumberedVotes:
    """Votes of one file, of whichever kind its first bytes say it is."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(200)
    except OSError:
        start = b""  # standard input, a URL, or a file that the reader refuses
    if start.startswith(b"SQLite format 3\0") or path.startswith("postgresql"):
        return _of_ledger(path, known)
    if json.dumps(STATE_FORMAT).encode() in start and start.lstrip().startswith(b"{"):
        return _as_text(path, Comparisons.from_protocol(BallotProtocol.load(path)), known)
    return read_numbered(path, format=cast(Format, form), items=known)


def _is_number(id_: Hashable) -> bool:
    """Whether an id is a whole number of up to 18 digits; numbers of ours are never longer."""
    return re.fullmatch("[0-9]{1,18}", str(id_)) is not None


def _of_ledger(path: str, known: Sequence[Hashable] | None) -> NumberedVotes:
    """Votes of the only campaign of a ledger that count, and that of nobody who is left out."""
    from adaptive.ledger import Ledger
    from adaptive.ledger.results import votes_of
    from adaptive.ledger.voters import excluded_voters

    ledger = Ledger.open(path)
    try:
        info = ledger.campaign().info
        votes = ledger.database.read(lambda c: votes_of(c, info, without=excluded_voters(c, info.id)))
    finally:
        ledger.close()
    return _as_text(path, votes, known)


def _as_text(path: str, votes: Comparisons, known: Sequence[Hashable] | None) -> NumberedVotes:
    """The same votes with labels as text, so that they match those of files. Its ids, as 1-3, are no numbers."""
    items = [_text(item) for item in votes.items]
    voters = [" ".join(item_cells(voter)) for voter in votes.voters or ()]
    found = replace(votes, items=items, voters=voters)
    if known is not None and (others := [item for item in items if item not in set(known)]):
        raise ComparisonError(f"{path}: item {printable(repr(others[0]))} is not among the items of --items")
    return NumberedVotes(found, ())


def _text(item: Hashable) -> Hashable:
    return item_cells(item) if isinstance(item, tuple) else str(item)


def _of_items(votes: Comparisons, items: tuple[Hashable, ...]) -> Comparisons:
    """The same votes on the items of all files."""
    place = {item: number for number, item in enumerate(items)}
    own = np.array([place[item] for item in votes.items], np.int32)
    silent = None if votes.unanswered is None else votes.unanswered.renumbered(items=own)
    return replace(votes, items=items, left=own[votes.left], right=own[votes.right], unanswered=silent)
