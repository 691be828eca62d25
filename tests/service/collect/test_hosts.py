"""Host names: which the service goes by, what stands in links and cookies, and who passes for a page of its own."""

import json
import socket

import pytest

from tests.service.collect.browsing import token_of
from tests.service.collect.live import collecting
from tests.service.collect.organiser import ADMIN, Organiser, problem

PUBLIC = "https://votes.example.org"


def get(app, path, host, **headers):
    return app.test_client().get(path, headers={"Host": host, **headers})


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8080", "votes.example.org.evil.example", "evil.example#votes.example.org"),
        *("localhost.evil.example", "127.0.0.1.evil.example", "evil@localhost", "localhost@evil.example", "10.0.0.7"),
        *("[2001:db8::1]", "[::2]", "[::1", "localhost:99999", "", "votes.example.org/"),
    ],
)
def test_the_service_goes_by_no_stranger_s_name(make_app, campaign, host):
    app = make_app(public_url=PUBLIC)
    for path in ("/", f"/v/{campaign.key}", "/v1/me", "/openapi.json", "/static/base.css", "/nowhere"):
        answer = get(app, path, host)
        assert answer.status_code == 400, (path, answer.text)
        assert problem(answer)[0] in ("unknown-host", "bad-request")
        assert "evil" not in answer.text


@pytest.mark.parametrize(
    "host",
    [
        *("votes.example.org", "VOTES.example.org", "votes.example.org:8443", "other.example", "[2001:db8::7]:80"),
        *("localhost", "localhost:8080", "127.0.0.1", "127.0.0.1:8080", "127.8.9.1", "[::1]", "[::1]:8080"),
    ],
)
def test_the_service_goes_by_its_public_name_those_allowed_and_loopback(make_app, campaign, host):
    app = make_app(public_url=PUBLIC, allowed_hosts=("other.example", "2001:db8::7"))
    assert get(app, f"/v/{campaign.key}", host).status_code == 200


def test_without_a_public_name_it_goes_by_loopback_alone(make_app, campaign):
    app = make_app()
    assert get(app, f"/v/{campaign.key}", "[::1]:8080").status_code == 200
    kind, detail = problem(get(app, f"/v/{campaign.key}", "192.168.1.5:8080"))
    assert kind == "unknown-host"
    assert "RANKCORR_PUBLIC_URL or RANKCORR_ALLOWED_HOSTS" in detail


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_orchestrators_ask_for_health_by_address(make_app, path):
    assert get(make_app(public_url=PUBLIC), path, "10.1.2.3:8080").status_code == 200


@pytest.mark.parametrize("host", ["localhost:9000", "votes.example.org", "other.example"])
def test_links_begin_with_the_public_url_whatever_name_was_asked(make_app, host):
    app = make_app(public_url=PUBLIC, allowed_hosts=("other.example",), tokens=(ADMIN,))
    organiser = Organiser(app, ADMIN).make(
        pages={"texts": [{"language": "en", "title": "T", "question": "Q"}], "open_link": True, "platform": "prolific"}
    )
    headers = {"Host": host}
    links = [
        organiser.get(headers=headers).json["voter_url"],
        organiser.get("/links", headers=headers).json["open_url"],
        organiser.post("/study-links", headers=headers, status=201).json["url"],
        organiser.post("/tokens", headers=headers, status=201).json["organiser_url"],
        organiser.post("/invitations", {"number": 1}, headers=headers, status=201).json["invitations"][0]["url"],
    ]
    assert [link for link in links if not link.startswith(f"{PUBLIC}/")] == []


def test_a_page_that_names_a_stranger_as_host_and_origin_acts_for_nobody(make_app, campaign):
    client = make_app(public_url=PUBLIC).test_client()
    headers = {"Host": "evil.example", "Origin": "http://evil.example"}
    answer = client.post("/v1/sessions", json={"campaign": campaign.key, "consent": "1"}, headers=headers)
    assert answer.status_code == 400
    assert "Set-Cookie" not in answer.headers


def cookie_set(client, campaign, **headers):
    answer = client.post("/v1/sessions", json={"campaign": campaign.key, "consent": "1"}, headers=headers)
    assert answer.status_code == 201
    return answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    ("settings", "headers"),
    [({"public_url": PUBLIC}, {"Host": "votes.example.org"}), ({"trusted_proxies": 1}, {"X-Forwarded-Proto": "https"})],
)
def test_over_https_cookies_are_this_host_s_alone(make_app, campaign, settings, headers):
    cookie = cookie_set(make_app(**settings).test_client(), campaign, **headers)
    name, _, attributes = cookie.partition("=")
    assert name == f"__Host-voter_{campaign.key[:12]}"
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(attributes.split("; "))
    assert "Domain" not in attributes


@pytest.mark.parametrize("public", ["", PUBLIC])
def test_over_http_on_this_machine_cookies_have_plain_names(make_app, campaign, public):
    cookie = cookie_set(make_app(public_url=public).test_client(), campaign)
    assert cookie.startswith(f"voter_{campaign.key[:12]}=")
    assert "Secure" not in cookie


def test_over_https_no_cookie_of_a_plain_name_is_a_session(make_app, campaign):
    app = make_app(public_url=PUBLIC)
    own = {"Rankcorr-Campaign": campaign.key, "Host": "votes.example.org"}
    cookie = cookie_set(app.test_client(), campaign, Host="votes.example.org").partition(";")[0]
    with app.test_client(use_cookies=False) as client:
        assert client.get("/v1/me", headers={**own, "Cookie": cookie}).status_code == 200
        planted = cookie.removeprefix("__Host-")
        assert client.get("/v1/me", headers={**own, "Cookie": planted}).status_code == 401


def test_an_organiser_signs_out_of_a_session_over_https(make_app, campaign):
    client = make_app(public_url=PUBLIC).test_client(use_cookies=False)
    host = {"Host": "votes.example.org"}
    token = token_of(campaign, "organiser")
    answer = client.post("/v1/organiser/sessions", json={"campaign": campaign.key, "token": token}, headers=host)
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert cookie.startswith("__Host-organiser_")
    answer = client.post(f"/v1/organiser/sessions/{campaign.key}/end", json={}, headers={**host, "Cookie": cookie})
    dropped = answer.headers["Set-Cookie"]
    assert dropped.startswith(f"{cookie.partition('=')[0]}=;")
    assert {"Max-Age=0", "Secure", "Path=/"} <= set(dropped.split("; "))  # or the browser keeps it


def said(server, *lines):
    """The answer to a request on a socket."""
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def test_on_a_socket_a_stranger_s_name_makes_no_link(tmp_path):
    with collecting(tmp_path, {"RANKCORR_WORKERS": "1"}) as (server, campaign):
        token = token_of(campaign, "organiser")
        links = f"GET /v1/campaigns/{campaign.key}/links HTTP/1.1", f"Authorization: Bearer {token}"
        for host in ("evil.example", "evil.example:80", "[2001:db8::1]"):
            answer = said(server, *links, f"Host: {host}")
            assert answer.startswith("HTTP/1.1 400 "), answer
            assert "evil" not in answer
        own = said(server, *links, f"Host: [::1]:{server.port}")
        assert json.loads(own.partition("\r\n\r\n")[2])["voter_url"] == f"http://[::1]:{server.port}/v/{campaign.key}"
        assert said(server, "GET /health/ready HTTP/1.1", "Host: 10.0.0.1").startswith("HTTP/1.1 200 ")
        assert said(server, f"GET /v/{campaign.key} HTTP/1.1", "Host: localhost").startswith("HTTP/1.1 200 ")
