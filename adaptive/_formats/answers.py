"""Find the meaning of answers in a file or a data frame: words of its format, and those that the caller names."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, Final, Literal, TypeAlias, get_args

from adaptive._formats.records import is_missing
from adaptive._votes import Vote
from adaptive.errors import VoteError
from rankcorr._checks import shown
from rankcorr._io.columnar import CodedColumn
from rankcorr.errors import OptionError

Answer: TypeAlias = Literal["left", "right", "tie", "cannot say"]
Answers: TypeAlias = Mapping[Any, str | None] | Literal["left_won", "codes"]

MEANINGS: Final = get_args(Answer)
# pandas writes a column of whole numbers with gaps as 1.0 and 0.0.
_MARKS: Final = {
    **dict.fromkeys(("1", "1.0", "True", "true"), True),
    **dict.fromkeys(("0", "0.0", "False", "false"), False),
}
NAMED_ANSWERS: Final[dict[str, dict[str, str | None]]] = {
    "left_won": {text: "left" if is_set else "right" for text, is_set in _MARKS.items()},
    "codes": {
        f"{code}{end}": meaning
        for code, meaning in {1: "left", 0: "tie", -1: "right", -2: None}.items()
        for end in ("", ".0")
    },
}
OWN_WORDS: Final = {word: word for word in MEANINGS}
ARENA_WORDS: Final = {
    "model_a": "left",
    "model_b": "right",
    "tie": "tie",
    "tie (bothbad)": "tie",
    "both_bad": "tie",
    "both bad": "tie",
    "bothbad": "tie",
    "tie (inconsistent)": "tie",
}
_MOST_NAMED: Final = 10  # unknown answers that a message names
_ADVICE: Final = (
    'For other answers, set answers= to "left_won" (1 left, 0 right), to "codes" (1 left, 0 tie, -1 right; many scales '
    "use negative numbers for the left item) or to a mapping such as A=left, B=right, error=cannot say. If every entry "
    "names the item that won, no option is needed"
)


def words_of(answers: Answers | None) -> dict[str, str | None]:
    """Return the meaning of each answer that the option `answers` names, by its text.

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
        text = _text(answer)
        if text is None or not (meaning is None or meaning == "" or meaning in MEANINGS):
            choices = ", ".join(map(repr, MEANINGS))
            raise OptionError(
                f"an answer, text or a number, means {choices}, or None for no answer; got {shown({answer: meaning})}"
            )
        if words.setdefault(text, meaning or None) != (meaning or None):
            raise OptionError(f"the answer {shown(text)} has two meanings: {shown(words[text])} and {shown(meaning)}")
    return words


def read_answers(
    entries: Sequence[Any], words: Mapping[str, str | None], where: Callable[[int], str]
) -> Sequence[str | None]:
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
        texts = {key: _text(key if isinstance(key, str) else key[1]) for key in dict.fromkeys(keys)}
    except TypeError:  # a list, as JSON has them
        row, entry = next((row, entry) for row, entry in enumerate(entries) if isinstance(entry, list | dict | set))
        raise VoteError(_unknown(where(row), words, [entry])) from None
    unknown = [key for key, text in texts.items() if text is None or (text and text not in words)]
    if unknown:
        unknown_answers = [key if isinstance(key, str) else key[1] for key in unknown]
        raise VoteError(_unknown(where(keys.index(unknown[0])), words, unknown_answers))
    meaning_of = {key: words[text] if text else None for key, text in texts.items()}
    return list(map(meaning_of.__getitem__, keys))


def is_one(entry: object) -> bool | None:
    """Tell whether a mark of a one-hot column is set; None if it is not a mark."""
    return _MARKS.get(_text(entry) or "")


def _text(entry: object) -> str | None:
    """Return the text of an answer, "" for an empty one; None for anything but text or a number."""
    if isinstance(entry, str):
        return entry if entry.strip() else ""
    if isinstance(entry, Vote):
        return "" if entry is Vote.UNANSWERED else entry.name.lower()
    if is_missing(entry):
        return ""
    if isinstance(entry, bool):
        return str(entry)
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
