"""What the commands refuse, each in one line; their files stay as they were. An error of the library is here once."""

import pytest

from tests.adaptive.cli.commands import check_refused

pytestmark = pytest.mark.wide

FILES = {
    "v.csv": "voter,left,right,winner\nAnn,fig,kiwi,left\nAnn,fig,plum,left\n",
    "plain.csv": "left,right,winner\nfig,kiwi,left\n",
    "parts.csv": "voter,left_1,left_2,right_1,right_2,winner\nAnn,a,b,c,d,left\n",
    "up.csv": "left,right,winner\nfig,kiwi,up\n",
    "two.csv": "item\nfig\nkiwi\n",
    "z.csv": "similarity\n0.5\n0.1\n-0.2\n",
}
DRAWN = ("--presentations", 4, "--voters", 3, "--seed", 1)
PLAN = ("plan", "--n-items", 10)
NEXT = ("--size", 4, "--seed", 1)
SIMULATE = ("simulate", "--n-items", 10, "--ballots", 2, "--presentations", 4)
TUNE = ("tune", "--budget", 80, "--voters", 5, "--simulations", 2)


@pytest.mark.usefixtures("opened")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], r"Missing command; 'ballots --help' lists the options"),
        (["run"], r"Missing command; 'ballots run --help' lists the options"),
        (["table9"], r"No such command 'table9'"),
        (["pair", "none.csv"], r"none\.csv: cannot be read: No such file"),
        (["pair", "items.csv"], r'items\.csv:1: column "item_1": unknown column'),
        (["pair", "tokens.csv", "--sample", 3], r"--sample and --seed belong together; --seed is missing"),
        (["pair", "tokens.csv", "--seed", 3], r"belong together; --sample is missing"),
        (["pair", "tokens.csv", "--out", "none/items.csv"], r"none/items\.csv: cannot be written: No such file"),
        (["pair", "tokens.csv", "--out", "."], r"\.: cannot be written: Is a directory"),
        (["pair", "tokens.csv", "--out", 300 * "x"], "x{300}: cannot be written: File name too long"),
        (["plan", "--presentations", 4], r"give exactly one of --n-items and --items; got none"),
        ([*PLAN, "--items", "items.csv", "--top", 4], r"give exactly one of --n-items and --items; got both"),
        ([*PLAN], r"exactly one of --presentations, --budget, --hours, --euros, --top is needed; got none"),
        ([*PLAN, "--top", 9, "--budget", 9], r"is needed; got --budget and --top"),
        ([*PLAN, "--presentations", 4, "--ballots", 7], r"every ballot needs two items; ballot 4 would have 1"),
        ([*PLAN, "--hours", 3, "--ballots", 2], r"--hours needs --seconds"),
        ([*PLAN, "--euros", 3], r"--euros needs the pay: --pay with --seconds, or --pay-per-vote"),
        ([*PLAN, "--euros", 3, "--pay", 12], r"--pay needs --seconds"),
        ([*PLAN, "--euros", 3, "--pay", 12, "--pay-per-vote", 1], r"give either --pay or --pay-per-vote; got both"),
        ([*PLAN, "--top", 3, "--fee", 0.1], r"--fee and --currency require --pay or --pay-per-vote"),
        ([*PLAN, "--top", 3, "--batch", 3], r"--batch and --target require --continuous"),
        ([*PLAN, "--top", 3, "--continuous"], r"--continuous does not take --presentations or --top"),
        ([*PLAN, "--continuous"], r"exactly one of --budget, --hours, --euros is needed; got none"),
        (["draw", "tokens.csv", *DRAWN], r'tokens\.csv:1: add a first line "item"'),
        (["score", "-", "-"], r"can be given only once"),
        (["score", "items.csv"], r'items\.csv:1: the columns left, right and winner, .* are expected; got "item_1"'),
        (["score", "ballot.csv"], r"ballot\.csv: every item needs an answered comparison .* \(10 in all\)"),
        (["score", "votes.csv", "--json", "--out", "x"], r"--json and --out exclude each other"),
        (["fit", "v.csv", "--answers", "A"], r"'A' is not of the form NAME=MEANING,NAME=MEANING, or left_won, or co"),
        (["fit", "v.csv", "--answers", "A=left,A=tie"], r"'A' comes twice"),
        (["fit", "v.csv", "--columns", "loser=a"], r"--columns names those of left, right, winner, voter; got 'loser'"),
        (["fit", "up.csv"], r"got 'up'\. The option answers says what other answers mean"),
        (["fit"], r"Missing argument 'VOTES\.\.\.'"),
        (["fit", "v.csv", "v.csv"], r"each file counts once; got v\.csv twice"),
        (["fit", "v.csv", "plain.csv"], r"either all votes have a voter or none; without voters: plain\.csv"),
        (["fit", "v.csv", "parts.csv"], r"the items of the files differ in their number of parts"),
        (["fit", "v.csv", "--json", "--out", "x"], r"--json and --out exclude each other"),
        (["fit", "v.csv", "--items", "two.csv"], r"v\.csv:3: .*'plum'"),
        (["next", *NEXT], r"give a file of votes, or --items"),
        (["next", "v.csv", *NEXT, "--voter", "A", "--voter", "A"], r"names each voter once; got A twice"),
        (["next", "v.csv", *NEXT, "--voter", " A"], r"a name in one line, without spaces around it"),
        (["next", "plain.csv", *NEXT, "--voter", "A"], r"--voter needs votes whose voters are known"),
        (["simulate", "--top", 4], r"give --n-items, unless --similarity is a file"),
        ([*SIMULATE, "--similarity", "exponental"], r"one of exponential, power_law, embedding, or a file; got 'exp"),
        ([*SIMULATE, "--similarity", "tokens.csv"], r'tokens\.csv:1: one column "similarity" is expected'),
        ([*SIMULATE, "--similarity", "z.csv"], r"--n-items is 10, but z\.csv has 3 similarities"),
        ([*SIMULATE, "--approach", "best"], r"Invalid value for '--approach': 'best' is not one of 'adap"),
        (TUNE, r"give --n-items, unless --similarity is a file"),
        ([*TUNE, "--n-items", 10, "--similarity", "expo"], r"--similarity must be one of exponential"),
        ([*TUNE, "--pilot", "none.csv"], r"none\.csv"),
    ],
)
def test_refused(folder, arguments, message):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    check_refused(arguments, message)
