"""Collect votes in rounds, in batches or in fixed ballots that pair neighbours, and tell whether there are enough.

Batches: strengths -> next comparisons -> votes -> strengths, until the budget is spent. Ballots: strengths -> selected
items -> rounds of neighbours -> ballot -> votes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._budget import plan_for_budget
from adaptive._draw import Asked, Ballot, checked_integer, draw_ballot
from adaptive._plan import BallotPlan
from adaptive._protocol import Items, checked_items, checked_labels
from adaptive._scores import checked_answers, select_top
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import DrawError, ModelError, PlanError
from adaptive.matching._matching import MATCHING, Matches, Matching, falling_orders, next_comparisons
from adaptive.model._accuracy import N_SAMPLES, DrawnStrengths, ExpectedCorrelation
from adaptive.model._likelihood import OVERSIGHT, Prior
from adaptive.model._models import bradley_terry
from adaptive.model._strengths import Strengths
from rankcorr import TauW
from rankcorr import _checks as checks
from rankcorr._checks import check_rng, checked_count, real_number, shown, whole_number
from rankcorr._coefficients import Coefficient, CoefficientLike, as_coefficient
from rankcorr._output.results import Result

Vote: TypeAlias = Callable[[Matches], ArrayLike]

# While votes are collected, strengths need not be exact, because their standard errors are far larger than this.
TOLERANCE: Final = 0.02
WHILE_MATCHING: Final = Prior(sd=2.0)


def run_matching(
    items: Items,
    vote: Vote,
    n_comparisons: int,
    *,
    rng: np.random.Generator,
    voters: Items = 100,
    matching: Matching = MATCHING,
) -> Strengths:
    """Collect votes in batches, each chosen from all earlier votes, and fit strengths to them at the end.

    The first m comparisons are the same as those of a run with a budget of m. If all are answered,
    ``bradley_terry(strengths.comparisons.select(range(m)), voters=True)`` is the result of that run.

    Parameters
    ----------
    items : int or sequence of hashable
        Unique labels; an integer N stands for 0..N-1.
    vote : callable
        Function of `Matches` that returns LEFT, RIGHT, TIE or UNANSWERED for each, shape (n_comparisons,), from a
        simulator or from real voters. An unanswered comparison is spent, and its voter does not get it again.
    n_comparisons : int
        Number of comparisons to ask.
    rng : numpy.random.Generator
    voters : int or sequence of hashable
        Names of the voters; an integer V stands for 0..V-1.
    matching : Matching

    Returns
    -------
    Strengths
        The result of ``bradley_terry(votes, voters=True)``, with all votes in the order they were cast. There are fewer
        votes than `n_comparisons` if some were not answered, or if all voters have seen all pairs.

    Raises
    ------
    ModelError
        There are fewer than two items or no voter, the number of comparisons is not positive, `vote` is not a function,
        or `rng` is not a generator.
    VoteError
        The answers do not fit the comparisons.

    See Also
    --------
    next_comparisons : Choose one batch.
    Matching : The options.
    run_matched_ballots : Run fixed ballots that pair neighbours.
    run_protocol : Run the paper's protocol.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import run_matching
    >>> def prefer_smaller(matches):
    ...     return np.sign(matches.right - matches.left)
    >>> run_matching(6, prefer_smaller, 40, rng=np.random.default_rng(1), voters=5).ranking.ranks
    array([1., 2., 3., 4., 5., 6.])
    """
    total = checked_count(n_comparisons, "n_comparisons", ModelError)
    if not isinstance(matching, Matching):
        raise ModelError(f"matching must be a Matching; got {shown(matching)}")
    check_vote(vote)
    check_rng(rng, ModelError)
    votes = no_votes(items, voters)
    n_first = votes.n_items // 2  # all items at once, because nothing is known yet that could guide smaller batches
    batch = matching.batch_of(votes.n_items)
    strengths, spent = None, 0
    while spent < total:
        fits_voters = spent >= matching.voters_from * votes.n_voters
        strengths = interim_strengths(votes, strengths, voters=fits_voters)
        size = n_first if spent < n_first * matching.first else batch
        matches = next_comparisons(strengths, size, rng=rng, n0=matching.n0, focus=matching.focus, first=matching.first)
        if not len(matches):
            break
        # A batch is drawn as a whole and cut afterwards, so that a run with a smaller budget asks the same.
        columns = {name: getattr(matches, name)[: total - spent] for name in ("left", "right", "voter")}
        matches = replace(matches, **columns)
        votes = with_answers(votes, matches, vote(matches))
        spent += len(matches)
    return bradley_terry(votes, voters=True)


def check_vote(vote: object) -> None:
    """Raise ModelError if `vote` is not callable."""
    if not callable(vote):
        raise ModelError(f"vote must be a function that takes comparisons and returns answers; got {shown(vote)}")


def no_votes(items: Items, voters: Items) -> Comparisons:
    """Return empty comparisons of these items and voters; raise ModelError if there are too few."""
    labels = checked_labels(items, "items", ModelError)
    names = checked_labels(voters, "voters", ModelError)
    if len(labels) < 2:
        raise ModelError(f"a ranking needs at least two items; got {len(labels)}")
    if not len(names):
        raise ModelError("comparisons need at least one voter; got none")
    none = np.empty(0, np.int32)
    return Comparisons(labels, none, none, np.empty(0, np.int8), names, none)


def interim_strengths(votes: Comparisons, before: Strengths | None, *, voters: bool = False) -> Strengths:
    """Fit strengths that are precise enough to choose the next comparisons, starting from an earlier fit `before`."""
    # Ties are a separate outcome, because they determine how far apart items must be for a vote to be informative. With
    # a fixed oversight, the fit takes a fifth of the time, and the chosen pairs are equally good.
    return bradley_terry(
        votes, start=before, tolerance=TOLERANCE, oversight=OVERSIGHT, prior=WHILE_MATCHING, voters=voters
    )


def with_answers(votes: Comparisons, ballot: Asked, answers: ArrayLike) -> Comparisons:
    """Return the votes so far, followed by the answers to a ballot; raise VoteError if the answers do not fit."""
    codes = checked_answers(ballot, answers)
    return votes.joined(Comparisons.from_ballots([(ballot, codes)], items=votes.items, voters=votes.voters))


Array: TypeAlias = NDArray[Any]

# Smallest share of the most comparisons of any plan. With 4,000 votes for 990 items, nine ballots order the top far
# better than two ballots with 8 % more comparisons.
SPENT: Final = 0.8


@dataclass(frozen=True, eq=False)
class MatchedBallots(Result):
    """Options of `run_matched_ballots`, and of plans for it.

    Attributes
    ----------
    noise : float
        Each round of a ballot pairs neighbours in a separate ranking, by strengths plus `noise` times a normal variable
        with the posterior standard deviation. With 0, items meet only their nearest neighbours.
    n_ballots : int
        Largest number of ballots of `plan`, n_b.
    fraction : float
        alpha of `plan`. In simulations with 990 items and 19,660 votes, 9 ballots with a fraction of 0.6 had the best
        rho_w, and as good a tau_w as other plans.

    Raises
    ------
    ModelError
        A number is out of range.

    See Also
    --------
    run_matched_ballots : Run the ballots.
    Matching : The options of `run_matching`.

    Examples
    --------
    >>> from adaptive import MatchedBallots
    >>> MatchedBallots().plan(990, 19_660)
    BallotPlan(n_items=990, n_ballots=9, fraction=0.6, presentations=16)
    """

    noise: float = 0.5
    n_ballots: int = 9
    fraction: float = 0.6

    def __post_init__(self) -> None:
        if not 0 <= real_number(self.noise) < np.inf:
            raise ModelError(f"noise must be a finite number, not negative; got {shown(self.noise)}")
        n_ballots = whole_number(self.n_ballots)
        if n_ballots is None or n_ballots < 2:
            raise ModelError(f"n_ballots must be a whole number of at least 2; got {shown(self.n_ballots)}")
        if not 0 < real_number(self.fraction) < 1:
            raise ModelError(f"fraction must be a number above 0 and below 1; got {shown(self.fraction)}")

    def plan(self, n_items: int, n_comparisons: int) -> BallotPlan:
        """Plan as many ballots as a budget allows, up to `n_ballots`, without repeating a pair in a ballot.

        Presentations are whole numbers, so a plan may leave part of the budget unspent. Plans that spend less than four
        fifths of the most that any plan spends are skipped. If every plan would repeat a pair, the result has two
        ballots.

        Raises
        ------
        PlanError
            The budget is too small for two ballots of one presentation.

        Examples
        --------
        >>> MatchedBallots().plan(24, 126).sizes
        (24, 14, 8, 5)
        """
        shortest = plan_for_budget(n_items, n_ballots=2, fraction=self.fraction, comparisons=n_comparisons)
        plans = [shortest]
        for n_ballots in range(3, self.n_ballots + 1):
            with suppress(PlanError):  # the list is too short, or the budget too small, for this many ballots
                plans.append(
                    plan_for_budget(n_items, n_ballots=n_ballots, fraction=self.fraction, comparisons=n_comparisons)
                )
        without_repeats = [plan for plan in plans if plan.presentations < plan.sizes[-1]]
        most = max((plan.n_comparisons for plan in without_repeats), default=0)
        fitting = [plan for plan in without_repeats if plan.n_comparisons >= SPENT * most]
        return fitting[-1] if fitting else shortest


MATCHED_BALLOTS: Final = MatchedBallots()


def run_matched_ballots(
    plan: BallotPlan,
    vote: Callable[[Ballot], ArrayLike],
    *,
    items: Items,
    rng: np.random.Generator,
    voters: Items = 100,
    match: MatchedBallots = MATCHED_BALLOTS,
) -> Strengths:
    """Run all ballots of a plan, matching neighbours from the second ballot on, and fit strengths to all votes.

    The first ballot is that of `run_protocol`. `draw_matched_ballot` draws each later ballot from the items with the
    largest strengths, which are fitted to all earlier ballots.

    Parameters
    ----------
    plan : BallotPlan
        Any plan of the paper; `MatchedBallots.plan` returns a better one.
    vote, items, rng, voters
        As in `run_protocol`.
    match : MatchedBallots
        Only its `noise` is used here.

    Returns
    -------
    Strengths
        The result of ``bradley_terry(votes, voters=True)``, with all votes in the order of the ballots.

    Raises
    ------
    ProtocolError
        The items do not fit the plan.
    ModelError
        There is no voter, `vote` is not a function, or `rng` is not a generator.
    VoteError
        The answers do not fit a ballot.

    See Also
    --------
    MatchedBallots : The options and a plan.
    run_matching : Choose batches from all earlier votes.
    run_protocol : Run the paper's protocol.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import MatchedBallots, run_matched_ballots
    >>> plan = MatchedBallots().plan(8, 60)
    >>> def prefer_smaller(ballot):
    ...     items = np.array(ballot.items)
    ...     return np.sign(items[ballot.right] - items[ballot.left])
    >>> run_matched_ballots(plan, prefer_smaller, items=8, rng=np.random.default_rng(1), voters=5).ranking.ranks[:4]
    array([1., 2., 3., 4.])
    """
    if not isinstance(match, MatchedBallots):
        raise ModelError(f"match must be a MatchedBallots; got {shown(match)}")
    check_vote(vote)
    check_rng(rng, ModelError)
    votes = no_votes(checked_items(plan, items), voters)
    strengths = None
    for number, size in enumerate(plan.sizes):
        if number == 0:
            ballot = draw_ballot(votes.items, plan.presentations, voters, rng)
        else:
            strengths = interim_strengths(votes, strengths)
            places = select_top(strengths.theta, size, rng).places
            ballot = draw_matched_ballot(strengths, places, plan.presentations, rng=rng, noise=match.noise)
        votes = with_answers(votes, ballot, vote(ballot))
    return bradley_terry(votes, voters=True)


def draw_matched_ballot(
    strengths: Strengths,
    places: ArrayLike,
    presentations: int,
    *,
    rng: np.random.Generator,
    noise: float = MATCHED_BALLOTS.noise,
) -> Ballot:
    """Draw a ballot that pairs items of about equal strength.

    It has the guarantees of `draw_ballot` with two exceptions: its comparisons need not connect all items, and pairs
    are not uniform. In addition, a voter gets a pair that they were shown before, answered or not, only if no other
    voter can take it. If rounds of neighbours would have to repeat a pair, which happens only in very short ballots,
    `draw_ballot` draws the ballot.

    Parameters
    ----------
    strengths : Strengths
        Fitted to the votes so far, with known voters.
    places : array_like of int, shape (n_items,)
        Items of the ballot, as indices into the items of `strengths`.
    presentations : int
        Presentations of each item (M), at least 1.
    rng : numpy.random.Generator
    noise : float
        As in `MatchedBallots`.

    Raises
    ------
    ModelError
        The voters of the strengths are unknown.
    DrawError
        `places` are not at least two different indices, or `presentations` is below 1.

    Examples
    --------
    >>> from adaptive.comparisons._comparisons import Comparisons
    >>> votes = Comparisons.from_labels(
    ...     ["a", "b", "c"], ["b", "c", "d"], ["left", "left", "left"], voter=["Ann", "Bob", "Ann"]
    ... )
    >>> ballot = draw_matched_ballot(bradley_terry(votes), range(4), 1, rng=np.random.default_rng(1), noise=0)
    >>> sorted(sorted((ballot.items[a], ballot.items[b])) for a, b in zip(ballot.left, ballot.right))
    [['a', 'b'], ['c', 'd']]
    """
    history = strengths.comparisons
    pairs = history.shown_pairs
    if history.voters is None or pairs.voter is None:
        raise ModelError("matched ballots need votes with known voters")
    items = _checked_places(places, history.n_items)
    n_presentations = checked_integer("presentations", presentations, least=1)
    check_rng(rng, DrawError)
    from adaptive.matching._matching_kernels import matched_comparisons

    rest = n_presentations % (items.size - 1)
    sparse = 2 * rest <= items.size - 1
    orders = _round_orders(strengths, items, rest, sparse, noise, rng)
    before = len(history.voters), pairs.left, pairs.right, pairs.voter, history.n_items
    left, right, voter = matched_comparisons(orders, items, n_presentations, *before, rng)
    labels = [history.items[place] for place in items.tolist()]
    if not left.size:
        return draw_ballot(labels, n_presentations, history.voters, rng)
    return Ballot(tuple(labels), n_presentations, tuple(history.voters), left, right, voter)


def _checked_places(places: ArrayLike, n_items: int) -> Array:
    indices = np.asarray(places)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or indices.size < 2:
        raise DrawError(f"places must be indices of at least 2 items; got {shown(places)}")
    if indices.min() < 0 or indices.max() >= n_items or np.unique(indices).size < indices.size:
        raise DrawError(f"places must be different indices from 0 to {n_items - 1}; got {shown(places)}")
    return indices.astype(np.int64)


def _round_orders(
    strengths: Strengths, items: Array, rest: int, sparse: bool, noise: float, rng: np.random.Generator
) -> Array:
    """Return a ranking of the ballot's items for each of its rounds, as indices into `items`.

    If more than half of all pairs are needed (not `sparse`), the rounds make the pairs to omit: each item of the upper
    half of the list is next to one of the lower half, a different one in each round. If the number of items is odd, the
    index `items.size` stands for sitting out. It has the same random place in two consecutive rounds, because the two
    items that sit out meet each other at the end, and should be neighbours, too.
    """
    n_rounds = rest if sparse else items.size - 1 - rest
    width = 1.0 / np.sqrt(strengths.curvature.diagonal[items])
    draws = strengths.theta[items] + noise * width * rng.standard_normal((n_rounds, items.size))
    orders = falling_orders(draws)
    if items.size % 2:
        out = rng.integers(0, items.size + 1, (n_rounds + 1) // 2).repeat(2)[:n_rounds]
        column = np.arange(items.size + 1)
        padded = np.concatenate([orders, np.full((n_rounds, 1), items.size)], axis=1)
        source = column - (column > out[:, np.newaxis])
        source[column == out[:, np.newaxis]] = items.size
        orders = np.take_along_axis(padded, source, axis=1)
    if not sparse:
        half = orders.shape[1] // 2
        turned = half + (np.arange(half) + np.arange(n_rounds)[:, np.newaxis]) % half
        spread_orders = np.empty_like(orders)
        spread_orders[:, ::2], spread_orders[:, 1::2] = orders[:, :half], np.take_along_axis(orders, turned, axis=1)
        orders = spread_orders
    return np.ascontiguousarray(orders)


SHORT: Final = 0.05  # a coefficient that is lower than the target by more than this is too low
RISK: Final = 0.05  # largest share of drawn rankings that may be too low when a rule stops


@dataclass(frozen=True, eq=False)
class StopDecision(Result):
    """A decision whether to stop, with its reason; it is true if it says to stop.

    Attributes
    ----------
    stop : bool
        Whether to stop.
    expected : ExpectedCorrelation or None
        Expected coefficient; None for `TopStoppingRule`.
    reason : str
        Reason as a sentence.

    See Also
    --------
    stopping_rule : Returns the rule that decides.
    ExpectedCorrelation : The type of `expected`.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, stopping_rule
    >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])
    >>> decision = stopping_rule(0.95)(bradley_terry(votes, prior=2))
    >>> bool(decision), decision.reason
    (False, 'the votes do not rule out chance after 3 votes')
    """

    stop: bool
    expected: ExpectedCorrelation | None
    reason: str

    def __bool__(self) -> bool:
        return self.stop


@dataclass(frozen=True)
class StoppingRule:
    """Stop once the expected coefficient has reached a target and hardly any drawn ranking is far below it.

    Attributes
    ----------
    target : float
    coefficient : Coefficient
    n_samples, seed : int

    See Also
    --------
    stopping_rule : Returns it.
    StopDecision : The decision that a call returns.

    Examples
    --------
    >>> from adaptive import stopping_rule
    >>> rule = stopping_rule(0.95, "tau")
    >>> rule.target, rule.coefficient, rule.n_samples
    (0.95, Tau(), 1000)
    """

    target: float
    coefficient: Coefficient = TauW()  # noqa: RUF009, it is frozen
    n_samples: int = N_SAMPLES
    seed: int = 0

    def __call__(self, strengths: Strengths) -> StopDecision:
        """Decide from the votes so far."""
        expected = strengths.expected_correlation(self.coefficient, n_samples=self.n_samples, seed=self.seed)
        after = f"after {checks.counted(strengths.comparisons.n_comparisons, 'vote')}"
        if not strengths.signal.found:
            return StopDecision(False, expected, f"the votes do not rule out chance {after}")
        statement = f"expected {self.coefficient.name} is {checks.told_apart(expected.mean, self.target, 3)} {after}"
        if not expected.mean >= self.target:
            return StopDecision(False, expected, f"{statement}, below the target of {self.target}")
        least = self.target - SHORT
        short = float(np.mean(~(expected.values >= least)))  # nan counts as too low
        if short > RISK:
            return StopDecision(False, expected, f"{statement}, but below {least:g} in {short:.1%} of draws")
        return StopDecision(True, expected, f"{statement}, at least the target of {self.target}")


@dataclass(frozen=True)
class TopStoppingRule:
    """Stop once the votes determine the top k items.

    Attributes
    ----------
    top : int
    level : float

    See Also
    --------
    stopping_rule : Returns it.
    Strengths.n_certain_of_top : The number that it compares with k.

    Examples
    --------
    >>> from adaptive import stopping_rule
    >>> stopping_rule(top=5)
    TopStoppingRule(top=5, level=0.9)
    """

    top: int
    level: float = 0.9

    def __call__(self, strengths: DrawnStrengths) -> StopDecision:
        """Decide from the votes so far, by `Strengths` or by `ChoiceStrengths` of other answers."""
        n_certain = strengths.n_certain_of_top(self.top, self.level)
        reason = f"{n_certain} of the top {self.top} are certain at the level {self.level:g}"
        return StopDecision(n_certain == self.top, None, reason)


@overload
def stopping_rule(
    target: float, coefficient: CoefficientLike = "tau_w", *, n_samples: int = N_SAMPLES, seed: int = 0
) -> StoppingRule: ...


@overload
def stopping_rule(*, top: int, level: float = 0.9) -> TopStoppingRule: ...


def stopping_rule(
    target: float | None = None,
    coefficient: CoefficientLike = "tau_w",
    *,
    top: int | None = None,
    level: float = 0.9,
    n_samples: int = N_SAMPLES,
    seed: int = 0,
) -> StoppingRule | TopStoppingRule:
    """Return a rule that decides whether there are enough votes: for a target, or for certainty about the top.

    The rule for a target stops if the votes rule out random answers (`signal`), the expected coefficient is at least
    the target, and at most 5 % of the drawn rankings are more than .05 below it. The true coefficient may still be
    lower if the model does not hold (docs/results/crowds.md). Fit with ``voters=True``, as campaigns do.

    The rule for the top stops if each of the first k items is certain to be above each of the others. In the limit of
    many votes, the probability that it ever stops with a wrong top is at most 1 - level, even if pairs are chosen by
    the votes so far. If the items around the cut hardly differ, it does not stop.

    Parameters
    ----------
    target : float
        Smallest expected coefficient, between -1 and 1.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        The coefficient of the target.
    top : int
        Number k of top items that must be certain, instead of a target. Their order need not be certain.
    level : float
        Probability that the top is correct when the rule stops; only for `top`.
    n_samples : int
        Number of rankings drawn for a decision about a target.
    seed : int
        Seed of these draws.

    Returns
    -------
    StoppingRule or TopStoppingRule
        A function of `Strengths` (for `top`, also of `ChoiceStrengths`) that returns a `StopDecision`.

    Raises
    ------
    ModelError, OptionError
        The target is not between -1 and 1, both or neither of target and top are given, or an option is out of range.

    See Also
    --------
    Strengths.expected_correlation : The number that it compares with the target.
    Strengths.n_certain_of_top : The number that it compares with k.
    votes_needed : Predict the votes needed for a target, before voting.

    Examples
    --------
    >>> from adaptive import Comparisons, bradley_terry, stopping_rule
    >>> votes = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])
    >>> decision = stopping_rule(0.95)(bradley_terry(votes, prior=2))
    >>> decision.stop, decision.reason
    (False, 'the votes do not rule out chance after 3 votes')
    >>> stopping_rule(top=1)(bradley_terry(votes, prior=2)).reason
    '0 of the top 1 are certain at the level 0.9'
    """
    if (target is None) == (top is None):
        raise ModelError(f"give exactly one of target and top; got target={target!r} and top={top!r}")
    if top is not None:
        k = checks.whole_number(top)
        if k is None or k < 1:
            raise ModelError(f"top must be a whole number of at least 1; got {checks.shown(top)}")
        return TopStoppingRule(k, checks.checked_level(level, error=ModelError))
    value = checks.real_number(target)
    if not -1 < value < 1:
        raise ModelError(f"target must be a number above -1 and below 1; got {checks.shown(target)}")
    number = checks.checked_count(n_samples, "n_samples", ModelError)
    return StoppingRule(value, as_coefficient(coefficient), number, checks.checked_seed(seed, ModelError))
