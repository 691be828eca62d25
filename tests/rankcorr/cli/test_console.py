import io
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from rankcorr._cli import console
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


@dataclass(frozen=True)
class Look:
    wide_margin: bool = console.flag_option("Leave room.")
    ink: Any = console.choice_option(("black", "blue"), "Colour.")
    paper: str | None = console.text_option("SIZE", "Paper.")


@console.command("draw")
def draw(
    file: str = console.argument(),
    look: Look = console.options_of(Look, "paper"),
    line: dict[str, Any] = console.options_of(dict, width=console.option(type=int, default=2), dash=console.option()),
    points: tuple[str, ...] = console.several_option("--point", "X", "A point."),
) -> None:
    print(file, look, line, points)


def test_defaults_of_parameters_make_the_options_of_a_command():
    answer = CliRunner().invoke(draw, ["a", "--wide-margin", "--ink", "blue", "--point", "1", "--point", "2"])
    look = Look(wide_margin=True, ink="blue", paper=None)
    assert answer.output == f"a {look} {{'width': 2, 'dash': None}} ('1', '2')\n"
    answer = CliRunner().invoke(draw, ["a", "--paper", "A4"])
    assert (answer.exit_code, "--paper" in answer.output) == (2, True)


def test_a_command_has_its_options_in_the_order_of_its_parameters():
    assert [parameter.name for parameter in draw.params] == ["file", "wide_margin", "ink", "width", "dash", "points"]
    assert "--width INTEGER     [default: 2]" in CliRunner().invoke(draw, ["--help"]).output
