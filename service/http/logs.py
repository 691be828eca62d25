"""Write one line of JSON per request to stdout, without bodies, query strings or tokens."""

import logging
import os
import re
import select
import time
import uuid
from contextlib import suppress
from typing import Final

import orjson
from flask import Request, Response, g

ID_HEADER: Final = "X-Request-ID"
TRACE_HEADER: Final = "traceparent"
STDOUT: Final = 1
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

# W3C Trace Context: version, trace id, parent id, flags. Ids of zeros and version ff are not valid. A later version may
# add fields after these four.
_TRACE: Final = re.compile(
    r"(?P<version>(?!ff)[0-9a-f]{2})-(?P<ids>(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16})-(?P<flags>[0-9a-f]{2})"
    r"(?P<more>-.*)?"
)
_SAMPLED: Final = 0x01

log = logging.getLogger("rankcorr.service")


def begin(request: Request) -> None:
    """Give a request its id and start time; keep a well-formed id and trace from a proxy."""
    request_id = request.headers.get(ID_HEADER, "")
    g.request_id = request_id if _GIVEN_ID.fullmatch(request_id) else uuid.uuid4().hex
    g.trace = trace_of(request.headers.get(TRACE_HEADER, ""))
    g.started = time.perf_counter()


def trace_of(header: str) -> str | None:
    """Return the trace of a `traceparent` header in version 00; None for a header that is not valid.

    A header of a later version keeps its ids and the one flag that version 00 defines for all (W3C Trace Context, 3.2).

    >>> trace_of("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-more")
    '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    """
    match = _TRACE.fullmatch(header)
    if match is None:
        return None
    if match["version"] == "00":
        return None if match["more"] else header
    return f"00-{match['ids']}-{int(match['flags'], 16) & _SAMPLED:02x}"


def end(request: Request, response: Response) -> Response:
    """Write the log line of a request, and add the id and the trace to the response."""
    response.headers[ID_HEADER] = g.request_id
    if g.trace:
        response.headers[TRACE_HEADER] = g.trace
    line = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "id": g.request_id,
        "method": request.method,
        "route": route(request),
        "status": response.status_code,
        "ms": round(1000 * (time.perf_counter() - g.started), 3),
        "bytes": g.get("n_bytes", 0),
        "items": g.get("n_items", 0),
    } | ({TRACE_HEADER: g.trace} if g.trace else {})
    _write(orjson.dumps(line) + b"\n")
    return response


def _write(line: bytes) -> None:
    """Write a line to stdout at once; drop it if the disk is full, or the reader is gone or has fallen behind.

    A log must not fail or hold up a request. Nothing is buffered: a line that could not be written would stay, and fail
    the following ones. One write per line keeps the lines of several workers apart.
    """
    with suppress(OSError):
        if select.select((), (STDOUT,), (), 0)[1]:
            os.write(STDOUT, line)


def route(request: Request) -> str:
    """Return the route that a request matched; never its path, which the client chooses."""
    return request.url_rule.rule if request.url_rule else "none"
