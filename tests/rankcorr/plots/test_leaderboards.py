"""Leaderboards: coefficients, intervals, groups and chance levels; and differences by query."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankcorr
from rankcorr import OptionError
from rankcorr.evaluation import compare_runs, leaderboard_of_scores
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._null import null_distribution
from rankcorr.plots import chance_levels, plot_leaderboard, plot_pairs, plot_queries
from tests.rankcorr.evaluation.comparison.test_compare import case
from tests.rankcorr.plots.conftest import GOLD, legend_of, minus, new_axes, title_of
from tests.results import with_coefficient

pytestmark = pytest.mark.filterwarnings("ignore:.*resamples, which are left out:rankcorr.UndefinedCorrelationWarning")

LABELS = [f"item {number}" for number in range(60)]
NOISE = np.random.default_rng(6).normal(0, 0.1, (3, 60))
ONE_GOLD = dict(zip(LABELS, GOLD, strict=True))
THREE = {
    name: dict(zip(LABELS, scores, strict=True))
    for name, scores in {"good": GOLD + NOISE[0], "bad": -GOLD + NOISE[1], "worse": -GOLD + NOISE[2]}.items()
}
GOLDS = {"a": {1: 3, 2: 2, 3: 1}, "b": {4: 3, 5: 2, 6: 1, 7: 0}}
FLAT = {"flat": dict.fromkeys(range(1, 8), 0), "good": {item: -item for item in range(1, 8)}}


def board(**options):
    return leaderboard(ONE_GOLD, THREE, n_resamples=100, **with_coefficient(**options))


def two_golds(systems=FLAT, **options):
    return leaderboard(GOLDS, systems, n_resamples=50, **with_coefficient(**options))


def points_of(axes):
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if line.get_linestyle() == "None"]


def intervals_of(axes):
    return [
        list(line.get_xdata()) for line in axes.lines if len({*line.get_ydata()}) == 1 and len(line.get_xdata()) == 2
    ]


def means_of(axes):
    """Mean chance levels by row."""
    lines = [line for line in axes.lines if len({*line.get_ydata()}) == 2]
    return {round(sum(line.get_ydata()) / 2 - 0.35, 9): line.get_xdata()[0] for line in lines}


def bars_of(axes):
    """Ends of the chance bars by row."""
    return {
        round(bar.get_y() + bar.get_height() / 2 - 0.35, 9): (bar.get_x(), bar.get_x() + bar.get_width())
        for container in axes.containers
        for bar in container
    }


@pytest.mark.filterwarnings("ignore:only 3 tasks")
def test_an_interval_without_an_end_reaches_the_edge():
    """Three tasks, whose means may be equal in a resample, do not bound a mean."""
    board = leaderboard_of_scores({"a": {"x": 0.5, "y": 0.6, "z": 0.7}, "b": {"x": 0.4, "y": 0.65, "z": 0.6}})
    assert [row.mean.high for row in board.rows] == [np.inf, np.inf]
    (axes,) = plot_leaderboard(board).axes
    assert intervals_of(axes) == [list(axes.get_xlim())] * 2


def test_coefficients_intervals_and_groups_are_drawn():
    result = board(coefficient="tau", level=0.9)
    (axes,) = plot_leaderboard(result).axes
    assert axes.get_xlabel() == r"$\tau$, with its 90 % interval"
    assert title_of(axes) == r"3 systems by $\tau$, 20 items".replace("20", str(len(ONE_GOLD)))
    assert [text.get_text() for text in axes.get_yticklabels()] == [row.system for row in result.rows]
    assert axes.get_ylim() == (2.65, -0.65)
    assert points_of(axes) == [(row.total.statistic, place) for place, row in enumerate(result.rows)]
    assert intervals_of(axes) == [[row.total.low, row.total.high] for row in result.rows]
    groups = [row.group for row in result.rows]
    assert groups == [1, 2, 2]
    markers = [line.get_marker() for line in axes.lines if line.get_linestyle() == "None"]
    assert markers[0] != markers[1] == markers[2]
    texts = [(text.get_text(), text.xy[1]) for text in axes.texts]
    assert [text for text in texts if text[0].startswith("group")] == [("group 1", 0), ("group 2", 1.5)]
    ranks = ["–".join(map(str, dict.fromkeys((row.least_rank, row.largest_rank)))) for row in result.rows]  # noqa: RUF001
    values = [f"{row.total.statistic:.3f}".replace("-", "\N{MINUS SIGN}") for row in result.rows]
    cells = [cell for pair in zip(values, ranks, strict=True) for cell in pair]
    assert [text for text, _ in texts if not text.startswith("group")] == ["value", "ranks", *cells]


def test_only_the_best_of_many_systems_are_drawn():
    few = board(coefficient="tau")
    rows = tuple(replace(few.rows[0], system=f"system {number}") for number in range(70))
    figure = plot_leaderboard(replace(few, rows=rows))
    assert [text.get_text() for text in figure.axes[0].get_yticklabels()] == [row.system for row in rows[:60]]
    assert title_of(figure.axes[0]).startswith("The best 60 of 70 systems by ")
    assert figure.get_size_inches()[1] <= 8


@pytest.mark.parametrize("factor", [1e120, 2.5e9, -1e9, 1.0, -1e-9, 1e-120])
def test_scores_in_any_unit_stay_beside_the_axes(factor):
    scores = {f"s{k}": {f"t{j}": factor * (k + j / 10 + 1) for j in range(8)} for k in range(3)}
    figure = plot_leaderboard(leaderboard_of_scores(scores, n_resamples=100))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    edge, row_height = axes.get_window_extent().x1, axes.get_window_extent().height / 3
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    values = [text for text in boxes if text[-1].isdigit() and not text.startswith("group") and "." in text]
    read = [float(text.replace("\N{MINUS SIGN}", "-")) for text in values]
    assert_allclose(sorted(read), sorted(factor * np.array([1.35, 2.35, 3.35])), rtol=0.005)
    assert min(box.x0 for box in boxes.values()) > edge
    beside = sorted(boxes.values(), key=lambda box: box.x0)
    for box in beside:  # no two texts of a line overlap
        in_line = [other for other in beside if other is not box and abs(other.y0 - box.y0) < row_height / 3]
        assert not any(box.overlaps(other) for other in in_line)


@pytest.mark.parametrize("values", [(123_456, 123_789, 99_999.5), (12_345_678, 12_345_999, 1e7)])
def test_close_large_scores_stay_different(values):
    scores = {f"s{k}": dict.fromkeys("stuvwxyz", value) for k, value in enumerate(values)}
    (axes,) = plot_leaderboard(leaderboard_of_scores(scores, n_resamples=100)).axes
    texts = {text.get_text() for text in axes.texts}
    assert {f"{value:.3f}" if value < 1e5 else f"{value:.0f}" for value in values} <= texts


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
@pytest.mark.parametrize("scores", [[1, 1, 1, 1], [2, 4, 1, 3]])
def test_undefined_coefficients_are_drawn_beside_none_or_zero(scores):
    systems = {"flat": dict.fromkeys("wxyz", 0), "other": dict(zip("wxyz", scores, strict=True))}
    gold = dict(zip("wxyz", range(4), strict=True))
    (axes,) = plot_leaderboard(leaderboard({"gold": gold}, systems, coefficient="tau", n_resamples=50)).axes
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("undefined") + texts.count("0.000") == 2


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_each_gold_set_has_a_panel():
    result = two_golds(coefficient="tau")
    figure = plot_leaderboard(result)
    total, first, second = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["Sum over 2 gold sets", "a", "b"]
    assert title_of(figure) == r"2 systems by $\tau$ on 2 gold sets, 7 items: $\tau$, with its 95 % interval"
    assert [text.get_text() for text in total.get_yticklabels()] == ["good", "flat"]
    assert points_of(total) == [(2, 0)]
    assert points_of(first) == points_of(second) == [(1, 0)]
    assert [text.get_text() for text in second.texts] == ["value", "ranks", "group 1", minus("2.000"), "1", "undefined"]
    assert second.get_xlim() == first.get_xlim() != total.get_xlim()
    assert len({axes.get_ylim() for axes in figure.axes}) == 1


def test_panels_show_scores_in_one_order():
    rng = np.random.default_rng(3)
    systems = {f"system {number}": {item: rng.normal() for item in range(1, 8)} for number in range(3)}
    result = two_golds(systems, by="b")
    second, first = plot_leaderboard(result).axes
    assert (second.get_title(), first.get_title()) == ("b", "a")  # the ranking column is first
    for axes, number in ((first, 0), (second, 1)):
        scores = [row.scores[number] for row in result.rows]
        assert points_of(axes) == [(score.statistic, place) for place, score in enumerate(scores)]
        assert intervals_of(axes) == [[score.low, score.high] for score in scores]


def test_chance_levels_are_the_null_distributions():
    systems = THREE | {"ties": {label: round(score / 4) for label, score in ONE_GOLD.items()}}
    levels = chance_levels(ONE_GOLD, systems, n_resamples=100, coefficient="rho_w")
    assert list(levels) == ["gold"]
    assert list(levels["gold"]) == list(systems)
    assert levels["gold"]["good"] is levels["gold"]["bad"]  # same ties, so the same permutations
    assert levels["gold"]["good"].mean != levels["gold"]["ties"].mean
    for name, null in levels["gold"].items():
        expected_values = null_distribution(ONE_GOLD, systems[name], n_resamples=4_000, coefficient="rho_w")
        assert abs(null.mean - expected_values.mean) < 5 * expected_values.std / 10
        assert (null.n_items, null.coefficient, null.n_resamples) == (60, "rho_w", 100)
    # With few items all permutations are used, without randomness.
    exact = chance_levels(GOLDS, {"good": FLAT["good"]})["b"]["good"].values
    expected_values = null_distribution(GOLDS["b"], dict(list(FLAT["good"].items())[3:])).values
    assert_allclose(exact, expected_values, rtol=0, atol=1e-15)


@pytest.mark.parametrize("missing", ["intersection", "bottom", "gold"])
def test_chance_levels_have_the_items_of_the_leaderboard(missing):
    systems = {"good": {1: 5, 2: 4, 3: 3, 4: 5, 5: 2, 6: 1}, "short": {1: 3, 3: 1, 4: 2, 6: 1, 7: 0, 8: 4}}
    result = two_golds(systems, missing=missing)
    levels = chance_levels(GOLDS, systems, missing=missing)
    plot_leaderboard(result, chance=levels)
    for row in result.rows:
        assert [levels[name][row.system].n_items for name in "ab"] == [score.n_items for score in row.scores]


def test_the_chance_level_is_drawn():
    result = board()
    levels = chance_levels(ONE_GOLD, THREE, n_resamples=100)
    figure = plot_leaderboard(result, chance=levels)
    (axes,) = figure.axes
    nulls = [levels["gold"][row.system] for row in result.rows]
    assert means_of(axes) == {place: pytest.approx(null.mean) for place, null in enumerate(nulls)}
    ends = [tuple(np.quantile(null.values, [0.025, 0.975])) for null in nulls]
    assert bars_of(axes) == {place: pytest.approx(pair) for place, pair in enumerate(ends)}
    assert legend_of(figure) == ["mean by chance alone", "95 % of the values by chance alone"]
    bare = plot_leaderboard(result)
    assert means_of(bare.axes[0]) == bars_of(bare.axes[0]) == {}
    assert legend_of(bare) == []


def test_equal_weights_have_a_mean_of_0_by_chance():
    figure = plot_leaderboard(board(coefficient="rho"))
    assert means_of(figure.axes[0]) == dict.fromkeys(range(3), 0)
    assert bars_of(figure.axes[0]) == {}
    assert legend_of(figure) == ["mean by chance alone"]


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_the_chance_level_of_a_sum():
    levels = chance_levels(GOLDS, FLAT)
    assert levels["a"]["flat"].values.size == 0
    total, first, second = plot_leaderboard(two_golds(), chance=levels).axes
    mean = {name: levels[name]["good"].mean for name in "ab"}
    assert means_of(first) == {0: pytest.approx(mean["a"])}  # an undefined system has no values
    assert means_of(second) == {0: pytest.approx(mean["b"])}
    sums = np.add.outer(levels["a"]["good"].values, levels["b"]["good"].values).reshape(-1)
    assert means_of(total) == {0: pytest.approx(sum(mean.values()))}
    ((low, high),) = bars_of(total).values()
    assert np.mean(sums < low - 1e-9) <= 0.03
    assert np.mean(sums > high + 1e-9) <= 0.03
    assert np.mean((sums >= low - 1e-9) & (sums <= high + 1e-9)) >= 0.94


@pytest.mark.parametrize("standardized", [False, True])
def test_a_board_by_the_mean(standardized):
    systems = {"good": FLAT["good"]}
    result = two_golds(systems, by="mean", standardized=standardized)
    levels = chance_levels(GOLDS, systems)
    total, first, _ = plot_leaderboard(result, chance=levels).axes
    assert total.get_title() == "Mean over 2 gold sets"
    assert ("standardized" in total.figure.get_suptitle()) is standardized
    assert points_of(total) == [(result.rows[0].mean.statistic, 0)]
    assert total.get_xlim() == first.get_xlim()  # a mean is on the scale of its gold sets
    nulls = [levels[name]["good"] for name in "ab"]
    means = [0 if standardized else null.mean for null in nulls]
    assert means_of(first) == {0: pytest.approx(means[0], abs=1e-9)}
    assert means_of(total) == {0: pytest.approx(sum(means) / 2, abs=1e-9)}
    values = nulls[0].standardize(nulls[0].values) if standardized else nulls[0].values
    assert bars_of(first)[0] == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))
    if standardized:
        assert means_of(plot_leaderboard(result).axes[1]) == {0: 0}


def test_axes_of_the_caller_are_used():
    result = two_golds({"good": FLAT["good"], "bad": {item: item for item in range(1, 8)}})
    levels = chance_levels(GOLDS, {"good": FLAT["good"], "bad": FLAT["good"]})
    axes = new_axes()
    assert plot_leaderboard(result, ax=axes, chance=levels) is axes
    assert title_of(axes).endswith(" Sum over 2 gold sets")
    assert legend_of(axes) == ["mean by chance alone", "95 % of the values by chance alone"]
    assert axes.figure.legends == []


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (None, r"chance must have every system in every gold set; without: \('gold', 'good'\)"),
        ({"coefficient": "tau"}, r"chance must have the options of the leaderboard; others for: \('gold', 'good'\)"),
        ({"n_items": 9}, r"chance must have as many items as the leaderboard; others for: \('gold', 'good'\)"),
    ],
)
def test_other_chance_levels_are_refused(changed, message):
    (levels,) = chance_levels(ONE_GOLD, THREE, n_resamples=9).values()
    chance = {} if changed is None else {"gold": {name: replace(null, **changed) for name, null in levels.items()}}
    with pytest.raises(rankcorr.OptionError, match=message):
        plot_leaderboard(board(), chance=chance)


def test_an_unranked_system_is_marked():
    gold = dict(zip("abcdef", range(6), strict=True))
    systems = {"late": gold, "fair": gold | {"f": 3.5}, "poor": gold | {"f": -1}}
    board = leaderboard(gold, systems, coefficient="tau", unranked=["late"], n_resamples=100)
    axes = plot_leaderboard(board).axes[0]
    assert [text.get_text() for text in axes.texts][-2:] == ["1.000", "unranked"]


def test_the_differences_are_sorted_and_their_mean_and_interval_are_drawn():
    comparison = compare_runs(*case(), n_resamples=500)
    pair = comparison.pairs[1]
    figure = plot_queries(comparison, first=pair.first, second=pair.second)
    (axes,) = figure.axes
    heights = [bar.get_height() for bar in axes.containers[0]]
    assert_allclose(heights, np.sort(comparison.differences(pair.first, pair.second))[::-1])
    zero, mean, *ends = axes.lines
    assert zero.get_ydata()[0] == 0
    assert mean.get_ydata()[0] == pair.difference
    (band,) = (patch for patch in axes.patches if patch not in axes.containers[0])
    assert_allclose([band.get_y(), band.get_y() + band.get_height()], [pair.low, pair.high])
    assert band.get_zorder() > axes.containers[0][0].get_zorder()  # above the bars, so they do not hide it
    assert [line.get_ydata()[0] for line in ends] == [pair.low, pair.high]
    equal = 40 - pair.n_better - pair.n_worse
    counts = f"better in {pair.n_better}, equal in {equal}, worse in {pair.n_worse}"
    difference = f"{pair.first} \N{MINUS SIGN} {pair.second}"
    interval = minus(f"mean {pair.difference:.3f}, 95 % interval {pair.low:.3f} to {pair.high:.3f}")
    assert title_of(axes) == rf"$\tau_w$ of {difference}, 40 queries {counts} {interval}"
    assert axes.get_ylabel() == f"$\\tau_w$: {pair.first} \N{MINUS SIGN} {pair.second}"


def test_the_pair_can_be_reversed():
    comparison = compare_runs(*case(), n_resamples=500)
    pair = comparison.pairs[0]
    (axes,) = plot_queries(comparison, first=pair.second, second=pair.first).axes
    assert axes.lines[1].get_ydata()[0] == -pair.difference
    assert_allclose(axes.containers[0][0].get_height(), -comparison.differences().min())


def test_few_queries_may_have_no_interval():
    comparison = compare_runs(*case(3), n_resamples=500)
    (axes,) = plot_queries(comparison).axes
    assert "interval" not in title_of(axes)
    assert len(axes.lines) == 2


def test_undrawable_results_are_refused():
    qrels, runs = case(5)
    runs["b"] = {query: dict.fromkeys(scores, 1.0) for query, scores in runs["b"].items()}
    with pytest.warns(UserWarning, match="a mean is undefined"):
        lacking = compare_runs(qrels, runs, n_resamples=100)
    for comparison, pair, message in (
        ("comparison", {}, "a RunComparison is expected"),
        (lacking, {"first": "a"}, "first and second go together"),
        (lacking, {"first": "a", "second": "z"}, "'a' and 'z' were not compared"),
        (lacking, {"first": "b", "second": "a"}, "no query has a value for both 'b' and 'a'"),
    ):
        with pytest.raises(OptionError, match=message):
            plot_queries(comparison, **pair)
    with pytest.raises(
        OptionError, match=r"pairs must be a list of \(RunComparison, first, second\); got <RunComparison"
    ):
        plot_pairs(lacking)
    with pytest.raises(OptionError, match="must be a Leaderboard or a ScoreLeaderboard; got <RunComparison"):
        plot_leaderboard(lacking)


def test_panels_of_a_metric_share_a_range():
    qrels, runs = case(15)
    result = [compare_runs(qrels, runs, metric=metric, baseline="c", n_resamples=50) for metric in ("tau_w", "ap")]
    figure = plot_pairs([(comparison, pair.first, pair.second) for comparison in result for pair in comparison.pairs])
    ranges = [axes.get_ylim() for axes in figure.axes]
    assert len(ranges) == 4
    assert ranges[0] == ranges[1] != ranges[2] == ranges[3]
    labels = [f"ap: {pair.first} \N{MINUS SIGN} c" for pair in result[1].pairs]
    assert [axes.get_ylabel() for axes in figure.axes[2:]] == labels
    assert figure.axes[0].get_xticks()[0] == 1
    assert plot_pairs([(result[0], "a", "c")] * 12).get_size_inches()[1] <= 8
    for pairs in ([], [(result[0], "a", "c")] * 13):
        with pytest.raises(OptionError, match=f"1 to 12 pairs of runs can be drawn; got {len(pairs)}"):
            plot_pairs(pairs)


def test_long_names_of_runs_fit_beside_the_axes():
    qrels, runs = case(20, noises=(1.0, 1.5, 2.0))
    comparison = compare_runs(qrels, {f"a rather long name of a run, {name}": run for name, run in runs.items()})
    pairs = [(comparison, pair.first, pair.second) for pair in comparison.pairs]
    for figure in (plot_queries(comparison), plot_pairs(pairs)):
        figure.draw_without_rendering()
        for axes in figure.axes:
            label = axes.yaxis.label.get_window_extent()
            assert label.height <= 1.2 * axes.get_window_extent().height
