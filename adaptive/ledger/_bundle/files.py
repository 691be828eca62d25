"""Write a campaign as a bundle with its data sheet, verify bundles, and restore campaigns from them."""

import json
import os
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import sqlalchemy as sa

from adaptive._tables import set_columns
from adaptive.errors import AdaptiveError
from adaptive.ledger._ballots.draws import n_checks, store_comparisons
from adaptive.ledger._bundle.checking import (
    Verified,
    check_strengths,
    checked,
    label_cells,
    result_csv,
    strengths_csv,
    votes_csv,
)
from adaptive.ledger._bundle.contents import (
    JSON,
    MOST_BYTES,
    STORED_AS,
    SUMS,
    Contents,
    Row,
    data_members,
    pack,
    parse_contents,
    read_contents,
    unpack,
)
from adaptive.ledger._campaign.transaction import CampaignInfo, OpenCampaign, Transaction, insert_columns, load_campaign
from adaptive.ledger._membership import external_hash
from adaptive.ledger._store import schema
from adaptive.ledger._store.database import Database
from adaptive.ledger._store.schema import ANSWERS, json_of, sha256_of, time_text
from adaptive.ledger._votes.casting import correction_hash, vote_hash
from adaptive.ledger.errors import BundleError
from adaptive.model._prior import OVERSIGHT
from rankcorr._io.source import write_atomically


def write_bundle(campaign: OpenCampaign, path: str | os.PathLike[str], *, names: bool = False) -> None:
    """Write a campaign as a zip; see `Campaign.write_bundle`."""
    data = bundle_bytes(campaign, names=names)
    try:
        write_atomically(Path(path), data)
    except (OSError, UnicodeEncodeError) as error:  # half of a surrogate pair is in no name of a file
        reason = getattr(error, "strerror", None) or error
        raise BundleError(f"{os.fspath(path)}: cannot be written: {reason}") from error


def bundle_bytes(campaign: OpenCampaign, *, names: bool) -> bytes:
    """Return a campaign as a zip; see `Campaign.bundle`."""
    contents = campaign.read(read_contents, names=names)
    members = data_members(contents)
    result = checked(contents)
    members |= {"votes.csv": votes_csv(contents), "result.csv": _result(contents, result)}
    members["README.md"] = data_sheet(contents, result)
    members["croissant.json"] = croissant(contents, members)
    return pack(members)


def contents_of(data: bytes, *, most_bytes: int = MOST_BYTES) -> tuple[Contents, dict[str, str]]:
    """Return the contents and members of a bundle's bytes after checking their sums.

    Raises
    ------
    BundleError
        The data are not a bundle, or have a wrong sum. The message names the member and the line.
    """
    members = unpack(data, most_bytes=most_bytes)
    return parse_contents(members), members


def verify_bundle(path: str | os.PathLike[str], *, most_bytes: int = MOST_BYTES) -> Verified:
    """Check a bundle without a ledger.

    The check covers the sums, the digests of draws and votes, the chain of ballots, and the records. The votes are
    scored again and must reproduce every stored number and the ranking to the last bit. The seed must reproduce the
    draws and the choice among items tied at a cut. The votes that count, the ranking, the data sheet and the metadata
    must follow from the other files. `Verified.unchecked` lists the fields that cannot be checked.

    Raises
    ------
    BundleError
        The message says which part fails, and how.

    See Also
    --------
    Verified : The type of the result.
    Campaign.write_bundle : Writes a bundle.
    Ledger.restore : Restore its campaign.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from adaptive import plan_ballots
    >>> from adaptive.ledger import Ledger, verify_bundle
    >>> plan = plan_ballots(4, n_ballots=2, fraction=0.5, presentations=2)
    >>> ledger = Ledger.in_memory()
    >>> campaign = ledger.new_campaign(plan, ["ash", "fir", "oak", "yew"], voters=["Ann"], seed=1, name="trees")
    >>> with TemporaryDirectory() as folder:
    ...     _ = campaign.write_bundle(f"{folder}/trees.zip")
    ...     verify_bundle(f"{folder}/trees.zip").name
    'trees'
    >>> ledger.close()
    """
    return load_verified(path, most_bytes=most_bytes, strict=True)[1]


def load_verified(path: str | os.PathLike[str], *, most_bytes: int, strict: bool = False) -> tuple[Contents, Verified]:
    """Return the contents of a valid bundle and the outcome of its check.

    If `strict`, the seed must reproduce the draws, and README.md and croissant.json must be exactly as this release
    writes them. Restoring a campaign does not require this: another version of numpy may draw other numbers, and
    another release may write other texts.
    """
    name, data = _read_bytes(path, most_bytes)
    try:
        contents, members = contents_of(data, most_bytes=most_bytes)
        result = checked(contents, seed=strict)
        _check_derived(members, "votes.csv", votes_csv(contents))
        if contents.info.mode == "continuous":
            _check_result(members["result.csv"], contents)
        else:
            _check_derived(members, "result.csv", _result(contents, result))
        if strict:
            _check_derived(members, "README.md", data_sheet(contents, result))
            described = {member: text for member, text in members.items() if member not in ("croissant.json", SUMS)}
            _check_derived(members, "croissant.json", croissant(contents, described))
    except BundleError as error:
        raise BundleError(f"{name}: {error}") from error
    except (AdaptiveError, TypeError, KeyError, ValueError, IndexError, AttributeError) as error:
        # Sums and digests are valid, but no ledger writes this value: the bundle is forged.
        raise BundleError(f"{name}: has a value that no ledger writes: {error!r}") from error
    return contents, result


def _check_result(text: str, contents: Contents) -> None:
    """Raise BundleError if the strengths are those of other votes; early releases fitted a fixed oversight."""
    try:
        check_strengths(text, strengths_csv(contents))
    except BundleError as error:
        try:
            check_strengths(text, strengths_csv(contents, oversight=OVERSIGHT))
        except BundleError:
            raise error from None


def _result(contents: Contents, result: Verified) -> str:
    return strengths_csv(contents) if contents.info.mode == "continuous" else result_csv(contents, result)


def _check_derived(members: Mapping[str, str], name: str, again: str) -> None:
    if members[name] != again:
        raise BundleError(f"{name}: is not what the other files give")


def _read_bytes(path: str | os.PathLike[str], most_bytes: int) -> tuple[str, bytes]:
    name = os.fspath(path)
    try:
        with open(path, "rb") as file:
            data = file.read(most_bytes + 1)
    except (OSError, ValueError) as error:
        raise BundleError(f"{name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > most_bytes:
        raise BundleError(f"{name}: has more than {most_bytes:,} bytes")
    return name, data


def restore_bundle(database: Database, path: str | os.PathLike[str], *, most_bytes: int) -> CampaignInfo:
    """Verify a bundle and restore its campaign in a ledger, in one transaction.

    Voters keep their keys. If the bundle has no names, voters are found only by key. Links that voters had are invalid.

    Raises
    ------
    BundleError
        The bundle is invalid, or the ledger already has the campaign or one of its events.
    """
    contents, _ = load_verified(path, most_bytes=most_bytes)
    key = contents.info.key
    try:
        return database.write(lambda connection: _insert(connection, contents))
    except (KeyError, sa.exc.DataError) as error:
        raise BundleError(f"{os.fspath(path)}: its rows contradict each other, or cannot be stored: {error}") from error
    except sa.exc.IntegrityError as error:
        raise BundleError(
            f"{os.fspath(path)}: the ledger {database.name} has rows of the campaign {key} already, or the "
            f"bundle has one twice: {str(error.orig).splitlines()[0]}"
        ) from error


def _insert(connection: sa.Connection, contents: Contents) -> CampaignInfo:
    campaign, table = contents.campaign, schema.campaign
    if connection.execute(sa.select(table.c.id).where(table.c.key == campaign["key"])).first() is not None:
        raise BundleError(f"the ledger already has the campaign {campaign['key']}")
    slots = campaign["slots"]
    values = {**campaign, "slots": list(range(slots)) if isinstance(slots, int) else slots}
    values = {name: json_of(value) if isinstance(value, dict | list) else value for name, value in values.items()}
    inserted = sa.insert(table).values(**values, hash_key=secrets.token_hex(32)).returning(table.c.id)
    same = {"campaign_id": connection.execute(inserted).scalar_one()}
    _add(connection, schema.item, contents.items, same)
    transaction = Transaction(connection, load_campaign(connection, campaign["key"]))
    _add(connection, schema.voting_pages, _table_rows(contents.pages), same)
    ballots = _insert_ballots(transaction, contents)
    voters = _insert_voters(transaction, contents)
    _add(connection, schema.lease, _table_rows(contents.leases, ballots, voters))
    leases = _lease_ids(transaction, ballots)
    sheets = {
        number: comparisons.sheet.tolist() + [check.sheet for check in contents.checks[number]]
        for number, comparisons in contents.comparisons.items()
    }
    votes = _vote_rows(contents.votes, ballots, voters)
    for row, values in zip(contents.votes, votes, strict=True):
        sheet, fence = sheets[row["ballot"]][row["place"]], values.pop("fence")
        values["lease_id"] = None if fence is None else leases[row["ballot"], sheet, fence]
    _add(connection, schema.vote_event, votes)
    _count_answers(transaction, ballots.values())
    _add(connection, schema.late_vote, _vote_rows(contents.late_votes, ballots, voters))
    _add(connection, schema.audit_event, _table_rows(contents.audit, ballots, voters), same)
    return transaction.info


def _table_rows(
    rows: Sequence[Row], ballots: Mapping[int, int] | None = None, voters: Mapping[str, int] | None = None
) -> list[Row]:
    """Convert rows of a bundle to rows of their table, the reverse of what `read_contents` does."""
    forms: dict[str, Callable[[Any], Any]] = dict.fromkeys(JSON, json_of)
    forms |= {"answer": ANSWERS.__getitem__, "ballot": (ballots or {}).__getitem__, "voter": (voters or {}).__getitem__}
    return [
        {
            STORED_AS.get(name, name): value if value is None or name not in forms else forms[name](value)
            for name, value in row.items()
        }
        for row in rows
    ]


def _vote_rows(rows: Sequence[Row], ballots: Mapping[int, int], voters: Mapping[str, int]) -> list[Row]:
    """Convert votes of a bundle to rows of their table, with the payload hashes for the voters' ids in this ledger."""
    pairs = zip(_table_rows(rows, ballots, voters), rows, strict=True)
    return [{**values, "payload_hash": _payload_hash(row, values["voter_id"])} for values, row in pairs]


def _add(
    connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]], same: Mapping[str, Any] | None = None
) -> None:
    if rows:
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        insert_columns(connection, table, {**(same or {}), **columns})


def _insert_ballots(transaction: Transaction, contents: Contents) -> dict[int, int]:
    ids = {}
    for row in _table_rows(contents.ballots):
        number = row["number"]
        inserted = sa.insert(schema.ballot).values(campaign_id=transaction.info.id, **row)
        ids[number] = transaction.execute(inserted.returning(schema.ballot.c.id)).scalar_one()
        comparisons, slot = contents.comparisons[number], contents.slots[number]
        sheets, first, counts = np.unique(comparisons.sheet, return_index=True, return_counts=True)
        numbers = sheets.tolist()
        columns = {"number": numbers, "slot": slot[first].tolist(), "n_comparisons": counts.tolist()}
        columns["n_checks"] = n_checks(contents.checks[number], numbers)
        insert_columns(transaction.connection, schema.sheet, {"ballot_id": ids[number], **columns})
        store_comparisons(transaction, ids[number], comparisons, contents.checks[number])
    return ids


def _count_answers(transaction: Transaction, ballots: Collection[int]) -> None:
    """Store the numbers of answered comparisons and checks, without practice, of each sheet of these ballots."""
    sheet, pair = schema.sheet, schema.comparison
    of_sheet = sa.select(sa.func.count()).where(pair.c.ballot_id == sheet.c.ballot_id, pair.c.sheet == sheet.c.number)
    answered = of_sheet.where(schema.IS_ANSWERED).correlate(sheet)
    counts = {
        "n_answered": answered.where(pair.c.probe.is_(None)),
        "n_checked": answered.where(pair.c.probe != "practice"),
    }
    values = {name: count.scalar_subquery() for name, count in counts.items()}
    transaction.execute(sa.update(sheet).where(sheet.c.ballot_id.in_(ballots)).values(**values))


def _insert_voters(transaction: Transaction, contents: Contents) -> dict[str, int]:
    names = ("source", "consent_version", "joined_at", "withdrawn_at")
    rows = [
        {
            "key": voter["voter"],
            **{name: voter[name] for name in names},
            "external_hash": None if voter["name"] is None else external_hash(transaction.info, voter["name"]),
        }
        for voter in contents.voters
    ]
    _add(transaction.connection, schema.voter, rows, {"campaign_id": transaction.info.id})
    ids = {key: voter_id for voter_id, key in transaction.voter_keys().items()}
    named = [voter for voter in contents.voters if voter["name"] is not None]
    identities = [{"voter_id": ids[voter["voter"]], "external_id": voter["name"]} for voter in named]
    _add(transaction.connection, schema.voter_identity, identities)
    return ids


def _lease_ids(transaction: Transaction, ballots: Mapping[int, int]) -> dict[tuple[int, int, int], int]:
    """Return the id of each lease, by number of the ballot, sheet and fence."""
    numbers = {ballot_id: number for number, ballot_id in ballots.items()}
    table = schema.lease
    leases = sa.select(table.c.id, table.c.ballot_id, table.c.sheet, table.c.fence)
    rows = transaction.execute(leases.where(table.c.ballot_id.in_(list(numbers))))
    return {(numbers[row.ballot_id], row.sheet, row.fence): row.id for row in rows}


def _payload_hash(row: Row, voter_id: int) -> str:
    number, place = row["ballot"], row["place"]
    if row["given_by"] == "correction":
        return correction_hash(number, place, row["answer"], row["reason"])
    answer = "retract" if row.get("kind") == "retract" else row["answer"]
    return vote_hash(number, place, voter_id, answer)


_FILES: Final = {
    "items.csv": "Items by place, counted from 0: label as JSON, kind and content as shown.",
    "plan.json": "The plan, its seed and settings, and when the campaign was made (microseconds since 1970, UTC).",
    "pages.json": "What voters were shown, version by version: question, instructions, the text they agreed to.",
    "voters.csv": "Voters by random key: where they came from, when they joined and left.",
    "ballots.json": "Ballots: their items, digests, and, once closed, the scores and the items that go on.",
    "comparisons.csv": "Every pair as drawn: id (ballot, sheet, position), slot, places of the items; kind of a check.",
    "events.jsonl": "The raw ledger: leases of sheets, every vote event, late votes, and what organisers did.",
    "votes.csv": "The votes that count: the last event of each comparison, of voters who are not left out.",
    "result.csv": "The ranking after the ballots that are closed; of batches, by Bradley-Terry strengths of the votes.",
    "croissant.json": "Metadata of these files, as Croissant 1.0 has it.",
    SUMS: "SHA-256 of every other file.",
}
_MIME: Final = {"csv": "text/csv", "json": "application/json", "jsonl": "application/jsonlines"}
_SHEET: Final = Path(__file__).with_name("data_sheet.md").read_text("utf-8")
_CONTEXT: Final = json.loads(Path(__file__).with_name("croissant_context.json").read_bytes())


def data_sheet(contents: Contents, verified: Verified) -> str:
    """Return the README of a bundle, in Markdown."""
    info = contents.info
    plan = ", ".join(
        f"{name} {value}" for name, value in contents.campaign["plan"].items() if not isinstance(value, list)
    )
    names = "Their names, addresses and accounts are not in this bundle."
    if any(voter["name"] and not voter["name"].isdecimal() for voter in contents.voters):  # a number is not a name
        names = "The column name of voters.csv says what they are called: keep this file to yourself."
    files = "\n".join(f"| {name} | {text} |" for name, text in _FILES.items())
    kinds = Counter(event["kind"] for event in contents.votes)
    events = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())) or "none"
    return _SHEET.format(
        verified=verified,
        **{name: _one_line(getattr(info, name)) for name in ("name", "key", "mode")},
        day=time_text(info.created_at)[:10],
        plan=_one_line(plan),
        seed=info.seed,
        events=events,
        n_late=len(contents.late_votes),
        n_voters=len(contents.voters),
        n_excluded=len(contents.excluded),
        files=files,
        names=names,
        sums=SUMS,
    )


def croissant(contents: Contents, members: Mapping[str, str]) -> str:
    """Return the Croissant metadata of the data files."""
    info = contents.info
    files = [
        {
            "@type": "cr:FileObject",
            "@id": name,
            "name": name,
            "description": _FILES[name],
            "contentUrl": name,
            "contentSize": f"{len(members[name].encode())} B",
            "encodingFormat": _MIME[name.rsplit(".", 1)[-1]],
            "sha256": sha256_of(members[name]),
        }
        for name in sorted(members)
        if name in _FILES
    ]
    columns, _ = label_cells(contents.labels)
    sided, items = [*columns("left"), *columns("right")], columns("item")
    if info.mode == "continuous":
        scores = {"rank": "Float", "strength": "Float"}
    else:
        counts = ("presentations", "wins", "ties", "losses", "last_ballot")
        scores = {"rank": "Float", "ybar": "Float"} | dict.fromkeys(counts, "Integer")
    grade = {"grade": "Integer"} if info.settings.grades > 1 else {}
    answers = [*sided, "winner"] if info.set_size == 2 else set_columns(info.set_size)
    pairs = {"comparison": "Text", "slot": "Integer", "left_item": "Integer", "right_item": "Integer", "check": "Text"}
    pairs |= dict.fromkeys(set_columns(info.set_size)[2:-2], "Integer")
    sets = [
        _record_set("items", "items.csv", {"place": "Integer", "label": "Text", "kind": "Text"}),
        _record_set("comparisons", "comparisons.csv", pairs),
        _record_set("votes", "votes.csv", dict.fromkeys(("comparison", "voter", *answers), "Text") | grade),
        _record_set("result", "result.csv", dict.fromkeys(items, "Text") | scores),
    ]
    kind = "Pairwise comparisons of" if info.set_size == 2 else f"Best-worst choices among {info.set_size} of"
    metadata = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": info.name,
        "description": f"{kind} {info.n_items:,} items with every vote, and the ranking they give.",
        "identifier": info.key,
        "dateCreated": time_text(info.created_at)[:10],
        **_publication(contents),
        "version": "1.0.0",
        "distribution": files,
        "recordSet": sets,
    }
    return json.dumps(metadata, ensure_ascii=False, indent=1) + "\n"


def _publication(contents: Contents) -> dict[str, str]:
    """Return the citation of the campaign and, once a ballot is closed, the date of publication."""
    info = contents.info
    closed = [ballot["closed_at"] for ballot in contents.ballots if ballot["closed_at"] is not None]
    known = {} if not closed else {"datePublished": time_text(max(closed))[:10]}
    year = time_text(max(closed, default=info.created_at))[:4]
    title = " ".join(info.name.translate({ord("{"): "(", ord("}"): ")", ord("\\"): "/"}).split())
    cite = f"@misc{{campaign-{info.key}, title = {{{title}}}, year = {{{year}}}, note = {{Campaign {info.key}}}}}"
    return {**known, "citeAs": cite}


def _record_set(name: str, file: str, columns: Mapping[str, str]) -> dict[str, Any]:
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column}",
            "name": column,
            "dataType": f"sc:{kind}",
            "source": {"fileObject": {"@id": file}, "extract": {"column": column}},
        }
        for column, kind in columns.items()
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields}


def _one_line(text: str) -> str:
    """Return a text on one line, escaped for a cell of a Markdown table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
