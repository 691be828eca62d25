"""Load on a live service: requests of a chosen length, several at once, over and over."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.service.live import PATIENCE, Server, ask, eventually

PAIR = {"gold": {"scores": [3, 1, 2, 5]}, "system": {"scores": [1, 2, 3, 4]}}
BROKEN = (http.client.HTTPException, ConnectionError)
IN_PROGRESS = "rankcorr_requests_in_progress"
LINGER = 2.0  # seconds for which gunicorn 27 keeps connections open when a worker ends


def simulation(n_simulations: int) -> dict:
    """About 10 ms of work for each simulation."""
    plan = {"n_items": 400, "n_ballots": 5, "fraction": 0.5, "presentations": 20}
    return {"plan": plan, "similarity": "exponential", "n_simulations": n_simulations, "seed": 1}


def seconds_of_work(server: Server, seconds: float) -> dict:
    """A request that alone takes at least about this long on this machine.

    It is measured more than once: where the machine stood still for a while, the request would be far too short.
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
    """Clients that repeat a request, each on a connection of its own that it opens anew when it breaks.

    A worker that ends may close a connection on which nothing was asked for `LINGER`: a client that
    stood still for so long asks again, and that counts in `n_idle`, not in `n_broken`.
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
        wanted = self.n_answered + n_more
        eventually(lambda: self.n_answered >= wanted, what=f"{n_more} more answers")

    def _client(self) -> None:
        connection = self.server.connect()
        since = asked = time.monotonic()  # since when the worker may have waited for a request
        try:
            while not self._stop.is_set():
                since, asked = asked, time.monotonic()
                try:
                    status, headers, body = ask(connection, "POST", self.path, self.document)
                except BROKEN:
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


def in_threads(*calls):
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
