"""Write the descriptions in a bundle: a data sheet for people, and Croissant 1.0 metadata for machines."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from adaptive.ledger._bundle.archive import SUMS
from adaptive.ledger._bundle.checking import Verified, label_cells
from adaptive.ledger._bundle.contents import Contents
from adaptive.ledger._store.encoding import sum_of, time_text

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


def data_sheet(contents: Contents, found: Verified) -> str:
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
        found=found,
        **{name: _line(getattr(info, name)) for name in ("name", "key", "mode")},
        day=time_text(info.created_at)[:10],
        plan=_line(plan),
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
    """Return the Croissant metadata of the files of data."""
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
            "sha256": sum_of(members[name]),
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
    pairs = {"comparison": "Text", "slot": "Integer", "left_item": "Integer", "right_item": "Integer", "check": "Text"}
    sets = [
        _records("items", "items.csv", {"place": "Integer", "label": "Text", "kind": "Text"}),
        _records("comparisons", "comparisons.csv", pairs),
        _records("votes", "votes.csv", dict.fromkeys(("comparison", "voter", *sided, "winner"), "Text")),
        _records("result", "result.csv", dict.fromkeys(items, "Text") | scores),
    ]
    metadata = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": info.name,
        "description": f"Pairwise comparisons of {info.n_items:,} items with every vote, and the ranking they give.",
        "identifier": info.key,
        "dateCreated": time_text(info.created_at)[:10],
        **_publication(contents),
        "version": "1.0.0",
        "distribution": files,
        "recordSet": sets,
    }
    return json.dumps(metadata, ensure_ascii=False, indent=1) + "\n"


def _publication(contents: Contents) -> dict[str, str]:
    """Return how to cite the campaign and, once a ballot is closed, its date; no field is invented."""
    info = contents.info
    closed = [ballot["closed_at"] for ballot in contents.ballots if ballot["closed_at"] is not None]
    known = {} if not closed else {"datePublished": time_text(max(closed))[:10]}
    year = time_text(max(closed, default=info.created_at))[:4]
    title = " ".join(info.name.translate({ord("{"): "(", ord("}"): ")", ord("\\"): "/"}).split())
    cite = f"@misc{{campaign-{info.key}, title = {{{title}}}, year = {{{year}}}, note = {{Campaign {info.key}}}}}"
    return {**known, "citeAs": cite}


def _records(name: str, file: str, columns: Mapping[str, str]) -> dict[str, Any]:
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


def _line(text: str) -> str:
    """Return a text for one cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
