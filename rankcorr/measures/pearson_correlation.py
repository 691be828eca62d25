"""Pearson's correlation of scores."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import align, n_missing
from rankcorr.checks import check_choice
from rankcorr.coefficients import ratio
from rankcorr.errors import warn_undefined
from rankcorr.measures.lists import read_scores
from rankcorr.results import RankCorrelation
from rankcorr.scores import ScoresLike

MissingScores: TypeAlias = Literal["raise", "intersection"]

MISSING_SCORES: Final = ("raise", "intersection")


def pearson(x: ScoresLike, y: ScoresLike, *, missing: MissingScores = "raise") -> RankCorrelation:
    """Pearson's correlation of the scores themselves, not of their ranks.

    r = sum_i (x_i - mean x)(y_i - mean y) / sqrt(sum_i (x_i - mean x)^2 sum_i (y_i - mean y)^2). Undefined, and nan
    with an `UndefinedCorrelationWarning`, when all scores in x or all in y are equal.

    Parameters
    ----------
    x, y : mapping of label to score, or array_like of shape (n_items,)
        Finite scores. Labelled scores are matched by label. A `Ranking` is an error: it keeps only the order.
    missing : {"raise", "intersection"}
        How to treat labels that have only one score: raise an error, or leave them out.

    Returns
    -------
    RankCorrelation
        With `coefficient` "pearson".

    Raises
    ------
    RankingError
        One of its subclasses: `MissingValueError` for nan and infinite scores, `LengthError`, `LabelMismatchError`,
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
        warn_undefined("all scores in x or all in y are equal", stacklevel=3)
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
    """Scores minus their mean, scaled so that the largest score is from 1/4 to 1/2."""
    # By a power of two, which is exact: no difference and no square overflows, and the largest does not vanish.
    scaled: NDArray[np.float64] = np.ldexp(scores, -1 - np.frexp(np.abs(scores).max())[1])
    distance: NDArray[np.float64] = scaled - scaled[0]  # exact for scores that are close together and far from zero
    distance -= distance.mean()
    return distance
