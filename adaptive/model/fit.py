"""Fit by penalised maximum likelihood: strengths by Newton steps, then voters and ties, until no parameter moves.

A Newton step solves its linear system by conjugate gradients with votes as the rows of the matrix: no n x n array is
built, and the memory is linear in votes.

To estimate the spread of the strengths, the fit is repeated at different spreads, to maximise the marginal likelihood
of the votes in Laplace's approximation. Let t be the standard deviation of the prior and H the curvature of the log
posterior at its mode theta. The votes on n items then have the log marginal likelihood l(theta) - |theta|^2 / (2 t^2) -
n log t - log det(H) / 2, up to a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model.likelihood import Curvature, Parameters, Prior, Rows, check_bounded, curvature_at, kernel_input
from adaptive.votes import TIE
from rankcorr.workers import Progress

Array: TypeAlias = NDArray[Any]

MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-9  # of the largest change, relative to the spread of the strengths
GROUP_TOLERANCE: Final = 1e-5  # if other parameters are fitted too, because that converges linearly
_LARGEST_STEP: Final = 4.0  # of the difference of two items that met
_FORCING: Final = 0.1
SD_RANGE: Final = (0.05, 30.0)
SD_START: Final = 2.0
_SD_TOLERANCE: Final = 2e-3  # of log t
_SD_FIT_TOLERANCE: Final = 1e-6
_LEAST_FITTED: Final = 0.9
_NU_RANGE: Final = (1e-6, 1e4)


@dataclass(frozen=True, eq=False)
class Fitted:
    """Result of a fit."""

    parameters: Parameters
    log_likelihood: float
    converged: bool
    n_iterations: int


@dataclass(eq=False)
class _Fit:
    rows: Rows
    prior: Prior
    oversight: float
    now: Parameters
    tolerance: float
    progress: Progress | None
    fits_nu: bool = field(init=False)
    # The observed curvature makes the last steps converge quadratically; with oversights it may be indefinite.
    observed: bool = False
    is_indefinite: bool = False
    n_shortened: int = 0  # steps of voters that were too long

    def __post_init__(self) -> None:
        self.fits_nu = not self.rows.half and self.now.nu > 0

    @property
    def fits_groups(self) -> bool:
        """True if other parameters than strengths and their spread are fitted."""
        return self.rows.model.voters or self.rows.model.side_bias or self.fits_nu

    def run(self, max_iterations: int) -> Fitted:
        """Alternate until nothing moves by more than the tolerance."""
        curved = self._curvature(self.now)
        forcing, last = _FORCING, math.inf
        tolerance = max(self.tolerance, GROUP_TOLERANCE) if self.fits_groups else self.tolerance
        for iteration in range(1, max_iterations + 1):
            if self.progress is not None:
                self.progress(1)
            moved, curved = self._strengths(curved, forcing)
            moved /= max(1.0, float(np.abs(self.now.theta).max(initial=0.0)))
            # Far from the end, other parameters would follow strengths that are still moving.
            if self.fits_groups and moved < 0.5:
                changed, curved = self._groups(curved)
                moved = max(moved, changed)
            # Alternating converges linearly: the remaining distance may be a hundred times the last move.
            rate = min(moved / last, 0.999) if self.fits_groups and last > 0 else 0.0
            if moved <= tolerance and moved * rate <= tolerance * (1.0 - rate):
                return Fitted(self.now, curved.log_likelihood, True, iteration)
            last = moved
            # Steps that end far from the solution need not be exact.
            forcing = min(_FORCING, max(1e-6, moved))
            self.observed = self.observed or (not self.is_indefinite and moved < 0.1)
        return Fitted(self.now, curved.log_likelihood, False, max_iterations)

    def _curvature(self, at: Parameters) -> Curvature:
        return curvature_at(self.rows, at, observed=self.observed)

    def _log_posterior(self, at: Parameters, curved: Curvature) -> float:
        """Return log-likelihood plus log densities of the priors, up to a constant."""
        total = curved.log_likelihood - 0.5 * at.precision * float(at.theta @ at.theta)
        if self.rows.model.voters:
            total -= 0.5 * float(np.sum(np.log(at.discrimination) ** 2)) / self.prior.discrimination_sd**2
            if self.oversight > 0:
                sums = self.oversight * np.log(at.oversight) + (1 - self.oversight) * np.log1p(-at.oversight)
                total += self.prior.oversight_votes * float(sums.sum())
        if self.rows.model.side_bias:
            total -= 0.5 * float(at.side @ at.side) / self.prior.side_sd**2
        return total

    def _strengths(self, curved: Curvature, forcing: float) -> tuple[float, Curvature]:
        """Take one Newton step; return the largest change, and the curvature at the new point."""
        now = self.now
        slope = curved.slope - now.precision * now.theta
        if now.precision == 0:
            check_bounded(curved)
        curved = replace(curved, observed=self.observed)
        step = curved.solve(slope, forcing)
        if step is None:  # never with the expected curvature
            self.observed, self.is_indefinite = False, True
            curved = replace(curved, observed=False)
            step = curved.solve_definite(slope, forcing)
        largest = float(np.abs(step).max(initial=0.0))
        # The likelihood is curved in differences only: the ends of a long chain may move far.
        apart = float(np.abs(step[self.rows.left] - step[self.rows.right]).max(initial=0.0))
        scale = min(1.0, _LARGEST_STEP / apart) if apart > 0 else 1.0
        taken, ahead = self._climb(curved, lambda part: replace(now, theta=now.theta + part * scale * step))
        return taken * scale * largest, ahead

    def _climb(self, curved: Curvature, moved: Callable[[float], Parameters]) -> tuple[float, Curvature]:
        """Take a step, shortened until the posterior does not fall; return the part taken and the new curvature."""
        before = self._log_posterior(self.now, curved)
        slack = 1e-12 * max(1.0, abs(before))
        part = 1.0
        for _ in range(30):
            ahead = moved(part)
            curved_ahead = self._curvature(ahead)
            if self._log_posterior(ahead, curved_ahead) >= before - slack:
                self.now = ahead
                return part, curved_ahead
            part /= 2
        return 0.0, curved

    def _groups(self, curved: Curvature) -> tuple[float, Curvature]:
        """Take a Newton step of each voter's parameters and of nu; return the largest change and the new curvature."""
        from adaptive.model.kernels import group_slopes

        rows, now, prior = self.rows, self.now, self.prior
        out = np.empty((8, max(rows.n_groups, 2)))
        group_slopes(*kernel_input(rows, now), now.theta, out)
        of_groups = out[:, : rows.n_groups]
        steps = np.zeros((3, rows.n_groups))  # of log a, e and s
        if rows.model.voters:
            steps[0] = self._discrimination(of_groups[0], of_groups[1], of_groups[6])
            if self.oversight > 0:
                steps[1] = self._oversight(of_groups[4], of_groups[5]) - now.oversight
        if rows.model.side_bias:
            precision = prior.side_sd**-2
            steps[2] = np.clip((of_groups[2] - precision * now.side) / (of_groups[3] + precision), -1.0, 1.0)
        of_nu = 0.0
        if self.fits_nu:
            of_nu = min(1.0, max(-1.0, out[7, 0] / max(out[7, 1], 1e-9)))
            of_nu = float(np.clip(of_nu, *np.log(np.divide(_NU_RANGE, now.nu))))

        def moved(part: float) -> Parameters:
            return replace(
                now,
                discrimination=now.discrimination * np.exp(part * steps[0]),
                oversight=now.oversight + part * steps[1],
                side=now.side + part * steps[2],
                nu=now.nu * math.exp(part * of_nu),
            )

        # If oversight and discrimination explain a voter equally well, joint steps of both overshoot forever.
        share = 1.0 if self.n_shortened < 2 else 0.5
        part, ahead = self._climb(curved, lambda part: moved(part * share))
        self.n_shortened += part < 1.0
        return part * share * max(float(np.abs(steps).max()), abs(of_nu)), ahead

    def _discrimination(self, slope: Array, curvature: Array, n_votes: Array) -> Array:
        """Return a Newton step of log a that keeps its mean over the votes.

        Otherwise a would absorb the scale of all strengths, because the scale of strengths is penalised. The penalty is
        only there because the fit uses their mode instead of their mean.
        """
        spread = self.prior.discrimination_sd**-2
        slope = slope - spread * np.log(self.now.discrimination)
        curvature = curvature + spread
        per_vote = n_votes / curvature
        total = float(per_vote @ n_votes)
        multiplier = float(per_vote @ slope) / total if total > 0 else 0.0
        step = slope / curvature - multiplier * per_vote
        return np.asarray(step / max(1.0, float(np.abs(step).max())))

    def _oversight(self, slope: Array, curvature: Array) -> Array:
        """Step to the mode on the scale of log odds, where a beta prior peaks at its mean; each step stays inside."""
        odds_for, odds_against = (self.prior.oversight_votes * part for part in (self.oversight, 1 - self.oversight))
        e = self.now.oversight
        slope = slope + odds_for / e - odds_against / (1 - e)
        curvature = curvature + odds_for / e**2 + odds_against / (1 - e) ** 2
        ahead = e + slope / curvature
        return np.clip(ahead, e / 4, 1 - (1 - e) / 4)


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
    if start is None:
        n_ties = int(np.count_nonzero(rows.winner == TIE))
        groups = np.ones(rows.n_groups)
        start = Parameters(
            theta=np.zeros(rows.n_items),
            discrimination=groups,
            oversight=np.full(rows.n_groups, oversight),
            side=np.zeros(rows.n_groups),
            nu=0.0 if rows.half or n_ties == 0 else max(1e-3, 2.0 * n_ties / max(1, rows.winner.size - n_ties)),
            sd=SD_START,
        )
    elif rows.model.voters and rows.left.size:  # newer votes have changed their mean
        scale = np.exp(-np.log(start.discrimination)[rows.group].mean())
        start = replace(start, discrimination=start.discrimination * scale)
    sd = prior.sd
    if sd is None:
        sd, start = _estimated_sd(rows, prior, oversight, start, max_iterations, progress)
    start = replace(start, sd=sd)
    return _Fit(rows, prior, oversight, start, tolerance, progress).run(max_iterations)


def _estimated_sd(
    rows: Rows, prior: Prior, oversight: float, start: Parameters, max_iterations: int, progress: Progress | None
) -> tuple[float, Parameters]:
    """Return the t of the largest marginal likelihood, and parameters near those that belong to it.

    It is `SD_START` if the votes have less information than nine tenths of one strength; on two items they have at most
    one.
    """
    last = start

    def curved_at(sd: float) -> Curvature:
        nonlocal last
        first = replace(last, sd=sd)
        last = _Fit(rows, prior, oversight, first, _SD_FIT_TOLERANCE, progress).run(max_iterations).parameters
        return curvature_at(rows, last)

    curved = curved_at(SD_START)
    if rows.n_items - curved.precision * curved.trace_of_inverse() < _LEAST_FITTED:
        return SD_START, last
    low, high = (math.log(end) for end in SD_RANGE)
    found = largest(lambda logarithm: log_evidence(curved_at(math.exp(logarithm)), last), low, high, _SD_TOLERANCE)
    return float(np.clip(math.exp(found), *SD_RANGE)), last


MAX_DENSE: Final = 1_500  # most items for an exact determinant: 0.1 s at 1,500
_PROBE_NUMBERS: Final = 40_000  # random signs; at most 16 columns, at least 2
_LANCZOS_STEPS: Final = 40
_GRID_STEPS: Final = 12  # of a factor of 1.7
_GOLDEN: Final = (math.sqrt(5.0) - 1.0) / 2.0


def log_evidence(curved: Curvature, at: Parameters) -> float:
    """Return the log marginal likelihood of the votes at `at.sd`, where `at` is the mode."""
    squares = float(at.theta @ at.theta)
    scaled = log_determinant(curved) + 2.0 * at.theta.size * math.log(at.sd)
    return curved.log_likelihood - 0.5 * (squares * at.precision + scaled)


def log_determinant(curved: Curvature) -> float:
    """Return the logarithm of the determinant of H: exact up to 1,500 items, else by stochastic Lanczos quadrature.

    The diagonal is exact. The rest is estimated with the same random signs every time (Ubaru, Chen and Saad 2017), so
    differences between two spreads are far more exact than either value.
    """
    n_items = curved.rows.n_items
    if n_items <= MAX_DENSE:
        return float(np.linalg.slogdet(curved.matrix())[1])
    from scipy.linalg import eigh_tridiagonal
    from scipy.sparse import coo_array

    rows, root = curved.rows, np.sqrt(curved.diagonal)
    outer = np.concatenate([rows.left, rows.right]), np.concatenate([rows.right, rows.left])
    values = -np.tile(curved.weight, 2) / (root[outer[0]] * root[outer[1]])
    rest = coo_array((values, outer), (n_items, n_items)).tocsr()
    n_probes = max(2, min(16, _PROBE_NUMBERS // n_items))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (n_items, n_probes))
    before, now = np.zeros_like(signs), signs / math.sqrt(n_items)
    diagonal, beside = np.empty((2, _LANCZOS_STEPS, n_probes))
    for step in range(_LANCZOS_STEPS):
        ahead = now + rest @ now
        diagonal[step] = np.sum(ahead * now, axis=0)
        ahead -= diagonal[step] * now
        if step:
            ahead -= beside[step - 1] * before
        beside[step] = np.maximum(np.linalg.norm(ahead, axis=0), 1e-12)
        before, now = now, ahead / beside[step]
    total = 0.0
    for probe in range(n_probes):
        nodes, vectors = eigh_tridiagonal(diagonal[:, probe], beside[:-1, probe])
        total += float(vectors[0] ** 2 @ np.log(np.maximum(nodes, 1e-12)))
    return 2.0 * float(np.log(root).sum()) + n_items * total / n_probes


def largest(function: Callable[[float], float], low: float, high: float, tolerance: float) -> float:
    """Return the maximum point of a function of one number: on a grid, then by golden section around its best point.

    It is exactly one of the ends if the function rises towards it.
    """
    grid = np.linspace(low, high, _GRID_STEPS + 1)
    found = [function(float(place)) for place in grid]
    best = int(np.argmax(found))
    if best in (0, _GRID_STEPS):
        inside = float(grid[best]) + (2.0 if best == 0 else -2.0) * tolerance
        if function(inside) <= found[best]:
            return float(grid[best])
    left, right = float(grid[max(0, best - 1)]), float(grid[min(_GRID_STEPS, best + 1)])
    inner, outer = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
    at_inner, at_outer = function(inner), function(outer)
    while right - left > tolerance:
        if at_inner >= at_outer:
            right, outer, at_outer = outer, inner, at_inner
            inner = right - _GOLDEN * (right - left)
            at_inner = function(inner)
        else:
            left, inner, at_inner = inner, outer, at_outer
            outer = left + _GOLDEN * (right - left)
            at_outer = function(outer)
    return 0.5 * (left + right)
