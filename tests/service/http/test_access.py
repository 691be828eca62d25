"""Access by tokens and addresses; cached answers."""

import pytest
from flask import Request

from service.http.state import BearerTokens, site_of
from tests.service.answers import PAIR, post_pair

TOKEN = "0123456789abcdef"
OTHER = "fedcba9876543210"


class TestTokens:
    @pytest.fixture
    def guarded_client(self, make_client):
        return make_client(tokens=(TOKEN, OTHER), metrics="token")

    @pytest.mark.parametrize("token", [TOKEN, OTHER])
    def test_a_token_opens_the_api(self, guarded_client, token):
        assert post_pair(guarded_client, {"Authorization": f"Bearer {token}"}).status_code == 200
        assert post_pair(guarded_client, {"Authorization": f"bearer {token}"}).status_code == 200
        assert post_pair(guarded_client, {"Authorization": f"Bearer   {token} "}).status_code == 200

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
    def test_other_credentials_are_refused(self, guarded_client, authorization):
        headers = {} if authorization is None else {"Authorization": authorization}
        answer = post_pair(guarded_client, headers)
        assert (answer.status_code, answer.content_type) == (401, "application/problem+json")
        assert answer.headers["WWW-Authenticate"] == 'Bearer realm="rankcorr"'

    def test_the_body_is_not_read_without_a_token(self, guarded_client):
        answer = guarded_client.post("/v1/correlations", data="{", content_type="application/json")
        assert answer.status_code == 401

    def test_an_unknown_path_needs_a_token_too(self, guarded_client):
        assert guarded_client.get("/v1/nope").status_code == 401

    @pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/openapi.json", "/docs"])
    def test_probes_and_the_document_need_no_token(self, guarded_client, path):
        assert guarded_client.get(path).status_code == 200

    def test_metrics_follow_their_setting(self, guarded_client, make_client):
        assert guarded_client.get("/metrics").status_code == 401
        assert guarded_client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
        assert make_client(metrics="off").get("/metrics").status_code == 404
        assert make_client(tokens=(TOKEN,), metrics="open").get("/metrics").status_code == 200

    def test_no_token_reaches_the_log(self, guarded_client, capsys):
        post_pair(guarded_client, {"Authorization": f"Bearer {TOKEN}"})
        post_pair(guarded_client, {"Authorization": "Bearer wrong-wrong-wrong"})
        text = capsys.readouterr()
        assert TOKEN not in text.out + text.err
        assert "wrong" not in text.out + text.err

    def test_every_token_is_compared_in_constant_time(self, monkeypatch):
        compared = []
        monkeypatch.setattr("service.http.state.hmac.compare_digest", lambda a, b: compared.append((a, b)) or a == b)
        request = Request.from_values(headers={"Authorization": f"Bearer {TOKEN}"})
        assert BearerTokens([TOKEN, OTHER]).check(request) == "token 1"
        assert len(compared) == 2
        assert {len(digest) for pair in compared for digest in pair} == {32}


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
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
def test_addresses_of_one_site_are_one_client(one, other, is_same):
    assert (site_of(one) == site_of(other)) is is_same


WEIGHTS = "/v1/weights?top=100"


@pytest.mark.parametrize("path", ["/openapi.json", WEIGHTS])
class TestTags:
    @pytest.mark.parametrize("method", ["GET", "HEAD"])
    def test_a_cached_answer_is_not_sent_again(self, client, path, method):
        first = client.get(path)
        tag = first.headers["ETag"]
        assert tag.startswith('W/"')
        assert first.headers["Cache-Control"] == "no-cache"
        for known in (tag, tag.removeprefix("W/"), f'"other", {tag}', "*"):
            again = client.open(path, method=method, headers={"If-None-Match": known})
            assert (again.status_code, again.data) == (304, b"")
            assert again.headers["ETag"] == tag
            assert "Content-Type" not in again.headers
        assert client.get(path, headers={"If-None-Match": '"other"'}).data == first.data

    def test_every_instance_of_the_service_has_the_same_tag(self, make_client, path):
        assert make_client().get(path).headers["ETag"] == make_client().get(path).headers["ETag"]


def test_another_query_has_another_tag(client):
    assert client.get("/v1/weights?n0=2").headers["ETag"] != client.get("/v1/weights?n0=3").headers["ETag"]


def test_an_error_and_the_answer_to_a_post_have_no_tag(client):
    refused = client.get("/v1/weights?n0=-2")
    assert refused.status_code == 422
    assert "ETag" not in refused.headers
    assert "ETag" not in client.post("/v1/correlations", json=PAIR).headers


@pytest.mark.parametrize("path", ["/openapi.json", "/v1/weights?n_items=3", "/docs/swagger-ui.css"])
def test_an_answer_without_a_body_has_the_headers_for_caches(client, path):
    with client.get(path) as first, client.get(path, headers={"If-None-Match": first.headers["ETag"]}) as again:
        assert (again.status_code, again.data) == (304, b"")
        for name in ("ETag", "Cache-Control"):  # RFC 9110, section 15.4.5
            assert again.headers[name] == first.headers[name]
