"""Print how long the service takes to answer over HTTP connections that stay open, and scipy without HTTP.

The service runs on loopback with two workers, started as `rankcorr-serve` starts it; the clients are separate
processes. Run it with ``.venv/bin/python benchmarks/service_speed.py``. It checks nothing: shared machines are noisy,
so the reader has to judge a ratio.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.stats
from report import heading, machine, row

from rankcorr import item_weights, weighted_tau

SIZES = (100, 1_000, 2_000, 10_000, 20_000, 100_000)
N_CONNECTIONS = 8
Address = tuple[str, int]


@contextlib.contextmanager
def service(**settings: str) -> Iterator[tuple[Address, int]]:
    """Run a service during the block, and give its address and process id."""
    two_workers = {"RANKCORR_BIND": "127.0.0.1:0", "RANKCORR_WORKERS": "2", "RANKCORR_TRUSTED_PROXIES": "1"}
    environment = {**os.environ, **two_workers, **settings}
    with tempfile.TemporaryDirectory() as folder, open(Path(folder, "errors"), "w+") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "service.server.launch", "rankcorr-serve"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            text = Path(errors.name)
            while not (match := re.search(r"Listening at: http://([0-9.]+):([0-9]+)", text.read_text())):
                if process.poll() is not None:
                    raise SystemExit(text.read_text())
                time.sleep(0.05)
            yield (match[1], int(match[2])), process.pid
        finally:
            process.terminate()
            process.wait()


def request(path: str, document: object) -> bytes:
    body = json.dumps(document).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    )
    return head.encode() + b"\r\n" + body


def client(address: Address, message: bytes, n_requests: int, seconds: float) -> list[float]:
    """Return the seconds of each request on one connection, for at least `n_requests` and `seconds`."""
    times = []
    with socket.create_connection(address) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end = time.perf_counter() + seconds
        while len(times) < n_requests or time.perf_counter() < end:
            start = time.perf_counter()
            connection.sendall(message)
            answer = connection.recv(65_536)
            while (head_end := answer.find(b"\r\n\r\n")) < 0:
                answer += connection.recv(65_536)
            missing = int(re.search(rb"(?i)content-length: ([0-9]+)", answer)[1]) - (len(answer) - head_end - 4)
            while missing > 0:
                missing -= len(connection.recv(min(missing, 1 << 20)))
            times.append(time.perf_counter() - start)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise SystemExit(answer[:500])
    return times


def clients(address: Address, message: bytes, n_connections: int, n_requests: int, seconds: float, pipe) -> None:
    """Send requests on several connections in another process; return all times and the requests per second."""
    times: list[list[float]] = []

    def run(number: int) -> None:  # as a new client, because each has one heavy request at a time
        message_of_client = message.replace(b"\r\n", b"\r\nX-Forwarded-For: 192.0.2.%d\r\n" % number, 1)
        times.append(client(address, message_of_client, n_requests, seconds))

    threads = [threading.Thread(target=run, args=(number,)) for number in range(n_connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    durations = [one for of_client in times for one in of_client]
    pipe.send((durations, len(durations) / (time.perf_counter() - start)))


def load(
    address: Address, message: bytes, n_connections: int, n_requests: int = 1, seconds: float = 0.0
) -> tuple[list[float], float]:
    """Return the seconds of each request, and the requests per second."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(
        target=clients, args=(address, message, n_connections, n_requests, seconds, theirs)
    )
    process.start()
    result = ours.recv()
    process.join()
    return result


def take_figures(address: Address, message: bytes, seconds: float, turns: int) -> tuple[float, float, float]:
    """Return the median and 99th percentile seconds of a single client, and the requests per second of several."""
    load(address, message, N_CONNECTIONS, n_requests=3)
    alone = [load(address, message, 1, n_requests=5, seconds=seconds)[0] for _ in range(turns)]
    rates = [load(address, message, N_CONNECTIONS, n_requests=2, seconds=seconds)[1] for _ in range(turns)]
    return (
        statistics.median(statistics.median(times) for times in alone),
        float(np.percentile(np.concatenate(alone), 99)),
        statistics.median(rates),
    )


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and of all below it, those that have ended included."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return 0.0
    return sum(map(int, fields)) / os.sysconf("SC_CLK_TCK") + sum(processor_seconds(int(child)) for child in children)


def processor_seconds_of_request(address: Address, pid: int, message: bytes, n_requests: int = 50) -> float:
    """Return the processor time of a request, over all processes of the service."""
    before = processor_seconds(pid)
    client(address, message, n_requests, 0.0)
    return (processor_seconds(pid) - before) / n_requests


def median_seconds(call: Callable[[], object], turns: int = 7) -> float:
    timer = timeit.Timer(call)
    number = max(1, int(0.05 / timer.timeit(1)))
    return statistics.median(timer.timeit(number) / number for _ in range(turns))


def scipy_tau(x: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Return the same coefficient from scipy, with our weights."""
    return scipy.stats.weightedtau(
        x, y, rank=np.arange(x.size), weigher=lambda item: weights[item], additive=False
    ).statistic


def aligned_scipy_tau(x: dict[str, float], y: dict[str, float], weights: np.ndarray) -> float:
    return scipy_tau(np.array(list(x.values())), np.array([y[label] for label in x]), weights)


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}" if seconds < 0.1 else f"{seconds * 1e3:.0f}"


def bench_correlations(address: Address, pid: int, sizes: list[int], seconds: float, turns: int) -> None:
    heading(
        f"POST /v1/correlations, tau_w; requests per second by {N_CONNECTIONS} connections",
        *("n", "rankings", "body (kB)", "processor (ms)", "p50 (ms)", "p99 (ms)", "requests/s"),
        *("scipy.stats.weightedtau, no HTTP (ms)", "scipy / p50"),
    )
    for n_items in sizes:
        rng = np.random.default_rng(1)
        x, y = rng.standard_normal(n_items), rng.standard_normal(n_items)
        weights = item_weights(x, y)
        assert abs(weighted_tau(x, y).statistic - scipy_tau(x, y, weights)) < 1e-10
        names = [f"item-{number}" for number in range(n_items)]
        order = rng.permutation(n_items).tolist()  # gold and system list the items in different orders
        by_name = dict(zip(names, x.tolist(), strict=True)), {names[item]: float(y[item]) for item in order}
        for kind, pair, peer in (
            ("scores by label", by_name, lambda: aligned_scipy_tau(*by_name, weights)),  # noqa: B023 - called here
            ("arrays", (x.tolist(), y.tolist()), lambda: scipy_tau(x, y, weights)),  # noqa: B023
        ):
            rankings = {"gold": {"scores": pair[0]}, "system": {"scores": pair[1]}}
            message = request("/v1/correlations", {**rankings, "coefficients": ["tau_w"]})
            theirs = median_seconds(peer)
            p50, p99, rate = take_figures(address, message, seconds, turns)
            processor = processor_seconds_of_request(address, pid, message)
            times = milliseconds(processor), milliseconds(p50), milliseconds(p99), f"{rate:,.0f}"
            row(f"{n_items:,}", kind, f"{len(message) / 1e3:,.0f}", *times, milliseconds(theirs), f"{theirs / p50:.2f}")


def bench_others(address: Address, seconds: float, turns: int) -> None:
    heading(
        f"Other requests; requests per second by {N_CONNECTIONS} connections",
        *("request", "body (kB)", "p50 (ms)", "p99 (ms)", "requests/s"),
    )
    plan = {"n_items": 990, "n_ballots": 7, "fraction": 0.5, "presentations": 20}
    rng = np.random.default_rng(1)
    batch = {
        "gold": {"scores": rng.standard_normal(1_000).tolist()},
        "systems": {f"system {number}": {"scores": rng.standard_normal(1_000).tolist()} for number in range(100)},
        "coefficients": ["tau_w"],
    }
    ballot = {"items": 990, "presentations": 20, "voters": 100, "seed": 1}
    for name, path, document in (
        ("a plan of 7 ballots for 990 items", "/v1/plans", plan),
        ("a ballot, 990 items, 20 presentations, 100 voters", "/v1/ballots", ballot),
        ("tau_w of 100 systems, 1,000 items", "/v1/correlations/batch", batch),
    ):
        message = request(path, document)
        p50, p99, rate = take_figures(address, message, seconds, turns)
        row(name, f"{len(message) / 1e3:,.1f}", milliseconds(p50), milliseconds(p99), f"{rate:,.0f}")
    gold = np.array(batch["gold"]["scores"])
    systems = [np.array(system["scores"]) for system in batch["systems"].values()]
    weights = [item_weights(gold, system) for system in systems]
    peer = median_seconds(lambda: [scipy_tau(gold, system, w) for system, w in zip(systems, weights, strict=True)], 3)
    row("the same 100 systems by scipy.stats.weightedtau, no HTTP", "", milliseconds(peer), "", "")


def bench_memory(n_requests: int) -> None:
    """Print the resident memory of the workers, which are not replaced during the run."""
    heading("Resident memory of the workers (MB), 100 items by label", "requests", "worker 1", "worker 2")
    rng = np.random.default_rng(1)
    pair = [{"scores": {f"item-{number}": value for number, value in enumerate(rng.random(100))}} for _ in range(2)]
    message = request("/v1/correlations", {"gold": pair[0], "system": pair[1]})
    with service(RANKCORR_MAX_REQUESTS_PER_WORKER="0") as (address, process):
        n_sent = 0
        for n_wanted in (1_000, n_requests // 4, n_requests // 2, n_requests):
            load(address, message, N_CONNECTIONS, n_requests=(n_wanted - n_sent) // N_CONNECTIONS)
            n_sent = n_wanted
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
            children = [child for child in children if len(os.listdir(f"/proc/{child}/task")) > 1]  # those with threads
            pages = [int(Path(f"/proc/{child}/statm").read_text().split()[1]) for child in children]
            row(f"{n_sent:,}", *(f"{count * os.sysconf('SC_PAGE_SIZE') / 1e6:.1f}" for count in pages))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--max-items", type=int, default=SIZES[-1], help="skip longer lists")
    parser.add_argument("--seconds", type=float, default=1.0, help="duration of each turn of a measurement")
    parser.add_argument("--turns", type=int, default=5, help="turns of each measurement; their medians are shown")
    parser.add_argument("--memory-requests", type=int, default=50_000, help="requests of the memory test; 0 skips it")
    options = parser.parse_args()
    machine("gunicorn", "flask", "numpy", "scipy", "numba")
    with service() as (address, pid):
        bench_correlations(
            address, pid, [size for size in SIZES if size <= options.max_items], options.seconds, options.turns
        )
        bench_others(address, options.seconds, options.turns)
    if options.memory_requests:
        bench_memory(options.memory_requests)


if __name__ == "__main__":
    main()
