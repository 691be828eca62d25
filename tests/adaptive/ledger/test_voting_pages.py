"""What organisers may write on the pages of voters, on both databases."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from adaptive.ledger import ChangedError, LedgerError, PageTexts, VotingPages
from adaptive.ledger._campaign.info import Pay
from tests.adaptive.ledger.campaigns import campaign_of, query


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": {}}, "in one language at least"),
        ({"texts": {"English": PageTexts("a", "b")}}, "a tag like 'en'"),
        ({"texts": {"en": "a"}}, "must be PageTexts"),
        ({"consent_version": "one two"}, "consent_version must be"),
        ({"open_link": "yes"}, "open_link must be True or False"),
        ({"sheets": 0}, "sheets must be a positive whole number"),
        ({"platform": "crowd"}, "platform must be"),
        ({"completion_code": "a b"}, "completion_code must be"),
        ({"completion_url": "javascript:alert(1)"}, "must begin with https://"),
        ({"completion_url": "http://a.example/"}, "must begin with https://"),
    ],
)
def test_pages_that_cannot_be_are_refused(changes, message):
    with pytest.raises(LedgerError, match=message):
        VotingPages(**changes)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("", "b"), "title must be one line"),
        (("a", "b\nc"), "question must be one line"),
        (("a\u202eb", "c"), "title must be one line"),
        (("a", "\u200d"), "question must be one line"),
        (("a", "b\u2028c"), "question must be one line"),
        (("a", "b", "c" * 20_001), "instructions must be text, of at most 20,000 characters"),
        (("a", "b", "", "[" * 1_001), "and 1,000 opening brackets"),
        (("a", "b", "\0"), "instructions must have no control characters"),
        (("a", "b", "", "c\x1b[2J"), "consent must have no control characters"),
        (("a", "b", "", "c\u2067d"), "consent must have no control characters, and none that turn round text"),
    ],
)
def test_texts_that_cannot_be_are_refused(texts, message):
    with pytest.raises(LedgerError, match=message):
        PageTexts(*texts)


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "Laquelle\u202f?",
        "\U0001f469\u200d\U0001f52c \u2764\ufe0f",
        "\u05d0\u200fb",
        "a\u00a0b",
    ],
    ids=["Persian", "French", "emoji", "Hebrew with a mark of direction", "no-break space"],
)
def test_text_of_any_script_is_taken_as_it_is(text, ledger):
    campaign = campaign_of(ledger, pay=Pay(per_vote=1, currency=text))
    pages = VotingPages({"fa": PageTexts(text, text, f"{text}\r\n\t{text}", text, text)})
    campaign.set_pages(pages, replaces=0)
    assert campaign.pages() == (1, pages)
    assert len(campaign.voters.invite([text])) == 1
    assert query(ledger, "SELECT external_id FROM voter_identity WHERE external_id = :text", text=text) == [(text,)]


def test_of_many_who_change_the_pages_at_once_one_does(ledger):
    campaign, start = campaign_of(ledger), Barrier(4)

    def changed(number):
        start.wait()
        try:
            return campaign.set_pages(VotingPages(sheets=number), replaces=0)
        except ChangedError as error:
            return str(error)

    with ThreadPoolExecutor(4) as threads:
        found = sorted(map(str, threads.map(changed, range(1, 5))))
    assert found == ["1"] + ["the pages now have version 1, but the change was made to version 0"] * 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"screened_out_code": "A"}, "screened_out_code is for participants of a platform"),
        ({"quota_full_code": "A"}, "quota_full_code is for participants of a platform, and the campaign is on none"),
        ({"study_minutes": 30}, "study_minutes is for participants of a platform"),
        ({"platform": "prolific", "study_minutes": 0}, "study_minutes must be a finite number above 0; got 0"),
        ({"platform": "prolific", "study_minutes": float("nan")}, "study_minutes must be a finite number above 0"),
        ({"platform": "prolific", "quota_full_code": "a b"}, "quota_full_code must be letters, digits, - and _"),
        (
            {"platform": "prolific", "completion_code": "A", "quota_full_code": "A"},
            "the codes must differ, or the platform cannot tell them apart",
        ),
    ],
)
def test_codes_and_times_that_no_platform_can_use(fields, message):
    with pytest.raises(LedgerError, match=message):
        VotingPages(**fields)
