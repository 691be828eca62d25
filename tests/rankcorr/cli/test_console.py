import io
import sys

import pytest

from rankcorr._cli.console import progress_bar
from tests.rankcorr.cli.conftest import run, write_rankings


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Bar:
    """Replaces tqdm, and records its calls."""

    calls = []  # noqa: RUF012 - all bars share one list

    def __init__(self, *, desc, total, unit, leave, delay):
        self.calls.append((desc, total, unit))
        assert leave is False
        assert delay > 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.calls.append("closed")

    def update(self, n):
        self.calls.append(n)


@pytest.fixture
def bar_calls(monkeypatch):
    Bar.calls.clear()
    monkeypatch.setattr("tqdm.tqdm", Bar)
    return Bar.calls


@pytest.mark.parametrize(
    ("stderr", "total", "expected"),
    [
        (Terminal(), 5, [("work", 5, " step"), 2, 3, "closed"]),
        (io.StringIO(), 5, []),
        (None, 5, []),
        (Terminal(), 0, []),
    ],
)
def test_a_progress_bar_advances_on_a_terminal_if_there_are_steps(monkeypatch, bar_calls, stderr, total, expected):
    monkeypatch.setattr(sys, "stderr", stderr)
    with progress_bar(total, "step", "work") as advance:
        advance(2)
        advance(3)
    assert bar_calls == expected


def test_an_error_closes_the_progress_bar(monkeypatch, bar_calls):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(KeyboardInterrupt), progress_bar(None, "step", "work"):
        raise KeyboardInterrupt
    assert bar_calls == [("work", None, " step"), "closed"]


def test_there_is_no_progress_bar_without_tqdm(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", None)
    with progress_bar(5, "step", "work") as advance:
        advance(1)
    assert sys.stderr.getvalue() == ""


LISTS = "long_gold.csv long_a.csv long_b.csv"


@pytest.mark.parametrize(
    ("arguments", "of", "total", "unit"),
    [
        (f"compare {LISTS} --ci --standardize --resamples 40", "coefficients", 2 * 4 * (40 + 40), "resample"),
        (f"test {LISTS} --resamples 30", "tests against chance", 2 * 30, "permutation"),
        (f"test {LISTS} --versus --resamples 30", "tests against long_a.csv", 30, "swap"),
        ("plot null long_gold.csv long_a.csv --resamples 30 --out null.svg", "values by chance", 30, "permutation"),
        (f"leaderboard {LISTS} --resamples 40", "leaderboard", None, "resample"),
    ],
)
def test_the_commands_report_all_their_steps(tmp_path, monkeypatch, bar_calls, arguments, of, total, unit):
    if arguments.startswith("plot"):
        pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    write_rankings()
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    assert run(*arguments.split(" ")).exit_code == 0
    assert (bar_calls[0], bar_calls[-1]) == ((of, total, f" {unit}"), "closed")
    steps = sum(bar_calls[1:-1])
    assert steps >= 60 if total is None else steps == total  # intervals and tests of a leaderboard, at least
