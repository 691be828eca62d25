"""A live service for tests: rankcorr-serve in processes of its own, on a free loopback port."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.processes import guarded

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 1_200  # without numba's cache on disk, every kernel is compiled first, on a busy machine for minutes
STOP_SECONDS = 120
PATIENCE = 120.0  # seconds for what comes at once unless the machine is busy, or stands still for a while
# Variables that would change the service under test, such as one for kernels as plain Python.
FOREIGN = ("RANKCORR_", "PROMETHEUS_", "GUNICORN_", "NUMBA_DISABLE_JIT", "COVERAGE_", "WEB_CONCURRENCY")

COMMAND = (sys.executable, "-m", "service.server.launch", "rankcorr-serve")

Answer = tuple[int, dict[str, str], bytes]


class Asked(ABC):
    """A server that answers requests."""

    @abstractmethod
    def connect(self, timeout: float = PATIENCE) -> http.client.HTTPConnection:
        """A connection to it."""

    def ask(
        self,
        method: str,
        path: str,
        document: object = None,
        *,
        timeout: float = PATIENCE,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Status, headers and body of one request on a connection of its own."""
        connection = self.connect(timeout)
        try:
            return ask(connection, method, path, document, headers)
        finally:
            connection.close()


@dataclass(frozen=True)
class Server(Asked):
    """A running service."""

    process: subprocess.Popen[bytes]
    host: str
    port: int
    output: Path
    errors: Path

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def connect(self, timeout: float = PATIENCE) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def workers(self) -> list[int]:
        booted = set(re.findall(r"Booting worker with pid: (\d+)", self.errors.read_text()))
        return [pid for pid in children(self.process.pid) if str(pid) in booted]

    def supervisor(self) -> int:
        """The process that forks those for heavy requests."""
        guard = [pid for pid in children(self.process.pid) if pid not in self.workers()]
        return eventually(lambda: [child for pid in guard for child in children(pid)], what="the supervisor")[0]

    def folder(self, variable: str) -> Path:
        """A folder that the command has named in the environment of the service."""
        entries = Path(f"/proc/{self.process.pid}/environ").read_bytes().decode().split("\0")
        return Path(dict(entry.split("=", 1) for entry in entries if entry)[variable])

    def metrics(self) -> dict[str, float]:
        """Value of each sample, by its name and labels."""
        status, _, body = self.ask("GET", "/metrics")
        assert status == 200, body
        lines = [line for line in body.decode().splitlines() if not line.startswith("#")]
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}

    def stop(self, how: int = signal.SIGTERM) -> int:
        """Stop the service; return its exit code."""
        self.process.send_signal(how)
        return self.process.wait(STOP_SECONDS)


def ask(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    document: object = None,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Status, headers and body of a request on a connection, which stays open if the service keeps it."""
    body = document if isinstance(document, bytes) or document is None else json.dumps(document).encode()
    declared = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, body, {**declared, **(headers or {})})
    response = connection.getresponse()
    return response.status, dict(response.headers), response.read()


def children(pid: int) -> list[int]:
    """Processes that a process has started, while they live."""
    threads = Path(f"/proc/{pid}/task")
    found = [int(child) for file in threads.glob("*/children") for child in file.read_text().split()]
    return [child for child in found if state(child) not in ("Z", "")]


def state(pid: int) -> str:
    """Letter of a process's state; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def eventually(condition, seconds: float = PATIENCE, what: str = "the condition"):
    """Wait until a condition holds, and return its value; for what no event announces, such as a new process."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{what} did not come about in {seconds} s"
        time.sleep(0.02)
    return value


def clean_environment(**variables: str) -> dict[str, str]:
    """Environment of a service with default settings on a free loopback port, but for these variables."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    return {**inherited, "RANKCORR_BIND": "127.0.0.1:0", "RANKCORR_DRAIN_SECONDS": "0", **variables}


@contextlib.contextmanager
def running(
    folder: Path, environment: Mapping[str, str] | None = None, command: tuple[str, ...] = (), **options: object
) -> Iterator[Server]:
    """Run the service; nothing of it is left at the end, or when the test run dies.

    `folder` receives its output. `environment` is added to two workers on a free port, and `options` go to Popen.
    """
    command = command or COMMAND
    chosen = clean_environment(**{"RANKCORR_WORKERS": "2", **(environment or {})})
    output, errors = folder / "output", folder / "errors"
    with (
        output.open("wb") as out,
        errors.open("wb") as err,
        guarded(command, stdout=out, stderr=err, env=chosen, **{"cwd": REPOSITORY, **options}) as process,
    ):
        try:
            host, port = _address(process, errors)
            server = Server(process, host, port, output, errors)
            eventually(lambda: len(server.workers()) == int(chosen["RANKCORR_WORKERS"]), what="the number of workers")
            assert server.ask("GET", "/health/live")[0] == 200
            yield server
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(STOP_SECONDS)


def _address(process: subprocess.Popen[bytes], errors: Path) -> tuple[str, int]:
    end = time.monotonic() + START_SECONDS
    while not (found := re.search(r"Listening at: http://([0-9.]+):([0-9]+)", errors.read_text())):
        assert process.poll() is None, f"the service ended with {process.returncode}: {errors.read_text()}"
        assert time.monotonic() < end, f"the service did not start: {errors.read_text()}"
        time.sleep(0.02)
    return found[1], int(found[2])


# What a service allows a request, where none is to be refused because the machine is busy.
AMPLE = {"RANKCORR_CLIENT_SECONDS": "120", "RANKCORR_MAX_WAIT_SECONDS": "120", "RANKCORR_MAX_SECONDS": "600"}


@pytest.fixture(scope="session")
def live_server(tmp_path_factory) -> Iterator[Server]:
    """A service with ample time for all, and two workers; tests share it, and leave it with two workers.

    `live_server.url` is where it listens.
    """
    with running(tmp_path_factory.mktemp("live"), AMPLE) as server:
        yield server
