import math
from dataclasses import replace

import numpy as np
import pytest

from rankcorr import RhoW, StandardizationError, Tau, TauW, null_distribution
from rankcorr.evaluation import _nulls as nulls
from rankcorr.evaluation._nulls import MOST_DRAWN, drawn_exponents, standardization
from rankcorr.inference._conventions import MAX_EXACT_ITEMS
from rankcorr.inference._resampling import Draws
from tests.rankcorr.evaluation.cases import flat

OPTIONS = {"n_resamples": 500, "seed": 1}
DRAWS = Draws(**OPTIONS)


def shuffled(rng, pair):
    order = rng.permutation(len(pair[0]))
    return pair[0][order], rng.permutation(pair[1])


def many_patterns(n_groups, rng, n_items=40):
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
        (np.array([3, 1, 1, 0, 0, 2, 2, 2, 5, 7]), np.arange(10)),  # the same sizes of ties in another order
        (np.arange(10), np.array([1, 1, 2, 3, 4, 5, 6, 7, 8, 9])),
        (np.arange(11), np.arange(11)),
    ]
    pairs = [shuffled(rng, kinds[kind]) for kind in (0, 1, 2, 3, 0, 1, 2, 3)]
    found = standardization(TauW(), *flat(pairs), DRAWS)
    assert (found.n_patterns, found.n_drawn) == (4, 4)
    assert math.isnan(found.error)
    assert found.exponents[:4].tolist() == found.exponents[4:].tolist()
    assert len(set(found.exponents.tolist())) == 4


def test_short_lists_have_the_exact_null():
    pairs = [(np.array([2, 1, 1, 0]), np.array([1, 2, 3, 4])), (np.arange(MAX_EXACT_ITEMS), np.arange(MAX_EXACT_ITEMS))]
    for coefficient in (TauW(), RhoW(n0=0)):
        found = standardization(coefficient, *flat(pairs), DRAWS)
        wanted = [null_distribution(*pair, coefficient=coefficient).exponent for pair in pairs]
        assert found.exponents.tolist() == wanted


@pytest.mark.wide
@pytest.mark.needs_numba
def test_longer_lists_have_the_null_of_the_library():
    rng = np.random.default_rng(3)
    pairs = many_patterns(3, rng)
    weighted = (TauW(), TauW(n0=0, tied_weights="expected"), RhoW(scheme="multiplicative"), TauW(scheme="first"))
    for coefficient in weighted:
        found = standardization(coefficient, *flat(pairs), Draws(20_000, 1))
        wanted = [null_distribution(*pair, coefficient=coefficient, n_resamples=20_000).exponent for pair in pairs]
        np.testing.assert_allclose(found.exponents, wanted, atol=0.03)


@pytest.mark.wide
@pytest.mark.needs_numba
def test_many_patterns_are_interpolated_with_an_error_that_holds():
    rng = np.random.default_rng(4)
    pairs = many_patterns(MOST_DRAWN + 150, rng)
    x, y, offsets = flat(pairs)
    found = standardization(TauW(), x, y, offsets, DRAWS)
    assert found.n_patterns > MOST_DRAWN >= found.n_drawn > MOST_DRAWN // 2
    assert 0 <= found.error < 0.02
    means = []
    for group in range(0, len(pairs), 14):
        null = null_distribution(*pairs[group], n_resamples=4_000)
        means.append(nulls.mean_standardized(null.values, float(found.exponents[group])))
    assert np.sqrt(np.mean(np.square(means))) < 0.02  # the standard deviation of chance is 0.25


@pytest.mark.needs_numba
def test_the_answer_does_not_depend_on_threads_and_repeats_with_its_seed():
    x, y, offsets = flat(many_patterns(20, np.random.default_rng(5)))
    one = standardization(TauW(), x, y, offsets, DRAWS)
    two = standardization(TauW(), x, y, offsets, replace(DRAWS, workers=2))
    other = standardization(TauW(), x, y, offsets, Draws(500, 2))
    assert one.exponents.tolist() == two.exponents.tolist() != other.exponents.tolist()


def test_what_has_no_chance_level_has_the_identity():
    x, y, offsets = flat([([1.0], [2.0]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [3, 1, 2])])
    found = standardization(TauW(), x, y, offsets, DRAWS)
    assert found.exponents[0] == found.exponents[1] == 0.0
    assert found.exponents[2] < 0
    assert standardization(Tau(), x, y, offsets, DRAWS).exponents.tolist() == [0.0, 0.0, 0.0]
    empty = standardization(TauW(), x[:1], y[:1], offsets[:2], DRAWS)
    assert (empty.exponents.tolist(), empty.n_patterns) == ([0.0], 0)


@pytest.mark.needs_numba
def test_a_chance_level_at_the_edge_is_an_error():
    x, y, offsets = flat([(np.arange(200), np.arange(200))])
    with pytest.raises(StandardizationError, match="a larger n0 helps"):
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
    pairs = [*many_patterns(6, np.random.default_rng(6), n_items=12), (np.array([1.0]), np.array([2.0]))]
    whole = drawn_exponents(coefficient, *flat(pairs), **OPTIONS)
    assert whole.tolist() == drawn_exponents(coefficient, *flat(pairs), **OPTIONS).tolist()
    monkeypatch.setattr(nulls, "MOST_COEFFICIENTS", 0)  # nothing is known any more
    for place, pair in enumerate(pairs):
        assert drawn_exponents(coefficient, *flat([pair]), **OPTIONS).tolist() == [whole[place]]
    few = standardization(coefficient, *flat(pairs), DRAWS)
    assert few.exponents.tolist() == whole.tolist()  # so few patterns are all drawn
    monkeypatch.setattr(nulls, "MOST_KNOWN", 2)
    assert drawn_exponents(coefficient, *flat(pairs), **OPTIONS).tolist() == whole.tolist()
    assert all(not known for known in nulls._known_exponents.values())
