"""Input lists of the measures: a ranking, scores, or only the labels from best to worst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any, TypeAlias

import numpy as np

from rankcorr.checks import real_text, shown
from rankcorr.errors import NonNumericError
from rankcorr.ranking import Ranking, RankingLike, as_ranking

ListLike: TypeAlias = RankingLike | Sequence[Any]


def as_list(given: ListLike) -> Ranking:
    """Read a list of words or of tuples of words as an order, best first, and anything else as `as_ranking` does.

    Raises
    ------
    NonNumericError
        All words read as numbers: they may be labels, or scores that have not been converted.

    Examples
    --------
    >>> as_list(["queen", ["king", "knave"]])
    <Ranking of 3 items, 2 tied: 'queen' 1, 'king' 2.5, 'knave' 2.5>
    """
    entries = given.tolist() if isinstance(given, np.ndarray) and given.dtype.kind == "U" else given
    if not isinstance(entries, list | tuple) or not entries:
        return as_ranking(given)
    words = [word for entry in entries for word in _words(entry)]
    if None in words:
        return as_ranking(given)
    if all(real_text(word) for word in words if word is not None):
        raise NonNumericError(
            f"{shown(given)} may hold labels or scores: write Ranking.from_order(...) for labels, best first, or "
            "convert the text to numbers"
        )
    return Ranking.from_order(entries)


def _words(entry: object) -> Iterator[str | None]:
    """Words of a label or of a group of labels; None for anything that is neither."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, tuple | list | Set) and entry:
        for part in entry:
            yield from _words(part)
    else:
        yield None
