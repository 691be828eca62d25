"""The command `ballots`: tokens to ranking, its numbers against the library's, one line and exit code 2 for faults."""

import csv
import io
import json
import os
import re
import stat
from collections import Counter

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from adaptive.cli import main as cli
from adaptive.draw import draw_ballot
from adaptive.plan import plan_ballots, plan_for_budget, plan_for_top
from adaptive.session.ballot_protocol import BallotProtocol
from adaptive.simulation.similarity import named_similarity
from adaptive.simulation.simulate import simulate
from adaptive.simulation.voters import VoterPopulation
from rankcorr import __version__
from rankcorr.io.tables import read_ranking

TOKENS = "token,area\n" + "".join(f"{token},work\n" for token in ("tax", "wage", "bonus", "salary", "price"))
PLANNED = ("--ballots", 2, "--presentations", 4)
INIT = ("run", "init", "v.json", "--items", "items.csv", *PLANNED, "--voters", 3, "--seed", 1)


def invoke(*args, stdin=None):
    return CliRunner().invoke(cli.main, [str(arg) for arg in args], input=stdin)


def run_ok(*args, stdin=None):
    result = invoke(*args, stdin=stdin)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refusal(*args, stdin=None):
    """The one line that says what is wrong."""
    result = invoke(*args, stdin=stdin)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert isinstance(result.exception, SystemExit)
    line, end = result.stderr[:-1], result.stderr[-1:]
    assert end == "\n"
    assert line.startswith("ballots: error: ")
    assert line.isprintable()
    return line.removeprefix("ballots: error: ")


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


def as_csv(rows):
    file = io.StringIO()
    writer = csv.DictWriter(file, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokens.csv").write_text(TOKENS)
    return tmp_path


@pytest.fixture
def items(folder):
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    return folder / "items.csv"


@pytest.fixture
def opened(folder):
    """A voting whose ballot 1 is open, and the votes on it, all of them given in votes.csv."""
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    run_ok(*INIT)
    run_ok("run", "open", "v.json", "--out", "ballot.csv")
    vote(folder / "ballot.csv", folder / "votes.csv")
    return folder / "v.json"


# --- from tokens to a ranking ----------------------------------------------------------------------------------------


def test_six_commands_from_tokens_to_a_ranking(folder):
    assert run_ok("pair", "tokens.csv", "--out", "items.csv") == "10 items written to items.csv\n"
    # With 9 presentations all pairs of 10 items are compared, so that a voter who does not err is found out exactly.
    stdout = run_ok(*INIT, "--presentations", 9)
    assert stdout.endswith("\nv.json is made; ballot 1 can be opened.\n")
    for number, n_comparisons in ((1, 45), (2, 23)):
        ballot, votes = folder / f"ballot{number}.csv", folder / f"votes{number}.csv"
        stdout = run_ok("run", "open", "v.json", "--out", ballot.name)
        assert stdout == f"ballot {number}: {n_comparisons} comparisons written to ballot{number}.csv\n"
        vote(ballot, votes, tying=())
        stdout = run_ok("run", "record", "v.json", votes.name)
        assert stdout.startswith(f"{n_comparisons} new votes; ballot {number} of 2 is open: {n_comparisons} of ")
        stdout = run_ok("run", "close", "v.json")
        assert stdout.startswith(f"ballot {number} is closed with {n_comparisons} of {n_comparisons} comparisons")
    assert run_ok("run", "result", "v.json", "--out", "ranking.csv") == "10 items written to ranking.csv\n"

    ranking = read_ranking("ranking.csv", id_columns=["item_1", "item_2"], score_column="ybar")
    assert [ranking.labels[place] for place in ranking.ranks.argsort()] == sorted(
        tuple(row.values())[:2] for row in rows_of((folder / "items.csv").read_text())
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "ballot1.csv", "ballot2.csv", "items.csv", "ranking.csv", "tokens.csv", "v.json", "votes1.csv", "votes2.csv"
    ]  # fmt: skip


@pytest.mark.usefixtures("opened")
def test_score_gives_what_the_voting_gives(folder):
    """The same votes, with ties and gaps, without the file of the voting."""
    skipped = {"1-3", "2-1"}
    for number in (1, 2):
        if number == 2:
            run_ok("run", "open", "v.json", "--out", "ballot.csv")
        vote(folder / "ballot.csv", folder / f"votes{number}.csv", skipped=skipped)
        run_ok("run", "record", "v.json", f"votes{number}.csv")
        run_ok("run", "close", "v.json")
    expected = {(row["item_1"], row["item_2"]): row for row in rows_of(run_ok("run", "result", "v.json"))}
    scored = rows_of(run_ok("score", "votes1.csv", "votes2.csv"))
    assert len(scored) == 10
    assert [float(row["rank"]) for row in scored] == sorted(float(row["rank"]) for row in scored)
    for row in scored:
        row["ybar"] = row.pop("score")
        same = expected[row["item_1"], row["item_2"]]
        assert_allclose(float(row.pop("ybar")), float(same.pop("ybar")), atol=1e-14)
        assert row == same

    found = json.loads(run_ok("score", "votes1.csv", "votes2.csv", "--json"))
    records = json.loads(run_ok("run", "result", "v.json", "--json"))["ballots"]
    assert [ballot["n_items"] for ballot in found["ballots"]] == [10, 5]
    assert_allclose([ballot["b"] for ballot in found["ballots"]], [record["b"] for record in records], atol=1e-14)
    assert found["items"][0]["item"] == [scored[0]["item_1"], scored[0]["item_2"]]


# --- pair, plan, draw ------------------------------------------------------------------------------------------------


def test_pair_prints_items():
    table = run_ok("pair", "tokens.csv").splitlines()
    assert table[:2] == ["item_1,item_2,area", "tax,wage,work"]
    assert len(table) == 11
    assert run_ok("pair", "-", "--out", "-", stdin=TOKENS).splitlines() == table


def test_pair_samples():
    arguments = ("pair", "tokens.csv", "--sample", 3, "--seed", 2)
    sample = run_ok(*arguments)
    assert len(sample.splitlines()) == 4
    assert sample == run_ok(*arguments)
    assert run_ok(*arguments, "--out", "items.csv") == "3 of 10 items written to items.csv\n"


def test_pair_across_areas_and_the_note_on_rare_tokens():
    tokens = "token,area,frequency\na,x,5\nb,y,5\n"
    result = invoke("pair", "-", "--across-areas", stdin=tokens)
    assert (result.exit_code, result.stdout) == (0, "item_1,item_2,area,rare\na,b,,no\n")
    assert result.stderr.startswith("ballots: note: 0 of 2 tokens are rare")


def test_plan_prints_ballots_cost_and_advice():
    plan = run_ok("plan", "--n-items", 990, "--presentations", 20, "--seconds", 5, "--voters", 1).splitlines()
    assert plan[0] == "990 items, 7 ballots, fraction 0.5, 20 presentations of each item in each ballot"
    # Sizes and sum of spec.md, section 5; 19,660 comparisons of 5 s are 27.31 h.
    assert plan[2:11] == [
        "ballot  items  comparisons  hours",
        "1         990        9,900  13.75",
        "2         495        4,950   6.88",
        "3         248        2,480   3.44",
        "4         124        1,240   1.72",
        "5          62          620   0.86",
        "6          31          310   0.43",
        "7          16          160   0.22",
        "total               19,660  27.31",
    ]
    assert "presented 140 times" in plan[12]
    assert plan[13:] == [
        "Advice:",
        "- In ballot 7 an item has 20 presentations but only 15 others to meet: pairs repeat.",
        "- In ballot 7 a pair comes 2 times, and n_voters is 1: a voter sees it twice.",
    ]


def test_plan_without_advice():
    assert "Advice" not in run_ok("plan", "--n-items", 5000, "--presentations", 30)


@pytest.mark.parametrize(
    ("arguments", "plan"),
    [
        (["--presentations", 20], plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)),
        (["--budget", 20_000], plan_for_budget(990, n_ballots=7, fraction=0.5, comparisons=20_000)),
        (
            ["--hours", 40, "--seconds", 5],
            plan_for_budget(990, n_ballots=7, fraction=0.5, hours=40, seconds_per_comparison=5),
        ),
        (
            ["--top", 100, "--ballots", 5, "--fraction", 0.6],
            plan_for_top(990, n_ballots=5, fraction=0.6, top_presentations=100),
        ),
    ],
)
def test_plan_is_that_of_the_library(arguments, plan):
    found = json.loads(run_ok("plan", "--n-items", 990, "--json", *arguments))
    assert found.items() >= plan.to_dict().items()
    assert [advice["code"] for advice in found["advice"]] == [advice.code for advice in plan.advice]
    assert found["hours"] == (plan.cost(5) if "--seconds" in arguments else None)


def test_plan_counts_the_items_of_a_file(items):
    arguments = ("--ballots", 2, "--presentations", 4)
    assert run_ok("plan", "--items", items, *arguments) == run_ok("plan", "--n-items", 10, *arguments)


def test_draw_is_that_of_the_library(items):
    rows = rows_of(run_ok("draw", "items.csv", "--presentations", 4, "--voters", 3, "--seed", 7))
    pairs = [(row["item_1"], row["item_2"]) for row in rows_of(items.read_text())]
    ballot = draw_ballot(pairs, 4, 3, np.random.default_rng(7))
    assert list(rows[0]) == ["comparison", "voter", "left_1", "left_2", "right_1", "right_2", "winner"]
    found = sorted((int(row["comparison"].removeprefix("1-")), *list(row.values())[1:]) for row in rows)
    columns = zip(ballot.voter.tolist(), ballot.left.tolist(), ballot.right.tolist(), strict=True)
    assert found == [
        (index, str(voter), *ballot.items[left], *ballot.items[right], "")
        for index, (voter, left, right) in enumerate(columns)
    ]
    stdout = run_ok(
        "draw", "-", "--presentations", 1, "--voters", 1, "--seed", 0, "--out", "b.csv", stdin="item\na\nb\n"
    )
    assert stdout == "1 comparisons written to b.csv\n"


# --- score and simulate ----------------------------------------------------------------------------------------------


def test_score_by_hand():
    votes = "left,right,winner\na,b,left\nb,c,tie\nc,a,right\nb,a,\n"
    # a wins both of its answered comparisons; b and c have half a win in two.
    assert run_ok("score", "-", stdin=votes).splitlines() == [
        "item,rank,score,presentations,wins,ties,losses,last_ballot",
        "a,1.0,1.0,3,2,0,0,1",
        "b,2.5,0.25,3,0,1,1,1",
        "c,2.5,0.25,2,0,1,1,1",
    ]
    assert run_ok("score", "-", "--out", "r.csv", stdin=votes) == "3 items written to r.csv\n"


@pytest.mark.parametrize("similarity", ["exponential", "power_law", "embedding"])
def test_simulate_is_that_of_the_library(similarity):
    arguments = ("--n-items", 20, "--ballots", 2, "--presentations", 4, "--similarity", similarity)
    arguments = ("simulate", *arguments, "--simulations", 3, "--seed", 5, "--voters", 9)
    plan = plan_ballots(20, n_ballots=2, fraction=0.5, presentations=4)
    values, pool = named_similarity(similarity, 20), VoterPopulation(9)
    expected = simulate(plan, pool, values, n_simulations=3, seed=5)
    found = json.loads(run_ok(*arguments, "--json"))
    assert found["coefficients"] == expected.to_dict()
    assert found["plan"] == plan.to_dict()
    table = run_ok(*arguments).splitlines()
    assert table[0] == f"20 items ({similarity}), 60 comparisons, 9 voters, 3 simulations, seed 5"
    assert [line.split()[0] for line in table[2:]] == ["approach", "adaptive", "uniform"]
    for line in table[3:]:
        name = line.split()[0]
        numbers = [f"{expected.mean[name][c]:.4f} +- {expected.sd[name][c]:.4f}" for c in expected.mean[name]]
        assert "  ".join(numbers) in line
    signed = json.loads(run_ok(*arguments, "--json", "--judge", "similarity"))
    assert signed["coefficients"] == simulate(plan, pool, values, n_simulations=3, seed=5, relatedness=False).to_dict()


def test_simulate_takes_values_from_a_file(folder):
    values = [0.9, 0.5, 0.2, 0.1, -0.3, -0.6]
    (folder / "z.csv").write_text("similarity\n" + "".join(f"{value}\n" for value in values))
    plan = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=4)
    expected = simulate(plan, VoterPopulation(), values, n_simulations=2, seed=0).to_dict()
    arguments = (
        "simulate",
        "--similarity",
        "z.csv",
        "--ballots",
        2,
        "--presentations",
        4,
        "--simulations",
        2,
        "--json",
    )
    assert json.loads(run_ok(*arguments))["coefficients"] == expected
    assert json.loads(run_ok(*arguments, "--n-items", 6))["coefficients"] == expected
    assert json.loads(run_ok(*arguments, "--workers", 2))["coefficients"] == expected


def test_simulate_says_what_is_undefined():
    arguments = ("--n-items", 5, "--ballots", 2, "--presentations", 1, "--simulations", 20, "--voters", 1)
    result = invoke("simulate", *arguments, "--fraction", 0.9, "--similarity", "z.csv")
    assert result.exit_code == 2
    constant = "similarity\n" + "0.5\n" * 5
    with open("z.csv", "w", encoding="utf-8") as file:
        file.write(constant)
    result = invoke("simulate", *arguments, "--fraction", 0.9, "--similarity", "z.csv")
    assert result.exit_code == 0
    assert result.stderr.startswith("ballots: note: some simulations have no coefficient")
    assert "nan" in result.stdout


# --- run -------------------------------------------------------------------------------------------------------------


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
    assert refusal("run", "open", "v.json") == "all 2 ballots are closed: there is none left to open"
    assert refusal("run", "open", "v.json", "--again") == "no ballot is open: there is nothing to show"


@pytest.mark.usefixtures("opened")
def test_ties_at_the_cut_are_said(folder):
    rows = rows_of((folder / "votes.csv").read_text())
    (folder / "votes.csv").write_text(as_csv([row | {"winner": "tie"} for row in rows]))
    run_ok("run", "record", "v.json", "votes.csv")
    assert run_ok("run", "close", "v.json") == (
        "ballot 1 is closed with 20 of 20 comparisons answered; 5 items go on (10 tied at the cut)\n"
    )


# --- what is refused -------------------------------------------------------------------------------------------------

PLAN = ("plan", "--n-items", 10)
SIMULATE = ("simulate", "--n-items", 10, "--ballots", 2, "--presentations", 4)
DRAW = ("draw", "items.csv", "--presentations", 4, "--voters", 3, "--seed", 1)


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"Missing command; 'ballots --help' lists the options"),
        (["run"], r"Missing command; 'ballots run --help' lists the options"),
        (["table9"], r"No such command 'table9'"),
        (["pair"], r"Missing argument 'TOKENS'"),
        (["pair", "none.csv"], r"none\.csv: cannot be read: No such file"),
        (["pair", "items.csv"], r'items\.csv:1: column "item_1": unknown column'),
        (["pair", "tokens.csv", "--sample", 3], r"--sample and --seed belong together; --seed is missing"),
        (["pair", "tokens.csv", "--seed", 3], r"belong together; --sample is missing"),
        (["pair", "tokens.csv", "--sample", 11, "--seed", 1], r"number of pairs, 10; got 11"),
        (["pair", "tokens.csv", "--sample", 1, "--seed", -1], r"Invalid value for '--seed'"),
        (["pair", "tokens.csv", "--out", "none/items.csv"], r"none/items\.csv: cannot be written: No such file"),
        (["pair", "tokens.csv", "--out", "."], r"\.: cannot be written: it is a folder"),
        (["plan", "--presentations", 4], r"one of --n-items and --items is wanted; got none"),
        ([*PLAN, "--items", "items.csv", "--top", 4], r"one of --n-items and --items is wanted; got both"),
        ([*PLAN], r"one of --presentations, --budget, --hours, --top is wanted; got none"),
        ([*PLAN, "--top", 9, "--budget", 9], r"is wanted; got --budget and --top"),
        ([*PLAN, "--presentations", 4], r"every ballot needs two items; ballot 4 would have 1"),
        ([*PLAN, "--presentations", 0, "--ballots", 2], r"presentations must be at least 1; got 0"),
        ([*PLAN, "--presentations", 4, "--ballots", 1], r"n_ballots must be at least 2; got 1: one ballot is not"),
        ([*PLAN, "--presentations", 4, "--fraction", 1], r"fraction must be .* got 1\.0"),
        ([*PLAN, "--presentations", 4, "--fraction", "nan"], r"fraction must be .* got nan"),
        ([*PLAN, "--presentations", "x"], r"'x' is not a valid integer"),
        ([*PLAN, "--budget", 3, "--ballots", 2], r"3 comparisons is too small: the smallest plan, .* 8 comparisons"),
        ([*PLAN, "--hours", 3, "--ballots", 2], r"--hours needs --seconds"),
        ([*PLAN, "--top", 8, "--ballots", 2, "--seconds", 0], r"seconds_per_comparison must be .* got 0\.0"),
        ([*PLAN, "--top", 8, "--ballots", 2, "--voters", 0], r"n_voters must be at least 1; got 0"),
        (["plan", "--n-items", 1, "--presentations", 4], r"n_items must be at least 2; got 1"),
        (["draw", "none.csv", *DRAW[2:]], r"none\.csv: cannot be read"),
        (["draw", "tokens.csv", *DRAW[2:]], r'tokens\.csv:1: a column "item" is wanted'),
        ([*DRAW, "--voters", 0], r"number of voters must be an integer of at least 1; got 0"),
        ([*DRAW, "--presentations", 0], r"presentations must be an integer of at least 1; got 0"),
        (DRAW[:-2], r"Missing option '--seed'"),
        (["score", "none.csv"], r"none\.csv: cannot be read"),
        (["score", "-", "-"], r"can be given only once"),
        (["score", "items.csv"], r'items\.csv:1: no column "left"'),
        (["score", "ballot.csv"], r"ballot\.csv: every item needs an answered comparison .* \(10 in all\)"),
        (["score", "votes.csv", "--json", "--out", "x"], r"--json and --out exclude each other"),
        (["simulate", "--top", 4], r"--n-items is wanted, unless --similarity is a file"),
        ([*SIMULATE, "--similarity", "exponental"], r"one of exponential, power_law, embedding, or a file; got 'exp"),
        ([*SIMULATE, "--similarity", "tokens.csv"], r'tokens\.csv:1: one column "similarity" is wanted'),
        ([*SIMULATE, "--similarity", "z.csv"], r"--n-items is 10, but z\.csv has 3 similarities"),
        (
            ["simulate", "--top", 4, "--similarity", "far.csv"],
            r"far\.csv:3: column .similarity.: '?1\.5'? lies outside",
        ),
        ([*SIMULATE, "--voters", 0], r"n_voters must be a positive whole number; got 0"),
        ([*SIMULATE, "--simulations", 0], r"n_simulations must be a positive whole number; got 0"),
        ([*SIMULATE, "--workers", 0], r"Invalid value for '--workers'"),
        ([*SIMULATE, "--seconds", -1], r"seconds_per_comparison must be"),
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
    (folder / "z.csv").write_text("similarity\n0.5\n0.1\n-0.2\n")
    (folder / "far.csv").write_text("similarity\n0.5\n1.5\n")
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
        (ASKED + "1-1\n", r"<stdin>:3: 2 cells are wanted"),
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
    assert re.fullmatch(r"votes\.csv:\d+: ballot 1 is closed: comparison '1-3' cannot be answered any more", message)
    assert run_ok("run", "record", "v.json", "most.csv").startswith("0 new votes; ballot 2 of 2 can be opened")


def test_score_refuses_an_item_that_was_not_in_the_ballot_before(folder):
    (folder / "1.csv").write_text("left,right,winner\na,b,left\n")
    (folder / "2.csv").write_text("left,right,winner\na,b,left\na,c,tie\n")
    assert refusal("score", "1.csv", "2.csv", "--out", "r.csv") == "2.csv:3: 'c' is not an item of ballot 1"
    (folder / "3.csv").write_text("left,right,winner\na,c,left\n")
    assert refusal("score", "2.csv", "1.csv", "3.csv") == "3.csv:2: 'c' is not an item of ballot 2"
    assert not (folder / "r.csv").exists()


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


def test_a_file_that_is_written_anew_keeps_its_mode_and_its_links(folder):
    target = folder / "kept.csv"
    target.write_text("old")
    target.chmod(0o640)
    (folder / "link.csv").symlink_to(target)
    run_ok("pair", "tokens.csv", "--out", "link.csv")
    assert (folder / "link.csv").is_symlink()
    assert target.read_text().startswith("item_1,item_2")
    assert target.stat().st_mode & 0o777 == 0o640


def test_out_may_be_a_pipe(folder):
    """It is written to, not replaced."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        run_ok("pair", "tokens.csv", "--out", "pipe")
        assert os.read(reader, 18) == b"item_1,item_2,area"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    "command",
    ["", "pair", "plan", "draw", "score", "simulate", "run", *(f"run {name}" for name in cli.run.commands)],
)
def test_help_has_an_example(command):
    stdout = run_ok(*command.split(), "-h")
    assert re.search(r"Example.*:\n +ballots " + command, stdout)


def test_version():
    assert run_ok("--version") == f"ballots {__version__}\n"
