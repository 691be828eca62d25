import math
import numbers
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import NonNumericError, Ranking, compare_systems, correlate_many
from rankcorr._input.numbers import as_floats, exact_array, numbers_beyond_floats, order_codes
from rankcorr.inference._exchange import codes_of_scores
from tests import naive

BIG = 2**53
# Each value in every type that holds it: types that compare wrongly or not at all meet in one list.
TYPES = (int, float, Fraction, Decimal, np.int64, np.uint64, np.float32, np.float64, np.longdouble)
VALUES = (0, 1, 2**24, 2**24 + 1, BIG - 1, BIG, BIG + 1, BIG + 2, 2**62 + 1)


def exact(number):
    return Fraction(int(number)) if isinstance(number, np.integer) else Fraction(*number.as_integer_ratio())


def is_exact(kind, value):
    return exact(kind(value)) == value


NUMBERS = st.one_of(
    st.sampled_from([(kind, value) for kind in TYPES for value in VALUES if is_exact(kind, value)]).map(
        lambda pair: pair[0](pair[1])
    ),
    st.sampled_from([Fraction(1, 3), 1 / 3, Decimal("0.1"), 0.1, np.float32(0.1), np.longdouble(1) / 3]),
    st.floats(-1e20, 1e20),
)


@given(st.lists(NUMBERS, min_size=2, max_size=8))
def test_lists_of_all_types_of_numbers_are_ranked_exactly(scores):
    expected = naive.midranks([exact(score) for score in scores])
    assert Ranking.from_scores(scores).ranks.tolist() == expected
    assert Ranking.from_scores(np.array(scores, object)).ranks.tolist() == expected
    assert Ranking.from_scores(dict(enumerate(scores))).ranks.tolist() == expected


@given(st.lists(NUMBERS, min_size=2, max_size=5), st.lists(NUMBERS, min_size=2, max_size=5))
def test_scores_of_two_systems_are_put_into_one_order_exactly(first, second):
    systems = {"a": Ranking.from_scores(first), "b": Ranking.from_scores(np.array(second, object))}
    codes = np.concatenate(codes_of_scores(systems))
    numbers = list(map(exact, first + second))
    order = {number: place for place, number in enumerate(sorted(set(numbers), reverse=True))}
    assert codes.tolist() == [order[number] for number in numbers]


def test_infinities_come_before_and_after_all_others():
    scores = [np.longdouble("-inf"), Decimal("Infinity"), Decimal("1e999999"), -(10**400), math.inf, 5]
    assert order_codes(np.array(scores, object)).tolist() == [0, 4, 3, 1, 4, 2]


FIRST, SECOND = [BIG + 1, BIG, 5.5, 4], [BIG, BIG + 1, 4.0, 3]
SYSTEMS = {
    "lists": (FIRST, SECOND),
    "tuples": (tuple(FIRST), tuple(SECOND)),
    "arrays of objects": (np.array(FIRST, object), np.array(SECOND, object)),
    "pandas": (pd.Series(FIRST, dtype=object), pd.Series(SECOND, dtype=object)),
    "fractions and decimals": (list(map(Fraction, FIRST)), list(map(Decimal, SECOND))),
    "unsigned": (np.array([BIG + 1, BIG, 6, 5], np.uint64), SECOND),
    "numpy's scalars": ([np.uint64(BIG + 1), np.int64(BIG), np.float32(5.5), 4], [*map(np.int64, SECOND[:2]), 4.0, 3]),
    "long doubles": (FIRST, [np.longdouble(score) if score < BIG else score for score in SECOND]),
    "mappings": (dict(zip("abcd", FIRST, strict=True)), dict(zip("abcd", SECOND, strict=True))),
}


def exchange_pvalue(gold, first, second):
    """P-value of the difference in tau over all exchanges of scores, as fractions."""
    weights = [1 / len(gold)] * len(gold)
    gold = naive.midranks(gold)

    def difference(a, b):
        return naive.weighted_tau(gold, naive.midranks(a), weights) - naive.weighted_tau(
            gold, naive.midranks(b), weights
        )

    first, second = ([Fraction(score) for score in scores] for scores in (first, second))
    values = [(difference(a, b), kept) for a, b, kept in naive.exchanges(first, second)]
    return naive.share_as_extreme(0, difference(first, second), values)


def test_the_oracle_of_exchanges_sees_integers_beyond_2_to_53():
    assert exchange_pvalue([4, 3, 2, 1], FIRST, SECOND) == 0.375


@pytest.mark.parametrize("systems", SYSTEMS.values(), ids=SYSTEMS)
def test_integers_beyond_2_to_53_do_not_tie_in_exchanges(systems):
    labels = systems[0].keys() if hasattr(systems[0], "keys") else None
    gold = [4, 3, 2, 1] if labels is None else dict(zip(labels, [4, 3, 2, 1], strict=True))
    comparison = compare_systems(gold, *systems, swap="scores", coefficient="tau")
    scores = [system.values() if isinstance(system, dict) else list(system) for system in systems]
    assert comparison.pvalue == exchange_pvalue([4, 3, 2, 1], *([*map(exact, row)] for row in scores))


DISTINCT = (lambda row: exact(row[0]), lambda row: exact(row[1]))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=4, unique_by=DISTINCT))
def test_exchanges_of_scores_of_all_types_are_exact(rows):
    first, second = ([row[place] for row in rows] for place in (0, 1))
    gold = list(range(len(rows), 0, -1))
    comparison = compare_systems(gold, first, second, swap="scores", coefficient="tau")
    assert comparison.pvalue == exchange_pvalue(gold, *([exact(score) for score in row] for row in (first, second)))


def test_numbers_that_cannot_be_compared_are_a_named_error():
    numbers.Real.register(Unordered)
    with pytest.raises(NonNumericError, match=r"^every score must be a real number that compares with the others: "):
        Ranking.from_scores([Unordered(), 2**60])


class Unordered:
    """A real number by name that has no order."""


def test_arrays_keep_integers_that_numpy_would_round():
    for values in ([BIG + 1, 0.5], [2**64, -1], [np.uint64(BIG + 1), np.int64(-1)], [["x"], [2]]):
        assert exact_array(values).tolist() == values
    assert exact_array([1, 0.5, math.inf]).dtype == np.float64
    with pytest.raises(ValueError, match="inhomogeneous"):
        exact_array([[1], [1, 2]])


@pytest.mark.parametrize(
    ("array", "beyond"),
    [
        (np.array([BIG, -BIG]), []),
        (np.array([BIG + 1, -BIG - 1, 3]), [BIG + 1, -BIG - 1]),
        (np.array([BIG + 1, 3], np.uint64), [BIG + 1]),
        (np.array([-(2**63)]), [-(2**63)]),
        (np.array([], np.int64), []),
        (np.array([1e300, math.inf]), []),
        (np.array([1e300, Decimal("-Infinity"), Decimal(BIG + 1), Fraction(-BIG * 2 - 1, 2)], object), 2),
    ],
)
def test_numbers_that_no_float_tells_from_their_neighbours_are_listed(array, beyond):
    beyond = beyond if isinstance(beyond, list) else array[-beyond:].tolist()
    assert numbers_beyond_floats(array) == beyond


def test_floats_of_all_types():
    array = np.array([[1, Fraction(1, 4)], [Decimal("sNaN"), Decimal("-Infinity")]], object)
    np.testing.assert_array_equal(as_floats(array), [[1.0, 0.25], [math.nan, -math.inf]])


def test_frames_with_integers_beyond_2_to_53_are_ranked_exactly():
    integers, floats = [BIG + 1, BIG, 3], [float(BIG), 5.5, 4.0]
    for frame in (
        pd.DataFrame({"a": integers, "b": floats}),
        pd.DataFrame({"a": integers, "b": floats}, dtype=object),
        pl.DataFrame({"a": integers, "b": floats}),
    ):
        gold = [3, 2, 1] if isinstance(frame, pl.DataFrame) else {0: 3, 1: 2, 2: 1}
        assert correlate_many(gold, frame, coefficient="tau").statistic.tolist() == [1.0, 1.0]
        comparison = compare_systems(gold, frame["a"], frame["b"], swap="scores", coefficient="tau")
        assert comparison.pvalue == exchange_pvalue([3, 2, 1], integers, floats)
