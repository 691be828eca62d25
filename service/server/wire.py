"""A socket that nothing waits for: what cannot be sent at once is kept for the loop that watches all sockets."""

from __future__ import annotations

import errno
import select
import socket
import struct
from collections import deque
from contextlib import suppress
from typing import Final

_CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
_PIECE: Final = 1 << 16  # of one reading
# Linux tells the end of what the client sends even behind bytes that nobody has read.
_HANG_UP: Final = getattr(select, "POLLRDHUP", 0)


class Wire:
    """The socket of a connection, as gunicorn writes an answer to it.

    Parameters
    ----------
    raw : socket.socket
        Must not block.
    """

    def __init__(self, raw: socket.socket) -> None:
        self.raw = raw
        self._unsent: deque[memoryview] = deque()
        self._n_unsent = 0
        self._asked = False

    @property
    def n_unsent(self) -> int:
        """Bytes of the answer that the client has not taken yet."""
        return self._n_unsent

    def sendall(self, data: bytes) -> None:
        """Send what the client takes at once, and keep the rest; OSError if it has gone."""
        rest = memoryview(data)
        if not self._unsent:
            rest = rest[self._sent(rest) :]
        if rest:
            self._unsent.append(rest)
            self._n_unsent += len(rest)

    def flush(self) -> bool:
        """Send what the client takes now; True if nothing is left, and OSError if it has gone."""
        while self._unsent:
            first = self._unsent[0]
            sent = self._sent(first)
            self._n_unsent -= sent
            if sent < len(first):
                self._unsent[0] = first[sent:]
                return False
            self._unsent.popleft()
        return True

    def receive(self) -> bytes | None:
        """Bytes that have arrived, b"" at their end, None if there are none yet; OSError if the client has gone."""
        try:
            return self.raw.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return None

    def has_left(self, *, speaks_1_1: bool = True) -> bool:
        """Whether the client has gone while its request is worked on; asked by the thread that works.

        The end of what it sends does not tell: a client may have closed that side alone, and wait for its answer. Such
        a client passes over an answer 100 (RFC 9110, section 15.2), and one that has gone meets it with a reset.
        """
        poll = select.poll()
        poll.register(self.raw, _HANG_UP)
        state = sum(event for _, event in poll.poll(0))
        if state & (select.POLLERR | select.POLLHUP | select.POLLNVAL):
            return True
        if state & _HANG_UP and speaks_1_1 and not self._asked:
            self._asked = True
            try:
                self.raw.send(_CONTINUE)
            except OSError as error:
                return error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK)
        return False

    def invite(self) -> None:
        """Tell a client that waits for leave to send its body."""
        with suppress(OSError):
            self.raw.send(_CONTINUE)

    def end_sending(self) -> None:
        """Tell the client that nothing more comes; OSError if it has gone."""
        self.raw.shutdown(socket.SHUT_WR)

    def drop(self) -> None:
        """End the connection; if not all was sent, the kernel throws its part away too, which may be megabytes."""
        if self._n_unsent:
            with suppress(OSError):
                self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.raw.close()

    def close(self) -> None:
        """Leave the closing to the loop: gunicorn calls this in a thread."""

    def shutdown(self, _how: int) -> None:
        """Refuse, so that gunicorn does not wait for the client in a thread."""
        raise OSError(errno.ENOTCONN, "the loop ends connections")

    def _sent(self, data: memoryview) -> int:
        try:
            return self.raw.send(data)
        except (BlockingIOError, InterruptedError):
            return 0
