"""Style of figures: symbols, plain-text labels, colours of the reader's style, and complete files."""

import math
import pickle
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankcorr
from rankcorr import OptionError, Rho, RhoW, Tau, TauW, leaderboard, null_distribution
from rankcorr._weights import Hyperbolic
from rankcorr.evaluation import compare_runs
from rankcorr.plots import (
    MissingMatplotlibError,
    plot_leaderboard,
    plot_null,
    plot_offset,
    plot_queries,
    plot_ranks,
    save_figure,
)
from rankcorr.plots._style import Ink, canvas, coefficient_text, figure_bytes, label_text, round_numbers, spread, theme
from tests.rankcorr.evaluation.comparison.test_compare import case
from tests.rankcorr.plots.conftest import GOLD, SYSTEMS, legend_of, new_axes
from tests.rankcorr.plots.test_leaderboards import board

pytestmark = pytest.mark.wide

MISSING = "figures need matplotlib: pip install matplotlib"
FOUR = range(4)
FIGURES = {
    "ranks": lambda **options: plot_ranks(GOLD, SYSTEMS["system 1"], **options),
    "offset": lambda **options: plot_offset(GOLD, SYSTEMS, **options),
    "null": lambda **options: plot_null(null_distribution(FOUR, FOUR), 0, **options),
    "nulls": lambda **options: plot_null({"a": null_distribution(FOUR, FOUR)}, {"a": 0}, **options),
    "leaderboard": lambda **options: plot_leaderboard(board(), **options),
    "queries": lambda **options: plot_queries(compare_runs(*case(5), n_resamples=100), **options),
}


def test_labels_are_text_of_one_line():
    assert label_text("a\n b\t c") == "a b c"
    assert label_text("costs 5$ or $6") == r"costs 5\$ or \$6"
    assert label_text(" ") == "' '"
    assert label_text(("a", 1)) == "a, 1"
    assert label_text("a\x00b\ud800 \ufffe") == r"a\x00b\ud800 \ufffe"
    cut = label_text("a model with a very long name, version 12")
    assert (len(cut), cut[:7], cut[-10:]) == (36, "a model", "version 12")
    assert label_text("a model with a very long name, version 12", 12) == "a mode…on 12"


@pytest.mark.parametrize(
    ("coefficient", "text"),
    [
        (TauW(), r"$\tau_w$, $n_0=2$"),
        (RhoW(n0=-0.5), r"$\rho_w$, $n_0=-0.5$"),
        (Tau(variant="a"), r"$\tau$, variant a"),
        (Rho(), r"$\rho$"),
        (TauW(weigher=Hyperbolic(), scheme="first"), r"$\tau_w$, weights Hyperbolic, scheme first"),
        (TauW(tied_weights="expected"), r"$\tau_w$, $n_0=2$, expected weights of ties"),
    ],
)
def test_coefficients_are_set_as_symbols(coefficient, text):
    assert coefficient_text(null_distribution(FOUR, FOUR, coefficient=coefficient)) == text


def test_symbols_have_values():
    null = null_distribution(FOUR, FOUR)
    assert coefficient_text(null, -0.25) == r"$\tau_w$ = −0.250, $n_0=2$"  # noqa: RUF001 - the sign of figures
    assert coefficient_text(null, float("nan"), offset=False) == r"$\tau_w$ is undefined"


def test_round_numbers_keep_their_distance():
    assert round_numbers(1, 8, 1.1) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert round_numbers(1, 20, 1.4) == [1, 2, 3, 5, 10, 20]
    assert round_numbers(1, 20, 4) == [1, 5, 20]
    assert round_numbers(5, 20_000, 9) == [5, 100, 1_000, 20_000]


@given(st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=9), st.floats(0.001, 0.12))
def test_labels_are_spread(values, gap):
    placed = spread(values, gap)
    order = np.argsort(values, kind="stable")
    assert (np.diff(np.array(placed)[order]) >= gap - 1e-9).all()
    assert min(placed) >= 0
    assert max(placed) <= 1 + 1e-9
    if len(values) == 1 or (np.diff(np.sort(values)) >= gap).all():  # labels with enough room stay
        inside = [place for value, place in zip(values, placed, strict=True) if 0.3 < value < 0.7]
        if len(inside) == len(values):
            assert placed == pytest.approx(values)


def test_a_dark_theme_changes_background_and_text(tmp_path):
    with theme("dark"):
        figure = FIGURES["offset"]()
    from matplotlib.colors import to_rgb
    from PIL import Image

    dark = Image.open(save_figure(figure, tmp_path / "dark.png")).convert("RGB")
    assert {dark.getpixel(place) for place in ((0, 0), (-1, -1))} == {(0x16, 0x18, 0x1C)}
    figure.draw_without_rendering()  # ticks are created here, outside the theme
    assert {text.get_color() for text in figure.axes[0].get_xticklabels()} == {to_rgb("#e8e8e8")}
    light = Image.open(save_figure(FIGURES["offset"](), tmp_path / "light.png")).convert("RGB")
    assert light.getpixel((0, 0)) == (255, 255, 255)
    with pytest.raises(rankcorr.OptionError, match="theme must be one of 'light', 'dark'; got 'black'"), theme("black"):
        pass


def colours_of(figure):
    """Colours of all visible lines, markers, areas and texts of a figure."""
    from matplotlib.collections import Collection
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    result = []
    for axes in figure.axes:
        for artist in axes.findobj():
            if isinstance(artist, Collection):
                result += list(artist.get_edgecolors())
            elif (isinstance(artist, Text) and artist.get_text()) or isinstance(artist, Line2D):
                result.append(artist.get_color())
    return {tuple(to_rgba(colour)[:3]) for colour in result}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_the_colours_of_the_style(name):
    from matplotlib import style

    with style.context("dark_background"):
        dark = colours_of(FIGURES[name]())
    assert (1, 1, 1) in dark
    assert (0, 0, 0) not in dark
    light = colours_of(FIGURES[name]())
    assert (0, 0, 0) in light
    assert (1, 1, 1) not in light


@pytest.mark.parametrize(
    ("paper", "text", "expected"),
    [("none", "white", (0, 0, 0)), ("none", "black", (1, 1, 1)), ("yellow", "black", (1, 1, 0))],
)
def test_figures_with_a_transparent_background(paper, text, expected):
    from matplotlib.figure import Figure

    figure = Figure(facecolor="none")
    axes = figure.add_subplot(facecolor=paper)
    axes.xaxis.label.set_color(text)
    ink = Ink.of(axes)
    assert ink.paper == expected
    assert (ink.grey(0), ink.grey(1)) == (ink.full, ink.paper)


@pytest.mark.parametrize("name", FIGURES)
def test_axes_of_the_caller_are_used(name):
    axes = new_axes()
    assert FIGURES[name](ax=axes) is axes
    assert axes.has_data()
    assert legend_of(axes) == legend_of(FIGURES[name]())
    assert axes.figure.legends == []


@pytest.mark.parametrize("name", FIGURES)
def test_ax_must_be_axes(name):
    from matplotlib.figure import Figure

    with pytest.raises(rankcorr.OptionError, match="ax must be one Axes of matplotlib; got "):
        FIGURES[name](ax=Figure().subplots(1, 2))


@pytest.mark.parametrize("name", FIGURES)
def test_narrow_axes_keep_most_of_the_figure(name):
    """The layout leaves enough room for axes next to legends and labels."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.4, 3.6), layout="constrained")
    axes = FIGURES[name](ax=figure.add_subplot())
    figure.draw_without_rendering()
    width, height = axes.get_window_extent().size / figure.dpi
    assert width > 1.2
    assert height > 1.0
    box = figure.get_tightbbox()
    assert box.x0 > -0.05
    assert box.x1 < 3.45


@pytest.mark.parametrize(
    ("name", "n_systems"),
    [
        *((name, 0) for name in FIGURES),
        *(("panels", 1), ("panels", 5), ("gold sets", 1), ("gold sets", 4), ("rows of nulls", 1), ("rows of nulls", 4)),
    ],
)
def test_nothing_of_a_figure_is_cut_off(name, n_systems):
    few = {f"a rather long name of a system, {name}": scores for name, scores in list(SYSTEMS.items())[:n_systems]}
    draw = {
        "panels": lambda: plot_ranks(dict(enumerate(GOLD)), {name: dict(enumerate(y)) for name, y in few.items()}),
        "rows of nulls": lambda: plot_null(
            {name: null_distribution(range(20), range(20), n_resamples=100) for name in few}, dict.fromkeys(few, 0.5)
        ),
        "gold sets": lambda: plot_leaderboard(
            leaderboard(
                {name: dict(enumerate(GOLD[start:], start)) for start, name in ((0, "a"), (1, "b"), (2, "c"))},
                {name: dict(enumerate(y)) for name, y in few.items()},
                coefficient="tau",
                n_resamples=100,
            )
        ),
    }
    figure = draw.get(name, FIGURES.get(name))()
    figure.draw_without_rendering()
    box = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -0.02


def test_files_are_complete_and_reproducible(tmp_path):
    x = {"a$b$": 3, "b\x01": 2, "c": 1}
    files = {}
    for name in ("one.png", "two.PNG", "one.svg", "two.svg", "one.pdf", "two.pdf"):
        path = save_figure(plot_ranks(x, {"a$b$": 1, "b\x01": 4, "c": 3}), tmp_path / name)
        assert path == tmp_path / name
        files[name] = path.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)  # no temporary files are left
    assert files["one.png"] == files["two.PNG"]
    assert files["one.png"].startswith(b"\x89PNG\r\n\x1a\n")
    assert files["one.png"].endswith(b"IEND\xaeB`\x82")
    assert files["one.svg"] == files["two.svg"]
    assert files["one.pdf"] == files["two.pdf"]
    assert files["one.pdf"].startswith(b"%PDF-")
    assert files["one.pdf"].endswith(b"%%EOF\n")
    texts = {element.text for element in ET.fromstring(files["one.svg"]).iter("{http://www.w3.org/2000/svg}text")}
    assert {"Rank in x", "a$b$", r"b\x01"} <= texts


def test_notebooks_show_figures_without_pyplot():
    figure = canvas()
    assert figure._repr_png_() == figure_bytes(figure, "png") == pickle.loads(pickle.dumps(figure))._repr_png_()


@pytest.mark.parametrize("name", ["figure.jpg", "figure", ".png", "figure.png.gz"])
def test_unknown_file_formats_are_refused(tmp_path, name):
    expected = re.escape(f"the file name of a figure must end with .png, .svg or .pdf; got '{name}'")
    with pytest.raises(rankcorr.OptionError, match=expected):
        save_figure(plot_ranks([2, 1], [2, 1]), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file"):
        save_figure(plot_ranks([2, 1], [2, 1]), tmp_path / "missing" / "figure.png")


@pytest.mark.usefixtures("without_matplotlib")
@pytest.mark.parametrize("name", FIGURES)
def test_without_matplotlib_figures_are_refused(name):
    with pytest.raises(MissingMatplotlibError, match=re.escape(MISSING)):
        FIGURES[name]()


@pytest.mark.parametrize(("width", "scale"), [(3.3, 0.7), (7.0, 1.0)])
def test_figures_have_the_width_of_a_column(tmp_path, width, scale):
    with theme(width=width, has_title=False):
        figure = plot_ranks([4, 3, 2, 1], {"a": [3, 4, 1, 2], "b": [1, 2, 3, 4], "c": [2, 1, 4, 3]})
    assert figure.get_figwidth() == pytest.approx(width / scale)
    assert figure.get_suptitle() == ""
    path = save_figure(figure, tmp_path / "figure.png", dpi=200)
    n_pixels = int.from_bytes(path.read_bytes()[16:20], "big")  # of the header of a PNG file
    assert n_pixels == pytest.approx(200 * width, abs=2)
    text = save_figure(figure, tmp_path / "figure.svg").read_text()
    assert float(re.search(r'width="([0-9.]+)pt"', text)[1]) == pytest.approx(72 * width, abs=0.5)
    assert save_figure(plot_ranks([2, 1], [1, 2]), tmp_path / "other.png").exists()
    for wrong in ({"width": 1}, {"width": math.nan}):
        with pytest.raises(OptionError, match="width must be a number from 2 to 20"), theme(**wrong):
            pass
    with pytest.raises(OptionError, match="dpi must be a whole number from 50 to 1200; got 7"):
        save_figure(figure, tmp_path / "figure.png", dpi=7)
