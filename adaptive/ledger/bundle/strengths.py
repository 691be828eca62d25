"""Check and write the ranking of a continuous campaign, which has no ballot scores: strengths fitted to its votes.

A fit stops when it no longer moves, so its last bits differ between machines. The table of a bundle is therefore
compared with a new fit within a tolerance.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from itertools import chain
from typing import Final

import numpy as np

from adaptive.ledger.bundle.checking import events_by_ballot, label_cells, votes_that_count
from adaptive.ledger.bundle.contents import Contents
from adaptive.ledger.errors import BundleError
from adaptive.ledger.votes.casting import ANSWERS, CANNOT_SAY
from adaptive.model.comparisons import Comparisons
from adaptive.model.estimators import bradley_terry
from adaptive.record import places_best_first
from adaptive.tables import csv_text

_DIGITS: Final = 4
_TOLERANCE: Final = 0.001  # a hundredth of the smallest standard errors

Cells = tuple[str, ...]
Table = Mapping[Cells, tuple[float, float]]  # rank and strength by item


def strengths_csv(contents: Contents) -> str:
    """Return the table of items, ranks and strengths, best first; only the column names if there is no vote."""
    columns, cells = label_cells(contents.labels)
    header = [*columns("item"), "rank", "strength"]
    votes = _votes(contents)
    if not votes.n_comparisons:
        return csv_text(header, [])
    strengths = bradley_terry(votes)
    ranks, theta = strengths.ranking.ranks, strengths.theta.round(_DIGITS)
    order = places_best_first(contents.labels, ranks).tolist()
    return csv_text(header, ([*cells[place], repr(float(ranks[place])), repr(float(theta[place]))] for place in order))


def check_strengths(came: str, wanted: str) -> None:
    """Refuse a table whose strengths differ from those of a fit by more than the tolerance.

    Raises
    ------
    BundleError
        If columns, items or strengths differ, or the ranks do not match the strengths.
    """
    if came == wanted:
        return
    found, again = _table(came), _table(wanted)
    if came.split("\n", 1)[0] != wanted.split("\n", 1)[0] or set(found) != set(again):
        raise BundleError("result.csv: its columns or items are not those of the campaign")
    mine = np.array([found[item] for item in again]).reshape(-1, 2)
    fitted = np.array(list(again.values())).reshape(-1, 2)
    if not (np.abs(mine[:, 1] - fitted[:, 1]) <= _TOLERANCE).all():
        raise BundleError("result.csv: its strengths are not those that the votes give")
    # Items whose strengths differ by less than the tolerance may swap places.
    ordered = np.sort(fitted[:, 1])
    first = np.searchsorted(ordered, fitted[:, 1] - 2 * _TOLERANCE, "left")
    last = np.searchsorted(ordered, fitted[:, 1] + 2 * _TOLERANCE, "right")
    if not (np.abs(mine[:, 0] - fitted[:, 0]) <= last - first - 1).all():
        raise BundleError("result.csv: its ranks are not those of the strengths")


def _votes(contents: Contents) -> Comparisons:
    """Return the votes that count; "cannot say" counts as no answer."""
    by_ballot = events_by_ballot(contents)
    rows, n_asked = [], 0
    for stored in contents.stored:
        drawn = contents.drawn[stored.number]
        n_asked += stored.n_comparisons
        for place, event in sorted(votes_that_count(by_ballot[stored.number], contents.excluded).items()):
            code = ANSWERS[event["answer"]]
            if code != CANNOT_SAY:
                rows.append((drawn.left[place], drawn.right[place], code))
    left, right, winner = np.fromiter(chain.from_iterable(rows), np.int64, 3 * len(rows)).reshape(-1, 3).T
    return Comparisons(
        contents.info.items,
        left.astype(np.int32),
        right.astype(np.int32),
        winner.astype(np.int8),
        n_unanswered=n_asked - len(rows),
    )


def _table(text: str) -> Table:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        next(rows, None)
        read = [(tuple(row[:-2]), (float(row[-2]), float(row[-1]))) for row in rows]
    except (csv.Error, ValueError, IndexError) as error:
        raise BundleError(f"result.csv: cannot be read: {error}") from error
    if len(dict(read)) < len(read):
        raise BundleError("result.csv: an item comes twice")
    return dict(read)
