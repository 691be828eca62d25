"""The commands `ballots table2` and `ballots figures`: the numbers and files of the library, and what they refuse."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from adaptive._paper import row_seeds, table2
from tests.adaptive.cli.commands import invoke, refusal, run_ok
from tests.adaptive.cli.test_simulate import LEGEND
from tests.adaptive.paper.test_table2 import N_ITEMS, row, small  # noqa: F401


@pytest.mark.usefixtures("small")
def test_table2_prints_the_table():
    table = table2(n_simulations=2, seed=4)
    printed = run_ok("table2", "--simulations", 2, "--seed", 4)
    assert printed == f"2 simulations, seed 4\n\n{table.to_text()}\n\n{LEGEND}\n"
    assert json.loads(run_ok("table2", "--simulations", 2, "--seed", 4, "--json")) == {
        "options": {"simulations": 2, "seed": 4, "seeds": row_seeds(4), "ties": "midrank", "embedding": None},
        "coefficients": table.to_dict(),
    }


@pytest.mark.usefixtures("small")
def test_table2_with_own_cosines(tmp_path):
    cosines = np.linspace(0.9, -0.3, 150)
    path = tmp_path / "cosines.csv"
    path.write_text("similarity\n" + "".join(f"{value!r}\n" for value in cosines.tolist()))
    options = ("--simulations", 2, "--embedding", path)
    found = json.loads(run_ok("table2", *options, "--json"))
    assert found["options"]["embedding"] == str(path)
    assert found["coefficients"]["embedding"] == row(cosines, 2, row_seeds(0)["embedding"])
    assert run_ok("table2", *options).startswith(f"2 simulations, seed 0, embedding of 150 items from {path}\n\n")


@pytest.mark.usefixtures("small")
def test_table2_reports_undefined_coefficients_once(tmp_path):
    path = tmp_path / "cosines.csv"
    path.write_text("similarity\n" + "0.5\n" * N_ITEMS)
    result = invoke("table2", "--simulations", 2, "--embedding", path)
    assert result.exit_code == 0
    assert result.stderr == "ballots: note: some simulations have no coefficient, because all items are tied: nan\n"
    assert "nan +- nan" in result.stdout


@pytest.mark.usefixtures("small")
def test_table2_uses_its_workers_and_advances_a_progress_bar(bars, monkeypatch):
    asked = []

    def executor(workers):
        asked.append(workers)
        return ThreadPoolExecutor(workers)

    monkeypatch.setattr("adaptive._cli.simulate.quiet_executor", executor)
    options = ("--simulations", 3, "--json")
    expected = table2(n_simulations=3, seed=0).to_dict()
    assert json.loads(run_ok("table2", *options, "--workers", 2))["coefficients"] == expected
    assert (asked, bars.asked, sum(bars.steps)) == ([2], [(9, "simulation")], 9)


@pytest.mark.figures
@pytest.mark.needs_numba
def test_table2_with_two_processes():
    # 990 items: other processes know nothing of a smaller table.
    options = ("--simulations", 3, "--json")
    assert run_ok("table2", *options, "--workers", 2) == run_ok("table2", *options)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--simulations", 0], "n_simulations must be a positive whole number; got 0"),
        (["--embedding", "missing.csv"], "missing.csv: cannot be read"),
    ],
)
def test_table2_refuses_in_one_line(args, message):
    result = invoke("table2", *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(f"ballots: error: .*{message}.*\n", result.stderr)


def test_figures_prints_what_it_wrote(monkeypatch):
    asked = []

    def write_figures(out, *, seed):
        asked.append((out, seed))
        return Path(out, "figure_2.png"), Path(out, "figure_2.svg")

    monkeypatch.setattr("adaptive._cli.simulate.write_figures", write_figures)
    assert run_ok("figures", "--out", "new", "--seed", 3).splitlines() == ["new/figure_2.png", "new/figure_2.svg"]
    run_ok("figures", "--out", "new")
    assert asked == [("new", 3), ("new", 0)]


@pytest.mark.usefixtures("without_matplotlib")
def test_figures_without_matplotlib(folder):
    assert refusal("figures", "--out", "new") == "figures need matplotlib: pip install 'rankcorr[plot]'"
    assert not (folder / "new").exists()


def test_figures_refuses_in_one_line():
    assert refusal("figures") == "Missing option '--out'; 'ballots figures --help' lists the options"
    assert refusal("figures", "--out", "new", "--seed", -1).startswith("Invalid value for '--seed'")
