"""The README's shell examples print what it says; its Python examples run as doctests."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rankcorr import first_rank_share, top_share
from rankcorr.cli import main

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
