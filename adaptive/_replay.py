"""Score all ballots so far from the first one on, for callers that keep the votes instead of a protocol."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Ballot, Names
from adaptive._plan import BallotPlan
from adaptive._protocol import Items, Position, ballot_rng, checked_items, close_ballot
from adaptive._record import ProtocolResult
from adaptive.errors import ProtocolError, VoteError
from rankcorr._checks import offending, shown
from rankcorr._input.identifiers import identifier_text
from rankcorr._results import Result, read_only


@dataclass(frozen=True, eq=False)
class BallotVotes(Result):
    """The comparisons of one ballot, in any order, and the answer to each.

    Attributes
    ----------
    left, right : sequence of hashable
        Labels of the items of each comparison; kept as tuples.
    answers : array_like of int, shape (n_comparisons,)
        LEFT, RIGHT, TIE or UNANSWERED for each comparison; kept as a read-only copy.

    Raises
    ------
    VoteError
        When the answers are rows of different lengths; `score_ballots` checks everything else.

    See Also
    --------
    score_ballots : Takes them.
    Comparisons : Votes that belong to no ballot.

    Examples
    --------
    >>> from adaptive import LEFT, TIE, BallotVotes
    >>> votes = BallotVotes(["fig", "plum"], ["plum", "pear"], [LEFT, TIE])
    >>> votes.left, votes.right, votes.answers
    (('fig', 'plum'), ('plum', 'pear'), array([1, 0]))
    """

    left: Sequence[Hashable]
    right: Sequence[Hashable]
    answers: ArrayLike

    def __post_init__(self) -> None:
        for name in ("left", "right"):
            labels = getattr(self, name)
            object.__setattr__(self, name, tuple(labels.tolist() if isinstance(labels, np.ndarray) else labels))
        try:
            answers = np.array(self.answers)
        except ValueError as error:  # numpy's error for rows of different lengths
            raise VoteError(f"answers must be a list of codes; got {shown(self.answers)}") from error
        object.__setattr__(self, "answers", read_only(answers))


@dataclass(frozen=True, eq=False)
class InterimResult(Result):
    """Results of the ballots so far.

    Attributes
    ----------
    result : ProtocolResult
        Of the ballots so far.
    next_items : tuple of hashable, or None
        Items of the next ballot, best first; None after the last ballot.

    See Also
    --------
    score_ballots : Returns it.
    ProtocolResult : The type of `result`.

    Examples
    --------
    >>> from adaptive import BallotVotes, plan_ballots, score_ballots
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> votes = BallotVotes(["fig", "fig", "plum", "pear"], ["plum", "pear", "kiwi", "kiwi"], [1, 1, 0, 1])
    >>> interim = score_ballots(plan, [votes], items=["kiwi", "plum", "pear", "fig"], seed=1)
    >>> interim.next_items, interim.result.best_first
    (('fig', 'pear'), array([3, 2, 0, 1]))
    """

    result: ProtocolResult
    next_items: tuple[Hashable, ...] | None

    def __repr__(self) -> str:
        n_next = 0 if self.next_items is None else len(self.next_items)
        return f"<InterimResult of {len(self.result.ballots)} ballots, {n_next} items in the next one>"


def score_ballots(plan: BallotPlan, ballots: Sequence[BallotVotes], *, items: Items, seed: int) -> InterimResult:
    """Score the ballots so far and select the items of the next one.

    Ties at the cut of ballot k are broken by ``ballot_rng(seed, k, "cut")``. A call with more ballots therefore repeats
    the selections of earlier calls, and a campaign with the same seed and votes selects the same items.

    Parameters
    ----------
    plan : BallotPlan
    ballots : sequence of BallotVotes
        Ballots 1, 2, ... of the plan, with all their comparisons.
    items : int or sequence of hashable
        Unique labels of the plan's items, in the same order in each call; an integer N stands for 0..N-1.
    seed : int
        At least 0.

    Raises
    ------
    ProtocolError
        There is no ballot or more than the plan has, the items differ from the plan, or the seed is not an integer of
        at least 0.
    VoteError
        The comparisons of a ballot differ from the plan (an item of another ballot, another number of comparisons or of
        presentations of an item, an item against itself), the answers do not fit the comparisons, or an item has no
        answer. The message names the ballot.

    See Also
    --------
    run_protocol : With a function that votes.
    adaptive.ledger.Ledger : Campaigns over days, in a database.

    Examples
    --------
    >>> from adaptive import BallotVotes, plan_ballots, score_ballots
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> votes = BallotVotes(["fig", "fig", "plum", "pear"], ["plum", "pear", "kiwi", "kiwi"], [1, 1, 0, 1])
    >>> interim = score_ballots(plan, [votes], items=["kiwi", "plum", "pear", "fig"], seed=1)
    >>> interim.result.ranking
    <Ranking of 4 items, 2 tied: 'fig' 1, 'pear' 2, 'kiwi' 3.5, 'plum' 3.5>
    >>> interim.next_items
    ('fig', 'pear')
    """
    labels = checked_items(plan, items)
    if not 1 <= len(ballots) <= plan.n_ballots:
        raise ProtocolError(f"from 1 to {plan.n_ballots} ballots of the plan can be scored; got {len(ballots)}")
    known = set(map(identifier_text, labels))
    position, records = Position.first(plan), []
    for number, votes in enumerate(ballots, start=1):
        rng = ballot_rng(seed, number, "cut")
        try:
            ballot = _ballot(plan, number, position.labels(labels), votes, known)
            record, position = close_ballot(plan, position, ballot, votes.answers, rng=rng)
        except VoteError as error:
            raise VoteError(f"ballot {number}: {error}") from error
        records.append(record)
    finished = position.n_closed == plan.n_ballots
    result = ProtocolResult(plan, labels, position.mean, tuple(records))
    return InterimResult(result, None if finished else tuple(position.labels(labels)))


def _ballot(
    plan: BallotPlan, number: int, items: Sequence[Hashable], votes: BallotVotes, known: set[Hashable]
) -> Ballot:
    """Make a ballot of the given comparisons; the scores do not depend on the voters."""
    n_planned = plan.comparisons[number - 1]
    if len(votes.left) != len(votes.right):
        raise VoteError(f"{len(votes.left)} items on the left have {len(votes.right)} on the right")
    if len(votes.left) != n_planned:
        raise VoteError(
            f"the plan has {n_planned} comparisons; got {len(votes.left)} (comparisons without an answer count too)"
        )
    place = {identifier_text(label): index for index, label in enumerate(items)}
    left, right = (_places(labels, place, known) for labels in (votes.left, votes.right))
    if (left == right).any():
        itself = [items[index] for index in left[left == right].tolist()]
        raise VoteError(offending("an item cannot meet itself", itself))
    presentations = np.bincount(np.concatenate([left, right]), minlength=len(items))
    one_more = 2 * n_planned - plan.presentations * len(items)  # 1 if M and N_k are both odd
    wrong = (presentations < plan.presentations) | (presentations > plan.presentations + one_more)
    if wrong.any():
        index = int(np.flatnonzero(wrong)[0])
        raise VoteError(
            f"each item must be presented {plan.presentations} times{', one of them once more' * one_more}; "
            f"{shown(items[index])} is presented {presentations[index]} times"
        )
    names: Names = items if isinstance(items, range) else tuple(items)
    return Ballot(names, plan.presentations, range(1), left, right, np.zeros(n_planned, np.int32))


def _places(labels: Sequence[Hashable], place: dict[Hashable, int], known: set[Hashable]) -> NDArray[np.int32]:
    places = np.array([place.get(identifier_text(label), -1) for label in labels], np.int32)
    if (places < 0).any():
        strange = [labels[index] for index in np.flatnonzero(places < 0).tolist()]
        unknown = dict.fromkeys(label for label in strange if identifier_text(label) not in known)
        if unknown:
            raise VoteError(offending("the plan has no such items", unknown))
        raise VoteError(offending("these items were not selected for it", dict.fromkeys(strange)))
    return places
