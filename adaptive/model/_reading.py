"""Turn labels, ballots, pairs and votes of files into columns of comparisons; errors say where the fault is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Asked
from adaptive._formats.answers import OWN_WORDS, Answers, read_answers, words_of
from adaptive._formats.records import listed_column
from adaptive._formats.votes import VoteColumns
from adaptive._protocol import Items, checked_labels
from adaptive._votes import LEFT, UNANSWERED, WORDS, checked_answers
from adaptive.errors import ComparisonError, NumberedItemsWarning, VoteError
from adaptive.model._columns import (
    Columns,
    ShownPairs,
    Where,
    all_names,
    check_lengths,
    coded_labels,
    in_arrays,
    places_among,
)
from rankcorr._checks import counted, give_notice, shown
from rankcorr._input.identifiers import identifier_text, warn_unicode_twins

# Numbers in pairs imply all items below them, so ids of another kind would take gigabytes.
MAX_SPARSE: Final = 100_000
SPARSENESS: Final = 100
_CODES: Final = dict[str | None, int](WORDS) | {"cannot say": UNANSWERED, None: UNANSWERED}


def columns_of_labels(
    left: Iterable[Hashable],
    right: Iterable[Hashable],
    winner: Iterable[Any],
    *,
    voter: Iterable[Hashable] | None,
    items: Items | None,
    voters: Items | None,
    answers: Answers | None,
) -> Columns:
    """Number the labels of `Comparisons.from_labels`."""
    sides = {"left": listed_column(left, "left"), "right": listed_column(right, "right")}
    words = {**OWN_WORDS, **words_of(answers)}
    answers_read = read_answers(listed_column(winner, "winner"), words, lambda row: in_arrays("winner", row))
    if voter is None and voters is not None:
        raise ComparisonError("voters without voter: it is not known who answered which comparison")
    return _number_labels(
        sides, answers_read, None if voter is None else listed_column(voter, "voter"), items, voters, in_arrays
    )


def columns_of_votes(votes: VoteColumns, items: Items | None) -> Columns:
    """Number the labels of a file or a data frame.

    Raises
    ------
    ComparisonError
        With the place: an item that is not among `items`, an item against itself, a missing label, or a repeated
        comparison id.
    TableError
        Numbers of "choix" that may be names, or that imply over 100,000 items and over 100 for each item compared.
    """
    if votes.format == "csv":
        _check_ids(votes)
    if votes.format == "choix":
        items = _items_of_numbers(votes) if items is None else checked_labels(items, "items", ComparisonError)
        votes = votes.of_items(items)
    sides = {"left": list(votes.left or ()), "right": list(votes.right or ())}
    voter = None if votes.voter is None else list(votes.voter)
    return _number_labels(sides, votes.answer, voter, items, None, votes.place, votes.counts())


def columns_of_ballots(
    ballots: Iterable[tuple[Asked, ArrayLike]], items: Items | None, voters: Items | None
) -> Columns:
    """Join the columns of `Comparisons.from_ballots`."""
    pairs = list(ballots)
    for number, pair in enumerate(pairs):
        if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], Asked)):
            raise ComparisonError(f"ballots[{number}] must be a Ballot and its answers; got {shown(pair)}")
    all_items = all_names([ballot.items for ballot, _ in pairs], items, "items")
    all_voters = all_names([ballot.voters for ballot, _ in pairs], voters, "voters")
    none = np.empty(0, np.int32)
    parts = [(none, none, np.empty(0, np.int8), none)]
    for number, (ballot, answers) in enumerate(pairs):
        try:
            codes = checked_answers(ballot, answers)
        except VoteError as error:
            raise VoteError(f"ballots[{number}]: {error}") from None
        where = f"ballots[{number}]"
        places = places_among(ballot.items, all_items, "item", where)
        voter = places_among(ballot.voters, all_voters, "voter", where)[ballot.voter]
        parts.append((places[ballot.left], places[ballot.right], codes, voter))
    left, right, winner, voter = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return _split_answers(all_items, left, right, winner, all_voters, voter)


def columns_of_pairs(pairs: ArrayLike, n_items: int) -> Columns:
    """Put winners on the left and losers on the right, as `Comparisons.from_pairs` does."""
    try:
        array = np.asarray(pairs)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise ComparisonError(f"pairs must be a list of pairs (winner, loser); got {shown(pairs)}") from error
    if array.size == 0:
        array = np.empty((0, 2), np.int32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ComparisonError(f"pairs must be of shape (n_comparisons, 2); got {array.shape}")
    items = checked_labels(n_items, "items", ComparisonError)
    return Columns(items, array[:, 0], array[:, 1], np.full(len(array), LEFT, np.int8), None, None)


def _number_labels(
    sides: dict[str, list[Any]],
    answers: Sequence[str | None],
    voter: list[Any] | None,
    items: Items | None,
    voters: Items | None,
    where: Where,
    counts: NDArray[np.int64] | None = None,
) -> Columns:
    """Number the labels and check them; row k counts ``counts[k]`` times, or once."""
    check_lengths({**sides, "winner": answers, **({} if voter is None else {"voter": voter})})
    known = None if items is None else checked_labels(items, "items", ComparisonError)
    all_items, (left, right) = coded_labels(sides, known, "item", where)
    if (selfsame := np.flatnonzero(left == right)).size:
        row = int(selfsame[0])
        raise ComparisonError(f"{where('right', row)}: item {shown(sides['right'][row])} is compared with itself")
    all_voters, casts = None, None
    if voter is not None:
        known = None if voters is None else checked_labels(voters, "voters", ComparisonError)
        all_voters, (casts,) = coded_labels({"voter": voter}, known, "voter", where)
    winner = np.fromiter(map(_CODES.__getitem__, answers), np.int8, len(answers))
    for names, noun in ((all_items, "item"), (all_voters or (), "voter")):
        if not isinstance(names, range):
            warn_unicode_twins(names, noun, stacklevel=6)
    if counts is not None:
        left, right, winner = np.repeat(left, counts), np.repeat(right, counts), np.repeat(winner, counts)
        casts = None if casts is None else np.repeat(casts, counts)
    return _split_answers(all_items, left, right, winner, all_voters, casts)


def _split_answers(
    items: Sequence[Hashable],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    winner: NDArray[np.int8],
    voters: Sequence[Hashable] | None,
    voter: NDArray[np.int32] | None,
) -> Columns:
    """Separate answered from unanswered comparisons."""
    is_answered = winner != UNANSWERED
    if is_answered.all():
        return Columns(items, left, right, winner, voters, voter)
    silent = ShownPairs(left[~is_answered], right[~is_answered], None if voter is None else voter[~is_answered])
    voter = None if voter is None else voter[is_answered]
    return Columns(
        items, left[is_answered], right[is_answered], winner[is_answered], voters, voter, len(silent), silent
    )


def _check_ids(votes: VoteColumns) -> None:
    """Refuse a repeated comparison id, because its vote would count twice."""
    ids = [identifier_text(comparison_id) for comparison_id in votes.comparison or () if comparison_id is not None]
    if len(set(ids)) == len(ids):
        return
    first: dict[Hashable, int] = {}
    for row, comparison_id in enumerate(votes.comparison or ()):
        text = identifier_text(comparison_id)
        if text is not None and first.setdefault(text, row) != row:
            of = "on line" if votes.records.table.name else "in row"
            before = f"{of} {votes.records.lines[first[text]]}"
            raise ComparisonError(
                f"{votes.place('comparison', row)}: comparison {shown(comparison_id)} is also {before}"
            )


def _items_of_numbers(votes: VoteColumns) -> range:
    """Return the items from 0 to the largest number, unless too few of them are compared."""
    columns = {"left": np.array(votes.left), "right": np.array(votes.right)}
    n_items = 1 + int(max(map(np.max, columns.values())))
    n_named = np.unique(np.concatenate(list(columns.values()))).size
    if n_items > max(MAX_SPARSE, SPARSENESS * n_named):
        side = max(columns, key=lambda side: int(columns[side].max()))
        place = votes.place(side, int(columns[side].argmax()))
        raise votes.records.table.error(
            f"{place}: items are numbered from 0, so {n_items - 1} implies {n_items:,} items, but only {n_named:,} are "
            f"compared; pass items= if there are that many, or the format 'pairs' if the numbers are names"
        )
    if n_items > n_named and votes.was_found:
        unnamed = counted(n_items - n_named, "item has no vote", "items have no vote")
        give_notice(
            f"{votes.records.table.name or 'pairs'}: the numbers count items from 0, and so {unnamed}; "
            'format="pairs" reads the numbers as names, and format="choix" counts without this warning',
            NumberedItemsWarning,
            stacklevel=5,
        )
    return range(n_items)
