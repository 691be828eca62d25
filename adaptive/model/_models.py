"""Fit strengths by penalised maximum likelihood (Bradley-Terry, Thurstone), and any model by its name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._blas import one_blas_thread
from adaptive._votes import TIE
from adaptive.comparisons._columns import same_labels
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ModelError
from adaptive.model import _likelihood as likelihood
from adaptive.model._fit import fit
from adaptive.model._likelihood import Parameters, TiesModel, VoteModel
from adaptive.model._newton import MAX_ITERATIONS, TOLERANCE
from adaptive.model._prior import OVERSIGHT, Prior, checked_oversight, checked_prior
from adaptive.model._scoring import BordaScores, borda, rank_centrality
from adaptive.model._strengths import Strengths, rows_of
from rankcorr._checks import check_choice, checked_count, declare, real_number, shown
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
_ROUGH: Final = 1e-6  # tolerance of a fit from which only the oversight is taken
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
        float, None, least=0, below=0.5, about="Probability that a vote is a slip; by default it is estimated."
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
    oversight: float | None = None,
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
    oversight : float, optional
        e, from 0 to below 0.5. By default one e of all votes is estimated, with a prior of mean 0.03. With `voters` it
        is the mean of the prior of e_v, by default the one e that a fit of all voters alike estimates.
    prior : float, Prior, or None
        Standard deviation t of the strengths, in units of theta, or all priors. By default t is estimated from the
        votes. Infinity means that the strengths have no prior. The other parameters keep theirs, so the fit is maximum
        likelihood only with `oversight=0`, and without `voters` and `side_bias`.
    voters : bool
        Fit a discrimination a_v and an oversight e_v for each voter.
    side_bias : bool
        Fit s; with `voters`, one for each voter.
    start : Strengths, optional
        An earlier fit of the same items to start from, which shortens the fit. With `voters` the posterior may have
        several peaks, for example if some voters mix up the sides; the fit ends at one of them, and `start` may decide
        at which.
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
    model = VoteModel("logistic", ties, voters, side_bias, slips=oversight is None and not voters)
    return _fitted(comparisons, model, oversight, prior, start, tolerance, max_iterations, progress)


def thurstone(
    comparisons: Comparisons,
    *,
    oversight: float | None = None,
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
    else is as in `bradley_terry`, except that there may be two peaks without `voters` too: votes of people who slip can
    sometimes be explained by more slips on items far apart, or by fewer on items close together (in 3 of 492 simulated
    fits).

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
    >>> thurstone(votes, prior=1).theta.round(2) + 0.0
    array([ 0.63, -0.63,  0.  ])
    """
    model = VoteModel("normal", "half", voters, side_bias, slips=oversight is None and not voters)
    return _fitted(comparisons, model, oversight, prior, start, tolerance, max_iterations, progress)


def fit_named(
    comparisons: Comparisons, model: Model = "bradley-terry", *, progress: Progress | None = None, **options: Any
) -> Strengths | BordaScores:
    """Fit strengths, Borda scores or rank centrality by the name of the model.

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
    oversight: float | None,
    prior: float | Prior | None,
    start: Strengths | None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
    progress: Progress | None = None,
) -> Strengths:
    if not isinstance(comparisons, Comparisons):
        raise ModelError(f"strengths are fitted to Comparisons; got {shown(comparisons)}")
    if comparisons.n_items < 2:
        raise ModelError(f"a ranking needs at least two items; got {comparisons.n_items}")
    priors = checked_prior(prior)
    mean_oversight = checked_oversight(OVERSIGHT if oversight is None else oversight)
    if not 0 < real_number(tolerance) < 1:
        raise ModelError(f"tolerance must be a number between 0 and 1; got {shown(tolerance)}")
    n_iterations = checked_count(max_iterations, "max_iterations", ModelError)
    if priors.sd == np.inf and (n_parts := n_unbounded(comparisons)) > 1:
        raise ModelError(
            f"without a prior some strengths are infinite: the items fall into {n_parts} groups, and one never lost to "
            "another or never met it; set prior= to a standard deviation, such as 1"
        )
    decided = comparisons.winner[comparisons.winner != TIE]
    if model.side_bias and decided.size >= _TELLING and (decided == decided[0]).all():
        raise ModelError(
            "side_bias cannot be fitted, because all votes are for the same side (data of winners and losers have no "
            "sides); leave side_bias out"
        )
    options: dict[str, Any] = {"max_iterations": n_iterations, "progress": progress}
    if model.voters and oversight is None:
        common_rows = rows_of(comparisons, replace(model, voters=False, slips=True))
        with one_blas_thread(comparisons.n_items):
            rough = fit(common_rows, priors, mean_oversight, tolerance=_ROUGH, **options)
        mean_oversight = float(rough.parameters.oversight[0])
    rows = rows_of(comparisons, model)
    begin = None if start is None else _start(start, comparisons, model, mean_oversight)
    with one_blas_thread(comparisons.n_items):
        solution = fit(rows, priors, mean_oversight, start=begin, tolerance=float(tolerance), **options)
    if model.slips:
        mean_oversight = float(solution.parameters.oversight[0])
    return Strengths(
        comparisons,
        model,
        priors,
        parameters=solution.parameters,
        log_likelihood=solution.point.log_likelihood,
        converged=solution.converged,
        n_iterations=solution.n_iterations,
        oversight=mean_oversight,
    )


def refit(strengths: Strengths, comparisons: Comparisons) -> Strengths:
    """Fit the same model to other votes on the same items, starting from the earlier fit."""
    oversight = None if strengths.model.slips else strengths.oversight
    return _fitted(comparisons, strengths.model, oversight, strengths.prior, strengths)


def _start(start: Strengths, comparisons: Comparisons, model: VoteModel, oversight: float) -> Parameters | None:
    """Return the parameters of an earlier fit to start from; None if the models differ too much to help."""
    if not isinstance(start, Strengths) or not same_labels(start.items, comparisons.items):
        raise ModelError(f"start must be Strengths of the same items; got {shown(start)}")
    before = start.parameters
    same_groups = start.model == model and (not model.voters or start.comparisons.voters == comparisons.voters)
    same_ties = (before.nu > 0) == (model.ties == "davidson" and comparisons.n_ties > 0)
    same_oversight = model.voters or model.slips or bool((before.oversight == oversight).all())
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
