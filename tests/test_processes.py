"""Processes of tests: servers end with the run, and the first call of a function compiles few kernels."""

import importlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.service.live import poll_until, state

pytestmark = pytest.mark.wide

# A server with a worker, like gunicorn; it ignores signals of a terminal.
RUN = """
import signal, subprocess, sys, time
from tests.processes import guard
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a run in the background may have been started with both ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
server = "trap '' INT TERM HUP; sleep 600 & echo $!; wait"
with guard(["sh", "-c", server], stdout=subprocess.PIPE) as process:
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
    poll_until(lambda: all(state(pid) in ("Z", "") for pid in pids), goal="the end of the server")


ROOT = Path(__file__).parents[1]

# Signatures of kernels, and loops that numba adds for arrays, powers and generators
MOST_LOOPS = {
    "weighted_tau": (11, 5),  # one only reads the tree of signs: tests with a tied gold take an eighth less
    "weighted_rho": (7, 4),
    "correlate_many": (12, 5),
    "compare_systems": (22, 6),
    "leaderboard": (28, 11),  # 5 of them draw shared places: .8 s once, which halves the time of each board
    "evaluate": (21, 7),
    "compare_runs": (13, 7),  # one kernel draws signs, one sums them: .1 s once, half the time afterwards
    "bradley_terry": (6, 4),
    "draw_ballot": (25, 13),
}
# Most loops of the first four are also in the others.
NIGHTLY_NAMES = ("weighted_rho", "correlate_many", "compare_systems", "compare_runs", "evaluate", "draw_ballot")


@pytest.mark.needs_numba
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.nightly] * (n in NIGHTLY_NAMES)) for n in MOST_LOOPS]
)
def test_a_first_call_compiles_few_loops(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # the scripts import their shared modules from there
    monkeypatch.setenv("NUMBA_OPT", "0")  # a quarter of the time; the same loops are compiled
    result = importlib.import_module("first_calls").in_new_process(name)
    assert 0 < result["signatures"] <= MOST_LOOPS[name][0]
    assert result["others"] <= MOST_LOOPS[name][1]
