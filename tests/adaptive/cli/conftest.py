"""Fixtures of the tests of `ballots`: a folder with tokens, items or an open voting."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from adaptive import read_comparisons
from tests.adaptive.cli.commands import INIT, TOKENS, run_ok, vote


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tokens.csv").write_text(TOKENS)
    return tmp_path


@pytest.fixture
def bars(monkeypatch):
    """What progress bars were asked for, and the steps that they took; processes are threads."""
    seen = SimpleNamespace(asked=[], steps=[])

    @contextmanager
    def bar(total, unit, of):
        assert of
        seen.asked.append((total, unit))
        yield seen.steps.append

    for module in ("ask", "fit", "simulate", "run.closing"):
        monkeypatch.setattr(f"adaptive._cli.{module}.progress_bar", bar)
    monkeypatch.setattr("adaptive._cli.simulate.quiet_executor", ThreadPoolExecutor)
    return seen


@pytest.fixture
def items(folder):
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    return folder / "items.csv"


@pytest.fixture
def opened(folder):
    """A voting whose ballot 1 is open, and the votes on it, all of them given in votes.csv."""
    run_ok("pair", "tokens.csv", "--out", "items.csv")
    run_ok(*INIT)
    run_ok("run", "open", "v.db", "--out", "ballot.csv")
    vote(folder / "ballot.csv", folder / "votes.csv")
    return folder / "v.db"


@pytest.fixture
def votes(folder, request):
    """The VOTES of the module, in v.csv."""
    (folder / "v.csv").write_text(request.module.VOTES)
    return read_comparisons("v.csv")
