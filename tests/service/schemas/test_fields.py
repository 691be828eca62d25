"""Each field accepts what the JSON Schema in its documentation accepts, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from marshmallow import ValidationError

from adaptive._budget import PlanOptions
from service.schemas.ballot_fields import Interval
from service.schemas.fields import Choice, Choices, Flag, Number, Seed, Text, Vocabulary, Whole, declared_field

LETTER = Vocabulary("Letter", {"type": "string", "enum": ["a", "b"]})
COMPONENTS = {"components": {"schemas": {LETTER.name: LETTER.schema}}}
FIELDS = [
    Number(),
    Number(above=-1, most=10),
    Number(least=0, most=1),
    Whole(),
    Whole(least=1, most=5),
    Seed(),
    declared_field(PlanOptions, "fraction"),
    Flag(),
    Choice(LETTER),
    Choices(LETTER),
    Text(),
    Interval(most=1),
]
NUMBERS = st.sampled_from([-1, 0, 1, 5, 10, 1.0, 0.5, 1.5, -0.0]) | st.integers(-3, 12) | st.floats(-2, 11)
PLAIN = NUMBERS | st.sampled_from(["a", "b", "", "1", True, False])
VALUES = PLAIN | st.lists(st.sampled_from(["a", "b", "c"]) | NUMBERS, max_size=3) | st.dictionaries(st.text(), PLAIN)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: str(field.documented))
@given(value=VALUES)
def test_a_field_is_as_strict_as_its_documentation(field, value):
    documented = Draft202012Validator({**field.documented, **COMPONENTS}).is_valid(value)
    if isinstance(field, Interval) and documented:
        documented = value[0] <= value[1]  # which a JSON Schema cannot say
    try:
        field.read(value)
    except ValidationError:
        assert not documented
    else:
        assert documented
