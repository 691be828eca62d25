"""Participants of a platform: codes for each end, and lists to approve and to reject."""

import pytest

from adaptive.ledger import VotingPages
from service.collect.state import collecting
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import (
    BACK,
    PROLIFIC,
    Organiser,
    Voter,
    change_pages,
    new_campaign,
    problem,
    token_of,
)

pytestmark = pytest.mark.wide

PAGES = {**PROLIFIC, "open_link": False}


@pytest.fixture
def study(target):
    """A campaign for participants, of six sheets with two comparisons each."""
    campaign = new_campaign(target, pages=PAGES)
    yield campaign
    campaign.database.close()


@pytest.fixture
def app(make_app):
    return make_app()


@pytest.fixture
def organiser(app, study):
    return Organiser(app, token_of(study, "organiser"), study.key)


@pytest.fixture
def send(app, study):
    """Send a participant; return the voter who has joined, or the refusal."""
    secret = token_of(study, "study")

    def come(number, study_id="s1", *, consent="1"):
        voter = Voter(app.test_client(), study)
        name = f"{number:024x}"
        platform = {"name": "prolific", "participant": name, "study": study_id, "secret": secret}
        agreed = {} if consent is None else {"consent": consent}
        voter.answer = voter.begin(platform=platform, **agreed)
        voter.participant = name
        return voter

    return come


def finish_voting(voter):
    """Outcome, code and address of the end."""
    answer = voter.post("/v1/finish")
    assert answer.status_code == 200, answer.text
    return tuple(answer.json[name] for name in ("outcome", "completion_code", "completion_url"))


def exclude(organiser, voter, reason="Clicked at random"):
    organiser.post(f"/voters/{voter.me().json['voter']}/exclude", {"reason": reason}, status=204)


def read_lists(organiser, **query_string):
    return [
        organiser.get(f"/participants/{name}", query_string=query_string).text.splitlines()
        for name in ("approve", "reject")
    ]


def test_finished_participants_are_approved_and_excluded_ones_rejected(send, organiser):
    good, bad = send(1).answer_sheet(), send(2).answer_sheet()
    send(3).sheet()  # has begun
    assert read_lists(organiser) == [[], []]
    assert finish_voting(good) == finish_voting(bad) == ("complete", "D0NE", f"{BACK}D0NE")
    exclude(organiser, bad)
    assert read_lists(organiser) == [[good.participant], [bad.participant]]
    result = organiser.get("/participants").json
    assert result["platform"] == "prolific"
    assert [
        (participant["outcome"], participant["decision"], participant["reason"])
        for participant in result["participants"]
    ] == [("complete", "approve", None), ("complete", "reject", "Clicked at random"), (None, None, None)]
    organiser.post(f"/voters/{bad.me().json['voter']}/include", {"reason": "An error"}, status=204)
    assert read_lists(organiser) == [[good.participant, bad.participant], []]


def test_lists_have_one_id_per_line(send, organiser):
    for number in (1, 2):
        finish_voting(send(number).answer_sheet())
    answer = organiser.get("/participants/approve")
    assert answer.text == f"{1:024x}\n{2:024x}\n"
    assert answer.mimetype == "text/csv"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="approve-{organiser.key[:8]}.csv"'
    assert problem(organiser.get("/participants/later", status=404))[0] == "no-such-list"


def test_lists_can_be_limited_to_a_study(send, organiser):
    one, other = send(1, "s1").answer_sheet(), send(1, "s2").answer_sheet()
    finish_voting(one), finish_voting(other)
    assert read_lists(organiser, study="s2") == [[other.participant], []]
    assert len(read_lists(organiser)[0]) == 2


def test_only_the_organiser_sees_ids(send, app, study):
    finish_voting(send(1).answer_sheet())
    for path in ("participants", "participants/approve"):
        assert app.test_client().get(f"/v1/campaigns/{study.key}/{path}").status_code == 401


def test_withdrawn_participants_are_on_no_list(send, organiser):
    voter = send(1).answer_sheet()
    finish_voting(voter)
    assert voter.post("/v1/withdraw").status_code == 204
    assert read_lists(organiser) == [[], []]
    assert organiser.get("/participants").json["participants"] == []


def test_the_completion_code_is_stored_once(send, study):
    voter = send(1).answer_sheet()
    for _ in range(3):
        finish_voting(voter)
    assert query(study, "SELECT details FROM audit_event WHERE kind = 'ended'") == [('{"outcome":"complete"}',)]


def test_participants_excluded_before_the_end_get_the_screen_out_code(send, organiser, study):
    change_pages(study, **{**PAGES, "sheets": 3})
    voter = send(1).answer_sheet()
    exclude(organiser, voter)
    assert voter.post("/v1/sheets").json["sheet"] is None
    assert finish_voting(voter) == ("screened out", "SCREEN", f"{BACK}SCREEN")
    assert read_lists(organiser) == [[], []]  # nothing to approve: the platform has the code
    assert organiser.get("/participants").json["participants"][0]["outcome"] == "screened out"


def test_excluded_participants_with_all_sheets_done_have_completed(send, organiser):
    voter = send(1).answer_sheet()
    exclude(organiser, voter)
    assert finish_voting(voter)[0] == "complete"
    assert read_lists(organiser) == [[], [voter.participant]]


def answer_all_sheets(send):
    """Participants answer all sheets."""
    number = 100
    while True:
        voter = send(number)
        if voter.answer.status_code != 201 or voter.post("/v1/sheets").json["sheet"] is None:
            return voter
        voter.answer_sheet()
        number += 1


@pytest.mark.parametrize("consent", [None, "1"])
def test_participants_get_the_full_quota_code_if_nothing_is_left_and_no_voter_is_made(send, study, consent):
    answer_all_sheets(send)
    before = query(study, "SELECT count(*) FROM voter")
    late = send(1, consent=consent)
    assert late.answer.status_code == 409
    assert problem(late.answer)[0] == "quota-full"
    assert (late.answer.json["completion_code"], late.answer.json["completion_url"]) == ("FULL", f"{BACK}FULL")
    assert query(study, "SELECT count(*) FROM voter") == before


def test_a_full_quota_does_not_turn_earlier_participants_away(send):
    early = send(1)
    early.answer_sheet()
    answer_all_sheets(send)
    assert send(1).answer.status_code == 201
    assert finish_voting(early)[0] == "complete"


def test_participants_who_joined_but_found_no_sheet_get_the_full_quota_code(send, app, study):
    waiting = send(1)  # consented, and then waited
    change_pages(study, **{**PAGES, "quota_full_code": None})
    collecting(app).campaigns.forget_pages(study)
    answer_all_sheets(send)
    assert problem(waiting.post("/v1/finish"))[0] == "unfinished"
    change_pages(study, **PAGES)
    collecting(app).campaigns.forget_pages(study)
    assert finish_voting(waiting) == ("quota full", "FULL", f"{BACK}FULL")


def test_a_stranger_without_the_study_s_secret_gets_no_code(send, app, study):
    answer_all_sheets(send)
    platform = {"name": "prolific", "participant": f"{1:024x}", "study": "s1", "secret": "A" * 43}
    answer = Voter(app.test_client(), study).begin(platform=platform)
    assert answer.status_code == 401
    assert "FULL" not in answer.text


def test_participants_wait_while_sheets_are_held(send):
    for number in range(6):
        assert send(number).sheet() is not None
    waiting = send(7)
    assert waiting.answer.status_code == 201
    assert waiting.post("/v1/sheets").json["reason"] == "wait"
    assert problem(waiting.post("/v1/finish"))[0] == "unfinished"


def test_on_mechanical_turk_a_code_makes_no_address():
    assert VotingPages(platform="mturk", completion_code="C").way_back("complete") == ("C", None)
    pages = VotingPages(platform="prolific", completion_code="C", completion_url="https://crowd.example/done")
    assert pages.way_back("complete") == ("C", "https://crowd.example/done")
    assert pages.way_back("quota full") == (None, None)
