"""Load on a live service: requests of a chosen length, several at once, over and over."""

import http.client
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.service.live import Server, ask, eventually

PAIR = {"gold": {"scores": [3, 1, 2, 5]}, "system": {"scores": [1, 2, 3, 4]}}
BROKEN = (http.client.HTTPException, ConnectionError)
IN_PROGRESS = "rankcorr_requests_in_progress"


def simulation(n_simulations: int) -> dict:
    """About 10 ms of work for each simulation."""
    plan = {"n_items": 400, "n_ballots": 5, "fraction": 0.5, "presentations": 20}
    return {"plan": plan, "similarity": "exponential", "n_simulations": n_simulations, "seed": 1}


def seconds_of_work(server: Server, seconds: float) -> dict:
    """A request that alone takes about this long on this machine."""
    server.ask("POST", "/v1/simulations", simulation(2))
    start = time.perf_counter()
    status, _, body = server.ask("POST", "/v1/simulations", simulation(10))
    assert status == 200, body
    return simulation(max(2, int(10 * seconds / (time.perf_counter() - start))))


@dataclass
class Load:
    """Clients that repeat a request, each on a connection of its own that it opens anew when it breaks."""

    server: Server
    document: object = field(default_factory=lambda: PAIR)
    path: str = "/v1/correlations"
    n_clients: int = 6
    statuses: Counter = field(default_factory=Counter)
    bodies: set = field(default_factory=set)
    n_broken: int = 0
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
            thread.join(60)
        assert not any(thread.is_alive() for thread in self._threads)
        assert not self._failures, self._failures

    @property
    def n_answered(self) -> int:
        return self.statuses.total()

    def wait_for(self, n_more: int) -> None:
        """Wait until this many more requests have been answered."""
        wanted = self.n_answered + n_more
        eventually(lambda: self.n_answered >= wanted, 60, f"{n_more} more answers")

    def _client(self) -> None:
        connection = self.server.connect()
        try:
            while not self._stop.is_set():
                try:
                    status, headers, body = ask(connection, "POST", self.path, self.document)
                except BROKEN:
                    connection.close()
                    with self._lock:
                        self.n_broken += 1
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

    def run(place, call):
        results[place] = call()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results
