"""What is refused, to whom and how early: answers of others, ways back, floods, bodies of strangers."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from adaptive.ledger import Campaign
from adaptive.ledger._voters.identity import set_excluded
from service.http.body import parse
from tests.adaptive.ledger.campaigns import change, query
from tests.service.collect.browsing import Voter, arrived, invited, new_campaign, new_id, token_of
from tests.service.collect.organiser import check_refused, problem

EVENT = "0b54ee2c-6a52-4c55-9c8e-3d0a3f1d6d4e"  # a fixed one, so that tests have the same names in every process


@pytest.fixture
def two(arrive):
    """Two voters who have agreed."""
    voters = arrive(), arrive()
    for voter in voters:
        assert voter.begin(consent="1").status_code == 201
    return voters


def test_who_takes_over_a_sheet_sees_nothing_of_the_answers_before(two, campaign):
    first, second = two
    sheet = first.sheet()
    event = new_id()
    assert first.vote(sheet["pairs"][0]["id"], "right", event_id=event).status_code == 200
    change(campaign, "UPDATE lease SET expires_at = 1")
    answer = second.post("/v1/sheets")
    taken = answer.json["sheet"]
    assert (taken["ballot"], taken["sheet"]) == (sheet["ballot"], sheet["sheet"])
    assert [pair["id"] for pair in taken["pairs"]] == [pair["id"] for pair in sheet["pairs"][1:]]
    assert event not in answer.text
    assert answer.json["me"]["progress"]["of"] == len(sheet["pairs"]) - 1
    refused = second.vote(sheet["pairs"][0]["id"])
    assert "answer" not in check_refused(refused, 409, "conflict")
    assert "right" not in refused.text
    for pair in taken["pairs"]:
        assert second.vote(pair["id"]).status_code == 200
    assert second.sheet()["sheet"] != sheet["sheet"]
    # what the first one takes back is asked anew
    assert first.post(f"/v1/votes/{event}/retract", {"event_id": new_id()}).status_code == 200


def excluded(campaign):
    (voter_id,) = query(campaign, "SELECT max(id) FROM voter")[0]
    campaign.database.write(lambda connection: set_excluded(connection, campaign.info, voter_id, True, "too fast"))


@pytest.mark.parametrize(("is_excluded", "status"), [(True, 403), (False, 201)])
def test_who_is_left_out_does_not_come_back_by_leaving(is_excluded, status, target, make_app):
    campaign = new_campaign(target, pages={"platform": "prolific"})
    app, secret = make_app(), token_of(campaign, "study")
    crowd = {"name": "prolific", "participant": "5f" * 12, "study": "s1", "secret": secret}
    voter = arrived(app, campaign, platform=crowd)
    if is_excluded:
        excluded(campaign)
    assert voter.post("/v1/withdraw").status_code == 204
    assert not query(campaign, "SELECT 1 FROM voter_identity")
    again = Voter(app.test_client(), campaign).begin(platform=crowd, consent="1")
    assert again.status_code == status
    assert is_excluded is ("has withdrawn from the campaign" in again.text)
    other = {**crowd, "participant": "6a" * 12}
    assert Voter(app.test_client(), campaign).begin(platform=other, consent="1").status_code == 201


@pytest.mark.parametrize("is_excluded", [True, False])
def test_a_browser_of_who_was_left_out_makes_no_new_voter_by_the_open_link(is_excluded, arrive, campaign):
    voter = arrive()
    key = voter.begin(consent="1").json["voter"]
    if is_excluded:
        excluded(campaign)
        assert voter.begin(consent="1").json["voter"] == key
        assert voter.me().json["reason"] == "none left"
    assert voter.post("/v1/withdraw").status_code == 204
    again = voter.begin(consent="1")
    page = voter.client.get(f"/v/{campaign.key}").text
    assert ("data-nothing-left" in page) is is_excluded
    if is_excluded:
        check_refused(again, 403, "nothing-left")
        assert query(campaign, "SELECT count(*) FROM voter") == [(1,)]
        assert voter.begin(token=invited(campaign, "Bob")[0], consent="1").status_code == 201  # the link says who comes
    else:
        assert again.status_code == 201
        assert again.json["voter"] != key
    assert arrive().begin(consent="1").status_code == 201  # another browser cannot be told from another person


def test_who_is_left_out_and_has_left_is_not_invited_again(organiser):
    ann, bob = (arrived(organiser.app, organiser, token=token) for token in organiser.invite("Ann", "Bob"))
    organiser.post(f"/voters/{ann.me().json['voter']}/exclude", {"reason": "too fast"}, status=204)
    assert [voter.post("/v1/withdraw").status_code for voter in (ann, bob)] == [204, 204]
    refused = organiser.post("/invitations", {"voters": ["Carl", "Ann"]}, status=409)
    assert problem(refused)[1] == "a voter with this name has withdrawn from the campaign and cannot rejoin"
    organiser.invite("Carl", "Bob")


@pytest.fixture
def parsed(monkeypatch):
    """The bodies that were parsed."""
    seen = []
    monkeypatch.setattr("service.http.body.parse", lambda body: seen.append(bytes(body)) or parse(body))
    return seen


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/ballots"),
        ("POST", "/ballots/1/close"),
        ("POST", "/invitations"),
        ("POST", "/voters/none/exclude"),
        ("PUT", "/pages"),
    ],
)
def test_the_body_of_a_stranger_is_not_parsed(method, path, organiser, parsed):
    where = f"/v1/campaigns/{organiser.key}{path}"
    answer = organiser.call(method, where, token="A" * 43, data="[" * 1000, content_type="application/json")
    assert (answer.status_code, parsed) == (401, [])
    answer = organiser.call(method, where, data="[" * 1000, content_type="application/json")
    assert (answer.status_code, len(parsed)) == (400, 1)


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/sheets"), ("PUT", f"/v1/votes/{EVENT}"), ("PUT", "/v1/consent"), ("POST", "/v1/finish")],
)
def test_the_body_of_who_is_no_voter_is_not_parsed(method, path, two, arrive, parsed):
    parsed.clear()
    stranger, (voter, _) = arrive(), two
    body = {"method": method, "data": "[" * 1000, "content_type": "application/json"}
    assert stranger.client.open(path, headers=stranger.headers, **body).status_code == 401
    assert parsed == []
    assert voter.client.open(path, headers=voter.headers, **body).status_code == 400
    assert len(parsed) == 1


@pytest.mark.parametrize("event", ["x" * 36, EVENT.upper(), "-" * 36])
def test_36_letters_are_no_id_of_an_event(event, two):
    voter, _ = two
    pair = voter.sheet()["pairs"][0]["id"]
    for answer in (voter.vote(pair, event_id=event), voter.post(f"/v1/votes/{event}/retract", {"event_id": new_id()})):
        assert answer.status_code == 422
        assert "a UUID in lower case" in answer.json["detail"]


def test_of_two_who_change_the_pages_at_once_one_is_told_so(organiser, monkeypatch):
    read = organiser.get("/pages")
    stamp, body = {"If-Match": read.headers["ETag"]}, read.json["pages"]
    real, others = Campaign.pages, [{**body, "sheets": 7}]

    def overtaken(campaign):
        """The pages as they are read, after which another changes them."""
        found = real(campaign)
        if others:
            # In a thread of its own: a request within a request would share its context, and end only one of the two.
            with ThreadPoolExecutor(1) as another:
                another.submit(organiser.put, "/pages", others.pop(), headers=stamp).result()
        return found

    monkeypatch.setattr(Campaign, "pages", overtaken)
    refused = organiser.put("/pages", {**body, "sheets": 9}, headers=stamp, status=412)
    assert problem(refused)[0] == "changed"
    assert organiser.get("/pages").json["pages"]["sheets"] == 7
