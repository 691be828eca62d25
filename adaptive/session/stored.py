"""A ballot as version 2 of the JSON has it: rows that are read and checked, never drawn again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from adaptive.draw import Ballot
from adaptive.errors import ProtocolError
from adaptive.protocol import Standing
from adaptive.selection import Select, select_again
from adaptive.votes import LEFT, RIGHT, TIE, UNANSWERED
from rankcorr.checks import shown

__all__ = ["answers_of", "ballot_of", "selection_of"]

_CODES: Final[dict[str | None, int]] = {None: UNANSWERED, "left": LEFT, "right": RIGHT, "tie": TIE}


def ballot_of(
    entry: dict[str, Any],
    standing: Standing,
    items: Sequence[Any],
    voters: Sequence[Any],
    *,
    presentations: int,
    n_comparisons: int,
) -> Ballot:
    """Make the ballot of an entry.

    Raises
    ------
    ProtocolError
        When its items are not those selected before, or a row is not one of a ballot of these items and voters.
    """
    number = entry["number"]
    if entry["places"] != standing.places.tolist():
        before = f"selected in ballot {number - 1}" if number > 1 else "of the protocol"
        raise ProtocolError(f"ballot {number}: its items, places, are not those {before}")
    index = np.full(len(items), -1, np.int64)
    index[standing.places] = np.arange(standing.places.size)
    left, right = (_column(entry, side, index) for side in ("left", "right"))
    voter = _column(entry, "voter", np.arange(len(voters)))
    for name, column in (("left", left), ("right", right), ("voter", voter), ("votes", entry["votes"])):
        if len(column) != n_comparisons:
            raise ProtocolError(
                f"ballot {number}: {name} has {len(column)} entries; the plan has {n_comparisons} comparisons"
            )
    alike = np.flatnonzero(left == right)
    if alike.size:
        raise ProtocolError(f"ballot {number}: comparison '{number}-{alike[0]}' is of an item with itself")
    labels = standing.labels(items)
    names = labels if isinstance(labels, range) else tuple(labels)
    own = voters if isinstance(voters, range) else tuple(voters)
    return Ballot(names, presentations, own, *(column.astype(np.int32) for column in (left, right, voter)))


def answers_of(entry: dict[str, Any]) -> NDArray[np.int8]:
    """Answers of an entry.

    Raises
    ------
    ProtocolError
        When a vote is none of "left", "right", "tie" and null.
    """
    words = entry["votes"]
    wrong = next((place for place, word in enumerate(words) if not _is_word(word)), None)
    if wrong is not None:
        wanted = "must be 'left', 'right', 'tie' or null"
        raise ProtocolError(f"ballot {entry['number']}: votes[{wrong}] {wanted}; got {shown(words[wrong])}")
    return np.array([_CODES[word] for word in words], np.int8)


def selection_of(entry: dict[str, Any], standing: Standing) -> Select:
    """The selection that was written down; that of the last ballot, which selects nothing, is not asked.

    Raises
    ------
    ProtocolError
        When it is missing, or has items that are not of the ballot.
    """
    number, chosen = entry["number"], entry["selected"]
    if chosen is None or entry["n_tied_at_cut"] is None:
        raise ProtocolError(f"ballot {number} is closed: selected and n_tied_at_cut must say which items go on")
    index = {place: at for at, place in enumerate(standing.places.tolist())}
    for at, place in enumerate(chosen):
        if type(place) is not int or place not in index:
            raise ProtocolError(f"ballot {number}: selected[{at}] must be one of its places; got {shown(place)}")
    return select_again(np.array([index[place] for place in chosen], np.intp), entry["n_tied_at_cut"])


def _column(entry: dict[str, Any], name: str, index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Entries as indices into what the ballot has; `index` is -1 where it has not."""
    values = entry[name]
    for at, value in enumerate(values):
        if type(value) is not int or not 0 <= value < index.size or index[value] < 0:
            wanted = "a voter" if name == "voter" else "one of its places"
            raise ProtocolError(f"ballot {entry['number']}: {name}[{at}] must be {wanted}; got {shown(value)}")
    return index[np.array(values, np.int64)]


def _is_word(word: object) -> bool:
    return word is None or (isinstance(word, str) and word in _CODES)
