"""The configuration of service/deploy/ in front of rankcorr-collect, under its host name."""

import contextlib
import json
import shutil
import threading
import time

import pytest

from tests.service.collect.live import LiveVoter, run_collect
from tests.service.deploy.proxy import BUNDLE, NGINX, find_refusal, open_files, run_proxy, slow_clients
from tests.service.live import IN_PROGRESS, ask, poll_until

pytestmark = [
    pytest.mark.wide,
    pytest.mark.skipif(
        not NGINX or not shutil.which("openssl"), reason="nginx or openssl is not installed: .ci/run installs them"
    ),
]

HOST = "votes.example.org"
N_SLOW = 500
PROXY_SETTINGS = {"RANKCORR_TRUSTED_PROXIES": "1", "RANKCORR_PUBLIC_URL": f"https://{HOST}", "RANKCORR_METRICS": "open"}
ROUTES_OF_LOG = ("/v1/sessions", "/v1/sheets", "/v1/votes/<event_id>")


@pytest.fixture(scope="module")
def live_collect(tmp_path_factory):
    with run_collect(tmp_path_factory.mktemp("collecting"), PROXY_SETTINGS, voters=60) as result:
        yield result


@pytest.fixture(scope="module")
def proxy(live_server, live_collect, tmp_path_factory):
    with run_proxy(live_server, tmp_path_factory.mktemp("nginx"), collect=live_collect[0]) as running:
        yield running


def ask_until_admitted(connection, *request, **options):
    """Ask again while the program is over capacity, as may happen with fifty simultaneous voters on a slow machine."""
    while (answer := ask(connection, *request, **options))[0] == 503:
        time.sleep(float(answer[1]["Retry-After"]))
    return answer


def new_voter(proxy, campaign, **headers):
    return LiveVoter(proxy.ask, campaign, {"Host": HOST, "Origin": f"https://{HOST}", **headers})


def test_each_host_name_leads_to_its_program(proxy):
    for host, title in ((HOST, "rankcorr-collect"), ("rankcorr.example.org", "rankcorr"), ("127.0.0.1", "rankcorr")):
        status, headers, body = proxy.ask("GET", "/openapi.json", headers={"Host": host})
        assert (status, json.loads(body)["info"]["title"]) == (200, title)
        assert headers["Strict-Transport-Security"] == "max-age=31536000"


def test_a_voter_votes_over_tls(proxy, live_collect):
    server, campaign = live_collect
    voter = new_voter(proxy, campaign)
    voter.come()
    assert {"Secure", "HttpOnly", "SameSite=Lax"} <= set(voter.set_cookie.split("; "))
    for pair in voter.sheet():
        status, _, body = voter.vote(pair)
        assert (status, json.loads(body)["answer"]) == (200, "left")
    assert voter.ask("POST", "/v1/finish", {})[0] == 200
    lines = [json.loads(line) for line in server.output.read_text().splitlines()]
    assert set(ROUTES_OF_LOG) <= {line["route"] for line in lines}


def test_a_page_of_another_site_may_not_vote(proxy, live_collect):
    voter = new_voter(proxy, live_collect[1], Origin="https://elsewhere.example")
    status, _, body = voter.ask("POST", "/v1/sessions", {"campaign": live_collect[1].key, "consent": "1"})
    assert (status, json.loads(body)["status"]) == (403, 403)


def test_metrics_are_not_public(proxy):
    status, _, body = proxy.ask("GET", "/metrics", headers={"Host": HOST})
    assert (status, json.loads(body)["type"]) == (404, "urn:rankcorr:problem:not-found")


def test_a_body_above_the_limit_never_reaches_the_program(proxy, live_collect):
    before = live_collect[0].output.read_text().count('"status":413')
    status, _, body = proxy.ask("POST", "/v1/sessions", b" " * (4 * 2**20 + 1), headers={"Host": HOST})
    assert (status, json.loads(body)["type"]) == (413, "urn:rankcorr:problem:body-too-large")
    assert live_collect[0].output.read_text().count('"status":413') == before


def test_the_log_has_no_addresses_and_no_votes(proxy, live_collect):
    voter = new_voter(proxy, live_collect[1])
    voter.come()
    status, headers, _ = voter.ask("GET", f"/v1/me?secret={live_collect[1].key}")
    assert status == 200
    request_id = headers["X-Request-ID"]
    poll_until(lambda: request_id in proxy.log.read_text(), goal="a line of the log")
    (line,) = [json.loads(line) for line in proxy.log.read_text().splitlines() if request_id in line]
    assert set(line) == {"time", "id", "method", "status", "seconds", "bytes"}
    cookie = voter.headers["Cookie"].partition("=")[2]
    assert cookie not in proxy.log.read_text() + live_collect[0].output.read_text()
    assert live_collect[1].key not in proxy.log.read_text() + live_collect[0].output.read_text()


def test_many_voters_at_one_address_are_accepted(proxy, live_collect):
    """Fifty voters arrive at the same moment and answer faster than people do."""
    statuses, failures = [], []
    ready = threading.Barrier(50)

    def vote():
        try:
            voter = new_voter(proxy, live_collect[1])
            with contextlib.closing(proxy.connect()) as connection:  # as a browser does, on one connection
                voter._ask = lambda *request, **options: ask_until_admitted(connection, *request, **options)
                ready.wait(300)
                voter.come()
                for pair in voter.sheet():
                    statuses.append(voter.vote(pair)[0])
        except BaseException as error:
            failures.append(error)

    voters = [threading.Thread(target=vote) for _ in range(50)]
    for thread in voters:
        thread.start()
    for thread in voters:
        thread.join(600)
    assert not failures
    assert len(statuses) == 50 * 5
    assert set(statuses) == {200}


def test_too_many_requests_get_429(live_server, live_collect, tmp_path):
    few = {"PROXY_COLLECT_REQUESTS_PER_SECOND": "1", "PROXY_COLLECT_BURST": "2"}
    with run_proxy(live_server, tmp_path, collect=live_collect[0], **few) as strict:
        _, _, body = poll_until(lambda: find_refusal(strict, {"Host": HOST}), goal="a refusal")
        assert json.loads(body)["type"] == "urn:rankcorr:problem:too-many-requests"
        assert strict.ask("GET", "/health/live")[0] == 200  # the service has a separate limit


def test_five_hundred_slow_clients_do_not_delay_voters(live_server, tmp_path):
    patience = PROXY_SETTINGS | {"RANKCORR_MAX_WAIT_SECONDS": "600", "RANKCORR_MAX_LEDGER_SECONDS": "600"}
    with (
        open_files(3 * N_SLOW),
        run_collect(tmp_path, patience) as (server, campaign),
        run_proxy(live_server, tmp_path, collect=server, PROXY_CLIENT_TIME="3600s") as proxy,
        slow_clients(proxy, N_SLOW, HOST) as slow,
    ):
        poll_until(lambda: server.output.read_text().count(BUNDLE) >= len(slow.unread), goal="their requests")
        poll_until(lambda: server.metrics()[IN_PROGRESS] == 1, goal="the end of all work")  # the request for metrics
        voter = new_voter(proxy, campaign)
        voter.come()
        pairs = voter.sheet()
        for pair in pairs:
            status, _, body = voter.vote(pair)
            assert status == 200, body
            slow.drip()
        assert server.metrics()[IN_PROGRESS] == 1  # no slow request has reached the service
        assert slow.n_open() == N_SLOW
        status, _, body = voter.ask("POST", "/v1/finish", {})
        assert status == 200, body
    assert len(pairs) == 100
