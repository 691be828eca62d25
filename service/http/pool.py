"""Answer heavy requests in a few warm processes: short work first, and one request of a client at a time.

All threads of a worker share one interpreter lock, so a request that takes seconds would hold up all others. The
threads pass heavy requests to a supervisor, which all workers share. It is forked before any thread starts, and keeps
children that have everything loaded. Files in memory carry a request to a child, and its answer back.

    worker --- files, socket for news ---> supervisor --- files ---> child
       |<--- started, again, done ------------|<-------- done --------|

Each request begins as short work, unless the client's latest ones took SHORT_SECONDS. If it uses them up, it begins
again as long work. Long work comes after short work, to which it leaves one process and half of the requests that
may run or wait. The latest requests of a client, or those for the same operation if the client is new, predict the
processor time of the next one. Short work is served in the order of this time. If too many requests wait, the one
that is expected to take longest is refused. Many clients with long work thus cannot keep out short work.
"""

import contextlib
import hashlib
import logging
import os
import secrets
import select
import signal
import socket
import struct
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from service.environment import HttpSettings, variable
from service.http import metrics
from service.http.child import BUDGET, DISK_FULL, DONE, LAST, NEWS, Answer, memory_file, read_work, work, write_work
from service.http.jobs import Jobs
from service.http.problems import CLIENT_LEFT, Problem

SHORT_SECONDS: Final = 1.0  # of processor time; the system counts whole seconds, which adds up to one
MOST_OF_CLIENT: Final = 6  # requests that run or wait: a browser sends as many to a host
MOST_KEYS: Final = 10_000  # of clients and operations, whose processor time is remembered
_KEY_BYTES: Final = 16
_STATUS: Final = struct.Struct("=i")
_IGNORED: Final = ("SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGTTIN", "SIGTTOU")
# Linux reports that the client has closed its side even if unread bytes come before.
_CLOSED: Final = select.POLLERR | select.POLLHUP | select.POLLNVAL | getattr(select, "POLLRDHUP", 0)

STARTED, AGAIN, TOO_MANY_OF_CLIENT, TOO_MANY, ENDED = b"s", b"a", b"c", b"m", b"x"  # to a thread, besides DONE

log = logging.getLogger("rankcorr.service")


class Heavy(Exception):  # noqa: N818 - not an error: the request is still answered
    """Raised in a thread that finds that a request needs a separate process."""


class Turn(IntEnum):
    """The queues, in the order in which they are served."""

    SHORT = 0
    LONG = 1
    JOB = 2


class Pool:
    """Processes for heavy requests, shared by all workers that are forked after `start`.

    Parameters
    ----------
    settings : HttpSettings
        How many heavy requests may run or wait (half of them with long work), how long one may wait, and the processor
        time and the memory that it may take.
    jobs : Jobs, optional
        Requests that go on after the answer 202, each with the processor time `job_seconds` of the settings.
    """

    def __init__(self, settings: HttpSettings, jobs: Jobs | None = None) -> None:
        self.waiting, self.wait_seconds = settings.max_waiting, settings.max_wait_seconds
        self.work_seconds, self.work_bytes = settings.limits.max_seconds, settings.limits.max_work_bytes
        self.jobs = jobs
        job_seconds = getattr(settings, "job_seconds", 0.0)
        self.seconds = {Turn.SHORT: SHORT_SECONDS, Turn.LONG: self.work_seconds, Turn.JOB: job_seconds}
        self.places = 1
        self._key = secrets.token_bytes(16)  # else a client could find names that count against another client
        self._control: socket.socket | None = None

    @property
    def is_open(self) -> bool:
        """Whether this process can pass requests on; without a supervisor it does all work itself."""
        return self._control is not None

    def pass_on(self) -> None:
        """Pass the current request on, unless this process is a child or has no supervisor.

        Raises
        ------
        Heavy
        """
        if self.is_open:
            raise Heavy

    def start(self, answer: Answer, *, places: int) -> None:
        """Fork the supervisor, below a process that replaces it if it dies; call this before any thread starts.

        Parameters
        ----------
        answer : callable
            Runs in a child: takes head and body of a request, returns head and body of the answer.
        places : int
            Most requests with long work that run at once.
        """
        self.places = places
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            try:
                ours.close()
                for name in _IGNORED:  # the workers finish their requests first; then the socket closes
                    signal.signal(getattr(signal, name), signal.SIG_IGN)
                while (pid := os.fork()) and os.waitpid(pid, 0)[1] != 0:
                    log.error("the supervisor of heavy requests has died; another one starts")
                    time.sleep(0.1)
                if not pid:
                    Supervisor(self, theirs, answer).run()
                os._exit(0)
            except BaseException:
                log.exception("the supervisor of heavy requests failed")
            finally:
                os._exit(1)
        theirs.close()
        self._control = ours

    def check(self) -> None:
        """Refuse to report readiness once the supervisor and the process that would replace it are dead.

        Raises
        ------
        Problem
            503, until the service is restarted.
        """
        if self._control is not None:
            poll = select.poll()
            poll.register(self._control, 0)
            if poll.poll(0):  # nobody holds the other end
                raise over_capacity(
                    "the processes for heavy requests have ended, and the service must be restarted", None
                )

    def client_key(self, client: str) -> bytes:
        """Return the key under which the requests of a client count; it does not tell the client's address."""
        return self._hash("client " + client)

    def _hash(self, name: str) -> bytes:
        text = name.encode("utf-8", "surrogateescape")
        return hashlib.blake2b(text, digest_size=_KEY_BYTES, key=self._key).digest()

    def look_at_jobs(self) -> None:
        """Tell the supervisor that jobs were added or deleted."""
        if self._control is not None:
            with contextlib.suppress(OSError):  # the supervisor and its guard are gone; jobs wait for a restart
                self._control.sendall(bytes(_KEY_BYTES))

    def ask(
        self,
        client: str,
        head: Any,
        body: bytes | bytearray,
        connection: socket.socket | None = None,
        *,
        operation: str = "",
    ) -> tuple[Any, bytes]:
        """Have a child answer a client's request; return head and body of the answer.

        Parameters
        ----------
        client : str
        head : object
            Passed to the child with the body; must be picklable.
        body : bytes or bytearray
        connection : socket.socket, optional
            The client's connection. If the client leaves, its work is ended.
        operation : str
            What the client asks for.

        Raises
        ------
        Problem
            429 if the client has too many heavy requests. 503 if too many requests wait, or this one waits too long.
            422 if it needs too much processor time. 499 if the client has left.
        """
        assert self._control is not None
        news, theirs = socket.socketpair()
        with news, memory_file() as request, memory_file() as answer:
            with theirs:
                write_work(request, head, body)
                files = [request.fileno(), answer.fileno(), theirs.fileno()]
                try:
                    socket.send_fds(self._control, [self.client_key(client) + self._hash(operation)], files)
                except OSError as error:
                    log.exception("the supervisor of heavy requests is gone: restart the service")
                    raise over_capacity("the processes for heavy requests have ended", None) from error
            kind = AGAIN
            while kind != DONE:
                with metrics.waiting() if kind == AGAIN else contextlib.nullcontext():
                    kind = self._next(news, connection, is_running=kind == STARTED)
            return read_work(answer)

    def _next(self, news: socket.socket, connection: socket.socket | None, *, is_running: bool) -> bytes:
        """Wait for the next news of a request; raise a problem if it is bad."""
        # Three times, as the processors may be busy with other work.
        seconds = 3 * self.seconds[Turn.LONG] + self.wait_seconds if is_running else self.wait_seconds
        poll = select.poll()
        poll.register(news, select.POLLIN)
        if connection is not None:
            poll.register(connection, _CLOSED)
        events = dict(poll.poll(1000 * seconds))
        if not events:
            why = "the processors are busy with other work" if is_running else f"no turn came in {seconds:g} s"
            raise over_capacity(why, "max_wait_seconds")
        if news.fileno() not in events:
            raise Problem(CLIENT_LEFT, "the client left before its answer")
        kind = news.recv(1)
        if kind == TOO_MANY_OF_CLIENT:
            detail = f"{MOST_OF_CLIENT} heavy requests of this client are running or waiting; try again after them"
            raise Problem(429, detail, kind="one-at-a-time", headers={"Retry-After": "1"})
        if kind == TOO_MANY:
            raise over_capacity(f"the service has {self.waiting} heavy requests already", "max_waiting")
        if kind == ENDED:
            raise self.failure(_STATUS.unpack(news.recv(_STATUS.size))[0], Turn.LONG)
        if not kind:
            raise over_capacity("the work on this request was interrupted", None)
        return kind

    def failure(self, status: int, turn: Turn) -> Problem:
        """Return the problem for a child that ended with this status before its answer."""
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
            return too_much_work(self.seconds[turn], "job_seconds" if turn is Turn.JOB else "max_seconds")
        log.error("the process of a request ended with status %s", status)
        return Problem(500, "the process that worked on the request has ended; the log of the service says how")


@dataclass(eq=False)
class Task:
    """A request or a job, as the supervisor sees it."""

    client: bytes
    operation: bytes
    request: int  # descriptor of its file
    answer: int
    news: socket.socket | None = None
    turn: Turn = Turn.SHORT
    job: str = ""
    is_running: bool = False

    def tell(self, news: bytes) -> None:
        """Tell the thread that waits; it may have left."""
        if self.news is not None:
            with contextlib.suppress(OSError):
                self.news.send(news)


@dataclass(eq=False)
class Child:
    """A process that answers one request after the other."""

    pid: int
    control: socket.socket
    task: Task | None = None
    client: bytes = b""  # of the latest task, whose results the child may remember
    is_ending: bool = False


class Supervisor:
    """Give requests to children by turns, replace children that end, and restart requests that prove to be long."""

    def __init__(self, pool: Pool, control: socket.socket, answer: Answer) -> None:
        self._pool, self._control, self._answer = pool, control, answer
        self._children: dict[int, Child] = {}  # by descriptor
        self._requests: dict[int, Task] = {}  # by descriptor of the news, in the order of arrival
        self._jobs: dict[str, Task] = {}
        self._jobs_of_client: Counter[bytes] = Counter()  # that have started
        self._recent_seconds: dict[bytes, float] = {}  # of processor time, by client and by operation, the latest last
        self._compiler_lock = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the process lives
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def run(self) -> None:
        """Serve until the last worker has ended."""
        self._list_jobs()
        while True:
            while len(self._children) < self._pool.places:
                self._fork()
            self._start_tasks()
            # One event at a time, as a handler may close descriptors; the newest first, so that new requests come last.
            number, _ = self._poll.poll()[-1]
            if number in self._children:
                self._hear(self._children[number])
            elif number in self._requests:
                self._forget(self._requests[number])
            elif not self._receive():
                break
        for child in self._children.values():
            os.kill(child.pid, signal.SIGKILL)

    def _receive(self) -> bool:
        """Take a request, or news of jobs; return False once all workers have ended."""
        keys, files, _, _ = socket.recv_fds(self._control, 2 * _KEY_BYTES, 3)
        if len(files) == 3:
            client, operation = keys[:_KEY_BYTES], keys[_KEY_BYTES:]
            turn = Turn.LONG if self._recent_seconds.get(client, 0.0) >= SHORT_SECONDS else Turn.SHORT
            task = Task(client, operation, files[0], files[1], socket.socket(fileno=files[2]), turn)
            if sum(other.client == client for other in self._requests.values()) >= MOST_OF_CLIENT:
                self._end(task, TOO_MANY_OF_CLIENT)
            elif turn is Turn.LONG and self._is_full_of_long_work():
                self._end(task, TOO_MANY)
            else:
                self._requests[files[2]] = task
                self._poll.register(files[2], 0)
                if len(self._requests) > self._pool.waiting:
                    waiting = [other for other in reversed(self._requests.values()) if not other.is_running]
                    self._end(max(waiting, key=self._place_in_queue), TOO_MANY)  # of several, the newest
        elif keys:
            self._list_jobs()
        return bool(keys)

    def _remember(self, task: Task, seconds: float) -> None:
        """Note the seconds of a request; those of earlier requests are halved each time."""
        for key in (task.client, task.operation):
            self._recent_seconds[key] = max(seconds, self._recent_seconds.pop(key, 0.0) / 2)
            if len(self._recent_seconds) > MOST_KEYS:
                del self._recent_seconds[next(iter(self._recent_seconds))]

    def _place_in_queue(self, task: Task) -> tuple[Turn, float]:
        """Return the order of a task: short ones by expected time, then long ones, then jobs by turns of clients."""
        if task.turn is Turn.JOB:
            return task.turn, self._jobs_of_client[task.client]
        # The work of a new client is estimated from that of others; it comes after clients with short work.
        of_operation = (self._recent_seconds.get(task.operation, SHORT_SECONDS) + SHORT_SECONDS) / 2
        return task.turn, self._recent_seconds.get(task.client, of_operation) if task.turn is Turn.SHORT else 0.0

    def _is_full_of_long_work(self) -> bool:
        """Return whether long work makes up half of the requests that may run or wait."""
        n_long = sum(task.turn is Turn.LONG for task in self._requests.values())
        return n_long >= max(1, self._pool.waiting // 2)

    def _list_jobs(self) -> None:
        """Add new jobs, and forget those that were deleted."""
        names = [] if self._pool.jobs is None else self._pool.jobs.names()
        for name in self._jobs.keys() - names:
            self._forget(self._jobs[name])
        for name in names:
            with contextlib.suppress(OSError):  # it has just been deleted, or the disk is full: later
                if self._pool.jobs is not None and name not in self._jobs:
                    client, request, answer = self._pool.jobs.files(name)
                    self._jobs[name] = Task(client, b"", request, answer, turn=Turn.JOB, job=name)
        if not self._jobs:
            self._jobs_of_client.clear()

    def _start_tasks(self) -> None:
        """Start all tasks that have a place."""
        for task in sorted([*self._requests.values(), *self._jobs.values()], key=self._place_in_queue):
            if self._has_place(task):
                idle = [child for child in self._children.values() if child.task is None and not child.is_ending]
                child = next((child for child in idle if child.client == task.client), None)
                child = child or (idle[-1] if idle else self._fork())
                child.task, child.client, task.is_running = task, task.client, True
                if task.job:
                    self._jobs_of_client[task.client] += 1
                budget = BUDGET.pack(self._pool.seconds[task.turn], task.turn is Turn.SHORT)
                with contextlib.suppress(OSError):  # the child has died, which comes to light next
                    socket.send_fds(child.control, [budget], [task.request, task.answer])
                task.tell(STARTED)

    def _has_place(self, task: Task) -> bool:
        running = [child.task for child in self._children.values() if child.task is not None]
        if any(other.client == task.client for other in running):
            return False
        n_running = Counter(other.turn for other in running)
        if task.turn is Turn.JOB:
            return n_running[Turn.JOB] < max(1, self._pool.places // 2)
        has_room = n_running[Turn.SHORT] + n_running[Turn.LONG] < self._pool.places + 1
        return has_room and (task.turn is Turn.SHORT or n_running[Turn.LONG] < self._pool.places)

    def _hear(self, child: Child) -> None:
        """Handle the end of a task, or of the child."""
        news, task, child.task = b"", child.task, None
        with contextlib.suppress(ConnectionError):  # it was killed before it read of its last task
            news = child.control.recv(NEWS.size)
        if news:
            kind, seconds = NEWS.unpack(news)
            child.is_ending = kind == LAST
            if task is not None:
                if not task.job:
                    self._remember(task, seconds)
                self._end(task, DISK_FULL if kind == DISK_FULL else DONE)
            return
        self._poll.unregister(child.control)
        del self._children[child.control.fileno()]
        child.control.close()
        _, status = os.waitpid(child.pid, 0)
        if task is None:
            return
        is_used_up = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
        if is_used_up and not task.job:
            self._remember(task, self._pool.seconds[task.turn])
        if is_used_up and task.turn is Turn.SHORT:
            if self._is_full_of_long_work():
                self._end(task, TOO_MANY)
            else:
                task.turn, task.is_running = Turn.LONG, False
                task.tell(AGAIN)
        else:
            self._end(task, ENDED + _STATUS.pack(status))

    def _end(self, task: Task, news: bytes) -> None:
        """Tell the outcome of a task, and close its files."""
        if self._pool.jobs is not None and task.job in self._jobs:
            del self._jobs[task.job]
            is_failed = news.startswith(ENDED)
            failure = self._pool.failure(_STATUS.unpack(news[1:])[0], Turn.JOB) if is_failed else None
            self._pool.jobs.end(task.job, failure, is_disk_full=news == DISK_FULL)
        task.tell(news)
        if task.news is not None:
            if self._requests.pop(task.news.fileno(), None):
                self._poll.unregister(task.news)
            task.news.close()
        os.close(task.request)
        os.close(task.answer)

    def _forget(self, task: Task) -> None:
        """End the work for a thread that has left, or for a job that was deleted."""
        for child in self._children.values():
            if child.task is task:
                child.task, child.is_ending = None, True
                os.kill(child.pid, signal.SIGKILL)
        self._jobs.pop(task.job, None)
        self._end(task, DONE)

    def _fork(self) -> Child:
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            work(theirs, self._compiler_lock, self._answer, self._pool.work_bytes, parent)
        theirs.close()
        child = self._children[ours.fileno()] = Child(pid, ours)
        self._poll.register(ours, select.POLLIN)
        return child


def too_much_work(seconds: float, setting: str) -> Problem:
    """Return the problem for a request that needs more processor time than the limit."""
    instead = "; or ask for a job, with the header 'Prefer: respond-async'" if setting == "max_seconds" else ""
    return Problem(
        422,
        f"this request used up its {seconds:g} s of processor time ({variable(setting)}): ask for less{instead}",
        kind="too-much-work",
    )


def over_capacity(why: str, setting: str | None) -> Problem:
    """Return the problem for a request that the service has no capacity for now."""
    named = "" if setting is None else f" ({variable(setting)})"
    return Problem(503, f"{why}{named}; try again", kind="over-capacity", headers={"Retry-After": "1"})
