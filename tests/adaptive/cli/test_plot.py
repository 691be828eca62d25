"""`ballots plot`: the figures are those of `adaptive.plots`, and what cannot be drawn is one line."""

import re

import pytest

from adaptive import bradley_terry, read_comparisons, thurstone
from adaptive.plots import agreement, plot_in_top, plot_strengths, plot_voters, save_figure
from tests.adaptive.cli.commands import invoke, refusal
from tests.adaptive.plots.test_figures import votes_of
from tests.rankcorr.plots.conftest import matplotlib  # noqa: F401

pytestmark = pytest.mark.wide


@pytest.fixture
def votes(folder):
    (folder / "v.csv").write_text(votes_of(12).to_csv())
    return read_comparisons("v.csv")


def voters_of(strengths, level=0.9, top=50):
    what = f"Votes that agree with the common order, with a {100 * level:g} % interval"
    shares = agreement(strengths, level=level)
    return plot_voters(shares, quantity=what, reference=(0.5, "answers at random"), top=top)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("strengths", lambda votes: plot_strengths(bradley_terry(votes))),
        (
            "strengths --top 3 --level 0.5 --model thurstone --prior 2",
            lambda votes: plot_strengths(thurstone(votes, prior=2), top=3, level=0.5),
        ),
        ("strengths --scale rank", lambda votes: plot_strengths(bradley_terry(votes), scale="rank")),
        ("top --k 3", lambda votes: plot_in_top(bradley_terry(votes), 3)),
        (
            "top --k 3 --top 5 --seed 2 --voters",
            lambda votes: plot_in_top(bradley_terry(votes, voters=True), 3, top=5, seed=2),
        ),
        ("voters", lambda votes: voters_of(bradley_terry(votes))),
        ("voters --top 2 --level 0.5", lambda votes: voters_of(bradley_terry(votes), level=0.5, top=2)),
    ],
)
def test_figures_are_those_of_the_library(votes, folder, arguments, expected):
    command, *options = arguments.split()
    result = invoke("plot", command, "v.csv", *options, "--out", "f.svg")
    assert (result.exit_code, result.stdout) == (0, "f.svg\n")
    reference = save_figure(expected(votes), folder / "expected.svg")
    assert (folder / "f.svg").read_bytes() == reference.read_bytes()


@pytest.mark.parametrize("command", [["strengths", "--scale", "rank"], ["top", "--k", "3", "--seed", "2"]])
@pytest.mark.usefixtures("votes")
def test_draws_advance_a_progress_bar(command, bars):
    assert invoke("plot", command[0], "v.csv", *command[1:], "--out", "f.svg").exit_code == 0
    assert (bars.asked, sum(bars.steps)) == ([(1_000, "draw")], 1_000)


def test_what_to_know_of_the_fit_is_noted(folder):
    (folder / "v.csv").write_text("left,right,winner\ngnu,\u4e00,left\n")
    result = invoke("plot", "strengths", "v.csv", "--out", "f.png")
    assert (result.exit_code, result.stdout) == (0, "f.png\n")
    lines = [line.removeprefix("ballots: note: ") for line in result.stderr.splitlines()]
    assert lines[1:] == list(bradley_terry(read_comparisons("v.csv")).warnings)
    assert lines[0].startswith("Glyph 19968")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["strengths", "v.csv"], r"Missing option '--out'"),
        (["strengths", "v.csv", "--out", "f.jpg"], r"'f\.jpg' must end with \.png, \.svg or \.pdf"),
        (["strengths", "v.csv", "--out", "no/f.png"], r"no/f\.png: cannot be written: there is no folder no"),
        (["strengths", "v.csv", "--out", "f.png", "--model", "borda"], r"'borda' is not one of"),
        (["top", "v.csv", "--out", "f.png"], r"Missing option '--k'"),
        (["voters", "plain.csv", "--out", "f.png"], r"the voters of these votes are not known"),
    ],
)
@pytest.mark.usefixtures("votes")
def test_refused(folder, arguments, message):
    (folder / "plain.csv").write_text("left,right,winner\na,b,left\n")
    assert re.search(message, refusal("plot", *arguments))


@pytest.mark.usefixtures("votes", "without_matplotlib")
def test_without_matplotlib():
    message = refusal("plot", "top", "v.csv", "--k", 2, "--out", "f.png")
    assert message == "figures need matplotlib: pip install matplotlib"
