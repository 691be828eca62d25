"""What a voter's page asks of the server, from the link to the code."""

import pytest

from adaptive.ledger import ContinuousPlan, KnownPair, Probing
from adaptive.ledger._campaign.status import status_of
from tests.adaptive.ledger.campaigns import check_ledger, query
from tests.service.collect.browsing import ITEMS, Voter, arrived, change_pages, invited, new_campaign, new_id, token_of
from tests.service.collect.organiser import ADMIN, Organiser, check_refused


@pytest.fixture
def voter(arrive):
    """A voter who came by the open link and agreed."""
    found = arrive()
    assert found.begin(consent="1").status_code == 201
    return found


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
    done = voter.post("/v1/finish").json
    assert done["completion_code"] == "C0DE"
    assert done["completion_url"] == "https://crowd.example/done?cc=C0DE"
    assert (done["finished"], done["answers"]) == (True, 2)
    rows = query(campaign, "SELECT response_ms, given_by, layout FROM vote_event")
    assert rows == [(900, "touch", "stacked")] * 2
    check_ledger(campaign)


def test_the_same_event_is_one_vote_however_often_it_is_sent(voter, campaign):
    pair = voter.sheet()["pairs"][0]["id"]
    event = new_id()
    first = voter.vote(pair, event_id=event)
    again = voter.vote(pair, event_id=event)
    assert (first.json["repeated"], again.json["repeated"], again.status_code) == (False, True, 200)
    check_refused(voter.vote(pair, "right", event_id=event), 422, "event-reused")
    assert check_refused(voter.vote(pair, "right"), 409, "conflict")["answer"] == "left"
    assert len(query(campaign, "SELECT 1 FROM vote_event")) == 1


def test_an_answer_is_taken_back_and_given_again(voter, campaign):
    before = voter.sheet()["pairs"][0]
    pair, event, undo, again = before["id"], new_id(), new_id(), new_id()
    voter.vote(pair, event_id=event)
    for repeated in (False, True):
        taken = voter.post(f"/v1/votes/{event}/retract", {"event_id": undo})
        assert (taken.status_code, taken.json["answer"], taken.json["repeated"]) == (200, None, repeated)
        assert taken.json["pair"] == pair
    assert voter.sheet()["pairs"][0] == before
    check_refused(voter.post(f"/v1/votes/{event}/retract", {"event_id": new_id()}), 409, "conflict")
    check_refused(voter.post(f"/v1/votes/{new_id()}/retract", {"event_id": new_id()}), 404, "no-such-vote")
    assert voter.vote(pair, "right", event_id=again).status_code == 200
    assert voter.sheet()["pairs"][0] == {**before, "answer": "right", "event_id": again}
    check_ledger(campaign)


def test_a_sheet_is_resumed_on_another_device(campaign, make_app):
    token = invited(campaign, "Ann")[0]
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


def test_a_mere_visit_makes_no_voter(arrive, campaign):
    check_refused(arrive().begin(), 403, "consent-needed")
    assert not query(campaign, "SELECT 1 FROM voter")


def test_who_comes_again_by_the_open_link_is_the_same_voter(voter, campaign):
    voter.begin(consent="1")
    assert len(query(campaign, "SELECT 1 FROM voter")) == 1


def test_nothing_is_shown_or_taken_before_consent(arrive, campaign):
    voter = arrive()
    voter.begin(token=invited(campaign, "Ann")[0])
    check_refused(voter.post("/v1/sheets"), 403, "consent-needed")
    check_refused(voter.vote("1-0-0"), 403, "consent-needed")
    check_refused(voter.put("/v1/consent", {"version": "7"}), 409, "consent-changed")
    check_refused(voter.begin(consent="7", token=invited(campaign, "Bob")[0]), 409, "consent-changed")
    assert not query(campaign, "SELECT 1 FROM lease")


def test_another_consent_text_is_asked_for_again(voter, campaign, make_app):
    change_pages(campaign, consent_version="2")
    fresh = Voter(make_app().test_client(), campaign)  # a worker that has not read the pages before
    fresh.client._cookies = voter.client._cookies
    check_refused(fresh.post("/v1/sheets"), 403, "consent-needed")
    assert fresh.me().json["step"] == "consent"
    fresh.put("/v1/consent", {"version": "2"})
    assert fresh.sheet() is not None


def test_late_votes_are_kept_and_said(arrive, campaign):
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


def test_probes_look_like_other_pairs_and_practice_tells_what_was_wanted(target, make_app):
    known = (KnownPair("practice", "ash", "yew", "left"), KnownPair("attention", "fir", "oak", "left"))
    campaign = new_campaign(target, probing=Probing(known))
    voter = arrived(make_app(), campaign)
    pairs = voter.sheet()["pairs"]
    assert [pair["practice"] for pair in pairs] == [True, False, False, False]
    assert {tuple(sorted(pair)) for pair in pairs} == {("answer", "event_id", "id", "left", "practice", "right")}
    answer = voter.vote(pairs[0]["id"])
    wanted = "left" if pairs[0]["left"]["text"] == "ash" else "right"
    assert answer.json["feedback"] == {"expected": wanted, "agrees": wanted == "left"}
    for n_answers, pair in enumerate(pairs[1:], start=1):
        assert voter.vote(pair["id"]).json["feedback"] is None
        assert voter.me().json["progress"]["answers"] == n_answers  # no number tells which of them is the check
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
def test_pairs_that_there_are_not(voter, pair, status, kind):
    voter.sheet()
    check_refused(voter.vote(pair), status, kind)


@pytest.mark.parametrize(
    "body",
    [{}, {"pair": "1-0-0"}, {"pair": "1-0-0", "answer": "up"}, {"pair": "1-0-0", "answer": "left", "voter": 7}, []],
)
def test_votes_of_another_form_are_refused(voter, body):
    voter.sheet()
    assert voter.put(f"/v1/votes/{new_id()}", body).status_code == 422


def test_who_leaves_is_forgotten(voter, campaign):
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
    assert come().status_code == 201  # comes again, with another browser
    assert len(query(campaign, "SELECT 1 FROM voter")) == 1
    check_refused(come(secret="A" * 43), 401, "link-unknown")
    check_refused(come(study="s2"), 403, "not-invited")
    for participant in ("me", "6f" * 11, "6F" * 12, "../../admin"):
        check_refused(come(participant=participant), 403, "not-invited")
    check_refused(come(name="mturk"), 403, "not-invited")
    check_refused(Voter(app.test_client(), campaign).begin(consent="1"), 403, "not-invited")
    assert len(query(campaign, "SELECT 1 FROM voter")) == 1


@pytest.mark.parametrize(("n_items", "waits"), [(6, "pairs"), (12, "target")])
def test_who_answers_when_the_target_is_reached_gets_the_code(target, make_app, n_items, waits):
    # The 15 pairs of six items are too few votes to be told from coin flips, and a target counts only then.
    plan = ContinuousPlan(n_items=n_items, budget=500, batch=6, target=0.05)
    pages = {"sheets": 100, "completion_code": "C0DE"}
    items = list("abcdefghijkl"[:n_items])
    campaign = new_campaign(target, plan=plan, items=items, open_ballot=False, sheet_size=6, pages=pages)
    app = make_app()
    voter = arrived(app, campaign)
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
    # The fit that refused the batch is not made again for each who asks.
    assert query(campaign, "SELECT count(*) FROM audit_event WHERE kind = 'no batch'") == [(1,)]
    assert campaign.database.read(lambda connection: status_of(connection, campaign.info)).waits == waits


def test_who_has_seen_all_pairs_is_told_so_and_so_is_the_organiser(make_app):
    plan = {"mode": "continuous", "budget": 40, "batch": 10}
    organiser = Organiser(make_app(tokens=(ADMIN,)), ADMIN).make(
        items_csv="item\n" + "\n".join("abcd"),
        plan=plan,
        voters=2,
        settings={"sheet_size": 10, "repeats": 0, "overlap": 0},
    )
    assert organiser.get("/progress").json["status"]["waits"] is None
    voter, n = organiser.answer()
    assert n == 6
    for _ in range(2):
        me = voter.post("/v1/sheets").json["me"]
        assert (me["step"], me["available"], me["reason"]) == ("finish", False, "none left")
    assert organiser.get("/progress").json["status"]["waits"] == "pairs"
    assert organiser.answer()[1] == 6
