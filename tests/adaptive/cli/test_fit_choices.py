"""`ballots fit` with answers of any kind."""

import json

import pytest

from adaptive import read_choices
from tests.adaptive.cli.commands import refusal, run_ok

FILES = {
    "pairs": "left,right,winner,voter,prompt,left_length,right_length\na,b,left,J,p,9,5\nb,a,left,J,p,3,4\n"
    "a,b,left,Ann,p,1,2\nb,c,both bad,Ann,q,2,2\nc,a,right,Ann,q,1,5\na,c,right,J,q,2,2\n",
    "grades": "left,right,grade,voter\na,b,2,Ann\nb,c,0,Bob\na,c,-1,Bob\n",
    "best-worst": "item_1,item_2,item_3,best,worst\na,b,c,a,c\na,b,d,b,d\n",
    "rankings": "ranking\na > b = c\nb > a\n",
}


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / f"{name}.csv").write_text(text)


@pytest.mark.parametrize("kind", FILES)
def test_strengths_are_those_of_the_library(kind):
    content = json.loads(run_ok("fit", f"{kind}.csv", *(["--both-bad", "tie"] if kind == "pairs" else []), "--json"))
    fit = read_choices(f"{kind}.csv").choices().fit()
    strengths = {row["item"]: row["strength"] for row in content["items"]}
    assert content["kind"] == kind
    assert [strengths[item] for item in fit.items] == pytest.approx(fit.theta.tolist())
    assert {row["name"]: row["estimate"] for row in content["others"]} == pytest.approx(
        {name: value for name, (value, _) in fit.others.items()}
    )


@pytest.mark.parametrize("kind", FILES)
def test_everything_on_pairs_is_printed(kind, tmp_path):
    options = "--swapped tie --cluster both --covariate length --judge J --prior 1 --elo --better a b"
    text = run_ok("fit", "pairs.csv", *options.split())
    assert "3 items, 5 votes on pairs, made of 6 by merging swapped pairs, 1 both bad (a tie), 2 voters" in text
    assert "clustered by voter and prompt" in text
    assert "length " in text
    assert "elo" in text
    assert "J: side bias +1.00 (90 % interval" in text
    assert "J agrees with the other voters in " in text
    assert "a is better than b with probability " in text
    run_ok("fit", f"{kind}.csv", "--prior", "1", "--both-bad", "left out", "--out", "ranking.csv")
    assert (tmp_path / "ranking.csv").read_text().startswith("item,rank,strength,standard_error,rank_low,rank_high\n")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("grades.csv rankings.csv", "answers of several kinds: grades.csv: graded votes, rankings.csv: rankings"),
        ("grades.csv --model borda", "--model borda cannot be used with graded votes"),
        ("pairs.csv --cluster voter --voters", "--voters cannot be used with --cluster"),
        ("rankings.csv --report report.md", "--report cannot be used with rankings"),
        ("- --cluster voter", "--cluster needs files of votes; it cannot read a ledger or standard input"),
        ("grades.csv --better a z", "--better: no item is called 'z'"),
        ("grades.csv --cluster prompt", "need the prompt of each answer"),
        ("pairs.csv --judge Z", "no voter is called 'Z'"),
    ],
)
def test_a_wrong_option_is_refused(args, message):
    assert message in refusal("fit", *args.split())
