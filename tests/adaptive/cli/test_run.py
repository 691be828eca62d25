"""The commands `ballots run`: a voting from its items to the ranking, and what leaves it as it was."""

import json
import re
from collections import Counter

import pytest

from adaptive.plan import plan_ballots
from adaptive.session.ballot_protocol import BallotProtocol
from tests.adaptive.cli.commands import INIT, as_csv, contents, refusal, rows_of, run_ok, vote


def test_run_init_keeps_the_plan(opened):
    protocol = BallotProtocol.load(opened)
    assert protocol.plan == plan_ballots(10, n_ballots=2, fraction=0.5, presentations=4)
    assert (protocol.seed, len(protocol.voters), protocol.items[0]) == (1, 3, ("tax", "wage"))


def test_run_init_replaces_a_voting_only_by_force(opened):
    before = opened.read_bytes()
    assert refusal(*INIT) == "v.json: exists already; --force replaces it and loses its votes"
    assert opened.read_bytes() == before
    run_ok(*INIT, "--force")
    assert json.loads(run_ok("run", "status", "v.json", "--json"))["state"] == "ready"


@pytest.mark.usefixtures("items")
def test_run_open_prints_the_ballot_and_prints_it_again(folder):
    run_ok(*INIT)
    printed = run_ok("run", "open", "v.json")
    assert printed == run_ok("run", "open", "v.json", "--again")
    run_ok("run", "open", "v.json", "--again", "--out", "ballot.csv")
    assert (folder / "ballot.csv").read_text() == printed


def test_run_record_in_parts_and_again(folder, opened):
    loads = Counter(row["voter"] for row in rows_of((folder / "votes.csv").read_text())).most_common()
    assert sorted(load for _, load in loads) == [6, 7, 7]
    for voter, n_new in loads:
        rows = rows_of((folder / "votes.csv").read_text())
        (folder / "part.csv").write_text(as_csv([row for row in rows if row["voter"] == voter]))
        found = json.loads(run_ok("run", "record", "v.json", "part.csv", "--json"))
        assert (found["n_new"], found["state"]) == (n_new, "open")
    before = opened.stat()
    assert run_ok("run", "record", "v.json", "votes.csv") == (
        "0 new votes; ballot 1 of 2 is open: 20 of 20 comparisons answered\n"
    )
    assert opened.stat() == before  # not even written
    # An id and a winner are enough.
    assert run_ok("run", "record", "v.json", "-", stdin="comparison,winner\n1-0,\n").startswith("0 new votes")


def test_run_status_at_every_step(folder, opened):
    assert run_ok("run", "status", "v.json") == (
        "ballot 1 of 2 is open: 0 of 20 comparisons answered, 10 of 10 items without any answer\n"
    )
    run_ok("run", "record", "v.json", "votes.csv")
    found = json.loads(run_ok("run", "close", "v.json", "--json"))
    assert found["closed"] == {
        "number": 1,
        "b": 1.0,
        "n_tied_at_cut": found["closed"]["n_tied_at_cut"],
        "n_answered": 20,
    }
    assert run_ok("run", "status", "v.json") == "ballot 2 of 2 can be opened: 5 items, 10 comparisons\n"
    run_ok("run", "open", "v.json", "--out", "ballot.csv")
    vote(folder / "ballot.csv", folder / "votes.csv")
    run_ok("run", "record", "v.json", "votes.csv")
    assert run_ok("run", "close", "v.json").endswith("; the result is ready\n")
    assert run_ok("run", "status", "v.json") == "all 2 ballots are closed; the result is ready\n"
    result = BallotProtocol.load(opened).result()
    assert run_ok("run", "result", "v.json") == result.to_csv()
    assert json.loads(run_ok("run", "result", "v.json", "--json")) == result.to_dict() | {
        "items": json.loads(result.to_json())["items"]
    }
    assert refusal("run", "open", "v.json") == "all 2 ballots are closed: none is left to open"
    assert refusal("run", "open", "v.json", "--again") == "no ballot is open: there is nothing to show"


@pytest.mark.usefixtures("opened")
def test_ties_at_the_cut_are_said(folder):
    rows = rows_of((folder / "votes.csv").read_text())
    (folder / "votes.csv").write_text(as_csv([row | {"winner": "tie"} for row in rows]))
    run_ok("run", "record", "v.json", "votes.csv")
    assert run_ok("run", "close", "v.json") == (
        "ballot 1 is closed with 20 of 20 comparisons answered; 5 items go on (10 tied at the cut)\n"
    )


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "init", "new.json", *INIT[3:], "--voters", 0], r"voting needs at least one voter; got none"),
        (["run", "init", "new.json", *INIT[3:], "--voters", -1], r"voters must be from 0"),
        (["run", "init", "new.json", *INIT[3:], "--ballots", 9], r"every ballot needs two items"),
        (["run", "init", "new.json", *INIT[3:], "--items", "none.csv"], r"none\.csv: cannot be read"),
        (["run", "init", "new.json", *INIT[3:], "--seconds", "nan"], r"seconds_per_comparison must be .* got nan"),
        (["run", "init", "none/new.json", *INIT[3:]], r"none/new\.json: cannot be written: No such file"),
        (["run", "init", ".", *INIT[3:], "--force"], r"\.: cannot be written: it is not a file"),
        (["run", "open", "v.json"], r"ballot 1 is open: close it before"),
        (["run", "open", "none.json"], r"none\.json: cannot be read"),
        (["run", "open", "tokens.csv"], r"tokens\.csv:1: column 1: not JSON"),
        (["run", "open", "ready.json", "--again"], r"no ballot is open: there is nothing to show"),
        (["run", "open", "ready.json", "--out", "none/b.csv"], r"none/b\.csv: cannot be written"),
        (["run", "open", "ready.json", "--out", "./ready.json"], r"is the file of the voting itself"),
        (["run", "open", "edited.json"], r"edited\.json: the digest does not match: the plan, items, voters or seed"),
        (["run", "record", "v.json", "none.csv"], r"none\.csv: cannot be read"),
        (["run", "record", "v.json", "items.csv"], r'items\.csv:1: no column "comparison"'),
        (
            ["run", "record", "ready.json", "votes.csv"],
            r"votes\.csv:2: comparison '1-\d+' is unknown: ballot 1 has not",
        ),
        (["run", "close", "v.json"], r"every item needs an answered comparison in each ballot"),
        (["run", "close", "ready.json"], r"no ballot is open: there is nothing to close"),
        (["run", "result", "v.json"], r"the result needs all 2 ballots; 0 are closed"),
        (["run", "result", "v.json", "--out", "v.json"], r"v\.json: is the file of the voting itself"),
        (["run", "status", "none.json"], r"none\.json: cannot be read"),
    ],
)
def test_refused(folder, arguments, message):
    run_ok("run", "init", "ready.json", *INIT[3:])
    (folder / "edited.json").write_text((folder / "ready.json").read_text().replace('"seed": 1', '"seed": 2'))
    before = contents(folder)
    assert re.search(message, refusal(*arguments))
    assert contents(folder) == before


ASKED = "comparison,winner\n1-0,left\n"


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        (ASKED + "1-1,a\n", r"<stdin>:3: column \"winner\": a vote is 'left', 'right' or 'tie'; got 'a'"),
        (ASKED + "1-20,tie\n", r"<stdin>:3: comparison '1-20' is unknown: those of ballot 1 end at '1-19'"),
        (ASKED + "2-0,tie\n", r"<stdin>:3: comparison '2-0' is unknown: ballot 2 has not been opened"),
        (ASKED + "one,tie\n", r'<stdin>:3: a comparison has an id like "2-17", ballot and index; got \'one\''),
        (ASKED + "1-0,tie\n", r"<stdin>:3: comparison '1-0' has the vote 'left' already; got 'tie'"),
        (ASKED + "1-00003,tie\n", r"<stdin>:3: comparison '1-00003' has a leading zero.*; did you mean '1-3'\?"),
        (ASKED + "1-1\n", r'<stdin>:3: 2 cells are wanted, .* got 1, none for "winner"'),
        ("comparison,Winner\n1-0,tie\n", r'<stdin>:1: column "Winner": did you mean "winner"\?'),
        ("comparison,Voter,winner\n1-0,7,tie\n", r'<stdin>:1: column "Voter": did you mean "voter"\?'),
        ("comparison,voter,winner\n1-0,7,tie\n", r"<stdin>:2: comparison '1-0' has the voter '[012]'; got '7'"),
        (
            "comparison,left_1,left_2,right_1,right_2,winner\n1-0,tax,house,tax,wage,tie\n",
            r"<stdin>:2: comparison '1-0' has the left '\w+', '\w+'; got 'tax', 'house'",
        ),
        ("comparison,left,right,winner\n1-0,tax,wage,tie\n", r"<stdin>:2: comparison '1-0' has the left .* got 'tax'"),
    ],
)
def test_votes_that_are_refused_leave_the_voting_as_it_was(opened, votes, message):
    before = opened.read_bytes()
    assert re.search(message, refusal("run", "record", "v.json", "-", stdin=votes))
    assert opened.read_bytes() == before


@pytest.mark.usefixtures("opened")
def test_votes_on_a_closed_ballot(folder):
    vote(folder / "ballot.csv", folder / "most.csv", skipped={"1-3"})
    run_ok("run", "record", "v.json", "most.csv")
    run_ok("run", "close", "v.json")
    message = refusal("run", "record", "v.json", "votes.csv")
    assert re.fullmatch(r"votes\.csv:\d+: ballot 1 is closed: comparison '1-3' can no longer be answered", message)
    assert run_ok("run", "record", "v.json", "most.csv").startswith("0 new votes; ballot 2 of 2 can be opened")


@pytest.mark.usefixtures("items")
def test_a_voting_that_cannot_be_saved_leaves_no_ballot(folder, monkeypatch):
    run_ok("run", "init", "ready.json", *INIT[3:])

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(BallotProtocol, "save", full)
    before = contents(folder)
    assert refusal("run", "open", "ready.json", "--out", "b.csv") == (
        "ready.json: cannot be written: No space left on device"
    )
    assert refusal("run", "open", "ready.json") == "ready.json: cannot be written: No space left on device"
    assert contents(folder) == before
