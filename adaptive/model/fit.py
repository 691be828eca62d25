"""Penalised maximum likelihood: strengths by Newton steps, then voters, ties and the prior's width, until none moves.

A Newton step solves its linear system by conjugate gradients with votes as the rows of the matrix: no n x n array is
built, and the memory is linear in votes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive.model.prior import Prior
from adaptive.model.vote_model import Rows
from adaptive.votes import TIE
from rankcorr.results import Result
from rankcorr.workers import Progress

Array: TypeAlias = NDArray[Any]

MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-9  # of the largest change, relative to the spread of the strengths
GROUP_TOLERANCE: Final = 1e-5  # where other parameters are fitted too, which converges linearly
_LARGEST_STEP: Final = 4.0
_MAX_DENSE: Final = 300  # items up to which a trace is exact; above it probes estimate it, within 3 %
_SD_RANGE: Final = (0.05, 30.0)
_SD_START: Final = 2.0
_NU_RANGE: Final = (1e-6, 1e4)


@dataclass(frozen=True, eq=False)
class Parameters(Result):
    """All that is fitted: a number for each item in `theta`, for each group of votes in the next three."""

    theta: Array
    discrimination: Array
    oversight: Array
    side: Array
    nu: float
    sd: float

    def __post_init__(self) -> None:
        for name in ("theta", "discrimination", "oversight", "side"):
            getattr(self, name).flags.writeable = False

    @property
    def precision(self) -> float:
        """1 / t^2."""
        return self.sd**-2


@dataclass(frozen=True, eq=False)
class Curvature:
    """Curvature of the penalised log-likelihood in the strengths, at some parameters.

    `weight` is that of each vote in the difference of its two strengths, `score` its slope in the margin, `slope` the
    sum of slopes in theta, and `diagonal` that of the matrix H.
    """

    rows: Rows
    precision: float
    log_likelihood: float
    score: Array
    weight: Array
    slope: Array
    diagonal: Array

    def solve(self, wanted: Array, tolerance: float) -> Array | None:
        """H^-1 wanted, for one column or several, shape (n_items,) or (n_items, n_columns); None if H is indefinite."""
        from adaptive.model.kernels import solve_curvature

        columns = np.ascontiguousarray(wanted.reshape(self.rows.n_items, -1))
        found = np.empty_like(columns)
        if (self.diagonal <= 0.0).any():
            return None
        n_iterations = solve_curvature(
            self.rows.left,
            self.rows.right,
            self.weight,
            self.precision,
            self.diagonal,
            columns,
            tolerance,
            10 * self.rows.n_items + 100,
            found,
        )
        return found.reshape(wanted.shape) if n_iterations >= 0 else None

    def matrix(self) -> Array:
        """H as a dense matrix, shape (n_items, n_items)."""
        n_items, rows = self.rows.n_items, self.rows
        dense = np.zeros((n_items, n_items))
        np.subtract.at(dense, (rows.left, rows.right), self.weight)
        np.subtract.at(dense, (rows.right, rows.left), self.weight)
        np.fill_diagonal(dense, self.diagonal)
        return dense

    def trace_of_inverse(self) -> float:
        """Trace of H^-1: exact for few items, else from random signs, the same ones every time."""
        n_items = self.rows.n_items
        if n_items <= _MAX_DENSE:
            return float(np.trace(np.linalg.inv(self.matrix())))
        # One column has a relative standard error of about sqrt(2 / n_items).
        n_columns = max(1, 2_000 // n_items)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (n_items, n_columns))
        solved = self.solve(signs, 1e-2)
        return math.nan if solved is None else float(np.sum(signs * solved)) / n_columns


@dataclass(frozen=True, eq=False)
class Fitted:
    """The end of a fit."""

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
    fits_sd: bool = field(init=False)
    fits_nu: bool = field(init=False)
    # The observed curvature makes the last steps converge quadratically; with oversights it may be indefinite.
    observed: bool = False
    is_indefinite: bool = False

    def __post_init__(self) -> None:
        self.fits_sd = self.prior.sd is None
        self.fits_nu = not self.rows.half and self.now.nu > 0

    @property
    def fits_groups(self) -> bool:
        """Whether anything but strengths and their spread is fitted."""
        return self.rows.model.voters or self.rows.model.side_bias or self.fits_nu

    def run(self, max_iterations: int) -> Fitted:
        """Alternate until nothing moves by more than the tolerance."""
        curved = curvature_at(self.rows, self.now)
        forcing = 0.1
        for iteration in range(1, max_iterations + 1):
            if self.progress is not None:
                self.progress(1)
            moved, curved = self._strengths(curved, forcing)
            spread = max(1.0, float(np.abs(self.now.theta).max(initial=0.0)))
            tolerance = self.tolerance
            # Far from the end, other parameters would follow strengths that are not there yet.
            if moved < 0.5 * spread:
                changed = self._groups() if self.fits_groups else 0.0
                if self.fits_sd:
                    changed = max(changed, self._sd(moved / spread))
                if changed > 0.0:
                    curved = curvature_at(self.rows, self.now, observed=self.observed)
                    tolerance = max(tolerance, GROUP_TOLERANCE)
                moved = max(moved, changed * spread)
            if moved <= tolerance * spread:
                return Fitted(self.now, curved.log_likelihood, True, iteration)
            # Steps that end far from the solution need not be exact.
            forcing = min(0.1, max(1e-6, moved / spread))
            self.observed = self.observed or (not self.is_indefinite and moved < 0.1 * spread)
        return Fitted(self.now, curved.log_likelihood, False, max_iterations)

    def _strengths(self, curved: Curvature, forcing: float) -> tuple[float, Curvature]:
        """One Newton step, shortened until it does not lose; the largest change, and the curvature ahead."""
        now = self.now
        slope = curved.slope - now.precision * now.theta
        step = curved.solve(slope, forcing)
        if step is None:  # never with the expected curvature
            self.observed, self.is_indefinite = False, True
            step = curvature_at(self.rows, now).solve(slope, forcing)
            assert step is not None
        largest = float(np.abs(step).max(initial=0.0))
        scale = min(1.0, _LARGEST_STEP / largest) if largest > 0 else 0.0
        before = curved.log_likelihood - 0.5 * now.precision * float(now.theta @ now.theta)
        slack = 1e-12 * max(1.0, abs(before))
        for _ in range(30):
            self.now = replace(now, theta=now.theta + scale * step)
            ahead = curvature_at(self.rows, self.now, observed=self.observed)
            after = ahead.log_likelihood - 0.5 * now.precision * float(self.now.theta @ self.now.theta)
            if after >= before - slack:
                return scale * largest, ahead
            scale /= 2
        self.now = now
        return 0.0, curved

    def _groups(self) -> float:
        """One Newton step of each voter's parameters, and of nu; returns the largest change."""
        from adaptive.model.kernels import LOGISTIC, NORMAL, group_slopes

        rows, now, prior = self.rows, self.now, self.prior
        out = np.empty((7, max(rows.n_groups, 2)))
        link = LOGISTIC if rows.model.link == "logistic" else NORMAL
        columns = (rows.left, rows.right, rows.winner, rows.group, now.theta)
        voters = (now.discrimination, now.oversight, now.side, now.nu)
        group_slopes(*columns, *voters, link, rows.half, out)
        of_groups = out[:, : rows.n_groups]
        new = now
        if rows.model.voters:
            spread = prior.discrimination_sd**-2
            logs = np.log(now.discrimination)
            logs += np.clip((of_groups[0] - spread * logs) / (of_groups[1] + spread), -1.0, 1.0)
            logs -= logs.mean()  # else the scale of all strengths could go into a
            new = replace(new, discrimination=np.exp(logs))
            if self.oversight > 0:
                new = replace(new, oversight=self._oversight(of_groups[4], of_groups[5]))
        if rows.model.side_bias:
            precision = prior.side_sd**-2
            steps = (of_groups[2] - precision * now.side) / (of_groups[3] + precision)
            new = replace(new, side=now.side + np.clip(steps, -1.0, 1.0))
        if self.fits_nu:
            step = min(1.0, max(-1.0, out[6, 0] / max(out[6, 1], 1e-9)))
            new = replace(new, nu=float(np.clip(now.nu * math.exp(step), *_NU_RANGE)))
        self.now = new
        return max(
            float(np.abs(np.log(new.discrimination / now.discrimination)).max()),
            float(np.abs(new.oversight - now.oversight).max()),
            float(np.abs(new.side - now.side).max()),
            abs(math.log(new.nu / now.nu)) if self.fits_nu else 0.0,
        )

    def _oversight(self, slope: Array, curvature: Array) -> Array:
        """The mode on the scale of log odds, where a beta prior has its mode at its mean; each step stays inside."""
        odds_for, odds_against = (self.prior.oversight_votes * part for part in (self.oversight, 1 - self.oversight))
        e = self.now.oversight
        slope = slope + odds_for / e - odds_against / (1 - e)
        curvature = curvature + odds_for / e**2 + odds_against / (1 - e) ** 2
        ahead = e + slope / curvature
        return np.clip(ahead, e / 4, 1 - (1 - e) / 4)

    def _sd(self, moved: float) -> float:
        """MacKay's step towards the t of the largest marginal likelihood; it stops once it moves by less than 0.1 %."""
        if moved > 0.05:
            return 1.0
        now = self.now
        curved = curvature_at(self.rows, now)
        n_fitted = now.theta.size - now.precision * curved.trace_of_inverse()
        if n_fitted < 1.0:  # the votes say less than one strength's worth: no spread can be read from them
            self.fits_sd = False
            return 0.0
        sd = float(np.clip(math.sqrt(float(now.theta @ now.theta) / n_fitted), *_SD_RANGE))
        changed = abs(math.log(sd / now.sd))
        if changed < 1e-3:
            self.fits_sd = False
            return 0.0
        self.now = replace(now, sd=sd)
        return changed


def curvature_at(rows: Rows, at: Parameters, *, observed: bool = False) -> Curvature:
    """Log-likelihood, slopes and curvature at some parameters: the expected curvature, which is never indefinite."""
    from adaptive.model.kernels import LOGISTIC, NORMAL, add_slopes, log_likelihood

    score, expected, seen = np.empty((3, rows.left.size))
    link = LOGISTIC if rows.model.link == "logistic" else NORMAL
    columns = (rows.left, rows.right, rows.winner, rows.group, at.theta)
    voters = (at.discrimination, at.oversight, at.side, at.nu)
    total = log_likelihood(*columns, *voters, link, rows.half, score, expected, seen)
    weight = seen if observed else expected
    slopes = np.empty((2, rows.n_items))
    add_slopes(rows.left, rows.right, rows.group, at.discrimination, score, weight, slopes)
    return Curvature(rows, at.precision, total, score, weight, slopes[0], slopes[1] + at.precision)


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
    """Fit all parameters, from those of an earlier fit if given; `progress` is called once for each iteration."""
    if start is None:
        n_ties = int(np.count_nonzero(rows.winner == TIE))
        groups = np.ones(rows.n_groups)
        start = Parameters(
            theta=np.zeros(rows.n_items),
            discrimination=groups,
            oversight=np.full(rows.n_groups, oversight),
            side=np.zeros(rows.n_groups),
            nu=0.0 if rows.half or n_ties == 0 else max(1e-3, 2.0 * n_ties / max(1, rows.winner.size - n_ties)),
            sd=_SD_START,
        )
    if prior.sd is not None:
        start = replace(start, sd=prior.sd)
    return _Fit(rows, prior, oversight, start, tolerance, progress).run(max_iterations)
