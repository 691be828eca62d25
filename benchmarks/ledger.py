"""Print how fast a ledger takes votes, and what it loses when processes and servers are killed: wanted, nothing.

Each figure is from processes that vote as servers do: 4 processes of 6 threads. PostgreSQL is the server of
``--postgresql``, in a database that is made and dropped; the one that is stopped hard is a server of its own, where
Debian's programs are installed. Run it with ``.venv/bin/python benchmarks/ledger.py``; ``--only`` runs some parts.
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
from pathlib import Path

import numpy as np
import sqlalchemy as sa
from report import heading, machine, row

sys.path.insert(0, str(Path(__file__).parents[1]))

from adaptive.errors import AdaptiveError
from adaptive.ledger import Campaign, LateVoteError, Ledger, LedgerBusyError, VoteCast
from adaptive.plan import plan_ballots

FORK = multiprocessing.get_context("fork")
N_PROCESSES, N_THREADS = 4, 6
Places = list[tuple[str, int, int]]  # event id, place and voter of a vote to come


@contextlib.contextmanager
def database(kind: str, server: str) -> Iterator[str]:
    """Path or URL of an empty database."""
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
    """A campaign whose first ballot is open, with a sheet for each voter."""
    plan = plan_ballots(n_items, n_ballots=2, fraction=0.5, presentations=presentations)
    campaign = Ledger.create(target).new_campaign(plan, n_items, n_voters, seed=1)
    campaign.open_ballot()
    return campaign


def to_vote(campaign: Campaign) -> Places:
    """A vote on each comparison of the open ballot, voters in turn."""
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
    """Votes of `n` threads; those of one voter are in one thread, and no two wait for one sheet."""
    voters = {voter: at for at, voter in enumerate(dict.fromkeys(voter for _, _, voter in places))}
    parts: list[Places] = [[] for _ in range(n)]
    for each in places:
        parts[voters[each[2]] % n].append(each)
    return parts


def under_load(campaign: Campaign, seconds: float, rate: float | None) -> tuple[np.ndarray, int]:
    """Seconds that each vote took, since it was due, and the number of errors."""
    parts = by_voter(to_vote(campaign), N_PROCESSES * N_THREADS)
    pipe = FORK.SimpleQueue()
    begin = time.time() + 2.0

    def votes(mine: Places, seed: int, took: list[float], errors: list[str]) -> None:
        rng, due = random.Random(seed), begin
        time.sleep(max(0.0, begin - time.time()))
        for each in mine:
            due = due + rng.expovariate(rate / len(parts)) if rate else time.time()
            if due > begin + seconds or time.time() > begin + 2 * seconds:
                return
            time.sleep(max(0.0, due - time.time()))
            try:
                cast(campaign, *each)
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
    for each in processes:
        each.start()
    found = [pipe.get() for _ in processes]
    for each in processes:
        each.join()
    return np.array([one for took, _ in found for one in took]), sum(len(errors) for _, errors in found)


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
        once, after, counted, seconds = 0, 0, 0, []
        with database(kind, server) as target:
            for _ in range(n_rounds):
                campaign = opened(target, 60, 20)
                n_closed, in_record, n_stored, took = race(campaign)
                once += n_closed == 1
                after += n_stored - in_record
                counted += in_record
                seconds.append(took)
                campaign.database.close()
        row(
            kind,
            f"{once} of {n_rounds}",
            after,
            counted,
            f"{1e3 * np.median(seconds):.0f}",
            f"{1e3 * max(seconds):.0f}",
        )


def race(campaign: Campaign) -> tuple[int, int, int, float]:
    """Closers that succeeded, votes in the record, votes in the ledger, and the seconds that the close took."""
    records, took, acknowledged = [], [], []
    ballot = campaign.ballots()[-1].id

    def votes(mine: Places) -> None:
        for each in mine:
            with contextlib.suppress(LateVoteError, LedgerBusyError):
                acknowledged.append(cast(campaign, *each))

    def close() -> None:
        while len(acknowledged) < 400 and not records:  # of 600: each item has answers
            time.sleep(0.01)
        start = time.monotonic()
        with contextlib.suppress(AdaptiveError):
            records.append(campaign.close_ballot(1, least_answered=0.0))
            took.append(time.monotonic() - start)

    parts = by_voter(to_vote(campaign), 24)
    in_threads(*[close] * 5, *(lambda mine=mine: votes(mine) for mine in parts))
    n_stored = campaign.database.read(
        lambda connection: connection.execute(
            sa.text("SELECT count(*) FROM vote_event WHERE ballot_id = :ballot"), {"ballot": ballot}
        ).scalar_one()
    )
    return len(records), int(records[0].tally.answered.sum()) // 2, n_stored, took[0]


def print_kills(server: str, n_kills: int) -> None:
    heading(
        f"Processes killed at random while they vote, {n_kills} times",
        *("database", "acknowledged", "lost", "doubled", "answers lost", "locked afterwards, ms"),
    )
    for kind in ("SQLite", "PostgreSQL"):
        with database(kind, server) as target:
            campaign = opened(target, max(200, 20 * n_kills), 20)
            row(kind, *killed(campaign, n_kills))
            campaign.database.close()


def voting_crowd(campaign: Campaign, parts: list[Places], acknowledge: int) -> None:
    def votes(mine: Places) -> None:
        for each in mine:
            cast(campaign, *each)
            os.write(acknowledge, f"{each[0]}\n".encode())

    in_threads(*(lambda mine=mine: votes(mine) for mine in parts))


def killed(campaign: Campaign, n_kills: int) -> tuple[int, int, int, int, str]:
    wanted, rng = to_vote(campaign), random.Random(1)
    acknowledged: set[str] = set()
    pauses = []
    for _ in range(n_kills):
        left = [each for each in wanted if each[0] not in acknowledged][:600]
        reading, writing = os.pipe()

        child = FORK.Process(target=voting_crowd, args=(campaign, by_voter(left, N_THREADS), writing))
        child.start()
        os.close(writing)
        time.sleep(rng.uniform(0.1, 0.5))
        child.kill()
        child.join()
        start = time.monotonic()
        event_id, place, voter = wanted[-1]
        cast(campaign, event_id, place, voter)
        pauses.append(time.monotonic() - start)
        with os.fdopen(reading) as lines:
            acknowledged.update(line.strip() for line in lines if line.endswith("\n"))
    stored = stored_events(campaign)
    known = [each for each in wanted if each[0] in stored]
    for each in known:  # whoever got no answer sends the vote again
        cast(campaign, *each)
    again = stored_events(campaign)
    unanswered = len(set(stored) - acknowledged - {wanted[-1][0]})
    return (
        len(acknowledged),
        len(acknowledged - set(stored)),
        len(again) - len(set(again)) + len(again) - len(stored),
        unanswered,
        f"{1e3 * max(pauses):.0f}",
    )


def stored_events(campaign: Campaign) -> list[str]:
    rows = campaign.database.read(
        lambda connection: connection.execute(sa.text("SELECT event_id FROM vote_event")).all()
    )
    return [event_id for (event_id,) in rows]


def print_restarts(n_restarts: int) -> None:
    import signal

    from tests.adaptive.ledger.databases import binaries, own_server

    if binaries() is None:
        print("\nThe programs of PostgreSQL are not installed: no server is stopped.")
        return
    heading(
        f"PostgreSQL stopped while 24 voters vote, {n_restarts} times each",
        *("signal", "acknowledged", "lost", "doubled", "errors", "longest vote, s"),
    )
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        with own_server() as own:
            campaign = opened(own.url, 2000, 20)
            row(how.name, *stopped(campaign, lambda own=own, how=how: own.stop(how), own.start, n_restarts))
            campaign.database.close()


def stopped(
    campaign: Campaign, stop: Callable[[], None], start: Callable[[], None], n_restarts: int
) -> tuple[int, int, int, int, str]:
    done, errors, took, over = [], [], [], threading.Event()

    def votes(mine: Places) -> None:
        for each in mine:
            if over.is_set():
                return
            began = time.monotonic()
            try:
                cast(campaign, *each)
                done.append(each)
            except AdaptiveError as error:
                errors.append(error)
            took.append(time.monotonic() - began)

    def restarts() -> None:
        for _ in range(n_restarts):
            time.sleep(0.7)
            stop()
            start()
        time.sleep(0.7)
        over.set()

    parts = by_voter(to_vote(campaign), 24)
    in_threads(restarts, *(lambda mine=mine: votes(mine) for mine in parts))
    stored = stored_events(campaign)
    lost = {event_id for event_id, _, _ in done} - set(stored)
    return len(done), len(lost), len(stored) - len(set(stored)), len(errors), f"{max(took):.1f}"


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
            for each in places[:500]:
                start = time.monotonic()
                cast(campaign, *each)
                took.append(time.monotonic() - start)
            start = time.monotonic()
            campaign.close_ballot(1)
            closing = time.monotonic() - start
            p50, p99 = 1e3 * np.quantile(took, [0.5, 0.99])
            row(
                *(kind, f"{n_items:,}", f"{len(places) - 500:,}", f"{opening:.1f}", f"{p50:.1f}", f"{p99:.1f}"),
                f"{closing:.1f}",
            )
            campaign.database.close()


def fill(campaign: Campaign, places: Places) -> None:
    """Votes on many comparisons at once, as a file brings them."""
    from adaptive.ledger import schema
    from adaptive.ledger.columns import insert_columns

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
    parser = argparse.ArgumentParser(description="Print how fast a ledger takes votes, and what it loses.")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each load (default: 60)")
    parser.add_argument("--rounds", type=int, default=50, help="races of closers (default: 50)")
    parser.add_argument("--kills", type=int, default=100, help="killed processes (default: 100)")
    parser.add_argument("--restarts", type=int, default=5, help="restarts of a server for each signal (default: 5)")
    parser.add_argument("--only", nargs="+", choices=["speed", "closing", "kills", "restarts", "size"])
    parser.add_argument("--postgresql", default="postgresql://postgres@127.0.0.1/postgres", metavar="URL")
    chosen = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "speed": lambda: print_speed(chosen.postgresql, chosen.seconds),
        "closing": lambda: print_closing(chosen.postgresql, chosen.rounds),
        "kills": lambda: print_kills(chosen.postgresql, chosen.kills),
        "restarts": lambda: print_restarts(chosen.restarts),
        "size": lambda: print_size(
            chosen.postgresql,
            [("SQLite", 20_000, 40), ("PostgreSQL", 20_000, 40), ("PostgreSQL", 50_000, 40)],
        ),
    }
    machine("sqlalchemy", "psycopg", "rankcorr")
    print(f"Load average before: {load()}")
    for name in chosen.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
