"""Serve POST /v1/correlations, /v1/correlations/batch and /v1/correlations/matrix."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rankcorr import Ranking, align, contributions, correlation_matrix
from rankcorr import _batch as batch
from rankcorr import _correlation as correlation
from rankcorr._checks import collected_notices
from rankcorr._coefficients import named_coefficient
from rankcorr.inference._interval import correlation_interval
from rankcorr.inference._permutation import permutation_test
from service.http.state import state
from service.openapi.blueprint import Blueprint
from service.schemas import correlations as schemas
from service.schemas.inference import CHANCE, INTERVAL, TEST
from service.schemas.shapes import content_of

blueprint = Blueprint("correlations", __name__, url_prefix="/v1/correlations", description="Compare rankings")

MOST_LIGHT_ITEMS = 2_000  # a worker's thread compares as many in 5 ms
MOST_LIGHT_BYTES = 1 << 17
MOST_LIGHT_VALUES = 4 * MOST_LIGHT_ITEMS + 100  # scores and labels of both rankings, and options


@blueprint.post("", name="correlate")
@blueprint.arguments(schemas.CorrelationRequest)
@blueprint.response(200, schemas.CorrelationAnswer)
def correlate(
    gold: Ranking,
    system: Ranking,
    coefficients: Sequence[Any],
    options: Mapping[str, Any],
    worst: int | None = None,
    inference: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Compare a system's ranking with a gold ranking."""
    if inference is not None or max(gold.n_items, system.n_items) > MOST_LIGHT_ITEMS:
        state().pool.pass_on()
    with collected_notices() as notices:
        named = [named_coefficient(name, **options) for name in coefficients]
        correlations = correlation.correlate(
            gold, system, coefficients=named, missing=options["missing"], names=("gold", "system")
        )
    results = {coefficient.name: result for coefficient, result in correlations.items()}
    undefined = [name for name, result in results.items() if math.isnan(result.statistic)]
    concerned = {message: list(undefined) for message in notices}
    first = next(iter(results.values()))
    answer: dict[str, Any] = {
        "n_items": first.n_items,
        "coefficients": {name: result.statistic for name, result in results.items()},
        "ties": dict(zip(("gold", "system"), _ties(gold, system, options), strict=True)),
        "n_missing": first.n_missing,
    }
    if worst is not None:
        answer["worst"] = {
            name: None if name in undefined else _costliest(gold, system, name, options, worst) for name in coefficients
        }
    if inference is not None:
        answer["inference"] = {}
        for name in coefficients:
            with collected_notices() as interval_notices:
                answer["inference"][name] = _infer(gold, system, name, options, inference, interval_notices)
            for message in interval_notices:
                names = concerned.setdefault(message, [])
                names += [name] if name not in names else []
    return answer | {"warnings": [{"message": message, "coefficients": names} for message, names in concerned.items()]}


def _ties(gold: Ranking, system: Ranking, options: Mapping[str, Any]) -> tuple[int, int]:
    """Count the tied items of both rankings among the compared items."""
    if options["missing"] == "raise":  # both rankings have the same items
        return gold.n_ties, system.n_ties
    first, second = align(gold, system, missing=options["missing"])
    return first.n_ties, second.n_ties


def _costliest(gold: Ranking, system: Ranking, name: Any, options: Mapping[str, Any], k: int) -> list[dict[str, Any]]:
    """Return the items that cost the system most."""
    coefficient = named_coefficient(name, **options)
    parts = contributions(gold, system, coefficient=coefficient, missing=options["missing"])
    return [
        {
            "label": item.label,
            "gold_rank": item.x_rank,
            "system_rank": item.y_rank,
            **{part: getattr(item, part) for part in ("weight", "contribution", "cost")},
        }
        for item in parts.worst(k)
    ]


def _infer(
    gold: Ranking,
    system: Ranking,
    name: Any,
    options: Mapping[str, Any],
    inference: Mapping[str, Any],
    notices: list[str],
) -> dict[str, Any]:
    """Return chance level, test and interval of one coefficient; add a note of the interval to the notices."""
    resampling = {option: inference[option] for option in ("n_resamples", "seed")}
    comparison = {"coefficient": named_coefficient(name, **options), "missing": options["missing"]}
    shared: dict[str, Any] = {**resampling, **comparison, "workers": 1}
    test = permutation_test(gold, system, alternative=inference["alternative"], **shared)
    interval = correlation_interval(gold, system, level=inference["level"], method=inference["method"], **shared)
    if interval.note is not None:
        notices.append(interval.note)
    content: dict[str, Any] = {name: getattr(test, name) for name in TEST}
    return {"chance": content_of(test.null, CHANCE), **content, "interval": content_of(interval, INTERVAL)}


@blueprint.post("/batch", name="correlateBatch")
@blueprint.arguments(schemas.BatchRequest)
@blueprint.response(200, schemas.BatchAnswer)
def correlate_batch(
    gold: Ranking,
    systems: Mapping[str, Ranking],
    coefficients: Sequence[Any],
    options: Mapping[str, Any],
    sort_by: str | None = None,
) -> dict[str, Any]:
    """Compare many systems with one gold ranking."""
    first = sort_by or coefficients[0]
    requested = dict.fromkeys((*coefficients, first))
    columns, warnings = {}, []
    n_items: list[int] = [gold.n_items] * len(systems)
    results = batch.correlate_each(
        gold,
        systems,
        coefficients=[named_coefficient(name, **options) for name in requested],
        missing=options["missing"],
        workers=1,
    )
    for name, result in zip(requested, results, strict=True):
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
            "coefficients": {coefficient: columns[coefficient][place] for coefficient in requested},
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


@blueprint.post("/matrix", name="correlateMatrix")
@blueprint.arguments(schemas.MatrixRequest)
@blueprint.response(200, schemas.MatrixAnswer)
def correlate_matrix(rankings: Mapping[str, Ranking], coefficient: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Compare many rankings with one another."""
    with collected_notices() as notices:
        named = named_coefficient(coefficient, **options)
        result = correlation_matrix(rankings, coefficient=named, missing=options["missing"], workers=1)
    return {
        "n_items": result.n_items,
        "coefficient": coefficient,
        "names": list(rankings),
        "matrix": result.statistic,
        "n_compared": result.n_compared,
        "warnings": [{"message": message, "coefficients": [coefficient]} for message in notices],
    }
