"""Library calls for the requests that compare rankings, and their results as answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rankcorr import Ranking, correlate_many, correlation_matrix
from rankcorr.notices import collected_notices
from rankcorr.summary import correlate
from rankcorr.weights import DEFAULT_N0
from service.fields import settings
from service.work import Deadline

Answer = dict[str, Any]


def of_pair(gold: Ranking, system: Ranking, coefficients: Sequence[Any], options: Mapping[str, Any]) -> Answer:
    """Coefficients of two rankings."""
    with collected_notices() as notices:
        results = correlate(gold, system, coefficients=coefficients, names=("gold", "system"), **options)
    undefined = [name for name, result in results.items() if math.isnan(result.statistic)]
    return {
        "n_items": next(iter(results.values())).n_items,
        "coefficients": {name: result.statistic for name, result in results.items()},
        "ties": {"gold": gold.n_ties, "system": system.n_ties},
        "warnings": [{"message": message, "coefficients": undefined} for message in notices],
    }


def of_systems(
    gold: Ranking,
    systems: Mapping[str, Ranking],
    coefficients: Sequence[Any],
    options: Mapping[str, Any],
    sort_by: str | None = None,
) -> Answer:
    """Table of many systems against one gold ranking, the best first, those that are undefined last."""
    first = sort_by or coefficients[0]
    asked = dict.fromkeys((*coefficients, first))
    deadline = Deadline(settings().limits.max_seconds)
    columns, warnings = {}, []
    for name in asked:
        with collected_notices() as notices:
            columns[name] = correlate_many(
                gold, systems, coefficient=name, workers=1, progress=deadline, **_options_of(name, options)
            ).statistic.tolist()
        warnings += [{"message": message, "coefficients": [name]} for message in notices]
    rows = [
        {
            "name": name,
            "coefficients": {coefficient: columns[coefficient][place] for coefficient in asked},
            "ties": system.n_ties,
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


def of_each_with_each(rankings: Mapping[str, Ranking], coefficient: Any, options: Mapping[str, Any]) -> Answer:
    """Matrix of one coefficient."""
    deadline = Deadline(settings().limits.max_seconds)
    with collected_notices() as notices:
        result = correlation_matrix(
            rankings, coefficient=coefficient, workers=1, progress=deadline, **_options_of(coefficient, options)
        )
    return {
        "n_items": result.n_items,
        "coefficient": coefficient,
        "names": list(rankings),
        "matrix": result.statistic,
        "warnings": [{"message": message, "coefficients": [coefficient]} for message in notices],
    }


def _options_of(coefficient: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of one coefficient of several: the plain ones weigh all items alike, whatever n0 and the weigher are."""
    if coefficient in ("rho", "tau"):
        return {**options, "n0": DEFAULT_N0, "weigher": None}
    return dict(options)
