"""Turn the bytes of a request into the fields of its schema.

orjson rejects nan, infinities, numbers too large for a double, text that is not UTF-8 and nesting of more than 1,024
levels. It keeps the last of two equal keys, which would drop a score silently, so keys are counted here. It rounds a
whole number of more than 64 bits to a double, and 1e-400 to 0, which would tie different scores. Numbers that a
double cannot hold are therefore rejected here.
"""

import json
import re
from contextlib import suppress
from typing import Any, Final

import numpy as np
import orjson
from flask import Request, Response, g
from flask.json.provider import JSONProvider
from marshmallow import RAISE, ValidationError
from webargs.flaskparser import FlaskParser
from webargs.multidictproxy import MultiDictProxy
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from service.environment import variable
from service.http.problems import Name, Problem, shown
from service.http.state import settings

# Limit on arrays and objects. Each takes two or three bytes of text but at least 64 bytes of memory, so a body of
# 16 MiB could take 1 GB. With this limit it takes 0.2 GB; 200,000 items in groups of ties stay far below.
MAX_CONTAINERS: Final = 1_000_000
_LONG: Final = b"0" * 19  # as many digits as the smallest whole number that orjson may round, -(2^63) - 1
_ZEROS: Final = bytes(ord("0") if chr(byte).isdigit() else byte for byte in range(128)) + bytes(range(128, 256))
_RUN: Final = re.compile(b"0*")
# Numbers that may be too small for a double: an exponent of three digits, or of two after 200 zeros.
_SMALL: Final = re.compile(rb"[eE]-0*[1-9][0-9]{2}|\.0{200}")
_ABOVE_ZERO: Final = re.compile("[+-]?[0.]*[1-9]")
MAX_SHOWN: Final = 60
BLOCK_BYTES: Final = 1 << 18  # counted one block at a time: six arrays as long as a whole body took 100 MB


def parse(body: bytes | bytearray) -> Any:
    """Parse a request body.

    Raises
    ------
    Problem
        400, for a body that is not JSON or has an object with two equal keys; 422, for a whole number that cannot be
        held exactly, or a number above or below 0 that would be read as 0.
    """
    written, opened = counted(body)
    if opened > MAX_CONTAINERS:
        raise Problem(413, f"at most {MAX_CONTAINERS} arrays and objects in a body; got {opened}")
    is_odd = _has_long_number(body) or _SMALL.search(body) is not None
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"the body is not JSON: {error}", kind="not-json") from error
    if count_keys(document) != written:
        raise Problem(400, f"an object of the body has the key {_repeated_key(body)} twice", kind="duplicate-key")
    if is_odd:
        _check_numbers(body)
    return document


def _has_long_number(body: bytes | bytearray) -> bool:
    """Return whether a run of digits, with no point before it, is long enough for a whole number that is too large.

    >>> _has_long_number(b"[9223372036854775809]"), _has_long_number(b"[922337203685477580, 0.9223372036854775809]")
    (True, False)
    """
    zeros = body.translate(_ZEROS)
    place = zeros.find(_LONG)
    while place > 0 and zeros[place - 1] == ord("."):
        place = zeros.find(_LONG, _RUN.match(zeros, place).end())  # type: ignore[union-attr]  # it matches everywhere
    return place >= 0


def _check_numbers(body: bytes | bytearray) -> None:
    """Refuse whole numbers that orjson has rounded, and numbers that it has turned into 0."""

    def check_fraction(text: str) -> float:
        number = float(text)
        if number == 0 and is_above_zero(text):
            raise Problem(
                422,
                f"the number {text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + '...'} is too small: the least "
                "above 0 is 5e-324, and it would be read as 0",
            )
        return number

    def check(digits: str) -> int:
        number = int(digits)
        if not -(2**63) <= number < 2**64 and int(float(number)) != number:
            raise Problem(
                422,
                f"the whole number {shown(number)} cannot be held exactly; the nearest number that can is "
                f"{shown(int(float(number)))}: write that, or a number with a point, which is rounded",
            )
        return number

    with suppress(RecursionError):  # nested too deeply for Python's parser: it holds no ranking
        json.loads(body, parse_int=check, parse_float=check_fraction)


def counted(body: bytes | bytearray) -> tuple[int, int]:
    """Count the keys in a JSON text, and its arrays and objects: colons and opening brackets outside strings.

    >>> counted(b'{"a": 1, "b:": {"a": "[:"}}')
    (3, 2)
    """
    if b"\\" in body:
        # Backslashes pair up from left to right; an unpaired one escapes the next character.
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    n_keys = n_containers = 0
    inside = False  # a string that began in an earlier block
    for start in range(0, len(body), BLOCK_BYTES):
        characters = np.frombuffer(body, np.uint8, min(BLOCK_BYTES, len(body) - start), start)
        outside = np.logical_xor.accumulate(characters == ord('"')) == inside
        inside = not outside[-1]
        n_keys += int(np.count_nonzero(outside & (characters == ord(":"))))
        # This bit turns "[" into "{", and no other character into it.
        n_containers += int(np.count_nonzero(outside & ((characters | 0x20) == ord("{"))))
    return n_keys, n_containers


def count_keys(document: Any) -> int:
    """Count the keys of all objects of a document.

    >>> count_keys([{"a": 1, "b": {"a": 2}}, 3])
    3
    """
    total = 0
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            total += len(value)
            inner: Any = value.values()
        elif isinstance(value, list):
            inner = value
        else:
            continue
        if not set(map(type, inner)).isdisjoint((dict, list)):  # checks 100,000 numbers at the speed of C
            waiting += [entry for entry in inner if isinstance(entry, dict | list)]
    return total


def _repeated_key(body: bytes | bytearray) -> str:
    """Return the first key that an object repeats, for the message."""
    repeated: list[str] = []

    def notice(pairs: list[tuple[str, Any]]) -> None:
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys and not repeated:
                repeated.append(key)
            keys.add(key)

    with suppress(RecursionError):  # nested too deeply for Python's parser: the message does not name the key
        json.loads(body, object_pairs_hook=notice)
    return json.dumps(repeated[0][:60], ensure_ascii=False) if repeated else "of some entry"


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
        """Parse the body that `received` has read."""
        return parse(g.body)

    def load_querystring(self, req: Request, schema: Any) -> Any:
        """Return the query; refuse a name given twice, because neither value may win silently."""
        twice = [name for name, values in req.args.lists() if len(values) > 1]
        if twice:
            raise ValidationError({Name(name): ["this field is given more than once"] for name in twice})
        named = MultiDict((Name(name), value) for name, value in req.args.items())
        return MultiDictProxy(named, schema)


def received(request: Request) -> bytearray:
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
        raise Problem(400, f"the body did not arrive whole: {len(body)} of {request.content_length} bytes arrived")
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
            raise Problem(408, f"no byte of the body came for too long ({variable('client_seconds')})") from error
        raise Problem(400, "the body did not arrive whole: its length or its chunks are invalid") from error


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
