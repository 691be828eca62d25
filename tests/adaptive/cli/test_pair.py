"""The command `ballots pair`: items as the library pairs them, and what it refuses."""

import pytest

from tests.adaptive.cli.commands import TOKENS, check_refused, invoke, run_ok


def test_pair_prints_items():
    table = run_ok("pair", "tokens.csv").splitlines()
    assert table[:2] == ["item_1,item_2,area", "tax,wage,work"]
    assert len(table) == 11
    assert run_ok("pair", "-", "--out", "-", stdin=TOKENS).splitlines() == table


def test_pair_samples():
    arguments = ("pair", "tokens.csv", "--sample", 3, "--seed", 2)
    sample = run_ok(*arguments)
    assert len(sample.splitlines()) == 4
    assert sample == run_ok(*arguments)
    assert run_ok(*arguments, "--out", "items.csv") == "3 of 10 items written to items.csv\n"


def test_pair_across_areas_and_the_note_on_rare_tokens():
    tokens = "token,area,frequency\na,x,5\nb,y,5\n"
    result = invoke("pair", "-", "--across-areas", stdin=tokens)
    assert (result.exit_code, result.stdout) == (0, "item_1,item_2,area,rare\na,b,,no\n")
    assert result.stderr.startswith("ballots: note: 0 of 2 tokens are rare")


@pytest.mark.usefixtures("items")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pair", "none.csv"], r"none\.csv: cannot be read: No such file"),
        (["pair", "items.csv"], r'items\.csv:1: column "item_1": unknown column'),
        (["pair", "tokens.csv", "--sample", 3], r"--sample and --seed belong together; --seed is missing"),
        (["pair", "tokens.csv", "--seed", 3], r"belong together; --sample is missing"),
        (["pair", "tokens.csv", "--out", "none/items.csv"], r"none/items\.csv: cannot be written: No such file"),
        (["pair", "tokens.csv", "--out", "."], r"\.: cannot be written: it is a folder"),
    ],
)
def test_refused(arguments, message):
    check_refused(arguments, message)
