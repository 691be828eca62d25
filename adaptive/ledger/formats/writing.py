"""Votes in the formats of other programs. Comparisons without a vote are written too, where the format has them.

- Our CSV: comparison, voter, left, right, winner, what came with the votes, seconds and received_at. Without the first
  two columns it is what evalica reads.
- The JSON Lines of arenas: model_a, model_b, winner, judge and tstamp, and the id of the comparison.
- Tasks of Label Studio with a `Pairwise` tag, which knows no ties. The labeling configuration that fits is::

      <View>
        <Pairwise name="pairwise" toName="text1,text2"/>
        <Text name="text1" value="$text1"/>
        <Text name="text2" value="$text2"/>
      </View>

  Where items have content, each task has it too, as content1 and content2 with kind1 and kind2, and alt_text1 and
  alt_text2 where there are any: a configuration may show ``$content1`` in an `Image`, for one.
- JSON Lines of potato's pairwise scheme with the name "preference", items_key "responses" and allow_tie. Where items
  have content, an instance has contents [a, b] too, with kinds and alt_texts: items_key "contents" shows it.
- Pairs of winner and loser as choix takes them: whole numbers from 0, in the order of a second file.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Final

from adaptive.ledger.campaign.contents import ItemContent
from adaptive.ledger.formats.gathered import Answered
from adaptive.ledger.formats.guard import guarded
from adaptive.ledger.store.encoding import time_text
from adaptive.record import json_label
from adaptive.tables import csv_text, item_cells, item_columns

__all__ = ["arena_lines", "choix_files", "csv_votes", "label_studio_tasks", "potato_lines"]

_MODEL: Final = {"left": "model_a", "right": "model_b", "tie": "tie"}
_SELECTION: Final = {"left": "A", "right": "B", "tie": "tie"}


def csv_votes(votes: Sequence[Answered], *, guard: bool) -> str:
    """Return our CSV; an extra column whose name is one of ours has file_ before it."""
    items = {label for vote in votes for label in (vote.left, vote.right)}
    ours = ["comparison", "voter", *item_columns("left", items), *item_columns("right", items), "winner"]
    last = ["seconds", "received_at"]
    extra = list(dict.fromkeys(name for vote in votes for name in vote.extra))
    named = [f"file_{name}" if name in {*ours, *last} else name for name in extra]
    safe = guarded if guard else str
    cells = {label: [safe(cell) for cell in item_cells(label)] for label in items}
    rows = (
        [
            vote.comparison,
            safe(vote.voter or ""),
            *cells[vote.left],
            *cells[vote.right],
            vote.answer or "",
            *(safe(vote.extra.get(name, "")) for name in extra),
            "" if vote.response_ms is None else f"{vote.response_ms / 1000:.3f}",
            "" if vote.received_at is None else time_text(vote.received_at),
        ]
        for vote in votes
    )
    return csv_text([*ours, *map(safe, named), *last], rows)


def arena_lines(votes: Sequence[Answered]) -> str:
    """Return one line for each vote, in seconds since 1970; all must be left, right or tie."""
    return _lines(
        {
            "comparison": vote.comparison,
            "model_a": json_label(vote.left),
            "model_b": json_label(vote.right),
            "winner": _MODEL[vote.answer or ""],
            "judge": vote.voter,
            "tstamp": None if vote.received_at is None else vote.received_at / 1e6,
        }
        for vote in votes
    )


def label_studio_tasks(votes: Sequence[Answered], items: Mapping[Hashable, ItemContent]) -> str:
    """Return a JSON list with one task on each line; a comparison without a vote is a task without annotations."""
    lines = [json.dumps(_task(vote, items), ensure_ascii=False) for vote in votes]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def potato_lines(votes: Sequence[Answered], items: Mapping[Hashable, ItemContent]) -> str:
    """Return one line for each comparison; one without a vote has no preference, and is an instance to annotate."""
    return _lines(_instance(vote, items) for vote in votes)


def choix_files(votes: Sequence[Answered], items: Sequence[Hashable], *, guard: bool) -> dict[str, str]:
    """Return CSV with the columns winner and loser, and one of the items; all votes must be left or right."""
    place = {item: at for at, item in enumerate(items)}
    pairs = ((place[vote.left], place[vote.right]) for vote in votes)
    sides = (vote.answer == "left" for vote in votes)
    rows = (pair if left_won else pair[::-1] for pair, left_won in zip(pairs, sides, strict=True))
    safe = guarded if guard else str
    labels = ([safe(cell) for cell in item_cells(item)] for item in items)
    return {
        "pairs.csv": csv_text(["winner", "loser"], rows),
        "items.csv": csv_text(item_columns("item", items), labels),
    }


def _task(vote: Answered, items: Mapping[Hashable, ItemContent]) -> dict[str, Any]:
    data = {"comparison": vote.comparison, "voter": vote.voter, "text1": _text(vote.left), "text2": _text(vote.right)}
    for side, label in ((1, vote.left), (2, vote.right)):
        if label in items:
            item = items[label]
            # An item without content has its label there: a configuration names a variable that all tasks must have.
            data[f"content{side}"] = _text(label) if item.content is None else item.content
            data[f"kind{side}"] = item.kind
            data[f"alt_text{side}"] = item.alt_text
    task: dict[str, Any] = {"data": {name: value for name, value in data.items() if value is not None}}
    if vote.answer is not None:
        result = {"id": vote.comparison, "from_name": "pairwise", "to_name": "text1,text2", "type": "pairwise"}
        annotation: dict[str, Any] = {"result": [{**result, "value": {"selected": vote.answer}}]}
        if vote.response_ms is not None:
            annotation["lead_time"] = vote.response_ms / 1000
        if vote.received_at is not None:
            annotation["created_at"] = time_text(vote.received_at)
        task["annotations"] = [annotation]
    return task


def _instance(vote: Answered, items: Mapping[Hashable, ItemContent]) -> dict[str, Any]:
    texts = [_text(label) for label in (vote.left, vote.right)]
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


def _text(label: Hashable) -> str:
    return " ".join(item_cells(label))


def _lines(entries: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
