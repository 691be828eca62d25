"""Whom to compare next: items whose place is in doubt where the coefficients weigh it, against items of like strength.

strengths -> draws of the ranking -> what each item's doubt costs -> items -> opponents -> voters and sides -> votes ->
strengths, until the votes are spent (`run_matching`)

Each draw is a ranking that could be true (Thompson's rule). Opponents are those near in the fitted ranking, not in a
drawn one: a vote says most where either answer is as likely. (With neighbours in a drawn ranking, 6,000 votes on 990
items of power-law similarity reached a rho_w of .929, with these .947; means of 16 simulations, standard errors .006
and .002.) But where neighbours mostly tie, their votes say little, and opponents are farther away. (With 23 % ties
between random items of exponential similarity, 19,660 votes reached a tau_w of .19 with neighbours, with these .87; 2
and 3 simulations.)

The draws are normal, and hardly ever lift an item far above its place; but a top item may have lost its first
comparisons by oversights. So the chance that an item belongs far above (`RankChances`) adds to its doubt, and such an
item meets a stronger one than itself: a victory that was no luck shows sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.draw import LIMIT, Asked, Indices, Names
from adaptive.errors import ModelError
from adaptive.model.accuracy import checked_count
from adaptive.model.columns import ShownPairs, same_labels
from adaptive.model.comparisons import Comparisons
from adaptive.model.estimators import bradley_terry
from adaptive.model.likelihood import Prior
from adaptive.model.strengths import Strengths
from adaptive.protocol import Items, checked_labels
from adaptive.votes import checked_answers
from rankcorr.checks import check_rng, counted, real_number, shown, whole_number
from rankcorr.results import Result

Array: TypeAlias = NDArray[Any]

FOCUS: Final = 0.6
FIRST: Final = 1
DRAWS: Final = 6
FAR: Final = 2.5  # standard errors above an item's strength from which on a rank is far above it
# Of power-law, exponential and embedding similarity with 6,000 votes: of .4 to 1 and of 1 to half of the way, these two
# did best by rho_w (60 simulations each).
FAR_SHARE: Final = 0.5
STEP: Final = 1.5
MAX_SIZE: Final = 10_000_000  # comparisons of one call, which take 200 MB


@dataclass(frozen=True, eq=False, repr=False)
class Matches(Result):
    """Comparisons to be shown next, in this order.

    Attributes
    ----------
    items, voters : tuple of hashable, or range
        Labels of all items, and names of the voters.
    left, right, voter : ndarray of int32, shape (n_comparisons,), read-only
        Indices into items and voters.
    reason : str
        Why there are fewer comparisons than wanted; empty if there are not.
    """

    items: Names
    voters: Names
    left: Indices
    right: Indices
    voter: Indices
    reason: str = ""

    def __post_init__(self) -> None:
        for column in (self.left, self.right, self.voter):
            column.flags.writeable = False

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons."""
        return self.left.size

    @property
    def pairs(self) -> list[tuple[Hashable, Hashable]]:
        """Labels of the items on the left and on the right of each comparison."""
        columns = zip(self.left.tolist(), self.right.tolist(), strict=True)
        return [(self.items[left], self.items[right]) for left, right in columns]

    def __len__(self) -> int:
        return self.n_comparisons

    def __repr__(self) -> str:
        why = f": {self.reason}" if self.reason else ""
        return f"<Matches of {counted(self.n_comparisons, 'comparison')} for {counted(len(self.voters), 'voter')}{why}>"


def next_comparisons(
    strengths: Strengths,
    size: int,
    *,
    rng: np.random.Generator,
    voters: Items | None = None,
    voter_history: Comparisons | None = None,
    n0: float = 2.0,
    focus: float = FOCUS,
    first: int = FIRST,
) -> Matches:
    """Choose the comparisons that say most about the top of the list, given all votes so far.

    Rankings are drawn from the posterior. An item whose rank differs between them costs the coefficients something, and
    more the nearer it is to the top: tau_w the weight of the items between its two ranks, rho_w the square of the
    difference. Items are drawn in proportion to what a vote is expected to save of that, and each meets one of the
    items next to it in the fitted ranking, or, if more than half of the votes between equals tie, one so much stronger
    or weaker that half of them do (Davidson's model). An item that may belong far above its place, because the votes
    against it can be oversights, costs that distance too, times its probability (`Strengths.rank_chances`), and meets
    an item somewhat stronger than itself. Batches of 50 choose better than larger ones; a vote that has not come in
    cannot guide.

    Parameters
    ----------
    strengths : Strengths
    size : int
        Number of comparisons wanted.
    rng : numpy.random.Generator
    voters : int or sequence of hashable, optional
        Who is to vote. Who was shown the fewest comparisons gets the next one, so that all come to the same number. By
        default the voters of the history, or a single one if they are not known.
    voter_history : Comparisons, optional
        What voters have been shown, answered or not: no voter gets a pair again. By default the votes of `strengths`.
    n0 : float
        Offset of the weights 1 / (n + n0)^2.
    focus : float
        From 0 to 1: how much of the choice follows tau_w, which asks for the order of the top; the rest follows rho_w,
        which asks for the places of all items as well.
    first : int
        Items with fewer comparisons than this are served first, against each other.

    Returns
    -------
    Matches
        With fewer comparisons than wanted, or none, where the voters have seen all pairs; its `reason` says so.

    Raises
    ------
    ModelError
        A size that is not positive or above 10,000,000, an option out of range, no generator of random numbers, or a
        history of other items.

    Examples
    --------
    >>> from adaptive.model.estimators import bradley_terry
    >>> votes = Comparisons.from_labels(["a", "c"], ["b", "d"], ["left", "left"], voter=["Ann", "Bob"])
    >>> next_comparisons(bradley_terry(votes), 2, rng=np.random.default_rng(1))
    <Matches of 2 comparisons for 2 voters>
    """
    wanted, own_focus, own_first = checked_options(size, n0, focus, first)
    if not isinstance(strengths, Strengths):
        raise ModelError(f"comparisons are chosen by Strengths; got {shown(strengths)}")
    history = strengths.comparisons if voter_history is None else voter_history
    if not isinstance(history, Comparisons) or not same_labels(history.items, strengths.items):
        raise ModelError(f"voter_history must be Comparisons of the same items; got {shown(history)}")
    check_rng(rng, ModelError)
    pairs = history.shown_pairs
    names, seen_by = _voters(voters, history.voters, pairs)
    from adaptive.model.matching_kernels import deal_matches

    presentations = strengths.comparisons.presentations
    chosen, order, aim = _chosen_items(strengths, presentations, n0, own_focus, own_first, rng)
    # Items that are new come first in the order, and meet each other.
    distance = 0.0 if (presentations < own_first).any() else telling_distance(strengths.tie_parameter)
    left, right, voter = np.empty((3, wanted), np.int32)
    n_made = deal_matches(
        chosen,
        order,
        _places_around(strengths.theta, order, distance, aim),
        np.maximum(own_first - presentations, 0),
        pairs.left,
        pairs.right,
        seen_by,
        len(names),
        rng,
        left,
        right,
        voter,
    )
    reason = ""
    if n_made < wanted:
        reason = f"{'the voter has' if len(names) == 1 else 'the voters have'} seen all other pairs"
    return Matches(_names(strengths.items), names, left[:n_made], right[:n_made], voter[:n_made], reason)


def _chosen_items(
    strengths: Strengths, presentations: Array, n0: float, focus: float, first: int, rng: np.random.Generator
) -> tuple[Array, Array, Array]:
    """All items in the order in which they are to be served, and in an order of which neighbours are to meet.

    And the strength that the opponent of an item should have that may belong far above its place; nan for the others.
    """
    n_items = presentations.size
    width = 1.0 / np.sqrt(strengths.curvature.diagonal)
    drawn = strengths.theta + width * rng.standard_normal((DRAWS, n_items))
    ranks = np.empty((DRAWS, n_items))
    for row, order in zip(ranks, falling_orders(drawn), strict=True):
        row[order] = np.arange(1.0, n_items + 1)
    of_tau, of_rho = rank_doubts(ranks, n0)
    # Items of one strength in random order: in that of their labels, neighbours could be alike, and teach little.
    mixed = rng.permutation(n_items)
    order = mixed[falling_orders(strengths.theta[np.newaxis, mixed])[0]]
    far_tau, far_rho, aim = _far_doubts(strengths, strengths.theta + FAR * width, order, n0)
    # A vote saves the share width^2 / 4 of what the doubt near an item's place costs, but much of a far one.
    top = (1 + n0) ** -2.0
    nothing = 1e-9 * np.array([top * top, top])  # where all draws agree, the least chance of a far rank is no doubt
    shares = np.array([focus, 1 - focus]) / np.maximum([of_tau.sum(), of_rho.sum()], nothing)
    near = width * width * (shares @ np.stack([of_tau, of_rho]))
    far = FAR_SHARE * (shares @ np.stack([far_tau, far_rho]))
    aim[far < near] = np.nan
    # Where all draws agree nothing is to be gained; such items come last, by the weight of their rank.
    weight = (ranks[0] + n0) ** -2.0
    gain = near + far + 1e-9 * width * width * weight / weight.sum()
    with np.errstate(divide="ignore"):
        # The largest of log(p) + Gumbel noise are a draw without replacement in proportion to p.
        key = np.log(gain) + rng.gumbel(size=n_items)
    fresh = presentations < first
    if fresh.any():  # they are served first, in random order, and stand together, so that they meet each other
        key[fresh] = np.finfo(float).max * (1 - 0.5 * rng.random(int(fresh.sum())))
        order = np.concatenate([rng.permutation(np.flatnonzero(fresh)), order[~fresh[order]]])
        aim[:] = np.nan
    return falling_orders(key[np.newaxis])[0], order, aim


def _far_doubts(strengths: Strengths, far: Array, order: Array, n0: float) -> tuple[Array, Array, Array]:
    """What items cost tau_w and rho_w that belong to ranks of strengths above `far`, and the strengths to aim at."""
    from adaptive.model.matching_kernels import far_doubts

    found, n_items = strengths.rank_chances, order.size
    own_ranks = np.empty(n_items)
    own_ranks[order] = np.arange(1.0, n_items + 1)
    of_tau, of_rho, aim = np.empty((3, n_items))
    step = max(STEP, telling_distance(strengths.tie_parameter))
    levels = (found.strengths, found.ranks, found.last, found.chances)
    far_doubts(strengths.theta, own_ranks, far, *levels, n0, step, of_tau, of_rho, aim)
    return of_tau, of_rho, aim


def falling_orders(values: Array) -> Array:
    """What sorts each row downwards, equal values in their order; values are finite or infinite."""
    from adaptive.model.matching_kernels import set_falling_orders

    orders = np.empty(values.shape, np.int64)
    set_falling_orders(values, orders)
    return orders


def telling_distance(nu: float) -> float:
    """Difference of strengths at which half of the votes tie in Davidson's model; 0 if equals tie less often.

    With c = cosh(d / 2) votes tie with probability nu / (nu + 2 c), and have the Fisher information
    (nu c + 2) / (2 (nu + 2 c)^2) on d. At c = nu / 2 that is 90 % of its maximum or more for every nu. The maximum
    itself lies at d = 0 up to nu = 4, where voters who cannot tell like items apart at all would say nothing.

    Examples
    --------
    >>> telling_distance(2.0), round(telling_distance(4.0), 3)
    (0.0, 2.634)
    """
    return 0.0 if nu <= 2 else float(2 * np.arccosh(nu / 2))


def _places_around(theta: Array, order: Array, distance: float, aim: Array) -> Array:
    """Where in `order`, which falls in `theta`, opponents are looked for: so far below each item, and so far above.

    Both are the item's own place if the distance is 0. If nothing is so far on one side, both are the place on the
    other; if on neither, the end that is farther. Where `aim` is a number, both are the place of that strength.
    """
    around = _places_away(theta, order, distance)
    aimed = np.flatnonzero(~np.isnan(aim))
    around[:, aimed] = np.minimum(np.searchsorted(-theta[order], -aim[aimed]), order.size - 1)
    return around


def _places_away(theta: Array, order: Array, distance: float) -> Array:
    n_items = order.size
    if not distance:
        place = np.empty(n_items, np.int64)
        place[order] = np.arange(n_items)
        return np.stack([place, place])
    falling = -theta[order]
    below = np.searchsorted(falling, distance - theta)
    above = np.searchsorted(falling, -distance - theta, side="right") - 1
    none_below, none_above = below == n_items, above < 0
    farther = np.where(theta - theta.min() > theta.max() - theta, n_items - 1, 0)
    below[none_below] = np.where(none_above, farther, above)[none_below]
    above[none_above] = below[none_above]
    return np.stack([below, above])


def rank_doubts(ranks: Array, n0: float) -> tuple[Array, Array]:
    """What each item's doubt about its rank costs tau_w and rho_w, up to a factor.

    Parameters
    ----------
    ranks : ndarray of float64, shape (n_draws, n_items)
        Rankings drawn from the posterior.
    n0 : float

    Returns
    -------
    tuple of ndarray of float64, shape (n_items,)
        Means over pairs of neighbouring draws: the item's weight times the weight of the ranks between, and times the
        squared difference of the ranks.
    """
    inverse = 1.0 / (ranks + n0)
    weight = inverse * inverse
    n_draws, n_items = ranks.shape
    of_tau, of_rho = np.zeros((2, n_items))
    for a in range(n_draws):  # row by row, which stays in the cache: a third of the time of whole matrices
        b = (a + 1) % n_draws
        both = weight[a] + weight[b]
        # The weights 1 / (n + n0)^2 from rank a to rank b sum to about 1 / (a + n0) - 1 / (b + n0).
        of_tau += np.abs(inverse[a] - inverse[b]) * both
        of_rho += (ranks[a] - ranks[b]) ** 2 * both
    return of_tau / n_draws, of_rho / n_draws


def checked_options(size: int, n0: float, focus: float, first: int) -> tuple[int, float, int]:
    """Return size, focus and first as plain numbers; ModelError if one of the options is out of range."""
    wanted, own_first = checked_count(size, "size"), whole_number(first)
    if wanted > MAX_SIZE:
        raise ModelError(f"size must be at most {MAX_SIZE:,}; got {shown(size)}")
    if own_first is None or own_first < 0:
        raise ModelError(f"first must be a whole number, not negative; got {shown(first)}")
    if own_first > LIMIT:
        raise ModelError(f"first must be at most {LIMIT:,}; got {shown(first)}")
    if not -1 < real_number(n0) < np.inf:
        raise ModelError(f"n0 must be a finite number above -1; got {shown(n0)}")
    own_focus = real_number(focus)
    if not 0 <= own_focus <= 1:
        raise ModelError(f"focus must be a number from 0 to 1; got {shown(focus)}")
    return wanted, own_focus, own_first


def _voters(voters: Items | None, before: Sequence[Hashable] | None, pairs: ShownPairs) -> tuple[Names, Array]:
    """Names of who is to vote, and for each pair shown before the index of its voter, or -1."""
    unknown = np.full(len(pairs), -1, np.int32)
    unknown.flags.writeable = False  # as voters are: the loop would be compiled anew for an array to write to
    if voters is not None:
        names = checked_labels(voters, "voters", ModelError)
    else:
        names = range(1) if before is None else before
    if not len(names):
        raise ModelError("comparisons need at least one voter; got none")
    own = _names(names)
    if before is None or pairs.voter is None:
        return own, unknown
    if own == before:
        return own, pairs.voter
    index = {name: place for place, name in enumerate(own)}
    places = np.array([index.get(name, -1) for name in before], np.int32)[pairs.voter]
    places.flags.writeable = False
    return own, places


def _names(labels: Sequence[Hashable]) -> Names:
    return labels if isinstance(labels, range | tuple) else tuple(labels)


Vote: TypeAlias = Callable[[Matches], ArrayLike]

BATCH: Final = 50
# While votes come in, the strengths need not be exact: posterior noise is far larger than this.
TOLERANCE: Final = 0.02
WHILE_MATCHING: Final = Prior(sd=2.0)


@dataclass(frozen=True, eq=False)
class Matching(Result):
    """How `run_matching` chooses comparisons.

    Attributes
    ----------
    batch : int
        Comparisons that are chosen at a time, by all votes before them. 50 choose a little better than 250, and 1,000
        worse.
    first : int
        Every item is compared so often with random others, before any other comparison is made.
    n0 : float
        Offset of the weights 1 / (n + n0)^2 that say how much the top counts.
    focus : float
        From 0 to 1, as in `next_comparisons`.
    voters_from : float
        Comparisons per voter from which on the voters' own discriminations and oversights are fitted too, so that
        careless votes count less in the choice. By default that is left to the fit after the last vote.

    Raises
    ------
    ModelError
        A number out of range.

    Examples
    --------
    >>> Matching(batch=10).focus == Matching().focus
    True
    """

    batch: int = BATCH
    first: int = FIRST
    n0: float = 2.0
    focus: float = FOCUS
    voters_from: float = float("inf")

    def __post_init__(self) -> None:
        batch = checked_count(self.batch, "batch")
        if not real_number(self.voters_from) >= 0:
            raise ModelError(f"voters_from must be a number, not negative; got {shown(self.voters_from)}")
        checked_options(batch, self.n0, self.focus, self.first)


MATCHING: Final = Matching()


def run_matching(
    items: Items,
    vote: Vote,
    n_comparisons: int,
    *,
    rng: np.random.Generator,
    voters: Items = 100,
    matching: Matching = MATCHING,
) -> Strengths:
    """Ask for votes batch by batch, each chosen by all votes before it, and fit strengths to them in the end.

    The first m comparisons are those of a run that ends after m. Where all are answered,
    ``bradley_terry(strengths.comparisons.select(range(m)), voters=True)`` is what this run had found by then.

    Parameters
    ----------
    items : int or sequence of hashable
        Unique labels; an integer N stands for 0..N-1.
    vote : callable
        Takes `Matches` and returns LEFT, RIGHT, TIE or UNANSWERED for each of them, shape (n_comparisons,): a
        simulator, or real voters. A comparison without an answer is spent, and its voter is not asked it again.
    n_comparisons : int
        How many comparisons may be asked for.
    rng : numpy.random.Generator
    voters : int or sequence of hashable
        Names of the voters; an integer V stands for 0..V-1.
    matching : Matching

    Returns
    -------
    Strengths
        Those of ``bradley_terry(votes, voters=True)``, with all votes in the order in which they came. There are fewer
        than `n_comparisons` if some were not answered, or if all voters have seen all pairs.

    Raises
    ------
    ModelError
        Fewer than two items, no voter, a number of comparisons that is not positive, no function that votes, or no
        generator of random numbers.
    VoteError
        When the answers are not those of the comparisons.

    Examples
    --------
    >>> def prefer_smaller(matches):
    ...     return np.sign(matches.right - matches.left)
    >>> run_matching(6, prefer_smaller, 40, rng=np.random.default_rng(1), voters=5).ranking.ranks
    array([1., 2., 3., 4., 5., 6.])
    """
    total = checked_count(n_comparisons, "n_comparisons")
    if not isinstance(matching, Matching):
        raise ModelError(f"matching must be a Matching; got {shown(matching)}")
    check_vote(vote)
    check_rng(rng, ModelError)
    votes = no_votes(items, voters)
    n_first = votes.n_items // 2  # all items at once, because nothing is known that could guide smaller batches
    strengths, spent = None, 0
    while spent < total:
        fits_voters = spent >= matching.voters_from * votes.n_voters
        strengths = interim_strengths(votes, strengths, voters=fits_voters)
        size = n_first if spent < n_first * matching.first else matching.batch
        matches = next_comparisons(
            strengths,
            min(size, total - spent),
            rng=rng,
            n0=matching.n0,
            focus=matching.focus,
            first=matching.first,
        )
        if not len(matches):
            break
        votes = with_answers(votes, matches, vote(matches))
        spent += len(matches)
    return bradley_terry(votes, voters=True)


def check_vote(vote: object) -> None:
    """Refuse what cannot be asked for votes."""
    if not callable(vote):
        raise ModelError(f"vote must be a function that takes comparisons and returns answers; got {shown(vote)}")


def no_votes(items: Items, voters: Items) -> Comparisons:
    """Comparisons without a single one, of known items and voters; ModelError if there are too few."""
    labels = checked_labels(items, "items", ModelError)
    names = checked_labels(voters, "voters", ModelError)
    if len(labels) < 2:
        raise ModelError(f"a ranking needs at least two items; got {len(labels)}")
    if not len(names):
        raise ModelError("comparisons need at least one voter; got none")
    none = np.empty(0, np.int32)
    return Comparisons(labels, none, none, np.empty(0, np.int8), names, none)


def interim_strengths(votes: Comparisons, before: Strengths | None, *, voters: bool = False) -> Strengths:
    """Strengths that are exact enough to choose what to ask next; `before` is an earlier fit to some of the votes."""
    # As an outcome of their own, ties tell how far apart items must be for a vote to say something.
    return bradley_terry(votes, start=before, tolerance=TOLERANCE, prior=WHILE_MATCHING, voters=voters)


def with_answers(votes: Comparisons, asked: Asked, answers: ArrayLike) -> Comparisons:
    """Votes so far, and then those that answer what was asked; VoteError if the answers are not those to it."""
    codes = checked_answers(asked, answers)
    return votes.joined(Comparisons.from_ballots([(asked, codes)], items=votes.items, voters=votes.voters))
