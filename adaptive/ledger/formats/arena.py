"""The JSON Lines of arenas: model_a, model_b, winner, judge and tstamp, and the id of the comparison beside them.

Published arena files have model_a, model_b, tie and tie (bothbad) as winners, newer ones both_bad.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Final

from adaptive.errors import TableError, VoteError
from adaptive.ledger.formats.gathered import Answered
from adaptive.ledger.formats.rows import Came, name_in
from adaptive.model.layouts import ARENA_WORDS
from adaptive.model.rows import rows_of
from adaptive.record import json_label
from adaptive.votes import Vote
from rankcorr.checks import shown
from rankcorr.io.records import TextTable

__all__ = ["read", "write"]

_WINNER: Final = {"left": "model_a", "right": "model_b", "tie": "tie"}


def write(votes: Sequence[Answered]) -> str:
    """Return one line for each vote, in seconds since 1970; all must be left, right or tie."""
    lines = [
        json.dumps(
            {
                "comparison": vote.comparison,
                "model_a": json_label(vote.left),
                "model_b": json_label(vote.right),
                "winner": _WINNER[vote.answer or ""],
                "judge": vote.voter,
                "tstamp": None if vote.received_at is None else vote.received_at / 1e6,
            },
            ensure_ascii=False,
        )
        for vote in votes
    ]
    return "".join(line + "\n" for line in lines)


def read(path: str | os.PathLike[str]) -> list[Came]:
    """Read the rows of JSON Lines, or of CSV with the same columns; comparison and judge may be missing.

    Raises
    ------
    TableError, VoteError
        With file and line: a column that is missing, a label that is none, an unknown winner.
    """
    table = TextTable(os.fspath(path), error=TableError)
    rows = rows_of(table, table.text())
    left, right = rows.labels("model_a"), rows.labels("model_b")
    winners = rows.column("winner")
    optional = {
        name: rows.column(name) if name in rows.names else [None] * len(left) for name in ("comparison", "judge")
    }
    found = []
    for row, (line, winner) in enumerate(zip(rows.lines, winners, strict=True)):
        code = ARENA_WORDS.get(winner) if isinstance(winner, str) else None
        if code is None:
            wanted = ", ".join(map(repr, ARENA_WORDS))
            raise VoteError(f"{rows.place(row, 'winner')}: a winner is one of {wanted}; got {shown(winner)}")
        comparison, judge = (name_in(table, values[row], line, name) for name, values in optional.items())
        found.append(Came(line, comparison, judge, left[row], right[row], Vote(code).name.lower()))
    return found
