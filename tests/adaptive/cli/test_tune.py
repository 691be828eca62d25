"""`ballots tune` and `ballots votes-needed`."""

import json
import re

import numpy as np
import pytest

from adaptive import Comparisons, VoterPopulation, draw_ballot, exponential_similarity, tune_plan, votes_needed
from adaptive._tuning.candidates import candidates_for
from adaptive.model._matching import Matching
from tests.adaptive.cli.commands import invoke, refusal, run_ok

pytestmark = pytest.mark.wide

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
