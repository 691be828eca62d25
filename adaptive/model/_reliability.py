"""How reliable strengths are: separation, agreement of halves, and the fit of items and voters."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._record import item_table, places_best_first
from adaptive._votes import LEFT, RIGHT
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ModelError
from adaptive.model._models import n_unbounded, refit
from adaptive.model._strengths import MAX_EXACT, SE_DRAWS, Strengths, rows_of
from rankcorr._checks import checked_count, checked_seed, counted, shown
from rankcorr._output.results import TableResult, read_only
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]

N_SPLITS: Final = 20


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(TableResult):
    """Reliability of strengths, as comparative judgement reports it; the table has the infit of each item.

    Attributes
    ----------
    items : sequence of hashable
    infit : ndarray of float64, shape (n_items,)
        Squared residuals of the votes on an item over those that the model expects: 1 if they fit, above 1 if votes
        depart from the order, below 1 if they agree more than expected; nan without votes.
    voters : sequence of hashable, or None
        None if they are not known.
    voter_infit : ndarray of float64, shape (n_voters,), or None
        The same for the votes of each voter.
    separation : float
        Standard deviation of the true strengths over the typical standard error: about how many levels can be told
        apart.
    scale_separation : float
        Scale separation reliability, separation^2 / (1 + separation^2): the share of the variance of strengths that is
        no error. Items that were never compared are left out of both.
    split_half : float
        Median correlation of strengths from two halves of the votes, carried over to all votes by the formula of
        Spearman and Brown, which does not apply below 0: there it is the correlation itself. It is nan without splits,
        with two items, or if no half has strengths that vary.
    unit : str
        What is split: "voters", or "votes" with fewer than four voters or if they are not known.
    n_splits, seed : int

    See Also
    --------
    reliability : Returns it.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, reliability
    >>> left, right = ["a", "a", "b", "a"], ["b", "c", "c", "d"]
    >>> votes = Comparisons.from_labels(left * 6, right * 6, ["left"] * 24)
    >>> result = reliability(bradley_terry(votes, prior=2), n_splits=4)
    >>> result.unit, result.scale_separation > 0.5
    ('votes', True)
    """

    _caption: ClassVar[str] = "Infit of items"

    items: Sequence[Hashable]
    infit: NDArray[np.float64]
    voters: Sequence[Hashable] | None
    voter_infit: NDArray[np.float64] | None
    separation: float
    scale_separation: float
    split_half: float
    unit: str
    n_splits: int
    seed: int

    def _columns(self) -> dict[str, Any]:
        order = places_best_first(self.items, np.zeros(len(self.items)))
        return item_table(self.items, order, infit=self.infit)

    def __repr__(self) -> str:
        figures = f"separation {self.separation:.2f}, SSR {self.scale_separation:.3f}"
        return f"<Reliability of {counted(len(self.items), 'item')}: {figures}, split-half {self.split_half:.3f}>"


def reliability(
    strengths: Strengths, *, n_splits: int = N_SPLITS, seed: int = 0, progress: Progress | None = None
) -> Reliability:
    """Return how reliable strengths are, by the measures of comparative judgement.

    Separation and its reliability compare the spread of the strengths with their standard errors. Strengths that were
    fitted with a prior are shrunk, and have the spread of the true ones without their errors; without a prior, the mean
    squared error is taken off. Items that were never compared are left out, also from the agreement of halves, as in
    sirt's `btm`: only the prior places them. Votes that were chosen by earlier votes, as by `next_comparisons`, make
    both too large (Bramley 2015): halves of the votes then share the choice, and their agreement is too large as well.

    Parameters
    ----------
    strengths : Strengths
    n_splits : int
        Random splits into halves, by voter if there are at least four of them, else by vote. Each takes two fits; 0
        leaves them out.
    seed : int
    progress : callable, optional
        Called with 1 after each split; an exception from it stops the work.

    Returns
    -------
    Reliability

    Raises
    ------
    ModelError
        No Strengths, no votes, or strengths without a prior that a half of the votes leaves infinite.
    OptionError
        A number of splits or a seed that is out of range.

    See Also
    --------
    voter_report : Voters one by one, with intervals.
    Strengths.expected_correlation : The agreement with the true ranking, which allows for the choice of pairs.

    References
    ----------
    B. D. Wright and G. N. Masters, Rating Scale Analysis (1982), chapter 5.

    T. Bramley, Investigating the Reliability of Adaptive Comparative Judgment, Cambridge Assessment (2015).

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Comparisons, bradley_terry, reliability
    >>> rng = np.random.default_rng(1)
    >>> left = rng.integers(0, 10, 400)
    >>> right = (left + rng.integers(1, 10, 400)) % 10
    >>> winner = np.where(rng.logistic(size=400) < (right - left) / 2, 1, -1)          # the first item is the best
    >>> reliability(bradley_terry(Comparisons(10, left, right, winner)))
    <Reliability of 10 items: separation 4.72, SSR 0.957, split-half 0.977>
    """
    if not isinstance(strengths, Strengths):
        raise ModelError(f"reliability is that of Strengths; got {shown(strengths)}")
    votes = strengths.comparisons
    if not votes.n_comparisons:
        raise ModelError("reliability needs votes; there are none")
    number, start = checked_count(n_splits, "n_splits", least=0), checked_seed(seed)
    is_compared = votes.presentations > 0
    variance = float(strengths.theta[is_compared].var(ddof=1))
    error = _mean_squared_error(strengths, is_compared)
    true = max(0.0, variance - error) if strengths.prior.sd == math.inf else variance
    by_voter = votes.voter is not None and np.unique(votes.voter).size >= 4
    halves = _half_correlations(strengths, by_voter, number, np.random.default_rng(start), progress)
    with np.errstate(divide="ignore"):  # halves with opposite orders
        of_all = np.where(halves > 0, 2 * halves / (1 + halves), halves)
    split_half = float(np.median(of_all)) if halves.size and is_compared.sum() > 2 else math.nan
    squares, expected = _squared_residuals(strengths)
    ends = np.concatenate([votes.left, votes.right])
    of_items = _ratio(np.tile(squares, 2), np.tile(expected, 2), ends, votes.n_items)
    of_voters = None if votes.voter is None else _ratio(squares, expected, votes.voter, votes.n_voters)
    return Reliability(
        items=votes.items,
        infit=read_only(of_items),
        voters=votes.voters,
        voter_infit=None if of_voters is None else read_only(of_voters),
        separation=math.sqrt(true / error),
        scale_separation=true / (true + error),
        split_half=split_half,
        unit="voters" if by_voter else "votes",
        n_splits=number,
        seed=start,
    )


def _mean_squared_error(strengths: Strengths, is_compared: Array) -> float:
    """Return the mean variance of the strengths of compared items, less the mean of these."""
    n_items = is_compared.size
    if n_items > MAX_EXACT:
        draws = strengths.sample(SE_DRAWS, np.random.default_rng(0))[:, is_compared]
        draws -= draws.mean(axis=1, keepdims=True)
        return float(draws.var(axis=0).mean())
    error = float(np.mean(np.square(strengths.standard_errors[is_compared])))
    if n_never := len(strengths.never_compared):
        # Standard errors are of differences from the mean of all items, which varies with those never compared.
        error -= strengths.prior_sd**2 * n_never / (n_items * (n_items - n_never))
    return error


def _squared_residuals(strengths: Strengths) -> tuple[Array, Array]:
    """Squared residual of each vote, where a tie is a half, and its mean under the model."""
    from scipy.special import ndtr

    rows, at = rows_of(strengths.comparisons, strengths.model), strengths.parameters
    margin = rows.of_group(at.discrimination) * (at.theta[rows.left] - at.theta[rows.right]) + rows.of_group(at.side)
    if rows.model.link == "normal":
        left, right = ndtr(margin), ndtr(-margin)
    else:
        weight = np.exp(-0.5 * np.abs(margin))
        total = 1.0 + at.nu * weight + weight * weight
        stronger, weaker = 1.0 / total, weight * weight / total
        left, right = np.where(margin >= 0, stronger, weaker), np.where(margin >= 0, weaker, stronger)
    slip = rows.of_group(at.oversight)
    left, right = left + slip * (right - left), right + slip * (left - right)
    tie = np.maximum(0.0, 1.0 - left - right)
    mean = left + 0.5 * tie
    score = np.select([rows.winner == LEFT, rows.winner == RIGHT], [1.0, 0.0], 0.5)
    return np.square(score - mean), left + 0.25 * tie - mean**2


def _ratio(squares: Array, expected: Array, group: Array, n_groups: int) -> Array:
    sums, means = (np.bincount(group, values, n_groups) for values in (squares, expected))
    ratios: Array = np.divide(sums, means, out=np.full(n_groups, math.nan), where=means > 0)
    return ratios


def _half_correlations(
    strengths: Strengths, by_voter: bool, number: int, rng: np.random.Generator, progress: Progress | None
) -> Array:
    """Pearson's correlation of the strengths of two halves, of each split where both vary."""
    votes = strengths.comparisons
    unit = np.arange(votes.n_comparisons) if votes.voter is None or not by_voter else votes.voter
    units, is_compared = np.unique(unit), votes.presentations > 0
    correlations = []
    for _ in range(number):
        first_half = rng.permutation(units)[: units.size // 2]
        in_first = np.isin(unit, first_half)
        halves = [_strengths_of(strengths, votes.select(rows))[is_compared] for rows in (in_first, ~in_first)]
        if min(theta.std() for theta in halves) > 0:
            correlations.append(float(np.corrcoef(halves[0], halves[1])[0, 1]))
        if progress is not None:
            progress(1)
    return np.array(correlations)


def _strengths_of(strengths: Strengths, half: Comparisons) -> Array:
    if strengths.prior.sd == math.inf and n_unbounded(half) > 1:
        raise ModelError(
            "a half of the votes leaves strengths infinite, because they have no prior; fit them with prior="
        )
    return refit(strengths, half).theta
