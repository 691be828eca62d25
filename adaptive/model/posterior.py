"""Draws from the joint posterior of the strengths, and what voters repeat in it.

Of up to 1,500 items: a two-piece Student's t as prior, whose mode and two scales are drawn with the strengths. Markov
chains start from a normal approximation. Under a normal prior the top items, which are few and far apart, would be
drawn together; under a symmetrical one the many items below, which lie close, would be drawn too far apart, and their
order would seem more certain than it is. Of more items, draws are normal around the fitted strengths: the solutions of
H x = b with noise b of the covariance that the slope of the log-likelihood has, so that memory is linear in votes.
Votes of one voter on one item are not independent, since an opinion stays: shared opinions are drawn as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model.curvature import Curvature, Parameters, curvature_at, link_code
from adaptive.model.vote_model import Rows
from rankcorr.workers import checked_workers, in_threads

Array: TypeAlias = NDArray[Any]

_BLOCK_NUMBERS: Final = 1 << 22  # 32 MB of normal numbers at a time
_TOLERANCE: Final = 1e-4
MAX_DENSE: Final = 1_500  # items up to which the covariance is a matrix: 0.1 s at 1,000
# Of 3 and 6 degrees of freedom, 3 came nearer to the accuracy reached (benchmarks/calibration.py).
DEGREES: Final = 3.0
_FIRST_SWEEPS: Final = 40
_SWEEPS: Final = 4  # between two draws of a chain
_PRIOR_STEPS: Final = 6
# Standard deviation of the logarithm of a scale before any vote: of n items this times n / (n + 4), because votes on
# few items cannot tell a shape, and the prior that was given is kept.
_WIDTH_SPREAD: Final = 1.5
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
    for _ in range(_PRIOR_STEPS):
        squares = theta * theta + variances
        share = (DEGREES + 1) / (DEGREES + squares / (scale * scale))
        scale = min(at.sd, math.sqrt(float(np.mean(share * squares))))
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
    """Chains in threads, each of `_ROWS_EACH` draws, that start from a normal draw under the heavy prior."""
    from adaptive.model.posterior_kernels import sweep

    rows, n_items, n_votes = curved.rows, curved.rows.n_items, curved.rows.left.size
    heavy = _heavy(curved, at)
    mean = float(np.trace(heavy.covariance)) / n_items if curved.precision == 0 else 0.0  # of a singular matrix
    factor = np.linalg.cholesky(0.5 * (heavy.covariance + heavy.covariance.T) + mean)
    starts = range(0, n_draws, _ROWS_EACH)
    started = heavy.theta + rng.standard_normal((len(starts), n_items)) @ factor.T
    drawn = np.empty((n_draws, n_items))
    ends = np.concatenate([rows.left, rows.right])
    votes_of = np.argsort(ends, kind="stable") % max(1, n_votes)
    first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=n_items))])
    steps = 2.0 * np.sqrt(np.minimum(np.diagonal(heavy.covariance), 4.0) * 0.5)
    votes = (rows.left, rows.right, rows.winner, rows.group, first, votes_of)
    voters = (at.discrimination, at.oversight, at.side, at.nu, link_code(rows), rows.half)
    shared = _shared_of(rows, opinions)

    def settle(block: tuple[int, int]) -> None:
        start, own = block[0], np.random.default_rng(block[1])
        stop = min(n_draws, start + _ROWS_EACH)
        theta = started[start // _ROWS_EACH].copy()
        opinion = shared.spread * own.standard_normal(shared.spread.size)
        if opinion.size:  # strengths that make up for them
            of_vote, signed = shared.sides >> 1, np.repeat(opinion, np.diff(shared.start))
            pushed = np.bincount(of_vote, np.where(shared.sides & 1, -signed, signed), n_votes) * heavy.weight
            moved = np.bincount(rows.left, pushed, n_items) - np.bincount(rows.right, pushed, n_items)
            theta -= heavy.covariance @ moved
        shape = np.array([0.0, math.log(heavy.scale), math.log(heavy.scale)])
        prior = (shape, DEGREES, at.sd, _WIDTH_SPREAD * n_items / (n_items + _PRIOR_ITEMS))
        voted = (shared.start, shared.sides, shared.spread, shared.of_item, opinion)
        for row in range(start, stop):
            sweep(*votes, *voters, *prior, steps, *voted, _SWEEPS if row > start else _FIRST_SWEEPS, own, theta)
            level = theta.mean()  # the votes say nothing of it
            theta -= level
            shape[0] -= level
            drawn[row] = theta

    # Seeds are drawn: what a generator would spawn is not in its state, and not all of them can.
    seeds = rng.integers(0, 2**63, len(starts)).tolist()
    in_threads(settle, list(zip(starts, seeds, strict=True)), checked_workers(None))
    return drawn


@dataclass(frozen=True, eq=False)
class _Shared:
    """Opinions that several votes rest on, as the loops take them.

    Opinion k moves the votes `sides[start[k]:start[k + 1]] >> 1`, on the right where the last bit is 1. `of_item` is
    its item, or -1 where some votes on the item rest on no such opinion.
    """

    start: Array
    sides: Array
    spread: Array
    of_item: Array


def _shared_of(rows: Rows, opinions: Opinions | None) -> _Shared:
    """Opinions with at least two votes."""
    if opinions is None or opinions.sd == 0:
        nothing = np.empty(0, np.int64)
        return _Shared(np.zeros(1, np.int64), nothing, np.empty(0), nothing)
    n_votes = rows.left.size
    opinion, item = np.concatenate([opinions.left, opinions.right]), np.concatenate([rows.left, rows.right])
    several = opinions.spread > 0
    held = several[opinion]
    alone = np.zeros(rows.n_items, bool)
    alone[item[~held]] = True
    order = np.argsort(opinion[held], kind="stable")
    sides = (2 * np.tile(np.arange(n_votes), 2) + np.repeat([0, 1], n_votes))[held][order]
    sizes = np.bincount(opinion, minlength=opinions.n_opinions)[several]
    start = np.concatenate([[0], np.cumsum(sizes)])
    of_item = item[held][order][start[:-1]].astype(np.int64)  # as where there are none: the loop is compiled once
    return _Shared(start, sides, opinions.spread[several], np.where(alone[of_item], -1, of_item))


def _solved(curved: Curvature, opinions: Opinions | None, n_draws: int, rng: np.random.Generator) -> Array:
    """Draws around zero, each from a linear system; the numbers do not depend on the size of blocks."""
    from scipy.sparse import coo_array, hstack

    rows = curved.rows
    n_votes, n_items = rows.left.size, rows.n_items
    vote = np.arange(n_votes)
    width = np.sqrt(curved.weight)
    places = np.concatenate([rows.left, rows.right]), np.concatenate([vote, vote])
    causes = coo_array((np.concatenate([width, -width]), places), (n_items, n_votes))
    if opinions is not None and opinions.sd > 0:
        causes = hstack([causes, _moves(curved, opinions)])
    causes = causes.tocsr()
    drawn = np.empty((n_draws, n_items))
    block = max(1, min(64, _BLOCK_NUMBERS // max(1, causes.shape[1] + n_items)))
    for start in range(0, n_draws, block):
        stop = min(n_draws, start + block)
        noise = rng.standard_normal((stop - start, n_items + causes.shape[1]))
        wanted = causes @ np.ascontiguousarray(noise[:, n_items:].T)
        wanted += curved.precision**0.5 * noise[:, :n_items].T
        drawn[start:stop] = curved.solve_definite(wanted, _TOLERANCE).T
    return drawn


def _moves(curved: Curvature, opinions: Opinions) -> Any:
    """What each shared opinion, in units of its spread, does to the slopes of theta: sparse, (n_items, n_shared)."""
    from scipy.sparse import coo_array

    rows, spread = curved.rows, opinions.spread
    places = np.concatenate([rows.left, rows.left, rows.right, rows.right])
    causes = np.concatenate([opinions.left, opinions.right, opinions.left, opinions.right])
    effects = np.concatenate([curved.weight, -curved.weight, -curved.weight, curved.weight]) * spread[causes]
    held = spread[causes] > 0  # most opinions are behind a single vote
    shared = np.cumsum(spread > 0) - 1
    return coo_array((effects[held], (places[held], shared[causes[held]])), (rows.n_items, int((spread > 0).sum())))


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
    moves = _moves(curved, opinions).tocsr()
    return np.asarray(inverse + inverse @ (moves @ moves.T).toarray() @ inverse)
