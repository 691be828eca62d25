"""Tell votes from coin flips, at any time: an e-process that bets on each vote before it is counted.

A gambler starts with one unit, predicts each vote from the earlier ones, and bets a share of the wealth at even odds
on the item that should win. If the voters flip coins, no bet is favourable, and the wealth exceeds 20 with a
probability of at most 1 / 20, however long the campaign lasts and whatever is asked next (Ville 1939). Wealth is
therefore evidence: once it reaches 20, votes depend on the items, at the level .05 and at any time.

This holds even if the predictions are wrong. They come from the Bradley-Terry model with normal strengths of mean 0,
updated vote by vote as in a Kalman filter without covariances. On a chain of items this model errs, but earlier votes
on the same pair predict well: they are one more predictor. The spread of the strengths and the reliability of the
predictions are unknown. The wealth is therefore a mean: over the pairs' predictor and several spreads, and over several
shares of the stake that Kelly's rule would bet.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ComparisonError
from rankcorr._checks import shown
from rankcorr._output.results import Result

SIGNAL_LEVEL: Final = 0.05
SPREADS: Final = (0.25, 0.5, 1.0, 2.0, 4.0)
STAKES: Final = (0.25, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Signal(Result):
    """Evidence that votes depend on the items that they compare.

    Attributes
    ----------
    is_significant : bool
        Whether the votes rule out coin flips at the level .05.
    n_votes_until_significant : int or None
        Number of votes after which they first did; None if they do not.
    pvalue : float
        Anytime-valid p-value: if the votes are coin flips, it ever falls to p or below with a probability of at most p,
        however often you look. It never rises as votes come in.
    log_evidence : float
        Natural logarithm of the largest wealth so far.
    n_votes : int
        Number of votes, ties included; a tie changes nothing.
    """

    is_significant: bool
    n_votes_until_significant: int | None
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
    >>> signal(clear).is_significant, signal(coins).is_significant, signal(clear).n_votes_until_significant
    (True, False, 13)
    """
    if not isinstance(comparisons, Comparisons):
        raise ComparisonError(f"signal takes Comparisons; got {shown(comparisons)}")
    from adaptive.model._likelihood_kernels import Votes, wealth_of_bets

    log_wealth = np.empty(comparisons.n_comparisons)
    sides = comparisons.left, comparisons.right
    lower, upper = np.minimum(*sides).astype(np.int64), np.maximum(*sides)
    pairs, pair = np.unique(lower * comparisons.n_items + upper, return_inverse=True)
    won, means = np.zeros((pairs.size, 2)), np.zeros((len(SPREADS), comparisons.n_items))
    variances = means + np.square(SPREADS)[:, np.newaxis]
    logs = np.zeros((len(SPREADS) + 1, len(STAKES)))
    wealth_of_bets(Votes(*sides, comparisons.winner, pair), won, means, variances, np.array(STAKES), logs, log_wealth)
    largest = max(0.0, float(log_wealth.max(initial=0.0)))
    reached = np.flatnonzero(log_wealth >= -math.log(SIGNAL_LEVEL))
    n_until = int(reached[0]) + 1 if reached.size else None
    return Signal(n_until is not None, n_until, math.exp(-largest), largest, comparisons.n_comparisons)
