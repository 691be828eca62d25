"""The votes that every estimator takes, as flat columns: which two items, which of them won, and who said so."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.draw import Asked
from adaptive.errors import ComparisonError
from adaptive.model.columns import (
    Columns,
    HasAnswers,
    checked_codes,
    checked_indices,
    columns_of_ballots,
    columns_of_labels,
    columns_of_pairs,
    joined_columns,
    places_among,
    selected,
)
from adaptive.model.frames import columns_of_frame
from adaptive.model.labels import check_lengths
from adaptive.model.written import comparisons_csv, comparisons_dict, named_columns
from adaptive.protocol import Items, checked_labels
from adaptive.scores import Counts, Tally, count_votes
from adaptive.votes import Vote
from rankcorr.checks import shown, whole_number
from rankcorr.results import TableResult

__all__ = ["Comparisons"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(TableResult):
    """Answered comparisons of pairs of items, one row for each, in any order.

    It takes 9 bytes for each comparison, 13 with voters. The table has the columns comparison, voter (if known), left,
    right and winner.

    Attributes
    ----------
    items : int or sequence of hashable
        Unique labels of all items, those never compared included; kept as a tuple, or a range for an integer N, which
        stands for 0..N-1.
    left, right : array_like of int, shape (n_comparisons,)
        Index into `items` of the item on either side; kept as int32, read-only.
    winner : array_like of int, shape (n_comparisons,)
        LEFT, RIGHT or TIE; kept as int8, read-only.
    voters : int, sequence of hashable, or None
        Unique names of the voters, kept like `items`; None where voters are not known.
    voter : array_like of int, shape (n_comparisons,), or None
        Index into `voters` of who answered; kept as int32, read-only.
    n_unanswered : int
        Comparisons that were shown, but have no answer. They are counted here, and in no other number.

    Raises
    ------
    ComparisonError
        An index out of range, an item against itself, columns that differ in length or are not whole numbers, labels
        that repeat, or only one of `voters` and `voter`. The message names row and item.
    VoteError
        A winner that is not LEFT, RIGHT or TIE.

    Examples
    --------
    >>> from adaptive.votes import LEFT, RIGHT
    >>> Comparisons(["apple", "pear", "plum"], left=[0, 1], right=[1, 2], winner=[LEFT, RIGHT])
    <Comparisons of 3 items: 2 comparisons, 0 ties>
    """

    items: Sequence[Hashable]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    winner: NDArray[np.int8]
    voters: Sequence[Hashable] | None = None
    voter: NDArray[np.int32] | None = None
    n_unanswered: int = 0

    def __post_init__(self) -> None:
        items = checked_labels(self.items, "items", ComparisonError)
        left, right = (checked_indices(name, getattr(self, name), "item", len(items)) for name in ("left", "right"))
        winner = checked_codes(self.winner)
        columns: dict[str, NDArray[Any]] = {"left": left, "right": right, "winner": winner}
        if (self.voters is None) != (self.voter is None):
            raise ComparisonError(
                "voters are known by name and by comparison, or not at all; got "
                + ("voter without voters" if self.voters is None else "voters without voter")
            )
        if self.voters is not None and self.voter is not None:
            object.__setattr__(self, "voters", checked_labels(self.voters, "voters", ComparisonError))
            columns["voter"] = checked_indices("voter", self.voter, "voter", len(self.voters))
        check_lengths(columns)
        if (alike := np.flatnonzero(left == right)).size:
            item = items[int(left[alike[0]])]
            raise ComparisonError(f"comparison {alike[0]}: item {shown(item)} is compared with itself")
        n_unanswered = whole_number(self.n_unanswered)
        if n_unanswered is None or n_unanswered < 0:
            raise ComparisonError(f"n_unanswered must be a whole number, not negative; got {shown(self.n_unanswered)}")
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "n_unanswered", n_unanswered)
        for name, column in columns.items():
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def from_labels(
        cls,
        left: Iterable[Hashable],
        right: Iterable[Hashable],
        winner: Iterable[Any],
        *,
        voter: Iterable[Hashable] | None = None,
        items: Items | None = None,
        voters: Items | None = None,
    ) -> Comparisons:
        """Comparisons from columns of labels: lists, arrays or series.

        Parameters
        ----------
        left, right : iterable of hashable
            Labels of the items on either side.
        winner : iterable of str or int
            "left", "right" or "tie", or their codes (`Vote`). A comparison with the code UNANSWERED is counted in
            `n_unanswered`, and its items are items all the same.
        voter : iterable of hashable, optional
            Who answered.
        items, voters : int or sequence of hashable, optional
            All labels there may be, in the order wanted. By default those that come, in the order of first appearance.

        Raises
        ------
        ComparisonError
            A label that is missing or not among those given, an item against itself, or columns that differ in length.
            The message names column and row.
        VoteError
            An unknown winner.

        Examples
        --------
        >>> votes = Comparisons.from_labels(["apple", "pear"], ["pear", "plum"], ["left", "tie"], voter=["Ann", "Bob"])
        >>> votes.items, votes.wins, votes.voters
        (('apple', 'pear', 'plum'), array([1, 0, 0]), ('Ann', 'Bob'))
        """
        return cls(*columns_of_labels(left, right, winner, voter=voter, items=items, voters=voters))

    @classmethod
    def from_ballots(
        cls,
        ballots: Iterable[tuple[Asked, ArrayLike]],
        *,
        items: Items | None = None,
        n_items: int | None = None,
        voters: Items | None = None,
    ) -> Comparisons:
        """Comparisons of ballots and their answers; those without an answer are counted.

        Parameters
        ----------
        ballots : iterable of (Ballot or Matches, array_like of shape (n_comparisons,))
            Each ballot, or batch of matches, with LEFT, RIGHT, TIE or UNANSWERED for each of its comparisons.
        items, voters : int or sequence of hashable, optional
            All labels there may be. By default those of the ballots, in the order of first appearance.
        n_items : int, optional
            N for the items 0..N-1, in place of `items`.

        Raises
        ------
        ComparisonError
            An item or a voter of a ballot that is not among those given, or both `items` and `n_items`.
        VoteError
            Answers that are not those of the ballot; the message has the ballot, counted from 0.

        Examples
        --------
        >>> from adaptive.draw import draw_ballot
        >>> from adaptive.votes import LEFT, UNANSWERED
        >>> ballot = draw_ballot(4, 1, voters=2, rng=np.random.default_rng(0))
        >>> Comparisons.from_ballots([(ballot, [LEFT, UNANSWERED])])
        <Comparisons of 4 items: 1 comparison, 0 ties, 2 voters, 1 unanswered>
        """
        if items is not None and n_items is not None:
            raise ComparisonError("items and n_items exclude each other")
        return cls(*columns_of_ballots(ballots, n_items if items is None else items, voters))

    @classmethod
    def from_protocol(cls, protocol: HasAnswers) -> Comparisons:
        """Comparisons of all ballots of a protocol, the open one included; those without an answer yet are counted.

        Parameters
        ----------
        protocol : BallotProtocol

        Examples
        --------
        >>> from adaptive import BallotProtocol, plan_ballots
        >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=3)
        >>> protocol = BallotProtocol(plan, ["plum", "fig", "apple", "pear"], voters=["Ann", "Bob"], seed=1)
        >>> ballot = protocol.open_ballot()
        >>> n_new = protocol.record({"1-0": "left", "1-1": "tie"})
        >>> Comparisons.from_protocol(protocol)
        <Comparisons of 4 items: 2 comparisons, 1 tie, 2 voters, 4 unanswered>
        """
        return cls.from_ballots(protocol.answers(), items=protocol.items, voters=protocol.voters)

    @classmethod
    def from_pairs(cls, pairs: ArrayLike, n_items: int) -> Comparisons:
        """Comparisons from pairs (winner, loser), as choix takes them.

        Which item was shown on which side is not known. The winner stands on the left here, so a side bias cannot be
        estimated.

        Parameters
        ----------
        pairs : array_like of int, shape (n_comparisons, 2)
            Items are 0..n_items-1.
        n_items : int

        Raises
        ------
        ComparisonError
            Anything but pairs of two different items.

        Examples
        --------
        >>> Comparisons.from_pairs([(0, 1), (2, 1)], n_items=4).wins
        array([1, 0, 1, 0])
        """
        return cls(*columns_of_pairs(pairs, n_items))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        left: str | Sequence[str] | None = None,
        right: str | Sequence[str] | None = None,
        winner: str | None = None,
        voter: str | None = None,
        items: Items | None = None,
    ) -> Comparisons:
        """Comparisons from a data frame of pandas, polars or pyarrow, one row for each.

        Columns that are not named are found by their names: left (or left_1, left_2, ...), right and winner, with
        voter if it is there; or model_a, model_b and winner in model_a, model_b, tie, tie (bothbad) and both_bad, with
        judge if it is there. If there is a column comparison or voter too, an empty winner is a comparison without an
        answer. If all of left, right and winner are named, only a voter that is named is read.

        Parameters
        ----------
        frame : data frame
        left, right : str or sequence of str, optional
            Columns of the items; several make tuples.
        winner : str, optional
            Column of the winners, as `from_labels` takes them.
        voter : str, optional
            Column of the voters.
        items : int or sequence of hashable, optional
            All items there may be. By default those that come, in the order of first appearance.

        Raises
        ------
        ComparisonError
            No data frame, a column that is missing, and as `from_labels`; the message names column and row.
        VoteError
            An unknown winner.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"left": ["gnu", "yak"], "right": ["yak", "emu"], "winner": ["right", "tie"]})
        >>> Comparisons.from_frame(frame).wins
        array([0, 1, 0])
        """
        return cls(*columns_of_frame(frame, left, right, winner, voter, items))

    @property
    def n_items(self) -> int:
        """Number of items, those never compared included."""
        return len(self.items)

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons, all of them answered."""
        return self.left.size

    @property
    def n_voters(self) -> int:
        """Number of voters, those without a comparison included; 0 where voters are not known."""
        return 0 if self.voters is None else len(self.voters)

    @cached_property
    def n_ties(self) -> int:
        """Number of comparisons that ended in a tie."""
        return int(np.count_nonzero(self.winner == Vote.TIE))

    @cached_property
    def tally(self) -> Tally:
        """Wins, ties and losses of each item."""
        return count_votes(self.left, self.right, self.winner, self.n_items)

    @property
    def wins(self) -> Counts:
        """Comparisons that each item won, shape (n_items,), read-only."""
        return self.tally.wins

    @property
    def ties(self) -> Counts:
        """Comparisons that each item tied, shape (n_items,), read-only."""
        return self.tally.ties

    @property
    def losses(self) -> Counts:
        """Comparisons that each item lost, shape (n_items,), read-only."""
        return self.tally.losses

    @cached_property
    def presentations(self) -> Counts:
        """Comparisons of each item, shape (n_items,), read-only: wins, ties and losses together."""
        counts = self.tally.answered
        counts.flags.writeable = False
        return counts

    @cached_property
    def part(self) -> NDArray[np.int32]:
        """Part of the graph of comparisons that each item is in, counted from 0; shape (n_items,), read-only.

        Two items are in one part if comparisons join them, directly or by way of others. An item that was never
        compared is a part of its own.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        size = (self.n_items, self.n_items)
        graph = coo_array((np.ones(self.n_comparisons, np.int8), (self.left, self.right)), size)
        part: NDArray[np.int32] = connected_components(graph, directed=False)[1].astype(np.int32)
        part.flags.writeable = False
        return part

    @property
    def parts(self) -> int:
        """Number of parts of the graph of comparisons, items never compared included; 1 if all items are joined."""
        return int(self.part.max(initial=-1)) + 1

    @cached_property
    def never_compared(self) -> tuple[Hashable, ...]:
        """Labels of the items without any answered comparison."""
        return tuple(self.items[place] for place in np.flatnonzero(self.presentations == 0).tolist())

    def select(self, which: ArrayLike) -> Comparisons:
        """Some of the comparisons; items and voters stay as they are.

        Parameters
        ----------
        which : array_like
            A mask, bool of shape (n_comparisons,), or indices in any order, in which one may come several times.

        Returns
        -------
        Comparisons
            With `n_unanswered` 0: it is not known to whom those belong.

        Raises
        ------
        ComparisonError
            A mask of another length, an index out of range, or neither of the two.

        Examples
        --------
        >>> from adaptive.votes import LEFT, RIGHT
        >>> votes = Comparisons(3, [0, 1, 2], [1, 2, 0], [LEFT, LEFT, RIGHT])
        >>> votes.select(votes.winner == LEFT).n_comparisons, votes.select([2, 0, 0]).left
        (2, array([2, 0, 0], dtype=int32))
        """
        return self._alike(selected(self._flat(), which))

    def of_voter(self, voter: Hashable) -> Comparisons:
        """Comparisons of one voter; items and voters stay as they are, and `n_unanswered` is 0.

        Raises
        ------
        ComparisonError
            Voters are not known, or this one is not among them.
        """
        return self.select(self._is_of(voter))

    def without_voter(self, voter: Hashable) -> Comparisons:
        """Comparisons of all other voters; items and voters stay as they are, and `n_unanswered` is 0.

        Raises
        ------
        ComparisonError
            Voters are not known, or this one is not among them.
        """
        return self.select(~self._is_of(voter))

    def joined(self, other: Comparisons) -> Comparisons:
        """These comparisons and then those of the other, of the same items in the same order.

        Voters with the same name are one; those that only the other has come last. `n_unanswered` is the sum.

        Raises
        ------
        ComparisonError
            The items differ, or only one of the two knows its voters.

        Examples
        --------
        >>> first = Comparisons.from_labels(["a"], ["b"], ["left"], voter=["Ann"])
        >>> then = Comparisons.from_labels(["b"], ["a"], ["tie"], voter=["Bob"], items=first.items)
        >>> first.joined(then)
        <Comparisons of 2 items: 2 comparisons, 1 tie, 2 voters>
        """
        if not isinstance(other, Comparisons):
            raise ComparisonError(f"Comparisons are joined with Comparisons; got {shown(other)}")
        return self._alike(joined_columns(self._flat(), other._flat()))

    def to_csv(self) -> str:
        """Return a table with one row for each comparison, which `read_comparisons` reads.

        The columns are comparison (counted from 0), voter (if known), left, right and winner ("left", "right" or
        "tie"). Items that are tuples of one length get a column for each part: left_1, left_2, ... Items never compared
        and `n_unanswered` are not in it.

        Raises
        ------
        TableError
            Items that are tuples of several lengths, or only some of which are tuples.

        Examples
        --------
        >>> votes = Comparisons.from_labels(["apple", "pear"], ["pear", "plum"], ["left", "tie"], voter=["Ann", "Bob"])
        >>> print(votes.to_csv(), end="")
        comparison,voter,left,right,winner
        0,Ann,apple,pear,left
        1,Bob,pear,plum,tie
        """
        return comparisons_csv(self._flat())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, one list for each column, ready for JSON.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.
        """
        return comparisons_dict(self._flat())

    def to_json(self) -> str:
        """Return `to_dict` as JSON.

        Raises
        ------
        ProtocolError
            As `to_dict`.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _columns(self) -> dict[str, list[Any]]:
        return named_columns(self._flat())

    def _is_of(self, voter: Hashable) -> NDArray[np.bool_]:
        if self.voters is None or self.voter is None:
            raise ComparisonError("the voters of these comparisons are not known")
        return np.asarray(self.voter == places_among([voter], self.voters, "voter", "voter")[0])

    def _flat(self) -> Columns:
        return Columns(self.items, self.left, self.right, self.winner, self.voters, self.voter, self.n_unanswered)

    def _alike(self, columns: Columns) -> Comparisons:
        """Comparisons from columns that were checked: to check 10,000 labels again takes 1 ms."""
        alike = object.__new__(type(self))
        for name, value in columns._asdict().items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(alike, name, value)
        return alike

    def __repr__(self) -> str:
        n, ties = self.n_comparisons, self.n_ties
        voters = "" if self.voters is None else f", {self.n_voters:,} voter{'s' * (self.n_voters != 1)}"
        silent = f", {self.n_unanswered:,} unanswered" if self.n_unanswered else ""
        return (
            f"<Comparisons of {self.n_items:,} items: {n:,} comparison{'s' * (n != 1)}, {ties:,} "
            f"tie{'s' * (ties != 1)}{voters}{silent}>"
        )
