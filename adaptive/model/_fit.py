"""Fit by penalised maximum likelihood: strengths by Newton steps, then voters and ties, until no parameter moves.

A Newton step solves its linear system by conjugate gradients with votes as the rows of the matrix: no n x n array is
built, and the memory is linear in votes.

The spread of the strengths is estimated where the marginal likelihood of the votes in Laplace's approximation has
its peak. Let t be the standard deviation of the prior and H the curvature of the log posterior at its mode theta. The
votes on n items then have the log marginal likelihood l(theta) - |theta|^2 / (2 t^2) - n log t - log det(H) / 2, up to
a constant. The root of its derivative in log t needs traces alone, and no determinant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._votes import TIE
from adaptive.model._likelihood import Curvature, Parameters, Prior, Rows, check_bounded, curvature_at, kernel_input
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]

MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-9  # of the largest change, relative to the spread of the strengths
GROUP_TOLERANCE: Final = 1e-5  # if other parameters are fitted too, because that converges linearly
_LARGEST_STEP: Final = 4.0  # of the difference of two items that met
_FORCING: Final = 0.1
SD_RANGE: Final = (0.05, 30.0)
SD_START: Final = 2.0
_SD_WIDTH: Final = 1.0  # log t is normal around log 2 with this standard deviation, before any vote
_SMALL: Final = 0.2  # a t below may lie before a valley
_SD_STEP: Final = 0.5  # of log t, the first
_SD_TOLERANCE: Final = 2e-3  # of log t
_SLOPE_TOLERANCE: Final = 1e-3  # of the strengths that follow t
_MAX_DENSE: Final = 1_500  # most items for a determinant: 0.1 s at 1,500
_NUDGE: Final = 1e-3  # of log t
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
    holds_groups: bool = False  # voters and ties stay as they are
    fits_nu: bool = field(init=False)
    # The observed curvature makes the last steps converge quadratically; with oversights it may be indefinite.
    observed: bool = False
    is_indefinite: bool = False
    n_shortened: int = 0  # steps of voters that were too long

    def __post_init__(self) -> None:
        self.fits_nu = not self.holds_groups and not self.rows.half and self.now.nu > 0

    @property
    def fits_groups(self) -> bool:
        """True if other parameters than strengths and their spread are fitted."""
        model = self.rows.model
        return not self.holds_groups and (model.voters or model.side_bias or self.fits_nu)

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
        change = float(np.abs(step[self.rows.left] - step[self.rows.right]).max(initial=0.0))
        scale = min(1.0, _LARGEST_STEP / change) if change > 0 else 1.0
        part_taken, ahead = self._climb(curved, lambda part: replace(now, theta=now.theta + part * scale * step))
        return part_taken * scale * largest, ahead

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
        from adaptive.model._kernels import group_slopes

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
    """Return the t where its posterior has its peak next to `SD_START`, and parameters near those for it.

    The posterior is the marginal likelihood of the votes times a log-normal prior around `SD_START`, without which few
    votes that happen to agree would make t as large as it can be. It is `SD_START` if the votes have less information
    than nine tenths of one strength; on two items they have at most one. Voters and ties are fitted at `SD_START`, and
    stay as they are while t is looked for.
    """
    from scipy.optimize import brentq

    slopes: dict[float, float] = {}  # each is computed once: where a fit has not converged, it depends on those before
    first = replace(start, sd=SD_START)
    last = _Fit(rows, prior, oversight, first, _SD_FIT_TOLERANCE, progress).run(max_iterations).parameters
    curved = curvature_at(rows, last)
    if rows.n_items - curved.precision * curved.traces()[0] < _LEAST_FITTED:
        return SD_START, last

    def slope(logarithm: float) -> float:
        nonlocal last
        if logarithm not in slopes:
            at = replace(last, sd=math.exp(logarithm))
            subfit = _Fit(rows, prior, oversight, at, _SD_FIT_TOLERANCE, progress, holds_groups=True)
            last = subfit.run(max_iterations).parameters
            slopes[logarithm] = evidence_slope(rows, last) - (logarithm - start_log) / _SD_WIDTH**2
        return slopes[logarithm]

    start_log, (low, high) = math.log(SD_START), (math.log(end) for end in SD_RANGE)

    def peak_from(here: float) -> float:
        """The peak next to a place: uphill in steps that double, until the slope changes its sign or t has a bound."""
        rises, step = slope(here) > 0, _SD_STEP
        while here != (high if rises else low):
            ahead = min(here + step, high) if rises else max(here - step, low)
            if (slope(ahead) > 0) != rises:
                return float(brentq(slope, here, ahead, xtol=_SD_TOLERANCE, rtol=1e-3))
            here, step = ahead, 2.0 * step
        return here

    peak = peak_from(start_log)
    if (
        peak < math.log(_SMALL) and rows.n_items <= _MAX_DENSE
    ):  # on a long chain `SD_START` may lie in a valley between two peaks
        lower = last
        other = peak_from(high)
        if _evidence(rows, last) > _evidence(rows, lower):
            peak = other
        else:
            last = lower
    return {low: SD_RANGE[0], high: SD_RANGE[1]}.get(peak, math.exp(peak)), last


def _evidence(rows: Rows, at: Parameters) -> float:
    """Return the log posterior of t at `at.sd`, where `at` is the mode, up to a constant."""
    curved = curvature_at(rows, at)
    scaled = float(np.linalg.slogdet(curved.matrix())[1]) + 2.0 * rows.n_items * math.log(at.sd)
    away = math.log(at.sd / SD_START) / _SD_WIDTH
    return curved.log_likelihood - 0.5 * (float(at.theta @ at.theta) * at.precision + scaled + away * away)


def evidence_slope(rows: Rows, at: Parameters) -> float:
    """Return the derivative of the log marginal likelihood in log t, at the mode of theta for t = `at.sd`.

    It is (|theta|^2 + trace(H^-1)) / t^2 - n - trace(H^-1 dH) / 2, where dH is the change of the curvature of the votes
    while theta follows t. Traces are exact up to 300 items. For more they are estimated, always with the same random
    signs, so that the slope is a smooth function of t (Hutchinson 1990).
    """
    curved = curvature_at(rows, at)
    pull = 2.0 * at.precision * at.theta
    follows = replace(curved, observed=True).solve(pull, _SLOPE_TOLERANCE)
    if follows is None:
        follows = curved.solve_definite(pull, _SLOPE_TOLERANCE)
    ahead, behind = (
        curvature_at(rows, replace(at, theta=at.theta + part * follows)).weight for part in (_NUDGE, -_NUDGE)
    )
    trace, leverage = curved.traces()
    bent = float(leverage @ (ahead - behind)) / (2.0 * _NUDGE)
    return at.precision * (float(at.theta @ at.theta) + trace) - rows.n_items - 0.5 * bent
