"""Answer heavy requests in a child of the supervisor, one after the other, within limits that the system enforces.

Files carry a request to the child, and its answer back: a head of Python values, and a body.
"""

import ctypes
import errno
import fcntl
import logging
import math
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final, NoReturn, TypeAlias

from numba.core import event

NICENESS: Final = 10  # small requests find a processor at once; heavy ones use all of it when nothing else runs
MOST_REQUESTS: Final = 100
MOST_GROWTH: Final = 1 << 28  # bytes that may be kept after a request
BUDGET: Final = struct.Struct("=d?")  # seconds, and whether the request begins again if they do not suffice
NEWS: Final = struct.Struct("=cd")  # to the supervisor: one of the next line, and the seconds that the request took
DONE, LAST, DISK_FULL = b"d", b"l", b"f"  # after LAST the child ends

Answer: TypeAlias = Callable[[Any, bytes], tuple[Any, bytes]]

log = logging.getLogger("rankcorr.service")


def work(control: socket.socket, compiler_lock: IO[bytes], answer: Answer, n_bytes: int, parent: int) -> NoReturn:
    """Answer requests in a child, until there were MOST_REQUESTS, its memory has grown, or the supervisor ends."""
    try:
        _close_all_but(control.fileno(), compiler_lock.fileno())
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its supervisor
        os.nice(NICENESS)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        n_pages, before = _memory()
        if n_pages:
            _limit(resource.RLIMIT_AS, n_pages + n_bytes)
        budget = TimeBudget(compiler_lock)
        n_requests, news = 0, DONE
        while news != LAST and os.getppid() == parent:
            message, files, _, _ = socket.recv_fds(control, BUDGET.size, 2)
            if not message:
                break
            budget.begin(*BUDGET.unpack(message))
            with os.fdopen(files[0], "rb") as request, os.fdopen(files[1], "r+b", buffering=0) as reply:
                start = time.process_time()
                head, body = answer(*read_work(request))
                budget.end()
                seconds = time.process_time() - start
                n_requests += 1
                news = LAST if n_requests >= MOST_REQUESTS or _memory()[1] - before > MOST_GROWTH else DONE
                try:
                    write_work(reply, head, body)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    news = DISK_FULL
            control.sendall(NEWS.pack(news, seconds))
        os._exit(0)
    except BaseException:
        log.exception("the process of a request failed")
    finally:
        os._exit(1)


class TimeBudget(event.Listener):
    """The processor time of a request: the system ends the process that uses it up.

    The time to compile a kernel, which is then on the disk, counts only for a request that can begin again. One child
    at a time compiles, because numba's cache can mix up what two processes save at once.
    """

    def __init__(self, compiler_lock: IO[bytes]) -> None:
        self._compiler_lock, self._has_second_try, self._depth = compiler_lock, False, 0
        self._end = self._began = 0.0
        event.register("numba:compile", self)  # type: ignore[no-untyped-call]

    def begin(self, seconds: float, has_second_try: bool) -> None:
        """Allow so many seconds from now on."""
        self._has_second_try, self._end = has_second_try, time.process_time() + seconds
        _limit(resource.RLIMIT_CPU, math.ceil(self._end))

    def end(self) -> None:
        """Lift the limit, and let other children compile."""
        _limit(resource.RLIMIT_CPU, None)
        fcntl.lockf(self._compiler_lock, fcntl.LOCK_UN)

    def on_start(self, _: Any) -> None:
        """Wait until no other child compiles, and stop the clock; parts of a kernel are compiled within."""
        self._depth += 1
        if self._depth == 1:
            fcntl.lockf(self._compiler_lock, fcntl.LOCK_EX)
            self._began = time.process_time()
            if not self._has_second_try:
                _limit(resource.RLIMIT_CPU, None)

    def on_end(self, _: Any) -> None:
        """Let the clock go on."""
        self._depth -= 1
        if not self._depth and not self._has_second_try:
            self._end += time.process_time() - self._began
            _limit(resource.RLIMIT_CPU, math.ceil(self._end))


def _limit(kind: int, most: int | None) -> None:
    """Set the soft limit of a resource, which can be lifted again."""
    _, hard = resource.getrlimit(kind)
    limits = [limit for limit in (most, hard) if limit not in (None, resource.RLIM_INFINITY)]
    resource.setrlimit(kind, (min(limits, default=resource.RLIM_INFINITY), hard))


def _memory() -> tuple[int, int]:
    """Return the bytes of this process's address space and of its memory; zeros if the system does not tell."""
    try:
        n_pages = Path("/proc/self/statm").read_text().split()
    except OSError:
        return 0, 0
    return int(n_pages[0]) * resource.getpagesize(), int(n_pages[1]) * resource.getpagesize()


def _close_all_but(*numbers: int) -> None:
    """Close the inherited descriptors: a sibling's socket that stays open would hide the supervisor's end from it."""
    start = 3
    for number in sorted(numbers):
        os.closerange(start, number)
        start = number + 1
    os.closerange(start, os.sysconf("SC_OPEN_MAX"))


def memory_file() -> IO[bytes]:
    """Open a file without name and buffer, in memory if the system can."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("rankcorr"), "r+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


def write_work(file: Any, head: Any, body: bytes | bytearray) -> None:
    """Replace the content of a file without buffer by head and body."""
    file.seek(0)
    file.truncate()
    for part in (pickle.dumps(head), body):
        rest = memoryview(part)
        while rest:
            rest = rest[file.write(rest) :]


def read_work(file: IO[bytes]) -> tuple[Any, bytes]:
    """Return head and body.

    >>> with memory_file() as file:
    ...     write_work(file, ["head"], b"body")
    ...     read_work(file)
    (['head'], b'body')
    """
    with open(file.fileno(), "rb", closefd=False) as reader:
        reader.seek(0)
        return pickle.load(reader), reader.read()
