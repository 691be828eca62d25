"""Gold sets and systems: input types, missing items, errors, and comparisons with gold."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

from rankcorr import (
    DimensionError,
    LabelError,
    LabelMismatchError,
    LengthError,
    ManyGoldSetsWarning,
    MissingValueError,
    OptionError,
    Ranking,
    Rho,
    Tau,
    TauW,
    TooFewItemsError,
    UndefinedCorrelationWarning,
    contributions,
    correlate,
    correlation_interval,
    permutation_test,
    weighted_tau,
)
from rankcorr._checks import collected_notices
from rankcorr.inference._gold_comparison import compare_with_gold, rank_against_gold
from rankcorr.inference._leaderboard import leaderboard
from rankcorr.inference._system_comparison import compare_systems
from tests.rankcorr.inference.cases import by_name, gold_and_systems
from tests.results import with_coefficient
from tests.strategies import tied_pairs

GOLD, SYSTEM = {"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 2}
X = {"x": SYSTEM}


def test_one_gold_ranking_may_stand_alone():
    gold, systems = gold_and_systems(sizes=(30,))
    board = leaderboard(gold["set 0"], systems, n_resamples=100)
    assert board.gold_sets == ("gold",)
    for row in board.rows:
        assert row.total == row.scores[0]
    lists = {name: list(scores.values()) for name, scores in systems.items()}
    plain = leaderboard(list(gold["set 0"].values()), lists, n_resamples=100)
    assert plain.to_dict() == board.to_dict()
    named = leaderboard({"g": Ranking.from_scores(gold["set 0"])}, systems, n_resamples=100)
    assert named.to_dict()["rows"][0]["total"] == board.to_dict()["rows"][0]["total"]
    assert [row.corrected_pvalue for row in named.rows[1:]] == [row.corrected_pvalue for row in board.rows[1:]]


def test_missing_items_follow_the_policy():
    gold, systems = gold_and_systems()
    lacking = {label: value for label, value in systems["fair"].items() if label not in ("0-0", "0-1", "1-7")}
    systems = {**systems, "fair": lacking}
    with pytest.raises(LabelMismatchError, match="gold set 'set 0' has labels that system 'fair' lacks: '0-0', '0-1'"):
        leaderboard(gold, systems)
    for missing, n_items in (("intersection", [38, 29]), ("bottom", [40, 30]), ("gold", [40, 30])):
        row = by_name(leaderboard(gold, systems, missing=missing, n_resamples=100))["fair"]
        assert [score.n_missing for score in row.scores] == [2, 1]
        assert [score.n_items for score in row.scores] == n_items
        assert (row.total.n_missing, row.total.n_items) == (3, sum(n_items))
        set_scores = {label: value for label, value in lacking.items() if label in gold["set 0"]}
        expected = weighted_tau(gold["set 0"], set_scores, missing=missing).statistic
        assert_allclose(row.scores[0].statistic, expected, rtol=0, atol=1e-14)


def test_values_of_missing_mean_the_same_everywhere():
    """Gold sets such as MEN and the list of a system share some items; each has others."""
    rng = np.random.default_rng(0)
    gold = dict(zip(range(40), rng.permutation(40).tolist(), strict=True))
    system = {item: gold.get(item, 20) + rng.normal() for item in range(15, 70)}
    for missing, n_items in (("intersection", 25), ("bottom", 70), ("gold", 40)):
        (row,) = leaderboard(gold, {"system": system}, missing=missing, n_resamples=40).rows
        expected = weighted_tau(gold, system, missing=missing)
        assert (row.total.statistic, row.total.n_items) == (pytest.approx(expected, abs=1e-13), n_items)
        assert expected.n_items == n_items
        assert (row.total.n_missing, row.n_unused) == (15, 0 if missing == "bottom" else 30)
        compared = compare_systems(gold, system, system, missing=missing, n_resamples=20)
        assert (compared.n_items, compared.statistic_a) == (n_items, pytest.approx(expected, abs=1e-13))


def test_bottom_compares_all_systems_over_all_items():
    gold, systems = gold_and_systems(sizes=(6, 5), noise={"a": 0.1, "b": 1.0})
    systems = {"a": systems["a"] | {"new": 99.0}, "b": systems["b"] | {"other": -99.0, "new": 0.0}}
    del systems["b"]["0-0"]
    board = by_name(leaderboard(gold, systems, coefficient="tau", missing="bottom", n_resamples=50))
    for place, scores in enumerate(gold.values()):
        labels = [*scores, "new", "other"]
        spelt_out = [{label: row.get(label, -1e9) for label in labels} for row in (scores, systems["a"], systems["b"])]
        for name, row in zip("ab", spelt_out[1:], strict=True):
            score = board[name].scores[place]
            assert score.n_items == len(labels)
            assert score.statistic == pytest.approx(Tau()(spelt_out[0], row), abs=1e-13)
    with pytest.raises(TooFewItemsError, match="gold set 'set 1' and system 'b' must have at least two labels"):
        leaderboard(gold, {"b": dict.fromkeys(gold["set 0"], 1.0) | {"1-0": 2.0}}, missing="bottom")


def test_items_in_no_gold_set():
    gold, systems = gold_and_systems()
    systems["good"]["elsewhere"] = 1.0
    with pytest.raises(LabelMismatchError, match="labels of system 'good' that are in no gold set: 'elsewhere'"):
        leaderboard(gold, systems)
    rows = by_name(leaderboard(gold, systems, missing="intersection", n_resamples=100))
    assert {name: row.n_unused for name, row in rows.items()} == {"good": 1, "fair": 0, "alike": 0, "poor": 0}


@pytest.mark.parametrize(
    ("gold", "systems", "options", "error", "message"),
    [
        (GOLD, X, {"by": "all"}, OptionError, "by must be one of 'sum', 'mean', 'gold'; got 'all'"),
        (
            GOLD,
            {"x": SYSTEM, "y": Ranking.from_order(["a", "b", "c"])},
            {"swap": "scores"},
            OptionError,
            "system 'y' has only ranks; give its scores",
        ),
        (GOLD, {}, {}, TooFewItemsError, "there is no system to rank"),
        (GOLD, [SYSTEM], {}, DimensionError, "systems must be a mapping of name to ranking; got"),
        (GOLD, {1: SYSTEM}, {}, LabelError, "the name of a system must be a string; got: 1"),
        (GOLD, {"x": [1, 2, 3]}, {}, LabelError, "gold set 'gold' has labels and system 'x' has none"),
        ([1, 2, 3], {"x": [1, 2, 3], "y": [1, 2]}, {}, LengthError, "gold set 'gold' has 3 items and system 'y' has 2"),
        (GOLD, {"x": {"a": 1, "b": float("nan")}}, {}, MissingValueError, "^system 'x': every item needs a score"),
        ({"g": {"a": 1}}, X, {}, TooFewItemsError, "gold set 'g': "),
        ({"sum": GOLD}, X, {}, OptionError, "a gold set cannot have the name 'sum'"),
        ({"mean": GOLD}, X, {}, OptionError, "a gold set cannot have the name 'mean'"),
        ({"low": GOLD, "rank": GOLD}, X, {}, OptionError, "the name of another column .*; got: 'low', 'rank'"),
        ({"g": GOLD, "h": [1, 2]}, X, {}, LabelError, "several gold sets need labels, .*without labels: 'h'"),
        ({"g": GOLD, "h": 2}, X, {}, DimensionError, "got 2 among the rankings"),
        (
            GOLD,
            {"x": {"d": 1, "e": 2}},
            {"missing": "intersection"},
            TooFewItemsError,
            "system 'x' must have at least two labels in common; they have 3 and 2 items, 0 in common",
        ),
    ],
)
def test_invalid_inputs_are_refused(gold, systems, options, error, message):
    with pytest.raises(error, match=message):
        leaderboard(gold, systems, **with_coefficient(**options))


def test_systems_without_items_in_common():
    gold = dict(zip("abcdef", range(6), strict=True))
    systems = {"x": {label: gold[label] for label in "abc"}, "y": {label: gold[label] for label in "cdef"}}
    with (
        warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning),
        pytest.raises(
            TooFewItemsError,
            match="systems 'x' and 'y' must have at least two items of gold set 'gold' in common, to be tested; got 1",
        ),
    ):
        leaderboard(gold, systems, missing="intersection", n_resamples=50)


def test_more_than_five_gold_sets_give_a_warning():
    gold, systems = gold_and_systems(sizes=(8,) * 6, noise={"good": 0.2, "poor": 2.0})
    with warnings.catch_warnings(record=True, action="always") as caught:
        leaderboard(gold, systems, coefficient="tau", n_resamples=100)
        del gold["set 5"]
        leaderboard(gold, systems, coefficient="tau", missing="intersection", n_resamples=100)
    (result,) = [warning for warning in caught if warning.category is ManyGoldSetsWarning]
    assert "6 gold sets, so intervals and tests do not apply to other gold sets" in str(result.message)
    assert result.filename == __file__


COEFFICIENTS = [TauW(), Rho()]
DRAWS = {"n_resamples": 50, "seed": 3}


@pytest.mark.needs_numba
@given(tied_pairs())
def test_a_comparison_equals_the_single_calls(pair):
    gold, system = map(Ranking.from_scores, pair)
    with collected_notices():
        correlations = correlate(gold, system, coefficients=COEFFICIENTS)
    comparison = compare_with_gold(gold, system, COEFFICIENTS, worst=2, test=DRAWS, interval=DRAWS, workers=1)
    assert comparison.n_items == gold.n_items
    assert comparison.n_missing is None
    assert comparison.ties == {"gold": gold.n_ties, "system": system.n_ties}
    for coefficient in COEFFICIENTS:
        name, options = coefficient.name, {"coefficient": coefficient, **DRAWS, "workers": 1}
        with collected_notices() as messages:
            test = permutation_test(gold, system, **options)
            interval = correlation_interval(gold, system, **options)
            parts = contributions(gold, system, coefficient=coefficient)
        np.testing.assert_array_equal(comparison.coefficients[name], correlations[coefficient].statistic)
        np.testing.assert_array_equal(comparison.tests[name].pvalue, test.pvalue)
        np.testing.assert_array_equal(
            [comparison.intervals[name].low, comparison.intervals[name].high], [interval.low, interval.high]
        )
        worst = comparison.worst[name]
        assert (worst is None) == np.isnan(parts.statistic)
        assert worst is None or [item["cost"] for item in worst] == [item.cost for item in parts.worst(2)]
        messages += [] if interval.note is None else [interval.note]
        assert {notice.message for notice in comparison.warnings if name in notice.coefficients} >= set(messages)
    messages = [notice.message for notice in comparison.warnings]
    assert len(set(messages)) == len(messages)


@given(tied_pairs())
def test_a_table_has_the_rows_of_single_comparisons_best_first(pair):
    gold, other = map(Ranking.from_scores, pair)
    systems = {"other": other, "tied": Ranking.from_scores([1.0] * gold.n_items), "gold": gold}
    table = rank_against_gold(gold, systems, [Tau(), Rho()], sort_by="tau", workers=1)
    values = [row.coefficients["tau"] for row in table.systems]
    known = [value for value in values if not np.isnan(value)]
    assert known == sorted(known, reverse=True)
    assert np.isnan(values[len(known) :]).all()
    for row in table.systems:
        single = compare_with_gold(gold, systems[row.name], [Tau(), Rho()])
        np.testing.assert_array_equal(list(row.coefficients.values()), list(single.coefficients.values()))
        assert (row.n_items, row.ties) == (single.n_items, single.ties["system"])


def test_missing_items_of_a_system_count_by_the_option():
    gold, system = Ranking.from_scores({"a": 3, "b": 2, "c": 1}), Ranking.from_scores({"a": 1, "b": 2, "d": 3})
    comparison = compare_with_gold(gold, system, [Tau()], missing="intersection")
    table = rank_against_gold(gold, {"s": system}, [Tau()], sort_by="tau", missing="intersection", workers=1)
    (row,) = table.systems
    assert (comparison.n_items, comparison.n_missing, comparison.ties) == (2, 2, {"gold": 0, "system": 0})
    assert (row.n_items, row.coefficients, row.ties) == (2, {"tau": -1.0}, 0)
