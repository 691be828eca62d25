"""Share between the resources: fields, access, possible errors, conditional requests (304, 412, 428), and downloads.

All clients that poll share the latest answers.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from flask import Response, after_this_request, request
from marshmallow import ValidationError

from adaptive import ledger
from adaptive.errors import AdaptiveError
from rankcorr.errors import TableError
from service.collect.access import admit_organiser
from service.http.problems import ALL_STATUSES, Problem, shown
from service.http.state import state
from service.openapi.document import Blueprint
from service.schemas import fields, shapes
from service.schemas.base import Request

T = TypeVar("T")

TOKEN: Final = "[A-Za-z0-9_-]{43}"
KEY: Final = "[0-9a-f]{32}"
DOWNLOAD_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "zip": "application/zip",
}


class Word(fields.Documented):
    """Text of a given form.

    Parameters
    ----------
    pattern : str
        For the whole text, in syntax that JSON Schema and Python share.
    noun : str
        Name of the value, for the error.
    """

    def __init__(self, pattern: str, noun: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._pattern, self._noun = re.compile(pattern), noun
        self.documented = {"type": "string", "pattern": f"^{pattern}$"}

    def read(self, value: Any) -> str:
        """Check a value, and return it as it is."""
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValidationError(f"must be {self._noun}; got {shown(value)}")
        return value


def key_field(**kwargs: Any) -> Word:
    """Return a field for the key of a campaign."""
    about = "The part of the link after /v/."
    return Word(KEY, "the key of a campaign", **{"about": about, **kwargs})


class NoFields(Request):
    """An empty object."""


class Line(fields.Text):
    """One line of text that is not empty."""

    def __init__(self, most: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most = most
        self.documented = {**self.documented, "maxLength": most}

    def read(self, value: Any) -> str:
        """Check a value."""
        text: str = super().read(value)
        if text != text.strip() or not ledger.is_line(text) or len(text) > self.most:
            raise ValidationError(f"must be one line of at most {self.most} characters, without spaces around it")
        return text


_YES: Final = {"true": True, "false": False}


class QueryFlag(fields.Documented):
    """true or false, in a query string."""

    documented = shapes.TRUTH

    def read(self, value: Any) -> bool:
        """Check a value."""
        if value not in _YES:
            raise ValidationError(f"must be true or false; got {shown(value)}")
        return _YES[value]


class ReasonRequest(Request):
    """The reason, which the ledger keeps."""

    reason = Line(500, required=True)


class PageQuery(Request):
    """The part of a long list to return."""

    offset = fields.QueryWhole(least=0, most=2**31, load_default=0)
    limit = fields.QueryWhole(least=1, most=1_000, load_default=200)


class NamesQuery(Request):
    """Whether to identify voters."""

    names = QueryFlag(load_default=False, about="Whether voters go by name: personal data.")


class VotersQuery(NamesQuery, PageQuery):
    """The part of the list of voters to return."""


def place_errors(call: Callable[[], T], *path: str) -> T:
    """Call the libraries, and turn their errors into errors of the field at this path."""
    try:
        return call()
    except (AdaptiveError, TableError) as error:
        raise fields.placed([str(error)], *path) from error


CAMPAIGNS: Final = "/v1/campaigns"
ERRORS: Final = (401, 403, 404, 409, 422, 429, 500, 503)

FOR_FOUNDERS: Final[dict[str, Any]] = {"errors": ERRORS, "security": ({"token": []},)}
CONDITIONAL: Final = {"responses": {status: ALL_STATUSES[status][0] for status in (412, 428)}}


def organiser_blueprint(name: str, module: str, about: str, *, prefix: str = CAMPAIGNS) -> Blueprint:
    """Make a blueprint for a campaign's organiser alone; other callers are refused before their body is parsed."""
    security: Any = ({"token": []}, {"organiser": []})
    blueprint = Blueprint(name, module, url_prefix=prefix, description=about, errors=ERRORS, security=security)
    blueprint.before_request(admit_organiser)
    return blueprint


@dataclass(frozen=True)
class CachedValue(Generic[T]):
    """A value with the stamp of the state from which it was computed."""

    stamp: str
    value: T


class ValueCache:
    """The latest values of a process, at most `most`, so that a page left open all day does not fill memory.

    Parameters
    ----------
    most : int

    Examples
    --------
    >>> cache = ValueCache(2)
    >>> cache.get("quality", "stamp 1", lambda: 7)
    CachedValue(stamp='stamp 1', value=7)
    >>> cache.get("quality", "stamp 1", lambda: 8).value, cache.get("quality", "stamp 2", lambda: 8).value
    (7, 8)
    """

    def __init__(self, most: int = 32) -> None:
        self._most = most
        self._entries: OrderedDict[Hashable, CachedValue[Any]] = OrderedDict()
        self._computing: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, name: Hashable, stamp: str, compute: Callable[[], T]) -> CachedValue[T]:
        """Return what `compute` returns for this stamp, from memory if possible.

        One caller at a time computes. Other callers get the previous value with its own stamp, or wait if there is no
        previous value. Many polling clients therefore cost the same as one.
        """
        with self._lock:
            entry = self._current(name, stamp)
            if entry is not None:
                return entry
            computing = self._computing.setdefault(name, threading.Lock())
            previous = self._entries.get(name)
        if not computing.acquire(blocking=previous is None):
            return previous  # type: ignore[return-value]
        try:
            with self._lock:
                entry = self._current(name, stamp)
            if entry is not None:
                return entry
            entry = CachedValue(stamp, compute())
            with self._lock:
                self._entries[name] = entry
                self._entries.move_to_end(name)
                while len(self._entries) > self._most:
                    oldest, _ = self._entries.popitem(last=False)
                    self._computing.pop(oldest, None)
        finally:
            computing.release()
        return entry

    def _current(self, name: Hashable, stamp: str) -> CachedValue[Any] | None:
        entry = self._entries.get(name)
        if entry is None or entry.stamp != stamp:
            return None
        self._entries.move_to_end(name)
        return entry


def answer_if_changed(
    cache: ValueCache,
    name: Hashable,
    stamp: str,
    compute: Callable[[], T],
    answer: Callable[[T], Any],
    *parts: object,
    is_heavy: bool = False,
) -> Any:
    """Return the answer for a state with its stamp as ETag; 304 for a client that already has it.

    Parameters
    ----------
    cache : ValueCache
        Holds the values computed before.
    name : hashable
        Key of the value.
    stamp : str
        Of the current state.
    compute : callable
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
    entry = cache.get(name, stamp, compute)
    set_etag(entry.stamp + ending, weak=True)
    return answer(entry.value)


def set_etag(stamp: str, *, weak: bool = False) -> None:
    """Send a stamp as the ETag of the answer; a weak one lets browsers store the answer and ask whether it changed."""

    @after_this_request
    def tag(response: Response) -> Response:
        if response.status_code in (200, 201):
            response.set_etag(stamp, weak=weak)
            if weak:
                response.headers["Cache-Control"] = "private, no-cache"  # stored, but used only after asking
        return response


def read_if_match() -> str:
    """Return the stamp in If-Match: the state that the caller reviewed.

    Raises
    ------
    Problem
        428 unless there is exactly one stamp; ``*`` matches any stamp, so it does not show what the caller saw.
    """
    stamp = request.headers.get("If-Match", "").strip().removeprefix("W/")
    if len(stamp) < 3 or stamp[0] != '"' or stamp[-1] != '"' or '"' in stamp[1:-1]:
        raise Problem(428, "the header If-Match must hold the ETag of the version that you reviewed")
    return stamp[1:-1]


def download(name: str, content: bytes, campaign: ledger.Campaign) -> Response:
    """Return a file to save, with a name that tells campaigns apart."""
    stem, _, ending = name.rpartition(".")
    headers = {"Content-Disposition": f'attachment; filename="{stem}-{campaign.key[:8]}.{ending}"'}
    return Response(content, headers=headers, content_type=DOWNLOAD_TYPES[ending])
