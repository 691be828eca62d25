"""Run the ballots of a plan in order: draw -> votes -> scores -> selection -> result.

`close_ballot` is the only implementation of a step. `run_protocol` loops over it, a campaign of `adaptive.ledger` calls
it as votes arrive over days, and `score_ballots` calls it for all ballots so far at once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import LIMIT, Ballot, Names, check_names, draw_ballot, labels_at
from adaptive._plan import BallotPlan
from adaptive._record import BallotRecord, Places, ProtocolResult, json_label
from adaptive._scores import (
    Average,
    Scores,
    Select,
    Selection,
    running_mean,
    score_ballot,
    select_by_mean,
    select_items,
)
from adaptive._tables import NextBallot
from adaptive.errors import AdaptiveError, ProtocolError, VoteError
from rankcorr._checks import check_choice, checked_seed, offending, shown
from rankcorr._input.frames import python_values
from rankcorr._input.identifiers import identifier_text, plain_identifier
from rankcorr._output.results import Result, json_ready, read_only

Items: TypeAlias = int | Sequence[Hashable]
_STREAMS: Final = {"draw": 0, "cut": 1, "probe": 2}


@dataclass(frozen=True, eq=False)
class Position(Result):
    """State of a protocol between two ballots.

    Attributes
    ----------
    n_closed : int
        Ballots closed so far.
    places : ndarray of intp, read-only
        Items of the next ballot, as indices into all items; none after the last ballot.
    mean : ndarray of float64, shape (n_items,), read-only
        The last ybar of every item; nan before ballot 1 is closed.
    """

    n_closed: int
    places: Places
    mean: Scores

    def __post_init__(self) -> None:
        read_only((self.places, self.mean))

    @classmethod
    def first(cls, plan: BallotPlan) -> Position:
        """Return the position before ballot 1, which has all items."""
        return cls(0, np.arange(plan.n_items), np.full(plan.n_items, np.nan))

    def labels(self, items: Sequence[Hashable]) -> Sequence[Hashable]:
        """Return the labels of the items of the next ballot, as `draw_ballot` takes them."""
        return labels_at(items, self.places) if self.n_closed else items


def run_protocol(
    plan: BallotPlan,
    vote: Callable[[Ballot], ArrayLike],
    *,
    items: Items,
    rng: np.random.Generator,
    voters: Items = 100,
    select: Select = select_by_mean,
    average: Average = running_mean,
) -> ProtocolResult:
    """Run all ballots of a plan: draw, vote, score, select.

    Parameters
    ----------
    plan : BallotPlan
    vote : callable
        Takes a `Ballot` and returns LEFT, RIGHT, TIE or UNANSWERED for each of its comparisons, shape
        (n_comparisons,): a simulator, a file of votes or real voters.
    items : int or sequence of hashable
        Unique labels of the plan's items; an integer N stands for 0..N-1.
    rng : numpy.random.Generator
        Draws the ballots and breaks the ties at the cuts.
    voters : int or sequence of hashable
        Names of the voters; an integer V stands for 0..V-1.
    select : callable
        Takes the `BallotScores` of a ballot, the number of items of the next one and a generator, and returns a
        `Selection`. `select_by_mean` takes the largest ybar.
    average : callable
        Takes ybar^(k-1), y^(k) and k >= 2, and returns ybar^(k). `running_mean` is Eq. 5.

    Returns
    -------
    ProtocolResult

    Raises
    ------
    ProtocolError
        The items differ from the plan, or `select` or `average` returns an invalid result.
    VoteError
        The answers do not fit a ballot's comparisons, or an item has no answer in a ballot.
    DrawError
        No ballot can be drawn for the voters.

    See Also
    --------
    score_ballots : For votes that are already there.
    run_matching : Comparisons chosen from all votes so far.
    simulate : The same with simulated voters, many times.
    adaptive.ledger.Ledger : Campaigns over days, in a database.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import plan_ballots, run_protocol
    >>> plan = plan_ballots(8, n_ballots=3, fraction=0.5, presentations=7)
    >>> def prefer_smaller(ballot):
    ...     items = np.array(ballot.items)
    ...     return np.sign(items[ballot.right] - items[ballot.left])
    >>> result = run_protocol(plan, prefer_smaller, items=8, rng=np.random.default_rng(1))
    >>> result.ranking.ranks, result.last_ballot
    (array([1., 2., 3., 4., 5., 6., 7., 8.]), array([3, 3, 2, 2, 1, 1, 1, 1]))
    """
    labels = checked_items(plan, items)
    position, records = Position.first(plan), []
    while position.n_closed < plan.n_ballots:
        ballot = draw_ballot(position.labels(labels), plan.presentations, voters, rng)
        record, position = close_ballot(plan, position, ballot, vote(ballot), rng=rng, select=select, average=average)
        records.append(record)
    return ProtocolResult(plan, labels, position.mean, tuple(records))


def close_ballot(
    plan: BallotPlan,
    position: Position,
    ballot: Ballot,
    answers: ArrayLike,
    *,
    rng: np.random.Generator,
    select: Select = select_by_mean,
    average: Average = running_mean,
) -> tuple[BallotRecord, Position]:
    """Score a ballot and select the items of the next one; the arguments are not changed.

    Parameters
    ----------
    plan : BallotPlan
    position : Position
        Position of the protocol when the ballot was drawn.
    ballot : Ballot
    answers : array_like of shape (n_comparisons,)
    rng, select, average
        As in `run_protocol`.

    Raises
    ------
    ProtocolError, VoteError
        As `run_protocol`.
    """
    number, places = position.n_closed + 1, position.places
    previous = position.mean[places] if position.n_closed else None
    scores = score_ballot(ballot, answers, ballot_number=number, previous_mean=previous, average=average)
    selection = Selection(np.empty(0, np.intp), 0)
    if number < plan.n_ballots:
        selection = select_items(select, scores, plan.sizes[number], rng)
    mean = position.mean.copy()
    mean[places] = scores.ybar
    record = BallotRecord(
        number=number, items=ballot.items, places=places, n_tied_at_cut=selection.n_tied_at_cut, **vars(scores)
    )
    return record, Position(number, places[selection.places], mean)


def ballot_rng(seed: int, number: int, use: Literal["draw", "cut", "probe"]) -> np.random.Generator:
    """Return a generator for ballot `number` alone, so that the draws of one ballot do not affect another.

    Ballots that are drawn and scored one at a time, in a campaign or by `score_ballots`, take one generator for the
    draw and one for the ties at the cut: ``SeedSequence(seed, spawn_key=(number, 0))`` and ``(number, 1)``. A campaign
    takes a third, ``(number, 2)``, for extra comparisons that test the voters.

    Parameters
    ----------
    seed : int
        At least 0.
    number : int
        Number of the ballot, counted from 1.
    use : {"draw", "cut", "probe"}

    Raises
    ------
    ProtocolError
        When the seed is not an integer of at least 0.
    OptionError
        When the use is unknown.

    Examples
    --------
    >>> draw_ballot(8, 3, 5, ballot_rng(1, 2, "draw")) == draw_ballot(8, 3, 5, ballot_rng(1, 2, "draw"))
    True
    """
    check_choice("use", use, tuple(_STREAMS))
    key = (number, _STREAMS[use])
    return np.random.default_rng(np.random.SeedSequence(checked_seed(seed, ProtocolError), spawn_key=key))


def checked_items(plan: BallotPlan, items: Items) -> Sequence[Hashable]:
    """Return the labels of the plan's items: a range for an integer, else a tuple of unique labels."""
    labels = checked_labels(items, "items")
    if len(labels) != plan.n_items:
        raise ProtocolError(f"the plan is for {plan.n_items} items; got {len(labels)}")
    return labels


def checked_labels(labels: Items, role: str, error: type[AdaptiveError] = ProtocolError) -> Sequence[Hashable]:
    """Return a range for an integer, else a tuple of unique labels; messages of `error` begin with `role`."""
    if isinstance(labels, int | np.integer) and not isinstance(labels, bool):
        if not 0 <= labels <= LIMIT:
            raise error(f"{role} must be from 0 to {LIMIT} in number; got {shown(labels)}")
        return range(int(labels))
    if isinstance(labels, str | bytes) or not isinstance(labels, Sequence | np.ndarray):
        raise error(f"{role} must be a number or a list of labels; got {shown(labels)}")
    if isinstance(labels, range) and labels == range(len(labels)):
        return labels
    names = tuple(map(plain_identifier, python_values(labels)))
    check_names(names, role, error)
    return names


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

    @property
    def next_ballot(self) -> NextBallot | None:
        """The ballot to draw next; None after the last one."""
        if self.next_items is None:
            return None
        return NextBallot(len(self.result.ballots) + 1, self.next_items, self.result.plan.presentations)

    def to_dict(self) -> dict[str, Any]:
        """Return the scores, the ranking so far and the next ballot, ready for JSON; items are best first.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.

        Examples
        --------
        >>> from adaptive import plan_ballots
        >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
        >>> votes = BallotVotes(["fig", "fig", "plum", "pear"], ["plum", "pear", "kiwi", "kiwi"], [1, 1, 0, 1])
        >>> score_ballots(plan, [votes], items=["kiwi", "plum", "pear", "fig"], seed=1).to_dict()["next_ballot"]
        {'number': 2, 'items': ['fig', 'pear'], 'presentations': 2}
        """
        columns = self.result._columns()
        return {
            "ballots": [record.to_dict() for record in self.result.ballots],
            "ranking": {"labels": list(map(json_label, columns["item"])), "ranks": columns["rank"]},
            "ybar": columns["ybar"],
            "last_ballot": columns["last_ballot"],
            "next_ballot": json_ready(self.next_ballot),
        }

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
