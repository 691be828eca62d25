"""Find the columns of each format of votes, and the meaning of its answers.

Answers are words of the format or those that the caller names, marks, names of items, or results of a tool.
"""

import json
import math
import re
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from adaptive._formats.annotation_tools import DIMENSION, check_dimension
from adaptive._formats.records import Records, is_missing, map_column
from adaptive._votes import Vote
from adaptive.errors import VoteError
from rankcorr._checks import is_unhashable, shown
from rankcorr._input.identifiers import identifier_text
from rankcorr._io.columnar import CodedColumn, column_of_codes, distinct
from rankcorr._io.source import printable
from rankcorr._io.table import list_names
from rankcorr.errors import OptionError

Answer: TypeAlias = Literal["left", "right", "tie", "cannot say"]
Words: TypeAlias = Mapping[str, str | None]  # meanings of words; None is no answer
Winners: TypeAlias = tuple[str, Sequence[str | None]]  # the column that names them, and the answer of each row
Answers: TypeAlias = Mapping[Any, str | None] | Literal["left_won", "codes"]

Sides: TypeAlias = Mapping[str, Sequence[Hashable]]

MEANINGS: Final = get_args(Answer)
BOTH_BAD: Final = "both bad"
# pandas writes a column of whole numbers with gaps as 1.0 and 0.0.
MARKS: Final = {
    **dict.fromkeys(("1", "1.0", "True", "true"), True),
    **dict.fromkeys(("0", "0.0", "False", "false"), False),
}
NAMED_ANSWERS: Final[dict[str, dict[str, str | None]]] = {
    "left_won": {text: "left" if is_set else "right" for text, is_set in MARKS.items()},
    "codes": {
        f"{code}{end}": meaning
        for code, meaning in {1: "left", 0: "tie", -1: "right", -2: None}.items()
        for end in ("", ".0")
    },
}
OWN_WORDS: Final = {word: word for word in MEANINGS}
ARENA_WORDS: Final = {"model_a": "left", "model_b": "right"} | dict.fromkeys(
    ("tie", "tie (bothbad)", "both_bad", "both bad", "bothbad", "tie (inconsistent)"), "tie"
)
_ONE_HOT: Final = {"winner_model_a": "left", "winner_model_b": "right", "winner_tie": "tie"}
_WITH_DECIMALS: Final = re.compile(r"^(-?[0-9]+)\.0+$")  # no version, as in "gpt-4.0"
_END_OF_SCALE: Final = 3.0  # of potato's scales, unless they are configured
_TELLING: Final = 20  # answers for one side alone: one in a million without a bias
_MOST_NAMED: Final = 10  # unknown answers that a message names
_ADVICE: Final = (
    'For other answers, set answers= to "left_won" (1 left, 0 right), to "codes" (1 left, 0 tie, -1 right; many scales '
    "use negative numbers for the left item) or to a mapping such as A=left, B=right, error=cannot say. If every entry "
    "names the item that won, no option is needed"
)


def words_of(answers: Answers | None) -> dict[str, str | None]:
    """Return the meaning of each answer that the option `answers` names, by its text; 1.0 also means the number 1.

    Raises
    ------
    OptionError
        Neither a mapping nor the name of one, an unknown meaning, or an answer with two meanings.

    Examples
    --------
    >>> words_of({"A": "left", "B": "right", 0: "tie"})
    {'A': 'left', 'B': 'right', '0': 'tie'}
    """
    if answers is None:
        return {}
    meanings = NAMED_ANSWERS.get(answers) if isinstance(answers, str) else answers
    if not isinstance(meanings, Mapping):
        names = " or ".join(map(repr, NAMED_ANSWERS))
        raise OptionError(f"answers must be {names}, or a mapping of answers to their meanings; got {shown(answers)}")
    words: dict[str, str | None] = {}
    for answer, meaning in meanings.items():
        text = answer_text(answer)
        meaning = "tie" if meaning == BOTH_BAD else meaning  # noqa: PLW2901 - only answers of any kind tell them apart
        if text is None or not (meaning is None or meaning == "" or meaning in MEANINGS):
            choices = ", ".join(map(repr, (*MEANINGS, BOTH_BAD)))
            raise OptionError(
                f"an answer, text or a number, means {choices}, or None for no answer; got {shown({answer: meaning})}"
            )
        for spelling in {text, _WITH_DECIMALS.sub(r"\1", text)}:
            if words.setdefault(spelling, meaning or None) != (meaning or None):
                raise OptionError(
                    f"the answer {shown(spelling)} has two meanings: {shown(words[spelling])} and {shown(meaning)}"
                )
    return words


def read_answers(entries: Sequence[Any], words: Words, where: Callable[[int], str]) -> Sequence[str | None]:
    """Return the meaning of each entry; an empty entry, None and nan mean no answer.

    Raises
    ------
    VoteError
        An entry that is not among the words. The message has its place, the other unknown ones, and the option.

    Examples
    --------
    >>> read_answers(["left", "", None, "tie"], OWN_WORDS, "winner[{}]".format)
    ['left', None, None, 'tie']
    """
    if isinstance(entries, CodedColumn):
        meanings = read_answers(entries.values, words, lambda code: where(int(entries.first_rows[code])))
        return CodedColumn(list(meanings), entries.codes, entries.first_rows)
    kinds = set(map(type, entries))
    try:
        # 1, 1.0 and True are the same dictionary key, but three answers.
        keys: Sequence[Any] = entries if kinds <= {str} else list(zip(map(type, entries), entries, strict=True))
        texts = {key: answer_text(key if isinstance(key, str) else key[1]) for key in dict.fromkeys(keys)}
        texts = {key: text and known_word(text, words) for key, text in texts.items()}
    except TypeError:  # a list, as JSON has them
        row, entry = next((row, entry) for row, entry in enumerate(entries) if isinstance(entry, list | dict | set))
        raise VoteError(_unknown(where(row), words, [entry])) from None
    unknown = [key for key, text in texts.items() if text is None or (text and text not in words)]
    if unknown:
        unknown_answers = [key if isinstance(key, str) else key[1] for key in unknown]
        raise VoteError(_unknown(where(keys.index(unknown[0])), words, unknown_answers))
    meaning_of = {key: words[text] if text else None for key, text in texts.items()}
    return list(map(meaning_of.__getitem__, keys))


def known_word(text: str, words: Container[str]) -> str:
    """Return a text in small letters and without outer spaces, unless it is one of the words as it is."""
    return text if text in words else text.strip().casefold()


def answer_text(entry: object) -> str | None:
    """Return the text of an answer, "" for an empty one; None for anything but text or a number."""
    if isinstance(entry, str):
        return entry if entry.strip() else ""
    if isinstance(entry, Vote):
        return "" if entry is Vote.UNANSWERED else entry.name.lower()
    if is_missing(entry):
        return ""
    if isinstance(entry, bool | np.bool_):
        return str(bool(entry))
    if isinstance(entry, Integral):
        return str(int(entry))
    if isinstance(entry, Real) and float(entry).is_integer():
        return str(int(float(entry)))
    return str(entry) if isinstance(entry, Real) else None


def _unknown(place: str, words: Iterable[str], answers: Sequence[Any]) -> str:
    others = [shown(entry) for entry in answers[1 : _MOST_NAMED + 1]] + (
        ["..."] if len(answers) > _MOST_NAMED + 1 else []
    )
    also = f" (also {', '.join(others)})" if others else ""
    *first, last = [repr(word) for word in words] or ["empty"]
    choices = " or ".join([", ".join(first), last] if first else [last])
    return f"{place}: the winner must be {choices}; got {shown(answers[0])}{also}. {_ADVICE}"


def _words_in_a_column(records: Records, column: object, words: Words, sides: Sides) -> Winners:
    """Return what the words of a column mean, or the sides whose items it names, if all rows have a name or a tie.

    Names of items come before words with other capitals, so that an item may be called Tie.
    """
    name = "winner" if column is None else str(column)
    entries = records.column(name)
    if sides and _name_items(entries, words, sides) and not _are_codes(entries):
        draws = {word: meaning for word, meaning in words.items() if meaning not in _SIDES}
        answers = _sides_that_won(entries, sides)
        if "no item" in distinct(answers):
            answers = [
                draws.get(known_word(str(entry), draws), answer) if answer == "no item" else answer
                for entry, answer in zip(entries, answers, strict=True)
            ]
        if "no item" not in distinct(answers):
            return name, answers
    return name, read_answers(entries, words, lambda row: records.place(row, name))


def _name_items(entries: Sequence[Any], words: Words, sides: Sides) -> bool:
    """Return whether an entry that is no word as it is names an item of any row."""
    try:
        others = [entry for entry in distinct(entries) if answer_text(entry) not in (*words, "")]
        labels = {identifier_text(label) for column in sides.values() for label in distinct(column)}
    except TypeError:  # a list, as JSON has them
        return False
    return any({answer_text(entry), identifier_text(entry)} & labels for entry in others)


def _are_codes(entries: Iterable[Any]) -> bool:
    """Return whether all entries are codes such as 1 and 0, which may also be names of items."""
    codes = {text for names in NAMED_ANSWERS.values() for text in names}
    return {str(entry) for entry in entries if not is_missing(entry)} <= {*codes, ""}


def _sides_that_won(entries: Sequence[Any], sides: Sides) -> Sequence[str | None]:
    """Return the side whose item each entry names; None without an entry, and "no item" for anything else."""
    coded = [column for column in (entries, sides["left"], sides["right"]) if isinstance(column, CodedColumn)]
    sizes = [len(column.values) for column in coded]
    if len(coded) == 3 and 0 < math.prod(sizes) < 2**63:
        numbers, codes = np.unique(
            np.ravel_multi_index(tuple(column.codes for column in coded), sizes), return_inverse=True
        )
        places = np.unravel_index(numbers, sizes)  # of each distinct row
        rows = [[column.values[place] for place in part.tolist()] for column, part in zip(coded, places, strict=True)]
        return column_of_codes(
            list(_sides_that_won(rows[0], {"left": rows[1], "right": rows[2]})), codes.astype(np.int32)
        )
    answers: list[str | None] = []
    for winner, left, right in zip(entries, sides["left"], sides["right"], strict=True):
        if isinstance(winner, float) and winner.is_integer():  # pandas, where other rows have no winner
            winner = int(winner)  # noqa: PLW2901
        text = None if is_unhashable(winner) else identifier_text(winner)
        if is_missing(winner) or winner == "":
            answers.append(None)
        elif text in (identifier_text(left), identifier_text(right)):
            answers.append("left" if text == identifier_text(left) else "right")
        else:
            answers.append("no item")
    return answers


def _marks_in_columns(records: Records, *_: object) -> Winners:
    names = [name for name in _ONE_HOT if name in records.names or name != "winner_tie"]
    winners: list[str | None] = []
    columns = [records.column(name) for name in names]
    marks_of = [map_column(lambda entry: MARKS.get(answer_text(entry) or ""), column) for column in columns]
    for row, (entries, marks) in enumerate(zip(zip(*columns, strict=True), zip(*marks_of, strict=True), strict=True)):
        if None not in marks and marks.count(True) == 1:
            winners.append(_ONE_HOT[names[marks.index(True)]])
        elif all(entry == "" or is_missing(entry) for entry in entries):
            winners.append(None)
        else:
            got = ", ".join(map(shown, entries))
            raise VoteError(
                f"{records.place(row, names[0])}: one of {list_names(names)} must be 1, and the others 0; got {got}"
            )
    return names[0], winners


def _first_wins(records: Records, *_: object) -> Winners:
    return "winner", ["left"] * len(records.lines)


def _winner_by_label(records: Records, column: object, _: object, sides: Sides) -> Winners:
    """Return the side whose item a column names, as crowd-kit does in `label`."""
    name = "label" if column is None else str(column)
    entries = records.column(name)
    answers = _sides_that_won(entries, sides)
    if "no item" in distinct(answers):
        row = answers.index("no item")
        items = f"{shown(sides['left'][row])} or {shown(sides['right'][row])}"
        raise VoteError(
            f"{records.place(row, name)}: the winner must be {items}; got {shown(entries[row])}. If it is a side, set "
            f"columns= to winner={printable(name)}"
        )
    return name, answers


def _answers_of_a_scheme(records: Records, column: object, words: Words, _: object) -> Winners:
    """Return the answers of the only pairwise scheme of a tool, or of the one named."""
    if column is None:
        kinds = records.schemes
        schemes = [name for name in kinds if kinds[name] == "pairwise"] or [n for n in kinds if kinds[n] == "choices"]
        if records.tool is None:  # a table of Label Studio, which does not mark its result columns
            schemes = [name for name in records.names if _holds_results(records.column(name, optional=True))]
        elif not kinds:
            return "winner", [None] * len(records.lines)  # nothing has been answered yet
        if len(schemes) != 1:
            candidates = schemes or [name for name in kinds if kinds[name] == DIMENSION]
            hint = (
                f"the answers may be those of {list_names(candidates)}"
                if candidates
                else "no results of a Pairwise tag"
            )
            example = f": set columns= to winner={printable(candidates[0])}" if candidates else ""
            records.table.fail(f"{hint}; name the column of winners{example}")
        column = schemes[0]
    name = str(column)
    answers = records.column(name, optional=True)
    if records.schemes.get(name) == DIMENSION:
        check_dimension(records.table, zip(records.lines, answers, strict=True))
    entries = [_choice_of(entry) for entry in answers]
    if records.tool == "potato":
        entries = _sides_on_a_scale(records, name, entries, words)
    return name, read_answers(entries, words, lambda row: records.place(row, name))


def _sides_on_a_scale(records: Records, column: str, entries: list[Any], words: Words) -> list[Any]:
    """Return A, B or tie in place of each number on a scale of potato: A if it is negative.

    The numbers stay if the caller names what they mean.

    Raises
    ------
    VoteError
        Numbers that all favour B, as those of a scale from 1 to 7, whose middle is 4, would.
    """
    numbers = [entry["scale_value"] if isinstance(entry, dict) else None for entry in entries]
    on_scale = [number for number in numbers if number is not None]
    is_named = any(answer_text(number) in words for number in on_scale)
    n_for_b = sum(number > 0 for number in on_scale)
    is_of_one_side = n_for_b and min(on_scale) >= 0 and (max(on_scale) > _END_OF_SCALE or n_for_b >= _TELLING)
    if is_of_one_side and not is_named:
        raise VoteError(
            f"{records.place(numbers.index(max(on_scale)), column)}: no number on the scale is below 0, so all "
            f"{n_for_b:,} that prefer an item favour the second. For a scale whose middle is not 0, set answers= to a "
            "mapping such as 1=left, 2=left, 3=tie, 4=right, 5=right"
        )
    sides = {number: number if is_named else "tie" if number == 0 else "AB"[number > 0] for number in on_scale}
    return [entry if number is None else sides[number] for entry, number in zip(entries, numbers, strict=True)]


def _holds_results(entries: Sequence[Any]) -> bool:
    first = next((entry for entry in entries if not is_missing(entry) and entry != ""), None)
    return isinstance(_result(first), dict)


def _result(entry: object) -> object:
    """Return the value of a result from a list of one, or from a cell that holds it as JSON."""
    if isinstance(entry, str) and entry.startswith("["):
        try:
            entry = json.loads(entry)
        except (ValueError, RecursionError):
            return entry
    return entry[0] if isinstance(entry, list) and len(entry) == 1 else entry


def _choice_of(entry: object) -> object:
    result = _result(entry)
    if not isinstance(result, dict):
        return entry
    choices = result.get("choices")
    return choices[0] if isinstance(choices, list) and len(choices) == 1 else result.get("selected", entry)


class VoteLayout(NamedTuple):
    """Columns of one format, and how their answers are read.

    Attributes
    ----------
    left, right : str
        Columns of the items, or the beginnings of the names of their parts.
    voters : tuple of str
        Columns that may name the voter; the first one present is read.
    marks : tuple of str
        Columns that only this format has; empty if its rows or its numbers identify it.
    words : mapping of str to str, or None
        Meanings of its answers; None if they are not words.
    read : callable
        Column of the winners, and their meanings.
    """

    left: str
    right: str
    voters: tuple[str, ...]
    marks: tuple[str, ...]
    words: Words | None
    read: Callable[[Records, object, Words, Sides], Winners]

    def fits(self, records: Records, columns: Container[str] = ()) -> bool:
        """Tell whether the columns are those of the format; that of the winner may have another name."""
        has_winner = "winner" in columns and self.left != "winner"
        return bool(self.marks) and all(
            records.has_side(mark) or (mark == "winner" and has_winner) for mark in self.marks
        )


_MODELS: Final = ("model_a", "model_b")
_PAIR: Final = ("winner", "loser")
_TEXTS: Final = ("text1", "text2")
_SIDES: Final = {"left": "left", "right": "right"}
_SELECTIONS: Final = {"A": "left", "B": "right", "tie": "tie"}
LAYOUTS: Final = {
    "csv": VoteLayout("left", "right", ("voter",), ("left", "right"), OWN_WORDS, _words_in_a_column),
    "arena": VoteLayout(*_MODELS, ("judge",), (*_MODELS, "winner"), ARENA_WORDS, _words_in_a_column),
    "one_hot": VoteLayout(*_MODELS, ("judge",), (*_MODELS, *list(_ONE_HOT)[:2]), None, _marks_in_columns),
    "pairs": VoteLayout(*_PAIR, ("voter",), _PAIR, None, _first_wins),
    "choix": VoteLayout(*_PAIR, ("voter",), (), None, _first_wins),
    "crowd_kit": VoteLayout("left", "right", ("worker", "voter"), ("left", "right", "label"), None, _winner_by_label),
    "label_studio": VoteLayout(
        *_TEXTS, ("voter", "annotator"), ("annotation_id", "annotator"), _SIDES, _answers_of_a_scheme
    ),
    "potato": VoteLayout("left", "right", ("voter",), (), _SELECTIONS, _answers_of_a_scheme),
}
