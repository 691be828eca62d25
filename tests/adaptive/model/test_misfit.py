"""How far votes depart from the model: against loops over votes, level under the model, power where pairs go in circles."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from adaptive import Comparisons, bradley_terry
from adaptive.model.misfit import misfit
from adaptive.votes import LEFT, RIGHT
from tests.adaptive import naive
from tests.adaptive.model.fits import MODELS, OVERSIGHT, rows
from tests.adaptive.model.votes import comparisons

ATOL = 5e-3  # the library takes the factor of the strengths to three digits


@st.composite
def fits(draw):
    """Fits to few votes; ties, repeated pairs and strengths that tie are common."""
    fit, options = draw(MODELS)
    votes = draw(comparisons(min_size=1))
    with_voters = votes.voter is not None and draw(st.booleans())
    sd = draw(st.sampled_from([0.5, 2.0]))
    return fit(votes, **options, prior=sd, oversight=draw(OVERSIGHT), voters=with_voters, side_bias=draw(st.booleans()))


def spelt_out(strengths):
    """The votes without ties, as the naive model takes them, and the place of each among all votes."""
    votes = rows(strengths.comparisons, strengths.model.voters)
    return [(place, vote) for place, vote in enumerate(votes) if vote[2] != "tie"]


@given(fits())
def test_the_numbers_are_sums_over_votes(strengths):
    votes, at = strengths.comparisons, strengths.parameters
    kept = spelt_out(strengths)

    def chance(vote, factor):
        left, right, _, v = vote
        margin = at.discrimination[v] * (at.theta[left] - at.theta[right])
        # Given no tie: that of the curve alone, and an oversight turns it round.
        return naive.seen_chances(factor * margin + at.side[v], at.oversight[v], 0.0, strengths.model.link)["left"]

    def cost(log_factor):
        chances = [chance(vote, math.exp(log_factor)) for _, vote in kept]
        pairs = zip(kept, chances, strict=True)
        return -sum(math.log(max(p if vote[2] == "left" else 1 - p, 1e-300)) for (_, vote), p in pairs)

    # From each of several parts, because with many oversights there may be more than one peak.
    ends = np.linspace(math.log(0.2), math.log(10), 9)
    peaks = [minimize_scalar(cost, bounds=part, method="bounded") for part in zip(ends[:-1], ends[1:], strict=True)]
    factor = math.exp(min(peaks, key=lambda peak: peak.fun).x)

    residual, variance, favoured, distance, pair = [], [], [], [], []
    for _, vote in kept:
        left, right, winner, v = vote
        p = chance(vote, factor)
        residual.append((winner == "left") - p)
        variance.append(p * (1 - p))
        stronger = "left" if at.theta[left] >= at.theta[right] else "right"
        favoured.append(residual[-1] if stronger == "left" else -residual[-1])
        distance.append(at.discrimination[v] * abs(at.theta[left] - at.theta[right]))
        pair.append(frozenset((left, right)))

    def excess(values, groups):
        both = [
            (i, j) for i in range(len(kept)) for j in range(len(kept)) if i != j and groups[i] == groups[j]
        ]
        total = sum(values[i] * values[j] for i, j in both)
        return total / math.sqrt(2 * sum(variance[i] * variance[j] for i, j in both) + 1)

    def of_lower(vote, value):
        return value if vote[0] < vote[1] else -value

    signed = [of_lower(vote, value) for (_, vote), value in zip(kept, residual, strict=True)]
    mean = sum(v * d for v, d in zip(variance, distance, strict=True)) / max(sum(variance), 1e-9)
    spread = sum(v * (d - mean) ** 2 for v, d in zip(variance, distance, strict=True))
    far = sum(f * (d - mean) for f, d in zip(favoured, distance, strict=True))
    found = strengths.misfit
    assert_allclose(found.pairs, excess(signed, pair), atol=ATOL)
    assert_allclose(found.far * math.sqrt(spread), far, atol=ATOL)
    voter = None if votes.voter is None else [int(votes.voter[place]) for place, _ in kept]
    assert_allclose(found.voters, 0.0 if voter is None else excess(favoured, voter), atol=ATOL)
    assert found.n_repeated == sum(number for number in Counter(pair).values() if number > 1)
