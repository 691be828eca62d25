"""A database that ends under rankcorr-collect; test_load.py kills the processes of the service."""

import signal
import threading
import time

from adaptive.ledger._votes.reading import votes_of
from tests.adaptive.ledger.databases import own_server
from tests.service.collect.browsing import new_id
from tests.service.collect.live import LiveVoter, collecting, insist
from tests.service.live import PATIENCE, eventually


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
        assert campaign.database.read(lambda connection: len(votes_of(connection, campaign.info).left)) == 2
