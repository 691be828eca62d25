"""Resamples of one ranking together with others, drawn from a t copula that is fitted to them, and their intervals.

A copula is the part of a distribution that ranks determine. In a bootstrap of items, copies of an item are ties at the
very top, where a top-weighted coefficient puts its weight; items drawn from a copula are new ones, and tie only where
the rankings do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rankcorr.inference._resampling import Counts, Draws, SortedItems, Values

# Degrees of freedom that a fit may choose; infinity is the normal copula.
DEGREES: Final = (2.0, 3.0, 5.0, 9.0, 20.0, math.inf)
# Distances, in Fisher's z, of the correlations that a fit tries from that of the normal scores.
DISTANCES: Final = np.arange(-1.2, 1.25, 0.15)
# The better half of the items determines the degrees of freedom if its ranks have this share of the weight. With all
# items, the intervals of a top-weighted coefficient are too wide if the rankings agree mostly at the bottom.
TOP_SHARE: Final = 0.75
# Fisher's z of the correlation of two identical rankings.
STRONGEST: Final = 14.0
# To measure how ties change a correlation, rankings with ties are drawn at these standard deviations of the noise, and
# with this number of items in all draws for each: 20 items have 250 draws, so a sixteenth of the error of the data.
NOISES: Final = np.geomspace(0.005, math.sqrt(2.0), 12)
ITEMS_DRAWN: Final = 5_000
Draw: TypeAlias = Callable[[np.random.Generator, Values], Values]

# Fewer resamples do not find the ends.
MIN_RESAMPLES: Final = 1_000
# Shares of the resamples: the middle of the interval, and three steps to each end. The rest, three tenths, goes to the
# search.
MIDDLE, STEPS = 0.08, (0.08, 0.08, 0.15)
# The number of halvings makes the search dense near its start; it reaches 4 to either side: 0.02 sinh(6).
HALVINGS, REACH, DENSITY = 10, 6.0, 0.02
# Precision of the first guess at a probit curve; the precision of one value is at most 0.64.
PRIOR: Final = 0.03
# Values closer than this are equal: in short lists a coefficient takes few values, which rounding must not split.
ROUNDING: Final = 1e-12


@dataclass(frozen=True, eq=False)
class TCopula:
    """A t copula of one ranking x with others.

    Attributes
    ----------
    items : SortedItems
        The rankings. An item of a resample falls into a group of ties with a probability equal to the group's share of
        the items.
    strengths : ndarray of shape (n_rankings,)
        Fisher's z of the correlation of x with each other ranking.
    degrees : float
        Degrees of freedom.
    """

    items: SortedItems
    strengths: Values
    degrees: float

    @classmethod
    def fitted(cls, items: SortedItems) -> TCopula:
        """Fit the correlations to the normal scores of the ranks, and then the degrees of freedom by likelihood."""
        with np.errstate(divide="ignore"):
            strengths = np.arctanh(before_ranking(items, score_correlations(items)))
        strengths = np.clip(strengths, -STRONGEST, STRONGEST)
        return cls(items, strengths, fitted_degrees(items, strengths))

    def draw(self, rng: np.random.Generator, strengths: Values) -> Values:
        """Coefficient of x with each other ranking in each resample; nan if undefined.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of randomness.
        strengths : ndarray of shape (n_resamples, n_rankings)
            Fisher's z of the correlations of x with the others, in each resample.

        Returns
        -------
        ndarray of shape (n_resamples, n_rankings)
        """
        return self.items.of_keys(self.drawn_keys(rng, strengths))

    def drawn_keys(self, rng: np.random.Generator, strengths: Values) -> Counts:
        """Rankings of the resamples that `draw` takes, as `SortedItems.of_keys` reads them."""
        from rankcorr.inference import _kernels as kernels

        n_draws, n_others = strengths.shape
        n_items = self.items.n_items
        scores = rng.standard_normal((n_draws, 1 + n_others, n_items))
        scales = np.ones((n_draws, n_items))
        if math.isfinite(self.degrees):
            scales = np.sqrt(0.5 * self.degrees / rng.standard_gamma(0.5 * self.degrees, (n_draws, n_items)))
        packed, bits = np.empty(scores.shape, np.int64), (n_items - 1).bit_length()
        kernels.packed_scores(scores, scales, strengths, bits, packed)
        packed.sort(axis=-1)
        keys = np.empty(packed.shape, np.int32)
        kernels.drawn_keys(packed, bits, *self._ties, keys)
        return keys

    @property
    def numbers_each(self) -> int:
        """Numbers that one resample takes in memory, in the units of `in_blocks`."""
        # A sixth of them: with 32 resamples of 1,000 items in a call, each costs 0.7 times as much as with 5.
        return (1 + self.strengths.size) * self.items.n_items // 2

    @cached_property
    def _ties(self) -> tuple[Values, NDArray[np.int64]]:
        """Scores between which each group of ties lies, and where those of each ranking start."""
        ends: list[Values] = []
        for keys in (self.items.x_keys, *self.items.y_keys):
            starts, sizes = np.unique(np.sort(keys), return_index=True, return_counts=True)[1:]
            tied = sizes > 1
            reach = np.stack([starts[tied], starts[tied] + sizes[tied]], axis=1).ravel()
            ends.append(quantiles(reach / self.items.n_items, self.degrees))
        return np.concatenate(ends), np.cumsum([0, *(each.size for each in ends)])


def quantiles(shares: Values, degrees: float) -> Values:
    """Quantiles of Student's t distribution, or of the normal one."""
    from scipy.special import ndtri, stdtrit

    if math.isinf(degrees):
        return np.asarray(ndtri(shares))
    found = np.where(shares > 0, stdtrit(degrees, shares), -math.inf)  # stdtrit of 0 is inf,
    return np.where(shares < 1, found, math.inf)  # and that of 1 is nan before scipy 1.16


def score_correlations(items: SortedItems) -> Values:
    """Correlations of the normal scores of x with those of each other ranking."""
    ranks = np.stack([items.x_ranks, *(0.5 * items.y_halves)])
    scores = quantiles((ranks - 0.5) / items.n_items, math.inf)
    scores -= scores.mean(axis=1, keepdims=True)
    scores /= np.sqrt((scores * scores).mean(axis=1, keepdims=True))
    return np.asarray((scores @ scores.T / items.n_items)[0, 1:])


def without_rounding(correlations: Values, n_items: int) -> Values:
    """Correlations of scores known only by their ranks, from those of the normal scores of the ranks.

    Ranks round scores. Let two rankings differ by noise of standard deviation s that is small compared with the gap g
    between neighbours. Then few items change places, but these move by a whole gap. For items spread evenly, the mean
    squared difference of an item's scores is s^2 + c s with c = 2 g / sqrt(pi), instead of s^2. No rounding shows in
    independent rankings, where s = sqrt(2). The formula s^2 + c s (1 - s / sqrt(2)) is right at both ends, and within
    0.05 c between them. It is solved for s.
    """
    scores = quantiles((np.arange(n_items) + 0.5) / n_items, math.inf)
    rounding = 2 * (scores[-1] - scores[0]) / (n_items * scores.std() * math.sqrt(math.pi))
    rest = 1 - rounding / math.sqrt(2)
    squares = np.maximum(2 - 2 * np.abs(correlations), 0.0)
    noise = (np.sqrt(rounding * rounding + 4 * rest * squares) - rounding) / (2 * rest)
    return np.asarray(np.copysign(1 - 0.5 * noise * noise, correlations))


def before_ranking(items: SortedItems, rounded: Values) -> Values:
    """Correlations of scores, from those of the normal scores of their ranks: without rounding, or without ties."""
    smooth = without_rounding(rounded, items.n_items)
    x_halves = (2 * items.x_ranks).astype(np.int32)
    for other, y_halves in enumerate(items.y_halves):
        if min(np.unique(x_halves).size, np.unique(y_halves).size) < items.n_items:
            smooth[other] = without_ties(items, x_halves, y_halves, float(rounded[other]))
    return smooth


def without_ties(items: SortedItems, x_halves: Counts, y_halves: Counts, correlation: float) -> float:
    """Correlation of scores that gives drawn rankings with the same ties this correlation of normal scores.

    The mid-ranks, times 2, determine the ties; the weights of the items do not matter. Drawn rankings are ranked like
    the given ones, so this accounts for the rounding to ranks too.
    """
    if correlation < 0:
        return -without_ties(items, x_halves, 2 * (items.n_items + 1) - y_halves, -correlation)
    order = np.argsort(x_halves, kind="stable")
    pair = replace(items, x_keys=x_halves[order] // 2 - 1, y_halves=y_halves[np.newaxis, order])
    copula = TCopula(pair, np.zeros(1), math.inf)
    n_items = items.n_items
    shape = max(4, ITEMS_DRAWN // n_items), 2, n_items
    first_of = (np.arange(shape[0] * 2) * n_items).reshape(*shape[:2], 1)
    scores_of = quantiles(np.arange(1, 2 * n_items) / (2 * n_items), math.inf)  # of the ranks 1, 1.5, 2, .. n
    squares = []
    for noise in NOISES.tolist():
        strength = math.atanh(max(1 - 0.5 * noise * noise, 0.0))
        # The same numbers each time, so that the squares increase.
        keys = copula.drawn_keys(np.random.default_rng(0), np.full((shape[0], 1), strength)) + first_of
        sizes = np.bincount(keys.ravel(), minlength=keys.size)[keys]
        scores = scores_of[2 * (keys - first_of) + sizes - 1]
        scores -= scores.mean(axis=-1, keepdims=True)
        lengths = np.sqrt((scores * scores).sum(axis=-1))
        products = (scores[:, 0] * scores[:, 1]).sum(axis=-1)
        defined = lengths.min(axis=1) > 0
        if not defined.any():  # all but a few of many items are tied
            return correlation
        squares.append(2 - 2 * np.mean(products[defined] / lengths[defined].prod(axis=1)))
    drawn, observed = np.sqrt(np.maximum.accumulate(squares)), math.sqrt(max(2 - 2 * correlation, 0.0))
    # Rankings that differ by less than any drawn ones differ only by their ties.
    found = float(np.interp(observed, drawn, NOISES, left=0.0))
    return 1 - 0.5 * found * found


def decided_by_top(items: SortedItems) -> bool:
    """Whether the better half of the ranks has most of the weight."""
    weights = items.table if items.expected else items.table[::2]
    return bool(weights[: (items.n_items + 1) // 2].sum() >= TOP_SHARE * weights.sum())


def fitted_degrees(items: SortedItems, strengths: Values) -> float:
    """Degrees of freedom that give x and the others, one by one, the largest likelihood together.

    `strengths` are Fisher's z of correlations near which that of each other ranking lies.
    """
    n_items = items.n_items
    shares = np.arange(1, 2 * n_items) / (2 * n_items)  # of the ranks 1, 1.5, 2, .. n
    by_top = decided_by_top(items)
    likelihoods = np.zeros(len(DEGREES))
    x_halves = (2 * items.x_ranks).astype(np.int64)
    for row, degrees in enumerate(DEGREES):
        scores = quantiles(shares, degrees)
        for y_halves, strength in zip(items.y_halves, strengths, strict=True):
            kept = x_halves + y_halves <= 2 * n_items + 2 if by_top else slice(None)
            x, y = scores[x_halves[kept] - 2], scores[y_halves[kept] - 2]
            likelihoods[row] += max(log_likelihood(x, y, each, degrees) for each in (strength + DISTANCES).tolist())
    return DEGREES[int(likelihoods.argmax())]


def log_likelihood(x: Values, y: Values, strength: float, degrees: float) -> float:
    """Log-likelihood of a t copula, given the quantiles of the ranks and Fisher's z of the correlation."""
    r, square = math.tanh(strength), math.cosh(strength) ** -2
    total = -0.5 * math.log(square) * x.size
    distances = (x * x - 2 * r * x * y + y * y) / square
    if math.isinf(degrees):
        return total - 0.5 * float((distances - x * x - y * y).sum())
    half = 0.5 * degrees
    total += x.size * (math.lgamma(half + 1) + math.lgamma(half) - 2 * math.lgamma(half + 0.5))
    total -= (half + 1) * float(np.log1p(distances / degrees).sum())
    return total + (half + 0.5) * float((np.log1p(x * x / degrees) + np.log1p(y * y / degrees)).sum())


def coefficient_interval(items: SortedItems, observed: float, *, level: float, draws: Draws) -> Inverted:
    """Interval of the coefficient of x with the first other ranking, by tests of its correlation in the copula."""
    copula = TCopula.fitted(items)

    def draw(rng: np.random.Generator, strengths: Values) -> Values:
        return copula.draw(rng, strengths[:, np.newaxis])[:, 0]

    # Rankings that agree have no largest correlation; with one of 1 - 2 / n^2 they agree in about half of the draws.
    most = math.log(items.n_items)
    start = float(np.clip(copula.strengths[0], -most, most))
    return inverted(draw, observed, start, level=level, numbers_each=copula.numbers_each, draws=draws)


class Inverted(NamedTuple):
    """Ends of an interval, the standard deviation of the values in its middle, and the number of undefined values."""

    low: float
    high: float
    standard_error: float
    n_undefined: int


def inverted(draw: Draw, observed: float, start: float, *, level: float, numbers_each: int, draws: Draws) -> Inverted:
    """Interval of the mean of a value, by the inversion of tests.

    A model has one parameter, and the value increases with it. The interval of the parameter holds those at which a
    drawn value exceeds the observed one with a probability of (1 - level) / 2 to (1 + level) / 2, where a value equal
    to the observed one counts half. This probability is fitted near each end by a probit curve. The interval of the
    mean lies between the means of the value at the two ends.

    Parameters
    ----------
    draw : callable
        Takes a generator and an array of parameters, and returns a value for each; nan if undefined.
    observed : float
        The observed value.
    start : float
        A guess at the parameter.
    level : float
        Level of confidence.
    numbers_each : int
        As for `in_blocks`.
    draws : Draws
        At least 1,000 values are drawn.

    Returns
    -------
    Inverted
        nan where all drawn values are undefined.
    """
    from scipy.special import ndtri

    stages = Stages(draw, stage_sizes(draws.n_resamples), numbers_each, draws)
    roots = stages.searched(observed, start)
    if stages.n_undefined == roots.size * HALVINGS:
        return Inverted(math.nan, math.nan, math.nan, draws.n_resamples)
    values = stages.drawn(lambda _, size: np.full(size, np.median(roots)))[1]
    error = float(values.std(ddof=1)) if values.size > 1 else math.nan
    quantile = float(ndtri((1 + level) / 2))
    low = mean_at_end(stages, roots, observed, quantile)
    high = mean_at_end(stages, roots, observed, -quantile)
    # If all values lie on one side of the observed one, it is the end itself.
    low, high = (low if stages.falls_below else observed), (high if stages.exceeds else observed)
    return Inverted(low, high, error, stages.n_undefined)


@dataclass(slots=True)
class Stages:
    """Draws in stages of given sizes, with a separate seed for each stage."""

    draw: Draw
    sizes: Sequence[int]
    numbers_each: int
    draws: Draws
    n_done: int = 0
    n_undefined: int = 0
    falls_below: bool = False
    exceeds: bool = False

    def drawn(self, parameters: Callable[[np.random.Generator, int], Values]) -> Values:
        """Parameters, and the values drawn with them: the next stage, without the undefined values."""

        def task(rng: np.random.Generator, size: int) -> Values:
            chosen = parameters(rng, size)
            return np.stack([chosen, self.draw(rng, chosen)])

        stage = replace(self.draws.of_part(self.n_done), n_resamples=self.sizes[self.n_done])
        pairs = np.concatenate(stage.in_blocks(task, self.numbers_each), axis=1)
        defined = ~np.isnan(pairs[1])
        self.n_done += 1
        self.n_undefined += pairs.shape[1] - int(defined.sum())
        return np.asarray(pairs[:, defined])

    def searched(self, observed: float, start: float) -> Values:
        """Run the first stage: find the parameters from which drawn values exceed the observed one.

        The same random numbers are used for all parameters, and halving finds one parameter for each ten draws. A value
        that equals the observed one, or is undefined, counts as larger for half of the parameters, chosen at random.
        """

        def task(rng: np.random.Generator, size: int) -> Values:
            key = int(rng.integers(1 << 62))
            larger = rng.random(size) < 0.5
            low, high = np.full(size, -REACH), np.full(size, REACH)
            undefined = 0
            for _ in range(HALVINGS):
                middle = 0.5 * (low + high)
                values = self.draw(np.random.default_rng(key), start + DENSITY * np.sinh(middle))
                undefined += int(np.isnan(values).sum())
                values = np.where(np.isnan(values), observed, values)
                above = np.where(np.abs(values - observed) <= ROUNDING, larger, values > observed)
                low, high = np.where(above, low, middle), np.where(above, middle, high)
                if np.any(values < observed - ROUNDING):
                    self.falls_below = True
                if np.any(values > observed + ROUNDING):
                    self.exceeds = True
            return np.append(start + DENSITY * np.sinh(0.5 * (low + high)), undefined)

        stage = replace(
            self.draws.of_part(0),
            n_resamples=self.sizes[0] // HALVINGS,
            progress=lambda number: self.draws.progress(HALVINGS * number),
        )
        blocks = stage.in_blocks(task, self.numbers_each)
        self.n_done = 1
        self.n_undefined = sum(int(block[-1]) for block in blocks)
        return np.concatenate([block[:-1] for block in blocks])

    def between(self, first: float, last: float) -> Values:
        """The next stage, with parameters spread evenly between two."""
        return self.drawn(lambda rng, size: rng.uniform(first, last, size))


def mean_at_end(stages: Stages, roots: Values, observed: float, distance: float) -> float:
    """Mean of the value at the parameter that puts the observed one this many deviations above it, or makes it as rare.

    Quantiles of the roots determine where to draw values; a probit curve through these, where to draw more.
    """
    # The levels 0.1 and 0.3 of the normal distribution: the outermost roots are few.
    sign = math.copysign(1.0, distance)
    outer, inner = np.quantile(sign * roots, [0.1, 0.3]).tolist()
    width = max((inner - outer) / 0.757, 1e-3 * DENSITY)
    at = sign * (outer - (abs(distance) - 1.282) * width)
    found = np.empty((2, 0))
    for outwards, inwards in ((1.2, 1.6), (0.9, 1.3), (0.7, 1.1)):
        # More on the side where the observed value is less rare.
        ends = sorted((at - sign * outwards * width, at + sign * inwards * width))
        found = np.concatenate([found, stages.between(*ends)], axis=1)
        near = found[:, (ends[0] <= found[0]) & (found[0] <= ends[1])]
        at, width = on_probit(near, observed, distance, at, width)
    return mean_at(near, at)


def stage_sizes(n_resamples: int) -> list[int]:
    """Number of resamples of each stage; they sum to all of them, and the first is a multiple of the halvings."""
    sizes = [round(share * n_resamples) for share in (MIDDLE, *STEPS, *STEPS)]
    rest = n_resamples - sum(sizes)
    sizes[0] += rest % HALVINGS
    return [rest - rest % HALVINGS, *sizes]


def on_probit(found: Values, observed: float, distance: float, at: float, width: float) -> tuple[float, float]:
    """Parameter with the observed value at the quantile, and the scale of the probit curve through all."""
    from scipy.special import ndtr

    parameters, values = found
    if values.size < 8:
        return at, width
    above = (values > observed + ROUNDING) + 0.5 * (np.abs(values - observed) <= ROUNDING)
    scaled = (parameters - at) / width
    terms = np.stack([np.ones_like(scaled), scaled])
    # The first guess counts as much as a few hundredths of a value, so that there always is a maximum.
    guess = np.array([-distance, 1.0])
    fit, best = guess, -math.inf
    step = np.zeros(2)
    for _ in range(40):
        trial = fit + step
        likelihood = probit_likelihood(trial, guess, terms, above)
        if likelihood < best:  # the likelihood is concave: part of the way goes up
            step = 0.5 * step
            if np.abs(step).max() < 1e-9:
                break
            continue
        fit, gained, best = trial, likelihood - best, likelihood
        if gained < 1e-9:
            break
        linear = np.clip(fit @ terms, -8.0, 8.0)
        chance = np.clip(ndtr(linear), 1e-15, 1 - 1e-15)
        density = np.exp(-0.5 * linear * linear) / math.sqrt(2 * math.pi)
        weight = density / (chance * (1 - chance))
        information = (terms * (weight * density)) @ terms.T + PRIOR * np.eye(2)
        step = np.linalg.solve(information, terms @ (weight * (above - chance)) - PRIOR * (fit - guess))
    if fit[1] < 0.1:
        return at, width
    # At most half a step past the values: beyond them nothing is known.
    first, last = float(parameters.min()), float(parameters.max())
    better = at + width * (-distance - fit[0]) / fit[1]
    better = min(max(better, first - 0.3 * width), last + 0.3 * width)
    return better, float(np.clip(width / fit[1], 0.5 * width, 1.6 * width))


def probit_likelihood(fit: Values, guess: Values, terms: Values, above: Values) -> float:
    """Log-likelihood of a probit curve, minus its squared distance from a guess."""
    from scipy.special import log_ndtr

    linear = fit @ terms
    likelihood = float(above @ log_ndtr(linear) + (1 - above) @ log_ndtr(-linear))
    return likelihood - 0.5 * PRIOR * float((fit - guess) @ (fit - guess))


def mean_at(found: Values, at: float) -> float:
    """Mean value at a parameter, by a parabola through values drawn about it; nan without values."""
    parameters, values = found
    if values.size == 0:
        return math.nan
    centred = parameters - at
    degree = 2 if values.size > 20 else 0
    scale = float(np.abs(centred).max()) or 1.0
    mean = float(np.polynomial.polynomial.polyfit(centred / scale, values, degree)[0])
    return float(np.clip(mean, values.min(), values.max()))
