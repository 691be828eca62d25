"""A script that claims sheets without answering, and new voters who want to answer, on a live server."""

import json
from contextlib import ExitStack, closing

import pytest

from adaptive.ledger import ContinuousPlan, Ledger
from adaptive.ledger._ballots.sheets import MINUTE
from service.collect import access
from tests.adaptive.ledger.campaigns import change, query
from tests.service.collect.browsing import ADMIN, Organiser, new_campaign, new_voter
from tests.service.collect.live import COMMAND, LiveVoter, run_collect
from tests.service.live import ask, run_service

N_SHEETS = 30
SCRIPT = "192.0.2.66"


def newcomer_requests(server, campaign, stack):
    """Ask for a sheet as a new voter from an address that a proxy reports; each address has one connection."""
    connections = {}

    def take(address):
        """The answer and its header Retry-After."""
        if address not in connections:
            connections[address] = stack.enter_context(closing(server.connect()))

        def ask_from_address(method, path, document, *, headers):
            return ask(connections[address], method, path, document, {**headers, "X-Forwarded-For": address})

        voter = LiveVoter(ask_from_address, campaign)
        voter.come()
        status, headers, body = voter.ask("POST", "/v1/sheets", {})
        assert status == 200, body
        return json.loads(body), headers.get("Retry-After")

    return take


@pytest.mark.wide
def test_a_script_can_block_new_voters_for_at_most_two_minutes(tmp_path):
    environment = {"RANKCORR_WORKERS": "2", "RANKCORR_TRUSTED_PROXIES": "1"}
    with (
        ExitStack() as stack,
        run_collect(tmp_path, environment, sheet_size=10, lease_minutes=60) as (server, campaign),
    ):
        assert query(campaign, "SELECT count(*) FROM sheet") == [(N_SHEETS,)]
        take = newcomer_requests(server, campaign, stack)
        assert all(take(SCRIPT)[0]["sheet"] for _ in range(N_SHEETS))
        answer, retry = take("198.51.100.1")
        assert (answer["sheet"], answer["reason"]) == (None, "wait")
        assert answer["retry_after"] == int(retry) <= 120
        change(campaign, "UPDATE lease SET expires_at = expires_at - :time", time=2 * MINUTE)
        has_sheet = [bool(take(SCRIPT)[0]["sheet"]) for _ in range(6)]
        assert has_sheet == [True] * 3 + [False] * 3  # 100 at once, divided by 1 plus the 30 lapsed ones
        assert all(take(f"198.51.100.{n}")[0]["sheet"] for n in range(5))
        # The limit applies to another worker and after a restart.
        server.stop()
        with run_service(tmp_path, {"RANKCORR_LEDGER": str(tmp_path / "votes.db"), **environment}, COMMAND) as again:
            take = newcomer_requests(again, campaign, stack)
            assert take(SCRIPT)[0]["reason"] == "wait"
            assert take("198.51.100.99")[0]["sheet"]


def test_no_batch_is_drawn_for_a_limited_address(make_app, target):
    plan = ContinuousPlan(n_items=10, budget=200, batch=10)
    campaign = new_campaign(target, plan=plan, items=10, voters=1)
    app = make_app(unanswered_sheets=1)
    answers = []
    for _ in range(3):
        voter = new_voter(app, campaign)
        answers.append(voter.client.post("/v1/sheets", json={}, headers=voter.headers).json)
    assert [answer["reason"] for answer in answers] == [None, "wait", "wait"]
    assert query(campaign, "SELECT count(*) FROM ballot") == [(1,)]


def test_0_disables_the_limit(make_app, campaign):
    app = make_app(unanswered_sheets=0)
    for _ in range(6):
        voter = new_voter(app, campaign)
        assert voter.sheet() is not None
    assert query(campaign, "SELECT DISTINCT address FROM lease") == [(None,)]


def test_an_untrusted_proxy_is_reported_in_the_log(make_app, campaign, caplog):
    access._warn_of_proxy.cache_clear()
    headers = {"X-Forwarded-For": "192.0.2.1"}
    for _ in range(2):
        body = {"campaign": campaign.key, "consent": "1"}
        assert make_app().test_client().post("/v1/sessions", json=body, headers=headers).status_code == 201
    assert caplog.text.count("RANKCORR_TRUSTED_PROXIES is 0") == 1
    assert "192.0.2.1" not in caplog.text


def test_the_organiser_sees_the_number_of_held_sheets(voting_campaign):
    organiser, campaign = voting_campaign
    assert organiser.get("/progress").json["status"]["awaited"] is None
    organiser.voter().sheet()
    answer = organiser.get("/progress")
    awaited = answer.json["status"]["awaited"]
    assert (awaited["n_sheets"], awaited["n_of_one_address"]) == (1, 1)
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert organiser.get("/progress", status=304, headers=tag).status_code == 304
    change(campaign, "UPDATE lease SET expires_at = expires_at - :time", time=2 * MINUTE)
    assert organiser.get("/progress", headers=tag).json["status"]["awaited"] is None


@pytest.fixture
def voting_campaign(make_app, target):
    """The organiser of a campaign whose first ballot is open, and its ledger."""
    organiser = Organiser(make_app(tokens=(ADMIN,)), ADMIN).make()
    organiser.open()
    ledger = Ledger.open(target)
    yield organiser, ledger
    ledger.close()
