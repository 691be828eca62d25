"""Print how fast the service answers other clients while many connections send or read as slowly as they can.

The service runs on loopback with two workers, started as `rankcorr-serve` starts it. It first runs behind nginx, over
TLS, with the configuration of service/deploy, and then alone. Each siege lasts ``--seconds``; connections that the
server closes are reopened. Run it with ``.venv/bin/python benchmarks/service_under_siege.py``. It checks nothing.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import resource
import select
import socket
import ssl
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from report import heading, machine, row
from service_speed import request

from tests.service.deploy.proxy import run_proxy
from tests.service.live import run_service

PAIR = {"gold": {"scores": [3, 1, 2, 5]}, "system": {"scores": [1, 2, 3, 4]}}
HEAD = b"POST /v1/correlations HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
# Quick to draw, with an answer of 8 MB.
BALLOT = {"items": [f"{item:0999d}" for item in range(200)], "presentations": 40, "voters": 1, "seed": 1}
PATIENCE = 60.0


@dataclass(frozen=True)
class Siege:
    """Many connections that behave alike."""

    name: str
    n_connections: int
    opening: bytes = b""  # sent when the connection opens
    drop: bytes = b""  # sent repeatedly
    pause: float = 1.0  # seconds between two drops
    small_window: bool = False


SIEGES = (
    Siege("nobody", 0),
    *(Siege("heads, a byte every 3 s", n, HEAD + b"X-Slow: ", b"a", 3.0) for n in (20, 80)),
    *(Siege("bodies, a byte every second", n, HEAD + b"Content-Length: 10000\r\n\r\n{", b" ", 1.0) for n in (20, 80)),
    *(Siege("silence", n) for n in (20, 500, 2_000)),
    Siege("answers of 8 MB, not read", 80, request("/v1/ballots", BALLOT), small_window=True),
)


@dataclass(frozen=True)
class Target:
    """A port to send requests to, over TLS if there is a context."""

    port: int
    context: ssl.SSLContext | None = None

    def http(self) -> http.client.HTTPConnection:
        """Return a connection for a request."""
        if self.context is None:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.context)


@contextlib.contextmanager
def target(behind_nginx: bool) -> Iterator[Target]:
    """Run the service during the block."""
    with tempfile.TemporaryDirectory() as name, run_service(Path(name)) as server:
        if not behind_nginx:
            yield Target(server.port)
            return
        with run_proxy(server, Path(name)) as proxy:
            yield Target(proxy.https, ssl.create_default_context(cafile=str(proxy.certificate)))


class Besiegers:
    """The connections of a siege, kept open by a thread."""

    def __init__(self, target: Target, siege: Siege) -> None:
        self._target, self._siege = target, siege
        self._stop = threading.Event()
        self.n_ended = 0
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Besiegers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        siege = self._siege
        connections = [self._opened(place) for place in range(siege.n_connections)]
        while not self._stop.wait(siege.pause):
            for place, connection in enumerate(connections):
                if connection is None or not self._goes_on(connection):
                    self.n_ended += connection is not None
                    connections[place] = self._opened(place)
        for connection in connections:
            if connection is not None:
                connection.close()

    def _opened(self, place: int) -> socket.socket | None:
        connection = socket.socket()
        try:
            if self._siege.small_window:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
            connection.settimeout(1.0)
            connection.bind((f"127.0.{1 + place % 200}.1", 0))  # nginx limits connections per address
            connection.connect(("127.0.0.1", self._target.port))
            if self._siege.opening and self._target.context is not None:
                connection = self._target.context.wrap_socket(connection, server_hostname="127.0.0.1")
            connection.sendall(self._siege.opening)
            connection.setblocking(False)
        except OSError:
            connection.close()
            return None
        return connection

    def _goes_on(self, connection: socket.socket) -> bool:
        try:
            if self._siege.drop:
                connection.send(self._siege.drop)
            if self._siege.small_window:  # unread data would hide the end from recv
                ended = select.poll()
                ended.register(connection, select.POLLRDHUP)
                if not ended.poll(0):
                    return True
                connection.close()
                return False
            return bool(connection.recv(1))
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            connection.close()
            return False


def seconds_of(ask: Callable[[http.client.HTTPConnection], None], target: Target) -> float | None:
    """Return the seconds until a new connection has its answer; None if it gets none."""
    connection = target.http()
    start = time.perf_counter()
    try:
        ask(connection)
        if connection.getresponse().status != 200:
            return None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return time.perf_counter() - start


def probe(connection: http.client.HTTPConnection) -> None:
    connection.request("GET", "/health/live")


def comparison(connection: http.client.HTTPConnection) -> None:
    connection.request("POST", "/v1/correlations", json.dumps(PAIR), {"Content-Type": "application/json"})


def take_figures(target: Target, seconds: float) -> dict[str, list[float | None]]:
    """Send probes from one thread and comparisons from another during the siege, and return their seconds."""
    times: dict[str, list[float | None]] = {"probe": [], "comparison": []}
    end = time.monotonic() + seconds

    def repeat(name: str, ask: Callable[[http.client.HTTPConnection], None]) -> None:
        while time.monotonic() < end:
            times[name].append(seconds_of(ask, target))
            time.sleep(0.05)

    threads = [threading.Thread(target=repeat, args=pair) for pair in (("probe", probe), ("comparison", comparison))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def cells_of_times(times: list[float | None]) -> tuple[str, ...]:
    answered = [one for one in times if one is not None]
    if not answered:
        return "0", str(len(times)), "", ""
    return (
        str(len(answered)),
        str(len(times) - len(answered)),
        f"{statistics.median(answered) * 1e3:,.1f}",
        f"{max(answered) * 1e3:,.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of each siege")
    parser.add_argument("--only", default="", help="run only the sieges whose names begin with this")
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 8_192)), hard))
    machine("gunicorn", "flask")
    heading(
        f"Requests on new connections under siege, {options.seconds:g} s each",
        *("behind", "besieged by", "connections", "ended"),
        *(
            f"{name}: {figure}"
            for name in ("probe", "comparison")
            for figure in ("answered", "not", "p50 (ms)", "max (ms)")
        ),
    )
    for behind_nginx, siege in itertools.product((True, False), SIEGES):
        if not siege.name.startswith(options.only):
            continue
        with target(behind_nginx) as besieged_target, Besiegers(besieged_target, siege) as besiegers:
            time.sleep(5.0 if siege.n_connections else 0.0)
            times = take_figures(besieged_target, options.seconds)
            cells = [cell for name in ("probe", "comparison") for cell in cells_of_times(times[name])]
            where = "nginx" if behind_nginx else "nothing"
            row(where, siege.name, f"{siege.n_connections:,}", f"{besiegers.n_ended:,}", *cells)


if __name__ == "__main__":
    main()
