import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankcorr
from rankcorr import Ranking, TauW, TopK, UndefinedCorrelationWarning, Uniform, weighted_tau
from rankcorr._bounds import coefficient_bounds
from rankcorr._coefficients import named_coefficient
from tests import naive
from tests.results import with_coefficient
from tests.strategies import SCHEME

NAIVE = {"tau_w": naive.weighted_tau, "rho_w": naive.weighted_rho}


@st.composite
def two_lists(draw):
    """Two short lists of labels with ties, and the number of items in neither."""
    lists = []
    for _ in range(2):
        labels = draw(st.permutations("abcdef"))[: draw(st.integers(2, 4))]
        scores = draw(st.lists(st.integers(0, 4), min_size=len(labels), max_size=len(labels)))
        lists.append(dict(zip(labels, scores, strict=True)))
    unlisted = draw(st.integers(0, 6 - len({*lists[0], *lists[1]})))
    return *lists, min(unlisted, 2)


def completions(scores, labels):
    """All scores of the labels in which missing items are last, in strict order."""
    lacks = [label for label in labels if label not in scores]
    for order in permutations(lacks):
        yield {**scores, **{label: -1 - place for place, label in enumerate(order)}}


def brute_force(x, y, n_unlisted, coefficient, f, scheme="additive"):
    labels = [*dict.fromkeys([*x, *y]), *range(n_unlisted)]
    values = []
    for x_scores in completions(x, labels):
        for y_scores in completions(y, labels):
            a, b = (naive.midranks([scores[label] for label in labels]) for scores in (x_scores, y_scores))
            values.append(NAIVE[coefficient](a, b, naive.item_weights(a, b, f, scheme, "midrank")))
    return values


def check_bounds(bounds, values, unlisted):
    defined = [value for value in values if not math.isnan(value)]
    assert bounds.n_completions == len(values) / math.factorial(unlisted)
    ends = min(defined, default=math.nan), max(defined, default=math.nan)
    assert (bounds.low, bounds.high) == pytest.approx(ends, rel=0, abs=1e-12, nan_ok=True)
    assert bounds.exact


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
@given(two_lists(), st.sampled_from(["tau_w", "rho_w"]), SCHEME)
def test_enumeration_equals_brute_force(lists, coefficient, scheme):
    x, y, unlisted = lists
    n_items = len({*x, *y}) + unlisted
    bounds = coefficient_bounds(x, y, coefficient=named_coefficient(coefficient, n0=0, scheme=scheme), n_items=n_items)
    values = brute_force(x, y, unlisted, coefficient, naive.inverse_square(0), scheme)
    check_bounds(bounds, values, unlisted)
    assert (bounds.method, bounds.n_items, bounds.n_computed) == ("enumeration", n_items, bounds.n_completions)


@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
@given(two_lists(), st.sampled_from(["tau", "rho"]))
def test_equal_weights_need_only_two_completions(lists, coefficient):
    x, y, unlisted = lists
    bounds = coefficient_bounds(x, y, n_items=len({*x, *y}) + unlisted, coefficient=coefficient, max_completions=1)
    check_bounds(bounds, brute_force(x, y, unlisted, f"{coefficient}_w", lambda _: 1.0), unlisted)
    assert (bounds.method, bounds.n_computed) == ("order", 2)
    uniform = named_coefficient(f"{coefficient}_w", weigher=Uniform())
    weighted = coefficient_bounds(x, y, n_items=len({*x, *y}) + unlisted, coefficient=uniform, max_completions=1)
    assert [weighted.low, weighted.high] == pytest.approx([bounds.low, bounds.high], abs=0, nan_ok=True)


@given(two_lists(), st.sampled_from(["tau_w", "rho_w"]), st.integers(0, 3), st.integers(1, 60))
@pytest.mark.filterwarnings("ignore::rankcorr.UndefinedCorrelationWarning")
def test_a_search_stays_within_the_true_bounds(lists, coefficient, seed, limit):
    x, y, unlisted = lists
    options = {"n_items": len({*x, *y}) + unlisted, "coefficient": coefficient}
    exact = coefficient_bounds(x, y, **options)
    result, again = (coefficient_bounds(x, y, max_completions=limit, seed=seed, **options) for _ in range(2))
    assert result.exact is (exact.n_completions <= limit)
    assert result.n_computed <= limit
    if not math.isnan(result.low):
        assert exact.low - 1e-13 <= result.low <= result.high <= exact.high + 1e-13
    assert result == again or math.isnan(result.low)


@pytest.mark.parametrize("coefficient", ["tau_w", "rho_w"])
def test_a_search_finds_the_bounds_of_the_enumeration(coefficient):
    x, y = Ranking.from_order(list("abcdefgh")), Ranking.from_order(list("jbkalmch"))
    exact = coefficient_bounds(x, y, coefficient=coefficient)
    result = coefficient_bounds(x, y, coefficient=coefficient, max_completions=570)
    assert (exact.n_completions, exact.method) == (math.factorial(4) ** 2, "enumeration")
    assert (result.exact, result.method) == (False, "search")
    assert (result.low, result.high) == pytest.approx((exact.low, exact.high), rel=0, abs=1e-13)


def test_a_search_swaps_items_and_starts_from_random_orders():
    # Neither the order of the other list nor its reverse is extreme, and swaps from these two miss the minimum.
    x, y = Ranking.from_order(list("haefd")), Ranking.from_order(list("dcigb"))
    options = {"n0": -0.9, "scheme": "multiplicative"}
    exact = coefficient_bounds(x, y, **with_coefficient(**options))
    result = coefficient_bounds(x, y, max_completions=575, **with_coefficient(**options))
    assert (exact.n_completions, result.method) == (576, "search")
    assert (result.low, result.high) == pytest.approx((exact.low, exact.high), rel=0, abs=1e-13)


@pytest.mark.needs_numba
def test_a_search_of_long_lists_improves_on_its_starts():
    x, y = ({item: -item for item in items} for items in (range(250), range(200, 450)))
    options = {"coefficient": "rho_w", "n0": 0.0}
    starts = coefficient_bounds(x, y, max_completions=8, **with_coefficient(**options))
    result = coefficient_bounds(x, y, max_completions=4000, **with_coefficient(**options))
    assert result.low < starts.low - 1e-5
    assert result.high > starts.high + 1e-5


@pytest.mark.needs_numba
def test_a_search_of_long_lists_ends():
    x = {item: -item for item in range(300)}
    y = {item: -item for item in range(200, 500)}
    bounds = coefficient_bounds(x, y, n_items=600, max_completions=500)
    assert bounds.n_completions == math.inf
    assert (bounds.n_computed, bounds.exact, bounds.n_items) == (500, False, 600)
    assert bounds.low < bounds.high


def test_complete_lists_have_one_completion():
    x, y = {"a": 3, "b": 2, "c": 1}, {"a": 3, "b": 1, "c": 1}
    bounds = coefficient_bounds(x, y)
    assert bounds.low == bounds.high == weighted_tau(x, y).statistic
    assert (bounds.n_completions, bounds.exact, bounds.n0) == (1, True, 2.0)


def test_completions_that_are_undefined_do_not_count():
    # The two items with weight, the first in x, are tied in y unless one is missing in y.
    x, y = Ranking.from_order(["a", "b", "c"]), Ranking.from_order([["a", "b"], "d"])
    with pytest.warns(UndefinedCorrelationWarning, match="in every completion, all items that have weight") as caught:
        bounds = coefficient_bounds(x, y, coefficient=TauW(weigher=TopK(2), scheme="first"))
    assert caught[0].filename == __file__
    assert math.isnan(bounds.low)
    assert math.isnan(bounds.high)
    assert bounds.n_undefined == bounds.n_computed == 1


def test_completions_in_which_no_item_has_weight_do_not_count():
    # In no completion is an item among the two best of both lists.
    x, y = Ranking.from_order(["a", "b", "c"]), Ranking.from_order(["d", "e", "f"])
    with pytest.warns(UndefinedCorrelationWarning, match="or none has weight"):
        bounds = coefficient_bounds(x, y, coefficient=TauW(weigher=TopK(2), scheme="multiplicative"))
    assert (bounds.n_undefined, bounds.n_computed, bounds.exact) == (36, 36, True)
    # With two more items and one more place, the fourth item of a list may be from the other list, or from neither.
    # Two items have weight if both fourth items are from the other list, in opposite order; otherwise at most one has.
    some = coefficient_bounds(x, y, coefficient=TauW(weigher=TopK(4), scheme="multiplicative"), n_items=8)
    assert (some.low, some.high, some.n_completions) == (-1, -1, math.factorial(5) ** 2 / 2)
    assert some.n_undefined / some.n_computed == 1 - (3 / 5) ** 2


@pytest.mark.needs_numba
def test_a_search_without_a_defined_completion():
    x, y = Ranking.from_order(["a", "b", "c"]), Ranking.from_order(["d", "e", "f"])
    options = {"n_items": 9, "weigher": TopK(4), "scheme": "multiplicative"}
    with pytest.warns(UndefinedCorrelationWarning, match="in every completion that was computed, all items that have"):
        result = coefficient_bounds(x, y, max_completions=2, seed=1, **with_coefficient(**options))
    assert math.isnan(result.low)
    assert result.n_undefined == result.n_computed == 2
    assert coefficient_bounds(x, y, **with_coefficient(**options)).low == -1


def test_a_weigher_that_fails_at_the_ties_of_either_list_is_an_error():
    tied, untied = {"a": 2, "b": 2, "d": 1}, {"a": 3, "b": 2, "c": 1}
    for pair in ((tied, untied), (untied, tied)):
        with pytest.raises(rankcorr.WeightError, match=r"finite and not negative; got -1.0 for rank 1.5"):
            coefficient_bounds(*pair, coefficient=TauW(weigher=lambda ranks: np.where(ranks == 1.5, -1.0, 1 / ranks)))


AB, BC = {"a": 1, "b": 2}, {"b": 1, "c": 2}


@pytest.mark.parametrize(
    ("x", "y", "options", "error", "message"),
    [
        ([1, 2], AB, {}, rankcorr.LabelError, "bounds need labels.*; x has none"),
        (AB, [1, 2], {}, rankcorr.LabelError, "bounds need labels.*; y has none"),
        (AB, BC, {"n_items": 2}, rankcorr.LengthError, "at least 3, the items of both lists together; got 2"),
        (AB, BC, {"n_items": 3.5}, rankcorr.OptionError, "n_items must be a whole .* 3.5"),
    ],
)
def test_invalid_inputs_are_refused(x, y, options, error, message):
    with pytest.raises(error, match=message):
        coefficient_bounds(x, y, **with_coefficient(**options))
