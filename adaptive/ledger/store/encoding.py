"""How values stand in the tables: labels and settings as JSON, times as microseconds, digests of text lines."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

from adaptive.errors import VoteError
from adaptive.record import json_label
from rankcorr.checks import shown

_PAIR_ID: Final = re.compile(r"([1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})-(0|[1-9][0-9]{0,8})")
_PADDED_ID: Final = re.compile(r"0{0,20}([1-9][0-9]{0,8})-0{0,20}(0|[1-9][0-9]{0,8})-0{0,20}(0|[1-9][0-9]{0,8})")


def now() -> int:
    """Time in microseconds since 1970, UTC."""
    return time.time_ns() // 1_000


def time_text(at: int) -> str:
    """ISO 8601 of a time of `now`.

    Examples
    --------
    >>> time_text(0)
    '1970-01-01T00:00:00.000000Z'
    """
    moment = datetime.fromtimestamp(at // 1_000_000, UTC).replace(microsecond=at % 1_000_000)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def json_of(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, no nan; text as it is."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))


def value_of(text: str) -> Any:
    """Value of `json_of`."""
    return json.loads(text)


def label_text(label: Hashable) -> str:
    """Label as JSON; a tuple is a list.

    Raises
    ------
    ProtocolError
        When it is not a string, an integer or a tuple of those.

    Examples
    --------
    >>> label_text(("salary", "wage")), label_of('["salary","wage"]')
    ('["salary","wage"]', ('salary', 'wage'))
    """
    return json_of(json_label(label))


def label_of(text: str) -> Hashable:
    """Label of `label_text`."""
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value


def pair_id(number: int, sheet: int, position: int) -> str:
    """Id of a pair as voters and files know it: ballot, sheet, and position among all pairs of the sheet.

    It is the same for comparisons and checks, and depends on nothing by which they differ.
    """
    return f"{number}-{sheet}-{position}"


def pair_at(pair: object) -> tuple[int, int, int]:
    """Ballot, sheet and position of an id of `pair_id`.

    Raises
    ------
    VoteError
        When it is not such an id.

    Examples
    --------
    >>> pair_at("2-0-17")
    (2, 0, 17)
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


def digest_of(lines: Iterable[str]) -> str:
    """SHA-256 of lines of UTF-8, each ended by a line feed: `sha256sum` of a file of these lines gives it too.

    Examples
    --------
    >>> digest_of(["a", "b"])[:16]
    '911169ddaaf146af'
    """
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode() + b"\n")
    return digest.hexdigest()


_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-][0-9]+(\.[0-9]+)?")


def guarded(cell: str) -> str:
    """Cell that no spreadsheet runs as a formula.

    A cell that begins with =, +, -, @, a tab or a carriage return, and is no number, gets an apostrophe in front, which
    spreadsheets take as "text follows". A cell that looks guarded already gets another one, so that reading back takes
    away just what writing has put there.

    Examples
    --------
    >>> guarded("=1+1"), guarded("-1.5"), guarded("'=1+1"), guarded("plum")
    ("'=1+1", '-1.5', "''=1+1", 'plum')
    """
    return "'" + cell if _is_formula(cell) else cell


def unguarded(cell: str) -> str:
    """Cell that `guarded` was given.

    Examples
    --------
    >>> unguarded("'=1+1"), unguarded("''=1+1"), unguarded("'plum'")
    ('=1+1', "'=1+1", "'plum'")
    """
    return cell[1:] if cell.startswith("'") and _is_formula(cell[1:]) else cell


def _is_formula(cell: str) -> bool:
    return _FORMULA.match(cell) is not None and _NUMBER.fullmatch(cell) is None
