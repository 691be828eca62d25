"""What leaves a ledger and comes back: bundles, votes for other programs, backups, and their proof."""

import json
import re
import sqlite3
import threading

import pytest

from tests.adaptive.cli.commands import as_csv, finish, invoke, refusal, rows_of, run_ok

pytestmark = pytest.mark.wide


@pytest.fixture
def finished(folder, opened):
    """A ledger with both ballots closed."""
    finish(folder)
    return opened


@pytest.mark.usefixtures("finished")
def test_a_bundle_is_proved_and_restored_to_the_last_bit(folder):
    run_ok("run", "export", "v.db", "--out", "c.zip")
    said = run_ok("verify", "c.zip")
    assert "all digests hold; the votes give all records to the last bit\nthe seed gives all draws" in said
    assert re.search("Not checked: .*\n  plan.json: created_at, key, ", said)
    found = json.loads(run_ok("verify", "c.zip", "--json"))
    assert (found["votes"], found["closed"], found["replayed"]) == (30, 2, True)
    assert found["unchecked"]["pages.json"] == ["at", "pages"]
    assert json.loads(run_ok("run", "verify", "v.db", "--json")) == found
    assert run_ok("run", "import", "copy.db", "c.zip") == "campaign campaign is restored: 10 items\n"
    assert invoke("run", "result", "copy.db").stdout == invoke("run", "result", "v.db").stdout
    run_ok("run", "export", "copy.db", "--out", "again.zip")
    assert (folder / "again.zip").read_bytes() == (folder / "c.zip").read_bytes()
    assert re.search("campaign", refusal("run", "import", "copy.db", "c.zip"))


@pytest.mark.usefixtures("finished")
def test_what_nobody_can_check_without_the_numpy_of_the_draws_is_said(monkeypatch):
    run_ok("run", "export", "v.db", "--out", "c.zip")
    monkeypatch.setattr("adaptive.ledger._bundle.checking._is_same_draw", lambda *_: False)
    assert re.search("ballot 1: the seed 1 gives other comparisons", refusal("verify", "c.zip"))
    monkeypatch.setattr("numpy.__version__", "99.0")
    said = run_ok("verify", "c.zip")
    assert "the seed gives" not in said
    assert re.search("  plan.json: .*seed\n", said)


@pytest.mark.usefixtures("opened")
def test_votes_leave_and_come_back(folder):
    run_ok("run", "record", "v.db", "votes.csv")
    assert run_ok("run", "export", "v.db", "--format", "csv", "--out", "out.csv") == "20 votes in votes.csv\n"
    assert run_ok("run", "import", "v.db", "out.csv") == "0 new votes\n"
    rows = rows_of((folder / "out.csv").read_text())
    assert len({row["voter"] for row in rows}) == 3
    assert not {row["voter"] for row in rows} & {"0", "1", "2"}  # keys, not names
    named = rows_of(run_ok("run", "export", "v.db", "--format", "csv", "--names", "--out", "-"))
    assert {row["voter"] for row in named} == {"0", "1", "2"}
    text = run_ok("run", "export", "v.db", "--format", "choix", "--out", "folder")
    assert re.search(r"votes in pairs\.csv, items\.csv; \d left out: choix has no 'tie'", text)
    assert sorted(path.name for path in (folder / "folder").iterdir()) == ["items.csv", "pairs.csv"]
    (folder / "more.csv").write_text(as_csv([rows[0] | {"winner": "tie" if rows[0]["winner"] != "tie" else "left"}]))
    assert run_ok("run", "import", "v.db", "more.csv") == "0 new votes, 1 set aside\n"


@pytest.mark.usefixtures("opened")
def test_votes_make_no_new_ledger(folder):
    wanted = "new.db: does not exist; only a bundle can be imported into a new ledger, and votes.csv is not one"
    assert refusal("run", "import", "new.db", "votes.csv") == wanted
    assert not (folder / "new.db").exists()


def test_a_backup_while_votes_arrive_is_a_ledger_of_one_moment(folder, opened):
    rows = rows_of((folder / "votes.csv").read_text())
    done = threading.Event()

    def votes():
        try:
            for number, row in enumerate(rows):
                (folder / f"{number}.csv").write_text(as_csv([row]))
                run_ok("run", "record", "v.db", f"{number}.csv")
        finally:
            done.set()

    thread = threading.Thread(target=votes)
    thread.start()
    copies = 0
    while not done.is_set():
        run_ok("run", "backup", "v.db", f"copy{copies}.db")
        copies += 1
    thread.join()
    answered = []
    for copy in range(copies):
        run_ok("run", "verify", f"copy{copy}.db")
        answered.append(json.loads(run_ok("run", "status", f"copy{copy}.db", "--json"))["n_answered"])
    assert answered == sorted(answered)
    assert copies > 1
    assert refusal("run", "backup", "v.db", "copy0.db") == "copy0.db: already exists; a backup never replaces a file"
    assert not list(folder.glob(".*.tmp"))
    with sqlite3.connect(opened) as connection:
        assert connection.execute("SELECT count(*) FROM vote_event").fetchone() == (20,)
    connection.close()


@pytest.mark.usefixtures("finished")
@pytest.mark.parametrize("form", ["bundle", "csv", "arena"])
def test_an_export_spares_the_ledger(folder, form):
    before = (folder / "v.db").read_bytes()
    message = refusal("run", "export", "v.db", "--format", form, "--out", "./v.db")
    assert message == "./v.db: is the ledger itself; choose another file for --out"
    assert (folder / "v.db").read_bytes() == before


@pytest.mark.usefixtures("finished")
def test_a_failed_import_leaves_no_ledger(folder):
    run_ok("run", "export", "v.db", "--out", "c.zip")
    data = (folder / "c.zip").read_bytes()
    (folder / "damaged.zip").write_bytes(data.replace(b"SHA256SUMS", b"SHA256SUM5"))
    refusal("run", "import", "new.db", "damaged.zip")
    assert not list(folder.glob("new.db*"))
