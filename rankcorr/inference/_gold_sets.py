"""Read gold sets and systems by name, and align each system with each gold set."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankcorr._checks import offending, shown
from rankcorr._input.frames import by_name
from rankcorr._ranking import Missing, Ranking, RankingLike, align_rankings, as_ranking, match_positions, named_rankings
from rankcorr._workers import Progress, silent
from rankcorr.errors import DimensionError, LabelError, LabelMismatchError, OptionError, TooFewItemsError
from rankcorr.inference._exchange import names_of_items
from rankcorr.inference._multiple_tests import TESTED

SUM, MEAN = TOTALS = ("sum", "mean")
ONLY_GOLD = "gold"

# Names of the other columns of `Leaderboard.table`.
PLACES = ("rank", "group", "least_rank", "largest_rank", "system")
COLUMNS = (*PLACES, "low", "high", *TESTED, "n_missing")


@dataclass(frozen=True, eq=False, slots=True)
class AlignedSystem:
    """A gold set and a system over the same items, and the number of items of gold that the system lacks."""

    gold: Ranking
    system: Ranking
    n_missing: int


def group_items(gold: RankingLike, groups: Any, *, name: str | None = None) -> dict[str, Ranking]:
    """Divide a gold ranking by groups of its items, such as genres or types of pairs.

    The result serves as gold sets: `leaderboard` then shows a column with intervals for each group, and `compare_many`
    tests each group, with one correction for all.

    Parameters
    ----------
    gold : Ranking, or mapping of label to score
        It must have labels.
    groups : mapping of label to group, or labelled series
        Each item of gold needs a group.
    name : str, optional
        Name of an additional first entry, all of gold. ``leaderboard(..., by=name)`` ranks and tests by it.

    Returns
    -------
    dict of str to Ranking
        Rankings by group, in the order of their first items. Items are ranked again within a group, and keep their
        scores.

    Raises
    ------
    LabelError
        Gold has no labels.
    OptionError
        An item has no group, or a group has the name `name`.
    TooFewItemsError
        A group has one item.

    See Also
    --------
    leaderboard, compare_many : Take the result.
    rankcorr.evaluation.compare_runs : Its `groups` are those of queries.

    Examples
    --------
    >>> from rankcorr import compare_many, group_items
    >>> gold = {"fig": 4, "kiwi": 3, "plum": 1, "run": 5, "go": 2, "be": 1}
    >>> kinds = {"fig": "noun", "kiwi": "noun", "plum": "noun", "run": "verb", "go": "verb", "be": "verb"}
    >>> sets = group_items(gold, kinds, name="all")
    >>> {name: ranking.n_items for name, ranking in sets.items()}
    {'all': 6, 'noun': 3, 'verb': 3}
    >>> table = compare_many(group_items(gold, kinds), {"a": gold, "b": gold | {"run": 0}}, coefficients=["tau"])
    >>> [(row.gold_set, round(row.comparison.difference, 2)) for row in table.rows]
    [('noun', 0.0), ('verb', 1.33)]
    """
    ranking = as_ranking(gold)
    if ranking.labels is None:
        raise LabelError("groups need a gold ranking with labels, to find the items of each")
    names = [str(group) for group in names_of_items(groups, ranking.labels, ranking.n_items, "group")]
    if name is not None and name in names:
        raise OptionError(f"a group has the name {shown(name)}, which stands for all items; choose another name")
    places: dict[str, list[int]] = {}
    for place, group in enumerate(names):
        places.setdefault(group, []).append(place)
    if single := [group for group, members in places.items() if len(members) < 2]:
        raise TooFewItemsError(offending("a correlation needs two items; groups of one item", single))
    all_items = {} if name is None else {name: ranking}
    return all_items | {group: ranking.take(np.array(members)) for group, members in places.items()}


def read_gold_sets(gold: Any) -> dict[str, Ranking]:
    """Return gold sets by name, and check that the names can be columns of the table."""
    sets = name_gold_sets(gold)
    for total in TOTALS:
        if total in sets:
            raise OptionError(f"a gold set cannot have the name {total!r}, which stands for the {total} over gold sets")
    if reserved := [name for name in sets if name in COLUMNS]:
        raise OptionError(offending("a gold set cannot have the name of another column of the table; got", reserved))
    return sets


def name_gold_sets(gold: Any) -> dict[str, Ranking]:
    """Return gold sets by name; a single ranking is named "gold"."""
    named = None if isinstance(gold, Ranking) or getattr(gold, "ndim", 2) == 1 else by_name(gold)
    if named is None or not _holds_rankings(named):
        return {ONLY_GOLD: as_ranking(gold)}
    sets = _rankings_by_name(named, "gold set")
    unlabelled = [name for name, ranking in sets.items() if ranking.labels is None]
    if unlabelled and len(sets) > 1:
        message = "several gold sets need labels, to find the items of each; without labels"
        raise LabelError(offending(message, unlabelled))
    return sets


def name_systems(systems: Any, gold_sets: dict[str, Ranking]) -> tuple[dict[str, Ranking], dict[str, Ranking]]:
    """Return gold sets and systems by name, after `match_positions` of all of them."""
    named = by_name(systems)
    if named is None:
        raise DimensionError(f"systems must be a mapping of name to ranking; got {shown(systems)}")
    if not (rankings := _rankings_by_name(named, "system")):
        raise TooFewItemsError("there is no system to rank")
    matched = iter(match_positions([*gold_sets.values(), *rankings.values()]))
    return dict(zip(gold_sets, matched, strict=False)), dict(zip(rankings, matched, strict=True))


def align_systems(
    gold_sets: dict[str, Ranking], systems: dict[str, Ranking], missing: Missing, progress: Progress = silent
) -> list[list[AlignedSystem]]:
    """Align each system, a row, with each gold set, a column; `progress` is called with 0 after each pair.

    With "bottom", the items that only systems have are added to each gold set, so that all systems are compared over
    the same items.
    """
    if missing == "bottom":
        # Sorted, so that the order of the systems does not matter.
        added = sorted({label for labels in _unknown_labels(gold_sets, systems).values() for label in labels}, key=str)
        extended = {name: gold if gold.labels is None else gold.extend(added) for name, gold in gold_sets.items()}
    else:
        extended = gold_sets
    rows = []
    for name, system in systems.items():
        row = []
        for set_name, gold in gold_sets.items():
            names = (f"gold set {shown(set_name)}", f"system {shown(name)}")
            ranking, n_lacking = system, 0
            if gold.labels is not None and system.labels is not None and gold.labels != system.labels:
                shared = align_rankings(gold, system, names=names, missing="intersection")[1]
                n_lacking = gold.n_items - shared.n_items
                ranking = system if missing == "bottom" else shared
            policy: Missing = "gold" if missing == "bottom" else missing
            pair = align_rankings(extended[set_name], ranking, names=names, missing=policy)
            row.append(AlignedSystem(*pair, n_lacking))
            progress(0)
        rows.append(row)
    return rows


def count_unused_labels(gold_sets: dict[str, Ranking], systems: dict[str, Ranking], missing: Missing) -> list[int]:
    """Return the number of items of each system that are excluded because they are in no gold set.

    Raises
    ------
    LabelMismatchError
        There are such items, and `missing` is "raise".
    """
    unknown = _unknown_labels(gold_sets, systems)
    for name, labels in unknown.items():
        if labels and missing == "raise":
            raise LabelMismatchError(
                f"{offending(f'labels of system {shown(name)} that are in no gold set', labels)} "
                '(accept them with missing="intersection", missing="bottom" or missing="gold")'
            )
    return [0 if missing == "bottom" else len(labels) for labels in unknown.values()]


def _unknown_labels(gold_sets: dict[str, Ranking], systems: dict[str, Ranking]) -> dict[str, list[Hashable]]:
    """Return the labels of each system that are in no gold set."""
    known = {label for gold in gold_sets.values() for label in gold.labels or ()}
    return {name: [label for label in system.labels or () if label not in known] for name, system in systems.items()}


def _holds_rankings(gold: Any) -> bool:
    """Return whether the values of a mapping are rankings, rather than the scores of one ranking."""
    values = [gold[name] for name in dict.fromkeys(gold.keys())]
    rankings = [hasattr(value, "__len__") and not isinstance(value, str | bytes) for value in values]
    if any(rankings) and not all(rankings):
        wrong = values[rankings.index(False)]
        raise DimensionError(
            f"gold must be one ranking, or a mapping of name to ranking; got {shown(wrong)} among the rankings"
        )
    return any(rankings)


def _rankings_by_name(rankings: Any, role: str) -> dict[str, Ranking]:
    if wrong := [name for name in rankings.keys() if not isinstance(name, str)]:  # noqa: SIM118 - a Series iterates values
        raise LabelError(offending(f"the name of a {role} must be a string; got", wrong))
    return named_rankings(rankings, role)
