"""Values in messages, counts in words, options that are numbers, and notices."""

import math
import threading
import tracemalloc
import warnings
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr import OptionError, UndefinedCorrelationWarning, correlate_many, weighted_rho
from rankcorr._checks import (
    check_rng,
    collected_notices,
    counted,
    counted_need,
    give_notice,
    real_number,
    shown,
    whole_number,
)

LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=8)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=4)
        | st.sets(st.integers(), max_size=4)
        | st.frozensets(st.integers(), max_size=4)
    ),
)


@given(VALUES)
def test_a_value_is_shown_by_its_repr_on_one_line(value):
    text = " ".join(repr(value).split())
    assert shown(value) == (text if len(text) <= 60 else f"{text[:57]}...")


@pytest.mark.parametrize(
    "value", ["1", None, True, np.True_, 1j, [1], Decimal(1), np.array([1.0]), np.timedelta64(1, "s")]
)
def test_options_must_be_numbers(value):
    """Many functions use these checks; their tests have one value out of range."""
    assert math.isnan(real_number(value))
    assert whole_number(value) is None


@pytest.mark.parametrize(("value", "expected_whole"), [(2, 2), (np.int8(2), 2), (2.0, None), (np.float32(2), None)])
def test_numbers_may_be_of_any_type(value, expected_whole):
    assert real_number(value) == 2
    assert whole_number(value) == expected_whole
    assert real_number(Fraction(10**400)) == math.inf


def nest_lists(n_levels):
    value = []
    for _ in range(n_levels):
        value = [value]
    return value


class BrokenRepr:
    def __repr__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (nest_lists(100_000), "[" * 57 + "..."),
        ({"key": nest_lists(2_000)}, "{'key': " + "[" * 49 + "..."),
        ("x" * 10**7, "'" + "x" * 56 + "..."),
        (b"x" * 10**7, "b'" + "x" * 55 + "..."),
        ("a" + " " * 1_000 + "b", "'a..."),
        (10**5_000, "int that cannot be shown"),
        ([1, 10**5_000], "[1, int that cannot be shown]"),
        (BrokenRepr(), "BrokenRepr that cannot be shown"),
    ],
    ids=["deep", "deep in a dict", "text", "bytes", "blanks", "digits", "digits in a list", "broken"],
)
def test_long_deep_and_broken_values(value, text):
    assert shown(value) == text


def test_a_long_value_costs_no_more_than_a_short_one():
    rows = [[1.5] * 1_000] * 1_000
    values = (rows, {"a": rows}, tuple(rows), set(range(100_000)), dict.fromkeys(range(100_000)), "x" * 10**6)
    tracemalloc.start()
    try:
        for value in values:
            shown(value)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000


@pytest.mark.parametrize("rng", [None, 0, np.random.RandomState(0), np.random])
def test_a_generator_must_be_one_of_numpy(rng):
    with pytest.raises(OptionError, match=r"rng must be a numpy\.random\.Generator, such as .*; got "):
        check_rng(rng)
    assert check_rng(np.random.default_rng(0)) is None


@pytest.mark.parametrize(("number", "text"), [(0, "0 votes"), (1, "1 vote"), (2, "2 votes"), (1000, "1,000 votes")])
def test_things_are_counted_in_words(number, text):
    assert counted(number, "vote") == text
    assert counted_need(number, "vote") == f"{text} need{'s' if number == 1 else ''}"


UNDEFINED = "the correlation is undefined: all items that have weight are tied in one ranking"


def test_collected_notices_are_not_warnings():
    with warnings.catch_warnings(record=True, action="always") as caught, collected_notices() as notices:
        weighted_rho([1, 2], [3, 3])
        correlate_many([1, 2], {"flat": [3, 3]})
    assert caught == []
    assert notices[0] == UNDEFINED
    assert "'flat'" in notices[1]


def test_after_the_block_a_warning_is_a_warning_again():
    with collected_notices():
        pass
    with pytest.warns(UndefinedCorrelationWarning, match=UNDEFINED):
        weighted_rho([1, 2], [3, 3])


def test_nested_blocks_collect_separately():
    with collected_notices() as outer:
        with collected_notices() as inner:
            weighted_rho([1, 2], [3, 3])
        assert len(inner) == 1
        assert outer == []
        weighted_rho([1, 2], [3, 3])
    assert outer == [UNDEFINED]


def test_threads_do_not_mix():
    both_inside = threading.Barrier(2, timeout=120)

    def n_notices(scores):
        with collected_notices() as notices:
            both_inside.wait()
            weighted_rho([1, 2], scores)
            both_inside.wait()
            return len(notices)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(n_notices, [[3, 3], [1, 2]])) == [1, 0]


def test_a_notice_of_any_kind_points_to_the_caller_of_the_public_function():
    def public():
        give_notice("three left", UserWarning)

    with pytest.warns(UserWarning, match="three left") as caught:
        public()
    assert caught[0].filename == __file__
    with collected_notices() as notices:
        public()
    assert notices == ["three left"]
