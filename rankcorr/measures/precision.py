"""Precision of a system's ranking against binary relevance, with ties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import Missing, align
from rankcorr.checks import checked_count, offending
from rankcorr.errors import OptionError, RankingError
from rankcorr.measures.lists import ListLike, as_list, read_scores
from rankcorr.scores import ScoresLike


class RelevanceError(RankingError):
    """Gold relevance that is not 0 or 1, or a gold standard without a relevant item."""


def average_precision(gold: ScoresLike, system: ListLike, *, missing: Missing = "raise") -> float:
    """Average precision of a system against binary relevance: the mean over the ways to break the system's ties.

    Without ties AP = 1/R sum_i P_i, where i runs over the places of the R relevant items, and P_i is the share of
    relevant items among the first i. For a tied group of t items, g of them relevant, that follows m items, r of them
    relevant, an item of the group is at its place k with probability 1/t, and then (k - 1)(g - 1)/(t - 1) of the g - 1
    other relevant items are expected above it. The group adds

        g/t sum_{k=1..t} [r + 1 + (k - 1)(g - 1)/(t - 1)] / (m + k).

    Parameters
    ----------
    gold : mapping of label to 0 or 1, or array_like of shape (n_items,)
        Relevance of each item: 0, 1, or a boolean.
    system : Ranking, mapping of label to score, list of labels, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. A list of text is labels, best first, as `Ranking.from_order` takes
        them. Labels are matched with those of gold.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that only one of the two has: raise an error or leave them out. "bottom" treats items
        without relevance as not relevant, and ties items that the system lacks below all that it has. "gold" leaves out
        items without relevance, and ties as "bottom" does.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    RankingError
        One of its subclasses: `RelevanceError` for relevance other than 0 and 1, or without a 1; `LabelMismatchError`,
        `LengthError`.

    References
    ----------
    F. McSherry and M. Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied
    Scores, ECIR 2008: the mean over the ways to break ties in closed form.

    Examples
    --------
    >>> average_precision({"a": 1, "b": 0, "c": 1}, {"a": 0.9, "b": 0.5, "c": 0.1})
    0.8333333333333333
    >>> average_precision({"a": 1, "b": 0, "c": 1}, ["a", "b", "c"])
    0.8333333333333333
    >>> average_precision([1, 0, 1], [0.9, 0.5, 0.5])
    0.9166666666666666
    """
    starts, sizes, relevant = _groups(gold, system, missing)
    before = np.cumsum(relevant) - relevant
    m, t, g, r = (np.repeat(values, sizes) for values in (starts, sizes, relevant, before))
    place = np.arange(1, m.size + 1)
    others = (place - m - 1) * (g - 1) / np.maximum(t - 1, 1)
    precision = g / t * (r + 1 + others) / place
    return min(1.0, float(precision.sum()) / float(relevant.sum()))


def precision_at(gold: ScoresLike, system: ListLike, k: int, *, missing: Missing = "raise") -> float:
    """Share of relevant items among the first k of a system: the mean over the ways to break the system's ties.

    Of a tied group of t items, g of them relevant, let j items be among the first k: g j/t relevant ones are expected
    there.

    Parameters
    ----------
    gold, system, missing
        As in `average_precision`.
    k : int
        From 1 to the number of items.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    RankingError
        As in `average_precision`; `OptionError` for another k.

    Examples
    --------
    >>> precision_at({"a": 1, "b": 0, "c": 1}, {"a": 0.9, "b": 0.5, "c": 0.5}, 2)
    0.75
    """
    number = checked_count(k, "k")
    starts, sizes, relevant = _groups(gold, system, missing)
    n_items = int(sizes.sum())
    if number > n_items:
        raise OptionError(f"k must be at most the number of items, {n_items}; got {number}")
    taken = np.clip(number - starts, 0, sizes)
    return float((relevant * taken / sizes).sum()) / number


def _groups(
    gold: ScoresLike, system: ListLike, missing: Missing
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]]:
    """Start, from 0, and size of each tied group of the system, and how many of its items are relevant."""
    known = read_scores(gold, "gold")
    wrong = np.flatnonzero((known.values != 0) & (known.values != 1)).tolist()
    if wrong:
        labels = known.ranking.labels
        raise RelevanceError(
            offending(
                f"the relevance of every item must be 0 or 1; got {known.values[wrong[0]]:g}; wrong at",
                [labels[item] for item in wrong] if labels else wrong,
            )
        )
    first, second = align(known.ranking, as_list(system), names=("gold", "system"), missing=missing)
    if first.labels is None or known.ranking.labels is None:
        relevance = known.values.astype(np.int64)
    else:
        values = dict(zip(known.ranking.labels, known.values.astype(np.int64).tolist(), strict=True))
        relevance = np.array([values.get(label, 0) for label in first.labels], np.int64)
    if not relevance.any():
        raise RelevanceError(f"gold must have a relevant item; none of its {first.n_items} items is")
    starts = np.flatnonzero(np.diff(second.ranks[second.best_first], prepend=0.0))  # ranks are at least 1
    sizes = np.diff(starts, append=second.n_items)
    return starts, sizes, np.add.reduceat(relevance[second.best_first], starts)
