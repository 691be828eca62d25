"""Shared by the tests of `ballots`: files, calls that check exit codes, scripted voters, an open campaign."""

import csv
import io
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from adaptive import read_comparisons
from adaptive._cli.main import main
from tests.commands import Command

TOKENS = "token,area\n" + "".join(f"{token},work\n" for token in ("tax", "wage", "bonus", "salary", "price"))
BALLOT_OPTIONS = ("--ballots", 2, "--presentations", 4)
INIT = ("run", "init", "v.db", "--items", "items.csv", *BALLOT_OPTIONS, "--voters", 3, "--seed", 1)

BALLOTS = Command(main, "ballots")
invoke, run_ok, run_json, refusal = BALLOTS.run, BALLOTS.ok, BALLOTS.json, BALLOTS.refusal


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def vote(path, out, *, skipped=()):
    """Scripted voters: the item first in the alphabet is better, but voter 2 calls everything a tie."""
    rows = rows_of(path.read_text())
    for row in rows:
        left, right = (row["left_1"], row["left_2"]), (row["right_1"], row["right_2"])
        answer = "tie" if row["voter"] == "2" else "left" if left < right else "right"
        row["winner"] = "" if row["comparison"] in skipped else answer
    out.write_text(as_csv(rows))


def finish(folder):
    """Record and close both ballots of INIT."""
    run_ok("run", "record", "v.db", "votes.csv")
    run_ok("run", "close", "v.db")
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    vote(folder / "ballot.csv", folder / "votes.csv")
    run_ok("run", "record", "v.db", "votes.csv")
    run_ok("run", "close", "v.db")


def as_csv(rows):
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def check_refused(arguments, message):
    """A refusal says what is wrong in one line, and leaves the files of the folder as they were."""
    before = {path: path.read_bytes() for path in Path().iterdir()}
    assert re.search(message, refusal(*arguments))
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokens.csv").write_text(TOKENS)
    return tmp_path


@pytest.fixture
def bars(monkeypatch):
    """Progress bars that were requested, and their steps; worker processes are replaced by threads."""
    record = SimpleNamespace(totals=[], steps=[])

    @contextmanager
    def bar(total, unit, of):
        assert of
        record.totals.append((total, unit))
        yield record.steps.append

    for module in ("ask", "fit", "simulate", "run.closing"):
        monkeypatch.setattr(f"adaptive._cli.{module}.progress_bar", bar)
    monkeypatch.setattr("adaptive._cli.simulate.quiet_executor", ThreadPoolExecutor)
    return record


@pytest.fixture
def items(folder):
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    return folder / "items.csv"


@pytest.fixture
def open_campaign(folder):
    """A campaign whose ballot 1 is open, and votes on all its comparisons in votes.csv."""
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    run_ok(*INIT)
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    vote(folder / "ballot.csv", folder / "votes.csv")
    return folder / "v.db"


@pytest.fixture
def votes(folder, request):
    """The VOTES of the module, in v.csv."""
    (folder / "v.csv").write_text(request.module.VOTES)
    return read_comparisons("v.csv")
