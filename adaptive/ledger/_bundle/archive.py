"""Write the zip of a bundle, with the same bytes for the same campaign, and check a zip before reading it."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Final

from adaptive.ledger._store.encoding import sum_of
from adaptive.ledger.errors import BundleError
from rankcorr._checks import repeated, shown

SUMS: Final = "SHA256SUMS"
MOST_BYTES: Final = 2**30
# Files that stay small regardless of the number of votes; a million votes need 300 MB of events and 30 MB of
# comparisons.
_MOST_OF: Final = {
    SUMS: 2**16,
    **dict.fromkeys(("README.md", "croissant.json"), 2**20),
    **dict.fromkeys(("plan.json", "pages.json"), 2**24),
    **dict.fromkeys(("ballots.json", "items.csv", "result.csv", "voters.csv", "comparisons.csv", "votes.csv"), 2**28),
}
NAMES: Final = tuple(sorted([*_MOST_OF, "events.jsonl"]))
_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_ENCRYPTED: Final = 0x1


def packed(members: Mapping[str, str]) -> bytes:
    """Return the zip of members and their sums."""
    sums = "".join(f"{sum_of(members[name])}  {name}\n" for name in sorted(members))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted({**members, SUMS: sums}.items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever it is written
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text.encode())
    return file.getvalue()


def unpacked(data: bytes, *, most_bytes: int) -> dict[str, str]:
    """Return the members of a zip after checking their sums.

    Nothing is written to disk, and nothing is decompressed before all names and sizes are checked.

    Raises
    ------
    BundleError
        If the data are not a zip, if a member is missing, unexpected, repeated, encrypted, or compressed in another
        way, if the size exceeds `most_bytes` in all or the limit for a file of its name, if text is not UTF-8, or if a
        sum is wrong.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_entries(archive.infolist(), most_bytes)
            found = {entry.filename: _text(archive, entry) for entry in archive.infolist()}
    except BundleError:
        raise
    # zipfile raises NotImplementedError for an unknown compression.
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise BundleError(f"not a zip that can be read: {error}") from error
    _check_sums(found)
    return found


def _check_entries(entries: list[zipfile.ZipInfo], most_bytes: int) -> None:
    names = [entry.filename for entry in entries]
    again = repeated(names)
    if again:
        raise BundleError(f"the zip has {shown(again[0])} more than once")
    for entry in entries:
        if entry.filename not in NAMES:
            raise BundleError(f"the zip has {shown(entry.filename)}, which no bundle has")
        if entry.flag_bits & _ENCRYPTED:
            raise BundleError(f"{entry.filename}: is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"{entry.filename}: is compressed in a way that no bundle is")
        most = _MOST_OF.get(entry.filename, most_bytes)
        if entry.file_size > most:
            raise BundleError(f"{entry.filename}: has {entry.file_size:,} bytes; at most {most:,} are read")
    missing = [name for name in NAMES if name not in names]
    if missing:
        raise BundleError(f"the zip lacks {', '.join(missing)}")
    size = sum(entry.file_size for entry in entries)
    if size > most_bytes:
        raise BundleError(f"the zip holds {size:,} bytes; at most {most_bytes:,} are read")


def _text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
    name = entry.filename
    try:
        with archive.open(entry) as file:
            data = file.read(entry.file_size + 1)  # detects a false size
    except (zipfile.BadZipFile, zlib.error) as error:
        raise BundleError(f"{name}: is damaged: {error}") from error
    if len(data) != entry.file_size:
        raise BundleError(f"{name}: does not have the size that the zip states")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise BundleError(f"{name}: is not UTF-8 from byte {error.start} on") from error


def _check_sums(members: Mapping[str, str]) -> None:
    wanted = {name: sum_of(text) for name, text in members.items() if name != SUMS}
    found = {}
    for line in members[SUMS].splitlines():
        digest, _, name = line.partition("  ")
        if name not in wanted or name in found:
            raise BundleError(f"{SUMS}: has a line of {shown(name)}, which is unknown or comes twice")
        found[name] = digest
    for name, digest in sorted(wanted.items()):
        if name not in found:
            raise BundleError(f"{SUMS}: has no line of {name}")
        if found[name] != digest:
            raise BundleError(f"{name}: does not have the sum that {SUMS} gives: it was changed or damaged")
