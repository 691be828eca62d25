"""Rank systems by a table of scores: means or mean ranks over tasks, with tests that exchange tasks."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from rankcorr import _checks as checks
from rankcorr._input.numbers import DECIMALS
from rankcorr._input.scores import midrank_rows
from rankcorr._output.report import Report
from rankcorr._output.tables import TableNotes
from rankcorr._workers import Draws, Progress, Values
from rankcorr.errors import FewTasksWarning, MissingValueError, OptionError, TooFewItemsError
from rankcorr.evaluation._comparison import query_tests
from rankcorr.evaluation._comparison.query_tests import PAIRED, RANDOMIZATION, Means, MeanTests
from rankcorr.evaluation._comparison.results import MIRRORED, Verdict
from rankcorr.evaluation._reports import score_leaderboard_report
from rankcorr.evaluation._scores.tables import LARGEST, LOW, NameTexts, ScoreTable, read_score_table
from rankcorr.inference._exchange_distribution import MAX_EXACT
from rankcorr.inference._gold_sets import COLUMNS, MEAN, SUM, TOTALS
from rankcorr.inference._leaderboard import Leaderboard, LeaderboardRow, Score

Aggregate: TypeAlias = Literal["mean", "borda", "mean_rank"]
MissingScores: TypeAlias = Literal["raise", "intersection", "worst"]

AGGREGATES: Final[tuple[Aggregate, ...]] = get_args(Aggregate)
MISSING_SCORES: Final[tuple[MissingScores, ...]] = get_args(MissingScores)
STATISTICS: Final = {"mean": "mean score", "borda": "Borda score", "mean_rank": "mean rank"}
FEW_TASKS: Final = 8
MOST_OF_TASK: Final = 0.99  # of the variance between systems
ONLY_GROUP: Final = "tasks"
MEAN_RANK: Final = "mean_rank"
INTERVALS, TESTS = range(2)  # independent parts of the random numbers


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreLeaderboard(Leaderboard):
    """Systems ranked by their scores on tasks: a `Leaderboard` whose gold sets are the groups of tasks.

    `unit` is "tasks", since tasks are resampled and exchanged. The items of a `Score` are tasks. `coefficient` is "mean
    score", "Borda score" or "mean rank".

    Attributes
    ----------
    aggregate : str
        "mean", "borda" or "mean_rank"; for "mean_rank" smaller values are better.
    tasks : tuple of str
        The tasks used.
    left_out : tuple of str
        Tasks excluded because a system lacks them, with ``missing="intersection"``.
    lower_is_better : tuple of str
        Tasks on which smaller scores are better, whose signs were changed.
    detectable : float
        The smallest true difference from the best system that its test detects with power 0.8: the median over the
        other systems, except those with the scores of the best. nan if there are no others.
    verdicts : tuple of tuple of str, or None
        With a margin (`equivalent_within`): whether the system of each row is "better", "equivalent", "worse" or
        "undecided" compared with the system of each column. Both are in the order of `rows`; the diagonal is
        "equivalent".

    See Also
    --------
    leaderboard_of_scores : Returns it.
    rankcorr.plots.plot_leaderboard : Draw it.

    Examples
    --------
    >>> from rankcorr.evaluation import leaderboard_of_scores
    >>> scores = {"a": [9, 8, 9, 7, 8, 9, 8, 9], "b": [5, 4, 6, 4, 3, 5, 6, 4], "c": [5, 5, 5, 4, 4, 6, 5, 4]}
    >>> board = leaderboard_of_scores({name: dict(zip("stuvwxyz", row)) for name, row in scores.items()})
    >>> board
    <ScoreLeaderboard of 3 systems, mean of 8 tasks: a 8.375, c 4.750, b 4.625>
    >>> [(row.system, row.group, row.least_rank, row.largest_rank) for row in board.rows]
    [('a', 1, 1, 1), ('c', 2, 2, 3), ('b', 2, 2, 3)]
    """

    _hidden_totals: ClassVar[Set[str]] = frozenset()

    aggregate: str
    tasks: tuple[str, ...]
    left_out: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    detectable: float
    verdicts: tuple[tuple[Verdict, ...], ...] | None = None

    def __repr__(self) -> str:
        best = checks.first_few([f"{row.system} {row.mean.statistic:.3f}" for row in self.rows])
        return f"<ScoreLeaderboard of {len(self.rows)} systems, {self.aggregate} of {len(self.tasks)} tasks: {best}>"

    def report(self) -> Report:
        """Return methods, results and limits for a paper."""
        return score_leaderboard_report(self)

    def _columns(self) -> dict[str, list[Any]]:
        """Return the columns of `Leaderboard` without the sum over groups of tasks."""
        left_out = {SUM} | ({ONLY_GROUP} if self.gold_sets == (ONLY_GROUP,) else set())
        return {name: column for name, column in super()._columns().items() if name not in left_out}

    def _notes(self) -> TableNotes:
        return self.notes_of(list(self._columns()))

    def notes_of(self, names: Sequence[str]) -> TableNotes:
        """Return the notes of a table with columns of these names."""
        places = {name: names.index(name) for name in (MEAN, *self.gold_sets) if name in names}
        heading = f"Systems by {self.coefficient} over {checks.counted(len(self.tasks), 'task')}"
        return self.emphasis(heading, places, "significantly worse than", -1.0 if self.aggregate == MEAN_RANK else 1.0)


def leaderboard_of_scores(
    table: Any,
    *,
    aggregate: Aggregate = "mean",
    groups: Mapping[Any, Hashable] | None = None,
    lower_is_better: Collection[str] = (),
    missing: MissingScores = "raise",
    equivalent_within: float | None = None,
    tasks: Sequence[str] | None = None,
    system: str | None = None,
    task: str | None = None,
    score: str | None = None,
    within: str | None = None,
    level: float = 0.95,
    n_resamples: int = 1_000,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ScoreLeaderboard:
    """Rank systems by a table of their scores on tasks, with intervals, tests, possible ranks and groups.

    The unit is the task: tasks are resampled, and systems exchange their scores on whole tasks. The results therefore
    apply to further tasks of the same kind, and few tasks give little evidence: fewer than 8 give a `FewTasksWarning`.
    Seeds or queries within a task are averaged first, and are not a unit.

    - The interval of a mean is a bootstrap-t interval over tasks. With groups, tasks are resampled within their
      group, and each group needs two tasks. Ends are infinite if the tasks are too few to bound the mean, such as two
      or three, or five groups of two, at level 0.95. docs/results/levels.md has the coverage.
    - P-values are two-sided, for each system against the best. The signs of the differences are flipped by task; up to
      12 tasks, all flips are enumerated. Corrected p-values, possible ranks and groups come from one step-down
      procedure over all pairs, as in `rankcorr.leaderboard`. The groups and possible ranks cannot contradict each
      other.

    Parameters
    ----------
    table : mapping, data frame, or path
        Wide: a mapping of system to mapping of task to score (or to a list of scores of seeds), or a frame, CSV, TSV or
        Parquet file with a row for each system and a column for each task. Long: a frame or a file with columns of
        systems, tasks and scores, a row for each score. An empty cell is a missing score.
    aggregate : {"mean", "borda", "mean_rank"}
        "mean": mean score, which needs tasks with the same scale. "borda": mean number of systems that a system beats
        on a task; ties count half. "mean_rank": mean rank.
    groups : mapping of task to group, optional
        The group of each task, such as its type. Each group then has a column, and systems are ranked by the mean over
        groups.
    lower_is_better : collection of str
        Tasks on which smaller scores are better; their signs are changed.
    missing : {"raise", "intersection", "worst"}
        How to treat scores that a system lacks. "raise": raise an error. "intersection": exclude the task. "worst": use
        the worst score of the task.
    equivalent_within : float, optional
        A margin in the units of the means. Each pair of systems then has a verdict, as in `compare_runs`, without a
        correction for the number of pairs.
    tasks : sequence of str, optional
        Tasks to use; by default, all columns of scores. Required if the table has a column of averages, or of
        properties such as the number of parameters.
    system, task, score : str, optional
        Columns of the table. By default, they are recognized by their names, such as "model", "dataset" and "score". In
        a wide table the systems may also be the index of a pandas frame or the only column of text.
    within : str, optional
        Column of the seeds or queries within a task in a long table; by default one with such a name.
    level : float, default 0.95
        Level of confidence.
    n_resamples : int, default 1000
        Number of resamples; at least 2 / (1 - level) - 1, or intervals would be too narrow.
    seed : int, default 0
        The same seed gives the same result; another one shows the Monte Carlo error.
    workers : int, optional
        Number of threads, by default one for each processor. The result does not depend on it.
    progress : callable, optional
        Called with the number of resamples done since the last call.

    Returns
    -------
    ScoreLeaderboard

    Raises
    ------
    RankingError
        `NonNumericError` for text, percent signs and infinite scores, `MissingValueError` for missing ones,
        `DuplicateLabelError` for a repeated system or score, `TooFewItemsError` for one system or one task,
        `ColumnError` for columns, `OptionError` for options, `TableError` for a file.

    Warns
    -----
    FewTasksWarning
        There are fewer than 8 tasks.
    UserWarning
        A task has a name such as loss, error or perplexity, and is not in `lower_is_better`; or one task has more than
        .99 of the variance between systems, by squared median deviations too, and decides their means.

    See Also
    --------
    rankcorr.leaderboard : Systems ranked by their agreement with a gold ranking.
    compare_runs : Search runs, compared over queries.
    rankcorr.rank_sets : Possible ranks from estimates and standard errors.
    rankcorr.aggregate.kemeny : Another way to combine the rankings of tasks.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankcorr.evaluation import leaderboard_of_scores
    >>> frame = pd.DataFrame({"model": ["a", "b"], **{f"task {n}": [n / 10 + 0.3, n / 10] for n in range(8)}})
    >>> best, other = leaderboard_of_scores(frame).rows
    >>> best.system, round(best.mean.statistic, 4), other.pvalue
    ('a', 0.65, 0.0078125)
    """
    checks.check_choice("aggregate", aggregate, AGGREGATES)
    checks.check_choice("missing", missing, MISSING_SCORES)
    confidence = checks.checked_level(level)
    draws = Draws.checked(n_resamples, seed, workers, progress)
    draws.check_reach(confidence)
    margin = checks.checked_margin(equivalent_within, confidence)
    read = read_score_table(table, system=system, task=task, score=score, within=within, tasks=tasks)
    signs = _signs(read.tasks, lower_is_better)
    scores, left_out, n_missing = _complete(read._replace(values=read.values * signs), missing)
    n_systems, n_tasks = scores.values.shape
    if n_tasks < FEW_TASKS:
        checks.give_notice(
            f"only {checks.counted(n_tasks, 'task')}: intervals and tests treat the tasks as a sample, and so few "
            "tasks give little evidence about other tasks",
            FewTasksWarning,
        )
    values, exponent = _unit_scale(_values_of(scores.values, aggregate).T)
    members = _members(scores.tasks, groups, read.tasks if tasks is None else None)
    weights = np.empty(n_tasks)
    for places in members.values():
        weights[places] = n_tasks / (len(members) * len(places))
    weighted = values * weights[:, np.newaxis]
    means = np.round(weighted.mean(axis=0), DECIMALS)
    if aggregate == "mean":
        _note_scales(scores.tasks, values)
    order = np.argsort(-means, kind="stable")
    weighted = weighted[:, order]
    tests = draws.of_part(TESTS)
    best = query_tests.compute_tests(
        weighted[:, [0]] - weighted[:, 1:], RANDOMIZATION, confidence, tests.of_part(PAIRED)
    )
    paired = np.zeros(n_systems * (n_systems - 1) // 2)
    paired[: n_systems - 1] = best.pvalues
    is_different = ~np.isnan(best.detectable)  # from the best system, in a score
    detectable = np.ldexp(best.detectable[is_different], exponent)
    judged = query_tests.judge_runs(weighted, paired, confidence, tests.of_part(PAIRED).limit(draws.n_resamples))
    totals, of_groups = _intervals(values, list(members.values()), confidence, draws)
    sign = -1.0 if aggregate == MEAN_RANK else 1.0
    rows = []
    for place, row in zip(order.tolist(), judged.row_fields(means[order]), strict=True):
        parts = tuple(
            _score_of(np.ldexp(interval, exponent), place, sign, len(tasks_of_group), n_missing[place, tasks_of_group])
            for interval, tasks_of_group in zip(of_groups, members.values(), strict=True)
        )
        mean = _score_of(np.ldexp(totals, exponent), place, sign, n_tasks, n_missing[place])
        is_best = place == order[0]
        rows.append(
            LeaderboardRow(
                system=scores.systems[place],
                scores=parts,
                total=_scaled(mean, len(members)),
                mean=mean,
                swap=None if is_best else "scores",
                n_unused=0,
                **row,
            )
        )
    verdicts = None
    if margin is not None:
        with np.errstate(over="ignore"):  # an infinite margin is above all differences
            scaled_margin = float(np.ldexp(margin, -exponent))
        verdicts = _judge(weighted, scaled_margin, confidence, tests.of_part(PAIRED))
    return ScoreLeaderboard(
        rows=tuple(rows),
        gold_sets=tuple(members),
        by=MEAN,
        standardized=False,
        swap="scores",
        exact=n_tasks <= MAX_EXACT,
        unit="tasks",
        level=confidence,
        n_resamples=draws.n_resamples,
        seed=draws.seed,
        n_items=n_tasks,
        coefficient=STATISTICS[aggregate],
        missing=None if missing == "raise" else missing,
        aggregate=aggregate,
        tasks=scores.tasks,
        left_out=left_out,
        lower_is_better=tuple(task for task, sign in zip(read.tasks, signs.tolist(), strict=True) if sign < 0),
        detectable=float(np.median(detectable)) if detectable.size else math.nan,
        verdicts=verdicts,
    )


def _judge(values: Values, margin: float, level: float, draws: Draws) -> tuple[tuple[Verdict, ...], ...]:
    """Return the verdicts on all pairs of systems, the columns of `values`, each by its own tests."""
    first, second = np.triu_indices(values.shape[1], 1)
    differences = values[:, first] - values[:, second]
    means = differences.mean(axis=0)
    tests = MeanTests(*np.full((4, first.size), math.nan))
    for column, exchanges in query_tests.flip_distributions(differences, draws):
        tests.pvalues[column] = exchanges.pvalue()
        if abs(means[column]) < margin:  # otherwise the interval is not within the margin
            tests.lows[column], tests.highs[column] = exchanges.interval(2 * level - 1)
    judged = query_tests.judge_differences(tests, tests, means, margin, level)
    rows: list[list[Verdict]] = [["equivalent"] * values.shape[1] for _ in range(values.shape[1])]
    for one, other, verdict in zip(first.tolist(), second.tolist(), judged, strict=True):
        rows[one][other], rows[other][one] = verdict, MIRRORED.get(verdict, verdict)
    return tuple(map(tuple, rows))


def _signs(tasks: Sequence[str], lower_is_better: Collection[str]) -> Values:
    if isinstance(lower_is_better, str) or not isinstance(lower_is_better, Collection):
        raise OptionError(f"lower_is_better must be a list of tasks; got {checks.shown(lower_is_better)}")
    lower_is_better = dict.fromkeys(map(str, lower_is_better))
    if unknown := [task for task in lower_is_better if task not in tasks]:
        raise OptionError(checks.offending("lower_is_better names tasks that the table does not have", unknown))
    if doubtful := [task for task in tasks if task not in lower_is_better and LOW.fullmatch(task)]:
        checks.give_notice(
            f"{checks.offending('larger scores count as better, also on tasks named like errors', doubtful)}; if "
            'smaller ones are better, name each task, as in lower_is_better=["x"]',
            UserWarning,
            stacklevel=4,
        )
    return np.array([-1.0 if task in lower_is_better else 1.0 for task in tasks])


def _note_scales(tasks: Sequence[str], values: Values) -> None:
    """Give a notice if the scores of one task, a row, have nearly all the variance between systems.

    They must have nearly all of the squared median deviations too, which one system that failed does not change, but
    not all: tasks on which most systems tie say nothing about scales.
    """
    deviations = np.abs(values - np.median(values, axis=1, keepdims=True))
    spreads = np.array([values.var(axis=1), np.median(deviations, axis=1) ** 2])
    place = int(spreads[0].argmax())
    most, total = spreads[:, place], spreads.sum(axis=1)
    if ((total > most) & (most > MOST_OF_TASK * total)).all():
        checks.give_notice(
            f"the scores on {checks.shown(tasks[place])} differ so much more than those on other tasks that they alone "
            'decide the means; if the scales of the tasks differ, use aggregate="borda" or aggregate="mean_rank"',
            UserWarning,
            stacklevel=4,
        )


def _complete(table: ScoreTable, missing: str) -> tuple[ScoreTable, tuple[str, ...], NDArray[np.bool_]]:
    """Return complete scores, the tasks that were excluded, and whether each score was missing."""
    is_missing = np.isnan(table.values)
    if not is_missing.any():
        return table, (), is_missing
    if missing == "raise":
        cells = [(table.systems[row], table.tasks[column]) for row, column in np.argwhere(is_missing).tolist()]
        message = checks.offending("every system needs a score on every task; without one (system, task)", cells)
        raise MissingValueError(f'{message} (accept them with missing="intersection" or missing="worst")')
    if missing == "worst":
        values = np.where(is_missing, np.nanmin(table.values, axis=0), table.values)
        return table._replace(values=values), (), is_missing
    has_all: NDArray[np.bool_] = np.asarray(~is_missing.any(axis=0))
    if has_all.sum() < 2:
        raise TooFewItemsError(f"systems must have at least two tasks in common; they have {int(has_all.sum())}")
    tasks = tuple(task for task, is_kept in zip(table.tasks, has_all.tolist(), strict=True) if is_kept)
    left_out = tuple(task for task in table.tasks if task not in tasks)
    checks.give_notice(f"{checks.offending('tasks that some system lacks are left out', left_out)}", None)
    return ScoreTable(table.systems, tasks, table.values[:, has_all]), left_out, is_missing[:, has_all]


def _values_of(values: Values, aggregate: str) -> Values:
    """Return the values whose means rank the systems: scores, Borda points, or negative ranks."""
    if aggregate == "mean":
        return values
    ranks = midrank_rows(np.array(values.T, order="C"), descending=True)[0].T
    return -ranks if aggregate == MEAN_RANK else len(values) - ranks


def _unit_scale(values: Values) -> tuple[Values, int]:
    """Divide values, whose columns are systems, by 2^exponent, which changes no digit; also return the exponent.

    The largest value of a typical system is then about 1, so that differences up to `ROUNDING` are rounding errors. A
    system with huge scores, such as a model that diverged, must not make the differences of the others vanish. But
    its square must be finite too.
    """
    sizes = np.abs(values).max(axis=0)
    if not sizes.any():
        return values, 0
    typical, largest = np.frexp([np.median(sizes[sizes > 0]), sizes.max()])[1].tolist()
    exponent = max(typical, largest - math.frexp(LARGEST)[1] + 1)
    return np.ldexp(values, -exponent), exponent


def _members(
    tasks: Sequence[str], groups: Mapping[Any, Hashable] | None, every_task: Collection[str] | None
) -> dict[str, list[int]]:
    """Return the indices of the tasks of each group; if `every_task` is given, groups may name no other task."""
    if groups is None:
        return {ONLY_GROUP: list(range(len(tasks)))}
    if not isinstance(groups, Mapping):
        raise OptionError(f"groups must be a mapping of task to group; got {checks.shown(groups)}")
    groups = {str(task): group for task, group in groups.items()}
    if lacking := [task for task in tasks if task not in groups]:
        raise OptionError(checks.offending("every task needs a group; without one", lacking))
    if every_task is not None and (unknown := [task for task in groups if task not in every_task]):
        raise OptionError(checks.offending("groups name tasks that the table does not have", unknown))
    members: dict[str, list[int]] = {}
    name_group = NameTexts("group", "task")
    for place, task in enumerate(tasks):
        members.setdefault(name_group(groups[task]), []).append(place)
    if reserved := [group for group in members if group in (*TOTALS, *COLUMNS)]:
        raise OptionError(checks.offending("a group must not have the name of a column of the result; got", reserved))
    return members


def _intervals(
    values: Values, groups: Sequence[list[int]], level: float, draws: Draws
) -> tuple[tuple[Values, ...], list[tuple[Values, ...]]]:
    """Return the mean over groups of each system, a column, with the ends of its interval; and those of each group.

    Tasks are resampled within their groups. A group of one task has no interval, and neither has the mean over groups.
    """
    summaries = [Means.of(values[places]) for places in groups]
    resamples = [
        query_tests.resample_means(values[places], draws.of_part(INTERVALS, number))
        for number, places in enumerate(groups)
    ]
    of_groups = [_ends(summary, *resampled, level) for summary, resampled in zip(summaries, resamples, strict=True)]
    n_groups = len(groups)
    means, variances = (np.sum(part, axis=0) for part in zip(*resamples, strict=True))
    total = Means(
        means=np.mean([summary.means for summary in summaries], axis=0),
        errors=np.sqrt(np.sum([summary.errors**2 for summary in summaries], axis=0)) / n_groups,
        n=np.full(values.shape[1], float(len(values))),
        # Each group estimates its own mean, so equal values are worth fewer tasks.
        n_units=np.full(values.shape[1], 1.0 + len(values) - n_groups),
    )
    return _ends(total, means / n_groups, variances / n_groups**2, level), of_groups


def _ends(summary: Means, means: Values, variances: Values, level: float) -> tuple[Values, ...]:
    """Return means and the ends of their intervals, from means of resamples and their variances."""
    if np.isnan(summary.errors).any():
        return summary.means, np.full(summary.means.shape, math.nan), np.full(summary.means.shape, math.nan)
    return summary.means, *query_tests.bounds(summary, query_tests.ratios_of(means, variances), level)


def _score_of(interval: Values, place: int, sign: float, n_tasks: int, is_missing: NDArray[np.bool_]) -> Score:
    statistic, low, high = (float(part[place]) * sign for part in interval)
    low, high = (low, high) if sign > 0 else (high, low)
    return Score(statistic, low, high, n_tasks, int(is_missing.sum()), 0)


def _scaled(score: Score, factor: int) -> Score:
    ends = (score.statistic * factor, score.low * factor, score.high * factor)
    return Score(*ends, score.n_items, score.n_missing, score.n_undefined)
