"""Read all votes: files of this library, of arenas, of annotation tools and pairs, and data frames.

records -> layout (which columns, and how answers are written) -> `VoteColumns`. The models make comparisons from its
columns, and a ledger records its rows (`VoteFile`). Nothing is dropped, and an unknown answer never becomes a tie.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, repeat
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from adaptive._formats.annotation_tools import potato_instances
from adaptive._formats.layouts import LAYOUTS, MARKS, Answers, answer_text, words_of
from adaptive._formats.records import (
    WHOLE_NUMBER,
    Objects,
    Records,
    check_columns,
    check_games,
    map_column,
    records_of_file,
    split_games,
)
from adaptive._tables import Label, cell_number, check_spelling, csv_text, item_cells, item_columns
from adaptive._votes import Comparison
from adaptive.errors import VoteError
from rankcorr._checks import check_choice, shown
from rankcorr._io.columnar import distinct
from rankcorr._io.source import printable
from rankcorr._io.table import list_names
from rankcorr.errors import OptionError

Format: TypeAlias = Literal["auto", "csv", "arena", "one_hot", "pairs", "choix", "crowd_kit", "label_studio", "potato"]
FORMATS: Final = ("auto", *LAYOUTS)
Columns: TypeAlias = Mapping[str, str | Sequence[str]]

ROLES: Final = ("left", "right", "winner", "voter")
# Words in the names of columns that say how often a row counts; those of the next two sets only together.
_COUNTS: Final = frozenset((
    "n", "count", "counts", "votes", "wins", "times", "freq", "frequency", "multiplicity", "weight", "weights", "w",
    "importance", "repeats", "repetitions", "obs", "observations", "judgments", "judgements",
))  # fmt: skip
_NUMBERS: Final = frozenset({"num", "number", "total"})
_COUNTED: Final = frozenset((
    "answers", "responses", "comparisons", "voters", "raters", "annotators", "workers", "users",
))  # fmt: skip
_TALLIES: Final = frozenset({"votes", "wins", "losses", "ties", "weight", "weights", "multiplicity"})
_SIDE_WORDS: Final = frozenset({"n", "count", "a", "b", "left", "right", "winner", "loser", "tie", "ties"})
_TIES: Final = frozenset({"tie", "tied", "equal", "draw"})
_MARKED: Final = frozenset({"a", "is", "was", "are", "both", "flag", "mark", "marked"})
_TIE_MARKS: Final = {
    **MARKS,
    **dict.fromkeys(("yes", "y", "t", "x", *_TIES), True),
    **dict.fromkeys(("no", "n", "f", ""), False),
}
# Words in the names of columns that say what a vote is on.
_PROMPTS: Final = frozenset((
    "prompt", "query", "question", "topic", "task", "instruction", "scenario", "context", "aspect", "criteria",
    "criterion", "dimension",
))  # fmt: skip
PROMPT_NAMES: Final = ("prompt", "prompt_id", "question_id", "query", "question", "topic")
_MOST_VOTES: Final = 100_000_000  # 1.3 GB
_KNOWN_COLUMNS: Final = (
    "left, right, winner; or left, right, label; or model_a, model_b and winner (or winner_model_a, ...); or winner, "
    "loser; or an export of Label Studio or potato; or, for `ballots fit` (in Python, read_choices), left, right, "
    "grade; or best, worst and item_1, item_2, ...; or item, rank (1 is best)"
)


class VoteRow(NamedTuple):
    """One row of a file of votes; None stands for a column that the file does not have.

    Attributes
    ----------
    line : int
        Line of its first character.
    comparison, voter : str or None
    left, right : str, tuple of str, or None
        Of a set, the cells of all items are on the left.
    answer : {"left", "right", "tie", "cannot say"} or None
        None where there is no answer.
    extra : tuple of (str, str)
        Name and cell of the other non-empty columns.
    """

    line: int
    comparison: str | None
    voter: str | None
    left: Label | None
    right: Label | None
    answer: str | None = None
    extra: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class VoteFile:
    """The rows of a file of votes.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    rows : tuple of VoteRow
    """

    name: str
    rows: tuple[VoteRow, ...]

    def fail(self, message: str, line: int | None = None) -> NoReturn:
        """Raise a `VoteError` with its place."""
        raise VoteError(f"{self.name}{'' if line is None else f':{line}'}: {message}")


@dataclass(frozen=True, eq=False)
class VoteColumns:
    """Votes of a file or a data frame, as columns; None means a missing column.

    Attributes
    ----------
    records : Records
        Source of the votes.
    format : str
        One of `FORMATS`, not "auto".
    names : dict of str to str
        Column of left, right, winner and voter, for messages.
    was_found : bool
        Whether the format was detected from the names of the columns and the labels.
    others : sequence of str
        Columns with more information on a vote; only "csv" has any.
    unused : sequence of str
        Columns of any format that are not read, except for those that the caller leaves out.
    comparison, voter, left, right : sequence of hashable, or None
    answer : sequence of {"left", "right", "tie", "cannot say"} or None
        None where there is no answer.
    """

    records: Records
    format: str
    names: Mapping[str, str]
    was_found: bool
    others: Sequence[str]
    unused: Sequence[str]
    comparison: Sequence[Hashable] | None
    voter: Sequence[Hashable] | None
    left: Sequence[Hashable] | None
    right: Sequence[Hashable] | None
    answer: Sequence[str | None]

    def place(self, role: str, row: int) -> str:
        """Describe the place of an entry, for messages."""
        return self.records.place(row, self.names.get(role, role))

    def counts(self) -> NDArray[np.int64] | None:
        """Return how often each row counts; None if no column says so.

        Raises
        ------
        TableError, ComparisonError
            With the place: a count that is not a whole number, several columns of counts, or a column whose name says
            that it changes the meaning of a vote, such as a grade, or a prompt that differs between votes on one item.
        """
        check_ties(self.records, self.unused, self.answer)
        for name in self.unused:
            check_meaning(self.records, name)
            if name_words(name) & _PROMPTS and self._mixes(name):
                _refuse(
                    self.records,
                    name,
                    "holds several prompts for one item, and votes on one prompt depend on each other. The model "
                    "bradley-terry allows for this: add `--cluster prompt` to `ballots fit`, `ballots plot strengths` "
                    "or `ballots plot top`, or use read_choices. Other models treat all votes as independent",
                )
        names = [name for name in self.unused if is_count(name_words(name))]
        if not names:
            return None
        if len(names) > 1:
            _refuse(self.records, names[1], f'counts votes, and so does "{printable(names[0])}"')
        entries = self.records.column(names[0])
        numbers = map_column(_count, entries)
        if None in distinct(numbers):
            row = numbers.index(None)
            place, leave_out = self.records.place(row, names[0]), _leave_out(names[0])
            message = (
                f"a count of votes must be a whole number of 0 or more; got {shown(entries[row])}. {leave_out}, or "
                "read weights that are no counts by read_choices or the role weight of `ballots fit --columns`"
            )
            raise self.records.table.error(f"{place}: {message}")
        check_row_numbers(self.records, names[0], numbers)
        if (total := int(np.array(numbers, float).sum())) > _MOST_VOTES:
            _refuse(self.records, names[0], f"counts {total:,} votes; at most {_MOST_VOTES:,} can be read")
        return np.array(numbers, np.int64)

    def _mixes(self, column: str) -> bool:
        """Tell whether votes on the same item have several values of this column, some of which come again."""
        entries = self.records.column(column, optional=True)
        values = map_column(partial(json.dumps, default=str), entries)
        if len(set(distinct(values))) in (1, len(values)):
            return False
        first: dict[Hashable, str] = {}
        sides = (self.left or (), self.right or ())
        return any(
            first.setdefault(item, value) != value for side in sides for item, value in zip(side, values, strict=True)
        )

    def of_items(self, items: Sequence[Hashable]) -> VoteColumns:
        """Return pairs of numbers, the format "choix", as pairs of the items that they count from 0.

        Raises
        ------
        TableError, ComparisonError
            With the place: a number that no item has, or numbers that may be names, because the format was detected and
            items have other numbers as labels.
        """
        error = self.records.table.error
        sides: dict[str, Any] = {}
        if self.was_found and any(str(item).isdecimal() and str(item) != str(n) for n, item in enumerate(items)):
            raise error(
                f"{self.place('left', 0)}: numbers may name the items or count them from 0; choose the format "
                "'pairs' for names, or 'choix' for counts from 0"
            )
        for side in ("left", "right"):
            numbers: Sequence[Any] = getattr(self, side)
            wrong = next((row for row, number in enumerate(numbers) if number >= len(items)), None)
            if wrong is not None:
                message = f"{numbers[wrong]} is not one of the {len(items)} items, which count from 0"
                raise error(f"{self.place(side, wrong)}: {message}")
            sides[side] = [items[number] for number in numbers]
        return replace(self, **sides)

    def file(self) -> VoteFile:
        """Return the votes as rows, with labels as cells; "csv" has the other columns too.

        Raises
        ------
        TableError
            With file and line: a comparison or a voter that is neither text nor a whole number, a row that counts
            several times, or one that a column marks as a tie and that has another answer.
        """
        check_ties(self.records, self.unused, self.answer)
        for name in set(self.others) & set(self.unused):
            if is_count(name_words(name)) and any(_count(n) != 1 for n in self.records.column(name)):
                _refuse(self.records, name, "counts votes, but here each row is one vote")
        nothing = repeat(None)  # without an end
        rows = zip(
            self.records.lines,
            nothing if self.comparison is None else self._names("comparison", self.comparison),
            nothing if self.voter is None else self._names("voter", self.voter),
            nothing if self.left is None else map(_cells, self.left),
            nothing if self.right is None else map(_cells, self.right),
            self.answer,
            self._extras(),
            strict=False,
        )
        return VoteFile(self.records.table.name, tuple(map(VoteRow._make, rows)))

    def _names(self, role: str, labels: Sequence[Hashable]) -> list[str | None]:
        for row, label in enumerate(labels):
            if isinstance(label, tuple):
                self.records.table.fail(
                    f"a name is text or a whole number; got {shown(list(label))}",
                    self.records.lines[row],
                    self.names.get(role, role),
                )
        return [None if label is None else str(label) for label in labels]

    def _extras(self) -> Iterable[tuple[tuple[str, str], ...]]:
        if not self.others:
            return repeat(())
        columns = [map(_cell, self.records.column(name, optional=True)) for name in self.others]
        rows = zip(*columns, strict=True)
        return (tuple(pair for pair in zip(self.others, row, strict=True) if pair[1].strip()) for row in rows)


def read_votes(
    path: str | os.PathLike[str],
    *,
    format: Format = "auto",  # noqa: A002 - the name of the option
    columns: Columns | None = None,
    answers: Answers | None = None,
    encoding: str = "utf-8",
    ignore: Sequence[str] = (),
    instances: str | os.PathLike[str] | None = None,
    needed: Sequence[str] = ("left", "right", "winner"),
    data: bytes | None = None,
    guard: bool | None = None,
) -> VoteColumns:
    r"""Read votes from CSV, TSV, JSON, Parquet or Arrow, which may be compressed by gzip.

    Parameters
    ----------
    path : str or path-like
        ``"-"`` is standard input, ``"./-"`` a file of that name.
    format : Format
        "auto" detects it from the names of the columns.
    columns : mapping of str to str or sequence of str, optional
        Columns of left, right, winner and voter whose names differ from those of the format.
    answers : mapping of answer to str or None, or {"left_won", "codes"}, optional
        Meanings of answers that are not words of the format: "left", "right", "tie", "cannot say", or None.
    encoding : str
    ignore : sequence of str
        Columns to leave out: of voters or ids, or with names that say that they change the meaning of a vote.
    instances : str or path-like, optional
        Data file of potato with the items of each instance, for a user_state.json.
    needed : sequence of {"comparison", "left", "right", "winner"}
        Required columns.
    data : bytes, optional
        Content of the file, if it was read already; `path` is then only its name.
    guard : bool, optional
        Whether to remove the apostrophes before cells that begin like formulas; by default if a campaign exported the
        file.

    Raises
    ------
    OptionError
        An unknown format, column, meaning or encoding.
    TableError
        With file, line and column: columns that fit no format or several, or are missing or repeated; a cell that is
        empty or not a label. Also a row that is too short or too long, no row at all, or a file that cannot be read.
    VoteError
        With file, line and column: an unknown answer.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "votes.csv")
    ...     _ = file.write_text("left,right,winner\napple,pear,A\npear,plum,\n")
    ...     votes = read_votes(file, answers={"A": "left", "B": "right"})
    >>> votes.format, votes.left, votes.answer
    ('csv', ['apple', 'pear'], ['left', None])
    """
    known = None if instances is None else potato_instances(instances, encoding=encoding)
    records = records_of_file(path, data=data, encoding=encoding, instances=known, guard=guard)
    votes = vote_columns(records, format, columns or {}, answers, ignore=ignore, needed=needed)
    if not records.lines:  # after the columns: an error about missing columns is more helpful
        records.table.fail("no votes, only the names of the columns", records.header.line)
    return votes


def vote_columns(
    records: Records,
    format: Format,  # noqa: A002
    columns: Columns,
    answers: Answers | None,
    *,
    ignore: Sequence[str] = (),
    needed: Sequence[str] = ("left", "right", "winner"),
    more_words: Mapping[str, str] | None = None,
) -> VoteColumns:
    """Find the columns of votes and the meaning of each answer; options and errors are those of `read_votes`.

    `more_words` are meanings of further answers, for all formats that have words.
    """
    check_choice("format", format, FORMATS)
    records = split_games(records)
    check_columns(records, columns, ignore, ROLES)
    check_games(records, columns)
    if records.tool == "potato" and "left" in needed and not records.has_side("left"):
        records.table.fail("a user_state.json has no items: name the data file with instances=")
    ids = records.labels("comparison") if "comparison" in needed else None
    name = _format_of(records, columns) if format == "auto" else format
    layout = LAYOUTS[name]
    if layout.words is None and (answers is not None or "winner" in columns):
        raise OptionError(f"answers and the column of winners cannot be chosen for the format {name!r}")
    records.are_texts = name == "label_studio"
    stems = [columns.get("left", layout.left), columns.get("right", layout.right)]
    used: dict[str, list[str]] = {}
    sides: dict[str, Sequence[Hashable]] = {}
    if "left" in needed or any(not isinstance(stem, str) or records.has_side(stem) for stem in stems):
        used, sides = records.sides(*stems)
    if not {"left", "right", "winner"} <= columns.keys():  # only here are the names of the columns known
        check_spelling(records.table, records.header, (*layout.voters, "comparison"))
    names = [column for column in records.names if column not in ignore]
    voter = columns.get("voter", next((column for column in layout.voters if column in names), None))
    voters = None if voter is None else records.labels(voter)
    if voter is not None:
        used["voter"] = [str(voter)]
    if voters and name == "arena":  # MT-bench writes the name of a judge, and that of what it was told to do
        voters = [label[0] if isinstance(label, tuple) and len(label) > 1 else label for label in voters]
    if voters and isinstance(records, Objects) and set(voters) == {None}:
        voters = None
    if ids is None and "comparison" in names:
        ids = records.labels("comparison")
    winner, answer = layout.read(
        records, columns.get("winner"), {**(layout.words or {}), **(more_words or {}), **words_of(answers)}, sides
    )
    used["winner"] = [winner]
    if in_use := [column for column in chain.from_iterable(used.values()) if column in ignore]:
        raise OptionError(f"ignore: the votes are read from the column {shown(in_use[0])}")
    if (
        (name, format) == ("pairs", "auto")
        and records.lines
        and all(map(_is_place, chain(*map(distinct, sides.values()))))
    ):
        name = "choix"
    if name == "choix":
        sides = {side: _numbers(records, labels, used[side][0]) for side, labels in sides.items()}
    known = {"comparison", *chain.from_iterable(used.values())}
    unused = [column for column in names if column not in known]
    others = [column for column in records.names if column not in known] if name == "csv" else []
    return VoteColumns(
        records,
        format=name,
        names={role: columns_of_role[0] for role, columns_of_role in used.items()},
        was_found=format == "auto",
        others=others,
        unused=unused,
        comparison=ids,
        voter=voters,
        left=sides.get("left"),
        right=sides.get("right"),
        answer=answer,
    )


def check_ties(
    records: Records,
    columns: Iterable[str],
    answers: Sequence[str | None],
    tie: str = "tie as the winner, in columns left, right and winner",
) -> None:
    """Refuse a column that marks rows as ties whose answers are not ties; `tie` says how to write one.

    Raises
    ------
    TableError, ComparisonError
        With the place of the first such row.
    """
    for name in columns:
        words = name_words(name)
        if not (words & _TIES and words <= _TIES | _MARKED):
            continue
        marks = map_column(_tie_mark, records.column(name, optional=True))
        if None in distinct(marks):  # such as the number of a draw
            continue
        for row, (is_tie, answer) in enumerate(zip(marks, answers, strict=True)):
            if is_tie and answer != "tie":
                fault = "has no answer" if answer is None else f"its answer is {answer}"
                message = f"this row is marked as a tie, but {fault}: write {tie}. {_leave_out(name)}"
                raise records.table.error(f"{records.place(row, name)}: {message}")


def _tie_mark(entry: object) -> bool | None:
    """Return whether a cell marks a tie; None if it holds anything but a mark."""
    text = answer_text(entry)
    return None if text is None else _TIE_MARKS.get(text.strip().lower())


def check_meaning(records: Records, column: str) -> None:
    """Refuse a column whose name says that it changes the meaning of a vote in a way that no reader here uses."""
    if name_words(column) & {"grade", "grades"}:
        _refuse(records, column, "says how much an item is preferred, which read_choices reads from a column grade")
    if _may_count(name_words(column)) and not is_count(name_words(column)):
        _refuse(records, column, "may count votes; a row counts as often as a column n says, for one winner")


def check_row_numbers(records: Records, column: str, counts: Sequence[float]) -> None:
    """Refuse counts that number more than three rows from 0 or 1, as statistics programs do in a column n or obs."""
    if len(counts) > 3 and counts[0] in (0, 1) and (np.diff(np.array(counts, float)) == 1).all():
        _refuse(
            records,
            column,
            "numbers the rows, but its name says that it counts votes; if it does, put the rows in another order",
        )


def _refuse(records: Records, column: str, fault: str) -> NoReturn:
    """Raise an error about a column that may be left out."""
    records.table.fail(f"{fault}. {_leave_out(column)}", records.header.line, column)


def votes_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Return votes as CSV, from columns by name: left and right hold items, and voter the names of voters.

    Raises
    ------
    TableError
        As `item_columns`.

    Examples
    --------
    >>> print(votes_csv({"left": [("a", 1)], "right": [("b", 2)], "winner": ["tie"]}), end="")
    left_1,left_2,right_1,right_2,winner
    a,1,b,2,tie
    """
    items = dict.fromkeys(chain(columns["left"], columns["right"]))
    cells = {item: item_cells(item) for item in items}
    header: list[str] = []
    parts: list[list[tuple[Any, ...]]] = []
    for name, column in columns.items():
        if name in ("left", "right"):
            header += item_columns(name, items)
            parts.append([cells[item] for item in column])
        else:
            header.append(name)
            parts.append([(" ".join(item_cells(entry)) if name == "voter" else entry,) for entry in column])
    return csv_text(header, (tuple(chain.from_iterable(row)) for row in zip(*parts, strict=True)))


def comparisons_csv(comparisons: Sequence[Comparison], *, has_grades: bool = False) -> str:
    """Return comparisons as CSV, voter by voter, with an empty column for the winner; each voter's are in ballot order.

    Parameters
    ----------
    comparisons : sequence of Comparison
        In the order of the ballot.
    has_grades : bool
        Whether to add an empty column for the grade.

    Raises
    ------
    TableError
        As `item_columns`.

    Examples
    --------
    >>> shown = [Comparison("1-0", "Bob", "apple", "pear"), Comparison("1-1", "Ann", "pear", "plum"),
    ...          Comparison("1-2", "Bob", "plum", "apple")]
    >>> print(comparisons_csv(shown), end="")
    comparison,voter,left,right,winner
    1-0,Bob,apple,pear,
    1-2,Bob,plum,apple,
    1-1,Ann,pear,plum,
    """
    by_voter: dict[Hashable, list[Comparison]] = {}
    for comparison in comparisons:
        by_voter.setdefault(comparison.voter, []).append(comparison)
    # Voters that are numbers are sorted; names stay in the order of the ballot.
    if all(isinstance(voter, int) for voter in by_voter):
        by_voter = dict(sorted(by_voter.items()))
    rows = list(chain.from_iterable(by_voter.values()))
    columns = zip(*rows, strict=True) if rows else [()] * 4
    named = dict(zip(("comparison", "voter", "left", "right"), columns, strict=True))
    empty = dict.fromkeys(("winner", *(["grade"] * has_grades)), [""] * len(rows))
    return votes_csv({**named, **empty})


def _format_of(records: Records, columns: Columns) -> str:
    """Return the format by the names of the columns."""
    if records.tool is not None:
        return records.tool
    if {"left", "right"} <= columns.keys():
        return "label_studio" if "winner" not in columns and LAYOUTS["label_studio"].fits(records) else "csv"
    formats = [name for name, layout in LAYOUTS.items() if layout.fits(records, columns)]
    if "crowd_kit" in formats:
        formats.remove("csv" if "winner" not in {*records.names, *columns} else "crowd_kit")
    if len(formats) > 1:
        records.table.fail(
            f"the columns fit several formats ({' and '.join(formats)}); choose one with format=", records.header.line
        )
    if not formats and "comparison" not in records.names:
        for layout in LAYOUTS.values():
            check_spelling(records.table, records.header, layout.marks)
        for name in filter(lambda name: isinstance(name, str), columns.values()):
            records.table.place(records.header, str(name))
        records.table.fail(
            f"got the columns {list_names(records.names)}; expected {_KNOWN_COLUMNS}; name others with columns=",
            records.header.line,
        )
    return formats[0] if formats else "csv"


def name_words(column: str) -> frozenset[str]:
    """Return the words in the name of a column, in small letters: those of "n_votes", "n votes" and "nVotes"."""
    return frozenset(word.casefold() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", column))


def is_count(words: frozenset[str]) -> bool:
    """Tell whether a column of this name says how often a row counts.

    Examples
    --------
    >>> [is_count(name_words(name)) for name in ("n", "numVotes", "total", "vote number", "left_votes")]
    [True, True, False, False, False]
    """
    is_number_of_votes = bool(words & _NUMBERS and words & _COUNTED)
    return words <= _COUNTS | _NUMBERS | _COUNTED | {"of", "vote", "win"} and bool(
        words & _COUNTS or is_number_of_votes
    )


def _may_count(words: frozenset[str]) -> bool:
    """Tell whether a column of this name may say how often a row counts, perhaps for one of its sides.

    Examples
    --------
    >>> [_may_count(name_words(name)) for name in ("total", "left_votes", "n_a", "word_count", "number", "winner_name")]
    [True, True, True, False, False, False]
    """
    n_for_a_side = words <= _SIDE_WORDS and bool(words & {"n", "count"})
    return words in ({"num"}, {"total"}) or bool(words & _TALLIES) or n_for_a_side


def _count(entry: object) -> int | None:
    """Return the whole number from 0 on that a cell holds; None if it holds anything else."""
    if isinstance(entry, str):
        return int(float(entry)) if re.fullmatch(r"[0-9]{1,12}(\.0*)?", entry.strip()) else None
    number = cell_number(entry)
    return int(number) if number >= 0 and number.is_integer() and number < 1e12 else None


def _leave_out(column: str) -> str:
    return f'Leave the column out with ignore=["{printable(column)}"]'


def _is_number(label: object) -> bool:
    return isinstance(label, str | int) and WHOLE_NUMBER.fullmatch(str(label)) is not None


def _is_place(label: object) -> bool:
    """Tell whether a label is a number that may count items from 0: one like 007 is a name."""
    return _is_number(label) and str(int(str(label))) == str(label)


def _numbers(records: Records, labels: Sequence[Hashable], column: str) -> Sequence[int]:
    wrong = next((labels.index(label) for label in distinct(labels) if not _is_number(label)), None)
    if wrong is not None:
        place = records.place(wrong, column)
        raise records.table.error(f"{place}: {shown(labels[wrong])} is not a whole number from 0 to 999999999")
    return map_column(lambda label: int(str(label)), labels)


def _cells(label: Hashable) -> Label:
    cells = item_cells(label)
    return cells if isinstance(label, tuple) else cells[0]


def _cell(entry: object) -> str:
    """Return the text of an entry of another column."""
    if entry is None or isinstance(entry, str):
        return entry or ""
    return json.dumps(entry, ensure_ascii=False)
