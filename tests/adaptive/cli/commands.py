"""What the tests of `ballots` share: files, calls that check how a command ends, and scripted voters."""

import csv
import io
import re
from pathlib import Path

from adaptive._cli.main import main
from tests.commands import Called

TOKENS = "token,area\n" + "".join(f"{token},work\n" for token in ("tax", "wage", "bonus", "salary", "price"))
PLANNED = ("--ballots", 2, "--presentations", 4)
INIT = ("run", "init", "v.db", "--items", "items.csv", *PLANNED, "--voters", 3, "--seed", 1)

BALLOTS = Called(main, "ballots")
invoke, run_ok, run_json, refusal = BALLOTS.run, BALLOTS.ok, BALLOTS.json, BALLOTS.refusal


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def vote(path, out, *, tying=("2",), skipped=()):
    """Scripted voters: what comes first in the alphabet is better, but some call everything a tie."""
    rows = rows_of(path.read_text())
    for row in rows:
        left, right = (row["left_1"], row["left_2"]), (row["right_1"], row["right_2"])
        answer = "tie" if row["voter"] in tying else "left" if left < right else "right"
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
