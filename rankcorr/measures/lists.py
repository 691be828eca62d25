"""Input lists of the measures: a ranking, scores, or only the labels from best to worst; and checked raw scores."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import offending, real_text, shown
from rankcorr.errors import MissingValueError, NonNumericError, OptionError, RankingError
from rankcorr.ranking import Ranking, RankingLike, as_ranking
from rankcorr.results import read_only
from rankcorr.scores import ScoresLike, split_labels

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


@dataclass(frozen=True, eq=False, slots=True)
class Scores:
    """Finite scores, shape (n_items,), and the ranking of the same items, which holds their labels."""

    values: NDArray[np.float64]
    ranking: Ranking

    def of(self, ranking: Ranking) -> NDArray[np.float64]:
        """Scores in the item order of a ranking of some of the items."""
        if self.ranking.labels is None or ranking.labels is None or ranking.labels == self.ranking.labels:
            return self.values
        place = {label: position for position, label in enumerate(self.ranking.labels)}
        return self.values[[place[label] for label in ranking.labels]]


def read_scores(scores: ScoresLike, name: str) -> Scores:
    """Check scores as `Ranking.from_scores` does, and that they are finite; errors begin with `name`."""
    if isinstance(scores, Ranking):
        raise OptionError(f"{name}: scores are needed; a Ranking keeps only their order")
    try:
        ranking = Ranking.from_scores(scores)
    except RankingError as error:
        raise type(error)(f"{name}: {error}") from error
    numbers = split_labels(scores, "score")[1]
    values = np.array([as_float(number) for number in np.asarray(numbers).tolist()])
    if not np.isfinite(values).all():
        places = np.flatnonzero(~np.isfinite(values)).tolist()
        which: list[Hashable] = [ranking.labels[place] if ranking.labels else place for place in places]
        raise MissingValueError(offending(f"{name}: every score must be finite; not finite", which))
    return Scores(read_only(values), ranking)


def scaled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale values by a power of two, which is exact, so that no difference and no square overflows or vanishes."""
    found: NDArray[np.float64] = np.ldexp(values, -1 - np.frexp(np.abs(values).max())[1])
    return found


def as_float(number: Any) -> float:
    """Return a number of any kind as a float, infinite if it is too large."""
    if isinstance(number, Decimal) and number.is_nan():  # float() refuses a signaling nan
        return np.nan
    try:
        return float(number)
    except OverflowError:  # an integer or fraction beyond the largest float
        return np.inf
