"""Score the answers to a ballot (Eqs. 1, 5 and 6), and select the items of the next one by their running mean."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Ballot
from adaptive._votes import LEFT, RIGHT, TIE, UNANSWERED, checked_answers
from adaptive.errors import ProtocolError, VoteError
from rankcorr._checks import offending, shown
from rankcorr._output.results import Result, read_only

Scores: TypeAlias = NDArray[np.float64]
Counts: TypeAlias = NDArray[np.int64]
Average: TypeAlias = Callable[[Scores, Scores, int], Scores]
"""Mean up to ballot k - 1, rescaled scores y of ballot k, and k >= 2: gives the mean up to ballot k."""
Number = TypeVar("Number", np.int64, np.float64)
N_CODES = LEFT - UNANSWERED + 1
_SLACK: Final = 1e-9  # scores are sums of some hundred numbers of at most 1


@dataclass(frozen=True, eq=False)
class Tally(Result):
    """Wins, ties and losses of each item of a ballot, in the order of the ballot's items.

    Attributes
    ----------
    wins, ties, losses, unanswered : ndarray of int64, shape (n_items,), read-only
        An item's presentations are the sum of the four.
    """

    wins: Counts
    ties: Counts
    losses: Counts
    unanswered: Counts

    @property
    def answered(self) -> Counts:
        """Presentations that were answered, shape (n_items,)."""
        return self.wins + self.ties + self.losses

    @property
    def presentations(self) -> Counts:
        """Presentations, answered or not, shape (n_items,)."""
        return self.answered + self.unanswered


class Tallied:
    """A result with a tally, whose counts are attributes of the result, too."""

    if TYPE_CHECKING:  # a field of one class, a property of the others

        @property
        def tally(self) -> Tally: ...

    @property
    def presentations(self) -> Counts:
        """Presentations of each item, answered or not; shape (n_items,), read-only."""
        return read_only(self.tally.presentations)

    @property
    def wins(self) -> Counts:
        """Comparisons that each item won; shape (n_items,), read-only."""
        return self.tally.wins

    @property
    def ties(self) -> Counts:
        """Comparisons that each item tied; shape (n_items,), read-only."""
        return self.tally.ties

    @property
    def losses(self) -> Counts:
        """Comparisons that each item lost; shape (n_items,), read-only."""
        return self.tally.losses


@dataclass(frozen=True, eq=False)
class Rescaled(Result):
    """Scores on the scale of the earlier ballots (Eq. 6).

    Attributes
    ----------
    y : ndarray of float64, shape (n_items,), read-only
    b : float
        Slope of the line y = 1 - b + b x.
    """

    y: Scores
    b: float


@dataclass(frozen=True, eq=False)
class BallotScores(Result):
    """The scores that one ballot gives, in the order of its items.

    Attributes
    ----------
    tally : Tally
    x, y, ybar : ndarray of float64, shape (n_items,), read-only
        Borda scores of this ballot (Eq. 1), the rescaled ones (Eq. 6), and the mean of the latter up to this ballot
        (Eq. 5).
    b : float
        Slope of the rescaling; 1 in ballot 1, where y = x.
    """

    tally: Tally
    x: Scores
    y: Scores
    b: float
    ybar: Scores


def tally(ballot: Ballot, answers: ArrayLike) -> Tally:
    """Count the wins, ties, losses and unanswered presentations of each item.

    Parameters
    ----------
    ballot : Ballot
    answers : array_like of shape (n_comparisons,)
        LEFT, RIGHT, TIE or UNANSWERED for each comparison.

    Raises
    ------
    VoteError
        When the answers are not those of the ballot's comparisons.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive._draw import draw_ballot
    >>> ballot = draw_ballot(["apple", "pear"], 1, 1, np.random.default_rng(0))
    >>> counts = tally(ballot, [LEFT])
    >>> counts.wins.sum(), counts.losses.sum(), counts.answered.tolist()
    (np.int64(1), np.int64(1), [1, 1])
    """
    return count_votes(ballot.left, ballot.right, checked_answers(ballot, answers), len(ballot.items))


def count_votes(left: NDArray[np.int32], right: NDArray[np.int32], answers: NDArray[np.int8], n_items: int) -> Tally:
    """Count the wins, ties, losses and unanswered presentations of each item, from columns that have been checked.

    Examples
    --------
    >>> count_votes(np.array([0, 0]), np.array([1, 2]), np.array([LEFT, TIE], np.int8), 3).wins
    array([1, 0, 0])
    """
    codes = answers - np.int8(UNANSWERED)
    on_left = np.bincount(left * N_CODES + codes, minlength=N_CODES * n_items)
    on_right = np.bincount(right * N_CODES + codes, minlength=N_CODES * n_items)
    by_left, by_right = on_left.reshape(n_items, N_CODES).T, on_right.reshape(n_items, N_CODES).T
    won, lost, tied, silent = (code - UNANSWERED for code in (LEFT, RIGHT, TIE, UNANSWERED))
    return Tally(
        wins=read_only(by_left[won] + by_right[lost]),
        ties=read_only(by_left[tied] + by_right[tied]),
        losses=read_only(by_left[lost] + by_right[won]),
        unanswered=read_only(by_left[silent] + by_right[silent]),
    )


def borda_scores(ballot: Ballot, answers: ArrayLike) -> Scores:
    """Return x = (wins + ties / 2) / presentations answered of each item (Eq. 1).

    Parameters
    ----------
    ballot : Ballot
    answers : array_like of shape (n_comparisons,)
        LEFT, RIGHT, TIE or UNANSWERED for each comparison.

    Returns
    -------
    ndarray of float64, shape (n_items,), read-only
        Between 0 and 1, in the order of the ballot's items.

    Raises
    ------
    VoteError
        When the answers are not those of the ballot's comparisons, or an item has no answer at all.

    See Also
    --------
    rescale : Put them on the scale of earlier ballots.
    borda : The same for votes from any source.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import TIE, UNANSWERED, borda_scores, draw_ballot
    >>> ballot = draw_ballot(["apple", "pear"], 2, 1, np.random.default_rng(0))
    >>> borda_scores(ballot, [TIE, UNANSWERED])
    array([0.5, 0.5])
    """
    return _shares(tally(ballot, answers), ballot.items)


def rescale(x: ArrayLike, previous_mean: ArrayLike) -> Rescaled:
    """Put the scores of a ballot k > 1 on the scale of the ballots before it (Eq. 6).

    b = sum_j (1 - x_j)(1 - ybar_j) / sum_j (1 - x_j)^2 and y_i = 1 - b + b x_i: the line through (1, 1) that lies
    closest to the means so far. b does not exist if every x is 1, which no ballot can give, because one item's win is
    another's loss.

    Parameters
    ----------
    x : array_like of shape (n_items,)
        Borda scores of ballot k, between 0 and 1.
    previous_mean : array_like of shape (n_items,)
        ybar^(k-1) of the same items, at most 1.

    Raises
    ------
    ProtocolError
        When the two do not match, a number is out of range, or every x is 1.

    See Also
    --------
    borda_scores : The scores of a ballot.
    running_mean : The mean over ballots.

    Examples
    --------
    >>> from adaptive import rescale
    >>> rescaled = rescale([0.25, 0.5, 0.75], [0.5, 0.75, 0.75])
    >>> rescaled.b, rescaled.y.round(3).tolist()
    (0.6428571428571429, [0.518, 0.679, 0.839])
    """
    scores, means = np.asarray(x, np.float64), np.asarray(previous_mean, np.float64)
    if scores.ndim != 1 or scores.shape != means.shape:
        raise ProtocolError(
            f"x and the previous mean need one number for each item; got shapes {scores.shape} and {means.shape}"
        )
    valid = (scores >= 0) & (scores <= 1)
    if not valid.all():
        raise ProtocolError(offending("every x must lie between 0 and 1; got", scores[~valid].tolist()))
    valid = (means > -np.inf) & (means <= 1)
    if not valid.all():
        raise ProtocolError(offending("every previous mean must be finite and at most 1; got", means[~valid].tolist()))
    below = 1 - scores
    # Sums that round once, so that neither the order of the items nor the machine changes a digit. A saved protocol
    # then replays on another machine, and files of votes give the same scores as their protocol.
    squares = math.fsum(below * below)
    if squares == 0:
        raise ProtocolError(f"the slope b of Eq. 6 is undefined: x is 1 for each of {scores.size} items")
    b = math.fsum(below * (1 - means)) / squares
    return Rescaled(read_only(1 - b * below), b)


def running_mean(previous_mean: Scores, y: Scores, ballot_number: int) -> Scores:
    """Return ybar^(k) = ((k - 1) ybar^(k-1) + y^(k)) / k, the mean over ballots 1..k (Eq. 5), k = `ballot_number`.

    See Also
    --------
    rescale : Computes the scores that are averaged.
    run_protocol : The option `average`.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import running_mean
    >>> running_mean(np.array([0.5, 0.75]), np.array([1.0, 0.25]), 2)
    array([0.75, 0.5 ])
    """
    return ((ballot_number - 1) * previous_mean + y) / ballot_number


def score_ballot(
    ballot: Ballot,
    answers: ArrayLike,
    *,
    ballot_number: int,
    previous_mean: Scores | None,
    average: Average = running_mean,
) -> BallotScores:
    """Score a ballot: answers -> tally -> x -> y and b -> ybar.

    Parameters
    ----------
    ballot : Ballot
    answers : array_like of shape (n_comparisons,)
        LEFT, RIGHT, TIE or UNANSWERED for each comparison.
    ballot_number : int
        k, counted from 1. In ballot 1, ybar = y = x and b = 1.
    previous_mean : ndarray of float64, shape (n_items,), or None
        ybar^(k-1) of the ballot's items; None in ballot 1, and only there.
    average : callable
        Takes ybar^(k-1), y^(k) and k >= 2, and returns ybar^(k). `running_mean` is Eq. 5.

    Raises
    ------
    VoteError
        When the answers are not those of the ballot's comparisons, or an item has no answer at all.
    ProtocolError
        When `average` does not return one finite number for each item.

    Examples
    --------
    >>> from adaptive._draw import draw_ballot
    >>> ballot = draw_ballot(["apple", "pear"], 1, 1, np.random.default_rng(0))
    >>> scores = score_ballot(ballot, [TIE], ballot_number=2, previous_mean=np.array([0.75, 0.5]))
    >>> scores.b, scores.y, scores.ybar
    (0.75, array([0.625, 0.625]), array([0.6875, 0.5625]))
    """
    counts = tally(ballot, answers)
    x = _shares(counts, ballot.items)
    if previous_mean is None:
        return BallotScores(counts, x, x, 1.0, x)
    rescaled = rescale(x, previous_mean)
    mean: Scores = np.array(average(previous_mean, rescaled.y, ballot_number), np.float64)
    if mean.shape != x.shape or not np.isfinite(mean).all():
        raise ProtocolError(
            f"average must return one finite number for each of {x.size} items; got {mean.size} numbers of shape "
            f"{mean.shape}, {np.count_nonzero(~np.isfinite(mean))} of them not finite"
        )
    return BallotScores(counts, x, rescaled.y, rescaled.b, read_only(mean))


def _shares(counts: Tally, items: Sequence[Hashable]) -> Scores:
    answered = counts.answered
    if not answered.all():
        silent = np.flatnonzero(answered == 0)
        names = [items[place] for place in silent.tolist()]
        raise VoteError(offending("every item needs an answered comparison in each ballot; without any", names))
    return read_only((counts.wins + counts.ties / 2) / answered)


@dataclass(frozen=True, eq=False)
class Selection(Result):
    """The items of the next ballot.

    Attributes
    ----------
    places : ndarray of intp, shape (n_selected,), read-only
        Indices of the items, best first; equal items keep their order, except those tied at the cut.
    n_tied_at_cut : int
        Items that share the score at the cut, where only some could be chosen; 0 when the cut separates two scores.

    See Also
    --------
    select_top, select_by_mean : Return it.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import select_top
    >>> selection = select_top([0.2, 0.9, 0.4], 2, np.random.default_rng(0))
    >>> selection.places, selection.n_tied_at_cut
    (array([1, 2]), 0)
    """

    places: NDArray[np.intp]
    n_tied_at_cut: int


Select: TypeAlias = Callable[[BallotScores, int, np.random.Generator], Selection]
"""Scores of ballot k, N_(k+1), and a generator for ties: gives the items of ballot k + 1."""


def select_items(select: Select, scores: BallotScores, n_selected: int, rng: np.random.Generator) -> Selection:
    """Select the items of the next ballot by a rule of the caller, whose result is checked.

    Raises
    ------
    ProtocolError
        When the rule does not return that many different items of the ballot.
    """
    selection, n_items = select(scores, n_selected, rng), scores.ybar.size
    places = np.asarray(selection.places)
    are_indices = (
        places.dtype.kind in "iu" and places.shape == (n_selected,) and places.min() >= 0 and places.max() < n_items
    )
    if not are_indices or np.bincount(places).max() > 1:
        raise ProtocolError(f"select must return {n_selected} different indices below {n_items}; got {shown(places)}")
    return selection


def select_top(scores: ArrayLike, n_selected: int, rng: np.random.Generator) -> Selection:
    """Select the items with the largest scores; ties at the cut are broken at random.

    The generator is used only when there are ties at the cut.

    Parameters
    ----------
    scores : array_like of shape (n_items,)
        Larger is better.
    n_selected : int
        From 1 to n_items.
    rng : numpy.random.Generator

    Raises
    ------
    ProtocolError
        When a score is nan, or there are not that many items.

    See Also
    --------
    select_by_mean : The rule of the paper, with these steps.
    Selection : The type of the result.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import select_top
    >>> select_top([0.2, 0.9, 0.4], 2, np.random.default_rng(0))
    Selection(places=array([1, 2]), n_tied_at_cut=0)
    >>> select_top([0.4, 0.9, 0.4, 0.4], 2, np.random.default_rng(0)).n_tied_at_cut
    3
    """
    values = np.asarray(scores, np.float64)
    if values.ndim != 1 or np.isnan(values).any():
        n_nan = np.count_nonzero(np.isnan(values))
        raise ProtocolError(f"selection needs one score for each item; got shape {values.shape} with {n_nan} nan")
    if not 1 <= n_selected <= values.size:
        raise ProtocolError(f"cannot select {n_selected} of {values.size} items")
    # Stable, because the order of equal items under another sort depends on the processor, and the next draw on it.
    order = (-values).argsort(kind="stable")
    places, n_tied = order[:n_selected], 0
    cut = values[order[n_selected - 1]]
    if n_selected < values.size and values[order[n_selected]] == cut:
        tied = np.flatnonzero(values == cut)
        n_tied = tied.size
        n_above = np.count_nonzero(values > cut)
        places = np.concatenate([order[:n_above], rng.permutation(tied)[: n_selected - n_above]])
    return Selection(read_only(places), n_tied)


def select_by_mean(scores: BallotScores, n_selected: int, rng: np.random.Generator) -> Selection:
    """Select by ybar^(k), "according to the results of the previous ballots" (section 2.5 of the paper).

    See Also
    --------
    select_top : The same selection from any scores.
    run_protocol : The option `select`.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import draw_ballot, select_by_mean
    >>> from adaptive._scores import score_ballot
    >>> ballot = draw_ballot(["apple", "pear"], 1, 1, np.random.default_rng(0))
    >>> scores = score_ballot(ballot, [0], ballot_number=2, previous_mean=np.array([0.5, 0.75]))
    >>> select_by_mean(scores, 1, np.random.default_rng(0)).places
    array([1])
    """
    return select_top(scores.ybar, n_selected, rng)


def select_again(places: NDArray[np.intp], n_tied_at_cut: int) -> Select:
    """Return a function that repeats a recorded selection, whatever its generator.

    The function raises a ProtocolError if the scores could not have led to these items. It allows for the last digits
    of the scores, which may differ between processors.

    Parameters
    ----------
    places : ndarray of intp, shape (n_selected,)
    n_tied_at_cut : int

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> scores = SimpleNamespace(ybar=np.array([0.4, 0.9, 0.4, 0.4]))
    >>> select_again(np.array([1, 3]), 3)(scores, 2, np.random.default_rng(0)).places
    array([1, 3])
    """

    def select(scores: BallotScores, n_selected: int, rng: np.random.Generator) -> Selection:  # noqa: ARG001
        values = scores.ybar
        is_selected = np.zeros(values.size, bool)
        is_selected[places] = True
        if places.size != n_selected or np.count_nonzero(is_selected) != n_selected:
            raise ProtocolError(f"{n_selected} different items must be selected; got {places.size}")
        others = values[~is_selected].max(initial=-np.inf)
        if (np.diff(values[places]) > _SLACK).any() or others > values[places[-1]] + _SLACK:
            raise ProtocolError("the items selected are not the best by the votes")
        cut = values[places[-1]]
        tied = [int(np.count_nonzero(np.abs(values - cut) <= slack)) * (others >= cut - slack) for slack in (0, _SLACK)]
        if n_tied_at_cut not in tied:
            raise ProtocolError(f"the votes leave {tied[0]} items tied at the cut; got {n_tied_at_cut}")
        return Selection(places, n_tied_at_cut)

    return select
