"""Tasks of Label Studio with a `Pairwise` tag: data.text1 and text2, and results of type "pairwise".

The labeling configuration that fits is::

    <View>
      <Pairwise name="pairwise" toName="text1,text2"/>
      <Text name="text1" value="$text1"/>
      <Text name="text2" value="$text2"/>
    </View>

The tag knows no ties. Where items have content, each task has it too, as content1 and content2 with kind1 and kind2,
and alt_text1 and alt_text2 where there are any: a configuration may show ``$content1`` in an `Image`, for one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from adaptive.errors import TableError, VoteError
from adaptive.ledger.contents import ItemContent
from adaptive.ledger.encoding import time_text
from adaptive.ledger.formats.gathered import Answered
from adaptive.ledger.formats.rows import Came, json_rows, label_in_json, name_in
from adaptive.tables import item_cells
from rankcorr.checks import shown
from rankcorr.io.records import TextTable

__all__ = ["read", "write"]


def write(votes: Sequence[Answered], items: Mapping[Hashable, ItemContent]) -> str:
    """Return a JSON list with one task on each line; a comparison without a vote is a task without annotations."""
    lines = [json.dumps(_task(vote, items), ensure_ascii=False) for vote in votes]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def read(path: str | os.PathLike[str]) -> list[Came]:
    """Read the results of all annotations that were not cancelled.

    A task may name its comparison and its voter in its data; who completed an annotation is the voter otherwise.

    Raises
    ------
    TableError, VoteError
        With file and line: no such list, a task without texts, a result other than left or right.
    """
    table = TextTable(os.fspath(path), error=TableError)
    found = []
    for line, task in json_rows(table, table.text()):
        data = _object(table, task, "data", line)
        left, right = (label_in_json(table, data.get(name), line, f"data.{name}") for name in ("text1", "text2"))
        comparison = name_in(table, data.get("comparison"), line, "data.comparison")
        annotations = task.get("annotations", [])
        if not isinstance(annotations, list):
            table.fail(f"a list is wanted; got {shown(annotations)}", line, "annotations")
        for annotation in annotations:
            if not isinstance(annotation, dict):
                table.fail(f"objects are wanted; got {shown(annotation)}", line, "annotations")
            if annotation.get("was_cancelled"):
                continue
            voter = name_in(table, data.get("voter", _who(annotation)), line, "voter")
            answer = _selected(table, annotation, line)
            if answer is not None:
                found.append(Came(line, comparison, voter, left, right, answer))
    return found


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


def _text(label: Hashable) -> str:
    return " ".join(item_cells(label))


def _selected(table: TextTable, annotation: dict[str, Any], line: int) -> str | None:
    """Side of the pairwise result; None where an annotation has none."""
    results = annotation.get("result", [])
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        table.fail(f"a list of objects is wanted; got {shown(results)}", line, "result")
    sides = [result.get("value") for result in results if result.get("type") == "pairwise"]
    if not sides:
        return None
    if len(sides) > 1:
        table.fail(f"one result of type pairwise is wanted; got {len(sides)}", line, "result")
    side = sides[0].get("selected") if isinstance(sides[0], dict) else sides[0]
    if side not in ("left", "right"):
        raise VoteError(f"{table.name}:{line}: column \"selected\": a side is 'left' or 'right'; got {shown(side)}")
    return str(side)


def _who(annotation: dict[str, Any]) -> object:
    who = annotation.get("completed_by")
    return who.get("email", who.get("id")) if isinstance(who, dict) else who


def _object(table: TextTable, entry: dict[str, Any], name: str, line: int) -> dict[str, Any]:
    value = entry.get(name)
    if not isinstance(value, dict):
        table.fail(f"an object is wanted; got {shown(value)}", line, name)
    return value
