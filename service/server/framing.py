"""Where a request ends, found in bytes as they arrive; gunicorn's parser reads what lies between."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from service.environment import variable
from service.http.problems import Problem

_SIZE: Final = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[^\r\n]*)?\r\n")
MAX_LINE: Final = 8_190
# What chunks may add to a body: this, and an eighth of it. A body in chunks of one byte costs a second for each MB.
SPARE_BYTES: Final = 65_536
SPARE_PART: Final = 8


# Takes the bytes of a body without its framing, as they arrive; by default nobody does.
Keep: TypeAlias = Callable[[bytes], object] | None


class Frame(Protocol):
    """Finds the end of a body."""

    is_whole: bool  # nothing of it is missing
    is_cut: bool  # it is longer than the service accepts, and the rest is not waited for

    def take(self, data: bytes) -> int:
        """Number of bytes of `data` that belong to the body; those after it begin the next request."""

    def missing(self) -> str:
        """What the end of the connection came too early for, for a message."""


class Length:
    """A body of known length.

    Examples
    --------
    >>> frame = Length(5, most=10)
    >>> frame.take(b"abc"), frame.is_whole, frame.take(b"defg"), frame.is_whole
    (3, False, 2, True)
    """

    def __init__(self, length: int, *, most: int, keep: Keep = None) -> None:
        self.is_cut = length > most
        self._length = self._left = length
        self._keep = keep
        self.is_whole = length == 0

    def take(self, data: bytes) -> int:
        """Number of bytes of `data` that belong to the body."""
        used = min(len(data), self._left)
        self._left -= used
        self.is_whole = self._left == 0
        if self._keep is not None:
            self._keep(data[:used])
        return used

    def missing(self) -> str:
        """What the end of the connection came too early for."""
        return f"Content-Length says {self._length}, and {self._length - self._left} bytes came"


class Chunks:
    r"""A body in chunks (RFC 9112, section 7.1).

    Examples
    --------
    >>> frame = Chunks(most=10)
    >>> frame.take(b"3\r\nabc\r\n0\r"), frame.is_whole
    (10, False)
    >>> frame.take(b"\n\r\nGET /"), frame.is_whole
    (3, True)
    """

    is_cut = False  # a chunk that makes the body too long is refused

    def __init__(self, *, most: int, keep: Keep = None) -> None:
        self.is_whole = False
        self._most = most
        self._line = bytearray()
        self._read_line = self._size
        self._left = 0  # of the current chunk
        self._n_data = self._n_other = 0
        self._keep = keep
        # A stream may have a line in each chunk: its chunks are not kept, and its time is not that of one request.
        self._spare_part = SPARE_PART if keep is None else 1

    def take(self, data: bytes) -> int:
        """Number of bytes of `data` that belong to the body.

        Raises
        ------
        Problem
            400, for what are no chunks, or very many small ones; 413, for a chunk that makes the body too long.
        """
        place = 0
        while place < len(data) and not self.is_whole:
            if self._left:
                step = min(self._left, len(data) - place)
                self._left -= step
                self._n_data += step
                if self._keep is not None:
                    self._keep(data[place : place + step])
            else:
                end = data.find(b"\n", place) + 1 or len(data)
                step = end - place
                self._add_to_line(data[place:end])
            place += step
        return place

    def missing(self) -> str:
        """What the end of the connection came too early for."""
        return f"{self._n_data} bytes came, and no last chunk"

    def _add_to_line(self, piece: bytes) -> None:
        self._line += piece
        self._n_other += len(piece)
        if len(self._line) > MAX_LINE or self._n_other > SPARE_BYTES + self._n_data // self._spare_part:
            raise Problem(400, "the chunks of the body are too small, or hold more than the body")
        if piece.endswith(b"\n"):
            line = bytes(self._line)
            self._line.clear()
            self._read_line(line)

    def _size(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if found is None:
            raise Problem(400, "a chunk of the body begins with no size")
        self._left = int(found[1], 16)
        if self._n_data + self._left > self._most:
            limit = f"at most {self._most} bytes in a body ({variable('max_body_bytes')})"
            raise Problem(413, f"{limit}; a chunk of it makes that {self._n_data + self._left}")
        self._read_line = self._end if self._left else self._trailer

    def _end(self, line: bytes) -> None:
        if line != b"\r\n":
            raise Problem(400, "a chunk of the body is longer than its size")
        self._read_line = self._size

    def _trailer(self, line: bytes) -> None:
        if not line.endswith(b"\r\n"):
            raise Problem(400, "a trailer of the body ends without a carriage return")
        self.is_whole = line == b"\r\n"
