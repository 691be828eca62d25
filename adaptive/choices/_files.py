"""Read answers of any kind from a file, a data frame or rows of JSON.

The names of the columns determine the kind: graded votes, best-worst answers or rankings. Any other columns are votes
on pairs, in any format of `adaptive._formats.votes`. Each answer may have a weight, voter, prompt and covariates.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from adaptive._formats.layouts import ARENA_WORDS, BOTH_BAD, LAYOUTS, OWN_WORDS, Answers, Sides, answer_text, words_of
from adaptive._formats.records import (
    Cells,
    Frame,
    Objects,
    Records,
    check_columns,
    check_games,
    is_empty,
    is_missing,
    is_no_label,
    plain_entry,
    records_of_file,
    split_games,
)
from adaptive._formats.votes import (
    PROMPT_NAMES,
    ROLES,
    Columns,
    Format,
    check_meaning,
    check_row_numbers,
    check_ties,
    is_count,
    name_words,
    vote_columns,
)
from adaptive._tables import cell_number, check_decimals, check_spelling
from adaptive.choices._answers import NOUNS, ChoiceAnswers, Kind, items_of_row
from adaptive.errors import VoteError
from rankcorr._checks import shown
from rankcorr._io.source import printable
from rankcorr._io.table import Record, TextTable
from rankcorr._output.results import read_only
from rankcorr.errors import OptionError

GRADE_WORDS: Final = {"A>>B": 2, "A>B": 1, "A=B": 0, "B>A": -1, "B>>A": -2}
_BOTH_BAD: Final = ("tie (bothbad)", "both_bad", BOTH_BAD, "bothbad")
_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "left": ("left", "model_a"),
    "right": ("right", "model_b"),
    "voter": ("voter", "judge", "worker", "annotator", "user_id"),
    "winner": ("winner", "answer", "vote", "choice", "preference"),
    "grade": ("grade",),
    "items": ("items",),
    "best": ("best", "BestItem"),
    "worst": ("worst", "WorstItem"),
    "ranking": ("ranking",),
    "item": ("item",),
    "rank": ("rank",),
    "prompt": PROMPT_NAMES,
}
CHOICE_ROLES: Final = tuple(dict.fromkeys((*ROLES, *_NAMES, "weight", "count")))
_WEIGHT_WORDS: Final = frozenset({"weight", "weights", "w", "importance"})
_PLACE: Final = re.compile(r"rank_?([1-9][0-9]*)")
_SHOWN_ITEM: Final = re.compile(r"[Ii]tem_?([1-9][0-9]*)")
_METADATA: Final = "conv_metadata"
_TURN: Final = "turn"  # of a conversation on one prompt
_LARGEST_GRADE: Final = 50
_A_GRADE: Final = f"a whole number from -{_LARGEST_GRADE} to {_LARGEST_GRADE}"
_MOST_GRADES: Final = 3  # the largest grade that a campaign offers
_TELLING: Final = 20  # so many answers, all for the left side, have a probability of one in a million by chance


def read_choices(
    source: str | os.PathLike[str] | object,
    *,
    format: Format = "auto",  # noqa: A002 - the same name as elsewhere
    columns: Columns | None = None,
    answers: Answers | Mapping[str, Any] | None = None,
    covariates: Sequence[str] = (),
    encoding: str = "utf-8",
    ignore: Sequence[str] = (),
) -> ChoiceAnswers:
    r"""Read answers of any kind from CSV, TSV, JSON, Parquet, a data frame, or a list of dicts.

    =========== ===================================================================================================
    kind        columns
    =========== ===================================================================================================
    grades      left, right (or model_a, model_b), and grade: whole numbers, above 0 if the left side is better, or
                A>>B, A>B, A=B, B>A, B>>A; if none is below 0, a column winner gives the signs
    best-worst  best, worst (or BestItem, WorstItem), and items, a list or a cell such as ``a|b|c``, or item_1,
                item_2, ... (Item1, ...), where the last ones may be empty
    rankings    ranking: a list, or a cell such as ``a > b = c``, where ``=`` is a tie; or rank_1, rank_2, ... (rank1,
                ...) with the item of each rank; or item and rank, one row for each item; rows with the same ranking,
                or the same voter and prompt, form one ranking
    pairs       those of any format of `read_comparisons`; winner may also be "both bad"
    =========== ===================================================================================================

    Each answer may have a voter (or judge, worker, annotator), a prompt (or question_id, query, topic), a weight of 0
    or more, and a count.

    Pairs and grades may have covariates. The columns of a covariate `length` are left_length and right_length,
    length_left and length_right, length_a and length_b, or use the names of the columns of both sides. They may also be
    inside conv_metadata, as in arenas. A covariate is a number, a dict of numbers, which are added, or a conversation
    (list of turns), whose value is the number of characters by the assistant. With a column `turn`, only turns up to
    that one count. Answers on two turns are answers to different questions on one prompt.

    Parameters
    ----------
    source : str, path-like, data frame, list of dict, or the records of `choice_records`
    format : str
        Format of votes on pairs, as in `read_comparisons`.
    columns : mapping of str to str, optional
        Names of columns that differ from the table above, by role: left, right, winner, voter, prompt, grade, items,
        best, worst, ranking, item, rank, weight, count.
    answers : mapping of answer to meaning, or {"left_won", "codes"}, optional
        Meanings of winners, as in `read_comparisons`, or "both bad". Meanings of grades are whole numbers:
        ``{"much better": 2, ...}``, or ``{1: 2, 2: 1, 3: 0, 4: -1, 5: -2}`` for all steps of a scale.
    covariates : sequence of str
        Names of covariates to read, such as "length".
    encoding : str
        Encoding of a text file.
    ignore : sequence of str
        Columns to leave out although their names suggest that they change the meaning of an answer.

    Returns
    -------
    ChoiceAnswers

    Raises
    ------
    TableError, ComparisonError
        With file, line and column: columns of several kinds, or of none; a missing column; an invalid cell; an item
        twice in one answer; a best item that was not shown, or is also the worst; weights below 0.
    VoteError
        With file, line and column: an unknown winner.
    OptionError
        An unknown role, format, or column.

    See Also
    --------
    read_comparisons : Votes on pairs alone, for `bradley_terry` and models of voters.

    Examples
    --------
    >>> from adaptive import read_choices
    >>> rows = [{"items": ["a", "b", "c"], "best": "a", "worst": "c", "voter": "Ann"}]
    >>> read_choices(rows).rows
    ((('a', 'b', 'c'), 'a', 'c'),)
    """
    records = choice_records(source, encoding)
    check_columns(records, columns or {}, ignore, CHOICE_ROLES)
    if isinstance(covariates, str):
        raise OptionError(f"covariates is a list of columns; got {shown(covariates)}")
    return _Reader(records, dict(columns or {}), tuple(ignore), tuple(covariates)).answers(format, answers)


def kind_of_choices(records: Records, columns: Columns | None, ignore: Sequence[str]) -> Kind:
    """Return the kind of answers in a file, from the names of its columns; errors are those of `read_choices`."""
    return _Reader(records, dict(columns or {}), tuple(ignore), ()).kind()


def choice_records(source: Any, encoding: str) -> Records:
    """Return the rows of a source of answers."""
    if isinstance(source, Records):
        return source
    if isinstance(source, str | os.PathLike):
        return split_games(records_of_file(source, encoding=encoding))
    if isinstance(source, list | tuple | Iterator):
        rows = list(source)
        table = TextTable("answers")
        if not rows:
            table.fail("no answers")
        for line, row in enumerate(rows):
            if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
                table.fail(f"an answer must be a dict with the names of columns as keys; got {shown(row)}", line)
        plain = [{name: plain_entry(entry) for name, entry in row.items()} for row in rows]
        objects = Objects(table, plain, list(range(len(rows))))
        objects.are_texts = True
        return split_games(objects)
    return split_games(Frame(source))


class _Reader:
    """Reads the columns of one source of answers, and keeps track of those that are used."""

    def __init__(
        self, records: Records, columns: dict[str, Any], ignore: tuple[str, ...], covariates: tuple[str, ...]
    ) -> None:
        check_games(records, columns)
        self.records, self.columns, self.ignore, self.covariates = records, columns, ignore, covariates
        self.names = [name for name in records.names if name not in ignore]
        self.used: set[str] = {"comparison"}

    def column_of(self, role: str) -> str | None:
        """Return the column of a role, or None."""
        if role in self.columns:
            name = str(self.columns[role])
            if name not in self.names:
                raise OptionError(f"columns gives {shown(name)} for {role}, but there is no such column")
            return name
        return next((name for name in _NAMES.get(role, ()) if name in self.names), None)

    def check_spelling(self, role: str, *names: str) -> None:
        """Refuse a column that differs from those of an absent role only in capitals or outer spaces."""
        if self.column_of(role) is None:
            check_spelling(self.records.table, Record(self.records.header.line, self.names), names)

    def fail(self, row: int, column: str, message: str) -> NoReturn:
        """Raise an error that names the file, line and column."""
        raise self.records.table.error(f"{self.records.place(row, column)}: {message}")

    def numbered_columns(self, pattern: re.Pattern[str]) -> list[str]:
        """Return the columns whose names end in the numbers 1, 2, ..., in this order."""
        matches = {int(match[1]): name for name in self.names if (match := pattern.fullmatch(name))}
        names = [matches[number] for number in sorted(matches)]
        if names and sorted(matches) != list(range(1, len(names) + 1)):
            self.records.table.fail(f"columns must be numbered from 1 without gaps; got {', '.join(names)}")
        return names

    def entries(self, name: str, *, optional: bool = False) -> Sequence[Any]:
        self.used.add(name)
        return self.records.column(name, optional=optional)

    def kind(self) -> Kind:
        """Return the kind of the answers, from the names of the columns."""
        names: dict[Kind, str] = {}
        if (best := self.column_of("best")) and (worst := self.column_of("worst")):
            names["best-worst"] = f"{best}, {worst}"
        if grade := self.column_of("grade"):
            names["grades"] = grade
        rank, item, ranking = (self.column_of(role) for role in ("rank", "item", "ranking"))
        if rank and item:
            names["rankings"] = f"{item}, {rank}"
        elif ranking or self.numbered_columns(_PLACE):
            names["rankings"] = ranking or ", ".join(self.numbered_columns(_PLACE)[:2])
        if len(names) > 1:
            parts = " and ".join(f"{kind} ({printable(text)})" for kind, text in names.items())
            self.records.table.fail(
                f"the columns fit several kinds of answers: {parts}; leave out those of the others by ignore",
                self.records.header.line,
            )
        return next(iter(names), "pairs")

    def answers(self, form: Format, meanings: Any) -> ChoiceAnswers:
        """Return all answers."""
        kind = self.kind()
        self.check_spelling("voter", *_NAMES["voter"])
        self.check_spelling("winner", "winner")
        if form != "auto" and kind != "pairs":
            raise OptionError(f"format applies to votes on pairs, but the columns are those of {kind}")
        if meanings is not None and kind in ("best-worst", "rankings"):
            raise OptionError(f"answers applies to winners and grades; these answers are {kind}")
        if self.covariates and kind not in ("pairs", "grades"):
            raise OptionError(f"covariates apply to pairs and grades; these answers are {kind}")
        if kind == "pairs":
            rows = self.pairs(form, meanings)
        elif kind == "grades":
            rows = self.grades(meanings)
        elif kind == "best-worst":
            rows = self.best_worst()
        else:
            rows = self.rankings()
        self.check_pairs(kind, rows)
        self.check_types("item", [self.items_of(kind, row) for row in rows])
        if not self.records.lines:
            self.records.table.fail("no answers, only the names of the columns", self.records.header.line)
        if kind == "rankings" and self._has_ranked_items:
            return self.rankings_of_rows(rows)
        voters, prompts = self.labels("voter"), self.labels("prompt")
        weights = self.weights()
        covariates = {name: self.covariate(name) for name in self.covariates}
        turns = None if prompts is None else self.turns
        self.check_rest()
        everything = ChoiceAnswers(kind, tuple(rows), weights, voters, prompts, covariates, turns)
        return self.checked(everything)

    def check_pairs(self, kind: Kind, rows: Sequence[Any]) -> None:
        """Raise an error if a row lacks an answer of this kind but has a vote on a pair."""
        winner = self.column_of("winner") if kind != "pairs" else None
        if winner is None or winner in self.used:
            return
        for place, (row, entry) in enumerate(zip(rows, self.records.column(winner, optional=True), strict=True)):
            has_answer = not is_empty(row[1]) if kind == "rankings" and self._has_ranked_items else row is not None
            if not has_answer and not is_empty(entry) and entry != "cannot say":
                self.fail(
                    place,
                    winner,
                    f"a vote on a pair, whereas other rows have {NOUNS[kind][1]}: give each kind a file, or leave this "
                    f"column out by ignore",
                )

    @property
    def _has_ranked_items(self) -> bool:
        """Whether each row holds one item and its rank."""
        return bool(self.column_of("rank") and self.column_of("item"))

    def checked(self, everything: ChoiceAnswers) -> ChoiceAnswers:
        """Return the rows with an answer, with the others counted and the weights read-only."""
        answers = everything.without_gaps()
        read_only(answers.weights)
        return answers

    def check_rest(self) -> None:
        """Raise an error for unused columns that may change the meaning of an answer."""
        for name in self.names:
            if name not in self.used:
                check_meaning(self.records, name)

    @cached_property
    def turns(self) -> tuple[Any, ...] | None:
        """The turn of the conversation for each answer; None without such a column."""
        if _TURN not in self.names:
            return None
        entries = self.entries(_TURN, optional=True)
        return tuple(None if is_empty(entry) else _turn_number(entry) or _name(entry) for entry in entries)

    def labels(self, role: str) -> tuple[Hashable, ...] | None:
        """Return voters or prompts; None without such a column, or if it is empty."""
        name = self.column_of(role)
        if name is None:
            return None
        entries = [None if is_missing(entry) or entry == "" else entry for entry in self.entries(name, optional=True)]
        if None in entries:
            row = entries.index(None)
            if all(entry is None for entry in entries):
                return None
            self.fail(row, name, f"a {role} is missing, but other rows have one: give it in every row, or in none")
        if role == "voter":  # in MT-bench, a judge is a list of its name and its instructions
            entries = [entry[0] if isinstance(entry, list) and entry else entry for entry in entries]
            texts = ((row, entry) for row, entry in enumerate(entries) if isinstance(entry, str))
            odd = next((row for row, text in texts if text != text.strip()), None)
            if odd is not None and isinstance(self.records, Cells):
                self.fail(odd, name, f"{shown(entries[odd])} begins or ends with a space")
        names = list(map(_name, entries))
        self.check_types(role, [[entry] for entry in names])
        return tuple(names)

    def items_of(self, kind: Kind, row: Any) -> Sequence[Hashable]:
        """Return the items of a row; none if it has no answer."""
        if kind == "rankings" and self._has_ranked_items:
            return row[:1]  # type: ignore[no-any-return]
        return () if row is None else items_of_row(kind, row)

    def check_types(self, role: str, names: Sequence[Sequence[Hashable]]) -> None:
        """Raise an error if a label is text in one row and a number in another, or also occurs with decimals."""
        rows: dict[str, int] = {}
        types: dict[str, type] = {}
        for row, names_of_row in enumerate(names):
            for name in names_of_row:
                text = str(name)
                rows.setdefault(text, row)
                if types.setdefault(text, type(name)) is not type(name):
                    place = self.records.place(row, None)
                    message = f"the {role} {shown(text)} is text in one row and a number in another"
                    raise self.records.table.error(f"{place}: {message}")
        check_decimals(rows, role, self.records.table.error, lambda text: self.records.place(rows[text], None))

    def weights(self) -> NDArray[np.float64]:
        """Return the weight of each answer times its count."""
        total = np.ones(len(self.records.lines))
        rest = [name for name in self.names if name not in self.used and is_count(name_words(name))]
        for role, is_weight in (("weight", True), ("count", False)):
            named = self.column_of(role)
            names = [named] if named else [name for name in rest if bool(name_words(name) & _WEIGHT_WORDS) == is_weight]
            if len(names) > 1:
                self.records.table.fail(
                    f"both {printable(names[0])} and {printable(names[1])} may be the {role} of an answer; leave one "
                    "out by ignore",
                    self.records.header.line,
                )
            for name in names:
                if not named:
                    check_row_numbers(self.records, name, list(map(cell_number, self.entries(name))))
                for row, entry in enumerate(self.entries(name)):
                    number = cell_number(entry)
                    if not 0 <= number < 1e12 or not (is_weight or number.is_integer()):
                        need = "a number" if is_weight else "a whole number"
                        self.fail(row, name, f"a {role} must be {need} from 0 to below 1e12; got {shown(entry)}")
                    total[row] *= number
        return total

    def covariate(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return a covariate for both sides."""
        sides = str(self.columns.get("left", "left")), str(self.columns.get("right", "right"))
        forms = [(f"{left}_{name}", f"{right}_{name}") for left, right in dict.fromkeys([("left", "right"), sides])]
        forms += [
            (f"{name}_{left}", f"{name}_{right}")
            for left, right in dict.fromkeys([("left", "right"), ("a", "b"), sides])
        ]
        for first, second in forms:
            if {first, second} <= set(self.names):
                return self.values(first, self.entries(first)), self.values(second, self.entries(second))
        if _METADATA in self.names:
            rows = [entry if isinstance(entry, dict) else {} for entry in self.entries(_METADATA)]
            for first, second in (*forms, *_inner_forms(name)):
                if all({first, second} <= row.keys() for row in rows):
                    left, right = ([row[side] for row in rows] for side in (first, second))
                    return self.values(_METADATA, left), self.values(_METADATA, right)
        pairs = [text[:-2] for text in self.names if text.endswith("_a") and f"{text[:-2]}_b" in self.names]
        pairs += [text[5:] for text in self.names if text.startswith("left_") and f"right_{text[5:]}" in self.names]
        known = ", ".join(printable(pair) for pair in pairs if pair != "model")
        source = self.records.table.name  # empty for a data frame
        raise self.records.table.error(
            f"{source and f'{source}: '}no columns left_{name} and right_{name}, or {name}_a and {name}_b, for the "
            f"covariate {shown(name)}; "
            + (f"covariates of this file: {known}" if known else f"got {', '.join(map(printable, self.names))}")
        )

    def values(self, name: str, entries: Sequence[Any]) -> NDArray[np.float64]:
        turns = self.entries(_TURN, optional=True) if _TURN in self.names else [None] * len(entries)
        numbers = [_size(entry, _turn_number(turn)) for entry, turn in zip(entries, turns, strict=True)]
        for row, number in enumerate(numbers):
            if not math.isfinite(number):
                self.fail(row, name, f"a covariate must be a finite number; got {shown(entries[row])}")
        return np.array(numbers, np.float64)

    def pairs(self, form: Format, meanings: Any) -> list[Any]:
        """Return (left, right, answer) of each row; None without an answer."""
        columns = {role: name for role, name in self.columns.items() if role in ROLES}
        more = dict.fromkeys(_BOTH_BAD, "tie")
        votes = vote_columns(self.records, form, columns, meanings, ignore=self.ignore, more_words=more)
        check_ties(self.records, votes.unused, votes.answer)
        self.used |= set(votes.names.values()) | (set(self.records.names) - set(votes.unused) - set(self.ignore))
        answers = list(votes.answer)
        if "winner" in votes.names and votes.names["winner"] in self.names:
            named = meanings if isinstance(meanings, Mapping) else {}
            words = {*_BOTH_BAD, *words_of({word: meaning for word, meaning in named.items() if meaning == BOTH_BAD})}
            entries = self.records.column(votes.names["winner"], optional=True)
            answers = [
                BOTH_BAD if answer == "tie" and words & {answer_text(entry), str(entry).strip().casefold()} else answer
                for answer, entry in zip(answers, entries, strict=True)
            ]
        left, right = votes.left or (), votes.right or ()
        rows: list[Any] = []
        for place, row in enumerate(zip(left, right, answers, strict=True)):
            self.check_pair(place, votes.names, row)
            rows.append(None if row[2] in (None, "cannot say") else row)
        return rows

    def check_pair(self, place: int, names: Mapping[str, str], row: Sequence[Any]) -> None:
        """Raise an error for a pair that lacks an item, or has one twice; `names` are columns by role."""
        for side, item in (("left", row[0]), ("right", row[1])):
            if is_no_label(item):
                self.fail(place, names[side], f"{shown(item)} is missing; every answer needs both items by label")
        if row[0] == row[1]:
            self.fail(place, names["winner"], f"an item is compared with itself: {shown(row[0])}")

    def grades(self, meanings: Any) -> list[Any]:
        """Return (left, right, grade) of each row; None without a grade."""
        stems = [self.column_of(side) for side in ("left", "right")]
        for side, stem in zip(("left", "right"), stems, strict=True):
            if stem is None and not self.records.has_side(side):
                self.records.table.fail(f"graded votes need a column {side}", self.records.header.line)
        used, sides = self.records.sides(*(stem or side for stem, side in zip(stems, ("left", "right"), strict=True)))
        self.used |= set(chain.from_iterable(used.values()))
        name = str(self.column_of("grade"))
        if isinstance(meanings, str):
            raise OptionError(f"answers {shown(meanings)} applies to winners; grades are whole numbers")
        table, has_own_scale = _grade_table(meanings or {})
        names = {side: columns[0] for side, columns in used.items()} | {"winner": name}
        rows: list[Any] = []
        for place, row in enumerate(zip(sides["left"], sides["right"], self.entries(name), strict=True)):
            grade = _grade(row[2], table, has_own_scale)
            if grade is None and not (is_missing(row[2]) or row[2] == ""):
                form = "" if has_own_scale else f"{_A_GRADE}, or "
                self.fail(place, name, f"a grade must be {form}{', '.join(table)}; got {shown(row[2])}")
            self.check_pair(place, names, row)
            rows.append(None if grade is None else (row[0], row[1], grade))
        answers = [None if row is None else str(row[2]) if row[2] else "tie" for row in rows]
        check_ties(
            self.records, [column for column in self.names if column not in self.used], answers, "0 as the grade"
        )
        rows = self.with_signs(rows, name, sides, has_own_scale)
        if rows and not any(row[2] for row in rows if row):
            self.records.table.fail("no grade prefers a side", self.records.header.line, name)
        return rows

    def with_signs(self, rows: list[Any], name: str, items: Sides, has_own_scale: bool) -> list[Any]:
        """Give unsigned grades the sign of the winner, if there is such a column; raise an error if they contradict."""
        winner = self.column_of("winner")
        is_signed = any(row[2] < 0 for row in rows if row)
        entries: Sequence[Any] = [None] * len(rows) if winner is None else self.records.column(winner, optional=True)
        if winner is None or all(row is None or is_empty(entry) for row, entry in zip(rows, entries, strict=True)):
            if not is_signed and not has_own_scale:
                self.check_scale([row[2] for row in rows if row], name)
            return rows
        words = {**OWN_WORDS, **ARENA_WORDS}
        answers: Sequence[str | None]
        try:
            _, answers = LAYOUTS["csv"].read(self.records, winner, words, items)
        except VoteError:
            answers = [words.get(entry) if isinstance(entry, str) else None for entry in entries]
        signs = {"left": 1, "right": -1, "tie": 0}
        signed: list[Any] = []
        for place, (row, answer) in enumerate(zip(rows, answers, strict=True)):
            side = None if answer is None else signs.get(answer)
            grade = int(row[2]) if row else 0
            word = shown(entries[place])
            if row and side is not None and (np.sign(grade) != side if is_signed else bool(grade) != bool(side)):
                self.fail(place, name, f"the grade is {grade}, but the winner {word}: leave one out by ignore")
            if grade and side is None and not is_signed:
                self.fail(
                    place,
                    winner,
                    f"the grade {grade} has no sign, so the winner must be left, right, model_a or model_b, or in "
                    f"every row the item that won; got {word}",
                )
            signed.append((*row[:2], grade * side) if row and side and not is_signed else row)
        return signed

    def check_scale(self, grades: Sequence[int], name: str) -> None:
        """Raise an error if all grades favour the left side, as unconverted answers on a scale from 1 to 5 do."""
        n_for_left = sum(grade > 0 for grade in grades)
        if max(grades, default=0) > _MOST_GRADES or n_for_left >= _TELLING:
            self.records.table.fail(
                f"no grade is below 0, so all {n_for_left:,} that prefer a side favour the left one. For a scale, set "
                "answers= to a mapping such as 1=2, 2=1, 3=0, 4=-1, 5=-2, where above 0 favours the left",
                self.records.header.line,
                name,
            )

    def best_worst(self) -> list[Any]:
        """Return (items, best, worst) of each row; None without an answer."""
        names = [str(self.column_of(role)) for role in ("best", "worst")]
        column = self.column_of("items")
        numbered = [] if column else self.numbered_columns(_SHOWN_ITEM)
        if not column and not numbered:
            self.records.table.fail(
                "best-worst answers need a column items, or item_1, item_2, ...", self.records.header.line
            )
        best, worst = (self.entries(name, optional=True) for name in names)
        lists: Sequence[Any]
        if column:
            lists = [
                [part.strip() for part in entry.split("|")] if isinstance(entry, str) else entry
                for entry in self.entries(column)
            ]
        else:
            cells = zip(*(self.entries(name, optional=True) for name in numbered), strict=True)
            lists = [self.listed_cells(place, numbered, row, "item") for place, row in enumerate(cells)]
        rows: list[Any] = []
        for place, (items, top, last) in enumerate(zip(lists, best, worst, strict=True)):
            where = column or numbered[0]
            if not isinstance(items, list) or len(items) < 2:
                separated = ", separated by |" if column else ""
                self.fail(place, where, f"an answer must show two items or more{separated}; got {shown(items)}")
            self.check_items(place, where, items)
            if is_empty(top) and is_empty(last):
                rows.append(None)
                continue
            for name, entry in zip(names, (top, last), strict=True):
                if entry not in items:
                    is_position = str(entry).strip().upper() in [
                        *map(str, range(len(items) + 1)),
                        *"ABCDEFGH"[: len(items)],
                    ]
                    advice = "; write the item itself in place of its position or letter" if is_position else ""
                    self.fail(place, name, f"must be one of {', '.join(map(shown, items))}; got {shown(entry)}{advice}")
            if top == last:
                self.fail(place, names[1], f"{shown(last)} is both the best and the worst")
            rows.append((tuple(items), top, last))
        return rows

    def rankings(self) -> list[Any]:
        """Return groups of ties of each row, best first; or (ranking, item, rank) if rows are ranked items."""
        rank, item = self.column_of("rank"), self.column_of("item")
        if rank and item:
            return list(zip(self.entries(item), self.entries(rank, optional=True), strict=True))
        name = self.column_of("ranking")
        if name:
            column = [_order(entry) for entry in self.entries(name, optional=True)]
            return [self.checked_order(place, name, order) for place, order in enumerate(column)]
        names = self.numbered_columns(_PLACE)
        rows = []
        for place, cells in enumerate(zip(*(self.entries(name, optional=True) for name in names), strict=True)):
            listed = self.listed_cells(place, names, cells, "rank")
            rows.append(self.checked_order(place, names[0], [[cell] for cell in listed]))
        return rows

    def listed_cells(self, place: int, names: Sequence[str], cells: Sequence[Any], noun: str) -> list[Any]:
        """Return the cells of numbered columns; only the last of them may be empty."""
        listed = [cell for cell in cells if not is_empty(cell)]
        if any(map(is_empty, cells[: len(listed)])):
            gap = next(number for number, cell in enumerate(cells) if is_empty(cell))
            self.fail(place, names[gap], f"this {noun} is empty, but a later one is not")
        return listed

    def checked_order(self, place: int, name: str, order: Any) -> tuple[tuple[Hashable, ...], ...] | None:
        if order == []:
            return None
        if not isinstance(order, list):
            self.fail(place, name, f"a ranking must be a list of items, or text such as a > b = c; got {shown(order)}")
        if not all(order) or any(is_empty(item) for group in order for item in group):
            self.fail(place, name, "a ranking has an empty item")
        self.check_items(place, name, list(chain.from_iterable(order)))
        if sum(map(len, order)) < 2:
            self.fail(place, name, f"a ranking must have two items or more; got only {shown(order[0][0])}")
        return tuple(map(tuple, order))

    def check_items(self, place: int, name: str, items: Sequence[Any]) -> None:
        """Raise an error for entries that are not labels, and for repeated items."""
        for item in items:
            if isinstance(item, bool) or not isinstance(item, str | int) or is_empty(item):
                self.fail(place, name, f"an item must be text or a whole number; got {shown(item)}")
            if isinstance(item, str) and not self.records.are_texts and (item != item.strip() or "\n" in item):
                self.fail(place, name, f"a space or a line break at an end of {shown(item)}")
        if len(set(items)) < len(items):
            again = next(item for item in items if items.count(item) > 1)
            self.fail(place, name, f"{shown(again)} occurs twice in one answer")

    def rankings_of_rows(self, rows: list[Any]) -> ChoiceAnswers:
        """Return rankings from rows that hold one item and its rank."""
        item, rank = str(self.column_of("item")), str(self.column_of("rank"))
        list_column = self.column_of("ranking")
        keys: list[tuple[Hashable, ...]] = []
        voters, prompts = self.labels("voter"), self.labels("prompt")
        turns = None if prompts is None else self.turns
        parts = [names for names in (voters, prompts, turns) if names is not None]
        if list_column:
            parts = [tuple(map(str, self.entries(list_column)))]
        keys = list(zip(*parts, strict=True)) if parts else [()] * len(rows)
        weights = self.weights()
        self.check_rest()
        orders: dict[tuple[Hashable, ...], dict[Hashable, float]] = {}
        first: dict[tuple[Hashable, ...], int] = {}
        for place, (key, (label, entry)) in enumerate(zip(keys, rows, strict=True)):
            self.check_items(place, item, [label])
            start = first.setdefault(key, place)
            ranks = orders.setdefault(key, {})
            for names, noun in ((voters, "voter"), (prompts, "prompt"), (turns, "turn"), (weights, "weight")):
                if names is not None and names[place] != names[start]:
                    self.fail(place, item, f"the rows of one ranking have different {noun}s")
            if label in ranks:
                self.fail(place, item, f"{shown(label)} occurs twice in one ranking")
            if is_empty(entry):
                continue
            ranks[label] = cell_number(entry)
            if not 0 < ranks[label] < math.inf:
                self.fail(place, rank, f"a rank must be a number above 0, with 1 for the best; got {shown(entry)}")
        lists: list[Any] = []
        for key, ranks in orders.items():
            groups = [tuple(label for label in ranks if ranks[label] == value) for value in sorted(set(ranks.values()))]
            if len(ranks) == 1:
                self.fail(
                    first[key], item, f"a ranking must have two items or more; got only {shown(next(iter(ranks)))}"
                )
            lists.append(tuple(groups) or None)
        starts = list(first.values())
        of_voter, of_prompt, of_turn = (
            None if names is None else tuple(names[start] for start in starts) for names in (voters, prompts, turns)
        )
        rankings = ChoiceAnswers("rankings", tuple(lists), weights[starts], of_voter, of_prompt, turns=of_turn)
        return self.checked(rankings)


def _name(entry: Any) -> Hashable:
    """Return an entry as a hashable name: JSON for a list or dict, and an integer for a whole float."""
    if isinstance(entry, float) and entry.is_integer():
        return int(entry)
    return json.dumps(entry, sort_keys=True, ensure_ascii=False) if isinstance(entry, list | dict) else entry


def _inner_forms(name: str) -> list[tuple[str, str]]:
    """Return the names of arenas that have the side in the middle, such as sum_assistant_a_tokens."""
    head, _, last = name.rpartition("_")
    return [(f"{head}_a_{last}", f"{head}_b_{last}")] if head else []


def _turn_number(entry: object) -> int | None:
    number = cell_number(entry)
    return int(number) if number.is_integer() and number > 0 else None


def _size(entry: object, n_turns: int | None) -> float:
    """Return a number, the sum of a dict of numbers, or the number of characters by the assistant in a conversation.

    If `n_turns` is known, only the assistant's first `n_turns` answers count.
    """
    if isinstance(entry, dict):
        return math.fsum(map(cell_number, entry.values())) if entry else math.nan
    if isinstance(entry, list) and entry and all(isinstance(turn, dict) for turn in entry):
        contents = [turn.get("content") for turn in entry if turn.get("role", "assistant") == "assistant"][:n_turns]
        return float(sum(map(len, contents))) if all(isinstance(text, str) for text in contents) else math.nan
    return cell_number(entry)


def _grade(entry: object, table: Mapping[str, int], has_own_scale: bool) -> int | None:
    number = cell_number(entry)
    text = f"{number:.0f}" if number.is_integer() else entry.strip() if isinstance(entry, str) else ""
    if text in table:
        return table[text]
    return int(number) if number.is_integer() and abs(number) <= _LARGEST_GRADE and not has_own_scale else None


def _grade_table(meanings: Mapping[Any, Any]) -> tuple[dict[str, int], bool]:
    """Return the meanings of grades by their text, and whether they redefine numbers, as for a scale from 1 to 5."""
    table = {}
    for word, meaning in meanings.items():
        number, text = cell_number(meaning), answer_text(word)
        if not text or not number.is_integer() or abs(number) > _LARGEST_GRADE:
            raise OptionError(f"a grade must be {_A_GRADE}; got {shown({word: meaning})}")
        value = cell_number(word)
        table[f"{value:.0f}" if value.is_integer() else text.strip()] = int(number)
    has_own_scale = any(cell_number(word).is_integer() for word in meanings)
    return ({} if has_own_scale else dict(GRADE_WORDS)) | table, has_own_scale


def _order(entry: object) -> object:
    """Return the groups of ties in a cell; an empty list if the cell is empty."""
    if is_empty(entry):
        return []
    if isinstance(entry, str):
        return [[item.strip() for item in group.split("=")] for group in entry.split(">")]
    if not isinstance(entry, list):
        return entry
    return [group if isinstance(group, list) else [group] for group in entry]
