"""Who may call: bearer tokens, and what they open."""

import os

import pytest
from flask import Request

from service.http.access import RateLimiter, Tokens, site_of
from service.http.problems import Problem
from service.http.state import state
from tests.service.answers import post_pair

TOKEN = "0123456789abcdef"
OTHER = "fedcba9876543210"


class TestTokens:
    @pytest.fixture
    def guarded(self, make_client):
        return make_client(tokens=(TOKEN, OTHER), metrics="token")

    @pytest.mark.parametrize("token", [TOKEN, OTHER])
    def test_a_token_opens_the_api(self, guarded, token):
        assert post_pair(guarded, {"Authorization": f"Bearer {token}"}).status_code == 200
        assert post_pair(guarded, {"Authorization": f"bearer {token}"}).status_code == 200
        assert post_pair(guarded, {"Authorization": f"Bearer   {token} "}).status_code == 200

    @pytest.mark.parametrize(
        "authorization",
        [
            None,
            "",
            "Bearer",
            "Bearer ",
            f"Basic {TOKEN}",
            TOKEN,
            f"Bearer {TOKEN}x",
            f"Bearer {TOKEN[:-1]}",
            "Bearer é",
        ],
    )
    def test_anything_else_does_not(self, guarded, authorization):
        headers = {} if authorization is None else {"Authorization": authorization}
        answer = post_pair(guarded, headers)
        assert (answer.status_code, answer.content_type) == (401, "application/problem+json")
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="rankcorr"'

    def test_the_body_is_not_looked_at_without_a_token(self, guarded):
        answer = guarded.post("/v1/correlations", data="{", content_type="application/json")
        assert answer.status_code == 401

    def test_a_path_that_is_not_served_needs_one_too(self, guarded):
        assert guarded.get("/v1/nope").status_code == 401

    @pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/openapi.json", "/docs"])
    def test_probes_and_the_document_stay_open(self, guarded, path):
        assert guarded.get(path).status_code == 200

    def test_metrics_follow_their_setting(self, guarded, make_client):
        assert guarded.get("/metrics").status_code == 401
        assert guarded.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert make_client(metrics="off").get("/metrics").status_code == 404
        assert make_client(tokens=(TOKEN,), metrics="open").get("/metrics").status_code == 200

    def test_no_token_reaches_the_log(self, guarded, capsys):
        post_pair(guarded, {"Authorization": f"Bearer {TOKEN}"})
        post_pair(guarded, {"Authorization": "Bearer wrong-wrong-wrong"})
        text = capsys.readouterr()
        assert TOKEN not in text.out + text.err
        assert "wrong" not in text.out + text.err

    def test_every_token_is_compared_in_constant_time(self, monkeypatch):
        compared = []
        monkeypatch.setattr("service.http.access.hmac.compare_digest", lambda a, b: compared.append((a, b)) or a == b)
        assert (
            Tokens([TOKEN, OTHER]).check(Request.from_values(headers={"Authorization": f"Bearer {TOKEN}"})) == "token 1"
        )
        assert len(compared) == 2
        assert {len(digest) for pair in compared for digest in pair} == {32}


def clocked(client):
    """A client of an app whose rate is counted in a minute that never ends."""
    with client.application.app_context():
        state().rate.clock = lambda: 30.0
    return client


class TestRate:
    def test_a_client_has_its_requests_of_a_minute(self, make_client):
        client = clocked(make_client(requests_per_minute=2))
        assert [post_pair(client).status_code for _ in range(4)] == [200, 200, 429, 429]
        limiter = RateLimiter(2, clock=lambda: 61.0)
        limiter.count("a")
        limiter.count("a")
        with pytest.raises(
            Problem, match=r"at most 2 requests of a client in a minute \(RANKCORR_REQUESTS_PER_MINUTE"
        ) as caught:
            limiter.count("a")
        assert caught.value.status == 429
        assert caught.value.headers == {"Retry-After": "59"}
        limiter.count("b")

    def test_the_next_minute_begins_anew(self):
        now = [0.0]
        limiter = RateLimiter(1, clock=lambda: now[0])
        for minute in range(3):
            now[0] = 60.0 * minute
            limiter.count("a")
            with pytest.raises(Problem, match="at most 1 requests"):
                limiter.count("a")

    def test_the_answer_is_a_problem(self, make_client):
        client = clocked(make_client(requests_per_minute=1))
        assert post_pair(client).status_code == 200
        answer = post_pair(client)
        assert (answer.status_code, answer.content_type) == (429, "application/problem+json")
        assert answer.headers["Retry-After"] == "30"
        assert client.get("/health/live").status_code == 200

    def test_proxies_are_believed_only_if_told(self, make_client):
        for proxies, second in ((0, 429), (1, 200)):
            client = clocked(make_client(requests_per_minute=1, trusted_proxies=proxies))
            assert post_pair(client, {"X-Forwarded-For": "192.0.2.1"}).status_code == 200
            assert post_pair(client, {"X-Forwarded-For": "192.0.2.2"}).status_code == second

    def test_which_clients_share_a_count_differs_from_start_to_start(self):
        def first_met(limiter):
            """The first client that is counted with client 0."""
            limiter.count("client 0")
            for number in range(1, 1_000):
                try:
                    limiter.count(f"client {number}")
                except Problem:
                    return number
            return None

        class Few(RateLimiter):
            def _place(self, client):
                return super()._place(client) % 16

        assert len({first_met(Few(1, clock=lambda: 0.0)) for _ in range(20)}) > 1

    def test_wrong_tokens_count(self, make_client):
        token = "0123456789abcdef"
        client = clocked(make_client(requests_per_minute=2, tokens=(token,)))
        wrong, right = {"Authorization": "Bearer guess"}, {"Authorization": f"Bearer {token}"}
        assert [post_pair(client, wrong).status_code for _ in range(3)] == [401, 401, 429]
        assert [post_pair(client, right).status_code for _ in range(3)] == [200, 200, 429]

    def test_processes_share_the_counts(self):
        limiter = RateLimiter(3, clock=lambda: 0.0)
        child = os.fork()
        if child == 0:
            limiter.count("a")
            limiter.count("a")
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        limiter.count("a")
        with pytest.raises(Problem, match="at most 3 requests"):
            limiter.count("a")


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("192.0.2.1", "192.0.2.1:51234", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::2", True),
        ("2001:db8:1:2::1", "2001:db8:1:ff::1", True),
        ("2001:db8:1:2::1", "2001:db8:1:102::1", False),
        ("[2001:db8:1:2::1]:51234", "[2001:db8:1:3::1]", True),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        (None, "unknown", True),
        ("unknown", "no:address", False),
    ],
)
def test_addresses_of_one_site_are_one(one, other, alike):
    assert (site_of(one) == site_of(other)) is alike


def test_a_rate_is_that_of_a_site(make_client):
    client = clocked(make_client(requests_per_minute=2, trusted_proxies=1))
    addresses = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"]
    statuses = [post_pair(client, headers={"X-Forwarded-For": address}).status_code for address in addresses]
    assert statuses == [200, 200, 429] * 2
