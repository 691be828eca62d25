"""Convert a campaign to the files of a bundle and back, with keys and numbers that are valid in any database."""

import csv
import io
import json
import re
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NoReturn

import numpy as np
import sqlalchemy as sa
from numpy.typing import NDArray

from adaptive._plan import LEAST_SET, MOST_SET
from adaptive._tables import csv_text, guarded
from adaptive.errors import AdaptiveError, VoteError
from adaptive.ledger._ballots.stored import DrawnColumns, Probe, StoredBallot, ballot_probes, drawn_with_slots
from adaptive.ledger._campaign.content import PRIVATE, ItemContent, VotingPages
from adaptive.ledger._campaign.transaction import CampaignInfo, Transaction
from adaptive.ledger._store import schema
from adaptive.ledger._store.schema import answer_name, json_of, label_of, pair_at, pair_id, sha256_of
from adaptive.ledger.errors import BundleError
from rankcorr._checks import repeated, shown
from rankcorr._input.numbers import LARGEST_EXACT
from rankcorr._io.table import unguarded

Array = NDArray[np.int64]
Row = dict[str, Any]

_ANSWER: Final = ("answer", "response_ms", "given_by", "layout", "extra", "received_at")
# The columns of each part of a bundle, in their order.
COLUMNS: Final = {
    "campaign": ("key", "name", "mode", "plan", "slots", "seed", "settings", "created_at"),
    "item": ("place", "label", "kind", "content", "alt_text"),
    "pages": ("version", "at", "pages"),
    "ballot": (
        *("number", "kind", "state", "places", "presentations", "n_comparisons", "draw_digest"),
        *("opened_at", "closed_at", "record", "votes_digest", "chain_digest"),
    ),
    "voter": ("voter", "source", "name", "consent_version", "joined_at", "withdrawn_at"),
    "lease": ("ballot", "voter", "sheet", "fence", "exclusive", "given_at", "expires_at", "ended_at", "end_reason"),
    "vote": ("event_id", "ballot", "place", "voter", "revision", "kind", "reason", *_ANSWER, "fence"),
    "late_vote": ("event_id", "ballot", "place", "voter", "revision", "why", *_ANSWER),
    "audit": ("at", "kind", "ballot", "voter", "details"),
}
JSON: Final = ("plan", "settings", "pages", "places", "record", "extra", "details")  # stored as text
STORED_AS: Final = {"ballot": "ballot_id", "voter": "voter_id"}  # a number or key in a bundle is an id in a ledger


@dataclass(frozen=True, eq=False)
class Contents:
    """The rows of a campaign.

    Attributes
    ----------
    campaign : dict
        Key, name, mode, plan, slots, seed, settings and time of creation.
    items, pages, ballots, voters, leases, votes, late_votes, audit : list of dict
        Rows in their order. Ballots are identified by number, voters by random key. `votes` include those on checks.
    comparisons : dict of int to DrawnColumns
        Scored comparisons, by number of the ballot.
    slots : dict of int to ndarray
        Slot of each comparison.
    checks : dict of int to list of Probe
        Checks, by number of the ballot; their places follow those of the comparisons.
    """

    campaign: Row
    items: Sequence[Row]
    pages: Sequence[Row]
    ballots: Sequence[Row]
    comparisons: Mapping[int, DrawnColumns]
    slots: Mapping[int, Array]
    checks: Mapping[int, Sequence[Probe]]
    voters: Sequence[Row]
    leases: Sequence[Row]
    votes: Sequence[Row]
    late_votes: Sequence[Row]
    audit: Sequence[Row]

    @cached_property
    def labels(self) -> tuple[Hashable, ...]:
        """Labels of the items, by place."""
        return tuple(label_of(item["label"]) for item in self.items)

    @cached_property
    def info(self) -> CampaignInfo:
        """The campaign as the ledger's functions expect it, without an id or a secret."""
        return CampaignInfo.from_dict(self.campaign, self.labels)

    @cached_property
    def stored_ballots(self) -> tuple[StoredBallot, ...]:
        """The ballots as the ledger's functions expect them."""
        return tuple(StoredBallot.from_dict(ballot) for ballot in self.ballots)

    @cached_property
    def excluded(self) -> frozenset[str]:
        """Keys of the voters who are excluded now."""
        last = {row["voter"]: row["kind"] for row in self.audit if row["kind"] in ("excluded", "included")}
        return frozenset(key for key, kind in last.items() if kind == "excluded")


def read_contents(transaction: Transaction, *, names: bool) -> Contents:
    """Read all rows of a campaign in one transaction.

    Without `names`, slots are numbers and voters have no names, unless the slots are numbered anyway. The pages then
    lack the study, the codes for a platform and the completion address.
    """

    def of_campaign(table: sa.Table, by: str = "id") -> sa.Select[Any]:
        return sa.select(table).where(transaction.of_campaign(table)).order_by(table.c[by])

    def rows(query: sa.Select[Any], columns: Sequence[str]) -> list[Row]:
        """Return rows as a bundle has them: answers as words, ballots by number, voters by key, JSON decoded."""
        read = [(name, STORED_AS.get(name, name), forms.get(name)) for name in columns]
        result = []
        for row in transaction.execute(query).mappings():
            cells = ((name, row[column], form) for name, column, form in read)
            result.append({name: cell if form is None or cell is None else form(cell) for name, cell, form in cells})
        return result

    def of_ballots(table: sa.Table) -> sa.Select[Any]:
        return sa.select(table).where(table.c.ballot_id.in_(list(ids))).order_by(table.c.id)

    numbered = list(transaction.info.slots) == list(range(len(transaction.info.slots)))
    ids: dict[int, int] = {}
    keys: dict[int, str] = {}
    forms: dict[str, Callable[[Any], Any]] = dict.fromkeys(JSON, json.loads)
    forms |= {"answer": answer_name, "ballot": ids.__getitem__, "voter": keys.__getitem__}
    ballots = rows(of_campaign(schema.ballot, "number"), ("id", *COLUMNS["ballot"]))
    ids |= {row.pop("id"): row["number"] for row in ballots}
    for row in ballots:
        if row["state"] == "closing":
            row["state"] = "open"  # a closer at work has not written anything yet
    voters = _voters(transaction, names=names, numbered=numbered)
    keys |= {row.pop("id"): row["voter"] for row in voters}
    comparisons, slots, checks = {}, {}, {}
    for ballot_id, number in ids.items():
        comparisons[number], slots[number] = drawn_with_slots(transaction, ballot_id)
        checks[number] = ballot_probes(transaction, ballot_id)
    own_columns = [name for name in COLUMNS["campaign"] if name != "slots"]
    (campaign,) = rows(sa.select(schema.campaign).where(schema.campaign.c.id == transaction.info.id), own_columns)
    named = [list(slot) if isinstance(slot, tuple) else slot for slot in transaction.info.slots]
    hidden = {} if names else dict.fromkeys(PRIVATE)
    pages = rows(of_campaign(schema.voting_pages, "version"), COLUMNS["pages"])
    lease, vote = schema.lease, schema.vote_event
    joined = vote.outerjoin(lease, lease.c.id == vote.c.lease_id)
    votes = of_ballots(vote).add_columns(lease.c.fence).select_from(joined)
    return Contents(
        campaign={**campaign, "slots": named if names and not numbered else len(transaction.info.slots)},
        items=rows(of_campaign(schema.item, "place"), COLUMNS["item"]),
        pages=[{**row, "pages": {**row["pages"], **hidden}} for row in pages],
        ballots=ballots,
        comparisons=comparisons,
        slots=slots,
        checks=checks,
        voters=voters,
        leases=rows(of_ballots(lease), COLUMNS["lease"]),
        votes=rows(votes, COLUMNS["vote"]),
        late_votes=rows(of_ballots(schema.late_vote), COLUMNS["late_vote"]),
        audit=rows(of_campaign(schema.audit_event), COLUMNS["audit"]),
    )


def _voters(transaction: Transaction, *, names: bool, numbered: bool) -> list[Row]:
    voter, identity = schema.voter, schema.voter_identity
    voters = sa.select(voter, identity.c.external_id).select_from(voter.outerjoin(identity))
    rows = transaction.execute(voters.where(transaction.of_campaign(voter)).order_by(voter.c.id))
    slots = {str(slot) for slot in transaction.info.slots} if numbered else set()
    result = []
    for row in rows.mappings():
        is_slot = row["source"] == "file" and row["external_id"] in slots
        name = row["external_id"] if names or is_slot else None
        columns = {column: row[column] for column in ("id", "source", "consent_version", "joined_at", "withdrawn_at")}
        result.append({**columns, "voter": row["key"], "name": name})
    return result


SUMS: Final = "SHA256SUMS"
MOST_BYTES: Final = 2**30
# Largest sizes of files; events.jsonl has only the limit of the whole zip. A million votes need 300 MB of events and
# 30 MB of comparisons.
_MOST_OF: Final = {
    SUMS: 2**16,
    **dict.fromkeys(("README.md", "croissant.json"), 2**20),
    **dict.fromkeys(("plan.json", "pages.json"), 2**24),
    **dict.fromkeys(("ballots.json", "items.csv", "result.csv", "voters.csv", "comparisons.csv", "votes.csv"), 2**28),
}
NAMES: Final = tuple(sorted([*_MOST_OF, "events.jsonl"]))
_TIME: Final = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
_ENCRYPTED: Final = 0x1


def pack(members: Mapping[str, str]) -> bytes:
    """Return a zip of the members and of their sums."""
    sums = "".join(f"{sha256_of(members[name])}  {name}\n" for name in sorted(members))
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted({**members, SUMS: sums}.items()):
            entry = zipfile.ZipInfo(name, _TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, wherever it is written
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text.encode())
    return file.getvalue()


def unpack(data: bytes, *, most_bytes: int) -> dict[str, str]:
    """Return the members of a zip after checking their sums.

    Nothing is written to disk, and nothing is decompressed before all names and sizes are checked.

    Raises
    ------
    BundleError
        The data are not a zip; a member is missing, unexpected, repeated, encrypted, or compressed by another method;
        the total size exceeds `most_bytes`, or a file the limit for its name; text is not UTF-8; or a sum is wrong.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_entries(archive.infolist(), most_bytes)
            members = {entry.filename: _read_text(archive, entry) for entry in archive.infolist()}
    except BundleError:
        raise
    # zipfile raises NotImplementedError for an unknown compression.
    except (zipfile.BadZipFile, NotImplementedError, EOFError, OSError, ValueError) as error:
        raise BundleError(f"not a zip that can be read: {error}") from error
    _check_sums(members)
    return members


def _check_entries(entries: list[zipfile.ZipInfo], most_bytes: int) -> None:
    names = [entry.filename for entry in entries]
    again = repeated(names)
    if again:
        raise BundleError(f"the zip must have each file once; it has {shown(again[0])} twice")
    for entry in entries:
        if entry.filename not in NAMES:
            raise BundleError(f"the zip has {shown(entry.filename)}, which no bundle has")
        if entry.flag_bits & _ENCRYPTED:
            raise BundleError(f"{entry.filename}: is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BundleError(f"{entry.filename}: is compressed by another method than deflate")
        most = _MOST_OF.get(entry.filename, most_bytes)
        if entry.file_size > most:
            raise BundleError(f"{entry.filename}: has {entry.file_size:,} bytes; at most {most:,} are read")
    missing = [name for name in NAMES if name not in names]
    if missing:
        raise BundleError(f"the zip lacks {', '.join(missing)}")
    size = sum(entry.file_size for entry in entries)
    if size > most_bytes:
        raise BundleError(f"the zip holds {size:,} bytes; at most {most_bytes:,} are read")


def _read_text(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> str:
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
    sums = {name: sha256_of(text) for name, text in members.items() if name != SUMS}
    stated_sums = {}
    for line in members[SUMS].splitlines():
        digest, _, name = line.partition("  ")
        if name not in sums or name in stated_sums:
            raise BundleError(f"{SUMS}: has a line for {shown(name)}, which is unknown or repeated")
        stated_sums[name] = digest
    for name, digest in sorted(sums.items()):
        if name not in stated_sums:
            raise BundleError(f"{SUMS}: has no line for {name}")
        if stated_sums[name] != digest:
            raise BundleError(f"{name}: does not have the sum that {SUMS} gives: it was changed or damaged")


BALLOTS_FORMAT: Final = "adaptive.ledger._bundle"
BALLOTS_VERSION: Final = 2

_Types = Mapping[str, tuple[type, ...]]
# Columns whose type in a bundle differs from that in their table.
_TYPES: Final = {**dict.fromkeys(JSON, dict), "places": list, "voter": str, "answer": str}


def _types(table: sa.Table, names: Sequence[str]) -> _Types:
    columns = {name: table.c[STORED_AS.get(name, name)] for name in names}
    types = {name: (_TYPES.get(name, column.type.python_type),) for name, column in columns.items()}
    return {name: (*types[name], type(None)) if columns[name].nullable else types[name] for name in names}


_CAMPAIGN: Final = {**_types(schema.campaign, COLUMNS["campaign"]), "slots": (int, list)}
_PAGES: Final = _types(schema.voting_pages, COLUMNS["pages"])
_BALLOT: Final = _types(schema.ballot, COLUMNS["ballot"])
_LINES: Final[dict[str, _Types]] = {
    "lease": _types(schema.lease, COLUMNS["lease"]),
    "vote": {**_types(schema.vote_event, COLUMNS["vote"][:-1]), "fence": (int, type(None))},
    "late_vote": _types(schema.late_vote, COLUMNS["late_vote"]),
    "audit": _types(schema.audit_event, COLUMNS["audit"]),
}
_ITEM_COLUMNS: Final = dict.fromkeys(COLUMNS["item"], str) | {"place": int}
_VOTER_COLUMNS: Final = dict.fromkeys(COLUMNS["voter"], str) | {"joined_at": int, "withdrawn_at": int}
_FEW: Final = frozenset({"voter", "kind", "answer", "given_by", "layout", "why"})
_NEEDED: Final = ("place", "label", "kind", "voter", "source", "joined_at")
_QUOTES: Final = re.compile('(?:"")*')
# A row with a value in `check` is a check; the columns after it apply only to checks.
_COMPARISON_COLUMNS: Final = ("comparison", "slot", "left_item", "right_item", "check", "expected", "repeats")


def _comparison_columns(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the columns of comparisons.csv; sets have a further column for each item after the second."""
    size = plan.get("set_size", 2)
    if type(size) is not int or not (size == 2 or LEAST_SET <= size <= MOST_SET):
        raise BundleError("plan.json: set_size of the plan is out of range")
    return _COMPARISON_COLUMNS + tuple(f"item_{number}" for number in range(3, size + 1))


def data_members(contents: Contents) -> dict[str, str]:
    """Return the content of the files that hold the campaign, by name."""
    of_kinds = zip(_LINES, (contents.leases, contents.votes, contents.late_votes, contents.audit), strict=True)
    lines = (json_of({"type": kind, **row}) + "\n" for kind, rows in of_kinds for row in rows)
    ballots = {"format": BALLOTS_FORMAT, "version": BALLOTS_VERSION, "ballots": list(contents.ballots)}
    return {
        "plan.json": _indented_json(contents.campaign),
        "items.csv": _csv_of_rows(_ITEM_COLUMNS, contents.items),
        "pages.json": _indented_json(list(contents.pages)),
        "voters.csv": _csv_of_rows(_VOTER_COLUMNS, contents.voters),
        "ballots.json": _indented_json(ballots),
        "comparisons.csv": _csv_of_comparisons(contents),
        "events.jsonl": "".join(lines),
    }


def parse_contents(members: Mapping[str, str]) -> Contents:
    """Return the contents of the files of `data_members`.

    Raises
    ------
    BundleError
        The text is not exactly as `data_members` writes it; the message names the file and the line.
    """
    campaign, ballots = (_parse_json(members[name], name) for name in ("plan.json", "ballots.json"))
    _check_types("plan.json", campaign, _CAMPAIGN)
    if not isinstance(ballots, dict) or ballots.get("format") != BALLOTS_FORMAT:
        raise BundleError(f"ballots.json: the format {BALLOTS_FORMAT!r} is expected")
    if ballots.get("version") != BALLOTS_VERSION or type(ballots["version"]) is not int:
        raise BundleError(f"ballots.json: this release reads version {BALLOTS_VERSION}; got {ballots.get('version')!r}")
    _check_types("ballots.json", ballots, {"format": (str,), "version": (int,), "ballots": (list,)})
    for place, ballot in enumerate(ballots["ballots"]):
        _check_types(f"ballots.json: ballots[{place}]", ballot, _BALLOT)
        if any(type(item) is not int for item in ballot["places"]):
            raise BundleError(f"ballots.json: ballots[{place}]: places must be whole numbers")
    rows = _parse_events(members["events.jsonl"])
    comparisons, slots, checks = _parse_comparisons(members, campaign["plan"])
    contents = Contents(
        campaign=campaign,
        items=_parse_items(members),
        pages=_parse_pages(members),
        ballots=ballots["ballots"],
        comparisons=comparisons,
        slots=slots,
        checks=checks,
        voters=_parse_rows(members, "voters.csv", _VOTER_COLUMNS),
        leases=rows["lease"],
        votes=rows["vote"],
        late_votes=rows["late_vote"],
        audit=rows["audit"],
    )
    again = data_members(contents)
    for name, text in again.items():
        if members[name] != text:
            raise BundleError(
                f"{name}: is not in the form of a bundle: {_first_difference(members[name], text)} differs"
            )
    return contents


def _parse_items(members: Mapping[str, str]) -> list[Row]:
    rows = _parse_rows(members, "items.csv", _ITEM_COLUMNS)
    for number, row in enumerate(rows, start=1):
        try:
            ItemContent(row["kind"], row["content"], row["alt_text"])
        except AdaptiveError as error:
            raise BundleError(f"items.csv: row {number}: {error}") from error
    return rows


def _parse_pages(members: Mapping[str, str]) -> list[Row]:
    rows = _parse_json(members["pages.json"], "pages.json")
    if not isinstance(rows, list):
        raise BundleError("pages.json: a list is expected")
    for place, row in enumerate(rows):
        where = f"pages.json: [{place}]"
        _check_types(where, row, _PAGES)
        if row["version"] != place + 1:
            raise BundleError(f"{where}: version {place + 1} is missing")
        try:
            VotingPages.from_dict(row["pages"])
        except (AdaptiveError, KeyError, TypeError, ValueError) as error:
            raise BundleError(f"{where}: not valid voting pages: {error}") from error
    return rows


def _indented_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1) + "\n"


def _csv_of_rows(columns: Mapping[str, type], rows: Sequence[Row]) -> str:
    return csv_text(list(columns), ([_cell(name, row[name]) for name in columns] for row in rows))


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    # An empty cell means no value. Empty text is written as two quotes, so text of only pairs of quotes gets two more.
    return text + '""' if column not in _NEEDED and _QUOTES.fullmatch(text) else guarded(text)


def _csv_of_comparisons(contents: Contents) -> str:
    rows: list[Sequence[Any]] = []
    for number, comparisons in sorted(contents.comparisons.items()):
        sheets, slots = comparisons.sheet.tolist(), contents.slots[number].tolist()
        columns = zip(sheets, comparisons.position.tolist(), slots, comparisons.items.tolist(), strict=True)
        rows += [
            (pair_id(number, sheet, position), slot, left, right, "", "", "", *other_items)
            for sheet, position, slot, (left, right, *other_items) in columns
        ]
        slot_of = dict(zip(sheets, slots, strict=True))
        rows += [
            (
                *(pair_id(number, check.sheet, check.position), slot_of.get(check.sheet, ""), check.left, check.right),
                *(check.kind, _cell("expected", check.expected), _cell("repeats", check.repeats)),
            )
            for check in contents.checks[number]
        ]
    return csv_text(_comparison_columns(contents.campaign["plan"]), rows)


def _parse_json(text: str, where: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise BundleError(f"{where}: {constant} is not a number of JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: cannot be read as JSON: {error}") from error


def _parse_events(text: str) -> dict[str, list[Row]]:
    """Return the rows of events.jsonl by type."""
    rows_by_kind: dict[str, list[Row]] = {kind: [] for kind in _LINES}
    same: dict[Any, Any] = {}
    for number, line in enumerate(_split_lines(text), start=1):
        where = f"events.jsonl:{number}"
        row = _parse_json(line, where)
        kind = row.pop("type", None) if isinstance(row, dict) else None
        if not isinstance(kind, str) or kind not in rows_by_kind:
            raise BundleError(f"{where}: an object of one of the types {', '.join(_LINES)} is expected")
        types = _LINES[kind]
        _check_types(where, row, types)
        # Share one object for each name and each voter key: separate ones for 400,000 lines would take half a gigabyte.
        rows_by_kind[kind].append(
            {key: same.setdefault(row[key], row[key]) if key in _FEW else row[key] for key in types}
        )
    return rows_by_kind


def _split_lines(text: str) -> Iterator[str]:
    """Yield lines without line ends; a list of the 300 million empty lines that fit in a file would take 2 GB."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1


def _check_types(where: str, row: Any, types: _Types) -> None:
    if not isinstance(row, dict):
        raise BundleError(f"{where}: an object is expected")
    if set(row) != set(types):
        odd = sorted(set(row) ^ set(types))
        raise BundleError(f"{where}: missing or unknown: {', '.join(map(repr, odd[:5]))}")
    for name, kinds in types.items():
        if type(row[name]) not in kinds:
            names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in kinds)
            raise BundleError(f"{where}: {name} must be of type {names}")
        if type(row[name]) is int and abs(row[name]) >= LARGEST_EXACT:  # exact in JSON, and enough for times to 2255
            raise BundleError(f"{where}: {name} is too large")


def _parse_csv(members: Mapping[str, str], name: str, columns: Sequence[str]) -> list[list[str]]:
    rows = csv.reader((line + "\n" for line in _split_lines(members[name])), strict=True)
    records: list[list[str]] = []
    try:
        if next(rows, None) != list(columns):
            raise BundleError(f"{name}: the columns {', '.join(columns)} are expected")
        for number, row in enumerate(rows, start=1):
            if len(row) != len(columns):
                raise BundleError(f"{name}: row {number} must have {len(columns)} cells")
            records.append(row)
    except csv.Error as error:
        raise BundleError(f"{name}: cannot be read as CSV: {error}") from error
    return records


def _parse_rows(members: Mapping[str, str], name: str, columns: Mapping[str, type]) -> list[Row]:
    result = []
    for number, row in enumerate(_parse_csv(members, name, list(columns)), start=1):
        cells = zip(columns.items(), row, strict=True)
        result.append({column: _parse_cell(name, number, column, kind, cell) for (column, kind), cell in cells})
    return result


def _parse_cell(name: str, number: int, column: str, kind: Callable[[str], Any], cell: str) -> Any:
    if column not in _NEEDED:
        if cell == "":
            return None
        cell = cell[2:] if _QUOTES.fullmatch(cell) else cell
    try:
        return kind(unguarded(cell))
    except ValueError as error:
        raise BundleError(f"{name}: row {number}: {column} must be a whole number") from error


def _parse_comparisons(
    members: Mapping[str, str], plan: Mapping[str, Any]
) -> tuple[dict[int, DrawnColumns], dict[int, Any], dict[int, list[Probe]]]:
    by_ballot: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
    checks: defaultdict[int, list[Probe]] = defaultdict(list)
    name = "comparisons.csv"
    columns = _comparison_columns(plan)
    for row, (pair, *cells) in enumerate(_parse_csv(members, name, columns), start=1):
        (kind, expected, repeats), others = cells[3:6], cells[6:]
        try:
            ballot, sheet, position = pair_at(pair)
            slot, left, right = map(int, cells[:3])
            other_items = tuple(map(int, others))
            answer, again = (None if cell == "" else int(cell) for cell in (expected, repeats))
        except (VoteError, ValueError) as error:
            raise BundleError(f"{name}: row {row}: an id like 2-0-17 and whole numbers are expected") from error
        if not all(0 <= value < 2**31 for value in (slot, left, right, again or 0, *other_items)):
            raise BundleError(f"{name}: row {row}: a number is out of range")
        if kind:
            checks[ballot].append(Probe(sheet, position, kind, left, right, answer, again))
        elif checks[ballot]:
            raise BundleError(f"{name}: row {row}: the checks of a ballot come after its other comparisons")
        else:
            by_ballot[ballot].append((sheet, position, slot, left, right, *other_items))
    comparisons, slots = {}, {}
    for ballot, rows in by_ballot.items():
        table = np.array(rows, np.int64)
        sheets, positions, slots[ballot] = table[:, :3].T
        comparisons[ballot] = DrawnColumns(sheets, positions, table[:, 3:])
    return comparisons, slots, {ballot: checks[ballot] for ballot in by_ballot}


def _first_difference(text: str, expected: str) -> str:
    lines = zip(_split_lines(text), _split_lines(expected), strict=False)
    number = next((at for at, (one, other) in enumerate(lines, start=1) if one != other), None)
    return "its end" if number is None else f"line {number}"
