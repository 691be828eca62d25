"""Bundles that were tampered with."""

import csv
import hashlib
import io
import json
import re
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adaptive.ledger import Ledger, PageTexts, VotingPages
from adaptive.ledger._bundle.checking import votes_csv
from adaptive.ledger._bundle.contents import data_members, parse_contents, read_contents
from adaptive.ledger._bundle.files import contents_of, verify_bundle
from adaptive.ledger._store.schema import label_text
from adaptive.ledger.errors import BundleError
from tests.adaptive.ledger.campaigns import read
from tests.adaptive.ledger.databases import ITEMS, PAIRS, campaign_with_votes


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name).decode() for name in archive.namelist()}


def pack_members(members, *, sealed=True, **options):
    """A zip of these members, with new checksums if `sealed`."""
    if sealed:
        rest = {name: text for name, text in members.items() if name != "SHA256SUMS"}
        members = {**rest, "SHA256SUMS": sums_of(rest)}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, text in sorted(members.items()):
            archive.writestr(name, text)
    return file.getvalue()


def sums_of(members):
    return "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(members.items()))


def edit_member(data, name, change):
    """The bundle with changed text in one member, and with valid checksums."""
    members = members_of(data)
    text = change(members[name])
    assert text != members[name]
    return pack_members({**members, name: text})


def edit_json(data, name, change):
    def change_text(text):
        value = json.loads(text)
        change(value)
        return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=1) + "\n"

    return edit_member(data, name, change_text)


def edit_line(data, kind, change):
    """Change or remove the first line of a type in events.jsonl."""

    def change_text(text):
        lines = text.splitlines()
        place = next(place for place, line in enumerate(lines) if json.loads(line)["type"] == kind)
        row = json.loads(lines[place])
        result = change(row)
        if result is False:
            del lines[place]
        else:
            lines[place] = json.dumps(row, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return "".join(line + "\n" for line in lines)

    return edit_member(data, "events.jsonl", change_text)


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    campaign = campaign_with_votes(str(tmp_path_factory.mktemp("good") / "ledger.db"), 1)
    result = members_of(campaign.bundle())
    campaign.database.close()
    return result


@pytest.fixture
def unreadable_members(monkeypatch):
    """Fail if a member of a zip is opened."""

    def fail(*_args):
        raise AssertionError("decompressed")

    monkeypatch.setattr(zipfile.ZipFile, "open", fail)


def assert_refused(data, message, tmp_path, **options):
    path = tmp_path / "b.zip"
    path.write_bytes(data)
    with pytest.raises(BundleError, match=message):
        verify_bundle(path, **options)


@pytest.mark.parametrize(
    "name",
    ["../evil.csv", "/etc/passwd", "..\\evil", "C:\\evil", "items.csv/", "sub/items.csv", "ITEMS.CSV", "\x1b[2J"],
)
def test_unexpected_names_are_refused(name, members, tmp_path):
    assert_refused(pack_members({**members, name: "x"}), "the zip has .*, which no bundle has", tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "b.zip"]


@pytest.mark.parametrize("name", ["items.csv", "README.md", "events.jsonl", "croissant.json", "SHA256SUMS"])
def test_a_missing_member_is_refused(name, members, tmp_path):
    rest = {other: text for other, text in members.items() if other != name}
    assert_refused(pack_members(rest, sealed=name != "SHA256SUMS"), f"the zip lacks {name}", tmp_path)


def test_a_repeated_member_is_refused(members, tmp_path):
    file = io.BytesIO(pack_members(members))
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("items.csv", "other")
    assert_refused(file.getvalue(), "the zip must have each file once; it has 'items.csv' twice", tmp_path)


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        (lambda text: text.replace(text[:4], "0000", 1), "does not have the sum that SHA256SUMS gives"),
        (lambda text: text.split("\n", 1)[1], "SHA256SUMS: has no line for README.md"),
        (lambda text: text + text.split("\n")[0] + "\n", "SHA256SUMS: has a line for 'README.md', which is unknown or"),
        (lambda _: "", "SHA256SUMS: has no line for README.md"),
    ],
)
def test_wrong_checksums_are_refused(sums, message, members, tmp_path):
    assert_refused(
        pack_members({**members, "SHA256SUMS": sums(members["SHA256SUMS"])}, sealed=False), message, tmp_path
    )


def test_a_zip_bomb_is_not_decompressed(members, tmp_path, request):
    """A thousandth of its size on disk."""
    bomb = pack_members({**members, "items.csv": "0" * 20_000_000})
    assert len(bomb) < 100_000
    request.getfixturevalue("unreadable_members")
    message = r"the zip holds 20,\d{3},\d{3} bytes; at most 1,000,000 are read"
    assert_refused(bomb, message, tmp_path, most_bytes=1_000_000)


@pytest.mark.parametrize(
    ("name", "most"), [("README.md", 2**20), ("croissant.json", 2**20), ("SHA256SUMS", 2**16), ("plan.json", 2**24)]
)
def test_an_oversized_member_is_not_decompressed(name, most, members, tmp_path, request):
    large = pack_members({**members, name: "\n" * (most + 1)}, sealed=False)
    request.getfixturevalue("unreadable_members")
    assert_refused(large, rf"b\.zip: {name}: has {most + 1:,} bytes; at most {most:,} are read", tmp_path)


def test_an_oversized_file_is_not_read(members, tmp_path):
    assert_refused(pack_members(members), "has more than 1,000 bytes", tmp_path, most_bytes=1_000)


def test_a_member_with_a_false_size_is_refused(members, tmp_path):
    """The directory claims 10 bytes; the compressed data has 30 million."""
    data = bytearray(pack_members({**members, "README.md": "0" * 30_000_000}))
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = 0
        while (start := data.find(signature, start)) >= 0:
            size = struct.unpack_from("<I", data, start + offset)[0]
            if size == 30_000_000:
                struct.pack_into("<I", data, start + offset, 10)
            start += 4
    assert_refused(bytes(data), r"README\.md: (is damaged|does not have the size)", tmp_path, most_bytes=1_000_000)


@pytest.mark.parametrize(
    ("method", "message"), [(zipfile.ZIP_BZIP2, "compressed by another method"), (99, "is compressed")]
)
def test_other_compressions_are_refused(method, message, members, tmp_path):
    file = io.BytesIO()
    rest = {name: text for name, text in members.items() if name != "SHA256SUMS"}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if method == 99 else method) as archive:
        for name, text in {**rest, "SHA256SUMS": sums_of(rest)}.items():
            archive.writestr(name, text)
    data = bytearray(file.getvalue())
    if method == 99:
        struct.pack_into("<H", data, data.find(b"PK\x01\x02") + 10, 99)
    assert_refused(bytes(data), message, tmp_path)


def test_an_encrypted_member_is_refused(members, tmp_path):
    data = bytearray(pack_members(members))
    start = data.find(b"PK\x01\x02")
    struct.pack_into("<H", data, start + 8, struct.unpack_from("<H", data, start + 8)[0] | 1)
    assert_refused(bytes(data), "is encrypted", tmp_path)


def test_a_damaged_member_is_refused(members, tmp_path):
    data = bytearray(pack_members(members))
    start = data.find(b"comparisons.csv") + len("comparisons.csv") + 20
    data[start : start + 8] = b"\xff" * 8
    assert_refused(bytes(data), r"comparisons\.csv: is damaged", tmp_path)


def test_text_that_is_not_utf_8_is_refused(members, tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, b"\xff" if name == "README.md" else text)
    assert_refused(file.getvalue(), r"README\.md: is not UTF-8 from byte 0 on", tmp_path)


@pytest.mark.parametrize("data", [b"", b"PK", b"plain text", b"PK\x05\x06" + b"\0" * 18, zlib.compress(b"x")])
def test_files_that_are_no_zip_are_refused(data, tmp_path):
    assert_refused(data, "not a zip that can be read|the zip lacks", tmp_path)


def test_a_truncated_zip_is_refused(members, tmp_path):
    assert_refused(pack_members(members)[:-40], "not a zip that can be read", tmp_path)


TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('\r\n",= '), max_size=8)
CELL = st.none() | TEXT | st.sampled_from(["", '""', '""""', "\r", "\n"])


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    campaign = campaign_with_votes(str(tmp_path_factory.mktemp("good") / "ledger.db"), 1)
    result = read(campaign, read_contents, names=True)
    campaign.database.close()
    return result


@pytest.mark.wide
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
    voters = [{**row, "name": cell, "consent_version": cell} for row, cell in zip(contents.voters, cells, strict=False)]
    votes = [{**vote, "extra": extra or None, "reason": cells[0]} for vote in contents.votes]
    changed = replace(contents, items=items, voters=voters, votes=votes)
    result = parse_contents(data_members(changed))
    assert (result.items, result.voters, result.votes) == (items, voters, votes)
    assert result.labels == tuple(labels)
    rows = list(csv.reader(io.StringIO(votes_csv(changed), newline=""), strict=True))
    assert len({len(row) for row in rows}) == 1
    assert len(rows) == 1 + sum(row["kind"] == "cast" for row in votes)


@pytest.mark.parametrize("name", ["events.jsonl", "comparisons.csv", "items.csv", "ballots.json"])
@pytest.mark.parametrize("before", ["", "as it is"])
def test_blank_lines_are_refused_without_reading_all_of_them(name, before, sqlite):
    """Splitting all lines at once would take nine times their bytes."""
    members = members_of(campaign_with_votes(sqlite).bundle())
    n_lines = 4_000_000
    members[name] = (members[name] if before else "") + "\n" * n_lines
    tracemalloc.start()
    try:
        with pytest.raises(BundleError, match=name):
            parse_contents(members)
        assert tracemalloc.get_traced_memory()[1] < 3 * n_lines
    finally:
        tracemalloc.stop()


RUNS = re.compile(r"[=+\-@\t\r]")
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


@pytest.mark.parametrize("settings", [{}, {"n_closed": 0}], ids=["closed", "no ranking yet"])
@pytest.mark.parametrize("items", [None, PAIRS], ids=["labels", "pairs"])
def test_formulas_in_cells_are_guarded_and_restored(settings, items, sqlite, tmp_path):
    campaign = campaign_with_votes(
        sqlite, items=items or ITEMS, voters=["Ann", "=cmd|' /C calc'!A0", "-@Eve"], **settings
    )
    with campaign.database.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE voter SET consent_version = '+1+1' WHERE id = 1")
    members = members_of(campaign.bundle(names=True))
    cells = {
        name: [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
        for name, text in members.items()
        if name.endswith(".csv")
    }
    assert set(cells) == {"items.csv", "voters.csv", "comparisons.csv", "votes.csv", "result.csv"}
    assert not [cell for column in cells.values() for cell in column if RUNS.match(cell) and not NUMBER.fullmatch(cell)]
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


SECRETS = {
    "study": "5tudy",
    "completion_code": "C0DE",
    "completion_url": "https://a.example/?c0de",
    "screened_out_code": "0UT",
    "quota_full_code": "FU11",
}
PAGES = VotingPages({"en": PageTexts("Fruit", "Which?", consent="I agree.")}, platform="prolific", **SECRETS)


def campaign_with_pages(target):
    campaign = campaign_with_votes(target)
    for version in range(2):
        pages = replace(PAGES, consent_version=str(version + 1))
        campaign.set_pages(pages, replaces=version)
    return campaign


def test_a_bundle_has_every_version_of_the_pages(sqlite, tmp_path):
    campaign = campaign_with_pages(sqlite)
    for names in (False, True):
        data = campaign.bundle(names=names)
        text = "".join(members_of(data).values())
        assert [value for value in SECRETS.values() if value in text] == (list(SECRETS.values()) if names else [])
        (tmp_path / "b.zip").write_bytes(data)
        ledger = Ledger.create(tmp_path / f"{names}.db")
        again = ledger.restore(tmp_path / "b.zip")
        version, pages = again.pages()
        assert version == 2
        hidden = {} if names else dict.fromkeys(SECRETS)
        assert pages == replace(PAGES, consent_version="2", **hidden)
        assert again.bundle(names=names) == data
        ledger.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.pop(0), r"pages\.json: \[0\]: version 1 is missing"),
        (lambda rows: rows[0].pop("at"), r"pages\.json: \[0\]: missing or unknown: 'at'"),
        (lambda rows: rows[1].update(pages={}), r"pages\.json: \[1\]: not valid voting pages"),
        (lambda rows: rows[1]["pages"]["texts"][0].update(consent="a" * 20_001), "consent must be text, of at most"),
        (lambda rows: rows[1].update(version="2"), "version must be of type int"),
    ],
)
def test_invalid_pages_are_refused(change, message, sqlite):
    members = members_of(campaign_with_pages(sqlite).bundle())
    rows = json.loads(members["pages.json"])
    change(rows)
    members["pages.json"] = json.dumps(rows)
    with pytest.raises(BundleError, match=message):
        parse_contents(members)
