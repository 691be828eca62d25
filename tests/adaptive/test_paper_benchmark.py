"""benchmarks/paper.py: the rows of Table 2 are those of `simulate`, and each figure shows what a simulation gave."""

import re
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from adaptive._plan import plan_ballots
from adaptive.errors import PlanError, SimilarityError
from adaptive.simulation._similarity import SIMILARITIES, exponential_similarity
from adaptive.simulation._simulate import simulate
from adaptive.simulation._voters import VoterPool, VoterPopulation, true_ranking

pytestmark = pytest.mark.wide

COEFFICIENTS = ["rho_w", "tau_w", "rho", "tau"]
N_ITEMS = 130
NAMES = [f"figure_{number}.{form}" for number in (2, 3, 4) for form in ("png", "svg")]


@pytest.fixture(scope="module")
def paper(script):
    return script("paper")


@pytest.fixture
def small(paper, monkeypatch):
    """The table of 130 items, which differs from the paper's in nothing else."""
    monkeypatch.setattr(paper, "N_ITEMS", N_ITEMS)
    return paper


def row(similarity, n_simulations, seed):
    plan = plan_ballots(similarity.size, n_ballots=7, fraction=0.5, presentations=20)
    return simulate(plan, VoterPopulation(), similarity, n_simulations=n_simulations, seed=seed).to_dict()


def as_dicts(table):
    return {name: result.to_dict() for name, result in table.items()}


def test_rows_are_those_of_simulate(small):
    seeds = small.row_seeds(4)
    expected = {name: row(similarity(N_ITEMS), 2, seeds[name]) for name, similarity in SIMILARITIES.items()}
    assert as_dicts(small.table2(n_simulations=2, seed=4)) == expected


def test_rows_are_independent_experiments(small):
    # With one seed for all rows the uniform ballots answer nearly alike: these correlations are then .9 and more.
    results = small.table2(n_simulations=60, seed=4).values()
    values = [result.statistics["uniform"]["tau_w"] for result in results]
    correlations = np.corrcoef(values)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.4  # 3 standard errors, 1 / sqrt(60) each


@pytest.mark.needs_numba
@pytest.mark.parametrize("n_simulations", [3, pytest.param(20, marks=pytest.mark.figures)])
def test_adaptive_orders_the_top_better_in_the_papers_setting(paper, n_simulations):
    plan = plan_ballots(paper.N_ITEMS, n_ballots=7, fraction=0.5, presentations=20)
    assert (plan.n_items, plan.n_comparisons) == (990, 19_660)  # Eq. 3
    for result in paper.table2(n_simulations=n_simulations, seed=1).values():
        for coefficient in ("rho_w", "tau_w"):
            assert result.mean["adaptive"][coefficient] > result.mean["uniform"][coefficient]


def test_own_embedding_of_another_size(small):
    cosines = np.linspace(0.9, -0.3, 150)
    table = as_dicts(small.table2(n_simulations=2, seed=4, embedding=cosines.tolist()))
    assert table["embedding"] == row(cosines, 2, small.row_seeds(4)["embedding"])
    assert table["exponential"] == row(exponential_similarity(N_ITEMS), 2, small.row_seeds(4)["exponential"])


def test_an_executor_gives_the_same_numbers(small):
    with ThreadPoolExecutor(2) as executor:
        parallel = small.table2(n_simulations=4, seed=4, executor=executor)
    assert as_dicts(parallel) == as_dicts(small.table2(n_simulations=4, seed=4))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_simulations": 0}, SimilarityError, "n_simulations must be a positive whole number; got 0"),
        ({"seed": -1}, SimilarityError, "seed must be a whole number of 0 or more; got -1"),
        ({"embedding": [0.5, 1.5]}, SimilarityError, r"every similarity must lie in \[-1, 1\]: similarity\[1\] is 1.5"),
        ({"embedding": [0.5, 0.4, 0.3]}, PlanError, "every ballot needs at least two items; ballot 3 would have 1"),
    ],
)
def test_refused(paper, options, error, message):
    with pytest.raises(error, match=message):
        paper.table2(**{"n_simulations": 1, "seed": 1, **options})


def test_text_has_mean_and_deviation_of_each_cell(small):
    table = small.table2(n_simulations=3, seed=4)
    text = small.table_text(table)
    header, *lines = [re.split(r" {2,}", line) for line in text.splitlines()]
    assert header == ["similarity", "approach", *COEFFICIENTS]
    assert lines == [
        [name, approach, *("{mean:.4f} +- {sd:.4f} ({se:.4f})".format(**cells[c]) for c in COEFFICIENTS)]
        for name, approaches in as_dicts(table).items()
        for approach, cells in approaches.items()
    ]
    assert len({len(line) for line in text.splitlines()}) == 1
    assert "+- nan" in small.table_text(small.table2(n_simulations=1, seed=4))


@pytest.fixture(scope="module")
def result(paper):
    pytest.importorskip("matplotlib").use("Agg")
    pool = VoterPool(np.full(20, 0.1), np.full(20, 0.01))
    return paper.simulate_protocol(pool, exponential_similarity(N_ITEMS), np.random.default_rng(1))


@pytest.fixture(scope="module")
def written(paper, tmp_path_factory):
    """The files of seed 1, in a folder that is made for them."""
    pytest.importorskip("matplotlib").use("Agg")
    return paper.write_figures(tmp_path_factory.mktemp("figures") / "new" / "folder", seed=1, n_items=N_ITEMS)


def texts(path):
    return {element.text for element in ET.fromstring(path.read_text()).iter("{http://www.w3.org/2000/svg}text")}


def test_figure_2_has_every_item_of_ballot_2_and_the_fitted_line(paper, result):
    (axes,) = paper.draw_rescaling(result).axes
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


def test_figure_3_has_three_similarities_and_a_relatedness_told_apart_without_colour(paper):
    pytest.importorskip("matplotlib")
    similarities = {name: distribution(N_ITEMS) for name, distribution in SIMILARITIES.items()}
    (axes,) = paper.draw_similarities(similarities).axes
    lines = axes.lines[:3]
    for line, values in zip(lines, similarities.values(), strict=True):
        assert_array_equal(line.get_ydata(), values)
    related = axes.lines[3]
    assert_array_equal(related.get_ydata(), sorted(np.abs(similarities["embedding"]), reverse=True))
    names = ["exponential", "power law", "embedding", "relatedness of pairs of one semantic area"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == names
    assert len({line.get_linestyle() for line in lines}) == 3
    assert len({line.get_marker() for line in (*lines, related)}) == 4


def test_figure_4_has_the_scores_of_five_ballots_and_the_final_ones(paper, result):
    gold = true_ranking(exponential_similarity(N_ITEMS))
    panels = paper.draw_scores(result, gold).axes
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
    assert {"Item, most similar first", "exponential", "power law", "embedding"} <= figure_3
    assert {"Similarity z, relatedness |z|", "relatedness of pairs of one semantic area"} <= figure_3
    assert {"True rank", "Score", "x⁽¹⁾, 130 items", "x⁽⁵⁾, 8 items", "final ȳ, 130 items"} <= figure_4


def test_the_seed_decides_the_files(paper, tmp_path, written):
    other = paper.write_figures(tmp_path / "2", seed=2, n_items=N_ITEMS)
    again = paper.write_figures(tmp_path / "1", seed=1, n_items=N_ITEMS)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in written]
    same = [a.read_bytes() == b.read_bytes() for a, b in zip(written, other, strict=True)]
    assert same == [False, False, True, True, False, False]
