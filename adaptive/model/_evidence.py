"""Test the votes themselves: against coin flips, and against the model fitted to them.

`signal` tells votes from coin flips, at any time: an e-process that bets on each vote before it is counted.

A gambler starts with one unit, predicts each vote from the earlier ones, and bets a share of the wealth at even odds
on the item that should win. If the voters flip coins, no bet is favourable, and the wealth exceeds 20 with a
probability of at most 1 / 20, however long the campaign lasts and whatever is asked next (Ville 1939). Wealth is
therefore evidence: once it reaches 20, votes depend on the items, at the level .05 and at any time.

This holds even if the predictions are wrong. They come from the Bradley-Terry model with normal strengths of mean 0,
updated vote by vote as in a Kalman filter without covariances. On a chain of items this model errs, but earlier votes
on the same pair predict well: they are one more predictor. The spread of the strengths and the reliability of the
predictions are unknown. The wealth is therefore a mean: over the pairs' predictor and several spreads, and over several
shares of the stake that Kelly's rule would bet.

`misfit` compares votes with the model: on the same pair, between near and far opponents, by the same voter.

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

from adaptive.errors import ComparisonError
from adaptive.model._comparisons import Comparisons
from adaptive.model._likelihood import Parameters, Rows, VoteModel
from rankcorr._checks import shown
from rankcorr._results import JsonResult

Array: TypeAlias = NDArray[Any]

LEVEL: Final = 0.05
SPREADS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
STAKES: Final = (0.25, 0.5, 1.0)
_LEAST_VARIANCE: Final = 1.0  # that of four pairs of close items with two votes each: fewer say nothing
_LOG_FACTORS: Final = (math.log(0.2), math.log(10.0))
LIMIT: Final = 3.0


@dataclass(frozen=True, eq=False)
class Signal(JsonResult):
    """Evidence that votes depend on the items that they compare.

    Attributes
    ----------
    found : bool
        Whether the votes rule out coin flips at the level .05.
    first : int or None
        Number of votes after which they were; None if they were not.
    pvalue : float
        Anytime-valid: whenever a campaign of coin flippers is looked at, it is at most p with a probability of at most
        p. It only falls as votes come.
    log_evidence : float
        Natural logarithm of the largest wealth so far.
    n_votes : int
        Number of votes, ties included; a tie changes nothing.
    """

    found: bool
    first: int | None
    pvalue: float
    log_evidence: float
    n_votes: int


def signal(comparisons: Comparisons) -> Signal:
    """Test whether votes rule out coin flips.

    The test takes votes in their order. It holds for the order in which they were cast, and for any other that does not
    depend on the answers. A file sorted by the winner would show a false signal. Voters who always take the left side
    are no signal if sides are random.

    Parameters
    ----------
    comparisons : Comparisons

    Returns
    -------
    Signal

    Raises
    ------
    ComparisonError
        Anything but `Comparisons`.

    References
    ----------
    J. Ville, Étude critique de la notion de collectif, 1939. G. Shafer, Testing by betting, Journal of the Royal
    Statistical Society A 184 (2021).

    Examples
    --------
    >>> left, right = ["fig", "fig", "kiwi"] * 10, ["kiwi", "plum", "plum"] * 10
    >>> clear = Comparisons.from_labels(left, right, ["left"] * 30)
    >>> coins = Comparisons.from_labels(left, right, ["left", "left", "left", "right", "right", "right"] * 5)
    >>> signal(clear).found, signal(coins).found, signal(clear).first
    (True, False, 13)
    """
    if not isinstance(comparisons, Comparisons):
        raise ComparisonError(f"signal takes Comparisons; got {shown(comparisons)}")
    from adaptive.model._kernels import wealth_of_bets

    log_wealth = np.empty(comparisons.n_comparisons)
    votes = comparisons.left, comparisons.right, comparisons.winner
    lower, upper = np.minimum(*votes[:2]).astype(np.int64), np.maximum(*votes[:2])
    pairs, pair = np.unique(lower * comparisons.n_items + upper, return_inverse=True)
    won = np.zeros((pairs.size, 2))
    wealth_of_bets(*votes, comparisons.n_items, pair, won, np.array(SPREADS), np.array(STAKES), log_wealth)
    largest = max(0.0, float(log_wealth.max(initial=0.0)))
    reached = np.flatnonzero(log_wealth >= -math.log(LEVEL))
    first = int(reached[0]) + 1 if reached.size else None
    return Signal(first is not None, first, math.exp(-largest), largest, comparisons.n_comparisons)


@dataclass(frozen=True, eq=False)
class Misfit(JsonResult):
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


def misfit(votes: Comparisons, rows: Rows, at: Parameters) -> Misfit:
    """Compare votes with the model fitted to them; ties are left out.

    Parameters
    ----------
    votes : Comparisons
    rows : Rows
        The same votes.
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
    decided = np.flatnonzero(votes.winner)
    left, right, group = votes.left[decided], votes.right[decided], rows.group[decided]
    difference = at.theta[left] - at.theta[right]
    margin = at.discrimination[group] * difference
    chose_left = votes.winner[decided] > 0
    likely = _recalibrate(rows.model, margin, at.side[group], at.oversight[group], chose_left)
    residual: Array = chose_left - likely
    variance = likely * (1.0 - likely)
    lower, upper = np.minimum(left, right).astype(np.int64), np.maximum(left, right)
    pair, of_pair = np.unique(lower * votes.n_items + upper, return_inverse=True)
    number = np.bincount(of_pair, minlength=pair.size)
    repeats = np.arange(
        decided.size
    )  # votes whose products say nothing: a voter who sees a pair again has the same opinion
    if votes.voter is not None:
        repeats = np.unique(of_pair * votes.n_voters + votes.voter[decided], return_inverse=True)[1]
    favoured = residual * np.where(difference >= 0, 1.0, -1.0)
    distance = np.abs(margin)
    distance -= float(variance @ distance) / max(float(variance.sum()), 1e-9)
    spread = float(variance @ distance**2)
    return Misfit(
        pairs=_excess(residual * np.where(left < right, 1.0, -1.0), variance, of_pair, repeats),
        far=float(favoured @ distance) / math.sqrt(spread) if spread > 0 else 0.0,
        voters=0.0
        if votes.voter is None
        else _excess(favoured, variance, votes.voter[decided], np.arange(decided.size)),
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
