"""Share of the inverse-square weight that the top ranks hold, also as a table, and the n0 for a given share.

All results rest on S(m, c) = sum_{j=0}^{c-1} 1/(m+j)^2 = psi1(m) - psi1(m+c), m = n0 + 1, psi1 the trigamma function.
For large n0 the two terms agree in almost all digits, and so do a share and its limit k/n_items, whose difference is
needed too. The sums are therefore computed in decimal arithmetic, with as many more digits as the differences cancel,
and only the result is rounded to a float. The cost does not depend on n_items.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, localcontext
from fractions import Fraction
from typing import Any, Final

from rankcorr._checks import checked_count, real_number, shown, whole_number
from rankcorr._output.results import TableResult, columns_of
from rankcorr._weights import DEFAULT_N0, check_offset
from rankcorr.errors import OptionError, ShareError

DEFAULT_TOP: Final = 10
MAX_TOP: Final = 100_000

# 40 digits: 10 may be lost and a float is still rounded correctly. Never the caller's context, which may trap
# inexact results.
_CONTEXT = Context(prec=40, traps=[DivisionByZero, InvalidOperation, Overflow])

# Bernoulli numbers B_16, B_14, ..., B_2, in the order of Horner's rule. At 32, where the series starts, the first
# term left out, B_18 / 32^19 = 1.4e-27, is 5e-26 of the sum.
_SERIES_START = 32
_BERNOULLI = ((-3617, 510), (7, 6), (-691, 2730), (5, 66), (-1, 30), (1, 42), (-1, 30), (1, 6))

# The secant method roughly multiplies the last two errors: a last step of 1e-15 leaves about 1e-25.
_STEP_TOLERANCE = Decimal("1e-15")


def first_rank_share(n0: float, n_items: int | None = None) -> float:
    """Share of the weight that the first rank holds, R(n0).

    R(n0) = f(1) / sum_n f(n) = 1 / ((n0+1)^2 psi1(n0+1)), f(n) = 1/(n+n0)^2, psi1 the trigamma function
    (Lombardo et al. 2020); for a finite list the sum stops at `n_items`. Correct to the last digit at every n0.

    Parameters
    ----------
    n0 : float
        Offset of the weights, greater than -1. The share falls from 1 to 1/n_items as n0 grows.
    n_items : int, optional
        Length of the list; None is an infinite list.

    Returns
    -------
    float
        The share, between 0 and 1.

    Raises
    ------
    WeightError
        n0 is not a finite number greater than -1.
    ShareError
        n_items is not a positive integer.

    See Also
    --------
    top_share : The share of the first k ranks.
    offset_for_share : The n0 that gives a wanted share.

    Examples
    --------
    >>> from rankcorr import first_rank_share
    >>> round(first_rank_share(0), 4)  # 6 / pi^2
    0.6079
    >>> round(first_rank_share(2), 4)
    0.2813
    >>> round(first_rank_share(2, n_items=10), 4)
    0.3528
    """
    return top_share(1, n0, n_items)


def top_share(k: int, n0: float, n_items: int | None = None) -> float:
    """Share of the weight that the first k ranks hold.

    [psi1(n0+1) - psi1(n0+k+1)] / [psi1(n0+1) - psi1(n0+n_items+1)], psi1 the trigamma function; the last term
    is absent for an infinite list. For k = 1 this is R(n0) of Lombardo et al. 2020. Correct to the last digit
    at every n0.

    Parameters
    ----------
    k : int
        Number of top ranks, at least 1.
    n0 : float
        Offset of the weights 1/(n+n0)^2, greater than -1. The share falls from 1 to k/n_items as n0 grows.
    n_items : int, optional
        Length of the list, at least k; None is an infinite list.

    Returns
    -------
    float
        The share, between 0 and 1; exactly 1 if k = n_items.

    Raises
    ------
    WeightError
        n0 is not a finite number greater than -1.
    ShareError
        k or n_items is not a positive integer, or n_items is less than k.

    See Also
    --------
    first_rank_share : The share of the first rank.
    offset_for_share : The n0 that gives a wanted share.
    item_weights : The weights of the items of two rankings.

    Examples
    --------
    >>> from rankcorr import top_share
    >>> round(top_share(10, 2), 4)
    0.7975
    >>> round(top_share(10, 2, n_items=990), 4)
    0.7996
    >>> top_share(10, 2, n_items=10)
    1.0
    """
    k, n_items = _checked_sizes(k, n_items)
    offset = check_offset(n0)
    with localcontext(_CONTEXT):
        top, rest = _top_and_rest(Decimal(offset) + 1, k, n_items)
        return float(top / (top + rest))


def offset_for_share(share: float, k: int = 1, n_items: int | None = None) -> float:
    """Offset n0 that gives the first k ranks this share of the weight; the inverse of `top_share`.

    Correct to the last digit for the exact value of the float `share`. Just above k/n_items the last digit of
    `share` decides: for n_items = 10 the float 0.1, which exceeds 1/10 by 6e-18, is reached at n0 = 1.6e17.

    Parameters
    ----------
    share : float
        Wanted share, in the open interval (k/n_items, 1), or (0, 1) for an infinite list. The ends are the
        limits for n0 to infinity (all weights equal) and n0 to -1 (all weight on the first rank).
    k : int, default 1
        Number of top ranks that hold the share.
    n_items : int, optional
        Length of the list, greater than k; None is an infinite list.

    Returns
    -------
    float
        The offset n0 > -1.

    Raises
    ------
    ShareError
        No offset gives this share (the message names the feasible range); the offset is beyond the largest float, as
        for share = 1e-310 of an infinite list; or k or n_items is not a positive integer, or n_items is not greater
        than k.

    See Also
    --------
    top_share, first_rank_share : The share that an n0 gives.
    rankcorr.plots.plot_offset : A coefficient as a function of n0.

    Examples
    --------
    >>> from rankcorr import offset_for_share
    >>> round(offset_for_share(0.2813), 3)
    2.001
    >>> round(offset_for_share(0.5, k=10, n_items=990), 3)
    9.694
    """
    k, n_items = _checked_sizes(k, n_items)
    if k == n_items:
        raise ShareError(f"k must be less than n_items: the first {k} of {k} ranks hold share 1 at every n0")
    lower = Fraction(k, n_items) if n_items else Fraction(0)
    share_value = real_number(share)
    if not lower < share_value < 1:
        ends = f"(k/n_items, 1) = ({k}/{n_items}, 1)" if n_items else "(0, 1)"
        raise ShareError(f"share must lie in the open interval {ends}; got {shown(share)}")
    excess = (Fraction(share_value) - lower) / (1 - Fraction(share_value))
    with localcontext(_CONTEXT):
        n0 = float(_solve_excess(Decimal(excess.numerator) / excess.denominator, k, n_items) - 1)
    if math.isinf(n0):
        raise ShareError(f"share {shown(share)} is so close to its lower end that its n0 is beyond the largest float")
    return n0


@dataclass(frozen=True)
class RankShare:
    """The share of the weight that one rank has.

    Attributes
    ----------
    rank : int
    weight : float
        Share of this rank.
    cumulative_share : float
        Share of all ranks up to this one.
    """

    rank: int
    weight: float
    cumulative_share: float


@dataclass(frozen=True, eq=False)
class WeightTable(TableResult):
    """Shares of the weight 1/(n + n0)^2.

    Attributes
    ----------
    n0 : float
        Offset: `n0`, or the one that gives the top ranks `share`.
    first_rank_share : float
        R(n0).
    n_items : int or None
        Length of the list; None is an infinite list.
    ranks : tuple of RankShare
        The share of each rank.
    """

    n0: float
    first_rank_share: float
    n_items: int | None
    ranks: tuple[RankShare, ...]

    def _columns(self) -> dict[str, Any]:
        return columns_of(RankShare, self.ranks)

    def _title(self) -> str:
        length = "an endless list" if self.n_items is None else f"{self.n_items:,} items"
        return f"weights at n0 = {self.n0:g}, {length}"


def weight_table(
    n0: float | None = None,
    *,
    share: float | None = None,
    k: int | None = None,
    top: int | None = None,
    n_items: int | None = None,
) -> WeightTable:
    """Tabulate the shares of the top ranks.

    Parameters
    ----------
    n0 : float, optional
        Offset; 2 by default. It cannot be combined with `share`.
    share : float, optional
        Find the n0 that gives the first `k` ranks (1 by default) this share; see `offset_for_share`.
    k : int, optional
        Number of top ranks that hold `share`; only with `share`.
    top : int, optional
        Number of ranks to list; by default 10, or `k` if that is more, and at most the length of the list.
    n_items : int, optional
        Length of the list; None is an infinite list.

    Raises
    ------
    OptionError
        The options contradict each other, or `top` is beyond the end of the list.
    ShareError, WeightError
        As `offset_for_share` and `top_share`; `ShareError` also if `top` is not a whole number from 1 to 100,000.

    Examples
    --------
    >>> [round(rank.cumulative_share, 3) for rank in weight_table(2, top=3).ranks]
    [0.281, 0.44, 0.541]
    """
    if share is not None and n0 is not None:
        raise OptionError("give n0 or share, not both")
    if share is None and k is not None:
        raise OptionError("k has no effect without share")
    offset = offset_for_share(share, 1 if k is None else k, n_items) if share is not None else n0
    offset = DEFAULT_N0 if offset is None else check_offset(offset)
    first = first_rank_share(offset, n_items)  # checks n_items
    if top is None:
        listed = min(max(DEFAULT_TOP, k or 1), n_items or MAX_TOP, MAX_TOP)
    else:
        listed = whole_number(top) or 0
        if not 1 <= listed <= MAX_TOP:
            raise ShareError(f"top must be a whole number from 1 to {MAX_TOP}; got {shown(top)}")
        if n_items is not None and listed > n_items:
            raise OptionError(f"top is {listed}, but n_items is {n_items}")
    # f(n) / f(1) times the first share: differences of cumulative shares would lose digits.
    ranks = tuple(
        RankShare(rank, first * ((offset + 1) / (offset + rank)) ** 2, top_share(rank, offset, n_items))
        for rank in range(1, listed + 1)
    )
    return WeightTable(float(offset), first, n_items, ranks)


def _checked_sizes(k: object, n_items: object) -> tuple[int, int | None]:
    """`k` and `n_items` as plain integers with 1 <= k <= n_items."""
    checked_k = checked_count(k, "k", ShareError)
    if n_items is None:
        return checked_k, None
    checked_n_items = whole_number(n_items)
    if checked_n_items is None or checked_n_items < checked_k:
        raise ShareError(f"n_items must be a whole number of at least k = {checked_k}, if given; got {shown(n_items)}")
    return checked_k, checked_n_items


def _solve_excess(target: Decimal, k: int, n_items: int | None) -> Decimal:
    """Root m of E(m) = target by the secant method in log E against log m.

    The slope of log E runs from -2 for small m, where E ~ 1/m^2, to -1 for large m, where E ~ k/m, and lies
    between them for m from 1e-9 to 1e11 with k and n_items - k up to 1e6 (mpmath, 60 digits). So does the
    slope of any secant, and every step shrinks the error; the clamp guards against rounding. At most eight steps were
    needed anywhere in the range.
    """
    m, slope, step, gap = k / target, Decimal(-1), Decimal(0), Decimal(0)
    while True:
        previous_gap, gap = gap, (_excess(m, k, n_items) / target).ln()
        if step:
            slope = min(max((gap - previous_gap) / step, Decimal(-2)), Decimal(-1))
        step = -gap / slope
        m *= step.exp()
        if abs(step) < _STEP_TOLERANCE:
            return m


def _excess(m: Decimal, k: int, n_items: int | None) -> Decimal:
    """E(m) = (share - k/n_items) / (1 - share): well conditioned at both ends of the range of shares."""
    with localcontext() as context:
        context.prec += (m + k).adjusted()  # the first term is at most 1 + m/n_items times the difference
        top, rest = _top_and_rest(m, k, n_items)
        if n_items is None:
            return top / rest
        return ((n_items - k) * top - k * rest) / (n_items * rest)


def _top_and_rest(m: Decimal, k: int, n_items: int | None) -> tuple[Decimal, Decimal]:
    """Weights of the ranks up to `k` and of those after `k`, with 1/m^2 for the first rank."""
    with localcontext() as context:
        context.prec += (m + k).adjusted()  # psi1(x) is about 1 + x/c times psi1(x) - psi1(x+c); x <= m + k
        top = _inverse_square_sum(m, Decimal(k))
        rest = _inverse_square_sum(m + k, Decimal("inf") if n_items is None else Decimal(n_items - k))
    return top, rest


def _inverse_square_sum(m: Decimal, count: Decimal) -> Decimal:
    """S(m, count): direct terms up to `_SERIES_START`, then the difference of two asymptotic series."""
    n_direct = int(min(Decimal(max(_SERIES_START - int(m), 0)), count))
    direct = sum((1 / (m + j) ** 2 for j in range(n_direct)), Decimal(0))
    return direct + (_trigamma_series(m + n_direct) - _trigamma_series(m + count))


def _trigamma_series(x: Decimal) -> Decimal:
    """psi1(x) ~ 1/x + 1/(2 x^2) + sum_j B_2j / x^(2j+1), x >= `_SERIES_START`; 0 at infinity."""
    inverse = 1 / x
    square = inverse * inverse
    tail = Decimal(0)
    for numerator, denominator in _BERNOULLI:
        tail = (tail + Decimal(numerator) / denominator) * square
    return inverse + square / 2 + inverse * tail
