"""What voters read, changed without losing anybody's change."""

import pytest

from tests.service.collect.organiser import problem


def test_pages_are_changed_as_they_were_read(organiser):
    read = organiser.get("/pages")
    pages = {**read.json["pages"], "open_link": False, "completion_code": "C0DE", "sheets": 3}
    answer = organiser.put("/pages", pages, headers={"If-Match": read.headers["ETag"]})
    assert (answer.json["version"], answer.json["pages"]["sheets"]) == (2, 3)
    assert organiser.get("/pages").json == answer.json
    assert organiser.get("/links").json["open_url"] is None
    again = organiser.put("/pages", pages, status=412, headers={"If-Match": read.headers["ETag"]})
    assert problem(again) == ("changed", "the pages have changed and are now of version 2; read them again")
    assert problem(organiser.put("/pages", pages, status=428))[0] == "condition-needed"


def test_another_consent_text_needs_another_version(organiser):
    text = {"language": "en", "title": "Trees", "question": "Which?", "consent": "I agree."}
    refused = organiser.change_pages(texts=[text], status=409)
    assert "give it a new consent_version" in problem(refused)[1]
    organiser.change_pages(texts=[text], consent_version="2")
    assert organiser.get("/pages").json["pages"]["consent_version"] == "2"


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"platform": "facebook"}, "platform must be None"),
        ({"completion_url": "http://plain.example"}, "must begin with https://"),
        ({"completion_code": "two words"}, "completion_code must be letters"),
        ({"consent_version": ""}, "consent_version must be"),
        ({"sheets": 0}, "of at least 1"),
        ({"open_link": "yes"}, "must be true or false"),
        ({"texts": [{"language": "en", "title": "T", "question": "Q"}] * 2}, "two of the texts have the same language"),
        ({"colour": "red"}, "unknown field"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_changed(organiser, fields, says):
    assert says in organiser.change_pages(**fields, status=422).json["detail"]
    assert organiser.get("/pages").json["version"] == 1
