"""Draws from the joint posterior of the strengths, normal around their mode, and what voters repeat in it.

Of up to 1,500 items the covariance is a matrix. Of more, a draw is the solution of H x = b with noise b of the covariance
that the slope of the log-likelihood has, and memory stays linear in votes. Votes of one voter on one item are not
independent, since an opinion stays; that part of b is drawn by opinion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model.fit import Curvature, Parameters

Array: TypeAlias = NDArray[Any]

_BLOCK_NUMBERS: Final = 1 << 22  # 32 MB of normal numbers at a time
_TOLERANCE: Final = 1e-4
MAX_DENSE: Final = 1_500  # items up to which the covariance is a matrix: 0.1 s at 1,000


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


def shared_opinions(curved: Curvature, at: Parameters, voter: Array) -> Opinions:
    """Estimate how far opinions depart, from products of the slopes of votes that share voter and item.

    Were votes independent, two residuals of an item would be slightly negatively correlated, because the fitted
    strength takes their sum out: by h = (H^-1)_ii times the product of their curvatures, which is added back.
    """
    rows, n_votes = curved.rows, curved.rows.left.size
    keys = np.concatenate([rows.left, rows.right]) + np.tile(voter.astype(np.int64), 2) * rows.n_items
    found, opinion = np.unique(keys, return_inverse=True)
    slope = at.discrimination[rows.group] * curved.score
    slopes = np.concatenate([slope, -slope])
    weights = np.tile(curved.weight, 2)

    def pairs(values: Array) -> Array:
        """Sum of products of two different votes, for each opinion."""
        whole = np.bincount(opinion, values, found.size)
        return np.asarray(whole * whole - np.bincount(opinion, values * values, found.size))

    together = pairs(weights)
    leverage = 1.0 / curved.diagonal[found % rows.n_items]
    total = float(together.sum())
    variance = (float(pairs(slopes).sum()) + float(leverage @ together)) / total if total > 0 else 0.0
    return Opinions(max(0.0, variance) ** 0.5, opinion[:n_votes], opinion[n_votes:], found.size)


def draw(curved: Curvature, at: Parameters, opinions: Opinions | None, n_draws: int, rng: np.random.Generator) -> Array:
    """Draw from the joint posterior, shape (n_draws, n_items)."""
    # A thousand draws of 990 items after 19,660 votes: 0.2 s by the matrix, 4 s by as many linear systems.
    n_items = curved.rows.n_items
    if n_items <= min(MAX_DENSE, 20 * n_draws):
        drawn = rng.standard_normal((n_draws, n_items)) @ _factor(curved, opinions).T
        if curved.precision == 0:
            drawn -= drawn.mean(axis=1, keepdims=True)
    else:
        drawn = _solved(curved, opinions, n_draws, rng)
    drawn += at.theta
    return drawn


def _factor(curved: Curvature, opinions: Opinions | None) -> Array:
    """Cholesky factor of the covariance; without a prior, of that plus a common shift of all strengths."""
    wanted = covariance(curved, opinions)
    wanted = 0.5 * (wanted + wanted.T)
    if curved.precision == 0:
        wanted += float(np.trace(wanted)) / len(wanted)
    return np.linalg.cholesky(wanted)


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
            departures = opinions.sd * noise[:, n_items + n_votes :]
            on_votes += curved.weight * (departures[:, opinions.left] - departures[:, opinions.right])
        for row in range(stop - start):
            wanted[row] += np.bincount(rows.left, on_votes[row], n_items)
            wanted[row] -= np.bincount(rows.right, on_votes[row], n_items)
        solved = curved.solve(np.ascontiguousarray(wanted.T), _TOLERANCE)
        assert solved is not None  # the expected curvature is positive definite
        drawn[start:stop] = solved.T
    return drawn


def covariance(curved: Curvature, opinions: Opinions | None) -> Array:
    """Covariance of `draw`, shape (n_items, n_items): H^-1 (H + C) H^-1, with C what shared opinions add."""
    rows = curved.rows
    # Without a prior, strengths are known up to a constant: their mean is fixed, as it is in each draw.
    mean = np.full((rows.n_items, rows.n_items), 1.0 / rows.n_items) if curved.precision == 0 else 0.0
    inverse = np.linalg.inv(curved.matrix() + mean) - mean
    if opinions is None or opinions.sd == 0:
        return inverse
    from scipy.sparse import coo_array

    # Row k of `moves` is what a change of each opinion does to the slopes of theta; C is its Gram matrix.
    places = np.concatenate([rows.left, rows.left, rows.right, rows.right])
    causes = np.concatenate([opinions.left, opinions.right, opinions.left, opinions.right])
    effects = np.concatenate([curved.weight, -curved.weight, -curved.weight, curved.weight])
    moves = coo_array((effects, (places, causes)), (rows.n_items, opinions.n_opinions)).tocsr()
    shared = opinions.sd**2 * (moves @ moves.T).toarray()
    return np.asarray(inverse + inverse @ shared @ inverse)
