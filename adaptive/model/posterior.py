"""Draws from the joint posterior of the strengths, and what voters repeat in it.

Of up to 1,500 items: a prior with heavy tails is fitted, draws are made that are normal around the mode under it, and
Metropolis steps give them the shape of the posterior. Under a normal prior the top items, which are few and far apart,
would be drawn together, and their order would seem less certain than it is. Of more items, draws are normal around the
fitted strengths: the solutions of H x = b with noise b of the covariance that the slope of the log-likelihood has, so
that memory is linear in votes. Votes of one voter on one item are not independent, since an opinion stays; that part is
drawn by opinion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model.curvature import Curvature, Parameters, curvature_at
from rankcorr.workers import checked_workers, in_threads

Array: TypeAlias = NDArray[Any]

_BLOCK_NUMBERS: Final = 1 << 22  # 32 MB of normal numbers at a time
_TOLERANCE: Final = 1e-4
MAX_DENSE: Final = 1_500  # items up to which the covariance is a matrix: 0.1 s at 1,000
# Of 3, 4 and 100 degrees of freedom, 3 came nearest to the accuracy reached (benchmarks/calibration.py).
DEGREES: Final = 3.0
_SWEEPS: Final = 5
_PRIOR_STEPS: Final = 15
_PRIOR_ITEMS: Final = 4
_ROWS_EACH: Final = 25


@dataclass(frozen=True, eq=False)
class Opinions:
    """Opinions that more than one vote rests on.

    A voter's opinion on an item departs from the common strength by a normal number of standard deviation `sd`, in
    units of theta. `left` and `right` have, for each vote, the index of the opinion on either side.
    """

    sd: float
    left: Array
    right: Array
    n_opinions: int

    @property
    def spread(self) -> Array:
        """Standard deviation of each opinion as far as votes share it: of m votes, all but 1 / m of the variance.

        What moves a single vote is in the randomness of votes already.
        """
        votes = np.bincount(np.concatenate([self.left, self.right]), minlength=self.n_opinions)
        return np.asarray(self.sd * np.sqrt(1.0 - 1.0 / votes))


def shared_opinions(curved: Curvature, at: Parameters, voter: Array) -> Opinions:
    """Estimate how far opinions depart, from products of the slopes of votes that share voter and item.

    Were votes independent, two residuals of an item would be slightly negatively correlated, because the fitted
    strength takes their sum out: by h = (H^-1)_ii times the product of their curvatures, which is added back. Two votes
    of a voter on the same pair share two opinions, and count twice in the expectation.
    """
    rows, n_votes = curved.rows, curved.rows.left.size
    of_voter = voter.astype(np.int64) * rows.n_items
    found, opinion = np.unique(np.concatenate([of_voter + rows.left, of_voter + rows.right]), return_inverse=True)
    slope = at.discrimination[rows.group] * curved.score
    slopes = np.concatenate([slope, -slope])
    weights = np.tile(curved.weight, 2)

    def pairs(values: Array, of: Array) -> Array:
        """Sum of products of two different votes, for each opinion."""
        whole = np.bincount(of, values)
        return np.asarray(whole * whole - np.bincount(of, values * values))

    lower, upper = np.minimum(rows.left, rows.right), np.maximum(rows.left, rows.right)
    again = np.unique((of_voter + lower) * rows.n_items + upper, return_inverse=True)[1]
    together = pairs(weights, opinion)
    leverage = 1.0 / curved.diagonal[found % rows.n_items]
    total = float(together.sum()) + 2.0 * float(pairs(curved.weight, again).sum())
    variance = (float(pairs(slopes, opinion).sum()) + float(leverage @ together)) / total if total > 0 else 0.0
    return Opinions(max(0.0, variance) ** 0.5, opinion[:n_votes], opinion[n_votes:], found.size)


def draw(curved: Curvature, at: Parameters, opinions: Opinions | None, n_draws: int, rng: np.random.Generator) -> Array:
    """Draw from the joint posterior of strengths with the mean 0, shape (n_draws, n_items).

    What the votes leave open is their common level, which has the width of the prior: it is taken out. The numbers do
    not depend on the number of workers.
    """
    if curved.rows.n_items > MAX_DENSE:
        return draw_normal(curved, at, opinions, n_draws, rng)
    drawn = _settled(curved, at, opinions, n_draws, rng)
    drawn -= drawn.mean(axis=1, keepdims=True)
    return drawn


def draw_normal(
    curved: Curvature, at: Parameters, opinions: Opinions | None, n_draws: int, rng: np.random.Generator
) -> Array:
    """Draw strengths that are normal around the fitted ones with the covariance of `covariance`; their mean is 0."""
    drawn = at.theta + _solved(curved, opinions, n_draws, rng)
    drawn -= drawn.mean(axis=1, keepdims=True)
    return drawn


@dataclass(frozen=True, eq=False)
class _Heavy:
    """Mode and covariance under Student's t as prior, whose scale is fitted; flat where `scale` is infinite."""

    theta: Array
    covariance: Array
    weight: Array
    scale: float


def _heavy(curved: Curvature, at: Parameters) -> _Heavy:
    """Fit the prior by EM steps: a t prior is normal with a precision of its own for each item."""
    rows, n_items = curved.rows, curved.rows.n_items
    theta, scale = at.theta.copy(), at.sd
    if curved.precision == 0:
        return _Heavy(theta, covariance(curved, None), curved.weight, math.inf)
    variances = np.diagonal(np.linalg.inv(curved.matrix()))
    for step in range(_PRIOR_STEPS):
        squares = theta * theta + variances
        share = (DEGREES + 1) / (DEGREES + squares / (scale * scale))
        if step < _PRIOR_STEPS - 3:  # the last steps end at the mode for a scale that stays
            # Votes that all agree would let it grow without end, and few items that are close let it shrink to nothing:
            # the width of the normal prior is its bound, and counts as so many items more.
            total = float(np.sum(share * squares)) + _PRIOR_ITEMS * at.sd**2
            scale = min(at.sd, math.sqrt(total / (n_items + _PRIOR_ITEMS)))
        precisions = share / (scale * scale)
        ahead = curvature_at(rows, replace(at, theta=theta.copy()))
        matrix = ahead.matrix()
        matrix[np.diag_indices(n_items)] += precisions - at.precision
        inverse = np.linalg.inv(matrix)
        theta = theta + np.clip(inverse @ (ahead.slope - precisions * theta), -1.0, 1.0)
        variances = np.diagonal(inverse)
    return _Heavy(theta, inverse, ahead.weight, scale)


def _settled(
    curved: Curvature, at: Parameters, opinions: Opinions | None, n_draws: int, rng: np.random.Generator
) -> Array:
    """Normal draws under the heavy prior, then a few sweeps of Metropolis steps from each, in threads."""
    from adaptive.model.kernels import LOGISTIC, NORMAL
    from adaptive.model.posterior_kernels import sweep

    rows, n_items, n_votes = curved.rows, curved.rows.n_items, curved.rows.left.size
    heavy = _heavy(curved, at)
    mean = float(np.trace(heavy.covariance)) / n_items if curved.precision == 0 else 0.0  # of a singular matrix
    factor = np.linalg.cholesky(0.5 * (heavy.covariance + heavy.covariance.T) + mean)
    drawn = heavy.theta + rng.standard_normal((n_draws, n_items)) @ factor.T
    ends = np.concatenate([rows.left, rows.right])
    votes_of = np.argsort(ends, kind="stable") % max(1, n_votes)
    first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_items))])
    width = 2.0 * np.sqrt(np.minimum(np.diagonal(heavy.covariance), 4.0) * 0.5)
    link = LOGISTIC if rows.model.link == "logistic" else NORMAL
    spread = None if opinions is None else opinions.spread

    def settle(block: tuple[int, int]) -> None:
        start, own = block[0], np.random.default_rng(block[1])
        for row in range(start, min(n_draws, start + _ROWS_EACH)):
            theta = drawn[row]
            offset = np.zeros(n_votes)
            if opinions is not None and spread is not None and opinions.sd > 0:
                departures = spread * own.standard_normal(opinions.n_opinions)
                offset = departures[opinions.left] - departures[opinions.right]
                pushed = heavy.weight * offset
                moved = np.bincount(rows.left, pushed, n_items) - np.bincount(rows.right, pushed, n_items)
                theta -= heavy.covariance @ moved
            columns = (rows.left, rows.right, rows.winner, rows.group, first, votes_of)
            voters = (at.discrimination, at.oversight, at.side, at.nu, link, rows.half)
            sweep(*columns, *voters, heavy.scale, DEGREES, width, offset, _SWEEPS, own, theta)

    starts = range(0, n_draws, _ROWS_EACH)
    # Seeds are drawn: what a generator would spawn is not in its state, and not all of them can.
    seeds = rng.integers(0, 2**63, len(starts)).tolist()
    in_threads(settle, list(zip(starts, seeds, strict=True)), checked_workers(None))
    return drawn


def _solved(curved: Curvature, opinions: Opinions | None, n_draws: int, rng: np.random.Generator) -> Array:
    """Draws around zero, each from a linear system; the numbers do not depend on the size of blocks."""
    rows = curved.rows
    n_votes, n_items = rows.left.size, rows.n_items
    n_opinions = opinions.n_opinions if opinions is not None and opinions.sd > 0 else 0
    drawn = np.empty((n_draws, n_items))
    block = max(1, min(64, _BLOCK_NUMBERS // max(1, n_votes + n_opinions + n_items)))
    width = np.sqrt(curved.weight)
    for start in range(0, n_draws, block):
        stop = min(n_draws, start + block)
        noise = rng.standard_normal((stop - start, n_items + n_votes + n_opinions))
        wanted = noise[:, :n_items] * curved.precision**0.5
        on_votes = noise[:, n_items : n_items + n_votes] * width
        if n_opinions and opinions is not None:
            departures = opinions.spread * noise[:, n_items + n_votes :]
            on_votes += curved.weight * (departures[:, opinions.left] - departures[:, opinions.right])
        for row in range(stop - start):
            wanted[row] += np.bincount(rows.left, on_votes[row], n_items)
            wanted[row] -= np.bincount(rows.right, on_votes[row], n_items)
        drawn[start:stop] = curved.solve_definite(np.ascontiguousarray(wanted.T), _TOLERANCE).T
    return drawn


def covariance(curved: Curvature, opinions: Opinions | None) -> Array:
    """Covariance of `draw`, shape (n_items, n_items): H^-1 (H + C) H^-1, with C what shared opinions add.

    It is that of strengths whose mean is 0, as it is in each draw.
    """
    rows = curved.rows
    mean = np.full((rows.n_items, rows.n_items), 1.0 / rows.n_items)
    # A common level costs the prior alone, and without one H is singular.
    inverse = np.linalg.inv(curved.matrix() + mean) - mean / (1.0 + curved.precision)
    if opinions is None or opinions.sd == 0:
        return np.asarray(inverse)
    from scipy.sparse import coo_array

    # Row k of `moves` is what a change of each opinion does to the slopes of theta; C is its Gram matrix.
    places = np.concatenate([rows.left, rows.left, rows.right, rows.right])
    causes = np.concatenate([opinions.left, opinions.right, opinions.left, opinions.right])
    effects = np.concatenate([curved.weight, -curved.weight, -curved.weight, curved.weight])
    moves = coo_array((effects, (places, causes)), (rows.n_items, opinions.n_opinions)).tocsr()
    shared = (moves.multiply(opinions.spread**2) @ moves.T).toarray()
    return np.asarray(inverse + inverse @ shared @ inverse)
