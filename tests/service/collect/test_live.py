"""Live servers: kills, a busy or stopped database, and whole campaigns with the same results as without a network."""

import contextlib
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import threading
import time
from functools import partial

import numpy as np
import pytest

from adaptive._plan import plan_ballots
from adaptive._protocol import Position, ballot_rng, close_ballot
from adaptive._votes import Vote
from adaptive.ledger._ballots.stored import votes_of
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._voters import VoterPopulation
from tests.adaptive.ledger.campaigns import check_ledger
from tests.adaptive.ledger.conftest import empty_target, postgresql
from tests.adaptive.ledger.databases import run_server
from tests.repository import PAGES, find_fenced
from tests.service.collect.browsing import Voter, new_campaign, new_id
from tests.service.collect.live import (
    Crowd,
    KillableServer,
    LiveVoter,
    Losses,
    Minds,
    ask_until_answered,
    compare_with_ledger,
    join_in_process,
    kill_thread,
    run_ballots,
    run_collect,
    simulated_campaign,
)
from tests.service.live import PATIENCE, poll_until

pytestmark = pytest.mark.wide


__all__ = ["empty_target", "postgresql"]  # fixtures

N_VOTERS = 20
# More comparisons than can be answered before the last kill.
PLAN = plan_ballots(60, n_ballots=2, fraction=0.5, presentations=60)
CAMPAIGN = {"plan": PLAN, "items": 60, "voters": N_VOTERS, "sheet_size": 5}


def test_killing_a_worker_and_the_server_loses_no_vote_and_voting_continues(empty_target, tmp_path):
    campaign = new_campaign(empty_target, **CAMPAIGN)
    with KillableServer(tmp_path, empty_target) as server:
        crowd = Crowd(server.address, campaign.key, N_VOTERS, think=0.2)
        killing = kill_thread(server, crowd, 3, votes=(10, 40))
        killing.start()
        log = crowd.run()
        killing.join()
        assert server.server.ask("GET", "/health/ready")[0] == 200
    assert log.broken
    assert len(log.acknowledged) >= 40
    assert not log.refused
    assert compare_with_ledger(campaign, log) == Losses(lost=0, doubled=0, miscounted=0, unheard=0)
    check_ledger(campaign)
    campaign.database.close()


def test_a_locked_ledger_is_reported_to_voters_within_seconds(tmp_path):
    patience = {"RANKCORR_MAX_LEDGER_SECONDS": "0.5"}
    with run_collect(tmp_path, patience) as (server, campaign):
        voter = LiveVoter(server.ask, campaign)
        voter.come()
        pair, event = voter.sheet()[0], new_id()
        path, vote = f"/v1/votes/{event}", {"pair": pair["id"], "answer": "left"}
        with contextlib.closing(sqlite3.connect(tmp_path / "votes.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            times = []
            while len(times) < 3 and min(times, default=5.0) >= 5.0:  # one of them is long if the machine stalls
                began = time.monotonic()
                status, headers, body = voter.ask("PUT", path, vote)
                times.append(time.monotonic() - began)
                assert (status, headers["Retry-After"]) == (503, "2")
                assert json.loads(body)["type"] == "urn:rankcorr:problem:busy"
        assert 0.5 <= min(times) < 5.0
        status, _, body = poll_until(
            lambda: (reply := voter.ask("PUT", path, vote))[0] != 503 and reply, goal="an answer"
        )
        assert (status, json.loads(body)["repeated"]) == (200, False)


N_SIMULATED_ITEMS, N_SIMULATED_VOTERS, SEED = 20, 5, 7
SIMULATED_PLAN = plan_ballots(N_SIMULATED_ITEMS, n_ballots=2, fraction=0.5, presentations=6)


def minds():
    rng = np.random.default_rng(SEED)
    pool = VoterPopulation(N_SIMULATED_VOTERS, oversight=(0.05, 0.3)).draw(rng)
    return Minds(pool, pool.opinions(exponential_similarity(N_SIMULATED_ITEMS), rng), SEED)


def new_simulation(folder):
    folder.mkdir()
    return simulated_campaign(str(folder / "votes.db"), SIMULATED_PLAN, N_SIMULATED_VOTERS, SEED, sheet_size=4)


def run(campaign, asks):
    run_ballots(campaign, asks, minds(), np.random.default_rng(SEED))
    return [record.to_dict() for record in campaign.paper_result().ballots]


def test_kills_during_a_campaign_do_not_change_its_result(tmp_path, make_app):
    plain = new_simulation(tmp_path / "plain")
    app = make_app(ledger=str(tmp_path / "plain" / "votes.db"))
    undisturbed = run(plain, [join_in_process(Voter(app.test_client(), plain)) for _ in range(N_SIMULATED_VOTERS)])
    killed = new_simulation(tmp_path / "killed")
    rng, threads, n_asked = random.Random(SEED), [], 0
    with KillableServer(tmp_path, str(tmp_path / "killed" / "votes.db")) as server:
        kills = {20: lambda: server.kill_worker(rng), 50: server.kill_all, 90: lambda: server.kill_worker(rng)}

        def ask(voter, *request):
            nonlocal n_asked
            n_asked += 1
            if n_asked in kills:
                threads.append(threading.Timer(rng.uniform(0.0, 0.005), kills[n_asked]))
                threads[-1].start()
            return ask_until_answered(voter, *request)

        voters = [LiveVoter(server.server.ask, killed) for _ in range(N_SIMULATED_VOTERS)]
        for voter in voters:
            voter.come()
        disturbed = run(killed, [partial(ask, voter) for voter in voters])
        for thread in threads:
            thread.join()
    assert len(threads) == 3
    assert disturbed == undisturbed
    for campaign in (plain, killed):
        campaign.database.close()


def test_the_votes_in_the_ledger_give_the_records_of_the_protocol(tmp_path, make_app):
    campaign, voting = new_simulation(tmp_path / "plain"), minds()
    app = make_app(ledger=str(tmp_path / "plain" / "votes.db"))
    records = run(campaign, [join_in_process(Voter(app.test_client(), campaign)) for _ in range(N_SIMULATED_VOTERS)])
    position = Position.first(SIMULATED_PLAN)
    for stored, record in zip(campaign.ballots(), records, strict=True):
        ballot, answers = redo_ballot(campaign, stored, voting)
        record_again, position = close_ballot(
            SIMULATED_PLAN, position, ballot, answers, rng=ballot_rng(SEED, stored.number, "cut")
        )
        assert record_again.to_dict() == record
    campaign.database.close()


def redo_ballot(campaign, stored, voting):
    """A ballot as it was drawn, and the opinions of its voters; only the holders of sheets are from the ledger."""
    from tests.adaptive.ledger.campaigns import load_ballot, query

    ballot = campaign.read(load_ballot, stored)
    places = {voter: at for at, (voter,) in enumerate(query(campaign, "SELECT id FROM voter ORDER BY id"))}
    rows = query(
        campaign,
        "SELECT c.left_item, c.right_item, l.voter_id FROM comparison c JOIN lease l ON l.ballot_id = c.ballot_id "
        "AND l.sheet = c.sheet WHERE c.ballot_id = :ballot ORDER BY c.place",
        ballot=stored.id,
    )
    answers = [voting.answer(places[voter], stored.number, left, right) for left, right, voter in rows]
    return ballot, [int(Vote[answer.upper()]) for answer in answers]


@pytest.mark.skipif(not shutil.which("jq") or not shutil.which("curl"), reason="jq or curl is not installed")
def test_the_session_of_the_page_runs(tmp_path):
    (commands,) = find_fenced(PAGES["docs/reference/http-collect.md"], "bash")
    plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=4)
    with run_collect(tmp_path, plan=plan, items=range(8)) as (server, campaign):
        command = ["bash", "-euo", "pipefail", "-c", f"SERVER={server.url} KEY={campaign.key}\n{commands}"]
        process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert process.returncode == 0, process.stderr
    end = json.loads(process.stdout[process.stdout.rindex('{"') :])
    assert (end["outcome"], end["answers"]) == ("complete", 16)


def test_a_database_that_stops_and_restarts(tmp_path):
    with run_server() as database, run_collect(tmp_path, target=database.url) as (server, campaign):
        voter = LiveVoter(server.ask, campaign)
        voter.come()
        first, second, *_ = voter.sheet()
        assert voter.vote(first)[0] == 200
        database.stop(signal.SIGINT)
        assert server.ask("GET", "/health/ready")[0] == 503
        assert server.ask("GET", "/health/live")[0] == 200
        vote = (f"/v1/votes/{new_id()}", {"pair": second["id"], "answer": "left"})
        times = []
        while len(times) < 3 and min(times, default=10.0) >= 10.0:  # one of them is long if the machine stalls
            began = time.monotonic()
            status, headers, _ = voter.ask("PUT", *vote)
            times.append(time.monotonic() - began)
            assert (status, "Retry-After" in headers) == (503, True)
        assert min(times) < 10.0
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(ask_until_answered(voter, "PUT", *vote)))
        waiting.start()
        time.sleep(1)
        database.start()
        waiting.join(3 * PATIENCE)
        assert answers[0]["answer"] == "left"
        poll_until(lambda: server.ask("GET", "/health/ready")[0] == 200, goal="that it is ready again")
        assert len(campaign.read(votes_of).left) == 2
