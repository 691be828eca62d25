"""The command `ballots`: from tokens to a ranking by successive commands, help with examples, one-line errors."""

import os
import re
import stat

import pytest

from adaptive._cli import main as cli
from rankcorr import __version__
from tests.adaptive.cli.conftest import check_refused, run_ok

pytestmark = pytest.mark.wide


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


def test_the_version_is_printed():
    assert run_ok("--version") == f"ballots {__version__}\n"


def test_a_replaced_file_keeps_its_mode_and_its_links(folder):
    target = folder / "kept.csv"
    target.write_text("old")
    target.chmod(0o640)
    (folder / "link.csv").symlink_to(target)
    run_ok("pair", "tokens.csv", "--out", "link.csv")
    assert (folder / "link.csv").is_symlink()
    assert target.read_text().startswith("item_1,item_2")
    assert target.stat().st_mode & 0o777 == 0o640


def test_out_may_be_a_pipe(folder):
    """The pipe is written to, not replaced by a file."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    try:
        run_ok("pair", "tokens.csv", "--out", "pipe")
        assert os.read(reader, 18) == b"item_1,item_2,area"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


FILES = {
    "v.csv": "voter,left,right,winner\nAnn,fig,kiwi,left\nAnn,fig,plum,left\n",
    "plain.csv": "left,right,winner\nfig,kiwi,left\n",
    "parts.csv": "voter,left_1,left_2,right_1,right_2,winner\nAnn,a,b,c,d,left\n",
    "two.csv": "item\nfig\nkiwi\n",
    "z.csv": "similarity\n0.5\n0.1\n-0.2\n",
}
DRAW_OPTIONS = ("--presentations", 4, "--voters", 3, "--seed", 1)
PLAN = ("plan", "--n-items", 10)
NEXT = ("--size", 4, "--seed", 1)
SIMULATE = ("simulate", "--n-items", 10, "--ballots", 2, "--presentations", 4)
TUNE = ("tune", "--budget", 80, "--voters", 5, "--simulations", 2)


@pytest.mark.usefixtures("open_campaign")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"Missing command; 'ballots --help' lists the options"),
        (["run"], r"Missing command; 'ballots run --help' lists the options"),
        (["pair", "none.csv"], r"none\.csv: cannot be read: No such file"),
        (["pair", "items.csv"], r'items\.csv:1: column "item_1": unknown column'),
        (["pair", "tokens.csv", "--sample", 3], r"--sample and --seed belong together; --seed is missing"),
        (["pair", "tokens.csv", "--seed", 3], r"belong together; --sample is missing"),
        (["pair", "tokens.csv", "--out", "none/items.csv"], r"none/items\.csv: cannot be written: No such file"),
        (["pair", "tokens.csv", "--out", "."], r"\.: cannot be written: Is a directory"),
        (["plan", "--presentations", 4], r"give exactly one of --n-items and --items; got none"),
        ([*PLAN, "--items", "items.csv", "--top", 4], r"give exactly one of --n-items and --items; got both"),
        ([*PLAN], r"exactly one of --presentations, --budget, --hours, --euros, --top is needed; got none"),
        ([*PLAN, "--top", 9, "--budget", 9], r"is needed; got --budget and --top"),
        ([*PLAN, "--presentations", 4, "--ballots", 7], r"at least two items; ballot 4 would have 1"),
        ([*PLAN, "--hours", 3, "--ballots", 2], r"--hours needs --seconds"),
        ([*PLAN, "--euros", 3], r"--euros needs the pay: --pay with --seconds, or --pay-per-vote"),
        ([*PLAN, "--euros", 3, "--pay", 12], r"--pay needs --seconds"),
        ([*PLAN, "--euros", 3, "--pay", 12, "--pay-per-vote", 1], r"give either --pay or --pay-per-vote; got both"),
        ([*PLAN, "--top", 3, "--fee", 0.1], r"--fee and --currency require --pay or --pay-per-vote"),
        ([*PLAN, "--top", 3, "--batch", 3], r"--batch, --target and --set-size require --continuous"),
        ([*PLAN, "--top", 3, "--continuous"], r"--continuous does not take --presentations or --top"),
        ([*PLAN, "--continuous"], r"exactly one of --budget, --hours, --euros is needed; got none"),
        (["draw", "tokens.csv", *DRAW_OPTIONS], r'tokens\.csv:1: add a first line "item"'),
        (["score", "-", "-"], r"can be given only once"),
        (["score", "ballot.csv"], r"ballot\.csv: every item needs an answered comparison .* \(10 in all\)"),
        (["fit", "v.csv", "--answers", "A"], r"'A' is not of the form NAME=MEANING,NAME=MEANING, or left_won, or co"),
        (["fit", "v.csv", "--answers", "A=left,A=tie"], r"'A' is listed twice"),
        (["fit", "v.csv", "--columns", "loser=a"], r"--columns: unknown role 'loser'; use left, right, winner, "),
        (["fit", "v.csv", "v.csv"], r"each file can be given only once; repeated: v\.csv"),
        (["fit", "v.csv", "plain.csv"], r"name voters in all files or in none; without voters: plain\.csv"),
        (["fit", "v.csv", "parts.csv"], r"items must have the same number of columns"),
        (["fit", "v.csv", "--json", "--out", "x"], r"give --json or --out, not both"),
        (["fit", "v.csv", "--items", "two.csv"], r"v\.csv:3: .*'plum'"),
        (["next", *NEXT], r"give a file of votes, or start from items alone with --items"),
        (["next", "v.csv", *NEXT, "--voter", "A", "--voter", "A"], r"each --voter must be different; A is repeated"),
        (["next", "v.csv", *NEXT, "--voter", " A"], r"--voter must be one line of text without spaces around it"),
        (["next", "plain.csv", *NEXT, "--voter", "A"], r"--voter needs a column of voters, which the votes lack"),
        (["simulate", "--top", 4], r"give --n-items, unless --similarity is a file"),
        ([*SIMULATE, "--similarity", "exponental"], r"one of exponential, power_law, embedding, or a file; got 'exp"),
        ([*SIMULATE, "--similarity", "z.csv"], r"--n-items is 10, but z\.csv has 3 similarities"),
        ([*TUNE, "--pilot", "none.csv"], r"none\.csv"),
        (["score", "votes.csv", "--json", "--out", "x"], r"give --json or --out, not both"),
        ([*TUNE, "--n-items", 10, "--similarity", "expo"], r"--similarity must be one of exponential"),
    ],
)
def test_invalid_arguments_are_refused(folder, arguments, message):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    check_refused(arguments, message)
