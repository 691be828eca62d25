"""The ends of an interval are the parameters of a model at which the observed value would just not be surprising."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from rankcorr.inference.resampling import Draws
from rankcorr.inference.sorted_items import Values

Draw: TypeAlias = Callable[[np.random.Generator, Values], Values]

# Fewer resamples do not find the ends.
MIN_RESAMPLES: Final = 1_000
# Shares of the resamples: the middle of the interval, and three steps to each end. The rest, three tenths, goes to the
# search.
MIDDLE, STEPS = 0.08, (0.08, 0.08, 0.15)
# The search halves an interval so often that is dense where it starts, and reaches 4 to either side: 0.02 sinh(6).
HALVINGS, REACH, DENSITY = 10, 6.0, 0.02
# Precision of the first guess at a probit curve; that of one value is at most 0.64.
PRIOR: Final = 0.03
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
    numbers_each: int,
    draws: Draws,
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
    # Where all values lie on one side of the observed one, it is the end itself.
    low, high = (low if stages.falls_below else observed), (high if stages.exceeds else observed)
    return Inverted(low, high, error, stages.n_undefined)


@dataclass(slots=True)
class Stages:
    """Draws in stages of given sizes, each with a seed of its own."""

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
        blocks = stage.in_blocks(task, self.numbers_each)
        pairs = np.concatenate(blocks, axis=1)
        defined = ~np.isnan(pairs[1])
        self.n_done += 1
        self.n_undefined += pairs.shape[1] - int(defined.sum())
        return np.asarray(pairs[:, defined])

    def searched(self, observed: float, start: float) -> Values:
        """The first stage: parameters at which values drawn with the same numbers come to exceed the observed one.

        They are found by halving, one for each ten draws. A value that equals the observed one, or is undefined, counts
        as larger for every second of them.
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

        progress = self.draws.progress

        def report(number: int) -> None:
            assert progress is not None
            progress(HALVINGS * number)

        told = None if progress is None else report
        stage = replace(self.draws.of_part(0), n_resamples=self.sizes[0] // HALVINGS, progress=told)
        blocks = stage.in_blocks(task, self.numbers_each)
        self.n_done = 1
        self.n_undefined = sum(int(block[-1]) for block in blocks)
        return np.concatenate([block[:-1] for block in blocks])

    def between(self, first: float, last: float) -> Values:
        """The next stage, with parameters spread evenly between two."""
        return self.drawn(lambda rng, size: rng.uniform(first, last, size))


def mean_at_end(stages: Stages, roots: Values, observed: float, distance: float) -> float:
    """Mean of the value where the observed one lies so many standard deviations above it, or as rarely found.

    Quantiles of the roots tell where to draw values; a probit curve through these, where to draw more.
    """
    # The levels 0.1 and 0.3 of the normal distribution: the outermost roots are few.
    sign = math.copysign(1.0, distance)
    outer, inner = np.quantile(sign * roots, [0.1, 0.3]).tolist()
    width = max((inner - outer) / 0.757, 1e-3 * DENSITY)
    at = sign * (outer - (abs(distance) - 1.282) * width)
    found = np.empty((2, 0))
    for outwards, inwards in ((1.2, 1.6), (0.9, 1.3), (0.7, 1.1)):
        # More on the side where the observed value is not so rare.
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
    """Parameter at which the observed value is at the quantile, and the scale of the probit curve through all."""
    from scipy.special import ndtr

    parameters, values = found
    if values.size < 8:
        return at, width
    above = (values > observed + ROUNDING) + 0.5 * (np.abs(values - observed) <= ROUNDING)
    scaled = (parameters - at) / width
    terms = np.stack([np.ones_like(scaled), scaled])
    # The first guess weighs as much as a few hundredths of a value, so that there always is a maximum.
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
    # No farther than half a step past the values: beyond them nothing is known.
    first, last = float(parameters.min()), float(parameters.max())
    better = at + width * (-distance - fit[0]) / fit[1]
    better = min(max(better, first - 0.3 * width), last + 0.3 * width)
    return better, float(np.clip(width / fit[1], 0.5 * width, 1.6 * width))


def probit_likelihood(fit: Values, guess: Values, terms: Values, above: Values) -> float:
    """Log-likelihood of a probit curve, less its squared distance from a guess."""
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
