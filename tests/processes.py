"""Processes that tests start: servers that end with the test run, whichever signal ends it, and a Dask cluster.

A guard process reads from a pipe which process groups are alive. When the test run dies, the pipe
closes and the guard kills the remaining groups. A parent-death signal would not work: it is sent when the thread that
started a server ends, and some tests start servers in threads.
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
    event, group = line.split()
    (alive.add if event == "started" else alive.discard)(int(group))
for group in alive:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
"""


@contextlib.contextmanager
def guard(command: Any, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process in a new process group, which is killed after the block or when the test run ends."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, **options)
    _report("started", process.pid)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        _report("ended", process.pid)


def _report(event: str, group: int) -> None:
    pipe = _start_guard().stdin
    assert pipe is not None
    pipe.write(f"{event} {group}\n".encode())
    pipe.flush()


@cache
def _start_guard() -> subprocess.Popen[bytes]:
    guard = subprocess.Popen([sys.executable, "-S", "-c", _PROGRAM], stdin=subprocess.PIPE, start_new_session=True)
    assert guard.stdin is not None
    os.register_at_fork(after_in_child=guard.stdin.close)  # or a surviving forked child would keep the pipe open
    return guard


PATIENT_CONFIG = {
    # Otherwise the other worker would steal all tasks of a worker that stalls.
    "distributed.scheduler.work-stealing": False,
    "distributed.comm.timeouts.connect": "300s",
    "distributed.comm.timeouts.tcp": "300s",
}


@contextlib.contextmanager
def two_workers() -> Iterator[Any]:
    """Client of two worker processes on the loopback interface, which are restarted when they die."""
    import dask
    import distributed

    with (
        dask.config.set(PATIENT_CONFIG),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            # The scheduler serves HTTP without a dashboard too: with None on port 8787, and it warns if that is taken.
            dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=300)
        yield client
