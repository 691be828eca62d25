"""The command `ballots plan`: the plan of the library, printed or as JSON."""

import json

import numpy as np
import pytest

from adaptive._budget import plan_for_budget, plan_for_top
from adaptive._draw import draw_ballot, draw_sets
from adaptive._plan import plan_ballots
from tests.adaptive.cli.commands import TOKENS, as_csv, invoke, refusal, rows_of, run_ok

pytestmark = pytest.mark.wide


def test_plan_prints_ballots_cost_and_advice():
    plan = run_ok("plan", "--n-items", 990, "--presentations", 20, "--seconds", 5, "--voters", 1).splitlines()
    assert plan[0] == "990 items, 7 ballots, fraction 0.5, 20 presentations of each item in each ballot"
    # Sizes and sum of spec.md, section 5; 19,660 comparisons of 5 s are 27.31 h.
    assert plan[1:10] == [
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
    assert "presented 140 times" in plan[10]
    assert plan[11:] == [
        "Advice:",
        "- In ballot 7 an item has 20 presentations but only 15 others to meet: pairs repeat.",
        "- In ballot 7 a pair is compared 2 times, but n_voters is 1: a voter sees it more than once.",
    ]


HALF = {"n_ballots": 7, "fraction": 0.5}


def test_plan_without_advice():
    assert "Advice" not in run_ok("plan", "--n-items", 5000, "--presentations", 30)


@pytest.mark.parametrize(
    ("arguments", "plan"),
    [
        (["--presentations", 20], plan_ballots(990, **HALF, presentations=20)),
        (["--budget", 20_000], plan_for_budget(990, **HALF, comparisons=20_000)),
        (["--hours", 40, "--seconds", 5], plan_for_budget(990, **HALF, hours=40, seconds_per_comparison=5)),
        (["--top", 100, "--ballots", 5], plan_for_top(990, n_ballots=5, fraction=0.5, top_presentations=100)),
        (["--top", 100, "--fraction", 0.6], plan_for_top(990, n_ballots=7, fraction=0.6, top_presentations=100)),
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


def test_plan_has_as_many_ballots_as_the_items_allow():
    plan = json.loads(run_ok("plan", "--n-items", 66, "--hours", 20, "--seconds", 6, "--json"))
    assert (plan["n_ballots"], plan["sizes"]) == (6, [66, 33, 16, 8, 4, 2])
    assert plan["hours"] <= 20


MONEY = ("plan", "--n-items", 66, "--euros", 300, "--pay", 12, "--fee", 0.25, "--seconds", 6)


@pytest.mark.parametrize("mode", [[], ["--continuous"]])
def test_plan_from_money(mode):
    plan = json.loads(run_ok(*MONEY, *mode, "--json"))
    assert 297 < plan["cost"] <= 300
    assert plan["hours"] == pytest.approx(plan["cost"] / 15)  # 12 and a quarter of it
    assert f"Cost: {plan['cost']:.2f}, " in run_ok(*MONEY, *mode)


def test_plan_of_batches_advises_on_voters():
    arguments = ("plan", "--n-items", 45, "--continuous", "--budget", 12_000, "--voters", 3)
    assert run_ok(*arguments).splitlines() == [
        "45 items, batches of 45, at most 12,000 comparisons",
        "Advice:",
        "- 3 voters can answer at most 2,970 of 12,000 comparisons, each pair once: plan for 13 voters, or fewer "
        "comparisons.",
    ]
    (advice,) = json.loads(run_ok(*arguments, "--json"))["advice"]
    assert (advice["code"], advice["bound"]) == ("too_many_comparisons", 2_970)


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
    one = ("--presentations", 1, "--voters", 1, "--seed", 0, "--out", "b.csv")
    assert run_ok("draw", "-", *one, stdin="item\na\nb\n") == "1 comparisons written to b.csv\n"


def test_drawn_sets_are_those_of_the_library_and_fit_reads_their_answers(folder):
    (folder / "names.csv").write_text("item\n" + "\n".join("abcdefgh") + "\n")
    drawn = ("names.csv", "--set-size", 4, "--presentations", 6, "--voters", 5, "--seed", 3)
    assert run_ok("draw", *drawn, "--out", "sets.csv") == "12 sets written to sets.csv\n"
    rows = rows_of((folder / "sets.csv").read_text())
    assert list(rows[0]) == ["voter", "item_1", "item_2", "item_3", "item_4", "best", "worst"]
    sets = draw_sets(list("abcdefgh"), 4, 6, np.random.default_rng(3))
    assert [tuple(row[f"item_{place}"] for place in range(1, 5)) for row in rows] == [
        members for voter in range(5) for members in sets[voter::5]
    ]
    assert [row["voter"] for row in rows] == list("000111223344")
    lines = [",".join(rows[0])]
    for row in rows:
        members = sorted(row[f"item_{place}"] for place in range(1, 5))
        lines.append(",".join([*list(row.values())[:5], members[0], members[-1]]))
    (folder / "answers.csv").write_text("\n".join(lines) + "\n")
    fit = json.loads(run_ok("fit", "answers.csv", "--prior", 2, "--json"))
    assert fit["items"][0]["item"] == "a"
    assert fit["kind"] == "best-worst"


@pytest.mark.usefixtures("items")
def test_sets_that_cannot_be_drawn(folder):
    sets = ("--set-size", 4, "--presentations", 6, "--seed", 3)
    assert "sets are of items in one column" in refusal("draw", "items.csv", *sets, "--voters", 5)
    (folder / "names.csv").write_text("item\na\nb\nc\n")
    assert "sets of 4 items need at least 4 items; got 3" in refusal("draw", "names.csv", *sets, "--voters", 5)
    assert "--voters must be at least 1; got 0" in refusal("draw", "names.csv", *sets, "--voters", 0)


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
