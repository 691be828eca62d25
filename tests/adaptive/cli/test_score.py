"""The command `ballots score`: what the voting gives, from its files of votes alone."""

import json
import re

import pytest
from numpy.testing import assert_allclose

from tests.adaptive.cli.commands import contents, refusal, rows_of, run_ok, vote


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


def test_score_refuses_an_item_that_was_not_in_the_ballot_before(folder):
    (folder / "1.csv").write_text("left,right,winner\na,b,left\n")
    (folder / "2.csv").write_text("left,right,winner\na,b,left\na,c,tie\n")
    assert refusal("score", "1.csv", "2.csv", "--out", "r.csv") == "2.csv:3: 'c' is not an item of ballot 1"
    (folder / "3.csv").write_text("left,right,winner\na,c,left\n")
    assert refusal("score", "2.csv", "1.csv", "3.csv") == "3.csv:2: 'c' is not an item of ballot 2"
    assert not (folder / "r.csv").exists()


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "none.csv"], r"none\.csv: cannot be read"),
        (["score", "-", "-"], r"can be given only once"),
        (["score", "items.csv"], r'items\.csv:1: no column "left"'),
        (["score", "ballot.csv"], r"ballot\.csv: every item needs an answered comparison .* \(10 in all\)"),
        (["score", "votes.csv", "--json", "--out", "x"], r"--json and --out exclude each other"),
    ],
)
def test_refused(folder, arguments, message):
    before = contents(folder)
    assert re.search(message, refusal(*arguments))
    assert contents(folder) == before
