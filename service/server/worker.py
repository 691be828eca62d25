"""gunicorn's worker with threads; a slow client holds up a thread, never the loop that accepts connections."""

from __future__ import annotations

import time
import uuid
from contextlib import suppress
from typing import Any

import gunicorn.util
import orjson
from gunicorn.workers.gthread import ThreadWorker

from service.http.problems import MEDIA_TYPE, TYPE_PREFIX
from service.server.settings import ServerSettings
from service.settings import Settings


class Worker(ThreadWorker):  # type: ignore[misc]
    """Ends each connection in the thread that served it.

    gunicorn 27 does it in the loop, and waits there up to 2 s for a client that does not close its side: twenty of
    them kept everybody waiting for 40 s.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._most_bytes = Settings.from_environment().limits.max_body_bytes
        self._seconds = ServerSettings.from_environment().client_seconds

    def handle(self, conn: Any) -> Any:
        """Answer a request; False if the connection ends with it."""
        conn.is_read = False
        result = super().handle(conn)
        if result is False:
            # A client that still sends would lose the answer if the connection just closed.
            with suppress(OSError):
                conn.close(graceful=not conn.is_read)
            conn.close = _is_closed
        return result

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        """Read what is left of a body that was refused, within its limit; False if the connection ends."""
        end = time.monotonic() + self._seconds
        conn.is_read = bool(conn.parser.finish_body(deadline=end, max_bytes=self._most_bytes + 1))
        return keepalive and conn.is_read


def _is_closed(graceful: bool = False) -> None:
    """Stand in for the method `close` of a connection that is closed."""


def write_problem(sock: Any, status: int, reason: str, message: str) -> None:
    """Answer what never became a request, such as a line that is too long, in the format of every other error."""
    problem = {
        "type": TYPE_PREFIX + "malformed-request",
        "title": reason,
        "status": status,
        "detail": message,
        "request_id": uuid.uuid4().hex,
    }
    body = orjson.dumps(problem)
    head = f"HTTP/1.1 {status} {reason}\r\nConnection: close\r\nContent-Type: {MEDIA_TYPE}\r\n"
    gunicorn.util.write_nonblock(sock, f"{head}Content-Length: {len(body)}\r\n\r\n".encode("latin-1") + body)


gunicorn.util.write_error = write_problem  # in place of its page of HTML; gunicorn calls it by this name
