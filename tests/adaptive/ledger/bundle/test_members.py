"""Files of a bundle: whatever a cell or a line may hold comes back as it was."""

import csv
import io
import json
import re
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.ledger import Ledger, PageTexts, VotingPages
from adaptive.ledger._bundle.checking import votes_csv
from adaptive.ledger._bundle.contents import data_members, parsed, read_contents
from adaptive.ledger._bundle.files import contents_of, verify_bundle
from adaptive.ledger._store.schema import label_text
from adaptive.ledger.errors import BundleError
from tests.adaptive.ledger.bundle.zips import members_of
from tests.adaptive.ledger.campaigns import read
from tests.adaptive.ledger.voted import ITEMS, PAIRS, voted

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\r\n",= '), max_size=8)
CELL = st.none() | TEXT | st.sampled_from(["", '""', '""""', "\r", "\n"])


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    campaign = voted(str(tmp_path_factory.mktemp("good") / "ledger.db"), 1)
    found = read(campaign, read_contents, names=True)
    campaign.database.close()
    return found


@settings(max_examples=60, deadline=None)
@given(
    labels=st.lists(TEXT | st.integers() | st.tuples(TEXT, st.integers()), min_size=8, max_size=8, unique_by=repr),
    cells=st.lists(CELL, min_size=8, max_size=8),
    extra=st.dictionaries(TEXT, TEXT, max_size=3),
)
def test_any_text_survives(labels, cells, extra, contents):
    items = [
        {**item, "label": label_text(label), "content": cell, "alt_text": cells[-1]}
        for item, label, cell in zip(contents.items, labels, cells, strict=True)
    ]
    voters = [{**own, "name": cell, "consent_version": cell} for own, cell in zip(contents.voters, cells, strict=False)]
    votes = [{**vote, "extra": extra or None, "reason": cells[0]} for vote in contents.votes]
    changed = replace(contents, items=items, voters=voters, votes=votes)
    found = parsed(data_members(changed))
    assert (found.items, found.voters, found.votes) == (items, voters, votes)
    assert found.labels == tuple(labels)
    rows = list(csv.reader(io.StringIO(votes_csv(changed), newline=""), strict=True))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == 1 + sum(row["kind"] == "cast" for row in votes)


@pytest.mark.parametrize("name", ["events.jsonl", "comparisons.csv", "items.csv", "ballots.json"])
@pytest.mark.parametrize("before", ["", "as it is"])
def test_lines_of_nothing_are_refused_one_by_one(name, before, sqlite):
    """All of them at once would take nine times their bytes, before the first is looked at."""
    members = members_of(voted(sqlite).bundle())
    n_lines = 4_000_000
    members[name] = (members[name] if before else "") + "\n" * n_lines
    tracemalloc.start()
    try:
        with pytest.raises(BundleError, match=name):
            parsed(members)
        assert tracemalloc.get_traced_memory()[1] < 3 * n_lines
    finally:
        tracemalloc.stop()


RUNS = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


@pytest.mark.parametrize("settings", [{}, {"n_closed": 0}], ids=["closed", "no ranking yet"])
@pytest.mark.parametrize("items", [None, PAIRS], ids=["labels", "pairs"])
def test_no_cell_of_a_bundle_is_run_by_a_spreadsheet_and_all_come_back(settings, items, sqlite, tmp_path):
    campaign = voted(sqlite, items=items or ITEMS, voters=["Ann", "=cmd|' /C calc'!A0", "-@Eve"], **settings)
    with campaign.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE voter SET consent_version = '+1+1' WHERE id = 1")
    members = members_of(campaign.bundle(names=True))
    cells = {
        name: [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        for name, text in members.items()
        if name.endswith(".csv")
    }
    assert set(cells) == {"items.csv", "voters.csv", "comparisons.csv", "votes.csv", "result.csv"}
    assert not [cell for own in cells.values() for cell in own if RUNS.match(cell) and not NUMBER.fullmatch(cell)]
    assert ("'=1+1" if items is None else "'=c") in cells["votes.csv"]
    assert {"'=cmd|' /C calc'!A0", "'-@Eve", "'+1+1"} <= set(cells["voters.csv"])
    path = tmp_path / "b.zip"
    path.write_bytes(campaign.bundle(names=True))
    assert verify_bundle(path).chain_digest == campaign.verify().chain_digest
    again = Ledger.create(tmp_path / "other.db").restore(path)
    try:
        assert again.info.items == campaign.info.items
        assert again.bundle(names=True) == path.read_bytes()
        assert "=cmd|' /C calc'!A0" in {voter["name"] for voter in contents_of(path.read_bytes())[0].voters}
    finally:
        again.database.close()


PAGES = VotingPages({"en": PageTexts("Fruit", "Which?", consent="I agree.")}, completion_code="C0DE", study="s1")


def campaign_with_pages(target):
    campaign = voted(target)
    for version in range(2):
        shown = replace(PAGES, consent_version=str(version + 1))
        campaign.set_pages(shown, replaces=version)
    return campaign


def test_pages_are_in_a_bundle_version_by_version(sqlite, tmp_path):
    campaign = campaign_with_pages(sqlite)
    for names in (False, True):
        data = campaign.bundle(names=names)
        assert ("C0DE" in members_of(data)["pages.json"]) == names  # it proves a voter's work to a platform
        (tmp_path / "b.zip").write_bytes(data)
        ledger = Ledger.create(tmp_path / f"{names}.db")
        again = ledger.restore(tmp_path / "b.zip")
        version, pages = again.pages()
        assert version == 2
        hidden = {} if names else {"completion_code": None, "study": None}
        assert pages == replace(PAGES, consent_version="2", **hidden)
        assert again.bundle(names=names) == data
        ledger.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(0), r"pages\.json: \[0\]: version 1 is missing"),
        (lambda rows: rows[0].pop("at"), r"pages\.json: \[0\]: missing or unknown: 'at'"),
        (lambda rows: rows[1].update(pages={}), r"pages\.json: \[1\]: these are not valid voting pages"),
        (lambda rows: rows[1]["pages"].update(completion_url="http://a"), "these are not valid voting pages"),
        (lambda rows: rows[1]["pages"]["texts"][0].update(consent="a" * 20_001), "consent must be text, of at most"),
        (lambda rows: rows[1].update(version="2"), "version must be of type int"),
    ],
)
def test_pages_that_no_ledger_writes_are_refused(change, message, sqlite):
    members = members_of(campaign_with_pages(sqlite).bundle())
    rows = json.loads(members["pages.json"])
    change(rows)
    members["pages.json"] = json.dumps(rows)
    with pytest.raises(BundleError, match=message):
        parsed(members)
