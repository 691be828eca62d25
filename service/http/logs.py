"""One line of JSON for each request on stdout; no bodies, no query strings, no tokens."""

from __future__ import annotations

import logging
import re
import sys
import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

import orjson
from flask import Request, Response, g

ID_HEADER: Final = "X-Request-ID"
TRACE_HEADER: Final = "traceparent"
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

# Version 00 of the W3C's Trace Context; ids of zeros are not valid.
_TRACE: Final = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")

log = logging.getLogger("rankcorr.service")


def begin(request: Request) -> None:
    """Give a request its id and its starting time; a well-formed id from a proxy is kept, and so is its trace."""
    given = request.headers.get(ID_HEADER, "")
    g.request_id = given if _GIVEN_ID.fullmatch(given) else new_id()
    trace = request.headers.get(TRACE_HEADER, "")
    g.trace = trace if _TRACE.fullmatch(trace) else None
    g.started = time.perf_counter()


def end(request: Request, response: Response) -> Response:
    """Write the log line of a request, and put the id and the trace in the response."""
    response.headers[ID_HEADER] = g.request_id
    if g.trace:
        response.headers[TRACE_HEADER] = g.trace
    write(
        g.request_id,
        method=request.method,
        route=route(request),
        status=response.status_code,
        seconds=time.perf_counter() - g.started,
        n_bytes=g.get("n_bytes", 0),
        n_items=g.get("n_items", 0),
        trace=g.trace,
    )
    return response


def new_id() -> str:
    """An id for a request that brings none."""
    return uuid.uuid4().hex


def write(
    request_id: str,
    *,
    method: str,
    route: str,
    status: int,
    seconds: float = 0.0,
    n_bytes: int = 0,
    n_items: int = 0,
    trace: str | None = None,
) -> None:
    """Write the log line of a request."""
    line = {
        "time": _now(),
        "id": request_id,
        "method": method,
        "route": route,
        "status": status,
        "ms": round(1000 * seconds, 3),
        "bytes": n_bytes,
        "items": n_items,
    } | ({TRACE_HEADER: trace} if trace else {})
    _print(line)


def write_stream(request_id: str, *, seconds: float, worked: float, lines: int, outcome: str) -> None:
    """Write the log line of the end of a stream, whose request has a line of its own from when it began."""
    _print(
        {
            "time": _now(),
            "id": request_id,
            "stream": outcome,
            "ms": round(1000 * seconds, 3),
            "worked_ms": round(1000 * worked, 3),
            "lines": lines,
        }
    )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _print(line: Mapping[str, Any]) -> None:
    # One write for the whole line, so that the lines of several workers do not mix.
    sys.stdout.write(orjson.dumps(line).decode() + "\n")
    sys.stdout.flush()


def route(request: Request) -> str:
    """The route that a request matched; never its path, which the client chooses."""
    return request.url_rule.rule if request.url_rule else "none"
