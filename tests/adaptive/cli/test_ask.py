"""`ballots ask`: a program votes; however it fails, no vote is lost, invented or requested twice."""

import math
import os
import re
import shlex
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from adaptive import read_comparisons
from tests.adaptive.cli.conftest import as_csv, check_refused, invoke, refusal, rows_of, run_json, run_ok

pytestmark = pytest.mark.wide

WORDS = ("fig", "kiwi", "cherry", "grape", "banana", "apricot")
PAIRS = "comparison,left,right,winner\n" + "".join(
    f"{n},{left},{right},\n" for n, (left, right) in enumerate(pairwise(WORDS))
)
PREFER_LONGER = "winner = 'left' if len(pair['left']) > len(pair['right']) else 'right'"
PREFER_LONGER_OR_TIE = f"{PREFER_LONGER} if len(pair['left']) < len(pair['right']) else 'tie'"
COUNT_STARTS = (
    "with open('starts', 'a+') as file:\n    file.write('x')\n    file.seek(0)\n    starts = len(file.read())\n"
)


@pytest.fixture(autouse=True)
def pairs(folder):
    (folder / "p.csv").write_text(PAIRS)
    return folder / "p.csv"


def write_judge(body, setup=""):
    """Write a program that runs `setup`, and `body` for every question, which sets the winner; return its command."""
    indented_body = "".join(f"    {line}\n" for line in body.splitlines())
    Path("judge.py").write_text(
        f"import json, os, sys\ncost = {{}}\n{setup}"
        f"for n, line in enumerate(sys.stdin):\n    pair = json.loads(line)\n{indented_body}"
        f"    print(json.dumps({{'id': pair['id'], 'winner': winner, **cost}}), flush=True)\n"
    )
    return f"{shlex.quote(sys.executable)} -S judge.py"


def ask(command, *options, out="v.csv"):
    return run_ok("ask", "p.csv", "--judge", command, "--out", out, *options)


def winners():
    return [row["winner"] for row in rows_of(Path("v.csv").read_text())]


@pytest.mark.parametrize(("answer", "winner"), [("tie", "tie"), (None, "cannot say"), ("right", "right")])
def test_answers_are_written_as_votes(answer, winner):
    ask(write_judge(f"winner = {answer!r}"))
    assert winners() == [winner] * 5
    assert read_comparisons("v.csv").n_unanswered == (5 if answer is None else 0)


def test_a_program_shares_a_campaign_with_people(open_campaign, folder):
    """The program is voter 1; it agrees with the people, whose answers are recorded from another file."""
    alphabet = write_judge("winner = 'left' if pair['left'] < pair['right'] else 'right'")
    n_comparisons = sum(row["voter"] == "1" for row in rows_of((folder / "ballot.csv").read_text()))
    stdout = run_ok("ask", "ballot.csv", "--judge", alphabet, "--voter", "1", "--both-sides", "--out", "program.csv")
    assert stdout.startswith(f"{n_comparisons} comparisons asked, 0 skipped")
    people = [row for row in rows_of((folder / "votes.csv").read_text()) if row["voter"] != "1"]
    (folder / "people.csv").write_text(as_csv(people))
    assert run_ok("run", "record", open_campaign.name, "program.csv").startswith(f"{n_comparisons} new votes")
    assert run_ok("run", "record", open_campaign.name, "people.csv").endswith("20 of 20 comparisons answered\n")
    report = run_json("run", "quality", open_campaign.name)
    assert {row["voter"]: row["n_votes"] for row in report["voters"]}["1"] == n_comparisons


@pytest.mark.usefixtures("open_campaign")
def test_items_of_several_columns_are_lists(folder):
    kinds = write_judge("winner = 'left' if type(pair['left']) is list and len(pair['left']) == 2 else 'right'")
    run_ok("ask", "ballot.csv", "--judge", kinds, "--out", "v.csv")
    assert winners() == ["left"] * 20
    columns = ["comparison", "voter", "left_1", "left_2", "right_1", "right_2", "winner", "cost"]
    assert list(rows_of((folder / "v.csv").read_text())[0]) == columns


def test_a_prompt_is_in_the_question_and_in_the_votes(folder):
    rows = [{"comparison": n, "prompt": f"p{n}", "left": "a", "right": "b", "winner": ""} for n in range(4)]
    (folder / "p.csv").write_text(as_csv(rows))
    command = write_judge("winner = 'left' if pair['prompt'] in ('p1', 'p3') else 'right'")
    assert invoke("ask", "p.csv", "--judge", command, "--out", "v.csv", "--most", "2").exit_code == 0
    assert ask(command).startswith("2 comparisons asked, 2 skipped")
    votes = rows_of((folder / "v.csv").read_text())
    assert [(row["prompt"], row["winner"]) for row in votes] == [
        ("p0", "right"),
        ("p1", "left"),
        ("p2", "right"),
        ("p3", "left"),
    ]
    (folder / "v.csv").write_text((folder / "v.csv").read_text().replace("0,p0", "0,p9"))
    message = refusal("ask", "p.csv", "--judge", command, "--out", "v.csv")
    assert "comparison '0' with this voter, this prompt and these items is not in p.csv" in message


LABELS = ("Zoë's 猫", 'the "big", one', "=1+1", "a;b\tc", "x\N{LINE SEPARATOR}'y\\", "None")


def test_labels_may_be_any_text(folder):
    same, pairs = {"voter": 'Zoë, "Z"', "winner": ""}, enumerate(pairwise(LABELS))
    rows = [{"comparison": f"c {n}", "left": a, "right": b, **same} for n, (a, b) in pairs]
    (folder / "p.csv").write_text(as_csv(rows))
    ask(write_judge(f"winner = 'left' if (pair['left'], pair['right'])[0] in {LABELS!r} else None"))
    assert rows_of((folder / "v.csv").read_text()) == [{**row, "winner": "left", "cost": ""} for row in rows]
    assert ask("false").startswith("0 comparisons asked, 5 skipped")


def interval(n_left, n_right, n):
    """The normal interval of a mean of 1, -1 and 0, with half an observation in each cell of the table of answers."""
    values, weights = [1.0, -1.0, 0.0], [n_left + 0.5, n_right + 0.5, n - n_left - n_right + 1]
    mean = np.average(values, weights=weights)
    half = 1.644854 * math.sqrt(np.average((values - mean) ** 2, weights=weights) / sum(weights))
    return max(-1, mean - half), min(1, mean + half)


@pytest.mark.parametrize(
    ("body", "expected", "counts"),
    [
        ("winner = 'left'", ["tie"] * 5, (5, 0, 5)),
        ("winner = 'right'", ["tie"] * 5, (0, 5, 5)),
        (PREFER_LONGER_OR_TIE, ["right", "right", "left", "right", "right"], (0, 0, 5)),
        ("winner = 'tie'", ["tie"] * 5, (0, 0, 5)),
        ("winner = 'left' if n < 8 else None", [*["tie"] * 4, "cannot say"], (4, 0, 4)),
        ("winner = ['left', 'tie', 'right', 'right', 'left'][n % 5]", [*["tie"] * 4, "right"], (1, 1, 5)),
    ],
)
def test_answers_from_both_sides_are_merged_with_the_side_bias(body, expected, counts):
    stdout = ask(write_judge(body), "--both-sides").splitlines()
    assert winners() == expected
    n_left, n_right, n = counts
    low, high = interval(*counts)
    assert stdout[1:] == [
        f"side bias {(n_left - n_right) / n:+.2f} (90 % interval {low:+.2f} to {high:+.2f}): "
        f"of {n} pairs, {n_left} left both times, {n_right} right"
    ]


def test_each_side_has_its_own_id():
    first = "seen = set()\n"
    ask(write_judge("winner = None if pair['id'] in seen else 'tie'\nseen.add(pair['id'])", first), "--both-sides")
    assert winners() == ["tie"] * 5


def test_no_pair_with_two_answers_has_no_bias():
    assert len(ask(write_judge("winner = None"), "--both-sides").splitlines()) == 1


@pytest.mark.parametrize(
    ("failure", "starts"),
    [
        ("if n == 2 and starts == 1: sys.exit(3)", 2),
        ("if n == 0 and starts < 4: sys.exit()", 4),
        ('if n == 1 and starts == 1: print(\'{"id": "1", "winner"\', end=\'\', flush=True); os._exit(0)', 2),
        ("if n == 1 and starts == 1: os.kill(os.getpid(), 9)", 2),
        ("if n > 0: sys.exit()", 5),  # a program that answers one question
    ],
)
def test_a_program_that_ends_is_started_again(folder, failure, starts):
    stdout = ask(write_judge(f"{failure}\n{PREFER_LONGER}", COUNT_STARTS))
    assert f" {starts - 1} retr" in stdout
    assert (folder / "starts").read_text() == "x" * starts
    assert winners() == ["right", "right", "left", "right", "right"]


def test_a_program_that_always_ends(folder):
    command = write_judge(f"if pair['id'] == '2': sys.exit(7)\n{PREFER_LONGER}", COUNT_STARTS)
    message = refusal("ask", "p.csv", "--judge", command, "--out", "v.csv", "--retries", 2)
    assert message == "comparison '2': the judge ended with status 7, 3 times; 2 votes kept in v.csv"
    assert (folder / "starts").read_text() == "xxx"
    assert ask(write_judge(PREFER_LONGER)).startswith("3 comparisons asked, 2 skipped")
    assert winners() == ["right", "right", "left", "right", "right"]


def test_a_silent_program_is_started_again():
    silent = write_judge(f"if n == 1 and starts == 1: sys.stdin.read()\n{PREFER_LONGER}", COUNT_STARTS)
    stdout = ask(silent, "--timeout", 0.7, "--retries", 30)  # 30, because a machine may be slow
    assert re.match(r"5 comparisons asked, 0 skipped, [1-9]\d* retr", stdout)
    assert winners() == ["right", "right", "left", "right", "right"]


def test_a_silent_program_is_killed_with_its_children(folder):
    """The child of a script inherits the pipe and would keep it open."""
    began = time.monotonic()
    silent = ("--judge", "sh -c 'sleep 20; true'", "--timeout", 0.1, "--retries", 1)
    message = refusal("ask", "p.csv", *silent, "--out", "v.csv")
    assert message == "comparison '0': the judge took more than 0.1 seconds, 2 times; 0 votes kept in v.csv"
    assert time.monotonic() - began < 10
    assert (folder / "v.csv").read_text() == "comparison,left,right,winner,cost\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("loading the model", r"is not JSON; got the line loading the model"),
        ("[" * 99_999, r"is not JSON; got the line \[\["),
        ("[1]", r'must be an object with "id" and "winner"; got the line \[1\]'),
        (r"{\"id\": \"2\"}", r'must be an object with "id" and "winner"'),
        (r"{\"id\": 2, \"winner\": \"left\"}", r"has another id; answers come in the order .* got the line \{"),
        (r"{\"id\": \"1\", \"winner\": \"left\"}", r"has another id"),
        (r"{\"id\": \"2\", \"winner\": \"Left\"}", r'must have the winner "left", "right", "tie" or null; .*"Left"'),
        *(
            (rf"{{\"id\": \"2\", \"winner\": \"tie\", \"cost\": {cost}}}", r"must have a cost .* number of 0 or more")
            for cost in (r"\"1\"", "-0.1", "NaN", "true")
        ),
    ],
)
def test_an_answer_that_is_not_valid(line, message):
    """The votes before it are kept, and it is not retried."""
    command = write_judge(f'if n == 2: print("{line}", flush=True)\n{PREFER_LONGER}', COUNT_STARTS)
    stopped = refusal("ask", "p.csv", "--judge", command, "--out", "v.csv")
    assert re.fullmatch(rf"comparison '2': the judge's answer {message}.*; 2 votes kept in v\.csv", stopped)
    assert (winners(), Path("starts").read_text()) == (["right", "right"], "x")


def test_an_answer_that_is_not_text():
    command = write_judge("sys.stdout.buffer.write(b'\\xff\\n'); sys.stdout.flush(); winner = None")
    assert r"is not JSON; got the line \xff;" in refusal("ask", "p.csv", "--judge", command, "--out", "v.csv")


@pytest.mark.parametrize(
    ("cost", "limit", "n_asked"),
    [
        (0.1, 0.3, 3),
        (0.1, 0.39, 3),
        (0.1, 0.05, 1),
        (1, 5, 5),
        (0, 0.1, 5),
        ("0.1 + 0.1 * n", 0.59, 3),
        ("0.3 - 0.1 * n", 0.5, 1),
    ],
)
def test_asking_stops_at_the_cost_limit(cost, limit, n_asked):
    """Asking stops if an answer at the highest cost so far would exceed the limit; only a costlier one can."""
    command = write_judge(f"{PREFER_LONGER}\ncost = {{'cost': {cost}}}", COUNT_STARTS)
    result = invoke("ask", "p.csv", "--judge", command, "--out", "v.csv", "--most-cost", limit)
    total = sum(float(row["cost"]) for row in rows_of(Path("v.csv").read_text()))
    assert result.stdout.startswith(f"{n_asked} comparisons asked,".replace("1 comparisons", "1 comparison"))
    assert result.stdout.endswith(f", cost {total:.6g}\n")
    left = 5 - n_asked
    assert result.stderr == (f"ballots: note: stopped by --most-cost: {left} comparisons left\n" if left else "")
    if left:  # what was spent before counts
        again = invoke("ask", "p.csv", "--judge", command, "--out", "v.csv", "--most-cost", limit)
        assert again.stdout.startswith(f"0 comparisons asked, {n_asked} skipped")
        assert Path("starts").read_text() == "x"


def test_the_cost_of_a_comparison_is_that_of_both_sides():
    result = invoke(
        *("ask", "p.csv", "--judge", write_judge("winner = 'tie'\ncost = {'cost': 0.1 * (n + 1)}")),
        *("--out", "v.csv", "--both-sides", "--most", 2),
    )
    assert [row["cost"] for row in rows_of(Path("v.csv").read_text())] == ["0.3", "0.7"]
    assert ", 2 ties, cost 1\n" in result.stdout


def test_a_limit_of_the_cost_needs_costs():
    command = write_judge(PREFER_LONGER)
    message = refusal("ask", "p.csv", "--judge", command, "--out", "v.csv", "--most-cost", 1)
    assert 'the judge\'s answer must have a "cost", which --most-cost needs; got the line {"id": "0"' in message


def test_asking_stops_at_the_time_limit():
    result = invoke("ask", "p.csv", "--judge", "false", "--out", "v.csv", "--most-seconds", 1e-9)
    assert result.stderr == "ballots: note: stopped by --most-seconds: 5 comparisons left\n"


def test_answered_pairs_are_skipped(pairs):
    pairs.write_text(PAIRS.replace("kiwi,cherry,", "kiwi,cherry,left"))
    assert ask(write_judge(PREFER_LONGER)).startswith("4 comparisons asked, 1 skipped")
    assert [row["comparison"] for row in rows_of(Path("v.csv").read_text())] == ["0", "2", "3", "4"]


def test_the_progress_is_shown(bars):
    ask(write_judge(PREFER_LONGER))
    ask(write_judge(PREFER_LONGER))
    assert (bars.totals, bars.steps) == ([(5, "comparison"), (0, "comparison")], [1] * 5)


def test_a_killed_run_is_continued(folder):
    """The program kills `ballots ask` at its fourth question."""
    command = write_judge(f"if n == 3: os.kill(os.getppid(), 9); sys.exit()\n{PREFER_LONGER}")
    killed = subprocess.run(
        [sys.executable, "-m", "adaptive._cli.main", "ask", "p.csv", "--judge", command, "--out", "v.csv"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=False,
    )  # fmt: skip
    assert killed.returncode == -9
    assert winners() == ["right", "right", "left"]
    assert ask(write_judge(PREFER_LONGER)).startswith("2 comparisons asked, 3 skipped, 0 retries; 5 votes in all")
    continued = (folder / "v.csv").read_bytes()
    ask(write_judge(PREFER_LONGER), out="whole.csv")
    assert continued == (folder / "whole.csv").read_bytes()


@pytest.mark.parametrize("cut", [0, 1, 20, 33, 34, 36, 45, 54, -20, -1])
def test_a_torn_line_is_asked_again(pairs, folder, cut):
    pairs.write_text(PAIRS.replace("fig", '"f, ""i"""').replace("apricot", '"Zoë, x"'))
    ask(write_judge(PREFER_LONGER))
    complete = (folder / "v.csv").read_bytes()
    remainder = complete[:cut]
    (folder / "v.csv").write_bytes(remainder)
    result = invoke("ask", "p.csv", "--judge", write_judge(PREFER_LONGER), "--out", "v.csv")
    assert (folder / "v.csv").read_bytes() == complete
    torn = remainder.rpartition(b"\n")[2]
    dropped = "ballots: note: v.csv: the last line was not complete and is dropped: "
    assert result.stderr.startswith(dropped) == bool(torn)
    n_complete = max(remainder.count(b"\n") - 1, 0)
    assert result.stdout.startswith(f"{5 - n_complete} comparison{'s' * (n_complete < 4)} asked, {n_complete} skipped")


VOTES = "comparison,left,right,winner,cost\n0,fig,kiwi,left,\n"


@pytest.mark.parametrize(
    ("votes", "options", "message"),
    [
        ("some notes", [], r"v\.csv:1: cannot be continued: expected the columns comparison,left,right,winner,cost; "),
        (VOTES, ["--both-sides"], r"cannot be continued: expected the columns .*,winner,cost,shown,exchanged; "),
        (VOTES, ["--voter", "Ann"], r"expected the columns comparison,voter,left,right,winner,cost; "),
        (VOTES + "9,kiwi,cherry,left,\n", [], r"v\.csv:3: comparison '9' with this voter and these items is not in p"),
        (VOTES + "0,fig,kiwi,left,\n", [], r"v\.csv:[0-9]+: comparison '0' is listed twice .lines 2 and"),
        (VOTES + "1,kiwi,cherry,,\n", [], r"v\.csv:3: comparison '1' has no winner"),
        (VOTES + "1,kiwi,cherry,up,\n", [], r'v\.csv:3: column "winner": .*up'),
        (VOTES + "1,kiwi,cherry,left,dear\n", [], r"v\.csv:3: comparison '1' has a cost that is not a finite number"),
        (VOTES + "1,kiwi\n2,che", [], r"v\.csv:3: expected 5 cells"),
    ],
)
def test_a_file_of_another_kind_is_not_continued(folder, votes, options, message):
    (folder / "v.csv").write_text(votes)
    check_refused(["ask", "p.csv", "--judge", "false", "--out", "v.csv", *options], message)


def test_another_voter_does_not_continue_a_file(pairs):
    pairs.write_text("comparison,voter,left,right,winner\n0,Ann,a,bb,\n1,Bob,a,bb,\n")
    assert ask(write_judge(PREFER_LONGER), "--voter", "Ann").startswith("1 comparison asked")
    assert ask(write_judge(PREFER_LONGER), "--voter", "Bob").startswith("1 comparison asked")  # of the same pairs
    assert [row["voter"] for row in rows_of(Path("v.csv").read_text())] == ["Ann", "Bob"]
    pairs.write_text("comparison,left,right,winner\n0,a,bb,\n1,a,bb,\n")
    check_refused(["ask", "p.csv", "--judge", "false", "--out", "v.csv", "--voter", "Cem"], "'0' with this voter and")


COMMAND = ("ask", "p.csv", "--judge", "false", "--out", "w.csv")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ask", "p.csv", "--judge", "", "--out", "w.csv"], r"--judge names no program"),
        (["ask", "p.csv", "--judge", "x 'y", "--out", "w.csv"], r"--judge cannot be split into words: No closing quot"),
        (["ask", "none.csv", "--judge", "false", "--out", "w.csv"], r"none\.csv: cannot be read: No such file"),
        (["ask", "items.json", "--judge", "false", "--out", "w.csv"], r"items\.json: is JSON; expected comparisons as"),
        (["ask", "twice.csv", "--judge", "false", "--out", "w.csv"], r"twice\.csv:[0-9]+: comparison '0'"),
        (["ask", "plain.csv", "--judge", "false", "--out", "w.csv"], r'plain\.csv:1: no column "comparison"'),
        (["ask", "none_yet.csv", "--judge", "false", "--out", "w.csv"], r"none_yet\.csv has no comparison"),
        (["ask", "voters.csv", *COMMAND[2:], "--voter", "Bob"], r"no comparison .* voter 'Bob'"),
        (["ask", "p.csv", "--judge", "false", "--out", "."], r"\.: is not a file"),
        (["ask", "p.csv", "--judge", "false", "--out", "p.csv"], r"p\.csv: this command reads the file"),
        ([*COMMAND, "--voter", " Ann"], r"--voter must be one line of text without spaces around it"),
        ([*COMMAND, "--most-cost", "inf"], "--most-cost must be a finite number above 0; got inf"),
        (["ask", "p.csv", "--judge", "false", "--out", "none/w.csv"], r"none/w\.csv: cannot be written: No such file"),
    ],
)
def test_invalid_arguments_are_refused(folder, arguments, message):
    (folder / "items.json").write_text('[{"comparison": "0", "left": "a\\nb", "right": "c", "winner": ""}]')
    (folder / "twice.csv").write_text(PAIRS + "0,fig,kiwi,\n")
    (folder / "plain.csv").write_text("left,right,winner\na,b,\n")
    (folder / "none_yet.csv").write_text("comparison,left,right,winner\n")
    (folder / "voters.csv").write_text("comparison,voter,left,right,winner\n0,Ann,a,b,\n")
    check_refused(arguments, message)


def test_a_program_that_does_not_exist():
    message = refusal("ask", "p.csv", "--judge", "./no-judge --fast", "--out", "v.csv")
    assert message.startswith("--judge: ./no-judge cannot be started: ")
