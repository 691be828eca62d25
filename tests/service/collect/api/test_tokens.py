"""Links that were given out, and taking them back."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from adaptive.ledger import LedgerError
from adaptive.ledger._voters.tokens import holder_of, issue, revoke_listed, token_rows
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import Voter, new_campaign
from tests.service.collect.organiser import Organiser, check_refused, problem


def tokens(organiser, **asked):
    return organiser.get("/tokens", query_string=asked).json["tokens"]


def session_of(organiser, token):
    """A browser that is signed in."""
    client = organiser.app.test_client()
    body = {"campaign": organiser.key, "token": token}
    assert client.post("/v1/organiser/sessions", json=body).status_code == 204
    return client


def test_a_token_of_an_organiser_opens_nothing_once_it_is_revoked(organiser):
    (only,) = tokens(organiser)
    assert (only["kind"], only["is_valid"], only["voter"], only["ends_at"]) == ("organiser", True, None, None)
    assert organiser.token not in str(only)
    refused = organiser.post(f"/tokens/{only['id']}/revoke", status=409)
    assert problem(refused)[1] == "this is the last token of an organiser: make another one first"
    made = organiser.post("/tokens", status=201).json
    assert made["organiser_url"].endswith(f"/o/{organiser.key}#{made['token']}")
    other = Organiser(organiser.app, made["token"], organiser.key)
    leaked = session_of(organiser, organiser.token)
    path = f"/v1/campaigns/{organiser.key}"
    assert leaked.get(path).status_code == 200
    other.post(f"/tokens/{only['id']}/revoke", status=204)
    assert leaked.get(path).status_code == 401  # a browser that was signed in by it
    assert organiser.call("GET", path).status_code == 401
    body = {"campaign": organiser.key, "token": organiser.token}
    check_refused(organiser.app.test_client().post("/v1/organiser/sessions", json=body), 401, "link-unknown")
    other.post(f"/tokens/{only['id']}/revoke", status=204)
    assert [(each["kind"], each["is_valid"]) for each in tokens(other)] == [
        ("organiser session", False),
        ("organiser", True),
        ("organiser", False),
    ]


def test_the_browser_that_revokes_goes_on(organiser):
    mine, theirs = (session_of(organiser, organiser.token) for _ in range(2))
    path = f"/v1/campaigns/{organiser.key}"
    first = tokens(organiser)[-1]["id"]
    assert mine.post(f"{path}/tokens", json={}).status_code == 201
    assert mine.post(f"{path}/tokens/{first}/revoke", json={}).status_code == 204
    assert [client.get(path).status_code for client in (mine, theirs)] == [200, 401]


def test_an_invitation_opens_nothing_once_it_is_revoked_and_its_votes_stay(voting):
    ann, bob = voting.invite("Ann", "Bob")
    voters = [Voter(voting.app.test_client(), voting) for _ in range(2)]
    for voter, token in zip(voters, (ann, bob), strict=True):
        assert voter.begin(token=token, consent="1").status_code == 201
    pair = voters[0].sheet()["pairs"][0]["id"]
    assert voters[0].vote(pair).status_code == 200
    assert {each["name"] for each in tokens(voting)} == {None}
    row = next(each for each in tokens(voting, names="true") if each["name"] == "Ann")
    assert (row["kind"], row["voter"]) == ("invitation", voters[0].me().json["voter"])
    voting.post(f"/tokens/{row['id']}/revoke", status=204)
    assert [voter.me().status_code for voter in voters] == [401, 200]
    assert Voter(voting.app.test_client(), voting).begin(token=ann).status_code == 401
    assert voting.get("/progress").json["status"]["n_votes"] == 1
    back = Voter(voting.app.test_client(), voting)
    assert back.begin(token=voting.invite("Ann")[0]).json["voter"] == row["voter"]


def test_by_the_link_of_a_study_that_was_revoked_nobody_new_comes(organiser):
    organiser.change_pages(platform="prolific")
    old, new = (organiser.post("/study-links", status=201).json["url"].partition("#")[2] for _ in range(2))

    def come(secret, participant):
        crowd = {"name": "prolific", "participant": participant * 12, "study": "s1", "secret": secret}
        voter = Voter(organiser.app.test_client(), organiser)
        return voter, voter.begin(platform=crowd, consent="1").status_code

    first, status = come(old, "5f")
    assert status == 201
    row = [each for each in tokens(organiser) if each["kind"] == "study"][-1]
    organiser.post(f"/tokens/{row['id']}/revoke", status=204)
    assert (come(old, "6a")[1], come(new, "7b")[1], first.me().status_code) == (401, 201, 200)


def test_what_was_not_given_out_is_not_revoked(organiser, admin):
    other = admin.make(name="other")
    (theirs,) = tokens(other)
    for token_id in (theirs["id"], "0" * 16, theirs["id"][:8], "%25"):
        assert problem(organiser.post(f"/tokens/{token_id}/revoke", status=404))[0] == "no-such-token"
    assert tokens(other)[0]["is_valid"]
    stranger = Organiser(organiser.app, "A" * 43, organiser.key)
    for path in ("/tokens", f"/tokens/{theirs['id']}/revoke"):
        stranger.post(path, status=401)
    stranger.get("/tokens", status=401)


def test_the_list_comes_in_parts_without_what_voters_browsers_hold(voting):
    voting.post("/invitations", {"number": 5}, status=201)
    voting.voter()
    whole = voting.get("/tokens").json
    assert (whole["n_tokens"], len(whole["tokens"])) == (6, 6)
    part = voting.get("/tokens", query_string={"offset": 2, "limit": 3}).json
    assert part == {"n_tokens": 6, "tokens": whole["tokens"][2:5]}


@pytest.mark.parametrize("kept", [1, 2])
def test_two_who_revoke_at_once_leave_one_token(kept, target):
    campaign = new_campaign(target)
    made = [campaign.database.write(lambda c: issue(c, campaign.info, "organiser")) for _ in range(1 + kept)]
    _, rows = campaign.database.read(lambda c: token_rows(c, campaign.info))
    start = Barrier(2)

    def revoke(row):
        start.wait()
        try:
            return campaign.database.write(lambda c: revoke_listed(c, campaign.info, row.id))
        except LedgerError:
            return "the last one"

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(revoke, rows[:2]))
    assert found.count("the last one") == (kept == 1)
    opened = [campaign.database.read(lambda c, each=each: holder_of(c, each, ["organiser"])) for each in made]
    assert sum(each is not None for each in opened) == 1
    kinds = query(campaign, "SELECT kind FROM audit_event WHERE kind = 'revoked'")
    assert len(kinds) == kept
    campaign.database.close()
