"""A request that is answered while it arrives: its body so far, and the answer, which goes on as more comes.

The loop and a thread take turns: while a thread works, the loop leaves the connection alone, and so nothing is locked.
A thread ends its part when it has answered what had come, or when the client has much to take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Final

from gunicorn.http import wsgi

from service.http.feed import FEED
from service.http.problems import Problem
from service.server.framing import Frame

MOST_UNSENT: Final = 1 << 18  # bytes of an answer that wait for the client, before no more is read and answered
_LONG: Final = 1 << 16  # bytes without the end of a line that are handed on, so that whoever reads lines can refuse


class BodyFeed:
    """What has arrived of a body, for the application to take.

    Attributes
    ----------
    frame : Frame or None
        Finds the end of the body.
    rests : bool
        Whether the application has asked to go on a little later.
    """

    def __init__(self) -> None:
        self.frame: Frame | None = None
        self._arrived = bytearray()
        self._has_line = False
        self._problem: Problem | None = None
        self.rests = False

    @property
    def n_bytes(self) -> int:
        """Number of bytes that are held."""
        return len(self._arrived)

    @property
    def is_whole(self) -> bool:
        """Whether nothing more is to come."""
        return self.frame is not None and self.frame.is_whole

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is to come, and all was taken."""
        return self.is_whole and not self._arrived

    @property
    def is_ready(self) -> bool:
        """Whether there is something to answer: a whole line, the end, or what is too long for a line."""
        return self._has_line or self.is_whole or self._problem is not None or len(self._arrived) >= _LONG

    def rest(self) -> None:
        """Note that the answer goes on a little later, though nothing more has come."""
        self.rests = True

    def keep(self, data: bytes) -> None:
        """Add bytes of the body."""
        self._arrived += data
        self._has_line = self._has_line or b"\n" in data

    def break_off(self, problem: Problem) -> None:
        """Note that the body will not be whole."""
        self._problem = problem

    def take(self) -> bytes:
        """What has come since this was called last; the problem, once nothing is left before it."""
        data = bytes(self._arrived)
        self._arrived.clear()
        self._has_line = False
        if not data and self._problem is not None:
            raise self._problem
        return data


class Stream:
    """The answer to such a request, piece by piece.

    Attributes
    ----------
    begun : float
        When the request began.
    is_over : bool
        Whether the answer has ended.
    has_more : bool
        Whether the answer was left off because the client has much to take, and not because more must come.
    """

    def __init__(self, feed: BodyFeed) -> None:
        self.feed = feed
        self.begun = time.monotonic()
        self.is_over = self.has_more = False
        self._response: Any = None
        self._found: Any = None
        self._pieces: Iterator[bytes] = iter(())

    def begin(self, application: Callable[..., Iterable[bytes]], request: Any, connection: Any, config: Any) -> bool:
        """Call the application; False if that was done before."""
        if self._response is not None:
            return False
        sock = connection.sock
        self._response, environment = wsgi.create(request, sock, connection.client, connection.server, config)
        self._response.force_close()  # what follows on the connection would have to wait for the end of the stream
        environment["wsgi.multithread"] = True
        environment[FEED] = self.feed
        self._found = application(environment, self._response.start_response)
        self._pieces = iter(self._found)
        return True

    def go_on(self, sock: Any) -> None:
        """Write what can be answered now; OSError if the client has gone."""
        self.has_more = self.feed.rests = False
        for piece in self._pieces:
            if not piece:
                return
            self._response.write(piece)
            if sock.n_unsent > MOST_UNSENT:
                self.has_more = True
                return
        self._response.close()
        self.is_over = True

    def close(self) -> None:
        """Tell the application that nothing more of its answer is wanted."""
        self.is_over = True
        found, self._found = self._found, None
        if hasattr(found, "close"):
            with suppress(ValueError):  # a thread is at work on it
                found.close()
