"""Many systems against one or several gold sets: coefficients with intervals, ranks, tests and groups."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from rankcorr import _checks as checks
from rankcorr._coefficients import Coefficient, Pearson, ScoreCoefficientLike, as_coefficient
from rankcorr._output.report import Report
from rankcorr._output.results import Computed, Result, TableResult, json_ready
from rankcorr._output.tables import TableNotes, best_places, significance_notes
from rankcorr._ranking import Missing, Ranking, RankingLike
from rankcorr._workers import Draws, Progress, Values
from rankcorr.errors import ManyGoldSetsWarning, OptionError, StandardizationError
from rankcorr.inference._exchange import Swap
from rankcorr.inference._gold_sets import (
    MEAN,
    PLACES,
    SUM,
    TOTALS,
    AlignedSystem,
    align_systems,
    count_unused_labels,
    name_systems,
    read_gold_sets,
)
from rankcorr.inference._joint_test import JointTest, RankedSystem, codes_for_swap
from rankcorr.inference._multiple_tests import TESTED
from rankcorr.inference._null import null_of
from rankcorr.inference._reports import leaderboard_report
from rankcorr.inference._resampling import envelope, resample_envelope, sorted_items
from rankcorr.inference._standardization import standardize

MANY_GOLD_SETS: Final = 5


@dataclass(frozen=True, eq=False)
class Score(Result):
    """A coefficient, or a sum of them, with its interval.

    Attributes
    ----------
    statistic, low, high : float
        nan if the coefficient is undefined. An end without a bound is infinite, and null in JSON.
    n_items : int
        Number of items compared.
    n_missing : int
        Number of items of gold that the system lacks.
    n_undefined : int
        Number of resamples excluded from the interval because a coefficient is undefined.
    """

    statistic: float
    low: float
    high: float
    n_items: int
    n_missing: int
    n_undefined: int


@dataclass(frozen=True, eq=False)
class LeaderboardRow(Result):
    """One system of a leaderboard.

    Attributes
    ----------
    system : str
        Its name.
    rank : float
        1 is the best; tied systems share their mid-rank. nan if the coefficient is undefined or the system is unranked.
    group : int or None
        Number of the group; the best system is in group 1. The first system of a group is significantly better than all
        systems of later groups; other systems of different groups may not differ significantly. None without a rank.
    least_rank, largest_rank : int or None
        The range of ranks that the tests of all pairs do not exclude, valid for all systems together: a system with
        `least_rank` 1 may be the best. The correction for all pairs requires more evidence than the single test of
        `pvalue`, so `least_rank` may be 1 although `pvalue` is below 0.05. None without a rank.
    scores : tuple of Score
        One score for each gold set.
    total, mean : Score
        The sum over gold sets, and the mean.
    pvalue, corrected_pvalue : float
        P-value of the two-sided test against the best system, without correction and corrected for all pairs of systems
        (step-down). nan for the best system. With ``missing="intersection"`` the test is over the items that
        both have, where the other system may be better; the p-value is nan if a coefficient is undefined over these
        items.
    swap : str or None
        What the test of `pvalue` exchanges: "scores" if the two systems share a scale, else "ranks"; with `Pearson`
        "scores" or "standardized scores". None for the best system.
    n_unused : int
        Number of items of the system that are excluded because they are in no gold set; 0 with ``missing="bottom"``.

    See Also
    --------
    leaderboard : Returns a table of them.
    Leaderboard : The table.

    Examples
    --------
    >>> from rankcorr import leaderboard
    >>> gold = dict(zip("abcdefghij", range(10)))
    >>> systems = {"good": gold, "poor": {item: -score for item, score in gold.items()}}
    >>> best, other = leaderboard(gold, systems, coefficient="tau", n_resamples=100).rows
    >>> best.system, best.rank, best.total.statistic
    ('good', 1.0, 1.0)
    >>> other.system, other.pvalue, (other.least_rank, other.largest_rank)
    ('poor', 0.00390625, (2, 2))
    """

    system: str
    rank: float
    group: int | None
    least_rank: int | None
    largest_rank: int | None
    scores: tuple[Score, ...]
    total: Score
    mean: Score
    pvalue: float
    corrected_pvalue: float
    swap: str | None
    n_unused: int


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Leaderboard(Computed, TableResult):
    """Systems from best to worst, with the options used.

    Attributes
    ----------
    rows : tuple of LeaderboardRow
        Best first; tied systems keep the order given.
    gold_sets : tuple of str
        Names of the gold sets, in the order of `LeaderboardRow.scores`.
    by : str
        The column that the systems are ranked and tested by: "sum", "mean" or the name of a gold set.
    standardized : bool
        Whether coefficients are standardized, so that chance gives 0 on average in each gold set.
    swap : str
        What the test of all pairs exchanges, "ranks" or "scores"; with `Pearson` "scores" or "standardized scores".
    exact : bool or None
        Whether tests enumerate all exchanges, as for two systems with at most 12 items, or clusters, in common;
        otherwise exchanges are drawn. None if fewer than two systems have a coefficient, so that nothing is tested.
    unit : str
        The unit of tests: "items", or "clusters" if these were given. They are exchanged within each gold set.
        Intervals always resample items. Both apply to further items of the same gold sets, not to further gold sets.
    level : float
        Level of confidence of the intervals; 1 - level is that of the tests behind the groups.
    n_resamples, seed : int
        Number of resamples of each interval and of each test, and the seed of the random numbers.
    n_items, coefficient, scheme, n0, weigher, tied_weights, variant, missing
        As in `RankCorrelation`; `n_items` counts the items of all gold sets.

    See Also
    --------
    leaderboard : Returns it.
    LeaderboardRow : The type of its rows.
    rankcorr.plots.plot_leaderboard : Draw it.

    Examples
    --------
    >>> from rankcorr import leaderboard
    >>> gold = dict(zip("abcdefghij", range(10)))
    >>> systems = {"good": gold, "poor": {item: -score for item, score in gold.items()}}
    >>> board = leaderboard(gold, systems, coefficient="tau", n_resamples=100)
    >>> [row.system for row in board.rows], board.by, board.unit, board.exact
    (['good', 'poor'], 'sum', 'items', True)
    """

    _hidden_totals: ClassVar[Set[str]] = {SUM, MEAN}  # in notebooks, if there is one gold set

    rows: tuple[LeaderboardRow, ...]
    gold_sets: tuple[str, ...]
    by: str
    standardized: bool
    swap: str
    exact: bool | None
    unit: str
    level: float
    n_resamples: int
    seed: int

    def report(self) -> Report:
        """Return methods, results and limits for a paper."""
        return leaderboard_report(self)

    def __repr__(self) -> str:
        best = checks.first_few([f"{row.system} {self.column_score(row).statistic:.3f}" for row in self.rows])
        systems, sets = checks.counted(len(self.rows), "system"), checks.counted(len(self.gold_sets), "gold set")
        return f"<Leaderboard of {systems}, {self.coefficient}, {sets}, by {self.by}: {best}>"

    def column_score(self, row: LeaderboardRow) -> Score:
        """Return the score that a system is ranked by: the sum, the mean, or that of a gold set."""
        totals = {SUM: row.total, MEAN: row.mean}
        return totals[self.by] if self.by in totals else row.scores[self.gold_sets.index(self.by)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: None for nan, and the scores of each row by name of the gold set."""
        content: dict[str, Any] = json_ready(self)
        for row in content["rows"]:
            row["scores"] = dict(zip(self.gold_sets, row["scores"], strict=True))
        return content

    def _notes(self) -> TableNotes:
        columns = list(self._columns())
        places = {name: columns.index(name) for name in (SUM, MEAN, *self.gold_sets)}
        return self.emphasis(f"Systems by {self.coefficient}{', standardized' * self.standardized}", places)

    def emphasis(
        self, heading: str, places: Mapping[str, int], meaning: str = "significantly below", sign: float = 1.0
    ) -> TableNotes:
        """Return the notes of a table with scores in the columns `places`; with `sign` -1 the smallest is best."""
        columns, caption = self._columns(), f"{heading}. Bold: best;"
        best = {place for name, at in places.items() for place in best_places([sign * v for v in columns[name]], at)}
        tested, pvalues = places.get(self.by, max(places.values())), columns["corrected_pvalue"]
        return significance_notes(caption, pvalues, tested, self.level, best=best, meaning=f"{meaning} the best")

    def _columns(self) -> dict[str, list[Any]]:
        """Return ranks, coefficients, and the interval and test of the column `by`."""
        shown_scores = [self.column_score(row) for row in self.rows]
        return {
            **{name: [getattr(row, name) for row in self.rows] for name in PLACES},
            **{name: [row.scores[number].statistic for row in self.rows] for number, name in enumerate(self.gold_sets)},
            SUM: [row.total.statistic for row in self.rows],
            MEAN: [row.mean.statistic for row in self.rows],
            "low": [score.low for score in shown_scores],
            "high": [score.high for score in shown_scores],
            **{name: [getattr(row, name) for row in self.rows] for name in TESTED},
            "n_missing": [row.total.n_missing for row in self.rows],
        }

    def _shown_columns(self) -> dict[str, list[Any]]:
        columns = self._columns()
        hidden = self._hidden_totals if len(self.gold_sets) == 1 else set()
        hidden = hidden if any(columns["n_missing"]) else {*hidden, "n_missing"}
        return {name: column for name, column in columns.items() if name not in hidden}


def leaderboard(
    gold: RankingLike | Mapping[str, RankingLike],
    systems: Mapping[str, RankingLike],
    *,
    coefficient: ScoreCoefficientLike = "tau_w",
    by: str = SUM,
    standardized: bool = False,
    swap: Swap = "auto",
    clusters: Mapping[Any, Hashable] | Sequence[Hashable] | None = None,
    unranked: Collection[str] = (),
    missing: Missing = "raise",
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
    executor: Executor | None = None,
) -> Leaderboard:
    """Rank systems by their correlation with gold, with intervals, tests and groups.

    They are ranked by the sum of the coefficients over gold sets, as in SemEval-2014 task 3, by their mean, or by one
    gold set.

    - The unit of intervals and tests is the item. Items are resampled, or exchanged between systems, within each gold
      set, independently of the other gold sets. The figures therefore apply to further items of the same gold sets, not
      to further gold sets. More than five gold sets give a `ManyGoldSetsWarning`.
    - Intervals are those of `correlation_interval` by the method "envelope", from the same items for all systems. In
      the interval of a sum, squared distances between the coefficients and their ends add up, as variances do.
    - P-values are those of the two-sided paired test of `compare_systems`, for each system against the best. With
      several gold sets, the test statistic is the sum of the differences. If two systems have at most 12 items, or
      clusters, in common, all exchanges are enumerated. Otherwise `n_resamples` are drawn for two systems, and for more
      systems 199 for each test, or more at a higher level.
    - Corrected p-values are corrected for all pairs of systems. They therefore remain valid although the best system
      was picked after seeing the same data. All systems exchange their places at random. The largest lead is compared
      with the largest difference of two systems in these exchanges, the next one with the largest of the remaining
      pairs, and so on (step-down). The lead over a system that is less similar than others is scaled down. No corrected
      p-value against the best is below the p-value of the paired test.
    - The possible ranks of a system run from 1 plus the number of systems that are significantly better to the number
      of systems minus those that are significantly worse. With probability `level`, all true ranks are within them.
    - Groups follow from the same tests. The best system leads the first group. A group ends before the first system
      such that it and all later ones are significantly worse than the leader; that system leads the next group. Other
      systems of different groups may not differ significantly. Two systems differ significantly if their corrected
      p-value is at most 1 - level, and the higher one is also better over the items that both have.

    docs/results/levels.md has the measured levels of the tests.

    Parameters
    ----------
    gold : ranking, or mapping of name to ranking
        One gold ranking, or several gold sets by name. Several must have labels. Sets that share items are resampled
        independently. A single ranking is named "gold". "sum", "mean" and the columns of `Leaderboard.table` cannot be
        names.
    systems : mapping of name to ranking
        One ranking per system, of the items of all gold sets together; each gold set uses only its own items.
    coefficient : Coefficient or {"tau_w", "rho_w", "tau", "rho", "pearson"}
        As in `correlate_many`; `Pearson` compares scores, so every ranking needs them.
    by : str
        "sum", "mean" or the name of a gold set.
    standardized : bool, default False
        Standardize each coefficient (`NullDistribution.standardize`). Chance then gives 0 on average in each gold set,
        whatever its length and ties, so that coefficients can be added and averaged.
    swap : {"auto", "scores", "ranks"}
        What systems exchange in tests, as in `compare_systems`. "auto" exchanges scores if the systems have them and
        their distributions may be equal in each gold set, otherwise ranks. It decides for each pair with the best
        system, and once for the exchange of all systems.
    clusters : mapping of label to cluster, or sequence of shape (n_items,), optional
        Items that are not independent, such as those of one topic: tests exchange whole clusters. Labelled items need
        a mapping, or a series with these labels. Intervals still resample single items, and may be too narrow.
    unranked : collection of str, optional
        Names of systems that are shown with their values and intervals, but get no rank and take no part in tests and
        corrections, such as late submissions and baselines.
    missing : {"raise", "intersection", "bottom", "gold"}
        How to treat items of gold that a system lacks. "raise": raise an error. "intersection": exclude them from that
        gold set for that system; scores then refer to different items, and tests use the items that both systems have.
        "bottom" and "gold": place them last in the system. Items of a system that are in no gold set are an error with
        "raise", and are excluded and counted with "intersection" and "gold". "bottom" keeps all items of all rankings,
        and places them last in each gold set and in each system that lacks them. A system must have at least two items
        of each gold set.
    level : float, default 0.95
        Level of confidence.
    n_resamples : int, default 1000
        Number of resamples of each interval and of the test of all pairs; at least 2 / (1 - level) - 1, or intervals
        would be too narrow.
    seed : int, default 0
        The same seed gives the same result; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. The result does not depend on it.
    progress : callable, optional
        Called with the number of resamples done since the last call, first for the intervals, one gold set after
        another, and then for the tests; called with 0 between other steps. An exception that it raises stops the work.
    executor : concurrent.futures.Executor, optional
        Draws the resamples in processes, or on the machines of a cluster, instead of threads. An example is
        ``dask.distributed.Client(...).get_executor()``. The result does not depend on it.

    Returns
    -------
    Leaderboard
        Unranked systems come after ranked ones. Systems with undefined coefficients are last: they have nan and no rank
        or p-value, and give an `UndefinedCorrelationWarning`.

    Raises
    ------
    RankingError
        The message names the system and the gold set; the subclass tells what is wrong.

    See Also
    --------
    compare_systems : Two systems, with an interval of their difference.
    compare_many : Chosen pairs of systems.
    rankcorr.plots.plot_leaderboard : Draw the result.
    rankcorr.evaluation.compare_runs : Search results, compared over queries.

    References
    ----------
    D. Jurgens, M. T. Pilehvar and R. Navigli, SemEval-2014 Task 3: Cross-Level Semantic Similarity, section 4.

    M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, Inference for Ranks with Applications to Mobility across
    Neighbourhoods and Academic Achievement across Countries, Review of Economic Studies 91 (2024): confidence sets.

    B. Carterette, Multiple testing in statistical analysis of systems-based information retrieval experiments, ACM
    Transactions on Information Systems 30 (2012): randomization tests of all pairs.

    P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing, Wiley 1993: the step-down.

    Examples
    --------
    >>> import numpy as np
    >>> from rankcorr import leaderboard
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
    coefficient_value = as_coefficient(coefficient, of_scores=True)
    standardized = checks.checked_flag(standardized, "standardized")
    confidence = checks.checked_level(level)
    draws = Draws.checked(n_resamples, seed, workers, progress, executor)
    draws.check_reach(confidence)
    sets, rankings = name_systems(systems, read_gold_sets(gold))
    set_names, names = list(sets), list(rankings)
    checks.check_choice("by", by, (*TOTALS, *sets))
    codes = codes_for_swap(coefficient_value, rankings, swap)
    is_ranked = _are_ranked(names, unranked)
    if standardized and isinstance(coefficient_value, Pearson):
        raise OptionError("pearson cannot be standardized, because its mean by chance is already 0")
    if len(sets) > MANY_GOLD_SETS:
        checks.give_notice(
            f"items are resampled within each of the {len(sets)} gold sets, so intervals and tests do not apply "
            "to other gold sets",
            ManyGoldSetsWarning,
        )
    unused = count_unused_labels(sets, rankings, missing)
    entries = align_systems(sets, rankings, missing, draws.progress)
    by_set = [list(column) for column in zip(*entries, strict=True)]
    if isinstance(coefficient_value, Pearson):
        cells = ((name, set_name) for name in names for set_name in set_names)
        lacking = [cell for cell, entry in zip(cells, chain(*entries), strict=True) if entry.n_missing]
        if lacking:
            raise OptionError(
                checks.offending("pearson needs a score for each item; without one (system, gold set)", lacking)
            )
    columns = list(range(len(sets))) if by in TOTALS else [set_names.index(by)]

    values = np.column_stack([_coefficients(coefficient_value, column) for column in by_set])
    exponents = _exponents(coefficient_value, entries, draws, names, set_names) if standardized else None
    if exponents is not None:
        values = standardize(values, exponents)
    sums = values[:, columns].sum(axis=1)
    best_first = np.lexsort((-sums, np.where(np.isnan(sums), 2, ~is_ranked)))
    sums[~is_ranked] = np.nan
    ranked_systems = [
        RankedSystem(
            name=names[system],
            parts=[entries[system][column] for column in columns],
            total=sums[system],
            codes=codes[system],
            exponents=None if exponents is None else exponents[system, columns],
        )
        for system in best_first[: np.count_nonzero(~np.isnan(sums))]
    ]
    golds = {set_names[column]: _gold_of_all_items(sets[set_names[column]], by_set[column]) for column in columns}
    test = JointTest(coefficient_value, golds, ranked_systems, draws.of_part(1), swap, clusters)
    resamples = [_resample(coefficient_value, column, draws.of_part(0, number)) for number, column in enumerate(by_set)]
    if exponents is not None:
        resamples = [standardize(part, exponents[:, number]) for number, part in enumerate(resamples)]
    scores, totals = _score(values, resamples, entries, confidence, draws)
    results = test.run(confidence)
    if untested := [one.name for one, p in zip(ranked_systems[1:], results.pvalues[1:], strict=True) if math.isnan(p)]:
        why = "all items that have weight are tied among those that the best system and each of these has"
        checks.warn_undefined(checks.offending(why, untested), stacklevel=3)
    _warn_of_undefined(names, set_names, scores, draws.n_resamples)
    swaps = test.paired_swaps + [None] * (len(names) - len(ranked_systems))
    rows = [
        LeaderboardRow(
            system=names[system],
            scores=scores[system],
            total=totals[system],
            mean=_mean_of_total(totals[system], len(sets)),
            n_unused=unused[system],
            swap=paired_swap,
            **place,
        )
        for system, place, paired_swap in zip(
            best_first.tolist(), results.row_fields(sums[best_first]), swaps, strict=True
        )
    ]
    return Leaderboard(
        rows=tuple(rows),
        gold_sets=tuple(sets),
        by=by,
        standardized=standardized,
        swap=test.swap,
        exact=test.is_exact,
        unit="items" if clusters is None else "clusters",
        level=confidence,
        n_resamples=draws.n_resamples,
        seed=draws.seed,
        **coefficient_value.computed_fields(sum(ranking.n_items for ranking in sets.values()), missing),
    )


def _are_ranked(names: Sequence[str], unranked: Collection[str]) -> NDArray[np.bool_]:
    """Return whether each system gets a rank."""
    if isinstance(unranked, str) or not isinstance(unranked, Sequence | Set):
        raise OptionError(f"unranked must be a list of names of systems; got {checks.shown(unranked)}")
    if unknown := [name for name in unranked if name not in names]:
        raise OptionError(checks.offending("unranked must name systems; unknown", unknown))
    return np.array([name not in unranked for name in names])


def _resample(coefficient: Coefficient, column: Sequence[AlignedSystem], draws: Draws) -> Values:
    """Return resampled coefficients of one gold set, shape (n_resamples, n_systems)."""
    values = np.empty((draws.n_resamples, len(column)))
    for rows in _group_by_items(column):
        items = sorted_items(coefficient, column[rows[0]].gold, [column[row].system for row in rows])
        values[:, rows] = resample_envelope(items, draws)
    return values


def _score(
    values: Values, resamples: list[Values], entries: Sequence[Sequence[AlignedSystem]], level: float, draws: Draws
) -> tuple[list[tuple[Score, ...]], list[Score]]:
    """Return the scores of each system in each gold set, and their sums."""
    n_undefined = np.isnan(sum(resamples)).sum(axis=0)
    scores, totals = [], []
    for system, row in enumerate(entries):
        draws.progress(0)  # quantiles take time too
        cells = zip(values[system], resamples, row, strict=True)
        scores.append(tuple(_interval(value, part[:, system], entry, level) for value, part, entry in cells))
        totals.append(_sum(scores[-1], int(n_undefined[system])))
    return scores, totals


def _interval(value: float, resamples: Values, entry: AlignedSystem, level: float) -> Score:
    low, high = (math.nan, math.nan) if math.isnan(value) else envelope(float(value), resamples, level)
    return Score(float(value), low, high, entry.gold.n_items, entry.n_missing, int(np.isnan(resamples).sum()))


def _sum(scores: Sequence[Score], n_undefined: int) -> Score:
    """Return the sum of independent scores; squared distances of their ends add up, as variances do."""
    if len(scores) == 1:
        return scores[0]
    statistic = float(np.sum([score.statistic for score in scores]))
    return Score(
        statistic,
        statistic - math.hypot(*(score.statistic - score.low for score in scores)),
        statistic + math.hypot(*(score.high - score.statistic for score in scores)),
        sum(score.n_items for score in scores),
        sum(score.n_missing for score in scores),
        n_undefined,
    )


def _mean_of_total(total: Score, number: int) -> Score:
    """Return the score of the mean over gold sets, given the score of their sum."""
    return replace(total, statistic=total.statistic / number, low=total.low / number, high=total.high / number)


def _gold_of_all_items(gold: Ranking, column: Sequence[AlignedSystem]) -> Ranking:
    """Return gold over all items that systems are compared on; "bottom" may add items to those of the gold set."""
    return max((entry.gold for entry in column if entry.gold.n_items >= gold.n_items), key=len, default=gold)


def _exponents(
    coefficient: Coefficient,
    entries: Sequence[Sequence[AlignedSystem]],
    draws: Draws,
    names: list[str],
    set_names: list[str],
) -> Values:
    """Return exponents of the maps that standardize each system, a row, in each gold set, a column."""
    exponents = np.empty((len(entries), len(entries[0])))
    for system, row in enumerate(entries):
        for number, entry in enumerate(row):
            null = null_of(coefficient, entry.gold, entry.system, draws.of_part(2, number))
            if null.saturates:
                where = f"system {checks.shown(names[system])}, gold set {checks.shown(set_names[number])}"
                raise StandardizationError(f"{where}: {null.why_saturated}")
            exponents[system, number] = null.exponent
    return exponents


def _group_by_items(column: Sequence[AlignedSystem]) -> list[list[int]]:
    """Return groups of systems that have the same items of a gold set; they share resamples."""
    kinds: dict[Any, list[int]] = {}
    for row, entry in enumerate(column):
        kinds.setdefault(entry.gold.labels, []).append(row)
    return list(kinds.values())


def _coefficients(coefficient: Coefficient, column: Sequence[AlignedSystem]) -> Values:
    """Return the coefficient of each system in one gold set."""
    values = np.empty(len(column))
    for rows in _group_by_items(column):
        values[rows] = coefficient.of_rankings(column[rows[0]].gold, [column[row].system for row in rows])
    return values


def _warn_of_undefined(
    names: list[str], set_names: list[str], scores: list[tuple[Score, ...]], n_resamples: int
) -> None:
    """Warn of undefined values, once for coefficients and once for resamples."""
    cells = [
        ((name, set_name), score)
        for name, row in zip(names, scores, strict=True)
        for set_name, score in zip(set_names, row, strict=True)
    ]
    if undefined := [cell for cell, score in cells if math.isnan(score.statistic)]:
        checks.warn_undefined(
            checks.offending("all items that have weight are tied in gold or in (system, gold set)", undefined)
        )
    counts = {cell: score.n_undefined for cell, score in cells if score.n_undefined and not math.isnan(score.statistic)}
    if counts:
        largest = max(counts.values())
        why = f"in up to {largest:,} of {n_resamples:,} resamples, which are left out; (system, gold set)"
        checks.warn_undefined(checks.offending(why, counts))
