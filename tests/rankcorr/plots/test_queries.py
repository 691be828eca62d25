"""Differences by query: sorted bars, their mean and its interval."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankcorr import OptionError
from rankcorr.evaluation import compare_runs
from rankcorr.plots import plot_pairs, plot_queries
from tests.rankcorr.evaluation.test_compare import case
from tests.rankcorr.plots.figures import minus, own_axes, title_of


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
    assert band.get_zorder() > axes.containers[0][0].get_zorder()  # above the bars, which would hide it
    assert [line.get_ydata()[0] for line in ends] == [pair.low, pair.high]
    equal = 40 - pair.n_better - pair.n_worse
    counts = f"better in {pair.n_better}, equal in {equal}, worse in {pair.n_worse}"
    difference = f"{pair.first} \N{MINUS SIGN} {pair.second}"
    interval = minus(f"mean {pair.difference:.3f}, 95 % interval {pair.low:.3f} to {pair.high:.3f}")
    assert title_of(axes) == rf"$\tau_w$ of {difference}, 40 queries {counts} {interval}"
    assert axes.get_ylabel() == f"$\\tau_w$: {pair.first} \N{MINUS SIGN} {pair.second}"


def test_the_pair_can_be_turned():
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


def test_axes_of_the_caller():
    axes = own_axes()
    assert plot_queries(compare_runs(*case(5), n_resamples=100), ax=axes) is axes
    assert title_of(axes).startswith("$\\tau_w$ of a \N{MINUS SIGN} b, 5 queries better in ")


def test_what_cannot_be_drawn():
    comparison = compare_runs(*case(5), n_resamples=100)
    with pytest.raises(OptionError, match="a RunComparison is expected"):
        plot_queries("comparison")
    with pytest.raises(OptionError, match="first and second go together"):
        plot_queries(comparison, first="a")
    with pytest.raises(OptionError, match="'a' and 'z' were not compared"):
        plot_queries(comparison, first="a", second="z")
    qrels, runs = case(3)
    runs["b"] = {query: dict.fromkeys(own, 1.0) for query, own in runs["b"].items()}
    with pytest.warns(UserWarning, match="a mean is undefined"):
        lacking = compare_runs(qrels, runs, n_resamples=100)
    with pytest.raises(OptionError, match="no query has a value for both 'b' and 'a'"):
        plot_queries(lacking, first="b", second="a")


def test_panels_of_a_metric_share_a_range():
    qrels, runs = case(15)
    found = [compare_runs(qrels, runs, metric=metric, baseline="c", n_resamples=50) for metric in ("tau_w", "ap")]
    figure = plot_pairs([(each, pair.first, pair.second) for each in found for pair in each.pairs])
    ranges = [axes.get_ylim() for axes in figure.axes]
    assert len(ranges) == 4
    assert ranges[0] == ranges[1] != ranges[2] == ranges[3]
    labels = [f"ap: {pair.first} \N{MINUS SIGN} c" for pair in found[1].pairs]
    assert [axes.get_ylabel() for axes in figure.axes[2:]] == labels
    assert figure.axes[0].get_xticks()[0] == 1
    assert plot_pairs([(found[0], "a", "c")] * 12).get_size_inches()[1] <= 8
    for pairs in ([], [(found[0], "a", "c")] * 13):
        with pytest.raises(OptionError, match=f"1 to 12 pairs of runs can be drawn; got {len(pairs)}"):
            plot_pairs(pairs)
