"""Draw strengths from the normal approximation of their posterior, and compute its covariance.

A draw solves H x = b, where the noise b has the covariance of the slope of the log-likelihood, so memory is linear in
votes.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood import Curvature, Parameters
from adaptive.model._newton import Voters
from adaptive.model._posterior.opinions import COLUMNS, Opinions, opinion_effects
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]

_BLOCK_NUMBERS: Final = 1 << 22  # 32 MB of normal numbers at a time
_TOLERANCE: Final = 1e-4
# Up to this many pairs of items per vote, a matrix of pairs takes less time than the votes, and little more memory.
_PAIRS_PER_VOTE: Final = 30


def draw_normal(
    curved: Curvature,
    at: Parameters,
    side_precisions: Array,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Array:
    """Draw strengths that are normal around the fitted ones; their mean is 0.

    They have the covariance of `covariance`, and side biases with the precisions `side_precisions` are integrated over.
    """
    draws = at.theta + _draw_by_solving(curved, side_precisions, opinions, n_draws, rng, progress)
    draws -= draws.mean(axis=1, keepdims=True)
    return draws


def _draw_by_solving(
    curved: Curvature,
    side_precisions: Array,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Array:
    """Draw around zero, each time by solving a linear system; the numbers do not depend on the size of blocks.

    Side biases are eliminated from the system. If votes are many, it is solved by a dense Cholesky factor L of H, which
    also replaces the noise of votes and prior: L^-T (z + L^-1 b) has the covariance H^-1 (H + C) H^-1, if b has C.
    """
    from scipy.linalg import solve_triangular
    from scipy.sparse import coo_array, hstack

    rows, n_votes, n_items, n_sides = curved.rows, curved.rows.left.size, curved.rows.n_items, side_precisions.size
    causes, size = coo_array((n_items + n_sides, 0)), n_items + n_sides
    if opinions is not None and opinions.sd > 0:
        causes = opinion_effects(rows, curved.weight, (opinions.left, opinions.right), opinions.spread, n_sides)
    voters = Voters.without_parameters(rows)
    if n_sides:
        inverse = 1.0 / (rows.by_group(curved.weight) + side_precisions)
        voters = Voters(rows, curved.weight[np.newaxis], inverse[:, np.newaxis, np.newaxis], np.zeros(n_sides))
    is_dense = n_items**2 <= _PAIRS_PER_VOTE * n_votes and curved.precision > 0
    if is_dense:
        factor = np.linalg.cholesky(curved.matrix() - voters.absorbed_matrix() if n_sides else curved.matrix())
    else:
        width, vote = np.sqrt(curved.weight), np.arange(n_votes)
        ends, effects = [rows.left, rows.right], [width, -width]
        if n_sides:
            ends, effects = [*ends, n_items + rows.group], [*effects, width]
        places = np.concatenate(ends), np.tile(vote, len(ends))
        of_votes = coo_array((np.concatenate(effects), places), (size, n_votes))
        of_side = np.arange(n_sides)
        of_priors = coo_array((np.sqrt(side_precisions), (n_items + of_side, of_side)), (size, n_sides))
        causes = hstack([of_votes, causes, of_priors])
    causes = causes.tocsr()
    draws = np.empty((n_draws, n_items))
    block = max(1, min(COLUMNS, _BLOCK_NUMBERS // max(1, causes.shape[1] + n_items)))
    for start in range(0, n_draws, block):
        stop = min(n_draws, start + block)
        noise = rng.standard_normal((stop - start, n_items + causes.shape[1])).T
        forcing, noise = causes @ np.ascontiguousarray(noise[n_items:]), noise[:n_items]
        if n_sides:
            forcing = forcing[:n_items] - voters.image(voters.solve(forcing[n_items:]))
        if is_dense:
            noise = noise + solve_triangular(factor, forcing, lower=True, check_finite=False)
            solution = solve_triangular(factor, noise, lower=True, trans="T", check_finite=False)
        else:
            absorption = voters.absorption if n_sides else None
            solution = curved.solve(forcing + curved.precision**0.5 * noise, _TOLERANCE, absorption)
        draws[start:stop] = solution.T
        if progress is not None:
            progress(stop - start)
    return draws


def covariance(curved: Curvature, opinions: Opinions | None, absorbed: Array | float = 0.0) -> Array:
    """Return the covariance of `draw`, shape (n_items, n_items): H^-1 (H + C) H^-1, where shared opinions add C.

    It applies to strengths whose mean is 0, as in each draw. Other parameters that are uncertain take the part
    `absorbed` from H.
    """
    rows, inverse = curved.rows, curved.centred_inverse(absorbed)
    if opinions is None or opinions.sd == 0:
        return np.asarray(inverse)
    effects = opinion_effects(rows, curved.weight, (opinions.left, opinions.right), opinions.spread).tocsr()
    return np.asarray(inverse + inverse @ (effects @ effects.T).toarray() @ inverse)


def cluster_ratio(curved: Curvature, opinions: Opinions | None, voter: Array, n_voters: int) -> float:
    """Return the variance of the strengths with voters as clusters, over that of the model, without the prior's part.

    The first is H^-1 (sum over voters of s s') H^-1 V / (V - 1), where s is the slope of a voter's votes.
    """
    rows, inverse = curved.rows, curved.centred_inverse()
    slopes = np.zeros((rows.n_items, n_voters))
    np.add.at(slopes, (rows.left, voter), curved.flow)
    np.add.at(slopes, (rows.right, voter), -curved.flow)
    robust = float(np.sum((inverse @ slopes) ** 2)) * n_voters / (n_voters - 1)
    model = float(np.trace(covariance(curved, opinions))) - curved.precision * float(np.sum(inverse * inverse))
    return robust / model if model > 0 else math.nan
