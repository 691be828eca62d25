"""Many systems against one or several gold sets: coefficients with intervals, ranks, tests and groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import MISSING, Missing
from rankcorr.checks import N_SHOWN, check_choice, offending
from rankcorr.correlation import Coefficient, Computed, Statistic, Variant
from rankcorr.errors import OptionError
from rankcorr.inference.bootstrap import percentile_interval, resampled
from rankcorr.inference.comparison import MAX_EXACT
from rankcorr.inference.gold_sets import SUM, Entered, entered, gold_sets_of, systems_of, unused_labels
from rankcorr.inference.leaderboard_groups import PairedTests, alpha_of, corrected_pvalues, groups_of
from rankcorr.inference.resampling import checked_level, checked_resamples, checked_seed
from rankcorr.inference.sorted_items import SortedItems, Values, derived_seed
from rankcorr.notices import warn_undefined
from rankcorr.ranking import RankingLike
from rankcorr.weights import DEFAULT_N0, Scheme, TiedWeights, Weigher
from rankcorr.workers import Progress, checked_workers

ROUNDED = 12


@dataclass(frozen=True, slots=True)
class Score:
    """A coefficient, or a sum of them, with its percentile interval.

    Attributes
    ----------
    statistic, low, high : float
        nan where the coefficient is undefined.
    n_items : int
        Number of items compared.
    n_missing : int
        Number of items of gold that the system lacks.
    n_undefined : int
        Number of resamples that the interval leaves out, because a coefficient is undefined there.
    """

    statistic: float
    low: float
    high: float
    n_items: int
    n_missing: int
    n_undefined: int


@dataclass(frozen=True, slots=True)
class LeaderboardRow:
    """One system of a leaderboard.

    Attributes
    ----------
    system : str
        Its name.
    rank : float
        1 is the best; tied systems share their mid-rank. nan where the coefficient is undefined.
    group : int or None
        Number of the group, from 1 for that of the best; None where the coefficient is undefined.
    scores : tuple of Score
        One for each gold set.
    total : Score
        The sum over gold sets.
    pvalue, corrected_pvalue : float
        Of the two-sided test against the best system, as it is and with Holm's correction; nan for the best itself.
        With ``missing="intersection"`` the test is over the items that both have, where either may be the better, and
        nan where a coefficient is undefined over these items.
    n_unused : int
        Number of items of the system that are in no gold set.
    """

    system: str
    rank: float
    group: int | None
    scores: tuple[Score, ...]
    total: Score
    pvalue: float
    corrected_pvalue: float
    n_unused: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Leaderboard(Computed):
    """Systems from best to worst, and what was computed.

    Attributes
    ----------
    rows : tuple of LeaderboardRow
        Best first; systems that tie come in the order in which they were given.
    gold_sets : tuple of str
        Names of the gold sets, in the order of `LeaderboardRow.scores`.
    by : str
        What the systems are ranked by, and tested on: "sum" or the name of a gold set.
    level : float
        Level of confidence of the intervals; 1 - level is that of the tests behind the groups.
    n_resamples : int
        Number of resamples of each interval and of each test.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`; `n_items` counts the items of all gold sets.
    """

    rows: tuple[LeaderboardRow, ...]
    gold_sets: tuple[str, ...]
    by: str
    level: float
    n_resamples: int

    def __repr__(self) -> str:
        column = self._column
        best = ", ".join(f"{row.system} {column(row).statistic:.3f}" for row in self.rows[:N_SHOWN])
        more = ", ..." if len(self.rows) > N_SHOWN else ""
        systems, sets = _counted(len(self.rows), "system"), _counted(len(self.gold_sets), "gold set")
        return f"<Leaderboard of {systems}, {self.coefficient}, {sets}, by {self.by}: {best}{more}>"

    def _column(self, row: LeaderboardRow) -> Score:
        return row.total if self.by == SUM else row.scores[self.gold_sets.index(self.by)]

    def table(self) -> list[dict[str, Any]]:
        """One flat row for each system, to print or to plot: the coefficients, and interval and test of column `by`."""
        return [
            {"rank": row.rank, "group": row.group, "system": row.system}
            | {name: score.statistic for name, score in zip(self.gold_sets, row.scores, strict=True)}
            | {SUM: row.total.statistic, "low": self._column(row).low, "high": self._column(row).high}
            | {"pvalue": row.pvalue, "corrected_pvalue": row.corrected_pvalue}
            | {"n_missing": row.total.n_missing}
            for row in self.rows
        ]

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON: nan becomes None, and the scores of a row a mapping of gold set to score."""
        content = asdict(self)
        for row in content["rows"]:
            row["scores"] = dict(zip(self.gold_sets, row["scores"], strict=True))
        result: dict[str, Any] = _without_nan(content)
        return result


def leaderboard(
    gold: RankingLike | Mapping[str, RankingLike],
    systems: Mapping[str, RankingLike],
    *,
    coefficient: Coefficient = "tau_w",
    n0: float = DEFAULT_N0,
    weigher: Weigher | None = None,
    scheme: Scheme = "additive",
    tied_weights: TiedWeights = "midrank",
    variant: Variant = "b",
    by: str = SUM,
    missing: Missing = "raise",
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Rank systems by their correlation with gold, with intervals, tests and groups.

    Ranked by the sum of the coefficients over gold sets, as SemEval-2014 task 3 ranked its systems, or by one gold set.

    - Intervals are percentile intervals: the items of each gold set are resampled, the same for all its systems, and
      gold sets independently of one another. `bootstrap_interval` tells how far such intervals can be trusted.
    - Tests are those of `compare_systems`, two-sided, each system against the best; for a sum, the mid-ranks are
      swapped within each gold set, and the sum of the differences counts. All swaps are enumerated where both systems
      have no more than 12 items in all. The p-values are corrected by Holm's method.
    - Groups are runs of the ranking. The best leads the first. A system is in the group of the one before it unless
      the leader of that group can be told apart from it; then it leads the next group. Told apart is a corrected
      p-value below 1 - level: Holm's, against the best; for a later leader, the p-value times the number of systems
      below it (Bonferroni's, which is never less strict, and lets a test end as soon as its outcome is sure). A
      leader that is not the better of the two over the items of the test is not told apart from the other.

    Holm's correction holds the level for a best system that is named beforehand. This one, and each later leader, is
    found by looking at the same data, which the tests do not know: the probability that some system is wrongly told
    apart from the best can exceed 1 - level, and grows with the number of systems. Measured at level 0.95 for systems
    that are all equally good (gold plus independent normal noise of its size, 50 items; 400, 300, 200 and 100 boards of
    2, 5, 20 and 60 systems): in 0.05, 0.08, 0.17 and 0.35 of the boards for tau, and in 0.02, 0.03, 0.04 and 0.05
    for tau_w with n0 = 2.

    Parameters
    ----------
    gold : ranking, or mapping of name to ranking
        One gold ranking, or several gold sets by name. Several have labels; sets that share items are resampled as if
        they did not. One ranking alone has the name "gold". "sum" and the columns of `Leaderboard.table` are no names.
    systems : mapping of name to ranking
        One ranking of the items of all gold sets together; in each gold set it is restricted to the items of that.
    coefficient, n0, weigher, scheme, tied_weights, variant
        As in `correlate_many`.
    by : str
        "sum" or the name of a gold set.
    missing : {"raise", "intersection", "bottom"}
        What becomes of items of gold that a system lacks: an error, left out of that gold set for that system, or
        placed last in the system. Scores of "intersection" are of different items, and tests of the items that both
        systems have. Items of a system that are in no gold set are an error for "raise", and else left out and
        counted. A system has two items of each gold set at least.
    level : float, default 0.95
        Level of confidence.
    n_resamples : int, default 1000
        Number of resamples of each interval and of each test; more than (n_systems - 1) / (1 - level), or no corrected
        p-value could fall below 1 - level.
    seed : int, default 0
        The same seed gives the same answer; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default that of the processors. The answer does not depend on it.
    progress : callable, optional
        Called with the number of resamples that are newly done: of the intervals, one gold set after another, and then
        of the tests. An exception that it raises ends the work.

    Returns
    -------
    Leaderboard
        Undefined coefficients come last, nan with an `UndefinedCorrelationWarning`, without rank and p-value.

    Raises
    ------
    RankingError
        A subclass of it that names what is wrong, and the system and the gold set it is wrong with.

    References
    ----------
    D. Jurgens, M. T. Pilehvar and R. Navigli, SemEval-2014 Task 3: Cross-Level Semantic Similarity, section 4.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> gold = {"nouns": dict(zip("abcdefghij", range(10))), "verbs": dict(zip("pqrstuvwxyz", range(11)))}
    >>> scores = gold["nouns"] | gold["verbs"]
    >>> systems = {
    ...     name: {item: score + noise * rng.normal() for item, score in scores.items()}
    ...     for name, noise in {"quiet": 0.5, "calm": 0.7, "loud": 50}.items()
    ... }
    >>> board = leaderboard(gold, systems, coefficient="tau")
    >>> board
    <Leaderboard of 3 systems, tau, 2 gold sets, by sum: quiet 1.964, calm 1.919, loud -0.057>
    >>> [(row.system, row.group) for row in board.rows]
    [('quiet', 1), ('calm', 1), ('loud', 2)]
    """
    statistic = Statistic.of(
        coefficient, n0=n0, weigher=weigher, scheme=scheme, tied_weights=tied_weights, variant=variant
    )
    check_choice("missing", missing, MISSING)
    confidence, number, key = checked_level(level), checked_resamples(n_resamples), checked_seed(seed)
    n_workers = checked_workers(workers)
    sets, found = gold_sets_of(gold), systems_of(systems)
    check_choice("by", by, (SUM, *sets))
    names, set_names = list(found), list(sets)
    unused = unused_labels(sets, found, missing)
    entries = entered(sets, found, missing)
    values = np.column_stack([_coefficients(statistic, [row[g] for row in entries]) for g in range(len(sets))])
    chosen = values.sum(axis=1) if by == SUM else values[:, set_names.index(by)]
    tested = list(range(len(sets))) if by == SUM else [set_names.index(by)]
    order = np.argsort(-chosen, kind="stable")  # nan sorts last
    defined = order[: np.count_nonzero(~np.isnan(chosen))]
    sizes = sorted(sum(entries[s][g].gold.n_items for g in tested) for s in defined)
    if len(sizes) > 1 and sizes[-2] > MAX_EXACT:  # else no two systems share so many items that swaps are drawn
        _check_reach(number, len(sizes) - 1, confidence)

    draws = [
        _resampled(statistic, [row[g] for row in entries], number, derived_seed(key, 0, g), n_workers, progress)
        for g in range(len(sets))
    ]
    scores = []
    for s in range(len(names)):
        if progress is not None:
            progress(0)  # quantiles take their time too
        scores.append(
            [_score(values[s, g], draws[g][:, s], entries[s][g : g + 1], confidence) for g in range(len(sets))]
        )
    sums = sum(draws[1:], start=draws[0])
    totals = [_score(values[s].sum(), sums[:, s], entries[s], confidence) for s in range(len(names))]

    tests = PairedTests(statistic, number, seed=derived_seed(key, 1), workers=n_workers, progress=progress)
    competing = [[entries[s][g] for g in tested] for s in defined]
    pvalues, corrected = corrected_pvalues(tests, competing)
    if untested := [names[s] for s, pvalue in zip(defined[1:], pvalues[1:], strict=True) if math.isnan(pvalue)]:
        warn_undefined(
            offending(
                "all items that have weight are tied among those that the best system and each of these has", untested
            ),
            stacklevel=3,
        )
    groups: list[int | None] = [*groups_of(tests, competing, corrected, confidence)] if competing else []
    nan = np.full(order.size - defined.size, np.nan)
    groups += [None] * nan.size
    columns = zip(order, _midranks(chosen[order]), groups, [*pvalues, *nan], [*corrected, *nan], strict=True)
    _warn_of_undefined(names, set_names, scores, number)
    return Leaderboard(
        rows=tuple(
            LeaderboardRow(
                names[s], float(rank), group, tuple(scores[s]), totals[s], float(pvalue), float(holms), unused[s]
            )
            for s, rank, group, pvalue, holms in columns
        ),
        gold_sets=tuple(set_names),
        by=by,
        level=confidence,
        n_resamples=number,
        **statistic.described(sum(ranking.n_items for ranking in sets.values()), missing),
    )


def _alike(column: Sequence[Entered]) -> list[list[int]]:
    """Systems that have the same items of a gold set; they share resamples."""
    kinds: dict[Any, list[int]] = {}
    for row, entry in enumerate(column):
        kinds.setdefault(entry.gold.labels, []).append(row)
    return list(kinds.values())


def _coefficients(statistic: Statistic, column: Sequence[Entered]) -> Values:
    """Coefficient of each system in one gold set."""
    values = np.empty(len(column))
    for alike in _alike(column):
        ranks = np.array([column[row].system.ranks for row in alike])
        ranks.flags.writeable = False
        ties = np.array([column[row].system.n_ties for row in alike])
        values[alike] = statistic.of_rows(column[alike[0]].gold, ranks, ties)
    return values


def _resampled(
    statistic: Statistic,
    column: Sequence[Entered],
    n_resamples: int,
    seed: int,
    workers: int,
    progress: Progress | None,
) -> Values:
    """Resampled coefficients of each system in one gold set, shape (n_resamples, n_systems)."""
    values = np.empty((n_resamples, len(column)))
    for alike in _alike(column):
        items = SortedItems.of(statistic, column[alike[0]].gold, [column[row].system for row in alike])
        values[:, alike] = resampled(items, n_resamples, seed=seed, workers=workers, progress=progress)
    return values


def _score(value: float, draws: Values, entries: Sequence[Entered], level: float) -> Score:
    kept = draws[~np.isnan(draws)]
    low, high = (math.nan, math.nan) if math.isnan(value) else percentile_interval(kept, level)
    n_items, n_missing = sum(entry.gold.n_items for entry in entries), sum(entry.n_missing for entry in entries)
    return Score(float(value), low, high, n_items, n_missing, draws.size - kept.size)


def _check_reach(n_resamples: int, n_tests: int, level: float) -> None:
    """Refuse so few resamples that no test could ever tell two systems apart."""
    alpha = alpha_of(level)
    needed = math.floor(n_tests / alpha + 1e-9)
    if n_tests / (1 + n_resamples) >= alpha:
        raise OptionError(
            f"n_resamples must be at least {needed:,} to compare {n_tests + 1} systems at level {level:g}, "
            f"or no corrected p-value can fall below {alpha:g}; got {n_resamples:,}"
        )


def _midranks(values: Values) -> NDArray[np.float64]:
    """Mid-ranks of values in descending order, nan last; values that agree to 12 decimals tie, nan has no rank."""
    ranks = np.full(values.size, np.nan)
    rounded = np.round(values[~np.isnan(values)], ROUNDED)
    for value in set(rounded.tolist()):
        places = np.flatnonzero(rounded == value)
        ranks[places] = 1 + places.mean()
    return ranks


def _warn_of_undefined(names: list[str], set_names: list[str], scores: list[list[Score]], n_resamples: int) -> None:
    """Warn at the line that called the public function, once for coefficients and once for resamples."""
    cells = [
        ((name, set_name), score)
        for name, row in zip(names, scores, strict=True)
        for set_name, score in zip(set_names, row, strict=True)
    ]
    if undefined := [cell for cell, score in cells if math.isnan(score.statistic)]:
        warn_undefined(offending("all items that have weight are tied in gold or in (system, gold set)", undefined))
    if some := [cell for cell, score in cells if score.n_undefined and not math.isnan(score.statistic)]:
        largest = max(score.n_undefined for cell, score in cells if cell in some)
        warn_undefined(
            offending(
                f"in up to {largest:,} of {n_resamples:,} resamples, which are left out; (system, gold set)", some
            )
        )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: _without_nan(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and math.isnan(content) else content
