"""The ends of an interval are the parameters of a model at which the observed value would just not be surprising."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from rankcorr.inference.resampling import in_blocks
from rankcorr.inference.sorted_items import Values, derived_seed
from rankcorr.workers import Progress

Draw: TypeAlias = Callable[[np.random.Generator, Values], Values]

# Fewer resamples do not find the ends.
MIN_RESAMPLES: Final = 400
# Shares of the resamples: the middle of the interval, and three steps to each end. What is left over, a fifth, goes to
# a first look at all parameters.
MIDDLE, STEPS = 0.1, (0.07, 0.1, 0.18)
# The first look is dense where it starts, and reaches 4 to either side: 0.02 sinh(6).
DENSITY, REACH, N_BINS = 0.02, 6.0, 20
# Values closer than this are equal: in short lists a coefficient takes few values, which rounding must not split.
ROUNDING: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Inverted:
    """Ends of an interval, the standard deviation of the values in its middle, and the number of undefined values."""

    low: float
    high: float
    standard_error: float
    n_undefined: int


def inverted(
    draw: Draw,
    observed: float,
    start: float,
    *,
    level: float,
    n_resamples: int,
    numbers_each: int,
    seed: int,
    workers: int,
    progress: Progress | None = None,
) -> Inverted:
    """Interval of the mean of a value, by the inversion of tests.

    A model has one parameter, and the value increases with it. The interval of the parameter holds those at which a
    drawn value exceeds the observed one with a probability of (1 - level) / 2 to (1 + level) / 2; half of the values
    that equal it count. This probability is fitted near each end by a probit curve. The interval of the mean lies
    between the means of the value at the two ends.

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
    n_resamples : int
        Number of values to draw, at least 400.
    numbers_each, seed, workers, progress
        As for `in_blocks`.

    Returns
    -------
    Inverted
        nan where all drawn values are undefined.
    """
    from scipy.special import ndtri

    stages = Stages(draw, stage_sizes(n_resamples), numbers_each, seed, workers, progress)
    look = stages.drawn(lambda rng, size: start + DENSITY * np.sinh(rng.uniform(-REACH, REACH, size)))
    curve = Curve.of(*look)
    if curve is None:
        return Inverted(math.nan, math.nan, math.nan, stages.n_undefined)
    middle = curve.crossing(observed, 0.0)[0]
    values = stages.drawn(lambda _, size: np.full(size, middle))[1]
    error = float(values.std(ddof=1)) if values.size > 1 else math.nan
    quantile = float(ndtri((1 + level) / 2))
    # What no parameter can exceed is its own end.
    low = high = observed
    if look[1].min() < observed - ROUNDING:
        low = mean_at_end(stages, curve, observed, quantile)
    else:
        stages.skip(len(STEPS))
    if look[1].max() > observed + ROUNDING:
        high = mean_at_end(stages, curve, observed, -quantile)
    else:
        stages.skip(len(STEPS))
    return Inverted(low, high, error, stages.n_undefined)


@dataclass(slots=True)
class Stages:
    """Draws in stages of given sizes, each with a seed of its own."""

    draw: Draw
    sizes: Sequence[int]
    numbers_each: int
    seed: int
    workers: int
    progress: Progress | None
    n_done: int = 0
    n_undefined: int = 0

    def drawn(self, parameters: Callable[[np.random.Generator, int], Values]) -> Values:
        """Parameters, and the values drawn with them: the next stage, without the undefined values."""

        def task(rng: np.random.Generator, size: int) -> Values:
            chosen = parameters(rng, size)
            return np.stack([chosen, self.draw(rng, chosen)])

        blocks = in_blocks(
            task,
            self.sizes[self.n_done],
            self.numbers_each,
            seed=derived_seed(self.seed, self.n_done),
            workers=self.workers,
            progress=self.progress,
        )
        pairs = np.concatenate(blocks, axis=1)
        defined = ~np.isnan(pairs[1])
        self.n_done += 1
        self.n_undefined += pairs.shape[1] - int(defined.sum())
        return np.asarray(pairs[:, defined])

    def skip(self, number: int) -> None:
        """Leave some stages out; their draws count as done."""
        skipped = self.sizes[self.n_done : self.n_done + number]
        self.n_done += number
        if self.progress is not None:
            self.progress(sum(skipped))

    def between(self, first: float, last: float) -> Values:
        """The next stage, with parameters spread evenly between two."""
        return self.drawn(lambda rng, size: rng.uniform(first, last, size))


def mean_at_end(stages: Stages, curve: Curve, observed: float, distance: float) -> float:
    """Mean of the value where the observed one lies so many standard deviations above it, or as rarely found.

    A line through values drawn about the first guess, a probit curve through values drawn about the second, and
    another through values drawn about the third, each with steps as wide as the last one says.
    """
    at, width = curve.crossing(observed, distance)
    found = stages.between(at - 2.0 * width, at + 2.0 * width)
    at, width = on_line(found, observed, distance, at, width)
    for outwards, inwards in ((1.0, 1.5), (0.7, 1.1)):  # more on the side where the observed value is not so rare
        ends = at - math.copysign(outwards * width, distance), at + math.copysign(inwards * width, distance)
        found = np.concatenate([found, stages.between(min(ends), max(ends))], axis=1)
        near = found[:, (min(ends) <= found[0]) & (found[0] <= max(ends))]
        at, width = on_probit(near, observed, distance, at, width)
    return mean_at(near, at)


def stage_sizes(n_resamples: int) -> list[int]:
    """Number of resamples of each stage; they sum to all of them."""
    sizes = [round(share * n_resamples) for share in (MIDDLE, *STEPS, *STEPS)]
    return [n_resamples - sum(sizes), *sizes]


@dataclass(frozen=True, slots=True)
class Curve:
    """Mean and standard deviation of the value at some parameters, which ascend."""

    parameters: Values
    means: Values
    deviations: Values

    @classmethod
    def of(cls, parameters: Values, values: Values) -> Curve | None:
        """Straight lines through bins of drawn values; None with fewer than two bins."""
        order = np.argsort(parameters)
        n_bins = min(N_BINS, order.size // 4)
        if n_bins < 2:
            return None
        at, means, variances = np.empty((3, n_bins))
        for index, part in enumerate(np.array_split(order, n_bins)):
            at[index] = parameters[part].mean()
            means[index] = values[part].mean()
            slope, _ = line(parameters[part], values[part])
            variances[index] = (values[part] - means[index] - slope * (parameters[part] - at[index])).var()
        smooth = np.convolve(np.pad(variances, 1, mode="edge"), np.full(3, 1 / 3), mode="valid")
        return cls(at, np.maximum.accumulate(means), np.sqrt(smooth))

    def crossing(self, observed: float, distance: float) -> tuple[float, float]:
        """Parameter at which the observed value is so many standard deviations above the mean, and one of these.

        Both in units of the parameter.
        """
        reached = np.maximum.accumulate(self.means + distance * self.deviations)
        index = int(np.clip(np.searchsorted(reached, observed), 1, reached.size - 1))
        step = self.parameters[index] - self.parameters[index - 1]
        rise = reached[index] - reached[index - 1]
        share = float(np.clip((observed - reached[index - 1]) / rise, 0.0, 1.0)) if rise > 0 else 0.5
        climb = max(self.means[index] - self.means[index - 1], 1e-9)
        deviation = self.deviations[index - 1 : index + 1].mean()
        width = float(np.clip(step * deviation / climb, 0.25 * step, 2.0 * step + 0.5))
        return float(self.parameters[index - 1] + share * step), width


def line(parameters: Values, values: Values) -> tuple[float, float]:
    """Slope of the least-squares line, and its value at the mean parameter; slope 0 if all parameters are equal."""
    centred = parameters - parameters.mean()
    square = float(centred @ centred)
    return (float(centred @ values) / square if square > 0 else 0.0), float(values.mean())


def on_line(found: Values, observed: float, distance: float, at: float, width: float) -> tuple[float, float]:
    """`Curve.crossing` from values drawn in a window; as it was where they do not ascend."""
    parameters, values = found
    if values.size < 8:
        return at, width
    slope, mean = line(parameters, values)
    centre = parameters.mean()
    deviation = float((values - mean - slope * (parameters - centre)).std())
    if slope * width <= 0.05 * deviation or deviation == 0:
        return at, width
    better = centre + (observed - distance * deviation - mean) / slope
    return float(np.clip(better, at - 4 * width, at + 4 * width)), float(min(deviation / slope, 2 * width))


def on_probit(found: Values, observed: float, distance: float, at: float, width: float) -> tuple[float, float]:
    """Parameter at which the observed value is at the quantile, and the scale of the probit curve through all."""
    from scipy.special import ndtr

    parameters, values = found
    if values.size < 8:
        return at, width
    above = (values > observed + ROUNDING) + 0.5 * (np.abs(values - observed) <= ROUNDING)
    scaled = (parameters - at) / width
    terms = np.stack([np.ones_like(scaled), scaled])
    # The start is the prior guess. It weighs as much as a hundredth of a value, so that there always is a maximum.
    guess = np.array([-distance, 1.0])
    fit = guess.copy()
    for _ in range(25):
        linear = np.clip(fit @ terms, -6.0, 6.0)
        chance = ndtr(linear)
        density = np.exp(-0.5 * linear * linear) / math.sqrt(2 * math.pi)
        weight = density / (chance * (1 - chance))
        information = (terms * (weight * density)) @ terms.T + 0.01 * np.eye(2)
        step = np.linalg.solve(information, terms @ (weight * (above - chance)) - 0.01 * (fit - guess))
        fit = fit + np.clip(step, -1.0, 1.0)
        if np.abs(step).max() < 1e-6:
            break
    if fit[1] < 0.05:
        return at, width
    better = at + width * float(np.clip((-distance - fit[0]) / fit[1], -3.0, 3.0))
    return better, float(np.clip(width / fit[1], 0.3 * width, 2.0 * width))


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
