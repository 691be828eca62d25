"""Give every error one format: application/problem+json (RFC 9457)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice
from typing import Any, Final

import orjson
from flask import Response, g, request
from werkzeug.exceptions import HTTPException
from werkzeug.routing import WebsocketMismatch

import adaptive.errors
import rankcorr.errors
from adaptive.errors import AdaptiveError
from rankcorr import RankingError
from rankcorr import _checks as checks

WITH_BODY: Final = ("POST", "PUT")
MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:rankcorr:problem:"

# An answer stays small whatever was sent: limits on the number of errors, and on the length of pointers and details.
MAX_ERRORS: Final = 50
MAX_POINTER: Final = 500
MAX_DETAIL: Final = 2_000

# Status -> last part of the type, and title. The titles of http.HTTPStatus differ between versions of Python.
STATUSES: Final[Mapping[int, tuple[str, str]]] = {
    400: ("bad-request", "The request cannot be read"),
    401: ("token-needed", "A bearer token is needed"),
    404: ("not-found", "There is no such page"),
    405: ("method-not-allowed", "Method not allowed"),
    408: ("too-slow", "The request did not arrive in time"),
    413: ("body-too-large", "The body is too large"),
    414: ("address-too-long", "The address is too long"),
    415: ("not-declared-as-json", "The body is not declared as JSON"),
    422: ("invalid-request", "The request is not valid"),
    429: ("too-many-requests", "Too many requests"),
    431: ("head-too-large", "The headers are too large"),
    500: ("unforeseen", "The service failed"),
    503: ("over-capacity", "The service is over its capacity"),
    507: ("disk-full", "The disk of the service is full"),
}


# Further statuses, for an application that stores data.
STATUSES_OF_STATE: Final[Mapping[int, tuple[str, str]]] = {
    403: ("forbidden", "This is not allowed"),
    409: ("conflict", "The request conflicts with the present state"),
    412: ("changed", "The object has changed"),
    428: ("condition-needed", "The request needs a condition"),
}
ALL_STATUSES: Final = dict(sorted({**STATUSES, **STATUSES_OF_STATE}.items()))

CLIENT_LEFT: Final = 499  # the client cannot read this answer: it appears only in the log and the metrics
_TITLES: Final = {**ALL_STATUSES, CLIENT_LEFT: ("client-left", "The client has left")}


class Name(str):
    """A key that a client chose, so that `_schema` is not read as marshmallow's own key for the whole object."""

    __slots__ = ()


def kind_of(error: type[Exception]) -> str:
    """Return the last part of a problem's type for an error of the libraries."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", error.__name__.removesuffix("Error"))
    return words.lower()


LIBRARY_KINDS: Final = tuple(
    sorted(
        {
            kind_of(error)
            for module in (rankcorr.errors, adaptive.errors)
            for error in vars(module).values()
            if isinstance(error, type) and issubclass(error, RankingError | AdaptiveError)
        }
        - {kind_of(RankingError), kind_of(AdaptiveError)}
    )
)


@dataclass(eq=False)
class Problem(Exception):  # noqa: N818 - the name in RFC 9457
    """An error that is the answer to a request.

    Parameters
    ----------
    status : int
        HTTP status.
    detail : str
        Expected and given value.
    kind : str, optional
        Last part of the problem's `type`; by default the name of the status.
    errors : mapping of JSON pointer to list of messages, optional
        Where in the request the errors are.
    headers : mapping, optional
        Further headers of the response.
    members : mapping, optional
        Further members of the document, for programs to read.
    """

    status: int
    detail: str
    _: KW_ONLY
    kind: str = ""
    errors: Mapping[str, list[str]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.detail)
        self.kind = self.kind or _TITLES[self.status][0]

    def body(self, request_id: str) -> bytes:
        """Return the problem as JSON."""
        document: dict[str, Any] = {
            "type": TYPE_PREFIX + self.kind,
            "title": _TITLES[self.status][1],
            "status": self.status,
            "detail": self.detail if len(self.detail) <= MAX_DETAIL else f"{self.detail[: MAX_DETAIL - 3]}...",
            "request_id": request_id,
            **self.members,
        }
        if self.errors is not None:
            document["errors"] = self.errors
        return orjson.dumps(document)

    def response(self) -> Response:
        """Return the problem as a response."""
        g.problem = self.kind  # for the metrics
        return Response(self.body(g.get("request_id", "")), self.status, dict(self.headers), content_type=MEDIA_TYPE)


def shown(value: Any) -> str:
    """Return a value of a request as JSON, cut to one line for a message.

    >>> shown({"a": [None, True, 0.5, "b"]})
    '{"a": [null, true, 0.5, "b"]}'
    """
    return checks.shown(value, written=_as_json)


def _as_json(value: Any) -> str:
    is_long = isinstance(value, int) and not -(2**63) <= value < 2**64  # orjson cannot write it
    return repr(value) if is_long else orjson.dumps(value).decode()


def from_library(error: RankingError | AdaptiveError) -> Problem:
    """Return the problem for an error of the libraries: its class gives the type, its message the detail."""
    return Problem(422, name_options(str(error)), kind=kind_of(type(error)))


def name_options(message: str) -> str:
    """Name the options in a message as the request gives them: as fields of its body, else as parameters of a query."""
    has_body = request and request.method in WITH_BODY
    return checks.json_options(message) if has_body else checks.query_options(message)


def from_http(error: HTTPException) -> Problem | HTTPException:
    """Return the problem for an error of Flask, werkzeug or webargs; return a redirect unchanged."""
    status = error.code or 500
    if status < 400:
        return error
    if status not in ALL_STATUSES:  # such as 417: a client error that is not in the tables above
        status = 400 if status < 500 else 500
    data = getattr(error, "data", None) or {}
    if "messages" in data:
        messages = pointers(data["messages"].get("json", data["messages"].get("query", data["messages"])))
        # marshmallow lists unknown fields last, in an order that varies between processes
        errors = dict(sorted(messages, key=lambda entry: entry[0] if entry[1] == ["unknown field"] else ""))
        return invalid(errors)
    details = {
        404: "this path is not served; /docs lists those that are",
        405: "this path does not accept this method; the header Allow lists the methods that it does",
        413: "the body is larger than the service accepts",
    }
    if isinstance(error, WebsocketMismatch):
        details[status] = "this service does not speak WebSocket"
    allowed = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After")}
    return Problem(status, details.get(status, error.description or error.name), headers=allowed)


def invalid(errors: Mapping[str, list[str]]) -> Problem:
    """Return the problem for a request that a schema refuses."""
    cut_errors: dict[str, list[str]] = {}
    for pointer, messages in islice(errors.items(), MAX_ERRORS):
        cut_errors.setdefault(_cut_inside(pointer), []).extend(messages)
    first = "; ".join(
        f"{pointer or 'the body'}: {', '.join(messages)}" for pointer, messages in islice(cut_errors.items(), 3)
    )
    of = "see errors" if len(errors) <= MAX_ERRORS else f"see errors for the first {MAX_ERRORS}"
    more = f"; ... ({len(errors)} in all, {of})" if len(errors) > 3 else ""
    return Problem(422, first + more, errors=cut_errors)


def unknown_fields(keys: Sequence[str]) -> dict[str, list[str]]:
    """Return messages for unknown fields; if there are very many, only the first are named."""
    messages: dict[str, list[str]] = {"_schema": [f"{len(keys)} unknown fields"]} if len(keys) > MAX_ERRORS else {}
    return messages | {Name(key): ["unknown field"] for key in keys[:MAX_ERRORS]}


def _cut_inside(pointer: str) -> str:
    """Cut a pointer in the middle: its last steps matter most, and names often start alike."""
    half = MAX_POINTER // 2
    return pointer if len(pointer) <= MAX_POINTER else f"{pointer[: half - 3]}...{pointer[-half:]}"


def pointers(messages: Any, path: str = "") -> Iterator[tuple[str, list[str]]]:
    """Flatten marshmallow's nested messages into pairs of a JSON pointer (RFC 6901) and its messages."""
    if isinstance(messages, Mapping):
        for key, inner in messages.items():
            is_whole = key == "_schema" and not isinstance(key, Name)
            step = "" if is_whole else "/" + str(key).replace("~", "~0").replace("/", "~1")
            yield from pointers(inner, path + step)
    else:
        yield path, [str(message) for message in (messages if isinstance(messages, list) else [messages])]
