"""Whatever ends a test run, its servers end too."""

import signal
import subprocess
import sys

import pytest

from tests.service.live import eventually, state

pytestmark = pytest.mark.wide

# A server with a worker, as gunicorn has them; it ignores what a terminal sends.
RUN = """
import signal, subprocess, sys, time
from tests.processes import guarded
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a run in the background may have been started with both ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
server = "trap '' INT TERM HUP; sleep 600 & echo $!; wait"
with guarded(["sh", "-c", server], stdout=subprocess.PIPE) as process:
    print(process.pid, process.stdout.readline().decode().strip(), flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_server_ends_with_the_run(how):
    with subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        pids = [int(pid) for pid in run.stdout.readline().split()]
        assert len(pids) == 2
        assert all(state(pid) not in ("Z", "") for pid in pids)
        run.send_signal(how)
    eventually(lambda: all(state(pid) in ("Z", "") for pid in pids), what="the end of the server")
