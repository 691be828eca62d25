"""Rankings and lists of groups of labels for property tests; ties are common in all of them."""

import math

import numpy as np
from hypothesis import strategies as st

from rankcorr import Hyperbolic, Logarithmic, TopK, Uniform
from rankcorr._weights import SCHEMES, TIED_WEIGHTS
from tests import naive

N0S = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 10.0]), st.floats(-0.9, 1e6))
TIED_WEIGHT = st.sampled_from(TIED_WEIGHTS)
SCHEME = st.sampled_from(SCHEMES)
SYMMETRIC_SCHEME = st.sampled_from(SCHEMES[:2])


def scores(n_items):
    """Scores of n_items items: on a few levels, so that most tie, or on many, so that few do."""
    levels = st.sampled_from([1, 2, 4, 1000])
    return levels.flatmap(lambda top: st.lists(st.integers(0, top).map(float), min_size=n_items, max_size=n_items)).map(
        np.array
    )


def tied_scores(max_items=12):
    return st.integers(2, max_items).flatmap(scores)


def tied_pairs(max_items=12):
    """Two score vectors of one length."""
    return st.integers(2, max_items).flatmap(lambda n_items: st.tuples(scores(n_items), scores(n_items)))


def untied_pairs():
    """Two score vectors of one length without ties."""
    return st.integers(2, 12).flatmap(
        lambda n_items: st.tuples(*[st.permutations(range(n_items)).map(lambda p: np.array(p, float))] * 2)
    )


def distinguishing_pairs(max_items=12):
    """Two score vectors with at least two values each, so that unweighted coefficients exist."""
    return tied_pairs(max_items).filter(lambda pair: all(np.ptp(values) > 0 for values in pair))


def weighings():
    """Keyword options of the library, and the same f as a plain function for the naive implementation."""
    n0s = N0S.map(lambda n0: ({"n0": n0}, naive.inverse_square(n0)))
    plain = st.sampled_from(
        [
            ({"weigher": Hyperbolic()}, lambda rank: 1 / rank),
            ({"weigher": Logarithmic()}, lambda rank: 1 / math.log2(rank + 1)),
            ({"weigher": Uniform()}, lambda _: 1.0),
        ]
    )
    steps = st.integers(2, 15).map(lambda k: ({"weigher": TopK(k)}, lambda rank: float(rank <= k)))
    return st.one_of(n0s, plain, steps)


LABELS = "abcdefgh"


def in_groups(draw, order):
    groups = []
    for label in order:
        if not groups or draw(st.booleans()):
            groups.append([])
        groups[-1].append(label)
    return groups


@st.composite
def orders_in_groups(draw, max_items=7):
    """An order of some of the labels, divided into groups of ties."""
    return in_groups(draw, draw(st.permutations(LABELS))[: draw(st.integers(1, max_items))])


@st.composite
def pairs_in_groups(draw):
    """Two orders of the same labels, divided into groups of ties."""
    return tuple(in_groups(draw, draw(st.permutations(LABELS[:4]))) for _ in range(2))
