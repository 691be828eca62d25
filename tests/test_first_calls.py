"""How much the first call of each function compiles: each signature costs from .02 s to .8 s on every new machine."""

import importlib
from pathlib import Path

import pytest

pytestmark = pytest.mark.wide

ROOT = Path(__file__).parents[1]

# Signatures of kernels, and loops that numba itself adds for what they use: arrays, powers of numbers, generators.
MOST = {
    "weighted_tau": (10, 5),
    "weighted_rho": (7, 4),
    "correlate_many": (11, 5),
    "compare_systems": (22, 6),
    "leaderboard": (28, 11),  # 5 of them draw places that systems share: .8 s once, half of the time of each board
    "evaluate": (20, 7),
    "compare_runs": (12, 7),
    "bradley_terry": (6, 4),
    "draw_ballot": (25, 13),
}


@pytest.mark.needs_numba
@pytest.mark.parametrize("name", MOST)
def test_a_first_call_compiles_few_loops(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # where the scripts find what they share
    found = importlib.import_module("first_calls").in_new_process(name)
    assert 0 < found["signatures"] <= MOST[name][0]
    assert found["others"] <= MOST[name][1]
