"""`ballots fit`: strengths are those of the library, of one file of votes, several, or a voting of `ballots run`."""

import json
import re

import numpy as np
import pytest

from adaptive import Comparisons, borda, bradley_terry, plan_ballots, rank_centrality, read_comparisons, thurstone
from adaptive._tables import read_items
from adaptive.model import _estimators as estimators
from tests.adaptive.cli.commands import as_csv, invoke, refusal, rows_of, run_ok, vote
from tests.adaptive.votings import Voting

pytestmark = pytest.mark.wide

VOTES = """comparison,voter,left,right,winner
0,Ann,fig,kiwi,left
1,Ann,fig,plum,left
2,Bob,plum,kiwi,tie
3,Bob,kiwi,fig,right
4,Cyd,plum,fig,left
5,Cyd,kiwi,plum,
6,Bob,kiwi,plum,left
"""


def notes_of(*args):
    result = invoke(*args)
    assert result.exit_code == 0
    return [line.removeprefix("ballots: note: ") for line in result.stderr.splitlines()]


def fit_of_few(*args):
    """What `fit` prints of six votes: that they may be chance is noted."""
    result = invoke("fit", *args)
    assert result.exit_code == 0
    note = "ballots: note: the votes do not rule out chance: the order may be random\n"
    assert result.stderr == ("" if {"borda", "rank-centrality"} & set(args) else note)
    return result.stdout


def table_of(fitted, level=0.9):
    """The rows of a fit with the intervals of its ranks, in the columns of the command."""
    rows = fitted.to_dict()["items"]
    if "score" in rows[0]:
        return rows
    intervals = fitted.rank_intervals(level)
    places = {"/".join(item) if isinstance(item, tuple) else item: place for place, item in enumerate(intervals.items)}
    for row in rows:
        place = places["/".join(row["item"]) if isinstance(row["item"], list) else row["item"]]
        ends = {"rank_low": int(intervals.low[place]), "rank_high": int(intervals.high[place])}
        counts = {name: row.pop(name) for name in ("presentations", "wins", "ties", "losses")}
        row.update(ends | counts)
    return rows


def test_the_table(votes):
    fitted = bradley_terry(votes)
    head, model, _, *table = fit_of_few("v.csv").splitlines()
    assert head == "3 items, 6 votes (1 tie), 1 comparison without an answer, 3 voters"
    assert model == (
        f"bradley-terry: converged in {fitted.n_iterations} iterations, "
        f"prior sd {fitted.prior_sd:.3g} (from the votes), tie parameter {fitted.tie_parameter:.3g}"
    )
    assert re.split("  +", table[0]) == [
        "item", "rank", "strength", "standard error", "rank low", "rank high", "presentations", "wins", "ties", "losses"
    ]  # fmt: skip
    rows = table_of(fitted)
    assert [line.split() for line in table[1:]] == [
        [row["item"], f"{row['rank']:g}", f"{row['strength']:.3f}", f"{row['standard_error']:.3f}"]
        + [str(row[name]) for name in ("rank_low", "rank_high", "presentations", "wins", "ties", "losses")]
        for row in rows
    ]


@pytest.mark.parametrize(
    ("arguments", "fit"),
    [
        ("", bradley_terry),
        ("--ties half --prior 1.5", lambda votes: bradley_terry(votes, ties="half", prior=1.5)),
        ("--voters --side-bias", lambda votes: bradley_terry(votes, voters=True, side_bias=True)),
        ("--model thurstone --oversight 0.1", lambda votes: thurstone(votes, oversight=0.1)),
        ("--model borda", borda),
        ("--model rank-centrality --alpha 0.5", lambda votes: rank_centrality(votes, alpha=0.5)),
    ],
)
def test_the_options_are_those_of_the_library(votes, folder, arguments, fit):
    fitted = fit(votes)
    expected = {**fitted.to_dict(), "items": table_of(fitted)}
    found = json.loads(fit_of_few("v.csv", "--json", *arguments.split()))
    assert {name: found[name] for name in expected} == expected
    assert (found["n_items"], found["n_comparisons"], found["n_ties"], found["n_unanswered"]) == (3, 6, 1, 1)
    assert found["n_voters"] == 3
    assert fit_of_few("v.csv", "--out", "r.csv", *arguments.split()) == "3 items written to r.csv\n"
    rows = rows_of((folder / "r.csv").read_text())
    assert rows == [{name: str(value) for name, value in row.items()} for row in expected["items"]]
    fit_of_few("v.csv", *arguments.split())


@pytest.mark.usefixtures("votes")
def test_the_best_items_alone(folder):
    assert fit_of_few("v.csv", "--top", 1).endswith("... and 2 more: --top N prints them, --out FILE writes them\n")
    assert len(json.loads(fit_of_few("v.csv", "--top", 2, "--json"))["items"]) == 2
    assert len(rows_of(fit_of_few("v.csv", "--top", 2, "--out", "-"))) == 2
    many = [{"left": f"item {n}", "right": f"item {n + 1}", "winner": "tie"} for n in range(30)]
    (folder / "many.csv").write_text(as_csv(many))
    stdout = invoke("fit", "many.csv").stdout
    assert stdout.count("\nitem ") == 21
    assert stdout.endswith("... and 11 more: --top N prints them, --out FILE writes them\n")


def test_what_to_know_of_a_fit_is_on_stderr(folder):
    (folder / "v.csv").write_text("left,right,winner\na,b,left\nc,d,left\n")
    (folder / "items.csv").write_text("item\na\nb\nc\nd\ne\n")
    expected = bradley_terry(read_comparisons("v.csv", items=["a", "b", "c", "d", "e"])).warnings
    assert len(expected) == 6
    for more in ([], ["--json"], ["--out", "r.csv"]):
        assert notes_of("fit", "v.csv", "--items", "items.csv", *more) == list(expected)
    assert notes_of("fit", "v.csv", "--items", "items.csv", "--model", "borda") == [
        "items never compared are last, without a score: 1"
    ]
    assert invoke("fit", "v.csv", "--items", "items.csv", "--model", "borda").stdout.splitlines()[-1].split() == [
        "e", "5", "-", "0", "0", "0", "0"
    ]  # fmt: skip


def test_several_files_are_one_list_of_votes(folder, votes):
    header, *rows = VOTES.splitlines(keepends=True)
    (folder / "1.csv").write_text(header + "".join(rows[:2]))
    (folder / "2.csv").write_text(header + "".join(rows[2:]))
    found = json.loads(fit_of_few("1.csv", "2.csv", "--json"))
    assert found["items"] == table_of(bradley_terry(votes))
    assert found["n_unanswered"] == 1


@pytest.mark.usefixtures("opened")
def test_a_voting_of_ballots_run(folder):
    vote(folder / "ballot.csv", folder / "some.csv", skipped={"b1-0-3", "b1-1-0"})
    run_ok("run", "record", "v.db", "some.csv")
    protocol = Voting(plan_ballots(10, n_ballots=2, fraction=0.5, presentations=4), read_items("items.csv"), 3, 1)
    protocol.open_ballot()
    sides = ("voter", "left_1", "left_2", "right_1", "right_2")
    said = {tuple(row[side] for side in sides): row["winner"] for row in rows_of((folder / "some.csv").read_text())}
    answers = {each.id: said[str(each.voter), *each.left, *each.right] for each in protocol.comparisons()}
    protocol.record({name: answer for name, answer in answers.items() if answer})
    expected = bradley_terry(Comparisons.from_ballots(protocol.voted, items=protocol.items, voters=protocol.voters))
    found = json.loads(invoke("fit", "v.db", "--json").stdout)
    assert found["items"] == table_of(expected)
    assert found["n_unanswered"] == 2
    of_file = json.loads(invoke("fit", "some.csv", "--json").stdout)
    strengths = [[(row["item"], row["rank"]) for row in document["items"]] for document in (found, of_file)]
    assert strengths[0] == strengths[1]
    # Together with files, voters and items are the same ones: the voters of a voting are numbers, of files text.
    twice = json.loads(invoke("fit", "v.db", "some.csv", "--json").stdout)
    assert (twice["n_voters"], twice["n_items"]) == (3, 10)
    (folder / "few.csv").write_text("item_1,item_2\nbonus,price\n")
    assert re.search(r"v\.db: item .* is not among the items of --items", refusal("fit", "v.db", "--items", "few.csv"))


def test_other_formats(folder):
    (folder / "arena.jsonl").write_text('{"model_a": "gnu", "model_b": "yak", "winner": "model_b", "judge": "Ann"}\n')
    assert json.loads(invoke("fit", "arena.jsonl", "--json").stdout)["items"][0]["item"] == "yak"
    (folder / "pairs.csv").write_text("0,1\n2,1\n")
    assert json.loads(invoke("fit", "pairs.csv", "--format", "choix", "--json").stdout)["n_items"] == 3


def test_files_that_name_things_otherwise(folder):
    text = "first;second;choice;who\nGrün;Rot;A;Ann\nRot;Blau;same;Bob\nGrün;Blau;;Bob\n"
    (folder / "v.csv").write_text(text, encoding="latin-1")
    read = ("--encoding", "latin-1", "--columns", "left=first,right=second,winner=choice,voter=who")
    found = json.loads(invoke("fit", "v.csv", "--json", *read, "--answers", "A=left,same=tie").stdout)
    assert (found["n_comparisons"], found["n_ties"], found["n_unanswered"], found["n_voters"]) == (2, 1, 1, 2)
    assert found["items"][0]["item"] == "Grün"
    (folder / "n.csv").write_text("left,right,winner\na,b,1\nb,c,0\n")
    for answers, n_ties in (("left_won", 0), ("codes", 1), ('"1=left",0=right', 0)):
        found = json.loads(invoke("fit", "n.csv", "--json", "--answers", answers).stdout)
        assert (found["n_comparisons"], found["n_ties"]) == (2, n_ties)


def test_a_fit_that_has_not_converged_says_so(votes, monkeypatch):
    monkeypatch.setattr(estimators, "bradley_terry", lambda votes, **_: bradley_terry(votes, prior=2, max_iterations=1))
    result = invoke("fit", "v.csv")
    assert "not converged after 1 iteration," in result.stdout
    assert "the fit has not converged in 1 iterations" in result.stderr
    assert np.all(votes.presentations > 0)


def test_numbers_of_json_are_the_items_of_csv(folder):
    (folder / "v.json").write_text('[{"left": 7, "right": 8, "winner": "left", "voter": 1}]')
    (folder / "v7.csv").write_text("left,right,winner,voter\n8,7,left,1\n")
    assert invoke("fit", "v.json", "v7.csv").stdout.splitlines()[0] == "2 items, 2 votes, 1 voter"
    (folder / "w.csv").write_text("winner,loser,weight\na,b,0.5\n")
    assert '--ignore "weight"' in refusal("fit", "w.csv")
    assert "2 items, 1 vote" in invoke("fit", "w.csv", "--ignore", "weight").stdout
    (folder / "n.csv").write_text("winner,loser\n7,8\n")
    note = invoke("fit", "n.csv").stderr
    assert "7 items have no vote; --format pairs reads the numbers as names, and --format choix counts" in note


@pytest.mark.usefixtures("votes")
def test_the_level_of_intervals_and_pairs(votes):
    fitted = bradley_terry(votes)
    arguments = ("--level", 0.5, "--better", "fig", "plum", "--better", "plum", "fig")
    found = json.loads(fit_of_few("v.csv", "--json", *arguments))
    assert found["items"] == table_of(fitted, level=0.5)
    assert found["better"] == [fitted.better(*pair, level=0.5).to_dict() for pair in (("fig", "plum"), ("plum", "fig"))]
    better = fitted.better("fig", "plum")
    assert fit_of_few("v.csv", "--better", "fig", "plum").splitlines()[-1] == (
        f"fig is better than plum with probability {better.probability:.3f} +- {better.standard_error:.3f}; strengths "
        f"differ by {better.difference:+.3f} ({better.interval[0]:+.3f} to {better.interval[1]:+.3f})"
    )
    assert "--better: no item is called 'date'" in refusal("fit", "v.csv", "--better", "fig", "date")
    assert "--better needs a model with strengths" in refusal(
        "fit", "v.csv", "--better", "fig", "plum", "--model", "borda"
    )
    assert "level must be a number between 0 and 1" in refusal("fit", "v.csv", "--level", 1)
