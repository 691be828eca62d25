"""Tables of items, with every error by line; and pages."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from adaptive.ledger import ChangedError, LedgerError, PageTexts, VotingPages
from adaptive.ledger._campaign.content import ItemContent, read_item_file, read_item_sheet
from adaptive.ledger._campaign.settings import Pay
from rankcorr.errors import TableError
from tests.adaptive.ledger.campaigns import campaign_of, query


def faults(text):
    return [str(fault) for fault in read_item_sheet(text.encode()).faults]


def test_items_are_read_with_their_contents():
    sheet = read_item_sheet("\ufeffitem;kind;content;alt_text;note\nash;image;a/ash.png;An ash;x\nÖl;;;;\n".encode())
    assert sheet.items == ("ash", "Öl")
    assert sheet.contents == (ItemContent("image", "a/ash.png", "An ash"), ItemContent("text", None, None))
    assert sheet.checked() is sheet


def test_items_of_several_parts_are_tuples():
    assert read_item_sheet(b"item_1,item_2\nsalary,wage\nsalary,tax\n").items == (("salary", "wage"), ("salary", "tax"))


def test_cells_with_several_lines_count_as_one_row():
    text = 'item,kind,content\nash,markdown,"# Ash\n\nA tree."\noak,film,x\n'
    (fault,) = faults(text)
    assert fault == "line 5: column \"kind\": the kind of an item must be text, markdown, image or audio; got 'film'"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("ash,image,,Ash", 'column "content": an item of kind image needs its content; got none'),
        ("ash,audio,/etc/x.mp3,Ash", 'column "content": the content of audio must be the path of a file'),
        ("ash,image,ash.png,", 'column "alt_text": an item of kind image needs a text that describes it'),
        ("ash,markdown,,", 'column "content": an item of kind markdown needs its content'),
        (",text,,", 'column "item": empty cell'),
        ("ash,text", 'expected 4 cells, as in the first row; got 2 (none for "content", "alt_text")'),
        ("fir,,,", "column \"item\": 'fir' is also on line 2; items must be unique"),
    ],
)
def test_errors_have_line_and_column(row, fault):
    result = faults(f"item,kind,content,alt_text\nfir,,,\n{row}\noak,,,\n")
    assert len(result) == 1
    assert result[0].startswith("line 3: ")
    assert fault in result[0]


def test_all_errors_of_a_row_are_listed():
    assert faults("item,kind,content\nant,text,an ant\nant,image,x.png\n,text,\n,film,\nbee,audio,/bee.mp3\n") == [
        "line 3: column \"item\": 'ant' is also on line 2; items must be unique",
        'line 3: column "alt_text": an item of kind image needs a text that describes it (alt_text); got none',
        'line 4: column "item": empty cell; every row needs its item',
        'line 5: column "item": empty cell; every row needs its item',
        "line 5: column \"kind\": the kind of an item must be text, markdown, image or audio; got 'film'",
        'line 6: column "content": the content of audio must be the path of a file, of letters, digits, . _ - and /; '
        "got '/bee.mp3'",
        'line 6: column "alt_text": an item of kind audio needs a text that describes it (alt_text); got none',
    ]


def test_missing_files_are_listed_with_other_errors():
    text = b"item,kind,content,alt_text\nfir,,,\nfir,image,fir.png,\nyew,image,../yew.png,A yew\n"
    result = read_item_sheet(text, why_no_file=lambda path: f"there is no {path}").faults
    assert [(fault.line, fault.column) for fault in result] == [
        (3, "item"), (3, "alt_text"), (3, "content"), (4, "content")
    ]  # fmt: skip
    assert result[2].message == "there is no fir.png"
    assert "must be the path of a file" in result[3].message


def test_no_more_than_a_hundred_faults_are_listed():
    sheet = read_item_sheet(b"item,kind,content\n" + b"ash,image,\n" * 60)
    assert len(sheet.faults) == 100


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"", "the file is empty"),
        (b"item\nf\xfcr\n", "line 2: byte 0xfc is not UTF-8"),
        (b"name\nash\n", 'add a first line "item", or name a column "item"'),
        (b"item\n", "no items, only the names of the columns"),
        (b"item\nash\n", "a single item; two are needed"),
        (b'item\n"ash\n', "a quote is opened here and never closed"),
    ],
)
def test_a_table_that_cannot_be_read_has_one_fault(data, fault):
    (result,) = read_item_sheet(data).faults
    assert fault in str(result)


def test_the_first_faults_can_be_raised_as_an_error():
    sheet = read_item_sheet(b"item\n" + b"ash\n" * 9)
    with pytest.raises(TableError, match=r"line 3: .*line 7: .*; and 3 more"):
        sheet.checked()


def test_a_file_is_read_like_its_table(tmp_path):
    text = "item,kind,content,alt_text\nfir,,,\noak,image,oak.png,an oak\nyew,markdown,**yew**,\n"
    path = tmp_path / "items.csv"
    path.write_text(text)
    sheet = read_item_sheet(text.encode())
    assert read_item_file(path) == (sheet.items, sheet.contents)
    path.write_text(text + "elm,image,elm.png,\n")
    with pytest.raises(TableError, match=r'items\.csv:5: column "alt_text": an item of kind image needs a text'):
        read_item_file(path)
    path.write_text("item,kind\n")
    with pytest.raises(TableError, match=r"items\.csv:1: no items"):
        read_item_file(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"texts": {}}, "in at least one language"),
        ({"texts": {"English": PageTexts("a", "b")}}, "a tag like 'en'"),
        ({"texts": {"en": "a"}}, "must be PageTexts"),
        ({"consent_version": "one two"}, "consent_version must be"),
        ({"open_link": "yes"}, "open_link must be True or False"),
        ({"sheets": 0}, "sheets must be a positive whole number"),
        ({"platform": "crowd"}, "platform must be"),
        ({"completion_code": "a b"}, "completion_code must be"),
        ({"completion_url": "javascript:alert(1)"}, "must begin with https://"),
        ({"quota_full_code": "A"}, "quota_full_code is for participants of a platform, but the campaign"),
        ({"study_minutes": 30}, "study_minutes is for participants of a platform"),
        ({"platform": "prolific", "study_minutes": 0}, "study_minutes must be a finite number above 0; got 0"),
        ({"platform": "prolific", "completion_code": "A", "quota_full_code": "A"}, "the codes must differ"),
    ],
)
def test_invalid_pages_are_refused(changes, message):
    with pytest.raises(LedgerError, match=message):
        VotingPages(**changes)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("", "b"), "title must be one line"),
        (("a", "b\nc"), "question must be one line"),
        (("a", "\u200d"), "question must be one line"),
        (("a", "b", "c" * 20_001), "instructions must be text, of at most 20,000 characters"),
        (("a", "b", "", "[" * 1_001), "and 1,000 opening brackets"),
        (("a", "b", "", "c\x1b[2J"), "consent must have no control characters"),
        (("a", "b", "", "c\u2067d"), "consent must have no control characters, and none that reverse text"),
    ],
)
def test_invalid_texts_are_refused(texts, message):
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
def test_text_of_any_script_is_kept_unchanged(text, ledger):
    campaign = campaign_of(ledger, pay=Pay(per_vote=1, currency=text))
    pages = VotingPages({"fa": PageTexts(text, text, f"{text}\r\n\t{text}", text, text)})
    campaign.set_pages(pages, replaces=0)
    assert campaign.pages() == (1, pages)
    assert len(campaign.voters.invite([text])) == 1
    assert query(ledger, "SELECT external_id FROM voter_identity WHERE external_id = :text", text=text) == [(text,)]


def test_only_one_of_several_simultaneous_changes_of_pages_succeeds(ledger):
    campaign, start = campaign_of(ledger), Barrier(4)

    def change_pages(number):
        start.wait()
        try:
            return campaign.set_pages(VotingPages(sheets=number), replaces=0)
        except ChangedError as error:
            return str(error)

    with ThreadPoolExecutor(4) as threads:
        result = sorted(map(str, threads.map(change_pages, range(1, 5))))
    assert result == ["1"] + ["the pages now have version 1, but the change was made to version 0"] * 3
