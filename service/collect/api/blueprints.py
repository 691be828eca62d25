"""Share among the resources who may call, which errors are possible, and conditional requests (304, 412, 428).

The latest answers are shared among all clients that poll.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from flask import Response, after_this_request, request

from service.collect.access import know_organiser
from service.http.problems import ALL_STATUSES, Problem
from service.http.state import state
from service.openapi.blueprint import Blueprint

CAMPAIGNS: Final = "/v1/campaigns"
ERRORS: Final = (401, 403, 404, 409, 422, 429, 500, 503)
OF_ADMINS: Final[dict[str, Any]] = {"errors": ERRORS, "security": ({"token": []},)}
CONDITIONAL: Final = {"responses": {status: ALL_STATUSES[status][0] for status in (412, 428)}}

T = TypeVar("T")


def of_organisers(name: str, module: str, about: str, *, prefix: str = CAMPAIGNS) -> Blueprint:
    """Make a blueprint for a campaign's organiser alone; other callers are refused before their body is parsed."""
    security: Any = ({"token": []}, {"organiser": []})
    made = Blueprint(name, module, url_prefix=prefix, description=about, errors=ERRORS, security=security)
    made.before_request(know_organiser)
    return made


@dataclass(frozen=True)
class Kept(Generic[T]):
    """An answer with the stamp of the state it was made from."""

    stamp: str
    value: T


class Remembered:
    """The latest answers of a process, at most `most`, so that a page left open all day does not fill memory.

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
        """Return what `make` returns for this stamp, from memory if possible.

        One caller at a time runs `make`. Other callers get the previous answer with its own stamp, or wait if there is
        no previous answer. Many polling clients therefore cost the same as one.
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
    memory: Remembered,
    name: Hashable,
    stamp: str,
    make: Callable[[], T],
    answer: Callable[[T], Any],
    *parts: object,
    is_heavy: bool = False,
) -> Any:
    """Return the answer of a state with its stamp as ETag; 304 for a client that already has it.

    Parameters
    ----------
    memory : Remembered
        Holds the values made before.
    name : hashable
        Key of the value.
    stamp : str
        Of the current state.
    make : callable
        Does the slow part.
    answer : callable
        Makes the answer from the value.
    *parts : object
        Further values that the answer depends on.
    is_heavy : bool
        Whether to pass the request on to a separate process: votes must not wait for it.
    """
    ending = "".join(f"-{part}" for part in parts)
    if request.if_none_match.contains_weak(stamp + ending):
        response = Response(status=304)
        response.set_etag(stamp + ending, weak=True)
        return response
    if is_heavy:
        state().pool.pass_on()
    kept = memory.get(name, stamp, make)
    after_this_request(partial(_tag, kept.stamp + ending, weak=True))
    return answer(kept.value)


def stamped(stamp: str, answer: Any) -> Any:
    """Return the answer with a stamp as its ETag, for a request that changes the stamped object."""
    after_this_request(partial(_tag, stamp))
    return answer


def _tag(stamp: str, response: Response, *, weak: bool = False) -> Response:
    if response.status_code in (200, 201):
        response.set_etag(stamp, weak=weak)
        if weak:
            response.headers["Cache-Control"] = "private, no-cache"  # stored, but used only after asking
    return response


def wanted_stamp() -> str:
    """Return the stamp in If-Match: the state that the caller has seen.

    Raises
    ------
    Problem
        428 unless there is exactly one stamp; ``*`` matches any stamp, so it does not show what the caller saw.
    """
    given = request.headers.get("If-Match", "").strip()
    stamp = given.removeprefix("W/")
    if len(stamp) < 3 or stamp[0] != '"' or stamp[-1] != '"' or '"' in stamp[1:-1]:
        raise Problem(428, "the header If-Match must hold the ETag of the version that you reviewed")
    return stamp[1:-1]
