"""The p-value is the share of swaps that are as extreme, enumerated or drawn."""

import itertools
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from rankcorr import Ranking, TauW
from rankcorr.inference.exchange import Exchange, codes_of_items, score_codes
from rankcorr.inference.paired import N_ENUMERATED, all_swaps, as_extreme, enumerated, paired_tests
from rankcorr.inference.resampling import Draws


def exchange_of(gold, *systems, scores=False):
    rankings = [Ranking.from_scores(each) for each in systems]
    first = Ranking.from_scores(gold)
    if scores:
        codes = np.array([codes_of_items(own, None) for own in score_codes(systems, "ab")])
        return Exchange.of_scores(TauW(), first, rankings, codes)
    return Exchange.of_ranks(TauW(), first, rankings)


def lead(exchange):
    first, second = exchange.observed()
    return first - second


def test_all_swaps_are_the_product():
    assert_array_equal(
        sorted(all_swaps(4).tolist()), sorted(list(swap) for swap in itertools.product([0, 1], repeat=4))
    )


@pytest.mark.parametrize(
    ("alternative", "observed", "expected"),
    [("two-sided", 1.0, (4, 1)), ("two-sided", -2.0, (3, 1)), ("greater", 1.0, (3, 1)), ("less", -1.0, (2, 1))],
)
def test_undefined_differences_are_extreme(alternative, observed, expected):
    drawn = np.array([2.0, 1.0 - 1e-14, 0.5, -2.0, np.nan])
    assert as_extreme(drawn, observed, alternative) == expected


def test_a_swap_is_repeated_where_places_are_drawn_too():
    gold, a, b = np.random.default_rng(1).normal(size=(3, 5))
    assert enumerated([exchange_of(gold, a, b, scores=True)], 0).size == 2**5
    found = enumerated([exchange_of(gold, a, b)], 0)
    assert found.size == N_ENUMERATED
    # No swap, and all swaps: whatever the places, these are the difference and its negative.
    observed = lead(exchange_of(gold, a, b))
    assert_array_equal(found[:: 2**5], np.full(N_ENUMERATED // 2**5, observed))
    assert np.abs(found[2**5 - 1 :: 2**5] + observed).max() < 1e-15


@pytest.mark.needs_numba
@pytest.mark.parametrize("scores", [True, False])
def test_drawn_swaps_come_close_to_all_of_them(scores, monkeypatch):
    pair = [exchange_of(*np.random.default_rng(5).normal(size=(3, 6)), scores=scores) for _ in range(2)]
    observed = np.array([sum(lead(each) for each in pair)])
    (exact,) = paired_tests([pair], observed, draws=Draws(10, 0))
    monkeypatch.setattr("rankcorr.inference.paired.MAX_EXACT", 0)
    (drawn,) = paired_tests([pair], observed, draws=Draws(20_000, 0))
    assert (exact.exact, exact.n_swaps, drawn.exact, drawn.n_swaps) == (True, 2**12, False, 20_000)
    assert 0.05 < exact.pvalue < 0.95
    assert abs(drawn.pvalue - exact.pvalue) < 4 * math.sqrt(
        exact.pvalue * (1 - exact.pvalue) * (1 / 20_000 + 1 / 4_096)
    )


def test_pairs_of_few_and_of_many_items_are_tested_together():
    rng = np.random.default_rng(0)
    few, many = exchange_of(*rng.normal(size=(3, 8))), exchange_of(*rng.normal(size=(3, 30)))
    observed = np.array([lead(few), lead(many)])
    found = paired_tests([[few], [many]], observed, draws=Draws(200, 0))
    assert [each.exact for each in found] == [True, False]
    assert found[0] == paired_tests([[few]], observed[:1], draws=Draws(200, 0))[0]
    assert found[1] == paired_tests([[many]], observed[1:], draws=Draws(200, 0))[0]
    assert paired_tests([], np.empty(0), draws=Draws(200, 0)) == []
