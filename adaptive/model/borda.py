"""The share of its comparisons that each item won: the score of the paper, over any comparisons."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adaptive.errors import ComparisonError
from adaptive.model.comparisons import Comparisons
from adaptive.record import json_label, places_best_first
from adaptive.scores import Scores, Tally
from rankcorr import Ranking
from rankcorr.checks import shown
from rankcorr.results import TableResult, json_ready

__all__ = ["BordaScores", "borda"]


@dataclass(frozen=True, eq=False, repr=False)
class BordaScores(TableResult):
    """Borda scores of all items.

    The table has one row for each item, best first, and the columns item, rank, score, presentations, wins, ties and
    losses. Items that tie are in the order of their labels.

    Attributes
    ----------
    items : sequence of hashable
        In the order of the comparisons' items.
    scores : ndarray of float64, shape (n_items,), read-only
        Between 0 and 1; nan for items never compared.
    tally : Tally
        Wins, ties and losses of each item.
    """

    items: Sequence[Hashable]
    scores: Scores
    tally: Tally

    @property
    def n_items(self) -> int:
        """Number of items, those never compared included."""
        return len(self.items)

    @cached_property
    def ranking(self) -> Ranking:
        """All items by their scores, labelled; those never compared are last, tied with each other.

        Raises
        ------
        TooFewItemsError
            There are fewer than two items.
        """
        return Ranking.from_scores(np.where(np.isnan(self.scores), -np.inf, self.scores), labels=self.items)

    @cached_property
    def never_compared(self) -> tuple[Hashable, ...]:
        """Labels of the items without any comparison."""
        return tuple(self.items[place] for place in np.flatnonzero(np.isnan(self.scores)).tolist())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, items best first, ready for JSON: None for nan.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.
        """
        columns = self._columns()
        columns["item"] = [json_label(item) for item in columns["item"]]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {"items": json_ready(rows), "never_compared": [json_label(item) for item in self.never_compared]}

    def _columns(self) -> dict[str, Sequence[Any]]:
        ranks = self.ranking.ranks
        best_first = places_best_first(self.items, ranks)
        return {
            "item": [self.items[place] for place in best_first.tolist()],
            "rank": ranks[best_first].tolist(),
            "score": self.scores[best_first].tolist(),
            "presentations": self.tally.answered[best_first].tolist(),
            "wins": self.tally.wins[best_first].tolist(),
            "ties": self.tally.ties[best_first].tolist(),
            "losses": self.tally.losses[best_first].tolist(),
        }

    def __repr__(self) -> str:
        never = f", {len(self.never_compared):,} never compared" if self.never_compared else ""
        return f"<BordaScores of {self.n_items:,} items{never}>"


def borda(comparisons: Comparisons) -> BordaScores:
    """Score each item by x = (wins + ties / 2) / presentations answered (Eq. 1).

    A win over a weak item counts as much as one over a strong item. Where some items meet stronger ones than others
    do, as in the later ballots of an adaptive plan, that is unfair to them; within a first ballot it is not.

    Parameters
    ----------
    comparisons : Comparisons

    Returns
    -------
    BordaScores

    Raises
    ------
    ComparisonError
        Anything but `Comparisons`.

    Examples
    --------
    >>> votes = Comparisons.from_labels(["fig", "fig", "pear"], ["pear", "plum", "plum"], ["left", "left", "tie"],
    ...                                 items=["fig", "kiwi", "pear", "plum"])
    >>> scores = borda(votes)
    >>> scores.scores, scores.never_compared
    (array([1.  ,  nan, 0.25, 0.25]), ('kiwi',))
    >>> scores.ranking
    <Ranking of 4 items, 2 tied: 'fig' 1, 'pear' 2.5, 'plum' 2.5, 'kiwi' 4>
    """
    if not isinstance(comparisons, Comparisons):
        raise ComparisonError(f"borda takes Comparisons; got {shown(comparisons)}")
    tally = comparisons.tally
    scores = np.full(comparisons.n_items, np.nan)
    np.divide(tally.wins + tally.ties / 2, tally.answered, out=scores, where=tally.answered > 0)
    scores.flags.writeable = False
    return BordaScores(comparisons.items, scores, tally)
