"""Answers that take long, kept until something of their campaign changes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

__all__ = ["Remembered"]

T = TypeVar("T")


class Remembered:
    """The last answers of a process, at most `most` of them: a page that stands open all day fills no memory.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> answers = Remembered(2)
    >>> answers.get("quality", "stamp 1", lambda: 7), answers.get("quality", "stamp 1", lambda: 8)
    (7, 7)
    >>> answers.get("quality", "stamp 2", lambda: 8)
    8
    """

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, tuple[str, Any]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, name: Hashable, stamp: str, make: Callable[[], T]) -> T:
        """What `make` gave for this stamp; several who ask at once wait for one of them."""
        with self._lock:
            known = self._found.get(name)
            if known is not None and known[0] == stamp:
                self._found.move_to_end(name)
                return known[1]  # type: ignore[no-any-return]
            mine = self._making.setdefault(name, threading.Lock())
        with mine:
            with self._lock:
                known = self._found.get(name)
            if known is not None and known[0] == stamp:
                return known[1]  # type: ignore[no-any-return]
            made = make()
            with self._lock:
                self._found[name] = (stamp, made)
                self._found.move_to_end(name)
                while len(self._found) > self._most:
                    self._found.popitem(last=False)
                self._making.pop(name, None)
        return made
