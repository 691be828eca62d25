"""Systems as functions of n0: what is drawn is what was computed, and R(n0) crosses no line."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import rankcorr
from rankcorr import RhoW, TauW, correlate_many, first_rank_share
from rankcorr.plots import plot_offset
from tests.rankcorr.plots.figures import GOLD, SYSTEMS, legend_of, own_axes


def looks(lines):
    return {(line.get_marker(), line.get_linestyle()) for line in lines}


def ticks_of(axes):
    return dict(zip(axes.get_xticks(), (text.get_text() for text in axes.get_xticklabels()), strict=True))


def test_the_coefficients_and_the_share_of_the_first_rank():
    few = dict(list(SYSTEMS.items())[:3])
    offsets = [-0.9, 0, 0.5, 2, 100]
    figure = plot_offset(GOLD, few, n0s=offsets, coefficient="rho_w")
    (axes,) = figure.axes
    assert len(axes.lines) == 3  # of the systems alone
    for number, line in enumerate(axes.lines):
        expected = [correlate_many(GOLD, few, coefficient=RhoW(n0=n0)).statistic[number] for n0 in offsets]
        assert_array_equal(line.get_ydata(), expected)
        assert_array_equal(line.get_xdata(), np.array(offsets) + 1)
    assert legend_of(figure) == [*few]
    assert len(looks(axes.lines)) == 3
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Offset $n_0$", r"Coefficient $\rho_w$")
    ticks = ticks_of(axes)
    assert [float(text.replace("\N{MINUS SIGN}", "-")) + 1 for text in ticks.values()] == pytest.approx(list(ticks))
    (top,) = axes.child_axes
    assert top.get_xlabel() == "Weight of rank 1, $R(n_0)$, in %"
    shares = ticks_of(top)
    assert list(shares) == list(ticks)
    assert list(shares.values()) == [f"{100 * first_rank_share(place - 1, 60):.2g}" for place in ticks]


def test_of_many_systems_five_are_told_apart():
    figure = plot_offset(GOLD, SYSTEMS, n0s=[0, 2])
    (axes,) = figure.axes
    at_0 = correlate_many(GOLD, SYSTEMS, coefficient=TauW(n0=0))
    best = [at_0.names[row] for row in np.argsort(-at_0.statistic, kind="stable")[:5]]
    assert legend_of(figure) == ["7 other systems", *best]
    assert len(axes.lines) == 12
    assert len(looks(line for line in axes.lines if line.get_color() == (0, 0, 0))) == 5
    figure = plot_offset(GOLD, np.array(list(SYSTEMS.values())[:8]), n0s=[0, 2])
    assert legend_of(figure) == list(map(str, range(8)))


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_an_undefined_system_is_named():
    assert legend_of(plot_offset([3, 2, 1], {"good": [3, 2, 1], "flat": [1, 1, 1]}, n0s=[0, 2])) == [
        "good",
        "flat (undefined)",
    ]


def test_small_axes_have_no_more_ticks_than_there_is_room_for():
    small, wide = plot_offset(GOLD, SYSTEMS, ax=own_axes()), plot_offset(GOLD, SYSTEMS).axes[0]
    assert set(ticks_of(small).values()) < set(ticks_of(wide).values())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_offset([2, 1], [[1, 2]], n0s=[2]), rankcorr.OptionError, "n0s must hold at least two offsets"),
        (lambda: plot_offset([2, 1], [[1, 2]], n0s=[[1, 2]]), rankcorr.OptionError, "in one dimension; got"),
        (lambda: plot_offset([2, 1], [[1, 2]], n0s=[[1], [2, 3]]), rankcorr.OptionError, r"got \[\[1\], \[2, 3\]\]"),
        (lambda: plot_offset([2, 1], [[1, 2]], n0s=[2, 2]), rankcorr.OptionError, r"n0s must increase; got \[2.0, 2.0"),
        (lambda: plot_offset([2, 1], [[1, 2]], n0s=[-2, 2]), rankcorr.WeightError, "n0 must be a finite number"),
        (
            lambda: plot_offset([2, 1], [[1, 2]], coefficient="tau"),
            rankcorr.OptionError,
            "coefficient must be one with an offset n0, tau_w or rho_w; got 'tau'",
        ),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
