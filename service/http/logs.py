"""One line of JSON for each request on stdout; no bodies, no query strings, no tokens."""

from __future__ import annotations

import logging
import re
import sys
import time
import uuid
from typing import Final

import orjson
from flask import Request, Response, g

ID_HEADER: Final = "X-Request-ID"
_GIVEN_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

log = logging.getLogger("rankcorr.service")


def begin(request: Request) -> None:
    """Give a request its id and its starting time; a well-formed id from a proxy is kept."""
    given = request.headers.get(ID_HEADER, "")
    g.request_id = given if _GIVEN_ID.fullmatch(given) else new_id()
    g.started = time.perf_counter()


def end(request: Request, response: Response) -> Response:
    """Write the log line of a request, and put the id in the response."""
    response.headers[ID_HEADER] = g.request_id
    write(
        g.request_id,
        method=request.method,
        route=route(request),
        status=response.status_code,
        seconds=time.perf_counter() - g.started,
        n_bytes=g.get("n_bytes", 0),
        n_items=g.get("n_items", 0),
    )
    return response


def new_id() -> str:
    """An id for a request that brings none."""
    return uuid.uuid4().hex


def write(
    request_id: str, *, method: str, route: str, status: int, seconds: float = 0.0, n_bytes: int = 0, n_items: int = 0
) -> None:
    """Write the log line of a request."""
    line = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "id": request_id,
        "method": method,
        "route": route,
        "status": status,
        "ms": round(1000 * seconds, 3),
        "bytes": n_bytes,
        "items": n_items,
    }
    # One write for the whole line, so that the lines of several workers do not mix.
    sys.stdout.write(orjson.dumps(line).decode() + "\n")
    sys.stdout.flush()


def route(request: Request) -> str:
    """The route that a request matched; never its path, which the client chooses."""
    return request.url_rule.rule if request.url_rule else "none"
