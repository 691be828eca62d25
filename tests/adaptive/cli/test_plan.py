"""The command `ballots plan`: the plan of the library, printed or as JSON."""

import json

import pytest

from adaptive._budget import plan_for_budget, plan_for_top
from adaptive._plan import plan_ballots
from tests.adaptive.cli.commands import run_ok

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
