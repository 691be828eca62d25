"""Write a campaign to a bundle file, and read and check bundles without a ledger."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from adaptive.errors import AdaptiveError
from adaptive.ledger.bundle.archive import MOST_BYTES, SUMS, packed, unpacked
from adaptive.ledger.bundle.checking import Verified, check_strengths, checked, result_csv, strengths_csv, votes_csv
from adaptive.ledger.bundle.contents import Contents, gathered
from adaptive.ledger.bundle.documents import croissant, data_sheet
from adaptive.ledger.bundle.members import data_members, parsed
from adaptive.ledger.campaign.info import CampaignInfo
from adaptive.ledger.errors import BundleError
from adaptive.ledger.store.database import Database
from rankcorr.io.files import write_atomically


def write_bundle(database: Database, info: CampaignInfo, path: str | os.PathLike[str], *, names: bool = False) -> None:
    """Write a campaign as a zip: see `bundle_bytes`.

    Raises
    ------
    BundleError
        If the ledger contradicts itself, or the file cannot be written.
    """
    data = bundle_bytes(database, info, names=names)
    try:
        write_atomically(Path(path), data)
    except OSError as error:
        raise BundleError(f"{os.fspath(path)}: cannot be written: {error.strerror or error}") from error


def bundle_bytes(database: Database, info: CampaignInfo, *, names: bool = False) -> bytes:
    """Return a campaign as a zip; the same campaign gives the same bytes.

    It holds every row of the campaign except the keys, tokens and addresses that only its ledger needs. Its parts are
    items, plan, drawn comparisons, checks, all events, the votes that count and their ranking, a data sheet, Croissant
    metadata, and checksums. The bundle is checked before it is written, as in `verify_bundle`.

    Parameters
    ----------
    names : bool
        Whether to include voters' names, for another ledger with the same people. Without them, the bundle can be
        published, provided that columns of files and reasons that people typed contain no names.

    Raises
    ------
    BundleError
        If the ledger contradicts itself.
    """
    contents = database.read(lambda connection: gathered(connection, info, names=names))
    members = data_members(contents)
    found = checked(contents)
    members |= {"votes.csv": votes_csv(contents), "result.csv": _result(contents, found)}
    members["README.md"] = data_sheet(contents, found)
    members["croissant.json"] = croissant(contents, members)
    return packed(members)


def contents_of(data: bytes, *, most_bytes: int = MOST_BYTES) -> tuple[Contents, dict[str, str]]:
    """Return the contents and members of a bundle's bytes after checking their sums.

    Raises
    ------
    BundleError
        If the data are not a zip of ours, or have a wrong sum. The message names the member and the line.
    """
    members = unpacked(data, most_bytes=most_bytes)
    return parsed(members), members


def verify_bundle(path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> Verified:
    """Check a bundle without a ledger.

    The steps are the sums, the digests of draws and votes, the chain of ballots, and the records. The votes are scored
    again and must reproduce every stored number and the ranking to the last bit. The seed must reproduce the draws and
    the choice among items tied at a cut. The votes that count, the ranking, the data sheet and the metadata are
    regenerated from the other files. `Verified.unchecked` names the rest.

    Raises
    ------
    BundleError
        The message says which part fails, and how.
    """
    return verified(path, most_bytes=most_bytes, strict=True)[1]


def verify_campaign(database: Database, info: CampaignInfo) -> Verified:
    """Check a campaign in its ledger, as `verify_bundle` checks a bundle.

    Raises
    ------
    BundleError
        The message says which part fails, and how.
    """
    contents = database.read(lambda connection: gathered(connection, info, names=False))
    return checked(contents, seed=True)


def verified(path: str | os.PathLike[str], *, most_bytes: int, strict: bool = False) -> tuple[Contents, Verified]:
    """Return the contents of a valid bundle and the outcome of its check.

    If `strict`, the seed must reproduce the draws, and README.md and croissant.json must be as this release writes
    them. Restoring a campaign does not need that: another version of numpy draws other numbers, and another release
    words them differently.
    """
    name, data = _bytes(path, most_bytes)
    try:
        contents, members = contents_of(data, most_bytes=most_bytes)
        found = checked(contents, seed=strict)
        _check_derived(members, "votes.csv", votes_csv(contents))
        if contents.info.mode == "continuous":
            check_strengths(members["result.csv"], _result(contents, found))
        else:
            _check_derived(members, "result.csv", _result(contents, found))
        if strict:
            _check_derived(members, "README.md", data_sheet(contents, found))
            described = {each: text for each, text in members.items() if each not in ("croissant.json", SUMS)}
            _check_derived(members, "croissant.json", croissant(contents, described))
    except BundleError as error:
        raise BundleError(f"{name}: {error}") from error
    except (AdaptiveError, TypeError, KeyError, ValueError, IndexError, AttributeError) as error:
        # Sums and digests are valid, but a value is one that no ledger writes: the bundle is a forgery.
        raise BundleError(f"{name}: has a value that no ledger writes: {error!r}") from error
    return contents, found


def _result(contents: Contents, found: Verified) -> str:
    return strengths_csv(contents) if contents.info.mode == "continuous" else result_csv(contents, found)


def _check_derived(members: Mapping[str, str], name: str, again: str) -> None:
    if members[name] != again:
        raise BundleError(f"{name}: is not what the other files give")


def _bytes(path: str | os.PathLike[str], most_bytes: int) -> tuple[str, bytes]:
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        raise BundleError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > most_bytes:
        raise BundleError(f"{name}: has more than {most_bytes:,} bytes")
    return name, data
