"""The command `ballots pair`: items as the library pairs them."""

import pytest

from tests.adaptive.cli.commands import TOKENS, invoke, run_ok

pytestmark = pytest.mark.wide


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
