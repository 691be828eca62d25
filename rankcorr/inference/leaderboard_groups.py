"""Tests between systems of a leaderboard, and the groups of those that cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import align
from rankcorr.coefficients import Coefficient
from rankcorr.inference.exchange import Codes, Exchange, codes_of_items
from rankcorr.inference.gold_sets import Entered, common
from rankcorr.inference.inversion import ROUNDING
from rankcorr.inference.paired_test import MAX_EXACT, paired_tests
from rankcorr.inference.resampling import Draws
from rankcorr.inference.sorted_items import Values
from rankcorr.ranking import Ranking

PAIRED, JOINT = range(2)


@dataclass(frozen=True, eq=False, slots=True)
class Competitor:
    """A system as it competes.

    Attributes
    ----------
    name : str
        Its name.
    parts : sequence of Entered
        Its part in each gold set that counts.
    total : float
        What it is ranked by: the sum of its coefficients in these.
    codes : Codes or None
        `score_codes`, where systems exchange scores.
    exponents : ndarray of float64, shape (n_gold_sets,), or None
        Of the map that standardizes its coefficient in each gold set.
    """

    name: str
    parts: Sequence[Entered]
    total: float
    codes: Codes | None = None
    exponents: Values | None = None


class Testable(Protocol):
    """What groups are made from: systems from best to worst, and tests between them."""

    @property
    def n_systems(self) -> int:
        """Number of systems."""

    def pvalues(self, leader: int, others: Sequence[int]) -> tuple[Values, Values]:
        """P-value of the paired test of a system and each other one, and its lead; nan where there is no test."""

    def corrected(self, rows: Sequence[int], stage: int = 0) -> Values:
        """P-value of the first of some systems against each other one, corrected for having been chosen."""


class Contest:
    """Systems, from best to worst, that compete on the sum of their coefficients over gold sets.

    The lead of the best system over another is compared with the range, from the best to the worst, that all systems
    have when they exchange places at random: Tukey's test of all pairs, randomized. So it allows for a best one that
    was found by looking. Those that are told apart leave, and the others are tested again among themselves (a step-down
    test). Systems that are less alike than others differ by more: where the distance of two systems, the root of the
    mean squared difference of their ranks, surely exceeds that of two systems on average, their lead is scaled down by
    as much, as Tukey and Kramer scale by standard errors. No p-value is below that of the paired test of the two alone.
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

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self._systems)

    @property
    def is_exact(self) -> bool | None:
        """Whether all swaps are enumerated; None where there is nothing to test. More than two systems draw ranges."""
        if self.n_systems < 2:
            return None
        return self.n_systems == 2 and sum(each.n_items for each in self._pair(0, 1)) <= MAX_EXACT

    def pvalues(self, leader: int, others: Sequence[int]) -> tuple[Values, Values]:
        """P-value of the paired test of a system and each other one, and its lead over the items that both have.

        Both are nan where a coefficient is undefined over these items.
        """
        draws, pvalues, leads = self._draws, np.full(len(others), np.nan), np.full(len(others), np.nan)
        pairs = []
        for row, other in enumerate(others):
            self._look()
            pair = self._pair(leader, other)
            pairs.append(pair)
            totals = np.sum([each.observed() for each in pair], axis=0)
            leads[row] = totals[0] - totals[1]
        known = np.flatnonzero(~np.isnan(leads)).tolist()
        tests = paired_tests(
            [pairs[row] for row in known],
            leads[known],
            draws=draws.of_part(PAIRED, leader),
        )
        pvalues[known] = [test.pvalue for test in tests]
        return pvalues, leads

    def corrected(self, rows: Sequence[int], stage: int = 0) -> Values:
        """P-value of the first of some systems against each other one, corrected for having been chosen; step-down.

        Shape (len(rows) - 1,), in the order of `rows`.
        """
        first, others = rows[0], np.array(rows[1:])
        among = self._distances[np.ix_(rows, rows)]
        typical = np.sqrt((among**2).sum() / (len(rows) * (len(rows) - 1)))
        sure = sum((np.nan_to_num(each.sure_distances(first)) for each in self._together), np.zeros(()))
        own = np.sqrt(sure)[others]
        totals = np.array([self._systems[row].total for row in rows])
        leads = (totals[0] - totals[1:]) * np.divide(typical, own, out=np.ones(own.size), where=own > typical)
        ranges = self._ranges(rows, stage)
        pvalues, largest = np.empty(others.size), 0.0
        for n_before, row in enumerate(np.argsort(-leads, kind="stable").tolist()):
            # The systems with larger leads have left; which of the exchanged ones stand for the others is all one.
            reached = ~(ranges[:, len(rows) - 1 - n_before] < leads[row] - ROUNDING)  # true for nan
            largest = max(largest, (1 + int(np.count_nonzero(reached))) / (1 + ranges.shape[0]))
            pvalues[row] = largest
        return pvalues

    def _ranges(self, rows: Sequence[int], stage: int) -> Values:
        """Range of the first 1, 2, .. of some systems in random exchanges, shape (n_resamples, len(rows))."""
        together = [self._exchange(gold, rows, number) for number, gold in enumerate(self._golds)]
        numbers_each = 2 * len(rows) * sum(each.n_items for each in together)
        draws = self._draws.of_part(JOINT, rows[0], stage)
        return np.concatenate(draws.in_blocks(partial(_drawn_ranges, together), numbers_each))

    def _look(self) -> None:
        """Let the caller stop the work between its steps."""
        if self._draws.progress is not None:
            self._draws.progress(0)

    def _pair(self, leader: int, other: int) -> list[Exchange]:
        """Two systems that exchange places in each gold set, over the items that both have."""
        first, second = self._systems[leader], self._systems[other]
        pairs = []
        for number, parts in enumerate(zip(first.parts, second.parts, strict=True)):
            gold, *systems = common(*parts, (first.name, second.name), self._set_names[number])
            pairs.append(self._made(number, (leader, other), gold, systems))
        return pairs

    def _exchange(self, gold: Ranking, rows: Sequence[int], number: int) -> Exchange:
        """Systems that exchange places in one gold set, of which each may lack items."""
        parts = [self._systems[row].parts[number] for row in rows]
        present = np.ones((len(parts), gold.n_items), bool)
        rankings = []
        for row, part in enumerate(parts):
            self._look()
            if part.gold.labels == gold.labels:
                rankings.append(part.system)
            else:
                has = set(part.gold.labels or ())
                present[row] = [label in has for label in gold.labels or ()]
                rankings.append(align(gold, part.system, missing="gold")[1])
        return self._made(number, rows, gold, rankings, present)

    def _made(
        self,
        number: int,
        rows: Sequence[int],
        gold: Ranking,
        rankings: Sequence[Ranking],
        present: NDArray[np.bool_] | None = None,
    ) -> Exchange:
        systems = [self._systems[row] for row in rows]
        codes = [codes_of_items(each.codes, gold.labels) for each in systems if each.codes is not None]
        if codes:
            exchange = Exchange.of_scores(self._coefficient, gold, rankings, np.array(codes), present)
        else:
            exchange = Exchange.of_ranks(self._coefficient, gold, rankings, present)
        exponents = [each.exponents[number] for each in systems if each.exponents is not None]
        return replace(exchange, exponents=np.array(exponents)) if exponents else exchange


def _drawn_ranges(together: Sequence[Exchange], rng: np.random.Generator, size: int) -> Values:
    totals = np.sum([each.drawn(rng, size) for each in together], axis=0)
    return np.asarray(np.maximum.accumulate(totals, axis=1) - np.minimum.accumulate(totals, axis=1))


def contested(contest: Testable, level: float) -> tuple[Values, Values, list[int]]:
    """P-values of the best system against each, the same corrected, both nan for the best, and all groups, from 1.

    The first group is told from the others at 1 - level, each later one among m of all k systems at (1 - level) m / k,
    as in Ryan's procedure, so that all groups together are wrong no more often than that.
    """
    n_systems, alpha = contest.n_systems, alpha_of(level)
    pvalues, corrected, leads = (np.full(n_systems, np.nan) for _ in range(3))
    if n_systems > 1:
        pvalues[1:], leads[1:] = contest.pvalues(0, range(1, n_systems))
        corrected[1:] = _step_down(contest, pvalues, alpha)
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
    return pvalues, corrected, groups


def _step_down(contest: Testable, pvalues: Values, alpha: float) -> Values:
    """Corrected p-values of the best against each other system, after those told apart have left."""
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


def alpha_of(level: float) -> float:
    """Return 1 - level, rounded: 1 - 0.95 exceeds 0.05 in the last digit, and a p-value of 3/60 is not below 0.05."""
    return round(1 - level, 12)
