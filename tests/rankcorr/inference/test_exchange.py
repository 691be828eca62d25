"""Systems exchange places item by item: every rank is kept, collisions are settled by chance, and ties stay ties."""

import warnings

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import NonNumericError, OptionError, Ranking, Tau, UndefinedCorrelationWarning
from rankcorr.coefficients import named_coefficient
from rankcorr.inference import exchange_kernels
from rankcorr.inference.exchange import BELOW_ALL, Exchange, codes_of_items, score_codes
from rankcorr.inference.standardization import standardize
from tests.strategies import TIED_WEIGHT, scores, weighings

SYSTEMS = st.integers(2, 9).flatmap(lambda n: st.tuples(scores(n), st.lists(scores(n), min_size=2, max_size=4)))
NAMES = st.sampled_from(["tau_w", "rho_w"])


def exchange_of(gold, systems, *, coefficient="tau", present=None, **options):
    rankings = [Ranking.from_scores(each) for each in systems]
    chosen = named_coefficient(coefficient, **options)
    return Exchange.of_ranks(chosen, Ranking.from_scores(gold), rankings, present)


def drawn_places(exchange, seed, size, *, exchanged=False):
    """Places of the items of each system, in the order of gold."""
    return exchange._drawn_keys(np.random.default_rng(seed), size, exchanged=exchanged)


def value(coefficient, gold, numbers):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedCorrelationWarning)
        return float(coefficient(gold, Ranking.from_ranks(numbers)))


@given(NAMES, SYSTEMS, weighings().filter(lambda weighing: "TopK" not in repr(weighing)), TIED_WEIGHT, st.data())
def test_coefficients_are_those_of_the_places_taken(name, drawn, weighing, tied, data):
    gold, systems = drawn
    present = np.array([data.draw(st.lists(st.booleans(), min_size=gold.size, max_size=gold.size)) for _ in systems])
    present[:, :2] = True
    for system, has in zip(systems, present, strict=True):
        system[~has] = system.min() - 1
    options = {**weighing[0], "tied_weights": tied}
    exchange = exchange_of(gold, systems, coefficient=name, present=present, **options)
    best_first = Ranking.from_scores(gold).best_first
    own, keys = drawn_places(exchange, 0, 3), drawn_places(exchange, 0, 3, exchanged=True)
    found = exchange._coefficients(keys)
    for row in range(3):
        for system in range(len(systems)):
            has = present[system, best_first]
            expected = value(named_coefficient(name, **options), gold[best_first][has], keys[row, system][has])
            assert_allclose(found[row, system], expected, rtol=0, atol=1e-11)
    # Only systems that have the item exchange it, each once; the first row is drawn alike before the first exchange.
    for item, has in enumerate(present[:, best_first].T):
        assert sorted(keys[0, has, item].tolist()) == sorted(own[0, has, item].tolist())


@given(NAMES, SYSTEMS)
def test_a_system_keeps_its_order_and_its_ties_whatever_the_places(name, drawn):
    gold, systems = drawn
    exchange = exchange_of(gold, systems, coefficient=name)
    best_first = Ranking.from_scores(gold).best_first
    keys = drawn_places(exchange, 1, 5)
    for row in keys:
        for system, own in zip(systems, row, strict=True):
            assert_array_equal(Ranking.from_ranks(own).ranks, Ranking.from_scores(system[best_first]).ranks)
    chosen = named_coefficient(name)
    expected = [value(chosen, gold, Ranking.from_scores(system).ranks) for system in systems]
    assert_allclose(exchange.observed(), expected, rtol=0, atol=1e-12)


@given(SYSTEMS)
def test_exchanged_scores_are_scores(drawn):
    gold, systems = drawn
    codes = np.array([codes_of_items(own, None) for own in score_codes(systems, list(map(str, systems)))])
    rankings = [Ranking.from_scores(each) for each in systems]
    exchange = Exchange.of_scores(Tau(), Ranking.from_scores(gold), rankings, codes)
    best_first = Ranking.from_scores(gold).best_first
    keys = drawn_places(exchange, 2, 4, exchanged=True)
    assert exchange.is_sure
    table = np.array(systems)[:, best_first]
    own = drawn_places(exchange, 2, 1)[0]
    scores_of = dict(zip(own.ravel().tolist(), table.ravel().tolist(), strict=True))
    for row, found in zip(keys, exchange._coefficients(keys), strict=True):
        taken = np.vectorize(scores_of.get)(row)
        assert_array_equal(np.sort(taken, axis=0), np.sort(table, axis=0))
        assert_allclose(found, [value(Tau(), gold[best_first], -each) for each in taken], rtol=0, atol=1e-12)


@pytest.mark.needs_numba
def test_every_system_is_as_likely_to_take_a_place_and_to_come_first():
    gold = np.arange(8.0)
    exchange = exchange_of(gold, [gold, np.roll(gold, 5), np.roll(gold, 3)])
    taken = drawn_places(exchange, 3, 30_000, exchanged=True) // 3
    places = drawn_places(exchange, 3, 1)[0] // 3
    for system in range(3):
        shares = np.array([(taken[:, system] == own).mean(axis=0) for own in places])
        assert np.abs(shares - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 30_000)
    # Two choices are independent: those of neighbouring items, and of an item in neighbouring draws.
    is_own = taken[:, 0] == places[0]
    for both in (is_own[:, 1:] & is_own[:, :-1], is_own[1:] & is_own[:-1]):
        assert np.abs(both.mean(axis=0) - 1 / 9).max() < 5 * np.sqrt(8 / 81 / 29_999)
    keys = drawn_places(exchange, 3, 30_000)
    # The keys of one rank: three systems, in any order, which the next rank keeps with probability 0.6 + 0.4 / 6.
    at_rank = np.sort(keys, axis=2)
    orders = np.argsort(at_rank, axis=1)
    assert np.abs((orders[:, 0] == 0).mean(axis=0) - 1 / 3).max() < 5 * np.sqrt(2 / 9 / 30_000)
    same = (orders[:, :, 1:] == orders[:, :, :-1]).all(axis=1)
    assert np.abs(same.mean(axis=0) - (0.6 + 0.4 / 6)).max() < 5 * np.sqrt(0.25 / 30_000)


@pytest.mark.needs_numba
def test_two_systems_exchange_each_place_in_half_of_the_draws_and_come_first_in_half():
    gold = np.arange(8.0)
    exchange = exchange_of(gold, [gold, np.roll(gold, 3)])
    own = drawn_places(exchange, 3, 1)[0] // 2
    is_own = drawn_places(exchange, 3, 30_000, exchanged=True)[:, 0] // 2 == own[0]
    keys = np.sort(drawn_places(exchange, 4, 30_000), axis=2)
    is_first = keys[:, 0] < keys[:, 1]
    bound = 5 * np.sqrt(0.25 / 29_999)
    for drawn in (is_own, is_first):
        assert np.abs(drawn.mean(axis=0) - 0.5).max() < bound
        assert np.abs((drawn[1:] == drawn[:-1]).mean(axis=0) - 0.5).max() < bound
    assert np.abs((is_own[:, 1:] == is_own[:, :-1]).mean(axis=0) - 0.5).max() < bound
    assert np.abs((is_first[:, 1:] == is_first[:, :-1]).mean(axis=0) - 0.8).max() < bound


@pytest.mark.needs_numba
def test_two_systems_that_exchange_one_of_two_neighbours_still_differ_in_four_of_five_cases():
    # a and b rank the two items the other way round; the other items are alike.
    gold = np.arange(20.0)
    other = gold.copy()
    other[[18, 19]] = other[[19, 18]]
    exchange = exchange_of(gold, [gold, other])
    swaps = np.zeros((20_000, 20), np.uint8)
    swaps[:, 0] = 1  # the best item of gold alone
    values = exchange.swapped(np.random.default_rng(0), swaps)
    share = np.mean(values[:, 0] != values[:, 1])
    assert abs(share - 0.8) < 5 * np.sqrt(0.16 / 20_000)


def test_small_groups_lie_anywhere_in_their_ranks_and_large_ones_in_the_middle():
    small = exchange_of(np.arange(9.0), [[1, 1, 1, 2, 3, 4, 5, 6, 7], np.arange(9.0)])
    keys = drawn_places(small, 4, 300)
    tied = keys[:, 0, 6:]  # in the order of gold, from the best
    assert (tied == tied[:, :1]).all()
    singles = keys[:, 1, 6:]
    assert set(np.argmax(tied[:, :1] == singles, axis=1).tolist()) == {0, 1, 2}
    assert ((tied[:, :1] == singles).sum(axis=1) == 1).all()
    large = exchange_of(np.arange(9.0), [[1, 1, 1, 1, 1, 4, 5, 6, 7], np.arange(9.0)])
    keys = drawn_places(large, 4, 300)
    assert (keys[:, 0, 4:] == keys[:, 1, [6]]).all()


def test_levels_of_a_common_scale_stay_tied():
    first = np.repeat([3.0, 2.0, 1.0], [7, 8, 10])
    second = np.roll(first, 3) + 10
    exchange = exchange_of(np.arange(25.0), [first, second])
    assert exchange.is_sure
    codes = np.unique(first), np.unique(second)
    assert_array_equal(*(len(each) for each in codes))
    for keys in (drawn_places(exchange, seed, 5) for seed in range(2)):
        assert all(len(np.unique(row)) == 3 for row in keys)
    # Groups that have half of their ranks in common are no levels.
    scores_ = np.repeat([3.0, 2.0, 1.0], 10)
    others = np.repeat([4.0, 3.0, 2.0, 1.0], [5, 10, 10, 5])
    apart = exchange_of(np.arange(30.0), [scores_, others])
    assert len(np.unique(drawn_places(apart, 0, 1))) == 7


def test_keys_of_many_scores_do_not_overflow(monkeypatch):
    rng = np.random.default_rng(0)
    gold, *systems = rng.normal(size=(4, 12))
    codes = np.array([codes_of_items(own, None) for own in score_codes(systems, "abc")])
    rankings = [Ranking.from_scores(each) for each in systems]
    exchange = Exchange.of_scores(Tau(), Ranking.from_scores(gold), rankings, codes)
    expected = exchange.drawn(np.random.default_rng(1), 20)
    assert drawn_places(exchange, 0, 1).dtype == np.int32
    monkeypatch.setattr("rankcorr.inference.exchange.LARGEST_INT32", 3 * 36 - 1)
    assert drawn_places(exchange, 0, 1).dtype == np.int64
    assert_array_equal(exchange.drawn(np.random.default_rng(1), 20), expected)


def test_more_systems_than_a_random_number_can_choose_from_are_refused(monkeypatch):
    monkeypatch.setattr("rankcorr.inference.exchange_kernels.MOST_SYSTEMS", 2)
    exchange = exchange_of([1, 2, 3], [[1, 2, 3]] * 3)
    with pytest.raises(OptionError, match="at most 2 systems can exchange places; got 3"):
        exchange.drawn(np.random.default_rng(0), 1)


def test_large_keys_do_not_overflow_beside_the_items_that_they_carry():
    exchange = exchange_of(np.arange(5.0), [np.arange(5.0)])
    keys = np.array([[[2**30, 3, 2**29, 2**31 - 2, 2**30]]], np.int32)
    values, items = np.empty((1, 1)), exchange.items
    exchange_kernels.exchanged_coefficients(
        *(keys, 2**31 - 1, items.x_keys, exchange.present, items.table, items.expected, items.scheme, items.kind),
        values,
    )
    assert_allclose(values[0, 0], value(Tau(), np.arange(5.0)[::-1], keys[0, 0]), rtol=0, atol=1e-15)


def test_distances_are_of_the_items_that_both_have():
    rng = np.random.default_rng(0)
    gold, *systems = rng.normal(size=(4, 30))
    exchange = exchange_of(gold, systems)
    shares = np.array([Ranking.from_scores(each).ranks / 30 for each in systems])
    squares = (shares[:, np.newaxis] - shares) ** 2
    assert_allclose(exchange.distances(), squares.mean(axis=2), rtol=0, atol=1e-14)
    errors = squares.std(axis=2) / np.sqrt(30)
    for system in range(3):
        expected = np.maximum(0, squares.mean(axis=2)[system] - 2 * errors[system])
        assert_allclose(exchange.sure_distances(system), expected, rtol=0, atol=1e-14)
    present = np.ones((3, 30), bool)
    present[0, :10] = present[1, 5:20] = False
    for system, has in zip(systems, present, strict=True):
        system[~has] = -9
    partial = exchange_of(gold, systems, present=present)
    both = present[0] & present[1]
    first, second = (
        np.array(Ranking.from_scores(system[has]).ranks) / has.sum()
        for system, has in zip(systems[:2], present[:2], strict=True)
    )
    apart = first[both[present[0]]] - second[both[present[1]]]
    assert_allclose(partial.distances()[0, 1], np.mean(apart**2), rtol=1e-12)


def test_coefficients_are_standardized_by_system():
    rng = np.random.default_rng(0)
    gold, *systems = rng.normal(size=(3, 12))
    rankings = [Ranking.from_scores(each) for each in systems]
    plain = Exchange.of_ranks(Tau(), Ranking.from_scores(gold), rankings)
    mapped = Exchange(**{name: getattr(plain, name) for name in plain.__slots__} | {"exponents": np.array([-1.0, 2.0])})
    values = plain.drawn(np.random.default_rng(1), 50)
    expected = np.column_stack([standardize(values[:, 0], -1.0), standardize(values[:, 1], 2.0)])
    assert_array_equal(mapped.drawn(np.random.default_rng(1), 50), expected)


def test_score_codes_put_all_scores_into_one_order():
    found = score_codes([[3, 1.5], np.array([3, 2]), {"x": 1.5, "y": 9}, pandas.Series([0.0, 1.5], ["u", "v"])], "abcd")
    assert [list(each) for each in found[:2]] == [[1, 3], [1, 2]]
    assert found[2:] == [{"x": 3, "y": 0}, {"u": 4, "v": 3}]
    assert codes_of_items(found[2], ["y", "z", "x"]).tolist() == [0, BELOW_ALL, 3]
    # Integers that no float can tell apart.
    large, beside = score_codes([[2**53, 2**53 + 1], np.array([2.0**53, 0.0])], "ab")
    assert [large.tolist(), beside.tolist()] == [[1, 0], [1, 2]]


def test_what_has_no_scores_has_no_codes():
    with pytest.raises(OptionError, match='swap="scores" exchanges scores, and b is a Ranking'):
        score_codes([[1, 2], Ranking.from_scores([1, 2])], "ab")
    with pytest.raises(NonNumericError, match="every score must be a real number"):
        score_codes([["x", "y"]], "a")
