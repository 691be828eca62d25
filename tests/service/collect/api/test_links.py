"""Invitations, the open link, and links of platforms."""

import csv
import io

import pytest

from adaptive.ledger import Ledger
from tests.adaptive.ledger.campaigns import query
from tests.service.collect.browsing import arrived
from tests.service.collect.organiser import problem


def test_each_invitation_lets_one_voter_in(voting):
    made = voting.post("/invitations", {"voters": ["Ada", "Grace"]}, status=201).json
    assert [each["qr"] for each in made["invitations"]] == [None, None]
    tokens = [each["url"].partition("#")[2] for each in made["invitations"]]
    assert len({arrived(voting.app, voting, token=token).me().json["voter"] for token in tokens}) == 2
    rows = list(csv.reader(io.StringIO(made["csv"])))
    assert rows == [["voter", "link"], *[[each["name"], each["url"]] for each in made["invitations"]]]


def test_cells_that_a_spreadsheet_would_run_are_guarded(voting):
    made = voting.post("/invitations", {"voters": ['=HYPERLINK("x")', "@SUM(1)"]}, status=201).json
    rows = list(csv.reader(io.StringIO(made["csv"])))
    assert [row[0] for row in rows[1:]] == ['\'=HYPERLINK("x")', "'@SUM(1)"]


def test_voters_without_a_name_are_invited_by_number(voting):
    made = voting.post("/invitations", {"number": 3, "qr": True}, status=201).json["invitations"]
    assert len({each["url"] for each in made}) == 3
    assert all("<svg" in each["qr"] for each in made)


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"voters": ["Ada"], "number": 1}, {"number": 0}, {"number": 2_001}, {"number": 1, "emails": []}),
        *({"voters": names} for names in ([], ["Ada", "Ada"], [" Ada"], ["A\nda"], [7], "Ada")),
    ],
)
def test_a_list_that_means_nothing_invites_nobody(voting, target, body):
    voting.post("/invitations", body, status=422)
    assert query(Ledger.open(target), "SELECT 1 FROM voter") == []


def test_the_open_link_is_there_where_the_pages_allow_it(organiser, admin):
    found = organiser.get("/links").json
    assert found["open_url"] == found["voter_url"] == f"http://localhost/v/{organiser.key}"
    assert "<svg" in found["open_qr"]
    closed = admin.make(pages={"texts": [{"language": "en", "title": "T", "question": "Q"}]})
    assert closed.get("/links").json["open_url"] is None


def test_a_link_of_a_platform_lets_its_participants_in(admin):
    texts = [{"language": "en", "title": "T", "question": "Q"}]
    organiser = admin.make(pages={"texts": texts, "platform": "prolific", "study": "5f00000000000000000000aa"})
    organiser.open()
    url = organiser.post("/study-links", status=201).json["url"]
    assert "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}#" in url
    who = {"participant": "5f" + "b" * 22, "study": "5f00000000000000000000aa", "session": "5f" + "c" * 22}
    platform = {"name": "prolific", **who, "secret": url.partition("#")[2]}
    arrived(organiser.app, organiser, platform=platform)


def test_a_campaign_on_no_platform_has_no_link_of_one(organiser):
    assert problem(organiser.post("/study-links", status=409))[0] == "not-possible"
