"""Record the results of a protocol, ballot by ballot and at the end, and write them as CSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._plan import BallotPlan
from adaptive._scores import Counts, Scores, Tallied, Tally
from adaptive._tables import items_csv
from adaptive.errors import ProtocolError
from rankcorr import Ranking
from rankcorr._checks import shown
from rankcorr._output.results import TableResult, read_only

Places: TypeAlias = NDArray[np.intp]
RESULT_FORMAT = "adaptive.ProtocolResult"
RESULT_VERSION = 1


@dataclass(frozen=True, eq=False, repr=False)
class BallotRecord(Tallied, TableResult):
    """Results of one closed ballot, in the order of its items.

    The table has the columns item, x, y, ybar, presentations, wins, ties and losses.

    Attributes
    ----------
    number : int
        k, counted from 1.
    items : sequence of hashable
        The ballot's items; from ballot 2 on, best first by the earlier ballots.
    places : ndarray of intp, shape (n_items,), read-only
        Indices of these items among all items of the protocol.
    tally : Tally
        Wins, ties, losses and unanswered presentations in this ballot.
    x : ndarray of float64, shape (n_items,), read-only
        Borda scores of this ballot (Eq. 1).
    y : ndarray of float64, shape (n_items,), read-only
        The same on the scale of the ballots before (Eq. 6).
    b : float
        Slope of y = 1 - b + b x; 1 in ballot 1.
    ybar : ndarray of float64, shape (n_items,), read-only
        Mean of y over the ballots up to this one (Eq. 5).
    n_tied_at_cut : int
        Items tied at the cut of the selection that followed; 0 without ties, and in the last ballot.

    See Also
    --------
    ProtocolResult : Lists the records as `ballots`.

    Examples
    --------
    >>> from adaptive import BallotVotes, plan_ballots, score_ballots
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> votes = BallotVotes(["fig", "fig", "plum", "pear"], ["plum", "pear", "kiwi", "kiwi"], [1, 1, 0, 1])
    >>> record = score_ballots(plan, [votes], items=["kiwi", "plum", "pear", "fig"], seed=1).result.ballots[0]
    >>> record.number, record.x.tolist(), record.tally.wins.tolist(), record.n_tied_at_cut
    (1, [0.25, 0.25, 0.5, 1.0], [0, 0, 1, 2], 0)
    """

    _caption: ClassVar[str] = "Scores of the items of a ballot"

    number: int
    items: Sequence[Hashable]
    places: Places
    tally: Tally
    x: Scores
    y: Scores
    b: float
    ybar: Scores
    n_tied_at_cut: int

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, one list for each column, ready for JSON.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.
        """
        columns = {name: list(column) for name, column in self._columns().items()}
        items = [json_label(item) for item in columns.pop("item")]
        return {"number": self.number, "b": self.b, "n_tied_at_cut": self.n_tied_at_cut, "items": items, **columns}

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = ("x", "y", "ybar", "presentations", "wins", "ties", "losses")
        return {"item": self.items, **{name: getattr(self, name).tolist() for name in names}}

    def __repr__(self) -> str:
        return (
            f"<BallotRecord {self.number}: {len(self.items)} items, b {self.b:.4g}, {self.n_tied_at_cut} tied at cut>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class ProtocolResult(Tallied, TableResult):
    """The final ranking of a protocol, and the ballots behind it.

    The table has one row for each item, best first, and the columns item, rank, ybar, presentations, wins, ties, losses
    and last_ballot. Items that tie are in the order of their labels.

    Attributes
    ----------
    plan : BallotPlan
    items : sequence of hashable
        All items, in the order given.
    ybar : ndarray of float64, shape (n_items,), read-only
        Each item's mean rescaled score after its last ballot.
    ballots : tuple of BallotRecord

    See Also
    --------
    run_protocol, score_ballots : Return it.
    BallotRecord : The type of its ballots.

    Examples
    --------
    >>> import numpy as np
    >>> from adaptive import plan_ballots, run_protocol
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> def prefer_left(ballot):
    ...     return np.sign(ballot.right - ballot.left)
    >>> result = run_protocol(plan, prefer_left, items=["ant", "bee", "cat", "dog"], rng=np.random.default_rng(1))
    >>> [result.items[item] for item in result.best_first], result.wins.tolist(), result.presentations.tolist()
    (['ant', 'bee', 'cat', 'dog'], [4, 1, 1, 0], [4, 2, 4, 2])
    """

    _caption: ClassVar[str] = "Ranking of a protocol"

    plan: BallotPlan
    items: Sequence[Hashable]
    ybar: Scores
    ballots: tuple[BallotRecord, ...]

    @cached_property
    def ranking(self) -> Ranking:
        """All items ranked by ybar, labelled."""
        return Ranking.from_scores(self.ybar, labels=self.items)

    @cached_property
    def best_first(self) -> Places:
        """Places of the items from best to worst; those that tie are in the order of their labels."""
        return places_best_first(self.items, self.ranking.ranks)

    @cached_property
    def tally(self) -> Tally:
        """Wins, ties, losses and comparisons without an answer of each item, over all ballots."""
        totals = {member.name: np.zeros(len(self.items), np.int64) for member in fields(Tally)}
        for record in self.ballots:
            for name, total in totals.items():
                total[record.places] += getattr(record.tally, name)
        return Tally(**{name: read_only(total) for name, total in totals.items()})

    @cached_property
    def last_ballot(self) -> Counts:
        """Number of the last ballot that each item took part in, counted from 1; shape (n_items,), read-only."""
        last = np.zeros(len(self.items), np.int64)
        for record in self.ballots:
            last[record.places] = record.number
        return read_only(last)

    def to_csv(self) -> str:
        """Return a table with one row for each item, best first; items that tie are in the order of their labels.

        The columns are item, rank, ybar, presentations, wins, ties, losses and last_ballot. Items that are tuples of
        one length get a column for each part: item_1, item_2, ...

        Examples
        --------
        >>> from adaptive._plan import plan_ballots
        >>> from adaptive._protocol import run_protocol
        >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=3)
        >>> def prefer_smaller(ballot):
        ...     items = np.array(ballot.items)
        ...     return np.sign(items[ballot.right] - items[ballot.left])
        >>> print(run_protocol(plan, prefer_smaller, items=4, rng=np.random.default_rng(0)).to_csv())
        item,rank,ybar,presentations,wins,ties,losses,last_ballot
        0,1.0,1.0,6,6,0,0,2
        1,2.0,0.6666666666666666,6,2,0,4,2
        2,3.0,0.3333333333333333,3,1,0,2,1
        3,4.0,0.0,3,0,0,3,1
        <BLANKLINE>
        """
        rows = self.table()
        if len({len(item) if isinstance(item, tuple) else 0 for item in self.items}) > 1:
            rows = [{**row, "item": str(row["item"])} for row in rows]  # no columns fit all of them
        return items_csv(rows)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, items best first, ready for JSON.

        Labels stay as they are, except that tuples become lists.
        """
        return {
            "format": RESULT_FORMAT,
            "version": RESULT_VERSION,
            "plan": self.plan.to_dict(),
            "items": [{**row, "item": json_label(row["item"])} for row in self.table()],
            "ballots": [record.to_dict() for record in self.ballots],
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.
        """
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    def _columns(self) -> dict[str, Sequence[Any]]:
        names = ("ybar", "presentations", "wins", "ties", "losses", "last_ballot")
        columns = {name: getattr(self, name) for name in names}
        return item_table(self.items, self.best_first, rank=self.ranking.ranks, **columns)

    def __repr__(self) -> str:
        return f"<ProtocolResult of {len(self.ballots)} ballots: {self.ranking!r}>"


def item_table(items: Sequence[Hashable], places: Places, **columns: NDArray[Any]) -> dict[str, Sequence[Any]]:
    """Return the columns of a table with some items in their order: the labels, and a number for each in the others."""
    labels = [items[place] for place in places.tolist()]
    return {"item": labels, **{name: column[places].tolist() for name, column in columns.items()}}


def places_best_first(items: Sequence[Hashable], ranks: NDArray[np.float64]) -> Places:
    """Return the places of the items from best to worst; tied items are in the order of their labels, part by part.

    Whole numbers are sorted as numbers and come before all other labels, which are sorted as text.

    Examples
    --------
    >>> places_best_first(["plum", "fig", "pear"], np.array([2.5, 1, 2.5])).tolist()
    [1, 2, 0]
    """
    order = np.argsort(ranks, kind="stable")
    same = ranks[order[1:]] == ranks[order[:-1]]
    tied = order[np.union1d(np.flatnonzero(same), np.flatnonzero(same) + 1)]
    # Labels are compared only where ranks tie; comparing all would take most of the time of a table.
    by_label = np.array(_by_label(items, tied.tolist()), np.intp)
    position = np.zeros(len(items), np.intp)
    position[by_label] = np.arange(by_label.size)
    return np.lexsort((position, ranks))


def _by_label(items: Sequence[Hashable], places: list[int]) -> list[int]:
    """Return the places in the order of their labels."""
    kinds = set(map(type, map(items.__getitem__, places)))
    if kinds <= {str} or kinds <= {int}:  # the same order as by `_label_key`, in half the time
        return sorted(places, key=items.__getitem__)  # type: ignore[arg-type]
    return sorted(places, key=lambda place: _label_key(items[place]))


def _label_key(item: Hashable) -> tuple[tuple[bool, int, str], ...]:
    """Return the sort key of a label, part by part: whole numbers as numbers, before all others, which are text."""
    parts = item if isinstance(item, tuple) else (item,)
    # Text is the usual case, and the check for Integral is the slowest part.
    return tuple(
        (False, int(part), "") if type(part) is not str and isinstance(part, Integral) else (True, 0, str(part))
        for part in parts
    )


def has_half_a_pair(text: str) -> bool:
    r"""Tell whether a text has half of a surrogate pair, which is not a character and cannot be written as UTF-8.

    Examples
    --------
    >>> has_half_a_pair("\ud83d"), has_half_a_pair("\U0001f600")
    (True, False)
    """
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def json_label(label: Any) -> Any:
    """Return a label as JSON holds it: strings and integers as they are, a tuple of them as a list."""
    if isinstance(label, str):
        if has_half_a_pair(label):
            raise ProtocolError(
                f"JSON holds whole characters; got a label with half of a surrogate pair: {shown(label)}"
            )
        return label
    if isinstance(label, int) and not isinstance(label, bool):
        return label
    if isinstance(label, tuple) and label and all(isinstance(part, str | int) for part in label):
        return [json_label(part) for part in label]
    raise ProtocolError(f"JSON holds labels that are strings, integers or tuples of those; got {shown(label)}")


def label_from_json(value: Any) -> Hashable:
    """Return the label that `json_label` converted: a list is a tuple."""
    return tuple(value) if isinstance(value, list) else value
