"""Vigna's weighted tau: a Kendall correlation with hyperbolic weights for pairs."""

from __future__ import annotations

import math
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import Missing, align, n_missing
from rankcorr.checks import check_choice, offending, real_number, shown
from rankcorr.errors import LabelError, LabelMismatchError, LengthError, OptionError, warn_undefined
from rankcorr.measures.lists import ListLike, as_list
from rankcorr.ranking import Ranking
from rankcorr.results import RankCorrelation
from rankcorr.scores import ScoresLike, split_labels

RankedBy: TypeAlias = Literal["both", "x", "y", "position"]
PairScheme: TypeAlias = Literal["additive", "multiplicative"]

RANKED_BY: Final = ("both", "x", "y", "position")
PAIR_SCHEMES: Final = ("additive", "multiplicative")


def vigna_tau(
    x: ListLike,
    y: ListLike,
    *,
    ranked_by: RankedBy = "both",
    ranks: ScoresLike | Ranking | None = None,
    scheme: PairScheme = "additive",
    missing: Missing = "raise",
) -> RankCorrelation:
    """Vigna's weighted Kendall correlation with hyperbolic weights, as `scipy.stats.weightedtau` computes it.

    A pair of items weighs 1/r_i + 1/r_j, where r is the rank of an item, from 1, or the product of the two. Here each
    pair has a weight; in `weighted_tau` each item has one. The ranks r have no ties: items tied in one
    ranking are ranked by the other.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, list of labels, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. A list of text is labels, best first. Labelled rankings are matched
        by label.
    ranked_by : {"both", "x", "y", "position"}
        Which ranking gives the ranks r; "both" is the mean of the two values, and the only symmetric choice.
        "position": r is the place of the item in the data, in the order of x from 1. In `scipy.stats.weightedtau` they
        are ``rank=True``, ``rank=None``, the latter with x and y exchanged, and ``rank=False``.
    ranks : array_like of shape (n_items,), mapping of label to rank, or Ranking, optional
        The ranks r themselves, at least 1, in the order of x or by label; they may repeat, and need not be whole. Ranks
        without gaps and repetitions are ``rank=ranks - 1`` in `scipy.stats.weightedtau`, which replaces any others by
        the numbers of their order. Only the default of `ranked_by` can be combined with it.
    scheme : {"additive", "multiplicative"}
        How the weights of two items combine.
    missing : {"raise", "intersection", "bottom", "gold"}
        What to do with labels that are in one ranking only; see `weighted_tau`.

    Returns
    -------
    RankCorrelation
        With `coefficient` "vigna_tau", and `ranked_by`, or "ranks", as its `variant`. Undefined, and nan with an
        `UndefinedCorrelationWarning`, when all items are tied in one ranking.

    Raises
    ------
    RankingError
        The subclass says what is wrong with the rankings or the options.

    References
    ----------
    S. Vigna, A Weighted Correlation Index for Rankings with Ties, WWW 2015.

    Examples
    --------
    >>> round(vigna_tau([4, 3, 2, 1], [4, 3, 1, 2]).statistic, 4)
    0.8133
    """
    check_choice("ranked_by", ranked_by, RANKED_BY)
    check_choice("scheme", scheme, PAIR_SCHEMES)
    if ranks is not None and ranked_by != "both":
        raise OptionError(f"ranked_by and ranks exclude each other; got {shown(ranked_by)} and ranks")
    given = as_list(x), as_list(y)
    first, second = align(*given, missing=missing)
    places = None if ranks is None else _places(ranks, first)
    from scipy.stats import weightedtau

    # Ranks, negated because to scipy larger is better: they are exact and cannot overflow, whatever the scores.
    scores = (-second.ranks, -first.ranks) if ranked_by == "y" else (-first.ranks, -second.ranks)
    options: dict[str, Any] = {"rank": {"both": True, "position": False}.get(ranked_by)}
    if places is not None:
        options = {"rank": np.arange(first.n_items), "weigher": lambda item: 1 / places[item]}
    if np.ptp(first.ranks) == 0 or np.ptp(second.ranks) == 0:
        value = math.nan
        warn_undefined("all items are tied in one ranking", stacklevel=3)
    else:
        value = float(weightedtau(*scores, **options, additive=scheme == "additive").statistic)
    whole = missing == "raise"
    return RankCorrelation(
        statistic=value,
        n_items=first.n_items,
        coefficient="vigna_tau",
        scheme=scheme,
        weigher="hyperbolic",
        variant=ranked_by if places is None else "ranks",
        missing=None if whole else missing,
        n_missing=None if whole else n_missing(*given, first.n_items),
    )


def _places(ranks: ScoresLike | Ranking, first: Ranking) -> NDArray[np.float64]:
    """Ranks of the items of the first ranking, in its order."""
    labels, values = (ranks.labels, ranks.ranks) if isinstance(ranks, Ranking) else split_labels(ranks, "rank")
    given = np.asarray(values, dtype=object).ravel().tolist()
    numbers = [real_number(value) for value in given]
    if wrong := [value for value, number in zip(given, numbers, strict=True) if not 1 <= number < math.inf]:
        raise OptionError(offending("ranks must be numbers of at least 1; got", wrong))
    if (labels is None) != (first.labels is None):
        raise LabelError("ranks and rankings must both have labels, or neither, so that their items can be matched")
    if labels is None or first.labels is None:
        if len(numbers) != first.n_items:
            raise LengthError(f"ranks must have a number for each of {first.n_items} items; got {len(numbers)}")
        return np.array(numbers, np.float64)
    place = dict(zip(labels, numbers, strict=True))
    if lacking := [label for label in first.labels if label not in place]:
        raise LabelMismatchError(offending("labels of the rankings that ranks lack", lacking))
    return np.array([place[label] for label in first.labels], np.float64)
