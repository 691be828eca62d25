"""The votes that every estimator takes, as flat columns: which two items, which of them won, and who said so."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive.draw import LIMIT, Ballot
from adaptive.errors import ComparisonError, VoteError
from adaptive.model.labels import Where, check_lengths, coded_labels, coded_winners, in_arrays, listed_column
from adaptive.protocol import Items, checked_labels
from adaptive.record import json_label
from adaptive.scores import Counts, Tally, count_votes
from adaptive.tables import csv_text, item_cells, item_columns
from adaptive.votes import LEFT, RIGHT, UNANSWERED, WORDS, Vote, checked_answers
from rankcorr.checks import shown, whole_number
from rankcorr.results import TableResult

__all__ = ["Comparisons"]

COMPARISONS_FORMAT = "adaptive.Comparisons"
COMPARISONS_VERSION = 1


class HasAnswers(Protocol):
    """What `Comparisons.from_protocol` takes: `adaptive.BallotProtocol` is one."""

    @property
    def items(self) -> Sequence[Hashable]:
        """Labels of all items."""

    @property
    def voters(self) -> Sequence[Hashable]:
        """Names of the voters."""

    def answers(self) -> Sequence[tuple[Ballot, NDArray[np.int8]]]:
        """Ballots so far, each with its answers."""


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
        left, right = (_checked_indices(name, getattr(self, name), "item", len(items)) for name in ("left", "right"))
        winner = _checked_codes(self.winner)
        columns: dict[str, NDArray[Any]] = {"left": left, "right": right, "winner": winner}
        if (self.voters is None) != (self.voter is None):
            raise ComparisonError(
                "voters are known by name and by comparison, or not at all; got "
                + ("voter without voters" if self.voters is None else "voters without voter")
            )
        if self.voters is not None and self.voter is not None:
            object.__setattr__(self, "voters", checked_labels(self.voters, "voters", ComparisonError))
            columns["voter"] = _checked_indices("voter", self.voter, "voter", len(self.voters))
        check_lengths(columns)
        if left.size > LIMIT:
            raise ComparisonError(f"at most {LIMIT} comparisons are taken; got {left.size}")
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
        return from_columns(left, right, winner, voter=voter, items=items, voters=voters)

    @classmethod
    def from_ballots(
        cls,
        ballots: Iterable[tuple[Ballot, ArrayLike]],
        *,
        items: Items | None = None,
        n_items: int | None = None,
        voters: Items | None = None,
    ) -> Comparisons:
        """Comparisons of ballots and their answers; those without an answer are counted.

        Parameters
        ----------
        ballots : iterable of (Ballot, array_like of shape (n_comparisons,))
            Each ballot with LEFT, RIGHT, TIE or UNANSWERED for each of its comparisons.
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
        >>> ballot = draw_ballot(4, 1, voters=2, rng=np.random.default_rng(0))
        >>> Comparisons.from_ballots([(ballot, [LEFT, UNANSWERED])])
        <Comparisons of 4 items: 1 comparison, 0 ties, 2 voters, 1 unanswered>
        """
        if items is not None and n_items is not None:
            raise ComparisonError("items and n_items exclude each other")
        drawn = list(ballots)
        all_items = _all_names([ballot.items for ballot, _ in drawn], n_items if items is None else items, "items")
        all_voters = _all_names([ballot.voters for ballot, _ in drawn], voters, "voters")
        parts, none = [], np.empty(0, np.int32)
        for number, (ballot, answers) in enumerate(drawn):
            try:
                codes = checked_answers(ballot, answers)
            except VoteError as error:
                raise VoteError(f"ballots[{number}]: {error}") from None
            where = f"ballots[{number}]"
            places = _places_among(ballot.items, all_items, "item", where)
            voter = _places_among(ballot.voters, all_voters, "voter", where)[ballot.voter]
            parts.append((places[ballot.left], places[ballot.right], codes, voter))
        if not parts:
            return _answered(all_items, none, none, np.empty(0, np.int8), all_voters, none)
        left, right, winner, voter = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return _answered(all_items, left, right, winner, all_voters, voter)

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
        try:
            array = np.asarray(pairs)
        except ValueError as error:  # numpy's error for rows of different lengths
            raise ComparisonError(f"pairs must be a list of pairs (winner, loser); got {shown(pairs)}") from error
        array = array.reshape(0, 2).astype(np.int32) if array.size == 0 else array
        if array.ndim != 2 or array.shape[1] != 2:
            raise ComparisonError(f"pairs must be of shape (n_comparisons, 2); got {array.shape}")
        return cls(
            checked_labels(n_items, "items", ComparisonError), array[:, 0], array[:, 1], np.ones(len(array), np.int8)
        )

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
        >>> votes = Comparisons(3, [0, 1, 2], [1, 2, 0], [LEFT, LEFT, RIGHT])
        >>> votes.select(votes.winner == LEFT).n_comparisons, votes.select([2, 0, 0]).left
        (2, array([2, 0, 0], dtype=int32))
        """
        chosen = np.asarray(which)
        if chosen.size == 0 and chosen.ndim == 1 and chosen.dtype.kind == "f":  # an empty list
            chosen = chosen.astype(np.intp)
        if chosen.ndim != 1 or chosen.dtype.kind not in "biu":
            raise ComparisonError(f"select takes a mask or indices; got {chosen.dtype} of shape {chosen.shape}")
        if chosen.dtype.kind == "b" and chosen.size != self.n_comparisons:
            raise ComparisonError(f"a mask needs {self.n_comparisons} entries, one for each; got {chosen.size}")
        if chosen.dtype.kind != "b" and chosen.size and not 0 <= chosen.min() <= chosen.max() < self.n_comparisons:
            wrong = chosen[(chosen < 0) | (chosen >= self.n_comparisons)][0]
            raise ComparisonError(f"indices of comparisons are from 0 to {self.n_comparisons - 1}; got {wrong}")
        voter = None if self.voter is None else self.voter[chosen]
        return self._alike(self.left[chosen], self.right[chosen], self.winner[chosen], self.voters, voter, 0)

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
        if self.items is not other.items and tuple(self.items) != tuple(other.items):
            raise ComparisonError(_difference(self.items, other.items))
        voters, voter = self.voters, None
        if self.voter is not None and other.voter is not None and voters is not None and other.voters is not None:
            theirs = other.voter
            if tuple(voters) != tuple(other.voters):
                voters = _all_names([voters, other.voters], None, "voters")
                theirs = _places_among(other.voters, voters, "voter", "other")[theirs]
            voter = np.concatenate([self.voter, theirs])
        elif self.voter is not None or other.voter is not None:
            who = (
                "the first does, the other does not" if self.voter is not None else "the other does, the first does not"
            )
            raise ComparisonError(f"both or neither must know their voters; {who}")
        left = np.concatenate([self.left, other.left])
        right = np.concatenate([self.right, other.right])
        winner = np.concatenate([self.winner, other.winner])
        return self._alike(left, right, winner, voters, voter, self.n_unanswered + other.n_unanswered)

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
        names = [item_columns(side, self.items) if self.items else [side] for side in ("left", "right")]
        columns = self._columns()
        if "voter" in columns:
            columns["voter"] = [" ".join(item_cells(voter)) for voter in columns["voter"]]
        cells = {item: item_cells(item) for item in self.items}
        sides = [[cells[item] for item in columns.pop(side)] for side in ("left", "right")]
        winner = columns.pop("winner")
        rows = zip(*columns.values(), *sides, winner, strict=True)
        n_plain = len(columns)
        flat = ((*row[:n_plain], *row[n_plain], *row[n_plain + 1], row[-1]) for row in rows)
        return csv_text([*columns, *chain.from_iterable(names), "winner"], flat)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, one list for each column, ready for JSON.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.
        """
        columns = self._columns()
        for name in {"voter", "left", "right"} & columns.keys():
            columns[name] = [json_label(label) for label in columns[name]]
        return {
            "format": COMPARISONS_FORMAT,
            "version": COMPARISONS_VERSION,
            "items": [json_label(item) for item in self.items],
            "voters": None if self.voters is None else [json_label(voter) for voter in self.voters],
            "n_unanswered": self.n_unanswered,
            **columns,
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON.

        Raises
        ------
        ProtocolError
            As `to_dict`.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _columns(self) -> dict[str, list[Any]]:
        items, words = self.items, {int(vote): vote.name.lower() for vote in Vote}
        columns: dict[str, list[Any]] = {"comparison": list(range(self.n_comparisons))}
        if self.voters is not None and self.voter is not None:
            columns["voter"] = [self.voters[place] for place in self.voter.tolist()]
        columns["left"] = [items[place] for place in self.left.tolist()]
        columns["right"] = [items[place] for place in self.right.tolist()]
        columns["winner"] = [words[code] for code in self.winner.tolist()]
        return columns

    def _is_of(self, voter: Hashable) -> NDArray[np.bool_]:
        if self.voters is None or self.voter is None:
            raise ComparisonError("the voters of these comparisons are not known")
        return np.asarray(self.voter == _places_among([voter], self.voters, "voter", "voter")[0])

    def _alike(
        self,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        winner: NDArray[np.int8],
        voters: Sequence[Hashable] | None,
        voter: NDArray[np.int32] | None,
        n_unanswered: int,
    ) -> Comparisons:
        """Comparisons of the same items from columns that were checked; to check 10,000 labels again takes 1 ms."""
        alike = object.__new__(type(self))
        for column in (left, right, winner, voter):
            if column is not None:
                column.flags.writeable = False
        alike.__dict__.update(
            items=self.items,
            left=left,
            right=right,
            winner=winner,
            voters=voters,
            voter=voter,
            n_unanswered=n_unanswered,
        )
        return alike

    def __repr__(self) -> str:
        n, ties = self.n_comparisons, self.n_ties
        voters = "" if self.voters is None else f", {self.n_voters:,} voter{'s' * (self.n_voters != 1)}"
        silent = f", {self.n_unanswered:,} unanswered" if self.n_unanswered else ""
        return (
            f"<Comparisons of {self.n_items:,} items: {n:,} comparison{'s' * (n != 1)}, {ties:,} "
            f"tie{'s' * (ties != 1)}{voters}{silent}>"
        )


def from_columns(
    left: Iterable[Hashable],
    right: Iterable[Hashable],
    winner: Iterable[Any],
    *,
    voter: Iterable[Hashable] | None,
    items: Items | None,
    voters: Items | None = None,
    words: Mapping[str, int] = WORDS,
    where: Where = in_arrays,
) -> Comparisons:
    """As `Comparisons.from_labels`, with the words that name a winner and the place of a cell for messages."""
    sides = {"left": listed_column(left, "left"), "right": listed_column(right, "right")}
    codes = coded_winners(winner, where, words)
    casts = {} if voter is None else {"voter": listed_column(voter, "voter")}
    check_lengths({**sides, "winner": codes, **casts})
    names = None if items is None else checked_labels(items, "items", ComparisonError)
    all_items, (left_codes, right_codes) = coded_labels(sides, names, "item", where)
    alike = np.flatnonzero(left_codes == right_codes)
    if alike.size:
        row = int(alike[0])
        raise ComparisonError(f"{where('right', row)}: item {shown(sides['right'][row])} is compared with itself")
    if voter is None and voters is not None:
        raise ComparisonError("voters without voter: it is not known who answered which comparison")
    all_voters, voter_codes = None, None
    if casts:
        known = None if voters is None else checked_labels(voters, "voters", ComparisonError)
        all_voters, (voter_codes,) = coded_labels(casts, known, "voter", where)
    return _answered(all_items, left_codes, right_codes, codes, all_voters, voter_codes)


def _answered(
    items: Sequence[Hashable],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    winner: NDArray[np.int8],
    voters: Sequence[Hashable] | None,
    voter: NDArray[np.int32] | None,
) -> Comparisons:
    """Keep what is answered, and count the rest."""
    kept = winner != UNANSWERED
    n_unanswered = int(kept.size - np.count_nonzero(kept))
    if n_unanswered:
        left, right, winner = left[kept], right[kept], winner[kept]
        voter = None if voter is None else voter[kept]
    return Comparisons(items, left, right, winner, voters, voter, n_unanswered)


def _checked_indices(column: str, values: object, kind: str, n_names: int) -> NDArray[np.int32]:
    array = _whole_numbers(column, values)
    wrong = np.flatnonzero((array < 0) | (array >= n_names))
    if wrong.size:
        raise ComparisonError(
            f"{column}[{wrong[0]}] is {array[wrong[0]]}; the {n_names} {kind}s have the indices from 0 to {n_names - 1}"
        )
    return array.astype(np.int32)


def _checked_codes(values: object) -> NDArray[np.int8]:
    array = _whole_numbers("winner", values)
    wrong = np.flatnonzero((array < RIGHT) | (array > LEFT))
    if wrong.size:
        found = array[wrong[0]]
        counted = "; an unanswered comparison is counted, not kept" if found == UNANSWERED else ""
        raise VoteError(f"winner[{wrong[0]}] is {found}; it must be 1 (left), 0 (tie) or -1 (right){counted}")
    return array.astype(np.int8)


def _whole_numbers(column: str, values: object) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:  # numpy's error for rows of different lengths
        raise ComparisonError(f"{column} must be a list of whole numbers; got {shown(values)}") from error
    if array.ndim == 1 and array.size == 0 and array.dtype.kind == "f":  # an empty list
        return array.astype(np.int32)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ComparisonError(
            f"{column} must be whole numbers in one dimension; got {array.dtype} of shape {array.shape}"
        )
    return array


def _all_names(several: Sequence[Sequence[Hashable]], given: Items | None, what: str) -> Sequence[Hashable]:
    """Names given, or those that come, in the order of first appearance."""
    if given is not None:
        return checked_labels(given, what, ComparisonError)
    longest = max(several, key=len, default=())
    if isinstance(longest, range) and all(set(names) <= set(longest) for names in several):
        return longest
    return tuple(dict.fromkeys(chain.from_iterable(several)))


def _places_among(names: Sequence[Hashable], all_names: Sequence[Hashable], kind: str, where: str) -> NDArray[np.int32]:
    if names is all_names or (isinstance(names, range) and isinstance(all_names, range) and names == all_names):
        return np.arange(len(all_names), dtype=np.int32)
    _, (places,) = coded_labels({where: list(names)}, all_names, kind, lambda column, _: column)
    return places


def _difference(items: Sequence[Hashable], others: Sequence[Hashable]) -> str:
    start = "comparisons are joined if their items are the same, in the same order"
    if len(items) != len(others):
        return f"{start}; got {len(items)} and {len(others)} items"
    place = next(place for place, pair in enumerate(zip(items, others, strict=True)) if pair[0] != pair[1])
    return f"{start}; items[{place}] is {shown(items[place])} here and {shown(others[place])} there"
