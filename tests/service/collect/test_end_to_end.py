"""A whole campaign over HTTP, with voters of the voter model, ends as it would without the network."""

import json
import random
import shutil
import subprocess
import threading
from functools import partial

import numpy as np
import pytest

from adaptive._plan import plan_ballots
from adaptive._protocol import Position, ballot_rng, close_ballot
from adaptive._votes import Vote
from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._voters import VoterPopulation
from tests.repository import PAGES, fenced
from tests.service.collect.browsing import Voter
from tests.service.collect.killing import Killed
from tests.service.collect.live import LiveVoter, collecting, insist
from tests.service.collect.simulated import Minds, asking, run_ballots, simulated_campaign

N_ITEMS, N_VOTERS, SEED = 20, 5, 7
PLAN = plan_ballots(N_ITEMS, n_ballots=2, fraction=0.5, presentations=6)


def minds():
    rng = np.random.default_rng(SEED)
    pool = VoterPopulation(N_VOTERS, oversight=(0.05, 0.3)).draw(rng)
    return Minds(pool, pool.opinions(exponential_similarity(N_ITEMS), rng), SEED)


def ended(folder):
    folder.mkdir()
    return simulated_campaign(str(folder / "votes.db"), PLAN, N_VOTERS, SEED, sheet_size=4)


def run(campaign, asks):
    run_ballots(campaign, asks, minds(), np.random.default_rng(SEED))
    return [record.to_dict() for record in campaign.paper_result().ballots]


def test_kills_in_the_middle_of_a_campaign_change_nothing_of_its_result(tmp_path, make_app):
    plain = ended(tmp_path / "plain")
    app = make_app(ledger=str(tmp_path / "plain" / "votes.db"))
    undisturbed = run(plain, [asking(Voter(app.test_client(), plain)) for _ in range(N_VOTERS)])
    killed = ended(tmp_path / "killed")
    rng, threads, n_asked = random.Random(SEED), [], 0
    with Killed(tmp_path, str(tmp_path / "killed" / "votes.db")) as server:
        kills = {20: lambda: server.kill_worker(rng), 50: server.kill_all, 90: lambda: server.kill_worker(rng)}

        def ask(voter, *request):
            nonlocal n_asked
            n_asked += 1
            if n_asked in kills:
                threads.append(threading.Timer(rng.uniform(0.0, 0.005), kills[n_asked]))
                threads[-1].start()
            return insist(voter, *request)

        voters = [LiveVoter(server.server.ask, killed) for _ in range(N_VOTERS)]
        for voter in voters:
            voter.come()
        disturbed = run(killed, [partial(ask, voter) for voter in voters])
        for thread in threads:
            thread.join()
    assert len(threads) == 3
    assert disturbed == undisturbed
    for campaign in (plain, killed):
        campaign.database.close()


def test_the_votes_of_the_ledger_give_the_records_of_the_protocol(tmp_path, make_app):
    campaign, voting = ended(tmp_path / "plain"), minds()
    app = make_app(ledger=str(tmp_path / "plain" / "votes.db"))
    records = run(campaign, [asking(Voter(app.test_client(), campaign)) for _ in range(N_VOTERS)])
    standing = Position.first(PLAN)
    for stored, record in zip(campaign.ballots(), records, strict=True):
        ballot, answers = asked_and_answered(campaign, stored, voting)
        again, standing = close_ballot(PLAN, standing, ballot, answers, rng=ballot_rng(SEED, stored.number, "cut"))
        assert again.to_dict() == record
    campaign.database.close()


def asked_and_answered(campaign, stored, voting):
    """A ballot as it was drawn, and what its voters think of it; who had which sheet is all that the ledger says."""
    from adaptive.ledger._ballots.stored import load_ballot
    from tests.adaptive.ledger.campaigns import query

    ballot = campaign.database.read(lambda connection: load_ballot(connection, campaign.info, stored))
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
    (commands,) = fenced(PAGES["docs/reference/http-collect.md"], "bash")
    plan = plan_ballots(8, n_ballots=2, fraction=0.5, presentations=4)
    with collecting(tmp_path, plan=plan, items=range(8)) as (server, campaign):
        command = ["bash", "-euo", "pipefail", "-c", f"SERVER={server.url} KEY={campaign.key}\n{commands}"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout[done.stdout.rindex('{"') :])
    assert (end["outcome"], end["answers"]) == ("complete", 16)
