"""JSON Lines of potato's pairwise scheme: id, responses [a, b], and preference.selection A, B or tie.

The scheme that fits has the name "preference", items_key "responses" and allow_tie. Where items have content, an
instance has it as contents [a, b] too, with kinds, and alt_texts where there are any: items_key "contents" shows it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from adaptive.errors import TableError, VoteError
from adaptive.ledger.contents import ItemContent
from adaptive.ledger.formats.gathered import Answered
from adaptive.ledger.formats.rows import Came, json_rows, label_in_json, name_in
from adaptive.tables import item_cells
from rankcorr.checks import shown
from rankcorr.io.records import TextTable

__all__ = ["read", "write"]

_SELECTION: Final = {"left": "A", "right": "B", "tie": "tie"}
_ANSWER: Final = {selection: answer for answer, selection in _SELECTION.items()}


def write(votes: Sequence[Answered], items: Mapping[Hashable, ItemContent]) -> str:
    """Return one line for each comparison; one without a vote has no preference, and is an instance to annotate."""
    return "".join(json.dumps(_instance(vote, items), ensure_ascii=False) + "\n" for vote in votes)


def read(path: str | os.PathLike[str]) -> list[Came]:
    """Read instances with their preferences; those of potato's own output lie in label_annotations.

    Raises
    ------
    TableError, VoteError
        With file and line: an instance without two responses, or a selection other than A, B and tie.
    """
    table = TextTable(os.fspath(path), error=TableError)
    found = []
    for line, entry in json_rows(table, table.text()):
        responses = entry.get("responses")
        if not isinstance(responses, list) or len(responses) != 2:
            table.fail(f"a list of two responses is wanted; got {shown(responses)}", line, "responses")
        left, right = (label_in_json(table, each, line, "responses") for each in responses)
        comparison = name_in(table, entry.get("id", entry.get("instance_id")), line, "id")
        voter = name_in(table, entry.get("user_id"), line, "user_id")
        found.append(Came(line, comparison, voter, left, right, _answer(table, entry, line)))
    return found


def _instance(vote: Answered, items: Mapping[Hashable, ItemContent]) -> dict[str, Any]:
    texts = [" ".join(item_cells(label)) for label in (vote.left, vote.right)]
    instance: dict[str, Any] = {"id": vote.comparison, "responses": texts}
    if items:
        pair = [items[label] for label in (vote.left, vote.right)]
        instance["contents"] = [
            text if item.content is None else item.content for text, item in zip(texts, pair, strict=True)
        ]
        instance["kinds"] = [item.kind for item in pair]
        if any(item.alt_text is not None for item in pair):
            instance["alt_texts"] = [item.alt_text for item in pair]
    if vote.voter is not None:
        instance["user_id"] = vote.voter
    if vote.answer is not None:
        instance["preference"] = {"selection": _SELECTION[vote.answer]}
    return instance


def _answer(table: TextTable, entry: dict[str, Any], line: int) -> str | None:
    labels = entry.get("label_annotations")
    preference = labels.get("preference") if isinstance(labels, dict) else entry.get("preference")
    if preference is None:
        return None
    selection = preference.get("selection") if isinstance(preference, dict) else preference
    answer = _ANSWER.get(selection) if isinstance(selection, str) else None
    if answer is None:
        raise VoteError(f'{table.name}:{line}: column "preference": a selection is A, B or tie; got {shown(selection)}')
    return answer
