"""Servers that end with the test run, whichever signal ends it.

A process of its own reads from a pipe which groups of processes are alive. When the run dies, the pipe closes, and the
process kills those that are left. A parent-death signal would not do: it is sent when the thread that started a server
ends, and some tests start servers in threads.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

_PROGRAM = """
import contextlib, os, signal, sys
alive = set()
for line in sys.stdin:
    what, group = line.split()
    (alive.add if what == "started" else alive.discard)(int(group))
for group in alive:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
"""


@contextlib.contextmanager
def guarded(command: Any, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in a group of its own; nothing of the group is left after the block, or after the test run."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    _tell("started", process.pid)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _tell("ended", process.pid)


def _tell(what: str, group: int) -> None:
    pipe = _guard().stdin
    assert pipe is not None
    pipe.write(f"{what} {group}\n".encode())
    pipe.flush()


@cache
def _guard() -> subprocess.Popen[bytes]:
    started = subprocess.Popen([sys.executable, "-S", "-c", _PROGRAM], stdin=subprocess.PIPE, start_new_session=True)
    assert started.stdin is not None
    os.register_at_fork(after_in_child=started.stdin.close)  # or a forked child that lives on would keep the pipe open
    return started
