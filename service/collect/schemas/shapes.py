"""Derive JSON Schema from the ledger's dataclasses, which orjson writes directly; define the collection's fields."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from marshmallow import ValidationError

from service.http.problems import shown
from service.schemas.fields import Documented

__all__ = [
    "COUNT",
    "EVENT",
    "LABEL",
    "NUMBER",
    "NUMBER_OR_NULL",
    "TEXT",
    "TEXT_OR_NULL",
    "Word",
    "event_field",
    "key_field",
    "list_of",
    "object_of",
    "pair_field",
    "shape_of",
]


LABEL: Final[dict[str, Any]] = {
    "type": ["string", "integer", "array"],
    "items": {"type": ["string", "integer"]},
    "description": "Label of an item; a list where it has several parts.",
}
TEXT: Final[dict[str, Any]] = {"type": "string"}
TEXT_OR_NULL: Final[dict[str, Any]] = {"type": ["string", "null"]}
NUMBER: Final[dict[str, Any]] = {"type": "number"}
NUMBER_OR_NULL: Final[dict[str, Any]] = {"type": ["number", "null"]}
COUNT: Final[dict[str, Any]] = {"type": "integer", "minimum": 0}
_PLAIN: Final[dict[Any, str]] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


@cache
def shape_of(cls: type) -> dict[str, Any]:
    """Return the JSON Schema of a dataclass; every field is required.

    Examples
    --------
    >>> from adaptive.ledger import Flag
    >>> shape_of(Flag)["properties"]["reason"]
    {'type': 'string'}
    """
    hints = get_type_hints(cls)
    properties = {each.name: _schema(hints[each.name]) for each in fields(cls)}
    return {**object_of(properties), "description": (inspect.getdoc(cls) or "").split("\n", maxsplit=1)[0]}


def object_of(properties: Mapping[str, Any], *, about: str | None = None) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties."""
    made = {
        "type": "object",
        "required": list(properties),
        "additionalProperties": False,
        "properties": dict(properties),
    }
    return made if about is None else {**made, "description": about}


def list_of(items: Mapping[str, Any], *, about: str | None = None) -> dict[str, Any]:
    """Return the schema of a list of these values."""
    made = {"type": "array", "items": dict(items)}
    return made if about is None else {**made, "description": about}


def _schema(hint: Any) -> dict[str, Any]:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Hashable:
        return LABEL
    if hint in _PLAIN:
        return {"type": _PLAIN[hint]}
    if isinstance(hint, type) and is_dataclass(hint):
        return shape_of(hint)
    if origin is Literal:
        return {"type": "string", "description": "One of " + ", ".join(inner) + "."}
    if origin is tuple and inner[-1] is Ellipsis:
        return list_of(_schema(inner[0]))
    if origin is tuple:
        return {
            "type": "array",
            "prefixItems": [_schema(each) for each in inner],
            "minItems": len(inner),
            "maxItems": len(inner),
        }
    if origin in (Union, types.UnionType):
        return _optional([_schema(each) for each in inner if each is not type(None)])
    raise TypeError(f"no JSON Schema for {hint}")


def _optional(parts: list[dict[str, Any]]) -> dict[str, Any]:
    (only,) = parts
    if isinstance(only.get("type"), str) and only["type"] not in ("object", "array"):
        return {**only, "type": [only["type"], "null"]}
    return {"oneOf": [only, {"type": "null"}]}


class Word(Documented):
    """Text of a given form.

    Parameters
    ----------
    pattern : str
        For the whole text, in syntax that JSON Schema and Python share.
    what : str
        Name of the value, for the error.
    """

    def __init__(self, pattern: str, what: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._pattern, self._what = re.compile(pattern), what
        self.documented = {"type": "string", "pattern": f"^{pattern}$"}

    def read(self, value: Any) -> str:
        """Check a value, and return it as it is."""
        if not isinstance(value, str) or not self._pattern.fullmatch(value):
            raise ValidationError(f"must be {self._what}; got {shown(value)}")
        return value


def key_field(**kwargs: Any) -> Word:
    """Return a field for the key of a campaign."""
    return Word("[0-9a-f]{32}", "the key of a campaign", **kwargs)


EVENT: Final = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def event_field(**kwargs: Any) -> Word:
    """Return a field for the id of an event."""
    return Word(EVENT, "a UUID in lower case", **kwargs)


def pair_field(**kwargs: Any) -> Word:
    """Return a field for the id of a pair: ballot, sheet and position."""
    return Word("[0-9]{1,9}-[0-9]{1,9}-[0-9]{1,9}", "the id of a pair, like 1-0-3", **kwargs)
