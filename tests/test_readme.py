"""The README's shell examples print what it says; its Python examples run as doctests."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankcorr import first_rank_share, null_distribution, top_share
from rankcorr.cli.main import main
from rankcorr.coefficients import named_coefficient

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def console_steps():
    """Each command of the console blocks, with the output that the README shows."""
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = step.partition("\n")
            yield shlex.split(command, comments=True), output


def test_the_command_prints_what_the_readme_shows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    n_run = 0
    for (program, *arguments), output in console_steps():
        if program == "cat":
            Path(arguments[0]).write_text(output, encoding="utf-8")
        elif program == "rankcorr":
            result = CliRunner().invoke(main, arguments)
            assert (result.exit_code, result.output.strip()) == (0, output.strip())
            n_run += 1
    assert n_run >= 2


def test_the_table_of_offsets_is_computed():
    rows = re.findall(r"^\| ([0-9]+) \| (0\.\d+) \| (0\.\d+) \| (0\.\d+) \|", README, re.MULTILINE)
    assert [int(n0) for n0, *_ in rows] == [0, 1, 2, 5, 10]
    for n0, *shares in rows:
        computed = first_rank_share(float(n0)), top_share(10, float(n0)), top_share(100, float(n0))
        assert [float(share) for share in shares] == pytest.approx(computed, abs=5.01e-4)


@pytest.mark.needs_numba
@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
@pytest.mark.parametrize("n_items", [10, 100, pytest.param(1000, marks=pytest.mark.figures)])
def test_the_table_of_chance_is_computed(coefficient, n_items):
    (row,) = re.findall(rf"^\| {coefficient} \| {n_items:,} \| (.*) \|$", README, re.MULTILINE)
    cells = []
    for n0 in (0.0, 2.0, 10.0):
        null = null_distribution(range(n_items), range(n_items), coefficient=named_coefficient(coefficient, n0=n0))
        cells.append(f"{null.mean:.2f} ± {null.std:.2f}, {null.quantile(0.95):.2f}")
    assert row.split(" | ") == cells


@pytest.mark.needs_numba
@pytest.mark.real_data
def test_the_comparison_of_real_systems_is_printed_by_the_command(data_dir, monkeypatch):
    (block,) = re.findall(r"^```text\n(\$ cd ../shared/data\n.*?)^```", README, re.MULTILINE | re.DOTALL)
    steps = [step.partition("\n") for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    monkeypatch.chdir(data_dir)
    variables = dict(re.findall(r'^\$ ([A-Z_]+)="?([^"\n]*)"?$', block, re.MULTILINE))
    n_run = 0
    for command, _, output in steps:
        if command.startswith("rankcorr "):
            words = re.sub(r"\$([A-Z_]+)", lambda found: variables[found[1]], command).split()
            result = CliRunner().invoke(main, words[1:])
            assert (result.exit_code, result.output.strip()) == (0, output.strip())
            n_run += 1
    assert n_run == 2
