"""`ballots fit` prints the library's strengths, for one file of votes, several, or a campaign of `ballots run`."""

import json
import re

import numpy as np
import pytest

from adaptive import borda, bradley_terry, next_comparisons, rank_centrality, read_comparisons, reliability, thurstone
from adaptive.model import _models as estimators
from adaptive.plots import agreement, plot_in_top, plot_strengths, plot_voters, save_figure
from tests.adaptive.cli.conftest import as_csv, invoke, refusal, rows_of, run_ok, vote
from tests.adaptive.test_plots import votes_of
from tests.rankcorr.plots.conftest import matplotlib  # noqa: F401

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


def run_fit(*args):
    """Output of `fit` for six votes, with the note that they may be chance."""
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
    result = json.loads(run_fit("v.csv", "--json", *arguments.split()))
    assert {name: result[name] for name in expected} == expected
    assert (result["n_items"], result["n_comparisons"], result["n_ties"], result["n_unanswered"]) == (3, 6, 1, 1)
    assert result["n_voters"] == 3
    assert run_fit("v.csv", "--out", "r.csv", *arguments.split()) == "3 items written to r.csv\n"
    rows = rows_of((folder / "r.csv").read_text())
    assert rows == [{name: str(value) for name, value in row.items()} for row in expected["items"]]
    run_fit("v.csv", *arguments.split())


@pytest.mark.usefixtures("votes")
def test_the_best_items_can_be_printed_alone(folder):
    assert run_fit("v.csv", "--top", 1).endswith("... and 2 more: --top N prints them, --out FILE writes them\n")
    assert len(json.loads(run_fit("v.csv", "--top", 2, "--json"))["items"]) == 2
    assert len(rows_of(run_fit("v.csv", "--top", 2, "--out", "-"))) == 2
    many = [{"left": f"item {n}", "right": f"item {n + 1}", "winner": "tie"} for n in range(30)]
    (folder / "many.csv").write_text(as_csv(many))
    stdout = invoke("fit", "many.csv").stdout
    assert stdout.count("\nitem ") == 21
    assert stdout.endswith("... and 11 more: --top N prints them, --out FILE writes them\n")


def test_notes_on_a_fit_are_on_stderr(folder):
    (folder / "v.csv").write_text("left,right,winner\na,b,left\nc,d,left\n")
    (folder / "items.csv").write_text("item\na\nb\nc\nd\ne\n")
    expected = bradley_terry(read_comparisons("v.csv", items=["a", "b", "c", "d", "e"])).warnings
    assert len(expected) == 6
    for more in ([], ["--json"], ["--out", "r.csv"]):
        assert notes_of("fit", "v.csv", "--items", "items.csv", *more) == list(expected)
    (note,) = notes_of("fit", "v.csv", "--items", "items.csv", "--model", "borda")
    assert note == "items never compared are last, without a score: 1"
    assert invoke("fit", "v.csv", "--items", "items.csv", "--model", "borda").stdout.splitlines()[-1].split() == [
        "e", "5", "-", "0", "0", "0", "0"
    ]  # fmt: skip


def test_several_files_are_one_list_of_votes(folder, votes):
    header, *rows = VOTES.splitlines(keepends=True)
    (folder / "1.csv").write_text(header + "".join(rows[:2]))
    (folder / "2.csv").write_text(header + "".join(rows[2:]))
    result = json.loads(run_fit("1.csv", "2.csv", "--json"))
    assert result["items"] == table_of(bradley_terry(votes))
    assert result["n_unanswered"] == 1


@pytest.mark.usefixtures("open_campaign")
def test_a_campaign_is_fitted_as_the_file_of_its_votes(folder):
    vote(folder / "ballot.csv", folder / "some.csv", skipped={"b1-0-3", "b1-1-0"})
    run_ok("run", "record", "v.db", "some.csv")
    documents = [json.loads(invoke("fit", source, "--json").stdout) for source in ("v.db", "some.csv")]
    assert [document["n_unanswered"] for document in documents] == [2, 2]
    of_ledger, of_file = ({tuple(row["item"]): row for row in document["items"]} for document in documents)
    assert {item: row["strength"] for item, row in of_ledger.items()} == pytest.approx(
        {item: row["strength"] for item, row in of_file.items()}, abs=1e-6
    )
    # Campaign and files share voters and items, although voters are numbers in a campaign and text in files.
    twice = json.loads(invoke("fit", "v.db", "some.csv", "--json").stdout)
    assert (twice["n_voters"], twice["n_items"]) == (3, 10)
    (folder / "few.csv").write_text("item_1,item_2\nbonus,price\n")
    assert re.search(r"v\.db: item .* is not among the items of --items", refusal("fit", "v.db", "--items", "few.csv"))


def test_other_formats_are_read(folder):
    (folder / "arena.jsonl").write_text('{"model_a": "gnu", "model_b": "yak", "winner": "model_b", "judge": "Ann"}\n')
    assert json.loads(invoke("fit", "arena.jsonl", "--json").stdout)["items"][0]["item"] == "yak"
    (folder / "pairs.csv").write_text("0,1\n2,1\n")
    assert json.loads(invoke("fit", "pairs.csv", "--format", "choix", "--json").stdout)["n_items"] == 3


def test_files_with_other_column_names(folder):
    text = "first;second;choice;who\nGrün;Rot;A;Ann\nRot;Blau;same;Bob\nGrün;Blau;;Bob\n"
    (folder / "v.csv").write_text(text, encoding="latin-1")
    read = ("--encoding", "latin-1", "--columns", "left=first,right=second,winner=choice,voter=who")
    result = json.loads(invoke("fit", "v.csv", "--json", *read, "--answers", "A=left,same=tie").stdout)
    assert (result["n_comparisons"], result["n_ties"], result["n_unanswered"], result["n_voters"]) == (2, 1, 1, 2)
    assert result["items"][0]["item"] == "Grün"
    (folder / "n.csv").write_text("left,right,winner\na,b,1\nb,c,0\n")
    for answers, n_ties in (("left_won", 0), ("codes", 1), ('"1=left",0=right', 0)):
        result = json.loads(invoke("fit", "n.csv", "--json", "--answers", answers).stdout)
        assert (result["n_comparisons"], result["n_ties"]) == (2, n_ties)


def test_a_fit_that_has_not_converged_says_so(votes, monkeypatch):
    monkeypatch.setattr(
        estimators, "bradley_terry", lambda votes, **_: bradley_terry(votes, prior=2, oversight=0.03, max_iterations=1)
    )
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
    result = json.loads(run_fit("v.csv", "--json", *arguments))
    assert result["items"] == table_of(fitted, level=0.5)
    assert result["better"] == [
        fitted.better(*pair, level=0.5).to_dict() for pair in (("fig", "plum"), ("plum", "fig"))
    ]
    better = fitted.better("fig", "plum")
    assert run_fit("v.csv", "--better", "fig", "plum").splitlines()[-1] == (
        f"fig is better than plum with probability {better.probability:.3f} +- {better.standard_error:.3f}; strengths "
        f"differ by {better.difference:+.3f} (90 % interval {better.interval[0]:+.3f} to {better.interval[1]:+.3f})"
    )
    assert "--better: no item is called 'date'" in refusal("fit", "v.csv", "--better", "fig", "date")
    assert "--elo is a scale of logistic strengths" in refusal("fit", "v.csv", "--elo", "--model", "thurstone")
    assert "--level must be a number above 0 and below 1; got 1.0" in refusal("fit", "v.csv", "--level", 1)
    assert "--better needs a model with strengths" in refusal("fit", "v.csv", *arguments, "--model", "borda")


@pytest.mark.usefixtures("votes")
def test_reliability_is_printed_with_the_infit_of_items(votes):
    fitted = bradley_terry(votes)
    measures = reliability(fitted)
    result = json.loads(run_fit("v.csv", "--json", "--reliability"))
    assert result["reliability"]["separation"] == pytest.approx(measures.separation)
    assert result["reliability"]["scale_separation"] == pytest.approx(measures.scale_separation)
    infit = dict(zip(votes.items, measures.infit.tolist(), strict=True))
    assert {row["item"]: row["infit"] for row in result["items"]} == pytest.approx(infit)
    of_voters = [row["infit"] for row in result["reliability"]["voters"] or ()]
    assert of_voters == pytest.approx([] if measures.voter_infit is None else measures.voter_infit.tolist())
    lines = run_fit("v.csv", "--reliability").splitlines()
    assert lines[2].startswith(f"separation {measures.separation:.2f}, scale separation reliability ")
    assert lines[4].endswith("infit")
    assert run_fit("v.csv").splitlines()[2] == ""
    assert "--reliability needs a model with" in refusal("fit", "v.csv", "--reliability", "--model", "borda")


NEXT_VOTES = "comparison,voter,left,right,winner\n" + "".join(
    f"{n},{'Ann' if n % 2 else 'Bob'},i{n},i{n + 1},{'left' if n % 3 else 'tie'}\n" for n in range(8)
)


def match_rows(votes, size, seed, **options):
    matches = next_comparisons(bradley_terry(votes), size, rng=np.random.default_rng(seed), **options)
    return [
        {"comparison": str(votes.n_comparisons + n), "voter": matches.voters[who], "left": a, "right": b, "winner": ""}
        for n, (who, (a, b)) in enumerate(zip(matches.voter.tolist(), matches.pairs, strict=True))
    ]


@pytest.fixture
def next_votes(folder):
    (folder / "v.csv").write_text(NEXT_VOTES)
    return read_comparisons("v.csv")


def test_the_comparisons_are_those_of_the_library(next_votes, folder):
    assert rows_of(run_ok("next", "v.csv", "--size", 5, "--seed", 3)) == match_rows(next_votes, 5, 3)
    options = ("--voter", "Zoë", "--n0", 5, "--focus", 0.1, "--out", "n.csv")
    assert run_ok("next", "v.csv", "--size", 5, "--seed", 3, *options) == "5 comparisons written to n.csv\n"
    assert rows_of((folder / "n.csv").read_text()) == match_rows(next_votes, 5, 3, voters=["Zoë"], n0=5, focus=0.1)


@pytest.mark.usefixtures("open_campaign")
def test_a_campaign_continues_with_matched_comparisons(folder):
    vote(folder / "ballot.csv", folder / "some.csv", skipped={"b1-0-0", "b1-0-1", "b1-0-2", "b1-0-3"})
    run_ok("run", "record", "v.db", "some.csv")
    rows = rows_of(run_ok("next", "v.db", "--size", 4, "--seed", 1, "--voter", "0"))
    assert [row["comparison"] for row in rows] == ["20", "21", "22", "23"]
    assert {row["voter"] for row in rows} == {"0"}
    earlier_rows = [row for row in rows_of((folder / "some.csv").read_text()) if row["voter"] == "0"]

    def pair(row):
        return tuple(sorted([(row["left_1"], row["left_2"]), (row["right_1"], row["right_2"])]))

    assert not {pair(row) for row in rows} & {pair(row) for row in earlier_rows}
    for row in rows:
        row["winner"] = "left"
    (folder / "more.csv").write_text(as_csv(rows))
    assert "10 items, 20 votes" in invoke("fit", "v.db", "more.csv").stdout


@pytest.mark.parametrize(
    ("ids", "first"), [((1, 2, 3), "4"), ((0, 40, 7), "41"), (("a", "b", "9" * 30), "3"), ((5, "x-9", "007"), "8")]
)
def test_new_ids_continue_above_those_of_all_files(folder, ids, first):
    """A file may count from 1, or from anywhere; ids that are no numbers cannot clash."""
    rows = zip(ids, ("Ann,a,b,left", "Bob,b,c,tie", "Ann,c,d,"), strict=True)
    (folder / "v.csv").write_text("comparison,voter,left,right,winner\n" + "".join(f"{n},{row}\n" for n, row in rows))
    (folder / "plain.csv").write_text("voter,left,right,winner\nAnn,a,c,left\n")
    next_rows = rows_of(run_ok("next", "v.csv", "--size", 2, "--seed", 1))
    assert [row["comparison"] for row in next_rows] == [first, str(int(first) + 1)]
    more = rows_of(run_ok("next", "v.csv", "plain.csv", "--size", 1, "--seed", 1))
    assert more[0]["comparison"] == str(max(4, int(first)))
    (folder / "all.csv").write_text((folder / "v.csv").read_text() + "".join(as_csv(next_rows).splitlines(True)[1:]))
    assert read_comparisons("all.csv").n_unanswered == 3


def test_an_unanswered_batch_is_not_repeated(folder):
    (folder / "v.csv").write_text(NEXT_VOTES)
    pairs = []
    for batch in range(4):
        files = ["v.csv", *(f"{n}.csv" for n in range(batch))]
        run_ok("next", *files, "--size", 9, "--seed", 1, "--out", f"{batch}.csv")
        next_rows = rows_of((folder / files[-1]).read_text())
        pairs += [(row["voter"], *sorted([row["left"], row["right"]])) for row in next_rows]
    assert len(set(pairs)) == len(pairs)


def test_each_batch_stays_within_prompts(folder):
    """A voter gets a pair once with each prompt, whether it was answered or not; a count of rows changes nothing."""
    (folder / "models.csv").write_text("item\nalpha\nbeta\ngamma\n")
    (folder / "prompts.csv").write_text("topic,question_id\nx,sum\ny,rhyme\nx,7\n")
    files, rows = [], []
    for batch, voters in enumerate([["--voter", "Ann", "--voter", "Bob"], [], []]):
        options = [*voters, "--items", "models.csv", "--prompts", "prompts.csv", "--size", 7, "--seed", batch]
        result = invoke("next", *files, *options, "--out", f"{batch}.csv")
        batch_rows = rows_of((folder / f"{batch}.csv").read_text())
        assert list(batch_rows[0]) == ["comparison", "voter", "prompt", "left", "right", "winner"]
        for row in batch_rows[::2]:
            row["winner"] = "left"
        (folder / f"{batch}.csv").write_text(as_csv([row | {"n": "1"} for row in batch_rows]))
        files.append(f"{batch}.csv")
        rows += batch_rows
    assert "note: 4 of 7 comparisons: the voters have seen all other pairs with every prompt\n" in result.stderr
    keys = {(row["voter"], row["prompt"], *sorted([row["left"], row["right"]])) for row in rows}
    assert len(keys) == len(rows) == 2 * 3 * 3
    assert {row["prompt"] for row in rows} == {"sum", "rhyme", "7"}
    fit = invoke("fit", *files, "--cluster", "prompt")
    assert fit.stdout.startswith("3 items, 10 votes on pairs, 8 without an answer, 2 voters, 3 prompts\n")
    advice = (
        "The model bradley-terry allows for this: add `--cluster prompt` to `ballots fit`, `ballots plot strengths` or "
        "`ballots plot top`, or use read_choices. Other models"
    )
    assert advice in invoke("fit", *files, "--model", "borda").stderr


@pytest.mark.parametrize(
    ("prompts", "votes", "message"),
    [
        ("item\na\n", None, 'prompts.csv:1: no column "prompt"'),
        ("prompt\n", None, "prompts.csv:1: no prompts, only the names of the columns"),
        ("prompt\nx\nx\n", None, "prompts.csv:3: prompt 'x' is listed twice (lines 2 and 3)"),
        ("prompt\nx\n", "left,right,winner\na,b,left\n", 'v.csv:1: no column "prompt", which --prompts needs'),
        (
            "prompt\nx\n",
            '[{"left": "a", "right": "b", "winner": "tie", "prompt": "x"}, {"left": "a", "right": "b", "winner": ""}]',
            'column "prompt": no prompt',
        ),
    ],
)
def test_invalid_prompts_are_refused(folder, prompts, votes, message):
    (folder / "items.csv").write_text("item\na\nb\n")
    (folder / "prompts.csv").write_text(prompts)
    if votes is not None:
        (folder / "v.csv").write_text(votes)
    files = [] if votes is None else ["v.csv"]
    result = invoke("next", *files, "--items", "items.csv", "--prompts", "prompts.csv", "--size", 1, "--seed", 1)
    assert result.exit_code == 2
    assert message in result.stderr


def test_the_column_of_prompts_can_be_chosen(folder):
    (folder / "prompts.csv").write_text("prompt\nsum\nplan\n")
    (folder / "v.csv").write_text("left,right,winner,scene\na,b,left,sum\na,b,right,plan\na,c,tie,sum\n")
    options = ["--prompts", "prompts.csv", "--size", 9, "--seed", 1]
    rows = rows_of(invoke("next", "v.csv", *options, "--columns", "prompt=scene").stdout)
    assert {(row["prompt"], *sorted([row["left"], row["right"]])) for row in rows} == {
        *(("plan", "a", "c"), ("plan", "b", "c"), ("sum", "b", "c"))
    }
    assert 'no column "prompt", which --prompts needs' in invoke("next", "v.csv", *options).stderr
    result = invoke("next", "v.csv", *options, "--columns", "prompt=other")
    assert 'no column "other", which --prompts needs' in result.stderr


def test_no_possible_pair_is_left(folder):
    (folder / "v.csv").write_text("voter,left,right,winner\nAnn,a,b,left\n")
    result = invoke("next", "v.csv", "--size", 2, "--seed", 1, "--out", "n.csv")
    assert (result.exit_code, result.stdout) == (0, "0 comparisons written to n.csv\n")
    assert result.stderr == "ballots: note: 0 of 2 comparisons: the voter has seen all other pairs\n"
    assert (folder / "n.csv").read_text() == "comparison,voter,left,right,winner\n"


@pytest.fixture
def figure_votes(folder):
    (folder / "v.csv").write_text(votes_of(12).to_csv())
    return read_comparisons("v.csv")


def voters_of(strengths, level=0.9, top=50):
    quantity = f"Votes that agree with the common order, with a {100 * level:g} % interval"
    shares = agreement(strengths, level=level)
    return plot_voters(shares, quantity=quantity, reference=(0.5, "answers at random"), top=top)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("strengths", lambda figure_votes: plot_strengths(bradley_terry(figure_votes))),
        (
            "strengths --top 3 --level 0.5 --model thurstone --prior 2",
            lambda figure_votes: plot_strengths(thurstone(figure_votes, prior=2), top=3, level=0.5),
        ),
        ("strengths --scale rank", lambda figure_votes: plot_strengths(bradley_terry(figure_votes), scale="rank")),
        ("top --k 3", lambda figure_votes: plot_in_top(bradley_terry(figure_votes), 3)),
        (
            "top --k 3 --top 5 --seed 2 --voters",
            lambda figure_votes: plot_in_top(bradley_terry(figure_votes, voters=True), 3, top=5, seed=2),
        ),
        ("voters", lambda figure_votes: voters_of(bradley_terry(figure_votes))),
        ("voters --top 2 --level 0.5", lambda figure_votes: voters_of(bradley_terry(figure_votes), level=0.5, top=2)),
    ],
)
def test_figures_are_those_of_the_library(figure_votes, folder, arguments, expected):
    command, *options = arguments.split()
    result = invoke("plot", command, "v.csv", *options, "--out", "f.svg")
    assert (result.exit_code, result.stdout) == (0, "f.svg\n")
    reference = save_figure(expected(figure_votes), folder / "expected.svg")
    assert (folder / "f.svg").read_bytes() == reference.read_bytes()


@pytest.mark.parametrize("command", [["strengths", "--scale", "rank"], ["top", "--k", "3", "--seed", "2"]])
@pytest.mark.usefixtures("figure_votes")
def test_draws_advance_a_progress_bar(command, bars):
    assert invoke("plot", command[0], "v.csv", *command[1:], "--out", "f.svg").exit_code == 0
    assert (bars.totals, sum(bars.steps)) == ([(1_000, "draw")], 1_000)


def test_figures_come_with_notes_on_the_fit(folder):
    (folder / "v.csv").write_text("left,right,winner\ngnu,\u4e00,left\n")
    result = invoke("plot", "strengths", "v.csv", "--out", "f.png")
    assert (result.exit_code, result.stdout) == (0, "f.png\n")
    lines = [line.removeprefix("ballots: note: ") for line in result.stderr.splitlines()]
    assert lines[1:] == list(bradley_terry(read_comparisons("v.csv")).warnings)
    assert lines[0].startswith("Glyph 19968")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["strengths", "v.csv", "--out", "f.jpg"], r"'f\.jpg' must end with \.png, \.svg or \.pdf"),
        (["strengths", "v.csv", "--out", "no/f.png"], r"no/f\.png: cannot be written: there is no folder no"),
    ],
)
@pytest.mark.usefixtures("figure_votes")
def test_invalid_arguments_are_refused(arguments, message):
    assert re.search(message, refusal("plot", *arguments))


@pytest.mark.usefixtures("figure_votes", "without_matplotlib")
def test_without_matplotlib_figures_are_refused():
    message = refusal("plot", "top", "v.csv", "--k", 2, "--out", "f.png")
    assert message == "figures need matplotlib: pip install matplotlib"
