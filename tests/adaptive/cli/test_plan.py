"""`ballots plan`, `pair`, `draw`, `score`, `simulate` and `tune`: the numbers of the library."""

import json
import re

import numpy as np
import pytest

from adaptive import Comparisons, VoterPopulation, draw_ballot, exponential_similarity, tune_plan, votes_needed
from adaptive._budget import plan_for_budget, plan_for_top
from adaptive._plan import plan_ballots
from adaptive._tuning.candidates import candidates_for
from adaptive.matching._matching import Matching
from adaptive.simulation._approaches import APPROACHES
from adaptive.simulation._similarity import named_similarity
from adaptive.simulation._simulate import simulate
from tests.adaptive.cli.conftest import as_csv, invoke, refusal, rows_of, run_json, run_ok

pytestmark = pytest.mark.wide


HALF = {"n_ballots": 7, "fraction": 0.5}


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
    result = json.loads(run_ok("plan", "--n-items", 990, "--json", *arguments))
    assert result.items() >= plan.to_dict().items()
    assert [advice["code"] for advice in result["advice"]] == [advice.code for advice in plan.advice]
    assert result["hours"] == (plan.cost(5) if "--seconds" in arguments else None)


def test_plan_counts_the_items_of_a_file(items):
    arguments = ("--ballots", 2, "--presentations", 4)
    assert run_ok("plan", "--items", items, *arguments) == run_ok("plan", "--n-items", 10, *arguments)


def test_plan_uses_as_many_ballots_as_the_items_allow():
    plan = run_json("plan", "--n-items", 66, "--hours", 20, "--seconds", 6)
    assert (plan["n_ballots"], plan["sizes"]) == (6, [66, 33, 16, 8, 4, 2])
    assert plan["hours"] <= 20


MONEY = ("plan", "--n-items", 66, "--euros", 300, "--pay", 12, "--fee", 0.25, "--seconds", 6)


@pytest.mark.parametrize("mode", [[], ["--continuous"]])
def test_a_plan_from_money_uses_it_up(mode):
    plan = run_json(*MONEY, *mode)
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
    (advice,) = run_json(*arguments)["advice"]
    assert (advice["code"], advice["bound"]) == ("too_many_comparisons", 2_970)


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
    result = sorted((int(row["comparison"].removeprefix("1-")), *list(row.values())[1:]) for row in rows)
    columns = zip(ballot.voter.tolist(), ballot.left.tolist(), ballot.right.tolist(), strict=True)
    assert result == [
        (index, str(voter), *ballot.items[left], *ballot.items[right], "")
        for index, (voter, left, right) in enumerate(columns)
    ]
    one = ("--presentations", 1, "--voters", 1, "--seed", 0, "--out", "b.csv")
    assert run_ok("draw", "-", *one, stdin="item\na\nb\n") == "1 comparisons written to b.csv\n"


@pytest.mark.usefixtures("items")
def test_sets_that_cannot_be_drawn(folder):
    sets = ("--set-size", 4, "--presentations", 6, "--seed", 3)
    assert "sets are of items in one column" in refusal("draw", "items.csv", *sets, "--voters", 5)
    (folder / "names.csv").write_text("item\na\nb\nc\n")
    assert "sets of 4 items need at least 4 items; got 3" in refusal("draw", "names.csv", *sets, "--voters", 5)
    assert "--voters must be at least 1; got 0" in refusal("draw", "names.csv", *sets, "--voters", 0)


@pytest.mark.parametrize("seed", range(2))
def test_score_prints_the_same_bytes_as_the_result_of_a_campaign(folder, seed):
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
    result = run_json("run", "result", "v.db", "--paper")
    scored = run_json("score", "1.csv", "2.csv", "3.csv")
    assert scored["items"] == result["items"]
    assert [ballot["b"] for ballot in scored["ballots"]] == [ballot["b"] for ballot in result["ballots"]]


def test_score_refuses_an_item_that_was_not_in_the_previous_ballot(folder):
    (folder / "1.csv").write_text("left,right,winner\na,b,left\n")
    (folder / "2.csv").write_text("left,right,winner\na,b,left\na,c,tie\n")
    assert refusal("score", "1.csv", "2.csv", "--out", "r.csv") == "2.csv:3: 'c' is not an item of ballot 1"
    (folder / "3.csv").write_text("left,right,winner\na,c,left\n")
    assert refusal("score", "2.csv", "1.csv", "3.csv") == "3.csv:2: 'c' is not an item of ballot 2"
    assert not (folder / "r.csv").exists()


@pytest.mark.parametrize("similarity", ["exponential", "power_law", "embedding"])
def test_simulate_is_that_of_the_library(similarity):
    arguments = ("--n-items", 20, "--ballots", 2, "--presentations", 4, "--similarity", similarity)
    arguments = ("simulate", *arguments, "--simulations", 3, "--seed", 5, "--voters", 9)
    plan = plan_ballots(20, n_ballots=2, fraction=0.5, presentations=4)
    values, pool = named_similarity(similarity, 20), VoterPopulation(9)
    expected = simulate(plan, pool, values, n_simulations=3, seed=5)
    result = run_json(*arguments)
    assert result["coefficients"] == expected.to_dict()
    assert result["plan"] == plan.to_dict()
    assert result["options"]["ties"] == "midrank"
    signed = json.loads(run_ok(*arguments, "--json", "--judge", "similarity"))
    assert signed["coefficients"] == simulate(plan, pool, values, n_simulations=3, seed=5, relatedness=False).to_dict()


def test_simulate_counts_one_voter():
    text = run_ok("simulate", "--n-items", 4, "--ballots", 2, "--presentations", 3, "--simulations", 2, "--voters", 1)
    assert ", 1 voter, 2 simulations, seed 0\n" in text


def test_simulate_takes_approaches():
    arguments = ("--n-items", 20, "--ballots", 2, "--presentations", 4, "--simulations", 2, "--seed", 5, "--voters", 9)
    approach_options = [part for approach in APPROACHES for part in ("--approach", approach)]
    plan = plan_ballots(20, n_ballots=2, fraction=0.5, presentations=4)
    values = named_similarity("exponential", 20)
    expected = simulate(plan, VoterPopulation(9), values, n_simulations=2, seed=5, approaches=APPROACHES)
    result = run_json("simulate", *arguments, *approach_options)
    assert result["coefficients"] == expected.to_dict()
    # An approach named twice is simulated once; the order is that of the options.
    arguments = (*arguments, "--simulations", 1, *approach_options, "--approach", "adaptive")
    lines = run_ok("simulate", *arguments).splitlines()[3:-2]
    assert [line.split()[0] for line in lines] == list(APPROACHES)
    # 60 comparisons of 20 items: 6 presentations in the mean; matched ballots of 20, 12 and 7 items can have 3.
    for line, presentations in zip(lines, ["4 to 8", "6", "mean 6.0", "3 to 9", "4 to 8", "6", "-"], strict=True):
        assert line.split(maxsplit=1)[1].startswith(presentations + "  ")


def test_simulate_takes_values_from_a_file(folder):
    values = [0.9, 0.5, 0.2, 0.1, -0.3, -0.6]
    (folder / "z.csv").write_text("similarity\n" + "".join(f"{value}\n" for value in values))
    plan = plan_ballots(6, n_ballots=2, fraction=0.5, presentations=4)
    expected = simulate(plan, VoterPopulation(), values, n_simulations=2, seed=0).to_dict()
    arguments = ["simulate", "--similarity", "z.csv", "--ballots", "2", "--presentations", "4", "--simulations", "2"]
    assert run_json(*arguments)["coefficients"] == expected
    assert run_json(*arguments, "--n-items", 6)["coefficients"] == expected
    assert run_json(*arguments, "--workers", 2)["coefficients"] == expected


def test_simulate_reports_undefined_values(folder):
    arguments = ("--n-items", 5, "--ballots", 2, "--presentations", 1, "--simulations", 20, "--voters", 1)
    (folder / "z.csv").write_text("similarity\n" + "0.5\n" * 5)
    result = invoke("simulate", *arguments, "--fraction", 0.9, "--similarity", "z.csv")
    assert result.exit_code == 0
    assert result.stderr.startswith("ballots: note: some simulations have no coefficient")
    assert "nan" in result.stdout


def test_simulate_advises_on_budgets_that_voters_cannot_spend():
    """45 items have 990 pairs: three voters can answer 2,970 comparisons, not 12,000."""
    arguments = ("simulate", "--n-items", 45, "--budget", 12_000, "--voters", 3, "--simulations", 1)
    advice = run_json(*arguments)["advice"]
    assert [note["code"] for note in advice] == ["voter_sees_pair_twice"]
    assert run_ok(*arguments).splitlines()[-2:] == ["Advice:", f"- {advice[0]['sentence']}"]


@pytest.mark.parametrize("workers", [1, 2])
def test_simulate_advances_a_progress_bar(bars, workers):
    run_ok(*SIMULATE, "--simulations", 6, "--workers", workers)
    assert (bars.totals, sum(bars.steps)) == ([(6, "simulation")], 6)


SIMULATE = ("simulate", "--n-items", 10, "--ballots", 2, "--presentations", 4)
TUNE = ("tune", "--budget", 80, "--voters", 5, "--simulations", 2, "--fresh", 2, "--approach", "matched", "--batch", 20)
SIMULATION_OPTIONS = {"similarity": exponential_similarity(10), "voters": VoterPopulation(5), "simulations": 2}
VOTES_NEEDED = ("votes-needed", "--accuracy", 0.5, "--voters", 5, "--simulations", 2)


def test_tune_as_json_is_that_of_the_library():
    printed = run_json(*TUNE, "--n-items", 10)
    candidates = candidates_for(10, 80, approaches=["matched"], batch=20)
    expected = tune_plan(80, **SIMULATION_OPTIONS, candidates=candidates, fresh=2)
    assert printed["best"]["candidate"] == expected.best.name
    assert printed["best"]["mean"] == expected.accuracy
    assert printed["gain"]["interval"] == list(expected.gain_interval)
    assert [row["fell_out"] for row in printed["candidates"]] == [row.fell_out for row in expected.rows_tried]
    assert printed["voters"] is None


def test_tune_advises_on_budgets_that_voters_cannot_spend():
    arguments = ("tune", "--budget", 500, "--n-items", 10, "--voters", 5, *TUNE[5:])
    sentence = "5 voters can answer at most 225 of 500 comparisons, each pair once: plan for 12 voters, or fewer"
    assert run_json(*arguments)["advice"][0]["sentence"].startswith(sentence)
    assert f"Advice:\n- {sentence}" in run_ok(*arguments)


def test_tune_takes_pilot_votes(folder):
    rng = np.random.default_rng(1)
    pool = VoterPopulation(4).draw(rng)
    ballot = draw_ballot(8, 8, 4, rng)
    answers = pool.answer(ballot, pool.opinions(exponential_similarity(8), rng), rng)
    (folder / "votes.csv").write_text(Comparisons.from_ballots([(ballot, answers)]).to_csv())
    arguments = [*TUNE[:3], *TUNE[5:], "--pilot", "votes.csv"]
    text = run_ok(*arguments)
    assert "80 comparisons of 8 items" in text
    assert re.search(r"voters: 32 votes, 4 voters: nonconformity", text)
    assert "--n-items is 9, but votes.csv has 8 items" in refusal(*arguments, "--n-items", 9)


def test_votes_needed_as_json_are_those_of_the_library():
    result = votes_needed(0.5, **SIMULATION_OPTIONS, matching=Matching())
    printed = run_json(*VOTES_NEEDED, "--n-items", 10)
    assert printed["votes"] == result.votes
    assert printed["verdict"] == result.verdict


@pytest.mark.parametrize(
    ("command", "total"), [((*TUNE, "--n-items", 10), 6 * 2 + 3 * 2 + 2 * 4 + 4), (VOTES_NEEDED, 4)]
)
def test_progress_counts_all_runs(bars, command, total):
    assert invoke(*command, *(() if "--n-items" in command else ("--n-items", 10)), "--workers", 2).exit_code == 0
    assert (bars.totals, sum(bars.steps)) == ([(total, "run")], total)
