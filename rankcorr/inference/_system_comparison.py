"""Compare systems with one gold ranking: the paired randomization test, its interval, and a table of many tests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any, Final

import numpy as np

from rankcorr._checks import (
    ALTERNATIVES,
    Alternative,
    alpha_of,
    check_choice,
    checked_level,
    collected_notices,
    give_notice,
    offending,
    shown,
    warn_undefined,
)
from rankcorr._coefficients import Coefficient, ScoreCoefficientLike, as_coefficient, different_coefficients
from rankcorr._output.report import Report
from rankcorr._output.results import Computed, Result, TableResult
from rankcorr._output.tables import TableNotes, significance_notes
from rankcorr._ranking import MISSING, Missing, Ranking, RankingLike, align_rankings, as_ranking, match_positions
from rankcorr._workers import Draws, Progress
from rankcorr.errors import LabelError, OptionError, RankingError, TooFewItemsError, UndefinedCorrelationWarning
from rankcorr.inference._exchange import (
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
from rankcorr.inference._gold_sets import name_gold_sets, name_systems
from rankcorr.inference._multiple_tests import holm
from rankcorr.inference._reports import comparison_report, comparisons_report
from rankcorr.inference._resampling import delete_items, sorted_items

NAMES: Final = ("gold", "a", "b")
MIRRORED: Final[dict[Alternative, Alternative]] = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
BOUND: Final = 2.0  # no two correlations differ by more

# Number of items that are removed in turn: all, or those whose weighted ranks differ most.
MOST_LEFT_OUT: Final = 1_000
# Number of exchanges drawn without an item; its p-value only has to be compared with the level.
N_LEFT_OUT: Final = 999


@dataclass(frozen=True, eq=False)
class LeftOut(Result):
    """A comparison without one item or query.

    Attributes
    ----------
    label : hashable
        Label of the item or query, or its position from 0 if the rankings have no labels.
    difference, pvalue : float
        The difference and the p-value without it.
    """

    label: Hashable
    difference: float
    pvalue: float

    def reverse(self) -> LeftOut:
        """Return the comparison with the two systems swapped."""
        return replace(self, difference=0.0 - self.difference)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SystemComparison(Computed):
    """Two systems against one gold ranking, with the options used.

    Attributes
    ----------
    statistic_a, statistic_b : float
        Coefficient of gold with each system, over the same items.
    difference : float
        The coefficient of the first system minus that of the second.
    pvalue : float
        P-value of the paired randomization test; nan if the difference is undefined.
    alternative : str
        "two-sided", "greater" (the first system is better) or "less".
    swap : str
        What the test exchanged: "scores" or "ranks", or "standardized scores" if Pearson's correlation compares systems
        that do not share a scale.
    exact : bool
        Whether all exchanges were enumerated.
    low, high : float
        Ends of the interval of differences that the same test does not reject. It excludes 0 if and only if the p-value
        is at most 1 - level.
    level : float
        Level of confidence of the interval.
    detectable : float
        The smallest true difference that the two-sided test detects with power 0.8; nan if there is none up to 2, or if
        no exchange changes the difference.
    least, most : LeftOut or None
        The items whose removal makes the difference smallest and largest. None with two items, or if the difference is
        undefined.
    fragile : bool
        Whether removing one of these two items reverses the verdict of the test at 1 - level.
    n_resamples, seed : int
        Number of exchanges drawn, unless the test is exact, and the seed of the random numbers.
    n_undefined : int
        Number of exchanges with an undefined coefficient; they count as at least as extreme.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`; `n_items` after alignment of all three.
    n_missing : int or None
        Number of items that are not in all three rankings; None if `missing` is None.

    See Also
    --------
    compare_systems : Returns it.
    ComparedPair : One of several comparisons.

    Examples
    --------
    >>> from rankcorr import compare_systems
    >>> comparison = compare_systems([5, 4, 3, 2, 1], [5, 4, 3, 1, 2], [3, 4, 5, 1, 2], coefficient="tau")
    >>> round(comparison.statistic_a, 4), round(comparison.statistic_b, 4), round(comparison.difference, 4)
    (0.8, 0.2, 0.6)
    >>> comparison.pvalue, comparison.exact, comparison.swap
    (0.5, True, 'ranks')
    """

    statistic_a: float
    statistic_b: float
    difference: float
    pvalue: float
    alternative: str
    swap: str
    exact: bool
    low: float
    high: float
    level: float
    detectable: float
    least: LeftOut | None
    most: LeftOut | None
    fragile: bool
    n_resamples: int
    seed: int
    n_undefined: int
    n_missing: int | None = None

    def report(self, first: str = "the first system", second: str = "the second system") -> Report:
        """Return methods, results and limits for a paper; `first` and `second` are the names of the systems."""
        return comparison_report(self, first, second)


def compare_systems(
    gold: RankingLike,
    a: RankingLike,
    b: RankingLike,
    *,
    coefficient: ScoreCoefficientLike = "tau_w",
    missing: Missing = "raise",
    alternative: Alternative = "two-sided",
    swap: Swap = "auto",
    clusters: Mapping[Any, Hashable] | Sequence[Hashable] | None = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SystemComparison:
    """Compare two systems by their correlations with one gold ranking.

    The null hypothesis is that items are independent, and that the two systems are exchangeable on each item: each
    could equally well have given the other's score. If errors are shared between items, such as items of one topic,
    give `clusters`. Each item is exchanged with probability 1/2, both systems are ranked again, and the difference of
    the coefficients is recomputed. Up to 12 items, or clusters, all 2^n exchanges are enumerated. Above, the p-value is
    (1 + count) / (1 + n_resamples), where count is the number of exchanges with a difference at least as extreme.

    If the systems share a scale, their scores are exchanged, and the test is exact. If only their orders are known, or
    the scores have different distributions, ranks are exchanged on two scales, and the test rejects only if it rejects
    on both. It then has less power. docs/explain/tests.md has the reasons, and docs/results/levels.md the levels and
    the power.

    The interval inverts the test, so it excludes 0 if and only if the p-value is at most 1 - level. It applies to these
    items: only the assignment of scores to systems is random.

    Equal mean coefficients are not the null hypothesis. If one system is noisy at the top and the other at the bottom,
    they are not exchangeable, even if the mean difference is 0.

    Parameters
    ----------
    gold, a, b : Ranking, mapping of label to score, or array_like of shape (n_items,)
        Plain numbers are scores: larger is better. Labelled rankings are matched by label.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho", "pearson"}
        A value with its options, such as ``TauW(n0=10)``; a name selects the default options. Exchanged systems have
        ties, so a weigher must accept the ranks 1, 1.5, 2 and so on.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat labels that are not in all three rankings. "raise": raise an error. "intersection": exclude them.
        "bottom": place them last, tied, in each ranking that lacks them. "gold": as "bottom", but only for the items of
        gold.
    alternative : {"two-sided", "greater", "less"}
        "greater" tests whether the first system is better; the interval then has only a lower bound.
    swap : {"auto", "scores", "ranks"}
        What the two systems exchange. "auto" exchanges scores if both systems have them and their distributions may be
        equal, otherwise ranks; see `swap` of the result. A `Ranking` has the scores that it was made from.
    clusters : mapping of label to cluster, or sequence of shape (n_items,), optional
        The cluster of each item, if items are not independent, such as those of one topic. Whole clusters are
        exchanged. Labelled items need a mapping, or a series with these labels.
    level : float, default 0.95
        Level of confidence of the interval.
    n_resamples : int, default 10000
        Number of exchanges, at least 1 / (1 - level) - 1, unless all are enumerated.
    seed : int, default 0
        The same seed gives the same result; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. The result does not depend on it.
    progress : callable, optional
        Called with the number of exchanges done since the last call, and with 0 between later steps. An exception that
        it raises stops the work.

    Returns
    -------
    SystemComparison
        Its p-value is nan, with an `UndefinedCorrelationWarning`, if a coefficient is undefined.

    Raises
    ------
    RankingError
        The subclass tells what is wrong with the rankings or the options.

    See Also
    --------
    compare_many : Several pairs, with one correction.
    leaderboard : Many systems, with intervals and groups.
    rankcorr.evaluation.compare_runs : Search results, compared over queries.

    References
    ----------
    J. A. Hartigan, Using Subsample Values as Typical Values, Journal of the American Statistical Association 64 (1969).

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr import compare_systems
    >>> rng = np.random.default_rng(0)
    >>> gold = rng.normal(size=100)
    >>> a, b = gold + 0.3 * rng.normal(size=100), gold + 2 * rng.normal(size=100)
    >>> comparison = compare_systems(gold, a, b, coefficient="tau", n_resamples=1_000)
    >>> comparison.difference > 0, comparison.pvalue < 0.01, comparison.low > 0, comparison.fragile
    (True, True, True, False)
    """
    coefficient_value = as_coefficient(coefficient, of_scores=True)
    check_choice("alternative", alternative, ALTERNATIVES)
    check_swap(coefficient_value, swap)
    confidence, draws = checked_level(level), Draws.checked(n_resamples, seed, workers, progress)
    gold, *systems = match_positions(map(as_ranking, (gold, a, b)))
    (first, second, third), n_unmatched = align_three(gold, systems[0], systems[1], missing)
    values = coefficient_value.of_rankings(first, [second, third])
    difference = float(values[0] - values[1])
    # Tests take two systems in a fixed order, so that a and b use the same random numbers as b and a.
    is_reversed = sorted_items(coefficient_value, first, [second, third]).is_reversed
    exchange = _exchange(coefficient_value, (first, second, third), systems, swap, is_reversed, clusters)
    if exchange.n_units > MAX_EXACT:
        draws.check_reach(confidence, 1)

    n_undefined, least, most, is_fragile = 0, None, None, False
    pvalue = low = high = detectable = math.nan
    if math.isnan(difference):
        undefined = [name for name, value in zip(NAMES[1:], values, strict=True) if math.isnan(value)]
        warn_undefined(offending("all items that have weight are tied in gold or in", undefined), stacklevel=3)
    else:
        (distribution,) = draw_exchanges([[exchange]], draws.of_part(0))
        side, n_undefined = MIRRORED[alternative] if is_reversed else alternative, distribution.n_undefined
        pvalue, detectable = distribution.pvalue(side), distribution.detectable(confidence, BOUND)
        low, high = distribution.interval(confidence, side, BOUND)
        if is_reversed:
            low, high = 0.0 - high, 0.0 - low  # no -0.0
        if first.n_items > 2:
            least, most = _leave_items_out(exchange, first, side, is_reversed, draws.of_part(1))
            alpha = alpha_of(confidence)
            is_fragile = any((rest.pvalue <= alpha) != (pvalue <= alpha) for rest in (least, most))
        if n_undefined:
            n_exchanges = distribution.net_shares.size
            why = f"in {n_undefined:,} of {n_exchanges:,} exchanges, which count against a difference"
            warn_undefined(why, stacklevel=3)
    return SystemComparison(
        statistic_a=float(values[0]),
        statistic_b=float(values[1]),
        difference=difference,
        pvalue=pvalue,
        alternative=alternative,
        swap=exchange.swap,
        exact=exchange.n_units <= MAX_EXACT,
        low=low,
        high=high,
        level=confidence,
        detectable=detectable,
        least=least,
        most=most,
        fragile=is_fragile,
        n_resamples=draws.n_resamples,
        seed=draws.seed,
        n_undefined=n_undefined,
        n_missing=None if missing == "raise" else n_unmatched,
        **coefficient_value.computed_fields(first.n_items, missing),
    )


@dataclass(frozen=True, eq=False)
class ComparedPair(Result):
    """One comparison of a table.

    Attributes
    ----------
    gold_set, coefficient : str
        Names of the gold set and the coefficient; the options follow if the table has several coefficients of one name.
    a, b : str
        Names of the systems.
    comparison : SystemComparison
    corrected_pvalue : float
        P-value by Holm's method, over all comparisons of the table.

    See Also
    --------
    compare_many : Returns a table of them.
    SystemComparison : The type of `comparison`.

    Examples
    --------
    >>> from rankcorr import compare_many
    >>> table = compare_many([4, 3, 2, 1], {"a": [4, 3, 2, 1], "b": [1, 2, 3, 4]}, coefficients=["tau", "rho"])
    >>> for row in table.rows:
    ...     print(row.coefficient, row.a, row.b, row.comparison.pvalue, row.corrected_pvalue)
    tau a b 0.25 0.5
    rho a b 0.25 0.5
    """

    gold_set: str
    coefficient: str
    a: str
    b: str
    comparison: SystemComparison
    corrected_pvalue: float


@dataclass(frozen=True, eq=False, repr=False)
class SystemComparisons(TableResult):
    """Comparisons of pairs of systems on several gold sets or by several coefficients, with one correction.

    Attributes
    ----------
    rows : tuple of ComparedPair
        Sorted by gold set, coefficient and pair, each in the order given.

    See Also
    --------
    compare_many : Returns it.
    ComparedPair : The type of its rows.

    Examples
    --------
    >>> from rankcorr import compare_many
    >>> systems = {"a": [4, 3, 2, 1], "b": [4, 3, 1, 2], "c": [1, 2, 3, 4]}
    >>> table = compare_many([4, 3, 2, 1], systems, coefficients=["tau"], baseline="c")
    >>> [(row.a, row.b, round(row.comparison.difference, 4)) for row in table.rows]
    [('a', 'c', 2.0), ('b', 'c', 1.6667)]
    """

    rows: tuple[ComparedPair, ...]

    def report(self) -> Report:
        """Return methods, results and limits for a paper."""
        return comparisons_report(self)

    def __repr__(self) -> str:
        least = min((row.corrected_pvalue for row in self.rows if row.corrected_pvalue >= 0), default=math.nan)
        return f"<SystemComparisons: {len(self.rows)} tests, least corrected p {least:.3g}>"

    def _notes(self) -> TableNotes:
        columns = self._columns()
        caption = f"Differences between systems in {', '.join(dict.fromkeys(columns['coefficient']))}."
        place = list(columns).index("difference")
        return significance_notes(caption, columns["corrected_pvalue"], place, self.rows[0].comparison.level)

    def _columns(self) -> dict[str, list[Any]]:
        of_row = ("gold_set", "coefficient", "a", "b")
        of_comparison = ("statistic_a", "statistic_b", "difference", "low", "high", "pvalue")
        return {
            **{name: [getattr(row, name) for row in self.rows] for name in of_row},
            **{name: [getattr(row.comparison, name) for row in self.rows] for name in of_comparison},
            "corrected_pvalue": [row.corrected_pvalue for row in self.rows],
            **{name: [getattr(row.comparison, name) for row in self.rows] for name in ("fragile", "n_items")},
        }


def compare_many(
    gold: RankingLike | Mapping[str, RankingLike],
    systems: Mapping[str, RankingLike],
    *,
    coefficients: Sequence[ScoreCoefficientLike] = ("tau_w",),
    baseline: str | None = None,
    missing: Missing = "raise",
    alternative: Alternative = "two-sided",
    swap: Swap = "auto",
    clusters: Mapping[Any, Hashable] | Sequence[Hashable] | None = None,
    level: float = 0.95,
    n_resamples: int = 10_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> SystemComparisons:
    """Compare pairs of systems on one or several gold sets, by one or several coefficients, with one correction.

    Each comparison is that of `compare_systems`. Their p-values are corrected together by Holm's method: with
    probability at least 0.95, no corrected p-value of exchangeable systems is 0.05 or less. To rank many systems,
    `leaderboard` has more power, because its tests use the joint distribution of all systems.

    Parameters
    ----------
    gold : ranking, or mapping of name to ranking
        One gold ranking, named "gold", or several gold sets by name. Several must have labels.
    systems : mapping of name to ranking
        Two or more. With several gold sets, a system has the items of all, at least two of each. Each comparison
        excludes the items of the other gold sets; `missing` applies to all other items.
    coefficients : sequence of Coefficient or {"tau_w", "rho_w", "tau", "rho", "pearson"}
    baseline : str, optional
        Name of a system that each other one is compared with; by default, all pairs are compared.
    missing, alternative, swap, clusters, level, n_resamples, seed, workers, progress
        As in `compare_systems`.

    Returns
    -------
    SystemComparisons

    Raises
    ------
    RankingError
        `OptionError` for fewer than two systems or an unknown baseline; otherwise as `compare_systems`, with the names
        of the systems and the gold set in the message.

    See Also
    --------
    compare_systems : One pair of systems.
    leaderboard : More powerful for many systems.
    holm : The correction alone.

    Examples
    --------
    >>> from rankcorr import compare_many
    >>> gold = {"nouns": {"fig": 4, "kiwi": 3, "plum": 2, "pear": 1}, "verbs": {"run": 3, "go": 2, "be": 1}}
    >>> good = {"fig": 9, "kiwi": 7, "plum": 5, "pear": 1, "run": 8, "go": 4, "be": 2}
    >>> poor = {"fig": 1, "kiwi": 5, "plum": 7, "pear": 9, "run": 2, "go": 4, "be": 8}
    >>> table = compare_many(gold, {"good": good, "poor": poor})
    >>> [(row.gold_set, row.comparison.pvalue, row.corrected_pvalue) for row in table.rows]
    [('nouns', 0.25, 0.5), ('verbs', 0.5, 0.5)]
    """
    coefficient_values = list(different_coefficients(coefficients, of_scores=True).values())
    coefficient_names = [coefficient_value.name for coefficient_value in coefficient_values]
    labels = [
        coefficient_value.name if coefficient_names.count(coefficient_value.name) == 1 else repr(coefficient_value)
        for coefficient_value in coefficient_values
    ]
    golds, rankings = name_systems(systems, name_gold_sets(gold))
    names = list(rankings)
    if len(names) < 2:
        raise OptionError(f"at least two systems are needed to compare; got {', '.join(map(shown, names))}")
    if baseline is not None:
        check_choice("baseline", baseline, tuple(names))
    others = [name for name in names if name != baseline]
    pairs = list(combinations(names, 2)) if baseline is None else [(name, baseline) for name in others]
    options: dict[str, Any] = {"missing": missing, "alternative": alternative, "swap": swap, "clusters": clusters}
    options |= {"level": level, "n_resamples": n_resamples, "seed": seed, "workers": workers, "progress": progress}
    comparisons: list[tuple[str, str, str, str, SystemComparison]] = []
    for set_name, gold_set in golds.items():
        in_set = rankings
        if len(golds) > 1:
            in_set = {name: _restrict_to_set(rankings[name], golds, name, set_name) for name in names}
        for (label, coefficient_value), (a, b) in product(zip(labels, coefficient_values, strict=True), pairs):
            place = f"{shown(a)} and {shown(b)} on {shown(set_name)}"
            try:
                with collected_notices() as notices:
                    comparison = compare_systems(
                        gold_set, in_set[a], in_set[b], coefficient=coefficient_value, **options
                    )
            except RankingError as error:
                raise type(error)(f"{place}: {error}") from error
            for notice in notices:
                give_notice(f"{place}: {notice}", UndefinedCorrelationWarning)
            comparisons.append((set_name, label, a, b, comparison))
    corrected = holm([comparison.pvalue for *_, comparison in comparisons]).tolist()
    return SystemComparisons(
        tuple(ComparedPair(*fields, pvalue) for fields, pvalue in zip(comparisons, corrected, strict=True))
    )


def _restrict_to_set(system: Ranking, golds: Mapping[str, Ranking], name: str, set_name: str) -> Ranking:
    """Return a system without the items that are only in other gold sets."""
    if system.labels is None:
        raise LabelError(f"several gold sets need labels, to find the items of each; system {shown(name)} has none")
    gold_labels = set(golds[set_name].labels or ())
    foreign_labels = {label for gold in golds.values() for label in gold.labels or ()} - gold_labels
    if len(gold_labels & set(system.labels)) < 2:
        raise TooFewItemsError(f"system {shown(name)} has fewer than two items of gold set {shown(set_name)}")
    return system.take(np.array([item for item, label in enumerate(system.labels) if label not in foreign_labels]))


def _exchange(
    coefficient: Coefficient,
    aligned: tuple[Ranking, Ranking, Ranking],
    unaligned: Sequence[Ranking],
    swap: Swap,
    is_reversed: bool,
    clusters: Any,
) -> Exchange:
    """Return the exchange of two systems, in reverse order if `is_reversed`."""
    gold, *systems = aligned
    codes = None
    if swap == "scores" or (swap == "auto" and all(system.scores is not None for system in unaligned)):
        named = dict(zip(NAMES[1:], unaligned, strict=True))
        codes = np.array([codes_of_items(codes, gold.labels) for codes in codes_of_scores(named)])
    if is_reversed:
        systems, codes = systems[::-1], None if codes is None else codes[::-1]
    by_scores = codes is not None and (swap == "scores" or on_one_scale(codes))
    numbers = clusters_of_items(clusters, gold.labels, gold.n_items)
    return Exchange.of(coefficient, gold, systems, codes if by_scores else None, clusters=numbers)


def _leave_items_out(
    exchange: Exchange, gold: Ranking, alternative: Alternative, is_reversed: bool, draws: Draws
) -> tuple[LeftOut, LeftOut]:
    """Return the comparisons without the item whose removal makes the difference smallest, and largest."""
    items = exchange.items
    candidates = np.sort(np.argsort(-items.item_distances, kind="stable")[:MOST_LEFT_OUT])
    differences = -np.diff(delete_items(items, candidates, draws), axis=1)
    # If removing an item makes the difference undefined, it counts as 0: the p-value without the item is then 1.
    differences = np.where(np.isnan(differences), 0.0, differences)[:, 0]
    comparisons = []
    for place in (int(np.argmin(differences)), int(np.argmax(differences))):
        item = int(candidates[place])
        (distribution,) = draw_exchanges([[exchange.drop_item(item)]], draws.limit(N_LEFT_OUT))
        position = int(gold.best_first[item])
        label = position if gold.labels is None else gold.labels[position]
        comparison = LeftOut(label, float(differences[place]), distribution.pvalue(alternative))
        comparisons.append(comparison.reverse() if is_reversed else comparison)
    first, second = comparisons[::-1] if is_reversed else comparisons
    return first, second


def align_three(
    gold: RankingLike, a: RankingLike, b: RankingLike, missing: Missing
) -> tuple[tuple[Ranking, Ranking, Ranking], int]:
    """Return three rankings over the same items in the same order, and the number of items not in all three."""
    check_choice("missing", missing, MISSING)
    rankings = as_ranking(gold), as_ranking(a), as_ranking(b)
    if missing == "raise" or any(ranking.labels is None for ranking in rankings):
        second = align_rankings(rankings[0], rankings[1], names=("gold", "a"), missing=missing)[1]
        third = align_rankings(rankings[0], rankings[2], names=("gold", "b"), missing=missing)[1]
        return (rankings[0], second, third), 0
    counts = Counter(label for ranking in rankings for label in ranking.labels or ())
    common = [label for label, number in counts.items() if number == len(rankings)]
    gold_labels = list(rankings[0].labels or ())
    # Items that gold lacks are tied there, in an order that stays the same if a and b are swapped.
    all_labels = gold_labels + sorted(list(counts)[len(gold_labels) :], key=str)
    labels = {"intersection": common, "gold": gold_labels}.get(missing, all_labels)
    if len(labels) < 2:
        raise TooFewItemsError(
            "gold, a and b must have at least two labels in common; they have "
            f"{', '.join(str(ranking.n_items) for ranking in rankings)} items, {len(labels)} in common"
        )
    # Aligned with a ranking that ties all these items, each of the three rankings gets exactly these items.
    tied = Ranking.from_ranks(np.zeros(len(labels)), labels)
    first, second, third = (
        align_rankings(tied, ranking, names=("gold", name), missing=missing)[1]
        for name, ranking in zip(NAMES, rankings, strict=True)
    )
    return (first, second, third), len(counts) - len(common)
