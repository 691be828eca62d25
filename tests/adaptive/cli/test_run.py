"""The commands `ballots run`: a campaign from items to ranking, its exports, checks and pay."""

import csv
import io
import json
import re
import sqlite3
import threading
from collections import Counter
from contextlib import closing

import pytest

from adaptive._plan import plan_ballots
from adaptive.ledger import Ledger
from tests.adaptive.cli.conftest import INIT, as_csv, finish, invoke, refusal, rows_of, run_json, run_ok, vote

pytestmark = pytest.mark.wide


def rows_in(path):
    """Every row of a ledger, which a refused command must not change."""
    with closing(Ledger.open(path)) as ledger, ledger.database.engine.connect() as connection:
        names = [row[0] for row in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: connection.exec_driver_sql(f"SELECT * FROM {name}").fetchall() for name in names}


def info_of(path):
    with closing(Ledger.open(path)) as ledger:
        return ledger.campaign().info


def record_all(folder, *, part=None):
    vote(folder / "ballot.csv", folder / "votes.csv")
    if part is not None:
        rows = rows_of((folder / "votes.csv").read_text())
        (folder / "votes.csv").write_text(as_csv([row for row in rows if row["voter"] in part]))
    return run_ok("run", "record", "v.db", "votes.csv")


def test_run_init_keeps_the_plan(open_campaign):
    info = info_of(open_campaign)
    assert info.plan == plan_ballots(10, n_ballots=2, fraction=0.5, presentations=4)
    assert (info.seed, info.slots, info.items[0]) == (1, (0, 1, 2), ("tax", "wage"))


def test_a_ledger_is_never_replaced(open_campaign):
    before = rows_in(open_campaign)
    assert refusal(*INIT) == "v.db: already exists and is never overwritten; choose another name"
    assert rows_in(open_campaign) == before


@pytest.mark.usefixtures("items")
def test_run_open_prints_the_ballot_and_prints_it_again(folder):
    run_ok(*INIT)
    printed = run_ok("run", "open", "v.db")
    assert printed == run_ok("run", "open", "v.db", "--again")
    run_ok("run", "open", "v.db", "--again", "--out", "ballot.csv")
    assert (folder / "ballot.csv").read_text() == printed


def test_run_record_in_parts_and_again(folder, open_campaign):
    loads = Counter(row["voter"] for row in rows_of((folder / "votes.csv").read_text())).most_common()
    assert sorted(load for _, load in loads) == [6, 7, 7]
    for voter, n_new in loads:
        rows = rows_of((folder / "votes.csv").read_text())
        (folder / "part.csv").write_text(as_csv([row for row in rows if row["voter"] == voter]))
        result = run_json("run", "record", "v.db", "part.csv")
        assert (result["n_new"], result["status"]["state"]) == (n_new, "open")
    before = rows_in(open_campaign)
    assert run_ok("run", "record", "v.db", "votes.csv").endswith("open: 20 of 20 comparisons answered\n")
    assert rows_in(open_campaign) == before
    # An id and a winner are enough.
    assert run_ok("run", "record", "v.db", "-", stdin="comparison,winner\n1-0-0,\n").startswith("0 new votes")


@pytest.mark.usefixtures("open_campaign")
def test_run_status_at_every_step(folder):
    assert run_ok("run", "status", "v.db") == "ballot 1 of 2 is open: 0 of 20 comparisons answered\n"
    run_ok("run", "record", "v.db", "votes.csv")
    status = run_ok("run", "status", "v.db").splitlines()
    assert status == ["ballot 1 of 2 is open: 20 of 20 comparisons answered", "20 votes by 3 voters"]
    result = run_json("run", "close", "v.db")
    closed = result["closed"] | {"n_tied_at_cut": None}
    assert closed == {"number": 1, "b": 1.0, "n_tied_at_cut": None, "n_answered": 20}
    assert run_ok("run", "status", "v.db").startswith("ballot 2 of 2 can be opened: 5 items, 10 comparisons\n")
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    record_all(folder)
    assert run_ok("run", "close", "v.db").endswith("; the result is ready\n")
    assert run_ok("run", "status", "v.db").startswith("all 2 ballots are closed; the result is ready\n")
    assert refusal("run", "open", "v.db") == "all 2 ballots are closed: none is left to open"
    assert refusal("run", "open", "v.db", "--again") == "no ballot is open: there is nothing to show"


@pytest.mark.usefixtures("open_campaign")
def test_the_papers_result_is_that_of_the_library(folder):
    finish(folder)
    with closing(Ledger.open("v.db")) as ledger:
        expected = ledger.campaign().paper_result()
    assert run_ok("run", "result", "v.db", "--paper") == expected.to_csv()
    assert run_json("run", "result", "v.db", "--paper") == json.loads(expected.to_json())
    invocation = invoke("run", "result", "v.db")
    paper = list(csv.reader(io.StringIO(expected.to_csv())))
    table = list(csv.reader(io.StringIO(invocation.stdout)))
    assert [row[: len(paper[0])] for row in table] == paper
    assert table[0][len(paper[0]) :] == [
        *("strength", "standard_error", "rank_low", "rank_high", "in_top", "rank_low_anytime", "rank_high_anytime")
    ]
    chance, top = invocation.stderr.splitlines()
    assert chance == "ballots: note: the votes do not rule out chance: the order may be random"
    assert re.fullmatch(r"ballots: note: the top 5 are correct with probability 0\.\d\d", top)


@pytest.mark.usefixtures("open_campaign")
def test_an_interim_result_ranks_by_the_votes_so_far(folder):
    assert refusal("run", "result", "v.db", "--interim") == "there are no votes yet, so there is no ranking"
    record_all(folder)
    rows = rows_of(invoke("run", "result", "v.db", "--interim").stdout)
    assert list(rows[0])[:4] == ["item_1", "item_2", "rank", "strength"]
    strengths = [float(row["strength"]) for row in rows]
    assert strengths == sorted(strengths, reverse=True)


@pytest.mark.parametrize("command", [["result", "v.db", "--interim"], ["close", "v.db", "--preview"]])
@pytest.mark.usefixtures("open_campaign")
def test_draws_advance_a_progress_bar(command, folder, bars):
    record_all(folder)
    assert invoke("run", *command).exit_code == 0
    assert (bars.totals, sum(bars.steps)) == ([(1_000, "draw")], 1_000)


def test_a_ballot_with_few_answers_is_closed_only_on_request(folder, open_campaign):
    record_all(folder, part=("0", "1"))
    before = rows_in(open_campaign)
    few = "13 of 20 comparisons are answered, 65%, and 65.1% are required"
    assert refusal("run", "close", "v.db", "--least-answered", 0.651) == (
        f"ballot 1: {few}; nothing was closed (--least-answered 0.65 closes it)"
    )
    preview = run_ok("run", "close", "v.db", "--preview", "--least-answered", 0.651)
    assert preview.startswith("ballot 1: 13 of 20 comparisons answered (65%; 65.1% are needed)\n")
    assert preview.endswith(f"it cannot be closed yet: {few}\n")
    now = rows_in(open_campaign)
    changed = {name for name in now if now[name] != before[name]}
    assert changed <= {"ballot"}  # the process that was closing it has died
    assert run_ok("run", "close", "v.db", "--least-answered", "0.6").startswith("ballot 1 is closed with 13 of 20")


@pytest.mark.usefixtures("open_campaign")
def test_a_ballot_is_opened_again_until_the_next_one(folder):
    record_all(folder, part=("0", "1"))
    run_ok("run", "close", "v.db", "--least-answered", "0.6")
    assert run_ok("run", "reopen", "v.db", "--reason", "one voter was ill") == "ballot 1 is open again\n"
    assert record_all(folder).startswith("7 new votes;")
    run_ok("run", "close", "v.db")
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    message = refusal("run", "reopen", "v.db", "--reason", "again")
    assert message == "ballot 2 is not closed: there is nothing to open again"


@pytest.mark.usefixtures("open_campaign")
def test_contradicting_votes_are_kept_until_the_organiser_decides():
    run_ok("run", "record", "v.db", "-", stdin="comparison,winner\n1-0-0,left\n1-0-1,left\n")
    assert run_ok("run", "record", "v.db", "-", stdin="comparison,winner\n1-0-0,right\n1-0-2,tie\n1-0-1,left\n") == (
        "1 new vote, 1 conflict set aside; ballot 1 of 2 is open: 3 of 20 comparisons answered\n"
    )
    result = run_json("run", "conflicts", "v.db")[0]
    assert list(result) == ["comparison", "voter", "recorded", "conflicting", "received_at", "corrected"]
    del result["received_at"]
    assert list(result.values()) == ["1-0-0", "0", "left", "right", False]
    corrected = run_ok("run", "correct", "v.db", "1-0-0", "right", "--reason", "misclick")
    assert corrected == "comparison 1-0-0: the vote is 'right' now\n"
    assert run_json("run", "conflicts", "v.db")[0]["corrected"]
    assert run_ok("run", "conflicts", "v.db").splitlines()[1].startswith("1-0-0 ")
    assert run_ok("run", "correct", "v.db", "1-0-0", "none", "--reason", "not read") == "comparison 1-0-0: voided\n"
    assert run_ok("run", "status", "v.db").startswith("ballot 1 of 2 is open: 2 of 20 comparisons answered")
    message = refusal("run", "correct", "v.db", "1-0-3", "tie", "--reason", "x")
    assert message == "comparison 1-0-3 has no vote to correct"


@pytest.mark.usefixtures("open_campaign")
def test_a_voter_is_excluded_and_included_again(folder):
    finish(folder)
    run_ok("run", "exclude", "v.db", "2", "--reason", "answers at random")
    result = invoke("run", "result", "v.db", "--json")
    assert len(json.loads(result.stdout)["excluded"]) == 1
    assert re.search(r"1 voter left out of the strengths, whose ranking has tau_w -?\d\.\d+ with", result.stderr)
    run_ok("run", "exclude", "v.db", "2", "--back", "--reason", "a mistake")
    assert json.loads(invoke("run", "result", "v.db", "--json").stdout)["excluded"] == []
    assert refusal("run", "exclude", "v.db", "Nobody", "--reason", "x") == "no voter is called 'Nobody'"


@pytest.mark.usefixtures("open_campaign")
def test_others_are_asked_the_comparisons_of_an_excluded_voter(folder):
    run_ok("run", "record", "v.db", "votes.csv")
    run_ok("run", "exclude", "v.db", "2", "--reason", "answers at random")
    counts = "13 of 20 comparisons answered, and 7 by excluded voters, which do not count"
    assert run_ok("run", "status", "v.db").splitlines()[0] == f"ballot 1 of 2 is open: {counts}"
    assert "13 of 20" in run_ok("run", "status", "v.db", "--by", "ballot")
    advice = "7 answers of excluded voters do not count: ask others (`ballots run exclude --ask-others`)"
    assert advice in refusal("run", "close", "v.db")
    assert advice in run_ok("run", "close", "v.db", "--preview")
    asked = run_ok("run", "exclude", "v.db", "2", "--reason", "answers at random", "--ask-others")
    assert asked == "voter 2 is excluded, 7 votes voided\n"
    assert "ask others" not in refusal("run", "close", "v.db")
    assert run_ok("run", "assign", "v.db", "Dora", "--from", "2") == "1 sheet given to Dora\n"
    run_ok("run", "open", "v.db", "--again", "--unanswered", "--out", "rest.csv")
    vote(folder / "rest.csv", folder / "votes.csv")
    assert run_ok("run", "record", "v.db", "votes.csv").startswith("7 new votes; ")
    run_ok("run", "close", "v.db")


@pytest.mark.usefixtures("open_campaign")
def test_a_voided_vote_that_is_recorded_again_is_reported():
    run_ok("run", "record", "v.db", "votes.csv")
    run_ok("run", "correct", "v.db", "b1-0-0", "none", "--reason", "not read")
    again = run_ok("run", "record", "v.db", "votes.csv")
    counts = "0 new votes, 1 vote not recorded again after being voided (`correct` sets a vote)"
    assert again.startswith(f"{counts}; ballot 1 of 2 is open: 19 of 20")
    run_ok("run", "correct", "v.db", "b1-0-0", "left", "--reason", "asked again")
    assert run_ok("run", "record", "v.db", "votes.csv").startswith("0 new votes; ballot 1 of 2 is open: 20 of 20")


@pytest.mark.usefixtures("open_campaign")
def test_unknown_columns_are_kept_with_the_votes(folder):
    rows = [row | {"seconds": "1.25", "worker": "w7"} for row in rows_of((folder / "votes.csv").read_text())]
    (folder / "votes.csv").write_text(as_csv(rows))
    run_ok("run", "record", "v.db", "votes.csv")
    stored = [(row.response_ms, row.extra) for row in rows_in(folder / "v.db")["vote_event"]]
    assert stored == [(1250, '{"worker":"w7"}')] * 20
    for wrong in ("soon", "1_0", "\N{ARABIC-INDIC DIGIT ONE}"):
        message = refusal("run", "record", "v.db", "-", stdin=f"comparison,winner,seconds\n1-0-0,left,{wrong}\n")
        assert f"<stdin>:2: column \"seconds\": expected a time in seconds; got '{wrong}'" in message


CONTINUOUS = ["--continuous", "--budget", 30, "--batch", 8, "--voters", 2, "--seed", 1]


@pytest.mark.usefixtures("items")
def test_a_continuous_campaign_asks_in_batches_until_it_is_ended(folder):
    assert run_ok("run", "init", "c.db", "--items", "items.csv", *CONTINUOUS).startswith(
        "10 items, batches of 8, at most 30 comparisons\n"
    )
    voter_pairs = []
    for number in range(1, 5):
        rows = rows_of(run_ok("run", "open", "c.db"))
        assert len(rows) == (8 if number < 4 else 6)
        sides = [(row["left_1"] + row["left_2"], row["right_1"] + row["right_2"]) for row in rows]
        voter_pairs += [(row["voter"], frozenset(pair)) for row, pair in zip(rows, sides, strict=True)]
        assert re.search(r"pairs are unanswered|budget of 30", refusal("run", "open", "c.db"))
        winners = ["left" if left < right else "right" for left, right in sides]
        (folder / "votes.csv").write_text(
            as_csv([row | {"winner": winner} for row, winner in zip(rows, winners, strict=True)])
        )
        run_ok("run", "record", "c.db", "votes.csv")
    assert len(set(voter_pairs)) == 30  # no pair twice to a voter
    assert refusal("run", "open", "c.db") == "the budget of 30 comparisons is spent"
    assert run_ok("run", "close", "c.db") == "the campaign has ended with 30 votes; the result is ready\n"
    rows = rows_of(invoke("run", "result", "c.db").stdout)
    assert rows[0]["item_1"] == "bonus"
    assert refusal("run", "open", "c.db") == "the campaign has ended: no further comparisons are drawn"


INIT_NEW = ["run", "init", "new.db", *INIT[3:]]
EXCLUDE = ["run", "exclude", "v.db", "2"]
COMMANDS_WITH_REASON = (EXCLUDE, ["run", "correct", "v.db", "b1-0-0", "tie"], ["run", "reopen", "v.db"])


@pytest.mark.usefixtures("open_campaign")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*INIT_NEW, "--items", "none.csv"], r"none\.csv: cannot be read"),
        (["run", "open", "none.db"], r"none\.db: does not exist"),
        (["run", "open", "/"], r"^/: is a folder, not a file"),
        (["run", "open", "v.db", "--campaign", "other"], r"the ledger has no campaign called 'other'"),
        (["run", "open", "v.db", "--voter", "1"], r"--voter and --unanswered require --again"),
        (["run", "open", "ready.db", "--out", "./ready.db"], r"this command reads the file"),
        (["run", "record", "v.db", "items.csv"], r'items\.csv:1: no column "comparison"'),
        ([*EXCLUDE, "--preview", "--ask-others"], r"leave out --reason, --back and --ask-others"),
        ([*EXCLUDE, "--reason", "x", "--back", "--ask-others"], r"--ask-others is for excluding a voter"),
        (["run", "correct", "v.db", "1-0-99", "tie", "--reason", "x"], r"comparison 1-0-99 is unknown"),
        (["run", "assign", "v.db", "Dora"], r"give either --from or --sheet"),
        (["run", "assign", "v.db", "Dora", "--sheet", 9], r"the ballot has no sheet 9"),
        (["run", "assign", "ready.db", "Dora", "--sheet", 1], r"no ballot is open: there is no sheet to give"),
        (["run", "close", "ready.db"], r"no ballot is open: there is nothing to close"),
        (["run", "reopen", "ready.db", "--reason", "x"], r"no ballot is closed: there is nothing to open again"),
        (["run", "result", "v.db"], r"the campaign is still open: 0 of 2 ballots are closed; .* --interim"),
        (["run", "result", "v.db", "--paper", "--interim"], r"--paper cannot be combined"),
        (["run", "migrate", "none.db"], r"none\.db: does not exist"),
        ([*INIT_NEW, "--checks-per-sheet", 2], r"--checks-per-sheet requires --checks"),
        *(([*command, "--reason", " "], r"--reason must not be empty") for command in COMMANDS_WITH_REASON),
        (EXCLUDE, r"--reason is required; to see the effect first, use --preview"),
        ([*EXCLUDE, "--reason", "x", "--json"], r"--json requires --preview"),
        ([*EXCLUDE, "--preview", "--back"], r"--preview changes nothing, so leave out --reason, --back"),
        ([*EXCLUDE, "--preview", "--reason", "x"], r"--preview changes nothing, so leave out --reason"),
        (["verify", "none.zip"], r"none\.zip: "),
        (["run", "export", "v.db", "--out", "none/c.zip"], r"none/c\.zip: cannot be written"),
        (["run", "export", "v.db", "--format", "bundle", "--unanswered", "--out", "c"], r"for the formats of votes"),
        (["run", "export", "v.db", "--format", "choix", "--out", "tokens.csv"], r"tokens\.csv: cannot be a folder"),
        (["run", "backup", "v.db", "none/copy.db"], r"none/copy\.db: cannot be written"),
        (["run", "init", "none/new.db", *INIT[3:]], r"none/new\.db: unable to open database file"),
        ([*INIT_NEW, "--checks", "odd.csv"], r"odd\.csv:2: \('nut', 'price'\) is not an item"),
        ([*INIT_NEW, "--continuous"], r"--continuous does not take --presentations or --top"),
    ],
)
def test_invalid_arguments_are_refused(folder, arguments, message):
    run_ok("run", "init", "ready.db", *INIT[3:])
    (folder / "odd.csv").write_text("left_1,left_2,right_1,right_2,winner,kind\nnut,price,tax,wage,left,gold\n")

    def stored_rows():
        return {name: rows_in(folder / name) | {"ballot": None} for name in ("v.db", "ready.db")}

    before, files = stored_rows(), sorted(path.name for path in folder.iterdir())
    assert re.search(message, refusal(*arguments))
    assert stored_rows() == before
    assert sorted(path.name for path in folder.iterdir() if path.suffix not in {".db-wal", ".db-shm"}) == files


VOTES = "comparison,winner\n1-0-0,left\n"


@pytest.mark.parametrize(
    ("votes", "message"),
    [
        (VOTES + "1-3-0,tie\n", r"<stdin>:3: comparison '1-3-0' is unknown: ballot 1 ends at sheet 2"),
        (VOTES + "1-0-00003,tie\n", r"<stdin>:3: comparison '1-0-00003' has a leading zero.*; did you mean '1-0-3'\?"),
        ("comparison,Voter,winner\n1-0-0,7,tie\n", r'<stdin>:1: column "Voter": did you mean "voter"\?'),
        (
            "comparison,voter,winner\n1-0-0,7,tie\n1-0-1,8,tie\n",
            r"<stdin>:2: comparison '1-0-0' is on sheet \d.*<stdin>:3:",
        ),
    ],
)
def test_refused_votes_change_nothing(open_campaign, votes, message):
    before = rows_in(open_campaign)
    assert re.search(message, refusal("run", "record", "v.db", "-", stdin=votes))
    assert rows_in(open_campaign) == before


@pytest.mark.usefixtures("items")
def test_a_preview_of_a_continuous_campaign_does_not_end_it(folder):
    run_ok("run", "init", "c.db", "--items", "items.csv", *CONTINUOUS)
    assert refusal("run", "close", "c.db", "--preview") == "no batch is open: there is nothing to close"
    rows = rows_of(run_ok("run", "open", "c.db"))
    (folder / "votes.csv").write_text(as_csv([row | {"winner": "left"} for row in rows[:6]]))
    run_ok("run", "record", "c.db", "votes.csv")
    before = rows_in("c.db")
    preview = run_ok("run", "close", "c.db", "--preview")
    assert preview.startswith("1 batch so far: 6 of 8 comparisons answered (75%; 90% are needed)\n")
    assert run_ok("run", "close", "c.db", "--preview", "--least-answered", 0.5).endswith("which ends the campaign\n")
    assert "75%, and 90% are required; nothing was closed (--least" in refusal("run", "close", "c.db")
    assert rows_in("c.db") == before
    assert run_ok("run", "close", "c.db", "--least-answered", 0.5).startswith("the campaign has ended with 6 votes")


def test_status_by_voter_has_whole_seconds_and_no_blanks_at_the_end(open_campaign):
    run_ok("run", "record", "v.db", "votes.csv")
    lines = run_ok("run", "status", open_campaign, "--by", "voter").splitlines()
    assert all(line == line.rstrip() for line in lines)
    assert re.fullmatch(r"0 +\d of \d +\d+ +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", lines[1])
    run_ok("run", "exclude", "v.db", "0", "--reason", "too fast")
    assert run_ok("run", "status", open_campaign, "--by", "voter").splitlines()[1].endswith("Z  excluded")


def test_status_by_ballot_has_a_line_for_each(open_campaign):
    run_ok("run", "record", "v.db", "votes.csv")
    run_ok("run", "close", "v.db")
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    header, first, second = run_ok("run", "status", open_campaign, "--by", "ballot").splitlines()
    assert header.split() == ["ballot", "state", "items", "answered", "sheets", "done", "opened", "closed"]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
    assert re.fullmatch(rf"1 +closed +10 +20 of 20 +3 of 3  {time}  {time}", first)
    assert re.fullmatch(rf"2 +open +5 +0 of 10 +0 of 3  {time} +-", second)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"comparison": "1-0"}\n{"comparison": "1-1"}\n', 'no column "winner"; the columns are "comparison"'),
        (b"SQLite format 3\0", "is an SQLite database: export the table as "),
        (b'[{"comparison": "1-0", "Winner": "left"}]', 'column "Winner": did you mean "winner"'),
    ],
)
def test_record_names_the_format_of_files_that_are_no_tables(data, message, open_campaign, folder):
    (folder / "other").write_bytes(data)
    assert re.fullmatch(rf"other(:1)?: {message}.*", refusal("run", "record", open_campaign, "other"))


@pytest.fixture
def closed_ledger(folder, open_campaign):
    """A ledger with both ballots closed."""
    finish(folder)
    return open_campaign


@pytest.mark.usefixtures("closed_ledger")
def test_a_bundle_is_verified_and_restored_exactly(folder):
    run_ok("run", "export", "v.db", "--out", "c.zip")
    output = run_ok("verify", "c.zip")
    assert "all digests hold; the votes give all records to the last bit\nthe seed gives all draws" in output
    assert re.search("Not checked: .*\n  plan.json: created_at, key, ", output)
    result = run_json("verify", "c.zip")
    assert (result["votes"], result["closed"], result["replayed"]) == (30, 2, True)
    assert result["unchecked"]["pages.json"] == ["at", "pages"]
    assert run_json("run", "verify", "v.db") == result
    assert run_ok("run", "import", "copy.db", "c.zip") == "campaign campaign is restored: 10 items\n"
    assert invoke("run", "result", "copy.db").stdout == invoke("run", "result", "v.db").stdout
    run_ok("run", "export", "copy.db", "--out", "again.zip")
    assert (folder / "again.zip").read_bytes() == (folder / "c.zip").read_bytes()
    assert re.search("campaign", refusal("run", "import", "copy.db", "c.zip"))


@pytest.mark.usefixtures("open_campaign")
def test_exported_votes_are_imported_again(folder):
    run_ok("run", "record", "v.db", "votes.csv")
    assert run_ok("run", "export", "v.db", "--format", "csv", "--out", "out.csv") == "20 votes in out.csv\n"
    assert run_ok("run", "import", "v.db", "out.csv") == "0 new votes\n"
    rows = rows_of((folder / "out.csv").read_text())
    assert not {row["voter"] for row in rows} & {"0", "1", "2"}  # keys, not names
    named = rows_of(run_ok("run", "export", "v.db", "--format", "csv", "--names", "--out", "-"))
    assert {row["voter"] for row in named} == {"0", "1", "2"}
    text = run_ok("run", "export", "v.db", "--format", "choix", "--out", "folder")
    assert re.search(r"votes in folder/pairs\.csv, folder/items\.csv; \d left out: choix has no 'tie'", text)
    piped = invoke("run", "export", "v.db", "--format", "label_studio", "--out", "-")
    assert re.fullmatch(r"ballots: note: \d left out: label_studio has no 'tie'\n", piped.stderr)
    (folder / "more.csv").write_text(as_csv([rows[0] | {"winner": "tie" if rows[0]["winner"] != "tie" else "left"}]))
    assert run_ok("run", "import", "v.db", "more.csv") == "0 new votes, 1 set aside\n"


@pytest.mark.usefixtures("open_campaign")
def test_a_file_of_votes_creates_no_ledger(folder):
    expected = "new.db: does not exist; only a bundle can be imported into a new ledger, and votes.csv is not one"
    assert refusal("run", "import", "new.db", "votes.csv") == expected
    assert not (folder / "new.db").exists()


def test_a_backup_while_votes_arrive_is_a_consistent_snapshot(folder, open_campaign):
    rows = rows_of((folder / "votes.csv").read_text())
    is_finished = threading.Event()

    def votes():
        try:
            for number, row in enumerate(rows):
                (folder / f"{number}.csv").write_text(as_csv([row]))
                run_ok("run", "record", "v.db", f"{number}.csv")
        finally:
            is_finished.set()

    thread = threading.Thread(target=votes)
    thread.start()
    copies = 0
    while not is_finished.is_set():
        run_ok("run", "backup", "v.db", f"copy{copies}.db")
        copies += 1
    thread.join()
    answered = []
    for copy in range(copies):
        run_ok("run", "verify", f"copy{copy}.db")
        answered.append(run_json("run", "status", f"copy{copy}.db")["n_answered"])
    assert answered == sorted(answered)
    assert copies > 1
    assert refusal("run", "backup", "v.db", "copy0.db") == "copy0.db: already exists; a backup never replaces a file"
    assert not list(folder.glob(".*.tmp"))
    with sqlite3.connect(open_campaign) as connection:
        assert connection.execute("SELECT count(*) FROM vote_event").fetchone() == (20,)
    connection.close()


@pytest.mark.usefixtures("closed_ledger")
@pytest.mark.parametrize("form", ["bundle", "csv", "arena"])
def test_an_export_cannot_overwrite_the_ledger(folder, form):
    before = (folder / "v.db").read_bytes()
    message = refusal("run", "export", "v.db", "--format", form, "--out", "./v.db")
    assert message == "./v.db: this command reads the file; write to another one"
    assert (folder / "v.db").read_bytes() == before


@pytest.mark.usefixtures("closed_ledger")
def test_a_failed_import_leaves_no_ledger(folder):
    run_ok("run", "export", "v.db", "--out", "c.zip")
    data = (folder / "c.zip").read_bytes()
    (folder / "damaged.zip").write_bytes(data.replace(b"SHA256SUMS", b"SHA256SUM5"))
    refusal("run", "import", "new.db", "damaged.zip")
    assert not list(folder.glob("new.db*"))


PROBES = (
    "left_1,left_2,right_1,right_2,winner,kind\nbonus,price,tax,wage,left,attention\nbonus,salary,tax,price,left,gold\n"
)
CHECK_OPTIONS = ("--checks", "checks.csv", "--repeats", 0.25, "--overlap", 0.25)
PAY_OPTIONS = ("--pay-per-hour", 12, "--seconds", 6, "--fee", 0.25, "--currency", "EUR")


@pytest.fixture
def campaign_with_checks(folder):
    """A campaign with checks and pay, whose ballot 1 is open."""
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    (folder / "checks.csv").write_text(PROBES)
    printed = run_ok(*INIT, *CHECK_OPTIONS, *PAY_OPTIONS)
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    return printed


def answer(folder, *, part=("0", "1", "2")):
    """Voter 2 always answers left at once; the others prefer the item first in the alphabet."""
    rows = rows_of((folder / "ballot.csv").read_text())
    for row in rows:
        left, right = (row["left_1"], row["left_2"]), (row["right_1"], row["right_2"])
        lazy = row["voter"] == "2"
        row |= {"winner": "left" if lazy or left < right else "right", "seconds": "0.3" if lazy else "3"}
    (folder / "votes.csv").write_text(as_csv([row for row in rows if row["voter"] in part]))
    return run_ok("run", "record", "v.db", "votes.csv")


@pytest.mark.usefixtures("campaign_with_checks")
def test_probes_look_like_comparisons(folder):
    rows = rows_of((folder / "ballot.csv").read_text())
    assert len(rows) == len(rows_in(folder / "v.db")["comparison"]) > 20
    assert {tuple(row) for row in rows} == {("comparison", "voter", "left_1", "left_2", "right_1", "right_2", "winner")}
    assert {row["winner"] for row in rows} == {""}
    assert run_ok("run", "open", "v.db", "--again") == (folder / "ballot.csv").read_text()


@pytest.mark.usefixtures("campaign_with_checks")
def test_answers_to_probes_come_with_the_votes(folder):
    n_probes = len([row for row in rows_in(folder / "v.db")["comparison"] if row.probe is not None])
    assert answer(folder).startswith(f"20 new votes, {n_probes} answers to checks; ballot 1 of 2 is open: 20 of 20")
    status = run_ok("run", "status", "v.db")
    assert re.search(rf"^checks: {n_probes} answered of 2\d in the end$", status, re.MULTILINE)
    spent = 1.25 * 0.02 * (20 + n_probes)
    assert f"spent: {spent:.2f} EUR for 0.1 hours; expected in the end: 1." in status
    result = run_json("run", "status", "v.db")["spending"]
    assert (result["n_votes"], result["n_probes"], result["currency"]) == (20, n_probes, "EUR")
    assert run_ok("run", "open", "v.db", "--again", "--unanswered").count("\n") == 1


@pytest.mark.usefixtures("campaign_with_checks")
def test_quality_flags_suspicious_voters(folder, monkeypatch):
    assert run_ok("run", "quality", "v.db") == "no voter has answered yet\n"
    answer(folder)
    lines = run_ok("run", "quality", "v.db").splitlines()
    columns = "voter votes seconds fast left attention gold repeats agreement random flags"
    assert lines[0].split() == columns.split()
    assert [line.split()[:3] for line in lines[1:4]] == [["0", "7", "3.0"], ["1", "6", "3.0"], ["2", "7", "0.3"]]
    pattern = r"\d+ pairs? asked of several voters: \d+ of \d+ pairs of answers agree"
    assert re.fullmatch(rf"{pattern}; agreement and alpha need \d+ more pairs?", lines[4])
    assert "voter 2: 7 of 7 answers took less than 1 s" in lines[5:]
    assert not any(line.startswith(("voter 0", "voter 1")) for line in lines)
    flags = run_json("run", "quality", "v.db")["voters"][2]["flags"]
    assert flags[0] == {"kind": "speed", "reason": "7 of 7 answers took less than 1 s"}
    assert "took less" not in run_ok("run", "quality", "v.db", "--fast", "0.2")
    monkeypatch.setattr("adaptive.ledger._reports.quality.LEAST_PAIRS", 1)
    result = run_json("run", "quality", "v.db")
    ends = f"{result['agreement_low']:.0%} to {result['agreement_high']:.0%}"
    alpha = f"{result['alpha']:.2f} ({result['alpha_low']:.2f} to {result['alpha_high']:.2f})"
    line = run_ok("run", "quality", "v.db").splitlines()[4]
    assert re.fullmatch(rf"{pattern} \(\d+%, 90 % interval {ends}\); Krippendorff's alpha {re.escape(alpha)}", line)


@pytest.mark.usefixtures("campaign_with_checks")
def test_an_exclusion_can_be_previewed(folder):
    answer(folder)
    before = rows_in(folder / "v.db")
    lines = run_ok("run", "exclude", "v.db", "2", "--preview").splitlines()
    effect = r"7 votes, and 13 by the others; tau_w of the rankings with and without them [01]\.\d{3}"
    assert re.fullmatch(rf"voter 2 excluded: {effect}", lines[0])
    assert lines[1].split() == ["item", "rank", "now", "rank", "then"]
    assert len(run_json("run", "exclude", "v.db", "2", "--preview")["changes"]) == len(lines) - 2
    assert rows_in(folder / "v.db") == before
    run_ok("run", "exclude", "v.db", "2", "--reason", "left, left, left")
    assert run_ok("run", "exclude", "v.db", "2", "--preview").startswith("voter 2 included again: 7 votes")
    assert " excluded" in run_ok("run", "quality", "v.db").splitlines()[3]


@pytest.mark.usefixtures("campaign_with_checks")
def test_link_creates_another_organiser_link():
    links = [run_ok("run", "link", "v.db", "--url", "https://votes.example.org/").strip() for _ in range(2)]
    assert links[0] != links[1]
    for link in links:
        address, _, token = link.partition("#")
        ledger = Ledger.open("v.db")
        assert address == f"https://votes.example.org/o/{ledger.campaign().key}"
        access = ledger.campaign().tokens.holder(token, "organiser")
        assert access.campaign_key == ledger.campaign().key
        ledger.close()
