"""Warnings that come with a result, and how a program with threads collects them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rankcorr.errors import UndefinedCorrelationWarning

_collected: ContextVar[list[str] | None] = ContextVar("rankcorr_notices", default=None)


def warn_undefined(why: str, *, what: str = "the correlation", stacklevel: int = 4) -> None:
    """Warn that a statistic is nan; by default at the line that called the public function."""
    give_notice(f"{what} is undefined: {why}", UndefinedCorrelationWarning, stacklevel=stacklevel + 1)


def give_notice(message: str, category: type[Warning], *, stacklevel: int = 3) -> None:
    """Warn, or leave the message to `collected_notices`; by default at the line that called the public function."""
    collected = _collected.get()
    if collected is None:
        warnings.warn(message, category, stacklevel=stacklevel)
    else:
        collected.append(message)


@contextmanager
def collected_notices() -> Iterator[list[str]]:
    """Collect, in this thread alone, what would otherwise be a warning.

    `warnings.catch_warnings` changes the whole process, so the threads of a server would see each other's warnings.

    Examples
    --------
    >>> from rankcorr import weighted_tau
    >>> with collected_notices() as notices:
    ...     result = weighted_tau([1, 2], [3, 3])
    >>> notices
    ['the correlation is undefined: all items that have weight are tied in one ranking']
    """
    messages: list[str] = []
    token = _collected.set(messages)
    try:
        yield messages
    finally:
        _collected.reset(token)
