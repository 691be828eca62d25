"""Define which probes a campaign asks, and how often; read pairs with known answers from a file."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from adaptive.errors import TableError
from adaptive.formats.votes import VoteFile, VoteRow, read_votes
from adaptive.ledger.errors import LedgerError
from adaptive.ledger.store.encoding import label_text, value_of
from rankcorr.checks import real_number, shown, whole_number

Kind = Literal["practice", "attention", "gold"]
Expected = Literal["left", "right", "tie"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
MOST: Final = 0.5  # share of a sheet; more could not be repeated with other pairs in between


@dataclass(frozen=True)
class KnownPair:
    """A pair whose answer is known.

    Attributes
    ----------
    kind : {"practice", "attention", "gold"}
    left, right : hashable
        Labels of items of the campaign; when the pair is shown, the sides are drawn.
    expected : {"left", "right", "tie"}
    """

    kind: Kind
    left: Hashable
    right: Hashable
    expected: Expected

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise LedgerError(f"a known pair is for 'practice', 'attention' or 'gold'; got {shown(self.kind)}")
        if self.expected not in get_args(Expected):
            raise LedgerError(f"the expected answer is 'left', 'right' or 'tie'; got {shown(self.expected)}")
        if self.left == self.right:
            raise LedgerError(f"{shown(self.left)} is compared with itself")

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        labels = {side: value_of(label_text(getattr(self, side))) for side in ("left", "right")}
        return {"kind": self.kind, **labels, "expected": self.expected}


@dataclass(frozen=True)
class Probing:
    """The probes that a campaign asks.

    Attributes
    ----------
    known : tuple of KnownPair
        Practice pairs begin the first sheet of each slot. Attention checks and gold pairs are dealt to the sheets; each
        slot first gets those that it has seen least often.
    known_per_sheet : int
        Number of attention checks and gold pairs on a sheet; fewer if too few of them are absent from the slot's own
        comparisons.
    repeats : float
        Share of a sheet's comparisons that are asked again, later and with the sides swapped; at most 0.5. A sheet of
        one or two comparisons has none.
    overlap : float
        Comparisons of other voters that are asked too, as a share of those of the sheet; at most 0.5.

    Raises
    ------
    LedgerError
        If a number is out of range, or a pair is repeated.
    """

    known: tuple[KnownPair, ...] = ()
    known_per_sheet: int = 1
    repeats: float = 0.0
    overlap: float = 0.0

    def __post_init__(self) -> None:
        number = whole_number(self.known_per_sheet)
        if number is None or number < 0:
            raise LedgerError(f"known_per_sheet must be a whole number from 0 on; got {shown(self.known_per_sheet)}")
        for name in ("repeats", "overlap"):
            if not 0 <= real_number(getattr(self, name)) <= MOST:
                raise LedgerError(f"{name} must be a share from 0 to {MOST}; got {shown(getattr(self, name))}")
        pairs: set[frozenset[Hashable]] = set()
        for each in self.known:
            pair = frozenset([each.left, each.right])
            if pair in pairs:
                raise LedgerError(f"the pair {shown(each.left)}, {shown(each.right)} is a probe twice")
            pairs.add(pair)

    def check_items(self, labels: Collection[Hashable]) -> None:
        """Refuse pairs of items that the campaign does not have.

        Raises
        ------
        LedgerError
        """
        items = set(labels)
        for each in self.known:
            for label in (each.left, each.right):
                if label not in items:
                    raise LedgerError(f"{shown(label)} of a probe is no item of the campaign")

    def of_kind(self, *kinds: Kind) -> tuple[int, ...]:
        """Return the indices of the known pairs of these kinds."""
        return tuple(index for index, each in enumerate(self.known) if each.kind in kinds)

    def expected_number(self, sheets: Iterable[tuple[int, bool]]) -> float:
        """Return the average number of probes, at most: there are fewer if a slot is asked the pair anyway.

        Parameters
        ----------
        sheets : iterable of (int, bool)
            Comparisons of each sheet, and whether it is the first of its slot.

        Examples
        --------
        >>> Probing(repeats=0.1, overlap=0.25).expected_number([(20, True), (2, False)])
        7.5
        """
        dealt = min(self.known_per_sheet, len(self.of_kind("attention", "gold")))
        practice = len(self.of_kind("practice"))
        numbers = [
            dealt + practice * is_first + self.overlap * size + min(self.repeats * size, n_repeatable(size))
            for size, is_first in sheets
        ]
        return math.fsum(numbers)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**fields, "known": [each.to_dict() for each in self.known]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Probing:
        """Return the probing that `to_dict` wrote."""
        known = tuple(
            KnownPair(**{**each, "left": _label(each["left"]), "right": _label(each["right"])})
            for each in data["known"]
        )
        return cls(**{**data, "known": known})


def n_repeatable(size: int) -> int:
    """Return how many comparisons of a sheet can be repeated before its last, (size - 1) // 2 others in between."""
    return max(0, size - 1 - (size - 1) // 2) if size > 2 else 0


def _label(value: Any) -> Hashable:
    return tuple(value) if isinstance(value, list) else value


def read_known_pairs(
    path: str | os.PathLike[str], items: Collection[Hashable], *, data: bytes | None = None
) -> tuple[KnownPair, ...]:
    r"""Read pairs whose answer is known from a CSV or TSV file in UTF-8.

    Its columns are left and right (or left_1, left_2, ...), winner (the expected answer: left, right or tie) and kind
    (practice, attention or gold). Other columns are ignored.

    Parameters
    ----------
    path : str or path-like
    items : collection of hashable
        Labels of the campaign.
    data : bytes, optional
        Contents of the file if it was already read; `path` is then its name.

    Raises
    ------
    TableError
        If a column is missing, an item is not in the campaign, a pair is repeated or is a single item, an answer is
        missing, or a kind is unknown; the message gives file and line. Also if the file cannot be read.
    VoteError
        If the winner is unknown; the message gives file and line.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "probes.csv")
    ...     _ = file.write_text("left,right,winner,kind\napple,stone,left,attention\n")
    ...     read_known_pairs(file, ["apple", "pear", "stone"])
    (KnownPair(kind='attention', left='apple', right='stone', expected='left'),)
    """
    file = read_votes(path, format="csv", data=data).file()
    known, lines = set(items), dict[frozenset[Hashable], int]()
    found = []
    for row in file.rows:
        pair = _pair(file, row)
        for label in (pair.left, pair.right):
            if label not in known:
                raise TableError(f"{file.name}:{row.line}: {shown(label)} is no item of the campaign")
        both = frozenset([pair.left, pair.right])
        if both in lines:
            raise TableError(f"{file.name}:{row.line}: this pair is also on line {lines[both]}")
        lines[both] = row.line
        found.append(pair)
    return tuple(found)


def _pair(file: VoteFile, row: VoteRow) -> KnownPair:
    kind = dict(row.extra).get("kind", "")
    if kind not in KINDS:
        raise TableError(
            f'{file.name}:{row.line}: column "kind": practice, attention or gold is wanted; got {shown(kind)}'
        )
    if row.answer is None:
        raise TableError(f'{file.name}:{row.line}: column "winner": the expected answer is wanted: left, right or tie')
    try:
        return KnownPair(kind, row.left, row.right, row.answer)  # type: ignore[arg-type]
    except LedgerError as error:
        raise TableError(f"{file.name}:{row.line}: {error}") from None
