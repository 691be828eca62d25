"""benchmarks/accuracy.py: its tables and figure show what `simulate_curve` gives."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from adaptive.paper import row_seeds
from adaptive.simulation.similarity import exponential_similarity
from adaptive.simulation.simulate import simulate_curve
from adaptive.simulation.voters import VoterPopulation

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "accuracy.py"


@pytest.fixture(scope="module")
def accuracy():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARK.parent)  # where the scripts find what they share
        specification = importlib.util.spec_from_file_location("accuracy", BENCHMARK)
        module = importlib.util.module_from_spec(specification)
        patch.setitem(sys.modules, specification.name, module)
        specification.loader.exec_module(module)
        patch.setattr(module, "N_ITEMS", 24)
        patch.setattr(module, "N_BALLOTS", 3)
        yield module


@pytest.fixture(scope="module")
def bench(accuracy):
    return accuracy.Bench(2, 7, ["exponential"], None)


def rows(printed):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if "| " in line][2:]


def test_states_of_matching_and_their_json(accuracy, bench, capsys):
    curves = accuracy.bench_matched(bench, (63, 126))
    expected = simulate_curve(
        [63, 126],
        VoterPopulation(),
        exponential_similarity(24),
        n_simulations=2,
        seed=row_seeds(7)["exponential"],
        n_ballots=3,
        approaches=("matched",),
    )
    assert curves["exponential"].to_dict() == expected.to_dict()
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == ["63", "126"]
    mean, se = (getattr(expected.results[126], name)["matched"]["tau_w"] for name in ("mean", "se"))
    assert found[1][1] == f"{mean:.4f} ({se:.4f})"
    tree = accuracy.merged([curves])
    assert tree["matched"]["exponential"]["126"]["tau_w"] == {"mean": mean, "se": se}


def test_all_other_approaches(accuracy, bench, capsys):
    accuracy.bench_all(bench, 126)
    assert [row[0] for row in rows(capsys.readouterr().out)] == [
        *("adaptive", "uniform", "matched_ballots", "adaptive_fitted", "uniform_fitted", "full_rankings")
    ]


def test_unknown_voters_are_four(accuracy, bench, capsys):
    accuracy.bench_unknown_voters(bench, (126,))
    found = rows(capsys.readouterr().out)
    assert len(found) == 4 * 3
    assert {row[2] for row in found} == {"adaptive", "matched", "matched_ballots"}
    assert all(row[-1] == "-" for row in found if row[2] == "adaptive")


def test_the_indifference_gives_the_share_of_ties(accuracy):
    threshold = accuracy.indifference(exponential_similarity(300))
    rng = np.random.default_rng(5)
    opinions = VoterPopulation().draw(rng).opinions(exponential_similarity(300), rng)
    ties = np.abs(opinions - rng.permuted(opinions, axis=1)) <= threshold
    assert abs(ties.mean() - accuracy.TIE_SHARE) < 0.02


def test_the_curve_is_drawn(accuracy, bench, tmp_path):
    curves = accuracy.draw_curve(bench, (63, 126), tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert list(curves["exponential"].results) == [63, 126]
