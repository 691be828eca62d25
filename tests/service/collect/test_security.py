"""Forbidden actions of voters, organisers and strangers, and foreign host names. Each fails without its defence."""

import json
import logging
import os
import socket
from html.parser import HTMLParser

import pytest

from adaptive.ledger import ItemContent, PageTexts
from service.collect.content import content_for_pages, render
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import (
    ADMIN,
    ITEMS,
    Organiser,
    Voter,
    change_pages,
    check_refused,
    invitation_tokens,
    new_campaign,
    new_id,
    new_voter,
    problem,
    token_of,
)
from tests.service.collect.live import run_collect

pytestmark = pytest.mark.wide


SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def two_voters(arrive):
    """Two voters with a sheet each."""
    voters = arrive(), arrive()
    for voter in voters:
        voter.begin(consent="1")
        voter.pairs = voter.sheet()["pairs"]
    return voters


def test_voting_on_the_sheet_of_another_voter_is_refused(two_voters, campaign):
    mine, theirs = two_voters
    check_refused(mine.vote(theirs.pairs[0]["id"]), 404, "no-such-pair")
    assert not query(campaign, "SELECT 1 FROM vote_event UNION SELECT 1 FROM late_vote")


def test_retracting_the_vote_of_another_voter_is_refused(two_voters, campaign):
    mine, theirs = two_voters
    event = new_id()
    theirs.vote(theirs.pairs[0]["id"], event_id=event)
    check_refused(mine.post(f"/v1/votes/{event}/retract", {"event_id": new_id()}), 404, "no-such-vote")
    assert len(query(campaign, "SELECT 1 FROM vote_event")) == 1


def test_an_event_id_of_another_voter_reveals_nothing(two_voters, campaign):
    mine, theirs = two_voters
    event = new_id()
    theirs.vote(theirs.pairs[0]["id"], event_id=event)
    assert "answer" not in check_refused(mine.vote(mine.pairs[0]["id"], event_id=event), 422, "event-reused")
    assert len(query(campaign, "SELECT 1 FROM vote_event")) == 1


def test_a_session_is_valid_for_one_campaign(target, make_app, campaign):
    other = new_campaign(target, items=[f"{item}2" for item in ITEMS])
    app = make_app()
    voter = new_voter(app, campaign)
    cookie = voter.client.get_cookie(f"voter_{campaign.key[:12]}").value
    stranger = Voter(app.test_client(), other)
    stranger.client.set_cookie(f"voter_{other.key[:12]}", cookie)
    assert stranger.me().status_code == 401
    assert stranger.post("/v1/sheets").status_code == 401
    assert Voter(app.test_client(), other).begin(token=invitation_tokens(campaign, "Ann")[0]).status_code == 401
    assert Voter(app.test_client(), campaign).begin(token=token_of(campaign, "organiser")).status_code == 401


def test_revoked_secrets_stay_invalid(make_app, campaign):
    app = make_app()
    ann, bob = invitation_tokens(campaign, "Ann", "Bob")
    voter = Voter(app.test_client(), campaign)
    voter.begin(token=ann)
    cookie = voter.client.get_cookie(f"voter_{campaign.key[:12]}").value
    assert voter.post("/v1/withdraw").status_code == 204
    again = Voter(app.test_client(), campaign)
    again.client.set_cookie(f"voter_{campaign.key[:12]}", cookie)
    assert again.me().status_code == 401
    assert Voter(app.test_client(), campaign).begin(token=ann).status_code == 401
    campaign.tokens.revoke(bob)
    assert Voter(app.test_client(), campaign).begin(token=bob).status_code == 401


def test_logs_have_no_secrets_and_no_persons(target, make_app, capfd, caplog):
    campaign = new_campaign(target, pages={"platform": "prolific"})
    caplog.set_level(logging.DEBUG)
    app = make_app(tokens=("founder-of-campaigns",))
    invitation, study, organiser = (
        invitation_tokens(campaign, "ann@example.org")[0],
        *(token_of(campaign, kind) for kind in ("study", "organiser")),
    )
    participant = "5f" * 12
    voter = new_voter(app, campaign, token=invitation)
    cookie = voter.client.get_cookie(f"voter_{campaign.key[:12]}").value
    voter.vote(voter.sheet()["pairs"][0]["id"])
    crowd = {"name": "prolific", "participant": participant, "study": "s1", "secret": study}
    Voter(app.test_client(), campaign).begin(platform=crowd, consent="1")
    Voter(app.test_client(), campaign).begin(platform={**crowd, "secret": "A" * 43}, consent="1")
    client = app.test_client()
    client.get(f"/v1/campaigns/{campaign.key}", headers={"Authorization": f"Bearer {organiser}"})
    client.get(f"/v/{campaign.key}?PROLIFIC_PID={participant}&token={invitation}")
    client.post("/v1/campaigns", json={}, headers={"Authorization": "Bearer founder-of-campaigns"})
    app.view_functions["voter.me"] = lambda **_: 1 / 0
    assert voter.me().status_code == 500  # the log has the error and the subject of the request
    output = capfd.readouterr()
    log = output.out + output.err + caplog.text
    assert "division by zero" in log
    assert '"route":"/v1/votes/<event_id>"' in log
    secrets = [invitation, study, organiser, participant, cookie, "ann@", "founder-of"]
    assert [secret for secret in secrets if secret in log] == []


def test_names_of_platforms_are_in_no_export_and_no_digest(target, make_app):
    campaign = new_campaign(target, pages={"platform": "prolific"})
    crowd = {"name": "prolific", "participant": "5f" * 12, "study": "s1", "secret": token_of(campaign, "study")}
    voter = new_voter(make_app(), campaign, platform=crowd)
    voter.answer_sheet()
    tables = ("vote_event", "voter", "audit_event", "ballot", "lease", "token")
    log = str([query(campaign, f"SELECT * FROM {table}") for table in tables])
    assert "5f" * 12 not in log
    assert "5f" * 12 in str(query(campaign, "SELECT * FROM voter_identity"))


@pytest.mark.parametrize(
    "headers",
    [
        *({"Origin": origin} for origin in ("https://evil.example", "null", "http://localhost.evil.example")),
        *({"Sec-Fetch-Site": site} for site in ("cross-site", "same-site")),
    ],
)
def test_a_page_of_another_site_cannot_act_for_a_voter(two_voters, campaign, headers):
    voter, _ = two_voters
    pair = voter.pairs[0]["id"]
    check_refused(voter.put(f"/v1/votes/{new_id()}", {"pair": pair, "answer": "left"}, **headers), 403, "cross-site")
    assert not query(campaign, "SELECT 1 FROM vote_event")
    assert voter.post("/v1/withdraw", **headers).status_code == 403


def test_own_pages_work_behind_an_https_proxy(campaign, make_app):
    app = make_app(trusted_proxies=1)
    voter = Voter(app.test_client(), campaign)
    headers = {"Origin": "https://localhost", "X-Forwarded-Proto": "https", "Sec-Fetch-Site": "same-origin"}
    answer = voter.client.post("/v1/sessions", json={"campaign": campaign.key, "consent": "1"}, headers=headers)
    assert answer.status_code == 201
    assert "; Secure" in answer.headers["Set-Cookie"]
    assert "; Secure" not in Voter(app.test_client(), campaign).begin(consent="1").headers["Set-Cookie"]


@pytest.mark.parametrize("mime", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_form_is_not_accepted_as_a_vote(two_voters, campaign, mime):
    voter, _ = two_voters
    body = json.dumps({"pair": voter.pairs[0]["id"], "answer": "left"})
    answer = voter.client.put(f"/v1/votes/{new_id()}", data=body, content_type=mime, headers=voter.headers)
    assert answer.status_code == 415
    assert not query(campaign, "SELECT 1 FROM vote_event")


def test_a_cookie_alone_does_not_identify_a_voter(two_voters):
    voter, _ = two_voters
    assert voter.client.get("/v1/me").status_code == 422  # the page names the campaign in a header


@pytest.mark.parametrize(
    "markdown",
    [
        SCRIPT,
        "[a](javascript:alert(1))",
        "<img src=x onerror=alert(1)>",
        "![a](https://evil.example/a.png)",
        "![a](/assets/../v1/me)",
        "<a href='data:text/html,x' style='position:fixed'>a</a>",
        "<svg onload=alert(1)>",
        "<!--><script>alert(1)</script>-->",
        "[a](vbscript:x)\n\n<iframe src=//evil.example>",
    ],
)
def test_markdown_cannot_run_or_load_anything(markdown):
    for html in (render(markdown), content_for_pages(ItemContent("markdown", markdown), "a")["html"]):
        result = _Tags()
        result.feed(html)
        assert {tag for tag, _ in result.tags} <= {"p", "a", "em", "strong", "img"}
        for _, attributes in result.tags:
            assert set(attributes) <= {"href", "rel", "target", "src", "alt"}
            assert attributes.get("href", "https:").startswith("https:")
            assert attributes.get("src", "/assets/").startswith("/assets/")
            assert ".." not in attributes.get("src", "")


class _Tags(HTMLParser):
    """The tags of a page, as parsed by a browser."""

    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.tags.append(("comment", {"data": data}))


def test_links_in_markdown_send_no_referrer():
    assert render("[a](https://a.example)") == (
        '<p><a href="https://a.example" target="_blank" rel="noopener noreferrer nofollow">a</a></p>\n'
    )


def test_scripts_in_names_and_items_are_escaped_on_every_page(target, make_app):
    items = [f"{SCRIPT}{n}" for n in range(6)]
    texts = {"en": PageTexts(SCRIPT, f"{SCRIPT}?", SCRIPT, SCRIPT, SCRIPT)}
    campaign = new_campaign(target, items=items, pages={"texts": texts})
    app = make_app()
    voter = Voter(app.test_client(), campaign)
    for path in ("", "/vote", "/finish"):
        page = voter.client.get(f"/v/{campaign.key}{path}")
        assert "alert(1)" in page.text  # it is present, as text
        assert SCRIPT not in page.text
        policy = page.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert page.headers["Referrer-Policy"] == "no-referrer"
        assert page.headers["X-Content-Type-Options"] == "nosniff"
    voter.begin(consent="1")
    answer = voter.post("/v1/sheets")
    assert answer.content_type.startswith("application/json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.fixture
def assets(tmp_path):
    """A folder with an image, and files next to it and above it that must not be served."""
    folder = tmp_path / "assets"
    (folder / "trees").mkdir(parents=True)
    (folder / "trees" / "oak.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{SCRIPT}</svg>")
    (folder / "page.html").write_text(SCRIPT)
    (folder / ".hidden.png").write_text("x")
    (tmp_path / "secret.png").write_text("x")
    os.symlink(tmp_path / "secret.png", folder / "link.png")
    return folder


def test_an_image_with_a_script_runs_in_a_sandbox(make_app, assets):
    with make_app(assets=str(assets)).test_client().get("/assets/trees/oak.svg") as answer:
        assert "alert" in answer.text
    assert (answer.status_code, answer.mimetype) == (200, "image/svg+xml")
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert "script-src" not in answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        *("../secret.png", "..%2fsecret.png", "trees/../../secret.png", "%2e%2e/secret.png", "/etc/passwd"),
        *("link.png", ".hidden.png", "page.html", "trees", "trees/", "", "trees/oak.svg%00.png", "..\\secret.png"),
        *("//secret.png", "trees/./oak.svg", "trees/none.png"),
    ],
)
def test_no_other_file_is_served(make_app, assets, path):
    assert make_app(assets=str(assets)).test_client().get(f"/assets/{path}").status_code == 404


def test_without_a_folder_no_file_is_served(make_app):
    assert make_app().test_client().get("/assets/trees/oak.svg").status_code == 404


@pytest.mark.parametrize(
    "query_string", ["next=https://evil.example", "lang=//evil.example", "url=https://evil.example", "preview=1&lang=x"]
)
def test_no_page_redirects_to_another_site(campaign, make_app, query_string):
    client = make_app().test_client()
    for path in (f"/v/{campaign.key}", f"/v/{campaign.key}/vote", f"/v/{campaign.key}/finish", "//evil.example/"):
        answer = client.get(f"{path}?{query_string}")
        location = answer.headers.get("Location", "")
        assert not location or (location.startswith("/v/") and "evil" not in location)


def test_the_secret_of_a_study_is_not_accepted_as_an_invitation(target, make_app):
    campaign = new_campaign(target, pages={"open_link": False, "platform": "prolific"})
    study = token_of(campaign, "study")
    assert Voter(make_app().test_client(), campaign).begin(consent="1", token=study).status_code == 401


def test_a_campaign_is_found_only_by_its_key(make_app, campaign):
    client = make_app().test_client()
    for name in ("trees", campaign.key[:-1], campaign.key.upper(), "0" * 32, ""):
        headers = {"Rankcorr-Campaign": name}
        assert client.get("/v1/me", headers=headers).status_code == (404 if name else 422)
        assert client.get(f"/v/{name or 'x'}").status_code == 404


def test_only_the_organiser_can_change_pages(campaign, make_app):
    change_pages(campaign, completion_code="C0DE")
    answer = make_app().test_client().get(f"/v/{campaign.key}")
    assert "C0DE" not in answer.text  # shown only to voters who have finished


def test_strangers_cannot_join_a_closed_campaign(make_app, campaign):
    app = make_app()
    change_pages(campaign, open_link=False, platform="prolific")
    strangers = [Voter(app.test_client(), campaign).begin(consent="1") for _ in range(4)]
    assert [answer.status_code for answer in strangers] == [403] * 4
    part = {"name": "prolific", "participant": "5" * 24, "study": "s1", "secret": token_of(campaign, "study")}
    assert Voter(app.test_client(), campaign).begin(consent="1", platform=part).status_code == 201


def test_the_texts_of_a_page_are_rendered_once(monkeypatch):
    from service.collect import content

    first = render("[" * 500)
    monkeypatch.setattr(content, "_markdown", lambda: pytest.fail("rendered again"))
    assert render("[" * 500) == first


def test_only_displayed_texts_are_rendered(target, make_app, monkeypatch):
    from service.collect import state

    contents = [ItemContent("markdown", f"**{item}**") for item in ITEMS]
    campaign = new_campaign(target, contents=contents)
    rendered_items = []
    content_for_pages = state.content_for_pages
    monkeypatch.setattr(state, "content_for_pages", lambda *of: rendered_items.append(of[1]) or content_for_pages(*of))
    voter = new_voter(make_app(), campaign)
    pairs = voter.sheet()["pairs"]
    assert pairs[0]["left"]["kind"] == "markdown"
    assert voter.sheet()["pairs"] == pairs
    assert len(rendered_items) == len(set(rendered_items)) < len(ITEMS)


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
def test_unknown_host_names_are_refused(make_app, campaign, host):
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
def test_the_public_name_allowed_hosts_and_loopback_are_accepted(make_app, campaign, host):
    app = make_app(public_url=PUBLIC, allowed_hosts=("other.example", "2001:db8::7"))
    assert get(app, f"/v/{campaign.key}", host).status_code == 200


def test_without_a_public_name_only_loopback_is_accepted(make_app, campaign):
    app = make_app()
    assert get(app, f"/v/{campaign.key}", "[::1]:8080").status_code == 200
    kind, detail = problem(get(app, f"/v/{campaign.key}", "192.168.1.5:8080"))
    assert kind == "unknown-host"
    assert "RANKCORR_PUBLIC_URL or RANKCORR_ALLOWED_HOSTS" in detail


@pytest.mark.parametrize("path", ["/health/live", "/health/ready", "/metrics"])
def test_health_checks_are_accepted_by_address(make_app, path):
    assert get(make_app(public_url=PUBLIC), path, "10.1.2.3:8080").status_code == 200


@pytest.mark.parametrize("host", ["localhost:9000", "votes.example.org", "other.example"])
def test_links_begin_with_the_public_url_for_any_host(make_app, host):
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


def test_a_foreign_host_with_matching_origin_is_refused(make_app, campaign):
    client = make_app(public_url=PUBLIC).test_client()
    headers = {"Host": "evil.example", "Origin": "http://evil.example"}
    answer = client.post("/v1/sessions", json={"campaign": campaign.key, "consent": "1"}, headers=headers)
    assert answer.status_code == 400
    assert "Set-Cookie" not in answer.headers


def session_cookie(client, campaign, **headers):
    answer = client.post("/v1/sessions", json={"campaign": campaign.key, "consent": "1"}, headers=headers)
    assert answer.status_code == 201
    return answer.headers["Set-Cookie"]


@pytest.mark.parametrize(
    ("settings", "headers"),
    [({"public_url": PUBLIC}, {"Host": "votes.example.org"}), ({"trusted_proxies": 1}, {"X-Forwarded-Proto": "https"})],
)
def test_over_https_cookies_are_bound_to_the_host(make_app, campaign, settings, headers):
    cookie = session_cookie(make_app(**settings).test_client(), campaign, **headers)
    name, _, attributes = cookie.partition("=")
    assert name == f"__Host-voter_{campaign.key[:12]}"
    assert {"Secure", "HttpOnly", "Path=/", "SameSite=Lax"} <= set(attributes.split("; "))
    assert "Domain" not in attributes


@pytest.mark.parametrize("public", ["", PUBLIC])
def test_over_http_on_this_machine_cookies_have_plain_names(make_app, campaign, public):
    cookie = session_cookie(make_app(public_url=public).test_client(), campaign)
    assert cookie.startswith(f"voter_{campaign.key[:12]}=")
    assert "Secure" not in cookie


def test_over_https_cookies_with_plain_names_are_no_session(make_app, campaign):
    app = make_app(public_url=PUBLIC)
    headers = {"Rankcorr-Campaign": campaign.key, "Host": "votes.example.org"}
    cookie = session_cookie(app.test_client(), campaign, Host="votes.example.org").partition(";")[0]
    with app.test_client(use_cookies=False) as client:
        assert client.get("/v1/me", headers={**headers, "Cookie": cookie}).status_code == 200
        planted = cookie.removeprefix("__Host-")
        assert client.get("/v1/me", headers={**headers, "Cookie": planted}).status_code == 401


def test_an_organiser_signs_out_over_https(make_app, campaign):
    client = make_app(public_url=PUBLIC).test_client(use_cookies=False)
    host = {"Host": "votes.example.org"}
    token = token_of(campaign, "organiser")
    answer = client.post("/v1/organiser/sessions", json={"campaign": campaign.key, "token": token}, headers=host)
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert cookie.startswith("__Host-organiser_")
    answer = client.post(f"/v1/organiser/sessions/{campaign.key}/end", json={}, headers={**host, "Cookie": cookie})
    dropped = answer.headers["Set-Cookie"]
    assert dropped.startswith(f"{cookie.partition('=')[0]}=;")
    assert {"Max-Age=0", "Secure", "Path=/"} <= set(dropped.split("; "))  # otherwise the browser keeps it


def send(server, *lines):
    """The answer to a request on a socket."""
    with socket.create_connection((server.host, server.port), timeout=60) as connection:
        connection.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode())
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def test_on_a_socket_a_foreign_host_name_is_in_no_link(tmp_path):
    with run_collect(tmp_path, {"RANKCORR_WORKERS": "1"}) as (server, campaign):
        token = token_of(campaign, "organiser")
        links = f"GET /v1/campaigns/{campaign.key}/links HTTP/1.1", f"Authorization: Bearer {token}"
        for host in ("evil.example", "evil.example:80", "[2001:db8::1]"):
            answer = send(server, *links, f"Host: {host}")
            assert answer.startswith("HTTP/1.1 400 "), answer
            assert "evil" not in answer
        reply = send(server, *links, f"Host: [::1]:{server.port}")
        assert json.loads(reply.partition("\r\n\r\n")[2])["voter_url"] == f"http://[::1]:{server.port}/v/{campaign.key}"
        assert send(server, "GET /health/ready HTTP/1.1", "Host: 10.0.0.1").startswith("HTTP/1.1 200 ")
        assert send(server, f"GET /v/{campaign.key} HTTP/1.1", "Host: localhost").startswith("HTTP/1.1 200 ")
