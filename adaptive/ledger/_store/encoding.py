"""Encode values for the tables: labels as JSON, answers as codes, times as microseconds, and lines as digests."""

import hashlib
import json
import re
import time
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from adaptive._record import json_label
from adaptive._votes import Vote
from adaptive.errors import VoteError
from rankcorr._checks import shown

_PAIR_ID: Final = re.compile(r"b?([1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})")
_PADDED_ID: Final = re.compile(r"b?0{0,20}([1-9][0-9]{0,8})-0{0,20}(0|[1-9][0-9]{0,8})-0{0,20}(0|[1-9][0-9]{0,8})")


def now() -> int:
    """Return the current time in microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


def time_text(at: int) -> str:
    """Return the ISO 8601 form of a time of `now`.

    See Also
    --------
    LedgerEvent : Its times have this form.

    Examples
    --------
    >>> from adaptive.ledger import time_text
    >>> time_text(0)
    '1970-01-01T00:00:00.000000Z'
    """
    moment = datetime.fromtimestamp(at // 1_000_000, UTC).replace(microsecond=at % 1_000_000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def json_of(value: Any) -> str:
    """Return canonical JSON: sorted keys, no spaces, no nan, and unescaped text."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def value_of(text: str) -> Any:
    """Return the value that `json_of` encoded."""
    return json.loads(text)


def label_text(label: Hashable) -> str:
    """Return a label as JSON; a tuple becomes a list.

    Raises
    ------
    ProtocolError
        If it is not a string, an integer or a tuple of those.

    Examples
    --------
    >>> label_text(("salary", "wage")), label_of('["salary","wage"]')
    ('["salary","wage"]', ('salary', 'wage'))
    """
    return json_of(json_label(label))


def label_of(text: str) -> Hashable:
    """Return the label that `label_text` encoded."""
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value


def pair_id(number: int, sheet: int, position: int) -> str:
    """Return the id of a pair for voters and files: ballot, sheet, and position among all pairs of the sheet.

    Comparisons and checks have ids of the same form, which depend on nothing that distinguishes the two.

    See Also
    --------
    pair_at : The reverse.

    Examples
    --------
    >>> from adaptive.ledger import pair_id
    >>> pair_id(2, 0, 17)
    '2-0-17'
    """
    return f"{number}-{sheet}-{position}"


def file_id(pair: str) -> str:
    """Return the form of a pair's id in a table: a spreadsheet would make a date of "2-0-17".

    See Also
    --------
    pair_at : Reads both forms.

    Examples
    --------
    >>> from adaptive.ledger import file_id
    >>> file_id("2-0-17")
    'b2-0-17'
    """
    return f"b{pair}"


def pair_at(pair: object) -> tuple[int, int, int]:
    """Return ballot, sheet and position of an id of `pair_id`.

    Raises
    ------
    VoteError
        If it is not an id of this form.

    See Also
    --------
    pair_id : The reverse.

    Examples
    --------
    >>> from adaptive.ledger import pair_at
    >>> pair_at("2-0-17"), pair_at("b2-0-17")
    ((2, 0, 17), (2, 0, 17))
    """
    match = _PAIR_ID.fullmatch(pair) if isinstance(pair, str) else None
    if match is None:
        padded = _PADDED_ID.fullmatch(pair) if isinstance(pair, str) else None
        if padded is not None:
            meant = "-".join(padded.groups())
            raise VoteError(f"comparison {pair!r} has a leading zero, which no id has; did you mean {meant!r}?")
        raise VoteError(f'a comparison has an id like "2-0-17": ballot, sheet and position; got {shown(pair)}')
    number, sheet, position = map(int, match.groups())
    return number, sheet, position


def sum_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(lines: Iterable[str]) -> str:
    """Return the SHA-256 of UTF-8 lines, each ended by a line feed, as `sha256sum` gives for a file of them.

    Examples
    --------
    >>> digest_of(["a", "b"])[:16]
    '911169ddaaf146af'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


CANNOT_SAY: Final = 2
ANSWERS: Final = {"left": int(Vote.LEFT), "right": int(Vote.RIGHT), "tie": int(Vote.TIE), "cannot say": CANNOT_SAY}
_ANSWER_NAMES: Final = {code: name for name, code in ANSWERS.items()}


def answer_code(answer: object) -> int:
    """Return the code of "left", "right", "tie" or "cannot say".

    Raises
    ------
    VoteError
        For any other answer.
    """
    code = ANSWERS.get(answer) if isinstance(answer, str) else None
    if code is None:
        raise VoteError(f"an answer is 'left', 'right', 'tie' or 'cannot say'; got {shown(answer)}")
    return code


def answer_name(code: int) -> str:
    """Return the answer of a code that `answer_code` gave."""
    return _ANSWER_NAMES[code]
