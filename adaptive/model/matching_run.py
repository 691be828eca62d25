"""A whole run of matching: strengths -> next comparisons -> votes -> strengths, until the votes are spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from adaptive.draw import Asked
from adaptive.errors import ModelError
from adaptive.model.comparisons import Comparisons
from adaptive.model.estimators import bradley_terry
from adaptive.model.matching import FIRST, FOCUS, Matches, checked_options, next_comparisons
from adaptive.model.prior import Prior
from adaptive.model.strengths import Strengths
from adaptive.protocol import Items, checked_labels
from adaptive.votes import checked_answers
from rankcorr.checks import check_rng, real_number, shown, whole_number
from rankcorr.results import Result

__all__ = ["MATCHING", "Matching", "run_matching"]

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
        batch, voters_from = whole_number(self.batch), real_number(self.voters_from)
        if batch is None or batch < 1:
            raise ModelError(f"batch must be a positive whole number; got {shown(self.batch)}")
        if not voters_from >= 0:
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
    total = whole_number(n_comparisons)
    if total is None or total < 1:
        raise ModelError(f"n_comparisons must be a positive whole number; got {shown(n_comparisons)}")
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
