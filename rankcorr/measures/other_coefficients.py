"""Two coefficients that others use, on the same inputs: Vigna's weighted tau, and Pearson's correlation of scores."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import Missing, align, n_missing
from rankcorr.checks import check_choice
from rankcorr.coefficients import (
    RankCorrelation,
    ratio,
)
from rankcorr.measures.scores import read_scores
from rankcorr.notices import warn_undefined
from rankcorr.ranking import RankingLike, ScoresLike, as_ranking

RankedBy: TypeAlias = Literal["both", "x", "y"]
PairScheme: TypeAlias = Literal["additive", "multiplicative"]
MissingScores: TypeAlias = Literal["raise", "intersection"]

RANKED_BY: Final = ("both", "x", "y")
PAIR_SCHEMES: Final = ("additive", "multiplicative")
MISSING_SCORES: Final = ("raise", "intersection")


def vigna_tau(
    x: RankingLike,
    y: RankingLike,
    *,
    ranked_by: RankedBy = "both",
    scheme: PairScheme = "additive",
    missing: Missing = "raise",
) -> RankCorrelation:
    """Vigna's weighted Kendall correlation with hyperbolic weights, as `scipy.stats.weightedtau` computes it.

    A pair of items weighs 1/r_i + 1/r_j, where r is the rank of an item, from 1, or the product of the two. Each pair
    has a weight of its own, unlike in `weighted_tau`, where each item has. The ranks r have no ties: items tied in one
    ranking are ranked by the other.

    Parameters
    ----------
    x, y : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. Labelled rankings are matched by label.
    ranked_by : {"both", "x", "y"}
        Which ranking gives the ranks r; "both" is the mean of the two values, and the only symmetric choice.
    scheme : {"additive", "multiplicative"}
        How the weights of two items combine.
    missing : {"raise", "intersection", "bottom"}
        What becomes of labels that are in one ranking only; see `weighted_tau`.

    Returns
    -------
    RankCorrelation
        With `coefficient` "vigna_tau", and `ranked_by` as its `variant`. Undefined, and nan with an
        `UndefinedCorrelationWarning`, when all items are tied in one ranking.

    Raises
    ------
    RankingError
        A subclass of it that names what is wrong with the rankings or the options.

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

    # Exact and without overflow for any scores: scipy takes larger for better, and ranks are the opposite.
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


def pearson(x: ScoresLike, y: ScoresLike, *, missing: MissingScores = "raise") -> RankCorrelation:
    """Pearson's correlation of the scores themselves, not of their ranks.

    r = sum_i (x_i - mean x)(y_i - mean y) / sqrt(sum_i (x_i - mean x)^2 sum_i (y_i - mean y)^2). Undefined, and nan
    with an `UndefinedCorrelationWarning`, when all scores of one are equal.

    Parameters
    ----------
    x, y : mapping of label to score, or array_like of shape (n_items,)
        Finite scores. Labelled scores are matched by label. A `Ranking` is an error: it keeps the order alone.
    missing : {"raise", "intersection"}
        What becomes of labels that have one score only: an error, or left out.

    Returns
    -------
    RankCorrelation
        With `coefficient` "pearson".

    Raises
    ------
    RankingError
        A subclass of it: `MissingValueError` for nan and infinite scores, `LengthError`, `LabelMismatchError`,
        `OptionError`.

    Examples
    --------
    >>> round(pearson({"a": 1.0, "b": 2.0, "c": 4.0}, {"c": 9, "b": 5, "a": 2}).statistic, 4)
    0.9942
    """
    check_choice("missing", missing, MISSING_SCORES)
    first, second = read_scores(x, "x"), read_scores(y, "y")
    aligned = align(first.ranking, second.ranking, missing=missing)
    a, b = first.of(aligned[0]), second.of(aligned[1])
    if np.all(a == a[0]) or np.all(b == b[0]):
        value = math.nan
        warn_undefined("all scores of one are equal", stacklevel=3)
    else:
        a, b = _centred(a), _centred(b)
        value = ratio(float(a @ b), float(a @ a), float(b @ b))
    whole = missing == "raise"
    return RankCorrelation(
        statistic=value,
        n_items=a.size,
        coefficient="pearson",
        missing=None if whole else missing,
        n_missing=None if whole else n_missing(first.ranking, second.ranking, a.size),
    )


def _centred(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores less their mean, scaled so that the largest score is from 1/4 to 1/2."""
    # By a power of two, which is exact: no difference and no square overflows, and the largest does not vanish.
    scaled: NDArray[np.float64] = np.ldexp(scores, -1 - np.frexp(np.abs(scores).max())[1])
    distance: NDArray[np.float64] = scaled - scaled[0]  # exact for scores that are close together and far from zero
    distance -= distance.mean()
    return distance
