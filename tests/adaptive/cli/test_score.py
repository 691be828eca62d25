"""The command `ballots score`: what the voting gives, from its files of votes alone."""

import json

import numpy as np
import pytest

from tests.adaptive.cli.commands import as_csv, refusal, rows_of, run_ok

pytestmark = pytest.mark.wide


def test_score_by_hand():
    votes = "left,right,winner\na,b,left\nb,c,tie\nc,a,right\nb,a,\n"
    # a wins both of its answered comparisons; b and c have half a win in two.
    assert run_ok("score", "-", stdin=votes).splitlines() == [
        "item,rank,ybar,presentations,wins,ties,losses,last_ballot",
        "a,1.0,1.0,3,2,0,0,1",
        "b,2.5,0.25,3,0,1,1,1",
        "c,2.5,0.25,2,0,1,1,1",
    ]
    assert run_ok("score", "-", "--out", "r.csv", stdin=votes) == "3 items written to r.csv\n"


@pytest.mark.parametrize("seed", range(4))
def test_score_and_the_result_of_the_voting_are_the_same_bytes(folder, seed):
    """Whatever the order of the rows: 60 items, three ballots, random votes with ties and gaps."""
    rng = np.random.default_rng(seed)
    (folder / "items.csv").write_text("item\n" + "".join(f"{place}\n" for place in rng.permutation(60)))
    options = ("--ballots", 3, "--presentations", 7, "--voters", 3, "--seed", seed)
    run_ok("run", "init", "v.db", "--items", "items.csv", *options)
    for number in (1, 2, 3):
        rows = rows_of(run_ok("run", "open", "v.db"))
        for row in rows:
            row["winner"] = rng.choice(["left", "right", "tie", ""], p=[0.5, 0.2, 0.2, 0.1])
        rng.shuffle(rows)
        (folder / f"{number}.csv").write_text(as_csv(rows))
        run_ok("run", "record", "v.db", f"{number}.csv")
        run_ok("run", "close", "v.db", "--least-answered", "0.8")
    run_ok("run", "result", "v.db", "--paper", "--out", "result.csv")
    run_ok("score", "1.csv", "2.csv", "3.csv", "--out", "score.csv")
    assert (folder / "score.csv").read_bytes() == (folder / "result.csv").read_bytes()
    result = json.loads(run_ok("run", "result", "v.db", "--paper", "--json"))
    scored = json.loads(run_ok("score", "1.csv", "2.csv", "3.csv", "--json"))
    assert scored["items"] == result["items"]
    assert [each["b"] for each in scored["ballots"]] == [each["b"] for each in result["ballots"]]


def test_score_refuses_an_item_that_was_not_in_the_ballot_before(folder):
    (folder / "1.csv").write_text("left,right,winner\na,b,left\n")
    (folder / "2.csv").write_text("left,right,winner\na,b,left\na,c,tie\n")
    assert refusal("score", "1.csv", "2.csv", "--out", "r.csv") == "2.csv:3: 'c' is not an item of ballot 1"
    (folder / "3.csv").write_text("left,right,winner\na,c,left\n")
    assert refusal("score", "2.csv", "1.csv", "3.csv") == "3.csv:2: 'c' is not an item of ballot 2"
    assert not (folder / "r.csv").exists()
