"""Write the descriptions in a bundle: a data sheet for people, and Croissant 1.0 metadata for machines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from adaptive.ledger.bundle.archive import SUMS, sum_of
from adaptive.ledger.bundle.checking import Verified, label_cells
from adaptive.ledger.bundle.contents import Contents
from adaptive.ledger.store.encoding import time_text

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
# The context of Croissant 1.0. Most terms belong to its own vocabulary.
_OTHERS: Final = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
}
_TERMS: Final = (
    *("@language", "@vocab", "citeAs", "column", "conformsTo", "cr", "rai", "data", "dataType", "dct"),
    *("equivalentProperty", "examples", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "sc", "separator", "source", "subField", "transform"),
)
_CONTEXT: Final = {term: _OTHERS.get(term, f"cr:{term}") for term in _TERMS}


def data_sheet(contents: Contents, found: Verified) -> str:
    """Return the README of a bundle, in Markdown."""
    info = contents.info
    plan = ", ".join(
        f"{name} {value}" for name, value in contents.campaign["plan"].items() if not isinstance(value, list)
    )
    excluded = sorted(contents.excluded)
    names = "Their names, addresses and accounts are not in this bundle."
    if any(voter["name"] and not voter["name"].isdecimal() for voter in contents.voters):  # a number is not a name
        names = "The column name of voters.csv says what they are called: keep this file to yourself."
    files = "\n".join(f"| {name} | {text} |" for name, text in _FILES.items())
    kinds = Counter(event["kind"] for event in contents.votes)
    events = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())) or "none"
    closed = f"{found.n_closed} of {found.n_ballots} opened are closed"
    return f"""# {_line(info.name)}

Pairwise comparisons of {found.n_items:,} items, collected in a campaign that was made on
{time_text(info.created_at)[:10]}; its key is {_line(info.key)}.

| | |
|---|---|
| Items | {found.n_items:,} |
| Mode | {_line(info.mode)} |
| Plan | {_line(plan)}; seed {info.seed} |
| Ballots | {closed} |
| Comparisons | {found.n_comparisons:,} |
| Votes that count | {found.n_votes:,} |
| Vote events | {events}; {len(contents.late_votes):,} late, kept and not counted |
| Voters | {len(contents.voters):,}, {len(excluded):,} of them left out of all scores |

## Files

| file | what it has |
|---|---|
{files}

Text is UTF-8, lines end with a line feed, and times are microseconds since 1970, UTC. In CSV a cell that begins with =,
+, -, @, a tab or a carriage return and is no number has an apostrophe in front, so that no spreadsheet runs it; so has
one that begins with apostrophes before such a character. Take one apostrophe away to have the text as it was. Digests
are over labels without it.

## Who voted

Voters go by random keys. {names}
Columns of files that came with votes, and reasons that organisers typed, are as they were written.

## How to check it

`sha256sum --check {SUMS}` holds for every file. In ballots.json

- draw_digest is the SHA-256 of one line for each comparison of the ballot, in their order, each ended by a line feed:
  `[place,sheet,position,left,right]`, with the labels of items.csv for left and right; then one for each check:
  `["p",place,sheet,position,left,right,kind,expected,repeats]`, in which expected is left, tie, right or null. Places
  count the comparisons of the ballot, and its checks, from 0; the position is the number of comparisons, checks not
  counted, that the sheet shows before;
- votes_digest that of one line for each vote event, by place and revision: `[place,revision,kind,answer,voter]`. Events
  of checks are left out. In events.jsonl their places go on after those of the comparisons;
- chain_digest that of four lines: the chain_digest of the ballot before (empty for the first), draw_digest,
  votes_digest, and the record. A ballot that is changed, or removed before the last, breaks the
  chain; the last chain_digest, noted elsewhere, tells whether one is missing from the end.

All these lines are JSON without spaces, with sorted keys, and not escaped to ASCII. `ballots verify FILE`
(of the Python package rankcorr-adaptive) does all of that, scores the votes again, compares every number, draws the
ballots again from the seed, and lists the fields that cannot be checked.
"""


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
    sets = [
        _records("items", "items.csv", {"place": "Integer", "label": "Text", "kind": "Text"}),
        _records(
            "comparisons",
            "comparisons.csv",
            {"comparison": "Text", "slot": "Integer", "left_item": "Integer", "right_item": "Integer", "check": "Text"},
        ),
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
