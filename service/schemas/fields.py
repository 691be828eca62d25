"""Define fields of requests: as strict as the JSON Schema that documents them, and fast on long arrays.

Marshmallow's number fields accept "1", and its lists check each element in Python. These fields accept exactly the
values that the JSON Schema accepts, and check an array in one pass.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from marshmallow import Schema, ValidationError
from marshmallow.fields import Field, Nested

from rankcorr._checks import declaration_of, default_of, repeated
from rankcorr._coefficients import COEFFICIENTS, Pearson
from rankcorr._ranking import MISSING
from rankcorr.inference._interval import correlation_interval
from rankcorr.vectors._target_groups import CATEGORIES
from service.environment import variable
from service.http.body import is_above_zero
from service.http.problems import Name, shown
from service.http.state import settings
from service.schemas.shapes import NUMBER, NUMBER_OR_NULL, TEXT, TRUTH, WHOLE, Component, Shape, list_of, map_of


class Vocabulary(Component):
    """A set of words; a field takes one or several of them."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words, in the order of the document."""
        return tuple(self.schema["enum"])


def vocabulary(name: str, words: Iterable[str], about: str) -> Vocabulary:
    """Return a vocabulary of these words."""
    return Vocabulary(name, TEXT(about, enum=list(words)))


COEFFICIENT: Final = vocabulary("Coefficient", COEFFICIENTS, "Top-weighted or plain, Spearman's or Kendall's.")
SYSTEM_COEFFICIENT: Final = vocabulary(
    "SystemCoefficient", (*COEFFICIENTS, Pearson.name), "A coefficient of ranks, or Pearson's of scores."
)
MISSING_ITEMS: Final = vocabulary("MissingItems", MISSING, "What becomes of items that one of two rankings lacks.")
CANDIDATE: Final = vocabulary("CandidateCategory", CATEGORIES, "How a candidate relates to its target.")

# Whole numbers are read exactly up to 64 bits.
LABEL_SCHEMA: Final = Shape(type=["string", "integer"], minimum=-(2**63), maximum=2**64 - 1)
NAME_SCHEMA: Final = LABEL_SCHEMA(minLength=1)
STATISTIC: Final = NUMBER_OR_NULL(minimum=-1, maximum=1)
NUMBER_TYPES: Final = frozenset((int, float))
LABEL_TYPES: Final = frozenset((str, int))
_NUMBER_TEXT: Final = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?")
_WHOLE_TEXT: Final = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True)
class Limit:
    """A limit from the settings in a schema, which the document fills in; `of` converts it to another number."""

    name: str
    of: Callable[[int], int] = int


def check_limit(name: str, count: int, *, of: str, field: str = "_schema") -> None:
    """Refuse a count above a limit; the message names the limit, its variable, and the count.

    `field` is the one to blame, in a check of a whole request.
    """
    most = getattr(settings().limits, name)
    if count > most:
        raise ValidationError(f"at most {most} {of} ({variable(name)}); got {count}", field)


def placed(messages: Any, *path: str) -> ValidationError:
    """Return an error with these messages, at this path inside a field."""
    for step in reversed(path):
        messages = {step: messages}
    return ValidationError(messages)


def read_at(field: Documented, value: Any, *path: str) -> Any:
    """Read a value at this path inside another field, and place its errors there."""
    try:
        return field.read(value)
    except ValidationError as error:
        raise placed(error.messages, *path) from error


def place_of_other(values: Collection[Any], types: AbstractSet[type]) -> int | None:
    """Return the place of the first value of another type, or None; a list without any is checked at the speed of C."""
    if set(map(type, values)) <= types:
        return None
    return next(place for place, value in enumerate(values) if type(value) not in types)


def check_label_bytes(field: str, labels: Sequence[str | int], times: int) -> None:
    """Refuse labels if writing each of them `times` times would make the answer too large."""
    count = times * sum(len(label.encode()) for label in labels if isinstance(label, str))
    check_limit("max_label_bytes", count, of="bytes of labels in an answer", field=field)


# null is refused like any other value of a wrong type
_MESSAGES: Final[dict[str, Any]] = {"null": "this field may not be null", "required": "this field is needed"}


class Documented(Field[Any]):
    """A field that has its JSON Schema in `documented`, and its description in `about`."""

    default_error_messages = _MESSAGES
    documented: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *, about: str | None = None, **kwargs: Any) -> None:
        super().__init__(metadata=Shape()(about), **kwargs)

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:  # noqa: ARG002
        return self.read(value)

    def read(self, value: Any) -> Any:
        """Check a value, and return it as the library call takes it; here, unchanged.

        Raises
        ------
        ValidationError
            If the field refuses the value.
        """
        return value


class Number(Documented):
    """A finite number; text and booleans are refused."""

    documented: Mapping[str, Any] = NUMBER
    kind = "a number"

    def __init__(
        self,
        *,
        above: float = -math.inf,
        least: float = -math.inf,
        below: float = math.inf,
        most: float = math.inf,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.above, self.least, self.below, self.most = above, least, below, most
        bounds = {"exclusiveMinimum": above, "minimum": least, "exclusiveMaximum": below, "maximum": most}
        self.documented = {**type(self).documented, **{key: n for key, n in bounds.items() if math.isfinite(n)}}

    def read(self, value: Any) -> Any:
        """Check a value, and return it as the library call takes it."""
        number = self._parsed(value)
        if number is None or not self._fits(number):
            raise ValidationError(f"must be {self.kind}{self._range()}; got {shown(value)}")
        return number

    def _parsed(self, value: Any) -> float | int | None:
        return value if type(value) in NUMBER_TYPES else None

    def _fits(self, number: float) -> bool:
        return self.above < number < self.below and self.least <= number <= self.most and abs(number) < math.inf

    def _range(self) -> str:
        bounds = {"above": self.above, "of at least": self.least, "below": self.below, "of at most": self.most}
        return " and".join(
            f" {word} {int(bound)}" if 1e6 <= abs(bound) <= 2**63 else f" {word} {bound:g}"
            for word, bound in bounds.items()
            if math.isfinite(bound)
        )


class Whole(Number):
    """A whole number; 2.0 counts as one, as in JSON Schema."""

    documented: Mapping[str, Any] = WHOLE
    kind = "a whole number"

    def _parsed(self, value: Any) -> int | None:
        if type(value) is float and value.is_integer() and abs(value) < 2**63:
            return int(value)
        return value if type(value) is int else None


def check_numbers(numbers: Mapping[str, Any] | Sequence[Any], *path: str) -> None:
    """Refuse an object or a list that holds a value which is not a number; `path` is its place inside a field."""
    values = numbers.values() if isinstance(numbers, Mapping) else numbers
    if (wrong := place_of_other(values, NUMBER_TYPES)) is not None:
        name, value = list(numbers.items() if isinstance(numbers, Mapping) else enumerate(numbers))[wrong]
        raise placed([f"must be a number; got {shown(value)}"], *path, Name(name))


class NumberMatrix(Documented):
    """Two rows of numbers or more."""

    documented: Mapping[str, Any] = list_of(list_of(NUMBER, minItems=2), minItems=2)

    def read(self, value: Any) -> list[list[float]]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or len(value) < 2:
            raise ValidationError(f"must be a list of two rows of numbers or more; got {shown(value)}")
        for place, row in enumerate(value):
            if not isinstance(row, list) or len(row) < 2:
                raise placed([f"must be a row of two numbers or more; got {shown(row)}"], str(place))
            check_numbers(row, str(place))
        return value


class Count(Whole):
    """A whole number of things, up to a limit."""

    def __init__(self, *, limit: str, of: str, least: int = 1, **kwargs: Any) -> None:
        super().__init__(least=least, **kwargs)
        self.limit, self.of = limit, of
        self.documented = {**self.documented, "maximum": Limit(limit)}

    def read(self, value: Any) -> Any:
        """Check a value, and return it as the library call takes it."""
        number = super().read(value)
        check_limit(self.limit, number, of=self.of)
        return number


def resamples(default: int) -> Count:
    """Make the field of a number of resamples."""
    return Count(limit="max_resamples", of="resamples", load_default=default)


def level() -> Number:
    """Make the field of a confidence level."""
    default = default_of(correlation_interval, "level")
    return Number(least=1e-6, most=1 - 1e-6, load_default=default, about="Level of confidence of the intervals.")


class QueryNumber(Number):
    """A number in a query string."""

    def _parsed(self, value: Any) -> float | None:
        if not _NUMBER_TEXT.fullmatch(value):
            return None
        number = float(value)
        return None if number == 0 and is_above_zero(value) else number


class QueryWhole(Whole):
    """A whole number in a query string."""

    def _parsed(self, value: Any) -> int | None:
        return int(value) if _WHOLE_TEXT.fullmatch(value) else None


class Flag(Documented):
    """true or false; 1 and "yes" are refused."""

    documented: Mapping[str, Any] = TRUTH

    def read(self, value: Any) -> bool:
        """Check a value, and return it as the library call takes it."""
        if type(value) is not bool:
            raise ValidationError(f"must be true or false; got {shown(value)}")
        return value


class Choice(Documented):
    """One of a set of words."""

    def __init__(self, vocabulary: Vocabulary, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = vocabulary.words
        self.documented = vocabulary.reference

    def read(self, value: Any) -> str:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, str) or value not in self.choices:
            raise ValidationError(f"must be one of {', '.join(map(shown, self.choices))}; got {shown(value)}")
        return value


class Text(Documented):
    """Text of at least `least` characters."""

    def __init__(self, *, least: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.least = least
        self.documented = TEXT(minLength=least) if least else TEXT

    def read(self, value: Any) -> str:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, str) or len(value) < self.least:
            raise ValidationError(f"must be {'a text that is not empty' if self.least else 'text'}; got {shown(value)}")
        return value


def first_of(choices: Vocabulary, *, about: str | None = None) -> Choice:
    """Make the field of one of some words, by default the first."""
    return Choice(choices, load_default=choices.words[0], about=about)


class ListOf(Documented):
    """A list of values of one kind, each once, from `least` to `most` of them; messages need a description."""

    def __init__(
        self,
        value: Documented,
        description: str,
        *,
        least: int = 0,
        most: int | None = None,
        is_unique: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.value, self.description, self.least, self.most, self.is_unique = value, description, least, most, is_unique
        bounds: dict[str, Any] = {"minItems": least, "maxItems": most, "uniqueItems": is_unique}
        self.documented = list_of(value.documented, **{key: bound for key, bound in bounds.items() if bound})

    def read(self, value: Any) -> tuple[Any, ...]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or not self.least <= len(value) <= (self.most or len(value)):
            raise ValidationError(f"must be a list of {self.description}; got {shown(value)}")
        entries = tuple(read_at(self.value, entry, str(place)) for place, entry in enumerate(value))
        if self.is_unique and (again := repeated(entries)):
            raise ValidationError(f"entries must not repeat; {shown(again[0])} is listed twice")
        return entries


class ChoiceList(ListOf):
    """A list of words from a set: at least one, each at most once."""

    def __init__(self, vocabulary: Vocabulary, **kwargs: Any) -> None:
        super().__init__(Choice(vocabulary), f"some of {', '.join(map(shown, vocabulary.words))}", least=1, **kwargs)


class ByName(Documented):
    """Values of one kind by name, at least `least` of them; `noun` is the kind in messages.

    If `of` names them, at most as many as systems of a batch are allowed. A name may be empty unless `is_named`.
    """

    def __init__(
        self, value: Documented, noun: str, *, least: int = 1, of: str = "", is_named: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.value, self.noun, self.least, self.of, self.is_named = value, noun, least, of, is_named
        self.documented = map_of(value.documented, minProperties=least)
        if of:
            self.documented["maxProperties"] = Limit("max_systems")
        if is_named:
            self.documented["propertyNames"] = {"minLength": 1}

    def read(self, value: Any) -> dict[str, Any]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict) or len(value) < self.least or (self.is_named and "" in value):
            raise ValidationError(
                f"must be an object of name to {self.noun}, with at least {self.least}; got {shown(value)}"
            )
        self.check_count(len(value))
        values, errors = {}, {}
        for name, entry in value.items():
            try:
                values[name] = self.value.read(entry)
            except ValidationError as error:
                errors[Name(name)] = error.messages
        if errors:
            raise ValidationError(errors)
        return values

    def check_count(self, count: int) -> None:
        """Refuse more values than the limit allows."""
        if self.of:
            check_limit("max_systems", count, of=self.of)


class Part(Nested):
    """An object with a separate schema, and the same error messages as other fields."""

    default_error_messages = _MESSAGES

    def __init__(self, schema: type[Schema], *, about: str | None = None, **kwargs: Any) -> None:
        super().__init__(schema, metadata=Shape()(about), **kwargs)


def declared_field(owner: type, name: str, **options: Any) -> Documented:
    """Make the field of a request from the declaration of a field of the library; `options` are those of the field.

    The bounds, the help and the default are those of `rankcorr._checks.declare`, unless the options say otherwise. One
    of several words needs `vocabulary`: the name of a vocabulary in the document, or one with another description.
    """
    declaration = declaration_of(owner, name)
    derived: dict[str, Any] = {"about": declaration.about}
    if declaration.default is not None and not options.get("required"):
        derived["load_default"] = declaration.default
    if declaration.kind is bool:
        return Flag(**{**derived, **options})
    if declaration.choices:
        about, words = derived.pop("about"), options.pop("vocabulary")
        derived["vocabulary"] = vocabulary(words, declaration.choices, about) if isinstance(words, str) else words
        return Choice(**{**derived, **options})
    bounds = {bound: getattr(declaration, bound) for bound in ("above", "least", "below", "most")}
    return (Whole if declaration.kind is int else Number)(**{**derived, **bounds, **options})


class Seed(Whole):
    """A seed, which determines all random choices in an answer."""

    def __init__(self, *, required: bool = True, about: str = "The same seed, the same answer.", **kwargs: Any) -> None:
        super().__init__(least=0, most=2**63 - 1, required=required, about=about, **kwargs)
