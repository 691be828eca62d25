"""Plans against section 5 spelt out, the text of a plan, its JSON, and inputs that make none."""

import dataclasses
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adaptive._plan import BallotPlan, plan_ballots
from adaptive.errors import AdaptiveError, PlanError
from tests.adaptive.plans import NO_INTEGERS, NOT_POSITIVE, PAPER, naive_sizes, shapes


def test_the_setting_of_the_paper():
    plan = plan_ballots(990, presentations=20, **PAPER)
    assert plan.sizes == (990, 495, 248, 124, 62, 31, 16)  # spec.md, section 5
    assert plan.comparisons == (9900, 4950, 2480, 1240, 620, 310, 160)
    assert plan.n_comparisons == 19_660  # Eq. 3; the paper's text says 39,000
    assert plan.top_presentations == 140  # Eq. 4
    assert plan.uniform_presentations == 2 * 19_660 / 990
    assert plan.cost(3600) == 19_660


@given(shapes(), st.integers(1, 60))
def test_a_plan_is_section_5_spelt_out(shape, presentations):
    n_items, options = shape
    plan = plan_ballots(n_items, presentations=presentations, **options)
    assert list(plan.sizes) == naive_sizes(n_items, **options)
    assert list(plan.comparisons) == [math.ceil(Fraction(presentations * size, 2)) for size in plan.sizes]
    assert plan.n_comparisons == sum(plan.comparisons)
    assert plan.top_presentations == options["n_ballots"] * presentations
    assert plan.uniform_presentations == pytest.approx(2 * plan.n_comparisons / n_items, rel=1e-15)


def test_sizes_round_half_to_even():
    assert plan_ballots(990, presentations=1, n_ballots=3, fraction=0.5).sizes == (990, 495, 248)  # 247.5
    assert plan_ballots(986, presentations=1, n_ballots=3, fraction=0.5).sizes == (986, 493, 246)  # 246.5


def test_odd_presentations_of_an_odd_ballot_round_up():
    assert plan_ballots(9, presentations=3, n_ballots=2, fraction=0.5).comparisons == (14, 6)  # 27 and 12 presentations


def test_cost_is_in_hours():
    plan = plan_ballots(4, presentations=1, n_ballots=2, fraction=0.5)  # 3 comparisons
    assert plan.cost(1200) == 1.0
    assert plan.cost(Fraction(1, 2)) == 1.5 / 3600


def test_other_numbers_become_plain_ones():
    plan = plan_ballots(np.int64(8), n_ballots=np.int8(2), fraction=Fraction(1, 2), presentations=np.uint8(200))
    assert plan == plan_ballots(8, n_ballots=2, fraction=0.5, presentations=200)
    assert [type(getattr(plan, name)) for name in ("n_items", "n_ballots", "fraction")] == [int, int, float]
    assert plan.comparisons == (800, 400)


def test_a_plan_is_frozen_hashable_and_short():
    plan = plan_ballots(990, presentations=20, **PAPER)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field"):
        plan.n_items = 2
    assert eval(repr(plan)) == plan
    assert pickle.loads(pickle.dumps(plan)) == plan
    assert len({plan, dataclasses.replace(plan), dataclasses.replace(plan, presentations=10)}) == 2
    assert dataclasses.replace(plan, presentations=10).n_comparisons == 9_830


def test_a_plan_prints_as_a_table():
    assert str(plan_ballots(60, presentations=50, n_ballots=3, fraction=0.25)).splitlines() == [
        "60 items, 3 ballots, fraction 0.25, 50 presentations of each item in each ballot",
        "ballot  items  comparisons",
        "1          60        1,500",
        "2          15          375",
        "3           4          100",
        "total                1,975",
        "Top items are presented 150 times; in a uniform ballot of the same cost, every item 65.8 times.",
        "Advice:",
        "- In ballots 2 and 3 an item has 50 presentations but only 14 to 3 others to meet: pairs repeat.",
    ]
    # 1,975 comparisons of 36 s are 19.75 h.
    plan = plan_ballots(60, presentations=50, n_ballots=3, fraction=0.25)
    assert plan.to_text(n_voters=1, seconds_per_comparison=36).splitlines()[1:6] == [
        "ballot  items  comparisons  hours",
        "1          60        1,500  15.00",
        "2          15          375   3.75",
        "3           4          100   1.00",
        "total                1,975  19.75",
    ]
    assert plan.to_text(n_voters=1).endswith(
        "- In ballots 2 and 3 a pair is compared 4 to 17 times, but n_voters is 1: a voter sees it more than once."
    )
    assert "Advice" not in str(plan_ballots(990, presentations=50, n_ballots=3, fraction=0.25))
    assert "1 presentation of each" in str(plan_ballots(4, presentations=1, n_ballots=2, fraction=0.5))


@given(shapes(), st.integers(1, 60))
def test_a_plan_comes_back_from_json(shape, presentations):
    n_items, options = shape
    plan = plan_ballots(n_items, presentations=presentations, **options)
    assert BallotPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_the_dictionary_of_a_plan():
    plan = plan_ballots(8, presentations=2, n_ballots=2, fraction=0.5)
    data = plan.to_dict()
    options = {"n_items": 8, "n_ballots": 2, "fraction": 0.5, "presentations": 2}
    totals = {"n_comparisons": 12, "top_presentations": 4, "uniform_presentations": 3.0}
    assert data == {**options, "sizes": [8, 4], "comparisons": [8, 4], **totals}
    assert BallotPlan.from_dict({**data, "sizes": (8, 4), "uniform_presentations": 3}) == plan


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"presentations": 4}, r"^comparisons is \[8, 4\], but the inputs of the plan give \[16, 8\]$"),
        ({"n_items": 9}, r"^sizes is \[8, 4\], but the inputs of the plan give \[9, 4\]$"),
        ({"sizes": [8, 5]}, r"^sizes is \[8, 5\], but"),
        ({"sizes": None}, r"^sizes is None, but"),
        ({"sizes": np.array([8, 4])}, r"^sizes is array\(\[8, 4\]\), but"),
        ({"comparisons": 12}, r"^comparisons is 12, but"),
        ({"n_comparisons": 13}, r"^n_comparisons is 13, but the inputs of the plan give 12$"),
        ({"top_presentations": "4"}, r"^top_presentations is '4', but"),
        ({"uniform_presentations": math.nan}, r"^uniform_presentations is nan, but"),
        ({"fraction": 1.5}, r"^fraction must be a number between 0 and 1"),
        ({"n_items": True}, r"^n_items must be an integer; got True$"),
        ({"voters": 5}, r"^the plan has unknown 'voters'; its keys are n_items, "),
    ],
)
def test_an_edited_plan_is_refused(change, message):
    data = plan_ballots(8, presentations=2, n_ballots=2, fraction=0.5).to_dict()
    with pytest.raises(PlanError, match=message):
        BallotPlan.from_dict({**data, **change})


def test_a_plan_that_lacks_values_is_refused():
    with pytest.raises(PlanError, match=r"^the plan lacks n_ballots, sizes, comparisons, "):
        BallotPlan.from_dict({"n_items": 8, "fraction": 0.5, "presentations": 2})
    with pytest.raises(PlanError, match=r"^a plan is a mapping of names to values; got \[8, 2\]$"):
        BallotPlan.from_dict([8, 2])


GOOD = {"n_items": 990, "n_ballots": 7, "fraction": 0.5, "presentations": 20}
NO_FRACTIONS = [0, 1, 0.0, 1.0, -0.5, 1.5, math.nan, math.inf, True, False, "0.5", None, 0.5j, 10**400, 1e-400]


def with_input(name, value):
    options = {**GOOD, name: value}
    return plan_ballots(options.pop("n_items"), **options)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("n_items", 1, r"^n_items must be at least 2; got 1$"),
        ("n_items", 2**53 + 1, r"^n_items must be at most 9007199254740992; got 9007199254740993$"),
        ("n_ballots", 1, r"^n_ballots must be at least 2; got 1: one ballot is not adaptive$"),
        ("n_ballots", 10_001, r"^n_ballots must be at most 10000; got 10001$"),
        ("presentations", 0, r"^presentations must be at least 1; got 0$"),
        ("presentations", 10**400, r"^presentations must be at most 9007199254740992; got 10+\.\.\.$"),
    ],
)
def test_inputs_out_of_range(name, value, message):
    with pytest.raises(PlanError, match=message):
        with_input(name, value)


@pytest.mark.parametrize("name", ["n_items", "n_ballots", "presentations"])
@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_counts_are_integers(name, value):
    with pytest.raises(PlanError, match=f"^{name} must be an integer; got "):
        with_input(name, value)


@pytest.mark.parametrize("value", NO_FRACTIONS, ids=lambda value: repr(value)[:9])
def test_the_fraction_is_between_0_and_1(value):
    with pytest.raises(PlanError, match=r"^fraction must be a number between 0 and 1, both excluded; got "):
        with_input("fraction", value)


@pytest.mark.parametrize(
    ("n_items", "n_ballots", "fraction", "message"),
    [
        (10, 5, 0.5, r"ballot 4 would have 1, as 0\.5 of 2: take at most 3 ballots or a larger fraction$"),
        (10, 2, 0.1, r"^every ballot needs two items; ballot 2 would have 1, as 0\.1 of 10: take a larger fraction$"),
        (3, 2, 0.5, None),  # 1.5 is rounded to 2
        (5, 2, 0.1, r"ballot 2 would have 0, as 0\.1 of 5"),
    ],
)
def test_the_last_ballot_has_two_items(n_items, n_ballots, fraction, message):
    if message is None:
        assert plan_ballots(n_items, n_ballots=n_ballots, fraction=fraction, presentations=1).sizes[-1] == 2
        return
    with pytest.raises(PlanError, match=message):
        plan_ballots(n_items, n_ballots=n_ballots, fraction=fraction, presentations=1)


@pytest.mark.parametrize("value", [*NOT_POSITIVE, None])
def test_seconds_are_positive(value):
    plan = plan_ballots(990, presentations=20, **PAPER)
    with pytest.raises(PlanError, match=r"^seconds_per_comparison must be a finite number above 0; got"):
        plan.cost(value)


@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_a_number_of_voters_is_an_integer(value):
    with pytest.raises(PlanError, match=r"^n_voters must be an integer; got "):
        plan_ballots(990, presentations=20, **PAPER).advice_for(value)


def test_a_number_of_voters_is_at_least_1():
    with pytest.raises(PlanError, match=r"^n_voters must be at least 1; got 0$"):
        plan_ballots(990, presentations=20, **PAPER).advice_for(0)


def test_a_plan_error_is_an_adaptive_error():
    assert issubclass(PlanError, AdaptiveError)
    assert issubclass(PlanError, ValueError)
