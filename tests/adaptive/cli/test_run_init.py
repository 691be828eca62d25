"""`ballots run init`: items come with their contents, and the size of batches suits the list."""

from contextlib import closing
from pathlib import Path

import pytest

from adaptive.ledger import ItemContent, Ledger
from rankcorr.vectors import read_target_groups
from tests.adaptive.cli.conftest import invoke, refusal, run_ok

pytestmark = pytest.mark.wide

CONTINUOUS = ["run", "init", "v.db", "--items", "items.csv", "--continuous", "--budget", 40, "--voters", 3, "--seed", 1]


@pytest.fixture(autouse=True)
def items(tmp_path, monkeypatch):
    """A folder with a table of 12 items, two of them with contents."""
    monkeypatch.chdir(tmp_path)
    rows = ["fig,markdown,**fig**,", "plum,image,plum.png,A plum", *(f"item {number},,," for number in range(10))]
    (tmp_path / "items.csv").write_text("\n".join(["item,kind,content,alt_text", *rows, ""]))
    return tmp_path / "items.csv"


def test_items_have_their_contents():
    run_ok(*CONTINUOUS)
    ledger = Ledger.open("v.db")
    campaign = ledger.campaign()
    result = campaign.contents()
    assert campaign.info.items[:2] == ("fig", "plum")
    assert result[:2] == (ItemContent("markdown", "**fig**"), ItemContent("image", "plum.png", "A plum"))
    assert set(result[2:]) == {ItemContent()}
    ledger.close()


def test_invalid_content_is_reported_with_its_line(items, tmp_path):
    items.write_text(items.read_text() + "kiwi,image,../kiwi.png,A kiwi\n")
    assert refusal(*CONTINUOUS).startswith('items.csv:14: column "content": the content of image must be')
    assert not (tmp_path / "v.db").exists()


@pytest.mark.parametrize(("options", "batch"), [([], 12), (["--batch", 7], 7)])
def test_the_batch_size_suits_the_list(options, batch):
    assert run_ok(*CONTINUOUS, *options).startswith(f"12 items, batches of {batch}, at most 40 comparisons\n")


TARGETS = ["run", "init", "v.db", "--targets", "candidates.csv", "--answers", 3, "--voters", 3, "--seed", 1]


def candidates(*more):
    rows = ["target,candidate,category", "oak,tree,positive", "oak,plant,positive", "oak,ink,random", *more]
    Path("candidates.csv").write_text("\n".join(rows) + "\n")


def test_target_groups_have_their_quotas():
    candidates("fox,animal,positive", "fox,canid,positive", "fox,plant,positive")
    printed = run_ok(*TARGETS)
    assert [line.split() for line in printed.splitlines()[:3]] == [
        ["target", "candidates", "pairs", "comparisons"],
        ["oak", "2", "1", "3"],
        ["fox", "3", "3", "9"],
    ]
    campaign = Ledger.open("v.db").campaign()
    assert campaign.info.settings.targets["oak"] == {"tree": "positive", "plant": "positive", "ink": "random"}
    assert campaign.info.plan.n_comparisons == 12
    run_ok("run", "open", "v.db")
    run_ok("run", "export", "v.db", "--format", "target_groups", "--out", "groups.csv")
    assert read_target_groups("groups.csv").categories["fox"]["canid"] == "positive"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--items", "items.csv"], "either --items or --targets is needed, not both"),
        (["--budget", 9], "--targets does not take --budget"),
        (["--continuous"], "--targets does not take --continuous"),
        (["--target", 0.9], "--targets does not take --continuous or --target"),
    ],
)
def test_options_that_exclude_targets_are_refused(arguments, message):
    candidates()
    assert message in refusal(*TARGETS, *arguments)


def test_targets_and_candidates_must_match():
    candidates()
    assert "--targets needs --answers" in refusal(*TARGETS[:5], *TARGETS[7:])
    assert "--answers has no effect without --targets" in refusal(*CONTINUOUS, "--answers", 3)
    assert "either --items or --targets is needed" in refusal("run", "init", "v.db", "--voters", 3, "--seed", 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("oak,tree,random", "candidates.csv:5: column \"candidate\": 'tree' is a candidate of 'oak' twice"),
        ("oak,elm,good", 'candidates.csv:5: column "category": must be one of'),
        ("oak,elm", "candidates.csv:5: 2 cells; the header has 3"),
        ("fox,canid,positive", "target 'fox' needs two positive candidates or more; it has 1"),
    ],
)
def test_invalid_candidates_are_named(row, message):
    candidates(row)
    assert message in refusal(*TARGETS)


def test_grades_from_the_first_file_to_the_ranking():
    run_ok(*CONTINUOUS, "--grades", 2)
    run_ok("run", "open", "v.db", "--out", "batch.csv")
    header, *rows = Path("batch.csv").read_text().splitlines()
    assert header == "comparison,voter,left,right,winner,grade"
    Path("wrong.csv").write_text(f"{header}\n{rows[0].removesuffix(',,')},tie,2\n")
    assert "wrong.csv:2: grade '2' needs the winner 'left' or 'right'" in refusal("run", "record", "v.db", "wrong.csv")
    answers = ["left,2", "right,", "tie,", "right,-2", "cannot say,"]
    filled = [f"{row.removesuffix(',,')},{answers[at % 5]}" for at, row in enumerate(rows)]
    Path("votes.csv").write_text("\n".join([header, *filled, ""]))
    assert run_ok("run", "record", "v.db", "votes.csv").startswith(f"{len(rows)} new votes;")
    pair = rows[0].partition(",")[0]
    corrected = run_ok("run", "correct", "v.db", pair, "right 2", "--reason", "meant the other one")
    assert corrected == f"comparison {pair}: the vote is 'right 2' now\n"
    run_ok("run", "export", "v.db", "--format", "csv", "--out", "export.csv")
    fitted = invoke("fit", "export.csv")
    assert "graded votes" in fitted.stdout
    assert "note: the answers do not rule out chance" in fitted.stderr
    best = invoke("run", "result", "v.db", "--interim").stdout.splitlines()[1].partition(",")[0]
    with closing(Ledger.open("v.db")) as ledger:
        result = ledger.campaign().result(interim=True)
    assert best == result.items[result.graded.ranking.best_first[0]]
    note = invoke("fit", "v.db").stderr
    assert "v.db: the grades of preferences are left out; `ballots run result` ranks by them" in note


def test_sets_from_the_first_file_to_the_ranking():
    run_ok(*CONTINUOUS, "--set-size", 4)
    run_ok("run", "open", "v.db", "--out", "sets.csv")
    header, *rows = [line.split(",") for line in Path("sets.csv").read_text().splitlines()]
    assert header == ["comparison", "voter", "item_1", "item_2", "item_3", "item_4", "best", "worst"]
    answered = [[*row[:6], min(row[2:6]), max(row[2:6])] for row in rows]
    Path("votes.csv").write_text("\n".join(map(",".join, [header, *answered])) + "\n")
    assert f"{len(rows)} new votes" in run_ok("run", "record", "v.db", "votes.csv")
    (first, *_) = rows
    run_ok("run", "correct", "v.db", first[0], "best 2 worst 3", "--reason", "misread")
    assert "an answer must be 'best 1" in refusal("run", "correct", "v.db", first[0], "left", "--reason", "no")
    table = invoke("run", "result", "v.db", "--interim").stdout.splitlines()
    assert len(table) == 13
    note = invoke("fit", "v.db").stderr
    assert "v.db: of each set, only its best and its worst item are compared; `ballots run result` ranks" in note
    assert refusal(*[word if word != "v.db" else "w.db" for word in CONTINUOUS], "--set-size", 4, "--grades", 2) == (
        "grades are for pairs; voters choose from sets of 4"
    )
    assert not Path("w.db").exists()
