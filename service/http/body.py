"""Turn the bytes of a request into the fields of its schema.

Python's json keeps the last of two equal keys, which would drop a score silently, and reads 1e-400 as 0, which would
tie different scores. Both are refused here, with whole numbers that a double cannot hold.
"""

import json
import math
import re
from typing import Any, Final, NoReturn

import numpy as np
import orjson
from flask import Request, Response, g
from flask.json.provider import JSONProvider
from marshmallow import RAISE, ValidationError
from webargs.flaskparser import FlaskParser
from webargs.multidictproxy import MultiDictProxy
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from rankcorr._checks import repeated
from service.environment import variable
from service.http.problems import Name, Problem, shown
from service.http.state import settings

# Limit on arrays and objects. Each takes two or three bytes of text but at least 64 bytes of memory, so a body of
# 16 MiB could take 1 GB. With this limit it takes 0.2 GB; 200,000 items in groups of ties stay far below.
MAX_CONTAINERS: Final = 1_000_000
MAX_SHOWN: Final = 60
_STRING: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")
_ABOVE_ZERO: Final = re.compile("[+-]?[0.]*[1-9]")


def parse(body: bytes | bytearray) -> Any:
    """Parse a request body.

    Raises
    ------
    Problem
        400, for a body that is not JSON or has an object with two equal keys; 413, for too many arrays and objects;
        422, for a whole number that cannot be held exactly, or a number above or below 0 that would be read as 0.
    """
    if body.count(b"[") + body.count(b"{") > MAX_CONTAINERS:
        outside = _STRING.sub(b"", body)
        n_containers = outside.count(b"[") + outside.count(b"{")
        if n_containers > MAX_CONTAINERS:
            raise Problem(413, f"at most {MAX_CONTAINERS} arrays and objects in a body; got {n_containers}")
    try:
        if _SURROGATE.search(body):
            orjson.loads(body)  # refuses half a surrogate pair, which no answer could repeat
        return _DECODER.decode(body.decode())
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise Problem(400, f"the body is not JSON: {why}", kind="not-json") from error


def _check_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        name = json.dumps(str(repeated(key for key, _ in pairs)[0])[:MAX_SHOWN], ensure_ascii=False)
        raise Problem(400, f"an object of the body has the key {name} twice", kind="duplicate-key")
    return entries


def _read_fraction(text: str) -> float:
    number = float(text)
    if number == 0 and is_above_zero(text):
        raise Problem(
            422,
            f"the number {text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + '...'} is too small: the least "
            "above 0 is 5e-324, and it would be read as 0",
        )
    if math.isinf(number):
        raise ValueError(f"the number {text[:MAX_SHOWN]} is too large")
    return number


def _read_integer(digits: str) -> int | float:
    if len(digits) < 19:
        return int(digits)
    if len(digits) > 310:
        raise ValueError(f"the number {digits[:MAX_SHOWN]}... is too large")
    number = int(digits)
    if -(2**63) <= number < 2**64:
        return number
    try:
        nearest = float(number)
    except OverflowError:
        raise ValueError(f"the number {digits[:MAX_SHOWN]}... is too large") from None
    if int(nearest) != number:
        raise Problem(
            422,
            f"the whole number {shown(number)} cannot be held exactly; the nearest number that can is "
            f"{shown(int(nearest))}: write that, or a number with a point, which is rounded",
        )
    return nearest


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_check_keys, parse_float=_read_fraction, parse_int=_read_integer, parse_constant=_refuse_constant
)


def is_above_zero(text: str) -> bool:
    """Return whether a number in a text is not 0, even if a double would read it as 0.

    >>> is_above_zero("-0.00e9"), is_above_zero("1e-400")
    (False, True)
    """
    return _ABOVE_ZERO.match(text) is not None


class OrjsonProvider(JSONProvider):
    """Write responses with orjson: floats in the shortest form that reads back exactly, nan as null."""

    def dumps(self, obj: Any, **options: Any) -> str:
        """Serialize to text, with line breaks if an indent is asked for."""
        return orjson.dumps(obj, option=orjson.OPT_INDENT_2 if options.get("indent") else None).decode()

    def loads(self, s: str | bytes, **_options: Any) -> Any:
        """Parse text."""
        return orjson.loads(s)

    def response(self, *args: Any, **kwargs: Any) -> Response:
        """Serialize to a response."""
        document = self._prepare_response_obj(args, kwargs)
        # an undefined statistic is nan and becomes null; `warnings` explains it
        body = orjson.dumps(document, default=_as_list, option=orjson.OPT_SERIALIZE_NUMPY)
        return Response(body, mimetype="application/json")


def _as_list(value: Any) -> Any:
    if isinstance(value, np.ndarray):  # not contiguous: orjson cannot write it
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


PIECE = 1 << 16


class BodyParser(FlaskParser):
    """Read a JSON body within its limits; unknown fields in a body or a query are errors."""

    DEFAULT_UNKNOWN_BY_LOCATION = {"json": RAISE, "query": RAISE}  # noqa: RUF012 - as webargs declares it

    def load_json(self, _req: Request, _schema: Any) -> Any:
        """Parse the body that `read_body` has read."""
        return parse(g.body)

    def load_querystring(self, req: Request, schema: Any) -> Any:
        """Return the query; refuse a name given twice, because neither value may win silently."""
        twice = [name for name, values in req.args.lists() if len(values) > 1]
        if twice:
            raise ValidationError({Name(name): ["this field is given more than once"] for name in twice})
        named = MultiDict((Name(name), value) for name, value in req.args.items())
        return MultiDictProxy(named, schema)


def read_body(request: Request) -> bytearray:
    """Read the body of a request that is declared as JSON; a form is refused even if its text is JSON.

    Raises
    ------
    Problem
        415 if it is not declared as plain JSON, 413 if it exceeds the limit, 400 if it arrives incomplete.
    """
    _check_declared(request)
    body = bytearray()  # grows in place: joining pieces would hold the body twice
    while piece := _piece(request):
        body += piece
    g.n_bytes = len(body)
    if request.content_length not in (None, len(body)):
        raise Problem(400, f"the body is incomplete: {len(body)} of {request.content_length} bytes arrived")
    return body


def _piece(request: Request) -> bytes:
    try:
        return request.stream.read(PIECE)
    except RequestEntityTooLarge as error:
        most, length = settings().limits.max_body_bytes, request.content_length
        got = "more came" if length is None else f"got {length}"
        raise Problem(413, f"at most {most} bytes in a body ({variable('max_body_bytes')}); {got}") from error
    except MemoryError:
        raise
    except Exception as error:  # each server raises its own error for bad chunks, wrong lengths and lost connections
        if isinstance(error.__context__, BlockingIOError):  # werkzeug hides the socket's error
            raise Problem(408, f"the body stopped arriving ({variable('client_seconds')})") from error
        raise Problem(400, "the body is incomplete: its length or its chunks are invalid") from error


def _check_declared(request: Request) -> None:
    """Refuse a body that is not declared as JSON, or as plain UTF-8, with 415."""
    if request.mimetype != "application/json":
        media_type = f"got {request.mimetype[:60]!r}" if request.mimetype else "got none"
        raise Problem(415, f"the header Content-Type must be application/json; {media_type}")
    charset = request.mimetype_params.get("charset", "utf-8")
    if charset.lower() not in ("utf-8", "utf8"):
        raise Problem(415, f"JSON is UTF-8; the header Content-Type says charset={charset[:60]!r}")
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise Problem(415, f"a body must come without compression; the header Content-Encoding says {encoding[:60]!r}")
