"""The command `ballots draw`: the ballot of the library as a table."""

import numpy as np
import pytest

from adaptive._draw import draw_ballot
from tests.adaptive.cli.commands import rows_of, run_ok

pytestmark = pytest.mark.wide


def test_draw_is_that_of_the_library(items):
    rows = rows_of(run_ok("draw", "items.csv", "--presentations", 4, "--voters", 3, "--seed", 7))
    pairs = [(row["item_1"], row["item_2"]) for row in rows_of(items.read_text())]
    ballot = draw_ballot(pairs, 4, 3, np.random.default_rng(7))
    assert list(rows[0]) == ["comparison", "voter", "left_1", "left_2", "right_1", "right_2", "winner"]
    found = sorted((int(row["comparison"].removeprefix("1-")), *list(row.values())[1:]) for row in rows)
    columns = zip(ballot.voter.tolist(), ballot.left.tolist(), ballot.right.tolist(), strict=True)
    assert found == [
        (index, str(voter), *ballot.items[left], *ballot.items[right], "")
        for index, (voter, left, right) in enumerate(columns)
    ]
    one = ("--presentations", 1, "--voters", 1, "--seed", 0, "--out", "b.csv")
    assert run_ok("draw", "-", *one, stdin="item\na\nb\n") == "1 comparisons written to b.csv\n"
