"""Conditions of requests: 304, 412 and 428; and the last answers, which are made once for all who look on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from flask import Response, after_this_request, request

from service.http.problems import Problem

__all__ = ["Kept", "Remembered", "stamped", "tagged", "wanted_stamp"]


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


def tagged(
    memory: Remembered, name: Hashable, stamp: str, make: Callable[[], T], answer: Callable[[T], Any], *parts: object
) -> Any:
    """The answer of a state, under its stamp as the ETag; 304 for a client that has it already.

    Parameters
    ----------
    memory : Remembered
        Keeps what was made.
    name : hashable
        Of what is made.
    stamp : str
        Of the state of now.
    make : callable
        Makes what takes long.
    answer : callable
        Makes the answer of it.
    *parts : object
        What else the answer depends on.
    """
    ending = "".join(f"-{part}" for part in parts)
    if request.if_none_match.contains_weak(stamp + ending):
        response = Response(status=304)
        response.set_etag(stamp + ending, weak=True)
        return response
    kept = memory.get(name, stamp, make)

    @after_this_request
    def tag(response: Response) -> Response:
        if response.status_code == 200:
            response.set_etag(kept.stamp + ending, weak=True)
            response.headers["Cache-Control"] = "private, no-cache"  # kept, but never used without asking
        return response

    return answer(kept.value)


def stamped(stamp: str, answer: Any) -> Any:
    """The answer, under a stamp as its ETag, for a request that changes what the stamp is of."""

    @after_this_request
    def tag(response: Response) -> Response:
        if response.status_code in (200, 201):
            response.set_etag(stamp)
        return response

    return answer


def wanted_stamp() -> str:
    """The stamp that the caller has seen, in If-Match.

    Raises
    ------
    Problem
        428 without exactly one; any stamp, ``*``, says nothing of what was seen.
    """
    given = request.headers.get("If-Match", "").strip()
    stamp = given.removeprefix("W/")
    if len(stamp) < 3 or stamp[0] != '"' or stamp[-1] != '"' or '"' in stamp[1:-1]:
        raise Problem(428, "the header If-Match must hold the ETag of the ballot as it was looked at")
    return stamp[1:-1]
