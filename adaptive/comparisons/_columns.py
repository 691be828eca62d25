"""Turn labels, ballots, pairs and votes of files into columns of small whole numbers; errors say where the fault is.

Labels are numbered, numbers checked, and rows selected and joined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, repeat
from operator import itemgetter
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Asked
from adaptive._formats.layouts import OWN_WORDS, Answers, read_answers, words_of
from adaptive._formats.records import is_missing, is_no_label, listed_column
from adaptive._formats.votes import VoteColumns
from adaptive._protocol import Items, checked_labels
from adaptive._tables import check_decimals
from adaptive._votes import LEFT, RIGHT, UNANSWERED, WORDS, checked_answers
from adaptive.errors import ComparisonError, NumberedItemsWarning, VoteError
from rankcorr._checks import counted, give_notice, is_unhashable, shown
from rankcorr._input.identifiers import (
    WHOLE_TIMES,
    identifier_text,
    inexact_times,
    is_array,
    plain_identifier,
    warn_unicode_twins,
)
from rankcorr._input.scores import is_masked
from rankcorr._io.columnar import CodedColumn
from rankcorr._output.results import Result, read_only

Indices = NDArray[np.int32]
# Place of a cell for messages, by column and row: "left[3]", or file, line and column.
Where: TypeAlias = Callable[[str, int], str]
_UNKNOWN: Final = -1
_NO_LABEL: Final = "is not a valid label: use text, whole numbers or tuples of them"
# Numbers in pairs imply all items below them, so ids of another kind would take gigabytes.
MAX_SPARSE: Final = 100_000
SPARSENESS: Final = 100
_CODES: Final = dict[str | None, int](WORDS) | {"cannot say": UNANSWERED, None: UNANSWERED}


@dataclass(frozen=True, eq=False, repr=False)
class ShownPairs(Result):
    """Pairs of items shown, one row for each, as indices into the items and voters of `Comparisons`.

    Attributes
    ----------
    left, right : ndarray of int32, shape (n_pairs,), read-only
        Index of the item on either side.
    voter : ndarray of int32, shape (n_pairs,), read-only, or None
        Index of the voter who was shown the pair; None if voters are not known.
    """

    left: Indices
    right: Indices
    voter: Indices | None = None

    def __post_init__(self) -> None:
        read_only((self.left, self.right, self.voter))

    def __len__(self) -> int:
        return self.left.size

    def followed_by(self, other: ShownPairs) -> ShownPairs:
        """Append the pairs of `other`; both have voters or neither has."""
        voter = None
        if self.voter is not None and other.voter is not None:
            voter = np.concatenate([self.voter, other.voter])
        left, right = np.concatenate([self.left, other.left]), np.concatenate([self.right, other.right])
        return ShownPairs(left, right, voter)

    def renumber(self, *, items: ArrayLike | None = None, voters: ArrayLike | None = None) -> ShownPairs:
        """Return the same pairs with index k of items (voters) replaced by ``items[k]`` (``voters[k]``)."""
        places = None if items is None else np.asarray(items, np.int32)
        casts = None if voters is None else np.asarray(voters, np.int32)
        return ShownPairs(
            self.left if places is None else places[self.left],
            self.right if places is None else places[self.right],
            self.voter if casts is None or self.voter is None else casts[self.voter],
        )

    def __repr__(self) -> str:
        return f"<ShownPairs: {len(self):,}>"


class ComparisonFields(NamedTuple):
    """The fields of `adaptive.comparisons._comparisons.Comparisons`, in their order."""

    items: Sequence[Hashable]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    winner: NDArray[np.int8]
    voters: Sequence[Hashable] | None
    voter: NDArray[np.int32] | None
    n_unanswered: int = 0
    unanswered: ShownPairs | None = None


def in_arrays(column: str, row: int) -> str:
    """Return the place of an entry of an array.

    Examples
    --------
    >>> in_arrays("left", 3)
    'left[3]'
    """
    return f"{column}[{row}]"


def check_lengths(columns: Mapping[str, Sized]) -> None:
    """Refuse columns that differ in length.

    Raises
    ------
    ComparisonError
        The message has the length of each.
    """
    lengths = {column: len(entries) for column, entries in columns.items()}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{column} has {length}" for column, length in lengths.items())
        raise ComparisonError(f"every comparison needs one entry in each column; {sizes}")


def coded_labels(
    columns: Mapping[str, Sequence[Any]], names: Sequence[Hashable] | None, kind: str, where: Where
) -> tuple[Sequence[Hashable], list[NDArray[np.int32]]]:
    """Number the labels in columns of one length, one hash of each label and no sorting.

    Parameters
    ----------
    columns : mapping of str to sequence
    names : sequence of hashable, or None
        Allowed labels; None for all that occur, in the order of first appearance, row by row.
    kind : str
        "item" or "voter", for messages.
    where : callable

    Returns
    -------
    names : sequence of hashable
    codes : list of ndarray of int32
        Index into `names` of each label, by column.

    Labels equal names with the same text, so that 7 from JSON is the item "7" of CSV.

    Raises
    ------
    ComparisonError
        A label that is not among the names, is missing (None or nan), or cannot be hashed; or labels of which some are
        text and some whole numbers.

    Examples
    --------
    >>> coded_labels({"left": ["b", "a"], "right": ["c", "b"]}, None, "item", in_arrays)
    (('b', 'c', 'a'), [array([0, 2], dtype=int32), array([1, 0], dtype=int32)])
    """
    coded = [column for column in columns.values() if isinstance(column, CodedColumn)]
    values = _in_order_of_rows(coded) if len(coded) == len(columns) else []
    if set(map(type, values)) in ({str}, {int}):
        try:
            names, (places,) = coded_labels({kind: values}, names, kind, in_arrays)
        except ComparisonError:
            pass  # with the row of the first fault, below
        else:
            place_of = dict(zip(values, places, strict=True))
            return names, [np.array([place_of[v] for v in c.values], np.int32)[c.codes] for c in coded]
    n_labels = sum(map(len, columns.values()))
    row_by_row: list[Any] = [None] * n_labels
    for place, column in enumerate(columns.values()):
        row_by_row[place :: len(columns)] = column  # takes two thirds of the time of a zip
    if not set(map(type, row_by_row)) <= {str, int}:
        row_by_row = list(map(plain_identifier, row_by_row))  # Python's types in the place of numpy's
    try:
        kinds = set(map(type, row_by_row))
        if any(not is_missing(label) for label in inexact_times(row_by_row)):
            _refuse(
                columns,
                lambda label: bool(inexact_times([label])) and not is_missing(label),
                f"is a time, which {WHOLE_TIMES}",
                where,
            )
        # 1, 1.0 and True are one key of a dict.
        if int in kinds and kinds - {int, str, tuple} and any(map(_is_no_name, row_by_row)):
            _refuse(
                columns,
                _is_no_name,
                "is not written as a whole number, as others are: write all labels in one way",
                where,
            )
        if any(map(is_array, kinds)):
            _refuse(columns, lambda label: is_array(type(label)), _NO_LABEL, where)
        if {int, tuple} & kinds and (odd := other_kind(tuple(dict.fromkeys(row_by_row)))):
            _refuse(columns, lambda label: plain_identifier(label) == odd[0], odd[1], where)
        if names is None:
            index: dict[Hashable, int] = defaultdict(count().__next__)  # numbers a label at its first lookup
            codes = np.fromiter(map(index.__getitem__, row_by_row), np.int32, n_labels)
            names = tuple(index)
            if any(map(is_no_label, names)):
                _refuse(columns, is_no_label, f"is missing; every comparison needs its {kind} by label", where)
        else:
            index = dict(zip(names, range(len(names)), strict=True))
            codes = np.fromiter(map(index.get, row_by_row, repeat(_UNKNOWN)), np.int32, n_labels)
            unknown = np.flatnonzero(codes < 0).tolist()
            if unknown and {type(names[0]), *map(type, row_by_row)} & {int, tuple}:
                by_text = {identifier_text(name): place for place, name in enumerate(names)}
                codes[unknown] = [by_text.get(identifier_text(row_by_row[row]), _UNKNOWN) for row in unknown]
    except TypeError:
        _refuse(columns, is_unhashable, _NO_LABEL, where)
    if (codes < 0).any():
        among = f"one of the {len(names)} {kind}s" if len(names) != 1 else f"{shown(names[0])}, the only {kind}"
        known = {*index, *map(identifier_text, index)}
        _refuse(columns, lambda label: not {label, identifier_text(label)} & known, f"is not {among}", where)
    by_column = codes.reshape(-1, len(columns)).T
    return names, [np.ascontiguousarray(column) for column in by_column]


def _in_order_of_rows(columns: Sequence[CodedColumn]) -> list[Any]:
    """Return the distinct values of columns, in the order of their first appearance, row by row."""
    rows_of_values = [
        (row, place, value)
        for place, column in enumerate(columns)
        for row, value in zip(column.first_rows.tolist(), column.values, strict=True)
    ]
    return list(dict.fromkeys(value for *_, value in sorted(rows_of_values, key=itemgetter(0, 1))))


def _is_no_name(label: Any) -> bool:
    return isinstance(label, bool | np.bool_ | float) and not is_missing(label)


def other_kind(labels: Sequence[Hashable]) -> tuple[Hashable, str] | None:
    """Return the first label that is a whole number among text or text among whole numbers, and a message about it.

    Parts of tuples are compared with the same parts of other tuples.

    Examples
    --------
    >>> other_kind(("a", "b", 7))
    (7, "is a whole number, but 'a' is text: write all labels of a source in one way")
    >>> other_kind((7, 8)), other_kind((("a", 7), ("b", 8)))
    (None, None)
    """
    first: dict[int, tuple[type, Hashable]] = {}
    for label in labels:
        for place, part in enumerate(label, start=1) if type(label) is tuple else ((0, label),):
            if type(part) in (str, int):
                kind, other = first.setdefault(place, (type(part), label))
                if kind is not type(part):
                    words = ("a whole number", "text") if kind is str else ("text", "a whole number")
                    if type(label) is tuple:
                        words = (f"has {words[0]} in part {place}", words[1])
                        return label, f"{words[0]}, but {shown(other)} has {words[1]}: write all labels in one way"
                    return label, (
                        f"is {words[0]}, but {shown(other)} is {words[1]}: write all labels of a source in one way"
                    )
    return None


def select_rows(columns: ComparisonFields, rows: ArrayLike) -> ComparisonFields:
    """Return some rows, by a mask or by indices."""
    index, n_rows = np.asarray(rows), columns.left.size
    if index.shape == (0,) and index.dtype.kind == "f":  # an empty list
        index = index.astype(np.intp)
    if index.ndim != 1 or index.dtype.kind not in "biu":
        raise ComparisonError(f"select takes a mask or indices; got {index.dtype} of shape {index.shape}")
    if index.dtype.kind == "b" and index.size != n_rows:
        raise ComparisonError(f"a mask needs {n_rows} entries, one for each comparison; got {index.size}")
    if index.dtype.kind != "b" and (wrong := index[(index < 0) | (index >= n_rows)]).size:
        raise ComparisonError(f"{_indices(n_rows, 'comparison')}; got {wrong[0]}")
    parts = {name: getattr(columns, name)[index] for name in ("left", "right", "winner")}
    voter = None if columns.voter is None else columns.voter[index]
    return columns._replace(**parts, voter=voter, n_unanswered=0, unanswered=None)


def joined_columns(first: ComparisonFields, then: ComparisonFields) -> ComparisonFields:
    """Join the rows of both, which have the same items."""
    if not same_labels(first.items, then.items):
        raise ComparisonError(_difference(first.items, then.items))
    if (first.voter is None) != (then.voter is None):
        place = "second" if then.voter is None else "first"
        raise ComparisonError(f"name voters in both sets of votes, or in neither; the {place} has none")
    voters, voter, silent = first.voters, None, then.unanswered
    if first.voter is not None and then.voter is not None and voters is not None and then.voters is not None:
        voters = all_names([voters, then.voters], None, "voters")
        places = places_among(then.voters, voters, "voter", "other")
        voter = np.concatenate([first.voter, places[then.voter]])
        silent = None if silent is None else silent.renumber(voters=places)
    if first.unanswered is not None:
        silent = first.unanswered if silent is None else first.unanswered.followed_by(silent)
    names, both = ("left", "right", "winner"), (first, then)
    left, right, winner = (np.concatenate([getattr(part, name) for part in both]) for name in names)
    n_unanswered = first.n_unanswered + then.n_unanswered
    return ComparisonFields(first.items, left, right, winner, voters, voter, n_unanswered, silent)


def checked_indices(column: str, values: object, kind: str, n_names: int) -> NDArray[np.int32]:
    """Copy and check a column of indices into names."""
    array = _whole_numbers(column, values)
    wrong = np.flatnonzero((array < 0) | (array >= n_names))
    if wrong.size:
        raise ComparisonError(f"{column}[{wrong[0]}] is {array[wrong[0]]}; {_indices(n_names, kind)}")
    return array.astype(np.int32)


def checked_codes(values: object) -> NDArray[np.int8]:
    """Copy and check a column of winners, all of them answered."""
    array = _whole_numbers("winner", values)
    wrong = np.flatnonzero((array < RIGHT) | (array > LEFT))
    if wrong.size:
        code = array[wrong[0]]
        hint = "; an unanswered comparison is counted, not kept" if code == UNANSWERED else ""
        raise VoteError(f"winner[{wrong[0]}] is {code}; it must be 1 (left), 0 (tie) or -1 (right){hint}")
    return array.astype(np.int8)


def _indices(n_things: int, kind: str) -> str:
    """Describe the valid indices, for messages."""
    if n_things < 2:
        return f"the only {kind} has the index 0" if n_things else f"there are no {kind}s"
    return f"the {n_things} {kind}s have the indices from 0 to {n_things - 1}"


def _whole_numbers(column: str, values: object) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise ComparisonError(f"{column} must be a list of whole numbers; got {shown(values)}") from error
    if is_masked(values):
        raise ComparisonError(f"{column} has masked entries: leave these comparisons out")
    if array.ndim == 1 and array.size == 0 and array.dtype.kind == "f":  # an empty list
        return array.astype(np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ComparisonError(
            f"{column} must be whole numbers in one dimension; got {array.dtype} of shape {array.shape}"
        )
    return array


def same_labels(names: Sequence[Hashable], others: Sequence[Hashable]) -> bool:
    """Tell whether two lists of labels are equal, entry by entry: 7 and "7" are, and one may be a range."""
    if names is others:
        return True
    if len(names) != len(others):
        return False
    return tuple(names) == tuple(others) or list(map(identifier_text, names)) == list(map(identifier_text, others))


def all_names(columns: Sequence[Sequence[Hashable]], known: Items | None, role: str) -> Sequence[Hashable]:
    """Return the names given, or all that occur, in the order of first appearance."""
    if known is not None:
        return checked_labels(known, role, ComparisonError)
    first = columns[0] if columns else ()
    if set(first).issuperset(chain.from_iterable(columns[1:])):
        return first
    by_text: dict[Any, Hashable] = {}
    for name in chain.from_iterable(columns):
        by_text.setdefault(identifier_text(name), name)
    return tuple(by_text.values())


def places_among(names: Sequence[Hashable], among: Sequence[Hashable], kind: str, where: str) -> NDArray[np.int32]:
    """Return the index of each name among others; the message about an unknown name begins with `where`."""
    if names is among:
        return np.arange(len(among), dtype=np.int32)
    _, (places,) = coded_labels({where: list(names)}, among, kind, lambda column, _: column)
    return places


def _difference(items: Sequence[Hashable], others: Sequence[Hashable]) -> str:
    start = "comparisons are joined if their items are the same, in the same order"
    if len(items) != len(others):
        return f"{start}; got {len(items)} and {len(others)} items"
    pairs = enumerate(zip(map(identifier_text, items), map(identifier_text, others), strict=True))
    place = next(place for place, pair in pairs if pair[0] != pair[1])
    return f"{start}; items[{place}] is {shown(items[place])} here and {shown(others[place])} there"


def _refuse(
    columns: Mapping[str, Sequence[Any]], is_wrong: Callable[[Any], bool], message: str, where: Where
) -> NoReturn:
    """Raise an error about the first wrong label, row by row; the caller knows that there is one."""
    rows = enumerate(zip(*columns.values(), strict=True))
    cells = ((row, cell) for row, labels in rows for cell in zip(columns, labels, strict=True))
    row, (column, label) = next(cell for cell in cells if is_wrong(cell[1][1]))
    raise ComparisonError(f"{where(column, row)}: {shown(label)} {message}")


def columns_of_labels(
    left: Iterable[Hashable],
    right: Iterable[Hashable],
    winner: Iterable[Any],
    *,
    voter: Iterable[Hashable] | None,
    items: Items | None,
    voters: Items | None,
    answers: Answers | None,
) -> ComparisonFields:
    """Number the labels of `Comparisons.from_labels`."""
    sides = {"left": listed_column(left, "left"), "right": listed_column(right, "right")}
    words = {**OWN_WORDS, **words_of(answers)}
    answers_read = read_answers(listed_column(winner, "winner"), words, lambda row: in_arrays("winner", row))
    if voter is None and voters is not None:
        raise ComparisonError("voters= needs voter=, which says who answered each comparison")
    return _number_labels(
        sides, answers_read, None if voter is None else listed_column(voter, "voter"), items, voters, in_arrays
    )


def columns_of_votes(votes: VoteColumns, items: Items | None) -> ComparisonFields:
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
    sides = {"left": votes.left or (), "right": votes.right or ()}
    voter = votes.voter
    return _number_labels(sides, votes.answer, voter, items, None, votes.place, votes.counts())


def columns_of_ballots(
    ballots: Iterable[tuple[Asked, ArrayLike]], items: Items | None, voters: Items | None
) -> ComparisonFields:
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
    return _split_answers(ComparisonFields(all_items, left, right, winner, all_voters, voter))


def columns_of_pairs(pairs: ArrayLike, n_items: int) -> ComparisonFields:
    """Put winners on the left and losers on the right, as `Comparisons.from_pairs` does."""
    try:
        array = np.asarray(pairs)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise ComparisonError(f"pairs must be a list of pairs (winner, loser); got {shown(pairs)}") from error
    if is_masked(pairs):
        raise ComparisonError("pairs have masked entries: leave these comparisons out")
    if array.size == 0:
        array = np.empty((0, 2), np.int32)
    if array.ndim != 2 or array.shape[1] != 2:
        raise ComparisonError(f"pairs must be of shape (n_comparisons, 2); got {array.shape}")
    items = checked_labels(n_items, "items", ComparisonError)
    return ComparisonFields(items, array[:, 0], array[:, 1], np.full(len(array), LEFT, np.int8), None, None)


def _number_labels(
    sides: Mapping[str, Sequence[Any]],
    answers: Sequence[str | None],
    voter: Sequence[Any] | None,
    items: Items | None,
    voters: Items | None,
    where: Where,
    counts: NDArray[np.int64] | None = None,
) -> ComparisonFields:
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
    if isinstance(answers, CodedColumn):
        winner = np.array([_CODES[answer] for answer in answers.values], np.int8)[answers.codes]
    else:
        winner = np.fromiter(map(_CODES.__getitem__, answers), np.int8, len(answers))
    for names, noun in ((all_items, "item"), (all_voters or (), "voter")):
        if not isinstance(names, range):
            columns_of_names = sides if noun == "item" else {"voter": voter or ()}
            check_decimals(names, noun, ComparisonError, partial(_place_of_name, columns_of_names, where))
            warn_unicode_twins(names, noun, stacklevel=6)
    columns = ComparisonFields(all_items, left, right, winner, all_voters, casts)
    if counts is not None:
        columns = select_rows(columns, np.repeat(np.arange(counts.size), counts))
    return _split_answers(columns)


def _place_of_name(columns: Mapping[str, Sequence[Any]], where: Where, text: str) -> str:
    """Describe where a name first occurs in columns, for messages; nothing if it does not."""
    places = ((name, row) for name, labels in columns.items() for row, label in enumerate(labels) if str(label) == text)
    return next((where(*place) for place in places), "")


def _split_answers(columns: ComparisonFields) -> ComparisonFields:
    """Separate answered from unanswered comparisons."""
    is_answered = columns.winner != UNANSWERED
    if is_answered.all():
        return columns
    silent = select_rows(columns, ~is_answered)
    shown_pairs = ShownPairs(silent.left, silent.right, silent.voter)
    return select_rows(columns, is_answered)._replace(n_unanswered=len(shown_pairs), unanswered=shown_pairs)


def _check_ids(votes: VoteColumns) -> None:
    """Refuse a repeated comparison id, because its vote would count twice."""
    if isinstance(votes.comparison, CodedColumn) and len(votes.comparison.values) == len(votes.comparison):
        return
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
