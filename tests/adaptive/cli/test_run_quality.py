"""Probes, pay and voters on the command line: `ballots run init`, `status`, `quality` and `exclude --preview`."""

import json
import re
from collections import Counter

import pytest

from adaptive.ledger import Ledger
from tests.adaptive.cli.commands import INIT, as_csv, rows_of, run_ok
from tests.adaptive.cli.test_run import rows_in

pytestmark = pytest.mark.wide

PROBES = (
    "left_1,left_2,right_1,right_2,winner,kind\nbonus,price,tax,wage,left,attention\nbonus,salary,tax,price,left,gold\n"
)
ASKING = ("--checks", "checks.csv", "--repeats", 0.25, "--overlap", 0.25)
PAID = ("--pay-per-hour", 12, "--seconds", 6, "--fee", 0.25, "--currency", "EUR")


@pytest.fixture
def asking(folder):
    """A voting with probes and pay, whose ballot 1 is open."""
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    (folder / "checks.csv").write_text(PROBES)
    printed = run_ok(*INIT, *ASKING, *PAID)
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    return printed


def answer(folder, *, part=("0", "1", "2")):
    """Voter 2 always says left, and at once; the others prefer what comes first in the alphabet."""
    rows = rows_of((folder / "ballot.csv").read_text())
    for row in rows:
        left, right = (row["left_1"], row["left_2"]), (row["right_1"], row["right_2"])
        lazy = row["voter"] == "2"
        row |= {"winner": "left" if lazy or left < right else "right", "seconds": "0.3" if lazy else "3"}
    (folder / "votes.csv").write_text(as_csv([row for row in rows if row["voter"] in part]))
    return run_ok("run", "record", "v.db", "votes.csv")


def test_init_says_what_it_costs(asking):
    # 30 comparisons, half as many again as repeats and overlaps, and one known pair in each of six sheets.
    assert "Checks: 21 on average, in addition to the comparisons.\n" in asking
    assert "Cost: 1.27 EUR, 0.25 EUR of it the fee. Voters get 0.02 EUR an answer, 12.00 EUR an hour.\n" in asking


@pytest.mark.usefixtures("asking")
def test_probes_are_among_the_comparisons_and_look_like_them(folder):
    rows = rows_of((folder / "ballot.csv").read_text())
    stored = rows_in(folder / "v.db")["comparison"]
    checks = {f"b1-{row.sheet}-{row.position}" for row in stored if row.probe is not None}
    sizes = Counter(row["comparison"].rpartition("-")[0] for row in rows)
    wanted = [f"{sheet}-{position}" for sheet, size in sizes.items() for position in range(size)]
    assert [row["comparison"] for row in rows] == wanted
    assert len(rows) - len(checks) == 20
    assert checks < set(wanted)
    assert {tuple(row) for row in rows} == {("comparison", "voter", "left_1", "left_2", "right_1", "right_2", "winner")}
    assert {row["winner"] for row in rows} == {""}
    for voter in "012":
        own = [row["comparison"] in checks for row in rows if row["voter"] == voter]
        assert not own[-1]
        assert any(own)
    assert run_ok("run", "open", "v.db", "--again") == (folder / "ballot.csv").read_text()


@pytest.mark.usefixtures("asking")
def test_answers_to_probes_come_with_the_votes(folder):
    checks = [row for row in rows_in(folder / "v.db")["comparison"] if row.probe is not None]
    n_probes = len(checks)
    assert answer(folder) == (
        f"20 new votes, {n_probes} answers to checks; ballot 1 of 2 is open: 20 of 20 comparisons answered\n"
    )
    assert answer(folder).startswith("0 new votes; ballot 1")
    status = run_ok("run", "status", "v.db")
    assert re.search(rf"^checks: {n_probes} answered of 2\d in the end$", status, re.MULTILINE)
    spent = 1.25 * 0.02 * (20 + n_probes)
    assert f"spent: {spent:.2f} EUR for 0.1 hours; expected in the end: 1." in status
    found = json.loads(run_ok("run", "status", "v.db", "--json"))["spending"]
    assert (found["n_votes"], found["n_probes"], found["currency"]) == (20, n_probes, "EUR")
    assert abs(found["spent"] - spent) < 1e-9
    assert run_ok("run", "open", "v.db", "--again", "--unanswered").count("\n") == 1
    name = f"1-{checks[0].sheet}-{checks[0].position}"
    said = {row["comparison"]: row["winner"] for row in rows_of((folder / "votes.csv").read_text())}[f"b{name}"]
    contradiction = f"comparison,winner\n{name},{'left' if said == 'tie' else 'tie'}\n"
    assert run_ok("run", "record", "v.db", "-", stdin=contradiction).startswith("0 new votes, 1 conflict set aside;")
    assert run_ok("run", "conflicts", "v.db").splitlines()[1].startswith(f"{name} ")


@pytest.mark.usefixtures("asking")
def test_quality_says_whom_to_look_at(folder, monkeypatch):
    assert run_ok("run", "quality", "v.db") == "no voter has answered yet\n"
    answer(folder)
    lines = run_ok("run", "quality", "v.db").splitlines()
    columns = "voter votes seconds fast left attention gold repeats agreement random flags"
    assert lines[0].split() == columns.split()
    assert [line.split()[:3] for line in lines[1:4]] == [["0", "7", "3.0"], ["1", "6", "3.0"], ["2", "7", "0.3"]]
    said = r"\d+ pairs? asked of several voters: \d+ of \d+ pairs of answers agree"
    assert re.fullmatch(rf"{said}; agreement and alpha need \d+ more pairs?", lines[4])
    assert "voter 2: 7 of 7 answers took less than 1 s" in lines[5:]
    assert not any(line.startswith(("voter 0", "voter 1")) for line in lines)
    found = json.loads(run_ok("run", "quality", "v.db", "--json"))
    assert [each["voter"] for each in found["voters"]] == ["0", "1", "2"]
    assert found["voters"][2]["flags"][0] == {"kind": "speed", "reason": "7 of 7 answers took less than 1 s"}
    assert found["voters"][0]["left"]["n"] == 7
    assert "took less" not in run_ok("run", "quality", "v.db", "--fast", "0.2")
    monkeypatch.setattr("adaptive.ledger._reports.quality.LEAST_PAIRS", 1)
    found = json.loads(run_ok("run", "quality", "v.db", "--json"))
    ends = f"{found['agreement_low']:.0%} to {found['agreement_high']:.0%}"
    alpha = f"{found['alpha']:.2f} ({found['alpha_low']:.2f} to {found['alpha_high']:.2f})"
    line = run_ok("run", "quality", "v.db").splitlines()[4]
    assert re.fullmatch(rf"{said} \(\d+%, 90 % interval {ends}\); Krippendorff's alpha {re.escape(alpha)}", line)


@pytest.mark.usefixtures("asking")
def test_leaving_out_is_looked_at_before(folder):
    answer(folder)
    before = rows_in(folder / "v.db")
    lines = run_ok("run", "exclude", "v.db", "2", "--preview").splitlines()
    effect = r"7 votes, and 13 by the others; tau_w of the rankings with and without them [01]\.\d{3}"
    assert re.fullmatch(rf"voter 2 excluded: {effect}", lines[0])
    assert lines[1].split() == ["item", "rank", "now", "rank", "then"]
    found = json.loads(run_ok("run", "exclude", "v.db", "2", "--preview", "--json"))
    assert (found["n_votes"], found["n_others"], len(found["changes"])) == (7, 13, len(lines) - 2)
    assert rows_in(folder / "v.db") == before
    run_ok("run", "exclude", "v.db", "2", "--reason", "left, left, left")
    assert run_ok("run", "exclude", "v.db", "2", "--preview").startswith("voter 2 included again: 7 votes")
    assert " excluded" in run_ok("run", "quality", "v.db").splitlines()[3]


@pytest.mark.usefixtures("asking")
def test_link_makes_another_link_of_the_organiser():
    links = [run_ok("run", "link", "v.db", "--url", "https://votes.example.org/").strip() for _ in range(2)]
    assert links[0] != links[1]
    for link in links:
        address, _, token = link.partition("#")
        ledger = Ledger.open("v.db")
        assert address == f"https://votes.example.org/o/{ledger.campaign().key}"
        held = ledger.campaign().tokens.holder(token, "organiser")
        assert held.campaign_key == ledger.campaign().key
        ledger.close()
