"""Qrels, runs, metrics and groups of queries in a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from flask import g
from marshmallow import ValidationError

from rankcorr.coefficients import COEFFICIENTS
from rankcorr.evaluation import Qrels, Run
from rankcorr.evaluation.metrics import ir_measures_package
from service.http import deadline
from service.http.problems import Name, shown
from service.schemas.components import Component
from service.schemas.fields import LABEL_SCHEMA, Documented, Limit, check_limit
from service.schemas.ranking_fields import check_labels

_NUMBERS: Final = frozenset((int, float))
_DEPTH: Final = "@[1-9][0-9]{0,5}"
_OWN: Final = "|".join((*COEFFICIENTS, "tau_ap", "rbo", "ap", f"p{_DEPTH}"))
_FAMILIAR: Final = f"ndcg|ndcg{_DEPTH}|rr|r{_DEPTH}"
METRICS: Final = f"({_OWN}|{_FAMILIAR})"
MOST_METRICS: Final = 20

_LABELS: Final = {
    "type": "array",
    "minItems": 1,
    "items": {**LABEL_SCHEMA, "minLength": 1},
    "not": {"allOf": [{"contains": {"type": "string"}}, {"contains": {"type": "integer"}}]},
}


def _columns(value: str) -> dict[str, Any]:
    names = ("query", "document", value)
    kinds = (_LABELS, _LABELS, {"type": "array", "minItems": 1, "items": {"type": "number"}})
    return {
        "type": "object",
        "description": "Columns of one length, with a row for each document of a query.",
        "required": list(names),
        "additionalProperties": False,
        "properties": dict(zip(names, kinds, strict=True)),
    }


NUMBERS_BY_QUERY: Final = Component(
    "NumbersByQuery",
    {
        "type": "object",
        "minProperties": 1,
        "description": "By query, the number of each document.",
        "propertyNames": {"minLength": 1},
        "additionalProperties": {
            "type": "object",
            "propertyNames": {"minLength": 1},
            "additionalProperties": {"type": "number"},
        },
        "not": {"additionalProperties": {"maxProperties": 0}},  # no document at all
    },
)
RELEVANCE_COLUMNS: Final = Component("RelevanceColumns", _columns("relevance"))
SCORE_COLUMNS: Final = Component("ScoreColumns", _columns("score"))


class ByQuery(Documented):
    """Numbers of documents by query: relevance, or the scores of a run."""

    def __init__(self, kind: type[Qrels | Run], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kind = kind
        columns = RELEVANCE_COLUMNS if kind is Qrels else SCORE_COLUMNS
        self.documented = {"oneOf": [NUMBERS_BY_QUERY.reference, columns.reference]}

    def read(self, value: Any) -> Qrels | Run:
        """Check a value, and return it as the library call takes it.

        Columns are known by their lists; a query holds an object in the other form.
        """
        if not isinstance(value, dict) or not value:
            raise ValidationError(f"must be an object of query to an object, or of columns; got {shown(value)}")
        found = self._of_columns(value) if any(isinstance(each, list) for each in value.values()) else self._of(value)
        count_documents(len(found))
        deadline.of_request()()
        return found

    def _of(self, value: dict[str, Any]) -> Qrels | Run:
        for query, numbers in value.items():
            if not isinstance(numbers, dict):
                message = f"must be an object of document to {self.kind.value_name}; got {shown(numbers)}"
                raise ValidationError({Name(query): [message]})
            check_numbers(numbers, self.kind.value_name, query)
        return self.kind.from_dict(value)

    def _of_columns(self, value: dict[str, Any]) -> Qrels | Run:
        names = ("query", "document", self.kind.value_name)
        if value.keys() != set(names):
            raise ValidationError(f"columns must be {', '.join(names)}; got {shown(list(value))}")
        for name in names[:2]:
            check_labels(value[name], name)
        numbers = value[names[2]]
        if not isinstance(numbers, list):
            raise ValidationError({names[2]: [f"must be a list of numbers; got {shown(numbers)}"]})
        if not set(map(type, numbers)) <= _NUMBERS:
            wrong = next(place for place, each in enumerate(numbers) if type(each) not in _NUMBERS)
            raise ValidationError({names[2]: {str(wrong): [f"must be a number; got {shown(numbers[wrong])}"]}})
        return self.kind.from_columns(*(value[name] for name in names))


def check_numbers(numbers: Mapping[str, Any], what: str, *path: str) -> None:
    """Refuse an object that holds anything but numbers; `path` leads to it."""
    if set(map(type, numbers.values())) <= _NUMBERS:
        return
    document = next(name for name, number in numbers.items() if type(number) not in _NUMBERS)
    message: Any = {Name(document): [f"the {what} must be a number; got {shown(numbers[document])}"]}
    for step in reversed(path):
        message = {Name(step): message}
    raise ValidationError(message)


def count_documents(count: int) -> None:
    """Count documents of the request; refuse too many."""
    g.n_items = g.get("n_items", 0) + count
    check_limit("max_query_documents", g.n_items, of="documents of an evaluation, over qrels, runs and queries")


class RunsByName(Documented):
    """Runs by name."""

    documented: Mapping[str, Any] = MappingProxyType(
        {
            "type": "object",
            "minProperties": 1,
            "maxProperties": Limit("max_systems"),
            "propertyNames": {"minLength": 1},
            "additionalProperties": {"oneOf": [NUMBERS_BY_QUERY.reference, SCORE_COLUMNS.reference]},
        }
    )

    def read(self, value: Any) -> dict[str, Run]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict) or not value or "" in value:
            raise ValidationError(f"must be an object of name to run, with at least one; got {shown(value)}")
        check_limit("max_systems", len(value), of="runs")
        one = ByQuery(Run)
        found, errors = {}, {}
        for name, run in value.items():
            try:
                found[name] = one.read(run)
            except ValidationError as error:
                errors[Name(name)] = error.messages
        if errors:
            raise ValidationError(errors)
        return found  # type: ignore[return-value]


class MetricNames(Documented):
    """Names of metrics: at least one, each once."""

    documented: Mapping[str, Any] = MappingProxyType(
        {
            "type": "array",
            "items": {"type": "string", "pattern": f"^{METRICS}$", "example": "tau_w"},
            "minItems": 1,
            "maxItems": MOST_METRICS,
            "uniqueItems": True,
            "description": (
                "tau_w, rho_w, tau, rho, tau_ap, rbo, ap, p@10 with any depth; ndcg, ndcg@10, rr and r@10 if the "
                "service has ir_measures. These four need relevance in whole numbers of at most 1,000."
            ),
        }
    )

    def read(self, value: Any) -> tuple[str, ...]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, list) or not 1 <= len(value) <= MOST_METRICS:
            raise ValidationError(f"must be a list of 1 to {MOST_METRICS} metrics; got {shown(value)}")
        return metric_names(value)


def metric_names(names: list[Any]) -> tuple[str, ...]:
    """Refuse names of no metric, names that come twice, and metrics for which the service lacks a package."""
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(METRICS, name):
            raise ValidationError(
                "must hold some of tau_w, rho_w, tau, rho, tau_ap, rbo, ap, p@K, ndcg, ndcg@K, rr and r@K, with a "
                f"depth K; got {shown(name)}"
            )
    if len(set(names)) < len(names):
        raise ValidationError(f"must name each of its entries once; got {shown(names)}")
    familiar = [name for name in names if re.fullmatch(_FAMILIAR, name)]
    if familiar:
        try:
            ir_measures_package()
        except ImportError as error:
            raise ValidationError(f"{', '.join(familiar)}: this service was installed without ir_measures") from error
    return tuple(names)


class GroupsOfQueries(Documented):
    """A group for each query."""

    documented: Mapping[str, Any] = MappingProxyType(
        {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": {"type": "string"},
            "description": "By query, such as genre or language: each group is compared alone too.",
        }
    )

    def read(self, value: Any) -> dict[str, str]:
        """Check a value, and return it as the library call takes it."""
        if not isinstance(value, dict) or not value:
            raise ValidationError(f"must be an object of query to group; got {shown(value)}")
        for query, group in value.items():
            if not isinstance(group, str):
                raise ValidationError({Name(query): [f"a group is text; got {shown(group)}"]})
        return value
