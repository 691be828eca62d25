"""Gold sets and systems, checked and aligned: a system enters each gold set with the items that belong there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankcorr.alignment import Missing, align
from rankcorr.checks import check_unique, offending, shown
from rankcorr.errors import (
    DimensionError,
    DuplicateLabelError,
    LabelError,
    LabelMismatchError,
    OptionError,
    RankingError,
    TooFewItemsError,
)
from rankcorr.frames import by_name
from rankcorr.ranking import Ranking, as_ranking
from rankcorr.workers import Progress

SUM, MEAN = TOTALS = ("sum", "mean")
ONLY_GOLD = "gold"

# What `Leaderboard.table` calls its other columns.
COLUMNS = ("rank", "group", "system", "low", "high", "pvalue", "corrected_pvalue", "n_missing")


@dataclass(frozen=True, eq=False, slots=True)
class Entered:
    """A system as it enters a gold set: both over the same items, and how many items of gold it lacks."""

    gold: Ranking
    system: Ranking
    n_missing: int


def gold_sets_of(gold: Any) -> dict[str, Ranking]:
    """Gold sets by name; a single ranking is named "gold"."""
    named = None if isinstance(gold, Ranking) or getattr(gold, "ndim", 2) == 1 else by_name(gold)
    if named is None or not _holds_rankings(named):
        return {ONLY_GOLD: as_ranking(gold)}
    sets = _rankings_by_name(named, "gold set")
    for total in TOTALS:
        if total in sets:
            raise OptionError(f"a gold set cannot have the name {total!r}, which stands for the {total} over gold sets")
    if taken := [name for name in sets if name in COLUMNS]:
        raise OptionError(offending("a gold set cannot have the name of another column of the table; got", taken))
    without = [name for name, ranking in sets.items() if ranking.labels is None]
    if without and len(sets) > 1:
        raise LabelError(offending("several gold sets need labels, to find the items of each; without labels", without))
    return sets


def systems_of(systems: Any) -> dict[str, Ranking]:
    """Systems by name."""
    named = by_name(systems)
    if named is None:
        raise DimensionError(f"systems must be a mapping of name to ranking; got {shown(systems)}")
    found = _rankings_by_name(named, "system")
    if not found:
        raise TooFewItemsError("there is no system to rank")
    return found


def entered(
    gold_sets: dict[str, Ranking], systems: dict[str, Ranking], missing: Missing, progress: Progress | None = None
) -> list[list[Entered]]:
    """Align each system, a row, with each gold set, a column; `progress` is called with 0 after each pair.

    With "bottom" each gold set is extended by the items that systems have and no gold set has, so that all systems are
    compared over the same items, as they are with "gold".
    """
    if missing == "bottom":
        further = list(dict.fromkeys(label for labels in _unknown(gold_sets, systems).values() for label in labels))
        extended = {name: gold if gold.labels is None else gold.extend(further) for name, gold in gold_sets.items()}
    else:
        extended = gold_sets
    rows = []
    for name, system in systems.items():
        row = []
        for set_name, gold in gold_sets.items():
            called = (f"gold set {shown(set_name)}", f"system {shown(name)}")
            own, n_lacking = system, 0
            if gold.labels is not None and system.labels is not None and gold.labels != system.labels:
                shared = align(gold, system, names=called, missing="intersection")[1]
                n_lacking = gold.n_items - shared.n_items
                own = system if missing == "bottom" else shared
            pair = align(extended[set_name], own, names=called, missing="gold" if missing == "bottom" else missing)
            row.append(Entered(*pair, n_lacking))
            if progress is not None:
                progress(0)
        rows.append(row)
    return rows


def unused_labels(gold_sets: dict[str, Ranking], systems: dict[str, Ranking], missing: Missing) -> list[int]:
    """Number of items of each system that are left out, being in no gold set; an error if `missing` is "raise"."""
    unknown = _unknown(gold_sets, systems)
    for name, labels in unknown.items():
        if labels and missing == "raise":
            raise LabelMismatchError(offending(f"labels of system {shown(name)} that are in no gold set", labels))
    return [0 if missing == "bottom" else len(labels) for labels in unknown.values()]


def _unknown(gold_sets: dict[str, Ranking], systems: dict[str, Ranking]) -> dict[str, list[Hashable]]:
    """Labels of each system that are in no gold set."""
    known = {label for gold in gold_sets.values() for label in gold.labels or ()}
    return {name: [label for label in system.labels or () if label not in known] for name, system in systems.items()}


def common(best: Entered, other: Entered, names: Sequence[str], set_name: str) -> tuple[Ranking, Ranking, Ranking]:
    """Gold and two systems over the items that both systems have; `names` are those of the systems."""
    if best.gold.labels == other.gold.labels:
        return best.gold, best.system, other.system
    labels = set(other.gold.labels or ())
    kept: list[Hashable] = [label for label in best.gold.labels or () if label in labels]
    if len(kept) < 2:
        raise TooFewItemsError(
            f"systems {shown(names[0])} and {shown(names[1])} must have at least two items of gold set "
            f"{shown(set_name)} in common, to be tested; got {len(kept)}"
        )
    everything = Ranking.from_ranks(np.zeros(len(kept)), kept)
    first, second, third = (
        align(everything, ranking, missing="intersection")[1] for ranking in (best.gold, best.system, other.system)
    )
    return first, second, third


def _holds_rankings(gold: Any) -> bool:
    """Whether a mapping holds gold sets; its values are then rankings, and not the scores of one ranking."""
    values = [gold[name] for name in dict.fromkeys(gold.keys())]
    rankings = [hasattr(value, "__len__") and not isinstance(value, str | bytes) for value in values]
    if any(rankings) and not all(rankings):
        wrong = values[rankings.index(False)]
        raise DimensionError(
            f"gold must be one ranking, or a mapping of name to ranking; got {shown(wrong)} among the rankings"
        )
    return any(rankings)


def _rankings_by_name(rankings: Any, whose: str) -> dict[str, Ranking]:
    names: list[Any] = list(rankings.keys())
    _check_names(names, whose)
    found = {}
    for name in names:
        try:
            found[name] = as_ranking(rankings[name])
        except RankingError as error:
            raise type(error)(f"{whose} {shown(name)}: {error}") from error
    return found


def _check_names(names: Iterable[Any], whose: str) -> None:
    listed = list(names)
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong:
        raise LabelError(offending(f"the name of a {whose} must be a string; got", wrong))
    check_unique(listed, f"names of {whose}s", DuplicateLabelError)
