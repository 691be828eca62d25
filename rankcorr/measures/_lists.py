"""Lists as measures take them (a ranking, scores, or labels from best to worst), and their average precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import offending, real_text, shown
from rankcorr._input.scores import ScoresLike, split_labels
from rankcorr._ranking import Missing, Ranking, RankingLike, align_rankings
from rankcorr.errors import NonNumericError, OptionError, RankingError

ListLike: TypeAlias = RankingLike | Sequence[Any]


class RelevanceError(RankingError):
    """Gold relevance that is not 0 or 1, or a gold standard without a relevant item.

    See Also
    --------
    average_precision : Raises it.

    Examples
    --------
    >>> from rankcorr.measures import average_precision
    >>> average_precision([2, 0, 1], [0.9, 0.5, 0.1])
    Traceback (most recent call last):
        ...
    rankcorr.measures._lists.RelevanceError: the relevance of every item must be 0 or 1; got 2; wrong at: 0
    """


def as_list(values: ListLike) -> Ranking:
    """Read a list of words or of tuples of words as an order, best first, and anything else as scores.

    Raises
    ------
    NonNumericError
        All words read as numbers: they may be labels, or scores that have not been converted.

    Examples
    --------
    >>> as_list(["queen", ["king", "knave"]])
    <Ranking of 3 items, 2 tied: 'queen' 1, 'king' 2.5, 'knave' 2.5>
    """
    if isinstance(values, Ranking):
        return values
    entries = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "U" else values
    if not isinstance(entries, list | tuple):
        return Ranking.from_scores(values)
    words = [word for entry in entries for word in _words(entry)]
    if not words or None in words:
        return Ranking.from_scores(values)
    if all(real_text(word) for word in words if word is not None):
        raise NonNumericError(
            f"{shown(values)} may hold labels or scores: write Ranking.from_order(...) for labels, best first, or "
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


def tied_groups(ranking: Ranking) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Start, from 0, and size of each group of tied items, from best to worst."""
    starts = np.flatnonzero(np.diff(ranking.ranks[ranking.best_first], prepend=0.0))  # ranks are at least 1
    return starts, np.diff(starts, append=ranking.n_items)


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

    See Also
    --------
    rankcorr.evaluation.AveragePrecision : The same by query, as in trec_eval.
    tau_ap : A rank correlation based on average precision.

    References
    ----------
    F. McSherry and M. Najork, Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied
    Scores, ECIR 2008: the mean over the ways to break ties in closed form.

    Examples
    --------
    >>> from rankcorr.measures import average_precision
    >>> average_precision({"a": 1, "b": 0, "c": 1}, {"a": 0.9, "b": 0.5, "c": 0.1})
    0.8333333333333333
    >>> average_precision({"a": 1, "b": 0, "c": 1}, ["a", "b", "c"])
    0.8333333333333333
    >>> average_precision([1, 0, 1], [0.9, 0.5, 0.5])
    0.9166666666666666
    """
    known, relevance = _relevance(gold)
    first, second = align_rankings(known, as_list(system), names=("gold", "system"), missing=missing, least=1)
    if known.labels is not None and first.labels is not None:
        by_label = dict(zip(known.labels, relevance.tolist(), strict=True))
        relevance = np.array([by_label.get(label, 0) for label in first.labels])
    if not relevance.any():
        raise RelevanceError(f"gold must have a relevant item; none of its {first.n_items} items is")
    starts, sizes = tied_groups(second)
    relevant = np.add.reduceat(relevance[second.best_first], starts)
    before = np.cumsum(relevant) - relevant
    m, t, g, r = (np.repeat(values, sizes) for values in (starts, sizes, relevant, before))
    place = np.arange(1, m.size + 1)
    others = (place - m - 1) * (g - 1) / np.maximum(t - 1, 1)
    precision = g / t * (r + 1 + others) / place
    return min(1.0, float(precision.sum()) / float(relevant.sum()))


def _relevance(gold: ScoresLike) -> tuple[Ranking, NDArray[np.int64]]:
    """Gold as a ranking, which holds its labels, and as 0 or 1 for each of its items."""
    if isinstance(gold, Ranking):
        raise OptionError("gold: scores are needed; a Ranking keeps only their order")
    try:
        ranking = Ranking.from_scores(gold)
    except RankingError as error:
        raise type(error)(f"gold: {error}") from error
    values = np.asarray(split_labels(gold, "score")[1])
    if wrong := np.flatnonzero((values != 0) & (values != 1)).tolist():
        message = f"the relevance of every item must be 0 or 1; got {shown(values.tolist()[wrong[0]])}; wrong at"
        raise RelevanceError(offending(message, [ranking.labels[item] for item in wrong] if ranking.labels else wrong))
    return ranking, (values == 1).astype(np.int64)
