"""Library calls for the requests that compare rankings, and their results as answers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rankcorr import Ranking, contributions, correlate_many, correlation_matrix
from rankcorr.inference.bootstrap import bootstrap_interval
from rankcorr.inference.leaderboard import leaderboard
from rankcorr.inference.permutation import permutation_test
from rankcorr.notices import collected_notices
from rankcorr.summary import correlate
from rankcorr.weights import DEFAULT_N0
from service.http.deadline import Deadline
from service.schemas.fields import settings

Answer = dict[str, Any]


def of_pair(
    gold: Ranking,
    system: Ranking,
    coefficients: Sequence[Any],
    options: Mapping[str, Any],
    worst: int | None = None,
    inference: Mapping[str, Any] | None = None,
) -> Answer:
    """Coefficients of two rankings; if asked for, what costs the system most, and how they compare with chance."""
    with collected_notices() as notices:
        results = correlate(gold, system, coefficients=coefficients, names=("gold", "system"), **options)
    undefined = [name for name, result in results.items() if math.isnan(result.statistic)]
    first = next(iter(results.values()))
    answer: Answer = {
        "n_items": first.n_items,
        "coefficients": {name: result.statistic for name, result in results.items()},
        "ties": {"gold": gold.n_ties, "system": system.n_ties},
        "n_missing": first.n_missing,
        "warnings": [{"message": message, "coefficients": undefined} for message in notices],
    }
    if worst is not None:
        answer["worst"] = {
            name: None if name in undefined else _dearest(gold, system, name, options, worst) for name in coefficients
        }
    if inference is None:
        return answer
    deadline = Deadline(settings().limits.max_seconds)
    found = {}
    concerned: dict[str, list[str]] = {message: list(undefined) for message in notices}
    for name in coefficients:
        with collected_notices() as further:
            found[name] = _inferred(gold, system, name, options, inference, deadline)
        for message in further:
            names = concerned.setdefault(message, [])
            names += [name] if name not in names else []
    warnings = [{"message": message, "coefficients": names} for message, names in concerned.items()]
    return answer | {"inference": found, "warnings": warnings}


def _dearest(gold: Ranking, system: Ranking, name: Any, options: Mapping[str, Any], k: int) -> list[Answer]:
    """Items that cost the system most."""
    parts = contributions(gold, system, coefficient=name, **options_of(name, options))
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
    deadline: Deadline,
) -> Answer:
    """Chance level, test and interval of one coefficient."""
    shared = {
        "coefficient": name,
        "n_resamples": inference["n_resamples"],
        "seed": inference["seed"],
        "workers": 1,
        "progress": deadline,
        **options_of(name, options),
    }
    test = permutation_test(gold, system, alternative=inference["alternative"], **shared)
    interval = bootstrap_interval(gold, system, level=inference["level"], method=inference["method"], **shared)
    return {
        "chance": {key: getattr(test.null, key) for key in ("mean", "std", "exact", "n_resamples", "n_undefined")},
        "standardized": test.standardized,
        "pvalue": test.pvalue,
        "interval": {
            key: getattr(interval, key) for key in ("low", "high", "standard_error", "n_resamples", "n_undefined")
        },
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
    n_items: list[int] = [gold.n_items] * len(systems)
    for name in asked:
        with collected_notices() as notices:
            result = correlate_many(
                gold, systems, coefficient=name, workers=1, progress=deadline, **options_of(name, options)
            )
        columns[name] = result.statistic.tolist()
        if result.n_compared is not None:
            n_items = result.n_compared.tolist()
        warnings += [{"message": message, "coefficients": [name]} for message in notices]
    rows = [
        {
            "name": name,
            "n_items": n_items[place],
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
            rankings, coefficient=coefficient, workers=1, progress=deadline, **options_of(coefficient, options)
        )
    return {
        "n_items": result.n_items,
        "coefficient": coefficient,
        "names": list(rankings),
        "matrix": result.statistic,
        "n_compared": result.n_compared,
        "warnings": [{"message": message, "coefficients": [coefficient]} for message in notices],
    }


def options_of(coefficient: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of one coefficient of several: the plain ones weigh all items alike, whatever n0 and the weigher are."""
    if coefficient in ("rho", "tau"):
        return {**options, "n0": DEFAULT_N0, "weigher": None}
    return dict(options)


def of_leaderboard(
    systems: Mapping[str, Ranking],
    coefficient: Any,
    options: Mapping[str, Any],
    gold: Ranking | None = None,
    gold_sets: Mapping[str, Ranking] | None = None,
    **chosen: Any,
) -> Answer:
    """Systems from best to worst, with intervals and tests."""
    deadline = Deadline(settings().limits.max_seconds)
    golds: Any = gold_sets if gold is None else gold
    with collected_notices() as notices:
        result = leaderboard(
            golds,
            systems,
            coefficient=coefficient,
            workers=1,
            progress=deadline,
            **chosen,
            **options_of(coefficient, options),
        )
    return result.to_dict() | {"warnings": [{"message": text, "coefficients": [coefficient]} for text in notices]}
