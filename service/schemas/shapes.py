"""Build JSON Schema: of objects, lists and values, and of the dataclasses in answers, which orjson writes directly."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints


class Shape(dict[str, Any]):
    """A JSON Schema; called with a description and further keywords, it returns a schema that has them too.

    Examples
    --------
    >>> Shape(type="number")("Probability of a slip.", minimum=0, maximum=1)
    {'type': 'number', 'minimum': 0, 'maximum': 1, 'description': 'Probability of a slip.'}
    """

    def __call__(self, about: str | None = None, **keywords: Any) -> Shape:
        """Return this schema with further keywords, and with a description if there is one."""
        return Shape({**self, **keywords} if about is None else {**self, **keywords, "description": about})

    def or_null(self, about: str | None = None) -> Shape:
        """Return the schema of a value that fits this one, or null."""
        return one_of(self, {"type": "null"})(about)


LABEL: Final = Shape(
    type=["string", "integer", "array"],
    items={"type": ["string", "integer"]},
    description="Label of an item; a list where it has several parts.",
)
TEXT: Final = Shape(type="string")
TEXT_OR_NULL: Final = Shape(type=["string", "null"])
NUMBER: Final = Shape(type="number")
NUMBER_OR_NULL: Final = Shape(type=["number", "null"])
WHOLE: Final = Shape(type="integer")
WHOLE_OR_NULL: Final = Shape(type=["integer", "null"])
COUNT: Final = WHOLE(minimum=0)
TRUTH: Final = Shape(type="boolean")
_PLAIN: Final[dict[Any, str]] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


@cache
def shape_of(cls: type) -> Shape:
    """Return the JSON Schema of a dataclass; every field is required.

    Examples
    --------
    >>> from adaptive.ledger import Flag
    >>> shape_of(Flag)["properties"]["reason"]
    {'type': 'string'}
    """
    names = [field.name for field in fields(cls)]
    return exactly((inspect.getdoc(cls) or "").split("\n", maxsplit=1)[0], **shapes_of(cls, *names))


def shapes_of(cls: type, *names: str) -> dict[str, Shape]:
    """Return the JSON Schemas of some fields and properties of a dataclass; properties have their descriptions.

    Examples
    --------
    >>> from adaptive.ledger import CampaignResult
    >>> shapes_of(CampaignResult, "n_votes", "signal")["signal"]
    {'type': 'boolean', 'description': 'Whether the votes rule out coin flips.'}
    """
    hints = get_type_hints(cls)
    schemas = {name: _schema(hints[name]) for name in names if name in hints}
    for name in [name for name in names if name not in hints]:
        getter = vars(cls)[name].fget
        schemas[name] = _schema(get_type_hints(getter)["return"])(inspect.getdoc(getter))
    return {name: schemas[name] for name in names}


def result_shapes(cls: type, *names: str, has_nan: bool = True, **changes: Mapping[str, Any]) -> dict[str, Shape]:
    """Return the JSON Schemas of fields of a result, by default of all, with the texts of its docstring.

    Parameters
    ----------
    cls : type
        A dataclass whose docstring has numpydoc's section of attributes.
    *names : str
    has_nan : bool
        Whether numbers may be nan, which is null in an answer.
    **changes
        Keywords that are added to the schema of a field; whole schemas replace it, or are those of further fields.

    Examples
    --------
    >>> from rankcorr import CorrelationInterval
    >>> result_shapes(CorrelationInterval, "low")["low"]
    {'type': ['number', 'null'], 'description': 'Ends of the interval; null if undefined.'}
    """
    replacements = {
        name: Shape(change) for name, change in changes.items() if change.keys() & {"type", "$ref", "oneOf"}
    }
    names = names or tuple(field.name for field in fields(cls))
    schemas = shapes_of(cls, *(name for name in names if name not in replacements))
    texts = _attribute_texts(cls)
    for name, schema in schemas.items():
        keywords = {"minimum": 0} if schema.get("type") == "integer" and name.startswith("n_") else {}
        nullable = {"type": ["number", "null"]} if schema.get("type") == "number" and has_nan else {}
        schemas[name] = schema(texts.get(name), **keywords, **nullable, **changes.get(name, {}))
    schemas |= replacements
    return {name: schemas[name] for name in dict.fromkeys((*names, *replacements))}


def content_of(result: Any, shape: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a result that the schema of an object lists."""
    return {name: getattr(result, name) for name in shape["properties"]}


def _attribute_texts(cls: type) -> dict[str, str]:
    """Return the text on each attribute in the docstring of a class, as it holds for JSON."""
    _, _, section = (inspect.getdoc(cls) or "").partition("Attributes\n----------\n")
    texts: dict[str, str] = {}
    for names, text in re.findall(r"^(\w.*?) : .*\n((?:    .*\n?)+)", section.partition("\n\n")[0], re.MULTILINE):
        texts |= dict.fromkeys(names.split(", "), re.sub(r"\b(nan|None)\b", "null", " ".join(text.split())))
    return texts


def exactly(about: str | None = None, /, *, optional: Any = (), **properties: Any) -> Shape:
    """Return the schema of an object with exactly these properties; only those in `optional` may be missing."""
    return at_least(optional=optional, **properties)(about, additionalProperties=False)


def at_least(about: str | None = None, /, *, optional: Any = (), **properties: Any) -> Shape:
    """Return the schema of an object with these properties and perhaps others; those in `optional` may be missing."""
    required = [name for name in properties if name not in optional]
    return Shape(type="object", required=required, properties=properties)(about)


def map_of(values: Mapping[str, Any], *, about: str | None = None, **bounds: Any) -> Shape:
    """Return the schema of an object of names to these values; `bounds` are further keywords, such as minProperties."""
    return Shape(type="object", additionalProperties=dict(values))(about, **bounds)


def list_of(
    items: Mapping[str, Any], *, about: str | None = None, refused: Mapping[str, Any] | None = None, **bounds: Any
) -> Shape:
    """Return the schema of a list of these values; `bounds` are further keywords, such as minItems, or type.

    Lists that fit the schema `refused` are excepted.
    """
    excepted = {} if refused is None else {"not": dict(refused)}
    return Shape(type="array", items=dict(items), **excepted)(about, **bounds)


def one_of(*schemas: Mapping[str, Any]) -> Shape:
    """Return the schema of a value of one of these forms."""
    return Shape(oneOf=[dict(schema) for schema in schemas])


def _schema(hint: Any) -> Shape:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Hashable:
        return LABEL
    if hint in _PLAIN:
        return Shape(type=_PLAIN[hint])
    if isinstance(hint, type) and is_dataclass(hint):
        return shape_of(hint)
    if origin is Literal:
        return TEXT("One of " + ", ".join(inner) + ".")
    if origin is tuple and inner[-1] is Ellipsis:
        return list_of(_schema(inner[0]))
    if origin is tuple:
        parts = [_schema(each) for each in inner]
        return Shape(type="array", prefixItems=parts, minItems=len(parts), maxItems=len(parts))
    if origin in (Union, types.UnionType):
        (only,) = (_schema(each) for each in inner if each is not type(None))
        is_plain = isinstance(only.get("type"), str) and only["type"] not in ("object", "array")
        return only(type=[only["type"], "null"]) if is_plain else only.or_null()
    raise TypeError(f"no JSON Schema for {hint}")
