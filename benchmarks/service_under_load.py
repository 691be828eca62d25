"""Print how fast small requests and probes are answered while other clients send as much work as the service admits.

The service runs on loopback with two workers, started as `rankcorr-serve` starts it. It trusts a proxy to name the
clients, so one machine can play many of them. A separate process sends each kind of small request every 20 ms. Run it
with ``.venv/bin/python benchmarks/service_under_load.py``; it takes about two minutes. The script checks nothing.
"""

import argparse
import contextlib
import http.client
import itertools
import json
import multiprocessing
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator

import numpy as np
from report import heading, machine, row
from service_speed import service

PLAN = {"n_items": 5_000, "n_ballots": 7, "fraction": 0.5, "presentations": 20}
SIMULATION = {"plan": PLAN, "similarity": "exponential", "n_simulations": 249, "seed": 1}  # 180 bytes
PATIENCE = 120.0
Address = tuple[str, int]


def rankings(n_items: int, seed: int = 1) -> dict[str, object]:
    rng = np.random.default_rng(seed)
    names = [f"item-{number}" for number in range(n_items)]
    pair = [dict(zip(names, rng.standard_normal(n_items).tolist(), strict=True)) for _ in range(2)]
    return {"gold": {"scores": pair[0]}, "system": {"scores": pair[1]}}


def heavy_requests(seconds: float) -> list[tuple[str, bytes]]:
    """Return requests of three kinds that take about this long; they have a few hundred bytes to 100 kB."""
    rng = np.random.default_rng(2)
    many = int(4_000 * seconds)
    votes = {
        "left": rng.integers(0, 1_000, many).tolist(),
        "right": (rng.integers(1_000, 2_000, many)).tolist(),
        "winner": ["left", "right"] * (many // 2),
    }
    inference = {"seed": 1, "n_resamples": int(3_000 * seconds)}
    return [
        ("/v1/simulations", encoded({**SIMULATION, "n_simulations": int(6 * seconds)})),
        ("/v1/correlations", encoded({**rankings(1_000), "inference": inference, "coefficients": ["tau_w"]})),
        ("/v1/strengths", encoded({"comparisons": votes})),
    ]


def largest_body(n_bytes: int) -> bytes:
    """Return a request with the largest body that the service reads; the service has to parse all of it."""
    gold = rankings(100_000)["gold"]["scores"]
    systems, size, number = [], 0, itertools.count()
    text = json.dumps({"scores": gold})
    while size + len(text) + 100 < n_bytes:
        systems.append(f'"s{next(number)}": {text}')
        size += len(systems[-1]) + 2
    body = f'{{"gold": {text}, "systems": {{{", ".join(systems[:-1])}}}, "coefficients": ["tau"]}}'
    return body.encode()


def encoded(document: object) -> bytes:
    return json.dumps(document).encode()


class Crowd:
    """Clients with different addresses that send a new request soon after each answer."""

    def __init__(self, address: Address, requests: list[tuple[str, bytes]], n_clients: int) -> None:
        self._address, self._requests, self._n = address, requests, n_clients
        self._stop = threading.Event()
        self.statuses: Counter[object] = Counter()

    def __enter__(self) -> "Crowd":
        self._threads = [threading.Thread(target=self._client, args=(n,), daemon=True) for n in range(self._n)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def _client(self, number: int) -> None:
        choose = random.Random(number)
        while not self._stop.is_set():
            path, body = choose.choice(self._requests)
            headers = {"X-Forwarded-For": f"192.0.2.{number}"}
            self.statuses[send_request(self._address, "POST", path, body, headers)] += 1
            time.sleep(0.05)


def send_request(
    address: Address, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
):
    """Return the status of a request on a new connection, or the name of the error that broke it."""
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
    with contextlib.closing(connection):
        try:
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__
        return response.status


def sender(address: Address, method: str, path: str, body: bytes | None, seconds: float, pipe) -> None:
    """Send a request every 20 ms from another process, on one connection; return seconds and statuses."""
    times, statuses = [], Counter()
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
    end = time.monotonic() + seconds
    while (start := time.perf_counter()) and time.monotonic() < end:
        try:
            connection.request(
                method, path, body, {"Content-Type": "application/json", "X-Forwarded-For": "192.0.2.200"}
            )
            response = connection.getresponse()
            response.read()
            statuses[response.status] += 1
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            statuses[type(error).__name__] += 1
        times.append(time.perf_counter() - start)
        time.sleep(max(0.0, 0.02 - times[-1]))
    pipe.send((times, statuses))


@contextlib.contextmanager
def small_requests(address: Address, seconds: float) -> Iterator[list[tuple[list[float], Counter[object]]]]:
    """Measure correlations of 100 items and probes while the block runs; the list is filled when it ends."""
    context = multiprocessing.get_context("fork")
    results: list[tuple[list[float], Counter[object]]] = []
    running = []
    for method, path, body in (("POST", "/v1/correlations", encoded(rankings(100))), ("GET", "/health/live", None)):
        ours, theirs = context.Pipe()
        process = context.Process(target=sender, args=(address, method, path, body, seconds, theirs))
        process.start()
        running.append((process, ours))
    yield results
    for process, pipe in running:
        results.append(pipe.recv())
        process.join()


def cells_of_times(times: list[float], statuses: Counter[object]) -> tuple[str, ...]:
    p50, p99, longest = np.percentile(np.array(times) * 1e3, [50, 99, 100])
    failed = ", ".join(f"{count} x {status}" for status, count in statuses.items() if status != 200)
    return (f"{len(times):,}", failed or "none", f"{p50:.1f}", f"{p99:.1f}", f"{longest:.0f}")


def list_statuses(statuses: Counter[object]) -> str:
    return ", ".join(f"{count} x {status}" for status, count in sorted(statuses.items(), key=str)) or "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of each row")
    parser.add_argument("--clients", type=int, default=12, help="clients that send heavy requests")
    options = parser.parse_args()
    machine("gunicorn", "flask", "numpy", "numba")
    heading(
        f"Correlations of 100 items and probes, one every 20 ms each for {options.seconds:g} s, during heavy requests",
        "beside",
        *(
            f"{name}: {figure}"
            for name in ("correlations", "probe")
            for figure in ("sent", "failed", "p50", "p99", "max (ms)")
        ),
        "answers to the heavy requests",
    )
    attack = [("/v1/simulations", encoded(SIMULATION))]
    for name, n_clients, requests in (
        ("nothing", 0, attack),
        (f"two simulations of {len(attack[0][1])} bytes, again and again", 2, attack),
        ("work of 2 s, of three kinds", options.clients, heavy_requests(2.0)),
        ("work of 0.3 s, of three kinds", options.clients, heavy_requests(0.3)),
        ("bodies of 16 MB", 4, [("/v1/correlations/batch", largest_body(2**24))]),
    ):
        with service(RANKCORR_TRUSTED_PROXIES="1") as (address, _):
            with Crowd(address, requests, n_clients) as crowd:
                time.sleep(2.0)
                with small_requests(address, options.seconds) as results:
                    pass
                statuses = Counter(crowd.statuses)
            row(name, *itertools.chain(*(cells_of_times(*one) for one in results)), list_statuses(statuses))


if __name__ == "__main__":
    main()
