"""Answered comparisons in requests: columns, or an object for each; checked as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from flask import g
from marshmallow import ValidationError

from adaptive.votes import WORDS
from rankcorr.checks import counted_need
from service.http.problems import shown
from service.schemas.ballot_fields import ANSWERS, LABELS_SCHEMA, check_keys, placed
from service.schemas.components import VOTE, Component
from service.schemas.fields import LABEL_SCHEMA, Documented, Limit, check_limit, some_have
from service.schemas.ranking_fields import check_labels, whole

_ANSWER: Final = {"oneOf": [VOTE.reference, {"type": "null"}]}
_WINNER: Final = "The side that won, or a tie; null where there is no answer."
_VOTER: Final = "Who answered; of all comparisons or of none."

COMPARISON_COLUMNS: Final = Component(
    "ComparisonColumns",
    {
        "type": "object",
        "description": "Answered comparisons as arrays of one length.",
        "required": ["left", "right", "winner"],
        "additionalProperties": False,
        "properties": {
            "left": {**LABELS_SCHEMA, "description": "The item on the left of each comparison."},
            "right": {**LABELS_SCHEMA, "description": "The item on the right of each comparison."},
            "winner": {"type": "array", "maxItems": Limit("max_comparisons"), "items": _ANSWER, "description": _WINNER},
            "voter": {**LABELS_SCHEMA, "description": _VOTER},
        },
    },
)
COMPARISON: Final = Component(
    "AnsweredComparison",
    {
        "type": "object",
        "description": "A comparison and its answer.",
        "required": ["left", "right", "winner"],
        "additionalProperties": False,
        "properties": {
            "left": LABEL_SCHEMA,
            "right": LABEL_SCHEMA,
            "winner": {**_ANSWER, "description": _WINNER},
            "voter": {**LABEL_SCHEMA, "description": _VOTER},
        },
    },
)
_SIDES: Final = ("left", "right")


@dataclass(frozen=True)
class Answered:
    """Columns of comparisons, as `Comparisons.from_labels` takes them."""

    left: list[str | int]
    right: list[str | int]
    winner: list[str | None]
    voter: list[str | int] | None

    @property
    def labels(self) -> dict[str | int, None]:
        """Each item that comes, in the order of first appearance."""
        return dict.fromkeys(label for pair in zip(self.left, self.right, strict=True) for label in pair)


class ComparisonsField(Documented):
    """Answered comparisons, in one of two ways."""

    documented: Mapping[str, Any] = MappingProxyType(
        {
            "oneOf": [
                COMPARISON_COLUMNS.reference,
                {
                    "type": "array",
                    "maxItems": Limit("max_comparisons"),
                    "items": COMPARISON.reference,
                    "not": some_have("voter"),
                    "title": "one by one",
                },
            ]
        }
    )

    def read(self, value: Any) -> Answered:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list | dict):
            raise ValidationError(f"must be an object of columns, or a list of comparisons; got {shown(value)}")
        found = _of_rows(value) if isinstance(value, list) else _of_columns(value)
        g.n_items = g.get("n_items", 0) + len(found.winner)
        return found


def _of_columns(value: dict[str, Any]) -> Answered:
    check_keys(value, {*_SIDES, "winner"}, {"voter"})
    labels = [name for name in (*_SIDES, "voter") if name in value]
    winner = value["winner"]
    if not isinstance(winner, list):
        raise placed([f"must be a list of votes; got {shown(winner)}"], "winner")
    _check_count(len(winner))
    for name in labels:
        if isinstance(value[name], list) and len(value[name]) != len(winner):
            message = f"{counted_need(len(winner), 'winner')} as many entries here; got {len(value[name])}"
            raise placed([message], name)
        check_labels(value[name], name)
    for place, vote in enumerate(winner):
        if not _is_answer(vote):
            raise placed([_no_answer(vote)], "winner", str(place))
    return Answered(value["left"], value["right"], winner, value.get("voter"))


def _of_rows(value: list[Any]) -> Answered:
    _check_count(len(value))
    with_voters = bool(value) and isinstance(value[0], dict) and "voter" in value[0]
    needed = {*_SIDES, "winner"} | ({"voter"} if with_voters else set())
    names = [*_SIDES, *(["voter"] if with_voters else [])]
    for place, row in enumerate(value):
        if not isinstance(row, dict) or row.keys() != needed:
            if isinstance(row, dict) and not with_voters and "voter" in row:
                raise placed(["either all comparisons have a voter or none; the first has none"], str(place), "voter")
            check_keys(row, needed, set(), str(place))
        for name in names:
            row[name] = whole(row[name])
            if type(row[name]) not in (str, int):
                raise placed([f"a label is text or a whole number; got {shown(row[name])}"], str(place), name)
        if not _is_answer(row["winner"]):
            raise placed([_no_answer(row["winner"])], str(place), "winner")
    left, right = ([row[side] for row in value] for side in _SIDES)
    voter = [row["voter"] for row in value] if with_voters else None
    return Answered(left, right, [row["winner"] for row in value], voter)


def _check_count(count: int) -> None:
    check_limit("max_comparisons", count, of="comparisons of a request")


def _is_answer(vote: Any) -> bool:
    return vote is None or (type(vote) is str and vote in ANSWERS)


def _no_answer(vote: Any) -> str:
    return f"must be one of {', '.join(map(shown, WORDS))}, or null for no answer; got {shown(vote)}"
