"""Null distributions: the values, the observed ones, and what the legend says of them."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankcorr
from rankcorr import TauW, weighted_tau
from rankcorr.inference._null import null_distribution
from rankcorr.plots import plot_null
from tests.rankcorr.plots.figures import GOLD, SYSTEMS, labels_of, legend_of, minus, title_of

FOUR = range(4)


def test_the_values_and_the_observed_one():
    null = null_distribution(GOLD, SYSTEMS["system 2"], n_resamples=400)
    observed = weighted_tau(GOLD, SYSTEMS["system 2"])
    figure = plot_null(null, observed, alternative="greater")
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == (r"Coefficient $\tau_w$, $n_0=2$", "Share of the permutations")
    (filled,) = axes.patches
    heights, edges, _ = filled.get_data()
    assert_allclose(heights, np.histogram(null.values, edges)[0] / null.values.size, rtol=1e-12)
    assert_allclose([edges[0], edges[-1]], [null.values.min(), null.values.max()], rtol=1e-12)
    mean, line = axes.lines
    assert (mean.get_xdata()[0], line.get_xdata()[0]) == (null.mean, observed.statistic)
    assert mean.get_linestyle() != line.get_linestyle()
    assert title_of(axes) == r"$\tau_w$ by chance: 400 random permutations of 60 items"
    assert labels_of(axes) == [
        minus(f"observed {observed.statistic:.3f}, p = ") + f"{null.pvalue(observed, 'greater'):.3f} (greater)",
        minus(f"mean by chance {null.mean:.3f}"),
    ]


@pytest.mark.needs_numba
def test_all_permutations_and_small_pvalues():
    (axes,) = plot_null(null_distribution(FOUR, FOUR), 0.5).axes
    assert title_of(axes).endswith(": all 24 permutations of 4 items")
    (axes,) = plot_null(null_distribution(range(99), range(99)), 0.99).axes
    assert labels_of(axes)[0].endswith("p = 2.0e-04 (two-sided)")


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_several_systems_have_rows():
    systems = dict(list(SYSTEMS.items())[:2]) | {"five levels": np.round(GOLD / 4), "flat": np.ones(60)}
    nulls = {name: null_distribution(GOLD, system, n_resamples=200) for name, system in systems.items()}
    observed = {name: weighted_tau(GOLD, system) for name, system in systems.items()}
    axes = plot_null(nulls, observed, alternative="greater").axes[0]
    assert [text.get_text() for text in axes.get_yticklabels()] == list(systems)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first is at the top
    pvalues = [f"p = {nulls[name].pvalue(observed[name], 'greater'):.3f}" for name in list(systems)[:3]]
    assert [text.get_text() for text in axes.texts] == [*pvalues, "undefined"]
    upright = [line.get_xdata()[0] for line in axes.lines if line.get_xdata()[0] == line.get_xdata()[1]]
    means, values = upright[::2], upright[1::2]
    assert means == [nulls[name].mean for name in list(systems)[:3]]
    assert values == [observed[name].statistic for name in list(systems)[:3]]
    drawn = [patch.get_data() for patch in axes.patches]
    shares = [baseline - heights for heights, _, baseline in drawn]
    for name, (_, edges, _), heights in zip(systems, drawn, shares, strict=False):
        counts = np.histogram(nulls[name].values, edges)[0]
        assert counts.sum() == 200  # no value is left out
        assert_allclose(heights / heights.sum(), counts / 200, rtol=1e-9)
    assert max(heights.max() for heights in shares) < 1  # rows do not overlap
    assert legend_of(axes.figure) == ["by chance", "mean by chance", "observed, with p, greater"]
    assert title_of(axes) == r"$\tau_w$ of 4 systems and by chance: 200 random permutations of 60 items"


def test_rows_of_one_value():
    null = null_distribution(range(20), range(20), n_resamples=1)
    (axes,) = plot_null({"a": null, "b": null}, {"a": 1, "b": -1}).axes
    assert [patch.get_data().values for patch in axes.patches] == [pytest.approx([-0.78]), pytest.approx([0.22])]
    assert [text.get_text() for text in axes.texts] == ["p = 1.000", "p = 1.000"]


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
@pytest.mark.parametrize(
    ("null", "statistic", "options", "message"),
    [
        (FOUR, math.nan, {}, "the statistic is nan and cannot be drawn"),
        (FOUR, 0, {"alternative": "more"}, "alternative must be one of"),
        ([1, 1, 1, 1], 0.5, {}, "there is nothing to draw: the coefficient is undefined for every permutation"),
        ({"a": [1, 1, 1, 1]}, {"a": math.nan}, {}, "nothing to draw: the coefficient is undefined for every system"),
        ({}, {}, {}, "nothing to draw: null and statistic name no system"),
        ({"a": FOUR}, 0.5, {}, "null and statistic must both be of one system, or both mappings"),
        ({"a": FOUR}, {"b": 0.5}, {}, "must name the same systems; in one of them only: 'a', 'b'"),
        ({"a": FOUR}, {"a": 2}, {}, "^system 'a': "),
    ],
)
def test_refused(null, statistic, options, message):
    def of(system):
        return null_distribution(FOUR, system)

    nulls = {name: of(system) for name, system in null.items()} if isinstance(null, dict) else of(null)
    with pytest.raises(rankcorr.OptionError, match=message):
        plot_null(nulls, statistic, **options)


def test_rows_of_different_coefficients():
    nulls = {name: null_distribution(FOUR, FOUR, coefficient=TauW(n0=n0)) for name, n0 in {"a": 2, "b": 3}.items()}
    with pytest.raises(rankcorr.OptionError, match="must be of one coefficient with the same options; got: "):
        plot_null(nulls, {"a": 0, "b": 0})
