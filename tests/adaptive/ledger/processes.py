"""Children of the test process, forked, that may be killed at any moment."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class Child:
    """A forked process that runs a function and reports by a pipe."""

    pid: int
    pipe: int

    def has_reported(self, seconds: float = 60.0) -> bool:
        """Whether it reports something, or ends, within this time; what it says is left for `lines`."""
        polled = select.poll()
        polled.register(self.pipe, select.POLLIN)
        return bool(polled.poll(1_000 * max(0.0, seconds)))

    def lines(self, seconds: float = 300.0) -> list[str]:
        """All that it reports until it ends; a child that hangs is killed."""
        data, deadline = b"", time.monotonic() + seconds
        while True:
            if not self.has_reported(deadline - time.monotonic()):
                self.kill()
                raise TimeoutError(f"a child did not end within {seconds:.0f} s")
            block = os.read(self.pipe, 65_536)
            if not block:
                return data.decode().splitlines()
            data += block

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Exit code, or minus the signal that ended it."""
        os.close(self.pipe)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def start(work: Callable[[Callable[[str], None]], object]) -> Child:
    """Fork a child that runs `work`, which is given a function that reports a line."""
    reading, writing = os.pipe()
    # Of a fork beside the threads of the tests' own machinery.
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    status = 1
    try:
        os.close(reading)
        work(lambda line: os.write(writing, f"{line}\n".encode()) and None)
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def run(work: Callable[[Callable[[str], None]], object]) -> list[str]:
    """Run `work` in a child to its end, and return what it reports."""
    child = start(work)
    lines = child.lines()
    assert child.wait() == 0
    return lines


def survives(work: Callable[[], object]) -> bool:
    """Run `work` in a child, and return whether it came to its end; otherwise it was killed."""

    def done(report: Callable[[str], None]) -> None:
        work()
        report("done")

    child = start(done)
    lines = child.lines()
    status = child.wait()
    assert (status, lines) in ((-signal.SIGKILL, []), (0, ["done"]))
    return status == 0


def die() -> None:
    """Kill this process, as a power cut or an administrator does."""
    os.kill(os.getpid(), signal.SIGKILL)
