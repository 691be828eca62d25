"""Ledgers in files that cannot be written, on a full disk, or that are moved and replaced."""

import os
import secrets
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError

from adaptive.ledger import ContinuousPlan, Ledger, LedgerError, LedgerMovedError, UnreachableError
from adaptive.ledger._reports.status import status_of
from adaptive.ledger._store import database
from adaptive.ledger._store.database import reason
from tests.adaptive.ledger import databases as processes
from tests.adaptive.ledger.campaigns import (
    answered_campaign,
    campaign_of,
    check_ledger,
    comparisons_of,
    new_id,
    query,
    vote,
)

NOBODY = 65534


@pytest.fixture
def folder():
    """A folder that others may read."""
    readable_folder = Path(tempfile.mkdtemp(prefix="rankcorr-read-only-"))
    readable_folder.chmod(0o755)
    yield readable_folder
    readable_folder.chmod(0o755)
    shutil.rmtree(readable_folder)


def create_answered_campaign(folder):
    ledger = Ledger.create(folder / "ledger.db")
    campaign = answered_campaign(ledger)
    return ledger, campaign


def as_reader(folder, work):
    """Run `work` as a user who may read but not write the folder; return its answer or its error."""
    folder.chmod(0o555)
    for path in folder.iterdir():
        path.chmod(0o444)

    def run(report):
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            report(str(work()))
        except UnreachableError as error:
            report(f"{type(error).__name__} {error}")

    return processes.run(run)


def test_a_ledger_in_a_read_only_folder_is_read(folder):
    ledger, campaign = create_answered_campaign(folder)
    expected = campaign.bundle()
    campaign.result(interim=True)  # compile the kernels first: the reader could not cache them
    ledger.close()
    assert os.listdir(folder) == ["ledger.db"]

    def reads():
        result = Ledger.open(folder / "ledger.db")
        mine = result.campaign()
        assert mine.status().n_votes == 12
        assert mine.result(interim=True).n_votes == 12
        assert mine.verify().n_votes == 12
        assert mine.bundle() == expected
        with tempfile.TemporaryDirectory() as other:
            result.back_up(Path(other) / "copy.db")
            copy = Ledger.open(Path(other) / "copy.db")
            assert copy.campaign().bundle() == expected
            copy.close()
        return "read"

    assert as_reader(folder, reads) == ["read"]
    assert os.listdir(folder) == ["ledger.db"]


def test_writing_to_a_read_only_ledger_is_refused(folder):
    ledger, _ = create_answered_campaign(folder)
    ledger.close()

    def writes():
        return Ledger.open(folder / "ledger.db").campaign().close(1)

    path = folder / "ledger.db"
    expected = f"UnreachableError {path}: cannot be written: the file or its folder is read-only"
    assert as_reader(folder, writes) == [expected]


def test_a_read_only_ledger_is_read_while_another_process_writes(folder):
    ledger, _ = create_answered_campaign(folder)
    with ledger.database.engine.connect() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM vote_event").scalar()
        (folder / "new").mkdir()
        for path in folder.glob("ledger.db*"):
            shutil.copy(path, folder / "new")
    ledger.close()

    def reads():
        result = Ledger.open(folder / "new" / "ledger.db")
        mine = result.campaign()
        return mine.status().n_votes

    assert sorted(path.name for path in (folder / "new").iterdir()) == ["ledger.db", "ledger.db-shm", "ledger.db-wal"]
    assert as_reader(folder / "new", reads) == ["12"]
    (folder / "new").chmod(0o755)
    (folder / "new" / "ledger.db-shm").unlink()
    (line,) = as_reader(folder / "new", reads)
    assert "ledger.db: cannot be read: ledger.db-wal has votes that are not in the file yet" in line
    (folder / "new").chmod(0o755)


def test_a_lockless_read_during_a_write_is_discarded(folder, monkeypatch):
    ledger, campaign = create_answered_campaign(folder)
    ledger.close()
    monkeypatch.setattr(database, "is_read_only", lambda _: True)
    assert campaign.status().n_votes == 12

    def reads(transaction):
        os.utime(folder / "ledger.db", ns=(0, 0))
        return status_of(transaction)

    with pytest.raises(UnreachableError, match="was written while it was read without locks; read it again"):
        campaign.read(reads)
    ledger.close()


@pytest.mark.parametrize(("free", "expected"), [(0, "the disk is full"), (2**30, "disk I/O error")])
def test_disk_errors_are_reported(free, expected, monkeypatch, tmp_path):
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_bavail=free, f_frsize=1))
    assert reason(OperationalError("", None, error), tmp_path / "ledger.db") == expected


@pytest.fixture
def tiny_disk(folder):
    """A small file system, and a function that enlarges it."""
    mounted = ["mount", "-t", "tmpfs", "-o", "size=512k,mode=0777", "none", folder]
    if os.getuid() != 0 or subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("a disk cannot be mounted here")
    yield folder, lambda: subprocess.run(["mount", "-o", "remount,size=64m", folder], check=True)
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.mark.parametrize("left", [0, 40_000, 100_000])
def test_a_full_disk_is_reported_and_voting_resumes_when_space_is_freed(tiny_disk, left):
    """If there is no space for the file of locks, SQLite reports an I/O error."""
    disk, enlarge = tiny_disk
    ledger = Ledger.create(disk / "ledger.db")
    campaign = campaign_of(ledger)
    places = comparisons_of(campaign)
    ledger.close()
    free = os.statvfs(disk)
    (disk / "other").write_bytes(b"x" * (free.f_bavail * free.f_frsize - left))
    acknowledged = fill_disk(campaign, places, r"ledger\.db: the disk is full$")
    enlarge()
    check_voting_resumes(ledger, campaign, places, acknowledged)
    ledger.close()


@pytest.mark.wide
def test_a_full_disk_of_postgresql_is_reported_and_loses_no_vote(tiny_disk, server):
    disk, enlarge = tiny_disk
    subprocess.run(["mount", "-o", "remount,size=12m", disk], check=True)
    shutil.chown(disk, "postgres", "postgres")
    make = Ledger(server.url)
    with make.database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql(f"CREATE TABLESPACE tiny LOCATION '{disk}'")
        connection.exec_driver_sql("ALTER DATABASE postgres SET default_tablespace = tiny")
    make.close()
    ledger = Ledger.create(server.url)
    campaign = campaign_of(ledger)
    places = comparisons_of(campaign)
    acknowledged = fill_disk(campaign, places, "the disk of the server is full: could not extend file")
    enlarge()
    check_voting_resumes(ledger, campaign, places, acknowledged)
    ledger.close()


def fill_disk(campaign, places, message):
    """Vote until the disk is full; return the acknowledged events."""
    acknowledged = {}
    with pytest.raises(UnreachableError, match=message):  # noqa: PT012
        for place, _, voter in places:
            event = new_id()
            campaign.cast(vote(voter, place, event_id=event, extra={"note": secrets.token_hex(700_000)}))
            acknowledged[place] = event
    return acknowledged


def check_voting_resumes(ledger, campaign, places, acknowledged):
    assert {event for (event,) in query(ledger, "SELECT event_id FROM vote_event")} == set(acknowledged.values())
    for place, _, voter in places:
        if place not in acknowledged:
            campaign.cast(vote(voter, place))
    campaign.close(1)
    check_ledger(ledger)


@pytest.fixture
def campaign(tmp_path):
    """A campaign in a file, with one vote, whose connections stay open."""
    ledger = Ledger.create(tmp_path / "votes.db", patience=0.5)
    new_campaign = campaign_of(ledger)
    place, _, voter = comparisons_of(new_campaign)[0]
    new_campaign.cast(vote(voter, place))
    yield new_campaign
    ledger.close()


def next_vote(campaign):
    place, _, voter = comparisons_of(campaign)[1]
    return vote(voter, place)


def move(path):
    path.rename(path.with_name("old.db"))


def replace(path):
    shutil.copy(path, path.with_name("copy.db"))
    os.replace(path.with_name("copy.db"), path)


def delete_all(path):
    for file in (path, log_of(path), Path(f"{path}-shm")):
        file.unlink()


def log_of(path):
    return Path(f"{path}-wal")


@pytest.mark.parametrize(
    "change",
    [
        move,
        replace,
        delete_all,
        Path.unlink,
        lambda path: log_of(path).unlink(),
        lambda path: Path(f"{path}-shm").unlink(),
    ],
)
def test_no_vote_is_acknowledged_after_the_file_was_moved_or_replaced(campaign, change):
    new = next_vote(campaign)
    change(campaign.database.path)
    with pytest.raises(LedgerMovedError, match="so the change is not acknowledged"):
        campaign.cast(new)


def test_reading_from_a_moved_file_is_refused_too(campaign):
    move(campaign.database.path)
    with pytest.raises(LedgerMovedError):
        campaign.status()


def test_a_deleted_file_is_not_recreated(campaign):
    new = next_vote(campaign)
    delete_all(campaign.database.path)
    for _ in range(2):
        with pytest.raises(UnreachableError):
            campaign.cast(new)
    assert not campaign.database.path.exists()


def test_voting_resumes_when_the_file_is_back_and_each_vote_counts_once(campaign, tmp_path):
    new = next_vote(campaign)
    path = campaign.database.path
    path.rename(tmp_path / "away.db")
    log_of(path).rename(tmp_path / "away.db-wal")
    with pytest.raises(LedgerMovedError):
        campaign.cast(new)
    (tmp_path / "away.db").rename(path)
    (tmp_path / "away.db-wal").rename(log_of(path))
    assert campaign.cast(new).revision == 1
    assert query(campaign, "SELECT count(*) FROM vote_event") == [(2,)]


def test_a_vote_whose_file_is_replaced_during_its_commit_is_not_acknowledged(campaign, monkeypatch):
    new, identities = next_vote(campaign), []
    check = type(campaign.database)._check_is_in_place

    def move_after_first_check(database, connection):
        check(database, connection)
        if not identities:
            move(database.path)
        identities.append(None)

    monkeypatch.setattr(type(campaign.database), "_check_is_in_place", move_after_first_check)
    with pytest.raises(LedgerMovedError):
        campaign.cast(new)


def test_opening_and_closing_in_another_process_does_no_harm(campaign):
    for _ in range(2):
        other = Ledger.open(campaign.database.path)
        other.new_campaign(ContinuousPlan(4, 20), 4, 1, seed=1, name="other")
        other.close()
    assert campaign.cast(next_vote(campaign)).revision == 1


def campaign_with_votes(ledger):
    campaign = campaign_of(ledger)
    for place, _, voter in comparisons_of(campaign):
        campaign.cast(vote(voter, place, "left" if place % 3 else "tie"))
    campaign.close(1)
    return campaign


def test_a_copy_is_the_same_campaign(ledger, tmp_path):
    campaign = campaign_with_votes(ledger)
    if not ledger.database.is_sqlite:
        with pytest.raises(LedgerError, match="is backed up with pg_dump"):
            ledger.back_up(tmp_path / "copy.db")
        return
    ledger.back_up(tmp_path / "copy.db")
    copy = Ledger.open(tmp_path / "copy.db")
    assert copy.campaign().bundle() == campaign.bundle()
    copy.close()
    with pytest.raises(LedgerError, match=r"copy\.db: already exists"):
        ledger.back_up(tmp_path / "copy.db")
    with pytest.raises(UnreachableError, match=r"copy\.db: cannot be written"):
        ledger.back_up(tmp_path / "none" / "copy.db")


@pytest.mark.skipif(not (shutil.which("pg_dump") and shutil.which("pg_restore")), reason="needs pg_dump and pg_restore")
def test_a_dump_of_postgresql_is_restored_to_the_same_campaign(postgresql, tmp_path):
    target = postgresql.empty_tables()
    ledger = Ledger.open(target)
    campaign = campaign_with_votes(ledger)
    url = sa.make_url(target)
    schema = url.query["options"].removeprefix("-csearch_path=")
    plain = url.difference_update_query(["options"])
    dump = tmp_path / "votes.dump"

    def run(program, *arguments):
        subprocess.run([program, *arguments], check=True, capture_output=True, text=True, timeout=300)

    run("pg_dump", "--format=custom", f"--schema={schema}", f"--file={dump}", plain.render_as_string(False))
    name = f"{postgresql.name}_restored"
    postgresql._run(postgresql.server, f"CREATE DATABASE {name} TEMPLATE template0")
    try:
        run("pg_restore", "--no-owner", f"--dbname={plain.set(database=name).render_as_string(False)}", str(dump))
        restored = Ledger.open(url.set(database=name).render_as_string(False))
        assert restored.campaign().bundle() == campaign.bundle()
        assert restored.campaign().verify().n_votes == 12
        with (
            pytest.raises(sa.exc.IntegrityError, match="never deleted"),
            restored.database.engine.begin() as connection,
        ):
            connection.execute(sa.text("DELETE FROM vote_event"))
        restored.close()
    finally:
        postgresql._run(postgresql.server, f"DROP DATABASE {name} WITH (FORCE)")
        ledger.close()
