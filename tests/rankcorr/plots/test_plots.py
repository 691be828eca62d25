"""Figures: what is drawn is what was computed, labels stay text, black and white is enough, files are whole."""

import math
import re
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import rankcorr
from rankcorr import Ranking, RhoW, TauW, correlate_many, first_rank_share, item_weights, weighted_tau
from rankcorr.contributions import contributions
from rankcorr.inference.leaderboard import leaderboard
from rankcorr.inference.null import null_distribution
from rankcorr.plots import MissingMatplotlibError, plot_leaderboard, plot_null, plot_offset, plot_ranks, save_figure
from rankcorr.plots.style import label_text
from tests.coefficients import collapsed

MISSING = "figures need matplotlib: pip install 'rankcorr[plot]'"
RNG = np.random.default_rng(5)
GOLD = np.round(RNG.normal(0, 2, 60))
SYSTEMS = {f"system {number}": GOLD + RNG.normal(0, 1 + number, 60) for number in range(12)}


@pytest.fixture(autouse=True)
def matplotlib(request):
    if "without_matplotlib" not in request.fixturenames:
        pytest.importorskip("matplotlib")


@pytest.fixture
def without_matplotlib(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)


def legend_texts(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def looks(lines):
    return {(line.get_marker(), line.get_linestyle()) for line in lines}


def test_ranks_have_every_item_and_its_weight():
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


def test_ranks_number_the_items_that_cost_most():
    labels = [f"item {number}" for number in range(60)]
    x, y = (Ranking.from_scores(scores, labels) for scores in (GOLD, SYSTEMS["system 3"]))
    figure = plot_ranks(x, y, names=("gold", "system"), n_named=4)
    worst = contributions(x, y).worst(4)
    assert legend_texts(figure) == [f"{number}  {row.label}" for number, row in enumerate(worst, start=1)]
    (axes,) = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Rank in gold", "Rank in system")
    numbered = {place: text for text in axes.texts for place in [text.xy]}
    for number, row in enumerate(worst, start=1):
        assert str(number) in numbered[row.x_rank, row.y_rank].get_text().split(", ")
    statistic = weighted_tau(x, y).statistic
    assert axes.get_title().startswith(f"tau_w = {statistic:.3f}".replace("-", "\N{MINUS SIGN}"))


def test_ranks_without_labels_name_positions_and_only_what_costs():
    assert legend_texts(plot_ranks([4, 3, 2, 1], [3, 4, 2, 1])) == [
        "1  item at position 0",
        "2  item at position 1",
    ]
    assert plot_ranks([3, 2, 1], [3, 2, 1]).legends == []
    assert [text.get_text() for text in plot_ranks([4, 3, 2, 1], [3, 4, 1, 2]).axes[0].get_xticklabels()] == [*"1234"]


def test_ranks_of_an_undefined_coefficient_are_drawn():
    with pytest.warns(rankcorr.UndefinedCorrelationWarning):
        figure = plot_ranks([1, 1, 1], [3, 2, 1])
    assert figure.legends == []
    assert len(figure.axes[0].collections[0].get_offsets()) == 3


def test_offset_has_the_coefficients_and_the_share_of_the_first_rank():
    few = dict(list(SYSTEMS.items())[:3])
    offsets = [0, 0.5, 2, 100]
    figure = plot_offset(GOLD, few, n0s=offsets, coefficient="rho_w")
    axes, right = figure.axes
    for number, line in enumerate(axes.lines):
        expected = [correlate_many(GOLD, few, coefficient=RhoW(n0=n0)).statistic[number] for n0 in offsets]
        assert_array_equal(line.get_ydata(), expected)
        assert_array_equal(line.get_xdata(), np.array(offsets) + 1)
    assert_allclose(right.lines[0].get_ydata(), [first_rank_share(n0, 60) for n0 in offsets], rtol=1e-15)
    assert legend_texts(figure) == [*few, "R(n0), right axis"]
    assert len(looks(axes.lines)) == 3
    ticks = dict(zip(axes.get_xticks(), (text.get_text() for text in axes.get_xticklabels()), strict=True))
    assert all(tick == float(text) + 1 for tick, text in ticks.items())


def test_offset_of_many_systems_tells_five_apart():
    figure = plot_offset(GOLD, SYSTEMS, n0s=[0, 2])
    axes = figure.axes[0]
    at_0 = correlate_many(GOLD, SYSTEMS, coefficient=TauW(n0=0))
    best = [at_0.names[row] for row in np.argsort(-at_0.statistic, kind="stable")[:5]]
    assert legend_texts(figure) == ["7 other systems", *best, "R(n0), right axis"]
    assert len(axes.lines) == 12
    assert len(looks(line for line in axes.lines if line.get_color() == "k")) == 5
    figure = plot_offset(GOLD, np.array(list(SYSTEMS.values())), n0s=[0, 2], highlighted=[11, 3] * 5)
    assert legend_texts(figure) == ["10 other systems", "11", "3", "R(n0), right axis"]


def test_null_has_the_values_and_the_observed_one():
    null = null_distribution(GOLD, SYSTEMS["system 2"], n_resamples=400)
    observed = weighted_tau(GOLD, SYSTEMS["system 2"])
    figure = plot_null(null, observed, alternative="greater")
    (axes,) = figure.axes
    (outline,) = axes.patches
    corners = outline.get_xy()
    edges = np.unique(corners[:, 0])
    heights = np.histogram(null.values, edges)[0] / null.values.size
    assert_allclose(corners[:, 1].max(), heights.max(), rtol=1e-12)
    assert_allclose([edges[0], edges[-1]], [null.values.min(), null.values.max()], rtol=1e-12)
    mean, line = axes.lines
    assert (mean.get_xdata()[0], line.get_xdata()[0]) == (null.mean, observed.statistic)
    assert mean.get_linestyle() != line.get_linestyle()
    first, second, third = legend_texts(figure)
    assert first == "400 random permutations of 60 items"
    assert second == f"mean by chance, {null.mean:.3f}".replace("-", "\N{MINUS SIGN}")
    assert third.endswith(f": p = {null.pvalue(observed, 'greater'):.3f}, greater")


@pytest.mark.needs_numba
def test_null_of_all_permutations():
    null = null_distribution(range(4), range(4))
    assert legend_texts(plot_null(null, 0.5))[0] == "all 24 permutations of 4 items"
    assert legend_texts(plot_null(null_distribution(range(99), range(99)), 0.99))[2].endswith("p = 2.0e-04, two-sided")


def board(**options):
    labels = [f"item {number}" for number in range(60)]
    noise = np.random.default_rng(6).normal(0, 0.1, (3, 60))
    systems = {"good": GOLD + noise[0], "bad": -GOLD + noise[1], "worse": -GOLD + noise[2]}
    labelled = {name: dict(zip(labels, scores, strict=True)) for name, scores in systems.items()}
    return leaderboard(dict(zip(labels, GOLD, strict=True)), labelled, n_resamples=100, **collapsed(**options))


def test_leaderboard_has_coefficients_intervals_and_groups():
    result = board(coefficient="tau", level=0.9)
    (axes,) = plot_leaderboard(result).axes
    assert axes.get_xlabel() == "tau with its 90 % interval"
    assert [text.get_text() for text in axes.get_yticklabels()] == [row.system for row in result.rows]
    assert axes.get_ylim() == (2.5, -0.5)
    points = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in points] == [
        (row.total.statistic, place) for place, row in enumerate(result.rows)
    ]
    intervals = [list(line.get_xdata()) for line in axes.lines if line not in points]
    assert intervals == [[row.total.low, row.total.high] for row in result.rows]
    groups = [row.group for row in result.rows]
    assert groups == [1, 2, 2]
    markers = [line.get_marker() for line in points]
    assert markers[0] != markers[1] == markers[2]
    assert [(text.get_text(), text.get_position()[1]) for text in axes.texts] == [("group 1", 0), ("group 2", 1.5)]


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_leaderboard_of_gold_sets_and_undefined_systems():
    gold = {"a": {1: 3, 2: 2, 3: 1}, "b": {4: 3, 5: 2, 6: 1}}
    systems = {"flat": dict.fromkeys(range(1, 7), 0), "good": {item: -item for item in range(1, 7)}}
    options = {"coefficient": "tau", "n_resamples": 50}
    (axes,) = plot_leaderboard(leaderboard(gold, systems, **collapsed(**options))).axes
    assert axes.get_xlabel() == "Sum over 2 gold sets of tau with its 95 % interval"
    assert [text.get_text() for text in axes.texts] == ["group 1", "undefined"]
    points = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [line.get_xdata()[0] for line in points] == [2.0]
    (axes,) = plot_leaderboard(leaderboard(gold, systems, by="b", **collapsed(**options))).axes
    assert axes.get_xlabel() == "tau with its 95 % interval, b"
    points = [line for line in axes.lines if line.get_linestyle() == "None"]
    assert [line.get_xdata()[0] for line in points] == [1.0]


def test_labels_are_text_of_one_line():
    assert label_text("a\n b\t c") == "a b c"
    assert label_text("costs 5$ or $6") == r"costs 5\$ or \$6"
    assert label_text(" ") == "' '"
    assert label_text(("a", 1)) == "a, 1"
    assert label_text("a\x00b\ud800 \ufffe") == r"a\x00b\ud800 \ufffe"
    cut = label_text("a model with a very long name, version 12")
    assert (len(cut), cut[:7], cut[-10:]) == (36, "a model", "version 12")


def test_files_are_whole_and_the_same_for_equal_figures(tmp_path):
    x = {"a$b$": 3, "b\x01": 2, "c": 1}
    files = {}
    for name in ("one.png", "two.PNG", "one.svg", "two.svg"):
        path = save_figure(plot_ranks(x, {"a$b$": 1, "b\x01": 4, "c": 3}), tmp_path / name)
        assert path == tmp_path / name
        files[name] = path.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)  # no temporary files are left
    assert files["one.png"] == files["two.PNG"]
    assert files["one.png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert files["one.png"].endswith(b"IEND\xaeB`\x82")
    assert files["one.svg"] == files["two.svg"]
    texts = {element.text for element in ET.fromstring(files["one.svg"]).iter("{http://www.w3.org/2000/svg}text")}
    assert {"Rank in x", "Items that cost most", "1  a$b$", r"2  b\x01"} <= texts


@pytest.mark.parametrize("name", ["figure.pdf", "figure", ".png", "figure.png.gz"])
def test_files_of_another_form(tmp_path, name):
    wanted = re.escape(f"the file name of a figure must end with .png or .svg; got '{name}'")
    with pytest.raises(rankcorr.OptionError, match=wanted):
        save_figure(plot_ranks([2, 1], [2, 1]), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_is_replaced_and_keeps_its_mode(tmp_path):
    path = tmp_path / "figure.svg"
    path.write_text("old")
    path.chmod(0o640)
    save_figure(plot_ranks([2, 1], [2, 1]), path)
    assert path.read_text().startswith("<?xml")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError):
        save_figure(plot_ranks([2, 1], [2, 1]), tmp_path / "missing" / "figure.png")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: plot_ranks([2, 1], [1, 2], n_named=-1), rankcorr.OptionError, "n_named must be .*; got -1"),
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
        (
            lambda: plot_offset([2, 1], {"s": [1, 2]}, highlighted=["s", "t"]),
            rankcorr.OptionError,
            "highlighted must name systems; unknown: 't'",
        ),
        (
            lambda: plot_offset([2, 1], [[1, 2]] * 9, highlighted=range(9)),
            rankcorr.OptionError,
            "highlighted must name at most 8 systems; got 9",
        ),
        (
            lambda: plot_null(null_distribution(range(4), range(4)), math.nan),
            rankcorr.OptionError,
            "the statistic is nan and cannot be drawn",
        ),
        (
            lambda: plot_null(null_distribution(range(4), range(4)), 0, alternative="more"),
            rankcorr.OptionError,
            "alternative must be one of",
        ),
    ],
)
def test_invalid_inputs_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_a_null_distribution_without_values():
    with pytest.raises(rankcorr.OptionError, match="there is nothing to draw: the coefficient is undefined for every"):
        plot_null(null_distribution([1, 1, 1], [3, 2, 1]), 0.5)


@pytest.mark.usefixtures("without_matplotlib")
@pytest.mark.parametrize(
    "call",
    [
        lambda: plot_ranks([2, 1], [1, 2]),
        lambda: plot_offset([2, 1], [[1, 2]]),
        lambda: plot_null(null_distribution(range(4), range(4)), 0),
        lambda: plot_leaderboard(board()),
    ],
)
def test_missing_matplotlib(call):
    with pytest.raises(MissingMatplotlibError, match=re.escape(MISSING)):
        call()
