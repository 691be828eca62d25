"""The hardest ends of a live rankcorr-collect, and a ledger that is busy: voters hear of it, and no vote is lost."""

import contextlib
import json
import sqlite3
import time

from adaptive._plan import plan_ballots
from tests.adaptive.ledger.campaigns import check_ledger
from tests.adaptive.ledger.conftest import empty_target, postgresql
from tests.service.collect.browsing import new_campaign, new_id
from tests.service.collect.crowd import Crowd, Losses, losses
from tests.service.collect.killing import Killed, kills
from tests.service.collect.live import LiveVoter, collecting
from tests.service.live import eventually

__all__ = ["empty_target", "postgresql"]  # fixtures

N_VOTERS = 20
# More comparisons than are answered before the last kill, however late it comes.
PLAN = plan_ballots(60, n_ballots=2, fraction=0.5, presentations=60)
CAMPAIGN = {"plan": PLAN, "items": 60, "voters": N_VOTERS, "sheet_size": 5}


def test_kills_of_a_worker_and_of_the_server_lose_no_vote_and_voters_go_on(empty_target, tmp_path):
    campaign = new_campaign(empty_target, **CAMPAIGN)
    with Killed(tmp_path, empty_target) as server:
        crowd = Crowd(server.address, campaign.key, N_VOTERS, think=0.2)
        killing = kills(server, crowd, 3, votes=(10, 40))
        killing.start()
        log = crowd.run()
        killing.join()
        assert server.server.ask("GET", "/health/ready")[0] == 200
    assert log.broken
    assert len(log.acknowledged) >= 40
    assert not log.refused
    assert losses(campaign, log) == Losses(lost=0, doubled=0, miscounted=0, unheard=0)
    check_ledger(campaign)
    campaign.database.close()


def answered(answer):
    """An answer, unless it says that the ledger is busy."""
    return None if answer[0] == 503 else answer


def test_while_another_program_holds_the_ledger_a_voter_hears_so_within_seconds(tmp_path):
    patience = {"RANKCORR_MAX_LEDGER_SECONDS": "0.5"}
    with collecting(tmp_path, patience) as (server, campaign):
        voter = LiveVoter(server.ask, campaign)
        voter.come()
        pair, event = voter.sheet()[0], new_id()
        path, vote = f"/v1/votes/{event}", {"pair": pair["id"], "answer": "left"}
        with contextlib.closing(sqlite3.connect(tmp_path / "votes.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            times = []
            while (
                len(times) < 3 and min(times, default=5.0) >= 5.0
            ):  # a machine that stands still makes one of them long
                began = time.monotonic()
                status, headers, body = voter.ask("PUT", path, vote)
                times.append(time.monotonic() - began)
                assert (status, headers["Retry-After"]) == (503, "2")
                assert json.loads(body)["type"] == "urn:rankcorr:problem:busy"
        assert 0.5 <= min(times) < 5.0
        status, _, body = eventually(lambda: answered(voter.ask("PUT", path, vote)), what="an answer")
        assert (status, json.loads(body)["repeated"]) == (200, False)
