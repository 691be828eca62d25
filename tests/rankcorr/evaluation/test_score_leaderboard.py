"""Leaderboards of tables of scores: input types, missing scores, directions, groups of tasks, and tests."""

import itertools
import math
import re
import warnings
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from rankcorr import (
    DuplicateLabelError,
    LabelError,
    MissingValueError,
    NonNumericError,
    OptionError,
    TableError,
    TooFewItemsError,
)
from rankcorr._checks import collected_notices
from rankcorr._workers import Draws
from rankcorr.evaluation import ColumnError, FewTasksWarning, leaderboard_of_scores
from rankcorr.evaluation._comparison.query_tests import compute_tests, judge_differences
from rankcorr.plots import plot_leaderboard
from tests import naive

pytestmark = pytest.mark.filterwarnings("ignore::rankcorr.errors.FewTasksWarning")

TABLE = {"a": {"x": 0.9, "y": 0.8, "z": 3.0}, "b": {"x": 0.5, "y": 0.8, "z": 2.0}, "c": {"x": 0.1, "y": 0.3, "z": 1.0}}
LONG = [(system, task, score) for system, row in TABLE.items() for task, score in row.items()]


def means(board):
    return {row.system: row.mean.statistic for row in board.rows}


def forms(folder):
    """The same table as every input type."""
    wide = pd.DataFrame.from_dict(TABLE, orient="index")
    named = wide.rename_axis("model").reset_index()
    long = pd.DataFrame(LONG, columns=["Model", "dataset", "score"])
    named.to_csv(folder / "wide.csv", index=False)
    long.to_csv(folder / "long.tsv", index=False, sep="\t")
    parquet.write_table(pa.table(named.to_dict("list")), folder / "wide.parquet")
    yield from (wide, named, long, pl.DataFrame(named.to_dict("list")), pa.table(long.to_dict("list")), TABLE)
    yield from (named.to_dict("list"), folder / "wide.csv", str(folder / "long.tsv"), folder / "wide.parquet")
    yield named.rename(columns={"model": "what"})


def test_every_input_type_gives_the_same_board(tmp_path):
    expected = leaderboard_of_scores(TABLE)
    assert means(expected) == pytest.approx({"a": 4.7 / 3, "b": 1.1, "c": 1.4 / 3})
    assert expected.verdicts is None
    for table in forms(tmp_path):
        assert leaderboard_of_scores(table) == expected
    options = {"system": "who", "task": "on", "score": "got"}
    frame = pd.DataFrame(LONG, columns=["who", "on", "got"])
    assert leaderboard_of_scores(frame, **options) == expected


def test_seeds_are_averaged():
    expected = leaderboard_of_scores(TABLE)
    rows = [(system, task, seed, score * seed) for system, task, score in LONG for seed in (0, 2)]
    assert leaderboard_of_scores(pd.DataFrame(rows, columns=["system", "task", "seed", "score"])) == expected
    odd = pd.DataFrame(rows, columns=["system", "task", "draw", "score"])
    assert leaderboard_of_scores(odd, within="draw") == expected
    lists = {system: {task: [x * 2, 0.0] for task, x in row.items()} for system, row in TABLE.items()}
    assert leaderboard_of_scores(lists) == expected
    with pytest.raises(
        DuplicateLabelError, match="system 'a' has more than one score on task 'x'; to average over seeds"
    ):
        leaderboard_of_scores(odd)
    repeated = pd.DataFrame([*rows, rows[0]], columns=["system", "task", "seed", "score"])
    with pytest.raises(DuplicateLabelError, match=r"rows of \(system, task, seed\) .*: \('a', 'x', '0'\)"):
        leaderboard_of_scores(repeated)
    with pytest.warns(UserWarning, match="numbers of scores, so their means are compared; tasks: 'x', 'y', 'z'"):
        leaderboard_of_scores(lists | {"a": TABLE["a"]})


@st.composite
def tables(draw):
    n_systems, n_tasks = draw(st.integers(2, 4)), draw(st.integers(2, 6))
    row = st.lists(st.integers(0, 3).map(float), min_size=n_tasks, max_size=n_tasks)
    rows = draw(st.lists(row, min_size=n_systems, max_size=n_systems))
    names, tasks = "abcd"[:n_systems], [f"t{task}" for task in range(n_tasks)]
    groups = dict(zip(tasks, draw(st.lists(st.sampled_from("uv"), min_size=n_tasks, max_size=n_tasks)), strict=True))
    return {name: dict(zip(tasks, scores, strict=True)) for name, scores in zip(names, rows, strict=True)}, groups


def value_of(table, system, task, aggregate):
    scores = [row[task] for row in table.values()]
    rank = naive.midranks(scores)[list(table).index(system)]
    return {"mean": table[system][task], "borda": len(table) - rank, "mean_rank": rank}[aggregate]


@given(tables(), st.sampled_from(["mean", "borda", "mean_rank"]), st.booleans(), st.sampled_from([0.95, 0.6]))
def test_the_board_follows_its_definitions(case, aggregate, has_groups, level):
    """Means over groups, exact tests by all sign flips, and one step-down for p-values, ranks and groups."""
    table, groups = case
    members = {}
    for task, group in groups.items():
        members.setdefault(group if has_groups else "tasks", []).append(task)
    board = leaderboard_of_scores(table, aggregate=aggregate, groups=groups if has_groups else None, level=level)
    assert board.exact
    weights = {task: 1 / (len(members) * len(tasks)) for tasks in members.values() for task in tasks}
    values = {name: {t: value_of(table, name, t, aggregate) for t in groups} for name in table}
    totals = {name: sum(weights[t] * row[t] for t in groups) for name, row in values.items()}
    assert means(board) == pytest.approx(totals, abs=1e-9)
    names = [row.system for row in board.rows]
    sign = -1 if aggregate == "mean_rank" else 1
    assert [row.rank for row in board.rows] == naive.midranks([round(sign * totals[name], 9) for name in names])
    assert board.gold_sets == tuple(members)
    for row in board.rows:
        for group, score in zip(members, row.scores, strict=True):
            assert score.statistic == pytest.approx(np.mean([values[row.system][t] for t in members[group]]))
            assert score.n_items == len(members[group])
    differences = {
        pair: [sign * weights[t] * (values[pair[0]][t] - values[pair[1]][t]) for t in groups]
        for pair in itertools.combinations(names, 2)
    }
    flips = list(itertools.product((1, -1), repeat=len(groups)))
    for row in board.rows[1:]:
        row_differences = differences[names[0], row.system]
        flipped = [abs(sum(s * d for s, d in zip(signs, row_differences, strict=True))) for signs in flips]
        assert row.pvalue == pytest.approx(np.mean([value >= abs(sum(row_differences)) - 1e-9 for value in flipped]))
        assert row.corrected_pvalue >= row.pvalue - 1e-12
    for place, row in enumerate(board.rows):
        assert row.group <= row.least_rank <= place + 1 <= row.largest_rank
    first_of_groups = [next(row for row in board.rows if row.group == group) for group in {r.group for r in board.rows}]
    for leader in first_of_groups:
        assert leader.largest_rank <= sum(row.group <= leader.group for row in board.rows)
    best_is_alone = [row.group > 1 for row in board.rows[1:]]
    if all(best_is_alone):
        assert all(row.corrected_pvalue <= 1 - level + 1e-9 for row in board.rows[1:])


def test_intervals_are_those_of_the_bootstrap_t():
    """With one group, the mean is that of `compare_runs` over queries; a direction only reverses signs."""
    rng = np.random.default_rng(0)
    table = {name: dict(zip("abcdefghij", rng.normal(size=10), strict=True)) for name in ("one", "two")}
    board = leaderboard_of_scores(table, n_resamples=20_000)
    for row in board.rows:
        values = np.array(list(table[row.system].values()))
        counts = rng.multinomial(10, np.full(10, 0.1), 40_000)
        resampled = counts @ values / 10
        spread = np.sqrt((counts * (values - resampled[:, np.newaxis]) ** 2).sum(axis=1) / 90)
        ratios = (resampled - values.mean()) / spread
        low, high = values.mean() - np.quantile(ratios, [0.975, 0.025]) * values.std(ddof=1) / math.sqrt(10)
        assert (row.mean.low, row.mean.high) == pytest.approx((low, high), abs=0.06)
    turned = {name: {task: -score for task, score in row.items()} for name, row in table.items()}
    of_turned = leaderboard_of_scores(turned, lower_is_better=list("abcdefghij"), n_resamples=20_000)
    assert replace(of_turned, lower_is_better=()) == board
    ranks = leaderboard_of_scores(table, aggregate="mean_rank", n_resamples=500)
    points = leaderboard_of_scores(table, aggregate="borda", n_resamples=500)
    turned_ends = [(2 - row.mean.high, 2 - row.mean.low) for row in points.rows]
    np.testing.assert_allclose([(row.mean.low, row.mean.high) for row in ranks.rows], turned_ends)


def test_tasks_are_resampled_within_their_groups():
    """A small group with much noise widens the interval: residuals of a large quiet group say nothing about it."""
    rng = np.random.default_rng(0)
    first, second = 4 * rng.normal(size=3), rng.normal(size=9)
    table = {"one": dict(enumerate([*first, *second])), "two": dict.fromkeys(range(12), 0.0)}
    groups = {task: "first" if task < 3 else "second" for task in range(12)}
    means, variances = np.zeros(40_000), np.zeros(40_000)
    for values in (first, second):
        drawn = values[rng.integers(0, values.size, (40_000, values.size))]
        means += (drawn.mean(axis=1) - values.mean()) / 2
        variances += drawn.var(axis=1, ddof=1) / values.size / 4
    error = math.sqrt(first.var(ddof=1) / 3 + second.var(ddof=1) / 9) / 2
    mean = (first.mean() + second.mean()) / 2
    low, high = mean - np.quantile(means / np.sqrt(variances), [0.975, 0.025]) * error
    board = leaderboard_of_scores(table, groups=groups, n_resamples=20_000)
    (row,) = (row for row in board.rows if row.system == "one")
    assert row.mean.statistic == pytest.approx(mean)
    assert (row.mean.low, row.mean.high) == pytest.approx((low, high), abs=0.05 * (high - low))


@pytest.mark.parametrize(("n_groups", "is_bounded"), [(1, False), (4, False), (8, True)])
def test_groups_of_two_tasks_bound_a_mean_only_if_there_are_many(n_groups, is_bounded):
    """All groups draw one of their tasks twice with probability 2^-n; the error of the resample is then 0."""
    scores = np.random.default_rng(0).normal(size=(2, 2 * n_groups))
    table = {name: dict(enumerate(row)) for name, row in zip("ab", scores, strict=True)}
    board = leaderboard_of_scores(table, groups={task: task // 2 for task in range(2 * n_groups)})
    assert [math.isfinite(row.mean.high - row.mean.low) for row in board.rows] == [is_bounded] * 2


def test_a_group_of_one_task_has_no_interval():
    board = leaderboard_of_scores(TABLE, groups={"x": "u", "y": "u", "z": "v"})
    assert math.isnan(board.rows[0].scores[1].low)
    assert math.isnan(board.rows[0].mean.high)
    assert not math.isnan(board.rows[0].scores[0].low)
    assert board.rows[0].total.statistic == pytest.approx(2 * board.rows[0].mean.statistic)


def test_constant_tasks_and_equal_systems():
    table = {name: {"x": 1.0, "y": 1.0, "z": 1.0} for name in "abc"}
    board = leaderboard_of_scores(table)
    assert [row.rank for row in board.rows] == [2, 2, 2]
    assert [(row.group, row.least_rank, row.largest_rank) for row in board.rows] == [(1, 1, 3)] * 3
    assert board.rows[0].mean.statistic == 1
    assert math.isnan(board.detectable)


@pytest.mark.parametrize("aggregate", ["mean", "mean_rank"])
@pytest.mark.parametrize("has_groups", [False, True])
@pytest.mark.parametrize("exponent", [-400, -50, 50, 400])
def test_the_unit_of_scores_changes_no_test(aggregate, has_groups, exponent):
    rng = np.random.default_rng(7)
    scores = rng.normal([[0.8], [0.5], [0.5], [0.45]], 0.1, (4, 8))
    table = {name: dict(zip("stuvwxyz", row.tolist(), strict=True)) for name, row in zip("abcd", scores, strict=True)}
    table["e"] = dict(table["b"])  # a tie
    table["f"] = {task: score - 0.25 for task, score in table["b"].items()}  # equal differences, up to rounding
    scaled = {name: {task: math.ldexp(score, exponent) for task, score in row.items()} for name, row in table.items()}
    unit = math.ldexp(1.0, exponent) if aggregate == "mean" else 1.0
    options = {"aggregate": aggregate, "groups": dict(zip("stuvwxyz", "ggggghhh", strict=True)) if has_groups else None}
    one = leaderboard_of_scores(table, equivalent_within=0.1, n_resamples=99, **options)
    other = leaderboard_of_scores(scaled, equivalent_within=0.1 * unit, n_resamples=99, **options)
    assert other.verdicts == one.verdicts
    assert other.detectable == one.detectable * unit
    for row, scaled_row in zip(one.rows, other.rows, strict=True):
        for score, scaled_score in zip((*row.scores, row.mean), (*scaled_row.scores, scaled_row.mean), strict=True):
            ends = (score.statistic * unit, score.low * unit, score.high * unit)
            assert (scaled_score.statistic, scaled_score.low, scaled_score.high) == ends
        places = [(r.system, r.rank, r.group, r.least_rank, r.largest_rank) for r in (row, scaled_row)]
        assert places[0] == places[1]
        tests = [(r.pvalue, r.corrected_pvalue) for r in (row, scaled_row)]
        np.testing.assert_array_equal(*tests)


@pytest.mark.filterwarnings("ignore::rankcorr.evaluation.FewTasksWarning")
@pytest.mark.parametrize(
    ("text", "is_refused"),
    [
        ("model;params;a;b\nx;1.300;0.5;0.6\ny;350;0.6;0.7\n", False),
        ("model;a;b\n1.300;0.5;0.6\n350;0.6;0.7\n", False),
        ("model;task;score;tokens\nx;a;0.5;1.300\nx;b;0.5;700\ny;a;0.2;700\ny;b;0.3;700\n", False),
        ("model;a;b\nx;1.300;0.6\ny;350;0.7\n", True),
        ("model;task;score\nx;a;1.300\nx;b;700\ny;a;350\ny;b;300\n", True),
    ],
)
def test_separators_of_thousands_are_refused_only_in_scores(tmp_path, text, is_refused):
    (path := tmp_path / "scores.csv").write_text(text)
    if is_refused:
        with pytest.raises(TableError, match=r':2: column "(a|score)": "1\.300" may mean 1300'):
            leaderboard_of_scores(path, n_resamples=99)
    else:
        assert len(leaderboard_of_scores(path, tasks=["a", "b"], n_resamples=99).rows) == 2


def test_tasks_about_costs_are_scores():
    for task in ("Price prediction", "CO2 reduction", "cost-sensitive classification"):
        scores = {name: dict.fromkeys([task, *"stuvwxyz"], value) for name, value in (("a", 1), ("b", 2))}
        assert task in leaderboard_of_scores(scores, n_resamples=99).tasks


def test_tables_of_pandas_with_several_levels_are_read():
    frame = pd.DataFrame(LONG, columns=["model", "task", "score"])
    expected = leaderboard_of_scores(TABLE, n_resamples=99)
    means_of_pairs = frame.groupby(["model", "task"])["score"].mean()
    for table in (means_of_pairs, means_of_pairs.to_frame(), frame.to_dict("records")):
        assert leaderboard_of_scores(table, n_resamples=99) == expected
    pivot = frame.pivot_table(index="model", columns="task", values=["score"])
    for table in (pivot, pivot.reset_index()):
        board = leaderboard_of_scores(table, n_resamples=99)
        assert (board.tasks, means(board)) == (("score x", "score y", "score z"), means(expected))
    for table, name in (
        (frame.groupby("model").agg({"score": ["mean", "std"]}), "score mean"),
        (frame.pivot_table(index="model", columns="task", values=["score"], margins=True), "score All"),
    ):
        with pytest.raises(OptionError, match=f"totals of other tasks: '{name}'; remove or rename them, or name each"):
            leaderboard_of_scores(table)


def test_a_task_named_id_is_no_index_if_its_scores_are_no_whole_numbers():
    """XCOPA and MIRACL have a task for Indonesian, whose code is id."""
    scores = {name: {"en": score, "id": score + 0.25, "zh": score} for name, score in (("a", 0.5), ("b", 0.25))}
    assert leaderboard_of_scores(scores, n_resamples=99).tasks == ("en", "id", "zh")
    with pytest.raises(OptionError, match="columns that look like properties of systems, not scores: 'Index'"):
        leaderboard_of_scores(
            {name: {"Index" if t == "id" else t: n for t, n in row.items()} for name, row in scores.items()}
        )


@pytest.mark.parametrize(
    ("rows", "is_refused"),
    [
        ({"a": (1, 2), "b": (2, 5), "All": (1.5, 3.5)}, True),
        ({"a": (1, 2), "b": (2, 5), "All": (1.5, 3.6)}, False),
        ({"a": (1, None), "b": (2, 5), "c": (6, 7), "Average": (3, 6)}, True),
        ({"a": (1, 1), "b": (2, 5), "c": (6, 7), "Average": (3, None)}, False),
    ],
)
def test_totals_of_two_systems_and_of_gaps_are_no_system(rows, is_refused):
    table = {name: dict(zip("xy", scores, strict=True)) for name, scores in rows.items()}
    if is_refused:
        with pytest.raises(LabelError, match="is the total or the mean of the other systems"):
            leaderboard_of_scores(table)
    else:
        assert len(leaderboard_of_scores(table, n_resamples=99, missing="worst").rows) == len(rows)


def test_a_last_system_with_the_score_of_all_others_is_no_total():
    scores = {name: dict.fromkeys("stuvwxyz", 0.5) for name in ("a", "b", "c", "all")}
    assert len(leaderboard_of_scores(scores, n_resamples=99).rows) == 4


@pytest.mark.parametrize("exponent", [-400, -1040])
def test_tiny_scores_of_most_systems_do_not_overflow_the_others(exponent):
    scores = {name: {task: k + 0.1 * j for j, task in enumerate("stuvwxyz")} for k, name in enumerate("abcd", start=1)}
    tiny = {name: {task: math.ldexp(score, exponent) for task, score in row.items()} for name, row in scores.items()}
    board = leaderboard_of_scores({**tiny, "d": scores["d"]}, equivalent_within=0.1, n_resamples=99)
    alone = leaderboard_of_scores(scores, n_resamples=99)
    assert (board.rows[0].system, board.rows[0].mean) == ("d", alone.rows[0].mean)
    assert board.verdicts[0] == ("equivalent", "better", "better", "better")
    all_tiny = leaderboard_of_scores(
        tiny, equivalent_within=0.1, n_resamples=99
    )  # the margin in their unit is infinite
    assert {verdict for row in all_tiny.verdicts for verdict in row} == {"equivalent"}


def test_huge_scores_of_one_system_do_not_tie_the_others():
    scores = {name: {task: k + 0.1 * j for j, task in enumerate("stuvwxyz")} for k, name in enumerate("abcd")}
    scores["diverged"] = dict.fromkeys("stuvwxyz", -1e30)
    board = leaderboard_of_scores(scores, n_resamples=99)
    assert [(row.system, row.rank) for row in board.rows] == [("d", 1), ("c", 2), ("b", 3), ("a", 4), ("diverged", 5)]
    assert board.rows[1].pvalue == 2 / 2**8


def test_the_detectable_difference_ignores_systems_equal_to_the_best():
    rng = np.random.default_rng(0)
    best = rng.normal(size=20)
    table = {"best": best, "worse": best - 0.5 + 0.3 * rng.normal(size=20), "worst": best - 1 + rng.normal(size=20)}
    named = {name: dict(enumerate(scores.tolist())) for name, scores in table.items()}
    detectable = leaderboard_of_scores(named).detectable
    assert detectable > 0
    assert leaderboard_of_scores(named | {"twin": named["best"]}).detectable == detectable


GAPS = {
    "a": {"x": 3.0, "y": 2.0, "z": 9.0},
    "b": {"x": 1.0, "z": 5.0, "y": None},
    "c": {"x": 2.0, "y": 1.0, "z": "n/a"},
}


def test_names_and_numbers_of_any_type():
    table = {7: {1: Decimal("1.5"), 2: np.float32(2)}, "b": {1: np.int64(3), 2: 1}}
    options = {"groups": {1: "u", 2: "v"}, "lower_is_better": [1], "tasks": [2, 1]}
    expected = {"7": {"1": 1.5, "2": 2.0}, "b": {"1": 3.0, "2": 1.0}}
    named = {"groups": {"1": "u", "2": "v"}, "lower_is_better": ["1"], "tasks": ["2", "1"]}
    assert leaderboard_of_scores(table, **options) == leaderboard_of_scores(expected, **named)
    assert leaderboard_of_scores(pd.DataFrame([[1.5, 2.0], [3.0, 1.0]], index=["7", "b"], columns=[1, 2])).tasks == (
        "1",
        "2",
    )
    columns = pd.MultiIndex.from_tuples([("g", "x"), ("g", "y")])
    assert means(leaderboard_of_scores(pd.DataFrame([[1, 2], [3, 1]], index=["a", "b"], columns=columns)))["b"] == 2


@pytest.mark.parametrize("missing", [None, math.nan, pd.NA, pd.NaT, Decimal("NaN"), Decimal("sNaN")], ids=repr)
def test_missing_scores_of_any_type(missing):
    table = {"a": {"x": 1, "y": 2, "z": 3}, "b": {"x": 3, "y": missing, "z": 5}}
    with pytest.raises(MissingValueError, match=r"without one \(system, task\): \('b', 'y'\)"):
        leaderboard_of_scores(table)
    frame = pd.DataFrame(table).T.astype("Float64") if missing is pd.NA else table
    with collected_notices():
        assert means(leaderboard_of_scores(frame, missing="intersection")) == {"a": 2, "b": 4}


def test_missing_scores_follow_the_policy():
    with pytest.raises(MissingValueError, match=r"\(system, task\): \('b', 'y'\), \('c', 'z'\) \(accept them with"):
        leaderboard_of_scores(GAPS)
    worst = leaderboard_of_scores(GAPS, missing="worst")
    assert means(worst) == pytest.approx({"a": 14 / 3, "b": 7 / 3, "c": 8 / 3})
    assert [row.mean.n_missing for row in worst.rows] == [0, 1, 1]
    lower = leaderboard_of_scores(GAPS, missing="worst", lower_is_better=["y"])
    assert means(lower)["b"] == pytest.approx((1 - 2 + 5) / 3)
    with pytest.raises(TooFewItemsError, match="at least two tasks in common; they have 1"):
        leaderboard_of_scores(GAPS, missing="intersection")
    with collected_notices() as notices:
        board = leaderboard_of_scores({"a": GAPS["a"], "b": GAPS["b"]}, missing="intersection")
    assert board.tasks == ("x", "z")
    assert board.left_out == ("y",)
    assert "tasks that some system lacks are left out: 'y'" in notices[0]


@given(st.integers(0, 1000), st.floats(0.05, 2.0), st.sampled_from([0.8, 0.9, 0.95]))
def test_verdicts_are_those_of_both_tests_of_every_pair(seed, margin, level):
    scores = np.random.default_rng(seed).normal(size=(9, 4)).round(1) + np.array([0, 0, 0.5, 3])
    board = leaderboard_of_scores(
        {name: dict(enumerate(column)) for name, column in zip("abcd", scores.T, strict=True)},
        equivalent_within=margin,
        level=level,
    )
    for (i, first), (j, second) in itertools.permutations(enumerate(board.rows), 2):
        difference = (scores[:, "abcd".index(first.system)] - scores[:, "abcd".index(second.system)])[:, np.newaxis]
        draws = Draws.checked(1_000, 0, None, None)  # 9 tasks do not need a warning
        outer, inner = (
            compute_tests(difference, "randomization", level_of_test, draws) for level_of_test in (level, 2 * level - 1)
        )
        expected = judge_differences(outer, inner, difference.mean(axis=0), margin, level)
        assert [board.verdicts[i][j]] == expected


def test_few_tasks_give_a_warning():
    with pytest.warns(FewTasksWarning, match="only 3 tasks: intervals and tests treat the tasks as a sample"):
        leaderboard_of_scores(TABLE)


def test_boards_become_tables_and_figures():
    board = leaderboard_of_scores(TABLE, groups={"x": "u", "y": "u", "z": "v"})
    assert list(board.to_frame().columns[:8]) == [
        *("rank", "group", "least_rank", "largest_rank", "system", "u", "v", "mean")
    ]
    assert r"\textbf{3}" in board.to_latex()
    assert "Systems by mean score over 3 tasks" in board.to_latex()
    ranks = leaderboard_of_scores(TABLE, aggregate="mean_rank")
    assert "tasks" not in ranks.to_frame()
    assert r"\textbf{1.167}" in ranks.to_latex()
    assert ranks.to_dict()["unit"] == "tasks"
    for result in (board, ranks):
        assert "<th>mean</th>" in result._repr_html_()
        assert "n_missing" not in result._repr_html_()
        figure = plot_leaderboard(result)
        texts = [text.get_text() for axes in figure.axes for text in axes.texts]
        assert "1–3" in texts  # noqa: RUF001
        assert "3 tasks" in (figure.get_suptitle() or figure.axes[0].get_title(loc="left") + figure.axes[0].get_title())


ROWS = {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 2.0, "y": 1.0}}


@pytest.mark.parametrize(
    ("table", "options", "error", "message"),
    [
        (3, {}, ColumnError, "the table must be a data frame, a mapping, a list of dicts, or the path of a CSV or"),
        ({"a": 3}, {}, ColumnError, "a mapping must hold a mapping of task to score for each system, or columns"),
        ({"a": [1], "b": [1, 2]}, {}, ColumnError, "columns of one length"),
        ({"a": ROWS["a"]}, {}, TooFewItemsError, "at least two systems; got 1"),
        ({}, {}, TooFewItemsError, "at least two systems; got 0"),
        ({"a": {"x": 1}, "b": {"x": 2}}, {}, TooFewItemsError, "at least two tasks; got 1"),
        (ROWS | {"b": {"x": "1.0 good", "y": 1}}, {}, NonNumericError, "'b', task 'x': '1.0 good' is not a number$"),
        (ROWS | {"b": {"x": "85 %", "y": 1}}, {}, NonNumericError, "'85 %' is not a number: write all scores without"),
        (ROWS | {"b": {"x": True, "y": 1}}, {}, NonNumericError, "True is not a number; write 1 for true and 0 "),
        ({"prompt": ["a", "b"], "x": ["True", "False"], "y": ["True"] * 2}, {}, NonNumericError, "'True' is not a n"),
        ({f"c{n}": [1, 2] for n in range(99)}, {}, ColumnError, "the columns are 'c0', 'c1', 'c2', 'c3', 'c4', ...$"),
        (ROWS | {"b": {"x": "FALSE", "y": 1}}, {}, NonNumericError, "'FALSE' is not a number; write 1 for true"),
        (ROWS | {"b": {"x": -math.inf, "y": 1}}, {}, NonNumericError, "a score must be finite; got -inf"),
        (ROWS | {"b": {"x": "1e999", "y": 1}}, {}, NonNumericError, "a score must be finite; got inf"),
        (ROWS | {"b": {"x": -2e150, "y": 1}}, {}, NonNumericError, r"'x': a score must be between -1e\+150 and 1e"),
        ({n: {"x": [1e308, 1e308], "y": [1, 2]} for n in "ab"}, {}, NonNumericError, "'x': a score must be between"),
        (ROWS | {"b": {"x": math.nan, "y": None}}, {}, MissingValueError, "no score of system: 'b'"),
        ({n: r | {"z": math.nan} for n, r in ROWS.items()}, {}, MissingValueError, "no score of task: 'z'"),
        ({n: r | {"Average": 1} for n, r in ROWS.items()}, {}, OptionError, "totals of other tasks: 'Average'"),
        *(
            ({n: r | {name: 7} for n, r in ROWS.items()}, {}, OptionError, f"totals of other tasks: '{name}'")
            for name in ("All", "final_ranking", "Gesamt", "Rang")
        ),
        *(
            (
                {n: r | {name: 7} for n, r in ROWS.items()},
                {},
                OptionError,
                f"properties of systems, not scores: '{re.escape(name)}'",
            )
            for name in (
                "params",
                "#Params (B)",
                "num_params",
                "Model size",
                "year",
                "votes",
                "num_battles",
                "variance",
                "rating_q025",
                "CO₂ cost (kg)",
                "Cost",
                "cost_per_task",
                "Price ($)",
                "acc_stderr,none",
                "id",
                "Index",
                "Unnamed: 0",
                "#",
            )
        ),
        ({"": [0, 1], "model": ["a", "b"], "x": [1, 2], "y": [1, 2]}, {}, ColumnError, "a column has no name, such as"),
        ({"a": ROWS["a"], None: ROWS["b"]}, {}, LabelError, "every row needs the name of a system; got None"),
        *(
            (pd.DataFrame({"model": names, "x": [1, 2], "y": [1, 2]}), {}, LabelError, "the name of a system; got <NA>")
            for names in (pd.array(["a", None], dtype="string"), pd.Series(["a", pd.NA], dtype=object))
        ),
        (ROWS | {"b": {"x": np.timedelta64(1, "D"), "y": 1}}, {}, NonNumericError, r"timedelta64\(1,'D'\) is not a"),
        (ROWS | {"b": {"x": np.array(1.0), "y": 1}}, {}, NonNumericError, r"array\(1\.\) is not a number"),
        ({"model": ["a", "a"], "x": [1, 2], "y": [1, 2]}, {}, DuplicateLabelError, "unique; .*: 'a' .* name the"),
        ({"p": ["a", "b"], "q": ["c", "d"], "y": [1, 2]}, {}, ColumnError, "which column holds the systems, or name"),
        ({"model": ["a", "b"], "q": ["c", "d"], "y": [1, 2]}, {}, ColumnError, "of scores: 'q'; name each task"),
        ({"p": ["a", "b"], "x": [1, 2]}, {"task": "x"}, ColumnError, "which column holds the system, or name it s"),
        ({"p": ["a", "b"], "x": [1, 2]}, {"system": "q"}, ColumnError, "no column 'q' for the system; it has 'p', 'x'"),
        ({"p": ["a", "b"], "x": [1, 2]}, {"within": "x"}, ColumnError, "within needs a long table"),
        ({"dataset": ["x", "y"], "a": [1, 2], "b": [1, 2]}, {}, ColumnError, "a row for each task: transpose it, so t"),
        (pd.DataFrame(ROWS).rename_axis("task"), {}, ColumnError, "a row for each task: transpose it"),
        (ROWS, {"tasks": "x"}, OptionError, "tasks must be a list of names; got 'x'"),
        (ROWS, {"tasks": ["x", "x"]}, OptionError, "tasks must be unique"),
        (ROWS, {"tasks": ["x", "w"]}, OptionError, "the table has no task: 'w'; it has 'x', 'y'"),
        (ROWS, {"lower_is_better": "x"}, OptionError, "lower_is_better must be a list of tasks; got 'x'"),
        (ROWS, {"lower_is_better": list("wvuts")}, OptionError, "does not have: 'w', 'v', 'u', 't', 's'"),
        (ROWS, {"groups": ["x"]}, OptionError, "groups must be a mapping of task to group"),
        (ROWS, {"groups": {"x": ["u"], "y": ["u"]}}, LabelError, r"every task needs the name of a group; got \['u'\]"),
        (ROWS, {"groups": {"x": 1, "y": "1"}}, DuplicateLabelError, "names of groups must differ as text; got 1 and"),
        (ROWS, {"groups": {"x": "u"}}, OptionError, "every task needs a group; without one: 'y'"),
        (ROWS, {"groups": {"x": "u", "y": "u", "w": "v"}}, OptionError, "groups name tasks that the table does .*'w'"),
        ({7: ROWS["a"], "7": ROWS["b"]}, {}, DuplicateLabelError, "systems must differ as text; got 7 and '7'"),
        ({n: r | {1: 2, "1": 3} for n, r in ROWS.items()}, {}, DuplicateLabelError, "must differ as text; got 1 and"),
        (pd.DataFrame({"model": ["a", "b"], 1: [1, 2], "1": [2, 1]}), {}, ColumnError, "unique as text; .*: '1'"),
        (
            {"model": ["a", "a "] * 2, "task": ["x", "x", "y", "y"], "score": [1, 2, 3, 4], "seed": [1, 2, 1, 2]},
            {},
            DuplicateLabelError,
            "names of systems must differ as text; got 'a' and 'a '",
        ),
        (
            {"model": [["a"], ["b"]] * 2, "task": ["x", "x", "y", "y"], "score": [1, 2, 3, 4]},
            {},
            LabelError,
            r"every row needs the name of a system; got \['a'\]",
        ),
        (ROWS, {"groups": {"x": "mean", "y": "u"}}, OptionError, "must not have the name of .*: 'mean'"),
    ],
)
def test_tables_that_cannot_be_ranked(table, options, error, message):
    with pytest.raises(error, match=message):
        leaderboard_of_scores(table, **options)


@pytest.mark.parametrize("name", ["ppl", "PPL (wikitext)", "valid_loss", "word error rate", "RMSE"])
def test_tasks_named_like_errors_give_a_warning(name):
    """A mean of accuracies and perplexities would silently rank the worst model first."""
    table = {n: {f"t{k}": k for k in range(8)} | {name: 3.5} for n in "ab"}
    with pytest.warns(
        UserWarning, match=r"larger scores count as better, also on tasks named like errors: '.*lower_is"
    ) as w:
        leaderboard_of_scores(table, n_resamples=50)
    assert w[0].filename == __file__
    for quiet in ({"lower_is_better": [name]}, {"tasks": [f"t{k}" for k in range(8)]}):
        leaderboard_of_scores(table, n_resamples=50, **quiet)


def test_a_task_that_decides_the_means_is_named():
    scores = {"a": {"x": 0.8, "y": 0.7, "tokens": 512}, "b": {"x": 0.6, "y": 0.9, "tokens": 8192}}
    with pytest.warns(UserWarning, match="the scores on 'tokens' differ so much more .* alone decide the means"):
        leaderboard_of_scores(scores)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", FewTasksWarning)
        leaderboard_of_scores(scores, aggregate="borda")
        leaderboard_of_scores(scores, tasks=["x", "y"])
        leaderboard_of_scores({system: dict.fromkeys(tasks, 1.0) for system, tasks in scores.items()})  # no variance
        leaderboard_of_scores({"model": list("abcd"), "x": [80, 82, 81, 0], "y": [70, 71, 72, 69]})  # one failed
        leaderboard_of_scores({"model": list("abc"), "x": [50, 60, 70], "y": [100, 100, 99]})  # nearly all tie


@pytest.mark.parametrize(("n_tasks", "n_groups", "is_bounded"), [(2, 1, 0), (5, 1, 0), (6, 1, 1), (6, 2, 0), (8, 2, 1)])
def test_equal_scores_on_few_tasks_do_not_bound_a_mean(n_tasks, n_groups, is_bounded):
    """With 2^(1 - n) above 0.05, flips of the signs of n equal scores reject no mean; each group costs one score."""
    tasks = [f"t{task}" for task in range(n_tasks)]
    table = {"a": dict.fromkeys(tasks, 0.5), "b": dict(zip(tasks, np.arange(n_tasks) / 10, strict=True))}
    groups = {task: f"g{place % n_groups}" for place, task in enumerate(tasks)}
    (mean,) = [row.mean for row in leaderboard_of_scores(table, groups=groups).rows if row.system == "a"]
    assert (mean.low, mean.high) == ((0.5, 0.5) if is_bounded else (-math.inf, math.inf))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.csv", b"model,x,x\na,1,2\n", "t.csv:1: names of columns must be unique; more than once: 'x'"),
        ("t.csv", b"model,x,y\na,1\n", r't\.csv:2: expected 3 cells, as in the first row; got 2 \(none for "y"\)'),
        ("t.csv", b"model,x,y\n", "t.csv: there is no line after the header"),
        ("t.parquet", b"PAR1 and no more", "t.parquet: cannot be read as Parquet"),
        ("t.csv", b"", "t.csv: the file is empty"),
    ],
)
def test_files_without_a_table_are_refused(tmp_path, name, text, message):
    (tmp_path / name).write_bytes(text)
    with pytest.raises(TableError, match=message):
        leaderboard_of_scores(tmp_path / name)
