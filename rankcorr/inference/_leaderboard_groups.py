"""Gold sets and systems, checked and aligned, and the groups of systems that do not differ significantly."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankcorr._batch import named_rankings
from rankcorr._checks import offending, shown
from rankcorr._coefficients import Coefficient
from rankcorr._frames import by_name
from rankcorr._ranking import Missing, Ranking, align, as_ranking
from rankcorr._scores import midranks
from rankcorr._workers import Progress, silent
from rankcorr.errors import DimensionError, LabelError, LabelMismatchError, OptionError, TooFewItemsError
from rankcorr.inference._copula import ROUNDING
from rankcorr.inference._exchange import Codes, Exchange, codes_of_items, orbits_of
from rankcorr.inference._orbit import MAX_EXACT, alpha_of
from rankcorr.inference._resampling import Draws, Values

SUM, MEAN = TOTALS = ("sum", "mean")
ONLY_GOLD = "gold"

# Names of the other columns of `Leaderboard.table`.
PLACES, TESTED = ("rank", "group", "least_rank", "largest_rank", "system"), ("pvalue", "corrected_pvalue")
COLUMNS = (*PLACES, "low", "high", *TESTED, "n_missing")
PAIRED, JOINT = range(2)
ROUNDED: Final = 12


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
        `score_codes`, if systems exchange scores.
    exponents : ndarray of float64, shape (n_gold_sets,), or None
        Exponents of the maps that standardize its coefficient in each gold set.
    """

    name: str
    parts: Sequence[Entered]
    total: float
    codes: Codes | None = None
    exponents: Values | None = None


class Testable(Protocol):
    """Input of the groups: systems from best to worst, and tests between them."""

    @property
    def n_systems(self) -> int:
        """Number of systems."""

    def pvalues(self, leader: int, others: Sequence[int]) -> tuple[Values, Values]:
        """P-value of the paired test of a system and each other one, and its lead; nan without a test."""

    def corrected(self, rows: Sequence[int], stage: int = 0) -> Values:
        """P-value of the first of some systems against each other one, corrected for having been chosen."""

    def joint(self) -> Values:
        """P-value of each system, a row, being better than each other one, corrected for all pairs."""


class Contest:
    """Systems, from best to worst, that compete on the sum of their coefficients over gold sets.

    The lead of the best system over another is compared with the range, from best to worst, of all systems after they
    exchange places at random: Tukey's test of all pairs, randomized. It therefore allows for having picked the best
    after seeing the results. Systems that differ significantly are removed, and the others are tested again among
    themselves (a step-down test). Systems that are less alike than others differ by more. The distance of two systems
    is the root of the mean squared difference of their ranks. If it surely exceeds the average distance of two systems,
    their lead is scaled down by the ratio, as Tukey and Kramer scale by standard errors. No p-value is below that of
    the paired test of the two.
    """

    def __init__(
        self, coefficient: Coefficient, golds: Mapping[str, Ranking], systems: Sequence[Competitor], draws: Draws
    ) -> None:
        self._coefficient = coefficient
        self._golds = list(golds.values())
        self._set_names = list(golds)
        self._systems = systems
        self._draws = draws
        several = range(len(systems)) if len(systems) > 1 else ()
        self._together = [self._exchange(gold, several, number) for number, gold in enumerate(self._golds) if several]
        squares = sum((np.nan_to_num(each.distances()) for each in self._together), np.zeros(()))
        self._distances = np.sqrt(squares)
        self._all_ranges: Values | None = None

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self._systems)

    @property
    def is_exact(self) -> bool | None:
        """Whether all swaps are enumerated; None without a test. More than two systems draw ranges."""
        if self.n_systems < 2:
            return None
        return self.n_systems == 2 and sum(each.n_items for each in self._pair(0, 1)) <= MAX_EXACT

    def pvalues(self, leader: int, others: Sequence[int]) -> tuple[Values, Values]:
        """P-value of the paired test of a system and each other one, and its lead over the items that both have.

        Both are nan if a coefficient is undefined over these items.
        """
        pairs = []
        for other in others:
            self._draws.progress(0)  # the caller may stop the work between its steps
            pairs.append(self._pair(leader, other))
        orbits = orbits_of(pairs, self._draws.of_part(PAIRED, leader))
        leads = np.array([orbit.observed for orbit in orbits])
        pvalues = np.array([orbit.pvalue() for orbit in orbits])
        return np.where(np.isnan(leads), np.nan, pvalues), leads

    def corrected(self, rows: Sequence[int], stage: int = 0) -> Values:
        """P-value of the first of some systems against each other one, corrected for having been chosen; step-down.

        Shape (len(rows) - 1,), in the order of `rows`.
        """
        return step_down(self._ranges(rows, stage), self._leads(rows, rows[0])[1:])

    def joint(self) -> Values:
        """P-value of each system, a row, being better than each other one, corrected for all pairs.

        The lead is compared with the range of all systems, as in `corrected`, but without a step down; shape
        (n_systems, n_systems). It is 1 where a system is not ahead.
        """
        rows = range(self.n_systems)
        ranges = self._ranges(rows, 0)[:, :, -1]
        leads = np.array([self._leads(rows, first) for first in rows])
        return np.where(leads > 0, reached_by(ranges, leads), 1.0)

    def _leads(self, rows: Sequence[int], first: int) -> Values:
        """Lead of one system over each of some, scaled down where the two surely differ more than two do on average."""
        among = self._distances[np.ix_(rows, rows)]
        typical = np.sqrt((among**2).sum() / (len(rows) * (len(rows) - 1)))
        sure = sum((np.nan_to_num(each.sure_distances(first)) for each in self._together), np.zeros(()))
        own = np.sqrt(sure)[list(rows)]
        totals = np.array([self._systems[row].total for row in rows])
        scales = np.divide(typical, own, out=np.ones(own.size), where=own > typical)
        return np.asarray((self._systems[first].total - totals) * scales)

    def _ranges(self, rows: Sequence[int], stage: int) -> Values:
        """Range of the first 1, 2, .. of some systems in exchanges, shape (n_scales, n_resamples, len(rows))."""
        if len(rows) == self.n_systems and self._all_ranges is not None:
            return self._all_ranges
        together = [self._exchange(gold, rows, number) for number, gold in enumerate(self._golds)]
        numbers_each = 2 * len(rows) * sum(each.n_items for each in together)
        draws = self._draws.of_part(JOINT, rows[0], stage)
        totals = np.concatenate(draws.in_blocks(partial(_drawn_totals, together), numbers_each), axis=1)
        ranges = np.asarray(np.maximum.accumulate(totals, axis=2) - np.minimum.accumulate(totals, axis=2))
        if len(rows) == self.n_systems:
            self._all_ranges = ranges
        return ranges

    def _pair(self, leader: int, other: int) -> list[Exchange]:
        """Two systems that exchange places in each gold set, over the items that both have."""
        first, second = self._systems[leader], self._systems[other]
        pairs = []
        for number, parts in enumerate(zip(first.parts, second.parts, strict=True)):
            gold, *systems = common(*parts, (first.name, second.name), self._set_names[number])
            pairs.append(self._made(number, (leader, other), gold, systems, None))
        return pairs

    def _exchange(self, gold: Ranking, rows: Sequence[int], number: int) -> Exchange:
        """Systems that exchange places in one gold set; each may lack items."""
        parts = [self._systems[row].parts[number] for row in rows]
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
        return self._made(number, rows, gold, rankings, present)

    def _made(
        self, number: int, rows: Sequence[int], gold: Ranking, rankings: list[Ranking], has: NDArray[np.bool_] | None
    ) -> Exchange:
        systems = [self._systems[row] for row in rows]
        codes = [codes_of_items(each.codes, gold.labels) for each in systems if each.codes is not None]
        exchange = Exchange.of(self._coefficient, gold, rankings, np.array(codes) if codes else None, has)
        exponents = [each.exponents[number] for each in systems if each.exponents is not None]
        return replace(exchange, exponents=np.array(exponents)) if exponents else exchange


def _drawn_totals(together: Sequence[Exchange], rng: np.random.Generator, size: int) -> Values:
    return np.asarray(np.sum([each.drawn(rng, size) for each in together], axis=0))


def reached_by(ranges: Values, leads: Values) -> Values:
    """Corrected p-value of each lead: the share of ranges, shape (n_scales, n_resamples), that are at least as large.

    The larger one of the scales; the observed range counts too, and an undefined one as larger.
    """
    found = []
    for row in np.sort(np.where(np.isnan(ranges), np.inf, ranges), axis=1):
        found.append((1 + row.size - np.searchsorted(row, leads - ROUNDING)) / (1 + row.size))
    return np.asarray(np.max(found, axis=0))


def step_down(ranges: Values, leads: Values) -> Values:
    """Corrected p-values of the leads of one system over others, the largest lead first.

    `ranges`, shape (n_scales, n_resamples, n_systems), are those of the first 1, 2, .. exchanged systems.
    """
    pvalues, largest = np.empty(leads.size), 0.0
    for n_before, row in enumerate(np.argsort(-leads, kind="stable").tolist()):
        # The systems with larger leads have been removed; any of the exchanged ones may represent the others.
        largest = max(largest, reached_by(ranges[:, :, leads.size - n_before], leads[[row]])[0])
        pvalues[row] = largest
    return pvalues


class Standings(NamedTuple):
    """Results of the tests, for systems from best to worst.

    `pvalues` are those of the best system against each, and `corrected` the same corrected; both are nan for the best.
    Groups count from 1. The least and the largest ranks are those that the tests of all pairs leave possible.
    """

    pvalues: Values
    corrected: Values
    groups: list[int]
    least_ranks: list[int]
    largest_ranks: list[int]

    def places(self, values: Values) -> list[dict[str, Any]]:
        """Ranks, group and p-values of each system for its row, from best to worst.

        `values` are those that they are ranked by; those without one, nan, come last and were not tested.
        """
        n_ranked = len(self.groups)
        ranks = midranks(np.round(values[:n_ranked], ROUNDED), descending=True)[0].tolist() if n_ranked else []
        tested = (self.groups, self.least_ranks, self.largest_ranks, self.pvalues.tolist(), self.corrected.tolist())
        untested = (math.nan, None, None, None, math.nan, math.nan)
        places = [*zip(ranks, *tested, strict=True), *[untested] * (len(values) - n_ranked)]
        names = ("rank", "group", "least_rank", "largest_rank", *TESTED)
        return [dict(zip(names, place, strict=True)) for place in places]


def contested(contest: Testable, level: float) -> Standings:
    """Test systems from best to worst.

    The first group is separated from the others at 1 - level. A later one, among m of all k systems, is separated at
    (1 - level) m / k, as in Ryan's procedure. The error rate of all groups together thus stays within 1 - level.

    The ranks of a system run from 1 plus the number of systems that are surely better to the number of all less that of
    those surely worse: simultaneous confidence sets, as of Mogstad and others, with `Testable.joint` for the pairs.
    """
    n_systems, alpha = contest.n_systems, alpha_of(level)
    pvalues, corrected, leads = (np.full(n_systems, np.nan) for _ in range(3))
    if n_systems > 1:
        pvalues[1:], leads[1:] = contest.pvalues(0, range(1, n_systems))
        corrected[1:] = _with_removals(contest, pvalues, alpha)
    groups, leader = [1] * min(1, n_systems), 0
    joint, joint_alpha = corrected, alpha
    for row in range(1, n_systems):
        apart = bool(joint[row] < joint_alpha)
        if leader > 0 and apart:
            (pvalue,), (lead,) = contest.pvalues(leader, [row])
            apart = bool(pvalue < joint_alpha and lead > 0)
        elif apart:
            apart = bool(leads[row] > 0)
        groups.append(groups[-1] + apart)
        if apart and row + 1 < n_systems:
            leader, joint = row, np.full(n_systems, np.nan)
            joint[row + 1 :] = contest.corrected(range(row, n_systems))
            joint_alpha = alpha * (n_systems - row) / n_systems
    if n_systems == 2:
        better = np.array([[False, groups[1] > 1], [False, False]])
    else:
        better = contest.joint() < alpha if n_systems > 2 else np.zeros((n_systems, n_systems), bool)
        better[:1] &= corrected < alpha  # which the paired tests may raise
    least, largest = 1 + better.sum(axis=0), n_systems - better.sum(axis=1)
    return Standings(pvalues, corrected, groups, least.tolist(), largest.tolist())


def _with_removals(contest: Testable, pvalues: Values, alpha: float) -> Values:
    """Corrected p-values of the best against each other system, after those that differ have been removed."""
    corrected = np.full(pvalues.size, np.nan)
    left, largest = np.arange(1, pvalues.size), 0.0
    for stage in range(pvalues.size):
        joint = contest.corrected([0, *left.tolist()], stage) if left.size > 1 else pvalues[left]
        corrected[left] = np.maximum(np.maximum(joint, pvalues[left]), largest)  # nan stays nan
        apart = corrected[left] < alpha
        if not apart.any() or apart.all():
            break
        largest = float(corrected[left][apart].max())
        left = left[~apart]
    return corrected[1:]
