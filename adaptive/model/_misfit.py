"""Compare votes with the model: on the same pair, between near and far opponents, by the same voter.

Each vote has a residual: 1 if the voter chose the stronger item, 0 if not, less the probability of that. The strengths
are first stretched or shrunk by one factor, because a prior draws all of them together. If the model holds, residuals
are independent. Products of two residuals then sum to about zero, whether the two are on the same pair or of the same
voter, and residuals do not change with the distance of the two items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood import Parameters, VoteModel, VoteRows
from rankcorr._output.results import Result

Array: TypeAlias = NDArray[Any]
MISFIT_LIMIT: Final = 3.0
_LEAST_VARIANCE: Final = 1.0  # that of four pairs of close items with two votes each: fewer say nothing
_LOG_FACTORS: Final = (math.log(0.2), math.log(10.0))


@dataclass(frozen=True, eq=False)
class Misfit(Result):
    """How far votes depart from the model, in standard errors.

    If the model holds, each number is about normal with mean 0, but `pairs` has the mean -1, because the strengths were
    fitted to the same votes.

    Attributes
    ----------
    pairs : float
        Positive if votes of different voters on the same pair agree more than the strengths explain. That is so where
        preferences go in circles, or depend on the pair.
    far : float
        Negative if the stronger item wins less often against far weaker ones than the votes between close items say.
    voters : float
        Positive if voters differ more in how often they choose the stronger item than the model says.
    n_repeated : int
        Votes on pairs with more than one vote, ties excluded; without any, `pairs` is 0.
    """

    pairs: float
    far: float
    voters: float
    n_repeated: int


def misfit(rows: VoteRows, voter: Array | None, at: Parameters) -> Misfit:
    """Compare votes with the model fitted to them; ties are left out.

    Parameters
    ----------
    rows : VoteRows
    voter : ndarray of int, shape (n_votes,), or None
        Who cast each vote; None if that is not known.
    at : Parameters
        As fitted.

    Returns
    -------
    Misfit

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> circle = Comparisons.from_labels(["fig", "kiwi", "plum"] * 9, ["kiwi", "plum", "fig"] * 9, ["left"] * 27)
    >>> round(bradley_terry(circle).misfit.pairs, 1)
    10.2
    """
    decided = np.flatnonzero(rows.winner)
    left, right, group = rows.left[decided], rows.right[decided], rows.group[decided]
    voter = None if voter is None else voter[decided]
    difference = at.theta[left] - at.theta[right]
    margin = at.discrimination[group] * difference
    chose_left = rows.winner[decided] > 0
    likely = _recalibrate(rows.model, margin, at.side[group], at.oversight[group], chose_left)
    residual: Array = chose_left - likely
    variance = likely * (1.0 - likely)
    lower, upper = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
    pair, of_pair = np.unique(lower * rows.n_items + upper, return_inverse=True)
    number = np.bincount(of_pair, minlength=pair.size)
    single = repeats = np.arange(decided.size)
    if voter is not None:  # products of these say nothing: a voter who sees a pair again has the same opinion
        repeats = np.unique(of_pair * (1 + voter.max(initial=0)) + voter, return_inverse=True)[1]
    favoured = residual * np.where(difference >= 0, 1.0, -1.0)
    distance = np.abs(margin)
    distance -= float(variance @ distance) / max(float(variance.sum()), 1e-9)
    spread = float(variance @ distance**2)
    return Misfit(
        pairs=_excess(residual * np.where(left < right, 1.0, -1.0), variance, of_pair, repeats),
        far=float(favoured @ distance) / math.sqrt(spread) if spread > 0 else 0.0,
        voters=0.0 if voter is None else _excess(favoured, variance, voter, single),
        n_repeated=int(number[number > 1].sum()),
    )


def _recalibrate(model: VoteModel, margin: Array, side: Array, oversight: Array, chose_left: Array) -> Array:
    """Return P(left), given no tie, with all margins multiplied by the factor that makes the votes most likely.

    Oversights are those of the fit, or none, whichever makes the votes more likely.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import expit, ndtr

    curve = ndtr if model.link == "normal" else expit

    def likely(log_factor: float, slips: Array) -> Array:
        return np.asarray(slips + (1.0 - 2.0 * slips) * curve(math.exp(log_factor) * margin + side))

    def cost(log_factor: float, slips: Array) -> float:
        left = likely(log_factor, slips)
        return -float(np.sum(np.log(np.maximum(np.where(chose_left, left, 1.0 - left), 1e-300))))

    # Not Fisher's scoring: in one of twenty small sets of votes its steps went past the maximum, and back.
    optima = [
        (minimize_scalar(cost, bounds=_LOG_FACTORS, method="bounded", options={"xatol": 1e-3}, args=(slips,)), slips)
        for slips in (oversight, np.zeros_like(oversight))
    ]
    best, slips = min(optima, key=lambda optimum: optimum[0].fun)
    return likely(best.x, slips)


def _excess(residual: Array, variance: Array, group: Array, repeats: Array) -> float:
    """Return the sum of products of two residuals of a group, over its standard deviation if all are independent.

    Products of two residuals with the same number in `repeats` are left out.
    """

    def products(values: Array) -> float:
        return float(np.sum(np.bincount(group, values) ** 2) - np.sum(np.bincount(repeats, values) ** 2))

    return products(residual) / math.sqrt(2.0 * products(variance) + _LEAST_VARIANCE)
