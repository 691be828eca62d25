"""The processes of rankcorr-collect, on both databases: what was acknowledged is kept, whatever ends meanwhile."""

import http.client
import json
import os
import signal
import threading
import time

import pytest
import sqlalchemy as sa

from adaptive.ledger.votes.reading import votes_of
from tests.adaptive.ledger.databases import SERVER, PostgreSQL, own_server
from tests.service.collect.browsing import new_id
from tests.service.collect.live import LiveVoter, collecting
from tests.service.live import PATIENCE, eventually

N_VOTERS = 12
BROKEN = (http.client.HTTPException, ConnectionError)


@pytest.fixture(params=["sqlite", "postgresql"])
def live(request, tmp_path):
    """A live server of two workers and its campaign."""
    if request.param == "sqlite":
        with collecting(tmp_path, voters=N_VOTERS) as found:
            yield found
        return
    try:
        database = PostgreSQL()
    except sa.exc.OperationalError:
        pytest.skip(f"no PostgreSQL answers at {SERVER}; RANKCORR_TEST_POSTGRES names another")
    try:
        with collecting(tmp_path, target=database.new_schema(), voters=N_VOTERS) as found:
            yield found
    finally:
        database.drop()


def n_votes(campaign):
    return campaign.database.read(lambda connection: len(votes_of(connection, campaign.info).left))


def insist(voter, method, path, document):
    """Send a request until it is answered, as a page does; a vote has its event id in the path each time."""
    end = time.monotonic() + 2 * PATIENCE
    while True:
        try:
            status, _, body = voter.ask(method, path, document)
        except BROKEN:
            status, body = 0, b""
        if status == 200:
            return json.loads(body)
        assert status in (0, 408, 503), body
        assert time.monotonic() < end
        time.sleep(0.05)


class Crowd:
    """Voters who answer all that they are asked, at the same time."""

    def __init__(self, server, campaign):
        self.acknowledged, self.failures = {}, []
        self._voters = [LiveVoter(server.ask, campaign) for _ in range(N_VOTERS)]
        for voter in self._voters:
            voter.come()
        self._threads = [threading.Thread(target=self._vote, args=(voter,)) for voter in self._voters]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        for thread in self._threads:
            thread.join(4 * PATIENCE)
        assert not self.failures, self.failures[0]
        assert not any(thread.is_alive() for thread in self._threads)

    def _vote(self, voter):
        try:
            for pair in insist(voter, "POST", "/v1/sheets", {})["sheet"]["pairs"]:
                event = new_id()
                found = insist(voter, "PUT", f"/v1/votes/{event}", {"pair": pair["id"], "answer": "left"})
                self.acknowledged[pair["id"]] = (event, found["event_id"])
        except BaseException as error:
            self.failures.append(error)


def test_a_killed_worker_costs_no_vote(live):
    server, campaign = live
    with Crowd(server, campaign) as crowd:
        for number in (60, 140):
            eventually(lambda wanted=number: len(crowd.acknowledged) >= wanted, what="votes")
            victim = min(server.workers())
            os.kill(victim, signal.SIGKILL)
            eventually(lambda gone=victim: len(server.workers()) == 2 and gone not in server.workers(), what="a worker")
    assert len(crowd.acknowledged) == 300
    assert all(sent == kept for sent, kept in crowd.acknowledged.values())
    assert n_votes(campaign) == 300
    assert server.ask("GET", "/health/ready")[0] == 200


def test_a_database_that_ends_and_comes_back(tmp_path):
    with own_server() as database, collecting(tmp_path, target=database.url) as (server, campaign):
        voter = LiveVoter(server.ask, campaign)
        voter.come()
        first, second, *_ = voter.sheet()
        assert voter.vote(first)[0] == 200
        database.stop(signal.SIGINT)
        assert server.ask("GET", "/health/ready")[0] == 503
        assert server.ask("GET", "/health/live")[0] == 200
        vote = (f"/v1/votes/{new_id()}", {"pair": second["id"], "answer": "left"})
        times = []
        while len(times) < 3 and min(times, default=10.0) >= 10.0:  # a machine that stands still makes one of them long
            began = time.monotonic()
            status, headers, _ = voter.ask("PUT", *vote)
            times.append(time.monotonic() - began)
            assert (status, "Retry-After" in headers) == (503, True)
        assert min(times) < 10.0
        answers = []
        waiting = threading.Thread(target=lambda: answers.append(insist(voter, "PUT", *vote)))
        waiting.start()
        time.sleep(1)
        database.start()
        waiting.join(3 * PATIENCE)
        assert answers[0]["answer"] == "left"
        eventually(lambda: server.ask("GET", "/health/ready")[0] == 200, what="that it is ready again")
        assert n_votes(campaign) == 2
