"""gunicorn's worker with threads, in which a thread never waits for a client.

A loop watches all connections. It collects each request, and hands it to a thread when it is complete; what a client
does not take of its answer at once, the loop sends. So a client that is slow, or silent, costs a socket and what it has
sent, within limits on time, connections and bytes.
"""

from __future__ import annotations

import errno
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from selectors import EVENT_READ, EVENT_WRITE
from typing import Any, Final

import gunicorn.util
from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from service.http.deadline import HAS_LEFT
from service.http.feed import REST_SECONDS
from service.http.problems import Problem
from service.http.refusals import refusal
from service.server.connection import Connection, Patience, Phase
from service.server.intake import ChunkedBody, Intake
from service.server.problems import ended_early, over_capacity, write_problem
from service.server.programs import chosen_program
from service.server.streams import BodyFeed, Stream

_NO_FILES: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_TOO_EARLY: Final = frozenset((errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED))
_COLLECTED: Final = (Phase.IDLE, Phase.HEAD, Phase.BODY, Phase.STREAM)
_HEAVY: Final = (Phase.BODY, Phase.STREAM, Phase.SENDING)
_SWEEP_SECONDS: Final = 0.05


class Worker(ThreadWorker):  # type: ignore[misc]
    """Serves requests that are complete."""

    wsgi: Any
    alive: bool
    _streamed: frozenset[str] = frozenset()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        server, application = chosen_program().read()
        self._most_bytes = application.limits.max_body_bytes
        self._most_held = server.max_buffered_bytes
        self._streamed = application.streamed
        self._patience = Patience(
            idle=float(self.cfg.keepalive),
            pause=server.client_seconds,
            whole=server.max_body_seconds,
            stream=application.limits.max_stream_seconds,
        )
        self._connections: dict[Connection, int] = {}  # with what the loop waits for; the longest open come first
        self._n_held = 0
        self._swept = 0.0

    def load_wsgi(self) -> None:
        """Let the application ask whether a client has left, and answers say whether the connection ends."""
        super().load_wsgi()
        application = self.wsgi

        def wsgi(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            speaks_1_1 = environ["SERVER_PROTOCOL"] != "HTTP/1.0"
            environ[HAS_LEFT] = partial(environ["gunicorn.socket"].has_left, speaks_1_1=speaks_1_1)
            body = environ["wsgi.input"]
            found: Iterable[bytes] = application(environ, start_response)
            if isinstance(body, ChunkedBody):
                body.settle()  # the head of the answer is written with its first piece
            return found

        self.wsgi = wsgi

    # What the loop does; nothing of it may wait.

    def accept(self, listener: Any) -> None:
        """Take a new connection; where there are too many, in place of the one that has kept silent for longest."""
        while self.nr_conns >= self.worker_connections - 1 and self._give_one_up():
            pass
        try:
            raw, client = listener.accept()
        except OSError as error:
            if error.errno in _NO_FILES:
                if not self._give_one_up():
                    time.sleep(_SWEEP_SECONDS)  # all are worked on
            elif error.errno not in _TOO_EARLY:
                raise
            return
        intake = Intake(self.cfg, client, max_body_bytes=self._most_bytes, streamed=self._streamed)
        connection = Connection(raw, client, listener.getsockname(), intake, self._patience)
        self._connections[connection] = 0
        self.nr_conns += 1
        self._watch(connection, EVENT_READ)
        self._read(connection)

    def finish_request(self, conn: Connection, fs: Any) -> None:
        """Send what is left of an answer, and go on to the next request of the connection."""
        if conn not in self._connections:  # everything has been closed
            return
        if conn.stream is not None:
            self._end_part(conn, failed=fs.cancelled() or fs.exception() is not None)
            return
        conn.goes_on = not fs.cancelled() and fs.exception() is None and bool(fs.result())
        self._answer(conn)

    def murder_pending(self) -> None:
        """Give up the connections whose time is over; gunicorn calls this after each turn of its loop."""
        now = time.monotonic()
        if now < self._swept + _SWEEP_SECONDS:
            return
        self._swept = now
        for connection in [found for found in self._connections if found.due < now]:
            if self._connections.get(connection) == EVENT_READ:
                # What came while this process itself stood still is in time.
                self._guarded(self._read, connection)
            if connection in self._connections and connection.due < now:
                self._expire(connection)

    def murder_keepalived(self, force: bool = False) -> None:
        """Close everything, if forced; gunicorn keeps idle connections apart, and this worker does not."""
        if force:
            for connection in list(self._connections):
                if connection.phase is not Phase.WORKING:
                    self._close(connection)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Wait until a socket is ready, or the time of a connection is over."""
        first = min((connection.due for connection in self._connections), default=float("inf"))
        left = max(_SWEEP_SECONDS, first - time.monotonic())
        super().wait_for_and_dispatch_events(min(timeout, left))

    def _cap_keepalive(self, deadline: float) -> None:
        """Close idle connections soon: the worker ends."""
        for connection in self._connections:
            if connection.phase is Phase.IDLE:
                connection.due = min(connection.due, deadline)

    def _read(self, connection: Connection) -> None:
        try:
            data = connection.sock.receive()
        except OSError:
            self._close(connection)
            return
        if data is None:
            return
        if connection.phase is Phase.ENDING:
            connection.n_thrown_away += len(data)
            if not data or connection.n_thrown_away > self._most_bytes:
                self._close(connection)
        elif data:
            self._collect(connection, data)
        elif connection.phase is Phase.IDLE:
            self._close(connection)
        elif connection.stream is not None:
            self._break_off(connection, ended_early(connection))
        else:
            self._refuse(connection, ended_early(connection))

    def _collect(self, connection: Connection, data: bytes) -> None:
        """Go on with bytes that have arrived, or that were there already."""
        intake = connection.intake
        try:
            intake.receive(data)
        except Exception as error:
            self._refuse(connection, error)
            return
        if intake.feed is not None:
            if intake.wants_to_go_on():
                connection.sock.invite()
            self._stream(connection, intake.feed)
            return
        if intake.is_complete:
            connection.enter(Phase.WORKING)
            self._weigh(connection)
            self._watch(connection, 0)
            self.enqueue_req(connection)
            return
        if intake.request is None:
            if connection.phase is Phase.IDLE and intake.n_bytes:
                connection.enter(Phase.HEAD)
        elif connection.phase is Phase.BODY:
            connection.extend()
        else:
            connection.enter(Phase.BODY)
        if intake.wants_to_go_on():
            connection.sock.invite()
        self._weigh(connection)

    def _stream(self, connection: Connection, feed: BodyFeed) -> None:
        """Let a thread answer what has come of a stream, if there is something to answer."""
        is_new = connection.stream is None
        if connection.stream is not None and time.monotonic() > connection.stream.begun + self._patience.stream:
            feed.break_off(self._patience.with_stream())
        if connection.stream is None:
            connection.stream = Stream(feed)
        if feed.rests:
            connection.enter(Phase.STREAM)
            connection.due = time.monotonic() + REST_SECONDS
            self._watch(connection, 0)
            return
        if is_new or connection.stream.has_more or feed.is_ready:
            connection.enter(Phase.WORKING)
            self._weigh(connection)
            self._watch(connection, 0)
            self.enqueue_req(connection)
            return
        connection.enter(Phase.STREAM)
        self._watch(connection, EVENT_READ)
        self._weigh(connection)

    def _end_part(self, connection: Connection, *, failed: bool) -> None:
        """Go on with a stream of which a thread has answered a part."""
        stream = connection.stream
        assert stream is not None
        if failed:
            self._close(connection)
        elif stream.is_over:
            connection.goes_on, connection.owes = False, not stream.feed.is_whole
            self._answer(connection)
        else:
            connection.enter(Phase.STREAM)
            self._take_on(connection, stream)

    def _take_on(self, connection: Connection, stream: Stream) -> None:
        """Send what the client takes; nothing more is read before all is taken."""
        before = connection.sock.n_unsent
        try:
            is_sent = connection.sock.flush()
        except OSError:
            self._close(connection)
            return
        if is_sent:
            self._stream(connection, stream.feed)
            return
        if connection.sock.n_unsent < before:
            connection.extend()
        self._watch(connection, EVENT_WRITE)
        self._weigh(connection)

    def _break_off(self, connection: Connection, problem: Problem) -> None:
        """End a stream whose body will not be whole; what came of it is answered, and then the problem."""
        stream = connection.stream
        assert stream is not None
        stream.feed.break_off(problem)
        self._stream(connection, stream.feed)

    def _answer(self, connection: Connection) -> None:
        """Send what the client takes of its answer."""
        if connection.phase is Phase.STREAM and connection.stream is not None:
            self._take_on(connection, connection.stream)
            return
        before = connection.sock.n_unsent
        try:
            is_sent = connection.sock.flush()
        except OSError:
            self._close(connection)
            return
        if is_sent:
            self._end_answer(connection)
        elif connection.phase is not Phase.SENDING:
            connection.enter(Phase.SENDING)
            self._watch(connection, EVENT_WRITE)
            self._weigh(connection)
        elif connection.sock.n_unsent < before:
            connection.extend()
            self._weigh(connection)

    def _end_answer(self, connection: Connection) -> None:
        if connection.goes_on:
            connection.enter(Phase.IDLE)
            if not self.alive:
                connection.due = min(connection.due, time.monotonic() + STOP_KEEPALIVE_LINGER)
            self._watch(connection, EVENT_READ)
            self._weigh(connection)
            self._collect(connection, b"")  # the next request may have come with the last
            return
        try:
            connection.sock.end_sending()
        except OSError:
            connection.owes = False
        if not connection.owes:
            self._close(connection)
            return
        connection.enter(Phase.ENDING)
        self._watch(connection, EVENT_READ)
        self._weigh(connection)
        self._read(connection)

    def _refuse(self, connection: Connection, error: Exception) -> None:
        """Answer what never became a request, and end the connection."""
        connection.intake.give_up()
        connection.owes = True
        if isinstance(error, Problem):
            with suppress(OSError):
                connection.sock.sendall(refusal(error))
        else:
            self.handle_error(None, connection.sock, connection.client, error)
        connection.goes_on = False
        self._answer(connection)

    def _expire(self, connection: Connection) -> None:
        stream = connection.stream
        if stream is not None and stream.feed.rests:
            stream.feed.rests, stream.has_more = False, True
            self._stream(connection, stream.feed)
        elif connection.phase is Phase.STREAM and not connection.sock.n_unsent:
            self._break_off(connection, self._patience.with_stream())
        elif connection.phase in (Phase.HEAD, Phase.BODY):
            self._refuse(connection, self._patience.with_request())
        else:
            self._close(connection)

    def _give_one_up(self) -> bool:
        """Close the connection that has been silent for longest, or else the slowest; False if all are worked on."""
        found = [connection for connection in self._connections if connection.phase in _COLLECTED]
        if not found:
            return False
        self._close(min(found, key=lambda connection: (connection.phase is not Phase.IDLE, connection.since)))
        return True

    def _weigh(self, connection: Connection) -> None:
        """Count what a connection holds; where that is too much, the one that holds most is given up."""
        self._n_held += connection.weigh()
        while self._n_held > self._most_held:
            heavy = max(
                (found for found in self._connections if found.phase in _HEAVY and found.weight),
                key=lambda found: found.weight,
                default=None,
            )
            if heavy is None:
                return
            if heavy.phase is Phase.BODY:
                self._refuse(heavy, over_capacity(self._most_held))
            else:
                self._close(heavy)

    def _watch(self, connection: Connection, events: int) -> None:
        """Wait for other events of a connection; 0 is for none."""
        before = self._connections[connection]
        if before == events:
            return
        self._connections[connection] = events
        if before:
            self.poller.unregister(connection.sock.raw)
        if events:
            what = self._read if events == EVENT_READ else self._answer
            self.poller.register(connection.sock.raw, events, lambda _: self._guarded(what, connection))

    def _guarded(self, what: Callable[[Connection], None], connection: Connection) -> None:
        """Let no error end more than the connection that it is of."""
        try:
            what(connection)
        except Exception:
            self.log.exception("a connection failed")
            self._close(connection)

    def _close(self, connection: Connection) -> None:
        if connection in self._connections:
            if connection.stream is not None and connection.phase is not Phase.WORKING:
                connection.stream.close()
            self._watch(connection, 0)
            del self._connections[connection]
            self._n_held -= connection.weight
            self.nr_conns -= 1
            connection.sock.drop()

    # What a thread does.

    def handle(self, conn: Connection) -> bool:
        """Answer a request; False if the connection ends with it."""
        request = conn.intake.request
        if conn.stream is not None:
            return self._answer_part(conn, conn.stream, request)
        conn.owes = not conn.intake.is_empty
        try:
            return bool(self.handle_request(request, conn)) and conn.intake.finish()
        except (OSError, StopIteration):  # the client has gone
            pass
        except Exception as error:
            self.handle_error(request, conn.sock, conn.client, error)
        conn.intake.give_up()
        return False

    def _answer_part(self, conn: Connection, stream: Stream, request: Any) -> bool:
        """Answer what has come of a stream; the connection ends with its end."""
        try:
            if stream.begin(self.wsgi, request, conn, self.cfg):
                self.nr += 1
                if self.nr >= self.max_requests and self.alive:
                    self.log.info("Autorestarting worker after the streams that it answers.")
                    self.alive = False
            stream.go_on(conn.sock)
        except OSError:  # the client has gone
            stream.close()
        except Exception:
            self.log.exception("a stream failed")
            stream.close()
            raise
        if stream.is_over:
            stream.close()
        return False


gunicorn.util.write_error = write_problem  # in place of its page of HTML; gunicorn calls it by this name
