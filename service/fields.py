"""Fields of requests and responses: as strict as the JSON Schema that documents them, and fast for long arrays.

Marshmallow's own numbers take "1", and its lists look at each element in Python. These take exactly what JSON says, and
look at an array once, as a whole.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from flask import current_app, g
from marshmallow import ValidationError
from marshmallow.fields import Field

from rankcorr import Ranking, RankingError
from rankcorr.checks import shown
from service.settings import Settings, variable

LABEL_SCHEMA: Final = {"type": ["string", "integer"]}
_LABEL_TYPES: Final = frozenset((str, int))
_NUMBER_TYPES: Final = frozenset((int, float))
_NUMBER_TEXT: Final = re.compile(r"[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?")
_WHOLE_TEXT: Final = re.compile(r"[+-]?[0-9]{1,18}")


def settings() -> Settings:
    """Settings of the app that answers."""
    found: Settings = current_app.extensions["rankcorr"].settings
    return found


def check_limit(name: str, count: int, *, of: str) -> None:
    """Refuse a count above a limit; the message says the limit, its variable, and the count."""
    most = getattr(settings().limits, name)
    if count > most:
        raise ValidationError(f"at most {most} {of} ({variable(name)}); got {count}")


class Documented(Field[Any]):
    """A field with a JSON Schema of its own."""

    documented: Mapping[str, Any] = MappingProxyType({})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # null is refused like any other value of a wrong type
        self.error_messages["null"] = "this field may not be null"
        self.error_messages["required"] = "this field is needed"

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:  # noqa: ARG002
        return self.read(value)

    def read(self, value: Any) -> Any:
        """Return the value as the views take it, or raise a `ValidationError`."""
        raise NotImplementedError


class Number(Documented):
    """A finite number; text and booleans are none."""

    documented: Mapping[str, Any] = MappingProxyType({"type": "number"})
    wanted = "a number"

    def __init__(self, *, above: float = -math.inf, least: float = -math.inf, most: float = math.inf, **kwargs: Any):
        super().__init__(**kwargs)
        self.above, self.least, self.most = above, least, most
        bounds = {"exclusiveMinimum": above, "minimum": least, "maximum": most}
        self.documented = {**type(self).documented, **{key: n for key, n in bounds.items() if math.isfinite(n)}}

    def read(self, value: Any) -> Any:
        """Return the value as the views take it."""
        number = self._parsed(value)
        if number is None or not self._fits(number):
            raise ValidationError(f"must be {self.wanted}{self._range()}; got {shown(value)}")
        return number

    def _parsed(self, value: Any) -> float | int | None:
        return value if type(value) in _NUMBER_TYPES else None

    def _fits(self, number: float) -> bool:
        return self.above < number and self.least <= number <= self.most and abs(number) < math.inf

    def _range(self) -> str:
        parts = [
            f" {word} {bound:g}" if abs(bound) < 1e6 else f" {word} {int(bound)}"
            for word, bound in (("above", self.above), ("of at least", self.least), ("of at most", self.most))
            if math.isfinite(bound)
        ]
        return " and".join(parts)


class Whole(Number):
    """A whole number; 2.0 is one, as in JSON Schema."""

    documented: Mapping[str, Any] = MappingProxyType({"type": "integer"})
    wanted = "a whole number"

    def _parsed(self, value: Any) -> int | None:
        if type(value) is float and value.is_integer() and abs(value) < 2**63:
            return int(value)
        return value if type(value) is int else None


class QueryNumber(Number):
    """A number of a query string."""

    def _parsed(self, value: Any) -> float | None:
        return float(value) if _NUMBER_TEXT.fullmatch(value) else None


class QueryWhole(Whole):
    """A whole number of a query string."""

    def _parsed(self, value: Any) -> int | None:
        return int(value) if _WHOLE_TEXT.fullmatch(value) else None


class Flag(Documented):
    """true or false; 1 and "yes" are neither."""

    documented: Mapping[str, Any] = MappingProxyType({"type": "boolean"})

    def read(self, value: Any) -> bool:
        """Return the value as the views take it."""
        if type(value) is not bool:
            raise ValidationError(f"must be true or false; got {shown(value)}")
        return value


class Choice(Documented):
    """One of some words."""

    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = tuple(choices)
        self.documented = {"type": "string", "enum": list(self.choices)}

    def read(self, value: Any) -> str:
        """Return the value as the views take it."""
        if not isinstance(value, str) or value not in self.choices:
            raise ValidationError(f"must be one of {', '.join(map(repr, self.choices))}; got {shown(value)}")
        return value


class Choices(Documented):
    """Some of some words, each once, at least one."""

    def __init__(self, choices: Iterable[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.choices = tuple(choices)
        items = {"type": "string", "enum": list(self.choices)}
        self.documented = {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}

    def read(self, value: Any) -> tuple[str, ...]:
        """Return the value as the views take it."""
        if not isinstance(value, list) or not value:
            raise ValidationError(f"must be a list of some of {', '.join(map(repr, self.choices))}; got {shown(value)}")
        for entry in value:
            if not isinstance(entry, str) or entry not in self.choices:
                raise ValidationError(f"must hold some of {', '.join(map(repr, self.choices))}; got {shown(entry)}")
        if len(set(value)) < len(value):
            raise ValidationError(f"must name each of its entries once; got {shown(value)}")
        return tuple(value)


class Text(Documented):
    """Text that is not empty."""

    documented: Mapping[str, Any] = MappingProxyType({"type": "string", "minLength": 1})

    def read(self, value: Any) -> str:
        """Return the value as the views take it."""
        if not isinstance(value, str) or not value:
            raise ValidationError(f"must be a text that is not empty; got {shown(value)}")
        return value


class Dumped(Documented):
    """A field of a response that is written as it is: arrays at the speed of C, nan as null."""

    def __init__(self, schema: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.documented = schema

    def _serialize(self, value: Any, attr: str | None, obj: Any, **kwargs: Any) -> Any:  # noqa: ARG002
        return value


RANKING_SCHEMA: Final[Mapping[str, Any]] = {
    "description": (
        "A ranking, in exactly one way. `scores`: larger is better. `ranks`: smaller is better, 1 is the top. `order`: "
        "labels from best to worst, where a nested list is a group of ties. Scores and ranks are an object of label to "
        "number, or an array of numbers, with the labels in a second array if there are any."
    ),
    "oneOf": [
        *(
            {
                "type": "object",
                "title": f"{name} by label",
                "required": [name],
                "additionalProperties": False,
                "properties": {
                    name: {"type": "object", "minProperties": 2, "additionalProperties": {"type": "number"}}
                },
            }
            for name in ("scores", "ranks")
        ),
        *(
            {
                "type": "object",
                "title": f"{name} in an array",
                "required": [name],
                "additionalProperties": False,
                "properties": {
                    name: {"type": "array", "minItems": 2, "items": {"type": "number"}},
                    "labels": {"type": "array", "minItems": 2, "uniqueItems": True, "items": LABEL_SCHEMA},
                },
            }
            for name in ("scores", "ranks")
        ),
        {
            "type": "object",
            "title": "order",
            "required": ["order"],
            "additionalProperties": False,
            "properties": {
                "order": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"anyOf": [LABEL_SCHEMA, {"type": "array", "minItems": 1, "items": LABEL_SCHEMA}]},
                }
            },
        },
    ],
    "example": {"scores": {"king": 9.1, "queen": 8.7, "cabbage": 1.2}},
}

_WAYS: Final = ("scores", "ranks", "order")


class RankingField(Documented):
    """A ranking, in exactly one of the ways of `RANKING_SCHEMA`; it becomes a `Ranking`."""

    documented: Mapping[str, Any] = MappingProxyType({"$ref": "#/components/schemas/Ranking"})

    def read(self, value: Any) -> Ranking:
        """Return the value as the views take it."""
        way = _way(value)
        given = value[way]
        if "labels" in value:
            check_labels(value["labels"], "labels")
        check_limit("max_items", _n_items(way, given), of="items of a ranking")
        try:
            ranking = _ordered(given) if way == "order" else _ranked(way, given, value.get("labels"))
        except RankingError as error:
            raise ValidationError({way: [str(error)]}) from error
        g.n_items = g.get("n_items", 0) + ranking.n_items
        return ranking


def _way(value: Any) -> str:
    """The key that says what the numbers or labels mean."""
    if not isinstance(value, dict):
        raise ValidationError(
            f'must be an object with one of the keys "scores", "ranks" and "order"; got {shown(value)}'
        )
    ways = [name for name in _WAYS if name in value]
    if len(ways) != 1:
        got = f"both {' and '.join(map(repr, ways))}" if ways else f"none, but {shown(list(value))}"
        raise ValidationError(
            'exactly one of "scores" (larger is better), "ranks" (1 is the top) and "order" (labels, best first) is '
            f"needed; got {got}"
        )
    with_labels = ways[0] != "order" and isinstance(value[ways[0]], list)
    unknown = [key for key in value if key != ways[0] and not (with_labels and key == "labels")]
    if "labels" in unknown:
        where = "an order is made of labels" if ways[0] == "order" else "the keys of the object are the labels"
        raise ValidationError({"labels": [f"labels are given twice: {where}"]})
    if unknown:
        raise ValidationError({key: ["unknown field"] for key in unknown})
    return ways[0]


def _n_items(way: str, given: Any) -> int:
    if not isinstance(given, list) and (way == "order" or not isinstance(given, dict)):
        form = "an array" if way == "order" else "an object of label to number, or an array of numbers"
        raise ValidationError({way: [f"must be {form}; got {shown(given)}"]})
    if way == "order":
        return sum(len(entry) if isinstance(entry, list) else 1 for entry in given)
    return len(given)


def _ranked(way: str, given: Any, labels: Any) -> Ranking:
    numbers = list(given.values()) if isinstance(given, dict) else given
    if not set(map(type, numbers)) <= _NUMBER_TYPES:
        wrong = next(place for place, number in enumerate(numbers) if type(number) not in _NUMBER_TYPES)
        key = str(list(given)[wrong] if isinstance(given, dict) else wrong)
        raise ValidationError({way: {key: [f"must be a number; got {shown(numbers[wrong])}"]}})
    names = list(given) if isinstance(given, dict) else labels
    return (Ranking.from_scores if way == "scores" else Ranking.from_ranks)(numbers, names)


def _ordered(given: list[Any]) -> Ranking:
    kinds = set(map(type, given))
    if not kinds <= _LABEL_TYPES:
        for place, entry in enumerate(given):
            if isinstance(entry, list):
                check_labels(entry, "order", str(place))
            elif type(entry) not in _LABEL_TYPES:
                message = f"must be a label (text or whole number) or a list of tied labels; got {shown(entry)}"
                raise ValidationError({"order": {str(place): [message]}})
    return Ranking.from_order(given)


def check_labels(labels: Any, *path: str) -> None:
    """Refuse what is no list of labels; a label is text or a whole number."""

    def placed(message: Any) -> ValidationError:
        for step in reversed(path):
            message = {step: message if isinstance(message, dict) else [message]}
        return ValidationError(message)

    if not isinstance(labels, list):
        raise placed(f"must be a list of labels; got {shown(labels)}")
    if not set(map(type, labels)) <= _LABEL_TYPES:
        wrong = next(place for place, label in enumerate(labels) if type(label) not in _LABEL_TYPES)
        raise placed({str(wrong): [f"a label is text or a whole number; got {shown(labels[wrong])}"]})


class NamedRankings(Documented):
    """Rankings by name."""

    documented: Mapping[str, Any] = MappingProxyType(
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"$ref": "#/components/schemas/Ranking"},
        }
    )

    def __init__(self, *, limit: str = "max_systems", of: str = "systems of a batch", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.limit, self.of = limit, of
        self.one = RankingField()

    def read(self, value: Any) -> dict[str, Ranking]:
        """Return the value as the views take it."""
        if not isinstance(value, dict) or not value:
            raise ValidationError(f"must be an object of name to ranking, with at least one; got {shown(value)}")
        self._check_count(len(value))
        rankings, errors = {}, {}
        for name, ranking in value.items():
            try:
                rankings[name] = self.one.read(ranking)
            except ValidationError as error:
                errors[name] = error.messages
        if errors:
            raise ValidationError(errors)
        return rankings

    def _check_count(self, count: int) -> None:
        check_limit(self.limit, count, of=self.of)


class MatrixRankings(NamedRankings):
    """Rankings by name, of which each meets each."""

    def _check_count(self, count: int) -> None:
        check_limit("max_matrix_cells", count * count, of="cells of a matrix, rankings times rankings")
