"""Convert a bundle's contents to text files and back; reading is exact, or raises an error that names the file."""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np
import sqlalchemy as sa

from adaptive._tables import csv_text, guarded
from adaptive.errors import AdaptiveError, VoteError
from adaptive.ledger._ballots.stored import DrawnColumns, Probe
from adaptive.ledger._bundle.contents import COLUMNS, JSON, STORED_AS, Contents, Row
from adaptive.ledger._campaign.stored import ItemContent
from adaptive.ledger._campaign.voting_pages import VotingPages
from adaptive.ledger._store import schema
from adaptive.ledger._store.encoding import json_of, pair_at, pair_id
from adaptive.ledger.errors import BundleError
from rankcorr._input.numbers import LARGEST_EXACT
from rankcorr._io.table import unguarded

BALLOTS_FORMAT: Final = "adaptive.ledger._bundle"
BALLOTS_VERSION: Final = 2

_Types = Mapping[str, tuple[type, ...]]
# Columns whose type in a bundle is not that of their table.
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


def data_members(contents: Contents) -> dict[str, str]:
    """Return the texts of the files that hold the campaign, by name."""
    of_kinds = zip(_LINES, (contents.leases, contents.votes, contents.late_votes, contents.audit), strict=True)
    lines = (json_of({"type": kind, **row}) + "\n" for kind, rows in of_kinds for row in rows)
    ballots = {"format": BALLOTS_FORMAT, "version": BALLOTS_VERSION, "ballots": list(contents.ballots)}
    return {
        "plan.json": _pretty(contents.campaign),
        "items.csv": _table(_ITEM_COLUMNS, contents.items),
        "pages.json": _pretty(list(contents.pages)),
        "voters.csv": _table(_VOTER_COLUMNS, contents.voters),
        "ballots.json": _pretty(ballots),
        "comparisons.csv": _comparisons(contents),
        "events.jsonl": "".join(lines),
    }


def parsed(members: Mapping[str, str]) -> Contents:
    """Return the contents of the files of `data_members`.

    Raises
    ------
    BundleError
        If the text is not as `data_members` writes it; the message gives the file and the line.
    """
    campaign, ballots = _json(members, "plan.json"), _json(members, "ballots.json")
    _check("plan.json", campaign, _CAMPAIGN)
    if not isinstance(ballots, dict) or ballots.get("format") != BALLOTS_FORMAT:
        raise BundleError(f"ballots.json: the format {BALLOTS_FORMAT!r} is expected")
    if ballots.get("version") != BALLOTS_VERSION or type(ballots["version"]) is not int:
        raise BundleError(f"ballots.json: this release reads version {BALLOTS_VERSION}; got {ballots.get('version')!r}")
    _check("ballots.json", ballots, {"format": (str,), "version": (int,), "ballots": (list,)})
    for place, ballot in enumerate(ballots["ballots"]):
        _check(f"ballots.json: ballots[{place}]", ballot, _BALLOT)
        if any(type(each) is not int for each in ballot["places"]):
            raise BundleError(f"ballots.json: ballots[{place}]: places must be whole numbers")
    rows = _json_lines(members, "events.jsonl")
    drawn, slots, checks = _parsed_comparisons(members)
    found = Contents(
        campaign=campaign,
        items=_parsed_items(members),
        pages=_parsed_pages(members),
        ballots=ballots["ballots"],
        drawn=drawn,
        slots=slots,
        checks=checks,
        voters=_cells(members, "voters.csv", _VOTER_COLUMNS),
        leases=rows["lease"],
        votes=rows["vote"],
        late_votes=rows["late_vote"],
        audit=rows["audit"],
    )
    again = data_members(found)
    for name, text in again.items():
        if members[name] != text:
            raise BundleError(f"{name}: is not written as a bundle is: {_first_difference(members[name], text)}")
    return found


def _parsed_items(members: Mapping[str, str]) -> list[Row]:
    rows = _cells(members, "items.csv", _ITEM_COLUMNS)
    for number, row in enumerate(rows, start=1):
        try:
            ItemContent(row["kind"], row["content"], row["alt_text"])
        except AdaptiveError as error:
            raise BundleError(f"items.csv: row {number}: {error}") from error
    return rows


def _parsed_pages(members: Mapping[str, str]) -> list[Row]:
    rows = _json(members, "pages.json")
    if not isinstance(rows, list):
        raise BundleError("pages.json: a list is expected")
    for place, row in enumerate(rows):
        where = f"pages.json: [{place}]"
        _check(where, row, _PAGES)
        if row["version"] != place + 1:
            raise BundleError(f"{where}: version {place + 1} is missing")
        try:
            VotingPages.from_dict(row["pages"])
        except (AdaptiveError, KeyError, TypeError, ValueError) as error:
            raise BundleError(f"{where}: these are not valid voting pages: {error}") from error
    return rows


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, indent=1) + "\n"


def _table(columns: Mapping[str, type], rows: Sequence[Row]) -> str:
    return csv_text(list(columns), ([_cell(name, row[name]) for name in columns] for row in rows))


def _cell(column: str, value: Any) -> str:
    if value is None:
        return ""
    text = str(value)
    # An empty cell means no value; empty text, and text made only of pairs of quotes, gets two more quotes.
    return text + '""' if column not in _NEEDED and _QUOTES.fullmatch(text) else guarded(text)


def _comparisons(contents: Contents) -> str:
    rows: list[Sequence[Any]] = []
    for number, drawn in sorted(contents.drawn.items()):
        sheets, slots = drawn.sheet.tolist(), contents.slots[number].tolist()
        columns = zip(sheets, drawn.position.tolist(), slots, drawn.left.tolist(), drawn.right.tolist(), strict=True)
        rows += [(pair_id(number, sheet, position), *cells, "", "", "") for sheet, position, *cells in columns]
        slot_of = dict(zip(sheets, slots, strict=True))
        rows += [
            (
                *(pair_id(number, check.sheet, check.position), slot_of.get(check.sheet, ""), check.left, check.right),
                *(check.kind, _cell("expected", check.expected), _cell("repeats", check.repeats)),
            )
            for check in contents.checks[number]
        ]
    return csv_text(_COMPARISON_COLUMNS, rows)


def _json(members: Mapping[str, str], name: str, text: str | None = None, line: int | None = None) -> Any:
    where = name if line is None else f"{name}:{line}"

    def refused(constant: str) -> NoReturn:
        raise BundleError(f"{where}: {constant} is not a number of JSON")

    try:
        return json.loads(members[name] if text is None else text, parse_constant=refused)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{where}: cannot be read as JSON: {error}") from error


def _json_lines(members: Mapping[str, str], name: str) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {kind: [] for kind in _LINES}
    same: dict[Any, Any] = {}
    for number, line in enumerate(_split(members[name]), start=1):
        row = _json(members, name, line, number)
        kind = row.pop("type", None) if isinstance(row, dict) else None
        if not isinstance(kind, str) or kind not in found:
            raise BundleError(f"{name}:{number}: an object of one of the types {', '.join(_LINES)} is expected")
        types = _LINES[kind]
        _check(f"{name}:{number}", row, types)
        # Share one object for each name and each voter key: separate ones for 400,000 lines would take half a gigabyte.
        found[kind].append({key: same.setdefault(row[key], row[key]) if key in _FEW else row[key] for key in types})
    return found


def _split(text: str) -> Iterator[str]:
    """Yield lines without their ends, one by one: 300 million empty lines in a list would take 2 GB."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start:end]
        start = end + 1


def _check(where: str, row: Any, types: _Types) -> None:
    if not isinstance(row, dict):
        raise BundleError(f"{where}: an object is expected")
    if set(row) != set(types):
        odd = sorted(set(row) ^ set(types))
        raise BundleError(f"{where}: missing or unknown: {', '.join(map(repr, odd[:5]))}")
    for name, wanted in types.items():
        if type(row[name]) not in wanted:
            names = " or ".join("null" if kind is type(None) else kind.__name__ for kind in wanted)
            raise BundleError(f"{where}: {name} must be of type {names}")
        if type(row[name]) is int and abs(row[name]) >= LARGEST_EXACT:  # exact in JSON, and enough for times to 2255
            raise BundleError(f"{where}: {name} is too large")


def _records(members: Mapping[str, str], name: str, columns: Sequence[str]) -> list[list[str]]:
    rows = csv.reader((line + "\n" for line in _split(members[name])), strict=True)
    found: list[list[str]] = []
    try:
        if next(rows, None) != list(columns):
            raise BundleError(f"{name}: the columns {', '.join(columns)} are expected")
        for number, row in enumerate(rows, start=1):
            if len(row) != len(columns):
                raise BundleError(f"{name}: row {number} must have {len(columns)} cells")
            found.append(row)
    except csv.Error as error:
        raise BundleError(f"{name}: cannot be read as CSV: {error}") from error
    return found


def _cells(members: Mapping[str, str], name: str, columns: Mapping[str, type]) -> list[Row]:
    found = []
    for number, row in enumerate(_records(members, name, list(columns)), start=1):
        cells = zip(columns.items(), row, strict=True)
        found.append({column: _value(name, number, column, kind, cell) for (column, kind), cell in cells})
    return found


def _value(name: str, number: int, column: str, kind: Callable[[str], Any], cell: str) -> Any:
    if column not in _NEEDED:
        if cell == "":
            return None
        cell = cell[2:] if _QUOTES.fullmatch(cell) else cell
    try:
        return kind(unguarded(cell))
    except ValueError as error:
        raise BundleError(f"{name}: row {number}: {column} must be a whole number") from error


def _parsed_comparisons(
    members: Mapping[str, str],
) -> tuple[dict[int, DrawnColumns], dict[int, Any], dict[int, list[Probe]]]:
    by_ballot: defaultdict[int, list[tuple[int, ...]]] = defaultdict(list)
    checks: defaultdict[int, list[Probe]] = defaultdict(list)
    name = "comparisons.csv"
    for row, (pair, *cells, kind, expected, repeats) in enumerate(
        _records(members, name, _COMPARISON_COLUMNS), start=1
    ):
        try:
            ballot, sheet, position = pair_at(pair)
            slot, left, right = map(int, cells)
            wanted, again = (None if cell == "" else int(cell) for cell in (expected, repeats))
        except (VoteError, ValueError) as error:
            raise BundleError(f"{name}: row {row}: an id like 2-0-17 and whole numbers are expected") from error
        if not all(0 <= each < 2**31 for each in (slot, left, right, again or 0)):
            raise BundleError(f"{name}: row {row}: a number is out of range")
        if kind:
            checks[ballot].append(Probe(sheet, position, kind, left, right, wanted, again))
        elif checks[ballot]:
            raise BundleError(f"{name}: row {row}: the checks of a ballot come after its other comparisons")
        else:
            by_ballot[ballot].append((sheet, position, slot, left, right))
    drawn, slots = {}, {}
    for ballot, rows in by_ballot.items():
        sheets, positions, slot_of, lefts, rights = np.array(rows, np.int64).T
        drawn[ballot] = DrawnColumns(sheets, positions, lefts, rights)
        slots[ballot] = slot_of
    return drawn, slots, {ballot: checks[ballot] for ballot in by_ballot}


def _first_difference(came: str, wanted: str) -> str:
    lines = zip(_split(came), _split(wanted), strict=False)
    number = next((at for at, (one, other) in enumerate(lines, start=1) if one != other), None)
    return "its end" if number is None else f"line {number}"
