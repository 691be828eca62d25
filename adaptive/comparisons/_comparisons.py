"""Store the votes that every estimator takes, as flat columns: the two items, the winner and the voter."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from adaptive._draw import Asked
from adaptive._formats.layouts import Answers
from adaptive._formats.records import Frame
from adaptive._formats.votes import Format, read_votes, vote_columns, votes_csv
from adaptive._protocol import Items, checked_labels
from adaptive._record import json_label
from adaptive._scores import Counts, Tallied, Tally, count_votes
from adaptive._votes import Vote
from adaptive.comparisons._columns import (
    ComparisonFields,
    ShownPairs,
    check_lengths,
    checked_codes,
    checked_indices,
    columns_of_ballots,
    columns_of_labels,
    columns_of_pairs,
    columns_of_votes,
    joined_columns,
    places_among,
    select_rows,
)
from adaptive.errors import ComparisonError
from rankcorr._checks import counted, shown, whole_number
from rankcorr._output.results import TableResult, read_only

COMPARISONS_FORMAT: Final = "adaptive.Comparisons"
COMPARISONS_VERSION: Final = 1
_WORD: Final = {int(vote): vote.name.lower() for vote in Vote}


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Tallied, TableResult):
    """Answered comparisons of pairs of items, one row for each, in any order.

    A comparison takes 9 bytes, 13 with voters. The table has the columns comparison, voter (if known), left, right and
    winner.

    Attributes
    ----------
    items : int or sequence of hashable
        Unique labels of all items, including those never compared; kept as a tuple. An integer N means 0..N-1 and is
        kept as a range.
    left, right : array_like of int, shape (n_comparisons,)
        Index into `items` of the item on either side; kept as int32, read-only.
    winner : array_like of int, shape (n_comparisons,)
        LEFT, RIGHT or TIE; kept as int8, read-only.
    voters : int, sequence of hashable, or None
        Unique names of the voters, kept like `items`; None where voters are not known.
    voter : array_like of int, shape (n_comparisons,), or None
        Index into `voters` of the voter who answered; kept as int32, read-only.
    n_unanswered : int
        Comparisons that were shown but not answered. No other number includes them.
    unanswered : ShownPairs or None
        Known items and voters of unanswered comparisons: at most `n_unanswered` rows. They are not asked again.

    Raises
    ------
    ComparisonError
        An index out of range, an item against itself, columns that differ in length or are not whole numbers, labels
        that repeat, only one of `voters` and `voter`, or more rows without an answer than are counted. The message
        names row and item.
    VoteError
        A winner that is not LEFT, RIGHT or TIE.

    See Also
    --------
    read_comparisons : Read them from a file.
    bradley_terry, thurstone, borda : Scores of the items.
    voter_report : Reliability of the voters.

    Examples
    --------
    >>> from adaptive import LEFT, RIGHT, Comparisons
    >>> Comparisons(["apple", "pear", "plum"], left=[0, 1], right=[1, 2], winner=[LEFT, RIGHT])
    <Comparisons of 3 items: 2 comparisons, 0 ties>
    """

    _caption: ClassVar[str] = "Counted votes"

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
        if (selfsame := np.flatnonzero(left == right)).size:
            item = items[int(left[selfsame[0]])]
            raise ComparisonError(f"comparison {selfsame[0]}: item {shown(item)} is compared with itself")
        object.__setattr__(self, "items", items)
        object.__setattr__(self, "n_unanswered", self._checked_unanswered())
        for name, column in columns.items():
            object.__setattr__(self, name, read_only(column))

    def _checked_unanswered(self) -> int:
        """Check the comparisons without an answer, and return their number."""
        number, pairs = whole_number(self.n_unanswered), self.unanswered
        if number is None or number < 0:
            raise ComparisonError(f"n_unanswered must be a whole number, not negative; got {shown(self.n_unanswered)}")
        if pairs is None:
            return number
        if not isinstance(pairs, ShownPairs) or (pairs.voter is None) != (self.voter is None):
            requirement = "without voters" if self.voter is None else "with voters"
            raise ComparisonError(
                f"unanswered must be ShownPairs {requirement}, as the comparisons are; got {shown(pairs)}"
            )
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
        """All known pairs that were shown: those answered, then those of `unanswered`."""
        answered = ShownPairs(self.left, self.right, self.voter)
        return answered if self.unanswered is None else answered.followed_by(self.unanswered)

    @property
    def n_items(self) -> int:
        """Number of items, including those never compared."""
        return len(self.items)

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons, all of them answered."""
        return self.left.size

    @property
    def n_voters(self) -> int:
        """Number of voters, including those without a comparison; 0 if voters are not known."""
        return 0 if self.voters is None else len(self.voters)

    @cached_property
    def n_ties(self) -> int:
        """Number of comparisons that ended in a tie."""
        return int(np.count_nonzero(self.winner == Vote.TIE))

    @cached_property
    def tally(self) -> Tally:
        """Wins, ties and losses of each item."""
        return count_votes(self.left, self.right, self.winner, self.n_items)

    @cached_property
    def presentations(self) -> Counts:
        """Comparisons of each item, shape (n_items,), read-only: wins, ties and losses together."""
        return read_only(self.tally.answered)

    @cached_property
    def part(self) -> NDArray[np.int32]:
        """Part of the graph of comparisons for each item, counted from 0; shape (n_items,), read-only.

        Two items are in one part if comparisons join them, directly or through others. An item that was never compared
        is a separate part.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        size = (self.n_items, self.n_items)
        graph = coo_array((np.ones(self.n_comparisons, np.int8), (self.left, self.right)), size)
        part: NDArray[np.int32] = connected_components(graph, directed=False)[1].astype(np.int32)
        return read_only(part)

    @property
    def parts(self) -> int:
        """Number of parts of the graph of comparisons, including items never compared; 1 if all items are joined."""
        return int(self.part.max(initial=-1)) + 1

    @cached_property
    def never_compared(self) -> tuple[Hashable, ...]:
        """Labels of the items without any answered comparison."""
        return tuple(self.items[place] for place in np.flatnonzero(self.presentations == 0).tolist())

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
        answers: Answers | None = None,
    ) -> Comparisons:
        """Make comparisons from columns of labels: lists, arrays or series.

        Parameters
        ----------
        left, right : iterable of hashable
            Labels of the items on either side.
        winner : iterable of str or Vote
            "left", "right" or "tie". A comparison whose winner is "cannot say", empty, None or nan has no answer: it is
            counted in `n_unanswered`, and its items still belong to `items`.
        voter : iterable of hashable, optional
            The voter who answered.
        items, voters : int or sequence of hashable, optional
            All allowed labels, in order. By default those that occur, in the order of first appearance.
        answers : mapping or {"left_won", "codes"}, optional
            Meanings of other winners, as in `read_comparisons`. Numbers are winners only if this option says so.

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
        columns = columns_of_labels(left, right, winner, voter=voter, items=items, voters=voters, answers=answers)
        return cls(*columns)

    @classmethod
    def from_ballots(
        cls,
        ballots: Iterable[tuple[Asked, ArrayLike]],
        *,
        items: Items | None = None,
        n_items: int | None = None,
        voters: Items | None = None,
    ) -> Comparisons:
        """Make comparisons from ballots and their answers; those without an answer are counted.

        Parameters
        ----------
        ballots : iterable of (Ballot or Matches, array_like of shape (n_comparisons,))
            Each ballot, or batch of matches, with LEFT, RIGHT, TIE or UNANSWERED for each of its comparisons.
        items, voters : int or sequence of hashable, optional
            All allowed labels. By default those of the ballots, in the order of first appearance.
        n_items : int, optional
            N for the items 0..N-1, in place of `items`.

        Raises
        ------
        ComparisonError
            An item or a voter of a ballot that is not among those given, or both `items` and `n_items`.
        VoteError
            Answers that do not fit their ballot; the message has the ballot, counted from 0.

        Examples
        --------
        >>> from adaptive._draw import draw_ballot
        >>> from adaptive._scores import LEFT, UNANSWERED
        >>> ballot = draw_ballot(4, 1, voters=2, rng=np.random.default_rng(0))
        >>> Comparisons.from_ballots([(ballot, [LEFT, UNANSWERED])])
        <Comparisons of 4 items: 1 comparison, 0 ties, 2 voters, 1 unanswered>
        """
        if items is not None and n_items is not None:
            raise ComparisonError("give items or n_items, not both")
        return cls(*columns_of_ballots(ballots, n_items if items is None else items, voters))

    @classmethod
    def from_pairs(cls, pairs: ArrayLike, n_items: int) -> Comparisons:
        """Make comparisons from pairs (winner, loser), as choix takes them.

        The sides on which the items were shown are not known. The winner is recorded on the left, so a side bias cannot
        be estimated.

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
        format: Format = "auto",  # noqa: A002 - the same name as elsewhere
        answers: Answers | None = None,
        ignore: Sequence[str] = (),
    ) -> Comparisons:
        """Make comparisons from a data frame of pandas, polars or pyarrow, one row for each.

        Columns have the names that `read_comparisons` lists, or those given here. If the winner is empty, None or nan,
        the comparison has no answer.

        Parameters
        ----------
        frame : data frame
        left, right, winner, voter, items, format, answers, ignore
            As in `read_comparisons`.

        Raises
        ------
        ComparisonError
            No data frame, a column that is missing, and as `from_labels`; the message names column and row.
        VoteError
            An unknown winner, including numbers unless `answers` explains them.
        OptionError
            An unknown format or meaning.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"left": ["gnu", "yak"], "right": ["yak", "emu"], "winner": ["right", "tie"]})
        >>> Comparisons.from_frame(frame).wins
        array([0, 1, 0])

        Numbers in a column need an explanation:

        >>> clicks = pd.DataFrame({"first": ["gnu", "yak"], "second": ["yak", "emu"], "first_won": [1, 0]})
        >>> names = {"left": "first", "right": "second", "winner": "first_won"}
        >>> Comparisons.from_frame(clicks, **names, answers="left_won").wins
        array([1, 0, 1])
        """
        columns = _names_of_roles(left, right, winner, voter)
        return cls(*columns_of_votes(vote_columns(Frame(frame), format, columns, answers, ignore=ignore), items))

    def select(self, rows: ArrayLike) -> Comparisons:
        """Return some of the comparisons; items and voters stay as they are.

        Parameters
        ----------
        rows : array_like
            A mask, bool of shape (n_comparisons,), or indices in any order, repeats allowed.

        Returns
        -------
        Comparisons
            With `n_unanswered` 0, and without rows of `unanswered`.

        Raises
        ------
        ComparisonError
            A mask of another length, an index out of range, or neither of the two.

        Examples
        --------
        >>> from adaptive._scores import LEFT, RIGHT
        >>> votes = Comparisons(3, [0, 1, 2], [1, 2, 0], [LEFT, LEFT, RIGHT])
        >>> votes.select(votes.winner == LEFT).n_comparisons, votes.select([2, 0, 0]).left
        (2, array([2, 0, 0], dtype=int32))
        """
        return self._copy_with(select_rows(self._flat(), rows))

    def without_voter(self, voter: Hashable) -> Comparisons:
        """Return the comparisons of all other voters; items and voters stay as they are, and `n_unanswered` is 0.

        Raises
        ------
        ComparisonError
            Voters are not known, or this one is not among them.
        """
        if self.voters is None or self.voter is None:
            raise ComparisonError("the voters of these comparisons are not known")
        return self.select(self.voter != places_among([voter], self.voters, "voter", "voter")[0])

    def joined(self, other: Comparisons) -> Comparisons:
        """Append the comparisons of `other`, which has the same items in the same order.

        Voters with the same name are merged; voters known only to `other` are added at the end. `n_unanswered` is the
        sum.

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
        return self._copy_with(joined_columns(self._flat(), other._flat()))

    def to_csv(self) -> str:
        """Return a table with one row for each comparison, which `read_comparisons` reads.

        The columns are comparison (counted from 0), voter (if known), left, right and winner ("left", "right" or
        "tie"). Items that are tuples of one length get a column for each part: left_1, left_2, ... Items never compared
        and `n_unanswered` are not in it.

        Raises
        ------
        TableError
            Items that are tuples of different lengths, or a mix of tuples and other labels.

        Examples
        --------
        >>> votes = Comparisons.from_labels(["apple", "pear"], ["pear", "plum"], ["left", "tie"], voter=["Ann", "Bob"])
        >>> print(votes.to_csv(), end="")
        comparison,voter,left,right,winner
        0,Ann,apple,pear,left
        1,Bob,pear,plum,tie
        """
        return votes_csv(self._columns())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain Python objects, one list for each column, ready for JSON.

        Raises
        ------
        ProtocolError
            When a label is not a string, an integer or a tuple of those.
        """

        def plain(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
            roles = {"voter", "left", "right"} & columns.keys()
            return columns | {role: [json_label(label) for label in columns[role]] for role in roles}

        return {
            "format": COMPARISONS_FORMAT,
            "version": COMPARISONS_VERSION,
            "items": [json_label(item) for item in self.items],
            "voters": None if self.voters is None else [json_label(voter) for voter in self.voters],
            "n_unanswered": self.n_unanswered,
            "unanswered": None if self.unanswered is None else plain(self._labels_of(self.unanswered)),
            **plain(self._columns()),
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
        winner = [_WORD[code] for code in self.winner.tolist()]
        return {"comparison": list(range(self.n_comparisons)), **self._labels_of(self), "winner": winner}

    def _labels_of(self, pairs: Comparisons | ShownPairs) -> dict[str, list[Any]]:
        """Return the voters, if they are known, and the items of pairs as columns of labels."""
        names = {"voter": self.voters or (), "left": self.items, "right": self.items}
        places = {role: getattr(pairs, role) for role in names}
        return {
            role: [names[role][place] for place in column.tolist()]
            for role, column in places.items()
            if column is not None
        }

    def _flat(self) -> ComparisonFields:
        return ComparisonFields(*(getattr(self, name) for name in ComparisonFields._fields))

    def _copy_with(self, columns: ComparisonFields) -> Comparisons:
        """Make comparisons from checked columns: checking 10,000 labels again takes 1 ms."""
        copy = object.__new__(type(self))
        for name, value in columns._asdict().items():
            object.__setattr__(copy, name, read_only(value) if isinstance(value, np.ndarray) else value)
        return copy

    def __repr__(self) -> str:
        parts = [counted(self.n_comparisons, "comparison"), counted(self.n_ties, "tie")]
        parts += [] if self.voters is None else [counted(self.n_voters, "voter")]
        parts += [f"{self.n_unanswered:,} unanswered"] if self.n_unanswered else []
        return f"<Comparisons of {counted(self.n_items, 'item')}: {', '.join(parts)}>"


def read_comparisons(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",  # noqa: A002 - the same name as elsewhere
    left: str | Sequence[str] | None = None,
    right: str | Sequence[str] | None = None,
    winner: str | None = None,
    voter: str | None = None,
    items: Items | None = None,
    answers: Answers | None = None,
    encoding: str = "utf-8",
    ignore: Sequence[str] = (),
    instances: str | os.PathLike[str] | None = None,
) -> Comparisons:
    r"""Read comparisons from a file, which may be compressed by gzip.

    CSV and TSV name their columns in the first line. JSON has one object with these keys for each vote, in a list or
    one after another. Parquet and Arrow files have these columns, and need pyarrow.

    ============== ==================================== ============================================ ===================
    format         items                                winner                                       voter, if it is
                                                                                                     there
    ============== ==================================== ============================================ ===================
    "csv"          left, right, or left_1, left_2, ...  winner: left, right, tie, cannot say,        voter
                                                        or the item that won
    "arena"        model_a, model_b                     winner: model_a, model_b, tie,               judge
                                                        tie (bothbad), both_bad, or an item that won
    "one_hot"      model_a, model_b                     winner_model_a, winner_model_b, winner_tie:  judge
                                                        1 in one of them
    "pairs"        winner, loser: names                 the winner                                   voter
    "choix"        winner, loser: numbers from 0        the winner                                   voter
    "crowd_kit"    left, right                          label: the item that won                     worker
    "label_studio" text1, text2                         the results of a Pairwise or Choices tag:    voter, annotator
                                                        left, right
    "potato"       responses, a list of two             a pairwise scheme: A, B, tie, or a scale     user_id
    ============== ==================================== ============================================ ===================

    An empty winner is a comparison without an answer, and so is "cannot say". Label Studio's exports JSON, JSON-MIN and
    CSV are read. The first line of a file of "choix" may be a pair already; in JSON a pair may be a list. A scale of
    potato prefers A if it is negative and B if it is positive.

    A column named n, count, weight or like these says how often a row counts, in whole numbers. Columns that would
    change the meaning of a vote are an error unless `ignore` leaves them out: grades, votes for one side, and prompts
    or questions that differ between votes on the same item. All other columns are ignored.

    Items and voters with the same text are one, whether a file writes 7 or "7". A file that has both is an error.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.
    format : {"auto", "csv", "arena", "one_hot", "pairs", "choix", "crowd_kit", "label_studio", "potato"}
        "auto" finds it by the names of the columns. Columns winner and loser are "choix" if all their entries are whole
        numbers, and "pairs" otherwise; a `NumberedItemsWarning` says if some numbers do not occur.
    left, right : str or sequence of str, optional
        Columns of the items, if they differ from the table above; several columns make tuples. For pairs, `left` is the
        column of the winner.
    winner, voter : str, optional
        Columns of the winners and the voters, if they differ from the table above.
    items : int or sequence of hashable, optional
        All allowed items; any other is an error. By default those of the file, in the order of first appearance, and
        for "choix" 0 to the largest number.
    answers : mapping of answer to str or None, or {"left_won", "codes"}, optional
        Meanings of winners that are not words of the format: "left", "right", "tie", "cannot say", or None for no
        answer, as in ``{"A": "left", "B": "right", "same": "tie"}``. With "left_won", 1 means that the left item won
        and 0 that the right one did. With "codes", 1 is left, 0 a tie, -1 right and -2 no answer.
    encoding : str
        Encoding of the file by its Python name: "utf-16", "latin-1". UTF-8 may begin with a byte order mark.
    ignore : sequence of str
        Columns to leave out: voters, ids, or those that may change the meaning of a vote: a weight, a grade, a prompt.
    instances : str or path-like, optional
        Data file of potato with the items of each instance; a user_state.json has only their ids.

    Returns
    -------
    Comparisons

    Raises
    ------
    TableError
        With file, line and column: columns that fit no format or several, or are missing or repeated; a cell that is
        empty or not a label. Also a row that is too short or too long, or no row at all; a file that cannot be read;
        and numbers of "choix" that imply over 100,000 items and over 100 for each item compared.
    VoteError
        With file, line and column: an unknown winner.
    ComparisonError
        With file, line and column: an item that is not among `items`, an item against itself, or a repeated comparison
        id.
    OptionError
        An unknown format, meaning or encoding.
    MissingArrowError
        A Parquet or Arrow file, without pyarrow.

    See Also
    --------
    Comparisons.from_frame, Comparisons.from_labels : The same from memory.
    bradley_terry : Strengths of the items.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive import read_comparisons
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "battles.csv")
    ...     _ = file.write_text("model_a,model_b,winner,judge\ngnu,yak,model_b,Ann\nyak,emu,tie (bothbad),Bob\n")
    ...     votes = read_comparisons(file)
    >>> votes
    <Comparisons of 3 items: 2 comparisons, 1 tie, 2 voters>
    >>> votes.wins
    array([0, 1, 0])
    """
    columns = _names_of_roles(left, right, winner, voter)
    votes = read_votes(
        path, format=format, columns=columns, answers=answers, encoding=encoding, ignore=ignore, instances=instances
    )
    return Comparisons(*columns_of_votes(votes, items))


def _names_of_roles(
    left: str | Sequence[str] | None, right: str | Sequence[str] | None, winner: str | None, voter: str | None
) -> dict[str, str | Sequence[str]]:
    """Return the columns that were given a name."""
    roles = {"left": left, "right": right, "winner": winner, "voter": voter}
    return {role: name for role, name in roles.items() if name is not None}
