"""Columns of votes, checked, and what is counted from them: wins, ties, losses, and the parts of their graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adaptive.errors import ComparisonError
from adaptive.model.columns import check_lengths, checked_codes, checked_indices
from adaptive.model.shown_pairs import ShownPairs
from adaptive.protocol import checked_labels
from adaptive.scores import Counts, Tally, count_votes
from adaptive.votes import Vote
from rankcorr.checks import shown, whole_number
from rankcorr.results import TableResult


@dataclass(frozen=True, eq=False, repr=False)
class CountedVotes(TableResult):
    """The columns of `adaptive.model.comparisons.Comparisons`, which says what they hold, and their counts."""

    items: Sequence[Hashable]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    winner: NDArray[np.int8]
    voters: Sequence[Hashable] | None = None
    voter: NDArray[np.int32] | None = None
    n_unanswered: int = 0
    unanswered: ShownPairs | None = None

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
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "n_unanswered", self._checked_unanswered())
        for name, column in columns.items():
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    def _checked_unanswered(self) -> int:
        """Check the comparisons without an answer, and return their number."""
        number, pairs = whole_number(self.n_unanswered), self.unanswered
        if number is None or number < 0:
            raise ComparisonError(f"n_unanswered must be a whole number, not negative; got {shown(self.n_unanswered)}")
        if pairs is None:
            return number
        if not isinstance(pairs, ShownPairs) or (pairs.voter is None) != (self.voter is None):
            wanted = "without voters" if self.voter is None else "with voters"
            raise ComparisonError(f"unanswered must be ShownPairs {wanted}, as the comparisons are; got {shown(pairs)}")
        columns = {"unanswered.left": pairs.left, "unanswered.right": pairs.right}
        for name, column in columns.items():
            checked_indices(name, column, "item", len(self.items))
        if pairs.voter is not None and self.voters is not None:
            columns["unanswered.voter"] = checked_indices("unanswered.voter", pairs.voter, "voter", len(self.voters))
        check_lengths(columns)
        if len(pairs) > number:
            raise ComparisonError(f"n_unanswered is {number}, less than the {len(pairs)} rows of unanswered")
        return number

    @cached_property
    def shown_pairs(self) -> ShownPairs:
        """All pairs that were shown as far as they are known: those answered, then those of `unanswered`."""
        answered = ShownPairs(self.left, self.right, self.voter)
        return answered if self.unanswered is None else answered.followed_by(self.unanswered)

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
