"""Build JSON Schema of objects, lists, values and dataclasses, and write answers by it."""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, partial
from typing import Any, ClassVar, Final, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from rankcorr._output.results import Result


class Shape(dict[str, Any]):
    """A JSON Schema; called with a description and further keywords, it returns a schema that has them too.

    Examples
    --------
    >>> Shape(type="number")("Probability of a slip.", minimum=0, maximum=1)
    {'type': 'number', 'minimum': 0, 'maximum': 1, 'description': 'Probability of a slip.'}
    """

    attribute: str | None = None

    def __call__(self, about: str | None = None, **keywords: Any) -> Shape:
        """Return this schema with further keywords, and with a description if there is one."""
        changed = copy(self)
        changed.update(keywords if about is None else {**keywords, "description": about})
        return changed

    def read_from(self, attribute: str) -> Shape:
        """Return the schema of a property of an answer that has another name in the result."""
        shape = copy(self)
        shape.attribute = attribute
        return shape

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
COUNTS: Final = ("presentations", "wins", "ties", "losses")  # of an item, in tables
_SHAPES: Final[dict[type, Shape]] = {}
_PLAIN: Final[dict[Any, str]] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


@dataclass(frozen=True)
class Component:
    """A schema with a name, which is defined once in the document; a generated client has one class for it.

    Examples
    --------
    >>> Component("Count", WHOLE).reference
    {'$ref': '#/components/schemas/Count'}
    """

    name: str
    schema: Mapping[str, Any]

    @classmethod
    def exactly(cls, name: str, about: str | None = None, /, **properties: Any) -> Self:
        """Return the component of an object with exactly these properties, all of them required."""
        return cls(name, exactly(about, **properties))

    @classmethod
    def at_least(cls, name: str, about: str | None = None, /, **properties: Any) -> Self:
        """Return the component of an object with these properties, all of them required, and perhaps others."""
        return cls(name, at_least(about, **properties))

    @classmethod
    def of(cls, owner: type, name: str | None = None, /, *, optional: Collection[str] = (), **changes: Any) -> Self:
        """Return the component of a dataclass, which every field of this type refers to from then on."""
        properties = properties_of(owner, optional=optional, **changes)
        component = cls.at_least(name or owner.__name__, optional=optional, **properties)
        _SHAPES[owner] = component.reference
        return component

    @property
    def reference(self) -> Reference:
        """The reference to use in other schemas."""
        return Reference(self)


class Reference(Shape):
    """A reference to a component, which the document then defines."""

    def __init__(self, component: Component) -> None:
        super().__init__({"$ref": f"#/components/schemas/{component.name}"})
        self.component = component


class Answer:
    """The schema of the answer of a view: an object, whose properties are the shapes in the body of a subclass.

    Properties that are derived from a result are keywords of the class, as are the names of those that may be missing.
    The docstring describes the answer, and the name of the class is that of its component.

    Examples
    --------
    >>> from rankcorr import NullDistribution, PermutationTest, permutation_test
    >>> class TestAnswer(Answer, **properties_of(PermutationTest, "alternative")):
    ...     null = at_least(**properties_of(NullDistribution, "exact"))
    >>> TestAnswer.dump(permutation_test([1, 2, 3], [1, 2, 3]))
    {'alternative': 'two-sided', 'null': {'exact': True}}
    """

    component: ClassVar[Component]
    _write: ClassVar[partial[dict[str, Any]]]

    def __init_subclass__(cls, *, optional: Collection[str] = (), **properties: Shape) -> None:
        properties |= {name: value for name, value in vars(cls).items() if isinstance(value, Shape)}
        for base in cls.__bases__:
            if base is not Answer:  # shared properties are last
                inherited = base.component.schema["properties"]  # type: ignore[attr-defined]
                properties |= {name: shape for name, shape in inherited.items() if name not in properties}
        cls.component = Component.at_least(cls.__name__, inspect.getdoc(cls), optional=optional, **properties)
        cls._write = _object_writer(cls.component.schema)

    @classmethod
    def dump(cls, result: Any) -> dict[str, Any]:
        """Return the attributes of a result, or the values of a mapping, that the schema has."""
        return cls._write(result)


def _writer(schema: Mapping[str, Any]) -> Callable[[Any], Any] | None:
    """Return the function that takes from a value what its schema lists; None if orjson writes the value as it is."""
    if isinstance(schema, Reference):
        return _writer(schema.component.schema)
    if "properties" in schema:
        return _object_writer(schema)
    if "oneOf" in schema:
        return next(filter(None, map(_writer, schema["oneOf"])), None)
    values = schema.get("items", schema.get("additionalProperties"))
    write = _writer(values) if values else None
    if write is None:
        return None
    if "items" in schema:
        return lambda entries: [None if entry is None else write(entry) for entry in entries]
    return lambda entries: {name: None if entry is None else write(entry) for name, entry in entries.items()}


def _object_writer(schema: Mapping[str, Any]) -> partial[dict[str, Any]]:
    parts = {
        getattr(part, "attribute", None) or name: (name, _writer(part)) for name, part in schema["properties"].items()
    }
    required = {source for source, (name, _) in parts.items() if name in schema.get("required", ())}
    is_plain = all(name == source and write is None for source, (name, write) in parts.items())
    return partial(_write_object, parts, required, parts.keys() if is_plain else None)


def _write_object(
    parts: Mapping[str, Any], required: AbstractSet[str], plain: AbstractSet[str] | None, value: Any
) -> dict[str, Any]:
    """Write the parts of an object; a part that may be missing is left out where the attribute is None."""
    content = value if type(value) is dict else getattr(value, "__dict__", {})
    if content.keys() == plain and (content is value or plain == required):
        return content  # 100,000 rows of a table would take 0.5 s more
    if isinstance(value, Mapping):
        values = value
    else:
        attributes = ((source, getattr(value, source)) for source in parts)
        values = {source: entry for source, entry in attributes if entry is not None or source in required}
    if not required <= values.keys():
        raise KeyError(*(required - values.keys()))
    written = {}
    for source, entry in values.items():
        if source in parts:
            name, write = parts[source]
            written[name] = entry if entry is None or write is None else write(entry)
    return written


@cache
def shape_of(cls: type) -> Shape:
    """Return the JSON Schema of a dataclass, which lists all of its fields; numbers are never nan.

    Examples
    --------
    >>> from adaptive.ledger import Flag
    >>> shape_of(Flag)["properties"]["reason"]
    {'type': 'string', 'description': 'Text for the organiser.'}
    """
    return exactly((inspect.getdoc(cls) or "").split("\n", maxsplit=1)[0], **properties_of(cls, has_nan=False))


def properties_of(
    cls: type, *names: str, has_nan: bool | None = None, optional: Collection[str] = (), **changes: Mapping[str, Any]
) -> dict[str, Shape]:
    """Return the JSON Schemas of fields and properties of a dataclass, by default of all fields, with their docstrings.

    Parameters
    ----------
    cls : type
        A dataclass; the section of attributes in its docstring, as numpydoc has it, describes the fields.
    *names : str
    has_nan : bool, optional
        Whether numbers may be nan, which is null in an answer; by default those of a `Result`.
    optional : collection of str
        Properties that are missing, not null, where they are None.
    **changes
        Keywords that are added to the schema of a field; whole schemas replace it, or are those of further fields.

    Examples
    --------
    >>> from adaptive.ledger import CampaignResult
    >>> properties_of(CampaignResult, "n_votes", "signal")["signal"]
    {'type': 'boolean', 'description': 'Whether the votes rule out coin flips.'}
    >>> from rankcorr import CorrelationInterval
    >>> properties_of(CorrelationInterval, "low")["low"]
    {'type': ['number', 'null'], 'description': 'Ends of the interval; null if undefined.'}
    """
    shapes: dict[str, Shape] = {}
    for name in dict.fromkeys((*(names or (field.name for field in fields(cls))), *changes)):
        change = changes.get(name, {})
        hint, text = _declaration(cls, name)
        if name in optional and get_origin(hint) in (Union, types.UnionType):
            (hint,) = (part for part in get_args(hint) if part is not type(None))
        if change.keys() & {"type", "$ref", "oneOf"}:
            shapes[name] = (change if isinstance(change, Shape) else Shape(change))(change.get("description", text))
            continue
        shape = _schema(hint)
        if hint in (int, float) and (name.startswith("n_") or name in (*COUNTS, "last_ballot")):
            shape = shape(minimum=0)
        if shape.get("type") == "number" and (issubclass(cls, Result) if has_nan is None else has_nan):
            shape = NUMBER_OR_NULL
        shapes[name] = shape(text)(**change)
    return shapes


def _declaration(cls: type, name: str) -> tuple[Any, str | None]:
    """Return the type and the description of a field or property; None for both if a class has none of this name."""
    hints = get_type_hints(cls)
    if name in hints:
        return hints[name], _attribute_texts(cls).get(name)
    declared = inspect.getattr_static(cls, name, None)
    getter = getattr(declared, "fget", None) or getattr(declared, "func", None)
    if getter is None:
        return None, None
    return get_type_hints(getter)["return"], _as_json((inspect.getdoc(getter) or "").split("\n\n")[0])


def _attribute_texts(cls: type) -> dict[str, str]:
    """Return the text on each attribute in the docstrings of a class and its bases."""
    texts = {} if cls.__base__ is None else dict(_attribute_texts(cls.__base__))
    _, _, section = inspect.cleandoc(cls.__doc__ or "").partition("Attributes\n----------\n")
    for names, text in re.findall(r"^(\w.*?) : .*\n((?:    .*\n?)+)", section.partition("\n\n")[0], re.MULTILINE):
        texts |= dict.fromkeys(names.split(", "), _as_json(text))
    return texts


def _as_json(text: str) -> str:
    """Return a text of a docstring as it holds for JSON, in one line."""
    return re.sub(r"\b(nan|None)\b", "null", " ".join(text.split()))


def exactly(about: str | None = None, /, *, optional: Any = (), **properties: Any) -> Shape:
    """Return the schema of an object with exactly these properties; only those in `optional` may be missing."""
    return at_least(optional=optional, **properties)(about, additionalProperties=False)


def at_least(about: str | None = None, /, *, optional: Any = (), **properties: Any) -> Shape:
    """Return the schema of an object with these properties and perhaps others; those in `optional` may be missing."""
    required = [name for name in properties if name not in optional]
    return Shape(type="object", required=required, properties=properties)(about)


def map_of(values: Mapping[str, Any], *, about: str | None = None, **bounds: Any) -> Shape:
    """Return the schema of an object of names to these values; `bounds` are further keywords, such as minProperties."""
    return Shape(type="object", additionalProperties=values)(about, **bounds)


def list_of(items: Mapping[str, Any], *, about: str | None = None, **bounds: Any) -> Shape:
    """Return the schema of a list of these values; `bounds` are further keywords, such as minItems, or type."""
    return Shape(type="array", items=items)(about, **bounds)


def one_of(*schemas: Mapping[str, Any]) -> Shape:
    """Return the schema of a value of one of these forms."""
    return Shape(oneOf=list(schemas))


def _schema(hint: Any) -> Shape:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Hashable:
        return LABEL
    if hint in _PLAIN:
        return Shape(type=_PLAIN[hint])
    if isinstance(hint, type) and is_dataclass(hint):
        return _SHAPES.get(hint) or shape_of(hint)
    if origin is Literal:
        return TEXT("One of " + ", ".join(inner) + ".")
    if origin is np.ndarray:
        return list_of(NUMBER if issubclass(get_args(inner[1])[0], np.floating) else COUNT)
    if origin in (list, Sequence) or (origin is tuple and inner[-1] is Ellipsis):
        return list_of(_schema(inner[0]))
    if origin is tuple:
        parts = [_schema(part) for part in inner]
        return Shape(type="array", prefixItems=parts, minItems=len(parts), maxItems=len(parts))
    if origin in (Union, types.UnionType):
        (only,) = (_schema(choice) for choice in inner if choice is not type(None))
        is_plain = isinstance(only.get("type"), str) and only["type"] not in ("object", "array")
        return only(type=[only["type"], "null"]) if is_plain else only.or_null()
    raise TypeError(f"no JSON Schema for {hint}")
