"""Rank-biased overlap of two lists that may differ in length and in items, with ties, and average precision.

A list is a ranking, scores, or labels from best to worst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import check_choice, checked_level, offending, real_text, shown
from rankcorr._input.scores import ScoresLike, split_labels
from rankcorr._output.results import Result
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
    rankcorr.measures._overlap.RelevanceError: the relevance of every item must be 0 or 1; got 2; wrong at: 0
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
    ranks = ranking.ranks[ranking.best_first]
    bounds = np.concatenate([[0], np.flatnonzero(ranks[1:] != ranks[:-1]) + 1, [ranks.size]])
    return bounds[:-1], bounds[1:] - bounds[:-1]


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


OverlapTies: TypeAlias = Literal["w", "a", "b"]
Counts: TypeAlias = NDArray[np.int64]
Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RankBiasedOverlap(Result):
    """Rank-biased overlap of two lists, with its options and the sizes of the lists.

    Attributes
    ----------
    extrapolated : float
        RBO_EXT: the overlap if the agreement seen so far continues. `float(result)` is this value.
    minimum : float
        RBO_MIN: the overlap if no item beyond the two lists is ever in both.
    residual : float
        RBO_RES: how much larger the overlap is if the items beyond the two lists match as early as they can.
    p : float
        Persistence.
    ties : str
        "w", "a" or "b".
    n_x, n_y, n_common : int
        Number of items in each list, and in both.

    See Also
    --------
    rank_biased_overlap : Returns it.

    Examples
    --------
    >>> from rankcorr.measures import rank_biased_overlap
    >>> overlap = rank_biased_overlap(["ant", "bee", "cat"], ["bee", "ant", "dog"], p=0.8)
    >>> round(overlap.extrapolated, 4), round(overlap.minimum, 4), round(overlap.maximum, 4)
    (0.5867, 0.4047, 0.7573)
    >>> overlap.n_x, overlap.n_y, overlap.n_common
    (3, 3, 2)
    """

    extrapolated: float
    minimum: float
    residual: float
    p: float
    ties: str
    n_x: int
    n_y: int
    n_common: int

    @property
    def maximum(self) -> float:
        """RBO_MAX: the largest overlap that items beyond the two lists allow."""
        return self.minimum + self.residual

    def __float__(self) -> float:
        return self.extrapolated


def rank_biased_overlap(x: ListLike, y: ListLike, *, p: float = 0.9, ties: OverlapTies = "w") -> RankBiasedOverlap:
    """Rank-biased overlap of two rankings, which may be the tops of longer lists, with different items.

    RBO = (1 - p)/p sum_{d >= 1} p^d A_d, where A_d is the agreement of the two lists at depth d. With c_x(e, d) the
    part of item e that list x holds at depth d, and X_d = sum_e c_x(e, d) c_y(e, d) the overlap:

    ====  ==============================================  ================================================
    ties  part of an item tied at the places t to b        agreement
    ====  ==============================================  ================================================
    "w"   1 from depth t on, as in sports rankings         2 X_d / (sum_e c_x(e, d) + sum_e c_y(e, d))
    "a"   (d - t + 1)/(b - t + 1) for t <= d < b, then 1   X_d / d
    "b"   as "a"                                           X_d / sqrt(sum_e c_x(e, d)^2 sum_e c_y(e, d)^2)
    ====  ==============================================  ================================================

    "w": tied items are equal. "a": ties hide an unknown order, and X_d is the mean overlap over all ways to break them.
    "b": as "a", corrected for the ties, so that a ranking with itself gives 1; under "a" it gives less. Without ties
    the three agree.

    Only the first s items of one list are seen, and the first l >= s of the other. The unseen items are assumed to be
    untied, so that a list holds d items at depth d:

    - `minimum`: none of them is in both lists.
    - `residual`: the maximum less the minimum. For the maximum, each list continues with the items that only the other
      one has, in their order there, and then both continue with the same items.
    - `extrapolated`: at a depth s < d <= l, each of the d - s unseen items of the shorter list is in the longer one
      with probability A_s, and then counts as much as the mean of the items that the longer list holds, wholly or in
      part, and the shorter one lacks. Beyond l the agreement stays as at l.

    With ties, "a" and lists of different lengths, `minimum` is still the mean over all ways to break the ties.
    `extrapolated` and the maximum are those of Corsi and Urbano: unseen items do not depend on how the ties are broken,
    and the two are never larger than that mean.

    Time and memory are O(n) after sorting.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, list of labels, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. A list of text is labels, best first, as `Ranking.from_order` takes
        them. Two rankings without labels must have the same length, and hold the same items. One item is a list too.
    p : float, default 0.9
        Persistence, between 0 and 1, both excluded: the weight of depth d is (1 - p) p^(d-1).
    ties : {"w", "a", "b"}
        How ties count; see above.

    Returns
    -------
    RankBiasedOverlap

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    rankcorr.coefficient_bounds : Bounds of a coefficient of two lists.
    rankcorr.evaluation.RBO : The same by query.

    References
    ----------
    W. Webber, A. Moffat and J. Zobel, A Similarity Measure for Indefinite Rankings, ACM TOIS 28(4), 2010: RBO_MIN,
    RBO_RES and RBO_EXT for lists of different lengths.
    M. Corsi and J. Urbano, The Treatment of Ties in Rank-Biased Overlap, SIGIR 2024: the three ways to count ties.

    Examples
    --------
    >>> from rankcorr.measures import rank_biased_overlap
    >>> x = ["red", ["blue", "green"], "yellow", "pink"]
    >>> y = [["blue", "red"], "white", ["yellow", "black", "purple"], "green"]
    >>> overlap = rank_biased_overlap(x, y, p=0.95, ties="a")
    >>> round(overlap.extrapolated, 4), round(overlap.minimum, 4), round(overlap.residual, 4)
    (0.6923, 0.3311, 0.562)
    """
    check_choice("ties", ties, get_args(OverlapTies))
    persistence = checked_level(p, "p")
    first, second = as_list(x), as_list(y)
    if first.labels is None or second.labels is None:
        first, second = align_rankings(first, second, least=1)
    short, long = (first, second) if first.n_items <= second.n_items else (second, first)
    extrapolated, minimum, residual, n_common = _overlap(short, long, persistence, ties)
    return RankBiasedOverlap(
        extrapolated, minimum, residual, persistence, ties, first.n_items, second.n_items, n_common
    )


def _overlap(short: Ranking, long: Ranking, p: float, ties: OverlapTies) -> tuple[float, float, float, int]:
    """RBO_EXT, RBO_MIN, RBO_RES and the number of common items."""
    s, l = short.n_items, long.n_items  # noqa: E741 - the papers' names
    s_parts, l_parts = _Parts(short, l, ties), _Parts(long, l, ties)
    in_short, in_long = _common(short, long)
    n_common = in_short.size
    depth = np.arange(1, l + 1)
    weight = (1 - p) / p * p**depth

    # An item is whole in a list from its last place on, and in part from its first place to the one before the last.
    s_first, s_last = s_parts.first[in_short], s_parts.last[in_short]
    l_first, l_last = l_parts.first[in_long], l_parts.last[in_long]
    overlap = (
        _covering(np.maximum(s_last, l_last), None, l)
        + s_parts.part * _covering(np.maximum(s_first, l_last), s_last, l)
        + l_parts.part * _covering(np.maximum(l_first, s_last), l_last, l)
        + s_parts.part * l_parts.part * _covering(np.maximum(s_first, l_first), np.minimum(s_last, l_last), l)
    )
    if ties == "w":
        size = 0.5 * (s_parts.held + l_parts.held)
    elif ties == "a":
        size = depth.astype(np.float64)
    else:
        size = np.sqrt(s_parts.squares * l_parts.squares)

    last_agreement = float(overlap[s - 1] / size[s - 1])
    only_long = np.ones(l, bool)
    only_long[in_long] = False
    full = _covering(l_parts.last[only_long], None, l)[s:]
    partial = _covering(l_parts.first[only_long], l_parts.last[only_long], l)[s:]
    part, unseen = l_parts.part[s:], depth[s:] - s
    expected = unseen * last_agreement * (full + part * partial) / (full + partial)
    most = np.minimum(unseen, full) + part * np.maximum(unseen - full, 0)

    # Beyond depth l all n_common items are whole. Unseen items can match up to depth f, where all that was seen is in
    # both lists, and from there on the lists may agree in full.
    minimum = float(weight @ (overlap / size)) + n_common * _harmonic_tail(p, l)
    f = s + l - n_common
    beyond = np.arange(l + 1, f + 1)
    residual = (
        float(weight[s:] @ (most / size[s:]))
        + (1 - p) / p * float(p**beyond @ (2 - (s + l) / beyond))
        + p**f
        - n_common * _harmonic_tail(p, f)
    )
    agreement = overlap / size
    agreement[s:] += expected / size[s:]
    extrapolated = float(weight @ agreement) + (n_common + (l - s) * last_agreement) / l * p**l
    return extrapolated, minimum, residual, n_common


class _Parts:
    """Part of each item that a list holds at the depths 1 to `n_depths`."""

    def __init__(self, ranking: Ranking, n_depths: int, ties: OverlapTies) -> None:
        order, n_items = ranking.best_first, ranking.n_items
        starts, sizes = tied_groups(ranking)
        top, tied = np.repeat(starts + 1, sizes), np.repeat(sizes, sizes)
        depth = np.arange(1, n_depths + 1)
        self.first = np.empty(n_items, np.int64)
        self.last = np.empty(n_items, np.int64)
        self.first[order] = top
        self.last[order] = top if ties == "w" else top + tied - 1
        # Of the group at each depth. Beyond the list every item is whole, and unseen items come one at a time.
        self.part = np.ones(n_depths)
        self.part[:n_items] = (depth[:n_items] - top + 1) / tied
        self.squares = depth.astype(np.float64)
        self.squares[:n_items] = top - 1 + tied * self.part[:n_items] ** 2
        self.held = depth.copy()
        self.held[:n_items] = top + tied - 1


def _common(short: Ranking, long: Ranking) -> tuple[Counts, Counts]:
    """Positions in each list of the items that are in both lists."""
    if short.labels is None or long.labels is None:
        return np.arange(short.n_items), np.arange(short.n_items)
    place = {label: position for position, label in enumerate(long.labels)}
    pairs = [(position, place[label]) for position, label in enumerate(short.labels) if label in place]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _covering(start: Counts, stop: Counts | None, n_depths: int) -> Counts:
    """Number of intervals [start, stop) that cover each depth from 1 on; without `stop` they never end."""
    changes = np.zeros(n_depths + 2, np.int64)
    if stop is None:
        changes += np.bincount(start, minlength=n_depths + 2)
    else:
        some = start < stop
        changes += np.bincount(start[some], minlength=n_depths + 2)
        changes -= np.bincount(stop[some], minlength=n_depths + 2)
    return changes.cumsum()[1 : n_depths + 1]


def _harmonic_tail(p: float, depth: int) -> float:
    """(1 - p)/p sum of p^d / d over the depths beyond `depth`: the share that one item in both lists adds there."""
    depths = np.arange(1, depth + 1)
    tail = (1 - p) / p * (-math.log1p(-p) - float((p**depths / depths).sum()))
    # At most the same sum with the divisor depth + 1 throughout. The difference may be mere rounding, which many common
    # items would multiply.
    return min(max(0.0, tail), p**depth / (depth + 1))
