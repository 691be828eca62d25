"""Answers that take long, kept until something of their campaign changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

__all__ = ["Kept", "Remembered"]

T = TypeVar("T")


@dataclass(frozen=True)
class Kept(Generic[T]):
    """An answer, and the stamp of the state that it is of."""

    stamp: str
    value: T


class Remembered:
    """The last answers of a process, at most `most` of them: a page that stands open all day fills no memory.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> answers = Remembered(2)
    >>> answers.get("quality", "stamp 1", lambda: 7)
    Kept(stamp='stamp 1', value=7)
    >>> answers.get("quality", "stamp 1", lambda: 8).value, answers.get("quality", "stamp 2", lambda: 8).value
    (7, 8)
    """

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, Kept[Any]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, name: Hashable, stamp: str, make: Callable[[], T]) -> Kept[T]:
        """What `make` gives for this stamp.

        One caller at a time makes it. Whoever comes meanwhile gets the answer of before, with its own stamp, and waits
        only where there is none: many who look on take no more turns of the server than one.
        """
        with self._lock:
            known = self._known(name, stamp)
            if known is not None:
                return known
            mine = self._making.setdefault(name, threading.Lock())
            before = self._found.get(name)
        if not mine.acquire(blocking=before is None):
            return before  # type: ignore[return-value]
        try:
            with self._lock:
                known = self._known(name, stamp)
            if known is not None:
                return known
            made = Kept(stamp, make())
            with self._lock:
                self._found[name] = made
                self._found.move_to_end(name)
                while len(self._found) > self._most:
                    gone, _ = self._found.popitem(last=False)
                    self._making.pop(gone, None)
        finally:
            mine.release()
        return made

    def _known(self, name: Hashable, stamp: str) -> Kept[Any] | None:
        known = self._found.get(name)
        if known is None or known.stamp != stamp:
            return None
        self._found.move_to_end(name)
        return known
