"""What a leaderboard holds, as JSON, as a table and in a line."""

import json

import numpy as np
import pytest

from rankcorr.inference._gold_sets import COLUMNS, TOTALS
from rankcorr.inference._leaderboard import leaderboard
from tests.rankcorr.inference.cases import data


def test_ranked_by_one_gold_set():
    gold, systems = data()
    for index, name in enumerate(gold):
        board = leaderboard(gold, systems, by=name, n_resamples=100)
        statistics = [row.scores[index].statistic for row in board.rows]
        assert statistics == sorted(statistics, reverse=True)
        assert board.table()[0]["low"] == board.rows[0].scores[index].low


def test_json_and_table():
    gold, systems = data(noise={"good": 0.2, "poor": 5.0})
    board = leaderboard(gold, systems, n_resamples=100)
    content = json.loads(json.dumps(board.to_dict(), allow_nan=False))
    assert content == board.to_dict()
    assert content["rows"][0]["pvalue"] is None
    assert content["rows"][0]["scores"]["set 1"]["n_items"] == 30
    assert (content["coefficient"], content["by"], content["gold_sets"]) == ("tau_w", "sum", ["set 0", "set 1"])
    first = board.table()[0]
    scored = ["rank", "group", "least_rank", "largest_rank", "system", "set 0", "set 1", "sum", "mean"]
    assert list(first) == [*scored, "low", "high", "pvalue", "corrected_pvalue", "n_missing"]
    assert {*first} - {*gold} == {*COLUMNS, *TOTALS}
    assert first["system"] == "good"
    assert first["low"] < first["sum"] < first["high"]


@pytest.mark.needs_numba
def test_repr_is_short():
    gold, systems = data(noise={f"system {i}": 0.1 * i + 0.1 for i in range(7)})
    board = leaderboard(gold, systems, n_resamples=200)
    assert repr(board).startswith("<Leaderboard of 7 systems, tau_w, 2 gold sets, by sum: system ")
    assert repr(board).endswith(", ...>")
    assert len(repr(board)) < 200
    alone = leaderboard(gold["set 0"], {"s": {k: systems["system 0"][k] for k in gold["set 0"]}}, n_resamples=10)
    assert "1 systems" not in repr(alone)
    assert "1 gold set, by sum: s " in repr(alone)


def test_ranked_by_the_mean():
    gold, systems = data(sizes=(20, 25))
    summed, board = (leaderboard(gold, systems, by=by, n_resamples=100) for by in ("sum", "mean"))
    for row, other in zip(board.rows, summed.rows, strict=True):
        assert row == other
        assert (row.mean.statistic, row.mean.low) == (row.total.statistic / 2, row.total.low / 2)
    assert f"by mean: {board.rows[0].system} {board.rows[0].mean.statistic:.3f}, " in repr(board)
    assert board.table()[0]["high"] == board.rows[0].mean.high
    assert (board.by, board.unit, board.standardized) == ("mean", "items", False)


@pytest.mark.parametrize("swap", ["scores", "ranks"])
def test_equal_systems_have_equal_results(swap):
    differing = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        gold = rng.normal(size=20)
        good, fair, poor = (gold + noise * rng.normal(size=20) for noise in (0.5, 1.0, 1.5))
        systems = {"good": good, "poor": poor, "good again": good.copy(), "fair": fair, "poor again": poor.copy()}
        board = leaderboard(gold, systems, swap=swap, level=0.8, n_resamples=99, workers=1)
        rows = {row.system: row for row in board.rows}
        for name in ("good", "poor"):
            one, twin = rows[name], rows[f"{name} again"]
            fields = ["rank", "least_rank", "largest_rank", "total"]
            if board.rows[0] is not one:
                fields += ["pvalue", "corrected_pvalue"]
            differing |= {field for field in fields if repr(getattr(one, field)) != repr(getattr(twin, field))}
    assert not differing


def test_the_order_of_systems_does_not_matter():
    rng = np.random.default_rng(1)
    gold = dict(zip("abcdefghijklmn", rng.normal(size=14), strict=True))
    systems = {
        f"system {extra}": {label: score + rng.normal() for label, score in gold.items()} | {extra: rng.normal()}
        for extra in ("x", "z", "y", "w")
    }
    turned = dict(reversed(systems.items()))
    for missing in ("bottom", "gold", "intersection"):
        options = {"missing": missing, "n_resamples": 99, "workers": 1}
        boards = [leaderboard(gold, board_systems, **options).to_dict() for board_systems in (systems, turned)]
        assert boards[0] == boards[1]
