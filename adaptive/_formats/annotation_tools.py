"""Turn JSON of votes, of annotation tools and of judges into flat rows, one for each vote.

Tasks of Label Studio and instances of potato become rows as in Label Studio's CSV: the items, one column for the
answers of each scheme, and the voter.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from adaptive._tables import cell_number
from rankcorr._checks import repeated, shown
from rankcorr._io.source import path_text
from rankcorr._io.table import TextTable, json_values

_ANSWERED_KINDS: Final = ("pairwise", "choices")
GAMES: Final = frozenset({"model_1", "model_2", "g1_winner", "g2_winner"})  # of MT-bench: a judge saw both orders
_STATE: Final = "instance_id_to_label_to_value"
_PREFERENCES: Final = frozenset({"selection", "scale_value"})
_REASONS: Final = frozenset({"justification"})  # for a preference, in the same scheme
DIMENSION: Final = "dimension"  # type of a column with the answers of one dimension of a pairwise scheme of potato
_SIDES: Final = ("A", "B", "tie", "", None)


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        again = repeated(key for key, _ in pairs)
        raise ValueError(f"the key {shown(again[0])} is listed twice in one object")
    return entries


_JSON: Final = json.JSONDecoder(object_pairs_hook=_unique_keys)


def json_rows(
    table: TextTable, text: str, instances: Mapping[str, tuple[str, str]] | None
) -> tuple[list[tuple[int, dict[str, Any]]], str | None, dict[str, str]]:
    """Return the rows of a text with their lines, the tool that wrote them, and the type of each of its answer columns.

    A list of two is a pair of winner and loser. `instances` are the items of potato's instances, by id.
    """
    rows: list[tuple[int, dict[str, Any]]] = []
    annotations: list[tuple[int, dict[str, Any], dict[str, Any]]] = []
    states: list[tuple[int, dict[str, Any], dict[str, Any]]] = []
    tools: dict[str | None, None] = {}
    schemes: dict[str, str] = {}
    for line, entry in json_values(table, text, _JSON):
        is_pair = isinstance(entry, list) and len(entry) == 2
        value = dict(zip(("winner", "loser"), entry, strict=True)) if is_pair else entry
        if not isinstance(value, dict):
            table.fail(f"an object is expected for each vote; got {shown(value)}", line)
        tool = _tool_of(value)
        tools[tool] = None
        if tool == "label_studio":
            annotations += ((line, *row) for row in _annotations(table, value, line, schemes))
        elif tool == "potato" and _STATE in value:
            for row, labels in _states(table, value, line, schemes, instances):
                rows.append((line, row))
                states.append((line, row, labels))
        elif tool == "potato":
            row = _instance(table, value, line, schemes)
            rows.append((line, row))
            if isinstance(value.get("label_annotations"), dict):
                states.append((line, row, value["label_annotations"]))
        else:
            rows.append((line, value))
    _check_labels(table, states, schemes)
    # If a field of the data has the name of a control, the result of the control counts, not the field.
    answers = {name for name, kind in schemes.items() if kind in _ANSWERED_KINDS}
    for line, data, results in annotations:
        rows.append((line, {**{name: data[name] for name in data if name not in answers}, **results}))
    if not rows:
        table.fail("no votes")
    if len(tools) > 1:
        names = " and ".join(name or "other programs" for name in tools)
        table.fail(f"a file must have the votes of one tool; got those of {names}")
    (tool,) = tools
    return rows, tool, schemes


def _tool_of(value: dict[str, Any]) -> str | None:
    """Return the tool that wrote an object as a task; other votes may have a key data or responses too."""
    if "annotations" in value or value.keys() <= {"id", "data"}:
        return "label_studio"
    if _STATE in value:
        return "potato"
    return "potato" if "label_annotations" in value or ("responses" in value and "winner" not in value) else None


def votes_of_object(table: TextTable, judgment: dict[str, Any], line: int) -> Iterator[dict[str, Any]]:
    """Yield a vote; or both votes of a judge of MT-bench, who saw the models in both orders: an error is no answer."""
    if not judgment.keys() >= GAMES:
        yield judgment
        return
    rest = {name: entry for name, entry in judgment.items() if name not in GAMES and not re.match("g[12]_", name)}
    rests = rest, _exchanged(rest)
    models = {name: judgment[name] for name in ("model_1", "model_2")}
    sides = ("model_1", "model_2"), ("model_2", "model_1")
    for name, (left, right), rest in zip(("g1_winner", "g2_winner"), sides, rests, strict=True):
        winners = {left: "model_a", right: "model_b", "tie": "tie", "error": "", "": ""}
        winner = judgment[name]
        if not isinstance(winner, str) or winner not in winners:
            table.fail(f"one of {', '.join(filter(None, winners))} is expected; got {shown(winner)}", line, name)
        yield {**rest, "model_a": models[left], "model_b": models[right], "winner": winners[winner]}


def _exchanged(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in which columns of the two sides, such as left_length or length_a, are exchanged."""
    other = {"left": "right", "right": "left", "a": "b", "b": "a"}
    exchanged = {}
    for name, entry in row.items():
        partner = "_".join(other.get(word, word) for word in name.split("_"))
        source = row.get(partner, entry) if partner != name else entry
        exchanged[name] = _exchanged(source) if isinstance(source, dict) else source
    return exchanged


def _annotations(
    table: TextTable, task: dict[str, Any], line: int, schemes: dict[str, str]
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the data and the results of each annotation of a Label Studio task that was not cancelled."""
    data = task.get("data")
    if not isinstance(data, dict):
        table.fail(f"the data of a task of Label Studio must be an object; got {shown(data)}", line, "data")
    for annotation in _objects_in(table, task, line, "annotations"):
        if annotation.get("was_cancelled"):
            continue
        who = annotation.get("completed_by")
        if isinstance(who, dict):  # an export may name some by their address, and others by number
            who = who.get("email") or (None if who.get("id") is None else str(who["id"]))
        row = {**data, "annotator": who}
        answers: dict[str, Any] = {}
        for result in _objects_in(table, annotation, line, "result"):
            name, kind = str(result.get("from_name", "pairwise")), str(result.get("type"))
            schemes[name] = kind
            if kind in _ANSWERED_KINDS:
                if name in answers:
                    table.fail("this result is listed twice in one annotation", line, name)
                answers[name] = [result.get("value")]
        yield row, answers


def _objects_in(table: TextTable, parent: dict[str, Any], line: int, name: str) -> list[dict[str, Any]]:
    objects = parent.get(name, [])
    if not isinstance(objects, list) or not all(isinstance(entry, dict) for entry in objects):
        table.fail(f"a list of objects is expected; got {shown(objects)}", line, name)
    return objects


def _instance(table: TextTable, entry: dict[str, Any], line: int, schemes: dict[str, str]) -> dict[str, Any]:
    """Return an instance of potato as a row; files written by potato itself have answers in label_annotations."""
    responses = entry.get("responses")
    if not isinstance(responses, list) or len(responses) != 2:
        table.fail(
            f"an instance of potato must have two responses in a list; got {shown(responses)}", line, "responses"
        )
    row = dict(zip(("left", "right"), responses, strict=True))
    for key, name in (("id", "comparison"), ("instance_id", "comparison"), ("user_id", "voter")):
        if entry.get(key) is not None:
            row[name] = entry[key]
    answers = entry.get("label_annotations", entry)
    row |= _preferences(table, answers, line, schemes) if isinstance(answers, dict) else {}
    if answers is not entry and answers and not schemes.keys() & row.keys():
        table.fail(f"answers of a pairwise scheme are expected; got {shown(answers)}", line, "label_annotations")
    if answers is entry and "preference" in entry and "preference" not in row:
        table.fail(f"an object with a selection is expected; got {shown(entry['preference'])}", line, "preference")
    return row


def _states(
    table: TextTable,
    state: dict[str, Any],
    line: int,
    schemes: dict[str, str],
    instances: Mapping[str, tuple[str, str]] | None,
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the row of each instance that a potato user has answered, from a user_state.json, and its answers."""
    by_instance = state[_STATE]
    if not isinstance(by_instance, dict):
        table.fail(f"expected an object of instances; got {shown(by_instance)}", line, _STATE)
    for instance, labels in by_instance.items():
        if isinstance(labels, list):  # a log of [{"schema": ..., "name": ...}, value], of which the last entry counts
            answers: dict[str, Any] = {}
            for entry in labels:
                is_label = isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], dict)
                if not is_label or not {"schema", "name"} <= entry[0].keys():
                    table.fail(f"expected a schema, a name and a value; got {shown(entry)}", line, instance)
                answers.setdefault(str(entry[0]["schema"]), {})[str(entry[0]["name"])] = entry[1]
        elif isinstance(labels, dict):
            answers = labels
        else:
            table.fail(f"expected a list of answers; got {shown(labels)}", line, instance)
        if instances is not None and instance not in instances:
            table.fail(f"no instance has the id {shown(instance)}", line)
        sides = {} if instances is None else dict(zip(("left", "right"), instances[instance], strict=True))
        row = {"comparison": instance, "voter": state.get("user_id"), **sides}
        yield row | _preferences(table, answers, line, schemes), answers


def _check_labels(
    table: TextTable, states: list[tuple[int, dict[str, Any], dict[str, Any]]], schemes: Mapping[str, str]
) -> None:
    """Refuse answers of potato's users that are no preferences; they would be read as comparisons without an answer.

    A file with a pairwise scheme may have answers of other schemes too. Some look like answers to dimensions, such as
    the comment "A". Other answers to such a scheme enter the rows as objects, which `check_dimension` refuses if a
    dimension of it is read.
    """
    dimensions = [name for name, kind in schemes.items() if kind == DIMENSION]
    for line, row, answers in states:
        if any(answers.values()) and not schemes:
            table.fail(f"answers of a pairwise scheme are expected; got {shown(answers)}", line, _STATE)
        for name in schemes.keys() & answers.keys():
            value = answers[name]
            is_preference = isinstance(value, dict) and (_PREFERENCES & value.keys() or value.keys() <= _REASONS)
            if not is_preference:
                table.fail(f"an object with a selection is expected; got {shown(value)}", line, name)
        for name in dimensions:
            scheme = name.partition(":::")[0]
            value = answers.get(scheme)
            if value and not (_has_dimensions(value) or (isinstance(value, dict) and value.keys() <= _REASONS)):
                row[name] = {scheme: value}


def check_dimension(table: TextTable, entries: Iterable[tuple[int, Any]]) -> None:
    """Refuse answers in a column of a dimension of potato that are no sides; `entries` are lines and their answers."""
    for line, entry in entries:
        if isinstance(entry, dict):
            ((scheme, value),) = entry.items()
            table.fail(f"A, B or tie is expected for each dimension; got {shown(value)}", line, scheme)


def _has_dimensions(value: Any) -> bool:
    """Return whether a value may hold the answers of a scheme with dimensions, as {"style": "A", "facts": "tie"}."""
    if not isinstance(value, dict) or _PREFERENCES & value.keys():
        return False
    sides = [side for name, side in value.items() if name not in _REASONS]
    return any(sides) and all(side in _SIDES for side in sides)


def _preferences(table: TextTable, answers: dict[str, Any], line: int, schemes: dict[str, str]) -> dict[str, Any]:
    """Return the preference of each pairwise scheme of potato, and add the schemes to `schemes`.

    A dimension of a scheme is a column of its own, by the name that potato's forms give it, such as "better:::style".
    """
    values = {name: value for name, value in answers.items() if isinstance(value, dict) and _PREFERENCES & value.keys()}
    schemes |= dict.fromkeys(values, "pairwise")
    dimensions = {
        f"{scheme}:::{name}": side
        for scheme, value in answers.items()
        if _has_dimensions(value)
        for name, side in value.items()
        if name not in _REASONS
    }
    schemes |= dict.fromkeys(dimensions, DIMENSION)
    return {name: _preference(table, value, line, name) for name, value in values.items()} | dimensions


def _preference(table: TextTable, value: Mapping[str, Any], line: int, column: str) -> Any:
    """Return the selection of a pairwise scheme of potato, or an object with the number on its scale."""
    if value.get("selection") not in (None, "") or "scale_value" not in value:
        return value.get("selection")
    scale = value["scale_value"]
    if scale in (None, ""):
        return None
    number = cell_number(scale)
    if not math.isfinite(number):
        table.fail(f"expected a number, negative for A and positive for B; got {shown(scale)}", line, column)
    return {"scale_value": number}


def potato_instances(path: str | os.PathLike[str], *, encoding: str = "utf-8") -> dict[str, tuple[str, str]]:
    """Return the two items of each instance in a data file of potato, by id.

    The items are the key responses, or the only key whose value is a list of two texts.

    Raises
    ------
    TableError
        With file and line: a file that is not JSON, an instance without an id or without two items, or a repeated id.
    """
    table = TextTable(path_text(path), encoding=encoding)
    instances: dict[str, tuple[str, str]] = {}
    lines: dict[str, int] = {}
    for line, value in json_values(table, table.text(), _JSON):
        if not isinstance(value, dict) or type(value.get("id")) not in (str, int):
            table.fail(f"expected an object with an id; got {shown(value)}", line)
        pairs = {
            name: entry
            for name, entry in value.items()
            if isinstance(entry, list) and len(entry) == 2 and all(isinstance(item, str) for item in entry)
        }
        if "responses" not in pairs and len(pairs) != 1:
            table.fail(f"expected two responses; got {shown(value)}", line)
        name = str(value["id"])
        if name in lines:
            table.fail(f"the id {shown(name)} is listed twice (lines {lines[name]} and {line})", line)
        lines[name] = line
        left, right = pairs.get("responses") or next(iter(pairs.values()))
        instances[name] = (left, right)
    return instances
