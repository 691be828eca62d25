"""The command `ballots simulate`: the numbers of the library."""

import json
import re

import numpy as np
import pytest

from adaptive import Comparisons, VoterPopulation, draw_ballot, exponential_similarity, tune_plan, votes_needed
from adaptive._plan import plan_ballots
from adaptive._tuning.candidates import candidates_for
from adaptive.model._matching import Matching
from adaptive.simulation._approaches import APPROACHES
from adaptive.simulation._similarity import named_similarity
from adaptive.simulation._simulate import simulate
from tests.adaptive.cli.commands import invoke, refusal, run_json, run_ok

pytestmark = pytest.mark.wide
LEGEND = (
    "mean +- standard deviation of a simulation (standard error of the mean); items that tie in an estimate share "
    "their mid-rank"
)


@pytest.mark.parametrize("similarity", ["exponential", "power_law", "embedding"])
def test_simulate_is_that_of_the_library(similarity):
    arguments = ("--n-items", 20, "--ballots", 2, "--presentations", 4, "--similarity", similarity)
    arguments = ("simulate", *arguments, "--simulations", 3, "--seed", 5, "--voters", 9)
    plan = plan_ballots(20, n_ballots=2, fraction=0.5, presentations=4)
    values, pool = named_similarity(similarity, 20), VoterPopulation(9)
    expected = simulate(plan, pool, values, n_simulations=3, seed=5)
    found = json.loads(run_ok(*arguments, "--json"))
    assert found["coefficients"] == expected.to_dict()
    assert found["plan"] == plan.to_dict()
    assert found["options"]["ties"] == "midrank"
    *table, blank, legend = run_ok(*arguments).splitlines()
    assert (blank, legend) == ("", LEGEND)
    assert table[0] == f"20 items ({similarity}), 60 comparisons, 9 voters, 3 simulations, seed 5"
    assert [line.split()[0] for line in table[2:]] == ["approach", "adaptive", "uniform"]
    for line in table[3:]:
        name = line.split()[0]
        numbers = [
            f"{expected.mean[name][c]:.4f} +- {expected.sd[name][c]:.4f} ({expected.se[name][c]:.4f})"
            for c in expected.mean[name]
        ]
        assert "  ".join(numbers) in line
    signed = json.loads(run_ok(*arguments, "--json", "--judge", "similarity"))
    assert signed["coefficients"] == simulate(plan, pool, values, n_simulations=3, seed=5, relatedness=False).to_dict()


def test_simulate_takes_approaches():
    arguments = ("--n-items", 20, "--ballots", 2, "--presentations", 4, "--simulations", 2, "--seed", 5, "--voters", 9)
    chosen = [part for approach in APPROACHES for part in ("--approach", approach)]
    plan = plan_ballots(20, n_ballots=2, fraction=0.5, presentations=4)
    values = named_similarity("exponential", 20)
    expected = simulate(plan, VoterPopulation(9), values, n_simulations=2, seed=5, approaches=APPROACHES)
    found = json.loads(run_ok("simulate", *arguments, *chosen, "--json"))
    assert found["coefficients"] == expected.to_dict()
    # One that is named twice is simulated once; the order is that of the options.
    lines = run_ok("simulate", *arguments, *chosen, "--approach", "adaptive").splitlines()[3:-2]
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


def test_simulate_says_what_is_undefined(folder):
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
    assert (bars.asked, sum(bars.steps)) == ([(6, "simulation")], 6)


SIMULATE = ("simulate", "--n-items", 10, "--ballots", 2, "--presentations", 4)
TUNE = ("tune", "--budget", 80, "--voters", 5, "--simulations", 2, "--fresh", 2, "--approach", "matched", "--batch", 20)
SIMULATED = {"similarity": exponential_similarity(10), "voters": VoterPopulation(5), "simulations": 2}
NEEDED = ("votes-needed", "--accuracy", 0.5, "--voters", 5, "--simulations", 2)


def test_tune_prints_the_table_and_what_the_budget_buys():
    text = run_ok(*TUNE, "--n-items", 10)
    lines = text.splitlines()
    assert lines[0].split() == ["candidate", "tau_w", "simulations", "fell", "out"]
    assert re.match(r"matched, focus .* best$", lines[1])
    assert len([line for line in lines if line.startswith("matched, ")]) == 6
    assert "80 comparisons of 10 items, 2 fresh simulations, seed 0:" in text
    assert re.search(r"best: matched, .*: tau_w \S+ \(\S+ to \S+\); one voting", text)
    assert re.search(r"the paper's plan: adaptive, .*; gain [+-]", text)


def test_tune_as_json_is_that_of_the_library():
    printed = json.loads(run_ok(*TUNE, "--n-items", 10, "--json"))
    candidates = candidates_for(10, 80, approaches=["matched"], batch=20)
    own = tune_plan(80, **SIMULATED, candidates=candidates, fresh=2)
    assert printed["best"]["candidate"] == own.best.name
    assert printed["best"]["mean"] == own.accuracy
    assert printed["gain"]["interval"] == list(own.gain_interval)
    assert [row["fell_out"] for row in printed["candidates"]] == [row.fell_out for row in own.rows_tried]
    assert printed["voters"] is None


def test_tune_advises_on_budgets_that_voters_cannot_spend():
    arguments = ("tune", "--budget", 500, "--n-items", 10, "--voters", 5, *TUNE[5:])
    sentence = "5 voters can answer at most 225 of 500 comparisons, each pair once: plan for 12 voters, or fewer"
    assert json.loads(run_ok(*arguments, "--json"))["advice"][0]["sentence"].startswith(sentence)
    assert f"Advice:\n- {sentence}" in run_ok(*arguments)


def test_tune_by_pilot_votes(folder):
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


def test_votes_needed_prints_the_curve_and_the_verdict():
    text = run_ok(*NEEDED, "--n-items", 10)
    found = votes_needed(0.5, **SIMULATED, matching=Matching())
    assert found.verdict in text
    assert text.splitlines()[0].split() == ["votes", "tau_w"]
    assert "if every voter ranked all items:" in text
    printed = json.loads(run_ok(*NEEDED, "--n-items", 10, "--json"))
    assert printed["votes"] == found.votes
    assert printed["verdict"] == found.verdict


@pytest.mark.parametrize(("command", "total"), [((*TUNE, "--n-items", 10), 6 * 2 + 3 * 2 + 2 * 4 + 4), (NEEDED, 4)])
def test_progress_counts_all_runs(bars, command, total):
    assert invoke(*command, *(() if "--n-items" in command else ("--n-items", 10)), "--workers", 2).exit_code == 0
    assert (bars.asked, sum(bars.steps)) == ([(total, "run")], total)
