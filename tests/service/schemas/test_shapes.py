"""Schemas of answers: properties derived from results, and the written fields."""

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest

from rankcorr._output.results import Result
from service.schemas.shapes import (
    COUNT,
    NUMBER,
    TEXT,
    Answer,
    Component,
    at_least,
    list_of,
    map_of,
    properties_of,
    shape_of,
)


@dataclass(frozen=True)
class Part:
    """A part.

    Attributes
    ----------
    weight : float
        Its share.
    """

    weight: float
    hidden: str = "never written"


@dataclass(frozen=True, eq=False)
class Whole(Result):
    """All parts.

    Attributes
    ----------
    total : float
        nan without parts.
    n_parts : int
    parts : tuple of Part
        In any order.
    """

    total: float
    n_parts: int
    parts: tuple[Part, ...]
    anything: object = None

    @property
    def half(self) -> float:
        """Half of the total,
        None if undefined.

        Not a word of this.
        """
        return self.total / 2


@dataclass(frozen=True, eq=False)
class Special(Whole):
    """A kind of it."""


PART = at_least(weight=NUMBER)
WITH_PARTS = Whole(3.0, 2, (Part(1.0), Part(2.0)))


def test_properties_have_types_and_docstrings_of_a_result_and_its_bases():
    assert properties_of(Special, "total", "n_parts", "half") == {
        "total": {"type": ["number", "null"], "description": "null without parts."},
        "n_parts": {"type": "integer", "minimum": 0},
        "half": {"type": ["number", "null"], "description": "Half of the total, null if undefined."},
    }
    assert properties_of(Special, "total", has_nan=False)["total"]["type"] == "number"
    assert properties_of(Part)["weight"] == {"type": "number", "description": "Its share."}


def test_keywords_extend_and_schemas_replace_derived_properties():
    shapes = properties_of(Whole, "total", total={"minimum": 0}, parts=list_of(PART), n_parts=COUNT("Two."), more=TEXT)
    assert shapes["total"] == {"type": ["number", "null"], "minimum": 0, "description": "null without parts."}
    assert shapes["parts"] == {"type": "array", "items": PART, "description": "In any order."}
    assert shapes["n_parts"]["description"] == "Two."
    assert shapes["more"] == TEXT
    assert properties_of(Whole, "total", total={"description": "Sum."})["total"]["description"] == "Sum."


def test_a_type_without_a_schema_is_refused():
    with pytest.raises(TypeError, match="no JSON Schema for <class 'object'>"):
        shape_of(Whole)


def test_a_class_has_one_schema_for_all_its_uses():
    @dataclass(frozen=True)
    class Row:
        """A row."""

        name: str

    @dataclass(frozen=True)
    class Table:
        """A table."""

        best: Row | None

    component = Component.of(Row, name=TEXT)
    hints = Table.__annotations__
    hints["best"] = Row | None
    assert properties_of(Table)["best"] == {"oneOf": [component.reference, {"type": "null"}]}


class PartsAnswer(Answer, **properties_of(Whole, "total", "half"), optional=("note",)):
    """What there is."""

    items = list_of(PART).read_from("parts")


class NamedAnswer(PartsAnswer, optional=("named", "note")):
    """The same, with names."""

    named = map_of(Component("PartByName", PART).reference.or_null())
    note = TEXT


def test_an_answer_is_a_component_with_its_name_and_docstring():
    assert PartsAnswer.component.name == "PartsAnswer"
    assert PartsAnswer.component.schema["description"] == "What there is."
    assert PartsAnswer.component.schema["required"] == ["total", "half", "items"]
    assert NamedAnswer.component.schema["properties"].keys() == {"total", "half", "items", "named", "note"}
    assert NamedAnswer.component.schema["required"] == ["total", "half", "items"]


def test_an_answer_has_only_the_fields_of_its_schema():
    assert PartsAnswer.dump(WITH_PARTS) == {"total": 3.0, "half": 1.5, "items": [{"weight": 1.0}, {"weight": 2.0}]}
    named = {"a": Part(1.0), "b": None}
    assert NamedAnswer.dump(MappingProxyType({"total": 0.0, "half": None, "parts": [], "named": named, "x": 1})) == {
        "total": 0.0,
        "half": None,
        "items": [],
        "named": {"a": {"weight": 1.0}, "b": None},
    }


def test_scalar_values_are_written_unchanged():
    class ArrayAnswer(Answer):
        """Numbers, and rows."""

        values = list_of(list_of(NUMBER))

        rows = list_of(at_least(name=TEXT))

    values, rows = np.ones((2, 2)), [{"name": "a"}, {"name": "b", "other": 1}]
    content = ArrayAnswer.dump({"values": values, "rows": rows})
    assert content["values"] is values
    assert content["rows"][0] is rows[0]
    assert content["rows"][1] == {"name": "b"}


def test_an_answer_without_a_required_value_is_an_error():
    with pytest.raises(KeyError, match="half"):
        PartsAnswer.dump({"total": 1.0, "parts": []})
    with pytest.raises(AttributeError, match="total"):
        PartsAnswer.dump(Part(1.0))
