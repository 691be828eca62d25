"""A live service for tests: rankcorr-serve in new processes, on a free loopback port, and load on it."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.processes import guard

REPOSITORY = Path(__file__).parents[2]
START_SECONDS = 1_200  # without numba's cache, compiling every kernel takes minutes on a busy machine
STOP_SECONDS = 120
PATIENCE = 120.0  # seconds for results that come at once unless the machine is busy or stalls
# Variables that would change the service under test, such as NUMBA_DISABLE_JIT
FOREIGN_PREFIXES = ("RANKCORR_", "PROMETHEUS_", "GUNICORN_", "NUMBA_DISABLE_JIT", "COVERAGE_", "WEB_CONCURRENCY")

COMMAND = (sys.executable, "-m", "service.server.launch", "rankcorr-serve")

Answer = tuple[int, dict[str, str], bytes]


class Endpoint(ABC):
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
        """Status, headers and body of one request on a new connection."""
        connection = self.connect(timeout)
        try:
            return ask(connection, method, path, document, headers)
        finally:
            connection.close()


@dataclass(frozen=True)
class Server(Endpoint):
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
        """The process that forks the processes for heavy requests."""
        guard = [pid for pid in children(self.process.pid) if pid not in self.workers()]
        return poll_until(lambda: [child for pid in guard for child in children(pid)], goal="the supervisor")[0]

    def folder(self, variable: str) -> Path:
        """A folder that the command put into the environment of the service."""
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
    """Status, headers and body of a request on a connection, which stays open unless the service closes it."""
    body = document if isinstance(document, bytes) or document is None else json.dumps(document).encode()
    declared = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, body, {**declared, **(headers or {})})
    response = connection.getresponse()
    return response.status, dict(response.headers), response.read()


def children(pid: int) -> list[int]:
    """Live child processes of a process."""
    pids = []
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
            pids += [int(child) for child in (thread / "children").read_text().split()]
    return [child for child in pids if state(child) not in ("Z", "")]


def state(pid: int) -> str:
    """Letter of a process's state; empty if it has ended."""
    return next(iter(_status(pid)), "")


def processor_seconds(pid: int) -> float:
    """Processor time of a process; 0 if it has ended."""
    return sum(map(int, _status(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def _status(pid: int) -> list[str]:
    """Fields of a process's status after its name; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def poll_until(condition, seconds: float = PATIENCE, goal: str = "the condition"):
    """Poll until a condition holds, and return its value; for changes without an event, such as a new process."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"{goal} did not come about in {seconds} s"
        time.sleep(0.02)
    return value


def clean_environment(**variables: str) -> dict[str, str]:
    """Environment of a service on a free loopback port, with default settings except these variables."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN_PREFIXES)}
    return {**inherited, "RANKCORR_BIND": "127.0.0.1:0", "RANKCORR_DRAIN_SECONDS": "0", **variables}


@contextlib.contextmanager
def run_service(
    folder: Path, environment: Mapping[str, str] | None = None, command: tuple[str, ...] = (), **options: object
) -> Iterator[Server]:
    """Run the service; all its processes end with the block, or when the test run dies.

    `folder` receives its output. `environment` is added to two workers on a free port, and `options` go to Popen.
    """
    command = command or COMMAND
    settings = clean_environment(**{"RANKCORR_WORKERS": "2", **(environment or {})})
    output, errors = folder / "output", folder / "errors"
    with (
        output.open("wb") as out,
        errors.open("wb") as err,
        guard(command, stdout=out, stderr=err, env=settings, **{"cwd": REPOSITORY, **options}) as process,
    ):
        try:
            host, port = _address(process, errors)
            server = Server(process, host, port, output, errors)
            poll_until(lambda: len(server.workers()) == int(settings["RANKCORR_WORKERS"]), goal="the number of workers")
            assert server.ask("GET", "/health/live")[0] == 200
            yield server
        finally:
            if process.poll() is None:
                process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(STOP_SECONDS)


def _address(process: subprocess.Popen[bytes], errors: Path) -> tuple[str, int]:
    end = time.monotonic() + START_SECONDS
    while not (result := re.search(r"Listening at: http://([0-9.]+):([0-9]+)", errors.read_text())):
        assert process.poll() is None, f"the service ended with {process.returncode}: {errors.read_text()}"
        assert time.monotonic() < end, f"the service did not start: {errors.read_text()}"
        time.sleep(0.02)
    return result[1], int(result[2])


# Limits under which no request is refused because the machine is busy
LONG_LIMITS = {"RANKCORR_CLIENT_SECONDS": "120", "RANKCORR_MAX_WAIT_SECONDS": "120", "RANKCORR_MAX_SECONDS": "600"}


@pytest.fixture(scope="session")
def live_server(tmp_path_factory) -> Iterator[Server]:
    """A service with long time limits and two workers; tests share it, and leave it with two workers.

    `live_server.url` is where it listens.
    """
    with run_service(tmp_path_factory.mktemp("live"), LONG_LIMITS) as server:
        yield server


PAIR = {"gold": {"scores": [3, 1, 2, 5]}, "system": {"scores": [1, 2, 3, 4]}}
CONNECTION_ERRORS = (http.client.HTTPException, ConnectionError)
IN_PROGRESS = "rankcorr_requests_in_progress"
LINGER = 2.0  # seconds for which gunicorn 27 keeps connections open when a worker stops


def simulation(n_simulations: int) -> dict:
    """A request with about 10 ms of work for each simulation."""
    plan = {"n_items": 400, "n_ballots": 5, "fraction": 0.5, "presentations": 20}
    return {"plan": plan, "similarity": "exponential", "n_simulations": n_simulations, "seed": 1}


def seconds_of_work(server: Server, seconds: float) -> dict:
    """A request that alone takes about this long or longer on this machine.

    It is measured several times, because a stall of the machine would make the request far too short.
    """
    server.ask("POST", "/v1/simulations", simulation(2))
    shortest = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        status, _, body = server.ask("POST", "/v1/simulations", simulation(10))
        assert status == 200, body
        shortest = min(shortest, time.perf_counter() - start)
    return simulation(max(2, int(10 * seconds / shortest)))


@dataclass
class Load:
    """Clients that repeat a request, each on a separate connection that is reopened when it breaks.

    A worker that stops may close a connection without a request for `LINGER` seconds: a client that
    stalled for that long asks again, which counts in `n_idle`, not in `n_broken`.
    """

    server: Server
    document: object = field(default_factory=lambda: PAIR)
    path: str = "/v1/correlations"
    n_clients: int = 6
    statuses: Counter = field(default_factory=Counter)
    bodies: set = field(default_factory=set)
    n_broken: int = 0
    n_idle: int = 0
    n_closed: int = 0

    def __enter__(self) -> "Load":
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._failures: list[BaseException] = []
        self._threads = [threading.Thread(target=self._client) for _ in range(self.n_clients)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)
        assert not self._failures, self._failures

    @property
    def n_answered(self) -> int:
        return self.statuses.total()

    def wait_for(self, n_more: int) -> None:
        """Wait until this many more requests have been answered."""
        expected = self.n_answered + n_more
        poll_until(lambda: self.n_answered >= expected, goal=f"{n_more} more answers")

    def _client(self) -> None:
        connection = self.server.connect()
        since = request_time = time.monotonic()  # since when the worker may have been waiting for a request
        try:
            while not self._stop.is_set():
                since, request_time = request_time, time.monotonic()
                try:
                    status, headers, body = ask(connection, "POST", self.path, self.document)
                except CONNECTION_ERRORS:
                    connection.close()
                    was_idle = time.monotonic() - since > LINGER
                    with self._lock:
                        self.n_idle += was_idle
                        self.n_broken += not was_idle
                    continue
                with self._lock:
                    self.statuses[status] += 1
                    self.bodies.add(body)
                    self.n_closed += headers.get("Connection") == "close"
        except BaseException as error:
            self._failures.append(error)
        finally:
            connection.close()


def run_in_threads(*calls):
    """Results of calls that run at the same time."""
    results: list = [None] * len(calls)
    failures: list[BaseException] = []

    def run(place: int, call: Callable[[], object]) -> None:
        try:
            results[place] = call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(3 * PATIENCE)
    if failures:
        raise failures[0]
    assert not any(thread.is_alive() for thread in threads)
    return results
