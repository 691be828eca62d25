import numpy as np
import pytest
from hypothesis import given

from rankcorr import Ranking, Rho, Tau, TauW, contributions, correlate, correlation_interval, permutation_test
from rankcorr._checks import collected_notices
from rankcorr.inference._gold_comparison import compare_with_gold, rank_against_gold
from tests.strategies import tied_pairs

COEFFICIENTS = [TauW(), Rho()]
DRAWS = {"n_resamples": 50, "seed": 3}


@pytest.mark.needs_numba
@given(tied_pairs())
def test_a_comparison_is_what_each_call_returns(pair):
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


def test_items_that_a_system_lacks_count_by_the_option():
    gold, system = Ranking.from_scores({"a": 3, "b": 2, "c": 1}), Ranking.from_scores({"a": 1, "b": 2, "d": 3})
    comparison = compare_with_gold(gold, system, [Tau()], missing="intersection")
    table = rank_against_gold(gold, {"s": system}, [Tau()], sort_by="tau", missing="intersection", workers=1)
    (row,) = table.systems
    assert (comparison.n_items, comparison.n_missing, comparison.ties) == (2, 2, {"gold": 0, "system": 0})
    assert (row.n_items, row.coefficients, row.ties) == (2, {"tau": -1.0}, 0)
