"""From the bytes of a request to the fields of its schema."""

from __future__ import annotations

from typing import Any

from flask import Request, g
from marshmallow import RAISE, ValidationError
from webargs.flaskparser import FlaskParser
from webargs.multidictproxy import MultiDictProxy
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge

from service.environment import variable
from service.http import deadline
from service.http.json_body import parse
from service.http.problems import Name, Problem
from service.http.state import settings

PIECE = 1 << 16


class BodyParser(FlaskParser):
    """Reads a JSON body within its limits; unknown fields, of a body or of a query, are errors."""

    DEFAULT_UNKNOWN_BY_LOCATION = {"json": RAISE, "query": RAISE}  # noqa: RUF012 - as webargs declares it

    def load_json(self, _req: Request, _schema: Any) -> Any:
        """Parse the body, which `received` has read."""
        document = parse(g.body)
        deadline.of_request()()
        return document

    def load_querystring(self, req: Request, schema: Any) -> Any:
        """Return the query; a name given twice is refused: neither value may win silently."""
        twice = [name for name, values in req.args.lists() if len(values) > 1]
        if twice:
            raise ValidationError({Name(name): ["this field is given more than once"] for name in twice})
        named = MultiDict((Name(name), value) for name, value in req.args.items())
        return MultiDictProxy(named, schema)


def received(request: Request) -> bytearray:
    """Read the body of a request, which must be declared as JSON: a form is refused even if its text is JSON.

    Raises
    ------
    Problem
        415 if it is not declared as plain JSON, 413 above the limit, 400 if it does not arrive whole.
    """
    check_declared(request, "application/json")
    body = bytearray()  # which grows in place: joining pieces would hold them twice
    while piece := _piece(request):
        body += piece
    g.n_bytes = len(body)
    if request.content_length not in (None, len(body)):
        raise Problem(400, f"the body did not arrive whole: {len(body)} of {request.content_length} bytes came")
    return body


def _piece(request: Request) -> bytes:
    try:
        return request.stream.read(PIECE)
    except RequestEntityTooLarge as error:
        raise too_large(request) from error
    except MemoryError:
        raise
    except Exception as error:  # each server has its own for bad chunks, wrong lengths and lost connections
        if isinstance(error.__context__, BlockingIOError):  # werkzeug hides that of the socket
            raise Problem(408, f"no byte of the body came for too long ({variable('client_seconds')})") from error
        raise Problem(
            400, "the body did not arrive whole: its length or its chunks are not as HTTP has them"
        ) from error


def check_declared(request: Request, kind: str) -> None:
    """Refuse a body of another kind, or one that is not plain UTF-8; 415."""
    if request.mimetype != kind:
        came = f"got {request.mimetype[:60]!r}" if request.mimetype else "got none"
        raise Problem(415, f"the header Content-Type must be {kind}; {came}")
    charset = request.mimetype_params.get("charset", "utf-8")
    if charset.lower() not in ("utf-8", "utf8"):
        raise Problem(415, f"JSON is UTF-8; the header Content-Type says charset={charset[:60]!r}")
    encoding = request.headers.get("Content-Encoding", "identity")
    if encoding.strip().lower() != "identity":
        raise Problem(415, f"a body must come without compression; the header Content-Encoding says {encoding[:60]!r}")


def too_large(request: Request) -> Problem:
    """The problem for a body above the limit."""
    most = settings().limits.max_body_bytes
    length = request.content_length
    got = f"got {length}" if length is not None else "more came"
    return Problem(413, f"at most {most} bytes in a body ({variable('max_body_bytes')}); {got}")
