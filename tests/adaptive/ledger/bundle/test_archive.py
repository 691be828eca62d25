"""Zips of strangers: refused by name before anything in them is believed."""

import io
import struct
import warnings
import zipfile
import zlib

import pytest

from adaptive.ledger._bundle.files import verify_bundle
from adaptive.ledger.errors import BundleError
from tests.adaptive.ledger.bundle.zips import members_of, packed, sums_of
from tests.adaptive.ledger.voted import voted


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    campaign = voted(str(tmp_path_factory.mktemp("good") / "ledger.db"), 1)
    found = members_of(campaign.bundle())
    campaign.database.close()
    return found


@pytest.fixture
def closed(monkeypatch):
    """No member of a zip is opened."""

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
def test_names_that_no_bundle_has(name, members, tmp_path):
    assert_refused(packed({**members, name: "x"}), "the zip has .*, which no bundle has", tmp_path)
    assert list(tmp_path.iterdir()) == [tmp_path / "b.zip"]


@pytest.mark.parametrize("name", ["items.csv", "README.md", "events.jsonl", "croissant.json", "SHA256SUMS"])
def test_a_member_is_missing(name, members, tmp_path):
    rest = {other: text for other, text in members.items() if other != name}
    assert_refused(packed(rest, sealed=name != "SHA256SUMS"), f"the zip lacks {name}", tmp_path)


def test_a_member_comes_twice(members, tmp_path):
    file = io.BytesIO(packed(members))
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(file, "a") as archive:
        archive.writestr("items.csv", "other")
    assert_refused(file.getvalue(), "the zip has 'items.csv' more than once", tmp_path)


@pytest.mark.parametrize(
    ("sums", "message"),
    [
        (lambda text: text.replace(text[:4], "0000", 1), "does not have the sum that SHA256SUMS gives"),
        (lambda text: text.split("\n", 1)[1], "SHA256SUMS: has no line of README.md"),
        (lambda text: text + text.split("\n")[0] + "\n", "SHA256SUMS: has a line of 'README.md', which is unknown or"),
        (lambda text: text + "0  SHA256SUMS\n", "SHA256SUMS: has a line of 'SHA256SUMS', which is unknown"),
        (lambda text: text + "junk\n", "SHA256SUMS: has a line of '', which is unknown"),
        (lambda _: "", "SHA256SUMS: has no line of README.md"),
    ],
)
def test_sums_that_do_not_hold(sums, message, members, tmp_path):
    assert_refused(packed({**members, "SHA256SUMS": sums(members["SHA256SUMS"])}, sealed=False), message, tmp_path)


@pytest.mark.parametrize("name", ["items.csv", "README.md", "votes.csv", "croissant.json"])
def test_a_member_that_was_changed_is_named(name, members, tmp_path):
    changed = packed({**members, name: members[name] + "\n"}, sealed=False)
    assert_refused(changed, f"{name}: does not have the sum that SHA256SUMS gives: it was changed or damaged", tmp_path)


def test_a_zip_bomb_is_not_decompressed(members, tmp_path, request):
    """A thousandth of its size on disk."""
    bomb = packed({**members, "items.csv": "0" * 20_000_000})
    assert len(bomb) < 100_000
    request.getfixturevalue("closed")
    message = r"the zip holds 20,\d{3},\d{3} bytes; at most 1,000,000 are read"
    assert_refused(bomb, message, tmp_path, most_bytes=1_000_000)


@pytest.mark.parametrize(
    ("name", "most"), [("README.md", 2**20), ("croissant.json", 2**20), ("SHA256SUMS", 2**16), ("plan.json", 2**24)]
)
def test_a_member_that_is_larger_than_any_bundle_has_it_is_not_decompressed(name, most, members, tmp_path, request):
    large = packed({**members, name: "\n" * (most + 1)}, sealed=False)
    request.getfixturevalue("closed")
    assert_refused(large, rf"b\.zip: {name}: has {most + 1:,} bytes; at most {most:,} are read", tmp_path)


def test_a_file_that_is_too_large_is_not_read(members, tmp_path):
    assert_refused(packed(members), "has more than 1,000 bytes", tmp_path, most_bytes=1_000)


def test_a_size_that_lies(members, tmp_path):
    """The directory says 10 bytes, and 30 million are compressed."""
    data = bytearray(packed({**members, "README.md": "0" * 30_000_000}))
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = 0
        while (start := data.find(signature, start)) >= 0:
            size = struct.unpack_from("<I", data, start + offset)[0]
            if size == 30_000_000:
                struct.pack_into("<I", data, start + offset, 10)
            start += 4
    assert_refused(bytes(data), r"README\.md: (is damaged|does not have the size)", tmp_path, most_bytes=1_000_000)


@pytest.mark.parametrize(
    ("method", "message"),
    [(zipfile.ZIP_BZIP2, "compressed in a way"), (zipfile.ZIP_LZMA, "compressed in a way"), (99, "is compressed")],
)
def test_other_compressions(method, message, members, tmp_path):
    file = io.BytesIO()
    rest = {name: text for name, text in members.items() if name != "SHA256SUMS"}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED if method == 99 else method) as archive:
        for name, text in {**rest, "SHA256SUMS": sums_of(rest)}.items():
            archive.writestr(name, text)
    data = bytearray(file.getvalue())
    if method == 99:
        struct.pack_into("<H", data, data.find(b"PK\x01\x02") + 10, 99)
    assert_refused(bytes(data), message, tmp_path)


def test_an_encrypted_member(members, tmp_path):
    data = bytearray(packed(members))
    start = data.find(b"PK\x01\x02")
    struct.pack_into("<H", data, start + 8, struct.unpack_from("<H", data, start + 8)[0] | 1)
    assert_refused(bytes(data), "is encrypted", tmp_path)


def test_a_damaged_member(members, tmp_path):
    data = bytearray(packed(members))
    start = data.find(b"comparisons.csv") + len("comparisons.csv") + 20
    data[start : start + 8] = b"\xff" * 8
    assert_refused(bytes(data), r"comparisons\.csv: is damaged", tmp_path)


def test_text_that_is_not_utf_8(members, tmp_path):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, b"\xff" if name == "README.md" else text)
    assert_refused(file.getvalue(), r"README\.md: is not UTF-8 from byte 0 on", tmp_path)


@pytest.mark.parametrize("data", [b"", b"PK", b"plain text", b"PK\x05\x06" + b"\0" * 18, zlib.compress(b"x")])
def test_what_is_no_zip(data, tmp_path):
    assert_refused(data, "not a zip that can be read|the zip lacks", tmp_path)


def test_a_zip_that_is_cut_off(members, tmp_path):
    assert_refused(packed(members)[:-40], "not a zip that can be read", tmp_path)
