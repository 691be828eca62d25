import math

import pytest

from adaptive import Comparisons, ModelError, Prior, bradley_terry
from adaptive.model._prior import checked_oversight, checked_prior


def test_a_number_is_the_spread_of_the_strengths():
    assert checked_prior(2) == Prior(sd=2.0)
    assert checked_prior(None) == Prior()
    assert checked_prior(math.inf).sd == math.inf
    prior = Prior(discrimination_sd=1)
    assert checked_prior(prior) is prior
    assert isinstance(prior.discrimination_sd, float)


@pytest.mark.parametrize("value", [0, -1, math.nan, "2", True])
def test_the_spread_must_be_positive(value):
    with pytest.raises(ModelError, match=r"^sd of a prior must be None or a positive number; got "):
        Prior(value)
    votes = Comparisons.from_pairs([(0, 1)], 2)
    with pytest.raises(ModelError, match=r"^sd of a prior must be None or a positive number; got "):
        bradley_terry(votes, prior=value)


@pytest.mark.parametrize("name", ["discrimination_sd", "oversight_votes", "side_sd"])
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, None, "2"])
def test_other_parameters_must_be_positive(name, value):
    with pytest.raises(ModelError, match=rf"^{name} of a prior must be a positive number; got "):
        Prior(**{name: value})


def test_an_oversight_is_a_probability_below_a_half():
    assert checked_oversight(0) == 0.0
    assert checked_oversight(0.49) == 0.49
    for value in (-0.01, 0.5, 1, math.nan, "0.1", None, True):
        with pytest.raises(ModelError, match=r"^oversight must be a number from 0 to below 0\.5; got "):
            checked_oversight(value)
