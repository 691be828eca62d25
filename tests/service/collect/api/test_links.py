"""Invitations, open links, links of platforms, tokens, sessions of organisers, and pages for voters."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from adaptive.ledger import Ledger, LedgerError
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import Organiser, Voter, check_refused, new_campaign, new_voter, problem


def test_each_invitation_admits_one_voter(voting):
    answer = voting.post("/invitations", {"voters": ["Ada", "Grace"]}, status=201).json
    assert [row["qr"] for row in answer["invitations"]] == [None, None]
    tokens = [row["url"].partition("#")[2] for row in answer["invitations"]]
    assert len({new_voter(voting.app, voting, token=token).me().json["voter"] for token in tokens}) == 2
    rows = list(csv.reader(io.StringIO(answer["csv"])))
    assert rows == [["voter", "link"], *[[row["name"], row["url"]] for row in answer["invitations"]]]


def test_cells_that_a_spreadsheet_would_run_are_guarded(voting):
    answer = voting.post("/invitations", {"voters": ['=HYPERLINK("x")', "@SUM(1)"]}, status=201).json
    rows = list(csv.reader(io.StringIO(answer["csv"])))
    assert [row[0] for row in rows[1:]] == ['\'=HYPERLINK("x")', "'@SUM(1)"]


def test_voters_without_a_name_are_invited_by_number(voting):
    invitations = voting.post("/invitations", {"number": 3, "qr": True}, status=201).json["invitations"]
    assert len({row["url"] for row in invitations}) == 3
    assert all("<svg" in row["qr"] for row in invitations)


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"voters": ["Ada"], "number": 1}, {"number": 0}, {"number": 2_001}, {"number": 1, "emails": []}),
        *({"voters": names} for names in ([], ["Ada", "Ada"], [" Ada"], ["A\nda"], [7], "Ada")),
    ],
)
def test_invalid_lists_invite_nobody(voting, target, body):
    voting.post("/invitations", body, status=422)
    assert query(Ledger.open(target), "SELECT 1 FROM voter") == []


def test_the_open_link_exists_if_the_pages_allow_it(organiser, admin):
    result = organiser.get("/links").json
    assert result["open_url"] == result["voter_url"] == f"http://localhost/v/{organiser.key}"
    assert "<svg" in result["open_qr"]
    closed = admin.make(pages={"texts": [{"language": "en", "title": "T", "question": "Q"}]})
    assert closed.get("/links").json["open_url"] is None


def test_a_link_of_a_platform_admits_its_participants(admin):
    texts = [{"language": "en", "title": "T", "question": "Q"}]
    organiser = admin.make(pages={"texts": texts, "platform": "prolific", "study": "5f00000000000000000000aa"})
    organiser.open()
    url = organiser.post("/study-links", status=201).json["url"]
    assert "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}#" in url
    who = {"participant": "5f" + "b" * 22, "study": "5f00000000000000000000aa", "session": "5f" + "c" * 22}
    platform = {"name": "prolific", **who, "secret": url.partition("#")[2]}
    new_voter(organiser.app, organiser, platform=platform)


def test_a_campaign_without_platform_has_no_platform_link(organiser):
    assert problem(organiser.post("/study-links", status=409))[0] == "not-possible"


def tokens(organiser, **parameters):
    return organiser.get("/tokens", query_string=parameters).json["tokens"]


def sign_in(organiser, token):
    """A browser that has signed in."""
    client = organiser.app.test_client()
    body = {"campaign": organiser.key, "token": token}
    assert client.post("/v1/organiser/sessions", json=body).status_code == 204
    return client


def test_a_revoked_token_of_an_organiser_is_refused(organiser):
    (only,) = tokens(organiser)
    assert (only["kind"], only["is_valid"], only["voter"], only["ends_at"]) == ("organiser", True, None, None)
    assert organiser.token not in str(only)
    refused = organiser.post(f"/tokens/{only['id']}/revoke", status=409)
    assert problem(refused)[1] == "this is the last token of an organiser: make another one first"
    answer = organiser.post("/tokens", status=201).json
    assert answer["organiser_url"].endswith(f"/o/{organiser.key}#{answer['token']}")
    other = Organiser(organiser.app, answer["token"], organiser.key)
    leaked = sign_in(organiser, organiser.token)
    path = f"/v1/campaigns/{organiser.key}"
    assert leaked.get(path).status_code == 200
    other.post(f"/tokens/{only['id']}/revoke", status=204)
    assert leaked.get(path).status_code == 401  # a browser that had signed in with it
    assert organiser.call("GET", path).status_code == 401
    body = {"campaign": organiser.key, "token": organiser.token}
    check_refused(organiser.app.test_client().post("/v1/organiser/sessions", json=body), 401, "link-unknown")
    other.post(f"/tokens/{only['id']}/revoke", status=204)
    assert [(token_row["kind"], token_row["is_valid"]) for token_row in tokens(other)] == [
        ("organiser session", False),
        ("organiser", True),
        ("organiser", False),
    ]


def test_revoking_keeps_the_session_of_its_browser(organiser):
    mine, theirs = (sign_in(organiser, organiser.token) for _ in range(2))
    path = f"/v1/campaigns/{organiser.key}"
    first = tokens(organiser)[-1]["id"]
    assert mine.post(f"{path}/tokens", json={}).status_code == 201
    assert mine.post(f"{path}/tokens/{first}/revoke", json={}).status_code == 204
    assert [client.get(path).status_code for client in (mine, theirs)] == [200, 401]


def test_a_revoked_invitation_is_refused_and_its_votes_stay(voting):
    ann, bob = voting.invite("Ann", "Bob")
    voters = [Voter(voting.app.test_client(), voting) for _ in range(2)]
    for voter, token in zip(voters, (ann, bob), strict=True):
        assert voter.begin(token=token, consent="1").status_code == 201
    pair = voters[0].sheet()["pairs"][0]["id"]
    assert voters[0].vote(pair).status_code == 200
    assert {token_row["name"] for token_row in tokens(voting)} == {None}
    row = next(token_row for token_row in tokens(voting, names="true") if token_row["name"] == "Ann")
    assert (row["kind"], row["voter"]) == ("invitation", voters[0].me().json["voter"])
    voting.post(f"/tokens/{row['id']}/revoke", status=204)
    assert [voter.me().status_code for voter in voters] == [401, 200]
    assert Voter(voting.app.test_client(), voting).begin(token=ann).status_code == 401
    assert voting.get("/progress").json["status"]["n_votes"] == 1
    back = Voter(voting.app.test_client(), voting)
    assert back.begin(token=voting.invite("Ann")[0]).json["voter"] == row["voter"]


def test_a_revoked_study_link_admits_no_new_participant(organiser):
    organiser.change_pages(platform="prolific")
    old, new = (organiser.post("/study-links", status=201).json["url"].partition("#")[2] for _ in range(2))

    def come(secret, participant):
        crowd = {"name": "prolific", "participant": participant * 12, "study": "s1", "secret": secret}
        voter = Voter(organiser.app.test_client(), organiser)
        return voter, voter.begin(platform=crowd, consent="1").status_code

    first, status = come(old, "5f")
    assert status == 201
    row = [token_row for token_row in tokens(organiser) if token_row["kind"] == "study"][-1]
    organiser.post(f"/tokens/{row['id']}/revoke", status=204)
    assert (come(old, "6a")[1], come(new, "7b")[1], first.me().status_code) == (401, 201, 200)


def test_unknown_tokens_cannot_be_revoked(organiser, admin):
    other = admin.make(name="other")
    (theirs,) = tokens(other)
    for token_id in (theirs["id"], "0" * 16, theirs["id"][:8], "%25"):
        assert problem(organiser.post(f"/tokens/{token_id}/revoke", status=404))[0] == "no-such-token"
    assert tokens(other)[0]["is_valid"]
    stranger = Organiser(organiser.app, "A" * 43, organiser.key)
    for path in ("/tokens", f"/tokens/{theirs['id']}/revoke"):
        stranger.post(path, status=401)
    stranger.get("/tokens", status=401)


def test_tokens_are_listed_in_parts_without_sessions_of_voters(voting):
    voting.post("/invitations", {"number": 5}, status=201)
    voting.voter()
    every_token = voting.get("/tokens").json
    assert (every_token["n_tokens"], len(every_token["tokens"])) == (6, 6)
    part = voting.get("/tokens", query_string={"offset": 2, "limit": 3}).json
    assert part == {"n_tokens": 6, "tokens": every_token["tokens"][2:5]}


@pytest.mark.parametrize("n_remaining", [1, 2])
def test_simultaneous_revocations_leave_one_token(n_remaining, target):
    campaign = new_campaign(target)
    tokens_issued = [campaign.tokens.issue("organiser") for _ in range(1 + n_remaining)]
    _, rows = campaign.tokens.rows()
    start = Barrier(2)

    def revoke(row):
        start.wait()
        try:
            return campaign.tokens.revoke_listed(row.id)
        except LedgerError:
            return "the last one"

    with ThreadPoolExecutor(2) as threads:
        result = list(threads.map(revoke, rows[:2]))
    assert result.count("the last one") == (n_remaining == 1)
    holders = [campaign.tokens.holder(token, "organiser") for token in tokens_issued]
    assert sum(holder is not None for holder in holders) == 1
    kinds = query(campaign, "SELECT kind FROM audit_event WHERE kind = 'revoked'")
    assert len(kinds) == n_remaining
    campaign.database.close()


PATH = "/v1/organiser/sessions"


def start_session(organiser, **fields):
    browser = organiser.app.test_client()
    body = {"campaign": organiser.key, "token": organiser.token, **fields}
    return browser, browser.post(PATH, json=body)


def test_a_session_cookie_replaces_the_token(organiser):
    browser, answer = start_session(organiser)
    assert answer.status_code == 204
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"organiser_{organiser.key[:12]}=")
    assert organiser.token not in cookie
    for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert part in cookie
    assert browser.get(f"/v1/campaigns/{organiser.key}").status_code == 200
    assert browser.post(f"/v1/campaigns/{organiser.key}/ballots", json={}).status_code == 201


def test_an_ended_session_is_refused(organiser):
    browser, _ = start_session(organiser)
    cookie = browser.get_cookie(f"organiser_{organiser.key[:12]}").value
    assert browser.post(f"{PATH}/{organiser.key}/end", json={}).status_code == 204
    assert browser.get_cookie(f"organiser_{organiser.key[:12]}") is None
    browser.set_cookie(f"organiser_{organiser.key[:12]}", cookie)
    assert browser.get(f"/v1/campaigns/{organiser.key}").status_code == 401


def test_a_wrong_token_gives_no_session(admin, organiser):
    for fields in ({"token": "x" * 43}, {"token": admin.make().token}):
        browser, answer = start_session(organiser, **fields)
        assert (answer.status_code, problem(answer)[0]) == (401, "link-unknown")
        assert browser.get(f"/v1/campaigns/{organiser.key}").status_code == 401
    assert start_session(organiser, token="short")[1].status_code == 422
    assert start_session(organiser, campaign="0" * 32)[1].status_code == 404


def test_a_token_of_a_voter_is_not_accepted_for_an_organiser(organiser):
    (token,) = organiser.invite("Ann")
    assert start_session(organiser, token=token)[1].status_code == 401
    assert organiser.call("GET", f"/v1/campaigns/{organiser.key}", token=token).status_code == 401


def test_a_page_of_another_site_cannot_use_the_cookie(organiser):
    browser, _ = start_session(organiser)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = browser.post(f"/v1/campaigns/{organiser.key}/ballots", json={}, headers=headers)
        assert (answer.status_code, problem(answer)[0]) == (403, "cross-site")
    assert organiser.get("/ballots").json["ballots"] == []


def test_pages_are_changed_only_in_the_state_that_was_read(organiser):
    read = organiser.get("/pages")
    pages = {**read.json["pages"], "open_link": False, "completion_code": "C0DE", "sheets": 3}
    answer = organiser.put("/pages", pages, headers={"If-Match": read.headers["ETag"]})
    assert (answer.json["version"], answer.json["pages"]["sheets"]) == (2, 3)
    assert organiser.get("/pages").json == answer.json
    assert organiser.get("/links").json["open_url"] is None
    again = organiser.put("/pages", pages, status=412, headers={"If-Match": read.headers["ETag"]})
    assert problem(again) == ("changed", "the pages have changed and are now of version 2; read them again")
    assert problem(organiser.put("/pages", pages, status=428))[0] == "condition-needed"


def test_a_changed_consent_text_needs_a_new_version(organiser):
    text = {"language": "en", "title": "Trees", "question": "Which?", "consent": "I agree."}
    refused = organiser.change_pages(texts=[text], status=409)
    assert "give it a new consent_version" in problem(refused)[1]
    organiser.change_pages(texts=[text], consent_version="2")
    assert organiser.get("/pages").json["pages"]["consent_version"] == "2"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"platform": "facebook"}, "platform must be None"),
        ({"completion_url": "http://plain.example"}, "must begin with https://"),
        ({"completion_code": "two words"}, "completion_code must be letters"),
        ({"consent_version": ""}, "consent_version must be"),
        ({"sheets": 0}, "of at least 1"),
        ({"open_link": "yes"}, "must be true or false"),
        ({"texts": [{"language": "en", "title": "T", "question": "Q"}] * 2}, "two texts have the same language"),
        ({"colour": "red"}, "unknown field"),
    ],
)
def test_errors_are_named_and_nothing_is_changed(organiser, fields, message):
    assert message in organiser.change_pages(**fields, status=422).json["detail"]
    assert organiser.get("/pages").json["version"] == 1
