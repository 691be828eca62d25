"""Figures: what is drawn is what the simulation gave, files are whole, labels stay text, black and white is enough."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from adaptive import _paper as figures
from adaptive._paper import draw_rescaling, draw_scores, draw_similarities, simulate_protocol, write_figures
from adaptive.errors import PlanError, SimilarityError, TableError
from adaptive.simulation._similarity import SIMILARITIES, exponential_similarity
from adaptive.simulation._voters import VoterPool, true_ranking
from rankcorr.plots import MissingMatplotlibError

N_ITEMS = 130
NAMES = [f"figure_{number}.{form}" for number in (2, 3, 4) for form in ("png", "svg")]
MISSING = "figures need matplotlib: pip install 'rankcorr[plot]'"


@pytest.fixture(scope="module")
def result():
    pytest.importorskip("matplotlib").use("Agg")
    pool = VoterPool(np.full(20, 0.1), np.full(20, 0.01))
    return simulate_protocol(pool, exponential_similarity(N_ITEMS), np.random.default_rng(1))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The files of seed 1, in a folder that is made for them."""
    pytest.importorskip("matplotlib").use("Agg")
    return write_figures(tmp_path_factory.mktemp("figures") / "new" / "folder", seed=1, n_items=N_ITEMS)


def texts(path):
    return {element.text for element in ET.fromstring(path.read_text()).iter("{http://www.w3.org/2000/svg}text")}


def test_figure_2_has_every_item_of_ballot_2_and_the_fitted_line(result):
    (axes,) = draw_rescaling(result).axes
    (points,) = axes.collections
    second = result.ballots[1]
    before = dict(zip(result.ballots[0].items, result.ballots[0].x, strict=True))
    expected = sorted(zip(second.x, (before[item] for item in second.items), strict=True))
    times = np.round(points.get_sizes() / points.get_sizes().min()).astype(int)
    repeated = np.repeat(points.get_offsets().data, times, 0)
    assert_allclose(repeated, expected)
    (line,) = axes.lines
    x, y = line.get_data()
    # Eq. 6, by its sums.
    mean = np.array([before[item] for item in second.items])
    slope = np.sum((1 - second.x) * (1 - mean)) / np.sum((1 - second.x) ** 2)
    assert_allclose(y, 1 - slope + slope * np.asarray(x))


def test_figure_3_has_three_distributions_told_apart_without_colour():
    pytest.importorskip("matplotlib")
    similarities = {name: distribution(N_ITEMS) for name, distribution in SIMILARITIES.items()}
    (axes,) = draw_similarities(similarities).axes
    lines = axes.lines[:3]
    for line, values in zip(lines, similarities.values(), strict=True):
        assert_array_equal(line.get_ydata(), values)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["exponential", "power law", "embedding"]
    assert len({line.get_linestyle() for line in lines}) == len({line.get_marker() for line in lines}) == 3


def test_figure_4_has_the_scores_of_five_ballots_and_the_final_ones(result):
    gold = true_ranking(exponential_similarity(N_ITEMS))
    panels = draw_scores(result, gold).axes
    series = [line for axes in panels for line in axes.lines]
    assert len(panels) == len(series) == len({line.get_marker() for line in series}) == 6
    for line, record in zip(series[:5], result.ballots[:5], strict=True):
        assert_array_equal(line.get_xdata(), gold.ranks[list(record.items)])
        assert_array_equal(line.get_ydata(), record.x)
    assert_array_equal(series[5].get_xdata(), gold.ranks)
    assert_array_equal(series[5].get_ydata(), result.ybar)
    # Nothing is cut off, and the panels can be compared.
    assert len({(axes.get_xlim(), axes.get_ylim()) for axes in panels}) == 1
    low, high = panels[0].get_xlim()
    assert low < gold.ranks.min() <= gold.ranks.max() < high


def test_files_are_written_whole_with_labels_as_text(written):
    assert [path.name for path in written] == NAMES
    assert sorted(path.name for path in written[0].parent.iterdir()) == NAMES  # no temporary files are left
    for path in written[::2]:
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert data.endswith(b"IEND\xaeB`\x82")
    figure_2, figure_3, figure_4 = (texts(path) for path in written[1::2])
    assert {"Score in ballot 2, x⁽²⁾", "Score after ballot 1, ȳ⁽¹⁾"} <= figure_2
    assert {"Item, most similar first", "Similarity z", "exponential", "power law", "embedding"} <= figure_3
    assert {"True rank", "Score", "x⁽¹⁾, 130 items", "x⁽⁵⁾, 8 items", "final ȳ, 130 items"} <= figure_4


def test_another_seed_changes_the_figures_that_are_simulated(tmp_path, written):
    other = write_figures(tmp_path, seed=2, n_items=N_ITEMS)
    same = [a.read_bytes() == b.read_bytes() for a, b in zip(written, other, strict=True)]
    assert same == [False, False, True, True, False, False]


@pytest.mark.usefixtures("result")
def test_nothing_is_written_when_a_figure_fails(tmp_path, monkeypatch):
    def fail(*_):
        raise PlanError("no")

    monkeypatch.setattr(figures, "draw_scores", fail)
    with pytest.raises(PlanError, match="no"):
        write_figures(tmp_path / "figures", seed=1, n_items=N_ITEMS)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("result")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": -1}, SimilarityError, "seed must be a whole number, not negative; got -1"),
        ({"n_items": 1}, SimilarityError, "n_items must be a whole number of 2 or more; got 1"),
        ({"n_items": 3}, PlanError, "every ballot needs two items; ballot 3 would have 1"),
    ],
)
def test_refused(tmp_path, options, error, message):
    with pytest.raises(error, match=message):
        write_figures(tmp_path, **{"seed": 1, **options})


@pytest.mark.usefixtures("result")
def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "figure_bytes", lambda *_: b"")  # drawing them takes two seconds
    file = tmp_path / "file"
    file.write_text("mine")
    with pytest.raises(TableError, match=r"file: figures cannot be written: File exists"):
        write_figures(file, seed=1, n_items=N_ITEMS)
    assert file.read_text() == "mine"


@pytest.mark.usefixtures("without_matplotlib")
def test_missing_matplotlib(tmp_path):
    with pytest.raises(MissingMatplotlibError, match=re.escape(MISSING)):
        write_figures(tmp_path, seed=1)
    assert list(tmp_path.iterdir()) == []


def test_same_seed_same_files(tmp_path, written):
    again = write_figures(tmp_path, seed=1, n_items=N_ITEMS)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]
