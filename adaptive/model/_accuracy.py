"""Estimate how far a ranking can be trusted, from strengths and rankings drawn from the posterior: one result each."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from adaptive._record import item_table, json_label, places_best_first
from adaptive.errors import ModelError
from adaptive.model._prior import SD_RANGE
from rankcorr import Ranking
from rankcorr._checks import checked_flag, checked_level, counted, shown, whole_number
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._input.scores import midrank_rows
from rankcorr._output.results import Result, TableResult, read_only
from rankcorr._workers import checked_workers, in_threads

Array: TypeAlias = NDArray[Any]

N_SAMPLES = 1_000
DECIMALS: Final = 8  # of strengths that are ranked; fits are exact to 1e-9
# Posterior draws for more items take a minute or longer; computing only the standard errors would take as long.
MOST_WITH_INTERVALS: Final = 3_000
_BLOCK_ROWS = 50
MIXTURES: Final = (0.02, 0.2)  # of differences of shares of wins: neighbours in a long list, and in a short one


def order_caveats(
    comparisons: str, answers: str, n_never: int, n_parts: int, extremes: tuple[int, int], estimated_sd: float
) -> Iterator[str]:
    """Yield caveats on items that only the prior places, for a reader of a ranking.

    Parameters
    ----------
    comparisons, answers : str
        Nouns for the two.
    n_never : int
        Items that were never compared.
    n_parts : int
        Groups of the other items that no comparison connects.
    extremes : tuple of (int, int)
        Numbers of items that won every comparison and that lost every one.
    estimated_sd : float
        Spread of the strengths; nan if it was given.
    """
    if n_never:
        was = "was" if n_never == 1 else "were"
        yield f"{counted(n_never, 'item')} {was} never compared: the prior alone decides the rank"
    if n_parts > 1:
        yield f"the {comparisons} fall into {n_parts} parts: only the prior orders one part against another"
    for n_extreme, verb in zip(extremes, ("won", "lost"), strict=True):
        if n_extreme:
            yield f"{counted(n_extreme, 'item')} {verb} every comparison, so only the prior limits the strength"
    if estimated_sd > 0.999 * SD_RANGE[1]:
        yield f"the {answers} hardly contradict one order: the spread of the strengths is held at {estimated_sd:g}"


@dataclass(frozen=True, eq=False)
class DrawnRanks(Result):
    """Rankings drawn from the posterior, one in each row.

    Attributes
    ----------
    estimate : Ranking
        The ranking by fitted strengths.
    theta, ranks : ndarray of float64, shape (n_samples, n_items), read-only
        Drawn strengths, and their mid-ranks.
    n_tied : ndarray of int64, shape (n_samples,)
        Number of tied items in each row.
    """

    estimate: Ranking
    theta: Array
    ranks: Array
    n_tied: Array

    @classmethod
    def of(cls, estimate: Ranking, theta: Array) -> DrawnRanks:
        """Rank each row."""
        ranks, _, n_tied = midrank_rows(theta, descending=True)
        return cls(estimate, read_only(theta), ranks, n_tied)

    @property
    def items(self) -> Sequence[Hashable]:
        """Labels of the items."""
        return self.estimate.labels or ()

    @cached_property
    def by_item(self) -> Array:
        """Drawn ranks of each item in ascending order, shape (n_items, n_samples)."""
        return np.sort(np.ascontiguousarray(self.ranks.T), axis=1)


def correlate_rows(coefficient: Coefficient, ranks: Array, n_tied: Array, other: Ranking, workers: int | None) -> Array:
    """Return the coefficient of each row of ranks, as x, with another ranking of the same items in the same order."""
    swapped = coefficient.swapped
    rows = [slice(start, start + _BLOCK_ROWS) for start in range(0, len(ranks), _BLOCK_ROWS)]
    blocks = in_threads(lambda part: swapped.of_rows(other, ranks[part], n_tied[part]), rows, checked_workers(workers))
    return np.concatenate(blocks)


@dataclass(frozen=True, eq=False, repr=False)
class RankIntervals(TableResult):
    """Intervals that contain the true rank of each item with probability `level`, or all of them at once.

    The table has the columns item, rank, low, median and high, best first.

    Attributes
    ----------
    items : sequence of hashable
        Labels.
    rank : ndarray of float64, shape (n_items,)
        Mid-rank in the estimate.
    low, median, high : ndarray of float64, shape (n_items,)
        Quantiles of the drawn ranks, each a rank that was drawn. With `anytime`, the ranks that are left possible, and
        as `median` the rank in the estimate.
    level : float
    n_samples : int
        0 if no rankings were drawn.
    simultaneous : bool
        Whether all intervals together have the probability `level`.
    anytime : bool
        Whether they have it however often they are looked at.

    See Also
    --------
    Strengths.rank_intervals : Returns it.
    adaptive.plots.plot_strengths : Draws it with ``scale="rank"``.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"] * 9, ["kiwi", "plum", "plum"] * 9, ["left"] * 27)
    >>> intervals = bradley_terry(votes, prior=2).rank_intervals()
    >>> intervals.items, intervals.low.tolist(), intervals.high.tolist(), intervals.level
    (('fig', 'kiwi', 'plum'), [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 0.9)
    """

    _caption: ClassVar[str] = "Intervals of the true ranks"

    items: Sequence[Hashable]
    rank: Array
    low: Array
    median: Array
    high: Array
    level: float
    n_samples: int
    simultaneous: bool = False
    anytime: bool = False

    def __post_init__(self) -> None:
        read_only((self.low, self.median, self.high))

    def _columns(self) -> dict[str, Sequence[Any]]:
        columns = {name: getattr(self, name) for name in ("rank", "low", "median", "high")}
        return item_table(self.items, places_best_first(self.items, self.rank), **columns)

    def __repr__(self) -> str:
        width = float(np.mean(self.high - self.low)) + 1
        return f"<RankIntervals of {len(self.items):,} items, level {self.level:g}: {width:.3g} ranks wide on average>"


@dataclass(frozen=True, eq=False, repr=False)
class TopProbabilities(TableResult):
    """Probability that each item is among the top k.

    The table has the columns item, rank and probability, the most probable first.

    Attributes
    ----------
    items : sequence of hashable
        Labels.
    rank : ndarray of float64, shape (n_items,)
        Mid-rank in the estimate.
    probability : ndarray of float64, shape (n_items,)
        They sum to k.
    k, n_samples : int

    See Also
    --------
    Strengths.in_top : Returns it.
    adaptive.plots.plot_in_top : Draws it.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"] * 9, ["kiwi", "plum", "plum"] * 9, ["left"] * 27)
    >>> top = bradley_terry(votes, prior=2).in_top(1)
    >>> dict(zip(top.items, top.probability.round(1).tolist())), top.k
    ({'fig': 1.0, 'kiwi': 0.0, 'plum': 0.0}, 1)
    """

    _caption: ClassVar[str] = "Probabilities of a place among the top items"

    items: Sequence[Hashable]
    rank: Array
    probability: Array
    k: int
    n_samples: int

    def __post_init__(self) -> None:
        read_only(self.probability)

    def _columns(self) -> dict[str, Sequence[Any]]:
        order = np.lexsort((self.rank, -self.probability))
        return item_table(self.items, order, rank=self.rank, probability=self.probability)

    def __repr__(self) -> str:
        n_certain, open_ = (int(np.count_nonzero(mask)) for mask in (self.probability >= 0.95, self.is_open))
        return f"<TopProbabilities of {len(self.items):,} items, k = {self.k}: {n_certain} sure, {open_} open>"

    @property
    def is_open(self) -> Array:
        """Mask of the undecided items, with probabilities above 0.05 and below 0.95; bool, shape (n_items,)."""
        return np.asarray((self.probability > 0.05) & (self.probability < 0.95))


@dataclass(frozen=True, eq=False)
class Cut(Result):
    """Confidence of a cut after the top k.

    Attributes
    ----------
    k : int
    confidence : float
        Probability that the estimated top k are the true ones. If estimated strengths tie at the cut, it is the mean
        over all choices among them.
    overlap : float
        Expected number of the true top k among the estimated ones.
    n_samples : int

    See Also
    --------
    Strengths.cut : Returns it.
    TopProbabilities : The chance of each item.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"] * 9, ["kiwi", "plum", "plum"] * 9, ["left"] * 27)
    >>> cut = bradley_terry(votes, prior=2).cut(1)
    >>> cut.k, round(cut.confidence, 1), round(cut.overlap, 1)
    (1, 1.0, 1.0)
    """

    k: int
    confidence: float
    overlap: float
    n_samples: int


@dataclass(frozen=True, eq=False)
class Better(Result):
    """The probability that one item is better than another, and how far their strengths are apart.

    Attributes
    ----------
    first, second : hashable
        Labels.
    probability : float
        Probability, given the votes, that the true strength of `first` is larger.
    standard_error : float
        Of the probability, because it is the share of a finite number of draws; 0 without draws.
    difference : float
        Strength of `first` less that of `second`: the median of the draws, if there are any.
    interval : tuple of (float, float)
        Contains the true difference with probability `level`.
    level : float
    n_samples : int

    See Also
    --------
    Strengths.better : Returns it.
    Strengths.rank_intervals : Intervals of all ranks.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"] * 9, ["kiwi", "plum", "plum"] * 9, ["left"] * 27)
    >>> better = bradley_terry(votes, prior=2).better("fig", "plum")
    >>> better.probability > 0.99, better.interval[0] > 0
    (True, True)
    """

    first: Hashable
    second: Hashable
    probability: float
    standard_error: float
    difference: float
    interval: tuple[float, float]
    level: float
    n_samples: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {**super().to_dict(), "first": json_label(self.first), "second": json_label(self.second)}

    def __repr__(self) -> str:
        low, high = self.interval
        interval = f"({low:+.3g} to {high:+.3g}, level {self.level:g})"
        return (
            f"<Better: {self.first!r} than {self.second!r}, probability {self.probability:.3g}, "
            f"difference {self.difference:+.3g} {interval}>"
        )


@dataclass(frozen=True, eq=False)
class ExpectedCorrelation(Result):
    """Accuracy of a ranking, in units of a coefficient.

    Attributes
    ----------
    mean : float
        Mean over the posterior of the coefficient of the true ranking with the estimate.
    low, high : float
        The coefficient lies between them with probability `level`.
    level : float
    coefficient : Coefficient
    n_samples : int
    values : ndarray of float64, shape (n_samples,), read-only
        The coefficient of each drawn ranking; nan where it is undefined, and not part of the mean.

    See Also
    --------
    Strengths.expected_correlation : Returns it.
    stopping_rule : Stops at a target.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"] * 9, ["kiwi", "plum", "plum"] * 9, ["left"] * 27)
    >>> expected = bradley_terry(votes, prior=2).expected_correlation("tau")
    >>> round(expected.mean, 1), round(expected.low, 1), expected.level
    (1.0, 1.0, 0.9)
    """

    mean: float
    low: float
    high: float
    level: float
    coefficient: Coefficient
    n_samples: int
    values: Array

    def __float__(self) -> float:
        return self.mean

    def __repr__(self) -> str:
        return (
            f"<ExpectedCorrelation {self.coefficient!r}: {self.mean:.4f}, "
            f"{self.low:.4f} to {self.high:.4f} at level {self.level:g}>"
        )


def better_of(theta: Array, first: Hashable, second: Hashable, level: float) -> Better:
    """Compare two items by draws of their strengths, shape (n_samples, 2)."""
    share = checked_level(level, error=ModelError)
    differences = theta[:, 0] - theta[:, 1]
    n = differences.size
    probability = float((differences > 0).mean() + 0.5 * (differences == 0).mean())
    low, median, high = np.quantile(differences, [(1 - share) / 2, 0.5, (1 + share) / 2])
    smoothed = (probability * n + 1) / (n + 2)  # the share of all draws or of none has an error too
    error = math.sqrt(smoothed * (1 - smoothed) / n)
    return Better(first, second, probability, error, float(median), (float(low), float(high)), share, n)


def rank_intervals_of(draws: DrawnRanks, level: float, simultaneous: bool = False) -> RankIntervals:
    """Return the intervals between two quantiles of the drawn ranks, the same for all items.

    They leave out (1 - level) / 2 on either side or, if `simultaneous`, so little that a share `level` of the drawn
    rankings lies within all intervals at once.
    """
    confidence, is_simultaneous = checked_level(level, error=ModelError), checked_flag(simultaneous, "simultaneous")
    n_samples = len(draws.ranks)
    # Take quantiles that are drawn ranks, because values between two ranks are not ranks.
    tail = (1 - confidence) / 2
    shares = (tail, 0.5, 1 - tail)
    places = [min(n_samples - 1, max(0, int(np.ceil(share * n_samples - 1e-9)) - 1)) for share in shares]
    if is_simultaneous:

        def holds_enough(n_left_out: int) -> bool:
            low, high = draws.by_item[:, n_left_out], draws.by_item[:, n_samples - 1 - n_left_out]
            is_within = ((draws.ranks >= low) & (draws.ranks <= high)).all(axis=1)
            return bool(is_within.mean() >= confidence)

        most = min(places[0], n_samples - 1 - places[-1])
        # The largest number that holds enough; 0 leaves out nothing.
        n_left_out = bisect_left(range(1, most + 1), True, key=lambda number: not holds_enough(number))
        places = [n_left_out, places[1], n_samples - 1 - n_left_out]
    low, median, high = draws.by_item[:, places].T.copy()
    ranks = draws.estimate.ranks
    return RankIntervals(draws.items, ranks, low, median, high, confidence, n_samples, is_simultaneous)


def anytime_rank_intervals_of(estimate: Ranking, theta: Array, covariance: Array, level: float) -> RankIntervals:
    """Return the ranks that the ordered pairs of items leave possible, valid at every look.

    A pair is ordered if the e-value of its difference exceeds the number of pairs over 1 - level. A later look may undo
    the order.
    """
    share, n_items = checked_level(level, error=ModelError), theta.size
    is_above = log_evidence(theta, covariance) >= math.log(n_items * (n_items - 1) / 2 / (1 - share))
    low, high = 1.0 + is_above.sum(axis=0), n_items - is_above.sum(axis=1) * 1.0
    names = estimate.labels if estimate.labels is not None else range(n_items)
    return RankIntervals(names, estimate.ranks, low, estimate.ranks, high, share, 0, simultaneous=True, anytime=True)


def certain_above(ranks: Array, theta: Array, covariance: Array, k: int, level: float) -> int:
    """Return how many of the first k items are certain to be above all items after them, at every look.

    The first k are wrong only if an item of the true top k is below one that does not belong there, so the error is
    divided among k (n - k) pairs.
    """
    n_items = theta.size
    evidence = log_evidence(theta, covariance)[ranks <= k][:, ranks > k]
    return int(np.all(evidence >= math.log(max(1, k * (n_items - k)) / (1 - level)), axis=1).sum())


def log_evidence(theta: Array, covariance: Array) -> Array:
    """Return the logarithm of the e-value that an item (row) is above another; minus infinity if it is not.

    Items are ordered by their shares, the mean probability of winning against another item. If voters hardly ever
    err, the standard errors of shares are small, and those of strengths are large. The e-value is the mean of the
    normal mixtures of Robbins (1970) over differences d of shares with the standard deviations m of `MIXTURES`: with
    z = d / se and r = (m / se)^2, log e = (z^2 r / (1 + r) - log(1 + r)) / 2. If both items are equal, the probability
    that e ever exceeds 1/a is at most a, in the limit of many votes (Waudby-Smith et al. 2024).
    """
    # In place where it can be: with 3,000 items, each of these matrices has 72 MB.
    n_others = max(1, theta.size - 1)
    gradient = expit(theta[:, np.newaxis] - theta)
    share = (gradient.sum(axis=1) - 0.5) / n_others
    gradient *= (gradient - 1) / n_others
    np.fill_diagonal(gradient, 0.0)
    np.fill_diagonal(gradient, -gradient.sum(axis=1))
    variances = gradient @ covariance @ gradient.T
    del gradient
    variance = np.diagonal(variances).copy()
    variances *= -2
    variances += variance
    variances += variance[:, np.newaxis]
    np.maximum(variances, 1e-300, out=variances)
    np.fill_diagonal(variances, 1.0)
    squares = (share[:, np.newaxis] - share) ** 2
    squares /= variances
    evidence: Array = np.full_like(variances, -math.inf)
    for deviation in MIXTURES:
        ratio = deviation**2 / variances
        term = squares * ratio
        term /= 1 + ratio
        term -= np.log1p(ratio)
        term *= 0.5
        np.logaddexp(evidence, term, out=evidence)
    evidence -= math.log(len(MIXTURES))
    evidence[share[:, np.newaxis] <= share] = -math.inf
    return evidence


def top_probabilities_of(draws: DrawnRanks, k: int) -> TopProbabilities:
    """Return the share of drawn rankings that put each item in the top k; ties at the cut share the places left."""
    number = checked_k(k, len(draws.items))
    shares = in_top_shares(draws.ranks, number)
    return TopProbabilities(draws.items, draws.estimate.ranks, shares.mean(axis=0), number, len(shares))


def cut_of(draws: DrawnRanks, k: int) -> Cut:
    """Return the confidence of the cut after the estimated top k."""
    number = checked_k(k, len(draws.items))
    estimated = in_top_shares(draws.estimate.ranks[np.newaxis], number)[0]
    shares = in_top_shares(draws.ranks, number)
    certain, tied = estimated == 1, (estimated > 0) & (estimated < 1)
    agreed = shares[:, estimated == 0].sum(axis=1) < 1e-9
    if tied.any():
        # Tied items fill the places left, each choice equally likely: 1 / C(n, places).
        places = number - int(certain.sum())
        chance = 1 / math.comb(
            int(tied.sum()), places
        )  # in integers: C of over 1,000 tied items is too large for a float
        agreed = (shares[:, certain] == 1).all(axis=1) * agreed * chance
    return Cut(number, float(np.mean(agreed)), float(np.mean(shares @ estimated)), len(shares))


def expected_correlation_of(
    draws: DrawnRanks, coefficient: CoefficientLike, level: float, workers: int | None
) -> ExpectedCorrelation:
    """Return mean and interval of the coefficient of drawn rankings with the estimate."""
    coefficient_value, confidence = as_coefficient(coefficient), checked_level(level, error=ModelError)
    values = read_only(correlate_rows(coefficient_value, draws.ranks, draws.n_tied, draws.estimate, workers))
    defined = values[~np.isnan(values)]
    mean, low, high = float("nan"), float("nan"), float("nan")
    if defined.size:
        mean = float(defined.mean())
        low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2]).tolist()
    return ExpectedCorrelation(mean, low, high, confidence, coefficient_value, values.size, values)


def in_top_shares(ranks: Array, k: int) -> Array:
    """Return each item's share in the top k of each row, summing to k: 1 or 0, or a fraction for ties at the cut."""
    shares = (ranks <= k).astype(np.float64)
    # The ranks of a tied group with mid-rank r that straddles the cut begin at r - (size - 1) / 2.
    for row in np.flatnonzero(shares.sum(axis=1) != k).tolist():
        values, place, sizes = np.unique(ranks[row], return_inverse=True, return_counts=True)
        before = values - (sizes - 1) / 2 - 1
        shares[row] = np.clip((k - before) / sizes, 0.0, 1.0)[place]
    return shares


def checked_k(k: int, n_items: int) -> int:
    """Return the size of a top as an int, or raise ModelError."""
    number = whole_number(k)
    if number is None or not 1 <= number <= n_items:
        raise ModelError(f"k must be a whole number from 1 to the {n_items} items; got {shown(k)}")
    return number
