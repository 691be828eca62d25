"""Table 2: the rows are those of `simulate`, in the shape that programs read."""

import importlib
import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from adaptive._paper import row_seeds, table2
from adaptive._plan import plan_ballots
from adaptive.errors import PlanError, SimilarityError
from adaptive.simulation._similarity import SIMILARITIES, exponential_similarity
from adaptive.simulation._simulate import simulate
from adaptive.simulation._voters import VoterPopulation

APPROACHES, COEFFICIENTS = ["uniform", "adaptive"], ["rho_w", "tau_w", "rho", "tau"]


N_ITEMS = 130


table2_module = importlib.import_module("adaptive._paper")


@pytest.fixture
def small(monkeypatch):
    """The table of 130 items, which differs from the paper's in nothing else."""
    monkeypatch.setattr(table2_module, "N_ITEMS", N_ITEMS)


def row(similarity, n_simulations, seed):
    plan = plan_ballots(similarity.size, n_ballots=7, fraction=0.5, presentations=20)
    return simulate(plan, VoterPopulation(), similarity, n_simulations=n_simulations, seed=seed).to_dict()


@pytest.mark.usefixtures("small")
def test_rows_are_those_of_simulate():
    table = table2(n_simulations=2, seed=4).to_dict()
    seeds = row_seeds(4)
    assert table == {name: row(similarity(N_ITEMS), 2, seeds[name]) for name, similarity in SIMILARITIES.items()}


@pytest.mark.usefixtures("small")
def test_rows_are_independent_experiments():
    # With one seed for all rows the uniform ballots answer nearly alike: these correlations are then .9 and more.
    results = table2(n_simulations=60, seed=4).results.values()
    values = [result.statistics["uniform"]["tau_w"] for result in results]
    correlations = np.corrcoef(values)[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 0.4  # 3 standard errors, 1 / sqrt(60) each


def test_row_seeds():
    seeds = row_seeds(0)
    assert list(seeds) == list(SIMILARITIES)
    assert len({*seeds.values(), *row_seeds(1).values()}) == 6
    with pytest.raises(SimilarityError, match=r"seed must be a whole number, not negative; got 0\.5"):
        row_seeds(0.5)


@pytest.mark.usefixtures("small")
def test_shape_and_order_of_the_json():
    table = json.loads(json.dumps(table2(n_simulations=2, seed=4).to_dict()))
    assert list(table) == ["exponential", "power_law", "embedding"]
    for approaches in table.values():
        assert list(approaches) == APPROACHES
        for coefficients in approaches.values():
            assert list(coefficients) == COEFFICIENTS
            for cell in coefficients.values():
                assert list(cell) == ["mean", "sd", "se"]
                assert -1 <= cell["mean"] <= 1
                assert cell["sd"] >= 0


@pytest.mark.needs_numba
@pytest.mark.parametrize("n_simulations", [3, pytest.param(20, marks=pytest.mark.figures)])
def test_adaptive_orders_the_top_better_in_the_papers_setting(n_simulations):
    plan = plan_ballots(table2_module.N_ITEMS, n_ballots=7, fraction=0.5, presentations=20)
    assert (plan.n_items, plan.n_comparisons) == (990, 19_660)  # Eq. 3
    table = table2(n_simulations=n_simulations, seed=1)
    assert table.n_simulations == n_simulations
    for result in table.results.values():
        for coefficient in ("rho_w", "tau_w"):
            assert result.mean["adaptive"][coefficient] > result.mean["uniform"][coefficient]


@pytest.mark.usefixtures("small")
def test_own_embedding_of_another_size():
    cosines = np.linspace(0.9, -0.3, 150)
    table = table2(n_simulations=2, seed=4, embedding=cosines.tolist()).to_dict()
    assert table["embedding"] == row(cosines, 2, row_seeds(4)["embedding"])
    assert table["exponential"] == row(exponential_similarity(N_ITEMS), 2, row_seeds(4)["exponential"])


@pytest.mark.usefixtures("small")
def test_an_executor_gives_the_same_numbers():
    with ThreadPoolExecutor(2) as executor:
        together = table2(n_simulations=4, seed=4, executor=executor)
    assert together.to_dict() == table2(n_simulations=4, seed=4).to_dict()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_simulations": 0}, SimilarityError, "n_simulations must be a positive whole number; got 0"),
        ({"seed": -1}, SimilarityError, "seed must be a whole number, not negative; got -1"),
        ({"embedding": [0.5, 1.5]}, SimilarityError, r"every similarity must lie in \[-1, 1\]: similarity\[1\] is 1.5"),
        ({"embedding": [0.5, 0.4, 0.3]}, PlanError, "every ballot needs two items; ballot 3 would have 1"),
    ],
)
def test_refused(options, error, message):
    with pytest.raises(error, match=message):
        table2(**{"n_simulations": 1, "seed": 1, **options})


@pytest.mark.usefixtures("small")
def test_text_has_mean_and_deviation_of_each_cell():
    table = table2(n_simulations=3, seed=4)
    header, *lines = [re.split(r" {2,}", line) for line in table.to_text().splitlines()]
    assert header == ["similarity", "approach", *COEFFICIENTS]
    assert lines == [
        [name, approach, *("{mean:.4f} +- {sd:.4f} ({se:.4f})".format(**cells[c]) for c in COEFFICIENTS)]
        for name, approaches in table.to_dict().items()
        for approach, cells in approaches.items()
    ]
    assert len({len(line) for line in table.to_text().splitlines()}) == 1
    assert repr(table) == f"<Table2 of 3 simulations:\n{table.to_text()}>"


@pytest.mark.usefixtures("small")
def test_the_result_is_frozen_and_one_simulation_has_no_deviation():
    table = table2(n_simulations=1, seed=4)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field"):
        table.results = {}
    with pytest.raises(TypeError, match="does not support item assignment"):
        table.results["exponential"] = None
    assert table.to_dict()["exponential"]["uniform"]["rho"]["sd"] is None
    assert "+- nan" in table.to_text()
