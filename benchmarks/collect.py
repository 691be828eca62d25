"""Print how fast rankcorr-collect takes votes over HTTP, and how it copes with overload, kills and slow clients.

The server runs on loopback with two workers, started as `rankcorr-collect` starts it. One process plays all voters, on
the same processors. The databases on the PostgreSQL server given by ``--postgresql`` are created and dropped. Run it
with ``.venv/bin/python benchmarks/collect.py``; ``--only`` runs some parts. The script checks nothing.
"""

import argparse
import contextlib
import os
import socket
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from ledger import database
from report import heading, machine, row

sys.path.insert(0, str(Path(__file__).parents[1]))

from adaptive._plan import plan_ballots
from adaptive.ledger import Campaign
from tests.service.collect.browsing import new_campaign
from tests.service.collect.live import Crowd, KillableServer, Log, compare_with_ledger, kill_thread

N_VOTERS = 200
UNLIMITED = {"RANKCORR_UNANSWERED_SHEETS": "0"}  # one address for all
HEAD = b"POST /v1/sheets HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@contextlib.contextmanager
def collecting(kind: str, postgresql: str, n_items: int) -> Iterator[tuple[KillableServer, Campaign, str]]:
    """Run a server on an empty database; give the server, its campaign with sheets of 20 pairs, and the database."""
    with database(kind, postgresql) as target, tempfile.TemporaryDirectory() as folder:
        plan = plan_ballots(n_items, n_ballots=2, fraction=0.5, presentations=20)
        campaign = new_campaign(target, plan=plan, items=n_items, voters=N_VOTERS, sheet_size=20)
        with KillableServer(Path(folder), target, UNLIMITED) as server:
            yield server, campaign, target
        campaign.database.close()


def milliseconds(log: Log, seconds: float) -> tuple[str, str, str]:
    """Return the median, 99th percentile and longest time of the votes that were due within `seconds`."""
    took = [duration for due, duration in log.took if 0.0 <= due < seconds]
    return tuple(f"{1e3 * quantile:,.0f}" for quantile in np.quantile(took, [0.5, 0.99, 1.0]))


def rate(log: Log, seconds: float) -> str:
    return f"{sum(due + duration < seconds for due, duration in log.took) / seconds:,.0f}"


def processor_seconds(server: KillableServer) -> float:
    """Return the processor time that the workers have used, in seconds."""
    stats = [Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split() for worker in server.server.workers()]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / os.sysconf("SC_CLK_TCK")


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def print_speed(postgresql: str, seconds: float, runs: int) -> None:
    heading(
        f"Votes over HTTP, {seconds:g} s",
        *("database", "voters", "offered, votes/s", "taken, votes/s", "p50, ms", "p99, ms", "longest, ms"),
        *("503", "lost", "doubled", "processor time of the workers, ms a vote", "load average"),
    )
    cases = (
        ("SQLite", N_VOTERS, 80.0),
        ("SQLite", 32, None),
        ("PostgreSQL", N_VOTERS, 200.0),
        ("PostgreSQL", 32, None),
    )
    for kind, n_voters, offered in cases:
        for _ in range(runs):
            with collecting(kind, postgresql, max(400, int(50 * seconds))) as (server, campaign, _):
                think = n_voters / offered if offered else 0.0
                before = processor_seconds(server)
                log = Crowd(server.address, campaign.key, n_voters, think=think).run(seconds, arrival=10.0)
                processor_time = f"{1e3 * (processor_seconds(server) - before) / max(1, len(log.took)):.1f}"
                loss = compare_with_ledger(campaign, log)
            load_text = f"{offered:.0f}" if offered else "all they can"
            times = milliseconds(log, seconds)
            n_refused = len(log.heard_503_after)
            row(
                kind,
                n_voters,
                load_text,
                rate(log, seconds),
                *times,
                n_refused,
                loss.lost,
                loss.doubled,
                processor_time,
                load(),
            )


def print_overload(postgresql: str, seconds: float) -> None:
    heading(
        f"{2 * N_VOTERS} voters who never pause, {seconds:g} s; then a program that holds SQLite's lock for 10 s",
        *("load", "acknowledged", "503", "503 without Retry-After", "longest until 503, s", "lost", "doubled"),
        *("until all had answers, s", "load average"),
    )
    for kind in ("SQLite", "PostgreSQL"):
        with collecting(kind, postgresql, max(400, int(50 * seconds))) as (server, campaign, _):
            log = Crowd(server.address, campaign.key, 2 * N_VOTERS, think=0.0).run(seconds)
            print_refusals(f"{kind}, too many", log, campaign)
    with collecting("SQLite", postgresql, max(400, int(50 * seconds))) as (server, campaign, target):
        crowd = Crowd(server.address, campaign.key, N_VOTERS, think=2.0)
        thread = threading.Thread(target=lock, args=(target, 5.0, 10.0))
        thread.start()
        log = crowd.run(20.0)
        thread.join()
        print_refusals("SQLite, locked for 10 s", log, campaign)


def print_refusals(title: str, log: Log, campaign: Campaign) -> None:
    loss, heard = compare_with_ledger(campaign, log), log.heard_503_after
    longest = f"{max(heard, default=0.0):.1f}"
    row(
        *(title, f"{len(log.acknowledged):,}", f"{len(heard):,}", log.without_retry_after, longest),
        *(loss.lost, loss.doubled, f"{log.waited:.1f}", load()),
    )


def lock(path: str, after: float, seconds: float) -> None:
    time.sleep(after)
    with contextlib.closing(sqlite3.connect(path, timeout=30.0, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)


def print_kills(postgresql: str, n_kills: int) -> None:
    heading(
        f"A worker and the whole server killed in turn while {N_VOTERS} voters offer 60 votes/s, {n_kills} times",
        *("database", "acknowledged", "lost", "doubled", "counted wrongly", "answers lost", "broken connections"),
        *("from sending to the answer: p50, ms", "longest, s", "load average"),
    )
    for kind in ("SQLite", "PostgreSQL"):
        with collecting(kind, postgresql, 3_000) as (server, campaign, _):
            crowd = Crowd(server.address, campaign.key, N_VOTERS, think=N_VOTERS / 60)
            killing = kill_thread(server, crowd, n_kills, votes=(20, 200))
            killing.start()
            log = crowd.run()
            killing.join()
            loss = compare_with_ledger(campaign, log)
        took = log.answered_after
        row(
            *(kind, f"{len(log.acknowledged):,}", loss.lost, loss.doubled, loss.miscounted, log.repeated),
            *(log.broken, f"{1e3 * np.median(took):.0f}", f"{max(took):.1f}", load()),
        )


def print_siege(postgresql: str, seconds: float) -> None:
    heading(
        f"50 voters offer 20 votes/s while other connections are silent or slow, {seconds:g} s",
        *(
            "other connections",
            "taken, votes/s",
            "p50, ms",
            "p99, ms",
            "longest, ms",
            "503",
            "other connections reopened",
            "load average",
        ),
    )
    for n_others in (0, 500):
        with (
            collecting("SQLite", postgresql, 800) as (server, campaign, _),
            besiege(server.address, n_others) as n_opened,
        ):
            log = Crowd(server.address, campaign.key, 50, think=2.5).run(seconds, arrival=5.0)
            again = n_opened() - n_others
        row(n_others, rate(log, seconds), *milliseconds(log, seconds), len(log.heard_503_after), again, load())


@contextlib.contextmanager
def besiege(address: tuple[str, int], n_connections: int) -> Iterator[Callable[[], int]]:
    """Keep connections open that send nothing or one byte a second, and reopen those that the server closes.

    The function that it gives returns how many connections have been opened.
    """
    stop, n_opened = threading.Event(), 0
    beginnings = (b"", HEAD + b"X-Slow: ", b"", HEAD + b"Content-Length: 10000\r\n\r\n{")

    def opened(number: int) -> socket.socket:
        nonlocal n_opened
        n_opened += 1
        connection = socket.create_connection(address, timeout=5.0)
        connection.sendall(beginnings[number % 4])
        connection.setblocking(False)
        return connection

    def run() -> None:
        connections = [opened(number) for number in range(n_connections)]
        while not stop.wait(1.0):
            for number, connection in enumerate(connections):
                try:
                    if beginnings[number % 4]:
                        connection.send(b" ")
                    if connection.recv(1_000):
                        continue
                except BlockingIOError:
                    continue
                except OSError:
                    pass
                connection.close()
                connections[number] = opened(number)
        for connection in connections:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield lambda: n_opened
    finally:
        stop.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(description="Print how fast rankcorr-collect takes votes, and how many it loses.")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of each load (default: 60)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each load in the first table (default: 3)")
    parser.add_argument("--kills", type=int, default=20, help="kills on each database (default: 20)")
    parser.add_argument("--only", nargs="+", choices=["speed", "overload", "kills", "siege"])
    parser.add_argument("--postgresql", default="postgresql://postgres@127.0.0.1/postgres", metavar="URL")
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "speed": lambda: print_speed(options.postgresql, options.seconds, options.runs),
        "overload": lambda: print_overload(options.postgresql, options.seconds / 2),
        "kills": lambda: print_kills(options.postgresql, options.kills),
        "siege": lambda: print_siege(options.postgresql, options.seconds),
    }
    machine("gunicorn", "flask", "sqlalchemy", "psycopg")
    print(f"Load average before: {load()}")
    for name in options.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
