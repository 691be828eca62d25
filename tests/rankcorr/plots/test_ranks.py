"""Figures of one comparison: ranks against ranks, systems as functions of n0, and null distributions."""

import math
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rankcorr
from rankcorr import Ranking, RhoW, TauW, correlate_many, first_rank_share, item_weights, permutation_test, weighted_tau
from rankcorr._contributions import contributions
from rankcorr.inference._null import null_distribution
from rankcorr.plots import plot_null, plot_offset, plot_ranks, save_figure, theme
from rankcorr.plots._ranks import DENSE, MOST_HEAVY, OFFSETS
from tests.rankcorr.plots.conftest import GOLD, SYSTEMS, labels_of, legend_of, minus, new_axes, title_of


def test_every_item_is_drawn_with_its_weight():
    y = np.round(SYSTEMS["system 0"])
    (axes,) = plot_ranks(GOLD, y, n_named=0).axes
    (points,) = axes.collections
    ranks = [Ranking.from_scores(scores).ranks for scores in (GOLD, y)]
    weights = item_weights(GOLD, y)
    expected = {}
    for a, b, weight in zip(*ranks, weights, strict=True):
        expected[a, b] = expected.get((a, b), 0) + weight
    offsets = points.get_offsets().data
    assert sorted(map(tuple, offsets.tolist())) == sorted(expected)
    areas = points.get_sizes() - points.get_sizes().min()
    masses = np.array([expected[place] for place in map(tuple, offsets.tolist())])
    assert_allclose(areas / areas.max(), (masses - masses.min()) / np.ptp(masses), rtol=0, atol=1e-12)
    assert axes.get_xscale() == axes.get_yscale() == "log"
    low, high = axes.get_xlim()
    assert low < 1
    assert high > 60


@pytest.mark.parametrize("coefficient", ["tau_w", "tau"])
def test_the_heaviest_of_many_items_are_highlighted(coefficient):
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
    if coefficient == "tau":  # equal weights: none is highlighted
        assert len(markers.get_offsets()) == 0
    else:
        heavy = set(map(tuple, markers.get_offsets().data.tolist()))
        weights = dict(zip(zip(*ranks, strict=True), item_weights(x, y), strict=True))
        assert min(weights[place] for place in heavy) > max(w for place, w in weights.items() if place not in heavy)
        assert {rank for place in heavy for rank in place} >= {1, 2, 3, 4, 5}
        assert dots.get_sizes().max() < markers.get_sizes().min()


def test_items_with_the_largest_cost_are_labelled():
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


def test_items_that_share_a_marker_have_a_label_each():
    scores = [40 - item for item in range(40)]
    gold = list(scores)
    gold[0] = gold[1] = 50
    scores[0] = scores[1] = -1
    (axes,) = plot_ranks(gold, scores, n_named=2).axes
    assert sorted(labels_of(axes)) == ["position 0", "position 1"]


def test_panels_on_a_page_keep_room_beside_the_labels_of_pairs():
    pairs = [(f"automobile {number}", f"magician {number}") for number in range(60)]
    gold = dict(zip(pairs, GOLD, strict=True))
    systems = {name: dict(zip(pairs, np.round(SYSTEMS[name]), strict=True)) for name in list(SYSTEMS)[:3]}
    with theme(width=7):
        figure = plot_ranks(gold, systems)
        figure.draw_without_rendering()
    assert min(axes.get_window_extent().width for axes in figure.axes) / figure.dpi > 1.2


def test_unlabelled_items_with_a_cost_are_labelled_by_position():
    assert labels_of(plot_ranks([4, 3, 2, 1], [3, 4, 2, 1]).axes[0]) == ["position 0", "position 1"]
    assert labels_of(plot_ranks([3, 2, 1], [3, 2, 1]).axes[0]) == []
    assert [text.get_text() for text in plot_ranks([4, 3, 2, 1], [3, 4, 1, 2]).axes[0].get_xticklabels()] == [*"1234"]
    ticks = plot_ranks(range(8), range(8)).axes[0].get_xticklabels()
    assert [text.get_text() for text in ticks] == [*"12345", "8"]
    ticks = plot_ranks(range(2_000), range(2_000)).axes[0].get_xticklabels()
    assert [text.get_text() for text in ticks][-2:] == ["1,000", "2,000"]


def test_an_undefined_coefficient_has_no_labels():
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
            lambda: plot_ranks([2, 1], {"s": [1, 2], "t": [2, 1]}, ax=new_axes()),
            rankcorr.OptionError,
            "ax takes one ranking; got 2: draw each into separate axes",
        ),
        (lambda: plot_ranks([2, 1], {}), rankcorr.TooFewItemsError, "at least two items"),
        (lambda: plot_offset([2, 1], [[1, 2]], coefficient="tau"), rankcorr.OptionError, "must be one with an offset"),
    ],
)
def test_invalid_input_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.wide
def test_a_dense_figure_is_a_small_file(tmp_path):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 3_000))
    assert save_figure(plot_ranks(x, y), tmp_path / "ranks.svg").stat().st_size < 300_000
    # The file has the highlighted markers as vectors.
    assert len(re.findall("<use ", (tmp_path / "ranks.svg").read_text())) < 3 * MOST_HEAVY


def ticks_of(axes):
    return dict(zip(axes.get_xticks(), (text.get_text() for text in axes.get_xticklabels()), strict=True))


def test_the_coefficients_and_the_share_of_the_first_rank():
    few = dict(list(SYSTEMS.items())[:3])
    figure = plot_offset(GOLD, few, coefficient="rho_w")
    (axes,) = figure.axes
    assert len(axes.lines) == 3  # only of the systems
    for number, line in enumerate(axes.lines):
        expected = [correlate_many(GOLD, few, coefficient=RhoW(n0=n0)).statistic[number] for n0 in OFFSETS]
        assert_array_equal(line.get_ydata(), expected)
        assert_array_equal(line.get_xdata(), np.array(OFFSETS) + 1)
    assert labels_of(axes) == [line.get_label() for line in axes.lines] == [*few]
    assert title_of(axes) == r"$\rho_w$ by offset $n_0$: 3 systems, 60 items"
    assert {line.get_marker() for line in axes.lines} == {"None"}  # markers only at computed values
    assert len({line.get_linestyle() for line in axes.lines}) == len({line.get_color() for line in axes.lines}) == 3
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Offset $n_0$", r"Coefficient $\rho_w$")
    ticks = ticks_of(axes)
    assert [float(text) + 1 for text in ticks.values()] == list(ticks)
    (top,) = axes.child_axes
    assert top.get_xlabel() == "Weight of rank 1, $R(n_0)$, in %"
    shares = ticks_of(top)
    assert list(shares) == list(ticks)
    assert list(shares.values()) == [f"{100 * first_rank_share(place - 1, 60):.2g}" for place in ticks]


def test_five_of_many_systems_have_distinct_styles():
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
    small, wide = plot_offset(GOLD, SYSTEMS, ax=new_axes()), plot_offset(GOLD, SYSTEMS).axes[0]
    assert {"0", "10", "100"} < set(ticks_of(small).values())
    assert len(ticks_of(small)) < len(ticks_of(wide))


def test_equal_shares_of_the_first_rank_are_written_once():
    (top,) = plot_offset(range(8), [range(8)]).axes[0].child_axes
    shares = [text for text in ticks_of(top).values() if text]
    assert shares[-1] == "13"  # an eighth, whatever the offset
    assert len(set(shares)) == len(shares) < len(ticks_of(top))


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
    steps = [patch.get_data() for patch in axes.patches]
    shares = [baseline - heights for heights, _, baseline in steps]
    for name, (_, edges, _), heights in zip(systems, steps, shares, strict=False):
        counts = np.histogram(nulls[name].values, edges)[0]
        assert counts.sum() == 200  # no value is left out
        assert_allclose(heights / heights.sum(), counts / 200, rtol=1e-9)
    assert max(heights.max() for heights in shares) < 1  # rows do not overlap
    assert legend_of(axes.figure) == ["by chance", "mean by chance", "observed, with p, greater"]
    assert title_of(axes) == r"$\tau_w$ of 4 systems and by chance: 200 random permutations of 60 items"


def test_only_the_first_of_many_nulls_are_drawn():
    null = null_distribution(range(20), range(20), n_resamples=19)
    names = [f"s{number}" for number in range(70)]
    (axes,) = plot_null(dict.fromkeys(names, null), dict.fromkeys(names, 0.5)).axes
    assert [text.get_text() for text in axes.get_yticklabels()] == names[:60]
    assert "of the first 60 of 70 systems and by chance" in title_of(axes).replace("\n", " ")
    drawn = plot_null(dict.fromkeys(names, null), dict.fromkeys(names, 0.5), ax=new_axes())
    assert [text.get_text() for text in drawn.get_yticklabels()] == names
    statistics = dict.fromkeys(names[:60], math.nan) | dict.fromkeys(names[60:], 0.5)
    with pytest.raises(rankcorr.OptionError, match="the coefficient is undefined for the first 60 of 70 systems"):
        plot_null(dict.fromkeys(names, null), statistics)


def test_rows_of_one_value_are_drawn():
    null = null_distribution(range(20), range(20), n_resamples=1)
    (axes,) = plot_null({"a": null, "b": null}, {"a": 1, "b": -1}).axes
    assert [patch.get_data().values for patch in axes.patches] == [pytest.approx([-0.78]), pytest.approx([0.22])]
    assert [text.get_text() for text in axes.texts] == ["p = 1.000", "p = 1.000"]


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
@pytest.mark.parametrize(
    ("null", "statistic", "options", "message"),
    [
        (FOUR, math.nan, {}, "the statistic is nan and cannot be drawn"),
        ([1, 1, 1, 1], 0.5, {}, "there is nothing to draw: the coefficient is undefined for every permutation"),
        ({"a": [1, 1, 1, 1]}, {"a": math.nan}, {}, "nothing to draw: the coefficient is undefined for 1 system"),
        ({}, {}, {}, "nothing to draw: null and statistic name no system"),
        ({"a": FOUR}, 0.5, {}, "null and statistic must both be of one system, or both mappings"),
        ({"a": FOUR}, {"b": 0.5}, {}, "must name the same systems; in one of them only: 'a', 'b'"),
        ({"a": FOUR}, {"a": 2}, {}, "^system 'a': "),
    ],
)
def test_a_null_that_cannot_be_drawn_is_refused(null, statistic, options, message):
    def of(system):
        return null_distribution(FOUR, system)

    nulls = {name: of(system) for name, system in null.items()} if isinstance(null, dict) else of(null)
    with pytest.raises(rankcorr.OptionError, match=message):
        plot_null(nulls, statistic, **options)


def test_rows_of_different_coefficients_are_refused():
    nulls = {name: null_distribution(FOUR, FOUR, coefficient=TauW(n0=n0)) for name, n0 in {"a": 2, "b": 3}.items()}
    with pytest.raises(rankcorr.OptionError, match="must be of one coefficient with the same options; got: "):
        plot_null(nulls, {"a": 0, "b": 0})


def test_a_test_is_not_accepted_as_a_null_distribution():
    test = permutation_test(FOUR, FOUR)
    for null, statistic in ((test, 1.0), ({"a": test}, {"a": 1.0})):
        with pytest.raises(rankcorr.OptionError, match="null must be a NullDistribution, such as that of a test; got"):
            plot_null(null, statistic)
