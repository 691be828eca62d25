"""Exchanges of items between systems, on scales of scores or of ranks; p-values and intervals agree."""

import itertools
import math
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pandas
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankcorr import (
    DuplicateLabelError,
    OptionError,
    Ranking,
    Tau,
    UndefinedCorrelationWarning,
    compare_systems,
    leaderboard,
)
from rankcorr._checks import alpha_of
from rankcorr._coefficients import named_coefficient
from rankcorr._ranking import as_ranking
from rankcorr.inference import _resampling_kernels as kernels
from rankcorr.inference._exchange import (
    BELOW_ALL,
    GO,
    STAY,
    Exchange,
    codes_of_items,
    codes_of_scores,
    common_scale,
    find_scales,
    on_one_scale,
)
from rankcorr.inference._exchange_distribution import ExchangeDistribution, all_swaps
from rankcorr.inference._standardization import standardize
from tests import naive
from tests.strategies import TIED_WEIGHT, scores, weighings

SYSTEMS = st.integers(2, 9).flatmap(lambda n: st.tuples(scores(n), st.lists(scores(n), min_size=2, max_size=4)))
NAMES = st.sampled_from(["tau_w", "rho_w"])


def exchange_of(gold, systems, *, coefficient="tau", present=None, by_scores=False, **options):
    rankings = [Ranking.from_scores(scores) for scores in systems]
    coefficient_ = named_coefficient(coefficient, **options)
    if by_scores:
        codes = np.unique(-np.array(systems), return_inverse=True)[1].reshape(len(systems), -1)
        return Exchange.of(coefficient_, Ranking.from_scores(gold), rankings, codes, present)
    return Exchange.of(coefficient_, Ranking.from_scores(gold), rankings, present=present)


def places_on(scale, shape):
    """The code of each item of each system, in the order of gold; 0 for missing items."""
    places = np.zeros(shape, np.int64)
    places[scale.systems, scale.items] = scale.codes
    return places


def exchange_places(places, present, choices):
    """Places after one exchange, shape (n_systems, n_items): systems with an item permute its places."""
    places_after = places.copy()
    for item, has in enumerate(present.T):
        owners = np.flatnonzero(has).tolist()
        takers = list(owners)
        for last in range(len(owners) - 1, 0, -1):
            other = int(choices[item, last - 1]) * (last + 1) // 2**32
            takers[last], takers[other] = takers[other], takers[last]
        for system, taker in zip(owners, takers, strict=True):
            places_after[taker, item] = places[system, item]
    return places_after


def value(coefficient, gold, numbers):
    with warnings.catch_warnings(action="ignore", category=UndefinedCorrelationWarning):
        return float(coefficient(gold, Ranking.from_ranks(numbers)))


@given(
    NAMES,
    SYSTEMS,
    weighings().filter(lambda weighing: "TopK" not in repr(weighing)),
    TIED_WEIGHT,
    st.booleans(),
    st.data(),
)
def test_coefficients_are_those_of_the_exchanged_places(name, lists, weighing, tied, by_scores, data):
    gold, systems = lists
    present = np.array([data.draw(st.lists(st.booleans(), min_size=gold.size, max_size=gold.size)) for _ in systems])
    present[:, :2] = True
    for system, has in zip(systems, present, strict=True):
        system[~has] = -1.0  # below all others
    options = {**weighing[0], "tied_weights": tied}
    exchange = exchange_of(gold, systems, coefficient=name, present=present, by_scores=by_scores, **options)
    best_first = Ranking.from_scores(gold).best_first
    has = present[:, best_first]
    choices = exchange.draw_choices(np.random.default_rng(0), 3)
    choices[0] = STAY
    result = exchange.coefficients_after(choices)
    assert result.shape == (1 if by_scores else 2, 3, len(systems))
    coefficient = named_coefficient(name, **options)
    for scale, values in zip(exchange.scales, result, strict=True):
        places = places_on(scale, has.shape)
        for chances, row in zip(choices, values, strict=True):
            after = exchange_places(places, has, chances)
            expected = [
                value(coefficient, gold[best_first][mask], row[mask]) for mask, row in zip(has, after, strict=True)
            ]
            assert_allclose(row, expected, rtol=0, atol=1e-11)


@given(NAMES, SYSTEMS, st.booleans())
def test_keeping_all_items_changes_nothing_and_exchanging_all_swaps_the_systems(name, lists, by_scores):
    gold, systems = lists[0], lists[1][:2]
    exchange = exchange_of(gold, systems, coefficient=name, by_scores=by_scores)
    coefficient = named_coefficient(name)
    expected = [value(coefficient, gold, Ranking.from_scores(system).ranks) for system in systems]
    choices = np.array([np.full((gold.size, 1), choice) for choice in (STAY, GO)])
    for coefficients_kept, coefficients_swapped in exchange.coefficients_after(choices):
        assert_allclose(coefficients_kept, expected, rtol=0, atol=1e-12)
        assert_allclose(coefficients_swapped, expected[::-1], rtol=0, atol=1e-12)
    assert_array_equal(exchange.observed(), exchange.coefficients_after(choices)[0, 0])
    assert exchange.net_shares(choices).tolist() == [1, -1]


@given(SYSTEMS)
def test_each_scale_has_the_order_and_the_ties_of_each_system(lists):
    gold, systems = lists
    best_first = Ranking.from_scores(gold).best_first
    for by_scores in (False, True):
        exchange = exchange_of(gold, systems, by_scores=by_scores)
        for scale in exchange.scales:
            assert (np.diff(scale.codes) >= 0).all()
            for places, system in zip(places_on(scale, exchange.present.shape), systems, strict=True):
                assert_array_equal(Ranking.from_ranks(places).ranks, Ranking.from_scores(system[best_first]).ranks)


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(scores(n), scores(n))))
def test_the_heaviest_chain_has_equal_places_in_both_systems(lists):
    first, second = (Ranking.from_scores(scores).ranks for scores in lists)
    places = common_scale(np.array([2 * first, 2 * second]), np.ones((2, first.size), bool))
    cells = sorted(zip(first, -second, strict=True))
    weights = [cells.count(cell) for cell in sorted(set(cells))]
    keys = [(int(2 * one), int(-2 * other)) for one, other in sorted(set(cells))]
    chain = np.empty(len(keys), np.int64)
    arguments = np.array(keys), np.array(weights)
    length = kernels.heaviest_chain(*np.array(keys).T.copy(), arguments[1], 2 * first.size + 1, chain)
    members = chain[:length][::-1]
    assert (np.diff(arguments[0][members], axis=0) > 0).all()
    heaviest = naive.heaviest_chain(*zip(*keys, strict=True), weights)
    assert arguments[1][members].sum() == heaviest
    # An item between two members of the chain may have its partner's place by chance.
    assert (places[0] == places[1]).sum() >= heaviest
    assert_array_equal(places[0], scipy.stats.rankdata(first, "dense") - 1)


def test_items_between_two_members_of_the_chain_are_spread_evenly():
    # The chain is a, d, e; between a and d the first system has b and c, the second f, g and h. Groups are placed
    # at the middle of their shares: 1/6, 3/6 and 5/6 of two places.
    present = np.array([[1, 1, 1, 1, 1, 0, 0, 0], [1, 0, 0, 1, 1, 1, 1, 1]], bool)
    halves = np.array([[2, 4, 6, 8, 10, 99, 99, 99], [2, 99, 99, 10, 12, 4, 6, 8]])
    places = common_scale(halves, present)
    assert_allclose(places[0, :5], [0, 1, 2, 3, 4])
    assert_allclose(places[1, [0, 3, 4]], [0, 3, 4])
    assert_allclose(places[1, 5:], [0.5 + 2 / 6, 0.5 + 1, 0.5 + 10 / 6])
    # If the first system has no item there, they share the gap.
    halves[0, 3:5], present[0, 1:3] = [4, 6], False
    assert_allclose(common_scale(halves, present)[1, 5:], [1 / 6, 3 / 6, 5 / 6])


@pytest.mark.parametrize("number", range(1, 40))
def test_equally_many_groups_between_two_members_of_the_chain_have_the_same_places(number):
    # Both systems have the two outer items, and each has equally many different items between them.
    present = np.zeros((2, 2 + 2 * number), bool)
    present[:, :2], present[0, 2 : 2 + number], present[1, 2 + number :] = True, True, True
    halves = np.full(present.shape, 2 * number + 99)
    halves[:, 0], halves[:, 1] = 2, 2 * number + 4
    halves[0, 2 : 2 + number] = halves[1, 2 + number :] = 4 + 2 * np.arange(number)
    places = common_scale(halves, present)
    assert_array_equal(places[0, 2 : 2 + number], places[1, 2 + number :])


@given(st.integers(2, 9).flatmap(lambda n: st.tuples(scores(n), scores(n), scores(n))))
def test_scales_do_not_depend_on_the_order_of_the_systems(lists):
    gold, *systems = lists
    # Two systems that reverse each other are equally good on any scale if gold ties their items.
    ranks = [Ranking.from_scores(scores).ranks for scores in systems]
    assume(sorted(zip(gold, *ranks, strict=True)) != sorted(zip(gold, *ranks[::-1], strict=True)))
    one, other = (exchange_of(gold, pair_of_systems) for pair_of_systems in (systems, systems[::-1]))
    for first, second in zip(one.scales, other.scales, strict=True):
        shape = 2, gold.size
        assert_array_equal(places_on(first, shape), places_on(second, shape)[::-1])


def test_a_failed_item_moves_no_other_item_on_the_common_scale():
    good = np.arange(12.0)
    failing = np.where(good == 9, -1, good)
    halves = 2 * np.array([Ranking.from_scores(scores).ranks for scores in (good, failing)])
    scales = find_scales(halves, np.ones((2, 12), bool))
    of_ranks, common = (places_on(scale, (2, 12)) for scale in scales)
    assert (of_ranks[0] == of_ranks[1]).sum() == 2  # the two best
    assert np.flatnonzero(common[0] != common[1]).tolist() == [9]


def test_ranks_are_relative_to_the_items_of_a_system():
    present = np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool)
    first, _ = find_scales(np.array([[2, 4, 6, 8], [2, 4, 7, 7]]), present)
    # (rank - 1/2) / n: 1/8, 3/8, 5/8 and 7/8 against 1/4 and 3/4
    assert first.codes.tolist() == list(range(6))
    result = list(zip(first.systems.tolist(), first.items.tolist(), strict=True))
    assert result == [(0, 0), (1, 0), (0, 1), (0, 2), (1, 1), (0, 3)]


def check_same_rows(coefficients, others):
    """Check that rows of coefficients, including nan, are the same in some order."""
    rows = (np.nan_to_num(np.round(values, 9) + 0.0, nan=9.0).tolist() for values in (coefficients, others))
    assert_allclose(*map(sorted, rows), rtol=0, atol=2e-9)


@given(NAMES, SYSTEMS, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(name, lists, by_scores, random):
    gold, systems = lists[0], lists[1][:2]
    order = random.sample(range(gold.size), gold.size)
    choices = np.where(all_swaps(gold.size) == 1, GO, STAY)[:, :, np.newaxis]
    one, other = (
        exchange_of(gold[rows], [scores[rows] for scores in systems], coefficient=name, by_scores=by_scores)
        for rows in (np.arange(gold.size), order)
    )
    for ours, theirs in zip(one.coefficients_after(choices), other.coefficients_after(choices), strict=True):
        check_same_rows(ours, theirs)


@given(NAMES, SYSTEMS.filter(lambda lists: lists[0].size > 2), st.booleans(), st.data())
def test_leaving_out_an_item_keeps_the_exchanges_of_the_others(name, lists, by_scores, data):
    gold, systems = lists[0], lists[1][:2]
    place = data.draw(st.integers(0, gold.size - 1))
    item = Ranking.from_scores(gold).best_first[place]
    result = exchange_of(gold, systems, coefficient=name, by_scores=by_scores).drop_item(place)
    others = [np.delete(scores, item) for scores in systems]
    expected = exchange_of(np.delete(gold, item), others, coefficient=name, by_scores=by_scores)
    # All exchanges, sorted, because leaving out an item may reorder items that are tied in gold.
    choices = np.where(all_swaps(gold.size - 1) == 1, GO, STAY)[:, :, np.newaxis]
    for ours, theirs in zip(result.coefficients_after(choices), expected.coefficients_after(choices), strict=True):
        check_same_rows(ours, theirs)


def test_every_permutation_of_the_systems_has_the_same_share_of_choices():
    # Systems agree except on the best item, which is first, in the middle and last.
    gold = np.arange(8.0)
    systems = np.tile(gold, (3, 1))
    systems[:, 7] = 9.0, 3.5, -1.0
    exchange = exchange_of(gold, systems, by_scores=True)
    choices = np.full((6, 8, 2), STAY)
    cells = itertools.product((1 / 4, 3 / 4), (1 / 6, 3 / 6, 5 / 6))
    choices[:, 0] = np.array(list(cells)) * 2.0**32
    values = exchange.coefficients_after(choices)[0]
    best, middle, worst = exchange.observed()
    assert best > middle > worst
    assert sorted(values.tolist()) == sorted(map(list, itertools.permutations([best, middle, worst])))


@pytest.mark.needs_numba
def test_two_systems_keep_half_of_their_items_and_choices_are_independent():
    exchange = exchange_of(np.arange(8.0), np.random.default_rng(0).normal(size=(2, 8)))
    stays = exchange.draw_choices(np.random.default_rng(3), 30_000)[:, :, 0] > STAY // 2
    net_shares = exchange.net_shares(exchange.draw_choices(np.random.default_rng(3), 30_000))
    assert_allclose(net_shares, 2 * stays.mean(axis=1) - 1)
    bound = 5 * np.sqrt(0.25 / 29_999)
    assert np.abs(stays.mean(axis=0) - 0.5).max() < bound
    assert np.abs((stays[1:] == stays[:-1]).mean(axis=0) - 0.5).max() < bound
    assert np.abs((stays[:, 1:] == stays[:, :-1]).mean(axis=0) - 0.5).max() < bound


def refusal_rate(draw, n_samples=300, n_systems=2):
    """Share of samples whose systems are found to have different scales."""
    number = 0
    for seed in range(n_samples):
        rows = draw(np.random.default_rng([5, seed]), (n_systems, 30))
        codes = np.unique(-rows, return_inverse=True)[1].reshape(rows.shape)
        number += not on_one_scale(codes)
    return number / n_samples


@pytest.mark.parametrize("n_systems", [2, 5])
@pytest.mark.parametrize("draw", [np.random.Generator.normal, lambda rng, shape: rng.normal(size=shape).round()])
def test_systems_of_one_distribution_are_on_one_scale(draw, n_systems):
    def standard(rng, shape):
        return draw(rng, size=shape) if draw is np.random.Generator.normal else draw(rng, shape)

    # One in a hundred is rejected; a binomial count with that share exceeds the bound with probability 0.001.
    assert refusal_rate(standard, n_systems=n_systems) <= scipy.stats.binom.ppf(0.999, 300, 0.01) / 300


def test_systems_that_are_shifted_or_stretched_are_on_two_scales():
    assert refusal_rate(lambda rng, shape: rng.normal([[0], [3]], size=shape), n_samples=20) == 1
    assert refusal_rate(lambda rng, shape: np.exp(1 + rng.normal(size=shape)) * [[1], [9]], n_samples=20) == 1


@given(st.integers(2, 4), st.integers(2, 20), st.integers(0, 50))
def test_the_scale_does_not_depend_on_the_order_of_systems_and_items(n_systems, n_items, seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 9, (n_systems, n_items)) + rng.integers(0, 3, (n_systems, 1))
    turned = codes[rng.permutation(n_systems)][:, rng.permutation(n_items)]
    assert on_one_scale(codes) == on_one_scale(turned)


def test_long_lists_are_compared_in_steps():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 1_000))
    for stretch, expected in ((1.0, True), (1.6, False)):
        codes = np.unique(-scores * [[1], [stretch]], return_inverse=True)[1].reshape(scores.shape)
        assert on_one_scale(codes) is expected


def test_the_test_of_scales_holds_few_exchanges_of_many_scores():
    codes = np.random.default_rng(0).integers(0, 200, (20, 10_000))
    tracemalloc.start()
    assert on_one_scale(codes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30 * codes.nbytes  # 20 exchanges at once take 62 times as much


def test_permutations_of_the_same_numbers_are_ranks_unless_some_are_tied():
    assert not on_one_scale(np.array([[0, 1, 2, 3], [3, 0, 1, 2]]))
    assert not on_one_scale(np.array([[0, 1, 2, 3], [0, 1, 2, 3]]))
    assert on_one_scale(np.array([[0, 1, 1, 3], [1, 0, 1, 3]]))
    assert on_one_scale(np.zeros((2, 4), np.int64))


def test_distances_use_only_common_items():
    rng = np.random.default_rng(0)
    gold, *systems = rng.normal(size=(4, 30))
    exchange = exchange_of(gold, systems)
    shares = np.array([Ranking.from_scores(scores).ranks / 30 for scores in systems])
    squares = (shares[:, np.newaxis] - shares) ** 2
    assert_allclose(exchange.distances(), squares.mean(axis=2), rtol=0, atol=1e-14)
    expected = np.maximum(0, squares.mean(axis=2) - squares.std(axis=2) / np.sqrt(30))
    assert_allclose(exchange.lower_distances(), expected, rtol=0, atol=1e-14)
    present = np.ones((3, 30), bool)
    present[0, :10] = present[1, 5:20] = False
    for system, has in zip(systems, present, strict=True):
        system[~has] = -9
    partial = exchange_of(gold, systems, present=present)
    both = present[0] & present[1]
    pairs = zip(systems[:2], present[:2], strict=True)
    first, second = (np.array(Ranking.from_scores(system[has]).ranks) / has.sum() for system, has in pairs)
    differences = first[both[present[0]]] - second[both[present[1]]]
    assert_allclose(partial.distances()[0, 1], np.mean(differences**2), rtol=1e-12)


def test_coefficients_are_standardized_by_system():
    rng = np.random.default_rng(0)
    gold, *systems = rng.normal(size=(3, 12))
    plain = exchange_of(gold, systems)
    mapped = replace(plain, exponents=np.array([-1.0, 2.0]))
    values = plain.coefficients_after(plain.draw_choices(np.random.default_rng(1), 50))
    expected = np.stack([standardize(values[:, :, 0], -1.0), standardize(values[:, :, 1], 2.0)], axis=2)
    assert_array_equal(mapped.coefficients_after(mapped.draw_choices(np.random.default_rng(1), 50)), expected)


def codes_of(*systems):
    return codes_of_scores({f"system {number}": as_ranking(system) for number, system in enumerate(systems)})


def test_scores_of_all_systems_have_a_common_order():
    codes = codes_of([3, 1.5], np.array([3, 2]), {"x": 1.5, "y": 9}, pandas.Series([0.0, 1.5], ["u", "v"]))
    assert [part.tolist() for part in codes[:2]] == [[1, 3], [1, 2]]
    assert codes[2:] == [{"x": 3, "y": 0}, {"u": 4, "v": 3}]
    assert codes_of_items(codes[2], ["y", "z", "x"]).tolist() == [0, BELOW_ALL, 3]
    # Integers that are equal as floats
    large, beside = codes_of([2**53, 2**53 + 1], np.array([2.0**53, 0.0]))
    assert [large.tolist(), beside.tolist()] == [[1, 0], [1, 2]]


def test_a_system_with_only_ranks_has_no_codes():
    with pytest.raises(OptionError, match='swap="scores" exchanges scores, but system 1 has only ranks; give its'):
        codes_of([1, 2], Ranking.from_ranks([1, 2]))


def test_systems_exchange_whole_clusters():
    gold, one, other = [6.0, 5, 4, 3, 2, 1], [5.0, 6, 4, 3, 1, 2], [2.0, 4, 6, 1, 5, 3]
    clusters = ["a", "b", "a", "c", "b", "b"]
    coefficient = Tau()

    def difference(first, second):
        return coefficient(gold, first).statistic - coefficient(gold, second).statistic

    exchanged = []
    for swaps in itertools.product((False, True), repeat=3):
        is_swapped = [swaps["abc".index(cluster)] for cluster in clusters]
        first = [q if swapped else p for p, q, swapped in zip(one, other, is_swapped, strict=True)]
        second = [p if swapped else q for p, q, swapped in zip(one, other, is_swapped, strict=True)]
        exchanged.append((difference(first, second), 1 - 2 * sum(is_swapped) / 6))
    observed = difference(one, other)
    result = compare_systems(gold, one, other, coefficient="tau", swap="scores", clusters=clusters, level=0.5)
    assert result.exact
    assert result.pvalue == naive.share_as_extreme(0.0, observed, exchanged)
    ends = naive.differences_not_rejected(0.5, observed, exchanged, bound=2.0)
    assert_allclose((result.low, result.high), ends, atol=1e-12)
    board = leaderboard(gold, {"one": one, "other": other}, coefficient="tau", swap="scores", clusters=clusters)
    assert board.rows[1].pvalue == result.pvalue
    named = [dict(zip("uvwxyz", values, strict=True)) for values in (gold, one, other)]
    of_labels = dict(zip("uvwxyz", clusters, strict=True))
    assert compare_systems(*named, coefficient="tau", swap="scores", clusters=of_labels).pvalue == result.pvalue


def test_items_of_a_cluster_are_exchanged_together():
    rng = np.random.default_rng(0)
    gold, *systems = map(Ranking.from_scores, rng.normal(size=(3, 60)))
    clusters = np.arange(60) // 3
    exchange = Exchange.of(Tau(), gold, systems, clusters=clusters)
    choices = exchange.draw_choices(rng, 4)[:, :, 0]
    for cluster in range(20):
        choices_of_cluster = choices[:, clusters[gold.best_first] == cluster]
        assert_array_equal(choices_of_cluster, choices_of_cluster[:, [0, 0, 0]])
    assert exchange.drop_item(5).draw_choices(rng, 2).shape == (2, 59, 1)
    assert (exchange.n_units, exchange.drop_item(5).n_units) == (20, 20)


@pytest.mark.parametrize(
    ("gold", "clusters", "message"),
    [
        ([3, 2, 1], ["a", "b"], "clusters must be a sequence of 3 clusters"),
        ([3, 2, 1], {0: "a"}, "clusters must be a sequence of 3 clusters"),
        ([3, 2, 1], ["a", "b", float("nan")], "every item needs a cluster; got nan"),
        ({"u": 3, "v": 2}, {"u": "a"}, "every item needs a cluster; without one"),
        ({"u": 3, "v": 2}, ["a", "b"], "clusters must be a mapping of label to cluster"),
        ({"u": 3, "v": 2}, pandas.Series(["a", None], ["u", "v"]), "every item needs a cluster; got (None|nan)"),
        ([3, 2, 1], ["a", "b", pandas.NA], "every item needs a cluster; got <NA>"),
        ([3, 2, 1], ["a", "b", ""], "every item needs a cluster; got ''"),
        ([3, 2, 1], {"a", "b", "c"}, "clusters must be a sequence of 3 clusters"),
        ([3, 2, 1], np.ones((3, 2)), "the name of a cluster must be hashable"),
    ],
)
def test_each_item_needs_a_cluster(gold, clusters, message):
    with pytest.raises(OptionError, match=message):
        compare_systems(gold, gold, gold, clusters=clusters)


def test_a_series_names_the_cluster_of_each_label():
    rng = np.random.default_rng(2)
    labels = [f"word {number}" for number in range(9)]
    rankings = [dict(zip(labels, values, strict=True)) for values in rng.normal(size=(3, 9))]
    topics = dict(zip(labels, "abcabcabc", strict=True))
    expected = compare_systems(*rankings, clusters=topics).pvalue
    for series in (pandas.Series(topics), pandas.Series(topics)[::-1].astype("category")):
        assert compare_systems(*rankings, clusters=series).pvalue == expected
    with pytest.raises(DuplicateLabelError, match="'word 0'"):
        compare_systems(*rankings, clusters=pandas.Series(["a"] * 10, [*labels, "word 0"]))


def test_whole_numbers_match_items_by_their_decimal_text():
    rankings = [dict(enumerate(values)) for values in np.random.default_rng(5).normal(size=(3, 9))]
    topics = {item: item % 3 for item in range(9)}
    result = compare_systems(*rankings, clusters={str(item): topic for item, topic in topics.items()})
    assert result.pvalue == compare_systems(*rankings, clusters=topics).pvalue
    with pytest.raises(OptionError, match="every item needs one cluster; with more: '7'"):
        compare_systems(*rankings, clusters=topics | {"7": 2})


def test_clusters_of_one_item_change_nothing():
    rng = np.random.default_rng(3)
    gold, *systems = rng.normal(size=(4, 20))
    names = rng.permutation(20).tolist()
    options = {"n_resamples": 99, "workers": 1}
    assert repr(compare_systems(gold, *systems[:2], clusters=names, **options)) == repr(
        compare_systems(gold, *systems[:2], **options)
    )
    named = dict(zip("abc", systems, strict=True))
    board, clustered = (leaderboard(gold, named, **options, clusters=clusters) for clusters in (None, names))
    assert (board.unit, clustered.unit) == ("items", "clusters")
    assert clustered.to_dict() | {"unit": "items"} == board.to_dict()


ALTERNATIVES = st.sampled_from(["two-sided", "greater", "less"])
LEVELS = st.sampled_from([0.5, 0.8, 0.9, 0.95])
EIGHTHS = st.integers(-8, 8).map(lambda number: number / 8)


@st.composite
def distributions(draw):
    """Few distinct values, many ties; keeping all gives the difference, and exchanging all its negative."""
    observed, number = draw(EIGHTHS), draw(st.integers(1, 30))
    shares = [1.0, *(draw(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.5, 1.0])) for _ in range(number - 1))]
    rows = [
        [m * observed if abs(m) == 1 else draw(st.one_of(EIGHTHS, EIGHTHS, st.just(math.nan))) for m in shares]
        for _ in range(draw(st.integers(1, 2)))
    ]
    return ExchangeDistribution(observed, np.array(rows), np.array(shares), draw(st.booleans()))


@given(distributions(), ALTERNATIVES)
def test_the_p_value_is_the_share_of_exchanges_as_extreme(distribution, alternative):
    pairs = [list(zip(row, distribution.net_shares.tolist(), strict=True)) for row in distribution.differences.tolist()]
    expected = max(
        naive.share_as_extreme(0.0, distribution.observed, row, alternative, distribution.is_exact) for row in pairs
    )
    assert_allclose(distribution.pvalue(alternative), expected, rtol=1e-12)


@given(distributions(), ALTERNATIVES, LEVELS)
def test_the_interval_has_the_differences_that_are_not_rejected(distribution, alternative, level):
    pairs = [list(zip(row, distribution.net_shares.tolist(), strict=True)) for row in distribution.differences.tolist()]
    arguments = (alternative, distribution.is_exact)
    ends = [naive.differences_not_rejected(alpha_of(level), distribution.observed, row, *arguments) for row in pairs]
    expected = min(low for low, _ in ends), max(high for _, high in ends)
    low, high = distribution.interval(level, alternative, 2.0)
    assert_allclose((low, high), expected, rtol=0, atol=1e-9)
    assert (low > 0 or high < 0) == (distribution.pvalue(alternative) <= alpha_of(level))
    # Every p-value between the ends is above alpha, and every one beyond them is not.
    for true in np.linspace(-2, 2, 33).tolist():
        shares = [
            naive.share_as_extreme(true, distribution.observed, row, alternative, distribution.is_exact)
            for row in pairs
        ]
        if min(abs(true - low), abs(true - high)) > 1e-6:
            assert (max(shares) > alpha_of(level)) == (low < true < high)


def test_an_undefined_difference_is_never_rejected():
    distribution = ExchangeDistribution(math.nan, np.array([[0.1, math.nan, 0.3]]), np.array([1.0, 0.0, -0.5]), True)
    assert (distribution.pvalue(), distribution.interval(0.5, bound=2.0), distribution.n_undefined) == (
        1.0,
        (-2.0, 2.0),
        1,
    )
    scales = ExchangeDistribution(0.1, np.array([[0.1, math.nan, 0.3], [math.nan, math.nan, 0.1]]), np.zeros(3), True)
    assert scales.n_undefined == 2


def test_too_few_exchanges_never_reject():
    distribution = ExchangeDistribution(0.7, np.array([[0.1] * 9]), np.zeros(9), False)
    assert distribution.pvalue() == 0.1
    assert distribution.interval(0.9) != distribution.interval(0.95) == (-math.inf, math.inf)


def test_the_detectable_difference_of_normal_exchanges_is_that_of_a_normal_test():
    values = np.random.default_rng(0).normal(0, 0.3, 100_000)
    expected = 0.3 * (scipy.stats.norm.ppf(0.975) + scipy.stats.norm.ppf(0.8))
    distribution = ExchangeDistribution(0.2, values[np.newaxis], np.zeros(values.size), False)
    assert_allclose(distribution.detectable(0.95), expected, rtol=0.02)
    twice = ExchangeDistribution(0.2, np.array([values, 2 * values]), np.zeros(values.size), False)
    assert twice.detectable(0.95) == pytest.approx(2 * distribution.detectable(0.95))


def test_exchanges_that_change_nothing_detect_nothing():
    for is_exact in (False, True):
        assert math.isnan(ExchangeDistribution(0.0, np.zeros((1, 4)), np.zeros(4), is_exact).detectable(0.95))
        assert math.isnan(ExchangeDistribution(0.0, np.full((1, 4), math.nan), np.zeros(4), is_exact).detectable(0.95))


def flips(values, observed=0.0):
    """The mean of some values plus a difference, and its values after all flips of signs."""
    signs = 1.0 - 2.0 * all_swaps(len(values))
    values = np.array(values) - np.mean(values) + observed
    return ExchangeDistribution(float(observed), (signs @ values / len(values))[np.newaxis], signs.mean(axis=1), True)


@given(
    st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0, 2.0]), min_size=6, max_size=6), st.sampled_from([0.9, 0.95])
)
def test_the_detectable_difference_is_significant_in_four_of_five_flips(values, level):
    noise = (1 + 0.9 / 5) * math.sqrt(6 / 5) * (np.array(values) - np.mean(values))
    least = flips(values).detectable(level)
    for observed in (-1.5, 3.0):
        assert_allclose(flips(values, observed).detectable(level), least, rtol=1e-9)
        assert_array_equal(flips(values, observed).detectable(level, bound=1e-3), math.nan)
    if np.abs(noise).max() <= 1e-9:
        assert math.isnan(least)
        return

    def power(difference):
        signs = list(itertools.product((1, -1), repeat=6))
        result = [
            naive.share_as_extreme(0.0, float(np.mean(data)), naive_flips(data)) for data in signs * noise + difference
        ]
        return np.mean(np.array(result) <= 1 - level + 1e-12)

    assert power(least + 1e-6) >= 0.8
    assert power(least - 1e-6) < 0.8 + 1e-9


def naive_flips(data):
    """Mean after each flip of signs, and the share of kept signs minus that of flipped ones."""
    return [(float(np.mean(row * data)), float(np.mean(row))) for row in itertools.product((1, -1), repeat=len(data))]


def test_five_queries_detect_nothing():
    assert math.isnan(flips([0.1, 0.3, -0.2, 0.4, 0.0]).detectable(0.95))
    assert math.isnan(flips([0.1]).detectable(0.95))


def test_a_p_value_of_3_in_60_is_not_above_1_in_20():
    assert 1 - 0.95 > 0.05
    assert alpha_of(0.95) == 3 / 60


def test_all_swaps_are_the_cartesian_product():
    assert_array_equal(sorted(all_swaps(4).tolist()), sorted(map(list, itertools.product([0, 1], repeat=4))))
