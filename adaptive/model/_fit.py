"""Fit all parameters of a vote model at once: strengths, ties, sides, voters and the spread of the strengths.

Equal answers are pooled. Newton steps then move all parameters at once.

The spread of the strengths, and the oversight of voters who are all alike, are estimated where the marginal likelihood
of the votes in Laplace's approximation has a peak. Let t be the standard deviation of the prior and H the curvature of
the log posterior at its mode theta. The votes on n items then have the log marginal likelihood l(theta) - |theta|^2 /
(2 t^2) - n log t - log det(H) / 2, up to a constant. The roots of its derivatives in log t and in the log odds of e
need traces alone, and no determinant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._votes import TIE
from adaptive.errors import ModelError
from adaptive.model._likelihood import (
    INDEFINITE,
    MAX_DENSE,
    SD_RANGE,
    SD_START,
    Curvature,
    Parameters,
    Prior,
    Rows,
    check_bounded,
    curvature_at,
    fill_terms,
    laplacian,
)
from rankcorr._results import read_only
from rankcorr._workers import Progress

if TYPE_CHECKING:
    from adaptive.model._likelihood_kernels import RowTerms
Array: TypeAlias = NDArray[Any]
Couplings: TypeAlias = dict[int, Array]  # of log a, log odds of e, s: those that are fitted
MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-9  # of the largest change, relative to the spread of the strengths
_LARGEST_STEP: Final = 4.0  # of the difference of two items that met
_FORCING: Final = (1e-10, 1e-2)  # of conjugate gradients: steps that end far from the solution need not be exact
_FLAT: Final = 1e-9  # of the largest curvature of an answer
_LEAST_PART: Final = 1e-13  # of the largest curvature
_ROUNDING: Final = 1e-9  # of a rise that a step promises
_SD_WIDTH: Final = 1.0  # log t is normal around log 2 with this standard deviation, before any vote
_SMALL: Final = 0.2  # a t below may lie before a valley
_SD_STEP: Final = 0.5  # of log t, the longest, over which parameters can be predicted
_MAX_STEPS: Final = 50
_SD_TOLERANCE: Final = 2e-3  # of log t
_NUDGE: Final = 1e-3  # of log t
_ROUGH_TOLERANCE: Final = 1e-4
_LOG_ODDS_STEP: Final = 2.0  # of the log odds of e, the longest
_LOG_ODDS_TOLERANCE: Final = 1e-6
_ROUGH_LOG_ODDS: Final = 3e-3
_LOG_ODDS_ROUNDING: Final = 1e-12
_FOLLOW_TOLERANCE: Final = 1e-6  # of parameters that follow e or t
_SLIPS_RANGE: Final = (1e-9, 0.35)  # beyond a half, the order would be mirrored
_LEAST_FITTED: Final = 0.9
_NU_RANGE: Final = (1e-6, 1e4)


@dataclass(frozen=True, eq=False)
class Move:
    """A change, or a slope, of all parameters: strengths, then log a, log odds of e and s by group, and log nu."""

    theta: Array
    groups: Array
    log_nu: float

    def __matmul__(self, other: Move) -> float:
        return float(self.theta @ other.theta + np.sum(self.groups * other.groups) + self.log_nu * other.log_nu)


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
    3 x 3 for each voter. Voters are eliminated first, because they have no votes in common. The tie parameter, and the
    multiplier that holds the mean of log a over the voters at 0, are a border of the matrix: without that condition a
    would absorb the scale of the strengths, whose prior penalises it. Cholesky's factor solves the system up to 300
    items, and up to 1,500 if there are many votes; otherwise conjugate gradients do.
    """

    rows: Rows
    prior: Prior
    oversight: float
    tolerance: float
    progress: Progress | None
    fits_nu: bool = False
    holds_slips: bool = False  # an e of all votes, at the peak of its marginal likelihood
    oversight_curvature: float = 0.0  # of the log marginal likelihood in the log odds of e, as far as known
    is_active: Array = field(init=False)  # log a, log odds of e, s
    is_free: Array = field(init=False)  # the same, without an e that is held
    forcing: float = _FORCING[1]

    def __post_init__(self) -> None:
        model = self.rows.model
        fits_oversight = (model.voters or model.slips) and self.oversight > 0
        self.is_active = np.array([model.voters, fits_oversight, model.side_bias])
        self.is_free = self.is_active.copy()
        # Shares count voters, not votes: a program with most of the votes must not define what is normal.
        has_votes = np.bincount(self.rows.group, minlength=self.rows.n_groups) > 0
        self.shares = has_votes / max(1, int(has_votes.sum()))

    @property
    def fits_slips(self) -> bool:
        """True if one oversight of all votes is fitted."""
        return bool(self.rows.model.slips and self.is_active[1])

    @cached_property
    def count(self) -> Array:
        """How often each row counts."""
        return np.ones(self.rows.left.size) if self.rows.count is None else self.rows.count

    def run(self, start: Parameters, max_iterations: int) -> Fitted:
        """Step until nothing moves by more than the tolerance."""
        point, last, self.forcing = self.point(start), math.inf, _FORCING[1]
        for iteration in range(1, max_iterations + 1):
            if self.progress is not None:
                self.progress(1)
            moved, point = self._advance(point)
            # Where the likelihood is not concave, steps are scored ones, which converge linearly.
            rate = min(moved / last, 0.999) if last > 0 else 0.0
            if moved <= self.tolerance and moved * rate <= self.tolerance * (1.0 - rate):
                return Fitted(point, True, iteration)
            last = moved
            self.forcing = float(np.clip(moved, *_FORCING))
        return Fitted(point, False, max_iterations)

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
            check_bounded(rows, at.discrimination[rows.group] ** 2 * point.terms.expected)
        slope, slack = self.slope(point), 1e-12 * max(1.0, abs(point.log_posterior))
        # Where votes agree with no order, wide strengths would push e beyond a half.
        is_widest = at.oversight[0] >= _SLIPS_RANGE[1] and slope.groups[0, 1] > 0
        is_held = self.fits_slips and (self.holds_slips or is_widest)
        self.is_free[1] = self.is_active[1] and not is_held
        if is_held:
            slope.groups[:, 1] = 0.0
        n_solved = 0
        for step in self.solutions(point, slope):
            n_solved += 1
            # The likelihood is curved in differences only: the ends of a long chain may move far.
            change = float(np.abs(step.theta[rows.left] - step.theta[rows.right]).max(initial=0.0))
            of_others = max(float(np.abs(step.groups).max()), abs(step.log_nu))
            size = max(1.0, float(np.abs(at.theta).max(initial=0.0)))
            largest = max(float(np.abs(step.theta).max(initial=0.0)) / size, of_others)
            part = 1.0 / max(1.0, change / _LARGEST_STEP, of_others)
            for _ in range(30):
                ahead = self.point(self.moved(at, step, part))
                if ahead.log_posterior >= point.log_posterior - slack:
                    return part * largest, ahead
                part /= 2
        if not n_solved:
            raise ModelError(INDEFINITE)
        return 0.0, point

    def moved(self, at: Parameters, step: Move, part: float) -> Parameters:
        """Return the parameters after a part of a step."""
        from scipy.special import expit, logit

        oversight = at.oversight
        if self.is_active[1]:
            oversight = expit(logit(oversight) + part * step.groups[:, 1])
            oversight = np.minimum(oversight, _SLIPS_RANGE[1]) if self.fits_slips else oversight
        return replace(
            at,
            theta=at.theta + part * step.theta,
            discrimination=at.discrimination * np.exp(part * step.groups[:, 0]),
            oversight=oversight,
            side=at.side + part * step.groups[:, 2],
            nu=float(np.clip(at.nu * math.exp(part * step.log_nu), *_NU_RANGE)) if self.fits_nu else at.nu,
        )

    def solutions(self, point: Point, target: Move) -> Iterator[Move]:
        """Yield solutions with observed curvatures, if these are positive definite, then with expected ones."""
        for is_observed in (True, False):
            with suppress(np.linalg.LinAlgError):
                solution = self.solve(point, target, is_observed)
                if target @ solution >= -_ROUNDING:
                    yield solution

    def slope(self, point: Point) -> Move:
        rows, at, prior = self.rows, point.at, self.prior
        score = point.terms.score
        flow = at.discrimination[rows.group] * score
        theta = rows.by_item(flow, -1.0)
        groups = np.zeros((rows.n_groups, 3))
        if self.is_active[0]:
            groups[:, 0] = self._by_group(flow * (at.theta[rows.left] - at.theta[rows.right]))
            groups[:, 0] -= np.log(at.discrimination) / prior.discrimination_sd**2
        if self.is_active[1]:
            groups[:, 1] = self._by_group(point.terms.oversight_score) * at.oversight * (1 - at.oversight)
            groups[:, 1] += prior.oversight_votes * (self.oversight - at.oversight)
        if self.is_active[2]:
            groups[:, 2] = self._by_group(score) - at.side / prior.side_sd**2
        log_nu = float(np.sum(self.count * ((rows.winner == TIE) - point.terms.tie))) if self.fits_nu else 0.0
        return Move(theta - at.precision * at.theta, groups, log_nu)

    def _by_group(self, values: Array) -> Array:
        return self.rows.by_group(values)

    def solve(self, point: Point, target: Move, is_observed: bool) -> Move:
        """Return the curvature's inverse times `target`, with the mean of log a over the voters held.

        Raises
        ------
        LinAlgError
            The curvature is not positive definite, which cannot happen to expected ones.
        """
        rows, at = self.rows, point.at
        n_items = rows.n_items
        blocks, coupling, weight = self._groups(point, is_observed)
        holds_mean, fits_nu = self.holds_mean, self.fits_nu
        if fits_nu and at.nu in _NU_RANGE and (target.log_nu > 0) == (at.nu == _NU_RANGE[1]):
            fits_nu = False
        borders, of_nu = self._borders(point, fits_nu)
        columns = np.column_stack([np.concatenate([target.theta, target.groups.ravel()]), borders])
        solved = self._solve_blocks(blocks, coupling, weight, at.precision, columns)
        if not (fits_nu or holds_mean):
            return Move(solved[:n_items, 0], solved[n_items:, 0].reshape(-1, 3), 0.0)
        inner = -borders.T @ solved  # of the borders, once the other parameters are eliminated
        inner[0, 1] += of_nu
        aim = inner[:, 0] + [target.log_nu if fits_nu else 0.0, 0.0]
        matrix = inner[:, 1:] + np.diag([0.0 if fits_nu else 1.0, 0.0 if holds_mean else -1.0])
        border = np.linalg.solve(matrix, aim)
        if fits_nu and matrix[0, 0] <= 0:
            raise np.linalg.LinAlgError
        whole = solved[:, 0] - solved[:, 1:] @ border
        return Move(whole[:n_items], whole[n_items:].reshape(-1, 3), float(border[0]) if fits_nu else 0.0)

    @property
    def holds_mean(self) -> bool:
        """True if the mean of log a is held."""
        return bool(self.is_active[0] and self.shares.any())

    def _borders(self, point: Point, fits_nu: bool) -> tuple[Array, float]:
        """Return the columns of log nu and of the multiplier, and the curvature in log nu."""
        rows, at = self.rows, point.at
        n_items = rows.n_items
        borders = np.zeros((n_items + 3 * rows.n_groups, 2))
        if self.holds_mean:
            borders[n_items::3, 1] = self.shares
        if not fits_nu:
            return borders, 0.0
        tie, mixed = point.terms.tie, point.terms.tie_mixed
        flow = at.discrimination[rows.group] * mixed
        borders[:n_items, 0] = rows.by_item(flow, -1.0)
        margins = self._by_group(flow * (at.theta[rows.left] - at.theta[rows.right]))
        by_group = np.stack([margins, np.zeros(rows.n_groups), self._by_group(mixed)], axis=1) * self.is_free
        borders[n_items:, 0] = by_group.ravel()
        return borders, float(np.sum(self.count * tie * (1.0 - tie)))  # a product of BLAS would wait for threads

    def absorbed(self, at: Parameters) -> Array:
        """Return the part of the expected curvature in the strengths that the other fitted parameters take from it."""
        point, n_items = self.point(at), self.rows.n_items
        blocks, coupling, _ = self._groups(point, is_observed=False)
        inverse, mixed = self._coupled(blocks, coupling)
        borders, of_nu = self._borders(point, self.fits_nu)
        absorbed = mixed @ inverse
        remainder = borders[:n_items] - absorbed @ borders[n_items:]
        corner = np.diag([of_nu if self.fits_nu else 1.0, 0.0 if self.holds_mean else 1.0])
        corner -= borders[n_items:].T @ (inverse @ borders[n_items:])
        return np.asarray(_dense(absorbed @ mixed.T) + remainder @ np.linalg.solve(corner, remainder.T))

    def _groups(self, point: Point, is_observed: bool) -> tuple[Array, Couplings, Array]:
        """Return the blocks of the groups, the coupling of each row's margin with its group, and weights of pairs.

        A group whose observed block has no maximum has the expected curvatures.
        """
        rows, at, prior = self.rows, point.at, self.prior
        group, a = rows.group, at.discrimination[rows.group]
        observed = np.full(rows.n_groups, is_observed)
        margin = a * (at.theta[rows.left] - at.theta[rows.right])
        while True:
            choose = partial(_where, observed, group)
            curved = choose(point.terms.observed, point.terms.expected)
            blocks = np.zeros((rows.n_groups, 3, 3))
            coupling = dict.fromkeys(np.flatnonzero(self.is_free).tolist(), curved)  # that of s; others follow
            if self.is_free[0]:
                coupling[0] = curved * margin - choose(point.terms.score, np.zeros(margin.size))
                blocks[:, 0, 0] = self._by_group(coupling[0] * margin) + prior.discrimination_sd**-2
            if self.is_free[1]:
                mixed = choose(point.terms.observed_mixed, point.terms.mixed)
                alone = choose(point.terms.observed_alone, point.terms.alone)
                odds = at.oversight * (1 - at.oversight)
                coupling[1] = mixed * odds[group]
                slips = self._by_group(point.terms.oversight_score) * odds * (1 - 2 * at.oversight)
                blocks[:, 1, 1] = self._by_group(alone) * odds**2 - observed * slips + prior.oversight_votes * odds
            if self.is_free[2]:
                blocks[:, 2, 2] = self._by_group(curved) + prior.side_sd**-2
            if self.is_free[0] and self.is_free[1]:
                blocks[:, 0, 1] = blocks[:, 1, 0] = self._by_group(coupling[1] * margin)
            if self.is_free[0] and self.is_free[2]:
                blocks[:, 0, 2] = blocks[:, 2, 0] = self._by_group(curved * margin)
            if self.is_free[1] and self.is_free[2]:
                blocks[:, 1, 2] = blocks[:, 2, 1] = self._by_group(coupling[1])
            for k in np.flatnonzero(~self.is_free):
                blocks[:, k, k] = 1.0
            is_definite = np.linalg.eigvalsh(blocks)[:, 0] > 0
            if is_definite.all():
                return blocks, {k: a * of_row for k, of_row in coupling.items()}, curved * a * a
            if not observed[~is_definite].any():
                raise np.linalg.LinAlgError
            observed = observed & is_definite

    def _coupled(self, blocks: Array, coupling: Couplings) -> tuple[Any, Any]:
        """Return the inverse of all blocks, and the curvature in strengths and groups; both may be sparse."""
        from scipy.sparse import bsr_array, coo_array

        rows, n_items = self.rows, self.rows.n_items
        n_groups = rows.n_groups
        inverse = bsr_array(
            (np.linalg.inv(blocks), np.arange(n_groups), np.arange(n_groups + 1)), shape=(3 * n_groups, 3 * n_groups)
        ).tocsr()
        if n_items * n_groups <= rows.left.size:  # counting is faster than sorting
            dense = np.zeros((n_items, 3 * n_groups))
            for k, values in coupling.items():
                dense[:, k::3] = rows.by_item_and_group(values)
            return inverse, dense
        places = [3 * rows.group.astype(np.int64) + k for k in coupling]
        values = np.concatenate([np.zeros(0), *coupling.values()])
        parameter = np.concatenate([np.zeros(0, np.int64), *places])
        n_active = len(places)
        ends = np.concatenate([np.tile(rows.left, n_active), np.tile(rows.right, n_active)])
        mixed = coo_array(
            (np.concatenate([values, -values]), (ends, np.tile(parameter, 2))), shape=(n_items, 3 * n_groups)
        ).tocsr()
        return inverse, mixed

    def _solve_blocks(
        self, blocks: Array, coupling: Couplings, weight: Array, precision: float, columns: Array
    ) -> Array:
        """Solve for strengths and groups, shape (n_items + 3 n_groups, n_columns), with the groups eliminated."""
        from scipy.linalg import cho_factor, cho_solve

        rows, n_items = self.rows, self.rows.n_items
        inverse, mixed = self._coupled(blocks, coupling)
        absorbed = mixed @ inverse
        target = columns[:n_items] - absorbed @ columns[n_items:]
        # Far below the curvature of the votes, a prior cannot be told from rounding errors. The common level, which
        # only the prior limits, is then solved for separately. Elsewhere, items never compared remain exactly tied.
        is_flat = precision <= _FLAT * weight.max(initial=0.0)
        level = target.mean(axis=0) if is_flat else np.zeros(target.shape[1])
        target -= level
        if rows.has_dense_matrix:
            matrix = laplacian(rows, weight)
            most = float(matrix.diagonal().max()) if is_flat else 0.0
            matrix[np.diag_indices(n_items)] += precision + _LEAST_PART * most
            if self.is_free.any():
                matrix -= _dense(absorbed @ mixed.T)
            matrix += most / n_items
            theta = cho_solve(cho_factor(matrix, check_finite=False), target, check_finite=False)
        else:
            theta = _by_gradients(rows, weight, precision, absorbed, mixed, target, self.forcing)
        if is_flat:
            theta += (level / precision if precision > 0 else 0.0) - theta.mean(axis=0)
        groups = inverse @ (columns[n_items:] - mixed.T @ theta)
        return np.concatenate([theta, groups])


def _by_gradients(
    rows: Rows, weight: Array, precision: float, absorbed: Any, mixed: Any, target: Array, tolerance: float
) -> Array:
    """Solve for the strengths of many items by conjugate gradients."""
    from scipy.sparse import coo_array, diags_array
    from scipy.sparse.linalg import LinearOperator, cg

    n_items = rows.n_items
    ends = np.concatenate([rows.left, rows.right]), np.concatenate([rows.right, rows.left])
    pairs = coo_array((np.tile(-weight, 2), ends), (n_items, n_items)).tocsr()
    diagonal = np.asarray(-pairs.sum(axis=1))
    if (diagonal + precision <= 0).any():
        raise np.linalg.LinAlgError
    diagonal += precision + _LEAST_PART * diagonal.max()
    matrix = pairs + diags_array(diagonal)
    product = LinearOperator((n_items, n_items), lambda x: matrix @ x - absorbed @ (mixed.T @ x), dtype=float)
    scaling = LinearOperator((n_items, n_items), lambda x: x / diagonal, dtype=float)
    most = 10 * n_items + 100
    solved = [cg(product, column, rtol=tolerance, maxiter=most, M=scaling)[0] for column in target.T]
    return np.stack(solved, axis=1)


def _where(is_first: Array, group: Array, first: Array, second: Array) -> Array:
    """Choose for each row by its group."""
    if is_first.all() or not is_first.any():
        return first if is_first.any() else second
    return np.where(is_first[group], first, second)


def _dense(matrix: Any) -> Array:
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def pool_rows(rows: Rows) -> Rows:
    """Merge equal answers into one row that counts as often; without a side bias, either item may be on the left."""
    left, right, winner = rows.left, rows.right, rows.winner
    if not rows.model.side_bias:
        flipped = left > right
        left, right = np.where(flipped, right, left), np.where(flipped, left, right)
        winner = np.where(flipped, -winner, winner)
    n_items, n_votes = rows.n_items, left.size
    keys = ((rows.group.astype(np.int64) * n_items + left) * n_items + right) * 3 + (winner + 1)
    n_keys = 3 * n_items * n_items * rows.n_groups
    if n_keys <= 1_000_000 + 4 * n_votes:  # faster than sorting them
        counts = np.bincount(keys, minlength=n_keys)
        keys = np.flatnonzero(counts)
        counts = counts[keys]
    else:
        keys, counts = np.unique(keys, return_counts=True)
    rest, code = np.divmod(keys, 3)
    rest, right = np.divmod(rest, n_items)
    group, left = np.divmod(rest, n_items)
    columns = [left.astype(np.int32), right.astype(np.int32), (code - 1).astype(np.int8), group.astype(np.int32)]
    left, right, winner, group = read_only(columns)
    return Rows(left, right, winner, group, n_items, rows.n_groups, rows.model, counts.astype(np.float64))


def fit(
    rows: Rows,
    prior: Prior,
    oversight: float,
    *,
    start: Parameters | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Progress | None = None,
) -> Fitted:
    """Fit all parameters, starting from an earlier fit if given; `progress` is called once for each iteration."""
    n_votes, n_ties = rows.left.size, int(np.count_nonzero(rows.winner == TIE))
    rows = pool_rows(rows)
    is_near_peak = start is not None and prior.sd != math.inf
    if start is None:
        start = Parameters(
            theta=np.zeros(rows.n_items),
            discrimination=np.ones(rows.n_groups),
            oversight=np.full(rows.n_groups, oversight),
            side=np.zeros(rows.n_groups),
            nu=0.0 if rows.half or n_ties == 0 else max(1e-3, 2.0 * n_ties / max(1, n_votes - n_ties)),
            sd=SD_START,
        )
    fits_nu = not rows.half and start.nu > 0
    rough = JointFit(rows, prior, oversight, max(tolerance, _ROUGH_TOLERANCE), progress, fits_nu, is_near_peak)
    if rows.model.voters and n_votes:  # newer votes have changed their mean
        scale = np.exp(-np.log(start.discrimination) @ rough.shares)
        start = replace(start, discrimination=start.discrimination * scale)
    start = _start_near_peak(rough, start, max_iterations) if prior.sd is None else replace(start, sd=prior.sd)
    if not rough.fits_slips or start.precision == 0:
        return replace(rough, tolerance=tolerance).run(start, max_iterations)
    rough_fit = _fit_oversight(rough, start, max_iterations, _LOG_ODDS_TOLERANCE)
    if not rough_fit.converged:
        return rough_fit
    fitted = replace(rough, tolerance=tolerance).run(rough_fit.parameters, max_iterations)
    return replace(fitted, n_iterations=rough_fit.n_iterations + fitted.n_iterations)


def _fit_oversight(fit: JointFit, start: Parameters, max_iterations: int, tolerance: float) -> Fitted:
    """Run fits until one e of all votes is at the peak of its marginal likelihood, if there is one."""
    from scipy.special import expit, logit

    fitted = fit.run(start, max_iterations)
    if not fit.fits_slips or start.precision == 0:
        return fitted
    fit.holds_slips = True
    follows, n_iterations, prior = np.zeros(fit.rows.n_items), fitted.n_iterations, fit.prior

    def slope(log_odds: float) -> float:
        nonlocal fitted, follows, n_iterations
        at = fitted.parameters
        away = log_odds - float(logit(at.oversight[0]))
        if abs(away) > _LOG_ODDS_ROUNDING:
            oversight = np.full_like(at.oversight, expit(log_odds))
            fitted = fit.run(replace(at, oversight=oversight, theta=at.theta + away * follows), max_iterations)
            n_iterations += fitted.n_iterations
        if not fitted.converged:
            return 0.0
        value, follows = oversight_slope(fit, fitted.point)
        return value

    e = float(fitted.parameters.oversight[0])
    if fit.oversight_curvature == 0:
        odds = e * (1 - e)
        fit.oversight_curvature = float(fitted.point.terms.alone.sum()) * odds**2 + prior.oversight_votes * odds
    limits = float(logit(_SLIPS_RANGE[0])), float(logit(_SLIPS_RANGE[1]))
    _, fit.oversight_curvature = _climb(
        slope, float(logit(e)), limits, fit.oversight_curvature, _LOG_ODDS_STEP, tolerance
    )
    return replace(fitted, n_iterations=n_iterations)


def _climb(
    slope: Callable[[float], float],
    here: float,
    limits: tuple[float, float],
    curvature: float,
    longest: float,
    tolerance: float,
) -> tuple[float, float]:
    """Return the next peak uphill, and the curvature there: steps whose length the secant of the slope gives."""
    ends, value = list(limits), slope(here)
    for _ in range(_MAX_STEPS):
        if value == 0:
            break
        ends[0 if value > 0 else 1] = here
        ahead = here + min(longest, max(-longest, value / curvature))
        if not ends[0] < ahead < ends[1]:
            end = ends[1 if value > 0 else 0]
            ahead = end if end in limits else 0.5 * (ends[0] + ends[1])
        if abs(ahead - here) < tolerance:
            return ahead, curvature
        value_ahead = slope(ahead)
        if ahead in limits and (value_ahead > 0) == (ahead == limits[1]):
            return ahead, curvature
        bent = (value - value_ahead) / (ahead - here)
        curvature = bent if bent > 0 else 0.5 * curvature
        here, value = ahead, value_ahead
    return here, curvature


def oversight_slope(fit: JointFit, point: Point) -> tuple[float, Array]:
    """Return the slope of the log marginal likelihood in the log odds of e, and that of the strengths.

    It is that of the log posterior, and -trace(H^-1 dH) / 2, where dH is the change of the curvature of the votes while
    the strengths follow e. Without the latter, slips would be explained by strengths: 3,000 votes on 100 items with
    slips of .03 would have an e of .008.
    """
    from scipy.special import expit, logit

    rows, at, curved, terms = fit.rows, point.at, point.curved, point.terms
    odds, a = at.oversight * (1 - at.oversight), at.discrimination
    change = -rows.by_item(terms.observed_mixed * (odds * a)[rows.group], -1.0)
    follows = curved.inverse @ change if rows.has_dense_matrix else curved.solve_definite(change, _FOLLOW_TOLERANCE)
    ahead, behind = (
        replace(at, oversight=expit(logit(at.oversight) + step), theta=at.theta + step * follows)
        for step in (_NUDGE, -_NUDGE)
    )
    of_prior = fit.prior.oversight_votes * (fit.oversight - at.oversight)
    of_votes = rows.by_group(terms.oversight_score) * odds
    return float(np.sum(of_votes + of_prior)) - _width_slope(curved, ahead, behind), follows


def _width_slope(curved: Curvature, ahead: Parameters, behind: Parameters) -> float:
    """Return trace(H^-1 dH) / 2, the slope of log det(H) / 2, from parameters a nudge ahead and a nudge behind."""
    leverage = curved.trace_and_leverage[1]
    change = curvature_at(curved.rows, ahead).weight - curvature_at(curved.rows, behind).weight
    return 0.5 * float(leverage @ change) / (2.0 * _NUDGE)


def _start_near_peak(rough: JointFit, start: Parameters, max_iterations: int) -> Parameters:
    """Find the peak of the posterior of t next to `SD_START`; return this t with parameters near its best ones.

    The posterior is the marginal likelihood of the votes times a log-normal prior around `SD_START`, without which few
    votes that happen to agree would make t as large as it can be. t is `SD_START` if the votes have less information
    than nine tenths of one strength; on two items they have at most one.
    """
    rows, start_log = rough.rows, math.log(SD_START)
    low, high = (math.log(end) for end in SD_RANGE)

    def evidence_at(near: Parameters) -> Evidence:
        return evidence_slope(rough, _fit_oversight(rough, near, max_iterations, _ROUGH_LOG_ODDS).point)

    last = evidence_at(replace(start, sd=SD_START))
    if last.information < _LEAST_FITTED:
        return last.at

    def slope(logarithm: float) -> float:
        nonlocal last
        if logarithm != math.log(last.at.sd):
            last = evidence_at(last.predict(rough, logarithm))
        return last.slope - (logarithm - start_log) / _SD_WIDTH**2

    def peak_from(here: float) -> float:
        value = slope(here)
        curvature = value / last.step if value * last.step > 0 else 1.0
        return _climb(slope, here, (low, high), curvature, _SD_STEP, _SD_TOLERANCE)[0]

    peak = peak_from(start_log)
    if peak < math.log(_SMALL) and rows.n_items <= MAX_DENSE:
        # On a long chain `SD_START` may lie in a valley between two peaks.
        lower = last
        other = peak_from(high)
        if _evidence(rough, last.at) > _evidence(rough, lower.at):
            peak = other
        else:
            last = lower
    sd = {low: SD_RANGE[0], high: SD_RANGE[1]}.get(peak, math.exp(peak))
    return replace(last.predict(rough, peak), sd=sd)


def _evidence(fit: JointFit, at: Parameters) -> float:
    """Return the log posterior of t at `at.sd`, where `at` is the mode, up to a constant."""
    point = fit.point(at)
    scaled = float(np.linalg.slogdet(point.curved.matrix())[1]) + 2.0 * fit.rows.n_items * math.log(at.sd)
    away = math.log(at.sd / SD_START) / _SD_WIDTH
    return point.log_posterior - 0.5 * (scaled + away * away)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Slope of the log marginal likelihood in log t, at the mode for t = `at.sd`.

    The votes have this `information` on the strengths, n - trace(H^-1) / t^2: n if they determine all of them.
    `follows` is the slope of all parameters in log t. `step` moves log t to a fixed point of |theta|^2 / t^2 =
    `information`, with the change of H.
    """

    at: Parameters
    slope: float
    information: float
    follows: Move
    step: float

    def predict(self, fit: JointFit, logarithm: float) -> Parameters:
        """Return parameters near the mode for another log t."""
        away = logarithm - math.log(self.at.sd)
        of_others = max(float(np.abs(self.follows.groups).max()), abs(self.follows.log_nu))
        longest = _SD_STEP / max(1.0, of_others)
        near = min(longest, max(-longest, away))
        return replace(fit.moved(self.at, self.follows, near), sd=math.exp(logarithm))


def evidence_slope(fit: JointFit, point: Point) -> Evidence:
    """Return the derivative of the log marginal likelihood in log t, at the mode for the t of `point`.

    It is (|theta|^2 + trace(H^-1)) / t^2 - n - trace(H^-1 dH) / 2, where dH is the change of the curvature of the votes
    while all parameters follow t. Traces are exact up to 300 items, and up to 1,500 if there are many votes. Otherwise
    they are estimated, always with the same random signs, so that the slope is a smooth function of t (Hutchinson
    1990).
    """
    rows, at = fit.rows, point.at
    pull = Move(2.0 * at.precision * at.theta, np.zeros((rows.n_groups, 3)), 0.0)
    # At the peak in e, the marginal likelihood does not change with e; e does not follow.
    fit.is_free[1] = fit.is_active[1] and not fit.fits_slips
    fit.forcing = _FOLLOW_TOLERANCE
    follows = next(fit.solutions(point, pull), None)
    if follows is None:
        raise ModelError(INDEFINITE)
    width_slope = _width_slope(point.curved, fit.moved(at, follows, _NUDGE), fit.moved(at, follows, -_NUDGE))
    information = rows.n_items - at.precision * point.curved.trace_and_leverage[0]
    size, rest = at.precision * float(at.theta @ at.theta), information + width_slope
    step = 0.5 * math.log(size / rest) if size > 0 and rest > 0 else 0.0
    return Evidence(at, size - rest, information, follows, step)
