"""Systems as functions of n0: what is drawn is what was computed, and R(n0) crosses no line."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import rankcorr
from rankcorr import RhoW, TauW, correlate_many, first_rank_share
from rankcorr.plots import plot_offset
from rankcorr.plots._offsets import OFFSETS
from tests.rankcorr.plots.figures import GOLD, SYSTEMS, labels_of, own_axes, title_of


def ticks_of(axes):
    return dict(zip(axes.get_xticks(), (text.get_text() for text in axes.get_xticklabels()), strict=True))


def test_the_coefficients_and_the_share_of_the_first_rank():
    few = dict(list(SYSTEMS.items())[:3])
    figure = plot_offset(GOLD, few, coefficient="rho_w")
    (axes,) = figure.axes
    assert len(axes.lines) == 3  # of the systems alone
    for number, line in enumerate(axes.lines):
        expected = [correlate_many(GOLD, few, coefficient=RhoW(n0=n0)).statistic[number] for n0 in OFFSETS]
        assert_array_equal(line.get_ydata(), expected)
        assert_array_equal(line.get_xdata(), np.array(OFFSETS) + 1)
    assert labels_of(axes) == [line.get_label() for line in axes.lines] == [*few]
    assert title_of(axes) == r"$\rho_w$ by offset $n_0$: 3 systems, 60 items"
    assert {line.get_marker() for line in axes.lines} == {"None"}  # only what was computed looks like data
    assert len({line.get_linestyle() for line in axes.lines}) == len({line.get_color() for line in axes.lines}) == 3
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Offset $n_0$", r"Coefficient $\rho_w$")
    ticks = ticks_of(axes)
    assert [float(text) + 1 for text in ticks.values()] == list(ticks)
    (top,) = axes.child_axes
    assert top.get_xlabel() == "Weight of rank 1, $R(n_0)$, in %"
    shares = ticks_of(top)
    assert list(shares) == list(ticks)
    assert list(shares.values()) == [f"{100 * first_rank_share(place - 1, 60):.2g}" for place in ticks]


def test_of_many_systems_five_are_told_apart():
    figure = plot_offset(GOLD, SYSTEMS)
    (axes,) = figure.axes
    at_0 = correlate_many(GOLD, SYSTEMS, coefficient=TauW(n0=0))
    best = [at_0.names[row] for row in np.argsort(-at_0.statistic, kind="stable")[:5]]
    assert labels_of(axes) == best
    assert title_of(axes) == r"$\tau_w$ by offset $n_0$: 12 systems (best 5 at the left coloured), 60 items"
    assert len(axes.lines) == 12
    figure = plot_offset(GOLD, np.array(list(SYSTEMS.values())[:8]))
    assert labels_of(figure.axes[0]) == list(map(str, range(8)))


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_an_undefined_system_is_named():
    (axes,) = plot_offset([3, 2, 1], {"good": [3, 2, 1], "flat": [1, 1, 1]}).axes
    assert labels_of(axes) == ["good"]
    assert title_of(axes).endswith("2 systems, 3 items; undefined: flat")


def test_small_axes_have_fewer_ticks():
    small, wide = plot_offset(GOLD, SYSTEMS, ax=own_axes()), plot_offset(GOLD, SYSTEMS).axes[0]
    assert {"0", "10", "100"} < set(ticks_of(small).values())
    assert len(ticks_of(small)) < len(ticks_of(wide))


def test_equal_shares_of_the_first_rank_are_written_once():
    (top,) = plot_offset(range(8), [range(8)]).axes[0].child_axes
    shares = [text for text in ticks_of(top).values() if text]
    assert shares[-1] == "13"  # an eighth, whatever the offset
    assert len(set(shares)) == len(shares) < len(ticks_of(top))


def test_a_coefficient_without_an_offset_is_refused():
    with pytest.raises(rankcorr.OptionError, match="must be one with an offset n0, tau_w or rho_w; got 'tau'"):
        plot_offset([2, 1], [[1, 2]], coefficient="tau")
