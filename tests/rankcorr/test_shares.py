"""The closed forms of rankcorr._shares against brute-force sums, mpmath and scipy."""

import math
import sys
from decimal import Context, Decimal, Inexact, localcontext
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankcorr._shares import first_rank_share, offset_for_share, top_share, weight_table
from rankcorr.errors import OptionError, ShareError, WeightError

LARGEST_FLOAT = sys.float_info.max


def reference_share(k, n0, n_items):
    """psi1 formula of `top_share` by mpmath, with 60 digits more than cancel; `n0` is a float or an mpf."""
    magnitude = math.frexp(float(n0))[1] if n0 else 0
    digits = 60 + max(0, magnitude) + 3 * len(str(k)) + len(str(n_items))
    with mpmath.workdps(digits):
        m = mpmath.mpf(n0) + 1
        tail = 0 if n_items is None else mpmath.psi(1, m + n_items)
        return (mpmath.psi(1, m) - mpmath.psi(1, m + k)) / (mpmath.psi(1, m) - tail)


def assert_is_offset(n0, share, k, n_items):
    """Check that the exact solution for the float `share` is within half a spacing of the float n0.

    The share falls as n0 grows, so the solution is bracketed where the reference is above and below `share`. Below
    n0 = 1e-3, where floats get finer than the arithmetic of m = n0 + 1, the half spacing becomes 1e-19.
    """
    with mpmath.workdps(400):
        half_spacing = max(mpmath.mpf(math.ulp(n0)) * 0.5 * (1 + mpmath.mpf("1e-9")), mpmath.mpf("1e-19"))
        below, above = n0 - half_spacing, n0 + half_spacing
        assert below <= -1 or reference_share(k, below, n_items) >= share
        assert reference_share(k, above, n_items) <= share


OFFSETS = [-1 + 2**-53, -1 + 1e-12, -0.999, -0.5, 0.0, 1e-300, 0.3, 2.0, 14.9, 30.9, 31.0, 31.1, 1e3, 1e8, 1e12]
SIZES = [
    *[(1, None), (2, None), (31, None), (33, None), (1000, None), (10**9, None)],
    *[(1, 1), (1, 2), (1, 10), (1, 990), (10, 990), (989, 990), (50, 51), (7, 10**6), (10**6, 10**9)],
    *[(10**9 - 1, 10**9), (10**18, 10**18 + 1), (10**30, 10**31)],
]

offsets = st.one_of(
    st.floats(-1 + 1e-12, 50),
    st.floats(-12, 0).map(lambda exponent: -1 + 10.0**exponent),
    st.floats(0, 12).map(lambda exponent: 10.0**exponent),
    st.just(1e8),
)
sizes = st.one_of(st.integers(1, 50), st.integers(1, 10**6), st.integers(1, 10**15))


@st.composite
def lists(draw):
    """Pairs (k, n_items) with k < n_items, or n_items None."""
    k = draw(sizes)
    rest = draw(st.none() | sizes)
    return k, None if rest is None else k + rest


# --- values


def test_the_share_of_the_first_rank_is_as_published():
    # Lombardo et al. 2020, after Eq. 9: R(0) ~ 0.61 and R(2) ~ 0.28; R(2) = 0.2813... by mpmath.psi(1, 3)
    assert first_rank_share(0) == pytest.approx(6 / math.pi**2, rel=1e-15)
    assert math.floor(first_rank_share(2) * 1e4) == 2813


@pytest.mark.parametrize("n0", [-0.999, 0.0, 2.0, 40.5, 1e8, 1e200])
@pytest.mark.parametrize(("k", "n_items"), [(1, 1), (1, 7), (3, 7), (31, 40), (10, 990), (989, 990)])
def test_top_share_is_the_sum_of_weights(k, n0, n_items):
    with mpmath.workdps(50):
        weights = [1 / (n + mpmath.mpf(n0)) ** 2 for n in range(1, n_items + 1)]
        expected = mpmath.fsum(weights[:k]) / mpmath.fsum(weights)
    assert top_share(k, n0, n_items) == float(expected)


@pytest.mark.parametrize("n0", [*OFFSETS, 1e30])
@pytest.mark.parametrize(("k", "n_items"), SIZES)
def test_top_share_matches_mpmath(k, n0, n_items):
    assert top_share(k, n0, n_items) == float(reference_share(k, n0, n_items))


@given(offsets, lists())
def test_top_share_matches_mpmath_anywhere(n0, k_and_n_items):
    k, n_items = k_and_n_items
    assert top_share(k, n0, n_items) == float(reference_share(k, n0, n_items))


@given(offsets, st.none() | sizes)
def test_first_rank_share_is_the_top_share_of_one(n0, n_items):
    assert first_rank_share(n0, n_items) == top_share(1, n0, n_items)
    with mpmath.workdps(80):
        m = mpmath.mpf(n0) + 1
        infinite = 1 / (m**2 * mpmath.psi(1, m))
    assert first_rank_share(n0) == float(infinite)


@given(offsets, sizes)
def test_the_whole_list_has_all_the_weight(n0, n_items):
    assert top_share(n_items, n0, n_items) == 1.0


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (lambda: first_rank_share(1e200), 1e-200),  # psi1(m) ~ 1/m: the first of equal weights
        (lambda: first_rank_share(1e300), 1e-300),
        (lambda: top_share(1, 1e200, 990), 1 / 990),
        (lambda: top_share(3, 1e300, 990), 3 / 990),
        (lambda: top_share(990, LARGEST_FLOAT, 990), 1.0),
        (lambda: first_rank_share(math.nextafter(-1, 0)), 1.0),
        (lambda: top_share(10**400, 2, 2 * 10**400), 1.0),
        (lambda: top_share(10**400, 1e300), 1.0),
    ],
)
def test_shares_at_extreme_offsets_and_lengths_are_exact(share, expected):
    assert share() == expected


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, Fraction])
def test_numbers_may_be_of_other_types(kind):
    assert top_share(np.int64(3), kind(2), np.int32(10)) == top_share(3, 2.0, 10)
    assert first_rank_share(kind(2)) == first_rank_share(2.0)
    assert type(first_rank_share(kind(2))) is float


# --- the inverse


@given(st.floats(-0.9, 1e3), st.integers(1, 50), st.none() | st.integers(1, 1000))
def test_offset_for_share_inverts_top_share(n0, k, rest):
    n_items = None if rest is None else k + rest
    share = top_share(k, n0, n_items)
    # half a unit in the last digit of the share moves the solution by this much
    with mpmath.workdps(60):
        step = mpmath.mpf("1e-20")
        slope = (reference_share(k, n0 + step, n_items) - reference_share(k, n0 - step, n_items)) / (2 * step)
        rounding = float(math.ulp(share) / 2 / abs(slope))
    assert offset_for_share(share, k, n_items) == pytest.approx(n0, abs=1.01 * rounding + math.ulp(n0), rel=0)


@pytest.mark.parametrize(("k", "n_items"), [(k, n_items) for k, n_items in SIZES if k != n_items])
def test_offset_for_share_matches_mpmath_to_the_ends_of_the_range(k, n_items):
    lower = Fraction(k, n_items) if n_items else Fraction(0)
    inside = [1 - 2**-53, 1 - 1e-15, 1 - 1e-12, 1 - 1e-6, 0.9, 0.5, 1e-3, 1e-12]
    inside += [float(lower + (1 - lower) * Fraction(part)) for part in (1e-15, 1e-12, 1e-6, 0.01, 0.5, 0.99)]
    nearest = float(lower) if float(lower) > lower else math.nextafter(float(lower), 1)
    if n_items:
        inside += [nearest, math.nextafter(nearest, 1)]
    for share in inside:
        if lower < share < 1:
            assert_is_offset(offset_for_share(share, k, n_items), share, k, n_items)


@pytest.mark.parametrize("share", [1e-20, 1e-100, 1e-300, 1e-307])
def test_offset_for_tiny_shares_of_an_infinite_list(share):
    # A/B = share/(1 - share) with A ~ k/m and B ~ 1: n0 = k/share, further terms are of order 1
    assert offset_for_share(share) == float(1 / Fraction(share))


@given(lists(), st.floats(0, 1, exclude_min=True, exclude_max=True))
def test_offset_for_share_matches_mpmath_anywhere(k_and_n_items, part):
    k, n_items = k_and_n_items
    lower = Fraction(k, n_items) if n_items else Fraction(0)
    share = float(lower + (1 - lower) * Fraction(max(part, 1e-30)))
    if lower < share < 1:
        assert_is_offset(offset_for_share(share, k, n_items), share, k, n_items)


def test_share_is_used_exactly():
    # the float 0.1 exceeds 1/10 by 5.55e-18, so that n0 ~ k (1 - share) / (share - k/n_items)
    excess = Fraction(0.1) - Fraction(1, 10)
    assert offset_for_share(0.1, 1, 10) == pytest.approx(float(Fraction(9, 10) / excess), rel=1e-15)
    with pytest.raises(ShareError, match=r"open interval"):
        offset_for_share(1 / 3, 1, 3)  # the float is below one third


# --- the arithmetic


def test_the_decimal_context_of_the_caller_is_neither_used_nor_changed():
    expected = first_rank_share(1e8, 990), offset_for_share(0.3, 2, 990)
    with localcontext(Context(prec=3, traps=[Inexact])) as context:
        assert (first_rank_share(1e8, 990), offset_for_share(0.3, 2, 990)) == expected
        assert context.prec == 3
        assert not context.flags[Inexact]


# --- errors


@pytest.mark.parametrize(
    "n0", [-1, -1.0, -2, math.nan, math.inf, -math.inf, 10**400, "2", None, True, 2j, [2.0], Decimal(2)]
)
def test_invalid_offsets_are_refused(n0):
    with pytest.raises(WeightError, match=r"^n0 must be a finite number greater than -1; got "):
        first_rank_share(n0)
    with pytest.raises(WeightError, match=r"^n0 must be a finite number greater than -1; got "):
        top_share(3, n0, 10)


@pytest.mark.parametrize("k", [0, -1, 1.0, 2.5, "1", None, True, math.nan, np.array([1, 2])])
def test_invalid_numbers_of_ranks_are_refused(k):
    with pytest.raises(ShareError, match=r"^k must be a positive whole number; got "):
        top_share(k, 2)
    with pytest.raises(ShareError, match=r"^k must be a positive whole number; got "):
        offset_for_share(0.5, k)


@pytest.mark.parametrize("n_items", [4, 0, -1, 10.0, "10", True, False, math.inf])
def test_invalid_numbers_of_items_are_refused(n_items):
    for call in (lambda: top_share(5, 2, n_items), lambda: offset_for_share(0.5, 5, n_items)):
        with pytest.raises(ShareError, match=r"^n_items must be a whole number of at least k = 5, if given; got "):
            call()
    if n_items != 4 and n_items is not True:
        with pytest.raises(ShareError, match=r"^n_items must be a whole number of at least k = 1, if given; got "):
            first_rank_share(2, n_items)


@pytest.mark.parametrize(
    ("n_items", "shares"),
    [
        (990, [0, -0.1, 0.01, math.nextafter(10 / 990, 0), 1, 1.5, math.nan, math.inf, "0.5", None, True, 0.5j]),
        (None, [0, 0.0, -1, 1, 1.0, 2, math.nan, 10**400]),
    ],
)
def test_shares_out_of_range_are_refused(n_items, shares):
    least = r"\(k/n_items, 1\) = \(10/990, 1\)" if n_items else r"\(0, 1\)"
    for share in shares:
        with pytest.raises(ShareError, match=rf"^share must lie in the open interval {least}; got "):
            offset_for_share(share, 10, n_items)


def test_share_of_the_whole_list_has_no_inverse():
    with pytest.raises(ShareError, match=r"k must be less than n_items: the first 5 of 5 ranks hold share 1"):
        offset_for_share(0.5, 5, 5)
    with pytest.raises(ShareError, match=r"k must be less than n_items"):
        offset_for_share(1.0, 1, 1)


@pytest.mark.parametrize(
    ("share", "k", "n_items"),
    [(5e-324, 1, None), (1e-310, 1, None), (1e-300, 10**10, None), (0.5, 10**400, 2 * 10**400 + 1)],
)
def test_offset_beyond_the_largest_float(share, k, n_items):
    with pytest.raises(ShareError, match=r"so close to its lower end that its n0 is beyond the largest float"):
        offset_for_share(share, k, n_items)


def test_rows_of_a_weight_table_are_the_shares():
    table = weight_table(2, top=4, n_items=990)
    weights, cumulative = [row.weight for row in table.ranks], [row.cumulative_share for row in table.ranks]
    assert table.first_rank_share == first_rank_share(2, 990) == weights[0]
    assert cumulative == [top_share(k, 2, 990) for k in (1, 2, 3, 4)]
    differences = np.diff(cumulative).tolist()
    assert weights[1:] == pytest.approx(differences, rel=1e-12, abs=0)
    assert table.table()[1] == {"rank": 2, "weight": weights[1], "cumulative_share": cumulative[1]}


def test_weight_table_from_a_share():
    table = weight_table(share=0.5, k=12, n_items=990)
    assert table.n0 == offset_for_share(0.5, 12, 990)
    assert len(table.ranks) == 12


@pytest.mark.parametrize(
    ("options", "length"),
    [({}, 10), ({"n_items": 4}, 4), ({"n_items": 4, "top": 3}, 3), ({"n_items": 10**6, "share": 0.5, "k": 20}, 20)],
)
def test_length_of_a_weight_table(options, length):
    table = weight_table(**options)
    assert len(table.ranks) == length
    assert table.n0 == (2.0 if "share" not in options else offset_for_share(0.5, 20, 10**6))


def test_weight_table_has_a_maximal_number_of_rows(monkeypatch):
    monkeypatch.setattr("rankcorr._shares.MAX_TOP", 15)
    assert len(weight_table(share=0.5, k=20, n_items=100).ranks) == 15


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n0": 1, "share": 0.5}, OptionError, "give n0 or share, not both"),
        ({"k": 3}, OptionError, "k has no effect without share"),
        ({"top": 5, "n_items": 4}, OptionError, "top is 5, but n_items is 4"),
        ({"top": 0}, ShareError, "top must be a whole number from 1 to 100000; got 0"),
        ({"top": 100_001}, ShareError, "top must be a whole number from 1 to 100000; got 100001"),
        ({"n_items": "5"}, ShareError, "n_items must be a whole number .*; got '5'"),
        ({"n_items": 2.5, "top": 2}, ShareError, "n_items must be a whole number .*; got 2.5"),
        ({"share": 0.5, "k": 0}, ShareError, "k must be a positive whole number"),
    ],
)
def test_invalid_options_of_a_weight_table(options, error, message):
    with pytest.raises(error, match=message):
        weight_table(**options)
