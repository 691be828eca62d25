"""Serve POST /v1/correlations, /v1/correlations/batch and /v1/correlations/matrix."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rankcorr import Ranking, align, batch, contributions, correlation, correlation_matrix
from rankcorr.errors import collected_notices
from rankcorr.inference.bootstrap import bootstrap_interval
from rankcorr.inference.permutation import permutation_test
from service.api import weighing, work
from service.http import deadline
from service.openapi.blueprint import Blueprint, operation
from service.schemas.correlations import (
    BatchAnswer,
    BatchRequest,
    CorrelationAnswer,
    CorrelationRequest,
    MatrixAnswer,
    MatrixRequest,
)

blueprint = Blueprint("correlations", __name__, url_prefix="/v1/correlations", description="Compare rankings")

GOLD = {"scores": {"king": 9.1, "queen": 8.7, "cabbage": 1.2, "stone": 0.8}}
SYSTEM = {"order": ["queen", "king", ["cabbage", "stone"]]}


@blueprint.route("", methods=["POST"])
@blueprint.arguments(CorrelationRequest, example={"gold": GOLD, "system": SYSTEM, "n0": 2})
@operation("correlate")
@blueprint.response(200, CorrelationAnswer)
def correlate(request: dict[str, Any]) -> dict[str, Any]:
    """Compare a system's ranking with a gold ranking."""
    return compare_pair(**request)


def compare_pair(
    gold: Ranking,
    system: Ranking,
    coefficients: Sequence[Any],
    options: Mapping[str, Any],
    worst: int | None = None,
    inference: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return coefficients of two rankings and, if requested, the most costly items and a comparison with chance."""
    work.admit(work.of_pair(gold, system, len(coefficients), options["missing"], inference))
    with collected_notices() as notices:
        asked = weighing.of_coefficients(coefficients, options)
        found = correlation.correlate(gold, system, names=("gold", "system"), **asked)
    results = {coefficient.name: result for coefficient, result in found.items()}
    undefined = [name for name, result in results.items() if math.isnan(result.statistic)]
    first = next(iter(results.values()))
    answer: dict[str, Any] = {
        "n_items": first.n_items,
        "coefficients": {name: result.statistic for name, result in results.items()},
        "ties": dict(zip(("gold", "system"), _ties(gold, system, options), strict=True)),
        "n_missing": first.n_missing,
        "warnings": [{"message": message, "coefficients": undefined} for message in notices],
    }
    if worst is not None:
        answer["worst"] = {
            name: None if name in undefined else _dearest(gold, system, name, options, worst) for name in coefficients
        }
    if inference is None:
        return answer
    clock = deadline.of_request()
    inferred = {}
    concerned: dict[str, list[str]] = {message: list(undefined) for message in notices}
    for name in coefficients:
        with collected_notices() as further:
            inferred[name] = _inferred(gold, system, name, options, inference, clock)
        for message in further:
            names = concerned.setdefault(message, [])
            names += [name] if name not in names else []
    warnings = [{"message": message, "coefficients": names} for message, names in concerned.items()]
    return answer | {"inference": inferred, "warnings": warnings}


def _ties(gold: Ranking, system: Ranking, options: Mapping[str, Any]) -> tuple[int, int]:
    """Count the tied items of both rankings among the compared items."""
    if options["missing"] == "raise":  # both rankings have the same items
        return gold.n_ties, system.n_ties
    first, second = align(gold, system, missing=options["missing"])
    return first.n_ties, second.n_ties


def _dearest(gold: Ranking, system: Ranking, name: Any, options: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
    """Return the items that cost the system most."""
    parts = contributions(gold, system, **weighing.of_coefficient(name, options))
    return [
        {
            "label": item.label,
            "gold_rank": item.x_rank,
            "system_rank": item.y_rank,
            "weight": item.weight,
            "contribution": item.contribution,
            "cost": item.cost,
        }
        for item in parts.worst(k)
    ]


def _inferred(
    gold: Ranking,
    system: Ranking,
    name: Any,
    options: Mapping[str, Any],
    inference: Mapping[str, Any],
    clock: deadline.Deadline,
) -> dict[str, Any]:
    """Return chance level, test and interval of one coefficient."""
    shared = {
        "n_resamples": inference["n_resamples"],
        "seed": inference["seed"],
        "workers": 1,
        "progress": clock,
        **weighing.of_coefficient(name, options),
    }
    test = permutation_test(gold, system, alternative=inference["alternative"], **shared)
    interval = bootstrap_interval(gold, system, level=inference["level"], method=inference["method"], **shared)
    return {
        "chance": {key: getattr(test.null, key) for key in ("mean", "std", "exact", "n_resamples", "n_undefined")},
        **{key: getattr(test, key) for key in ("standardized", "percentile", "zscore")},
        "pvalue": test.pvalue,
        "interval": {
            key: getattr(interval, key)
            for key in ("low", "high", "method", "standard_error", "n_resamples", "n_undefined")
        },
    }


@blueprint.route("/batch", methods=["POST"])
@blueprint.arguments(
    BatchRequest,
    example={"gold": GOLD, "systems": {"bm25": SYSTEM, "dense": {"order": ["king", "queen", "stone", "cabbage"]}}},
)
@operation("correlateBatch")
@blueprint.response(200, BatchAnswer)
def correlate_batch(request: dict[str, Any]) -> dict[str, Any]:
    """Compare many systems with one gold ranking."""
    return compare_systems(**request)


def compare_systems(
    gold: Ranking,
    systems: Mapping[str, Ranking],
    coefficients: Sequence[Any],
    options: Mapping[str, Any],
    sort_by: str | None = None,
) -> dict[str, Any]:
    """Return a table of many systems against one gold ranking, best first, undefined coefficients at the end."""
    first = sort_by or coefficients[0]
    asked = dict.fromkeys((*coefficients, first))
    work.admit(work.of_many(gold, systems.values(), len(asked), options["missing"]))
    clock = deadline.of_request()
    columns, warnings = {}, []
    n_items: list[int] = [gold.n_items] * len(systems)
    results = batch.correlate_each(
        gold, systems, workers=1, progress=clock, **weighing.of_coefficients(list(asked), options)
    )
    for name, result in zip(asked, results, strict=True):
        with collected_notices() as notices:
            batch.warn_of_undefined(result)
        columns[name] = result.statistic.tolist()
        if result.n_compared is not None:
            n_items = result.n_compared.tolist()
        warnings += [{"message": message, "coefficients": [name]} for message in notices]
    rows = [
        {
            "name": name,
            "n_items": n_items[place],
            "coefficients": {coefficient: columns[coefficient][place] for coefficient in asked},
            "ties": _ties(gold, system, options)[1],
        }
        for place, (name, system) in enumerate(systems.items())
    ]
    values = columns[first]
    best_first = sorted(range(len(rows)), key=lambda i: (math.isnan(values[i]), -values[i]))
    return {
        "n_items": gold.n_items,
        "sort_by": first,
        "systems": [rows[place] for place in best_first],
        "warnings": warnings,
    }


@blueprint.route("/matrix", methods=["POST"])
@blueprint.arguments(MatrixRequest, example={"rankings": {"gold": GOLD, "bm25": SYSTEM}, "coefficient": "tau_w"})
@operation("correlateMatrix")
@blueprint.response(200, MatrixAnswer)
def correlate_matrix(request: dict[str, Any]) -> dict[str, Any]:
    """Compare many rankings with one another."""
    return compare_each_with_each(**request)


def compare_each_with_each(
    rankings: Mapping[str, Ranking], coefficient: Any, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the matrix of one coefficient."""
    work.admit(work.of_matrix(rankings.values()))
    clock = deadline.of_request()
    with collected_notices() as notices:
        result = correlation_matrix(
            rankings, workers=1, progress=clock, **weighing.of_coefficient(coefficient, options)
        )
    return {
        "n_items": result.n_items,
        "coefficient": coefficient,
        "names": list(rankings),
        "matrix": result.statistic,
        "n_compared": result.n_compared,
        "warnings": [{"message": message, "coefficients": [coefficient]} for message in notices],
    }
