"""`ballots fit` with answers of any kind."""

import json
import re

import numpy as np
import pytest

from adaptive import prediction_powered, read_choices
from adaptive._cli import fit as fit_commands
from adaptive.choices._answers import joined_answers
from adaptive.plots import plot_strengths
from tests.adaptive.cli.conftest import invoke, refusal

FILES = {
    "pairs": "left,right,winner,voter,prompt,left_length,right_length\na,b,left,J,p,9,5\nb,a,left,J,p,3,4\n"
    "a,b,left,Ann,p,1,2\nb,c,both bad,Ann,q,2,2\nc,a,right,Ann,q,1,5\na,c,right,J,q,2,2\n",
    "grades": "left,right,grade,voter\na,b,2,Ann\nb,c,0,Bob\na,c,-1,Bob\n",
    "best-worst": "item_1,item_2,item_3,best,worst\na,b,c,a,c\na,b,d,b,d\n",
    "rankings": "ranking\na > b = c\nb > a\n",
}

VOTES = "left,right,winner,voter\na,b,left,J\nb,c,left,J\nc,a,right,J\na,b,right,Ann\nb,c,left,Ann\na,c,left,Ann\n"


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / f"{name}.csv").write_text(text)
    (tmp_path / "votes.csv").write_text(VOTES)


def run_quietly(*args):
    """Standard output of a successful command; notes on few voters go to stderr."""
    result = invoke(*args)
    assert result.exit_code == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("kind", FILES)
def test_strengths_are_those_of_the_library(kind):
    options = ["--both-bad", "tie"] if kind == "pairs" else []
    content = json.loads(run_quietly("fit", f"{kind}.csv", *options, "--json"))
    fit = read_choices(f"{kind}.csv").choices().fit()
    strengths = {row["item"]: row["strength"] for row in content["items"]}
    assert content["kind"] == kind
    assert [strengths[item] for item in fit.items] == pytest.approx(fit.theta.tolist())
    assert {row["name"]: row["estimate"] for row in content["others"]} == pytest.approx(
        {name: value for name, (value, _) in fit.others.items()}
    )


def test_a_strength_of_zero_has_no_sign(tmp_path):
    (tmp_path / "sets.csv").write_text("items,best,worst\na|b|c|d,,\na|b|c|e,b,e\nb|c|d|e,b,e\n")
    printed = run_quietly("fit", "sets.csv")
    assert " 0.000 " in printed
    assert "-0.000" not in printed


@pytest.mark.parametrize("form", ["pairs", "votes"])
def test_selected_voters_are_fitted_like_a_file_of_their_votes(form, tmp_path):
    """The second kind of file is fitted as comparisons, with voters but without prompts."""
    rows = {**FILES, "votes": VOTES}[form].splitlines(keepends=True)
    for voter, file, option in (("J", "program.csv", "--only"), ("Ann", "people.csv", "--without")):
        (tmp_path / file).write_text("".join([rows[0], *(row for row in rows if f",{voter}" in row)]))
        options = ["--both-bad", "tie", "--prior", "1", "--json"] if form == "pairs" else ["--json"]
        assert run_quietly("fit", f"{form}.csv", option, "J", *options) == run_quietly("fit", file, *options)


@pytest.fixture
def _people_and_judge(tmp_path):
    """Answers of people on 60 prompts in CSV, and those of a judge on 240 in JSON, whose prompts are numbers."""
    rng = np.random.default_rng(3)
    left = rng.integers(0, 4, 240)
    right = (left + rng.integers(1, 4, 240)) % 4
    of_people = rng.logistic(size=240) < (right - left) / 2
    of_judge = np.where(rng.random(240) < 0.9, of_people, ~of_people)
    sides = [("abcd"[i], "abcd"[j]) for i, j in zip(left, right, strict=True)]
    winner = [["right", "left"][wins] for wins in of_people.astype(int)]
    lines = [f"{one},{two},{won},Ann,{n}\n" for n, ((one, two), won) in enumerate(zip(sides, winner, strict=True))]
    (tmp_path / "people.csv").write_text(
        "left,right,winner,voter,prompt\n" + "".join(lines[:60]) + "a,b,both bad,Ann,61\n"
    )
    rows = [
        {"left": one, "right": two, "winner": ["right", "left"][int(wins)], "voter": "gpt", "prompt": n}
        for n, ((one, two), wins) in enumerate(zip(sides, of_judge, strict=True))
    ]
    (tmp_path / "judge.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.usefixtures("_people_and_judge")
def test_a_judge_makes_the_ranking_of_people_more_precise():
    files = ("people.csv", "judge.jsonl")
    content = json.loads(run_quietly("fit", *files, "--powered-by", "gpt", "--both-bad", "left out", "--json"))
    answers = joined_answers([read_choices(file) for file in files])
    human = answers.of_voters(["gpt"], others=True).without_both_bad()
    both = prediction_powered(human, answers.of_voters(["gpt"]))
    assert content["prediction_powered"] == {"judge": "gpt", "weight": both.weight, "n_prompts": 60}
    assert both.weight > 0.5
    rows = {row["item"]: (row["strength"], row["standard_error"]) for row in content["items"]}
    assert [rows[item] for item in both.items] == list(zip(both.theta, both.standard_errors, strict=True))
    assert content["n_answers"] == 61
    text = run_quietly("fit", *files, "--powered-by", "gpt", "--judge", "gpt")
    weight = prediction_powered(answers.of_voters(["gpt"], others=True), answers.of_voters(["gpt"])).weight
    assert f"240 of the judge with the weight {weight:.2f}" in text
    assert "clustered by prompt, 61 of which have votes of people and the judge" in text
    assert "with gpt " in text
    assert "1 voter other than 'gpt' counts as people: 'Ann'; leave out programs among them" in content["warnings"]
    for option, message in {
        "--swapped=tie": "--swapped cannot be used with --powered-by (both votes",
        "--cluster=prompt": "--cluster cannot be used with --powered-by (intervals are always clustered by prompt)",
        "--side-bias": "--side-bias cannot be used with --powered-by (the votes of people correct any bias",
        "--without=gpt": "--powered-by gpt compares this voter with all others",
    }.items():
        assert message in refusal("fit", *files, "--powered-by", "gpt", option)
    assert "no voter is called 'Z'" in refusal("fit", *files, "--powered-by", "Z")
    without_prompts = refusal("fit", *files, "--powered-by", "gpt", "--ignore", "prompt")
    assert without_prompts == "the prompts are unknown: answers need a column prompt"


def test_votes_are_never_written_over(tmp_path):
    votes = tmp_path / "votes.csv"
    votes.write_text("item,rank\na,1\nb,2\n")
    assert "votes.csv: this command reads the file; write to another one" in refusal("fit", votes, "--out", "votes.csv")
    assert votes.read_text() == "item,rank\na,1\nb,2\n"
    assert run_quietly("fit", votes, "--out", "ranking.csv").startswith("2 items, 1 ranking, voters not known\n")
    assert "2 items written" in run_quietly("fit", votes, "--out", "ranking.csv")


@pytest.mark.usefixtures("_people_and_judge")
def test_files_may_have_different_columns(tmp_path):
    """The file of people has an extra column to ignore, and another name for the winner."""
    text = (tmp_path / "people.csv").read_text().replace("winner", "preferred").replace("prompt\n", "prompt,grade\n")
    (tmp_path / "people.csv").write_text(text.replace("\na,b,both bad", ",\na,b,both bad").replace(",61\n", ",61,\n"))
    rows = (tmp_path / "people.csv").read_text().splitlines()
    lines = [rows[0], *(f"{row.rstrip(',')}," for row in rows[1:])]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    options = ["--ignore", "grade", "--columns", "winner=preferred", "--powered-by", "gpt"]
    assert "61 votes on pairs, 240 of the judge" in run_quietly("fit", "people.csv", "judge.jsonl", *options)
    assert "there is no column 'x'" in refusal("fit", "people.csv", "judge.jsonl", *options, "--ignore", "x")
    for option in ("--powered-by", "--judge"):
        assert "no voter is called ''" in refusal("fit", "judge.jsonl", option, "")


def test_files_have_the_side_bias_and_the_judge_too():
    options = ["pairs.csv", "--swapped", "tie", "--judge", "J", "--prior", "1", "--both-bad", "tie"]
    lines = run_quietly("fit", *options, "--out", "ranking.csv").splitlines()
    assert lines[0].startswith("3 items, 5 votes on pairs")
    assert "3 items written to ranking.csv" in lines
    assert [line for line in lines if line.startswith("J")] == [
        line for line in run_quietly("fit", *options).splitlines() if line.startswith("J")
    ]


def test_limits_of_a_ranking_by_few_voters_are_noted(tmp_path):
    notes = invoke("fit", "pairs.csv", "--only", "J", "--both-bad", "tie", "--prior", "1").stderr
    assert "note: all votes are from one voter: other voters may differ" in notes
    (tmp_path / "unknown.csv").write_text("left,right,winner\na,b,left\nb,a,left\nb,a,left\n")
    notes = invoke("fit", "unknown.csv", "--swapped", "tie", "--prior", "1").stderr
    assert "note: prompts are unknown: two votes of a voter on a pair from both sides are merged" in notes
    assert (
        "note: there are only 2 clusters: standard errors from fewer than 10 are imprecise"
        in invoke("fit", "pairs.csv", "--cluster", "voter", "--prior", "1").stderr
    )


@pytest.mark.parametrize("kind", FILES)
def test_everything_on_pairs_is_printed(kind, tmp_path):
    options = "--swapped tie --cluster both --covariate length --judge J --prior 1 --elo --better a b"
    text = run_quietly("fit", "pairs.csv", *options.split())
    assert "3 items, 5 votes on pairs, made of 6 by merging swapped pairs, 1 both bad (a tie), 2 voters" in text
    assert "clustered by voter and prompt" in text
    assert "length " in text
    assert "elo" in text
    assert "J: side bias +1.00 (90 % interval" in text
    assert "Equal votes on the same pair and prompt, with 90 % intervals:\n" in text
    assert re.search(r"^with J +0\.25 +0\.\d\d +0\.\d\d +2$", text, re.MULTILINE)
    assert "a is better than b with probability " in text
    run_quietly("fit", f"{kind}.csv", "--prior", "1", "--both-bad", "left out", "--out", "ranking.csv")
    header, first = (tmp_path / "ranking.csv").read_text().splitlines()[:2]
    counts = ",presentations,wins,ties,losses" if kind == "pairs" else ""
    assert header == f"item,rank,strength,standard_error,rank_low,rank_high,strength_low,strength_high{counts}"
    assert first.startswith("a,1")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("grades.csv rankings.csv", "answers of several kinds: grades.csv: graded votes, rankings.csv: rankings"),
        ("grades.csv --model borda", "--model borda cannot be used with graded votes; use --model bradley-terry"),
        ("pairs.csv --cluster voter --voters", "--voters cannot be used with --cluster"),
        ("rankings.csv --report report.md", "--report cannot be used with rankings"),
        ("- --cluster voter", "--cluster needs files of votes; it cannot read a ledger or standard input"),
        ("grades.csv --better a z", "--better: no item is called 'z'; there are a, b, c"),
        ("grades.csv --cluster prompt", "need the prompt of each answer"),
        ("pairs.csv --judge Z", "no voter is called 'Z'; there are 'J', 'Ann'"),
        ("pairs.csv --judge J --only J", "--judge J compares this voter with all others: leave out --only"),
        ("pairs.csv --columns prompt=prompt", "--columns names prompts, but no option reads them"),
        ("pairs.csv --cluster voter --only J", "all choices are in one cluster, such as one voter"),
        ("votes.csv --only Ann --without Ann", "give --only or --without, not both"),
        ("pairs.csv --covariate tokens", "for the covariate 'tokens'; covariates of this file: length"),
        ("votes.csv --only Z", "no voter is called 'Z'"),
        ("pairs.csv --cluster voter --only Z", "no voter is called 'Z'; there are 'J', 'Ann'"),
    ],
)
def test_a_wrong_option_is_refused(args, message):
    assert message in refusal("fit", *args.split())


@pytest.mark.parametrize("command", [["strengths"], ["strengths", "--scale", "rank"], ["top", "--k", "1"]])
@pytest.mark.parametrize("kind", FILES)
def test_answers_of_any_kind_are_drawn(command, kind, tmp_path):
    pytest.importorskip("matplotlib")
    clusters = {"pairs": ["--cluster", "prompt"]}.get(kind, [])
    run_quietly("plot", command[0], f"{kind}.csv", *command[1:], *clusters, "--prior", "1", "--out", "figure.svg")
    assert "svg" in (tmp_path / "figure.svg").read_text()[:400]


def test_figures_use_the_voters_and_the_model_of_the_options(monkeypatch):
    pytest.importorskip("matplotlib")
    plotted_strengths = []
    monkeypatch.setattr(
        fit_commands, "plot_strengths", lambda fitted, **_: plotted_strengths.append(fitted) or plot_strengths(fitted)
    )
    options = ["--cluster", "prompt", "--covariate", "length", "--prior", "1", "--both-bad", "tie"]
    run_quietly("plot", "strengths", "pairs.csv", "--without", "J", *options, "--out", "figure.svg")
    people = read_choices("pairs.csv", covariates=["length"]).of_voters(["J"], others=True)
    assert plotted_strengths[0].theta.tolist() == people.choices(cluster="prompt").fit(prior=1).theta.tolist()
    run_quietly("plot", "strengths", "votes.csv", "--only", "J", "--out", "figure.svg")
    assert plotted_strengths[1].comparisons.n_comparisons == 3
    for files in ("grades.csv", "votes.csv"):
        options = ["--only", "J", "--without", "Ann", "--out", "figure.svg"]
        assert "give --only or --without, not both" in refusal("plot", "strengths", files, *options)


def test_a_table_may_be_markdown():
    result = invoke("fit", "pairs.csv", "--cluster", "prompt", "--prior", "1", "--table", "markdown")
    assert result.stdout.startswith("| item | rank | strength | standard error | rank low | rank high | wins | ties |")
    assert "2 prompts" in result.stderr
    assert invoke("fit", "votes.csv", "--table", "csv").stdout.startswith("item,rank,strength,standard error,")


def test_columns_and_answers_of_arenas_with_other_names(tmp_path):
    """A weight that is no count, a word for "both bad", and covariates for named sides."""
    rows = ["first,second,pick,importance,first_length,second_length"]
    rows += ["a,b,A,0.5,9,1", "b,a,neither,2,1,9", "b,c,A,1,3,2", "a,c,B,1.5,2,3", "c,b,A,1,5,4"]
    (tmp_path / "own.csv").write_text("\n".join(rows))
    columns = "left=first,right=second,winner=pick"
    options = ["--answers", "A=left,B=right,neither=both bad", "--prior", "1"]
    text = run_quietly("fit", "own.csv", "--columns", f"{columns},weight=importance", *options, "--covariate", "length")
    assert "5 votes on pairs, their weights 6 in all, 1 both bad (a tie)" in text
    assert "length " in text
    refused = refusal("fit", "own.csv", "--columns", columns, *options)
    assert "a count of votes must be a whole number of 0 or more; got '0.5'. Leave the column out" in refused
    assert "or read weights that are no counts by read_choices or the role weight" in refused
    plain = ["--columns", columns, *options, "--ignore", "importance"]
    assert "(1 tie)" in run_quietly("fit", "own.csv", *plain)
    for word, answers in (("-2", {"-2": "both bad", "1": "left"}), ("nein", {"nein": "both bad", "1": "left"})):
        (tmp_path / "codes.csv").write_text(f"left,right,winner\na,b,1\nb,c,{word}\n")
        assert read_choices(tmp_path / "codes.csv", answers=answers).n_both_bad == 1


def test_counts_of_millions_have_all_their_digits(tmp_path):
    (tmp_path / "many.csv").write_text("left,right,winner,n\na,b,left,1234567\nb,a,left,1000001\n")
    text = run_quietly("fit", "many.csv", "--both-bad", "tie", "--prior", "1")
    assert "2 votes on pairs, their weights 2,234,568 in all" in text
    assert re.search(r"^a +1 .* 1,234,567 +0 +1,000,001$", text, re.MULTILINE)


def test_items_of_several_columns_keep_their_columns(tmp_path):
    """A fit with clusters prints, compares and writes them as a fit of votes on pairs does."""
    rows = ["a,b,c,d,left,x", "c,d,a,b,left,y", "a,b,c,d,left,x", "e,f,a,b,right,y", "e,f,c,d,right,x"]
    (tmp_path / "tuples.csv").write_text("\n".join(["left_1,left_2,right_1,right_2,winner,voter", *rows]))
    for options in ([], ["--cluster", "voter"]):
        out = tmp_path / "ranking.csv"
        text = run_quietly("fit", "tuples.csv", *options, "--better", "a, b", "c, d")
        assert re.findall(r"^\w, \w(?= )", text, re.MULTILINE) == ["a, b", "c, d", "e, f", "a, b"]
        run_quietly("fit", "tuples.csv", *options, "--out", str(out))
        assert out.read_text().startswith("item_1,item_2,rank,strength,")


def _notes(*args):
    return invoke(*args).stderr


def test_a_note_tells_which_voters_count_as_people(tmp_path):
    rows = [f"a,b,{'left' if n % 3 else 'right'},{voter},{n}\n" for voter in ("gpt", "claude") for n in range(9)]
    rows += [f"a,b,left,person {n},{n}\n" for n in range(6)]
    (tmp_path / "votes.csv").write_text("left,right,winner,voter,prompt\n" + "".join(rows))
    people = "7 voters other than 'gpt' count as people: 'claude', 'person 0', 'person 1', 'person 2', 'person 3', ...;"
    assert people in _notes("fit", "votes.csv", "--judge", "gpt")
    assert people.replace(", ...", "").replace("7", "5").replace("'claude', ", "").replace("3'", "3', 'person 4'") in (
        _notes("fit", "votes.csv", "--judge", "gpt", "--without", "person 5", "--without", "claude")
    )
    assert "count as people" not in _notes("fit", "votes.csv", "--cluster", "prompt")
