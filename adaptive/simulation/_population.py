"""Fit a `VoterPopulation` to votes: the ranges of nonconformity and oversight, with intervals.

votes -> strengths -> similarities -> likelihood of each voter's votes at each level -> posterior of the box of levels
-> the same from simulated votes -> regression of true levels on estimates, and intervals
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ModelError
from adaptive.model._models import bradley_terry
from adaptive.model._strengths import Strengths
from adaptive.simulation._similarity import checked_similarity, named_similarity
from adaptive.simulation._voters import Amplitude, VoterPopulation, vanishing_amplitude
from rankcorr._checks import checked_level, checked_seed, shown, whole_number
from rankcorr._output.results import TableResult, read_only
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]

# Cells of the levels, narrower near 0: 40 for s up to 1, and 30 for e up to 0.5, where answers are random.
LEVEL_EDGES: Final = (np.arange(41) / 40) ** 2
LAPSE_EDGES: Final = 0.5 * (np.arange(31) / 30) ** 2

NAMES: Final = ("nonconformity_least", "nonconformity_largest", "oversight_least", "oversight_largest")

_REFERENCE: Final = 0.1  # nonconformity by definition, if similarities are derived from strengths
_LOGISTIC: Final = 1.702  # scale of the logistic curve relative to the nearest normal curve
_BLOCK_NUMBERS: Final = 1 << 21  # opinions drawn at a time: 16 MB
_BIASED: Final = np.array([True, True, False, False])  # whether the posterior of each number is biased
_LEAST_RESAMPLES: Final = 16
_REGION: Final = 2.5  # half-width of the region of simulated populations, in standard errors
_MOST: Final = np.sqrt([LEVEL_EDGES[-1]] * 2 + [LAPSE_EDGES[-1]] * 2)


@dataclass(frozen=True, eq=False, repr=False)
class PopulationFit(TableResult):
    """A population of voters fitted to votes, and the uncertainty of its four numbers.

    The table has one row for each number, with the columns level, estimate, low, high and uncorrected.

    Attributes
    ----------
    population : VoterPopulation
        The estimate. With its indifference, simulated voters tie as often as the real ones.
    similarity : ndarray of float64, shape (n_items,), read-only
        Similarities of the items, in the order of the items of the votes.
    relatedness : bool
        Whether voters judge abs(z), or z itself.
    level : float
        Nominal coverage of each interval.
    uncorrected : tuple of float
        Estimates of the four numbers before bias correction, in the order of `rows`.
    intervals : ndarray of float64, shape (4, 2), read-only
        Lower and upper ends for the four numbers, in the order of `rows`.
    n_votes, resamples : int
        Number of votes, and of simulations in the last stage.

    See Also
    --------
    fit_population : Returns it.
    VoterPopulation : The type of `population`.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Comparisons, VoterPopulation, draw_ballot, exponential_similarity, fit_population
    >>> rng = np.random.default_rng(1)
    >>> pool, ballot = VoterPopulation(n_voters=10).draw(rng), draw_ballot(30, 20, 10, rng)
    >>> answers = pool.answer(ballot, pool.opinions(exponential_similarity(30), rng), rng)
    >>> fit = fit_population(Comparisons.from_ballots([(ballot, answers)]), similarity="exponential", resamples=16)
    >>> list(fit.intervals_by_name), fit.level
    (['nonconformity_least', 'nonconformity_largest', 'oversight_least', 'oversight_largest'], 0.9)
    """

    _caption: ClassVar[str] = "Voters like those who voted"

    population: VoterPopulation
    similarity: NDArray[np.float64]
    relatedness: bool
    level: float
    uncorrected: tuple[float, float, float, float]
    intervals: NDArray[np.float64]
    n_votes: int
    resamples: int

    def __post_init__(self) -> None:
        read_only((self.similarity, self.intervals))

    @property
    def intervals_by_name(self) -> dict[str, tuple[float, float, float]]:
        """Return estimate, low and high of each level."""
        return {name: (estimate, low, high) for name, estimate, low, high, _ in self.rows()}

    def rows(self) -> list[tuple[str, float, float, float, float]]:
        """Return the rows of the table: level, estimate, low, high and uncorrected."""
        estimates = (*self.population.nonconformity, *self.population.oversight)
        low, high = self.intervals.T.tolist()
        return list(zip(NAMES, estimates, low, high, self.uncorrected, strict=True))

    def _columns(self) -> dict[str, list[Any]]:
        names = ("level", "estimate", "low", "high", "uncorrected")
        return dict(zip(names, map(list, zip(*self.rows(), strict=True)), strict=True))

    def __repr__(self) -> str:
        shown_rows = self.intervals_by_name
        parts = []
        for name in ("nonconformity", "oversight"):
            ends = [shown_rows[f"{name}_{end}"] for end in ("least", "largest")]
            parts.append(f"{name} " + " to ".join(f"{v:.3f} ({low:.3f} to {high:.3f})" for v, low, high in ends))
        voters = self.population.n_voters
        return f"<PopulationFit of {self.n_votes:,} votes, {voters:,} voters: {'; '.join(parts)}>"


@dataclass(frozen=True, eq=False)
class _Votes:
    """Votes by voter, and the other inputs of the estimates."""

    comparisons: Comparisons  # sorted by voter
    start: Array  # first vote of each voter, and the number of votes
    shape: Array | None  # similarities, best first; None to derive them from the strengths
    relatedness: bool
    amplitude: Amplitude
    prior: float | None = None

    @property
    def n_voters(self) -> int:
        """Number of voters with at least one vote."""
        return self.start.size - 1

    def similarity(self, comparisons: Comparisons) -> Array:
        strengths = bradley_terry(comparisons, prior=self.prior)
        if self.shape is None:
            return similarity_of_strengths(strengths)
        similarity = np.empty(comparisons.n_items)
        similarity[np.argsort(-strengths.theta, kind="stable")] = self.shape
        return similarity

    def posterior(self, comparisons: Comparisons) -> tuple[Posterior, Array]:
        """Return the posterior of the four numbers, and the similarities."""
        from adaptive.simulation._population_kernels import log_likelihoods

        similarity = self.similarity(comparisons)
        levels, lapses = (LEVEL_EDGES[1:] + LEVEL_EDGES[:-1]) / 2, (LAPSE_EDGES[1:] + LAPSE_EDGES[:-1]) / 2
        surfaces = np.empty((self.n_voters, levels.size, lapses.size))
        votes = comparisons.left, comparisons.right, comparisons.winner, self.start
        amplitude = np.abs(np.asarray(self.amplitude(similarity), np.float64))
        log_likelihoods(votes, similarity, amplitude, self.relatedness, levels, lapses, surfaces)
        return box_posterior(surfaces), similarity

    def simulated(self, roots: Array, similarity: Array, rng: np.random.Generator) -> tuple[Comparisons, float]:
        """Simulate votes of new voters from a population on the same comparisons; return them and the indifference.

        The number of ties stays the same: comparisons whose opinions differ least become ties.
        """
        votes = self.comparisons
        pool = _population(roots, self.n_voters, self.amplitude).draw(rng)
        voter = np.repeat(np.arange(self.n_voters), np.diff(self.start))
        block = max(1, _BLOCK_NUMBERS // votes.n_items)
        difference = np.empty(votes.n_comparisons)
        for first in range(0, self.n_voters, block):
            last = min(self.n_voters, first + block)
            rows = slice(self.start[first], self.start[last])
            levels = {name: getattr(pool, name)[first:last] for name in ("nonconformity", "oversight")}
            opinions = replace(pool, **levels).opinions(similarity, rng, relatedness=self.relatedness)
            row = voter[rows] - first
            difference[rows] = opinions[row, votes.left[rows]] - opinions[row, votes.right[rows]]
        winner = np.sign(difference).astype(np.int8)
        overlooked = rng.random(winner.size) < pool.oversight[voter]
        np.negative(winner, out=winner, where=overlooked)
        indifference = 0.0
        if votes.n_ties:
            distance = np.abs(difference)
            indifference = float(np.quantile(distance, votes.n_ties / votes.n_comparisons))
            winner[distance <= indifference] = 0
        return Comparisons(votes.items, votes.left, votes.right, winner, votes.voters, votes.voter), indifference


def fit_population(
    comparisons: Comparisons,
    *,
    similarity: str | ArrayLike | None = None,
    relatedness: bool | None = None,
    amplitude: Amplitude = vanishing_amplitude,
    level: float = 0.9,
    resamples: int = 40,
    seed: int = 0,
    progress: Progress | None = None,
) -> PopulationFit:
    """Fit the nonconformity and oversight of a population of voters to their votes, with intervals.

    Items are ordered by Bradley-Terry strengths, and get the similarities in that order. The likelihood of a voter's
    votes at each level then follows from P(left) = (1 - e) P(abs(o_left) > abs(o_right)) + e P(the reverse), where the
    opinion o is normal with mean z and standard deviation s_v s(z). Clipping only affects opinions beyond 1, which tie;
    a tie counts as half a vote for each side. The likelihood of a population is the product over voters of the mean
    likelihood in its box of levels. On the scale of square roots, the prior is uniform over all boxes.

    Strengths fitted to the same votes agree with them too well, so nonconformity is underestimated. The method is
    therefore repeated on simulated votes of known populations that are plausible. A regression of their levels on the
    estimates predicts the true nonconformity and its error. If votes carry no information, the intervals cover all
    possible levels. Intervals of the oversight are quantiles of the posterior.

    Parameters
    ----------
    comparisons : Comparisons
        Votes of known voters. Time and memory are linear in votes; each voter with votes takes 19 kB.
    similarity : str or array_like of shape (n_items,), optional
        "exponential", "power_law", "embedding", or similarities z in [-1, 1] in any order. By default they are derived
        from the strengths, on a scale where voters have a nonconformity of 0.1.
    relatedness : bool, optional
        Whether voters judge abs(z) instead of z. By default true if there are similarities.
    amplitude : callable
        s(z), as in `VoterPool`.
    level : float
        Confidence level of each interval.
    resamples : int
        Number of simulations, at least 16, after as many preliminary ones. Each takes 0.2 s for 6,000 votes of 100
        voters.
    seed : int
        Same seed, same result.
    progress : callable, optional
        Called with 1 after each simulation.

    Returns
    -------
    PopulationFit

    Raises
    ------
    ModelError
        There are no votes, the voters are unknown, the number of similarities is not that of the items, or an option
        is out of range.
    SimilarityError
        The similarities are invalid.

    See Also
    --------
    VoterPopulation : The fitted model of voters.
    voter_report : Report on single voters.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import Comparisons, VoterPopulation, draw_ballot, exponential_similarity, fit_population
    >>> rng = np.random.default_rng(1)
    >>> pool = VoterPopulation(n_voters=10).draw(rng)
    >>> ballot = draw_ballot(30, 20, 10, rng)
    >>> answers = pool.answer(ballot, pool.opinions(exponential_similarity(30), rng), rng)
    >>> votes = Comparisons.from_ballots([(ballot, answers)])
    >>> fit = fit_population(votes, similarity="exponential", resamples=16)
    >>> fit.population.n_voters, fit.n_votes
    (10, 300)
    """
    from scipy.special import stdtrit

    votes, judged = _by_voter(comparisons), similarity is not None if relatedness is None else bool(relatedness)
    shape = _shape(similarity, comparisons.n_items, judged)
    level_value = checked_level(level)
    n_resamples = whole_number(resamples)
    if n_resamples is None or n_resamples < _LEAST_RESAMPLES:
        raise ModelError(f"resamples must be a whole number of {_LEAST_RESAMPLES} or more; got {shown(resamples)}")
    checked_seed(seed, ModelError)
    voter = np.asarray(votes.voter)
    start = np.append(np.searchsorted(voter, np.unique(voter)), votes.n_comparisons)
    # Estimating the prior again for all simulated votes would take ten times as long.
    problem = _Votes(votes, start, shape, judged, amplitude, bradley_terry(votes).prior_sd)
    posterior, similarities = problem.posterior(votes)
    indifferences: list[float] = []

    def simulated(populations: Array, stage: int) -> list[Posterior]:
        """Return the posterior from the votes of each population."""
        posteriors = []
        for k, roots in enumerate(populations):
            rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stage, k)))
            simulated_votes, indifference = problem.simulated(roots, similarities, rng)
            indifferences.append(indifference)
            posteriors.append(problem.posterior(simulated_votes)[0])
            if progress is not None:
                progress(1)
        return posteriors

    # Two effects bias the posterior. The strengths were fitted to the same votes, so voters seem to agree with them too
    # well. And a voter's opinions persist, while the likelihood treats votes as independent. Simulated votes have both
    # effects. Each stage draws populations from the region that the previous stage found plausible, until a linear
    # regression fits. The posterior of e is correct; that of s is biased by more than its width.
    low, high = (np.where(_BIASED, end, posterior.quantile(np.full(4, at))) for end, at in ((0.0, 0.01), (_MOST, 0.99)))
    for stage, n in enumerate((n_resamples // 2, n_resamples - n_resamples // 2, n_resamples)):
        indifferences.clear()
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stage,)))
        populations = rng.uniform(low, high, (n, 4))  # square roots of levels; ends are sorted below
        populations = np.concatenate([np.sort(populations[:, :2], axis=1), np.sort(populations[:, 2:], axis=1)], axis=1)
        means = np.array([posterior.mean for posterior in simulated(populations, stage)])
        centre, error = _predict_levels(posterior.mean, means, populations)
        # With few simulations, a region may extend beyond the bounds.
        low = np.where(_BIASED, np.clip(centre - _REGION * error, 0.0, 0.9 * _MOST), low)
        high = np.where(_BIASED, np.clip(centre + _REGION * error, 0.1 * _MOST, _MOST), high)
    # Residuals of a regression with 5 coefficients have n - 5 degrees of freedom.
    half = float(stdtrit(n_resamples - 5, (1 + level_value) / 2)) * error
    plain = (posterior.quantile(np.full(4, at)) for at in ((1 - level_value) / 2, 0.5, (1 + level_value) / 2))
    low, middle, high = (
        np.clip(np.where(_BIASED, predicted, quantile), 0.0, _MOST)
        for predicted, quantile in zip((centre - half, centre, centre + half), plain, strict=True)
    )
    estimate = _clip_levels(middle)
    population = _population(estimate, start.size - 1, amplitude, float(np.mean(indifferences)))
    uncorrected = tuple((posterior.mean**2).tolist())
    ends = np.stack([np.minimum(low, estimate), np.maximum(high, estimate)], axis=1) ** 2
    counts = votes.n_comparisons, n_resamples
    return PopulationFit(population, similarities.copy(), judged, level_value, uncorrected, ends, *counts)


def _predict_levels(estimates: Array, means: Array, levels: Array) -> tuple[Array, Array]:
    """Predict the true levels from the estimates by linear regression on all four means; return them and their errors.

    This is the regression adjustment of approximate Bayesian computation (Beaumont, Zhang and Balding 2002). If votes
    carry no information, neither do the means, and the error is as wide as the region.
    """
    from scipy.linalg import lstsq

    n = len(levels)
    design = np.column_stack([np.ones(n), means - estimates])
    coefficients, _, rank, _ = lstsq(design, levels)
    residuals = levels - design @ coefficients
    leverage = float(np.linalg.pinv(design.T @ design)[0, 0])
    variance = np.sum(residuals**2, axis=0) / max(1, n - int(rank))
    return np.asarray(coefficients[0]), np.sqrt(variance * (1.0 + leverage))


def similarity_of_strengths(strengths: Strengths) -> NDArray[np.float64]:
    """Return the similarities z for which voters with nonconformity 0.1 would vote as the strengths predict.

    With the amplitude 1 - z^2, opinions on the scale of artanh z have the same standard deviation s everywhere. On that
    scale, strengths are similarities up to a factor, and votes depend only on the ratio of z to s. Strengths are
    stretched to the spread of their posterior, because fitted strengths are too close together.

    Parameters
    ----------
    strengths : Strengths

    Returns
    -------
    ndarray of float64, shape (n_items,)
        Similarities in the order of the items; voters judge z itself, not abs(z).

    Examples
    --------
    >>> votes = Comparisons.from_labels(["a", "a"], ["b", "b"], ["left", "right"])
    >>> similarity_of_strengths(bradley_terry(votes))
    array([0., 0.])
    """
    theta = strengths.theta
    spread = float(theta.var())
    error_variance = float(np.mean(1.0 / strengths.curvature.diagonal)) if spread > 0 else 0.0
    factor = math.sqrt(1.0 + min(error_variance / spread, 1.0)) if spread > 0 else 1.0
    if strengths.model.link == "logistic":
        factor /= _LOGISTIC
    return np.asarray(np.tanh(theta * (factor * _REFERENCE * math.sqrt(2.0))))


def _clip_levels(roots: Array) -> Array:
    """Clip square roots of levels to their bounds; ends in the wrong order are replaced by their mean."""
    roots = np.clip(roots, 0.0, _MOST)
    for low, high in ((0, 1), (2, 3)):
        if roots[low] > roots[high]:
            roots[low] = roots[high] = (roots[low] + roots[high]) / 2
    return roots


def _population(roots: Array, n_voters: int, amplitude: Amplitude, indifference: float = 0.0) -> VoterPopulation:
    s_low, s_high, e_low, e_high = (roots**2).tolist()
    return VoterPopulation(n_voters, (s_low, s_high), (e_low, e_high), amplitude, indifference)


def _by_voter(comparisons: Comparisons) -> Comparisons:
    if not isinstance(comparisons, Comparisons):
        raise ModelError(f"comparisons must be Comparisons; got {shown(comparisons)}")
    if comparisons.voter is None:
        raise ModelError("a population of voters needs votes with known voters")
    if not comparisons.n_comparisons:
        raise ModelError("a population of voters needs votes; got none")
    return comparisons.select(np.argsort(comparisons.voter, kind="stable"))


def _shape(similarity: str | ArrayLike | None, n_items: int, relatedness: bool) -> Array | None:
    if similarity is None:
        return None
    values = named_similarity(similarity, n_items) if isinstance(similarity, str) else checked_similarity(similarity)
    if values.size != n_items:
        raise ModelError(f"the votes are on {n_items} items; got {values.size} similarities")
    return np.asarray(values[np.argsort(-(np.abs(values) if relatedness else values), kind="stable")])


@dataclass(frozen=True, eq=False)
class Posterior:
    """Marginal posterior distributions of the square roots of the four numbers.

    Attributes
    ----------
    values : tuple of 4 ndarray
        Square roots, equally spaced.
    weights : tuple of 4 ndarray
        Probabilities.
    """

    values: tuple[Array, ...]
    weights: tuple[Array, ...]

    @property
    def mean(self) -> Array:
        """Return the means of the square roots, shape (4,)."""
        return np.array([values @ weights for values, weights in zip(self.values, self.weights, strict=True)])

    def quantile(self, probabilities: Array) -> Array:
        """Return the quantiles of the four numbers at these probabilities, shape (4,)."""
        return np.array([np.interp(p, *self._curve(k)[::-1]) for k, p in enumerate(probabilities)])

    def _curve(self, k: int) -> tuple[Array, Array]:
        """Return values and cumulative probabilities; each weight is spread over the interval around its value."""
        values, weights = self.values[k], self.weights[k]
        half = (values[1] - values[0]) / 2
        grown = np.maximum(weights, 1e-9)  # strictly increasing, so that the inverse exists
        return np.append(values - half, values[-1] + half), np.append(0.0, np.cumsum(grown / grown.sum()))


def box_posterior(surfaces: Array) -> Posterior:
    """Return the posterior of the ends of s and e, where a box's likelihood is the product of voters' means in it.

    Parameters
    ----------
    surfaces : ndarray of float64, shape (n_voters, n_levels, n_lapses)
        Log-likelihoods at the centres of the cells; they are overwritten.
    """
    from adaptive.simulation._population_kernels import box_log_likelihoods

    surfaces -= surfaces.max(axis=(1, 2), keepdims=True)
    np.exp(surfaces, out=surfaces)
    surfaces *= np.diff(LEVEL_EDGES)[:, np.newaxis] * np.diff(LAPSE_EDGES)
    mass = np.zeros((LEVEL_EDGES.size, LAPSE_EDGES.size, surfaces.shape[0]))
    mass[1:, 1:] = np.cumsum(np.cumsum(surfaces, axis=1), axis=2).transpose(1, 2, 0)
    boxes = np.empty((LEVEL_EDGES.size - 1,) * 2 + (LAPSE_EDGES.size - 1,) * 2)
    box_log_likelihoods(mass, LEVEL_EDGES, LAPSE_EDGES, boxes)
    boxes -= boxes.max()
    np.exp(boxes, out=boxes)
    boxes /= boxes.sum()
    roots = np.sqrt(LEVEL_EDGES), np.sqrt(LAPSE_EDGES)
    values = roots[0][:-1], roots[0][1:], roots[1][:-1], roots[1][1:]
    others = ((1, 2, 3), (0, 2, 3), (0, 1, 3), (0, 1, 2))
    return Posterior(values, tuple(np.asarray(boxes.sum(axis=axes)) for axes in others))
