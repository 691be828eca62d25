import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import Rho, RhoW, StandardizationError, Tau, TauW, Uniform, WeightError, null_distribution
from rankcorr._checks import collected_notices
from rankcorr._weights import SCHEMES, TIED_WEIGHTS, TopK
from rankcorr._workers import Draws
from rankcorr.evaluation import _nulls as nulls
from rankcorr.evaluation._grouped import (
    GOLD_TIED,
    NO_WEIGHT,
    ONE_ITEM,
    RUN_TIED,
    blocks_of,
    group_coefficients,
    reasons,
)
from rankcorr.evaluation._nulls import MOST_DRAWN, drawn_exponents, standardization
from rankcorr.evaluation._query_kernels import MOST_PAIRED
from rankcorr.inference._null import MAX_EXACT_ITEMS
from tests import naive
from tests.rankcorr.evaluation.cases import flatten
from tests.strategies import scores, weighings


def groups_of_scores(max_groups=4, max_items=9):
    """Lists of pairs of score vectors, ties common; groups may have one row."""
    pair = st.integers(1, max_items).flatmap(lambda n: st.tuples(scores(n), scores(n)))
    return st.lists(pair, min_size=1, max_size=max_groups)


def correlate_each(coefficient, pairs):
    """The coefficient of each group alone; nan for a single row or without weight."""
    values = []
    with collected_notices():
        for x, y in pairs:
            try:
                values.append(float(coefficient(x, y)) if x.size > 1 else np.nan)
            except WeightError:
                values.append(np.nan)
    return values


@pytest.mark.needs_numba
@given(groups_of_scores(), weighings(), st.sampled_from(SCHEMES), st.sampled_from(TIED_WEIGHTS), st.sampled_from("ab"))
def test_every_option_gives_the_double_sum_of_each_group(pairs, weighing, scheme, tied_weights, variant):
    options, f = weighing
    expected = []
    for pair in pairs:
        a, b = (naive.midranks(scores.tolist()) for scores in pair)
        try:
            weights = naive.item_weights(a, b, f, scheme, tied_weights)
        except ZeroDivisionError:  # no item has weight
            weights = []
        is_defined = len(weights) > 1
        tau_w = naive.weighted_tau(a, b, weights, variant) if is_defined else math.nan
        expected.append((tau_w, naive.weighted_rho(a, b, weights) if is_defined else math.nan))
    shared = {**options, "scheme": scheme, "tied_weights": tied_weights}
    values = [group_coefficients(value, *flatten(pairs)) for value in (TauW(**shared, variant=variant), RhoW(**shared))]
    np.testing.assert_allclose(np.transpose(values), expected, atol=1e-12)


@given(groups_of_scores(max_groups=6, max_items=14))
def test_each_group_equals_a_single_call(pairs):
    for coefficient in (TauW(), TauW(variant="a"), RhoW(), Tau(), Rho(), TauW(weigher=Uniform())):
        np.testing.assert_allclose(
            group_coefficients(coefficient, *flatten(pairs)), correlate_each(coefficient, pairs), atol=1e-12
        )


@pytest.mark.needs_numba
@pytest.mark.parametrize("levels", [1, 2, 6, 10**6])
@pytest.mark.parametrize("n_items", [MOST_PAIRED - 1, MOST_PAIRED, MOST_PAIRED + 1, 2_000])
def test_small_and_large_groups_equal_single_calls(n_items, levels):
    rng = np.random.default_rng(n_items)
    sizes = (3, n_items, 2, n_items + 1)
    pairs = [(rng.integers(0, levels, n).astype(float), rng.integers(0, 9, n).astype(float)) for n in sizes]
    for coefficient in (TauW(), TauW(n0=0, tied_weights="expected", variant="a"), RhoW(tied_weights="expected"), Tau()):
        np.testing.assert_allclose(
            group_coefficients(coefficient, *flatten(pairs)), correlate_each(coefficient, pairs), rtol=0, atol=1e-12
        )


def test_a_ranking_with_itself_and_its_reverse_are_exact():
    x = np.array([3.0, 1.0, 2.0, 2.0, 5.0])
    for coefficient in (TauW(), RhoW(), Tau(), Rho()):
        values = group_coefficients(coefficient, np.tile(x, 2), np.append(x, -x), np.array([0, 5, 10]))
        assert values.tolist() == [1.0, -1.0] or coefficient.name in ("tau_w", "rho_w")
        assert values[0] == 1.0
        assert values[1] >= -1.0


def test_a_custom_weigher_is_called_for_each_length_and_named_in_errors():
    def steep(ranks):
        if ranks.max() > 3:
            raise ValueError("too long")
        return ranks**-3.0

    x = np.array([1.0, 2.0, 3.0, 1.0, 2.0])
    result = group_coefficients(TauW(weigher=steep), x, x[::-1].copy(), np.array([0, 3, 5]))
    expected = correlate_each(TauW(weigher=steep), [(x[:3], x[:1:-1]), (x[3:], x[1::-1])])
    np.testing.assert_allclose(result, expected, atol=1e-12)
    with pytest.raises(WeightError, match="for a list of 5 documents: steep failed"):
        group_coefficients(TauW(weigher=steep), x, x, np.array([0, 5]))


@pytest.mark.needs_numba
def test_the_values_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 900, 900)
    offsets = np.append(0, np.cumsum(sizes))
    x, y = rng.integers(0, 9, offsets[-1]).astype(float), rng.standard_normal(offsets[-1])
    steps = []
    one = group_coefficients(TauW(), x, y, offsets, workers=1)
    two = group_coefficients(TauW(), x, y, offsets, workers=2, progress=steps.append)
    assert one.tobytes() == two.tobytes()
    assert sum(steps) == 900
    assert len(steps) > 1


def test_blocks_contain_every_group_once():
    offsets = np.array([0, 0, 5, 5, 9, 30, 31])
    for n_rows in (1, 4, 100):
        groups = [group for block in blocks_of(offsets, n_rows) for group in range(block.start, block.stop)]
        assert groups == list(range(6))
    assert blocks_of(np.array([0]), 4) == []


def test_undefined_values_have_a_reason():
    x = np.array([1.0, 1.0, 1.0, 2.0, 1.0, 9.0, 1.0, 2.0, 3.0])
    y = np.array([1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 2.0, 1.0, 3.0])
    offsets = np.array([0, 2, 4, 5, 5, 9])
    values = group_coefficients(TauW(), x, y, offsets)
    assert reasons(values, x, y, offsets) == {0: GOLD_TIED, 1: RUN_TIED, 2: ONE_ITEM, 3: ONE_ITEM}
    top = TauW(weigher=TopK(1), scheme="multiplicative")
    nothing = group_coefficients(top, np.array([2.0, 1.0]), np.array([1.0, 2.0]), np.array([0, 2]))
    assert reasons(nothing, np.array([2.0, 1.0]), np.array([1.0, 2.0]), np.array([0, 2])) == {0: NO_WEIGHT}


OPTIONS = {"n_resamples": 500, "seed": 1}
DRAWS = Draws(**OPTIONS)


def shuffle_items(rng, pair):
    order = rng.permutation(len(pair[0]))
    return pair[0][order], rng.permutation(pair[1])


def draw_groups(n_groups, rng, n_items=40):
    pairs = []
    for _ in range(n_groups):
        levels = rng.choice(4, n_items, p=rng.dirichlet(np.ones(4)))
        levels[:2] = 0, 3
        pairs.append((levels, rng.permutation(n_items)))
    return pairs


def test_groups_of_one_length_and_tie_pattern_share_a_null():
    rng = np.random.default_rng(0)
    kinds = [
        (np.array([3, 1, 1, 0, 0, 0, 2, 2, 5, 7]), np.arange(10)),
        (np.array([3, 1, 1, 0, 0, 2, 2, 2, 5, 7]), np.arange(10)),  # ties of the same sizes in another order
        (np.arange(10), np.array([1, 1, 2, 3, 4, 5, 6, 7, 8, 9])),
        (np.arange(11), np.arange(11)),
    ]
    pairs = [shuffle_items(rng, kinds[kind]) for kind in (0, 1, 2, 3, 0, 1, 2, 3)]
    result = standardization(TauW(), *flatten(pairs), DRAWS)
    assert (result.n_patterns, result.n_drawn) == (4, 4)
    assert math.isnan(result.error)
    assert result.exponents[:4].tolist() == result.exponents[4:].tolist()
    assert len(set(result.exponents.tolist())) == 4


def test_short_lists_have_the_exact_null():
    pairs = [(np.array([2, 1, 1, 0]), np.array([1, 2, 3, 4])), (np.arange(MAX_EXACT_ITEMS), np.arange(MAX_EXACT_ITEMS))]
    for coefficient in (TauW(), RhoW(n0=0)):
        result = standardization(coefficient, *flatten(pairs), DRAWS)
        expected = [null_distribution(*pair, coefficient=coefficient).exponent for pair in pairs]
        assert result.exponents.tolist() == expected


@pytest.mark.wide
@pytest.mark.needs_numba
def test_longer_lists_have_the_null_of_the_library():
    rng = np.random.default_rng(3)
    pairs = draw_groups(3, rng)
    weighted = (TauW(), TauW(n0=0, tied_weights="expected"), RhoW(scheme="multiplicative"), TauW(scheme="first"))
    for coefficient in weighted:
        result = standardization(coefficient, *flatten(pairs), Draws(20_000, 1))
        expected = [null_distribution(*pair, coefficient=coefficient, n_resamples=20_000).exponent for pair in pairs]
        np.testing.assert_allclose(result.exponents, expected, atol=0.03)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_many_patterns_are_interpolated_within_the_stated_error():
    rng = np.random.default_rng(4)
    pairs = draw_groups(MOST_DRAWN + 150, rng)
    x, y, offsets = flatten(pairs)
    result = standardization(TauW(), x, y, offsets, DRAWS)
    assert result.n_patterns > MOST_DRAWN >= result.n_drawn > MOST_DRAWN // 2
    assert 0 <= result.error < 0.02
    means = []
    for group in range(0, len(pairs), 14):
        null = null_distribution(*pairs[group], n_resamples=4_000)
        means.append(nulls.mean_standardized(null.values, float(result.exponents[group])))
    assert np.sqrt(np.mean(np.square(means))) < 0.02  # the standard deviation of chance is 0.25


@pytest.mark.parametrize("weigher", [TopK(2), lambda ranks: np.exp(-40 * (ranks - 1))])
def test_traits_are_finite_even_if_ties_at_the_top_leave_no_weight(weigher):
    tied, untied = [1.0] * 8 + [0.0] * 8, [*range(16)]
    x, y, offsets = flatten([(tied, untied), (untied, tied), (untied, untied), (tied, tied[4:] + tied[:4])])
    _, traits, usable = nulls._traits(TauW(weigher=weigher), x, y, offsets, 1, lambda _: None)
    assert usable[:3].tolist() == [0, 1, 2]
    assert np.isfinite(traits).all()


@pytest.mark.needs_numba
def test_results_depend_on_the_seed_but_not_on_threads():
    x, y, offsets = flatten(draw_groups(20, np.random.default_rng(5)))
    one = standardization(TauW(), x, y, offsets, DRAWS)
    two = standardization(TauW(), x, y, offsets, replace(DRAWS, workers=2))
    other = standardization(TauW(), x, y, offsets, Draws(500, 2))
    assert one.exponents.tolist() == two.exponents.tolist() != other.exponents.tolist()


def test_values_without_a_chance_level_are_not_transformed():
    x, y, offsets = flatten([([1.0], [2.0]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [3, 1, 2])])
    result = standardization(TauW(), x, y, offsets, DRAWS)
    assert result.exponents[0] == result.exponents[1] == 0.0
    assert result.exponents[2] < 0
    assert standardization(Tau(), x, y, offsets, DRAWS).exponents.tolist() == [0.0, 0.0, 0.0]
    empty = standardization(TauW(), x[:1], y[:1], offsets[:2], DRAWS)
    assert (empty.exponents.tolist(), empty.n_patterns) == ([0.0], 0)


@pytest.mark.needs_numba
def test_a_chance_level_at_the_edge_is_an_error():
    x, y, offsets = flatten([(np.arange(200), np.arange(200))])
    with pytest.raises(StandardizationError, match="use a larger n0"):
        standardization(TauW(n0=-0.99999, scheme="multiplicative"), x, y, offsets, DRAWS)


class Unhashable:
    """A weigher that is compared by value, and not hashed."""

    __hash__ = None

    def __call__(self, ranks):
        return 1 / ranks

    def __eq__(self, other):
        return type(other) is Unhashable


@pytest.mark.parametrize("coefficient", [TauW(), RhoW(weigher=Unhashable())])
def test_drawn_exponents_do_not_depend_on_other_groups(coefficient, monkeypatch):
    monkeypatch.setattr(nulls, "_known_exponents", {})
    pairs = [*draw_groups(6, np.random.default_rng(6), n_items=12), (np.array([1.0]), np.array([2.0]))]
    exponents = drawn_exponents(coefficient, *flatten(pairs), **OPTIONS)
    assert exponents.tolist() == drawn_exponents(coefficient, *flatten(pairs), **OPTIONS).tolist()
    monkeypatch.setattr(nulls, "MOST_COEFFICIENTS", 0)  # clears the cache
    for place, pair in enumerate(pairs):
        assert drawn_exponents(coefficient, *flatten([pair]), **OPTIONS).tolist() == [exponents[place]]
    few = standardization(coefficient, *flatten(pairs), DRAWS)
    assert few.exponents.tolist() == exponents.tolist()  # few patterns are all drawn
    monkeypatch.setattr(nulls, "MOST_KNOWN", 2)
    assert drawn_exponents(coefficient, *flatten(pairs), **OPTIONS).tolist() == exponents.tolist()
    assert all(not known for known in nulls._known_exponents.values())
