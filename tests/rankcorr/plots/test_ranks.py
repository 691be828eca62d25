"""Ranks against ranks: every item is drawn, the top stands out, and several systems have panels."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import rankcorr
from rankcorr import Ranking, item_weights, weighted_tau
from rankcorr._contributions import contributions
from rankcorr.plots import plot_ranks, save_figure
from rankcorr.plots._ranks import DENSE, MOST_HEAVY
from tests.rankcorr.plots.figures import GOLD, SYSTEMS, labels_of, minus, own_axes, title_of


def test_every_item_and_its_weight():
    y = np.round(SYSTEMS["system 0"])
    (axes,) = plot_ranks(GOLD, y, n_named=0).axes
    (points,) = axes.collections
    ranks = [Ranking.from_scores(scores).ranks for scores in (GOLD, y)]
    weights = item_weights(GOLD, y)
    expected = {}
    for a, b, weight in zip(*ranks, weights, strict=True):
        expected[a, b] = expected.get((a, b), 0) + weight
    drawn = points.get_offsets().data
    assert sorted(map(tuple, drawn.tolist())) == sorted(expected)
    areas = points.get_sizes() - points.get_sizes().min()
    masses = np.array([expected[place] for place in map(tuple, drawn.tolist())])
    assert_allclose(areas / areas.max(), (masses - masses.min()) / np.ptp(masses), rtol=0, atol=1e-12)
    assert axes.get_xscale() == axes.get_yscale() == "log"
    low, high = axes.get_xlim()
    assert low < 1
    assert high > 60


@pytest.mark.parametrize("coefficient", ["tau_w", "tau"])
def test_of_many_items_those_of_most_weight_stand_out(coefficient):
    rng = np.random.default_rng(1)
    x = rng.normal(size=2 * DENSE)
    y = x + rng.normal(size=x.size)
    (axes,) = plot_ranks(x, y, coefficient=coefficient).axes
    dots, markers, *_ = axes.collections
    assert dots.get_rasterized()
    assert dots.get_alpha() < 1
    assert not markers.get_rasterized()
    places = [tuple(place) for part in (dots, markers) for place in part.get_offsets().data.tolist()]
    ranks = [Ranking.from_scores(scores).ranks.tolist() for scores in (x, y)]
    assert sorted(places) == sorted(zip(*ranks, strict=True))
    assert len(markers.get_offsets()) <= MOST_HEAVY
    if coefficient == "tau":  # equal weights: none stands out
        assert len(markers.get_offsets()) == 0
    else:
        heavy = set(map(tuple, markers.get_offsets().data.tolist()))
        weights = dict(zip(zip(*ranks, strict=True), item_weights(x, y), strict=True))
        assert min(weights[place] for place in heavy) > max(w for place, w in weights.items() if place not in heavy)
        assert {rank for place in heavy for rank in place} >= {1, 2, 3, 4, 5}
        assert dots.get_sizes().max() < markers.get_sizes().min()


def test_those_that_cost_most_are_labelled():
    labels = [f"item {number}" for number in range(60)]
    x, y = (Ranking.from_scores(scores, labels) for scores in (GOLD, SYSTEMS["system 3"]))
    figure = plot_ranks(x, y, names=("gold", "system"), n_named=4)
    worst = contributions(x, y).worst(4)
    (axes,) = figure.axes
    assert {text.get_text(): text.xy for text in axes.texts} == {row.label: (row.x_rank, row.y_rank) for row in worst}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Rank in gold", "Rank in system")
    value = minus(rf"$\tau_w$ = {weighted_tau(x, y).statistic:.3f}, $n_0=2$")
    assert title_of(axes).startswith(f"system against gold, 60 items: {value} larger markers weigh more")
    heights = sorted(text.get_position()[1] for text in axes.texts)
    assert min(np.diff(heights)) > 0.02  # labels do not overlap


def test_items_that_share_a_marker_share_a_label():
    scores = [40 - item for item in range(40)]
    gold = list(scores)
    gold[0] = gold[1] = 50
    scores[0] = scores[1] = -1
    (axes,) = plot_ranks(gold, scores, n_named=2).axes
    assert labels_of(axes) == ["position 0, position 1"]


def test_without_labels_positions_and_only_what_costs():
    assert labels_of(plot_ranks([4, 3, 2, 1], [3, 4, 2, 1]).axes[0]) == ["position 0", "position 1"]
    assert labels_of(plot_ranks([3, 2, 1], [3, 2, 1]).axes[0]) == []
    assert [text.get_text() for text in plot_ranks([4, 3, 2, 1], [3, 4, 1, 2]).axes[0].get_xticklabels()] == [*"1234"]
    ticks = plot_ranks(range(8), range(8)).axes[0].get_xticklabels()
    assert [text.get_text() for text in ticks] == [*"12345", "8"]
    ticks = plot_ranks(range(2_000), range(2_000)).axes[0].get_xticklabels()
    assert [text.get_text() for text in ticks][-2:] == ["1,000", "2,000"]


def test_an_undefined_coefficient():
    with pytest.warns(rankcorr.UndefinedCorrelationWarning):
        figure = plot_ranks([1, 1, 1], [3, 2, 1])
    assert labels_of(figure.axes[0]) == []
    assert title_of(figure.axes[0]).startswith(r"y against x, 3 items: $\tau_w$ is undefined, $n_0=2$")
    assert len(figure.axes[0].collections[0].get_offsets()) == 3


def places_of(axes):
    return sorted(map(tuple, axes.collections[0].get_offsets().data.tolist()))


@pytest.mark.parametrize("kind", ["mapping", "list", "matrix", "frame"])
def test_several_systems_have_panels(kind):
    few = dict(list(SYSTEMS.items())[:4])
    gold = GOLD
    if kind == "frame":
        pandas = pytest.importorskip("pandas")
        systems, gold = pandas.DataFrame(few), pandas.Series(GOLD)
    else:
        systems = {"mapping": few, "list": list(few.values()), "matrix": np.array(list(few.values()))}[kind]
    figure = plot_ranks(gold, systems, names=("gold", ""), n_named=2)
    names = list(few) if kind in ("mapping", "frame") else range(4)
    assert [axes.get_ylabel() for axes in figure.axes] == [f"Rank in {name}" for name in names]
    assert {axes.get_xlabel() for axes in figure.axes} == {"Rank in gold"}
    for axes, system in zip(figure.axes, few.values(), strict=True):
        (alone,) = plot_ranks(GOLD, system, n_named=2).axes
        assert places_of(axes) == places_of(alone)
        value = minus(f"{weighted_tau(GOLD, system).statistic:.3f}")
        assert title_of(axes).endswith(rf": $\tau_w$ = {value}")
        assert [text.split()[-1] for text in labels_of(axes)] == [text.split()[-1] for text in labels_of(alone)]
    assert title_of(figure).startswith(r"4 systems against gold, 60 items: $\tau_w$, $n_0=2$")
    assert figure.get_size_inches()[1] <= 8


def test_a_series_and_a_mapping_of_scores_are_one_system():
    pandas = pytest.importorskip("pandas")
    gold = {"a": 3, "b": 2, "c": 1}
    for y in ({"c": 1, "b": 3, "a": 2}, pandas.Series({"c": 1, "b": 3, "a": 2})):
        (axes,) = plot_ranks(gold, y).axes
        assert places_of(axes) == [(1, 2), (2, 1), (3, 3)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_ranks([2, 1], [1, 2], n_named=-1), rankcorr.OptionError, "n_named must be .*; got -1"),
        (lambda: plot_ranks([2, 1], {"s": [1, 2, 3]}), rankcorr.LengthError, "^system 's': "),
        (
            lambda: plot_ranks([2, 1], {"s": [1, 2], "t": [2, 1]}, ax=own_axes()),
            rankcorr.OptionError,
            "ax takes one ranking; got 2: draw each into separate axes",
        ),
        (lambda: plot_ranks([2, 1], {}), rankcorr.TooFewItemsError, "at least two items"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.wide
@pytest.mark.wide
def test_a_dense_figure_is_a_small_file(tmp_path):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 3_000))
    assert save_figure(plot_ranks(x, y), tmp_path / "ranks.svg").stat().st_size < 300_000
    # Beside the dots the file has the markers that stand out, as vectors.
    assert len(re.findall("<use ", (tmp_path / "ranks.svg").read_text())) < 3 * MOST_HEAVY
