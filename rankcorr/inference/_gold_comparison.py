"""One system, or many, against gold: coefficients, ties, costs, tests and intervals, with the notes on each."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankcorr._batch import correlate_systems, warn_of_undefined
from rankcorr._checks import collected_notices
from rankcorr._coefficients import Coefficient
from rankcorr._contributions import contributions
from rankcorr._correlation import correlate
from rankcorr._ranking import Missing, Ranking, align_rankings
from rankcorr.inference._interval import CorrelationInterval, correlation_interval
from rankcorr.inference._null import PermutationTest, permutation_test


@dataclass(frozen=True)
class Notice:
    """A message, and the names of the coefficients that it is about."""

    message: str
    coefficients: list[str]


@dataclass(frozen=True, eq=False)
class GoldComparison:
    """A system compared with gold.

    Attributes
    ----------
    n_items : int
        Number of items compared.
    coefficients : dict of str to float
        Coefficients by name; nan if undefined.
    ties : dict of {"gold", "system"} to int
        Number of compared items that share their rank with another.
    n_missing : int or None
        Number of items in only one ranking; None if such items are an error.
    worst : dict of str to list of dict, or None
        The costliest items by coefficient; None for a coefficient that is undefined.
    tests, intervals : dict of str to PermutationTest, or to CorrelationInterval
        By coefficient, if requested.
    warnings : list of Notice
    """

    n_items: int
    coefficients: dict[str, float]
    ties: dict[str, int]
    n_missing: int | None
    worst: dict[str, list[dict[str, Any]] | None]
    tests: dict[str, PermutationTest]
    intervals: dict[str, CorrelationInterval]
    warnings: list[Notice]


def compare_with_gold(
    gold: Ranking,
    system: Ranking,
    coefficients: Sequence[Coefficient],
    *,
    missing: Missing = "raise",
    names: tuple[str, str] = ("gold", "system"),
    worst: int | None = None,
    costly: Sequence[Coefficient] | None = None,
    test: Mapping[str, Any] | None = None,
    interval: Mapping[str, Any] | None = None,
    **work: Any,
) -> GoldComparison:
    """Compare a system's ranking with gold by several coefficients.

    Parameters
    ----------
    worst : int or None
        Number of the costliest items to list for each coefficient.
    costly : sequence of Coefficient or None
        The coefficients to list the costliest items for; all by default.
    test, interval : mapping or None
        Options of `permutation_test` and `correlation_interval`. None: no test, no interval.
    **work
        `workers` and `progress` of both.

    Examples
    --------
    >>> from rankcorr import Tau
    >>> gold, system = Ranking.from_scores([4, 3, 2, 1]), Ranking.from_scores([4, 3, 1, 1])
    >>> comparison = compare_with_gold(gold, system, [Tau()], worst=1)
    >>> {name: round(value, 4) for name, value in comparison.coefficients.items()}, comparison.ties
    ({'tau': 0.9129}, {'gold': 0, 'system': 2})
    """
    notices: dict[str, dict[str, None]] = {}  # names of coefficients by message
    with collected_notices() as messages:
        correlations = correlate(gold, system, coefficients=coefficients, names=names, missing=missing)
    results = {coefficient.name: result for coefficient, result in correlations.items()}
    for message in messages:
        notices[message] = {name: None for name, result in results.items() if math.isnan(result.statistic)}
    tests: dict[str, PermutationTest] = {}
    intervals: dict[str, CorrelationInterval] = {}
    for coefficient in coefficients:
        shared: dict[str, Any] = {"coefficient": coefficient, "missing": missing, **work}
        with collected_notices() as messages:
            if test is not None:
                tests[coefficient.name] = permutation_test(gold, system, **shared, **test)
            if interval is not None:
                intervals[coefficient.name] = correlation_interval(gold, system, **shared, **interval)
        note = intervals[coefficient.name].note if interval is not None else None
        for message in [*messages, *([] if note is None else [note])]:
            notices.setdefault(message, {})[coefficient.name] = None
    first = next(iter(results.values()))
    n_tied = _count_ties(gold, system, missing)
    return GoldComparison(
        n_items=first.n_items,
        coefficients={name: result.statistic for name, result in results.items()},
        ties=dict(zip(("gold", "system"), n_tied, strict=True)),
        n_missing=first.n_missing,
        worst={
            coefficient.name: _costliest(gold, system, coefficient, missing, worst)
            for coefficient in (() if worst is None else coefficients if costly is None else costly)
        },
        tests=tests,
        intervals=intervals,
        warnings=[Notice(message, list(names)) for message, names in notices.items()],
    )


def _count_ties(gold: Ranking, system: Ranking, missing: Missing) -> tuple[int, int]:
    if missing == "raise":  # both rankings have the same items
        return gold.n_ties, system.n_ties
    first, second = align_rankings(gold, system, missing=missing)
    return first.n_ties, second.n_ties


def _costliest(
    gold: Ranking, system: Ranking, coefficient: Coefficient, missing: Missing, k: int | None
) -> list[dict[str, Any]] | None:
    """Return the k items that cost the system most; None if the coefficient is undefined."""
    with collected_notices():  # the same messages were collected before
        parts = contributions(gold, system, coefficient=coefficient, missing=missing)
    if math.isnan(parts.statistic):
        return None
    names = {"x_rank": "gold_rank", "y_rank": "system_rank"}
    return [{names.get(name, name): value for name, value in vars(item).items()} for item in parts.worst(k or 1)]


@dataclass(frozen=True)
class SystemRow:
    """A system in a table: its name, number of items compared, coefficients by name, and number of tied items."""

    name: str
    n_items: int
    coefficients: dict[str, float]
    ties: int


@dataclass(frozen=True, eq=False)
class GoldTable:
    """Systems compared with gold, best first by one coefficient; systems whose coefficient is undefined are last.

    Attributes
    ----------
    n_items : int
        Number of items of gold.
    sort_by : str
        Name of the coefficient.
    systems : list of SystemRow
    warnings : list of Notice
    """

    n_items: int
    sort_by: str
    systems: list[SystemRow]
    warnings: list[Notice]


def rank_against_gold(
    gold: Ranking,
    systems: Mapping[str, Ranking],
    coefficients: Sequence[Coefficient],
    *,
    sort_by: str,
    missing: Missing = "raise",
    workers: int | None = None,
) -> GoldTable:
    """Compare many systems with gold, and sort them by the coefficient named `sort_by`.

    Examples
    --------
    >>> from rankcorr import Rho, Tau
    >>> rankings = {"poor": Ranking.from_scores([1, 3, 2]), "good": Ranking.from_scores([3, 2, 1])}
    >>> table = rank_against_gold(rankings["good"], rankings, [Rho(), Tau()], sort_by="tau")
    >>> [(row.name, round(row.coefficients["tau"], 4)) for row in table.systems]
    [('good', 1.0), ('poor', -0.3333)]
    """
    results = correlate_systems(gold, systems, coefficients=coefficients, missing=missing, workers=workers)
    warnings, n_items = [], [gold.n_items] * len(systems)
    for coefficient, result in zip(coefficients, results, strict=True):
        with collected_notices() as messages:
            warn_of_undefined(result)
        warnings += [Notice(message, [coefficient.name]) for message in messages]
        if result.n_compared is not None:
            n_items = result.n_compared.tolist()
    columns = {result.coefficient: result.statistic.tolist() for result in results}
    rows = [
        SystemRow(
            name,
            n_items[place],
            {coefficient: values[place] for coefficient, values in columns.items()},
            _count_ties(gold, system, missing)[1],
        )
        for place, (name, system) in enumerate(systems.items())
    ]
    rows.sort(key=lambda row: (math.isnan(row.coefficients[sort_by]), -row.coefficients[sort_by]))
    return GoldTable(gold.n_items, sort_by, rows, warnings)
