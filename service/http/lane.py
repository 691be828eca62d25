"""Run each heavy request in a separate process: a few at a time, and at most one per client.

All threads of a worker share one interpreter lock, so a request that takes seconds would hold up all others. The
threads therefore pass heavy requests on. Before a worker starts threads, it forks a nursery: a process that only forks
children. It forks one child per heavy request, and the child finds everything loaded and compiled. After one answer the
child exits and frees its memory. The nursery kills a child once its worker no longer waits for the answer, and all
children when the worker ends.

    worker --- fds of a socket and a pipe ---> nursery --- fork ---> child
       |<-------------- request and answer on the socket ------------->|
       |<-- on the pipe: how the child ended ------|
"""

import fcntl
import hashlib
import logging
import math
import mmap
import os
import pickle
import secrets
import select
import signal
import socket
import struct
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any, Final, NoReturn, TypeAlias

from service.environment import variable
from service.http import metrics
from service.http.problems import CLIENT_LEFT, Problem

NICENESS: Final = 10  # small requests find a processor at once; heavy ones use all of it when nothing else runs
_LENGTHS: Final = struct.Struct("=qq")
_STATUS: Final = struct.Struct("=i")
_PIECE: Final = 1 << 20
CHEAP_SECONDS: Final = 0.05  # of estimated work: up to this a thread answers
CHEAP_BYTES: Final = 1 << 18  # of a body: a thread parses this in 10 ms
_LOOK_SECONDS: Final = 0.02  # between two checks for a free place, and for a client that has left
_LOOK_AT_JOB_SECONDS: Final = 0.5  # the same for a job, and whether it is still wanted
_JOBS: Final = 1 << 19  # the first place used for jobs
_CLIENTS: Final = 1 << 20  # the first place used for clients
COMPILING: Final = 1
STOPPING: Final = 2
# Linux reports that the client has closed its side even if unread bytes come before.
_ENDED: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)
_IGNORED: Final = ("SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTTIN", "SIGTTOU")

Answer: TypeAlias = Callable[[Any, bytes], tuple[Any, bytes]]

log = logging.getLogger("rankcorr.service")


class Lane:
    """Share the limits and places of heavy requests among all workers that are forked later.

    Parameters
    ----------
    waiting : int
        Most heavy requests per worker, running or waiting for a place.
    wait_seconds : float
        Time that a request may spend without a processor: waiting for a place, and while other requests run.
    work_seconds : float
        Processor time of a request.
    """

    def __init__(self, *, waiting: int, wait_seconds: float, work_seconds: float) -> None:
        self._wait_seconds, self._work_seconds = wait_seconds, work_seconds
        self._n_places = 0
        self._held = Held()
        # Its byte is COMPILING while the kernels of most requests are compiled, and those requests wait without a
        # deadline; STOPPING if the service is stopped during the wait.
        self.compiling = mmap.mmap(-1, 1)
        self._key = secrets.token_bytes(16)  # else a client could find names that count against another client
        self._queue = threading.BoundedSemaphore(waiting)
        self._head = threading.Lock()  # only the first request in a worker's queue looks for a free place
        self._waiting = waiting
        self._nursery: socket.socket | None = None
        self._parent = 0  # the process that compiles
        self.is_early = False  # whether this worker was forked before all kernels were compiled: it ends soon after

    @property
    def is_open(self) -> bool:
        """Whether this process has a nursery; without one it does all work itself."""
        return self._nursery is not None

    def pass_on(self) -> None:
        """Hand the current request over to a separate process, unless this already is one.

        Raises
        ------
        Heavy
        """
        if self.is_open:
            raise Heavy

    def open(self, answer: Answer, *, places: int) -> None:
        """Fork the nursery; call this before the process starts threads.

        Parameters
        ----------
        answer : callable
            Runs in the child: takes head and body of a request, returns head and body of the answer.
        places : int
            Most heavy requests that run at once, over all workers.
        """
        self._n_places = places
        self._parent = os.getppid()
        self.is_early = bool(self.compiling[0])
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            ours.close()
            try:
                _nurse(theirs, answer)
            except BaseException:
                log.exception("the process that forks has failed")
            finally:
                os._exit(0)
        theirs.close()
        self._nursery = ours

    def close(self) -> None:
        """End the nursery and all its children."""
        if self._nursery is not None:
            self._nursery.close()
            self._nursery = None

    def work(
        self, client: str, head: Any, body: bytes | bytearray, connection: socket.socket | None = None
    ) -> tuple[Any, list[bytes]]:
        """Run a client's request in a separate process; return head and body of the answer.

        Parameters
        ----------
        client : str
        head : object
            Passed to the child with the body; must be picklable.
        body : bytes or bytearray
        connection : socket.socket, optional
            The client's connection. If the client leaves, its work is ended.

        Raises
        ------
        Problem
            429 if another heavy request of this client is running or waiting. 503 if too many requests wait, or this
            one waits too long. 422 if it needs too much processor time. 499 if the client has left.
        """
        digest = hashlib.blake2b(client.encode("utf-8", "surrogateescape"), digest_size=5, key=self._key).digest()
        with ExitStack() as held:
            own = _CLIENTS + int.from_bytes(digest)
            if not self._held.take(own):
                raise Problem(
                    429,
                    "another heavy request of this client is running or waiting: send heavy requests one after the "
                    "other",
                    kind="one-at-a-time",
                    headers={"Retry-After": "1"},
                )
            held.callback(self._held.give_back, own)
            if not self._queue.acquire(blocking=False):
                raise over_capacity(f"this worker has {self._waiting} heavy requests already", "max_waiting")
            held.callback(self._queue.release)
            with metrics.waiting():
                place, end = self._free_place(connection)
            held.callback(self._held.give_back, place)
            return self._ask(head, body, end + self._work_seconds, connection)

    def work_on_job(
        self, head: Any, body: bytes | bytearray, seconds: float, look: Callable[[], None]
    ) -> tuple[Any, list[bytes]]:
        """Run a request that no client waits for: it may wait for its turn, and take `seconds` of processor time.

        Jobs have separate places, half as many as other heavy requests. `look` is called now and then, and ends the
        work by raising a problem.
        """
        places = range(_JOBS, _JOBS + max(1, self._n_places // 2))
        while (place := self._taken(places)) is None:
            look()
            time.sleep(_LOOK_AT_JOB_SECONDS)
        try:
            return self._ask(head, body, math.inf, None, seconds, look)
        finally:
            self._held.give_back(place)

    def _free_place(self, connection: socket.socket | None) -> tuple[int, float]:
        """Return a place, and the time until which the request may wait for a processor."""
        end = time.monotonic() + self._wait_seconds
        ended = select.poll()
        if connection is not None:
            ended.register(connection, _ENDED)
        is_first = False
        try:
            while (compiles := self._compiles()) or time.monotonic() < end:
                if ended.poll(0):
                    raise _client_left()
                if compiles:
                    time.sleep(_LOOK_SECONDS)
                    end = time.monotonic() + self._wait_seconds
                elif not is_first:
                    is_first = self._head.acquire(timeout=_LOOK_SECONDS)
                elif (place := self._taken(range(self._n_places))) is not None:
                    return place, end
                else:
                    time.sleep(_LOOK_SECONDS)
        finally:
            if is_first:
                self._head.release()
        raise over_capacity(f"no turn came in {self._wait_seconds:g} s", "max_wait_seconds")

    def _compiles(self) -> bool:
        """Return whether kernels are still compiled; raise 503 if the process that does so stops or has ended."""
        compiling = self.compiling[0]
        if compiling == STOPPING or (compiling and os.getppid() != self._parent):
            raise over_capacity("the service stops before all kernels are compiled", None)
        return bool(compiling)

    def _taken(self, places: range) -> int | None:
        """Take a free place and return it; None if all are taken."""
        return next((place for place in places if self._held.take(place)), None)

    def _ask(
        self,
        head: Any,
        body: bytes | bytearray,
        end: float,
        connection: socket.socket | None,
        seconds: float | None = None,
        look: Callable[[], None] | None = None,
    ) -> tuple[Any, list[bytes]]:
        assert self._nursery is not None
        seconds = self._work_seconds if seconds is None else seconds
        patience = partial(_seconds_until, end)
        ours, theirs = socket.socketpair()
        outcome, told = os.pipe()
        with ours, theirs, os.fdopen(outcome, "rb"):
            try:
                try:
                    socket.send_fds(self._nursery, [b"!"], [theirs.fileno(), told])
                finally:
                    os.close(told)
                    theirs.close()
            except OSError as error:  # the nursery was killed: this worker ends, and gunicorn starts another one
                os.kill(os.getpid(), signal.SIGTERM)
                raise over_capacity("this worker can no longer start processes", None) from error
            try:
                ours.settimeout(patience())
                _send(ours, (1.2 * seconds + 1.0, head), body)
                _wait(ours, end, connection, look)
                ours.settimeout(patience())
                return _received(ours)
            except TimeoutError as error:
                raise over_capacity(
                    f"the request waited for more than {self._wait_seconds:g} s, as the processors are busy",
                    "max_wait_seconds",
                ) from error
            except (EOFError, OSError) as error:
                raise self._failure(os.read(outcome, _STATUS.size), seconds) from error

    def _failure(self, told: bytes, seconds: float) -> Problem:
        """Return the problem for a child that ended without an answer."""
        status = _STATUS.unpack(told)[0] if len(told) == _STATUS.size else 0
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
            return too_much_work(seconds, setting="max_seconds" if seconds == self._work_seconds else "job_seconds")
        log.error("the process of a request ended with status %s", status)
        return Problem(500, "the process that worked on the request has ended; the log of the service says how")


class Heavy(Exception):  # noqa: N818 - not an error: the request is still answered
    """Raised in a thread that finds that a request needs a separate process."""


class Held:
    """Places, each a byte of a file, that only one request over all workers can hold at a time.

    The kernel releases the places of a worker that is killed; a lock in shared memory would stay closed.

    Examples
    --------
    >>> held = Held()
    >>> held.take(7), held.take(7)
    (True, False)
    >>> held.give_back(7)
    >>> held.take(7)
    True
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - stays open as long as the places are used
        weakref.finalize(self, self._file.close)
        self._ours: set[int] = set()  # a file lock excludes other processes, but not threads of this one
        self._threads = threading.Lock()

    def take(self, place: int) -> bool:
        """Take a place; False if it is held."""
        with self._threads:
            if place in self._ours:
                return False
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
            except (BlockingIOError, PermissionError):  # which one depends on the system
                return False
            self._ours.add(place)
            return True

    def give_back(self, place: int) -> None:
        """Give a place back."""
        with self._threads:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)
            self._ours.discard(place)


def too_much_work(
    work_seconds: float, needed: str = "more", *, setting: str = "max_seconds", instead: str = ""
) -> Problem:
    """Return the problem for a request that needs more processor time than the limit."""
    return Problem(
        422,
        f"at most {work_seconds:g} s of processor time for a request ({variable(setting)}); this one needs {needed}: "
        f"ask for less at once{instead}",
        kind="too-much-work",
    )


def over_capacity(why: str, setting: str | None) -> Problem:
    """Return the problem for a request that the service has no capacity for now."""
    named = "" if setting is None else f" ({variable(setting)})"
    return Problem(503, f"{why}{named}; try again", kind="over-capacity", headers={"Retry-After": "1"})


def _seconds_until(end: float) -> float | None:
    """Return the time until then, for a socket; None for ever."""
    return None if end == math.inf else max(0.01, end - time.monotonic())


def _wait(ours: socket.socket, end: float, connection: socket.socket | None, look: Callable[[], None] | None) -> None:
    """Wait until an answer starts to arrive; raise TimeoutError at the end, or a problem if the client has left."""
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    if connection is not None:
        poll.register(connection, _ENDED)
    while (left := end - time.monotonic()) > 0:
        for number, _ in poll.poll(1000 * (left if look is None else min(left, _LOOK_AT_JOB_SECONDS))):
            if number == ours.fileno():
                return
            raise _client_left()
        if look is not None:
            look()
    raise TimeoutError


def _client_left() -> Problem:
    return Problem(CLIENT_LEFT, "the client left before its answer")


def _send(to: socket.socket, head: Any, body: bytes | bytearray) -> None:
    packed = pickle.dumps(head)
    to.sendall(_LENGTHS.pack(len(packed), len(body)) + packed)
    if body:  # without one the other side may have answered and left, and then even nothing cannot be sent
        to.sendall(body)


def _received(source: socket.socket) -> tuple[Any, list[bytes]]:
    """Return head and body of a message; raise EOFError if the other side closes before it is complete.

    The body stays in pieces: joining 100 MB would hold up all threads.
    """
    n_head, n_body = _LENGTHS.unpack(b"".join(_pieces(source, _LENGTHS.size)))
    return pickle.loads(b"".join(_pieces(source, n_head))), list(_pieces(source, n_body))


def _pieces(source: socket.socket, n_bytes: int) -> Iterator[bytes]:
    while n_bytes:
        piece = source.recv(min(n_bytes, _PIECE))
        if not piece:
            raise EOFError
        yield piece
        n_bytes -= len(piece)


def _nurse(control: socket.socket, answer: Answer) -> None:
    """Fork a child for each socket and pipe received, and write on the pipe how the child ended."""
    for name in _IGNORED:  # a signal to the whole group is meant for the worker, which finishes its requests
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    woken, wake = os.pipe()
    os.set_blocking(woken, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    _close_all_but(control.fileno(), woken, wake)
    pipes: dict[int, int] = {}  # by child
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        for number, _ in poll.poll():
            if number == woken:
                os.read(woken, _PIECE)
                _reap(pipes, poll)
            elif number == control.fileno():
                data, fds, _, _ = socket.recv_fds(control, 1, 2)
                if not data:  # the worker has ended
                    for child in pipes:
                        os.kill(child, signal.SIGKILL)
                    return
                job, pipe = fds
                child = os.fork()
                if child == 0:
                    _work(socket.socket(fileno=job), answer)
                os.close(job)
                pipes[child] = pipe
                poll.register(pipe, 0)
            elif number in pipes.values():  # the worker no longer waits; the child may have just ended
                os.kill(next(child for child, pipe in pipes.items() if pipe == number), signal.SIGKILL)
                poll.unregister(number)


def _reap(pipes: dict[int, int], poll: select.poll) -> None:
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            pipe = pipes.pop(ended[0])
            with suppress(KeyError):
                poll.unregister(pipe)
            with suppress(OSError):
                os.write(pipe, _STATUS.pack(ended[1]))
            os.close(pipe)


def _work(job: socket.socket, answer: Answer) -> NoReturn:
    """Answer a request; a signal ends work that overruns its deadline."""
    try:
        signal.set_wakeup_fd(-1)
        _close_all_but(job.fileno())
        os.nice(NICENESS)
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        (most_seconds, head), pieces = _received(job)
        signal.setitimer(signal.ITIMER_PROF, most_seconds)
        _send(job, *answer(head, b"".join(pieces)))
        os._exit(0)
    except ConnectionError:  # the worker no longer waits for the answer
        os._exit(1)
    except BaseException:
        log.exception("the process of a request failed")
        os._exit(1)


def _close_all_but(*kept: int) -> None:
    """Close the files inherited from the worker: a listening socket that stays open would keep its port."""
    start = 3
    for number in sorted(kept):
        os.closerange(start, number)
        start = number + 1
    os.closerange(start, os.sysconf("SC_OPEN_MAX"))
