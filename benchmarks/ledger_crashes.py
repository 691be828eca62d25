"""Print how many votes a ledger loses when processes and servers are killed while 24 voters vote; it should lose none.

Processes vote into SQLite and into the PostgreSQL server given by ``--postgresql``, whose database is created and
dropped. The PostgreSQL server that is stopped is a separate one; it needs Debian's PostgreSQL programs. Run it with
``.venv/bin/python benchmarks/ledger_crashes.py``; ``--only`` runs some parts.
"""

import argparse
import os
import random
import threading
import time
from collections.abc import Callable

import sqlalchemy as sa
from ledger import FORK, N_THREADS, Places, by_voter, cast, database, in_threads, load, opened, to_vote
from report import heading, machine, row

from adaptive.errors import AdaptiveError
from adaptive.ledger import Campaign


def print_kills(server: str, n_kills: int) -> None:
    heading(
        f"Processes killed at random while they vote, {n_kills} times",
        *("database", "acknowledged", "lost", "doubled", "answers lost", "locked afterwards, ms"),
    )
    for kind in ("SQLite", "PostgreSQL"):
        with database(kind, server) as target:
            campaign = opened(target, max(200, 20 * n_kills), 20)
            row(kind, *kill_voters(campaign, n_kills))
            campaign.database.close()


def voting_crowd(campaign: Campaign, parts: list[Places], acknowledge: int) -> None:
    def votes(mine: Places) -> None:
        for vote in mine:
            cast(campaign, *vote)
            os.write(acknowledge, f"{vote[0]}\n".encode())

    in_threads(*(lambda mine=mine: votes(mine) for mine in parts))


def kill_voters(campaign: Campaign, n_kills: int) -> tuple[int, int, int, int, str]:
    places, rng = to_vote(campaign), random.Random(1)
    acknowledged: set[str] = set()
    pauses = []
    for _ in range(n_kills):
        left = [vote for vote in places if vote[0] not in acknowledged][:600]
        reading, writing = os.pipe()

        child = FORK.Process(target=voting_crowd, args=(campaign, by_voter(left, N_THREADS), writing))
        child.start()
        os.close(writing)
        time.sleep(rng.uniform(0.1, 0.5))
        child.kill()
        child.join()
        start = time.monotonic()
        event_id, place, voter = places[-1]
        cast(campaign, event_id, place, voter)
        pauses.append(time.monotonic() - start)
        with os.fdopen(reading) as lines:
            acknowledged.update(line.strip() for line in lines if line.endswith("\n"))
    stored = stored_events(campaign)
    known = [vote for vote in places if vote[0] in stored]
    for vote in known:  # voters without an answer send their vote again
        cast(campaign, *vote)
    again = stored_events(campaign)
    unanswered = len(set(stored) - acknowledged - {places[-1][0]})
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

    from tests.adaptive.ledger.databases import binaries, run_server

    if binaries() is None:
        print("\nPostgreSQL's programs are not installed, so no server is stopped.")
        return
    heading(
        f"PostgreSQL stopped while 24 voters vote, {n_restarts} times each",
        *("signal", "acknowledged", "lost", "doubled", "errors", "longest vote, s"),
    )
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        with run_server() as server:
            campaign = opened(server.url, 2000, 20)
            row(
                how.name,
                *restart_server(campaign, lambda server=server, how=how: server.stop(how), server.start, n_restarts),
            )
            campaign.database.close()


def restart_server(
    campaign: Campaign, stop: Callable[[], None], start: Callable[[], None], n_restarts: int
) -> tuple[int, int, int, int, str]:
    acknowledged, errors, took, over = [], [], [], threading.Event()

    def votes(mine: Places) -> None:
        for vote in mine:
            if over.is_set():
                return
            began = time.monotonic()
            try:
                cast(campaign, *vote)
                acknowledged.append(vote)
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
    lost = {event_id for event_id, _, _ in acknowledged} - set(stored)
    return len(acknowledged), len(lost), len(stored) - len(set(stored)), len(errors), f"{max(took):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Print how many votes a ledger loses in crashes.")
    parser.add_argument("--kills", type=int, default=100, help="killed processes (default: 100)")
    parser.add_argument("--restarts", type=int, default=5, help="restarts of a server for each signal (default: 5)")
    parser.add_argument("--only", nargs="+", choices=["kills", "restarts"])
    parser.add_argument("--postgresql", default="postgresql://postgres@127.0.0.1/postgres", metavar="URL")
    options = parser.parse_args()
    parts: dict[str, Callable[[], None]] = {
        "kills": lambda: print_kills(options.postgresql, options.kills),
        "restarts": lambda: print_restarts(options.restarts),
    }
    machine("sqlalchemy", "psycopg", "rankcorr")
    print(f"Load average before: {load()}")
    for name in options.only or parts:
        parts[name]()


if __name__ == "__main__":
    main()
