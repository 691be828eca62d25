"""The command `ballots`: tokens to ranking by its commands in a row, help with examples, faults in one line."""

import re

import pytest

from adaptive._cli import main as cli
from rankcorr import __version__
from rankcorr._io.table import read_ranking
from tests.adaptive.cli.commands import INIT, rows_of, run_ok, vote

pytestmark = pytest.mark.wide


def test_six_commands_from_tokens_to_a_ranking(folder):
    assert run_ok("pair", "tokens.csv", "--out", "items.csv") == "10 items written to items.csv\n"
    # With 9 presentations all pairs of 10 items are compared, so that a voter who does not err is found out exactly.
    stdout = run_ok(*INIT, "--presentations", 9)
    assert stdout.endswith("\nv.db is made; ballot 1 can be opened.\n")
    for number, n_comparisons in ((1, 45), (2, 23)):
        ballot, votes = folder / f"ballot{number}.csv", folder / f"votes{number}.csv"
        stdout = run_ok("run", "open", "v.db", "--out", ballot.name)
        assert stdout == f"ballot {number}: {n_comparisons} comparisons written to ballot{number}.csv\n"
        vote(ballot, votes, tying=())
        stdout = run_ok("run", "record", "v.db", votes.name)
        assert stdout.startswith(f"{n_comparisons} new votes; ballot {number} of 2 is open: {n_comparisons} of ")
        stdout = run_ok("run", "close", "v.db")
        assert stdout.startswith(f"ballot {number} is closed with {n_comparisons} of {n_comparisons} comparisons")
    assert run_ok("run", "result", "v.db", "--paper", "--out", "ranking.csv") == "10 items written to ranking.csv\n"

    ranking = read_ranking("ranking.csv", id_columns=["item_1", "item_2"], score_column="ybar")
    assert [ranking.labels[place] for place in ranking.ranks.argsort()] == sorted(
        tuple(row.values())[:2] for row in rows_of((folder / "items.csv").read_text())
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "ballot1.csv", "ballot2.csv", "items.csv", "ranking.csv", "tokens.csv", "v.db", "votes1.csv", "votes2.csv"
    ]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        *("", *["pair", "plan", "draw", "score", "fit", "next", "ask", "plot", "simulate", "run"]),
        *(f"run {name}" for name in cli.run.commands),
        *(f"plot {name}" for name in cli.plot.commands),
    ],
)
def test_help_has_an_example(command):
    stdout = run_ok(*command.split(), "-h")
    assert re.search(r"Example.*:\n +ballots " + command, stdout)


def test_version():
    assert run_ok("--version") == f"ballots {__version__}\n"
