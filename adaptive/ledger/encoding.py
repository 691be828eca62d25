"""How values stand in the tables: labels and settings as JSON, times as microseconds, digests of text lines."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Hashable, Iterable
from datetime import UTC, datetime
from typing import Any

from adaptive.record import json_label

__all__ = ["digest_of", "json_of", "label_of", "label_text", "now", "time_text", "value_of"]


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
