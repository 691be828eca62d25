"""Inputs of plans for property tests, and numbers that are not what a plan takes."""

import math
from fractions import Fraction

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

NO_INTEGERS = [True, np.True_, 2.0, np.float64(2), math.nan, "2", None, [2], Fraction(2)]
NOT_POSITIVE = [0, -1, -0.5, math.nan, math.inf, True, "5", 10**400]
PAPER = {"n_ballots": 7, "fraction": 0.5}  # section 2.5, with 990 items and M = 20


@st.composite
def shapes(draw, max_items=500):
    """Items, ballots and a fraction that leave two items for the last ballot."""
    n_items = draw(st.integers(2, max_items))
    n_ballots = draw(st.integers(2, 14))
    fraction = draw(st.sampled_from([0.25, 0.5, 0.9]) | st.floats(0.01, 0.99))
    assume(min(naive_sizes(n_items, n_ballots, fraction)) >= 2)
    return n_items, {"n_ballots": n_ballots, "fraction": fraction}


def naive_sizes(n_items, n_ballots, fraction):
    """Eq. 2 with Python's round."""
    sizes = [n_items]
    while len(sizes) < n_ballots:
        sizes.append(round(fraction * sizes[-1]))
    return sizes
