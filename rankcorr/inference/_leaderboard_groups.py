"""Gold sets and systems, checked and aligned, and the groups of systems that do not differ significantly."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._batch import named_rankings
from rankcorr._checks import offending, shown
from rankcorr._coefficients import Coefficient
from rankcorr._frames import by_name
from rankcorr._ranking import Missing, Ranking, align, as_ranking
from rankcorr._workers import Progress, silent
from rankcorr.errors import DimensionError, LabelError, LabelMismatchError, OptionError, TooFewItemsError
from rankcorr.inference._exchange import (
    Codes,
    Exchange,
    Swap,
    clusters_of_items,
    codes_of_items,
    on_one_scale,
    orbits_of,
)
from rankcorr.inference._multiple_tests import TESTED, Standings, standings_of, step_down
from rankcorr.inference._orbit import MAX_EXACT, alpha_of
from rankcorr.inference._resampling import Draws, Values

SUM, MEAN = TOTALS = ("sum", "mean")
ONLY_GOLD = "gold"

# Names of the other columns of `Leaderboard.table`.
PLACES = ("rank", "group", "least_rank", "largest_rank", "system")
COLUMNS = (*PLACES, "low", "high", *TESTED, "n_missing")
PAIRED, JOINT = range(2)
# Exchanges of each paired test on a board of more than two systems: the smallest p-value is a tenth of 0.05.
PAIRED_DRAWS = 199


@dataclass(frozen=True, eq=False, slots=True)
class Entered:
    """A system aligned with a gold set: both over the same items, and the number of items of gold that it lacks."""

    gold: Ranking
    system: Ranking
    n_missing: int


def gold_sets_of(gold: Any) -> dict[str, Ranking]:
    """Gold sets by name, each of which is a column of the table; a single ranking is named "gold"."""
    sets = named_golds(gold)
    for total in TOTALS:
        if total in sets:
            raise OptionError(f"a gold set cannot have the name {total!r}, which stands for the {total} over gold sets")
    if taken := [name for name in sets if name in COLUMNS]:
        raise OptionError(offending("a gold set cannot have the name of another column of the table; got", taken))
    return sets


def named_golds(gold: Any) -> dict[str, Ranking]:
    """Gold sets by name; a single ranking is named "gold"."""
    named = None if isinstance(gold, Ranking) or getattr(gold, "ndim", 2) == 1 else by_name(gold)
    if named is None or not _holds_rankings(named):
        return {ONLY_GOLD: as_ranking(gold)}
    sets = _rankings_by_name(named, "gold set")
    without = [name for name, ranking in sets.items() if ranking.labels is None]
    if without and len(sets) > 1:
        raise LabelError(offending("several gold sets need labels, to find the items of each; without labels", without))
    return sets


def systems_of(systems: Any) -> dict[str, Ranking]:
    """Systems by name."""
    named = by_name(systems)
    if named is None:
        raise DimensionError(f"systems must be a mapping of name to ranking; got {shown(systems)}")
    if not (found := _rankings_by_name(named, "system")):
        raise TooFewItemsError("there is no system to rank")
    return found


def entered(
    gold_sets: dict[str, Ranking], systems: dict[str, Ranking], missing: Missing, progress: Progress = silent
) -> list[list[Entered]]:
    """Align each system, a row, with each gold set, a column; `progress` is called with 0 after each pair.

    With "bottom" each gold set is extended by the items that only systems have, so that all systems are compared over
    the same items, as with "gold".
    """
    if missing == "bottom":
        # In an order that does not change with that of the systems.
        further = sorted({label for labels in _unknown(gold_sets, systems).values() for label in labels}, key=str)
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
            progress(0)
        rows.append(row)
    return rows


def unused_labels(gold_sets: dict[str, Ranking], systems: dict[str, Ranking], missing: Missing) -> list[int]:
    """Number of items of each system left out because they are in no gold set; an error if `missing` is "raise"."""
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
    """Whether a mapping holds gold sets: its values are then rankings, and not the scores of one ranking."""
    values = [gold[name] for name in dict.fromkeys(gold.keys())]
    rankings = [hasattr(value, "__len__") and not isinstance(value, str | bytes) for value in values]
    if any(rankings) and not all(rankings):
        wrong = values[rankings.index(False)]
        raise DimensionError(
            f"gold must be one ranking, or a mapping of name to ranking; got {shown(wrong)} among the rankings"
        )
    return any(rankings)


def _rankings_by_name(rankings: Any, whose: str) -> dict[str, Ranking]:
    if wrong := [name for name in rankings.keys() if not isinstance(name, str)]:  # noqa: SIM118 - a Series iterates values
        raise LabelError(offending(f"the name of a {whose} must be a string; got", wrong))
    return named_rankings(rankings, whose)


@dataclass(frozen=True, eq=False, slots=True)
class Competitor:
    """A system in the comparison.

    Attributes
    ----------
    name : str
        Its name.
    parts : sequence of Entered
        Its part in each gold set that counts.
    total : float
        The value that it is ranked by: the sum of its coefficients in these.
    codes : Codes or None
        Those of `codes_of_scores`, if it may exchange scores.
    exponents : ndarray of float64, shape (n_gold_sets,), or None
        Exponents of the maps that standardize its coefficient in each gold set.
    """

    name: str
    parts: Sequence[Entered]
    total: float
    codes: Codes | None = None
    exponents: Values | None = None


class Contest:
    """Systems, from best to worst, that compete on the sum of their coefficients over gold sets.

    All systems exchange their places at random, and the lead of each over each other one is compared with the largest
    difference of two systems in these exchanges: a randomized test of all pairs, step-down. It therefore allows for
    having picked the best after seeing the results.

    Systems that are less alike than others differ by more. The distance of two systems is the root of the mean squared
    difference of their ranks. If it exceeds the average distance of two systems by more than its standard error, their
    lead is scaled down by the ratio, as Tukey and Kramer scale by standard errors. No p-value of the best system is
    below that of the paired test of the two.
    """

    def __init__(
        self,
        coefficient: Coefficient,
        golds: Mapping[str, Ranking],
        systems: Sequence[Competitor],
        draws: Draws,
        swap: Swap = "auto",
        clusters: Any = None,
    ) -> None:
        self._coefficient = coefficient
        self._golds = list(golds.values())
        self._set_names = list(golds)
        self._systems = systems
        self._draws = draws
        self._swap = swap
        self._clusters = clusters
        self._is_by_scores = self._have_one_scale(range(len(systems)), self._golds)
        # What the paired test of each system with the best exchanges, None for the best.
        self.paired_swaps: list[str | None] = [None] * len(systems)

    @property
    def swap(self) -> str:
        """What all systems exchange together."""
        return "scores" if self._is_by_scores else "ranks"

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self._systems)

    @property
    def is_exact(self) -> bool | None:
        """Whether all swaps are enumerated; None without a test. More than two systems exchange places at random."""
        if self.n_systems < 2:
            return None
        return self.n_systems == 2 and sum(each.n_units for each in self._pair(0, 1)) <= MAX_EXACT

    def standings(self, level: float) -> Standings:
        """Return the results of all tests: of the best system against each other one, and of all pairs together."""
        number = self.n_systems
        pvalues = np.full(number, math.nan)
        corrected, leads = np.full((number, number), math.nan), np.zeros((number, number))
        if number > 1:
            pvalues[1:], paired_leads = self._paired(level)
            if number > 2:
                corrected, leads = self._jointly()
                corrected[0] = corrected[:, 0] = np.maximum(corrected[0], pvalues)  # nan stays nan
            else:
                corrected[0] = corrected[:, 0] = pvalues
            # A system that leads over its own items may not do so over those that both have.
            leads[0, 1:] = np.where(paired_leads > 0, paired_leads, 0.0)
            # A system that equals the best has the same tests, whichever of the two comes first.
            for twin in filter(self._equals_best, range(1, number)):
                corrected[twin], leads[twin] = corrected[0], leads[0]
                corrected[:, twin] = corrected[twin]
                corrected[twin, twin], corrected[twin, 0], corrected[0, twin] = math.nan, 1.0, 1.0
            for first, second in np.argwhere(np.triu(corrected <= alpha_of(level), 1)).tolist():
                if first > 0 and not self._is_ahead(first, second):
                    leads[first, second] = 0.0
        return standings_of(pvalues, corrected, leads, level)

    def _paired(self, level: float) -> tuple[Values, Values]:
        """P-value of the paired test of the best system and each other one, and its lead over the items of both.

        Both are nan if a coefficient is undefined over these items.
        """
        draws = self._draws.of_part(PAIRED)
        if self.n_systems > 2:
            draws = draws.fewer(max(PAIRED_DRAWS, math.ceil(10 / alpha_of(level)) - 1))
        pairs = []
        for other in range(1, self.n_systems):
            self._draws.progress(0)  # the caller may stop the work between its steps
            pairs.append(self._pair(0, other))
        self.paired_swaps[1:] = ["scores" if pair[0].by_scores else "ranks" for pair in pairs]
        orbits = orbits_of(pairs, draws)
        leads = np.array([orbit.observed for orbit in orbits])
        pvalues = np.array([orbit.pvalue() for orbit in orbits])
        return np.where(np.isnan(leads), np.nan, pvalues), leads

    def _equals_best(self, row: int) -> bool:
        """Whether a system has the ranks of the best, and its scores if scores are exchanged."""
        best, other = self._systems[0], self._systems[row]
        return all(
            first.gold.labels == second.gold.labels
            and np.array_equal(first.system.ranks, second.system.ranks)
            and (
                best.codes is None
                or other.codes is None
                or np.array_equal(
                    codes_of_items(best.codes, first.gold.labels), codes_of_items(other.codes, first.gold.labels)
                )
            )
            for first, second in zip(best.parts, other.parts, strict=True)
        )

    def _is_ahead(self, first: int, second: int) -> bool:
        """Whether a system leads over a lower one over the items that both have."""
        one, other = self._systems[first], self._systems[second]
        if all(own.gold.labels == part.gold.labels for own, part in zip(one.parts, other.parts, strict=True)):
            return True
        self._draws.progress(0)
        values = np.sum([pair.observed() for pair in self._pair(first, second)], axis=0)
        return bool(values[0] > values[1])

    def _jointly(self) -> tuple[Values, Values]:
        """P-values of all pairs from exchanges of all systems, corrected for all pairs, and the leads."""
        together = [self._exchange(gold, number) for number, gold in enumerate(self._golds)]
        n_numbers = 2 * self.n_systems * sum(each.n_items for each in together)
        draws = self._draws.of_part(JOINT)
        totals = np.concatenate(draws.in_blocks(partial(_drawn_totals, together), n_numbers), axis=1)
        sums = np.array([system.total for system in self._systems])
        leads = sums[:, np.newaxis] - sums
        first, second = np.triu_indices(self.n_systems, 1)
        scaled = np.abs(leads) * _scales(together)

        def exchanged(pairs: NDArray[np.intp]) -> Values:
            return np.asarray(np.abs(totals[:, :, first[pairs]] - totals[:, :, second[pairs]]))

        corrected = np.full(leads.shape, math.nan)
        corrected[first, second] = step_down(scaled[first, second], exchanged)
        corrected[second, first] = corrected[first, second]
        return corrected, leads

    def _pair(self, leader: int, other: int) -> list[Exchange]:
        """Two systems that exchange places in each gold set, over the items that both have.

        Their scores alone decide what they exchange, whatever those of other systems are.
        """
        first, second = self._systems[leader], self._systems[other]
        aligned = [
            common(*parts, (first.name, second.name), self._set_names[number])
            for number, parts in enumerate(zip(first.parts, second.parts, strict=True))
        ]
        by_scores = self._have_one_scale((leader, other), [gold for gold, *_ in aligned])
        return [
            self._made(number, (leader, other), gold, systems, None, by_scores)
            for number, (gold, *systems) in enumerate(aligned)
        ]

    def _have_one_scale(self, rows: Sequence[int], golds: Sequence[Ranking]) -> bool:
        """Whether some systems exchange scores: they have them, and on one scale in each gold set."""
        codes = [self._systems[row].codes for row in rows]
        if self._swap == "ranks" or not codes or any(own is None for own in codes):
            return False
        if self._swap == "scores":
            return True
        known = [own for own in codes if own is not None]
        return all(on_one_scale(np.array([codes_of_items(own, gold.labels) for own in known])) for gold in golds)

    def _exchange(self, gold: Ranking, number: int) -> Exchange:
        """All systems, which exchange places in one gold set; each may lack items."""
        parts = [system.parts[number] for system in self._systems]
        present = np.ones((len(parts), gold.n_items), bool)
        rankings = []
        for row, part in enumerate(parts):
            self._draws.progress(0)
            if part.gold.labels == gold.labels:
                rankings.append(part.system)
            else:
                has = set(part.gold.labels or ())
                present[row] = [label in has for label in gold.labels or ()]
                rankings.append(align(gold, part.system, missing="gold")[1])
        return self._made(number, range(self.n_systems), gold, rankings, present, self._is_by_scores)

    def _made(
        self,
        number: int,
        rows: Sequence[int],
        gold: Ranking,
        rankings: list[Ranking],
        has: NDArray[np.bool_] | None,
        by_scores: bool,
    ) -> Exchange:
        systems = [self._systems[row] for row in rows]
        given = [system.codes for system in systems if system.codes is not None and by_scores]
        codes = [codes_of_items(own, gold.labels) for own in given]
        numbers = None
        if self._clusters is not None:
            numbers = clusters_of_items(self._clusters, gold.labels, gold.n_items)
        exchange = Exchange.of(self._coefficient, gold, rankings, np.array(codes) if codes else None, has, numbers)
        exponents = [each.exponents[number] for each in systems if each.exponents is not None]
        return replace(exchange, exponents=np.array(exponents)) if exponents else exchange


def _drawn_totals(together: Sequence[Exchange], rng: np.random.Generator, size: int) -> Values:
    return np.asarray(np.sum([each.drawn(rng, size) for each in together], axis=0))


def _scales(together: Sequence[Exchange]) -> Values:
    """By how much the lead of each system, a row, over each other one is scaled down."""
    squares = np.sum([np.nan_to_num(each.distances()) for each in together], axis=0)
    sure = np.sqrt(np.sum([np.nan_to_num(each.sure_distances()) for each in together], axis=0))
    typical = np.sqrt(squares.sum() / (len(squares) * (len(squares) - 1)))
    return np.asarray(np.divide(typical, sure, out=np.ones(sure.shape), where=sure > typical))
