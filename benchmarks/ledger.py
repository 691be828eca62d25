"""Print how fast a ledger takes votes, and how fast a large one is read.

Votes are cast as servers cast them, by 4 processes with 6 threads each. The database on the PostgreSQL server given by
``--postgresql`` is created and dropped. Run it with ``.venv/bin/python benchmarks/ledger.py``; ``--only`` runs some
parts. `ledger_crashes.py` kills processes and servers.
"""

import argparse
import contextlib
import multiprocessing
import os
import random
import secrets
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from multiprocessing import SimpleQueue
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from report import heading, machine, row

sys.path.insert(0, str(Path(__file__).parents[1]))

from adaptive._plan import plan_ballots
from adaptive.errors import AdaptiveError
from adaptive.ledger import Campaign, LateVoteError, Ledger, LedgerBusyError, VoteCast

FORK = multiprocessing.get_context("fork")
N_PROCESSES, N_THREADS = 4, 6
Places = list[tuple[str, int, int]]  # event id, place and voter of each vote to cast


@contextlib.contextmanager
def database(kind: str, server: str) -> Iterator[str]:
    """Give the path or URL of an empty database."""
    if kind == "SQLite":
        with tempfile.TemporaryDirectory(prefix="rankcorr-ledger-") as folder:
            yield str(Path(folder) / "ledger.db")
        return
    url, name = sa.make_url(server).set(drivername="postgresql+psycopg"), f"rankcorr_bench_{secrets.token_hex(6)}"
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        yield url.set(drivername="postgresql", database=name).render_as_string(hide_password=False)
    finally:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        engine.dispose()


def opened(target: str, n_items: int, presentations: int, n_voters: int = 24) -> Campaign:
    """Return a campaign whose first ballot is open, with a sheet for each voter."""
    plan = plan_ballots(n_items, n_ballots=2, fraction=0.5, presentations=presentations)
    campaign = Ledger.create(target).new_campaign(plan, n_items, n_voters, seed=1)
    campaign.open_next()
    return campaign


def to_vote(campaign: Campaign) -> Places:
    """Return a vote for each comparison of the open ballot; the voters take turns."""
    ballot = campaign.ballots()[-1].id
    rows = campaign.database.read(
        lambda connection: connection.execute(
            sa.text(
                "SELECT c.place, l.voter_id FROM comparison c JOIN lease l ON l.ballot_id = c.ballot_id "
                "AND l.sheet = c.sheet WHERE c.ballot_id = :ballot ORDER BY c.position, c.sheet"
            ),
            {"ballot": ballot},
        ).all()
    )
    return [(str(uuid.uuid4()), place, voter) for place, voter in rows]


def cast(campaign: Campaign, event_id: str, place: int, voter: int) -> object:
    return campaign.cast(VoteCast(event_id, 1, place, voter, ("left", "tie", "right")[place % 3]))


def in_threads(*works: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def by_voter(places: Places, n: int) -> list[Places]:
    """Divide votes among `n` threads by voter, so that no two threads wait for the same sheet."""
    voters = {voter: at for at, voter in enumerate(dict.fromkeys(voter for _, _, voter in places))}
    parts: list[Places] = [[] for _ in range(n)]
    for place in places:
        parts[voters[place[2]] % n].append(place)
    return parts


def under_load(campaign: Campaign, seconds: float, rate: float | None) -> tuple[np.ndarray, int]:
    """Return the seconds from the time each vote was due until it was answered, and the number of errors."""
    parts = by_voter(to_vote(campaign), N_PROCESSES * N_THREADS)
    pipe = FORK.SimpleQueue()
    begin = time.time() + 2.0

    def votes(mine: Places, seed: int, took: list[float], errors: list[str]) -> None:
        rng, due = random.Random(seed), begin
        time.sleep(max(0.0, begin - time.time()))
        for place in mine:
            due = due + rng.expovariate(rate / len(parts)) if rate else time.time()
            if due > begin + seconds or time.time() > begin + 2 * seconds:
                return
            time.sleep(max(0.0, due - time.time()))
            try:
                cast(campaign, *place)
            except AdaptiveError as error:
                errors.append(str(error))
            took.append(time.time() - due)

    def process(at: int) -> None:
        took: list[float] = []
        errors: list[str] = []
        threads = range(at * N_THREADS, (at + 1) * N_THREADS)
        in_threads(*(lambda k=k: votes(parts[k], k, took, errors) for k in threads))
        pipe.put((took, errors))

    processes = [FORK.Process(target=process, args=(at,)) for at in range(N_PROCESSES)]
    for child in processes:
        child.start()
    results = [pipe.get() for _ in processes]
    for child in processes:
        child.join()
    return np.array([one for took, _ in results for one in took]), sum(len(errors) for _, errors in results)


def print_speed(server: str, seconds: float) -> None:
    heading(
        f"Votes of 24 voters in 4 processes, {seconds:.0f} s",
        *("database", "offered, votes/s", "taken, votes/s", "p50, ms", "p99, ms", "longest, ms", "errors"),
        "load average",
    )
    for kind, rate in (("SQLite", 80.0), ("SQLite", None), ("PostgreSQL", 200.0), ("PostgreSQL", None)):
        n_items = int(max(200, 60 * seconds))
        with database(kind, server) as target:
            campaign = opened(target, n_items, 20)
            took, errors = under_load(campaign, seconds, rate)
            p50, p99, longest = 1e3 * np.quantile(took, [0.5, 0.99, 1.0])
            offered = "all they can" if rate is None else f"{rate:.0f}"
            row(
                kind,
                offered,
                f"{took.size / seconds:.0f}",
                f"{p50:.1f}",
                f"{p99:.1f}",
                f"{longest:.0f}",
                errors,
                load(),
            )
            campaign.database.close()


def print_closing(server: str, n_rounds: int) -> None:
    heading(
        f"Five closers race while 24 voters vote, {n_rounds} times",
        *("database", "closed once", "votes after the count", "votes counted", "close: p50, ms", "longest, ms"),
    )
    for kind in ("SQLite", "PostgreSQL"):
        n_closed_once, after, counted, seconds = 0, 0, 0, []
        with database(kind, server) as target:
            for _ in range(n_rounds):
                campaign = opened(target, 60, 20)
                n_closed, in_record, n_stored, took = race(campaign)
                n_closed_once += n_closed == 1
                after += n_stored - in_record
                counted += in_record
                seconds.append(took)
                campaign.database.close()
        row(
            kind,
            f"{n_closed_once} of {n_rounds}",
            after,
            counted,
            f"{1e3 * np.median(seconds):.0f}",
            f"{1e3 * max(seconds):.0f}",
        )


def race(campaign: Campaign) -> tuple[int, int, int, float]:
    """Return the closers that succeeded, the votes in the record and in the ledger, and the seconds of the close."""
    records, took, acknowledged = [], [], []
    ballot = campaign.ballots()[-1].id

    def votes(mine: Places) -> None:
        for place in mine:
            with contextlib.suppress(LateVoteError, LedgerBusyError):
                acknowledged.append(cast(campaign, *place))

    def close() -> None:
        while len(acknowledged) < 400 and not records:  # of 600, so that each item has answers
            time.sleep(0.01)
        start = time.monotonic()
        with contextlib.suppress(AdaptiveError):
            records.append(campaign.close(1, least_answered=0.0))
            took.append(time.monotonic() - start)

    parts = by_voter(to_vote(campaign), 24)
    in_threads(*[close] * 5, *(lambda mine=mine: votes(mine) for mine in parts))
    n_stored = campaign.database.read(
        lambda connection: connection.execute(
            sa.text("SELECT count(*) FROM vote_event WHERE ballot_id = :ballot"), {"ballot": ballot}
        ).scalar_one()
    )
    return len(records), int(records[0].tally.answered.sum()) // 2, n_stored, took[0]


def print_size(server: str, sizes: list[tuple[str, int, int]]) -> None:
    heading(
        "One vote in a ledger with many",
        *("database", "items", "votes before", "open the ballot, s", "vote: p50, ms", "p99, ms", "close, s"),
    )
    for kind, n_items, presentations in sizes:
        with database(kind, server) as target:
            start = time.monotonic()
            campaign = opened(target, n_items, presentations, n_voters=200)
            opening = time.monotonic() - start
            places = to_vote(campaign)
            fill(campaign, places[500:])
            took = []
            for place in places[:500]:
                start = time.monotonic()
                cast(campaign, *place)
                took.append(time.monotonic() - start)
            start = time.monotonic()
            campaign.close(1)
            closing = time.monotonic() - start
            p50, p99 = 1e3 * np.quantile(took, [0.5, 0.99])
            row(
                *(kind, f"{n_items:,}", f"{len(places) - 500:,}", f"{opening:.1f}", f"{p50:.1f}", f"{p99:.1f}"),
                f"{closing:.1f}",
            )
            campaign.database.close()


def print_reading(server: str, sizes: list[tuple[str, int, int]]) -> None:
    heading(
        "Reading a ledger with many votes",
        *("database", "items", "votes", "status: p50, ms", "longest, ms", "interim result, s", "memory of it, MB"),
        "load average",
    )
    fresh = multiprocessing.get_context("spawn")  # a fork would start with its parent's memory
    for kind, n_items, presentations in sizes:
        with database(kind, server) as target:
            campaign = opened(target, n_items, presentations, n_voters=200)
            places = to_vote(campaign)
            fill(campaign, places[500:])
            for place in places[:300]:
                cast(campaign, *place)
            campaign.database.close()
            pipe = fresh.SimpleQueue()
            reader = fresh.Process(target=read, args=(target, pipe))
            reader.start()
            n_votes, took, result, memory = pipe.get()
            reader.join()
            p50, longest = 1e3 * np.quantile(took, [0.5, 1.0])
            row(
                *(
                    kind,
                    f"{n_items:,}",
                    f"{n_votes:,}",
                    f"{p50:.1f}",
                    f"{longest:.0f}",
                    f"{result:.1f}",
                    f"{memory:.0f}",
                ),
                load(),
            )


def read(target: str, pipe: SimpleQueue) -> None:
    """Measure the seconds of 50 status calls and of an interim result, and the megabytes that both need."""
    campaign = Ledger.open(target).campaign()
    took = []
    for _ in range(50):
        start = time.monotonic()
        now = campaign.status()
        took.append(time.monotonic() - start)
    start = time.monotonic()
    campaign.result(interim=True)
    result = time.monotonic() - start
    pipe.put((now.n_votes, took, result, most_memory()))
    campaign.database.close()


def most_memory() -> float:
    """Return the peak memory of this process in megabytes; `getrusage` would include its parent's."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) / 1e3


def fill(campaign: Campaign, places: Places) -> None:
    """Store votes on many comparisons at once, as an import from a file does."""
    from adaptive.ledger._campaign.transaction import insert_columns
    from adaptive.ledger._store import schema

    def work(connection: sa.Connection) -> None:
        ballot = connection.execute(sa.text("SELECT id FROM ballot")).scalar_one()
        columns = {
            "event_id": [event_id for event_id, _, _ in places],
            "place": [place for _, place, _ in places],
            "voter_id": [voter for _, _, voter in places],
            "answer": [place % 3 - 1 for _, place, _ in places],
        }
        same = {"ballot_id": ballot, "revision": 1, "kind": "cast", "received_at": 0, "payload_hash": "0" * 64}
        insert_columns(connection, schema.vote_event, {**columns, **same})
        connection.execute(
            sa.text(
                "UPDATE sheet SET n_answered = (SELECT count(*) FROM vote_event e JOIN comparison c "
                "ON c.ballot_id = e.ballot_id AND c.place = e.place WHERE c.sheet = sheet.number)"
            )
        )

    campaign.database.write(work)


def load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Print how fast a ledger takes votes, and how fast it is read.")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of each load (default: 60)")
    parser.add_argument("--rounds", type=int, default=50, help="races of closers (default: 50)")
    parser.add_argument("--only", nargs="+", choices=["speed", "closing", "size", "reading"])
    parser.add_argument("--postgresql", default="postgresql://postgres@127.0.0.1/postgres", metavar="URL")
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "speed": lambda: print_speed(options.postgresql, options.seconds),
        "closing": lambda: print_closing(options.postgresql, options.rounds),
        "size": lambda: print_size(
            options.postgresql, [("SQLite", 20_000, 40), ("PostgreSQL", 20_000, 40), ("PostgreSQL", 50_000, 40)]
        ),
        "reading": lambda: print_reading(options.postgresql, [("SQLite", 20_000, 40), ("PostgreSQL", 50_000, 40)]),
    }
    machine("sqlalchemy", "psycopg", "rankcorr")
    print(f"Load average before: {load()}")
    for name in options.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
