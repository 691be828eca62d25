"""`rankcorr weights`: shares and offsets against the library's, and one line for every fault."""

import json
import math

import pytest
from numpy.testing import assert_allclose

from rankcorr import first_rank_share, offset_for_share, top_share
from tests.rankcorr.cli.commands import run_ok


def test_weights_prints_the_shares():
    assert run_ok("weights", "--n0", 2, "--top", 3).splitlines() == [
        "R(2) = 0.281341 (endless list)",
        "",
        "rank    weight  cumulative",
        # psi1(3) = pi^2/6 - 5/4, and the weights are 1/9, 1/16, 1/25 of 1/psi1(3).
        *(
            f"{rank}     {1 / (rank + 2) ** 2 / (math.pi**2 / 6 - 1.25):.6f}    {total / (math.pi**2 / 6 - 1.25):.6f}"
            for rank, total in [(1, 1 / 9), (2, 1 / 9 + 1 / 16), (3, 1 / 9 + 1 / 16 + 1 / 25)]
        ),
    ]
    assert run_ok("weights").splitlines()[0] == "R(2) = 0.281341 (endless list)"
    assert len(run_ok("weights").splitlines()) == 13
    assert "\n1     1.0000e-08  1.0000e-08\n" in run_ok("weights", "--n0", 1e8, "--top", 2)


@pytest.mark.parametrize(("n0", "n_items"), [(0, None), (-0.9, 7), (5, 1), (1e8, 100)])
def test_weights_sum_to_the_cumulative_shares(n0, n_items):
    sizes = [] if n_items is None else ["--n-items", n_items]
    document = json.loads(run_ok("weights", "--n0", n0, "--json", *sizes))
    rows = document.pop("ranks")
    share = first_rank_share(n0, n_items)
    assert document == {"n0": n0, "first_rank_share": share, "share": None, "k": None, "n_items": n_items}
    assert [row["rank"] for row in rows] == list(range(1, min(10, n_items or 10) + 1))
    assert rows[0]["weight"] == share
    for position, row in enumerate(rows, 1):
        assert row["cumulative_share"] == top_share(position, n0, n_items)
        assert_allclose(row["cumulative_share"], math.fsum(r["weight"] for r in rows[:position]), rtol=1e-12)


def test_weights_solves_for_the_offset():
    lines = run_ok("weights", "--share", 0.3, "--top", 1).splitlines()
    assert lines[0] == f"n0 = {offset_for_share(0.3):.10g} (share of the first rank: 0.3)"
    assert lines[1].endswith(" = 0.300000 (endless list)")
    arguments = ["--share", 0.8, "--k", 10, "--n-items", 990]
    assert "(share of the first 10 ranks: 0.8)\n" in run_ok("weights", *arguments)
    document = json.loads(run_ok("weights", *arguments, "--json"))
    assert document["n0"] == offset_for_share(0.8, 10, 990)
    assert (document["share"], document["k"], document["n_items"]) == (0.8, 10, 990)
