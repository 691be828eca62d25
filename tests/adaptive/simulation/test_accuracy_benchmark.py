"""benchmarks/accuracy.py: its tables and figure show what `simulate_curve` gives."""

import numpy as np
import pytest

from adaptive.simulation._similarity import exponential_similarity
from adaptive.simulation._simulate import simulate_curve
from adaptive.simulation._voters import VoterPopulation

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def accuracy(script):
    module = script("accuracy")
    module.N_ITEMS, module.N_BALLOTS = 24, 3
    return module


@pytest.fixture(scope="module")
def bench(accuracy):
    return accuracy.Bench(2, 7, ["exponential"], None)


def rows(printed):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in printed.splitlines() if "| " in line][2:]


def test_states_of_matching_and_their_json(accuracy, bench, capsys):
    curves = accuracy.bench_matched(bench, (63, 126))
    options = {
        "n_simulations": 2,
        "seed": accuracy.row_seeds(7)["exponential"],
        "n_ballots": 3,
        "approaches": ("matched",),
    }
    expected = simulate_curve([63, 126], VoterPopulation(), exponential_similarity(24), **options)
    assert curves["exponential"].to_dict() == expected.to_dict()
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == ["63", "126"]
    mean, se = (getattr(expected.results[126], name)["matched"]["tau_w"] for name in ("mean", "se"))
    assert found[1][1] == f"{mean:.4f} ({se:.4f})"
    tree = accuracy.merged([curves])
    assert tree["matched"]["exponential"]["126"]["tau_w"] == {"mean": mean, "se": se}


def test_all_other_approaches(accuracy, bench, capsys):
    accuracy.bench_all(bench, 126)
    found = [row[0] for row in rows(capsys.readouterr().out)]
    assert found == ["adaptive", "uniform", "matched_ballots", "adaptive_fitted", "uniform_fitted", "full_rankings"]


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
