"""Vigna's weighted tau: a Kendall correlation in which pairs have hyperbolic weights."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np

from rankcorr.alignment import Missing, align, n_missing
from rankcorr.checks import check_choice
from rankcorr.notices import warn_undefined
from rankcorr.ranking import RankingLike, as_ranking
from rankcorr.results import RankCorrelation

RankedBy: TypeAlias = Literal["both", "x", "y"]
PairScheme: TypeAlias = Literal["additive", "multiplicative"]

RANKED_BY: Final = ("both", "x", "y")
PAIR_SCHEMES: Final = ("additive", "multiplicative")


def vigna_tau(
    x: RankingLike,
    y: RankingLike,
    *,
    ranked_by: RankedBy = "both",
    scheme: PairScheme = "additive",
    missing: Missing = "raise",
) -> RankCorrelation:
    """Vigna's weighted Kendall correlation with hyperbolic weights, as `scipy.stats.weightedtau` computes it.

    A pair of items weighs 1/r_i + 1/r_j, where r is the rank of an item, from 1, or the product of the two. Here each
    pair has a weight; in `weighted_tau` each item has one. The ranks r have no ties: items tied in one
    ranking are ranked by the other.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. Labelled rankings are matched by label.
    ranked_by : {"both", "x", "y"}
        Which ranking gives the ranks r; "both" is the mean of the two values, and the only symmetric choice.
    scheme : {"additive", "multiplicative"}
        How the weights of two items combine.
    missing : {"raise", "intersection", "bottom", "gold"}
        What to do with labels that are in one ranking only; see `weighted_tau`.

    Returns
    -------
    RankCorrelation
        With `coefficient` "vigna_tau", and `ranked_by` as its `variant`. Undefined, and nan with an
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
    given = as_ranking(x), as_ranking(y)
    first, second = align(*given, missing=missing)
    from scipy.stats import weightedtau

    # Ranks, negated because to scipy larger is better: they are exact and cannot overflow, whatever the scores.
    scores = (-second.ranks, -first.ranks) if ranked_by == "y" else (-first.ranks, -second.ranks)
    rank = True if ranked_by == "both" else None
    if np.ptp(first.ranks) == 0 or np.ptp(second.ranks) == 0:
        value = math.nan
        warn_undefined("all items are tied in one ranking", stacklevel=3)
    else:
        value = float(weightedtau(*scores, rank=rank, additive=scheme == "additive").statistic)
    whole = missing == "raise"
    return RankCorrelation(
        statistic=value,
        n_items=first.n_items,
        coefficient="vigna_tau",
        scheme=scheme,
        weigher="hyperbolic",
        variant=ranked_by,
        missing=None if whole else missing,
        n_missing=None if whole else n_missing(*given, first.n_items),
    )
