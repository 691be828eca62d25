"""Draw strengths from the normal approximation of their posterior, and compute its covariance.

Votes of one voter on one item are not independent, because the voter's opinion persists: `Opinions` estimates what
several votes share.

A draw solves H x = b, where the noise b has the covariance of the slope of the log-likelihood, so memory is linear in
votes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model._likelihood import MAX_DENSE, Curvature, Parameters, VoteRows, random_signs
from adaptive.model._newton import VoterParameters
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]

_NOISE: Final = {"logistic": math.pi**2 / 3, "normal": 1.0}  # variance of the noise of a vote
_MOST_PRODUCTS: Final = 1 << 24  # of a number of a sparse matrix and a column, for exact traces
COLUMNS: Final = 64  # of a block
_LEAST_REST: Final = 0.5  # of the products of slopes, that an estimated trace may leave
_LEAST_SHARE: Final = 1e-6  # of the products of slopes, that fitting must leave to estimate the spread of opinions


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
        """Standard deviation of the shared part of each opinion: m votes share all but 1 / m of the variance.

        The randomness of votes already includes the part that moves a single vote.
        """
        votes = np.bincount(np.concatenate([self.left, self.right]), minlength=self.n_opinions)
        return np.asarray(self.sd * np.sqrt(1.0 - 1.0 / votes))


def shared_opinions(curved: Curvature, voter: Array) -> Opinions:
    """Estimate how far opinions depart, from products of the slopes of votes that share voter and item.

    At the true strengths, the slopes s of votes with the curvatures W have the covariance W + sd^2 W K W. Two different
    votes have 1 in K for each opinion that is behind both on the same side, and -1 for each on opposite sides. The
    fitted strengths absorb a part of the opinions, the larger the fewer voters there are: fitting turns W into
    P = W - W X H^-1 X' W, where X has the signs of the items of each vote. sd^2 is the number at which s' K s equals
    its expectation, tr(K P) + sd^2 tr(K P K P). This is one step of restricted maximum likelihood from sd = 0. sd^2 is
    at most half of the variance of a vote's noise. With more than `MAX_DENSE` items, the diagonal of H replaces H. Of
    many votes by many voters, a trace of products is estimated with fixed random signs.
    """
    from scipy.sparse import diags_array

    rows, n_votes, weight, slope = curved.rows, curved.rows.left.size, curved.weight, curved.flow
    of_voter = voter.astype(np.int64) * rows.n_items
    opinion_keys, opinion = np.unique(
        np.concatenate([of_voter + rows.left, of_voter + rows.right]), return_inverse=True
    )
    n_opinions, opinions, items = opinion_keys.size, (opinion[:n_votes], opinion[n_votes:]), (rows.left, rows.right)
    inverse, leverage = diags_array(1.0 / curved.diagonal).tocsr(), (1.0 / curved.diagonal)[np.stack(items)].sum(axis=0)
    squares = _differences(items, items, weight**2, (rows.n_items, rows.n_items))  # X' W W X
    if rows.n_items <= MAX_DENSE:
        with suppress(ModelError):  # under a prior that is nearly flat, H may not have an inverse in floats
            inverse = curved.centred_inverse()
            leverage = np.diagonal(inverse)[np.stack(items)].sum(axis=0) - 2.0 * inverse[items]
    # K = B B' - 2, where B has the signs of the two opinions behind each vote. K stays in its factors, because K W X
    # has as many numbers as votes times items if one voter casts all votes.
    moved = _differences(opinions, items, weight, (n_opinions, rows.n_items))  # B' W X
    moved_twice = _differences(opinions, items, weight**2, moved.shape)  # B' W W X
    shared = _differences(opinions, opinions, weight, (n_opinions, n_opinions))  # B' W B
    absorbed = inverse @ (moved.T @ moved - 2.0 * squares)
    total = np.square(shared.data).sum() - 4.0 * weight @ weight  # tr(K W K W)
    base = total + (absorbed * absorbed.T).sum() - 8.0 * leverage @ weight**3

    def information_by(columns: Iterable[Array]) -> float:
        cube = 0.0  # tr(H^-1 X' W K W K W X), without the part that the leverages give
        for probes in columns:
            solved = inverse @ probes
            cube += np.sum((moved @ probes) * (shared @ (moved @ solved) - 4.0 * (moved_twice @ solved)))
        return float(base - 2.0 * cube)

    is_estimated = (moved.nnz + shared.nnz) * rows.n_items > _MOST_PRODUCTS
    information = information_by([random_signs(rows.n_items)] if is_estimated else _unit_columns(rows.n_items))
    if is_estimated and information < _LEAST_REST * total:  # few voters: the estimate would lose what is left
        information = information_by(_unit_columns(rows.n_items))
    pushes = np.bincount(opinions[0], slope, n_opinions) - np.bincount(opinions[1], slope, n_opinions)
    agreement = pushes @ pushes - 2.0 * slope @ slope + absorbed.trace()
    least = _LEAST_SHARE * (total + _LEAST_SHARE * weight @ weight)  # without two votes on an opinion, total is 0
    variance = agreement / information if information > least else 0.0
    # The noise of a vote already includes an opinion on each side, so both together cannot vary more than it does.
    variance = min(variance, 0.5 * _NOISE[rows.model.link])
    return Opinions(math.sqrt(max(0.0, variance)), *opinions, n_opinions)


def _differences(rows: tuple[Array, Array], columns: tuple[Array, Array], values: Array, shape: tuple[int, int]) -> Any:
    """Return the sum over votes of values (e_row - e_other row) (e_column - e_other column)', a sparse matrix."""
    from scipy.sparse import coo_array

    places = np.concatenate([*rows, *rows]), np.concatenate([*columns, *reversed(columns)])
    return coo_array((np.concatenate([values, values, -values, -values]), places), shape).tocsr()


def _unit_columns(n_items: int) -> Iterator[Array]:
    """Yield the columns of the identity in blocks; their products sum to a trace."""
    for start in range(0, n_items, COLUMNS):
        yield np.eye(n_items, min(COLUMNS, n_items - start), -start)


def opinion_effects(
    rows: VoteRows, weight: Array, opinions: Array | tuple[Array, Array], spread: Array, n_sides: int = 0
) -> Any:
    """Return the effect of each shared opinion, per unit of its spread, on the slopes of theta and of side biases.

    The matrix is sparse, of shape (n_items + n_sides, n_shared). `opinions` are those on the left and on the right of
    each vote, `weight` the votes' curvatures.
    """
    from scipy.sparse import coo_array

    left, right = opinions
    ends, signed_weights = [rows.left, rows.left, rows.right, rows.right], [weight, -weight, -weight, weight]
    if n_sides:
        sides = rows.n_items + rows.group
        ends, signed_weights = [*ends, sides, sides], [*signed_weights, weight, -weight]
    places, causes = np.concatenate(ends), np.concatenate([left, right] * (len(ends) // 2))
    effects = np.concatenate(signed_weights) * spread[causes]
    is_shared = spread[causes] > 0  # most opinions are behind a single vote
    shared = np.cumsum(spread > 0) - 1
    return coo_array(
        (effects[is_shared], (places[is_shared], shared[causes[is_shared]])),
        (rows.n_items + n_sides, int((spread > 0).sum())),
    )


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
    Each draw solves a linear system; the numbers do not depend on the size of blocks.

    Side biases are eliminated from the system. If votes are many, it is solved by a dense Cholesky factor L of H, which
    also replaces the noise of votes and prior: L^-T (z + L^-1 b) has the covariance H^-1 (H + C) H^-1, if b has C.
    """
    from scipy.linalg import solve_triangular
    from scipy.sparse import coo_array, hstack

    rows, n_votes, n_items, n_sides = curved.rows, curved.rows.left.size, curved.rows.n_items, side_precisions.size
    causes, size = coo_array((n_items + n_sides, 0)), n_items + n_sides
    if opinions is not None and opinions.sd > 0:
        causes = opinion_effects(rows, curved.weight, (opinions.left, opinions.right), opinions.spread, n_sides)
    voters = VoterParameters.without_parameters(rows)
    if n_sides:
        inverse = 1.0 / (rows.by_group(curved.weight) + side_precisions)
        voters = VoterParameters(rows, curved.weight[np.newaxis], inverse[:, np.newaxis, np.newaxis], np.zeros(n_sides))
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
    draws += at.theta
    draws -= draws.mean(axis=1, keepdims=True)
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
