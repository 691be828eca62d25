"""The bytes of a connection become requests; a request is complete before a thread sees it."""

from __future__ import annotations

from collections import deque
from collections.abc import Set as AbstractSet
from contextlib import suppress
from typing import Any, Final

from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.errors import NoMoreData
from gunicorn.http.message import Request
from gunicorn.http.unreader import Unreader

from service.http.problems import Problem
from service.server.framing import Chunks, Frame, Length
from service.server.streams import BodyFeed

MAX_HEAD_BYTES: Final = 65_536
# gunicorn's reader of chunks copies the rest of a piece for each chunk; its other readers copy a piece once.
_PIECE_OF_CHUNKS: Final = 8_192
_PIECE: Final = 65_536
_NO_LIMIT: Final = 2**62


class Stored(Unreader):  # type: ignore[misc]
    """What gunicorn's parser reads: bytes that have arrived, and after them the end."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: deque[bytes] = deque()

    def store(self, data: bytes, piece: int = _PIECE) -> None:
        """Add bytes to those that will be read."""
        self._pieces.extend(data[start : start + piece] for start in range(0, len(data), piece))

    def chunk(self, size_hint: int | None = None) -> bytes:  # noqa: ARG002
        """The next piece; nothing at the end."""
        return self._pieces.popleft() if self._pieces else b""

    def is_read(self) -> bool:
        """Whether all bytes have been read."""
        return not self._pieces and not self.buf.getbuffer().nbytes


class ChunkedBody(Body):  # type: ignore[misc]
    """A body in chunks, as gunicorn's reader sees it; where that finds a fault, the connection ends with the answer.

    The fault may lie in what the application does not read: the last chunk, or a trailer.
    """

    def __init__(self, request: Any, store: Stored) -> None:
        super().__init__(request.body.reader)
        self._request, self._store = request, store

    def settle(self) -> bool:
        """Read what is left, before the answer says whether the connection goes on; False if it must not."""
        with suppress(Exception):
            while self.read(_PIECE):
                pass
        is_sound = not self.failed and self._store.is_read()
        if not is_sound:
            self._request.force_close()
        return is_sound

    def _read_reader(self, size: int) -> bytes:
        try:
            return bytes(super()._read_reader(size))
        except Exception:
            self._request.force_close()
            raise


class Intake:
    """The requests of a connection, one after the other.

    Attributes
    ----------
    request : gunicorn.http.message.Request or None
        The request whose head has arrived.
    frame : Frame or None
        Knows whether its body has.
    feed : BodyFeed or None
        Has its body, if it is answered while it arrives: its path is one of `streamed`.
    """

    def __init__(
        self, config: Any, client: Any, *, max_body_bytes: int, streamed: AbstractSet[str] = frozenset()
    ) -> None:
        self._config, self._client, self._most, self._streamed = config, client, max_body_bytes, streamed
        self._ahead = bytearray()  # belongs to no request yet
        self._searched = 0
        self._store = Stored()
        self._n_stored = 0
        self._waits = False  # the client, for leave to send its body
        self.request: Any = None
        self.frame: Frame | None = None
        self.feed: BodyFeed | None = None

    @property
    def n_bytes(self) -> int:
        """Number of bytes that are held."""
        return len(self._ahead) + self._n_stored + (0 if self.feed is None else self.feed.n_bytes)

    @property
    def is_complete(self) -> bool:
        """Whether a request can be answered: it is whole, or longer than the service accepts."""
        return self.frame is not None and (self.frame.is_whole or self.frame.is_cut)

    def receive(self, data: bytes) -> None:
        """Take bytes of the connection.

        Raises
        ------
        Exception
            An error of gunicorn's parser, or a `Problem`, for what is no request.
        """
        if self.request is None:
            self._ahead += data
            self.begin()
        else:
            self._take_body(data)

    def begin(self) -> None:
        """Parse the head of the next request, if it is there; errors as of `receive`."""
        if self.request is not None or not self._has_head():
            return
        n_bytes = len(self._ahead)
        self._store = Stored()
        self._store.store(bytes(self._ahead))
        self._ahead.clear()
        self._searched = 0
        try:
            request = Request(self._config, self._store, self._client)
        except NoMoreData as error:
            if n_bytes > MAX_HEAD_BYTES:
                raise Problem(431, f"at most {MAX_HEAD_BYTES} bytes before a body") from error
            raise Problem(400, "the head of the request does not end as HTTP has it") from error
        if request.version >= (1, 1) and not any(name == "HOST" for name, _ in request.headers):
            raise Problem(400, "a request of HTTP/1.1 has the header Host")
        if any(name == "TRANSFER-ENCODING" and value.lower() != "chunked" for name, value in request.headers):
            raise Problem(400, "chunked is the one transfer coding that is read")  # gunicorn unpacks no other
        self._waits = request._expected_100_continue
        request._expected_100_continue = False  # gunicorn would invite the client when a thread begins
        if request.method == "POST" and request.path in self._streamed:
            self.feed = BodyFeed()
        self.request, self.frame = request, self._frame(request)
        if self.feed is not None:
            self.feed.frame = self.frame
        elif isinstance(self.frame, Chunks):
            request.body = ChunkedBody(request, self._store)
        self._take_body(self._store.take_buffered())

    def wants_to_go_on(self) -> bool:
        """Whether the client waits for leave to send the body; asked once."""
        waits, self._waits = self._waits, False
        return waits and not (self.is_complete or self._n_stored)

    def finish(self) -> bool:
        """Forget the request, which has been answered; False if nothing after it can be trusted to be a request."""
        request, frame = self.request, self.frame
        self.give_up()
        if frame is None or not frame.is_whole:
            return False
        if isinstance(request.body, ChunkedBody):
            return request.body.settle()
        return not request.body.failed

    def give_up(self) -> None:
        """Forget the request, and free its bytes."""
        self.request = self.frame = self.feed = None
        self._store = Stored()
        self._n_stored = 0
        self._waits = False

    @property
    def is_empty(self) -> bool:
        """Whether the client has sent nothing that is not part of a whole request."""
        return self.frame is not None and self.frame.is_whole and not self._ahead

    def _has_head(self) -> bool:
        """Whether the bytes hold a whole head, or what will never be one, which the parser refuses."""
        ahead, searched = self._ahead, self._searched
        self._searched = len(ahead)
        if ahead.find(b"\r\n\r\n", max(0, searched - 3)) >= 0 or len(ahead) > MAX_HEAD_BYTES:
            return True
        most = self._config.limit_request_line + 2
        if len(ahead) > most and ahead.find(b"\r\n", 0, most) < 0:
            return True
        while (end := ahead.find(b"\n", searched)) >= 0:
            if end == 0 or ahead[end - 1] != ord("\r"):
                return True
            searched = end + 1
        return False

    def _frame(self, request: Any) -> Frame:
        reader, keep = request.body.reader, None if self.feed is None else self.feed.keep
        most = self._most if self.feed is None else _NO_LIMIT
        if isinstance(reader, ChunkedReader):
            return Chunks(most=most, keep=keep)
        if isinstance(reader, LengthReader):
            return Length(reader.length, most=most, keep=keep)
        raise Problem(400, "the length of the body is unknown")

    def _take_body(self, data: bytes) -> None:
        frame = self.frame
        assert frame is not None
        if self.feed is not None:
            try:
                frame.take(data)  # what follows the body is not read: the connection ends with the answer
            except Problem as problem:
                self.feed.break_off(problem)
            return
        used = 0 if frame.is_cut else frame.take(data)
        self._store.store(data[:used], _PIECE_OF_CHUNKS if isinstance(frame, Chunks) else _PIECE)
        self._n_stored += used
        if frame.is_cut:
            self.request.force_close()
        else:
            self._ahead += data[used:]
