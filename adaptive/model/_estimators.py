"""Fit strengths by penalised maximum likelihood: Bradley-Terry, Thurstone, or Borda scores by name.

Strengths are fitted by Newton steps, then voters and ties, until no parameter moves. A Newton step solves its linear
system by conjugate gradients with votes as the rows of the matrix: no n x n array is built, and the memory is linear in
votes.

The spread of the strengths is estimated where the marginal likelihood of the votes in Laplace's approximation has
its peak. Let t be the standard deviation of the prior and H the curvature of the log posterior at its mode theta. The
votes on n items then have the log marginal likelihood l(theta) - |theta|^2 / (2 t^2) - n log t - log det(H) / 2, up to
a constant. The root of its derivative in log t needs traces alone, and no determinant.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._votes import TIE
from adaptive.errors import ModelError
from adaptive.model import _likelihood as likelihood
from adaptive.model._columns import same_labels
from adaptive.model._comparisons import Comparisons
from adaptive.model._likelihood import (
    SD_RANGE,
    SD_START,
    Curvature,
    Parameters,
    Prior,
    Rows,
    TiesModel,
    VoteModel,
    check_bounded,
    curvature_at,
    kernel_input,
)
from adaptive.model._scoring import BordaScores, borda, rank_centrality
from adaptive.model._strengths import Strengths, rows_of
from rankcorr._checks import check_choice, checked_count, real_number, shown
from rankcorr._options import declare
from rankcorr._workers import Progress
from rankcorr.errors import OptionError

Model: TypeAlias = Literal["bradley-terry", "thurstone", "borda", "rank-centrality"]
# Options of each model, by name.
MODELS: Final[dict[str, tuple[str, ...]]] = {
    "bradley-terry": ("ties", "oversight", "prior", "voters", "side_bias"),
    "thurstone": ("oversight", "prior", "voters", "side_bias"),
    "borda": (),
    "rank-centrality": ("alpha",),
}
STRENGTH_MODELS: Final = ("bradley-terry", "thurstone")  # those that give standard errors
Array: TypeAlias = NDArray[Any]
MAX_ITERATIONS: Final = 200
TOLERANCE: Final = 1e-9  # of the largest change, relative to the spread of the strengths
GROUP_TOLERANCE: Final = 1e-5  # if other parameters are fitted too, because that converges linearly
_LARGEST_STEP: Final = 4.0  # of the difference of two items that met
_FORCING: Final = 0.1
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
_TELLING: Final = 20  # votes for one side alone: one in a million without a bias


@dataclass(frozen=True)
class FitOptions:
    """Options of `fit_named`; None is the default of the model."""

    ties: str | None = declare(
        str,
        None,
        choices=likelihood.TIES,
        about="Fit a parameter for ties (davidson, the default), or count them as half a win each (half). thurstone "
        "does not have it.",
    )
    oversight: float | None = declare(
        float, None, least=0, below=0.5, about=f"Probability that a vote is a slip; {likelihood.OVERSIGHT} by default."
    )
    prior: float | None = declare(
        float,
        None,
        above=0,
        about="Standard deviation of the strengths before any vote; by default it is estimated from the votes.",
    )
    voters: bool = declare(bool, False, about="Fit how well each voter discriminates, and how often they slip.")
    side_bias: bool = declare(bool, False, about="Fit a preference for the left or the right side.")
    alpha: float | None = declare(
        float, None, least=0, about="Wins that rank-centrality gives each item over each other; 0 by default."
    )


def bradley_terry(
    comparisons: Comparisons,
    *,
    ties: TiesModel = "davidson",
    oversight: float = likelihood.OVERSIGHT,
    prior: float | Prior | None = None,
    voters: bool = False,
    side_bias: bool = False,
    start: Strengths | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Progress | None = None,
) -> Strengths:
    """Fit strengths to votes by the model of Bradley and Terry (1952).

    P(left) is the logistic curve of d = a_v (theta_left - theta_right) + s. Ties follow Davidson (1970), P(left) :
    P(tie) : P(right) = e^(d/2) : nu : e^(-d/2). With the probability e of an oversight, the voter gives the opposite
    answer, so one odd vote costs an item little. The fit maximises the likelihood of the votes times that of the
    priors. Time and memory are linear in votes.

    Parameters
    ----------
    comparisons : Comparisons
    ties : {"davidson", "half"}
        Ties are a separate outcome with the fitted parameter nu, or half a win for either side.
    oversight : float
        e, from 0 to below 0.5. With `voters` it is the mean of the prior of e_v.
    prior : float, Prior, or None
        Standard deviation t of the strengths, in units of theta, or all priors. By default t is
        estimated from the votes. Infinity asks for maximum likelihood.
    voters : bool
        Fit a discrimination a_v and an oversight e_v for each voter.
    side_bias : bool
        Fit s; with `voters`, one for each voter.
    start : Strengths, optional
        An earlier fit of the same items to start from; it changes the duration of the fit, not its result.
    tolerance : float
        The fit ends when no strength moves by more than this times the largest one.
    max_iterations : int
    progress : callable, optional
        Called with 1 before each iteration; an exception from it ends the fit.

    Returns
    -------
    Strengths

    Raises
    ------
    ModelError
        `voters` is true but the voters are not known, an option is out of range, `start` has other items, or the prior
        is infinite and the votes alone give no finite strengths.

    See Also
    --------
    thurstone : The normal curve instead of the logistic one.
    borda : Scores without a model.
    next_comparisons : The comparisons to ask for next.
    stopping_rule : Whether there are enough votes.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "tie"])
    >>> bradley_terry(votes, prior=2).ranking
    <Ranking of 3 items, 2 tied: 'fig' 1, 'kiwi' 2.5, 'plum' 2.5>
    """
    model = VoteModel("logistic", ties, voters, side_bias)
    return _fitted(comparisons, model, oversight, prior, start, tolerance, max_iterations, progress)


def thurstone(
    comparisons: Comparisons,
    *,
    oversight: float = likelihood.OVERSIGHT,
    prior: float | Prior | None = None,
    voters: bool = False,
    side_bias: bool = False,
    start: Strengths | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Progress | None = None,
) -> Strengths:
    """Fit strengths to votes by the model of Thurstone (1927, case V).

    P(left) is the normal curve of a_v (theta_left - theta_right) + s. A tie is half a win for either side. Everything
    else is as in `bradley_terry`.

    Parameters
    ----------
    comparisons, oversight, prior, voters, side_bias, start, tolerance, max_iterations, progress
        As in `bradley_terry`.

    Returns
    -------
    Strengths

    Raises
    ------
    ModelError
        As `bradley_terry`.

    See Also
    --------
    bradley_terry : The logistic curve, and a model of ties.
    borda : Scores without a model.

    Examples
    --------
    >>> from adaptive import Comparisons, thurstone
    >>> votes = Comparisons.from_labels(["fig", "fig", "kiwi"], ["kiwi", "plum", "plum"], ["left", "left", "right"])
    >>> thurstone(votes, prior=1).theta.round(2)
    array([ 0.63, -0.63,  0.  ])
    """
    model = VoteModel("normal", "half", voters, side_bias)
    return _fitted(comparisons, model, oversight, prior, start, tolerance, max_iterations, progress)


def fit_named(
    comparisons: Comparisons, model: Model = "bradley-terry", *, progress: Progress | None = None, **options: Any
) -> Strengths | BordaScores:
    """Fit strengths, or Borda scores, by the name of the model.

    Parameters
    ----------
    comparisons : Comparisons
    model : {"bradley-terry", "thurstone", "borda", "rank-centrality"}
    progress : callable, optional
        As in `bradley_terry`.
    **options
        Options of the model; None means the default.

    Raises
    ------
    OptionError
        An unknown model, or an option that the model does not have.
    ModelError
        As `bradley_terry`.

    Examples
    --------
    >>> votes = Comparisons.from_labels(["a"], ["b"], ["left"])
    >>> fit_named(votes, "thurstone", prior=1, ties=None)
    <Strengths (Thurstone) of 1 vote: <Ranking of 2 items, 0 tied: 'a' 1, 'b' 2>>
    """
    check_choice("model", model, tuple(MODELS))
    settings = {name: value for name, value in options.items() if value is not None}
    for name in settings:
        if name not in MODELS[model]:
            of = " and ".join(other for other, names in MODELS.items() if name in names) or "no model"
            raise OptionError(f"{name} is an option of {of}; {model} does not have it")
    if model == "borda":
        return borda(comparisons)
    if model == "rank-centrality":
        return rank_centrality(comparisons, **settings)
    fit = bradley_terry if model == "bradley-terry" else thurstone
    return fit(comparisons, progress=progress, **settings)


def _fitted(
    comparisons: Comparisons,
    model: VoteModel,
    oversight: float,
    prior: float | Prior | None,
    start: Strengths | None,
    tolerance: float,
    max_iterations: int,
    progress: Progress | None,
) -> Strengths:
    if not isinstance(comparisons, Comparisons):
        raise ModelError(f"strengths are fitted to Comparisons; got {shown(comparisons)}")
    if comparisons.n_items < 2:
        raise ModelError(f"a ranking needs at least two items; got {comparisons.n_items}")
    own_prior, own_oversight = likelihood.checked_prior(prior), likelihood.checked_oversight(oversight)
    if not 0 < real_number(tolerance) < 1:
        raise ModelError(f"tolerance must be a number between 0 and 1; got {shown(tolerance)}")
    n_iterations = checked_count(max_iterations, "max_iterations", ModelError)
    if own_prior.sd == np.inf and (n_parts := n_unbounded(comparisons)) > 1:
        raise ModelError(
            f"without a prior the strengths are infinite: the items fall into {n_parts} groups of which one never lost "
            "to another, or never met it; give prior=, a standard deviation"
        )
    decided = comparisons.winner[comparisons.winner != TIE]
    if model.side_bias and decided.size >= _TELLING and (decided == decided[0]).all():
        raise ModelError(
            "side_bias needs votes for either side, and all of these are for one: data of winners and losers have no "
            "sides; leave side_bias out"
        )
    rows = rows_of(comparisons, model)
    begin = None if start is None else _start(start, comparisons, model, own_oversight)
    accuracy = float(tolerance)
    solution = fit(
        rows, own_prior, own_oversight, start=begin, tolerance=accuracy, max_iterations=n_iterations, progress=progress
    )
    return Strengths(comparisons, model, own_prior, **vars(solution), oversight=own_oversight)


def refit(strengths: Strengths, comparisons: Comparisons) -> Strengths:
    """Fit the same model to other votes on the same items, starting from the earlier fit."""
    options = (strengths.oversight, strengths.prior, strengths, TOLERANCE, MAX_ITERATIONS, None)
    return _fitted(comparisons, strengths.model, *options)


def _start(start: Strengths, comparisons: Comparisons, model: VoteModel, oversight: float) -> Parameters | None:
    """Return the parameters of an earlier fit to start from; None if the models differ too much to help."""
    if not isinstance(start, Strengths) or not same_labels(start.items, comparisons.items):
        raise ModelError(f"start must be Strengths of the same items; got {shown(start)}")
    before = start.parameters
    same_groups = start.model == model and (not model.voters or start.comparisons.voters == comparisons.voters)
    same_ties = (before.nu > 0) == (model.ties == "davidson" and comparisons.n_ties > 0)
    same_oversight = model.voters or bool((before.oversight == oversight).all())
    return before if same_groups and same_ties and same_oversight else None


def n_unbounded(comparisons: Comparisons) -> int:
    """Count groups of items where one never lost to, nor tied with, another; a single group means a maximum exists."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    winner = comparisons.winner
    beaten_by = [(comparisons.right, comparisons.left, winner >= 0), (comparisons.left, comparisons.right, winner <= 0)]
    source, target = (np.concatenate([ends[side][ends[2]] for ends in beaten_by]) for side in (0, 1))
    graph = coo_array((np.ones(source.size, np.int8), (source, target)), (comparisons.n_items,) * 2)
    return int(connected_components(graph, directed=True, connection="strong", return_labels=False))


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
        from adaptive.model._likelihood_kernels import group_slopes

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
