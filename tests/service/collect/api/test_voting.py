"""Requests of a voter's page, from the link to the completion code; and refusals."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from adaptive.ledger import Campaign, ContinuousPlan, KnownPair, Probing
from adaptive.ledger._reports.status import status_of
from service.http.body import parse
from tests.adaptive.ledger.campaigns import change, check_ledger, query
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


@pytest.fixture
def voter(arrive):
    """A voter who came by the open link and consented."""
    result = arrive()
    assert result.begin(consent="1").status_code == 201
    return result


def test_routes_of_voters_list_their_methods(voter):
    answer = voter.client.options("/v1/finish", headers=voter.headers)
    assert (answer.status_code, "POST" in answer.headers["Allow"]) == (200, True)


def test_a_voter_goes_from_the_link_to_the_code(arrive, campaign):
    change_pages(campaign, sheets=1, completion_code="C0DE", completion_url="https://crowd.example/done?cc=C0DE")
    voter = arrive()
    answer = voter.begin(consent="1")
    assert answer.status_code == 201
    assert (answer.json["step"], answer.json["available"], answer.json["progress"]["answers"]) == ("vote", True, 0)
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith(f"voter_{campaign.key[:12]}=")
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    sheet = voter.sheet()
    assert [pair["answer"] for pair in sheet["pairs"]] == [None, None]
    assert sheet["pairs"][0]["left"]["kind"] == "text"
    assert sheet["pairs"][0]["left"]["text"] in ITEMS
    assert check_refused(voter.post("/v1/finish"), 409, "unfinished")["missing"] == 2
    for pair in sheet["pairs"]:
        answer = voter.vote(pair["id"], response_ms=900, given_by="touch", layout="stacked")
        assert (answer.status_code, answer.json["answer"], answer.json["repeated"]) == (200, "left", False)
    assert voter.me().json["step"] == "finish"
    nothing = voter.post("/v1/sheets").json
    assert (nothing["sheet"], nothing["reason"], nothing["retry_after"]) == (None, "limit", None)
    end = voter.post("/v1/finish").json
    assert end["completion_code"] == "C0DE"
    assert end["completion_url"] == "https://crowd.example/done?cc=C0DE"
    assert (end["finished"], end["answers"]) == (True, 2)
    rows = query(campaign, "SELECT response_ms, given_by, layout FROM vote_event")
    assert rows == [(900, "touch", "stacked")] * 2
    check_ledger(campaign)


def test_a_repeated_event_is_one_vote(voter, campaign):
    pair = voter.sheet()["pairs"][0]["id"]
    event = new_id()
    first = voter.vote(pair, event_id=event)
    again = voter.vote(pair, event_id=event)
    assert (first.json["repeated"], again.json["repeated"], again.status_code) == (False, True, 200)
    check_refused(voter.vote(pair, "right", event_id=event), 422, "event-reused")
    assert check_refused(voter.vote(pair, "right"), 409, "conflict")["answer"] == "left"
    assert len(query(campaign, "SELECT 1 FROM vote_event")) == 1


def test_an_answer_is_retracted_and_given_again(voter, campaign):
    before = voter.sheet()["pairs"][0]
    pair, event, undo, again = before["id"], new_id(), new_id(), new_id()
    voter.vote(pair, event_id=event)
    for repeated in (False, True):
        retraction = voter.post(f"/v1/votes/{event}/retract", {"event_id": undo})
        assert (retraction.status_code, retraction.json["answer"], retraction.json["repeated"]) == (200, None, repeated)
        assert retraction.json["pair"] == pair
    assert voter.sheet()["pairs"][0] == before
    check_refused(voter.post(f"/v1/votes/{event}/retract", {"event_id": new_id()}), 409, "conflict")
    check_refused(voter.post(f"/v1/votes/{new_id()}/retract", {"event_id": new_id()}), 404, "no-such-vote")
    assert voter.vote(pair, "right", event_id=again).status_code == 200
    assert voter.sheet()["pairs"][0] == {**before, "answer": "right", "event_id": again}
    check_ledger(campaign)


def test_a_sheet_is_resumed_on_another_device(campaign, make_app):
    token = invitation_tokens(campaign, "Ann")[0]
    app = make_app()
    phone, laptop = (Voter(app.test_client(), campaign) for _ in range(2))
    assert phone.begin(token=token).json["step"] == "consent"
    assert phone.put("/v1/consent", {"version": "1"}).json["step"] == "vote"
    pairs = phone.sheet()["pairs"]
    phone.vote(pairs[0]["id"])
    assert laptop.begin(token=token).json["step"] == "vote"
    assert [pair["answer"] for pair in laptop.sheet()["pairs"]] == ["left", None]
    assert laptop.vote(pairs[1]["id"]).status_code == 200
    assert phone.me().json["progress"]["answers"] == 2
    assert len(query(campaign, "SELECT 1 FROM voter")) == 1


def test_a_visit_alone_makes_no_voter(arrive, campaign):
    check_refused(arrive().begin(), 403, "consent-needed")
    assert not query(campaign, "SELECT 1 FROM voter")


def test_returning_by_the_open_link_keeps_the_voter(voter, campaign):
    voter.begin(consent="1")
    assert len(query(campaign, "SELECT 1 FROM voter")) == 1


def test_nothing_is_shown_or_accepted_before_consent(arrive, campaign):
    voter = arrive()
    voter.begin(token=invitation_tokens(campaign, "Ann")[0])
    check_refused(voter.post("/v1/sheets"), 403, "consent-needed")
    check_refused(voter.vote("1-0-0"), 403, "consent-needed")
    check_refused(voter.put("/v1/consent", {"version": "7"}), 409, "consent-changed")
    check_refused(voter.begin(consent="7", token=invitation_tokens(campaign, "Bob")[0]), 409, "consent-changed")
    assert not query(campaign, "SELECT 1 FROM lease")


def test_a_new_consent_text_needs_consent_again(voter, campaign, make_app):
    change_pages(campaign, consent_version="2")
    fresh = Voter(make_app().test_client(), campaign)  # a worker that has not cached the pages
    fresh.client._cookies = voter.client._cookies
    check_refused(fresh.post("/v1/sheets"), 403, "consent-needed")
    assert fresh.me().json["step"] == "consent"
    fresh.put("/v1/consent", {"version": "2"})
    assert fresh.sheet() is not None


def test_late_votes_are_stored_and_reported(arrive, campaign):
    voters = [arrive() for _ in range(3)]
    sheets = []
    for voter in voters:
        voter.begin(consent="1")
        sheets.append(voter.sheet())
    late = sheets[0]["pairs"][0]["id"]
    while any(sheets[1:]):
        for place, voter in enumerate(voters[1:], start=1):
            for pair in (sheets[place] or {"pairs": []})["pairs"]:
                voter.vote(pair["id"])
            sheets[place] = voter.sheet()
    campaign.close(1, least_answered=0.0)
    check_refused(voters[0].vote(late), 409, "late")
    assert len(query(campaign, "SELECT 1 FROM late_vote")) == 1


def test_checks_look_like_other_pairs_and_practice_shows_the_expected_answer(target, make_app):
    known = (KnownPair("practice", "ash", "yew", "left"), KnownPair("attention", "fir", "oak", "left"))
    campaign = new_campaign(target, probing=Probing(known))
    voter = new_voter(make_app(), campaign)
    pairs = voter.sheet()["pairs"]
    assert [pair["practice"] for pair in pairs] == [True, False, False, False]
    assert {tuple(sorted(pair)) for pair in pairs} == {
        ("answer", "event_id", "id", "left", "practice", "right", "target")
    }
    answer = voter.vote(pairs[0]["id"])
    expected = "left" if pairs[0]["left"]["text"] == "ash" else "right"
    assert answer.json["feedback"] == {"expected": expected, "agrees": expected == "left"}
    for n_answers, pair in enumerate(pairs[1:], start=1):
        assert voter.vote(pair["id"]).json["feedback"] is None
        assert voter.me().json["progress"]["answers"] == n_answers  # no field reveals which pair is the check
    progress = voter.me().json["progress"]
    assert [progress[name] for name in ("sheets_done", "answered", "of", "answers")] == [1, 4, 4, 3]
    assert voter.post("/v1/finish").json["answers"] == 3  # practice is no answer


def test_answers_that_are_not_offered_are_refused(voter, campaign, make_app):
    change_pages(campaign, ties=False, cannot_say=False)
    fresh = Voter(make_app().test_client(), campaign)
    fresh.client._cookies = voter.client._cookies
    pair = fresh.sheet()["pairs"][0]["id"]
    for answer in ("tie", "cannot say"):
        assert fresh.vote(pair, answer).status_code == 422
    assert not query(campaign, "SELECT 1 FROM vote_event")


@pytest.mark.parametrize(
    ("pair", "status", "kind"),
    [
        ("9-0-0", 404, "no-such-pair"),
        ("1-999-0", 404, "no-such-pair"),
        ("1-0-99", 404, "no-such-pair"),
        ("1-0", 422, "invalid-request"),
        ("1-0--1", 422, "invalid-request"),
        ("٣-0-0", 422, "invalid-request"),
    ],
)
def test_unknown_pairs_are_not_found(voter, pair, status, kind):
    voter.sheet()
    check_refused(voter.vote(pair), status, kind)


@pytest.mark.parametrize(
    "body",
    [{}, {"pair": "1-0-0"}, {"pair": "1-0-0", "answer": "up"}, {"pair": "1-0-0", "answer": "left", "voter": 7}, []],
)
def test_malformed_votes_are_refused(voter, body):
    voter.sheet()
    assert voter.put(f"/v1/votes/{new_id()}", body).status_code == 422


def test_leaving_erases_the_voter(voter, campaign):
    voter.answer_sheet()
    assert voter.post("/v1/withdraw").status_code == 204
    assert voter.me().status_code == 401
    assert not query(campaign, "SELECT 1 FROM voter_identity")
    assert len(query(campaign, "SELECT 1 FROM vote_event WHERE kind = 'void'")) == 2
    check_ledger(campaign)


def test_participants_of_a_platform_come_with_the_secret_of_the_study(target, make_app):
    campaign = new_campaign(target, pages={"open_link": False, "platform": "prolific", "study": "s1"})
    secret = token_of(campaign, "study")
    app = make_app()

    def come(**changes):
        fields = {"name": "prolific", "participant": "5f" * 12, "study": "s1", "session": "q", "secret": secret}
        return Voter(app.test_client(), campaign).begin(consent="1", platform={**fields, **changes})

    assert come().status_code == 201
    assert come().status_code == 201  # returns with another browser
    assert len(query(campaign, "SELECT 1 FROM voter")) == 1
    check_refused(come(secret="A" * 43), 401, "link-unknown")
    check_refused(come(study="s2"), 403, "not-invited")
    for participant in ("me", "6f" * 11, "6F" * 12, "../../admin"):
        check_refused(come(participant=participant), 403, "not-invited")
    check_refused(come(name="mturk"), 403, "not-invited")
    check_refused(Voter(app.test_client(), campaign).begin(consent="1"), 403, "not-invited")
    assert len(query(campaign, "SELECT 1 FROM voter")) == 1


@pytest.mark.parametrize(("n_items", "waits"), [(6, "pairs"), pytest.param(12, "target", marks=pytest.mark.wide)])
def test_a_voter_who_answers_when_the_target_is_reached_gets_the_code(target, make_app, n_items, waits):
    # Votes on the 15 pairs of six items show no signal, and a target needs one.
    plan = ContinuousPlan(n_items=n_items, budget=500, batch=6, target=0.05)
    pages = {"sheets": 100, "completion_code": "C0DE"}
    items = list("abcdefghijkl"[:n_items])
    campaign = new_campaign(target, plan=plan, items=items, sheet_size=6, pages=pages)
    app = make_app()
    voter = new_voter(app, campaign)
    while (sheet := voter.sheet()) is not None:
        for pair in sheet["pairs"]:
            left, right = (pair[side]["text"] for side in ("left", "right"))
            voter.vote(pair["id"], "left" if left < right else "right")
    assert query(campaign, "SELECT sum(n_answered) FROM sheet")[0][0] < 500
    for _ in range(2):
        me = voter.post("/v1/sheets").json["me"]
        assert (me["step"], me["available"], me["reason"]) == ("finish", False, "none left")
    assert voter.me().json["step"] == "finish"
    assert voter.post("/v1/finish").json["completion_code"] == "C0DE"
    # The fit that refused the batch is not repeated for each request.
    assert query(campaign, "SELECT count(*) FROM audit_event WHERE kind = 'no batch'") == [(1,)]
    assert campaign.read(status_of).waits == waits


EVENT = "0b54ee2c-6a52-4c55-9c8e-3d0a3f1d6d4e"  # fixed, so that tests have the same names in every process


@pytest.fixture
def two_voters(arrive):
    """Two voters who have consented."""
    voters = arrive(), arrive()
    for voter in voters:
        assert voter.begin(consent="1").status_code == 201
    return voters


@pytest.mark.wide
def test_the_new_holder_of_a_sheet_sees_no_earlier_answers(two_voters, campaign):
    first, second = two_voters
    sheet = first.sheet()
    event = new_id()
    assert first.vote(sheet["pairs"][0]["id"], "right", event_id=event).status_code == 200
    change(campaign, "UPDATE lease SET expires_at = 1")
    answer = second.post("/v1/sheets")
    second_sheet = answer.json["sheet"]
    assert (second_sheet["ballot"], second_sheet["sheet"]) == (sheet["ballot"], sheet["sheet"])
    assert [pair["id"] for pair in second_sheet["pairs"]] == [pair["id"] for pair in sheet["pairs"][1:]]
    assert event not in answer.text
    assert answer.json["me"]["progress"]["of"] == len(sheet["pairs"]) - 1
    refused = second.vote(sheet["pairs"][0]["id"])
    assert "answer" not in check_refused(refused, 409, "conflict")
    assert "right" not in refused.text
    for pair in second_sheet["pairs"]:
        assert second.vote(pair["id"]).status_code == 200
    assert second.sheet()["sheet"] != sheet["sheet"]
    # pairs that the first voter retracts are asked again
    assert first.post(f"/v1/votes/{event}/retract", {"event_id": new_id()}).status_code == 200


def exclude_newest(campaign):
    (voter_id,) = query(campaign, "SELECT max(id) FROM voter")[0]
    campaign.voter(voter_id).exclude("too fast")


@pytest.mark.wide
@pytest.mark.parametrize(("is_excluded", "status"), [(True, 403), (False, 201)])
def test_an_excluded_voter_cannot_return_by_leaving(is_excluded, status, target, make_app):
    campaign = new_campaign(target, pages={"platform": "prolific"})
    app, secret = make_app(), token_of(campaign, "study")
    crowd = {"name": "prolific", "participant": "5f" * 12, "study": "s1", "secret": secret}
    voter = new_voter(app, campaign, platform=crowd)
    if is_excluded:
        exclude_newest(campaign)
    assert voter.post("/v1/withdraw").status_code == 204
    assert not query(campaign, "SELECT 1 FROM voter_identity")
    again = Voter(app.test_client(), campaign).begin(platform=crowd, consent="1")
    assert again.status_code == status
    assert is_excluded is ("has withdrawn from the campaign" in again.text)
    other = {**crowd, "participant": "6a" * 12}
    assert Voter(app.test_client(), campaign).begin(platform=other, consent="1").status_code == 201


@pytest.mark.wide
@pytest.mark.parametrize("is_excluded", [True, False])
def test_the_browser_of_an_excluded_voter_makes_no_new_voter_by_the_open_link(is_excluded, arrive, campaign):
    voter = arrive()
    key = voter.begin(consent="1").json["voter"]
    if is_excluded:
        exclude_newest(campaign)
        assert voter.begin(consent="1").json["voter"] == key
        assert voter.me().json["reason"] == "none left"
    assert voter.post("/v1/withdraw").status_code == 204
    again = voter.begin(consent="1")
    page = voter.client.get(f"/v/{campaign.key}").text
    assert ("data-nothing-left" in page) is is_excluded
    if is_excluded:
        check_refused(again, 403, "nothing-left")
        assert query(campaign, "SELECT count(*) FROM voter") == [(1,)]
        assert (
            voter.begin(token=invitation_tokens(campaign, "Bob")[0], consent="1").status_code == 201
        )  # identified by the link
    else:
        assert again.status_code == 201
        assert again.json["voter"] != key
    assert arrive().begin(consent="1").status_code == 201  # another browser cannot be distinguished from another person


@pytest.mark.wide
def test_an_excluded_voter_who_has_left_is_not_invited_again(organiser):
    ann, bob = (new_voter(organiser.app, organiser, token=token) for token in organiser.invite("Ann", "Bob"))
    organiser.post(f"/voters/{ann.me().json['voter']}/exclude", {"reason": "too fast"}, status=204)
    assert [voter.post("/v1/withdraw").status_code for voter in (ann, bob)] == [204, 204]
    refused = organiser.post("/invitations", {"voters": ["Carl", "Ann"]}, status=409)
    assert problem(refused)[1] == "a voter with this name has withdrawn from the campaign and cannot rejoin"
    organiser.invite("Carl", "Bob")


@pytest.fixture
def parsed_bodies(monkeypatch):
    """The bodies that were parsed."""
    bodies = []
    monkeypatch.setattr("service.http.body.parse", lambda body: bodies.append(bytes(body)) or parse(body))
    return bodies


@pytest.mark.wide
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
def test_bodies_with_a_wrong_token_are_not_parsed(method, path, organiser, parsed_bodies):
    where = f"/v1/campaigns/{organiser.key}{path}"
    answer = organiser.call(method, where, token="A" * 43, data="[" * 1000, content_type="application/json")
    assert (answer.status_code, parsed_bodies) == (401, [])
    answer = organiser.call(method, where, data="[" * 1000, content_type="application/json")
    assert (answer.status_code, len(parsed_bodies)) == (400, 1)


@pytest.mark.wide
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/sheets"), ("PUT", f"/v1/votes/{EVENT}"), ("PUT", "/v1/consent"), ("POST", "/v1/finish")],
)
def test_bodies_without_a_session_are_not_parsed(method, path, two_voters, arrive, parsed_bodies):
    parsed_bodies.clear()
    stranger, (voter, _) = arrive(), two_voters
    body = {"method": method, "data": "[" * 1000, "content_type": "application/json"}
    assert stranger.client.open(path, headers=stranger.headers, **body).status_code == 401
    assert parsed_bodies == []
    assert voter.client.open(path, headers=voter.headers, **body).status_code == 400
    assert len(parsed_bodies) == 1


@pytest.mark.wide
@pytest.mark.parametrize("event", ["x" * 36, EVENT.upper(), "-" * 36])
def test_event_ids_must_be_uuids(event, two_voters):
    voter, _ = two_voters
    pair = voter.sheet()["pairs"][0]["id"]
    for answer in (voter.vote(pair, event_id=event), voter.post(f"/v1/votes/{event}/retract", {"event_id": new_id()})):
        assert answer.status_code == 422
        assert "a UUID in lower case" in answer.json["detail"]


@pytest.mark.wide
def test_one_of_two_simultaneous_changes_of_pages_is_refused(organiser, monkeypatch):
    read = organiser.get("/pages")
    stamp, body = {"If-Match": read.headers["ETag"]}, read.json["pages"]
    real, others = Campaign.pages, [{**body, "sheets": 7}]

    def read_and_lose(campaign):
        """Read the pages, and let another request change them afterwards."""
        result = real(campaign)
        if others:
            # In a thread, because a nested request would share the context, and only one of the two would end.
            with ThreadPoolExecutor(1) as another:
                another.submit(organiser.put, "/pages", others.pop(), headers=stamp).result()
        return result

    monkeypatch.setattr(Campaign, "pages", read_and_lose)
    refused = organiser.put("/pages", {**body, "sheets": 9}, headers=stamp, status=412)
    assert problem(refused)[0] == "changed"
    assert organiser.get("/pages").json["pages"]["sheets"] == 7


def test_a_campaign_with_grades_from_the_request_to_the_ranking(app):
    settings = {"grades": 2, "sheet_size": 20, "probes_csv": "left,right,winner,kind\nbirch,fir,left,practice\n"}
    organiser = Organiser(app, ADMIN).make(settings=settings, plan={"mode": "continuous", "budget": 60, "batch": 8})
    assert organiser.get().json["settings"]["grades"] == 2
    organiser.post("/ballots", status=201)
    voter = new_voter(app, organiser)
    assert voter.me().json["offered"] == ["left", "right", "left 2", "right 2", "tie", "cannot say"]
    practice, *pairs = voter.sheet()["pairs"]
    assert practice["practice"]
    expected = "left" if practice["left"]["text"] == "birch" else "right"
    feedback = voter.vote(practice["id"], f"{expected} 2").json["feedback"]
    assert feedback == {"expected": expected, "agrees": True}
    for refused in ("left 3", "left 1", "tie 2"):
        assert voter.vote(pairs[0]["id"], refused).status_code == 422
    answers = {}
    for pair in pairs:
        left, right = (ITEMS.index(pair[side]["text"]) for side in ("left", "right"))
        answers[pair["id"]] = ("left" if left < right else "right") + (" 2" if abs(left - right) > 2 else "")
        assert voter.vote(pair["id"], answers[pair["id"]]).json["answer"] == answers[pair["id"]]
    conflict = check_refused(voter.vote(pairs[0]["id"], "tie"), 409, "conflict")
    assert conflict["answer"] == answers[pairs[0]["id"]]
    rows = organiser.get("/results", query_string={"interim": "true"}).json["rows"]
    assert rows[0]["item"] == "ash"
    assert b"<svg" in organiser.get("/plots/in-top.svg", query_string={"interim": "true"}).data


def test_a_campaign_of_sets_from_the_request_to_the_ranking(app):
    plan = {"mode": "continuous", "budget": 30, "batch": 10, "set_size": 4}
    organiser = Organiser(app, ADMIN).make(settings={"sheet_size": 5}, plan=plan)
    assert organiser.get().json["plan"]["set_size"] == 4
    organiser.post("/ballots", status=201)
    voter = new_voter(app, organiser)
    assert voter.me().json["offered"] == [*ledger_answers(4), "cannot say"]
    answers = {}
    for pair in voter.sheet()["pairs"]:
        items = [content["text"] for content in (pair["left"], pair["right"], *pair["other_items"])]
        assert len(set(items)) == 4
        order = sorted(range(4), key=items.__getitem__)
        answers[pair["id"]] = f"best {order[0] + 1} worst {order[-1] + 1}"
        for refused in ("left", "tie", "best 1 worst 5", "best 1 worst 1"):
            assert voter.vote(pair["id"], refused).status_code == 422
        assert voter.vote(pair["id"], answers[pair["id"]]).json["answer"] == answers[pair["id"]]
    name, answer = next(iter(answers.items()))
    other = next(word for word in ledger_answers(4) if word != answer)
    assert check_refused(voter.vote(name, other), 409, "conflict")["answer"] == answer
    assert check_refused(voter.vote(name, "cannot say"), 409, "conflict")["answer"] == answer
    rows = organiser.get("/results", query_string={"interim": "true"}).json["rows"]
    assert rows[0]["item"] == "ash"
    votes = organiser.get("/exports/csv").text.splitlines()
    assert votes[0].startswith("comparison,voter,item_1,item_2,item_3,item_4,best,worst")
    assert b"<svg" in organiser.get("/plots/in-top.svg", query_string={"interim": "true"}).data


def ledger_answers(set_size):
    places = range(1, set_size + 1)
    return [f"best {best} worst {worst}" for best in places for worst in places if best != worst]
