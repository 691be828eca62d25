"""The progress bar: only on a terminal, and gone at the end."""

import io
import sys

import pytest

from rankcorr.progress import progress_bar
from tests.rankcorr.cli.commands import run, write_rankings


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Bar:
    """Stands in for tqdm, and remembers what it is told."""

    told = []  # noqa: RUF012 - one list for all bars is wanted

    def __init__(self, *, total, unit, leave, delay):
        self.told.append((total, unit))
        assert leave is False
        assert delay > 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.told.append("closed")

    def update(self, n):
        self.told.append(n)


@pytest.fixture
def told(monkeypatch):
    Bar.told.clear()
    monkeypatch.setattr("tqdm.tqdm", Bar)
    return Bar.told


def test_on_a_terminal(monkeypatch, told):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress_bar(5, "step") as advance:
        advance(2)
        advance(3)
    assert told == [(5, " step"), 2, 3, "closed"]


def test_an_error_closes_it(monkeypatch, told):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(KeyboardInterrupt), progress_bar(None, "step"):
        raise KeyboardInterrupt
    assert told == [(None, " step"), "closed"]


@pytest.mark.parametrize(("stderr", "total"), [(io.StringIO(), 5), (None, 5), (Terminal(), 0)])
def test_elsewhere_it_does_nothing(monkeypatch, told, stderr, total):
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress_bar(total, "step") as advance:
        advance(1)
    assert told == []


def test_without_tqdm(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress_bar(5, "step") as advance:
        advance(1)
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize(
    ("arguments", "total", "unit"),
    [
        (
            "compare long_gold.csv long_a.csv long_b.csv --ci --standardize --resamples 30",
            2 * 4 * (1_000 + 30),
            "resample",
        ),
        ("test long_gold.csv long_a.csv long_b.csv --resamples 30", 2 * 30, "permutation"),
        ("test long_gold.csv long_a.csv long_b.csv --versus --resamples 30", 30 + 1_000, "resample"),
        ("plot null long_gold.csv long_a.csv --resamples 30 --out null.svg", 30, "permutation"),
        ("leaderboard long_gold.csv long_a.csv long_b.csv --resamples 30", None, "resample"),
    ],
)
def test_the_commands_report_all_their_steps(tmp_path, monkeypatch, told, arguments, total, unit):
    if arguments.startswith("plot"):
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    write_rankings(tmp_path)
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    assert run(*arguments.split(" ")).exit_code == 0
    assert (told[0], told[-1]) == ((total, f" {unit}"), "closed")
    steps = sum(told[1:-1])
    assert steps >= 60 if total is None else steps == total  # intervals and tests of a leaderboard, at least
