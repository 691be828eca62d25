"""Represent comparisons as voters see them and votes as small whole numbers, and check a whole ballot's answers."""

from __future__ import annotations

from collections.abc import Hashable
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Asked, Ballot
from adaptive.errors import VoteError
from rankcorr._checks import counted_need, shown
from rankcorr._input.scores import is_masked
from rankcorr._output.results import read_only


class Comparison(NamedTuple):
    """One pair of items for one voter.

    Attributes
    ----------
    id : str
        Number of the ballot, counted from 1, and index of the comparison in it, counted from 0: "2-17".
    voter, left, right : hashable
        Labels of the voter and the two items.
    """

    id: str
    voter: Hashable
    left: Hashable
    right: Hashable


class SetComparison(Comparison):
    """A set of items for one voter; `left` and `right` are its first two.

    Attributes
    ----------
    other_items : tuple of hashable
        Labels of the others.
    """

    other_items: tuple[Hashable, ...]

    @classmethod
    def of(cls, pair: Comparison, other_items: tuple[Hashable, ...]) -> SetComparison:
        """Return the set that begins with a pair."""
        comparison = cls(*pair)
        comparison.other_items = other_items
        return comparison


def comparisons_of(ballot: Ballot, number: int) -> tuple[Comparison, ...]:
    """Return all comparisons of a ballot, in the order to show them.

    Parameters
    ----------
    ballot : Ballot
    number : int
        Number of the ballot, counted from 1, for the ids.

    Examples
    --------
    >>> from adaptive._draw import draw_ballot
    >>> ballot = draw_ballot(["apple", "pear"], 2, ["Ann"], np.random.default_rng(0))
    >>> comparisons_of(ballot, 1)[0]
    Comparison(id='1-0', voter='Ann', left='apple', right='pear')
    """
    columns = zip(ballot.voter.tolist(), ballot.left.tolist(), ballot.right.tolist(), strict=True)
    return tuple(
        Comparison(f"{number}-{index}", ballot.voters[voter], ballot.items[left], ballot.items[right])
        for index, (voter, left, right) in enumerate(columns)
    )


class Vote(IntEnum):
    """The answer to a comparison: which side is larger, a tie, or none yet.

    See Also
    --------
    borda_scores : Takes these answers.
    Comparisons : Keeps them.

    Examples
    --------
    >>> from adaptive import LEFT, Vote
    >>> [(vote.name, vote.value) for vote in Vote]
    [('LEFT', 1), ('TIE', 0), ('RIGHT', -1), ('UNANSWERED', -2)]
    >>> LEFT == Vote.LEFT
    True
    """

    LEFT = 1
    TIE = 0
    RIGHT = -1
    UNANSWERED = -2


LEFT, TIE, RIGHT, UNANSWERED = (int(vote) for vote in (Vote.LEFT, Vote.TIE, Vote.RIGHT, Vote.UNANSWERED))
WORDS = {"left": Vote.LEFT, "right": Vote.RIGHT, "tie": Vote.TIE}


def checked_answers(ballot: Asked, answers: ArrayLike) -> NDArray[np.int8]:
    """Check the answers to all comparisons of a ballot, or of a batch of matches.

    Parameters
    ----------
    ballot : Ballot or Matches
        The comparisons asked.
    answers : array_like of int, shape (n_comparisons,)
        In the order of the ballot's comparisons: `Vote`s, or their codes 1 (left), 0 (tie), -1 (right) and -2
        (unanswered).

    Returns
    -------
    ndarray of int8, shape (n_comparisons,)
        The codes, read-only.

    Raises
    ------
    VoteError
        Answers of the wrong number, dimension or type (booleans and text included), or an unknown code.

    Examples
    --------
    >>> from adaptive._draw import draw_ballot
    >>> ballot = draw_ballot(4, 2, voters=1, rng=np.random.default_rng(0))
    >>> checked_answers(ballot, [Vote.LEFT, Vote.TIE, -1, -2])
    array([ 1,  0, -1, -2], dtype=int8)
    """
    try:
        array = np.asarray(answers)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise VoteError(f"answers must be a list of codes; got {shown(answers)}") from error
    if is_masked(answers):
        raise VoteError("answers are masked: write -2 where there is no answer")
    if array.shape != (ballot.n_comparisons,):
        size = array.size if array.ndim == 1 else f"an array of shape {array.shape}"
        raise VoteError(f"{counted_need(ballot.n_comparisons, 'comparison')} as many answers; got {size}")
    if array.dtype.kind not in "iu":
        raise VoteError(
            f"answers must be whole numbers, 1 (left), 0 (tie), -1 (right) or -2 (unanswered); got {array.dtype}"
        )
    wrong = np.flatnonzero((array < UNANSWERED) | (array > LEFT))
    if wrong.size:
        raise VoteError(
            f"answers[{wrong[0]}] is {array[wrong[0]]}; an answer is 1 (left), 0 (tie), -1 (right) or -2 (unanswered)"
        )
    return read_only(array.astype(np.int8))
