"""Raw scores with their labels, for the measures that need more than ranks."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankcorr.checks import offending
from rankcorr.errors import MissingValueError, OptionError, RankingError
from rankcorr.ranking import Ranking
from rankcorr.scores import ScoresLike, split_labels


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
    values = np.array([_as_float(number) for number in np.asarray(numbers).tolist()])
    if not np.isfinite(values).all():
        places = np.flatnonzero(~np.isfinite(values)).tolist()
        which: list[Hashable] = [ranking.labels[place] if ranking.labels else place for place in places]
        raise MissingValueError(offending(f"{name}: every score must be finite; not finite", which))
    values.flags.writeable = False
    return Scores(values, ranking)


def _as_float(number: object) -> float:
    try:
        return float(number)  # type: ignore[arg-type]
    except OverflowError:  # an integer or fraction beyond the largest float
        return np.inf
