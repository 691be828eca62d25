"""Newton steps over all parameters of a vote model at once: strengths, ties, sides and voters, of pooled votes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ModelError
from adaptive.model._likelihood import (
    INDEFINITE,
    Curvature,
    Parameters,
    VoteRows,
    check_bounded,
    fill_terms,
    laplacian,
    solve_system,
)
from adaptive.model._prior import Prior
from rankcorr._output.results import read_only
from rankcorr._workers import Progress

if TYPE_CHECKING:
    from adaptive.model._likelihood_kernels import Absorption, PairCurvatures, RowTerms
Array: TypeAlias = NDArray[Any]
_LARGEST_STEP: Final = 4.0  # of the difference of two items that met
_FORCING: Final = (1e-10, 1e-2)  # of conjugate gradients: steps that end far from the solution need not be exact
_FAR: Final = 0.5  # a step from which the next may still be far from the peak
_FLAT: Final = 1e-9  # of the largest curvature of an answer
_LEAST_PART: Final = 1e-13  # of the largest curvature
_ROUNDING: Final = 1e-9  # of a rise that a step promises
MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-9  # of the largest change, relative to the spread of the strengths
FOLLOW_TOLERANCE: Final = 1e-6  # of parameters that follow e or t
SLIPS_RANGE: Final = (1e-9, 0.35)  # beyond a half, the order would be mirrored
_VOTES_PER_BLOCK: Final = 1 << 20
_CELLS_PER_ROW: Final = 6
_NU_RANGE: Final = (1e-6, 1e4)


@dataclass(frozen=True, eq=False)
class Move:
    """A change, or a slope, of all parameters: strengths, then log a, log odds of e and s by group, and log nu."""

    theta: Array
    groups: Array
    log_nu: float

    def __matmul__(self, other: Move) -> float:
        return float(self.theta @ other.theta + (self.groups * other.groups).sum() + self.log_nu * other.log_nu)


@dataclass(frozen=True, eq=False)
class Point:
    """Parameters with their log-likelihood, log posterior and derivatives."""

    at: Parameters
    log_posterior: float
    curved: Curvature  # expected, in the strengths alone

    @property
    def log_likelihood(self) -> float:
        return self.curved.log_likelihood

    @property
    def terms(self) -> RowTerms:
        """What each row of votes adds to the derivatives."""
        return self.curved.terms

    @cached_property
    def difference(self) -> Array:
        """Difference of the two strengths of each row."""
        rows = self.curved.rows
        return np.asarray(self.at.theta[rows.left] - self.at.theta[rows.right])


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit."""

    point: Point
    converged: bool
    n_iterations: int

    @property
    def parameters(self) -> Parameters:
        """Parameters at the end."""
        return self.point.at


@dataclass(eq=False)
class JointFit:
    """Newton steps over all parameters at once.

    The matrix of a step has the strengths in one block, with an entry for each pair of items that met, and a block of
    3 x 3 for each voter. Voters are eliminated first, because they have no votes in common. The mean of log a over them
    is held at 0: otherwise a would absorb the scale of the strengths, whose prior penalises it. The tie parameter is a
    border of the matrix. Cholesky's factor solves the system up to 100 items, and up to 1,500 if there are many votes;
    otherwise conjugate gradients do.
    """

    rows: VoteRows
    prior: Prior
    oversight: float
    tolerance: float
    progress: Progress | None
    fits_nu: bool = False
    holds_slips: bool = False  # an e of all votes, at the peak of its marginal likelihood
    is_active: Array = field(init=False)  # log a, log odds of e, s
    is_free: Array = field(init=False)  # the same, without an e that is held
    forcing: float = _FORCING[1]
    is_far: bool = False  # from the peak, where the curvature in the parameters of voters is seldom positive definite
    n_iterations: int = 0  # of all runs

    def __post_init__(self) -> None:
        model = self.rows.model
        fits_oversight = (model.voters or model.slips) and self.oversight > 0
        # Shares count voters, not votes: a program with most of the votes must not define what is normal.
        has_votes = np.bincount(self.rows.group, minlength=self.rows.n_groups) > 0
        n_voters = int(has_votes.sum())
        self.shares = has_votes / max(1, n_voters)
        # The mean of log a is 0, so that of a single voter is.
        self.is_active = np.array([model.voters and n_voters > 1, fits_oversight, model.side_bias])
        self.is_free = self.is_active.copy()

    @property
    def fits_slips(self) -> bool:
        """True if one oversight of all votes is fitted."""
        return bool(self.rows.model.slips and self.is_active[1])

    @cached_property
    def count(self) -> Array:
        """Votes of each row."""
        counts = self.rows.counts
        return np.asarray(counts.right + counts.tie + counts.left)

    def run(self, start: Parameters, max_iterations: int) -> Fitted:
        """Step until nothing moves by more than the tolerance."""
        point, last, self.forcing = self.point(start), math.inf, _FORCING[1]
        self.is_far = self.rows.model.voters and not start.theta.any()
        for iteration in range(1, max_iterations + 1):
            self.n_iterations += 1
            if self.progress is not None:
                self.progress(1)
            moved, point = self._advance(point)
            # Where the likelihood is not concave, steps are scored ones, which converge linearly.
            rate = min(moved / last, 0.999) if last > 0 else 0.0
            if moved <= self.tolerance and moved * rate <= self.tolerance * (1.0 - rate):
                return Fitted(point, True, iteration)
            last = moved
            self.is_far = self.is_far and moved > _FAR
            self.forcing = min(max(moved, _FORCING[0]), _FORCING[1])
        return Fitted(point, False, max_iterations)

    def is_maximum(self, point: Point) -> bool:
        """Return whether the log posterior has no direction that is curved upwards, seen from a random one."""
        if not (self.is_active[0] or point.at.oversight.any()):
            return True  # it is concave
        target = Move(
            np.random.default_rng(0).standard_normal(self.rows.n_items), np.zeros((self.rows.n_groups, 3)), 0.0
        )
        self.forcing = FOLLOW_TOLERANCE
        with suppress(np.linalg.LinAlgError):
            (solution,) = self.solve(point, [target], is_observed=True)
            return target @ solution > 0
        return False

    def point(self, at: Parameters) -> Point:
        """Evaluate the votes and the priors at some parameters, up to a constant."""
        from adaptive.model._likelihood_kernels import RowTerms

        prior, fits_oversight = self.prior, bool(self.is_active[1])
        terms = RowTerms.of(self.rows.left.size, fits_oversight=fits_oversight, fits_nu=self.fits_nu)
        log_likelihood = fill_terms(self.rows, at, terms)
        total = log_likelihood - 0.5 * at.precision * float(at.theta @ at.theta)
        if self.is_active[0]:
            total -= 0.5 * float(np.sum(np.log(at.discrimination) ** 2)) / prior.discrimination_sd**2
        if self.is_active[1]:
            sums = self.oversight * np.log(at.oversight) + (1 - self.oversight) * np.log1p(-at.oversight)
            total += prior.oversight_votes * float(sums.sum())
        if self.is_active[2]:
            total -= 0.5 * float(at.side @ at.side) / prior.side_sd**2
        return Point(at, total, Curvature(self.rows, at.precision, log_likelihood, terms, at.discrimination))

    def _advance(self, point: Point) -> tuple[float, Point]:
        """Take one step, shortened until the posterior does not fall; return the largest change and the new point."""
        rows, at = self.rows, point.at
        if at.precision == 0:
            check_bounded(rows, rows.of_group(at.discrimination) ** 2 * point.terms.expected)
        slope, slack = self.slope(point), 1e-12 * max(1.0, abs(point.log_posterior))
        # Where votes agree with no order, wide strengths would push e beyond a half.
        is_widest = at.oversight[0] >= SLIPS_RANGE[1] and slope.groups[0, 1] > 0
        is_held = self.fits_slips and (self.holds_slips or is_widest)
        self.is_free[1] = self.is_active[1] and not is_held
        if is_held:
            slope.groups[:, 1] = 0.0
        n_solved = 0
        for (step,) in self.solutions(point, [slope]):
            n_solved += 1
            largest = float(np.abs(step.theta).max())
            of_others = max(float(np.abs(step.groups).max()), abs(step.log_nu))
            change = 2.0 * largest  # at most
            if change > _LARGEST_STEP:
                # The likelihood is curved in differences only: the ends of a long chain may move far.
                change = float(np.abs(step.theta[rows.left] - step.theta[rows.right]).max(initial=0.0))
            largest = max(largest / max(1.0, float(np.abs(at.theta).max())), of_others)
            part = 1.0 / max(1.0, change / _LARGEST_STEP, of_others)
            for _ in range(30):
                ahead = self.point(self.take_step(at, step, part))
                if ahead.log_posterior >= point.log_posterior - slack:
                    return part * largest, ahead
                part /= 2
        if not n_solved:
            raise ModelError(INDEFINITE)
        return 0.0, point

    def take_step(self, at: Parameters, step: Move, part: float) -> Parameters:
        """Return the parameters after a part of a step."""
        from scipy.special import expit, logit

        discrimination, oversight, nu = at.discrimination, at.oversight, at.nu
        if self.is_active[0]:
            discrimination = discrimination * np.exp(part * step.groups[:, 0])
        if self.is_active[1] and step.groups[:, 1].any():
            oversight = expit(logit(oversight) + part * step.groups[:, 1])
            oversight = np.minimum(oversight, SLIPS_RANGE[1]) if self.fits_slips else oversight
        if self.fits_nu:
            nu = min(max(nu * math.exp(part * step.log_nu), _NU_RANGE[0]), _NU_RANGE[1])
        theta, side = at.theta + part * step.theta, at.side + part * step.groups[:, 2]
        return Parameters(theta, discrimination, oversight, side, nu, at.sd)

    def solutions(self, point: Point, targets: Sequence[Move]) -> Iterator[list[Move]]:
        """Yield solutions with observed curvatures, if these are positive definite, then with expected ones.

        Far from the peak, the expected ones come first.
        """
        for is_observed in (not self.is_far, self.is_far):
            with suppress(np.linalg.LinAlgError):
                solutions = self.solve(point, targets, is_observed)
                if all(target @ solution >= -_ROUNDING for target, solution in zip(targets, solutions, strict=True)):
                    yield solutions

    def slope(self, point: Point) -> Move:
        rows, at, prior = self.rows, point.at, self.prior
        score = point.terms.score
        flow = rows.of_group(at.discrimination) * score
        theta = rows.by_item(flow, -1.0)
        groups = np.zeros((rows.n_groups, 3))
        if self.is_active[0]:
            groups[:, 0] = rows.by_group(flow * point.difference)
            groups[:, 0] -= np.log(at.discrimination) / prior.discrimination_sd**2
        if self.is_active[1]:
            groups[:, 1] = rows.by_group(point.terms.oversight_score) * at.oversight * (1 - at.oversight)
            groups[:, 1] += prior.oversight_votes * (self.oversight - at.oversight)
        if self.is_active[2]:
            groups[:, 2] = rows.by_group(score) - at.side / prior.side_sd**2
        log_nu = float(np.sum(self.rows.counts.tie - self.count * point.terms.tie)) if self.fits_nu else 0.0
        return Move(theta - at.precision * at.theta, groups, log_nu)

    def solve(self, point: Point, targets: Sequence[Move], is_observed: bool) -> list[Move]:
        """Return the curvature's inverse times each target, with the mean of log a over the voters held.

        Raises
        ------
        LinAlgError
            The curvature is not positive definite, which cannot happen to expected ones.
        """
        n_items, n_groups, n_targets = self.rows.n_items, self.rows.n_groups, len(targets)
        at, free = point.at, self.is_free
        voters, weight = self._eliminate(point, is_observed)
        columns = [np.concatenate([target.theta, target.groups[:, free].ravel()]) for target in targets]
        is_largest = at.nu == _NU_RANGE[1]
        is_at_end = at.nu in _NU_RANGE and all((target.log_nu > 0) == is_largest for target in targets)
        fits_nu = self.fits_nu and not is_at_end
        if fits_nu:
            border, corner = self._border(point)
            columns.append(border)
        solved = self._solve_blocks(voters, weight, at.precision, np.array(columns).T.copy()).T
        solutions, moves = solved[:n_targets], np.zeros(n_targets)
        if fits_nu:
            rest = corner - float(border @ solved[-1])  # of log nu, once the others are eliminated
            if rest <= 0:
                raise np.linalg.LinAlgError
            moves = (np.array([target.log_nu for target in targets]) - solutions @ border) / rest
            solutions = solutions - np.multiply.outer(moves, solved[-1])
        groups = np.zeros((n_targets, n_groups, 3))
        groups[..., free] = solutions[:, n_items:].reshape(n_targets, n_groups, -1)
        return [Move(x[:n_items], y, float(z)) for x, y, z in zip(solutions, groups, moves, strict=True)]

    def _border(self, point: Point) -> tuple[Array, float]:
        """Return the curvature in log nu and all other parameters, and that in log nu alone."""
        rows, at = self.rows, point.at
        tie, mixed = point.terms.tie, point.terms.tie_mixed
        flow = rows.of_group(at.discrimination) * mixed
        groups = np.zeros((rows.n_groups, 3))
        if self.is_free[0]:
            groups[:, 0] = rows.by_group(flow * point.difference)
        groups[:, 2] = rows.by_group(mixed)
        corner = float(np.sum(self.count * tie * (1.0 - tie)))  # a product of BLAS would wait for threads
        return np.concatenate([rows.by_item(flow, -1.0), groups[:, self.is_free].ravel()]), corner

    def absorbed_curvature(self, at: Parameters) -> Array:
        """Return the part of the expected curvature in the strengths that the other fitted parameters take from it."""
        point, n_items = self.point(at), self.rows.n_items
        voters, _ = self._eliminate(point, is_observed=False)
        if not self.fits_nu:
            return voters.absorbed_matrix()
        border, corner = self._border(point)
        inner = voters.solve(border[n_items:])
        remainder = border[:n_items] - voters.image(inner[:, np.newaxis])[:, 0]
        return voters.absorbed_matrix() + np.outer(remainder, remainder) / (corner - border[n_items:] @ inner)

    def voter_variances(self, at: Parameters) -> Array:
        """Return the variances of log a, log odds of e and s by group, given the strengths; nan if not fitted."""
        voters, _ = self._eliminate(self.point(at), is_observed=False)
        variances = np.full((self.rows.n_groups, 3), math.nan)
        variances[:, self.is_free] = np.diagonal(voters.inverse, axis1=1, axis2=2)
        return variances

    def _eliminate(self, point: Point, is_observed: bool) -> tuple[VoterParameters, Array]:
        """Return the parameters of voters, to be eliminated, and the curvature of each row in its two strengths.

        A group whose observed block has no maximum has the expected curvatures.
        """
        rows, at, prior, terms = self.rows, point.at, self.prior, point.terms
        group, a, free = rows.group, rows.of_group(at.discrimination), self.is_free
        if not free.any():
            return VoterParameters.without_parameters(rows), (terms.observed if is_observed else terms.expected) * a * a
        margin, odds = a * point.difference, at.oversight * (1 - at.oversight)
        observed = np.full(rows.n_groups, is_observed)
        while True:
            choose = partial(_where, observed, group)
            curved = choose(terms.observed, terms.expected)
            blocks = np.zeros((rows.n_groups, 3, 3))
            coupling = dict.fromkeys(np.flatnonzero(free).tolist(), curved)  # of margin and s; others follow
            if free[0]:
                coupling[0] = curved * margin - choose(terms.score, np.zeros(margin.size))
            if free[1]:
                coupling[1] = choose(terms.observed_mixed, terms.mixed) * rows.of_group(odds)
                alone = rows.by_group(choose(terms.observed_alone, terms.alone)) * odds**2
                slips = rows.by_group(terms.oversight_score) * odds * (1 - 2 * at.oversight)
                blocks[:, 1, 1] = alone - observed * slips + prior.oversight_votes * odds
            for k, of_row in coupling.items():
                if free[0]:
                    blocks[:, 0, k] = blocks[:, k, 0] = rows.by_group(of_row * margin)
                if free[2] and k != 0:
                    blocks[:, 2, k] = blocks[:, k, 2] = rows.by_group(of_row)
            blocks += np.diag([prior.discrimination_sd**-2, 0.0, prior.side_sd**-2])
            blocks = blocks[:, free][:, :, free]
            is_definite = np.linalg.eigvalsh(blocks).min(axis=1, initial=math.inf) > 0
            if is_definite.all():
                break
            if not observed[~is_definite].any():
                raise np.linalg.LinAlgError
            observed = observed & is_definite
        shares = np.zeros((rows.n_groups, 3))
        shares[:, 0] = self.shares
        of_parameters = np.stack([a * of_row for of_row in coupling.values()])
        return VoterParameters(rows, of_parameters, np.linalg.inv(blocks), shares[:, free].ravel()), curved * a * a

    def _solve_blocks(self, voters: VoterParameters, weight: Array, precision: float, columns: Array) -> Array:
        """Solve for strengths and groups, one column for each target, with the groups eliminated."""
        from scipy.linalg.lapack import dposv

        rows, n_items = self.rows, self.rows.n_items
        target = columns[:n_items]
        if voters.shares.size:
            target = target - voters.image(voters.solve(columns[n_items:]))
        # Far below the curvature of the votes, a prior cannot be told from rounding errors. The common level, which
        # only the prior limits, is then solved for separately. Elsewhere, items never compared remain exactly tied.
        is_flat = precision <= _FLAT * weight.max(initial=0.0)
        level = target.mean(axis=0) if is_flat else 0.0
        target = target - level
        if rows.has_dense_steps:
            matrix = laplacian(rows, weight)
            most = float(matrix.diagonal().max()) if is_flat else 0.0
            matrix.flat[:: n_items + 1] += precision + _LEAST_PART * most
            if voters.shares.size:
                matrix -= voters.absorbed_matrix()
            if is_flat:
                matrix += most / n_items
            _, theta, failed = dposv(matrix.T, target, overwrite_a=True)  # symmetric, in the order of Fortran
            if failed:
                raise np.linalg.LinAlgError
        else:
            diagonal = rows.by_item(weight, 1.0) + precision
            diagonal += _LEAST_PART * diagonal.max()
            absorption = voters.absorption if voters.shares.size else None
            theta = solve_system((rows.left, rows.right, weight), diagonal, target, self.forcing, absorption)
        if is_flat:
            theta += (level / precision if precision > 0 else 0.0) - theta.mean(axis=0)
        if not voters.shares.size:
            return np.asarray(theta)
        return np.concatenate([theta, voters.solve(columns[n_items:] - voters.push(theta))])


@dataclass(frozen=True, eq=False)
class VoterParameters:
    """The parameters of voters, eliminated from a system of equations for the strengths.

    With B the blocks of the curvature, and h the shares of the voters in the mean of log a, the inverse of B on the
    moves that leave this mean unchanged is B^-1 - z z' / h'z with z = B^-1 h.
    """

    rows: VoteRows
    coupling: Array  # curvature of each row in the difference of strengths and each parameter, shape (n_free, n_rows)
    inverse: Array  # of the blocks, shape (n_groups, n_free, n_free)
    shares: Array  # of the parameters of voters in the mean of log a; 0 where that is not fitted

    @classmethod
    def without_parameters(cls, rows: VoteRows) -> VoterParameters:
        """Return those of a model that fits strengths and ties alone."""
        return cls(rows, np.empty((0, rows.left.size)), np.empty((rows.n_groups, 0, 0)), np.empty(0))

    def _times_inverse(self, target: Array) -> Array:
        of_groups = target.reshape(*self.inverse.shape[:2], *target.shape[1:])
        return np.asarray(np.einsum("gkl,gl...->gk...", self.inverse, of_groups).reshape(target.shape))

    @cached_property
    def multiplier(self) -> Array:
        """Z / sqrt(h'z)."""
        z = self._times_inverse(self.shares)
        size = float(self.shares @ z)
        return z / math.sqrt(size) if size > 0 else z

    def solve(self, target: Array) -> Array:
        """Return the moves of the parameters of voters for one target, or for columns of them."""
        return np.asarray(self._times_inverse(target) - np.multiply.outer(self.multiplier, self.multiplier @ target))

    def push(self, strengths: Array) -> Array:
        """Return the slopes in the parameters of voters that moves of the strengths, in columns, cause."""
        from adaptive.model._likelihood_kernels import add_pushes

        pushes = np.zeros((strengths.shape[1], self.shares.size))
        for column, of_column in zip(strengths.T.copy(), pushes, strict=True):
            add_pushes(self._pairs, self.rows.group, self.coupling, column, of_column)
        return pushes.T

    def image(self, moves: Array) -> Array:
        """Return the slopes in the strengths that moves of the parameters of voters, in columns, cause."""
        from adaptive.model._likelihood_kernels import take_moves

        image = np.zeros((moves.shape[1], self.rows.n_items))
        for column, of_column in zip(np.ascontiguousarray(-moves.T), image, strict=True):
            take_moves(self._pairs, self.rows.group, self.coupling, column, of_column)
        return image.T

    @property
    def _pairs(self) -> PairCurvatures:
        from adaptive.model._likelihood_kernels import PairCurvatures

        return PairCurvatures(self.rows.left, self.rows.right, np.empty(0))

    @property
    def absorption(self) -> Absorption:
        """The part of the curvature in the strengths that voters absorb, as conjugate gradients take it."""
        from adaptive.model._likelihood_kernels import Absorption

        room = np.empty((2, self.shares.size))
        return Absorption(self.rows.group, self.coupling, self.inverse, self.multiplier, *room)

    def absorbed_matrix(self) -> Array:
        """Return the part of the curvature in the strengths that voters absorb, as a matrix.

        It is a product of dense matrices if most voters have votes on many items, else a sum over pairs of votes.
        """
        from adaptive.model._likelihood_kernels import add_absorption

        rows, (n_groups, n_free, _) = self.rows, self.inverse.shape
        means = self.image(self.multiplier[:, np.newaxis])[:, 0]
        matrix = -np.outer(means, means)
        if rows.n_items * n_groups > _CELLS_PER_ROW * rows.left.size:
            order, starts = rows.rows_by_group
            pairs = rows.left[order], rows.right[order]
            add_absorption(*pairs, starts, self.coupling.take(order, axis=1), self.inverse, matrix)
            return matrix
        of_groups = np.empty((rows.n_items, n_groups, n_free))
        for k in range(n_free):
            of_groups[..., k] = rows.by_item_and_group(self.coupling[k])
        images = (of_groups.transpose(1, 0, 2) @ self.inverse).transpose(1, 0, 2)
        return np.asarray(matrix + images.reshape(rows.n_items, -1) @ of_groups.reshape(rows.n_items, -1).T)


def _where(is_first: Array, group: Array, first: Array, second: Array) -> Array:
    """Choose for each row by its group."""
    if is_first.all() or not is_first.any():
        return first if is_first.any() else second
    return np.where(is_first[group], first, second)


def pool_rows(rows: VoteRows) -> VoteRows:
    """Merge votes on the same pair into one row; without a side bias, either item may be on the left."""
    n_items, n_votes = rows.n_items, rows.left.size
    n_pairs = n_items * n_items * rows.n_groups
    if n_pairs <= 2 * n_votes:  # counting is faster than sorting
        answers: Array = np.zeros(3 * n_pairs, np.int64)
        for start in range(0, max(1, n_votes), _VOTES_PER_BLOCK):
            codes = _answer_codes(rows, slice(start, start + _VOTES_PER_BLOCK))
            answers += np.bincount(codes, minlength=3 * n_pairs)
        answers = answers.reshape(-1, 3)
        pairs = np.flatnonzero(answers[:, 0] + answers[:, 1] + answers[:, 2])  # `any` of short rows is slow
        answers = answers[pairs].T
    else:
        codes, counts = np.unique(_answer_codes(rows, slice(None)), return_counts=True)
        pair_of_code, answer = _divide(codes, 3)
        is_first = np.diff(pair_of_code, prepend=-1) > 0
        pairs = pair_of_code[is_first]
        answers = np.zeros(3 * pairs.size, np.int64)
        answers[3 * np.cumsum(is_first) - 3 + answer] = counts
        answers = answers.reshape(-1, 3).T
    rest, group = _divide(pairs, rows.n_groups)
    left, right = _divide(rest, n_items)
    columns: list[Array] = [left.astype(np.int32), right.astype(np.int32), np.empty(0, np.int8), group.astype(np.int32)]
    left, right, winner, group, answers = read_only([*columns, answers.astype(np.int32)])
    return VoteRows(left, right, winner, group, n_items, rows.n_groups, rows.model, answers)


def _divide(numbers: Array, divisor: int) -> tuple[Array, Array]:
    """Return quotients and remainders, in a fifth of the time of `numpy.divmod`."""
    quotient = numbers // divisor
    return quotient, numbers - divisor * quotient


def _answer_codes(rows: VoteRows, part: slice) -> Array:
    """Return a number for each vote: three times that of its pair and group, and 0, 1 or 2 for right, tie and left."""
    left, right, winner = rows.left[part], rows.right[part], rows.winner[part]
    if not rows.model.side_bias:  # which item is on the left is random: choices by `numpy.where` take 40 times as long
        winner = winner * np.sign(right - left).astype(np.int8)
        left, right = np.minimum(left, right), np.maximum(left, right)
    codes = left.astype(np.int64)
    for column, size in ((right, rows.n_items), (rows.group[part], rows.n_groups)):
        codes *= size
        codes += column
    codes *= 3
    codes += winner + np.int8(1)
    return codes
