"""The body of a request that is answered while it arrives: lines, in blocks, within limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final, Protocol

from flask import Request

from service.environment import variable
from service.http.body import PIECE, check_declared
from service.http.problems import Problem

NDJSON: Final = "application/x-ndjson"
# Where the environment of a request has its `Feed`; a server may set it, so that no thread waits for a body.
FEED: Final = "rankcorr.feed"
REST_SECONDS: Final = 0.1


class Feed(Protocol):
    """What has arrived of a body."""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""

    def take(self) -> bytes:
        """What has come since this was called last; nothing where the answer must wait.

        Raises
        ------
        Problem
            400, when the body ended before it was whole.
        """

    def rest(self) -> None:
        """Ask to go on a little later, though nothing more has come: all turns are taken."""


class StreamFeed:
    """A body that is waited for: for servers that set no `Feed`."""

    def __init__(self, request: Request) -> None:
        request.max_content_length = None  # a line has a limit, and a stream one of lines
        self._stream: Any = request.stream
        self.has_ended = False

    def take(self) -> bytes:
        """Wait for the next piece."""
        try:
            piece: bytes = self._stream.read(PIECE)
        except Exception as error:  # each server has its own for a body that breaks off
            raise Problem(400, "the body did not arrive whole") from error
        self.has_ended = not piece
        return piece

    def rest(self) -> None:
        """Wait a little."""
        time.sleep(REST_SECONDS)


def feed_of(request: Request) -> Feed:
    """The body of a request that must be declared as lines of JSON.

    Raises
    ------
    Problem
        415 if it is not.
    """
    check_declared(request, NDJSON)
    found: Feed | None = request.environ.get(FEED)
    return StreamFeed(request) if found is None else found


class Lines:
    r"""Cuts pieces of a body into lines; a line has a number, from 1, and blank ones are passed over.

    Examples
    --------
    >>> lines = Lines(most_bytes=10)
    >>> lines.cut(b"one\n\ntw"), lines.cut(b"o\nth"), lines.rest()
    ([(1, b'one')], [(3, b'two')], [(4, b'th')])
    """

    def __init__(self, *, most_bytes: int) -> None:
        self.n_lines = 0
        self._most = most_bytes
        self._begun = b""

    def cut(self, piece: bytes) -> list[tuple[int, bytes]]:
        """Whole lines, with those that an earlier piece began.

        Raises
        ------
        Problem
            413, for a line that is too long.
        """
        *whole, self._begun = (self._begun + piece).split(b"\n")
        found = list(self._numbered(whole))
        self._check(self._begun, self.n_lines + 1)
        return found

    def rest(self) -> list[tuple[int, bytes]]:
        """The last line, which may have no end."""
        begun, self._begun = self._begun, b""
        return list(self._numbered([begun] if begun else []))

    def _numbered(self, lines: list[bytes]) -> Iterator[tuple[int, bytes]]:
        for line in lines:
            self.n_lines += 1
            self._check(line, self.n_lines)
            if line.strip():
                yield self.n_lines, line

    def _check(self, line: bytes, number: int) -> None:
        if len(line) > self._most:
            limit = f"at most {self._most} bytes in a line ({variable('max_line_bytes')})"
            raise Problem(413, f"{limit}; line {number} has more")
