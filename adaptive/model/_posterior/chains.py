"""Draw strengths from their joint posterior: by Markov chains under a prior whose shape is drawn with them.

Beyond 1,500 items, draws are normal around the fitted strengths (`draw_normal`).

The prior is a two-piece generalized t, whose mode, two scales, degrees of freedom and power are drawn with the
strengths. Markov chains start from a normal approximation. A normal prior would draw the top items, which are few and
far apart, too close together. A symmetrical prior would draw the many close items below too far apart, and their order
would seem more certain than it is. A Student's t would draw the top items too far apart where strengths end abruptly,
as uniform ones do.

A chain reads equal votes once. If there are many, it reads only those on the least certain items; a matrix replaces the
others, whose log-likelihood is nearly a parabola around the strengths. Shared opinions are drawn too, or averaged over
where the votes are not read. A fitted side bias is drawn like an opinion behind all votes of its group, on the left. In
units of theta it is s / a.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model._likelihood import (
    MAX_DENSE,
    Curvature,
    Parameters,
    VoteRows,
    curvature_at,
    inverse_of,
    kernel_input,
    laplacian,
)
from adaptive.model._posterior.normal import Opinions, draw_normal, opinion_effects
from rankcorr._workers import Progress, checked_workers, in_threads

if TYPE_CHECKING:
    from adaptive.model._posterior.sweep_kernels import ReadVotes, SharedOpinions

Array: TypeAlias = NDArray[Any]

DEGREES: Final = 3.0  # fits a few top items far apart; where voters are noisy, it alone states .1 too much
MOST_DEGREES: Final = 100.0
_FIRST_SWEEPS: Final = 40
_PILOTS: Final = 20  # chains over which the slopes and curvatures of votes that are not read are averaged
_SWEEPS: Final = 4  # between two draws of a chain
# Standard deviations of a step along d dimensions, times sqrt(d) (Gelman, Roberts and Gilks 1996).
_JOINT_STEP: Final = 2.4
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


def draw(
    curved: Curvature,
    at: Parameters,
    side_sd: float,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> Array:
    """Draw from the joint posterior of strengths with the mean 0, shape (n_draws, n_items).

    The votes do not determine the common level, which has the width of the prior, so it is subtracted. Side biases, if
    fitted, have a normal prior with the standard deviation `side_sd`; with more than `MAX_DENSE` strengths and biases,
    chains take the biases as fitted. The numbers do not depend on the number of workers. `progress` is called with the
    number of draws made since its last call.
    """
    n_items = curved.rows.n_items
    precisions = side_precisions(curved.rows, at, side_sd)
    if n_items > MAX_DENSE:
        return draw_normal(curved, at, precisions, opinions, n_draws, rng, progress)
    if n_items + precisions.size > MAX_DENSE:
        precisions = precisions[:0]
    return draw_by_chains(curved, at, precisions, opinions, n_draws, rng, progress)


def side_precisions(rows: VoteRows, at: Parameters, side_sd: float) -> Array:
    """Return the precision of the prior of each side bias in units of theta; empty if none is fitted."""
    return (at.discrimination / side_sd) ** 2 if rows.model.side_bias else np.empty(0)


@dataclass(frozen=True, eq=False)
class PooledVotes:
    """Votes with equal ones merged into one row with a count: same pair, answer, group and shared opinions.

    `opinions` has for each row the shared opinion on its left and on its right, or -1 where the vote shares none.
    There are `n_opinions`, each with standard deviation `sd` before the number of votes that share it is known.
    """

    rows: VoteRows
    count: Array
    opinions: Array
    n_opinions: int
    sd: float

    @classmethod
    def of(cls, rows: VoteRows, opinions: Opinions | None) -> PooledVotes:
        """Pool votes; without a side bias, those of a pair on either side."""
        is_flipped = (rows.left > rows.right) & (not rows.model.side_bias)
        left, right = np.where(is_flipped, [rows.right, rows.left], [rows.left, rows.right])
        columns = [left, right, np.where(is_flipped, -rows.winner, rows.winner), rows.group]
        if opinions is not None and opinions.sd > 0:
            sides = np.where(is_flipped, [opinions.right, opinions.left], [opinions.left, opinions.right])
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
        from adaptive.model._posterior.sweep_kernels import ReadVotes

        rows, ends = self.rows, np.concatenate([self.rows.left, self.rows.right])
        of_item = (np.argsort(ends, kind="stable") % max(1, rows.left.size)).astype(np.int32)
        first = np.concatenate([[0], np.cumsum(np.bincount(ends, minlength=rows.n_items))]).astype(np.int32)
        return ReadVotes(rows.left, rows.right, rows.winner, rows.group, self.count, first, of_item)

    def kernel_opinions(self, unread: VoteRows, side_spread: Array, side_steps: Array) -> SharedOpinions:
        """Convert the opinions to the arrays that the loops take; votes that are not read share none of them.

        Side biases follow, if they are drawn.
        """
        from adaptive.model._posterior.sweep_kernels import SharedOpinions

        opinion, item = self.opinions.ravel(), np.concatenate([self.rows.left, self.rows.right])
        has_opinion = opinion >= 0
        has_unshared = np.zeros(self.rows.n_items, bool)
        has_unshared[item[~has_opinion]] = has_unshared[unread.left] = has_unshared[unread.right] = True
        order = np.argsort(opinion[has_opinion], kind="stable")
        n_rows = self.count.size
        sides = (2 * np.tile(np.arange(n_rows), 2) + np.repeat([0, 1], n_rows))[has_opinion][order]
        start = np.concatenate([[0], np.cumsum(np.bincount(opinion[has_opinion], minlength=self.n_opinions))])
        of_item = item[has_opinion][order][start[:-1]].astype(np.int64)
        of_item = np.where(has_unshared[of_item], -1, of_item)
        if side_spread.size:
            of_group, first = self.rows.rows_by_group
            start, sides = np.concatenate([start, start[-1] + first[1:]]), np.concatenate([sides, 2 * of_group])
            of_item = np.concatenate([of_item, np.full(side_spread.size, -1)])
        spread, steps = np.append(self.spread, side_spread), np.append(1.5 * self.spread, side_steps)
        return SharedOpinions(start, sides, spread, steps, of_item)


def _add_sides(matrix: Array, rows: VoteRows, weight: Array, n_sides: int) -> Array:
    """Append side biases, if they are drawn, to a curvature matrix of strengths by votes with these curvatures."""
    if not n_sides:
        return matrix
    of_sides = rows.by_item_and_group(weight)
    return np.block([[matrix, of_sides], [of_sides.T, np.diag(rows.by_group(weight))]])


def _slope(rows: VoteRows, flow: Array, n_sides: int) -> Array:
    """Return the slope in the strengths and in side biases, from that of each vote."""
    return np.concatenate([rows.by_item(flow, -1.0), rows.by_group(flow)[:n_sides]])


def _parameters_at(at: Parameters, place: Array) -> Parameters:
    """Return parameters with other strengths and, if `place` has them, side biases."""
    theta, sides = np.split(place, [at.theta.size])
    return replace(at, theta=theta.copy(), side=sides * at.discrimination if sides.size else at.side)


def _common_shift(n_items: int, n_sides: int) -> Array:
    """Return the projection on a common shift of all strengths."""
    shift = np.zeros((n_items + n_sides, n_items + n_sides))
    shift[:n_items, :n_items] = 1.0 / n_items
    return shift


@dataclass(frozen=True, eq=False)
class _Approximation:
    """Mode and covariance under a Student's t prior with a fitted scale; the prior is flat if `scale` is infinite.

    `center` are strengths, then side biases if they are drawn. `precisions` belong to the normal priors, one for each
    of them, that give the same mode.
    """

    center: Array
    covariance: Array
    precisions: Array
    scale: float


def _approximate(curved: Curvature, at: Parameters, side_precisions: Array) -> _Approximation:
    """Fit the prior by EM steps: a t prior is a normal one whose precision differs by item."""
    from scipy.linalg import solve

    rows, n_items, n_sides = curved.rows, curved.rows.n_items, side_precisions.size
    center, scale = np.concatenate([at.theta, (at.side / at.discrimination)[:n_sides]]), at.sd
    matrix = _add_sides(curved.matrix(), rows, curved.weight, n_sides)
    diagonal = np.diag_indices(n_items + n_sides)
    matrix[diagonal] += np.append(np.zeros(n_items), side_precisions)
    if curved.precision == 0:
        common_shift = _common_shift(n_items, n_sides)
        covariance = inverse_of(matrix + common_shift) - common_shift
        return _Approximation(center, covariance, np.append(np.zeros(n_items), side_precisions), math.inf)
    inverse = inverse_of(matrix)
    for step in range(_PRIOR_STEPS):
        squares = center[:n_items] ** 2 + np.diagonal(inverse)[:n_items]
        share = (DEGREES + 1) / (DEGREES + squares / (scale * scale))
        scale = min(at.sd, math.sqrt(float(np.mean(share * squares))))
        precisions = np.append(share / (scale * scale), side_precisions)
        at_center = curvature_at(rows, _parameters_at(at, center))
        matrix = _add_sides(at_center.matrix(), rows, at_center.weight, n_sides)
        matrix[diagonal] += precisions - np.append(np.full(n_items, at.precision), np.zeros(n_sides))
        slope = _slope(rows, at_center.flow, n_sides) - precisions * center
        # An inverse takes three times as long as a step, and changes little from one to the next. The solver of a step
        # warns of a side bias whose prior is far narrower than that of the strengths.
        if n_sides or step % 3 == 2:
            inverse = inverse_of(matrix)
            center = center + np.clip(inverse @ slope, -1.0, 1.0)
        else:
            center = center + np.clip(solve(matrix, slope, assume_a="pos"), -1.0, 1.0)
    return _Approximation(center, inverse, precisions, scale)


def _choose_read(votes: PooledVotes, weight: Array) -> Array:
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

    Its variables are the strengths, then side biases if they are drawn. `shift` is how far shared opinions move the
    slope. `matrix` has single precision, which halves the memory traffic; that takes most of the time.
    """

    center: Array
    slope: Array
    shift: Array
    matrix: Array

    @classmethod
    def of(cls, votes: PooledVotes, at: Parameters, places: Array) -> Paraboloid:
        """Average slopes and curvatures over some places, one in each row: strengths, and side biases if drawn.

        The slopes of votes have the covariance H + C: H for independent votes, C added by shared opinions. The
        precision of the strengths given these votes is H (H + C)^-1 H, as in `covariance`.
        """
        from scipy.linalg.lapack import dpotrf

        rows, n_items = votes.rows, votes.rows.n_items
        flow, weights = np.zeros(votes.count.size), np.zeros((2, votes.count.size))
        for place in places:
            curved = curvature_at(rows, _parameters_at(at, place))
            flow += curved.flow * votes.count / len(places)
            weights += curved.weights * votes.count / len(places)
        center, n_sides = places.mean(axis=0), places.shape[1] - n_items
        slope, shift = _slope(rows, flow, n_sides), np.zeros(center.size)
        expected, matrix = (_add_sides(laplacian(rows, weight), rows, weight, n_sides) for weight in weights)
        slack = np.diag(np.full(center.size, 1e-6 * np.abs(matrix.diagonal()).max()))  # the level is always open
        if dpotrf(matrix + slack)[1]:  # odd votes may bend it upwards, with oversights
            matrix = expected
        if votes.n_opinions:
            effects = opinion_effects(rows, weights[0], votes.opinions, np.append(votes.spread, 0.0), n_sides)
            noisy = expected + (effects @ effects.T).toarray()
            noisy[np.diag_indices(center.size)] += 1e-9 * noisy.diagonal().max()  # items without a vote have none
            product = matrix @ np.linalg.solve(noisy, np.column_stack([matrix, slope]))
            matrix = 0.5 * (product[:, :-1] + product[:, :-1].T)
            slope, shift = product[:, -1], product[:, -1] - slope
        return cls(center, slope, shift, matrix.astype(np.float32))


@dataclass(eq=False)
class _State:
    """Current values of a chain; side biases, if they are drawn, follow the opinions."""

    theta: Array
    opinion: Array
    shape: Array
    rng: np.random.Generator

    def place(self, n_sides: int) -> Array:
        """Return strengths and side biases."""
        return np.concatenate([self.theta, self.opinion[self.opinion.size - n_sides :]])


def draw_by_chains(
    curved: Curvature,
    at: Parameters,
    side_precisions: Array,
    opinions: Opinions | None,
    n_draws: int,
    rng: np.random.Generator,
    progress: Progress | None,
) -> Array:
    """Run chains of `_ROWS_EACH` draws in threads, each from a normal draw under the heavy-tailed prior."""
    from adaptive.model._posterior.sweep_kernels import Chain, Proposals, StrengthPrior, sweep

    approximation = _approximate(curved, at, side_precisions)
    n_items, n_sides = curved.rows.n_items, side_precisions.size
    pooled = PooledVotes.of(curved.rows, opinions)
    weight = curvature_at(pooled.rows, _parameters_at(at, approximation.center)).weight * pooled.count
    side_steps = 2.0 / np.sqrt(pooled.rows.by_group(weight)[:n_sides] + side_precisions)
    is_read = _choose_read(pooled, weight)
    votes, unread, weight = pooled.select(is_read), pooled.select(~is_read), weight[is_read]
    center, spread = approximation.center, approximation.covariance
    paraboloid = Paraboloid(center, np.empty(0), np.empty(0), np.empty((0, 0), np.float32))
    n_chains = n_pilots = -(-n_draws // _ROWS_EACH)
    if unread.count.size:
        n_pilots = max(n_chains, _PILOTS)
        paraboloid = Paraboloid.of(unread, at, center[np.newaxis])
        if unread.n_opinions:
            read_matrix = _add_sides(laplacian(votes.rows, weight), votes.rows, weight, n_sides)
            precision = paraboloid.matrix + read_matrix + np.diag(approximation.precisions)
            # As in `covariance`: without a prior the matrix is singular.
            common_shift = (curved.precision == 0) * _common_shift(n_items, n_sides)
            spread = inverse_of(precision + common_shift)
            spread -= common_shift
            center = center + spread @ paraboloid.shift
    start_covariance = 0.5 * (spread + spread.T)
    if curved.precision == 0:
        start_covariance[:n_items, :n_items] += float(np.trace(spread[:n_items, :n_items])) / n_items
    starts = center + rng.standard_normal((n_pilots, center.size)) @ np.linalg.cholesky(start_covariance).T
    # Changes of side biases, with those of the strengths that make up for them.
    ridge = spread[:, n_items:] @ np.linalg.inv(np.linalg.cholesky(start_covariance[n_items:, n_items:])).T
    variances = np.diagonal(spread)[:n_items] - np.sum(ridge[:n_items] ** 2, axis=1)  # given the side biases
    steps = 2.0 * np.sqrt(np.minimum(variances, 4.0) * 0.5)
    ridge *= _JOINT_STEP / math.sqrt(max(1, n_sides))
    _, voters = kernel_input(curved.rows, replace(at, side=np.zeros(n_sides)) if n_sides else at)
    prior = StrengthPrior(DEGREES, MOST_DEGREES, at.sd, _WIDTH_SPREAD * n_items / (n_items + _PRIOR_ITEMS))
    read_votes, shared = votes.kernel_votes(), votes.kernel_opinions(unread.rows, side_precisions**-0.5, side_steps)
    effects = opinion_effects(votes.rows, weight, votes.opinions, np.append(np.ones(votes.n_opinions), 0.0), n_sides)
    n_opinions = votes.n_opinions + n_sides
    n_numbers = n_items + n_opinions + (n_items if n_opinions else 0) + 5

    def start_chain(place: Array, seed: int) -> _State:
        rng = np.random.default_rng(seed)
        opinion = votes.spread * rng.standard_normal(votes.n_opinions)
        log_scale = math.log(approximation.scale)
        shape = np.array([0.0, log_scale, log_scale, math.log(DEGREES), math.log(2.0)])
        theta, biases = np.split(place - spread @ (effects @ opinion), [n_items])  # they make up for opinions
        return _State(theta.copy(), np.concatenate([opinion, biases]), shape, rng)

    def run(state: _State, n_sweeps: Sequence[int]) -> list[Array]:
        """Return the strengths after each of these numbers of sweeps."""
        pull = paraboloid.slope.copy()
        if pull.size:
            pull -= paraboloid.matrix @ (state.place(n_sides) - paraboloid.center)
        chain = Chain(state.theta, state.opinion, state.shape, pull, *np.empty((3, votes.count.size)))
        draws = []
        for number in n_sweeps:
            normal = state.rng.standard_normal((number, n_numbers + n_sides))
            log_uniform = -state.rng.standard_exponential((number, n_numbers + n_sides))
            joint_changes = normal[:, n_numbers:] @ ridge.T
            pull_changes = joint_changes.astype(np.float32)[:, : pull.size] @ paraboloid.matrix
            proposals = Proposals(steps, normal, log_uniform, joint_changes, pull_changes)
            sweep(read_votes, voters, shared, prior, paraboloid.matrix, proposals, chain)
            level = state.theta.mean()  # the votes carry no information on it
            state.theta -= level
            state.shape[0] -= level
            draws.append(state.theta.copy())
        return draws

    # Draw the seeds: a generator's state does not count what it spawned, and some generators cannot spawn.
    seeds = rng.integers(0, 2**63, n_pilots).tolist()
    states, workers = list(map(start_chain, starts, seeds)), checked_workers(None)
    n_first = _FIRST_SWEEPS
    if unread.count.size:
        n_first //= 2
        in_threads(lambda state: run(state, [n_first]), states, workers)
        paraboloid = Paraboloid.of(unread, at, np.array([state.place(n_sides) for state in states]))
    blocks = [(state, min(_ROWS_EACH, n_draws - _ROWS_EACH * place)) for place, state in enumerate(states[:n_chains])]
    draws = in_threads(
        lambda block: run(block[0], [n_first] + [_SWEEPS] * (block[1] - 1)),
        blocks,
        workers,
        progress,
        lambda block: block[1],
    )
    return np.concatenate(draws)
