import json

import numpy as np
import pytest
from click.testing import CliRunner

from adaptive import SimilarityError, VoterPopulation, exponential_similarity, plan_ballots, simulate
from adaptive.cli import main
from adaptive.table2 import table2

ROWS = ["exponential", "power_law", "embedding"]


def test_the_setting_is_that_of_the_paper():
    table = table2(n_simulations=2, seed=5)
    plan = plan_ballots(990, n_ballots=7, fraction=0.5, presentations=20)
    twin = simulate(plan, VoterPopulation(100), exponential_similarity(990), n_simulations=2, seed=5)
    for approach in ("adaptive", "uniform"):
        assert table.results["exponential"].mean[approach].keys() == twin.mean[approach].keys()
    assert plan.n_comparisons == 19_660  # Eq. 3


def test_json_has_the_documented_shape():
    output = CliRunner().invoke(main, ["table2", "--simulations", "2", "--json"]).output
    document = json.loads(output)
    assert list(document) == ROWS
    for row in document.values():
        assert set(row) == {"uniform", "adaptive"}
        for cells in row.values():
            assert set(cells) == {"rho_w", "tau_w", "rho", "tau"}
            assert all(-1 <= cell["mean"] <= 1 and cell["sd"] >= 0 for cell in cells.values())


def test_the_text_table_has_a_line_for_each_row():
    result = CliRunner().invoke(main, ["table2", "--simulations", "2", "--seed", "3"])
    lines = result.output.splitlines()
    assert lines[2].split() == ["similarity", "approach", "rho_w", "tau_w", "rho", "tau"]
    assert [line.split()[:2] for line in lines[3:]] == [[row, way] for row in ROWS for way in ("uniform", "adaptive")]


def test_the_adaptive_ballots_order_the_top_better_in_every_row():
    table = table2(n_simulations=8, seed=2)
    for result in table.results.values():
        for coefficient in ("rho_w", "tau_w"):
            assert result.mean["adaptive"][coefficient] > result.mean["uniform"][coefficient]


def test_an_embedding_of_ones_own(tmp_path):
    file = tmp_path / "cosines.csv"
    file.write_text("similarity\n" + "\n".join(map(str, np.linspace(1, -1, 990))) + "\n")
    same = ["table2", "--simulations", "2", "--json"]
    own, shipped = (
        json.loads(CliRunner().invoke(main, [*same, *more]).output) for more in (["--embedding", str(file)], [])
    )
    assert own["exponential"] == shipped["exponential"]
    assert own["embedding"] != shipped["embedding"]


def test_bad_input():
    with pytest.raises(SimilarityError, match=r"every similarity must lie in \[-1, 1\]"):
        table2(n_simulations=2, seed=1, embedding=[2.0] * 990)
    result = CliRunner().invoke(main, ["table2", "--embedding", "missing.csv"])
    assert result.exit_code == 2
    assert "missing.csv: cannot be read" in result.output
