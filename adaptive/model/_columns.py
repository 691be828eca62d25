"""Handle columns of votes as small whole numbers: number labels, check numbers, select, join and count rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, count, repeat
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._formats.records import is_missing
from adaptive._protocol import Items, checked_labels
from adaptive._scores import Counts, Tally, count_votes
from adaptive._votes import LEFT, RIGHT, UNANSWERED, Vote
from adaptive.errors import ComparisonError, VoteError
from rankcorr._checks import is_unhashable, shown, whole_number
from rankcorr._input.identifiers import identifier_text, plain_identifier
from rankcorr._results import Result, TableResult, read_only

Indices = NDArray[np.int32]


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


Where: TypeAlias = Callable[[str, int], str]
"""Place of a cell for messages, by column and row: "left[3]", or file, line and column."""

_UNKNOWN: Final = -1


class Columns(NamedTuple):
    """The fields of `adaptive.model._comparisons.Comparisons`, in their order."""

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
    columns: Mapping[str, list[Any]], names: Sequence[Hashable] | None, kind: str, where: Where
) -> tuple[Sequence[Hashable], list[NDArray[np.int32]]]:
    """Number the labels in columns of one length, one hash of each label and no sorting.

    Parameters
    ----------
    columns : mapping of str to list
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
    n_labels = sum(map(len, columns.values()))
    row_by_row: list[Any] = [None] * n_labels
    for place, column in enumerate(columns.values()):
        row_by_row[place :: len(columns)] = column  # takes two thirds of the time of a zip
    row_by_row = plain_labels(row_by_row)
    try:
        kinds = set(map(type, row_by_row))
        # 1, 1.0 and True are one key of a dict.
        if int in kinds and kinds - {int, str, tuple} and any(map(_is_no_name, row_by_row)):
            _refuse(
                columns,
                _is_no_name,
                "is not written as a whole number, as others are: write all labels in one way",
                where,
            )
        if {int, tuple} & kinds and (odd := other_kind(tuple(dict.fromkeys(row_by_row)))):
            _refuse(columns, lambda label: plain_identifier(label) == odd[0], odd[1], where)
        if names is None:
            index: dict[Hashable, int] = defaultdict(count().__next__)  # numbers a label at its first lookup
            codes = np.fromiter(map(index.__getitem__, row_by_row), np.int32, n_labels)
            names = tuple(index)
            if any(map(is_missing, names)):
                _refuse(columns, is_missing, f"is missing; every comparison needs its {kind} by label", where)
        else:
            index = dict(zip(names, range(len(names)), strict=True))
            codes = np.fromiter(map(index.get, row_by_row, repeat(_UNKNOWN)), np.int32, n_labels)
            unknown = np.flatnonzero(codes < 0).tolist()
            if unknown and {type(names[0]), *map(type, row_by_row)} & {int, tuple}:
                by_text = {identifier_text(name): place for place, name in enumerate(names)}
                codes[unknown] = [by_text.get(identifier_text(row_by_row[row]), _UNKNOWN) for row in unknown]
    except TypeError:
        _refuse(columns, is_unhashable, "is no label: labels are hashable, as strings and tuples are", where)
    if (codes < 0).any():
        among = f"one of the {len(names)} {kind}s" if len(names) != 1 else f"{shown(names[0])}, the only {kind}"
        known = {*index, *map(identifier_text, index)}
        _refuse(columns, lambda label: not {label, identifier_text(label)} & known, f"is not {among}", where)
    by_column = codes.reshape(-1, len(columns)).T
    return names, [np.ascontiguousarray(column) for column in by_column]


def _is_no_name(label: Any) -> bool:
    return isinstance(label, bool | np.bool_ | float) and not is_missing(label)


def plain_labels(labels: list[Any]) -> list[Any]:
    """Return labels with Python's types in the place of numpy's."""
    if set(map(type, labels)) <= {str, int}:
        return labels
    return [plain_identifier(label) for label in labels]


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


def select_rows(columns: Columns, rows: ArrayLike) -> Columns:
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


def joined_columns(first: Columns, then: Columns) -> Columns:
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
    return Columns(first.items, left, right, winner, voters, voter, first.n_unanswered + then.n_unanswered, silent)


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


def _refuse(columns: Mapping[str, list[Any]], is_wrong: Callable[[Any], bool], message: str, where: Where) -> NoReturn:
    """Raise an error about the first wrong label, row by row; the caller knows that there is one."""
    rows = enumerate(zip(*columns.values(), strict=True))
    cells = ((row, cell) for row, labels in rows for cell in zip(columns, labels, strict=True))
    row, (column, label) = next(cell for cell in cells if is_wrong(cell[1][1]))
    raise ComparisonError(f"{where(column, row)}: {shown(label)} {message}")


@dataclass(frozen=True, eq=False, repr=False)
class CountedVotes(TableResult):
    """The columns of `adaptive.model._comparisons.Comparisons`, which explains them, and their counts."""

    _caption: ClassVar[str] = "Counted votes"

    items: Sequence[Hashable]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    winner: NDArray[np.int8]
    voters: Sequence[Hashable] | None = None
    voter: NDArray[np.int32] | None = None
    n_unanswered: int = 0
    unanswered: ShownPairs | None = None

    def __post_init__(self) -> None:
        items = checked_labels(self.items, "items", ComparisonError)
        left, right = (checked_indices(name, getattr(self, name), "item", len(items)) for name in ("left", "right"))
        winner = checked_codes(self.winner)
        columns: dict[str, NDArray[Any]] = {"left": left, "right": right, "winner": winner}
        if (self.voters is None) != (self.voter is None):
            raise ComparisonError(
                "voters are known by name and by comparison, or not at all; got "
                + ("voter without voters" if self.voters is None else "voters without voter")
            )
        if self.voters is not None and self.voter is not None:
            object.__setattr__(self, "voters", checked_labels(self.voters, "voters", ComparisonError))
            columns["voter"] = checked_indices("voter", self.voter, "voter", len(self.voters))
        check_lengths(columns)
        if (selfsame := np.flatnonzero(left == right)).size:
            item = items[int(left[selfsame[0]])]
            raise ComparisonError(f"comparison {selfsame[0]}: item {shown(item)} is compared with itself")
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "n_unanswered", self._checked_unanswered())
        for name, column in columns.items():
            object.__setattr__(self, name, read_only(column))

    def _checked_unanswered(self) -> int:
        """Check the comparisons without an answer, and return their number."""
        number, pairs = whole_number(self.n_unanswered), self.unanswered
        if number is None or number < 0:
            raise ComparisonError(f"n_unanswered must be a whole number, not negative; got {shown(self.n_unanswered)}")
        if pairs is None:
            return number
        if not isinstance(pairs, ShownPairs) or (pairs.voter is None) != (self.voter is None):
            requirement = "without voters" if self.voter is None else "with voters"
            raise ComparisonError(
                f"unanswered must be ShownPairs {requirement}, as the comparisons are; got {shown(pairs)}"
            )
        columns = {"unanswered.left": pairs.left, "unanswered.right": pairs.right}
        for name, column in columns.items():
            checked_indices(name, column, "item", len(self.items))
        if pairs.voter is not None and self.voters is not None:
            columns["unanswered.voter"] = checked_indices("unanswered.voter", pairs.voter, "voter", len(self.voters))
        check_lengths(columns)
        if len(pairs) > number:
            raise ComparisonError(f"n_unanswered is {number}, less than the {len(pairs)} rows of unanswered")
        return number

    @cached_property
    def shown_pairs(self) -> ShownPairs:
        """All known pairs that were shown: those answered, then those of `unanswered`."""
        answered = ShownPairs(self.left, self.right, self.voter)
        return answered if self.unanswered is None else answered.followed_by(self.unanswered)

    @property
    def n_items(self) -> int:
        """Number of items, including those never compared."""
        return len(self.items)

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons, all of them answered."""
        return self.left.size

    @property
    def n_voters(self) -> int:
        """Number of voters, including those without a comparison; 0 if voters are not known."""
        return 0 if self.voters is None else len(self.voters)

    @cached_property
    def n_ties(self) -> int:
        """Number of comparisons that ended in a tie."""
        return int(np.count_nonzero(self.winner == Vote.TIE))

    @cached_property
    def tally(self) -> Tally:
        """Wins, ties and losses of each item."""
        return count_votes(self.left, self.right, self.winner, self.n_items)

    @property
    def wins(self) -> Counts:
        """Comparisons that each item won, shape (n_items,), read-only."""
        return self.tally.wins

    @property
    def ties(self) -> Counts:
        """Comparisons that each item tied, shape (n_items,), read-only."""
        return self.tally.ties

    @property
    def losses(self) -> Counts:
        """Comparisons that each item lost, shape (n_items,), read-only."""
        return self.tally.losses

    @cached_property
    def presentations(self) -> Counts:
        """Comparisons of each item, shape (n_items,), read-only: wins, ties and losses together."""
        return read_only(self.tally.answered)

    @cached_property
    def part(self) -> NDArray[np.int32]:
        """Part of the graph of comparisons for each item, counted from 0; shape (n_items,), read-only.

        Two items are in one part if comparisons join them, directly or through others. An item that was never compared
        is a separate part.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        size = (self.n_items, self.n_items)
        graph = coo_array((np.ones(self.n_comparisons, np.int8), (self.left, self.right)), size)
        part: NDArray[np.int32] = connected_components(graph, directed=False)[1].astype(np.int32)
        return read_only(part)

    @property
    def parts(self) -> int:
        """Number of parts of the graph of comparisons, including items never compared; 1 if all items are joined."""
        return int(self.part.max(initial=-1)) + 1

    @cached_property
    def never_compared(self) -> tuple[Hashable, ...]:
        """Labels of the items without any answered comparison."""
        return tuple(self.items[place] for place in np.flatnonzero(self.presentations == 0).tolist())
