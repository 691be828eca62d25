"""Transactions when the database is busy, full, damaged or unreachable, or when the process forks."""

import gc
import os
import shutil
import signal
import socket
import sqlite3
import threading
import time
from contextlib import closing, contextmanager

import psycopg
import pytest
import sqlalchemy as sa

from adaptive import plan_ballots
from adaptive.ledger import Ledger, LedgerBusyError, LedgerError, RevisionError, UnreachableError
from adaptive.ledger._store import database as module
from adaptive.ledger._store.database import PATIENCE_SECONDS, FairLock, lock_ballot
from adaptive.ledger._store.migrations import create_tables
from tests.adaptive.ledger import databases as processes
from tests.adaptive.ledger.campaigns import (
    PLAN,
    campaign_of,
    change,
    check_ledger,
    comparisons_of,
    first_comparison,
    new_id,
    query,
    target_of,
    vote,
)
from tests.processes import guard

pytestmark = pytest.mark.wide


def require_postgresql(ledger):
    if ledger.database.is_sqlite:
        pytest.skip("of PostgreSQL alone")


@pytest.mark.parametrize("target", ["mysql://host/name", "sqlite:///file.db", "redis://x"])
def test_other_databases_are_refused(target):
    with pytest.raises(LedgerError, match="a ledger must be the path of a file, or a URL like postgresql"):
        Ledger(target)


def test_errors_do_not_show_the_password():
    for url in ("ann:secret@host/votes", "ann:se@cret@host/votes", "host/votes?user=ann&password=secret"):
        assert Ledger(f"postgresql://{url}").database.name == "postgresql://host/votes"
    with pytest.raises(LedgerError, match="not a URL of a database, such as") as result:
        Ledger("postgresql://ann:secret@host:port/votes")
    assert "secret" not in str(result.value)


@pytest.fixture
def database(postgresql):
    """Create a PostgreSQL database and return its URL; it is dropped after the test."""
    names = []

    def make(options=""):
        names.append(f"rankcorr_test_{new_id().replace('-', '')}")
        postgresql.run_on_server(f"CREATE DATABASE {names[-1]} TEMPLATE template0 {options}")
        return postgresql.server.set(database=names[-1], drivername="postgresql").render_as_string(hide_password=False)

    yield make
    for name in names:
        postgresql.run_on_server(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def create_role(url):
    """Create a role that may only connect, and return the URL for it."""
    name = f"reader_{new_id().replace('-', '')}"
    administrator = sa.create_engine(
        sa.make_url(url).set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT"
    )
    with administrator.connect() as connection:
        connection.exec_driver_sql(f"CREATE ROLE {name} LOGIN PASSWORD 'secret'")
        try:
            other = sa.make_url(url).set(username=name, password="secret")
            yield name, other.render_as_string(hide_password=False), connection
        finally:
            connection.exec_driver_sql(f"DROP OWNED BY {name}")
            connection.exec_driver_sql(f"DROP ROLE {name}")
    administrator.dispose()


def test_missing_privileges_are_reported(database):
    url = database()
    with closing(Ledger.create(url)) as ledger, create_role(url) as (name, role_url, connection):
        campaign, place, voter = first_comparison(ledger)
        with pytest.raises(UnreachableError, match="permission denied for table ledger_revision"):
            Ledger.open(role_url)
        connection.exec_driver_sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
        with closing(Ledger.open(role_url)) as read_only:
            of_reader = read_only.campaign(campaign.key)
            assert of_reader.status() == campaign.status()
            with pytest.raises(UnreachableError, match="permission denied for table"):
                of_reader.cast(vote(voter, place))
        assert campaign.cast(vote(voter, place)).revision == 1


def test_text_that_postgresql_cannot_hold_raises_a_ledger_error(ledger):
    """SQLite accepts it and finds nothing."""
    campaign, *_ = first_comparison(ledger)
    message = "there is no voter with the key|PostgreSQL text fields cannot contain NUL"
    with pytest.raises(LedgerError, match=message):
        campaign.voters.with_key("a\0b")


def test_missing_tables_are_reported(database):
    with closing(Ledger.create(database())) as ledger:
        campaign, place, voter = first_comparison(ledger)
        change(ledger, "DROP SCHEMA public CASCADE")
        with pytest.raises(UnreachableError, match='relation "comparison" does not exist'):
            campaign.cast(vote(voter, place))


def test_unicode_survives_a_database_with_encoding_sql_ascii(database, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with closing(Ledger.create(database("ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'"))) as ledger:
        items = ["\u0416\u0443\u043a", "caf\u00e9", "\u866b", "ant"]
        campaign = ledger.new_campaign(
            plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2), items, ["\u0416"], 1
        )
        campaign.open_next()
        assert campaign.record({pair.id: "left" for pair in campaign.asked()}).n_new == 4
        result = ledger.campaign(campaign.key)
        assert result.info.items == tuple(items)
        assert [row.name for row in result.voters.rows(names=True)] == ["\u0416"]


def test_a_database_with_a_limited_encoding_is_refused(database):
    url = database("ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
    with pytest.raises(
        LedgerError, match="has the encoding LATIN1, which lacks some letters; create the database with"
    ):
        Ledger.create(url)
    with closing(Ledger(url)) as ledger:  # as one that an earlier release made
        ledger.database.write(create_tables)
        campaign = ledger.new_campaign(PLAN, 6, ["Ann"], 1)
        with pytest.raises(LedgerError, match=r"has no equivalent in encoding .* the database needs the encoding UTF8"):
            campaign.voters.invite(["\u0416"])
        campaign.voters.invite(["Ann\u00e9"])


def test_an_unreachable_server_is_reported_at_once():
    start = time.monotonic()
    with pytest.raises(UnreachableError, match="refused"):
        Ledger.open("postgresql://postgres@127.0.0.1:9/postgres")
    assert time.monotonic() - start < PATIENCE_SECONDS  # it is not tried again


def test_files_that_are_no_database_are_reported(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("comparison,voter\n" * 100)
    with pytest.raises(UnreachableError, match="file is not a database"):
        Ledger.open(path)
    with pytest.raises(UnreachableError, match="unable to open"):
        Ledger.create(tmp_path / "no folder" / "ledger.db")


def test_a_forked_child_opens_new_connections(ledger):
    campaign = campaign_of(ledger)
    places = [(place, voter) for place, _, voter in comparisons_of(campaign)]
    n_votes = min(8, len(places) // 2)
    with ledger.database.engine.connect() as connection:  # in use while the process forks
        connection.execute(sa.text("SELECT 1"))
        mine = ledger.database.engine

        def votes(report):
            for place, voter in places[:n_votes]:
                campaign.cast(vote(voter, place))
            assert ledger.database.engine is not mine
            gc.collect()  # garbage collection in the child must not close connections of the parent
            ledger.close()
            report("voted")

        child = processes.start(votes)
        for place, voter in places[n_votes : 2 * n_votes]:
            campaign.cast(vote(voter, place))
        assert child.lines() == ["voted"]
        assert child.wait() == 0
        assert ledger.database.engine is mine
        assert connection.execute(sa.text("SELECT count(*) FROM vote_event")).scalar() == 2 * n_votes
    check_ledger(ledger)


def test_a_child_can_write_although_a_thread_of_the_parent_was_writing(ledger, monkeypatch):
    monkeypatch.setattr(module, "_FORK_SECONDS", 60.0)  # forking takes longer on a busy machine
    campaign = campaign_of(ledger)
    (place, _, voter), *_ = comparisons_of(campaign)
    writes, forked = threading.Event(), threading.Event()

    def hold(connection):
        connection.execute(sa.text("SELECT 1"))
        writes.set()
        forked.wait(60)

    thread = threading.Thread(target=lambda: ledger.database.write(hold))
    thread.start()
    assert writes.wait(60)
    threading.Timer(0.2, forked.set).start()
    child = processes.start(lambda report: report(campaign.cast(vote(voter, place)).kind))
    thread.join()
    assert child.lines() == ["cast"]
    assert child.wait() == 0


def break_next_commit(ledger, *, after_commit):
    """Break the connection at the next commit, before or after the server has committed."""
    require_postgresql(ledger)
    dialect = ledger.database.engine.dialect
    commit = dialect.do_commit

    def break_connection(connection):
        dialect.do_commit = commit
        if after_commit:
            commit(connection)
        connection.dbapi_connection.close()
        raise psycopg.OperationalError("the connection is lost")

    dialect.do_commit = break_connection


@pytest.mark.parametrize("after_commit", [True, False])
def test_a_commit_without_an_answer_is_done_once(ledger, after_commit):
    break_next_commit(ledger, after_commit=after_commit)
    campaign = ledger.new_campaign(PLAN, 6, 3, 1)
    assert query(ledger, "SELECT count(*), min(id) FROM campaign") == [(1, campaign.info.id)]
    break_next_commit(ledger, after_commit=after_commit)
    assert campaign.open_next() == 1
    place, _, voter = comparisons_of(campaign)[0]
    break_next_commit(ledger, after_commit=after_commit)
    receipt = campaign.cast(vote(voter, place))
    assert (receipt.revision, receipt.repeated) == (1, after_commit)
    assert query(ledger, "SELECT count(*) FROM vote_event") == [(1,)]
    check_ledger(ledger)


def test_a_session_ended_by_the_server_is_replaced(ledger):
    require_postgresql(ledger)
    campaign, place, voter = first_comparison(ledger)
    change(
        ledger,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND datname = current_database()",
    )
    assert campaign.cast(vote(voter, place)).revision == 1


def test_a_blocked_step_is_refused_and_changes_nothing(ledger):
    campaign, place, voter = first_comparison(ledger)
    ballot = campaign.ballots()[0].id
    hasty = Ledger.create(target_of(ledger), patience=0.3)
    has_lock, may_release = threading.Event(), threading.Event()

    def hold(connection):
        lock_ballot(connection, ballot, exclusive=True)
        has_lock.set()
        may_release.wait(60)

    thread = threading.Thread(target=lambda: ledger.database.write(hold))
    thread.start()
    assert has_lock.wait(60)
    began = time.monotonic()
    try:
        with pytest.raises(LedgerBusyError, match=r"busy for 0.3 s, .* nothing was changed"):
            hasty.campaign(campaign.key).cast(vote(voter, place))
        assert 0.3 <= time.monotonic() - began < PATIENCE_SECONDS  # not as long as others hold the lock
    finally:
        may_release.set()
        thread.join()
    assert query(ledger, "SELECT count(*) FROM vote_event") == [(0,)]
    assert hasty.campaign(campaign.key).cast(vote(voter, place)).revision == 1
    hasty.close()


def test_fitting_a_report_may_take_longer_than_the_lock_timeout(ledger):
    require_postgresql(ledger)
    limit = sa.text("SHOW idle_in_transaction_session_timeout")
    for _ in range(2):
        assert ledger.database.read(lambda connection: connection.execute(limit).scalar()) == "0"
        assert ledger.database.write(lambda connection: connection.execute(limit).scalar()) == "1min"
        assert ledger.database.look_up(lambda connection: connection.execute(limit).scalar()) == "1min"


def test_the_server_ends_a_stalled_transaction(ledger):
    require_postgresql(ledger)
    with ledger.database.engine.connect() as connection:
        assert connection.execute(sa.text("SHOW lock_timeout")).scalar() == "5s"
        assert connection.execute(sa.text("SHOW idle_in_transaction_session_timeout")).scalar() == "1min"
    campaign, place, voter = first_comparison(ledger)
    calls = []

    def is_there(pid):
        return query(ledger, "SELECT count(*) FROM pg_stat_activity WHERE pid = :pid", pid=pid) != [(0,)]

    def work(connection):
        pid = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar()
        calls.append(pid)
        if len(calls) == 1:
            connection.execute(sa.text("SET LOCAL idle_in_transaction_session_timeout = '50ms'"))
            end = time.monotonic() + 30  # by itself, the server would end it after 60 s
            while is_there(pid):
                assert time.monotonic() < end
                time.sleep(0.05)
        return connection.execute(sa.text("SELECT count(*) FROM vote_event")).scalar()

    assert ledger.database.write(work) == 0
    first, second = calls
    assert first != second
    assert campaign.cast(vote(voter, place)).revision == 1


LIMITS = "SELECT current_setting('lock_timeout'), current_setting('idle_in_transaction_session_timeout')"


def test_sessions_behind_a_pooler_keep_no_limits_and_no_statements(ledger, monkeypatch):
    """A pooler tells its clients other numbers than those of the sessions of the server."""
    require_postgresql(ledger)
    ledger.close()
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", property(lambda _: 0))
    campaign = campaign_of(ledger, n_voters=2)
    for place, _, voter in comparisons_of(campaign):
        campaign.cast(vote(voter, place))
    session = [("0", "0", 0)]
    assert query(ledger, f"{LIMITS}, (SELECT count(*) FROM pg_prepared_statements)") == session
    limits = ledger.database.write(lambda connection: connection.execute(sa.text(LIMITS)).one())
    assert tuple(limits) == ("5s", "1min")
    assert query(ledger, f"{LIMITS}, (SELECT count(*) FROM pg_prepared_statements)") == session


@pytest.fixture
def pooler(server):
    """PgBouncer before a server of the test, with two sessions that all transactions share, and its URL."""
    if shutil.which("pgbouncer") is None:
        pytest.skip("PgBouncer is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = ["[databases]", f"* = host=127.0.0.1 port={server.port} user=postgres", "[pgbouncer]", "auth_type = any"]
    lines += [f"listen_port = {port}", "listen_addr = 127.0.0.1", "pool_mode = transaction", "default_pool_size = 2"]
    settings = server.folder / "pgbouncer.ini"
    settings.write_text("\n".join([*lines, "unix_socket_dir =", ""]))
    rights = {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}
    with (
        (server.folder / "pooler").open("wb") as log,
        guard([shutil.which("pgbouncer"), settings], stdout=log, stderr=log, cwd=server.folder, **rights),
    ):
        end = time.monotonic() + 60
        with socket.socket() as listening:
            while listening.connect_ex(("127.0.0.1", port)) and time.monotonic() < end:
                time.sleep(0.02)
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"


def test_votes_by_a_pooler_that_gives_each_transaction_to_any_session(pooler):
    with closing(Ledger.create(pooler, patience=60.0)) as ledger, closing(Ledger.create(pooler)) as second:
        campaign = campaign_of(ledger, n_voters=4)
        places, failures = [(place, voter) for place, _, voter in comparisons_of(campaign)], []

        def cast_votes(share, connected_campaign):
            for place, voter in share:
                try:
                    connected_campaign.cast(vote(voter, place))
                    connected_campaign.status()
                except Exception as error:
                    failures.append(error)

        threads = [
            threading.Thread(target=cast_votes, args=(places[start::4], connected.campaign(campaign.key)))
            for start, connected in enumerate([ledger, second, ledger, second])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert query(ledger, "SELECT count(*), count(DISTINCT place) FROM vote_event") == [(len(places), len(places))]
        check_ledger(ledger)


@pytest.mark.parametrize("setting", ["idle_session_timeout = '50ms'", "statement_timeout = '300ms'"])
def test_time_limits_of_an_operator_delay_a_vote(database, setting):
    url = database()
    with closing(Ledger.create(url)) as ledger, closing(Ledger.create(url)) as other:
        campaign, place, voter = first_comparison(ledger)
        change(other, f"ALTER DATABASE {other.database.url.database} SET {setting}")
        ledger.database.engine.dispose()  # the limit is that of new sessions
        campaign.status()
        time.sleep(0.2)  # for longer than a session may be idle
        ballot, is_held = campaign.ballots()[0].id, threading.Event()

        def hold(connection):
            lock_ballot(connection, ballot, exclusive=True)
            is_held.set()
            time.sleep(0.8)  # for longer than a statement may wait

        thread = threading.Thread(target=lambda: other.database.write(hold))
        thread.start()
        assert is_held.wait(60)
        assert campaign.cast(vote(voter, place)).revision == 1
        thread.join()


def test_a_read_only_server_refuses_votes(database):
    url = database()
    with closing(Ledger.create(url)) as ledger:
        campaign, place, voter = first_comparison(ledger)
        name = ledger.database.url.database
        change(ledger, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        ledger.database.engine.dispose()  # as for new sessions
        with pytest.raises(UnreachableError, match="in a read-only transaction"):
            campaign.cast(vote(voter, place))
        for step in (ledger.check, lambda: Ledger.create(url)):
            with pytest.raises(UnreachableError, match="is read-only: the server is a standby, or default_transaction"):
                step()
        assert campaign.status().n_answered == 0
        with ledger.database.engine.connect() as connection:
            connection.exec_driver_sql("SET TRANSACTION READ WRITE")
            connection.exec_driver_sql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
            connection.commit()
        with pytest.raises(UnreachableError, match="in a read-only transaction"):
            campaign.cast(vote(voter, place))  # by a session from before
        assert campaign.cast(vote(voter, place)).revision == 1
        ledger.check()


def test_the_first_writable_host_is_used(database):
    url = sa.make_url(database())
    hosts_url = f"postgresql://{url.username}:a,b@127.0.0.1:1,{url.host}:{url.port or 5432}/{url.database}"
    with closing(Ledger.create(f"{hosts_url}?target_session_attrs=read-write")) as ledger:
        assert ledger.name == f"postgresql://127.0.0.1:1,{url.host}:{url.port or 5432}/{url.database}"
        campaign, place, voter = first_comparison(ledger)
        assert campaign.cast(vote(voter, place)).revision == 1
    assert Ledger("postgresql://ann:a,b@host/votes").name == "postgresql://host/votes"


def test_a_damaged_table_is_reported(ledger):
    require_postgresql(ledger)
    statement = sa.text("DO $$ BEGIN RAISE 'invalid page in block 3' USING ERRCODE = 'XX001'; END $$")
    with pytest.raises(UnreachableError, match="invalid page in block 3"):
        ledger.database.read(lambda connection: connection.execute(statement))


def test_a_campaign_lost_in_a_crash_is_not_acknowledged(server):
    """The server gives the number of the lost transaction to another one."""
    with closing(Ledger.create(server.url, patience=120.0)) as ledger:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")  # what is not committed is not written
            connection.execute("SELECT pg_reload_conf()")
        dialect = ledger.database.engine.dialect
        commit = dialect.do_commit

        def crash(connection):
            dialect.do_commit = commit
            number = connection.execute("SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)").fetchone()[0]
            server.stop(signal.SIGQUIT)
            server.start()
            with psycopg.connect(server.url, autocommit=True) as other:
                while other.execute("SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)").fetchone()[0] < number:
                    pass
            raise psycopg.OperationalError("the connection is lost")

        dialect.do_commit = crash
        with pytest.raises(UnreachableError, match="it may have been saved; check before you repeat it"):
            ledger.new_campaign(PLAN, 6, 3, 1)
        assert query(ledger, "SELECT count(*) FROM campaign") == [(0,)]
        assert ledger.new_campaign(PLAN, 6, 3, 1).info.n_items == 6


def test_a_full_disk_refuses_votes_and_loses_none(ledger):
    if not ledger.database.is_sqlite:
        pytest.skip("of SQLite alone")
    campaign = campaign_of(ledger)
    places = [(new_id(), place, voter) for place, _, voter in comparisons_of(campaign)]
    (n_pages,) = query(ledger, "PRAGMA page_count")[0]
    full = Ledger.open(ledger.database.path)
    sa.event.listen(
        full.database.engine, "connect", lambda raw, _: raw.execute(f"PRAGMA max_page_count = {n_pages + 1}").close()
    )
    full.database.engine.dispose()
    crowded = full.campaign()
    acknowledged, refused = [], []
    note = {"note": "x" * 3500}  # one page each, because the file has free pages
    for event_id, place, voter in places:
        try:
            crowded.cast(vote(voter, place, event_id=event_id, extra=note))
            acknowledged.append(event_id)
        except UnreachableError as error:
            refused.append(str(error))
    full.close()
    assert acknowledged
    assert refused
    assert all("is full" in message for message in refused)
    assert {event for (event,) in query(ledger, "SELECT event_id FROM vote_event")} == set(acknowledged)
    check_ledger(ledger)
    for event_id, place, voter in places:  # the disk has room again
        receipt = campaign.cast(vote(voter, place, event_id=event_id, extra=note))
        assert receipt.repeated == (event_id in acknowledged)
    campaign.close(1)


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGINT, signal.SIGKILL])
def test_votes_survive_a_stopped_server(server, how):
    ledger = Ledger.create(server.url, patience=120.0)  # recovery takes long on a busy machine
    campaign = campaign_of(ledger, n_voters=4)
    places = [(new_id(), place, voter) for place, _, voter in comparisons_of(campaign)]
    pause, acknowledged, failed = threading.Event(), [], []

    def votes(mine):
        for event_id, place, voter in mine:
            try:
                acknowledged.append(campaign.cast(vote(voter, place, event_id=event_id)).event_id)
            except Exception as error:
                failed.append(error)
            pause.wait(0.05)

    threads = [threading.Thread(target=votes, args=(places[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    server.stop(how)
    server.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(acknowledged) == sorted(event_id for event_id, _, _ in places)
    assert query(ledger, "SELECT count(*), count(DISTINCT event_id) FROM vote_event") == [(len(places), len(places))]
    check_ledger(ledger)
    campaign.close(1)
    ledger.close()


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_an_hour_off_in_some_processes_loses_nothing(ledger, hours, monkeypatch):
    campaign = campaign_of(ledger, n_voters=2)
    places = [(place, voter) for place, _, voter in comparisons_of(campaign)]
    true_time = time.time_ns

    def shift_clock():
        monkeypatch.setattr(time, "time_ns", lambda: true_time() + hours * 3_600_000_000_000)

    def votes(report):
        shift_clock()
        for place, voter in places[::2]:
            report(campaign.cast(vote(voter, place)).event_id)

    def die_while_closing(_report):
        shift_clock()
        ledger.database.read = lambda _: os.kill(os.getpid(), signal.SIGKILL)
        campaign.close(1)

    child = processes.start(votes)
    mine = [campaign.cast(vote(voter, place)).event_id for place, voter in places[1::2]]
    theirs = child.lines()
    assert child.wait() == 0
    assert {event for (event,) in query(ledger, "SELECT event_id FROM vote_event")} == {*mine, *theirs}
    assert len(mine) + len(theirs) == len(places)
    child = processes.start(die_while_closing)
    assert child.lines() == []
    child.wait()
    (until,) = query(ledger, "SELECT closer_until FROM ballot")[0]
    if ledger.database.is_sqlite:  # with its wrong clock, the closer's lease has expired for all others
        assert abs(until - true_time() // 1000) > 3_000_000_000
    else:  # the clock of the server is used
        assert 0 < until - true_time() // 1000 <= 20_100_000
        change(ledger, "UPDATE ballot SET closer_until = closer_until - 61000000")
    campaign.close(1)
    check_ledger(ledger)


def test_a_file_of_other_software_is_refused_and_not_changed(tmp_path):
    path = tmp_path / "bookmarks.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(RevisionError, match="is not a ledger"):
        Ledger.open(path)
    with pytest.raises(RevisionError, match="has tables of other software: bookmarks"):
        Ledger.create(path)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["bookmarks.db"]


def deadline():
    return time.monotonic() + 60


def test_turns_are_first_come_first_served():
    turns, order, threads = FairLock(), [], []

    def take(name):
        with turns.turn(deadline()):
            order.append(name)

    with turns.turn(deadline()):
        for name in range(20):
            threads.append(threading.Thread(target=take, args=(name,)))
            threads[-1].start()
            while len(turns._waiting) <= name:
                time.sleep(0.001)
        assert order == []
    for thread in threads:
        thread.join()
    assert order == list(range(20))


def test_only_one_thread_has_the_turn_even_if_others_give_up():
    turns, inside, most, gave_up = FairLock(), [], [], []

    def take(name):
        n_turns = 0
        while n_turns < 20:
            try:
                with turns.turn(time.monotonic() + 0.0005):
                    inside.append(name)
                    most.append(len(inside))
                    time.sleep(0.0002)
                    inside.remove(name)
                    n_turns += 1
            except TimeoutError:
                gave_up.append(name)

    threads = [threading.Thread(target=take, args=(name,)) for name in range(8)]
    with turns.turn(deadline()):
        for thread in threads:
            thread.start()
        while len(set(gave_up)) < 8:
            time.sleep(0.001)
        assert most == []
    for thread in threads:
        thread.join()
    assert most == [1] * 160
    with turns.turn(deadline()):
        assert not turns._waiting


def test_an_interrupt_while_waiting_leaves_the_queue():
    turns, held, may_end = FairLock(), threading.Event(), threading.Event()

    def hold():
        with turns.turn(deadline()):
            held.set()
            assert may_end.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    interrupt = threading.Timer(0.1, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])
    interrupt.start()
    with pytest.raises(KeyboardInterrupt), turns.turn(deadline()):
        pass
    assert not turns._waiting
    may_end.set()
    holder.join()
    with turns.turn(deadline()):
        assert turns._taken


def test_an_error_ends_the_turn():
    turns = FairLock()
    with pytest.raises(KeyError), turns.turn(deadline()):
        raise KeyError
    with turns.turn(deadline()):
        pass
    assert not turns._taken
