"""Run fixed ballots that pair neighbours: strengths -> selected items -> rounds of neighbours -> ballot -> votes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._budget import plan_for_budget
from adaptive._draw import Ballot, checked_integer, draw_ballot
from adaptive._plan import BallotPlan
from adaptive._protocol import Items, checked_items
from adaptive._scores import select_top
from adaptive.errors import DrawError, ModelError, PlanError
from adaptive.matching._matching import falling_orders
from adaptive.matching._rounds import check_vote, interim_strengths, no_votes, with_answers
from adaptive.model._models import bradley_terry
from adaptive.model._strengths import Strengths
from rankcorr._checks import check_rng, real_number, shown, whole_number
from rankcorr._output.results import Result

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
    columns, n_voters = (pairs.left, pairs.right, pairs.voter), len(history.voters)
    left, right, voter = matched_comparisons(orders, items, n_presentations, n_voters, columns, history.n_items, rng)
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
