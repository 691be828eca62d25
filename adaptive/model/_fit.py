"""Fit a vote model, with the spread of the strengths and the oversight of voters who are all alike.

Both are estimated where the marginal likelihood of the votes in Laplace's approximation has a peak. Let t be the
standard deviation of the prior and H the curvature of the log posterior at its mode theta. The votes on n items then
have the log marginal likelihood l(theta) - |theta|^2 / (2 t^2) - n log t - log det(H) / 2, up to a constant. The roots
of its derivatives in log t and in the log odds of e need traces alone, and no determinant.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._votes import TIE
from adaptive.errors import ModelError
from adaptive.model import _newton as newton
from adaptive.model._likelihood import INDEFINITE, MAX_DENSE, Parameters, VoteRows, curvature_at
from adaptive.model._prior import SD_RANGE, SD_START, Prior
from rankcorr._workers import Progress

Array: TypeAlias = NDArray[Any]
_MOST_SADDLES: Final = 5
_BESIDE: Final = 1e-2  # of a strength
_SD_WIDTH: Final = 1.0  # log t is normal around log 2 with this standard deviation, before any vote
_SMALL: Final = 0.2  # a t below may lie before a valley
_MAX_STEPS: Final = 50
_NUDGE: Final = 1e-6  # of log t, or of the log odds of e
_ROUGH_TOLERANCE: Final = 1e-4
_STEEPEST: Final = 2.0  # descent after a step, relative to the ascent before it
_LEAST_SHORTENED: Final = 0.25
_LEAST_FITTED: Final = 0.9
# Of log t and the log odds of e: the longest steps, the steps that end a climb, and both ends.
_LONGEST: Final = np.array([0.5, 4.0])
_TOLERANCES: Final = np.array([5e-4, 1e-5])
_LIMITS: Final = np.log(
    [[SD_RANGE[0], newton.SLIPS_RANGE[0]], [SD_RANGE[1], newton.SLIPS_RANGE[1] / (1 - newton.SLIPS_RANGE[1])]]
)


def fit(
    rows: VoteRows,
    prior: Prior,
    oversight: float,
    *,
    start: Parameters | None = None,
    tolerance: float = newton.TOLERANCE,
    max_iterations: int = newton.MAX_ITERATIONS,
    progress: Progress | None = None,
) -> newton.Fitted:
    """Fit all parameters, starting from an earlier fit if given; `progress` is called once for each iteration."""
    n_votes, n_ties = rows.left.size, int(np.count_nonzero(rows.winner == TIE))
    rows = newton.pool_rows(rows)
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
    joint = newton.JointFit(rows, prior, oversight, tolerance, progress, fits_nu)
    if rows.model.voters and n_votes:  # newer votes have changed their mean
        scale = np.exp(-np.log(start.discrimination) @ joint.shares)
        start = replace(start, discrimination=start.discrimination * scale)
    start = replace(start, sd=SD_START if prior.sd is None else prior.sd)
    climbs_oversight = joint.fits_slips and start.precision > 0
    if prior.sd is not None and not climbs_oversight:
        fitted = _run_to_maximum(joint, start, max_iterations)
        return replace(fitted, n_iterations=joint.n_iterations)
    rough = replace(joint, tolerance=max(tolerance, _ROUGH_TOLERANCE))
    joint.holds_slips = rough.holds_slips = climbs_oversight
    peak, is_peak = _find_peak(rough, start, prior.sd is None, max_iterations)
    fitted = _run_to_maximum(joint, peak, max_iterations)
    n_iterations = rough.n_iterations + joint.n_iterations
    return replace(fitted, converged=is_peak and fitted.converged, n_iterations=n_iterations)


def _run_to_maximum(joint: newton.JointFit, start: Parameters, max_iterations: int) -> newton.Fitted:
    """Run a fit; where it ends in a saddle point, go on from beside it."""
    fitted, rng = joint.run(start, max_iterations), np.random.default_rng(0)
    for _ in range(_MOST_SADDLES):
        if not fitted.converged or joint.is_maximum(fitted.point):
            return fitted
        at = fitted.parameters
        beside = replace(at, theta=at.theta + _BESIDE * rng.standard_normal(at.theta.size))
        fitted = joint.run(beside, max_iterations)
    return replace(fitted, converged=fitted.converged and joint.is_maximum(fitted.point))


def _find_peak(
    fit: newton.JointFit, start: Parameters, estimates_sd: bool, max_iterations: int
) -> tuple[Parameters, bool]:
    """Return parameters near the next peak of the marginal likelihood; False if a climb did not reach it.

    The likelihood has a log-normal prior of t around `SD_START`, without which few votes that happen to agree would
    make t as large as it can be. t is `SD_START` if the votes have less information than nine tenths of one strength;
    on two items they have at most one.
    """
    marginal = MarginalLikelihood(fit, estimates_sd, max_iterations)
    first = marginal.slopes(start)
    if estimates_sd and first.information < _LEAST_FITTED:
        marginal = MarginalLikelihood(fit, False, max_iterations)
        first = marginal.slopes(first.at)
    peak, is_peak = marginal.climb(first)
    if marginal.estimates_sd and peak.sd < _SMALL and fit.rows.n_items <= MAX_DENSE:
        # On a long chain `SD_START` may lie in a valley between two peaks.
        widest = marginal.predict(first, np.array([math.log(SD_RANGE[1]), first.place[1]]))
        other, is_other_peak = marginal.climb(marginal.slopes(widest))
        if _log_evidence(fit, other) > _log_evidence(fit, peak):
            return other, is_other_peak
    return peak, is_peak


@dataclass(frozen=True, eq=False)
class Slopes:
    """Slopes of the log marginal likelihood in log t and in the log odds of e, at the mode `at` for these two.

    The votes have this `information` on the strengths, n - trace(H^-1) / t^2: n if they determine all of them.
    `follows` are the slopes of all parameters in both, and `curvature` is a first guess.
    """

    at: Parameters
    slope: Array
    curvature: Array
    follows: list[newton.Move]
    information: float

    @property
    def place(self) -> Array:
        """Log t and the log odds of e, the nearest within the limits."""
        from scipy.special import logit

        return np.asarray(np.clip([math.log(self.at.sd), logit(self.at.oversight[0])], *_LIMITS))


@dataclass(frozen=True, eq=False)
class MarginalLikelihood:
    """The marginal likelihood of the votes as a function of log t and the log odds of e; one of them may be fixed.

    Its slope in log t is (|theta|^2 + trace(H^-1)) / t^2 - n - trace(H^-1 dH) / 2, where dH is the change of the
    curvature of the votes while all parameters follow t. In the log odds of e it is the slope of the log posterior,
    less the same trace while all parameters follow e. Without that trace, slips would be explained by strengths: 3,000
    votes on 100 items with slips of .03 would have an e of .008. Traces are exact up to 300 items, and up to 1,500 if
    there are many votes. Otherwise they are estimated, always with the same random signs, so that the slope is a smooth
    function of t and e (Hutchinson 1990).
    """

    fit: newton.JointFit
    estimates_sd: bool
    max_iterations: int

    def climb(self, here: Slopes) -> tuple[Parameters, bool]:
        """Step to the next peak uphill by the method of Broyden, Fletcher, Goldfarb and Shanno; False if it is far."""
        curvature, radius = np.diag(here.curvature), 1.0
        for _ in range(_MAX_STEPS):
            step = _step_uphill(here, curvature, radius * _LONGEST)
            parameters = self.predict(here, here.place + step)
            if (np.abs(step) <= _TOLERANCES).all():
                return parameters, True
            ahead = self.slopes(parameters)
            rise, fall = float(here.slope @ step), float(-ahead.slope @ step)
            if fall > _STEEPEST * rise:
                step *= max(_LEAST_SHORTENED, rise / (rise + fall))
                ahead = self.slopes(self.predict(here, here.place + step))
                fall = float(-ahead.slope @ step)
            change = here.slope - ahead.slope
            if fall < 0 and (np.abs(step) > _LONGEST / 8).any():  # still far from the peak
                curvature = np.diag(ahead.curvature)
            elif change @ step > 0:
                image = curvature @ step
                curvature = curvature + np.outer(change, change) / (change @ step)
                curvature -= np.outer(image, image) / (step @ image)
            else:
                curvature = curvature / 2
            # Where the votes of some voters may be seen in two ways, slopes can jump from a rise to a fall.
            radius = 0.5 * radius if fall > 0 else min(1.0, 2.0 * radius)
            here = ahead
        return here.at, False

    def predict(self, near: Slopes, place: Array) -> Parameters:
        """Return parameters near the mode for another log t and other log odds of e."""
        from scipy.special import expit

        at = near.at
        for move, away, longest in zip(near.follows, place - near.place, _LONGEST, strict=True):
            of_others = max(float(np.abs(move.groups).max()), abs(move.log_nu))
            most = longest / max(1.0, of_others)
            at = self.fit.take_step(at, move, min(most, max(-most, away)))
        if self.fit.holds_slips:
            at = replace(at, oversight=np.full(at.oversight.size, expit(place[1])))
        if self.estimates_sd:
            at = replace(at, sd=min(max(math.exp(place[0]), SD_RANGE[0]), SD_RANGE[1]))
        return at

    def slopes(self, start: Parameters) -> Slopes:
        """Return the slopes at the t and e of `start`, which the mode is searched from."""
        fit, rows = self.fit, self.fit.rows
        point = fit.run(start, self.max_iterations).point
        at, still = point.at, newton.Move(np.zeros(rows.n_items), np.zeros((rows.n_groups, 3)), 0.0)
        targets = [newton.Move(2.0 * at.precision * at.theta, still.groups, 0.0) if self.estimates_sd else still]
        targets.append(self._push_of_slips(point) if fit.holds_slips else still)
        fit.forcing = newton.FOLLOW_TOLERANCE
        follows = next(fit.solutions(point, targets), None)
        if follows is None:
            raise ModelError(INDEFINITE)
        slope, curvature, information = np.zeros(2), np.ones(2), math.nan
        if self.estimates_sd:
            information = rows.n_items - at.precision * point.curved.trace_and_leverage[0]
            size = at.precision * float(at.theta @ at.theta)
            rest = information + self._width_slope(point, follows[0])
            slope[0] = size - rest
            if size > 0 and rest > 0 and size != rest:  # a fixed point, if the rest does not change
                curvature[0] = 2.0 * slope[0] / math.log(size / rest)
            slope[0] -= math.log(at.sd / SD_START) / _SD_WIDTH**2
        if fit.holds_slips:
            slope[1], curvature[1] = self._slope_of_slips(point, follows[1])
        return Slopes(at, slope, curvature, follows, information)

    def _push_of_slips(self, point: newton.Point) -> newton.Move:
        """Return the change of the slope of the log posterior with the log odds of e."""
        rows, at = self.fit.rows, point.at
        change = -point.terms.observed_mixed * rows.of_group(at.oversight * (1 - at.oversight))
        groups = np.zeros((rows.n_groups, 3))
        if self.fit.is_free[2]:
            groups[:, 2] = rows.by_group(change)
        return newton.Move(rows.by_item(change * rows.of_group(at.discrimination), -1.0), groups, 0.0)

    def _slope_of_slips(self, point: newton.Point, follows: newton.Move) -> tuple[float, float]:
        """Return the slope in the log odds of e and a first guess of the curvature; complete the parameters' slopes."""
        follows.groups[:, 1] = 1.0
        weight, mean, e = self.fit.prior.oversight_votes, self.fit.oversight, float(point.at.oversight[0])
        odds = e * (1 - e)
        of_votes = float(point.terms.oversight_score.sum()) * odds
        slope = of_votes + weight * (mean - e) - self._width_slope(point, follows)
        if slope < 0:  # a fixed point of the slips that the prior adds, and of those that all terms refuse
            return slope, slope / math.log(weight * mean / (weight * mean - slope))
        curvature = float(point.terms.observed_alone.sum()) * odds**2 - of_votes * (1 - 2 * e)
        return slope, max(curvature, 0.0) + weight * odds

    def _width_slope(self, point: newton.Point, move: newton.Move) -> float:
        """Return trace(H^-1 dH) / 2, the slope of log det(H) / 2 along a move."""
        leverage = point.curved.trace_and_leverage[1]
        nudge = -_NUDGE if point.at.oversight[0] >= newton.SLIPS_RANGE[1] else _NUDGE
        ahead = curvature_at(self.fit.rows, self.fit.take_step(point.at, move, nudge))
        return 0.5 * float(leverage @ (ahead.weight - point.curved.weight)) / nudge


def _step_uphill(here: Slopes, curvature: Array, longest: Array) -> Array:
    """Return a step within the limits."""
    is_free = ~(((here.place <= _LIMITS[0]) & (here.slope < 0)) | ((here.place >= _LIMITS[1]) & (here.slope > 0)))
    step = np.zeros(2)
    step[is_free] = np.linalg.solve(curvature[is_free][:, is_free], here.slope[is_free])
    step /= max(1.0, float((np.abs(step) / longest).max()))
    return np.asarray(np.clip(here.place + step, *_LIMITS) - here.place)


def _log_evidence(fit: newton.JointFit, at: Parameters) -> float:
    """Return the log posterior of t at `at.sd`, where `at` is the mode, up to a constant."""
    point = fit.point(at)
    scaled = float(np.linalg.slogdet(point.curved.matrix())[1]) + 2.0 * fit.rows.n_items * math.log(at.sd)
    away = math.log(at.sd / SD_START) / _SD_WIDTH
    return point.log_posterior - 0.5 * (scaled + away * away)
