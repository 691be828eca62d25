"""Comparisons as columns of labels and words, as CSV and as plain Python objects."""

from __future__ import annotations

from typing import Any, Final

from adaptive.model.columns import Columns
from adaptive.record import json_label
from adaptive.tables import csv_text, item_cells, item_columns
from adaptive.votes import Vote

COMPARISONS_FORMAT: Final = "adaptive.Comparisons"
COMPARISONS_VERSION: Final = 1
_WORD: Final = {int(vote): vote.name.lower() for vote in Vote}


def named_columns(columns: Columns) -> dict[str, list[Any]]:
    """Columns comparison, voter (if known), left, right and winner, with labels and words."""
    items, voters = columns.items, columns.voters
    named: dict[str, list[Any]] = {"comparison": list(range(columns.left.size))}
    if voters is not None and columns.voter is not None:
        named["voter"] = [voters[place] for place in columns.voter.tolist()]
    named["left"] = [items[place] for place in columns.left.tolist()]
    named["right"] = [items[place] for place in columns.right.tolist()]
    named["winner"] = [_WORD[code] for code in columns.winner.tolist()]
    return named


def comparisons_csv(columns: Columns) -> str:
    """Write what `Comparisons.to_csv` returns."""
    names = item_columns("left", columns.items), item_columns("right", columns.items)
    cells = [item_cells(item) for item in columns.items]
    left, right = ([cells[place] for place in side.tolist()] for side in (columns.left, columns.right))
    winner = [_WORD[code] for code in columns.winner.tolist()]
    numbers = range(columns.left.size)
    if columns.voters is None or columns.voter is None:
        rows = ([n, *a, *b, word] for n, a, b, word in zip(numbers, left, right, winner, strict=True))
        return csv_text(["comparison", *names[0], *names[1], "winner"], rows)
    voters = [" ".join(item_cells(voter)) for voter in columns.voters]
    voter = [voters[place] for place in columns.voter.tolist()]
    rows = ([n, v, *a, *b, word] for n, v, a, b, word in zip(numbers, voter, left, right, winner, strict=True))
    return csv_text(["comparison", "voter", *names[0], *names[1], "winner"], rows)


def comparisons_dict(columns: Columns) -> dict[str, Any]:
    """Make what `Comparisons.to_dict` returns."""
    named = named_columns(columns)
    for name in {"voter", "left", "right"} & named.keys():
        named[name] = [json_label(label) for label in named[name]]
    return {
        "format": COMPARISONS_FORMAT,
        "version": COMPARISONS_VERSION,
        "items": [json_label(item) for item in columns.items],
        "voters": None if columns.voters is None else [json_label(voter) for voter in columns.voters],
        "n_unanswered": columns.n_unanswered,
        "unanswered": _unanswered(columns),
        **named,
    }


def _unanswered(columns: Columns) -> dict[str, list[Any]] | None:
    """Rows without an answer that are known, as columns of labels; None if there are none."""
    pairs = columns.unanswered
    if pairs is None:
        return None
    voters = {} if pairs.voter is None else {"voter": (columns.voters, pairs.voter)}
    sides = {"left": (columns.items, pairs.left), "right": (columns.items, pairs.right)}
    return {
        name: [json_label((labels or ())[place]) for place in places.tolist()]
        for name, (labels, places) in {**voters, **sides}.items()
    }
