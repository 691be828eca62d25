"""Collect votes in batches: strengths -> next comparisons -> votes -> strengths, until the budget is spent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from adaptive._draw import Asked
from adaptive._protocol import Items, checked_labels
from adaptive._votes import checked_answers
from adaptive.comparisons._comparisons import Comparisons
from adaptive.errors import ModelError
from adaptive.matching._matching import MATCHING, Matches, Matching, next_comparisons
from adaptive.model._models import bradley_terry
from adaptive.model._prior import OVERSIGHT, Prior
from adaptive.model._strengths import Strengths
from rankcorr._checks import check_rng, checked_count, shown

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
