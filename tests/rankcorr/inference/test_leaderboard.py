"""Leaderboards: coefficients, intervals, tests and groups of systems."""

import json
import math
import warnings
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations
from multiprocessing import get_context

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from rankcorr import (
    LabelError,
    OptionError,
    Ranking,
    StandardizationError,
    Tau,
    TauW,
    TooFewItemsError,
    TopK,
    UndefinedCorrelationWarning,
    weighted_rho,
    weighted_tau,
)
from rankcorr._checks import collected_notices
from rankcorr._coefficients import named_coefficient
from rankcorr._output.results import json_ready
from rankcorr._workers import Draws
from rankcorr.inference._gold_sets import COLUMNS, TOTALS, align_systems, group_items, name_systems, read_gold_sets
from rankcorr.inference._joint_test import JointTest, RankedSystem
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._null import null_distribution
from rankcorr.inference._system_comparison import compare_many, compare_systems
from tests import naive
from tests.rankcorr.inference.cases import by_name, gold_and_systems
from tests.results import with_coefficient


@pytest.mark.parametrize(("coefficient", "function"), [("tau_w", weighted_tau), ("rho_w", weighted_rho)])
def test_scores_are_coefficients_and_the_total_is_their_sum(coefficient, function):
    gold, systems = gold_and_systems()
    board = leaderboard(gold, systems, coefficient=named_coefficient(coefficient, n0=5), n_resamples=100)
    assert board.gold_sets == ("set 0", "set 1")
    for name, row in by_name(board).items():
        system_scores = ({label: systems[name][label] for label in scores} for scores in gold.values())
        expected = [function(*pair, n0=5).statistic for pair in zip(gold.values(), system_scores, strict=True)]
        assert_allclose([score.statistic for score in row.scores], expected, rtol=0, atol=1e-14)
        assert_allclose(row.total.statistic, sum(expected), rtol=0, atol=1e-14)
        assert [score.n_items for score in row.scores] == [40, 30]
        assert (row.total.n_items, row.total.n_missing, row.n_unused) == (70, 0, 0)
        for score in (*row.scores, row.total):
            assert score.low < score.statistic < score.high
    statistics = [row.total.statistic for row in board.rows]
    assert statistics == sorted(statistics, reverse=True)
    assert [row.rank for row in board.rows] == [1, 2, 3, 4]
    assert (board.n_items, board.n0, board.by, board.n_resamples, board.level) == (70, 5, "sum", 100, 0.95)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_intervals_of_the_sum_add_up_variances():
    gold, systems = gold_and_systems(sizes=(200, 150, 100))
    board = leaderboard(gold, systems, coefficient="tau", n_resamples=2_000)
    for row in board.rows:
        widths = [score.high - score.low for score in row.scores]
        # The squared distances of the ends from the sum add up, on each side.
        lengths = [
            math.hypot(*(score.statistic - score.low for score in row.scores)),
            math.hypot(*(score.high - score.statistic for score in row.scores)),
        ]
        assert_allclose(row.total.high - row.total.low, sum(lengths), rtol=1e-12)
        assert max(widths) < sum(lengths) < sum(widths)


@pytest.mark.needs_numba
def test_gold_sets_of_equal_size_have_different_draws():
    gold, systems = gold_and_systems(sizes=(100,))
    twice = {"one": gold["set 0"], "two": {f"again {label}": value for label, value in gold["set 0"].items()}}
    both = {name: scores | {f"again {k}": v for k, v in scores.items()} for name, scores in systems.items()}
    for row in leaderboard(twice, both, coefficient="tau", n_resamples=1_000).rows:
        one, two = (score.high - score.low for score in row.scores)
        assert one != two


@pytest.mark.parametrize("swap", ["scores", "ranks"])
@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_those_of_the_paired_test(swap, seed):
    gold, systems = gold_and_systems(sizes=(9,), seed=seed)
    systems = {name: {label: round(score) for label, score in row.items()} for name, row in systems.items()}
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        board = leaderboard(gold, systems, swap=swap, n_resamples=100)
        best, *others = board.rows
        assert math.isnan(best.pvalue)
        assert math.isnan(best.corrected_pvalue)
        # With nine items, both enumerate all swaps.
        for row in others:
            pair = systems[best.system], systems[row.system]
            assert row.pvalue == compare_systems(gold["set 0"], *pair, swap=swap, n_resamples=10).pvalue
            assert row.corrected_pvalue >= row.pvalue


@pytest.mark.needs_numba
def test_scores_are_exchanged_if_they_share_a_scale_in_each_gold_set():
    gold, systems = gold_and_systems(sizes=(30, 30), noise={"a": 0.5, "b": 0.6, "c": 0.7})
    assert leaderboard(gold, systems, n_resamples=60).swap == "scores"
    # One system is on another scale, but only in the second gold set.
    shifted = {label: score + 9 * label.startswith("1") for label, score in systems["c"].items()}
    board = leaderboard(gold, systems | {"c": shifted}, n_resamples=60)
    assert board.swap == "ranks"
    assert [row.swap for row in board.rows] == [None, "scores", "ranks"]
    assert board.rows[2] == leaderboard(gold, systems | {"c": shifted}, swap="ranks", n_resamples=60).rows[2]
    ranking = Ranking.from_ranks({label: -score for label, score in systems["c"].items()})
    assert leaderboard(gold, systems | {"c": ranking}, n_resamples=60).swap == "ranks"


def test_swaps_of_two_gold_sets_by_hand():
    gold, systems = gold_and_systems(sizes=(3, 4), seed=1, noise={"a": 0.1, "b": 3.0})
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        board = leaderboard(gold, systems, coefficient="tau", swap="scores", n_resamples=50)
        assert board.swap == "scores"
        numbers = [
            [np.array([systems[row.system][label] for label in scores]) for row in board.rows]
            for scores in gold.values()
        ]
        golds = [list(scores.values()) for scores in gold.values()]

        def value(scores, others):
            return weighted_tau(scores, others, weigher=lambda rank: rank**0).statistic

        differences = []
        for code in range(2**7):
            swap = np.array([code >> item & 1 for item in range(7)], bool)
            total = 0.0
            for scores, (a, b), part in zip(golds, numbers, (swap[:3], swap[3:]), strict=True):
                total += value(scores, np.where(part, b, a)) - value(scores, np.where(part, a, b))
            differences.append(total)
    # Undefined swaps count as extreme.
    expected = np.mean([not abs(total) < abs(differences[0]) - 1e-9 for total in differences])
    assert board.rows[1].pvalue == board.rows[1].corrected_pvalue == expected


@pytest.mark.wide
@pytest.mark.needs_numba
def test_the_answer_does_not_depend_on_the_executor():
    gold, systems = gold_and_systems()
    options = {"n_resamples": 1_000, "coefficient": "rho_w"}
    expected = leaderboard(gold, systems, **options).to_dict()
    steps = []
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        board = leaderboard(gold, systems, **options, executor=executor, progress=steps.append)
    assert board.to_dict() == expected
    assert sum(steps) > 0
    assert sum(steps) % 1_000 == 0


def test_invalid_executors_are_refused():
    gold, systems = gold_and_systems()
    with pytest.raises(OptionError, match=r"executor must be a concurrent.futures.Executor; got 2"):
        leaderboard(gold, systems, executor=2)


@pytest.mark.needs_numba
def test_the_steps_before_resampling_and_each_pair_of_a_test_can_be_stopped():
    gold, systems = gold_and_systems(sizes=(8, 7))
    calls = []
    leaderboard(gold, systems, n_resamples=100, workers=1, progress=calls.append)
    assert next(i for i, call in enumerate(calls) if call) >= len(gold) * len(systems)  # one call for each aligned pair
    assert calls.count(0) >= 3 * len(systems)

    class StoppedError(Exception):
        pass

    for allowed in range(len(calls)):
        left = iter(range(allowed))

        def stop(_n_steps, left=left):
            if next(left, None) is None:
                raise StoppedError

        with pytest.raises(StoppedError):
            leaderboard(gold, systems, n_resamples=100, workers=1, progress=stop)


def test_an_undefined_system_comes_last_without_a_p_value():
    gold, systems = gold_and_systems(noise={"good": 0.2, "poor": 5.0})
    constant = dict.fromkeys(systems["good"], 1.0)
    with pytest.warns(UndefinedCorrelationWarning, match=r"\(system, gold set\): \('flat', 'set 0'\)") as caught:
        board = leaderboard(gold, {"flat": constant} | systems, n_resamples=100)
    assert [row.system for row in board.rows] == ["good", "poor", "flat"]
    last = board.rows[-1]
    assert last.group is None
    assert np.isnan([last.rank, last.pvalue, last.corrected_pvalue, last.total.statistic, last.total.low]).all()
    assert board.rows[1].corrected_pvalue == board.rows[1].pvalue  # only one test exists
    assert caught[0].filename == __file__
    with pytest.warns(UndefinedCorrelationWarning):
        alone = leaderboard(gold, {"flat": constant}, n_resamples=100)
    assert [(row.system, row.group) for row in alone.rows] == [("flat", None)]


def test_undefined_resamples_are_counted():
    gold, systems = {"a": 1, "b": 1, "c": 2}, {"x": {"a": 1, "b": 1, "c": 2}}  # a half may have only a and b
    message = r"in up to \d+ of 100 resamples, which are left out; "
    with pytest.warns(UndefinedCorrelationWarning, match=message) as caught:
        board = leaderboard(gold, systems, n_resamples=100)
    assert 5 < board.rows[0].total.n_undefined < 80
    assert caught[0].filename == __file__


@pytest.mark.parametrize("n_items", [6, 40])
def test_two_systems_without_coefficients_over_shared_items_have_no_p_value(n_items):
    half = n_items // 2
    gold = {f"i{item}": float(item) for item in range(n_items)}
    top = {label: max(0.0, value - half + 1) for label, value in gold.items()}
    bottom = {f"i{item}": float(item) for item in range(half)} | {"i0": 1.5}
    with warnings.catch_warnings(record=True, action="always") as caught:
        board = leaderboard(gold, {"top": top, "bottom": bottom}, missing="intersection", n_resamples=100)
    assert [row.group for row in board.rows] == [1, 1]
    assert [row.rank for row in board.rows] == [1, 2]
    assert np.isnan([[row.pvalue, row.corrected_pvalue] for row in board.rows]).all()
    (message,) = [str(note.message) for note in caught if "the best system and each of these" in str(note.message)]
    assert message.endswith(f": '{board.rows[1].system}'")
    assert {note.filename for note in caught} == {__file__}


def test_ranked_and_tested_by_one_gold_set():
    gold, systems = gold_and_systems(sizes=(9, 8), seed=2)
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        for index, (name, scores) in enumerate(gold.items()):
            board = leaderboard(gold, systems, by=name, swap="scores", n_resamples=100)
            statistics = [row.scores[index].statistic for row in board.rows]
            assert statistics == sorted(statistics, reverse=True)
            assert board.table()[0]["low"] == board.rows[0].scores[index].low
            best, *others = board.rows
            for row in others:
                score_pair = ({label: systems[ranked.system][label] for label in scores} for ranked in (best, row))
                assert row.pvalue == compare_systems(scores, *score_pair, swap="scores", n_resamples=10).pvalue


def test_an_undefined_coefficient_has_no_interval():
    # The two items that have weight are tied; resamples without one of them have a coefficient.
    gold = np.arange(20.0)
    system = np.append(gold[:18], [18.0, 18.0])
    top = TauW(weigher=TopK(2), scheme="first")
    with pytest.warns(UndefinedCorrelationWarning):
        (row,) = leaderboard(gold, {"x": system}, coefficient=top, n_resamples=100).rows
    assert 0 < row.total.n_undefined < 100
    assert np.isnan([row.total.statistic, row.total.low, row.total.high, row.scores[0].low]).all()


@pytest.mark.parametrize("swap", ["scores", "ranks"])
@pytest.mark.parametrize("missing", ["intersection", "gold"])
def test_tests_that_enumerate_all_swaps_depend_on_no_resamples(missing, swap):
    # Six clusters of two items in each of two gold sets; unranked systems are not tested.
    gold, systems = gold_and_systems(sizes=(12, 12))
    del systems["fair"]["0-0"], systems["poor"]["1-3"]
    clusters = {label: f"{label[0]}-{int(label[2:]) // 2}" for scores in gold.values() for label in scores}
    options = {"coefficient": "tau", "swap": swap, "missing": missing, "unranked": ["good", "alike"]}
    few, many = (
        leaderboard(gold, systems, clusters=clusters, n_resamples=number, seed=number, **options)
        for number in (39, 400)
    )
    tested = ("system", "pvalue", "corrected_pvalue", "group", "least_rank", "largest_rank")
    rows, expected = ([[getattr(row, name) for name in tested] for row in board.rows[:2]] for board in (few, many))
    assert few.exact
    assert rows[1] == expected[1]


@pytest.mark.needs_numba
def test_standardized_coefficients_are_those_of_the_null_distribution():
    gold, systems = gold_and_systems(sizes=(8, 7), noise={"good": 0.2, "poor": 2.0})
    options = {"n_resamples": 200, "seed": 3}
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        plain = by_name(leaderboard(gold, systems, **options))
        board = leaderboard(gold, systems, standardized=np.True_, **options)
    assert board.standardized is True
    for row in board.rows:
        for scores, score, raw in zip(gold.values(), row.scores, plain[row.system].scores, strict=True):
            null = null_distribution(scores, {label: systems[row.system][label] for label in scores})
            assert null.exact
            assert score.statistic == pytest.approx(null.standardize(raw.statistic), abs=1e-12)
            assert raw.low <= score.low < score.statistic  # chance gives less than 0
        assert row.total.statistic == pytest.approx(sum(score.statistic for score in row.scores))
    message = r"system .+, gold set .+: chance values .+ use percentile or zscore"
    with pytest.raises(StandardizationError, match=message):
        leaderboard(gold, systems, coefficient=TauW(n0=-0.9), standardized=True, n_resamples=100)


@pytest.mark.parametrize(("n_systems", "n_items", "exact"), [(1, 6, None), (2, 6, True), (2, 7, False), (3, 6, False)])
@pytest.mark.needs_numba
def test_a_leaderboard_says_whether_all_swaps_were_enumerated(n_systems, n_items, exact):
    rng = np.random.default_rng(0)
    golds = {name: {f"{name} {item}": rng.random() for item in range(n_items)} for name in ("x", "y")}
    items = [item for gold in golds.values() for item in gold]
    systems = {f"s{number}": {item: rng.random() for item in items} for number in range(n_systems)}
    with collected_notices():
        board = leaderboard(golds, systems, n_resamples=50)
        assert (board.exact, board.rows[0].rank, board.rows[0].group) == (exact, 1, 1)
        assert math.isnan(board.rows[0].pvalue)
        assert leaderboard(golds, systems, by="x", n_resamples=50).exact is (exact if n_systems != 2 else True)


def test_two_systems_are_tested_on_the_items_that_both_have():
    rng = np.random.default_rng(0)
    gold = {item: rng.random() for item in range(20)}
    systems = {name: {item: rng.random() for item in items} for name, items in (("a", range(13)), ("b", range(7, 20)))}
    options = {"missing": "intersection", "n_resamples": 50}
    with collected_notices():
        board = leaderboard(gold, systems, **options)
        peer = compare_systems(gold, *(systems[row.system] for row in board.rows), **options)
    assert (peer.n_items, board.exact) == (6, True)
    assert board.rows[1].pvalue == peer.pvalue


def test_names_of_systems_may_have_a_common_prefix():
    gold = dict(zip("abcdef", range(6), strict=True))
    systems = {
        "a" * 100 + end: {item: sign * score for item, score in gold.items()} for end, sign in (("1", 1), ("2", -1))
    }
    board = leaderboard(gold, systems, swap="scores", n_resamples=50)
    assert [row.system[-1] for row in board.rows] == ["1", "2"]


def test_systems_without_scores_exchange_ranks():
    gold = dict(zip("abcdef", range(6), strict=True))
    scores = {"good": gold, "poor": {item: -score for item, score in gold.items()}}
    ranks = {name: {item: -score for item, score in values.items()} for name, values in scores.items()}
    rankings = {name: Ranking.from_ranks(values) for name, values in ranks.items()}
    board = leaderboard(gold, rankings, n_resamples=50)
    assert board.rows == leaderboard(gold, scores, swap="ranks", n_resamples=50).rows
    with pytest.raises(OptionError, match=r'swap="scores" exchanges scores, but system .good. has only ranks'):
        leaderboard(gold, rankings, swap="scores", n_resamples=50)


def test_json_and_table_have_all_figures():
    gold, systems = gold_and_systems(noise={"good": 0.2, "poor": 5.0})
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
    gold, systems = gold_and_systems(noise={f"system {i}": 0.1 * i + 0.1 for i in range(7)})
    board = leaderboard(gold, systems, n_resamples=200)
    assert repr(board).startswith("<Leaderboard of 7 systems, tau_w, 2 gold sets, by sum: system ")
    assert repr(board).endswith(", ...>")
    assert len(repr(board)) < 200
    alone = leaderboard(gold["set 0"], {"s": {k: systems["system 0"][k] for k in gold["set 0"]}}, n_resamples=40)
    assert "1 systems" not in repr(alone)
    assert "1 gold set, by sum: s " in repr(alone)


def test_ranks_by_the_mean_are_those_by_the_sum():
    gold, systems = gold_and_systems(sizes=(20, 25))
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
            assert one.rank % 1 == 0.5
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


def test_a_leaderboard_of_pearson_sums_over_gold_sets():
    gold, systems = gold_and_systems()
    systems["scaled"] = {item: 50 + 9 * value for item, value in systems["fair"].items()}
    board = leaderboard(gold, systems, coefficient="pearson", n_resamples=199)
    rows = by_name(board)
    for name, scores in systems.items():
        for set_name, score in zip(gold, rows[name].scores, strict=True):
            expected = scipy.stats.pearsonr(list(gold[set_name].values()), [scores[item] for item in gold[set_name]])
            assert score.statistic == pytest.approx(expected.statistic)
            assert score.low < score.statistic < score.high
    assert board.swap == "standardized scores"
    assert rows["scaled"].total.statistic == pytest.approx(rows["fair"].total.statistic)
    assert rows["good"].group == 1 < rows["poor"].group


def test_pearson_needs_a_score_of_each_item_and_no_standardization():
    gold, systems = gold_and_systems((10,))
    del systems["poor"]["0-3"]
    with pytest.raises(
        OptionError, match=r"a score for each item; without one \(system, gold set\): \('poor', 'set 0'\)"
    ):
        leaderboard(gold, systems, coefficient="pearson", missing="intersection")
    with pytest.raises(OptionError, match="its mean by chance is already 0"):
        leaderboard(gold, systems, coefficient="pearson", standardized=True, missing="intersection")


def test_unranked_systems_are_listed_and_change_no_test():
    gold, systems = gold_and_systems((30,))
    alone = leaderboard(gold, systems, n_resamples=199)
    late = gold["set 0"] | {"0-0": -9.0}
    board = leaderboard(gold, {"late": late} | systems, n_resamples=199, unranked=["late"])
    *ranked, last = board.rows
    assert json_ready(ranked) == json_ready(alone.rows)
    assert (last.system, last.group, last.least_rank, last.swap) == ("late", None, None, None)
    assert math.isnan(last.rank)
    assert math.isnan(last.pvalue)
    score = leaderboard(gold, {"late": late}, n_resamples=199).rows[0].total
    assert (last.total.statistic, last.total.low, last.total.high) == (score.statistic, score.low, score.high)


def test_unranked_systems_precede_undefined_ones_in_the_given_order():
    gold = dict(zip("abcdef", range(6), strict=True))
    worse = gold | {"f": -1}
    systems = {"flat": dict.fromkeys(gold, 1), "worse": worse, "late": gold, "a": worse}
    with collected_notices():
        board = leaderboard(gold, systems, unranked={"worse", "late"}, n_resamples=100)
    assert [row.system for row in board.rows] == ["a", "late", "worse", "flat"]
    everything = leaderboard(gold, {"late": gold, "a": worse}, unranked=["late", "a"], n_resamples=100)
    assert [row.group for row in everything.rows] == [None, None]


@pytest.mark.parametrize(
    ("unranked", "message"), [("late", "must be a list of names"), (["x"], "must name systems; unknown: 'x'")]
)
def test_unranked_must_name_systems(unranked, message):
    gold, systems = gold_and_systems((10,))
    with pytest.raises(OptionError, match=message):
        leaderboard(gold, systems, unranked=unranked)


def test_groups_of_items_are_gold_sets():
    gold, systems = gold_and_systems((20,))
    (ranking,) = gold.values()
    genres = {item: "news" if place % 3 else "travel" for place, item in enumerate(ranking)}
    sets = group_items(ranking, genres, name="all")
    board = leaderboard(sets, systems, by="all", n_resamples=199)
    alone = leaderboard(ranking, systems, n_resamples=199)
    assert [(row.system, row.group) for row in board.rows] == [(row.system, row.group) for row in alone.rows]
    for row in board.rows:
        for genre, score in zip(("travel", "news"), row.scores[1:], strict=True):
            part = {item: value for item, value in ranking.items() if genres[item] == genre}
            assert score.n_items == len(part)
            assert score.statistic == weighted_tau(part, systems[row.system], missing="gold").statistic
    table = compare_many(group_items(ranking, genres), systems, baseline="good", n_resamples=199)
    assert {row.gold_set for row in table.rows} == {"news", "travel"}


@pytest.mark.parametrize(
    ("gold", "groups", "error", "message"),
    [
        ([1, 2, 3], ["a", "a", "b"], LabelError, "a gold ranking with labels"),
        ({"x": 1, "y": 2}, {"x": "a"}, OptionError, "every item needs a group; without one: 'y'"),
        ({"x": 1, "y": 2, "z": 3}, {"x": "a", "y": "a", "z": "b"}, TooFewItemsError, "groups of one item: 'b'"),
        ({"x": 1, "y": 2}, {"x": "all", "y": "all"}, OptionError, "a group has the name 'all'"),
        ({"x": 1, "y": 2}, {"x": "a", "y": ""}, OptionError, "every item needs a group; got ''"),
        ({"x": 1, "y": 2}, "xy", OptionError, "groups must be a mapping of label to group"),
    ],
)
def test_groups_need_labels_and_two_items(gold, groups, error, message):
    with pytest.raises(error, match=message):
        group_items(gold, groups, name="all")


@pytest.mark.needs_numba
@given(st.integers(0, 1_000))
def test_possible_ranks_and_groups_are_those_of_all_pairs(seed):
    gold, systems = gold_and_systems(sizes=(40,), seed=seed, noise={"a": 0.1, "b": 0.4, "c": 1.0, "d": 8.0})
    board = leaderboard(gold["set 0"], systems, n_resamples=300, seed=seed)
    ranks = [(row.least_rank, row.largest_rank) for row in board.rows]
    assert ranks[0][0] == 1
    assert all(least <= place <= largest for place, (least, largest) in enumerate(ranks, start=1))
    assert all(row.least_rank >= row.group for row in board.rows)
    # The best is better than systems with a corrected p-value of at most 0.05.
    assert ranks[0][1] == 4 - sum(row.corrected_pvalue <= 0.05 for row in board.rows[1:])


@pytest.mark.needs_numba
def test_a_leader_that_is_worse_over_shared_items_does_not_differ_significantly():
    rng = np.random.default_rng(0)
    gold = {f"i{item}": float(item) for item in range(400)}
    # Both rank the even items; "all" is better on these, but ranks the odd items, which "even" lacks, at random.
    even = {label: value + 60 * rng.normal() for label, value in gold.items() if value % 2 == 0}
    both = {label: value + 30 * rng.normal() if label in even else 400 * rng.random() for label, value in gold.items()}
    options = {"coefficient": "tau", "missing": "intersection", "n_resamples": 999}
    board = leaderboard(gold, {"all": both, "even": even}, **with_coefficient(**options))
    assert [(row.system, row.group) for row in board.rows] == [("even", 1), ("all", 1)]
    assert board.rows[1].corrected_pvalue < 0.01
    assert compare_systems(gold, even, both, **with_coefficient(**options)).high < 0
    # The same two below a better system, from which the leader of the second group differs.
    board = leaderboard(gold, {"gold": gold, "all": both, "even": even}, **with_coefficient(**options))
    assert [(row.system, row.group) for row in board.rows] == [("gold", 1), ("even", 2), ("all", 2)]


def joint_test(gold, systems, coefficient, missing="raise"):
    """Systems must be sorted by their sums."""
    sets, rankings = name_systems(systems, read_gold_sets(gold))
    entries = align_systems(sets, rankings, missing)
    totals = [sum(float(coefficient(entry.gold, entry.system)) for entry in row) for row in entries]
    ranked_systems = [RankedSystem(*fields) for fields in zip(systems, entries, totals, strict=True)]
    return JointTest(coefficient, sets, ranked_systems, Draws(500, 1))


@pytest.mark.needs_numba
def test_corrected_p_values_are_those_of_the_largest_difference():
    gold, systems = gold_and_systems(sizes=(40,), noise={"a": 0.5, "b": 1.0, "c": 2.0})
    test = joint_test(gold, systems, Tau())
    exchange = test._exchange_all(read_gold_sets(gold)["set 0"], 0)
    totals = [system.total for system in test.systems]
    distances, lower_distances = np.sqrt(exchange.distances()), np.sqrt(exchange.lower_distances())
    typical = math.sqrt((distances**2).sum() / 6)
    pairs = list(combinations(range(3), 2))
    scaled = [(totals[one] - totals[other]) * min(1, typical / lower_distances[one, other]) for one, other in pairs]
    coefficients = exchange.coefficients_after(exchange.draw_choices(np.random.default_rng(5), 20_000))
    differences = [np.abs(scale[:, [0, 0, 1]] - scale[:, [1, 2, 2]]) for scale in coefficients]
    expected = np.max([naive.step_down(scaled, scale.tolist()) for scale in differences], axis=0)
    corrected, leads = test._jointly()
    for pair, pvalue in zip(pairs, expected, strict=True):
        assert abs(corrected[pair] - pvalue) < 4 * math.sqrt(pvalue * (1 - pvalue) / 500) + 1 / 500
        assert leads[pair] == totals[pair[0]] - totals[pair[1]]


@pytest.mark.needs_numba
def test_significant_pairs_leave_the_step_down():
    gold, systems = gold_and_systems(sizes=(60,), noise={"a": 0.2, "b": 0.5, "c": 9.0}, seed=2)
    board = leaderboard(gold, systems, coefficient="tau", n_resamples=999)
    alone = leaderboard(gold, {name: systems[name] for name in "ab"}, coefficient="tau", n_resamples=999)
    last = board.rows[-1]
    assert (last.system, last.corrected_pvalue) == ("c", 0.005)  # the smallest p-value of 199 exchanges
    # One pair is left, with little correction.
    assert alone.rows[1].corrected_pvalue <= board.rows[1].corrected_pvalue + 0.02


def test_systems_with_missing_items_exchange_common_items():
    gold, systems = gold_and_systems(sizes=(30,))
    del systems["fair"]["0-3"], systems["alike"]["0-5"]
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        test = joint_test(gold, systems, TauW(), missing="intersection")
    exchange = test._exchange_all(read_gold_sets(gold)["set 0"], 0)
    assert exchange.present.sum(axis=1).tolist() == [30, 29, 29, 30]
    totals = [system.total for system in test.systems]
    assert exchange.observed() == pytest.approx(totals, abs=1e-12)
    assert np.isfinite(test.run(0.95).corrected[0, 1:]).all()


@pytest.mark.wide
@pytest.mark.needs_numba
@pytest.mark.parametrize(
    ("coefficient", "n_systems", "share", "n_boards"),
    [
        ("tau_w", 5, 0.999, 100),
        pytest.param("tau", 20, 0.0, 200, marks=pytest.mark.figures),
        pytest.param("tau", 20, 0.99, 200, marks=pytest.mark.figures),
        pytest.param("rho_w", 20, 0.999, 200, marks=pytest.mark.figures),
    ],
)
def test_equally_good_systems_differ_significantly_in_at_most_one_of_twenty_boards(
    coefficient, n_systems, share, n_boards
):
    wrong = 0
    for seed in range(n_boards):
        rng = np.random.default_rng([6, seed])
        gold, shared, *noises = rng.normal(size=(2 + n_systems, 50))
        score_lists = (gold + math.sqrt(share) * shared + math.sqrt(1 - share) * noise for noise in noises)
        systems = dict(zip(map(str, range(n_systems)), score_lists, strict=True))
        board = leaderboard(gold, systems, coefficient=coefficient, n_resamples=299, seed=seed, workers=1)
        wrong += board.rows[-1].group > 1
    # A binomial count with p = 0.05 exceeds this bound with probability 0.001.
    assert wrong <= n_boards * 0.05 + 3.1 * math.sqrt(n_boards * 0.05 * 0.95)


@pytest.mark.needs_numba
def test_the_exchanges_of_two_systems_do_not_depend_on_others():
    rng = np.random.default_rng(1)
    gold = rng.normal(size=60)
    systems = {name: gold + noise * rng.normal(size=60) for name, noise in (("a", 0.9), ("b", 1.1), ("c", 1.4))}
    boards = [leaderboard(gold, systems | {"c": 100 * systems["c"]}, n_resamples=300)]
    boards += [leaderboard(gold, systems, n_resamples=300), leaderboard(gold, systems, n_resamples=300, seed=5)]
    boards.append(leaderboard(gold, systems | {"c": Ranking.from_ranks(-systems["c"])}, n_resamples=300))
    rows = [next(row for row in board.rows if row.system == "b") for board in boards]
    assert {row.swap for row in rows} == {"scores"}
    assert rows[0].pvalue == rows[1].pvalue == rows[3].pvalue
    assert [board.swap for board in boards[:2]] == ["ranks", "scores"]
    assert [board.rows[-1].swap for board in (boards[0], boards[3])] == ["ranks", "ranks"]
    assert boards[0].rows[0].swap is None


def test_the_scale_of_exchanges_does_not_depend_on_the_seed():
    rng = np.random.default_rng(28)
    gold = rng.normal(size=100)
    one, other = gold + 0.5 * rng.normal(size=100), gold + 1.2 * rng.normal(size=100)
    results = [compare_systems(gold, one, other, n_resamples=500, seed=seed) for seed in range(6)]
    assert len({result.swap for result in results}) == 1
    assert max(result.pvalue for result in results) - min(result.pvalue for result in results) < 0.1
