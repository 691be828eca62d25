"""Rules that decide whether there are enough votes."""

import json
import re
from itertools import combinations

import numpy as np
import pytest

from adaptive import Comparisons, bradley_terry, stopping_rule
from adaptive.errors import ModelError
from rankcorr.errors import OptionError

THREE_ITEMS = Comparisons.from_labels(["a", "a", "b"], ["b", "c", "c"], ["left", "left", "left"])


def test_few_votes_do_not_stop():
    votes = Comparisons.from_labels(["a", "b"] * 8, ["b", "c"] * 8, ["left"] * 16)
    decision = stopping_rule(1 - 1e-12, "tau")(bradley_terry(votes, prior=2))
    assert not decision
    assert "after 16 votes, below the target of 0.999999999999" in decision.reason
    assert decision.expected.coefficient.name == "tau"


def test_a_target_reached_by_the_mean_alone_does_not_stop():
    left, right = zip(*combinations("abcdef", 2), strict=True)
    votes = Comparisons.from_labels(left * 3, right * 3, (["left"] * 9 + ["right"]) * 4 + ["left"] * 5)
    strengths = bradley_terry(votes, prior=2)
    values = strengths.expected_correlation().values
    assert strengths.signal.is_significant
    short, decision = np.mean(values < values.mean() - 0.05), stopping_rule(values.mean())(strengths)
    assert not decision
    assert f"after 45 votes, but below {values.mean() - 0.05:g} in {short:.1%} of draws" in decision.reason
    result = re.search("is ([0-9.]+) .* target of ([0-9.]+)$", stopping_rule(values.mean() + 1e-9)(strengths).reason)
    assert float(result[1]) < float(result[2])  # with three decimals, both would be the same number
    enough = np.sort(values)[50] + 0.05  # at most 50 of 1,000 are lower
    assert stopping_rule(enough - 1e-9)(strengths)
    assert not stopping_rule(enough + 1e-9)(strengths)


def test_many_votes_reach_the_target():
    votes = Comparisons.from_labels(["a", "b"] * 200, ["b", "c"] * 200, ["left"] * 400)
    decision = stopping_rule(0.95)(bradley_terry(votes, prior=3, oversight=0))
    assert decision
    assert "at least the target of 0.95" in decision.reason


def test_a_decision_is_ready_for_json():
    decision = stopping_rule(0.9)(bradley_terry(THREE_ITEMS, prior=2))
    content = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert (content["stop"], content["expected"]["level"]) == (False, 0.9)
    one = Comparisons.from_labels(["a"], ["b"], ["left"])
    assert stopping_rule(0.9)(bradley_terry(one)).reason.endswith("the votes do not rule out chance after 1 vote")


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((1,), {}, ModelError, "target must be a number above -1 and below 1"),
        ((0.5, "kendall"), {}, OptionError, "coefficient must be one of"),
        ((), {}, ModelError, "give exactly one of target and top; got target=None and top=None"),
        ((0.5,), {"top": 2}, ModelError, r"give exactly one of target and top; got target=0\.5 and top=2"),
        *(((), {"top": top}, ModelError, "top must be a whole number of at least 1") for top in (0, 1.5, True)),
        ((), {"top": 1, "level": 1}, ModelError, "level must be"),
    ],
)
def test_invalid_rules_are_refused(arguments, options, error, message):
    with pytest.raises(error, match=message):
        stopping_rule(*arguments, **options)


def test_a_top_must_be_among_the_items():
    with pytest.raises(ModelError, match="k must be a whole number from 1 to the 3 items; got 4"):
        stopping_rule(top=4)(bradley_terry(THREE_ITEMS, prior=2))
