"""One randomization test of all pairs of systems, which exchange their places together in one or several gold sets."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr._checks import alpha_of, shown
from rankcorr._coefficients import Coefficient, Pearson
from rankcorr._ranking import Ranking, align_rankings
from rankcorr._workers import Draws, Values
from rankcorr.errors import TooFewItemsError
from rankcorr.inference._exchange import (
    Codes,
    Exchange,
    Swap,
    check_swap,
    clusters_of_items,
    codes_of_items,
    codes_of_scores,
    draw_exchanges,
    on_one_scale,
)
from rankcorr.inference._exchange_distribution import MAX_EXACT
from rankcorr.inference._gold_sets import AlignedSystem
from rankcorr.inference._multiple_tests import PairTests, judge_pairs, step_down

PAIRED, JOINT = range(2)
# Exchanges of each paired test on a leaderboard of more than two systems: the smallest p-value is a tenth of 0.05.
PAIRED_DRAWS = 199


@dataclass(frozen=True, eq=False, slots=True)
class RankedSystem:
    """A system whose coefficient is defined.

    Attributes
    ----------
    name : str
        Its name.
    parts : sequence of AlignedSystem
        The system aligned with each gold set that it is ranked by.
    total : float
        The value that it is ranked by: the sum of its coefficients over these gold sets.
    codes : Codes or None
        Its codes by `codes_for_swap`, if it may exchange scores.
    exponents : ndarray of float64, shape (n_gold_sets,), or None
        Exponents of the maps that standardize its coefficient in each gold set.
    """

    name: str
    parts: Sequence[AlignedSystem]
    total: float
    codes: Codes | None = None
    exponents: Values | None = None


@dataclass(eq=False)
class JointTest:
    """The test of all pairs of systems, given from best to worst by the sum of their coefficients over gold sets.

    All systems exchange their places at random. The lead of each system over each other one is compared with the
    largest difference of two systems in these exchanges: a step-down randomization test of all pairs. The p-values
    remain valid although the best system was picked after seeing the results.

    Systems that are less similar than others differ by more. The distance of two systems is the root of the mean
    squared difference of their ranks. If it exceeds the average distance of two systems by more than its standard
    error, their lead is scaled down by the ratio, as in the Tukey-Kramer method. No p-value of the best system is below
    the p-value of the paired test.
    """

    coefficient: Coefficient
    golds: Mapping[str, Ranking]
    systems: Sequence[RankedSystem]
    draws: Draws
    swap_option: Swap = "auto"
    clusters: Any = None

    def __post_init__(self) -> None:
        self._is_by_scores = self._have_one_scale(range(self.n_systems), self.golds.values())
        # "scores" or "ranks", as the paired test of each system with the best exchanges them; None for the best.
        self.paired_swaps: list[str | None] = [None] * self.n_systems

    @property
    def swap(self) -> str:
        """The values that all systems exchange: "scores", "standardized scores" or "ranks"."""
        if self._is_by_scores:
            return "scores"
        return "standardized scores" if isinstance(self.coefficient, Pearson) else "ranks"

    @property
    def n_systems(self) -> int:
        """Number of systems."""
        return len(self.systems)

    @cached_property
    def is_exact(self) -> bool | None:
        """Whether all exchanges are enumerated: never with more than two systems; None without a test."""
        if self.n_systems < 2:
            return None
        return self.n_systems == 2 and sum(exchange.n_units for exchange in self._pair(0, 1)) <= MAX_EXACT

    def run(self, level: float) -> PairTests:
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
            # A system with the larger coefficient over its own items may not lead over the items that both have.
            leads[0, 1:] = np.where(paired_leads > 0, paired_leads, 0.0)
            # A system that equals the best has the same test results, whichever of the two comes first.
            for twin in filter(self._equals_best, range(1, number)):
                corrected[twin], leads[twin] = corrected[0], leads[0]
                corrected[:, twin] = corrected[twin]
                corrected[twin, twin], corrected[twin, 0], corrected[0, twin] = math.nan, 1.0, 1.0
            for first, second in np.argwhere(np.triu(corrected <= alpha_of(level), 1)).tolist():
                if first > 0 and not self._is_ahead(first, second):
                    leads[first, second] = 0.0
        return judge_pairs(pvalues, corrected, leads, level)

    def _paired(self, level: float) -> tuple[Values, Values]:
        """Return the p-value of the best system against each other one, and its lead over the items that both have.

        Both are nan if a coefficient is undefined over these items.
        """
        draws = self.draws.of_part(PAIRED)
        if self.n_systems > 2:
            draws = draws.limit(max(PAIRED_DRAWS, math.ceil(10 / alpha_of(level)) - 1))
        pairs = []
        for other in range(1, self.n_systems):
            self.draws.progress(0)  # the caller may stop the work between its steps
            pairs.append(self._pair(0, other))
        self.paired_swaps[1:] = [pair[0].swap for pair in pairs]
        distributions = draw_exchanges(pairs, draws)
        leads = np.array([distribution.observed for distribution in distributions])
        pvalues = np.array([distribution.pvalue() for distribution in distributions])
        return np.where(np.isnan(leads), np.nan, pvalues), leads

    def _equals_best(self, row: int) -> bool:
        """Return whether a system has the same ranks as the best, and the same scores if scores are exchanged."""
        best, other = self.systems[0], self.systems[row]
        for first, second in zip(best.parts, other.parts, strict=True):
            labels = first.gold.labels
            if labels != second.gold.labels or not np.array_equal(first.system.ranks, second.system.ranks):
                return False
            codes = [codes_of_items(part, labels) for part in (best.codes, other.codes) if part is not None]
            if len(codes) == 2 and not np.array_equal(codes[0], codes[1]):
                return False
        return True

    def _is_ahead(self, first: int, second: int) -> bool:
        """Return whether a system is better than a lower one over the items that both have."""
        parts = zip(self.systems[first].parts, self.systems[second].parts, strict=True)
        if all(one.gold.labels == other.gold.labels for one, other in parts):
            return True
        self.draws.progress(0)
        values = np.sum([pair.observed() for pair in self._pair(first, second)], axis=0)
        return bool(values[0] > values[1])

    def _jointly(self) -> tuple[Values, Values]:
        """Return p-values of all pairs from exchanges of all systems, corrected for all pairs, and the leads."""
        exchanges = [self._exchange_all(gold, number) for number, gold in enumerate(self.golds.values())]
        n_numbers = 2 * self.n_systems * sum(exchange.n_items for exchange in exchanges)
        draws = self.draws.of_part(JOINT)
        totals = np.concatenate(draws.in_blocks(partial(_draw_totals, exchanges), n_numbers), axis=1)
        totals = np.ascontiguousarray(np.moveaxis(totals, 2, 0))
        sums = np.array([system.total for system in self.systems])
        leads = sums[:, np.newaxis] - sums
        first, second = np.triu_indices(self.n_systems, 1)
        scaled = np.abs(leads) * _scales(exchanges)

        def leads_after(pairs: NDArray[np.intp]) -> Values:
            return np.asarray(np.abs(totals[first[pairs]] - totals[second[pairs]]))

        corrected = np.full(leads.shape, math.nan)
        corrected[first, second] = step_down(scaled[first, second], leads_after)
        corrected[second, first] = corrected[first, second]
        return corrected, leads

    def _pair(self, leader: int, other: int) -> list[Exchange]:
        """Return the exchange of two systems in each gold set, over the items that both have.

        Whether they exchange scores or ranks depends on their scores alone, and not on those of other systems.
        """
        first, second = self.systems[leader], self.systems[other]
        aligned = [
            _align_pair(one, two, (first.name, second.name), set_name)
            for set_name, one, two in zip(self.golds, first.parts, second.parts, strict=True)
        ]
        by_scores = self._have_one_scale((leader, other), [gold for gold, *_ in aligned])
        return [
            self._exchange(number, (leader, other), gold, systems, None, by_scores)
            for number, (gold, *systems) in enumerate(aligned)
        ]

    def _have_one_scale(self, rows: Sequence[int], golds: Iterable[Ranking]) -> bool:
        """Return whether some systems exchange scores: all have scores, on one scale in each gold set."""
        codes = [system.codes for row in rows if (system := self.systems[row]).codes is not None]
        if self.swap_option == "ranks" or not codes or len(codes) < len(rows):
            return False
        if self.swap_option == "scores":
            return True
        return all(on_one_scale(np.array([codes_of_items(part, gold.labels) for part in codes])) for gold in golds)

    def _exchange_all(self, gold: Ranking, number: int) -> Exchange:
        """Return the exchange of all systems in one gold set; each system may lack items."""
        parts = [system.parts[number] for system in self.systems]
        present = np.ones((len(parts), gold.n_items), bool)
        rankings = []
        for row, part in enumerate(parts):
            self.draws.progress(0)
            if part.gold.labels == gold.labels:
                rankings.append(part.system)
            else:
                part_labels = set(part.gold.labels or ())
                present[row] = [label in part_labels for label in gold.labels or ()]
                rankings.append(align_rankings(gold, part.system, missing="gold")[1])
        return self._exchange(number, range(self.n_systems), gold, rankings, present, self._is_by_scores)

    def _exchange(
        self,
        number: int,
        rows: Sequence[int],
        gold: Ranking,
        rankings: list[Ranking],
        is_present: NDArray[np.bool_] | None,
        by_scores: bool,
    ) -> Exchange:
        systems = [self.systems[row] for row in rows]
        codes = [
            codes_of_items(system.codes, gold.labels) for system in systems if system.codes is not None and by_scores
        ]
        numbers = clusters_of_items(self.clusters, gold.labels, gold.n_items)
        exchange = Exchange.of(
            self.coefficient, gold, rankings, np.array(codes) if codes else None, is_present, numbers
        )
        exponents = [system.exponents[number] for system in systems if system.exponents is not None]
        return replace(exchange, exponents=np.array(exponents)) if exponents else exchange


def codes_for_swap(coefficient: Coefficient, systems: Mapping[str, Ranking], swap: Swap) -> list[Codes | None]:
    """Check `swap`, and return the codes of the scores of each system, computed for all together.

    The codes are None for a system that exchanges ranks.

    Raises
    ------
    OptionError
        The value of `swap` is unknown, or not possible with the coefficient or a system.
    """
    check_swap(coefficient, swap)
    rankings = {f"system {name!r}": ranking for name, ranking in systems.items()}  # in full, since names must differ
    with_scores = {
        name: ranking for name, ranking in rankings.items() if swap == "scores" or ranking.scores is not None
    }
    if swap == "ranks" or not with_scores:
        return [None] * len(rankings)
    codes = dict(zip(with_scores, codes_of_scores(with_scores), strict=True))
    return [codes.get(name) for name in rankings]


def _align_pair(
    first: AlignedSystem, second: AlignedSystem, names: Sequence[str], set_name: str
) -> tuple[Ranking, Ranking, Ranking]:
    """Return gold and two systems over the items that both have; `names` are the names of the systems."""
    if first.gold.labels == second.gold.labels:
        return first.gold, first.system, second.system
    second_labels = set(second.gold.labels or ())
    labels: list[Hashable] = [label for label in first.gold.labels or () if label in second_labels]
    if len(labels) < 2:
        raise TooFewItemsError(
            f"systems {shown(names[0])} and {shown(names[1])} must have at least two items of gold set "
            f"{shown(set_name)} in common, to be tested; got {len(labels)}"
        )
    tied = Ranking.from_ranks(np.zeros(len(labels)), labels)
    rankings = first.gold, first.system, second.system
    gold, *systems = (align_rankings(tied, ranking, missing="intersection")[1] for ranking in rankings)
    return gold, systems[0], systems[1]


def _draw_totals(exchanges: Sequence[Exchange], rng: np.random.Generator, size: int) -> Values:
    draws = [exchange.coefficients_after(exchange.draw_choices(rng, size)) for exchange in exchanges]
    return np.asarray(np.sum(draws, axis=0))


def _scales(exchanges: Sequence[Exchange]) -> Values:
    """Return the factor, at most 1, that scales the lead of each system, a row, over each other one."""
    squares = np.sum([np.nan_to_num(exchange.distances()) for exchange in exchanges], axis=0)
    lower = np.sqrt(np.sum([np.nan_to_num(exchange.lower_distances()) for exchange in exchanges], axis=0))
    typical = np.sqrt(squares.sum() / (len(squares) * (len(squares) - 1)))
    return np.asarray(np.divide(typical, lower, out=np.ones(lower.shape), where=lower > typical))
