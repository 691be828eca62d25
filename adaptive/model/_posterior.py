"""Draw from the joint posterior of the strengths, and model the opinions that several votes of a voter share.

Up to 1,500 items, the prior is a two-piece generalized t, whose mode, two scales, degrees of freedom and power are
drawn with the strengths. Markov chains start from a normal approximation. A normal prior would draw the top items,
which are few and far apart, too close together. A symmetrical prior would draw the many close items below too far
apart, and their order would seem more certain than it is. A Student's t would draw the top items too far apart where
strengths end abruptly, as uniform ones do. A chain reads equal votes once. If there are many, it reads only those on
the least certain items; a matrix replaces the others, whose log-likelihood is nearly a parabola around the strengths.
With more items, draws are normal around the fitted strengths. They solve H x = b, where the noise b has the covariance
of the slope of the log-likelihood, so memory is linear in votes.
Votes of one voter on one item are not independent, because the voter's opinion persists. Shared opinions are therefore
drawn too, or averaged over where the votes are not read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model._likelihood import (
    MAX_DENSE,
    Curvature,
    Parameters,
    Rows,
    curvature_at,
    inverse_of,
    kernel_input,
    laplacian,
    random_signs,
)
from rankcorr._workers import Progress, checked_workers, in_threads

if TYPE_CHECKING:
    from adaptive.model._sweep_kernels import ReadVotes, Shared

Array: TypeAlias = NDArray[Any]

_BLOCK_NUMBERS: Final = 1 << 22  # 32 MB of normal numbers at a time
_TOLERANCE: Final = 1e-4
_NOISE: Final = {"logistic": math.pi**2 / 3, "normal": 1.0}  # variance of the noise of a vote
_MOST_PRODUCTS: Final = 1 << 24  # of a number of a sparse matrix and a column, for exact traces
_COLUMNS: Final = 64  # of a block
_LEAST_REST: Final = 0.5  # of the products of slopes, that an estimated trace may leave
_LEAST_SHARE: Final = 1e-6  # of the products of slopes, that fitting must leave to estimate the spread of opinions
# Up to this many pairs of items per vote, a matrix of pairs takes less time than the votes, and little more memory.
_PAIRS_PER_VOTE: Final = 30
DEGREES: Final = 3.0  # fits a few top items far apart; where voters are noisy, it alone states .1 too much
MOST_DEGREES: Final = 100.0
_FIRST_SWEEPS: Final = 40
_PILOTS: Final = 20  # chains over which the slopes and curvatures of votes that are not read are averaged
_SWEEPS: Final = 4  # between two draws of a chain
_PRIOR_STEPS: Final = 6
# Prior standard deviation of the logarithm of a scale: this times n / (n + 4) for n items, because votes on few items
# cannot reveal a shape; the given prior then stays as it is.
_WIDTH_SPREAD: Final = 1.5
_PRIOR_ITEMS: Final = 4
_ROWS_EACH: Final = 25
# Most reads of a sweep: each vote counts once for either item and once for each shared opinion. The matrix that
# replaces the other votes costs as much as reading a hundredth of all pairs of items.
MOST_READ: Final = 5_000
_READS_PER_PAIR: Final = 0.01


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
            inverse = _centred_inverse(curved)
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
    for start in range(0, n_items, _COLUMNS):
        yield np.eye(n_items, min(_COLUMNS, n_items - start), -start)


def draw(
    curved: Curvature,
    at: Parameters,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Array:
    """Draw from the joint posterior of strengths with the mean 0, shape (n_draws, n_items).

    The votes do not determine the common level, which has the width of the prior, so it is subtracted. The numbers do
    not depend on the number of workers. `progress` is called with the number of draws made since its last call.
    """
    if curved.rows.n_items > MAX_DENSE:
        return draw_normal(curved, at, opinions, n_draws, rng, progress)
    return _draw_by_chains(curved, at, opinions, n_draws, rng, progress)


def draw_normal(
    curved: Curvature,
    at: Parameters,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Array:
    """Draw strengths that are normal around the fitted ones with the covariance of `covariance`; their mean is 0."""
    draws = at.theta + _draw_by_solving(curved, opinions, n_draws, rng, progress)
    draws -= draws.mean(axis=1, keepdims=True)
    return draws


@dataclass(frozen=True, eq=False)
class PooledVotes:
    """Votes with equal ones merged into one row with a count: same pair, answer, group and shared opinions.

    `opinions` has for each row the shared opinion on its left and on its right, or -1 where the vote shares none.
    There are `n_opinions`, each with standard deviation `sd` before the number of votes that share it is known.
    """

    rows: Rows
    count: Array
    opinions: Array
    n_opinions: int
    sd: float

    @classmethod
    def of(cls, rows: Rows, side: Array, opinions: Opinions | None) -> PooledVotes:
        """Pool votes; where there is no side bias, those of a pair on either side."""
        flipped = (rows.left > rows.right) & (side[rows.group] == 0)
        left, right = np.where(flipped, [rows.right, rows.left], [rows.left, rows.right])
        columns = [left, right, np.where(flipped, -rows.winner, rows.winner), rows.group]
        if opinions is not None and opinions.sd > 0:
            sides = np.where(flipped, [opinions.right, opinions.left], [opinions.left, opinions.right])
            columns += list(np.where(opinions.spread[sides] > 0, sides, -1))
        order = np.lexsort(columns[::-1])
        columns = [column[order] for column in columns]
        first = np.ones(order.size, bool)
        first[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
        places = np.flatnonzero(first)
        columns = [column[places] for column in columns]
        count = np.diff(places, append=order.size).astype(np.float64)
        shared = np.array(columns[4:]) if columns[4:] else np.full((2, places.size), -1)
        n_opinions, sd = (0, 0.0) if opinions is None else (opinions.n_opinions, opinions.sd)
        return cls(rows.with_columns(*columns[:4]), count, shared, n_opinions, sd)._renumber()

    def select(self, mask: Array) -> PooledVotes:
        """Keep the rows where `mask` is true, and the opinions that several of their votes share."""
        return replace(
            self, rows=self.rows.select(mask), count=self.count[mask], opinions=self.opinions[:, mask]
        )._renumber()

    @cached_property
    def spread(self) -> Array:
        """Standard deviation of the shared part of each opinion, as in `Opinions.spread`."""
        has_opinion = self.opinions >= 0
        votes = np.bincount(self.opinions[has_opinion], np.tile(self.count, (2, 1))[has_opinion], self.n_opinions)
        return np.asarray(self.sd * np.sqrt(1.0 - 1.0 / np.maximum(votes, 1.0)))

    def _renumber(self) -> PooledVotes:
        """Number the opinions that several votes share from 0."""
        is_shared = self.spread > 0
        places = np.append(np.where(is_shared, np.cumsum(is_shared) - 1, -1), -1)  # the last is that of -1
        return replace(self, opinions=places[self.opinions], n_opinions=int(is_shared.sum()))

    def kernel_votes(self) -> ReadVotes:
        """Convert the votes to the arrays that the loops take."""
        from adaptive.model._sweep_kernels import ReadVotes

        rows, ends = self.rows, np.concatenate([self.rows.left, self.rows.right])
        of_item = (np.argsort(ends, kind="stable") % max(1, rows.left.size)).astype(np.int32)
        first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=rows.n_items))]).astype(np.int32)
        return ReadVotes(rows.left, rows.right, rows.winner, rows.group, self.count, first, of_item)

    def kernel_opinions(self, others: Rows) -> Shared:
        """Convert the opinions to the arrays that the loops take; the unread votes `others` share none of them."""
        from adaptive.model._sweep_kernels import Shared

        opinion, item = self.opinions.ravel(), np.concatenate([self.rows.left, self.rows.right])
        has_opinion = opinion >= 0
        alone = np.zeros(self.rows.n_items, bool)
        alone[item[~has_opinion]] = alone[others.left] = alone[others.right] = True
        order = np.argsort(opinion[has_opinion], kind="stable")
        n_rows = self.count.size
        sides = (2 * np.tile(np.arange(n_rows), 2) + np.repeat([0, 1], n_rows))[has_opinion][order]
        start = np.concatenate([[0], np.cumsum(np.bincount(opinion[has_opinion], minlength=self.n_opinions))])
        of_item = item[has_opinion][order][start[:-1]].astype(np.int64)
        return Shared(start, sides, self.spread, np.where(alone[of_item], -1, of_item))


@dataclass(frozen=True, eq=False)
class _Heavy:
    """Mode and covariance under a Student's t prior with a fitted scale; the prior is flat if `scale` is infinite.

    `precisions` belong to the normal priors, one for each item, that give the same mode.
    """

    theta: Array
    covariance: Array
    precisions: Array
    scale: float


def _heavy(curved: Curvature, at: Parameters) -> _Heavy:
    """Fit the prior by EM steps: a t prior is a normal one whose precision differs by item."""
    from scipy.linalg import solve

    rows, n_items = curved.rows, curved.rows.n_items
    theta, scale = at.theta.copy(), at.sd
    if curved.precision == 0:
        return _Heavy(theta, covariance(curved, None), np.zeros(n_items), math.inf)
    inverse = inverse_of(curved.matrix())
    for step in range(_PRIOR_STEPS):
        squares = theta * theta + np.diagonal(inverse)
        share = (DEGREES + 1) / (DEGREES + squares / (scale * scale))
        scale = min(at.sd, math.sqrt(float(np.mean(share * squares))))
        precisions = share / (scale * scale)
        ahead = curvature_at(rows, replace(at, theta=theta.copy()))
        matrix = ahead.matrix()
        matrix[np.diag_indices(n_items)] += precisions - at.precision
        slope = ahead.slope - precisions * theta
        if step % 3 == 2:  # an inverse takes three times as long as a step, and changes little from one to the next
            inverse = inverse_of(matrix)
            theta = theta + np.clip(inverse @ slope, -1.0, 1.0)
        else:
            theta = theta + np.clip(solve(matrix, slope, assume_a="pos"), -1.0, 1.0)
    return _Heavy(theta, inverse, precisions, scale)


def _is_read(votes: PooledVotes, weight: Array) -> Array:
    """Choose the rows that each sweep reads: all if they are few, else those on the items with the least information.

    The curvature of a log-likelihood changes by a factor over about one unit of theta. Where the votes determine the
    strength much more precisely than that, the log-likelihood is a parabola over the range they allow.
    """
    rows, n_items = votes.rows, votes.rows.n_items
    reads = 2 + np.count_nonzero(votes.opinions >= 0, axis=0)
    if reads.sum() <= MOST_READ + _READS_PER_PAIR * n_items**2:
        return np.ones(reads.size, bool)
    information = np.bincount(rows.left, weight, n_items) + np.bincount(rows.right, weight, n_items)
    place = np.empty(n_items, np.int64)
    place[np.argsort(information, kind="stable")] = np.arange(n_items)
    earliest = np.minimum(place[rows.left], place[rows.right])
    n_reads = np.cumsum(np.bincount(earliest, reads, n_items))
    return np.asarray(n_reads[earliest] <= MOST_READ)


@dataclass(frozen=True, eq=False)
class Paraboloid:
    """Quadratic approximation to the log-likelihood of the unread votes: curvature, and slope at `center`.

    `shift` is how far shared opinions move the slope. `matrix` has single precision, which halves the memory traffic;
    that takes most of the time.
    """

    center: Array
    slope: Array
    shift: Array
    matrix: Array

    @classmethod
    def of(cls, votes: PooledVotes, at: Parameters, thetas: Array) -> Paraboloid:
        """Average slopes and curvatures over some strengths, one set in each row.

        The slopes of votes have the covariance H + C: H for independent votes, C added by shared opinions. The
        precision of the strengths given these votes is H (H + C)^-1 H, as in `covariance`.
        """
        from scipy.linalg.lapack import dpotrf

        rows, n_items = votes.rows, votes.rows.n_items
        flow, weights = np.zeros(votes.count.size), np.zeros((2, votes.count.size))
        for theta in thetas:
            curved = curvature_at(rows, replace(at, theta=theta.copy()))
            flow += curved.flow * votes.count / len(thetas)
            weights += curved.weights * votes.count / len(thetas)
        slope = rows.by_item(flow, -1.0)
        matrix, center, shift = laplacian(rows, weights[1]), thetas.mean(axis=0), np.zeros(n_items)
        slack = np.diag(np.full(n_items, 1e-6 * np.abs(matrix.diagonal()).max()))  # the level is always open
        if dpotrf(matrix + slack)[1]:  # odd votes may bend it upwards, with oversights
            matrix = laplacian(rows, weights[0])
        if votes.n_opinions:
            moves = _moves(rows, weights[0], votes.opinions, np.append(votes.spread, 0.0))
            noisy = laplacian(rows, weights[0]) + (moves @ moves.T).toarray()
            noisy[np.diag_indices(n_items)] += 1e-9 * noisy.diagonal().max()  # items without a vote have none
            product = matrix @ np.linalg.solve(noisy, np.column_stack([matrix, slope]))
            matrix = 0.5 * (product[:, :-1] + product[:, :-1].T)
            slope, shift = product[:, -1], product[:, -1] - slope
        return cls(center, slope, shift, matrix.astype(np.float32))


@dataclass(eq=False)
class _State:
    """Current values of a chain."""

    theta: Array
    opinion: Array
    shape: Array
    rng: np.random.Generator


def _draw_by_chains(
    curved: Curvature,
    at: Parameters,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Array:
    """Run chains of `_ROWS_EACH` draws in threads, each from a normal draw under the heavy-tailed prior."""
    from adaptive.model._sweep_kernels import Shape, sweep

    heavy, n_items = _heavy(curved, at), curved.rows.n_items
    ahead = replace(at, theta=heavy.theta.copy())
    pooled = PooledVotes.of(curved.rows, at.side, opinions)
    weight = curvature_at(pooled.rows, ahead).weight * pooled.count
    read = _is_read(pooled, weight)
    votes, others, weight = pooled.select(read), pooled.select(~read), weight[read]
    center, spread = heavy.theta, heavy.covariance
    others_at = Paraboloid(center, np.empty(0), np.empty(0), np.empty((0, 0), np.float32))
    n_chains = n_pilots = -(-n_draws // _ROWS_EACH)
    if others.count.size:
        n_pilots = max(n_chains, _PILOTS)
        others_at = Paraboloid.of(others, at, heavy.theta[np.newaxis])
        if others.n_opinions:
            precision = others_at.matrix + laplacian(votes.rows, weight) + np.diag(heavy.precisions)
            mean = (curved.precision == 0) / n_items  # as in `covariance`: without a prior the matrix is singular
            spread = inverse_of(precision + mean) - mean
            center = center + spread @ others_at.shift
    mean = float(np.trace(spread)) / n_items if curved.precision == 0 else 0.0
    factor = np.linalg.cholesky(0.5 * (spread + spread.T) + mean)
    started = center + rng.standard_normal((n_pilots, n_items)) @ factor.T
    steps = 2.0 * np.sqrt(np.minimum(np.diagonal(spread), 4.0) * 0.5)
    _, voters = kernel_input(curved.rows, at)
    prior = Shape(DEGREES, MOST_DEGREES, at.sd, _WIDTH_SPREAD * n_items / (n_items + _PRIOR_ITEMS))
    read_votes, shared = votes.kernel_votes(), votes.kernel_opinions(others.rows)
    moves = _moves(votes.rows, weight, votes.opinions, np.append(np.ones(votes.n_opinions), 0.0))
    n_numbers = n_items + votes.n_opinions + (n_items if votes.n_opinions else 0) + 5

    def begin(theta: Array, seed: int) -> _State:
        rng = np.random.default_rng(seed)
        opinion = shared.spread * rng.standard_normal(shared.spread.size)
        shape = np.array([0.0, math.log(heavy.scale), math.log(heavy.scale), math.log(DEGREES), math.log(2.0)])
        return _State(theta - spread @ (moves @ opinion), opinion, shape, rng)  # strengths make up for opinions

    def move(state: _State, n_sweeps: Sequence[int]) -> list[Array]:
        """Return the strengths after each of these numbers of sweeps."""
        pull = others_at.slope.copy()
        if pull.size:
            pull -= others_at.matrix @ (state.theta - others_at.center)
        draws = []
        for number in n_sweeps:
            numbers = (
                state.rng.standard_normal((number, n_numbers)),
                -state.rng.standard_exponential((number, n_numbers)),
            )
            changed = state.theta, state.opinion, state.shape
            sweep(read_votes, voters, shared, prior, others_at.matrix, pull, steps, *numbers, *changed)
            level = state.theta.mean()  # the votes carry no information on it
            state.theta -= level
            state.shape[0] -= level
            draws.append(state.theta.copy())
        return draws

    # Draw the seeds: a generator's state does not count what it spawned, and some generators cannot spawn.
    seeds = rng.integers(0, 2**63, n_pilots).tolist()
    states, workers = list(map(begin, started, seeds)), checked_workers(None)
    first = _FIRST_SWEEPS
    if others.count.size:
        first //= 2
        in_threads(lambda state: move(state, [first]), states, workers)
        others_at = Paraboloid.of(others, at, np.array([state.theta for state in states]))
    blocks = [(state, min(_ROWS_EACH, n_draws - _ROWS_EACH * place)) for place, state in enumerate(states[:n_chains])]
    draws = in_threads(
        lambda block: move(block[0], [first] + [_SWEEPS] * (block[1] - 1)),
        blocks,
        workers,
        progress,
        lambda block: block[1],
    )
    return np.concatenate(draws)


def _draw_by_solving(
    curved: Curvature, opinions: Opinions | None, n_draws: int, rng: np.random.Generator, progress: Progress | None
) -> Array:
    """Draw around zero, each time by solving a linear system; the numbers do not depend on the size of blocks.

    If votes are many, the system is solved by a dense Cholesky factor L of H, which also replaces the noise of votes
    and prior: L^-T (z + L^-1 b) has the covariance H^-1 (H + C) H^-1, if b has C.
    """
    from scipy.linalg import solve_triangular
    from scipy.sparse import coo_array, hstack

    rows, n_votes, n_items = curved.rows, curved.rows.left.size, curved.rows.n_items
    causes = coo_array((n_items, 0))
    if opinions is not None and opinions.sd > 0:
        causes = _moves(rows, curved.weight, (opinions.left, opinions.right), opinions.spread)
    is_dense = n_items**2 <= _PAIRS_PER_VOTE * n_votes and curved.precision > 0
    if is_dense:
        factor = np.linalg.cholesky(curved.matrix())
    else:
        width, vote = np.sqrt(curved.weight), np.arange(n_votes)
        places = np.concatenate([rows.left, rows.right]), np.concatenate([vote, vote])
        causes = hstack([coo_array((np.concatenate([width, -width]), places), (n_items, n_votes)), causes])
    causes = causes.tocsr()
    draws = np.empty((n_draws, n_items))
    block = max(1, min(_COLUMNS, _BLOCK_NUMBERS // max(1, causes.shape[1] + n_items)))
    for start in range(0, n_draws, block):
        stop = min(n_draws, start + block)
        noise = rng.standard_normal((stop - start, n_items + causes.shape[1])).T
        forcing, noise = causes @ np.ascontiguousarray(noise[n_items:]), noise[:n_items]
        if is_dense:
            noise = noise + solve_triangular(factor, forcing, lower=True, check_finite=False)
            solution = solve_triangular(factor, noise, lower=True, trans="T", check_finite=False)
        else:
            solution = curved.solve(forcing + curved.precision**0.5 * noise, _TOLERANCE)
        draws[start:stop] = solution.T
        if progress is not None:
            progress(stop - start)
    return draws


def _moves(rows: Rows, weight: Array, opinions: Array | tuple[Array, Array], spread: Array) -> Any:
    """Return the effect of each shared opinion, per unit of its spread, on the slopes of theta.

    The matrix is sparse, of shape (n_items, n_shared). `opinions` are those on the left and on the right of each vote,
    `weight` the votes' curvatures.
    """
    from scipy.sparse import coo_array

    left, right = opinions
    places = np.concatenate([rows.left, rows.left, rows.right, rows.right])
    causes = np.concatenate([left, right, left, right])
    effects = np.concatenate([weight, -weight, -weight, weight]) * spread[causes]
    is_shared = spread[causes] > 0  # most opinions are behind a single vote
    shared = np.cumsum(spread > 0) - 1
    return coo_array(
        (effects[is_shared], (places[is_shared], shared[causes[is_shared]])), (rows.n_items, int((spread > 0).sum()))
    )


def covariance(curved: Curvature, opinions: Opinions | None, absorbed: Array | float = 0.0) -> Array:
    """Return the covariance of `draw`, shape (n_items, n_items): H^-1 (H + C) H^-1, where shared opinions add C.

    It applies to strengths whose mean is 0, as in each draw. Other parameters that are uncertain take the part
    `absorbed` from H.
    """
    rows, inverse = curved.rows, _centred_inverse(curved, absorbed)
    if opinions is None or opinions.sd == 0:
        return np.asarray(inverse)
    moves = _moves(rows, curved.weight, (opinions.left, opinions.right), opinions.spread).tocsr()
    return np.asarray(inverse + inverse @ (moves @ moves.T).toarray() @ inverse)


def _centred_inverse(curved: Curvature, absorbed: Array | float = 0.0) -> Array:
    """Return H^-1 without a common level, which only the prior penalizes; without a prior H is singular."""
    mean = np.full((curved.rows.n_items, curved.rows.n_items), 1.0 / curved.rows.n_items)
    return inverse_of(curved.matrix() - absorbed + mean) - mean / (1.0 + curved.precision)


def cluster_ratio(curved: Curvature, opinions: Opinions | None, voter: Array, n_voters: int) -> float:
    """Return the variance of the strengths with voters as clusters, over that of the model, without the prior's part.

    The first is H^-1 (sum over voters of s s') H^-1 V / (V - 1), where s is the slope of a voter's votes.
    """
    rows, inverse = curved.rows, _centred_inverse(curved)
    slopes = np.zeros((rows.n_items, n_voters))
    np.add.at(slopes, (rows.left, voter), curved.flow)
    np.add.at(slopes, (rows.right, voter), -curved.flow)
    robust = float(np.sum((inverse @ slopes) ** 2)) * n_voters / (n_voters - 1)
    model = float(np.trace(covariance(curved, opinions))) - curved.precision * float(np.sum(inverse * inverse))
    return robust / model if model > 0 else math.nan
