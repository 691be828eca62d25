"""Many systems against one or several gold sets: coefficients with intervals, ranks, tests and groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankcorr.alignment import MISSING, Missing
from rankcorr.checks import check_choice, checked_level, checked_resamples, checked_seed, offending
from rankcorr.coefficients import (
    Coefficient,
    CoefficientLike,
    as_coefficient,
)
from rankcorr.errors import OptionError
from rankcorr.inference.bootstrap import percentile_interval, resampled
from rankcorr.inference.comparison import MAX_EXACT
from rankcorr.inference.gold_sets import SUM, Entered, entered, gold_sets_of, systems_of, unused_labels
from rankcorr.inference.leaderboard_groups import PairedTests, alpha_of, corrected_pvalues, groups_of
from rankcorr.inference.leaderboard_rows import Leaderboard, LeaderboardRow, Score
from rankcorr.inference.sorted_items import SortedItems, Values, derived_seed
from rankcorr.notices import warn_undefined
from rankcorr.ranking import RankingLike
from rankcorr.workers import Progress, checked_workers

ROUNDED = 12


def leaderboard(
    gold: RankingLike | Mapping[str, RankingLike],
    systems: Mapping[str, RankingLike],
    *,
    coefficient: CoefficientLike = "tau_w",
    by: str = SUM,
    missing: Missing = "raise",
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Leaderboard:
    """Rank systems by their correlation with gold, with intervals, tests and groups.

    They are ranked by the sum of the coefficients over gold sets, as in SemEval-2014 task 3, or by one gold set.

    - Intervals are percentile intervals: the items of each gold set are resampled, the same for all its systems, and
      gold sets independently of one another. `bootstrap_interval` tells how far such intervals can be trusted.
    - Tests are those of `compare_systems`, two-sided, each system against the best; for a sum, the mid-ranks are
      swapped within each gold set, and the sum of the differences counts. All swaps are enumerated where both systems
      have no more than 12 items in all. The p-values are corrected by Holm's method.
    - Groups are runs of the ranking. The best leads the first. A system is in the group of the one before it unless
      the leader of that group can be told apart from it; then it leads the next group. Two systems are told apart by a
      corrected p-value below 1 - level: Holm's, against the best; for a later leader, the p-value times the number of
      systems below it (Bonferroni's, which is never less strict, and lets a test end as soon as its outcome is sure). A
      leader that is not the better of the two over the items of the test is not told apart from the other.

    Holm's correction holds the level for a best system that is named beforehand. This one, and each later leader, is
    found by looking at the same data, which the tests ignore: the probability that some system is wrongly told
    apart from the best can exceed 1 - level, and grows with the number of systems. Measured at level 0.95 for systems
    that are all equally good (gold plus independent normal noise of its size, 50 items; 400, 300, 200 and 100 boards of
    2, 5, 20 and 60 systems): in 0.05, 0.08, 0.17 and 0.35 of the boards for tau, and in 0.02, 0.03, 0.04 and 0.05
    for tau_w with n0 = 2.

    Parameters
    ----------
    gold : ranking, or mapping of name to ranking
        One gold ranking, or several gold sets by name. Several have labels; sets that share items are resampled as if
        they did not. A single ranking is named "gold". "sum" and the columns of `Leaderboard.table` cannot be names.
    systems : mapping of name to ranking
        One ranking of the items of all gold sets together; in each gold set it is restricted to the items of that.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho"}
        As in `correlate_many`.
    by : str
        "sum" or the name of a gold set.
    missing : {"raise", "intersection", "bottom", "gold"}
        What becomes of items of gold that a system lacks: an error, left out of that gold set for that system, or, with
        "bottom" and "gold", placed last in the system. With "intersection", scores are of different items, and tests of
        the items that both systems have. Items of a system that are in no gold set are an error with "raise", left out
        and counted with "intersection" and "gold", and with "bottom" placed last in each gold set and in each system
        that lacks them: it keeps all items that any ranking has. A system must have at least two items of each gold
        set.
    level : float, default 0.95
        Level of confidence.
    n_resamples : int, default 1000
        Number of resamples of each interval and of each test; more than (n_systems - 1) / (1 - level), or no corrected
        p-value could fall below 1 - level.
    seed : int, default 0
        The same seed gives the same answer; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. The answer does not depend on it.
    progress : callable, optional
        Called with the number of resamples done since the last call: of the intervals, one gold set after another, and
        then of the tests; with 0 between the steps before and after them. An exception that it raises stops the work.

    Returns
    -------
    Leaderboard
        Undefined coefficients come last: nan with an `UndefinedCorrelationWarning`, without a rank or p-value.

    Raises
    ------
    RankingError
        The subclass says what is wrong; the message names the system and the gold set.

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
    chosen = as_coefficient(coefficient)
    check_choice("missing", missing, MISSING)
    confidence = checked_level(level)
    draws = _Draws(checked_resamples(n_resamples), checked_seed(seed), checked_workers(workers), progress)
    sets, found = gold_sets_of(gold), systems_of(systems)
    check_choice("by", by, (SUM, *sets))
    unused = unused_labels(sets, found, missing)
    entries = entered(sets, found, missing, progress)
    columns = list(range(len(sets))) if by == SUM else [list(sets).index(by)]

    values = np.column_stack([_coefficients(chosen, [row[g] for row in entries]) for g in range(len(sets))])
    deciding = values[:, columns].sum(axis=1)
    best_first = np.argsort(-deciding, kind="stable")  # nan sorts last
    defined = best_first[: np.count_nonzero(~np.isnan(deciding))]
    competing = [[entries[system][column] for column in columns] for system in defined]
    _check_reach(competing, draws.n_resamples, confidence)

    resamples = _resample(chosen, entries, draws)
    scores, totals = _score(values, resamples, entries, confidence, draws)
    tested = _test(chosen, competing, confidence, draws)
    names = list(found)
    if untested := [names[s] for s, p in zip(defined[1:], tested.pvalues[1:], strict=True) if math.isnan(p)]:
        warn_undefined(
            offending(
                "all items that have weight are tied among those that the best system and each of these has", untested
            ),
            stacklevel=3,
        )
    _warn_of_undefined(names, list(sets), scores, draws.n_resamples)
    ranks = _midranks(deciding[best_first])
    rows = []
    for place, system in enumerate(best_first.tolist()):
        ranked = place < defined.size
        rows.append(
            LeaderboardRow(
                system=names[system],
                rank=float(ranks[place]),
                group=tested.groups[place] if ranked else None,
                scores=scores[system],
                total=totals[system],
                pvalue=float(tested.pvalues[place]) if ranked else math.nan,
                corrected_pvalue=float(tested.corrected[place]) if ranked else math.nan,
                n_unused=unused[system],
            )
        )
    return Leaderboard(
        rows=tuple(rows),
        gold_sets=tuple(sets),
        by=by,
        level=confidence,
        n_resamples=draws.n_resamples,
        **chosen.described(sum(ranking.n_items for ranking in sets.values()), missing),
    )


@dataclass(frozen=True, slots=True)
class _Draws:
    """How resamples are drawn."""

    n_resamples: int
    seed: int
    workers: int
    progress: Progress | None


@dataclass(frozen=True, slots=True)
class _Tested:
    """What the tests say of the systems, which are listed best first."""

    pvalues: Values
    corrected: Values
    groups: list[int]


def _resample(coefficient: Coefficient, entries: Sequence[Sequence[Entered]], draws: _Draws) -> list[Values]:
    """Resampled coefficients of each gold set, shape (n_resamples, n_systems) each."""
    resamples = []
    for number in range(len(entries[0])):
        column = [row[number] for row in entries]
        values = np.empty((draws.n_resamples, len(column)))
        for alike in _alike(column):
            items = SortedItems.of(coefficient, column[alike[0]].gold, [column[row].system for row in alike])
            values[:, alike] = resampled(
                items,
                draws.n_resamples,
                seed=derived_seed(draws.seed, 0, number),
                workers=draws.workers,
                progress=draws.progress,
            )
        resamples.append(values)
    return resamples


def _score(
    values: Values, resamples: list[Values], entries: Sequence[Sequence[Entered]], level: float, draws: _Draws
) -> tuple[list[tuple[Score, ...]], list[Score]]:
    """Scores of each system in each gold set, and of their sum."""
    sums = sum(resamples[1:], start=resamples[0])
    scores, totals = [], []
    for system, row in enumerate(entries):
        if draws.progress is not None:
            draws.progress(0)  # quantiles take time too
        scores.append(
            tuple(
                _interval(values[system, number], drawn[:, system], [row[number]], level)
                for number, drawn in enumerate(resamples)
            )
        )
        totals.append(_interval(values[system].sum(), sums[:, system], row, level))
    return scores, totals


def _interval(value: float, resamples: Values, entries: Sequence[Entered], level: float) -> Score:
    kept = resamples[~np.isnan(resamples)]
    low, high = (math.nan, math.nan) if math.isnan(value) else percentile_interval(kept, level)
    n_items, n_missing = sum(entry.gold.n_items for entry in entries), sum(entry.n_missing for entry in entries)
    return Score(float(value), low, high, n_items, n_missing, resamples.size - kept.size)


def _test(coefficient: Coefficient, competing: list[list[Entered]], level: float, draws: _Draws) -> _Tested:
    """Test each system against the best, and form the groups."""
    tests = PairedTests(
        coefficient,
        draws.n_resamples,
        seed=derived_seed(draws.seed, 1),
        workers=draws.workers,
        progress=draws.progress,
    )
    pvalues, corrected = corrected_pvalues(tests, competing)
    return _Tested(pvalues, corrected, groups_of(tests, competing, corrected, level) if competing else [])


def _alike(column: Sequence[Entered]) -> list[list[int]]:
    """Systems that have the same items of a gold set; they share resamples."""
    kinds: dict[Any, list[int]] = {}
    for row, entry in enumerate(column):
        kinds.setdefault(entry.gold.labels, []).append(row)
    return list(kinds.values())


def _coefficients(coefficient: Coefficient, column: Sequence[Entered]) -> Values:
    """Coefficient of each system in one gold set."""
    values = np.empty(len(column))
    for alike in _alike(column):
        ranks = np.array([column[row].system.ranks for row in alike])
        ranks.flags.writeable = False
        ties = np.array([column[row].system.n_ties for row in alike])
        values[alike] = coefficient.of_rows(column[alike[0]].gold, ranks, ties, weightless="raise")
    return values


def _check_reach(competing: list[list[Entered]], n_resamples: int, level: float) -> None:
    """Refuse a number of resamples with which no test could ever tell two systems apart."""
    sizes = sorted(sum(entry.gold.n_items for entry in entries) for entries in competing)
    if len(sizes) < 2 or sizes[-2] <= MAX_EXACT:  # no two systems share enough items for swaps to be drawn
        return
    alpha, n_tests = alpha_of(level), len(sizes) - 1
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


def _warn_of_undefined(
    names: list[str], set_names: list[str], scores: list[tuple[Score, ...]], n_resamples: int
) -> None:
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
